//! Comments of tables, columns and indexes: their lengths, and what the dictionary can keep of them.
//!
//! 1. A comment is text of `utf8mb3`, as MySQL's dictionary has it: what needs four bytes becomes `?`. 2. One that is
//! too long is refused in strict mode, else cut with a warning.

use crate::{Environment, SqlError, WarningLevel};

/// Whose comment it is.
#[derive(Debug, Clone, Copy)]
pub enum Owner<'a> {
    /// A table of this name.
    Table(&'a str),
    /// A column.
    Column(&'a str),
    /// An index.
    Index(&'a str),
}

impl Owner<'_> {
    /// Characters at most.
    fn chars_max(self) -> usize {
        if matches!(self, Owner::Table(_)) { 2048 } else { 1024 }
    }

    fn too_long(self) -> (u16, String) {
        let most = self.chars_max();
        match self {
            Owner::Table(name) => {
                (1628, format!("Comment for table '{name}' is too long (max = {most})"))
            }
            Owner::Column(name) => {
                let text = format!(
                    "The maximum supported character limit for the field, '{name}', has been exceeded \
                     (max = {most})"
                );
                (1629, text)
            }
            Owner::Index(name) => {
                (1688, format!("Comment for index '{name}' is too long (max = {most})"))
            }
        }
    }
}

/// A comment as it is kept.
///
/// # Errors
/// 1628, 1629, 1688 in strict mode.
pub fn comment(
    text: &[u8],
    owner: Owner<'_>,
    env: &mut dyn Environment,
) -> Result<String, SqlError> {
    let text = String::from_utf8_lossy(text);
    let kept: String = text.chars().map(|c| if u32::from(c) > 0xFFFF { '?' } else { c }).collect();
    let most = owner.chars_max();
    if kept.chars().count() <= most {
        return Ok(kept);
    }
    let (number, text) = owner.too_long();
    if env.strict() {
        return Err(SqlError::Other(number, "HY000", text));
    }
    env.warn(WarningLevel::Warning, number, text);
    Ok(kept.chars().take(most).collect())
}
