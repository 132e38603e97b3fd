//! SHOW of the server's and the session's own state: columns, and rows as they are sent. SHOW of the dictionary is the
//! executor's.

use crate::core::Core;
use crate::diagnostics::Level;
use crate::errors::{self, SessionError};
use crate::monitor;
use executor::{OwnedDatum, ResultColumn, RowSink, SqlError};
use parser::ast::{Expr, Limit};
use value::types::NOT_FIXED;
use value::{ColumnType, Datum, Kind};

/// Name, context and comment of what can be granted.
const PRIVILEGES: &str = include_str!("privileges.tsv");
/// Columns of SHOW BINLOG EVENTS.
pub(crate) const BINLOG_EVENTS: [&str; 6] =
    ["Log_name", "Pos", "Event_type", "Server_id", "End_log_pos", "Info"];

/// Columns of text.
pub(crate) fn texts(names: &[&str]) -> Vec<ResultColumn> {
    names.iter().map(|n| ResultColumn::text(n, 1024)).collect()
}

/// Sends a row of texts.
pub(crate) fn send_texts<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    sink: &mut dyn RowSink,
) -> Result<(), SqlError> {
    let row: Vec<Datum<'t>> = texts.into_iter().map(|t| Datum::Bytes(t.as_bytes())).collect();
    sink.row(&row)
}

/// Columns of the passwords that a statement made.
pub(crate) fn made_password_columns() -> Vec<ResultColumn> {
    let mut columns = texts(&["user", "host", "generated password"]);
    columns.push(integer("auth_factor", ColumnType::int(Kind::BigInt, true)));
    columns
}

/// Columns of SHOW WARNINGS and SHOW ERRORS.
pub(crate) fn condition_columns() -> Vec<ResultColumn> {
    let text = |name, chars| {
        let column = ResultColumn::text(name, chars);
        ResultColumn { ty: column.ty.not_null(), decimals: NOT_FIXED, ..column }
    };
    let code = ColumnType { length: 5, ..ColumnType::int(Kind::Int, true) };
    vec![text("Level", 7), integer("Code", code.not_null()), text("Message", 512)]
}

/// The column of SHOW COUNT(*).
pub(crate) fn count_columns(name: &str) -> Vec<ResultColumn> {
    let ty = ColumnType { length: 21, ..ColumnType::int(Kind::BigInt, true) };
    vec![integer(name, ty)]
}

/// The row of SHOW COUNT(*).
pub(crate) fn send_count(n: u64, sink: &mut dyn RowSink) -> Result<(), SqlError> {
    sink.row(&[Datum::Int(n as i64)])
}

/// The rows of SHOW PRIVILEGES.
pub(crate) fn send_privileges(sink: &mut dyn RowSink) -> Result<(), SqlError> {
    PRIVILEGES.lines().try_for_each(|line| send_texts(line.split('\t'), sink))?;
    let dynamic = access::privilege::DYNAMIC.iter();
    dynamic.copied().try_for_each(|name| send_texts([name, "Server Admin", ""], sink))
}

/// What the Performance Schema keeps now: pieces and bytes of each of its instruments of memory, and behind them all bytes. Rows that
/// are made when they are read are none of it.
fn kept_by_instruments() -> Vec<(String, i64)> {
    let mut reports = instrument::memory_reports();
    reports.sort_by_key(|memory| memory.class.name());
    let (mut rows, mut sum) = (Vec::new(), 0);
    for memory in &reports {
        let Some(name) = memory.class.name().strip_prefix("memory/performance_schema/") else {
            continue;
        };
        sum += memory.bytes.used;
        rows.push((format!("{name}.count"), memory.pieces.used));
        rows.push((format!("{name}.memory"), memory.bytes.used));
    }
    rows.push(("performance_schema.memory".to_string(), sum));
    rows
}

