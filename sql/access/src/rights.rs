//! What a session may do: its account's grants and those of its active roles.
//!
//! 1. Made of one version of the accounts; who uses it compares versions and makes another. 2. As in MySQL, global
//! privileges are those at the connect (or of the active roles), those of the current schema as at its USE, all others as
//! the version has them. 3. A schema's privileges include the global ones, a table's those of its schema.

use crate::name::{covers_schemas, like_schema, schema_order};
use crate::need::Denied;
use crate::{Account, AccountName, Accounts, Client, Grants, Privileges};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

/// Tables of `performance_schema` that everybody may read.
const OPEN_TABLES: &[&str] = &[
    "global_status",
    "global_variable_attributes",
    "global_variables",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "variables_info",
    "variables_metadata",
];

/// What a session may do.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    /// The account.
    pub name: AccountName,
    /// The user as the client named it.
    pub user: String,
    /// The client's host.
    pub host: String,
    /// The client gave a password.
    pub used_password: bool,
    address: Option<IpAddr>,
    version: u64,
    /// Accounts whose grants count, the account itself first; those behind it count for schemas and tables.
    own: Vec<Arc<Account>>,
    /// Active roles, and what they have in turn.
    roles: Vec<Arc<Account>>,
    /// Roles that SET ROLE made active.
    active: BTreeSet<AccountName>,
    /// Global privileges of the account as at the connect.
    at_connect: Privileges,
    /// What was taken of them of single schemas, as at the connect.
    taken_at_connect: BTreeMap<String, Privileges>,
    global: Privileges,
    /// The current schema, with what was granted of it as at its USE.
    current: Option<(String, Privileges)>,
    /// All static privileges but GRANT OPTION are there, everywhere.
    everything: bool,
    /// It may, whatever the accounts say.
    unlimited: bool,
    /// Names of schemas are no patterns.
    exact_schemas: bool,
}

impl Rights {
    /// All rights there are: of the server's own work, and of everybody where the grant tables are skipped.
    pub fn unlimited(name: AccountName, host: &str) -> Rights {
        let all = Privileges::ALL | Privileges::GRANT;
        Rights {
            user: name.user.clone(),
            name,
            host: host.to_string(),
            at_connect: all,
            global: all,
            everything: true,
            unlimited: true,
            ..Rights::default()
        }
    }

