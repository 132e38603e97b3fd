//! SHOW of the server's and the session's own state. SHOW of the dictionary is the executor's.

use crate::diagnostics::Level;
use crate::errors;
use crate::monitor;
use crate::session::Core;
use crate::statement::Table;
use crate::status;
use executor::{OwnedDatum, SqlError};
use parser::ast::{BinaryOp, Expr, Limit, Literal, Show, ShowFilter, UnaryOp};
use value::{Collation, Datum};

impl Core {
    /// A SHOW for which [`crate::statement::is_own`] holds.
    pub fn show(&mut self, show: &Show) -> Result<Table, SqlError> {
        match show {
            Show::Variables { global, filter } => {
                let mut table = Table::new(&["Variable_name", "Value"]);
                let list = self.env.variables(*global);
                table.rows = list.into_iter().map(|(n, v)| vec![Some(n), Some(v)]).collect();
                filtered(table, filter.as_ref(), 0)
            }
            Show::Status { global, filter } => {
                let mut table = Table::new(&["Variable_name", "Value"]);
                let list = status::list(&self.env.server, self.client.slot(), *global);
                table.rows = list.into_iter().map(|(n, v)| vec![Some(n), Some(v)]).collect();
                filtered(table, filter.as_ref(), 0)
            }
            Show::ProcessList { full } => Ok(self.process_list(*full)),
            Show::Warnings(limit) => self.conditions(limit.as_ref(), false),
            Show::Errors(limit) => self.conditions(limit.as_ref(), true),
            Show::CountWarnings => {
                Ok(count("@@session.warning_count", self.env.diagnostics.warning_count()))
            }
            Show::CountErrors => {
                Ok(count("@@session.error_count", self.env.diagnostics.error_count()))
            }
            Show::Engines => Ok(engines()),
            Show::Engine(engine, what) => self.engine(engine, what),
            Show::Charset(filter) => filtered(charsets(), filter.as_ref(), 0),
            Show::Collation(filter) => filtered(collations(), filter.as_ref(), 0),
            Show::Plugins => Ok(plugins()),
            Show::Grants(None) => {
                let account = self.env.account();
                let mut table = Table::new(&[&format!(
                    "Grants for {}@{}",
                    self.env.user, self.env.account_host
                )]);
                let all = format!("GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION");
                table.rows.push(vec![Some(all)]);
                Ok(table)
            }
            Show::Triggers { filter: _, .. } => Ok(Table::new(&[
                "Trigger",
                "Event",
                "Table",
                "Statement",
                "Timing",
                "Created",
                "sql_mode",
                "Definer",
                "character_set_client",
                "collation_connection",
                "Database Collation",
            ])),
            Show::Events { .. } => Ok(Table::new(&[
                "Db",
                "Name",
                "Definer",
                "Time zone",
                "Type",
                "Execute at",
                "Interval value",
                "Interval field",
                "Starts",
                "Ends",
                "Status",
                "Originator",
                "character_set_client",
                "collation_connection",
                "Database Collation",
            ])),
            Show::OpenTables { .. } => {
                Ok(Table::new(&["Database", "Table", "In_use", "Name_locked"]))
            }
            other => Err(errors::unsupported(&construct(other))),
        }
    }

    fn engine(&self, engine: &str, what: &str) -> Result<Table, SqlError> {
        if !engine.eq_ignore_ascii_case("innodb") {
            let text = format!("Unknown storage engine '{engine}'");
            return Err(SqlError::Other(1286, "42000", text));
        }
        match what {
            "STATUS" => {
                let mut table = Table::new(&["Type", "Name", "Status"]);
                let row = ["InnoDB".into(), String::new(), monitor::text(&self.env.server)];
                table.rows.push(row.into_iter().map(Some).collect());
                Ok(table)
            }
            _ => Err(errors::unsupported(&format!("SHOW ENGINE INNODB {what}"))),
        }
    }

    fn process_list(&self, full: bool) -> Table {
        const SHORT_CHARS: usize = 100;
        let names = ["Id", "User", "Host", "db", "Command", "Time", "State", "Info"];
        let mut table = Table::new(&names);
        for p in self.env.server.registry.processes() {
            let own = p.id == self.env.id;
            let info = p.info.map(|text| match full {
                true => text,
                false => text.chars().take(SHORT_CHARS).collect(),
            });
            let state = if p.state.is_empty() && own { "executing".to_string() } else { p.state };
            table.rows.push(vec![
                Some(p.id.to_string()),
                Some(p.user),
                Some(p.host),
                p.db,
                Some(p.command.to_string()),
                Some(p.time_s.to_string()),
                Some(state),
                info,
            ]);
        }
        table
    }

    fn conditions(&mut self, limit: Option<&Limit>, errors_only: bool) -> Result<Table, SqlError> {
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
        let mut table = Table::new(&["Level", "Code", "Message"]);
        let shown = self.env.diagnostics.conditions().iter();
        let shown = shown.filter(|c| !errors_only || c.level == Level::Error);
        for c in shown.skip(skip).take(take) {
            let row = [c.level.name().to_string(), c.code.to_string(), c.text.clone()];
            table.rows.push(row.into_iter().map(Some).collect());
        }
        Ok(table)
    }
}

/// MySQL's words for what was shown.
fn construct(show: &Show) -> String {
    let debug = format!("{show:?}");
    let name: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
    name.chars().fold(String::from("SHOW"), |mut words, c| {
        if c.is_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_uppercase());
        words
    })
}

fn count(name: &str, n: u64) -> Table {
    let mut table = Table::new(&[name]);
    table.rows.push(vec![Some(n.to_string())]);
    table
}

