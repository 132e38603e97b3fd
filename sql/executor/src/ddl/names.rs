//! What names may be, and MySQL's errors about them.

use crate::SqlError;
use catalog::ColumnDef;
use value::name::same_name;

const NAME_CHARS_MAX: usize = 64;

/// A new name's length and characters; `number` and `what` are the error of its kind of thing.
///
/// # Errors
/// 1059, or the given one.
pub(crate) fn check_name(name: &str, number: u16, what: &str) -> Result<(), SqlError> {
    check_constraint_name(name)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::Other(number, "42000", format!("{what} '{name}'")));
    }
    Ok(())
}

/// The name of an index that is none of the primary key: MySQL keeps two names for clustered indexes.
///
/// # Errors
/// 1059, 1280.
pub(crate) fn check_index_name(name: &str) -> Result<(), SqlError> {
    let reserved = |name: &str| SqlError::Other(1280, "42000", format!("{BAD_INDEX} '{name}'"));
    match name {
        _ if same_name(name, "PRIMARY") => Err(reserved(name)),
        _ if same_name(name, "GEN_CLUST_INDEX") => Err(reserved("GEN_CLUST_INDEX")),
        _ => check_name(name, 1280, BAD_INDEX),
    }
}

const BAD_INDEX: &str = "Incorrect index name";

/// A constraint's name may be anything that is not too long.
///
/// # Errors
/// 1059.
pub(crate) fn check_constraint_name(name: &str) -> Result<(), SqlError> {
    if name.chars().count() > NAME_CHARS_MAX {
        let text = format!("Identifier name '{name}' is too long");
        return Err(SqlError::Other(1059, "42000", text));
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
        Some((_, column)) => {
            let text = format!("Duplicate column name '{}'", column.name);
            Err(SqlError::Other(1060, "42S21", text))
        }
        None => Ok(()),
    }
}

/// 1054 of a column that a definition names.
pub(crate) fn not_found(column: &str, table: &str) -> SqlError {
    SqlError::Other(1054, "42S22", format!("Unknown column '{column}' in '{table}'"))
}

/// 1091.
pub(crate) fn missing_key(name: &str) -> SqlError {
    let text = format!("Can't DROP '{name}'; check that column/key exists");
    SqlError::Other(1091, "42000", text)
}

/// 1176.
pub(crate) fn unknown_key(name: &str, table: &str) -> SqlError {
    SqlError::Other(1176, "42000", format!("Key '{name}' doesn't exist in table '{table}'"))
}
