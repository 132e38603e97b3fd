//! Statements by digest: what statements of one shape cost.
//!
//! 1. A session has a row of its own for each digest that it runs ([`DigestRow`]); its writes are seen by readers alone.
//! 2. A digest knows the rows of live sessions. When a session ends, its rows go into the digest's total, and are never
//!    written again nor reset: who adds up takes the total and the list under the digest's mutex and reads the rows
//!    outside of it, so that what ends meanwhile is neither missed nor counted twice.
//! 3. Emptying the table begins a new generation; sessions notice at the end of their next statement ([`crate::switched`]).
//! 4. There is room for so many digests; the others count in one that has no name. Where a session finds no room for a row of
//! its own, its statements count in none.

use crate::TextBuffer;
use crate::histogram::{Buckets, Histogram, STATEMENT_BUCKETS};
use crate::run::{Run, RunTotals};
use crate::stat::Tally;
use crate::statement::{StatementEnd, StatementRow, StatementTotals};
use crate::{RecordedText, note_switch, registry};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use stdx::{lock, lock_own};

crate::classes! {
    static DIGESTS: OwnMemory = "memory/performance_schema/events_statements_summary_by_digest";
    static ROWS: OwnMemory = "memory/performance_schema/digests_of_sessions";
}

/// What tells digests apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DigestKey {
    /// The current schema of the statements.
    pub schema: Option<Arc<str>>,
    /// The hash of their normalised text.
    pub hash: [u8; 32],
}

/// Statements of one shape in one schema.
#[derive(Debug)]
pub struct Digest {
    /// `None` for those that found no room.
    key: Option<DigestKey>,
    text: Box<str>,
    /// Microseconds since 1970.
    first_seen_us: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ended: DigestTotals,
    rows: Vec<Arc<DigestRow>>,
}

/// A statement of a digest as it was written: the slowest one, if it is not too old.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample {
    /// The text, cut off where it is long.
    pub text: TextBuffer,
    /// How long it took, in nanoseconds.
    pub ns: u64,
    /// When it ended, in nanoseconds of the caller's clock; 0 where there is none.
    pub end_ns: u64,
}

/// Statements of a digest together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DigestTotals {
    /// Number, times, sums.
    pub statements: StatementTotals,
    /// How many took how long.
    pub histogram: Buckets,
    /// When the last one ended, in nanoseconds of the caller's clock.
    pub last_ns: u64,
    /// One of them.
    pub sample: Sample,
}

impl DigestTotals {
    /// Adds what a session ran; `text` makes of its sample's text the one that is kept here.
    fn add_row(&mut self, row: &DigestRow, text: impl FnOnce(&mut TextBuffer) -> TextBuffer) {
        self.statements.add(&row.statements.read(Tally::get));
        self.histogram.add_histogram(&row.histogram, &lock(&row.histogram_before));
        self.last_ns = self.last_ns.max(row.last_ns.get());
        let mut sample = lock(&row.sample);
        let newer = sample.end_ns > self.sample.end_ns.saturating_add(SAMPLE_AGE_NS.load(Relaxed));
        if newer || sample.ns > self.sample.ns {
            (self.sample.ns, self.sample.end_ns) = (sample.ns, sample.end_ns);
            self.sample.text = text(&mut sample.text);
        }
    }
}

/// What one session ran of a digest. What the end of each statement looks at comes first, in one line of memory.
#[derive(Debug)]
#[repr(C)]
pub struct DigestRow {
    histogram: Histogram,
    last_ns: Tally,
    sample_ns: Tally,
    sample_end_ns: Tally,
    digest: Arc<Digest>,
    /// Where it is among the digest's rows; changed under the digest's mutex.
    place: AtomicUsize,
    /// Statements that are not told yet, without those that were prepared.
    run: Run,
    statements: StatementRow,
    /// What it had when histograms were emptied last; changed under the digest's mutex.
    histogram_before: Mutex<Buckets>,
    /// What it had when the histogram of all statements was emptied last; changed under the mutex of [`TIMES`].
    times_before: Mutex<Buckets>,
    sample: Mutex<Sample>,
}

// Behind the counts of an `Arc` the rest of a line is left.
const _: () = assert!(std::mem::offset_of!(DigestRow, digest) <= 48);

impl DigestRow {
    /// Memory of a row, without its sample: its place among the session's is in it.
    const BYTES: usize = size_of::<DigestRow>()
        + STATEMENT_BUCKETS * size_of::<u32>()
        + size_of::<(DigestKey, u32)>()
        + size_of::<Arc<DigestRow>>();

