//! Statements that a session ran alike: their figures, before they are told to those who add up.
//!
//! 1. A statement adds to one run, not to the rows of its instrument, digest, prepared statement and transaction: those alike in
//! all four share a run, which lies with the prepared statement, or else with the session's row of the digest. 2. Runs
//! are written under the lock of their session's history, by the session; whoever takes that lock may settle them, which adds each
//! to its rows and empties it. A reader settles a session before he looks at its rows, so that none is missed. 3. The rows in the
//! session's page are written by whoever settles, under that lock; besides, he has the registry's, under which figures
//! are emptied, or is the page's writer.

use crate::digest::DigestRow;
use crate::prepared::PreparedRow;
use crate::stat::{Stat, StatTotals, Tally};
use crate::{CounterPage, OwnTransaction};
use std::sync::Arc;

/// Runs that a session has at most before it settles them itself.
const RUNS_MAX: usize = 64;

/// What statements of a run have alike, but for the owner of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunKind {
    /// Instrument and transaction.
    of: u64,
    /// The address of their digest's row, which the session keeps until the run is settled.
    digest: u64,
}

impl RunKind {
    const OWN_SHIFT: u32 = 16;
    /// Told apart from no run.
    const PRESENT: u64 = 1 << 63;

    #[inline(always)]
    pub fn of(instrument: u16, own: OwnTransaction, digest: Option<&Arc<DigestRow>>) -> RunKind {
        let digest = digest.map_or(0, |row| Arc::as_ptr(row).addr() as u64);
        let of = u64::from(instrument) | u64::from(own.row()) << Self::OWN_SHIFT | Self::PRESENT;
        RunKind { of, digest }
    }

    fn instrument(self) -> u16 {
        self.of as u16
    }

    /// Of the transactions that they were by themselves: whether they were READ ONLY; `None`: they were none.
    fn is_read_only(self) -> Option<bool> {
        OwnTransaction::is_row_read_only((self.of >> Self::OWN_SHIFT & 3) as u8)
    }
}

/// Figures of statements that are alike. What each of them looks at comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Run {
    /// [`RunKind`]; 0: there are none.
    kind: Tally,
    digest: Tally,
    stat: Stat,
    rows_sent: Tally,
    rows_examined: Tally,
    /// [`RunPlace`].
    place: Tally,
    rows_affected: Tally,
    /// Ranges of the first table: nothing else that seldom happens is added to a run.
    ranges: Tally,
    /// Not 0: its digest is the prepared statement's own.
    has_own_digest: Tally,
}

/// Where a run stands among those of its session that are not settled; the default: nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RunPlace(u32);

impl RunPlace {
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A statement that raised nothing, began and ended no transaction but its own, and did nothing that is seldom done but
/// read a range, perhaps.
#[derive(Debug, Clone, Copy)]
pub struct Plain {
    /// How long it took, in nanoseconds.
    pub ns: u64,
    /// When it began and ended, in nanoseconds of the callers' clock.
    pub times_ns: (u64, u64),
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows read.
    pub rows_examined: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// It has read a range of its first table.
    pub is_range: bool,
}

/// What a run had when it was settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTotals {
    pub stat: StatTotals,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub rows_affected: u64,
    pub ranges: u64,
}

impl Run {
    /// Whether there are statements of this kind in it.
    #[inline(always)]
    pub fn is_of(&self, kind: RunKind) -> bool {
        self.kind.get() == kind.of && self.digest.get() == kind.digest
    }

    /// Whether its digest is the prepared statement's own.
    fn has_own_digest(&self) -> bool {
        self.has_own_digest.get() != 0
    }

    /// Where it stands, while there are statements in it.
    #[inline(always)]
    pub fn place(&self) -> RunPlace {
        RunPlace(self.place.get() as u32)
    }

    /// Adds a statement. The history is locked.
    #[inline(always)]
    pub fn add(&self, plain: &Plain) {
        self.stat.add(plain.ns);
        self.rows_sent.add(plain.rows_sent);
        self.rows_examined.add(plain.rows_examined);
        if plain.rows_affected != 0 {
            self.rows_affected.add(plain.rows_affected);
        }
        if plain.is_range {
            self.ranges.add(1);
        }
    }

    fn take(&self) -> RunTotals {
        self.kind.set(0);
        RunTotals {
            stat: self.stat.read(Tally::take),
            rows_sent: self.rows_sent.take(),
            rows_examined: self.rows_examined.take(),
            rows_affected: self.rows_affected.take(),
            ranges: self.ranges.take(),
        }
    }
}

