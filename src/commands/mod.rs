//! The command line: one file a subcommand, and the wiring of the rooms.

mod address;
mod arm;
mod certs;
mod cluster;
mod duration;
mod exit;
mod export;
mod logging;
mod node_watch;
mod nodes;
mod reach;
mod restore;
mod review;
mod rollback;
mod serve;
mod sha256;
mod shoot_cloud;
mod sweep;
mod usage;

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};

pub use cluster::{ClusterError, ClusterFlags};
pub use exit::Exit;

/// Moves Gardener shoots from the OpenStack to the STACKIT machine-controller-manager provider without replacing a node.
///
/// Exit codes: 0 done; 1 failed; 2 the answer is no; 64 usage or configuration; 75 lost the API server, start me again.
#[derive(Debug, Parser)]
#[command(name = "mcm-migration-webhook", version, propagate_version = true)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[allow(clippy::large_enum_variant, reason = "there is one, and it is read once")]
#[derive(Debug, Subcommand)]
enum Command {
    /// Answer the API server's admission calls.
    Serve(serve::ServeFlags),
    /// Evaluate one AdmissionReview or one object offline, and print the decision.
    Review(review::ReviewFlags),
    /// Close and prove the guard of shoots, and arm them.
    Arm(arm::ArmFlags),
    /// Bring one shoot back to OpenStack, step by step.
    Rollback(rollback::RollbackFlags),
    /// Write everything of shoots that a migration touches as JSON lines with checksums.
    Export(export::ExportFlags),
    /// Write back from an export what the gate of the way back lets through.
    Restore(restore::RestoreFlags),
    /// List what migrated Machines left behind in the cloud, and remove it.
    Sweep(sweep::SweepFlags),
    /// Make a development CA and a serving certificate.
    Certs(certs::CertsFlags),
}

/// Runs the command line `arguments` (the program's name first) to its end.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let command_line = match CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        Err(error) => return usage::end(&error),
    };
    // The provider of cryptography is one for the process; a second call finds it installed.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    match command_line.command {
        Command::Serve(flags) => serve::run(flags),
        Command::Review(flags) => review::run(&flags),
        Command::Arm(flags) => arm::run(&flags),
        Command::Rollback(flags) => rollback::run(&flags),
        Command::Export(flags) => export::run(&flags),
        Command::Restore(flags) => restore::run(&flags),
        Command::Sweep(flags) => sweep::run(&flags),
        Command::Certs(flags) => certs::run(&flags),
    }
}

/// Ends a command with one sentence on standard error.
fn fail(exit: Exit, error: &dyn std::fmt::Display) -> Exit {
    // Nobody is left to tell when standard error is gone.
    drop(writeln!(std::io::stderr(), "mcm-migration-webhook: {error}"));
    exit
}
