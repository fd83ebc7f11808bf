//! What happens around the leader: Gardener's switch, machine-controller-managers that come, go, lag and hang, a shoot that is rolled,
//! restored or deleted, leaders that are replaced.

use std::collections::BTreeMap;

use mcm_migration_core::decide::{MachineFacts, McmPodFacts, NamespaceFacts, NamespaceLabels, every_machine_is_done};
use mcm_migration_core::domain::{McmContainers, Provider, Server, ServerStatus};
use mcm_migration_core::plan::{LeaseSighting, NodeSeen};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::world::{Dice, Leader, View, World};
use super::{openstack_class, providers, secs, server_id, settings, stackit_class};
use crate::worlds::switched_shoot;

const OLD: &str = "pool-a-z1-aaaaa";
const NEW: &str = "pool-a-z1-bbbbb";
const OTHER: &str = "pool-b-z1-ccccc";
const OPENSTACK: McmContainers = McmContainers { openstack: true, stackit: false };
const STACKIT: McmContainers = McmContainers { openstack: false, stackit: true };

/// What becomes of the shoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// It is switched.
    Switched,
    /// Its pool is rolled in the same reconcile: the old class is left `OpenStack`.
    Rolled,
    /// It comes here from another seed.
    Restored,
    /// It is deleted right after the Deployment was switched.
    Deleted,
}

/// How a Machine is before the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Birth {
    Running,
    /// Without an ID; its server is ACTIVE after so many seconds.
    InFlight(u64),
    Broken,
    NoServer,
}

/// A pod that hangs with its Node, is deleted from the API, and wakes up with what it knew.
#[derive(Debug, Clone, Copy)]
pub struct Ghost {
    pub openstack: bool,
    pub from: u64,
    pub until: u64,
}

/// A run, all of it.
#[derive(Debug, Clone)]
pub struct Script {
    pub story: Story,
    pub machines: Vec<(Birth, bool, bool)>,
    pub standby: bool,
    /// How far the machine-controller-manager's cache lags behind.
    pub lag: u64,
    pub ghost: Option<Ghost>,
    /// A Machine is made so long after the old pod is gone.
    pub late: Option<u64>,
    pub leaders: Vec<u64>,
    pub restarts: Vec<u64>,
    pub failing: u64,
    pub boot_volume_care: bool,
    pub seed: u64,
}

pub fn script() -> impl Strategy<Value = Script> {
    let birth = prop_oneof![
        6 => Just(Birth::Running),
        2 => (0..900_u64).prop_map(Birth::InFlight),
        1 => Just(Birth::Broken),
        1 => Just(Birth::NoServer),
    ];
    let machine = (birth, prop::bool::weighted(0.2), any::<bool>());
    // Around the time at which the shoot is armed it matters most.
    let from = prop_oneof![150..350_u64, 200..3_000_u64];
    let ghost = (any::<bool>(), from, 60..2_500_u64).prop_map(|(openstack, from, hangs)| Ghost {
        openstack,
        from,
        until: from + hangs,
    });
    let stories = select(vec![Story::Switched, Story::Switched, Story::Rolled, Story::Restored, Story::Deleted]);
    (
        stories,
        vec(machine, 1..6),
        any::<bool>(),
        0..600_u64,
        (prop::option::weighted(0.5, ghost), prop::option::weighted(0.3, 1..400_u64)),
        vec(0..5_000_u64, 0..4),
        vec(0..5_000_u64, 0..3),
        prop_oneof![Just(0), 1..30_u64],
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(story, machines, standby, lag, (ghost, late), leaders, restarts, failing, care, seed)| {
            Script {
                story,
                machines,
                standby,
                lag,
                ghost,
                late,
                leaders,
                restarts,
                failing,
                boot_volume_care: care,
                seed,
            }
        })
}

/// A process of a machine-controller-manager.
#[derive(Debug, Clone, Copy)]
struct Process {
    started: u64,
}

