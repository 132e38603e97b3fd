//! SELECT by the whole primary key: the hot path, from parameters to the row in the send buffer.
//!
//! 1. Buffers live in the session, beside the program, so a warm run allocates nothing. 2. A key value that is not an
//! integer of the column's range (or text under the column's own collation) takes the general way,
//! so this path needs no conversion rules. 3. It locks nothing: a plan that names locks is none of these, and
//! a SERIALIZABLE transaction takes the general way.

use crate::ops::OUTPUTS_FEW;
use crate::ops::names::TableNames;
use crate::{Context, HeaderMemo, Outcome, ResultColumn, RowSink, SqlError};
use catalog::{TableCache, TableRef};
use expr::tree::Expr;
use expr::{Row, damaged, holds};
use instrument::{Counter, RowOperation};
use planner::plan::{Output, Plan};
use planner::query_plan::{Node, QueryStatement, ReadAccess};
use smallvec::SmallVec;
use value::{ColumnType, Datum, KeyPart, Kind};

const KEY_PARTS_MAX: usize = 4;
/// Memory of a row above this is given back, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// What a point select needs of its plan. What each run looks at lies together, in the order of memory.
#[repr(C)]
struct Parts {
    table: TableRef,
    key: Box<[PartOfKey]>,
    /// Columns that outputs and filter look at.
    needed: Box<[usize]>,
    /// Columns that are sent, by position.
    columns: Box<[usize]>,
    /// What the row must satisfy beyond the key.
    filter: Option<Expr>,
}

/// A part of the key, and its value in a run.
#[repr(C)]
struct PartOfKey {
    part: KeyPart,
    ty: ColumnType,
    /// A parameter or a constant.
    value: Expr,
}

impl Parts {
    fn of(query: &QueryStatement, tables: &TableCache) -> Option<Parts> {
        let Node::Read(read) = &query.query.root else { return None };
        let ReadAccess::Point { index: 0, key } = &read.access else { return None };
        let block = &query.query;
        let simple = read.lock.is_none()
            && query.into.is_none()
            && !query.count_all
            && query.execution_ms_max.is_none()
            && key.len() <= KEY_PARTS_MAX
            && key.iter().all(|k| matches!(k.value, Expr::Param(_) | Expr::Const(_)));
        if !simple || !block.subplans.is_empty() {
            return None;
        }
        let column = |o: &Output| match o.value.expr {
            // TIMESTAMP is converted to the session's time.
            Expr::Column(c)
                if c.depth == 0 && c.leaf == read.leaf && o.value.ty.kind != Kind::Timestamp =>
            {
                Some(usize::from(c.column))
            }
            _ => None,
        };
        let columns = block.outputs.iter().map(column).collect::<Option<_>>()?;
        // One comparison with the only part of the key says no more than the key does.
        let filter_is_key = matches!(read.filter, Some(Expr::Compare(..))) && key.len() == 1;
        // The row is looked at as the only leaf of its block.
        if read.leaf != 0 && !filter_is_key && read.filter.is_some() {
            return None;
        }
        let (parts, def) = (&tables.table(read.table).key(0)?.parts, tables.def(read.table));
        let key = key.iter().zip(parts).map(|(k, part)| PartOfKey {
            part: *part,
            ty: def.columns[part.column].ty,
            value: k.value.clone(),
        });
        Some(Parts {
            table: read.table,
            key: key.collect(),
            needed: block.leaves[usize::from(read.leaf)].needed.clone().into(),
            columns,
            filter: read.filter.clone().filter(|_| !filter_is_key),
        })
    }
}

/// A compiled point select.
pub struct PointSelect {
    parts: Parts,
    plan: Box<QueryStatement>,
}

/// What a point select keeps between two runs.
#[derive(Default)]
pub struct Buffers {
    key: Vec<u8>,
    row: Vec<u8>,
    /// A program has the same columns as long as it lives.
    header: HeaderMemo,
}

impl PointSelect {
    /// The program of a plan that is a point select over plain columns; otherwise the plan.
    #[allow(clippy::result_large_err)] // it is handed back, once per compilation
    pub fn of(plan: Plan, tables: &TableCache) -> Result<PointSelect, Plan> {
        let Plan::Query(query) = plan else { return Err(plan) };
        match Parts::of(&query, tables) {
            Some(parts) => Ok(PointSelect { parts, plan: query }),
            None => Err(Plan::Query(query)),
        }
    }

    /// The plan, for who goes the general way.
    pub fn query(&self) -> &QueryStatement {
        &self.plan
    }

    /// Whether it can be run with these values; the key is encoded then.
    #[inline]
    pub fn runs(&self, buffers: &mut Buffers, context: &Context<'_>, params: &[Datum<'_>]) -> bool {
        !context.client.shows_locked()
            && context.env.select_limit() != 0
            && self.encode_key(&mut buffers.key, params)
    }

    /// Reads the row and sends it.
    pub fn run(
        &self,
        Buffers { key, row, header: memo }: &mut Buffers,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
        header: &[ResultColumn],
        sink: &mut dyn RowSink,
    ) -> Result<Outcome, SqlError> {
        sink.header_again(header, memo)?;
        let parts = &self.parts;
        let (table, timer) = context.tables.table_timed(parts.table);
        let mut outcome = Outcome { has_rows: true, found_rows: Some(0), ..Outcome::default() };
        context.client.slot().counters.add(Counter::HandlerReadKey, 1);
        let found = context.client.get_columns(table, key, &parts.needed, row)?;
        if let Some(timer) = timer {
            timer.end(RowOperation::Fetch, Some(0), 1);
        }
        if !found {
            return Ok(outcome);
        }
        let layout = table.layout();
        if let Some(filter) = &parts.filter {
            let (def, alias) = (context.tables.def(parts.table), &self.plan.query.leaves[0].name);
            let names = TableNames { def, alias };
            let leaf = Row { names: Some(&names), ..Row::one(layout, row, params) };
            if !holds(filter, &leaf, context.env)? {
                return Ok(outcome);
            }
        }
        let mut values: SmallVec<[Datum<'_>; OUTPUTS_FEW]> = SmallVec::new();
        for column in &parts.columns {
            values.push(layout.decode(row, *column).map_err(damaged)?);
        }
        sink.row(&values)?;
        drop(values);
        outcome.found_rows = Some(1);
        if row.len() > KEPT_BYTES_MAX {
            *row = Vec::new();
        }
        Ok(outcome)
    }

    /// Encodes the key; false when a value needs the general way.
    fn encode_key(&self, key: &mut Vec<u8>, params: &[Datum<'_>]) -> bool {
        key.clear();
        self.parts.key.iter().all(|PartOfKey { part, ty, value }| {
            let value = match value {
                Expr::Const(constant) => constant.datum(),
                Expr::Param(n) => params.get(*n).copied().unwrap_or_default(),
                _ => return false,
            };
            part.append_exact(ty, &value, key)
        })
    }
}
