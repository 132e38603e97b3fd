//! A table while its definition is being changed: columns keep their identity while they move, and
//! indexes name columns by it.
//!
//! 1. A column's token is its old position, or a number behind all of those for a new one; key parts hold
//! tokens until [`Shape::definition`] turns them into positions. 2. Old names find columns as they were
//! when the statement began, so two columns can exchange their names.

use super::error::DdlError;
use super::names::{missing_key, not_found};
use crate::indexes::follow_types;
use crate::{Environment, SqlError};
use catalog::{CheckDef, ColumnDef, DefaultValue, ForeignKeyDef, IndexDef, TableDef};
use parser::ast::ColumnPlace;
use value::name::same_name;

/// A column and where it comes from.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Identity of the column, see the module.
    pub token: usize,
    /// Its definition as it will be.
    pub def: ColumnDef,
    /// Its name when the statement began; none for a new column.
    pub old_name: Option<String>,
}

/// A table's definition in pieces that can be changed one by one.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Columns as they will stand.
    pub slots: Vec<Slot>,
    /// Indexes; their parts hold tokens.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints; their columns hold tokens.
    pub foreign_keys: Vec<ForeignKeyDef>,
    next_token: usize,
}

impl Shape {
    /// A definition taken apart.
    pub fn of(def: &TableDef) -> Shape {
        let slot = |(token, column): (usize, &ColumnDef)| Slot {
            token,
            def: column.clone(),
            old_name: Some(column.name.clone()),
        };
        Shape {
            slots: def.columns.iter().enumerate().map(slot).collect(),
            indexes: def.indexes.clone(),
            checks: def.checks.clone(),
            foreign_keys: def.foreign_keys.clone(),
            next_token: def.columns.len(),
        }
    }

    /// The columns as they are at the moment, for definitions of indexes.
    pub fn columns(&self) -> Vec<ColumnDef> {
        self.slots.iter().map(|s| s.def.clone()).collect()
    }

    /// Place of the column that had this name when the statement began.
    pub fn old(&self, name: &str) -> Option<usize> {
        let named = |s: &Slot| s.old_name.as_deref().is_some_and(|n| same_name(n, name));
        self.slots.iter().position(|s| !s.def.hidden && named(s))
    }

