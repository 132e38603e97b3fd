//! The general and the slow log, in the format of MySQL's files.
//!
//! 1. While both are off, which is the default, a command pays one load for them. 2. A command is logged before it is
//!    looked at, a slow one when it has ended, each by one write. 3. Passwords are not written. 4. A file that cannot be
//!    written turns its log off and says so in the error log.

use crate::errors::{self, SessionError};
use crate::process::{Host, QueryLog};
use crate::variables::{self, Assign, Globals, Value};
use executor::SqlError;
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering};

/// The general log's bit.
pub(crate) const GENERAL: u32 = 1;
/// The slow log's bit.
pub(crate) const SLOW: u32 = 2;
/// Which logs are written.
#[derive(Debug)]
pub struct Logs(LocalAtomic<u32>);

impl Logs {
    /// None.
    pub const fn off() -> Logs {
        Logs(LocalAtomic::new(0))
    }

    #[inline]
    pub(crate) fn has(&self, log: u32) -> bool {
        self.0.load(Ordering::Relaxed) & log != 0
    }

    /// Turns a log off.
    pub(crate) fn turn_off(&self, log: u32) {
        let others = self.0.load(Ordering::Relaxed) & !log;
        self.0.store(others, Ordering::Relaxed);
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
        let enabled = output.split(',').any(|w| w == "FILE") && globals.number(switch) != 0;
        let opened = host.open_log(log, enabled.then_some(&*file));
        let others = self.0.load(Ordering::Relaxed) & !bit;
        let on = enabled && opened.is_ok();
        self.0.store(others | if on { bit } else { 0 }, Ordering::Relaxed);
        opened.map_err(|error| {
            globals.set(variables::id(switch), Value::UInt(0));
            SqlError::from(SessionError::FileNotFound(&file, &error.to_string()))
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
    let wrong = || SqlError::from(SessionError::WrongValue("log_output", &assign.to_text()));
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
    fn markers_are_filled() {
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
