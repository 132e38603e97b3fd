//! GROUP BY: one group, groups in a hash table, groups side by side, ROLLUP.
//!
//! 1. A group keeps its keys as a row, and a state per aggregate. 2. Beyond the limit the groups that are
//!    there go on; rows of others go to temporary files by their hash, and each file is grouped afterwards.

use super::aggregate::{State, start};
use super::cells::{Cells, made_layout};
use super::keys::Rule;
use super::pack::Packer;
use super::table::{KeyTable, hash};
use super::{Operator, Run, Statement};
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader};
use expr::{Frame, OwnedDatum, Value, damaged};
use planner::query_plan::{Group, GroupStrategy};
use std::sync::Arc;
use value::{Datum, RowLayout};

/// Files that rows of further groups go to.
const PARTS: usize = 16;
/// So many groups stay in memory whatever the limit says.
const LEAST_GROUPS: usize = 256;

/// Where rows come from.
enum Source {
    Input,
    Part(SpillReader),
}

/// GROUP BY with a hash table, or one group.
pub struct HashGroup<'p> {
    group: &'p Group,
    input: Box<dyn Operator + 'p>,
    packer: Packer,
    layout: Arc<RowLayout>,
    keys: Keys,
    table: KeyTable,
    /// Key rows behind each other, and where each ends.
    rows: (Vec<u8>, Vec<usize>),
    states: Vec<State>,
    grown: usize,
    /// Rows that GROUP_CONCAT has joined, by call.
    joined: Vec<u64>,
    charge: Option<Charge>,
    cells: Cells,
    at: usize,
    parts: Vec<(SpillFile, u32)>,
    key: Vec<u8>,
    row: Vec<u8>,
}

/// How the keys of a group are kept as a row.
struct Keys {
    layout: RowLayout,
    rules: Vec<Rule>,
}

impl Keys {
    fn of(group: &Group) -> Keys {
        let types: Vec<_> = group.keys.iter().map(|key| key.ty).collect();
        Keys { layout: made_layout(&types), rules: types.iter().map(Rule::of).collect() }
    }

    /// The keys of the frame's row; `ends`: where each part ends.
    fn append(
        &self,
        group: &Group,
        run: &mut Run<'_>,
        frame: &Frame,
        out: &mut Vec<u8>,
        mut ends: Option<&mut Vec<usize>>,
    ) -> Result<(), SqlError> {
        for (key, rule) in group.keys.iter().zip(&self.rules) {
            let value = run.eval(&key.expr, frame)?;
            rule.append(&value.get(), false, out);
            if let Some(ends) = &mut ends {
                ends.push(out.len());
            }
        }
        Ok(())
    }

    fn write(
        &self,
        group: &Group,
        cells: &mut Cells,
        run: &mut Run<'_>,
        frame: &Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        let keys = &group.keys;
        cells.write(&self.layout, keys.len(), |n| run.eval(&keys[n].expr, frame), out)
    }
}

fn new_states(group: &Group) -> impl Iterator<Item = State> {
    group.aggregates.iter().map(start)
}

/// Results of a group's states; `joined` counts the rows that each call has joined.
fn results(
    group: &Group,
    states: &mut [State],
    joined: &mut Vec<u64>,
    run: &mut Run<'_>,
) -> Result<Vec<OwnedDatum>, SqlError> {
    joined.resize(states.len(), 0);
    let calls = states.iter_mut().zip(&group.aggregates).zip(joined);
    calls.map(|((state, call), joined)| state.result(call, run, joined)).collect()
}

/// Fills the group's leaf: keys, of which the first `kept` count, results, and what ROLLUP adds.
#[allow(clippy::too_many_arguments)]
fn fill(
    group: &Group,
    (key_layout, key_row): (&RowLayout, &[u8]),
    kept: usize,
    results: &[OwnedDatum],
    layout: &Arc<RowLayout>,
    cells: &mut Cells,
    frame: &mut Frame,
) -> Result<(), SqlError> {
    let keys = group.keys.len();
    let count = keys + results.len() + usize::from(group.rollup);
    let leaf = &mut frame.leaves[usize::from(group.leaf)];
    leaf.layout = Arc::clone(layout);
    leaf.null = false;
    let value = |n: usize| {
        Ok(Value::Datum(if n < kept {
            key_layout.decode(key_row, n).map_err(damaged)?
        } else if n < keys {
            Datum::Null
        } else {
            match results.get(n - keys) {
                Some(result) => result.datum(),
                None => Datum::UInt((keys - kept) as u64),
            }
        }))
    };
    cells.write(layout, count, value, &mut leaf.bytes)
}

