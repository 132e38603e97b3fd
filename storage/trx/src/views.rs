//! Read views: which transactions a reader sees, and what no reader needs any more.
//!
//! 1. A view is a place of the log: what committed at or before it is seen. Opening one is loads and
//!    stores to the session's own slot; nothing that others write is written (engine study 3.1, P-A).
//!    Guard: `tests/models.rs`, exactly what committed.
//! 2. The published place is never behind the view's own, so who misses it while scanning, after a heavy
//!    fence, knows that the view lies at or behind the tail that was loaded before the fence.
//!    Guard: the assert of [`Views::open`].
//! 3. `horizon` is a place that every view, now and later, lies at or behind. It only grows. Guard: the assert of [`Views::open`];
//!    `tests/models.rs`, purge.
//! 4. Of a transaction whose entry in the ring a later one takes, its end is kept in `sealed` as long as
//!    there is a view before that end which was opened after the transaction had got its id. So an id
//!    that is below a view's `low`, without an entry and not sealed, ended at or before the view. Guard: `tests/models.rs`, lost entries.
//! 5. An id at or above a view's `low` was given after the view was opened: it is never seen. All below its
//!    `all_visible_below` have ended. Guard: the assert of [`Views::open`]; `tests/models.rs`, common bound.

use crate::states::{End, Past, States};
use base::{Lsn, TrxId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::{Mutex, SessionSlot, SlotTable, asym};

instrument::classes! {
    static OPENED: MutexClass = "wait/synch/mutex/limpid/open_views";
    static SEALED: MutexClass = "wait/synch/mutex/limpid/sealed_transactions";
    static ORPHANS: MutexClass = "wait/synch/mutex/limpid/orphaned_transactions";
}

/// What a slot's fields hold when nothing is published.
const NONE: u64 = u64::MAX;

/// What one reader sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// Commits at or before this place are seen.
    pub lsn: Lsn,
    /// Ids from here on were given later: never seen.
    pub low: TrxId,
    /// Ids below this one had all ended at or before `lsn`: always seen.
    pub all_visible_below: TrxId,
}

/// The open views as a refresh found them; those opened since lie at or behind `as_of`.
struct Opened {
    as_of: Lsn,
    views: Vec<(Lsn, TrxId)>,
}

/// How often a view that is being opened is looked at again.
const LOOKS: usize = if cfg!(loom) { 1 } else { 1000 };

/// The place and the `low` of a session's view, if it has one open. A view that is being opened (two loads
/// and a store) is waited for a little; else its `low` is not known.
fn published(slot: &SessionSlot) -> Option<(u64, Option<u64>)> {
    let mut looks = LOOKS;
    loop {
        let at = slot.snapshot.load(Ordering::Acquire);
        if at == NONE {
            return None;
        }
        match slot.snapshot_low.load(Ordering::Acquire) {
            NONE if looks == 1 => return Some((at, None)),
            NONE => looks -= 1,
            low => return Some((at, Some(low))),
        }
        sync::yield_now();
    }
}

/// What every reader looks at, and a refresh alone writes: apart from what transactions lock.
struct Known {
    horizon: SharedAtomic<u64, { class::TRX }>,
    /// No view, now or later, has a lower `low`.
    low: SharedAtomic<u64, { class::TRX }>,
    all_visible_below: SharedAtomic<u64, { class::TRX }>,
    any_orphans: SharedAtomic<bool, { class::TRX }>,
}

/// The views of all sessions together.
pub struct Views {
    slots: Arc<SlotTable>,
    known: CacheLine<Known>,
    opened: Mutex<Opened>,
    sealed: Mutex<BTreeMap<TrxId, Lsn>>,
    /// Active transactions without a session: losers, and what a session could not roll back.
    orphans: Mutex<BTreeSet<TrxId>>,
}

impl Views {
    /// No views are open in `slots`.
    pub fn new(slots: &Arc<SlotTable>) -> Views {
        Views {
            slots: Arc::clone(slots),
            known: CacheLine(Known {
                horizon: SharedAtomic::new(0),
                low: SharedAtomic::new(0),
                all_visible_below: SharedAtomic::new(0),
                any_orphans: SharedAtomic::new(false),
            }),
            opened: Mutex::new(&OPENED, Opened { as_of: Lsn::ZERO, views: Vec::new() }),
            sealed: Mutex::new(&SEALED, BTreeMap::new()),
            orphans: Mutex::new(&ORPHANS, BTreeSet::new()),
        }
    }

    /// The slots of the sessions.
    pub fn slots(&self) -> &SlotTable {
        &self.slots
    }

    /// Opens a view for the session of `slot`, which has none open.
    #[inline]
    pub fn open(
        &self,
        slot: &SessionSlot,
        tail: impl Fn() -> Lsn,
        next: impl Fn() -> TrxId,
    ) -> View {
        let all_visible_below = self.all_visible_below();
        slot.snapshot_low.store(NONE, Ordering::Relaxed);
        let published = tail();
        slot.snapshot.store(published.0, Ordering::Release);
        asym::light();
        let lsn = tail();
        let low = next();
        slot.snapshot_low.store(low.0, Ordering::Release);
        let view = View { lsn, low, all_visible_below };
        debug_assert!(published <= lsn && all_visible_below <= low, "{published:?}, {view:?}");
        debug_assert!(cfg!(loom) || self.horizon() <= lsn, "{view:?}: {:?}", self.horizon());
        view
    }

