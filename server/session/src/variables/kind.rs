//! Types of system variables: what may be assigned, and how values are shown.

use super::{Assign, Value, VarError};
use value::{Collation, ColumnType};

/// Type and range of a variable.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// ON or OFF.
    Bool,
    /// An unsigned integer from..=to; beyond it is cut with a warning. Sizes take K, M, G, T on the
    /// command line.
    Int(u64, u64),
    /// As [`Kind::Int`], in whole steps of the third number; the rest is cut with a warning.
    Steps(u64, u64, u64),
    /// Room for so many, up to the first number; -1 leaves it to the server, which takes the second, or has no limit if that
    /// is [`NO_LIMIT`].
    Sized(u64, u64),
    /// A number from..=to; beyond it is cut with a warning.
    Double(f64, f64),
    /// One of these words, or its number.
    Enum(&'static [&'static str]),
    /// One of these words, or NULL.
    NullableEnum(&'static [&'static str]),
    /// `sql_mode`: words of [`SQL_MODES`], comma-separated, or a bit mask.
    Modes,
    /// A set of words, comma-separated: `word=on` and `word=off`.
    Switches(&'static [&'static str]),
    /// Any text.
    Text,
    /// A text that this takes.
    Checked(fn(&str) -> bool),
}

/// Of a [`Kind::Sized`]: as many as come.
pub const NO_LIMIT: u64 = u64::MAX;

/// The default collation.
pub const AI_CI: &str = "utf8mb4_0900_ai_ci";
/// Names of the character sets.
pub const CHARSETS: &[&str] = &{
    let all = value::charset::all();
    let mut names = [""; value::charset::all().len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = all[i].name();
        i += 1;
    }
    names
};
/// Names of the collations.
pub const COLLATIONS: &[&str] = &{
    let mut names = [""; value::Collation::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = value::Collation::ALL[i].name();
        i += 1;
    }
    names
};
/// How connections get threads.
pub const THREADS: &[&str] = &["one-thread-per-connection", "pool-of-threads"];

/// MySQL 8.4's default.
pub const DEFAULT_SQL_MODE: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,\
NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// Bits of `sql_mode`, in MySQL's order; empty names are bits that no longer exist.
pub const SQL_MODES: &[&str] = &[
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NOT_USED",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// Bits that `ANSI` stands for, besides its own.
const ANSI_BITS: u64 = 0b10_1111 | 1 << 18;
/// Bits that `TRADITIONAL` stands for, besides its own.
const TRADITIONAL_BITS: u64 = 1 << 21 | 1 << 22 | 1 << 23 | 1 << 24 | 1 << 26 | 1 << 27 | 1 << 30;

/// Switches of `optimizer_switch`; clients set them, the planner looks at the first four (`planner::physical::merge`).
pub const OPTIMIZER_SWITCHES: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "hypergraph_optimizer",
    "derived_condition_pushdown",
    "hash_set_operations",
];
/// `batched_key_access`, `use_invisible_indexes`, `subquery_to_derived`, `hypergraph_optimizer` are off.
const SWITCH_DEFAULT: u64 = ((1 << 27) - 1) & !(1 << 9 | 1 << 19 | 1 << 22 | 1 << 24);

/// What an assignment became: the value, and the warning text (1292) when it was cut to the range.
pub type Checked = Result<(Value, Option<String>), VarError>;

