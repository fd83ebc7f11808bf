//! A shoot on its way back, whose cloud and cluster are plain values, and what may happen to it between two steps.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcm_migration_core::decide::{MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels};
use mcm_migration_core::domain::{
    GuardLabel, McmContainers, NetworkId, NicId, Part, PartId, Region, Server, ServerId, ServerStatus, VolumeId,
};
use mcm_migration_core::plan::way_back::{Next, Step, WayBack};
use mcm_migration_core::plan::{
    ClassDetails, CloudView, Direction, LeaseSighting, Listed, ListedParts, Moment, NodeSeen, NodesRule, Seen,
    Settings, every_node_ready_long_enough, part_labels,
};
use serde_json::json;

use crate::worlds::{PROJECT, switched_shoot};

pub const CLASS: &str = "pool-a-z1-aaaaa";
/// The MachineDeployment that the Worker wants.
pub const POOL: &str = "pool-a-z1";
pub const SHOOT: &str = "shoot--p--s";
pub const STACKIT: McmContainers = McmContainers { openstack: false, stackit: true };
pub const OPENSTACK: McmContainers = McmContainers { openstack: true, stackit: false };
pub const OURS: [&str; 3] = ["kubernetes.io/machine", "kubernetes.io/machineclass", "kubernetes.io/cluster"];

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub fn eu01() -> Region {
    Region::parse("eu01").unwrap()
}

/// The n-th server.
pub fn server_id(n: usize) -> ServerId {
    ServerId::parse(&format!("{n:08x}-aaaa-4bbb-8ccc-ddddeeeeffff")).unwrap()
}

pub fn old_id(n: usize) -> String {
    format!("openstack:///RegionOne/{}", server_id(n))
}

pub fn new_id(n: usize) -> String {
    format!("stackit://{PROJECT}/{}", server_id(n))
}

pub fn settings() -> Settings {
    Settings {
        quarantine: secs(900),
        evidence_after: Settings::EVIDENCE_AFTER,
        inflight_timeout: Duration::ZERO,
        nodes: NodesRule { ready_for: secs(120), except: Vec::new() },
        label_domain: "kubernetes.io".to_owned(),
        regions: [("RegionOne".to_owned(), eu01())].into(),
        touch: false,
        boot_volume_care: false,
        force_after: None,
        drift_every: Duration::ZERO,
    }
}

/// What a Machine is at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rewritten, with its previous ID or without.
    Rewritten { annotated: bool },
    /// Never rewritten; marked or not.
    Legacy { marked: bool },
    /// Made by the STACKIT provider.
    Stackit,
    /// Without an ID.
    Empty,
}

/// Everything there is.
#[derive(Debug, Clone)]
pub struct World {
    pub facts: NamespaceFacts,
    pub classes: BTreeMap<Box<str>, ClassDetails>,
    pub previous: BTreeMap<Box<str>, Box<str>>,
    pub paused_by_us: bool,
    pub servers: BTreeMap<ServerId, Server>,
    /// Network interfaces and volumes of the servers.
    pub parts: Vec<Part>,
    pub leave_behind: BTreeSet<Box<str>>,
    pub settings: Settings,
    /// What this process has seen; a new one begins with nothing.
    pub seen: Seen,
    pub nodes: Option<Vec<NodeSeen>>,
    pub cloud: CloudView,
    pub now: Moment,
    /// The Lease's holder renews.
    pub renews: bool,
    /// Since when each Machine has its old ID without a break.
    pub back_since: BTreeMap<Box<str>, Moment>,
    /// When this process began.
    pub started: Moment,
    /// When the guard was set to `rolling-back`, and the Machines that had a STACKIT ID then: a write of their labels may be under way.
    pub in_flight: Option<(Moment, BTreeSet<Box<str>>)>,
}

pub fn name(n: usize) -> Box<str> {
    format!("m-{n}").into()
}

