//! Storing into JSON columns.

use super::{Coerced, ConvertError};
use crate::json::JsonRef;
use crate::{Charset, ColumnType, Datum, charset};
use std::borrow::Cow;

pub(super) fn store<'a>(
    d: Datum<'a>,
    from: Option<&ColumnType>,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    match d {
        Datum::Json(bytes) => checked(d, bytes),
        Datum::Bytes(s) => {
            if from.is_some_and(|f| f.kind.is_binary_string()) {
                return Err(ConvertError::JsonOfBinary);
            }
            scratch.clear();
            let charset = from.map_or(Charset::Utf8mb4, |f| f.collation.charset());
            let text = match charset {
                Charset::Utf8mb3 => Cow::Borrowed(s),
                charset => charset::converted(s, charset, Charset::Utf8mb4).0,
            };
            crate::json::parse(&text, scratch)
                .map_err(|e| ConvertError::InvalidJson { what: e.what, at: e.at })?;
            checked(Datum::Json(scratch), scratch)
        }
        _ => {
            let what = "not a JSON text, may need CAST".into();
            Err(ConvertError::InvalidJson { what, at: 0 })
        }
    }
}

/// A document whose keys are short enough to be stored.
fn checked<'a>(d: Datum<'a>, bytes: &[u8]) -> Result<Coerced<'a>, ConvertError> {
    match crate::json::has_long_key(JsonRef::new(bytes)) {
        true => Err(ConvertError::JsonKeyTooLong),
        false => Ok(Coerced::plain(d)),
    }
}
