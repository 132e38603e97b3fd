//! Window functions: one partition at a time is kept where that is needed, and every row of it is looked at with its frame.
//!
//! 1. All rows are sorted by partition, then order. 2. Peers are rows with equal order keys; without ORDER
//!    BY all rows of a partition are. 3. An aggregate goes on from the row before as long as frames grow
//!    at their end, and rows that leave at their start can be taken out of it; otherwise it begins anew.
//! 4. Where all functions number rows by themselves and those before them, no partition is kept: rows pass through.
//! 5. Without partitions and order nothing is sorted: all rows are one partition, in the order in which they come.

use super::aggregate::{State, start};
use super::cells::Cells;
use super::keys::Rule;
use super::pack::Packer;
use super::place::{Place, is_same, is_told};
use super::sorter::Sorter;
use super::store::RowStore;
use super::{Operator, Run, trim};
use crate::SqlError;
use crate::memory::Charge;
use expr::aggregate::AggregateCall;
use expr::{Expr, Frame, OwnedDatum, Typed, Value};
use planner::PlanError;
use planner::query_plan::{
    FrameBound, FrameOffset, Window, WindowCall, WindowFrame, WindowFunction as W,
};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use value::{Datum, Decimal, RowLayout};

/// The rows of one partition.
struct Partition {
    rows: RowStore,
    /// Order keys behind each other, and where each ends: only if frames are searched for by key.
    keys: Vec<u8>,
    ends: Vec<usize>,
    searched: bool,
    /// The last row's order key.
    last: Vec<u8>,
    /// Numbers of the first rows of all groups of peers, in order.
    groups: Vec<usize>,
    /// The present row, and the number of its group.
    at: usize,
    group: usize,
    charge: Charge,
}

impl Partition {
    fn key(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.keys[start..self.ends[n]]
    }

