//! The probe of the guard: server-side dry runs that its policies must refuse.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{Provider, Reason, StackitProviderId, keys};
use mcm_migration_core::plan::{PROBES, Probe, ProbeAnswer, judge};
use serde_json::{Value, json};

use super::calls::{CallError, Seed, call};

/// How long after the label was set its policies may not know it yet (measured: 0.15 s).
const SETTLING: Duration = Duration::from_secs(10);
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// No such MachineClass is ever made: the name is only used in dry runs.
const PROBE_CLASS: &str = "mcm-migration-guard-probe";
/// No such server exists.
const PROBE_SERVER: &str = "00000000-0000-4000-8000-00000000beef";
/// Of a foreign answer this much is quoted, in characters.
const QUOTED: usize = 400;

/// The guard was not proved.
#[derive(Debug)]
pub(crate) struct Unproven {
    /// [`Reason::GuardOpen`] or [`Reason::GuardUnproven`].
    pub(crate) reason: Reason,
    /// What was tried and how it was answered, one line.
    pub(crate) text: String,
}

/// Tries everything that the guard must refuse, `rounds` times and at least once, each time over fresh connections.
///
/// Where the label was set at `labelled`, an acceptance counts only after the time that the policies may need to know it.
pub(crate) async fn prove(
    seed: &Seed,
    namespace: &str,
    facts: &NamespaceFacts,
    rounds: usize,
    labelled: Option<Instant>,
) -> Result<(), Unproven> {
    let rounds = rounds.max(1);
    for round in 1..=rounds {
        let client = seed.fresh_client().map_err(|error| Unproven {
            reason: Reason::GuardUnproven,
            text: format!("no client could be made for the probe: {error}"),
        })?;
        for probe in PROBES {
            let mut attempts = Attempt::all(probe, namespace, facts).into_iter().peekable();
            while let Some(attempt) = attempts.peek() {
                let answer = attempt.make(&client, seed).await;
                let Err(reason) = judge(probe, &answer) else { break };
                if attempt.is_moot(&answer) {
                    // Deleted since it was read. If all are, there is nothing left to try it on.
                    attempts.next();
                    continue;
                }
                if reason == Reason::GuardOpen && labelled.is_some_and(|at| at.elapsed() < SETTLING) {
                    tokio::time::sleep(AGAIN_AFTER).await;
                    continue;
                }
                return Err(Unproven { reason, text: describe(probe, (round, rounds), &answer) });
            }
        }
    }
    Ok(())
}

fn describe(probe: Probe, (round, rounds): (usize, usize), answer: &ProbeAnswer) -> String {
    let tries = probe.tries();
    let answered = match answer {
        ProbeAnswer::Accepted => "was let in".to_owned(),
        ProbeAnswer::Refused { code, message } => format!("was answered {code} by something else: {}", quote(message)),
        ProbeAnswer::Failed(error) => format!("had no answer: {}", quote(error)),
    };
    format!("{tries} (a dry run, connection {round} of {rounds}) {answered}")
}

/// Foreign words: on one line, and not endless.
fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED).collect::<String>().escape_debug().to_string();
    if text.chars().nth(QUOTED).is_some() {
        quoted.push('…');
    }
    format!("\"{quoted}\"")
}

