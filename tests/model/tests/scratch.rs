#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]
use migration_model::config::Config;
use migration_model::gates::*;
use migration_model::model::World;
use migration_model::search::search;
use migration_model::state::*;
use std::time::Instant;

fn run(name: &str, c: Config, out: &[Gate], threads: usize) {
    let t = Instant::now();
    let f = search(World::new(c, Out::of(out)), threads);
    println!("{name} {out:?}: unique {} steps {} depth {} {:?}", f.unique, f.steps, f.depth, t.elapsed());
    for (n, s) in f.broken.iter().take(1) {
        println!("   !! {n}");
        for x in s {
            println!("       {x:?}");
        }
    }
}

#[test]
fn first() {
    let b = Budget::default();
    let one = |ids, class_of, budget| Config::one_seed("a", "", ids, class_of, budget);
    use Id::*;
    let name = std::env::var("W").unwrap_or_default();
    if name == "size" {
        run("plain", one([Legacy, Empty, Absent], [0, 0, 0], b), &[], 2);
        run("2 classes", one([Legacy, Empty, Absent], [0, 1, 0], b), &[], 2);
        run("crash", one([Legacy, Empty, Absent], [0, 0, 0], Budget { crashes: 1, ..b }), &[], 2);
        run("freeze", one([Legacy, Empty, Absent], [0, 0, 0], Budget { freezes: 1, ..b }), &[], 2);
        run("cut", one([Legacy, Empty, Absent], [0, 0, 0], Budget { cuts: 1, ..b }), &[], 2);
        run("delete", one([Legacy, Empty, Absent], [0, 0, 0], Budget { deletes: 1, ..b }), &[], 2);
        run("create", one([Legacy, Empty, Absent], [0, 0, 0], Budget { creates: 1, ..b }), &[], 2);
        run("back", one([Legacy, Empty, Absent], [0, 0, 0], Budget { template_back: 1, class_back: 1, ..b }), &[], 2);
        run("3", one([Legacy, Legacy, Empty], [0, 1, 1], b), &[], 2);
        run("pause", one([Legacy, Empty, Absent], [0, 0, 0], Budget { pauses: 1, ..b }), &[], 2);
        run(
            "rollout",
            one([Legacy, Absent, Absent], [0, 1, 0], Budget { roll_outs: 1, creates: 1, deletes: 1, ..b }),
            &[],
            2,
        );
        let mut c = one([Legacy, Empty, Absent], [0, 0, 0], Budget { moves: 1, ..b });
        run("move", c, &[], 2);
        c.second_seed_switched = false;
        run("move-un", c, &[], 2);
    }
    if name == "bite" {
        for g in [
            Gate::GateForward,
            Gate::Quarantine,
            Gate::InflightTimeout,
            Gate::ForwardPods,
            Gate::ForwardSettled,
            Gate::ReadBack,
            Gate::WorkerDone,
            Gate::AdmissionArmed,
        ] {
            run("plain", one([Legacy, Empty, Absent], [0, 0, 0], b), &[g], 1);
        }
        run("cut", one([Legacy, Absent, Absent], [0, 0, 0], Budget { cuts: 1, ..b }), &[Gate::Evidence], 1);
        run(
            "freeze",
            one([Legacy, Absent, Absent], [0, 0, 0], Budget { freezes: 1, ..b }),
            &[Gate::NodesBeforeArming],
            1,
        );
        run(
            "freeze",
            one([Legacy, Absent, Absent], [0, 0, 0], Budget { freezes: 1, ..b }),
            &[Gate::NodesBeforeLabelling],
            1,
        );
        run("freeze", one([Legacy, Absent, Absent], [0, 0, 0], Budget { freezes: 1, ..b }), &[Gate::AdmissionArmed], 1);
        run(
            "back",
            one([Legacy, Absent, Absent], [0, 0, 0], Budget { template_back: 1, class_back: 1, ..b }),
            &[Gate::NoWayBack],
            1,
        );
        run("meddle", one([Legacy, Absent, Absent], [0, 0, 0], Budget { meddling: 1, ..b }), &[Gate::KeepIds], 1);
        let mut c = one([Legacy, Absent, Absent], [0, 0, 0], Budget { moves: 1, ..b });
        run("move", c, &[Gate::OwnershipGate], 1);
        c.second_seed_switched = false;
        run("move", c, &[Gate::NoMixed], 1);
    }
}
