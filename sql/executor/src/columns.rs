//! Column definitions: a column's type, its attributes and its default.
//!
//! 1. What MySQL changes with a note when the mode is not strict is an error in strict mode.

use crate::ddl::error::DdlError;
use crate::ddl::{self, Owner, check_name, collation_of};
use crate::write::convert;
use crate::{Environment, SqlError, WarningLevel};
use catalog::{ColumnDef, DefaultValue};
use parser::ast::{self, Literal, TypeKind};
use planner::PlanError;
use planner::column_types::{self, Notes};
use value::{Charset, Collation, ColumnType, Kind};

/// Defines a column.
///
/// # Errors
/// MySQL's errors of the definition, 1235 for what is not there yet.
pub fn define_column(
    column: &ast::ColumnDef,
    table_collation: Collation,
    env: &mut dyn Environment,
) -> Result<ColumnDef, SqlError> {
    check_name(&column.name, DdlError::ColumnName)?;
    refuse_attributes(column)?;
    let national = matches!(column.ty.kind, TypeKind::NChar | TypeKind::NVarChar);
    let collation = collation_of(
        column.ty.charset.as_deref(),
        column.collation.as_deref(),
        if national { Charset::Utf8mb3.default_collation() } else { table_collation },
    )?;
    let collation = binary_attribute(column, collation);
    let mut ty = column_type(&column.ty, &column.name, collation, env)?;
    let serial = column.ty.kind == TypeKind::Serial;
    ty.nullable = column.nullable.unwrap_or(!serial && !column.primary);
    let auto_increment = column.auto_increment || serial;
    if auto_increment && !ty.kind.is_int() {
        return Err(PlanError::WrongSpecifier(&column.name).into());
    }
    if auto_increment {
        ty.nullable = false;
    }
    let default = match &column.default {
        // An expression is printed and checked when all columns are known.
        _ if column.generated.is_some() => DefaultValue::None,
        Some(_) if auto_increment => return Err(invalid_default(&column.name)),
        Some(_) if column.default_is_expression => DefaultValue::None,
        Some(expr) => literal_default(expr, &column.name, &ty, env)?,
        None if ty.nullable => DefaultValue::Null,
        None => DefaultValue::None,
    };
    let on_update = on_update(column, &ty)?;
    let comment = column.comment.as_deref().unwrap_or_default();
    let comment = ddl::comment(comment, Owner::Column(&column.name), env)?;
    let own_collation = national || column.ty.charset.is_some() || column.collation.is_some();
    let plain = ColumnDef::new(column.name.clone(), ty);
    let plain = ColumnDef { invisible: column.invisible, own_collation, ..plain };
    Ok(ColumnDef { default, auto_increment, comment, on_update, ..plain })
}

/// What a generated column cannot have, and what only a geometry has.
fn refuse_attributes(column: &ast::ColumnDef) -> Result<(), SqlError> {
    let wrong = |one: &str, other: &str| Err(PlanError::IncorrectUsage(one, other).into());
    let spatial = is_spatial(column.ty.kind);
    if column.srid.is_some() && !spatial {
        return wrong("SRID", "non-geometry column");
    }
    if column.generated.is_none() {
        return Ok(());
    }
    let attributes = [
        (column.ty.kind == TypeKind::Serial, "SERIAL"),
        (column.default.is_some(), "DEFAULT"),
        (column.auto_increment, "AUTO_INCREMENT"),
        (column.on_update.is_some(), "ON UPDATE"),
    ];
    match attributes.into_iter().find(|(written, _)| *written) {
        Some((_, name)) => wrong(name, "generated column"),
        None => Ok(()),
    }
}

fn is_spatial(kind: TypeKind) -> bool {
    use TypeKind as T;
    let one = matches!(kind, T::Geometry | T::Point | T::LineString | T::Polygon);
    one || matches!(
        kind,
        T::MultiPoint | T::MultiLineString | T::MultiPolygon | T::GeometryCollection
    )
}

/// BINARY behind a text type asks for the `_bin` collation of its character set.
fn binary_attribute(column: &ast::ColumnDef, collation: Collation) -> Collation {
    if !column.ty.binary {
        return collation;
    }
    let free = column.collation.is_none();
    if free { collation.charset().bin_collation() } else { collation }
}

