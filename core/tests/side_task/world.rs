//! A whole small world in virtual time: the API server's objects of one shoot, its servers, Gardener, the machine-controller-managers with
//! caches that lag behind, and a leader that looks, plans and carries out. Whoever would delete the server of a living Machine, or leave one
//! behind, is written down.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcm_migration_core::decide::{Because, Known, NamespaceFacts, open_for_rewrite};
use mcm_migration_core::domain::{
    Exception, GuardLabel, LegacyProviderId, Part, PartId, Provider, Reason, Server, ServerId, ServerStatus,
    StackitProviderId,
};
use mcm_migration_core::plan::{
    Action, Backoff, ClassDetails, CloudView, LeaseSighting, Listed, ListedParts, Moment, NodeSeen, Ownership, Phase,
    Plan, Proof, Report, Seen, Settings, Shoot, ownership, plan, report,
};

use super::{DOMAIN, eu01, providers};

/// A small generator of numbers, so that a whole run follows from one seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the leader keeps from pass to pass.
#[derive(Debug, Default)]
pub struct Leader {
    pub seen: Seen,
    pub cloud: CloudView,
    pub backoff: Backoff,
}

/// What the API server showed at some time.
#[derive(Debug, Clone)]
pub struct View {
    pub ids: BTreeMap<Box<str>, Box<str>>,
    pub classes: BTreeMap<Box<str>, Provider>,
}

#[derive(Debug)]
pub struct World {
    pub now: Moment,
    pub facts: NamespaceFacts,
    pub classes: BTreeMap<Box<str>, ClassDetails>,
    /// The servers as they are.
    pub servers: BTreeMap<ServerId, Server>,
    /// Servers whose network interfaces have the addresses.
    pub addressed: BTreeSet<ServerId>,
    /// Their network interfaces and volumes.
    pub parts: BTreeMap<PartId, Part>,
    /// Servers that OpenStack made; only these can be lost by a wrong step.
    pub born: BTreeSet<ServerId>,
    pub nodes: Vec<NodeSeen>,
    pub lease: Option<LeaseSighting>,
    pub leader: Leader,
    pub settings: Settings,
    pub history: Vec<(Moment, View)>,
    pub dice: Dice,
    /// Of 100 steps of the leader, how many fail.
    pub failing: u64,
    /// What must never happen.
    pub harm: Vec<String>,
    pub journal: Vec<(u64, String)>,
    pub last: Option<(Plan, Report)>,
    pub made: usize,
}

impl World {
    pub fn view(&self) -> View {
        let id = |machine: &mcm_migration_core::decide::MachineFacts| machine.provider_id.clone();
        View {
            ids: self.facts.machines.iter().map(|(name, machine)| (name.clone(), id(machine))).collect(),
            classes: self.facts.classes.clone(),
        }
    }

    /// What was shown at a moment.
    pub fn view_at(&self, moment: Moment) -> View {
        let before = self.history.iter().rev().find(|(at, _)| *at <= moment);
        before.or(self.history.first()).map_or_else(|| self.view(), |(_, view)| view.clone())
    }

    pub fn note(&mut self, what: impl Into<String>) {
        self.journal.push((self.now.as_secs(), what.into()));
    }

    /// One pass of the leader, as the executor makes it. Says how many steps other than looking it took.
    pub fn pass(&mut self) -> usize {
        let restoring = ownership(&self.facts) == Ok(Ownership::RestoringHere);
        self.leader.seen.observe(&self.facts, restoring, self.now);
        if self.leader.seen.other_is_off(Some(&self.nodes), self.now, &self.settings.nodes) {
            self.leader.seen.observe_machines(self.facts.machines.keys().map(|name| &**name));
        }
        self.leader.seen.observe_lease(self.lease.clone(), self.now, self.now);
        self.leader.cloud.troubles.clear();
        self.leader.cloud.part_troubles.clear();
        let (mut proof, mut steps) = (Proof::Unasked, 0);
        for _ in 0..16 {
            let Ok(plan) = self.plan(&proof) else { return steps };
            let mut learnt = false;
            for action in &plan.actions {
                learnt = true;
                steps += usize::from(!matches!(action, Action::Probe | Action::List { .. } | Action::ListParts { .. }));
                if self.dice.chance(self.failing) {
                    self.leader.backoff.failed(action, Because::of(Reason::WriteFailed), self.now, 0.5);
                    if let Action::Probe = action {
                        proof = Proof::Fails(Because::of(Reason::GuardUnproven));
                    }
                    continue;
                }
                self.leader.backoff.done(action);
                self.carry_out(action, &mut proof);
                if matches!(action, Action::CloseGuard | Action::Arm | Action::Disarm { .. } | Action::Retire { .. }) {
                    break;
                }
            }
            if !learnt {
                break;
            }
        }
        self.report(&proof);
        steps
    }

