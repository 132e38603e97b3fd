//! Kinds of latches, without a server: spin, parking and read-optimised ones, one word against slots.
//!
//! Threads read two numbers under a latch and now and then change both. 1. Whoever reads sees both alike: a latch that lets a reader
//! see half a change ends the run. 2. Kinds take turns within a round, each second one backwards. 3. Threads that are more than cores
//! show what a kind does when its holder is off its core.

use crate::experiments::Aim;
use crate::outcome::{Drawn, Outcome, Table};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{interrupt, verdict};
use chart::{Chart, Series, XTicks};
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, DistRwLock, Mutex, PageWord, RwLatch, SessionSlot, SlotTable};

instrument::classes! {
    static MUTEX: MutexClass = "wait/synch/mutex/limpid/lab_parking";
    static LATCH: RwLockClass = "wait/synch/rwlock/limpid/lab_word";
}

/// Threads, whole and with `--quick`.
const THREADS: [u32; 5] = [1, 2, 4, 16, 64];
const THREADS_QUICK: [u32; 3] = [1, 2, 8];
/// Longest time of one figure: nothing here grows warm.
const LENGTH_MAX: Duration = Duration::from_secs(2);
/// Turns of a spinning thread before it gives its core away once.
const TURNS: u32 = 100;
/// Operations between two looks at the word that ends the run.
const BATCH: u64 = 64;
/// One operation of so many changes the numbers; 0: none does.
const MIXES: [(&str, u64); 2] = [("reads alone", 0), ("one write in 1,000", 1_000)];
const KINDS: [&str; 5] = ["spin", "parking", "read-write, one word", "read-optimised", "slots"];
// Places among them.
const SPIN: usize = 0;
const PARKING: usize = 1;
const WORD: usize = 2;
const OPTIMISED: usize = 3;
const SLOTS: usize = 4;

/// What the latch guards: two numbers that are always alike.
#[derive(Default)]
#[repr(align(64))]
struct Numbers([SharedAtomic<u64, { class::OTHER }>; 2]);

impl Numbers {
    fn read(&self) -> [u64; 2] {
        self.0.each_ref().map(|number| number.load(Ordering::Relaxed))
    }

    fn change(&self) {
        self.0
            .iter()
            .for_each(|number| number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
    }
}

/// A kind of latch.
trait Latch: Send + Sync + 'static {
    /// One that nobody holds.
    fn make(slots: &Arc<SlotTable>) -> Option<Self>
    where
        Self: Sized;
    fn read(&self, numbers: &Numbers, own: &SessionSlot) -> [u64; 2];
    fn write(&self, numbers: &Numbers);
}

/// A word that is swapped until it was free; who does not get it soon lets others run.
#[repr(align(64))]
struct Spin(SharedAtomic<bool, { class::OTHER }>);

impl Spin {
    fn hold<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut tries = 0_u32;
        while self.0.swap(true, Ordering::Acquire) {
            tries += 1;
            match tries % TURNS {
                0 => sync::yield_now(),
                _ => sync::spin_wait(),
            }
        }
        let done = work();
        self.0.store(false, Ordering::Release);
        done
    }
}

impl Latch for Spin {
    fn make(_: &Arc<SlotTable>) -> Option<Spin> {
        Some(Spin(SharedAtomic::new(false)))
    }

    fn read(&self, numbers: &Numbers, _: &SessionSlot) -> [u64; 2] {
        self.hold(|| numbers.read())
    }

    fn write(&self, numbers: &Numbers) {
        self.hold(|| numbers.change());
    }
}

impl Latch for Mutex<()> {
    fn make(_: &Arc<SlotTable>) -> Option<Mutex<()>> {
        Some(Mutex::new(&MUTEX, ()))
    }

    fn read(&self, numbers: &Numbers, _: &SessionSlot) -> [u64; 2] {
        let _held = self.lock();
        numbers.read()
    }

    fn write(&self, numbers: &Numbers) {
        let _held = self.lock();
        numbers.change();
    }
}

impl Latch for RwLatch<()> {
    fn make(_: &Arc<SlotTable>) -> Option<RwLatch<()>> {
        Some(RwLatch::new(&LATCH, ()))
    }

    fn read(&self, numbers: &Numbers, _: &SessionSlot) -> [u64; 2] {
        let _held = RwLatch::read(self);
        numbers.read()
    }

    fn write(&self, numbers: &Numbers) {
        let _held = RwLatch::write(self);
        numbers.change();
    }
}

