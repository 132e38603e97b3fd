//! Models of the log's protocols, explored by loom.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p redo --test models`
//!
//! Each model repeats the lines of the crate that it names, over a ring of four frames, with the real
//! atomics, mutex and event of the crates below; files are a vector. Change the code and the model
//! together. Loom is sequentially consistent for `SeqCst` accesses only in part, so the litmus tests on
//! real threads (`src/tests/threads.rs`) stand beside these.
#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg(loom)]

use std::sync::Arc;

use instrument::{CondClass, MutexClass};
use loom::thread;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex};

static WRITER: MutexClass = MutexClass::new("wait/synch/mutex/test/writer");
static COND: CondClass = CondClass::new("wait/synch/cond/test/model");

/// Frames that the ring holds; a frame is a quarter of it, the largest there is.
const RING: u64 = 4;
const IDLE: u64 = u64::MAX;

type Mark = SharedAtomic<u64, { class::LOG_DURABLE }>;

fn explore(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 20_000;
    model.check(f);
}

struct Slot {
    copying: LocalAtomic<u64>,
    dirtying: LocalAtomic<u64>,
}

/// `Log`, in units of one frame: frame `n` holds the number `n + 1`.
struct Log {
    tail: SharedAtomic<u64, { class::LOG_TAIL }>,
    written: Mark,
    slots: [Slot; 2],
    ring: [LocalAtomic<u64>; RING as usize],
    /// Per worker, the dirty mark of its page.
    rec_lsn: [LocalAtomic<u64>; 2],
    writer: Mutex<Vec<u64>>,
    room: Event,
    /// A mistake to plant: the model must notice it.
    raise_mark: bool,
    mark_first: bool,
    mark_order: Ordering,
}

impl Log {
    /// A log whose last `full` frames are in the ring and not written.
    fn new(full: u64) -> Log {
        let mut log = Log {
            tail: SharedAtomic::new(full),
            written: SharedAtomic::new(0),
            slots: std::array::from_fn(|_| Slot {
                copying: LocalAtomic::new(IDLE),
                dirtying: LocalAtomic::new(IDLE),
            }),
            ring: std::array::from_fn(|n| LocalAtomic::new(n as u64 + 1)),
            rec_lsn: std::array::from_fn(|_| LocalAtomic::new(IDLE)),
            writer: Mutex::new(&WRITER, Vec::new()),
            room: Event::new(&COND),
            raise_mark: true,
            mark_first: true,
            mark_order: Ordering::Release,
        };
        for n in full as usize..RING as usize {
            log.ring[n] = LocalAtomic::new(0);
        }
        log
    }

    /// `Log::append`.
    fn append(&self, worker: usize) {
        let slot = &self.slots[worker];
        let mark = |low| {
            slot.copying.store(low, self.mark_order);
            slot.dirtying.store(low, self.mark_order);
        };
        if self.mark_first {
            mark(self.tail.load(Ordering::Acquire));
        }
        let start = self.tail.fetch_add(1, Ordering::AcqRel);
        if !self.mark_first {
            mark(start);
        }
        if self.raise_mark {
            slot.copying.store(start, Ordering::Release);
        }
        let end = start + 1;
        // stamped()
        if self.rec_lsn[worker].load(Ordering::Relaxed) == IDLE {
            self.rec_lsn[worker].store(start, Ordering::Relaxed);
        }
        slot.dirtying.store(IDLE, Ordering::Release);
        if end > self.room_end() {
            self.wait_for_room(end);
        }
        self.ring[(start % RING) as usize].store(start + 1, Ordering::Relaxed);
        slot.copying.store(IDLE, Ordering::Release);
    }

    fn room_end(&self) -> u64 {
        self.written.load(Ordering::Acquire) + RING
    }

    /// `Log::contiguous_end`.
    fn contiguous_end(&self) -> u64 {
        let tail = self.tail.load(Ordering::Acquire);
        self.slots.iter().map(|s| s.copying.load(Ordering::Acquire)).fold(tail, u64::min)
    }