/// A world that follows a script.
#[derive(Debug)]
pub struct Run {
    pub world: World,
    script: Script,
    process: Process,
    ghost_view: Option<View>,
    /// The holder hangs.
    hangs: bool,
}

/// The Deployment is switched at this second.
const SWITCH: u64 = 60;
/// The old pod is gone, the new one is there.
const REPLACED: u64 = 150;
/// A restored shoot is restored.
const RESTORED: u64 = 900;
/// Nothing is disturbed any more.
pub const CALM: u64 = 6_000;

impl Run {
    pub fn new(script: Script) -> Self {
        let restored = script.story == Story::Restored;
        let mut facts = NamespaceFacts {
            namespace: Some(NamespaceLabels::default()),
            machines: BTreeMap::new(),
            mcm_pods: BTreeMap::new(),
            mcm_deployment: Some(if restored { STACKIT } else { OPENSTACK }),
            ..switched_shoot()
        };
        let class = if restored { stackit_class() } else { openstack_class() };
        let classes = BTreeMap::from([(OLD.into(), class.clone()), (OTHER.into(), class)]);
        facts.classes = providers(&classes);
        facts.machine_deployments = [("md-a".into(), OLD.into()), ("md-b".into(), OTHER.into())].into();
        let worker = facts.workers.get_mut("w").unwrap();
        worker.wanted_machine_deployments = vec!["md-a".into(), "md-b".into()];
        if restored {
            worker.operation = "restore".into();
        }
        let mut servers = BTreeMap::new();
        for (n, (birth, terminating, other)) in script.machines.iter().enumerate() {
            let (name, id): (Box<str>, _) = (format!("m-{n}").into(), server_id(n));
            let running = *birth == Birth::Running || restored;
            let status = match birth {
                Birth::InFlight(_) if !restored => ServerStatus::Creating,
                Birth::Broken if !restored => ServerStatus::Error,
                _ => ServerStatus::Active,
            };
            if *birth != Birth::NoServer || restored {
                servers.insert(id, Server { id, name: name.clone(), status, labels: BTreeMap::new() });
            }
            let machine = MachineFacts {
                provider_id: if running { format!("openstack:///RegionOne/{id}").into() } else { "".into() },
                class: if *other { OTHER } else { OLD }.into(),
                terminating: *terminating,
                ..MachineFacts::default()
            };
            facts.machines.insert(name, machine);
        }
        if !restored {
            facts.mcm_pods.insert("mcm-old".into(), pod("old", "n-2", OPENSTACK));
        }
        let nodes = (0..3).map(|n| NodeSeen { name: format!("n-{n}"), ready_since: Some(secs(0)) }).collect();
        let world = World {
            now: secs(0),
            facts,
            classes,
            born: servers.keys().copied().collect(),
            servers,
            parts: std::collections::BTreeMap::default(),
            addressed: std::collections::BTreeSet::default(),
            nodes,
            lease: None,
            leader: Leader::default(),
            settings: super::Settings { boot_volume_care: script.boot_volume_care, ..settings() },
            history: Vec::new(),
            dice: Dice::new(script.seed),
            failing: script.failing,
            harm: Vec::new(),
            journal: Vec::new(),
            last: None,
            made: 0,
        };
        Self { world, script, process: Process { started: 0 }, ghost_view: None, hangs: false }
    }

    /// Lets `step` seconds pass. Says how many steps the leader took.
    pub fn round(&mut self, step: u64) -> usize {
        let before = self.world.now.as_secs();
        self.world.now += secs(step);
        let now = self.world.now.as_secs();
        let passed = |at: u64| before < at && at <= now;
        self.gardener(&passed);
        self.servers_come_up(now);
        self.machine_controller_managers(&passed, now);
        self.ghost(&passed, now);
        if self.script.leaders.iter().any(|at| passed(*at)) {
            self.world.leader = Leader::default();
            self.world.note("another leader");
        }
        if now >= CALM {
            self.world.failing = 0;
        }
        let writes = self.world.dice.below(40);
        if let Some(name) = self.world.facts.machines.keys().nth(usize::try_from(writes).unwrap()).cloned() {
            self.world.write(&name);
        }
        self.world.remember();
        let steps = self.world.pass();
        self.world.remember();
        steps
    }

