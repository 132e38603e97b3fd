//! The function registry: one entry per function with its arity, null rule, purity, result type,
//! implementation and one line of text.
//!
//! 1. An entry is found once, when a call is built; what runs is a function pointer in the call's site.
//! 2. Arguments of a function that propagates NULL are never NULL when it runs. 3. A function takes its
//! arguments out of [`Call`], so that text it gives back whole or in part is not copied.

pub(crate) mod call;
mod cast;
mod compared;
mod control;
mod hashing;
mod information;
pub mod json;
mod locks;
mod misc;
pub mod moments;
mod number_format;
mod numeric;
mod operators;
mod regexp;
mod string;
mod string_parts;
mod temporal;
mod temporal_text;

pub use call::{
    Answer, Call, append_text, bits_of, double_of, incorrect, leading_integer, number_of_bits,
    round, text_of,
};
pub use cast::{
    AS_ALIKE, AS_CHARSET, BARE_WHOLE, CAST, CONVERT_CHARSET, DOUBLE_WITHIN, IN_ZONE, PADDED,
    ZERO_KEPT, not_convertible,
};
pub use compared::{
    AS_DAY, AS_INTEGER_QUIETLY, AS_LISTED_MOMENT, AS_LISTED_SPAN, AS_MOMENT, AS_NUMBER,
    AS_NUMBER_QUIETLY, AS_SPAN, TEMPORAL_OF_TEXT, is_conversion, is_number_of_text,
};
pub use numeric::{Random, moments_of};
pub use string::base64;

use crate::build::Derive;
use crate::row::Row;
use crate::tree::{CallSite, Extra};
use crate::{Environment, SqlError};
use std::collections::HashMap;
use std::sync::LazyLock;
use value::ColumnType;

/// What becomes of NULL arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// One NULL argument makes the result NULL; the function is not called.
    Propagate,
    /// The function sees them.
    Own,
}

/// For how long a result over equal arguments is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purity {
    /// For ever.
    Constant,
    /// Within a statement: NOW().
    Statement,
    /// Never: RAND(), UUID(), SLEEP().
    Volatile,
}

/// An implementation over evaluated arguments.
pub type Values = for<'c, 'v> fn(&mut Call<'c, 'v>) -> Answer<'v>;

/// The implementation.
#[derive(Clone, Copy)]
pub enum Run {
    /// Over evaluated arguments.
    Values(Values),
    /// Evaluates its arguments itself.
    Lazy(for<'v> fn(&'v CallSite, &Row<'v>, &mut dyn Environment) -> Answer<'v>),
}

/// How a call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `name(a, b)`
    Call,
    /// `(a name b)`
    Infix,
    /// `name a`
    Prefix,
    /// `cast(a as type)`
    Cast,
    /// `a`: a conversion that nobody wrote.
    Bare,
    /// `a member of (b)`
    MemberOf,
    /// `name(a, b)` over `a` and the comparison `a = b`
    NullIf,
}

