//! Rows of a table or of a nested query in batches, grouped and summed up.
//!
//! 1. A batch holds rows as they are stored: what is computed over all of them at once is one column of them at
//!    a time ([`expr::vector`]); everything else sees them one by one, in their order. 2. Vectors are computed
//!    before anything else is, and cannot end in an error or a warning: where they could, the whole batch is
//!    gone through row by row. What a statement ends in is therefore what it ends in row by row. 3. Equal stored
//!    bytes are equal keys: a row's group is that of the last row with the same bytes, if that is remembered.

mod rows;
mod source;

use super::Run;
use super::aggregate::State;
use super::hash_group::{Groups, Pass};
use super::table::{KeyTable, hash};
use crate::SqlError;
use expr::aggregate::vectors::{Accumulators, LEFT_OUT};
use expr::aggregate::{AVG, AggregateCall, COUNT, MAX, MIN, SUM};
use expr::tree::Column;
use expr::vector::Program;
use expr::{Expr, Frame};
use planner::query_plan::{Group, GroupStrategy};
use rows::Batch;
pub use source::Source;
use std::sync::Arc;
use value::{Datum, RowLayout};

/// Most rows of a batch.
const ROWS_MAX: usize = 1024;
/// Rows of the first batch where a LIMIT may want few groups; each has twice as many as the one before.
const ROWS_FIRST: usize = 4;
/// A batch of so many bytes takes no more rows.
const BYTES_MAX: usize = 256 << 10;
/// Bytes of the first batch.
const BYTES_FIRST: usize = 1 << 10;
/// So many times as many bytes has each as the one before: the second one has room for a hundred usual rows, in memory that the
/// thread has at hand.
const BYTES_FACTOR: usize = 20;
/// Room for the groups of so many rows is kept from run to run.
const GROUPS_SPARE_MAX: usize = 128;
/// Most keys whose groups are remembered by their bytes.
const REMEMBERED_MAX: usize = 1024;

/// How an aggregate takes the rows of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// One by one.
    Rows,
    /// It counts them.
    Count,
    /// The values of a vector.
    Vector(usize),
}

impl Part {
    fn of(
        call: &AggregateCall,
        layout: &RowLayout,
        program: &mut Program,
        params: &[Datum<'_>],
    ) -> Part {
        let known = [&COUNT, &SUM, &AVG, &MIN, &MAX].contains(&call.function);
        if !known || call.counts_distinct() || !call.order_by.is_empty() {
            return Part::Rows;
        }
        match call.arguments.as_slice() {
            [] => Part::Count,
            [argument] => {
                program.add(&argument.expr, layout, params).map_or(Part::Rows, Part::Vector)
            }
            _ => Part::Rows,
        }
    }
}

/// The rows of a table or a nested query for a group above it, in batches.
pub struct Batches<'p> {
    group: &'p Group,
    source: Source<'p>,
    layout: Arc<RowLayout>,
    batch: Batch,
    /// Rows of the next batch.
    rows_next: usize,
    /// Bytes of the next batch.
    bytes_next: usize,
    vectors: Vectors,
    /// Columns that are the keys; `None`: there are other keys.
    keys: Option<Vec<usize>>,
    remembered: Remembered,
    /// All that is asked is how many rows there are.
    only_counts: bool,
    /// The group of each row of the batch.
    groups: Vec<u32>,
    /// The next row of a batch that is gone through one by one.
    at: usize,
    /// The source has shown its last row.
    ended: bool,
}

/// What is computed over all rows of a batch at once, with a statement's parameters.
struct Vectors {
    program: Program,
    /// By aggregate; none between two statements whose parameters count.
    parts: Vec<Part>,
}

