//! All transactions together: who runs, who waits for whom, where the undo segments are.
//!
//! 1. A transaction gets its id with its first write. Its end is one store in [`States`], then a
//!    wake-up.
//! 2. Nobody waits for a transaction while holding a latch or a mini-transaction.

use crate::ids::{IdKind, Ids};
use crate::rseg::{RSEGS, Recovered, Rseg};
use crate::segment::{Segment, State, UndoPos, read_kept_record, read_record};
use crate::states::States;
use crate::views::{View, Views};
use base::{Error, Lsn, Result, TrxId};
use instrument::CondClass;
use pool::{Mtr, Pool, Tablespace};
use std::sync::Arc;
use std::time::Duration;
use stdx::CacheLine;
use sync::waits::WaitsFor;
use sync::{Deadline, Event, SessionSlot, SlotTable, WaitResult, WorkerSlot};

static ROW_WAIT: CondClass = CondClass::new("wait/lock/innodb/row");
/// How long a reader waits for a commit that has begun before it looks again.
const COMMIT_LOOK: Duration = Duration::from_millis(10);
const END_EVENTS: usize = 64;
/// Entries of the state ring tried for a new transaction.
const IDS_TRIED_MAX: usize = 256;

/// The transactions of an engine.
pub struct TrxSystem {
    /// Numbers that survive a crash.
    pub ids: Arc<Ids>,
    states: States,
    views: Views,
    pool: Arc<Pool>,
    undo: Arc<Tablespace>,
    ends: Box<[CacheLine<Event>]>,
    waits: Arc<WaitsFor>,
    rsegs: Vec<CacheLine<Rseg>>,
}

impl TrxSystem {
    /// The system over an undo space, without looking into it.
    pub fn new(
        pool: &Arc<Pool>,
        undo: &Arc<Tablespace>,
        (waits, slots): (&Arc<WaitsFor>, &Arc<SlotTable>),
        ids: Arc<Ids>,
        states: usize,
    ) -> TrxSystem {
        TrxSystem {
            ids,
            states: States::new(states),
            views: Views::new(slots),
            pool: Arc::clone(pool),
            undo: Arc::clone(undo),
            ends: (0..END_EVENTS).map(|_| CacheLine(Event::new(&ROW_WAIT))).collect(),
            waits: Arc::clone(waits),
            rsegs: (0..RSEGS as u8).map(|n| CacheLine(Rseg::new(n))).collect(),
        }
    }

    /// Makes the rollback segments of a new instance.
    pub fn create(&self, worker: &WorkerSlot) -> Result<()> {
        self.rsegs.iter().try_for_each(|r| r.create(&self.pool, worker, &self.undo))
    }

    /// Reads the rollback segments after a crash. The losers are active again.
    pub fn recover(&self) -> Result<Recovered> {
        let mut found = Recovered::default();
        for rseg in &self.rsegs {
            rseg.recover(&self.undo, &mut found)?;
        }
        for segment in &found.active {
            if !self.states.start(segment.trx(), None) {
                return Err(Error::Internal("two losers share an entry of the state ring"));
            }
            self.views.adopt(segment.trx());
        }
        Ok(found)
    }

    /// The waits-for graph.
    pub fn waits(&self) -> &Arc<WaitsFor> {
        &self.waits
    }

    /// The undo space.
    pub fn undo(&self) -> &Arc<Tablespace> {
        &self.undo
    }

    /// Whether a transaction is active: one load.
    #[inline]
    pub fn is_active(&self, id: TrxId) -> bool {
        self.states.is_active(id)
    }

    /// See [`States::ended_by`]: one load.
    #[inline]
    pub fn ended_by(&self, id: TrxId, lsn: Lsn) -> bool {
        self.states.ended_by(id, lsn)
    }