impl Latch for PageWord {
    fn make(_: &Arc<SlotTable>) -> Option<PageWord> {
        let word = PageWord::new();
        word.begin_io(word.load()).then(|| word.publish(1));
        Some(word)
    }

    fn read(&self, numbers: &Numbers, _: &SessionSlot) -> [u64; 2] {
        loop {
            let seen = self.wait_readable();
            let read = numbers.read();
            if self.validate(seen) {
                return read;
            }
        }
    }

    fn write(&self, numbers: &Numbers) {
        // Nobody evicts it.
        if self.lock_exclusive().is_ok() {
            numbers.change();
            self.release_exclusive();
        }
    }
}

impl Latch for DistRwLock {
    fn make(slots: &Arc<SlotTable>) -> Option<DistRwLock> {
        DistRwLock::new(slots)
    }

    fn read(&self, numbers: &Numbers, own: &SessionSlot) -> [u64; 2] {
        match DistRwLock::read(self, own, Deadline::Never) {
            Ok(_held) => numbers.read(),
            // Nobody kills these threads.
            Err(_) => [0, 0],
        }
    }

    fn write(&self, numbers: &Numbers) {
        if let Ok(_held) = DistRwLock::write(self, Deadline::Never) {
            numbers.change();
        }
    }
}

/// What the threads of a run share.
struct Shared<L> {
    latch: L,
    numbers: Numbers,
    ends: SharedAtomic<bool, { class::OTHER }>,
}

/// Operations a second of so many threads.
fn rate<L: Latch>(threads: u32, writes: u64, length: Duration) -> Result<f64, String> {
    let slots = SlotTable::new(threads as usize, 1);
    let latch = L::make(&slots).ok_or("no room for a latch")?;
    let shared =
        Arc::new(Shared { latch, numbers: Numbers::default(), ends: SharedAtomic::new(false) });
    let begin = host::clock::now();
    let mut running = Vec::new();
    for number in 0..threads {
        let (shared, slots) = (Arc::clone(&shared), Arc::clone(&slots));
        let body = move || work(&shared, &slots, writes, u64::from(number));
        let thread = host::thread::spawn("lab_latch", body);
        running.push(thread.map_err(|e| format!("a thread: {e}"))?);
    }
    interrupt::pause(length);
    shared.ends.store(true, Ordering::Relaxed);
    let mut operations = 0;
    for thread in running {
        operations += thread.join().map_err(|_| "a reader saw half a change")??;
    }
    Ok(operations as f64 / begin.elapsed().as_secs_f64())
}

/// A thread: operations until the end; how many.
fn work<L: Latch>(
    shared: &Shared<L>,
    slots: &Arc<SlotTable>,
    writes: u64,
    first: u64,
) -> Result<u64, String> {
    let own = slots.acquire_session().ok_or("no room for a slot")?;
    let _entered = sync::enter(&own);
    let mut done = first;
    while !shared.ends.load(Ordering::Relaxed) {
        for _ in 0..BATCH {
            done += 1;
            if writes > 0 && done.is_multiple_of(writes) {
                shared.latch.write(&shared.numbers);
            } else {
                let [a, b] = shared.latch.read(&shared.numbers, &own);
                assert_eq!(a, b, "a reader sees both numbers alike");
            }
        }
    }
    Ok(done - first)
}

/// Rates by mix, kind, threads and round.
type Rates = Vec<Vec<Vec<Vec<f64>>>>;

/// Runs all kinds in rounds; those before a failure are told.
///
/// # Errors
/// An interrupt; a latch that is none.
pub fn run(plan: &Plan, outcome: &mut Outcome, progress: &Progress) -> Result<(), String> {
    let usual = if plan.quick { &THREADS_QUICK[..] } else { &THREADS };
    let threads = plan.users.clone().unwrap_or_else(|| usual.to_vec());
    progress.expect(u64::from(plan.rounds) * (MIXES.len() * KINDS.len() * threads.len()) as u64);
    let mut rates: Rates = vec![vec![vec![Vec::new(); threads.len()]; KINDS.len()]; MIXES.len()];
    let went = rounds(plan, &threads, &mut rates, progress);
    tell(outcome, &threads, &rates);
    went
}

