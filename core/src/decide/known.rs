use super::NamespaceFacts;

/// What the caches say of one namespace at the moment of a decision.
#[derive(Debug, Clone, Copy)]
pub enum Known<'a> {
    /// Every watch is filled and gave a sign of life within the permitted age.
    Fresh(&'a NamespaceFacts),
    /// The watch of this resource (plural, for example `machineclasses`) is not, or did not; nothing may be concluded.
    Stale(&'a str),
}
