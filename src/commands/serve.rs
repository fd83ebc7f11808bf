use clap::Args;

use super::Exit;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub(super) struct ServeFlags {}

pub(super) fn run(_flags: ServeFlags) -> Exit {
    super::fail(Exit::Failed, &"not there yet")
}