impl Kind {
    /// Checks an assigned value of variable `name`.
    pub fn check(&self, name: &str, v: &Assign<'_>) -> Checked {
        let wrong_type = || VarError::WrongType(name.to_string());
        let wrong_value = || VarError::WrongValue(name.to_string(), v.to_text());
        match self {
            Kind::Bool | Kind::Enum(_) | Kind::NullableEnum(_) | Kind::Switches(_)
                if matches!(v, Assign::Double(_)) =>
            {
                Err(wrong_type())
            }
            Kind::Bool => {
                boolean(v).map(|b| (Value::UInt(u64::from(b)), None)).ok_or_else(wrong_value)
            }
            Kind::Int(min, max) => match v {
                Assign::Int(n) => Ok(clamp(name, i128::from(*n), *min, *max)),
                Assign::UInt(n) => Ok(clamp(name, i128::from(*n), *min, *max)),
                _ => Err(wrong_type()),
            },
            Kind::Sized(_, chosen) if matches!(v, Assign::Int(-1)) => {
                Ok((Value::UInt(*chosen), None))
            }
            Kind::Sized(max, _) => Kind::Int(0, *max).check(name, v),
            Kind::Steps(min, max, step) => {
                let (Value::UInt(n), warning) = Kind::Int(*min, *max).check(name, v)? else {
                    return Err(wrong_type());
                };
                let whole = n - n % step;
                let warning = warning.or_else(|| (whole != n).then(|| truncated(name, v)));
                Ok((Value::UInt(whole), warning))
            }
            Kind::Double(min, max) => {
                let n = match v {
                    Assign::Int(n) => *n as f64,
                    Assign::UInt(n) => *n as f64,
                    Assign::Double(n) => *n,
                    _ => return Err(wrong_type()),
                };
                let cut = n.clamp(*min, *max);
                Ok((Value::Double(cut), (cut != n).then(|| truncated(name, v))))
            }
            Kind::Enum(words) => {
                word(words, v).map(|i| (Value::UInt(i), None)).ok_or_else(wrong_value)
            }
            Kind::NullableEnum(words) => match v {
                Assign::Null => Ok((Value::Null, None)),
                v => word(words, v).map(|i| (Value::UInt(i), None)).ok_or_else(wrong_value),
            },
            Kind::Modes => modes(name, v).map(|m| (Value::UInt(m), None)),
            Kind::Switches(words) => {
                switches(name, words, SWITCH_DEFAULT, v).map(|m| (Value::UInt(m), None))
            }
            Kind::Text => match v {
                Assign::Text(text) => Ok((Value::Text((*text).into()), None)),
                Assign::Null => Ok((Value::Null, None)),
                _ => Err(wrong_type()),
            },
            Kind::Checked(takes) => match v {
                Assign::Text(text) if takes(text) => Ok((Value::Text((*text).into()), None)),
                Assign::Text(_) | Assign::Null => Err(wrong_value()),
                _ => Err(wrong_type()),
            },
        }
    }

    /// Reads a value as the command line and option files write it; an empty text means ON for a boolean.
    pub fn parse(&self, name: &str, text: &str) -> Checked {
        match self {
            Kind::Bool if text.is_empty() => Ok((Value::UInt(1), None)),
            Kind::Bool if text.eq_ignore_ascii_case("true") => Ok((Value::UInt(1), None)),
            Kind::Bool if text.eq_ignore_ascii_case("false") => Ok((Value::UInt(0), None)),
            // Where no quotes tell them apart, a word's number is taken for it.
            Kind::Bool | Kind::Enum(_) | Kind::NullableEnum(_)
                if text.parse::<i64>().is_ok() && !self.has_word(text) =>
            {
                self.check(name, &Assign::Int(text.parse().unwrap_or(-1)))
            }
            Kind::Int(..) | Kind::Sized(..) | Kind::Steps(..) => {
                let n = sized(text)
                    .ok_or_else(|| VarError::WrongValue(name.to_string(), text.to_string()))?;
                self.check(name, &n)
            }
            Kind::Double(..) => {
                let n = text.parse::<f64>().ok().filter(|n| n.is_finite());
                let n = n.ok_or_else(|| VarError::WrongValue(name.into(), text.into()))?;
                self.check(name, &Assign::Double(n))
            }
            _ => self.check(name, &Assign::Text(text)),
        }
    }

    fn has_word(&self, text: &str) -> bool {
        match self {
            Kind::Enum(words) | Kind::NullableEnum(words) => {
                words.iter().any(|w| w.eq_ignore_ascii_case(text))
            }
            _ => false,
        }
    }

    /// How SHOW VARIABLES and option files write a value.
    pub fn show(&self, v: &Value) -> String {
        match (self, v) {
            (_, Value::Null) => String::new(),
            (_, Value::Text(text)) => text.to_string(),
            (Kind::Bool, Value::UInt(n)) => String::from(if *n != 0 { "ON" } else { "OFF" }),
            (Kind::Enum(words) | Kind::NullableEnum(words), Value::UInt(n)) => {
                words.get(*n as usize).copied().unwrap_or_default().to_string()
            }
            (Kind::Modes, Value::UInt(mask)) => names(SQL_MODES, *mask).join(","),
            (Kind::Switches(words), Value::UInt(mask)) => {
                let one = |(i, w): (usize, &&str)| {
                    format!("{w}={}", if mask >> i & 1 == 1 { "on" } else { "off" })
                };
                words.iter().enumerate().map(one).collect::<Vec<_>>().join(",")
            }
            (Kind::Double(..), Value::Double(n)) => format!("{n:.6}"),
            (Kind::Sized(..), Value::UInt(NO_LIMIT)) => "-1".to_string(),
            (_, Value::UInt(n)) => n.to_string(),
            (_, Value::Double(n)) => n.to_string(),
        }
    }

