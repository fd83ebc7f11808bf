/// The value of the namespace's label `mcm-migration.stackit.cloud/guard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardLabel {
    /// `closed`: the way back is barred, the way forward may open.
    Closed,
    /// `rolling-back`: IDs are being written back.
    RollingBack,
    /// Any other value: no gate opens for it.
    Unknown,
}

impl GuardLabel {
    /// The value that the guard has while a shoot migrates and afterwards.
    pub const CLOSED: &str = "closed";
    /// The value that the guard has while a shoot is brought back.
    pub const ROLLING_BACK: &str = "rolling-back";

    /// Sorts a value of the label.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            Self::CLOSED => Self::Closed,
            Self::ROLLING_BACK => Self::RollingBack,
            _ => Self::Unknown,
        }
    }
}
