//! INSERT and REPLACE: the target, what its rows come from, and what happens to a row in the way.
//!
//! 1. Leaf 0 is the target: in VALUES the row in the making, so that a value may look at columns before it.
//!    2. VALUES with a subquery is planned as a query.

use super::change::{Writing, refuse_generated};
use super::names::{Scope, Visible};
use super::on_duplicate::{
    OnDuplicate, Unread, Where, names_of_select, on_duplicate, with_columns,
};
use super::updatable::{
    check_of, condition_of, is_join, is_target, not_a_column, several_tables, view_of,
};
use super::{Resolver, WritePrivileges};
use crate::PlanContext;
use crate::error::PlanError;
use crate::hints::StatementHints;
use crate::logical::{Block, Leaf, LeafColumn, Source};
use crate::plan::{InsertPlan, InsertSource, InsertValue, InsertView, RowCheck};
use crate::query::plan_copied;
use crate::query_plan::QueryStatement;
use crate::transform::transform;
use access::Privileges;
use catalog::{TableDef, TableRef};
use expr::{Expr, SqlError};
use mdl::Mode;
use parser::ast;
use value::name::same_name;

/// Plans INSERT and REPLACE.
///
/// # Errors
/// 1054 and 1110 for columns, 1136 for rows of another length, 1288 for a view, lock errors; 1235.
pub fn plan_insert(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
) -> Result<InsertPlan, SqlError> {
    if !insert.partitions.is_empty() {
        return Err(SqlError::unsupported("PARTITION"));
    }
    let mut hints = StatementHints::default();
    hints.enter(1, insert.hints.as_deref(), false);
    context.warnings.append(&mut hints.warnings);
    let target = target(context, insert)?;
    // `()` lists what no list does.
    let listed = insert.columns.as_deref().filter(|columns| !columns.is_empty());
    let columns = target_columns(&target, listed)?;
    need_columns(context, &target, &columns, listed.is_none())?;
    let Target { table, leaf, view, mut tables, .. } = target;
    let new_row = new_row(insert, &leaf, &columns)?;
    let is_select = matches!(insert.source, ast::InsertSource::Query(_));
    let def = context.tables.def(table);
    let own = if view.is_some() { def.name.clone() } else { leaf.name.clone() };
    let name = &insert.table.name;
    let unread = Unread { table, name, alias: Some(&own), own_view: view.is_some() };
    let mut selected = names_of_select(context, insert, (&leaf, &new_row), &unread);
    let named = selected.as_ref().map_or(&[][..], |s| &s.named);
    note_selected(context, insert, table, &columns);
    let mut source = source(context, insert, (columns.len(), &leaf), named, &unread)?;
    note_values(context, insert, table, &columns);
    as_stored(context.tables.def(table), &columns, &mut source, reads_its_table(insert));
    let rows = match (&insert.source, &source) {
        (ast::InsertSource::Values(rows), InsertSource::Query(_)) => rows.len() as u64,
        _ => 0,
    };
    if let (Some(selected), InsertSource::Query(query)) = (&mut selected, &source) {
        selected.first = columns.len();
        let more = &query.query.outputs[columns.len()..];
        selected.types = Some(more.iter().map(|o| o.value.ty).collect());
    }
    refuse_generated_columns(context.tables.def(table), &columns, &source)?;
    let OnDuplicate { assignments: on_duplicate, subqueries, values_calls, .. } =
        match insert.on_duplicate.is_empty() {
            true => OnDuplicate::default(),
            false => {
                let leaves = (leaf, new_row);
                let place = if is_select { Where::Nowhere } else { Where::Nested };
                let unread = (&unread, place);
                on_duplicate(context, &insert.on_duplicate, leaves, selected, unread)?
            }
        };
    if let InsertSource::Query(query) = &source {
        add_tables(&mut tables, query);
    }
    if let Some(subqueries) = &subqueries {
        add_tables(&mut tables, subqueries);
    }
    Ok(InsertPlan {
        table,
        tables,
        columns,
        source,
        replace: insert.replace,
        ignore: insert.ignore,
        is_select,
        rows,
        values_calls,
        view,
        on_duplicate,
        subqueries,
    })
}

