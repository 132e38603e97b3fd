//! One thread: hits, upgrades, fresh pages, eviction, drop.

use super::*;
use base::{Error, PageId};

#[test]
fn a_warm_optimistic_read_writes_nothing_shared() {
    let (_, world) = sim(1, 64);
    let ts = counters(&world, 3);
    let mut m = world.mtr();
    bump(&mut m, &ts, 2);
    stdx::reset_shared_writes();
    m.commit().unwrap();
    let counting = stdx::shared_writes().iter().any(|&n| n > 0);
    stdx::reset_shared_writes();
    for _ in 0..100 {
        let read = ts.optimistic(PageNo(2)).unwrap();
        let mut copy = Box::new([0; PAGE_BYTES]);
        read.node().copy_page(&mut copy);
        assert!(read.validate());
        assert_eq!(read_counter(&copy), (1, 1));
    }
    assert_eq!(stdx::shared_writes(), [0; stdx::class::COUNT]);
    eprintln!("shared writes were counted: {counting}");
}

#[test]
fn a_change_or_an_eviction_spoils_an_optimistic_read_and_its_upgrade() {
    let (_, world) = sim(2, 64);
    let ts = counters(&world, 3);
    let read = ts.optimistic(PageNo(1)).unwrap();
    let mut m = world.mtr();
    let h = m.try_upgrade(&read).expect("nothing changed");
    assert!(!read.validate(), "a writer holds it");
    m.release(h);
    assert!(read.validate(), "an unchanged page is the same version");
    bump(&mut m, &ts, 1);
    m.commit().unwrap();
    assert!(!read.validate());
    assert!(world.mtr().try_upgrade(&read).is_none());

    let read = ts.optimistic(PageNo(1)).unwrap();
    world.pool.flush_all().unwrap();
    world.pool.discard(&ts).unwrap();
    assert!(!read.validate());
    assert_eq!(value(&ts, 1).unwrap(), 1);
    assert!(!read.validate(), "in a frame again, with the same bytes, but who knows");
}

#[test]
fn a_page_held_twice_is_held_once() {
    let (_, world) = sim(3, 64);
    let ts = counters(&world, 2);
    let mut m = world.mtr();
    let a = m.exclusive(&ts, PageNo(1)).unwrap();
    assert_eq!(m.exclusive(&ts, PageNo(1)).unwrap(), a);
    assert_eq!(m.fresh(&ts, PageNo(1)).unwrap(), a);
    assert_eq!(m.holds(&ts, PageNo(1)), Some(a));
    assert_eq!(m.holds(&ts, PageNo(2)), None);
    m.release(a);
    assert_eq!(m.holds(&ts, PageNo(1)), None);
    assert_eq!(m.commit().unwrap(), Lsn::ZERO);
}

#[test]
fn an_op_that_does_not_fit_leaves_page_and_redo_alone() {
    let (_, world) = sim(4, 64);
    let ts = counters(&world, 1);
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    let (h, redo) = (m.holds(&ts, PageNo(1)).unwrap(), m.redo_bytes());
    let before = *m.page(h);
    let beyond = PageOp::Write { at: PAGE_BYTES as u16 - 2, bytes: b"four" };
    assert!(m.apply(h, &beyond).is_err());
    assert_eq!((m.redo_bytes(), *m.page(h) == before), (redo, true));
    // Nor one that the log has no room for.
    let image = *m.page(h);
    let full = loop {
        let redo = m.redo_bytes();
        if let Err(e) = m.apply(h, &PageOp::Image { bytes: &image }) {
            assert_eq!(m.redo_bytes(), redo);
            break e;
        }
    };
    assert!(matches!(full, Error::LogFull));
    m.commit().unwrap();
}

#[test]
fn a_fresh_page_that_is_not_made_leaves_the_old_one() {
    let (_, world) = sim(5, 64);
    let ts = counters(&world, 2);
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    m.commit().unwrap();
    for evicted in [false, true] {
        if evicted {
            world.pool.flush_all().unwrap();
            world.pool.discard(&ts).unwrap();
        }
        let mut m = world.mtr();
        let h = m.fresh(&ts, PageNo(1)).unwrap();
        let write = PageOp::Write { at: BODY_AT as u16, bytes: b"x" };
        assert!(matches!(m.apply(h, &write), Err(Error::Internal(_))));
        drop(m);
        assert_eq!(value(&ts, 1).unwrap(), 1, "evicted: {evicted}");
    }
}

