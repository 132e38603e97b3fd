//! FORMAT=TRADITIONAL: one row per table in the order in which they are read.

use super::keys::possible_keys;
use super::names::Names;
use super::tree::index_of;
use crate::query_plan::{
    GroupProbe, GroupPurpose, GroupScan, GroupStrategy, JoinKind, KeyRange, KeyValue, LastPart,
    LeafLayout, Merge, MergeInput, MergePart, Node, QueryPlan, QueryStatement, Read, ReadAccess,
    SubplanKind,
};
use catalog::{IndexDef, TableCache, TableDef};
use expr::tree::Expr;
use parser::ast::SetOperator;

/// A row of EXPLAIN; `None` is NULL.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExplainRow {
    /// SELECT number; NULL for the result of a set operation.
    pub id: Option<u64>,
    /// SIMPLE, PRIMARY, SUBQUERY, DERIVED, UNION, ...
    pub select_type: String,
    /// Alias.
    pub table: Option<String>,
    /// Access type.
    pub access: Option<String>,
    /// Indexes that could be used.
    pub possible_keys: Option<String>,
    /// The index that is used.
    pub key: Option<String>,
    /// Bytes of it.
    pub key_len: Option<String>,
    /// What its parts are compared with.
    pub reference: Option<String>,
    /// Estimated rows.
    pub rows: Option<u64>,
    /// Percentage of them that the condition lets pass.
    pub filtered: Option<f64>,
    /// The rest.
    pub extra: Option<String>,
    /// Columns of the parts of the index that are used.
    pub key_parts: Vec<usize>,
    /// What a row must satisfy beyond the look-up.
    pub condition: Option<String>,
    /// How several indexes are put together: `union(k,l)`.
    pub merged: Option<String>,
}

/// Nothing is left of the tables but what is known before the query runs.
pub(super) const OPTIMIZED_AWAY: &str = "Select tables optimized away";

/// The rows of a statement.
pub fn traditional(statement: &QueryStatement, tables: &TableCache) -> Vec<ExplainRow> {
    let mut lister = Lister::new(statement, tables);
    let alone = is_simple(&statement.query);
    lister.query(&statement.query, 1, if alone { "SIMPLE" } else { "PRIMARY" }, None);
    lister.rows
}

/// The rows of the subqueries that belong to a block which is shown otherwise; the first is SELECT `first`.
pub fn nested(statement: &QueryStatement, first: u64, tables: &TableCache) -> Vec<ExplainRow> {
    let mut lister = Lister::new(statement, tables);
    lister.next = first;
    lister.query(&statement.query, 1, "", None);
    lister.rows.split_off(1)
}

fn is_simple(plan: &QueryPlan) -> bool {
    let mut simple = plan.subplans.iter().all(|s| s.query.outputs.is_empty());
    visit(&plan.root, &mut |node| {
        simple &= !matches!(
            node,
            Node::Derived { .. }
                | Node::SetOp { .. }
                | Node::Shared { .. }
                | Node::Recursive { .. }
        );
    });
    simple
}

fn visit(node: &Node, f: &mut dyn FnMut(&Node)) {
    f(node);
    node.inputs().for_each(|input| visit(input, f));
}

pub(super) struct Lister<'p> {
    statement: &'p QueryStatement,
    tables: &'p TableCache,
    rows: Vec<ExplainRow>,
    /// Derived tables, listed behind the block that reads them.
    later: Vec<(u64, &'p QueryPlan, &'static str)>,
    next: u64,
    shared: Vec<(usize, u64)>,
}

