//! One SELECT: its clauses in the order in which MySQL looks at them.

use super::aliases::doubt;
use super::expressions::FIRST_AGGREGATE;
use super::group::GroupInput;
use super::names::{Aliases, Scope, written};
use super::{Resolver, invalid_group_function, one_column};
use crate::error::PlanError;
use crate::logical::{Block, GROUP_LEAF, Leaf, Source, WINDOW_LEAF, conjuncts};
use crate::plan::{Output, ResultColumn, SortKey};
use crate::transform::is_mergeable;
use expr::SqlError;
use expr::aggregate::ANY_VALUE;
use expr::tree::{Expr, Typed};
use parser::ast::{self, SelectItem};

/// SELECTs within each other, through subqueries, nested queries, common table expressions and views.
const NESTING_MAX: usize = 64;

/// 1473.
pub(super) fn too_nested() -> SqlError {
    PlanError::TooManyLevels.into()
}

impl Resolver<'_, '_> {
    /// Resolves a SELECT with the ORDER BY and LIMIT around it.
    pub(crate) fn select(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<Block, SqlError> {
        if select.options.calc_found_rows && self.blocks > 0 && self.view_schemas.is_empty() {
            return Err(PlanError::CalcFoundRowsPlace.into());
        }
        if self.nesting >= NESTING_MAX {
            return Err(too_nested());
        }
        self.nesting += 1;
        self.blocks += 1;
        let number = self.blocks;
        self.enter_hints(number, select.options.hints.as_deref());
        let named_windows = select.windows.clone();
        self.scopes.push(Scope { named_windows, number, ..Scope::new("field list") });
        let block = self.select_in_scope(select, order_by, limit, number);
        self.scopes.pop();
        self.nesting -= 1;
        block
    }

    fn select_in_scope(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
        number: u32,
    ) -> Result<Block, SqlError> {
        let counted = std::mem::replace(&mut self.counted, false);
        let from = self.sources(&select.from)?;
        self.counted = counted && self.blocks == number;
        let lifts = std::mem::replace(&mut self.lifts, false);
        self.locking = super::locking::RequestedLocks::default();
        let scope = self.scope();
        (scope.aggregates_allowed, scope.windows_allowed) = (true, true);
        scope.aliases = Aliases::Inside;
        self.outputs(&select.items)?;
        let scope = self.scope();
        (scope.aggregates_allowed, scope.windows_allowed) = (false, false);
        (scope.clause, scope.aliases) = ("where clause", Aliases::Unseen);
        let mut filter = Vec::new();
        if let Some(condition) = &select.filter {
            self.lifts = lifts;
            conjuncts(self.row_condition(condition)?.expr, &mut filter);
            self.lifts = false;
        }
        let keys = self.group_by(&select.group_by)?;
        self.scope().keys.clone_from(&keys);
        let mut having = Vec::new();
        if let Some(condition) = &select.having {
            let scope = self.scope();
            (scope.clause, scope.aliases) = ("having clause", Aliases::Only);
            scope.aggregates_allowed = true;
            conjuncts(self.condition(condition)?.expr, &mut having);
        }
        let order_by = self.order_by(order_by, select.options.distinct)?;
        self.lifts = lifts;
        let limit = limit.map(|limit| self.limit_of(limit)).transpose()?;
        let full_group_by = self.only_full_group_by();
        let scope = self.scopes.last_mut().expect("pushed by the caller");
        if select.options.distinct && !scope.leaves.is_empty() {
            scope.outputs.iter_mut().for_each(keep_aside);
        }
        let mut block = Block {
            leaves: std::mem::take(&mut scope.leaves),
            from,
            filter,
            group: None,
            having,
            windows: std::mem::take(&mut scope.windows),
            outputs: std::mem::take(&mut scope.outputs),
            distinct: select.options.distinct,
            order_by,
            limit,
            subqueries: std::mem::take(&mut scope.subqueries),
            straight: select.options.straight_join,
            number,
            ..Block::default()
        };
        self.hints.leave(number, &mut block, self.context.tables);
        let scope = self.scopes.last_mut().expect("pushed by the caller");
        let input = GroupInput {
            keys,
            aggregates: std::mem::take(&mut scope.aggregates),
            groupings: std::mem::take(&mut scope.groupings),
            rollup: select.rollup,
            full_group_by,
        };
        input.finish(&mut block, self.build)?;
        Ok(block)
    }

    /// Offset and number of rows of a LIMIT.
    pub(super) fn limit_of(&mut self, limit: &ast::Limit) -> Result<(Expr, Expr), SqlError> {
        if self.context.parameters.searches() {
            self.infer_limit(limit);
        }
        bind_limit(limit)
    }

    /// The select list, into the scope: a subquery sees the names before it.
    fn outputs(&mut self, items: &[SelectItem]) -> Result<(), SqlError> {
        self.scope().later = items.iter().rev().map(item_name).collect();
        // What is around the blocks of a UNION has no number.
        let is_outermost =
            self.scopes.iter().rev().skip(1).all(|scope| scope.number == 0 && scope.hidden);
        for item in items {
            self.scope().later.pop();
            self.context.in_select_list = is_outermost && is_column(item);
            match item {
                SelectItem::Wildcard(name) => {
                    let mut outputs = Vec::new();
                    self.wildcard(name.as_ref(), &mut outputs)?;
                    self.scope().outputs.append(&mut outputs);
                }
                SelectItem::Expr { expr, alias, text } => {
                    if matches!(expr, ast::Expr::Row(_)) {
                        return Err(one_column());
                    }
                    let value = self.bind(expr)?;
                    let own = match expr {
                        ast::Expr::Column(column) => &column.column,
                        _ => shortened(text),
                    };
                    let defined = self.defined_name(&value.expr).or_else(|| const_name(expr));
                    let name = alias.as_deref().or(defined.as_deref()).unwrap_or(own);
                    let output = self.output(value, name);
                    self.scope().outputs.push(output);
                }
            }
        }
        self.context.in_select_list = false;
        Ok(())
    }

    /// The name of a column of a view or nested query that is merged. Every other column is called as it
    /// was written, and a wildcard's always as it was defined.
    fn defined_name(&self, expr: &Expr) -> Option<String> {
        let leaf = self.leaf_of(expr)?;
        let Expr::Column(place) = expr else { return None };
        let merged = match &leaf.source {
            Source::Virtual(table) => table.is_view(),
            Source::Derived { block, .. } => is_mergeable(block),
            Source::Shared(number) => is_mergeable(&self.shared[*number].block),
            _ => false,
        };
        merged.then(|| leaf.columns[usize::from(place.column)].result.name.clone())
    }

    /// The leaf of a plain column, wherever that is.
    fn leaf_of(&self, expr: &Expr) -> Option<&Leaf> {
        match expr {
            Expr::Column(place) if place.leaf < crate::logical::WINDOW_LEAF => {
                let scope = &self.scopes[self.scopes.len() - 1 - usize::from(place.depth)];
                Some(&scope.leaves[usize::from(place.leaf)])
            }
            _ => None,
        }
    }

    /// An output; a plain column is announced with its table, wherever that is.
    pub(crate) fn output(&self, value: Typed, name: &str) -> Output {
        let named = match &value.expr {
            Expr::Column(place) => {
                let leaf = self.leaf_of(&value.expr);
                leaf.map(|leaf| leaf.columns[usize::from(place.column)].result.clone())
            }
            _ => None,
        };
        let column = match named {
            Some(result) => ResultColumn { name: name.to_string(), ty: value.ty, ..result },
            None => {
                let is_materialized =
                    matches!(&value.expr, Expr::Column(c) if c.leaf == WINDOW_LEAF);
                let ty = if is_materialized {
                    super::windows::materialized_type(value.ty)
                } else {
                    value.ty
                };
                ResultColumn {
                    null_literal: expr::build::is_nothing(&value.expr),
                    is_materialized,
                    ..ResultColumn::computed(name, ty, ty.decimals)
                }
            }
        };
        Output { value, column }
    }

    /// GROUP BY: positions, columns of FROM, then aliases.
    fn group_by(&mut self, items: &[ast::OrderItem]) -> Result<Vec<Typed>, SqlError> {
        let scope = self.scope();
        (scope.clause, scope.aliases) = ("group statement", Aliases::Second);
        let mut keys: Vec<Typed> = Vec::new();
        for item in items {
            let key = match self.position(&item.expr)? {
                Some(position) => self.scope().outputs[position].value.clone(),
                None => self.group_key(&item.expr)?,
            };
            let key = self.scope().without_any_value(key);
            let same = |o: &&Output| o.value.expr == key.expr;
            match self.scope().outputs.iter().find(same) {
                Some(output) => check_groupable(output)?,
                None if is_grouped(&key.expr) => return Err(invalid_group_function()),
                None => {}
            }
            keys.push(key);
        }
        Ok(keys)
    }

    /// A key of GROUP BY that is no position: a name is an output's unless FROM has another column of that name.
    fn group_key(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        if let ast::Expr::Column(column) = e {
            let scope = self.scope();
            let (output, clause) = (scope.find_output(column)?, scope.clause);
            let from = scope.find_for_key(column).map(|from| self.padded(from));
            match (output, from) {
                (Some(output), Some(from)) if output.expr != from.expr => {
                    self.context.warnings.push(doubt(&written(column), clause));
                }
                (Some(output), _) => return Ok(output),
                _ => {}
            }
        }
        self.scope().aggregates_allowed = true;
        let key = self.bind_key(e);
        self.scope().aggregates_allowed = false;
        key
    }

    /// ORDER BY: positions, then for a plain name aliases before columns, else columns before aliases.
    pub(super) fn order_by(
        &mut self,
        items: &[ast::OrderItem],
        distinct: bool,
    ) -> Result<Vec<SortKey>, SqlError> {
        let scope = self.scope();
        (scope.clause, scope.aliases) = ("order clause", Aliases::Second);
        (scope.aggregates_allowed, scope.windows_allowed) = (true, true);
        let mut keys = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let value = match self.position(&item.expr)? {
                Some(position) => self.scope().outputs[position].value.clone(),
                None => {
                    let alias = match &item.expr {
                        ast::Expr::Column(column) => self.scope().find_output(column)?,
                        _ => None,
                    };
                    match alias {
                        Some(value) => value,
                        None => self.bind_key(&item.expr)?,
                    }
                }
            };
            if distinct && self.only_full_group_by() {
                self.require_selected(&value, number)?;
            }
            keys.push(SortKey { value, descending: item.descending });
        }
        Ok(keys)
    }

