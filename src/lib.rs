//! `mcm-migration-webhook`: the shell around [`mcm_migration_core`]. Data flows one way through its rooms.
//!
//! | room | holds | knows |
//! |---|---|---|
//! | [`world`] | what is known now: caches from an API server or a folder, reduced to domain values, with their age | core |
//! | [`admission`] | routes, the wire form of answers, audit | core, world |
//! | [`serving`] | listeners, TLS, certificates, shutdown, the admin listener, metrics | – |
//! | `seed` | calls to the API server beyond what is watched: guard, probe, status, Nodes | core, world |
//! | [`cloud`] | the STACKIT client: keys and tokens, calls, limits | core |
//! | [`sidetask`] | leader election, the executor, quarantine, watchdog | core, world, seed, cloud |
//! | [`commands`] | one file a subcommand; flags; wiring | all |

/// The version of this build, as `--version`, the logs and the audit annotations name it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod admission;
pub mod cloud;
pub mod commands;
mod error_chain;
mod seed;
pub mod serving;
pub mod sidetask;
pub mod world;
