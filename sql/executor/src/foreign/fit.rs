//! A value of one column as the other column of a foreign key has it.
//!
//! Columns of a foreign key may differ in length, digits, and members of ENUM and SET (compared by number).

use expr::OwnedDatum;
use value::{ColumnType, ConvertMode, Datum, Kind};

/// The value to look for in a column of type `to`; `None`: that column cannot have it.
pub fn sought(value: &OwnedDatum, from: &ColumnType, to: &ColumnType) -> Option<OwnedDatum> {
    let charsets = [from, to].map(|ty| ty.collation.charset());
    if to.kind.is_string() && from.kind.is_string() && charsets[0] == charsets[1] {
        // Its length is no matter: nothing equal is there when it is too long.
        return Some(value.clone());
    }
    stored(value, from, to)
}

/// The value to store in a column of type `to`; `None`: it does not fit.
pub fn stored(value: &OwnedDatum, from: &ColumnType, to: &ColumnType) -> Option<OwnedDatum> {
    let datum = value.datum();
    match datum {
        Datum::Null => return to.nullable.then_some(OwnedDatum::Null),
        Datum::Enum(_, number) => {
            let members = to.members.filter(|_| to.kind == Kind::Enum)?;
            let has = usize::from(number) <= members.len();
            return has.then(|| OwnedDatum::of(&Datum::Enum(members, number)));
        }
        Datum::Set(_, chosen) => {
            let members = to.members.filter(|_| to.kind == Kind::Set)?;
            let has = members.len() >= 64 || chosen >> members.len() == 0;
            return has.then(|| OwnedDatum::of(&Datum::Set(members, chosen)));
        }
        _ if from.kind == to.kind && from.kind.is_int() => return Some(value.clone()),
        _ => {}
    }
    let zone = value::TimeZone::utc();
    let mut mode = ConvertMode::new(true, &zone);
    mode.dates =
        value::time::DateRules { no_zero_date: false, no_zero_in_date: false, ..mode.dates };
    mode.dates.allow_invalid = true;
    let mut scratch = Vec::new();
    let coerced = value::coerce(datum, Some(from), to, &mode, &mut scratch).ok()?;
    let same = coerced.warning.is_none()
        && (value::compare(&datum, &coerced.value, to.collation)? == std::cmp::Ordering::Equal);
    same.then(|| OwnedDatum::of(&coerced.value))
}
