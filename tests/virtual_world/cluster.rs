//! The API server.

use std::sync::OnceLock;
use std::time::Duration;

use mcm_migration_core::decide::{Known, NamespaceFacts, open_for_flip, open_for_rewrite};
use mcm_migration_core::domain::{Exception, GuardLabel, LegacyProviderId, Provider, Reason, StackitProviderId};
use mcm_migration_core::plan::{ClassDetails, LeaseSighting, NodeSighting};
use mcm_migration_webhook::sidetask::{
    Clock as _, Cluster, ClusterError, Credentials, MachineNow, Notice, Snapshot, VersionOf, Write, Written,
};
use rand::RngExt;
use secrecy::SecretString;

use super::{Shared, World, lock};

pub struct VirtualCluster(pub Shared);

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
    /// A call takes its time, and sometimes comes to nothing.
    async fn call<T>(
        &self,
        what: &str,
        answer: impl FnOnce(&mut World) -> Result<T, ClusterError>,
    ) -> Result<T, ClusterError> {
        let (pause, before, after) = {
            let mut world = lock(&self.0);
            world.steps += 1;
            let chaos = world.chaos;
            let pause = Duration::from_millis({
                let longest = u64::try_from(world.longest_call().as_millis()).unwrap();
                let shortest = if world.slow > 1 { longest / 4 } else { 1 };
                world.rng.random_range(shortest..=longest)
            });
            (pause, world.chance(chaos), world.chance(chaos))
        };
        tokio::time::sleep(pause).await;
        if before {
            return Err(lost(what));
        }
        let answer = answer(&mut lock(&self.0));
        if after { Err(lost(what)) } else { answer }
    }
}

impl Cluster for VirtualCluster {
    fn shoots(&self) -> Vec<Box<str>> {
        lock(&self.0).shoots.keys().cloned().collect()
    }

