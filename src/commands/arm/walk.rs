//! One shoot's walk through *guard*, *probe* and *arm*.

use std::time::Duration;

use mcm_migration_core::decide::{Because, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, Reason};
use mcm_migration_core::plan::{GuardStep, Say, guard_steps, is_armed, needs_arming};
use tokio::sync::Semaphore;

use super::guard::{Closed, Stop, TRIES, absent, close, qualified, restless, say, say_once};
use super::outcome::{Outcome, Verdict};
use crate::commands::node_watch::{GivenUp, NodeWatch};
use crate::seed::{Seed, Unproven, prove};
use crate::world::openstack_mcm_pod;

/// How often the guard is probed, each time over connections of its own.
const PROBED: usize = 3;
/// How often the shoot's pods are looked at while its Nodes are waited for.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// What all walks share.
pub(super) struct Walk {
    /// The seed.
    pub(super) seed: Seed,
    /// Its Nodes; none in a dry run.
    pub(super) nodes: Option<NodeWatch>,
    /// How many shoots speak to the API server at the same time. A shoot that only waits is not among them.
    pub(super) at_once: Semaphore,
}

impl Walk {
    /// Walks one shoot to its end.
    pub(super) async fn shoot(&self, namespace: String) -> Outcome {
        let end = match &self.nodes {
            None => self.look(&namespace).await,
            Some(nodes) => self.arm(&namespace, nodes).await,
        };
        let (verdict, detail) = end.unwrap_or_else(|stop| match stop {
            Stop::No(reasons) => (Verdict::No(reasons), String::new()),
            Stop::Failed(reason, text) => (Verdict::Failed(reason), text),
        });
        Outcome { namespace, verdict, detail }
    }

    /// A dry run: what would be done. A guard that is closed already is probed, since that writes nothing.
    async fn look(&self, namespace: &str) -> Result<(Verdict, String), Stop> {
        let _place = self.at_once.acquire().await;
        let facts = qualified(&self.seed, namespace).await?;
        if facts.guard() == Some(GuardLabel::Closed) {
            prove(&self.seed, namespace, &facts, PROBED, None)
                .await
                .map_err(|open| Stop::Failed(open.reason, open.text))?;
        }
        if is_armed(&facts) {
            return Ok((Verdict::Done(Reason::AlreadyArmed), counts(&facts)));
        }
        let mut steps: Vec<&str> = guard_steps(&facts)
            .into_iter()
            .filter_map(|step| match step {
                GuardStep::MakeMigration => Some("make the MachineMigration"),
                GuardStep::Disarm => None,
                GuardStep::CloseGuard => Some("close the guard"),
            })
            .collect();
        steps.push("probe it");
        let end = if needs_arming(&facts) {
            steps.push("wait until every Node is Ready long enough (not looked at here)");
            steps.push("arm");
            Reason::Armed
        } else {
            Reason::Guarded
        };
        Ok((Verdict::Would(end), format!("{}; would {}", counts(&facts), steps.join(", "))))
    }

    async fn arm(&self, namespace: &str, nodes: &NodeWatch) -> Result<(Verdict, String), Stop> {
        let place = self.at_once.acquire().await;
        let Closed { facts, labelled } = close(&self.seed, namespace).await?;
        // No OpenStack pod was there when the facts were read; that it is gone counts from here on.
        let gone_since = nodes.now();
        if let Err(open) = prove(&self.seed, namespace, &facts, PROBED, labelled).await {
            return Err(self.disarm(namespace, open).await);
        }
        let needed = needs_arming(&facts);
        let armed = is_armed(&facts);
        self.proved(namespace, needed || armed).await?;
        if armed {
            return Ok((Verdict::Done(Reason::AlreadyArmed), counts(&facts)));
        }
        if !needed {
            return Ok((Verdict::Done(Reason::Guarded), counts(&facts)));
        }
        drop(place);
        let waited = tokio::select! {
            waited = nodes.wait(gone_since) => waited,
            stop = self.openstack_returns(namespace) => return Err(stop),
        };
        let _place = self.at_once.acquire().await;
        match waited {
            Ok(()) => self.arm_now(namespace).await,
            Err(GivenUp::Unknown(error)) => Err(Stop::not_read(&error)),
            Err(GivenUp::NotReady(not_yet)) => {
                let because = not_yet.because();
                let message = format!("Not Ready, or not for long enough: {}.", because.subject);
                let lost = [Say::armed(false, Reason::SeedNodeLost, message)];
                say(&self.seed, namespace, &lost).await.map_err(|error| Stop::not_written(&error))?;
                Err(Stop::No(vec![because]))
            }
        }
    }

