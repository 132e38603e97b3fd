//! Hints: which indexes USE, FORCE and IGNORE INDEX leave to choose from, and what `/*+ ... */` asks for.
//!
//! 1. A hint never changes what a statement answers, but by ending it (MAX_EXECUTION_TIME): one that this
//! optimiser has no use for has no effect. 2. SET_VAR of a variable that counts for answers is refused.

use catalog::TableDef;
use expr::SqlError;
use parser::ast::{self, TableFactor};

/// Indexes that hints leave to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChoice {
    /// FORCE or USE INDEX: only these names.
    pub only: Option<Vec<String>>,
    /// IGNORE INDEX: never these.
    pub never: Vec<String>,
}

impl IndexChoice {
    /// Whether hints leave the index.
    pub(crate) fn allows(&self, name: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|n| value::name::same_name(n, name));
        self.only.as_ref().is_none_or(|only| named(only)) && !named(&self.never)
    }
}

/// What index hints leave; a hint for a missing index is error 1176.
pub fn index_choice(def: &TableDef, factor: &TableFactor) -> Result<IndexChoice, SqlError> {
    let mut choice = IndexChoice::default();
    for hint in &factor.index_hints {
        for name in &hint.indexes {
            let is_usable = |i: &catalog::IndexDef| {
                !i.attributes.invisible && value::name::same_name(&i.name, name)
            };
            if !def.indexes.iter().any(is_usable) {
                let text = format!("Key '{name}' doesn't exist in table '{}'", def.name);
                return Err(SqlError::Other(1176, "42000", text));
            }
        }
        match hint.kind {
            ast::IndexHintKind::Ignore => choice.never.extend(hint.indexes.iter().cloned()),
            _ => choice.only.get_or_insert_default().extend(hint.indexes.iter().cloned()),
        }
    }
    Ok(choice)
}

/// What `/*+ ... */` behind SELECT asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// JOIN_FIXED_ORDER: tables are joined as they were written.
    pub fixed_order: bool,
    /// MAX_EXECUTION_TIME in milliseconds.
    pub execution_ms_max: Option<u64>,
    /// Table or alias, whether the indexes are forbidden, and which; none are all.
    indexes: Vec<(String, bool, Vec<String>)>,
}

/// Variables of SET_VAR that count for speed alone.
const SPEED_ONLY: [&str; 14] = [
    "bulk_insert_buffer_size",
    "eq_range_index_dive_limit",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "max_heap_table_size",
    "max_seeks_for_key",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "tmp_table_size",
];

impl Hints {
    /// Reads a hint comment. What is no hint is passed over.
    ///
    /// # Errors
    /// 1235 for SET_VAR of a variable that counts for answers.
    pub(crate) fn of(comment: Option<&str>) -> Result<Hints, SqlError> {
        let mut hints = Hints::default();
        let inner = comment.and_then(|c| c.strip_prefix("/*+")?.strip_suffix("*/"));
        let words = words(inner.unwrap_or_default());
        let mut rest = &words[..];
        while let [name, after @ ..] = rest {
            rest = after;
            let ["(", inside @ ..] = &after.iter().map(String::as_str).collect::<Vec<_>>()[..]
            else {
                continue;
            };
            let end = inside.iter().position(|w| *w == ")").unwrap_or(inside.len());
            hints.take(&name.to_ascii_uppercase(), &inside[..end])?;
            rest = after.get(end + 2..).unwrap_or_default();
        }
        Ok(hints)
    }

    fn take(&mut self, name: &str, inside: &[&str]) -> Result<(), SqlError> {
        match name {
            "JOIN_FIXED_ORDER" => self.fixed_order = true,
            "MAX_EXECUTION_TIME" => {
                self.execution_ms_max = inside.first().and_then(|n| n.parse().ok());
            }
            "SET_VAR" => {
                let variable = inside.first().map_or(String::new(), |v| v.to_ascii_lowercase());
                if !SPEED_ONLY.contains(&&*variable) {
                    return Err(SqlError::unsupported(format!("SET_VAR({variable})")));
                }
            }
            "INDEX" | "JOIN_INDEX" | "NO_INDEX" | "NO_JOIN_INDEX" => {
                // A query block may stand before the table or behind it.
                let mut names = inside.iter().filter(|w| **w != ",").peekable();
                if names.peek().is_some_and(|w| w.starts_with('@')) {
                    names.next();
                }
                let Some(table) = names.next() else { return Ok(()) };
                let table = table.split('@').next().unwrap_or(table).to_string();
                let indexes: Vec<String> = names.map(|n| (*n).to_string()).collect();
                self.indexes.push((table, name.starts_with("NO_"), indexes));
            }
            _ => {}
        }
        Ok(())
    }

    /// Narrows the indexes of a table.
    pub(crate) fn narrow(&self, def: &TableDef, alias: &str, choice: &mut IndexChoice) {
        for (_, forbidden, indexes) in self.indexes.iter().filter(|(t, ..)| t == alias) {
            let is_there =
                |n: &&String| def.indexes.iter().any(|i| value::name::same_name(&i.name, n));
            let known: Vec<String> = indexes.iter().filter(is_there).cloned().collect();
            match (forbidden, indexes.is_empty()) {
                (true, true) => choice.only = Some(Vec::new()),
                (true, false) => choice.never.extend(known),
                (false, true) => {}
                (false, false) if known.is_empty() => {}
                (false, false) => choice.only = Some(known),
            }
        }
    }
}

/// Names and signs; a quoted name without its quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '`' | '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            '(' | ')' | ',' | '=' => 1,
            _ => rest
                .find(|c: char| c.is_whitespace() || "(),=`'\"".contains(c))
                .unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(length);
        words.push(word.trim_matches(['`', '\'', '"']).to_string());
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_read_and_what_is_none_is_passed_over() {
        let text = "/*+ JOIN_FIXED_ORDER() nonsense MAX_EXECUTION_TIME(50) NO_INDEX(`t` a, b) INDEX(@q u c) \
                    BKA(t1) SET_VAR(sort_buffer_size = 16M) */";
        let hints = Hints::of(Some(text)).unwrap();
        assert!(hints.fixed_order);
        assert_eq!(hints.execution_ms_max, Some(50));
        let indexes = [
            ("t".to_string(), true, vec!["a".to_string(), "b".to_string()]),
            ("u".to_string(), false, vec!["c".to_string()]),
        ];
        assert_eq!(hints.indexes, indexes);
        assert!(Hints::of(Some("/*+ SET_VAR(sql_mode='ANSI') */")).is_err());
        assert_eq!(Hints::of(Some("/*+ ((( */")).unwrap(), Hints::default());
        assert_eq!(Hints::of(None).unwrap(), Hints::default());
    }
}
