//! Leaves whose rows are computed: nested queries, shared ones, rows of a recursion, VALUES, projections.

use super::block::Block;
use super::cells::{Cells, made_layout};
use super::pushed_predicate::PushedPredicate;
use super::store::RowStore;
use super::stored::TakeRow;
use super::{Operator, Run, Statement, trim};
use crate::{Environment, SqlError};
use expr::{Expr, Frame, Row, damaged};
use instrument::{Counter, count};
use planner::query_plan::QueryPlan;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use value::RowLayout;

/// A leaf that an operator fills.
pub struct Leaf<'p> {
    number: usize,
    layout: Arc<RowLayout>,
    predicate: PushedPredicate<'p>,
}

impl<'p> Leaf<'p> {
    /// A leaf of the block, whose rows must satisfy `filter`.
    pub fn new(number: u16, filter: Option<&'p Expr>, frame: &Frame) -> Leaf<'p> {
        let layout = Arc::clone(&frame.leaves[usize::from(number)].layout);
        let predicate = PushedPredicate::new(filter, number, &layout);
        Leaf { number: usize::from(number), layout, predicate }
    }

    /// How its rows lie.
    pub(super) fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        (0..).take_while(|n| self.layout.column_type(*n).is_some()).count()
    }

    pub(super) fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        frame.leaves[self.number].layout = Arc::clone(&self.layout);
        self.predicate.open(run, frame)
    }

    /// The statement is over.
    pub(super) fn close(&mut self) {
        self.predicate.close();
    }

    /// Whether the filter lets the leaf's row pass.
    fn passes(&self, run: &mut Run<'_>, frame: &Frame) -> Result<bool, SqlError> {
        let bytes = &frame.leaves[self.number].bytes;
        Ok(self.predicate.holds(bytes).map_err(damaged)?
            && self.predicate.rest_holds(run, frame)?)
    }

    /// The leaf's row, to be filled.
    fn row<'f>(&self, frame: &'f mut Frame) -> &'f mut Vec<u8> {
        let leaf = &mut frame.leaves[self.number];
        leaf.null = false;
        &mut leaf.bytes
    }

    /// The next row of a store that the filter lets pass.
    pub(super) fn next_of(
        &self,
        rows: &mut RowStore,
        at: &mut usize,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<bool, SqlError> {
        while *at < rows.len() {
            run.tick()?;
            rows.get(*at, self.row(frame))?;
            *at += 1;
            if self.passes(run, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Runs a query to its end and keeps its rows.
///
/// # Errors
/// Whatever it ends in.
pub fn collect(
    block: &mut Block<'_>,
    (st, env): (&Statement<'_>, &mut dyn Environment),
    outer: Option<&Row<'_>>,
    layout: &RowLayout,
) -> Result<RowStore, SqlError> {
    count(Counter::CreatedTmpTables, 1);
    let mut rows = RowStore::new(st);
    let (mut cells, mut bytes) = (Cells::default(), Vec::new());
    block.open(st, env, outer)?;
    while block.next_outputs((st, env), outer, layout, &mut cells, &mut bytes)? {
        st.tick()?;
        rows.push(st, &bytes)?;
    }
    Ok(rows)
}

/// Whether all rows of a nested query are there before the first one is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// They come as they are wanted.
    No,
    /// They are the same each time, and wanted more than once.
    Once,
    /// It assigns to variables, which who is around may read: made anew at each opening.
    EachTime,
}

impl Keep {
    /// Of a query that may be opened again with the same rows, if that is `again`.
    pub fn of(query: &QueryPlan, again: bool) -> Keep {
        match query.outputs.iter().any(|o| planner::assigns(&o.value.expr)) {
            _ if again => Keep::Once,
            true => Keep::EachTime,
            false => Keep::No,
        }
    }
}

/// The rows of a nested query.
pub struct Derived<'p> {
    pub(super) leaf: Leaf<'p>,
    pub(super) block: Block<'p>,
    pub(super) keep: Keep,
    pub(super) rows: Option<RowStore>,
    pub(super) at: usize,
    pub(super) cells: Cells,
    /// A row that is shown.
    pub(super) row: Vec<u8>,
}

impl<'p> Derived<'p> {
    /// The leaf it fills.
    pub(super) fn leaf(&self) -> u16 {
        self.leaf.number as u16
    }

    /// How its rows lie.
    pub(super) fn layout(&self) -> &Arc<RowLayout> {
        &self.leaf.layout
    }

    /// What its rows must satisfy.
    pub(super) fn predicate(&self) -> &PushedPredicate<'p> {
        &self.leaf.predicate
    }

    /// Shows the next rows that pass the tests where they lie: as [`Operator::pass`].
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub(super) fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        let (predicate, mut failed) = (&self.leaf.predicate, None);
        let mut take = |row: &[u8]| match predicate.holds(row) {
            Ok(holds) => holds && take(row),
            Err(error) => {
                failed = Some(damaged(error));
                true
            }
        };
        let more = match &mut self.rows {
            None => {
                let outer = run.row(frame);
                let made = (&*self.leaf.layout, &mut self.cells, &mut self.row);
                self.block.pass_outputs((run.st, &mut *run.env), Some(&outer), made, &mut take)?
            }
            Some(rows) => loop {
                if self.at >= rows.len() {
                    break false;
                }
                run.tick()?;
                self.at += 1;
                if take(rows.look(self.at - 1, &mut self.row)?) {
                    break true;
                }
            },
        };
        failed.map_or(Ok(more), Err)
    }
}

impl Operator for Derived<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(run, frame)?;
        self.at = 0;
        let row = run.row(frame);
        if self.keep == Keep::No {
            return self.block.open(run.st, &mut *run.env, Some(&row));
        }
        if self.rows.is_none() || self.keep == Keep::EachTime {
            let layout = &self.leaf.layout;
            let rows = collect(&mut self.block, (run.st, &mut *run.env), Some(&row), layout)?;
            self.rows = Some(rows);
        }
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if let Some(rows) = &mut self.rows {
            return self.leaf.next_of(rows, &mut self.at, run, frame);
        }
        loop {
            run.tick()?;
            let mut bytes = std::mem::take(self.leaf.row(frame));
            let row = run.row(frame);
            let found = self.block.next_outputs(
                (run.st, &mut *run.env),
                Some(&row),
                &self.leaf.layout,
                &mut self.cells,
                &mut bytes,
            )?;
            *self.leaf.row(frame) = bytes;
            if !found || self.leaf.passes(run, frame)? {
                return Ok(found);
            }
        }
    }

    fn close(&mut self) {
        self.rows = None;
        trim(&mut self.row);
        self.leaf.close();
        self.block.close();
    }
}

