//! Runs: adjacent locks of one owner, mode and kind that a scan made, kept from key to key.
//!
//! A run stands for one lock on each key within its bounds, whether a row has the key or not; everything else about a lock
//! (what conflicts, what covers, who inherits) is as for single ones. Nobody waits for a run: who has to makes the lock of
//! the one key a single one of the run's owner first ([`crate::Locks::lock`]), and queues behind it.
//!
//! 1. A scan, up or down, adds the next key as the run's *tip*, a lock on that key alone. When it comes back for the key after the
//!    tip it has looked at its leaves since: there was no key between the run's end and the tip. Only then the run grows to the
//!    tip ([`List::extend`]). So no key that the scan has not seen is ever within a run. Guard: the model
//!    `a_run_meets_inserts_into_its_leaf`, up and down, and `a_list_stands_for_what_was_added_and_not_taken_out`.
//! 2. A key that is inserted later between end and tip, or within a run, is the owner's if the run covers gaps: nobody else may
//!    insert it. If it does not, the inserter takes the key out of the run, or has the tip begin a run of its own
//!    ([`Runs::inserted`]). He calls it under his page latch, before the key is there; the scan looks at its leaf after the tip was
//!    there: one of the two sees the other (`locks`, invariant 2). Guard: the model
//!    `a_run_meets_inserts_into_its_leaf`.
//! 3. A key that goes stays within the bounds of a run: whoever inserts it again asks for its gap, or takes it out. Guard: `a_key_that_goes_leaves_its_gap_locked`.
//! 4. No single lock is on a key that a run of the same owner and shape contains: single locks go first
//!    ([`crate::Locks::lock_next`]). Guard: the model `runs_and_single_locks_exclude_each_other`.
//! 5. A list of runs is there only while its owner's list says so (`owner`, invariant 2), or is about to go. Guard: `Locks::verify`.
//! 6. A run and single locks: who makes a single lock counts it in its part of the shard, then looks for runs; who adds a tip makes it
//!    (its group of indexes says since when there are runs at all), then looks whether the part is clear. Both are sequentially
//!    consistent; the one who sees the other gives way. Where a part has locks, the tip is made under the shard's mutex. Guard: the model
//!    `runs_and_single_locks_exclude_each_other`.
//! 7. A group's mutex is taken after a shard's, never before. Guard: the models of `tests/models.rs`, as `locks`, 1.

use crate::mode::{Inherited, Kind, Shape, Target};
use crate::queue::By;
use base::IndexId;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::{Mutex, MutexGuard};

instrument::classes! {
    static GROUP: MutexClass = "wait/synch/mutex/limpid/lock_runs";
}

/// Number of groups of indexes.
const GROUPS: usize = 128;

type Key = SmallVec<[u8; 24]>;

/// From key to key, each of them included or not; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub low: (Key, bool),
    pub high: (Key, bool),
}

impl Run {
    fn one(key: &[u8]) -> Run {
        let end = (Key::from_slice(key), true);
        Run { low: end.clone(), high: end }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        let ((low, low_in), (high, high_in)) = (&self.low, &self.high);
        let above = key > &low[..] || *low_in && key == &low[..];
        above && (key < &high[..] || *high_in && key == &high[..])
    }

    fn ends_with(&self, key: &[u8]) -> bool {
        self.high.1 && self.high.0[..] == *key
    }

    fn begins_with(&self, key: &[u8]) -> bool {
        self.low.1 && self.low.0[..] == *key
    }

    fn is_empty(&self) -> bool {
        self.low.0 > self.high.0 || self.low.0 == self.high.0 && !(self.low.1 && self.high.1)
    }

    /// What is below a key of it and what is above, without the key.
    fn without(&self, key: &[u8]) -> [Option<Run>; 2] {
        let cut = (Key::from_slice(key), false);
        let below = Run { low: self.low.clone(), high: cut.clone() };
        let above = Run { low: cut, high: self.high.clone() };
        [below, above].map(|part| Some(part).filter(|part| !part.is_empty()))
    }
}

/// The run that a scan makes longer.
#[derive(Debug, Default)]
struct Growing {
    run: Option<Run>,
    tip: Option<Key>,
    /// Something was inserted between run and tip.
    apart: bool,
}

