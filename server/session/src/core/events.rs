//! What the statement that runs adds to the figures of statements when it ends.
//!
//! 1. Everything lies in the session's own memory and is written once for each statement, at its end.
//! 2. A digest is made with the program of its text, or of the text where there is none; who runs it again knows its place
//!    among the session's digests. Where the current schema is another one, the place is looked up by schema and hash.

use super::transaction::Transaction;
use super::transaction_events::TransactionEvents;
use crate::env::Env;
use crate::secrets::may_have;
use instrument::{
    Counter, Depth, DigestKey, DigestPlace, DigestRow, EventSums, Failure, Kept, OwnTransaction,
    Plain, Plan, PreparedRow, Recorded, RecordedText, STATEMENTS, SessionDigests, SessionHistory,
    StatementEnd, Sum, Watch, bucket_of_statement, statement_named, statement_of,
};
use parser::SqlMode;
use parser::digest::Digest;
use std::collections::HashMap;
use std::sync::Arc;
use stdx::Ordering;
use sync::{HISTORY, SessionSlot};

/// Texts without a program whose digests are remembered, and how long they are at most; none that may tell a password.
const TEXTS_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 512;

/// Instruments of commands.
pub(crate) mod instruments {
    use super::statement_named;

    pub const QUERY: u16 = statement_named("statement/abstract/Query");
    pub const ERROR: u16 = statement_named("statement/sql/error");
    pub const SHOW_WARNINGS: u16 = statement_named("statement/sql/show_warnings");
    pub const SHOW_ERRORS: u16 = statement_named("statement/sql/show_errors");
    pub const SELECT: u16 = statement_named("statement/sql/select");
    pub const INSERT: u16 = statement_named("statement/sql/insert");
    pub const UPDATE: u16 = statement_named("statement/sql/update");
    pub const DELETE: u16 = statement_named("statement/sql/delete");
    pub const COMMIT: u16 = statement_named("statement/sql/commit");
    pub const EXECUTE: u16 = statement_named("statement/com/Execute");
    pub const PREPARE: u16 = statement_named("statement/com/Prepare");
    pub const FETCH: u16 = statement_named("statement/com/Fetch");
    pub const CLOSE: u16 = statement_named("statement/com/Close stmt");
    pub const RESET: u16 = statement_named("statement/com/Reset stmt");
    pub const LONG_DATA: u16 = statement_named("statement/com/Long Data");
    pub const QUIT: u16 = statement_named("statement/com/Quit");
    pub const INIT_DB: u16 = statement_named("statement/com/Init DB");
    pub const PING: u16 = statement_named("statement/com/Ping");
    pub const FIELD_LIST: u16 = statement_named("statement/com/Field List");
    pub const STATISTICS: u16 = statement_named("statement/com/Statistics");
    pub const DEBUG: u16 = statement_named("statement/com/Debug");
    pub const CHANGE_USER: u16 = statement_named("statement/com/Change user");
    pub const RESET_CONNECTION: u16 = statement_named("statement/com/Reset Connection");
    pub const SET_OPTION: u16 = statement_named("statement/com/Set option");
    pub const OTHER: u16 = statement_named("statement/com/Error");
}

/// The session's figures of the statement that runs.
#[repr(C)]
pub(crate) struct Events {
    digests: SessionDigests,
    /// What is collected.
    pub plan: Plan,
    /// The statements and transactions that ended last; `None` before the first.
    history: Option<SessionHistory>,
    /// Rows that the session had read when the statement before ended.
    rows_read: u64,
    /// How often the current schema had changed when it became `schema`.
    database_changes: u32,
    /// Its instrument.
    instrument: u16,
    /// When it began, in [`sync::now_ns`] nanoseconds.
    begin_ns: u64,
    /// The thread's time on a processor when it began, while somebody wants to know: else 0.
    begin_cpu_ns: u64,
    digest: Option<DigestPlace>,
    /// Bytes of its command's text before it and behind it.
    part: (u32, u32),
    /// Rows that it changed.
    pub rows_affected: u64,
    watch: Watch,
    texts: HashMap<Box<[u8]>, Digested>,
    /// How `texts` were read.
    mode: SqlMode,
    /// The current schema.
    schema: Option<Arc<str>>,
    /// What it does to transactions.
    pub transactions: TransactionEvents,
}

