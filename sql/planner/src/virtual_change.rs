//! UPDATE, DELETE and INSERT of a virtual table: a query that finds the rows, or makes them, and what is done to each.
//!
//! 1. Such a table has few rows and no storage: the query's rows are all there before the first one is changed.
//! 2. The table says which of its columns may be assigned; whoever runs the plan asks it, row by row.

use crate::PlanContext;
use crate::error::PlanError;
use crate::plan::{VirtualChange, VirtualPlan};
use crate::query::plan_query;
use crate::query_plan::{LeafDef, LeafLayout, QueryPlan, QueryStatement};
use access::Privileges;
use catalog::{TableDef, VirtualRef};
use expr::SqlError;
use parser::ast::{self, ColumnRef, Expr, Query, QueryBody, Select, SelectItem, TableFactor};
use value::name::same_name;

/// Plans an UPDATE of the rows of one virtual table; `None`: the statement names none.
///
/// # Errors
/// Those of names and of the query; 1235 for what such a table cannot be asked.
pub(crate) fn plan_update(
    context: &mut PlanContext<'_>,
    update: &ast::Update,
) -> Result<Option<VirtualPlan>, SqlError> {
    let Some((factor, table)) = only_table(context, &update.tables, "UPDATE")? else {
        return Ok(None);
    };
    need(context, &table, Privileges::UPDATE)?;
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for assignment in &update.assignments {
        let column = column_of(table.def(), Some(factor), &assignment.column)?;
        let given = assignment.value != Expr::Default;
        columns.push((column, given));
        if given {
            let ty = table.def().columns[column].ty;
            context.parameters.stored(&assignment.value, &ty);
            values.push(assignment.value.clone());
        }
    }
    let query = Query {
        with: update.with.clone(),
        order_by: update.order_by.clone(),
        limit: update.limit.clone(),
        ..rows_of(factor, update.filter.as_ref(), values)
    };
    let query = plan_query(context, &query)?;
    refuse_read(&query, &table)?;
    let change = VirtualChange::Update(columns);
    Ok(Some(VirtualPlan { table, query, change, ignore: update.ignore }))
}

/// As [`plan_update`], of a DELETE.
///
/// # Errors
/// As [`plan_update`].
pub(crate) fn plan_delete(
    context: &mut PlanContext<'_>,
    delete: &ast::Delete,
) -> Result<Option<VirtualPlan>, SqlError> {
    let Some((factor, table)) = only_table(context, &delete.tables, "DELETE")? else {
        return Ok(None);
    };
    need(context, &table, Privileges::DELETE)?;
    let query = Query {
        with: delete.with.clone(),
        order_by: delete.order_by.clone(),
        limit: delete.limit.clone(),
        ..rows_of(factor, delete.filter.as_ref(), Vec::new())
    };
    let query = plan_query(context, &query)?;
    refuse_read(&query, &table)?;
    Ok(Some(VirtualPlan { table, query, change: VirtualChange::Delete, ignore: delete.ignore }))
}

/// As [`plan_update`], of an INSERT or REPLACE.
///
/// # Errors
/// As [`plan_update`].
pub(crate) fn plan_insert(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
) -> Result<Option<VirtualPlan>, SqlError> {
    // A name without a schema is the business of whoever opens the table.
    let Ok(Some(table)) = context.virtual_table(&insert.table) else { return Ok(None) };
    need(context, &table, Privileges::INSERT)?;
    let def = table.def();
    let columns: Vec<usize> = match &insert.columns {
        Some(listed) if !listed.is_empty() => {
            listed.iter().map(|c| column_of(def, None, c)).collect::<Result<_, _>>()?
        }
        _ => (0..def.columns.len()).collect(),
    };
    if let Some(twice) = (1..columns.len()).find(|n| columns[..*n].contains(&columns[*n])) {
        let written = insert.columns.iter().flatten().nth(twice);
        let name = written.map_or("", |column| &*column.column);
        return Err(PlanError::SpecifiedTwice(name).into());
    }
    let wrong_count = |row: usize| SqlError::from(PlanError::ValueCount(row));
    let (query, rows) = match &insert.source {
        ast::InsertSource::Query(query) => (plan_query(context, query)?, None),
        ast::InsertSource::Values(written) => {
            let mut values = Vec::new();
            let mut rows = Vec::with_capacity(written.len());
            for (row, number) in written.iter().zip(1..) {
                let empty = row.is_empty() && insert.columns.as_ref().is_none_or(Vec::is_empty);
                if !empty && row.len() != columns.len() {
                    return Err(wrong_count(number));
                }
                let mut places = vec![None; columns.len()];
                for ((value, column), place) in row.iter().zip(&columns).zip(&mut places) {
                    if *value != Expr::Default {
                        context.parameters.stored(value, &def.columns[*column].ty);
                        *place = Some(values.len());
                        values.push(value.clone());
                    }
                }
                rows.push(places);
            }
            if values.is_empty() {
                // A query has an output.
                values.push(Expr::Literal(ast::Literal::Null));
            }
            (plan_query(context, &Query::of_values(values))?, Some(rows))
        }
    };
    if rows.is_none() && query.query.outputs.len() != columns.len() {
        return Err(wrong_count(1));
    }
    let change = VirtualChange::Insert { columns, rows };
    Ok(Some(VirtualPlan { table, query, change, ignore: insert.ignore }))
}

