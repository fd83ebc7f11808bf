//! `rollback`: brings one shoot back to OpenStack, with the operator's own credentials.

mod account;
mod cloud;
mod flags;
mod sight;
mod tell;
mod walk;
mod writes;

use super::node_watch::NodeWatch;
use super::reach::reach;
use super::{Exit, fail};
use crate::cloud::{CloudMetrics, Clouds};
use cloud::Session;
use sight::Sight;
use tell::Teller;
use walk::Walk;

pub(super) use flags::RollbackFlags;

/// Whom the fields belong to that are written here.
const FIELD_MANAGER: &str = "mcm-migration-rollback";

pub(super) fn run(flags: &RollbackFlags) -> Exit {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(rollback(flags)),
        Err(error) => fail(Exit::Failed, &format_args!("cannot start the runtime: {error}")),
    }
}

async fn rollback(flags: &RollbackFlags) -> Exit {
    let (settings, leave_behind) = match (flags.settings(), flags.left_behind()) {
        (Ok(settings), Ok(leave_behind)) => (settings, leave_behind),
        (Err(error), _) | (_, Err(error)) => return fail(Exit::Usage, &error),
    };
    let clouds = match flags.cloud().and_then(|cloud| Clouds::new(cloud, CloudMetrics::default())) {
        Ok(clouds) => clouds,
        Err(error) => return fail(Exit::Usage, &error),
    };
    let seed = match reach(&flags.cluster, FIELD_MANAGER).await {
        Ok(seed) => seed,
        Err(exit) => return exit,
    };
    let rule = settings.nodes.clone();
    let nodes = (!flags.dry_run).then(|| NodeWatch::start(seed.client(), rule));
    let walk = Walk {
        sight: Sight::new(seed, &flags.namespace, settings, leave_behind, nodes),
        session: Session::new(clouds),
        teller: Teller { output: flags.output, namespace: flags.namespace.clone() },
        wait: flags.wait,
        wrote: false,
    };
    if flags.dry_run { Box::pin(walk.outline()).await } else { Box::pin(walk.run()).await }
}
