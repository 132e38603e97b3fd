//! Plans of UPDATE and DELETE over one table.

use crate::PlanContext;
use crate::access;
use crate::bind::Scope;
use crate::plan::{ChangePlan, InsertValue, SortKey};
use crate::select::{bind_limit, index_choice, single_table};
use catalog::TableDef;
use expr::SqlError;
use expr::tree::columns_of;
use mdl::Mode;
use parser::ast;

fn refuse(refused: &[(bool, &'static str)]) -> Result<(), SqlError> {
    match refused.iter().find(|(written, _)| *written) {
        Some((_, construct)) => Err(SqlError::unsupported(*construct)),
        None => Ok(()),
    }
}

/// A generated column takes no value but DEFAULT.
pub(crate) fn refuse_generated(
    def: &TableDef,
    column: usize,
    value: &InsertValue,
) -> Result<(), SqlError> {
    let named = &def.columns[column];
    if named.generated.is_none() || matches!(value, InsertValue::Default) {
        return Ok(());
    }
    let text = format!(
        "The value specified for generated column '{}' in table '{}' is not allowed.",
        named.name, def.name
    );
    Err(SqlError::Other(3105, "HY000", text))
}

fn column_of(def: &TableDef, column: &ast::ColumnRef) -> Result<usize, SqlError> {
    let unknown = || SqlError::UnknownColumn { name: column.column.clone(), clause: "field list" };
    def.column(&column.column).ok_or_else(unknown)
}

/// UPDATE of one table.
pub fn plan_update(
    context: &mut PlanContext<'_>,
    update: &ast::Update,
) -> Result<ChangePlan, SqlError> {
    refuse(&[(update.with.is_some(), "WITH"), (update.ignore, "UPDATE IGNORE")])?;
    let parts = Parts {
        tables: &update.tables,
        filter: update.filter.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
    };
    plan_change(context, &parts, Some(&update.assignments))
}

/// DELETE from one table.
pub fn plan_delete(
    context: &mut PlanContext<'_>,
    delete: &ast::Delete,
) -> Result<ChangePlan, SqlError> {
    refuse(&[
        (delete.with.is_some(), "WITH"),
        (delete.ignore, "DELETE IGNORE"),
        (!delete.targets.is_empty(), "multi-table DELETE"),
    ])?;
    let parts = Parts {
        tables: &delete.tables,
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
    };
    plan_change(context, &parts, None)
}

struct Parts<'a> {
    tables: &'a [ast::TableRef],
    filter: Option<&'a ast::Expr>,
    order_by: &'a [ast::OrderItem],
    limit: Option<&'a ast::Limit>,
}

fn plan_change(
    context: &mut PlanContext<'_>,
    parts: &Parts<'_>,
    assignments: Option<&[ast::Assignment]>,
) -> Result<ChangePlan, SqlError> {
    let factor = single_table(parts.tables)?
        .ok_or_else(|| SqlError::unsupported("multi-table statement"))?;
    let table = context.open(&factor.name, Mode::SW)?;
    let collation = context.collation;
    let def = context.tables.def(table);
    let named = Some((def, factor.alias.as_deref().unwrap_or(&factor.name.name)));
    let assignments = assignments
        .map(|list| {
            let mut scope = Scope::new(named, "field list").collated(collation);
            list.iter()
                .map(|a| {
                    let (column, value) = (column_of(def, &a.column)?, scope.bind_value(&a.value)?);
                    refuse_generated(def, column, &value)?;
                    Ok((column, value))
                })
                .collect::<Result<Vec<_>, SqlError>>()
        })
        .transpose()?;
    let mut scope = Scope::new(named, "where clause").collated(collation);
    let filter = parts.filter.map(|f| scope.bind(f).map(|typed| typed.expr)).transpose()?;
    let mut scope = Scope::new(named, "order clause").collated(collation);
    let order_by = parts
        .order_by
        .iter()
        .map(|item| Ok(SortKey { value: scope.bind(&item.expr)?, descending: item.descending }))
        .collect::<Result<Vec<_>, SqlError>>()?;
    let access = access::choose(def, filter.as_ref(), &index_choice(def, factor)?);
    let limit = parts.limit.map(bind_limit).transpose()?.map(|(_, count)| count);
    let columns = columns_of(order_by.iter().map(|k| &k.value.expr).chain(&filter));
    Ok(ChangePlan { table, access, filter, columns, assignments, order_by, limit })
}
