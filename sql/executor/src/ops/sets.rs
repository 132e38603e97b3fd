//! DISTINCT, UNION, INTERSECT and EXCEPT.
//!
//! 1. Rows are equal as GROUP BY sees them: NULL is equal to NULL, text under its collation. 2. Beyond the
//!    limit, rows that are not known yet are put aside in files by their hash and looked at afterwards.

use super::block::Block;
use super::cells::Cells;
use super::keys::Rule;
use super::pack::Packer;
use super::stored::StoredLeaf;
use super::table::{KeyTable, hash};
use super::{Operator, Run, Statement, trim};
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader, part_of};
use expr::{Frame, Typed, Value, damaged};
use parser::ast::SetOperator;
use std::sync::Arc;
use value::{ColumnType, RowLayout};

const LEAST_KEYS: usize = 256;

/// Which rows were there already.
#[derive(Default)]
pub struct Seen {
    table: KeyTable,
    charge: Option<Charge>,
    parts: Vec<SpillFile>,
    level: u32,
    aside: Vec<(SpillFile, u32)>,
}

/// What is known of a row.
#[derive(PartialEq, Eq)]
enum Known {
    New,
    Old,
    /// There is no room: the row must be put aside.
    Aside(usize),
}

impl Seen {
    fn clear(&mut self) {
        *self = Seen::default();
    }

    fn look(&mut self, st: &Statement<'_>, key: &[u8]) -> Result<Known, SqlError> {
        let charge = self.charge.get_or_insert_with(|| st.budget.charge());
        let hashed = hash(key);
        let full = !self.parts.is_empty() || charge.is_over() && self.table.len() >= LEAST_KEYS;
        if full {
            if self.table.find(key, hashed).is_some() {
                return Ok(Known::Old);
            }
            return part_of(&mut self.parts, st.client, hashed, self.level).map(Known::Aside);
        }
        let new = self.table.insert(key, hashed).1;
        charge.set(self.table.bytes());
        Ok(if new { Known::New } else { Known::Old })
    }

    /// The next file of rows that were put aside; nothing is known of them.
    fn next_part(&mut self) -> Result<Option<SpillReader>, SqlError> {
        let level = self.level + 1;
        self.aside.extend(self.parts.drain(..).map(|part| (part, level)));
        self.table.clear();
        if let Some(charge) = &mut self.charge {
            charge.set(0);
        }
        match self.aside.pop() {
            None => Ok(None),
            Some((mut part, level)) => {
                self.level = level;
                part.reader(0).map(Some)
            }
        }
    }
}

/// DISTINCT.
pub struct Distinct<'p> {
    pub(super) input: Box<dyn Operator + 'p>,
    pub(super) keys: &'p [Typed],
    /// Rows with equal keys come side by side.
    pub(super) sorted: bool,
    pub(super) packer: Packer,
    pub(super) seen: Seen,
    pub(super) part: Option<SpillReader>,
    pub(super) ended: bool,
    pub(super) key: Vec<u8>,
    /// Of rows side by side the key of the last one, if there is one.
    pub(super) last: Option<Vec<u8>>,
    pub(super) row: Vec<u8>,
}

