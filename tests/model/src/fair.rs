//! Completion: what becomes of a state when everybody does what is expected, one step after the other, and nothing more goes wrong.

use std::cell::RefCell;

use mcm_migration_core::decide::every_machine_is_done;
use mcm_migration_core::domain::Reason;

use crate::admission::no_mixed;
use crate::facts;
use crate::memo::Map;
use crate::model::World;
use crate::state::{
    Budget, CLASSES, Class, Guard, Id, MACHINES, MCMS, Process, SEEDS, Server, Stage, State, TERMINATING, Template,
    Write,
};
use crate::step::Step;

/// The longest fair schedule.
pub const LONGEST: usize = 160;

/// How a fair schedule ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The shoot is where Gardener wants it, and everything is done.
    Complete,
    /// Nothing is left to happen, and this is why.
    Waits(Reason),
    /// Nothing is left to happen, because this policy refuses it.
    Refused(&'static str),
    /// Nothing is left to happen, and nobody says why.
    Silent,
    /// It did not end in time.
    Endless,
    /// On the way an invariant broke.
    Harmed,
}

/// How the fair schedules of a world end that were followed already.
type Ends = (u64, Map<State, (End, u16)>);

thread_local! {
    static ENDS: RefCell<Ends> = RefCell::default();
}

impl World {
    /// The same state, in which nothing more goes wrong. Where a rollback is under way, Gardener turns the Deployment back; and the classes after
    /// that, where it is to stay so.
    fn calm(&self, state: &State) -> State {
        let goes_back = state.seeds.iter().any(|seed| seed.goes_back && seed.template != Template::OpenStack);
        let class_back = if self.config.stays_back && self.config.was_asked(state) { CLASSES as u8 } else { 0 };
        let template_back = u8::from(goes_back);
        let rollbacks = state.budget.rollbacks;
        let budget = Budget { moves: state.budget.moves, template_back, class_back, rollbacks, ..Budget::default() };
        State { budget, ..*state }
    }

    /// How the fair schedule from a state ends, and after how many steps.
    #[must_use]
    pub fn end(&self, state: &State) -> (End, u16) {
        let mut at = self.calm(state);
        let mut way = Vec::new();
        let (end, rest) = loop {
            if at.harm != 0 {
                break (End::Harmed, 0);
            }
            let known = ENDS.with_borrow_mut(|(of, ends)| {
                if *of != self.id() {
                    (*of, *ends) = (self.id(), Map::default());
                }
                ends.get(&at).copied()
            });
            if let Some(known) = known {
                break known;
            }
            if way.len() > LONGEST {
                break (End::Endless, 0);
            }
            way.push(at);
            match self.fair(&at) {
                Some(next) => at = next,
                None => break (self.verdict(&at), 0),
            }
        };
        ENDS.with_borrow_mut(|(_, ends)| {
            for (index, state) in way.iter().rev().enumerate() {
                ends.insert(*state, (end, rest.saturating_add(index as u16)));
            }
        });
        let steps = rest + way.len() as u16;
        if usize::from(steps) > LONGEST { (End::Endless, steps) } else { (end, steps) }
    }

    /// The next state of the fair schedule: faults heal, what is under way lands, Gardener goes on, then the machine-controller-managers, then the
    /// leader with the first of its writes that does something, then time.
    fn fair(&self, state: &State) -> Option<State> {
        self.fair_steps(state)
            .into_iter()
            .find_map(|step| self.after(state, step))
            .or_else(|| self.fair_pass(state))
            .or_else(|| self.after(state, Step::Tick))
    }

    /// The states of the fair schedule, for a reader.
    #[must_use]
    pub fn schedule(&self, state: &State) -> Vec<State> {
        let mut way = vec![self.calm(state)];
        while let Some(next) = way.last().filter(|_| way.len() < LONGEST).and_then(|last| self.fair(last)) {
            way.push(next);
        }
        way
    }

    fn fair_pass(&self, state: &State) -> Option<State> {
        for s in (0..SEEDS).filter(|s| state.seeds[*s].goes_back && state.seeds[*s].back_sent == Write::None) {
            let wish = self.back_wish(state, s);
            let sent = wish.writes.first().and_then(|write| self.after(state, Step::BackSends(s as u8, *write)));
            if sent.is_some() {
                return sent;
            }
        }
        let mut steps = Vec::new();
        for s in 0..SEEDS as u8 {
            self.sends(state, s, &mut steps);
        }
        // One that would change nothing is held back, as what fails is.
        steps.into_iter().find_map(|step| {
            let sent = self.after(state, step)?;
            let Step::Send(s, _) = step else { return None };
            let landed = self.after(&sent, Step::Lands(s))?;
            (landed != *state).then_some(landed)
        })
    }

