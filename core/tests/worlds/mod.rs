//! Generated objects and generated knowledge, for the property tests.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use mcm_migration_core::decide::{
    ClusterFacts, LastOperationFacts, MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels,
    WorkerFacts,
};
use mcm_migration_core::domain::{GuardLabel, McmContainers, ProjectId, Provider};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub const PROJECT: &str = "2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601";
pub const SERVER: &str = "5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d";

/// Facts in which the gate is open for the class `pool-a`.
pub fn open_facts() -> NamespaceFacts {
    NamespaceFacts {
        namespace: Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false }),
        migration: Some(MigrationFacts { armed: true, ..MigrationFacts::default() }),
        classes: [("pool-a".into(), Provider::Stackit)].into(),
        mcm_deployment: Some(McmContainers { openstack: false, stackit: true }),
        mcm_pods: [(
            "mcm-0".into(),
            McmPodFacts { containers: McmContainers { openstack: false, stackit: true }, ..McmPodFacts::default() },
        )]
        .into(),
        project: ProjectId::parse(PROJECT).ok(),
        ..NamespaceFacts::default()
    }
}

pub fn uuid() -> impl Strategy<Value = String> {
    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
}

pub fn provider_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => ("[A-Za-z][A-Za-z0-9._-]{0,8}[A-Za-z0-9]", uuid()).prop_map(|(r, s)| json!(format!("openstack:///{r}/{s}"))),
        1 => (uuid(), uuid()).prop_map(|(p, s)| json!(format!("stackit://{p}/{s}"))),
        1 => uuid().prop_map(|s| json!(format!("openstack:///{s}"))),
        1 => "openstack:[ -~]{0,40}".prop_map(|s| json!(s)),
        1 => "\\PC{0,20}".prop_map(|s| json!(s)),
        1 => Just(json!("")),
        1 => Just(Value::Null),
        1 => json_value(),
    ]
}

/// Any JSON, some levels deep.
pub fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("line\nbreak \u{1b}[31m \" \\ ")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-zA-Z/~.]{0,10}", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn annotations() -> impl Strategy<Value = Option<Value>> {
    let key = prop_oneof![
        Just("stackit.cloud/migrated-machine".to_owned()),
        Just("stackit.cloud/machine-should-be-migrated".to_owned()),
        Just("stackit.cloud/machine-controller-manager-migrated".to_owned()),
        Just("mcm-migration.stackit.cloud/previous-provider-id".to_owned()),
        Just("gardener.cloud/operation".to_owned()),
        "[a-z~/.]{1,12}",
    ];
    let value = prop_oneof![
        Just("true".to_owned()),
        Just("True".to_owned()),
        Just("false".to_owned()),
        Just("restore".to_owned()),
        "\\PC{0,10}"
    ];
    let map = btree_map(key, value, 0..5);
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Value::Null)),
        6 => map.prop_map(|map| Some(json!(map))),
        1 => json_value().prop_map(Some),
    ]
}

/// A Machine, from an ordinary one to one that no schema would take.
pub fn machine() -> impl Strategy<Value = Value> {
    (
        option::weighted(0.9, provider_id()),
        option::weighted(0.95, prop_oneof![4 => Just("pool-a"), 1 => Just("pool-b"), 1 => Just("")]),
        annotations(),
        option::weighted(0.3, Just("2026-01-01T00:00:00Z")),
        option::weighted(0.7, vec("[a-z./]{1,20}", 0..3)),
        btree_map("x[a-zA-Z]{1,8}", json_value(), 0..4),
        json_value(),
    )
        .prop_map(|(id, class, annotations, deleted, finalizers, unknown, template)| {
            let mut metadata = json!({"name": "m", "namespace": "shoot--p--s"});
            let mut spec =
                json!({"nodeTemplate": {"metadata": template, "spec": {"providerID": "openstack:///RegionOne/x"}}});
            put(&mut metadata, "annotations", annotations);
            put(&mut metadata, "deletionTimestamp", deleted.map(Value::from));
            put(&mut metadata, "finalizers", finalizers.map(Value::from));
            put(&mut spec, "class", class.map(|name| json!({"name": name})));
            put(&mut spec, "providerID", id);
            let mut object: Map<String, Value> = unknown.into_iter().collect();
            object.insert("metadata".to_owned(), metadata);
            object.insert("spec".to_owned(), spec);
            Value::Object(object)
        })
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(map), Some(value)) = (object, value) {
        map.insert(key.to_owned(), value);
    }
}

