//! The play itself: the table while the shoots migrate, until all have ended.

use std::time::Duration;

use anyhow::Result;
use futures::future::join_all;
use rig::ApiServer;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::observe::Seen;
use crate::scene::{Ending, Scene};
use crate::screen::Screen;
use crate::setup::Sandbox;
use crate::stage::{LOOK_EVERY, Stage};
use crate::{checks, row};

/// How often the table is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(500);
/// How long the last status may take to be written.
const SETTLES: Duration = Duration::from_secs(15);

/// Shows the table until all shoots have ended; gives what is not as it should be then.
pub(crate) async fn until_all_ended(sandbox: &Sandbox, within: Duration, screen: &mut Screen) -> Result<Vec<String>> {
    let ends = join_all(sandbox.scenes.iter().map(|scene| end(sandbox, scene)));
    let mut ends = std::pin::pin!(timeout(within, ends));
    let mut ticks = interval(DRAW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        tokio::select! {
            ended = &mut ends => break ended,
            _ = ticks.tick() => { draw(sandbox, screen).await?; }
        }
    };
    let mut wrong: Vec<String> = match ended {
        Ok(ended) => ended.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect(),
        Err(_) => vec![format!("not all shoots have ended within {within:?}")],
    };
    let settled = rig::until("all is as it should be", SETTLES, || async {
        let seen = Seen::now(sandbox).await?;
        let wrong = checks::all(sandbox, &seen).await?;
        anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("; "));
        Ok(Some(()))
    });
    let settled = settled.await;
    let seen = draw(sandbox, screen).await?;
    if settled.is_err() {
        wrong.extend(checks::all(sandbox, &seen).await?);
    }
    Ok(wrong)
}

async fn draw(sandbox: &Sandbox, screen: &mut Screen) -> Result<Seen> {
    let seen = Seen::now(sandbox).await?;
    let lines = row::lines(&seen.rows(sandbox), screen);
    let note = sandbox.stage.notes().pop();
    screen.table(lines, &note.map_or_else(String::new, |note| format!("  {}: {}", note.shoot, note.text)))?;
    Ok(seen)
}

/// Returns when a shoot has ended: the others have played their parts, and kubectl says that it is complete where it should be.
async fn end(sandbox: &Sandbox, scene: &Scene) -> Result<()> {
    let Sandbox { server, stage, .. } = sandbox;
    let completes =
        async { if scene.ending == Ending::Complete { kubectl_waits(server, stage, scene).await } else { Ok(()) } };
    tokio::try_join!(scene.play(stage), completes)?;
    Ok(())
}

/// `kubectl wait`, as soon as there is something to wait for.
async fn kubectl_waits(server: &ApiServer, stage: &Stage, scene: &Scene) -> Result<()> {
    let namespace = scene.shoot.namespace();
    let get = ["get", "mmig/openstack-to-stackit", "-n", &namespace, "--ignore-not-found", "-o", "name"];
    while server.kubectl(&get, None).await?.ok()?.is_empty() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let wait = ["wait", "--for=condition=Complete", "mmig/openstack-to-stackit", "-n", &namespace, "--timeout=1h"];
    server.kubectl(&wait, None).await?.ok()?;
    stage.note(scene.name(), "kubectl wait --for=condition=Complete mmig/openstack-to-stackit returns");
    Ok(())
}