    fn gardener(&mut self, passed: &impl Fn(u64) -> bool) {
        let story = self.script.story;
        let world = &mut self.world;
        let facts = &mut world.facts;
        if story == Story::Restored {
            if passed(RESTORED) {
                let worker = facts.workers.get_mut("w").unwrap();
                worker.operation = "".into();
                worker.last_operation = crate::worlds::last_operation("Restore", "Succeeded");
            }
            return;
        }
        if passed(SWITCH) {
            facts.mcm_deployment = Some(STACKIT);
            match story {
                Story::Rolled => {
                    world.classes.insert(NEW.into(), stackit_class());
                    facts.machine_deployments.insert("md-a".into(), NEW.into());
                    let machine = MachineFacts { class: NEW.into(), ..MachineFacts::default() };
                    facts.machines.insert("m-rolled".into(), machine);
                }
                Story::Deleted => {
                    facts.workers.get_mut("w").unwrap().terminating = true;
                    facts.machines.values_mut().for_each(|machine| machine.terminating = true);
                }
                Story::Switched | Story::Restored => {}
            }
        }
        if self.script.late.is_some_and(|late| passed(REPLACED + late)) && story != Story::Deleted {
            let machine = MachineFacts { class: OTHER.into(), ..MachineFacts::default() };
            facts.machines.insert("m-late".into(), machine);
        }
        let switched = facts.mcm_deployment == Some(STACKIT) && facts.openstack_mcm_pod().is_none();
        for class in [OLD, OTHER] {
            let left = story == Story::Deleted || (story == Story::Rolled && class == OLD);
            let unsettled = facts.machines.values().any(|machine| &*machine.class == class && machine.is_unsettled());
            if switched && !left && !unsettled && facts.classes[class] == Provider::OpenStack {
                world.classes.insert(class.into(), stackit_class());
            }
        }
        facts.classes = providers(&world.classes);
        // The roll-out goes on: the old Machines terminate.
        if story == Story::Rolled && facts.classes[OLD] == Provider::Stackit {
            for machine in facts.machines.values_mut().filter(|machine| &*machine.class == OLD) {
                machine.terminating |= self.script.seed.is_multiple_of(2);
            }
        }
    }

    fn servers_come_up(&mut self, now: u64) {
        for (n, (birth, ..)) in self.script.machines.iter().enumerate() {
            let Some(server) = self.world.servers.get_mut(&server_id(n)) else { continue };
            match birth {
                Birth::InFlight(at) if *at <= now && server.status == ServerStatus::Creating => {
                    server.status = ServerStatus::Active;
                }
                _ => {}
            }
        }
    }

    fn machine_controller_managers(&mut self, passed: &impl Fn(u64) -> bool, now: u64) {
        let comes = if self.script.story == Story::Restored { RESTORED } else { REPLACED };
        if passed(comes) {
            self.world.facts.mcm_pods = [("mcm-a".into(), pod("a", "n-0", STACKIT))].into();
            if self.script.standby {
                self.world.facts.mcm_pods.insert("mcm-b".into(), pod("b", "n-1", STACKIT));
            }
            self.process.started = now;
        }
        if let Some(old) = self.world.facts.mcm_pods.get("mcm-old").cloned() {
            let view = self.world.view();
            self.world.openstack_collects(&view, &old.uid);
            return;
        }
        if self.script.restarts.iter().any(|at| passed(*at)) {
            self.restart(now);
        }
        let holder = self.world.facts.mcm_pods.iter().find(|(_, pod)| pod.containers.stackit && !pod.ended);
        let Some((holder, _)) = holder.filter(|_| !self.hangs) else { return };
        self.world.lease = Some(LeaseSighting { holder: holder.clone(), renewed: format!("t{now}").into() });
        // What it knows is as old as its cache lags, and no older than its process.
        let knows = now.saturating_sub(self.script.lag).max(self.process.started);
        let view = self.world.view_at(secs(knows));
        self.world.stackit_collects(&view, "the STACKIT provider");
        self.world.stackit_acts();
    }