/// A Worker.
pub fn worker() -> impl Strategy<Value = Value> {
    (
        annotations(),
        option::weighted(
            0.5,
            (prop_oneof!["Reconcile", "Migrate", "Restore", "Create"], prop_oneof!["Succeeded", "Processing"]),
        ),
        option::weighted(0.2, Just("2026-01-01T00:00:00Z")),
        option::weighted(0.5, vec("[a-z./]{1,20}", 0..3)),
        json_value(),
    )
        .prop_map(|(annotations, last, deleted, finalizers, state)| {
            let mut metadata = json!({"name": "w", "namespace": "shoot--p--s"});
            put(&mut metadata, "annotations", annotations);
            put(&mut metadata, "deletionTimestamp", deleted.map(Value::from));
            put(&mut metadata, "finalizers", finalizers.map(Value::from));
            let mut status = json!({"state": state});
            put(&mut status, "lastOperation", last.map(|(kind, state)| json!({"type": kind, "state": state})));
            json!({"metadata": metadata, "spec": {"type": "stackit"}, "status": status})
        })
}

fn provider() -> impl Strategy<Value = Provider> {
    prop_oneof![6 => Just(Provider::Stackit), 1 => Just(Provider::OpenStack), 1 => Just(Provider::Other)]
}

fn containers() -> impl Strategy<Value = McmContainers> {
    (prop::bool::weighted(0.15), any::<bool>()).prop_map(|(openstack, stackit)| McmContainers { openstack, stackit })
}

fn machine_facts() -> impl Strategy<Value = MachineFacts> {
    (
        prop_oneof![
            4 => Just(format!("stackit://{PROJECT}/{SERVER}")),
            1 => Just(format!("openstack:///RegionOne/{SERVER}")),
            1 => Just("openstack:nonsense".to_owned()),
            1 => Just(String::new()),
        ],
        prop::bool::weighted(0.2),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(id, marked, migrated, terminating)| MachineFacts {
            provider_id: id.into(),
            class: "pool-a".into(),
            marked,
            migrated,
            terminating,
            ..MachineFacts::default()
        })
}

/// What may be known of a namespace; the gate is open in about a quarter of them.
pub fn facts() -> impl Strategy<Value = NamespaceFacts> {
    (
        option::weighted(
            0.95,
            (
                option::weighted(
                    0.9,
                    prop_oneof![8 => Just(GuardLabel::Closed), 1 => Just(GuardLabel::RollingBack), 1 => Just(GuardLabel::Unknown)],
                ),
                prop::bool::weighted(0.1),
            ),
        ),
        option::weighted(0.9, (prop::bool::weighted(0.1), any::<bool>(), prop::bool::weighted(0.9), any::<bool>())),
        btree_map(prop_oneof![3 => Just("pool-a"), 1 => Just("pool-b")], provider(), 0..3),
        option::weighted(0.8, containers()),
        btree_map("mcm-[0-9]", (containers(), prop::bool::weighted(0.2)), 0..3),
        option::weighted(0.9, uuid()),
        btree_map("m-[0-9]", machine_facts(), 0..4),
    )
        .prop_map(|(namespace, migration, classes, deployment, pods, project, machines)| NamespaceFacts {
            namespace: namespace.map(|(guard, terminating)| NamespaceLabels { guard, terminating }),
            migration: migration.map(|(paused, paused_by_rollback, armed, labelled)| MigrationFacts {
                paused,
                paused_by_rollback,
                armed,
                labelled,
            }),
            classes: classes.into_iter().map(|(name, provider)| (name.into(), provider)).collect(),
            mcm_deployment: deployment,
            mcm_pods: pods
                .into_iter()
                .map(|(name, (containers, ended))| (name.into(), McmPodFacts { containers, ended, ..McmPodFacts::default() }))
                .collect(),
            project: project.and_then(|project| ProjectId::parse(&project).ok()),
            machines: machines.into_iter().map(|(name, machine)| (name.into(), machine)).collect(),
            ..NamespaceFacts::default()
        })
}

