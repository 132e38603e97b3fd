//! What a warm point select costs that other sessions could feel: no heap allocation, and no write
//! to a line that another session writes or reads (by the wrappers' own count; `write_trap.rs` proves
//! the same without trusting them).
//!
//! In a process of its own: the allocator counts, by thread.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod hot;
#[path = "hot/ledger.rs"]
mod ledger;
#[path = "hot/waits.rs"]
mod waits;

use hot::{Conn, ROWS, Rig};
use instrument::Consumer;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stdx::{Ordering, SharedAtomic, class, shared_writes};

#[global_allocator]
static ALLOCATOR: host::probe::Probe = host::probe::Probe;

const STATEMENTS: u64 = 100_000;
const WARM_UP: u64 = 2_000;
/// The gate for an autocommitted update by primary key: 9 (`ledger.txt`), and now and then a page of undo.
const UPDATE_WRITES_MAX: f64 = 9.5;
/// What a hundred digests, and the history, may take of a session for their figures.
const FIGURES_BYTES_MAX: i64 = 256 << 10;
/// What a session may take for a hundred prepared statements.
const PREPARED_BYTES_MAX: i64 = 64 << 10;
/// A slow machine runs as many as fit.
const TIME_MAX: Duration = Duration::from_secs(5);

/// What one test switches is looked at by the sessions of the other: they run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread did so far.
#[derive(Clone, Copy)]
struct Costs {
    allocations: u64,
    writes: [u64; class::COUNT],
}

impl Costs {
    fn now() -> Costs {
        Costs { allocations: host::probe::allocations(), writes: shared_writes() }
    }

    /// What was added since `before`, by class of shared line.
    fn writes_since(&self, before: &Costs) -> Vec<(&'static str, u64)> {
        (0..class::COUNT)
            .map(|c| (class::NAMES[c], self.writes[c] - before.writes[c]))
            .filter(|(_, n)| *n > 0)
            .collect()
    }
}

/// Whether this build counts shared writes (`--features stdx/count-shared`, as `cargo xtask test` has it).
fn shared_writes_are_counted() -> bool {
    static PROBE: SharedAtomic<u32, { class::OTHER }> = SharedAtomic::new(0);
    let before = shared_writes()[usize::from(class::OTHER)];
    PROBE.store(1, Ordering::Relaxed);
    shared_writes()[usize::from(class::OTHER)] > before
}

/// Runs warm statements; what they cost and how many there were. Every row must be right.
fn measure(name: &str, mut one: impl FnMut(u32) -> bool) -> (u64, Costs, Costs) {
    let mut rng = stdx::rng::Rng::new(2);
    let mut id = move || 1 + rng.below(u64::from(ROWS)) as u32;
    for _ in 0..WARM_UP {
        let id = id();
        assert!(one(id), "{name}: wrong row {id} while warming up");
    }
    let (mut done, mut wrong) = (0, 0);
    let start = Instant::now();
    let before = Costs::now();
    while done < STATEMENTS && (done % 1024 != 0 || start.elapsed() < TIME_MAX) {
        wrong += u64::from(!one(id()));
        done += 1;
    }
    let after = Costs::now();
    println!(
        "{name}: {done} statements in {:?}, {} allocations, shared writes {:?}",
        start.elapsed(),
        after.allocations - before.allocations,
        after.writes_since(&before)
    );
    assert_eq!(wrong, 0, "{name}: wrong rows");
    (done, before, after)
}

fn assert_free(name: &str, (done, before, after): (u64, Costs, Costs), counted: bool) {
    assert!(done >= 1000, "{name}: only {done} statements in {TIME_MAX:?}");
    let allocations = after.allocations - before.allocations;
    assert_eq!(allocations, 0, "{name}: {allocations} heap allocations in {done} warm statements");
    let writes = after.writes_since(&before);
    if counted {
        assert!(writes.is_empty(), "{name}: shared lines written in {done} statements: {writes:?}");
    }
}

