//! The general and the slow log, in the format of MySQL's files.
//!
//! 1. While both are off, which is the default, a command pays one load for them. 2. A command is logged before it is
//!    looked at, a slow one when it has ended, each by one write. 3. Passwords are not written. 4. A file that cannot be
//!    written turns its log off and says so in the error log.

use crate::errors;
use crate::server::{Host, QueryLog, Severity};
use crate::session::Core;
use crate::states;
use crate::variables::{self, Assign, Globals, Value};
use executor::SqlError;
use instrument::{Counter, count};
use std::fmt::Write;
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering};
use wire::Command;

const GENERAL: u32 = 1;
const SLOW: u32 = 2;
/// Statements that `log_slow_admin_statements` is about.
const ADMINISTRATIVE: [&str; 5] = ["ALTER", "ANALYZE", "CHECK", "OPTIMIZE", "REPAIR"];

/// Which logs are written.
#[derive(Debug)]
pub struct Logs(LocalAtomic<u32>);

impl Logs {
    /// None.
    pub const fn off() -> Logs {
        Logs(LocalAtomic::new(0))
    }

    #[inline]
    fn has(&self, log: u32) -> bool {
        self.0.load(Ordering::Relaxed) & log != 0
    }

    /// Opens the file of a log anew if the variables ask for it, or closes it.
    ///
    /// # Errors
    /// 29: the file cannot be opened; the log is off then.
    pub fn open(
        &self,
        log: QueryLog,
        globals: &Globals,
        host: &Arc<dyn Host>,
    ) -> Result<(), SqlError> {
        let (bit, switch, file) = match log {
            QueryLog::General => (GENERAL, "general_log", word(globals, "general_log_file")),
            QueryLog::Slow => (SLOW, "slow_query_log", word(globals, "slow_query_log_file")),
        };
        let output = word(globals, "log_output").to_ascii_uppercase();
        let wanted = output.split(',').any(|w| w == "FILE") && globals.number(switch) != 0;
        let opened = host.open_log(log, wanted.then_some(&*file));
        let others = self.0.load(Ordering::Relaxed) & !bit;
        let on = wanted && opened.is_ok();
        self.0.store(others | if on { bit } else { 0 }, Ordering::Relaxed);
        opened.map_err(|error| {
            globals.set(variables::id(switch), Value::UInt(0));
            errors::file_not_found(&file, &error.to_string())
        })
    }
}

/// The logs that a variable of theirs is about.
pub fn logs_of(variable: &str) -> &'static [QueryLog] {
    match variable {
        "general_log" | "general_log_file" => &[QueryLog::General],
        "slow_query_log" | "slow_query_log_file" => &[QueryLog::Slow],
        _ => &[QueryLog::General, QueryLog::Slow],
    }
}

fn word(globals: &Globals, name: &'static str) -> String {
    let id = variables::id(name);
    id.get().kind.show(&globals.value(id))
}