    fn only_full_group_by(&self) -> bool {
        self.build.settings.has_mode(expr::functions::moments::mode::ONLY_FULL_GROUP_BY)
    }

    fn bind_key(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        if matches!(e, ast::Expr::Row(_)) {
            return Err(one_column());
        }
        self.bind(e)
    }

    /// The output that a bare number in GROUP BY or ORDER BY means.
    fn position(&mut self, e: &ast::Expr) -> Result<Option<usize>, SqlError> {
        let ast::Expr::Literal(ast::Literal::Int(position)) = e else { return Ok(None) };
        // -1 is a sign and a number: a constant, no position.
        if *position < 0 {
            return Ok(None);
        }
        let scope = self.scope();
        let found = usize::try_from(*position).ok().and_then(|p| p.checked_sub(1));
        match found.filter(|p| *p < scope.outputs.len()) {
            Some(position) => Ok(Some(position)),
            None => {
                Err(SqlError::UnknownColumn { name: position.to_string(), clause: scope.clause })
            }
        }
    }

    /// SELECT DISTINCT sorts by what it selects only (3065).
    fn require_selected(&mut self, key: &Typed, number: usize) -> Result<(), SqlError> {
        let scope = self.scope();
        let mut missing = None;
        let mut key_expr = key.expr.clone();
        key_expr.rewrite(&mut |e| {
            if scope.outputs.iter().any(|o| o.value.expr == *e) {
                return true;
            }
            if let Expr::Column(c) = e
                && c.depth == 0
                && c.leaf < crate::logical::WINDOW_LEAF
                && missing.is_none()
            {
                missing = Some((c.leaf, c.column));
            }
            false
        });
        let Some((leaf, column)) = missing else { return Ok(()) };
        let leaf = &scope.leaves[usize::from(leaf)];
        Err(PlanError::OrderNotSelected(number + 1, &full_name(leaf, usize::from(column))).into())
    }
}

