//! INSERT, REPLACE, UPDATE and DELETE.
//!
//! 1. A change of one table finds its rows without MySQL's iterators: FORMAT=TREE says no more.

use super::blocks;
use super::json::{Fields, Json, number, text, truth};
use super::names::Names;
use super::rows::{ExplainRow, nested, part_bytes, traditional};
use super::tree::{Item, items};
use crate::plan::{ChangePlan, Found, InsertPlan, InsertSource};
use crate::query_plan::{LeafLayout, Node};
use catalog::{TableCache, TableDef};

/// The rows of an UPDATE or DELETE: those of its query, the targets under the statement's name.
pub fn traditional_change(plan: &ChangePlan, tables: &TableCache) -> Vec<ExplainRow> {
    let verb = if plan.delete { "DELETE" } else { "UPDATE" };
    let leaves = &plan.query.query.leaves;
    let mut rows = traditional(&plan.query, tables);
    for row in rows.iter_mut().filter(|row| row.id == Some(1)) {
        let is_target = |t: &crate::plan::ChangeTarget| {
            row.table.as_deref() == Some(leaves[usize::from(t.leaf)].name.as_str())
        };
        if row.table.is_none() || plan.targets.iter().any(is_target) {
            row.select_type = verb.to_string();
        }
    }
    if leaves.len() == 1
        && let Some(row) = rows.first_mut()
    {
        alone(plan, row, tables);
    }
    rows
}

/// MySQL changes the rows of one table without its optimizer's join: every key is a range there.
fn alone(plan: &ChangePlan, row: &mut ExplainRow, tables: &TableCache) {
    let mut notes: Vec<String> =
        row.extra.take().into_iter().filter(|e| e != "Using index").collect();
    let filtered = !matches!(plan.found, Found::Alone(None));
    match row.access.as_deref() {
        Some("const" | "eq_ref" | "ref") => {
            row.access = Some("range".to_string());
            if filtered && notes.is_empty() {
                notes.push("Using where".to_string());
            }
        }
        Some("ALL") if plan.delete && !filtered && limitless(&plan.query.query.root) => {
            notes.push("Deleting all rows".to_string());
        }
        Some("ALL") if !plan.delete => {
            let LeafLayout::Table(table) = plan.query.query.leaves[0].layout else { return };
            let def = tables.def(table);
            if let Some(primary) = def.primary() {
                let bytes = primary
                    .parts
                    .iter()
                    .map(|part| part_bytes(&def.columns[part.column].ty, part.prefix_chars));
                row.access = Some("index".to_string());
                row.key = Some(primary.name.clone());
                row.key_len = Some(bytes.sum::<u32>().to_string());
                row.key_parts = primary.parts.iter().map(|part| part.column).collect();
            }
        }
        _ => {}
    }
    if row.access.as_deref() == Some("range") {
        row.reference = Some("const".to_string());
    }
    // What the condition leaves it knows from other keys only.
    if !row.possible_keys.as_ref().is_some_and(|keys| keys.contains(',')) {
        row.filtered = Some(100.0);
    }
    row.extra = (!notes.is_empty()).then(|| notes.join("; "));
}

fn limitless(node: &Node) -> bool {
    matches!(node, Node::Read(_))
}

/// The rows of an INSERT or REPLACE: its target, then its query.
pub fn traditional_insert(plan: &InsertPlan, name: &str, tables: &TableCache) -> Vec<ExplainRow> {
    let verb = if plan.replace { "REPLACE" } else { "INSERT" };
    let mut rows = vec![ExplainRow {
        id: Some(1),
        select_type: verb.to_string(),
        table: Some(name.to_string()),
        access: Some("ALL".to_string()),
        ..ExplainRow::default()
    }];
    if let InsertSource::Query(query) = &plan.source
        && plan.is_select
    {
        rows.extend(traditional(query, tables));
    }
    if let Some(subqueries) = &plan.subqueries {
        let last = rows.iter().filter_map(|row| row.id).max().unwrap_or(1);
        rows.iter_mut().filter(|row| row.select_type == "SIMPLE").for_each(|row| {
            row.select_type = "PRIMARY".to_string();
        });
        rows.extend(nested(subqueries, last + 1, tables));
    }
    rows
}

const NO_ITERATORS: &str = "-> <not executable by iterator executor>\n";

fn print(item: &Item) -> String {
    let mut text = String::new();
    item.print(0, &mut text);
    text
}

