//! Crashes at any moment, redo, torn pages.

use super::*;
use base::{Error, PageId};
use stdx::rng::Rng;

const PAGES: u64 = 12;

/// One life of a server that bumps counters, cleans and checkpoints at random until the power
/// goes. Returns what was acknowledged, and what may have been made durable on top.
fn live(world: &World, ts: &Tablespace, rng: &mut Rng, start: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let mut acked = start.to_vec();
    let mut maybe = start.to_vec();
    for _ in 0..400 {
        let page = 1 + rng.below(PAGES) as u32;
        let mut m = world.mtr();
        let Ok(h) = m.exclusive(ts, PageNo(page)) else { break };
        let (a, b) = read_counter(m.page(h));
        assert_eq!(a, b);
        bump(&mut m, ts, page);
        maybe[page as usize] = a + 1;
        let Ok(lsn) = m.commit() else { break };
        if rng.chance(1, 3) {
            if world.log.flush_to(lsn).is_err() {
                break;
            }
            acked = maybe.clone();
        }
        if rng.chance(1, 12) && world.pool.clean_some(1 + rng.below(6) as usize).is_err() {
            break;
        }
        if rng.chance(1, 12) && world.pool.checkpoint(b"").is_err() {
            break;
        }
    }
    (acked, maybe)
}

#[test]
fn whatever_was_acknowledged_is_there_after_a_crash() {
    let mut torn = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(seed);
        let world = World::create(disk.clone(), 64).unwrap();
        let ts = counters(&world, PAGES as u32);
        world.log.flush_to(world.log.tail()).unwrap();
        disk.power_off_after(1 + rng.below(120));
        let zero = vec![0; PAGES as usize + 1];
        let (mut acked, mut maybe) = live(&world, &ts, &mut rng, &zero);
        let mut disk = disk;
        for life in 0..3 {
            disk = disk.crash();
            // The power may go again while recovery repairs.
            disk.power_off_after(rng.below(8));
            if let Ok((world, _)) = World::recover(disk.clone(), 64) {
                torn += world.pool.copies.lock().repaired;
            }
            disk = disk.crash();
            let (world, ts) = World::recover(disk.clone(), 64).unwrap();
            torn += world.pool.copies.lock().repaired;
            for page in 1..=PAGES as usize {
                let found = value(&ts, page as u32).unwrap();
                assert!(
                    acked[page] <= found && found <= maybe[page],
                    "seed {seed}, life {life}, page {page}: {found} is not in {}..={}",
                    acked[page],
                    maybe[page]
                );
                (acked[page], maybe[page]) = (found, found);
            }
            // What recovery found is in the log that survived, so it is acknowledged now.
            disk.power_off_after(1 + rng.below(60));
            (acked, maybe) = live(&world, &ts, &mut rng, &acked);
        }
    }
    assert!(torn > 0, "no seed tore a page: the test is too gentle");
}

#[test]
fn redo_of_everything_gives_the_live_pages() {
    let (disk, world) = sim(21, 256);
    let ts = counters(&world, 40);
    let mut rng = Rng::new(5);
    for _ in 0..500 {
        let mut m = world.mtr();
        let a = 1 + rng.below(20) as u32;
        bump(&mut m, &ts, a);
        bump(&mut m, &ts, 20 + a);
        bump(&mut m, &ts, a);
        m.log_logical(redo::kind::ENGINE, b"note").unwrap();
        m.commit().unwrap();
    }
    world.log.flush_to(world.log.tail()).unwrap();
    let (_copy, redone) = World::recover(disk.kill(), 64).unwrap();
    for page in 1..=40 {
        let (live, redone) = (ts.shared(PageNo(page)).unwrap(), redone.shared(PageNo(page)));
        assert_eq!(live[4..], redone.unwrap()[4..], "page {page} apart from its checksum");
    }
}

