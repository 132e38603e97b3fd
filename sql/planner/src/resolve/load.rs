//! LOAD DATA: an INSERT whose values come from a file.

use super::Resolver;
use super::insert::{add_tables, need_columns, target, target_columns};
use super::names::Scope;
use super::on_duplicate::{Unread, Where};
use crate::PlanContext;
use crate::error::PlanError;
use crate::plan::{InsertPlan, InsertSource, LoadField, LoadPlan};
use expr::SqlError;
use parser::ast;

/// Plans LOAD DATA.
///
/// # Errors
/// Those of an INSERT into the same columns; 1235 for LOAD XML, bulk loading and partitions.
pub fn plan_load(context: &mut PlanContext<'_>, load: &ast::Load) -> Result<LoadPlan, SqlError> {
    let refused = [
        (load.xml, "LOAD XML"),
        (!load.bulk.is_empty(), "bulk loading"),
        (!load.partitions.is_empty(), "PARTITION"),
    ];
    if let Some((_, what)) = refused.iter().find(|(written, _)| *written) {
        return Err(SqlError::unsupported(*what));
    }
    let insert = as_insert(load);
    let target = target(context, &insert)?;
    let columns = target_columns(&target, insert.columns.as_deref())?;
    need_columns(context, &target, &columns, insert.columns.is_none())?;
    let fields = fields(load, &columns)?;
    let def = context.tables.def(target.table);
    let made = columns.iter().find(|c| def.columns[**c].generated.is_some());
    if let Some(made) = made.filter(|_| !insert.ignore) {
        let value = crate::plan::InsertValue::Expr(expr::Typed::bigint(expr::Expr::int(0)));
        super::change::refuse_generated(def, *made, &value)?;
    }
    let assigned: Vec<ast::ColumnRef> = load.assignments.iter().map(|a| a.column.clone()).collect();
    let assigned = match assigned.is_empty() {
        true => Vec::new(),
        false => target_columns(&target, Some(&assigned))?,
    };
    let (table, mut tables, view) = (target.table, target.tables, target.view);
    let mut resolver = Resolver::new(context);
    let mut scope = Scope::new("field list");
    scope.visible = super::insert::visible(&target.leaf, 0);
    scope.leaves.push(target.leaf);
    resolver.scopes.push(scope);
    let mut assignments = Vec::with_capacity(assigned.len());
    for (column, assignment) in assigned.into_iter().zip(&load.assignments) {
        assignments.push((column, resolver.insert_value(&assignment.value)?));
    }
    let name = &load.table.name;
    let unread = Unread { table, name, alias: None, own_view: view.is_some() };
    let subqueries = resolver.plan_subqueries(&mut assignments, (&unread, Where::Nested))?;
    if let Some(subqueries) = &subqueries {
        add_tables(&mut tables, subqueries);
    }
    let insert = InsertPlan {
        table,
        tables,
        columns,
        source: InsertSource::Values(Vec::new()),
        replace: insert.replace,
        ignore: insert.ignore,
        is_select: false,
        rows: 0,
        values_calls: 0,
        view,
        on_duplicate: Vec::new(),
        subqueries,
    };
    Ok(LoadPlan {
        insert,
        fields,
        assignments,
        local: load.local,
        file: load.file.clone(),
        charset: load.charset.clone(),
        format: load.format.clone(),
        skip: load.skip,
    })
}

/// The INSERT into the same columns, without a row.
fn as_insert(load: &ast::Load) -> ast::Insert {
    let column = |e: &ast::Expr| match e {
        ast::Expr::Column(column) => Some(column.clone()),
        _ => None,
    };
    let written: Vec<ast::ColumnRef> = load.columns.iter().filter_map(column).collect();
    ast::Insert {
        hints: None,
        replace: load.on_duplicate == Some(true),
        priority: match load.priority.as_deref() {
            Some("LOW_PRIORITY") => ast::Priority::Low,
            _ => ast::Priority::Normal,
        },
        // What comes from the client cannot be stopped: it is as with IGNORE.
        ignore: load.on_duplicate == Some(false) || load.local && load.on_duplicate.is_none(),
        table: load.table.clone(),
        partitions: Vec::new(),
        columns: (!load.columns.is_empty()).then_some(written),
        source: ast::InsertSource::Values(Vec::new()),
        row_alias: None,
        on_duplicate: Vec::new(),
    }
}

/// Where the fields of a line go: into these columns, one after the other, or into variables.
fn fields(load: &ast::Load, columns: &[usize]) -> Result<Vec<LoadField>, SqlError> {
    if load.columns.is_empty() {
        return Ok(columns.iter().map(|c| LoadField::Column(*c)).collect());
    }
    let mut places = columns.iter();
    let field = |e: &ast::Expr| match e {
        ast::Expr::UserVar(name) => Ok(LoadField::Variable(name.clone())),
        _ => places
            .next()
            .map(|c| LoadField::Column(*c))
            .ok_or_else(|| SqlError::from(PlanError::UnknownField)),
    };
    load.columns.iter().map(field).collect()
}