impl Distinct<'_> {
    /// The next row whose key is not that of the row before.
    fn next_sorted(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        while self.input.next(run, frame)? {
            run.tick()?;
            self.make_key(run, frame)?;
            if self.last.as_ref() != Some(&self.key) {
                std::mem::swap(self.last.get_or_insert_default(), &mut self.key);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn make_key(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        self.key.clear();
        for key in self.keys {
            let value = run.eval(&key.expr, frame)?;
            Rule::of(&key.ty).append(&value.get(), false, &mut self.key);
        }
        Ok(())
    }

    /// The next row, from the input or from what was put aside.
    fn pull(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        loop {
            if !self.ended {
                if self.input.next(run, frame)? {
                    return Ok(true);
                }
                self.ended = true;
                self.packer.begin(frame);
            }
            if let Some(part) = &mut self.part
                && part.next(&mut self.row)?
            {
                self.packer.unpack(&self.row, frame)?;
                return Ok(true);
            }
            self.part = self.seen.next_part()?;
            if self.part.is_none() {
                return Ok(false);
            }
        }
    }
}

impl Operator for Distinct<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.seen.clear();
        self.part = None;
        self.ended = false;
        self.last = None;
        self.input.open(run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if self.sorted {
            return self.next_sorted(run, frame);
        }
        while self.pull(run, frame)? {
            run.tick()?;
            self.make_key(run, frame)?;
            match self.seen.look(run.st, &self.key)? {
                Known::New => return Ok(true),
                Known::Old => {}
                Known::Aside(part) => {
                    self.row.clear();
                    self.packer.pack(frame, &mut self.row)?;
                    self.seen.parts[part].append_record(&[&self.row])?;
                }
            }
        }
        self.seen.clear();
        Ok(false)
    }

    fn close(&mut self) {
        self.seen.clear();
        (self.part, self.last) = (None, None);
        trim(&mut self.key);
        trim(&mut self.row);
        self.input.close();
    }
}

/// The leaf of a set operation: rows as bytes, and their keys.
pub struct SetLeaf {
    number: usize,
    layout: Arc<RowLayout>,
    rules: Vec<Rule>,
    cells: Cells,
    key: Vec<u8>,
}

impl SetLeaf {
    /// A leaf with columns of these types.
    pub fn new(number: u16, types: &[ColumnType], frame: &Frame) -> SetLeaf {
        let number = usize::from(number);
        SetLeaf {
            number,
            layout: Arc::clone(&frame.leaves[number].layout),
            rules: types.iter().map(Rule::of).collect(),
            cells: Cells::default(),
            key: Vec::new(),
        }
    }

    /// Pulls the next row of a block into the leaf.
    pub(super) fn pull(
        &mut self,
        block: &mut Block<'_>,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        run.tick()?;
        let mut bytes = std::mem::take(&mut frame.leaves[self.number].bytes);
        let row = run.row(frame);
        let found = block.next_outputs(
            (run.st, &mut *run.env),
            Some(&row),
            &self.layout,
            &mut self.cells,
            &mut bytes,
        )?;
        frame.leaves[self.number].bytes = bytes;
        Ok(found)
    }

    /// Puts so many values of the columns' kinds into `out` as a row of the leaf.
    pub(super) fn write<'v>(
        &mut self,
        count: usize,
        value: impl FnMut(usize) -> Result<Value<'v>, SqlError>,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        self.cells.write(&self.layout, count, value, out)
    }

    /// The leaf, and how its rows lie.
    pub(super) fn stored(&self) -> StoredLeaf<'_> {
        (self.number as u16, &self.layout)
    }

    /// The bytes of the leaf's row.
    pub(super) fn row<'f>(&self, frame: &'f Frame) -> &'f [u8] {
        &frame.leaves[self.number].bytes
    }

    /// As [`SetLeaf::row`], to be filled.
    pub(super) fn row_mut<'f>(&self, frame: &'f mut Frame) -> &'f mut Vec<u8> {
        &mut frame.leaves[self.number].bytes
    }

    /// Makes the key of the leaf's row.
    pub(super) fn make_key(&mut self, frame: &Frame) -> Result<(), SqlError> {
        self.key_of(&frame.leaves[self.number].bytes).map(drop)
    }

    /// The key of a row of the leaf.
    pub(super) fn key_of(&mut self, bytes: &[u8]) -> Result<&[u8], SqlError> {
        self.key.clear();
        for (column, rule) in self.rules.iter().enumerate() {
            let value = self.layout.decode(bytes, column).map_err(damaged)?;
            rule.append(&value, false, &mut self.key);
        }
        Ok(&self.key)
    }

    pub(super) fn open(&self, frame: &mut Frame) {
        let leaf = &mut frame.leaves[self.number];
        leaf.layout = Arc::clone(&self.layout);
        leaf.null = false;
    }
}

/// UNION, INTERSECT, EXCEPT.
pub struct SetOp<'p> {
    pub(super) leaf: SetLeaf,
    pub(super) op: SetOperator,
    pub(super) all: bool,
    pub(super) inputs: Vec<Block<'p>>,
    pub(super) at: usize,
    pub(super) seen: Seen,
    pub(super) part: Option<SpillReader>,
    /// INTERSECT and EXCEPT: how often each row of the queries behind the first is there.
    pub(super) counts: Vec<u64>,
    /// INTERSECT and EXCEPT: the first query's first row, found before the others are asked.
    pub(super) first: Option<Vec<u8>>,
}

