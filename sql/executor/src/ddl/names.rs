//! What names may be, and MySQL's errors about them.

use super::error::DdlError;
use crate::SqlError;
use catalog::ColumnDef;
use planner::PlanError;
use value::name::same_name;

const NAME_CHARS_MAX: usize = 64;

/// A new name's length and characters; `incorrect` is the error of its kind of thing.
///
/// # Errors
/// 1059, or the given one.
pub(crate) fn check_name<'n>(
    name: &'n str,
    incorrect: fn(&'n str) -> DdlError<'n>,
) -> Result<(), SqlError> {
    check_constraint_name(name)?;
    match name.is_empty() || name.ends_with(' ') {
        true => Err(incorrect(name).into()),
        false => Ok(()),
    }
}

/// The name of an index that is none of the primary key: MySQL keeps two names for clustered indexes.
///
/// # Errors
/// 1059, 1280.
pub(crate) fn check_index_name(name: &str) -> Result<(), SqlError> {
    match name {
        _ if same_name(name, "PRIMARY") => Err(DdlError::IndexName(name).into()),
        _ if same_name(name, "GEN_CLUST_INDEX") => {
            Err(DdlError::IndexName("GEN_CLUST_INDEX").into())
        }
        _ => check_name(name, DdlError::IndexName),
    }
}

/// A constraint's name may be anything that is not too long.
///
/// # Errors
/// 1059.
pub(crate) fn check_constraint_name(name: &str) -> Result<(), SqlError> {
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(DdlError::NameTooLong(name).into());
    }
    Ok(())
}

/// 1060 when two columns have one name.
pub(crate) fn check_columns(columns: &[ColumnDef]) -> Result<(), SqlError> {
    let twice = columns
        .iter()
        .enumerate()
        .find(|(at, c)| columns[..*at].iter().any(|before| same_name(&before.name, &c.name)));
    match twice {
        Some((_, column)) => Err(PlanError::DuplicateColumn(&column.name).into()),
        None => Ok(()),
    }
}

/// 1054 of a column that a definition names.
pub(crate) fn not_found(column: &str, table: &str) -> SqlError {
    PlanError::UnknownColumn(column, table).into()
}

/// 1091.
pub(crate) fn missing_key(name: &str) -> SqlError {
    DdlError::CannotDrop(name).into()
}

/// 1176.
pub(crate) fn unknown_key(name: &str, table: &str) -> SqlError {
    PlanError::UnknownKey(name, table).into()
}
