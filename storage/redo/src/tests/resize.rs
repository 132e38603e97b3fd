//! Files that come and go: switching, recycling, resizing, a full disk, with and without crashes.

use std::time::Duration;

use base::{Error, Lsn};
use host::{Disk, SimDisk, thread};
use stdx::rng::Rng;
use stdx::{LocalAtomic, Ordering};
use sync::sched::{self, Options};

use super::*;

const KIB: u64 = 1 << 10;

/// Appends about `bytes` of log in frames of 1 KiB, with a checkpoint close behind.
fn write(one: &One, bytes: u64) {
    let end = one.log.tail().0 + bytes;
    while one.log.tail().0 < end {
        one.append(&[7; 1000]).unwrap();
        if one.log.pressure() > 0.5 {
            one.log.commit(one.log.tail()).unwrap();
            one.log.checkpoint(one.log.tail(), b"").unwrap();
        }
    }
    one.log.commit(one.log.tail()).unwrap();
}

/// Bytes of all redo files on disk, spares too.
fn on_disk(disk: &SimDisk) -> u64 {
    let names = disk.list().unwrap();
    let redo = names.iter().filter(|n| n.starts_with("redo/#ib_redo"));
    redo.map(|n| disk.open(n, host::OpenMode::Read).unwrap().len().unwrap()).sum()
}

#[test]
fn files_are_made_ahead_recycled_and_stay_below_the_capacity() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let mut most = 0;
    for _ in 0..60 {
        one.log.govern().unwrap();
        let rows = one.log.files();
        let written = one.log.written();
        let last = rows.last().unwrap();
        assert!(last.start_lsn > written, "the next file is there before it is needed");
        assert!(
            rows.windows(2)
                .all(|w| w[0].end_lsn == w[1].start_lsn && w[0].file_id + 1 == w[1].file_id)
        );
        assert!(rows.iter().all(|f| f.is_full == (f.end_lsn <= written)));
        most = most.max(on_disk(&disk));
        let writes = disk.stats().written_bytes;
        write(&one, 10 * KIB);
        assert!(disk.stats().written_bytes - writes < 80 * KIB, "nothing is made anew");
    }
    assert!(most <= one.log.capacity_bytes(), "{most} bytes");
    assert!(one.log.files()[0].file_id > 20);
    let status = one.log.status();
    assert_eq!(status.physical_size, one.log.files().iter().map(|f| f.size_in_bytes).sum::<u64>());
    assert_eq!(status.resize_status, "OK");
    assert_eq!(status.capacity_resized, 256 * KIB);
    assert_eq!(status.flushed_to_disk_lsn, status.current_lsn);
    assert_eq!(status.logical_size, status.current_lsn.0 - status.checkpoint_lsn.0);
}

#[test]
fn a_larger_capacity_is_in_force_at_once() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    while !one.log.wants_checkpoint() {
        one.append(&[1; 1000]).unwrap();
    }
    one.log.set_capacity(4 << 20).unwrap();
    assert!(!one.log.wants_checkpoint());
    one.log.govern().unwrap();
    assert_eq!(one.log.status().capacity_resized, 4 << 20);
    let first = one.log.checkpoint_lsn();
    while one.log.pressure() < 0.9 {
        one.log.commit(one.append(&[2; 1000]).unwrap()).unwrap();
    }
    assert_eq!(one.log.checkpoint_lsn(), first);
    assert!(one.log.tail().0 - first.0 > 3 << 20);
    let (_, replay) = One::open(&disk.crash()).unwrap();
    assert!(bodies(replay).unwrap().len() > 3000);
}

#[test]
fn a_smaller_capacity_waits_for_checkpoints_and_gives_the_room_back() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    one.log.set_capacity(4 << 20).unwrap();
    while one.log.pressure() < 0.6 {
        one.log.commit(one.append(&[1; 1000]).unwrap()).unwrap();
        one.log.govern().unwrap();
    }
    one.log.set_capacity(256 * KIB).unwrap();
    one.log.govern().unwrap();
    assert_eq!(one.log.status().resize_status, "Resizing down");
    assert!(one.log.wants_checkpoint());
    // Writers go on meanwhile, and nothing that recovery needs is given up.
    let from = one.log.checkpoint_lsn();
    for _ in 0..20 {
        one.log.pace(&one.worker).unwrap();
        one.log.commit(one.append(&[2; 1000]).unwrap()).unwrap();
        one.log.govern().unwrap();
    }
    let (_, mut replay) = One::open(&disk.crash()).unwrap();
    assert_eq!(replay.at(), from);
    read(&mut replay).unwrap();
    assert_eq!(replay.at(), one.log.tail());
    one.log.checkpoint(one.log.tail(), b"").unwrap();
    one.log.govern().unwrap();
    let status = one.log.status();
    assert_eq!((status.resize_status, status.capacity_resized), ("OK", 256 * KIB));
    assert!(on_disk(&disk) <= 256 * KIB, "{} bytes are left", on_disk(&disk));
    write(&one, 400 * KIB);
    let (_, replay) = One::open(&disk.crash()).unwrap();
    assert!(!bodies(replay).unwrap().is_empty());
}

