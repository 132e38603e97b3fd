//! GRANT and REVOKE of privileges and of PROXY.
//!
//! 1. Who grants has what is granted, with GRANT OPTION, at that level or above; dynamic privileges grants also who may update
//! the schema `mysql`. 2. Nothing is granted of a table that is not there, unless CREATE is among it.

use super::no_such_grant;
use super::restrictions::Restrictions;
use crate::core::Core;
use crate::errors::SessionError;
use access::{
    AccountName, ColumnGrant, Denied, Grants, Privileges, ProxyGrant, TableName, privilege,
};
use executor::{SqlError, WarningLevel};
use host::clock::now_us;
use parser::ast::{self, Grant, GrantObject, Privilege, Revoke};

/// What privileges are about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Global,
    Schema(String),
    Table(TableName),
}

/// The privileges of a statement.
#[derive(Debug, Clone, Default)]
struct Listed {
    /// ALL was written.
    all: bool,
    /// Of the whole level.
    set: Privileges,
    /// Of single columns.
    columns: Vec<(String, Privileges)>,
    dynamic: Vec<&'static str>,
    /// WITH GRANT OPTION.
    may_grant: bool,
}

impl Listed {
    /// Those of the columns among them.
    fn with_columns(&self) -> Privileges {
        self.columns.iter().fold(self.set, |all, (_, one)| all | *one)
    }
}

impl Core {
    /// GRANT.
    pub(crate) fn grant(&mut self, grant: &Grant) -> Result<(), SqlError> {
        if let Some(proxied) = &grant.proxy {
            return self.grant_proxy(proxied, grant);
        }
        let Some(on) = &grant.on else {
            let roles = self.role_names(&grant.privileges);
            return self.grant_roles(&roles, &grant.to, grant.with_grant_option);
        };
        let level = self.level_of(on, &grant.privileges);
        if grant.as_user.is_some()
            && !matches!(level, Ok(Level::Global) | Err(SqlError::NoDatabase))
        {
            return Err(SessionError::GrantAsOfLevel.into());
        }
        let level = level?;
        let mut requested = requested(&grant.privileges);
        if level != Level::Global || !requested.is_empty() {
            if let Level::Table(_) = level
                && grant.privileges.contains(&Privilege::All)
            {
                requested |= Privileges::OF_TABLE;
            }
            self.may_grant(&level, requested, &[])?;
        }
        let accounts = self.all_accounts();
        let restrictions = self.restrictions_of(&accounts, grant)?;
        if grant.to.iter().any(|to| accounts.find(&self.account_name(to)).is_none()) {
            self.may_grant_under(&restrictions, requested)?;
            return Err(SessionError::GrantCreatesNoUser.into());
        }
        let mut listed = listed(&grant.privileges, &level)?;
        self.may_grant(&level, listed.with_columns(), &listed.dynamic)?;
        listed.may_grant = grant.with_grant_option;
        // Beside dynamic privileges alone it is about those.
        if grant.with_grant_option && (listed.dynamic.is_empty() || !listed.set.is_empty()) {
            listed.set |= Privileges::GRANT;
        }
        self.check_object(&level, &listed)?;
        let shown = self.grantor();
        self.change_accounts(|core, accounts, changes| {
            for to in &grant.to {
                let name = core.account_name(to);
                let Some(account) = changes.account(accounts, &name) else {
                    return Err(SessionError::GrantCreatesNoUser.into());
                };
                core.may_change(account)?;
                core.may_grant_under(&restrictions, listed.set)?;
                let listed = core.all_of_grantor(&listed, &level);
                add(&mut account.grants, &level, (&listed, &restrictions), &shown);
            }
            Ok(())
        })
    }