/// The digest of statements of one text, and where the session found it last.
pub(crate) struct Digested {
    /// `None`: the text has none.
    digest: Option<Arc<Digest>>,
    place: DigestPlace,
}

impl Digested {
    pub fn of(digest: Option<Arc<Digest>>) -> Digested {
        Digested { digest, place: DigestPlace::UNKNOWN }
    }

    /// Its place in the current schema.
    #[inline]
    fn place_in(&mut self, digests: &mut SessionDigests, schema: Option<&Arc<str>>) -> DigestPlace {
        if !digests.knows(self.place) {
            self.find(digests, schema);
        }
        self.place
    }

    #[cold]
    fn find(&mut self, digests: &mut SessionDigests, schema: Option<&Arc<str>>) {
        self.place = match &self.digest {
            Some(digest) => {
                let key = DigestKey { schema: schema.cloned(), hash: digest.hash };
                digests.place(&key, &digest.text, host::clock::unix_micros())
            }
            None => digests.nowhere(),
        };
    }
}

/// What the end of a statement tells.
#[derive(Clone, Copy)]
pub(crate) struct Ended<'t> {
    pub now_ns: u64,
    pub rows_sent: u64,
    pub errors: u64,
    /// Conditions that it raised, errors among them.
    pub conditions: u64,
    /// As it was written.
    pub text: RecordedText<'t>,
    /// The transaction that goes on, or the next one.
    pub transaction: &'t Transaction,
    /// The figures of the prepared statement that was executed.
    pub prepared: Option<&'t Arc<PreparedRow>>,
}

/// The session's history, to add to it.
fn history_of<'h>(
    history: &'h mut Option<SessionHistory>,
    slot: &SessionSlot,
) -> &'h mut SessionHistory {
    let thread_id = || slot.thread_id.load(Ordering::Relaxed);
    history.get_or_insert_with(|| SessionHistory::new(thread_id(), &slot.counters))
}

impl Events {
    pub fn new() -> Events {
        Events {
            instrument: instruments::OTHER,
            begin_ns: 0,
            begin_cpu_ns: 0,
            digest: None,
            part: (0, 0),
            rows_affected: 0,
            watch: Watch::default(),
            plan: Plan::unknown(),
            rows_read: 0,
            digests: SessionDigests::default(),
            history: None,
            transactions: TransactionEvents::default(),
            texts: HashMap::new(),
            mode: SqlMode::default(),
            schema: None,
            database_changes: 0,
        }
    }

    /// A statement begins, of an instrument that may still become a better one.
    #[inline]
    pub fn begin(&mut self, instrument: u16, now_ns: u64) {
        (self.instrument, self.begin_ns, self.digest) = (instrument, now_ns, None);
        if self.plan.cpu {
            self.begin_cpu();
        }
    }

    /// So many bytes of its command's text lie before it, and so many behind it.
    #[inline]
    pub fn is_part(&mut self, before: usize, behind: usize) {
        let [before, behind] =
            [before, behind].map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        self.part = (before, behind);
    }

