//! The migration on a real API server and a simulated STACKIT cloud: `cargo run --example sandbox`.
//!
//! Starts etcd, kube-apiserver and the simulator, installs the shipped manifests, creates shoots as they stand after (and in the
//! middle of) Gardener's switch, each with a stand-in for its machine-controller-manager, and runs two replicas of the real binary
//! behind a stand-in for the Service. From there on the side task does everything. No cluster is needed and none is touched;
//! everything ends with this program.

mod binary;
mod checks;
mod flags;
mod keep;
mod machine_diff;
mod observe;
mod replica;
mod row;
mod scene;
mod screen;
mod setup;
mod stage;
mod summary;
mod watch;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser as _;

use flags::Flags;
use screen::Screen;
use setup::Sandbox;

/// What a program ends with that was interrupted by Ctrl-C.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let mut screen = Screen::of_stdout();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime");
    runtime.and_then(|runtime| runtime.block_on(run(&flags, &mut screen))).unwrap_or_else(|error| {
        screen.complain(&format!("the sandbox failed: {error:#}"));
        ExitCode::FAILURE
    })
}

async fn run(flags: &Flags, screen: &mut Screen) -> Result<ExitCode> {
    let (sandbox, as_it_should_be) = tokio::select! {
        ended = play(flags, screen) => ended?,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.context("cannot listen for Ctrl-C")?;
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    if flags.keep {
        keep::keep(&sandbox, screen).await?;
    }
    Ok(if as_it_should_be { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// From the start to the summary; gives what runs, and whether every shoot ended as it should.
async fn play(flags: &Flags, screen: &mut Screen) -> Result<(Sandbox, bool)> {
    screen.title(
        "A sandbox of mcm-migration-webhook on a real API server and a simulated cloud; nothing else is touched",
    )?;
    let binary = binary::build(screen).await?;
    let sandbox = Sandbox::start(&binary, screen).await?;
    screen.title("The side task at work; nobody arms a shoot, and nobody else writes to the Machines of prod")?;
    let wrong = watch::until_all_ended(&sandbox, flags.within(), screen).await?;
    let wrong = summary::show(&sandbox, wrong, screen).await?;
    Ok((sandbox, wrong.is_empty()))
}
