//! Operators as lines.

use super::Actual;
use super::names::Names;
use crate::logical::{conjunction, conjuncts};
use crate::query_plan::{
    Group, GroupPurpose, GroupScan, GroupStrategy, JoinKey, JoinKind, KeyRange, KeyValue, LastPart,
    Merge, MergeInput, MergePart, Node, QueryPlan, QueryStatement, Read, ReadAccess, SubplanKind,
};
use catalog::{IndexDef, TableCache, TableDef};
use expr::tree::{Comparison, Expr};
use parser::ast::SetOperator;

/// One line with those below it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Item {
    /// The operation.
    pub text: String,
    /// Cost and rows, where there is an estimate.
    pub estimate: Option<(f64, f64)>,
    /// What EXPLAIN ANALYZE measured.
    pub actual: Option<String>,
    /// Where its rows come from.
    pub inputs: Vec<Item>,
}

impl Item {
    fn new(text: impl Into<String>, inputs: Vec<Item>) -> Item {
        Item { text: text.into(), inputs, ..Item::default() }
    }

    /// A line that passes on what comes in.
    fn over(text: impl Into<String>, input: Item) -> Item {
        let estimate = input.estimate;
        Item { estimate, ..Item::new(text, vec![input]) }
    }

    /// Appends the line and those below it.
    pub fn print(&self, depth: usize, out: &mut String) {
        out.push_str(&"    ".repeat(depth));
        out.push_str("-> ");
        out.push_str(&self.text);
        if let Some((cost, rows)) = self.estimate {
            // What costs nothing costs nothing to begin with.
            let before = if cost == 0.0 { "0.." } else { "" };
            out.push_str(&format!("  (cost={before}{} rows={})", number(cost), number(rows)));
        }
        if let Some(actual) = &self.actual {
            out.push_str(if self.estimate.is_none() { " " } else { "" });
            out.push_str(actual);
        }
        out.push('\n');
        self.inputs.iter().for_each(|item| item.print(depth + 1, out));
    }
}

