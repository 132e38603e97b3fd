//! GROUP BY: what all ways of grouping share, and groups whose rows come side by side, with ROLLUP.
//!
//! 1. A group keeps its keys as a row, and a state per aggregate.

use super::aggregate::{State, start};
use super::cells::{Cells, made_layout};
use super::keys::Rule;
use super::{Operator, Run};
use crate::SqlError;
use crate::memory::Charge;
use expr::{Frame, OwnedDatum, Value, damaged};
use planner::query_plan::Group;
use std::sync::Arc;
use value::{Datum, RowLayout};

/// How the keys of a group are kept as a row.
pub struct Keys {
    pub(super) layout: RowLayout,
    rules: Vec<Rule>,
}

impl Keys {
    /// Of a group's rows.
    pub fn of(group: &Group) -> Keys {
        let types: Vec<_> = group.keys.iter().map(|key| key.ty).collect();
        Keys { layout: made_layout(&types), rules: types.iter().map(Rule::of).collect() }
    }

    /// The keys of the frame's row; `ends`: where each part ends.
    ///
    /// # Errors
    /// Those of evaluating them.
    pub fn append(
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

    /// Puts the keys of the frame's row into `out` as a row.
    ///
    /// # Errors
    /// Those of evaluating them.
    pub fn write(
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

/// States of a group without rows.
pub fn new_states(group: &Group) -> impl Iterator<Item = State> {
    group.aggregates.iter().map(start)
}

/// Results of a group's states; `joined` counts the rows that each call has joined.
///
/// # Errors
/// 1690.
pub fn results(
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
///
/// # Errors
/// A value that its column cannot hold.
#[allow(clippy::too_many_arguments)]
pub fn fill(
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

    fn close(&mut self) {
        self.finished.clear();
        self.levels = Vec::new();
        self.charge = None;
        self.input.close();
    }
}
