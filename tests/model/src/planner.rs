//! The product's planner, asked about a state; and the lies that take one of its gates away.

use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::decide::{Because, MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{
    Action, Backoff, CloudView, LeaseSighting, NodeSeen, NodesRule, Ownership, Plan, Proof, Seen, Settings, Shoot,
    ownership, plan, report,
};

use crate::config::Config;
use crate::facts::{self, CLASS_NAMES, DOMAIN, MACHINE_NAMES};
use crate::gates::{Gate, Out};
use crate::memory::{self, NOW, TICK};
use crate::state::{Cloud, Guard, Id, LABELLED, POS, Process, Seed, State, Write};

/// What the leader would do in a state.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Its writes, in its order.
    pub writes: Vec<Write>,
    /// What it waits for.
    pub waits: Vec<Because>,
}

/// The settings, in ticks.
#[must_use]
pub fn settings(out: Out) -> Settings {
    let unless = |gate: Gate, ticks: u32| if out.has(gate) { Duration::ZERO } else { TICK * ticks };
    Settings {
        quarantine: unless(Gate::Quarantine, 2),
        evidence_after: TICK,
        inflight_timeout: unless(Gate::InflightTimeout, 2),
        nodes: nodes_rule(),
        label_domain: DOMAIN.to_owned(),
        regions: [("RegionOne".to_owned(), facts::region())].into(),
        touch: true,
        boot_volume_care: false,
        force_after: None,
        drift_every: TICK,
    }
}

fn nodes_rule() -> NodesRule {
    NodesRule { ready_for: TICK, except: Vec::new() }
}

/// Shows `OpenStack` classes as `stackit` ones.
pub fn hide_openstack_classes(facts: &mut NamespaceFacts) {
    for provider in facts.classes.values_mut() {
        *provider = mcm_migration_core::domain::Provider::Stackit;
    }
}

/// Shows a Deployment with the STACKIT container alone.
pub fn hide_template(facts: &mut NamespaceFacts) {
    if let Some(template) = &mut facts.mcm_deployment {
        (template.openstack, template.stackit) = (false, true);
    }
}

/// Shows no pod with the OpenStack container.
pub fn hide_pods(facts: &mut NamespaceFacts) {
    facts.mcm_pods.retain(|_, pod| !pod.containers.openstack);
}

/// What the leader has seen after it has looked at the state.
#[must_use]
pub fn look(config: &Config, index: usize, seed: &Seed, out: Out) -> u32 {
    let mut facts = facts::facts(config, index, seed);
    if out.has(Gate::SettlePods) {
        hide_pods(&mut facts);
        hide_template(&mut facts);
    }
    if out.has(Gate::ReadBack) {
        believe_admission(&mut facts);
    }
    let mut seen = Seen::clone(&memory::memory(seed.seen));
    let restoring = ownership(&facts) == Ok(Ownership::RestoringHere);
    observe(config, seed, &facts, restoring, out.has(Gate::NodesBeforeListing), &mut seen);
    memory::number(seen)
}

/// Takes up what the caches, a LIST of the Machines and the Lease show. The Machines count only once no process can make servers any more that is
/// gone from the API; with `at_once` they do before.
pub fn observe(config: &Config, seed: &Seed, facts: &NamespaceFacts, restoring: bool, at_once: bool, seen: &mut Seen) {
    seen.observe(facts, restoring, NOW);
    if at_once || seen.other_is_off(Some(&facts::nodes(seed)), NOW, &nodes_rule()) {
        seen.observe_machines(facts.machines.keys().map(|name| &**name));
    }
    let led = |kinds: &[Process]| seed.mcms.iter().enumerate().find(|(_, mcm)| kinds.contains(&mcm.process));
    let holder = led(&[Process::On, Process::Woken]).or_else(|| led(&[Process::Frozen, Process::Cut]));
    let holder = holder.filter(|(kind, _)| *kind == POS || config.election);
    match holder {
        None => seen.observe_lease(None, NOW, NOW),
        Some((kind, mcm)) => {
            let holder: Box<str> = format!("{}-{}", if kind == POS { "pos" } else { "pst" }, mcm.uid).into();
            // One that is well renews between any two reads, and the last read shows the same text as at the time before.
            for renewed in if mcm.writes() { &["b", "a"][..] } else { &["a"] } {
                let sighting = LeaseSighting { holder: holder.clone(), renewed: (*renewed).into() };
                seen.observe_lease(Some(sighting), NOW, NOW);
            }
        }
    }
}