/// Shared lines that an autocommitted update writes.
fn writes_of_update(conn: &mut Conn, name: &str, update: &str) -> f64 {
    for _ in 0..20 {
        conn.ok(update);
    }
    let before = Costs::now();
    const UPDATES: u64 = 100;
    for _ in 0..UPDATES {
        conn.ok(update);
    }
    let after = Costs::now();
    let writes = after.writes_since(&before);
    let each = |n: u64| n as f64 / UPDATES as f64;
    let total: u64 = writes.iter().map(|(_, n)| n).sum();
    let by_class: Vec<String> =
        writes.iter().map(|(class, n)| format!("{class} {:.2}", each(*n))).collect();
    println!("{name}: {:.2} shared writes: {}", each(total), by_class.join(", "));
    each(total)
}

#[test]
fn a_warm_point_select_allocates_nothing_and_writes_nothing_shared() {
    let _alone = alone();
    let counted = shared_writes_are_counted();
    if !counted {
        println!("a part is left out: shared writes are not counted (stdx/count-shared is off)");
    }
    let asked_for = std::env::var_os("LIMPID_COUNT_SHARED").is_some();
    assert!(counted || !asked_for, "the test run expects stdx/count-shared, and it is off");
    let rig = Rig::new();
    let mut conn = rig.connect("sbtest");
    let statement = conn.prepare();
    conn.select_prepared(statement, 1, true);
    let prepared = measure("prepared", |id| conn.select_prepared(statement, id, false));
    assert_free("prepared", prepared, counted);
    let text = measure("text", |id| conn.select_text(id));
    assert_free("text", text, counted);

    // Every mutex, latch, file and socket counted and timed as well.
    conn.ok("SET GLOBAL limpid_instrument_level = 'synch'");
    let prepared = measure("prepared, at synch", |id| conn.select_prepared(statement, id, false));
    assert_free("prepared, at synch", prepared, counted);
    let text = measure("text, at synch", |id| conn.select_text(id));
    assert_free("text, at synch", text, counted);
    conn.ok("SET GLOBAL limpid_instrument_level = 'def'");

    // Inside a transaction, whose view is there since its first read.
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        conn.ok(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        conn.ok("BEGIN");
        let name = format!("prepared, inside a {level} transaction");
        let inside = measure(&name, |id| conn.select_prepared(statement, id, false));
        assert_free(&name, inside, counted);
        conn.ok("COMMIT");
    }

    // Who has privileges of one table alone: they are asked for when a program is made, not when it runs.
    conn.ok("CREATE USER reader");
    conn.ok("GRANT SELECT ON sbtest.sbtest1 TO reader");
    let mut reader = Conn::login_as(rig.server(), "reader", "sbtest");
    let statement = reader.prepare();
    reader.select_prepared(statement, 1, true);
    let prepared =
        measure("a reader's, prepared", |id| reader.select_prepared(statement, id, false));
    assert_free("a reader's, prepared", prepared, counted);
    let text = measure("a reader's, text", |id| reader.select_text(id));
    assert_free("a reader's, text", text, counted);
    drop(reader);

    // The counts can fail: an update writes shared lines, and a vector allocates.
    let before = Costs::now();
    conn.ok("UPDATE sbtest1 SET k=k+1 WHERE id=1");
    drop(std::hint::black_box(vec![1u8; 10]));
    let after = Costs::now();
    assert!(after.allocations > before.allocations, "an allocation went unseen");
    assert!(!counted || !after.writes_since(&before).is_empty(), "an update wrote nothing?");
    if counted {
        // Nobody purges here but who is asked; commits behind work look after it.
        rig.engine().purge_all().unwrap();
        count_updates(&mut conn);
    }
}

/// The sampler reads what sessions publish anyway: they write nothing for it.
#[test]
fn a_session_whose_history_is_kept_writes_nothing_shared() {
    const MOMENTS: usize = 3;
    let _alone = alone();
    let counted = shared_writes_are_counted();
    let rig = Rig::new();
    let mut conn = rig.connect("sbtest");
    let (statement, own) = (conn.prepare(), conn.id());
    conn.select_prepared(statement, 1, true);
    session::sampler::start(rig.server()).unwrap();
    let moments = || {
        let mut moments = 0;
        instrument::each_session_sample(|_, sample| {
            moments += usize::from(sample.session_id == own)
        });
        moments
    };
    let (begun, before) = (Instant::now(), moments());
    while moments() < before + MOMENTS {
        assert!(begun.elapsed() < 12 * TIME_MAX, "{} moments were sampled", moments() - before);
        let sampled = measure("sampled", |id| conn.select_prepared(statement, id, false));
        assert_free("sampled", sampled, counted);
    }
    session::sampler::switch(rig.server(), false).unwrap();
}