impl<'p> Lister<'p> {
    pub(super) fn new(statement: &'p QueryStatement, tables: &'p TableCache) -> Lister<'p> {
        let (rows, later, shared) = (Vec::new(), Vec::new(), Vec::new());
        Lister { statement, tables, rows, later, next: 2, shared }
    }

    fn query(
        &mut self,
        plan: &'p QueryPlan,
        id: u64,
        select_type: &str,
        outer: Option<&Names<'_>>,
    ) {
        let names = Names::of(plan, self.statement, self.tables, outer);
        let later = std::mem::take(&mut self.later);
        let first = self.rows.len();
        let mut notes: Vec<&'static str> = Vec::new();
        self.node(&plan.root, id, select_type, &names, &mut notes);
        if self.rows.len() == first {
            let reason = match &plan.root {
                Node::Nothing { reason, .. } => reason,
                _ => "No tables used",
            };
            self.rows.push(without_table(id, select_type, reason));
        } else if !notes.is_empty() {
            let extra = &mut self.rows[first].extra;
            let mut all: Vec<String> = extra.take().into_iter().collect();
            all.extend(notes.iter().map(|n| (*n).to_string()));
            *extra = Some(all.join("; "));
        }
        for (id, plan, select_type) in std::mem::replace(&mut self.later, later) {
            self.query(plan, id, select_type, None);
        }
        for subplan in plan.subplans.iter().filter(|s| !s.query.outputs.is_empty()) {
            let id = self.next;
            self.next += 1;
            let kind = match (subplan.correlated, subplan.kind) {
                (true, _) => "DEPENDENT SUBQUERY",
                (false, SubplanKind::Scalar | SubplanKind::Exists | SubplanKind::Quantified) => {
                    "SUBQUERY"
                }
            };
            self.query(&subplan.query, id, kind, Some(&names));
        }
    }

    fn node(
        &mut self,
        node: &'p Node,
        id: u64,
        select_type: &str,
        names: &Names<'_>,
        notes: &mut Vec<&'static str>,
    ) {
        match node {
            Node::Read(read) => {
                let row = self.read(read, id, select_type, names);
                self.rows.push(row);
            }
            Node::Join { kind, outer, inner, .. } => {
                self.node(outer, id, select_type, names, notes);
                let first = self.rows.len();
                self.node(inner, id, select_type, names, notes);
                self.note(self.rows.len() - 1, self.join_note(*kind, first));
            }
            Node::HashJoin { kind, probe, build, .. } => {
                self.node(probe, id, select_type, names, notes);
                let first = self.rows.len();
                self.node(build, id, select_type, names, notes);
                let hash = "Using join buffer (hash join)".to_string();
                let note = self.join_note(*kind, first);
                self.note(first, Some(note.map_or(hash.clone(), |note| format!("{note}; {hash}"))));
            }
            Node::Filter { input, .. } => {
                self.node(input, id, select_type, names, notes);
                if !matches!(**input, Node::Group(_)) && !self.rows.is_empty() {
                    self.where_used(self.rows.len() - 1);
                }
            }
            Node::Limit { input, .. } => self.node(input, id, select_type, names, notes),
            Node::Sort { input, .. } => {
                self.node(input, id, select_type, names, notes);
                notes.push("Using filesort");
            }
            Node::Group(group) if !group.ends.is_empty() => {
                self.rows.push(without_table(id, select_type, OPTIMIZED_AWAY));
            }
            Node::Group(_) | Node::Window(_) | Node::Project { .. } | Node::Distinct { .. } => {
                let (input, temporary, sorts) = reduction(node);
                self.node(input, id, select_type, names, notes);
                notes.extend(temporary.then_some("Using temporary"));
                notes.extend(sorts.then_some("Using filesort"));
            }
            Node::SetOp { op, all, inputs, .. } => self.set(*op, *all, inputs, id, select_type),
            Node::Recursive { seeds, steps, .. } => {
                for plan in seeds.iter() {
                    self.query(plan, id, select_type, None);
                }
                for plan in steps.iter() {
                    let id = self.next;
                    self.next += 1;
                    self.query(plan, id, "UNION", None);
                }
            }
            other => self.made(other, id, select_type, names),
        }
    }

    /// What a join that only looks for a match says; its inner tables have the rows from `first`.
    fn join_note(&self, kind: JoinKind, first: usize) -> Option<String> {
        match kind {
            JoinKind::Semi => Some(format!("FirstMatch({})", self.last_name(first))),
            JoinKind::Anti => Some("Not exists".to_string()),
            _ => None,
        }
    }

    fn set(
        &mut self,
        op: SetOperator,
        all: bool,
        inputs: &'p [QueryPlan],
        id: u64,
        select_type: &str,
    ) {
        let (word, result) = match op {
            SetOperator::Union => ("UNION", "UNION RESULT"),
            SetOperator::Except => ("EXCEPT", "EXCEPT RESULT"),
            SetOperator::Intersect => ("INTERSECT", "INTERSECT RESULT"),
        };
        let mut ids = vec![id];
        for (number, plan) in inputs.iter().enumerate() {
            if number == 0 {
                self.query(plan, id, select_type, None);
                continue;
            }
            let id = self.next;
            self.next += 1;
            ids.push(id);
            self.query(plan, id, word, None);
        }
        if op == SetOperator::Union && all {
            return;
        }
        let ids = ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        self.rows.push(ExplainRow {
            id: None,
            select_type: result.to_string(),
            table: Some(format!("<{}{ids}>", word.to_ascii_lowercase())),
            access: Some("ALL".to_string()),
            extra: Some("Using temporary".to_string()),
            ..ExplainRow::default()
        });
    }

    /// Sources that are no stored tables.
    fn made(&mut self, node: &'p Node, id: u64, select_type: &str, names: &Names<'_>) {
        let mut row = ExplainRow {
            id: Some(id),
            select_type: select_type.to_string(),
            access: Some("ALL".to_string()),
            ..ExplainRow::default()
        };
        let filter = match node {
            Node::Virtual { leaf, filter, .. } | Node::Working { leaf, filter, .. } => {
                row.table = Some(names.leaf(*leaf));
                filter
            }
            Node::Derived { query, filter, lateral, .. } => {
                let number = self.next;
                self.next += 1;
                row.table = Some(format!("<derived{number}>"));
                let kind = if *lateral { "DEPENDENT DERIVED" } else { "DERIVED" };
                self.later.push((number, query, kind));
                filter
            }
            Node::Shared { shared, filter, .. } => {
                let known = self.shared.iter().find(|(s, _)| s == shared).map(|(_, id)| *id);
                let number = known.unwrap_or_else(|| {
                    let number = self.next;
                    self.next += 1;
                    self.shared.push((*shared, number));
                    let statement = self.statement;
                    self.later.push((number, &statement.shared[*shared].query, "DERIVED"));
                    number
                });
                row.table = Some(format!("<derived{number}>"));
                filter
            }
            Node::JsonTable { leaf, .. } => {
                row.table = Some(names.leaf(*leaf));
                row.extra = Some("Table function: json_table; Using temporary".to_string());
                &None
            }
            _ => return,
        };
        row.filtered = Some(100.0);
        if filter.is_some() {
            row.extra = Some("Using where".to_string());
        }
        self.rows.push(row);
    }

    fn last_name(&self, before: usize) -> String {
        before
            .checked_sub(1)
            .and_then(|n| self.rows.get(n))
            .and_then(|r| r.table.clone())
            .unwrap_or_default()
    }

    fn note(&mut self, row: usize, note: Option<String>) {
        let (Some(note), Some(row)) = (note, self.rows.get_mut(row)) else { return };
        row.extra = Some(match row.extra.take() {
            Some(extra) => format!("{extra}; {note}"),
            None => note,
        });
    }

    fn where_used(&mut self, row: usize) {
        let has = self.rows[row].extra.as_deref().is_some_and(|e| e.contains("Using where"));
        if !has {
            self.note(row, Some("Using where".to_string()));
        }
    }

    pub(super) fn read(
        &self,
        read: &Read,
        id: u64,
        select_type: &str,
        names: &Names<'_>,
    ) -> ExplainRow {
        let def = self.tables.def(read.table);
        let index = index_of(def, read.access.index());
        let access = access_word(read);
        let used = access != "ALL";
        let key: &[KeyValue] = match &read.access {
            ReadAccess::Point { key, .. } | ReadAccess::Lookup { key, .. } => key,
            _ => &[],
        };
        let parts = match &read.access {
            ReadAccess::Index(_) => index.map_or(0, |i| i.parts.len()),
            ReadAccess::Ranges { ranges, .. } => parts_of(ranges),
            ReadAccess::Groups(scan) => scan.parts + compared_parts(scan),
            _ => key.len(),
        };
        let (keys, lengths) = match &read.access {
            ReadAccess::Merge(merge) if used => merged_keys(merge, def),
            _ => {
                let index = index.filter(|_| used);
                (index.map(|i| i.name.clone()), index.map(|i| key_length(def, i, parts)))
            }
        };
        let reference = (!key.is_empty()).then(|| references(key, names));
        let possible = possible_keys(read, def, names);
        let merged = match &read.access {
            ReadAccess::Merge(merge) if used => Some(merge_text(merge, def)),
            _ => None,
        };
        let mut rest = Vec::new();
        if let Some(filter) = &read.filter {
            crate::logical::conjuncts(filter.clone(), &mut rest);
            rest.retain(|e| !super::tree::looked_up(e, read, def, index));
        }
        let extra = extra_of(read, def, merged.as_deref(), !rest.is_empty());
        ExplainRow {
            id: Some(id),
            select_type: select_type.to_string(),
            table: Some(names.leaf(read.leaf)),
            access: Some(access.to_string()),
            possible_keys: possible,
            key: keys,
            key_len: lengths,
            reference,
            rows: Some(read.estimate.rows.round().max(1.0) as u64),
            filtered: Some((read.estimate.filtered * 10_000.0).round() / 100.0),
            extra: (!extra.is_empty()).then(|| extra.join("; ")),
            key_parts: index
                .filter(|_| !matches!(read.access, ReadAccess::Merge(_)))
                .map(|i| def.all_parts(i).iter().take(parts).map(|p| p.column).collect())
                .unwrap_or_default(),
            condition: crate::logical::conjunction(rest).map(|rest| names.expr(&rest)),
            merged,
        }
    }
}