    /// Starts a transaction for session slot `session`. `cached` is a free segment that the client
    /// kept.
    pub fn start(
        &self,
        worker: &WorkerSlot,
        worker_index: usize,
        session: usize,
        cached: Option<Segment>,
    ) -> Result<Segment> {
        let mut segment = match cached {
            Some(segment) => segment,
            None => self.acquire_segment(worker, worker_index)?,
        };
        match self.start_id(worker, session) {
            Ok(id) => segment.start(id),
            Err(e) => {
                self.give_back(segment);
                return Err(e);
            }
        }
        Ok(segment)
    }

    /// Takes an id and makes it active. An id whose entry a very old transaction still has is left
    /// out.
    fn start_id(&self, worker: &WorkerSlot, session: usize) -> Result<TrxId> {
        let slot = self.views.slots().session(session);
        for _ in 0..IDS_TRIED_MAX {
            self.views.before_id(slot, || self.next_id());
            let id = TrxId(self.ids.take(IdKind::Trx, &self.pool, worker)?);
            if let Some(past) = self.states.past(id) {
                self.views.seal(past, || self.tail(), || self.next_id());
            }
            if self.states.start(id, Some(session)) {
                return Ok(id);
            }
        }
        self.views.after_end(slot);
        Err(Error::TooManyTransactions)
    }

    fn acquire_segment(&self, worker: &WorkerSlot, worker_index: usize) -> Result<Segment> {
        for i in 0..RSEGS {
            let rseg = &self.rsegs[(worker_index + i) % RSEGS];
            if let Some(segment) = rseg.acquire(&self.pool, worker, &self.undo)? {
                return Ok(segment);
            }
        }
        Err(Error::TooManyTransactions)
    }

    /// Puts a free segment where the next transaction finds it.
    pub fn give_back(&self, segment: Segment) {
        let (rseg, _) = segment.place();
        self.rsegs[usize::from(rseg)].give_back(segment);
    }

    /// Writes the commit record, which is the segment's state, in a mini-transaction of its own; its end
    /// LSN. [`Self::end`] must follow without a wait in between: readers wait for it.
    pub fn write_commit(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        state: State,
    ) -> Result<Lsn> {
        let mut mtr = Mtr::new(&self.pool, worker);
        let header = segment.latch_header(&mut mtr, &self.undo)?;
        segment.set_state(&mut mtr, header, state)?;
        self.states.committing(segment.trx());
        let committed = mtr.commit();
        if committed.is_err() {
            self.states.not_committing(segment.trx());
        }
        committed
    }

    /// Writes the segment's state in a mini-transaction of its own; its end LSN.
    pub fn write_state(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        state: State,
    ) -> Result<Lsn> {
        let mut mtr = Mtr::new(&self.pool, worker);
        let header = segment.latch_header(&mut mtr, &self.undo)?;
        segment.set_state(&mut mtr, header, state)?;
        mtr.commit()
    }

    /// Cuts the chain of a free segment that became long.
    pub fn trim(&self, worker: &WorkerSlot, segment: &mut Segment) -> Result<()> {
        segment.trim(&self.pool, worker, &self.undo)
    }

    /// Ends a transaction (`lsn`: of its commit record, or where it was undone) and wakes who waits
    /// for it. `slot`: of the session that it was, if it still has it.
    pub fn end(&self, id: TrxId, lsn: Lsn, slot: Option<&SessionSlot>) {
        if self.next_id().0 - id.0 >= self.states.certain() {
            // So old that its round will say nothing: who asks finds its end here.
            self.views.seal(crate::Past { id, end: lsn }, || self.tail(), || self.next_id());
        }
        self.states.end(id, lsn);
        match slot {
            Some(slot) => self.views.after_end(slot),
            None => self.views.ended(id),
        }
        self.event(id).notify_all();
    }

    /// The session of `slot` has given up its active transaction `id`, which somebody else will end.
    pub fn orphan(&self, id: TrxId, slot: &SessionSlot) {
        self.views.adopt(id);
        self.views.after_end(slot);
    }

    fn tail(&self) -> Lsn {
        self.pool.log().tail()
    }

    /// A transaction id that was not given yet.
    fn next_id(&self) -> TrxId {
        TrxId(self.ids.next(IdKind::Trx))
    }

