//! MySQL's limits of a table definition: which one a definition breaks, with the numbers for the
//! message.
//!
//! Invariants
//! 1. The numbers are MySQL's, also where a table here would have room for more: a definition that
//!    one server takes, the other takes.
//! 2. What passes [`check_row_in_page`] can be stored whatever its values are, up to long primary
//!    keys (`engine` says so at the insert).

use crate::{ColumnType, KeyPart, Kind};

/// Most columns of a table.
pub const COLUMNS_MAX: usize = 1017;
/// Most indexes of a table, the primary key included.
pub const INDEXES_MAX: usize = 64;
/// Most columns of an index.
pub const KEY_PARTS_MAX: usize = 16;
/// Longest key, in bytes of column data.
pub const KEY_BYTES_MAX: u32 = 3072;
/// Longest row definition without TEXT and BLOB values, in bytes.
pub const ROW_DEFINITION_BYTES_MAX: u64 = 65_535;
/// Longest row in a page when everything that may lie outside does, in bytes.
pub const ROW_IN_PAGE_BYTES_MAX: u64 = 8126;

/// A limit that a definition breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// 1118: the row definition takes `bytes`, more than `limit` (65,535), TEXT and BLOB values not
    /// counted.
    RowDefinition {
        /// Bytes that the definition takes.
        bytes: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// 1118, the text about the page: the row takes `bytes` in its page at least, more than `limit`
    /// (8,126).
    RowInPage {
        /// Bytes in the page.
        bytes: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// 1071: the key takes `bytes`, more than `limit` (3,072).
    KeyTooLong {
        /// Bytes of column data of the key, or of the one part that is too long.
        bytes: u64,
        /// The largest allowed.
        limit: u32,
    },
    /// 1117: more than `limit` (1017) columns.
    TooManyColumns {
        /// The largest number allowed.
        limit: usize,
    },
    /// 1069: more than `limit` (64) indexes.
    TooManyIndexes {
        /// The largest number allowed.
        limit: usize,
    },
    /// 1070: more than `limit` (16) columns in a key.
    TooManyKeyParts {
        /// The largest number allowed.
        limit: usize,
    },
}

impl LimitError {
    /// MySQL's error number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        match self {
            LimitError::RowDefinition { .. } | LimitError::RowInPage { .. } => 1118,
            LimitError::KeyTooLong { .. } => 1071,
            LimitError::TooManyColumns { .. } => 1117,
            LimitError::TooManyIndexes { .. } => 1069,
            LimitError::TooManyKeyParts { .. } => 1070,
        }
    }
}

/// Checks the columns alone: how many, and the row definition's bytes.
///
/// # Errors
/// [`LimitError::TooManyColumns`], [`LimitError::RowDefinition`].
pub fn check_columns(types: &[ColumnType]) -> Result<(), LimitError> {
    if types.len() > COLUMNS_MAX {
        return Err(LimitError::TooManyColumns { limit: COLUMNS_MAX });
    }
    let (bytes, limit) = (definition_bytes(types), ROW_DEFINITION_BYTES_MAX);
    if bytes > limit { Err(LimitError::RowDefinition { bytes, limit }) } else { Ok(()) }
}

/// Checks that a row fits its page when everything that may lie outside does. `hidden_key`: the
/// table has no primary key nor a unique one without NULL.
///
/// # Errors
/// [`LimitError::RowInPage`].
pub fn check_row_in_page(types: &[ColumnType], hidden_key: bool) -> Result<(), LimitError> {
    let (bytes, limit) = (in_page_bytes(types, hidden_key), ROW_IN_PAGE_BYTES_MAX);
    if bytes >= limit { Err(LimitError::RowInPage { bytes, limit }) } else { Ok(()) }
}

/// Checks one key.
///
/// # Errors
/// [`LimitError::TooManyKeyParts`], [`LimitError::KeyTooLong`].
pub fn check_key(types: &[ColumnType], parts: &[KeyPart]) -> Result<(), LimitError> {
    if parts.len() > KEY_PARTS_MAX {
        return Err(LimitError::TooManyKeyParts { limit: KEY_PARTS_MAX });
    }
    let bytes = parts.iter().map(|part| part_bytes(types, part)).sum();
    let limit = KEY_BYTES_MAX;
    if bytes > u64::from(limit) { Err(LimitError::KeyTooLong { bytes, limit }) } else { Ok(()) }
}

/// Checks the number of indexes, the primary key included.
///
/// # Errors
/// [`LimitError::TooManyIndexes`].
pub fn check_index_count(indexes: usize) -> Result<(), LimitError> {
    let limit = INDEXES_MAX;
    if indexes > limit { Err(LimitError::TooManyIndexes { limit }) } else { Ok(()) }
}

/// Bytes of column data that a part adds to its key; 0 for a column that is not there.
#[must_use]
pub fn part_bytes(types: &[ColumnType], part: &KeyPart) -> u64 {
    let Some(ty) = types.get(part.column) else { return 0 };
    let whole = u64::from(ty.bytes_max());
    match part.prefix_chars {
        Some(chars) if ty.kind.is_string() => {
            let prefix = u64::from(chars) * u64::from(ty.collation.bytes_per_char_max());
            prefix.min(whole)
        }
        _ => whole,
    }
}