    /// What is its own of the text of its command; nothing where that cannot be told.
    #[inline]
    pub fn own_part<'t>(&self, sql: &'t [u8]) -> &'t [u8] {
        let (before, behind) = (self.part.0 as usize, self.part.1 as usize);
        sql.get(before..sql.len().saturating_sub(behind)).unwrap_or_default()
    }

    #[cold]
    fn begin_cpu(&mut self) {
        self.begin_cpu_ns = host::clock::thread_cpu_ns();
    }

    /// It turns out what the statement is: by its `Com_` counter, if it has one.
    #[inline]
    pub fn is_of(&mut self, counter: Option<Counter>) {
        self.instrument = counter.map_or(instruments::QUERY, statement_of);
    }

    /// The number of its instrument.
    #[inline]
    pub fn instrument(&self) -> u16 {
        self.instrument
    }

    /// Whether its text may tell a password: only the most frequent ones cannot.
    #[inline]
    pub fn may_tell_secrets(&self) -> bool {
        use instruments::{COMMIT, DELETE, INSERT, SELECT, UPDATE};
        !matches!(self.instrument, SELECT | INSERT | UPDATE | DELETE | COMMIT)
    }

    /// It is no statement at all.
    pub fn is_wrong(&mut self) {
        self.instrument = instruments::ERROR;
    }

    /// The statement is of this digest.
    #[inline]
    pub fn has_digest(&mut self, digested: &mut Digested) {
        self.digest = Some(digested.place_in(&mut self.digests, self.schema.as_ref()));
    }

    /// The statement is a text without a program, whose digest is made unless it is remembered.
    pub fn has_digest_of(
        &mut self,
        text: &[u8],
        mode: SqlMode,
        make: impl FnOnce() -> Option<Digest>,
    ) {
        if self.mode != mode {
            self.mode = mode;
            self.texts.clear();
        }
        let Self { texts, digests, schema, .. } = self;
        if let Some(known) = texts.get_mut(text) {
            self.digest = Some(known.place_in(digests, schema.as_ref()));
            return;
        }
        let mut new = Digested::of(make().map(Arc::new));
        self.digest = Some(new.place_in(digests, schema.as_ref()));
        if text.len() <= TEXT_BYTES_MAX && !may_have(text) {
            if texts.len() >= TEXTS_MAX {
                texts.clear();
            }
            texts.insert(text.into(), new);
        }
    }

    /// Whether the digest of a text without a program is remembered.
    pub fn remembers(&self, text: &[u8], mode: SqlMode) -> bool {
        self.mode == mode && self.texts.contains_key(text)
    }

    /// The current schema may be another one: digests of the same texts are others there.
    #[inline]
    pub fn are_in(&mut self, env: &Env) {
        if self.database_changes != env.database_changes {
            self.move_to(env);
        }
    }

    #[cold]
    fn move_to(&mut self, env: &Env) {
        self.database_changes = env.database_changes;
        self.schema = env.database.as_deref().map(Into::into);
        self.digests.forget_places();
    }

    /// Something was switched, or emptied: what is collected from now on.
    #[cold]
    pub fn look(&mut self, slot: &SessionSlot) {
        let slept = self.plan.depth == Depth::Nothing;
        self.plan = Plan::of(&slot.counters, slot.monitoring() & HISTORY != 0);
        self.digests.looks();
        if slept || !self.plan.cpu {
            self.begin_cpu_ns = 0;
        }
        if slept {
            // What was counted while statements were not is none of theirs.
            self.rows_read = slot.counters.counter(Counter::InnodbRowsRead);
            self.watch.take(&slot.counters, &mut EventSums::default());
            self.transactions.are_told();
        }
    }

    /// The statement has ended; whether the history has a record of it that may have to be told how it failed.
    #[inline(always)]
    pub fn end(&mut self, slot: &SessionSlot, ended: Ended<'_>) -> bool {
        let page = &slot.counters;
        let rows_affected = std::mem::take(&mut self.rows_affected);
        let rows_read = page.counter(Counter::InnodbRowsRead);
        let rows_examined = rows_read.wrapping_sub(self.rows_read);
        self.rows_read = rows_read;
        let did = Did { rows_affected, rows_examined };
        let may_be_plain = self.plan.depth == Depth::Plain
            && ended.errors | ended.conditions == 0
            && !self.transactions.has_others();
        if may_be_plain {
            if !self.watch.has_changed(page) {
                self.end_plainly(slot, ended, did, false);
                return false;
            }
            if self.watch.takes_range(page) {
                self.end_with_range(slot, ended, did);
                return false;
            }
        }
        let Ended { now_ns, rows_sent, errors, conditions, text, transaction, prepared } = ended;
        let counts = [rows_sent, errors, conditions];
        self.end_fully(slot, (now_ns, counts, text), did, (transaction, prepared))
    }

    /// Ends a statement that raised nothing, began and ended no transaction but its own, and did nothing that is seldom
    /// done: nearly all of them.
    #[inline(always)]
    fn end_plainly(&mut self, slot: &SessionSlot, ended: Ended<'_>, did: Did, is_range: bool) {
        debug_assert!(ended.now_ns >= self.begin_ns);
        let plain = Plain {
            // Readings of one thread, of a clock that does not go back.
            ns: ended.now_ns.wrapping_sub(self.begin_ns),
            times_ns: (self.begin_ns, ended.now_ns),
            rows_sent: ended.rows_sent,
            rows_examined: did.rows_examined,
            rows_affected: did.rows_affected,
            is_range,
        };
        // A place was given while digests were wanted.
        let row = self.digest.and_then(|place| self.digests.row(place));
        let bucket = bucket_of_statement(plain.ns);
        match row {
            Some(row) => row.note(plain.ns, bucket, ended.now_ns, ended.text),
            None => slot.counters.add_time(bucket),
        }
        let own = self.transactions.take_own().masked(self.plan.transactions);
        let kept = Kept {
            written: match ended.text {
                RecordedText::Written(text) => Some(text),
                RecordedText::Prepared(_) => None,
            },
            keeps: self.plan.history,
            own: own.masked(self.plan.tells_transactions),
        };
        let (kind, of) = ((self.instrument, own), (ended.prepared, row));
        let is_added = match &mut self.history {
            Some(history) => history.adds_again(kind, of, &plain, kept),
            None => false,
        };
        if !is_added {
            // Copies: where their addresses are not taken, these are kept in registers.
            self.adds_first(slot, kind, ended.prepared, &Plain { ..plain }, &Kept { ..kept });
        }
    }

    /// As [`Self::end_plainly`], of one that has read a range.
    #[inline(never)]
    fn end_with_range(&mut self, slot: &SessionSlot, ended: Ended<'_>, did: Did) {
        self.end_plainly(slot, ended, did, true);
    }

    /// Adds a plain statement that is not like the one before.
    #[cold]
    fn adds_first(
        &mut self,
        slot: &SessionSlot,
        kind: (u16, OwnTransaction),
        prepared: Option<&Arc<PreparedRow>>,
        plain: &Plain,
        kept: &Kept<'_>,
    ) {
        let row = self.digest.and_then(|place| self.digests.row(place));
        let history = history_of(&mut self.history, slot);
        history.adds_first(kind, (prepared, row), plain, *kept, &slot.counters);
    }

    /// Processor time of the statement, in nanoseconds; 0 where it is not measured.
    fn take_cpu_ns(&mut self) -> u64 {
        match std::mem::take(&mut self.begin_cpu_ns) {
            0 => 0,
            begin_ns => host::clock::thread_cpu_ns().saturating_sub(begin_ns),
        }
    }

    /// Ends any statement. In pieces: those of a plain one are never written to memory.
    #[cold]
    fn end_fully(
        &mut self,
        slot: &SessionSlot,
        (now_ns, [rows_sent, errors, conditions], text): (u64, [u64; 3], RecordedText<'_>),
        did: Did,
        (transaction, prepared): (&Transaction, Option<&Arc<PreparedRow>>),
    ) -> bool {
        let ended = Ended { now_ns, rows_sent, errors, conditions, text, transaction, prepared };
        let page = &slot.counters;
        let times = (self.begin_ns, ended.now_ns);
        // That clock is read after the other one: what lies between is not the statement's.
        let cpu_ns = self.take_cpu_ns();
        let mut history = history_of(&mut self.history, slot).open();
        let has_news = self.transactions.has_news() && self.transactions.count(page, times);
        let tells = has_news && self.plan.tells_transactions.is_all();
        let keep = slot.monitoring() & HISTORY != 0;
        let class = &STATEMENTS[usize::from(self.instrument)];
        let mut is_recorded = false;
        if class.enabled() {
            let mut sums = EventSums::default();
            self.watch.take(page, &mut sums);
            let took_ns = ended.now_ns.saturating_sub(self.begin_ns);
            sums.set(Sum::CpuNs, cpu_ns.min(took_ns));
            sums.set(Sum::Errors, ended.errors);
            // Those that it lists are of a statement before.
            let lists =
                matches!(self.instrument, instruments::SHOW_WARNINGS | instruments::SHOW_ERRORS);
            let warnings = ended.conditions.min(u64::from(u16::MAX)).saturating_sub(ended.errors);
            sums.set(Sum::Warnings, if lists { 0 } else { warnings });
            let end = StatementEnd {
                ns: class.timed().then_some(took_ns),
                rows_sent: ended.rows_sent,
                rows_examined: did.rows_examined,
                rows_affected: did.rows_affected,
                more: (!sums.is_empty()).then_some(&sums),
            };
            let row = self.digest.and_then(|place| self.digests.row(place));
            history.count_apart(self.instrument, (ended.prepared, row), &end, page);
            match (row, end.ns) {
                (Some(row), Some(ns)) => {
                    row.note(ns, bucket_of_statement(ns), ended.now_ns, ended.text)
                }
                (Some(row), None) => row.note_untimed(ended.now_ns, ended.text),
                (None, Some(ns)) => page.add_time(bucket_of_statement(ns)),
                (None, None) => {}
            }
            let to = (self.plan.history, self.plan.history_long);
            is_recorded = to.0 | to.1;
            if is_recorded {
                let recorded = recorded(self.instrument, &ended, row);
                history.add_statement_to(&end, &recorded, to);
            }
        } else {
            self.watch.take(page, &mut EventSums::default());
        }
        if tells {
            self.transactions.record(&mut history, keep, times, ended.transaction.kind());
        }
        self.transactions.are_told();
        is_recorded
    }

    /// The session is idle: its figures by digest go to those of all, and what it remembered of texts is forgotten.
    pub fn rest(&mut self, slot: &SessionSlot) {
        if let Some(history) = &self.history {
            history.rest(&slot.counters);
        }
        self.digests.rest();
        self.texts = HashMap::new();
    }

    /// The number of the statement that runs, among the session's events.
    pub fn event_id(&self) -> u64 {
        self.history.as_ref().map_or(1, SessionHistory::next_event_id)
    }

    /// Says how the statement that ended last failed.
    #[cold]
    pub fn fails(&self, failure: Failure) {
        if let Some(history) = &self.history {
            history.fails(failure, (self.plan.history, self.plan.history_long));
        }
    }
}

