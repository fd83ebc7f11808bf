use clap::Args;

use super::Exit;

/// Flags of `certs`.
#[derive(Debug, Args)]
pub(super) struct CertsFlags {}

pub(super) fn run(_flags: &CertsFlags) -> Exit {
    super::fail(Exit::Failed, &"not there yet")
}
