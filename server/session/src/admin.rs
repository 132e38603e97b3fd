//! Administration: KILL, SHUTDOWN, USE, and the commands that answer in their own ways.

use crate::core::Core;
use crate::core::Done;
use crate::diagnostics::Level;
use crate::errors::{self, SessionError};
use crate::sink;
use executor::{OwnedDatum, SqlError};
use instrument::{Counter, count};
use parser::ast::Kill;

impl Core {
    /// KILL.
    pub fn kill_statement(&mut self, kill: &Kill) -> Result<(), SqlError> {
        let id = match self.evaluate(&kill.id)? {
            OwnedDatum::Int(n) => u64::try_from(n).ok(),
            OwnedDatum::UInt(n) => Some(n),
            OwnedDatum::Bytes(text) => std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()),
            _ => None,
        };
        let id = id.ok_or(SessionError::NoSuchThread("0"))?;
        self.kill(id, kill.query)
    }

    /// Kills a connection, or only its statement.
    pub fn kill(&mut self, id: u64, query_only: bool) -> Result<(), SqlError> {
        let level = if query_only { sync::KILL_QUERY } else { sync::KILL_CONNECTION };
        if id == self.env.link.id {
            // MySQL interrupts the KILL itself.
            if !query_only {
                self.reply.close();
            }
            return Err(SqlError::Storage(base::Error::Killed));
        }
        if let Some((user, is_system)) = self.env.server.registry.user_of(id) {
            let rights = &self.env.login.rights;
            let may = user == self.env.login.user || rights.is_super_or("CONNECTION_ADMIN");
            if !may || (is_system && !rights.dynamic("SYSTEM_USER")) {
                return Err(SessionError::NotOwner(&id.to_string()).into());
            }
        }
        match self.env.server.registry.kill(id, level) {
            true => Ok(()),
            false => Err(SessionError::NoSuchThread(&id.to_string()).into()),
        }
    }

    /// SHUTDOWN.
    pub fn shutdown(&self) -> Result<(), SqlError> {
        self.env.server.host.shutdown(&self.env.account());
        Ok(())
    }

    /// ALTER INSTANCE RELOAD TLS, in the words of `action`.
    ///
    /// # Errors
    /// 3888; 1149 of a channel that is not there.
    pub fn reload_tls(&mut self, action: &str) -> Result<(), SqlError> {
        let (rest, lenient) = match action.strip_suffix(" NO ROLLBACK ON ERROR") {
            Some(rest) => (rest, true),
            None => (action, false),
        };
        let channel = rest.strip_prefix("RELOAD TLS FOR CHANNEL ").unwrap_or("mysql_main");
        if !channel.eq_ignore_ascii_case("mysql_main") {
            return Err(SessionError::UnknownChannel.into());
        }
        match self.env.server.load_tls(!lenient) {
            Err(error) if lenient => {
                let why = error.to_string();
                let (number, _, text) = SessionError::TlsLibrary(&why).parts();
                self.env.diagnostics.add(Level::Warning, number, text);
                Ok(())
            }
            done => done.map_err(|error| SessionError::TlsLibrary(&error.to_string()).into()),
        }
    }

    /// USE.
    pub fn use_statement(&mut self, schema: &str) -> Result<Done, SqlError> {
        self.use_schema(schema)?;
        Ok(Done::default())
    }

    /// DROP SERVER: there is none to drop.
    pub fn drop_server(&self, if_exists: bool, name: &str) -> Result<Done, SqlError> {
        match if_exists {
            // MySQL counts one whether there is a server or not.
            true => Ok(Done { affected_rows: 1, ..Done::default() }),
            false => Err(SessionError::UnknownForeignServer(name).into()),
        }
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
             Flush tables: {}  Open tables: {}  Queries per second avg: {:.3}",
            server.connections_open(),
            totals.counter(Counter::SlowQueries),
            totals.counter(Counter::OpenedTables),
            totals.counter(Counter::FlushCommands),
            server.catalog.open_handles().handles(),
            questions as f64 / uptime.max(1) as f64,
        );
        self.reply.out.begin().extend_from_slice(text.as_bytes());
        self.reply.out.end();
    }

    /// COM_FIELD_LIST: the columns of a table, with their defaults.
    pub fn field_list(&mut self, table: &[u8], pattern: &[u8]) {
        count(Counter::ComShowFields, 1);
        match self.fields_of(table, pattern) {
            Ok(()) => {
                let warnings = self.env.diagnostics.wire_count();
                self.send_end_of_rows_warning(warnings);
            }
            Err(error) => self.send_error(&error),
        }
    }

    fn fields_of(&mut self, table: &[u8], pattern: &[u8]) -> Result<(), SqlError> {
        let name = String::from_utf8_lossy(table).replace('`', "``");
        let sql = format!("SELECT * FROM `{name}`");
        let parsed = self
            .parse_next(sql.as_bytes(), 0, true)
            .map_err(|e| errors::parse(&e, sql.as_bytes()))?;
        let compiled = self.compile(parsed.statement);
        if !self.transaction.open {
            self.tables.release_all(self.client.slot());
        }
        let compiled = compiled?;
        let pattern = String::from_utf8_lossy(pattern);
        for column in compiled.columns() {
            if pattern.is_empty() || crate::show::like(&column.name, &pattern) {
                sink::put_column(
                    &mut self.reply.out,
                    column,
                    &self.env.cached.charsets,
                    Some(None),
                );
            }
        }
        Ok(())
    }
}
