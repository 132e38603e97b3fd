//! Columns, indexes and constraints as they are written become parts of a [`Shape`].
//!
//! 1. Expressions and indexes are looked at when all columns are known: they may name any of them.
//! 2. A functional key part is a column of its own that no name finds.

use super::disallowed::{self, Place};
use super::error::DdlError;
use super::foreign::{Written, drop_needless};
use super::names::{check_columns, check_constraint_name, check_index_name, check_name};
use super::relatives::keep_columns;
use super::shape::Shape;
use crate::columns::define_column;
use crate::indexes::{arrange, define_index, name_indexes};
use crate::{Environment, SqlError, WarningLevel};
use catalog::{CatalogError, CheckDef, ColumnDef, DefaultValue, Generated, IndexDef, TableDef};
use expr::tree::columns_of;
use parser::ast::{self, ColumnPlace, TypeKind};
use parser::print::{self, Printer};
use planner::definition;
use value::name::same_name;
use value::{Collation, limits};

/// What an expression of a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Default,
    Generated { stored: bool },
}

/// Collects what is written.
pub struct Builder {
    /// The table so far.
    pub shape: Shape,
    /// Its name, for messages and names of constraints.
    pub table: String,
    /// Collation of new columns.
    pub collation: Collation,
    exprs: Vec<(usize, Use, ast::Expr)>,
    /// Indexes; with `true`: one that a foreign key needs.
    indexes: Vec<(ast::IndexDef, bool)>,
    foreign: Vec<Written>,
    checks: Vec<(ast::Check, Option<String>)>,
}