/// A run, and the rows that it is told to.
#[derive(Debug)]
struct Open {
    kind: RunKind,
    prepared: Option<Arc<PreparedRow>>,
    digest: Option<Arc<DigestRow>>,
}

/// The runs of a session that are not settled.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<Open>);

/// What statements of a run have alike.
#[derive(Debug)]
pub(crate) struct Alike<'r> {
    pub instrument: u16,
    pub prepared: Option<&'r Arc<PreparedRow>>,
    pub digest: Option<&'r Arc<DigestRow>>,
    /// The digest is the prepared statement's own.
    pub has_own_digest: bool,
}

/// The run that a statement adds to; `None`: it has no place for one.
#[inline(always)]
pub(crate) fn run_of<'r>(
    prepared: Option<&'r Arc<PreparedRow>>,
    digest: Option<&'r Arc<DigestRow>>,
) -> Option<&'r Run> {
    match prepared {
        Some(prepared) => Some(prepared.run()),
        None => digest.map(|row| row.run()),
    }
}

impl Runs {
    /// The run of these rows, which has no statement of the kind that comes, and whether all are to be settled before it can have one;
    /// `None`: it cannot.
    #[cold]
    pub fn place_for<'r>(
        &self,
        (prepared, digest): (Option<&'r Arc<PreparedRow>>, Option<&'r Arc<DigestRow>>),
    ) -> Option<(&'r Run, bool)> {
        // The session keeps it until it is settled: a long text is not kept beyond its statement.
        if prepared.is_some_and(|row| !row.is_short()) {
            return None;
        }
        let run = run_of(prepared, digest)?;
        Some((run, run.kind.get() != 0 || self.0.len() >= RUNS_MAX))
    }

    /// Lets statements of a kind be added to the run of these rows, which is empty.
    #[cold]
    pub fn begin(
        &mut self,
        run: &Run,
        kind: RunKind,
        (prepared, digest): (Option<&Arc<PreparedRow>>, Option<&Arc<DigestRow>>),
    ) {
        run.kind.set(kind.of);
        run.digest.set(kind.digest);
        let own = prepared.zip(digest).is_some_and(|(row, digest)| row.is_of(digest.digest()));
        run.has_own_digest.set(u64::from(own));
        self.0.push(Open { kind, prepared: prepared.cloned(), digest: digest.cloned() });
        run.place.set(self.0.len() as u64);
    }

    /// What statements of the run at a place have alike; `None`: there is none.
    pub fn alike(&self, place: RunPlace) -> Option<Alike<'_>> {
        let Open { kind, prepared, digest } = self.0.get((place.0 as usize).wrapping_sub(1))?;
        let (prepared, digest) = (prepared.as_ref(), digest.as_ref());
        let has_own_digest = run_of(prepared, digest).is_some_and(Run::has_own_digest);
        Some(Alike { instrument: kind.instrument(), prepared, digest, has_own_digest })
    }

    /// Tells all of them.
    pub fn settle(&mut self, page: &CounterPage) {
        for Open { kind, prepared, digest } in self.0.drain(..) {
            let Some(run) = run_of(prepared.as_ref(), digest.as_ref()) else { continue };
            let totals = run.take();
            page.add_run(kind.instrument(), &totals);
            if let Some(is_read_only) = kind.is_read_only() {
                page.add_transactions(is_read_only, &totals.stat);
            }
            if let Some(prepared) = &prepared {
                prepared.add_run(&totals);
            }
            if let Some(digest) = &digest {
                digest.add_run(&totals);
            }
        }
    }

    /// As [`Self::settle`], of a session that keeps nothing.
    pub fn rest(&mut self, page: &CounterPage) {
        self.settle(page);
        self.0 = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepared::PreparedOf;
    use crate::{DigestKey, Figures, Kept, SessionDigests, SessionHistory, Sum, TransactionKind};

    use std::sync::atomic::Ordering::Relaxed;

    const SELECT: u16 = 3;
    const EXECUTE: u16 = 4;
    const NONE: OwnTransaction = OwnTransaction::NONE;

    fn own(is_read_only: bool) -> OwnTransaction {
        OwnTransaction::new(TransactionKind { is_read_only, isolation: 2 }, true)
    }

    fn prepared(text: &[u8]) -> Arc<PreparedRow> {
        let of = PreparedOf { id: 1, name: None, text: text.into(), event_id: 2 };
        Arc::new(PreparedRow::new(of, 30).expect("there is room"))
    }

    /// A session with a page.
    struct Ran {
        digests: SessionDigests,
        history: SessionHistory,
        _registered: crate::PageRegistration,
        page: Box<CounterPage>,
    }

    impl Ran {
        fn new(thread_id: u64) -> Ran {
            let page = CounterPage::boxed();
            // SAFETY: the page is dropped behind its registration, as fields are in their order; nobody writes to it then.
            let registered = unsafe { crate::attach(&*page) };
            page.renew_statements();
            let history = SessionHistory::new(thread_id, &page);
            Ran { digests: SessionDigests::default(), history, _registered: registered, page }
        }

        fn row(&mut self, hash: u8) -> Arc<DigestRow> {
            let key = DigestKey { schema: Some("runs".into()), hash: [hash; 32] };
            let place = self.digests.place(&key, "SELECT ?", 5);
            Arc::clone(self.digests.row(place).expect("there is room"))
        }

        fn run(
            &mut self,
            of: (u16, OwnTransaction),
            prepared: Option<&Arc<PreparedRow>>,
            digest: Option<&Arc<DigestRow>>,
            ns: u64,
        ) {
            let plain = Plain {
                ns,
                times_ns: (1000 - ns.min(1000), 1000),
                rows_sent: 1,
                rows_examined: 2,
                rows_affected: 1,
                is_range: false,
            };
            let kept = Kept { written: Some(b"SELECT 1"), keeps: false, own: of.1 };
            if !self.history.adds_again(of, (prepared, digest), &plain, kept) {
                self.history.adds_first(of, (prepared, digest), &plain, kept, &self.page);
            }
        }

        /// Statements of an instrument, and the time of all.
        fn told(&self, instrument: u16) -> (u64, u64) {
            let stat = self.page.statement(instrument).stat;
            (stat.count, stat.ns_sum)
        }
    }

    fn by_digest(hash: u8) -> u64 {
        let found = crate::digests().into_iter().find(|digest| {
            digest
                .key
                .as_ref()
                .is_some_and(|k| k.schema.as_deref() == Some("runs") && k.hash == [hash; 32])
        });
        found.map_or(0, |digest| digest.totals.statements.stat.count)
    }

    #[test]
    fn statements_are_told_to_every_row_once_whatever_they_have_in_common() {
        let _alone = stdx::lock(&crate::EMPTIES);
        crate::set_digest_limits(10_000, 1024, 60);
        let mut ran = Ran::new(9001);
        let (a, b) = (ran.row(1), ran.row(2));
        let (short, long) = (prepared(b"SELECT ?"), prepared(&[b' '; 5000]));
        for _ in 0..3 {
            ran.run((EXECUTE, own(false)), Some(&short), Some(&a), 10);
            ran.run((EXECUTE, NONE), Some(&short), Some(&b), 1);
            ran.run((SELECT, own(true)), None, Some(&a), 100);
            ran.run((EXECUTE, own(false)), Some(&long), Some(&a), 1000);
            ran.run((SELECT, NONE), None, None, 7);
        }
        crate::settle();
        assert_eq!(ran.told(EXECUTE), (9, 3033));
        assert_eq!(ran.told(SELECT), (6, 321));
        let all = ran.page.statement(SELECT);
        assert_eq!((all.stat.ns_min, all.stat.ns_max), (7, 100));
        assert_eq!((all.sum(Sum::RowsExamined), all.sum(Sum::RowsAffected)), (12, 6));
        let transactions = ran.page.transactions(Tally::get);
        assert_eq!(transactions.read_write.count, 6);
        assert_eq!((transactions.read_only.count, transactions.read_only.ns_sum), (3, 300));
        let executions = short.report().executions;
        assert_eq!((executions.stat.count, executions.stat.ns_max), (6, 10));
        assert_eq!(long.report().executions.stat.count, 3);
        assert_eq!((by_digest(1), by_digest(2)), (9, 3));
        // Told once.
        crate::settle();
        assert_eq!(ran.told(EXECUTE), (9, 3033));
    }

    #[test]
    fn what_is_not_told_yet_is_not_lost_with_its_rows_nor_counted_after_they_are_emptied() {
        let _alone = stdx::lock(&crate::EMPTIES);
        crate::set_digest_limits(10_000, 1024, 60);
        let mut ran = Ran::new(9002);
        let row = ran.row(3);
        ran.run((SELECT, NONE), None, Some(&row), 10);
        // The session gives its rows to all before it tells what it ran.
        ran.digests.fold();
        assert_eq!(by_digest(3), 1);
        let row = ran.row(3);
        let kept = prepared(b"SELECT ?");
        ran.run((EXECUTE, NONE), Some(&kept), Some(&row), 10);
        crate::empty_prepared();
        crate::empty(Figures::Statements);
        ran.page.renew_statements();
        assert_eq!(by_digest(3), 2);
        ran.run((EXECUTE, NONE), Some(&kept), Some(&row), 20);
        crate::settle();
        assert_eq!((ran.told(EXECUTE), kept.report().executions.stat.count), ((1, 20), 1));
        assert_eq!(by_digest(3), 3);
        // More kinds than are kept: none is lost.
        for hash in 10..100 {
            let row = ran.row(hash);
            ran.run((SELECT, NONE), None, Some(&row), 1);
        }
        crate::settle();
        assert_eq!(ran.told(SELECT).0, 90);
    }

    #[test]
    fn none_is_lost_while_others_settle_all_the_time() {
        const STATEMENTS: u64 = 20_000;
        let _alone = stdx::lock(&crate::EMPTIES);
        crate::set_digest_limits(10_000, 1024, 60);
        let mut ran = Ran::new(9004);
        let rows = [ran.row(5), ran.row(6)];
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    crate::settle();
                }
            });
            for n in 0..STATEMENTS {
                ran.run((SELECT, own(n % 3 == 0)), None, Some(&rows[(n % 2) as usize]), 2);
            }
            is_over.store(true, Relaxed);
        });
        crate::settle();
        assert_eq!(ran.told(SELECT), (STATEMENTS, 2 * STATEMENTS));
        assert_eq!((by_digest(5), by_digest(6)), (STATEMENTS / 2, STATEMENTS / 2));
    }

    #[test]
    fn a_record_tells_what_its_run_knows_before_anybody_reads_it() {
        let _alone = stdx::lock(&crate::EMPTIES);
        crate::set_digest_limits(10_000, 1024, 60);
        let mut ran = Ran::new(9003);
        let (row, kept) = (ran.row(4), prepared(b"SELECT ? FROM t"));
        let mut run = |of: u16, prepared: Option<&Arc<PreparedRow>>, written, is_range| {
            let plain = Plain {
                ns: 5,
                times_ns: (100, 105),
                rows_sent: 1,
                rows_examined: 2,
                rows_affected: 3,
                is_range,
            };
            let kept = Kept { written, keeps: true, own: own(false) };
            let (of, rows) = ((of, own(false)), (prepared, Some(&row)));
            if !ran.history.adds_again(of, rows, &plain, kept) {
                ran.history.adds_first(of, rows, &plain, kept, &ran.page);
            }
        };
        // More than there is room for, so that each record was another statement's.
        for _ in 0..4 {
            run(EXECUTE, Some(&kept), None, false);
            run(SELECT, None, Some(b"SELECT 1"), true);
            run(SELECT, Some(&kept), Some(b"EXECUTE s"), false);
        }
        let told = || {
            let mine = crate::statement_histories().into_iter().filter(|r| r.thread_id == 9003);
            mine.map(|record| {
                assert_eq!(record.rows, (1, 2, 3));
                assert_eq!(record.times_ns, Some((100, 105)));
                assert!(record.digest().is_some(), "{record:?}");
                let ranges = record.sums.as_ref().map_or(0, |sums| sums[Sum::SelectRange as usize]);
                let text = String::from_utf8_lossy(record.text()).into_owned();
                (record.event_id, record.instrument, text, ranges)
            })
            .collect::<Vec<_>>()
        };
        let all = |n: u64| match n % 3 {
            0 => (2 * n + 1, EXECUTE, "SELECT ? FROM t".to_string(), 0),
            1 => (2 * n + 1, SELECT, "SELECT 1".to_string(), 1),
            _ => (2 * n + 1, SELECT, "EXECUTE s".to_string(), 0),
        };
        let expected: Vec<_> = (2..12).map(all).collect();
        assert_eq!(told(), expected);
        // Read again, and when the runs have been told.
        assert_eq!(told(), expected);
        crate::settle();
        assert_eq!(told(), expected);
        let owns = crate::transaction_histories().into_iter().filter(|(id, _)| *id == 9003);
        assert_eq!(
            owns.map(|(_, t)| t.event_id).collect::<Vec<_>>(),
            [6, 8, 10, 12, 14, 16, 18, 20, 22, 24]
        );
    }
}
