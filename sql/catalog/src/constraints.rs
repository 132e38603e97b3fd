//! Names of foreign keys and of checks, which are those of their schema: no two tables of it have one in common.
//!
//! 1. Who makes a constraint, or moves one to another name or schema, locks its name until the statement ends and has been
//!    published: of two who want it one gets it. 2. Constraints of temporary tables are their table's alone.

use crate::{Catalog, CatalogError, FullName, TableCache, TableDef};
use engine::Client;
use mdl::{Mode, Namespace};
use std::collections::HashSet;
use sync::Deadline;
use value::name::folded_name;

/// Kinds of constraints, each with names of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    ForeignKey,
    Check,
}

impl Kind {
    fn namespace(self) -> Namespace {
        match self {
            Kind::ForeignKey => Namespace::ForeignKey,
            Kind::Check => Namespace::CheckConstraint,
        }
    }

    fn names_in(self, def: &TableDef) -> Vec<&String> {
        match self {
            Kind::ForeignKey => def.foreign_keys.iter().map(|key| &key.name).collect(),
            Kind::Check => def.checks.iter().map(|check| &check.name).collect(),
        }
    }

    fn taken(self, name: &str) -> CatalogError {
        match self {
            Kind::ForeignKey => CatalogError::ForeignKeyExists(name.to_string()),
            Kind::Check => CatalogError::CheckExists(name.to_string()),
        }
    }
}

impl Catalog {
    /// Reserves the names of new foreign keys until the statement ends; those that `table` has do not count.
    ///
    /// # Errors
    /// [`CatalogError::ForeignKeyExists`], lock errors.
    pub fn claim_foreign_keys<'n>(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (schema, table): (&str, Option<&str>),
        names: impl Iterator<Item = &'n String>,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let goes = |other: &str| Some(other) == table;
        for name in names {
            self.claim_name(client, cache, (Kind::ForeignKey, schema, name), &goes, deadline)?;
        }
        Ok(())
    }

    /// Reserves the names of the checks that a table comes to have, whose name is its own by now; `old`: what it was.
    ///
    /// # Errors
    /// [`CatalogError::CheckExists`], lock errors.
    pub(crate) fn claim_checks(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (old, new): (Option<&TableDef>, &TableDef),
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if new.temporary {
            return Ok(());
        }
        // In another schema it is a table as any other.
        let old = old.filter(|old| old.schema == new.schema);
        let known: HashSet<String> =
            old.iter().flat_map(|old| &old.checks).map(|check| folded_name(&check.name)).collect();
        let goes = |other: &str| old.is_some_and(|old| old.name == other);
        // A table that is renamed renames those that were named after it, perhaps as others of its own are called.
        let mut come = HashSet::new();
        for name in Kind::Check.names_in(new) {
            if !come.insert(folded_name(name)) {
                return Err(Kind::Check.taken(name));
            }
            if !known.contains(&folded_name(name)) {
                let claimed = (Kind::Check, &*new.schema, &**name);
                self.claim_name(client, cache, claimed, &goes, deadline)?;
            }
        }
        Ok(())
    }

    /// Reserves the names that constraints of renamed tables come to have. Nothing is called as `gone` any more, or something
    /// else, so tables may exchange their names.
    ///
    /// # Errors
    /// [`CatalogError::ForeignKeyExists`], [`CatalogError::CheckExists`], lock errors.
    pub(crate) fn claim_renamed(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (renamed, gone): (&[TableDef], &HashSet<FullName>),
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        for kind in [Kind::ForeignKey, Kind::Check] {
            let mut come = HashSet::new();
            for new in renamed {
                let goes = |other: &str| gone.contains(&(new.schema.clone(), other.to_string()));
                for name in kind.names_in(new) {
                    self.claim_name(client, cache, (kind, &new.schema, name), &goes, deadline)?;
                    if !come.insert((&new.schema, folded_name(name))) {
                        return Err(kind.taken(name));
                    }
                }
            }
        }
        Ok(())
    }

    /// Reserves a name, which no table has but those of which `goes` says that what they have does not count.
    fn claim_name(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (kind, schema, name): (Kind, &str, &str),
        goes: &dyn Fn(&str) -> bool,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let object = self.mdl().intern(kind.namespace(), schema, &folded_name(name));
        cache.lock_object(client.slot(), object, Mode::X, deadline)?;
        match self.names().has_constraint(kind, (schema, name), goes) {
            true => Err(kind.taken(name)),
            false => Ok(()),
        }
    }
}
