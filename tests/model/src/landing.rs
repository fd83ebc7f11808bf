//! What a write of the side task does, once it lands.

use crate::model::World;
use crate::search::machine_is_done;
use crate::state::{
    ARMED, Class, EARLY, EXISTS, FOREIGN, Guard, Id, LABELLED, MACHINES, MARKED, MIGRATED, Machine, SETTLED, Server,
    State, Write,
};

impl World {
    /// Marks the Worker. That something was done a moment ago excuses it, no more.
    pub(crate) fn mark(&self, state: &mut State, s: usize) {
        let seed = &mut state.seeds[s];
        seed.worker_marked = true;
        let excused = (0..MACHINES).all(|m| machine_is_done(seed, &state.cloud, m) || seed.window.done & (1 << m) != 0);
        if !excused {
            state.harm |= EARLY;
        }
    }

    /// A write of the side task takes effect, if what it relies on is still so.
    pub(crate) fn land(&self, state: &mut State, s: usize, write: Write) {
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
                    let seed = &mut state.seeds[s];
                    seed.classes[usize::from(c)] = Class::Stackit;
                    // One that is wanted has a spec of its own, and got another's.
                    if seed.pools.contains(&c) {
                        seed.misfits |= 1 << c;
                    }
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
}