/// The output of a DISTINCT lies in a temporary table, unless it is a constant or a parameter.
fn keep_aside(output: &mut Output) {
    let expr = &output.value.expr;
    let fixed = matches!(expr, Expr::Param(_)) || expr::build::is_fixed(expr);
    if !fixed && output.column.org_table.is_empty() {
        output.column = output.column.as_materialized();
    }
}

impl Scope {
    /// A key that is grouped by needs no ANY_VALUE, neither where it is a key nor where it is selected.
    fn without_any_value(&mut self, mut key: Typed) -> Typed {
        let aggregates = &self.aggregates;
        let mut undo = |e: &mut Expr| {
            let Expr::Column(c) = e else { return false };
            let number = c.column.checked_sub(FIRST_AGGREGATE).map(usize::from);
            let own = c.depth == 0 && c.leaf == GROUP_LEAF;
            let call = number.filter(|_| own).and_then(|n| aggregates.get(n));
            let Some(call) = call.filter(|call| *call.function == ANY_VALUE) else { return false };
            *e = call.arguments[0].expr.clone();
            true
        };
        let before = key.expr.clone();
        key.expr.rewrite(&mut undo);
        for output in self.outputs.iter_mut().filter(|o| o.value.expr == before) {
            output.value.expr.clone_from(&key.expr);
        }
        key
    }
}