impl Builder {
    /// Begins with a table as it is, or with an empty one.
    pub fn new(def: &TableDef) -> Builder {
        Builder {
            shape: Shape::of(def),
            table: def.name.clone(),
            collation: def.collation,
            exprs: Vec::new(),
            indexes: Vec::new(),
            foreign: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// ADD of a column.
    ///
    /// # Errors
    /// Those of its definition, 1054.
    pub fn add_column(
        &mut self,
        column: &ast::ColumnDef,
        place: Option<&ColumnPlace>,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let def = define_column(column, self.collation, env)?;
        let token = self.shape.add(def, place, &self.table)?;
        self.attributes(column, token)
    }

    /// CHANGE or MODIFY of the column at `at`.
    ///
    /// # Errors
    /// As [`Self::add_column`].
    pub fn change_column(
        &mut self,
        at: usize,
        column: &ast::ColumnDef,
        place: Option<&ColumnPlace>,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let def = define_column(column, self.collation, env)?;
        let token = self.shape.slots[at].token;
        self.shape.slots[at].def = def;
        if let Some(place) = place {
            self.shape.relocate(at, place, &self.table)?;
        }
        self.attributes(column, token)
    }

    /// What a column's definition says beside its type.
    fn attributes(&mut self, column: &ast::ColumnDef, token: usize) -> Result<(), SqlError> {
        // REFERENCES of a column is parsed and ignored, as in MySQL before 9.
        if let Some((expr, stored)) = &column.generated {
            self.exprs.push((token, Use::Generated { stored: *stored }, expr.clone()));
        } else if let Some(expr) = column.default.as_ref().filter(|_| column.default_is_expression)
        {
            self.exprs.push((token, Use::Default, expr.clone()));
        }
        for check in &column.checks {
            self.checks.push((check.clone(), Some(column.name.clone())));
        }
        let unique = column.unique || column.ty.kind == TypeKind::Serial;
        let kinds = [(column.primary, ast::IndexKind::Primary), (unique, ast::IndexKind::Unique)];
        for (_, kind) in kinds.into_iter().filter(|(written, _)| *written) {
            let part = ast::KeyPart::Column(column.name.clone(), None);
            let index = ast::IndexDef {
                kind,
                name: None,
                columns: vec![ast::KeyColumn { part, descending: false }],
                options: ast::IndexOptions::default(),
            };
            self.indexes.push((index, false));
        }
        Ok(())
    }

    /// ADD of an index or constraint.
    ///
    /// # Errors
    /// 1215 and 1239 for foreign keys.
    pub fn add_key(&mut self, key: &ast::KeyDef) -> Result<(), SqlError> {
        match key {
            ast::KeyDef::Index(index) => self.indexes.push((index.clone(), false)),
            ast::KeyDef::Check(check) => self.checks.push((check.clone(), None)),
            ast::KeyDef::Foreign { constraint, index, columns, references } => {
                let (constraint, index) = (constraint.as_ref(), index.as_ref());
                let (written, needed) = Written::of(constraint, index, columns, references)?;
                self.foreign.push(written);
                self.indexes.push((needed, true));
            }
        }
        Ok(())
    }

    /// ALTER COLUMN SET DEFAULT (expression).
    pub fn set_default(&mut self, token: usize, expr: &ast::Expr) {
        self.exprs.push((token, Use::Default, expr.clone()));
    }

    /// Puts the definition together; `old` has everything that this does not.
    ///
    /// # Errors
    /// MySQL's errors of names, expressions, indexes, constraints and limits.
    pub fn finish(
        mut self,
        old: &TableDef,
        env: &mut dyn Environment,
    ) -> Result<(TableDef, Shape), SqlError> {
        check_columns(&self.shape.columns())?;
        let charset = env.connection_collation().charset().name();
        self.fill_expressions(old, charset)?;
        self.define_checks(old, charset)?;
        keep_columns(old, &self.shape)?;
        self.shape.follow_types(old, env)?;
        for (index, generated) in std::mem::take(&mut self.indexes) {
            self.define_index(old, (index, generated), charset, env)?;
            if let Some(made) = self.shape.indexes.last_mut() {
                made.attributes.generated = generated;
            }
        }
        drop_needless(&mut self.shape.indexes);
        // Its name may be one that no index has, as long as another index serves.
        let made = |i: &&IndexDef| i.attributes.generated && !i.name.is_empty();
        self.shape
            .indexes
            .iter()
            .filter(made)
            .try_for_each(|index| check_index_name(&index.name))?;
        self.define_foreign_keys(old)?;
        let mut def = self.shape.definition(old)?;
        let primaries = def.indexes.iter().filter(|i| i.primary).count();
        if primaries > 1 {
            return Err(DdlError::SecondPrimaryKey.into());
        }
        name_indexes(&mut def.indexes, &def.columns)?;
        warn_of_twins(&def, env);
        arrange(&mut def.indexes, &def.columns);
        check_limits(&def)?;
        Ok((def, self.shape))
    }

    fn print(&self, expr: &ast::Expr, charset: &str) -> Result<String, SqlError> {
        let columns = self.shape.columns();
        let column = |written: &ast::ColumnRef| {
            let found = columns.iter().find(|c| same_name(&c.name, &written.column));
            Ok(parser::print::quoted(found.map_or(&written.column, |c| &c.name)))
        };
        let printer =
            Printer { column: &column, charset, introducers: true, query: &print::no_query };
        printer.expr(expr).map_err(|what| SqlError::unsupported(what.0))
    }

    fn fill_expressions(&mut self, old: &TableDef, charset: &str) -> Result<(), SqlError> {
        let exprs = std::mem::take(&mut self.exprs);
        let tokens = |generated: bool| -> Vec<usize> {
            let of = exprs
                .iter()
                .filter(|(_, what, _)| generated == matches!(what, Use::Generated { .. }));
            of.map(|(token, ..)| *token).collect()
        };
        let (will_be, defaults) = (tokens(true), tokens(false));
        for (token, what, expr) in exprs {
            let Some(at) = self.shape.slots.iter().position(|s| s.token == token) else { continue };
            let name = self.shape.slots[at].def.name.clone();
            let place = match what {
                Use::Default => Place::Default(&name),
                Use::Generated { .. } => Place::Generated(&name),
            };
            disallowed::check(&expr, place)?;
            let text = self.print(&expr, charset)?;
            let clause = match what {
                Use::Default => "default value expression",
                Use::Generated { .. } => "generated column function",
            };
            let table = TableDef { columns: self.shape.columns(), ..old.clone() };
            let bound = bind(&table, &text, clause)
                .map_err(|error| disallowed::of_unknown(error, place))?;
            let automatic = |c: &usize| table.columns[*c].auto_increment;
            if let Some(_used) = columns_of([&bound]).into_iter().find(automatic) {
                return Err(match what {
                    Use::Default => DdlError::DefaultOfAuto(&name).into(),
                    Use::Generated { .. } => DdlError::GeneratedOfAuto(&name).into(),
                });
            }
            let is_generated = |c: usize| {
                table.columns[c].generated.is_some() || will_be.contains(&self.shape.slots[c].token)
            };
            let computed_after = |c: &usize| *c >= at && is_generated(*c);
            let is_expression = |c: usize| {
                matches!(table.columns[c].default, DefaultValue::Expr(_))
                    || defaults.contains(&self.shape.slots[c].token)
            };
            let made_after = |c: &usize| computed_after(c) || *c >= at && is_expression(*c);
            if matches!(what, Use::Default) && columns_of([&bound]).iter().any(made_after) {
                return Err(refers_to_later(&name));
            }
            if matches!(what, Use::Generated { .. })
                && columns_of([&bound]).iter().any(computed_after)
            {
                return Err(DdlError::GeneratedOrder.into());
            }
            let def = &mut self.shape.slots[at].def;
            match what {
                Use::Default => def.default = DefaultValue::Expr(text),
                Use::Generated { stored } => def.generated = Some(Generated { text, stored }),
            }
        }
        Ok(())
    }

    fn define_foreign_keys(&mut self, old: &TableDef) -> Result<(), SqlError> {
        let known = old.foreign_keys.iter().chain(&self.shape.foreign_keys);
        let numbers = known.filter_map(|key| key.generated_number(&self.table));
        let mut number = numbers.max().unwrap_or(0);
        for written in std::mem::take(&mut self.foreign) {
            written.define(&mut self.shape, (old, &self.table), &mut number)?;
        }
        Ok(())
    }

    fn define_checks(&mut self, old: &TableDef, charset: &str) -> Result<(), SqlError> {
        let mut number = self.greatest_check_number();
        for (check, column) in std::mem::take(&mut self.checks) {
            let name = check.name.clone().unwrap_or_else(|| {
                number += 1;
                format!("{}_chk_{number}", self.table)
            });
            check_constraint_name(&name)?;
            if self.shape.checks.iter().any(|c| same_name(&c.name, &name)) {
                return Err(CatalogError::CheckExists(name).into());
            }
            disallowed::check(&check.expr, Place::Check(&name))?;
            let text = self.print(&check.expr, charset)?;
            let table = TableDef { columns: self.shape.columns(), ..old.clone() };
            let bound = bind(&table, &text, "check constraint").map_err(|error| match error {
                SqlError::UnknownColumn { name: missing, .. } if !old.columns.is_empty() => {
                    SqlError::from(DdlError::CheckQualified(&missing, &name))
                }
                SqlError::UnknownColumn { name: missing, .. } => {
                    SqlError::from(DdlError::CheckColumn(&name, &missing))
                }
                other => disallowed::of_unknown(other, Place::Check(&name)),
            })?;
            let used = columns_of([&bound]);
            if let Some(column) = &column
                && used.iter().any(|c| !same_name(&table.columns[*c].name, column))
            {
                return Err(DdlError::ColumnCheckOfOther(&name).into());
            }
            if used.iter().any(|c| table.columns[*c].auto_increment) {
                return Err(DdlError::CheckOfAuto(&name).into());
            }
            self.shape.checks.push(CheckDef { name, text, enforced: check.enforced });
        }
        Ok(())
    }

    /// Of `t_chk_1` and so on, which checks without a name are called: those that come are counted on from there, whatever
    /// others that the statement names are called.
    fn greatest_check_number(&self) -> u32 {
        let head = format!("{}_chk_", self.table);
        let numbers = self.shape.checks.iter().filter_map(|c| c.name.strip_prefix(&head));
        numbers.filter_map(|n| n.parse().ok()).max().unwrap_or(0)
    }

    fn define_index(
        &mut self,
        old: &TableDef,
        (mut index, generated): (ast::IndexDef, bool),
        charset: &str,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let primary = index.kind == ast::IndexKind::Primary;
        if let Some(name) = index.name.as_ref().filter(|_| !primary) {
            match generated {
                true => check_name(name, DdlError::IndexName)?,
                false => check_index_name(name)?,
            }
        }
        let is_functional = |c: &ast::KeyColumn| matches!(c.part, ast::KeyPart::Expr(_));
        if index.columns.iter().any(is_functional) {
            if primary {
                return Err(DdlError::FunctionalPrimaryKey.into());
            }
            index.name = Some(index.name.take().unwrap_or_else(|| self.functional_name()));
        }
        let name = index.name.clone().unwrap_or_default();
        for (number, column) in index.columns.iter_mut().enumerate() {
            if let ast::KeyPart::Expr(expr) = &column.part {
                let hidden = format!("!hidden!{name}!{number}!0");
                self.add_hidden(old, &hidden, &name, expr, charset)?;
                column.part = ast::KeyPart::Column(hidden, None);
            }
        }
        let columns = self.shape.columns();
        let defined: IndexDef = define_index(&index, &columns, env)?;
        self.shape.add_index(defined);
        Ok(())
    }

    fn functional_name(&self) -> String {
        let numbered = (2..).map(|n| format!("functional_index_{n}"));
        let mut names = std::iter::once("functional_index".to_string()).chain(numbered);
        names.find(|n| self.shape.index(n).is_none()).unwrap_or_default()
    }

    fn add_hidden(
        &mut self,
        old: &TableDef,
        hidden: &str,
        index: &str,
        expr: &ast::Expr,
        charset: &str,
    ) -> Result<(), SqlError> {
        if matches!(expr, ast::Expr::Column(_)) {
            return Err(DdlError::FunctionalOfColumn.into());
        }
        disallowed::check(expr, Place::Index(index))?;
        let text = self.print(expr, charset)?;
        let table = TableDef { columns: self.shape.columns(), ..old.clone() };
        let typed = definition::bind(&table, &text, "functional index")
            .map_err(|error| disallowed::of_unknown(error, Place::Index(index)))?;
        let automatic = |c: &usize| table.columns[*c].auto_increment;
        if columns_of([&typed.expr]).iter().any(automatic) {
            return Err(DdlError::FunctionalOfAuto(index).into());
        }
        let mut ty = typed.ty;
        ty.nullable = true;
        if ty.kind.is_large() {
            return Err(DdlError::FunctionalBlob.into());
        }
        ty.check().map_err(|_| SqlError::unsupported("functional index of this type"))?;
        let mut column = ColumnDef::new(hidden, ty);
        column.hidden = true;
        column.generated = Some(Generated { text, stored: false });
        self.shape.add(column, None, &self.table)?;
        Ok(())
    }
}

fn bind(def: &TableDef, text: &str, clause: &'static str) -> Result<expr::tree::Expr, SqlError> {
    Ok(definition::bind(def, text, clause)?.expr)
}

fn refers_to_later(column: &str) -> SqlError {
    DdlError::DefaultOrder(column).into()
}

/// A new index with the key of another one is made, with a warning.
fn warn_of_twins(def: &TableDef, env: &mut dyn Environment) {
    for (at, index) in def.indexes.iter().enumerate().filter(|(_, i)| i.id == base::IndexId(0)) {
        let twin = |other: &IndexDef| {
            (&other.parts, other.unique, other.primary)
                == (&index.parts, index.unique, index.primary)
        };
        if def.indexes[..at].iter().any(twin) {
            let text = format!(
                "Duplicate index '{}' defined on the table '{}.{}'. This is deprecated and will be \
                 disallowed in a future release.",
                index.name, def.schema, def.name
            );
            env.warn(WarningLevel::Warning, 1831, text);
        }
    }
}

/// MySQL's limits of a table: its row, its keys, AUTO_INCREMENT.
fn check_limits(def: &TableDef) -> Result<(), SqlError> {
    let types: Vec<value::ColumnType> = def.columns.iter().map(|c| c.ty).collect();
    limits::check_index_count(def.indexes.len())?;
    let automatic: Vec<usize> =
        (0..def.columns.len()).filter(|c| def.columns[*c].auto_increment).collect();
    let is_key = |column| def.indexes.iter().any(|i| i.parts[0].column == column);
    if automatic.len() > 1 || !automatic.iter().all(|c| is_key(*c)) {
        return Err(DdlError::WrongAutoColumn.into());
    }
    limits::check_columns(&types)?;
    Ok(limits::check_row_in_page(&types, def.clustered().is_none())?)
}
