//! FORMAT=JSON with `explain_json_format_version` 1: query blocks with their tables.
//!
//! 1. Operators that MySQL shows around tables (sorts, groups, duplicates) enclose what is below them. 2. Costs
//! are this optimiser's; a table's `prefix_cost` is that of everything up to it.

use super::json::{Fields, Json, cost, list, number, quoted, text, truth};
use super::names::Names;
use super::rows::Lister;
use crate::query_plan::{GroupStrategy, JoinKind, Node, QueryPlan, QueryStatement, Read};
use catalog::TableCache;
use expr::tree::Expr;
use parser::ast::SetOperator;

/// Cost of looking at a row.
const EVAL_COST: f64 = 0.1;

/// The document.
pub(super) fn json(statement: &QueryStatement, tables: &TableCache) -> String {
    let mut writer = Writer {
        statement,
        tables,
        lister: Lister::new(statement, tables),
        next: 2,
        shared: vec![],
    };
    let fields = writer.query(&statement.query, 1, None);
    let mut out = String::new();
    Json::Object(fields).write(0, &mut out);
    out
}

struct Writer<'p> {
    statement: &'p QueryStatement,
    tables: &'p TableCache,
    lister: Lister<'p>,
    next: u64,
    /// Shared queries that were written.
    shared: Vec<usize>,
}

/// What is known while the tables of a block are written.
struct Place<'n> {
    names: &'n Names<'n>,
    /// Cost of what was written.
    cost: f64,
    /// Rows of what was written.
    rows: f64,
}

