//! A table read by several indexes at once: MySQL's index_merge.
//!
//! 1. Indexes name rows by their clustered keys; every row is fetched by its key afterwards, and once. What the
//! entries say need not hold any more, or not yet: the whole condition is checked of the row as it was fetched.
//! 2. Inputs whose keys come in order are read side by side: when a row is answered, those that named it stand at
//! their next key. Where an input has no such order (values turned out to be no keys) its keys, and those of the
//! others, are sorted first; they go to a file when there are many. 3. Locking reads lock the entries that they pass, and what their rows are locked by.

use super::access::Encoder;
use super::pushed_predicate::PushedPredicate;
use super::sorter::Sorter;
use super::tally::{self, Tally};
use super::{Operator, Run};
use crate::SqlError;
use crate::keyrange::KeyRanges;
use catalog::TableRef;
use engine::{Direction, LockWait, Reader, RowLock, Table};
use expr::{Frame, damaged};
use instrument::RowOperation;
use planner::query_plan::{LeafDef, Merge, MergeInput, MergePart, Read};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;
use value::RowLayout;

/// Gives the clustered keys of an index's ranges.
struct KeyScan {
    of: TableRef,
    index: usize,
    ranges: KeyRanges,
    /// The range that comes next.
    next: usize,
    is_open: bool,
    lock: Option<RowLock>,
    reader: Reader,
    row: Vec<u8>,
    tally: Tally,
}

impl KeyScan {
    fn new((of, index): (TableRef, usize), ranges: KeyRanges, lock: Option<RowLock>) -> KeyScan {
        let (reader, row, tally) = (Reader::new(), Vec::new(), Tally::default());
        KeyScan { of, index, ranges, next: 0, is_open: false, lock, reader, row, tally }
    }

    /// Goes to the next key; `false`: there is none.
    fn advance(&mut self, run: &Run<'_>, table: &Table) -> Result<bool, SqlError> {
        loop {
            if self.is_open {
                run.tick()?;
                self.tally.add(1);
                let start = self.tally.begin();
                let found = self.reader.next(run.st.client, table, &mut self.row)?;
                self.tally.read(start, u64::from(found));
                if found {
                    return Ok(true);
                }
                self.is_open = false;
            }
            let Some(range) = self.ranges.get(self.next) else { return Ok(false) };
            self.next += 1;
            let one_row = self.index == 0
                && range.0 == range.1
                && table.key(0).is_some_and(|key| key.parts.len() == 1);
            self.tally.open_apart(self.index, &range.0, one_row);
            self.tally.counts_for(run.st.tables.io(self.of));
            self.reader.open(run.st.client, table, self.index, range, Direction::Forward)?;
            // The key is all that is wanted of an entry. Rows that are to be changed are locked with their entries.
            self.reader.need_only(table, &[]);
            if let Some(lock) = self.lock {
                self.reader.lock(lock);
            }
            self.is_open = true;
        }
    }

    fn key(&self) -> &[u8] {
        self.reader.key()
    }
}

/// Indexes that together name rows.
struct Input {
    scans: Vec<KeyScan>,
    /// Ranges of the clustered key outside of which nothing counts.
    within: Option<KeyRanges>,
    /// The present row's.
    key: Vec<u8>,
    ended: bool,
}

impl Input {
    /// Goes to the next key that all indexes have; they stand at it then.
    fn advance(&mut self, run: &Run<'_>, table: &Table) -> Result<(), SqlError> {
        self.ended = true;
        let (mut at, mut agreed) = (0, 0);
        while agreed < self.scans.len() {
            let scan = &mut self.scans[at];
            loop {
                if !scan.advance(run, table)? {
                    return Ok(());
                }
                let key = scan.key();
                let order = if agreed == 0 { Ordering::Greater } else { key.cmp(&self.key) };
                match order {
                    Ordering::Less => {}
                    Ordering::Equal => agreed += 1,
                    Ordering::Greater
                        if self.within.as_ref().is_none_or(|ranges| ranges.contain(key)) =>
                    {
                        self.key.clear();
                        self.key.extend_from_slice(key);
                        agreed = 1;
                    }
                    Ordering::Greater => continue,
                }
                if order != Ordering::Less {
                    break;
                }
            }
            at = (at + 1) % self.scans.len();
        }
        self.ended = false;
        Ok(())
    }
}

