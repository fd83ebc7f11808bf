//! Both machine-controller-managers, from what their informers may hold.
//!
//! Sources: gardener/machine-controller-manager `pkg/util/provider/machinecontroller/machine_safety.go` (which servers are deleted as orphans)
//! and `machine.go` (creation, deletion).

use crate::config::Config;
use crate::state::{
    Class, Id, KILLED, LEAKED, MACHINES, MISFIT, Machine, Mcm, POS, PST, Process, SEEDS, Seed, Server, State,
    TERMINATING,
};

fn bit(id: Id) -> u8 {
    1 << id as u8
}

fn class_bit(class: Class) -> u8 {
    1 << class as u8
}

impl Mcm {
    /// Whether it can act on the cloud.
    #[must_use]
    pub fn acts(&self) -> bool {
        matches!(self.process, Process::On | Process::Woken | Process::Cut)
    }
    /// Whether it can also write to the API server.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.process, Process::On | Process::Woken)
    }
    fn may_see(&self, object: usize, bits: u8) -> bool {
        (self.views[object] | self.older[object]) & bits != 0
    }
    fn may_see_machine(&self, m: usize, ids: &[Id]) -> bool {
        self.may_see(m, ids.iter().fold(0, |bits, id| bits | bit(*id)))
    }
    fn may_see_class(&self, c: usize, class: Class) -> bool {
        self.may_see(MACHINES + c, class_bit(class))
    }
    /// It has acted on a Machine, so it will not again believe that there is none.
    fn has_met(&mut self, m: usize) {
        self.views[m] &= !bit(Id::Absent);
        self.older[m] &= !bit(Id::Absent);
    }
    /// Takes up what the API server shows.
    pub fn take_up(&mut self, machines: &[Machine; MACHINES], classes: &[Class]) {
        let now = machines.iter().map(|machine| bit(machine.id)).chain(classes.iter().map(|class| class_bit(*class)));
        for (object, bit) in now.enumerate() {
            self.views[object] |= bit;
            self.older[object] &= !self.views[object];
        }
    }
}

/// The server of a Machine, in the hands of one that wants it deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Asked,
    Orphan,
}

impl State {
    fn delete_old(&mut self, m: usize, why: Why) {
        self.cloud.old[m] = Server::Absent;
        if why == Why::Orphan && self.wanted & (1 << m) != 0 {
            self.harm |= KILLED;
        }
    }

    fn forget_machine(&mut self, seed: usize, m: usize) {
        self.seeds[seed].machines[m] = Machine::default();
        let gone = (0..SEEDS).all(|seed| !self.seeds[seed].machines[m].exists());
        if gone && self.cloud.old[m] != Server::Absent {
            self.harm |= LEAKED;
        }
    }

    /// POS asks OpenStack for a server.
    pub fn pos_asks(&mut self, config: &Config, seed: usize, m: usize) -> bool {
        let (pos, machine) = (&self.seeds[seed].mcms[POS], self.seeds[seed].machines[m]);
        let may = pos.acts()
            && machine.id == Id::Empty
            && !machine.is(TERMINATING)
            && pos.may_see_class(config.class_of[m], Class::OpenStack)
            && self.cloud.old[m] == Server::Absent;
        // A Machine that was made while it was frozen reaches one that has woken up together with what became of the class, or after that.
        let in_time = pos.process != Process::Woken
            || config.woken_apart
            || !pos.may_see_machine(m, &[Id::Absent])
            || self.seeds[seed].classes[config.class_of[m]] == Class::OpenStack;
        let may = may && in_time;
        if may {
            // One that has woken up acts for some seconds only, long before a LIST has to show what it asked for.
            let woken = pos.process == Process::Woken;
            self.cloud.old[m] = if woken { Server::AskedBefore } else { Server::Asked };
            self.seeds[seed].mcms[POS].has_met(m);
        }
        may
    }

    /// POS writes the ID of the server that it finds by the Machine's name. What admission makes of that write is the caller's.
    #[must_use]
    pub fn pos_finds(&self, seed: usize, m: usize) -> bool {
        let (pos, machine) = (&self.seeds[seed].mcms[POS], self.seeds[seed].machines[m]);
        pos.writes() && machine.id == Id::Empty && self.cloud.old[m].is_listed()
    }