impl World {
    /// A shoot that has migrated, and that Gardener has switched back as far as the guard lets it.
    pub fn of(kinds: &[Kind]) -> Self {
        let class =
            ClassDetails::of("stackit", json!({"region": "eu01", "labels": {"kubernetes.io/cluster": "shoot"}}));
        let classes: BTreeMap<Box<str>, _> = [(CLASS.into(), class)].into();
        let mut facts = NamespaceFacts {
            namespace: Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false }),
            migration: Some(MigrationFacts { paused: false, armed: true, labelled: true }),
            classes: classes.iter().map(|(name, class)| (name.clone(), class.provider)).collect(),
            mcm_deployment: Some(OPENSTACK),
            mcm_pods: [("mcm-1".into(), pod("u1", OPENSTACK))].into(),
            machine_deployments: [(POOL.into(), CLASS.into())].into(),
            machines: BTreeMap::new(),
            ..switched_shoot()
        };
        for worker in facts.workers.values_mut() {
            worker.marked = true;
            worker.wanted_machine_deployments = vec![POOL.into()];
        }
        let (mut previous, mut servers, mut parts) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for (n, kind) in kinds.iter().enumerate() {
            let mut machine = MachineFacts { class: CLASS.into(), ..MachineFacts::default() };
            let mut labelled = true;
            match kind {
                Kind::Rewritten { annotated } => {
                    machine.provider_id = new_id(n).into();
                    machine.migrated = true;
                    parts.extend(parts_of(n));
                    if *annotated {
                        previous.insert(name(n), old_id(n).into());
                    }
                }
                Kind::Legacy { marked } => {
                    machine.provider_id = old_id(n).into();
                    machine.marked = *marked;
                    labelled = false;
                }
                Kind::Stackit => machine.provider_id = new_id(n).into(),
                Kind::Empty => machine.settled = true,
            }
            facts.machines.insert(name(n), machine);
            if *kind != Kind::Empty {
                servers.insert(server_id(n), server(n, labelled));
            }
        }
        Self {
            facts,
            classes,
            previous,
            paused_by_us: false,
            servers,
            parts,
            leave_behind: BTreeSet::new(),
            settings: settings(),
            seen: Seen::of(Direction::Back),
            nodes: Some(vec![NodeSeen { name: "n-0".to_owned(), ready_since: Some(Moment::ZERO) }]),
            cloud: CloudView::default(),
            now: secs(1),
            renews: true,
            back_since: BTreeMap::new(),
            started: secs(1),
            in_flight: None,
        }
    }

    /// One look of the command, some time after the last.
    pub fn look(&mut self, after: Duration) {
        self.now += after;
        let ready =
            |gone| every_node_ready_long_enough(self.nodes.as_deref()?, gone, self.now, &self.settings.nodes).ok();
        let off = self.seen.other_gone().and_then(ready).is_some();
        self.seen.observe(&self.facts, false, self.now);
        if off {
            self.seen.observe_machines(self.facts.machines.keys().map(|name| &**name));
        }
        let renewed = if self.renews { format!("{:?}", self.now) } else { "never".to_owned() };
        let lease = LeaseSighting { holder: "mcm-1".into(), renewed: renewed.into() };
        self.seen.observe_lease(Some(lease), self.now, self.now);
        let machines = &self.facts.machines;
        self.back_since.retain(|name, _| machines.get(name).is_some_and(MachineFacts::is_legacy));
        for (name, _) in machines.iter().filter(|(_, machine)| machine.is_legacy()) {
            self.back_since.entry(name.clone()).or_insert(self.now);
        }
    }

    pub fn shoot(&self) -> WayBack<'_> {
        WayBack {
            namespace: SHOOT,
            facts: &self.facts,
            classes: &self.classes,
            previous: &self.previous,
            paused_by_us: self.paused_by_us,
            seen: &self.seen,
            nodes: self.nodes.as_deref(),
            cloud: &self.cloud,
            settings: &self.settings,
            leave_behind: &self.leave_behind,
        }
    }

    pub fn next(&self) -> Next {
        self.shoot().next(self.now)
    }

    /// The process is killed, and another begins with nothing.
    pub fn crash(&mut self) {
        self.seen = Seen::of(Direction::Back);
        self.cloud = CloudView::default();
        self.started = self.now;
        let now = self.now;
        for node in self.nodes.iter_mut().flatten() {
            node.ready_since = node.ready_since.map(|_| now);
        }
    }

    /// Carries a step out, without any question of its own.
    pub fn carry_out(&mut self, step: &Step) {
        match step {
            Step::Pause => self.migration(|migration| migration.paused = true, Some(true)),
            Step::LiftPause => self.migration(|migration| migration.paused = false, Some(false)),
            Step::Disarm => self.migration(|migration| migration.armed = false, None),
            Step::OpenGuard => {
                self.guard(Some(GuardLabel::RollingBack));
                let rewritten =
                    self.facts.machines.iter().filter(|(_, machine)| machine.provider_id.starts_with("stackit:"));
                self.in_flight = Some((self.now, rewritten.map(|(name, _)| name.clone()).collect()));
            }
            Step::TakeGuardOff => self.guard(None),
            Step::List { region } => {
                let listed = Listed::new(self.servers.values().cloned(), self.now);
                self.cloud.lists.insert(region.clone(), listed);
            }
            Step::Unlabel { region, server, keys, .. } => {
                let Some(found) = self.servers.get_mut(server) else {
                    self.cloud.lists.remove(region);
                    return;
                };
                found.labels.retain(|key, _| !keys.contains(key));
                self.cloud.take_up(region, found.clone());
            }
            Step::ListParts { region, kind } => {
                let parts = self.parts.iter().filter(|part| part.id.kind() == *kind).cloned();
                self.cloud.parts.insert((region.clone(), *kind), ListedParts::new(parts, self.now));
            }
            Step::UnlabelPart { region, part, keys, .. } => {
                let found = self.parts.iter_mut().find(|found| found.id == *part).unwrap();
                found.labels.retain(|key, _| !keys.contains(key));
                self.cloud.take_up_part(region, found.clone());
            }
            Step::WriteBack { machine, provider_id } => {
                let found = self.facts.machines.get_mut(machine).unwrap();
                found.provider_id = provider_id.as_str().into();
                self.clean(machine);
            }
            Step::Clean { machine } => self.clean(machine),
            Step::UnmarkWorker { worker } => self.facts.workers.get_mut(worker).unwrap().marked = false,
        }
    }

    fn clean(&mut self, machine: &str) {
        let found = self.facts.machines.get_mut(machine).unwrap();
        (found.marked, found.settled, found.exception) = (false, false, None);
        self.previous.remove(machine);
    }

    fn migration(&mut self, change: impl Fn(&mut MigrationFacts), ours: Option<bool>) {
        let mut migration = self.facts.migration.unwrap_or_default();
        change(&mut migration);
        self.facts.migration = Some(migration);
        self.paused_by_us = ours.unwrap_or(self.paused_by_us);
    }

    pub fn guard(&mut self, guard: Option<GuardLabel>) {
        self.facts.namespace.as_mut().unwrap().guard = guard;
    }

    /// Whether a STACKIT machine-controller-manager could act, asked the plain way.
    pub fn stackit_lives(&self) -> bool {
        self.facts.mcm_deployment.is_some_and(|template| template.stackit)
            || self
                .facts
                .mcm_pods
                .values()
                .any(|pod| !pod.ended && (pod.containers.stackit || !pod.containers.openstack))
    }

    /// Which of our keys a server carries.
    pub fn ours_on(&self, server: ServerId) -> Vec<&str> {
        let labels = self.servers.get(&server).map(|server| &server.labels);
        OURS.into_iter().filter(|key| labels.is_some_and(|labels| labels.contains_key(*key))).collect()
    }
}