/// Fetches the rows of keys.
struct Fetch<'p> {
    read: &'p Read,
    needed: &'p [usize],
    lock: Option<RowLock>,
    keyed: bool,
    predicate: PushedPredicate<'p>,
    layout: Arc<RowLayout>,
    reader: Reader,
}

impl Fetch<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let leaf = &mut frame.leaves[usize::from(self.read.leaf)];
        leaf.layout = Arc::clone(&self.layout);
        leaf.null = false;
        self.reader.need(self.needed);
        match self.lock {
            Some(lock) => self.reader.lock(lock),
            None => self.reader.unlocked(),
        }
        self.predicate.open(run, frame)
    }

    /// Whether the row of a key is there and satisfies the condition: then it is in the frame. `read`: MySQL has it
    /// with its key.
    fn row(
        &mut self,
        (key, read): (&[u8], bool),
        table: &Table,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        run.tick()?;
        let leaf = usize::from(self.read.leaf);
        frame.leaves[leaf].null = false;
        if !read {
            tally::fetched();
        }
        let timer = run.st.tables.timer(self.read.table);
        let found = self.reader.get(run.st.client, table, key, &mut frame.leaves[leaf].bytes)?;
        if let Some(timer) = timer {
            timer.end(RowOperation::Fetch, Some(0), 1);
        }
        if !found {
            return Ok(false);
        }
        let bytes = &frame.leaves[leaf].bytes;
        if !self.predicate.holds(bytes).map_err(damaged)?
            || !self.predicate.rest_holds(run, frame)?
        {
            if self.lock.is_some() {
                self.reader.unlock_last(run.st.client);
            }
            return Ok(false);
        }
        if self.keyed {
            frame.leaves[leaf].key.clear();
            frame.leaves[leaf].key.extend_from_slice(key);
        }
        Ok(true)
    }
}

/// Where keys come from.
enum Keys {
    Nothing,
    /// Inputs side by side.
    Ordered(Vec<Input>),
    /// Those that were sorted, then the rows of the clustered index.
    Sorted(Box<(Sorter, Option<KeyScan>)>),
}

/// Reads a stored table by several indexes.
pub struct ReadMerged<'p> {
    merge: &'p Merge,
    lock: Option<RowLock>,
    rows: Fetch<'p>,
    keys: Keys,
    /// The key that was looked up last, and whether the scan that gave it reads the rows themselves.
    key: Vec<u8>,
    read: bool,
    spare: (Vec<u8>, Vec<u8>),
    begun: bool,
}

