//! The ledger of shared lines: for each kind of statement what it writes that other sessions see, and what it reads that
//! others write, by name, as `ledger.txt` has it.
//!
//! 1. A write is a store or a read-modify-write of a shared word: a mutex is two. What lies on pages and behind mutexes
//!    is not in it (`write_trap.rs` looks at all stores).
//! 2. A hot read is a load from a line (64 bytes) that the writing statements of another session write, on rows far away, and
//!    that this statement does not write itself. `a beside b` is a word of its own on the line of another that is written,
//!    of another kind.
//! 3. The vector of a kind is the one that most of its statements have: a page that is full now and then, and a reserved
//!    block of numbers, are not in it.

#![allow(dead_code)] // Each test uses its part.

use super::hot::{Conn, Rig};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use stdx::touch::{self, Touch};

/// Statements of a kind that are looked at; and before, so that it is warm.
const STATEMENTS: u32 = 32;
const WARM_UP: u32 = 16;
const LINE: usize = 64;
/// What the writers of a log round look at: slots of others, whose owners' stores are not counted.
const SLOTS: &str = "worker_slot";
const FILE: &str = "tests/hot/ledger.txt";

/// Operations by name.
pub type Vector = BTreeMap<String, usize>;

/// What one statement did.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Shared words written.
    pub writes: Vector,
    /// Hot lines read.
    pub reads: Vector,
}

