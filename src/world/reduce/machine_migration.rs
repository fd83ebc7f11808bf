use mcm_migration_core::decide::MigrationFacts;
use mcm_migration_core::domain::keys;

use super::metadata::or_default;
use super::{Fact, Metadata, View};

/// `MachineMigration` of `mcm-migration.stackit.cloud/v1alpha1`.
#[derive(serde::Deserialize)]
pub(super) struct MachineMigration {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

#[derive(Default, serde::Deserialize)]
struct Spec {
    #[serde(default, deserialize_with = "or_default")]
    paused: bool,
}

#[derive(Default, serde::Deserialize)]
struct Status {
    #[serde(default, deserialize_with = "or_default")]
    conditions: Vec<Condition>,
}

#[derive(serde::Deserialize)]
struct Condition {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    type_: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    status: Box<str>,
}

impl View for MachineMigration {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        // A CEL rule allows no other name; where the rule is not installed, one decides all the same.
        if &*self.metadata.name != keys::MACHINE_MIGRATION {
            return (self.metadata, None);
        }
        let holds = |type_: &str| {
            // Of two conditions of one type, which the schema forbids, both must hold.
            let mut of_type = self.status.conditions.iter().filter(|condition| &*condition.type_ == type_).peekable();
            of_type.peek().is_some() && of_type.all(|condition| &*condition.status == "True")
        };
        let facts = MigrationFacts {
            paused: self.spec.paused,
            paused_by_rollback: self.metadata.annotations.is_set(keys::PAUSED_BY_ROLLBACK),
            armed: holds("Armed"),
            labelled: holds("Labelled"),
        };
        (self.metadata, Some(Fact::Migration(facts)))
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use serde_json::{Value, json};

    fn facts(spec: &Value, conditions: &Value) -> MigrationFacts {
        let object = json!({
            "metadata": {"name": "openstack-to-stackit"}, "spec": spec, "status": {"phase": "Armed", "conditions": conditions},
        });
        match fact(Resource::MachineMigrations, &object) {
            Some(Fact::Migration(facts)) => facts,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_conditions_that_are_true_hold_and_the_phase_is_never_read() {
        let armed =
            facts(&json!({}), &json!([{"type": "Armed", "status": "True"}, {"type": "Labelled", "status": "False"}]));
        assert_eq!(armed, MigrationFacts { armed: true, ..MigrationFacts::default() });
        let labelled = facts(&json!({}), &json!([{"type": "Labelled", "status": "True"}]));
        assert_eq!(labelled, MigrationFacts { labelled: true, ..MigrationFacts::default() });
        for status in ["Unknown", "true", ""] {
            assert!(!facts(&json!({}), &json!([{"type": "Armed", "status": status}])).armed, "{status}");
        }
        assert!(!facts(&json!({}), &json!(null)).armed);
        let twice = json!([{"type": "Armed", "status": "True"}, {"type": "Armed", "status": "False"}]);
        assert!(!facts(&json!({}), &twice).armed);
    }

    #[test]
    fn the_brake_is_spec_paused() {
        assert!(facts(&json!({"paused": true}), &json!([])).paused);
        assert!(!facts(&json!({"paused": false}), &json!([])).paused);
        assert!(!facts(&json!({"paused": null}), &json!([])).paused);
    }

    #[test]
    fn a_pause_says_whether_a_rollback_has_set_it() {
        let paused = |annotations: Value| {
            let object = json!({
                "metadata": {"name": "openstack-to-stackit", "annotations": annotations}, "spec": {"paused": true},
            });
            match fact(Resource::MachineMigrations, &object) {
                Some(Fact::Migration(facts)) => (facts.paused_by_rollback, facts.is_held_by_an_operator()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(paused(json!({"mcm-migration.stackit.cloud/paused-by-rollback": "true"})), (true, false));
        assert_eq!(paused(json!({"mcm-migration.stackit.cloud/paused-by-rollback": ""})), (false, true));
        assert_eq!(paused(json!({})), (false, true));
    }

    #[test]
    fn one_of_another_name_does_not_decide() {
        let object =
            json!({"metadata": {"name": "other"}, "status": {"conditions": [{"type": "Armed", "status": "True"}]}});
        assert_eq!(fact(Resource::MachineMigrations, &object), None);
    }
}
