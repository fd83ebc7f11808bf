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
/// How long a connection may take to see what the shoots' state is.
const IN_FORCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let flags = Flags::parse();
    let mut screen = Screen::of_stdout();
    let ended =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime").and_then(
            |runtime| {
                runtime.block_on(async {
                    tokio::select! {
                        ended = run(&flags, &mut screen) => ended,
                        interrupted = tokio::signal::ctrl_c() => {
                            interrupted.context("cannot listen for Ctrl-C").map(|()| ExitCode::from(INTERRUPTED))
                        }
                    }
                })
            },
        );
    ended.unwrap_or_else(|error| {
        screen.complain(&format!("the sandbox failed: {error:#}"));
        ExitCode::FAILURE
    })
}

async fn run(flags: &Flags, screen: &mut Screen) -> Result<ExitCode> {
    screen.title("A sandbox of mcm-migration-webhook: a real API server, no cluster of yours is touched")?;
    let binary = binary::build(screen).await?;
    let sandbox = Sandbox::start(&binary, screen).await?;
    let scenes = &sandbox.scenes;

    screen.title("Arming: what an operator runs, with the shipped ClusterRole mcm-migration-operator")?;
    run_arm::all(&binary, &sandbox.operator, screen).await?;
    for scene in scenes.iter().filter(|scene| scene.paused) {
        scene::pause(&sandbox.client, scene).await?;
        screen.line(&format!("  Now {} is paused: the brake, spec.paused of its MachineMigration.", scene.name()))?;
    }
    writes::until_in_force(&sandbox, IN_FORCE).await?;

    screen.title("Writing one label to every Machine, as its controllers do with other fields all the time")?;
    let written = writes::all(&sandbox, flags.spread(), screen).await?;
    let rows = observe::rows(&sandbox).await?;
    let wrong = summary::show(&sandbox, &rows, &written, screen).await?;

    if flags.keep {
        setup::keep(&sandbox, screen).await?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
