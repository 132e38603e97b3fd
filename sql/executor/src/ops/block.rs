//! A query block that runs: its frame, its operators and its subplans.
//!
//! 1. A block is made once for the executions of a statement in a session, one after the other, and opened as often as its
//! rows are wanted; between two executions it is closed.
//! 2. What it is opened with (the row around it) it is also pulled with.

use super::build::build;
use super::cells::{Cells, made_layout};
use super::stored::{StoredLeaf, TakeRow, pass_each, stored_column};
use super::subquery::{Runner, SubplanState};
use super::{OUTPUTS_FEW, Operator, Run, Statement, trim};
use crate::{Environment, RowSink, SqlError};
use expr::tree::Column;
use expr::{Expr, Frame, LeafRow, Row};
use instrument::{Counter, count};
use planner::plan::Output;
use planner::query_plan::{LeafLayout, Node, QueryPlan};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;
use value::RowLayout;

/// A query block that runs.
pub struct Block<'p> {
    /// What it runs.
    pub plan: &'p QueryPlan,
    /// Its present row.
    pub frame: Frame,
    root: Box<dyn Operator + 'p>,
    subplans: Vec<RefCell<SubplanState<'p>>>,
    /// Temporary tables that its operators are, of which the block's first opening in a statement tells.
    temporary: u64,
    begun: bool,
    /// The leaf whose rows it gives as they are, if they lie as they are wanted.
    given: Option<usize>,
}

/// The computed leaf of which a block gives the first columns in their order, and nothing else.
fn given_leaf(plan: &QueryPlan) -> Option<usize> {
    let first = match plan.outputs.first()?.value.expr {
        Expr::Column(column) => column,
        _ => return None,
    };
    let is_next = |(n, output): (usize, &Output)| {
        let next = Column { column: u16::try_from(n).unwrap_or(u16::MAX), ..first };
        matches!(output.value.expr, Expr::Column(column) if column == next)
    };
    let leaf = usize::from(first.leaf);
    let is_made = matches!(plan.leaves.get(leaf)?.layout, LeafLayout::Made(_));
    let gives = first.depth == 0 && plan.outputs.iter().enumerate().all(is_next);
    (is_made && gives).then_some(leaf)
}