#[test]
fn pages_without_content_are_errors_that_name_them() {
    let (_, world) = sim(6, 64);
    let ts = counters(&world, 1);
    let end = ts.pages_in_file();
    for page in [end - 1, end, u32::MAX] {
        let want = PageId::new(SPACE, PageNo(page));
        let found = ts.optimistic(PageNo(page)).map(|_| ());
        assert!(matches!(found, Err(Error::Corrupt { page, .. }) if page == want), "{found:?}");
        assert!(ts.shared(PageNo(page)).is_err());
        assert!(world.mtr().exclusive(&ts, PageNo(page)).is_err());
    }
}

#[test]
fn more_pages_than_frames_keep_their_contents() {
    let (_, world) = sim(7, 64);
    let ts = counters(&world, 300);
    for round in 1..=3 {
        for page in 1..=300 {
            let mut m = world.mtr();
            assert_eq!(bump(&mut m, &ts, page), round);
            m.commit().unwrap();
        }
    }
    for page in 1..=300 {
        assert_eq!(value(&ts, page).unwrap(), 3);
    }
}

#[test]
fn dropping_a_tablespace_frees_its_frames_and_its_name() {
    let (disk, world) = sim(8, 64);
    let ts = counters(&world, 60);
    let page = ts.shared(PageNo(1)).unwrap();
    assert!(matches!(world.pool.close_tablespace(&ts), Err(Error::Internal(_))));
    drop(page);
    world.pool.drop_tablespace(&ts).unwrap();
    assert!(!disk.exists(NAME).unwrap());
    assert!(world.pool.tablespace(SPACE).is_none());
    assert_eq!((world.pool.dirty_frames(), world.pool.oldest_dirty()), (0, Lsn::MAX));
    let again = counters(&world, 62);
    assert_eq!(value(&again, 62).unwrap(), 0);
}

#[test]
fn the_checkpoint_waits_for_the_oldest_change() {
    let (_, world) = sim(9, 64);
    let ts = counters(&world, 2);
    world.pool.flush_all().unwrap();
    let before = world.pool.checkpoint(b"one").unwrap();
    assert_eq!(before, world.log.tail());
    for page in [1, 2, 1] {
        let mut m = world.mtr();
        bump(&mut m, &ts, page);
        m.commit().unwrap();
    }
    assert_eq!(world.pool.checkpoint(b"two").unwrap(), before, "page 1 changed first");
    assert_eq!(world.pool.clean_some(1).unwrap(), 1);
    let second = world.pool.checkpoint(b"three").unwrap();
    assert!(before < second && second < world.log.tail(), "page 2 is still changed");
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.checkpoint(b"four").unwrap(), world.log.tail());
    assert_eq!(world.log.checkpoint_payload(), b"four");
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is latched after page 0")]
fn page_0_is_latched_last() {
    let (_, world) = sim(10, 64);
    let ts = counters(&world, 1);
    let mut m = world.mtr();
    m.exclusive(&ts, PageNo(0)).unwrap();
    let _ = m.exclusive(&ts, PageNo(1));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "holds 1 page latches")]
fn no_mini_transaction_begins_under_a_latch() {
    let (_, world) = sim(11, 64);
    let ts = counters(&world, 1);
    let _page = ts.shared(PageNo(1)).unwrap();
    world.mtr();
}

/// Runs itself in a process of its own, which must die.
#[test]
fn a_mini_transaction_dropped_with_changes_aborts() {
    const ROLE: &str = "LIMPID_POOL_TEST_ABORT";
    if std::env::var_os(ROLE).is_some() {
        let (_, world) = sim(12, 64);
        let ts = counters(&world, 1);
        let mut m = world.mtr();
        bump(&mut m, &ts, 1);
        drop(m);
        return;
    }
    let name = "tests::latches::a_mini_transaction_dropped_with_changes_aborts";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ROLE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("dropped with changes that are not in the redo log"), "{said}");
}