impl Vectors {
    fn of(group: &Group, (leaf, layout): (u16, &RowLayout), params: &[Datum<'_>]) -> Vectors {
        let mut program = Program::new(leaf);
        let part = |call| Part::of(call, layout, &mut program, params);
        let parts = group.aggregates.iter().map(part).collect();
        Vectors { program, parts }
    }
}

impl<'p> Batches<'p> {
    /// For a group over these rows; the source comes back where they have to come one by one.
    pub fn new(
        group: &'p Group,
        source: Source<'p>,
        params: &[Datum<'_>],
    ) -> Result<Batches<'p>, Source<'p>> {
        let layout = Arc::clone(source.layout());
        let vectors = Vectors::of(group, (source.leaf(), &layout), params);
        let is_one_by_one = vectors.parts.iter().all(|part| *part == Part::Rows);
        if vectors.parts.is_empty() || is_one_by_one && matches!(source, Source::Derived(_)) {
            return Err(source);
        }
        let column = |e: &Expr| match e {
            Expr::Column(Column { depth: 0, leaf, column }) if *leaf == source.leaf() => {
                Some(usize::from(*column))
            }
            _ => None,
        };
        let keys: Option<Vec<usize>> = group.keys.iter().map(|key| column(&key.expr)).collect();
        let sorted = group.strategy == GroupStrategy::Sorted;
        let one_by_one =
            vectors.parts.contains(&Part::Rows) || source.predicate().has_rest() || keys.is_none();
        // What may complain must not be evaluated for rows that a LIMIT leaves out.
        let complains = one_by_one || matches!(source, Source::Derived(_));
        if sorted && (complains || group.rollup) {
            return Err(source);
        }
        let remembered = Remembered { none: sorted, ..Remembered::default() };
        let all_count = vectors.parts.iter().all(|part| *part == Part::Count);
        let only_counts = all_count && group.keys.is_empty() && !source.predicate().has_rest();
        let (batch, rows_next, bytes_next, groups, at) = Default::default();
        Ok(Batches {
            group,
            source,
            layout,
            batch,
            rows_next,
            bytes_next,
            vectors,
            keys,
            remembered,
            only_counts,
            groups,
            at,
            ended: false,
        })
    }

    /// Begins anew.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        if self.vectors.parts.is_empty() {
            let rows = (self.source.leaf(), &*self.layout);
            self.vectors = Vectors::of(self.group, rows, run.st.params);
        }
        let sorted = self.group.strategy == GroupStrategy::Sorted;
        self.rows_next = if sorted { ROWS_FIRST } else { ROWS_MAX };
        self.bytes_next = BYTES_FIRST;
        self.batch.clear();
        self.remembered.clear();
        (self.at, self.ended) = (0, false);
        self.source.open(run, frame)
    }

    /// The statement is over: see [`Operator::close`].
    pub fn close(&mut self) {
        if !self.vectors.program.rest() {
            self.vectors = Vectors { program: Program::new(self.source.leaf()), parts: Vec::new() };
        }
        self.batch.trim();
        self.remembered = Remembered { none: self.remembered.none, ..Remembered::default() };
        if self.groups.capacity() > GROUPS_SPARE_MAX {
            self.groups = Vec::new();
        }
        self.source.close();
    }

    /// Groups the next rows; `false`: there are no more.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub(super) fn group(
        &mut self,
        groups: &mut Groups<'_>,
        pass: &mut Pass,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let sorted = self.group.strategy == GroupStrategy::Sorted;
        frame.leaves[usize::from(self.source.leaf())].null = false;
        if self.only_counts {
            return self.count(groups, pass, run, frame);
        }
        if sorted && self.at < self.batch.len() {
            return self.one_by_one(groups, pass, run, frame);
        }
        if self.ended {
            return Ok(false);
        }
        self.batch.begin(self.rows_next, self.bytes_next);
        self.bytes_next = (self.bytes_next * BYTES_FACTOR).min(BYTES_MAX);
        self.rows_next = (self.rows_next * 2).min(ROWS_MAX);
        let batch = &mut self.batch;
        self.ended = !self.source.pass(run, frame, &mut |row| batch.push(row))?;
        if self.batch.is_empty() {
            return Ok(false);
        }
        // With other parameters it may be that not all can be computed at once.
        let vectors = (!sorted || !self.vectors.parts.contains(&Part::Rows))
            && self.vectors.program.run(&self.layout, self.batch.rows(), self.batch.len());
        if sorted {
            // The numbers of the groups have changed.
            self.remembered.clear();
            self.at = if vectors { self.batch.len() } else { 0 };
            if !vectors {
                return self.one_by_one(groups, pass, run, frame);
            }
        }
        self.go_through(groups, pass, run, frame, vectors)?;
        if vectors {
            self.add_vectors(groups, run)?;
        }
        self.charge(groups, pass)?;
        Ok(true)
    }

    /// Counts all rows that are left, for the only group.
    fn count(
        &mut self,
        groups: &mut Groups<'_>,
        pass: &mut Pass,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let rows = self.source.count_left(run, frame)?;
        if rows > 0
            && let Some(number) = groups.number(pass, run, frame)?
        {
            let calls = self.vectors.parts.len();
            for state in &mut groups.states[number * calls..(number + 1) * calls] {
                state.count(rows);
            }
        }
        Ok(rows > 0)
    }

    /// Adds rows of the batch one by one until a group is done.
    fn one_by_one(
        &mut self,
        groups: &mut Groups<'_>,
        pass: &mut Pass,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let leaf = usize::from(self.source.leaf());
        for row in self.batch.rows().skip(self.at) {
            let bytes = &mut frame.leaves[leaf].bytes;
            bytes.clear();
            bytes.extend_from_slice(row);
            self.at += 1;
            groups.add_row(pass, run, frame)?;
            if groups.len() > 1 {
                break;
            }
        }
        Ok(true)
    }

    fn charge(&self, groups: &Groups<'_>, pass: &mut Pass) -> Result<(), SqlError> {
        let own = self.batch.kept_bytes() + self.vectors.program.bytes() + self.remembered.bytes();
        pass.charge.set(groups.kept_bytes() + own);
        pass.charge.check()
    }

    /// Looks at the rows one by one: which pass the conditions that are no tests, which group each belongs
    /// to, and what is not added as a vector.
    fn go_through(
        &mut self,
        groups: &mut Groups<'_>,
        pass: &mut Pass,
        run: &mut Run<'_>,
        frame: &mut Frame,
        vectors: bool,
    ) -> Result<(), SqlError> {
        let leaf = usize::from(self.source.leaf());
        let (rest, calls) = (self.source.predicate().has_rest(), self.vectors.parts.len());
        let by_row = |part: &Part| !vectors || *part == Part::Rows;
        let evaluates = rest || self.vectors.parts.iter().any(by_row);
        self.groups.clear();
        let has_one_group = self.group.keys.is_empty();
        if !evaluates && has_one_group && groups.len() > 0 {
            // All rows are of the only group.
            self.groups.resize(self.batch.len(), 0);
            return Ok(());
        }
        for row in self.batch.rows() {
            let put = |frame: &mut Frame| {
                let bytes = &mut frame.leaves[leaf].bytes;
                bytes.clear();
                bytes.extend_from_slice(row);
            };
            if evaluates {
                run.tick()?;
                put(frame);
            }
            if rest && !self.source.predicate().rest_holds(run, frame)? {
                self.groups.push(LEFT_OUT);
                continue;
            }
            let keys = self.keys.as_deref();
            // The only group needs no key to be found by.
            let known = match has_one_group {
                true => (groups.len() > 0).then_some(0),
                false => keys.and_then(|keys| self.remembered.find(&self.layout, row, keys)),
            };
            let number = match known {
                Some(number) => Some(number as usize),
                None => {
                    put(frame);
                    let number = groups.number(pass, run, frame)?;
                    if let Some(number) = number.filter(|_| !has_one_group) {
                        self.remembered.add(number as u32);
                        pass.charge.set(groups.kept_bytes());
                    }
                    number
                }
            };
            self.groups.push(number.map_or(LEFT_OUT, |number| number as u32));
            let Some(number) = number.filter(|_| evaluates) else { continue };
            for (n, (call, part)) in
                self.group.aggregates.iter().zip(&self.vectors.parts).enumerate()
            {
                if by_row(part) {
                    groups.grown += groups.states[number * calls + n].add(call, run, frame)?;
                }
            }
        }
        Ok(())
    }

    fn add_vectors(&self, groups: &mut Groups<'_>, run: &mut Run<'_>) -> Result<(), SqlError> {
        let stride = self.vectors.parts.len();
        for (first, (call, part)) in
            self.group.aggregates.iter().zip(&self.vectors.parts).enumerate()
        {
            let states: &mut [State] = &mut groups.states;
            let mut accumulators = Accumulators { states, first, stride };
            match *part {
                Part::Rows => {}
                Part::Count => accumulators.count(call, &self.groups, run.env)?,
                Part::Vector(n) => {
                    let vector = (&self.vectors.program, n);
                    groups.grown += accumulators.add(call, vector, &self.groups, run.env)?;
                }
            }
        }
        Ok(())
    }
}