impl<'p> Block<'p> {
    /// A block that is not open yet; `again`: it may be opened more than once.
    ///
    /// # Errors
    /// 1235 for what cannot run yet.
    pub fn new(
        plan: &'p QueryPlan,
        st: &Statement<'_>,
        again: bool,
    ) -> Result<Block<'p>, SqlError> {
        Block::make(plan, st, |frame| build(&plan.root, plan, frame, st, (again, false)))
    }

    /// A block that yields all rows of a node below its LIMIT, also where a sort would keep the first only.
    ///
    /// # Errors
    /// As [`Block::new`].
    pub fn of_node(
        plan: &'p QueryPlan,
        node: &'p Node,
        st: &Statement<'_>,
    ) -> Result<Block<'p>, SqlError> {
        Block::make(plan, st, |frame| build(node, plan, frame, st, (false, true)))
    }

    fn make(
        plan: &'p QueryPlan,
        st: &Statement<'_>,
        root: impl FnOnce(&Frame) -> Result<(Box<dyn Operator + 'p>, u64), SqlError>,
    ) -> Result<Block<'p>, SqlError> {
        let leaves = plan.leaves.iter().map(|leaf| {
            let layout = match &leaf.layout {
                LeafLayout::Table(table) => st.tables.table(*table).layout().clone(),
                LeafLayout::Virtual(table) => table.layout().clone(),
                LeafLayout::Made(types) => made_layout(types),
            };
            LeafRow { layout: Arc::new(layout), bytes: Vec::new(), null: true, key: Vec::new() }
        });
        let frame = Frame { leaves: leaves.collect() };
        let (root, temporary) = root(&frame)?;
        let subplans = plan.subplans.iter().map(|plan| RefCell::new(SubplanState::new(plan)));
        let subplans = subplans.collect();
        let given = given_leaf(plan);
        Ok(Block { plan, frame, root, subplans, temporary, begun: false, given })
    }

    /// Calls `f` with what the block's operators and expressions run with.
    fn with<T>(
        &mut self,
        (st, env): (&Statement<'_>, &mut dyn Environment),
        outer: Option<&Row<'_>>,
        f: impl FnOnce(&mut Run<'_>, &mut dyn Operator, &mut Frame) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let runner = Runner { st, states: &self.subplans };
        let names = super::names::BlockNames { st, plan: self.plan };
        let names: Option<&dyn expr::print::Names> = Some(&names);
        let mut run = Run { st, env, outer, subqueries: Some(&runner), names };
        f(&mut run, &mut *self.root, &mut self.frame)
    }

    /// Begins anew.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub fn open(
        &mut self,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        outer: Option<&Row<'_>>,
    ) -> Result<(), SqlError> {
        self.begin();
        self.with((st, env), outer, |run, root, frame| root.open(run, frame))
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) && self.temporary > 0 {
            count(Counter::CreatedTmpTables, self.temporary);
        }
    }

    /// Calls `f` with each of the first rows of a block that was opened, so many at most; there is no row around.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    #[inline(always)]
    pub fn each_row(
        &mut self,
        (st, env): (&Statement<'_>, &mut dyn Environment),
        rows_max: u64,
        mut f: impl FnMut(&mut Run<'_>, &Frame) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.with((st, env), None, |run, root, frame| {
            let mut rows = 0;
            while rows < rows_max && root.next(run, frame)? {
                rows += 1;
                f(run, frame)?;
            }
            Ok(())
        })
    }

    /// Passes the first rows of a block that was opened on where they lie, so many at most, and answers how many there were;
    /// `None`: its rows have to be made ([`Block::each_row`]).
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub fn pass_rows(
        &mut self,
        (st, env): (&Statement<'_>, &mut dyn Environment),
        rows_max: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>, SqlError> {
        let outputs = &self.plan.outputs;
        self.with((st, env), None, |run, root, frame| {
            let Some((leaf, layout)) = root.stored() else { return Ok(None) };
            let mut columns: SmallVec<[usize; OUTPUTS_FEW]> = SmallVec::new();
            for output in outputs {
                match stored_column(&output.value.expr, leaf, layout) {
                    Some(column) => columns.push(column),
                    None => return Ok(None),
                }
            }
            let layout = Arc::clone(layout);
            let (mut rows, mut more) = (0, true);
            while more && rows < rows_max {
                more = pass_each(root, run, frame, |row| {
                    rows += 1;
                    Ok(sink.stored_row(&layout, &columns, row)? || rows == rows_max)
                })?;
                sink.make_room()?;
            }
            Ok(Some(rows))
        })
    }

    /// The statement is over: see [`Operator::close`].
    pub fn close(&mut self) {
        self.begun = false;
        for leaf in &mut self.frame.leaves {
            trim(&mut leaf.bytes);
            trim(&mut leaf.key);
        }
        self.root.close();
        self.subplans.iter_mut().for_each(|subplan| subplan.get_mut().close());
    }

    /// How many temporary tables its operators are, for the block around to tell of them instead.
    pub(super) fn take_temporary(&mut self) -> u64 {
        std::mem::take(&mut self.temporary)
    }

    /// Goes to the next row.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub fn next(
        &mut self,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        outer: Option<&Row<'_>>,
    ) -> Result<bool, SqlError> {
        self.with((st, env), outer, |run, root, frame| root.next(run, frame))
    }

    /// Goes to the next row and calls `f` with it; `None`: there is none.
    ///
    /// # Errors
    /// Whatever the statement may end in; those of `f`.
    pub(super) fn next_with<T>(
        &mut self,
        (st, env): (&Statement<'_>, &mut dyn Environment),
        outer: Option<&Row<'_>>,
        f: impl FnOnce(&mut Run<'_>, &Frame) -> Result<T, SqlError>,
    ) -> Result<Option<T>, SqlError> {
        self.with((st, env), outer, |run, root, frame| match root.next(run, frame)? {
            true => f(run, frame).map(Some),
            false => Ok(None),
        })
    }

    /// Goes to the next row and puts its outputs into `out` as a row of `layout`; `false`: there is none.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub(super) fn next_outputs(
        &mut self,
        by: (&Statement<'_>, &mut dyn Environment),
        outer: Option<&Row<'_>>,
        layout: &RowLayout,
        cells: &mut Cells,
        out: &mut Vec<u8>,
    ) -> Result<bool, SqlError> {
        let (outputs, given) = (&self.plan.outputs, self.given);
        let found = self.next_with(by, outer, |run, frame| {
            let leaf = given.map(|leaf| &frame.leaves[leaf]);
            if let Some(leaf) = leaf.filter(|leaf| !leaf.null && leaf.layout.lies_as(layout)) {
                out.clear();
                out.extend_from_slice(&leaf.bytes);
                return Ok(());
            }
            let value = |n: usize| run.eval(&outputs[n].value.expr, frame);
            cells.write(layout, outputs.len(), value, out)
        })?;
        Ok(found.is_some())
    }

    /// Shows the next rows of outputs, as rows of `layout`, until `take` has enough; `false`: there are no others.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub(super) fn pass_outputs(
        &mut self,
        by: (&Statement<'_>, &mut dyn Environment),
        outer: Option<&Row<'_>>,
        (layout, cells, out): (&RowLayout, &mut Cells, &mut Vec<u8>),
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        let (outputs, given) = (&self.plan.outputs, self.given);
        self.with(by, outer, |run, root, frame| {
            let lies = |(leaf, own): StoredLeaf<'_>| {
                given == Some(usize::from(leaf)) && own.lies_as(layout)
            };
            if root.stored().is_some_and(lies) {
                return root.pass(run, frame, take);
            }
            while root.next(run, frame)? {
                run.tick()?;
                let leaf = given.map(|leaf| &frame.leaves[leaf]);
                let enough = match leaf.filter(|l| !l.null && l.layout.lies_as(layout)) {
                    Some(leaf) => take(&leaf.bytes),
                    None => {
                        let value = |n: usize| run.eval(&outputs[n].value.expr, frame);
                        cells.write(layout, outputs.len(), value, out)?;
                        take(out)
                    }
                };
                if enough {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Calls `f` with each of the next rows; with `opens`, begins anew.
    ///
    /// # Errors
    /// Whatever the statement may end in; those of `f`.
    pub(super) fn each(
        &mut self,
        by: (&Statement<'_>, &mut dyn Environment),
        outer: Option<&Row<'_>>,
        opens: bool,
        mut f: impl FnMut(&mut Run<'_>, &Frame) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.begin();
        self.with(by, outer, |run, root, frame| {
            if opens {
                root.open(run, frame)?;
            }
            while root.next(run, frame)? {
                run.tick()?;
                f(run, frame)?;
            }
            Ok(())
        })
    }

    /// What the block gives.
    pub(super) fn outputs(&self) -> &'p [Output] {
        &self.plan.outputs
    }

    /// Calls `f` with the block's present row.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn look<T>(
        &mut self,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        outer: Option<&Row<'_>>,
        f: impl FnOnce(&mut Run<'_>, &Frame) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.with((st, env), outer, |run, _, frame| f(run, frame))
    }

    /// As [`Block::look`], for one who puts other rows into the frame and takes them out again.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn try_on<T>(
        &mut self,
        (st, env): (&Statement<'_>, &mut dyn Environment),
        f: impl FnOnce(&mut Run<'_>, &mut Frame) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.with((st, env), None, |run, _, frame| f(run, frame))
    }

    /// Puts the outputs of the present row into `out` as a row of `layout`.
    ///
    /// # Errors
    /// Those of evaluating them.
    pub fn write_outputs(
        &mut self,
        (st, env): (&Statement<'_>, &mut dyn Environment),
        outer: Option<&Row<'_>>,
        layout: &RowLayout,
        cells: &mut Cells,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        let outputs = &self.plan.outputs;
        self.with((st, env), outer, |run, _, frame| {
            let value = |n: usize| run.eval(&outputs[n].value.expr, frame);
            cells.write(layout, outputs.len(), value, out)
        })
    }
}