/// A number with three significant digits.
pub fn number(v: f64) -> String {
    if v == 0.0 {
        return "0".to_string();
    }
    let digits = (2 - v.abs().log10().floor() as i32).clamp(0, 10) as usize;
    let text = format!("{v:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// The lines of a statement: one for its query.
pub fn items(statement: &QueryStatement, tables: &TableCache, actual: &Actual<'_>) -> Vec<Item> {
    let mut printer = Printer { statement, tables, actual, printed: Vec::new(), next_select: 2 };
    vec![printer.query(&statement.query, None)]
}

struct Printer<'p> {
    statement: &'p QueryStatement,
    tables: &'p TableCache,
    actual: &'p Actual<'p>,
    /// Shared queries that were printed.
    printed: Vec<usize>,
    next_select: u32,
}

impl Printer<'_> {
    /// A block; its subqueries hang below its first line.
    fn query(&mut self, plan: &QueryPlan, outer: Option<&Names<'_>>) -> Item {
        let mut names = Names::of(plan, self.statement, self.tables, outer);
        names.first_subquery = self.next_select;
        self.next_select += plan.subplans.len() as u32;
        let mut item = self.node(&plan.root, &names);
        let mut projected = vec![false; plan.subplans.len()];
        for output in &plan.outputs {
            output.value.expr.visit(&mut |e| {
                if let Some(n) = crate::logical::subquery_of(e) {
                    projected[n] = true;
                }
            });
        }
        for (number, subplan) in plan.subplans.iter().enumerate() {
            if subplan.query.outputs.is_empty() {
                // It became a join.
                continue;
            }
            let place = if projected[number] { "projection" } else { "condition" };
            let runs = if subplan.correlated { "dependent" } else { "run only once" };
            let select = names.first_subquery + number as u32;
            let mut below = self.query(&subplan.query, Some(&names));
            if subplan.kind == SubplanKind::Exists {
                below = Item::over("Limit: 1 row(s)", below);
            }
            let text = format!("Select #{select} (subquery in {place}; {runs})");
            item.inputs.push(Item::new(text, vec![below]));
        }
        item
    }

    fn node(&mut self, node: &Node, names: &Names<'_>) -> Item {
        let mut item = self.line(node, names);
        if item.actual.is_none() {
            item.actual = (self.actual)(node);
        }
        item
    }

    fn line(&mut self, node: &Node, names: &Names<'_>) -> Item {
        match node {
            Node::One => {
                let estimate = Some((0.0, 1.0));
                Item { estimate, ..Item::new("Rows fetched before execution", Vec::new()) }
            }
            Node::Nothing { reason, .. } => {
                let estimate = Some((0.0, 0.0));
                Item { estimate, ..Item::new(format!("Zero rows ({reason})"), Vec::new()) }
            }
            Node::Read(read) => self.read(read, names),
            Node::Virtual { leaf, filter, .. } => {
                let text = format!("Table scan on {}", self.leaf(*leaf, names));
                filtered(Item::new(text, Vec::new()), filter.as_ref(), names)
            }
            Node::Derived { leaf, query, lateral, filter } => {
                let below = self.query(query, Some(names));
                let text = if *lateral { "Materialize (invalidate on row)" } else { "Materialize" };
                let scan = format!("Table scan on {}", self.leaf(*leaf, names));
                let item = Item::new(scan, vec![Item::new(text, vec![below])]);
                filtered(item, filter.as_ref(), names)
            }
            Node::Shared { leaf, shared, filter } => {
                filtered(self.shared(*leaf, *shared, names), filter.as_ref(), names)
            }
            Node::Working { leaf, filter, .. } => {
                let text = format!("Scan new records on {}", self.leaf(*leaf, names));
                filtered(Item::new(text, Vec::new()), filter.as_ref(), names)
            }
            Node::Values { rows, .. } => {
                let estimate = Some((0.0, rows.len() as f64));
                Item { estimate, ..Item::new("Rows fetched before execution", Vec::new()) }
            }
            Node::JsonTable { leaf, .. } => {
                let text = format!("Materialize table function on {}", self.leaf(*leaf, names));
                Item::new(text, Vec::new())
            }
            Node::Join { .. } | Node::HashJoin { .. } => self.join(node, names),
            Node::Filter { input, filter } => {
                let input = self.node(input, names);
                filtered(input, Some(filter), names)
            }
            Node::Sort { input, keys, limit } => {
                let limit = limit.as_ref().and_then(|(skip, count)| {
                    let rows = integer(skip)? + integer(count)?;
                    Some(format!(", limit input to {rows} row(s) per chunk"))
                });
                let text = format!("Sort: {}{}", names.keys(keys), limit.unwrap_or_default());
                Item::over(text, self.node(input, names))
            }
            Node::Limit { input, skip, count } => {
                let text = match (integer(skip), integer(count)) {
                    (Some(0), Some(count)) => format!("Limit: {count} row(s)"),
                    (Some(skip), Some(count)) => format!("Limit/Offset: {count}/{skip} row(s)"),
                    _ => "Limit: (unknown) row(s)".to_string(),
                };
                Item::over(text, self.node(input, names))
            }
            Node::Group(_) | Node::Window(_) | Node::Project { .. } | Node::Distinct { .. } => {
                self.reduced(node, names)
            }
            Node::SetOp { .. } | Node::Recursive { .. } => self.set(node, names),
        }
    }

    fn join(&mut self, node: &Node, names: &Names<'_>) -> Item {
        match node {
            Node::Join { kind, outer, inner, on } => {
                let text = match kind {
                    JoinKind::Inner => "Nested loop inner join",
                    JoinKind::Left => "Nested loop left join",
                    JoinKind::Semi => "Nested loop semijoin",
                    JoinKind::Anti => "Nested loop antijoin",
                };
                let (outer, inner) = (self.node(outer, names), self.node(inner, names));
                let item = joined(text.to_string(), outer, inner);
                filtered(item, on.as_ref(), names)
            }
            Node::HashJoin { kind, probe, build, keys, on } => {
                let kind = match kind {
                    JoinKind::Inner => "Inner hash join",
                    JoinKind::Left => "Left hash join",
                    JoinKind::Semi => "Hash semijoin",
                    JoinKind::Anti => "Hash antijoin",
                };
                let key = |k: &JoinKey| {
                    let op = if k.null_safe { "<=>" } else { "=" };
                    format!("({} {op} {})", names.expr(&k.build.expr), names.expr(&k.probe.expr))
                };
                let extra = others(on.as_ref(), keys);
                let extra = extra.map(|on| format!(", extra conditions: {}", names.expr(&on)));
                let keys = keys.iter().map(key).collect::<Vec<_>>().join(", ");
                let (probe, build) = (self.node(probe, names), self.node(build, names));
                let text = format!("{kind} {keys}{}", extra.unwrap_or_default());
                let estimate =
                    probe.estimate.zip(build.estimate).map(|(p, b)| (p.0 + b.0, p.1.max(b.1)));
                let mut item = Item { estimate, ..joined(text, probe, build) };
                if let Some(build) = item.inputs.pop() {
                    item.inputs.push(Item::new("Hash", vec![build]));
                }
                item
            }
            other => self.line(other, names),
        }
    }

    fn reduced(&mut self, node: &Node, names: &Names<'_>) -> Item {
        match node {
            Node::Group(group) if !group.ends.is_empty() => {
                let estimate = Some((0.0, 1.0));
                Item { estimate, ..Item::new("Rows fetched before execution", Vec::new()) }
            }
            Node::Group(group) if finds_extremes(group) => self.node(&group.input, names),
            Node::Group(group) => {
                let input = self.node(&group.input, names);
                let calls =
                    group.aggregates.iter().filter(|a| *a.function != expr::aggregate::ANY_VALUE);
                let calls = calls.map(|a| names.aggregate(a)).collect::<Vec<_>>().join(", ");
                match group.strategy {
                    GroupStrategy::Single => Item::new(format!("Aggregate: {calls}"), vec![input]),
                    GroupStrategy::Sorted => {
                        let with = if group.rollup { " with rollup" } else { "" };
                        let text = match calls.is_empty() {
                            true => format!("Group (no aggregates){with}"),
                            false => format!("Group aggregate{with}: {calls}"),
                        };
                        Item::new(text, vec![input])
                    }
                    GroupStrategy::Hash => {
                        let text = match calls.is_empty() {
                            true => "Temporary table with deduplication",
                            false => "Aggregate using temporary table",
                        };
                        let below = Item::new(text, vec![input]);
                        Item::new("Table scan on <temporary>", vec![below])
                    }
                }
            }
            Node::Window(window) => {
                let mut input = self.node(&window.input, names);
                if window.sorts() {
                    let mut keys = names.list(&window.partition_by);
                    if !keys.is_empty() && !window.order_by.is_empty() {
                        keys.push_str(", ");
                    }
                    keys.push_str(&names.keys(&window.order_by));
                    input = Item::over(format!("Sort: {keys}"), input);
                }
                let over = names.over(&window.partition_by, &window.order_by);
                let call = |f| format!("{} OVER ({over}) ", names.window(f));
                let calls = window.functions.iter().map(call).collect::<Vec<_>>().join(", ");
                Item::over(format!("Window aggregate with buffering: {calls}"), input)
            }
            Node::Project { input, .. } => {
                let below = Item::over("Temporary table", self.node(input, names));
                Item::over("Table scan on <temporary>", below)
            }
            Node::Distinct { input, sorted: true, .. } if reads_groups(input) => {
                self.node(input, names)
            }
            Node::Distinct { input, sorted: true, .. } => {
                Item::over("Group (no aggregates)", self.node(input, names))
            }
            Node::Distinct { input, .. } => {
                let below =
                    Item::over("Temporary table with deduplication", self.node(input, names));
                Item::over("Table scan on <temporary>", below)
            }
            other => self.line(other, names),
        }
    }

    fn set(&mut self, node: &Node, names: &Names<'_>) -> Item {
        match node {
            Node::SetOp { op: SetOperator::Union, all: true, inputs, .. } => {
                let inputs = inputs
                    .iter()
                    .map(|plan| Item::over("Stream results", self.query(plan, Some(names))));
                Item::new("Append", inputs.collect())
            }
            Node::SetOp { op, all, inputs, .. } => {
                let (name, word) = match op {
                    SetOperator::Union => ("<union temporary>", "Union"),
                    SetOperator::Except => ("<except temporary>", "Except"),
                    SetOperator::Intersect => ("<intersect temporary>", "Intersect"),
                };
                let how = if *all { "all materialize" } else { "materialize with deduplication" };
                let inputs = inputs.iter().map(|plan| self.query(plan, Some(names))).collect();
                let below = Item::new(format!("{word} {how}"), inputs);
                Item::new(format!("Table scan on {name}"), vec![below])
            }
            Node::Recursive { leaf, seeds, steps, distinct, .. } => {
                let name = self.leaf(*leaf, names);
                let mut inputs: Vec<Item> =
                    seeds.iter().map(|plan| self.query(plan, Some(names))).collect();
                let repeated = steps.iter().map(|plan| self.query(plan, Some(names))).collect();
                inputs.push(Item::new("Repeat until convergence", repeated));
                let how = if *distinct { " with deduplication" } else { "" };
                Item::new(format!("Materialize recursive CTE {name}{how}"), inputs)
            }
            other => self.line(other, names),
        }
    }

    fn leaf(&self, leaf: u16, names: &Names<'_>) -> String {
        names.leaf(leaf)
    }

    fn shared(&mut self, leaf: u16, shared: usize, names: &Names<'_>) -> Item {
        let scan = format!("Table scan on {}", self.leaf(leaf, names));
        let query = &self.statement.shared[shared];
        let below = if self.printed.contains(&shared) {
            let text =
                format!("Materialize CTE {} if needed (query plan printed elsewhere)", query.name);
            Item::new(text, Vec::new())
        } else {
            self.printed.push(shared);
            let below = self.query(&query.query, None);
            Item::new(format!("Materialize CTE {} if needed", query.name), vec![below])
        };
        Item::new(scan, vec![below])
    }

    fn read(&mut self, read: &Read, names: &Names<'_>) -> Item {
        let def = self.tables.def(read.table);
        let name = self.leaf(read.leaf, names);
        let index = index_of(def, read.access.index());
        let covering = if read.covering { "Covering index" } else { "Index" };
        let reverse = if read.descending { " (reverse)" } else { "" };
        let mut known = Vec::new();
        let using = index.map_or("GEN_CLUST_INDEX", |i| &i.name);
        let text = match &read.access {
            ReadAccess::Index(0) if !read.ordered && !read.covering => {
                format!("Table scan on {name}")
            }
            ReadAccess::Index(_) => format!("{covering} scan on {name} using {using}{reverse}"),
            ReadAccess::Point { key, .. } => {
                let keys = key_text(def, index, key, names, &mut known);
                let row =
                    if read.covering { "Single-row covering index" } else { "Single-row index" };
                format!("{row} lookup on {name} using {using} ({keys})")
            }
            ReadAccess::Lookup { key, .. } => {
                let keys = key_text(def, index, key, names, &mut known);
                format!("{covering} lookup on {name} using {using} ({keys}){reverse}")
            }
            ReadAccess::Ranges { ranges, .. } => {
                let over = ranges.iter().map(|r| format!("({})", range_text(def, index, r, names)));
                let over = over.collect::<Vec<_>>().join(" OR ");
                format!("{covering} range scan on {name} using {using} over {over}{reverse}")
            }
            ReadAccess::Groups(scan) => {
                let purpose = match scan.purpose {
                    GroupPurpose::Extremes => " for grouping",
                    GroupPurpose::Distinct => " for deduplication",
                    GroupPurpose::Rows => "",
                };
                let over = groups_text(def, index, scan, names);
                format!("{covering} skip scan{purpose} on {name} using {using}{over}")
            }
            ReadAccess::Merge(merge) if merge.is_bound() => {
                format!("Index range scan on {name} (re-planned for each iteration)")
            }
            ReadAccess::Merge(merge) => match (merge.sorted, merge.inputs.len()) {
                (_, 1) => INTERSECTED.to_string(),
                (true, _) => "Sort-deduplicate by row ID".to_string(),
                (false, _) => "Deduplicate rows sorted by row ID".to_string(),
            },
        };
        let inputs = match &read.access {
            ReadAccess::Merge(merge) if !merge.is_bound() => merged(merge, def, &name, names),
            _ => Vec::new(),
        };
        let estimate = Some((read.estimate.cost, read.estimate.rows));
        let item = Item { estimate, ..Item::new(text, inputs) };
        let mut rest = Vec::new();
        if let Some(filter) = &read.filter {
            crate::logical::conjuncts(filter.clone(), &mut rest);
        }
        // What the look-up says already is not said again.
        rest.retain(|e| !known.iter().any(|(column, value)| says(e, read.leaf, *column, value)));
        let shown = crate::logical::conjunction(rest);
        let rows = read.estimate.rows * read.estimate.filtered;
        let mut item = filtered(item, shown.as_ref(), names);
        if shown.is_some() {
            item.estimate = Some((read.estimate.cost, rows));
        }
        item
    }
}

