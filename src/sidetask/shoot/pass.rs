//! One pass: read, plan, carry out, until nothing is left to do now; then report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::decide::{Because, Known, MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::{Provider, Reason};
use mcm_migration_core::plan::{self, Action, Moment, Plan, Proof, report};

use tokio::sync::OwnedSemaphorePermit;

use super::step::{Came, lost_leadership};
use super::{LOOK_EVERY, Shoot};
use crate::sidetask::{Clock, Clouds, Cluster, Fence, Owners, Snapshot, Write};

/// Rounds of planning in one pass. Each carries something out; a healthy shoot needs about eight.
const ROUNDS: usize = 16;

/// What one pass knows.
pub(super) struct Pass {
    pub(super) snapshot: Snapshot,
    pub(super) proof: Proof,
    pub(super) just_closed: bool,
    /// The right to label, once it is this shoot's turn; kept until the pass ends.
    place: Option<OwnedSemaphorePermit>,
    /// Whether the guard was closed, or the shoot armed, since the status was written.
    turned: bool,
    /// When the status was written, or the pass begun.
    shown: Moment,
}

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    /// Passes over the shoot, and says after which pause the next pass is due.
    ///
    /// # Errors
    /// Why nothing may be done, nor be written into the status.
    pub(super) async fn pass(&mut self) -> Result<Duration, Because> {
        let (nodes, rule) = (self.context.nodes(), &self.context.config.settings.nodes);
        // Asked before the list: a Machine that it lacks was made after nobody could make servers in OpenStack any more.
        let off = self.seen.other_is_off(nodes.as_deref(), self.context.clock.now(), rule);
        let snapshot = self.read_snapshot().await?;
        if off {
            self.seen.observe_machines(snapshot.facts.machines.keys().map(|name| &**name));
        }
        let facts = &snapshot.facts;
        self.backoff.retain(|step, subject| {
            facts.machines.contains_key(subject)
                || facts.classes.contains_key(subject)
                || facts.workers.contains_key(subject)
                || subject.is_empty()
                // A region: nearly every name of a Machine could be one.
                || Action::is_list(step)
        });
        self.cloud.forget_servers(&snapshot.facts);
        self.forget_troubles(snapshot.facts.project);
        let now = self.context.clock.now();
        let mut pass =
            Pass { snapshot, proof: Proof::Unasked, just_closed: false, place: None, turned: false, shown: now };
        let mut plan = self.plan_and_learn(&pass)?;
        for _ in 0..ROUNDS {
            if plan.actions.is_empty() || !self.round(&mut pass, &plan).await? {
                break;
            }
            plan = self.plan_and_learn(&pass)?;
            if pass.turned {
                self.show(&mut pass, &plan).await;
            }
        }
        // Others need not wait for what is only told.
        pass.place = None;
        plan = self.report(&mut pass, plan).await?;
        let of_quarantine = [Reason::Quarantined, Reason::NoLeaseEvidence, Reason::McmUnproven];
        self.wants_evidence = plan.waits.iter().any(|wait| of_quarantine.contains(&wait.because.reason));
        self.tell(&plan).await;
        Ok(self.pause(&plan))
    }

    pub(super) fn plan(&self, pass: &Pass) -> Result<Plan, Because> {
        let nodes = self.context.nodes();
        let shoot = self.shoot(pass, nodes.as_deref());
        plan::plan(&shoot, self.context.clock.now(), &self.context.config.settings)
    }

    /// The same, and remembers what the plan found of the Machines' servers.
    fn plan_and_learn(&mut self, pass: &Pass) -> Result<Plan, Because> {
        let now = self.context.clock.now();
        let plan = self.plan(pass)?;
        self.seen.observe_troubles(&plan.findings, now);
        Ok(plan)
    }

    fn shoot<'a>(&'a self, pass: &'a Pass, nodes: Option<&'a [plan::NodeSeen]>) -> plan::Shoot<'a> {
        plan::Shoot {
            namespace: &self.namespace,
            facts: &pass.snapshot.facts,
            classes: &pass.snapshot.classes,
            seen: &self.seen,
            nodes,
            cloud: &self.cloud,
            proof: &pass.proof,
            backoff: &self.backoff,
        }
    }

    /// Carries out one plan. Says whether another is to be made.
    async fn round(&mut self, pass: &mut Pass, plan: &Plan) -> Result<bool, Because> {
        let (mut changed, mut learnt) = (false, false);
        for action in &plan.actions {
            if !self.context.fence.holds() {
                return Err(lost_leadership());
            }
            self.observe();
            if is_slow(action) {
                if self.something_more_urgent(pass) {
                    return Ok(false);
                }
                if pass.place.is_none() {
                    // What the plan was made from may have aged meanwhile, so another one is made.
                    return self.await_place(pass).await;
                }
            }
            if is_slow(action) && self.context.clock.now().saturating_sub(pass.shown) >= self.context.config.pass_every
            {
                let so_far = self.plan(pass)?;
                self.show(pass, &so_far).await;
            }
            match self.carry_out(pass, action).await {
                Came::Done => changed = true,
                // What failed is held back from now on, so that the next plan says why and goes on with the rest.
                Came::Learnt | Came::Failed(_) => learnt = true,
                Came::Void => changed |= !self.context.config.dry_run,
            }
            // What follows in this plan may rely on what the guard and the class were.
            if changed
                && matches!(action, Action::CloseGuard | Action::Arm | Action::Disarm { .. } | Action::Retire { .. })
            {
                pass.turned = !matches!(action, Action::Retire { .. });
                break;
            }
        }
        if changed {
            pass.snapshot = self.read_snapshot().await?;
        }
        Ok(changed || learnt)
    }

    /// Waits until it is this shoot's turn to label, or something cannot wait. Says whether another plan is to be made.
    async fn await_place(&mut self, pass: &mut Pass) -> Result<bool, Because> {
        let place = Arc::clone(&self.context.labelling).acquire_owned();
        tokio::pin!(place);
        loop {
            tokio::select! {
                biased;
                place = &mut place => {
                    pass.place = place.ok();
                    return Ok(pass.place.is_some());
                }
                () = self.context.clock.sleep(LOOK_EVERY) => {}
            }
            if !self.context.fence.holds() {
                return Err(lost_leadership());
            }
            self.observe();
            if self.something_more_urgent(pass) {
                return Ok(false);
            }
        }
    }

    /// Whether something has turned up meanwhile that cannot wait until every label is set. A Machine without an ID whose class is `stackit` is
    /// just being made: with one of them after the other, a shoot would never get its turn.
    fn something_more_urgent(&self, pass: &Pass) -> bool {
        let unsettled = |facts: &NamespaceFacts, machine: &MachineFacts| {
            machine.is_unsettled() && facts.classes.get(&machine.class) != Some(&Provider::Stackit)
        };
        let urgent = |facts: &NamespaceFacts| {
            facts.machines.values().filter(|machine| machine.is_legacy() || unsettled(facts, machine)).count()
        };
        let before = &pass.snapshot.facts;
        self.context.cluster.look(&self.namespace, |known| match known {
            Known::Fresh(facts) => {
                let openstack_is_back =
                    || before.openstack_remains().next().is_none() && facts.openstack_remains().next().is_some();
                urgent(facts) > urgent(before) || openstack_is_back()
            }
            Known::Stale(_) => false,
        })
    }

    /// Writes the status in the middle of a pass that takes its time.
    async fn show(&self, pass: &mut Pass, plan: &Plan) {
        (pass.turned, pass.shown) = (false, self.context.clock.now());
        if self.context.config.dry_run || pass.snapshot.facts.migration.is_none() {
            return;
        }
        let nodes = self.context.nodes();
        let report = report(&self.shoot(pass, nodes.as_deref()), plan);
        if let Err(because) = self.write(Write::Report(&report)).await {
            tracing::warn!(namespace = &*self.namespace, why = because.subject, "the status was not written");
        }
    }

    /// Writes the status; where that lets the Worker be marked, marks it and writes the status again.
    async fn report(&mut self, pass: &mut Pass, mut plan: Plan) -> Result<Plan, Because> {
        for _ in 0..2 {
            let nodes = self.context.nodes();
            let report = report(&self.shoot(pass, nodes.as_deref()), &plan);
            let mut standing = Self::waiting(&plan);
            let excepted = exceptions(&pass.snapshot.facts);
            let Some(migration) = pass.snapshot.facts.migration.as_mut() else {
                self.stands(standing);
                return Ok(plan);
            };
            standing.phase = Some(report.phase);
            standing.exceptions = excepted;
            let labelled = report.conditions.iter().find(|say| say.type_ == "Labelled").map(|say| say.holds);
            let before = migration.labelled;
            migration.labelled = labelled.unwrap_or(before);
            let turned = before != migration.labelled;
            self.stands(standing);
            if self.context.config.dry_run {
                return Ok(plan);
            }
            if let Err(because) = self.write(Write::Report(&report)).await {
                tracing::warn!(namespace = &*self.namespace, why = because.subject, "the status was not written");
                return Ok(plan);
            }
            if !turned {
                return Ok(plan);
            }
            plan = self.plan(pass)?;
            let marks: Vec<_> =
                plan.actions.iter().filter(|action| matches!(action, Action::MarkWorker { .. })).cloned().collect();
            if marks.is_empty() {
                return Ok(plan);
            }
            for mark in &marks {
                self.carry_out(pass, mark).await;
            }
            pass.snapshot = self.read_snapshot().await?;
            plan = self.plan(pass)?;
        }
        Ok(plan)
    }

    /// When to pass again if nothing changes.
    fn pause(&self, plan: &Plan) -> Duration {
        let config = &self.context.config;
        let quiet = plan.waits.is_empty() && plan.actions.is_empty() && plan.unknown == 0;
        let longest = if quiet { config.settings.drift_every } else { config.pass_every };
        // Spread, so that the shoots of a seed do not come all at once.
        let longest = longest.mul_f64(0.9 + 0.1 * self.context.clock.jitter());
        plan.next.map_or(longest, |next| next.min(longest))
    }
}

/// Machines with the annotation `exception`, by the side task's own reasons; all texts of others are one.
fn exceptions(facts: &NamespaceFacts) -> BTreeMap<&'static str, i64> {
    let mut by_reason = BTreeMap::new();
    for exception in facts.machines.values().filter_map(|machine| machine.exception.as_ref()) {
        *by_reason.entry(exception.forced().map_or("other", Reason::name)).or_default() += 1;
    }
    by_reason
}

/// Steps that wait for the limits of the cloud.
fn is_slow(action: &Action) -> bool {
    matches!(action, Action::Label { .. } | Action::LabelPart { .. } | Action::CareForBootVolume { .. })
}
