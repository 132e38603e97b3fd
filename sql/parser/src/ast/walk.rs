//! What stands inside of queries and expressions, part by part.
//!
//! 1. [`walk_query`] and [`walk_expr`] name every part of a node by fields, so that a new one does not
//!    compile before somebody has decided what it holds. 2. A visitor that overrides a method decides
//!    itself whether to go on into the part: by calling the walk.

use super::{
    Aggregate, Call, Expr, Frame, FrameBound, Into, JsonColumn, JsonOn, JsonTable, JsonValue,
    ObjectName, OrderItem, Query, QueryBody, Select, SelectItem, TableRef, Window,
};

/// What is done with each part.
pub trait Visit {
    /// A query: of a subquery, a derived table, a common table expression.
    fn query(&mut self, query: &Query) {
        walk_query(self, query);
    }

    /// An expression.
    fn expr(&mut self, expr: &Expr) {
        walk_expr(self, expr);
    }

    /// A table named in FROM or by TABLE.
    fn table(&mut self, _name: &ObjectName) {}
}

/// Visits the parts of a query.
pub fn walk_query<V: Visit + ?Sized>(visit: &mut V, query: &Query) {
    for cte in query.with.iter().flat_map(|with| &with.tables) {
        visit.query(&cte.query);
    }
    walk_behind_with(visit, query);
}

/// Visits the parts of a query but those of its WITH.
pub fn walk_behind_with<V: Visit + ?Sized>(visit: &mut V, query: &Query) {
    let Query { with: _, body, order_by, limit, locking: _, into } = query;
    walk_body(visit, body);
    order_items(visit, order_by);
    if let Some(limit) = limit {
        visit.expr(&limit.count);
        limit.offset.iter().for_each(|offset| visit.expr(offset));
    }
    match into {
        Some(Into::Variables(variables)) => variables.iter().for_each(|v| visit.expr(v)),
        Some(Into::Outfile { .. } | Into::Dumpfile(_)) | None => {}
    }
}

/// Visits the parts of a query's body.
pub fn walk_body<V: Visit + ?Sized>(visit: &mut V, body: &QueryBody) {
    match body {
        QueryBody::Select(select) => walk_select(visit, select),
        QueryBody::SetOperation { op: _, all: _, left, right } => {
            walk_body(visit, left);
            walk_body(visit, right);
        }
        QueryBody::Nested(query) => visit.query(query),
        QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| visit.expr(e)),
        QueryBody::Table(name) => visit.table(name),
    }
}

fn walk_select<V: Visit + ?Sized>(visit: &mut V, select: &Select) {
    let Select { options: _, items, from, filter, group_by, rollup: _, having, windows } = select;
    for item in items {
        match item {
            SelectItem::Wildcard(_) => {}
            SelectItem::Expr { expr, alias: _, text: _ } => visit.expr(expr),
        }
    }
    from.iter().for_each(|table| walk_table(visit, table));
    filter.iter().chain(having).for_each(|e| visit.expr(e));
    order_items(visit, group_by);
    windows.iter().for_each(|(_, window)| walk_window(visit, window));
}

/// Visits the parts of an item of FROM.
pub fn walk_table<V: Visit + ?Sized>(visit: &mut V, table: &TableRef) {
    match table {
        TableRef::Table(factor) => visit.table(&factor.name),
        TableRef::Derived { lateral: _, query, alias: _, columns: _ } => visit.query(query),
        TableRef::JsonTable(table) => {
            let JsonTable { document, path: _, columns, alias: _ } = &**table;
            visit.expr(document);
            columns.iter().for_each(|column| walk_json_column(visit, column));
        }
        TableRef::Join(join) => {
            walk_table(visit, &join.left);
            walk_table(visit, &join.right);
            join.on.iter().for_each(|e| visit.expr(e));
        }
        TableRef::List(list) => list.iter().for_each(|table| walk_table(visit, table)),
    }
}

fn walk_json_column<V: Visit + ?Sized>(visit: &mut V, column: &JsonColumn) {
    match column {
        JsonColumn::Ordinality(_) => {}
        JsonColumn::Path { on_empty, on_error, .. } => json_defaults(visit, [on_empty, on_error]),
        JsonColumn::Nested { path: _, columns } => {
            columns.iter().for_each(|column| walk_json_column(visit, column));
        }
    }
}