fn column_type(
    ty: &ast::DataType,
    column: &str,
    collation: Collation,
    env: &mut dyn Environment,
) -> Result<ColumnType, SqlError> {
    let mut notes = Notes { strict: env.strict(), ..Notes::default() };
    let made = column_types::column_type(ty, column, collation, &mut notes);
    for (level, number, text) in notes.list {
        env.warn(level, number, text);
    }
    made
}

/// DEFAULT with a literal or CURRENT_TIMESTAMP.
///
/// # Errors
/// 1067, 1101.
pub fn literal_default(
    expr: &ast::Expr,
    column: &str,
    ty: &ColumnType,
    env: &mut dyn Environment,
) -> Result<DefaultValue, SqlError> {
    let invalid = || invalid_default(column);
    if let Some(fsp) = current_timestamp(expr) {
        let moment = matches!(ty.kind, Kind::DateTime | Kind::Timestamp);
        return match moment && fsp == ty.decimals {
            true => Ok(DefaultValue::Now(fsp)),
            false => Err(invalid()),
        };
    }
    let given = match expr {
        ast::Expr::Literal(Literal::Null) if ty.nullable => return Ok(DefaultValue::Null),
        ast::Expr::Literal(Literal::Null) => return Err(invalid()),
        _ => {
            let settings = expr::build::Settings::of(env);
            planner::bind::Scope::new(None, "default").under(settings).bind(expr)?
        }
    };
    let constant = match &given.expr {
        expr::Expr::Const(value) => value.clone(),
        expr::Expr::Neg(inner) => match inner.as_ref() {
            expr::Expr::Const(value) => expr::OwnedDatum::of(&value::neg(value.datum())?),
            _ => return Err(invalid()),
        },
        _ => return Err(invalid()),
    };
    if ty.kind.is_large() || ty.kind == Kind::Json {
        let empty = constant == expr::OwnedDatum::Bytes(Vec::new());
        let refused = DdlError::DefaultOfBlob(column);
        if env.strict() || !empty {
            return Err(refused.into());
        }
        env.warn(WarningLevel::Warning, 1101, refused.to_string());
        return Ok(if ty.nullable { DefaultValue::Null } else { DefaultValue::None });
    }
    // The number of a member is no default.
    if ty.kind.has_members() && !matches!(constant, expr::OwnedDatum::Bytes(_)) {
        return Err(invalid());
    }
    let stored = match env.strict() {
        false => convert::convert_leniently((&constant.datum(), &given.ty), column, ty, env)
            .ok_or_else(invalid)?,
        true => {
            let stored = convert::convert_strictly((&constant.datum(), &given.ty), column, ty, env);
            stored.map_err(|problem| {
                if let Some((number, text)) = problem {
                    env.warn(WarningLevel::Error, number, text);
                }
                invalid()
            })?
        }
    };
    Ok(match stored {
        expr::OwnedDatum::Int(v) if !ty.zerofill => DefaultValue::Int(i128::from(v)),
        expr::OwnedDatum::UInt(v) if !ty.zerofill => DefaultValue::Int(i128::from(v)),
        expr::OwnedDatum::Bytes(bytes) => DefaultValue::Bytes(bytes),
        other => {
            let mut text = Vec::new();
            value::format::append_typed(&other.datum(), Some(ty), &mut text);
            DefaultValue::Bytes(text)
        }
    })
}

fn invalid_default(column: &str) -> SqlError {
    PlanError::InvalidDefault(column).into()
}

/// The digits of the second of CURRENT_TIMESTAMP, NOW and their kin; `None` for anything else.
fn current_timestamp(expr: &ast::Expr) -> Option<u8> {
    let ast::Expr::Call(call) = expr else { return None };
    let names = ["now", "current_timestamp", "localtime", "localtimestamp"];
    if call.name.schema.is_some() || !names.iter().any(|n| call.name.name.eq_ignore_ascii_case(n)) {
        return None;
    }
    match call.args.as_slice() {
        [] => Some(0),
        [ast::Expr::Literal(Literal::Int(fsp))] => u8::try_from(*fsp).ok(),
        _ => None,
    }
}

/// ON UPDATE CURRENT_TIMESTAMP.
fn on_update(column: &ast::ColumnDef, ty: &ColumnType) -> Result<Option<u8>, SqlError> {
    let Some(expr) = &column.on_update else { return Ok(None) };
    let fits = current_timestamp(expr) == Some(ty.decimals);
    if matches!(ty.kind, Kind::DateTime | Kind::Timestamp) && fits {
        return Ok(Some(ty.decimals));
    }
    Err(DdlError::OnUpdate(&column.name).into())
}