    fn look<R>(&self, namespace: &str, look: impl FnOnce(Known<'_>) -> R) -> R {
        let facts = {
            let mut world = lock(&self.0);
            let now = world.clock.now();
            if world.stale_until.get(namespace).is_some_and(|until| now < *until) {
                drop(world);
                return look(Known::Stale("machines"));
            }
            // A cache is late, and never goes back.
            let lag = world.lag.mul_f64(world.rng.random::<f64>());
            let shown = world.shown.get(namespace).copied().unwrap_or_default().max(now.saturating_sub(lag));
            world.shown.insert(namespace.into(), shown);
            world.as_of(namespace, now.saturating_sub(shown))
        };
        look(Known::Fresh(&facts))
    }

    async fn snapshot(&self, namespace: &str) -> Result<Snapshot, ClusterError> {
        self.call("snapshot", |world| {
            let objects = &world.shoots[namespace];
            Ok(Snapshot { facts: objects.facts.clone(), classes: objects.classes.clone() })
        })
        .await
    }

    async fn owner(&self, namespace: &str) -> Result<NamespaceFacts, ClusterError> {
        self.call("owner", |world| {
            let facts = &world.shoots[namespace].facts;
            Ok(NamespaceFacts {
                namespace: facts.namespace.clone(),
                migration: facts.migration,
                workers: facts.workers.clone(),
                cluster: facts.cluster.clone(),
                ..NamespaceFacts::default()
            })
        })
        .await
    }

    async fn machine(&self, namespace: &str, name: &str) -> Result<Option<MachineNow>, ClusterError> {
        self.call("machine", |world| Ok(machine(world, namespace, name))).await
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
        let proved =
            self.call("prove", |world| Ok(world.shoots[namespace].facts.guard() == Some(GuardLabel::Closed))).await;
        match proved {
            Ok(true) => Ok(()),
            Ok(false) => Err((Reason::GuardOpen, "let in".to_owned())),
            Err(error) => Err((Reason::GuardUnproven, error.to_string())),
        }
    }

    async fn write(&self, namespace: &str, write: Write<'_>) -> Result<Written, ClusterError> {
        let (what, status) = (format!("{write:?}"), matches!(write, Write::Report(_)));
        lock(&self.0).sent(&what);
        let in_flight = Duration::from_secs(1) + lock(&self.0).longest_call() * 4;
        self.call("write", |world| {
            let applied = apply(world, namespace, &write);
            if applied.is_ok() && !status {
                world.judge(namespace, &what, false, in_flight);
            }
            applied
        })
        .await
    }

    async fn notify(&self, _: &str, _: Notice) {}
}

fn version(world: &World, namespace: &str, key: &str) -> String {
    world.shoots[namespace].versions.get(key).copied().unwrap_or_default().to_string()
}

fn machine(world: &World, namespace: &str, name: &str) -> Option<MachineNow> {
    let facts = world.shoots[namespace].facts.machines.get(name)?.clone();
    Some(MachineNow { facts, version: version(world, namespace, &format!("machine/{name}")) })
}

fn expect(world: &World, namespace: &str, key: &str, wanted: &str) -> Result<(), ClusterError> {
    if version(world, namespace, key) == wanted { Ok(()) } else { Err(ClusterError::Conflict(key.to_owned())) }
}

fn apply(world: &mut World, namespace: &str, write: &Write<'_>) -> Result<Written, ClusterError> {
    let facts = |world: &World| world.shoots[namespace].facts.clone();
    let key = match write {
        Write::SettleId { machine, version, .. }
        | Write::SettleNoServer { machine, version }
        | Write::Touch { machine, version }
        | Write::Except { machine, version, .. }
        | Write::Clear { machine, version } => {
            let key = format!("machine/{machine}");
            if !world.shoots[namespace].facts.machines.contains_key(*machine) {
                return Err(ClusterError::Gone(key));
            }
            expect(world, namespace, &key, version)?;
            let before = facts(world);
            let mut object = world.shoots[namespace].facts.machines[*machine].clone();
            match write {
                Write::SettleId { provider_id, .. } => {
                    (object.provider_id, object.migrated) = ((*provider_id).into(), true);
                }
                Write::SettleNoServer { .. } => {
                    object.settled = true;
                    if world.servers.values().any(|server| &*server.name == *machine) {
                        let now = world.clock.now();
                        world.violations.push(format!("{now:?}: {machine} has a server, and was said to have none"));
                    }
                }
                Write::Touch { .. } => object.marked = true,
                Write::Except { reason, .. } => object.exception = reason.map(|reason| Exception::of(reason.name())),
                _ => object.marked = false,
            }
            // Admission, as the API server calls it in that very write.
            if let (Some(id), Ok(project)) =
                (LegacyProviderId::parse(&object.provider_id), open_for_rewrite(&object.class, Known::Fresh(&before)))
            {
                let id = StackitProviderId { project, server: id.server() };
                (object.provider_id, object.migrated, object.marked) = (id.to_string().into(), true, true);
            }
            let name = (*machine).to_owned();
            world.shoots.get_mut(namespace).unwrap().facts.machines.insert((*machine).into(), object);
            world.bump(namespace, &key);
            return Ok(Written::Machine(machine_now(world, namespace, &name)));
        }
        Write::Retire { class, version, provider_spec } => {
            let key = format!("class/{class}");
            expect(world, namespace, &key, version)?;
            if let Err(why) = open_for_flip(class, &facts(world)) {
                return Err(ClusterError::Refused(why.to_string()));
            }
            let details = ClassDetails::of("stackit", (*provider_spec).clone());
            assert_eq!(details.provider, Provider::Stackit);
            world.shoots.get_mut(namespace).unwrap().classes.insert((*class).into(), details);
            key
        }
        Write::MakeMigration => {
            if world.clock.now() < world.kind_missing.0 {
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
        Write::CloseGuard { version } => {
            expect(world, namespace, "namespace", version)?;
            let objects = world.shoots.get_mut(namespace).unwrap();
            objects.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Closed);
            "namespace".to_owned()
        }
        Write::MarkWorker { worker, version, marked } => {
            let key = format!("worker/{worker}");
            expect(world, namespace, &key, version)?;
            world.shoots.get_mut(namespace).unwrap().facts.workers.get_mut(*worker).unwrap().marked = *marked;
            key
        }
        Write::Say { version, say } => {
            if let Some(version) = version {
                expect(world, namespace, "migration", version)?;
            }
            condition(world, namespace, say)?;
            "migration".to_owned()
        }
        Write::Report(report) => {
            let before = (world.shoots[namespace].conditions.clone(), world.shoots[namespace].facts.migration);
            condition(world, namespace, &report.conditions)?;
            if before == (world.shoots[namespace].conditions.clone(), world.shoots[namespace].facts.migration) {
                return Ok(Written::Took(true));
            }
            "migration".to_owned()
        }
    };
    world.bump(namespace, &key);
    Ok(Written::Took(true))
}

fn machine_now(world: &World, namespace: &str, name: &str) -> MachineNow {
    machine(world, namespace, name).unwrap()
}

fn condition(world: &mut World, namespace: &str, say: &[mcm_migration_core::plan::Say]) -> Result<(), ClusterError> {
    let objects = world.shoots.get_mut(namespace).unwrap();
    let migration = objects.facts.migration.as_mut().ok_or_else(|| ClusterError::Gone("migration".to_owned()))?;
    for say in say {
        objects.conditions.insert(say.type_, say.holds);
        match say.type_ {
            "Armed" => migration.armed = say.holds,
            "Labelled" => migration.labelled = say.holds,
            _ => {}
        }
    }
    Ok(())
}
