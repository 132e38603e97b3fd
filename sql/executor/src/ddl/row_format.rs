//! ROW_FORMAT and KEY_BLOCK_SIZE: which of them InnoDB takes together.
//!
//! 1. Under `innodb_strict_mode` what cannot be is refused behind a warning (1478) that says why; without, the warning
//! says what is made instead, and the option is forgotten.

use super::error::DdlError;
use crate::{Environment, SqlError, WarningLevel};
use catalog::TableDef;

const FORMAT: &str = "ROW_FORMAT";
const BLOCK: &str = "KEY_BLOCK_SIZE";

/// Looks at the options of a table that is made (or `altered`: by a statement that names one of these).
///
/// # Errors
/// 1031 (1478 when altered), 3500 for a temporary table.
pub fn settle(
    def: &mut TableDef,
    (temporary, altered): (bool, bool),
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    let strict = env.system_variable(false, "innodb_strict_mode")?.datum().as_u64() == Some(1);
    if temporary && (is(def, FORMAT, "COMPRESSED") || option(def, BLOCK).is_some()) {
        return of_temporary(def, strict, env);
    }
    let Some((what, problem, instead)) = problem(def) else { return Ok(()) };
    if !strict {
        if what == FORMAT {
            set(def, FORMAT, Some("DYNAMIC"));
        } else {
            set(def, BLOCK, None);
        }
        env.warn(WarningLevel::Warning, 1478, instead);
        return Ok(());
    }
    env.warn(WarningLevel::Warning, 1478, problem);
    Err(match altered {
        false => SqlError::from(DdlError::NoSuchOption(&def.name)),
        true => {
            let option = if what == FORMAT { "ROW_TYPE" } else { BLOCK };
            SqlError::from(DdlError::CreateOption(option))
        }
    })
}

/// The option that cannot be, why, and what is made without strict mode.
fn problem(def: &TableDef) -> Option<(&'static str, String, String)> {
    if is(def, FORMAT, "FIXED") {
        let why = "InnoDB: invalid ROW_FORMAT specifier.".into();
        return Some((FORMAT, why, "InnoDB: assuming ROW_FORMAT=DYNAMIC.".into()));
    }
    let size = option(def, BLOCK)?.to_string();
    if !["1", "2", "4", "8", "16"].contains(&size.as_str()) {
        let why =
            format!("InnoDB: invalid KEY_BLOCK_SIZE = {size}. Valid values are [1, 2, 4, 8, 16]");
        return Some((BLOCK, why, format!("InnoDB: ignoring KEY_BLOCK_SIZE={size}.")));
    }
    let format = option(def, FORMAT).filter(|format| *format != "COMPRESSED")?;
    let why = format!("InnoDB: cannot specify ROW_FORMAT={format} with KEY_BLOCK_SIZE.");
    let instead =
        format!("InnoDB: ignoring KEY_BLOCK_SIZE={size} as ROW_FORMAT is not COMPRESSED.");
    Some((BLOCK, why, instead))
}

fn of_temporary(
    def: &mut TableDef,
    strict: bool,
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    if strict {
        return Err(DdlError::CompressedTemporary.into());
    }
    let mut warn = |text: &str| env.warn(WarningLevel::Warning, 1478, text.into());
    if option(def, BLOCK).is_some() {
        warn("InnoDB: KEY_BLOCK_SIZE is ignored for TEMPORARY TABLE.");
        set(def, BLOCK, None);
    }
    if is(def, FORMAT, "COMPRESSED") {
        warn("InnoDB: ROW_FORMAT=COMPRESSED is ignored for TEMPORARY TABLE.");
        warn("InnoDB: assuming ROW_FORMAT=DYNAMIC.");
        set(def, FORMAT, Some("DYNAMIC"));
    }
    Ok(())
}

fn option<'d>(def: &'d TableDef, name: &str) -> Option<&'d str> {
    def.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

fn is(def: &TableDef, name: &str, value: &str) -> bool {
    option(def, name) == Some(value)
}

fn set(def: &mut TableDef, name: &str, value: Option<&str>) {
    match (def.options.iter_mut().find(|(n, _)| n == name), value) {
        (Some(found), Some(value)) => found.1 = value.to_string(),
        _ => def.options.retain(|(n, _)| n != name),
    }
}
