//! The statements and transactions that a session ran last, and those that all sessions did.
//!
//! 1. A session writes its own rings, under a lock that nobody else takes but readers, to complete the records and copy them; a
//! record's memory is used again, so that a warm statement allocates nothing. 2. A ring ends with its session. 3. The histories of all sessions are
//! rings under one mutex each: they cost every event a write that others see, and are off unless they are asked for.
//! 4. A plain statement's record says which run has it, and nothing that those of a run have alike: it is told that before a reader
//! sees it, and before runs are settled. 5. Events of a thread are numbered in the order in which they ended, but that a transaction
//! has the number behind the statement that began it.

use crate::brief::{Brief, Taken};
use crate::digest::{Digest, DigestRow};
use crate::last::Last;
use crate::prepared::PreparedRow;
use crate::registry;
use crate::ring::Ring;
use crate::run::{Plain, Run, RunKind, RunPlace, Runs, run_of};
use crate::stat::Tally;
use crate::statement::{ONE_RANGE, StatementEnd, Sums};
use crate::transaction::{BranchName, BranchState, OwnTransaction, TransactionRecord};
use crate::{CounterPage, DigestKey, TextBuffer};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use stdx::lock;

/// `performance_schema_events_statements_history_size`.
static RECORDS_MAX: AtomicUsize = AtomicUsize::new(10);
/// `performance_schema_events_statements_history_long_size`.
static LONG_MAX: AtomicUsize = AtomicUsize::new(10_000);
/// `performance_schema_events_transactions_history_size`.
static TRANSACTIONS_MAX: AtomicUsize = AtomicUsize::new(10);
/// `performance_schema_events_transactions_history_long_size`.
static LONG_TRANSACTIONS_MAX: AtomicUsize = AtomicUsize::new(10_000);
/// `performance_schema_max_sql_text_length`.
static TEXT_BYTES_MAX: AtomicUsize = AtomicUsize::new(1024);

crate::classes! {
    static STATEMENTS: OwnMemory = "memory/performance_schema/events_statements_history";
    static STATEMENTS_LONG: OwnMemory = "memory/performance_schema/events_statements_history_long";
    static TRANSACTIONS: OwnMemory = "memory/performance_schema/events_transactions_history";
    static TRANSACTIONS_LONG: OwnMemory = "memory/performance_schema/events_transactions_history_long";
}

/// Events for which there was no room.
static LOST: AtomicU64 = AtomicU64::new(0);

/// `Performance_schema_locker_lost`: events that found no room, since it was set to zero last.
pub fn events_lost() -> u64 {
    LOST.load(Relaxed)
}

/// Counts them from zero again.
pub fn forget_events_lost() {
    LOST.store(0, Relaxed);
}

/// An event finds no room where some are to be kept.
#[cold]
pub(crate) fn lose(records_max: usize) {
    LOST.fetch_add(u64::from(records_max > 0), Relaxed);
}

/// Room behind a record's text.
const TEXT_ROOM_BYTES: usize = 64;

/// How an error ended a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Number.
    pub code: u16,
    /// SQLSTATE.
    pub state: [u8; 5],
    /// Text.
    pub text: String,
}

/// A statement that ended. What is written of one that adds to a run comes first, together.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct StatementRecord {
    /// Its number among the thread's events.
    pub event_id: u64,
    /// The transaction that it was run in, by its number among the thread's events.
    pub nesting: Option<NonZeroU64>,
    /// When it began and ended, in nanoseconds of the callers' clock; `None`: it is not timed.
    pub times_ns: Option<(u64, u64)>,
    /// Rows sent, rows read and rows changed.
    pub rows: (u64, u64, u64),
    again: Again,
    /// The transaction that it was by itself, if that is kept; it has the number behind the statement's.
    own: OwnTransaction,
    /// Its instrument's number.
    pub instrument: u16,
    /// The thread that ran it.
    pub thread_id: u64,
    /// The text of a statement that was not prepared, cut off where it is long.
    text: TextBuffer,
    /// The prepared statement that was executed.
    prepared: Option<Arc<PreparedRow>>,
    /// Everything else that it did, if it did: seldom, so that it lies apart.
    pub sums: Option<Box<Sums>>,
    /// How it failed.
    pub failure: Option<Box<Failure>>,
    digest: Option<RecordDigest>,
}

/// The transaction that a statement of this number and these times was by itself.
#[cold]
fn own_transaction(
    statement: u64,
    times_ns: Option<(u64, u64)>,
    own: OwnTransaction,
) -> Option<TransactionRecord> {
    let event_id = statement + 1;
    let (begin_ns, end_ns) = times_ns.unwrap_or_default();
    (!own.is_none()).then(|| TransactionRecord {
        event_id,
        end_event_id: NonZeroU64::new(event_id),
        nesting: NonZeroU64::new(statement),
        begin_ns,
        end_ns,
        kind: own.kind(),
        is_committed: own.is_committed(),
        is_timed: times_ns.is_some(),
        is_autocommit: true,
        ..TransactionRecord::default()
    })
}

