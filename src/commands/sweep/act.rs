//! Deletes what was seen left over twice, each after another look at everything that forbids it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use kube::Client;
use mcm_migration_core::domain::{Part, Region};
use mcm_migration_core::plan::{Alive, OldLabels, may_be_deleted, may_be_swept};
use tokio::sync::Mutex;

use crate::cloud::{Check, CloudError, ProjectClient};
use crate::world::{self, every_machine};

/// For how long one list of all Machines of the seed counts.
const ALIVE_FOR: Duration = Duration::from_secs(5);

/// What is said of a part that is not there any more, also when only the answer to its deletion was lost.
const GONE: &str = "it is gone already";

/// What an answer begins with that says nothing for or against: what had to be asked could not be.
const UNASKED: &str = "could not be asked again: ";

fn unasked(error: impl std::fmt::Display) -> String {
    format!("{UNASKED}{error}")
}

/// Something spoke against it, or nobody could say.
fn called_off(message: &str) -> End {
    if message.starts_with(UNASKED) { End::Failed(message.to_owned()) } else { End::Kept(message.to_owned()) }
}

/// What is not there any more, after a deletion of this sweep had been sent or without one.
fn gone(sent_before: bool) -> End {
    if sent_before { End::Unanswered } else { End::Gone }
}

/// How the removal of one thing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It is gone, or the labels are.
    Done,
    /// Somebody else took it away.
    Gone,
    /// It is gone after a deletion of this sweep whose answer was lost.
    Unanswered,
    /// Something spoke against it at the last moment.
    Kept(String),
    /// A call failed.
    Failed(String),
}

/// The Machines of the seed, read again and again.
#[derive(Clone)]
pub(super) struct Seed {
    client: Client,
    alive: Arc<Mutex<Option<LastLook>>>,
}

/// When the Machines were asked for last, and what there was.
type LastLook = (Instant, Arc<Alive>);

impl Seed {
    pub(super) fn new(client: Client) -> Self {
        Self { client, alive: Arc::default() }
    }

    async fn alive(&self) -> Result<Arc<Alive>, String> {
        let mut last = self.alive.lock().await;
        if let Some((_, alive)) = last.as_ref().filter(|(asked, _)| asked.elapsed() < ALIVE_FOR) {
            return Ok(Arc::clone(alive));
        }
        let asked = Instant::now();
        let machines = every_machine(&self.client).await.map_err(unasked)?;
        let alive = Arc::new(Alive::of(machines.iter().map(|machine| (&*machine.name, &machine.facts))));
        *last = Some((asked, Arc::clone(&alive)));
        Ok(alive)
    }

    /// Whether the shoot may be swept now.
    async fn shoot(&self, namespace: &str, cloud: &ProjectClient) -> Result<(), String> {
        let (facts, _) = world::detailed_snapshot(&self.client, namespace).await.map_err(unasked)?;
        may_be_swept(&facts, cloud.project()).map_err(|because| because.to_string())
    }

    /// Deletes a part of the shoot, if everything that was seen is still so when it is sent.
    pub(super) async fn delete(&self, cloud: &ProjectClient, namespace: &str, region: &Region, part: &Part) -> End {
        let (seed, reads) = (self.clone(), cloud.clone());
        let (namespace, at, shown) = (namespace.to_owned(), region.clone(), part.clone());
        let check = Check::new(move || {
            let (seed, reads, namespace) = (seed.clone(), reads.clone(), namespace.clone());
            let (at, shown) = (at.clone(), shown.clone());
            async move { seed.may_go(&reads, &namespace, &at, &shown).await }.boxed()
        });
        match cloud.checked(check).delete_part(region, part.id).await {
            Ok(()) => End::Done,
            Err(CloudError::NotFound(failure)) => gone(failure.attempts > 1),
            // Called off before it was sent once more.
            Err(CloudError::CalledOff(failure)) if &*failure.message == GONE => gone(failure.attempts > 0),
            Err(CloudError::CalledOff(failure)) => called_off(&failure.message),
            Err(error @ CloudError::Conflict(_)) => End::Kept(error.to_string()),
            Err(error) => End::Failed(error.to_string()),
        }
    }

    /// Asked right before a part is deleted. The part itself comes last.
    async fn may_go(
        &self,
        cloud: &ProjectClient,
        namespace: &str,
        region: &Region,
        shown: &Part,
    ) -> Result<(), String> {
        self.shoot(namespace, cloud).await?;
        let machine = world::machine(&self.client, namespace, &shown.name).await.map_err(unasked)?;
        if machine.is_some() {
            return Err("a Machine of its name is there".to_owned());
        }
        let alive = self.alive().await?;
        let server = may_be_deleted(shown, namespace, &alive).map_err(|kept| kept.to_string())?;
        match cloud.get_server(region, server).await {
            // The API's own word on this very server.
            Err(CloudError::Gone(_)) => {}
            Ok(_) => return Err(format!("its server {server} is there")),
            Err(error) => return Err(unasked(error)),
        }
        let now = match cloud.get_part(region, shown.id).await {
            Err(CloudError::NotFound(_)) => return Err(GONE.to_owned()),
            now => now.map_err(unasked)?,
        };
        may_be_deleted(&now, namespace, &alive).map_err(|kept| kept.to_string())?;
        if now == *shown { Ok(()) } else { Err("it is another than a moment ago".to_owned()) }
    }

    /// Takes labels of a domain used before off a server, if it is still the same server of the same Machine.
    pub(super) async fn unlabel(
        &self,
        cloud: &ProjectClient,
        namespace: &str,
        region: &Region,
        old: &OldLabels,
    ) -> End {
        let (seed, reads) = (self.clone(), cloud.clone());
        let (namespace, at, shown) = (namespace.to_owned(), region.clone(), old.clone());
        let check = Check::new(move || {
            let (seed, reads, namespace) = (seed.clone(), reads.clone(), namespace.clone());
            let (at, shown) = (at.clone(), shown.clone());
            async move { seed.may_lose(&reads, &namespace, &at, &shown).await }.boxed()
        });
        let keys: BTreeSet<String> = old.keys.iter().map(ToString::to_string).collect();
        match cloud.checked(check).remove_server_labels(region, old.server.id, &keys).await {
            Ok(server) if old.keys.iter().any(|key| server.labels.contains_key(key)) => {
                End::Failed("the answer still shows the labels".to_owned())
            }
            Ok(_) => End::Done,
            Err(CloudError::Gone(_)) => End::Gone,
            Err(CloudError::CalledOff(failure)) => called_off(&failure.message),
            Err(error @ CloudError::Conflict(_)) => End::Kept(error.to_string()),
            Err(error) => End::Failed(error.to_string()),
        }
    }

    async fn may_lose(
        &self,
        cloud: &ProjectClient,
        namespace: &str,
        region: &Region,
        shown: &OldLabels,
    ) -> Result<(), String> {
        self.shoot(namespace, cloud).await?;
        let machine = world::machine(&self.client, namespace, &shown.machine).await.map_err(unasked)?;
        let id = format!("stackit://{}/{}", cloud.project(), shown.server.id);
        let same = machine.is_some_and(|(facts, _)| *facts.provider_id == *id && !facts.marked && facts.migrated);
        if !same {
            return Err("its Machine is another now".to_owned());
        }
        let now = cloud.get_server(region, shown.server.id).await.map_err(unasked)?;
        if now == shown.server { Ok(()) } else { Err("its server is another than a moment ago".to_owned()) }
    }
}