/// A key that is or contains an aggregate or window function cannot be grouped by (1056).
fn check_groupable(output: &Output) -> Result<(), SqlError> {
    match is_grouped(&output.value.expr) {
        true => Err(PlanError::WrongGroupField(&output.column.name).into()),
        false => Ok(()),
    }
}

/// Whether an aggregate or a window function of this block is inside.
fn is_grouped(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |e| {
        let made = |c: &expr::Column| c.depth == 0 && c.leaf >= crate::logical::WINDOW_LEAF;
        found |= matches!(e, Expr::Column(c) if made(c));
    });
    found
}

/// `schema.table.column` as grouping errors name a column.
pub(crate) fn full_name(leaf: &crate::logical::Leaf, column: usize) -> String {
    let column = ast::ColumnRef {
        schema: (!leaf.schema.is_empty()).then(|| leaf.schema.clone()),
        table: Some(leaf.name.clone()),
        column: leaf.columns[column].result.name.clone(),
    };
    written(&column)
}

/// LIMIT as (rows to skip, rows to send); both are integers or parameters.
fn bind_limit(limit: &ast::Limit) -> Result<(Expr, Expr), SqlError> {
    let mut scope = crate::bind::Scope::new(None, "limit clause");
    let count = scope.bind(&limit.count)?.expr;
    let offset = limit.offset.as_ref().map(|o| scope.bind(o)).transpose()?;
    Ok((offset.map_or(Expr::int(0), |o| o.expr), count))
}

/// Whether an item of the select list is no more than a column, or several.
fn is_column(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::Expr { expr, .. } => matches!(expr, ast::Expr::Column(_)),
    }
}

/// What an item of the select list is called before it is resolved; a wildcard nothing.
fn item_name(item: &SelectItem) -> String {
    match item {
        SelectItem::Wildcard(_) => String::new(),
        SelectItem::Expr { alias: Some(alias), .. } => alias.clone(),
        SelectItem::Expr { expr: ast::Expr::Column(column), .. } => column.column.clone(),
        SelectItem::Expr { text, .. } => shortened(text).to_string(),
    }
}

/// The name of a column that is called as it was written: MySQL's has 255 bytes at most.
fn shortened(text: &str) -> &str {
    const BYTES_MAX: usize = 255;
    &text[..text.floor_char_boundary(BYTES_MAX)]
}

/// What NAME_CONST calls its value.
fn const_name(expr: &ast::Expr) -> Option<String> {
    let ast::Expr::Call(call) = expr else { return None };
    if call.name.schema.is_some() || !call.name.name.eq_ignore_ascii_case("name_const") {
        return None;
    }
    let text = match call.args.first()? {
        ast::Expr::Literal(ast::Literal::String(text)) => &text.bytes,
        ast::Expr::Literal(ast::Literal::Hex(bytes)) => bytes,
        ast::Expr::Literal(ast::Literal::Int(v)) => return Some(v.to_string()),
        _ => return None,
    };
    Some(String::from_utf8_lossy(text).into_owned())
}