/// What a record is still to be told by the run of its statement: instrument, prepared statement, digest.
#[derive(Debug, Clone, Copy, Default)]
struct Again {
    /// None: all has been told.
    run: RunPlace,
    is_range: bool,
    /// The text is the record's own, also where a prepared statement was executed.
    is_written: bool,
}

/// The digest of a statement that ended. A session's own row stands for it, as its count of references is the session's
/// alone; one that rests gives its rows back.
#[derive(Debug, Clone)]
enum RecordDigest {
    Row(Arc<DigestRow>),
    Digest(Arc<Digest>),
}

impl StatementRecord {
    /// As it was written, cut off where it is long.
    pub fn text(&self) -> &[u8] {
        let text = self.prepared.as_ref().map_or(&*self.text, |row| row.text());
        &text[..text.len().min(TEXT_BYTES_MAX.load(Relaxed))]
    }

    /// Its digest and that one's text.
    pub fn digest(&self) -> Option<(&DigestKey, &str)> {
        let Some(digest) = &self.digest else {
            return self.prepared.as_ref()?.digest()?.named();
        };
        match digest {
            RecordDigest::Row(row) => row.of(),
            RecordDigest::Digest(digest) => digest.named(),
        }
    }

    /// The transaction that it was by itself.
    fn own_transaction(&self) -> Option<TransactionRecord> {
        own_transaction(self.event_id, self.times_ns, self.own)
    }

    /// Tells the record what it left to its run.
    fn complete(&mut self, thread_id: u64, runs: &Runs) {
        let again = std::mem::take(&mut self.again);
        let Some(alike) = runs.alike(again.run) else { return };
        (self.thread_id, self.instrument) = (thread_id, alike.instrument);
        self.prepared = if again.is_written { None } else { alike.prepared.cloned() };
        let is_told = alike.has_own_digest && self.prepared.is_some();
        let digest = if is_told { None } else { alike.digest };
        self.digest = digest.cloned().map(RecordDigest::Row);
        self.sums = again.is_range.then(|| Box::new(*ONE_RANGE.all()));
    }

    /// Forgets what statements that add to a run have not.
    #[cold]
    fn forget(&mut self) {
        (self.prepared, self.digest, self.sums, self.failure) = (None, None, None, None);
    }

    fn rest(&mut self) {
        if let Some(RecordDigest::Row(row)) = &self.digest {
            self.digest = Some(RecordDigest::Digest(Arc::clone(row.digest())));
        }
    }
}

/// What a statement's record is made of, besides what is added up.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'r> {
    /// Its instrument's number.
    pub instrument: u16,
    /// When it ended, in nanoseconds of the callers' clock.
    pub now_ns: u64,
    /// As it was written.
    pub text: RecordedText<'r>,
    /// Its digest, unless it is the prepared statement's own.
    pub digest: Option<&'r Arc<DigestRow>>,
}

/// The text of a statement that ended.
#[derive(Debug, Clone, Copy)]
pub enum RecordedText<'t> {
    /// As it was written.
    Written(&'t [u8]),
    /// That of a prepared statement.
    Prepared(&'t Arc<PreparedRow>),
}

impl RecordedText<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Written(text) => text,
            Self::Prepared(row) => row.text(),
        }
    }
}

static SESSIONS: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());
static LONG: Mutex<Ring<StatementRecord>> = Mutex::new(Ring::new());
static LONG_TRANSACTIONS: Mutex<Ring<(u64, TransactionRecord)>> = Mutex::new(Ring::new());

/// What the end of each statement looks at comes first, behind [`Shared::events`] and the lock.
#[derive(Debug, Default)]
#[repr(C)]
struct Rings {
    owns: Owns,
    statements: Ring<StatementRecord>,
    /// Statements that are not told yet.
    runs: Runs,
    /// Transactions that ended, in no order, without those of `statements`.
    transactions: Ring<TransactionRecord>,
    /// The transaction that goes on.
    active: Option<TransactionRecord>,
    last_statement: Last<StatementRecord>,
    last_transaction: Last<TransactionRecord>,
}

/// How many of a session's statements were transactions of their own.
#[derive(Debug, Default)]
struct Owns {
    count: usize,
    /// They are as many as there is room for transactions.
    is_enough: bool,
}

impl Owns {
    /// Whether a statement may take the memory of another one, and nothing else is to be done.
    #[inline(always)]
    fn go_on(&self, before: OwnTransaction, now: OwnTransaction) -> bool {
        match (before.is_none(), now.is_none()) {
            (true, true) => true,
            (false, false) => self.is_enough,
            _ => false,
        }
    }

    /// A statement takes the memory of another one, whose transaction may still be among the last ones.
    #[cold]
    fn change(
        &mut self,
        before: &StatementRecord,
        now: OwnTransaction,
        transactions: &mut Ring<TransactionRecord>,
    ) {
        self.count += usize::from(!now.is_none());
        self.count -= usize::from(!before.own.is_none());
        self.is_enough = self.count >= TRANSACTIONS_MAX.load(Relaxed);
        if let Some(record) = before.own_transaction()
            && !self.is_enough
        {
            keep_transaction(transactions, record);
        }
    }
}