    /// The session of `slot` reads with its view no more.
    #[inline]
    pub fn close(&self, slot: &SessionSlot) {
        slot.snapshot.store(NONE, Ordering::Release);
    }

    /// Before the session of `slot` takes an id: none that it gets is below what is published.
    #[inline]
    pub fn before_id(&self, slot: &SessionSlot, next: impl Fn() -> TrxId) {
        slot.trx_low.store(next().0, Ordering::Release);
        asym::light();
    }

    /// The session of `slot` has no active transaction any more.
    #[inline]
    pub fn after_end(&self, slot: &SessionSlot) {
        slot.trx_low.store(NONE, Ordering::Release);
    }

    /// See invariant 3.
    #[inline]
    pub fn horizon(&self) -> Lsn {
        Lsn(self.known.horizon.load(Ordering::Acquire))
    }

    /// Transactions below this id have ended.
    #[inline]
    pub fn all_visible_below(&self) -> TrxId {
        TrxId(self.known.all_visible_below.load(Ordering::Acquire))
    }

    /// Looks at all views and active transactions; the horizon. A heavy fence: not per transaction.
    pub fn refresh(&self, tail: impl Fn() -> Lsn, next: impl Fn() -> TrxId) -> Lsn {
        let mut opened = self.opened.lock();
        let as_of = tail();
        let next = next().0;
        asym::heavy();
        let (mut horizon, mut low, mut active) = (as_of.0, next, next);
        opened.views.clear();
        for slot in self.slots.sessions() {
            active = active.min(slot.trx_low.load(Ordering::Acquire));
            let Some((at, view_low)) = published(slot) else { continue };
            horizon = horizon.min(at);
            // Not known: no lower than that of the views before, and above any id that may be asked for.
            low = low.min(view_low.unwrap_or(self.known.low.load(Ordering::Relaxed)));
            opened.views.push((Lsn(at), TrxId(view_low.unwrap_or(NONE))));
        }
        if self.known.any_orphans.load(Ordering::Acquire)
            && let Some(first) = self.orphans.lock().first()
        {
            active = active.min(first.0);
        }
        opened.as_of = as_of;
        // What ended before it was looked for ended before the tail that the next view will load.
        self.known.all_visible_below.fetch_max(active, Ordering::AcqRel);
        self.known.low.fetch_max(low, Ordering::AcqRel);
        self.known.horizon.fetch_max(horizon, Ordering::AcqRel);
        drop(opened);
        let horizon = self.horizon();
        self.sealed.lock().retain(|_, end| *end > horizon);
        horizon
    }

    /// The oldest open view as the last refresh found it.
    pub fn oldest(&self) -> Option<Lsn> {
        self.opened.lock().views.iter().map(|(at, _)| *at).min()
    }

    /// Keeps the end of `past`, whose entry is about to be taken, if a view may ask for it.
    pub fn seal(&self, past: Past, tail: impl Fn() -> Lsn, next: impl Fn() -> TrxId) {
        if past.end <= self.horizon() {
            return;
        }
        if self.opened.lock().as_of < past.end {
            self.refresh(tail, next);
        }
        let asks = |&(at, low): &(Lsn, TrxId)| at < past.end && past.id < low;
        if self.opened.lock().views.iter().any(asks) {
            self.sealed.lock().insert(past.id, past.end);
        }
    }

    fn sealed(&self, id: TrxId) -> Option<Lsn> {
        self.sealed.lock().get(&id).copied()
    }

    /// Whether `view` sees what `id` wrote; `None`: it commits at this moment.
    pub fn sees(&self, states: &States, view: &View, id: TrxId, next: TrxId) -> Option<bool> {
        if id >= view.low {
            return Some(false);
        }
        match states.fate(id, next) {
            End::Active => Some(false),
            End::Committing => None,
            End::At(end) => Some(end <= view.lsn),
            End::Forgotten => Some(self.sealed(id).is_none_or(|end| end <= view.lsn)),
        }
    }

    /// Whether every view, now and later, sees what `id` wrote (or it was undone).
    pub fn all_see(&self, states: &States, id: TrxId, next: TrxId) -> bool {
        match states.fate(id, next) {
            End::Active | End::Committing => false,
            End::At(end) => end <= self.horizon(),
            End::Forgotten => {
                id.0 < self.known.low.load(Ordering::Acquire) && self.sealed(id).is_none()
            }
        }
    }

    /// An active transaction has no session (any more).
    pub fn adopt(&self, id: TrxId) {
        self.orphans.lock().insert(id);
        self.known.any_orphans.store(true, Ordering::Release);
    }

    /// A transaction has ended: it may have been an orphan.
    #[inline]
    pub fn ended(&self, id: TrxId) {
        if self.known.any_orphans.load(Ordering::Acquire) {
            let mut orphans = self.orphans.lock();
            orphans.remove(&id);
            self.known.any_orphans.store(!orphans.is_empty(), Ordering::Release);
        }
    }
}
