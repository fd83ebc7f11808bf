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
        "Arm the shoot: `mcm-migration-webhook arm --namespace <namespace>`. If it was taken off in the middle of a rollback, set it to `closed` at once, then run `rollback` again.";
    RollingBack, "rolling-back",
        "The namespace's guard is `rolling-back`: the shoot is being brought back to OpenStack.",
        "Finish the way back, or close the guard again.";
    NotArmed, "not-armed",
        "The MachineMigration `openstack-to-stackit` is absent or its condition `Armed` is not true.",
        "Arm the shoot: `mcm-migration-webhook arm --namespace <namespace>`; the condition's message says what was missing.";
    Paused, "paused",
        "The MachineMigration has `spec.paused: true`.",
        "Lift the pause when the cause is gone; until then deletion, roll-out and hibernation of legacy Machines hang.";
    NotPaused, "not-paused",
        "The MachineMigration is not paused.",
        "Nothing.";
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
        "A Node of the seed is not Ready, or not yet for long enough; a provider frozen on it could wake up, an OpenStack one on the way forward, a STACKIT one on the way back.",
        "Wait until the Node is Ready or deleted; if its machine is known to be off, except it by `--ignore-lost-node`.";
    GuardOpen, "guard-open",
        "The guard's probe was let in: the admission policies do not refuse the way back.",
        "Install `manifests/guard` and see that its bindings are there.";
    GuardUnproven, "guard-unproven",
        "The guard's probe was answered by something else than the guard's policies, so nothing is proved.",
        "Read the answer that is named with it; another policy, a schema or a webhook without dry run stands before the guard.";
    InFlight, "in-flight",
        "A Machine had no provider ID at the switch; whether a server of its name exists is being found out while its class is still `OpenStack`.",
        "Wait; the switch of the classes goes on by itself once each such Machine is settled.";
    InFlightUnresolved, "in-flight-unresolved",
        "A Machine without a provider ID cannot be settled: several servers have its name, its server stays in creation, the cloud refuses to answer, or its class is switched already.",
        "Find the Machine's server; write the provider ID by hand, or the annotation `mcm-migration.stackit.cloud/settled: no-server` when there is none.";
    Settled, "settled",
        "A Machine without a provider ID got the ID of its server, or was let go because no server of its name exists.",
        "Nothing.";
    ClassStillWanted, "class-still-wanted",
        "A MachineClass is still `OpenStack` and not everything that speaks against retiring it is gone.",
        "Wait for Gardener to switch the class, or for the MachineDeployments that the Worker wants; the subject names the class.";
    Retired, "retired",
        "A MachineClass that was left `OpenStack` and that nothing wants any more got provider and providerSpec of a sibling.",
        "Nothing; the roll-out or the deletion that waited goes on.";
    RewritePending, "rewrite-pending",
        "A Machine has a legacy ID and its write, in which it is rewritten, is still to come.",
        "Nothing; the side task touches it.";
    TouchOff, "touch-off",
        "The program runs with `--touch=false`: a Machine is rewritten at its next write by somebody else.",
        "Wait, or write to the Machine, or start the program without `--touch=false`.";
    RewriteMissed, "rewrite-missed",
        "A Machine was touched and still has its legacy ID: the webhook was not called, or held the rewrite back.",
        "See whether the webhook configuration is there and reaches a replica; the audit log says why a rewrite was held.";
    Quarantined, "quarantined",
        "A Machine's new provider ID is not old enough to be in every machine-controller-manager's cache, so its server gets no label yet, or the guard stays on the way back.",
        "Wait; `--quarantine` says how long.";
    NoLeaseEvidence, "no-lease-evidence",
        "The Lease `machine-controller` was not renewed since the new ID was seen by a living machine-controller-manager of the provider that the shoot moves to: STACKIT, or OpenStack on the way back.",
        "See whether the machine-controller-manager of the shoot runs; no label is set, and no guard taken off, before it proves that it reaches the API server.";
    McmUnproven, "mcm-unproven",
        "Another pod of the machine-controller-manager may still act on an old cache: it is no healthy standby and was not restarted since.",
        "Wait, or restart the pod that is named; a pod that is gone needs its Node Ready or deleted.";
    Labelled, "labelled",
        "The Machine's server carries every label.",
        "Nothing.";
    NameTooLong, "name-too-long",
        "A label's value, the name of the Machine or of its class, is longer than 63 characters, or has characters that a label may not hold.",
        "Replace the Machine; the STACKIT provider could not label its server either.";
    ServerGone, "server-gone",
        "The project has no server with the ID that the Machine names.",
        "Find out who deleted it; the machine-controller-manager replaces the Machine when its Node is lost.";
    ServerDeferred, "server-deferred",
        "The Machine's server is in a state in which the API refuses to change it, for example `DEALLOCATED`.",
        "Start the server again, or delete the Machine.";
    NameMismatch, "name-mismatch",
        "The server with the ID that the Machine names has another name than the Machine.",
        "Find out whose server it is; nothing is labelled before the names match.";
    ProjectMismatch, "project-mismatch",
        "The project in the Machine's provider ID is not the one of the Secret `cloudprovider`.",
        "Correct the Secret or the ID; the STACKIT provider would take the server for deleted.";
    LegacyLabelled, "legacy-labelled",
        "The server of a Machine with a legacy ID already carries a class label: the STACKIT machine-controller-manager may take it for an orphan.",
        "Take the label off while no STACKIT machine-controller-manager lives, or let the Machine be rewritten at once.";
    ClassLabelForeign, "class-label-foreign",
        "A server that is no Machine of this namespace carries the label of its class: another landscape shares the project.",
        "Find out whose server it is; the class is not labelled before.";
    LabelRefused, "label-refused",
        "The API refused a label because of its pattern; the whole project is stopped.",
        "Compare `--label-domain` with what the API accepts.";
    PartLabelRefused, "part-label-refused",
        "The API refused a label of a network interface or a volume because of its pattern; the servers of the project are labelled all the same.",
        "Read the answer that is named with it; until then the Machines stay unfinished, and `sweep` could not tell what they leave behind.";
    LabelUnverified, "label-unverified",
        "A label was sent, and the answer or a second look at the server does not show it.",
        "Look at the server; somebody else may take the label off. It is tried again.";
    BootVolumeUncared, "boot-volume-uncared",
        "The boot volume of a migrated server could not be set to be deleted together with it.",
        "Look at the server's volume attachments; it is tried again.";
    RegionUnknown, "region-unknown",
        "The region of a MachineClass is absent, or is none of the IaaS API and not in `--region-map`.",
        "Add the region to `--region-map`, for example `RegionOne=eu01`.";
    CredentialsInvalid, "credentials-invalid",
        "The Secret `cloudprovider` has no readable service account key under `serviceaccount.json`, or the token endpoint refuses it.",
        "Correct the Secret; it is read again when it changes.";
    CloudForbidden, "cloud-forbidden",
        "The IaaS API answers that the service account may not do this, or that the project does not exist.",
        "Give the service account the rights that the README names.";
    CloudRefused, "cloud-refused",
        "The IaaS API refused a call for another reason than a right or a label's pattern.",
        "Read the answer that is named with it.";
    CloudUnavailable, "cloud-unavailable",
        "The IaaS API did not answer, answered with a failure, or limits the rate.",
        "Wait; it is tried again, and other projects go on.";
    RestoreSlow, "restore-slow",
        "The shoot is being restored here for more than 10 minutes and Machines still have legacy IDs; they fail after 45.",
        "See what holds the shoot back; the conditions of its MachineMigration say it.";
    OwnerRecordForeign, "owner-record-foreign",
        "The owner record of the shoot names another seed.",
        "Nothing here; the seed that it names goes on.";
    OwnerRecordUnknown, "owner-record-unknown",
        "The owner record of the shoot could not be looked up, which counts as not being the owner.",
        "See whether the DNS name can be resolved from the seed.";
    Complete, "complete",
        "Every Machine is migrated, every server labelled, and the Worker is marked.",
        "Nothing.";
    MarkTakenBack, "mark-taken-back",
        "The Worker was marked as done and a legacy Machine appeared, so the mark was taken off again.",
        "Nothing; the migration goes on.";
    RolledBack, "rolled-back",
        "The shoot was brought back to OpenStack: every Machine that came from there has its old ID again, and no server of them our labels.",
        "Nothing; Gardener may turn the classes now.";
    NothingToRollBack, "nothing-to-roll-back",
        "The namespace carries no guard, and no Machine an ID that would have to be written back.",
        "Nothing.";
    GuardNotRollingBack, "guard-not-rolling-back",
        "The namespace's guard is not `rolling-back`, so nothing old may be written into it.",
        "Run `mcm-migration-webhook rollback --namespace <namespace>`; it sets the guard when nothing speaks against it.";
    StackitMachinesRemain, "stackit-machines-remain",
        "A Machine was made by the STACKIT provider, or has no provider ID: the OpenStack provider could neither run nor delete its server.",
        "Make its pool smaller with this Machine first (`machinepriority.machine.sapcloud.io: \"1\"`) while the STACKIT machine-controller-manager still runs, or leave it behind by `--leave-behind` and `--yes-vm-stays`; its server then stays.";
    RollOutUnfinished, "roll-out-unfinished",
        "Machines have a class that no MachineDeployment names which the Worker wants: on the way back nobody turns such a class, and the OpenStack provider refuses to delete its Machines.",
        "Let the roll-out, or the removal of the pool, finish forward: with the Deployment STACKIT's, the guard `closed` and no pause; then begin the way back.";
    ClassLeftStackit, "class-left-stackit",
        "The shoot is back, but a MachineClass stayed `stackit` because a roll-out came together with the switch back; the OpenStack provider refuses to delete its Machines. No server is lost.",
        "Give the class `provider` and `providerSpec` of the new class of its pool; docs/rollback.md has the command.";
    StackitMcmDeployed, "stackit-mcm-deployed",
        "The pod template of the Deployment `machine-controller-manager` has a container of the STACKIT provider.",
        "Let Gardener switch the shoot back to OpenStack; it writes the Deployment first.";
    StackitMcmAlive, "stackit-mcm-alive",
        "A pod of the machine-controller-manager, terminating ones included, is not of the OpenStack provider alone.",
        "Wait until it has gone; if it hangs, look at its node.";
    OpenstackMcmMissing, "openstack-mcm-missing",
        "The pod template of the Deployment `machine-controller-manager` has no container of the OpenStack provider, or there is no Deployment.",
        "Let Gardener switch the shoot back to OpenStack; it writes the Deployment first.";
    PreviousIdUnknown, "previous-id-unknown",
        "Nothing says for certain which OpenStack ID a Machine had: its annotation is absent or malformed, and the region of its class has no single name in `--region-map` that agrees with the other Machines.",
        "Set the annotation `mcm-migration.stackit.cloud/previous-provider-id`, or name the region by `--region-map`, for example `RegionOne=eu01`.";
    PreviousIdMismatch, "previous-id-mismatch",
        "The OpenStack ID that would be written back names another server than the Machine's ID does now.",
        "Find out which server the Machine stands for and correct the annotation `mcm-migration.stackit.cloud/previous-provider-id`.";
    MachineAbsent, "machine-absent",
        "The export has a Machine that the namespace has not.",
        "Nothing; a Machine is never made of an export. See who deleted it, and what became of its server.";
    LeftToAdmission, "left-to-admission",
        "The export has a STACKIT ID, or the Worker's mark, where the object has none: only admission and the side task write these, when their gates let them.",
        "Close the guard again and let the shoot go forward; it gets them by itself.";
    NotRestored, "not-restored",
        "The export and the namespace differ in something that no restore ever writes: the guard's label, the pause, a MachineClass.",
        "Nothing, or change it by hand with what its own document says.";
    StillLabelled, "still-labelled",
        "The server of a Machine still carries a label of the STACKIT provider: with its old ID it would die as soon as that provider returns.",
        "Nothing; the labels are taken off first. If they come back, find out who sets them.";
    LabelDomainDiffers, "label-domain-differs",
        "The server of a Machine carries a class label under another domain than `--label-domain`; a STACKIT provider that knows that domain would delete the server once its Machine has its old ID.",
        "Run the command with the `--label-domain` of `serve`. A label that an older domain left over is taken off by `sweep --delete` before the way back, or by hand while no STACKIT machine-controller-manager lives.";
    ReadFailed, "read-failed",
        "The API server refused or did not answer a question that the step needs.",
        "Read the answer that is named with it, and run the command again.";
    WriteFailed, "write-failed",
        "The API server refused or lost a write that the step needs.",
        "Read the answer that is named with it, and run the command again.";
    NoFlip, "no-flip",
        "The write does not turn a MachineClass from `OpenStack` to `stackit`.",
        "Nothing.";
    MayFlip, "may-flip",
        "No OpenStack provider is left and each Machine of the MachineClass has a provider ID or needs none: the class may turn to `stackit`.",
        "Nothing.";
    MachinesUnsettled, "machines-unsettled",
        "A Machine of the MachineClass, terminating ones included, has neither a provider ID nor the annotation `mcm-migration.stackit.cloud/settled`; under `stackit` it would get a second server.",
        "Wait: the side task finds the Machine's server, or that there is none, and Gardener tries again by itself; a replica must run with the side task.";
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
