//! One shard: the locks of some targets, in the order they were asked for.
//!
//! 1. A request waits for every conflicting lock of others that is granted, and for every conflicting
//!    request of others that was there before it; unless that one waits for the asker himself (then
//!    nobody would gain by its going first). An insert waits for that one, too: as in InnoDB.
//! 2. Whoever takes a lock out of a queue grants in order all that can be granted.

use crate::mode::{Kind, Shape, Target};
use crate::owner::Place;
use instrument::MutexClass;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, MutexGuard};

static SHARD: MutexClass = MutexClass::new("wait/synch/mutex/innodb/lock_sys_page_mutex");

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
    /// Its owner's isolation level has no gap locks: it is not inherited as one.
    pub gapless: bool,
}

impl Lock {
    /// Estimate of its memory, in bytes.
    fn bytes(&self) -> usize {
        // The owner's list has an entry, too.
        size_of::<Lock>() + 32 + self.place.key.as_ref().map_or(0, |k| k.len() + 16)
    }

    pub fn granted(&self) -> bool {
        self.waiting == 0
    }

    fn supremum(&self) -> bool {
        self.place.key.is_none()
    }
}

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

#[derive(Default)]
pub(crate) struct Queues {
    map: HashMap<u64, Vec<Lock>, BuildHasherDefault<Same>>,
    pub bytes: usize,
}

/// Locks of the targets whose hashes fall here.
pub(crate) struct Shard {
    /// How many locks there are; read without the mutex, written under it.
    present: SharedAtomic<u32, { class::ROW_LOCK }>,
    queues: Mutex<Queues>,
}

/// A shard whose mutex is held.
pub(crate) struct Locked<'s> {
    shard: &'s Shard,
    queues: MutexGuard<'s, Queues>,
}

impl Shard {
    pub fn new() -> Shard {
        Shard { present: SharedAtomic::new(0), queues: Mutex::new(&SHARD, Queues::default()) }
    }

    /// Whether there is no lock at all: one load. Who has latched a page exclusively before sees every
    /// lock whose owner finds the page unchanged after making it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.present.load(Ordering::SeqCst) == 0
    }

    pub fn lock(&self) -> Locked<'_> {
        Locked { shard: self, queues: self.queues.lock() }
    }
}

impl Locked<'_> {
    pub fn bytes(&self) -> usize {
        self.queues.bytes
    }

    /// All locks, in no particular order of targets.
    pub fn all(&self) -> impl Iterator<Item = &Lock> {
        self.queues.map.values().flatten()
    }

    /// The locks on `target`, in their order.
    pub fn on<'a>(&'a self, hash: u64, target: Target<'a>) -> impl Iterator<Item = &'a Lock> {
        let queue = self.queues.map.get(&hash).map_or(&[][..], |q| &q[..]);
        queue.iter().filter(move |l| l.place.target() == target)
    }

    pub fn add(&mut self, hash: u64, lock: Lock) {
        self.queues.bytes += lock.bytes();
        self.shard.present.fetch_add(1, Ordering::SeqCst);
        self.queues.map.entry(hash).or_default().push(lock);
    }

    /// Takes out the locks that `which` chooses; those waiting after them in the same targets are the
    /// caller's to look at.
    pub fn remove(&mut self, hash: u64, mut which: impl FnMut(&Lock) -> bool) -> Vec<Lock> {
        let Some(queue) = self.queues.map.get_mut(&hash) else { return Vec::new() };
        let gone: Vec<Lock> = queue.extract_if(.., |l| which(l)).collect();
        if queue.is_empty() {
            self.queues.map.remove(&hash);
        }
        self.queues.bytes -= gone.iter().map(Lock::bytes).sum::<usize>();
        self.shard.present.fetch_sub(gone.len() as u32, Ordering::SeqCst);
        gone
    }

    /// A granted lock of `by` that has all that `shape` would give.
    pub fn covered(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> bool {
        let supremum = target.key.is_none();
        self.on(hash, target).any(|l| l.by == by && l.granted() && l.shape.covers(shape, supremum))
    }

    /// Whether a new request would have to wait (invariant 1).
    pub fn conflicts(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> bool {
        let supremum = target.key.is_none();
        self.on(hash, target).any(|l| {
            l.by != by
                && shape.waits_for(l.shape, supremum)
                && (l.granted() || !self.may_pass(hash, l, by, shape))
        })
    }

    /// Whether a request of `by` may go before the waiting request `l`, which waits for a granted lock of `by`.
    fn may_pass(&self, hash: u64, l: &Lock, by: By, shape: Shape) -> bool {
        let mut on = self.on(hash, l.place.target());
        shape.kind != Kind::InsertIntention
            && on.any(|g| g.by == by && g.granted() && l.shape.waits_for(g.shape, l.supremum()))
    }

    /// Whom the waiting request of `by` waits for: the owners of granted locks, and of the last request
    /// before it that goes first (the others before that are that one's to wait for). `None`: it waits
    /// no more.
    pub fn blockers(&self, hash: u64, target: Target<'_>, by: By, number: u64) -> Option<Vec<By>> {
        let supremum = target.key.is_none();
        let me = self.on(hash, target).find(|l| l.by == by && l.waiting == number)?;
        let holds = self.on(hash, target).any(|l| l.by == by && l.granted());
        let (mut found, mut last, mut ahead): (Vec<By>, _, _) = (Vec::new(), None, true);
        for l in self.on(hash, target) {
            ahead &= !std::ptr::eq(l, me);
            if l.by == by || !me.shape.waits_for(l.shape, supremum) {
                continue;
            }
            if l.granted() {
                found.push(l.by);
            } else if ahead && !(holds && self.may_pass(hash, l, by, me.shape)) {
                last = Some(l.by);
            }
        }
        found.extend(last);
        found.dedup();
        Some(found)
    }

    /// Whether the request `me` must go on waiting: [`Self::blockers`] is not empty.
    fn is_blocked(&self, hash: u64, me: &Lock) -> bool {
        let mut ahead = true;
        self.on(hash, me.place.target()).any(|l| {
            ahead &= !std::ptr::eq(l, me);
            l.by != me.by
                && (l.granted() || ahead)
                && me.shape.waits_for(l.shape, me.supremum())
                && (l.granted() || !self.may_pass(hash, l, me.by, me.shape))
        })
    }

    /// Grants in order what can be granted on `target`; `grant` says whether the waiter takes it.
    pub fn grant(&mut self, hash: u64, target: Target<'_>, mut grant: impl FnMut(&Lock) -> bool) {
        let mut at = 0;
        while let Some(lock) = self.queues.map.get(&hash).and_then(|q| q.get(at)) {
            let grants = !lock.granted()
                && lock.place.target() == target
                && !self.is_blocked(hash, lock)
                && grant(lock);
            if grants && let Some(queue) = self.queues.map.get_mut(&hash) {
                queue[at].waiting = 0;
            }
            at += 1;
        }
    }

    /// The owners, other than `by`, of requests that a granted lock of `shape` now holds up.
    pub fn held_up(&self, hash: u64, target: Target<'_>, by: By, shape: Shape) -> Vec<By> {
        let supremum = target.key.is_none();
        let waiting = self.on(hash, target).filter(|l| !l.granted() && l.by != by);
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