/// A `lastOperation`.
pub fn last_operation(type_: &str, state: &str) -> LastOperationFacts {
    LastOperationFacts { type_: type_.into(), state: state.into() }
}

/// A seed's name; mostly the same one.
fn seed() -> impl Strategy<Value = Box<str>> {
    prop_oneof![12 => Just("seed-one".into()), 1 => Just("seed-two".into()), 1 => Just("".into())]
}

fn last_operations() -> impl Strategy<Value = LastOperationFacts> {
    let type_ = prop_oneof![8 => Just("Reconcile"), 1 => Just("Migrate"), 2 => Just("Restore"), 1 => Just("Delete"), 1 => Just("")];
    (type_, prop_oneof![Just("Succeeded"), Just("Processing"), Just("Error")])
        .prop_map(|(type_, state)| last_operation(type_, state))
}

fn worker_facts() -> impl Strategy<Value = WorkerFacts> {
    let operation = prop_oneof![8 => Just(""), 1 => Just("migrate"), 1 => Just("wait-for-state"), 2 => Just("restore"), 1 => Just("reconcile")];
    (prop::bool::weighted(0.9), operation, last_operations(), prop::bool::weighted(0.2)).prop_map(
        |(is_stackit, operation, last_operation, terminating)| WorkerFacts {
            is_stackit,
            operation: operation.into(),
            last_operation,
            terminating,
            ..WorkerFacts::default()
        },
    )
}

fn cluster_facts() -> impl Strategy<Value = ClusterFacts> {
    (seed(), seed(), seed(), last_operations(), prop::bool::weighted(0.1)).prop_map(
        |(seed, shoot_spec_seed, shoot_status_seed, shoot_last_operation, terminating)| ClusterFacts {
            seed,
            shoot_spec_seed,
            shoot_status_seed,
            shoot_last_operation,
            terminating,
        },
    )
}

/// What may be known of a namespace, with its Worker and its Cluster.
pub fn shoot_facts() -> impl Strategy<Value = NamespaceFacts> {
    (facts(), btree_map("w-[0-9]", worker_facts(), 0..3), option::weighted(0.95, cluster_facts())).prop_map(
        |(facts, workers, cluster)| NamespaceFacts {
            workers: workers.into_iter().map(|(name, worker)| (name.into(), worker)).collect(),
            cluster,
            ..facts
        },
    )
}

/// A shoot that qualifies for the guard and needs arming: right after Gardener has switched it.
pub fn switched_shoot() -> NamespaceFacts {
    let here: Box<str> = "seed-one".into();
    NamespaceFacts {
        namespace: Some(NamespaceLabels::default()),
        migration: None,
        machines: [(
            "m-0".into(),
            MachineFacts {
                provider_id: format!("openstack:///RegionOne/{SERVER}").into(),
                class: "pool-a".into(),
                ..MachineFacts::default()
            },
        )]
        .into(),
        workers: [("w".into(), WorkerFacts { is_stackit: true, ..WorkerFacts::default() })].into(),
        cluster: Some(ClusterFacts {
            seed: here.clone(),
            shoot_spec_seed: here.clone(),
            shoot_status_seed: here,
            ..ClusterFacts::default()
        }),
        ..open_facts()
    }
}