#[test]
fn redo_takes_a_mini_transaction_once_and_skips_what_has_no_file() {
    let (disk, world) = sim(22, 64);
    let ts = counters(&world, 1);
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    bump(&mut m, &ts, 1);
    m.commit().unwrap();
    world.pool.flush_all().unwrap();
    let mut body = Vec::new();
    let op = PageOp::Write { at: BODY_AT as u16, bytes: &[7; 8] };
    redo::body::push_page(&mut body, PageId::new(SpaceId(99), PageNo(1)), |out| op.encode(out));
    redo::body::push_logical(&mut body, redo::kind::TRX, b"t");
    world.log.append(&world.worker, &body, |_, _| {}).unwrap();
    world.log.flush_to(world.log.tail()).unwrap();
    let (slots, disk) = (SlotTable::new(4, 16), disk.kill());
    let (log, replay) =
        Log::open(&(disk.clone() as Arc<dyn Disk>), &log_config(), slots.clone()).unwrap();
    let world = World::with_log(disk, slots, log, frames_only(64)).unwrap();
    let logical = Arc::new(sync::Mutex::new(&crate::DAMAGED_MUTEX, Vec::new()));
    let seen = Arc::clone(&logical);
    let mut options = ignore_logical();
    options.logical = Box::new(move |_, kind, bytes| {
        seen.lock().push((kind, bytes.to_vec()));
        Ok(())
    });
    let done = world.pool.recover(replay, options).unwrap();
    assert_eq!((done.records, done.pages, done.batches), (6, 1, 1), "{done:?}");
    assert_eq!(*logical.lock(), [(redo::kind::TRX, b"t".to_vec())]);
    let ts = world.pool.tablespace(SPACE).expect("opened when its redo was met");
    assert_eq!(value(&ts, 1).unwrap(), 2);
    assert_eq!((world.pool.redo_pages_left(), world.pool.dirty_frames()), (0, 0));
    // What was skipped holds the checkpoint until somebody has decided.
    let skipped = world.pool.skipped_redo();
    assert!(matches!(skipped[..], [(SpaceId(99), Error::MissingSpace(_))]), "{skipped:?}");
    let held = world.log.checkpoint_lsn();
    assert_eq!(world.pool.checkpoint(b"held").unwrap(), held);
    world.pool.forget_skipped();
    assert!(world.pool.checkpoint(b"").unwrap() > held);
}

#[test]
fn a_damaged_page_is_rebuilt_by_a_record_that_makes_it_anew_and_by_no_other() {
    for anew in [true, false] {
        let (disk, world) = sim(23, 64);
        let ts = counters(&world, 2);
        let mut m = world.mtr();
        bump(&mut m, &ts, 1);
        m.commit().unwrap();
        world.pool.flush_all().unwrap();
        if !anew {
            // Redo then begins after the record that made page 1.
            world.pool.checkpoint(b"").unwrap();
            let mut m = world.mtr();
            bump(&mut m, &ts, 1);
            m.commit().unwrap();
            world.log.flush_to(world.log.tail()).unwrap();
        }
        // Neither torn nor copied: both the page and the doublewrite file rot.
        disk.flip_bit(NAME, PAGE_BYTES as u64 + 5000, 1);
        disk.flip_bit(&crate::doublewrite::name(0), 40, 1);
        let (world, ts) = World::recover(disk.kill(), 64).unwrap();
        let page = PageId::new(SPACE, PageNo(1));
        let is_page = |e: &Error| matches!(e, Error::Corrupt { page: p, .. } if *p == page);
        let waits = world.pool.redo_pages_left();
        match value(&ts, 1) {
            Ok(n) => assert!(anew && n == 1 && world.pool.redo_pages_left() == waits - 1),
            Err(e) => assert!(!anew && is_page(&e) && world.pool.redo_pages_left() == waits),
        }
        world.pool.sweep_all(1).unwrap();
        assert_eq!(world.pool.redo_pages_left(), 0);
        let damage = world.pool.take_damage();
        assert_eq!(damage.len(), usize::from(!anew));
        // A bump is two records.
        assert!(damage.iter().all(|d| d.page == page && d.records == 2 && is_page(&d.error)));
        assert_eq!(value(&ts, 1).is_ok(), anew, "a damaged page stays unreadable");
    }
}

#[test]
fn a_torn_page_0_does_not_keep_the_tablespace_from_opening() {
    let (disk, world) = sim(24, 64);
    let ts = counters(&world, 1);
    let mut m = world.mtr();
    let h = m.exclusive(&ts, PageNo(0)).unwrap();
    let at = crate::spacefile::AUTOINC_AT as u16;
    m.apply(h, &PageOp::Write { at, bytes: &77u64.to_le_bytes() }).unwrap();
    m.commit().unwrap();
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    disk.flip_bit(NAME, 3000, 0);
    let (world, ts) = World::recover(disk.kill(), 64).unwrap();
    assert_eq!(world.pool.repair_torn_pages().unwrap(), 1);
    let page0 = ts.shared(PageNo(0)).unwrap();
    assert_eq!(page::header::read_u64(&page0, at.into()), 77);
}

#[test]
fn recovery_of_more_pages_than_frames() {
    let (disk, world) = sim(25, 512);
    let ts = counters(&world, 300);
    for page in 1..=300 {
        let mut m = world.mtr();
        bump(&mut m, &ts, page);
        m.commit().unwrap();
    }
    world.log.flush_to(world.log.tail()).unwrap();
    let (world, ts) = World::recover(disk.kill(), 64).unwrap();
    assert_eq!(world.pool.frames(), 64);
    for page in 1..=300 {
        assert_eq!(value(&ts, page).unwrap(), 1, "page {page}");
    }
}
