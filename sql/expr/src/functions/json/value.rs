//! JSON_VALUE: one scalar out of a document, as an SQL value of a type.
//!
//! 1. The call's arguments are the document, the path, and what stands behind DEFAULT for an empty and
//!    for a failed search; [`Extra::Otherwise`] says whether those count.

use super::{Derived, Function, NULL, document, function};
use crate::SqlError;
use crate::WarningLevel;
use crate::build::{Builder, Derive};
use crate::functions::call::{Answer, Call};
use crate::refused::Refused;
use crate::tree::{Expr, Extra, Otherwise, OwnedDatum, Typed};
use ::value::collation::aggregate::Coercibility;
use ::value::json::{JsonRef, Path, View};
use ::value::{Collation, ColumnType, Kind};
use parser::ast;

pub static FUNCTIONS: &[Function] =
    &[function("json_value", (4, 4), value_type, run, "a scalar of a document as a value")
        .sees_null()];

fn value_type(d: &mut Derive<'_>) -> Derived {
    d.coercibility = Some(Coercibility::Coercible);
    Ok(d.ty(1))
}

/// The type that JSON_VALUE returns by default.
fn default_type() -> ColumnType {
    const CHARS: u32 = 512;
    crate::build::string(CHARS, Collation::Utf8mb4_0900Bin)
}

impl Builder {
    /// JSON_VALUE over a bound document.
    ///
    /// # Errors
    /// 3143 for the path; 1292, 1690, 3141 for a DEFAULT that is none of the type.
    pub fn json_value(
        &self,
        document: Typed,
        call: &ast::JsonValue,
        bind: &mut dyn FnMut(&ast::Expr) -> Result<Typed, SqlError>,
    ) -> Result<Typed, SqlError> {
        super::parse_path(&call.path)?;
        let ty = match &call.returning {
            None => default_type(),
            Some(to) => self.returned(&document, to)?,
        };
        let mut otherwise = [Otherwise::Null; 2];
        let mut defaults = Vec::new();
        for (n, on) in [&call.on_empty, &call.on_error].into_iter().enumerate() {
            let mut value = OwnedDatum::Null;
            otherwise[n] = match on {
                None | Some(ast::JsonOn::Null) => Otherwise::Null,
                Some(ast::JsonOn::Error) => Otherwise::Error,
                Some(ast::JsonOn::Default(default)) => {
                    value = default_value(&bind(default)?, &ty)?;
                    Otherwise::Default
                }
            };
            defaults.push(Typed::new(Expr::Const(value), ty));
        }
        let path = Expr::Const(OwnedDatum::Bytes(call.path.clone()));
        let mut args = vec![document, Typed::new(path, ty)];
        args.append(&mut defaults);
        let function = crate::functions::known("json_value")?;
        self.invoke(function, args, Extra::Otherwise(otherwise[0], otherwise[1]))
    }

    fn returned(&self, document: &Typed, to: &ast::CastType) -> Result<ColumnType, SqlError> {
        let json = Typed { ty: ColumnType::json(), ..document.clone() };
        let ty = self.cast_type(&json, to)?;
        Ok(match to {
            ast::CastType::Char(None, _) if ty.is_text() => {
                let collation = returned_collation(to, ty.collation);
                ColumnType { nullable: true, ..ColumnType::large(Kind::LongText, collation) }
            }
            ast::CastType::Char(..) => {
                let collation = returned_collation(to, ty.collation);
                ColumnType { nullable: true, collation, ..ty }
            }
            // BINARY(n) does not pad here.
            ast::CastType::Binary(Some(n)) => crate::build::string(*n, Collation::Binary),
            _ => ColumnType { nullable: true, ..ty },
        })
    }
}

fn returned_collation(to: &ast::CastType, named: Collation) -> Collation {
    match to {
        ast::CastType::Char(_, None) => Collation::Utf8mb4_0900Bin,
        _ => named,
    }
}

