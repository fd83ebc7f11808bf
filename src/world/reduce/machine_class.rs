use mcm_migration_core::domain::Provider;

use super::metadata::or_default;
use super::{Fact, Metadata, View};

/// `MachineClass` of `machine.sapcloud.io/v1alpha1`. It has no `spec`: `provider` stands at the top.
#[derive(serde::Deserialize)]
pub(super) struct MachineClass {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    provider: Box<str>,
}

impl View for MachineClass {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        (self.metadata, Some(Fact::Class(Provider::of(&self.provider))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use serde_json::json;

    #[test]
    fn the_provider_stands_at_the_top() {
        for (object, provider) in [
            (
                json!({"metadata": {"name": "a"}, "provider": "stackit", "providerSpec": {"provider": "x"}}),
                Provider::Stackit,
            ),
            (json!({"metadata": {"name": "a"}, "provider": "OpenStack"}), Provider::OpenStack),
            (json!({"metadata": {"name": "a"}, "spec": {"provider": "stackit"}}), Provider::Other),
        ] {
            assert_eq!(fact(Resource::MachineClasses, &object), Some(Fact::Class(provider)), "{object}");
        }
    }
}