/// Keeps a transaction that ended, if it is among the last ones.
#[cold]
fn keep_transaction(transactions: &mut Ring<TransactionRecord>, record: TransactionRecord) {
    let records_max = TRANSACTIONS_MAX.load(Relaxed);
    let before = transactions.len();
    let by_end = (record.end_event_id, |record: &TransactionRecord| record.end_event_id);
    match transactions.place_by(records_max, &TRANSACTIONS, by_end) {
        Some(place) => *place = record,
        None if before < records_max => lose(records_max),
        None => {}
    }
}

impl Rings {
    /// Tells the records what they left to their runs.
    fn complete(&mut self, thread_id: u64) {
        let Rings { statements, runs, .. } = self;
        statements.each_mut(|record| record.complete(thread_id, runs));
    }

    /// Tells the runs to all that add up.
    fn settle(&mut self, thread_id: u64, page: &CounterPage) {
        self.complete(thread_id);
        self.runs.settle(page);
    }

    /// The place of the next statement's record, which was a transaction by itself; `None`: there is no room.
    #[inline(always)]
    fn place(&mut self, own: OwnTransaction) -> Option<&mut StatementRecord> {
        let Rings { statements, transactions, owns, .. } = self;
        let Some(place) = statements.place(|| RECORDS_MAX.load(Relaxed), &STATEMENTS) else {
            lose(RECORDS_MAX.load(Relaxed));
            return None;
        };
        if !owns.go_on(place.own, own) {
            owns.change(place, own, transactions);
        }
        place.own = own;
        Some(place)
    }

    /// Adds a plain statement, which the run at a place has; with its number, and that of the transaction that goes on.
    #[inline(always)]
    fn keep_again(
        &mut self,
        run: RunPlace,
        (event_id, nesting): (u64, Option<NonZeroU64>),
        plain: &Plain,
        kept: Kept<'_>,
    ) {
        let Some(record) = self.place(kept.own) else {
            return self.keep_own(event_id, Some(plain.times_ns), kept.own);
        };
        if record.again.run.is_none() {
            record.forget();
        }
        (record.event_id, record.nesting) = (event_id, nesting);
        record.times_ns = Some(plain.times_ns);
        record.rows = (plain.rows_sent, plain.rows_examined, plain.rows_affected);
        let is_written = kept.written.is_some();
        record.again = Again { run, is_range: plain.is_range, is_written };
        if let Some(text) = kept.written {
            assign_text(record, text);
        }
    }

    /// Keeps the transaction of a statement whose record found no room.
    #[cold]
    fn keep_own(&mut self, statement: u64, times_ns: Option<(u64, u64)>, own: OwnTransaction) {
        if let Some(record) = own_transaction(statement, times_ns, own) {
            keep_transaction(&mut self.transactions, record);
        }
    }

    /// The transactions that ended last, the oldest first.
    fn transactions(&self) -> Vec<TransactionRecord> {
        let owns = self.statements.in_order().filter_map(StatementRecord::own_transaction);
        let mut all: Vec<_> = self.transactions.in_order().cloned().chain(owns).collect();
        all.sort_by_key(|record| record.end_event_id);
        let beyond = all.len().saturating_sub(TRANSACTIONS_MAX.load(Relaxed));
        all.drain(..beyond);
        all
    }

    /// The statement that ended last.
    fn last_statement(&self) -> Option<StatementRecord> {
        let of_history = self.statements.in_order().last().cloned();
        self.last_statement.shown(of_history, |record| record.event_id)
    }

    /// The transaction that ended last.
    fn last_transaction(&self) -> Option<TransactionRecord> {
        let number = |record: &TransactionRecord| record.end_event_id.map_or(0, NonZeroU64::get);
        self.last_transaction.shown(self.transactions().pop(), number)
    }

    /// Forgets the statements, which are complete.
    fn empty_statements(&mut self) {
        let last = self.statements.last_mut();
        let last = last.map(|record| {
            record.rest();
            record.clone()
        });
        self.last_statement.keep(last, &STATEMENTS);
        let owns: Vec<_> =
            self.statements.in_order().filter_map(StatementRecord::own_transaction).collect();
        owns.into_iter().for_each(|own| keep_transaction(&mut self.transactions, own));
        self.statements = Ring::default();
        self.owns = Owns::default();
    }

    /// Forgets the transactions that ended.
    fn empty_transactions(&mut self) {
        let last = self.transactions().pop();
        self.last_transaction.keep(last, &TRANSACTIONS);
        self.statements.each_mut(|record| record.own = OwnTransaction::NONE);
        self.transactions = Ring::default();
        self.owns = Owns::default();
    }
}