/// Input of a node that makes other rows of it, whether it needs a temporary table, whether it sorts.
fn reduction(node: &Node) -> (&Node, bool, bool) {
    match node {
        Node::Group(group) => {
            // What is computed before it is grouped is kept by the group's own table.
            let input = match &group.input {
                Node::Project { input, .. } => input,
                other => other,
            };
            (input, group.strategy == GroupStrategy::Hash, false)
        }
        Node::Window(window) => (&window.input, true, window.sorts()),
        Node::Distinct { input, sorted, .. } => (input, !sorted, false),
        Node::Project { input, .. } => (input, true, false),
        other => (other, false, false),
    }
}

/// The row of a query block that reads no table.
fn without_table(id: u64, select_type: &str, reason: &str) -> ExplainRow {
    ExplainRow {
        id: Some(id),
        select_type: select_type.to_string(),
        extra: Some(reason.to_string()),
        ..ExplainRow::default()
    }
}

/// The column `type`.
fn access_word(read: &Read) -> &'static str {
    let constant = |key: &[KeyValue]| key.iter().all(|k| is_constant(&k.value));
    match &read.access {
        ReadAccess::Index(0) if !read.ordered && !read.covering => "ALL",
        ReadAccess::Index(_) => "index",
        ReadAccess::Point { key, .. } if constant(key) => "const",
        ReadAccess::Point { .. } => "eq_ref",
        ReadAccess::Lookup { .. } => "ref",
        ReadAccess::Ranges { .. } | ReadAccess::Groups(_) => "range",
        ReadAccess::Merge(merge) if merge.is_bound() => "ALL",
        ReadAccess::Merge(_) => "index_merge",
    }
}

