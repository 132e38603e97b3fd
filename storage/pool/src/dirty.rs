//! Which frames of an instance hold changes, oldest first.
//!
//! 1. A frame that becomes changed is pushed on the stack by its writer. Whoever holds the mutex of the
//!    [`DirtySet`] drains the stack into buckets of [`BUCKET_BYTES`] of LSN. Guard:
//!    `the_bound_follows_changes_flights_and_what_stays_latched`; `checkpoint_with` looks at all frames in
//!    debug builds.
//! 2. An entry counts as long as its frame's `rec_lsn` is the entry's: other entries are left over (the page
//!    was written or thrown away since) and are dropped when they are met. Guard:
//!    `the_bound_follows_changes_flights_and_what_stays_latched`.
//! 3. Changes that the cleaner has taken to write them stay in `in_flight`, a lower bound of theirs, until they
//!    are durable or put back. So stack, buckets, `stuck` and `in_flight` together never miss a change that the
//!    data file lacks. Guard: as 1; `no_order_of_steps_lets_a_checkpoint_pass_a_change`.

use crate::arena::Arena;
use base::Lsn;
use std::collections::BTreeMap;
use sync::Stack;

/// LSN range of a bucket, in bytes.
pub(crate) const BUCKET_BYTES: u64 = 1 << 20;

/// A change that is not on its way to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub lsn: Lsn,
    pub frame: u32,
}

/// The changed frames of one instance.
pub(crate) struct DirtySet {
    buckets: BTreeMap<u64, Vec<Entry>>,
    /// Pages that stayed latched when the cleaner came; they come last.
    stuck: Vec<Entry>,
    in_flight: Lsn,
    pages: usize,
    pages_in_flight: usize,
}

impl DirtySet {
    pub(crate) fn new() -> DirtySet {
        DirtySet {
            buckets: BTreeMap::new(),
            stuck: Vec::new(),
            in_flight: Lsn::MAX,
            pages: 0,
            pages_in_flight: 0,
        }
    }

    /// Puts what was pushed since into the buckets.
    pub(crate) fn drain(&mut self, stack: &Stack, arena: &Arena) {
        stack.take_all(
            |frame| &arena.header(frame).link,
            |frame| {
                if let Some(lsn) = arena.header(frame).rec_lsn() {
                    self.pages += 1;
                    self.put(Entry { lsn, frame });
                }
            },
        );
    }

    fn put(&mut self, e: Entry) {
        self.buckets.entry(e.lsn.0 / BUCKET_BYTES).or_default().push(e);
    }

    /// How many frames hold changes that the data file may lack.
    pub(crate) fn pages(&self) -> usize {
        self.pages + self.pages_in_flight
    }

    /// Takes up to `limit` of the oldest changes out, into `out`, and notes them in flight.
    pub(crate) fn pick(&mut self, limit: usize, arena: &Arena, out: &mut Vec<Entry>) {
        self.pick_buckets(limit, arena, out);
        if out.is_empty() && !self.stuck.is_empty() {
            for e in std::mem::take(&mut self.stuck) {
                self.put(e);
            }
            self.pick_buckets(limit, arena, out);
        }
        self.fly(out);
    }

    /// Notes changes in flight.
    pub(crate) fn fly(&mut self, entries: &[Entry]) {
        self.in_flight = entries.iter().map(|e| e.lsn).fold(self.in_flight, Lsn::min);
    }

    fn pick_buckets(&mut self, limit: usize, arena: &Arena, out: &mut Vec<Entry>) {
        while out.len() < limit {
            let Some(mut bucket) = self.buckets.first_entry() else { return };
            let entries = bucket.get_mut();
            // The oldest at the end. Only the newest bucket gets entries after it was sorted.
            if !entries.is_sorted_by(|a, b| a.lsn >= b.lsn) {
                entries.sort_unstable_by_key(|e| (std::cmp::Reverse(e.lsn), e.frame));
            }
            while out.len() < limit {
                match entries.pop() {
                    Some(e) if counts(&e, arena) => out.push(e),
                    Some(_) => {}
                    None => {
                        bucket.remove();
                        break;
                    }
                }
            }
        }
    }