    /// `Log::dirty_floor`.
    fn dirty_floor(&self) -> u64 {
        let tail = self.tail.load(Ordering::Acquire);
        self.slots.iter().map(|s| s.dirtying.load(Ordering::Acquire)).fold(tail, u64::min)
    }

    /// `Log::wait_for_room`.
    fn wait_for_room(&self, end: u64) {
        while end > self.room_end() {
            if let Some(files) = self.writer.try_lock() {
                self.lead(files);
                continue;
            }
            let seen = self.room.prepare();
            if end <= self.room_end() {
                continue;
            }
            if let Some(files) = self.writer.try_lock() {
                drop(seen);
                self.lead(files);
                continue;
            }
            let _ = self.room.wait_unkillable(seen, Deadline::Never);
        }
    }

    /// `Log::lead` and `Log::round`; the ring is checked where the crate would write it out.
    fn lead(&self, mut files: sync::MutexGuard<'_, Vec<u64>>) {
        let end = self.contiguous_end();
        let written = self.written.load(Ordering::Relaxed);
        for lsn in written..end {
            let frame = self.ring[(lsn % RING) as usize].load(Ordering::Relaxed);
            assert_eq!(frame, lsn + 1, "the frame at {lsn} is not copied, or overwritten");
            files.push(frame);
        }
        self.written.store(end, Ordering::Release);
        drop(files);
        self.room.notify_all();
        if end == written {
            thread::yield_now();
        }
    }
}

/// Two appenders meet a full ring; nobody flushes but they: both get through, and what is written is
/// every frame in order.
fn full_ring(preemptions: usize, full: u64, each: [u64; 2], plant: fn(&mut Log)) {
    explore(preemptions, move || {
        let mut log = Log::new(full);
        plant(&mut log);
        let log = Arc::new(log);
        let other = {
            let log = Arc::clone(&log);
            thread::spawn(move || (0..each[1]).for_each(|_| log.append(1)))
        };
        (0..each[0]).for_each(|_| log.append(0));
        other.join().unwrap();
        log.lead(log.writer.try_lock().unwrap());
        let frames: Vec<u64> = (1..=full + each[0] + each[1]).collect();
        assert_eq!(*log.writer.lock(), frames);
    });
}

#[test]
fn a_full_ring_is_emptied_by_those_who_wait_for_it() {
    full_ring(2, 4, [1, 1], |_| {});
    full_ring(3, 3, [1, 1], |_| {});
}

#[test]
fn the_ring_goes_round() {
    full_ring(2, 3, [2, 2], |_| {});
}

/// The model can fail: a watermark stored after the reservation lets the leader take what is not there.
#[test]
#[should_panic(expected = "is not copied")]
fn a_watermark_after_the_reservation_is_noticed() {
    full_ring(3, 3, [1, 1], |log| log.mark_first = false);
}

/// So it does for a mark that does not release the copy before it: this was a mistake once.
#[test]
#[should_panic(expected = "is not copied")]
fn a_relaxed_watermark_is_noticed() {
    full_ring(2, 3, [2, 2], |log| log.mark_order = Ordering::Relaxed);
}

/// One appender is overtaken by a whole ring between its first mark and its reservation.
#[test]
fn an_appender_that_is_overtaken_by_a_lap_gets_through() {
    full_ring(1, 3, [1, 4], |_| {});
}

/// Without the exact mark after the reservation it would hold up the write that makes its own room.
#[test]
#[should_panic(expected = "maximum number of branches")]
fn a_watermark_that_is_not_raised_stands_still() {
    full_ring(1, 3, [1, 4], |log| log.raise_mark = false);
}

/// A flusher of its own runs beside an appender: it takes nothing that is not copied.
#[test]
fn the_contiguous_end_holds_only_copied_frames() {
    explore(3, || {
        let log = Arc::new(Log::new(2));
        let appender = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                log.append(1);
                log.append(1);
            })
        };
        for _ in 0..2 {
            if let Some(files) = log.writer.try_lock() {
                log.lead(files);
            }
        }
        appender.join().unwrap();
    });
}