/// The column `key_len`: bytes of so many parts of an index.
fn key_length(def: &TableDef, index: &IndexDef, parts: usize) -> String {
    let part = |p: &value::KeyPart| part_bytes(&def.columns[p.column].ty, p.prefix_chars);
    def.all_parts(index).iter().take(parts).map(part).sum::<u32>().to_string()
}

/// Names and lengths of the indexes of an index merge.
fn merged_keys(merge: &Merge, def: &TableDef) -> (Option<String>, Option<String>) {
    let one = |part: &MergePart| {
        let index = index_of(def, part.index)?;
        Some((index.name.clone(), key_length(def, index, parts_of(&part.ranges))))
    };
    let (keys, lengths): (Vec<_>, Vec<_>) = merge.parts().filter_map(one).unzip();
    (Some(keys.join(",")), Some(lengths.join(",")))
}

/// The column `ref`: what the parts of a key are compared with.
fn references(key: &[KeyValue], names: &Names<'_>) -> String {
    let one = |k: &KeyValue| match &k.value {
        value if is_constant(value) => "const".to_string(),
        Expr::Column(c) => names.qualified(*c),
        _ => "func".to_string(),
    };
    key.iter().map(one).collect::<Vec<_>>().join(",")
}

/// The column `Extra`; `merged` describes an index merge, `filters`: a condition is left that no index answers.
fn extra_of(read: &Read, def: &TableDef, merged: Option<&str>, filters: bool) -> Vec<String> {
    let mut extra: Vec<String> = merged.iter().map(|text| format!("Using {text}")).collect();
    match &read.access {
        ReadAccess::Merge(merge) if merged.is_none() => {
            let hidden = usize::from(def.clustered().is_none());
            let map = merge.parts().fold(0u128, |map, part| map | 1 << (part.index - hidden));
            extra.push(format!("Range checked for each record (index map: 0x{map:X})"));
        }
        _ if filters => extra.push("Using where".into()),
        _ => {}
    }
    if read.descending {
        extra.push("Backward index scan".into());
    }
    match &read.access {
        ReadAccess::Groups(scan) => extra.push(match scan.purpose {
            GroupPurpose::Rows => "Using index for skip scan".into(),
            _ => "Using index for group-by".into(),
        }),
        _ if read.covering => extra.push("Using index".into()),
        _ => {}
    }
    extra
}