    /// REVOKE.
    pub(crate) fn revoke(&mut self, revoke: &Revoke) -> Result<(), SqlError> {
        if let Some(proxied) = &revoke.proxy {
            return self.revoke_proxy(proxied, revoke);
        }
        let Some(on) = &revoke.on else {
            if revoke.privileges.first() == Some(&Privilege::All) {
                return self.revoke_everything(revoke);
            }
            let roles = self.role_names(&revoke.privileges);
            return self.revoke_roles(&roles, revoke);
        };
        let level = self.level_of(on, &revoke.privileges)?;
        if level == Level::Global && revoke.privileges == [Privilege::All] {
            return self.revoke_everything(revoke);
        }
        let listed = listed(&revoke.privileges, &level)?;
        self.may_grant(&level, listed.with_columns(), &listed.dynamic)?;
        let partial = self.env.server.globals.number("partial_revokes") != 0;
        self.change_accounts(|core, accounts, changes| {
            for from in &revoke.from {
                let name = core.account_name(from);
                let Some(account) = changes.account(accounts, &name) else {
                    if revoke.ignore_unknown {
                        core.warn_unknown(&name);
                        continue;
                    }
                    return Err(match &level {
                        Level::Table((_, table)) => no_table_grant(&name, table),
                        _ => no_such_grant(&name),
                    });
                };
                core.may_change(account)?;
                if level == Level::Global {
                    core.may_revoke_under(account, Some(listed.set))?;
                }
                let missing = match restrict(&mut account.grants, &level, &listed, partial) {
                    true => false,
                    false => !take(&mut account.grants, &level, &listed),
                };
                if missing {
                    let error = match &level {
                        Level::Table((_, table)) => no_table_grant(&name, table),
                        _ => no_such_grant(&name),
                    };
                    if !revoke.if_exists {
                        return Err(error);
                    }
                    take_what_is_there(&mut account.grants, &level, &listed);
                    core.env.warn_of(WarningLevel::Warning, &error);
                }
            }
            Ok(())
        })
    }

    /// REVOKE ALL PRIVILEGES, GRANT OPTION.
    fn revoke_everything(&mut self, revoke: &Revoke) -> Result<(), SqlError> {
        self.check_create_user()?;
        self.change_accounts(|core, accounts, changes| {
            for from in &revoke.from {
                let name = core.account_name(from);
                match changes.account(accounts, &name) {
                    Some(account) => {
                        core.may_revoke_under(account, None)?;
                        core.may_change(account)?;
                        account.grants.take_all();
                    }
                    None if revoke.ignore_unknown => core.warn_unknown(&name),
                    None => return Err(SessionError::CannotRevokeAll.into()),
                }
            }
            Ok(())
        })
    }

    fn grant_proxy(&mut self, proxied: &ast::Account, grant: &Grant) -> Result<(), SqlError> {
        let proxied = self.account_name(proxied);
        self.may_proxy(&proxied)?;
        let grantor = self.grantor();
        self.change_accounts(|core, accounts, changes| {
            for to in &grant.to {
                let name = core.account_name(to);
                let account =
                    changes.account(accounts, &name).ok_or(SessionError::GrantCreatesNoUser)?;
                let with_grant = grant.with_grant_option;
                let (grantor, granted_us) = (grantor.clone(), now_us());
                let proxy = ProxyGrant { with_grant, grantor, granted_us };
                account.grants.proxies.insert(proxied.clone(), proxy);
            }
            Ok(())
        })
    }

    fn revoke_proxy(&mut self, proxied: &ast::Account, revoke: &Revoke) -> Result<(), SqlError> {
        let proxied = self.account_name(proxied);
        self.may_proxy(&proxied)?;
        self.change_accounts(|core, accounts, changes| {
            for from in &revoke.from {
                let name = core.account_name(from);
                match changes.account(accounts, &name) {
                    Some(account) => {
                        if account.grants.proxies.remove(&proxied).is_none() {
                            return Err(no_such_grant(&name));
                        }
                    }
                    None if revoke.ignore_unknown => core.warn_unknown(&name),
                    None => return Err(no_such_grant(&name)),
                }
            }
            Ok(())
        })
    }

