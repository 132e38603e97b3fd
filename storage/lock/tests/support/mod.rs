//! Sessions over one lock system.
#![allow(dead_code, reason = "each test file uses some of it")]

use base::{IndexId, Result};
use lock::{Beside, Granted, Inherited, Kind, Locks, Mode, Patience, Request, Shape, Target};
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

pub fn world() -> World {
    let graph = Arc::new(WaitsFor::new());
    World { locks: Arc::new(Locks::new(8, &graph)), slots: SlotTable::new(8, 8), graph }
}

impl World {
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
        let beside = Beside::default();
        Request {
            target,
            shape,
            implicit: false,
            inherited: Inherited::Always,
            undo: weight,
            beside,
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
