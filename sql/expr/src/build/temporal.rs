//! Dates and times while expressions are built: literals, intervals, text compared with them.

use super::Builder;
use crate::SqlError;
use crate::tree::Typed;
use parser::ast::{IntervalUnit, TemporalKind};
use value::Kind;
use value::time::Unit;

impl Builder {
    pub(super) fn temporal_literal(
        &self,
        _kind: TemporalKind,
        _text: &[u8],
    ) -> Result<Typed, SqlError> {
        Err(SqlError::unsupported("temporal literal"))
    }

    /// `date + INTERVAL n unit`.
    ///
    /// # Errors
    /// 1210 for what is no date.
    pub fn add_interval(
        &self,
        _date: Typed,
        _n: Typed,
        _unit: Unit,
        _negative: bool,
    ) -> Result<Typed, SqlError> {
        Err(SqlError::unsupported("INTERVAL"))
    }

    pub(super) fn temporal_constant(&self, value: Typed, _kind: Kind) -> Result<Typed, SqlError> {
        Ok(value)
    }

    pub(super) fn json_of_text(&self, value: Typed) -> Result<Typed, SqlError> {
        Ok(value)
    }
}

/// A unit of the syntax.
pub(super) fn unit(unit: IntervalUnit) -> Unit {
    let name = format!("{unit:?}");
    let mut words = String::new();
    for (n, ch) in name.chars().enumerate() {
        if n > 0 && ch.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(ch);
    }
    Unit::from_name(&words).unwrap_or(Unit::Day)
}

/// A unit by its word.
pub(super) fn unit_word(word: &str) -> Result<Unit, SqlError> {
    let word = word.strip_prefix("SQL_TSI_").unwrap_or(word);
    Unit::from_name(word).ok_or_else(|| SqlError::unsupported(format!("unit {word}")))
}