/// P-E, the checkpoint's side: tail, then `dirtying`, then the pages' marks. No frame below the bound
/// has a page whose dirty mark was missed.
#[test]
fn the_checkpoint_bound_misses_no_dirty_page() {
    explore(4, || {
        let log = Arc::new(Log::new(0));
        let workers: Vec<_> = (0..2)
            .map(|n| {
                let log = Arc::clone(&log);
                thread::spawn(move || log.append(n))
            })
            .collect();
        let floor = log.dirty_floor();
        let marks = log.rec_lsn.iter().map(|r| r.load(Ordering::Acquire));
        let bound = marks.fold(floor, u64::min);
        // No page is ever cleaned here, so nothing may be given up.
        assert_eq!(bound, 0, "a checkpoint at {bound} forgets a dirty page");
        workers.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// `Log::reach`, `Log::lead` and `Log::pass_on`, without ring and files.
struct Commits {
    tail: Mark,
    durable: Mark,
    flight: Mark,
    writer: Mutex<u64>,
    groups: [Event; 2],
    /// A mistake to plant.
    call_next: bool,
}

impl Commits {
    fn reach(&self, lsn: u64) {
        let mut waited = false;
        loop {
            if self.durable.load(Ordering::Acquire) >= lsn {
                if waited {
                    self.pass_on();
                }
                return;
            }
            if let Some(writer) = self.writer.try_lock() {
                self.lead(writer);
                continue;
            }
            let flight = self.flight.load(Ordering::Acquire);
            let (end, group) = (flight & !7, (flight & 1) as usize);
            let event = &self.groups[if end >= lsn { group } else { 1 - group }];
            let seen = event.prepare();
            if self.durable.load(Ordering::Acquire) >= lsn
                || flight != self.flight.load(Ordering::Acquire)
            {
                continue;
            }
            if let Some(writer) = self.writer.try_lock() {
                drop(seen);
                self.lead(writer);
                continue;
            }
            let _ = event.wait_unkillable(seen, Deadline::Never);
            waited = true;
        }
    }

    fn lead(&self, mut writer: sync::MutexGuard<'_, u64>) {
        let end = self.tail.load(Ordering::Acquire);
        if end > self.durable.load(Ordering::Relaxed) {
            *writer += 1;
            self.flight.store(end | (*writer & 1), Ordering::Release);
            self.durable.store(end, Ordering::Release);
        }
        let group = (*writer & 1) as usize;
        drop(writer);
        self.groups[group].notify_all();
        if self.call_next {
            self.groups[1 - group].notify_one();
        }
    }

    fn pass_on(&self) {
        if let Some(writer) = self.writer.try_lock() {
            drop(writer);
            self.groups[0].notify_one();
            self.groups[1].notify_one();
        }
    }
}

fn commits(preemptions: usize, threads: usize, call_next: bool) {
    explore(preemptions, move || {
        let log = Arc::new(Commits {
            tail: SharedAtomic::new(0),
            durable: SharedAtomic::new(0),
            flight: SharedAtomic::new(0),
            writer: Mutex::new(&WRITER, 0),
            groups: [Event::new(&COND), Event::new(&COND)],
            call_next,
        });
        let commit = |log: &Commits| {
            let lsn = log.tail.fetch_add(8, Ordering::AcqRel) + 8;
            log.reach(lsn);
            assert!(log.durable.load(Ordering::Acquire) >= lsn);
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let log = Arc::clone(&log);
                thread::spawn(move || commit(&log))
            })
            .collect();
        commit(&log);
        others.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(log.durable.load(Ordering::Acquire), 8 * threads as u64);
    });
}

/// Nobody sleeps for ever: loom reports a thread that waits when all others are done.
#[test]
fn every_committer_is_woken() {
    commits(3, 2, true);
    commits(1, 3, true);
}

/// The model can fail: a leader that does not call the next one leaves him asleep.
#[test]
#[should_panic(expected = "deadlock")]
fn a_next_leader_that_is_not_called_is_noticed() {
    commits(3, 2, false);
}
