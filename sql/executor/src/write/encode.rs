//! Stage 3: a complete row becomes bytes; and back.

use super::error::RowError;
use crate::{Environment, SqlError};
use expr::OwnedDatum;
use planner::plan::RowCheck;
use value::{Datum, RowLayout};

/// Encodes a complete row.
pub fn encode(
    layout: &RowLayout,
    values: &[OwnedDatum],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    append(layout, values, out)
}

/// As [`encode`], behind what `out` holds.
pub fn append(
    layout: &RowLayout,
    values: &[OwnedDatum],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let bytes = values.iter().map(|v| v.datum().as_stored_bytes().map_or(0, <[u8]>::len));
    out.reserve(layout.bytes_min() + bytes.sum::<usize>());
    append_columns(layout, |column| Ok(values[column].datum()), out)
}

/// Encodes a row with the values of another one but for the `assigned` columns; the last value of a column counts.
pub fn encode_with(
    layout: &RowLayout,
    row: &[u8],
    assigned: &[(usize, OwnedDatum)],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    out.extend_from_slice(row);
    let given = assigned.iter().map(|(column, value)| (*column, value.datum()));
    if layout.set_fixed(out, given).map_err(expr::damaged)? {
        return Ok(());
    }
    let value = |column| match assigned.iter().rfind(|(c, _)| *c == column) {
        Some((_, value)) => Ok(value.datum()),
        None => layout.decode(row, column),
    };
    out.clear();
    append_columns(layout, value, out)
}

/// As [`append`], of the values that `value` has for each column.
pub fn append_columns<'v>(
    layout: &RowLayout,
    value: impl Fn(usize) -> Result<Datum<'v>, value::row::RowError>,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    layout.encode_columns(&value, out).map_err(|error| {
        let values = (0..layout.columns()).filter_map(|column| value(column).ok());
        let bytes = values.map(|v| v.as_bytes().map_or(8, <[u8]>::len)).sum();
        match error.what {
            _ if bytes > value::row::ROW_BYTES_MAX => SqlError::Storage(base::Error::RowTooLarge {
                bytes,
                limit: value::row::ROW_BYTES_MAX,
            }),
            _ => expr::damaged(error),
        }
    })
}

/// The values of a stored row, replacing what `values` held.
///
/// # Errors
/// The row is damaged.
pub fn decode(
    layout: &RowLayout,
    row: &[u8],
    values: &mut Vec<OwnedDatum>,
) -> Result<(), SqlError> {
    values.clear();
    for column in 0..layout.columns() {
        values.push(OwnedDatum::of(&layout.decode(row, column).map_err(expr::damaged)?));
    }
    Ok(())
}

/// 1369 for a row that does not satisfy a view's check option.
///
/// # Errors
/// 1369, those of evaluation.
pub fn check_row(
    check: Option<&RowCheck>,
    layout: &RowLayout,
    row: &[u8],
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    let Some(check) = check else { return Ok(()) };
    match expr::condition(&check.condition, &expr::Row::one(layout, row, &[]), env)? {
        Some(true) => Ok(()),
        _ => Err(RowError::ViewCheck(&check.view).into()),
    }
}
