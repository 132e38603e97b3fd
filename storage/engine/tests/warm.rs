//! What a warm point read costs others: nothing shared is written, nothing is allocated. (The first
//! is counted with the feature `stdx/count-shared`; without it that count is zero by definition.)

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_table, key, row};
use engine::{Change, Direction, Reader, Then};
use host::SimDisk;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Bound;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system allocator.
#[allow(unsafe_code, reason = "a counting allocator is the only way to count allocations")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|a| a.set(a.get() + 1));
        let _ = BYTES.try_with(|b| b.set(b.get() + layout.size()));
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_read_writes_nothing_shared_and_allocates_nothing() {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    for id in 0..300 {
        client.insert(&table, &common::encode(&table, &row(id, id, id, 100))).unwrap();
    }
    client.commit().unwrap();
    let keys: Vec<Vec<u8>> = (0..300).map(|id| key(&table, id)).collect();
    let mut out = Vec::new();
    for key in &keys {
        assert!(client.get(&table, key, &mut out).unwrap());
    }
    stdx::class::reset_shared_writes();
    let before = ALLOCATIONS.get();
    for _ in 0..10 {
        for key in &keys {
            assert!(client.get(&table, key, &mut out).unwrap());
        }
    }
    let allocations = ALLOCATIONS.get() - before;
    assert_eq!(stdx::class::shared_writes(), [0; stdx::class::COUNT]);
    assert_eq!(allocations, 0);
    // A range read of committed rows: the same.
    let read = |client: &mut engine::Client| {
        let (low, high) = (Bound::Included(&keys[20][..]), Bound::Excluded(&keys[120][..]));
        let mut scan = client.scan(&table, 0, low, high).unwrap();
        let mut rows = 0;
        while scan.next().unwrap().is_some() {
            rows += 1;
        }
        assert_eq!(rows, 100);
    };
    read(&mut client);
    stdx::class::reset_shared_writes();
    let before = ALLOCATIONS.get();
    read(&mut client);
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert_eq!(stdx::class::shared_writes(), [0; stdx::class::COUNT]);
}

/// Every statement has readers of its own: they must not cost it a page each.
#[test]
fn a_new_reader_allocates_less_than_a_page() {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    for id in 0..300 {
        client.insert(&table, &common::encode(&table, &row(id, id, id, 100))).unwrap();
    }
    client.commit().unwrap();
    let (low, high, mut out) = (key(&table, 20), key(&table, 22), Vec::with_capacity(1000));
    let mut read = || {
        let before = BYTES.get();
        let mut reader = Reader::new();
        let range = (Bound::Included(&low[..]), Bound::Included(&high[..]));
        reader.open(&client, &table, 0, range, Direction::Forward).unwrap();
        let mut rows = 0;
        while reader.next(&client, &table, &mut out).unwrap() {
            rows += 1;
        }
        assert_eq!(rows, 3);
        BYTES.get() - before
    };
    read();
    let bytes = read();
    assert!(bytes < 200, "{bytes} bytes");
}

/// An update of one row by its key, committed, in the storage engine's part: shared lines written, as the
/// engine study counts them (6.1: what waiting for the log costs in flush mode 1 comes on top).
#[test]
fn an_update_writes_few_shared_lines() {
    const UPDATES: u64 = 400;
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    // The simulated disk's own mutexes do not count.
    engine.set_flush_log_at_trx_commit(0);
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    for id in 0..50 {
        client.insert(&table, &common::encode(&table, &row(id, id, id, 100))).unwrap();
    }
    client.commit().unwrap();
    let mut run = |n: u64| {
        let (mut new, mut old) = (row(7, 7, 7, 100), Vec::new());
        let key = key(&table, 7);
        for i in 0..n {
            new.pad[99] = i as u8;
            let row = common::encode(&table, &new);
            let stamp = client.read_latest(&table, &key, None, &mut old).unwrap().unwrap();
            let done = client.update_stamped(&table, &key, stamp, (&row, Then::Commit)).unwrap();
            assert!(done == Change::Done);
            client.commit().unwrap();
        }
    };
    run(UPDATES);
    engine.step_cleaner().unwrap();
    stdx::class::reset_shared_writes();
    run(UPDATES);
    let writes = stdx::class::shared_writes();
    let total: u64 = writes.iter().sum();
    for (class, n) in stdx::class::NAMES.iter().zip(writes).filter(|(_, n)| *n > 0) {
        println!("{class}: {:.2}", n as f64 / UPDATES as f64);
    }
    println!("{:.2} shared writes an update", total as f64 / UPDATES as f64);
    assert!(total <= 10 * UPDATES, "{total}");
}
