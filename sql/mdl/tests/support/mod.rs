//! What the tests of this crate share: a server's locks and its sessions.

use mdl::{LockRow, Mdl, MdlError, Mode, Object, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::{Deadline, SessionSlotRef, SlotTable};

#[allow(dead_code, reason = "each test file uses a part")]
pub struct Rig {
    pub mdl: Mdl,
    pub slots: Arc<SlotTable>,
}

#[allow(dead_code, reason = "each test file uses a part")]
impl Rig {
    pub fn new() -> Self {
        let slots = SlotTable::new(64, 4);
        Self { mdl: Mdl::new(Arc::clone(&slots)), slots }
    }

    /// A session whose processlist id is 100 + its slot number.
    pub fn session(&self) -> SessionSlotRef {
        let slot = self.slots.acquire_session().expect("64 sessions are enough");
        slot.session_id.store(100 + slot.index() as u64, stdx::Ordering::Relaxed);
        slot
    }

    /// Asks without waiting.
    pub fn try_lock(&self, s: &SessionSlotRef, o: &Arc<Object>, m: Mode) -> bool {
        match self.mdl.acquire(s, o, m, Deadline::At(Instant::now())) {
            Ok(()) => true,
            Err(MdlError::TimedOut) => false,
            Err(e) => panic!("{e}"),
        }
    }

    pub fn lock(&self, s: &SessionSlotRef, o: &Arc<Object>, m: Mode) {
        assert_eq!(self.mdl.acquire(s, o, m, soon()), Ok(()), "{m:?}");
    }

    /// Returns when so many requests are pending.
    pub fn until_pending(&self, count: usize) {
        let end = Instant::now() + Duration::from_secs(10);
        while self.pending().len() != count {
            assert!(Instant::now() < end, "{:?}", self.mdl.locks());
            std::thread::yield_now();
        }
    }

    pub fn pending(&self) -> Vec<LockRow> {
        self.mdl.locks().into_iter().filter(|r| r.status == Status::Pending).collect()
    }
}

/// Far enough away that only a bug reaches it.
pub fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}
