//! Expressions out of operands that are bound already: operators, comparisons, casts and calls, with the
//! types, collations and conversions that MySQL derives.
//!
//! Reading order: [`widths`] (how long a type's text is), [`common`] (one type for several), [`derive`]
//! (what functions ask while they derive), `operators`, `compare`, `calls`, `casts` (what is built).
//!
//! 1. Names, subqueries and where aggregates may stand are the planner's; nothing here looks at a table.
//! 2. `Expr::Row` and `Expr::Interval` go in and never come out.

mod aggregates;
mod calls;
mod casts;
pub mod common;
mod compare;
mod compose;
mod conversion;
mod derive;
mod fold;
mod literal;
mod operand_coercion;
mod operators;
mod temporal;
pub mod widths;

pub use calls::no_function;
pub(crate) use conversion::{as_number, is_chosen};
pub use conversion::{as_text, is_nothing};
pub use derive::{Derive, alike, call as call_of, claim, is_stringy, string, united};
pub use fold::{folded, folded_text, is_fixed};
pub(crate) use operators::{bits_as_number, value_digits};
pub use operators::{in_document, stored};

use crate::refused::Refused;
use crate::tree::{CallSite, Expr, Extra, Typed};
use crate::{Environment, SqlError};
use value::{Collation, Kind};

/// What of the session counts while expressions are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// `collation_connection`: that of literals and of numbers as text.
    pub collation: Collation,
    /// `div_precision_increment`.
    pub div_increment: u8,
    /// Bits of `sql_mode`.
    pub sql_mode: u64,
    /// `group_concat_max_len`, in bytes.
    pub group_concat_max_len: u64,
    /// Bits of `optimizer_switch`.
    pub optimizer_switch: u64,
    /// What is built is part of UPDATE or DELETE.
    pub changes: bool,
    /// Rows are locked that a query only shows: a SERIALIZABLE transaction of several statements.
    pub shows_locked: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            collation: Collation::default(),
            div_increment: 4,
            sql_mode: 0,
            group_concat_max_len: 1024,
            optimizer_switch: u64::MAX,
            changes: false,
            shows_locked: false,
        }
    }
}

impl Settings {
    /// Defaults but for the collation of literals.
    pub fn collated(collation: Collation) -> Settings {
        Settings { collation, ..Settings::default() }
    }

    /// Whether a bit of `sql_mode` is set.
    pub fn has_mode(&self, bit: u64) -> bool {
        self.sql_mode & bit != 0
    }

    /// Those of a session.
    pub fn of(env: &dyn Environment) -> Settings {
        let number = |name| env.system_variable(false, name).ok().and_then(|v| v.datum().as_u64());
        let usual = Settings::default();
        let increment = number("div_precision_increment");
        Settings {
            collation: env.connection_collation(),
            div_increment: increment.map_or(usual.div_increment, |n| n.min(30) as u8),
            sql_mode: env.sql_mode(),
            group_concat_max_len: number("group_concat_max_len")
                .unwrap_or(usual.group_concat_max_len),
            optimizer_switch: env.optimizer_switch(),
            changes: false,
            shows_locked: false,
        }
    }
}

/// Builds expressions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Builder {
    /// What of the session counts.
    pub settings: Settings,
}

impl Builder {
    /// A builder for a session.
    pub fn new(settings: Settings) -> Builder {
        Builder { settings }
    }

    /// A call of a registry entry.
    ///
    /// # Errors
    /// 1582 for a wrong number of arguments, 1267 and its kin for collations that do not meet, what the
    /// function itself refuses.
    pub fn invoke(
        &self,
        function: &'static crate::functions::Function,
        arguments: Vec<Typed>,
        extra: Extra,
    ) -> Result<Typed, SqlError> {
        let mut args = arguments;
        let (least, most) = function.arity;
        if args.len() < least || args.len() > most {
            return Err(wrong_count(function.name));
        }
        if args.iter().any(Typed::is_row) {
            return Err(one_column());
        }
        // Operators on bits take byte strings as they are.
        let bytes = args.iter().all(|a| a.ty.kind.is_binary_string());
        let texts = args.iter().any(|a| is_stringy(&a.ty));
        let alike = |a: &Typed| a.ty.kind.has_date() || a.ty.kind == Kind::Float;
        let chosen = args.iter().any(alike);
        let numbers = crate::functions::numbers_of(function.name, extra);
        let bits = crate::functions::reads_bits(function);
        if (texts || chosen) && crate::functions::reads_numbers(function, bytes) {
            let wanted = match bits {
                true => conversion::as_integer,
                false => conversion::as_number,
            };
            args = args.into_iter().map(wanted).collect();
        } else if texts && crate::functions::reads_a_moment(function) {
            args = args.into_iter().map(conversion::as_moment_or_number).collect();
        } else if texts && !numbers.is_empty() {
            for (_, value) in args.iter_mut().enumerate().filter(|(n, _)| numbers.contains(n)) {
                *value = conversion::as_chosen(value.clone());
            }
        } else if crate::functions::reads_a_time(function) {
            args = args.into_iter().map(conversion::as_time).collect();
        }
        let mut derive = Derive::new(function.name, &mut args, extra, &self.settings);
        let ty = (function.derive)(&mut derive)?;
        let (collation, coercibility) = (derive.collation, derive.coercibility);
        let types = args.iter().map(|a| a.ty).collect();
        let arguments = args.into_iter().map(|a| a.expr).collect();
        let site = CallSite { function, arguments, types, ty, collation, extra };
        let mut typed = Typed::new(Expr::Call(Box::new(site)), ty);
        if let Some(coercibility) = coercibility {
            typed.coercibility = coercibility;
        }
        Ok(typed)
    }

    /// A call by name, for operators and syntax that stand for a function.
    ///
    /// # Errors
    /// As [`Builder::invoke`].
    pub fn named(&self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        self.invoke(crate::functions::known(name)?, arguments, Extra::None)
    }
}

/// Error 1582 for a call of a native function by this name.
pub(crate) fn wrong_count(name: &str) -> SqlError {
    Refused::WrongCount(name).into()
}

/// Error 1241 for a row where one value is wanted.
pub fn one_column() -> SqlError {
    Refused::WrongColumns(1).into()
}
