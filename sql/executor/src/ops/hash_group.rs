//! GROUP BY: one group, and groups in a hash table.
//!
//! 1. Rows come one by one, or in batches where they come from a table or a nested query and numbers are summed up
//!    ([`super::batch`]); the groups and their order are the same. 2. Beyond the limit the groups that are there
//!    go on; rows of others go to temporary files by their hash, and each file is grouped afterwards. 3. Of
//!    batches whose rows come with equal keys side by side only the groups of one are kept: all but the last
//!    are done.

use super::aggregate::State;
use super::batch::Batches;
use super::cells::Cells;
use super::group::{Keys, fill, new_states, results};
use super::pack::Packer;
use super::table::{KeyTable, hash};
use super::{Operator, Run};
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader, part_of};
use expr::Frame;
use planner::query_plan::{Group, GroupStrategy};
use std::sync::Arc;
use value::RowLayout;

/// So many groups stay in memory whatever the limit says.
const LEAST_GROUPS: usize = 256;

/// Where rows come from.
pub enum Input<'p> {
    /// An operator.
    Rows(Box<dyn Operator + 'p>),
    /// A table or a nested query, many rows at once.
    Batches(Box<Batches<'p>>),
}

/// GROUP BY with a hash table, or one group.
pub struct HashGroup<'p> {
    input: Input<'p>,
    groups: Groups<'p>,
    layout: Arc<RowLayout>,
    /// Rows that GROUP_CONCAT has joined, by call.
    joined: Vec<u64>,
    pass: Option<Pass>,
    at: usize,
    /// The input has no more rows.
    ended: bool,
    parts: Vec<(SpillFile, u32)>,
    row: Vec<u8>,
}

/// The groups of one pass over rows.
pub struct Groups<'p> {
    group: &'p Group,
    packer: Packer,
    keys: Keys,
    /// Not of groups that come side by side.
    table: KeyTable,
    /// Groups come side by side.
    sorted: bool,
    /// The key of the last of them.
    last: Vec<u8>,
    /// Key rows behind each other, and where each ends.
    rows: (Vec<u8>, Vec<usize>),
    /// Those of the first group, then those of the second, ...
    pub(super) states: Vec<State>,
    /// Bytes that the states keep.
    pub(super) grown: usize,
    cells: Cells,
    key: Vec<u8>,
    row: Vec<u8>,
}

/// A pass over rows.
pub struct Pass {
    /// What it keeps.
    pub(super) charge: Charge,
    level: u32,
    /// Where rows of groups without a place go.
    parts: Vec<SpillFile>,
}

impl<'p> Groups<'p> {
    fn clear(&mut self) {
        self.table.clear();
        self.rows.0.clear();
        self.rows.1.clear();
        self.states.clear();
        self.grown = 0;
    }

    /// Forgets all groups but the last, which becomes the first.
    fn keep_last(&mut self) {
        let Some(last) = self.len().checked_sub(1) else { return };
        self.states.drain(..last * self.group.aggregates.len());
        if let Some(before) = last.checked_sub(1) {
            self.rows.0.drain(..self.rows.1[before]);
        }
        self.rows.1.clear();
        self.rows.1.push(self.rows.0.len());
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.rows.1.len()
    }

    /// Memory that the groups take, in bytes.
    pub(super) fn kept_bytes(&self) -> usize {
        let rows = self.rows.0.len() + 8 * self.rows.1.len();
        self.table.bytes() + rows + self.states.len() * size_of::<State>() + self.grown
    }

    /// The number of the frame's row's group; `None`: it has no place, and the row went to a file.
    ///
    /// # Errors
    /// Those of evaluating the keys; those of the disk.
    pub(super) fn number(
        &mut self,
        pass: &mut Pass,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<Option<usize>, SqlError> {
        if self.group.keys.is_empty() && self.len() > 0 {
            return Ok(Some(0));
        }
        self.key.clear();
        self.keys.append(self.group, run, frame, &mut self.key, None)?;
        if self.sorted {
            if self.rows.1.is_empty() || self.last != self.key {
                self.last.clone_from(&self.key);
                self.begin(run, frame)?;
            }
            return Ok(Some(self.len() - 1));
        }
        let hashed = hash(&self.key);
        let full =
            !pass.parts.is_empty() || pass.charge.is_over() && self.table.len() >= LEAST_GROUPS;
        if full && self.table.find(&self.key, hashed).is_none() {
            self.put_aside(hashed, pass, run, frame)?;
            return Ok(None);
        }
        let (n, new) = self.table.insert(&self.key, hashed);
        if new {
            self.begin(run, frame)?;
        }
        Ok(Some(n))
    }

    /// Begins the group of the frame's row.
    fn begin(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        self.row.clear();
        self.keys.write(self.group, &mut self.cells, run, frame, &mut self.row)?;
        self.rows.0.extend_from_slice(&self.row);
        self.rows.1.push(self.rows.0.len());
        self.states.extend(new_states(self.group));
        Ok(())
    }

    fn put_aside(
        &mut self,
        hashed: u64,
        pass: &mut Pass,
        run: &Run<'_>,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        let part = part_of(&mut pass.parts, run.st.client, hashed, pass.level)?;
        self.row.clear();
        self.packer.pack(frame, &mut self.row)?;
        pass.parts[part].append_record(&[&self.row])
    }

    /// Adds the frame's row to its group.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub(super) fn add_row(
        &mut self,
        pass: &mut Pass,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        run.tick()?;
        let Some(n) = self.number(pass, run, frame)? else { return Ok(()) };
        let calls = &self.group.aggregates;
        let first = n * calls.len();
        for (call, state) in calls.iter().zip(&mut self.states[first..]) {
            self.grown += state.add(call, run, frame)?;
        }
        pass.charge.set(self.kept_bytes());
        pass.charge.check()
    }
}