    /// What it is of, and the normalised text; `None`: its digest found no room.
    pub fn of(&self) -> Option<(&DigestKey, &str)> {
        self.digest.named()
    }

    /// Its digest.
    pub(crate) fn digest(&self) -> &Arc<Digest> {
        &self.digest
    }

    /// Statements that are not told yet.
    #[inline(always)]
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// Adds a statement to its figures, which has no run. The history of its session is locked.
    pub(crate) fn add(&self, end: &StatementEnd<'_>) {
        self.statements.add(end);
    }

    /// Adds statements that were alike. The history of its session is locked.
    pub(crate) fn add_run(&self, run: &RunTotals) {
        let mut state = lock(&self.digest.state);
        let place = self.place.load(Relaxed);
        match state.rows.get(place).is_some_and(|row| ptr::eq(&**row, self)) {
            true => self.statements.add_run(run),
            // It is not written any more.
            false => {
                let late = StatementRow::default();
                late.add_run(run);
                state.ended.statements.add(&late.read(Tally::get));
            }
        }
    }

    /// Notes when a statement ended, how long it took, and its text if it is a good example.
    #[inline(always)]
    pub fn note(&self, ns: u64, bucket: usize, now_ns: u64, text: RecordedText<'_>) {
        self.histogram.add(bucket);
        self.note_end(ns, now_ns, text);
    }

    /// As [`Self::note`], of one that was not timed: it is in no histogram.
    #[cold]
    pub fn note_untimed(&self, now_ns: u64, text: RecordedText<'_>) {
        self.note_end(0, now_ns, text);
    }

    #[inline(always)]
    fn note_end(&self, ns: u64, now_ns: u64, text: RecordedText<'_>) {
        self.last_ns.set(now_ns);
        let age_ns = now_ns.wrapping_sub(self.sample_end_ns.get());
        if ns > self.sample_ns.get() || age_ns > SAMPLE_AGE_NS.load(Relaxed) {
            self.take_sample(ns, now_ns, text.bytes());
        }
    }

    /// Adds its statements by time, but for those that were there when that figure was emptied.
    fn add_times(&self, times: &mut Buckets) {
        times.add_histogram(&self.histogram, &lock(&self.times_before));
    }

    /// As [`Self::add_times`], and they are not added again. The mutex of [`TIMES`] is locked.
    fn tell_times(&self, times: &mut Buckets) {
        self.add_times(times);
        *lock(&self.times_before) = Buckets::of(&self.histogram);
    }

    #[cold]
    fn take_sample(&self, ns: u64, end_ns: u64, text: &[u8]) {
        self.sample_ns.set(ns);
        self.sample_end_ns.set(end_ns);
        let mut sample = lock_own(&self.sample);
        (sample.ns, sample.end_ns) = (ns, end_ns);
        let text = &text[..text.len().min(SAMPLE_BYTES.load(Relaxed))];
        sample.text.assign(text, text.len() / 4 + SAMPLE_ROOM_BYTES);
    }
}

/// Digests of the server, and for how many there is room.
struct Table {
    digests: HashMap<DigestKey, Arc<Digest>>,
    digests_max: usize,
    /// What found no room.
    others: Option<Arc<Digest>>,
}

/// Statements by time, of rows that are not written any more; comes before all other mutexes here.
static TIMES: Mutex<Buckets> = Mutex::new(Buckets::new());

static TABLE: Mutex<Option<Table>> = Mutex::new(None);
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// `max_digest_sample_age`.
static SAMPLE_AGE_NS: AtomicU64 = AtomicU64::new(60_000_000_000);
/// `performance_schema_max_sql_text_length`.
static SAMPLE_BYTES: AtomicUsize = AtomicUsize::new(1024);
/// `performance_schema_max_digest_length`.
static TOLD_BYTES: AtomicUsize = AtomicUsize::new(1024);
/// Statements that found no room: `Performance_schema_digest_lost`.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Digests of a session: with more, its figures go to those of all, and it begins anew.
const ROWS_MAX: usize = 256;

/// Room behind a sample.
const SAMPLE_ROOM_BYTES: usize = 32;

/// Digests for which there is room, until [`set_digest_limits`] says otherwise.
const DIGESTS_MAX: usize = 10_000;