    /// Who may say that others act as an account: itself, and who has PROXY of it WITH GRANT OPTION.
    fn may_proxy(&self, proxied: &AccountName) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let everybody = AccountName::default();
        let granted = rights.account().is_some_and(|own| {
            let proxies = &own.grants.proxies;
            [proxied, &everybody].iter().any(|of| proxies.get(*of).is_some_and(|p| p.with_grant))
        });
        match granted || *proxied == rights.name || rights.are_unlimited() {
            true => Ok(()),
            false => Err(SessionError::Denied(&rights.shown()).into()),
        }
    }

    /// `user@host` of who grants.
    fn grantor(&self) -> String {
        let name = &self.env.login.rights.name;
        format!("{}@{}", name.user, name.host)
    }

    /// Roles that stand where privileges do.
    fn role_names(&self, list: &[Privilege]) -> Vec<AccountName> {
        let name = |privilege: &Privilege| match privilege {
            Privilege::All => None,
            Privilege::Named(name, _) => Some(AccountName::new(name, "%")),
            Privilege::Role(account) => Some(self.account_name(account)),
        };
        list.iter().filter_map(name).collect()
    }

    /// The level that is written. There are no stored programs: who might grant of one hears that.
    ///
    /// # Errors
    /// 1046, 1305, 1370.
    fn level_of(&self, on: &GrantObject, list: &[Privilege]) -> Result<Level, SqlError> {
        let current = || self.env.database.clone().ok_or(SqlError::NoDatabase);
        Ok(match on {
            GrantObject::Global => Level::Global,
            GrantObject::Schema(schema) => Level::Schema(schema.clone()),
            GrantObject::CurrentSchema => Level::Schema(current()?),
            GrantObject::Table(name) => {
                let schema = name.schema.clone().map_or_else(current, Ok)?;
                Level::Table((schema, name.name.clone()))
            }
            GrantObject::Function(name) => {
                self.needs_routine(name, of_routine(list))?;
                return Err(SessionError::DoesNotExist("FUNCTION", &name.name).into());
            }
            GrantObject::Procedure(name) => {
                self.needs_routine(name, of_routine(list))?;
                return Err(SessionError::DoesNotExist("PROCEDURE", &name.name).into());
            }
        })
    }

    /// Whether the session has what it gives or takes, with GRANT OPTION.
    ///
    /// # Errors
    /// 1045, 1044, 1142, 1227, by level.
    fn may_grant(
        &self,
        level: &Level,
        requested: Privileges,
        dynamic: &[&str],
    ) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let only_dynamic = !dynamic.is_empty() && requested.is_empty();
        let requested = requested | Privileges::GRANT;
        match level {
            Level::Global => {
                if !only_dynamic && !rights.global().has(requested) {
                    return Err(self.denied_with_password());
                }
                let all = rights.of_schema("mysql").has(Privileges::UPDATE);
                match all || dynamic.iter().all(|name| rights.may_grant_dynamic(name)) {
                    true => Ok(()),
                    false => Err(Denied::Needs("GRANT OPTION".into()).into()),
                }
            }
            Level::Schema(schema) if is_information_schema(schema) => {
                Err(rights.denied_schema("information_schema").into())
            }
            Level::Schema(schema) => {
                // What no schema can have one has of all of them, or not at all.
                let of_server = requested & !(Privileges::OF_SCHEMA | Privileges::GRANT);
                match rights.global().has(of_server) {
                    true => Ok(rights.check_schemas(schema, requested & !of_server)?),
                    false => Err(self.denied_with_password()),
                }
            }
            Level::Table((schema, _)) if is_information_schema(schema) => {
                Err(rights.denied_schema("information_schema").into())
            }
            Level::Table((schema, table)) => Ok(rights.check_table(schema, table, requested)?),
        }
    }

    /// The table is there, with the columns.
    ///
    /// # Errors
    /// 1146, 1054.
    fn check_object(&self, level: &Level, listed: &Listed) -> Result<(), SqlError> {
        let Level::Table((schema, table)) = level else { return Ok(()) };
        if listed.set.has(Privileges::CREATE) && listed.columns.is_empty() && !listed.all {
            return Ok(());
        }
        let catalog = &self.env.server.catalog;
        let has = |names: &mut dyn Iterator<Item = &str>| {
            let names: Vec<String> = names.map(str::to_string).collect();
            let unknown = listed
                .columns
                .iter()
                .find(|(column, _)| !names.iter().any(|name| value::name::same_name(name, column)));
            match unknown {
                Some((column, _)) => Err(SessionError::UnknownColumnOf(column, table).into()),
                None => Ok(()),
            }
        };
        if let Some(table) = catalog.virtual_table(schema, table)? {
            return has(&mut table.def().columns.iter().map(|c| c.name.as_str()));
        }
        if catalog.schema(schema).is_none() {
            return Err(SessionError::UnknownDatabase(schema).into());
        }
        match catalog.definition(schema, table)? {
            Some(found) => has(&mut found.def.columns.iter().map(|c| c.name.as_str())),
            None => Err(SessionError::NoSuchTable(schema, table).into()),
        }
    }

    /// ALL means what the grantor has.
    fn all_of_grantor(&self, listed: &Listed, level: &Level) -> Listed {
        let mut listed = listed.clone();
        if listed.all && *level == Level::Global {
            let rights = &self.env.login.rights;
            let has = |name: &&&str| rights.may_grant_dynamic(name);
            listed.dynamic = privilege::DYNAMIC.iter().filter(has).copied().collect();
        }
        listed
    }
}

