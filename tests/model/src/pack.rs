//! Hashes of what a state is made of: over its bytes at once, not over one field after the other, since a search hashes hundreds of millions.

use std::hash::{Hash, Hasher};

use crate::state::{Cloud, Seed, State};

/// The bytes of small fields, one after the other. Every number that a state holds fits into what is written here of it.
struct Packed {
    bytes: [u8; 256],
    length: usize,
}

impl Packed {
    fn of(fields: impl FnOnce(&mut Self)) -> Self {
        let mut packed = Self { bytes: [0; 256], length: 0 };
        fields(&mut packed);
        packed
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Hasher for Packed {
    fn finish(&self) -> u64 {
        0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
    fn write_u8(&mut self, n: u8) {
        self.bytes[self.length] = n;
        self.length += 1;
    }
    /// Which variant it is.
    fn write_isize(&mut self, n: isize) {
        self.write_u8(n.to_le_bytes()[0]);
    }
    /// How many there are of an array, which is always the same; hence [`State`] has no `usize`.
    fn write_usize(&mut self, _: usize) {}
}

impl Hash for Seed {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            stage,
            machines,
            classes,
            pools,
            guard,
            policies_see,
            migration,
            paused_long,
            turned,
            worker_marked,
            template,
            mcms,
            window,
            seen,
            goes_back,
            back_seen,
            back_sent,
            paused_by_rollback,
            is_back,
            misfits,
            sent,
            left,
        } = self;
        let packed = Packed::of(|to| {
            (stage, machines, classes, pools, guard, policies_see, migration, paused_long, turned).hash(to);
            (worker_marked, template, mcms, window, seen, goes_back, back_seen, back_sent).hash(to);
            (paused_by_rollback, is_back, misfits, sent, left).hash(to);
        });
        hasher.write(packed.bytes());
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { seeds, cloud, wanted, ever, carried, record, budget, harm } = self;
        let Cloud { old, born, foreign_labelled } = cloud;
        let packed =
            Packed::of(|to| (wanted, ever, carried, record, budget, harm, old, born, foreign_labelled).hash(to));
        for seed in seeds {
            seed.hash(hasher);
        }
        hasher.write(packed.bytes());
    }
}
