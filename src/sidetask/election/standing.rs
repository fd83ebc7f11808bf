/// What is known of the election at this moment, for metrics and messages; no permission to act.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether this process leads.
    pub leads: bool,
    /// Who holds the Lease, as far as this process knows; `None` while nobody does or nothing is known.
    pub holder: Option<String>,
    /// How many terms this process has begun.
    pub terms: u64,
}
