//! Names to entries that are shared by whoever has looked them up, and that go when they mean nothing and nobody has them.
//!
//! 1. A name has one entry at a time: as long as somebody has it, every look-up finds that one. 2. The count of an entry's
//! handles is raised by look-ups, under the latch of its shard, and by who has a handle already; anybody lowers it without a
//! latch. So under the latch a count of one, the map's own, stays one, and what the entry means stays, too: it is asked for
//! that then, and may go. The two counters of MySQL 5.5's metadata locks, of uses and releases, in one. 3. What means nothing is in its shard's queue. Each entry that is
//! made, and each that comes to mean nothing, has [`LOOKS`] of the queue looked at: what nobody has goes, the others queue
//! again. So there are hardly more of them than are held, and nobody walks through all. 4. Lists are made in steps of
//! [`STEP`] entries, with the latch given back after each.

use crate::Mutex;
use instrument::MutexClass;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

/// Entries that one growth of the queue looks at: one more than comes in.
const LOOKS: usize = 2;
/// Entries that are copied under a latch at a time.
const STEP: usize = 128;

/// What a name means.
pub trait Entry {
    /// It means nothing at the moment.
    fn is_void(&self) -> bool;
}

struct Known<V> {
    entry: Arc<V>,
    /// The name is in the queue.
    queued: bool,
}

struct Shard<K, V> {
    known: BTreeMap<K, Known<V>>,
    void: VecDeque<K>,
}

/// See the module.
pub struct Directory<K, V> {
    shards: Box<[Mutex<Shard<K, V>>]>,
}

impl<K: Ord + Hash + Clone, V: Entry> Directory<K, V> {
    /// An empty one of so many shards.
    pub fn new(class: &'static MutexClass, shards: usize) -> Self {
        let shard = || Shard { known: BTreeMap::new(), void: VecDeque::new() };
        Directory { shards: (0..shards.max(1)).map(|_| Mutex::new(class, shard())).collect() }
    }

