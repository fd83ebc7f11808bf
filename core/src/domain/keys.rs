//! Annotation keys, label keys and names, as Gardener, the machine-controller-manager and its STACKIT
//! provider write them.

/// Machine: it came from OpenStack. Load-bearing for the Machine's whole life: STACKIT provider versions
/// after v0.6.0 delete the separately created NIC and volume only when it is there. Never removed.
pub const MIGRATED_MACHINE: &str = "stackit.cloud/migrated-machine";

/// Machine: "the marker". Present from the rewrite (or the request for one) until the server's labels are
/// confirmed.
pub const MACHINE_SHOULD_BE_MIGRATED: &str = "stackit.cloud/machine-should-be-migrated";

/// Worker: every Machine of its namespace is done.
pub const WORKER_MIGRATED: &str = "stackit.cloud/machine-controller-manager-migrated";

/// Machine: the provider ID that the rewrite replaced, kept for the way back.
pub const PREVIOUS_PROVIDER_ID: &str = "mcm-migration.stackit.cloud/previous-provider-id";

/// Machine: it had no provider ID at the switch, and no server of its name exists.
pub const SETTLED: &str = "mcm-migration.stackit.cloud/settled";

/// Machine: it no longer holds up the Worker, for the reason that the value names.
pub const EXCEPTION: &str = "mcm-migration.stackit.cloud/exception";

/// Namespace: the guard. Values: see [`crate::domain::GuardLabel`].
pub const GUARD: &str = "mcm-migration.stackit.cloud/guard";

/// Namespace: the `resourceVersion` that the write names which takes [`GUARD`] off; the policy `keep-guard` asks for it in that very write. What is left
/// of it afterwards says nothing.
pub const GUARD_OFF: &str = "mcm-migration.stackit.cloud/guard-off";

/// MachineMigration: a rollback has paused it, and lifts the pause when it is through. Without it the pause is an operator's own.
pub const PAUSED_BY_ROLLBACK: &str = "mcm-migration.stackit.cloud/paused-by-rollback";

/// Label of a network interface or volume that the OpenStack provider made apart for a server: the Machine's name.
///
/// The three labels of such a part are this program's own, so they prove that it put them. They have no `/`, which the API documents no key with,
/// and no domain, for those of `stackit.cloud` are reserved (iaas v2, `Labels`). No provider, cloud controller or storage driver selects by them.
pub const PART_MACHINE: &str = "mcm-migration-machine";

/// Beside [`PART_MACHINE`]: the shoot's namespace, its technical ID, which is the same in every seed.
pub const PART_SHOOT: &str = "mcm-migration-shoot";

/// Beside [`PART_MACHINE`]: the ID of the server that it was attached to.
pub const PART_SERVER: &str = "mcm-migration-server";

/// Worker: what Gardener's extension controller is asked to do
/// (gardener/gardener `pkg/apis/core/v1beta1/constants`).
pub const GARDENER_OPERATION: &str = "gardener.cloud/operation";

/// Pod: the label that the pods of the machine-controller-manager carry in a shoot namespace.
pub const MCM_POD_ROLE: (&str, &str) = ("role", "machine-controller-manager");

/// The Deployment of the machine-controller-manager in a shoot namespace.
pub const MCM_DEPLOYMENT: &str = "machine-controller-manager";

/// The Secret of a shoot namespace that names the STACKIT project.
pub const CLOUDPROVIDER_SECRET: &str = "cloudprovider";

/// The only key of [`CLOUDPROVIDER_SECRET`] that is ever kept in memory.
pub const PROJECT_ID: &str = "project-id";

/// The one name a `MachineMigration` may have.
pub const MACHINE_MIGRATION: &str = "openstack-to-stackit";

/// The value of the annotations that are set: `"true"`.
pub const TRUE: &str = "true";
