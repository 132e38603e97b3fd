//! Some rows of each group of entries that agree in the first parts of an index: MySQL's loose index scan, and its skip
//! scan.
//!
//! 1. Groups come in the order of the index. From one to the next there is a way down the tree, past all keys that begin
//! as the group's do. 2. What is looked up in a group satisfies the read's condition; a group is found by its first row
//! that does where that row is wanted itself, otherwise by its first row. 3. A probe's range may hold too many rows: the
//! first row of it that satisfies the condition is answered. 4. Locking reads lock what they pass.

use super::access::Encoder;
use super::pushed_predicate::PushedPredicate;
use super::tally::{self, Tally};
use super::{Operator, Run};
use crate::SqlError;
use crate::keyrange::KeyRanges;
use engine::{Direction, Reader, RowLock, Table};
use expr::{Frame, damaged};
use planner::query_plan::{GroupPurpose, GroupScan, LeafDef, Read};
use std::ops::Bound;
use std::sync::Arc;
use value::RowLayout;

/// What comes next.
#[derive(Clone, Copy)]
enum Step {
    Group,
    /// The probe with this number.
    Probe(usize),
    /// The other rows of the probe before this one.
    Rest(usize),
}

/// Reads rows of an index's groups.
pub struct ReadGroups<'p> {
    read: &'p Read,
    scan: &'p GroupScan,
    needed: &'p [usize],
    lock: Option<RowLock>,
    predicate: PushedPredicate<'p>,
    layout: Arc<RowLayout>,
    reader: Reader,
    /// Where groups are looked for; those before `range` are done.
    ranges: KeyRanges,
    range: usize,
    /// A group of the range was found: how its keys begin.
    found: bool,
    group: Vec<u8>,
    /// The present probe's ranges, and how many of them are left.
    probed: KeyRanges,
    left: usize,
    step: Step,
    tally: Tally,
}