    fn shard(&self, key: &K) -> &Mutex<Shard<K, V>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        &self.shards[hasher.finish() as usize % self.shards.len()]
    }

    /// The entry of a name, if it has one.
    pub fn get(&self, key: &K) -> Option<Arc<V>> {
        self.shard(key).lock().known.get(key).map(|known| Arc::clone(&known.entry))
    }

    /// The entry of a name; `make` makes it at first sight, without a latch.
    pub fn entry(&self, key: &K, make: impl FnOnce() -> V) -> Arc<V> {
        if let Some(entry) = self.get(key) {
            return entry;
        }
        let made = Arc::new(make());
        let mut shard = self.shard(key).lock();
        if let Some(known) = shard.known.get(key) {
            return Arc::clone(&known.entry);
        }
        let known = Known { entry: Arc::clone(&made), queued: false };
        shard.known.insert(key.clone(), known);
        let gone = shard.queue(key);
        drop(shard);
        drop(gone);
        made
    }

    /// A name came to mean nothing.
    pub fn is_void(&self, key: &K) {
        let gone = self.shard(key).lock().queue(key);
        drop(gone);
    }

    /// Calls `each` with the entries, without a latch; what comes or goes meanwhile may be left out. In each shard they
    /// come in the order of the names, from `from` on, as long as `each` wants more.
    pub fn each_from(&self, from: Option<&K>, mut each: impl FnMut(&K, Arc<V>) -> bool) {
        for shard in &self.shards {
            let mut after = from.map_or(Bound::Unbounded, |from| Bound::Included(from.clone()));
            loop {
                let step: Vec<(K, Arc<V>)> = {
                    let shard = shard.lock();
                    let next = shard.known.range((after, Bound::Unbounded)).take(STEP);
                    next.map(|(key, known)| (key.clone(), Arc::clone(&known.entry))).collect()
                };
                let Some((last, _)) = step.last() else { break };
                after = Bound::Excluded(last.clone());
                let ends = step.len() < STEP;
                if !step.into_iter().all(|(key, entry)| each(&key, entry)) || ends {
                    break;
                }
            }
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().known.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Ord + Clone, V: Entry> Shard<K, V> {
    /// Queues a name, and takes out what is at the head and has nobody; that is dropped without the latch.
    fn queue(&mut self, key: &K) -> [Option<Arc<V>>; LOOKS] {
        if let Some(known) = self.known.get_mut(key)
            && !std::mem::replace(&mut known.queued, true)
        {
            self.void.push_back(key.clone());
        }
        std::array::from_fn(|_| self.look())
    }

    fn look(&mut self) -> Option<Arc<V>> {
        let key = self.void.pop_front()?;
        let known = self.known.get_mut(&key)?;
        if !known.entry.is_void() {
            known.queued = false;
            return None;
        }
        if Arc::strong_count(&known.entry) > 1 {
            self.void.push_back(key);
            return None;
        }
        // Whoever had it a moment ago may have given it a meaning, and let it go, since it was asked.
        if !known.entry.is_void() {
            known.queued = false;
            return None;
        }
        self.known.remove(&key).map(|known| known.entry)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use stdx::{LocalAtomic, Ordering};

    instrument::classes! {
        static TEST: MutexClass = "wait/synch/mutex/test/directory";
    }

    /// A name that means something or not.
    struct Meaning(LocalAtomic<u64>);

    impl Entry for Meaning {
        fn is_void(&self) -> bool {
            self.0.load(Ordering::Relaxed) == 0
        }
    }

    fn empty() -> Directory<u64, Meaning> {
        Directory::new(&TEST, 4)
    }

    fn new() -> Meaning {
        Meaning(LocalAtomic::new(0))
    }

    #[test]
    fn a_million_names_that_come_and_go_leave_none() {
        let names = empty();
        for n in 0..1_000_000 {
            let entry = names.entry(&n, new);
            entry.0.store(1, Ordering::Relaxed);
            entry.0.store(0, Ordering::Relaxed);
            drop(entry);
            names.is_void(&n);
            assert!(names.len() < 64, "{} names after {n}", names.len());
        }
    }

    #[test]
    fn what_means_something_or_is_held_stays() {
        let names = empty();
        let held = names.entry(&1, new);
        names.entry(&2, new).0.store(7, Ordering::Relaxed);
        for n in 10..10_000 {
            names.is_void(&1);
            drop(names.entry(&n, new));
        }
        assert!(Arc::ptr_eq(&held, &names.entry(&1, new)));
        assert_eq!(names.get(&2).map(|e| e.0.load(Ordering::Relaxed)), Some(7));
        assert!(names.len() < 64, "{} names", names.len());
    }

    /// A name that is given a meaning, and let go, by who has it: right after it was found to mean nothing.
    struct Late(LocalAtomic<u64>, Rc<RefCell<Option<Arc<Late>>>>);

    impl Entry for Late {
        fn is_void(&self) -> bool {
            let is_void = self.0.load(Ordering::Relaxed) == 0;
            if let Some(had) = self.1.take() {
                had.0.store(1, Ordering::Relaxed);
            }
            is_void
        }
    }

    #[test]
    fn what_comes_to_mean_something_while_it_is_looked_at_stays() {
        let names: Directory<u64, Late> = Directory::new(&TEST, 1);
        let had = Rc::default();
        let new = || Late(LocalAtomic::new(0), Rc::clone(&had));
        let entry = names.entry(&1, new);
        *had.borrow_mut() = Some(entry);
        names.entry(&2, new);
        assert_eq!(names.get(&1).map(|e| e.0.load(Ordering::Relaxed)), Some(1));
    }

    #[test]
    fn a_list_has_each_name_once_and_begins_where_it_is_told() {
        let names = empty();
        let kept: Vec<_> = (0..1000).map(|n| names.entry(&n, new)).collect();
        let mut seen = Vec::new();
        names.each_from(Some(&100), |key, _| {
            seen.push(*key);
            true
        });
        seen.sort_unstable();
        assert_eq!(seen, (100..1000).collect::<Vec<_>>());
        assert_eq!(kept.len(), names.len());
    }
}
