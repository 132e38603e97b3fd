//! How fast changed pages are written, and how many frames are kept free: two controllers that do
//! not know of each other, and the round of a cleaner that follows both.
//!
//! 1. [`pages_per_second`] looks at the age of the redo and at the share of changed pages. Its pace grows with
//!    both and with the rate at which redo comes, so that the checkpoint moves evenly and writers never meet
//!    full redo files. Guard: `the_pace_grows_with_age_up_to_everything`,
//!    `the_pace_grows_with_the_rate_of_redo`, `the_loop_comes_to_rest_below_the_stop`.
//! 2. [`frames_ready`] looks at how fast frames are taken. Who does not take frames (a set of pages that fits)
//!    has none made free for it. Guard: `frames_are_made_ready_for_those_who_take_them`.
//!
//! Both are pure functions of what they are told; [`Pool::cleaner_round`] tells and obeys them.

use crate::cleaner::Pages;
use crate::doublewrite::BATCH_MAX;
use crate::{Pool, PoolSettings};
use base::{Lsn, Result};
use std::time::{Duration, Instant};
use stdx::Ordering;

/// Share of the redo capacity at which all is done to write pages: writers are slowed from 3/4 on.
const AGE_MAX: f64 = 0.70;
/// Share of the redo capacity that the pace aims to stay below.
const AGE_AIM: f64 = 0.50;

/// How often a cleaner that has something to do comes.
const ROUND: Duration = Duration::from_millis(100);
/// How often one comes that has nothing to do.
const ROUND_IDLE: Duration = Duration::from_secs(1);
/// How often one comes that somebody waits for and who finds nothing to clean: what is missing is
/// latched, or being read.
const ROUND_IN_VAIN: Duration = Duration::from_millis(1);
/// A round that lasted longer (a machine asleep, a debugger) counts as one of this length.
const ELAPSED_MAX: Duration = Duration::from_secs(2);
/// Most batches of one round, so that the engine's thread sees that it shall end.
const BATCHES_MAX: usize = 16;

/// What the redo controller looks at; one instance's part of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedoView {
    /// Redo from the instance's oldest change to the log's end, in bytes.
    pub age_bytes: u64,
    /// Redo that the files hold, in bytes.
    pub capacity_bytes: u64,
    /// Redo that comes, in bytes per second.
    pub redo_rate: f64,
    /// Changed pages, and frames, of the instance.
    pub dirty: usize,
    pub frames: usize,
    /// Nothing was changed for a while.
    pub idle: bool,
}

/// The settings of the redo controller, for one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedoLimits {
    /// Pages per second.
    pub io_capacity: f64,
    pub io_capacity_max: f64,
    /// Shares, 0 to 1.
    pub dirty_lwm: f64,
    pub dirty_max: f64,
    pub age_lwm: f64,
    pub idle: f64,
    pub adaptive: bool,
}

impl RedoLimits {
    fn of(s: &PoolSettings, instances: usize) -> RedoLimits {
        let part = |capacity: u64| capacity as f64 / instances as f64;
        RedoLimits {
            io_capacity: part(s.io_capacity()),
            io_capacity_max: part(s.io_capacity_max().max(s.io_capacity())),
            dirty_lwm: f64::from(s.max_dirty_pages_lwm_millipct()) / 100_000.0,
            dirty_max: f64::from(s.max_dirty_pages_millipct()) / 100_000.0,
            age_lwm: f64::from(s.adaptive_flushing_lwm()) / 100.0,
            idle: f64::from(s.idle_flush_pct()) / 100.0,
            adaptive: s.adaptive_flushing(),
        }
    }
}

/// How many changed pages to write per second; infinite = as many as the disk takes.
pub(crate) fn pages_per_second(v: &RedoView, l: &RedoLimits) -> f64 {
    let age = v.age_bytes as f64 / v.capacity_bytes.max(1) as f64;
    if age >= AGE_MAX {
        return f64::INFINITY;
    }
    let idle = if v.idle { l.io_capacity * l.idle } else { 0.0 };
    by_age(age, v, l).max(by_dirty(v, l)).max(idle).min(l.io_capacity_max)
}