    pub fn plan(&self, proof: &Proof) -> Result<Plan, Because> {
        plan(&self.shoot(proof), self.now, &self.settings)
    }

    fn shoot<'a>(&'a self, proof: &'a Proof) -> Shoot<'a> {
        let Leader { seen, cloud, backoff } = &self.leader;
        Shoot {
            namespace: super::NAMESPACE,
            facts: &self.facts,
            classes: &self.classes,
            seen,
            nodes: Some(&self.nodes),
            cloud,
            proof,
            backoff,
        }
    }

    fn report(&mut self, proof: &Proof) {
        let Ok(plan) = self.plan(proof) else { return };
        let report = report(&self.shoot(proof), &plan);
        let labelled = report.conditions.iter().find(|say| say.type_ == "Labelled").map(|say| say.holds);
        if let Some(migration) = &mut self.facts.migration {
            migration.labelled = labelled.unwrap_or(migration.labelled);
        }
        self.last = Some((plan, report));
    }

    fn carry_out(&mut self, action: &Action, proof: &mut Proof) {
        if !matches!(action, Action::Probe | Action::List { .. } | Action::ListParts { .. }) {
            self.note(format!("{} {}", action.step(), action.subject()));
        }
        match action {
            Action::List { region } => {
                let listed = Listed::new(self.servers.values().cloned(), self.now);
                self.leader.cloud.lists.insert(region.clone(), listed);
            }
            Action::ListParts { region, kind } => {
                for server in self.servers.values().filter(|server| self.born.contains(&server.id)) {
                    let part = super::parts::made_apart(*kind, server.id, &server.name);
                    self.parts.entry(part.id).or_insert(part);
                }
                let parts = self.parts.values().filter(|part| part.id.kind() == *kind).cloned();
                self.leader.cloud.parts.insert((region.clone(), *kind), ListedParts::new(parts, self.now));
            }
            Action::LabelPart { region, part, labels, .. } => {
                let shown = self.parts.get_mut(part).unwrap();
                shown.labels.extend(labels.clone());
                self.leader.cloud.take_up_part(region, shown.clone());
            }
            Action::Address { server, .. } => {
                self.addressed.insert(*server);
                self.leader.cloud.addressed.insert(*server);
            }
            Action::SettleId { machine, provider_id } => {
                let id = LegacyProviderId::parse(provider_id).unwrap();
                let server = &self.servers[&id.server()];
                if server.status == ServerStatus::Active && !self.addressed.contains(&server.id) {
                    self.harm.push(format!("{machine} is adopted and its pods cannot be reached"));
                }
                let machine = self.facts.machines.get_mut(machine).unwrap();
                (machine.provider_id, machine.migrated) = (provider_id.as_str().into(), true);
            }
            Action::SettleNoServer { machine } => {
                self.facts.machines.get_mut(machine).unwrap().settled = true;
            }
            Action::Retire { class, provider_spec, .. } => {
                let class = (class.clone(), ClassDetails::of("stackit", provider_spec.clone()));
                self.classes.extend([class]);
                self.facts.classes = providers(&self.classes);
            }
            Action::CloseGuard => {
                self.facts.migration.get_or_insert_default().armed = false;
                self.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Closed);
            }
            Action::Probe => *proof = Proof::Holds,
            Action::Arm => self.facts.migration.as_mut().unwrap().armed = true,
            Action::Disarm { .. } => self.facts.migration.as_mut().unwrap().armed = false,
            Action::Touch { machine } => assert!(self.write(machine), "{machine} was touched behind a closed gate"),
            Action::Label { server, labels, region, .. } => {
                let shown = self.servers.get_mut(server).unwrap();
                shown.labels.extend(labels.clone());
                let shown = shown.clone();
                self.leader.cloud.take_up(region, shown);
            }
            Action::CareForBootVolume { server, .. } => drop(self.leader.cloud.cared.insert(*server)),
            Action::Clear { machine } => self.facts.machines.get_mut(machine).unwrap().marked = false,
            Action::Except { machine, reason, .. } => {
                self.facts.machines.get_mut(machine).unwrap().exception = Some(Exception::of(reason.name()));
            }
            Action::Readmit { machine } => self.facts.machines.get_mut(machine).unwrap().exception = None,
            Action::MarkWorker { worker } => self.facts.workers.get_mut(worker).unwrap().marked = true,
            Action::UnmarkWorker { worker } => self.facts.workers.get_mut(worker).unwrap().marked = false,
        }
    }

    /// Somebody writes to a Machine, and admission rewrites it if its gate is open.
    pub fn write(&mut self, name: &str) -> bool {
        let machine = &self.facts.machines[name];
        let Some(server) = LegacyProviderId::parse(&machine.provider_id).map(|id| id.server()) else { return false };
        let Ok(project) = open_for_rewrite(&machine.class, Known::Fresh(&self.facts)) else { return false };
        let machine = self.facts.machines.get_mut(name).unwrap();
        machine.provider_id = StackitProviderId { project, server }.to_string().into();
        (machine.marked, machine.migrated) = (true, true);
        true
    }

    /// An orphan collector of the STACKIT provider that sees the API server's objects as in `view`, and the cloud as it is.
    pub fn stackit_collects(&mut self, view: &View, who: &str) {
        let project = self.facts.project.unwrap();
        for server in self.servers.values().filter(|server| self.born.contains(&server.id)) {
            let class = server.labels.get(&*format!("{DOMAIN}/machineclass"));
            if class.and_then(|class| view.classes.get(class)) != Some(&Provider::Stackit) {
                continue;
            }
            let right = format!("stackit://{project}/{}", server.id);
            if view.ids.get(&server.name).is_none_or(|id| **id != right) && self.lives(&server.name) {
                self.harm.push(format!("{who} deletes {} at {:?}", server.name, self.now));
            }
        }
    }

    /// An orphan collector of the OpenStack provider.
    pub fn openstack_collects(&mut self, view: &View, who: &str) {
        if !view.classes.values().any(|provider| *provider == Provider::OpenStack) {
            return;
        }
        for server in self.servers.values().filter(|server| self.born.contains(&server.id)) {
            let right = format!("openstack:///RegionOne/{}", server.id);
            let other = view.ids.get(&server.name).is_none_or(|id| **id != right && !id.is_empty());
            if other && self.lives(&server.name) {
                self.harm.push(format!("{who} deletes {} at {:?}", server.name, self.now));
            }
        }
    }

    fn lives(&self, name: &str) -> bool {
        self.facts.machines.contains_key(name)
    }

    /// The STACKIT provider does what Machines ask for: creates where there is no ID, deletes what terminates.
    pub fn stackit_acts(&mut self) {
        let project = self.facts.project.unwrap();
        let names: Vec<Box<str>> = self.facts.machines.keys().cloned().collect();
        for name in names {
            let machine = self.facts.machines[&name].clone();
            if self.facts.classes.get(&machine.class) != Some(&Provider::Stackit) {
                continue;
            }
            let server = self.servers.values().find(|server| server.name == name).map(|server| server.id);
            match (machine.terminating, &*machine.provider_id) {
                (false, "") => {
                    if server.is_some() {
                        self.harm.push(format!("{name} gets a second server at {:?}", self.now));
                    }
                    self.create(&name, &machine.class);
                }
                (true, "") => {
                    if server.is_some() {
                        self.harm.push(format!("{name} goes and its server stays at {:?}", self.now));
                    }
                    self.facts.machines.remove(&name);
                }
                (true, id) if id.starts_with(&format!("stackit://{project}/")) => {
                    self.servers.retain(|server, _| !id.ends_with(server.as_str()));
                    self.facts.machines.remove(&name);
                    self.note(format!("{name} is deleted"));
                }
                _ => {}
            }
        }
    }

    fn create(&mut self, name: &str, class: &str) {
        self.made += 1;
        let id = super::server_id(1000 + self.made);
        let label = |key: &str, value: &str| (format!("{DOMAIN}/{key}").into(), value.into());
        let labels = [label("machine", name), label("machineclass", class), label("cluster", "shoot--p--s")];
        self.servers.insert(id, Server { id, name: name.into(), status: ServerStatus::Active, labels: labels.into() });
        let id = StackitProviderId { project: self.facts.project.unwrap(), server: id };
        self.facts.machines.get_mut(name).unwrap().provider_id = id.to_string().into();
        self.note(format!("{name} is made"));
    }

    pub fn remember(&mut self) {
        self.history.push((self.now, self.view()));
    }

    /// Whether the report calls the shoot complete.
    pub fn is_complete(&self) -> bool {
        self.last.as_ref().is_some_and(|(_, report)| report.phase == Phase::Complete)
    }

    pub fn advance(&mut self, by: Duration) {
        self.now += by;
        let _ = eu01();
    }
}
