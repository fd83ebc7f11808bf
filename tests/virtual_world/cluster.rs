//! The API server.

use std::sync::OnceLock;
use std::time::Duration;

use mcm_migration_core::decide::{Known, MachineFacts, NamespaceFacts, open_for_flip, open_for_rewrite};
use mcm_migration_core::domain::{Exception, GuardLabel, LegacyProviderId, Provider, Reason, StackitProviderId};
use mcm_migration_core::plan::{ClassDetails, LeaseSighting, Moment, NodeSighting, Say};
use mcm_migration_webhook::sidetask::{
    Cluster, ClusterError, Credentials, MachineNow, Notice, Snapshot, VersionOf, Write, Written,
};
use rand::RngExt;
use secrecy::SecretString;
use serde_json::Value;

use crate::fault::Fault;
use crate::journal::Kind;
use crate::network::{self, To};
use crate::world::{Objects, Shared, World, lock};

/// The API server, as one replica reaches it.
pub struct VirtualCluster {
    pub world: Shared,
    pub replica: usize,
}

/// One key for all; nobody signs with it here.
fn key() -> SecretString {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| {
        let pair = rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA512, rcgen::RsaKeySize::_2048).unwrap();
        serde_json::json!({"id": "a", "credentials": {
            "kid": "k", "iss": "i", "sub": "s", "aud": "a", "privateKey": pair.serialize_pem(),
        }})
        .to_string()
    })
    .clone()
    .into()
}

fn lost(what: &str) -> ClusterError {
    ClusterError::NoAnswer(format!("{what}: the reply was lost"))
}

impl VirtualCluster {
    async fn call<T>(
        &self,
        what: &str,
        answer: impl FnOnce(&mut World) -> Result<T, ClusterError>,
    ) -> Result<T, ClusterError> {
        let answer = network::read(&self.world, self.replica, To::Cluster, what, answer).await;
        answer.unwrap_or_else(|| Err(lost(what)))
    }

    /// What a read shows: what is true, or, with a fault, what the caches have.
    fn seen(&self, world: &mut World, namespace: &str) -> NamespaceFacts {
        if world.fault == Some(Fault::ReadBeforeWrite) {
            return cached(world, self.replica, namespace).0;
        }
        world.shoots[namespace].facts.clone()
    }
}

/// What the caches of a replica show, and whether they are known to be old. A cache is late, and never goes back.
fn cached(world: &mut World, replica: usize, namespace: &str) -> (NamespaceFacts, bool) {
    let now = world.now();
    let stands = world.cache_stands(replica);
    let lag = world.lag.mul_f64(world.rng.random::<f64>());
    let shows = stands.map_or(now.saturating_sub(lag), |(moment, _)| moment);
    let key = (replica, Box::from(namespace));
    let before = world.shown.get(&key).copied().unwrap_or_default();
    let shows = shows.max(before);
    let taken_up = world.changes_between(namespace, before, shows);
    if taken_up > 0 {
        world.step(Kind::Cache, format_args!("{replica} {namespace} shows {taken_up} more, until {shows:?}"));
    }
    world.shown.insert(key, shows);
    (world.as_of(namespace, now.saturating_sub(shows)), stands.is_some_and(|(_, known)| known))
}

impl Cluster for VirtualCluster {
    fn shoots(&self) -> Vec<Box<str>> {
        lock(&self.world).shoots.keys().cloned().collect()
    }