/// A DEFAULT of JSON_VALUE as a value of its type.
fn default_value(default: &Typed, to: &ColumnType) -> Result<OwnedDatum, SqlError> {
    let Some(value) = default.constant() else { return Ok(OwnedDatum::Null) };
    let text = crate::text(&value.datum());
    let shown = String::from_utf8_lossy(&text);
    let beyond = |kind: &str| SqlError::OutOfRange(kind.into(), "json_value".into());
    let incorrect = |kind: &str| SqlError::from(Refused::TruncatedDefault(kind, &shown));
    if to.kind == Kind::Json {
        let mut out = Vec::new();
        ::value::json::parse(&text, &mut out)
            .map_err(|e| super::invalid_text(&e, 0, "json_value"))?;
        return Ok(OwnedDatum::Json(out));
    }
    let as_json = ::value::json::JsonValue::String(text.clone()).to_bytes();
    let read = JsonRef::new(&as_json);
    let fitted = super::cast::exactly(read, to);
    if to.kind == Kind::Decimal
        && super::cast::decimal(read).whole().is_some_and(|v| v.scale() > to.decimals)
    {
        return Err(beyond("DECIMAL DEFAULT"));
    }
    if let Some(value) = fitted {
        return Ok(value);
    }
    Err(match to.kind {
        kind if kind.is_string() => beyond("CHAR DEFAULT"),
        Kind::Decimal if super::cast::decimal(read).whole().is_none() => incorrect("DECIMAL"),
        Kind::Decimal => beyond("DECIMAL DEFAULT"),
        Kind::Double | Kind::Float if text.is_empty() => return Ok(OwnedDatum::Double(0.0)),
        Kind::Double | Kind::Float => incorrect("DOUBLE"),
        Kind::Date => incorrect("date"),
        Kind::Time => incorrect("time"),
        Kind::DateTime => Refused::IncorrectDateTime(&shown).into(),
        kind => {
            let whole = text.is_empty() || super::cast::integer(read).whole().is_some();
            match (whole, kind, to.unsigned) {
                (true, Kind::Year, _) => beyond("YEAR"),
                (false, Kind::Year, _) => incorrect("YEAR"),
                (true, _, true) => beyond("UNSIGNED DEFAULT"),
                (true, _, false) => beyond("SIGNED DEFAULT"),
                (false, _, true) => incorrect("INTEGER UNSIGNED"),
                (false, _, false) => incorrect("INTEGER SIGNED"),
            }
        }
    })
}

/// What MySQL calls a type in JSON_VALUE's error 1690.
fn type_word(ty: &ColumnType) -> &'static str {
    match ty.kind {
        kind if kind.is_string() => "STRING",
        Kind::Decimal => "DECIMAL",
        Kind::Double => "DOUBLE",
        Kind::Float => "FLOAT",
        Kind::Date => "DATE",
        Kind::Time => "TIME",
        Kind::DateTime | Kind::Timestamp => "DATETIME",
        Kind::Year => "YEAR",
        _ if ty.unsigned => "UNSIGNED",
        _ => "SIGNED",
    }
}

/// 3966: nothing was found.
pub fn none_found(function: &str) -> SqlError {
    Refused::NoneFound(function).into()
}

fn run<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Extra::Otherwise(empty, error) = c.site.extra else { return Ok(NULL) };
    let document = match document(c, 0) {
        Ok(None) => return Ok(NULL),
        Ok(Some(document)) => document,
        Err(problem) => return unreadable(c, problem, error),
    };
    let path = Path::parse(&c.text(1)).unwrap_or_default();
    let found = path.find(JsonRef::new(&document));
    let failed = |c: &mut Call<'_, 'v>, problem: SqlError| match error {
        Otherwise::Null => Ok(NULL),
        Otherwise::Error => Err(problem),
        Otherwise::Default => Ok(c.take(3)),
    };
    let value = match found.as_slice() {
        [] => {
            return match empty {
                Otherwise::Null => Ok(NULL),
                Otherwise::Error => Err(none_found("json_value")),
                Otherwise::Default => Ok(c.take(2)),
            };
        }
        [one] => *one,
        _ => return failed(c, Refused::ManyFound.into()),
    };
    if value.view() == View::Null {
        return Ok(NULL);
    }
    match super::cast::exactly(value, &c.site.ty) {
        Some(value) => Ok(value.into()),
        None => {
            let kind = type_word(&c.site.ty);
            failed(c, SqlError::OutOfRange(kind.into(), "json_value".into()))
        }
    }
}

/// Text that is no JSON is an error of the search; a value that cannot be JSON is one of the call.
fn unreadable<'v>(c: &mut Call<'_, 'v>, problem: SqlError, error: Otherwise) -> Answer<'v> {
    let SqlError::Other(number @ (3141 | 3157), _, text) = &problem else { return Err(problem) };
    match error {
        Otherwise::Error => return Err(problem),
        _ => c.env.warn(WarningLevel::Warning, *number, text.clone()),
    }
    Ok(if error == Otherwise::Default { c.take(3) } else { NULL })
}
