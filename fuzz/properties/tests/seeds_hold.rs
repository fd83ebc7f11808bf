//! The properties hold for the seeds of the fuzz targets and for everything near them, so that a broken one is told by `cargo test`
//! on every machine, without libFuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use mcm_migration_fuzz_properties::TARGETS;

fn seeds() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../seeds")
}

fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let folder = fs::read_dir(seeds().join(target)).unwrap_or_else(|error| panic!("fuzz/seeds/{target}: {error}"));
    folder.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn every_target_has_seeds_and_every_seed_a_target() {
    for (target, _) in TARGETS {
        assert!(!seeds_of(target).is_empty(), "{target}");
    }
    for folder in fs::read_dir(seeds()).unwrap() {
        let name = folder.unwrap().file_name();
        assert!(TARGETS.iter().any(|(target, _)| name == *target), "{name:?} is no target");
    }
}

#[test]
fn every_target_is_run_by_cargo_fuzz() {
    let manifest = fs::read_to_string(seeds().join("../Cargo.toml")).unwrap();
    for (target, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is missing in fuzz/Cargo.toml");
        let body = fs::read_to_string(seeds().join(format!("../fuzz_targets/{target}.rs"))).unwrap();
        assert!(body.contains(&format!("mcm_migration_fuzz_properties::{target}")), "{target}");
    }
}

#[test]
fn the_properties_hold_for_the_seeds_and_for_everything_near_them() {
    for (target, property) in TARGETS {
        for seed in seeds_of(target) {
            property(&seed);
            for at in 0..seed.len() {
                property(&seed[..at]);
                property(&[&seed[..at], &seed[at + 1..]].concat());
                for byte in [0, b'"', b'}', b'9', b'\\', 0xff, seed[at] ^ 0x20] {
                    let mut near = seed.clone();
                    near[at] = byte;
                    property(&near);
                }
            }
        }
    }
}
