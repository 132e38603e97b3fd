//! What one account was granted, level by level.
//!
//! 1. GRANT OPTION is a privilege of its level: [`Privileges::GRANT`]. 2. A level without any privilege has no entry.
//! 3. Restrictions (partial revokes) take away of the global privileges only.

use crate::{AccountName, Privileges};
use std::collections::BTreeMap;

/// Schema and table.
pub type TableName = (String, String);

/// Privileges of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableGrant {
    /// Of all of its columns.
    pub privileges: Privileges,
    /// Of single columns; names in small letters, as they ignore case.
    pub columns: BTreeMap<String, ColumnGrant>,
    /// Who granted last.
    pub grantor: String,
    /// When, in microseconds since 1970.
    pub granted_us: i64,
}

/// Privileges of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnGrant {
    /// The column's name as it was written.
    pub name: String,
    /// What was granted of it.
    pub privileges: Privileges,
}

impl TableGrant {
    /// What was granted of any of its columns alone.
    pub fn of_columns(&self) -> Privileges {
        self.columns.values().fold(Privileges::NONE, |all, column| all | column.privileges)
    }

    /// What was granted of a column alone.
    pub fn of_column(&self, column: &str) -> Privileges {
        let known = self.columns.get(&column.to_lowercase());
        known.map_or(Privileges::NONE, |column| column.privileges)
    }
}

/// That an account may act as another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProxyGrant {
    /// It may grant that to others.
    pub with_grant: bool,
    /// Who granted it.
    pub grantor: String,
    /// When, in microseconds since 1970.
    pub granted_us: i64,
}

/// What an account was granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// `ON *.*`.
    pub global: Privileges,
    /// Dynamic privileges, and whether it may grant them to others.
    pub dynamic: BTreeMap<String, bool>,
    /// Partial revokes: what the global privileges do not say of a schema.
    pub restrictions: BTreeMap<String, Privileges>,
    /// `ON schema.*`, by the pattern as it was written.
    pub schemas: BTreeMap<String, Privileges>,
    /// `ON schema.table`.
    pub tables: BTreeMap<TableName, TableGrant>,
    /// `GRANT PROXY ON`.
    pub proxies: BTreeMap<AccountName, ProxyGrant>,
}

impl Grants {
    /// Adds to the privileges of a schema.
    pub fn add_schema(&mut self, schema: &str, privileges: Privileges) {
        if !privileges.is_empty() {
            *self.schemas.entry(schema.to_string()).or_default() |= privileges;
        }
    }

    /// Takes away of the privileges of a schema; false when there are none at all.
    pub fn take_schema(&mut self, schema: &str, privileges: Privileges) -> bool {
        let Some(had) = self.schemas.get_mut(schema) else { return false };
        *had = *had & !privileges;
        if had.is_empty() {
            self.schemas.remove(schema);
        }
        true
    }

    /// Adds a global privilege, which ends restrictions of it.
    pub fn add_global(&mut self, privileges: Privileges) {
        self.global |= privileges;
        self.restrictions.values_mut().for_each(|taken| *taken = *taken & !privileges);
        self.restrictions.retain(|_, taken| !taken.is_empty());
    }

    /// Adds a global privilege of someone from whom it is taken of these schemas, and so of the account, unless it had it there.
    pub fn add_global_but(&mut self, privileges: Privileges, taken: &BTreeMap<String, Privileges>) {
        let had = |schema: &str| {
            let own = self.restrictions.get(schema).copied().unwrap_or_default();
            (self.global & !own) | self.schemas.get(schema).copied().unwrap_or_default()
        };
        let new =
            taken.iter().map(|(schema, of)| (schema.clone(), *of & privileges & !had(schema)));
        let new: Vec<_> = new.filter(|(_, taken)| !taken.is_empty()).collect();
        self.add_global(privileges);
        for (schema, taken) in new {
            *self.restrictions.entry(schema).or_default() |= taken;
        }
    }

    /// Takes away global privileges, and restrictions that are about nothing then.
    pub fn take_global(&mut self, privileges: Privileges) {
        self.global = self.global & !privileges;
        let left = self.global;
        self.restrictions.values_mut().for_each(|taken| *taken = *taken & left);
        self.restrictions.retain(|_, taken| !taken.is_empty());
    }

    /// Gives back what a restriction took.
    pub fn end_restriction(&mut self, schema: &str, privileges: Privileges) {
        if let Some(taken) = self.restrictions.get_mut(schema) {
            *taken = *taken & !privileges;
            if taken.is_empty() {
                self.restrictions.remove(schema);
            }
        }
    }

    /// Takes privileges of all levels, but roles and proxies.
    pub fn take_all(&mut self) {
        *self = Grants { proxies: std::mem::take(&mut self.proxies), ..Grants::default() };
    }

    /// Drops entries of tables that say nothing.
    pub fn tidy_table(&mut self, table: &TableName) {
        let Some(grant) = self.tables.get_mut(table) else { return };
        grant.columns.retain(|_, column| !column.privileges.is_empty());
        if grant.privileges.is_empty() && grant.columns.is_empty() {
            self.tables.remove(table);
        }
    }
}