/// Asks for the table, all of its columns.
fn need(
    context: &mut PlanContext<'_>,
    table: &VirtualRef,
    privileges: Privileges,
) -> Result<(), SqlError> {
    let def = table.def();
    context.need_table(None, (&def.schema, &def.name), privileges).map(|_| ())
}

/// The virtual table that is changed, if one is named.
fn only_table<'a>(
    context: &PlanContext<'_>,
    tables: &'a [ast::TableRef],
    verb: &str,
) -> Result<Option<(&'a TableFactor, VirtualRef)>, SqlError> {
    let lone = match tables {
        [ast::TableRef::Table(factor)] => Some(factor),
        [ast::TableRef::List(list)] => match &list[..] {
            [ast::TableRef::Table(factor)] => Some(factor),
            _ => None,
        },
        _ => None,
    };
    if let Some(factor) = lone {
        // A name without a schema is the business of whoever opens the table.
        let table = context.virtual_table(&factor.name).ok().flatten();
        return Ok(table.map(|table| (factor, table)));
    }
    match tables.iter().any(|table| names_writable(context, table)) {
        true => Err(SqlError::unsupported(format!(
            "{verb} of several tables, one of them of performance_schema"
        ))),
        false => Ok(None),
    }
}

/// Whether a table that is read there is a virtual one that can be changed.
fn names_writable(context: &PlanContext<'_>, table: &ast::TableRef) -> bool {
    match table {
        ast::TableRef::Table(factor) => context
            .virtual_table(&factor.name)
            .is_ok_and(|t| t.is_some_and(|t| t.table().changes().is_some())),
        ast::TableRef::Join(join) => {
            names_writable(context, &join.left) || names_writable(context, &join.right)
        }
        ast::TableRef::List(list) => list.iter().any(|t| names_writable(context, t)),
        ast::TableRef::Derived { .. } | ast::TableRef::JsonTable(_) => false,
    }
}

/// 1093 for a subquery that reads the table.
fn refuse_read(query: &QueryStatement, table: &VirtualRef) -> Result<(), SqlError> {
    fn reads(plan: &QueryPlan, table: &VirtualRef) -> usize {
        let is_it = |leaf: &&LeafDef| matches!(&leaf.layout, LeafLayout::Virtual(t) if t == table);
        let inside: usize = plan.subplans.iter().map(|s| reads(&s.query, table)).sum();
        plan.leaves.iter().filter(is_it).count() + inside
    }
    match reads(&query.query, table) {
        0 | 1 => Ok(()),
        _ => {
            let name = &table.def().name;
            Err(PlanError::TargetRead(name).into())
        }
    }
}

/// `SELECT *, values FROM table WHERE filter`.
fn rows_of(factor: &TableFactor, filter: Option<&Expr>, values: Vec<Expr>) -> Query {
    let value = |expr| SelectItem::Expr { expr, alias: None, text: String::new() };
    let mut items = vec![SelectItem::Wildcard(None)];
    items.extend(values.into_iter().map(value));
    let mut select = Select::of(items, vec![ast::TableRef::Table(factor.clone())]);
    select.filter = filter.cloned();
    Query::of(QueryBody::Select(Box::new(select)))
}

/// Position of a column that is assigned.
fn column_of(
    def: &TableDef,
    factor: Option<&TableFactor>,
    column: &ColumnRef,
) -> Result<usize, SqlError> {
    let called = factor.and_then(|f| f.alias.as_deref()).unwrap_or(&def.name);
    let of_table = column.table.as_deref().is_none_or(|name| name == called);
    let found = def.columns.iter().position(|c| same_name(&c.name, &column.column));
    found.filter(|_| of_table).ok_or_else(|| {
        let name: Vec<&str> = [column.schema.as_deref(), column.table.as_deref()]
            .into_iter()
            .flatten()
            .chain([&*column.column])
            .collect();
        SqlError::from(PlanError::UnknownColumn(&name.join("."), "field list"))
    })
}