/// The rows of a query that runs once per statement.
pub struct Shared<'p> {
    pub(super) leaf: Leaf<'p>,
    pub(super) shared: usize,
    pub(super) at: usize,
}

impl Operator for Shared<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(run, frame)?;
        self.at = 0;
        shared_rows(run.st, run.env, self.shared).map(|_| ())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let rows = shared_rows(run.st, run.env, self.shared)?;
        // The filter may hold a subquery over the same rows: the store is borrowed row by row.
        loop {
            run.tick()?;
            let mut rows = rows.borrow_mut();
            if self.at >= rows.len() {
                return Ok(false);
            }
            rows.get(self.at, self.leaf.row(frame))?;
            self.at += 1;
            drop(rows);
            if self.leaf.passes(run, frame)? {
                return Ok(true);
            }
        }
    }

    fn close(&mut self) {
        self.leaf.close();
    }
}

fn shared_rows(
    st: &Statement<'_>,
    env: &mut dyn Environment,
    n: usize,
) -> Result<Rc<RefCell<RowStore>>, SqlError> {
    if let Some(Some(rows)) = st.materialized.borrow().get(n) {
        return Ok(Rc::clone(rows));
    }
    let query = st.shared.get(n).ok_or_else(|| super::internal("no such shared query"))?;
    let mut block = Block::new(&query.query, st, false)?;
    let rows = collect(&mut block, (st, env), None, &made_layout(&query.types))?;
    let rows = Rc::new(RefCell::new(rows));
    st.materialized.borrow_mut()[n] = Some(Rc::clone(&rows));
    Ok(rows)
}

/// The rows that the last step of a recursion added.
pub struct Working<'p> {
    pub(super) leaf: Leaf<'p>,
    pub(super) recursion: usize,
}

impl Working<'_> {
    /// The next row of the round, in the leaf.
    fn take(&self, st: &Statement<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let working = st.working.borrow();
        match working.get(self.recursion) {
            Some(Some(rows)) => rows.borrow_mut().next(self.leaf.row(frame)),
            _ => Ok(false),
        }
    }
}

impl Operator for Working<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(run, frame)?;
        if let Some(Some(rows)) = run.st.working.borrow().get(self.recursion) {
            rows.borrow_mut().rewind();
        }
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        // The filter may hold another recursion.
        while self.take(run.st, frame)? {
            run.tick()?;
            if self.leaf.passes(run, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.leaf.close();
    }
}

/// VALUES ROW(...), ROW(...).
pub struct Values<'p> {
    pub(super) leaf: Leaf<'p>,
    pub(super) rows: &'p [Vec<Expr>],
    pub(super) at: usize,
    pub(super) cells: Cells,
}

impl Operator for Values<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(run, frame)?;
        self.at = 0;
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let Some(row) = self.rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        let mut bytes = std::mem::take(self.leaf.row(frame));
        let value = |n: usize| run.eval(&row[n], frame);
        self.cells.write(&self.leaf.layout, row.len(), value, &mut bytes)?;
        *self.leaf.row(frame) = bytes;
        Ok(true)
    }

    fn close(&mut self) {}
}

/// Values computed once per row.
pub struct Project<'p> {
    pub(super) leaf: Leaf<'p>,
    pub(super) input: Box<dyn Operator + 'p>,
    pub(super) values: &'p [expr::Typed],
    pub(super) cells: Cells,
}

impl Operator for Project<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(run, frame)?;
        self.input.open(run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if !self.input.next(run, frame)? {
            return Ok(false);
        }
        let mut bytes = std::mem::take(self.leaf.row(frame));
        let value = |n: usize| run.eval(&self.values[n].expr, frame);
        self.cells.write(&self.leaf.layout, self.values.len(), value, &mut bytes)?;
        *self.leaf.row(frame) = bytes;
        Ok(true)
    }

    fn close(&mut self) {
        self.input.close();
    }
}