impl<'p> HashGroup<'p> {
    /// The operator of a group without ROLLUP; where groups come side by side, of batches only.
    pub fn new(group: &'p Group, input: Input<'p>, packer: Packer, frame: &Frame) -> HashGroup<'p> {
        let groups = Groups {
            group,
            packer,
            keys: Keys::of(group),
            table: KeyTable::default(),
            sorted: group.strategy == GroupStrategy::Sorted,
            last: Vec::new(),
            rows: Default::default(),
            states: Vec::new(),
            grown: 0,
            cells: Cells::default(),
            key: Vec::new(),
            row: Vec::new(),
        };
        HashGroup {
            input,
            groups,
            layout: Arc::clone(&frame.leaves[usize::from(group.leaf)].layout),
            joined: Vec::new(),
            pass: None,
            at: 0,
            ended: false,
            parts: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Groups the rows of the input, or of a file; those of groups that have no place go to files of the
    /// next level.
    fn group_all(
        &mut self,
        part: Option<(SpillReader, u32)>,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<(), SqlError> {
        self.groups.clear();
        (self.at, self.ended) = (0, true);
        let level = part.as_ref().map_or(0, |(_, level)| *level);
        let mut pass = Pass { charge: run.st.budget.charge(), level, parts: Vec::new() };
        match (part, &mut self.input) {
            (Some((mut reader, _)), _) => {
                self.groups.packer.begin(frame);
                while reader.next(&mut self.row)? {
                    self.groups.packer.unpack(&self.row, frame)?;
                    self.groups.add_row(&mut pass, run, frame)?;
                }
            }
            (None, Input::Rows(input)) => {
                while input.next(run, frame)? {
                    self.groups.add_row(&mut pass, run, frame)?;
                }
            }
            (None, Input::Batches(_)) if self.groups.sorted => self.ended = false,
            (None, Input::Batches(batches)) => {
                while batches.group(&mut self.groups, &mut pass, run, frame)? {}
            }
        }
        self.parts.extend(pass.parts.drain(..).map(|part| (part, level + 1)));
        let groups = &mut self.groups;
        if groups.group.strategy == GroupStrategy::Single && groups.len() == 0 {
            groups.states = new_states(groups.group).collect();
            groups.rows.1.push(0);
        }
        self.pass = Some(pass);
        Ok(())
    }

    /// Whether there is a group that is done and was not given out.
    fn is_ready(&self) -> bool {
        self.at + usize::from(!self.ended) < self.groups.len()
    }

    /// Goes on with groups that come side by side.
    fn go_on(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.groups.keep_last();
        self.at = 0;
        let (Input::Batches(batches), Some(pass)) = (&mut self.input, &mut self.pass) else {
            return Err(super::internal("groups side by side come in batches"));
        };
        self.ended = !batches.group(&mut self.groups, pass, run, frame)?;
        Ok(())
    }
}

impl Operator for HashGroup<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.parts.clear();
        self.joined.clear();
        match &mut self.input {
            Input::Rows(input) => input.open(run, frame)?,
            Input::Batches(batches) => batches.open(run, frame)?,
        }
        self.group_all(None, run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        while !self.is_ready() {
            if !self.ended {
                self.go_on(run, frame)?;
                continue;
            }
            let Some((mut part, level)) = self.parts.pop() else {
                self.groups.clear();
                self.at = 0;
                self.pass = None;
                return Ok(false);
            };
            if part.records() > 0 {
                self.group_all(Some((part.reader(0)?, level)), run, frame)?;
            }
        }
        run.tick()?;
        let n = self.at;
        self.at += 1;
        let Groups { group, states, rows, keys, cells, .. } = &mut self.groups;
        let calls = group.aggregates.len();
        let states = &mut states[n * calls..(n + 1) * calls];
        let results = results(group, states, &mut self.joined, run)?;
        let start = if n == 0 { 0 } else { rows.1[n - 1] };
        let key_row = (&keys.layout, &rows.0[start..rows.1[n]]);
        let kept = group.keys.len();
        fill(group, key_row, kept, &results, &self.layout, cells, frame)?;
        Ok(true)
    }

    fn close(&mut self) {
        self.groups.clear();
        self.groups.table = KeyTable::default();
        self.groups.rows.0 = Vec::new();
        self.pass = None;
        self.parts = Vec::new();
        match &mut self.input {
            Input::Rows(input) => input.close(),
            Input::Batches(batches) => batches.close(),
        }
    }
}