/// The engine study's count (6.1), in which waiting for the log is apart.
fn count_updates(conn: &mut Conn) {
    let set_c = "UPDATE sbtest1 SET c=IF(c='a', 'b', 'a') WHERE id=77";
    let set_k = "UPDATE sbtest1 SET k=k+1 WHERE id=77";
    writes_of_update(conn, "autocommitted update of a plain column, durable", set_c);
    conn.ok("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let plain = writes_of_update(conn, "of a plain column", set_c);
    writes_of_update(conn, "of an indexed column", set_k);
    assert!((1.0..=UPDATE_WRITES_MAX).contains(&plain), "an update wrote {plain} shared lines");
}

#[test]
fn the_ledger_of_shared_lines_is_as_it_is_written() {
    let _alone = alone();
    if !shared_writes_are_counted() {
        return testkit::skip("stdx/count-shared is off");
    }
    let rig = Rig::new();
    let ledger = ledger::measure(&rig);
    let text = ledger::show(&ledger, &waits::measure(&rig));
    println!("{text}");
    ledger::check(&text);
    ledger::assert_aims(&ledger);
}

/// Statements as applications prepare them: a number of parameters each.
fn common_statements() -> Vec<(String, usize)> {
    let lists = ["c", "id, k", "id, k, c, pad", "k, pad", "COUNT(*)"];
    let conditions = [
        ("id = ?", 1),
        ("k = ? ORDER BY id LIMIT 10", 1),
        ("id BETWEEN ? AND ?", 2),
        ("id IN (?, ?, ?)", 3),
        ("k > ? AND id < ?", 2),
    ];
    let read = |(list, (condition, n)): (&str, (&str, usize))| {
        (format!("SELECT {list} FROM sbtest1 WHERE {condition}"), n)
    };
    let each = |list| conditions.map(|condition| read((list, condition)));
    let mut all: Vec<_> = lists.into_iter().flat_map(each).collect();
    for n in 0..25 {
        all.push((format!("INSERT INTO sbtest1 (k, c) VALUES (?, 'n{n}')"), 1));
        all.push((format!("UPDATE sbtest1 SET k = ?, c = 'n{n}' WHERE id = ?"), 2));
        all.push((
            format!(
                "SELECT a.id, b.c AS c{n} FROM sbtest1 a JOIN sbtest1 b ON b.id = a.k WHERE a.id = ?"
            ),
            1,
        ));
    }
    all
}

#[test]
fn a_hundred_prepared_statements_take_little_of_a_session() {
    let _alone = alone();
    let rig = Rig::new();
    let statements = common_statements();
    assert_eq!(statements.len(), 100);
    let prepare = |conn: &mut Conn| {
        let prepared: Vec<_> =
            statements.iter().map(|(sql, n)| (conn.prepare_text(sql), *n)).collect();
        for (id, n) in &prepared {
            for round in 1..3 {
                conn.execute(*id, &vec![round; *n]);
            }
        }
    };
    // The programs belong to all sessions, and so do the texts of their digests.
    prepare(&mut rig.connect("sbtest"));
    let taken = || {
        let mut conn = rig.connect("sbtest");
        conn.prepare();
        let before = host::probe::live_bytes();
        prepare(&mut conn);
        host::probe::live_bytes() - before
    };
    let with_figures = taken();
    let consumers = [Consumer::StatementsDigest, Consumer::StatementsHistory];
    consumers.into_iter().for_each(|consumer| instrument::switch_consumer(consumer, false));
    instrument::set_prepared_limit(0);
    let taken = taken();
    consumers.into_iter().for_each(|consumer| instrument::switch_consumer(consumer, true));
    instrument::set_prepared_limit(u64::MAX);
    println!(
        "100 prepared statements take {taken} bytes of a session, with figures {with_figures}"
    );
    assert!(taken > 5_000, "the count sees nothing: {taken}");
    assert!(taken <= PREPARED_BYTES_MAX, "{taken} bytes");
    assert!(with_figures - taken <= FIGURES_BYTES_MAX, "{with_figures} bytes");
}
