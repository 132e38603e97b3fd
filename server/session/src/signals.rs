//! SIGNAL, and GET DIAGNOSTICS, outside of stored programs: a client raises conditions and reads those of the
//! statement before.
//!
//! 1. A signalled condition carries its own SQLSTATE and items: [`SignalItems`]. 2. GET DIAGNOSTICS changes neither the
//! conditions nor ROW_COUNT(), but for error 1758, which is added and does not fail it.

use crate::core::Core;
use crate::diagnostics::{Level, SignalItems};
use crate::errors::{self, SessionError};
use executor::{Environment, OwnedDatum, SqlError};
use expr::UserVariable;
use parser::ast::{ConditionValue, Expr, GetDiagnostics, Signal};
use value::{Collation, ColumnType, Kind};

/// Longest MESSAGE_TEXT, and longest other item, in characters.
const MESSAGE_CHARS_MAX: usize = 128;
const ITEM_CHARS_MAX: usize = 64;

impl Core {
    /// SIGNAL; RESIGNAL needs a handler, of which there is none.
    pub fn signal(&mut self, signal: &Signal) -> Result<(), SqlError> {
        if signal.resignal {
            return Err(SessionError::ResignalWithoutHandler.into());
        }
        let state = match &signal.condition {
            Some(ConditionValue::SqlState(state)) => sqlstate(state)?,
            Some(ConditionValue::Name(name)) => {
                return Err(SessionError::UndefinedCondition(name).into());
            }
            _ => return Err(errors::unsupported("SIGNAL")),
        };
        for (at, (item, _)) in signal.items.iter().enumerate() {
            if signal.items[..at].iter().any(|(before, _)| before.eq_ignore_ascii_case(item)) {
                return Err(SessionError::DuplicateConditionItem(&item.to_ascii_uppercase()).into());
            }
        }
        let (mut number, mut text) = match &state[..2] {
            b"01" => (1642, "Unhandled user-defined warning condition".to_string()),
            b"02" => (1643, "Unhandled user-defined not found condition".to_string()),
            _ => (1644, "Unhandled user-defined exception condition".to_string()),
        };
        let mut items = Vec::new();
        for (item, expr) in &signal.items {
            let item = item.to_ascii_uppercase();
            let value = self.evaluate(expr)?;
            if item == "MYSQL_ERRNO" {
                number = self.signalled_number(&value)?;
                continue;
            }
            let value = self.signalled_text(&item, &value)?;
            match item.as_str() {
                "MESSAGE_TEXT" => text = value,
                _ => items.push((item, value)),
            }
        }
        let signalled = Box::new(SignalItems { state, items });
        if &state[..2] == b"01" {
            self.env.diagnostics.add_signalled(Level::Warning, number, text, signalled);
            return Ok(());
        }
        self.env.signalled = Some(signalled);
        // The client's own number and text; its SQLSTATE is in what was signalled.
        Err(SqlError::Other(number, "HY000", text))
    }