    /// Opens a read view for the session of `slot`, which has none open: two loads of the log's tail, one
    /// of the next id, stores to the own slot.
    #[inline]
    pub fn open_view(&self, slot: &SessionSlot) -> View {
        self.views.open(slot, || self.tail(), || self.next_id())
    }

    /// The session of `slot` reads with its view no more.
    #[inline]
    pub fn close_view(&self, slot: &SessionSlot) {
        self.views.close(slot);
    }

    /// Whether `view` sees what `id` wrote. Waits for a commit that is a moment from its end.
    #[inline]
    pub fn sees(&self, view: &View, id: TrxId) -> bool {
        id < view.all_visible_below || self.sees_late(view, id)
    }

    fn sees_late(&self, view: &View, id: TrxId) -> bool {
        let ask = || self.views.sees(&self.states, view, id, self.next_id());
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            let seen = self.event(id).prepare();
            if let Some(answer) = ask() {
                return answer;
            }
            let _ = self.event(id).wait(seen, Deadline::after(COMMIT_LOOK));
        }
    }

    /// A place of the log that every view, now and later, lies at or behind: what ended at or before it is
    /// seen by all. As the last refresh found it.
    #[inline]
    pub fn horizon(&self) -> Lsn {
        self.views.horizon()
    }

    /// Transactions below this id have ended, as the last refresh found it.
    #[inline]
    pub fn all_ended_below(&self) -> TrxId {
        self.views.all_visible_below()
    }

    /// Looks at all views; the horizon. A heavy fence (10 us): for background threads.
    pub fn refresh_horizon(&self) -> Lsn {
        self.views.refresh(|| self.tail(), || self.next_id())
    }

    /// The oldest open view as the last refresh found it.
    pub fn oldest_view(&self) -> Option<Lsn> {
        self.views.oldest()
    }

    /// Whether every view, now and later, sees what `id` wrote, so that nobody needs what was before it.
    pub fn all_see(&self, id: TrxId) -> bool {
        self.views.all_see(&self.states, id, self.next_id())
    }

    fn event(&self, id: TrxId) -> &Event {
        &self.ends[id.0 as usize % END_EVENTS].0
    }

    /// Waits until `id` has ended. The caller holds no latch; its session is the thread's current
    /// one.
    ///
    /// Errors: [`Error::Deadlock`], [`Error::LockWaitTimeout`], [`Error::Killed`].
    pub fn wait_for_end(&self, id: TrxId, session: usize, deadline: Deadline) -> Result<()> {
        let event = self.event(id);
        while self.is_active(id) {
            let _edge = match self.states.session(id) {
                Some(blocker) => match self.waits.add(session as u64, blocker as u64) {
                    Ok(edge) => Some(edge),
                    // The blocker may have ended, and its session wait for us with its next
                    // transaction.
                    Err(_) if !self.is_active(id) => return Ok(()),
                    Err(_) => return Err(Error::Deadlock),
                },
                None => None,
            };
            let seen = event.prepare();
            if !self.is_active(id) {
                return Ok(());
            }
            match event.wait(seen, deadline) {
                WaitResult::Woken => {}
                _ if !self.is_active(id) => return Ok(()),
                WaitResult::TimedOut => return Err(Error::LockWaitTimeout),
                WaitResult::Killed => return Err(Error::Killed),
            }
        }
        Ok(())
    }

    /// Copies the undo record at `pos` into `out`. An error means nothing once the owner has ended.
    pub fn read_undo(&self, pos: UndoPos, out: &mut Vec<u8>) -> Result<()> {
        read_record(&self.undo, pos, out)
    }

    /// Copies the undo record of `trx` at `pos` into `out`, whether `trx` has ended or not. `false`:
    /// it has, and was purged: there may be anything at that place.
    pub fn read_kept_undo(&self, pos: UndoPos, trx: TrxId, out: &mut Vec<u8>) -> Result<bool> {
        read_kept_record(&self.undo, pos, trx, out)
    }
}