#[derive(Debug)]
#[repr(C)]
struct Shared {
    /// How many events have ended; the session's own to write.
    events: Tally,
    rings: Brief<Rings>,
    thread_id: u64,
}

impl Shared {
    /// The rings, to be read: their records are complete.
    fn complete(&self) -> Taken<'_, Rings> {
        let mut rings = self.rings.take();
        rings.complete(self.thread_id);
        rings
    }
}

/// How a session numbers its statements and transactions.
#[derive(Debug)]
pub(crate) struct EventNumber(Arc<Shared>);

impl EventNumber {
    /// The number of the statement that runs.
    pub fn next(&self) -> u64 {
        self.0.events.get() + 1
    }

    /// The session has ended.
    pub fn is_over(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// How the session numbers its events that runs as a thread; `None` before the first.
pub(crate) fn event_number(thread_id: u64) -> Option<EventNumber> {
    let sessions = lock(&SESSIONS);
    let found = sessions.iter().find(|session| session.thread_id == thread_id);
    found.cloned().map(EventNumber)
}

/// The number of the statement that each live session runs or will run next, by THREAD_ID; those are missing that have run
/// none.
pub fn next_events() -> HashMap<u64, u64> {
    let sessions = lock(&SESSIONS);
    sessions.iter().map(|session| (session.thread_id, session.events.get() + 1)).collect()
}

/// Where a session's statements lie before they are told to those who add up.
#[derive(Debug)]
pub(crate) struct SessionRuns(Arc<Shared>);

impl SessionRuns {
    /// Tells them. The registry is locked, and this is the page of the session.
    pub fn settle(&self, page: &CounterPage) {
        self.0.rings.take().settle(self.0.thread_id, page);
    }
}

/// What a session ran last, and what of it is not told yet. Dropped, it is gone.
#[derive(Debug)]
pub struct SessionHistory {
    shared: Arc<Shared>,
    /// The number of the transaction that goes on.
    active: Option<NonZeroU64>,
}

impl SessionHistory {
    /// Of a session that runs as this thread and writes this page.
    #[cold]
    pub fn new(thread_id: u64, page: &CounterPage) -> SessionHistory {
        // None is registered under a history's lock.
        for memory in [&STATEMENTS, &TRANSACTIONS] {
            let _registered = memory.class().id();
        }
        let (events, rings) = (Tally::default(), Brief::default());
        let shared = Arc::new(Shared { thread_id, events, rings });
        registry::keeps_runs(page, SessionRuns(Arc::clone(&shared)));
        lock(&SESSIONS).push(Arc::clone(&shared));
        SessionHistory { shared, active: None }
    }

    /// Lets events be added, together.
    #[inline]
    pub fn open(&mut self) -> HistoryWriter<'_> {
        let SessionHistory { shared, active } = self;
        let (thread_id, rings) = (shared.thread_id, shared.rings.take());
        HistoryWriter { thread_id, rings, events: &shared.events, active }
    }

    /// The session is idle, and writes this page: what it keeps of its digests' figures is needed elsewhere.
    #[cold]
    pub fn rest(&self, page: &CounterPage) {
        let mut rings = self.shared.complete();
        rings.runs.rest(page);
        rings.statements.each_mut(StatementRecord::rest);
    }

    /// Says how the statement that was added last, to the session's history or to that of all, failed.
    #[cold]
    pub fn fails(&self, failure: Failure, (own, long): (bool, bool)) {
        let failure = Box::new(failure);
        if long {
            let is_mine = |record: &&mut StatementRecord| record.thread_id == self.shared.thread_id;
            // The latest of this thread.
            if let Some(record) = lock(&LONG).latest_first_mut().find(is_mine) {
                record.failure = Some(failure.clone());
            }
        }
        if own && let Some(record) = self.shared.complete().statements.last_mut() {
            record.failure = Some(failure);
        }
    }
}

/// What a session's history keeps of a statement that is added to a run.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'k> {
    /// The text as it was written; `None`: that of the prepared statement.
    pub written: Option<&'k [u8]>,
    /// Its history is kept.
    pub keeps: bool,
    /// The transaction that it was by itself, if that is kept.
    pub own: OwnTransaction,
}

impl SessionHistory {
    /// Adds a plain statement, the transaction that it was by itself included, to the run of its prepared statement or digest, and
    /// to the session's history. `false`: the run has none of its kind, and nothing was added.
    #[inline(always)]
    pub fn adds_again(
        &mut self,
        (instrument, own): (u16, OwnTransaction),
        (prepared, digest): (Option<&Arc<PreparedRow>>, Option<&Arc<DigestRow>>),
        plain: &Plain,
        kept: Kept<'_>,
    ) -> bool {
        let Some(run) = run_of(prepared, digest) else { return false };
        let mut rings = self.shared.rings.take();
        if !run.is_of(RunKind::of(instrument, own, digest)) {
            return false;
        }
        self.add_to(run, &mut rings, plain, kept);
        true
    }

