//! One shard: the locks of some targets, in the order they were asked for.
//!
//! 1. A new request waits for every conflicting lock of others, granted or asked for; but not for one that
//!    waits for the asker himself. Who goes next is the matter of [`crate::order`]. Guard: the random plays of
//!    `locks/tests.rs`, judged from the requests alone.
//! 2. Whoever takes a lock out of a queue grants all that can be granted. Guard: the same, `nobody_is_left_behind`.

use crate::line::Queue;
use crate::mode::{Inherited, Kind, Shape, Target};
use crate::order::{Choice, Line, PASSED_MAX, may_pass};
use crate::owner::{Held, Place};
use base::IndexId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, MutexGuard};

instrument::classes! {
    static SHARD: MutexClass = "wait/synch/mutex/innodb/lock_sys_page_mutex";
}

/// Who owns a lock: a session slot, and the number of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct By {
    pub slot: usize,
    pub serial: u64,
}

/// A lock, or a request that waits.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    pub place: Place,
    pub by: By,
    pub shape: Shape,
    /// The number of its owner's wait; 0: granted.
    pub waiting: u64,
    /// How often a later request was granted before this one.
    pub passed: u32,
    pub inherited: Inherited,
    /// The edges that its owner's wait has, or had last, in the waits-for graph.
    pub edges: Option<Box<[u64]>>,
}

impl Lock {
    /// A lock that is granted, unless `waiting` is the number of a wait.
    pub fn new(target: Target<'_>, by: By, shape: Shape, inherited: Inherited) -> Lock {
        let place = Place::of(target);
        Lock { place, by, shape, waiting: 0, passed: 0, inherited, edges: None }
    }

    /// Estimate of its memory, in bytes.
    pub fn bytes(&self) -> usize {
        let key = self.place.key.as_ref().filter(|key| key.spilled());
        // The owner's list has an entry, too; half of the places of a list or map that has grown are free.
        let entry = size_of::<(u64, Queue)>() + size_of::<Held>();
        entry + entry / 2 + key.map_or(0, |key| key.len())
    }

    pub fn granted(&self) -> bool {
        self.waiting == 0
    }

    pub fn supremum(&self) -> bool {
        self.place.key.is_none()
    }
}

/// The lowest bits of a hash say which shard it is of.
pub(crate) const SHARD_BITS: u32 = 10;

/// Hashes are made by [`Target::hash`].
#[derive(Default)]
pub(crate) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys of the map are numbers")
    }

    fn write_u64(&mut self, n: u64) {
        // The low bits say which shard it is; the map looks at the highest and the lowest.
        self.0 = n.rotate_left(37);
    }
}

type Queues = HashMap<u64, Queue, BuildHasherDefault<Same>>;

/// Of the locks of a shard, hashes tell apart so many parts.
const PARTS: usize = 16;

/// Locks of the targets whose hashes fall here.
pub(crate) struct Shard {
    /// How many locks there are in each part; read without the mutex, written under it.
    present: [SharedAtomic<u32, { class::ROW_LOCK }>; PARTS],
    queues: Mutex<Queues>,
}

/// A shard whose mutex is held.
pub(crate) struct Locked<'s> {
    shard: &'s Shard,
    queues: MutexGuard<'s, Queues>,
}

impl Shard {
    pub fn new() -> Shard {
        let present = [const { SharedAtomic::new(0) }; PARTS];
        Shard { present, queues: Mutex::new(&SHARD, Queues::default()) }
    }

    fn part(&self, hash: u64) -> &SharedAtomic<u32, { class::ROW_LOCK }> {
        &self.present[(hash >> SHARD_BITS) as usize % PARTS]
    }

    /// Whether there is no lock in this hash's part: one load. Who has latched a page exclusively before sees every
    /// lock whose owner finds the page unchanged after making it.
    #[inline]
    pub fn is_clear(&self, hash: u64) -> bool {
        self.part(hash).load(Ordering::SeqCst) == 0
    }

    /// Whether there is no lock at all.
    pub fn is_empty(&self) -> bool {
        self.present.iter().all(|part| part.load(Ordering::SeqCst) == 0)
    }

    pub fn lock(&self) -> Locked<'_> {
        Locked { shard: self, queues: self.queues.lock() }
    }
}

