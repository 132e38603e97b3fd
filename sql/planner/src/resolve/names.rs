//! How a column's name is looked up.
//!
//! 1. Blocks are searched from the inside out; the first that knows the name has it, even if it is
//!    ambiguous there. 2. A block knows the columns of FROM and, depending on the clause, the aliases of its
//!    select list (`aliases`).

use super::Resolver;
use super::aliases::doubt;
use crate::defaults::default_of_leaf;
use crate::error::PlanError;
use crate::logical::{Leaf, LeafColumn, Source, Subquery, WindowUse, column_of, deeper};
use crate::plan::Output;
use access::Privileges;
use expr::SqlError;
use expr::aggregate::AggregateCall;
use expr::tree::{Expr, Typed};
use parser::ast;
use value::ColumnType;
use value::name::same_name;

/// Which names beside FROM's a clause sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Aliases {
    /// None.
    #[default]
    Unseen,
    /// Where FROM has no such column, and only subqueries see those before them: the select list.
    Inside,
    /// Where FROM has no such column.
    Second,
    /// Instead of FROM's columns, group keys beside them: HAVING.
    Only,
}

/// A name that FROM gives to a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Visible {
    pub(crate) name: String,
    pub(crate) leaf: u16,
    pub(crate) column: usize,
}

/// A block while it is resolved.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) leaves: Vec<Leaf>,
    /// Unqualified names: common columns of natural joins once.
    pub(crate) visible: Vec<Visible>,
    /// The block's number.
    pub(crate) number: u32,
    /// While an ON clause is bound: the leaves it may look at.
    pub(crate) only_leaves: Option<Vec<u16>>,
    /// Leaves that nothing may look at: those left of a RIGHT JOIN, while what is right of it is resolved.
    pub(crate) unseen: Vec<u16>,
    /// Inner blocks do not see it: a derived table is being resolved.
    pub(crate) hidden: bool,
    /// As 1054 names it.
    pub(crate) clause: &'static str,
    pub(crate) aliases: Aliases,
    pub(crate) outputs: Vec<Output>,
    /// Names of the select list's items that are not in `outputs` yet, the next one last.
    pub(crate) later: Vec<String>,
    /// Group keys, once GROUP BY is bound.
    pub(crate) keys: Vec<Typed>,
    pub(crate) aggregates_allowed: bool,
    /// How many aggregates are around the expression.
    pub(crate) in_aggregate: usize,
    pub(crate) aggregates: Vec<AggregateCall>,
    /// Arguments of GROUPING() calls.
    pub(crate) groupings: Vec<Vec<Typed>>,
    pub(crate) windows_allowed: bool,
    pub(crate) windows: Vec<WindowUse>,
    pub(crate) named_windows: Vec<(String, ast::Window)>,
    pub(crate) subqueries: Vec<Subquery>,
    /// In ON DUPLICATE KEY UPDATE: the leaf of the new row.
    pub(crate) new_row: Option<u16>,
    /// Columns of the SELECT that ON DUPLICATE KEY UPDATE may name.
    pub(crate) selected: Option<Selected>,
    /// Calls of VALUES().
    pub(crate) values_calls: usize,
}

/// A column's name as it was written.
pub(crate) fn written(column: &ast::ColumnRef) -> String {
    let parts = [column.schema.as_deref(), column.table.as_deref(), Some(&column.column)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(".")
}

/// Columns of INSERT's SELECT that its ON DUPLICATE KEY UPDATE names: they are selected behind the others.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    /// Outputs before them.
    pub first: usize,
    /// Their types; `None` while the names are gathered.
    pub types: Option<Vec<ColumnType>>,
    /// The names.
    pub named: Vec<ast::ColumnRef>,
}

impl Selected {
    /// The leaf of the SELECT's row beside the row in the way and the new one.
    const LEAF: u16 = 2;

    /// Types of the outputs, as far as they matter.
    pub(crate) fn all_types(&self) -> impl Iterator<Item = ColumnType> + '_ {
        let before = std::iter::repeat_n(ColumnType::varbinary(0), self.first);
        before.chain(self.types.iter().flatten().copied())
    }

    fn column(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let known = self.named.iter().position(|named| named == column);
        let position = known.unwrap_or(self.named.len());
        let ty = match &self.types {
            Some(types) => types.get(position).copied().ok_or_else(|| SqlError::UnknownColumn {
                name: written(column),
                clause: "field list",
            })?,
            None => {
                if known.is_none() {
                    self.named.push(column.clone());
                }
                ColumnType::varbinary(0)
            }
        };
        Ok(Typed::new(column_of(Self::LEAF, self.first + position), ty))
    }
}

impl Scope {
    pub(crate) fn new(clause: &'static str) -> Scope {
        Scope { clause, ..Scope::default() }
    }

