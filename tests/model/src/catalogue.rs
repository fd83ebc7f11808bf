//! Which configurations are searched, and which are known limits.

use crate::config::Config;
use crate::configs::{
    NOTHING, back, back_and_made, back_one, bad_case, by_hand, by_hand_and_stays, churn, cut, cut_without_election,
    forward, freeze, freeze_and_made, full, full_three, left_behind, left_behind_in_flight, marker_taken, meddling,
    misnamed, moves, moves_unswitched, neighbour, no_policies, odd_project, pause, pause_freeze, roll_out,
    roll_out_and_back, roll_out_in_flight, rollback, rollback_freeze, rollback_freeze_and_made, rollback_in_flight,
    rollback_left, rollback_roll_out, stays, three,
};
use crate::state::{Budget, Id};

use Id::{Absent, Empty, Legacy};

/// All that are searched by every `cargo test`, in the order of the documentation.
#[must_use]
pub fn all() -> Vec<Config> {
    vec![
        forward(),
        three(),
        freeze(),
        freeze_and_made(),
        cut(),
        cut_without_election(),
        churn(),
        back_one(),
        back_and_made(),
        roll_out(),
        roll_out_in_flight(),
        roll_out_and_back(),
        left_behind(),
        left_behind_in_flight(),
        rollback(),
        rollback_freeze(),
        rollback_freeze_and_made(),
        rollback_left(),
        rollback_roll_out(),
        rollback_in_flight(),
        by_hand(),
        by_hand_and_stays(),
        pause(),
        pause_freeze(),
        meddling(),
        marker_taken(),
        misnamed(),
        neighbour(),
        odd_project(),
        no_policies(),
        stays(),
        moves(),
        moves_unswitched(),
        bad_case(),
    ]
}

/// Those that take as long as all others together: searched with the feature `long`.
#[must_use]
pub fn long() -> Vec<Config> {
    vec![full()]
}

/// Those with larger bounds, for a large machine.
#[must_use]
pub fn wide() -> Vec<Config> {
    vec![back(), full_three()]
}

/// What no gate of this program can hold, each with what is to be known about it.
#[must_use]
pub fn limits() -> Vec<(Config, &'static str)> {
    let in_flight = |name, about, budget| Config::one_seed(name, about, [Legacy, Empty, Absent], [0, 0, 0], budget);
    vec![
        (
            in_flight(
                "paused-in-flight",
                "a Machine in flight, and an operator pauses",
                Budget { pauses: 1, ..NOTHING },
            ),
            "A pause says that nothing is to be refused: the gate forward lets the class turn, and the STACKIT MCM makes a second server. The \
             warning of the pause says so.",
        ),
        (
            Config {
                leaves_in_flight: true,
                ..in_flight(
                    "move-in-flight",
                    "the control plane moves while a Machine is in flight",
                    Budget { moves: 1, ..NOTHING },
                )
            },
            "A Machine that comes to a switched seed without an ID cannot be settled any more: the alarm `in-flight-unresolved` is raised, and \
             the STACKIT MCM makes a second server.",
        ),
        (
            in_flight(
                "settled-and-back",
                "a Machine in flight; the Deployment flips back once",
                Budget { template_back: 1, ..NOTHING },
            ),
            "`settled: no-server` stays on a Machine when Gardener turns the Deployment back before the class has turned; the OpenStack MCM may \
             then make its server after all, and the gate forward would not wait for it the next time.",
        ),
        (
            Config {
                lag_apart: true,
                ..Config::one_seed(
                    "watches-apart",
                    "a Machine is made; the webhook's watches lag apart",
                    [Legacy, Absent, Absent],
                    [0, 0, 0],
                    Budget { creates: 1, ..NOTHING },
                )
            },
            "The gate forward trusts caches that had a sign of life within `--cache-max-age`. If the watch of Machines hangs for that long while \
             the watch of pods does not, a Machine that was made just before the last OpenStack pod ended is not seen.",
        ),
        (
            Config {
                name: "freeze-and-made-late",
                about: "the same as freeze-and-made, and the webhook's caches are late",
                gate_is_prompt: false,
                woken_apart: true,
                ..freeze_and_made()
            },
            "The gate forward looks for pods and Machines, not for Nodes. If an OpenStack MCM wakes up on a hung Node in the very seconds in which a class \
             turns and a Machine of it is made, both MCMs make its server.",
        ),
        (
            Config {
                name: "bad-case-alive",
                source_mcm_lives: true,
                about: "the same as bad-case, and the first seed's MCM goes on too",
                ..bad_case()
            },
            "The owner record stops this program in the first seed, not the STACKIT MCM there. Where that one still has a Machine with an OpenStack \
             ID, it takes the server for an orphan once the second seed has labelled it. Only credentials that are rotated keep it from the cloud.",
        ),
    ]
}