impl<'p> ReadMerged<'p> {
    /// The operator of a read by several indexes; the frame has the leaf's own layout.
    pub fn new(
        (read, merge): (&'p Read, &'p Merge),
        leaf: &'p LeafDef,
        frame: &Frame,
    ) -> ReadMerged<'p> {
        let layout = Arc::clone(&frame.leaves[usize::from(read.leaf)].layout);
        let rows = Fetch {
            read,
            needed: &leaf.needed,
            lock: None,
            keyed: leaf.keyed,
            predicate: PushedPredicate::new(read.filter.as_ref(), read.leaf, &layout),
            layout,
            reader: Reader::new(),
        };
        ReadMerged {
            merge,
            lock: None,
            rows,
            keys: Keys::Nothing,
            key: Vec::new(),
            read: false,
            spare: (Vec::new(), Vec::new()),
            begun: false,
        }
    }

    fn encoded(
        &self,
        part: &MergePart,
        table: &Table,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<KeyRanges, SqlError> {
        let (touching, mut ranges) = (self.lock.is_none(), KeyRanges::default());
        let encoder = Encoder::new(table, part.index)?;
        encoder.ranges((&part.ranges, touching), run, frame, &mut ranges)?;
        Ok(ranges)
    }

    /// An input, and whether its keys come in their order.
    fn input(
        &self,
        input: &MergeInput,
        table: &Table,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<(Input, bool), SqlError> {
        let (mut scans, mut unordered, mut within) = (Vec::new(), Vec::new(), None);
        for part in &input.parts {
            let ranges = self.encoded(part, table, run, frame)?;
            if part.index == 0 && input.parts.len() > 1 {
                within = Some(ranges);
                continue;
            }
            let ordered = is_ordered(part.index, &ranges, table);
            let scan = KeyScan::new((self.rows.read.table, part.index), ranges, self.lock);
            if ordered { &mut scans } else { &mut unordered }.push(scan);
        }
        let ordered = !scans.is_empty();
        if !ordered {
            // One of them names all rows that count, and more.
            scans.extend(unordered.into_iter().next());
        }
        Ok((Input { scans, within, key: Vec::new(), ended: false }, ordered))
    }

    /// Sorts the keys of all inputs but those of the clustered index, which is read afterwards.
    fn sort(&self, inputs: Vec<Input>, run: &Run<'_>, table: &Table) -> Result<Keys, SqlError> {
        let (mut sorter, mut apart) = (Sorter::new(run.st, None), None);
        let mut others = Vec::new();
        for mut input in inputs {
            let clustered = matches!(&input.scans[..], [scan] if scan.index == 0);
            match apart {
                None if clustered => apart = input.scans.pop(),
                _ => others.push(input),
            }
        }
        for mut input in others {
            loop {
                input.advance(run, table)?;
                if input.ended {
                    break;
                }
                let later = |scan: &KeyScan| scan.ranges.contain(&input.key);
                if !apart.as_ref().is_some_and(later) {
                    sorter.add(run.st, &input.key, &[])?;
                }
            }
        }
        sorter.finish(run.st)?;
        Ok(Keys::Sorted(Box::new((sorter, apart))))
    }

    /// Puts the next key, another one than before, into `key`.
    fn next_key(&mut self, run: &Run<'_>, table: &Table) -> Result<bool, SqlError> {
        loop {
            let next = &mut self.spare.0;
            match &mut self.keys {
                Keys::Nothing => return Ok(false),
                Keys::Ordered(inputs) => {
                    self.read = false;
                    let left = inputs.iter_mut().filter(|input| !input.ended);
                    let Some(least) = left.min_by(|a, b| a.key.cmp(&b.key)) else {
                        return Ok(false);
                    };
                    next.clone_from(&least.key);
                    least.advance(run, table)?;
                }
                Keys::Sorted(sorted) => {
                    let (sorter, apart) = &mut **sorted;
                    self.read = !sorter.next(next, &mut self.spare.1)?;
                    if self.read {
                        let Some(scan) = apart else { return Ok(false) };
                        if !scan.advance(run, table)? {
                            return Ok(false);
                        }
                        next.clear();
                        next.extend_from_slice(scan.key());
                    }
                }
            }
            if !std::mem::replace(&mut self.begun, true) || self.key != self.spare.0 {
                std::mem::swap(&mut self.key, &mut self.spare.0);
                return Ok(true);
            }
        }
    }
}

/// Whether the clustered keys of an index's ranges come in their order: it is the clustered index itself, or all
/// entries have the same key but for that.
fn is_ordered(index: usize, ranges: &KeyRanges, table: &Table) -> bool {
    let Some(own) = table.key(index).filter(|_| index > 0) else { return index == 0 };
    let range = match ranges.len() {
        0 => return true,
        1 => ranges.get(0),
        _ => None,
    };
    let Some((
        Bound::Included(low) | Bound::Excluded(low),
        Bound::Included(high) | Bound::Excluded(high),
    )) = range
    else {
        return false;
    };
    let mut ends = Vec::new();
    own.part_ends(&table.spec().columns, low, &mut ends);
    let Some(end) = own.parts.len().checked_sub(1).and_then(|last| ends.get(last)) else {
        return false;
    };
    let mut key = low[..*end].to_vec();
    let inside = high.starts_with(&key);
    inside || value::key::successor(&mut key) && range.is_some_and(|r| r.1 == Bound::Excluded(&key))
}

impl Operator for ReadMerged<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.lock = run.st.lock_of(self.rows.read);
        if let Some(lock) = &mut self.lock
            && lock.wait == LockWait::IfWanted
        {
            // Rows that indexes name are waited for.
            lock.wait = LockWait::Wait;
        }
        self.rows.lock = self.lock;
        self.rows.open(run, frame)?;
        let table = run.st.tables.table(self.rows.read.table);
        self.begun = false;
        let (mut inputs, mut sorted) = (Vec::new(), self.merge.sorted);
        for input in &self.merge.inputs {
            let (input, ordered) = self.input(input, table, run, frame)?;
            sorted |= !ordered;
            inputs.push(input);
        }
        self.keys = if sorted {
            self.sort(inputs, run, table)?
        } else {
            for input in &mut inputs {
                input.advance(run, table)?;
            }
            Keys::Ordered(inputs)
        };
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let table = run.st.tables.table(self.rows.read.table);
        while self.next_key(run, table)? {
            if self.rows.row((&self.key, self.read), table, run, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.keys = Keys::Nothing;
        self.rows.predicate.close();
        self.rows.reader.close();
    }
}
