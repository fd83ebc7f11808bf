//! Who wrote to the Machines and the Worker of a shoot, by the API server's audit log.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::scene::Scene;
use crate::setup::{SERVICE_ACCOUNT, Sandbox};

/// How often somebody wrote to what.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    /// By user and resource, what the sandbox itself created left out.
    pub(crate) writes: BTreeMap<(String, String), usize>,
}

impl Writers {
    /// Those who are not the product.
    pub(crate) fn others(&self) -> Vec<String> {
        let (namespace, name) = SERVICE_ACCOUNT;
        let product = format!("system:serviceaccount:{namespace}:{name}");
        let others = self.writes.iter().filter(|((user, _), _)| *user != product);
        others.map(|((user, resource), count)| format!("{user} wrote {count} times to its {resource}")).collect()
    }
}

/// Everybody who wrote to Machines or the Worker of a shoot since it was made.
pub(crate) fn writers(sandbox: &Sandbox, scene: &Scene) -> Result<Writers> {
    let namespace = scene.shoot.namespace();
    let mut writers = Writers::default();
    for event in sandbox.server.audit_events()? {
        let target = &event["objectRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resource = text(&target["resource"]);
        let ours = target["namespace"] == *namespace && matches!(&*resource, "machines" | "workers");
        // The fixture writes the status of what it creates.
        let status = target["subresource"] == "status";
        // The guard is proved by writes that are dry runs, and refused.
        let dry_run = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun"));
        let done = event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300);
        if ours && done && !status && !dry_run && matches!(event["verb"].as_str(), Some("update" | "patch" | "delete"))
        {
            *writers.writes.entry((text(&event["user"]["username"]), resource)).or_default() += 1;
        }
    }
    Ok(writers)
}
