//! SQL types, values, collations, row layout and memcomparable keys.
//!
//! Reading order: [`types`] (what a column is), [`datum`] (what a value is), [`charset`] and [`collation`] (what text is and how it
//! compares), [`row`] and [`key`] (how values lie on disk), [`limits`] (what a definition may be),
//! [`coerce`] (storing into a column), [`compare`], [`arith`] and [`format`] (what expressions do with values), [`name`] (identifiers).

pub mod arith;
pub mod charset;
pub mod coerce;
pub mod collation;
pub mod compare;
pub mod datum;
pub mod format;
pub mod key;
pub mod limits;
pub mod name;
pub mod number;
pub mod row;
pub mod types;

pub use arith::{ArithError, add, div, int_div, mul, neg, rem, sub};
pub use charset::Charset;
pub use coerce::{Coerced, ConvertError, Warning, coerce};
pub use collation::Collation;
pub use compare::{compare, equals};
pub use datum::Datum;
pub use key::{KeyError, KeyPart, KeySpec};
pub use limits::LimitError;
pub use row::{RowError, RowLayout};
pub use types::{ColumnType, Kind, TypeError};
