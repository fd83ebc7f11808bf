//! The migration on a real API server: `cargo run --example sandbox`.
//!
//! Starts etcd and kube-apiserver, creates shoots as they stand after (and before) Gardener's switch, installs the shipped
//! manifests, runs two replicas of the real binary behind a stand-in for the Service, arms the shoots with the real
//! command, and writes to their Machines. No cluster is needed and none is touched; everything ends with this program.

mod binary;
mod flags;
mod machine_diff;
mod observe;
mod row;
mod run_arm;
mod scene;
mod screen;
mod setup;
mod summary;
mod writes;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser as _;

use flags::Flags;
use screen::Screen;
use setup::Sandbox;

/// What a program ends with that was interrupted by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// How long it may take until the API server calls the webhook and the replicas know what is armed.
const IN_FORCE: Duration = Duration::from_secs(60);

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
        setup::keep(&sandbox, screen).await?;
    }
    Ok(if as_it_should_be { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// From the start to the summary; gives what runs, and whether every shoot ended as it should.
async fn play(flags: &Flags, screen: &mut Screen) -> Result<(Sandbox, bool)> {
    screen.title("A sandbox of mcm-migration-webhook on a real API server; no other cluster is touched")?;
    let binary = binary::build(screen).await?;
    let sandbox = Sandbox::start(&binary, screen).await?;

    screen.title("Arming, as an operator does who has the shipped ClusterRole mcm-migration-operator")?;
    run_arm::all(&binary, &sandbox.operator, screen).await?;
    for scene in sandbox.scenes.iter().filter(|scene| scene.paused) {
        scene::pause(&sandbox.client, scene).await?;
        screen.line(&format!("  Then {} is paused: spec.paused of its MachineMigration, the brake.", scene.name()))?;
    }
    writes::until_in_force(&sandbox, IN_FORCE).await?;

    screen.title("Writing a label to one Machine after the other; any other write would do as well")?;
    let written = writes::all(&sandbox, flags.spread(), screen).await?;
    let rows = observe::rows(&sandbox).await?;
    let wrong = summary::show(&sandbox, &rows, &written, screen)?;
    Ok((sandbox, wrong.is_empty()))
}