/// Whether a group's rows are all that is said of it.
fn finds_extremes(group: &Group) -> bool {
    reads_groups(&group.input) && group.strategy == GroupStrategy::Sorted
}

/// Whether rows are those of groups of an index.
fn reads_groups(node: &Node) -> bool {
    matches!(node, Node::Read(read) if matches!(read.access, ReadAccess::Groups(_)))
}

const INTERSECTED: &str = "Intersect rows sorted by row ID";

/// The lines of several indexes that are read together.
fn merged(merge: &Merge, def: &TableDef, name: &str, names: &Names<'_>) -> Vec<Item> {
    let scan = |part: &MergePart| {
        let index = index_of(def, part.index);
        let using = index.map_or("GEN_CLUST_INDEX", |i| &i.name);
        let over = part.ranges.iter().map(|r| format!("({})", range_text(def, index, r, names)));
        let over = over.collect::<Vec<_>>().join(" OR ");
        let text = format!("Index range scan on {name} using {using} over {over}");
        let estimate = Some((part.estimate.cost, part.estimate.rows));
        let item = Item { estimate, ..Item::new(text, Vec::new()) };
        match merge.sorted && part.index == 0 {
            true => Item::new("Clustered primary key (scanned separately)", vec![item]),
            false => item,
        }
    };
    let input = |input: &MergeInput| -> Vec<Item> {
        let scans: Vec<Item> = input.parts.iter().map(scan).collect();
        if merge.inputs.len() == 1 || scans.len() == 1 {
            return scans;
        }
        let estimate = Some((input.estimate.cost, input.estimate.rows));
        vec![Item { estimate, ..Item::new(INTERSECTED, scans) }]
    };
    merge.inputs.iter().flat_map(input).collect()
}

