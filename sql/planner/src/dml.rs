//! Data manipulation statements: the ones that are planned.

use crate::plan::{Plan, VirtualPlan};
use crate::query_plan::QueryStatement;
use crate::{PlanContext, query, resolve, virtual_change};
use expr::SqlError;
use parser::ast;

/// A statement that finds, makes or changes rows.
#[derive(Debug, Clone, Copy)]
pub enum Dml<'a> {
    /// SELECT, VALUES, TABLE.
    Query(&'a ast::Query),
    /// INSERT or REPLACE.
    Insert(&'a ast::Insert),
    /// UPDATE.
    Update(&'a ast::Update),
    /// DELETE.
    Delete(&'a ast::Delete),
    /// LOAD DATA.
    Load(&'a ast::Load),
    /// DO expr, ...
    Do(&'a [ast::Expr]),
}

impl Dml<'_> {
    /// Plans it. Takes metadata locks.
    ///
    /// # Errors
    /// Those of names, types and privileges; 1235 for what cannot run yet; lock errors.
    pub fn plan(self, context: &mut PlanContext<'_>) -> Result<Plan, SqlError> {
        if let Some(change) = self.plan_virtual(context)? {
            return Ok(Plan::Virtual(Box::new(change)));
        }
        match self {
            Dml::Query(written) => query::plan_query(context, written).map(of_query),
            Dml::Insert(insert) => {
                resolve::plan_insert(context, insert).map(|plan| Plan::Insert(Box::new(plan)))
            }
            Dml::Update(update) => {
                resolve::plan_update(context, update).map(|plan| Plan::Change(Box::new(plan)))
            }
            Dml::Delete(delete) => {
                resolve::plan_delete(context, delete).map(|plan| Plan::Change(Box::new(plan)))
            }
            Dml::Load(load) => {
                resolve::plan_load(context, load).map(|plan| Plan::Load(Box::new(plan)))
            }
            Dml::Do(list) => {
                let written = ast::Query::of_values(list.iter().cloned());
                query::plan_query(context, &written).map(|plan| Plan::Do(Box::new(plan)))
            }
        }
    }

    /// The plan of a change of a virtual table; `None`: it names none.
    fn plan_virtual(self, context: &mut PlanContext<'_>) -> Result<Option<VirtualPlan>, SqlError> {
        match self {
            Dml::Update(update) => virtual_change::plan_update(context, update),
            Dml::Delete(delete) => virtual_change::plan_delete(context, delete),
            Dml::Insert(insert) => virtual_change::plan_insert(context, insert),
            Dml::Load(load) => match context.virtual_table(&load.table) {
                Ok(Some(_)) => {
                    Err(SqlError::unsupported("LOAD DATA into a table of performance_schema"))
                }
                _ => Ok(None),
            },
            Dml::Query(_) | Dml::Do(_) => Ok(None),
        }
    }

    /// A change of rows that takes no error for a warning.
    pub fn is_strict_change(self) -> bool {
        match self {
            Dml::Insert(insert) => !insert.ignore,
            Dml::Update(update) => !update.ignore,
            Dml::Delete(delete) => !delete.ignore,
            // Conversions of LOAD DATA raise their errors themselves.
            Dml::Query(_) | Dml::Load(_) | Dml::Do(_) => false,
        }
    }
}

fn of_query(plan: QueryStatement) -> Plan {
    Plan::Query(Box::new(plan))
}
