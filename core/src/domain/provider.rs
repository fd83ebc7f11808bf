/// The `provider` of a MachineClass, as the drivers compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// `OpenStack`. Any spelling of it in other cases counts too: a gate closes rather once too often.
    OpenStack,
    /// `stackit`, exactly.
    Stackit,
    /// Anything else, an absent one included.
    Other,
}

impl Provider {
    /// Sorts a value of `provider`; an absent one is `""`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text == "stackit" {
            Self::Stackit
        } else if text.eq_ignore_ascii_case("openstack") {
            Self::OpenStack
        } else {
            Self::Other
        }
    }
}