    /// Adds a statement to a run of its kind.
    #[inline(always)]
    fn add_to(&self, run: &Run, rings: &mut Rings, plain: &Plain, kept: Kept<'_>) {
        run.add(plain);
        if kept.keeps {
            let event_id = number(&self.shared.events, kept.own);
            rings.keep_again(run.place(), (event_id, self.active), plain, kept);
        }
    }

    /// As [`Self::adds_again`], of one that is not like the one before; `page` is the session's.
    #[cold]
    pub fn adds_first(
        &mut self,
        (instrument, own): (u16, OwnTransaction),
        (prepared, digest): (Option<&Arc<PreparedRow>>, Option<&Arc<DigestRow>>),
        plain: &Plain,
        kept: Kept<'_>,
        page: &CounterPage,
    ) {
        let mut rings = self.shared.rings.take();
        if let Some((run, must_settle)) = rings.runs.place_for((prepared, digest)) {
            if must_settle {
                rings.settle(self.shared.thread_id, page);
            }
            // Under the same lock: whoever takes it next may settle the run, which ends it.
            rings.runs.begin(run, RunKind::of(instrument, own, digest), (prepared, digest));
            return self.add_to(run, &mut rings, plain, kept);
        }
        drop(rings);
        let end = StatementEnd {
            ns: Some(plain.ns),
            rows_sent: plain.rows_sent,
            rows_examined: plain.rows_examined,
            rows_affected: plain.rows_affected,
            more: plain.is_range.then_some(&ONE_RANGE),
        };
        let mut writer = self.open();
        writer.count_apart(instrument, (prepared, digest), &end, page);
        if !own.is_none() {
            page.add_transaction(own.kind().is_read_only, end.ns);
        }
        let text = match (kept.written, prepared) {
            (None, Some(prepared)) => RecordedText::Prepared(prepared),
            (written, _) => RecordedText::Written(written.unwrap_or_default()),
        };
        if kept.keeps {
            let recorded = Recorded { instrument, now_ns: plain.times_ns.1, text, digest };
            writer.add_statement(&end, &recorded, kept.own);
        }
    }

    /// The number of the event that ends next.
    pub fn next_event_id(&self) -> u64 {
        self.shared.events.get() + 1
    }
}

impl Drop for SessionHistory {
    fn drop(&mut self) {
        lock(&SESSIONS).retain(|shared| !Arc::ptr_eq(shared, &self.shared));
    }
}

/// Adds events to a session's history.
pub struct HistoryWriter<'h> {
    thread_id: u64,
    rings: Taken<'h, Rings>,
    events: &'h Tally,
    active: &'h mut Option<NonZeroU64>,
}

impl HistoryWriter<'_> {
    /// Adds any statement that ended, without its transaction, to what is told.
    #[cold]
    pub fn count_apart(
        &mut self,
        instrument: u16,
        (prepared, digest): (Option<&Arc<PreparedRow>>, Option<&Arc<DigestRow>>),
        end: &StatementEnd<'_>,
        page: &CounterPage,
    ) {
        page.add_statement(instrument, end);
        if let Some(prepared) = prepared {
            prepared.add(end);
        }
        if let Some(digest) = digest {
            digest.add(end);
        }
    }

    /// The number of the next event.
    fn number(&self) -> u64 {
        number(self.events, OwnTransaction::NONE)
    }

    /// Adds a statement that ended, and the transaction that it was by itself, to the session's history.
    #[cold]
    fn add_statement(
        &mut self,
        end: &StatementEnd<'_>,
        recorded: &Recorded<'_>,
        own: OwnTransaction,
    ) {
        let event_id = number(self.events, own);
        let id = EventId { thread_id: self.thread_id, event_id, nesting: *self.active };
        match self.rings.place(own) {
            Some(place) => write(place, &id, end, recorded),
            None => {
                let times_ns =
                    end.ns.map(|ns| (recorded.now_ns.saturating_sub(ns), recorded.now_ns));
                self.rings.keep_own(event_id, times_ns, own);
            }
        }
    }

    /// Adds a statement that ended to the session's history, `own`, and to that of all sessions, `long`.
    #[cold]
    pub fn add_statement_to(
        &mut self,
        end: &StatementEnd<'_>,
        recorded: &Recorded<'_>,
        (own, long): (bool, bool),
    ) {
        if long {
            let event_id = self.events.get() + 1;
            let id = EventId { thread_id: self.thread_id, event_id, nesting: *self.active };
            add_long(&id, end, recorded);
        }
        match own {
            true => self.add_statement(end, recorded, OwnTransaction::NONE),
            false => drop(self.number()),
        }
    }

    /// A transaction begins that goes on beyond its statement, which was added before.
    #[cold]
    pub fn begin_transaction(&mut self, mut record: TransactionRecord) {
        record.nesting = NonZeroU64::new(self.events.get());
        record.event_id = self.number();
        *self.active = NonZeroU64::new(record.event_id);
        self.rings.active = Some(record);
    }

    /// The transaction that goes on is a branch that is so far.
    #[cold]
    pub fn change_branch(&mut self, branch: &(Arc<BranchName>, BranchState)) {
        if let Some(active) = &mut self.rings.active {
            active.branch = Some(branch.clone());
        }
    }

    /// Adds a transaction that ended with the statement that was added last: the one that goes on, or that statement's own. In
    /// place of one that was left, which is told no more.
    pub fn end_transaction(&mut self, mut record: TransactionRecord, keep: bool, long: bool) {
        if record.is_autocommit {
            (*self.active, self.rings.active) = (None, None);
            record.nesting = NonZeroU64::new(self.events.get());
            record.event_id = self.number();
        } else {
            let begun = self.rings.active.take();
            *self.active = None;
            let Some(begun) = begun else { return };
            (record.event_id, record.nesting) = (begun.event_id, begun.nesting);
        }
        record.end_event_id = NonZeroU64::new(self.events.get());
        if long {
            add_long_transaction(self.thread_id, record.clone());
        }
        if keep {
            keep_transaction(&mut self.rings.transactions, record);
        }
    }
}