    /// Ends when an OpenStack pod is there again: the wait would have to begin anew when it is gone, and whoever brought it may do so
    /// again.
    async fn openstack_returns(&self, namespace: &str) -> Stop {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            match openstack_mcm_pod(&self.seed.client(), namespace).await {
                Ok(None) => {}
                Ok(Some(pod)) => return Stop::No(vec![Because::about(Reason::OpenstackMcmAlive, pod)]),
                Err(error) => return Stop::not_read(&error),
            }
        }
    }

    /// Arms, after everything that counts was read again and the guard, some minutes older now, was proved again.
    async fn arm_now(&self, namespace: &str) -> Result<(Verdict, String), Stop> {
        for _ in 0..TRIES {
            // Read before the facts: whoever pauses after that makes the write fail.
            let migration = self.seed.migration(namespace).await.map_err(|error| Stop::not_read(&error))?;
            let migration = migration.ok_or_else(|| Stop::not_written(&absent(namespace)))?;
            let facts = qualified(&self.seed, namespace).await?;
            if facts.guard() != Some(GuardLabel::Closed) {
                return Err(Stop::No(vec![Because::of(Reason::NoGuard)]));
            }
            if !needs_arming(&facts) {
                return Ok((Verdict::Done(Reason::Guarded), counts(&facts)));
            }
            if let Err(open) = prove(&self.seed, namespace, &facts, PROBED, None).await {
                return Err(self.disarm(namespace, open).await);
            }
            let armed =
                [Say::armed(true, Reason::Armed, "The guard is closed and proved; legacy Machines are rewritten.")];
            match say_once(&self.seed, namespace, &migration, &armed).await {
                Ok(()) => return Ok((Verdict::Done(Reason::Armed), counts(&facts))),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(Stop::not_written(&error)),
            }
        }
        Err(restless(namespace))
    }

    /// Writes down that the guard holds and, where there is nothing to arm for, that as well.
    async fn proved(&self, namespace: &str, needed: bool) -> Result<(), Stop> {
        let mut words =
            vec![Say::guarded(true, Reason::Guarded, "Every attempt on the guard was refused by its policies.")];
        if !needed {
            words.push(Say::armed(
                false,
                Reason::Guarded,
                "No Machine has a legacy ID or the marker: nothing to arm for.",
            ));
        }
        say(&self.seed, namespace, &words).await.map_err(|error| Stop::not_written(&error))
    }

    /// Takes back whatever was armed: the guard does not hold, or nothing proves that it does.
    async fn disarm(&self, namespace: &str, Unproven { reason, mut text }: Unproven) -> Stop {
        let message = format!("{}: {text}.", reason.meaning().trim_end_matches('.'));
        let words = [Say::guarded(false, reason, message.clone()), Say::armed(false, reason, message)];
        if let Err(error) = say(&self.seed, namespace, &words).await {
            text = format!("{text}; and Armed could not be set to false: {error}");
        }
        Stop::Failed(reason, text)
    }
}

/// How many Machines there are, and how many wait for the rewrite.
fn counts(facts: &NamespaceFacts) -> String {
    let legacy = facts.machines.values().filter(|machine| machine.is_legacy()).count();
    let machines = if facts.machines.len() == 1 { "Machine" } else { "Machines" };
    format!("{legacy} of {} {machines} with a legacy ID", facts.machines.len())
}
