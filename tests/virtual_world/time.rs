//! The time of the world, and the time of one process in it.

use std::time::Duration;

use mcm_migration_core::plan::Moment;
use mcm_migration_webhook::sidetask::Clock;
use rand::RngExt;

use crate::world::{Shared, lock};

/// The time of the world: tokio's paused clock.
#[derive(Clone, Copy)]
pub struct WorldClock(tokio::time::Instant);

impl WorldClock {
    pub fn start() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub fn now(self) -> Moment {
        self.0.elapsed()
    }
}

/// The monotonic clock of one process. It stands still while its machine is suspended; when only the process is stopped, it jumps.
/// There is no wall clock here, because the side task has none: nothing but the time stamps of its conditions comes from one.
#[derive(Clone)]
pub struct ProcessClock {
    pub world: Shared,
    pub replica: usize,
}

impl ProcessClock {
    pub fn new(world: &Shared, replica: usize) -> Self {
        Self { world: world.clone(), replica }
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Moment {
        lock(&self.world).process_now(self.replica)
    }

    async fn sleep(&self, duration: Duration) {
        let until = self.now().saturating_add(duration);
        loop {
            let left = until.saturating_sub(self.now());
            tokio::time::sleep(left).await;
            awake(&self.world, self.replica).await;
            if self.now() >= until {
                return;
            }
        }
    }

    fn jitter(&self) -> f64 {
        lock(&self.world).rng.random()
    }
}

/// Nothing of a process that is frozen goes on.
pub async fn awake(world: &Shared, replica: usize) {
    loop {
        let left = {
            let world = lock(world);
            world.replicas[replica].frozen_until.saturating_sub(world.now())
        };
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}