    /// Whether `@@x` yields text rather than a number.
    pub const fn is_text(&self) -> bool {
        let is_number = matches!(
            self,
            Kind::Bool | Kind::Int(..) | Kind::Sized(..) | Kind::Steps(..) | Kind::Double(..)
        );
        !is_number
    }

    /// What `@@name` is among expressions.
    pub fn column_type(&self) -> ColumnType {
        use value::Kind as Of;
        /// Characters of a variable's text.
        const TEXT_LENGTH: u32 = 21_845;
        let number =
            |length, unsigned| ColumnType { length, ..ColumnType::int(Of::BigInt, unsigned) };
        match self {
            Kind::Bool => number(1, false),
            Kind::Int(..) | Kind::Steps(..) => number(21, true),
            Kind::Sized(..) => number(21, false),
            Kind::Double(..) => ColumnType { decimals: 6, ..ColumnType::double() },
            _ => ColumnType {
                decimals: value::types::NOT_FIXED,
                ..ColumnType::varchar(TEXT_LENGTH, Collation::Utf8mb3GeneralCi)
            },
        }
    }
}

fn truncated(name: &str, v: &Assign<'_>) -> String {
    format!("Truncated incorrect {name} value: '{}'", v.to_text())
}

fn clamp(name: &str, n: i128, min: u64, max: u64) -> (Value, Option<String>) {
    let cut = n.clamp(i128::from(min), i128::from(max)) as u64;
    let warning =
        (i128::from(cut) != n).then(|| format!("Truncated incorrect {name} value: '{n}'"));
    (Value::UInt(cut), warning)
}

fn boolean(v: &Assign<'_>) -> Option<bool> {
    match v {
        Assign::Int(0) | Assign::UInt(0) => Some(false),
        Assign::Int(1) | Assign::UInt(1) => Some(true),
        Assign::Text(t) if t.eq_ignore_ascii_case("ON") => Some(true),
        Assign::Text(t) if t.eq_ignore_ascii_case("OFF") => Some(false),
        _ => None,
    }
}

fn word(words: &[&str], v: &Assign<'_>) -> Option<u64> {
    match v {
        Assign::Int(n) => u64::try_from(*n).ok().filter(|n| (*n as usize) < words.len()),
        Assign::UInt(n) => Some(*n).filter(|n| (*n as usize) < words.len()),
        Assign::Text(t) => words.iter().position(|w| w.eq_ignore_ascii_case(t)).map(|n| n as u64),
        _ => None,
    }
}

