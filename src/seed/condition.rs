//! Conditions of a MachineMigration, and the patch of its status that carries them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::Say;
use serde_json::{Value, json};

use crate::world::{MachineCounts, MachineException, MachineMigration, Phase};

/// What else the status shows, beside its conditions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    /// How far the shoot is.
    pub(crate) phase: Phase,
    /// What it waits for.
    pub(crate) reason: Option<Reason>,
    /// How many Machines are where.
    pub(crate) machines: MachineCounts,
    /// The first Machines that are excepted.
    pub(crate) exceptions: Vec<MachineException>,
}

/// The merge patch that makes `migration` say so, and only if it is still the one that was read; none when it does already.
///
/// Conditions of others stay as they are; a list is replaced as a whole, so all of them are in the patch.
///
/// Without `shown` phase and reason follow the conditions, and the counts stay as they are.
pub(crate) fn status_patch(
    migration: &MachineMigration,
    say: &[Say],
    shown: Option<&Shown>,
    now: Timestamp,
) -> Option<Value> {
    let status = migration.status.clone().unwrap_or_default();
    let generation = migration.metadata.generation;
    let mut conditions = status.conditions.clone();
    for say in say {
        set(&mut conditions, say, generation, now);
    }
    let mut patch = json!({"metadata": {"resourceVersion": migration.metadata.resource_version}});
    if let Some(Shown { phase, reason, machines, exceptions }) = shown {
        let reason = reason.map(Reason::camel_case);
        let same =
            status.phase == Some(*phase) && status.reason.as_deref() == reason && status.exceptions == *exceptions;
        if same && conditions == status.conditions && status.machines.as_ref() == Some(machines) {
            return None;
        }
        let machines = counts(machines, status.machines.as_ref());
        // A list is replaced as a whole; an empty one goes.
        let exceptions = (!exceptions.is_empty()).then_some(exceptions);
        patch["status"] = json!({
            "conditions": conditions, "phase": phase, "reason": reason, "machines": machines, "exceptions": exceptions,
        });
    } else {
        let phase = phase(status.phase, &conditions);
        if conditions == status.conditions && status.phase == Some(phase) {
            return None;
        }
        patch["status"] = json!({"conditions": conditions, "phase": phase, "reason": waits_for(&conditions)});
    }
    Some(patch)
}

/// The counts; a reason that nothing waits for any more is taken out, since a merge patch keeps what it does not name.
fn counts(new: &MachineCounts, old: Option<&MachineCounts>) -> Value {
    let mut counts = json!(new);
    for gone in old.into_iter().flat_map(|old| old.waiting.keys()).filter(|reason| !new.waiting.contains_key(*reason)) {
        counts["waiting"][gone] = Value::Null;
    }
    counts
}

/// For display: the reason of the first of the two that does not hold; none when both do.
fn waits_for(conditions: &[Condition]) -> Option<&str> {
    let of = |type_: &str| conditions.iter().find(|condition| condition.type_ == type_ && condition.status != "True");
    of("Guarded").or_else(|| of("Armed")).map(|condition| condition.reason.as_str())
}