/// Writes as fast as changes of the oldest redo come up for writing, somewhat slower while the redo
/// is young and faster when it is old.
fn by_age(age: f64, v: &RedoView, l: &RedoLimits) -> f64 {
    if !l.adaptive || age < l.age_lwm {
        return 0.0;
    }
    // Pages per byte of redo: what becomes the oldest when the log grows by a byte.
    let density = v.dirty as f64 / v.age_bytes.max(1) as f64;
    let urge = (age - l.age_lwm) / (AGE_AIM.max(l.age_lwm + 0.05) - l.age_lwm);
    v.redo_rate * density * (0.5 + urge) + l.io_capacity * urge * urge
}

fn by_dirty(v: &RedoView, l: &RedoLimits) -> f64 {
    let dirty = v.dirty as f64 / v.frames.max(1) as f64;
    if dirty >= l.dirty_max {
        return l.io_capacity_max;
    }
    match l.dirty_lwm > 0.0 && dirty >= l.dirty_lwm {
        true => l.io_capacity * dirty / l.dirty_max,
        false => 0.0,
    }
}

/// How many frames to keep free when `taken` of `frames` were taken per second.
pub(crate) fn frames_ready(taken: f64, frames: usize, scan_depth: usize) -> usize {
    if taken < 1.0 {
        return 0;
    }
    // Two rounds' worth, and at most an eighth of the pool: free frames hold no page.
    let need = (taken * 2.0 * ROUND.as_secs_f64()).ceil() as usize;
    need.clamp(16, scan_depth).min(frames / 8)
}

/// What a cleaner remembers from round to round.
#[derive(Default)]
pub(crate) struct Rounds {
    last: Option<Last>,
    /// Redo that comes, in bytes per second, smoothed.
    redo_rate: f64,
    /// Pages that were due and not a whole one yet.
    credit: f64,
}

struct Last {
    at: Instant,
    tail: Lsn,
    taken: u64,
}

/// What happened since the last round.
struct Since {
    seconds: f64,
    taken_per_second: f64,
    idle: bool,
}

impl Rounds {
    fn next(&mut self, at: Instant, tail: Lsn, taken: u64, average_s: f64) -> Since {
        let last = self.last.replace(Last { at, tail, taken });
        let Some(last) = last else {
            return Since { seconds: ROUND.as_secs_f64(), taken_per_second: 0.0, idle: false };
        };
        let elapsed = at.saturating_duration_since(last.at).min(ELAPSED_MAX);
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let redo = tail.0.saturating_sub(last.tail.0) as f64;
        // An average that forgets; it rises at once and falls slowly.
        let weight = (seconds / average_s).min(1.0);
        let smooth = self.redo_rate + (redo / seconds - self.redo_rate) * weight;
        self.redo_rate = smooth.max((redo / seconds).min(smooth * 2.0));
        let taken_per_second = (taken - last.taken) as f64 / seconds;
        Since { seconds, taken_per_second, idle: redo == 0.0 && seconds >= 0.05 }
    }
}

impl Pool {
    /// One round of an instance's cleaner: frees frames ahead of need and writes the pages that are
    /// due. Returns how long to wait for the instance's work ([`Pool::wait_for_work`]) before the
    /// next round; zero when there is more to do at once.
    ///
    /// Errors as [`Pool::clean_instance`].
    pub fn cleaner_round(&self, instance: usize) -> Result<Duration> {
        let inst = &self.instances[instance];
        let mut rounds = inst.rounds.lock();
        let taken = inst.free.lock().taken;
        let average_s = f64::from(self.settings().flushing_avg_loops());
        let tail = self.log.tail();
        let since = rounds.next(host::clock::now(), tail, taken, average_s);
        let mut more = self.ready_frames(instance, since.taken_per_second)?;

        let view = self.redo_view(instance, tail, rounds.redo_rate, since.idle);
        let limits = RedoLimits::of(self.settings(), self.instances.len());
        let pace = pages_per_second(&view, &limits);
        let due = if pace.is_finite() { rounds.credit + pace * since.seconds } else { f64::MAX };
        let written = self.write_due(instance, due)?;
        // What the disk did not take in time is not owed for ever.
        rounds.credit = (due - written as f64).clamp(0.0, 1.0);
        more |= written as f64 + 1.0 <= due && written > 0;
        Ok(match () {
            () if more => Duration::ZERO,
            () if view.dirty == 0 && since.taken_per_second < 1.0 => ROUND_IDLE,
            () => ROUND,
        })
    }

