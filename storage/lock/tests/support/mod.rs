//! Sessions over one lock system.
#![allow(dead_code, reason = "each test file uses some of it")]

use base::{IndexId, Result};
use lock::{
    Granted, Inherited, Kind, LockInfo, Locks, Mode, OtherLocks, Patience, Request, Shape, Target,
};
use std::sync::Arc;
use std::time::Duration;
use sync::waits::WaitsFor;
use sync::{SessionSlotRef, SlotTable};

pub const INDEX: IndexId = IndexId(7);
pub const S: Shape = Shape::new(Mode::Shared, Kind::Record);
pub const X: Shape = Shape::WRITE;
pub const GAP: Shape = Shape::new(Mode::Exclusive, Kind::Gap);
pub const NEXT: Shape = Shape::new(Mode::Exclusive, Kind::NextKey);
pub const INSERT: Shape = Shape::INSERT;

pub struct World {
    pub locks: Arc<Locks>,
    pub slots: Arc<SlotTable>,
    pub graph: Arc<WaitsFor>,
}

pub struct Session {
    pub locks: Arc<Locks>,
    pub slot: SessionSlotRef,
    pub weight: u64,
}

/// The documented rules, one after the other, as they are usually told.
pub fn must_wait(new: Shape, old: Shape, supremum: bool) -> bool {
    let insert = |s: Shape| s.kind == Kind::InsertIntention;
    let gap_only = |s: Shape| matches!(s.kind, Kind::Gap | Kind::InsertIntention);
    if new.mode == Mode::Shared && old.mode == Mode::Shared {
        return false;
    }
    // A gap lock that is no insert intention waits for nothing.
    if (supremum || gap_only(new)) && !insert(new) {
        return false;
    }
    // A lock on a record does not wait for a gap lock.
    if !insert(new) && gap_only(old) {
        return false;
    }
    // A lock on a gap does not wait for one on a record alone.
    if gap_only(new) && old.kind == Kind::Record && !supremum {
        return false;
    }
    !insert(old)
}

pub fn world() -> World {
    let graph = Arc::new(WaitsFor::new());
    World { locks: Arc::new(Locks::new(8, &graph)), slots: SlotTable::new(8, 8), graph }
}

impl World {
    /// How many sessions are noted in the graph as waiting.
    pub fn noted(&self) -> usize {
        let mut waiters: Vec<u64> = self.graph.edges().into_iter().map(|(w, _)| w).collect();
        waiters.sort_unstable();
        waiters.dedup();
        waiters.len()
    }

    /// Nobody waits whom neither a granted lock nor an earlier request holds up. Only where nobody gives up: who was
    /// told to may still stand in line.
    pub fn assert_nobody_left_behind(&self) {
        let locks = self.locks.snapshot().locks;
        for (n, me) in locks.iter().enumerate().filter(|(_, l)| l.waiting) {
            let holds_up = |(at, other): (usize, &LockInfo)| {
                let same = (&me.index, &me.key) == (&other.index, &other.key);
                let counts = same && me.slot != other.slot && (!other.waiting || at < n);
                counts && must_wait(me.shape, other.shape, me.key.is_none())
            };
            let held_up = locks.iter().enumerate().any(holds_up);
            assert!(held_up, "{me:?} waits for nobody: {locks:?}");
        }
    }

    pub fn session(&self) -> Session {
        let slot = self.slots.acquire_session().unwrap();
        Session { locks: Arc::clone(&self.locks), slot, weight: 0 }
    }
}

pub fn key(k: &str) -> Target<'_> {
    match k {
        "sup" => Target::supremum(INDEX),
        k => Target::record(INDEX, k.as_bytes()),
    }
}

impl Session {
    fn request<'k>(&self, k: &'k str, shape: Shape, patience: Patience) -> Request<'k> {
        let (target, weight) = (key(k), self.weight);
        let others = OtherLocks::default();
        Request {
            target,
            shape,
            implicit: false,
            inherited: Inherited::Always,
            undo: weight,
            others,
            patience,
        }
    }

    pub fn owner(&self) -> &lock::Owner {
        self.locks.owner(self.slot.index())
    }

    /// Asks without waiting.
    pub fn try_lock(&self, k: &str, shape: Shape) -> Result<Granted> {
        self.locks.lock(self.owner(), &self.request(k, shape, Patience::None))
    }

    pub fn gets(&self, k: &str, shape: Shape) -> bool {
        self.try_lock(k, shape).is_ok()
    }

    /// Asks for a lock as a scan does for the key behind `after`.
    pub fn next(&self, k: &str, shape: Shape, after: Option<&str>) -> Result<Option<Granted>> {
        let gaps = shape.kind == Kind::NextKey;
        let inherited = if gaps { Inherited::Always } else { Inherited::Never };
        let request = Request { inherited, ..self.request(k, shape, Patience::None) };
        self.locks.lock_next(self.owner(), &request, after.map(str::as_bytes))
    }

    /// Waits as long as it takes.
    pub fn lock(&self, k: &str, shape: Shape) -> Result<Granted> {
        self.lock_within(k, shape, Duration::MAX)
    }

    pub fn lock_for(&self, k: &str, shape: Shape, ms: u64) -> Result<Granted> {
        self.lock_within(k, shape, Duration::from_millis(ms))
    }

    fn lock_within(&self, k: &str, shape: Shape, patience: Duration) -> Result<Granted> {
        let _entered = sync::enter(&self.slot);
        self.locks.lock(self.owner(), &self.request(k, shape, Patience::For(patience)))
    }

    pub fn end(&self) {
        self.locks.end(self.owner());
    }
}
