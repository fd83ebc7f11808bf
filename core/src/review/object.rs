use super::lenient::{Count, Text, view};
use crate::domain::keys;

view! {
    /// A Machine, a Worker or a MachineClass, as far as it decides.
    pub struct Object {
        /// `apiVersion`.
        api_version: Text<'a> = "apiVersion",
        /// `kind`.
        kind: Text<'a> = "kind",
        /// MachineClass: `provider`, which stands at the top.
        provider: Text<'a> = "provider",
        /// `metadata`.
        metadata: Metadata<'a> = "metadata",
        /// `spec`.
        spec: Spec<'a> = "spec",
        /// `status`.
        status: Status<'a> = "status",
    }
}

view! {
    /// The object before the write, as far as it decides.
    pub struct OldObject {
        /// MachineClass: `provider`.
        provider: Text<'a> = "provider",
    }
}

view! {
    /// `metadata`.
    pub struct Metadata {
        /// `name`; empty when the API server is still to make one from `generateName`.
        name: Text<'a> = "name",
        /// `generateName`.
        generate_name: Text<'a> = "generateName",
        /// `namespace`; may be empty where the request's own is not.
        namespace: Text<'a> = "namespace",
        /// `deletionTimestamp`.
        deletion_timestamp: Text<'a> = "deletionTimestamp",
        /// `finalizers`.
        finalizers: Count = "finalizers",
        /// `annotations`.
        annotations: Annotations<'a> = "annotations",
    }
}

view! {
    /// `metadata.annotations`: the keys that decide, for both kinds.
    pub struct Annotations {
        /// [`keys::MIGRATED_MACHINE`].
        migrated_machine: Text<'a> = keys::MIGRATED_MACHINE,
        /// [`keys::MACHINE_SHOULD_BE_MIGRATED`].
        machine_should_be_migrated: Text<'a> = keys::MACHINE_SHOULD_BE_MIGRATED,
        /// [`keys::PREVIOUS_PROVIDER_ID`].
        previous_provider_id: Text<'a> = keys::PREVIOUS_PROVIDER_ID,
        /// [`keys::WORKER_MIGRATED`].
        worker_migrated: Text<'a> = keys::WORKER_MIGRATED,
        /// [`keys::GARDENER_OPERATION`].
        gardener_operation: Text<'a> = keys::GARDENER_OPERATION,
    }
}

view! {
    /// `spec`, of both kinds.
    pub struct Spec {
        /// Machine: `providerID`. The one of `nodeTemplate` is not ours.
        provider_id: Text<'a> = "providerID",
        /// Machine: `class`.
        class: ClassReference<'a> = "class",
        /// Worker: `type`.
        type_: Text<'a> = "type",
    }
}

view! {
    /// Machine: `spec.class`.
    pub struct ClassReference {
        /// `name`: the MachineClass, in the same namespace.
        name: Text<'a> = "name",
    }
}

view! {
    /// `status`.
    pub struct Status {
        /// Worker: `lastOperation`.
        last_operation: LastOperation<'a> = "lastOperation",
    }
}

view! {
    /// Worker: `status.lastOperation`.
    pub struct LastOperation {
        /// `type`: `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
        type_: Text<'a> = "type",
        /// `state`: `Processing`, `Succeeded`, `Error`, `Failed`, `Pending`, `Aborted`.
        state: Text<'a> = "state",
    }
}
