//! The status of the MachineMigration, Events, and the proof of the guard, as the side task makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use mcm_migration_core::domain::{Exception, Reason};
use mcm_migration_core::plan::{Counts, Kind, Phase, Report, Say};
use mcm_migration_webhook::sidetask::{Cluster, ClusterError, Notice, VersionOf, Write, Written};
use rig::{Shoot, arm_by_hand, objects, until};
use serde_json::{Value, json};

use crate::side_task_cluster::world::DEADLINE;
use crate::side_task_cluster::{Seed, cluster, machine, make, migration, object, seed, version, worker};

const ACCOUNT: &str = "system:serviceaccount:mcm-migration-system:mcm-migration-webhook";

/// A shoot with a MachineMigration in which somebody else has a condition.
async fn shoot(seed: &Seed, name: &str) -> String {
    let name = make(seed, &Shoot::new(name)).await;
    let admin = seed.admin().await;
    objects::create(&admin, &migration(&name)).await.unwrap();
    let foreign = json!({"conditions": [{
        "type": "Weather", "status": "Unknown", "reason": "Fog", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    objects::patch_status(&admin, &migration(&name), &foreign).await.unwrap();
    name
}

/// Status and reason of each condition.
async fn conditions(seed: &Seed, name: &str) -> BTreeMap<String, String> {
    let status = object(seed, &migration(name)).await["status"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = status["conditions"].as_array().unwrap().iter();
    found.map(|one| (text(&one["type"]), format!("{} {}", text(&one["status"]), text(&one["reason"])))).collect()
}

fn report() -> Report {
    Report {
        conditions: vec![
            Say::guarded(true, Reason::Guarded, "Proved."),
            Say::armed(false, Reason::SeedNodeLost, "node-a is not Ready."),
        ],
        phase: Phase::Guarded,
        reason: Some(Reason::SeedNodeLost),
        counts: Counts {
            total: 3,
            legacy: 2,
            terminating_legacy: 1,
            waiting: BTreeMap::from([(Reason::TouchOff, 2), (Reason::NameTooLong, 1)]),
            quarantined: 4,
            labelled: 5,
            exceptions: usize::MAX,
        },
        exceptions: vec![("m-0".into(), Exception::of("server-gone")), ("m-1".into(), Exception::of("as I say"))],
    }
}

#[tokio::test]
async fn a_report_is_the_whole_status_and_leaves_spec_and_foreign_conditions_alone() {
    let seed = &*seed().await;
    let name = shoot(seed, "report").await;
    objects::merge(&seed.admin().await, &migration(&name), &json!({"spec": {"paused": true}})).await.unwrap();
    let before = object(seed, &migration(&name)).await;
    let cluster = cluster(seed).await;
    assert_eq!(cluster.write(&name, Write::Report(&report())).await, Ok(Written::Took(true)));

    let after = object(seed, &migration(&name)).await;
    assert_eq!((&after["spec"], &after["metadata"]), (&before["spec"], &before["metadata"]));
    let status = &after["status"];
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Guarded"), &json!("SeedNodeLost")));
    let wanted = json!({
        "total": 3, "legacy": 2, "terminatingLegacy": 1, "waiting": {"TouchOff": 2, "NameTooLong": 1},
        "quarantined": 4, "labelled": 5, "exceptions": i32::MAX,
    });
    assert_eq!(status["machines"], wanted);
    let excepted = json!([{"machine": "m-0", "reason": "server-gone"}, {"machine": "m-1", "reason": "as I say"}]);
    assert_eq!(status["exceptions"], excepted);
    let found = conditions(seed, &name).await;
    let found: Vec<(&str, &str)> = found.iter().map(|(type_, what)| (type_.as_str(), what.as_str())).collect();
    assert_eq!(found, [("Armed", "False SeedNodeLost"), ("Guarded", "True Guarded"), ("Weather", "Unknown Fog")]);

    let version = version(seed, &migration(&name)).await;
    assert_eq!(cluster.write(&name, Write::Report(&report())).await, Ok(Written::Took(true)));
    assert_eq!(self::version(seed, &migration(&name)).await, version, "the same was written again");

    let done = Report {
        phase: Phase::Complete,
        reason: None,
        counts: Counts::default(),
        conditions: Vec::new(),
        exceptions: Vec::new(),
    };
    cluster.write(&name, Write::Report(&done)).await.unwrap();
    let status = object(seed, &migration(&name)).await["status"].clone();
    assert_eq!((&status["phase"], &status["machines"]["waiting"]), (&json!("Complete"), &json!({})));
    assert!(status.get("reason").is_none() && status.get("exceptions").is_none(), "{status}");
}

#[tokio::test]
async fn a_demanded_version_must_be_the_present_one_also_where_nothing_would_be_written() {
    let seed = &*seed().await;
    let name = shoot(seed, "demanded").await;
    let cluster = cluster(seed).await;
    let armed = [Say::armed(true, Reason::Armed, "Armed.")];
    let old = cluster.version(&name, VersionOf::Migration).await.unwrap().unwrap();
    objects::merge(&seed.admin().await, &migration(&name), &json!({"spec": {"paused": true}})).await.unwrap();
    let stale = cluster.write(&name, Write::Say { version: Some(&old), say: &armed }).await;
    assert!(matches!(stale, Err(ClusterError::Conflict(_))), "{stale:?}");
    assert!(!conditions(seed, &name).await.contains_key("Armed"));

    let now = cluster.version(&name, VersionOf::Migration).await.unwrap().unwrap();
    let say = Write::Say { version: Some(&now), say: &armed };
    assert_eq!(cluster.write(&name, say.clone()).await, Ok(Written::Took(true)));
    assert_eq!(conditions(seed, &name).await["Armed"], "True Armed");
    let again = cluster.write(&name, say).await;
    assert!(matches!(again, Err(ClusterError::Conflict(_))), "{again:?}");
}

#[tokio::test]
async fn without_a_demanded_version_those_who_write_at_the_same_time_lose_nothing() {
    let seed = &*seed().await;
    let name = shoot(seed, "together").await;
    let cluster = cluster(seed).await;
    // One of them gets through at each try, and each tries five times.
    let types = ["Guarded", "Armed", "Rewritten", "Labelled", "Complete"];
    let says = types.map(|type_| {
        [Say { type_, holds: true, reason: Reason::Complete, message: format!("{type_} by one of five.") }]
    });
    let writes = says.iter().map(|say| cluster.write(&name, Write::Say { version: None, say }));
    for written in join_all(writes).await {
        assert_eq!(written, Ok(Written::Took(true)));
    }
    let found = conditions(seed, &name).await;
    for type_ in types {
        assert_eq!(found[type_], "True Complete", "{found:?}");
    }
}

#[tokio::test]
async fn without_a_machine_migration_nothing_is_written_into_it() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("no-migration")).await;
    let cluster = cluster(seed).await;
    let say = [Say::armed(false, Reason::NotArmed, "")];
    for write in [
        Write::Say { version: None, say: &say },
        Write::Say { version: Some("1"), say: &say },
        Write::Report(&report()),
    ] {
        let written = cluster.write(&name, write).await;
        assert!(matches!(&written, Err(ClusterError::Gone(text)) if text.contains(&name)), "{written:?}");
    }
    assert_eq!(cluster.version(&name, VersionOf::Migration).await, Ok(None));
}

#[tokio::test]
async fn events_are_about_the_object_that_is_there() {
    let seed = &*seed().await;
    let shoot = Shoot::new("events");
    let name = make(seed, &shoot).await;
    let first = shoot.machines().remove(0);
    let cluster = cluster(seed).await;
    let notice = |kind, name: &str, warning| Notice {
        kind,
        name: name.into(),
        warning,
        reason: Reason::ServerGone,
        message: format!("{kind:?} {}", "ä".repeat(1000)),
    };
    // Before there is a MachineMigration the shoot's Event is about its Worker.
    cluster.notify(&name, notice(Kind::Shoot, "", true)).await;
    objects::create(&seed.admin().await, &migration(&name)).await.unwrap();
    cluster.notify(&name, notice(Kind::Shoot, "", true)).await;
    cluster.notify(&name, notice(Kind::Machine, &first, true)).await;
    cluster.notify(&name, notice(Kind::MachineClass, &shoot.class(), false)).await;
    cluster.notify(&name, notice(Kind::Machine, "gone", true)).await;

    let events: Api<Event> = Api::namespaced(seed.admin().await, &name);
    let events = until("four Events", DEADLINE, || async {
        let found = events.list(&ListParams::default()).await?.items;
        Ok((found.len() >= 4).then_some(found))
    })
    .await
    .unwrap();
    let mut wanted = BTreeMap::new();
    for (id, type_) in [
        (worker(&name, shoot.worker()), "Warning"),
        (migration(&name), "Warning"),
        (machine(&name, &first), "Warning"),
        (crate::side_task_cluster::class(&name, &shoot.class()), "Normal"),
    ] {
        let uid = object(seed, &id).await["metadata"]["uid"].as_str().unwrap().to_owned();
        wanted.insert(uid, (id["kind"].as_str().unwrap().to_owned(), type_.to_owned()));
    }
    let mut found = BTreeMap::new();
    for event in events {
        assert_eq!(event.reason.as_deref(), Some("ServerGone"));
        assert_eq!(event.source.unwrap().component.as_deref(), Some("mcm-migration-webhook"));
        assert_eq!((event.count, event.last_timestamp.is_some()), (Some(1), true));
        assert!(event.message.unwrap().len() <= 1024);
        found.insert(event.involved_object.uid.unwrap(), (event.involved_object.kind.unwrap(), event.type_.unwrap()));
    }
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn the_guard_is_proved_as_often_as_asked_and_only_where_it_is_closed() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("prove").migrated_machines(1)).await;
    let cluster = cluster(seed).await;
    let facts = cluster.snapshot(&name).await.unwrap().facts;
    let open = cluster.prove(&name, &facts, 1, false).await.unwrap_err();
    assert_eq!(open.0, Reason::GuardOpen, "{open:?}");
    assert!(open.1.contains("was let in"), "{open:?}");

    arm_by_hand(&seed.admin().await, &name).await.unwrap();
    cluster.prove(&name, &facts, 1, true).await.unwrap();
    let before = refused(seed, &name);
    for (rounds, attempts) in [(1, 4), (3, 12), (0, 4)] {
        let so_far = refused(seed, &name);
        cluster.prove(&name, &facts, rounds, false).await.unwrap();
        assert_eq!(refused(seed, &name) - so_far, attempts, "{rounds} rounds");
    }
    assert!(before >= 4);
    assert_eq!(cluster.snapshot(&name).await.unwrap().facts.machines, facts.machines);
}

/// How many dry runs of the program in a namespace were refused so far.
fn refused(seed: &Seed, namespace: &str) -> usize {
    let events = seed.server.audit_events().unwrap();
    let dry_runs = events.iter().filter(|event| {
        let uri = event["requestURI"].as_str().unwrap_or_default();
        event["stage"] == "ResponseComplete"
            && event["user"]["username"] == ACCOUNT
            && uri.contains("dryRun")
            && uri.contains(namespace)
            && event["responseStatus"]["code"] == 403
    });
    dry_runs.count()
}
