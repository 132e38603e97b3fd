//! Undo segments on a simulated disk: records over many pages, what a crash leaves, ids that go on.
#![allow(clippy::unwrap_used)] // tests

use base::{PageId, Result, TableId, UNDO_SPACE};
use host::{Disk, SimDisk};
use pool::{Mtr, Pool, PoolConfig, RecoverOptions, Tablespace};
use redo::{Log, LogConfig};
use std::sync::Arc;
use sync::waits::WaitsFor;
use sync::{SlotTable, WorkerSlotRef};
use trx::record_bytes;
use trx::{IdKind, Ids, NewRecord, RecordKind, Segment, State, TrxSystem, UndoPos, UndoRecord};

struct World {
    pool: Arc<Pool>,
    undo: Arc<Tablespace>,
    system: TrxSystem,
    worker: WorkerSlotRef,
}

const LOG: LogConfig = LogConfig { ring_bytes: 256 << 10, capacity_bytes: 8 << 20 };

fn world(disk: &Arc<SimDisk>) -> World {
    let slots = SlotTable::new(4, 4);
    let worker = slots.acquire_worker().unwrap();
    let dyn_disk = Arc::clone(disk) as Arc<dyn Disk>;
    let ids = Arc::new(Ids::new());
    let fresh = !Log::exists(&**disk).unwrap();
    let (pool, undo) = if fresh {
        let log = Log::create(&dyn_disk, &LOG, Arc::clone(&slots)).unwrap();
        let pool =
            Pool::new(PoolConfig { bytes: 1 << 20, ..Default::default() }, dyn_disk, log).unwrap();
        let undo = pool.create_tablespace(UNDO_SPACE, "undo").unwrap();
        (pool, undo)
    } else {
        let (log, replay) = Log::open(&dyn_disk, &LOG, Arc::clone(&slots)).unwrap();
        let pool =
            Pool::new(PoolConfig { bytes: 1 << 20, ..Default::default() }, dyn_disk, log).unwrap();
        let undo = pool.open_tablespace(UNDO_SPACE, "undo").unwrap();
        pool.repair_torn_pages().unwrap();
        ids.recover_payload(&pool.log().checkpoint_payload())
            .or_else(|e| {
                // A log without a checkpoint has no payload.
                if pool.log().checkpoint_payload().is_empty() { Ok(()) } else { Err(e) }
            })
            .unwrap();
        let same = Arc::clone(&ids);
        let logical = move |lsn, _, bytes: &[u8]| same.recover_record(bytes, lsn);
        pool.recover(replay, RecoverOptions::new(|_| "undo".into(), logical)).unwrap();
        (pool, undo)
    };
    let system = TrxSystem::new(&pool, &undo, (&Arc::new(WaitsFor::new()), &slots), ids, 256);
    if fresh {
        system.create(&worker).unwrap();
    }
    World { pool, undo, system, worker }
}

fn append(w: &World, segment: &mut Segment, key: &[u8], body: &[u8]) -> Result<UndoPos> {
    segment.reserve(&w.pool, &w.worker, &w.undo, record_bytes(key.len(), body.len()))?;
    let mut mtr = Mtr::new(&w.pool, &w.worker);
    let latched = segment.latch(&mut mtr, &w.undo)?;
    let (kind, table) = (RecordKind::Update, TableId(9));
    segment.append(&mut mtr, latched, NewRecord { kind, purge: true, table, key, body })?;
    mtr.commit()?;
    Ok(segment.last())
}

/// Keys of the records from `at` backwards.
fn keys(w: &World, mut at: UndoPos) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut bytes = Vec::new();
    while !at.is_none() {
        w.system.read_undo(at, &mut bytes).unwrap();
        let place = PageId::new(UNDO_SPACE, at.page);
        let record = UndoRecord::decode(&bytes, place, at.offset).unwrap();
        found.push(record.key.to_vec());
        at = record.previous;
    }
    found
}

#[test]
fn a_crash_leaves_the_records_up_to_the_last_one_that_counts() {
    let disk = SimDisk::new(3);
    let w = world(&disk);
    let mut segment = w.system.start(&w.worker, 0, 0, None).unwrap();
    let id = segment.trx();
    let mut places = Vec::new();
    for i in 0..100u32 {
        let body = vec![7; (i as usize * 97) % 3000];
        places.push(append(&w, &mut segment, &i.to_be_bytes(), &body).unwrap());
    }
    let distinct: std::collections::BTreeSet<_> = places.iter().copied().collect();
    assert_eq!(distinct.len(), 100, "a place was written twice");
    assert!(places[99].page != places[0].page, "the records fill several pages");
    // A statement rollback steps back; what comes next lies elsewhere.
    for _ in 0..10 {
        let mut mtr = Mtr::new(&w.pool, &w.worker);
        let header = segment.latch_header(&mut mtr, &w.undo).unwrap();
        let at = places.pop().unwrap();
        assert_eq!(at, segment.last());
        segment.step_back(&mut mtr, header, *places.last().unwrap()).unwrap();
        mtr.commit().unwrap();
    }
    let next = append(&w, &mut segment, b"next", b"").unwrap();
    assert!(!distinct.contains(&next));
    w.pool.log().flush_to(w.pool.log().tail()).unwrap();

    let w = world(&disk.crash());
    let found = w.system.recover().unwrap();
    assert!(found.committed.is_empty());
    let [loser] = &found.active[..] else { panic!("one loser") };
    assert_eq!((loser.trx(), loser.state(), loser.last()), (id, State::Active, next));
    assert!(w.system.is_active(id) && loser.needs_purge());
    let mut expected: Vec<Vec<u8>> = (0..90u32).map(|i| i.to_be_bytes().to_vec()).collect();
    expected.push(b"next".to_vec());
    expected.reverse();
    assert_eq!(keys(&w, loser.last()), expected);
    let new = w.system.start(&w.worker, 0, 0, None).unwrap();
    assert!(new.trx() > id, "an id was given twice");
}