/// The static privileges that a statement names, wherever they may be granted.
fn requested(list: &[Privilege]) -> Privileges {
    let set = |one: &Privilege| match one {
        Privilege::Named(name, _) => Privileges::named(name),
        Privilege::All | Privilege::Role(_) => None,
    };
    list.iter().filter_map(set).fold(Privileges::NONE, |all, one| all | one)
}

/// What it takes to hand them on for a stored program.
fn of_routine(list: &[Privilege]) -> Privileges {
    let all = list.contains(&Privilege::All);
    let listed = if all { Privileges::OF_ROUTINE } else { requested(list) };
    (listed & Privileges::OF_ROUTINE) | Privileges::GRANT
}

fn is_information_schema(schema: &str) -> bool {
    schema.eq_ignore_ascii_case("information_schema")
}

fn no_table_grant(name: &AccountName, table: &str) -> SqlError {
    SessionError::NoSuchTableGrant(&name.user, &name.host, table).into()
}

/// What the words of a statement mean at a level.
///
/// # Errors
/// 1221, 1144, 3619, 1149.
fn listed(list: &[Privilege], level: &Level) -> Result<Listed, SqlError> {
    let of_level = match level {
        Level::Global => Privileges::ALL,
        Level::Schema(_) => Privileges::OF_SCHEMA,
        Level::Table(_) => Privileges::OF_TABLE,
    };
    let mut found = Listed::default();
    let illegal = || SqlError::from(SessionError::IllegalGrant);
    for one in list {
        let (name, columns) = match one {
            Privilege::All => {
                found.all = true;
                found.set |= of_level;
                continue;
            }
            Privilege::Named(name, columns) => (name, columns),
            Privilege::Role(_) => return Err(illegal()),
        };
        if name == "USAGE" {
            continue;
        }
        let Some(set) = Privileges::named(name) else {
            let name = privilege::dynamic(name).ok_or(SessionError::NoSuchPrivilege)?;
            if *level != Level::Global {
                return Err(SessionError::IllegalLevel(name).into());
            }
            found.dynamic.push(name);
            continue;
        };
        if !columns.is_empty() {
            if !matches!(level, Level::Table(_)) {
                return Err(illegal());
            }
            let each = columns.iter().map(|column| (column.clone(), set));
            found.columns.extend(each);
            continue;
        }
        if !(of_level | Privileges::GRANT).has(set) {
            return Err(match level {
                Level::Schema(_) => {
                    SessionError::IncorrectUsage("DB GRANT", "GLOBAL PRIVILEGES").into()
                }
                _ => illegal(),
            });
        }
        found.set |= set;
    }
    Ok(found)
}