/// The row in the making, as ON DUPLICATE KEY UPDATE may name it: to read it is to read the table's columns.
fn new_row(insert: &ast::Insert, target: &Leaf, columns: &[usize]) -> Result<Leaf, SqlError> {
    match &insert.row_alias {
        Some((alias, names)) => {
            renamed(Leaf { name: alias.clone(), ..target.clone() }, columns, names)
        }
        None => Ok(Leaf { name: String::new(), need: None, ..target.clone() }),
    }
}

/// Whether rows of the table itself are inserted: they are kept aside before.
fn reads_its_table(insert: &ast::Insert) -> bool {
    let ast::InsertSource::Query(query) = &insert.source else { return false };
    let select = query.as_select();
    select.is_some_and(|select| select.from.iter().any(|t| names(t, &insert.table)))
}

/// Notes which parameters of VALUES are stored in which columns.
fn note_values(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
    table: TableRef,
    columns: &[usize],
) {
    let ast::InsertSource::Values(rows) = &insert.source else { return };
    let types: Vec<_> = columns.iter().map(|c| context.tables.def(table).columns[*c].ty).collect();
    for (value, ty) in rows.iter().flat_map(|row| row.iter().zip(&types)) {
        context.parameters.stored(value, ty);
    }
}

/// Notes which parameters of INSERT ... SELECT ? are stored in which columns.
fn note_selected(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
    table: TableRef,
    columns: &[usize],
) {
    let ast::InsertSource::Query(query) = &insert.source else { return };
    let Some(select) = query.as_select() else { return };
    for (item, column) in select.items.iter().zip(columns) {
        let ast::SelectItem::Expr { expr, .. } = item else { return };
        let ty = context.tables.def(table).columns[*column].ty;
        context.parameters.selected(expr, &ty);
    }
}

/// The tables of a query beside those that are there.
pub(super) fn add_tables(tables: &mut Vec<(TableRef, Mode)>, query: &QueryStatement) {
    let new = |(t, _): &&(TableRef, Mode)| tables.iter().all(|(known, _)| known != t);
    let more: Vec<_> = query.tables.iter().filter(new).copied().collect();
    tables.extend(more);
}

/// Whether a table is named in FROM, outside of its subqueries.
fn names(from: &ast::TableRef, table: &ast::ObjectName) -> bool {
    match from {
        ast::TableRef::Table(factor) => factor.name == *table,
        ast::TableRef::Join(join) => names(&join.left, table) || names(&join.right, table),
        ast::TableRef::List(list) => list.iter().any(|from| names(from, table)),
        ast::TableRef::Derived { .. } | ast::TableRef::JsonTable(_) => false,
    }
}

/// Values as columns take them that convert in their own way: bits, JSON, moments. What is chosen among moments is
/// one where rows are kept `aside`.
fn as_stored(def: &TableDef, columns: &[usize], source: &mut InsertSource, aside: bool) {
    let stored = |column: &usize, value: &mut expr::Typed| {
        *value = expr::build::stored(value, def.columns[*column].ty.kind);
    };
    match source {
        InsertSource::Values(rows) => {
            for (column, value) in rows.iter_mut().flat_map(|row| columns.iter().zip(row)) {
                if let InsertValue::Expr(value) = value {
                    stored(column, value);
                }
            }
        }
        InsertSource::Query(query) => {
            for (column, output) in columns.iter().zip(&mut query.query.outputs) {
                let kind = output.value.ty.kind;
                let moment = kind.has_date() || kind == value::Kind::Time;
                let to = def.columns[*column].ty.kind;
                let kept = aside && moment && to.is_number() && to != value::Kind::Year;
                // Literals were kept as a query keeps them.
                if output.value.constant().is_none() && !kept {
                    stored(column, &mut output.value);
                }
            }
        }
    }
}

