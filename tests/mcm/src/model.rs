//! A Machine and a MachineClass, as far as the stand-in reads them.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use rig::shoot::Provider;
use serde_json::Value;

/// The finalizer that MCM holds a Machine with.
pub(crate) const FINALIZER: &str = "machine.sapcloud.io/machine-controller-manager";

pub(crate) fn resource(kind: &str) -> ApiResource {
    let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk("machine.sapcloud.io", "v1alpha1", kind));
    if kind == "MachineClass" {
        // Not what English makes of it.
        "machineclasses".clone_into(&mut resource.plural);
    }
    resource
}

/// Something that is known by its name.
pub(crate) trait Named: Clone + Send + Sync + 'static {
    const KIND: &str;
    fn read(object: &DynamicObject) -> Self;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) provider_id: String,
    pub(crate) phase: String,
    pub(crate) class: String,
    pub(crate) terminating: bool,
    pub(crate) finalizers: Vec<String>,
}

impl Machine {
    /// The last segment of its ID, which is the server's.
    pub(crate) fn server(&self) -> Option<&str> {
        self.provider_id.rsplit('/').next().filter(|id| !id.is_empty())
    }
}

impl Named for Machine {
    const KIND: &str = "Machine";

    fn read(object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            provider_id: text(&object.data, "/spec/providerID"),
            phase: text(&object.data, "/status/currentStatus/phase"),
            class: text(&object.data, "/spec/class/name"),
            terminating: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.clone().unwrap_or_default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) provider: String,
    pub(crate) spec: Value,
}

impl Class {
    pub(crate) fn is_for(&self, provider: Provider) -> bool {
        self.provider == provider.class_value()
    }

    /// A text of `providerSpec`; empty if there is none.
    pub(crate) fn text(&self, pointer: &str) -> String {
        text(&self.spec, pointer)
    }
}

impl Named for Class {
    const KIND: &str = "MachineClass";

    fn read(object: &DynamicObject) -> Self {
        Self {
            name: object.metadata.name.clone().unwrap_or_default(),
            provider: text(&object.data, "/provider"),
            spec: object.data.get("providerSpec").cloned().unwrap_or_default(),
        }
    }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