/// Whether a condition is `column = value` of a leaf.
fn says(e: &Expr, leaf: u16, column: usize, value: &Expr) -> bool {
    let Expr::Compare(Comparison::Eq | Comparison::NullSafeEq, a, b, _) = e else { return false };
    let own = crate::logical::column_of(leaf, column);
    **a == own && **b == *value || **b == own && **a == *value
}

/// Whether a path's look-up says what a condition says.
pub(crate) fn looked_up(e: &Expr, read: &Read, def: &TableDef, index: Option<&IndexDef>) -> bool {
    let (ReadAccess::Point { key, .. } | ReadAccess::Lookup { key, .. }) = &read.access else {
        return false;
    };
    let parts = index.map_or(Vec::new(), |i| def.all_parts(i));
    parts.iter().zip(key).any(|(part, key)| says(e, read.leaf, part.column, &key.value))
}

/// The index of an engine number; none is the hidden clustered one.
pub(crate) fn index_of(def: &TableDef, index: usize) -> Option<&IndexDef> {
    def.indexes.get(index.checked_sub(usize::from(def.clustered().is_none()))?)
}

fn key_text(
    def: &TableDef,
    index: Option<&IndexDef>,
    key: &[KeyValue],
    names: &Names<'_>,
    known: &mut Vec<(usize, Expr)>,
) -> String {
    let parts = index.map_or(Vec::new(), |i| def.all_parts(i));
    let one = |(part, key): (&value::KeyPart, &KeyValue)| {
        known.push((part.column, key.value.clone()));
        let op = if key.null_safe { "<=>" } else { "=" };
        format!("{} {op} {}", def.columns[part.column].name, names.expr(&key.value))
    };
    parts.iter().zip(key).map(one).collect::<Vec<_>>().join(", ")
}