/// The same memory a tick later.
#[must_use]
pub fn aged(seen: u32) -> u32 {
    memory::number(memory::memory(seen).counted_from(TICK))
}

/// Takes what admission would answer for what is persisted.
fn believe_admission(facts: &mut NamespaceFacts) {
    if !facts.migration.is_some_and(|migration| migration.armed) {
        return;
    }
    for (m, name) in MACHINE_NAMES.iter().enumerate() {
        if let Some(machine) = facts.machines.get_mut(*name).filter(|machine| machine.is_legacy()) {
            machine.provider_id = facts::provider_id(m, Id::Rewritten).into();
            (machine.marked, machine.migrated) = (true, true);
        }
    }
}

struct Asked<'a> {
    facts: NamespaceFacts,
    seen: Arc<Seen>,
    nodes: Vec<NodeSeen>,
    cloud: &'a CloudView,
    seed: &'a Seed,
    settings: Settings,
}

impl Asked<'_> {
    fn plan(&self, proof: &Proof) -> Result<(Plan, Option<bool>), Because> {
        let (classes, backoff) = (facts::class_details(self.seed), Backoff::default());
        let shoot = Shoot {
            namespace: "shoot--p--s",
            facts: &self.facts,
            classes: &classes,
            seen: &self.seen,
            nodes: Some(&self.nodes),
            cloud: self.cloud,
            proof,
            backoff: &backoff,
        };
        let plan = plan(&shoot, NOW, &self.settings)?;
        let report = report(&shoot, &plan);
        let labelled = report.conditions.iter().find(|say| say.type_ == "Labelled").map(|say| say.holds);
        Ok((plan, labelled))
    }
}

