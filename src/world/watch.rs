//! The list/watch loops that keep the world as the API server has it.
//!
//! They are our own because signs of life must be seen: a quiet watch and a dead one differ in nothing else. The API server is asked
//! to end each watch after two fifths of the permitted age, so that a watch that lives shows it twice within the age:
//!
//! - by an event, or by the bookmark that is sent each minute and some 2 s before the end. There is none when the API server knows
//!   of no later version than the one that the watch began with (k8s.io/apiserver `pkg/storage/cacher`), as of a kind that nobody
//!   writes, unless etcd runs with `--watch-progress-notify-interval`;
//! - where none came, by the end itself, in time: then everything is listed again, past the API server's caches.
//!
//! A watch that falls silent, its end included, goes on from its last version *without* a new list: to reconnect alone is no sign
//! of life. What stays silent turns stale, and only a good while later is everything listed again.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::AsyncBufReadExt;
use kube::Client;
use kube::api::WatchParams;
use kube::core::Request;
use tokio::task::JoinSet;

use super::call::{Listed, Which, list, within_deadline};
use super::reduce::Seen;
use super::trouble::Trouble;
use super::watch_event::WatchEvent;
use super::{Resource, World, WorldError};
use crate::error_chain::chain;

/// How much longer than it was asked to last a watch is waited for.
const GRACE: Duration = Duration::from_secs(5);

/// A watch that lasted this long was no failure, whatever ended it.
const LONG_ENOUGH: Duration = Duration::from_secs(4);

/// Follows every resource.
///
/// # Errors
/// Only when a task ends, which it never does by itself; the process should be started again then.
pub async fn follow(client: Client, world: Arc<World>) -> Result<Infallible, WorldError> {
    let mut tasks = JoinSet::new();
    for resource in Resource::ALL {
        tasks.spawn(keep(client.clone(), Arc::clone(&world), resource));
    }
    match tasks.join_next().await {
        Some(Ok(never)) => match never {},
        Some(Err(error)) => Err(WorldError::Ended(error.to_string())),
        None => Err(WorldError::Ended("there was none".to_owned())),
    }
}

/// Keeps one resource for ever.
async fn keep(client: Client, world: Arc<World>, resource: Resource) -> Infallible {
    let mut trouble = Trouble::new(resource);
    loop {
        let asked = Instant::now();
        match list(&client, resource, Which::All).await {
            Ok(Listed { objects, version, at }) => {
                tracing::debug!(%resource, objects = objects.len(), "listed");
                world.replace(resource, objects.into_iter().filter_map(entry), at);
                trouble.over();
                keep_watching(&client, &world, resource, version, &mut trouble).await;
            }
            Err(error) if error.code() == 404 && resource == Resource::MachineMigrations => {
                // Without its CRD there are none: no gate is open, and nothing is out of order.
                world.replace(resource, [], asked);
                trouble.over();
                tokio::time::sleep((world.max_age() / 5).clamp(Duration::from_secs(1), Duration::from_secs(30))).await;
            }
            Err(error) => {
                trouble.say(&error);
                trouble.wait().await;
            }
        }
    }
}

fn entry(seen: Seen) -> Option<(Box<str>, Box<str>, super::Fact)> {
    Some((seen.namespace, seen.name, seen.fact?))
}

/// Watches from `version` until a new list is needed.
async fn keep_watching(client: &Client, world: &World, resource: Resource, mut version: String, trouble: &mut Trouble) {
    loop {
        let began = Instant::now();
        let lasts = lasts(world.max_age());
        let end = watch_once(client, world, resource, lasts, &mut version, trouble).await;
        let lasted = began.elapsed();
        if lasted >= LONG_ENOUGH {
            trouble.reset();
        }
        match end {
            End::Closed { signs: 0 }
                if lasted + Duration::from_secs(1) >= lasts
                    || world.silent_for(resource).is_none_or(|silent| silent >= lasts) =>
            {
                tracing::debug!(%resource, "neither an event nor a bookmark; listing again");
                return;
            }
            End::Closed { .. } => {}
            End::Relist(why) => {
                tracing::debug!(%resource, why, "listing again");
                trouble.wait().await;
                return;
            }
            End::Failed(error) => {
                let gone = error.code() == 410;
                let unknown = matches!(error, WorldError::Unreadable { .. }) || error.code() == 404;
                if !gone {
                    trouble.say(&error);
                }
                if gone || unknown {
                    trouble.wait().await;
                    return;
                }
            }
        }
        if world.silent_for(resource).is_none_or(|age| age > world.max_age().saturating_mul(2)) {
            // Something keeps the watch silent for good: look at the whole again.
            return;
        }
        if lasted < LONG_ENOUGH {
            trouble.wait().await;
        }
    }
}

