//! What a search begins with, and how much may go wrong in it.

use crate::state::{Budget, Class, Id, Machine, Seed, Server, Stage, State, Template};

/// The bounds of one search.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Its name in tables.
    pub name: &'static str,
    /// What it is about, in one sentence.
    pub about: &'static str,
    /// The class of each Machine; a Machine that nobody makes stays absent.
    pub class_of: [usize; crate::state::MACHINES],
    /// The state to begin with.
    pub start: State,
    /// Gardener wants the shoot on STACKIT.
    pub wants_stackit: bool,
    /// The second seed's classes are `stackit` when the shoot comes there.
    pub second_seed_switched: bool,
    /// The first seed is cut off from its gardenlet and goes on when the shoot moves.
    pub bad_case: bool,
    /// Gardener turns the shoot back only after an operator has asked for it.
    pub back_is_asked: bool,
    /// Gardener does not turn the shoot forward again once an operator has asked for the way back.
    pub stays_back: bool,
    /// A rollback that is killed is not begun again.
    pub is_left: bool,
    /// An operator may do the last steps of a rollback by hand.
    pub by_hand: bool,
    /// Somebody may take the marker off a Machine.
    pub takes_marker: bool,
    /// In the bad case, the machine-controller-manager of the first seed goes on as well.
    pub source_mcm_lives: bool,
    /// Machines are made only after the Deployment has flipped back, and by the OpenStack machine-controller-manager.
    pub made_on_openstack: bool,
    /// The shoot may move while a Machine has no ID.
    pub leaves_in_flight: bool,
    /// The owner record is looked up.
    pub owner_record: bool,
    /// The server that the first Machine's ID names has another name.
    pub misnamed: bool,
    /// The project's ID in the Secret is not a plain UUID.
    pub odd_project: bool,
    /// A server of another landscape carries the label of the first class.
    pub neighbour: bool,
    /// The guard's policies are not installed.
    pub no_policies: bool,
    /// The webhook's watches may lag apart from each other also at the gate forward, each within the age at which a cache counts as stale.
    pub lag_apart: bool,
    /// The gate forward's caches show what is so; else what was so at some moment since the last tick.
    pub gate_is_prompt: bool,
    /// A machine-controller-manager that wakes up may see a Machine that was made meanwhile before it sees what became of the class.
    pub woken_apart: bool,
    /// The STACKIT machine-controller-manager runs with leader election, and ends itself when it cannot renew its Lease.
    pub election: bool,
    /// Machine-controller-managers may sweep for orphans at any time; else the search would be about other things.
    pub sweeps: bool,
    /// Reasons that may hold a run up for ever.
    pub may_wait_for: &'static [&'static str],
}

impl Config {
    /// Whether an operator has asked for the way back.
    #[must_use]
    pub fn was_asked(&self, state: &State) -> bool {
        state.budget.rollbacks < self.start.budget.rollbacks
    }
    /// One seed, whose shoot is still on OpenStack: Machines with these IDs, in these classes.
    #[must_use]
    pub fn one_seed(
        name: &'static str,
        about: &'static str,
        ids: [Id; 3],
        class_of: [usize; 3],
        budget: Budget,
    ) -> Self {
        let mut seed = Seed { stage: Stage::Ours, template: Template::OpenStack, ..Seed::default() };
        let mut state = State::default();
        seed.pools = [crate::state::NO_POOL; 2];
        for (index, id) in ids.into_iter().enumerate() {
            seed.machines[index] = Machine { id, flags: 0 };
            if id != Id::Absent {
                let class = class_of[index];
                seed.classes[class] = Class::OpenStack;
                seed.pools[class] = u8::try_from(class).unwrap_or_default();
                state.wanted |= 1 << index;
                state.ever |= 1 << index;
            }
            if id == Id::Legacy {
                state.cloud.old[index] = Server::There;
            }
        }
        state.seeds[0] = seed;
        state.budget = budget;
        Self {
            name,
            about,
            class_of,
            start: state,
            wants_stackit: true,
            second_seed_switched: true,
            bad_case: false,
            back_is_asked: false,
            stays_back: false,
            is_left: false,
            by_hand: false,
            takes_marker: false,
            source_mcm_lives: false,
            made_on_openstack: false,
            leaves_in_flight: false,
            owner_record: false,
            misnamed: false,
            odd_project: false,
            neighbour: false,
            no_policies: false,
            lag_apart: false,
            gate_is_prompt: false,
            woken_apart: false,
            election: true,
            sweeps: true,
            may_wait_for: &[],
        }
    }
}
