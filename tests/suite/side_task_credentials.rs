//! A wrong credential hurts its own shoot alone, and a corrected one heals it without a restart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::side_task_faults::proof::{Persisted, calls_of};
use crate::side_task_faults::{Stage, await_complete, await_metric, await_reason, events_of};
use crate::side_task_support::{LONG, QUARANTINE, Seed, assert_harmless};
use rig::objects;
use serde_json::{Value, json};
use simulator::Operation;

/// Writes `serviceaccount.json` of a shoot's Secret.
async fn write_key(seed: &Seed, stage: &Stage, key: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloudprovider", "namespace": stage.namespace()},
    });
    objects::merge(&seed.client, &secret, &json!({"stringData": {"serviceaccount.json": key}})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_credential_hurts_its_own_shoot_alone() {
    let seed = Seed::start().await;
    let mut stages = Vec::new();
    for name in ["good", "junk", "no-rsa", "inactive", "of-another", "wrong-signature"] {
        stages.push(Stage::switched(&seed, name, 2).await);
    }
    let (good, bad) = stages.split_at(1);
    write_key(&seed, &bad[0], "{\"credentials\": {\"privateKey\": \"hush-hush\"").await;
    let mut no_rsa: Value = serde_json::from_str(&bad[1].key.json()).unwrap();
    no_rsa["credentials"]["privateKey"] = "-----BEGIN PRIVATE KEY-----\nhush-hush\n-----END PRIVATE KEY-----".into();
    write_key(&seed, &bad[1], &no_rsa.to_string()).await;
    seed.cloud().deactivate_key(&bad[2].key.kid);
    write_key(&seed, &bad[3], &good[0].key.json()).await;
    let mut wrong: Value = serde_json::from_str(&bad[4].key.json()).unwrap();
    let other = stages.iter().find(|stage| stage.key.private_pem() != bad[4].key.private_pem()).unwrap();
    wrong["credentials"]["privateKey"] = other.key.private_pem().into();
    write_key(&seed, &bad[4], &wrong.to_string()).await;

    let product = seed.one_replica(&[]).await;
    await_complete(&seed, good, LONG).await;
    seed.assert_complete(&good[0].shoot).await;
    let reasons =
        ["CredentialsInvalid", "CredentialsInvalid", "CredentialsInvalid", "CloudForbidden", "CredentialsInvalid"];
    for (stage, reason) in bad.iter().zip(reasons) {
        await_reason(&seed, stage, reason, LONG).await;
        let what = format!("an Event of {}", stage.namespace());
        let events = rig::until(&what, LONG, || async {
            let events = events_of(&seed, &stage.namespace()).await?;
            Ok(Some(events).filter(|events| events.iter().any(|event| event["reason"] == reason)))
        });
        let events = events.await.unwrap();
        let told: Vec<_> = events.iter().filter(|event| event["reason"] == reason).collect();
        assert!(told.iter().all(|event| event["type"] == "Warning"), "{told:#?}");
        assert!(
            seed.cloud()
                .servers(&stage.project())
                .iter()
                .all(|server| server.labels.text("kubernetes.io/machine").is_none())
        );
    }
    await_metric(&product, "credentials-invalid", LONG).await;

    seed.cloud().activate_key(&bad[2].key.kid);
    for (number, stage) in bad.iter().enumerate() {
        // The key that became active again is the one that the Secret holds.
        if number != 2 {
            write_key(&seed, stage, &stage.key.json()).await;
        }
    }
    await_complete(&seed, &stages, LONG).await;
    for stage in &stages {
        seed.assert_complete(&stage.shoot).await;
    }
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
    // With the key of another project nothing but what the API refused was tried.
    let foreign = calls_of(&journal, &bad[3].project(), Operation::ListServers);
    assert!(foreign.iter().any(|call| call.status == Some(403) && call.kid.as_ref() == Some(&good[0].key.kid)));
    let lines: String = product.logs().iter().map(Value::to_string).collect();
    for secret in ["hush-hush", "BEGIN PRIVATE", &good[0].key.private_pem()[100..140]] {
        assert!(!lines.contains(secret), "a log line holds {secret}");
    }
    assert!(!lines.contains("eyJ"), "a log line holds a token");
}
