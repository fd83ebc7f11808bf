//! Arming a shoot by hand, for tests of what comes after.

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};

use crate::objects;

/// The one name of a MachineMigration.
const NAME: &str = "openstack-to-stackit";

/// Writes what `arm` leaves behind, with neither its checks nor its probes: the MachineMigration with the conditions
/// `Guarded` and `Armed`, and the namespace's label `guard: closed`. Needs the CRD of `manifests/guard`.
pub async fn arm_by_hand(client: &Client, namespace: &str) -> Result<()> {
    let migration = json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1",
        "kind": "MachineMigration",
        "metadata": { "name": NAME, "namespace": namespace },
        "spec": { "paused": false },
    });
    objects::apply(client, &migration).await?;
    let condition = |kind: &str| -> Value {
        json!({
            "type": kind, "status": "True", "reason": kind, "message": "armed by hand in a test",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let status = json!({ "phase": "Armed", "conditions": [condition("Guarded"), condition("Armed")] });
    objects::patch_status(client, &migration, &status).await?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    let label = json!({ "metadata": { "labels": { "mcm-migration.stackit.cloud/guard": "closed" } } });
    objects::merge(client, &namespace, &label).await?;
    Ok(())
}