/// The runs of one owner in an index, of one shape.
#[derive(Debug)]
pub(crate) struct List {
    pub index: IndexId,
    pub by: By,
    pub shape: Shape,
    pub inherited: Inherited,
    /// Rows that were locked, but those that were given back or are single locks by now.
    pub rows: u64,
    growing: Growing,
    /// The others, by their lower ends; no two of them overlap.
    settled: BTreeMap<Key, (bool, Key, bool)>,
    /// What its owner counts for it, in bytes.
    pub counted: usize,
}

impl List {
    fn new(index: IndexId, by: By, shape: Shape, inherited: Inherited) -> List {
        let (growing, settled) = (Growing::default(), BTreeMap::new());
        List { index, by, shape, inherited, rows: 0, growing, settled, counted: 0 }
    }

    fn settled_at(&self, key: &[u8]) -> Option<Run> {
        let (low, (low_in, high, high_in)) =
            self.settled.range(..=Key::from_slice(key)).next_back()?;
        Some(Run { low: (low.clone(), *low_in), high: (high.clone(), *high_in) })
    }

    /// Whether it stands for a lock on a key.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.growing.tip.as_deref() == Some(key)
            || self.growing.run.as_ref().is_some_and(|run| run.contains(key))
            || !self.settled.is_empty() && self.settled_at(key).is_some_and(|r| r.contains(key))
    }

    /// All runs, the tip as one of its own.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let settled = self.settled.iter().map(|(low, (low_in, high, high_in))| Run {
            low: (low.clone(), *low_in),
            high: (high.clone(), *high_in),
        });
        let tip = self.growing.tip.as_deref().map(Run::one);
        settled.chain(self.growing.run.clone()).chain(tip)
    }

    /// Puts a run beside the others, or makes it one with those that it overlaps.
    fn settle(&mut self, mut run: Run) {
        if let Some(before) = self.settled_at(&run.low.0) {
            let touches = before.high.0 > run.low.0
                || before.high.0 == run.low.0 && (before.high.1 || run.low.1);
            if touches {
                self.settled.remove(&before.low.0);
                let low_in = before.low.1 || before.low.0 == run.low.0 && run.low.1;
                run.low = (before.low.0, low_in);
                run.high = later(run.high, before.high);
            }
        }
        while let Some(next) = self.settled.range(run.low.0.clone()..=run.high.0.clone()).next()
            && (*next.0 < run.high.0 || next.1.0 || run.high.1)
        {
            let low = next.0.clone();
            if let Some((low_in, high, high_in)) = self.settled.remove(&low) {
                run.high.1 |= low == run.high.0 && low_in;
                run.high = later(run.high, (high, high_in));
            }
        }
        self.settled.insert(run.low.0, (run.low.1, run.high.0, run.high.1));
    }

    /// Adds the lock on `key`, the next one after `after`, which the list stands for, above it or below: nothing is between
    /// the two. With no `after` it begins a run.
    pub fn extend(&mut self, after: Option<&[u8]>, key: &[u8]) {
        debug_assert!(!self.contains(key), "a key is locked once (4)");
        self.rows += 1;
        let mut growing = std::mem::take(&mut self.growing);
        if let Some(after) = after.filter(|after| growing.tip.as_deref() == Some(after)) {
            self.join(&mut growing, after);
        }
        let goes_on = |run: &Run, after: &[u8]| match key > after {
            true => run.ends_with(after),
            false => run.begins_with(after),
        };
        let goes_on = |run: &Run| after.is_some_and(|after| goes_on(run, after));
        if !growing.run.as_ref().is_some_and(goes_on) {
            growing.run.take().into_iter().for_each(|run| self.settle(run));
            let there = after.and_then(|after| self.settled_at(after)).filter(goes_on);
            growing.run = there.inspect(|run| drop(self.settled.remove(&run.low.0)));
        }
        growing.tip.take().into_iter().for_each(|tip| self.settle(Run::one(&tip)));
        growing.apart = false;
        growing.tip = Some(Key::from_slice(key));
        self.growing = growing;
    }

    /// The run grows to its tip (invariant 1), up or down.
    fn join(&mut self, growing: &mut Growing, tip: &[u8]) {
        growing.tip = None;
        if growing.apart {
            growing.run.take().into_iter().for_each(|run| self.settle(run));
        }
        let end = (Key::from_slice(tip), true);
        match &mut growing.run {
            Some(run) if *tip > run.high.0[..] => run.high = end,
            Some(run) => run.low = end,
            None => growing.run = Some(Run { low: end.clone(), high: end }),
        }
    }

    /// Takes a key out; whether it was there.
    fn exclude(&mut self, key: &[u8]) -> bool {
        let mut was = self.growing.tip.take_if(|tip| tip[..] == *key).is_some();
        if let Some(run) = self.growing.run.take_if(|run| run.contains(key)) {
            // What is kept ends where it may grow to its tip.
            let [below, above] = run.without(key);
            let down = self.growing.tip.as_ref().is_some_and(|tip| *tip < run.low.0);
            let (kept, rest) = if down { (below, above) } else { (above, below) };
            rest.into_iter().for_each(|rest| self.settle(rest));
            self.growing.run = kept;
            was = true;
        }
        if let Some(run) = self.settled_at(key).filter(|run| run.contains(key)) {
            self.settled.remove(&run.low.0);
            run.without(key).into_iter().flatten().for_each(|part| self.settle(part));
            was = true;
        }
        was
    }

    /// Takes out a key that was locked.
    pub fn give_back(&mut self, key: &[u8]) -> bool {
        let was = self.exclude(key);
        self.rows = self.rows.saturating_sub(u64::from(was));
        was
    }

    /// A key is about to be inserted (invariant 2).
    fn inserted(&mut self, key: &[u8]) {
        if self.shape.kind == Kind::Record {
            self.exclude(key);
            if let (Some(run), Some(tip)) = (&self.growing.run, &self.growing.tip) {
                let above = *key >= run.high.0[..] && *key < tip[..];
                let below = *key <= run.low.0[..] && *key > tip[..];
                self.growing.apart |= above || below;
            }
        }
    }

    /// Estimate of its memory, in bytes.
    pub fn bytes(&self) -> usize {
        let key = self.growing.tip.as_ref().filter(|key| key.spilled()).map_or(0, |key| key.len());
        let each = size_of::<(Key, (bool, Key, bool))>() * 3 / 2 + 2 * key;
        size_of::<List>() + (self.settled.len() + 1) * each
    }

    /// # Panics
    /// When runs are empty or overlap.
    pub fn verify(&self) {
        let all: Vec<Run> = self.runs().collect();
        assert!(all.iter().all(|run| !run.is_empty()), "{all:?}");
        let settled = &all[..self.settled.len()];
        for pair in settled.windows(2) {
            let apart = pair[0].high.0 < pair[1].low.0
                || pair[0].high.0 == pair[1].low.0 && !(pair[0].high.1 && pair[1].low.1);
            assert!(apart, "settled runs overlap: {pair:?}");
        }
    }
}

