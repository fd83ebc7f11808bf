//! The search: every order of every step, by stateright.

use stateright::{Checker, Model, Property};

use crate::fair::End;
use crate::memo::Map;
use crate::model::World;
use crate::state::{
    Cloud, EARLY, FOREIGN, Id, KILLED, LEAKED, MACHINES, MARKED, MISFIT, PAUSE_BROKEN, STRANDED, Seed, Server, State,
};
use crate::step::Step;

impl Model for World {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.start()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        actions.extend(self.candidates(state));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        self.after(state, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(NO_DEATH, |_, state: &State| state.harm & KILLED == 0),
            Property::always(NO_LEAK, |_, state: &State| state.harm & LEAKED == 0),
            Property::always(NO_FOREIGN, |_, state: &State| state.harm & FOREIGN == 0),
            Property::always(DONE, |world: &Self, state: &State| {
                state.harm & EARLY == 0 && (marked_is_done(state) || world.takes_marks_away(state))
            }),
            Property::always(SPEC, |_, state: &State| state.harm & MISFIT == 0),
            Property::always(LEFT, |_, state: &State| state.harm & STRANDED == 0),
            Property::always(PAUSE, |_, state: &State| state.harm & PAUSE_BROKEN == 0),
            Property::always(NO_REFUSAL, |world: &Self, state: &State| world.leaves_alone(state)),
        ];
        if self.completes {
            properties.push(Property::always(ENDS, |world: &Self, state: &State| {
                state.harm != 0 || world.may_end_so(world.end(state).0)
            }));
        }
        properties
    }
}

/// The first invariant.
pub const NO_DEATH: &str = "no server of a wanted Machine is deleted";
/// The second.
pub const NO_LEAK: &str = "no server is left without a Machine that names it";
/// The third.
pub const NO_FOREIGN: &str = "no foreign server is labelled";
/// The fourth.
pub const DONE: &str = "a marked Worker's Machines are done, or the next pass takes the mark away";
/// No Machine gets the server of another pool.
pub const SPEC: &str = "no server is made by the provider spec of another pool's class";
/// Nobody is left behind on the way back.
pub const LEFT: &str = "when the way back is through, no Machine is left in a class that nobody turns";
/// The fifth.
pub const PAUSE: &str = "nothing is rewritten while paused";
/// The sixth.
pub const NO_REFUSAL: &str = "no write of a shoot that does not migrate, or was taken back, is refused or changed";

/// The seventh.
pub const ENDS: &str = "a fair schedule completes, or names its reason";

impl World {
    /// Whether a fair schedule may end like this.
    #[must_use]
    pub fn may_end_so(&self, end: End) -> bool {
        match end {
            End::Complete => true,
            End::Waits(reason) => self.config.may_wait_for.contains(&reason.name()),
            End::Refused(policy) => self.config.may_wait_for.contains(&policy),
            // An invariant that breaks on the way is told by that invariant.
            End::Harmed => true,
            End::Silent | End::Endless => false,
        }
    }
}

/// Whether everything is done where the Worker says so.
#[must_use]
pub fn marked_is_done(state: &State) -> bool {
    let marked = state.seeds.iter().filter(|seed| seed.worker_marked);
    marked.into_iter().all(|seed| (0..MACHINES).all(|m| machine_is_done(seed, &state.cloud, m)))
}

/// Whether nothing is left to do for a Machine.
#[must_use]
pub fn machine_is_done(seed: &Seed, cloud: &Cloud, m: usize) -> bool {
    match seed.machines[m].id {
        Id::Absent | Id::Empty | Id::Born => true,
        Id::Legacy => false,
        Id::Rewritten => !seed.machines[m].is(MARKED) && cloud.old[m] != Server::There,
    }
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Different states.
    pub unique: usize,
    /// Steps taken, also to states that were known.
    pub steps: usize,
    /// The longest way from the start, in states.
    pub depth: usize,
    /// For each invariant that is broken, the steps to it.
    pub broken: Vec<(&'static str, Vec<Step>)>,
}

/// Searches everything, breadth first; with one thread the counterexamples are the shortest.
#[must_use]
pub fn search(world: World, threads: usize) -> Found {
    let checker = world.checker().threads(threads);
    let checker = checker.finish_when(stateright::HasDiscoveries::AnyFailures).spawn_bfs().join();
    let mut broken: Vec<_> = checker
        .discoveries()
        .into_iter()
        .map(|(name, path)| (name, shortest(&world, name, path.into_actions())))
        .collect();
    broken.sort_by_key(|(_, steps)| steps.len());
    Found { unique: checker.unique_state_count(), steps: checker.state_count(), depth: checker.max_depth(), broken }
}

/// The steps up to the first state in which the invariant is broken.
fn shortest(world: &World, name: &str, mut steps: Vec<Step>) -> Vec<Step> {
    let Some(property) = world.properties().into_iter().find(|property| property.name == name) else { return steps };
    let mut state = world.start();
    for n in 0..steps.len() {
        let Some(next) = world.after(&state, steps[n]) else { break };
        state = next;
        if !(property.condition)(world, &state) {
            steps.truncate(n + 1);
            break;
        }
    }
    steps
}

/// How many different orders of steps lead from the start to an end, where nothing can happen twice; none where something can.
#[must_use]
pub fn orders(world: &World) -> Option<u128> {
    let mut known = Map::default();
    count(world, &world.start(), &mut known)
}

fn count(world: &World, state: &State, known: &mut Map<State, Option<u128>>) -> Option<u128> {
    if let Some(count) = known.get(state) {
        // One that is not counted yet lies on the way to itself.
        return *count;
    }
    known.insert(*state, None);
    let next = world.next_states(state);
    let mut total = u128::from(next.is_empty());
    for next in next {
        total = total.checked_add(count(world, &next, known)?)?;
    }
    known.insert(*state, Some(total));
    Some(total)
}
