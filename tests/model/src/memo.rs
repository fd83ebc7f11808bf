//! Answers of the product that were asked for before, one store a thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::planner::Wish;
use crate::state::{Cloud, Machine, Seed};

/// A quick hash for keys of a few hundred bytes that nobody chooses in bad faith.
#[derive(Default)]
pub struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        self.write_u64(u64::from_le_bytes(word));
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
    fn write_isize(&mut self, n: isize) {
        self.write_u64(n.cast_unsigned() as u64);
    }
}

/// A map by [`Quick`].
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// What has been asked.
#[derive(Default)]
pub struct Memo {
    of: u64,
    looks: Map<(u8, Seed), u32>,
    aged: Map<u32, u32>,
    back_looks: Map<(u8, Seed), u32>,
    back_wishes: Map<(u8, Seed, Cloud), Rc<Wish>>,
    wishes: Map<(u8, Seed, Cloud), Rc<Wish>>,
    machines: Map<(u8, Seed, u8, Machine), Machine>,
    flips: Map<(u8, Seed, u8), bool>,
    workers: Map<(u8, Seed), bool>,
}

thread_local! {
    static MEMO: RefCell<Memo> = RefCell::default();
}

macro_rules! remembered {
    ($name:ident, $map:ident, $key:ty => $value:ty) => {
        /// The answer, from the store or else from `ask`.
        pub fn $name(model: u64, key: $key, ask: impl FnOnce() -> $value) -> $value {
            let known = MEMO.with_borrow_mut(|memo| {
                if memo.of != model {
                    *memo = Memo { of: model, ..Memo::default() };
                }
                memo.$map.get(&key).cloned()
            });
            known.unwrap_or_else(|| {
                let answer = ask();
                MEMO.with_borrow_mut(|memo| memo.$map.insert(key, answer.clone()));
                answer
            })
        }
    };
}

remembered!(look, looks, (u8, Seed) => u32);
remembered!(aged, aged, u32 => u32);
remembered!(back_look, back_looks, (u8, Seed) => u32);
remembered!(back_wish, back_wishes, (u8, Seed, Cloud) => Rc<Wish>);
remembered!(wish, wishes, (u8, Seed, Cloud) => Rc<Wish>);
remembered!(machine, machines, (u8, Seed, u8, Machine) => Machine);
remembered!(flip, flips, (u8, Seed, u8) => bool);
remembered!(worker, workers, (u8, Seed) => bool);