fn names(words: &[&'static str], mask: u64) -> Vec<&'static str> {
    let set = words.iter().enumerate().filter(|(i, w)| mask >> i & 1 == 1 && !w.is_empty());
    set.map(|(_, w)| *w).collect()
}

/// Bits that other servers' modes have, and that are refused by their number.
const FOREIGN_MODES: u64 = 0x1003_ff00;

/// The mask of modes that a value stands for; ANSI and TRADITIONAL stand for others too.
fn modes(name: &str, v: &Assign<'_>) -> Result<u64, VarError> {
    let wrong = |what: &str| VarError::WrongValue(name.to_string(), what.to_string());
    let mask = match v {
        Assign::Int(n) => u64::try_from(*n).map_err(|_| wrong(&v.to_text()))?,
        Assign::UInt(n) => *n,
        Assign::Text(text) => {
            let mut mask = 0;
            for part in text.split(',').filter(|part| !part.is_empty()) {
                let known =
                    |word: &&str| !word.is_empty() && word.eq_ignore_ascii_case(part.trim_end());
                let bit = SQL_MODES.iter().position(known).ok_or_else(|| wrong(part))?;
                mask |= 1 << bit;
            }
            mask
        }
        Assign::Double(_) => return Err(VarError::WrongType(name.to_string())),
        Assign::Null => return Err(wrong("NULL")),
    };
    if mask & FOREIGN_MODES != 0 {
        return Err(VarError::ForeignMode(mask & FOREIGN_MODES));
    }
    if mask >> SQL_MODES.len() != 0 {
        return Err(wrong(&v.to_text()));
    }
    let ansi = if mask >> 18 & 1 == 1 { ANSI_BITS } else { 0 };
    let traditional = if mask >> 27 & 1 == 1 { TRADITIONAL_BITS } else { 0 };
    Ok(mask | ansi | traditional)
}

/// What MySQL warns of when `sql_mode` becomes this mask.
pub fn mode_warnings(mask: u64) -> Vec<(u16, &'static str)> {
    /// NO_ZERO_IN_DATE, NO_ZERO_DATE, ERROR_FOR_DIVISION_BY_ZERO.
    const STRICT_ONLY: u64 = 1 << 23 | 1 << 24 | 1 << 26;
    const STRICT: u64 = 1 << 21 | 1 << 22;
    const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
    let all = mask & STRICT_ONLY;
    let mixed = if mask & STRICT != 0 { all != STRICT_ONLY } else { all != 0 };
    let mut warnings = Vec::new();
    if mixed {
        let text = "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes \
                    should be used with strict mode. They will be merged with strict mode in a \
                    future release.";
        warnings.push((3135, text));
    }
    if mask & PAD_CHAR_TO_FULL_LENGTH != 0 {
        let text = "Changing sql mode 'PAD_CHAR_TO_FULL_LENGTH' is deprecated. It will be removed \
                    in a future release.";
        warnings.push((3090, text));
    }
    warnings
}

/// The mask that a value makes of the one there is: `a=on,b=off`, each switch once, `default` for all others, or a
/// number.
///
/// # Errors
/// 1231, which names what cannot be read with all that follows it; 1232.
pub fn switches(name: &str, words: &[&str], current: u64, v: &Assign<'_>) -> Result<u64, VarError> {
    let wrong = |what: &str| VarError::WrongValue(name.to_string(), what.to_string());
    let all = (1_u64 << words.len()) - 1;
    let number = match v {
        Assign::Int(n) => u64::try_from(*n).ok(),
        Assign::UInt(n) => Some(*n),
        Assign::Double(_) => return Err(VarError::WrongType(name.to_string())),
        Assign::Null | Assign::Text(_) => None,
    };
    let Assign::Text(text) = v else {
        // One bit more is there in MySQL.
        let known = number.filter(|n| *n <= all * 2 + 1);
        return known.map(|n| n & all).ok_or_else(|| wrong(&v.to_text()));
    };
    let (mut set, mut cleared, mut to_default) = (0_u64, 0_u64, false);
    let mut at = 0;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let refused = || wrong(&text[at..]);
        if part.eq_ignore_ascii_case("default") {
            if std::mem::replace(&mut to_default, true) {
                return Err(refused());
            }
        } else {
            let (word, state) = part.split_once('=').ok_or_else(refused)?;
            let known = words.iter().position(|w| w.eq_ignore_ascii_case(word));
            let bit = 1 << known.ok_or_else(refused)?;
            let on = match state.to_ascii_lowercase().as_str() {
                "on" => true,
                "off" => false,
                "default" => SWITCH_DEFAULT & bit != 0,
                _ => return Err(refused()),
            };
            if (set | cleared) & bit != 0 {
                return Err(refused());
            }
            if on { set |= bit } else { cleared |= bit }
        }
        at += part.len() + 1;
    }
    let base = if to_default { SWITCH_DEFAULT } else { current };
    Ok((base | set) & !cleared)
}

/// A number with an optional K, M, G, T, P or E.
fn sized(text: &str) -> Option<Assign<'static>> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, c) if c.is_ascii_alphabetic() => {
            let power = "KMGTPE".find(c.to_ascii_uppercase())? as u32 + 1;
            (&text[..at], power * 10)
        }
        _ => (text, 0),
    };
    if let Some(negative) = digits.strip_prefix('-') {
        let n: i64 = negative.parse().ok()?;
        return n.checked_neg()?.checked_mul(1 << shift).map(Assign::Int);
    }
    let n: u64 = digits.parse().ok()?;
    n.checked_mul(1 << shift).map(Assign::UInt)
}