impl<'p> HashGroup<'p> {
    /// The operator of a group without ROLLUP.
    pub fn new(
        group: &'p Group,
        input: Box<dyn Operator + 'p>,
        packer: Packer,
        frame: &Frame,
    ) -> HashGroup<'p> {
        HashGroup {
            group,
            input,
            packer,
            layout: Arc::clone(&frame.leaves[usize::from(group.leaf)].layout),
            keys: Keys::of(group),
            table: KeyTable::default(),
            rows: Default::default(),
            states: Vec::new(),
            grown: 0,
            joined: Vec::new(),
            charge: None,
            cells: Cells::default(),
            at: 0,
            parts: Vec::new(),
            key: Vec::new(),
            row: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.table.clear();
        self.rows.0.clear();
        self.rows.1.clear();
        self.states.clear();
        self.grown = 0;
        self.at = 0;
    }

    fn kept_bytes(&self) -> usize {
        let rows = self.rows.0.len() + 8 * self.rows.1.len();
        self.table.bytes() + rows + self.states.len() * size_of::<State>() + self.grown
    }

    /// Groups the rows of a source; those of groups that have no place go to files of this level.
    fn group_all(
        &mut self,
        mut source: Source,
        level: u32,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<(), SqlError> {
        self.clear();
        let mut charge = run.st.budget.charge();
        let mut parts: Vec<SpillFile> = Vec::new();
        loop {
            let more = match &mut source {
                Source::Input => self.input.next(run, frame)?,
                Source::Part(reader) => {
                    let more = reader.next(&mut self.row)?;
                    if more {
                        self.packer.unpack(&self.row, frame)?;
                    }
                    more
                }
            };
            if !more {
                break;
            }
            run.tick()?;
            self.key.clear();
            self.keys.append(self.group, run, frame, &mut self.key, None)?;
            let hashed = hash(&self.key);
            let full = !parts.is_empty() || charge.is_over() && self.table.len() >= LEAST_GROUPS;
            if full && self.table.find(&self.key, hashed).is_none() {
                self.put_aside(hashed, level, run.st, frame, &mut parts)?;
                continue;
            }
            self.add(hashed, run, frame)?;
            charge.set(self.kept_bytes());
            charge.check()?;
        }
        self.parts.extend(parts.into_iter().map(|part| (part, level + 1)));
        if self.group.strategy == GroupStrategy::Single && self.states.is_empty() {
            self.states = new_states(self.group).collect();
            self.rows.1.push(0);
        }
        self.charge = Some(charge);
        Ok(())
    }

    fn put_aside(
        &mut self,
        hashed: u64,
        level: u32,
        st: &Statement<'_>,
        frame: &Frame,
        parts: &mut Vec<SpillFile>,
    ) -> Result<(), SqlError> {
        while parts.len() < PARTS {
            parts.push(SpillFile::new(st.client)?);
        }
        self.row.clear();
        self.packer.pack(frame, &mut self.row)?;
        // Each level looks at other bits.
        let part = (hashed.rotate_left(11 * (level + 1)) >> 7) as usize % PARTS;
        parts[part].append_record(&[&self.row])
    }

    fn add(&mut self, hashed: u64, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        let (n, new) = self.table.insert(&self.key, hashed);
        if new {
            self.row.clear();
            self.keys.write(self.group, &mut self.cells, run, frame, &mut self.row)?;
            self.rows.0.extend_from_slice(&self.row);
            self.rows.1.push(self.rows.0.len());
            self.states.extend(new_states(self.group));
        }
        let calls = &self.group.aggregates;
        let first = n * calls.len();
        for (call, state) in calls.iter().zip(&mut self.states[first..]) {
            self.grown += state.add(call, run, frame)?;
        }
        Ok(())
    }
}

impl Operator for HashGroup<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.parts.clear();
        self.joined.clear();
        self.input.open(run, frame)?;
        self.group_all(Source::Input, 0, run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        while self.at >= self.rows.1.len() {
            let Some((mut part, level)) = self.parts.pop() else {
                self.clear();
                self.charge = None;
                return Ok(false);
            };
            if part.records() > 0 {
                self.packer.begin(frame);
                self.group_all(Source::Part(part.reader(0)?), level, run, frame)?;
            }
        }
        run.tick()?;
        let n = self.at;
        self.at += 1;
        let calls = self.group.aggregates.len();
        let states = &mut self.states[n * calls..(n + 1) * calls];
        let results = results(self.group, states, &mut self.joined, run)?;
        let start = if n == 0 { 0 } else { self.rows.1[n - 1] };
        let key_row = (&self.keys.layout, &self.rows.0[start..self.rows.1[n]]);
        let kept = self.group.keys.len();
        fill(self.group, key_row, kept, &results, &self.layout, &mut self.cells, frame)?;
        Ok(true)
    }
}