/// The groups of keys by their stored bytes.
#[derive(Default)]
struct Remembered {
    table: KeyTable,
    groups: Vec<u32>,
    /// The key that was looked for last, and its group.
    last: (Vec<u8>, Option<u32>),
    key: Vec<u8>,
    /// The key may be remembered.
    whole: bool,
    /// No key but the last is remembered: the next one is another.
    none: bool,
}

impl Remembered {
    fn clear(&mut self) {
        self.table.clear();
        self.groups.clear();
        self.last.1 = None;
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + 4 * self.groups.len()
    }

    /// The group of a row's key.
    #[inline]
    fn find(&mut self, layout: &RowLayout, row: &[u8], columns: &[usize]) -> Option<u32> {
        self.key.clear();
        self.whole = false;
        for column in columns {
            match layout.stored(row, *column)? {
                Some(bytes) => {
                    self.key.extend_from_slice(&(bytes.len() as u32 + 1).to_le_bytes());
                    self.key.extend_from_slice(bytes);
                }
                None => self.key.extend_from_slice(&[0; 4]),
            }
        }
        self.whole = true;
        if self.last.1.is_some() && self.last.0 == self.key {
            return self.last.1;
        }
        let found = match self.table.len() {
            // With so many of them they are hardly met again.
            REMEMBERED_MAX.. => None,
            _ if self.none => None,
            _ => self.table.find(&self.key, hash(&self.key)).map(|n| self.groups[n]),
        };
        self.last.1 = found;
        if found.is_some() {
            self.last.0.clone_from(&self.key);
        }
        found
    }

    /// Remembers the group of the key that was just looked for.
    fn add(&mut self, group: u32) {
        if !self.whole {
            return;
        }
        self.last.0.clone_from(&self.key);
        self.last.1 = Some(group);
        if self.table.len() < REMEMBERED_MAX && !self.none {
            self.table.insert(&self.key, hash(&self.key));
            self.groups.push(group);
        }
    }
}

#[cfg(test)]
mod tests;
