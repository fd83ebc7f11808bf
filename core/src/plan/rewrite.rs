//! The steps *guard*, *arm* and *touch*.

use crate::decide::{Because, Known, open_for_rewrite};
use crate::domain::{GuardLabel, ProviderId, Reason};

use super::{
    Action, Kind, Moment, Plan, Proof, Settings, Shoot, every_node_ready_long_enough, guard_steps, needs_arming,
    qualifies_for_guard,
};

pub(super) fn plan(shoot: &Shoot<'_>, now: Moment, settings: &Settings, plan: &mut Plan) {
    let closed = shoot.facts.guard() == Some(GuardLabel::Closed);
    match qualifies_for_guard(shoot.facts) {
        Err(reasons) => {
            // What never migrates is no concern; what is on its way says what it waits for.
            let concern = closed || !reasons.iter().any(|because| because.reason == Reason::NothingToMigrate);
            if concern {
                for because in reasons {
                    plan.wait(Kind::Shoot, "", because);
                }
            }
            if closed && *shoot.proof == Proof::Unasked {
                plan.act(Action::Probe);
            }
        }
        Ok(_) if !guard_steps(shoot.facts).is_empty() => plan.act(Action::CloseGuard),
        Ok(_) => arm(shoot, now, settings, plan),
    }
    let back = match shoot.proof {
        Proof::Fails(because) => {
            plan.wait(Kind::Shoot, "", because.clone());
            Some(because.clone())
        }
        // Once it is gone again, the Nodes are asked again before anything is rewritten.
        Proof::Unasked | Proof::Holds => shoot.facts.openstack_remains().next(),
    };
    let armed = shoot.facts.migration.is_some_and(|migration| migration.armed);
    if let Some(because) = back.filter(|_| armed) {
        plan.act(Action::Disarm { because });
    }
    touch(shoot, settings, plan);
}

fn arm(shoot: &Shoot<'_>, now: Moment, settings: &Settings, plan: &mut Plan) {
    match shoot.proof {
        Proof::Unasked => plan.act(Action::Probe),
        Proof::Fails(_) => {}
        Proof::Holds => {
            let armed = shoot.facts.migration.is_some_and(|migration| migration.armed);
            if armed || !needs_arming(shoot.facts) {
                return;
            }
            let (Some(gone), Some(nodes)) = (shoot.seen.other_gone(), shoot.nodes) else {
                plan.wait(Kind::Shoot, "", Because::about(Reason::SeedNodeLost, "not listed yet"));
                return;
            };
            match every_node_ready_long_enough(nodes, gone, now, &settings.nodes) {
                Ok(()) => plan.act(Action::Arm),
                Err(not_yet) => {
                    if let super::NodesNotYet::Wait { left, .. } = &not_yet {
                        plan.again_in(*left);
                    }
                    plan.wait(Kind::Shoot, "", not_yet.because());
                }
            }
        }
    }
}

/// Machines with a legacy ID, terminating ones first: they cannot go before they are rewritten.
fn touch(shoot: &Shoot<'_>, settings: &Settings, plan: &mut Plan) {
    let mut legacy: Vec<_> = shoot.facts.machines.iter().filter(|(_, machine)| machine.is_legacy()).collect();
    legacy.sort_by_key(|(name, machine)| (!machine.terminating, (*name).clone()));
    for (name, machine) in legacy {
        let because = if !matches!(ProviderId::of(&machine.provider_id), ProviderId::Legacy(_)) {
            Because::about(Reason::ProviderIdMalformed, &*machine.provider_id)
        } else if let Err(because) = open_for_rewrite(&machine.class, Known::Fresh(shoot.facts)) {
            because
        } else if !settings.touch {
            Because::of(Reason::TouchOff)
        } else {
            match shoot.proof {
                Proof::Fails(because) => because.clone(),
                // The guard is probed first, in this pass.
                Proof::Unasked => Because::of(Reason::RewritePending),
                Proof::Holds => {
                    plan.act(Action::Touch { machine: name.clone() });
                    Because::of(Reason::RewritePending)
                }
            }
        };
        plan.wait(Kind::Machine, name, because);
    }
}
