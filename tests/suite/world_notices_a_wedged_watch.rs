//! A watch that swallows everything, bookmarks included, is noticed, and heals without a restart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use crate::world::{DEADLINE, Kept, MAX_AGE, Seed, class, guarded};
use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_webhook::world::Resource;
use rig::{ApiProxy, Shared};
use tokio::task::JoinSet;

/// How long it may take until it is noticed, on a busy machine; without the watch over the watches it would be minutes.
const NOTICED: Duration = MAX_AGE.saturating_add(Duration::from_secs(40));

async fn seed() -> Arc<Seed> {
    static SEED: Shared<Seed> = Shared::new();
    SEED.get(Seed::with_the_machine_migration).await
}

/// A world that follows through a proxy of its own.
async fn through_a_proxy(seed: &Seed) -> (ApiProxy, Kept) {
    let proxy = ApiProxy::start(&seed.server).unwrap();
    let kept = Kept::filled(&proxy.kubeconfig_for(&seed.kubeconfig).unwrap()).await;
    (proxy, kept)
}

#[tokio::test]
async fn each_wedged_watch_makes_its_resource_stale_and_heals() {
    let seed = &*seed().await;
    let mut tests = JoinSet::new();
    for resource in Resource::ALL {
        let (proxy, kept) = through_a_proxy(seed).await;
        tests.spawn(async move {
            proxy.swallow_watch(resource.plural());
            kept.stale(Some(resource), NOTICED).await;
            proxy.heal();
            kept.stale(None, DEADLINE).await;
        });
    }
    while let Some(test) = tests.join_next().await {
        test.unwrap();
    }
}

#[tokio::test]
async fn what_changed_behind_a_wedged_watch_is_known_once_it_heals() {
    let seed = &*seed().await;
    seed.apply(&[guarded("wedged"), class("wedged", "pool", "stackit")]).await;
    let (proxy, kept) = through_a_proxy(seed).await;
    kept.knows("the class", "wedged", NamespaceFacts::has_stackit_class).await;
    proxy.swallow_watch("machineclasses");
    seed.apply(&[class("wedged", "pool", "OpenStack")]).await;
    kept.stale(Some(Resource::MachineClasses), NOTICED).await;
    proxy.heal();
    kept.knows("the change", "wedged", |facts| facts.openstack_class() == Some("pool")).await;
}

#[tokio::test]
async fn a_watch_that_stays_wedged_is_made_up_for_by_a_list() {
    let seed = &*seed().await;
    seed.apply(&[guarded("for-ever"), class("for-ever", "pool", "stackit")]).await;
    let (proxy, kept) = through_a_proxy(seed).await;
    proxy.swallow_watch("machineclasses");
    kept.stale(Some(Resource::MachineClasses), NOTICED).await;
    seed.apply(&[class("for-ever", "pool", "OpenStack")]).await;
    kept.knows("what a list says", "for-ever", |facts| facts.openstack_class() == Some("pool")).await;
}

#[tokio::test]
async fn connections_that_hang_or_are_cut_are_noticed_and_heal() {
    let seed = &*seed().await;
    let mut tests = JoinSet::new();
    for fault in [ApiProxy::hang, ApiProxy::cut] {
        let (proxy, kept) = through_a_proxy(seed).await;
        tests.spawn(async move {
            fault(&proxy);
            rig::until("stale", NOTICED, || async { Ok(kept.world.stale()) }).await.unwrap();
            proxy.heal();
            kept.stale(None, DEADLINE).await;
        });
    }
    while let Some(test) = tests.join_next().await {
        test.unwrap();
    }
}