/// Everything that the leader of a seed would write now, as the product's planner says it.
#[must_use]
pub fn wish(config: &Config, index: usize, seed: &Seed, cloud: &Cloud, out: Out) -> Wish {
    let listed = facts::cloud(config, cloud, out);
    let truth = || Asked {
        facts: facts::facts(config, index, seed),
        seen: memory::memory(seed.seen),
        nodes: facts::nodes(seed),
        cloud: &listed,
        seed,
        settings: settings(out),
    };
    let proof = prove(config, seed, out);
    let asked = truth();
    let mut wish = Wish::default();
    let (plan, labelled) = match asked.plan(&proof) {
        Ok(planned) => planned,
        Err(because) => {
            wish.waits.push(because);
            (Plan::default(), None)
        }
    };
    wish.waits.extend(plan.waits.iter().map(|wait| wait.because.clone()));
    let mut actions = plan.actions;
    // One gate at a time is lied about, for the steps alone that it guards.
    let mut lied = |gates: &[Gate], lie: &dyn Fn(&mut Asked<'_>), of: fn(&Action) -> bool| {
        if !gates.iter().any(|gate| out.has(*gate)) {
            return;
        }
        let mut asked = truth();
        lie(&mut asked);
        if let Ok((plan, _)) = asked.plan(&proof) {
            actions.extend(plan.actions.into_iter().filter(of));
        }
    };
    let is_label = |action: &Action| matches!(action, Action::Label { .. });
    let labelling = [Gate::NodesBeforeLabelling, Gate::Evidence, Gate::ReadBack, Gate::OwnershipGate];
    lied(&labelling, &|asked| lie_about_labels(asked, out), is_label);
    let is_guard = |action: &Action| matches!(action, Action::CloseGuard | Action::Arm | Action::Touch { .. });
    let without_openstack = |asked: &mut Asked<'_>| {
        if out.has(Gate::GuardClasses) {
            hide_openstack_classes(&mut asked.facts);
        }
        if out.has(Gate::GuardTemplate) {
            hide_template(&mut asked.facts);
        }
        if out.has(Gate::GuardPods) {
            hide_pods(&mut asked.facts);
        }
        // Nor is it remembered that there was any.
        let mut seen = Seen::clone(&asked.seen);
        seen.observe(&asked.facts, false, memory::ago(memory::HORIZON));
        asked.seen = Arc::new(seen);
    };
    lied(&[Gate::GuardClasses, Gate::GuardTemplate, Gate::GuardPods], &without_openstack, is_guard);
    lied(&[Gate::NodesBeforeArming], &|asked| asked.nodes = well(&asked.nodes), |action| matches!(action, Action::Arm));
    let is_let_go = |action: &Action| matches!(action, Action::SettleNoServer { .. });
    lied(&[Gate::NodesBeforeSettling], &|asked| asked.nodes = well(&asked.nodes), is_let_go);
    let is_settle = |action: &Action| matches!(action, Action::SettleId { .. } | Action::SettleNoServer { .. });
    let without_pods = |asked: &mut Asked<'_>| {
        hide_pods(&mut asked.facts);
        hide_template(&mut asked.facts);
    };
    lied(&[Gate::SettlePods], &without_pods, is_settle);
    let is_retire = |action: &Action| matches!(action, Action::Retire { .. });
    lied(&[Gate::RetireWanted, Gate::RetireSettled], &|asked| lie_about_classes(asked, out), is_retire);
    let is_mark = |action: &Action| matches!(action, Action::MarkWorker { .. });
    lied(&[Gate::WorkerDone, Gate::WorkerLabelled], &|asked| lie_about_done(asked, out), is_mark);
    wish.writes.extend(actions.iter().filter_map(|action| write_of(seed, action)));
    if let Some(labelled) =
        labelled.filter(|labelled| *labelled != (seed.migration & LABELLED != 0) && seed.migration != 0)
    {
        wish.writes.push(Write::Report(labelled));
    }
    wish.writes.sort_by_key(|write| order(*write));
    wish.writes.dedup();
    wish
}

/// In the product's own order, with the report last; the sort is stable.
fn order(write: Write) -> u8 {
    u8::from(matches!(write, Write::Report(_)))
}

/// The probe: what the API server's policies refuse now.
fn prove(config: &Config, seed: &Seed, out: Out) -> Proof {
    if seed.guard != Guard::Closed {
        return Proof::Unasked;
    }
    let lied = [Gate::Probe, Gate::NoWayBack, Gate::KeepIds, Gate::KeepGuard];
    if lied.iter().any(|gate| out.has(*gate)) || (seed.policies_see && !config.no_policies) {
        Proof::Holds
    } else {
        Proof::Fails(Because::of(Reason::GuardOpen))
    }
}

/// Shows every Node as Ready since long ago.
#[must_use]
pub fn well(nodes: &[NodeSeen]) -> Vec<NodeSeen> {
    nodes.iter().map(|node| NodeSeen { ready_since: Some(memory::ago(memory::HORIZON)), ..node.clone() }).collect()
}

fn lie_about_labels(asked: &mut Asked<'_>, out: Out) {
    if out.has(Gate::NodesBeforeLabelling) {
        asked.nodes = well(&asked.nodes);
    }
    if out.has(Gate::ReadBack) {
        believe_admission(&mut asked.facts);
    }
    if out.has(Gate::OwnershipGate) {
        for worker in asked.facts.workers.values_mut() {
            worker.operation = "".into();
            worker.last_operation = mcm_migration_core::decide::LastOperationFacts::default();
        }
        if let Some(cluster) = &mut asked.facts.cluster {
            cluster.shoot_last_operation = mcm_migration_core::decide::LastOperationFacts::default();
        }
    }
    if out.has(Gate::Evidence) {
        asked.seen = Arc::new(without_pods(&asked.facts, &asked.seen));
    }
}

