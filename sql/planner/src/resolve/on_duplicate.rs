//! ON DUPLICATE KEY UPDATE, and what assignments of INSERT and LOAD DATA ask of other tables.
//!
//! 1. Leaf 0 is the row that is assigned to, leaf 1 the new row, leaf 2 that of the INSERT's SELECT. 2. The
//!    subqueries of assignments belong to a block of these leaves, which reads none of them. 3. A table that they
//!    read is not the target, under its own name (INSERT) or under any (LOAD DATA).

use super::insert::visible;
use super::names::{Scope, Selected, written};
use super::updatable::view_of;
use super::{Resolver, SharedBlock, change};
use crate::PlanContext;
use crate::logical::{Block, Leaf, LeafColumn, Source, Subquery, deeper};
use crate::physical::Planner;
use crate::plan::{InsertValue, ResultColumn};
use crate::query_plan::QueryStatement;
use crate::stats::Sampled;
use crate::transform::transform;
use access::Privileges;
use catalog::TableRef;
use expr::{SqlError, Typed};
use parser::ast;
use std::borrow::Cow;
use value::name::same_name;

/// What is set, in order.
pub(super) type Assignments = Vec<(usize, InsertValue)>;

/// What becomes of the row in the way.
#[derive(Default)]
pub(super) struct OnDuplicate {
    pub(super) assignments: Assignments,
    /// Its subqueries.
    pub(super) subqueries: Option<Box<QueryStatement>>,
    /// Calls of VALUES().
    pub(super) values_calls: usize,
    /// What it names of the SELECT.
    pub(super) selected: Option<Selected>,
}

/// The table that is inserted into, as its assignments may not read it.
pub(super) struct Unread<'a> {
    pub(super) table: TableRef,
    /// As the statement calls it.
    pub(super) name: &'a str,
    /// The name that it is not read under; `None` for any.
    pub(super) alias: Option<&'a str>,
    /// The statement names a view.
    pub(super) own_view: bool,
}

/// Where the target is looked for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Where {
    /// Nowhere: the rows of a SELECT that reads the target are all there before the first is inserted.
    Nowhere,
    /// Not in derived tables, whose rows are kept.
    Direct,
    /// Everywhere.
    Nested,
}

/// The query with more columns selected behind its own.
pub(super) fn with_columns<'q>(
    query: &'q ast::Query,
    columns: &[ast::ColumnRef],
) -> Cow<'q, ast::Query> {
    let mut query = Cow::Borrowed(query);
    if !columns.is_empty()
        && let ast::QueryBody::Select(select) = &mut query.to_mut().body
    {
        let item = |column: &ast::ColumnRef| ast::SelectItem::Expr {
            expr: ast::Expr::Column(column.clone()),
            alias: None,
            text: column.column.clone(),
        };
        select.items.extend(columns.iter().map(item));
    }
    query
}

/// The names of ON DUPLICATE KEY UPDATE that are neither the table's nor the new row's, where they may be
/// columns of the SELECT's tables; `None` where they may not.
pub(super) fn names_of_select(
    context: &mut PlanContext<'_>,
    insert: &ast::Insert,
    leaves: (&Leaf, &Leaf),
    unread: &Unread<'_>,
) -> Option<Selected> {
    let ast::InsertSource::Query(query) = &insert.source else { return None };
    let select = query.as_select()?;
    let simple = select.group_by.is_empty() && select.having.is_none() && !select.options.distinct;
    if insert.on_duplicate.is_empty() || !simple || select.from.is_empty() {
        return None;
    }
    let warnings = context.warnings.len();
    let leaves = (leaves.0.clone(), leaves.1.clone());
    let (list, none) = (&insert.on_duplicate, Some(Selected::default()));
    let bound = on_duplicate(context, list, leaves, none, (unread, Where::Nowhere));
    context.warnings.truncate(warnings);
    // What is wrong with them is found when they are bound in earnest.
    bound.ok().and_then(|bound| bound.selected)
}