/// Generated columns take no value but DEFAULT.
fn refuse_generated_columns(
    def: &TableDef,
    columns: &[usize],
    source: &InsertSource,
) -> Result<(), SqlError> {
    if columns.iter().all(|c| def.columns[*c].generated.is_none()) {
        return Ok(());
    }
    let refuse = |(column, value): (&usize, &InsertValue)| refuse_generated(def, *column, value);
    match source {
        InsertSource::Values(rows) => {
            rows.iter().try_for_each(|row| columns.iter().zip(row).try_for_each(refuse))
        }
        InsertSource::Query(_) => {
            let value = InsertValue::Expr(expr::Typed::bigint(expr::Expr::int(0)));
            columns.iter().try_for_each(|c| refuse((c, &value)))
        }
    }
}

/// What an INSERT names.
pub(super) struct Target {
    pub(super) table: TableRef,
    /// The table's columns under the names that the statement knows them by; the others have none.
    pub(super) leaf: Leaf,
    /// The columns that can be named: name, position, whether it is meant without a list.
    shown: Vec<(String, usize, bool)>,
    pub(super) view: Option<InsertView>,
    /// What the statement needs of the view.
    view_need: Option<usize>,
    pub(super) tables: Vec<(TableRef, Mode)>,
}

pub(super) fn target(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
) -> Result<Target, SqlError> {
    let schema = context.schema_of(&insert.table)?;
    let privileges = privileges_of(insert);
    let asked = context.needs.len();
    let name = (&*schema, &*insert.table.name);
    let need = match context.tables.is_temporary(name.0, name.1) {
        true => None,
        false => context.need_table(None, name, privileges)?,
    };
    context.set_low_priority(insert.priority == ast::Priority::Low);
    let mode = context.write_mode;
    let table = context.open(&insert.table, mode)?;
    let def = context.tables.def(table);
    if def.view.is_some() {
        // As a table of FROM it is asked for again.
        context.needs.truncate(asked);
        return view_target(context, insert);
    }
    let leaf = Leaf { need, ..target_leaf(def, table, &insert.table.name) };
    let named = def.columns.iter().enumerate().filter(|(_, c)| !c.hidden);
    let shown = named.map(|(position, c)| (c.name.clone(), position, c.is_listed())).collect();
    let tables = vec![(table, mode)];
    Ok(Target { table, leaf, shown, view: None, view_need: None, tables })
}

/// The table below a view: its columns are plain ones, each shown once.
fn view_target(context: &mut PlanContext<'_>, insert: &ast::Insert) -> Result<Target, SqlError> {
    let not_insertable = || not_insertable(&insert.table.name);
    let mut resolver = Resolver::new(context);
    resolver.scopes.push(Scope::new("field list"));
    resolver.writing = Writing::All;
    resolver.write_privileges = WritePrivileges::All(privileges_of(insert));
    let factor = ast::TableFactor::named(insert.table.clone());
    let from = resolver.sources(&[ast::TableRef::Table(factor)])?;
    let view_leaf = resolver.scope().leaves[0].clone();
    let Some((view, query)) = view_of(&view_leaf).filter(|_| is_target(&view_leaf)) else {
        return Err(not_insertable());
    };
    let written = insert.columns.as_deref().filter(|list| !list.is_empty());
    if written.is_none() && is_join(query) {
        return Err(PlanError::JoinViewWithoutFields(&view.full_name()).into());
    }
    let name_of = |column: usize| view_leaf.columns[column].result.name.as_str();
    let outputs = (0..view_leaf.columns.len())
        .map(|column| super::change::output(resolver.scope().column(0, column)))
        .collect();
    let leaves = vec![view_leaf.clone()];
    let mut block = Block { leaves, from, outputs, ..Block::default() };
    transform(&mut block, &resolver.shared);
    let mut places = Vec::new();
    for (position, output) in block.outputs.iter().enumerate() {
        match output.value.expr {
            Expr::Column(c) => places.push((c.leaf, usize::from(c.column))),
            _ if written.is_none() => return Err(not_a_column(name_of(position))),
            _ => return Err(not_insertable()),
        }
    }
    if (1..places.len()).any(|n| places[..n].contains(&places[n])) {
        return Err(not_insertable());
    }
    let is_written = |position: &usize| {
        let named = |c: &ast::ColumnRef| same_name(&c.column, name_of(*position));
        written.is_none_or(|list| list.iter().any(named))
    };
    let mut used = (0..places.len()).filter(is_written).map(|position| places[position].0);
    let leaf = used.next().unwrap_or(places[0].0);
    if used.any(|other| other != leaf) {
        return Err(several_tables(view));
    }
    let Source::Table(table) = block.leaves[usize::from(leaf)].source else {
        return Err(not_insertable());
    };
    let check = check_of(query, table, &resolver.shared)?
        .map(|condition| RowCheck { view: view.full_name(), condition });
    let visible = match insert.replace {
        true => condition_of(query, table, &resolver.shared)?,
        false => None,
    };
    let tables = resolver.tables;
    let of_leaf = places.iter().enumerate().filter(|(_, (l, _))| *l == leaf);
    let shown =
        of_leaf.map(|(position, (_, column))| (name_of(position).to_string(), *column, true));
    let shown: Vec<_> = shown.collect();
    let need = block.leaves[usize::from(leaf)].need;
    let mut leaf =
        Leaf { need, ..target_leaf(context.tables.def(table), table, &insert.table.name) };
    let view_need = view_leaf.need;
    show_only(&mut leaf, &shown);
    let view = Some(InsertView { name: view.full_name(), check, visible });
    Ok(Target { table, leaf, shown, view, view_need, tables })
}