/// FORMAT=TREE of an UPDATE or DELETE.
pub fn tree_change(plan: &ChangePlan, tables: &TableCache) -> String {
    let leaves = &plan.query.query.leaves;
    if leaves.len() == 1 {
        return NO_ITERATORS.to_string();
    }
    let verb = if plan.delete { "Delete from" } else { "Update" };
    let name =
        |t: &crate::plan::ChangeTarget| format!("{} (buffered)", leaves[usize::from(t.leaf)].name);
    let targets = plan.targets.iter().map(name).collect::<Vec<_>>().join(", ");
    let below = items(&plan.query, tables, &|_| None);
    let estimate = below.first().and_then(|item| item.estimate).filter(|_| plan.delete);
    let text = format!("{verb} {targets}");
    print(&Item { text, estimate, inputs: below, actual: None })
}

/// FORMAT=TREE of an INSERT or REPLACE.
pub fn tree_insert(plan: &InsertPlan, name: &str, tables: &TableCache) -> String {
    let verb = if plan.replace { "Replace" } else { "Insert" };
    let inputs = match &plan.source {
        InsertSource::Query(query) if plan.is_select => items(query, tables, &|_| None),
        _ => vec![Item { text: "Rows fetched before execution".into(), ..Item::default() }],
    };
    print(&Item { text: format!("{verb} into {name}"), inputs, ..Item::default() })
}

/// FORMAT=JSON of an UPDATE or DELETE.
pub fn json_change(plan: &ChangePlan, tables: &TableCache) -> String {
    let word = if plan.delete { "delete" } else { "update" };
    let leaves = &plan.query.query.leaves;
    if let ([leaf], Found::Alone(filter)) = (&leaves[..], &plan.found)
        && let LeafLayout::Table(table) = leaf.layout
        && let Some(row) = traditional_change(plan, tables).into_iter().next()
        && row.table.is_some()
    {
        let names = Names::full(&plan.query.query, &plan.query, tables, None);
        let filter = filter.as_ref().map(|filter| names.expr(filter));
        return blocks::document(block(alone_fields(plan, &row, filter, word, tables.def(table))));
    }
    let targets: Vec<_> = plan.targets.iter().map(|t| (t.leaf, word)).collect();
    blocks::document(blocks::fields(&plan.query, tables, &targets))
}

fn block(inside: Fields) -> Fields {
    let mut fields: Fields = vec![("select_id", number(1))];
    fields.extend(inside);
    vec![("query_block", Json::Object(fields))]
}

fn alone_fields(
    plan: &ChangePlan,
    row: &ExplainRow,
    filter: Option<String>,
    word: &'static str,
    def: &TableDef,
) -> Fields {
    let mut fields: Fields = vec![(word, truth(true))];
    fields.extend(blocks::access(row, def));
    fields.push(("rows_examined_per_scan", number(row.rows.unwrap_or(1))));
    fields.push(blocks::filtered(row));
    if row.extra.as_deref() == Some("Deleting all rows") {
        fields.push(("message", text("Deleting all rows")));
    }
    if let Some(filter) = filter {
        fields.push(("attached_condition", text(&filter)));
    }
    let table = vec![("table", Json::Object(fields))];
    let mut node = &plan.query.query.root;
    while let Node::Limit { input, .. } = node {
        node = input;
    }
    if !matches!(node, Node::Sort { .. }) {
        return table;
    }
    let mut sorted: Fields = vec![("using_filesort", truth(true))];
    sorted.extend(table);
    vec![("ordering_operation", Json::Object(sorted))]
}

/// FORMAT=JSON of an INSERT or REPLACE.
pub fn json_insert(plan: &InsertPlan, name: &str, tables: &TableCache) -> String {
    let word = if plan.replace { "replace" } else { "insert" };
    let target = Json::Object(vec![
        (word, truth(true)),
        ("table_name", text(name)),
        ("access_type", text("ALL")),
    ]);
    let InsertSource::Query(query) = &plan.source else {
        return blocks::document(block(vec![("table", target)]));
    };
    if !plan.is_select {
        return blocks::document(block(vec![("table", target)]));
    }
    let mut inside = Vec::new();
    let mut from = Vec::new();
    if let Some((_, Json::Object(fields))) = blocks::fields(query, tables, &[]).pop() {
        for field in fields {
            match field.0 {
                "select_id" => {}
                "cost_info" => inside.push(field),
                _ => from.push(field),
            }
        }
    }
    inside.push(("table", target));
    inside.push(("insert_from", Json::Object(from)));
    blocks::document(block(inside))
}