/// Adds what is listed; of global privileges without what was taken from who grants.
fn add(
    grants: &mut Grants,
    level: &Level,
    (listed, taken): (&Listed, &Restrictions),
    grantor: &str,
) {
    match level {
        Level::Global => {
            grants.add_global_but(listed.set, taken);
            for name in &listed.dynamic {
                *grants.dynamic.entry((*name).to_string()).or_default() |= listed.may_grant;
            }
        }
        Level::Schema(schema) => {
            // What was taken of this schema alone is there again, and need not be granted.
            let taken = grants.restrictions.get(schema).copied().unwrap_or_default();
            grants.end_restriction(schema, listed.set);
            grants.add_schema(schema, listed.set & !taken);
        }
        Level::Table(table) => {
            let grant = grants.tables.entry(table.clone()).or_default();
            grant.privileges |= listed.set;
            for (column, set) in &listed.columns {
                let of = grant.columns.entry(column.to_lowercase()).or_insert_with(|| {
                    ColumnGrant { name: column.clone(), privileges: Privileges::NONE }
                });
                of.privileges |= *set;
            }
            (grant.grantor, grant.granted_us) = (grantor.to_string(), now_us());
            grants.tidy_table(table);
        }
    }
}

/// With `partial_revokes` a global privilege is taken of one schema; false where that is not what is meant.
fn restrict(grants: &mut Grants, level: &Level, listed: &Listed, partial: bool) -> bool {
    let Level::Schema(schema) = level else { return false };
    let own = grants.schemas.get(schema).copied().unwrap_or_default();
    let of_global = grants.global & listed.set & !own;
    if !partial || of_global.is_empty() || schema.contains('%') {
        return false;
    }
    *grants.restrictions.entry(schema.clone()).or_default() |= of_global;
    grants.take_schema(schema, listed.set);
    true
}

/// Takes of what is listed as much as is there.
fn take_what_is_there(grants: &mut Grants, level: &Level, listed: &Listed) {
    match level {
        Level::Global => {}
        Level::Schema(schema) => {
            grants.take_schema(schema, listed.set);
        }
        Level::Table(table) => {
            let Some(grant) = grants.tables.get(table) else { return };
            let had = grant.privileges | grant.of_columns();
            let columns = listed.columns.iter();
            let columns = columns.filter(|(column, set)| grant.of_column(column).has(*set));
            let columns = columns.cloned().collect();
            let there = Listed { set: listed.set & had, columns, ..listed.clone() };
            take(grants, level, &there);
        }
    }
}

/// Takes what is listed; false when some of it was not there.
fn take(grants: &mut Grants, level: &Level, listed: &Listed) -> bool {
    match level {
        Level::Global => {
            let all = if listed.all { Privileges::GRANT } else { Privileges::NONE };
            grants.take_global(listed.set | all);
            match listed.all {
                true => grants.dynamic.clear(),
                false => grants.dynamic.retain(|name, _| !listed.dynamic.contains(&&**name)),
            }
            true
        }
        Level::Schema(schema) => {
            let had = grants.schemas.get(schema).copied().unwrap_or_default();
            let there = if listed.all { !had.is_empty() } else { had.has(listed.set) };
            if there {
                grants.take_schema(schema, listed.set);
            }
            there
        }
        Level::Table(table) => {
            let Some(grant) = grants.tables.get_mut(table) else { return false };
            let had = grant.privileges | grant.of_columns();
            let of_columns =
                listed.columns.iter().all(|(column, set)| grant.of_column(column).has(*set));
            if !listed.all && (!had.has(listed.set) || !of_columns) {
                return false;
            }
            grant.privileges = grant.privileges & !listed.set;
            for column in grant.columns.values_mut() {
                column.privileges = column.privileges & !listed.set;
            }
            for (column, set) in &listed.columns {
                if let Some(of) = grant.columns.get_mut(&column.to_lowercase()) {
                    of.privileges = of.privileges & !*set;
                }
            }
            grants.tidy_table(table);
            true
        }
    }
}
