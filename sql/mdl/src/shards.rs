//! The locks of old: every acquire through one of n mutexes, for who wants to see what that costs.
//!
//! 1. While `limpid_mdl_fast_path` is off, every object is closed to all weak modes: each lock is a ticket, and taking and
//!    giving it back passes the mutex of its shard before the object's own latch. The fast path does not know of it: it
//!    reads the object's mask as always.
//! 2. A shard counts the tickets of its objects, so it has no entry of an object that has none.

use crate::object::Object;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static SHARD: MutexClass = "wait/synch/mutex/sql/MDL_map::mutex";
}

/// What decides where an object's shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ShardBy {
    /// Its number.
    Id = 0,
    /// Its name.
    Name = 1,
    /// Its name without digits: `t1` meets `t2`, as they did in 2013.
    Bad = 2,
}

#[derive(Debug)]
pub(crate) struct Shards {
    off: SharedAtomic<bool, { class::MDL }>,
    by: SharedAtomic<u8, { class::MDL }>,
    tickets: Box<[Mutex<HashMap<u64, u64>>]>,
}

/// A name's hash, and that of its letters alone; the same in every process.
pub(crate) fn hashes(schema: &str, name: &str) -> (u32, u32) {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let letters: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
    (hasher.hash_one((schema, name)) as u32, hasher.hash_one((schema, letters)) as u32)
}

impl Shards {
    pub(crate) fn new(n: usize) -> Self {
        let shard = || Mutex::new(&SHARD, HashMap::new());
        Self {
            off: SharedAtomic::new(false),
            by: SharedAtomic::new(ShardBy::Id as u8),
            tickets: (0..n.max(1)).map(|_| shard()).collect(),
        }
    }

    /// Whether every lock goes through them.
    pub(crate) fn in_use(&self) -> bool {
        self.off.load(Ordering::Relaxed)
    }

    pub(crate) fn use_them(&self, on: bool) {
        self.off.store(on, Ordering::Relaxed);
        self.forget();
    }

    pub(crate) fn set_by(&self, by: ShardBy) {
        self.by.store(by as u8, Ordering::Relaxed);
        self.forget();
    }

    /// Empties each of them; thereby even one of no object is among the instances.
    fn forget(&self) {
        self.tickets.iter().for_each(|shard| shard.lock().clear());
    }

    fn of(&self, object: &Object) -> &Mutex<HashMap<u64, u64>> {
        let (name, letters) = object.hashes();
        let number = match self.by.load(Ordering::Relaxed) {
            1 => name as usize,
            2 => letters as usize,
            _ => object.id().place(),
        };
        &self.tickets[number % self.tickets.len()]
    }

    /// A lock is asked for.
    pub(crate) fn enter(&self, object: &Object) {
        if self.in_use() {
            *self.of(object).lock().entry(object.id().number()).or_default() += 1;
        }
    }

    /// A ticket goes.
    pub(crate) fn leave(&self, object: &Object) {
        if self.in_use() {
            let mut tickets = self.of(object).lock();
            let left = tickets.get_mut(&object.id().number()).map(|n| {
                *n -= 1;
                *n
            });
            if left == Some(0) {
                tickets.remove(&object.id().number());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_digits_have_one_hash_of_letters() {
        let (a, b) = (hashes("d", "t1"), hashes("d", "t22"));
        assert!(a.0 != b.0 && a.1 == b.1);
        assert_ne!(hashes("d", "t1").1, hashes("e", "t1").1);
    }
}