fn range_text(
    def: &TableDef,
    index: Option<&IndexDef>,
    range: &KeyRange,
    names: &Names<'_>,
) -> String {
    text_behind(0, def, index, range, names)
}

/// Which groups of an index are read, and what of them.
fn groups_text(
    def: &TableDef,
    index: Option<&IndexDef>,
    scan: &GroupScan,
    names: &Names<'_>,
) -> String {
    let ranges = scan.ranges.iter().map(|r| format!("({})", range_text(def, index, r, names)));
    let mut over: Vec<String> = Vec::new();
    over.extend((!scan.ranges.is_empty()).then(|| ranges.collect::<Vec<_>>().join(" OR ")));
    let behind = |r: &KeyRange| text_behind(scan.parts, def, index, r, names);
    match scan.probes.first().map(|probe| &probe.range) {
        Some(range) if scan.purpose == GroupPurpose::Rows => over.push(behind(range)),
        Some(range) if matches!(range.last, LastPart::Between { .. }) => {
            over.push(format!("({})", behind(range)));
        }
        _ => {}
    }
    if over.is_empty() { String::new() } else { format!(" over {}", over.join(", ")) }
}

/// A range over the parts of an index behind the first ones.
fn text_behind(
    first: usize,
    def: &TableDef,
    index: Option<&IndexDef>,
    range: &KeyRange,
    names: &Names<'_>,
) -> String {
    let parts = index.map_or(Vec::new(), |i| def.all_parts(i));
    let parts = parts.get(first..).unwrap_or_default();
    let name = |n: usize| parts.get(n).map_or("?", |p| &def.columns[p.column].name);
    let mut texts: Vec<String> = Vec::new();
    for (number, key) in range.equal.iter().enumerate() {
        texts.push(format!("{} = {}", name(number), names.expr(&key.value)));
    }
    let last = name(range.equal.len());
    let sign = |inclusive: bool| if inclusive { "<=" } else { "<" };
    match &range.last {
        LastPart::Any => {}
        LastPart::NotNull => texts.push(format!("NULL < {last}")),
        LastPart::Like { pattern, .. } => {
            texts.push(format!("{last} like {}", names.expr(pattern)))
        }
        LastPart::Between { low, high } => {
            let mut text = String::new();
            if let Some((low, inclusive)) = low {
                text.push_str(&format!("{} {} ", names.expr(low), sign(*inclusive)));
            }
            text.push_str(last);
            if let Some((high, inclusive)) = high {
                text.push_str(&format!(" {} {}", sign(*inclusive), names.expr(high)));
            }
            texts.push(text);
        }
    }
    texts.join(" AND ")
}

fn filtered(item: Item, filter: Option<&Expr>, names: &Names<'_>) -> Item {
    match filter {
        Some(filter) => {
            let text = names.expr(filter);
            Item::over(format!("Filter: {text}"), item)
        }
        None => item,
    }
}

/// What a hash join's rows must satisfy besides the equalities that it goes by.
fn others(on: Option<&Expr>, keys: &[JoinKey]) -> Option<Expr> {
    let mut all = Vec::new();
    on.into_iter().for_each(|on| conjuncts(on.clone(), &mut all));
    all.retain(|e| !keys.iter().any(|key| key.tested.as_ref() == Some(e)));
    conjunction(all)
}

fn joined(text: String, outer: Item, inner: Item) -> Item {
    let estimate = outer
        .estimate
        .zip(inner.estimate)
        .map(|((cost, rows), (each, found))| (cost + rows * each, rows * found));
    Item { estimate, ..Item::new(text, vec![outer, inner]) }
}

fn integer(e: &Expr) -> Option<u64> {
    match e {
        Expr::Const(value) => value.datum().as_u64(),
        _ => None,
    }
}