impl Locked<'_> {
    /// Looks whether what is granted may stand beside each other, and whether the parts are counted.
    pub fn verify(&self) {
        let mut present = [0; PARTS];
        for (hash, queue) in self.queues.iter() {
            present[(hash >> SHARD_BITS) as usize % PARTS] += queue.len() as u32;
            queue.verify(*hash);
            for (n, a) in queue.granted().iter().enumerate() {
                let beside = queue.granted()[..n].iter().filter(|b| b.place == a.place);
                for b in beside.filter(|b| a.by != b.by) {
                    let apart = a.shape.waits_for(b.shape, a.supremum())
                        && b.shape.waits_for(a.shape, a.supremum());
                    assert!(!apart, "{a:?} beside {b:?}");
                }
            }
        }
        let counted = self.shard.present.iter().map(|part| part.load(Ordering::SeqCst));
        assert!(counted.eq(present), "the locks of each part are counted (locks, 4)");
    }

    /// All locks, in no particular order of targets.
    pub fn all(&self) -> impl Iterator<Item = &Lock> {
        self.queues.values().flat_map(Queue::iter)
    }

    /// The locks on `target`: those that are granted, then who waits, in the order they were asked for.
    pub fn on<'a>(
        &'a self,
        hash: u64,
        target: Target<'a>,
    ) -> impl Iterator<Item = &'a Lock> + Clone {
        let all = self.queues.get(&hash).into_iter().flat_map(Queue::iter);
        all.filter(move |l| l.place.target() == target)
    }

    fn granted<'a>(&'a self, hash: u64, target: Target<'a>) -> impl Iterator<Item = &'a Lock> {
        let granted = self.queues.get(&hash).map_or(&[][..], Queue::granted);
        granted.iter().filter(move |l| l.place.target() == target)
    }

    /// Whether there is no lock with this hash.
    pub fn is_vacant(&self, hash: u64) -> bool {
        !self.queues.contains_key(&hash)
    }

    /// A lock with this hash is going to be made: it counts from here on.
    pub fn announce(&self, hash: u64) {
        self.shard.part(hash).fetch_add(1, Ordering::SeqCst);
    }

    /// A lock that was announced is not made.
    pub fn renounce(&self, hash: u64) {
        self.shard.part(hash).fetch_sub(1, Ordering::SeqCst);
    }

    /// Adds a lock that was announced.
    pub fn add(&mut self, hash: u64, lock: Lock) {
        self.queues.entry(hash).or_default().add(lock);
    }

    /// Takes out the locks that `which` chooses; those waiting after them in the same targets are the
    /// caller's to look at.
    pub fn remove(&mut self, hash: u64, mut which: impl FnMut(&Lock) -> bool) -> Vec<Lock> {
        self.take_out(hash, |queue, gone| {
            queue.remove_granted(&mut which, gone);
            queue.remove_requests(hash, &mut which, gone);
        })
    }

    /// As [`Self::remove`], of locks that are granted.
    pub fn remove_granted(&mut self, hash: u64, which: impl FnMut(&Lock) -> bool) -> Vec<Lock> {
        self.take_out(hash, |queue, gone| queue.remove_granted(which, gone))
    }

    fn take_out(&mut self, hash: u64, f: impl FnOnce(&mut Queue, &mut Vec<Lock>)) -> Vec<Lock> {
        let mut gone = Vec::new();
        let Entry::Occupied(mut queue) = self.queues.entry(hash) else { return gone };
        f(queue.get_mut(), &mut gone);
        if queue.get().is_empty() {
            queue.remove();
        }
        self.shard.part(hash).fetch_sub(gone.len() as u32, Ordering::SeqCst);
        gone
    }

    /// What was granted to `before` is `now`'s; where that is, each place once.
    pub fn give_to(&mut self, hash: u64, before: By, now: By) -> Vec<Place> {
        let mut places = Vec::new();
        let Some(queue) = self.queues.get_mut(&hash) else { return places };
        for lock in queue.granted_mut().iter_mut().filter(|lock| lock.by == before) {
            lock.by = now;
            if !places.contains(&lock.place) {
                places.push(lock.place.clone());
            }
        }
        places
    }

    /// A granted lock of `by` that has all that `shape` would give.
    pub fn covered(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> bool {
        let supremum = target.key.is_none();
        self.granted(hash, target).any(|l| l.by == by && l.shape.covers(shape, supremum))
    }

    /// Whether a new request would have to wait (invariant 1).
    pub fn conflicts(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> bool {
        let supremum = target.key.is_none();
        self.on(hash, target).any(|l| {
            l.by != by
                && shape.waits_for(l.shape, supremum)
                && (l.granted() || !may_pass(self.granted(hash, target), l, by, shape))
        })
    }

    /// The locks on `target` as they stand in line.
    pub fn line<'a>(&'a self, hash: u64, target: Target<'a>) -> Line<'a> {
        let queue = self.queues.get(&hash);
        let granted = self.granted(hash, target).collect();
        let requests = queue.into_iter().flat_map(Queue::requests).enumerate();
        let requests = requests.filter(move |(_, l)| l.place.target() == target);
        let shared = queue.is_some_and(|q| q.iter().any(|l| l.place.target() != target));
        Line::new(granted, requests, target.key.is_none(), shared)
    }

    /// Who goes now on a target whose requests are alike ([`crate::line`], 2), if that is told by their order: when
    /// `blocking` says of as many waiters that they hold up nobody.
    pub fn choose_alike(
        &self,
        hash: u64,
        refused: &[usize],
        blocking: impl FnOnce(usize) -> bool,
    ) -> Option<Choice> {
        let queue = self.queues.get(&hash)?;
        let (first, n) = queue.alike().filter(|_| refused.is_empty())?;
        let held_up =
            queue.granted().iter().any(|g| first.shape.waits_for(g.shape, first.supremum()));
        match held_up {
            true => Some(Choice::default()),
            false => (!blocking(n)).then(|| Choice { go: vec![0], passed: Vec::new() }),
        }
    }

    /// The owners to whom a queue's node leads where all requests are alike and wait by it already; `new`: the one of
    /// them that is granted just now.
    pub fn owners_of_alike(&self, hash: u64, new: Option<usize>) -> Option<Vec<By>> {
        let queue = self.queues.get(&hash).filter(|q| q.all_noted())?;
        self.owners_of(queue, new.and_then(|at| queue.requests().nth(at)))
    }

    /// As [`Self::owners_of_alike`], for one of them that is going to.
    pub fn owners_for_alike(&self, hash: u64) -> Option<Vec<By>> {
        self.owners_of(self.queues.get(&hash)?, None)
    }

    fn owners_of(&self, queue: &Queue, new: Option<&Lock>) -> Option<Vec<By>> {
        let (first, _) = queue.alike()?;
        let holds_up = |g: &&Lock| first.shape.waits_for(g.shape, first.supremum());
        let granted = queue.granted().iter().chain(new).filter(holds_up);
        let mut owners: Vec<By> = granted.map(|g| g.by).collect();
        owners.dedup();
        Some(owners).filter(|owners| !owners.is_empty())
    }

    /// Of several locks of `by` on a target that somebody waits for, the one that was made last; `age` says what
    /// place a kind has among the others.
    pub fn youngest(
        &self,
        hash: u64,
        by: By,
        age: impl Fn(IndexId, Shape) -> Option<usize>,
    ) -> Option<(Place, Shape)> {
        let queue = self.queues.get(&hash).filter(|q| q.len() > 2)?;
        let own = || queue.granted().iter().filter(|l| l.by == by);
        let several = own().filter(|l| {
            own().filter(|o| o.place == l.place).count() > 1
                && queue.requests().any(|o| o.place == l.place)
        });
        let last = several.max_by_key(|l| age(l.place.index, l.shape))?;
        Some((last.place.clone(), last.shape))
    }

    /// Where an owner's request stands in its queue.
    pub fn place_of(&self, hash: u64, by: By, number: u64) -> Option<usize> {
        self.queues.get(&hash)?.place_of(by, number)
    }

    /// The request that stands there, while nothing is taken out of the queue.
    pub fn request(&mut self, hash: u64, at: usize) -> Option<&mut Lock> {
        self.queues.get_mut(&hash)?.request(at)
    }

    /// These are the edges of a request's wait from now on.
    pub fn set_edges(&mut self, hash: u64, at: usize, edges: Option<Box<[u64]>>) {
        self.queues.get_mut(&hash).into_iter().for_each(|q| q.set_edges(hash, at, edges.clone()));
    }

    /// These requests are passed by one that came later.
    pub fn pass(&mut self, hash: u64, passed: &[usize]) {
        let Some(queue) = self.queues.get_mut(&hash) else { return };
        passed.iter().for_each(|at| queue.pass(*at, PASSED_MAX));
    }

    /// These requests, the last of them first, are granted, and their owners take them.
    pub fn move_granted(&mut self, hash: u64, taken: impl Iterator<Item = usize>) {
        let Some(queue) = self.queues.get_mut(&hash) else { return };
        taken.for_each(|at| queue.move_granted(hash, at));
    }

    /// The owners, other than `by`, of requests that a granted lock of `shape` now holds up.
    pub fn held_up(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> Vec<By> {
        let supremum = target.key.is_none();
        let requests = self.queues.get(&hash).into_iter().flat_map(Queue::requests);
        let waiting = requests.filter(|l| l.place.target() == target && l.by != by);
        waiting.filter(|l| l.shape.waits_for(shape, supremum)).map(|l| l.by).collect()
    }

    /// What of a next-key lock is still to be asked for when the record is locked already.
    pub fn missing(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> Shape {
        let record = Shape::new(shape.mode, Kind::Record);
        match shape.kind {
            Kind::NextKey if target.key.is_some() && self.covered(hash, target, by, record) => {
                Shape::new(shape.mode, Kind::Gap)
            }
            _ => shape,
        }
    }
}