fn set(conditions: &mut Vec<Condition>, say: &Say, generation: Option<i64>, now: Timestamp) {
    let mut new = Condition {
        type_: say.type_.to_owned(),
        status: if say.holds { "True" } else { "False" }.to_owned(),
        reason: say.reason.camel_case().to_owned(),
        message: say.message.clone(),
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    match conditions.iter_mut().find(|condition| condition.type_ == say.type_) {
        None => conditions.push(new),
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
    }
}

/// For display: what is further on was reached by way of these two, and stays while they hold.
fn phase(before: Option<Phase>, conditions: &[Condition]) -> Phase {
    let holds = |type_: &str| conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True");
    match before {
        Some(further @ (Phase::Rewritten | Phase::Labelled | Phase::Complete)) if holds("Guarded") => further,
        _ if holds("Guarded") && holds("Armed") => Phase::Armed,
        _ if holds("Guarded") => Phase::Guarded,
        _ => Phase::Pending,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::world::MachineMigrationSpec;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn migration() -> MachineMigration {
        let mut migration = MachineMigration::new("openstack-to-stackit", MachineMigrationSpec::default());
        migration.metadata.resource_version = Some("7".to_owned());
        migration.metadata.generation = Some(3);
        migration
    }

    /// What the API server makes of a merge patch.
    fn after(migration: &MachineMigration, patch: &Value) -> MachineMigration {
        let mut object = serde_json::to_value(migration).unwrap();
        json_patch::merge(&mut object, patch);
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_condition_says_since_when_it_is_so_and_of_which_generation() {
        let first =
            status_patch(&migration(), &[Say::armed(false, Reason::NotArmed, "not yet")], None, at(10)).unwrap();
        assert_eq!(first["metadata"]["resourceVersion"], "7");
        let guarded = after(&migration(), &first);
        let other = [Say::armed(false, Reason::SeedNodeLost, "node-a")];
        let second = after(&guarded, &status_patch(&guarded, &other, None, at(20)).unwrap());
        let condition = &second.status.as_ref().unwrap().conditions[0];
        assert_eq!((condition.last_transition_time.0, condition.observed_generation), (at(10), Some(3)));
        assert_eq!(condition.reason, "SeedNodeLost");
        assert_eq!(second.status.as_ref().unwrap().reason.as_deref(), Some("SeedNodeLost"));
        let third =
            after(&second, &status_patch(&second, &[Say::armed(true, Reason::Armed, "")], None, at(30)).unwrap());
        let status = third.status.unwrap();
        assert_eq!((status.conditions[0].last_transition_time.0, status.reason), (at(30), None));
    }

    #[test]
    fn what_is_so_already_is_not_written_again() {
        let say = [Say::guarded(true, Reason::Guarded, "proved"), Say::armed(true, Reason::Armed, "armed")];
        let armed = after(&migration(), &status_patch(&migration(), &say, None, at(10)).unwrap());
        assert_eq!(status_patch(&armed, &say, None, at(99)), None);
    }

    #[test]
    fn foreign_conditions_stay() {
        let mut before = migration();
        let foreign: Condition = serde_json::from_value(json!({
            "type": "Weather", "status": "Unknown", "reason": "Fog", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        before.status = Some(crate::world::MachineMigrationStatus {
            conditions: vec![foreign.clone()],
            ..crate::world::MachineMigrationStatus::default()
        });
        let patch = status_patch(&before, &[Say::armed(false, Reason::NotArmed, "")], None, at(10)).unwrap();
        assert!(after(&before, &patch).status.unwrap().conditions.contains(&foreign));
    }

    #[test]
    fn the_phase_follows_the_conditions_and_keeps_what_is_further() {
        let phase_after = |before, guarded, armed| {
            let mut migration = migration();
            migration.status = Some(crate::world::MachineMigrationStatus {
                phase: before,
                ..crate::world::MachineMigrationStatus::default()
            });
            let say = [Say::guarded(guarded, Reason::Guarded, ""), Say::armed(armed, Reason::Armed, "")];
            after(&migration, &status_patch(&migration, &say, None, at(1)).unwrap()).status.unwrap().phase
        };
        assert_eq!(phase_after(None, false, false), Some(Phase::Pending));
        assert_eq!(phase_after(None, true, false), Some(Phase::Guarded));
        assert_eq!(phase_after(Some(Phase::Guarded), true, true), Some(Phase::Armed));
        assert_eq!(phase_after(Some(Phase::Complete), true, true), Some(Phase::Complete));
        assert_eq!(phase_after(Some(Phase::Complete), false, true), Some(Phase::Pending));
        assert_eq!(phase_after(Some(Phase::RollingBack), true, false), Some(Phase::Guarded));
    }
}
