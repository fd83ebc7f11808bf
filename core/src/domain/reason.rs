use std::fmt;

/// Declares every reason once: its kebab-case name (logs, metrics, audit annotations), its CamelCase name (conditions;
/// the variant's own), what it means and what to do. `docs/reasons.md` is held against this list by a test.
macro_rules! reasons {
    ($($variant:ident, $name:literal, $means:literal, $todo:literal;)*) => {
        /// Why something was done, or why nothing was.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $(#[doc = $means] $variant,)*
        }

        impl Reason {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in logs, metrics and audit annotations: kebab-case.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The name in conditions: CamelCase.
            #[must_use]
            pub fn camel_case(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// What it means, one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $means,)* }
            }

            /// What an operator does about it, one sentence.
            #[must_use]
            pub fn what_to_do(self) -> &'static str {
                match self { $(Self::$variant => $todo,)* }
            }
        }
    };
}

reasons! {
    Rewritten, "rewritten",
        "The Machine's provider ID was rewritten to the STACKIT format and the migration's annotations were set.",
        "Nothing.";
    WorkerMarked, "worker-marked",
        "Every Machine of the namespace is done; the Worker got its annotation.",
        "Nothing.";
    NotLegacy, "not-legacy",
        "The Machine's provider ID does not begin with `openstack:`.",
        "Nothing.";
    AlreadyMarked, "already-marked",
        "The Worker has its annotation already.",
        "Nothing.";
    FinalizersGone, "finalizers-gone",
        "The write leaves no finalizer on a terminating object, so it is the last one.",
        "Nothing.";
    ObjectUnreadable, "object-unreadable",
        "A member that decides, or the place where the patch would go, does not have the shape that it must have.",
        "Look at the object: `metadata.annotations` must be a map of strings, `spec` an object, `spec.providerID` a string.";
    NotOurObject, "not-our-object",
        "The request is for another kind, another operation or a subresource than this path answers for.",
        "Compare the rules of the webhook configuration with the shipped manifests.";
    ProviderIdMalformed, "provider-id-malformed",
        "The provider ID begins with `openstack:` and is not `openstack:///<region>/<server UUID in lower case>`.",
        "Find out which server the Machine stands for and correct its provider ID by hand.";
    CacheStale, "cache-stale",
        "What is known of the cluster is incomplete or too old: a watch has not been filled yet, or gave no sign of life within `--cache-max-age`.",
        "Look at `/readyz`, which names the resource, and at the API server; it recovers by itself.";
    NoGuard, "no-guard",
        "The namespace does not carry the label `mcm-migration.stackit.cloud/guard: closed`.",
        "Arm the shoot: `mcm-migration-webhook arm --namespace <namespace>`.";
    RollingBack, "rolling-back",
        "The namespace's guard is `rolling-back`: the shoot is being brought back to OpenStack.",
        "Finish the way back, or close the guard again.";
    NotArmed, "not-armed",
        "The MachineMigration `openstack-to-stackit` is absent or its condition `Armed` is not true.",
        "Arm the shoot: `mcm-migration-webhook arm --namespace <namespace>`; the condition's message says what was missing.";
    Paused, "paused",
        "The MachineMigration has `spec.paused: true`.",
        "Lift the pause when the cause is gone; until then deletion, roll-out and hibernation of legacy Machines hang.";
    ClassUnknown, "class-unknown",
        "The Machine names no MachineClass, or one that does not exist in the namespace.",
        "See whether the MachineClass was deleted; the worker controller writes it again at its next reconcile.";
    ClassIsOpenstack, "class-is-openstack",
        "The provider of the Machine's MachineClass is `OpenStack`.",
        "Wait for Gardener to switch the shoot's classes; a class that stays behind must be retired.";
    ClassIsForeign, "class-is-foreign",
        "The provider of a MachineClass of the namespace is neither `stackit` nor `OpenStack`.",
        "Find out who wrote the class; only classes of the provider `stackit` are followed.";
    OpenstackClassInNamespace, "openstack-class-in-namespace",
        "A MachineClass of the namespace, referred to or not, still has the provider `OpenStack`; through it the OpenStack provider would delete every rewritten server.",
        "Wait for Gardener to switch or remove it; a class that nothing wants any more must be retired.";
    OpenstackMcmDeployed, "openstack-mcm-deployed",
        "The pod template of the Deployment `machine-controller-manager` has a container of the OpenStack provider.",
        "Wait for Gardener to switch the Deployment.";
    OpenstackMcmAlive, "openstack-mcm-alive",
        "A pod of the machine-controller-manager, terminating ones included, has a container of the OpenStack provider.",
        "Wait until the pod is gone; see why it does not end.";
    ProjectUnknown, "project-unknown",
        "The Secret `cloudprovider` is absent or its `project-id` is not a plain lower-case UUID.",
        "Correct the Secret; white space around the UUID counts, since the STACKIT provider uses it raw.";
    DryRunMode, "dry-run-mode",
        "The program runs with `--dry-run`: it decided, and left the patch out.",
        "Start it without `--dry-run` to migrate.";
    WorkerTerminating, "worker-terminating",
        "The Worker is being deleted.",
        "Nothing.";
    WorkerMigrating, "worker-migrating",
        "The Worker is leaving this seed: its operation or its last operation is a migration of the control plane.",
        "Nothing; the destination seed goes on.";
    WorkerRestoring, "worker-restoring",
        "The Worker is being restored to this seed and that has not succeeded yet.",
        "Wait for the restore; see the Worker's `status.lastOperation`.";
    NoClass, "no-class",
        "No MachineClass of the namespace has the provider `stackit`.",
        "Wait for Gardener to switch the shoot.";
    MachinesLegacy, "machines-legacy",
        "A Machine of the namespace still has a provider ID that begins with `openstack:`.",
        "Wait for its next write, or touch it.";
    MachinesMarked, "machines-marked",
        "A Machine of the namespace still has the annotation `stackit.cloud/machine-should-be-migrated`: its server's labels are not confirmed.",
        "Wait for the labels; if none come, look at the Machine's server.";
    MachinesWithoutId, "machines-without-id",
        "A Machine of the namespace came from OpenStack and has no provider ID.",
        "Find its server; the Machine must get its ID before the shoot is done.";
    LabelsUnconfirmed, "labels-unconfirmed",
        "The MachineMigration's condition `Labelled` is not true.",
        "Wait for the labels; the condition's message says what was missing.";
    NamespaceAbsent, "namespace-absent",
        "The namespace does not exist, or is being deleted.",
        "Check the name.";
    WorkerAbsent, "worker-absent",
        "The namespace has no Worker, so nothing says whose the shoot is.",
        "Check the name; a shoot that leaves the seed loses its Worker first.";
    WorkerNotStackit, "worker-not-stackit",
        "The Worker's `spec.type` is not `stackit`.",
        "Nothing; the shoot belongs to another provider.";
    ClusterAbsent, "cluster-absent",
        "The Cluster of the namespace is absent or being deleted, or its Shoot cannot be read.",
        "See whether the shoot is leaving the seed.";
    NotOurs, "not-ours",
        "The Shoot belongs to another seed: `spec.seedName`, `status.seedName` and the Cluster's seed are not the same.",
        "Nothing here; look at the seed that the Shoot names.";
    NothingToMigrate, "nothing-to-migrate",
        "No Machine has a legacy ID, the marker or `stackit.cloud/migrated-machine`.",
        "Nothing.";
    AlreadyArmed, "already-armed",
        "The shoot is guarded and armed, and its guard was proved again.",
        "Nothing.";
    Armed, "armed",
        "The guard is closed and proved: admission rewrites from here on.",
        "Nothing.";
    Guarded, "guarded",
        "The guard is closed and proved; there is nothing to rewrite, so the shoot was not armed.",
        "Nothing.";
    SeedNodeLost, "seed-node-lost",
        "A Node of the seed is not Ready, or not yet for long enough; an OpenStack provider frozen on it could wake up.",
        "Wait until the Node is Ready or deleted; if its machine is known to be off, except it by `--ignore-lost-node`.";
    GuardOpen, "guard-open",
        "The guard's probe was let in: the admission policies do not refuse the way back.",
        "Install `manifests/guard` and see that its bindings are there.";
    GuardUnproven, "guard-unproven",
        "The guard's probe was answered by something else than the guard's policies, so nothing is proved.",
        "Read the answer that is named with it; another policy, a schema or a webhook without dry run stands before the guard.";
    ReadFailed, "read-failed",
        "The API server refused or did not answer a question that the step needs.",
        "Read the answer that is named with it, and run the command again.";
    WriteFailed, "write-failed",
        "The API server refused or lost a write that the step needs.",
        "Read the answer that is named with it, and run the command again.";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kebab_case_name_is_the_camel_case_name_in_kebab_case() {
        for reason in Reason::ALL {
            let mut kebab = String::new();
            for c in reason.camel_case().chars() {
                if c.is_ascii_uppercase() && !kebab.is_empty() {
                    kebab.push('-');
                }
                kebab.push(c.to_ascii_lowercase());
            }
            assert_eq!(kebab, reason.name());
        }
    }
}
