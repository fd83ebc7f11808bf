//! How a shoot moves from seed to seed.

use crate::admission::no_mixed;
use crate::memory::HORIZON;
use crate::model::World;
use crate::state::{Class, Id, MACHINES, Machine, NO_POOL, Process, Seed, Shown, Stage, State, TERMINATING, Template};
use crate::step::Step;

impl World {
    pub(crate) fn moves(&self, state: &mut State, step: Step) {
        let (bad, arrived) = (self.config.bad_case, state.seeds[1].stage != Stage::Absent);
        let first = &mut state.seeds[0];
        let in_flight = first.machines.iter().any(|machine| machine.id == Id::Empty);
        let no_pods = first.mcms.iter().all(|mcm| mcm.shown == Shown::Gone);
        match step {
            Step::RecordMoves if bad && state.record == 0 && state.budget.moves > 0 => {
                state.record = 1;
                if !self.config.source_mcm_lives {
                    for mcm in &mut first.mcms {
                        (mcm.shown, mcm.process) = (Shown::Gone, Process::Off);
                    }
                }
            }
            // With a Machine in flight the move is another hazard, which nobody here can end; see the limits.
            Step::Leaves
                if !bad
                    && state.budget.moves > 0
                    && first.stage == Stage::Ours
                    && (self.config.leaves_in_flight || !in_flight) =>
            {
                state.budget.moves -= 1;
                (first.stage, first.template) = (Stage::Leaving, Template::None);
                for mcm in first.mcms.iter_mut().filter(|mcm| mcm.shown == Shown::Here) {
                    mcm.shown = Shown::Leaving;
                }
            }
            Step::Persists if !bad && first.stage == Stage::Leaving && no_pods => {
                first.stage = Stage::Persisted;
                state.carried = first.machines;
            }
            Step::Persists if bad && state.record != 0 && state.budget.moves > 0 => {
                state.budget.moves -= 1;
                state.carried = first.machines;
            }
            Step::Arrives if !arrived => {
                let here = if bad {
                    state.budget.moves == 0 && (!self.config.owner_record || state.record == 2)
                } else {
                    first.stage == Stage::Persisted && first.machines.iter().all(|machine| !machine.exists())
                };
                if here {
                    self.arrives(state);
                }
            }
            Step::RestoreEnds => {
                let (second, carried) = (&state.seeds[1], &state.carried);
                let all = (0..MACHINES).all(|m| second.machines[m].exists() || !carried[m].exists());
                if second.stage == Stage::Restoring && all && second.mcms.iter().any(|mcm| mcm.shown == Shown::Here) {
                    state.seeds[1].stage = Stage::Ours;
                }
            }
            _ => {}
        }
    }

    pub(crate) fn arrives(&self, state: &mut State) {
        let (class, template) = if self.config.second_seed_switched {
            (Class::Stackit, Template::Stackit)
        } else {
            (Class::OpenStack, Template::OpenStack)
        };
        let first = state.seeds[0];
        let second = &mut state.seeds[1];
        *second = Seed { stage: Stage::Restoring, template, pools: first.pools, ..Seed::default() };
        for mcm in &mut second.mcms {
            mcm.node = HORIZON;
        }
        for pool in first.pools.iter().filter(|pool| **pool != NO_POOL) {
            second.classes[usize::from(*pool)] = class;
        }
    }

    pub(crate) fn moves_machine(&self, state: &mut State, step: Step, m: usize) {
        match step {
            Step::LeftBehind(_) if state.seeds[0].stage == Stage::Persisted => {
                state.seeds[0].machines[m] = Machine::default();
            }
            Step::Restored(_) if state.seeds[1].stage == Stage::Restoring => {
                let carried = state.carried[m];
                if !state.seeds[1].machines[m].exists()
                    && carried.exists()
                    && !no_mixed(&self.config, &state.seeds[1], carried, self.out)
                {
                    state.seeds[1].machines[m] = Machine { flags: carried.flags & !TERMINATING, ..carried };
                    state.carried[m] = Machine::default();
                }
            }
            _ => {}
        }
    }
}
