//! The Nodes of the seed, followed once for all shoots of a command.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use mcm_migration_core::plan::{
    Moment, NodeBook, NodeSeen, NodeSighting, NodesNotYet, NodesRule, every_node_ready_long_enough,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::seed::nodes;

const INTERVAL: Duration = Duration::from_secs(2);
/// How often is said what is waited for.
const SAY_EVERY: Duration = Duration::from_secs(30);
/// Without a list for this long the wait is given up.
const SILENT_FOR: Duration = Duration::from_secs(60);

/// What is known of the Nodes, and why no more.
#[derive(Debug, Clone, Default)]
struct Known {
    nodes: Vec<NodeSeen>,
    until: Option<Moment>,
    error: Option<String>,
    /// The API server will not answer otherwise by itself: the right to list Nodes is missing.
    forbidden: bool,
}

/// Follows the Nodes for as long as it lives.
pub(in crate::commands) struct NodeWatch {
    started: Instant,
    rule: NodesRule,
    known: watch::Receiver<Known>,
    waiting: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// Why the wait ended without all Nodes Ready.
#[derive(Debug)]
pub(in crate::commands) enum GivenUp {
    /// Nodes are lost, or do not stay Ready.
    NotReady(NodesNotYet),
    /// The Nodes cannot be read.
    Unknown(String),
}

impl Drop for NodeWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl NodeWatch {
    /// Starts to look at the Nodes.
    pub(in crate::commands) fn start(client: Client, rule: NodesRule) -> Self {
        let started = Instant::now();
        let (sender, known) = watch::channel(Known::default());
        let waiting = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(follow(client, rule.clone(), started, sender, Arc::clone(&waiting)));
        Self { started, rule, known, waiting, task }
    }

    /// The present moment.
    pub(in crate::commands) fn now(&self) -> Moment {
        self.started.elapsed()
    }

    /// The Nodes as they were last seen; none before the first list, or when that is too old for them to have been watched throughout.
    pub(in crate::commands) fn seen(&self) -> Result<Vec<NodeSeen>, Option<String>> {
        let known = self.known.borrow();
        let watched = |until| self.now().saturating_sub(until) <= NodeBook::LONGEST_GAP;
        if known.until.is_some_and(watched) { Ok(known.nodes.clone()) } else { Err(known.error.clone()) }
    }

    /// Waits until every Node has been seen Ready for long enough after `since`. A Node that is lost at the end of that time
    /// ends the wait, as do Nodes that do not stay Ready for twice the time.
    pub(in crate::commands) async fn wait(&self, since: Moment) -> Result<(), GivenUp> {
        let _counted = Counted::one(&self.waiting);
        let mut known = self.known.clone();
        let mut silent_since = Instant::now();
        let mut heard = None;
        loop {
            let now = known.borrow_and_update().clone();
            if now.forbidden {
                return Err(GivenUp::Unknown(now.error.unwrap_or_default()));
            }
            if now.until != heard {
                (heard, silent_since) = (now.until, Instant::now());
            }
            if let Some(until) = now.until {
                let waited = until.saturating_sub(since);
                match every_node_ready_long_enough(&now.nodes, since, until, &self.rule) {
                    Ok(()) => return Ok(()),
                    Err(lost @ NodesNotYet::Lost(_)) if waited >= self.rule.ready_for => {
                        return Err(GivenUp::NotReady(lost));
                    }
                    Err(unsteady) if waited >= self.rule.ready_for * 2 + INTERVAL * 2 => {
                        return Err(GivenUp::NotReady(unsteady));
                    }
                    Err(_) => {}
                }
            }
            if silent_since.elapsed() >= SILENT_FOR {
                return Err(GivenUp::Unknown(now.error.unwrap_or_else(|| "cannot list Nodes: no answer".to_owned())));
            }
            // Looked at again also without news, to notice the silence.
            drop(tokio::time::timeout(INTERVAL, known.changed()).await);
        }
    }
}

/// Counts a shoot that waits, until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn one(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn follow(
    client: Client,
    rule: NodesRule,
    started: Instant,
    known: watch::Sender<Known>,
    waiting: Arc<AtomicUsize>,
) {
    let mut book = NodeBook::default();
    let mut said: Option<(Instant, String)> = None;
    let mut warned = false;
    loop {
        let asked = started.elapsed();
        match nodes(&client).await {
            Ok(nodes) => {
                if !std::mem::replace(&mut warned, true) {
                    warn_of_unknown_names(&rule, &nodes);
                }
                book.take_up(nodes, asked, started.elapsed());
                let now = Known { nodes: book.nodes(), until: book.known_until(), error: None, forbidden: false };
                known.send_replace(now);
            }
            Err(error) => known.send_modify(|known| {
                known.forbidden = matches!(error.code(), Some(401 | 403));
                known.error = Some(error.to_string());
            }),
        }
        say(&known.borrow(), &rule, waiting.load(Ordering::Relaxed), &mut said);
        // A large list is not asked for as often, and still within the longest gap.
        let took = started.elapsed().saturating_sub(asked);
        tokio::time::sleep((took * 4).clamp(INTERVAL.min(rule.ready_for / 4), INTERVAL * 2)).await;
    }
}

fn warn_of_unknown_names(rule: &NodesRule, nodes: &[NodeSighting]) {
    for name in rule.except.iter().filter(|name| !nodes.iter().any(|node| node.name == **name)) {
        drop(writeln!(std::io::stderr(), "--ignore-lost-node {name}: the seed has no Node of that name"));
    }
}

/// Tells what is waited for, when that changes and now and then.
fn say(known: &Known, rule: &NodesRule, waiting: usize, said: &mut Option<(Instant, String)>) {
    if waiting == 0 {
        return;
    }
    let lost: Vec<&str> = known
        .nodes
        .iter()
        .filter(|node| node.ready_since.is_none() && !rule.except.contains(&node.name))
        .map(|node| node.name.as_str())
        .collect();
    let state = match &known.error {
        Some(error) => error.clone(),
        None if lost.is_empty() => "all are Ready now".to_owned(),
        None => format!("not Ready now: {}", lost.join(", ")),
    };
    let new = |(at, before): &(Instant, String)| *before != state || at.elapsed() >= SAY_EVERY;
    if said.as_ref().is_none_or(new) {
        drop(writeln!(
            std::io::stderr(),
            "{waiting} of the shoots wait until each of the {} Nodes of the seed has been seen Ready for {:?}; {state}",
            known.nodes.len(),
            rule.ready_for,
        ));
        *said = Some((Instant::now(), state));
    }
}