    fn redo_view(&self, instance: usize, tail: Lsn, redo_rate: f64, idle: bool) -> RedoView {
        let inst = &self.instances[instance];
        let oldest = self.oldest_of(inst).min(tail);
        RedoView {
            age_bytes: tail.0 - oldest.0,
            capacity_bytes: self.log.room_bytes(),
            redo_rate,
            dirty: self.dirty_of(inst),
            frames: self.frames_of(instance),
            idle,
        }
    }

    /// The frames controller; true when frames are missing still.
    fn ready_frames(&self, instance: usize, taken_per_second: f64) -> Result<bool> {
        let depth = self.settings().lru_scan_depth() as usize;
        let frames = self.frames_of(instance);
        // Somebody who waits has taken nothing.
        let floor = usize::from(self.has_waiters(instance)) * BATCH_MAX.min(frames / 8);
        let ready = frames_ready(taken_per_second, frames, depth).max(floor);
        for _ in 0..BATCHES_MAX {
            if self.make_ready(instance, ready) == 0 {
                return Ok(false);
            }
            if self.clean(instance, BATCH_MAX, Pages::Wanted)? == 0 {
                // What is missing is latched, or being read.
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the pages with the oldest changes until `due` are written, or enough for one round.
    fn write_due(&self, instance: usize, due: f64) -> Result<usize> {
        let mut written = 0;
        for _ in 0..BATCHES_MAX {
            let left = (due - written as f64).min(BATCH_MAX as f64) as usize;
            if left == 0 {
                break;
            }
            match self.clean(instance, left, Pages::Oldest)? {
                0 => break,
                n => written += n,
            }
            if self.has_waiters(instance) {
                // A frame is needed now; the rest is for the next round.
                break;
            }
        }
        Ok(written)
    }

    fn has_waiters(&self, instance: usize) -> bool {
        self.instances[instance].waiters.load(Ordering::Relaxed) > 0
    }

    /// To be called before a cleaner's round: whoever needs the cleaner from here on ends the wait of
    /// [`Pool::wait_for_work`] after the round.
    pub fn look_for_work(&self, instance: usize) -> sync::Prepared<'_> {
        self.instances[instance].work.prepare()
    }

    /// Waits until somebody needs an instance's cleaner, or for `most`; not at all if `stop` holds
    /// ([`Pool::urge_cleaners`] lets it be asked). Somebody who waited before `seen` found the round
    /// in vain, so the next one comes soon, but not at once.
    pub fn wait_for_work(
        &self,
        instance: usize,
        seen: sync::Prepared<'_>,
        most: Duration,
        stop: impl Fn() -> bool,
    ) {
        if stop() {
            return;
        }
        let in_vain = self.has_waiters(instance) && !self.failed();
        let most = if in_vain { most.min(ROUND_IN_VAIN) } else { most };
        let work = &self.instances[instance].work;
        let _ = work.wait_unkillable(seen, sync::Deadline::after(most));
    }

    /// Calls all cleaners: the log is filling up, or they shall end.
    pub fn urge_cleaners(&self) {
        self.instances.iter().for_each(|i| i.work.notify_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn limits() -> RedoLimits {
        RedoLimits::of(&PoolSettings::new(), 1)
    }

    fn view(age_mib: u64) -> RedoView {
        RedoView {
            age_bytes: age_mib * MIB,
            capacity_bytes: 100 * MIB,
            redo_rate: 1e6,
            dirty: 700,
            frames: 8192,
            idle: false,
        }
    }

    #[test]
    fn the_pace_grows_with_age_up_to_everything() {
        let mut last = 0.0;
        for age in 0..100 {
            let pace = pages_per_second(&view(age), &limits());
            assert!(pace >= last, "age {age}: {pace} < {last}");
            match age {
                0..10 => assert_eq!(pace, 0.0),
                10..70 => assert!(pace > 0.0 && pace <= 20_000.0),
                _ => assert!(pace.is_infinite()),
            }
            last = pace;
        }
    }

    #[test]
    fn the_pace_grows_with_the_rate_of_redo() {
        let slow = pages_per_second(&view(20), &limits());
        let fast = pages_per_second(&RedoView { redo_rate: 1e7, ..view(20) }, &limits());
        assert!(fast > slow);
    }

    #[test]
    fn many_changed_pages_are_written_without_any_age() {
        let dirty = |dirty| pages_per_second(&RedoView { dirty, ..view(0) }, &limits());
        assert_eq!(dirty(700), 0.0);
        assert!(dirty(900) > 0.0 && dirty(900) < dirty(4000) && dirty(4000) < 10_000.0);
        assert_eq!(dirty(7500), 20_000.0);
        let off = RedoLimits { dirty_lwm: 0.0, ..limits() };
        assert_eq!(pages_per_second(&RedoView { dirty: 4000, ..view(0) }, &off), 0.0);
    }

    #[test]
    fn a_quiet_server_writes_what_is_left() {
        assert_eq!(pages_per_second(&RedoView { idle: true, ..view(0) }, &limits()), 10_000.0);
        let calm = RedoLimits { idle: 0.1, ..limits() };
        assert_eq!(pages_per_second(&RedoView { idle: true, ..view(0) }, &calm), 1000.0);
    }

    /// The controller and a workload that changes random pages: the redo's age comes to rest, and
    /// writers are never stopped.
    #[test]
    fn the_loop_comes_to_rest_below_the_stop() {
        for (redo_rate, page_bytes) in [(2e6, 200.0), (20e6, 1000.0), (40e6, 16_000.0)] {
            let (pages, capacity) = (200_000.0, 1e9);
            // Changed pages by the second of their oldest change.
            let mut by_second: std::collections::VecDeque<f64> = Default::default();
            let (mut age_max, mut paces) = (0.0f64, Vec::new());
            for second in 0..2000 {
                let dirty: f64 = by_second.iter().sum();
                let changes = redo_rate / page_bytes;
                by_second.push_back((pages - dirty) * (1.0 - (-changes / pages).exp()));
                let age = by_second.len() as f64 * redo_rate;
                let v = RedoView {
                    age_bytes: age as u64,
                    capacity_bytes: capacity as u64,
                    redo_rate,
                    dirty: dirty as usize,
                    frames: 2_000_000,
                    idle: false,
                };
                let mut left = pages_per_second(&v, &limits()).min(40_000.0);
                paces.push(left);
                while let Some(oldest) = by_second.front_mut() {
                    let n = oldest.min(left);
                    (*oldest, left) = (*oldest - n, left - n);
                    if *oldest > 0.0 {
                        break;
                    }
                    by_second.pop_front();
                }
                if second > 100 {
                    age_max = age_max.max(age / capacity);
                }
            }
            assert!(age_max < AGE_MAX, "redo rate {redo_rate}: the age reached {age_max}");
            let rest = &paces[1500..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            let off = rest.iter().map(|p| (p - mean).abs()).fold(0.0, f64::max);
            assert!(off <= 0.5 * mean, "redo rate {redo_rate}: {off} off the mean of {mean}");
        }
    }

    #[test]
    fn frames_are_made_ready_for_those_who_take_them() {
        assert_eq!(frames_ready(0.0, 8192, 1024), 0);
        assert_eq!(frames_ready(10.0, 8192, 1024), 16);
        assert_eq!(frames_ready(2000.0, 8192, 1024), 400);
        assert_eq!(frames_ready(1e6, 8192, 1024), 1024);
        assert_eq!(frames_ready(1e6, 64, 1024), 8);
    }

    #[test]
    fn the_rate_of_redo_rises_at_once_and_falls_slowly() {
        let (mut rounds, mut at, mut tail) = (Rounds::default(), Instant::now(), 0);
        let mut go = |rounds: &mut Rounds, bytes: u64, n: usize| {
            for _ in 0..n {
                (at, tail) = (at + Duration::from_millis(100), tail + bytes);
                rounds.next(at, Lsn(tail), 0, 30.0);
            }
            rounds.redo_rate
        };
        let up = go(&mut rounds, 100_000, 25);
        assert!(up > 5e5 && up <= 1.01e6, "{up}");
        let down = go(&mut rounds, 0, 10);
        assert!(down > up * 0.9, "{down}");
        assert!(go(&mut rounds, 0, 1200) < up * 0.1);
    }
}
