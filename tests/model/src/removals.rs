//! Which gate is taken out where, and what is expected of it.

use crate::config::Config;
use crate::configs;
use crate::gates::Gate::{self, *};

/// One experiment: these gates out, in this configuration.
#[derive(Debug, Clone, Copy)]
pub struct Removal {
    /// The gates.
    pub gates: &'static [Gate],
    /// The configuration.
    pub config: fn() -> Config,
    /// Whether a counterexample is expected; else another gate is known to hold, which this tells.
    pub held_by: Option<&'static str>,
}

const fn bites(gates: &'static [Gate], config: fn() -> Config) -> Removal {
    Removal { gates, config, held_by: None }
}

const fn held(gates: &'static [Gate], config: fn() -> Config, by: &'static str) -> Removal {
    Removal { gates, config, held_by: Some(by) }
}

/// Gates whose absence alone leads to harm, or to a broken promise.
pub const BITES: &[Removal] = &[
    bites(&[AdmissionGuard], configs::by_hand),
    bites(&[AdmissionArmed], configs::freeze),
    bites(&[AdmissionPaused], configs::pause),
    bites(&[AdmissionFresh], configs::pause),
    bites(&[AdmissionProject], configs::odd_project),
    bites(&[GuardClasses], configs::left_behind),
    bites(&[GuardTemplate], configs::rollback),
    bites(&[GuardPods], configs::pause_freeze),
    bites(&[Probe], configs::no_policies),
    bites(&[NodesBeforeArming], configs::freeze),
    bites(&[NodesBeforeSettling], configs::freeze),
    bites(&[NodesBeforeListing], configs::freeze_and_made),
    bites(&[NodesBeforeLabelling], configs::freeze),
    bites(&[Quarantine], configs::forward),
    bites(&[Evidence], configs::cut_without_election),
    bites(&[ReadBack], configs::forward),
    bites(&[NameCheck], configs::misnamed),
    bites(&[ForeignClass], configs::neighbour),
    bites(&[OwnershipGate], configs::moves),
    bites(&[OwnerRecord], configs::bad_case),
    bites(&[InflightTimeout], configs::forward),
    bites(&[SettlePods], configs::forward),
    bites(&[RetireWanted], configs::three),
    bites(&[GateForward], configs::forward),
    bites(&[ForwardPods], configs::churn),
    bites(&[ForwardSettled], configs::forward),
    bites(&[ForwardWaived], configs::rollback_left),
    bites(&[ForwardFresh], configs::back_and_made),
    bites(&[NoWayBack], configs::back_one),
    bites(&[KeepIds], configs::meddling),
    bites(&[KeepGuard], configs::meddling),
    bites(&[NoMixed], configs::moves_unswitched),
    bites(&[WorkerDone], configs::forward),
    bites(&[WorkerLabelled], configs::marker_taken),
    bites(&[BackStackitGone], configs::rollback),
    bites(&[BackNodes], configs::rollback_freeze_and_made),
    bites(&[BackLabels], configs::rollback),
    bites(&[BackQuarantine], configs::rollback),
];

/// Gates that bite only together with another, and what holds while that one is there.
pub const HELD: &[Removal] = &[
    held(&[AdmissionClasses], configs::left_behind, "the guard is not closed beside an OpenStack class"),
    bites(&[AdmissionClasses, GuardClasses], configs::left_behind),
    held(&[AdmissionTemplate], configs::by_hand_and_stays, "the guard is not closed"),
    held(&[AdmissionGuard], configs::by_hand_and_stays, "the Deployment has the OpenStack container"),
    bites(&[AdmissionTemplate, AdmissionGuard], configs::by_hand_and_stays),
    held(&[AdmissionPods], configs::pause, "the guard is not closed beside such a pod, and nothing is armed"),
    held(&[GuardPods], configs::pause, "admission looks for such a pod again"),
    bites(&[AdmissionPods, GuardPods], configs::pause),
    held(&[RetireSettled], configs::left_behind_in_flight, "retiring a class is a write that the gate forward sees"),
    held(&[ForwardSettled], configs::left_behind_in_flight, "the side task does not ask for it"),
    bites(&[RetireSettled, ForwardSettled], configs::left_behind_in_flight),
];
