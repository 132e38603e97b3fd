//! All transactions together: who runs, who waits for whom, where the undo segments are.
//!
//! A transaction gets its id with its first write.
//!
//! 1. A transaction ends once, by one store in [`States`], then a wake-up. Guard: the assert of [`States::end`];
//!    a lost wake-up hangs a seed of the engine's `one_runner`.
//! 2. Nobody waits for a transaction while holding a latch. Guard: the assert of [`TrxSystem::wait_for_end`].

use crate::history::History;
use crate::ids::{IdKind, Ids};
use crate::reader::{CommitRecord, RecordCount, running, unpurged};
use crate::record::UndoRecord;
use crate::rseg::{RSEGS, Recovered, Rseg};
use crate::segment::{PAGES_KEPT, PAGES_KEPT_MIN, Segment, State, UndoPos};
use crate::states::States;
use crate::undo_page::{commit_before, read_kept_record, read_record};
use crate::views::{View, Views};
use base::{Error, Lsn, PageId, Result, TrxId, UNDO_SPACE};
use pool::{Mtr, Pool, Tablespace};
use std::sync::Arc;
use std::time::Duration;
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::waits::{ROW_LOCK, WaitsFor};
use sync::{Deadline, Event, SessionSlot, SlotTable, WaitResult, WorkerSlot};

/// How long a reader waits for a commit that has begun before it looks again.
const COMMIT_LOOK: Duration = Duration::from_millis(10);
const END_EVENTS: usize = 64;
/// Entries of the state ring tried for a new transaction.
const IDS_TRIED_MAX: usize = 1 << 16;

/// The transactions of an engine.
pub struct TrxSystem {
    /// Numbers that survive a crash.
    pub ids: Arc<Ids>,
    pub(crate) states: States,
    pub(crate) views: Views,
    pub(crate) pool: Arc<Pool>,
    undo: Arc<Tablespace>,
    ends: Box<[CacheLine<Event>]>,
    waits: Arc<WaitsFor>,
    rsegs: Vec<CacheLine<Rseg>>,
    /// Transactions begin in the first so many rollback segments.
    rsegs_used: SharedAtomic<usize, { class::OTHER }>,
    /// What free segments keep.
    pages_kept: SharedAtomic<usize, { class::OTHER }>,
}

