use mcm_migration_core::decide::NamespaceLabels;
use mcm_migration_core::domain::{GuardLabel, keys};

use super::{Fact, Metadata, View};

/// `Namespace` of `v1`.
#[derive(serde::Deserialize)]
pub(super) struct Namespace {
    metadata: Metadata,
}

impl View for Namespace {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let labels = NamespaceLabels {
            guard: self.metadata.labels.get(keys::GUARD).map(GuardLabel::of),
            terminating: self.metadata.terminating(),
        };
        (self.metadata, Some(Fact::Namespace(labels)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use serde_json::json;

    #[test]
    fn the_guard_is_the_label_of_the_namespace() {
        for (labels, guard) in [
            (json!({"mcm-migration.stackit.cloud/guard": "closed", "a": "b"}), Some(GuardLabel::Closed)),
            (json!({"mcm-migration.stackit.cloud/guard": "rolling-back"}), Some(GuardLabel::RollingBack)),
            (json!({"mcm-migration.stackit.cloud/guard": ""}), Some(GuardLabel::Unknown)),
            (json!({"mcm-migration.stackit.cloud/guard": null}), Some(GuardLabel::Unknown)),
            (json!({"guard": "closed"}), None),
            (json!(null), None),
        ] {
            let object = json!({"metadata": {"name": "a", "labels": labels}});
            let expected = NamespaceLabels { guard, terminating: false };
            assert_eq!(fact(Resource::Namespaces, &object), Some(Fact::Namespace(expected)), "{object}");
        }
    }

    #[test]
    fn an_annotation_of_the_label_s_name_is_no_guard() {
        let object = json!({"metadata": {"name": "a", "annotations": {"mcm-migration.stackit.cloud/guard": "closed"}}});
        assert_eq!(fact(Resource::Namespaces, &object), Some(Fact::Namespace(NamespaceLabels::default())));
    }

    #[test]
    fn a_terminating_one_is_told_by_its_time_stamp() {
        let object = json!({"metadata": {"name": "a", "deletionTimestamp": "2024-01-01T00:00:00Z"}});
        let expected = NamespaceLabels { guard: None, terminating: true };
        assert_eq!(fact(Resource::Namespaces, &object), Some(Fact::Namespace(expected)));
    }
}
