//! Row operators: each pulls rows from those below it into the frame of its block.
//!
//! Reading order: this file (what an operator is), [`block`] (a query block that runs), [`read`], [`merge`], [`join`],
//! [`hash_join`], [`sort`] (with [`sorter`]), [`group`], [`ends`], [`stored`] and [`batch`] (many rows at once), [`window`] (with [`place`]), [`sets`], [`subquery`].
//!
//! 1. `open` may be called again at any time and begins anew; `next` fills the leaves of its node and
//!    answers whether there was a row. What is evaluated once for a statement is forgotten by `close`, so that the
//!    operators can be opened for the next one. 2. An operator that keeps rows packs its leaves ([`pack`]) and counts
//!    them ([`crate::memory`]); from then on those leaves have the packed layout. 3. Whoever reads rows from
//!    a source calls [`Run::tick`] per row, so that KILL and `max_execution_time` end every loop.

mod access;
pub mod aggregate;
mod batch;
pub mod block;
mod build;
pub mod cells;
mod derived;
mod ends;
mod filter;
mod group;
mod hash_group;
mod hash_join;
mod join;
mod json_table;
mod kept_rows;
mod keys;
mod lists;
mod loose;
pub mod measure;
mod memo;
mod merge;
pub mod names;
mod pack;
mod place;
mod pushed_predicate;
mod read;
mod recursive;
mod sets;
mod sort;
mod sort_keys;
mod sorter;
pub mod store;
pub mod stored;
mod subquery;
pub mod table;
pub mod tally;
mod window;

#[cfg(test)]
mod tests;

pub use filter::limit_value;

use crate::ExecError;
use crate::memory::Budget;
use crate::rows::check_killed;
use crate::{Environment, SqlError};
use catalog::TableCache;
use engine::{Client, LockWait, RowLock};
use expr::{Expr, Frame, Leaves, Row, Subqueries, Value};
use planner::query_plan::{Read, SharedQuery};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use store::RowStore;
use stored::{StoredLeaf, TakeRow};
use value::Datum;

/// Rows between two looks at the kill flag and the clock.
const TICKS: u64 = 64;

/// An operator.
pub trait Operator: Send {
    /// Begins anew.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError>;
    /// Fills the leaves of the next row; `false`: there is none.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError>;
    /// The leaf of an open operator's rows, where nothing has to be looked at but what is stored of one leaf: its rows may be
    /// taken by [`Operator::pass`] instead.
    fn stored(&self) -> Option<StoredLeaf<'_>> {
        None
    }

    /// Shows the next rows where they lie, until `take` has enough; `false`: there are no others.
    ///
    /// # Errors
    /// Whatever the statement may end in.
    fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        let _ = (run, frame, take);
        Err(internal("rows of several leaves pass"))
    }

    /// The statement is over: gives back the rows that it keeps, and forgets what held for this statement only, so that it
    /// can be opened for another one.
    fn close(&mut self);
}

/// Outputs whose values lie on the stack.
pub(crate) const OUTPUTS_FEW: usize = 32;
/// Memory of a buffer above this is given back when a statement ends, in bytes.
const SPARE_BYTES_MAX: usize = 4 << 10;

/// Gives a buffer's memory back if it is large.
fn trim(buffer: &mut Vec<u8>) {
    if buffer.capacity() > SPARE_BYTES_MAX {
        *buffer = Vec::new();
    }
}

/// The rows of a recursion's round; they change places with those of the next one.
pub type WorkingRows = RefCell<Box<RowStore>>;

/// What all blocks of a statement share while it runs.
pub struct Statement<'s> {
    /// The engine's client.
    pub client: &'s Client,
    /// Open tables.
    pub tables: &'s TableCache,
    /// Parameters.
    pub params: &'s [Datum<'s>],
    /// Queries that run once.
    pub shared: &'s [SharedQuery],
    /// Rows of the shared queries that have run.
    pub materialized: RefCell<Vec<Option<Rc<RefCell<RowStore>>>>>,
    /// Rows that recursions added last, by the recursion's number.
    pub working: RefCell<Vec<Option<WorkingRows>>>,
    /// Memory.
    pub budget: Arc<Budget>,
    /// Rows looked at.
    pub ticks: Cell<u64>,
    /// How rows are locked for which nothing is written.
    pub unnamed: Option<RowLock>,
    /// Rows to be changed are waited for only when they are wanted.
    pub semi_consistent: bool,
    /// When the statement is to end.
    pub deadline: Option<Instant>,
    /// What operators do is measured here.
    pub measures: Option<Rc<measure::Measures>>,
}