    fn look<R>(&self, namespace: &str, look: impl FnOnce(Known<'_>) -> R) -> R {
        let (facts, stale) = {
            let mut world = lock(&self.world);
            let now = world.now();
            let stale = world.stale_until.get(namespace).is_some_and(|until| now < *until);
            let (facts, old) = cached(&mut world, self.replica, namespace);
            (facts, stale || old)
        };
        look(if stale { Known::Stale("machines") } else { Known::Fresh(&facts) })
    }

    async fn snapshot(&self, namespace: &str) -> Result<Snapshot, ClusterError> {
        self.call("snapshot", |world| {
            let facts = self.seen(world, namespace);
            Ok(Snapshot { facts, classes: world.shoots[namespace].classes.clone() })
        })
        .await
    }

    async fn owner(&self, namespace: &str) -> Result<NamespaceFacts, ClusterError> {
        self.call("owner", |world| {
            let NamespaceFacts { namespace, migration, workers, cluster, .. } = self.seen(world, namespace);
            Ok(NamespaceFacts { namespace, migration, workers, cluster, ..NamespaceFacts::default() })
        })
        .await
    }

    async fn machine(&self, namespace: &str, name: &str) -> Result<Option<MachineNow>, ClusterError> {
        let what = format!("machine {name}");
        self.call(&what, |world| {
            let facts = self.seen(world, namespace).machines.get(name).cloned();
            Ok(facts.map(|facts| machine(world, namespace, name, facts)))
        })
        .await
    }

    async fn version(&self, namespace: &str, of: VersionOf<'_>) -> Result<Option<String>, ClusterError> {
        self.call("version", |world| {
            let facts = &world.shoots[namespace].facts;
            let (there, key) = match of {
                VersionOf::Namespace => (true, "namespace".to_owned()),
                VersionOf::Migration => (facts.migration.is_some(), "migration".to_owned()),
                VersionOf::MachineClass(name) => (facts.classes.contains_key(name), format!("class/{name}")),
                VersionOf::Worker(name) => (facts.workers.contains_key(name), format!("worker/{name}")),
            };
            Ok(there.then(|| version(world, namespace, &key)))
        })
        .await
    }

    async fn lease(&self, namespace: &str) -> Result<Option<LeaseSighting>, ClusterError> {
        self.call("lease", |world| Ok(world.shoots[namespace].lease.clone())).await
    }

    async fn credentials(&self, namespace: &str) -> Result<Option<Credentials>, ClusterError> {
        let project = self.call("credentials", |world| Ok(world.shoots[namespace].facts.project)).await?;
        Ok(Some(Credentials { project, key: Some(key()) }))
    }

    async fn nodes(&self) -> Result<Vec<NodeSighting>, ClusterError> {
        self.call("nodes", |world| {
            if world.nodes_unread.contains(&world.now()) {
                return Err(ClusterError::Refused("nodes are not for you".to_owned()));
            }
            Ok(vec![NodeSighting {
                name: "node".to_owned(),
                uid: "1".to_owned(),
                ready: world.nodes_ready,
                ready_changed: world.nodes_ready.to_string(),
            }])
        })
        .await
    }

    async fn prove(&self, namespace: &str, _: &NamespaceFacts, _: usize, _: bool) -> Result<(), (Reason, String)> {
        let closed = |world: &mut World| {
            let closed = world.shoots[namespace].facts.guard() == Some(GuardLabel::Closed);
            Ok(closed || world.fault == Some(Fault::Guard))
        };
        match self.call("prove", closed).await {
            Ok(true) => Ok(()),
            Ok(false) => Err((Reason::GuardOpen, "let in".to_owned())),
            Err(error) => Err((Reason::GuardUnproven, error.to_string())),
        }
    }

    async fn write(&self, namespace: &str, write: Write<'_>) -> Result<Written, ClusterError> {
        let to_status = matches!(write, Write::Report(_) | Write::Say { .. });
        if !to_status {
            return self.write_once(namespace, OwnWrite::of(&write, None)).await;
        }
        // The real one reads the MachineMigration and writes onto what it read, again where that was changed meanwhile.
        let tries = if matches!(write, Write::Say { version: Some(_), .. }) { 1 } else { 5 };
        let mut came = Err(lost("status"));
        for _ in 0..tries {
            let read = self.version(namespace, VersionOf::Migration).await?;
            let read = read.ok_or_else(|| ClusterError::Gone("migration".to_owned()))?;
            came = self.write_once(namespace, OwnWrite::of(&write, Some(&read))).await;
            if !matches!(came, Err(ClusterError::Conflict(_))) {
                return came;
            }
        }
        came
    }

    async fn notify(&self, _: &str, _: Notice) {}
}

impl VirtualCluster {
    async fn write_once(&self, namespace: &str, write: OwnWrite) -> Result<Written, ClusterError> {
        let (what, namespace) = (format!("{namespace}: {write:?}"), Box::<str>::from(namespace));
        let margin = Duration::from_secs(1) + lock(&self.world).longest_call() * 4;
        let name = what.clone();
        let carry_out = move |world: &mut World, decided: Moment| {
            let applied = apply(world, &namespace, &write);
            if applied.is_ok() && !matches!(write, OwnWrite::Status { .. }) {
                world.judge(&namespace, &name, false, decided, margin);
            }
            applied
        };
        let answer = network::write(&self.world, self.replica, To::Cluster, what.clone(), carry_out).await;
        answer.unwrap_or_else(|| Err(lost(&what)))
    }
}

/// A [`Write`] that outlives its sender.
#[derive(Debug)]
enum OwnWrite {
    SettleId { machine: Box<str>, version: String, provider_id: Box<str> },
    SettleNoServer { machine: Box<str>, version: String },
    Touch { machine: Box<str>, version: String },
    Except { machine: Box<str>, version: String, reason: Option<Reason> },
    Clear { machine: Box<str>, version: String },
    Retire { class: Box<str>, version: String, provider_spec: Value },
    MakeMigration,
    CloseGuard { version: String },
    MarkWorker { worker: Box<str>, version: String, marked: bool },
    Status { version: String, say: Vec<(&'static str, bool)> },
}

impl OwnWrite {
    /// `read` is the version of the MachineMigration that was read for a write of its status.
    fn of(write: &Write<'_>, read: Option<&str>) -> Self {
        let says = |say: &[Say]| say.iter().map(|say| (say.type_, say.holds)).collect();
        let read = read.unwrap_or_default().to_owned();
        match *write {
            Write::SettleId { machine, version, provider_id } => {
                Self::SettleId { machine: machine.into(), version: version.into(), provider_id: provider_id.into() }
            }
            Write::SettleNoServer { machine, version } => {
                Self::SettleNoServer { machine: machine.into(), version: version.into() }
            }
            Write::Touch { machine, version } => Self::Touch { machine: machine.into(), version: version.into() },
            Write::Except { machine, version, reason } => {
                Self::Except { machine: machine.into(), version: version.into(), reason }
            }
            Write::Clear { machine, version } => Self::Clear { machine: machine.into(), version: version.into() },
            Write::Retire { class, version, provider_spec } => {
                Self::Retire { class: class.into(), version: version.into(), provider_spec: provider_spec.clone() }
            }
            Write::MakeMigration => Self::MakeMigration,
            Write::CloseGuard { version } => Self::CloseGuard { version: version.into() },
            Write::MarkWorker { worker, version, marked } => {
                Self::MarkWorker { worker: worker.into(), version: version.into(), marked }
            }
            Write::Say { version, say } => Self::Status { version: version.map_or(read, Into::into), say: says(say) },
            Write::Report(report) => Self::Status { version: read, say: says(&report.conditions) },
        }
    }
}

fn version(world: &World, namespace: &str, key: &str) -> String {
    world.shoots[namespace].versions.get(key).copied().unwrap_or_default().to_string()
}

fn machine(world: &World, namespace: &str, name: &str, facts: MachineFacts) -> MachineNow {
    MachineNow { facts, version: version(world, namespace, &format!("machine/{name}")) }
}

fn expect(world: &World, namespace: &str, key: &str, wanted: &str) -> Result<(), ClusterError> {
    let same = version(world, namespace, key) == wanted || world.fault == Some(Fault::ReadBeforeWrite);
    if same { Ok(()) } else { Err(ClusterError::Conflict(key.to_owned())) }
}

fn apply(world: &mut World, namespace: &str, write: &OwnWrite) -> Result<Written, ClusterError> {
    let key = match write {
        OwnWrite::SettleId { machine, version, .. }
        | OwnWrite::SettleNoServer { machine, version }
        | OwnWrite::Touch { machine, version }
        | OwnWrite::Except { machine, version, .. }
        | OwnWrite::Clear { machine, version } => {
            let key = format!("machine/{machine}");
            let before = world.shoots[namespace].facts.clone();
            let mut object = before.machines.get(machine).cloned().ok_or_else(|| ClusterError::Gone(key.clone()))?;
            expect(world, namespace, &key, version)?;
            match write {
                OwnWrite::SettleId { provider_id, .. } => {
                    (object.provider_id, object.migrated) = (provider_id.clone(), true);
                }
                OwnWrite::SettleNoServer { .. } => {
                    object.settled = true;
                    if world.servers.values().any(|server| server.name == *machine) {
                        world.violate(&format!("{machine} has a server, and was said to have none"));
                    }
                }
                OwnWrite::Touch { .. } => object.marked = true,
                OwnWrite::Except { reason, .. } => object.exception = reason.map(|reason| Exception::of(reason.name())),
                _ => object.marked = false,
            }
            admit(world, &before, &mut object);
            let after = machine_written(world, namespace, machine, object);
            return Ok(Written::Machine(after));
        }
        OwnWrite::Retire { class, version, provider_spec } => {
            let key = format!("class/{class}");
            expect(world, namespace, &key, version)?;
            if let Err(why) = open_for_flip(class, &world.shoots[namespace].facts)
                && world.fault != Some(Fault::GateForward)
            {
                return Err(ClusterError::Refused(why.to_string()));
            }
            let details = ClassDetails::of("stackit", provider_spec.clone());
            assert_eq!(details.provider, Provider::Stackit);
            world.shoots.get_mut(namespace).unwrap().classes.insert(class.clone(), details);
            key
        }
        OwnWrite::MakeMigration => {
            if world.now() < world.kind_missing.0 {
                world.kind_missing.1 += 1;
                return Err(ClusterError::Gone("the kind".to_owned()));
            }
            let objects = world.shoots.get_mut(namespace).unwrap();
            if objects.facts.migration.is_some() {
                return Err(ClusterError::Conflict("migration".to_owned()));
            }
            objects.facts.migration = Some(mcm_migration_core::decide::MigrationFacts::default());
            "migration".to_owned()
        }
        OwnWrite::CloseGuard { version } => {
            expect(world, namespace, "namespace", version)?;
            let objects = world.shoots.get_mut(namespace).unwrap();
            objects.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Closed);
            "namespace".to_owned()
        }
        OwnWrite::MarkWorker { worker, version, marked } => {
            let key = format!("worker/{worker}");
            expect(world, namespace, &key, version)?;
            world.shoots.get_mut(namespace).unwrap().facts.workers.get_mut(worker).unwrap().marked = *marked;
            key
        }
        OwnWrite::Status { version, say } => {
            if world.shoots[namespace].facts.migration.is_none() {
                return Err(ClusterError::Gone("migration".to_owned()));
            }
            expect(world, namespace, "migration", version)?;
            let objects = world.shoots.get_mut(namespace).unwrap();
            let before = (objects.conditions.clone(), objects.facts.migration);
            condition(objects, say);
            if before == (objects.conditions.clone(), objects.facts.migration) {
                return Ok(Written::Took(true));
            }
            "migration".to_owned()
        }
    };
    world.bump(namespace, &key);
    Ok(Written::Took(true))
}

/// Admission, as the API server calls it in that very write: the product's own gate.
pub fn admit(world: &World, before: &NamespaceFacts, object: &mut MachineFacts) {
    let Some(id) = LegacyProviderId::parse(&object.provider_id) else { return };
    let project = match open_for_rewrite(&object.class, Known::Fresh(before)) {
        Ok(project) => Some(project),
        Err(_) if world.fault == Some(Fault::Gate) => before.project,
        Err(_) => None,
    };
    if let Some(project) = project {
        let id = StackitProviderId { project, server: id.server() };
        (object.provider_id, object.migrated, object.marked) = (id.to_string().into(), true, true);
    }
}

fn machine_written(world: &mut World, namespace: &str, name: &str, object: MachineFacts) -> MachineNow {
    let was_legacy = world.shoots[namespace].facts.machines.get(name).is_some_and(MachineFacts::is_legacy);
    if let Some(born) = world.born.get(name).filter(|_| was_legacy && !object.is_legacy()) {
        world.slowest_restore = world.slowest_restore.max(world.now().saturating_sub(*born));
    }
    world.shoots.get_mut(namespace).unwrap().facts.machines.insert(name.into(), object.clone());
    world.bump(namespace, &format!("machine/{name}"));
    machine(world, namespace, name, object)
}

fn condition(objects: &mut Objects, say: &[(&'static str, bool)]) {
    let Some(migration) = objects.facts.migration.as_mut() else { return };
    for (type_, holds) in say {
        objects.conditions.insert(type_, *holds);
        match *type_ {
            "Armed" => migration.armed = *holds,
            "Labelled" => migration.labelled = *holds,
            _ => {}
        }
    }
}