/// The last word of `wait/synch/mutex/innodb/rseg_mutex`, say.
fn word_of(name: &'static str) -> &'static str {
    name.rsplit('/').next().unwrap_or_default()
}

/// What another session has written: names of words by line and address.
#[derive(Default)]
struct Hot(BTreeMap<usize, BTreeMap<usize, &'static str>>);

impl Hot {
    fn add(&mut self, touches: &[Touch]) {
        for touch in touches.iter().filter(|t| t.write) {
            let line = self.0.entry(touch.address / LINE).or_default();
            line.insert(touch.address, word_of(touch.name));
        }
    }

    /// The name of a load, if it is from a hot line; another word of the line may be what is written.
    fn name_of(&self, touch: &Touch) -> Option<String> {
        let name = word_of(touch.name);
        if name == SLOTS {
            return Some(name.to_string());
        }
        let line = self.0.get(&(touch.address / LINE))?;
        match line.get(&touch.address) {
            Some(_) => Some(name.to_string()),
            // Neighbours of one kind (pages, entries of a ring) are chance, which the numbers of rows and transactions decide.
            None if line.values().any(|written| *written == name) => None,
            None => line.values().next().map(|written| format!("{name} beside {written}")),
        }
    }
}

impl Entry {
    fn of(touches: &[Touch], hot: &Hot) -> Entry {
        let mut entry = Entry::default();
        let written = touches.iter().filter(|t| t.write).map(|t| t.address / LINE);
        let written: BTreeSet<usize> = written.collect();
        for touch in touches {
            if touch.write {
                *entry.writes.entry(word_of(touch.name).to_string()).or_default() += 1;
            } else if !written.contains(&(touch.address / LINE))
                && let Some(name) = hot.name_of(touch)
            {
                *entry.reads.entry(name).or_default() += 1;
            }
        }
        entry
    }

    /// All writes.
    pub fn written(&self) -> usize {
        self.writes.values().sum()
    }
}

/// A kind of statement: how to run the `n`th of it in a session whose rows begin at `base`.
struct Kind {
    name: &'static str,
    /// Before each statement, not looked at.
    before: fn(&mut Conn, u32),
    run: fn(&Rig, &mut Conn, u32),
    /// `innodb_flush_log_at_trx_commit`.
    durable: bool,
}

impl Kind {
    /// Sessions do not come and go all the time.
    fn is_rare(&self) -> bool {
        self.name.contains("session") || self.name == "connect"
    }
}

fn nothing(_: &mut Conn, _: u32) {}

fn kind(name: &'static str, run: fn(&Rig, &mut Conn, u32)) -> Kind {
    Kind { name, before: nothing, run, durable: false }
}

fn kinds() -> Vec<Kind> {
    let in_transaction = |name, before, run| Kind { name, before, run, durable: false };
    let durable = |kind: Kind, name| Kind { name, durable: true, ..kind };
    let set_c: fn(&Rig, &mut Conn, u32) =
        |_, c, n| c.ok(&format!("UPDATE sbtest1 SET c=IF(c='a', 'b', 'a') WHERE id={n}"));
    let commit: fn(&Rig, &mut Conn, u32) = |_, c, _| c.ok("COMMIT");
    let changed: fn(&mut Conn, u32) = |c, n| {
        c.ok("BEGIN");
        c.ok(&format!("UPDATE sbtest1 SET c=IF(c='a', 'b', 'a') WHERE id={n}"));
    };
    vec![
        kind("point select", |_, c, n| c.rows(&format!("SELECT pad FROM sbtest1 WHERE id={n}"))),
        in_transaction(
            "point select, view open",
            |c, n| {
                c.ok("BEGIN");
                c.rows(&format!("SELECT pad FROM sbtest1 WHERE id={}", n + 1));
            },
            |_, c, n| c.rows(&format!("SELECT pad FROM sbtest1 WHERE id={n}")),
        ),
        kind("range of 100 rows", |_, c, n| {
            c.rows(&format!("SELECT pad FROM sbtest1 WHERE id BETWEEN {n} AND {}", n + 99));
        }),
        in_transaction(
            "range of 100 rows, view open",
            |c, n| {
                c.ok("BEGIN");
                c.rows(&format!("SELECT pad FROM sbtest1 WHERE id={}", n + 1));
            },
            |_, c, n| {
                c.rows(&format!("SELECT pad FROM sbtest1 WHERE id BETWEEN {n} AND {}", n + 99));
            },
        ),
        kind("update of a plain column", set_c),
        durable(kind("", set_c), "update of a plain column, durable"),
        kind("update of an indexed column", |_, c, n| {
            c.ok(&format!("UPDATE sbtest1 SET k=k+1 WHERE id={n}"));
        }),
        kind("insert", |_, c, n| c.ok(&format!("INSERT INTO plain VALUES ({n}, 1)"))),
        kind("insert, AUTO_INCREMENT", |_, c, _| c.ok("INSERT INTO counted (v) VALUES (1)")),
        kind("insert, AUTO_INCREMENT and an index", |_, c, n| {
            c.ok(&format!("INSERT INTO sbtest1 (k, c, pad) VALUES ({n}, 'c', 'pad')"));
        }),
        kind("delete", |_, c, n| c.ok(&format!("DELETE FROM plain WHERE id={n}"))),
        in_transaction("update inside a transaction", |c, _| c.ok("BEGIN"), set_c),
        in_transaction("commit", changed, commit),
        Kind { name: "commit, durable", before: changed, run: commit, durable: true },
        kind("first statement of a session", |rig, c, n| {
            let mut session = rig.connect("sbtest");
            touch::begin();
            session.rows(&format!("SELECT pad FROM sbtest1 WHERE id={n}"));
            c.keep(touch::end());
        }),
        kind("connect", |rig, c, _| {
            touch::begin();
            let session = rig.connect("sbtest");
            c.keep(touch::end());
            drop(session);
        }),
    ]
}

/// What the statements of a kind touched, each.
fn run(rig: &Rig, conn: &mut Conn, kind: &Kind, first: u32) -> Vec<Vec<Touch>> {
    conn.ok(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {}", u8::from(kind.durable)));
    let mut all = Vec::new();
    for n in 0..WARM_UP + STATEMENTS {
        (kind.before)(conn, first + n);
        touch::begin();
        (kind.run)(rig, conn, first + n);
        let touches = touch::end();
        let touches = conn.kept().unwrap_or(touches);
        if n >= WARM_UP {
            all.push(touches);
        }
        conn.ok("COMMIT");
        rig.engine().purge_all().unwrap();
    }
    all
}

/// What was met most often.
pub fn usual<T: Ord>(all: impl Iterator<Item = T>) -> T {
    let mut met: BTreeMap<T, usize> = BTreeMap::new();
    for one in all {
        *met.entry(one).or_default() += 1;
    }
    met.into_iter().max_by_key(|(_, n)| *n).expect("statements ran").0
}

/// The ledger as it is: of a session, beside another one whose writes are hot.
pub fn measure(rig: &Rig) -> Vec<(&'static str, Entry)> {
    let (mut other, mut conn) = (rig.connect("sbtest"), rig.connect("sbtest"));
    make_tables(&mut other);
    let kinds = kinds();
    let mut hot = Hot::default();
    for kind in kinds.iter().filter(|kind| !kind.is_rare()) {
        run(rig, &mut other, kind, 100).iter().for_each(|touches| hot.add(touches));
    }
    let measured = kinds.iter().map(|kind| {
        let touched = run(rig, &mut conn, kind, 4000);
        (kind.name, usual(touched.iter().map(|touches| Entry::of(touches, &hot))))
    });
    measured.collect()
}

/// Stores of one warm statement of each everyday kind to memory that is neither the session's nor the bytes of pages and of
/// the log, and that no record of shared lines has: there must be none.
pub fn unnamed_stores(rig: &Rig, conn: &mut Conn, private: &[Range<usize>]) -> String {
    make_tables(conn);
    let engine = rig.engine();
    let data = [engine.pool().frame_range(), engine.log().ring_range()];
    let workers: Vec<_> = engine.slots().workers().map(|worker| worker.range()).collect();
    let is_data = |at| data.iter().chain(&workers).any(|range| range.contains(&at));
    let mut text = String::new();
    // A durable commit has what is behind the log writer's mutex, too.
    for kind in kinds().into_iter().filter(|kind| !kind.durable && !kind.is_rare()) {
        run(rig, conn, &kind, 4000);
        (kind.before)(conn, 4100);
        touch::begin();
        let armed = host::trap::arm_each(private).expect("the trap closes");
        (kind.run)(rig, conn, 4100);
        let missed = armed.missed();
        let mut faults = armed.disarm();
        let touches = touch::end();
        assert_eq!(missed, 0, "{}: more stores than are recorded", kind.name);
        println!("{}: {} stores", kind.name, faults.len());
        let named = |at: usize| touches.iter().any(|t| t.write && t.address / 8 == at / 8);
        faults.retain(|fault| !is_data(fault.address) && !named(fault.address));
        if !faults.is_empty() {
            text += &format!("{}: {}", kind.name, host::trap::report(&faults));
        }
        conn.ok("COMMIT");
    }
    text
}

/// The tables of the ledger, beside sysbench's.
fn make_tables(conn: &mut Conn) {
    conn.ok("CREATE TABLE plain (id INT PRIMARY KEY, v INT)");
    conn.ok("CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
}

fn text_of(vector: &Vector) -> String {
    let words: Vec<_> = vector.iter().map(|(name, n)| format!("{name} {n}")).collect();
    if words.is_empty() { "none".to_string() } else { words.join(", ") }
}

/// What was written, by name.
pub fn writes_of(touches: &[Touch]) -> Vector {
    Entry::of(touches, &Hot::default()).writes
}

/// As `ledger.txt` has it.
pub fn show(ledger: &[(&'static str, Entry)], waits: &[(&'static str, Vector)]) -> String {
    let mut text = String::new();
    for (name, entry) in ledger {
        text += &format!("{name}\n");
        text += &format!("    writes {}: {}\n", entry.written(), text_of(&entry.writes));
        text += &format!("    reads of hot lines: {}\n", text_of(&entry.reads));
    }
    for (name, writes) in waits {
        let written: usize = writes.values().sum();
        text += &format!("{name}\n    writes {written}: {}\n", text_of(writes));
    }
    text
}

/// What no blessing changes: nobody who reads writes, nor reads what others write where a view decides; an update writes 9 words,
/// an insert 10.
pub fn assert_aims(ledger: &[(&'static str, Entry)]) {
    for (name, entry) in ledger {
        let (written, reads) = (entry.written(), &entry.reads);
        match *name {
            "point select" | "point select, view open" | "range of 100 rows, view open" => {
                assert!(written == 0 && reads.is_empty(), "{name}: {entry:?}");
            }
            "range of 100 rows" => assert_eq!(written, 0, "{name}: {entry:?}"),
            "update of a plain column" => assert!(written <= 9, "{name}: {entry:?}"),
            "insert" | "insert, AUTO_INCREMENT" => assert!(written <= 10, "{name}: {entry:?}"),
            _ => {}
        }
    }
}

/// Fails when the ledger is another one than `ledger.txt`; writes it with `LIMPID_BLESS=1`.
pub fn check(text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("LIMPID_BLESS").is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    for (old, new) in kept.lines().zip(text.lines()).filter(|(old, new)| old != new) {
        println!("- {old}\n+ {new}");
    }
    assert!(
        kept == text,
        "{FILE} says otherwise: if that is right, LIMPID_BLESS=1 writes it anew\n{text}"
    );
}
