//! Statements about kinds of things of which there are none here: stored programs, roles, accounts beside root,
//! servers, tablespaces, plugins.
//!
//! 1. What such a statement names is missing, so the answer is MySQL's for what is missing: an error, or with IF EXISTS
//! a note. Migrations and dump files drop before they create. 2. What would make or change something that is there
//! answers 1235.

use crate::errors;
use crate::session::Core;
use crate::statement::{OK, Reply, Table};
use executor::{Environment, SqlError, WarningLevel};
use parser::ast::{
    self, Account, AlterRoutine, DropProgram, EventDef, Grant, Install, ProgramKind, Revoke,
    RoleSet, Show, Statement, TablespaceVerb,
};

const NO_ROUTINE: u16 = 1305;

/// Whether [`Core::absent`] answers it.
pub fn answers(statement: &Statement) -> bool {
    use Statement as S;
    match statement {
        S::DropProgram(_)
        | S::AlterRoutine(_)
        | S::AlterEvent(_)
        | S::Call(_)
        | S::DropUser(_)
        | S::DropRole(..)
        | S::RenameUser(_)
        | S::Grant(_)
        | S::Revoke(_)
        | S::SetRole(_)
        | S::SetDefaultRole(..)
        | S::DropServer(..)
        | S::AlterServer(_)
        | S::DropResourceGroup(..)
        | S::SetResourceGroup(..) => true,
        S::ResourceGroup(group) => group.alter,
        S::Tablespace(space) => space.verb != TablespaceVerb::Create && !space.logfile_group,
        S::Install(install) => matches!(install, Install::DropPlugin(_)),
        _ => false,
    }
}

/// Whether [`Core::absent_show`] answers it.
pub fn answers_show(show: &Show) -> bool {
    match show {
        Show::CreateOther(kind, _) => kind != "VIEW",
        Show::Profiles
        | Show::Profile
        | Show::CreateUser(_)
        | Show::GrantsUsing(..)
        | Show::BinlogEvents { .. }
        | Show::Code(..) => true,
        _ => false,
    }
}

impl Core {
    /// Answers a statement for which [`answers`] holds.
    pub fn absent(&mut self, statement: &Statement) -> Result<Reply, SqlError> {
        use Statement as S;
        match statement {
            S::DropProgram(drop) => self.drop_program(drop),
            S::AlterRoutine(alter) => self.alter_routine(alter),
            S::AlterEvent(alter) => self.alter_event(alter),
            S::Call(call) => Err(self.no_procedure(&call.name)),
            S::DropUser(drop) => self.drop_accounts("DROP USER", drop.if_exists, &drop.accounts),
            S::DropRole(if_exists, roles) => self.drop_accounts("DROP ROLE", *if_exists, roles),
            S::RenameUser(pairs) => {
                let accounts: Vec<Account> = pairs.iter().map(|(from, _)| from.clone()).collect();
                self.drop_accounts("RENAME USER", false, &accounts)
            }
            S::Grant(grant) => self.grant(grant),
            S::Revoke(revoke) => self.revoke(revoke),
            S::SetRole(roles) => match roles {
                RoleSet::Default | RoleSet::None | RoleSet::All(_) => Ok(OK),
                RoleSet::Roles(roles) => {
                    Err(self.not_granted(roles, &self.env.account().replace('\'', "`")))
                }
            },
            S::SetDefaultRole(roles, accounts) => self.set_default_role(roles, accounts),
            S::DropServer(true, _) => Ok(OK),
            S::DropServer(false, name) => Err(no_server(name)),
            S::AlterServer(server) => Err(no_server(&server.name)),
            S::Tablespace(space) => {
                Err(error(3510, format!("Tablespace {} doesn't exist.", space.name)))
            }
            S::DropResourceGroup(name, _) | S::SetResourceGroup(name, _) => Err(no_group(name)),
            S::ResourceGroup(group) => Err(no_group(&group.name)),
            S::Install(Install::DropPlugin(name)) => {
                Err(missing(format!("PLUGIN {name} does not exist")))
            }
            other => Err(errors::unsupported(other.construct())),
        }
    }

    /// Answers a SHOW for which [`answers_show`] holds.
    pub fn absent_show(&mut self, show: &Show) -> Result<Table, SqlError> {
        match show {
            Show::CreateOther(kind, name) => Err(self.nothing_to_show(kind, name)?),
            Show::Profiles => Ok(Table::new(&["Query_ID", "Duration", "Query"])),
            Show::Profile => Ok(Table::new(&["Status", "Duration"])),
            Show::CreateUser(account) => self.show_create_user(account),
            Show::GrantsUsing(account, roles) => {
                self.account_of(account).map_err(|_| no_grant(account))?;
                Err(self.not_granted(roles, &quoted(account)))
            }
            Show::BinlogEvents { .. } => Ok(Table::new(&[
                "Log_name",
                "Pos",
                "Event_type",
                "Server_id",
                "End_log_pos",
                "Info",
            ])),
            Show::Code(..) => {
                let text = "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MySQL \
                            built with '--with-debug' to have it working";
                Err(error(1289, text.into()))
            }
            _ => Err(errors::unsupported("SHOW")),
        }
    }