    fn new(run: &Run<'_>, searched: bool) -> Partition {
        Partition {
            rows: RowStore::new(run.st),
            keys: Vec::new(),
            ends: Vec::new(),
            searched,
            last: Vec::new(),
            groups: Vec::new(),
            at: 0,
            group: 0,
            charge: run.st.budget.charge(),
        }
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn add(&mut self, run: &Run<'_>, key: &[u8], row: &[u8]) -> Result<(), SqlError> {
        let n = self.len();
        if n == 0 || !is_same(&self.last, key) {
            self.groups.push(n);
            self.last.clear();
            self.last.extend_from_slice(key);
        }
        if self.searched {
            self.keys.extend_from_slice(key);
            self.ends.push(self.keys.len());
        }
        self.charge.set(self.keys.len() + 8 * (self.ends.len() + self.groups.len()));
        self.charge.check()?;
        self.rows.push(run.st, row)
    }

    /// Goes on to the next row; `false`: the present one is the last.
    fn step(&mut self) -> bool {
        if self.at + 1 >= self.len() {
            return false;
        }
        self.at += 1;
        self.group += usize::from(self.groups.get(self.group + 1) == Some(&self.at));
        true
    }

    /// The peers of the present row.
    fn peers(&self) -> Range<usize> {
        let end = self.groups.get(self.group + 1).copied().unwrap_or(self.len());
        self.groups.get(self.group).copied().unwrap_or(0)..end
    }

    /// The first row whose key is not below `key`, or above it.
    fn search(&self, key: &[u8], above: bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let there = self.key(middle);
            if there < key || above && there == key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// An aggregate over frames, as it goes from row to row.
#[derive(Default)]
struct Running {
    state: Option<State>,
    frame: Range<usize>,
    result: OwnedDatum,
    joined: u64,
    /// Bytes that the state keeps.
    grown: usize,
    charge: Option<Charge>,
}

/// Window functions over one partitioning and order.
pub struct Windows<'p> {
    window: &'p Window,
    input: Box<dyn Operator + 'p>,
    packer: Packer,
    layout: Arc<RowLayout>,
    rules: Vec<Rule>,
    /// Some frame ends at a distance from the present row's key.
    searched: bool,
    sorter: Option<Sorter>,
    partition: Option<Partition>,
    /// Without partitions and order: all rows, before they are the present partition.
    unsorted: Option<Partition>,
    running: Vec<Running>,
    /// All functions are told by a row and those before it: no partition is kept.
    passes: bool,
    place: Place,
    key: Vec<u8>,
    /// The first row of the next partition: key and row, and how long its partition key is.
    ahead: Option<(Vec<u8>, Vec<u8>)>,
    row: Vec<u8>,
    /// Values of the present row's functions.
    values: Vec<OwnedDatum>,
    cells: Cells,
}

impl<'p> Windows<'p> {
    /// The operator of a window.
    pub fn new(
        window: &'p Window,
        input: Box<dyn Operator + 'p>,
        packer: Packer,
        frame: &Frame,
    ) -> Windows<'p> {
        // Distances of a frame may have fractions where the keys have none.
        let by_number = |bound: &FrameBound| {
            matches!(
                bound,
                FrameBound::Preceding(FrameOffset::Number(_))
                    | FrameBound::Following(FrameOffset::Number(_))
            )
        };
        let distant = |bound: &FrameBound| {
            matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_))
        };
        let any = |of: fn(&FrameBound) -> bool| {
            let ranges = window.functions.iter().filter(|f| !f.frame.rows);
            ranges.into_iter().any(|f| of(&f.frame.start) || of(&f.frame.end))
        };
        let (measured, searched) = (any(by_number), any(distant));
        let rules = window.order_by.iter().map(|key| match Rule::of(&key.value.ty) {
            Rule::Int if measured => Rule::Exact,
            rule => rule,
        });
        Windows {
            window,
            input,
            packer,
            layout: Arc::clone(&frame.leaves[usize::from(window.leaf)].layout),
            rules: rules.collect(),
            searched,
            sorter: None,
            partition: None,
            unsorted: None,
            running: Vec::new(),
            passes: window.functions.iter().all(|call| is_told(&call.function)),
            place: Place::default(),
            key: Vec::new(),
            ahead: None,
            row: Vec::new(),
            values: Vec::new(),
            cells: Cells::default(),
        }
    }

    fn is_sorted(&self) -> bool {
        !(self.window.partition_by.is_empty() && self.window.order_by.is_empty())
    }

    /// Takes all rows as they come.
    fn keep_input(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let mut all = Partition::new(run, self.searched);
        while self.input.next(run, frame)? {
            run.tick()?;
            self.row.clear();
            self.packer.pack(frame, &mut self.row)?;
            all.add(run, &[], &self.row)?;
        }
        self.packer.begin(frame);
        self.unsorted = Some(all);
        Ok(())
    }

    fn sort_input(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let mut sorter = Sorter::new(run.st, None);
        let (st, window, rules, packer) = (run.st, self.window, &self.rules, &self.packer);
        while self.input.next(run, frame)? {
            run.tick()?;
            let (frame, partition_bytes) = (&*frame, Cell::new(0));
            let make_key = |out: &mut Vec<u8>| {
                let start = out.len();
                for by in &window.partition_by {
                    let value = run.eval(&by.expr, frame)?;
                    Rule::of(&by.ty).append(&value.get(), false, out);
                }
                partition_bytes.set((out.len() - start) as u32);
                for (by, rule) in window.order_by.iter().zip(rules) {
                    let value = run.eval(&by.value.expr, frame)?;
                    rule.append(&value.get(), by.descending, out);
                }
                Ok(())
            };
            let make_row = |out: &mut Vec<u8>| {
                out.extend_from_slice(&partition_bytes.get().to_le_bytes());
                packer.pack(frame, out)
            };
            sorter.add_made(st, make_key, make_row)?;
        }
        sorter.finish(run.st)?;
        self.packer.begin(frame);
        self.sorter = Some(sorter);
        Ok(())
    }

    /// Passes the next row on, with the values that its place tells.
    fn pass(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        run.tick()?;
        if self.is_sorted() {
            let Some(sorter) = &mut self.sorter else { return Ok(false) };
            if !sorter.next(&mut self.key, &mut self.row)? {
                self.sorter = None;
                return Ok(false);
            }
            self.place.go_to(&mut self.key, partition_bytes(&self.row));
            self.packer.unpack(self.row.get(4..).unwrap_or_default(), frame)?;
        } else {
            if !self.input.next(run, frame)? {
                return Ok(false);
            }
            self.place.go_to(&mut self.key, 0);
        }
        let (functions, place) = (&self.window.functions, &self.place);
        let leaf = &mut frame.leaves[usize::from(self.window.leaf)];
        leaf.null = false;
        let value = |n: usize| Ok(Value::Datum(place.value(&functions[n].function)));
        self.cells.write(&self.layout, functions.len(), value, &mut leaf.bytes)?;
        Ok(true)
    }

    /// Reads the next partition; `false`: there is none.
    fn next_partition(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        self.running = self.window.functions.iter().map(|_| Running::default()).collect();
        self.partition = self.unsorted.take().filter(|all| all.len() > 0);
        if self.partition.is_some() {
            return Ok(true);
        }
        let Some(sorter) = &mut self.sorter else { return Ok(false) };
        let (mut key, mut row) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => {
                let (mut key, mut row) = (Vec::new(), Vec::new());
                if !sorter.next(&mut key, &mut row)? {
                    return Ok(false);
                }
                (key, row)
            }
        };
        let mut partition = Partition::new(run, self.searched);
        let of_partition = key[..partition_bytes(&row)].to_vec();
        loop {
            run.tick()?;
            partition.add(run, &key[of_partition.len()..], &row[4..])?;
            if !sorter.next(&mut key, &mut row)? {
                break;
            }
            if !is_same(&key[..partition_bytes(&row)], &of_partition) {
                self.ahead = Some((key, row));
                break;
            }
        }
        self.partition = Some(partition);
        Ok(true)
    }

    /// Gives back the rows.
    fn forget(&mut self) {
        (self.sorter, self.partition, self.unsorted, self.ahead) = (None, None, None, None);
        self.place = Place::default();
    }

    /// Fills the leaves with a row of the partition.
    fn go_to(&mut self, n: usize, frame: &mut Frame) -> Result<(), SqlError> {
        let partition = self.partition.as_mut().ok_or_else(|| super::internal("no partition"))?;
        let row = partition.rows.look(n, &mut self.row)?;
        self.packer.unpack(row, frame)
    }

    fn value_at(
        &mut self,
        value: &Typed,
        n: usize,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<OwnedDatum, SqlError> {
        let here = self.at();
        if n != here {
            self.go_to(n, frame)?;
        }
        let found = run.eval(&value.expr, frame)?.into_owned();
        if n != here {
            self.go_to(here, frame)?;
        }
        Ok(found)
    }

    fn len(&self) -> usize {
        self.partition.as_ref().map_or(0, Partition::len)
    }

    /// The number of the present row in its partition.
    fn at(&self) -> usize {
        self.partition.as_ref().map_or(0, |p| p.at)
    }

    /// The number of the present row's group of peers, and these.
    fn peers(&self) -> (usize, Range<usize>) {
        self.partition.as_ref().map_or((0, 0..0), |p| (p.group, p.peers()))
    }

    fn call(
        &mut self,
        n: usize,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<OwnedDatum, SqlError> {
        let call: &'p WindowCall = &self.window.functions[n];
        let (at, len) = (self.at(), self.len());
        let (group, peers) = self.peers();
        let count = |n: usize| OwnedDatum::UInt(n as u64);
        Ok(match &call.function {
            W::RowNumber => count(at + 1),
            W::Rank => count(peers.start + 1),
            W::DenseRank => count(group + 1),
            W::PercentRank if len < 2 => OwnedDatum::Double(0.0),
            W::PercentRank => OwnedDatum::Double(peers.start as f64 / (len - 1) as f64),
            W::CumeDist => OwnedDatum::Double(peers.end as f64 / len as f64),
            W::Ntile(buckets) => match whole(buckets, "ntile", run, frame)? {
                None => OwnedDatum::Null,
                Some(buckets) => count(ntile(at, len, buckets.max(1)) + 1),
            },
            W::Lag { value, offset, default, lead } => {
                let name = if *lead { "lead" } else { "lag" };
                let offset = whole(offset, name, run, frame)?.unwrap_or(0);
                let there = if *lead { at.checked_add(offset) } else { at.checked_sub(offset) };
                match (there.filter(|there| *there < len), default) {
                    (Some(there), _) => self.value_at(value, there, run, frame)?,
                    (None, Some(default)) => run.eval(&default.expr, frame)?.into_owned(),
                    (None, None) => OwnedDatum::Null,
                }
            }
            W::FirstValue(value) => {
                let rows = self.frame_of(&call.frame, run, frame)?;
                self.value_in(value, rows.start, &rows, run, frame)?
            }
            W::LastValue(value) => {
                let rows = self.frame_of(&call.frame, run, frame)?;
                self.value_in(value, rows.end.wrapping_sub(1), &rows, run, frame)?
            }
            W::NthValue(value, which) => {
                let rows = self.frame_of(&call.frame, run, frame)?;
                match whole(which, "nth_value", run, frame)? {
                    None => OwnedDatum::Null,
                    Some(which) => {
                        let there = rows.start + which.saturating_sub(1);
                        self.value_in(value, there, &rows, run, frame)?
                    }
                }
            }
            W::Aggregate(_) => {
                let rows = self.frame_of(&call.frame, run, frame)?;
                self.aggregate(n, rows, run, frame)?
            }
        })
    }

    fn value_in(
        &mut self,
        value: &Typed,
        n: usize,
        rows: &Range<usize>,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<OwnedDatum, SqlError> {
        if rows.contains(&n) { self.value_at(value, n, run, frame) } else { Ok(OwnedDatum::Null) }
    }

    fn aggregate(
        &mut self,
        n: usize,
        rows: Range<usize>,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<OwnedDatum, SqlError> {
        let W::Aggregate(call) = &self.window.functions[n].function else {
            return Ok(OwnedDatum::Null);
        };
        if self.running[n].state.is_some() && self.running[n].frame == rows {
            return Ok(self.running[n].result.clone());
        }
        let mut running = std::mem::take(&mut self.running[n]);
        let before = running.frame.clone();
        let mut state = running.state.take();
        if !self.leave(&before, &rows, state.as_mut().map(|state| (state, call)), run, frame)? {
            state = None;
        }
        let anew = state.is_none();
        let mut state = state.unwrap_or_else(|| start(call));
        let new = if anew { rows.clone() } else { before.end..rows.end };
        running.grown = if anew { 0 } else { running.grown };
        for there in new {
            run.tick()?;
            if !call.arguments.is_empty() {
                self.go_to(there, frame)?;
            }
            running.grown += state.add(call, run, frame)?;
        }
        self.go_to(self.at(), frame)?;
        running.result = state.result(call, run, &mut running.joined)?;
        let charge = running.charge.get_or_insert_with(|| run.st.budget.charge());
        charge.set(running.grown);
        charge.check()?;
        running.frame = rows;
        running.state = Some(state);
        let result = running.result.clone();
        self.running[n] = running;
        Ok(result)
    }

    /// Takes the rows that are not in the frame any more out of a state; `false`: it has to begin anew.
    fn leave(
        &mut self,
        before: &Range<usize>,
        rows: &Range<usize>,
        state: Option<(&mut State, &AggregateCall)>,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        let Some((state, call)) = state else { return Ok(false) };
        let apart = rows.start < before.start || rows.end < before.end || rows.start > before.end;
        // Leaving is worth it for less than what stays.
        if apart || rows.start - before.start > rows.len() {
            return Ok(false);
        }
        for there in before.start..rows.start {
            run.tick()?;
            self.go_to(there, frame)?;
            if !state.remove(call, run, frame)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows of the present row's frame.
    fn frame_of(
        &mut self,
        bounds: &WindowFrame,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<Range<usize>, SqlError> {
        let len = self.len();
        let start = self.bound(bounds, &bounds.start, false, run, frame)?.min(len);
        let end = self.bound(bounds, &bounds.end, true, run, frame)?.min(len);
        Ok(start..end.max(start))
    }

    /// The first row of the frame, or the one after its last.
    fn bound(
        &mut self,
        bounds: &WindowFrame,
        bound: &FrameBound,
        end: bool,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<usize, SqlError> {
        let (at, len) = (self.at(), self.len());
        let (offset, following) = match bound {
            FrameBound::Unbounded => return Ok(if end { len } else { 0 }),
            FrameBound::CurrentRow if bounds.rows => return Ok(at + usize::from(end)),
            FrameBound::CurrentRow => {
                let peers = self.peers().1;
                return Ok(if end { peers.end } else { peers.start });
            }
            FrameBound::Preceding(offset) => (offset, false),
            FrameBound::Following(offset) => (offset, true),
        };
        if bounds.rows {
            let FrameOffset::Number(number) = offset else {
                return Err(super::internal("a frame of rows is bounded by a number"));
            };
            let rows = frame_rows(number, run, frame)?;
            return Ok(match following {
                true => at.saturating_add(rows).saturating_add(usize::from(end)),
                false => (at + usize::from(end)).saturating_sub(rows),
            });
        }
        let key = self.moved_key(offset, following, run, frame)?;
        let partition = self.partition.as_ref().ok_or_else(|| super::internal("no partition"))?;
        Ok(partition.search(&key, end))
    }

    /// The present row's order key moved by a frame's distance.
    fn moved_key(
        &mut self,
        offset: &FrameOffset,
        following: bool,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<Vec<u8>, SqlError> {
        let order = self.window.order_by.first();
        let (Some(by), Some(rule)) = (order, self.rules.first()) else {
            return Err(super::internal("a frame of a range needs an order"));
        };
        let mut out = Vec::new();
        match offset {
            FrameOffset::Moved(expr) => {
                let value = run.eval(expr, frame)?;
                rule.append(&value.get(), by.descending, &mut out);
            }
            FrameOffset::Number(number) => {
                let distance = run.eval(number, frame)?.into_owned();
                let here = run.eval(&by.value.expr, frame)?;
                let here = wide(here.get());
                let distance = wide(distance.datum());
                let moved = match following != by.descending {
                    true => value::add(here, distance)?,
                    false => value::sub(here, distance)?,
                };
                rule.append(&moved, by.descending, &mut out);
            }
        }
        Ok(out)
    }
}

/// Integers as decimals: then they have room to be moved.
fn wide(value: Datum<'_>) -> Datum<'_> {
    match value {
        Datum::Int(v) => Datum::Decimal(Decimal::from_i128(i128::from(v), 0)),
        Datum::UInt(v) => Datum::Decimal(Decimal::from_i128(i128::from(v), 0)),
        other => other,
    }
}

fn partition_bytes(row: &[u8]) -> usize {
    row.first_chunk().map_or(0, |b| u32::from_le_bytes(*b) as usize)
}

/// The bucket of a row: the first ones get one row more.
fn ntile(at: usize, len: usize, buckets: usize) -> usize {
    let (each, more) = (len / buckets, len % buckets);
    match at.checked_sub(more * (each + 1)) {
        None => at / (each + 1),
        Some(rest) => more + rest / each.max(1),
    }
}

/// A number of rows of a frame.
fn frame_rows(number: &Expr, run: &mut Run<'_>, frame: &Frame) -> Result<usize, SqlError> {
    let value = run.eval(number, frame)?;
    let wrong = || SqlError::from(PlanError::FrameBound("<unnamed window>"));
    value.get().as_u64().map(|n| n as usize).ok_or_else(wrong)
}

/// A whole number that a function is given; NULL is none.
fn whole(
    number: &Expr,
    function: &str,
    run: &mut Run<'_>,
    frame: &Frame,
) -> Result<Option<usize>, SqlError> {
    let value = run.eval(number, frame)?;
    if value.get().is_null() {
        return Ok(None);
    }
    let wrong = || SqlError::from(PlanError::WrongArguments(function));
    value.get().as_u64().map(|n| Some(n as usize)).ok_or_else(wrong)
}

impl Operator for Windows<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.forget();
        frame.leaves[usize::from(self.window.leaf)].layout = Arc::clone(&self.layout);
        self.input.open(run, frame)?;
        match (self.is_sorted(), self.passes) {
            (true, _) => self.sort_input(run, frame),
            (false, false) => self.keep_input(run, frame),
            (false, true) => Ok(()),
        }
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if self.passes {
            return self.pass(run, frame);
        }
        run.tick()?;
        if !self.partition.as_mut().is_some_and(Partition::step) && !self.next_partition(run)? {
            self.sorter = None;
            return Ok(false);
        }
        self.go_to(self.at(), frame)?;
        let count = self.window.functions.len();
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        for n in 0..count {
            values.push(self.call(n, run, frame)?);
        }
        let leaf = &mut frame.leaves[usize::from(self.window.leaf)];
        leaf.null = false;
        let value = |n: usize| Ok(Value::Datum(values[n].datum()));
        self.cells.write(&self.layout, count, value, &mut leaf.bytes)?;
        self.values = values;
        Ok(true)
    }

    fn close(&mut self) {
        self.forget();
        self.values = Vec::new();
        trim(&mut self.key);
        trim(&mut self.row);
        self.input.close();
    }
}
