//! Loopback ports for servers that cannot say which port they were given.
//!
//! A port that is merely looked up free can be taken by any outgoing connection a moment later. So ports come from below
//! the kernel's ephemeral range (32768 and up on Linux), and a lock file for each keeps parallel test processes apart.

use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{FlockOperation, flock};

const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// A loopback port that nobody else in any rig takes while this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    /// Holds the lock.
    _lock: File,
}

impl Port {
    /// Reserves a port.
    pub(crate) fn reserve() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = std::env::temp_dir().join("mcm-migration-rig-ports");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for _ in 0..COUNT {
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            // Different processes start at different places, so that they seldom meet.
            let offset = std::process::id().wrapping_mul(97).wrapping_add(step) % COUNT;
            let number = u16::try_from(FIRST + offset)?;
            let path = folder.join(number.to_string());
            let lock = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .with_context(|| format!("cannot open {}", path.display()))?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
                && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok()
            {
                return Ok(Self { number, _lock: lock });
            }
        }
        bail!("no free loopback port between {FIRST} and {}", FIRST + COUNT)
    }

    /// Its number.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}