    /// The holder's process ends and starts again; a standby may have taken over.
    fn restart(&mut self, now: u64) {
        self.process.started = now;
        let pods = &mut self.world.facts.mcm_pods;
        let Some((name, mut pod)) = pods.pop_first() else { return };
        pod.restarts += 1;
        // By its name the first one holds the Lease; so it takes turns with the standby.
        let name = if self.script.standby && &*name == "mcm-a" { "mcm-c".into() } else { name };
        pod.uid = format!("{}-{}", pod.uid, if &*name == "mcm-c" { "moved" } else { "same" }).into();
        pods.insert(name, pod);
    }

    fn ghost(&mut self, passed: &impl Fn(u64) -> bool, now: u64) {
        let Some(ghost) = self.script.ghost else { return };
        let openstack = ghost.openstack && self.script.story != Story::Restored;
        // The OpenStack one hangs while it still is there; the other after it has come.
        let comes = if self.script.story == Story::Restored { RESTORED } else { REPLACED };
        let from = if openstack { REPLACED - 50 } else { ghost.from.max(comes + 20) };
        let until = ghost.until.max(from + 60);
        if passed(from) {
            let lag = if openstack { 0 } else { self.script.lag };
            self.ghost_view = Some(self.world.view_at(secs(from.saturating_sub(lag).max(self.process.started))));
            self.hangs = !openstack;
        }
        if passed(from + 200) && !openstack {
            // Its pod is deleted by force, and another is made.
            self.world.facts.mcm_pods.pop_first();
            self.world.facts.mcm_pods.insert("mcm-d".into(), pod("d", "n-1", STACKIT));
            (self.process.started, self.hangs) = (now, false);
        }
        let node = if openstack { 2 } else { 0 };
        if passed(from + 40) {
            self.world.nodes[node].ready_since = None;
        }
        if passed(until + 5) {
            self.world.nodes[node].ready_since = Some(secs(now));
        }
        // What it watches comes to it one after the other, in any order.
        if let Some(old) = self.ghost_view.clone().filter(|_| (until..until + 15).contains(&now)) {
            let new = self.world.view();
            if openstack {
                self.openstack_creates();
                let view = View { ids: new.ids, classes: old.classes };
                self.world.openstack_collects(&view, "a hung OpenStack provider");
            } else {
                let view = View { ids: old.ids, classes: new.classes };
                self.world.stackit_collects(&view, "a hung STACKIT provider");
            }
        }
    }

    /// What wakes up asks for a server of a Machine without one, and ends before it can write the ID.
    fn openstack_creates(&mut self) {
        let World { facts, servers, born, .. } = &mut self.world;
        let of_openstack = |class: &str| facts.classes.get(class) == Some(&Provider::OpenStack);
        let late = facts.machines.get("m-late").filter(|late| late.provider_id.is_empty() && of_openstack(&late.class));
        let id = server_id(900);
        if late.is_some() && born.insert(id) {
            let server = Server { id, name: "m-late".into(), status: ServerStatus::Active, labels: BTreeMap::new() };
            servers.insert(id, server);
        }
    }

    /// Whether everything that the story asks for has come true.
    pub fn is_over(&self) -> bool {
        if self.script.story == Story::Deleted {
            return self.world.facts.machines.is_empty();
        }
        self.world.is_complete() || self.is_no_concern()
    }

    /// Nothing of the shoot came from OpenStack and lives: it is switched without this program, and admission marks its Worker.
    pub fn is_no_concern(&self) -> bool {
        let facts = &self.world.facts;
        facts.migration.is_none() && every_machine_is_done(facts).is_ok()
    }
}

fn pod(uid: &str, node: &str, containers: McmContainers) -> McmPodFacts {
    McmPodFacts { uid: uid.into(), node: node.into(), restarts: 0, containers, ended: false }
}
