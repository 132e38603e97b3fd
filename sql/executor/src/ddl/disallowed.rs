//! What an expression of a definition may not hold: what has another value each time, or looks beyond its row.
//!
//! 1. Operands are looked at before what they are operands of; the first that is found is named. 2. Nothing has to
//! be bound for it: a name that is not there is found later. 3. What a CHECK says is a truth value by the way it is
//! written, not by its type.

use super::error::DdlError;
use crate::SqlError;
use parser::ast::{BinaryOp, Call, Expr, Literal, Query, UnaryOp, Visit, walk_expr};
use planner::PlanError;

/// Where an expression stands, and the name of the column, constraint or index.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// A generated column.
    Generated(&'a str),
    /// The default of a column.
    Default(&'a str),
    /// A CHECK constraint.
    Check(&'a str),
    /// A functional index.
    Index(&'a str),
}

/// What may stand nowhere.
const NOWHERE: &[&str] = &[
    "benchmark",
    "found_rows",
    "get_lock",
    "icu_version",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "load_file",
    "master_pos_wait",
    "release_all_locks",
    "release_lock",
    "row_count",
    "sleep",
    "source_pos_wait",
    "updatexml",
    "version",
];

/// What may stand in a default only: it is evaluated once.
const IN_DEFAULTS: &[&str] = &[
    "connection_id",
    "curdate",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "curtime",
    "database",
    "localtime",
    "localtimestamp",
    "now",
    "rand",
    "roles_graphml",
    "schema",
    "session_user",
    "statement_digest",
    "statement_digest_text",
    "sysdate",
    "system_user",
    "unix_timestamp",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
];

/// Looks through an expression that is written at a place.
///
/// # Errors
/// 3763, 3102 (generated columns), 3770, 3769, 3772 (defaults), 3812, 3814, 3815, 3816 (CHECK), 3758 (indexes),
/// 1111 for an aggregate, 3593 for a window function.
pub fn check(expr: &Expr, place: Place<'_>) -> Result<(), SqlError> {
    if let Place::Check(name) = place
        && !is_condition(expr)
    {
        return Err(DdlError::CheckType(name).into());
    }
    let mut finder = Finder { place, found: None };
    finder.expr(expr);
    finder.found.map_or(Ok(()), |found| Err(refusal(found, place)))
}

/// What was found.
enum Found {
    Function(String),
    /// A subquery, or what has no name to be called by.
    Nameless,
    Variable,
    Aggregate,
    Window(String),
}

struct Finder<'a> {
    place: Place<'a>,
    found: Option<Found>,
}

impl Visit for Finder<'_> {
    fn query(&mut self, _: &Query) {
        self.found.get_or_insert(Found::Nameless);
    }

    fn expr(&mut self, expr: &Expr) {
        if self.found.is_none() {
            walk_expr(self, expr);
        }
        if self.found.is_none() {
            self.found = self.own(expr);
        }
    }
}

impl Finder<'_> {
    fn own(&self, expr: &Expr) -> Option<Found> {
        match expr {
            Expr::UserVar(_) | Expr::AssignUserVar(..) | Expr::SystemVar(_) => {
                Some(Found::Variable)
            }
            Expr::Aggregate(aggregate) => Some(match aggregate.over {
                Some(_) => Found::Window(aggregate.kind.word().into()),
                None => Found::Aggregate,
            }),
            Expr::Match { .. } => Some(Found::Function("match".into())),
            Expr::ValuesOf(_) => Some(Found::Function("values".into())),
            Expr::DefaultOf(_) if matches!(self.place, Place::Index(_)) => {
                Some(Found::Function("default".into()))
            }
            Expr::Call(call) => self.call(call),
            _ => None,
        }
    }

    fn call(&self, call: &Call) -> Option<Found> {
        let written = &call.name.name;
        if let Some(schema) = &call.name.schema {
            return Some(Found::Function(format!("`{schema}`.`{written}`")));
        }
        let name = written.to_ascii_lowercase();
        if call.over.is_some() {
            return Some(Found::Window(name));
        }
        let anywhere_else = match self.place {
            Place::Default(_) => false,
            Place::Check(_) => IN_DEFAULTS.contains(&name.as_str()),
            Place::Generated(_) | Place::Index(_) => {
                name == "random_bytes" || IN_DEFAULTS.contains(&name.as_str())
            }
        };
        if anywhere_else || NOWHERE.contains(&name.as_str()) {
            return Some(Found::Function(first_name(&name).into()));
        }
        (name == "name_const").then_some(Found::Nameless)
    }
}

