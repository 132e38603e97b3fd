//! SQL types, values, collations, row layout and memcomparable keys.
//!
//! Reading order: [`kind`] and [`types`] (what a column is), [`datum`] (what a value is), [`decimal`],
//! [`time`], [`json`] and [`members`] (values with a shape of their own), [`charset`] and [`collation`] (what text is and how it
//! compares), [`row`] and [`key`] (how values lie on disk), [`limits`] (what a definition may be),
//! [`coerce`] (storing into a column), [`compare`], [`arith`] and [`format`] (what expressions do with
//! values), [`name`] (identifiers).

pub mod arith;
pub mod charset;
pub mod coerce;
pub mod collation;
pub mod compare;
pub mod datum;
pub mod decimal;
pub mod format;
pub mod json;
pub mod key;
pub mod kind;
pub mod limits;
pub mod members;
pub mod name;
pub mod number;
pub mod row;
pub mod time;
mod type_text;
pub mod types;

pub use arith::{ArithError, add, div, div_with, int_div, mul, neg, rem, sub, sub_signed};
pub use charset::Charset;
pub use coerce::{Coerced, ConvertError, ConvertMode, Warning, coerce, held_int};
pub use collation::Collation;
pub use compare::{compare, equals};
pub use datum::{Datum, OwnedDatum};
pub use decimal::Decimal;
pub use key::{KeyError, KeyPart, KeySpec};
pub use kind::Kind;
pub use limits::LimitError;
pub use members::Members;
pub use row::{RowError, RowLayout};
pub use time::{Date, DateTime, Time, TimeZone};
pub use types::{ColumnType, TypeError};
