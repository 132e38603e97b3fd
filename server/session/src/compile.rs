//! Statements become programs of the executor, and expressions values.

use crate::core::{Caches, Core};
use executor::{Context, OwnedDatum, Prepared, ResultColumn, RowSink, SqlError};
use parser::ast::{Expr, Query, Statement};
use parser::digest::Digest;
use std::sync::Arc;
use value::{ColumnType, Datum};

/// Keeps the first value of the first row.
#[derive(Default)]
struct First(Option<OwnedDatum>, Option<ColumnType>);

impl RowSink for First {
    fn header(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        self.1 = columns.first().map(|column| column.ty);
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        if self.0.is_none() {
            self.0 = values.first().map(OwnedDatum::of);
        }
        Ok(())
    }
}

impl Core {
    /// Compiles a statement for the executor. Takes metadata locks.
    pub fn compile(&mut self, statement: Statement) -> Result<Prepared, SqlError> {
        executor::prepare(statement, &mut self.context())
    }

    /// As [`Self::compile`], of a statement with so many parameters, and of its text's digest.
    pub fn compile_open(
        &mut self,
        statement: Statement,
        parameters: usize,
        digest: Option<Arc<Digest>>,
    ) -> Result<Prepared, SqlError> {
        executor::prepare_open(statement, parameters, digest, &mut self.context())
    }

    /// The value of an expression without a table.
    pub fn evaluate(&mut self, expr: &Expr) -> Result<OwnedDatum, SqlError> {
        Ok(self.evaluate_typed(expr)?.0)
    }

    /// The value of an expression without a table, and its type.
    pub fn evaluate_typed(&mut self, expr: &Expr) -> Result<(OwnedDatum, ColumnType), SqlError> {
        let query = Query::of_values([expr.clone()]);
        let mut prepared = self.compile(Statement::Query(Box::new(query)))?;
        prepared.is_needed();
        let Self { env, client, tables, caches: Caches { states, .. }, parameters, .. } = self;
        let mut first = First::default();
        let params: Vec<Datum<'_>> = parameters.iter().map(OwnedDatum::datum).collect();
        let mut context = Context { client, tables, env, states };
        executor::execute(&mut prepared, &mut context, &params, &mut first)?;
        Ok((first.0.unwrap_or(OwnedDatum::Null), first.1.unwrap_or(ColumnType::varbinary(0))))
    }
}
