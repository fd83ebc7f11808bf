//! The configurations: each bounds one kind of trouble; together they cover all of it.

use crate::config::Config;
pub use crate::configs_back::*;
use crate::state::{Budget, Class, Id, Template};

use Id::{Absent, Empty, Legacy};

/// Nothing goes wrong.
pub(crate) const NOTHING: Budget = Budget {
    template_back: 0,
    class_back: 0,
    creates: 0,
    deletes: 0,
    freezes: 0,
    cuts: 0,
    crashes: 0,
    meddling: 0,
    pauses: 0,
    moves: 0,
    roll_outs: 0,
    rollbacks: 0,
    kills: 0,
};

/// One Machine that is there, one in flight, both of one class; the leader changes once.
#[must_use]
pub fn forward() -> Config {
    let budget = Budget { crashes: 1, ..NOTHING };
    Config::one_seed(
        "forward",
        "one Machine, one in flight, the leader changes once",
        [Legacy, Empty, Absent],
        [0, 0, 0],
        budget,
    )
}

/// One Machine and one in flight; a Node freezes with the machine-controller-manager on it.
#[must_use]
pub fn freeze() -> Config {
    let budget = Budget { freezes: 1, ..NOTHING };
    Config::one_seed(
        "freeze",
        "one Machine, one in flight, a Node freezes with a machine-controller-manager",
        [Legacy, Empty, Absent],
        [0, 0, 0],
        budget,
    )
}

/// A Node freezes with the machine-controller-manager on it, and a Machine is made meanwhile.
#[must_use]
pub fn freeze_and_made() -> Config {
    let budget = Budget { freezes: 1, creates: 1, ..NOTHING };
    let about = "one Machine; a Node freezes with a machine-controller-manager, and a Machine is made";
    let config = Config::one_seed("freeze-and-made", about, [Legacy, Absent, Absent], [0, 0, 0], budget);
    Config { gate_is_prompt: true, ..config }
}

/// One Machine; a machine-controller-manager loses the API server.
#[must_use]
pub fn cut() -> Config {
    let budget = Budget { cuts: 1, ..NOTHING };
    Config::one_seed(
        "cut",
        "one Machine, one in flight, a machine-controller-manager loses the API server",
        [Legacy, Empty, Absent],
        [0, 0, 0],
        budget,
    )
}

/// The STACKIT machine-controller-manager runs without leader election and loses the API server.
#[must_use]
pub fn cut_without_election() -> Config {
    let budget = Budget { cuts: 1, ..NOTHING };
    let about = "one Machine; a machine-controller-manager without leader election loses the API server";
    let config = Config::one_seed("cut-no-election", about, [Legacy, Absent, Absent], [0, 0, 0], budget);
    Config { election: false, may_wait_for: &["no-lease-evidence"], ..config }
}

/// A Machine is deleted, another made.
#[must_use]
pub fn churn() -> Config {
    let budget = Budget { creates: 1, deletes: 1, ..NOTHING };
    Config::one_seed("churn", "one Machine; one is deleted and one made", [Legacy, Absent, Absent], [0, 0, 0], budget)
}

/// Gardener changes its mind: the Deployment and the classes flip there and back.
#[must_use]
pub fn back() -> Config {
    let budget = Budget { template_back: 1, class_back: 1, ..NOTHING };
    Config::one_seed(
        "back",
        "two Machines; the Deployment flips back once, and a class",
        [Legacy, Legacy, Absent],
        [0, 0, 0],
        budget,
    )
}

/// The same with two classes, of which one was left behind.
#[must_use]
pub fn back_one() -> Config {
    let budget = Budget { template_back: 1, class_back: 1, ..NOTHING };
    Config::one_seed(
        "back-one",
        "one Machine; the Deployment flips back once, and a class",
        [Legacy, Absent, Absent],
        [0, 0, 0],
        budget,
    )
}

/// A new class replaces the first one in the reconcile that switches the shoot.
#[must_use]
pub fn roll_out() -> Config {
    let budget = Budget { roll_outs: 1, creates: 1, deletes: 1, ..NOTHING };
    let about =
        "one Machine, a new class beside the one that is left behind, a Machine made in it and the old one deleted";
    Config::one_seed("roll-out", about, [Legacy, Absent, Absent], [0, 1, 1], budget)
}