    /// Those of what is no session.
    pub fn of_server() -> &'static Rights {
        static ALL: LazyLock<Rights> =
            LazyLock::new(|| Rights::unlimited(AccountName::default(), ""));
        &ALL
    }

    /// Those of a client that connects as `account`, and said it was `user`.
    pub fn new(accounts: &Accounts, account: &Account, user: &str, client: Client<'_>) -> Rights {
        let mut rights = Rights {
            name: account.name.clone(),
            user: user.to_string(),
            host: client.host.to_string(),
            address: client.address,
            at_connect: account.grants.global,
            taken_at_connect: account.grants.restrictions.clone(),
            ..Rights::default()
        };
        rights.take(accounts);
        rights
    }

    /// Of an account alone, wherever it connects from: a view's definer.
    pub fn of_account(accounts: &Accounts, name: &AccountName) -> Option<Rights> {
        let account = accounts.find(name)?;
        Some(Rights::with_roles(accounts, account, account.default_roles.clone()))
    }

    /// Of an account alone, with these roles.
    pub fn with_roles(
        accounts: &Accounts,
        account: &Account,
        roles: BTreeSet<AccountName>,
    ) -> Rights {
        let client = Client { host: &account.name.host, address: None };
        let mut rights = Rights::new(accounts, account, &account.name.user, client);
        rights.own.truncate(1);
        rights.activate(accounts, roles);
        rights
    }

    /// The version of the accounts that these were made of.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether tables have nothing that may not be done: no plan needs to ask. GRANT OPTION and dynamic privileges are asked for.
    #[inline]
    pub fn are_all(&self) -> bool {
        self.everything
    }

    /// Whether it may do anything, whatever the accounts say.
    pub fn are_unlimited(&self) -> bool {
        self.unlimited
    }

    /// Takes another version.
    pub fn take(&mut self, accounts: &Accounts) {
        self.version = accounts.version();
        if self.unlimited {
            return;
        }
        let client = Client { host: &self.host, address: self.address };
        self.exact_schemas = accounts.have_exact_schemas();
        let account = accounts.find(&self.name);
        let others = accounts.granting(&self.name.user, client);
        let others = others.into_iter().filter(|other| other.name != self.name);
        self.own = account.cloned().into_iter().chain(others).collect();
        let has = |role: &AccountName| accounts.was_given(&self.name, role);
        let active: BTreeSet<_> = self.active.iter().filter(|role| has(role)).cloned().collect();
        self.activate(accounts, active);
    }

    /// Makes these roles the active ones.
    pub fn activate(&mut self, accounts: &Accounts, roles: BTreeSet<AccountName>) {
        self.roles = accounts.closure(&roles);
        self.active = roles;
        self.global = self.roles.iter().fold(self.at_connect, |all, r| all | r.grants.global);
        let limited = self.restricting().any(|taken| !taken.is_empty());
        self.everything = self.global.has(Privileges::ALL) && !limited;
    }

    /// The active roles.
    pub fn active(&self) -> &BTreeSet<AccountName> {
        &self.active
    }

    /// The account's own entry, while it is there.
    pub fn account(&self) -> Option<&Arc<Account>> {
        self.own.first().filter(|account| account.name == self.name)
    }

    /// Grants of the account and of its roles.
    fn sources(&self) -> impl Iterator<Item = &Grants> {
        self.account().into_iter().chain(&self.roles).map(|account| &account.grants)
    }

    /// What was taken of single schemas, of the account's global privileges and its roles'.
    fn restricting(&self) -> impl Iterator<Item = &BTreeMap<String, Privileges>> {
        let of_roles = self.roles.iter().map(|role| &role.grants.restrictions);
        std::iter::once(&self.taken_at_connect).chain(of_roles)
    }

    /// Another schema is the current one.
    pub fn use_schema(&mut self, schema: Option<&str>) {
        self.current = schema.map(|schema| (schema.to_string(), self.granted_in(schema)));
    }

    /// Global privileges.
    #[inline]
    pub fn global(&self) -> Privileges {
        self.global
    }

    /// Whether a dynamic privilege was granted. SUPER has those that came instead of it.
    pub fn dynamic(&self, name: &str) -> bool {
        self.unlimited || self.sources().any(|grants| grants.dynamic.contains_key(name))
    }

    /// Whether it may grant a dynamic privilege.
    pub fn may_grant_dynamic(&self, name: &str) -> bool {
        self.unlimited || self.sources().any(|grants| grants.dynamic.get(name) == Some(&true))
    }

    /// Whether SUPER or a dynamic privilege was granted.
    pub fn is_super_or(&self, name: &str) -> bool {
        self.global.has(Privileges::SUPER) || self.dynamic(name)
    }

    /// Privileges of all of a schema, the global ones among them.
    pub fn of_schema(&self, schema: &str) -> Privileges {
        if self.everything {
            return self.global;
        }
        let granted = match &self.current {
            Some((current, privileges)) if current == schema => *privileges,
            _ => self.granted_in(schema),
        };
        self.global_in(schema) | granted
    }

    /// What is granted of the schema itself.
    fn granted_in(&self, schema: &str) -> Privileges {
        self.granted_by(|of| best_schema(&of.grants, schema, self.exact_schemas))
    }

    /// What is granted of schemas by the account and its roles, each of which grants this.
    fn granted_by(&self, best: impl Fn(&Arc<Account>) -> Privileges) -> Privileges {
        let best = &best;
        let of_roles = self.roles.iter().map(best);
        // Of those that name the user the first that knows the schema counts.
        let mut granted = self.own.iter().map(best);
        let granted = granted.find(|p| !p.is_empty()).unwrap_or_default();
        of_roles.fold(granted, |all, more| all | more)
    }

    /// The global privileges that nobody took of a schema.
    fn global_in(&self, schema: &str) -> Privileges {
        let left = |global: Privileges, taken: &BTreeMap<String, Privileges>| {
            global & !taken.get(schema).copied().unwrap_or_default()
        };
        let own = left(self.at_connect, &self.taken_at_connect);
        let of_roles = self.roles.iter().map(|r| left(r.grants.global, &r.grants.restrictions));
        of_roles.fold(own, |all, more| all | more)
    }

    /// What the global privileges do not say of single schemas: partial revokes that no active role makes up for.
    pub fn restrictions(&self) -> BTreeMap<String, Privileges> {
        let schemas = self.restricting().flat_map(BTreeMap::keys);
        let taken = schemas.map(|s| (s.clone(), self.global & !self.global_in(s)));
        taken.filter(|(_, taken)| !taken.is_empty()).collect()
    }

    /// Privileges of all of a table.
    pub fn of_table(&self, schema: &str, table: &str) -> Privileges {
        let of_schema = self.of_schema(schema);
        let of_table = self.table_grants(schema, table).map(|grant| grant.privileges);
        of_table.fold(of_schema, |all, more| all | more)
    }

    /// Privileges of any column of a table alone.
    pub fn of_columns(&self, schema: &str, table: &str) -> Privileges {
        let of_columns = self.table_grants(schema, table).map(|grant| grant.of_columns());
        of_columns.fold(Privileges::NONE, |all, more| all | more)
    }

    /// Privileges of a column, those of its table among them.
    pub fn of_column(&self, schema: &str, table: &str, column: &str) -> Privileges {
        let of_table = self.of_table(schema, table);
        let of_column = self.table_grants(schema, table).map(|grant| grant.of_column(column));
        of_column.fold(of_table, |all, more| all | more)
    }

    fn table_grants(&self, schema: &str, table: &str) -> impl Iterator<Item = &crate::TableGrant> {
        let name = (schema.to_string(), table.to_string());
        self.own.iter().chain(&self.roles).filter_map(move |a| a.grants.tables.get(&name))
    }

    /// Whether the schema may be used and is listed.
    pub fn sees_schema(&self, schema: &str) -> bool {
        self.is_open_schema(schema)
            || self.global.has(Privileges::SHOW_DATABASES)
            || self.uses_schema(schema)
    }

    fn is_open_schema(&self, schema: &str) -> bool {
        ["information_schema", "performance_schema"].contains(&schema)
    }

    /// Whether USE takes the schema: there is any privilege in it.
    pub fn uses_schema(&self, schema: &str) -> bool {
        schema == "information_schema"
            || self.of_schema(schema).has_any(Privileges::OF_SCHEMA | Privileges::GRANT)
            || self
                .own
                .iter()
                .chain(&self.roles)
                .any(|a| a.grants.tables.keys().any(|(of, _)| of == schema))
    }

    /// Whether a table is listed: there is any privilege of it or of one of its columns.
    pub fn sees_table(&self, schema: &str, table: &str) -> bool {
        let any = Privileges::OF_TABLE | Privileges::GRANT;
        self.everything
            || schema == "information_schema"
            || self.of_table(schema, table).has_any(any)
            || !self.of_columns(schema, table).is_empty()
            || (schema == "performance_schema" && OPEN_TABLES.contains(&table))
    }

    /// Whether a column is listed.
    pub fn sees_column(&self, schema: &str, table: &str, column: &str) -> bool {
        self.everything
            || schema == "information_schema"
            || self.of_column(schema, table, column).has_any(Privileges::OF_COLUMN)
            || (schema == "performance_schema" && OPEN_TABLES.contains(&table))
    }

    /// Every one of these privileges is there for the table or for any of its columns.
    ///
    /// # Errors
    /// 1142 with those that are not.
    pub fn check_table(&self, schema: &str, table: &str, wanted: Privileges) -> Result<(), Denied> {
        // Who has everything need not have GRANT OPTION.
        let has_all = self.everything && !wanted.has(Privileges::GRANT);
        if has_all || schema == "information_schema" {
            return Ok(());
        }
        let missing = wanted & !self.of_table(schema, table);
        let missing = missing & !self.of_columns(schema, table);
        match missing.is_empty() || self.reads_openly(schema, table, missing) {
            true => Ok(()),
            false => Err(self.denied_table(missing.listed(), table)),
        }
    }

    /// Whether it is reading that is missing, and everybody may read the table.
    pub(crate) fn reads_openly(&self, schema: &str, table: &str, missing: Privileges) -> bool {
        schema == "performance_schema"
            && missing == Privileges::SELECT
            && OPEN_TABLES.contains(&table)
    }

    /// The table may be shown.
    ///
    /// # Errors
    /// 1142 with this word.
    pub fn check_seen(&self, schema: &str, table: &str, command: &str) -> Result<(), Denied> {
        match self.sees_table(schema, table) {
            true => Ok(()),
            false => Err(self.denied_table(command.to_string(), table)),
        }
    }

    /// These privileges are there for all of the table's schema, or anything was granted of the table or of its columns.
    ///
    /// # Errors
    /// 1142.
    pub fn check_any(&self, schema: &str, table: &str, wanted: Privileges) -> Result<(), Denied> {
        let has = schema == "information_schema"
            || self.of_schema(schema).has(wanted)
            || self.table_grants(schema, table).next().is_some()
            || self.reads_openly(schema, table, wanted);
        match has {
            true => Ok(()),
            false => Err(self.denied_table(wanted.listed(), table)),
        }
    }

    /// These privileges are there for all of a schema.
    ///
    /// # Errors
    /// 1044.
    pub fn check_schema(&self, schema: &str, wanted: Privileges) -> Result<(), Denied> {
        match self.of_schema(schema).has(wanted) {
            true => Ok(()),
            false => Err(self.denied_schema(schema)),
        }
    }

    /// As [`Self::check_schema`], of every schema that a pattern names.
    ///
    /// # Errors
    /// 1044.
    pub fn check_schemas(&self, pattern: &str, wanted: Privileges) -> Result<(), Denied> {
        // As granted now, also of the current schema: what one may hand on is no privilege that a USE keeps.
        let granted = match self.exact_schemas {
            true => self.granted_in(pattern),
            false => self.granted_by(|of| best_covering(&of.grants, pattern)),
        };
        match (self.global_in(pattern) | granted).has(wanted) {
            true => Ok(()),
            false => Err(self.denied_schema(pattern)),
        }
    }

    /// One of these global privileges is there, or one of these dynamic ones; `words` as the message lists them.
    ///
    /// # Errors
    /// 1227.
    pub fn check_global(
        &self,
        any: Privileges,
        dynamic: &[&str],
        words: &str,
    ) -> Result<(), Denied> {
        let has = self.global.has_any(any) || dynamic.iter().any(|name| self.dynamic(name));
        if has { Ok(()) } else { Err(Denied::Needs(words.to_string())) }
    }

    /// 1142.
    pub fn denied_table(&self, command: String, table: &str) -> Denied {
        Denied::Table { command, who: self.shown(), table: table.to_string() }
    }

    /// 1044.
    pub fn denied_schema(&self, schema: &str) -> Denied {
        Denied::Schema { who: self.name.to_string(), schema: schema.to_string() }
    }

    /// 1044 in the words of statements that only show.
    pub fn denied_sight(&self, schema: &str) -> Denied {
        Denied::Schema { who: self.shown(), schema: schema.to_string() }
    }

    /// 1045.
    pub fn denied_client(&self) -> Denied {
        Denied::Client { who: self.name.to_string(), used_password: self.used_password }
    }

    /// `'user'@'host'` as messages write the session's.
    pub fn shown(&self) -> String {
        format!("'{}'@'{}'", self.name.user, self.host)
    }
}

/// The privileges of the pattern that names a schema most exactly; or of its name alone.
fn best_schema(grants: &Grants, schema: &str, exact: bool) -> Privileges {
    if exact {
        return grants.schemas.get(schema).copied().unwrap_or_default();
    }
    best_pattern(grants, |pattern| like_schema(pattern, schema))
}

/// The privileges of the pattern that says most exactly what a pattern names that it covers.
fn best_covering(grants: &Grants, pattern: &str) -> Privileges {
    best_pattern(grants, |of| covers_schemas(of, pattern))
}

fn best_pattern(grants: &Grants, matches: impl Fn(&str) -> bool) -> Privileges {
    let matching = grants.schemas.iter().filter(|(pattern, _)| matches(pattern));
    let best = matching.min_by_key(|(pattern, _)| schema_order(pattern));
    best.map_or(Privileges::NONE, |(_, privileges)| *privileges)
}

#[cfg(test)]
mod tests;
