//! FORMAT=JSON with `explain_json_format_version` 1: query blocks with their tables.
//!
//! 1. Operators that MySQL shows around tables (sorts, groups, duplicates) enclose what is below them. 2. Costs
//! are this optimiser's; a table's `prefix_cost` is that of everything up to it.

use super::json::{Fields, Json, cost, list, number, quoted, text, truth};
use super::names::Names;
use super::rows::{ExplainRow, Lister, OPTIMIZED_AWAY};
use crate::query_plan::{
    GroupPurpose, GroupStrategy, JoinKind, Node, QueryPlan, QueryStatement, Read, ReadAccess,
    Window,
};
use catalog::{TableCache, TableDef};
use expr::tree::Expr;
use parser::ast::SetOperator;
use value::Kind;

/// Cost of looking at a row.
const EVAL_COST: f64 = 0.1;

/// The document's fields; `targets` are tables that a change is about, with the word for it.
pub(super) fn fields(
    statement: &QueryStatement,
    tables: &TableCache,
    targets: &[(u16, &'static str)],
) -> Fields {
    let mut writer = Writer {
        statement,
        tables,
        lister: Lister::new(statement, tables),
        targets,
        next: 2,
        shared: vec![],
    };
    writer.query(&statement.query, 1, None)
}

/// The document.
pub(super) fn document(fields: Fields) -> String {
    let mut out = String::new();
    Json::Object(fields).write(0, &mut out);
    out
}

struct Writer<'p> {
    statement: &'p QueryStatement,
    tables: &'p TableCache,
    lister: Lister<'p>,
    /// Leaves of the first block that a change is about.
    targets: &'p [(u16, &'static str)],
    next: u64,
    /// Shared queries that were written, with their numbers.
    shared: Vec<(usize, u64)>,
}

/// What is known while the tables of a block are written.
struct Place<'n> {
    plan: &'n QueryPlan,
    names: &'n Names<'n>,
    id: u64,
    /// Subqueries that were written with the table whose condition they are in.
    written: Vec<usize>,
    /// Cost of what was written.
    cost: f64,
    /// Rows of what was written.
    rows: f64,
}