/// Gardener changes its mind while a roll-out is under way.
#[must_use]
pub fn roll_out_and_back() -> Config {
    let budget = Budget { roll_outs: 1, template_back: 1, class_back: 1, ..NOTHING };
    let about =
        "one Machine, a new class beside the one that is left behind; the Deployment flips back once, and a class";
    Config::one_seed("roll-out-and-back", about, [Legacy, Absent, Absent], [0, 1, 1], budget)
}

/// The same with a Machine in flight in the class that is left behind.
#[must_use]
pub fn roll_out_in_flight() -> Config {
    let budget = Budget { roll_outs: 1, ..NOTHING };
    let about = "one Machine, one in flight, a new class beside the one that is left behind";
    Config::one_seed("roll-out-in-flight", about, [Legacy, Empty, Absent], [0, 0, 1], budget)
}

fn leave_behind(mut config: Config) -> Config {
    let seed = &mut config.start.seeds[0];
    (seed.pools, seed.template) = ([1, crate::state::NO_POOL], Template::Stackit);
    seed.classes[1] = Class::Stackit;
    config
}

/// A class that is left behind; Gardener does not turn it, and turns the Deployment back once.
#[must_use]
pub fn left_behind() -> Config {
    let budget = Budget { template_back: 1, ..NOTHING };
    let about = "one Machine in a class that nothing wants any more; the Deployment flips back once";
    leave_behind(Config::one_seed("left-behind", about, [Legacy, Absent, Absent], [0, 0, 1], budget))
}

/// The same with a Machine in flight.
#[must_use]
pub fn left_behind_in_flight() -> Config {
    let about = "one Machine and one in flight in a class that nothing wants any more";
    let mut config =
        leave_behind(Config::one_seed("left-behind-in-flight", about, [Legacy, Empty, Absent], [0, 0, 1], NOTHING));
    config.start.seeds[0].template = Template::OpenStack;
    config
}

/// Gardener turns the Deployment back while Machines are made.
#[must_use]
pub fn back_and_made() -> Config {
    let budget = Budget { template_back: 1, creates: 1, ..NOTHING };
    let about = "one Machine; the Deployment flips back once, and another Machine is made then";
    let config = Config::one_seed("back-and-made", about, [Legacy, Absent, Absent], [0, 0, 0], budget);
    Config { made_on_openstack: true, ..config }
}

/// An operator pauses, and a Node freezes with the machine-controller-manager on it.
#[must_use]
pub fn pause_freeze() -> Config {
    let budget = Budget { pauses: 1, freezes: 1, ..NOTHING };
    let about = "one Machine; an operator pauses once, and a Node freezes with a machine-controller-manager";
    Config::one_seed("pause-freeze", about, [Legacy, Absent, Absent], [0, 0, 0], budget)
}

/// Somebody takes the marker off.
#[must_use]
pub fn marker_taken() -> Config {
    let budget = Budget { meddling: 1, ..NOTHING };
    let about = "one Machine; somebody takes the marker off it";
    let config = Config::one_seed("marker-taken", about, [Legacy, Absent, Absent], [0, 0, 0], budget);
    Config { takes_marker: true, ..config }
}

/// An operator pauses.
#[must_use]
pub fn pause() -> Config {
    let budget = Budget { pauses: 1, ..NOTHING };
    Config::one_seed("pause", "two Machines; an operator pauses once", [Legacy, Legacy, Absent], [0, 0, 0], budget)
}

/// Old IDs are written back, the guard's label is taken away.
#[must_use]
pub fn meddling() -> Config {
    let budget = Budget { meddling: 2, template_back: 1, class_back: 1, ..NOTHING };
    let about = "one Machine; somebody writes its old ID back or takes the guard's label away, and Gardener flips back";
    Config::one_seed("meddling", about, [Legacy, Absent, Absent], [0, 0, 0], budget)
}

/// The first Machine's ID names a server of another name.
#[must_use]
pub fn misnamed() -> Config {
    let config = Config::one_seed(
        "misnamed",
        "the ID of one Machine names somebody else's server",
        [Legacy, Absent, Absent],
        [0, 0, 0],
        NOTHING,
    );
    Config { misnamed: true, may_wait_for: &["name-mismatch"], ..config }
}