/// The later one of two upper ends.
fn later(a: (Key, bool), b: (Key, bool)) -> (Key, bool) {
    match a.0.cmp(&b.0) {
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Equal => (a.0, a.1 || b.1),
    }
}

/// The runs of some indexes.
pub(crate) struct Group {
    /// How many lists there are; read without the mutex, written under it.
    present: SharedAtomic<u32, { class::ROW_LOCK }>,
    lists: Mutex<Vec<List>>,
}

/// A group whose mutex is held.
pub(crate) struct Runs<'g> {
    group: &'g Group,
    lists: MutexGuard<'g, Vec<List>>,
}

/// The groups of all indexes.
pub(crate) fn groups() -> Box<[CacheLine<Group>]> {
    let group = || Group { present: SharedAtomic::new(0), lists: Mutex::new(&GROUP, Vec::new()) };
    (0..GROUPS).map(|_| CacheLine(group())).collect()
}

/// The group of an index.
pub(crate) fn group_of(groups: &[CacheLine<Group>], index: IndexId) -> &Group {
    &groups[index.0 as usize % GROUPS].0
}

impl Group {
    /// Whether there is no run: one load.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.present.load(Ordering::SeqCst) == 0
    }

    pub fn lock(&self) -> Runs<'_> {
        Runs { group: self, lists: self.lists.lock() }
    }

    /// As [`Self::lock`], if there are runs.
    pub fn lock_any(&self) -> Option<Runs<'_>> {
        (!self.is_empty()).then(|| self.lock())
    }
}