    fn signalled_number(&mut self, value: &OwnedDatum) -> Result<u16, SqlError> {
        let text = value::format::to_text(&value.datum());
        let number = match value {
            OwnedDatum::Int(n) => Some(*n),
            OwnedDatum::UInt(n) => i64::try_from(*n).ok(),
            OwnedDatum::Null => None,
            _ => {
                let number = text.trim().parse::<i64>().ok();
                if number.is_none() {
                    let text = format!("Truncated incorrect INTEGER value: '{text}'");
                    self.env.diagnostics.add(Level::Warning, 1292, text);
                }
                number
            }
        };
        let number = number.and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0);
        let shown = if *value == OwnedDatum::Null { "NULL" } else { &text };
        number.ok_or_else(|| SqlError::from(SessionError::WrongValue("MYSQL_ERRNO", shown)))
    }

    fn signalled_text(&mut self, item: &str, value: &OwnedDatum) -> Result<String, SqlError> {
        if *value == OwnedDatum::Null {
            return Err(SessionError::WrongValue(item, "NULL").into());
        }
        let text = value::format::to_text(&value.datum());
        let max = if item == "MESSAGE_TEXT" { MESSAGE_CHARS_MAX } else { ITEM_CHARS_MAX };
        if text.chars().count() <= max {
            return Ok(text);
        }
        let too_long = SqlError::from(SessionError::ConditionItemTooLong(item));
        if self.env.strict() {
            return Err(too_long);
        }
        self.env.diagnostics.add(Level::Warning, 1647, too_long.parts().2);
        Ok(text.chars().take(max).collect())
    }

    /// GET DIAGNOSTICS.
    pub fn get_diagnostics(&mut self, get: &GetDiagnostics) -> Result<(), SqlError> {
        let mut targets = Vec::new();
        for (target, item) in &get.items {
            match target {
                Expr::UserVar(name) => targets.push((name.clone(), item.to_ascii_uppercase())),
                Expr::Column(column) => {
                    self.env.diagnostics.clear();
                    return Err(SessionError::UndeclaredVariable(&column.column).into());
                }
                _ => return Err(errors::unsupported("GET DIAGNOSTICS")),
            }
        }
        if get.stacked {
            return Err(SessionError::StackedWithoutHandler.into());
        }
        let values = match &get.condition {
            None => self.statement_items(&targets),
            Some(number) => match self.condition_items(number, &targets)? {
                Some(values) => values,
                None => {
                    let text = "Invalid condition number";
                    self.env.diagnostics.add(Level::Error, 1758, text.into());
                    return Ok(());
                }
            },
        };
        for ((name, _), value) in targets.into_iter().zip(values) {
            let ty = match value {
                OwnedDatum::Int(_) => ColumnType::int(Kind::BigInt, false),
                _ => ColumnType::varchar(MESSAGE_CHARS_MAX as u32, Collation::default()),
            };
            self.env.set_user_variable(&name, UserVariable::of(value, &ty));
        }
        Ok(())
    }

    fn statement_items(&self, targets: &[(String, String)]) -> Vec<OwnedDatum> {
        let value = |item: &str| match item {
            "NUMBER" => self.env.diagnostics.conditions().len() as i64,
            _ => self.env.last.row_count,
        };
        targets.iter().map(|(_, item)| OwnedDatum::Int(value(item))).collect()
    }

    /// Items of one condition; `None` when there is no such condition.
    fn condition_items(
        &mut self,
        number: &Expr,
        targets: &[(String, String)],
    ) -> Result<Option<Vec<OwnedDatum>>, SqlError> {
        let value = self.evaluate(number)?;
        let number = value::format::to_text(&value.datum()).trim().parse::<usize>();
        let at = number.ok().and_then(|n| n.checked_sub(1));
        let found = at.and_then(|at| self.env.diagnostics.conditions().get(at));
        let Some(condition) = found else { return Ok(None) };
        let signalled = condition.signalled.as_deref();
        let text = |text: &str| OwnedDatum::Bytes(text.as_bytes().to_vec());
        let item = |name: &str| match name {
            "MYSQL_ERRNO" => OwnedDatum::Int(i64::from(condition.code)),
            "MESSAGE_TEXT" => text(&condition.text),
            "RETURNED_SQLSTATE" => OwnedDatum::Bytes(condition.state.to_vec()),
            "CLASS_ORIGIN" | "SUBCLASS_ORIGIN" if signalled.is_none() => {
                text(origin(&condition.state))
            }
            other => {
                let items = signalled.map_or(&[][..], |signalled| &signalled.items);
                text(items.iter().find(|(name, _)| name == other).map_or("", |(_, v)| v))
            }
        };
        Ok(Some(targets.iter().map(|(_, name)| item(name)).collect()))
    }
}

/// Who defined a class of SQLSTATEs.
fn origin(state: &[u8; 5]) -> &'static str {
    let standard = matches!(state[0], b'0'..=b'4' | b'A'..=b'H');
    if standard { "ISO 9075" } else { "MySQL" }
}

/// Five digits and capitals that do not say that all is well.
fn sqlstate(written: &[u8]) -> Result<[u8; 5], SqlError> {
    let state: Option<[u8; 5]> = written.try_into().ok();
    let good = |s: &[u8; 5]| {
        s.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) && &s[..2] != b"00"
    };
    state
        .filter(good)
        .ok_or_else(|| SqlError::from(SessionError::BadSqlstate(&String::from_utf8_lossy(written))))
}
