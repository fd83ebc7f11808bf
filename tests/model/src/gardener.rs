//! What Gardener, an operator and a rollback do to a shoot in one seed.

use crate::admission::{keep_guard, keep_ids, no_way_back};
use crate::config::Config;
use crate::model::World;
use crate::state::{
    Class, EXISTS, Guard, Id, MACHINES, MARKED, Machine, Mcm, PAUSED, POS, PST, STRANDED, Seed, Shown, Stage, State,
    TERMINATING, Template, Write,
};
use crate::step::Step;
use crate::way_back;

impl World {
    pub(crate) fn apply_in_seed(&self, state: &mut State, step: Step) {
        let (config, out) = (&self.config, self.out);
        match step {
            Step::SetTemplate(s, template) => {
                let stays = config.stays_back && config.was_asked(state);
                let seed = &mut state.seeds[usize::from(s)];
                let back = template == Template::OpenStack;
                let reconciled = seed.stage == Stage::Ours && !(config.bad_case && s == 0 && state.record != 0);
                let unasked = (config.back_is_asked && back != seed.goes_back) || (stays && !back);
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
                (seed.template, seed.turned, seed.is_back) = (template, true, false);
                let other = if back { PST } else { POS };
                if seed.mcms[other].shown == Shown::Here {
                    seed.mcms[other].shown = Shown::Leaving;
                }
            }
            Step::ClassForward(s, c) => {
                let (index, c) = (usize::from(s), usize::from(c));
                let seed = &mut state.seeds[index];
                let wanted = wants(config, seed, c);
                let reconciled = seed.stage == Stage::Ours && !(config.bad_case && s == 0 && state.record != 0);
                if !reconciled || !wanted || seed.template != Template::Stackit {
                    return;
                }
                // Gardener writes its own spec.
                seed.misfits &= !(1 << c);
                let turns = seed.classes[c] == Class::OpenStack;
                if turns && self.may_flip(state, index, c) {
                    state.seeds[index].classes[c] = Class::Stackit;
                }
            }
            Step::ClassBack(s, c) => {
                let seed = &mut state.seeds[usize::from(s)];
                let wanted = seed.stage == Stage::Ours
                    && seed.template == Template::OpenStack
                    && wants(config, seed, usize::from(c));
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
                // The class first, then what names it.
                let written = match seed.template {
                    Template::None => false,
                    Template::OpenStack => seed.classes[1] == Class::OpenStack,
                    Template::Stackit => seed.classes[1] == Class::Stackit,
                };
                if config.start.budget.roll_outs > 0 && written && seed.pools[0] == 0 {
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
                if seed.machines[usize::from(m)].id == Id::Rewritten && !config.by_hand && !keep_ids(config, seed, out)
                {
                    state.budget.meddling -= 1;
                    seed.machines[usize::from(m)].id = Id::Legacy;
                }
            }
            Step::MarkerTaken(s, m) => {
                let machine = &mut state.seeds[usize::from(s)].machines[usize::from(m)];
                if machine.is(MARKED) {
                    state.budget.meddling -= 1;
                    machine.flags &= !MARKED;
                }
            }
            Step::GuardRemoved(s) => {
                let seed = &mut state.seeds[usize::from(s)];
                if seed.guard == Guard::Closed && !keep_guard(config, seed, out) {
                    state.budget.meddling -= 1;
                    (seed.guard, seed.policies_see) = (Guard::None, false);
                }
                if config.by_hand && seed.goes_back && seed.back_sent == Write::None {
                    self.ended_by_hand(state, usize::from(s));
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
                if state.budget.kills > 0 && seed.goes_back && !(config.is_left && seed.back_sent != Write::None) {
                    state.budget.kills -= 1;
                    seed.back_seen = way_back::nothing();
                    if config.is_left {
                        (seed.goes_back, seed.back_seen) = (false, 0);
                    }
                }
            }
            Step::RollbackEnds(s) => {
                let wish = self.back_wish(state, usize::from(s));
                let seed = &mut state.seeds[usize::from(s)];
                if seed.goes_back && seed.back_sent == Write::None && wish.writes.is_empty() && wish.waits.is_empty() {
                    (seed.goes_back, seed.back_seen, seed.is_back) = (false, 0, seed.template == Template::OpenStack);
                    // Gardener turns those that a pool names.
                    let stays = |c: usize| seed.classes[c] == Class::Stackit && !seed.pools.contains(&(c as u8));
                    if (0..MACHINES).any(|m| seed.machines[m].exists() && stays(config.class_of[m])) {
                        state.harm |= STRANDED;
                    }
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
            _ => self.apply_to_pod(state, step),
        }
    }

    /// An operator does by hand what is left of a rollback whose waits are over, and forgets the condition `Armed`.
    fn ended_by_hand(&self, state: &mut State, s: usize) {
        let wish = self.back_wish(state, s);
        let seed = &mut state.seeds[s];
        if seed.guard == Guard::RollingBack && matches!(wish.writes[..], [Write::Disarm | Write::GuardOff]) {
            state.budget.meddling -= 1;
            (seed.guard, seed.policies_see) = (Guard::None, false);
            (seed.goes_back, seed.back_seen, seed.paused_by_rollback) = (false, 0, false);
        }
    }
}

/// Whether Gardener writes this class: a pool names it, or is to name it once it is written.
fn wants(config: &Config, seed: &Seed, c: usize) -> bool {
    seed.pools.contains(&(c as u8)) || (config.start.budget.roll_outs > 0 && c == 1)
}
