//! Dates and times while expressions are built: literals, intervals, text compared with them.

use super::Builder;
use super::operand_coercion::Strictness;
use crate::SqlError;
use crate::functions;
use crate::refused::Refused;
use crate::tree::{Expr, Extra, OwnedDatum, Typed};
use parser::ast::{IntervalUnit, TemporalKind};
use value::time::{DateRules, Unit, parse};
use value::{ColumnType, Kind};

impl Builder {
    /// Error 1525 for a literal that is none.
    pub(super) fn temporal_literal(
        &self,
        kind: TemporalKind,
        text: &[u8],
    ) -> Result<Typed, SqlError> {
        let (value, name) = match kind {
            TemporalKind::Date => {
                (self.moment(text, true).map(|v| OwnedDatum::Date(v.date())), "DATE")
            }
            TemporalKind::Time => {
                let whole = |r: &parse::TimeText| !r.cut && !r.beyond && !r.had_date;
                let read = parse::time(text).ok().filter(whole).filter(|_| !text.is_empty());
                (read.map(|r| OwnedDatum::Time(r.value)), "TIME")
            }
            TemporalKind::Timestamp if let Some(moment) = self.zoned(text) => return Ok(moment),
            TemporalKind::Timestamp => {
                (self.moment(text, false).map(OwnedDatum::DateTime), "DATETIME")
            }
        };
        let value = value.ok_or_else(|| incorrect(name, text))?;
        Ok(constant(value))
    }

    /// Which dates the session takes.
    fn rules(&self) -> DateRules {
        use functions::moments::mode;
        let set = |bit| self.settings.sql_mode & bit != 0;
        DateRules {
            no_zero_date: set(mode::NO_ZERO_DATE),
            no_zero_in_date: set(mode::NO_ZERO_IN_DATE),
            allow_invalid: set(mode::ALLOW_INVALID_DATES),
        }
    }

    /// A text that is wholly a date, or wholly a date with a time.
    fn moment(&self, text: &[u8], date_only: bool) -> Option<value::DateTime> {
        let read = parse::date_time(text, self.rules()).ok()?;
        (!read.cut && !read.utc && date_only == read.date_only).then_some(read.value)
    }

    /// A text with a displacement of its own, as a moment in the session's time zone.
    fn zoned(&self, text: &[u8]) -> Option<Typed> {
        let read =
            parse::date_time(text, self.rules()).ok().filter(|read| read.utc && !read.cut)?;
        let micros = value::time::zone::utc_micros(read.value)?;
        let fsp = read.value.fsp();
        let moment = OwnedDatum::Timestamp(micros, fsp);
        let ty = ColumnType::temporal(Kind::DateTime, fsp).not_null();
        let moment = Typed::new(Expr::Const(moment), ty);
        let expr = super::derive::call(&functions::IN_ZONE, &moment, ty);
        Some(Typed { expr, ..moment })
    }

    /// `date + INTERVAL n unit`.
    ///
    /// # Errors
    /// 1210 for what is no date.
    pub fn add_interval(
        &self,
        date: Typed,
        n: Typed,
        unit: Unit,
        negative: bool,
    ) -> Result<Typed, SqlError> {
        let name = if negative { "- interval" } else { "+ interval" };
        let date = super::conversion::as_moment(date);
        self.invoke(functions::known(name)?, vec![date, n], Extra::Unit(unit))
    }

    /// A constant text beside a date, as a moment; `None` when that can only be said, or warned of, at run time.
    pub(super) fn temporal_constant(
        &self,
        value: &Typed,
        kind: Kind,
        strictness: Strictness,
    ) -> Result<Option<Typed>, SqlError> {
        let Some(OwnedDatum::Bytes(text)) = value.constant() else { return Ok(None) };
        match parse::date_time(text, self.rules()) {
            Ok(read) if !read.utc && !read.cut && read.delimiter.is_none() => {
                Ok(Some(constant(OwnedDatum::DateTime(read.value))))
            }
            Err(_) if strictness == Strictness::Refuse => {
                let name = match kind {
                    Kind::Date => "DATE",
                    Kind::Timestamp => "TIMESTAMP",
                    _ => "DATETIME",
                };
                Err(incorrect(name, text))
            }
            _ => Ok(None),
        }
    }
}

fn incorrect(kind: &str, text: &[u8]) -> SqlError {
    Refused::WrongLiteral(kind, &String::from_utf8_lossy(text)).into()
}

pub(super) fn constant(value: OwnedDatum) -> Typed {
    let ty = match &value {
        OwnedDatum::Date(_) => ColumnType::of(Kind::Date),
        OwnedDatum::Time(v) => ColumnType::temporal(Kind::Time, v.fsp()),
        OwnedDatum::DateTime(v) => ColumnType::temporal(Kind::DateTime, v.fsp()),
        _ => ColumnType::of(Kind::DateTime),
    };
    Typed::new(Expr::Const(value), ty.not_null())
}

/// A unit of the syntax.
pub(super) fn unit(unit: IntervalUnit) -> Unit {
    Unit::from_name(unit.word()).unwrap_or(Unit::Day)
}

/// A unit by its word.
pub(super) fn unit_word(word: &str) -> Result<Unit, SqlError> {
    let word = word.strip_prefix("SQL_TSI_").unwrap_or(word);
    Unit::from_name(word).ok_or_else(|| SqlError::unsupported(format!("unit {word}")))
}
