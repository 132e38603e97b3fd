//! Values of parameters, and the types that a statement was planned for.
//!
//! 1. A value is of the type that its parameter is planned for when the plan runs, NULL, or in a place that takes all.
//! 2. Values of other types make the statement planned anew for the types of its values; from then on it is planned
//!    for those. Text never does unless it is a number of another kind: it is read as what is wanted.

use crate::{Environment, Prepared, WarningLevel};
use planner::parameters::{DECIMALS, Parameter, ParameterType, Parameters, Takes};
use value::number::{Rest, double_of_text, int_of_text};
use value::time::{DateRules, parse};
use value::{Datum, Decimal};

/// How a value meets its parameter.
enum Met {
    /// It is of the type, whatever its value.
    Same,
    /// Another value stands for it; the next one has to be looked at again.
    Read(ParameterValue),
    /// It asks for a plan for this type.
    Other(ParameterType),
}

/// A value that stands for another, and the text that it could not be read from wholly.
struct ParameterValue {
    value: Datum<'static>,
    incorrect: bool,
}

impl Prepared {
    /// Fits values to the types of the parameters, or the types to the values. True: the next values are fit if
    /// they have the same types and none is NULL.
    pub fn settle(&mut self, values: &mut [Datum<'_>], env: &mut dyn Environment) -> bool {
        let (mut settled, mut others, mut read) = (true, false, false);
        for (parameter, value) in self.parameters().iter().zip(values.iter()) {
            match meet(parameter, value) {
                Met::Same => settled &= !value.is_null(),
                Met::Read(_) => read = true,
                Met::Other(_) => others = true,
            }
        }
        if others {
            self.retype(values);
        }
        if read || others {
            settled = false;
            self.read(values, env);
        }
        settled
    }

    /// Puts those values that are read as another in its place.
    fn read(&self, values: &mut [Datum<'_>], env: &mut dyn Environment) {
        for (parameter, value) in self.parameters().iter().zip(values.iter_mut()) {
            let Met::Read(read) = meet(parameter, value) else { continue };
            if read.incorrect {
                warn(parameter.planned, value, env);
            }
            *value = read.value;
        }
    }

    /// Asks for a plan for the types of these values.
    fn retype(&mut self, values: &[Datum<'_>]) {
        let mut retyped = self.parameters().to_vec();
        for (parameter, value) in retyped.iter_mut().zip(values) {
            if matches!(parameter.takes, Takes::All | Takes::Count) || value.is_null() {
                continue;
            }
            match meet(parameter, value) {
                Met::Other(ty) => parameter.planned = ty,
                Met::Read(_) if matches!(value, Datum::Bytes(_)) => {}
                _ => parameter.planned = type_of(value),
            }
        }
        self.retyped = Some(retyped);
    }

    /// The parameters, in the order of their markers; empty where nothing was planned.
    pub fn parameters(&self) -> &[Parameter] {
        self.retyped.as_deref().unwrap_or(&self.program.parameters)
    }
}

/// Parameters of the types of these values, for a statement that is planned at each of its runs, and the values as
/// such parameters have them.
pub(crate) fn of_values<'v>(values: &[Datum<'v>]) -> (Parameters, Vec<Datum<'v>>) {
    let parameter = |value: &Datum<'_>| {
        let planned = type_of(value);
        Parameter { announced: planned, planned, takes: Takes::Typed }
    };
    let fit = |value: &Datum<'v>| match value {
        Datum::Decimal(v) => decimal(*v),
        other => *other,
    };
    let list = values.iter().map(parameter).collect();
    (Parameters::of(list), values.iter().map(fit).collect())
}

/// A value's own type.
fn type_of(value: &Datum<'_>) -> ParameterType {
    match value {
        Datum::Int(_) => ParameterType::Int,
        Datum::UInt(_) => ParameterType::UInt,
        Datum::Double(_) => ParameterType::Double,
        Datum::Decimal(_) => ParameterType::Decimal,
        Datum::Date(_) => ParameterType::Date,
        Datum::DateTime(_) => ParameterType::DateTime,
        Datum::Time(_) => ParameterType::Time,
        _ => ParameterType::Text,
    }
}

