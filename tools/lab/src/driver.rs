//! The lab's own load: a thread with a blocking socket for each user.
//!
//! 1. All users are connected and prepared before the first one begins. 2. Between warm-up and measurement nothing is stopped: counts
//! are read at both ends. 3. A user that fails in a way that load explains (deadlock, time-out, a row that is there) takes its
//! transaction back and goes on; any other failure ends the load.

use crate::data::Wanted;
use crate::interrupt;
use crate::pin;
use crate::workload::{User, Workload};
use client::{Client, Dsn, Failure};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};

/// Errors that load explains: a deadlock, a wait that took too long, a key that is there.
const EXPLAINED: [u16; 3] = [1213, 1205, 1062];
const STACK_BYTES: usize = 256 << 10;
/// A step of the loop that watches the users.
const LOOK: Duration = Duration::from_millis(50);

/// What is to be driven.
#[derive(Debug, Clone)]
pub struct Load {
    /// The server.
    pub dsn: Dsn,
    /// Transactions.
    pub workload: Workload,
    /// Connections.
    pub users: u32,
    /// Tables that are there.
    pub wanted: Wanted,
    /// Seed of the users' random numbers.
    pub seed: u64,
    /// Cores of the client.
    pub cores: Vec<usize>,
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub length: Duration,
}

/// Counts since the load began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Queries.
    pub queries: f64,
    /// Transactions that went well.
    pub transactions: f64,
    /// Transactions that were taken back.
    pub errors: f64,
}

/// What a load did while it was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Driven {
    /// Seconds measured.
    pub seconds: f64,
    /// What was done in them.
    pub counts: Counts,
    /// Mean time of a transaction, in milliseconds.
    pub mean_ms: f64,
    /// 95 of 100 transactions took no longer, in milliseconds.
    pub p95_ms: f64,
}

/// A user's counts: it alone writes them.
#[derive(Default)]
#[repr(align(64))]
struct Counter {
    queries: LocalAtomic<u64>,
    transactions: LocalAtomic<u64>,
    errors: LocalAtomic<u64>,
}

/// What the threads of a load share.
struct Shared {
    counters: Vec<Counter>,
    /// One of the phases below.
    phase: SharedAtomic<u32, { class::OTHER }>,
}

const WARMS_UP: u32 = 0;
const MEASURES: u32 = 1;
const ENDS: u32 = 2;

impl Shared {
    fn counts(&self) -> Counts {
        let sum = |of: fn(&Counter) -> &LocalAtomic<u64>| {
            self.counters.iter().map(|c| of(c).load(Ordering::Relaxed) as f64).sum()
        };
        Counts {
            queries: sum(|c| &c.queries),
            transactions: sum(|c| &c.transactions),
            errors: sum(|c| &c.errors),
        }
    }
}

/// Times of transactions in buckets of an eighth of a power of two of microseconds.
struct Times {
    buckets: [u64; 8 * 40],
    sum_us: f64,
    count: u64,
}

impl Times {
    fn new() -> Times {
        Times { buckets: [0; 320], sum_us: 0.0, count: 0 }
    }

    fn add(&mut self, time: Duration) {
        let us = time.as_secs_f64() * 1e6;
        let bucket = (us.max(1.0).log2() * 8.0) as usize;
        self.buckets[bucket.min(self.buckets.len() - 1)] += 1;
        self.sum_us += us;
        self.count += 1;
    }

    fn join(&mut self, other: &Times) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(a, b)| *a += b);
        self.sum_us += other.sum_us;
        self.count += other.count;
    }

    /// Milliseconds that a share of the transactions took at most.
    fn quantile_ms(&self, share: f64) -> f64 {
        let (wanted, mut seen) = (self.count as f64 * share, 0.0);
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += *count as f64;
            if seen >= wanted && self.count > 0 {
                return ((bucket + 1) as f64 / 8.0).exp2() / 1e3;
            }
        }
        f64::NAN
    }
}

/// Drives a load to its end. `tick` is called when the measurement begins, each second of it, and at its end, with the counts until
/// then.
///
/// # Errors
/// The first failure of a user that load does not explain; an interrupt.
pub fn drive(load: &Load, tick: &mut dyn FnMut(Counts)) -> Result<Driven, String> {
    let mut threads = Vec::new();
    let shared = Arc::new(Shared {
        counters: (0..load.users).map(|_| Counter::default()).collect(),
        phase: SharedAtomic::new(WARMS_UP),
    });
    let (ready, are_ready) = channel();
    for number in 0..load.users {
        let (go, goes) = channel();
        let (load, shared, ready) = (load.clone(), Arc::clone(&shared), ready.clone());
        let body = move || user(&load, &shared, number as usize, &ready, &goes);
        let thread = host::thread::spawn_with_stack("lab_user", STACK_BYTES, body);
        threads.push((thread.map_err(|e| format!("a thread for user {number}: {e}"))?, go));
    }
    drop(ready);
    let begun = begin(&threads, &are_ready, load.users);
    let measured = begun.and_then(|()| measure(load, &shared, &are_ready, tick));
    shared.phase.store(ENDS, Ordering::Relaxed);
    let mut times = Times::new();
    let mut failed = None;
    for (thread, go) in threads {
        drop(go);
        match thread.join() {
            Ok(Ok(of_user)) => times.join(&of_user),
            Ok(Err(failure)) => failed = failed.or(Some(failure.to_string())),
            Err(_) => failed = Some("a user's thread panicked".into()),
        }
    }
    let (seconds, counts) = measured.map_err(|why| failed.clone().unwrap_or(why))?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    let mean_ms = times.sum_us / times.count as f64 / 1e3;
    Ok(Driven { seconds, counts, mean_ms, p95_ms: times.quantile_ms(0.95) })
}