fn with_table<R>(f: impl FnOnce(&mut Table) -> R) -> R {
    let mut table = lock(&TABLE);
    f(table.get_or_insert_with(|| Table {
        digests: HashMap::new(),
        digests_max: DIGESTS_MAX,
        others: None,
    }))
}

/// For how many digests there is room, how many bytes of a sample's text are kept, and after what time a sample gives
/// way to any other.
pub fn set_digest_limits(digests_max: usize, sample_bytes: usize, sample_age_s: u64) {
    with_table(|table| table.digests_max = digests_max);
    SAMPLE_BYTES.store(sample_bytes, Relaxed);
    SAMPLE_AGE_NS.store(sample_age_s.saturating_mul(1_000_000_000), Relaxed);
}

/// How much of a digest's text is told, in bytes of MySQL's token buffer.
pub fn set_told_digest_bytes(bytes: usize) {
    TOLD_BYTES.store(bytes, Relaxed);
}

/// As much of a digest's text is told: whoever makes one cuts it. One relaxed load.
pub fn told_digest_bytes() -> usize {
    TOLD_BYTES.load(Relaxed)
}

/// The digest of a key, or that of those that find no room; `None`: there is no room for that either.
fn digest_of(key: &DigestKey, text: &str, now_us: u64) -> Option<Arc<Digest>> {
    let new = |key, text| Digest::new(key, text, now_us);
    with_table(|table| {
        let is_full = table.digests.len() >= table.digests_max;
        let found = match table.digests.entry(key.clone()) {
            Entry::Occupied(digest) => Some(Arc::clone(digest.get())),
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(place) => {
                new(Some(key.clone()), text).map(|digest| Arc::clone(place.insert(digest)))
            }
        };
        found.or_else(|| {
            LOST.fetch_add(1, Relaxed);
            table.others = table.others.take().or_else(|| new(None, ""));
            table.others.clone()
        })
    })
}

/// The digests that a session has run. Dropped, its figures go into those of all. What each statement looks at comes last.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SessionDigests {
    /// Of its digests, but for those that found no room.
    positions: HashMap<DigestKey, u32>,
    generation: u64,
    rows: Vec<Arc<DigestRow>>,
    /// Its rows were dropped so often, because their digests were forgotten.
    forgotten: u32,
}

/// A session's digest: a row, and when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestPlace {
    row: u32,
    forgotten: u32,
}

impl DigestPlace {
    /// One that was not looked for yet.
    pub const UNKNOWN: DigestPlace = DigestPlace { row: u32::MAX, forgotten: u32::MAX };
}

impl SessionDigests {
    /// The session's row for a digest whose normalised text this is; `now_us`: microseconds since 1970.
    pub fn place(&mut self, key: &DigestKey, text: &str, now_us: u64) -> DigestPlace {
        let generation = GENERATION.load(Relaxed);
        if self.generation != generation {
            self.fold();
            self.generation = generation;
        }
        let known = self.positions.get(key).copied();
        let row = known.unwrap_or_else(|| self.new_row(key, text, now_us));
        DigestPlace { row, forgotten: self.forgotten }
    }

    /// Position of the row of a digest that the session has not run yet, as far as it can tell.
    fn new_row(&mut self, key: &DigestKey, text: &str, now_us: u64) -> u32 {
        let Some(digest) = digest_of(key, text, now_us) else { return u32::MAX };
        // Those that found no room are one digest.
        let known = self.rows.iter().position(|row| Arc::ptr_eq(&row.digest, &digest));
        if let Some(known) = known {
            return known as u32;
        }
        if self.rows.len() >= ROWS_MAX {
            self.fold();
        }
        let Some(row) = Digest::add_row(&digest) else {
            LOST.fetch_add(1, Relaxed);
            return u32::MAX;
        };
        let position = self.rows.len() as u32;
        if digest.key.is_some() {
            self.positions.insert(key.clone(), position);
        }
        self.rows.push(row);
        position
    }

    /// Places that were given are to be found anew.
    pub fn forget_places(&mut self) {
        self.forgotten = self.forgotten.wrapping_add(1);
    }

    /// The place of statements that have no digest.
    pub fn nowhere(&self) -> DigestPlace {
        DigestPlace { row: u32::MAX, forgotten: self.forgotten }
    }

    /// Whether a place is still the one of its digest, as far as the session knows ([`Self::looks`]).
    #[inline]
    pub fn knows(&self, place: DigestPlace) -> bool {
        place.forgotten == self.forgotten
    }

