//! The rows that an INSERT takes from a query.
//!
//! 1. Each is inserted before the next is looked for, as in MySQL: who fails or waits in the midst has no more of the
//!    source locked than it has read, and no rows are kept. 2. Where the statement reads the table that it inserts
//!    into, or the query is a UNION or one of its kin, all rows are read before the first is inserted, so no statement
//!    meets its own rows.

use super::conflict::SELECTED;
use super::subqueries::leaf;
use super::{Inserter, of_view};
use crate::locking::{Use, read_for_change, unnamed};
use crate::operators::{Operators, Running};
use crate::ops::cells::{Cells, made_layout};
use crate::ops::store::RowStore;
use crate::ops::{Rest, Statement};
use crate::rows::check_killed;
use crate::{Context, Environment, SqlError};
use catalog::TableCache;
use engine::Client;
use planner::plan::InsertPlan;
use planner::query_plan::{Node, QueryStatement};
use std::sync::Arc;
use value::{Datum, RowLayout};

/// A query that rests between two of its rows.
pub struct Selection<'p> {
    query: &'p QueryStatement,
    used: Use,
    params: &'p [Datum<'p>],
    operators: Operators<'p>,
    has_begun: bool,
    rest: Option<Rest>,
    cells: Cells,
    layout: Arc<RowLayout>,
    /// The present row, in the form of the layout.
    row: Vec<u8>,
    /// All rows, and how many of them were handed out.
    buffered: Option<(RowStore, usize)>,
}

impl<'p> Selection<'p> {
    /// A query that has not begun; `used`: what becomes of the rows that it reads without naming a lock.
    pub fn new(
        (query, used): (&'p QueryStatement, Use),
        operators: Operators<'p>,
        params: &'p [Datum<'p>],
    ) -> Selection<'p> {
        let types: Vec<_> = query.query.outputs.iter().map(|o| o.value.ty).collect();
        Selection {
            query,
            used,
            params,
            operators,
            has_begun: false,
            rest: None,
            cells: Cells::default(),
            layout: Arc::new(made_layout(&types)),
            row: Vec::new(),
            buffered: None,
        }
    }

    /// Reads all rows, to be handed out from then on.
    ///
    /// # Errors
    /// Everything a query can end in.
    pub fn read_all(&mut self, context: &mut Context<'_>) -> Result<(), SqlError> {
        let rows = read_for_change(self.used, context, |context| {
            let st = self.statement(context.client, context.tables);
            let mut rows = RowStore::new(&st);
            while self.step(&st, context.env)? {
                rows.push(&st, &self.row)?;
            }
            Ok::<_, SqlError>(rows)
        })?;
        self.buffered = Some((rows, 0));
        Ok(())
    }

    /// Goes to the next row; `false`: there is none.
    ///
    /// # Errors
    /// As [`Selection::read_all`].
    pub fn next(&mut self, context: &mut Context<'_>) -> Result<bool, SqlError> {
        if self.buffered.is_some() {
            return self.next_buffered();
        }
        read_for_change(self.used, context, |context| {
            let st = self.statement(context.client, context.tables);
            let found = self.step(&st, context.env)?;
            self.rest = Some(st.rest());
            Ok(found)
        })
    }

    /// Goes to the next of the rows that were read.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn next_buffered(&mut self) -> Result<bool, SqlError> {
        let Some((rows, at)) = &mut self.buffered else { return Ok(false) };
        let more = *at < rows.len();
        if more {
            rows.get(*at, &mut self.row)?;
            *at += 1;
        }
        Ok(more)
    }

    /// The first values of the present row.
    ///
    /// # Errors
    /// It is damaged.
    pub fn values(&self, count: usize) -> Result<Vec<Datum<'_>>, SqlError> {
        (0..count).map(|c| self.layout.decode(&self.row, c).map_err(expr::damaged)).collect()
    }

    fn statement<'s>(&mut self, client: &'s Client, tables: &'s TableCache) -> Statement<'s>
    where
        'p: 's,
    {
        let budget = self.operators.budget();
        let mut st = Statement::new(client, tables, self.params, &self.query.shared, budget);
        st.unnamed = unnamed(self.used, client);
        if let Some(rest) = self.rest.take() {
            st.resume(rest);
        }
        st
    }

    fn step(&mut self, st: &Statement<'_>, env: &mut dyn Environment) -> Result<bool, SqlError> {
        let Selection { query, params, operators, has_begun, cells, layout, row, .. } = self;
        operators.with(|block| {
            if !std::mem::replace(has_begun, true) {
                let most = (env.join_size_max(), u64::MAX);
                crate::examined::refuse(&query.query, params, most)?;
                crate::ops::tally::select(&query.query.root);
                block.open(st, env, None)?;
            }
            if !block.next(st, env, None)? {
                return Ok(false);
            }
            block.write_outputs((st, env), None, layout, cells, row)?;
            Ok(true)
        })
    }
}

impl<'p> Inserter<'p> {
    /// Inserts the rows of the query.
    pub(super) fn insert_selected(
        &mut self,
        source: &'p QueryStatement,
        (program, place): Running<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let plan = self.plan;
        let used = if plan.is_select { Use::Copied } else { Use::Needed };
        let operators = Operators::of((program, place), self.params, context)?;
        let mut selection = Selection::new((source, used), operators, self.params);
        if is_read_first(plan, source) {
            selection.read_all(context)?;
        }
        let width = plan.columns.len();
        let looked_at = source.query.outputs.len() > width;
        if looked_at {
            self.seen.leaves.push(leaf(&selection.layout));
        }
        let mut values = Vec::new();
        while selection.next(context)? {
            let number = self.records + 1;
            if number.is_multiple_of(64) {
                check_killed()?;
            }
            let row = selection.values(width)?;
            if looked_at {
                self.seen.leaves[SELECTED].bytes.clone_from(&selection.row);
            }
            let done = self
                .take((&row, &source.query.outputs), number, context, &mut values)
                .map_err(|error| of_view(error, plan))
                .and_then(|()| self.put(context, &mut values));
            self.end_row(done, &values, context)?;
        }
        selection.operators.keep((program, place), context);
        Ok(())
    }
}

/// Whether MySQL reads all rows into a temporary table before it inserts the first.
fn is_read_first(plan: &InsertPlan, source: &QueryStatement) -> bool {
    let reads = |query: &QueryStatement| query.tables.iter().any(|(t, _)| *t == plan.table);
    reads(source) || plan.subqueries.as_deref().is_some_and(reads) || is_set(&source.query.root)
}

/// Whether rows come out of a set operation.
fn is_set(node: &Node) -> bool {
    match node {
        Node::SetOp { .. } => true,
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::Project { input, .. } => is_set(input),
        _ => false,
    }
}
