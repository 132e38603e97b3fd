//! Values as MySQL's text protocol prints them.

use crate::Datum;

/// Appends the text of a value; NULL appends nothing (the protocol marks it otherwise).
pub fn append_text(d: &Datum<'_>, out: &mut Vec<u8>) {
    match *d {
        Datum::Null => {}
        Datum::Bytes(b) => out.extend_from_slice(b),
        Datum::Int(v) => out.extend_from_slice(v.to_string().as_bytes()),
        Datum::UInt(v) => out.extend_from_slice(v.to_string().as_bytes()),
        Datum::Double(_) | Datum::Decimal { .. } => {}
    }
}
