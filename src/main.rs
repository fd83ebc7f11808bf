//! Wires nothing but the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcm_migration_webhook::commands::run(std::env::args_os()).into()
}