/// The same memory of IDs, and none of any pod: nobody who could hold an old cache.
fn without_pods(facts: &NamespaceFacts, seen: &Seen) -> Seen {
    let mut times: Vec<_> = facts.machines.keys().filter_map(|name| seen.id_since(name)).collect();
    times.sort();
    let mut lied = Seen::default();
    for time in times {
        let then = |entry: &(&Box<str>, &MachineFacts)| seen.id_since(entry.0).is_some_and(|since| since <= time);
        let machines =
            facts.machines.iter().filter(then).map(|(name, machine)| (name.clone(), machine.clone())).collect();
        lied.observe(&NamespaceFacts { machines, ..NamespaceFacts::default() }, false, time);
    }
    lied
}

fn lie_about_classes(asked: &mut Asked<'_>, out: Out) {
    let stackit =
        asked.facts.classes.iter().find(|(_, provider)| **provider == mcm_migration_core::domain::Provider::Stackit);
    if let (true, Some((stackit, _))) = (out.has(Gate::RetireWanted), stackit) {
        for class in asked.facts.machine_deployments.values_mut() {
            *class = stackit.clone();
        }
    }
    if out.has(Gate::RetireSettled) {
        for machine in asked.facts.machines.values_mut() {
            machine.settled = true;
        }
    }
}

fn lie_about_done(asked: &mut Asked<'_>, out: Out) {
    if out.has(Gate::WorkerDone) {
        asked.facts.machines.clear();
    }
    if let Some(migration) = &mut asked.facts.migration {
        migration.labelled = true;
    }
}

fn write_of(seed: &Seed, action: &Action) -> Option<Write> {
    let m = |name: &str| MACHINE_NAMES.iter().position(|known| *known == name);
    let with = |name: &str, write: fn(u8, crate::state::Machine) -> Write| {
        let m = m(name)?;
        Some(write(u8::try_from(m).ok()?, seed.machines[m]))
    };
    match action {
        Action::SettleId { machine, .. } => with(machine, Write::SettleId),
        Action::SettleNoServer { machine } => with(machine, Write::SettleNoServer),
        Action::Touch { machine } => with(machine, Write::Touch),
        Action::Clear { machine } => with(machine, Write::Clear),
        Action::Label { machine, .. } => Some(Write::Label(u8::try_from(m(machine)?).ok()?)),
        Action::Retire { class, .. } => {
            let class = CLASS_NAMES.iter().position(|known| **known == **class)?;
            Some(Write::Retire(u8::try_from(class).ok()?))
        }
        Action::CloseGuard => Some(Write::CloseGuard),
        Action::Arm => Some(Write::Arm(seed.migration)),
        Action::Disarm { .. } => Some(Write::Disarm),
        Action::MarkWorker { .. } => Some(Write::Mark(true)),
        Action::UnmarkWorker { .. } => Some(Write::Mark(false)),
        // Looking is free: every plan is made with a LIST of now, and after a probe.
        Action::List { .. }
        | Action::ListParts { .. }
        | Action::LabelPart { .. }
        | Action::Probe
        | Action::Address { .. }
        | Action::CareForBootVolume { .. }
        | Action::Except { .. }
        | Action::Readmit { .. } => None,
    }
}

/// The seed of a state, as the leader knows it: everything that a wish depends on.
#[must_use]
pub fn key(state: &State, index: usize) -> (Seed, Cloud) {
    let mut seed = state.seeds[index];
    for mcm in &mut seed.mcms {
        (mcm.views, mcm.older, mcm.process) = ([0; 5], [0; 5], Process::Off);
    }
    (seed.paused_long, seed.turned, seed.goes_back, seed.paused_by_rollback) = (false, false, false, false);
    (seed.back_seen, seed.back_sent, seed.is_back, seed.misfits) = (0, Write::None, false, 0);
    (seed.window, seed.sent, seed.left) = (crate::state::Window::default(), Write::None, Write::None);
    (seed, state.cloud)
}