/// Derives the result type of a call.
pub type DeriveType = fn(&mut Derive<'_>) -> Result<ColumnType, SqlError>;

/// A registry entry.
pub struct Function {
    /// Name in lower case.
    pub name: &'static str,
    /// Least and greatest number of arguments.
    pub arity: (usize, usize),
    /// What becomes of NULL.
    pub nulls: Nulls,
    /// How long results hold.
    pub purity: Purity,
    /// How a call is printed.
    pub shape: Shape,
    /// Result type.
    pub derive: DeriveType,
    /// Implementation.
    pub run: Run,
    /// What it does.
    pub doc: &'static str,
}

/// Whether a function takes its one argument as a date or a time.
pub fn reads_a_moment(function: &Function) -> bool {
    const NUMBERS: &[&str] = &["from_days", "sec_to_time", "unix_timestamp"];
    let temporal = temporal::FUNCTIONS.iter().any(|f| f.name == function.name);
    temporal && function.arity.1 == 1 && !NUMBERS.contains(&function.name)
}

/// Whether a function takes a time that IF or CASE chooses among moments for itself.
pub fn reads_a_time(function: &Function) -> bool {
    const READERS: &[&str] = &["time", "hour", "minute", "second", "microsecond", "time_to_sec"];
    READERS.contains(&function.name)
}

/// Whether a function takes its arguments as integers of 64 bits.
pub fn reads_bits(function: &Function) -> bool {
    function.name == "bit_count" || operators::FUNCTIONS.iter().any(|f| f.name == function.name)
}

/// Whether a function takes its arguments as numbers, given whether all of them are byte strings.
pub fn reads_numbers(function: &Function, bytes: bool) -> bool {
    // By name: a table may be in memory more than once.
    let of = |table: &[Function]| table.iter().any(|f| f.name == function.name);
    let other = matches!(function.name, "crc32" | "greatest" | "least");
    let bits = reads_bits(function);
    !(other || bits && bytes) && (bits || of(numeric::FUNCTIONS))
}

/// The places of the arguments that a function of texts or moments takes as numbers.
pub fn numbers_of(name: &str, extra: Extra) -> std::ops::Range<usize> {
    match name {
        "from_days" | "sec_to_time" | "from_unixtime" | "elt" | "inet_ntoa" | "make_set" => 0..1,
        "export_set" => 0..1,
        "makedate" | "period_add" | "period_diff" => 0..2,
        "maketime" => 0..3,
        "char" => 0..MANY,
        "week" | "yearweek" | "repeat" | "left" | "right" | "lpad" | "rpad" | "format" => 1..2,
        "substring" | "substr" | "mid" | "insert" => 1..3,
        "substring_index" | "locate" => 2..3,
        "+ interval" | "- interval" => match extra {
            Extra::Unit(unit) if unit.is_simple() => 1..2,
            _ => 0..0,
        },
        _ => 0..0,
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::hash::Hash for Function {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Any number of arguments.
pub const MANY: usize = usize::MAX;

/// An entry that propagates NULL and is constant over constant arguments.
const fn function(
    name: &'static str,
    arity: (usize, usize),
    derive: DeriveType,
    run: Values,
    doc: &'static str,
) -> Function {
    Function {
        name,
        arity,
        nulls: Nulls::Propagate,
        purity: Purity::Constant,
        shape: Shape::Call,
        derive,
        run: Run::Values(run),
        doc,
    }
}

impl Function {
    const fn sees_null(mut self) -> Function {
        self.nulls = Nulls::Own;
        self
    }

    const fn per_statement(mut self) -> Function {
        self.purity = Purity::Statement;
        self
    }

    const fn volatile(mut self) -> Function {
        self.purity = Purity::Volatile;
        self
    }

    const fn written(mut self, shape: Shape) -> Function {
        self.shape = shape;
        self
    }
}

/// Every entry, by theme.
static THEMES: &[&[Function]] = &[
    string::FUNCTIONS,
    string_parts::FUNCTIONS,
    number_format::FUNCTIONS,
    numeric::FUNCTIONS,
    operators::FUNCTIONS,
    control::FUNCTIONS,
    cast::FUNCTIONS,
    information::FUNCTIONS,
    hashing::FUNCTIONS,
    regexp::FUNCTIONS,
    misc::FUNCTIONS,
    temporal::FUNCTIONS,
    temporal_text::FUNCTIONS,
    locks::FUNCTIONS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> =
    LazyLock::new(|| all().map(|f| (f.name, f)).collect());

/// Every entry.
pub fn all() -> impl Iterator<Item = &'static Function> {
    THEMES.iter().chain(&json::THEMES).flat_map(|theme| theme.iter())
}

/// The entry of a name, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    const NAME_MAX: usize = 40;
    let mut lower = [0; NAME_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    BY_NAME.get(std::str::from_utf8(lower).ok()?).copied()
}

/// Whether MySQL has a function of that name that is not there yet.
pub fn is_known_to_mysql(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "st_",
        "mbr",
        "gtid_",
        "ps_",
        "wait_for_",
        "source_pos",
        "master_pos",
        "multi",
        "line",
        "point",
        "poly",
        "geom",
        "asynchronous_",
        "group_replication_",
    ];
    const NAMES: &[&str] = &[
        "adddate",
        "addtime",
        "convert_tz",
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "curtime",
        "date",
        "date_add",
        "date_format",
        "date_sub",
        "datediff",
        "day",
        "dayname",
        "dayofmonth",
        "dayofweek",
        "dayofyear",
        "extract",
        "extractvalue",
        "from_days",
        "from_unixtime",
        "get_format",
        "grouping",
        "hour",
        "last_day",
        "localtime",
        "localtimestamp",
        "makedate",
        "maketime",
        "match",
        "microsecond",
        "minute",
        "month",
        "monthname",
        "now",
        "period_add",
        "period_diff",
        "quarter",
        "sec_to_time",
        "second",
        "str_to_date",
        "subdate",
        "subtime",
        "sysdate",
        "time",
        "time_format",
        "time_to_sec",
        "timediff",
        "timestamp",
        "timestampadd",
        "timestampdiff",
        "to_days",
        "to_seconds",
        "unix_timestamp",
        "updatexml",
        "utc_date",
        "utc_time",
        "utc_timestamp",
        "values",
        "week",
        "weekday",
        "weekofyear",
        "year",
        "yearweek",
        "default",
        "distance",
        "vector_dim",
        "to_vector",
        "from_vector",
        "string_to_vector",
        "vector_to_string",
    ];
    let lower = name.to_ascii_lowercase();
    PREFIXES.iter().any(|p| lower.starts_with(p)) || NAMES.contains(&lower.as_str())
}

/// The entry of a name that the registry must have: for calls that operators and syntax stand for.
///
/// # Errors
/// 1235 when it is not there after all.
pub fn known(name: &str) -> Result<&'static Function, SqlError> {
    find(name).ok_or_else(|| SqlError::unsupported(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_of_one_function_each() {
        let mut seen = std::collections::HashSet::new();
        for f in all() {
            assert!(seen.insert(f.name), "{} twice", f.name);
            assert_eq!(f.name, f.name.to_ascii_lowercase());
            assert!(f.arity.0 <= f.arity.1 && !f.doc.is_empty(), "{}", f.name);
            assert!(std::ptr::eq(find(&f.name.to_ascii_uppercase()).unwrap(), f));
        }
        assert!(find("no_such_function").is_none());
        assert!(find(&"x".repeat(100)).is_none());
    }
}
