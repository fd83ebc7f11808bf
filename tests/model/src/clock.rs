//! What a tick of the clock does.

use crate::gates::Gate;
use crate::memory::HORIZON;
use crate::model::World;
use crate::state::{
    Guard, MCMS, Mcm, NOT_READY, OBJECTS, PAUSED, POS, Process, SEEDS, Seed, Server, Shown, Stage, State, Window, Write,
};
use crate::{memo, planner};

impl World {
    pub(crate) fn tick(&self, state: &mut State) {
        let under_way = |seed: &Seed| {
            seed.sent != Write::None
                || seed.left != Write::None
                || seed.back_sent != Write::None
                || (seed.guard != Guard::None && !seed.policies_see)
        };
        if state.seeds.iter().any(under_way) || state.cloud.old.contains(&Server::AskedBefore) {
            return;
        }
        for server in &mut state.cloud.old {
            if *server == Server::Asked {
                *server = Server::AskedBefore;
            }
        }
        if state.record == 1 {
            state.record = 2;
        }
        for index in 0..SEEDS {
            if state.seeds[index].stage == Stage::Absent {
                continue;
            }
            let on: [bool; MCMS] = state.seeds[index].mcms.map(|mcm| mcm.process == Process::On);
            for (kind, mcm) in state.seeds[index].mcms.iter_mut().enumerate() {
                mcm_ticks(mcm, on[1 - kind], self.config.election || kind == POS);
            }
            let seed = &mut state.seeds[index];
            if seed.goes_back {
                seed.back_seen = memo::aged(self.id(), seed.back_seen, || planner::aged(seed.back_seen));
            }
            (seed.paused_long, seed.turned) = (seed.migration & PAUSED != 0, false);
            seed.seen = memo::aged(self.id(), seed.seen, || planner::aged(seed.seen));
            let stale = self.out.has(Gate::AdmissionFresh) || self.out.has(Gate::ForwardFresh);
            if !stale {
                seed.window = Window::default();
            }
        }
    }
}

fn mcm_ticks(mcm: &mut Mcm, other_leads: bool, election: bool) {
    mcm.node = match mcm.process {
        Process::Frozen => NOT_READY,
        _ if mcm.node == NOT_READY => NOT_READY,
        _ => (mcm.node + 1).min(HORIZON),
    };
    let fresh = ([0; OBJECTS], [0; OBJECTS]);
    match mcm.process {
        Process::Off | Process::Frozen => {}
        // A pod that is gone, or another that has taken the Lease: its own loss of it has ended it.
        _ if mcm.shown == Shown::Gone || (mcm.process == Process::Woken && other_leads) => mcm.process = Process::Off,
        // It could not renew its Lease in time, and has been started again.
        Process::Cut if election => {
            (mcm.process, (mcm.views, mcm.older)) = (Process::On, fresh);
            mcm.restarts += 1;
        }
        Process::Cut => {}
        Process::On => (mcm.older, mcm.views) = (mcm.views, [0; OBJECTS]),
        Process::Woken => (mcm.process, (mcm.views, mcm.older)) = (Process::On, fresh),
    }
}