impl Writer<'_> {
    /// `query_block`, or what a set operation is instead.
    fn query(&mut self, plan: &QueryPlan, id: u64, outer: Option<&Names<'_>>) -> Fields {
        let mut names = Names::full(plan, self.statement, self.tables, outer);
        names.first_subquery = self.next as u32;
        self.next += plan.subplans.len() as u64;
        let (cost_of_all, written) = (0.0, Vec::new());
        let mut place = Place { plan, names: &names, id, written, cost: cost_of_all, rows: 1.0 };
        let below = self.node(&plan.root, &mut place);
        if below.first().is_some_and(|(name, _)| SETS.contains(name)) {
            return vec![("query_block", Json::Object(below))];
        }
        let mut block = vec![("select_id", number(id))];
        if place.cost > 0.0 {
            block.push(("cost_info", Json::Object(vec![("query_cost", cost(place.cost))])));
        }
        block.extend(below);
        let (mut listed, mut attached) = (Vec::new(), Vec::new());
        for (at, subplan) in plan.subplans.iter().enumerate() {
            // One without outputs became a join.
            if subplan.query.outputs.is_empty() || place.written.contains(&at) {
                continue;
            }
            let mut projected = false;
            for output in &plan.outputs {
                output.value.expr.visit(&mut |e| {
                    projected |= crate::logical::subquery_of(e) == Some(at);
                });
            }
            let nested = self.subquery(at, &place);
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

    fn subquery(&mut self, at: usize, place: &Place<'_>) -> Json {
        let subplan = &place.plan.subplans[at];
        let id = u64::from(place.names.first_subquery) + at as u64;
        let outer = Some(place.names);
        Json::Object(self.specification(&subplan.query, id, subplan.correlated, outer))
    }

    fn node(&mut self, node: &Node, place: &mut Place<'_>) -> Fields {
        match node {
            Node::One => vec![("message", text("No tables used"))],
            Node::Nothing { reason, .. } => vec![("message", text(reason))],
            Node::Limit { input, .. } | Node::Project { input, .. } => self.node(input, place),
            Node::Filter { input, filter } => {
                let mut below = self.node(input, place);
                attach(&mut below, &place.names.expr(filter));
                below
            }
            Node::Sort { input, .. } => {
                if let Node::SetOp { op, all, inputs, .. } = &**input {
                    return self.set(*op, *all, inputs, place.id, true);
                }
                let below = self.node(input, place);
                around("ordering_operation", &[("using_filesort", true)], below)
            }
            Node::Distinct { input, sorted: true, .. } => {
                let below = self.node(input, place);
                around("duplicates_removal", &[("using_filesort", false)], below)
            }
            Node::Distinct { input, .. } => {
                let below = self.node(input, place);
                let how = [("using_temporary_table", true), ("using_filesort", false)];
                around("duplicates_removal", &how, below)
            }
            Node::Group(group) if !group.ends.is_empty() => {
                vec![("message", text(OPTIMIZED_AWAY))]
            }
            Node::Group(group) => {
                let below = self.node(&group.input, place);
                grouping(group.strategy, below)
            }
            Node::Window(window) => {
                let windows = vec![Json::Object(described(window, place.names))];
                let mut fields: Fields = vec![("windows", Json::List(windows))];
                fields.extend(self.node(&window.input, place));
                vec![("windowing", Json::Object(fields))]
            }
            Node::SetOp { op, all, inputs, .. } => self.set(*op, *all, inputs, place.id, false),
            Node::Recursive { seeds, steps, .. } => self.recursive(seeds, steps, place.id),
            _ => self.joined(node, place),
        }
    }

    /// The blocks of a recursive query: seeds first.
    fn recursive(&mut self, seeds: &[QueryPlan], steps: &[QueryPlan], id: u64) -> Fields {
        let mut blocks = Vec::new();
        for (at, plan) in seeds.iter().chain(steps).enumerate() {
            let number = self.number_of(at, id);
            let mut block = self.specification(plan, number, false, None);
            if at >= seeds.len()
                && let Some(("query_block", Json::Object(fields))) = block.last_mut()
            {
                fields.insert(1, ("recursive", truth(true)));
            }
            blocks.push(Json::Object(block));
        }
        let fields = vec![
            ("using_temporary_table", truth(false)),
            ("query_specifications", Json::List(blocks)),
        ];
        vec![("union_result", Json::Object(fields))]
    }

    /// The tables of a join, in its order; one stands for itself.
    fn joined(&mut self, node: &Node, place: &mut Place<'_>) -> Fields {
        let mut found: Vec<Json> = Vec::new();
        self.tables_of(node, place, None, &mut found);
        match (found.len(), found.pop()) {
            (1, Some(only)) => vec![("table", only)],
            (_, last) => {
                found.extend(last);
                let entry = |table| Json::Object(vec![("table", table)]);
                vec![("nested_loop", Json::List(found.into_iter().map(entry).collect()))]
            }
        }
    }

    /// The number of one of several blocks of a set operation.
    fn number_of(&mut self, at: usize, id: u64) -> u64 {
        if at == 0 {
            return id;
        }
        self.next += 1;
        self.next - 1
    }

    /// A block of several, or a nested one.
    fn specification(
        &mut self,
        plan: &QueryPlan,
        number: u64,
        dependent: bool,
        outer: Option<&Names<'_>>,
    ) -> Fields {
        let mut fields: Fields =
            vec![("dependent", truth(dependent)), ("cacheable", truth(!dependent))];
        fields.extend(self.query(plan, number, outer));
        fields
    }

    fn set(
        &mut self,
        op: SetOperator,
        all: bool,
        inputs: &[QueryPlan],
        id: u64,
        sorted: bool,
    ) -> Fields {
        let kept = op != SetOperator::Union || !all || sorted;
        let mut fields: Fields = vec![("using_temporary_table", truth(kept))];
        let (name, word) = match op {
            SetOperator::Union => ("union_result", "union"),
            SetOperator::Except => ("except_result", "except"),
            SetOperator::Intersect => ("intersect_result", "intersect"),
        };
        let mut blocks = Vec::new();
        let mut ids = Vec::new();
        for (at, plan) in inputs.iter().enumerate() {
            let number = self.number_of(at, id);
            ids.push(number.to_string());
            blocks.push(Json::Object(self.specification(plan, number, false, None)));
        }
        if kept {
            fields.push(("select_id", number(self.next)));
            self.next += 1;
            fields.push(("table_name", text(&format!("<{word}{}>", ids.join(",")))));
            fields.push(("access_type", text("ALL")));
        }
        if sorted {
            fields.push(("using_filesort", truth(true)));
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
                    note(fields, ("using_join_buffer", text("hash join")));
                }
            }
            Node::Filter { input, filter } => {
                let first = found.len();
                self.tables_of(input, place, joined, found);
                if let Some(Json::Object(fields)) = found.last_mut().filter(|_| first == 0) {
                    condition(fields, &place.names.expr(filter));
                    self.attached(filter, place, fields);
                }
            }
            Node::Read(read) => {
                let mut fields = self.read(read, place);
                joined.into_iter().for_each(|mark| note(&mut fields, mark));
                found.push(Json::Object(fields));
            }
            other => {
                let mut fields = self.made(other, place);
                joined.into_iter().for_each(|mark| note(&mut fields, mark));
                found.push(Json::Object(fields));
            }
        }
    }

    fn read(&mut self, read: &Read, place: &mut Place<'_>) -> Fields {
        let row = self.lister.read(read, 0, "", place.names);
        let def = self.tables.def(read.table);
        let mut fields = Vec::new();
        if place.id == 1
            && let Some((_, word)) = self.targets.iter().find(|(leaf, _)| *leaf == read.leaf)
        {
            fields.push((*word, truth(true)));
        }
        fields.extend(access(&row, def));
        let estimate = read.estimate;
        let produced = place.rows * estimate.rows * estimate.filtered;
        let examined = estimate.rows.round().max(1.0) as u64;
        fields.push(("rows_examined_per_scan", number(examined)));
        fields.push(("rows_produced_per_join", number(produced.round().max(1.0) as u64)));
        fields.push(filtered(&row));
        if read.descending {
            fields.push(("backward_index_scan", truth(true)));
        }
        match &read.access {
            ReadAccess::Groups(scan) => fields.push(match scan.purpose {
                GroupPurpose::Rows => ("using_index_for_skip_scan", truth(true)),
                _ => ("using_index_for_group_by", truth(true)),
            }),
            _ if read.covering => fields.push(("using_index", truth(true))),
            _ => {}
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
                ("data_read_per_join", text(&amount(produced * record_bytes(def) as f64))),
            ]),
        ));
        let needed = place.names.needed(read.leaf);
        let columns = needed.iter().filter(|c| **c < def.columns.len()).map(|c| shown(def, *c));
        fields.push(("used_columns", list(columns)));
        if let Some(filter) = row.condition {
            fields.push(("attached_condition", text(&filter)));
        }
        if let Some(filter) = &read.filter {
            self.attached(filter, place, &mut fields);
        }
        fields
    }

    /// Subqueries of a table's condition.
    fn attached(&mut self, filter: &Expr, place: &mut Place<'_>, fields: &mut Fields) {
        let mut numbers = Vec::new();
        filter.visit(&mut |e| numbers.extend(crate::logical::subquery_of(e)));
        let mut list = Vec::new();
        for at in numbers {
            if at < place.plan.subplans.len() && !place.written.contains(&at) {
                place.written.push(at);
                list.push(self.subquery(at, place));
            }
        }
        if !list.is_empty() {
            fields.push(("attached_subqueries", Json::List(list)));
        }
    }

    /// Sources that are no stored tables.
    fn made(&mut self, node: &Node, place: &mut Place<'_>) -> Fields {
        let leaf = node.leaves().first().copied().unwrap_or(0);
        let mut fields =
            vec![("table_name", text(&place.names.leaf(leaf))), ("access_type", text("ALL"))];
        let (query, dependent, filter) = match node {
            Node::Derived { query, lateral, filter, .. } => (Some(&**query), *lateral, filter),
            Node::Shared { shared, filter, .. } => {
                let known = self.shared.iter().find(|(s, _)| s == shared).map(|(_, id)| *id);
                if let Some(id) = known {
                    let with = Json::Object(vec![("select_id", number(id))]);
                    let inside = vec![("sharing_temporary_table_with", with)];
                    fields.push(("materialized_from_subquery", Json::Object(inside)));
                    return fields;
                }
                self.shared.push((*shared, self.next));
                let statement = self.statement;
                (Some(&statement.shared[*shared].query), false, filter)
            }
            Node::Virtual { filter, .. } | Node::Working { filter, .. } => (None, false, filter),
            _ => (None, false, &None::<Expr>),
        };
        let columns: Vec<String> = place.names.columns(leaf);
        if !columns.is_empty() {
            fields.push(("used_columns", list(columns.iter().map(String::as_str))));
        }
        if let Some(filter) = filter {
            fields.push(("attached_condition", text(&place.names.expr(filter))));
        }
        if let Some(query) = query {
            let outer = dependent.then_some(place.names);
            let number = self.number_of(1, 0);
            let mut inside: Fields = vec![("using_temporary_table", truth(true))];
            inside.extend(self.specification(query, number, dependent, outer));
            fields.push(("materialized_from_subquery", Json::Object(inside)));
        }
        fields
    }
}

