//! Index hints: which indexes USE, FORCE and IGNORE INDEX leave to choose from.

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