impl Runs<'_> {
    pub fn all(&self) -> impl Iterator<Item = &List> {
        self.lists.iter()
    }

    /// The lists that stand for a lock on a target.
    pub fn on<'a>(&'a self, target: Target<'a>) -> impl Iterator<Item = &'a List> {
        let lists = self.lists.iter().filter(move |l| l.index == target.index);
        lists.filter(move |l| target.key.is_some_and(|key| l.contains(key)))
    }

    /// A lock of `by` that has all that `shape` would give.
    pub fn covered(&self, target: Target<'_>, by: By, shape: Shape) -> bool {
        self.on(target).any(|l| l.by == by && l.shape.covers(shape, false))
    }

    /// Whether a request would have to wait.
    pub fn conflicts(&self, target: Target<'_>, by: By, shape: Shape) -> bool {
        self.on(target).any(|l| l.by != by && shape.waits_for(l.shape, false))
    }

    /// The list of an owner and shape, if there is one.
    pub fn list(&mut self, index: IndexId, by: By, shape: Shape) -> Option<&mut List> {
        self.lists.iter_mut().find(|l| l.by == by && l.index == index && l.shape == shape)
    }

    /// A new list, with nothing in it.
    pub fn add(&mut self, index: IndexId, by: By, shape: Shape, inherited: Inherited) {
        self.group.present.fetch_add(1, Ordering::SeqCst);
        self.lists.push(List::new(index, by, shape, inherited));
    }

    /// A key is about to be inserted (invariant 2).
    pub fn inserted(&mut self, index: IndexId, key: &[u8]) {
        self.lists.iter_mut().filter(|l| l.index == index).for_each(|l| l.inserted(key));
    }

    /// Takes one's lock on a key out of the run, if there is one that a request of `by` would have to wait for.
    pub fn take_out(&mut self, target: Target<'_>, by: By, shape: Shape) -> Option<TakenOut> {
        let key = target.key?;
        let blocks = |l: &&mut List| {
            l.index == target.index && l.by != by && shape.waits_for(l.shape, false)
        };
        let list = self.lists.iter_mut().filter(blocks).find(|l| l.contains(key))?;
        list.give_back(key);
        Some(TakenOut { by: list.by, shape: list.shape, inherited: list.inherited })
    }

    /// Takes out what an owner has in an index.
    pub fn remove(&mut self, index: IndexId, by: By) {
        let before = self.lists.len();
        self.lists.retain(|l| !(l.by == by && l.index == index));
        let gone = before - self.lists.len();
        self.group.present.fetch_sub(gone as u32, Ordering::SeqCst);
    }

    /// # Panics
    /// When an invariant does not hold.
    pub fn verify(&self) {
        let present = self.group.present.load(Ordering::SeqCst);
        assert_eq!(present as usize, self.lists.len(), "lists are counted (6)");
        self.lists.iter().for_each(List::verify);
    }
}

/// A lock that a run stood for.
pub(crate) struct TakenOut {
    pub by: By,
    pub shape: Shape,
    pub inherited: Inherited,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use stdx::rng::Rng;

    /// Against a set of keys: whatever is added and taken out, the list stands for what it should.
    #[test]
    fn a_list_stands_for_what_was_added_and_not_taken_out() {
        for seed in 0..2_000 {
            let (mut rng, by) = (Rng::new(seed), By { slot: 0, serial: 1 });
            let (index, shape) = (IndexId(1), Shape::WRITE);
            let mut list = List::new(index, by, shape, Inherited::Never);
            // Keys that rows have, and those of them that are locked.
            let mut there: BTreeSet<u8> = (0..40).filter(|_| rng.chance(1, 2)).collect();
            let mut locked: BTreeSet<u8> = BTreeSet::new();
            let mut last: Option<u8> = None;
            let mut down = false;
            for _ in 0..120 {
                let key = rng.below(40) as u8;
                match rng.below(6) {
                    0..3 => {
                        // Scans go up or down.
                        down ^= rng.chance(1, 12);
                        let from = last.filter(|_| rng.chance(9, 10));
                        let next = match down {
                            false => there.iter().find(|k| from.is_none_or(|from| **k > from)),
                            true => there.iter().rfind(|k| from.is_none_or(|from| **k < from)),
                        };
                        let next = next.copied();
                        if let Some(next) = next.filter(|next| !locked.contains(next)) {
                            let after = from.filter(|from| locked.contains(from)).map(|k| [k]);
                            list.extend(after.as_ref().map(|k| &k[..]), &[next]);
                            locked.insert(next);
                        }
                        last = next;
                    }
                    3 if there.contains(&key) => {
                        assert_eq!(list.give_back(&[key]), locked.remove(&key));
                    }
                    4 if there.insert(key) => {
                        list.inserted(&[key]);
                    }
                    _ => last = last.filter(|_| rng.chance(1, 2)),
                }
                list.verify();
                for key in &there {
                    assert_eq!(
                        list.contains(&[*key]),
                        locked.contains(key),
                        "{seed}: {key} {list:?}"
                    );
                }
            }
        }
    }
}
