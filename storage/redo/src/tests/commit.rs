//! Commit modes, failure, pacing, and what the trace hook proves.

use std::time::Duration;

use base::{Error, Lsn};
use host::SimDisk;
use stdx::{LocalAtomic, Ordering};
use sync::Mutex;

use super::*;
use crate::{FlushMode, LogEvent};

static EVENTS: instrument::MutexClass = instrument::MutexClass::new("wait/synch/mutex/test/events");

fn recorded(log: &Log) -> Arc<Mutex<Vec<LogEvent>>> {
    let events = Arc::new(Mutex::new(&EVENTS, Vec::new()));
    let sink = Arc::clone(&events);
    log.set_trace_hook(Box::new(move |e| sink.lock().push(e)));
    events
}

#[test]
fn what_was_appended_comes_back_with_its_places() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    assert!(Log::exists(&*disk).unwrap());
    let mut expected = Vec::new();
    for n in 1..200u16 {
        let body = vec![n as u8; usize::from(n)];
        let mut place = (Lsn(0), Lsn(0));
        let end = one.log.append(&one.worker, &body, |s, e| place = (s, e)).unwrap();
        assert_eq!(end, place.1);
        expected.push((place.0, place.1, body));
    }
    one.log.commit(one.log.tail()).unwrap();
    assert_eq!(one.log.durable(), one.log.tail());
    let (_, mut replay) = One::open(&disk).unwrap();
    let found: Vec<_> = replay.frames().map(Result::unwrap).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_three_modes_wait_for_what_they_promise() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let settings = one.log.settings();
    let before = disk.stats();

    settings.set_flush_mode(FlushMode::Timer);
    let end = one.append(b"mode 0").unwrap();
    one.log.commit(end).unwrap();
    assert_eq!(disk.stats(), before, "mode 0 touches no file");

    settings.set_flush_mode(FlushMode::Write);
    let end = one.append(b"mode 2").unwrap();
    one.log.commit(end).unwrap();
    assert!(one.log.written() >= end && one.log.durable() < end);
    assert_eq!(disk.stats().syncs, before.syncs, "mode 2 writes and does not sync");
    let (_, replay) = One::open(&disk.kill()).unwrap();
    assert_eq!(bodies(replay).unwrap().len(), 2, "mode 2 survives the death of the process");

    one.log.flush_timer_tick().unwrap();
    assert_eq!(one.log.durable(), end);
    let idle = disk.stats();
    one.log.flush_timer_tick().unwrap();
    assert_eq!(disk.stats(), idle, "an idle tick does nothing");

    settings.set_flush_mode(FlushMode::Sync);
    let end = one.append(b"mode 1").unwrap();
    one.log.commit(end).unwrap();
    assert_eq!(one.log.durable(), end);
    assert_eq!(disk.stats().syncs, idle.syncs + 1);
}

#[test]
fn the_first_error_is_the_last_word() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let called = Arc::new(LocalAtomic::new(0u32));
    let counter = Arc::clone(&called);
    one.log.set_fatal_hook(Box::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
    }));
    one.log.commit(one.append(b"good").unwrap()).unwrap();
    let durable = one.log.durable();
    disk.fail_next_sync();
    let end = one.append(b"bad").unwrap();
    assert!(one.log.commit(end).is_err());
    assert!(one.log.failed());
    // The disk would report success now; the log must not believe it.
    assert!(one.log.commit(end).is_err());
    assert!(one.log.flush_timer_tick().is_err());
    assert!(one.append(b"more").is_err());
    assert!(one.log.pace(&one.worker).is_err() || !one.log.wants_checkpoint());
    assert_eq!(one.log.durable(), durable);
    assert_eq!(called.load(Ordering::SeqCst), 1, "the fatal hook runs once");
}

#[test]
fn a_failing_write_is_an_error_for_every_waiter() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    disk.fail_writes_after(3);
    let mut failed = 0;
    let threads: Vec<_> = (0..4u8)
        .map(|n| {
            let log = Arc::clone(&one.log);
            host::thread::spawn("committer", move || {
                let worker = log.slots.acquire_worker().unwrap();
                for _ in 0..50 {
                    let end = log.append(&worker, &[n; 100], |_, _| {})?;
                    log.commit(end)?;
                }
                Ok::<(), Error>(())
            })
            .unwrap()
        })
        .collect();
    for thread in threads {
        failed += usize::from(thread.join().unwrap().is_err());
    }
    assert_eq!(failed, 4);
}

#[test]
fn a_leader_that_panics_leaves_nobody_waiting() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let worker = one.log.slots.acquire_worker().unwrap();
    let end = one.log.append(&worker, &[1; 100], |_, _| {}).unwrap();
    one.log.commit(end).unwrap();
    // What stands in the file's last block is not what was written of it.
    one.log.writer.lock().last_word[0] ^= 1;
    let end = one.log.append(&worker, &[2; 100], |_, _| {}).unwrap();
    let committers: Vec<_> = (0..4)
        .map(|_| {
            let log = Arc::clone(&one.log);
            host::thread::spawn("committer", move || log.commit(end)).unwrap()
        })
        .collect();
    let answers: Vec<_> = committers.into_iter().map(|thread| thread.join()).collect();
    let panicked = answers.iter().filter(|answer| answer.is_err()).count();
    assert_eq!(panicked, 1, "one led: {answers:?}");
    assert!(answers.iter().flatten().all(Result::is_err), "{answers:?}");
    assert!(one.log.failed());
}

