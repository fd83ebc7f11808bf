//! Deliberate faults of the product, to see that the world notices. Each takes one precaution away, at the edge where the side task meets the
//! world or in its settings, so that the side task itself stays the real one.

/// A precaution that is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A server is labelled as soon as its Machine has its new ID, whoever may still have the old one in a cache.
    Quarantine,
    /// The Machine, its version and whose the shoot is are taken from the caches, and no write names a version.
    ReadBeforeWrite,
    /// What a write to the cloud relies on is not asked again when it is sent.
    CheckBeforeLabel,
    /// Whoever led once goes on writing.
    Fence,
    /// Admission rewrites whatever else is there.
    Gate,
    /// The gate forward lets a class be switched while a Machine of it has neither an ID nor the annotation `settled`.
    GateForward,
    /// A Machine whose server is not in the LIST is said to have none, at once. Not among [`Self::ALL`]: since a Machine is let go only after every
    /// Node was Ready for a while, no server of these worlds comes so late that somebody is hurt; the exhaustive model shows what it is for.
    InflightTimeout,
    /// The guard is said to hold, and nothing refuses that a class is turned back.
    Guard,
}

impl Fault {
    /// Those that some world notices.
    pub const ALL: [Self; 7] = [
        Self::Quarantine,
        Self::ReadBeforeWrite,
        Self::CheckBeforeLabel,
        Self::Fence,
        Self::Gate,
        Self::GateForward,
        Self::Guard,
    ];

    /// The seed of a world in which it was noticed. It is asked first; where it does not do any more, the others are.
    pub const fn noticed_in(self) -> u64 {
        match self {
            Self::ReadBeforeWrite => 11,
            Self::CheckBeforeLabel => 36,
            Self::Guard => 1,
            Self::Quarantine | Self::Fence | Self::Gate | Self::GateForward | Self::InflightTimeout => 0,
        }
    }
}