/// What a statement did besides what its end tells.
#[derive(Clone, Copy)]
struct Did {
    rows_affected: u64,
    rows_examined: u64,
}

/// What the history keeps of a statement besides its figures.
#[inline(always)]
fn recorded<'r>(
    instrument: u16,
    ended: &Ended<'r>,
    digest: Option<&'r Arc<DigestRow>>,
) -> Recorded<'r> {
    Recorded { instrument, now_ns: ended.now_ns, text: ended.text, digest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parsed_for_its_digest_once_whatever_the_schema_is() {
        let mut events = Events::new();
        let mut parsed = 0;
        let mut rows = Vec::new();
        for schema in ["a", "b", "a", "b"] {
            events.schema = Some(schema.into());
            events.digests.forget_places();
            events.has_digest_of(b"BEGIN", SqlMode::DEFAULT, || {
                parsed += 1;
                Some(Digest::of_text("BEGIN".into()))
            });
            let row = events.digest.and_then(|place| events.digests.row(place)).expect("a row");
            let (key, text) = row.of().expect("there is room");
            assert_eq!((key.schema.as_deref(), text), (Some(schema), "BEGIN"));
            rows.push(Arc::as_ptr(row));
        }
        assert_eq!(parsed, 1);
        assert!(rows[0] != rows[1] && rows[..2] == rows[2..]);
    }
}