/// The number of a statement that ends; the transaction that it was by itself has the next one.
#[inline(always)]
fn number(events: &Tally, own: OwnTransaction) -> u64 {
    let number = events.get() + 1;
    events.set(number + u64::from(!own.is_none()));
    number
}

#[cold]
fn add_long(id: &EventId, end: &StatementEnd<'_>, recorded: &Recorded<'_>) {
    // It outlives sessions and their statements.
    let recorded = &Recorded { text: RecordedText::Written(recorded.text.bytes()), ..*recorded };
    match lock(&LONG).place(|| LONG_MAX.load(Relaxed), &STATEMENTS_LONG) {
        Some(place) => {
            write(place, id, end, recorded);
            place.rest();
        }
        None => lose(LONG_MAX.load(Relaxed)),
    }
}

#[cold]
fn add_long_transaction(thread_id: u64, record: TransactionRecord) {
    let records_max = || LONG_TRANSACTIONS_MAX.load(Relaxed);
    match lock(&LONG_TRANSACTIONS).place(records_max, &TRANSACTIONS_LONG) {
        Some(place) => *place = (thread_id, record),
        None => lose(records_max()),
    }
}

/// Which event it is.
struct EventId {
    thread_id: u64,
    event_id: u64,
    /// The transaction that it belongs to.
    nesting: Option<NonZeroU64>,
}

fn write(
    record: &mut StatementRecord,
    id: &EventId,
    end: &StatementEnd<'_>,
    recorded: &Recorded<'_>,
) {
    (record.thread_id, record.event_id, record.nesting) = (id.thread_id, id.event_id, id.nesting);
    record.again = Again::default();
    record.instrument = recorded.instrument;
    record.times_ns = end.ns.map(|ns| (recorded.now_ns.saturating_sub(ns), recorded.now_ns));
    match recorded.text {
        // A long text is not kept beyond its statement.
        RecordedText::Prepared(row) if !row.is_short() => {
            write_text(record, row.text());
        }
        RecordedText::Prepared(row) => match &record.prepared {
            Some(same) if Arc::ptr_eq(same, row) => {}
            _ => record.prepared = Some(Arc::clone(row)),
        },
        RecordedText::Written(text) => write_text(record, text),
    }
    record.rows = (end.rows_sent, end.rows_examined, end.rows_affected);
    match end.more {
        Some(more) => **record.sums.get_or_insert_default() = *more.all(),
        None => record.sums = None,
    }
    if record.failure.is_some() {
        record.failure = None;
    }
    write_digest(record, recorded);
}

fn write_digest(record: &mut StatementRecord, recorded: &Recorded<'_>) {
    let row = recorded.digest;
    let same = match (&record.digest, row) {
        (Some(RecordDigest::Row(mine)), Some(row)) => Arc::ptr_eq(mine, row),
        (None, None) => true,
        _ => false,
    };
    if !same {
        record.digest = row.cloned().map(RecordDigest::Row);
    }
}

fn write_text(record: &mut StatementRecord, text: &[u8]) {
    record.prepared = None;
    assign_text(record, text);
}

#[inline]
fn assign_text(record: &mut StatementRecord, text: &[u8]) {
    let bytes = text.len().min(TEXT_BYTES_MAX.load(Relaxed));
    record.text.assign(&text[..bytes], TEXT_ROOM_BYTES);
}

/// The statements that each live session ran last, a session's together, the oldest first.
pub fn statement_histories() -> Vec<StatementRecord> {
    let sessions = lock(&SESSIONS).clone();
    let mut all = Vec::new();
    for session in sessions {
        all.extend(session.complete().statements.in_order().cloned());
    }
    all
}

/// The statements that all sessions ran, the oldest first.
pub fn long_statement_history() -> Vec<StatementRecord> {
    lock(&LONG).in_order().cloned().collect()
}

/// The statement that each live session ended last.
pub fn last_statements() -> Vec<StatementRecord> {
    let sessions = lock(&SESSIONS).clone();
    sessions.iter().filter_map(|session| session.complete().last_statement()).collect()
}

