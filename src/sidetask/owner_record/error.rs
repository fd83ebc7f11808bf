/// Why a shoot counts as not owned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnerRecordError {
    /// The record names somebody else, or several.
    #[error(
        "the owner record {name} says `{found}` and not `{expected}`; the shoot belongs to another seed, or the record has to be corrected"
    )]
    Foreign {
        /// The name of the record.
        name: String,
        /// Its values, by commas.
        found: String,
        /// What it had to say.
        expected: String,
    },
    /// Nobody knows: there is no such record, or no answer.
    #[error("the owner record {name} is unknown: {why}; without it nothing is done for the shoot")]
    Unknown {
        /// The name of the record, or the template where it gives none for this shoot.
        name: String,
        /// What failed.
        why: String,
    },
}

/// Why the owner record cannot be turned on as it is configured. Says what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnerConfigError {
    /// A brace without its partner, or something unknown between two.
    #[error("`{0}` is no template of an owner record: the placeholders are {{namespace}}, {{name}} and {{project}}")]
    Placeholder(String),
    /// Several shoots would share one record.
    #[error("`{0}` can be the same name for two shoots; put {{namespace}}, or {{name}} and {{project}}, into it")]
    Shared(String),
    /// What it gives is no DNS name.
    #[error("`{0}` gives no DNS name: labels of 1 to 63 letters, digits, `-` and `_`, with dots between them")]
    NoName(String),
    /// There is nothing to compare with.
    #[error("the owner ID is empty; it is the value that the owner records of this seed's shoots have")]
    NoOwner,
    /// Answers would be asked for without end, or kept for too long.
    #[error("answers about owners may be kept for 1 s to 10 min, not for {0:?}")]
    Interval(std::time::Duration),
    /// There is no usable resolver.
    #[error("cannot set up the DNS resolver: {0}")]
    Resolver(String),
}