/// What an INSERT needs of its table.
fn privileges_of(insert: &ast::Insert) -> Privileges {
    let deletes = if insert.replace { Privileges::DELETE } else { Privileges::NONE };
    let updates =
        if insert.on_duplicate.is_empty() { Privileges::NONE } else { Privileges::UPDATE };
    Privileges::INSERT | deletes | updates
}

/// Asks for the columns that get values, and through which columns of a view.
pub(super) fn need_columns(
    context: &mut PlanContext<'_>,
    target: &Target,
    columns: &[usize],
    unlisted: bool,
) -> Result<(), SqlError> {
    for column in columns {
        let place = &target.leaf.columns[*column].result;
        if let Some(need) = target.leaf.need {
            context.need_column(need, &place.org_name, Privileges::INSERT, unlisted)?;
        }
        if let Some(need) = target.view_need {
            context.need_column(need, &place.name, Privileges::INSERT, unlisted)?;
        }
    }
    Ok(())
}

/// Columns are known by the names that a view shows them under; the others have none.
fn show_only(leaf: &mut Leaf, shown: &[(String, usize, bool)]) {
    for column in &mut leaf.columns {
        (column.listed, column.result.name) = (false, String::new());
    }
    for (name, column, _) in shown {
        let place = &mut leaf.columns[*column];
        (place.listed, place.result.name) = (true, name.clone());
    }
}

/// 1471.
fn not_insertable(view: &str) -> SqlError {
    PlanError::NotInsertable(view).into()
}

pub(super) fn target_columns(
    target: &Target,
    written: Option<&[ast::ColumnRef]>,
) -> Result<Vec<usize>, SqlError> {
    let Some(written) = written else {
        let listed = target.shown.iter().filter(|(_, _, listed)| *listed);
        return Ok(listed.map(|(_, position, _)| *position).collect());
    };
    let mut columns: Vec<usize> = Vec::with_capacity(written.len());
    for column in written {
        let named = target.shown.iter().find(|(name, ..)| same_name(name, &column.column));
        let Some((name, position, _)) = named else {
            let name = super::names::written(column);
            return Err(SqlError::UnknownColumn { name, clause: "field list" });
        };
        if columns.contains(position) {
            return Err(PlanError::SpecifiedTwice(name).into());
        }
        columns.push(*position);
    }
    Ok(columns)
}

fn target_leaf(def: &TableDef, table: TableRef, name: &str) -> Leaf {
    Leaf {
        name: name.to_string(),
        schema: def.schema.clone(),
        columns: super::from::table_columns(def, name),
        source: Source::Table(table),
        null_row: false,
        need: None,
        hints: Default::default(),
        lock: None,
        keys: Vec::new(),
    }
}