impl<'p> ReadGroups<'p> {
    /// The operator of a read of groups; the frame has the leaf's own layout.
    pub fn new(
        (read, scan): (&'p Read, &'p GroupScan),
        leaf: &'p LeafDef,
        frame: &Frame,
    ) -> ReadGroups<'p> {
        let layout = Arc::clone(&frame.leaves[usize::from(read.leaf)].layout);
        ReadGroups {
            read,
            scan,
            needed: &leaf.needed,
            lock: None,
            predicate: PushedPredicate::new(read.filter.as_ref(), read.leaf, &layout),
            layout,
            reader: Reader::new(),
            ranges: KeyRanges::default(),
            range: 0,
            found: false,
            group: Vec::new(),
            probed: KeyRanges::default(),
            left: 0,
            step: Step::Group,
            tally: Tally::default(),
        }
    }

    fn open_range(
        &mut self,
        run: &Run<'_>,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Result<(), SqlError> {
        self.tally.open_apart(self.scan.index, &range.0, false);
        self.tally.counts_for(run.st.tables.io(self.read.table));
        self.reader.open(run.st.client, table, self.scan.index, range, direction)?;
        match self.read.covering {
            true => self.reader.need_only(table, self.needed),
            false => self.reader.need(self.needed),
        }
        if let Some(lock) = self.lock {
            self.reader.lock(lock);
        }
        Ok(())
    }

    /// The next row of the range that is open: one that satisfies the condition, or any.
    fn next_row(
        &mut self,
        any: bool,
        run: &mut Run<'_>,
        table: &Table,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let leaf = usize::from(self.read.leaf);
        loop {
            run.tick()?;
            let bytes = &mut frame.leaves[leaf].bytes;
            self.tally.add(1);
            let start = self.tally.begin();
            let found = self.reader.next(run.st.client, table, bytes)?;
            self.tally.read(start, u64::from(found));
            if !found {
                return Ok(false);
            }
            if any
                || self.predicate.holds(bytes).map_err(damaged)?
                    && self.predicate.rest_holds(run, frame)?
            {
                return Ok(true);
            }
            if self.lock.is_some() {
                self.reader.unlock_last(run.st.client);
            }
        }
    }

    /// Goes to the next group; its row is in the frame.
    fn next_group(
        &mut self,
        run: &mut Run<'_>,
        table: &Table,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        while self.range < self.ranges.len() {
            let (group, ranges) =
                (std::mem::take(&mut self.group), std::mem::take(&mut self.ranges));
            let opened = ranges.get(self.range).map(|(low, high)| {
                let low = if self.found { Bound::Excluded(&group[..]) } else { low };
                self.open_range(run, table, (low, high), Direction::Forward)
            });
            (self.group, self.ranges) = (group, ranges);
            opened.transpose()?;
            self.found = self.next_row(!self.scan.first, run, table, frame)?;
            if self.found {
                let row = &frame.leaves[usize::from(self.read.leaf)].bytes;
                self.group.clear();
                let encoder = Encoder::new(table, self.scan.index)?;
                let parts = self.scan.parts;
                encoder.prefix_of_row(parts, (&self.layout, row), &mut self.group)?;
                return Ok(true);
            }
            self.range += 1;
        }
        Ok(false)
    }

    /// Goes to the row that a probe is for.
    fn probe(
        &mut self,
        number: usize,
        run: &mut Run<'_>,
        table: &Table,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let probe = &self.scan.probes[number];
        let before = (self.scan.parts, &self.group[..]);
        let encoder = Encoder::new(table, self.scan.index)?;
        encoder.ranges_behind(before, &probe.range, run, frame, &mut self.probed)?;
        self.left = self.probed.len();
        self.next_probed(probe.last, run, table, frame)
    }

    /// Goes to the first row of the probe's ranges that are left; the last one comes first where the last row is wanted.
    fn next_probed(
        &mut self,
        last: bool,
        run: &mut Run<'_>,
        table: &Table,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let direction = if last { Direction::Backward } else { Direction::Forward };
        while self.left > 0 {
            let n = if last { self.left - 1 } else { self.probed.len() - self.left };
            self.left -= 1;
            let probed = std::mem::take(&mut self.probed);
            let opened = probed.get(n).map(|range| self.open_range(run, table, range, direction));
            self.probed = probed;
            opened.transpose()?;
            if self.next_row(false, run, table, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for ReadGroups<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let leaf = &mut frame.leaves[usize::from(self.read.leaf)];
        leaf.layout = Arc::clone(&self.layout);
        leaf.null = false;
        self.predicate.open(run, frame)?;
        let table = run.st.tables.table(self.read.table);
        self.lock = run.st.lock_of(self.read);
        match &self.scan.ranges[..] {
            [] => self.ranges = KeyRanges::everything(),
            ranges => {
                let encoder = Encoder::new(table, self.scan.index)?;
                encoder.ranges((ranges, true), run, frame, &mut self.ranges)?;
            }
        }
        (self.range, self.found, self.step) = (0, false, Step::Group);
        if self.scan.purpose != GroupPurpose::Rows {
            tally::last_group();
        }
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let table = run.st.tables.table(self.read.table);
        frame.leaves[usize::from(self.read.leaf)].null = false;
        loop {
            let found = match self.step {
                Step::Group => {
                    if !self.next_group(run, table, frame)? {
                        return Ok(false);
                    }
                    self.step = Step::Probe(0);
                    self.scan.first
                }
                Step::Probe(number) if number == self.scan.probes.len() => {
                    self.step = Step::Group;
                    false
                }
                Step::Probe(number) => {
                    let found = self.probe(number, run, table, frame)?;
                    self.step = match found && self.scan.purpose == GroupPurpose::Rows {
                        true => Step::Rest(number),
                        false => Step::Probe(number + 1),
                    };
                    found
                }
                Step::Rest(number) => {
                    let last = self.scan.probes[number].last;
                    let found = self.next_row(false, run, table, frame)?
                        || self.next_probed(last, run, table, frame)?;
                    if !found {
                        self.step = Step::Probe(number + 1);
                    }
                    found
                }
            };
            if found {
                return Ok(true);
            }
        }
    }

    fn close(&mut self) {
        self.reader.close();
        self.predicate.close();
        self.tally.end();
        (self.ranges, self.probed) = (KeyRanges::default(), KeyRanges::default());
    }
}