/// Which end of a transaction is written.
#[derive(Clone, Copy)]
enum Writes {
    Commit,
    /// What comes after the commit of one that has dropped indexes.
    Rest,
    Rollback,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its end.
    pub lsn: Lsn,
    /// It has written something: a commit must wait for the log.
    pub wrote: bool,
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
            ends: (0..END_EVENTS).map(|_| CacheLine(Event::of_locks(&ROW_LOCK))).collect(),
            waits: Arc::clone(waits),
            rsegs: (0..RSEGS as u8).map(|n| CacheLine(Rseg::new(n))).collect(),
            rsegs_used: SharedAtomic::new(RSEGS),
            pages_kept: SharedAtomic::new(PAGES_KEPT),
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
            rseg.recover(&self.undo, &self.ids, &mut found)?;
        }
        for segment in found.active.iter().chain(&found.prepared) {
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
        cached: Option<Box<Segment>>,
    ) -> Result<Box<Segment>> {
        let mut segment = match cached {
            Some(segment) => segment,
            None => Box::new(self.acquire_segment(worker, worker_index)?),
        };
        match self.start_id(worker, session) {
            Ok(id) => segment.start(id),
            Err(e) => {
                self.give_back(*segment);
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
        let used = self.rollback_segments();
        for i in 0..used {
            let rseg = &self.rsegs[(worker_index + i) % used];
            if let Some(segment) = rseg.acquire(&self.pool, worker, &self.undo, &self.ids)? {
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

    /// Writes the commit of the segment's transaction, which runs. One that has dropped indexes is only marked
    /// committed: [`Self::finish_commit`] comes when they are gone. [`Self::end`] must follow without a wait
    /// in between: readers wait for it.
    pub fn commit(&self, worker: &WorkerSlot, segment: &mut Segment) -> Result<Ended> {
        if !segment.has_written() {
            return Ok(Ended { lsn: self.tail(), wrote: false });
        }
        let wrote = !segment.last().is_none();
        let trx = segment.trx();
        let lsn =
            self.write_end(worker, segment, Writes::Commit, |mtr| self.commit_with(trx, mtr))?;
        Ok(Ended { lsn, wrote })
    }

    /// Ends the mini-transaction that has the commit of `trx` in it ([`Segment::append_last`]); its LSN.
    /// [`Self::end`] must follow as after [`Self::commit`].
    pub fn commit_with(&self, trx: TrxId, mtr: Mtr<'_>) -> Result<Lsn> {
        self.states.committing(trx);
        let committed = mtr.commit();
        if committed.is_err() {
            self.states.not_committing(trx);
        }
        committed
    }

    /// Writes that a segment whose transaction has ended is free: the dropped indexes, or what recovery found
    /// unpurged, are gone.
    pub fn finish_commit(&self, worker: &WorkerSlot, segment: &mut Segment) -> Result<Lsn> {
        self.write_end(worker, segment, Writes::Rest, |mtr| mtr.commit())
    }

    /// Writes that the segment's transaction is rolled back; its end LSN.
    pub fn finish_rollback(&self, worker: &WorkerSlot, segment: &mut Segment) -> Result<Lsn> {
        match segment.has_written() {
            true => self.write_end(worker, segment, Writes::Rollback, |mtr| mtr.commit()),
            false => Ok(self.tail()),
        }
    }

    fn write_end(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        what: Writes,
        commit: impl FnOnce(Mtr<'_>) -> Result<Lsn>,
    ) -> Result<Lsn> {
        let mut mtr = Mtr::new(&self.pool, worker);
        let top = segment.latch_header(&mut mtr, &self.undo)?;
        let work = segment.needs_purge() && !segment.is_recovered();
        match what {
            Writes::Commit if segment.drops_index() => {
                segment.set_state(&mut mtr, top, State::Committed)?;
            }
            Writes::Commit | Writes::Rest if work => segment.set_committed(&mut mtr, top)?,
            _ => segment.set_state(&mut mtr, top, State::Free)?,
        }
        commit(mtr)
    }

    /// After [`Self::end`]: what the transaction wrote is kept for older views and for purge, or else written
    /// over. Whether the oldest transaction of the segment can be purged.
    pub fn leave(&self, segment: &mut Segment, lsn: Lsn, committed: bool) -> bool {
        assert!(!self.is_active(segment.trx()), "{:?} has not ended", segment.trx());
        segment.leave(lsn, committed, self.horizon())
    }

    /// In how many of the rollback segments transactions begin (`innodb_rollback_segments`).
    pub fn rollback_segments(&self) -> usize {
        self.rsegs_used.load(Ordering::Relaxed)
    }

    /// Sets [`Self::rollback_segments`], 1 to [`RSEGS`].
    pub fn set_rollback_segments(&self, n: usize) {
        self.rsegs_used.store(n.clamp(1, RSEGS), Ordering::Relaxed);
    }

    /// The histories of all segments of rollback segment `rseg`.
    pub fn histories(&self, rseg: usize) -> Vec<Arc<History>> {
        self.rsegs[rseg % RSEGS].histories()
    }

    /// Those in which purge may find something.
    pub fn waiting_histories(&self, rseg: usize) -> Vec<Arc<History>> {
        self.rsegs[rseg % RSEGS].waiting_histories()
    }

    /// How many ended transactions are kept.
    pub fn history_len(&self) -> usize {
        let horizon = self.horizon();
        self.rsegs.iter().map(|rseg| rseg.history_len(horizon)).sum()
    }

    /// What stands for a transaction in the hands of who purges it.
    pub fn stand_in(&self) -> Segment {
        Segment::stand_in(&self.ids)
    }

    /// Whose a commit record is, and that transaction's last record.
    pub fn read_commit(&self, at: UndoPos, bytes: &mut Vec<u8>) -> Result<(TrxId, UndoPos)> {
        self.read_undo(at, bytes)?;
        let place = PageId::new(UNDO_SPACE, at.page);
        let record = UndoRecord::decode(bytes, place, at.offset)?;
        match commit_before(&record) {
            Some(_) => Ok((record.trx, record.previous)),
            None => Err(Error::corrupt(place, "not a commit record")),
        }
    }

    /// What recovery found unpurged in a segment, the newest transaction first: whose, and the last record of
    /// each.
    pub fn unpurged(&self, segment: &Segment) -> Result<Vec<(TrxId, UndoPos)>> {
        let found = self.unpurged_commits(segment)?;
        Ok(found.into_iter().map(|commit| (commit.trx, commit.last)).collect())
    }

    pub(crate) fn unpurged_commits(&self, segment: &Segment) -> Result<Vec<CommitRecord>> {
        unpurged(segment.unpurged(), segment.purged_to(), &mut |at, out| self.read_undo(at, out))
    }

    /// Counts on among the records of an active transaction that recovery found, at most `most` of them; whether
    /// all are counted, as [`Segment::records`] says then.
    pub fn count_records(
        &self,
        segment: &mut Segment,
        count: &mut RecordCount,
        most: u64,
    ) -> Result<bool> {
        let mut left = most;
        while !count.at.is_none() {
            if left == 0 {
                return Ok(false);
            }
            left -= 1;
            count.step(&self.undo, segment.trx())?;
        }
        segment.set_records(count.records);
        Ok(true)
    }

    /// Writes how far the free segments are purged, so that the next start need not do it again.
    pub fn note_purged(&self, worker: &WorkerSlot) -> Result<()> {
        self.rsegs.iter().try_for_each(|r| r.note_purged(&self.pool, worker, &self.undo))
    }

    /// Cuts the long ones among the free segments of rollback segment `rseg`; whether there is more to cut.
    pub fn trim(&self, worker: &WorkerSlot, rseg: usize) -> Result<bool> {
        self.rsegs[rseg % RSEGS].trim(&self.pool, worker, &self.undo, self.pages_kept())
    }

    /// Whether free segments keep no page that they need not, so that the extents become free.
    pub fn keep_few_pages(&self, few: bool) {
        self.pages_kept.store(if few { PAGES_KEPT_MIN } else { PAGES_KEPT }, Ordering::Relaxed);
    }

    fn pages_kept(&self) -> usize {
        self.pages_kept.load(Ordering::Relaxed)
    }

    /// Whether a free segment has more pages than it should keep, so that it belongs where [`Self::trim`] finds it.
    pub fn is_long(&self, segment: &Segment) -> bool {
        segment.is_long(self.pages_kept())
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
        self.states.disown(id);
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
        id < view.all_visible_below || id < view.low && self.sees_late(view, id)
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

    /// The session slot of a transaction that is active and not left to the engine.
    #[inline]
    pub fn session(&self, id: TrxId) -> Option<usize> {
        self.states.session(id)
    }

    /// Waits until `id` has ended. The caller holds no latch; its session is the thread's current
    /// one.
    ///
    /// Errors: [`Error::Deadlock`], [`Error::LockWaitTimeout`], [`Error::Killed`].
    pub fn wait_for_end(&self, id: TrxId, session: usize, deadline: Deadline) -> Result<()> {
        let event = self.event(id);
        pool::assert_no_latches("a transaction's end is waited for");
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

    /// Shows `tell` the records of the transactions that run, the newest of each first; who ends meanwhile may be left
    /// out in part.
    pub fn running_records(&self, tell: &mut dyn FnMut(&UndoRecord<'_>)) -> Result<()> {
        running(&self.undo, &self.ids, tell)
    }

    /// Copies the undo record at `pos` into `out`. An error means nothing once the owner has ended.
    pub fn read_undo(&self, pos: UndoPos, out: &mut Vec<u8>) -> Result<()> {
        read_record(&self.undo, pos, out)
    }

    /// Copies the undo record that `trx` wrote at `pos` into `out`, whether `trx` has ended or not. `false`:
    /// the record is gone, since `trx` was purged or rolled back, and the horizon has passed its end.
    ///
    /// A record that others may follow is there as long as `trx` is active or its end lies above the horizon; so for
    /// the holder of a published view every one that a row leads to which it copied afterwards.
    pub fn read_kept_undo(&self, pos: UndoPos, trx: TrxId, out: &mut Vec<u8>) -> Result<bool> {
        read_kept_record(&self.undo, pos, trx, out)
    }
}
