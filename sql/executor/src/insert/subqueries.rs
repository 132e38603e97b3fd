//! Subqueries of the assignments of ON DUPLICATE KEY UPDATE and of LOAD DATA.
//!
//! 1. One that looks at no row of the statement runs once for all of its rows. 2. What they read is locked as
//!    what a change depends on.

use crate::locking::{Use, unnamed};
use crate::memory::Budget;
use crate::ops::Statement;
use crate::ops::block::Block;
use crate::ops::names::TableNames;
use crate::{Context, SqlError};
use catalog::TableRef;
use expr::print::Names;
use expr::{Expr, Frame, LeafRow, Leaves, OwnedDatum, Row, eval};
use planner::plan::InsertPlan;
use planner::query_plan::QueryStatement;
use std::sync::Arc;
use value::{Datum, RowLayout};

/// The block that the subqueries of a statement's assignments belong to.
pub struct Subqueries<'p> {
    query: &'p QueryStatement,
    params: &'p [Datum<'p>],
    budget: Arc<Budget>,
    block: Block<'p>,
}

impl<'p> Subqueries<'p> {
    /// The plan's; `None`: it has none.
    ///
    /// # Errors
    /// 1235 for what cannot run yet.
    pub fn of(
        plan: &'p InsertPlan,
        context: &Context<'_>,
        params: &'p [Datum<'p>],
    ) -> Result<Option<Subqueries<'p>>, SqlError> {
        let Some(query) = &plan.subqueries else { return Ok(None) };
        let budget = Budget::of_session(context.env);
        let (client, tables) = (&*context.client, &*context.tables);
        let st = Statement::new(client, tables, params, &query.shared, Arc::clone(&budget));
        let block = Block::new(&query.query, &st, false)?;
        Ok(Some(Subqueries { query, params, budget, block }))
    }

    fn eval(
        &mut self,
        expr: &Expr,
        frame: &mut Frame,
        context: &mut Context<'_>,
    ) -> Result<OwnedDatum, SqlError> {
        let budget = Arc::clone(&self.budget);
        let (client, tables) = (&*context.client, &*context.tables);
        let mut st = Statement::new(client, tables, self.params, &self.query.shared, budget);
        st.unnamed = unnamed(Use::Needed, client);
        std::mem::swap(&mut self.block.frame, frame);
        let value = self
            .block
            .look(&st, context.env, None, |run, frame| Ok(run.eval(expr, frame)?.into_owned()));
        std::mem::swap(&mut self.block.frame, frame);
        value
    }
}

/// The value of an assignment over the rows of the frame.
///
/// # Errors
/// Those of evaluation.
pub fn assigned(
    subqueries: Option<&mut Subqueries<'_>>,
    (expr, frame): (&Expr, &mut Frame),
    table: TableRef,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<OwnedDatum, SqlError> {
    if let Some(subqueries) = subqueries {
        return subqueries.eval(expr, frame, context);
    }
    let def = context.tables.def(table);
    let names = TableNames { def, alias: &def.name };
    let (leaves, names) = (Leaves::Frame(frame), Some(&names as &dyn Names));
    let row = Row { leaves, params, names, ..Row::default() };
    Ok(eval(expr, &row, context.env)?.into_owned())
}

/// A frame's place for rows of this layout.
pub fn leaf(layout: &Arc<RowLayout>) -> LeafRow {
    LeafRow { layout: Arc::clone(layout), bytes: Vec::new(), null: false, key: Vec::new() }
}
