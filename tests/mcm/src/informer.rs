//! Keeping a copy up to date by LIST and WATCH, as late as wanted.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::copy::Store;
use crate::frost::Frost;
use crate::model::{Named, resource};

/// How long it waits after a failure. client-go begins with 0.8 s.
const BACKOFF: Duration = Duration::from_millis(500);

/// How late a copy is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Behind the API server, always.
    pub(crate) delay: Duration,
    /// How long a watch lives at most.
    pub(crate) watch_timeout: Duration,
    /// How long it takes to connect again after a frost.
    pub(crate) reconnect: Duration,
}

enum Change<T> {
    Replace(BTreeMap<String, T>),
    Set(String, T),
    Remove(String),
}

/// Keeps `store` up to date for ever.
pub(crate) async fn run<T: Named>(client: Client, namespace: &str, store: &Store<T>, frost: &Frost, pace: Pace) {
    let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &resource(T::KIND));
    let (sender, receiver) = unbounded_channel();
    tokio::join!(follow::<T>(&api, &sender, pace), take_up(store, frost, pace, receiver));
}

type Due<T> = (Instant, Change<T>);

async fn follow<T: Named>(api: &Api<DynamicObject>, sender: &UnboundedSender<Due<T>>, pace: Pace) {
    // What is read at the start of the process is fresh.
    let mut late = Duration::ZERO;
    loop {
        // Either way it begins again: a version that is too old, a connection that broke, an API server that is away.
        if let Ok(version) = list(api, sender, late).await {
            late = pace.delay;
            let _ = watch(api, sender, pace, version).await;
        }
        tokio::time::sleep(BACKOFF).await;
    }
}

async fn list<T: Named>(api: &Api<DynamicObject>, sender: &UnboundedSender<Due<T>>, late: Duration) -> Result<String> {
    let objects = api.list(&ListParams::default()).await?;
    let version = objects.metadata.resource_version.clone().unwrap_or_default();
    let by_name = objects.iter().map(|object| (object.metadata.name.clone().unwrap_or_default(), T::read(object)));
    sender.send((Instant::now() + late, Change::Replace(by_name.collect())))?;
    Ok(version)
}

/// Watches until something fails that only a LIST repairs; the end of a watch does not.
async fn watch<T: Named>(
    api: &Api<DynamicObject>,
    sender: &UnboundedSender<Due<T>>,
    pace: Pace,
    mut version: String,
) -> Result<()> {
    let seconds = u32::try_from(pace.watch_timeout.as_secs()).unwrap_or(u32::MAX).clamp(1, 290);
    let params = WatchParams::default().timeout(seconds);
    loop {
        let mut events = match api.watch(&params, &version).await {
            Ok(events) => events.boxed(),
            Err(kube::Error::Api(status)) => bail!("{status}"),
            Err(_) => {
                tokio::time::sleep(BACKOFF).await;
                continue;
            }
        };
        // A broken connection is an end like any other.
        while let Ok(Some(event)) = events.try_next().await {
            let (WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)) = &event
            else {
                match event {
                    WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                    WatchEvent::Error(status) => bail!("{status}"),
                    _ => {}
                }
                continue;
            };
            version = object.metadata.resource_version.clone().unwrap_or_default();
            let name = object.metadata.name.clone().unwrap_or_default();
            let change = match &event {
                WatchEvent::Deleted(_) => Change::Remove(name),
                _ => Change::Set(name, T::read(object)),
            };
            sender.send((Instant::now() + pace.delay, change))?;
        }
    }
}

async fn take_up<T: Named>(store: &Store<T>, frost: &Frost, pace: Pace, mut receiver: UnboundedReceiver<Due<T>>) {
    while let Some((due, change)) = receiver.recv().await {
        tokio::time::sleep_until(due).await;
        frost.reconnected(pace.reconnect).await;
        match change {
            Change::Replace(objects) => store.replace(objects),
            Change::Set(name, object) => store.set(name, object),
            Change::Remove(name) => store.remove(&name),
        }
    }
}
