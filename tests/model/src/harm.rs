//! What can have gone wrong for good, each a bit.

/// A server of a wanted Machine was deleted.
pub const KILLED: u8 = 1;
/// A server is left without a Machine that names it.
pub const LEAKED: u8 = 2;
/// A server that is not ours was labelled.
pub const FOREIGN: u8 = 4;
/// The Worker is marked and something is not done.
pub const EARLY: u8 = 8;
/// A rollback was through while a Machine was left in a class that nobody turns back.
pub const STRANDED: u8 = 16;
/// A Machine was rewritten while the shoot was paused.
pub const PAUSE_BROKEN: u8 = 32;
/// A server was made for a wanted class by the provider spec of another one.
pub const MISFIT: u8 = 64;
