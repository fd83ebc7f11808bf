//! The side task: one replica, holding a Lease, brings every shoot of the seed from legacy to complete.

pub mod election;
pub mod owner_record;
