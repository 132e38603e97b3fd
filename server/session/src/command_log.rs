//! What a session writes into the general and the slow log.
//!
//! 1. A command is logged before it is looked at, a slow one when it has ended, each by one write. 2. A file that cannot
//! be written turns its log off and says so in the error log.

use crate::core::Core;
use crate::logs::{GENERAL, SLOW};
use crate::process::{QueryLog, Severity};
use crate::secrets::hidden;
use crate::states;
use instrument::{Counter, count};
use std::fmt::Write;
use wire::Command;

/// Statements that `log_slow_admin_statements` is about.
const ADMINISTRATIVE: [&str; 5] = ["ALTER", "ANALYZE", "CHECK", "OPTIMIZE", "REPAIR"];

/// What is kept of a command until it has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Begun {
    reads: u64,
    lock_ms: u64,
}

impl Core {
    /// A command comes: into the general log; what the slow log will need.
    #[inline]
    pub(crate) fn log_begin(&self, command: &Command<'_>) -> Begun {
        let logs = &self.env.server.logs;
        if !logs.has(GENERAL | SLOW) {
            return Begun::default();
        }
        self.log_begin_slowly(command)
    }

    #[cold]
    fn log_begin_slowly(&self, command: &Command<'_>) -> Begun {
        if self.env.server.logs.has(GENERAL) {
            let text = |bytes: &[u8]| hidden(&String::from_utf8_lossy(bytes));
            match command {
                Command::Query(sql) => self.log_general("Query", &text(sql)),
                Command::Prepare(sql) => self.log_general("Prepare", &text(sql)),
                Command::InitDb(name) => self.log_general("Init DB", &text(name)),
                Command::FieldList { table, .. } => self.log_general("Field List", &text(table)),
                Command::Quit => self.log_general("Quit", ""),
                Command::Ping => self.log_general("Ping", ""),
                Command::Statistics => self.log_general("Statistics", ""),
                Command::Debug => self.log_general("Debug", ""),
                Command::CloseStatement(_) => self.log_general("Close stmt", ""),
                Command::ResetStatement(_) => self.log_general("Reset stmt", ""),
                Command::ResetConnection => self.log_general("Reset Connection", ""),
                _ => {}
            }
        }
        self.begun()
    }

    fn begun(&self) -> Begun {
        let session = &self.client.slot().counters;
        Begun {
            reads: session.counter(Counter::InnodbRowsRead),
            lock_ms: session.counter(Counter::InnodbRowLockTime),
        }
    }

    /// Whether executions of prepared statements go into the general log.
    #[inline]
    pub(crate) fn logs_executions(&self) -> bool {
        self.env.server.logs.has(GENERAL)
    }

    /// A line of the general log.
    pub(crate) fn log_general(&self, command: &str, argument: &str) {
        if !self.env.server.logs.has(GENERAL) || self.env.vars.number("sql_log_off") != 0 {
            return;
        }
        let time = self.env.server.host.timestamp();
        let line = format!("{time}\t{:5} {command}\t{argument}\n", self.env.link.id);
        self.write_log(QueryLog::General, GENERAL, &line);
    }

    /// A client has come in.
    pub(crate) fn log_connect(&self) {
        if self.env.server.logs.has(GENERAL) {
            let (env, db) = (&self.env, self.env.database.as_deref().unwrap_or_default());
            let how = match self.identity.peer.is_socket() {
                _ if env.link.secured.is_some() => "SSL/TLS",
                true => "Socket",
                false => "TCP/IP",
            };
            self.log_general(
                "Connect",
                &format!("{}@{} on {db} using {how}", env.login.user, env.login.host),
            );
        }
    }

    /// A statement took longer than `long_query_time`.
    #[cold]
    pub(crate) fn log_slow(&self, text: &[u8], took_ns: u64, begun: Begun) {
        count(Counter::SlowQueries, 1);
        let server = &self.env.server;
        if !server.logs.has(SLOW) {
            return;
        }
        let text = String::from_utf8_lossy(text);
        let verb = states::verb(&text);
        let admin = ADMINISTRATIVE.contains(&&*verb)
            || matches!(&*verb, "CREATE" | "DROP") && states::second(&text) == "INDEX";
        if admin && server.globals.number("log_slow_admin_statements") == 0 {
            return;
        }
        let (now, env) = (self.begun(), &self.env);
        let (user, host) = (&env.login.user, &env.login.host);
        let mut out = format!(
            "# Time: {}\n# User@Host: {user}[{user}] @ {host} []  Id: {:5}\n",
            server.host.timestamp(),
            env.link.id
        );
        let _ = writeln!(
            out,
            "# Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  Rows_examined: {}",
            took_ns as f64 / 1e9,
            now.lock_ms.saturating_sub(begun.lock_ms) as f64 / 1e3,
            if env.last.row_count < 0 { env.last.found_rows } else { 0 },
            now.reads.saturating_sub(begun.reads),
        );
        if let Some(db) = &env.database {
            let _ = writeln!(out, "use {db};");
        }
        let seconds = (host::clock::unix_micros() - took_ns / 1000) / 1_000_000;
        let text = hidden(text.trim_end_matches([';', ' ', '\n']));
        let _ = writeln!(out, "SET timestamp={seconds};\n{text};");
        self.write_log(QueryLog::Slow, SLOW, &out);
    }

    fn write_log(&self, log: QueryLog, bit: u32, text: &str) {
        let server = &self.env.server;
        if let Err(error) = server.host.write_log(log, text) {
            server.logs.turn_off(bit);
            let which = match log {
                QueryLog::General => "general",
                QueryLog::Slow => "slow",
            };
            let what = format!("The {which} query log is turned off: {error}");
            server.host.log(Severity::Error, &what);
        }
    }
}
