//! Constants beside columns of dates and times, tried once before the statement runs.
//!
//! 1. Operators, BETWEEN and NULLIF store a constant in the column first, as it were: what does not fit is warned
//!    of (1292 `for column`), once, and ends a strict change of rows. 2. Text beside a date that is none ends with
//!    1525 behind the warning ([`Resolver::operator`]); text of which something is left over is the date before
//!    it; beside a time both are texts.

use super::Resolver;
use expr::functions::moments::mode;
use expr::tree::{Expr, OwnedDatum, Typed};
use value::time::{DateRules, parse};
use value::{ConvertMode, DateTime, Datum, Kind, TimeZone};

impl Resolver<'_, '_> {
    /// The two sides of a comparison, the constant one tried.
    pub(super) fn tried(&mut self, a: Typed, b: Typed) -> (Typed, Typed) {
        let a = self.computed(a, &b);
        let b = self.computed(b, &a);
        let first = self.tried_as_column(a.clone(), &b, false);
        (first, self.tried_as_column(b, &a, false))
    }

    /// A limit of BETWEEN: what is no date is the zero date.
    pub(super) fn limit(&mut self, limit: Typed, value: &Typed) -> Typed {
        let limit = self.computed(limit, value);
        self.tried_as_column(limit, value, true)
    }

    /// A text that is computed of constants, as the text that it is, beside a date or time.
    fn computed(&self, value: Typed, other: &Typed) -> Typed {
        match other.ty.kind.has_date() || other.ty.kind == Kind::Time {
            true => expr::build::folded_text(value, &self.context.settings),
            false => value,
        }
    }

    fn tried_as_column(&mut self, value: Typed, other: &Typed, limit: bool) -> Typed {
        let temporal = other.ty.kind.has_date() || other.ty.kind == Kind::Time;
        if !temporal {
            return value;
        }
        let constant = expr::build::folded(&value, &self.context.settings);
        let Some(constant) = constant else { return value };
        let tried = matches!(
            constant,
            OwnedDatum::Int(_)
                | OwnedDatum::UInt(_)
                | OwnedDatum::Decimal(_)
                | OwnedDatum::Double(_)
                | OwnedDatum::Bytes(_)
        );
        if !tried {
            return value;
        }
        let Some(column) = self.column_name(other) else { return value };
        match constant.datum() {
            Datum::Bytes(text) => {
                let tried = self.text_tried_as(text, &column, other.ty.kind, limit);
                tried.unwrap_or(value)
            }
            number => {
                self.try_number(number, &column, other);
                value
            }
        }
    }

    /// The moment that stands for a text, where that is another than the text's own.
    fn text_tried_as(
        &mut self,
        text: &[u8],
        column: &str,
        kind: Kind,
        limit: bool,
    ) -> Option<Typed> {
        let rules = self.date_rules();
        let shown = String::from_utf8_lossy(text).into_owned();
        if kind == Kind::Time {
            if !parse::time(text).is_ok_and(|read| !read.cut && !read.beyond) {
                self.not_for_column("time", &shown, column);
            }
            return None;
        }
        let moment = match parse::date_time(text, rules) {
            Ok(read) if read.cut && !read.utc => read.value,
            Err(_) if limit => DateTime::ZERO,
            _ => return None,
        };
        self.not_for_column(type_in_errors(kind), &shown, column);
        let ty = value::ColumnType::temporal(Kind::DateTime, moment.fsp()).not_null();
        Some(Typed::new(Expr::Const(OwnedDatum::DateTime(moment)), ty))
    }

    fn try_number(&mut self, number: Datum<'_>, column: &str, other: &Typed) {
        let zone = TimeZone::utc();
        // Days that no month has are taken, and 0 is the zero date.
        let dates = DateRules { allow_invalid: true, no_zero_date: false, ..self.date_rules() };
        let conversion = ConvertMode { dates, ..ConvertMode::new(true, &zone) };
        let mut scratch = Vec::new();
        let stored = value::coerce(number, None, &other.ty, &conversion, &mut scratch);
        let Err(error) = stored else { return };
        let (_, _, text) = error.parts("", column, 1);
        self.context.warnings.push((1292, text));
    }

    fn not_for_column(&mut self, kind: &str, shown: &str, column: &str) {
        let text = format!("Incorrect {kind} value: '{shown}' for column '{column}' at row 1");
        self.context.warnings.push((1292, text));
    }

    fn date_rules(&self) -> DateRules {
        let set = |bit| self.context.settings.has_mode(bit);
        DateRules {
            no_zero_date: set(mode::NO_ZERO_DATE),
            no_zero_in_date: set(mode::NO_ZERO_IN_DATE),
            allow_invalid: set(mode::ALLOW_INVALID_DATES),
        }
    }
}

/// What MySQL calls the type of a column with a date.
fn type_in_errors(kind: Kind) -> &'static str {
    if kind == Kind::Date { "date" } else { "datetime" }
}
