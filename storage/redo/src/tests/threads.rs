//! Real threads on a small ring and small files: nothing is lost, nothing stands still.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base::Lsn;
use host::{SimDisk, thread};
use stdx::rng::Rng;
use stdx::{LocalAtomic, Ordering};

use super::*;
use crate::FlushMode;

const WRITERS: u64 = 4;

/// `{writer, number}` and filler, up to the largest body: the ring is full most of the time.
fn body(writer: u64, number: u64, bytes: usize) -> Vec<u8> {
    let mut body = vec![writer as u8; bytes.max(16)];
    body[..8].copy_from_slice(&writer.to_le_bytes());
    body[8..16].copy_from_slice(&number.to_le_bytes());
    body
}

fn word(body: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(body[at..at + 8].try_into().unwrap())
}

/// Each writer's frames must be whole, and consecutive.
fn check(found: &[Vec<u8>]) -> BTreeMap<u64, u64> {
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for b in found {
        let (writer, number) = (word(b, 0), word(b, 8));
        assert!(b[16..].iter().all(|x| *x == writer as u8), "bytes of another frame");
        if let Some(before) = last.insert(writer, number) {
            assert_eq!(number, before + 1, "writer {writer} has a gap");
        }
    }
    last
}

#[test]
fn a_full_ring_neither_loses_nor_stops() {
    let disk = SimDisk::new(11);
    let log = Log::create(&as_disk(&disk), &small(), slots()).unwrap();
    let acknowledged: Arc<Vec<LocalAtomic<u64>>> =
        Arc::new((0..WRITERS).map(|_| LocalAtomic::new(0)).collect());
    let until = Instant::now() + Duration::from_millis(1500);
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| {
            let (log, acknowledged) = (Arc::clone(&log), Arc::clone(&acknowledged));
            thread::spawn("writer", move || {
                let worker = log.slots.acquire_worker().unwrap();
                let mut rng = Rng::new(n);
                let mut number = 0;
                while Instant::now() < until {
                    log.pace(&worker).unwrap();
                    number += 1;
                    let bytes = if rng.chance(1, 2) {
                        log.mtr_bytes_max() - rng.below(640) as usize
                    } else {
                        rng.below(600) as usize
                    };
                    let end = log.append(&worker, &body(n, number, bytes), |_, _| {}).unwrap();
                    if rng.chance(1, 10) {
                        log.commit(end).unwrap();
                        acknowledged[n as usize].store(number, Ordering::Release);
                    }
                }
            })
            .unwrap()
        })
        .collect();
    let mut crashes = 0;
    while !writers.iter().all(thread::JoinHandle::is_finished) {
        log.checkpoint(log.dirty_floor().max(log.checkpoint_lsn()), b"").unwrap();
        if crashes < 25 {
            let before: Vec<u64> = acknowledged.iter().map(|a| a.load(Ordering::Acquire)).collect();
            let from = log.checkpoint_lsn();
            let (_, replay) = One::open(&disk.crash()).unwrap();
            assert!(replay.at() >= from);
            for (writer, last) in check(&bodies(replay).unwrap()) {
                assert!(last >= before[writer as usize] || last > 0);
            }
            crashes += 1;
        }
    }
    for writer in writers {
        writer.join().unwrap();
    }
    assert!(log.tail().0 > 2 * log.capacity_bytes(), "only {:?} in 1.5 s", log.tail());
}

#[test]
fn every_group_commit_gets_its_answer() {
    // Many short commits: a lost wake-up would leave a thread waiting for ever.
    let disk = SimDisk::new(3);
    let config = LogConfig { ring_bytes: 1 << 20, capacity_bytes: 64 << 20 };
    let log = Log::create(&as_disk(&disk), &config, slots()).unwrap();
    let threads: Vec<_> = (0..8u64)
        .map(|n| {
            let log = Arc::clone(&log);
            thread::spawn("committer", move || {
                let worker = log.slots.acquire_worker().unwrap();
                for number in 1..=2000 {
                    if number % 100 == n {
                        let mode = [FlushMode::Sync, FlushMode::Write][(number / 100 % 2) as usize];
                        log.settings().set_flush_mode(mode);
                    }
                    let end = log.append(&worker, &body(n, number, 100), |_, _| {}).unwrap();
                    log.commit(end).unwrap();
                }
            })
            .unwrap()
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    log.flush_to(log.tail()).unwrap();
    let (_, replay) = One::open(&disk.crash()).unwrap();
    let last = check(&bodies(replay).unwrap());
    assert_eq!(last, (0..8).map(|n| (n, 2000)).collect());
}

#[test]
fn committed_by_threads_is_there_after_a_crash() {
    for seed in 0..10 {
        let disk = SimDisk::new(seed);
        let config = LogConfig { ring_bytes: 64 << 10, capacity_bytes: 8 << 20 };
        let log = Log::create(&as_disk(&disk), &config, slots()).unwrap();
        disk.power_off_after(100 + seed * 17);
        let threads: Vec<_> = (0..WRITERS)
            .map(|n| {
                let log = Arc::clone(&log);
                thread::spawn("committer", move || {
                    let worker = log.slots.acquire_worker().unwrap();
                    let mut acknowledged = 0;
                    for number in 1.. {
                        let end = log.append(&worker, &body(n, number, 200), |_, _| {});
                        match end.and_then(|end| log.commit(end)) {
                            Ok(()) => acknowledged = number,
                            Err(_) => break,
                        }
                    }
                    acknowledged
                })
                .unwrap()
            })
            .collect();
        let acknowledged: Vec<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(log.dirty_floor(), log.tail(), "nobody left a mark behind");
        let (_, mut replay) = One::open(&disk.crash()).unwrap();
        let last = check(&read(&mut replay).unwrap());
        assert!(replay.at() >= log.durable());
        for (n, number) in acknowledged.iter().enumerate() {
            let found = last.get(&(n as u64)).copied().unwrap_or(0);
            assert!(found >= *number, "seed {seed}: writer {n} lost {number}, found {found}");
        }
        assert!(acknowledged.iter().sum::<u64>() > 0 && log.durable() > Lsn(4096));
    }
}
