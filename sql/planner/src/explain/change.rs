//! FORMAT=TRADITIONAL of INSERT, REPLACE, UPDATE and DELETE.

use super::rows::{ExplainRow, part_bytes, traditional};
use crate::plan::{ChangePlan, Found, InsertPlan, InsertSource};
use crate::query_plan::{LeafLayout, Node};
use catalog::TableCache;

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
            }
        }
        _ => {}
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
    rows
}
