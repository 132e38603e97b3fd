//! Undo segments on a simulated disk: records over many pages, what a crash leaves, ids that go on.
#![allow(clippy::unwrap_used)] // tests

use base::TrxId;
use base::{PageId, Result, TableId, UNDO_SPACE};
use host::{Disk, SimDisk};
use pool::{Mtr, Pool, PoolConfig, RecoverOptions, Tablespace};
use redo::{Log, LogConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::rng::Rng;
use sync::waits::WaitsFor;
use sync::{SessionSlotRef, SlotTable, WorkerSlotRef};
use trx::record_bytes;
use trx::{IdKind, Ids, NewRecord, RecordKind, Segment, State, TrxSystem, UndoPos, UndoRecord};

struct World {
    pool: Arc<Pool>,
    undo: Arc<Tablespace>,
    system: TrxSystem,
    worker: WorkerSlotRef,
    /// A reader, whose view holds the horizon back.
    reader: SessionSlotRef,
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
    let reader = slots.acquire_session().unwrap();
    World { pool, undo, system, worker, reader }
}

fn append(w: &World, segment: &mut Segment, key: &[u8], body: &[u8]) -> Result<UndoPos> {
    append_kind(w, segment, (RecordKind::Update, true), key, body)
}

fn append_kind(
    w: &World,
    segment: &mut Segment,
    (kind, purge): (RecordKind, bool),
    key: &[u8],
    body: &[u8],
) -> Result<UndoPos> {
    segment.reserve(&w.pool, &w.worker, &w.undo, record_bytes(key.len(), body.len()))?;
    let mut mtr = Mtr::new(&w.pool, &w.worker);
    let latched = segment.latch(&mut mtr, &w.undo)?;
    let new = NewRecord { kind, purge, table: TableId(9), key, body };
    segment.append(&mut mtr, latched, new)?;
    mtr.commit()?;
    Ok(segment.last())
}

fn start(w: &World, cached: Option<Segment>) -> Segment {
    *w.system.start(&w.worker, 0, 1, cached.map(Box::new)).unwrap()
}

fn commit(w: &World, segment: &mut Segment) {
    let ended = w.system.commit(&w.worker, segment).unwrap();
    w.system.end(segment.trx(), ended.lsn, None);
    w.system.leave(segment, ended.lsn, true);
}

/// Undoes all records, without what they say.
fn roll_back(w: &World, segment: &mut Segment) {
    let mut bytes = Vec::new();
    while !segment.last().is_none() {
        let at = segment.last();
        w.system.read_undo(at, &mut bytes).unwrap();
        let place = PageId::new(UNDO_SPACE, at.page);
        let record = UndoRecord::decode(&bytes, place, at.offset).unwrap();
        assert_eq!(record.trx, segment.trx());
        let mut mtr = Mtr::new(&w.pool, &w.worker);
        let header = segment.latch_header(&mut mtr, &w.undo).unwrap();
        segment.step_back(&mut mtr, header, record.previous).unwrap();
        mtr.commit().unwrap();
    }
    let lsn = w.system.finish_rollback(&w.worker, segment).unwrap();
    w.system.end(segment.trx(), lsn, None);
    w.system.leave(segment, lsn, false);
}

/// Purges what no view keeps from it; whose.
fn purge(w: &World) -> Vec<TrxId> {
    let horizon = w.system.refresh_horizon();
    let (mut bytes, mut purged) = (Vec::new(), Vec::new());
    for rseg in 0..trx::RSEGS {
        for history in w.system.histories(rseg) {
            let mut step = history.try_step().unwrap();
            while let Some((at, _)) = step.next(horizon) {
                let (trx, last) = w.system.read_commit(at, &mut bytes).unwrap();
                assert!(!last.is_none());
                step.done(trx);
                purged.push(trx);
            }
        }
    }
    purged
}

fn pages_used(w: &World) -> u64 {
    assert_eq!(space::report(&w.undo).unwrap().problems, []);
    space::report(&w.undo).unwrap().pages_used
}

fn trim(w: &World) {
    for rseg in 0..trx::RSEGS {
        while w.system.trim(&w.worker, rseg).unwrap() {}
    }
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
    let mut segment = start(&w, None);
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
    let new = start(&w, None);
    assert!(new.trx() > id, "an id was given twice");
}

#[test]
fn a_free_segment_is_used_again_and_its_long_chain_cut() {
    let disk = SimDisk::new(4);
    let w = world(&disk);
    let mut segment = start(&w, None);
    for i in 0..200u32 {
        append(&w, &mut segment, &i.to_be_bytes(), &[1; 9000]).unwrap();
    }
    let full = pages_used(&w);
    roll_back(&w, &mut segment);
    w.system.give_back(segment);
    trim(&w);
    assert_eq!(pages_used(&w), full, "a reader may follow the pointers of a row that it copied");
    purge(&w);
    trim(&w);
    let cut = pages_used(&w);
    assert!(full - cut > 150, "{cut} of {full} pages are left");
    let mut again = start(&w, None);
    for i in 0..200u32 {
        append(&w, &mut again, &i.to_be_bytes(), &[2; 9000]).unwrap();
    }
    // The page in which the first one ended is not written any further.
    assert!(pages_used(&w) <= full + 1, "pages leaked");
    w.pool.log().flush_to(w.pool.log().tail()).unwrap();
    let w = world(&disk.crash());
    let found = w.system.recover().unwrap();
    assert_eq!(keys(&w, found.active[0].last()).len(), 200);
}

#[test]
fn transactions_share_pages_and_use_them_again() {
    let disk = SimDisk::new(6);
    let w = world(&disk);
    let empty = pages_used(&w);
    let mut segment = start(&w, None);
    let one = pages_used(&w);
    assert!(one > empty);
    // Inserts leave nothing: each transaction writes over the one before.
    let mut first = UndoPos::NONE;
    for i in 0..300u32 {
        for _ in 0..3 {
            let kind = (RecordKind::Insert, false);
            append_kind(&w, &mut segment, kind, &i.to_be_bytes(), b"").unwrap();
        }
        if i == 0 {
            first = segment.last();
        }
        assert_eq!(segment.last(), first);
        commit(&w, &mut segment);
        segment = start(&w, Some(segment));
    }
    assert_eq!((pages_used(&w), w.system.history_len()), (one, 0));
    // Updates that are purged along go round in a few pages.
    for i in 0..3000u32 {
        append(&w, &mut segment, &i.to_be_bytes(), &[7; 100]).unwrap();
        commit(&w, &mut segment);
        assert!(w.system.history_len() <= 50);
        if i % 50 == 0 {
            purge(&w);
        }
        segment = start(&w, Some(segment));
    }
    assert!(pages_used(&w) <= one + 2, "{} pages", pages_used(&w) - one);
    // A view keeps them all.
    w.system.open_view(&w.reader);
    let mut places = Vec::new();
    for i in 0..3000u32 {
        places
            .push((append(&w, &mut segment, &i.to_be_bytes(), &[8; 100]).unwrap(), segment.trx()));
        commit(&w, &mut segment);
        purge(&w);
        segment = start(&w, Some(segment));
    }
    assert!(w.system.history_len() >= 3000);
    let long = pages_used(&w);
    assert!(long > one + 20);
    let mut bytes = Vec::new();
    for (i, (at, trx)) in places.iter().enumerate() {
        assert!(w.system.read_kept_undo(*at, *trx, &mut bytes).unwrap());
        let record = UndoRecord::decode(&bytes, PageId::default(), 0).unwrap();
        assert_eq!(record.key, (i as u32).to_be_bytes());
    }
    w.system.close_view(&w.reader);
    assert!(purge(&w).len() >= 3000);
    assert_eq!(w.system.history_len(), 0);
    append(&w, &mut segment, b"x", b"").unwrap();
    commit(&w, &mut segment);
    assert!(w.system.is_long(&segment));
    w.system.give_back(segment);
    trim(&w);
    assert!(pages_used(&w) <= one + 16, "undo space shrinks again");
    // While disk space is given back it shrinks to what is needed, which is the last transaction.
    w.system.keep_few_pages(true);
    trim(&w);
    assert!(pages_used(&w) <= one + 1);
    purge(&w);
    trim(&w);
    assert_eq!(pages_used(&w), one);
}

/// What a model knows of a transaction that ended.
struct Past {
    places: Vec<(UndoPos, u32)>,
    committed: bool,
    purged: bool,
}

/// Random transactions on a few segments, with and without a view in the way, and crashes between: whatever
/// may still be needed is there, and recovery finds what was committed and not purged.
#[test]
fn what_may_be_needed_is_there_whatever_happens() {
    for seed in 0..80 {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(seed);
        let w = world(&disk);
        let mut past: BTreeMap<TrxId, Past> = BTreeMap::new();
        let running = live(&w, &mut rng, &mut past);
        w.pool.log().flush_to(w.pool.log().tail()).unwrap();
        check_recovered(&world(&disk.crash()), &past, running, seed);
    }
}

fn live(w: &World, rng: &mut Rng, past: &mut BTreeMap<TrxId, Past>) -> Option<TrxId> {
    let mut cached: Vec<Segment> = Vec::new();
    let (mut bytes, mut viewed) = (Vec::new(), None);
    for _ in 0..rng.below(400) {
        match rng.below(12) {
            0 if viewed.is_none() => viewed = Some(w.system.open_view(&w.reader)),
            1 | 2 if viewed.take().is_some() => w.system.close_view(&w.reader),
            3..=5 => {
                for trx in purge(w) {
                    past.get_mut(&trx).unwrap().purged = true;
                }
            }
            6 => {
                cached.drain(..).for_each(|s| w.system.give_back(s));
                w.system.keep_few_pages(rng.chance(1, 2));
                trim(w);
            }
            _ => {}
        }
        let kept = if cached.is_empty() || rng.chance(1, 4) { None } else { cached.pop() };
        let mut segment = start(w, kept);
        let trx = segment.trx();
        let mut places = Vec::new();
        let most = if rng.chance(1, 10) { 40 } else { 4 };
        let inserts = rng.chance(1, 4);
        let work = rng.chance(1, 2);
        for i in 0..rng.below(most) as u32 {
            let body = vec![trx.0 as u8; rng.below(2500) as usize];
            let kind = match inserts {
                true => (RecordKind::Insert, false),
                false => (RecordKind::Update, work),
            };
            let at = append_kind(w, &mut segment, kind, &i.to_be_bytes(), &body).unwrap();
            places.push((at, i));
        }
        if rng.chance(1, 60) {
            past.insert(trx, Past { places, committed: false, purged: false });
            return Some(trx);
        }
        let committed = rng.chance(3, 4);
        match committed {
            true => commit(w, &mut segment),
            false => roll_back(w, &mut segment),
        }
        let committed = committed && work && !inserts && !places.is_empty();
        if inserts {
            places.clear();
        }
        past.insert(trx, Past { places, committed, purged: false });
        cached.push(segment);
        // Nobody else's records were touched that somebody may need.
        let horizon = w.system.horizon();
        for (id, p) in past.iter().rev().take(60) {
            for (at, key) in &p.places {
                let there = w.system.read_kept_undo(*at, *id, &mut bytes).unwrap();
                let needed = !w.system.ended_by(*id, horizon) || (p.committed && !p.purged);
                assert!(there || !needed, "{id} lost a record");
                if there {
                    let record = UndoRecord::decode(&bytes, PageId::default(), 0).unwrap();
                    assert_eq!((record.trx, record.key), (*id, &key.to_be_bytes()[..]));
                }
            }
        }
    }
    None
}

fn check_recovered(w: &World, past: &BTreeMap<TrxId, Past>, running: Option<TrxId>, seed: u64) {
    let found = w.system.recover().unwrap();
    let losers: Vec<TrxId> = found.active.iter().map(|s| s.trx()).collect();
    let wrote = |trx: &TrxId| !past[trx].places.is_empty();
    let expected: Vec<TrxId> = running.into_iter().filter(wrote).collect();
    assert_eq!(losers, expected, "seed {seed}");
    for segment in &found.active {
        let keys: Vec<_> = keys(w, segment.last());
        assert_eq!(keys.len(), past[&segment.trx()].places.len(), "seed {seed}");
    }
    let mut unpurged = BTreeMap::new();
    for segment in found.active.iter().chain(&found.committed) {
        unpurged.extend(w.system.unpurged(segment).unwrap());
    }
    for (trx, p) in past.iter().filter(|(_, p)| p.committed && !p.purged) {
        let last = unpurged.get(trx).unwrap_or_else(|| panic!("seed {seed}: {trx} is not found"));
        let mut expected: Vec<_> = p.places.iter().map(|(_, k)| k.to_be_bytes().to_vec()).collect();
        expected.reverse();
        assert_eq!(keys(w, *last), expected, "seed {seed}");
    }
    for (trx, last) in &unpurged {
        assert!(past[trx].committed, "seed {seed}: {trx} was not committed");
        assert_eq!(keys(w, *last).len(), past[trx].places.len(), "seed {seed}");
    }
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
    w.pool.checkpoint_with(|| w.system.ids.checkpoint_payload()).unwrap();
    let row = (0..5000).map(|_| take(&w, IdKind::Row)).max().unwrap();
    w.pool.log().flush_to(w.pool.log().tail()).unwrap();
    let w = world(&disk.crash());
    assert!(take(&w, IdKind::Trx) > last);
    assert!(take(&w, IdKind::Row) > row);
    assert!(take(&w, IdKind::Space) > space);
}

#[test]
fn half_a_block_is_always_left() {
    let disk = SimDisk::new(5);
    let w = world(&disk);
    for _ in 0..10_000 {
        let id = w.system.ids.take(IdKind::Trx, &w.pool, &w.worker).unwrap();
        // The payload's first number is how far transaction ids are reserved.
        let payload = w.system.ids.checkpoint_payload();
        let reserved = u64::from_le_bytes(payload[..8].try_into().unwrap());
        assert!(reserved > id + 2048, "{id} of {reserved}: the next one would wait for the log");
    }
}

#[test]
fn numbers_are_taken_while_a_checkpoint_is_made() {
    let disk = SimDisk::new(5);
    let w = world(&disk);
    let take = |w: &World| w.system.ids.take(IdKind::Trx, &w.pool, &w.worker).unwrap();
    w.pool.flush_all().unwrap();
    let mut last = 0;
    // Several blocks, between the checkpoint's place and its write: what it says lies below it all.
    let made = w.pool.checkpoint_with(|| {
        let payload = w.system.ids.checkpoint_payload();
        last = (0..3 * 4096).map(|_| take(&w)).max().unwrap();
        payload
    });
    made.unwrap();
    w.pool.log().flush_to(w.pool.log().tail()).unwrap();
    let w = world(&disk.crash());
    assert!(take(&w) > last);
}

#[test]
fn records_of_an_ended_transaction_are_there_until_their_page_is_written_again() {
    let disk = SimDisk::new(5);
    let w = world(&disk);
    let mut segment = start(&w, None);
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
    let is_kept = |i: usize| kept(places[i], old) == Some((i as u32).to_be_bytes().to_vec());
    assert!((0..20).all(is_kept));
    commit(&w, &mut segment);
    assert!((0..20).all(is_kept));
    assert_eq!(purge(&w), [old]);
    assert!((0..20).all(is_kept), "nobody has written there yet");
    // Others go through the pages: what they have begun anew has nothing of the old ones.
    let mut gone = 0;
    for i in 0..40u32 {
        segment = start(&w, Some(segment));
        let at = append(&w, &mut segment, &i.to_be_bytes(), &[8; 2900]).unwrap();
        assert_eq!(kept(at, segment.trx()), Some(i.to_be_bytes().to_vec()));
        commit(&w, &mut segment);
        let left = (0..20).filter(|&i| is_kept(i)).count();
        assert!(20 - left >= gone);
        gone = 20 - left;
        for (i, at) in places.iter().enumerate() {
            assert!(is_kept(i) || kept(*at, old).is_none());
        }
    }
    assert!(gone > 0);
}

#[test]
fn an_old_reference_into_room_that_was_given_back_finds_nothing() {
    let disk = SimDisk::new(6);
    let w = world(&disk);
    let mut segment = start(&w, None);
    let trx = segment.trx();
    let body = vec![7; 3000];
    let places: Vec<_> =
        (0..800u32).map(|i| append(&w, &mut segment, &i.to_be_bytes(), &body).unwrap()).collect();
    commit(&w, &mut segment);
    assert_eq!(purge(&w), [trx]);
    w.system.give_back(segment);
    for rseg in 0..trx::RSEGS {
        while w.system.trim(&w.worker, rseg).unwrap() {}
    }
    w.pool.flush_all().unwrap();
    w.pool.checkpoint_with(|| w.system.ids.checkpoint_payload()).unwrap();
    let limits = space::Limits { reserve: 0, rest: std::time::Duration::ZERO };
    let give = || space::give_back(&w.pool, &w.worker, &w.undo, limits).unwrap();
    let given = (0..8).filter(|_| matches!(give(), space::GivenBack::Bytes(1..))).count();
    assert!(given >= 1, "{given} extents");
    // Some pages are in memory as they were, some are on the disk, some are no more.
    let mut bytes = Vec::new();
    let mut holes = 0;
    for at in places {
        let is_hole = w.undo.shared(at.page).is_err();
        let kept = w.system.read_kept_undo(at, trx, &mut bytes).unwrap();
        assert!(!(is_hole && kept), "page {}", at.page);
        holes += u32::from(is_hole);
    }
    assert!(holes > 50, "{holes} of the records lay there");
}
