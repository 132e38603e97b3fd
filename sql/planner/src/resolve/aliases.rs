//! Names of a block's select list, where its other clauses and its subqueries use them.
//!
//! 1. GROUP BY takes a column of FROM before another output of that name, and HAVING a group key: both with warning
//!    1052. 2. HAVING sees outputs and group keys alone, ORDER BY outputs first. 3. A subquery in the select list sees
//!    the items before its own; none sees an aggregate (1247) or a window function (3594) by its alias.

use super::names::{Scope, ambiguous, written};
use crate::error::PlanError;
use crate::logical::{GROUP_LEAF, LeafColumn, WINDOW_LEAF};
use crate::plan::Output;
use expr::SqlError;
use expr::tree::{Expr, Typed};
use parser::ast;
use value::name::same_name;

impl Scope {
    /// An output by its name; for a qualified name by the column that it shows. Two columns of that name are
    /// ambiguous; a computed output of that name is taken at once, as MySQL does.
    fn output_named(&self, column: &ast::ColumnRef) -> Result<Option<&Output>, SqlError> {
        let mut found: Option<&Output> = None;
        for output in &self.outputs {
            let named = same_name(&output.column.name, &column.column);
            if !shows_column(output) {
                if named && column.table.is_none() {
                    return Ok(Some(output));
                }
                continue;
            }
            let fits = match &column.table {
                None => named,
                Some(table) => {
                    output.column.table == *table
                        && same_name(&output.column.org_name, &column.column)
                        && column.schema.as_ref().is_none_or(|s| *s == output.column.schema)
                }
            };
            match found {
                _ if !fits => {}
                None => found = Some(output),
                Some(other) if other.value.expr == output.value.expr => {}
                Some(_) => return Err(ambiguous(&written(column), self.clause)),
            }
        }
        Ok(found)
    }

    /// An output that shows the column of that name under another one.
    fn output_behind(&self, column: &ast::ColumnRef) -> Result<Option<&Output>, SqlError> {
        let fits = |output: &&Output| {
            shows_column(output) && same_name(&output.column.org_name, &column.column)
        };
        let mut behind = self.outputs.iter().filter(fits);
        let found = behind.next().filter(|_| column.table.is_none());
        match found.is_some_and(|first| behind.any(|o| o.value.expr != first.value.expr)) {
            true => Err(ambiguous(&written(column), self.clause)),
            false => Ok(found),
        }
    }

    /// An output by its alias, or by the column that it shows.
    pub(crate) fn find_output(&self, column: &ast::ColumnRef) -> Result<Option<Typed>, SqlError> {
        Ok(self.output_named(column)?.map(|o| o.value.clone()))
    }

    /// The column of that name of the only table of FROM that has one; USING makes none of two.
    fn only_column(&self, column: &ast::ColumnRef) -> Option<Typed> {
        let mut found = None;
        for (number, leaf) in self.leaves.iter().enumerate() {
            let named = |c: &LeafColumn| c.listed && same_name(&c.result.name, &column.column);
            match leaf.columns.iter().position(named) {
                Some(_) if found.is_some() => return None,
                Some(position) => found = Some(self.column(number as u16, position)),
                None => {}
            }
        }
        found
    }

    /// What FROM has by the name of a group key, for MySQL asks its tables one by one.
    pub(super) fn find_for_key(&self, column: &ast::ColumnRef) -> Option<Typed> {
        match column.table {
            Some(_) => self.find(column).unwrap_or(None),
            None => self.only_column(column),
        }
    }

    /// A group key that is the column of that name.
    fn find_key(&self, column: &ast::ColumnRef) -> Result<Option<&Typed>, SqlError> {
        let mut found: Option<&Typed> = None;
        for key in &self.keys {
            let Expr::Column(place) = key.expr.unconverted() else { continue };
            let Some(leaf) = self.leaves.get(usize::from(place.leaf)).filter(|_| place.depth == 0)
            else {
                continue;
            };
            let named =
                same_name(&leaf.columns[usize::from(place.column)].result.name, &column.column)
                    && column.table.as_ref().is_none_or(|table| leaf.name == *table)
                    && column.schema.as_ref().is_none_or(|schema| leaf.schema == *schema);
            match found {
                _ if !named => {}
                Some(other) if other.expr != key.expr => {
                    return Err(ambiguous(&written(column), self.clause));
                }
                _ => found = Some(key),
            }
        }
        Ok(found)
    }

    /// A name in HAVING: an output's or a group key's. The flag: it is both, and they differ; then it is the key's.
    pub(super) fn find_for_having(
        &self,
        column: &ast::ColumnRef,
    ) -> Result<(Option<Typed>, bool), SqlError> {
        let output = match self.output_named(column)? {
            None => self.output_behind(column)?,
            found => found,
        };
        let key = self.find_key(column)?;
        if let (Some(output), None) = (output, key) {
            refuse_window(output)?;
        }
        Ok(match (output, key) {
            (Some(output), Some(key)) if output.value.expr != key.expr => (Some(key.clone()), true),
            (Some(output), _) => (Some(output.value.clone()), false),
            (None, key) => (key.cloned(), false),
        })
    }

    /// An output by its alias, for a subquery.
    pub(super) fn find_output_from_inside(
        &self,
        column: &ast::ColumnRef,
    ) -> Result<Option<Typed>, SqlError> {
        let unsupported =
            |why: &str| SqlError::from(PlanError::ReferenceNotSupported(&written(column), why));
        let Some(output) = self.output_named(column)? else {
            let later = column.table.is_none()
                && self.later.iter().any(|name| same_name(name, &column.column));
            return match later {
                true => Err(unsupported("forward reference in item list")),
                false => Ok(None),
            };
        };
        refuse_window(output)?;
        match looks_at(output, GROUP_LEAF) {
            true => Err(unsupported("reference to group function")),
            false => Ok(Some(output.value.clone())),
        }
    }
}

/// Whether something in an output was made by the block: aggregates or window functions.
fn looks_at(output: &Output, leaf: u16) -> bool {
    let mut found = false;
    output.value.expr.visit(&mut |e| {
        found |= matches!(e, Expr::Column(place) if place.depth == 0 && place.leaf == leaf);
    });
    found
}

/// What a window function computes is there after HAVING only (3594).
fn refuse_window(output: &Output) -> Result<(), SqlError> {
    if !looks_at(output, WINDOW_LEAF) {
        return Ok(());
    }
    let name = &output.column.name;
    Err(PlanError::WindowAlias(name).into())
}

/// Whether an output is a plain column.
fn shows_column(output: &Output) -> bool {
    let plain = output.value.expr.unconverted();
    matches!(plain, Expr::Column(place) if place.leaf < crate::logical::WINDOW_LEAF)
}

/// Warning 1052: a name has two meanings, of which one is taken.
pub(super) fn doubt(name: &str, clause: &str) -> (u16, String) {
    (1052, format!("Column '{name}' in {clause} is ambiguous"))
}