fn rows(names: &[&str], rows: &[&[&str]]) -> Table {
    let mut table = Table::new(names);
    table.rows = rows.iter().map(|r| r.iter().map(|v| Some((*v).to_string())).collect()).collect();
    table
}

fn engines() -> Table {
    rows(
        &["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"],
        &[&["InnoDB", "DEFAULT", "Limpid's transactional engine", "YES", "NO", "NO"]],
    )
}

fn charsets() -> Table {
    let mut table = Table::new(&["Charset", "Description", "Default collation", "Maxlen"]);
    table.rows.extend(value::charset::all().iter().map(|c| {
        let texts = [c.name(), c.description(), c.default_collation().name()].map(String::from);
        let maxlen = c.bytes_per_char_max().to_string();
        texts.into_iter().chain([maxlen]).map(Some).collect()
    }));
    table
}

fn collations() -> Table {
    let names = ["Collation", "Charset", "Id", "Default", "Compiled", "Sortlen", "Pad_attribute"];
    let mut table = Table::new(&names);
    table.rows.extend(Collation::all().iter().map(|c| {
        let row = [
            c.name().to_string(),
            c.charset().to_string(),
            c.id().to_string(),
            String::from(if c.is_default() { "Yes" } else { "" }),
            "Yes".to_string(),
            c.sort_len().to_string(),
            String::from(if c.pads_space() { "PAD SPACE" } else { "NO PAD" }),
        ];
        row.into_iter().map(Some).collect()
    }));
    table
}

fn plugins() -> Table {
    rows(
        &["Name", "Status", "Type", "Library", "License"],
        &[
            &["caching_sha2_password", "ACTIVE", "AUTHENTICATION", "", "MIT"],
            &["mysql_native_password", "ACTIVE", "AUTHENTICATION", "", "MIT"],
            &["InnoDB", "ACTIVE", "STORAGE ENGINE", "", "MIT"],
        ],
    )
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

/// Keeps the rows that a LIKE (on column `name_at`) or WHERE lets through.
pub fn filtered(
    mut table: Table,
    filter: Option<&ShowFilter>,
    name_at: usize,
) -> Result<Table, SqlError> {
    match filter {
        None => {}
        Some(ShowFilter::Like(pattern)) => {
            let pattern = String::from_utf8_lossy(pattern).into_owned();
            table.rows.retain(|r| r[name_at].as_deref().is_some_and(|n| like(n, &pattern)));
        }
        Some(ShowFilter::Where(expr)) => {
            let names: Vec<String> = table.columns.iter().map(|c| c.name.to_lowercase()).collect();
            let mut kept = Vec::new();
            for row in std::mem::take(&mut table.rows) {
                if holds(expr, &names, &row)? {
                    kept.push(row);
                }
            }
            table.rows = kept;
        }
    }
    Ok(table)
}

/// Whether a WHERE of comparisons, IN, LIKE, AND, OR, NOT holds for a row of texts.
fn holds(expr: &Expr, names: &[String], row: &[Option<String>]) -> Result<bool, SqlError> {
    let text = |e: &Expr| operand(e, names, row);
    let same = |a: &Option<String>, b: &Option<String>| match (a, b) {
        (Some(a), Some(b)) => {
            let ci = Collation::Utf8mb4GeneralCi;
            value::equals(&Datum::Bytes(a.as_bytes()), &Datum::Bytes(b.as_bytes()), ci)
                == Some(true)
        }
        _ => false,
    };
    Ok(match expr {
        Expr::Binary(BinaryOp::And, a, b) => holds(a, names, row)? && holds(b, names, row)?,
        Expr::Binary(BinaryOp::Or, a, b) => holds(a, names, row)? || holds(b, names, row)?,
        Expr::Unary(UnaryOp::Not | UnaryOp::Bang, a) => !holds(a, names, row)?,
        Expr::Binary(BinaryOp::Eq, a, b) => same(&text(a)?, &text(b)?),
        Expr::Binary(BinaryOp::Ne, a, b) => !same(&text(a)?, &text(b)?),
        Expr::In { expr, list, negated } => {
            let value = text(expr)?;
            let mut found = false;
            for e in list {
                found |= same(&value, &text(e)?);
            }
            found != *negated
        }
        Expr::Like { expr, pattern, escape: None, negated } => {
            let (value, pattern) = (text(expr)?, text(pattern)?);
            match (value, pattern) {
                (Some(v), Some(p)) => like(&v, &p) != *negated,
                _ => false,
            }
        }
        _ => return Err(errors::unsupported("SHOW ... WHERE with this expression")),
    })
}

fn operand(
    expr: &Expr,
    names: &[String],
    row: &[Option<String>],
) -> Result<Option<String>, SqlError> {
    match expr {
        Expr::Column(c) => {
            let at = names.iter().position(|n| *n == c.column.to_lowercase());
            let unknown =
                || SqlError::UnknownColumn { name: c.column.clone(), clause: "where clause" };
            Ok(row[at.ok_or_else(unknown)?].clone())
        }
        Expr::Literal(Literal::String(s)) => {
            Ok(Some(String::from_utf8_lossy(&s.bytes).into_owned()))
        }
        Expr::Literal(Literal::Int(n)) => Ok(Some(n.to_string())),
        Expr::Literal(Literal::UInt(n)) => Ok(Some(n.to_string())),
        Expr::Literal(Literal::Null) => Ok(None),
        _ => Err(errors::unsupported("SHOW ... WHERE with this expression")),
    }
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