type Thread = host::thread::JoinHandle<Result<Times, Failure>>;

/// Waits for all users, then lets them go.
fn begin(
    threads: &[(Thread, Sender<()>)],
    ready: &Receiver<bool>,
    users: u32,
) -> Result<(), String> {
    for _ in 0..users {
        // A user that ends before it is ready has failed; its thread says why.
        if ready.recv() != Ok(true) {
            return Err("a user could not begin".into());
        }
    }
    for (_, go) in threads {
        go.send(()).map_err(|_| "a user ended before it began")?;
    }
    Ok(())
}

/// Watches warm-up and measurement; seconds measured, and counts of them.
fn measure(
    load: &Load,
    shared: &Shared,
    failures: &Receiver<bool>,
    tick: &mut dyn FnMut(Counts),
) -> Result<(f64, Counts), String> {
    watch(host::clock::now() + load.warm_up, failures)?;
    shared.phase.store(MEASURES, Ordering::Relaxed);
    tick(shared.counts());
    let (begin, first) = (host::clock::now(), shared.counts());
    let end = begin + load.length;
    let mut next = begin + Duration::from_secs(1);
    while next < end {
        watch(next, failures)?;
        tick(shared.counts());
        next += Duration::from_secs(1);
    }
    watch(end, failures)?;
    let (seconds, last) = (begin.elapsed().as_secs_f64(), shared.counts());
    tick(last);
    let counts = Counts {
        queries: last.queries - first.queries,
        transactions: last.transactions - first.transactions,
        errors: last.errors - first.errors,
    };
    Ok((seconds, counts))
}

/// Waits until then, as long as all users go on.
fn watch(until: Instant, failures: &Receiver<bool>) -> Result<(), String> {
    loop {
        if interrupt::is_asked() {
            return Err(interrupt::WORD.into());
        }
        if failures.try_recv() == Ok(false) {
            return Err("a user failed".into());
        }
        let left = until.saturating_duration_since(host::clock::now());
        if left.is_zero() {
            return Ok(());
        }
        interrupt::pause(left.min(LOOK));
    }
}

/// A user's thread: says that it is ready, waits for the word, works until the end.
fn user(
    load: &Load,
    shared: &Shared,
    number: usize,
    ready: &Sender<bool>,
    go: &Receiver<()>,
) -> Result<Times, Failure> {
    pin::pin_thread(&load.cores);
    let worked = begin_user(load, number).and_then(|user| {
        let _nobody_waits = ready.send(true);
        // No word: another user failed.
        match go.recv() {
            Ok(()) => work(user, shared, number),
            Err(_) => Ok(Times::new()),
        }
    });
    if worked.is_err() {
        let _nobody_waits = ready.send(false);
    }
    worked
}

fn begin_user(load: &Load, number: usize) -> Result<User, Failure> {
    let seed = load.seed.wrapping_mul(1 << 20).wrapping_add(number as u64);
    let client = Client::connect(&load.dsn)?;
    let shape = [load.wanted.tables, load.wanted.rows];
    User::new(client, load.workload, number, shape, seed)
}

fn work(mut user: User, shared: &Shared, number: usize) -> Result<Times, Failure> {
    let (mut times, own) = (Times::new(), &shared.counters[number]);
    let mut begin = host::clock::now();
    loop {
        let phase = shared.phase.load(Ordering::Relaxed);
        if phase == ENDS {
            return Ok(times);
        }
        match user.transact() {
            Ok(queries) => {
                own.queries.bump(queries);
                own.transactions.bump(1);
            }
            Err(failure) if EXPLAINED.contains(&failure.number) => {
                own.errors.bump(1);
                user.give_up()?;
            }
            Err(failure) => return Err(failure),
        }
        let end = host::clock::now();
        if phase == MEASURES {
            times.add(end - begin);
        }
        begin = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut times = Times::new();
        (1..=1000_u64).for_each(|us| times.add(Duration::from_micros(us)));
        let p95 = times.quantile_ms(0.95);
        assert!((0.95..1.05).contains(&p95), "{p95}");
        assert!(Times::new().quantile_ms(0.95).is_nan());
    }

    #[test]
    fn a_server_that_is_not_there_is_a_failure() {
        let load = Load {
            dsn: Dsn::at("/nowhere/s.sock"),
            workload: Workload::PointSelect,
            users: 3,
            wanted: Wanted::of(1, 1, &[]),
            seed: 1,
            cores: pin::available(),
            warm_up: Duration::ZERO,
            length: Duration::ZERO,
        };
        let why = drive(&load, &mut |_| ()).unwrap_err();
        assert!(why.contains("2002") && why.contains("/nowhere/s.sock"), "{why}");
    }
}