#[test]
fn a_full_disk_is_no_trouble_for_a_log_whose_files_are_made() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    disk.enospc_after(0);
    write(&one, 5 * one.log.capacity_bytes());
    assert!(!one.log.failed());
    assert_eq!(on_disk(&disk), one.log.capacity_bytes());
}

#[test]
fn a_log_that_cannot_grow_on_a_full_disk_works_with_what_there_is() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let config = LogConfig { ring_bytes: 64 * KIB as usize, capacity_bytes: 8 << 20 };
    one.log.set_capacity(config.capacity_bytes).unwrap();
    disk.enospc_after(30 * KIB);
    let writer = {
        let log = Arc::clone(&one.log);
        thread::spawn("writer", move || {
            let worker = log.slots.acquire_worker().unwrap();
            for n in 0..2000u32 {
                log.pace(&worker).unwrap();
                let mut body = [9; 500];
                body[..4].copy_from_slice(&n.to_le_bytes());
                let end = log.append(&worker, &body, |_, _| {}).unwrap();
                log.commit(end).unwrap();
            }
        })
        .unwrap()
    };
    while !writer.is_finished() {
        one.log.govern().unwrap();
        one.log.checkpoint(one.log.dirty_floor(), b"").unwrap();
        let _ = host::clock::sleep(Duration::from_micros(200));
    }
    writer.join().unwrap();
    assert!(!one.log.failed());
    assert!(on_disk(&disk) <= 300 * KIB, "{} bytes", on_disk(&disk));
    let (_, mut replay) = One::open(&disk.crash()).unwrap();
    read(&mut replay).unwrap();
    assert_eq!(replay.at(), one.log.tail());
}

#[test]
fn only_what_lies_beyond_the_durable_mark_is_written_again() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    write(&one, 60 * KIB);
    one.log.govern().unwrap();
    let mark = one.log.durable();
    for _ in 0..3 {
        one.log.commit(one.append(&[3; 5000 - 1000]).unwrap()).unwrap();
    }
    let disk = disk.kill();
    let (again, mut replay) = One::open(&disk).unwrap();
    assert!(matches!(again.append(b"early"), Err(base::Error::Internal(_))));
    assert_eq!((replay.durable(), replay.secured()), (mark, mark));
    let before = disk.stats().written_bytes;
    let first = replay.next_window().unwrap().unwrap();
    assert_eq!(first.body(&first.frames[0]), [7; 1000]);
    read(&mut replay).unwrap();
    again.log.secure(&mut replay).unwrap();
    assert_eq!(replay.secured(), one.log.tail());
    let written = disk.stats().written_bytes - before;
    assert!(written <= 5 * 4096 + 4096, "{written} bytes");
    // What was secured is there for good, and the tail cannot be found below it any more.
    let mut third = One::open(&disk.crash()).unwrap().1;
    assert_eq!(third.secured(), one.log.tail());
    read(&mut third).unwrap();
    assert_eq!(third.at(), one.log.tail());
    assert!(again.log.resume(replay).unwrap() == one.log.tail());
}