    /// A column of a leaf with its type, at depth 0.
    pub(crate) fn column(&self, leaf: u16, column: usize) -> Typed {
        let source = &self.leaves[usize::from(leaf)];
        let definition = &source.columns[column];
        let mut ty = definition.ty;
        ty.nullable |= source.null_row;
        Typed::new(column_of(leaf, column), ty)
    }

    fn sees(&self, leaf: u16) -> bool {
        self.only_leaves.as_ref().is_none_or(|only| only.contains(&leaf))
            && !self.unseen.contains(&leaf)
    }

    pub(crate) fn leaf_named(&self, schema: Option<&str>, table: &str) -> Option<u16> {
        let matches =
            |leaf: &Leaf| leaf.name == table && schema.is_none_or(|schema| schema == leaf.schema);
        let found = self.leaves.iter().position(matches).map(|leaf| leaf as u16);
        found.filter(|leaf| !self.unseen.contains(leaf))
    }

    /// A column of FROM by name.
    pub(super) fn find(&self, column: &ast::ColumnRef) -> Result<Option<Typed>, SqlError> {
        let mut found: Option<Typed> = None;
        let mut meet = |typed: Typed| {
            if found.is_some() {
                return Err(ambiguous(&written(column), self.clause));
            }
            found = Some(typed);
            Ok(())
        };
        match &column.table {
            Some(table) => {
                for (number, leaf) in self.leaves.iter().enumerate() {
                    let schema_fits =
                        column.schema.as_ref().is_none_or(|schema| *schema == leaf.schema);
                    if leaf.name != *table || !schema_fits || !self.sees(number as u16) {
                        continue;
                    }
                    let named = |c: &LeafColumn| same_name(&c.result.name, &column.column);
                    if let Some(position) = leaf.columns.iter().position(named) {
                        meet(self.column(number as u16, position))?;
                    }
                }
            }
            None => {
                for visible in &self.visible {
                    if same_name(&visible.name, &column.column) && self.sees(visible.leaf) {
                        meet(self.column(visible.leaf, visible.column))?;
                    }
                }
                // An invisible column is seen by who names it; a functional index's by nobody.
                for (number, leaf) in self.leaves.iter().enumerate() {
                    for (position, c) in leaf.columns.iter().enumerate().filter(|(_, c)| !c.listed)
                    {
                        let named = same_name(&c.result.name, &column.column);
                        let hidden = c.result.name.starts_with("!hidden!");
                        if named && !hidden && self.sees(number as u16) {
                            meet(self.column(number as u16, position))?;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// A name of the innermost block, and whether it is ambiguous without being refused (warning 1052).
    fn find_here(&self, column: &ast::ColumnRef) -> Result<(Option<Typed>, bool), SqlError> {
        if self.in_aggregate == 0 && self.aliases == Aliases::Only {
            return self.find_for_having(column);
        }
        match self.aliases {
            Aliases::Unseen | Aliases::Inside => Ok((self.find(column)?, false)),
            Aliases::Second | Aliases::Only => Ok((self.find_or_output(column)?, false)),
        }
    }

    fn find_or_output(&self, column: &ast::ColumnRef) -> Result<Option<Typed>, SqlError> {
        match self.find(column)? {
            None => self.find_output(column),
            found => Ok(found),
        }
    }

    /// A name in a block inside this one.
    fn find_from_inside(&self, column: &ast::ColumnRef) -> Result<Option<Typed>, SqlError> {
        match self.find(column)? {
            None if self.aliases != Aliases::Unseen => self.find_output_from_inside(column),
            found => Ok(found),
        }
    }
}

pub(crate) fn ambiguous(name: &str, clause: &str) -> SqlError {
    PlanError::AmbiguousColumn(name, clause).into()
}

/// Note 1276: a name of block `inner` is a column of `outer`.
fn outer_reference(
    column: &ast::ColumnRef,
    found: &Typed,
    outer: &Scope,
    inner: &Scope,
) -> Option<(u16, String)> {
    let leaf = match &found.expr {
        Expr::Column(place) => {
            let leaf = outer.leaves.get(usize::from(place.leaf));
            // Not by the alias of an output.
            let own = |leaf: &&Leaf| {
                let named = leaf.columns.get(usize::from(place.column));
                named.is_some_and(|c| same_name(&c.result.name, &column.column))
            };
            leaf.filter(|leaf| !leaf.schema.is_empty()).filter(own)
        }
        _ => None,
    };
    let name = match leaf {
        Some(leaf) => format!("{}.{}.{}", leaf.schema, leaf.name, column.column),
        None => written(column),
    };
    let (outer, inner) = (outer.number, inner.number);
    let text =
        format!("Field or reference '{name}' of SELECT #{inner} was resolved in SELECT #{outer}");
    (outer > 0 && inner > 0).then_some((1276, text))
}

impl Resolver<'_, '_> {
    /// A stored column's value as the session's mode shows it.
    pub(crate) fn padded(&self, value: Typed) -> Typed {
        let Expr::Column(place) = &value.expr else { return value };
        let scope = self.scopes.iter().rev().nth(usize::from(place.depth));
        let leaf = scope.and_then(|scope| scope.leaves.get(usize::from(place.leaf)));
        match leaf.is_some_and(|leaf| matches!(leaf.source, Source::Table(_))) {
            true => self.build.padded(value),
            false => value,
        }
    }

    /// DEFAULT(column).
    pub(crate) fn default_of(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let found = self.column(column)?;
        let Expr::Column(place) = found.expr else {
            return Err(SqlError::unsupported("DEFAULT of what is no column"));
        };
        let scope = self.scopes.iter().rev().nth(usize::from(place.depth));
        let leaf = scope.and_then(|scope| scope.leaves.get(usize::from(place.leaf)));
        let leaf = leaf.ok_or_else(|| SqlError::unsupported("DEFAULT of what is no column"))?;
        default_of_leaf(leaf, usize::from(place.column), self.context.tables)
    }

    /// Asks for the column that an expression is, if it is one of a table.
    pub(crate) fn need_column_of(
        &mut self,
        value: &Typed,
        privileges: Privileges,
        by_star: bool,
    ) -> Result<(), SqlError> {
        let Expr::Column(place) = &value.expr else { return Ok(()) };
        let scope = self.scopes.iter().rev().nth(usize::from(place.depth));
        let leaf = scope.and_then(|scope| scope.leaves.get(usize::from(place.leaf)));
        let Some((leaf, need)) = leaf.and_then(|leaf| Some((leaf, leaf.need?))) else {
            return Ok(());
        };
        let Some(column) = leaf.columns.get(usize::from(place.column)) else { return Ok(()) };
        let name = column.result.org_name.clone();
        self.context.need_column(need, &name, privileges, by_star)
    }

    /// The place of a column as seen from the innermost block, whose value is read.
    pub(crate) fn column(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let found = self.place_of(column).map_err(|error| self.of_hidden_columns(column, error))?;
        self.need_column_of(&found, Privileges::SELECT, false)?;
        Ok(found)
    }

    /// Who may not read all columns of the first table does not learn which ones it lacks.
    fn of_hidden_columns(&self, column: &ast::ColumnRef, error: SqlError) -> SqlError {
        let SqlError::UnknownColumn { clause, .. } = &error else { return error };
        let [scope] = &self.scopes[..] else { return error };
        let first = scope.leaves.first().filter(|_| *clause != "having clause");
        let named = |leaf: &&Leaf| column.table.as_ref().is_none_or(|table| *table == leaf.name);
        let need = first.filter(named).and_then(|leaf| leaf.need);
        need.and_then(|need| self.context.denied_column(need, &column.column)).unwrap_or(error)
    }

    /// The place of a column as seen from the innermost block.
    pub(super) fn place_of(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let innermost = self.scopes.len() - 1;
        for (depth, scope) in self.scopes.iter().rev().enumerate() {
            if scope.hidden && depth > 0 {
                continue;
            }
            let found = match depth {
                0 => {
                    let (found, doubtful) = scope.find_here(column)?;
                    let clause = scope.clause;
                    if doubtful {
                        self.context.warnings.push(doubt(&written(column), clause));
                    }
                    found
                }
                _ => scope.find_from_inside(column)?,
            };
            let Some(typed) = found else { continue };
            if depth == 0 {
                return Ok(typed);
            }
            let mut nested = false;
            typed.expr.visit(&mut |e| nested |= crate::logical::subquery_of(e).is_some());
            if nested {
                return Err(SqlError::unsupported(
                    "outer reference to a select item with a subquery",
                ));
            }
            let note = (self.context.explains && self.counted)
                .then(|| outer_reference(column, &typed, scope, &self.scopes[innermost]));
            self.context.warnings.extend(note.flatten());
            return Ok(Typed { expr: deeper(&typed.expr, depth as u8), ..typed });
        }
        for (depth, scope) in self.scopes.iter_mut().rev().enumerate() {
            if let Some(selected) = &mut scope.selected {
                let found = selected.column(column)?;
                return Ok(Typed { expr: deeper(&found.expr, depth as u8), ..found });
            }
        }
        let scope = &self.scopes[innermost];
        let clause = scope.clause;
        let none = (0..scope.leaves.len()).all(|leaf| scope.unseen.contains(&(leaf as u16)));
        if let (Some(table), true) = (&column.table, none) {
            let reachable = self.scopes.iter().rev().skip(1).any(|s| !s.hidden);
            if !reachable {
                return Err(SqlError::UnknownTable { name: table.clone(), clause });
            }
        }
        Err(SqlError::UnknownColumn { name: written(column), clause })
    }
}