/// What a set operation is written as, by its operator.
const SETS: [&str; 3] = ["union_result", "except_result", "intersect_result"];

/// How a table is read.
pub(super) fn access(row: &ExplainRow, def: &TableDef) -> Fields {
    let shown_or_none = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    let mut fields = vec![
        ("table_name", shown_or_none(&row.table)),
        ("access_type", shown_or_none(&row.access)),
    ];
    if let Some(keys) = &row.possible_keys {
        fields.push(("possible_keys", list(keys.split(','))));
    }
    if let Some(key) = &row.key {
        fields.push(("key", text(row.merged.as_ref().unwrap_or(key))));
        if row.merged.is_none() {
            let parts = row.key_parts.iter().map(|column| shown(def, *column));
            fields.push(("used_key_parts", list(parts)));
        }
        fields.push(("key_length", shown_or_none(&row.key_len)));
    }
    if let Some(reference) = &row.reference {
        fields.push(("ref", list(reference.split(','))));
    }
    fields
}

/// The share of the rows that a table's condition lets pass.
pub(super) fn filtered(row: &ExplainRow) -> (&'static str, Json) {
    ("filtered", text(&format!("{:.2}", row.filtered.unwrap_or(100.0))))
}

/// A column as it is called; that of a functional index as what it is computed from.
fn shown(def: &TableDef, column: usize) -> &str {
    let column = &def.columns[column];
    match &column.generated {
        Some(generated) if column.hidden => &generated.text,
        _ => &column.name,
    }
}