/// How many parts of an index ranges look at.
fn parts_of(ranges: &[KeyRange]) -> usize {
    let last = |r: &KeyRange| r.equal.len() + usize::from(r.last != LastPart::Any);
    ranges.iter().map(last).max().unwrap_or(0)
}

/// How many parts behind those of the groups the probes ask for.
fn compared_parts(scan: &GroupScan) -> usize {
    let asked = |probe: &GroupProbe| {
        let last = probe.range.last != LastPart::Any;
        probe.range.equal.len() + usize::from(last)
    };
    scan.probes.iter().map(asked).max().unwrap_or(0)
}

/// How several indexes are put together: `union(intersect(k,l),m)`.
fn merge_text(merge: &Merge, def: &TableDef) -> String {
    let input = |input: &MergeInput| {
        let names = input.parts.iter().filter_map(|part| index_of(def, part.index));
        let names = names.map(|index| index.name.as_str()).collect::<Vec<_>>().join(",");
        if input.parts.len() > 1 { format!("intersect({names})") } else { names }
    };
    let inputs = merge.inputs.iter().map(input).collect::<Vec<_>>().join(",");
    match (merge.sorted, merge.inputs.len()) {
        (_, 1) => inputs,
        (true, _) => format!("sort_union({inputs})"),
        (false, _) => format!("union({inputs})"),
    }
}

fn is_constant(e: &Expr) -> bool {
    let mut constant = true;
    e.visit(&mut |e| constant &= !matches!(e, Expr::Column(_)));
    constant
}

/// `key_len` of one part: the column's bytes, two for a length, one where NULL is allowed.
pub(crate) fn part_bytes(ty: &value::ColumnType, prefix: Option<u32>) -> u32 {
    let null = u32::from(ty.nullable);
    let bytes = match prefix {
        Some(chars) => chars * ty.collation.bytes_per_char_max(),
        None => ty.bytes_max(),
    };
    let variable =
        ty.kind.is_string() && ty.fixed_bytes().is_none() && !matches!(ty.kind, value::Kind::Char);
    bytes + null + if variable { 2 } else { 0 }
}

/// The layout's table, for a column's full name.
pub(crate) fn schema_of(layout: &LeafLayout, tables: &TableCache) -> Option<String> {
    match layout {
        LeafLayout::Table(table) => Some(tables.def(*table).schema.clone()),
        _ => None,
    }
}