/// Columns of SHOW ENGINE.
pub(crate) fn engine_columns(engine: &str, what: &str) -> Result<Vec<ResultColumn>, SqlError> {
    let is_innodb = engine.eq_ignore_ascii_case("innodb");
    match what {
        "STATUS" if is_innodb || engine.eq_ignore_ascii_case("performance_schema") => {
            Ok(texts(&["Type", "Name", "Status"]))
        }
        _ if !is_innodb => Err(SessionError::UnknownEngine(engine).into()),
        _ => Err(errors::unsupported(&format!("SHOW ENGINE INNODB {what}"))),
    }
}

impl Core {
    /// The rows of SHOW ENGINE ... STATUS.
    pub fn show_engine(&self, engine: &str, sink: &mut dyn RowSink) -> Result<(), SqlError> {
        if engine.eq_ignore_ascii_case("innodb") {
            return send_texts(["InnoDB", "", &monitor::text(&self.env.server)], sink);
        }
        let rows = kept_by_instruments().into_iter();
        rows.map(|(name, n)| (name, n.to_string()))
            .try_for_each(|(name, n)| send_texts(["performance_schema", &*name, &*n], sink))
    }

    /// The rows of SHOW WARNINGS and SHOW ERRORS.
    pub fn show_conditions(
        &mut self,
        limit: Option<&Limit>,
        errors_only: bool,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        let number = |core: &mut Self, expr: &Expr| match core.evaluate(expr)? {
            OwnedDatum::Int(n) => Ok(usize::try_from(n).unwrap_or(0)),
            _ => Ok::<usize, SqlError>(usize::MAX),
        };
        let (skip, take) = match limit {
            None => (0, usize::MAX),
            Some(limit) => {
                let skip = limit.offset.as_ref().map_or(Ok(0), |e| number(self, e))?;
                (skip, number(self, &limit.count)?)
            }
        };
        let listed = self.env.diagnostics.conditions().iter();
        let listed = listed.filter(|c| !errors_only || c.level == Level::Error);
        listed.skip(skip).take(take).try_for_each(|c| {
            let (level, text) = (c.level.name().as_bytes(), c.text.as_bytes());
            sink.row(&[Datum::Bytes(level), Datum::Int(c.code.into()), Datum::Bytes(text)])
        })
    }
}

pub(crate) fn integer(name: &str, ty: ColumnType) -> ResultColumn {
    ResultColumn::computed(name, ty, 0)
}

/// MySQL's LIKE, ignoring case; time is at most the product of the lengths.
pub fn like(text: &str, pattern: &str) -> bool {
    let chars = |s: &str| s.to_lowercase().chars().collect::<Vec<_>>();
    let (text, pattern) = (chars(text), chars(pattern));
    let (mut t, mut p) = (0, 0);
    // Behind the last %: where the pattern goes on, and the text position to try next.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let (one, next) = match pattern.get(p) {
            Some('%') => {
                p += 1;
                retry = Some((p, t));
                continue;
            }
            Some('_') => (true, p + 1),
            Some('\\') if p + 1 < pattern.len() => (pattern[p + 1] == text[t], p + 2),
            Some(c) => (*c == text[t], p + 1),
            None => (false, p),
        };
        match (one, retry) {
            (true, _) => (t, p) = (t + 1, next),
            (false, Some((after, from))) => {
                retry = Some((after, from + 1));
                (t, p) = (from + 1, after);
            }
            (false, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_as_mysql_has_it() {
        assert!(like("Max_used_connections", "max%CONN%"));
        assert!(like("a_b", "a\\_b"));
        assert!(!like("axb", "a\\_b"));
        assert!(like("axb", "a_b"));
        assert!(!like("ab", "a_b_"));
        assert!(like("", "%"));
        assert!(like("abcabd", "%ab%d"));
        assert!(!like("abcabd", "%ab%e"));
        // Exponential for a matcher that tries every split.
        assert!(!like(&"a".repeat(60), &("%_".repeat(25) + "b")));
    }
}