impl Writer<'_> {
    /// `query_block`, or what a set operation is instead.
    fn query(&mut self, plan: &QueryPlan, id: u64, outer: Option<&Names<'_>>) -> Fields {
        let names = Names::of(plan, self.statement, self.tables, outer);
        let mut place = Place { names: &names, cost: 0.0, rows: 1.0 };
        let below = self.node(&plan.root, &mut place, id);
        if matches!(below.first(), Some(("union_result", _))) {
            return vec![("query_block", Json::Object(below))];
        }
        let mut block = vec![("select_id", number(id))];
        if place.cost > 0.0 {
            block.push(("cost_info", Json::Object(vec![("query_cost", cost(place.cost))])));
        }
        block.extend(below);
        let (mut listed, mut attached) = (Vec::new(), Vec::new());
        for (at, subplan) in plan.subplans.iter().enumerate() {
            if subplan.query.outputs.is_empty() {
                // It became a join.
                continue;
            }
            let mut projected = false;
            for output in &plan.outputs {
                output.value.expr.visit(&mut |e| {
                    projected |= crate::logical::subquery_of(e) == Some(at);
                });
            }
            let nested = self.nested(&subplan.query, subplan.correlated, Some(&names), None);
            if projected { &mut listed } else { &mut attached }.push(nested);
        }
        for (name, list) in [("attached_subqueries", attached), ("select_list_subqueries", listed)]
        {
            if !list.is_empty() {
                block.push((name, Json::List(list)));
            }
        }
        vec![("query_block", Json::Object(block))]
    }

    fn nested(
        &mut self,
        plan: &QueryPlan,
        dependent: bool,
        outer: Option<&Names<'_>>,
        first: Option<(&'static str, Json)>,
    ) -> Json {
        let id = self.next;
        self.next += 1;
        let mut fields: Fields = first.into_iter().collect();
        fields.push(("dependent", truth(dependent)));
        fields.push(("cacheable", truth(!dependent)));
        fields.extend(self.query(plan, id, outer));
        Json::Object(fields)
    }

    fn node(&mut self, node: &Node, place: &mut Place<'_>, id: u64) -> Fields {
        let around = |name, first: &[(&'static str, bool)], below: Fields| {
            let mut fields: Fields = first.iter().map(|(n, v)| (*n, truth(*v))).collect();
            fields.extend(below);
            vec![(name, Json::Object(fields))]
        };
        match node {
            Node::One => vec![("message", text("No tables used"))],
            Node::Nothing { reason, .. } => vec![("message", text(reason))],
            Node::Limit { input, .. } | Node::Project { input, .. } => self.node(input, place, id),
            Node::Filter { input, filter } => {
                let mut below = self.node(input, place, id);
                attach(&mut below, &place.names.expr(filter));
                below
            }
            Node::Sort { input, .. } => {
                let below = self.node(input, place, id);
                around("ordering_operation", &[("using_filesort", true)], below)
            }
            Node::Distinct { input, .. } => {
                let below = self.node(input, place, id);
                let how = [("using_temporary_table", true), ("using_filesort", false)];
                around("duplicates_removal", &how, below)
            }
            Node::Group(group) => {
                let below = self.node(&group.input, place, id);
                match group.strategy {
                    GroupStrategy::Single => below,
                    GroupStrategy::Sorted => {
                        around("grouping_operation", &[("using_filesort", false)], below)
                    }
                    GroupStrategy::Hash => {
                        let how = [("using_temporary_table", true), ("using_filesort", false)];
                        around("grouping_operation", &how, below)
                    }
                }
            }
            Node::Window(window) => {
                let calls: Vec<String> =
                    window.functions.iter().map(|f| place.names.window(f)).collect();
                let one = vec![
                    ("name", text("<unnamed window>")),
                    ("using_filesort", truth(window.sorts())),
                    ("functions", list(calls.iter().map(String::as_str))),
                ];
                let mut fields: Fields = vec![("windows", Json::List(vec![Json::Object(one)]))];
                fields.extend(self.node(&window.input, place, id));
                vec![("windowing", Json::Object(fields))]
            }
            Node::SetOp { op, all, inputs, .. } => self.set(*op, *all, inputs, id),
            Node::Recursive { seeds, steps, .. } => {
                let all: Vec<&QueryPlan> = seeds.iter().chain(steps).collect();
                let blocks = all.into_iter().map(|p| self.nested(p, false, None, None)).collect();
                vec![("query_specifications", Json::List(blocks))]
            }
            _ => {
                let mut found = Vec::new();
                self.tables_of(node, place, None, &mut found);
                let mut found: Vec<Json> = found;
                match (found.len(), found.pop()) {
                    (1, Some(only)) => vec![("table", only)],
                    (_, last) => {
                        found.extend(last);
                        let entry = |table| Json::Object(vec![("table", table)]);
                        vec![("nested_loop", Json::List(found.into_iter().map(entry).collect()))]
                    }
                }
            }
        }
    }

    fn set(&mut self, op: SetOperator, all: bool, inputs: &[QueryPlan], id: u64) -> Fields {
        let kept = op != SetOperator::Union || !all;
        let mut fields: Fields = vec![("using_temporary_table", truth(kept))];
        let (name, word) = match op {
            SetOperator::Union => ("union_result", "union"),
            SetOperator::Except => ("except_result", "except"),
            SetOperator::Intersect => ("intersect_result", "intersect"),
        };
        let mut blocks = Vec::new();
        let mut ids = Vec::new();
        for (at, plan) in inputs.iter().enumerate() {
            let number = if at == 0 { id } else { self.next };
            self.next += u64::from(at > 0);
            ids.push(number.to_string());
            let mut one: Fields = vec![("dependent", truth(false)), ("cacheable", truth(true))];
            one.extend(self.query(plan, number, None));
            blocks.push(Json::Object(one));
        }
        if kept {
            fields.push(("table_name", text(&format!("<{word}{}>", ids.join(",")))));
            fields.push(("access_type", text("ALL")));
        }
        fields.push(("query_specifications", Json::List(blocks)));
        vec![(name, Json::Object(fields))]
    }

    /// The tables of a join in the order in which they are read.
    fn tables_of(
        &mut self,
        node: &Node,
        place: &mut Place<'_>,
        joined: Option<(&'static str, Json)>,
        found: &mut Vec<Json>,
    ) {
        let marked = |kind: &JoinKind, place: &Place<'_>, outer: &Node| match kind {
            JoinKind::Semi => {
                let last = outer.leaves().last().map(|leaf| place.names.leaf(*leaf));
                Some(("first_match", text(&last.unwrap_or_default())))
            }
            JoinKind::Anti => Some(("not_exists", truth(true))),
            _ => None,
        };
        match node {
            Node::Join { kind, outer, inner, .. } => {
                self.tables_of(outer, place, joined, found);
                let mark = marked(kind, place, outer);
                self.tables_of(inner, place, mark, found);
            }
            Node::HashJoin { kind, probe, build, .. } => {
                self.tables_of(probe, place, joined, found);
                let mark = marked(kind, place, probe);
                let first = found.len();
                let before = place.rows;
                place.rows = 1.0;
                self.tables_of(build, place, mark, found);
                place.rows = place.rows.max(before);
                if let Some(Json::Object(fields)) = found.get_mut(first) {
                    fields.push(("using_join_buffer", text("hash join")));
                }
            }
            Node::Filter { input, filter } => {
                let first = found.len();
                self.tables_of(input, place, joined, found);
                if let Some(Json::Object(fields)) = found.last_mut().filter(|_| first == 0) {
                    condition(fields, &place.names.expr(filter));
                }
            }
            Node::Read(read) => {
                let mut fields = self.read(read, place);
                fields.extend(joined);
                found.push(Json::Object(fields));
            }
            other => {
                let mut fields = self.made(other, place);
                fields.extend(joined);
                found.push(Json::Object(fields));
            }
        }
    }

    fn read(&mut self, read: &Read, place: &mut Place<'_>) -> Fields {
        let row = self.lister.read(read, 0, "", place.names);
        let def = self.tables.def(read.table);
        let mut fields = vec![
            ("table_name", text(&row.table.unwrap_or_default())),
            ("access_type", text(&row.access.unwrap_or_default())),
        ];
        if let Some(keys) = &row.possible_keys {
            fields.push(("possible_keys", list(keys.split(','))));
        }
        if let Some(key) = &row.key {
            fields.push(("key", text(key)));
            let parts = row.key_parts.iter().map(|column| def.columns[*column].name.as_str());
            fields.push(("used_key_parts", list(parts)));
            fields.push(("key_length", text(&row.key_len.unwrap_or_default())));
        }
        if let Some(reference) = &row.reference {
            fields.push(("ref", list(reference.split(','))));
        }
        let estimate = read.estimate;
        let produced = place.rows * estimate.rows * estimate.filtered;
        let examined = estimate.rows.round().max(1.0) as u64;
        fields.push(("rows_examined_per_scan", number(examined)));
        fields.push(("rows_produced_per_join", number(produced.round().max(1.0) as u64)));
        fields.push(("filtered", text(&format!("{:.2}", row.filtered.unwrap_or(100.0)))));
        if read.covering {
            fields.push(("using_index", truth(true)));
        }
        let all = place.rows * estimate.cost;
        let eval = (produced * EVAL_COST).min(all);
        place.cost += all;
        place.rows = produced;
        fields.push((
            "cost_info",
            Json::Object(vec![
                ("read_cost", cost(all - eval)),
                ("eval_cost", cost(eval)),
                ("prefix_cost", cost(place.cost)),
            ]),
        ));
        let needed = place.names.needed(read.leaf);
        let columns = needed.iter().filter_map(|c| def.columns.get(*c)).map(|c| c.name.as_str());
        fields.push(("used_columns", list(columns)));
        if let Some(filter) = row.condition {
            fields.push(("attached_condition", text(&filter)));
        }
        fields
    }

    /// Sources that are no stored tables.
    fn made(&mut self, node: &Node, place: &mut Place<'_>) -> Fields {
        let leaf = node.leaves().first().copied().unwrap_or(0);
        let mut fields =
            vec![("table_name", text(&place.names.leaf(leaf))), ("access_type", text("ALL"))];
        let (query, dependent, filter) = match node {
            Node::Derived { query, lateral, filter, .. } => (Some(&**query), *lateral, filter),
            Node::Shared { shared, filter, .. } => {
                let fresh = !self.shared.contains(shared);
                self.shared.push(*shared);
                let statement = self.statement;
                (fresh.then(|| &statement.shared[*shared].query), false, filter)
            }
            Node::Virtual { filter, .. } | Node::Working { filter, .. } => (None, false, filter),
            _ => (None, false, &None::<Expr>),
        };
        if let Some(filter) = filter {
            fields.push(("attached_condition", text(&place.names.expr(filter))));
        }
        if let Some(query) = query {
            let first = Some(("using_temporary_table", truth(true)));
            let outer = dependent.then_some(place.names);
            fields
                .push(("materialized_from_subquery", self.nested(query, dependent, outer, first)));
        }
        fields
    }
}

/// Adds a condition to the last table.
fn attach(fields: &mut Fields, filter: &str) {
    match fields.last_mut() {
        Some(("table", Json::Object(table))) => condition(table, filter),
        Some(("nested_loop", Json::List(tables))) => {
            if let Some(Json::Object(entry)) = tables.last_mut() {
                attach(entry, filter);
            }
        }
        _ => {}
    }
}

fn condition(table: &mut Fields, filter: &str) {
    let known = table.iter_mut().find(|(name, _)| *name == "attached_condition");
    match known {
        Some((_, Json::Raw(before))) => {
            let inside = &before[1..before.len() - 1];
            let added = quoted(filter);
            *before = format!("\"({inside} and {})\"", &added[1..added.len() - 1]);
        }
        _ => table.push(("attached_condition", text(filter))),
    }
}