/// One dry run, made ready.
enum Attempt<'a> {
    Create(&'a str),
    TurnClass(&'a str, &'a str),
    ChangeId { namespace: &'a str, machine: &'a str, id: String },
    RemoveLabel(&'a str),
}

impl<'a> Attempt<'a> {
    /// The objects to try it on, one after the other until one is there; none where the namespace has nothing.
    fn all(probe: Probe, namespace: &'a str, facts: &'a NamespaceFacts) -> Vec<Self> {
        match probe {
            Probe::CreateOpenstackClass => vec![Self::Create(namespace)],
            Probe::TurnClassToOpenstack => {
                let classes = facts.classes.iter().filter(|(_, provider)| **provider == Provider::Stackit);
                classes.map(|(class, _)| Self::TurnClass(namespace, class)).collect()
            }
            Probe::ChangeRewrittenId => {
                let machines = rewritten_machines(facts).into_iter();
                machines.map(|(machine, id)| Self::ChangeId { namespace, machine, id: other_id(id) }).collect()
            }
            Probe::RemoveGuardLabel => vec![Self::RemoveLabel(namespace)],
        }
    }

    /// Whether the answer says that the object is not there any more; the class or Machine of another attempt may be.
    fn is_moot(&self, answer: &ProbeAnswer) -> bool {
        let of_an_object = matches!(self, Self::TurnClass(..) | Self::ChangeId { .. });
        of_an_object && matches!(answer, ProbeAnswer::Refused { code: 404, .. })
    }

    async fn make(&self, client: &Client, seed: &Seed) -> ProbeAnswer {
        let params = PatchParams { dry_run: true, ..seed.patching() };
        let doing = "the probe";
        let patched = |api: Api<DynamicObject>, name: &str, patch: Value| {
            let name = name.to_owned();
            async move { call(doing, api.patch(&name, &params, &Patch::Merge(&patch))).await.map(drop) }
        };
        let answer = match self {
            Self::Create(namespace) => create(client, namespace, seed.manager()).await,
            Self::TurnClass(namespace, class) => {
                patched(mcm(client, namespace, "MachineClass"), class, json!({"provider": "OpenStack"})).await
            }
            Self::ChangeId { namespace, machine, id } => {
                patched(mcm(client, namespace, "Machine"), machine, json!({"spec": {"providerID": id}})).await
            }
            Self::RemoveLabel(namespace) => {
                let namespaces: Api<DynamicObject> =
                    Api::all_with(client.clone(), &ApiResource::erase::<Namespace>(&()));
                patched(namespaces, namespace, json!({"metadata": {"labels": {keys::GUARD: null}}})).await
            }
        };
        match answer {
            Ok(()) => ProbeAnswer::Accepted,
            Err(CallError::Refused { code, message, .. }) => ProbeAnswer::Refused { code, message },
            Err(error @ CallError::NoAnswer { .. }) => ProbeAnswer::Failed(error.to_string()),
        }
    }
}

async fn create(client: &Client, namespace: &str, manager: &str) -> Result<(), CallError> {
    let class = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineClass",
        "metadata": {"name": PROBE_CLASS, "namespace": namespace},
        "provider": "OpenStack",
        "providerSpec": {"apiVersion": "openstack.machine.gardener.cloud/v1alpha1", "kind": "MachineProviderConfig", "spec": {}},
        "credentialsSecretRef": {"name": keys::CLOUDPROVIDER_SECRET, "namespace": namespace},
        "secretRef": {"name": PROBE_CLASS, "namespace": namespace},
    });
    let params = PostParams { dry_run: true, field_manager: Some(manager.to_owned()) };
    let class: DynamicObject = serde_json::from_value(class)
        .map_err(|error| CallError::NoAnswer { doing: "the probe".to_owned(), message: error.to_string() })?;
    call("the probe", mcm(client, namespace, "MachineClass").create(&params, &class)).await.map(drop)
}

/// Machines whose ID `keep-ids` holds, and that ID; those that stay first.
fn rewritten_machines(facts: &NamespaceFacts) -> Vec<(&str, &str)> {
    let rewritten = facts.machines.iter().filter(|(_, machine)| machine.provider_id.starts_with("stackit://"));
    let mut rewritten: Vec<_> = rewritten.collect();
    rewritten.sort_by_key(|(_, machine)| machine.terminating);
    rewritten.into_iter().map(|(name, machine)| (&**name, &*machine.provider_id)).collect()
}

/// Another ID than `id` that no webhook takes for a legacy one: it would be rewritten, and the policy had nothing to refuse.
fn other_id(id: &str) -> String {
    let project = StackitProviderId::parse(id).map(|id| id.project.to_string()).unwrap_or_default();
    let other = format!("stackit://{project}/{PROBE_SERVER}");
    if other == id { format!("{other}-") } else { other }
}

fn mcm(client: &Client, namespace: &str, kind: &str) -> Api<DynamicObject> {
    let plural = if kind == "Machine" { "machines" } else { "machineclasses" };
    let resource = ApiResource {
        group: "machine.sapcloud.io".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: "machine.sapcloud.io/v1alpha1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    Api::namespaced_with(client.clone(), namespace, &resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_id_is_another_one_and_not_a_legacy_one() {
        let project = "2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601";
        for id in
            [format!("stackit://{project}/{PROBE_SERVER}"), "stackit://".to_owned(), format!("stackit://{project}/x")]
        {
            let other = other_id(&id);
            assert!(other != id && other.starts_with("stackit://"), "{other}");
        }
    }

    #[test]
    fn a_quoted_answer_is_one_line_of_bounded_length() {
        let quoted = quote(&format!("a\nb\u{1b}{}", "x".repeat(1000)));
        assert!(!quoted.contains(char::is_control) && quoted.chars().count() < QUOTED + 20, "{quoted}");
    }
}