impl<'s> Statement<'s> {
    /// A statement that begins now.
    pub fn new(
        client: &'s Client,
        tables: &'s TableCache,
        params: &'s [Datum<'s>],
        shared: &'s [SharedQuery],
        budget: Arc<Budget>,
    ) -> Statement<'s> {
        Statement {
            client,
            tables,
            params,
            shared,
            materialized: RefCell::new(shared.iter().map(|_| None).collect()),
            working: RefCell::default(),
            budget,
            ticks: Cell::new(0),
            unnamed: None,
            semi_consistent: false,
            deadline: None,
            measures: None,
        }
    }

    /// The row locks of a read. Nobody else sees temporary tables.
    pub fn lock_of(&self, read: &Read) -> Option<RowLock> {
        let mut lock = read.lock.map(crate::locking::named).or(self.unnamed)?;
        if self.semi_consistent && lock == RowLock::UPDATE {
            lock.wait = LockWait::IfWanted;
        }
        (!self.tables.is_own(read.table)).then_some(lock)
    }

    /// Counts a row; now and then looks whether the statement is to end.
    ///
    /// # Errors
    /// 1317, 3024.
    #[inline]
    pub fn tick(&self) -> Result<(), SqlError> {
        let ticks = self.ticks.get() + 1;
        self.ticks.set(ticks);
        if !ticks.is_multiple_of(TICKS) {
            return Ok(());
        }
        self.look()
    }

    #[cold]
    fn look(&self) -> Result<(), SqlError> {
        check_killed()?;
        if self.deadline.is_some_and(|deadline| host::clock::now() > deadline) {
            return Err(ExecError::TimedOut.into());
        }
        Ok(())
    }
}

/// What a statement that rests between two of its rows has done so far: another one goes on with it.
#[derive(Default)]
pub struct Rest {
    materialized: Vec<Option<Rc<RefCell<RowStore>>>>,
    working: Vec<Option<WorkingRows>>,
    ticks: u64,
}

impl Statement<'_> {
    /// Goes on where one of the same plan rested.
    pub fn resume(&mut self, rest: Rest) {
        *self.materialized.get_mut() = rest.materialized;
        *self.working.get_mut() = rest.working;
        self.ticks.set(rest.ticks);
    }

    /// What there is to go on with.
    pub fn rest(self) -> Rest {
        Rest {
            materialized: self.materialized.into_inner(),
            working: self.working.into_inner(),
            ticks: self.ticks.get(),
        }
    }
}

/// What an operator runs with: its block's surroundings.
pub struct Run<'r> {
    /// The statement.
    pub st: &'r Statement<'r>,
    /// The session.
    pub env: &'r mut dyn Environment,
    /// The row of the block around.
    pub outer: Option<&'r Row<'r>>,
    /// Runs the block's subplans.
    pub subqueries: Option<&'r dyn Subqueries>,
    /// Names of the block's columns.
    pub names: Option<&'r dyn expr::print::Names>,
}

impl<'r> Run<'r> {
    /// The row that an expression of the block sees.
    #[inline]
    pub fn row<'v>(&self, frame: &'v Frame) -> Row<'v>
    where
        'r: 'v,
    {
        Row {
            leaves: Leaves::Frame(frame),
            outer: self.outer,
            params: self.st.params,
            subqueries: self.subqueries,
            names: self.names,
        }
    }

    /// The value of a parameter: no row is needed for it, and nothing is owned.
    #[inline]
    pub fn parameter(&self, expr: &Expr) -> Option<Datum<'r>> {
        match expr {
            Expr::Param(n) => Some(self.st.params.get(*n).copied().unwrap_or_default()),
            _ => None,
        }
    }

    /// Evaluates an expression over the frame.
    ///
    /// # Errors
    /// As [`expr::eval`].
    #[inline]
    pub fn eval<'v>(&mut self, expr: &'v Expr, frame: &'v Frame) -> Result<Value<'v>, SqlError>
    where
        'r: 'v,
    {
        if let Some(value) = self.parameter(expr) {
            return Ok(Value::Datum(value));
        }
        let row = self.row(frame);
        expr::eval(expr, &row, &mut *self.env)
    }

    /// Whether a condition is true.
    ///
    /// # Errors
    /// As [`expr::holds`].
    #[inline]
    pub fn holds(&mut self, filter: &Expr, frame: &Frame) -> Result<bool, SqlError> {
        let row = self.row(frame);
        expr::holds(filter, &row, &mut *self.env)
    }

    /// As [`Run::holds`]; no condition is true.
    ///
    /// # Errors
    /// As [`expr::holds`].
    #[inline]
    pub fn passes(&mut self, filter: Option<&Expr>, frame: &Frame) -> Result<bool, SqlError> {
        filter.map_or(Ok(true), |filter| self.holds(filter, frame))
    }

    /// See [`Statement::tick`].
    ///
    /// # Errors
    /// 1317, 3024.
    #[inline]
    pub fn tick(&self) -> Result<(), SqlError> {
        self.st.tick()
    }
}

pub(crate) fn internal(what: &'static str) -> SqlError {
    SqlError::Storage(base::Error::Internal(what))
}