    /// The schema of a program's name.
    fn program_schema(&self, name: &ast::ObjectName) -> Result<String, SqlError> {
        let written = name.schema.clone().or_else(|| self.env.database.clone());
        written.ok_or(SqlError::NoDatabase)
    }

    fn note(&mut self, number: u16, text: String) {
        self.env.warn(WarningLevel::Note, number, text);
    }

    fn drop_program(&mut self, drop: &DropProgram) -> Result<Reply, SqlError> {
        let name = &drop.name;
        let loadable = drop.kind == ProgramKind::Function
            && name.schema.is_none()
            && self.env.database.is_none();
        let (number, text) = match drop.kind {
            // Without a database a function's name is that of a loadable one.
            _ if loadable => (NO_ROUTINE, format!("FUNCTION (UDF) {} does not exist", name.name)),
            ProgramKind::Procedure | ProgramKind::Function => {
                let kind = match drop.kind {
                    ProgramKind::Procedure => "PROCEDURE",
                    _ => "FUNCTION",
                };
                let schema = self.program_schema(name)?;
                (NO_ROUTINE, format!("{kind} {schema}.{} does not exist", name.name))
            }
            ProgramKind::Trigger => {
                let schema = self.program_schema(name)?;
                match self.env.server.catalog.schema(&schema) {
                    Some(_) => (1360, "Trigger does not exist".to_string()),
                    None if drop.if_exists => (1049, format!("Unknown database '{schema}'")),
                    None => return Err(errors::unknown_database(&schema)),
                }
            }
            ProgramKind::Event => {
                let schema = self.program_schema(name)?;
                if schema.eq_ignore_ascii_case("information_schema") {
                    return Err(self.no_access(&schema));
                }
                match drop.if_exists {
                    true => (NO_ROUTINE, format!("Event {} does not exist", name.name)),
                    false => (1539, format!("Unknown event '{}'", name.name)),
                }
            }
        };
        if drop.if_exists {
            self.note(number, text);
            return Ok(OK);
        }
        let state = if number == NO_ROUTINE { "42000" } else { "HY000" };
        Err(SqlError::Other(number, state, text))
    }

    fn no_access(&self, schema: &str) -> SqlError {
        let (user, host) = (&self.env.user, &self.env.account_host);
        let text = format!("Access denied for user '{user}'@'{host}' to database '{schema}'");
        SqlError::Other(1044, "42000", text)
    }

    fn alter_routine(&self, alter: &AlterRoutine) -> Result<Reply, SqlError> {
        let kind = if alter.function { "FUNCTION" } else { "PROCEDURE" };
        let schema = self.program_schema(&alter.name)?;
        Err(missing(format!("{kind} {schema}.{} does not exist", alter.name.name)))
    }

    fn alter_event(&self, alter: &EventDef) -> Result<Reply, SqlError> {
        self.program_schema(&alter.name)?;
        if let Some(to) = &alter.rename {
            let schema = self.program_schema(to)?;
            if self.env.server.catalog.schema(&schema).is_none() {
                return Err(errors::unknown_database(&schema));
            }
        }
        Err(no_event(&alter.name.name))
    }

    /// CALL: no procedure has the name.
    pub fn no_procedure(&self, name: &ast::ObjectName) -> SqlError {
        match self.program_schema(name) {
            Ok(schema) => missing(format!("PROCEDURE {schema}.{} does not exist", name.name)),
            Err(error) => error,
        }
    }

    /// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.
    fn nothing_to_show(&self, kind: &str, name: &ast::ObjectName) -> Result<SqlError, SqlError> {
        let schema = self.program_schema(name)?;
        Ok(match kind {
            "TRIGGER" if self.env.server.catalog.schema(&schema).is_none() => {
                errors::unknown_database(&schema)
            }
            "TRIGGER" => error(1360, "Trigger does not exist".into()),
            "EVENT" => no_event(&name.name),
            "PROCEDURE" | "FUNCTION" => missing(format!("{kind} {} does not exist", name.name)),
            _ => errors::unsupported(&format!("SHOW CREATE {kind}")),
        })
    }

    /// DROP and RENAME of accounts; those that are there stay (1235).
    fn drop_accounts(
        &mut self,
        what: &str,
        if_exists: bool,
        accounts: &[Account],
    ) -> Result<Reply, SqlError> {
        if accounts.iter().any(|account| self.account_of(account).is_ok()) {
            return Err(errors::unsupported(what));
        }
        if !if_exists {
            let names: Vec<String> = accounts.iter().map(listed).collect();
            return Err(error(1396, format!("Operation {what} failed for {}", names.join(","))));
        }
        accounts.iter().for_each(|account| self.note_absent(account));
        Ok(OK)
    }