/// Empties the histories of the sessions; what each ended last is still told.
pub fn empty_statement_histories() {
    for session in lock(&SESSIONS).clone() {
        session.complete().empty_statements();
    }
}

/// What each session ended last is told no more but by its history.
pub fn empty_last_statements() {
    for session in lock(&SESSIONS).clone() {
        let mut rings = session.rings.take();
        rings.last_statement.hide(session.events.get());
    }
}

/// The transactions that each live session ended last, with its THREAD_ID; a session's together, the oldest first.
pub fn transaction_histories() -> Vec<(u64, TransactionRecord)> {
    let mut all = Vec::new();
    for session in lock(&SESSIONS).clone() {
        let rings = session.rings.take();
        all.extend(rings.transactions().into_iter().map(|record| (session.thread_id, record)));
    }
    all
}

/// The transaction that each live session is in, or else ended last, with its THREAD_ID.
pub fn current_transactions() -> Vec<(u64, TransactionRecord)> {
    let sessions = lock(&SESSIONS).clone();
    let current = |session: Arc<Shared>| {
        let rings = session.rings.take();
        let record = rings.active.clone().or_else(|| rings.last_transaction());
        record.map(|record| (session.thread_id, record))
    };
    sessions.into_iter().filter_map(current).collect()
}

/// The transactions that all sessions ended, with their THREAD_IDs, the oldest first.
pub fn long_transaction_history() -> Vec<(u64, TransactionRecord)> {
    lock(&LONG_TRANSACTIONS).in_order().cloned().collect()
}

/// Empties the transactions' histories of the sessions; what each ended last is still told.
pub fn empty_transaction_histories() {
    for session in lock(&SESSIONS).clone() {
        session.rings.take().empty_transactions();
    }
}

/// What each session ended last is told no more but by its history; transactions that go on are.
pub fn empty_last_transactions() {
    for session in lock(&SESSIONS).clone() {
        let mut rings = session.rings.take();
        rings.last_transaction.hide(session.events.get());
    }
}

/// Empties the history of all sessions' transactions.
pub fn empty_long_transaction_history() {
    *lock(&LONG_TRANSACTIONS) = Ring::default();
}

/// For how many transactions there is room in a session's history and in that of all.
pub fn set_transaction_history_limits(records_max: usize, long_max: usize) {
    TRANSACTIONS_MAX.store(records_max, Relaxed);
    LONG_TRANSACTIONS_MAX.store(long_max, Relaxed);
}

/// Empties the history of all sessions.
pub fn empty_long_statement_history() {
    *lock(&LONG) = Ring::default();
}

