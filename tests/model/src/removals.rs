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
    bites(&[AdmissionArmed], configs::freeze),
    bites(&[AdmissionPaused], configs::pause),
    bites(&[AdmissionFresh], configs::pause),
    bites(&[AdmissionProject], configs::odd_project),
    bites(&[GuardClasses], configs::left_behind),
    bites(&[Probe], configs::no_policies),
    bites(&[NodesBeforeArming], configs::freeze),
    bites(&[NodesBeforeSettling], configs::freeze),
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
    bites(&[GateForward], configs::forward),
    bites(&[ForwardPods], configs::churn),
    bites(&[ForwardSettled], configs::forward),
    bites(&[ForwardFresh], configs::back_and_made),
    bites(&[NoWayBack], configs::back_one),
    bites(&[KeepIds], configs::meddling),
    bites(&[KeepGuard], configs::meddling),
    bites(&[NoMixed], configs::moves_unswitched),
    bites(&[WorkerDone], configs::forward),
    bites(&[BackStackitGone], configs::rollback),
    bites(&[BackLabels], configs::rollback),
    bites(&[BackQuarantine], configs::rollback),
];

/// Gates whose absence alone the others make up for, and with which of them it does not.
pub const HELD: &[Removal] = &[
    held(&[AdmissionGuard], configs::meddling, "nothing is armed without the guard, and keep-guard keeps it"),
    held(
        &[AdmissionClasses],
        configs::left_behind,
        "the guard is not closed beside an OpenStack class; see both out, below",
    ),
    bites(&[AdmissionClasses, GuardClasses], configs::left_behind),
    held(
        &[AdmissionTemplate],
        configs::back_one,
        "without an OpenStack class, which no-way-back refuses, an OpenStack MCM does nothing",
    ),
    held(&[AdmissionPods], configs::back_one, "the same"),
    held(&[GuardTemplate], configs::back_one, "the same"),
    held(&[GuardPods], configs::back_one, "the gate forward lets no class turn while there is such a pod"),
    held(
        &[RetireSettled],
        configs::left_behind_in_flight,
        "retiring a class is a write that the gate forward sees; see both out, below",
    ),
    held(&[ForwardSettled], configs::left_behind_in_flight, "the side task does not ask for it; see both out, below"),
    bites(&[RetireSettled, ForwardSettled], configs::left_behind_in_flight),
    held(
        &[RetireWanted],
        configs::roll_out_in_flight,
        "it keeps Gardener's own switch from being anticipated, which costs no server here",
    ),
    held(&[WorkerLabelled], configs::forward, "the marker, which goes only when every label is there"),
    held(
        &[BackNodes],
        configs::rollback_freeze,
        "labelling asks for the Nodes as well, so that no label is under way while one of them hangs",
    ),
];
