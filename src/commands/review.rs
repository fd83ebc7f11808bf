use clap::Args;

use super::Exit;

/// Flags of `review`.
#[derive(Debug, Args)]
pub(super) struct ReviewFlags {}

pub(super) fn run(_flags: &ReviewFlags) -> Exit {
    super::fail(Exit::Failed, &"not there yet")
}
