//! Administration: KILL, FLUSH, accounts, and the commands that answer in their own ways.

use crate::errors;
use crate::session::Core;
use crate::sink;
use catalog::Account;
use executor::{Environment, OwnedDatum, SqlError};
use instrument::{Counter, count};
use parser::ast::{self, AlterUser, Kill, Secret, SetPassword};
use wire::auth::Plugin;
use wire::handshake::Scramble;
use wire::reply;

impl Core {
    /// KILL.
    pub fn kill_statement(&mut self, kill: &Kill) -> Result<(), SqlError> {
        let id = match self.evaluate(&kill.id)? {
            OwnedDatum::Int(n) => u64::try_from(n).ok(),
            OwnedDatum::UInt(n) => Some(n),
            OwnedDatum::Bytes(text) => std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()),
            _ => None,
        };
        let id = id.ok_or_else(|| errors::no_such_thread("0"))?;
        self.kill(id, kill.query)
    }

    /// Kills a connection, or only its statement.
    pub fn kill(&mut self, id: u64, query_only: bool) -> Result<(), SqlError> {
        let level = if query_only { sync::KILL_QUERY } else { sync::KILL_CONNECTION };
        if id == self.env.id {
            // MySQL interrupts the KILL itself.
            self.closing = !query_only;
            return Err(SqlError::Storage(base::Error::Killed));
        }
        match self.env.server.registry.kill(id, level) {
            true => Ok(()),
            false => Err(errors::no_such_thread(&id.to_string())),
        }
    }

    /// ALTER USER: passwords. Other options answer 1235.
    pub fn alter_user(&mut self, alter: &AlterUser) -> Result<(), SqlError> {
        if alter.default_role.is_some() {
            return Err(errors::unsupported("ALTER USER ... DEFAULT ROLE"));
        }
        if !alter.options.is_empty() {
            return Err(errors::unsupported("ALTER USER with account options"));
        }
        for spec in &alter.accounts {
            if !spec.factors.is_empty() {
                return Err(errors::unsupported("multi-factor authentication"));
            }
            if spec.retain_current || spec.discard_old {
                return Err(errors::unsupported("dual passwords"));
            }
            let mut account = match self.account_of(&spec.account) {
                Ok(account) => account,
                Err(_) if alter.if_exists => {
                    self.note_absent(&spec.account);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(identified) = &spec.identified else { continue };
            if let Some(plugin) = &identified.plugin {
                let plugin =
                    Plugin::from_name(plugin).ok_or_else(|| errors::unknown_plugin(plugin))?;
                account.plugin = plugin.name().to_string();
            }
            account.auth_string = secret(&account, &identified.secret)?;
            self.store_account(&account)?;
        }
        Ok(())
    }

    /// SET PASSWORD.
    pub fn set_password(&mut self, set: &SetPassword) -> Result<(), SqlError> {
        if set.retain_current {
            return Err(errors::unsupported("dual passwords"));
        }
        let Some(password) = &set.password else {
            return Err(errors::unsupported("SET PASSWORD TO RANDOM"));
        };
        let written = set.account.as_ref().unwrap_or(&ast::Account::Current);
        let mut account = self.account_of(written).map_err(|_| errors::no_such_user())?;
        account.auth_string = secret(&account, &Secret::Password(password.clone()))?;
        self.store_account(&account)
    }

    pub fn account_of(&self, written: &ast::Account) -> Result<Account, SqlError> {
        let (user, host) = match written {
            ast::Account::Named { user, host } => (user.as_str(), host.as_str()),
            ast::Account::Current => (self.env.user.as_str(), self.env.account_host.as_str()),
        };
        let accounts = self.env.server.catalog.accounts();
        let found = accounts.iter().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host));
        found.cloned().ok_or_else(|| errors::no_such_account(&format!("'{user}'@'{host}'")))
    }

    fn store_account(&mut self, account: &Account) -> Result<(), SqlError> {
        let deadline = self.env.lock_deadline();
        self.tables.protect_change(self.client.slot(), deadline)?;
        let catalog = std::sync::Arc::clone(&self.env.server.catalog);
        let stored = catalog.set_account(&mut self.client, account);
        self.tables.end_statement(self.client.slot());
        Ok(stored?)
    }

    /// COM_STATISTICS: one line.
    pub fn statistics(&mut self) {
        count(Counter::ComAdminCommands, 1);
        let totals = instrument::totals();
        let server = &self.env.server;
        let uptime = server.uptime_s();
        let questions = totals.counter(Counter::Questions);
        let text = format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: {}  \
             Flush tables: 1  Open tables: {}  Queries per second avg: {:.3}",
            server.connections_open(),
            totals.counter(Counter::SlowQueries),
            totals.counter(Counter::OpenedTables),
            totals.counter(Counter::TableOpenCacheMisses),
            questions as f64 / uptime.max(1) as f64,
        );
        self.out.begin().extend_from_slice(text.as_bytes());
        self.out.end();
    }

    /// COM_FIELD_LIST: the columns of a table, with their defaults.
    pub fn field_list(&mut self, table: &[u8], pattern: &[u8]) {
        count(Counter::ComShowFields, 1);
        match self.fields_of(table, pattern) {
            Ok(()) => {
                let warnings = self.env.diagnostics.wire_count();
                reply::end_of_rows(&mut self.out, self.env.caps, self.env.status, warnings);
            }
            Err(error) => self.send_error(&error),
        }
    }

    fn fields_of(&mut self, table: &[u8], pattern: &[u8]) -> Result<(), SqlError> {
        let name = String::from_utf8_lossy(table).replace('`', "``");
        let sql = format!("SELECT * FROM `{name}`");
        let parsed = crate::statement::parse_next(sql.as_bytes(), 0, self.env.parser_mode, true)
            .map_err(|e| errors::parse(&e, sql.as_bytes()))?;
        let compiled = self.compile(parsed.statement);
        if !self.in_transaction {
            self.tables.release_all(self.client.slot());
        }
        let compiled = compiled?;
        let pattern = String::from_utf8_lossy(pattern);
        for column in compiled.columns() {
            if pattern.is_empty() || crate::show::like(&column.name, &pattern) {
                sink::put_column(&mut self.out, column, &self.env.charsets, Some(None));
            }
        }
        Ok(())
    }
}

/// What is stored for an account's new secret.
fn secret(account: &Account, secret: &Secret) -> Result<Vec<u8>, SqlError> {
    let plugin = Plugin::from_name(&account.plugin)
        .ok_or_else(|| errors::unknown_plugin(&account.plugin))?;
    match secret {
        Secret::None => Ok(Vec::new()),
        Secret::Password(password) => {
            let mut salt: Scramble = [0; 20];
            if !wire::rsa_exchange::random(&mut salt) {
                return Err(errors::internal("no randomness for a salt"));
            }
            Ok(plugin.store(password, &salt).into_bytes())
        }
        Secret::Hash(hash) => {
            let text = String::from_utf8_lossy(hash).into_owned();
            match plugin.accepts_stored(&text) {
                true => Ok(text.into_bytes()),
                false => Err(errors::bad_password_hash()),
            }
        }
        Secret::Random => Err(errors::unsupported("IDENTIFIED BY RANDOM PASSWORD")),
    }
}
