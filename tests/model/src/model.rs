//! The model: which steps are possible in a state, and what each makes of it.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::admission::{self, keep_ids, no_mixed, no_way_back};
use crate::config::Config;
use crate::gates::Out;
use crate::memory::HORIZON;
use crate::planner::{self, Wish};
use crate::state::{
    CLASSES, Class, Id, MACHINES, MCMS, Machine, NOT_READY, PAUSE_BROKEN, PAUSED, POS, PST, Process, SEEDS, Server,
    Shown, Stage, State, Template, Write,
};
use crate::step::Step;
use crate::{memo, way_back};

/// A configuration, and the gates that are out.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// The bounds.
    pub config: Config,
    /// The gates that are out.
    pub out: Out,
    /// Whether every state's fair schedule is followed to its end.
    pub completes: bool,
    id: u64,
}

impl World {
    /// A world, with these gates out.
    #[must_use]
    pub fn new(config: Config, out: Out) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { config, out, completes: out == Out::default(), id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Its number, which no other world has.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The state to begin with.
    #[must_use]
    pub fn start(&self) -> State {
        let mut state = self.config.start;
        for seed in &mut state.seeds {
            let kind = if seed.template == Template::OpenStack { POS } else { PST };
            if seed.stage != Stage::Absent && seed.template != Template::None {
                (seed.mcms[kind].shown, seed.mcms[kind].process) = (Shown::Here, Process::On);
            }
            for mcm in &mut seed.mcms {
                mcm.node = HORIZON;
            }
        }
        self.settle(&mut state);
        state
    }

    /// What the leader of a seed would write, and what it waits for.
    #[must_use]
    pub fn wish(&self, state: &State, index: usize) -> Rc<Wish> {
        let (seed, cloud) = planner::key(state, index);
        memo::wish(self.id, (index as u8, seed, cloud), || {
            Rc::new(planner::wish(&self.config, index, &seed, &cloud, self.out))
        })
    }

    /// What a rollback would write, and what it waits for.
    #[must_use]
    pub fn back_wish(&self, state: &State, index: usize) -> Rc<Wish> {
        let (mut seed, cloud) = planner::key(state, index);
        let at = &state.seeds[index];
        (seed.seen, seed.back_seen, seed.paused_by_rollback) = (0, at.back_seen, at.paused_by_rollback);
        memo::back_wish(self.id, (index as u8, seed, cloud), || {
            Rc::new(way_back::wish(&self.config, index, &seed, &cloud, self.out))
        })
    }

    /// What somebody's write makes of a Machine.
    pub(crate) fn written(&self, state: &State, index: usize, m: usize) -> Machine {
        let (mut seed, _) = planner::key(state, index);
        (seed.seen, seed.window) = (0, state.seeds[index].window);
        let machine = seed.machines[m];
        memo::machine(self.id, (index as u8, seed, m as u8, machine), || {
            admission::write_machine(&self.config, index, &seed, m, machine, self.out)
        })
    }

    /// Whether a shoot that does not migrate, or was taken back, is left alone: no policy refuses anything, admission changes nothing, the side task writes nothing.
    #[must_use]
    pub fn leaves_alone(&self, state: &State) -> bool {
        let seed = &state.seeds[0];
        let refused = no_way_back(&self.config, seed, self.out)
            || keep_ids(&self.config, seed, self.out)
            || seed.machines.iter().any(|machine| no_mixed(&self.config, seed, *machine, self.out));
        let left_alone = || (0..MACHINES).all(|m| self.written(state, 0, m) == seed.machines[m]);
        if self.config.wants_stackit {
            !seed.is_back || (!refused && left_alone())
        } else {
            !refused && left_alone() && self.wish(state, 0).writes.is_empty()
        }
    }

    /// Whether the next pass, or the rollback that is under way, takes the mark of each marked Worker away whose Machines are not done.
    #[must_use]
    pub fn takes_marks_away(&self, state: &State) -> bool {
        (0..SEEDS).all(|s| {
            !state.seeds[s].worker_marked
                || state.seeds[s].goes_back
                || state.seeds[s].paused_by_rollback
                || self.wish(state, s).writes.contains(&Write::Mark(false))
        })
    }

    pub(crate) fn may_flip(&self, state: &State, index: usize, c: usize) -> bool {
        let (mut seed, _) = planner::key(state, index);
        (seed.seen, seed.window) = (0, state.seeds[index].window);
        seed.paused_by_rollback = state.seeds[index].paused_by_rollback;
        memo::flip(self.id, (index as u8, seed, c as u8), || {
            admission::class_may_flip(&self.config, index, &seed, c, self.out)
        })
    }

    pub(crate) fn worker_marked(&self, state: &State, index: usize) -> bool {
        let (mut seed, _) = planner::key(state, index);
        (seed.seen, seed.window) = (0, state.seeds[index].window);
        memo::worker(self.id, (index as u8, seed), || admission::worker_is_marked(&self.config, index, &seed, self.out))
    }

    /// The state after a step; none where it is not possible or changes nothing.
    #[must_use]
    pub fn after(&self, state: &State, step: Step) -> Option<State> {
        let mut next = *state;
        self.apply(&mut next, step);
        if next == *state {
            return None;
        }
        self.settle(&mut next);
        (next != *state).then_some(next)
    }

    /// Informers, caches and leaders take up what has changed.
    pub(crate) fn settle(&self, state: &mut State) {
        for index in 0..SEEDS {
            let seed = &mut state.seeds[index];
            if seed.stage == Stage::Absent {
                continue;
            }
            let now = admission::now(seed);
            seed.window.open |= now.open;
            seed.window.settled |= now.settled;
            seed.window.done |= now.done;
            if !self.config.lag_apart
                && !self.config.gate_is_prompt
                && seed.template == Template::Stackit
                && seed.classes.contains(&Class::OpenStack)
            {
                for c in 0..CLASSES {
                    let may = state.seeds[index].classes[c] == Class::OpenStack && self.may_flip(state, index, c);
                    state.seeds[index].window.flips |= u8::from(may) << c;
                }
            }
            let seed = &mut state.seeds[index];
            let (machines, classes) = (seed.machines, seed.classes);
            for mcm in &mut seed.mcms {
                if mcm.process == Process::Off {
                    (mcm.views, mcm.older) = ([0; 5], [0; 5]);
                } else {
                    mcm.take_up(&machines, &classes);
                }
            }
            let (mut key, _) = planner::key(state, index);
            for kind in 0..MCMS {
                key.mcms[kind].process = state.seeds[index].mcms[kind].process;
            }
            let seen = memo::look(self.id, (index as u8, key), || planner::look(&self.config, index, &key, self.out));
            state.seeds[index].seen = seen;
            if state.seeds[index].goes_back {
                (key.seen, key.back_seen) = (0, state.seeds[index].back_seen);
                let seen = memo::back_look(self.id, (index as u8, key), || {
                    way_back::look(&self.config, index, &key, self.out)
                });
                state.seeds[index].back_seen = seen;
            }
        }
    }

    pub(crate) fn apply(&self, state: &mut State, step: Step) {
        let world = self;
        match step {
            Step::Tick => world.tick(state),
            Step::Send(s, write) => state.seeds[usize::from(s)].sent = write,
            Step::Lands(s) => {
                let write = std::mem::take(&mut state.seeds[usize::from(s)].sent);
                world.land(state, usize::from(s), write);
            }
            Step::LeftLands(s) => {
                let write = std::mem::take(&mut state.seeds[usize::from(s)].left);
                world.land(state, usize::from(s), write);
            }
            Step::ServerAppears(m) => {
                let server = &mut state.cloud.old[usize::from(m)];
                if matches!(server, Server::Asked | Server::AskedBefore) {
                    *server = Server::There;
                }
            }
            Step::NeighbourSweeps(m) => drop(state.neighbour_sweeps(&world.config, usize::from(m))),
            Step::PosAsks(s, m) => drop(state.pos_asks(&world.config, usize::from(s), usize::from(m))),
            Step::PosFinds(s, m) => {
                if state.pos_finds(usize::from(s), usize::from(m)) {
                    state.seeds[usize::from(s)].machines[usize::from(m)].id = Id::Legacy;
                }
            }
            Step::PosDeletes(s, m) => drop(state.pos_deletes(&world.config, usize::from(s), usize::from(m))),
            Step::PosSweeps(s, m) => drop(state.pos_sweeps(usize::from(s), usize::from(m))),
            Step::PstCreates(s, m) => drop(state.pst_creates(&world.config, usize::from(s), usize::from(m))),
            Step::PstDeletes(s, m) => drop(state.pst_deletes(&world.config, usize::from(s), usize::from(m))),
            Step::PstSweeps(s, m) => drop(state.pst_sweeps(&world.config, usize::from(s), usize::from(m))),
            Step::MachineWritten(s, m) => world.machine_written(state, usize::from(s), usize::from(m)),
            Step::WorkerWritten(s) => {
                let s = usize::from(s);
                if state.seeds[s].stage != Stage::Absent
                    && !state.seeds[s].worker_marked
                    && world.worker_marked(state, s)
                {
                    world.mark(state, s);
                }
            }
            Step::RecordMoves | Step::Leaves | Step::Persists | Step::Arrives | Step::RestoreEnds => {
                world.moves(state, step);
            }
            Step::LeftBehind(m) | Step::Restored(m) => world.moves_machine(state, step, usize::from(m)),
            Step::Crashes(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if state.budget.crashes > 0 && seed.left == Write::None {
                    state.budget.crashes -= 1;
                    seed.left = std::mem::take(&mut seed.sent);
                    seed.seen = 0;
                    for mcm in &mut seed.mcms {
                        mcm.node = if mcm.node == NOT_READY { NOT_READY } else { 0 };
                    }
                }
            }
            _ => world.apply_in_seed(state, step),
        }
    }

    pub(crate) fn machine_written(&self, state: &mut State, s: usize, m: usize) {
        if state.seeds[s].machines[m].id != Id::Legacy {
            return;
        }
        let machine = self.written(state, s, m);
        self.put(state, s, m, machine);
    }

    pub(crate) fn put(&self, state: &mut State, s: usize, m: usize, machine: Machine) {
        let seed = &mut state.seeds[s];
        if machine.id == Id::Rewritten && seed.migration & PAUSED != 0 && seed.paused_long {
            state.harm |= PAUSE_BROKEN;
        }
        state.seeds[s].machines[m] = machine;
    }
}
