//! What becomes of pods, their processes and their Nodes.

use crate::model::World;
use crate::state::{NOT_READY, POS, PST, Process, Shown, Stage, State, Template};
use crate::step::Step;

impl World {
    /// What a step makes of a pod, its process or its Node.
    pub(crate) fn apply_to_pod(&self, state: &mut State, step: Step) {
        let config = &self.config;
        match step {
            Step::PodStarts(s, kind) => {
                let seed = &mut state.seeds[usize::from(s)];
                let right = (kind == POS as u8 && seed.template == Template::OpenStack)
                    || (kind == PST as u8 && seed.template == Template::Stackit);
                let dead = config.bad_case && !config.source_mcm_lives && s == 0 && state.record != 0;
                let restored =
                    !dead && (seed.stage != Stage::Restoring || state.carried.iter().all(|machine| !machine.exists()));
                let mcm = &mut seed.mcms[usize::from(kind)];
                if right && restored && mcm.shown == Shown::Gone && mcm.process == Process::Off {
                    (mcm.shown, mcm.restarts) = (Shown::Here, 0);
                    mcm.uid += 1;
                }
            }
            Step::Leads(s, kind) => {
                let seed = &mut state.seeds[usize::from(s)];
                let other = seed.mcms[usize::from(1 - kind)].process;
                let mcm = &mut seed.mcms[usize::from(kind)];
                // The Lease of one that is frozen runs out.
                if mcm.shown == Shown::Here
                    && mcm.process == Process::Off
                    && matches!(other, Process::Off | Process::Frozen)
                {
                    mcm.process = Process::On;
                }
            }
            Step::PodEnds(s, kind) => {
                let mcm = &mut state.seeds[usize::from(s)].mcms[usize::from(kind)];
                if mcm.shown == Shown::Leaving && mcm.process != Process::Frozen {
                    (mcm.shown, mcm.process) = (Shown::Gone, Process::Off);
                }
            }
            Step::PodForced(s, kind) => {
                let mcm = &mut state.seeds[usize::from(s)].mcms[usize::from(kind)];
                if mcm.shown == Shown::Leaving && mcm.process == Process::Frozen && mcm.node == NOT_READY {
                    mcm.shown = Shown::Gone;
                }
            }
            Step::Freezes(s, kind) => {
                let mcm = &mut state.seeds[usize::from(s)].mcms[usize::from(kind)];
                if state.budget.freezes > 0 && mcm.process == Process::On {
                    state.budget.freezes -= 1;
                    mcm.process = Process::Frozen;
                }
            }
            Step::Wakes(s, kind) => {
                let seed = &mut state.seeds[usize::from(s)];
                let replaced = seed.mcms[usize::from(1 - kind)].process != Process::Off;
                let mcm = &mut seed.mcms[usize::from(kind)];
                if mcm.process == Process::Frozen {
                    let noticed = mcm.node == NOT_READY;
                    mcm.process = if noticed || replaced { Process::Woken } else { Process::On };
                    mcm.node = if noticed { 0 } else { mcm.node };
                }
            }
            Step::CutOff(s, kind) => {
                let mcm = &mut state.seeds[usize::from(s)].mcms[usize::from(kind)];
                if state.budget.cuts > 0 && mcm.process == Process::On && mcm.shown == Shown::Here {
                    state.budget.cuts -= 1;
                    mcm.process = Process::Cut;
                }
            }
            Step::Restarts(s, kind) => {
                let mcm = &mut state.seeds[usize::from(s)].mcms[usize::from(kind)];
                if mcm.process == Process::Cut {
                    (mcm.process, mcm.views, mcm.older) = (Process::On, [0; 5], [0; 5]);
                    mcm.restarts += 1;
                }
            }
            _ => {}
        }
    }
}
