//! Memory: what the parts of the server keep, where somebody counts it.
//!
//! 1. An instrument is listed when it counts for the first time. 2. Figures are shared: memory is taken and given back in
//! pieces so large, or so seldom, that nobody notices. 3. Whoever has a piece knows how much of it was counted
//! ([`MemoryUse::set`]): what was taken while the instrument was off is not given back, and what was counted is, whether it is
//! on or off by then. 4. What sessions keep ([`SessionMemory`]) is counted in their pages as well:
//! there is room for [`SESSION_MEMORIES`](crate::class::SESSION_MEMORIES) of them. 5. Under the registry's
//! mutex memory is only given back: no class is registered by that.

use crate::registry::page;
use crate::statement::same;
use crate::{Class, ClassKind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use stdx::lock;

/// Amounts taken and given back, and between which bounds what is used was.
///
/// Every change of `used` tells what was used after it, so that a bound is never what nobody used; nothing is set back when
/// figures begin anew, or what others take meanwhile would get lost.
#[derive(Debug)]
struct Amount {
    taken: AtomicU64,
    used: AtomicI64,
    low: AtomicI64,
    high: AtomicI64,
    /// How much of what was taken and given back by then is not told any more.
    forgotten: AtomicU64,
}

impl Amount {
    const fn new() -> Amount {
        Amount {
            taken: AtomicU64::new(0),
            used: AtomicI64::new(0),
            low: AtomicI64::new(0),
            high: AtomicI64::new(0),
            forgotten: AtomicU64::new(0),
        }
    }

    fn take(&self, n: u64) {
        let used = self.used.fetch_add(n as i64, Relaxed).wrapping_add(n as i64);
        self.high.fetch_max(used, Relaxed);
        self.taken.fetch_add(n, Release);
    }

    fn give_back(&self, n: u64) {
        let used = self.used.fetch_sub(n as i64, Relaxed).wrapping_sub(n as i64);
        self.low.fetch_min(used, Relaxed);
    }

    /// What was taken and given back in all, and what is used.
    fn all(&self) -> (u64, u64, i64) {
        // What is seen as taken is seen as used, or as given back: never is more given back than was.
        let taken = self.taken.load(Acquire);
        let used = self.used.load(Relaxed);
        (taken, taken.saturating_add_signed(used.saturating_neg()), used)
    }

    fn totals(&self) -> AmountTotals {
        let forgotten = self.forgotten.load(Relaxed);
        let (taken, given_back, used) = self.all();
        AmountTotals {
            taken: taken.saturating_sub(forgotten),
            given_back: given_back.saturating_sub(forgotten),
            low: self.low.load(Relaxed).min(used),
            used,
            high: self.high.load(Relaxed).max(used),
        }
    }

    /// What is used stays: it is what counts from now on.
    fn empty(&self) {
        let (taken, given_back, used) = self.all();
        self.forgotten.store(taken.min(given_back), Relaxed);
        self.low.store(used, Relaxed);
        self.high.store(used, Relaxed);
    }
}

/// An instrument of memory, with its figures: declared as a `static`.
#[derive(Debug)]
pub struct MemoryUse {
    class: Class,
    is_listed: AtomicBool,
    pieces: Amount,
    bytes: Amount,
}

static LISTED: Mutex<Vec<&'static MemoryUse>> = Mutex::new(Vec::new());

impl MemoryUse {
    /// One that has counted nothing.
    pub const fn new(name: &'static str) -> MemoryUse {
        MemoryUse {
            class: Class::new(name, ClassKind::Memory),
            is_listed: AtomicBool::new(false),
            pieces: Amount::new(),
            bytes: Amount::new(),
        }
    }

    /// Its class.
    pub const fn class(&self) -> &Class {
        &self.class
    }

    const fn of_sessions(mut self) -> MemoryUse {
        self.class = self.class.of_sessions();
        self
    }

    fn is_counted(&'static self) -> bool {
        if !self.is_listed.load(Relaxed) && !self.is_listed.swap(true, Relaxed) {
            self.class.id();
            lock(&LISTED).push(self);
        }
        self.class.enabled()
    }

    /// A piece of which so much was counted has another size now: how much of it is counted.
    #[must_use = "it is told when the piece changes again"]
    pub fn set(&'static self, counted: usize, to: usize) -> usize {
        // What is not counted stays so.
        let now = if self.is_counted() { to } else { to.min(counted) };
        self.change(counted, now);
        now
    }

    fn change(&self, from: usize, to: usize) {
        if from == to {
            return;
        }
        match (from, to) {
            (0, _) => self.pieces.take(1),
            (_, 0) => self.pieces.give_back(1),
            _ => {}
        }
        match to > from {
            true => self.bytes.take((to - from) as u64),
            false => self.bytes.give_back((from - to) as u64),
        }
    }

    /// A piece was taken.
    pub fn take(&'static self, bytes: usize) {
        if self.is_counted() {
            self.pieces.take(1);
            self.bytes.take(bytes as u64);
        }
    }

    /// A piece was given back.
    pub fn give_back(&'static self, bytes: usize) {
        if self.is_counted() {
            self.pieces.give_back(1);
            self.bytes.give_back(bytes as u64);
        }
    }
}

/// An instrument of memory that sessions keep, declared as a `static`.
#[derive(Debug)]
pub struct SessionMemory {
    all: MemoryUse,
    is_controlled: bool,
}

/// What a session keeps that is not its statements'.
const NOT_CONTROLLED: [&str; 2] = ["memory/sql/NET::buff", "memory/sql/THD"];

static OF_SESSIONS: Mutex<Vec<&'static SessionMemory>> = Mutex::new(Vec::new());

impl SessionMemory {
    /// One that has counted nothing.
    pub const fn new(name: &'static str) -> SessionMemory {
        let mut is_controlled = true;
        let mut n = 0;
        while n < NOT_CONTROLLED.len() {
            is_controlled &= !same(NOT_CONTROLLED[n].as_bytes(), 0, name.as_bytes(), 0);
            n += 1;
        }
        SessionMemory { all: MemoryUse::new(name).of_sessions(), is_controlled }
    }

    /// Its class.
    pub const fn class(&self) -> &Class {
        self.all.class()
    }

    /// As [`MemoryUse::set`]: of the session whose page is the calling thread's.
    #[must_use = "it is told when the piece changes again"]
    pub fn set(&'static self, counted: usize, to: usize) -> usize {
        if !self.all.is_listed.load(Relaxed) {
            lock(&OF_SESSIONS).push(self);
        }
        let now = self.all.set(counted, to);
        if now != counted {
            page().change_memory(self.class(), self.is_controlled, counted as u64, now as u64);
        }
        now
    }
}

/// A piece of memory that a session keeps as long as this is there.
#[derive(Debug)]
pub struct Piece {
    of: &'static SessionMemory,
    counted: usize,
}

impl Piece {
    /// Nothing of an instrument's.
    pub const fn new(of: &'static SessionMemory) -> Piece {
        Piece { of, counted: 0 }
    }

    /// So many bytes of an instrument's.
    pub fn of(of: &'static SessionMemory, bytes: usize) -> Piece {
        Piece { of, counted: of.set(0, bytes) }
    }

    /// It has another size now.
    pub fn set(&mut self, bytes: usize) {
        self.counted = self.of.set(self.counted, bytes);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// The instruments of memory of sessions that have counted something.
pub fn session_memory() -> Vec<&'static Class> {
    let listed = lock(&OF_SESSIONS);
    let mut classes: Vec<&'static Class> = listed.iter().map(|memory| memory.class()).collect();
    classes.sort_by_key(|class| class.name());
    classes.dedup_by_key(|class| class.name());
    classes
}

/// Figures of memory of one instrument: of a session, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryTotals {
    /// In pieces.
    pub pieces: AmountTotals,
    /// In bytes.
    pub bytes: AmountTotals,
}

impl MemoryTotals {
    /// Adds others.
    pub(crate) fn add(&mut self, other: &MemoryTotals) {
        self.pieces.add(&other.pieces);
        self.bytes.add(&other.bytes);
    }

    /// What is over: taken and given back.
    pub(crate) fn over(&self) -> MemoryTotals {
        MemoryTotals { pieces: self.pieces.over(), bytes: self.bytes.over() }
    }
}

impl AmountTotals {
    /// Of what is used, counted from nothing.
    pub(crate) fn of_used(used: i64) -> AmountTotals {
        let (taken, given_back) = (used.max(0) as u64, used.min(0).unsigned_abs());
        AmountTotals { taken, given_back, low: used, used, high: used }
    }

    fn add(&mut self, other: &AmountTotals) {
        self.taken = self.taken.wrapping_add(other.taken);
        self.given_back = self.given_back.wrapping_add(other.given_back);
        self.low += other.low;
        self.used += other.used;
        self.high += other.high;
    }

    fn over(&self) -> AmountTotals {
        let n = self.taken.min(self.given_back);
        AmountTotals { taken: n, given_back: n, ..AmountTotals::default() }
    }
}

/// Figures of an [`MemoryUse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AmountTotals {
    /// What was taken.
    pub taken: u64,
    /// What was given back.
    pub given_back: u64,
    /// The least that was used.
    pub low: i64,
    /// What is used now.
    pub used: i64,
    /// The most that was used.
    pub high: i64,
}