    /// Puts an entry back whose page stayed latched.
    pub(crate) fn put_back(&mut self, e: Entry) {
        self.stuck.push(e);
    }

    /// `pages` of those picked are being written; they are not counted as changed any more.
    pub(crate) fn taken_off(&mut self, pages: usize) {
        self.pages = self.pages.saturating_sub(pages);
        self.pages_in_flight = pages;
    }

    /// What was in flight is durable.
    pub(crate) fn landed(&mut self) {
        self.in_flight = Lsn::MAX;
        self.pages_in_flight = 0;
    }

    /// A changed page was thrown away.
    pub(crate) fn discarded(&mut self) {
        self.pages = self.pages.saturating_sub(1);
    }

    /// The oldest change that the data file may lack; the stack was drained before.
    pub(crate) fn oldest(&mut self, arena: &Arena) -> Lsn {
        self.stuck.retain(|e| counts(e, arena));
        let mut oldest = self.stuck.iter().map(|e| e.lsn).fold(self.in_flight, Lsn::min);
        while let Some(mut bucket) = self.buckets.first_entry() {
            bucket.get_mut().retain(|e| counts(e, arena));
            match bucket.get().iter().map(|e| e.lsn).min() {
                Some(lsn) => {
                    oldest = oldest.min(lsn);
                    break;
                }
                None => bucket.remove(),
            };
        }
        oldest
    }
}

/// Whether an entry stands for a change that is there and not on its way to the disk.
pub(crate) fn counts(e: &Entry, arena: &Arena) -> bool {
    arena.header(e.frame).rec_lsn() == Some(e.lsn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(arena: &Arena, stack: &Stack, frame: u32, lsn: u64) {
        if arena.header(frame).dirty(Lsn(lsn)) {
            stack.push(frame, &arena.header(frame).link);
        }
    }

    #[test]
    fn the_bound_follows_changes_flights_and_what_stays_latched() {
        let arena = Arena::reserve(8).unwrap();
        let (stack, mut set) = (Stack::new(), DirtySet::new());
        let mib = BUCKET_BYTES;
        for (frame, lsn) in [(1, 3 * mib + 5), (2, mib + 9), (3, mib + 7), (2, 9 * mib)] {
            change(&arena, &stack, frame, lsn);
        }
        assert_eq!(set.oldest(&arena), Lsn::MAX, "nothing is drained yet");
        set.drain(&stack, &arena);
        assert_eq!((set.oldest(&arena), set.pages()), (Lsn(mib + 7), 3));

        let mut picked = Vec::new();
        set.pick(2, &arena, &mut picked);
        picked.sort_by_key(|e| e.frame);
        assert_eq!(picked.iter().map(|e| e.frame).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(set.oldest(&arena), Lsn(mib + 7), "in flight");
        // Frame 2 stays latched; frame 3 is written, and changed again meanwhile.
        set.put_back(picked[0]);
        arena.header(3).take_off();
        set.taken_off(1);
        change(&arena, &stack, 3, 8 * mib);
        set.drain(&stack, &arena);
        assert_eq!(set.oldest(&arena), Lsn(mib + 7));
        arena.header(3).landed();
        set.landed();
        assert_eq!((set.oldest(&arena), set.pages()), (Lsn(mib + 9), 3));

        // What stayed latched comes when nothing else is left.
        picked.clear();
        set.pick(8, &arena, &mut picked);
        assert_eq!(picked.iter().map(|e| e.frame).collect::<Vec<_>>(), [1, 3]);
        for e in &picked {
            arena.header(e.frame).take_off();
        }
        set.taken_off(2);
        set.landed();
        picked.clear();
        set.pick(8, &arena, &mut picked);
        assert_eq!(picked, [Entry { lsn: Lsn(mib + 9), frame: 2 }]);
        arena.header(2).clear();
        set.discarded();
        set.landed();
        assert_eq!((set.oldest(&arena), set.pages()), (Lsn::MAX, 0));
    }
}
