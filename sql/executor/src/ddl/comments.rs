//! Comments of tables, columns and indexes: their lengths, and what the dictionary can keep of them.
//!
//! 1. A comment is text of `utf8mb3`, as MySQL's dictionary has it: what needs four bytes becomes `?`. 2. One that is
//! too long is refused in strict mode, else cut with a warning.

use super::error::DdlError;
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

impl<'a> Owner<'a> {
    /// Characters at most.
    fn chars_max(self) -> usize {
        if matches!(self, Owner::Table(_)) { 2048 } else { 1024 }
    }

    fn too_long(self) -> DdlError<'a> {
        let most = self.chars_max();
        match self {
            Owner::Table(name) => DdlError::TableComment(name, most),
            Owner::Column(name) => DdlError::FieldComment(name, most),
            Owner::Index(name) => DdlError::IndexComment(name, most),
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
    let too_long = owner.too_long();
    if env.strict() {
        return Err(too_long.into());
    }
    let (number, _, text) = too_long.parts();
    env.warn(WarningLevel::Warning, number, text);
    Ok(kept.chars().take(most).collect())
}
