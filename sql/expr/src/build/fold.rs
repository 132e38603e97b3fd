//! The value of an expression that is the same for ever, asked for while a statement is built.
//!
//! 1. Nothing of the session is asked but what [`Settings`] has: what needs its clock, its time zone or its
//!    variables has no value here. 2. Nor has what warns or fails: that is told when the statement runs.

use super::Settings;
use crate::eval::eval;
use crate::functions::Purity;
use crate::row::Row;
use crate::tree::{Expr, OwnedDatum, Typed};
use crate::{Environment, SqlError, UserVariable, Variables, WarningLevel};
use catalog::{ProcessRow, ServerList, SessionOrder, Viewer};
use std::cell::Cell;
use std::time::Duration;
use sync::Deadline;
use value::time::DateRules;
use value::{Collation, ColumnType, ConvertMode, TimeZone};

/// A constant as one, be it a literal or computed of literals; `None` for what hangs on anything else.
pub fn folded(value: &Typed, settings: &Settings) -> Option<OwnedDatum> {
    if let Some(constant) = value.constant() {
        return Some(constant.clone());
    }
    if !is_constant(&value.expr) {
        return None;
    }
    let asked = Cell::new(false);
    let mut env = Alone { settings, zone: TimeZone::utc(), asked: &asked };
    let found = eval(&value.expr, &Row::default(), &mut env).ok().map(|v| v.into_owned());
    found.filter(|_| !asked.get())
}

/// As [`folded`], for text that is computed: the expression that stands for it.
pub fn folded_text(value: Typed, settings: &Settings) -> Typed {
    if value.constant().is_some() || !super::is_stringy(&value.ty) {
        return value;
    }
    match folded(&value, settings) {
        Some(text @ OwnedDatum::Bytes(_)) => Typed { expr: Expr::Const(text), ..value },
        _ => value,
    }
}

fn is_constant(expr: &Expr) -> bool {
    is_the_same(expr, Purity::Constant)
}

/// Whether a value is the same for all rows of a statement, without looking into subqueries and variables.
#[must_use]
pub fn is_fixed(expr: &Expr) -> bool {
    is_the_same(expr, Purity::Statement)
}

fn is_the_same(expr: &Expr, purity: Purity) -> bool {
    let mut constant = true;
    expr.visit(&mut |e| {
        constant &= match e {
            Expr::Call(site) => site.function.purity <= purity,
            Expr::Param(_)
            | Expr::Column(_)
            | Expr::SystemVar(..)
            | Expr::UserVar(..)
            | Expr::AssignUserVar(..)
            | Expr::Row(_)
            | Expr::Interval(..)
            | Expr::Subquery(..)
            | Expr::Exists(_)
            | Expr::Quantified(_) => false,
            _ => true,
        };
    });
    constant
}

/// A session that is none: `asked` is set when something is asked of it that only a session knows.
struct Alone<'a> {
    settings: &'a Settings,
    zone: TimeZone,
    asked: &'a Cell<bool>,
}

impl Alone<'_> {
    fn unknown<T>(&self, instead: T) -> T {
        self.asked.set(true);
        instead
    }
}

impl Viewer for Alone<'_> {
    fn list(&self, _: ServerList) -> Vec<(String, String)> {
        self.unknown(Vec::new())
    }
    fn account(&self) -> String {
        self.unknown(String::new())
    }
    fn each_process(&self, _: SessionOrder, _: &mut dyn FnMut(&ProcessRow)) {
        self.asked.set(true);
    }
}

impl Variables for Alone<'_> {
    fn user_variable_type(&self, _: &str) -> Option<ColumnType> {
        self.unknown(None)
    }
    fn system_variable_type(&self, _: &str) -> Option<ColumnType> {
        self.unknown(None)
    }
}

impl Environment for Alone<'_> {
    fn database(&self) -> Option<&str> {
        self.unknown(None)
    }
    fn user(&self) -> String {
        self.unknown(String::new())
    }
    fn version(&self) -> String {
        self.unknown(String::new())
    }
    fn connection_id(&self) -> u64 {
        self.unknown(0)
    }
    fn strict(&self) -> bool {
        self.unknown(false)
    }
    fn convert_mode(&self) -> ConvertMode<'_> {
        let dates = DateRules { allow_invalid: true, ..DateRules::default() };
        self.unknown(ConvertMode { dates, ..ConvertMode::new(false, &self.zone) })
    }
    fn set_lenient(&mut self, _: bool) {
        self.asked.set(true);
    }
    fn warning_count(&self) -> u64 {
        self.unknown(0)
    }
    fn zero_is_a_value(&self) -> bool {
        self.unknown(false)
    }
    fn count_matched_rows(&self) -> bool {
        self.unknown(false)
    }
    fn system_variable(&self, _: bool, name: &str) -> Result<OwnedDatum, SqlError> {
        /// Longer texts are not worth it.
        const TEXT_MAX: u64 = 1 << 16;
        match name {
            "max_allowed_packet" => Ok(OwnedDatum::UInt(TEXT_MAX)),
            name => Err(self.unknown(SqlError::unsupported(name))),
        }
    }
    fn user_variable(&self, _: &str) -> Option<&UserVariable> {
        self.unknown(None)
    }
    fn set_user_variable(&mut self, _: &str, _: UserVariable) {
        self.asked.set(true);
    }
    fn last_insert_id(&self) -> u64 {
        self.unknown(0)
    }
    fn row_count(&self) -> i64 {
        self.unknown(0)
    }
    fn found_rows(&self) -> u64 {
        self.unknown(0)
    }
    fn memory_bytes(&self) -> (u64, u64) {
        self.unknown((0, 0))
    }
    fn lock_deadline(&self) -> Deadline {
        self.unknown(Deadline::after(Duration::ZERO))
    }
    fn connection_collation(&self) -> Collation {
        self.settings.collation
    }
    fn server_collation(&self) -> Collation {
        self.unknown(self.settings.collation)
    }
    fn sql_mode(&self) -> u64 {
        self.settings.sql_mode
    }
    fn time_zone(&self) -> &TimeZone {
        self.unknown(&self.zone)
    }
    fn random(&mut self) -> f64 {
        self.unknown(0.0)
    }
    fn seeded_random(&mut self, _: usize, _: u32) -> f64 {
        self.unknown(0.0)
    }
    fn set_last_insert_id(&mut self, _: u64) {
        self.asked.set(true);
    }
    fn now_us(&self) -> i64 {
        self.unknown(0)
    }
    fn sleep(&mut self, _: f64) -> bool {
        self.unknown(true)
    }
    fn warn(&mut self, _: WarningLevel, _: u16, _: String) {
        self.asked.set(true);
    }
}