    /// Note 3162.
    pub fn note_absent(&mut self, account: &Account) {
        self.note(3162, format!("Authorization ID {} does not exist.", listed(account)));
    }

    fn grant(&self, grant: &Grant) -> Result<Reply, SqlError> {
        if grant.to.iter().all(|account| self.account_of(account).is_ok()) {
            return Err(errors::unsupported("GRANT"));
        }
        if grant.on.is_none() && grant.proxy.is_none() {
            let unknown = grant.to.iter().find(|account| self.account_of(account).is_err());
            let name = unknown.map_or(String::new(), quoted);
            return Err(error(3523, format!("Unknown authorization ID {name}")));
        }
        let text = "You are not allowed to create a user with GRANT";
        Err(SqlError::Other(1410, "42000", text.into()))
    }

    fn revoke(&mut self, revoke: &Revoke) -> Result<Reply, SqlError> {
        let unknown = |core: &Core| {
            revoke.from.iter().find(|account| core.account_of(account).is_err()).cloned()
        };
        let Some(account) = unknown(self) else { return Err(errors::unsupported("REVOKE")) };
        if revoke.ignore_unknown && revoke.from.len() == 1 {
            let user = match &account {
                Account::Named { user, .. } => user.clone(),
                Account::Current => self.env.user.clone(),
            };
            let text = format!("Authorization ID {user} does not exist.");
            self.env.warn(WarningLevel::Warning, 3162, text);
            return Ok(OK);
        }
        if revoke.on.is_none() && revoke.proxy.is_none() {
            let text = "Can't revoke all privileges for one or more of the requested users";
            return Err(error(1269, text.into()));
        }
        Err(no_grant(&account))
    }

    fn set_default_role(
        &mut self,
        roles: &RoleSet,
        accounts: &[Account],
    ) -> Result<Reply, SqlError> {
        match (roles, accounts.first()) {
            (RoleSet::Roles(roles), Some(account)) => {
                Err(self.not_granted(roles, &quoted(account)))
            }
            _ => Ok(OK),
        }
    }

    fn not_granted(&self, roles: &[Account], to: &str) -> SqlError {
        let role = roles.first().map_or(String::new(), quoted);
        error(3530, format!("{role} is not granted to {to}"))
    }

    fn show_create_user(&self, written: &Account) -> Result<Table, SqlError> {
        let account = self.account_of(written).map_err(|_| {
            error(1396, format!("Operation SHOW CREATE USER failed for {}", listed(written)))
        })?;
        let (user, host) = (&account.user, &account.host);
        let secret = match std::str::from_utf8(&account.auth_string) {
            Ok("") => String::new(),
            Ok(text) if !text.contains(['\'', '\\']) => format!(" AS '{text}'"),
            _ => {
                let digits: String =
                    account.auth_string.iter().map(|b| format!("{b:02X}")).collect();
                format!(" AS 0x{digits}")
            }
        };
        let mut table = Table::new(&[&format!("CREATE USER for {user}@{host}")]);
        table.rows.push(vec![Some(format!(
            "CREATE USER `{user}`@`{host}` IDENTIFIED WITH '{}'{secret} REQUIRE NONE PASSWORD EXPIRE \
             DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD \
             REQUIRE CURRENT DEFAULT",
            account.plugin
        ))]);
        Ok(table)
    }
}

/// `'user'@'host'`.
fn listed(account: &Account) -> String {
    match account {
        Account::Named { user, host } => format!("'{user}'@'{host}'"),
        Account::Current => "CURRENT_USER".into(),
    }
}

/// The account's names in backquotes.
fn quoted(account: &Account) -> String {
    listed(account).replace('\'', "`")
}

fn error(number: u16, text: String) -> SqlError {
    SqlError::Other(number, "HY000", text)
}

fn missing(text: String) -> SqlError {
    SqlError::Other(NO_ROUTINE, "42000", text)
}

fn no_event(name: &str) -> SqlError {
    error(1539, format!("Unknown event '{name}'"))
}

fn no_group(name: &str) -> SqlError {
    error(3651, format!("Resource Group '{name}' does not exist."))
}

fn no_server(name: &str) -> SqlError {
    let text =
        "The foreign server name you are trying to reference does not exist. Data source error:  ";
    error(1477, format!("{text}{name}"))
}

fn no_grant(account: &Account) -> SqlError {
    let (user, host) = match account {
        Account::Named { user, host } => (user.as_str(), host.as_str()),
        Account::Current => ("", ""),
    };
    let text = format!("There is no such grant defined for user '{user}' on host '{host}'");
    SqlError::Other(1141, "42000", text)
}