impl SetOp<'_> {
    fn open_input(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        let row = run.row(frame);
        match self.inputs.get_mut(self.at) {
            Some(block) => block.open(run.st, &mut *run.env, Some(&row)),
            None => Ok(()),
        }
    }

    /// Counts the rows of the queries behind the first. INTERSECT DISTINCT counts in how many of them a row is.
    fn count_others(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let once = self.op == SetOperator::Intersect && !self.all;
        let mut charge = run.st.budget.charge();
        for at in 1..self.inputs.len() {
            self.at = at;
            self.open_input(run, frame)?;
            while self.leaf.pull(&mut self.inputs[at], run, frame)? {
                self.leaf.make_key(frame)?;
                let (n, new) = self.seen.table.insert(&self.leaf.key, hash(&self.leaf.key));
                if new {
                    self.counts.push(0);
                    charge.set(self.seen.table.bytes() + 8 * self.counts.len());
                    charge.check()?;
                }
                // Those that an earlier query lacks stay behind.
                if !once || self.counts[n] + 1 == at as u64 {
                    self.counts[n] += 1;
                }
            }
        }
        let others = self.inputs.len() as u64 - 1;
        if once {
            self.counts.iter_mut().filter(|count| **count < others).for_each(|count| *count = 0);
        }
        self.seen.charge = Some(charge);
        self.at = 0;
        Ok(())
    }

    /// Finds the first row of INTERSECT and EXCEPT. Without one the other queries are not asked, as in MySQL, so
    /// what they could not compute is no error.
    fn open_first(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.open_input(run, frame)?;
        self.first = None;
        if !self.leaf.pull(&mut self.inputs[0], run, frame)? {
            self.at = self.inputs.len();
            return Ok(());
        }
        let found = std::mem::take(&mut frame.leaves[self.leaf.number].bytes);
        self.count_others(run, frame)?;
        self.first = Some(found);
        Ok(())
    }

    /// Pulls the next row of the first query into the leaf.
    fn next_of_first(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        match self.first.take() {
            Some(found) => {
                frame.leaves[self.leaf.number].bytes = found;
                Ok(true)
            }
            None => self.leaf.pull(&mut self.inputs[0], run, frame),
        }
    }

    fn next_union(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        while let Some(block) = self.inputs.get_mut(self.at) {
            if !self.leaf.pull(block, run, frame)? {
                self.at += 1;
                self.open_input(run, frame)?;
                continue;
            }
            if self.all || self.is_new(run, frame)? {
                return Ok(true);
            }
        }
        loop {
            let bytes = &mut frame.leaves[self.leaf.number].bytes;
            let found = match &mut self.part {
                Some(part) => part.next(bytes)?,
                None => false,
            };
            if !found {
                self.part = self.seen.next_part()?;
                if self.part.is_none() {
                    return Ok(false);
                }
            } else if self.is_new(run, frame)? {
                return Ok(true);
            }
        }
    }

    fn is_new(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<bool, SqlError> {
        self.leaf.make_key(frame)?;
        Ok(match self.seen.look(run.st, &self.leaf.key)? {
            Known::New => true,
            Known::Old => false,
            Known::Aside(part) => {
                let bytes = &frame.leaves[self.leaf.number].bytes;
                self.seen.parts[part].append_record(&[bytes])?;
                false
            }
        })
    }

    /// A row of the first query: whether the operator passes it on.
    fn passes(&mut self) -> bool {
        let (n, new) = self.seen.table.insert(&self.leaf.key, hash(&self.leaf.key));
        if new {
            self.counts.push(0);
        }
        let count = &mut self.counts[n];
        match (self.op, self.all) {
            (SetOperator::Intersect, true) => {
                let there = *count > 0;
                *count -= u64::from(there);
                there
            }
            (SetOperator::Intersect, false) => std::mem::take(count) > 0,
            (_, true) => {
                let there = *count > 0;
                *count -= u64::from(there);
                !there
            }
            (_, false) => {
                let there = *count > 0;
                *count = 1;
                !there
            }
        }
    }
}

impl Operator for SetOp<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(frame);
        self.seen.clear();
        self.part = None;
        self.counts.clear();
        self.at = 0;
        match self.op {
            SetOperator::Union => self.open_input(run, frame),
            _ => self.open_first(run, frame),
        }
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if self.op == SetOperator::Union {
            return self.next_union(run, frame);
        }
        if self.at == self.inputs.len() {
            return Ok(false);
        }
        while self.next_of_first(run, frame)? {
            self.leaf.make_key(frame)?;
            if self.passes() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.seen.clear();
        (self.part, self.first) = (None, None);
        self.counts = Vec::new();
        self.inputs.iter_mut().for_each(|block| block.close());
    }
}