/// Writers, a governor, a checkpointer that also resizes, and a power cut at any moment.
fn storm(seed: u64) -> u64 {
    let disk = SimDisk::new(seed);
    let mut rng = Rng::new(seed);
    let log = Log::create(&as_disk(&disk), &small(), slots()).unwrap();
    if rng.chance(1, 4) {
        disk.enospc_after(rng.below(512) * KIB);
    }
    disk.power_off_after(100 + rng.below(900));
    let writers: Vec<_> = (0..3u8)
        .map(|n| {
            let log = Arc::clone(&log);
            thread::spawn("writer", move || {
                let worker = log.slots.acquire_worker().unwrap();
                let mut rng = Rng::new(seed * 7 + u64::from(n));
                let mut acknowledged = Vec::new();
                for number in 0u64.. {
                    let mut body = vec![n; 16 + rng.below(3000) as usize];
                    body[..8].copy_from_slice(&number.to_le_bytes());
                    let Ok(()) = log.pace(&worker) else { break };
                    let Ok(end) = log.append(&worker, &body, |_, _| {}) else { break };
                    if rng.chance(1, 3) {
                        let Ok(()) = log.commit(end) else { break };
                        acknowledged.push((end, n, number));
                    }
                }
                acknowledged
            })
            .unwrap()
        })
        .collect();
    let governor = {
        let log = Arc::clone(&log);
        thread::spawn("governor", move || {
            while log.govern().is_ok() {
                let seen = log.governor_work().prepare();
                let soon = sync::Deadline::after(Duration::from_millis(1));
                let _ = log.governor_work().wait(seen, soon);
            }
        })
        .unwrap()
    };
    while log.checkpoint(log.dirty_floor().max(log.checkpoint_lsn()), b"").is_ok() {
        if rng.chance(1, 10) {
            let _ = log.set_capacity((256 + rng.below(512)) * KIB);
        }
        let _ = host::clock::sleep(Duration::from_micros(rng.below(2000)));
    }
    governor.join().unwrap();
    let acknowledged: Vec<_> = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
    for _ in 0..3 {
        let disk = disk.crash();
        let (again, mut replay) = One::open(&disk).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let from = replay.at();
        let found: std::collections::BTreeSet<(Lsn, u8, u64)> = replay
            .frames()
            .map(|frame| {
                let (_, end, body) = frame.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
                assert!(body[8..].iter().all(|b| *b == body[8]), "seed {seed}: torn at {end}");
                (end, body[8], u64::from_le_bytes(body[..8].try_into().unwrap()))
            })
            .collect();
        for commit in acknowledged.iter().filter(|a| a.0 > from) {
            assert!(found.contains(commit), "seed {seed}: {commit:?} is lost");
        }
        // The log goes on where it was.
        again.log.resume(replay).unwrap();
        again.log.govern().unwrap();
        again.log.commit(again.append(b"on we go").unwrap()).unwrap();
    }
    log.files().last().map_or(0, |f| f.file_id)
}

#[test]
fn crashes_in_the_middle_of_switching_recycling_and_resizing() {
    let switches = LocalAtomic::new(0u64);
    for seed in 0..60 {
        switches.fetch_add(storm(seed), Ordering::Relaxed);
    }
    let switches = switches.load(Ordering::Relaxed);
    assert!(switches > 600, "only {switches} files in 60 lives");
}

/// Appends more than the log has room for, as mini-transactions do that were let in before; in virtual time.
fn overfill(disk: &Arc<SimDisk>, full: bool) -> (One, Result<()>) {
    let one = One::create(disk);
    if full {
        disk.enospc_after(0);
    }
    let first = one.log.tail();
    while one.log.tail().0 < first.0 + one.log.room_bytes() + 48 * KIB {
        // The ring takes what the files do not.
        one.append(&[9; 1000]).unwrap();
    }
    let committed = one.log.commit(one.log.tail());
    (one, committed)
}

#[test]
fn a_full_log_without_a_checkpoint_takes_more_room_and_gives_it_back() {
    let outcome = sched::run(1, Options::default(), || {
        let disk = SimDisk::new(1);
        let (one, committed) = overfill(&disk, false);
        committed.unwrap();
        assert!(one.log.pressure() > 1.0 && !one.log.failed());
        let (_, replay) = One::open(&disk.crash()).unwrap();
        assert_eq!(bodies(replay).unwrap().len() as u64 * KIB, one.log.checkpoint_age());
        // Nobody else is let in before a checkpoint, behind which all is as it was.
        let ahead = one.log.wants_checkpoint();
        one.log.checkpoint(one.log.tail(), b"").unwrap();
        one.log.govern().unwrap();
        assert!(ahead && !one.log.wants_checkpoint());
        write(&one, 400 * KIB);
        one.log.govern().unwrap();
        assert!(on_disk(&disk) <= 256 * KIB, "{} bytes are left", on_disk(&disk));
    });
    outcome.result.unwrap();
}

#[test]
fn a_full_log_without_a_checkpoint_fails_on_a_full_disk() {
    let outcome = sched::run(1, Options::default(), || {
        let disk = SimDisk::new(1);
        let (one, committed) = overfill(&disk, true);
        assert!(matches!(committed, Err(Error::LogFull)), "{committed:?}");
        assert!(one.log.failed());
        let (_, replay) = One::open(&disk.crash()).unwrap();
        assert!(!bodies(replay).unwrap().is_empty());
    });
    outcome.result.unwrap();
}
