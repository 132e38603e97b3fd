//! SHOW of the server's and the session's own state. SHOW of the dictionary is the executor's.

use crate::diagnostics::Level;
use crate::errors;
use crate::monitor;
use crate::session::Core;
use crate::statement::Table;
use executor::{OwnedDatum, ResultColumn, SqlError};
use parser::ast::{self, Expr, Limit, Show};
use value::types::NOT_FIXED;
use value::{ColumnType, Kind};

/// Name, context and comment of what can be granted.
const PRIVILEGES: &str = include_str!("privileges.tsv");

impl Core {
    /// A SHOW for which [`crate::statement::is_own`] holds.
    pub fn show(&mut self, show: &Show) -> Result<Table, SqlError> {
        match show {
            Show::Warnings(limit) => self.conditions(limit.as_ref(), false),
            Show::Errors(limit) => self.conditions(limit.as_ref(), true),
            Show::CountWarnings => {
                Ok(count("@@session.warning_count", self.env.diagnostics.warning_count()))
            }
            Show::CountErrors => {
                Ok(count("@@session.error_count", self.env.diagnostics.error_count()))
            }
            Show::Engine(engine, what) => self.engine(engine, what),
            Show::Grants(account) => {
                let account = account.as_ref().unwrap_or(&ast::Account::Current);
                self.grants(account)
            }
            Show::Privileges => {
                let mut table = Table::new(&["Privilege", "Context", "Comment"]);
                let rows = PRIVILEGES.lines().map(|l| l.split('\t').map(|f| Some(f.into())));
                table.rows.extend(rows.map(Iterator::collect));
                Ok(table)
            }
            Show::OpenTables { .. } => {
                let mut table = Table::new(&["Database", "Table"]);
                for (name, length) in [("In_use", 2), ("Name_locked", 5)] {
                    let ty = ColumnType { length, ..ColumnType::int(Kind::BigInt, false) };
                    table.columns.push(integer(name, ty.not_null()));
                }
                Ok(table)
            }
            other if crate::absent::answers_show(other) => self.absent_show(other),
            other => Err(errors::unsupported(other.construct())),
        }
    }

    /// Every account may do everything, so far.
    fn grants(&self, account: &ast::Account) -> Result<Table, SqlError> {
        let Ok(account) = self.account_of(account) else {
            let ast::Account::Named { user, host } = account else {
                return Err(errors::internal("a session without an account"));
            };
            let text = format!("There is no such grant defined for user '{user}' on host '{host}'");
            return Err(SqlError::Other(1141, "42000", text));
        };
        let (user, host) = (&account.user, &account.host);
        let mut table = Table::new(&[&format!("Grants for {user}@{host}")]);
        let all = schema::ACCOUNT_PRIVILEGES.join(", ");
        let text = format!("GRANT {all} ON *.* TO `{user}`@`{host}` WITH GRANT OPTION");
        table.rows.push(vec![Some(text)]);
        Ok(table)
    }

    fn engine(&self, engine: &str, what: &str) -> Result<Table, SqlError> {
        if engine.eq_ignore_ascii_case("performance_schema") && what == "STATUS" {
            // Nothing is kept for its tables: their rows are made when they are read.
            let mut table = Table::new(&["Type", "Name", "Status"]);
            let row = ["performance_schema", "performance_schema.memory", "0"];
            table.rows.push(row.map(|cell| Some(cell.to_string())).to_vec());
            return Ok(table);
        }
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
        let text = |name, chars| {
            let column = ResultColumn::text(name, chars);
            ResultColumn { ty: column.ty.not_null(), decimals: NOT_FIXED, ..column }
        };
        let code = integer("Code", ColumnType { length: 5, ..ColumnType::int(Kind::Int, true) });
        let code = ResultColumn { ty: code.ty.not_null(), ..code };
        let columns = vec![text("Level", 7), code, text("Message", 512)];
        let mut table = Table { columns, rows: Vec::new() };
        let shown = self.env.diagnostics.conditions().iter();
        let shown = shown.filter(|c| !errors_only || c.level == Level::Error);
        for c in shown.skip(skip).take(take) {
            let row = [c.level.name().to_string(), c.code.to_string(), c.text.clone()];
            table.rows.push(row.into_iter().map(Some).collect());
        }
        Ok(table)
    }
}

fn count(name: &str, n: u64) -> Table {
    let ty = ColumnType { length: 21, ..ColumnType::int(Kind::BigInt, true) };
    Table { columns: vec![integer(name, ty)], rows: vec![vec![Some(n.to_string())]] }
}

fn integer(name: &str, ty: ColumnType) -> ResultColumn {
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
