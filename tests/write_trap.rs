//! The proof that a warm point select, and a join whose plan is kept, write only their session's own
//! memory: every other writable page of the process is made read-only while it runs, and a store to one is a fault with its place.
//!
//! One test, in a process of its own: any other thread's write would be caught too.
//!
//! What the session may write (its private set):
//! - its thread's stack with the thread-local storage above it (`host::trap` leaves it open);
//! - its session slot: whole pages that it alone writes; metadata-lock grants, kill flag's pages, counters;
//! - the heap it allocates from: its buffers, plans, open-table list and its line of the process list,
//!   all made by this session. What sessions share (dictionary, locks, pages, log) is made before by
//!   another thread, on the ordinary heap, which is protected.
//!
//! The worker slot is not in the set: a read publishes nothing there. Both ends of a connection under TLS write the state of
//! their ciphers besides.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod hot;
#[path = "hot/ledger.rs"]
mod ledger;
#[path = "hot/secured.rs"]
mod secured;

use host::probe::{PrivateHeap, Probe};
use host::trap;
use hot::{ROWS, Rig};
use secured::Ends;
use std::collections::BTreeSet;
use std::ops::Range;
use stdx::{Ordering, SharedAtomic, class};

#[global_allocator]
static ALLOCATOR: Probe = Probe;

static SHARED: SharedAtomic<u64, { class::OTHER }> = SharedAtomic::new(0);

const STATEMENTS: u64 = 100_000;
const WARM_UP: u64 = 2_000;
/// Joins allocate, and the private heap takes nothing back.
const JOINS: u64 = 2_000;

/// Pages written while `run` ran in the closed trap, and whether its rows were right.
fn trapped(private: &[Range<usize>], mut run: impl FnMut() -> bool) -> (Vec<trap::Fault>, bool) {
    let armed = trap::arm(private).expect("the trap closes");
    let right = run();
    (armed.disarm(), right)
}

/// Statements that a session's history has places for.
const HISTORY: u32 = 10;

fn session_thread(rig: &Rig, ends: &Ends) {
    let heap = PrivateHeap::enter(256 << 20).unwrap();
    let mut conn = rig.connect("sbtest");
    let statement = conn.prepare();
    let mut rng = stdx::rng::Rng::new(3);
    let mut id = || 1 + rng.below(u64::from(ROWS)) as u32;
    conn.select_prepared(statement, 1, true);
    for _ in 0..WARM_UP {
        assert!(conn.select_prepared(statement, id(), false) && conn.select_text(id()));
    }
    // Each place of the session's history has had a text of its own: a prepared one is not copied there.
    for _ in 0..HISTORY {
        assert!(conn.select_text(id()));
    }
    let slot = rig.engine().slots().session(conn.slot(rig)).range();
    let private = [slot, heap.range()];
    println!("private besides the thread's stack and thread-local storage:");
    println!("  session slot {:x?}, {} bytes", private[0], private[0].len());
    println!("  session's heap {:x?}, {} bytes used", private[1], heap.used_bytes());

    // The trap sees what it must: one store to a shared line, ...
    let (faults, _) = trapped(&private, || {
        SHARED.store(1, Ordering::Relaxed);
        true
    });
    assert_eq!(faults.len(), 1, "a deliberate shared write: {}", trap::report(&faults));
    assert_eq!(faults[0].address, std::ptr::from_ref(&SHARED).addr());

    let prove = |name: &str, one: &mut dyn FnMut() -> bool| {
        let mut allocated = 0;
        let (faults, right) = trapped(&private, || {
            let before = host::probe::allocations();
            let right = (0..STATEMENTS).all(|_| one());
            allocated = host::probe::allocations() - before;
            right
        });
        assert!(faults.is_empty(), "{name} point selects: {}", trap::report(&faults));
        assert!(right, "{name}: wrong rows");
        assert_eq!(allocated, 0, "{name}: allocations that the private heap would hide");
        println!("{STATEMENTS} {name} point selects: no fault");
    };
    prove("prepared", &mut || conn.select_prepared(statement, id(), false));
    prove("text", &mut || conn.select_text(id()));
    // Every mutex, latch, file and socket counted and timed as well.
    conn.ok("SET GLOBAL limpid_instrument_level = 'synch'");
    for _ in 0..WARM_UP {
        assert!(conn.select_prepared(statement, id(), false));
    }
    prove("at synch, prepared", &mut || conn.select_prepared(statement, id(), false));
    conn.ok("SET GLOBAL limpid_instrument_level = 'def'");

    for _ in 0..8 {
        assert!(conn.join_text(id()));
    }
    let (faults, right) = trapped(&private, || (0..JOINS).all(|_| conn.join_text(id())));
    assert!(faults.is_empty(), "joins: {}", trap::report(&faults));
    assert!(right, "joins: wrong rows");
    println!("{JOINS} text joins of two point look-ups, their plan kept: no fault");

    // The state of a cipher lies on the C library's heap, which the trap does not know: each connection writes its own, and
    // nothing that another one writes, too.
    let written = [ends.connect(), ends.connect()].map(|mut line| {
        assert!((0..8).all(|_| line.echo(b"SELECT 1")));
        let (faults, right) =
            trapped(&private, || (0..JOINS).all(|_| line.echo(b"SELECT c FROM t")));
        assert!(right, "TLS: other bytes");
        assert!(faults.len() <= 2, "a page of each end: {}", trap::report(&faults));
        faults.iter().map(|fault| fault.address).collect::<BTreeSet<_>>()
    });
    assert!(written[0].is_disjoint(&written[1]), "{written:x?}");
    println!(
        "{JOINS} statements and answers through both ends of TLS: nothing but its ciphers' state"
    );

    if stdx::shared_writes() != [0; class::COUNT] {
        let unnamed = ledger::unnamed_stores(rig, &mut conn, &private);
        assert!(unnamed.is_empty(), "stores that the ledger does not know: {unnamed}");
    }

    // ... and the writes of a statement that must write.
    let (faults, _) = trapped(&private, || {
        conn.ok("UPDATE sbtest1 SET k=k+1 WHERE id=5");
        true
    });
    assert!(faults.len() > 3, "an update wrote nothing shared? {}", trap::report(&faults));
    println!("one update, for comparison: {} shared pages written", faults.len());
}

#[test]
fn a_warm_point_select_writes_only_its_sessions_memory() {
    let (rig, ends) = (Rig::new(), Ends::new());
    // On a thread of its own: the main thread's stack and thread-local storage lie elsewhere.
    let thread = host::thread::spawn("session", move || session_thread(&rig, &ends)).unwrap();
    thread.join().expect("the session's thread");
}
