use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It did what it was asked to: 0.
    Done,
    /// It failed: 1.
    Failed,
    /// The answer is no (not ready, would not migrate): 2.
    No,
    /// Usage or configuration: 64.
    Usage,
    /// It lost the API server or its lease and wants to be started again: 75.
    Restart,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::No => 2,
            Exit::Usage => 64,
            Exit::Restart => 75,
        })
    }
}