/// For how many statements there is room in a session's history and in that of all, and how many bytes of a text are kept.
pub fn set_history_limits(records_max: usize, long_max: usize, text_bytes_max: usize) {
    RECORDS_MAX.store(records_max, Relaxed);
    LONG_MAX.store(long_max, Relaxed);
    TEXT_BYTES_MAX.store(text_bytes_max, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    // One after the other: what is emptied is that of all.
    #[test]
    fn a_session_keeps_its_last_statements() {
        let _alone = lock(&crate::EMPTIES);
        a_session_that_rests_gives_its_digests_rows_back();
        statements_are_nested_in_the_transaction_that_goes_on();
        let mut history = SessionHistory::new(77, &CounterPage::boxed());
        let texts = || -> Vec<String> {
            let all = statement_histories().into_iter().filter(|record| record.thread_id == 77);
            all.map(|record| String::from_utf8(record.text().to_vec()).unwrap()).collect()
        };
        for n in 0..13u64 {
            let end = StatementEnd { ns: Some(n), rows_sent: n, ..StatementEnd::default() };
            let text = format!("SELECT {n}");
            let recorded = Recorded {
                instrument: 1,
                now_ns: 100 + n,
                text: RecordedText::Written(text.as_bytes()),
                digest: None,
            };
            history.open().add_statement_to(&end, &recorded, (true, n == 12));
        }
        let expected: Vec<_> = (3..13).map(|n| format!("SELECT {n}")).collect();
        assert_eq!(texts(), expected);
        let last = statement_histories().into_iter().rfind(|r| r.thread_id == 77).unwrap();
        assert_eq!((last.event_id, last.times_ns, last.rows), (13, Some((100, 112)), (12, 0, 0)));
        let failure = Failure { code: 1064, state: *b"42000", text: "no".into() };
        history.fails(failure, (true, false));
        let last = statement_histories().into_iter().rfind(|r| r.thread_id == 77).unwrap();
        assert_eq!(last.failure.unwrap().code, 1064);
        let long = || -> Vec<_> {
            let all = long_statement_history().into_iter().filter(|record| record.thread_id == 77);
            all.map(|record| (record.event_id, record.failure.map(|f| f.code))).collect()
        };
        assert_eq!(long(), [(13, None)]);
        // Into that of all alone.
        let recorded = Recorded {
            instrument: 1,
            now_ns: 200,
            text: RecordedText::Written(b"long"),
            digest: None,
        };
        let end = StatementEnd { ns: Some(1), ..StatementEnd::default() };
        history.open().add_statement_to(&end, &recorded, (false, true));
        let failure = Failure { code: 1146, state: *b"42S02", text: "no".into() };
        history.fails(failure, (false, true));
        assert_eq!(long(), [(13, None), (14, Some(1146))]);
        let last = statement_histories().into_iter().rfind(|r| r.thread_id == 77).unwrap();
        assert_eq!((last.event_id, last.failure.unwrap().code), (13, 1064));
        let shown = || {
            let last = last_statements().into_iter().find(|record| record.thread_id == 77);
            last.map(|record| record.event_id)
        };
        empty_statement_histories();
        assert_eq!((texts(), shown()), (Vec::new(), Some(13)));
        empty_last_statements();
        assert_eq!(shown(), None);
        for number in [15, 16] {
            history.open().add_statement_to(&end, &recorded, (true, false));
            assert_eq!(shown(), Some(number));
        }
        empty_last_statements();
        assert_eq!((texts().len(), shown()), (2, None));
        drop(history);
        assert_eq!(long().len(), 2);
    }

    fn a_session_that_rests_gives_its_digests_rows_back() {
        let mut history = SessionHistory::new(79, &CounterPage::boxed());
        let key = DigestKey { schema: None, hash: [79; 32] };
        let end = StatementEnd { ns: Some(1), ..StatementEnd::default() };
        let run = |history: &mut SessionHistory, row: &Arc<DigestRow>| {
            let recorded = Recorded {
                instrument: 1,
                now_ns: 9,
                text: RecordedText::Written(b""),
                digest: Some(row),
            };
            history.open().add_statement_to(&end, &recorded, (true, false));
        };
        let mine = || statement_histories().into_iter().rfind(|r| r.thread_id == 79).unwrap();
        let row = DigestRow::alone(key.clone(), "SELECT ?");
        run(&mut history, &row);
        let row = {
            let weak = Arc::downgrade(&row);
            drop(row);
            weak
        };
        assert!(row.upgrade().is_some(), "the history has it");
        history.rest(&CounterPage::boxed());
        assert!(row.upgrade().is_none());
        assert_eq!(mine().digest(), Some((&key, "SELECT ?")));
        // The next one has a row again.
        run(&mut history, &DigestRow::alone(key.clone(), "SELECT ? + ?"));
        assert_eq!(mine().digest(), Some((&key, "SELECT ? + ?")));
    }

    fn statements_are_nested_in_the_transaction_that_goes_on() {
        let mut history = SessionHistory::new(78, &CounterPage::boxed());
        let end = StatementEnd { ns: Some(1), ..StatementEnd::default() };
        let recorded =
            Recorded { instrument: 1, now_ns: 9, text: RecordedText::Written(b""), digest: None };
        let begun = TransactionRecord { begin_ns: 5, ..TransactionRecord::default() };
        let statement = |history: &mut SessionHistory| {
            history.open().add_statement_to(&end, &recorded, (true, false));
        };
        let mine = |all: Vec<(u64, TransactionRecord)>| -> Vec<_> {
            let mine = all.into_iter().filter(|(thread_id, _)| *thread_id == 78);
            let n = |number: Option<NonZeroU64>| number.map(NonZeroU64::get);
            let parts = |t: TransactionRecord| {
                (t.event_id, n(t.end_event_id), n(t.nesting), t.is_autocommit)
            };
            mine.map(|(_, t)| parts(t)).collect()
        };
        statement(&mut history);
        history.open().begin_transaction(begun.clone());
        assert_eq!(mine(current_transactions()), [(2, None, Some(1), false)]);
        statement(&mut history);
        history.open().end_transaction(begun.clone(), true, false);
        statement(&mut history);
        let own = TransactionRecord { is_autocommit: true, ..begun };
        history.open().end_transaction(own.clone(), true, false);
        let all = [(2, Some(3), Some(1), false), (5, Some(5), Some(4), true)];
        assert_eq!(mine(transaction_histories()), all);
        assert_eq!(mine(current_transactions()), all[1..]);
        let nested = statement_histories().into_iter().filter(|r| r.thread_id == 78);
        assert_eq!(
            nested.map(|r| (r.event_id, r.nesting.map(NonZeroU64::get))).collect::<Vec<_>>(),
            [(1, None), (3, Some(2)), (4, None)]
        );
        empty_last_transactions();
        assert_eq!(
            (mine(transaction_histories()), mine(current_transactions())),
            (all.into(), vec![])
        );
        statement(&mut history);
        history.open().end_transaction(own, true, false);
        let next = (7, Some(7), Some(6), true);
        assert_eq!(mine(current_transactions()), [next]);
        empty_transaction_histories();
        assert_eq!(
            (mine(transaction_histories()), mine(current_transactions())),
            (vec![], vec![next])
        );
    }
}
