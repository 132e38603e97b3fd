//! SELECT by the whole primary key: the hot path, from parameters to the row in the send buffer.
//!
//! 1. Buffers live in the program, so a warm run allocates nothing. 2. A key value that is not an
//! integer of the column's range (or text under the column's own collation) takes the general way,
//! so this path needs no conversion rules.

use crate::ranges::has_exact_key;
use crate::{Context, HeaderMemo, Outcome, ResultColumn, RowSink, SqlError, select};
use catalog::{TableCache, TableRef};
use expr::tree::Expr;
use expr::{Row, condition, damaged};
use planner::plan::{Access, Plan, SelectPlan};
use value::{ColumnType, Datum, KeySpec, Kind};

/// Columns that fit the array on the stack; more take the general way.
const OUTPUTS_MAX: usize = 32;
const KEY_PARTS_MAX: usize = 4;
/// Memory of a row above this is given back, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A compiled point select.
pub struct PointSelect {
    table: TableRef,
    plan: SelectPlan,
    key_spec: KeySpec,
    key_types: Vec<ColumnType>,
    /// Columns by position, when every output is a plain column.
    columns: Vec<usize>,
    /// The filter says no more than the key does.
    filter_is_key: bool,
    key: Vec<u8>,
    row: Vec<u8>,
    /// The program is made anew when its columns change, so the memo lives as long as they do.
    header: HeaderMemo,
}

impl PointSelect {
    /// The program of a plan that is a point select over plain columns; otherwise `None`.
    pub fn of(plan: &Plan, tables: &TableCache) -> Option<PointSelect> {
        let Plan::Select(select) = plan else { return None };
        let (Some(table), Access::Point(parts)) = (select.table, &select.access) else {
            return None;
        };
        let simple = !select.grouped
            && !select.distinct
            && !select.locking
            && select.limit.is_none()
            && select.outputs.len() <= OUTPUTS_MAX
            && parts.len() <= KEY_PARTS_MAX;
        let columns: Option<Vec<usize>> = select
            .outputs
            .iter()
            .map(|o| match o.value.expr {
                // TIMESTAMP is converted to the session's time.
                Expr::Column(c) if o.value.ty.kind != Kind::Timestamp => {
                    Some(usize::from(c.column))
                }
                _ => None,
            })
            .collect();
        if !simple || !parts.iter().all(|p| matches!(p, Expr::Param(_) | Expr::Const(_))) {
            return None;
        }
        let def = tables.def(table);
        Some(PointSelect {
            table,
            key_spec: tables.table(table).key(0)?.clone(),
            key_types: def.columns.iter().map(|c| c.ty).collect(),
            columns: columns?,
            filter_is_key: matches!(select.filter, Some(Expr::Compare(..))) && parts.len() == 1,
            plan: select.clone(),
            key: Vec::with_capacity(64),
            row: Vec::with_capacity(1024),
            header: HeaderMemo::default(),
        })
    }

    /// Reads the row and sends it.
    pub fn run(
        &mut self,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
        header: &[ResultColumn],
        sink: &mut dyn RowSink,
    ) -> Result<Outcome, SqlError> {
        if !self.encode_key(params) {
            return select::run(&self.plan, header, context, params, sink);
        }
        sink.header_again(header, &mut self.header)?;
        let table = context.tables.table(self.table);
        let mut outcome = Outcome { has_rows: true, ..Outcome::default() };
        if !context.client.get_columns(table, &self.key, &self.plan.columns, &mut self.row)? {
            return Ok(outcome);
        }
        let layout = table.layout();
        if !self.filter_is_key
            && let Some(filter) = &self.plan.filter
        {
            let row = Row::one(layout, &self.row, params);
            if condition(filter, &row, context.env)? != Some(true) {
                return Ok(outcome);
            }
        }
        let mut values = [Datum::Null; OUTPUTS_MAX];
        for (value, column) in values.iter_mut().zip(&self.columns) {
            *value = layout.decode(&self.row, *column).map_err(damaged)?;
        }
        sink.row(&values[..self.columns.len()])?;
        outcome.rows_sent = 1;
        if self.row.len() > KEPT_BYTES_MAX {
            self.row = Vec::new();
        }
        Ok(outcome)
    }

    /// Encodes the key; false when a value needs the general way.
    fn encode_key(&mut self, params: &[Datum<'_>]) -> bool {
        let Access::Point(parts) = &self.plan.access else { return false };
        let mut values = [Datum::Null; KEY_PARTS_MAX];
        for ((value, part), spec) in values.iter_mut().zip(parts).zip(&self.key_spec.parts) {
            *value = match part {
                Expr::Const(constant) => constant.datum(),
                Expr::Param(n) => params.get(*n).copied().unwrap_or_default(),
                _ => return false,
            };
            if !has_exact_key(value, &self.key_types[spec.column]) {
                return false;
            }
        }
        self.key.clear();
        self.key_spec.encode_prefix(&self.key_types, &values[..parts.len()], &mut self.key).is_ok()
    }
}