/// The new row under its alias: only the columns that the statement gives values for, with their own names
/// if some were written.
fn renamed(mut leaf: Leaf, columns: &[usize], names: &[String]) -> Result<Leaf, SqlError> {
    leaf.schema = String::new();
    if !names.is_empty() && names.len() != columns.len() {
        return Err(PlanError::ColumnListCount.into());
    }
    for (position, column) in leaf.columns.iter_mut().enumerate() {
        let LeafColumn { result, listed, .. } = column;
        match columns.iter().position(|c| *c == position) {
            Some(at) => {
                *listed = true;
                if let Some(name) = names.get(at) {
                    result.name = name.clone();
                }
            }
            // No name can be empty.
            None => (*listed, result.name) = (false, String::new()),
        }
    }
    Ok(leaf)
}

fn source(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
    (width, target): (usize, &Leaf),
    named: &[ast::ColumnRef],
    unread: &Unread<'_>,
) -> Result<InsertSource, SqlError> {
    let rows = match &insert.source {
        ast::InsertSource::Query(query) => {
            let query = with_columns(query, named);
            return query_source(context, &query, width + named.len());
        }
        ast::InsertSource::Values(rows) => rows,
    };
    let given = insert.columns.as_ref().is_none_or(Vec::is_empty);
    for (number, row) in rows.iter().enumerate() {
        if row.len() != width && !(row.is_empty() && given) {
            return Err(wrong_count(number + 1));
        }
    }
    let mut resolver = Resolver::new(context);
    let mut scope = Scope::new("field list");
    scope.visible = visible(target, 0);
    scope.leaves.push(target.clone());
    resolver.scopes.push(scope);
    let bound = resolver.insert_rows(rows, width)?;
    let subqueries = std::mem::take(&mut resolver.scope().subqueries);
    if subqueries.is_empty() {
        return Ok(InsertSource::Values(bound));
    }
    unread.refuse(&subqueries, &resolver.shared, Where::Direct)?;
    if rows.iter().flatten().any(|e| matches!(e, ast::Expr::Default)) {
        return Err(SqlError::unsupported("DEFAULT beside a subquery in VALUES"));
    }
    let query = ast::Query::of(ast::QueryBody::Values(rows.clone()));
    query_source(context, &query, width)
}

fn query_source(
    context: &mut PlanContext<'_>,
    query: &ast::Query,
    width: usize,
) -> Result<InsertSource, SqlError> {
    let mut plan = plan_copied(context, query)?;
    if plan.execution_ms_max.take().is_some() {
        context.warnings.push((3125, crate::hints::TOP_LEVEL_ONLY.to_string()));
    }
    match plan.query.outputs.len() == width {
        true => Ok(InsertSource::Query(Box::new(plan))),
        false => Err(wrong_count(1)),
    }
}

fn wrong_count(row: usize) -> SqlError {
    PlanError::ValueCount(row).into()
}

pub(super) fn visible(leaf: &Leaf, number: u16) -> Vec<Visible> {
    let named = leaf.columns.iter().enumerate().filter(|(_, c)| !c.result.name.is_empty());
    named.map(|(column, c)| Visible { name: c.result.name.clone(), leaf: number, column }).collect()
}

impl Resolver<'_, '_> {
    fn insert_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        width: usize,
    ) -> Result<Vec<Vec<InsertValue>>, SqlError> {
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values =
                row.iter().map(|e| self.insert_value(e)).collect::<Result<Vec<_>, _>>()?;
            values.resize(width, InsertValue::Default);
            bound.push(values);
        }
        Ok(bound)
    }

    pub(super) fn insert_value(&mut self, value: &ast::Expr) -> Result<InsertValue, SqlError> {
        match value {
            ast::Expr::Default => Ok(InsertValue::Default),
            ast::Expr::Row(_) => Err(super::one_column()),
            ast::Expr::Lifted(number, literal) => {
                Ok(InsertValue::Expr(self.stored_literal(*number, literal)?))
            }
            other => Ok(InsertValue::Expr(self.bind(other)?)),
        }
    }
}