/// A group that rows are added to, with those like it that came before.
#[derive(Default)]
struct Level {
    states: Vec<State>,
    /// Bytes that the states keep.
    grown: usize,
    /// Rows that GROUP_CONCAT has joined, by call.
    joined: Vec<u64>,
}

/// GROUP BY over rows whose keys come side by side, with or without ROLLUP.
pub struct SortedGroup<'p> {
    group: &'p Group,
    input: Box<dyn Operator + 'p>,
    layout: Arc<RowLayout>,
    keys: Keys,
    cells: Cells,
    /// The present group's key and where its parts end, and its key row.
    key: (Vec<u8>, Vec<usize>),
    row: Vec<u8>,
    /// The group, and with ROLLUP the groups around it: by number of keys kept.
    levels: Vec<Level>,
    charge: Option<Charge>,
    /// Finished groups, to be given out: keys kept, key row, results.
    finished: std::collections::VecDeque<(usize, Vec<u8>, Vec<OwnedDatum>)>,
    /// A row was read, and is in the group.
    begun: bool,
    ended: bool,
    next_key: (Vec<u8>, Vec<usize>),
}

impl<'p> SortedGroup<'p> {
    /// The operator of a group over sorted rows.
    pub fn new(group: &'p Group, input: Box<dyn Operator + 'p>, frame: &Frame) -> SortedGroup<'p> {
        SortedGroup {
            group,
            input,
            layout: Arc::clone(&frame.leaves[usize::from(group.leaf)].layout),
            keys: Keys::of(group),
            cells: Cells::default(),
            key: Default::default(),
            row: Vec::new(),
            levels: Vec::new(),
            charge: None,
            finished: Default::default(),
            begun: false,
            ended: false,
            next_key: Default::default(),
        }
    }

    /// Ends the groups that keep more than `agreeing` keys.
    fn end_groups(&mut self, agreeing: usize, run: &mut Run<'_>) -> Result<(), SqlError> {
        let keys = self.group.keys.len();
        let least = if self.group.rollup { agreeing + 1 } else { keys };
        for kept in (least..=keys).rev() {
            self.end_group(kept, run)?;
        }
        Ok(())
    }

    fn end_group(&mut self, kept: usize, run: &mut Run<'_>) -> Result<(), SqlError> {
        let Level { states, grown, joined } = &mut self.levels[kept];
        let results = results(self.group, states, joined, run)?;
        states.clear();
        states.extend(new_states(self.group));
        *grown = 0;
        self.finished.push_back((kept, self.row.clone(), results));
        Ok(())
    }

    fn take_row(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        let (key, ends) = &mut self.next_key;
        key.clear();
        ends.clear();
        self.keys.append(self.group, run, frame, key, Some(ends))?;
        if self.begun {
            let parts = |(key, ends): &(Vec<u8>, Vec<usize>), n: usize| {
                let start = if n == 0 { 0 } else { ends[n - 1] };
                key[start..ends[n]].to_vec()
            };
            let keys = self.group.keys.len();
            let same = |n: &usize| parts(&self.key, *n) == parts(&self.next_key, *n);
            let agreeing = match self.key.0 == self.next_key.0 {
                true => keys,
                false => (0..keys).take_while(same).count(),
            };
            if agreeing < keys {
                self.end_groups(agreeing, run)?;
                self.begun = false;
            }
        }
        if !self.begun {
            self.keys.write(self.group, &mut self.cells, run, frame, &mut self.row)?;
            std::mem::swap(&mut self.key, &mut self.next_key);
            self.begun = true;
        }
        let least = if self.group.rollup { 0 } else { self.group.keys.len() };
        let mut grown = 0;
        for level in &mut self.levels[least..] {
            for (state, call) in level.states.iter_mut().zip(&self.group.aggregates) {
                level.grown += state.add(call, run, frame)?;
            }
            grown += level.grown;
        }
        let charge = self.charge.get_or_insert_with(|| run.st.budget.charge());
        charge.set(grown);
        charge.check()
    }
}

impl Operator for SortedGroup<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.finished.clear();
        (self.begun, self.ended) = (false, false);
        let level = |_| Level { states: new_states(self.group).collect(), ..Level::default() };
        self.levels = (0..=self.group.keys.len()).map(level).collect();
        self.charge = None;
        self.input.open(run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        loop {
            if let Some((kept, row, results)) = self.finished.pop_front() {
                let key_row = (&self.keys.layout, &row[..]);
                fill(self.group, key_row, kept, &results, &self.layout, &mut self.cells, frame)?;
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            run.tick()?;
            if self.input.next(run, frame)? {
                self.take_row(run, frame)?;
                continue;
            }
            self.ended = true;
            if self.begun {
                self.end_groups(0, run)?;
            }
            // Also over no rows.
            if self.group.rollup {
                self.end_group(0, run)?;
            }
        }
    }
}