/// All rounds, each second one backwards.
fn rounds(
    plan: &Plan,
    threads: &[u32],
    rates: &mut Rates,
    progress: &Progress,
) -> Result<(), String> {
    let length = (plan.length / 4).min(LENGTH_MAX).max(Duration::from_millis(20));
    for round in 1..=plan.rounds {
        for (mix, (name, writes)) in MIXES.iter().enumerate() {
            for (level, threads) in threads.iter().enumerate() {
                let mut order: Vec<usize> = (0..KINDS.len()).collect();
                if round % 2 == 0 {
                    order.reverse();
                }
                for kind in order {
                    if interrupt::is_asked() {
                        return Err(interrupt::WORD.into());
                    }
                    let label = KINDS[kind];
                    progress.say(&format!("{label}, {name}, {threads} threads, round {round}"));
                    let of = match kind {
                        SPIN => rate::<Spin>,
                        PARKING => rate::<Mutex<()>>,
                        WORD => rate::<RwLatch<()>>,
                        OPTIMISED => rate::<PageWord>,
                        _ => rate::<DistRwLock>,
                    };
                    rates[mix][kind][level].push(of(*threads, *writes, length)?);
                    progress.step();
                }
            }
        }
    }
    Ok(())
}

/// Findings, tables and charts of what was measured.
fn tell(outcome: &mut Outcome, threads: &[u32], rates: &Rates) {
    let last = threads.len().saturating_sub(1);
    for (above, below) in [(SLOTS, WORD), (OPTIMISED, WORD), (OPTIMISED, PARKING), (PARKING, SPIN)]
    {
        for (mix, (name, _)) in MIXES.iter().enumerate() {
            let most = threads.get(last).copied().unwrap_or(0);
            let what = format!("{} by {}, {name}, {most} threads", KINDS[above], KINDS[below]);
            let ratio = Estimate::ratio(&rates[mix][above][last], &rates[mix][below][last]);
            // Which parks and which spins best depends on the cores.
            let aim = if above == PARKING || mix > 0 { Aim::None } else { Aim::AtLeast(1.0) };
            let measured = ratio.ok_or_else(|| "no rounds".to_string());
            outcome.findings.push(verdict::find(0, "latches", &what, measured, aim));
        }
    }
    for (mix, (name, _)) in MIXES.iter().enumerate() {
        let middle =
            |kind: usize, level: usize| median(&rates[mix][kind][level]).unwrap_or(f64::NAN) / 1e6;
        let title = format!("Millions of operations a second, {name}");
        let line = |kind: usize| {
            let cells = (0..threads.len()).map(|level| format!("{:.2}", middle(kind, level)));
            std::iter::once(KINDS[kind].to_string()).chain(cells).collect()
        };
        let heads = threads.iter().map(|threads| format!("{threads} threads"));
        outcome.tables.push(Table {
            title: title.clone(),
            heads: std::iter::once("kind".to_string()).chain(heads).collect(),
            lines: (0..KINDS.len()).map(line).collect(),
        });
        let series = |kind: usize| Series {
            name: KINDS[kind].into(),
            points: (0..threads.len()).map(|n| (n as f64, middle(kind, n))).collect(),
        };
        let chart = Chart {
            title,
            y_label: "millions a second".into(),
            y_unit: "M/s".into(),
            x_ticks: XTicks::Names(threads.iter().map(|n| format!("{n} threads")).collect()),
            series: (0..KINDS.len()).map(series).collect(),
            ..Chart::default()
        };
        let file = format!("kinds-{mix}.svg");
        outcome.charts.push(Drawn { file, title: chart.title.clone(), svg: chart.bars() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_of_every_kind_see_whole_changes() {
        let short = Duration::from_millis(30);
        for of in [
            rate::<Spin>,
            rate::<Mutex<()>>,
            rate::<RwLatch<()>>,
            rate::<PageWord>,
            rate::<DistRwLock>,
        ] {
            assert!(of(3, 10, short).unwrap() > 0.0);
        }
    }

    /// A latch that guards nothing.
    struct Nothing;

    impl Latch for Nothing {
        fn make(_: &Arc<SlotTable>) -> Option<Nothing> {
            Some(Nothing)
        }

        fn read(&self, _: &Numbers, _: &SessionSlot) -> [u64; 2] {
            [1, 2]
        }

        fn write(&self, _: &Numbers) {}
    }

    #[test]
    fn half_a_change_ends_the_run() {
        let why = rate::<Nothing>(1, 0, Duration::from_millis(5)).unwrap_err();
        assert!(why.contains("half a change"), "{why}");
    }
}