/// Bytes of a row definition as MySQL counts them: every column at its longest, a TEXT or BLOB value
/// as its length and a pointer, and the NULL bits.
#[must_use]
pub fn definition_bytes(types: &[ColumnType]) -> u64 {
    let nullable = types.iter().filter(|t| t.nullable).count() as u64;
    let varies = |t: &&ColumnType| {
        matches!(t.kind, Kind::VarChar | Kind::VarBinary | Kind::Json) || t.kind.is_large()
    };
    // A table of fixed columns has a bit that says "deleted".
    let bits = nullable + u64::from(!types.iter().any(|t| varies(&t)));
    bits.div_ceil(8) + types.iter().map(column_definition_bytes).sum::<u64>()
}

fn column_definition_bytes(ty: &ColumnType) -> u64 {
    const POINTER: u64 = 8;
    let max = u64::from(ty.bytes_max());
    match ty.kind {
        Kind::VarChar | Kind::VarBinary => max + if max < 256 { 1 } else { 2 },
        Kind::TinyText | Kind::TinyBlob => 1 + POINTER,
        Kind::Text | Kind::Blob => 2 + POINTER,
        Kind::MediumText | Kind::MediumBlob => 3 + POINTER,
        Kind::LongText | Kind::LongBlob | Kind::Json => 4 + POINTER,
        Kind::Decimal => u64::from(mysql_decimal_bytes(ty)),
        _ => max,
    }
}

/// MySQL's bytes of a DECIMAL: four for nine digits, on both sides of the point.
fn mysql_decimal_bytes(ty: &ColumnType) -> u32 {
    const LEFT: [u32; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let bytes = |digits: u32| digits / 9 * 4 + LEFT[(digits % 9) as usize];
    let scale = u32::from(ty.decimals);
    bytes(ty.length.saturating_sub(scale)) + bytes(scale)
}

/// Fewest bytes that a row of full columns takes in its page, as InnoDB counts them for
/// ROW_FORMAT=DYNAMIC: what may be longer than 40 bytes counts 40, since it may lie outside.
#[must_use]
pub fn in_page_bytes(types: &[ColumnType], hidden_key: bool) -> u64 {
    const RECORD_HEADER: u64 = 5;
    const TRX_AND_ROLL: u64 = 13;
    const HIDDEN_KEY: u64 = 6;
    const LOCAL_MAX: u64 = 40;
    let nullable = types.iter().filter(|t| t.nullable).count() as u64;
    let head = RECORD_HEADER + TRX_AND_ROLL + if hidden_key { HIDDEN_KEY } else { 0 };
    let column = |ty: &ColumnType| {
        let max = u64::from(ty.bytes_max());
        // CHAR of a character set with characters of several lengths varies, too.
        let varies = ty.kind.is_string() && ty.kind != Kind::Binary || ty.kind == Kind::Json;
        match varies {
            false => max,
            true if max >= LOCAL_MAX => LOCAL_MAX + 1,
            true => max + 1,
        }
    };
    head + nullable.div_ceil(8) + types.iter().map(column).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    const AI: Collation = Collation::Utf8mb4_0900AiCi;

    #[test]
    fn a_row_definition_has_65535_bytes() {
        let fits = |types: &[ColumnType]| check_columns(types).is_ok();
        let binary = |n| ColumnType::varbinary(n);
        assert!(fits(&[binary(65_533).not_null()]));
        assert!(!fits(&[binary(65_534).not_null()]));
        assert!(fits(&[binary(65_532)]) && !fits(&[binary(65_533)]));
        // TEXT counts its length bytes and a pointer only.
        let text = ColumnType::large(Kind::LongText, AI).not_null();
        assert!(fits(&[binary(65_521).not_null(), text]));
        assert!(!fits(&[binary(65_522).not_null(), text]));
        let columns = vec![ColumnType::int(Kind::Int, false); 1018];
        assert!(fits(&columns[..1017]));
        let error = check_columns(&columns).unwrap_err();
        assert_eq!((error, error.number()), (LimitError::TooManyColumns { limit: 1017 }, 1117));
    }

    #[test]
    fn a_row_in_its_page_counts_fixed_columns_and_forty_bytes_of_the_others() {
        let fits = |types: &[ColumnType]| check_row_in_page(types, false).is_ok();
        let chars = |n| vec![ColumnType::binary(255).not_null(); n];
        assert!(fits(&chars(31)) && !fits(&chars(32)));
        let texts = |n| vec![ColumnType::large(Kind::Text, AI); n];
        assert!(fits(&texts(196)) && !fits(&texts(198)));
        let error = check_row_in_page(&texts(198), false).unwrap_err();
        assert_eq!(error, LimitError::RowInPage { bytes: 18 + 25 + 198 * 41, limit: 8126 });
    }

    #[test]
    fn a_key_has_3072_bytes_16_parts_and_63_others_beside_it() {
        let types = [
            ColumnType::varchar(1000, AI),
            ColumnType::large(Kind::Text, AI),
            ColumnType::binary(255),
        ];
        let prefix = KeyPart::prefix;
        assert_eq!(check_key(&types, &[prefix(0, 768)]), Ok(()));
        let too_long = |bytes| Err(LimitError::KeyTooLong { bytes, limit: 3072 });
        assert_eq!(check_key(&types, &[prefix(1, 769)]), too_long(3076));
        assert_eq!(check_key(&types, &[KeyPart::whole(0)]), too_long(4000));
        assert_eq!(check_key(&types, &[prefix(0, 767), KeyPart::whole(2)]), too_long(3323));
        assert_eq!(
            check_key(&types, &[KeyPart::whole(2); 17]),
            Err(LimitError::TooManyKeyParts { limit: 16 })
        );
        assert!(check_index_count(64).is_ok() && check_index_count(65).is_err());
    }
}
