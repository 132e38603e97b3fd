//! What one page lacks: the places of its records in the log that was read.
//!
//! 1. Each thread notes places in log order; what several threads noted is put in order when the page is given
//!    its redo. Guard: `what_is_dropped_is_never_missed`.
//! 2. A record that makes the page anew drops those before it: whatever they did is overwritten. Guard:
//!    `what_is_dropped_is_never_missed`.
//! 3. A raw write drops an earlier one whose bytes it covers, as far as those are remembered. Raw writes read
//!    nothing, and no page has other operations between them but such that make it anew. The header page of an
//!    undo segment, which every write of a transaction changes, so has a handful of records to apply and not
//!    all of the log's. Guard: `what_is_dropped_is_never_missed`,
//!    `a_page_written_a_hundred_thousand_times_has_few_records`.

use page::PageOp;

/// Where a record is: number of its window, and its first byte there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub window: u32,
    pub at: u32,
}

impl Place {
    /// Stands where a record was dropped.
    const DROPPED: Place = Place { window: u32::MAX, at: u32::MAX };
}

/// Raw writes that a page's later ones are compared with.
const WRITES: usize = 8;
/// With fewer records dropped it is not worth to close the gaps.
const GAPS_MIN: usize = 32;

/// What one page lacks, at most.
#[derive(Debug, Default)]
pub(crate) struct PageRedo {
    places: Vec<Place>,
    /// The last record that makes the page anew: what the file has is of no meaning.
    anew: Option<Place>,
    writes: Option<Box<Writes>>,
}

/// The latest raw writes of a page.
#[derive(Debug, Default)]
struct Writes {
    list: [Write; WRITES],
    next: usize,
    /// Gaps in the list of places.
    dropped: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Write {
    at: u16,
    /// 0: none.
    len: u16,
    /// Of its place.
    index: u32,
}

impl Write {
    fn covers(self, other: Write) -> bool {
        let end = |w: Write| u32::from(w.at) + u32::from(w.len);
        self.at <= other.at && end(other) <= end(self)
    }
}

impl PageRedo {
    /// Notes a record, later than those before; how many bytes of memory that took.
    #[inline]
    pub(super) fn push(&mut self, place: Place, op: &[u8]) -> usize {
        let before = self.places.capacity();
        let mut more = 0;
        if PageOp::makes_anew(op) {
            self.places.clear();
            (self.anew, self.writes) = (Some(place), None);
        } else if let Some((at, len)) = PageOp::raw_write(op) {
            more = if self.writes.is_none() { size_of::<Writes>() } else { 0 };
            self.overwrite(at, len);
        }
        self.places.push(place);
        more + (self.places.capacity() - before) * size_of::<Place>()
    }

    /// A raw write comes next.
    fn overwrite(&mut self, at: u16, len: u16) {
        let writes = self.writes.get_or_insert_default();
        if writes.dropped >= GAPS_MIN.max(self.places.len() / 2) {
            writes.close_gaps(&mut self.places);
        }
        let new = Write { at, len, index: self.places.len() as u32 };
        let mut slot = None;
        for (i, old) in writes.list.iter_mut().enumerate() {
            if old.len > 0 && new.covers(*old) {
                self.places[old.index as usize] = Place::DROPPED;
                writes.dropped += 1;
                old.len = 0;
            }
            if old.len == 0 {
                slot = Some(i);
            }
        }
        let slot = slot.unwrap_or_else(|| {
            writes.next = (writes.next + 1) % WRITES;
            writes.next
        });
        writes.list[slot] = new;
    }

    /// Adds what another thread noted.
    pub(super) fn join(&mut self, other: PageRedo) {
        self.places.extend(other.places);
        self.anew = self.anew.max(other.anew);
        self.writes = None;
    }

    /// What counts, in log order.
    pub(super) fn in_order(mut self) -> PageRedo {
        let anew = self.anew;
        self.places.retain(|p| *p != Place::DROPPED && Some(*p) >= anew);
        if !self.places.is_sorted() {
            // Each thread's part is sorted; this sort makes use of that.
            self.places.sort();
        }
        self.writes = None;
        self
    }

    /// The records, after [`PageRedo::in_order`].
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// What the file has is of no meaning.
    pub(super) fn is_anew(&self) -> bool {
        self.anew.is_some()
    }
}

impl Writes {
    fn close_gaps(&mut self, places: &mut Vec<Place>) {
        for write in &mut self.list {
            let before = &places[..write.index as usize];
            write.index = before.iter().filter(|p| **p != Place::DROPPED).count() as u32;
        }
        places.retain(|p| *p != Place::DROPPED);
        self.dropped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::rng::Rng;

    fn encoded(op: &PageOp<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        op.encode(&mut out);
        out
    }

    /// Notes random raw writes on several threads' lists, with a page made anew in between, and
    /// compares the bytes that come of it with those of all records.
    #[test]
    fn what_is_dropped_is_never_missed() {
        const BYTES: usize = 64;
        let anew = encoded(&PageOp::Init {
            kind: page::PageKind::Undo,
            level: 0,
            index_id: base::IndexId(0),
            low_fence: b"",
            high_fence: None,
        });
        let mut dropped = 0;
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let mut parts: [PageRedo; 3] = Default::default();
            let mut ops: Vec<Option<(usize, usize)>> = Vec::new();
            for window in 0..rng.below(20) as u32 {
                let part = &mut parts[rng.below(3) as usize];
                for _ in 0..rng.below(40) {
                    let place = Place { window, at: ops.len() as u32 };
                    if rng.chance(1, 200) {
                        part.push(place, &anew);
                        ops.push(None);
                        continue;
                    }
                    // A few places are written again and again.
                    let at = [0, 8, 9, rng.below(BYTES as u64)][rng.below(4) as usize];
                    let len = rng.below(12.min(BYTES as u64 - at + 1));
                    let write = PageOp::Write { at: at as u16, bytes: &vec![1; len as usize] };
                    part.push(place, &encoded(&write));
                    ops.push(Some((at as usize, len as usize)));
                }
            }
            let play = |which: &mut dyn Iterator<Item = usize>| {
                let mut bytes = [usize::MAX; BYTES];
                for i in which {
                    match ops[i] {
                        None => bytes = [usize::MAX; BYTES],
                        Some((at, len)) => bytes[at..at + len].fill(i),
                    }
                }
                bytes
            };
            let mut redo = PageRedo::default();
            parts.into_iter().for_each(|p| redo.join(p));
            let redo = redo.in_order();
            let kept: Vec<usize> = redo.places().iter().map(|p| p.at as usize).collect();
            assert_eq!(play(&mut kept.iter().copied()), play(&mut (0..ops.len())), "seed {seed}");
            assert_eq!(kept.last().copied(), ops.len().checked_sub(1), "the page's LSN");
            dropped += ops.len() - kept.len();
        }
        assert!(dropped > 1000, "{dropped}");
    }

    #[test]
    fn a_page_written_a_hundred_thousand_times_has_few_records() {
        let mut redo = PageRedo::default();
        let mut bytes = 0;
        for n in 0..100_000u32 {
            let record = vec![1; 200 + (n % 7) as usize];
            let place = |at| Place { window: 0, at };
            bytes += redo.push(place(2 * n), &encoded(&PageOp::Write { at: 256, bytes: &record }));
            let header = PageOp::Write { at: 72, bytes: &[2; 19] };
            bytes += redo.push(place(2 * n + 1), &encoded(&header));
        }
        assert!(bytes < 4096, "{bytes} bytes");
        assert!(redo.in_order().places().len() < 64);
    }
}
