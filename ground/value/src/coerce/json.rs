//! Storing into JSON columns.

use super::{Coerced, ConvertError};
use crate::{ColumnType, Datum};

pub(super) fn store<'a>(
    d: Datum<'a>,
    from: Option<&ColumnType>,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    match d {
        Datum::Json(_) => Ok(Coerced::plain(d)),
        Datum::Bytes(s) => {
            if from.is_some_and(|f| f.kind.is_binary_string()) {
                return Err(ConvertError::JsonOfBinary);
            }
            scratch.clear();
            crate::json::parse(s, scratch)
                .map_err(|e| ConvertError::InvalidJson { what: e.what, at: e.at })?;
            Ok(Coerced::plain(Datum::Json(scratch)))
        }
        _ => {
            let what = "not a JSON text, may need CAST".into();
            Err(ConvertError::InvalidJson { what, at: 0 })
        }
    }
}