/// For how long the API server is asked to keep a watch.
fn lasts(max_age: Duration) -> Duration {
    Duration::from_secs((max_age.as_secs() / 5).saturating_mul(2).clamp(5, 290))
}

/// Why a watch ended.
enum End {
    /// By the API server, or with the connection.
    Closed {
        /// How many signs of life it gave.
        signs: usize,
    },
    /// The API server cannot go on from this version: its words.
    Relist(String),
    /// Otherwise.
    Failed(WorldError),
}

/// One watch.
async fn watch_once(
    client: &Client,
    world: &World,
    resource: Resource,
    lasts: Duration,
    version: &mut String,
    trouble: &mut Trouble,
) -> End {
    const VERB: &str = "watch";
    let params = WatchParams {
        field_selector: resource.field_selector().map(str::to_owned),
        label_selector: resource.label_selector(),
        timeout: u32::try_from(lasts.as_secs()).ok(),
        bookmarks: true,
        ..WatchParams::default()
    };
    let request = Request::new(resource.url(None));
    let until = tokio::time::Instant::now() + lasts + GRACE;
    let call = within_deadline(VERB, resource, async {
        client.request_stream(request.watch(&params, version).map_err(kube::Error::BuildRequest)?).await
    });
    let silent = || WorldError::Silent { verb: VERB, resource, seconds: (lasts + GRACE).as_secs() };
    let mut lines = match tokio::time::timeout_at(until, call).await {
        Ok(Ok(lines)) => pin!(lines),
        Ok(Err(error)) => return End::Failed(error),
        Err(_) => return End::Failed(silent()),
    };
    let mut signs = 0;
    loop {
        let mut line = Vec::new();
        match tokio::time::timeout_at(until, lines.read_until(b'\n', &mut line)).await {
            // A line that breaks off is sent again by the next watch.
            Ok(Ok(_)) if !line.ends_with(b"\n") => return End::Closed { signs },
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => return End::Closed { signs },
            Ok(Err(error)) => {
                return End::Failed(WorldError::Unreachable { verb: VERB, resource, message: chain(&error) });
            }
            Err(_) => return End::Failed(silent()),
        }
        // After a stall the first events are a backlog: what they say is old, and so is all that has not been read yet. Only a bookmark,
        // which comes after it, or a new list makes a stale resource fresh again.
        let mut alive = world.silent_for(resource).is_some_and(|silent| silent <= world.max_age());
        match WatchEvent::read(resource, &line) {
            Ok(WatchEvent::Put(seen)) => {
                version.clear();
                version.push_str(&seen.version);
                if let Some(fact) = seen.fact {
                    world.apply(&seen.namespace, seen.name, fact);
                }
            }
            Ok(WatchEvent::Gone(seen)) => {
                version.clear();
                version.push_str(&seen.version);
                if seen.fact.is_some() {
                    world.remove(resource, &seen.namespace, &seen.name);
                }
            }
            Ok(WatchEvent::Bookmark(at)) => {
                *version = at.into();
                alive = true;
            }
            Ok(WatchEvent::Error(why)) => return End::Relist(why),
            Err(error) => return End::Failed(error),
        }
        signs += 1;
        if alive {
            world.sign_of_life(resource, Instant::now());
        }
        trouble.over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_lasts_two_fifths_of_the_permitted_age() {
        for (max_age, seconds) in [(0, 5), (12, 5), (150, 60), (u64::MAX, 290)] {
            assert_eq!(lasts(Duration::from_secs(max_age)), Duration::from_secs(seconds));
        }
    }
}
