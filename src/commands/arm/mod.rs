use clap::Args;

use super::Exit;

/// Flags of `arm`.
#[derive(Debug, Args)]
pub(super) struct ArmFlags {}

pub(super) fn run(_flags: ArmFlags) -> Exit {
    super::fail(Exit::Failed, &"not there yet")
}
