//! The list/watch loops that keep the world as the API server has it.
//!
//! They are our own because bookmarks must count: a quiet watch and a dead one differ in nothing else. The API server is asked to
//! end each watch after two fifths of the permitted age; it sends a bookmark every minute and one shortly before that end, so a
//! watch that lives gives two signs of life within the age. A watch that ends or falls silent goes on from its last version
//! *without* a new list: to reconnect alone is no sign of life.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use backon::BackoffBuilder;
use futures::TryStreamExt;
use kube::Client;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use tokio::task::JoinSet;

use super::call::{Failed, Which, chain, list, within_deadline};
use super::reduce::{
    ClusterView, DeploymentView, MachineClassView, MachineDeploymentView, MachineView, MigrationView, NamespaceView,
    PodView, SecretView, View, WorkerView,
};
use super::{Resource, World, WorldError};

/// Follows every resource.
///
/// # Errors
/// Only when a task ends, which it never does by itself; the process should be started again then.
pub async fn follow(client: Client, world: Arc<World>) -> Result<Infallible, WorldError> {
    let mut tasks = JoinSet::new();
    macro_rules! follow {
        ($($view:ty),*) => { $(tasks.spawn(keep::<$view>(client.clone(), Arc::clone(&world)));)* };
    }
    follow!(
        NamespaceView,
        MigrationView,
        MachineClassView,
        MachineView,
        MachineDeploymentView,
        DeploymentView,
        PodView,
        SecretView,
        WorkerView,
        ClusterView
    );
    match tasks.join_next().await {
        Some(Ok(never)) => match never {},
        Some(Err(error)) => Err(WorldError::Ended(error.to_string())),
        None => Err(WorldError::Ended("there was none".to_owned())),
    }
}

/// Why a watch does not go on from where it is.
enum Broken {
    /// The version is too old, or nobody knows what was missed.
    Gone(String),
    /// The call failed; the version still holds.
    Failed(WorldError),
}

/// Keeps one resource for ever.
async fn keep<V: View>(client: Client, world: Arc<World>) -> Infallible {
    let resource = V::RESOURCE;
    let mut trouble = Trouble::new(resource);
    loop {
        let version = match list::<V>(&client, Which::All).await {
            Ok((seen, version)) => {
                tracing::debug!(%resource, objects = seen.len(), "listed");
                world.replace(resource, seen);
                world.sign_of_life(resource);
                trouble.over();
                version
            }
            Err(Failed { code: 404, .. }) if resource == Resource::MachineMigrations => {
                // Without its CRD there are none: no gate is open, and nothing is out of order.
                world.replace(resource, Vec::new());
                world.sign_of_life(resource);
                trouble.over();
                tokio::time::sleep((world.max_age() / 5).clamp(Duration::from_secs(1), Duration::from_secs(30))).await;
                continue;
            }
            Err(Failed { error, .. }) => {
                trouble.wait(&error.to_string()).await;
                continue;
            }
        };
        keep_watching::<V>(&client, &world, version, &mut trouble).await;
    }
}

/// Watches from `version` until a new list is needed.
async fn keep_watching<V: View>(client: &Client, world: &World, mut version: String, trouble: &mut Trouble) {
    loop {
        match watch_once::<V>(client, world, &mut version, trouble).await {
            Ok(()) => {}
            Err(Broken::Gone(why)) => {
                tracing::debug!(resource = %V::RESOURCE, why, "listing again");
                return;
            }
            Err(Broken::Failed(error)) => trouble.wait(&error.to_string()).await,
        }
        // Something keeps the watch silent for good: look at the whole again.
        if world.silent_for(V::RESOURCE).is_none_or(|age| age > 2 * world.max_age()) {
            return;
        }
    }
}

/// One watch, until the API server ends it or it falls silent.
async fn watch_once<V: View>(
    client: &Client,
    world: &World,
    version: &mut String,
    trouble: &mut Trouble,
) -> Result<(), Broken> {
    let resource = V::RESOURCE;
    let lasts = u32::try_from((world.max_age() * 2 / 5).as_secs()).unwrap_or(u32::MAX).clamp(5, 290);
    let silence = Duration::from_secs(u64::from(lasts) + 5);
    let params = WatchParams {
        field_selector: resource.field_selector().map(str::to_owned),
        label_selector: resource.label_selector(),
        timeout: Some(lasts),
        bookmarks: true,
        ..WatchParams::default()
    };
    let request = Request::new(resource.url(None));
    let events = within_deadline("watch", resource, async {
        client.request_events::<V>(request.watch(&params, version).map_err(kube::Error::BuildRequest)?).await
    })
    .await
    .map_err(|failed| match failed.code {
        410 => Broken::Gone(failed.error.to_string()),
        _ => Broken::Failed(failed.error),
    })?;
    let mut events = pin!(events);
    loop {
        let failed = |message| Broken::Failed(WorldError::Call { verb: "watch", resource, message });
        let event = match tokio::time::timeout(silence, events.try_next()).await {
            Ok(Ok(Some(event))) => event,
            Ok(Ok(None)) => return Ok(()),
            // What could not be read may be an object that counts.
            Ok(Err(kube::Error::SerdeError(error))) => return Err(Broken::Gone(error.to_string())),
            Ok(Err(error)) => return Err(failed(chain(&error))),
            Err(_) => return Err(failed(format!("no event and no bookmark for {} s", silence.as_secs()))),
        };
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                *version = take_up(world, object).unwrap_or_else(|| std::mem::take(version));
            }
            WatchEvent::Deleted(object) => {
                *version = object.version().map_or_else(|| std::mem::take(version), str::to_owned);
                if let Some(gone) = object.observe() {
                    world.remove(resource, &gone.namespace, &gone.name);
                }
            }
            WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
            WatchEvent::Error(status) if status.code == 410 => return Err(Broken::Gone(status.message)),
            WatchEvent::Error(status) => return Err(Broken::Gone(status.message)),
        }
        world.sign_of_life(resource);
        trouble.over();
    }
}

/// Takes up an object, and gives its version back.
fn take_up<V: View>(world: &World, object: V) -> Option<String> {
    let version = object.version().map(str::to_owned);
    if let Some(observation) = object.observe() {
        world.put(observation);
    }
    version
}

/// A resource that cannot be listed or watched: waits longer each time, and speaks when it begins and when it is over.
#[derive(Debug)]
struct Trouble {
    resource: Resource,
    waits: Option<backon::ExponentialBackoff>,
}

impl Trouble {
    fn new(resource: Resource) -> Self {
        Self { resource, waits: None }
    }

    async fn wait(&mut self, error: &str) {
        if self.waits.is_none() {
            tracing::warn!(resource = %self.resource, error, "cannot follow the cluster; trying again");
        }
        let waits = self.waits.get_or_insert_with(|| {
            backon::ExponentialBuilder::new()
                .with_min_delay(Duration::from_millis(500))
                .with_max_delay(Duration::from_secs(10))
                .with_jitter()
                .without_max_times()
                .build()
        });
        tokio::time::sleep(waits.next().unwrap_or(Duration::from_secs(10))).await;
    }

    fn over(&mut self) {
        if self.waits.take().is_some() {
            tracing::info!(resource = %self.resource, "following the cluster again");
        }
    }
}