    /// Something was switched or emptied: if it was the table of digests, places are to be found anew.
    pub fn looks(&mut self) {
        if self.generation != GENERATION.load(Relaxed) {
            self.forget_places();
        }
    }

    /// The row at a place, if there is one.
    #[inline]
    pub fn row(&self, place: DigestPlace) -> Option<&Arc<DigestRow>> {
        let row = self.rows.get(place.row as usize)?;
        (place.forgotten == self.forgotten).then_some(row)
    }

    /// As [`Self::fold`], and gives the memory back.
    pub fn rest(&mut self) {
        self.fold();
        (self.rows, self.positions) = (Vec::new(), HashMap::new());
    }

    /// Adds the session's figures to those of all, and begins anew.
    pub fn fold(&mut self) {
        self.positions.clear();
        for row in self.rows.drain(..) {
            row.digest.fold(&row);
        }
        self.forget_places();
    }
}

impl Drop for SessionDigests {
    fn drop(&mut self) {
        self.fold();
    }
}

impl Digest {
    /// Which it is, and the normalised text; `None`: that of those that found no room.
    pub(crate) fn named(&self) -> Option<(&DigestKey, &str)> {
        self.key.as_ref().map(|key| (key, &*self.text))
    }

    /// Memory of a digest with this text, without its rows and its sample.
    fn bytes(text: &str) -> usize {
        size_of::<Digest>() + 2 * size_of::<DigestKey>() + text.len()
    }

    /// One of which nothing has run; `None`: there is no room for it.
    fn new(key: Option<DigestKey>, text: &str, first_seen_us: u64) -> Option<Arc<Digest>> {
        if !DIGESTS.try_take(Digest::bytes(text)) {
            return None;
        }
        let (text, state) = (text.into(), Mutex::default());
        Some(Arc::new(Digest { key, text, first_seen_us, state }))
    }

    /// A row for a session; `None`: there is no room for it.
    fn add_row(this: &Arc<Digest>) -> Option<Arc<DigestRow>> {
        if !ROWS.try_take(DigestRow::BYTES) {
            return None;
        }
        let mut state = lock(&this.state);
        let row = Arc::new(DigestRow {
            digest: Arc::clone(this),
            place: AtomicUsize::new(state.rows.len()),
            run: Run::default(),
            statements: StatementRow::default(),
            histogram: Histogram::default(),
            histogram_before: Mutex::default(),
            times_before: Mutex::default(),
            last_ns: Tally::default(),
            sample_ns: Tally::default(),
            sample_end_ns: Tally::default(),
            sample: Mutex::default(),
        });
        state.rows.push(Arc::clone(&row));
        Some(row)
    }

    /// A row is not written any more.
    fn fold(&self, row: &DigestRow) {
        let mut times = lock(&TIMES);
        row.add_times(&mut times);
        let mut state = lock(&self.state);
        let place = row.place.load(Relaxed);
        state.rows.swap_remove(place);
        if let Some(moved) = state.rows.get(place) {
            moved.place.store(place, Relaxed);
        }
        state.ended.add_row(row, std::mem::take);
    }

    fn empty_histogram(&self) {
        let mut state = lock(&self.state);
        state.ended.histogram = Buckets::default();
        for row in &state.rows {
            *lock(&row.histogram_before) = Buckets::of(&row.histogram);
        }
    }

    fn totals(&self) -> DigestTotals {
        let (mut totals, rows) = {
            let state = lock(&self.state);
            (state.ended.clone(), state.rows.clone())
        };
        rows.iter().for_each(|row| totals.add_row(row, |text| text.clone()));
        totals
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        DIGESTS.give_back(Digest::bytes(&self.text));
    }
}

impl Drop for DigestRow {
    fn drop(&mut self) {
        ROWS.give_back(DigestRow::BYTES);
    }
}

/// A digest and its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestReport {
    /// `None` for statements whose digests found no room.
    pub key: Option<DigestKey>,
    /// Normalised text.
    pub text: Box<str>,
    /// When it was seen first, in microseconds since 1970.
    pub first_seen_us: u64,
    /// What its statements cost.
    pub totals: DigestTotals,
}

/// All digests, those among them that found no room.
fn list() -> Vec<Arc<Digest>> {
    with_table(|table| table.others.iter().chain(table.digests.values()).cloned().collect())
}