fn meet(parameter: &Parameter, value: &Datum<'_>) -> Met {
    use ParameterType as T;
    let planned = parameter.planned;
    match (parameter.takes, value) {
        (_, Datum::Null) | (Takes::All, _) => return Met::Same,
        (Takes::Count, Datum::Bytes(text)) => return integer(text, T::UInt),
        (Takes::Count, _) => return Met::Same,
        (Takes::Own, value) if type_of(value) == planned => return Met::Same,
        (Takes::Own, value) => return Met::Other(type_of(value)),
        (Takes::Typed | Takes::Shown, _) => {}
    }
    match (planned, value) {
        (T::Double, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_)) => {
            clean(Datum::Double(double_of(value)))
        }
        (T::Decimal, Datum::Int(v)) => clean(decimal(Decimal::from_i128((*v).into(), 0))),
        (T::Decimal, Datum::UInt(v)) => clean(decimal(Decimal::from_i128((*v).into(), 0))),
        (T::Decimal, Datum::Decimal(_)) if parameter.takes == Takes::Shown => Met::Same,
        (T::Decimal, Datum::Decimal(v)) if v.scale() == DECIMALS => Met::Same,
        (T::Decimal, Datum::Decimal(v)) => clean(decimal(*v)),
        (T::DateTime, Datum::Date(v)) => clean(Datum::DateTime(v.midnight())),
        (T::Int | T::UInt, Datum::Bytes(text)) => integer(text, planned),
        (T::Decimal, Datum::Bytes(text)) => {
            let read = Decimal::from_text(text);
            let incorrect = read.rest != Rest::Clean;
            Met::Read(ParameterValue { value: decimal(read.value), incorrect })
        }
        (T::Double, Datum::Bytes(text)) => {
            let (value, rest) = double_of_text(text);
            let incorrect = rest != Rest::Clean;
            Met::Read(ParameterValue { value: Datum::Double(value), incorrect })
        }
        (T::Date | T::DateTime | T::Time, _) if !is_moment(value) => moment(planned, value),
        (planned, value) if planned == type_of(value) => Met::Same,
        (_, value) => Met::Other(type_of(value)),
    }
}

fn clean(value: Datum<'static>) -> Met {
    Met::Read(ParameterValue { value, incorrect: false })
}

fn is_moment(value: &Datum<'_>) -> bool {
    matches!(value, Datum::Date(_) | Datum::DateTime(_) | Datum::Time(_))
}

/// A decimal with the digits of a parameter's type, where they fit.
fn decimal(value: Decimal) -> Datum<'static> {
    Datum::Decimal(value.round(DECIMALS.into()).unwrap_or(value))
}

fn double_of(value: &Datum<'_>) -> f64 {
    match value {
        Datum::Int(v) => *v as f64,
        Datum::UInt(v) => *v as f64,
        Datum::Decimal(v) => v.to_f64(),
        _ => 0.0,
    }
}

/// Text for an integer: a number that is none asks for a decimal, what is no number is cut off.
fn integer(text: &[u8], wanted: ParameterType) -> Met {
    let whole = !text.iter().any(|b| matches!(b, b'.' | b'e' | b'E'));
    let read = int_of_text(text);
    let incorrect = read.rest != Rest::Clean;
    if !whole && !incorrect {
        return Met::Other(ParameterType::Decimal);
    }
    let value = match wanted {
        ParameterType::UInt => u64::try_from(read.value).ok().map(Datum::UInt),
        _ => i64::try_from(read.value).ok().map(Datum::Int),
    };
    match value {
        Some(value) => Met::Read(ParameterValue { value, incorrect }),
        None if i64::try_from(read.value).is_ok() => Met::Other(ParameterType::Int),
        None => Met::Other(ParameterType::Decimal),
    }
}