fn json_defaults<V: Visit + ?Sized>(visit: &mut V, of: [&Option<JsonOn>; 2]) {
    for on in of.into_iter().flatten() {
        match on {
            JsonOn::Default(value) => visit.expr(value),
            JsonOn::Null | JsonOn::Error => {}
        }
    }
}

fn order_items<V: Visit + ?Sized>(visit: &mut V, items: &[OrderItem]) {
    items.iter().for_each(|item| visit.expr(&item.expr));
}

fn walk_window<V: Visit + ?Sized>(visit: &mut V, window: &Window) {
    let Window { base: _, partition_by, order_by, frame } = window;
    partition_by.iter().for_each(|e| visit.expr(e));
    order_items(visit, order_by);
    let Some(Frame { rows: _, start, end }) = frame else { return };
    for bound in std::iter::once(start).chain(end) {
        match bound {
            FrameBound::Preceding(e) | FrameBound::Following(e) => visit.expr(e),
            FrameBound::UnboundedPreceding
            | FrameBound::UnboundedFollowing
            | FrameBound::CurrentRow => {}
        }
    }
}

/// Visits the parts of an expression.
pub fn walk_expr<V: Visit + ?Sized>(visit: &mut V, expr: &Expr) {
    match expr {
        Expr::Literal(_) | Expr::Param(_) | Expr::Lifted(..) | Expr::Column(_) => {}
        Expr::UserVar(_) | Expr::SystemVar(_) | Expr::DefaultOf(_) | Expr::Default => {}
        Expr::ValuesOf(_) | Expr::JsonPath { .. } => {}
        Expr::AssignUserVar(_, e)
        | Expr::Unary(_, e)
        | Expr::Is { expr: e, .. }
        | Expr::Cast { expr: e, .. }
        | Expr::ConvertUsing(e, _)
        | Expr::Collate(e, _)
        | Expr::Interval(e, _)
        | Expr::Match { against: e, .. }
        | Expr::Odbc(_, e) => visit.expr(e),
        Expr::Binary(_, a, b)
        | Expr::MemberOf(a, b)
        | Expr::Regexp { expr: a, pattern: b, negated: _ } => {
            visit.expr(a);
            visit.expr(b);
        }
        Expr::Between { expr, low, high, negated: _ } => {
            [expr, low, high].into_iter().for_each(|e| visit.expr(e));
        }
        Expr::In { expr, list, negated: _ } => {
            visit.expr(expr);
            list.iter().for_each(|e| visit.expr(e));
        }
        Expr::InQuery { expr, query, .. } | Expr::Quantified { expr, query, .. } => {
            visit.expr(expr);
            visit.query(query);
        }
        Expr::Like { expr, pattern, escape, negated: _ } => {
            [Some(expr), Some(pattern), escape.as_ref()]
                .into_iter()
                .flatten()
                .for_each(|e| visit.expr(e));
        }
        Expr::Exists(query) | Expr::Subquery(query) => visit.query(query),
        Expr::Row(list) => list.iter().for_each(|e| visit.expr(e)),
        Expr::Case { operand, branches, otherwise } => {
            operand.iter().for_each(|e| visit.expr(e));
            for (condition, value) in branches {
                visit.expr(condition);
                visit.expr(value);
            }
            otherwise.iter().for_each(|e| visit.expr(e));
        }
        Expr::Call(Call { args, over, .. }) => {
            args.iter().for_each(|e| visit.expr(e));
            over.iter().for_each(|window| walk_window(visit, window));
        }
        Expr::Aggregate(aggregate) => {
            let Aggregate { kind: _, distinct: _, args, order_by, separator: _, over } =
                &**aggregate;
            args.iter().for_each(|e| visit.expr(e));
            order_items(visit, order_by);
            over.iter().for_each(|window| walk_window(visit, window));
        }
        Expr::JsonValue(value) => {
            let JsonValue { document, on_empty, on_error, .. } = &**value;
            visit.expr(document);
            json_defaults(visit, [on_empty, on_error]);
        }
    }
}