    /// POS deletes the server of a terminating Machine, and lets the Machine go.
    pub fn pos_deletes(&mut self, config: &Config, seed: usize, m: usize) -> bool {
        let (pos, machine) = (&self.seeds[seed].mcms[POS], self.seeds[seed].machines[m]);
        let settled = machine.id == Id::Legacy || (machine.id == Id::Empty && self.cloud.old[m] == Server::Absent);
        let may = pos.writes()
            && machine.is(TERMINATING)
            && settled
            && pos.may_see_class(config.class_of[m], Class::OpenStack);
        if may {
            self.delete_old(m, Why::Asked);
            self.forget_machine(seed, m);
        }
        may
    }

    /// POS sweeps: it lists every server that OpenStack made through any class that is `OpenStack`.
    pub fn pos_sweeps(&mut self, seed: usize, m: usize) -> bool {
        let pos = &self.seeds[seed].mcms[POS];
        let lists = self.seeds[seed].classes.iter().enumerate().any(|(c, _)| pos.may_see_class(c, Class::OpenStack));
        let orphan = pos.may_see_machine(m, &[Id::Absent, Id::Rewritten, Id::Born]);
        let may = pos.acts() && lists && orphan && self.cloud.old[m].is_listed();
        if may {
            self.delete_old(m, Why::Orphan);
        }
        may
    }

    /// PST makes a server, born with its labels, and writes its ID.
    pub fn pst_creates(&mut self, config: &Config, seed: usize, m: usize) -> bool {
        let (pst, machine) = (&self.seeds[seed].mcms[PST], self.seeds[seed].machines[m]);
        let may = pst.writes()
            && machine.id == Id::Empty
            && !machine.is(TERMINATING)
            && pst.may_see_class(config.class_of[m], Class::Stackit);
        if may {
            if self.cloud.old[m] != Server::Absent {
                self.harm |= LEAKED;
            }
            if self.seeds[seed].misfits & (1 << config.class_of[m]) != 0 {
                self.harm |= MISFIT;
            }
            self.cloud.born |= 1 << m;
            self.seeds[seed].machines[m].id = Id::Born;
            self.seeds[seed].mcms[PST].has_met(m);
        }
        may
    }

    /// PST deletes the server that the ID of a terminating Machine names, and lets the Machine go. Without an ID it finds nothing to delete.
    pub fn pst_deletes(&mut self, config: &Config, seed: usize, m: usize) -> bool {
        let (pst, machine) = (&self.seeds[seed].mcms[PST], self.seeds[seed].machines[m]);
        let may = pst.writes()
            && machine.is(TERMINATING)
            && matches!(machine.id, Id::Empty | Id::Rewritten | Id::Born)
            && pst.may_see_class(config.class_of[m], Class::Stackit);
        if may {
            match machine.id {
                // An ID that does not parse counts as "already deleted".
                Id::Rewritten if !config.odd_project => self.delete_old(m, Why::Asked),
                Id::Born => self.cloud.born &= !(1 << m),
                _ => {}
            }
            self.forget_machine(seed, m);
        }
        may
    }

    /// PST sweeps: it lists servers by the label of each class that is `stackit`.
    pub fn pst_sweeps(&mut self, config: &Config, seed: usize, m: usize) -> bool {
        let pst = &self.seeds[seed].mcms[PST];
        let lists = pst.acts() && pst.may_see_class(config.class_of[m], Class::Stackit);
        if lists && self.cloud.old[m] == Server::Labelled && pst.may_see_machine(m, &[Id::Absent, Id::Legacy, Id::Born])
        {
            self.delete_old(m, Why::Orphan);
            return true;
        }
        let born = self.cloud.born & (1 << m) != 0;
        if lists && born && pst.may_see_machine(m, &[Id::Absent, Id::Legacy, Id::Rewritten]) {
            self.cloud.born &= !(1 << m);
            if self.wanted & (1 << m) != 0 && self.seeds.iter().any(|seed| seed.machines[m].id == Id::Born) {
                self.harm |= KILLED;
            }
            return true;
        }
        false
    }

    /// The machine-controller-manager of the neighbour sweeps by the label of the class, whose name is the same there.
    pub fn neighbour_sweeps(&mut self, config: &Config, m: usize) -> bool {
        let may = config.neighbour && config.class_of[m] == 0 && self.cloud.old[m] == Server::Labelled;
        if may {
            self.delete_old(m, Why::Orphan);
        }
        may
    }
}

/// Whether a machine-controller-manager process is there at all.
#[must_use]
pub fn runs(seed: &Seed, kind: usize) -> bool {
    seed.mcms[kind].process != Process::Off
}
