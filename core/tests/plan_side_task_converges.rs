//! Every healthy shoot completes within a bounded time, whatever hangs, lags, fails or is replaced on the way; no server is lost, and after
//! that nothing more is planned.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::domain::{Provider, ServerId};
use mcm_migration_core::plan::{Proof, Settings};
use proptest::prelude::*;
use side_task::DOMAIN;
use side_task::script::{CALM, Run, Script, Story, script};

/// By then every run is over: calm, a quarantine, the Nodes, a Machine that is still in flight, and the longest pauses of steps that failed.
const LATEST: u64 = CALM + 5_000;

fn run_to_the_end(script: &Script) -> Result<Run, TestCaseError> {
    let mut run = Run::new(script.clone());
    while run.world.now.as_secs() < LATEST {
        run.round(if run.world.now.as_secs() < 3_600 { 10 } else { 40 });
        prop_assert!(run.world.harm.is_empty(), "{:?} {:#?}", run.world.harm, run.world.journal);
        if run.is_over() && run.world.now.as_secs() > 3_600 {
            break;
        }
    }
    let last = run.world.last.as_ref().map(|(plan, _)| &plan.waits);
    prop_assert!(run.is_over(), "waits for {:#?}; {:#?}; {:#?}", last, run.world.facts, run.world.journal);
    Ok(run)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 400, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn a_healthy_shoot_completes_and_no_server_is_lost(script in script()) {
        let mut run = run_to_the_end(&script)?;
        let world = &run.world;
        let facts = &world.facts;
        for (name, machine) in &facts.machines {
            prop_assert!(machine.provider_id.starts_with("stackit://") && !machine.marked, "{} {:?}", name, machine);
            let server = ServerId::parse(machine.provider_id.rsplit('/').next().unwrap()).unwrap();
            let server = world.servers.get(&server).expect("its server lives");
            prop_assert_eq!(&server.name, name);
            prop_assert_eq!(server.labels.get(&*format!("{DOMAIN}/machine")), Some(name));
            prop_assert_eq!(server.labels.get(&*format!("{DOMAIN}/machineclass")), Some(&machine.class));
            prop_assert_eq!(server.labels.get("kubernetes.io/cluster").map(|value| &**value), Some("shoot--p--s"));
        }
        prop_assert_eq!(world.servers.len(), facts.machines.len(), "no server is left behind");
        prop_assert!(facts.classes.values().all(|provider| *provider == Provider::Stackit));
        if script.story == Story::Deleted || run.is_no_concern() {
            return Ok(());
        }
        prop_assert!(facts.workers.values().all(|worker| worker.marked));
        // Nothing more to do, not for another leader either.
        run.world.failing = 0;
        for leader in [false, true] {
            if leader {
                run.world.leader = side_task::world::Leader::default();
            }
            for _ in 0..3 {
                run.round(40);
            }
            let steps: usize = (0..3).map(|_| run.round(40)).sum();
            prop_assert_eq!(steps, 0, "{:#?}", run.world.journal);
            prop_assert_eq!(run.world.plan(&Proof::Holds).unwrap().actions, []);
            prop_assert!(run.world.is_complete());
        }
        prop_assert!(run.world.settings.quarantine >= Settings::SAFE_QUARANTINE);
    }

    #[test]
    fn labels_that_somebody_takes_off_and_old_ids_that_somebody_writes_back_are_mended(script in script(), old_ids: bool) {
        let mut run = run_to_the_end(&script)?;
        run.world.failing = 0;
        if script.story == Story::Deleted || run.is_no_concern() {
            return Ok(());
        }
        for server in run.world.born.clone() {
            run.world.servers.entry(server).and_modify(|server| server.labels.clear());
        }
        if old_ids {
            // As a rollback does: the labels go first, then the old IDs come back.
            for machine in run.world.facts.machines.values_mut().filter(|machine| machine.migrated) {
                let server = machine.provider_id.rsplit('/').next().unwrap();
                machine.provider_id = format!("openstack:///RegionOne/{server}").into();
            }
        }
        let until = run.world.now.as_secs() + 3_600 + 2_000;
        while run.world.now.as_secs() < until {
            run.round(20);
            prop_assert!(run.world.harm.is_empty(), "{:?} {:#?}", run.world.harm, run.world.journal);
        }
        prop_assert!(run.world.is_complete(), "{:#?} {:#?}", run.world.facts, run.world.last);
        for (name, machine) in run.world.facts.machines.iter().filter(|(_, machine)| machine.migrated) {
            let server = ServerId::parse(machine.provider_id.rsplit('/').next().unwrap()).unwrap();
            prop_assert_eq!(run.world.servers[&server].labels.get(&*format!("{DOMAIN}/machine")), Some(name));
            prop_assert!(machine.provider_id.starts_with("stackit://") && !machine.marked);
        }
    }
}