/// Bytes of a row as MySQL keeps it in memory.
fn record_bytes(def: &TableDef) -> u64 {
    let nullable = def.columns.iter().filter(|c| c.ty.nullable).count() as u64;
    let bytes = def.columns.iter().map(|c| match c.ty.kind {
        // A length and a pointer.
        kind if kind.is_large() || kind == Kind::Json => 12,
        Kind::VarChar | Kind::VarBinary => {
            let bytes = u64::from(c.ty.bytes_max());
            bytes + if bytes < 256 { 1 } else { 2 }
        }
        _ => u64::from(c.ty.bytes_max()),
    });
    (bytes.sum::<u64>() + nullable.div_ceil(8).max(1)).next_multiple_of(8)
}

/// Bytes in the largest unit that leaves a whole.
fn amount(bytes: f64) -> String {
    let (mut left, mut unit) = (bytes.min(1e18) as u64, 0);
    while left >= 1024 && unit < 4 {
        left /= 1024;
        unit += 1;
    }
    format!("{left}{}", ["", "K", "M", "G", "T"][unit])
}

/// A window, and what is computed over it.
fn described(window: &Window, names: &Names<'_>) -> Fields {
    let mut fields =
        vec![("name", text("<unnamed window>")), ("using_filesort", truth(window.sorts()))];
    if window.sorts() {
        let parts = window.partition_by.iter().map(|key| names.item(&key.expr));
        let order = window.order_by.iter().map(|key| {
            let way = if key.descending { " desc" } else { "" };
            format!("{}{way}", names.item(&key.value.expr))
        });
        let keys: Vec<String> = parts.chain(order).collect();
        fields.push(("filesort_key", list(keys.iter().map(String::as_str))));
    }
    let calls = window.functions.iter().map(|f| names.window(f));
    let calls: Vec<String> =
        calls.map(|call| call.split('(').next().unwrap_or_default().to_string()).collect();
    fields.push(("functions", list(calls.iter().map(String::as_str))));
    fields
}

/// Says something about a table, in front of its costs.
fn note(fields: &mut Fields, mark: (&'static str, Json)) {
    let at = fields.iter().position(|(name, _)| *name == "cost_info").unwrap_or(fields.len());
    fields.insert(at, mark);
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

/// An operator around what is below it.
fn around(name: &'static str, first: &[(&'static str, bool)], below: Fields) -> Fields {
    let mut fields: Fields = first.iter().map(|(n, v)| (*n, truth(*v))).collect();
    fields.extend(below);
    vec![(name, Json::Object(fields))]
}

/// Groups around their input; a single one is not shown.
fn grouping(strategy: GroupStrategy, below: Fields) -> Fields {
    match strategy {
        GroupStrategy::Single => below,
        GroupStrategy::Sorted => around("grouping_operation", &[("using_filesort", false)], below),
        GroupStrategy::Hash => {
            let how = [("using_temporary_table", true), ("using_filesort", false)];
            around("grouping_operation", &how, below)
        }
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