pub fn pod(uid: &str, containers: McmContainers) -> McmPodFacts {
    McmPodFacts { uid: uid.into(), node: "n-0".into(), restarts: 0, containers, ended: false }
}

/// Network interface and volume of the n-th server, with our labels and one of somebody else's.
pub fn parts_of(n: usize) -> [Part; 2] {
    let network = NetworkId::parse("0a0b0c0d-1111-4222-8333-444455556666").unwrap();
    let nic = NicId::parse(&format!("{n:08x}-1111-4bbb-8ccc-ddddeeeeffff")).unwrap();
    let volume = VolumeId::parse(&format!("{n:08x}-2222-4bbb-8ccc-ddddeeeeffff")).unwrap();
    [PartId::Nic { network, nic }, PartId::Volume(volume)].map(|id| {
        let mut labels = part_labels(SHOOT, &name(n), server_id(n));
        labels.insert("team".into(), "blue".into());
        let server = Some(server_id(n));
        Part { id, name: name(n), server, idle: false, bootable: true, of_network: false, labels }
    })
}

pub fn server(n: usize, labelled: bool) -> Server {
    let mut labels: BTreeMap<Box<str>, Box<str>> = [("team".into(), "blue".into())].into();
    if labelled {
        let values = [name(n), CLASS.into(), "shoot".into()];
        labels.extend(OURS.iter().map(|key| (*key).into()).zip(values));
    }
    Server { id: server_id(n), name: name(n), status: ServerStatus::Active, labels }
}

/// As the migration leaves it.
pub const REWRITTEN: Kind = Kind::Rewritten { annotated: true };

/// Two rewritten Machines, paused, looked at for long enough that the Nodes count.
pub fn world() -> World {
    let mut world = World::of(&[REWRITTEN, REWRITTEN]);
    world.facts.migration.as_mut().unwrap().paused = true;
    world.look(secs(1));
    world.look(secs(200));
    world
}

/// The same, with the guard `rolling-back`.
pub fn rolling_back() -> World {
    let mut world = world();
    world.carry_out(&Step::OpenGuard);
    world
}
