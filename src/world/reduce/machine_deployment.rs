use super::machine::ClassReference;
use super::metadata::or_default;
use super::{Fact, Metadata, View};

/// `MachineDeployment` of `machine.sapcloud.io/v1alpha1`.
#[derive(serde::Deserialize)]
pub(super) struct MachineDeployment {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
}

#[derive(Default, serde::Deserialize)]
struct Spec {
    #[serde(default, deserialize_with = "or_default")]
    template: Template,
}

#[derive(Default, serde::Deserialize)]
struct Template {
    #[serde(default, deserialize_with = "or_default")]
    spec: MachineSpec,
}

#[derive(Default, serde::Deserialize)]
struct MachineSpec {
    #[serde(default, deserialize_with = "or_default")]
    class: ClassReference,
}

impl View for MachineDeployment {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        (self.metadata, Some(Fact::MachineDeployment(self.spec.template.spec.class.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use serde_json::json;

    #[test]
    fn the_class_is_the_one_of_the_template() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"template": {"spec": {"class": {"name": "c"}}}}});
        assert_eq!(fact(Resource::MachineDeployments, &object), Some(Fact::MachineDeployment("c".into())));
    }
}