/// Binds the assignments of ON DUPLICATE KEY UPDATE over the target and the new row.
pub(super) fn on_duplicate(
    context: &mut PlanContext<'_>,
    list: &[ast::Assignment],
    (target, new_row): (Leaf, Leaf),
    selected: Option<Selected>,
    (unread, place): (&Unread<'_>, Where),
) -> Result<OnDuplicate, SqlError> {
    let mut resolver = Resolver::new(context);
    // Only behind VALUES it is known how many blocks come before these.
    let number = u32::from(place != Where::Nowhere);
    resolver.blocks = number;
    let mut scope = Scope { number, ..Scope::new("field list") };
    scope.visible = visible(&target, 0);
    if !new_row.name.is_empty() {
        // A column of the alias that the target does not have needs no qualifier.
        let known = |name: &str| target.columns.iter().any(|c| same_name(&c.result.name, name));
        let more = visible(&new_row, 1).into_iter().filter(|v| !known(&v.name));
        scope.visible.extend(more);
    }
    let names: Vec<String> = target.columns.iter().map(|c| c.result.name.clone()).collect();
    let types: Vec<_> = target.columns.iter().map(|c| c.ty).collect();
    scope.new_row = Some(1);
    scope.selected = selected;
    scope.leaves = vec![target, new_row];
    resolver.scopes.push(scope);
    let mut assignments = Vec::with_capacity(list.len());
    for assignment in list {
        let position = names.iter().position(|n| same_name(n, &assignment.column.column));
        let position = position.ok_or_else(|| SqlError::UnknownColumn {
            name: written(&assignment.column),
            clause: "field list",
        })?;
        let target = &resolver.scope().leaves[0];
        if let Some(need) = target.need {
            let name = target.columns[position].result.org_name.clone();
            resolver.context.need_column(need, &name, Privileges::UPDATE, false)?;
        }
        resolver.context.parameters.stored(&assignment.value, &types[position]);
        let value = match resolver.insert_value(&assignment.value)? {
            InsertValue::Expr(value) => {
                InsertValue::Expr(expr::build::stored(&value, types[position].kind))
            }
            default => default,
        };
        let def = resolver.context.tables.def(unread.table);
        change::refuse_generated(def, position, &value)?;
        assignments.push((position, value));
    }
    let scope = resolver.scope();
    let (values_calls, selected) = (scope.values_calls, scope.selected.take());
    if let Some(selected) = &selected {
        let columns = selected.all_types().map(|ty| LeafColumn {
            ty,
            decimals: ty.decimals,
            listed: false,
            result: ResultColumn::computed("", ty, ty.decimals),
        });
        let columns = columns.collect();
        let leaf = Leaf { name: String::new(), columns, need: None, ..scope.leaves[1].clone() };
        scope.leaves.push(leaf);
    }
    let subqueries = resolver.plan_subqueries(&mut assignments, (unread, place))?;
    Ok(OnDuplicate { assignments, subqueries, values_calls, selected })
}

impl Resolver<'_, '_> {
    /// Plans the subqueries of assignments that were bound in the only scope; `None` without one.
    ///
    /// # Errors
    /// 1093, 1443 for reading the target; those of planning.
    pub(super) fn plan_subqueries(
        mut self,
        assignments: &mut Assignments,
        (unread, place): (&Unread<'_>, Where),
    ) -> Result<Option<Box<QueryStatement>>, SqlError> {
        let scope = self.scope();
        if scope.subqueries.is_empty() {
            return Ok(None);
        }
        let values = assignments.iter().filter_map(|(_, value)| match value {
            InsertValue::Expr(value) => Some(change::output(value.clone())),
            InsertValue::Default => None,
        });
        let mut block = Block {
            outputs: values.collect(),
            leaves: std::mem::take(&mut scope.leaves),
            subqueries: std::mem::take(&mut scope.subqueries),
            number: 1,
            ..Block::default()
        };
        unread.refuse(&block.subqueries, &self.shared, place)?;
        self.finish_hints();
        transform(&mut block, &self.shared);
        let sampled = Sampled::new(self.context.tables);
        let mut planner = Planner::new(self.context, &sampled, &self.shared);
        planner.locks = true;
        let mut query = planner.block(block)?;
        let shared = planner.done;
        let mut outputs = std::mem::take(&mut query.outputs).into_iter();
        for (_, value) in assignments {
            if let (InsertValue::Expr(value), Some(output)) = (value, outputs.next()) {
                *value = output.value;
            }
        }
        Ok(Some(Box::new(QueryStatement {
            query,
            shared,
            tables: self.tables,
            into: None,
            count_all: false,
            execution_ms_max: None,
        })))
    }

    /// VALUES(column): the new row's value in ON DUPLICATE KEY UPDATE, NULL anywhere else.
    pub(super) fn values_of(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let unknown = || SqlError::UnknownColumn { name: written(column), clause: "field list" };
        for (depth, scope) in self.scopes.iter_mut().rev().enumerate() {
            if scope.hidden && depth > 0 {
                continue;
            }
            let Some(leaf) = scope.new_row else {
                if scope.find(column)?.is_none() {
                    continue;
                }
                break;
            };
            let target = &scope.leaves[0];
            if column.table.as_ref().is_some_and(|table| *table != target.name) {
                return Err(unknown());
            }
            let mut columns = target.columns.iter();
            let position = columns.position(|c| same_name(&c.result.name, &column.column));
            if let (Some(need), Some(position)) = (target.need, position) {
                let name = target.columns[position].result.org_name.clone();
                self.context.need_column(need, &name, Privileges::SELECT, false)?;
            }
            let value = scope.column(leaf, position.ok_or_else(unknown)?);
            scope.values_calls += 1;
            return Ok(Typed { expr: deeper(&value.expr, depth as u8), ..value });
        }
        let updates = self.scopes.iter().any(|scope| scope.new_row.is_some());
        self.column(column)?;
        match updates {
            true => self.context.deprecated(ALWAYS_NULL),
            false => self.context.warnings.push((1681, GOING.to_string())),
        }
        self.build.literal(&ast::Literal::Null)
    }
}

const GOING: &str = "'VALUES function' is deprecated and will be removed in a future release.";
const ALWAYS_NULL: &str = "The VALUES function is deprecated and will be removed in a future release. It \
                           always returns NULL in this context. If you meant to access a value from the VALUES \
                           clause of the INSERT statement, consider using an alias (INSERT INTO ... VALUES (...) \
                           AS alias) and reference alias.col instead of VALUES(col) in the ON DUPLICATE KEY \
                           UPDATE clause.";

impl Unread<'_> {
    /// Refuses subqueries that read the table, or common table expressions.
    pub(super) fn refuse(
        &self,
        subqueries: &[Subquery],
        shared: &[SharedBlock],
        place: Where,
    ) -> Result<(), SqlError> {
        if place == Where::Nowhere {
            return Ok(());
        }
        subqueries.iter().try_for_each(|s| self.refuse_in(&s.block, None, place))?;
        let shared = shared.iter().filter(|_| place == Where::Nested);
        shared.into_iter().try_for_each(|cte| self.refuse_in(&cte.block, None, place))
    }

    fn refuse_in(&self, block: &Block, view: Option<&str>, place: Where) -> Result<(), SqlError> {
        for leaf in &block.leaves {
            let own = self.alias.is_none_or(|alias| alias == leaf.name);
            match &leaf.source {
                Source::Table(table) if *table == self.table && own => {
                    let view = self.own_view.then_some(self.name).or(view);
                    return Err(change::reads_target(self.name, view, "INSERT"));
                }
                Source::Derived { block, .. } => {
                    let inside = view_of(leaf).map(|_| leaf.name.as_str());
                    if self.own_view && inside == Some(self.name) {
                        return Err(change::reads_target(self.name, None, "INSERT"));
                    }
                    if inside.is_some() || place == Where::Nested {
                        self.refuse_in(block, view.or(inside), place)?;
                    }
                }
                Source::Set { inputs, .. } => {
                    inputs.iter().try_for_each(|block| self.refuse_in(block, view, place))?;
                }
                Source::Recursive { seeds, steps, .. } => {
                    let mut all = seeds.iter().chain(steps);
                    all.try_for_each(|block| self.refuse_in(block, view, place))?;
                }
                _ => {}
            }
        }
        block.subqueries.iter().try_for_each(|s| self.refuse_in(&s.block, view, place))
    }
}