    fn fair_steps(&self, state: &State) -> Vec<Step> {
        let mut steps = Vec::new();
        let seeds = || (0..SEEDS as u8).filter(|s| state.seeds[usize::from(*s)].stage != Stage::Absent);
        let both = |s: u8| (0..MCMS as u8).map(move |kind| (s, kind));
        for s in seeds() {
            steps.extend([Step::LeftLands(s), Step::Lands(s), Step::PoliciesSee(s), Step::Resumes(s)]);
            for (s, kind) in both(s) {
                steps.extend([Step::Wakes(s, kind), Step::Restarts(s, kind), Step::PodEnds(s, kind)]);
            }
        }
        steps.extend((0..MACHINES as u8).map(Step::ServerAppears));
        for s in seeds() {
            let goes_back = state.seeds[usize::from(s)].goes_back;
            steps.push(Step::SetTemplate(s, if goes_back { Template::OpenStack } else { Template::Stackit }));
            if goes_back {
                steps.extend([Step::BackLands(s), Step::RollbackEnds(s)]);
            }
            steps.extend(both(s).flat_map(|(s, kind)| [Step::PodStarts(s, kind), Step::Leads(s, kind)]));
            steps.extend([Step::PoolMoves(s), Step::ClassForward(s, 0), Step::ClassForward(s, 1)]);
            if state.budget.class_back > 0 {
                steps.extend([Step::ClassBack(s, 0), Step::ClassBack(s, 1)]);
            }
            for m in 0..MACHINES as u8 {
                steps.extend([Step::PosFinds(s, m), Step::PosAsks(s, m), Step::PosDeletes(s, m)]);
                steps.extend([Step::PstCreates(s, m), Step::PstDeletes(s, m)]);
            }
            steps.extend([Step::ClassGoes(s, 0), Step::ClassGoes(s, 1)]);
        }
        if self.config.start.budget.moves > 0 {
            let begun = state.record != 0 || state.budget.moves == 0;
            if begun {
                steps.push(Step::Persists);
                steps.extend((0..MACHINES as u8).map(Step::LeftBehind));
                steps.push(Step::Arrives);
                steps.extend((0..MACHINES as u8).map(Step::Restored));
                steps.push(Step::RestoreEnds);
            }
        }
        steps
    }

    fn verdict(&self, state: &State) -> End {
        let owner = usize::from(state.seeds[1].stage != Stage::Absent);
        let seed = &state.seeds[owner];
        let done = (0..MACHINES).all(|m| match seed.machines[m].id {
            Id::Absent => state.cloud.old[m] == Server::Absent && state.cloud.born & (1 << m) == 0,
            Id::Empty | Id::Legacy => false,
            Id::Rewritten => state.cloud.old[m] == Server::Labelled && seed.machines[m].flags & TERMINATING == 0,
            Id::Born => state.cloud.born & (1 << m) != 0,
        });
        let switched =
            !seed.classes.contains(&Class::OpenStack) && seed.mcms[crate::state::POS].process == Process::Off;
        let moved = (0..MACHINES).all(|m| state.wanted & (1 << m) == 0 || seed.machines[m].exists());
        if !self.config.wants_stackit {
            return End::Complete;
        }
        if done && switched && moved && self.is_marked(state, owner) && seed.sent == Write::None {
            return End::Complete;
        }
        let old = |m: usize| matches!(seed.machines[m].id, Id::Absent | Id::Legacy);
        let is_back = seed.template == Template::OpenStack && seed.guard == Guard::None && !seed.goes_back;
        if self.config.stays_back && is_back && (0..MACHINES).all(old) {
            return End::Complete;
        }
        if state.carried.iter().any(|machine| machine.exists() && no_mixed(&self.config, seed, *machine, self.out)) {
            return End::Refused("policy no-mixed");
        }
        if seed.goes_back {
            return self
                .back_wish(state, owner)
                .waits
                .first()
                .map_or(End::Silent, |because| End::Waits(because.reason));
        }
        match self.wish(state, owner).waits.first() {
            Some(because) => End::Waits(because.reason),
            // Nobody writes to a shoot in which nothing is to be migrated; what keeps its Worker from being marked, admission says.
            None => every_machine_is_done(&facts::facts(&self.config, owner, seed))
                .map_or_else(|because| End::Waits(because.reason), |()| End::Silent),
        }
    }

    /// The Worker is marked, or would be by Gardener's next write.
    fn is_marked(&self, state: &State, s: usize) -> bool {
        state.seeds[s].worker_marked
            || self.after(state, Step::WorkerWritten(s as u8)).is_some_and(|next| next.seeds[s].worker_marked)
    }
}