#[test]
fn no_acknowledgement_before_a_sync_that_covers_it() {
    let disk = SimDisk::new(5);
    let one = One::create(&disk);
    let events = recorded(&one.log);
    let threads: Vec<_> = (0..4u8)
        .map(|n| {
            let log = Arc::clone(&one.log);
            host::thread::spawn("committer", move || {
                let worker = log.slots.acquire_worker().unwrap();
                for _ in 0..200 {
                    let end = log.append(&worker, &[n; 64], |_, _| {}).unwrap();
                    log.commit(end).unwrap();
                }
            })
            .unwrap()
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let (mut durable, mut acknowledged) = (Lsn(0), 0);
    for event in events.lock().iter() {
        match event {
            LogEvent::Durable(lsn) => durable = *lsn,
            LogEvent::Acknowledged(lsn, FlushMode::Sync) => {
                assert!(*lsn <= durable, "{lsn:?} acknowledged at {durable:?}");
                acknowledged += 1;
            }
            _ => {}
        }
    }
    assert_eq!(acknowledged, 800);
}

#[test]
fn bodies_are_bounded_before_anything_is_reserved() {
    let one = One::create(&SimDisk::new(1));
    let tail = one.log.tail();
    let max = one.log.mtr_bytes_max();
    assert!((4000..=(64 << 10) / 4).contains(&max));
    assert!(matches!(one.append(&vec![1; max + 1]), Err(Error::LogFull)));
    assert!(one.append(b"").is_err());
    assert_eq!(one.log.tail(), tail);
    one.log.commit(one.append(&vec![1; max]).unwrap()).unwrap();
}

#[test]
fn the_dirty_floor_stays_below_a_frame_whose_pages_are_not_stamped() {
    let one = One::create(&SimDisk::new(1));
    one.append(b"before").unwrap();
    let floor = one.log.tail();
    let log = &one.log;
    log.append(&one.worker, b"now", |start, end| {
        assert_eq!(start, floor);
        assert_eq!(log.tail(), end);
        assert_eq!(log.dirty_floor(), floor);
    })
    .unwrap();
    assert_eq!(log.dirty_floor(), log.tail());
}

#[test]
fn writers_wait_for_a_checkpoint_and_never_overwrite_what_it_needs() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let log = Arc::clone(&one.log);
    let writer = host::thread::spawn("writer", move || {
        let worker = log.slots.acquire_worker().unwrap();
        for n in 0..2000u32 {
            log.pace(&worker).unwrap();
            let mut body = [7; 1000];
            body[..4].copy_from_slice(&n.to_le_bytes());
            let end = log.append(&worker, &body, |_, _| {}).unwrap();
            log.commit(end).unwrap();
        }
    })
    .unwrap();
    let mut fullest: f32 = 0.0;
    while !writer.is_finished() {
        let seen = one.log.work().prepare();
        if !one.log.wants_checkpoint() {
            let soon = sync::Deadline::after(Duration::from_millis(1));
            let _ = one.log.work().wait(seen, soon);
            continue;
        }
        drop(seen);
        fullest = fullest.max(one.log.pressure());
        // Everything since the old checkpoint is still readable at the fullest moment.
        let (_, replay) = One::open(&disk.crash()).unwrap();
        let found = bodies(replay).unwrap();
        for pair in found.windows(2) {
            let n = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            assert_eq!(n(&pair[0]) + 1, n(&pair[1]));
        }
        one.log.checkpoint(one.log.dirty_floor(), b"").unwrap();
    }
    writer.join().unwrap();
    assert!(fullest <= 1.0, "the log held {fullest} of its capacity");
}

#[test]
fn a_full_log_waits_for_space_even_when_nobody_paced() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let first = one.log.tail();
    let log = Arc::clone(&one.log);
    let writer = host::thread::spawn("writer", move || {
        let worker = log.slots.acquire_worker().unwrap();
        for _ in 0..600 {
            log.append(&worker, &[9; 1000], |_, _| {}).unwrap();
        }
        log.commit(log.tail()).unwrap();
    })
    .unwrap();
    while one.log.written().0 < first.0 + one.log.room_bytes() {
        std::thread::yield_now();
    }
    let _ = host::clock::sleep(Duration::from_millis(20));
    assert!(!writer.is_finished());
    assert_eq!(one.log.checkpoint_lsn(), first);
    // Everything since the checkpoint is still there.
    let (_, mut replay) = One::open(&disk.kill()).unwrap();
    assert_eq!(read(&mut replay).unwrap().len() as u64, one.log.room_bytes() / 1024);
    assert!(replay.at().0 + 1024 > one.log.written().0);
    while !writer.is_finished() {
        let written = one.log.written().0;
        // Frames here are 1024 bytes: the last start that is durable.
        let lsn = first.0 + (written - first.0) / 1024 * 1024;
        one.log.checkpoint(Lsn(lsn), b"").unwrap();
        std::thread::yield_now();
    }
    writer.join().unwrap();
}

#[test]
fn checkpoints_move_forward_and_keep_their_payload() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    assert!(one.log.checkpoint_payload().is_empty());
    one.append(b"a").unwrap();
    let lsn = one.log.tail();
    one.append(b"b").unwrap();
    one.log.checkpoint(lsn, b"payload").unwrap();
    assert!(one.log.checkpoint(Lsn(4096), b"back").is_err());
    assert!(one.log.checkpoint(lsn, &[0; 257]).is_err());
    let syncs = disk.stats().syncs;
    one.log.checkpoint(lsn, b"payload").unwrap();
    assert_eq!(disk.stats().syncs, syncs, "an unchanged checkpoint is free");
    one.log.flush_to(one.log.tail()).unwrap();
    let (again, replay) = One::open(&disk.crash()).unwrap();
    assert_eq!(again.log.checkpoint_payload(), b"payload");
    assert_eq!(bodies(replay).unwrap(), [b"b".to_vec()]);
}
