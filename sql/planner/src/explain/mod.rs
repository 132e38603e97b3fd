//! EXPLAIN: a plan as text, in MySQL's words and shapes.
//!
//! Reading order: [`names`] (expressions as text), [`tree`] (operators as lines, FORMAT=TREE), [`rows`]
//! (FORMAT=TRADITIONAL), [`change`] (changes, in every format), [`blocks`] (FORMAT=JSON),
//! [`json`] (its values).
//!
//! 1. Costs and row counts are this optimiser's; operation names and columns are MySQL's.

mod blocks;
mod change;
mod json;
mod keys;
mod names;
mod rows;
mod tree;

pub use change::{
    json_change, json_insert, traditional_change, traditional_insert, tree_change, tree_insert,
};
pub(crate) use rows::part_bytes;
pub use rows::{ExplainRow, traditional};
pub use tree::{Item, items, number};

use crate::query_plan::{Node, QueryStatement};
use catalog::TableCache;

/// What EXPLAIN ANALYZE has measured of a node, as text behind its estimate.
pub type Actual<'a> = dyn Fn(&Node) -> Option<String> + 'a;

/// FORMAT=TREE.
pub fn tree(statement: &QueryStatement, tables: &TableCache, actual: &Actual<'_>) -> String {
    let mut text = String::new();
    for item in items(statement, tables, actual) {
        item.print(0, &mut text);
    }
    text
}

/// FORMAT=JSON, the shape of `explain_json_format_version` 1.
pub fn json(statement: &QueryStatement, tables: &TableCache) -> String {
    blocks::document(blocks::fields(statement, tables, &[]))
}