/// What one instrument of memory counted.
#[derive(Debug, Clone)]
pub struct MemoryReport {
    /// The instrument.
    pub class: &'static Class,
    /// In pieces.
    pub pieces: AmountTotals,
    /// In bytes.
    pub bytes: AmountTotals,
}

/// All instruments of memory that have counted something.
pub fn memory_reports() -> Vec<MemoryReport> {
    let listed = lock(&LISTED).clone();
    let report = |memory: &&'static MemoryUse| MemoryReport {
        class: memory.class(),
        pieces: memory.pieces.totals(),
        bytes: memory.bytes.totals(),
    };
    listed.iter().map(report).collect()
}

/// Counts anew from what is used now.
pub fn empty_memory() {
    let listed = lock(&LISTED).clone();
    for memory in listed {
        memory.pieces.empty();
        memory.bytes.empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ENABLED;

    #[test]
    fn what_is_used_is_what_was_taken_and_not_given_back() {
        let _alone = lock(&crate::EMPTIES);
        static MEMORY: MemoryUse = MemoryUse::new("memory/test/used");
        let of = || memory_reports().into_iter().find(|m| m.class.name() == "memory/test/used");
        assert!(of().is_none());
        for bytes in [100, 50] {
            MEMORY.take(bytes);
        }
        MEMORY.give_back(100);
        let report = of().unwrap();
        let bytes = AmountTotals { taken: 150, given_back: 100, low: 0, used: 50, high: 150 };
        let pieces = AmountTotals { taken: 2, given_back: 1, low: 0, used: 1, high: 2 };
        assert_eq!((report.bytes, report.pieces), (bytes, pieces));
        empty_memory();
        let bytes = AmountTotals { taken: 50, given_back: 0, low: 50, used: 50, high: 50 };
        assert_eq!(of().unwrap().bytes, bytes);
        MEMORY.give_back(20);
        assert_eq!((of().unwrap().bytes.low, of().unwrap().bytes.high), (30, 50));
        let mut piece = MEMORY.set(0, 9);
        piece = MEMORY.set(piece, 12);
        assert_eq!((of().unwrap().bytes.used, of().unwrap().pieces.used), (42, 1));
        // What is not counted is not given back, and what is counted is.
        MEMORY.class.set_flags(0);
        MEMORY.take(7);
        let mut other = MEMORY.set(0, 100);
        piece = MEMORY.set(piece, 20);
        assert_eq!((other, piece, of().unwrap().bytes.used), (0, 12, 42));
        piece = MEMORY.set(piece, 2);
        assert_eq!((piece, of().unwrap().bytes.used), (2, 32));
        MEMORY.class.set_flags(ENABLED);
        other = MEMORY.set(other, 0);
        piece = MEMORY.set(piece, 0);
        assert_eq!((other, piece, of().unwrap().bytes.used), (0, 0, 30));
    }

    #[test]
    fn figures_that_are_emptied_beside_changes_lose_none() {
        let _alone = lock(&crate::EMPTIES);
        static MEMORY: MemoryUse = MemoryUse::new("memory/test/emptied");
        let of = || memory_reports().into_iter().find(|m| m.class.name() == "memory/test/emptied");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let changes = || {
                for _ in 0..100_000 {
                    MEMORY.take(10);
                    MEMORY.give_back(10);
                }
            };
            let changing = [scope.spawn(changes), scope.spawn(changes)];
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    empty_memory();
                }
            });
            let mut reports = 0;
            while !changing.iter().all(|thread| thread.is_finished()) {
                let Some(report) = of() else { continue };
                assert!((0..=20).contains(&report.bytes.used), "{report:?}");
                assert!(report.bytes.low >= 0 && report.pieces.low >= 0, "{report:?}");
                reports += 1;
            }
            is_over.store(true, Relaxed);
            assert!(reports > 10, "{reports}");
        });
        assert_eq!(of().map(|m| (m.bytes.used, m.pieces.used)), Some((0, 0)));
    }

    #[test]
    fn what_a_session_keeps_is_in_its_page() {
        static KEPT: SessionMemory = SessionMemory::new("memory/test/of_session");
        static BUFFER: SessionMemory = SessionMemory::new("memory/sql/NET::buff");
        let page = crate::CounterPage::boxed();
        // SAFETY: the page outlives its being the current one.
        let before = unsafe { crate::set_current(&*page) };
        let mut piece = Piece::of(&KEPT, 100);
        let buffer = Piece::of(&BUFFER, 1000);
        piece.set(300);
        piece.set(200);
        let sums = page.memory_sums();
        assert_eq!((sums.controlled, sums.controlled_max), (200, 300));
        assert_eq!((sums.total, sums.total_max), (1200, 1300));
        assert_eq!(page.take_statement_memory(), (300, 1300));
        assert_eq!(page.take_statement_memory(), (0, 0));
        let of = || {
            let kept = |(id, _): &(u16, MemoryTotals)| Some(*id) == KEPT.class().id_if_registered();
            page.used_memory().find(kept).map(|(_, totals)| totals.bytes)
        };
        let bytes = AmountTotals { taken: 300, given_back: 100, low: 0, used: 200, high: 300 };
        assert_eq!(of(), Some(bytes));
        assert_eq!(
            bytes.over(),
            AmountTotals { taken: 100, given_back: 100, ..Default::default() }
        );
        drop((piece, buffer));
        assert_eq!(of().unwrap().used, 0);
        assert_eq!(page.memory_sums().total, 0);
        // SAFETY: it was this thread's.
        unsafe { crate::set_current(before) };
    }
}