    fn now(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|s| !s.def.hidden && same_name(&s.def.name, name))
    }

    /// Adds a column at a place; its token.
    ///
    /// # Errors
    /// 1054: no column to stand behind.
    pub fn add(
        &mut self,
        def: ColumnDef,
        place: Option<&ColumnPlace>,
        table: &str,
    ) -> Result<usize, SqlError> {
        let token = self.next_token;
        self.next_token += 1;
        self.insert(Slot { token, def, old_name: None }, place, table)?;
        Ok(token)
    }

    /// Place of the new column of this name.
    pub fn written(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|s| s.old_name.is_none() && same_name(&s.def.name, name))
    }

    /// Moves a column behind the others; its comment is that of the column that it is made of.
    pub fn put_last(&mut self, at: usize, source: &ColumnDef) {
        let mut slot = self.slots.remove(at);
        slot.def.comment.clone_from(&source.comment);
        self.slots.push(slot);
    }

    fn insert(
        &mut self,
        slot: Slot,
        place: Option<&ColumnPlace>,
        table: &str,
    ) -> Result<(), SqlError> {
        let at = match place {
            Some(ColumnPlace::First) => 0,
            Some(ColumnPlace::After(name)) => {
                1 + self.now(name).ok_or_else(|| not_found(name, table))?
            }
            // Hidden columns stay behind the others.
            None => self.slots.iter().rposition(|s| !s.def.hidden).map_or(0, |last| last + 1),
        };
        let at = if slot.def.hidden { self.slots.len() } else { at };
        self.slots.insert(at, slot);
        Ok(())
    }

    /// Moves the column at `at`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn relocate(
        &mut self,
        at: usize,
        place: &ColumnPlace,
        table: &str,
    ) -> Result<(), SqlError> {
        let slot = self.slots.remove(at);
        self.insert(slot, Some(place), table)
    }

    /// Removes a column, its parts of indexes, and the indexes of which nothing is left.
    ///
    /// # Errors
    /// 1091: no such column.
    pub fn drop_column(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.old(name).ok_or_else(|| missing_key(name))?;
        let token = self.slots.remove(at).token;
        for index in &mut self.indexes {
            index.parts.retain(|p| p.column != token);
        }
        self.indexes.retain(|i| !i.parts.is_empty());
        Ok(())
    }

    /// Removes a foreign key; its index stays.
    ///
    /// # Errors
    /// 1091: no such foreign key.
    pub fn drop_foreign_key(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.foreign_keys.iter().position(|k| same_name(&k.name, name));
        self.foreign_keys.remove(at.ok_or_else(|| missing_key(name))?);
        Ok(())
    }

    /// Removes an index and the hidden columns that only it needs.
    ///
    /// # Errors
    /// 1091: no such index.
    pub fn drop_index(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.index(name).ok_or_else(|| missing_key(name))?;
        self.indexes.remove(at);
        let used = |token| self.indexes.iter().any(|i| i.parts.iter().any(|p| p.column == token));
        let kept: Vec<bool> = self.slots.iter().map(|s| !s.def.hidden || used(s.token)).collect();
        let mut kept = kept.into_iter();
        self.slots.retain(|_| kept.next().unwrap_or(true));
        Ok(())
    }

    /// Position of an index.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| same_name(&i.name, name))
    }

    /// Adds an index whose parts hold positions of [`Self::columns`].
    pub fn add_index(&mut self, mut index: IndexDef) {
        for part in &mut index.parts {
            part.column = self.slots[part.column].token;
        }
        self.indexes.push(index);
    }

    /// Indexes over columns that have another type now follow them.
    ///
    /// # Errors
    /// The key is none that an index can have: 3152, 1170, 1071.
    pub fn follow_types(
        &mut self,
        old: &TableDef,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let columns = self.columns();
        let Shape { slots, indexes, .. } = self;
        let retyped = |at: usize| {
            let slot = &slots[at];
            let before = old.columns.get(slot.token)?.ty;
            (before != slot.def.ty).then_some(before)
        };
        for index in indexes {
            let tokens: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
            for part in &mut index.parts {
                let token = part.column;
                part.column = slots.iter().position(|s| s.token == token).unwrap_or_default();
            }
            let followed = follow_types(index, &columns, &retyped, env);
            for (part, token) in index.parts.iter_mut().zip(tokens) {
                part.column = token;
            }
            followed?;
        }
        Ok(())
    }

    /// The old position of each column, none for new ones.
    pub fn origins(&self) -> Vec<Option<usize>> {
        self.slots.iter().map(|s| s.old_name.as_ref().map(|_| s.token)).collect()
    }

    /// The definition put together: names, columns, indexes, checks; the rest as in `old`.
    ///
    /// # Errors
    /// 1060, 1090.
    pub fn definition(&self, old: &TableDef) -> Result<TableDef, SqlError> {
        let mut columns = self.columns();
        if columns.iter().all(|c| c.hidden) {
            return Err(DdlError::AllColumnsDropped.into());
        }
        super::names::check_columns(&columns)?;
        let position = |token| self.slots.iter().position(|s| s.token == token).unwrap_or_default();
        let mut indexes = self.indexes.clone();
        for part in indexes.iter_mut().flat_map(|i| &mut i.parts) {
            part.column = position(part.column);
        }
        for part in indexes.iter().filter(|i| i.primary).flat_map(|p| &p.parts) {
            let column = &mut columns[part.column];
            column.ty.nullable = false;
            if column.default == DefaultValue::Null {
                column.default = DefaultValue::None;
            }
        }
        let mut foreign_keys = self.foreign_keys.clone();
        for column in foreign_keys.iter_mut().flat_map(|k| &mut k.columns) {
            *column = position(*column);
        }
        let checks = self.checks.clone();
        Ok(TableDef { columns, indexes, checks, foreign_keys, ..old.clone() })
    }
}