/// Another landscape in the project has a class of the same name.
#[must_use]
pub fn neighbour() -> Config {
    let config = Config::one_seed(
        "neighbour",
        "another landscape's server carries the class's label",
        [Legacy, Absent, Absent],
        [0, 0, 0],
        NOTHING,
    );
    Config { neighbour: true, may_wait_for: &["class-label-foreign"], ..config }
}

/// The Secret's project is no plain UUID.
#[must_use]
pub fn odd_project() -> Config {
    let budget = Budget { deletes: 1, ..NOTHING };
    let config = Config::one_seed(
        "odd-project",
        "the project in the Secret is not a plain UUID",
        [Legacy, Absent, Absent],
        [0, 0, 0],
        budget,
    );
    Config { odd_project: true, may_wait_for: &["project-unknown"], ..config }
}

/// The guard's policies are not installed.
#[must_use]
pub fn no_policies() -> Config {
    let budget = Budget { template_back: 1, class_back: 1, ..NOTHING };
    let config = Config::one_seed(
        "no-policies",
        "the guard's policies are not installed, and Gardener flips back",
        [Legacy, Absent, Absent],
        [0, 0, 0],
        budget,
    );
    Config { no_policies: true, may_wait_for: &["guard-open"], ..config }
}

/// The shoot moves to a second seed that is switched.
#[must_use]
pub fn moves() -> Config {
    let budget = Budget { moves: 1, ..NOTHING };
    Config::one_seed(
        "move",
        "one Machine, one in flight; the control plane moves to a second seed that is switched",
        [Legacy, Empty, Absent],
        [0, 0, 0],
        budget,
    )
}

/// The shoot moves to a second seed that is not switched.
#[must_use]
pub fn moves_unswitched() -> Config {
    let budget = Budget { moves: 1, ..NOTHING };
    let about = "one Machine; the control plane moves to a second seed that is not switched";
    let config = Config::one_seed("move-unswitched", about, [Legacy, Absent, Absent], [0, 0, 0], budget);
    Config { second_seed_switched: false, may_wait_for: &["restore-slow", "policy no-mixed"], ..config }
}

/// The bad case: the first seed is cut off from its gardenlet, and its webhook and side task go on.
#[must_use]
pub fn bad_case() -> Config {
    let budget = Budget { moves: 1, ..NOTHING };
    let about = "one Machine; the first seed is cut off from its gardenlet, its MCM has ended, its webhook and side task go on; with an owner record";
    let config = Config::one_seed("bad-case", about, [Legacy, Absent, Absent], [0, 0, 0], budget);
    Config { bad_case: true, owner_record: true, ..config }
}

/// A shoot that does not migrate.
#[must_use]
pub fn stays() -> Config {
    let budget = Budget { creates: 1, deletes: 1, crashes: 1, freezes: 1, ..NOTHING };
    let config =
        Config::one_seed("stays", "a shoot that stays on OpenStack", [Legacy, Empty, Absent], [0, 0, 0], budget);
    Config { wants_stackit: false, ..config }
}

/// What is asked for at least, all at once: two Machines of which one is in flight, two classes, two seeds, one change of the leader.
#[must_use]
pub fn full() -> Config {
    let budget = Budget { crashes: 1, moves: 1, ..NOTHING };
    let about = "two Machines, one of them in flight, two classes, two seeds, the leader changes once";
    Config::one_seed("full", about, [Legacy, Empty, Absent], [0, 1, 0], budget)
}

/// The same with two Machines beside the one in flight.
#[must_use]
pub fn full_three() -> Config {
    let budget = Budget { crashes: 1, moves: 1, ..NOTHING };
    let about = "two Machines and one in flight, two classes, two seeds, the leader changes once";
    Config::one_seed("full-three", about, [Legacy, Legacy, Empty], [0, 1, 1], budget)
}

/// Two Machines and one in flight in two classes, in one seed.
#[must_use]
pub fn three() -> Config {
    Config::one_seed(
        "three",
        "two Machines and one in flight, two classes",
        [Legacy, Legacy, Empty],
        [0, 1, 1],
        NOTHING,
    )
}
