//! The model: which steps are possible in a state, and what each makes of it.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::admission::{self, keep_guard, keep_ids, no_mixed, no_way_back};
use crate::config::Config;
use crate::gates::{Gate, Out};
use crate::memory::HORIZON;
use crate::planner::{self, Wish};
use crate::search::machine_is_done;
use crate::state::{
    ARMED, CLASSES, Class, EARLY, EXISTS, FOREIGN, Guard, Id, LABELLED, MACHINES, MARKED, MCMS, MIGRATED, Machine, Mcm,
    NO_POOL, NOT_READY, OBJECTS, PAUSE_BROKEN, PAUSED, POS, PST, Process, SEEDS, SETTLED, Seed, Server, Shown, Stage,
    State, TERMINATING, Template, Window, Write,
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
    fn written(&self, state: &State, index: usize, m: usize) -> Machine {
        let (mut seed, _) = planner::key(state, index);
        (seed.seen, seed.window) = (0, state.seeds[index].window);
        let machine = seed.machines[m];
        memo::machine(self.id, (index as u8, seed, m as u8, machine), || {
            admission::write_machine(&self.config, index, &seed, m, machine, self.out)
        })
    }

    /// Whether a shoot that does not migrate is left alone: no policy refuses anything, admission changes nothing, the side task writes nothing.
    #[must_use]
    pub fn leaves_alone(&self, state: &State) -> bool {
        let seed = &state.seeds[0];
        self.config.wants_stackit
            || (!no_way_back(&self.config, seed, self.out)
                && !keep_ids(&self.config, seed, self.out)
                && seed.machines.iter().all(|machine| !no_mixed(&self.config, seed, *machine, self.out))
                && (0..MACHINES).all(|m| self.written(state, 0, m) == seed.machines[m])
                && self.wish(state, 0).writes.is_empty())
    }

    /// Whether the next pass, or the rollback that is under way, takes the mark of each marked Worker away whose Machines are not done.
    #[must_use]
    pub fn takes_marks_away(&self, state: &State) -> bool {
        (0..SEEDS).all(|s| {
            !state.seeds[s].worker_marked
                || state.seeds[s].goes_back
                || self.wish(state, s).writes.contains(&Write::Mark(false))
        })
    }

    fn may_flip(&self, state: &State, index: usize, c: usize) -> bool {
        let (mut seed, _) = planner::key(state, index);
        (seed.seen, seed.window) = (0, state.seeds[index].window);
        memo::flip(self.id, (index as u8, seed, c as u8), || {
            admission::class_may_flip(&self.config, index, &seed, c, self.out)
        })
    }

    fn worker_marked(&self, state: &State, index: usize) -> bool {
        let (mut seed, _) = planner::key(state, index);
        (seed.seen, seed.window) = (0, state.seeds[index].window);
        memo::worker(self.id, (index as u8, seed), || admission::worker_is_marked(&self.config, index, &seed, self.out))
    }

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
            steps.extend([Step::RollOut(s), Step::PoolMoves(s)]);
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
                steps.extend([
                    Step::Freezes(s, kind),
                    Step::Wakes(s, kind),
                    Step::CutOff(s, kind),
                    Step::Restarts(s, kind),
                ]);
            }
            for c in (0..seed.classes.len() as u8).filter(|c| seed.classes[usize::from(*c)] != Class::Absent) {
                steps.extend([Step::ClassForward(s, c), Step::ClassGoes(s, c)]);
                if budget.class_back > 0 {
                    steps.push(Step::ClassBack(s, c));
                }
            }
            for m in 0..MACHINES as u8 {
                steps.extend([Step::MachineMade(s, m), Step::MachineDeleted(s, m), Step::MachineWritten(s, m)]);
                steps.extend([Step::PosAsks(s, m), Step::PosFinds(s, m), Step::PosDeletes(s, m)]);
                steps.extend([Step::PstCreates(s, m), Step::PstDeletes(s, m)]);
                if self.config.sweeps {
                    steps.extend([Step::PosSweeps(s, m), Step::PstSweeps(s, m)]);
                }
                if budget.meddling > 0 {
                    steps.push(Step::OldIdWritten(s, m));
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

    fn of_rollback(&self, state: &State, s: u8, steps: &mut Vec<Step>) {
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

    fn of_writes(&self, state: &State, s: u8, steps: &mut Vec<Step>) {
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
    fn settle(&self, state: &mut State) {
        for index in 0..SEEDS {
            let seed = &mut state.seeds[index];
            if seed.stage == Stage::Absent {
                continue;
            }
            let now = admission::now(seed);
            seed.window.open |= now.open;
            seed.window.settled |= now.settled;
            seed.window.done |= now.done;
            if !self.config.lag_apart && seed.template == Template::Stackit && seed.classes.contains(&Class::OpenStack)
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

    fn apply(&self, state: &mut State, step: Step) {
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
                world.moves(state, step)
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

    fn machine_written(&self, state: &mut State, s: usize, m: usize) {
        if state.seeds[s].machines[m].id != Id::Legacy {
            return;
        }
        let machine = self.written(state, s, m);
        self.put(state, s, m, machine);
    }

    fn put(&self, state: &mut State, s: usize, m: usize, machine: Machine) {
        let seed = &mut state.seeds[s];
        if machine.id == Id::Rewritten && seed.migration & PAUSED != 0 && seed.paused_long {
            state.harm |= PAUSE_BROKEN;
        }
        state.seeds[s].machines[m] = machine;
    }

    /// Marks the Worker. That something was done a moment ago excuses it, no more.
    fn mark(&self, state: &mut State, s: usize) {
        let seed = &mut state.seeds[s];
        seed.worker_marked = true;
        let excused = (0..MACHINES).all(|m| machine_is_done(seed, &state.cloud, m) || seed.window.done & (1 << m) != 0);
        if !excused {
            state.harm |= EARLY;
        }
    }

    /// A write of the side task takes effect, if what it relies on is still so.
    fn land(&self, state: &mut State, s: usize, write: Write) {
        let may_flip = |state: &State, c: u8| self.may_flip(state, s, usize::from(c));
        let was = |state: &State, m: u8, machine: Machine| state.seeds[s].machines[usize::from(m)] == machine;
        match write {
            Write::None
            | Write::BackPause
            | Write::BackGuard
            | Write::Unlabel(_)
            | Write::WriteBack(..)
            | Write::Clean(..)
            | Write::GuardOff
            | Write::LiftPause => {}
            Write::SettleId(m, machine) if was(state, m, machine) => {
                state.seeds[s].machines[usize::from(m)] = Machine { id: Id::Legacy, flags: machine.flags | MIGRATED };
            }
            Write::SettleNoServer(m, machine) if was(state, m, machine) => {
                state.seeds[s].machines[usize::from(m)].flags |= SETTLED;
            }
            Write::Touch(m, machine) if was(state, m, machine) => {
                let written = self.written(state, s, usize::from(m));
                self.put(state, s, usize::from(m), Machine { flags: written.flags | MARKED, ..written });
            }
            Write::Clear(m, machine) if was(state, m, machine) => {
                state.seeds[s].machines[usize::from(m)].flags &= !MARKED;
            }
            Write::SettleId(..) | Write::SettleNoServer(..) | Write::Touch(..) | Write::Clear(..) => {}
            Write::Retire(c) => {
                if state.seeds[s].classes[usize::from(c)] == Class::OpenStack && may_flip(state, c) {
                    state.seeds[s].classes[usize::from(c)] = Class::Stackit;
                }
            }
            Write::CloseGuard => {
                let seed = &mut state.seeds[s];
                seed.migration = (seed.migration | EXISTS) & !ARMED;
                if seed.guard == Guard::None {
                    (seed.guard, seed.policies_see) = (Guard::Closed, false);
                }
            }
            Write::Arm(version) => {
                if state.seeds[s].migration == version {
                    state.seeds[s].migration |= ARMED;
                }
            }
            Write::Disarm => state.seeds[s].migration &= !ARMED,
            Write::Label(m) => {
                let m = usize::from(m);
                if state.cloud.old[m].is_listed() {
                    state.cloud.old[m] = Server::Labelled;
                    if self.config.misnamed && m == 0 {
                        state.harm |= FOREIGN;
                    }
                }
            }
            Write::Mark(true) => self.mark(state, s),
            Write::Mark(false) => state.seeds[s].worker_marked = false,
            Write::Report(labelled) => {
                let migration = &mut state.seeds[s].migration;
                if *migration & EXISTS != 0 {
                    *migration = if labelled { *migration | LABELLED } else { *migration & !LABELLED };
                }
            }
        }
    }

    fn tick(&self, state: &mut State) {
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
                seed.back_seen = memo::aged(self.id, seed.back_seen, || planner::aged(seed.back_seen));
            }
            (seed.paused_long, seed.turned) = (seed.migration & PAUSED != 0, false);
            seed.seen = memo::aged(self.id, seed.seen, || planner::aged(seed.seen));
            let stale = self.out.has(Gate::AdmissionFresh) || self.out.has(Gate::ForwardFresh);
            if !stale {
                seed.window = Window::default();
            }
        }
    }

    fn moves(&self, state: &mut State, step: Step) {
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

    fn arrives(&self, state: &mut State) {
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

    fn moves_machine(&self, state: &mut State, step: Step, m: usize) {
        match step {
            Step::LeftBehind(_) if state.seeds[0].stage == Stage::Persisted => {
                state.seeds[0].machines[m] = Machine::default()
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

impl World {
    fn apply_in_seed(&self, state: &mut State, step: Step) {
        let (config, out) = (&self.config, self.out);
        match step {
            Step::SetTemplate(s, template) => {
                let seed = &mut state.seeds[usize::from(s)];
                let back = template == Template::OpenStack;
                let reconciled = seed.stage == Stage::Ours && !(config.bad_case && s == 0 && state.record != 0);
                let unasked = config.back_is_asked && back != seed.goes_back;
                if !reconciled
                    || unasked
                    || seed.turned
                    || seed.template == template
                    || (back && state.budget.template_back == 0)
                    || (!back && !config.wants_stackit)
                {
                    return;
                }
                state.budget.template_back -= u8::from(back);
                (seed.template, seed.turned) = (template, true);
                let other = if back { PST } else { POS };
                if seed.mcms[other].shown == Shown::Here {
                    seed.mcms[other].shown = Shown::Leaving;
                }
            }
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
            Step::ClassForward(s, c) => {
                let (index, c) = (usize::from(s), usize::from(c));
                let seed = &state.seeds[index];
                let wanted = seed.pools.contains(&(c as u8));
                let reconciled = seed.stage == Stage::Ours && !(config.bad_case && s == 0 && state.record != 0);
                let asked =
                    reconciled && wanted && seed.template == Template::Stackit && seed.classes[c] == Class::OpenStack;
                if asked && self.may_flip(state, index, c) {
                    state.seeds[index].classes[c] = Class::Stackit;
                }
            }
            Step::ClassBack(s, c) => {
                let seed = &mut state.seeds[usize::from(s)];
                let wanted = seed.stage == Stage::Ours && seed.template == Template::OpenStack;
                if wanted && seed.classes[usize::from(c)] == Class::Stackit && !no_way_back(config, seed, out) {
                    state.budget.class_back -= 1;
                    seed.classes[usize::from(c)] = Class::OpenStack;
                }
            }
            Step::RollOut(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if state.budget.roll_outs > 0 && seed.template == Template::Stackit && seed.classes[1] == Class::Absent
                {
                    state.budget.roll_outs -= 1;
                    seed.classes[1] = Class::Stackit;
                }
            }
            Step::PoolMoves(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if config.start.budget.roll_outs > 0 && seed.classes[1] != Class::Absent && seed.pools[0] == 0 {
                    seed.pools[0] = 1;
                }
            }
            Step::ClassGoes(s, c) => {
                let seed = &mut state.seeds[usize::from(s)];
                let used = (0..MACHINES).any(|m| config.class_of[m] == usize::from(c) && seed.machines[m].exists());
                if !used && !seed.pools.contains(&c) && seed.stage == Stage::Ours {
                    seed.classes[usize::from(c)] = Class::Absent;
                }
            }
            Step::MachineMade(s, m) => {
                let m = usize::from(m);
                let seed = &mut state.seeds[usize::from(s)];
                let runs = seed.mcms.iter().any(Mcm::writes);
                let wanted = seed.pools.contains(&(config.class_of[m] as u8)) && seed.stage == Stage::Ours;
                let used = state.ever & (1 << m) != 0;
                let turned_back = seed.mcms[POS].writes() && state.budget.template_back == 0;
                let in_time = !config.made_on_openstack || turned_back;
                if state.budget.creates > 0 && in_time && runs && wanted && !used {
                    state.budget.creates -= 1;
                    seed.machines[m] = Machine { id: Id::Empty, flags: 0 };
                    state.wanted |= 1 << m;
                    state.ever |= 1 << m;
                }
            }
            Step::MachineDeleted(s, m) => {
                let m = usize::from(m);
                let seed = &mut state.seeds[usize::from(s)];
                if state.budget.deletes > 0
                    && seed.machines[m].exists()
                    && !seed.machines[m].is(TERMINATING)
                    && seed.stage == Stage::Ours
                {
                    state.budget.deletes -= 1;
                    seed.machines[m].flags |= TERMINATING;
                    state.wanted &= !(1 << m);
                }
            }
            Step::PoliciesSee(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                seed.policies_see |= seed.guard != Guard::None;
            }
            Step::OldIdWritten(s, m) => {
                let seed = &mut state.seeds[usize::from(s)];
                if seed.machines[usize::from(m)].id == Id::Rewritten && !keep_ids(config, seed, out) {
                    state.budget.meddling -= 1;
                    seed.machines[usize::from(m)].id = Id::Legacy;
                }
            }
            Step::GuardRemoved(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if seed.guard == Guard::Closed && !keep_guard(config, seed, out) {
                    state.budget.meddling -= 1;
                    (seed.guard, seed.policies_see) = (Guard::None, false);
                }
            }
            Step::RollbackStarts(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if state.budget.rollbacks > 0 && seed.guard == Guard::Closed && seed.stage == Stage::Ours {
                    state.budget.rollbacks -= 1;
                    (seed.goes_back, seed.back_seen) = (true, way_back::nothing());
                }
            }
            Step::BackSends(s, write) => state.seeds[usize::from(s)].back_sent = write,
            Step::BackLands(s) => {
                let write = std::mem::take(&mut state.seeds[usize::from(s)].back_sent);
                way_back::land(state, usize::from(s), write);
            }
            Step::RollbackKilled(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if state.budget.kills > 0 && seed.goes_back {
                    state.budget.kills -= 1;
                    seed.back_seen = way_back::nothing();
                }
            }
            Step::RollbackEnds(s) => {
                let wish = self.back_wish(state, usize::from(s));
                let seed = &mut state.seeds[usize::from(s)];
                if seed.goes_back && seed.back_sent == Write::None && wish.writes.is_empty() && wish.waits.is_empty() {
                    (seed.goes_back, seed.back_seen) = (false, 0);
                }
            }
            Step::Pauses(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if seed.migration & PAUSED == 0 && seed.stage == Stage::Ours {
                    state.budget.pauses -= 1;
                    seed.migration |= PAUSED | EXISTS;
                }
            }
            Step::Resumes(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if seed.paused_by_rollback {
                    return;
                }
                seed.migration &= !PAUSED;
                seed.paused_long = false;
            }
            _ => {}
        }
    }
}