/// The rows of all sessions.
fn for_each_row(mut each: impl FnMut(&DigestRow)) {
    for digest in list() {
        lock(&digest.state).rows.iter().for_each(|row| each(row));
    }
}

/// Statements that have a digest, of all sessions, by time. Those without are in the sessions' pages.
pub fn digest_times() -> Buckets {
    let told = lock(&TIMES);
    let mut times = told.clone();
    for_each_row(|row| row.add_times(&mut times));
    times
}

/// Begins [`digest_times`] anew.
pub(crate) fn empty_digest_times() {
    let mut told = lock(&TIMES);
    for_each_row(|row| row.tell_times(&mut told));
    *told = Buckets::new();
}

/// All digests. Where there is room for none, that of those that find none is not told of either: it is there for
/// [`digest_times`].
pub fn digests() -> Vec<DigestReport> {
    if with_table(|table| table.digests_max) == 0 {
        return Vec::new();
    }
    registry::settle();
    let list = list();
    let report = |digest: &Arc<Digest>| DigestReport {
        key: digest.key.clone(),
        text: digest.text.clone(),
        first_seen_us: digest.first_seen_us,
        totals: digest.totals(),
    };
    let mut reports: Vec<DigestReport> = list.iter().map(report).collect();
    reports.sort_by_key(|digest| digest.first_seen_us);
    reports
}

/// Empties the histograms of all digests; everything else of them stays.
pub fn empty_digest_histograms() {
    list().iter().for_each(|digest| digest.empty_histogram());
}

/// Forgets all digests.
pub fn forget_digests() {
    // Their rows are found no more: what they get until their sessions notice is told when those fold them.
    let mut told = lock(&TIMES);
    for_each_row(|row| row.tell_times(&mut told));
    with_table(|table| {
        table.digests.clear();
        table.others = None;
        GENERATION.fetch_add(1, Relaxed);
        note_switch();
    });
}

/// Statements whose digests found no room.
pub fn digests_lost() -> u64 {
    LOST.load(Relaxed)
}

/// Counts them from zero again.
pub fn forget_digests_lost() {
    LOST.store(0, Relaxed);
}

#[cfg(test)]
impl DigestRow {
    /// A row of a digest that is in no list.
    pub(crate) fn alone(key: DigestKey, text: &str) -> Arc<DigestRow> {
        let digest = Digest::new(Some(key), text, 0).expect("there is room");
        let row = Digest::add_row(&digest).expect("there is room");
        row.digest.fold(&row);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sum, bucket_of_statement};

    fn key(hash: u8) -> DigestKey {
        DigestKey { schema: Some("d".into()), hash: [hash; 32] }
    }

    fn add(digests: &SessionDigests, place: DigestPlace, ns: u64, text: &[u8]) {
        let end = StatementEnd {
            ns: Some(ns),
            rows_sent: 1,
            rows_examined: 3,
            ..StatementEnd::default()
        };
        let row = digests.row(place).unwrap();
        let (bucket, now_ns) = (bucket_of_statement(ns), 1000 + row.last_ns.get() + ns);
        row.add(&end);
        row.note(ns, bucket, now_ns, RecordedText::Written(text));
    }

    fn report(hash: u8) -> Option<DigestReport> {
        digests().into_iter().find(|d| d.key.as_ref() == Some(&key(hash)))
    }

    fn a_sample_a_little_longer_than_the_one_before_takes_its_memory() {
        let mut digests = SessionDigests::default();
        let place = digests.place(&key(9), "SELECT ?", 5);
        let room = |digests: &SessionDigests| lock(&digests.row(place).unwrap().sample).text.room();
        add(&digests, place, 20_000, b"SELECT 1");
        let before = room(&digests);
        add(&digests, place, 30_000, b"SELECT 1234");
        assert_eq!(*lock(&digests.row(place).unwrap().sample).text, *b"SELECT 1234");
        assert_eq!(room(&digests), before);
    }

    fn a_row_is_found_again_after_its_place_was_forgotten() {
        let mut digests = SessionDigests::default();
        let of = |digests: &mut SessionDigests, hash| {
            let place = digests.place(&key(hash), "SELECT ?", 5);
            Arc::as_ptr(digests.row(place).unwrap())
        };
        let (first, second) = (of(&mut digests, 6), of(&mut digests, 7));
        let place = digests.place(&key(6), "SELECT ?", 5);
        digests.forget_places();
        assert!(!digests.knows(place));
        assert_eq!((of(&mut digests, 6), of(&mut digests, 7)), (first, second));
    }