/// The refusal of a function that there is not, which MySQL takes for a stored one; other errors stay as they are.
pub fn of_unknown(error: SqlError, place: Place<'_>) -> SqlError {
    if let SqlError::Other(1305, _, text) = &error
        && let Some(rest) = text.strip_prefix("FUNCTION ")
        && let Some(name) = rest.strip_suffix(" does not exist")
    {
        return refusal(Found::Function(format!("`{name}`")), place);
    }
    error
}

/// The name that errors have for a function of several.
fn first_name(name: &str) -> &str {
    match name {
        "current_date" => "curdate",
        "current_time" => "curtime",
        "current_timestamp" | "localtime" | "localtimestamp" => "now",
        "icu_version" => "icu_version()",
        "master_pos_wait" => "source_pos_wait",
        "schema" => "database",
        "session_user" | "system_user" => "user",
        "version" => "version()",
        other => other,
    }
}

fn refusal(found: Found, place: Place<'_>) -> SqlError {
    use Place::{Check, Default, Generated, Index};
    match (&found, place) {
        (Found::Aggregate, _) => return PlanError::InvalidGroupFunction.into(),
        (Found::Window(function), _) => return PlanError::WindowPlace(function).into(),
        (Found::Variable, Check(name)) => DdlError::CheckVariable(name),
        // In MySQL's words, wherever the column or the index stands.
        (Found::Variable, Generated(name) | Default(name) | Index(name)) => {
            DdlError::DefaultVariable(name)
        }
        (_, Index(name)) => DdlError::FunctionalFunction(name),
        (Found::Function(function), Generated(name)) => DdlError::GeneratedFunction(name, function),
        (Found::Function(function), Default(name)) => DdlError::DefaultFunction(name, function),
        (Found::Function(function), Check(name)) => DdlError::CheckFunction(name, function),
        (Found::Nameless, Generated(name)) => DdlError::GeneratedNameConst(name),
        (Found::Nameless, Default(name)) => DdlError::DefaultNameConst(name),
        (Found::Nameless, Check(name)) => DdlError::CheckNameConst(name),
    }
    .into()
}

/// Whether an expression is written as a condition.
fn is_condition(expr: &Expr) -> bool {
    use BinaryOp as B;
    match expr {
        Expr::Literal(Literal::Bool(_)) => true,
        Expr::Is { .. } | Expr::Between { .. } | Expr::In { .. } | Expr::InQuery { .. } => true,
        Expr::Like { .. } | Expr::Regexp { .. } | Expr::MemberOf(..) => true,
        Expr::Quantified { .. } | Expr::Exists(_) => true,
        Expr::Unary(op, _) => matches!(op, UnaryOp::Not | UnaryOp::Bang),
        Expr::Binary(op, ..) => matches!(
            op,
            B::Or
                | B::Xor
                | B::And
                | B::Eq
                | B::NullSafeEq
                | B::Ne
                | B::Lt
                | B::Le
                | B::Gt
                | B::Ge
                | B::SoundsLike
        ),
        Expr::Call(call) => {
            let name = call.name.name.to_ascii_lowercase();
            name == "gtid_subset" || expr::functions::json::asks(&name)
        }
        _ => false,
    }
}