#[test]
fn a_free_segment_is_used_again_and_its_long_chain_cut() {
    let disk = SimDisk::new(4);
    let w = world(&disk);
    let mut segment = w.system.start(&w.worker, 0, 0, None).unwrap();
    for i in 0..200u32 {
        append(&w, &mut segment, &i.to_be_bytes(), &[1; 9000]).unwrap();
    }
    let used = |w: &World| space::report(&w.undo).unwrap().pages_used;
    let full = used(&w);
    let lsn = w.system.write_state(&w.worker, &mut segment, State::Free).unwrap();
    w.system.end(segment.trx(), lsn, None);
    w.system.trim(&w.worker, &mut segment).unwrap();
    let cut = used(&w);
    assert!(full - cut > 150, "{cut} of {full} pages are left");
    w.system.give_back(segment);
    let mut again = w.system.start(&w.worker, 0, 0, None).unwrap();
    for i in 0..200u32 {
        append(&w, &mut again, &i.to_be_bytes(), &[2; 9000]).unwrap();
    }
    assert_eq!(used(&w), full, "pages leaked");
    assert_eq!(space::report(&w.undo).unwrap().problems, []);
    w.pool.log().flush_to(w.pool.log().tail()).unwrap();
    let w = world(&disk.crash());
    let found = w.system.recover().unwrap();
    assert_eq!(keys(&w, found.active[0].last()).len(), 200);
}

#[test]
fn ids_are_never_given_twice() {
    let disk = SimDisk::new(5);
    let w = world(&disk);
    let take = |w: &World, kind| w.system.ids.take(kind, &w.pool, &w.worker).unwrap();
    let mut last = 0;
    for _ in 0..10_000 {
        let id = take(&w, IdKind::Trx);
        assert!(id > last);
        last = id;
    }
    let space = take(&w, IdKind::Space);
    w.pool.flush_all().unwrap();
    w.system.ids.with_checkpoint_payload(|p| w.pool.checkpoint(p)).unwrap();
    let row = (0..5000).map(|_| take(&w, IdKind::Row)).max().unwrap();
    w.pool.log().flush_to(w.pool.log().tail()).unwrap();
    let w = world(&disk.crash());
    assert!(take(&w, IdKind::Trx) > last);
    assert!(take(&w, IdKind::Row) > row);
    assert!(take(&w, IdKind::Space) > space);
}

#[test]
fn records_of_an_ended_transaction_count_until_it_is_purged() {
    let disk = SimDisk::new(5);
    let w = world(&disk);
    let mut segment = w.system.start(&w.worker, 0, 0, None).unwrap();
    let old = segment.trx();
    let body = vec![7; 3000];
    let places: Vec<_> =
        (0..20u32).map(|i| append(&w, &mut segment, &i.to_be_bytes(), &body).unwrap()).collect();
    assert!(places[19].page != places[0].page, "the records fill several pages");
    let kept = |at: UndoPos, id| {
        let mut bytes = Vec::new();
        let kept = w.system.read_kept_undo(at, id, &mut bytes).unwrap();
        let place = PageId::new(UNDO_SPACE, at.page);
        kept.then(|| UndoRecord::decode(&bytes, place, at.offset).unwrap().key.to_vec())
    };
    let all_kept = |id| {
        let keys = places.iter().map(|at| kept(*at, id));
        keys.enumerate().all(|(i, key)| key == Some((i as u32).to_be_bytes().to_vec()))
    };
    assert!(all_kept(old));
    w.system.write_state(&w.worker, &mut segment, State::Committed).unwrap();
    assert!(all_kept(old));
    assert_eq!(kept(places[3], base::TrxId(old.0 + 1)), None, "not that transaction's");
    w.system.write_state(&w.worker, &mut segment, State::Free).unwrap();
    assert!(places.iter().all(|at| kept(*at, old).is_none()), "it was purged");
    // The next one writes over the beginning of the first record only.
    w.system.end(old, w.pool.log().tail(), None);
    let mut segment = w.system.start(&w.worker, 0, 0, Some(segment)).unwrap();
    let at = append(&w, &mut segment, b"new", b"").unwrap();
    assert_eq!(at, places[0]);
    assert!(places.iter().all(|at| kept(*at, old).is_none()));
    assert_eq!(kept(at, segment.trx()), Some(b"new".to_vec()));
}