    fn times_of_all_statements_are_those_of_their_digests() {
        let all = || digest_times().count_until(449);
        empty_digest_times();
        let (mut a, mut b) = (SessionDigests::default(), SessionDigests::default());
        let (of_a, of_b) = (a.place(&key(11), "SELECT ?", 5), b.place(&key(11), "SELECT ?", 9));
        add(&a, of_a, 20_000, b"SELECT 1");
        add(&b, of_b, 9_000, b"SELECT 2");
        assert_eq!((all(), digest_times().count_until(0)), (2, 1));
        b.rest();
        assert_eq!(all(), 2, "what a session leaves counts as before");
        empty_digest_histograms();
        assert_eq!(all(), 2, "those of the digests are emptied apart");
        empty_digest_times();
        assert_eq!((all(), report(11).unwrap().totals.statements.stat.count), (0, 2));
        add(&a, of_a, 20_000, b"SELECT 3");
        forget_digests();
        assert_eq!(all(), 1, "digests may be forgotten");
        // A statement that was running meanwhile.
        add(&a, of_a, 20_000, b"SELECT 4");
        drop(a);
        assert_eq!(all(), 2);
        empty_digest_times();
        assert_eq!(all(), 0);
    }

    // One test: what it counts, and the limits, are the process's.
    #[test]
    fn digests_add_up_over_sessions_are_forgotten_and_find_no_room() {
        let _alone = lock(&crate::EMPTIES);
        a_sample_a_little_longer_than_the_one_before_takes_its_memory();
        a_row_is_found_again_after_its_place_was_forgotten();
        times_of_all_statements_are_those_of_their_digests();
        let (mut a, mut b) = (SessionDigests::default(), SessionDigests::default());
        let (of_a, of_b) = (a.place(&key(1), "SELECT ?", 5), b.place(&key(1), "SELECT ?", 9));
        assert_eq!(a.place(&key(1), "SELECT ?", 5), of_a);
        add(&a, of_a, 20_000, b"SELECT 1");
        add(&b, of_b, 70_000, b"SELECT 22");
        add(&b, of_b, 9_000, b"SELECT 3");
        let both = report(1).unwrap();
        assert_eq!((both.first_seen_us, &*both.text), (5, "SELECT ?"));
        assert_eq!((both.totals.statements.stat.count, both.totals.last_ns), (3, 81_000));
        assert_eq!(both.totals.statements.sum(Sum::RowsExamined), 9);
        assert_eq!(*both.totals.sample.text, *b"SELECT 22");
        assert_eq!(both.totals.histogram.count_until(0), 1);
        drop(b);
        assert_eq!(report(1).unwrap(), both, "what a session leaves counts as before");
        empty_digest_histograms();
        let empty = report(1).unwrap().totals;
        assert_eq!(
            (empty.statements, empty.histogram),
            (both.totals.statements, Buckets::default())
        );
        add(&a, of_a, 9_000, b"SELECT 4");
        let both = report(1).unwrap();
        assert_eq!(both.totals.histogram.count_until(449), 1);
        let of_a2 = a.place(&key(2), "DO ?", 6);
        a.fold();
        assert!(a.row(of_a).is_none() && a.row(of_a2).is_none());
        assert_eq!(report(1).unwrap(), both);

        let mut c = SessionDigests::default();
        let of_c = c.place(&key(1), "SELECT ?", 7);
        forget_digests();
        c.looks();
        assert!(report(1).is_none() && !c.knows(of_c));
        set_digest_limits(1, 4, 60);
        let (first, second) = (c.place(&key(3), "DO ?", 8), c.place(&key(4), "SET ?", 8));
        add(&c, first, 5, b"DO 12345");
        add(&c, second, 6, b"SET 1");
        let found = digests();
        assert_eq!(found.iter().filter(|d| d.key.is_none()).count(), 1);
        assert_eq!(*report(3).unwrap().totals.sample.text, *b"DO 1");
        assert!(report(4).is_none() && digests_lost() == 1);
        set_digest_limits(0, 4, 60);
        let times = || digest_times().count_until(449);
        let before = times();
        let third = c.place(&key(5), "SHOW TABLES", 9);
        add(&c, third, 7, b"SHOW TABLES");
        assert_eq!((digests().len(), digests_lost(), times()), (0, 2, before + 1));
        set_digest_limits(DIGESTS_MAX, 1024, 60);
    }
}
