//! Which steps may be possible in a state.

use crate::gates::Gate;
use crate::model::World;
use crate::state::{Class, MACHINES, MCMS, SEEDS, Stage, State, Template, Write};
use crate::step::Step;

impl World {
    /// Everything that could happen; what is not possible leaves the state as it is.
    #[must_use]
    pub fn candidates(&self, state: &State) -> Vec<Step> {
        let mut steps = Vec::with_capacity(64);
        if state.harm != 0 {
            return steps;
        }
        let budget = &state.budget;
        for s in (0..SEEDS as u8).filter(|s| state.seeds[usize::from(*s)].stage != Stage::Absent) {
            let seed = &state.seeds[usize::from(s)];
            self.of_writes(state, s, &mut steps);
            steps.extend([Step::PoliciesSee(s), Step::SetTemplate(s, Template::Stackit), Step::WorkerWritten(s)]);
            if budget.roll_outs > 0 {
                steps.push(Step::RollOut(s));
            }
            steps.push(Step::PoolMoves(s));
            if budget.template_back > 0 {
                steps.push(Step::SetTemplate(s, Template::OpenStack));
            }
            if budget.crashes > 0 {
                steps.push(Step::Crashes(s));
            }
            if self.config.start.budget.rollbacks > 0 {
                self.of_rollback(state, s, &mut steps);
            }
            if budget.pauses > 0 {
                steps.push(Step::Pauses(s));
            }
            steps.push(Step::Resumes(s));
            if budget.meddling > 0 {
                steps.push(Step::GuardRemoved(s));
            }
            for kind in 0..MCMS as u8 {
                steps.extend([
                    Step::PodStarts(s, kind),
                    Step::PodEnds(s, kind),
                    Step::PodForced(s, kind),
                    Step::Leads(s, kind),
                ]);
                if budget.freezes > 0 {
                    steps.push(Step::Freezes(s, kind));
                }
                steps.push(Step::Wakes(s, kind));
                if budget.cuts > 0 {
                    steps.push(Step::CutOff(s, kind));
                }
                steps.push(Step::Restarts(s, kind));
            }
            for c in (0..seed.classes.len() as u8).filter(|c| seed.classes[usize::from(*c)] != Class::Absent) {
                steps.extend([Step::ClassForward(s, c), Step::ClassGoes(s, c)]);
                if budget.class_back > 0 {
                    steps.push(Step::ClassBack(s, c));
                }
            }
            for m in 0..MACHINES as u8 {
                if budget.creates > 0 {
                    steps.push(Step::MachineMade(s, m));
                }
                // Of one that there has never been nobody knows anything.
                if state.ever & (1 << m) == 0 {
                    continue;
                }
                if budget.deletes > 0 {
                    steps.push(Step::MachineDeleted(s, m));
                }
                steps.push(Step::MachineWritten(s, m));
                steps.extend([Step::PosAsks(s, m), Step::PosFinds(s, m), Step::PosDeletes(s, m)]);
                steps.extend([Step::PstCreates(s, m), Step::PstDeletes(s, m)]);
                if self.config.sweeps {
                    steps.extend([Step::PosSweeps(s, m), Step::PstSweeps(s, m)]);
                }
                if budget.meddling > 0 {
                    steps.push(Step::OldIdWritten(s, m));
                }
                if budget.meddling > 0 && self.config.takes_marker {
                    steps.push(Step::MarkerTaken(s, m));
                }
            }
        }
        for m in 0..MACHINES as u8 {
            steps.push(Step::ServerAppears(m));
            if self.config.neighbour {
                steps.push(Step::NeighbourSweeps(m));
            }
        }
        if self.config.start.budget.moves > 0 {
            steps.extend([Step::RecordMoves, Step::Leaves, Step::Persists, Step::Arrives, Step::RestoreEnds]);
            for m in 0..MACHINES as u8 {
                steps.extend([Step::LeftBehind(m), Step::Restored(m)]);
            }
        }
        steps.push(Step::Tick);
        steps
    }

    pub(crate) fn of_rollback(&self, state: &State, s: u8, steps: &mut Vec<Step>) {
        let seed = &state.seeds[usize::from(s)];
        if !seed.goes_back {
            steps.push(Step::RollbackStarts(s));
        } else if seed.back_sent != Write::None {
            steps.extend([Step::BackLands(s), Step::RollbackKilled(s)]);
        } else {
            let wish = self.back_wish(state, usize::from(s));
            steps.extend(wish.writes.iter().map(|write| Step::BackSends(s, *write)));
            steps.extend([Step::RollbackKilled(s), Step::RollbackEnds(s)]);
        }
    }

    pub(crate) fn of_writes(&self, state: &State, s: u8, steps: &mut Vec<Step>) {
        let seed = &state.seeds[usize::from(s)];
        if seed.left != Write::None {
            steps.push(Step::LeftLands(s));
        }
        if seed.sent != Write::None {
            steps.push(Step::Lands(s));
            return;
        }
        self.sends(state, s, steps);
    }

    /// What the leader of a seed may send now.
    pub fn sends(&self, state: &State, s: u8, steps: &mut Vec<Step>) {
        let fenced = self.config.owner_record && !self.out.has(Gate::OwnerRecord) && (state.record != 0) == (s == 0);
        if !fenced && state.seeds[usize::from(s)].stage != Stage::Absent {
            steps.extend(self.wish(state, usize::from(s)).writes.iter().map(|write| Step::Send(s, *write)));
        }
    }
}