/// What `log_output` may be.
///
/// # Errors
/// 1231; 1235 for TABLE.
pub fn check_output(assign: &Assign<'_>) -> Result<(), SqlError> {
    let wrong = || errors::wrong_value("log_output", &assign.to_text());
    let Assign::Text(text) = assign else { return Err(wrong()) };
    for part in text.split(',') {
        match part.to_ascii_uppercase().as_str() {
            "FILE" | "NONE" => {}
            "TABLE" => return Err(errors::unsupported("log_output = TABLE")),
            _ => return Err(wrong()),
        }
    }
    Ok(())
}

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
        let mut own = instrument::Totals::new();
        own.add_page(&self.client.slot().counters, 0);
        Begun {
            reads: own.counter(Counter::InnodbRowsRead),
            lock_ms: own.counter(Counter::InnodbRowLockTime),
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
        let line = format!("{time}\t{:5} {command}\t{argument}\n", self.env.id);
        self.write_log(QueryLog::General, GENERAL, &line);
    }

    /// A client has come in.
    pub(crate) fn log_connect(&self) {
        if self.env.server.logs.has(GENERAL) {
            let (env, db) = (&self.env, self.env.database.as_deref().unwrap_or_default());
            let how = if self.peer.is_socket() { "Socket" } else { "TCP/IP" };
            self.log_general("Connect", &format!("{}@{} on {db} using {how}", env.user, env.host));
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
        let (user, host) = (&env.user, &env.host);
        let mut out = format!(
            "# Time: {}\n# User@Host: {user}[{user}] @ {host} []  Id: {:5}\n",
            server.host.timestamp(),
            env.id
        );
        let _ = writeln!(
            out,
            "# Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  Rows_examined: {}",
            took_ns as f64 / 1e9,
            now.lock_ms.saturating_sub(begun.lock_ms) as f64 / 1e3,
            if env.row_count < 0 { env.found_rows } else { 0 },
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
            let left = server.logs.0.load(Ordering::Relaxed) & !bit;
            server.logs.0.store(left, Ordering::Relaxed);
            let which = match log {
                QueryLog::General => "general",
                QueryLog::Slow => "slow",
            };
            let what = format!("The {which} query log is turned off: {error}");
            server.host.log(Severity::Error, &what);
        }
    }
}

/// A statement without the passwords in it.
fn hidden(text: &str) -> String {
    let verb = states::verb(text);
    let upper = text.to_ascii_uppercase();
    let secret = ["IDENTIFIED", "PASSWORD"].iter().any(|word| upper.contains(word));
    if !secret || !["ALTER", "CREATE", "SET", "GRANT"].contains(&&*verb) {
        return text.to_string();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"']) {
        let (before, quoted) = rest.split_at(at);
        let end = quoted_end(quoted);
        let last = before.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        let last = last.unwrap_or_default().to_ascii_uppercase();
        let is_secret = before.trim_end().ends_with(['=', '('])
            || matches!(&*last, "BY" | "AS" | "REPLACE" | "TO");
        out += before;
        out += if is_secret { "<secret>" } else { &quoted[..end] };
        rest = &quoted[end..];
    }
    out + rest
}

/// Where a quoted text ends, behind its quote.
fn quoted_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            quote if quote == bytes[0] && bytes.get(at + 1) == Some(&quote) => at += 1,
            quote if quote == bytes[0] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// A text with its parameter markers replaced.
pub(crate) fn filled(sql: &[u8], mut value: impl FnMut(usize) -> String) -> String {
    let text = String::from_utf8_lossy(sql);
    let (mut out, mut rest, mut n) = (String::new(), &*text, 0);
    while let Some(at) = rest.find(['\'', '"', '`', '?']) {
        let (before, from) = rest.split_at(at);
        out += before;
        let end = if from.starts_with('?') { 1 } else { quoted_end(from) };
        if from.starts_with('?') {
            out += &value(n);
            n += 1;
        } else {
            out += &from[..end];
        }
        rest = &from[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_markers_filled() {
        assert_eq!(
            hidden("alter user 'a'@'b' identified by 'x''y', 'c' identified with 'p' as \"q\""),
            "alter user 'a'@'b' identified by <secret>, 'c' identified with 'p' as <secret>"
        );
        assert_eq!(hidden("SET PASSWORD = 'x'"), "SET PASSWORD = <secret>");
        assert_eq!(hidden("select 'identified by'"), "select 'identified by'");
        let n = |n: usize| format!("<{n}>");
        assert_eq!(filled(b"select ?, '?', `?`, ?", n), "select <0>, '?', `?`, <1>");
    }

    #[test]
    fn outputs_are_checked() {
        assert!(check_output(&Assign::Text("FILE,none")).is_ok());
        assert_eq!(check_output(&Assign::Text("TABLE")).unwrap_err().parts().0, 1235);
        assert_eq!(check_output(&Assign::Text("")).unwrap_err().parts().0, 1231);
        assert_eq!(check_output(&Assign::Null).unwrap_err().parts().0, 1231);
    }
}