/// Text or a number for a date or a time: a date with a time of day asks for DATETIME, what is none becomes NULL.
fn moment(wanted: ParameterType, value: &Datum<'_>) -> Met {
    let incorrect = Met::Read(ParameterValue { value: Datum::Null, incorrect: true });
    if wanted == ParameterType::Time {
        let read = match value {
            Datum::Bytes(text) => parse::time(text),
            Datum::Int(number) => parse::time_of_number(*number, 0),
            _ => return Met::Other(type_of(value)),
        };
        return read.map_or(incorrect, |read| clean(Datum::Time(read.value)));
    }
    let rules = DateRules::default();
    let read = match value {
        Datum::Bytes(text) => parse::date_time(text, rules),
        Datum::Int(number) => parse::date_time_of_number(*number, 0, rules),
        _ => return Met::Other(type_of(value)),
    };
    match read {
        // An offset counts for the session's time zone, which text keeps to.
        Ok(read) if read.utc => Met::Other(ParameterType::Text),
        Ok(read) if wanted == ParameterType::DateTime => clean(Datum::DateTime(read.value)),
        Ok(read) if read.date_only => clean(Datum::Date(read.value.date())),
        Ok(_) => Met::Other(ParameterType::DateTime),
        Err(_) => incorrect,
    }
}

/// 1292 for a value that is not what its parameter is planned for.
fn warn(planned: ParameterType, value: &Datum<'_>, env: &mut dyn Environment) {
    const SHOWN_MAX: usize = 128;
    let mut text = Vec::new();
    value::format::append_text(value, &mut text);
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN_MAX)]);
    let said = match planned {
        ParameterType::Decimal => format!("Truncated incorrect DECIMAL value: '{shown}'"),
        ParameterType::Double => format!("Truncated incorrect DOUBLE value: '{shown}'"),
        ParameterType::Time => format!("Incorrect time value: '{shown}'"),
        ParameterType::Date | ParameterType::DateTime => {
            format!("Incorrect datetime value: '{shown}'")
        }
        _ => format!("Truncated incorrect INTEGER value: '{shown}'"),
    };
    env.warn(WarningLevel::Warning, 1292, said);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(planned: ParameterType, value: &Datum<'_>) -> String {
        match meet(&Parameter { announced: planned, planned, takes: Takes::Typed }, value) {
            Met::Same => "same".into(),
            Met::Other(ty) => format!("as {ty:?}"),
            Met::Read(ParameterValue { value, incorrect }) => {
                let mark = if incorrect { " cut" } else { "" };
                format!("{}{mark}", value::format::to_text(&value))
            }
        }
    }

    #[test]
    fn text_is_read_as_the_number_that_is_wanted() {
        use ParameterType as T;
        for (planned, text, expected) in [
            (T::Int, "5", "5"),
            (T::Int, "5abc", "5 cut"),
            (T::Int, "x", "0 cut"),
            (T::Int, "2.5", "as Decimal"),
            (T::Int, "18446744073709551615", "as Decimal"),
            (T::UInt, "18446744073709551615", "18446744073709551615"),
            (T::UInt, "-1", "as Int"),
            (T::Double, "2.5", "2.5"),
            (T::Date, "2020-01-01", "2020-01-01"),
            (T::Date, "2020-01-01 10:00:00", "as DateTime"),
            (T::DateTime, "garbage", "NULL cut"),
            (T::Text, "5", "same"),
        ] {
            assert_eq!(
                read(planned, &Datum::Bytes(text.as_bytes())),
                expected,
                "{planned:?} {text}"
            );
        }
    }

    #[test]
    fn numbers_of_another_kind_are_converted_or_planned_for() {
        use ParameterType as T;
        assert_eq!(read(T::Int, &Datum::Int(5)), "same");
        assert_eq!(read(T::Int, &Datum::UInt(5)), "as UInt");
        assert_eq!(read(T::Int, &Datum::Double(5.0)), "as Double");
        assert_eq!(read(T::Double, &Datum::Int(5)), "5");
        assert_eq!(read(T::Text, &Datum::Int(5)), "as Int");
        assert_eq!(read(T::Decimal, &Datum::Int(5)), format!("5.{}", "0".repeat(30)));
        assert_eq!(read(T::Date, &Datum::Int(20_200_101)), "2020-01-01");
        assert_eq!(read(T::Text, &Datum::Null), "same");
    }
}
