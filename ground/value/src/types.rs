//! Column types: what the dictionary stores about a column's values.

use crate::Collation;

/// Longest CHAR, in characters, and longest BINARY, in bytes.
pub const CHAR_LENGTH_MAX: u32 = 255;
/// Longest VARCHAR or VARBINARY, in bytes (MySQL's row limit).
pub const VAR_BYTES_MAX: u32 = 65_535;
/// Bytes that one utf8mb4 character may take.
pub const UTF8MB4_BYTES_MAX: u32 = 4;

/// The kind of a type, without its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// TINYINT, 1 byte.
    TinyInt = 1,
    /// SMALLINT, 2 bytes.
    SmallInt = 2,
    /// MEDIUMINT, 3 bytes.
    MediumInt = 3,
    /// INT, 4 bytes.
    Int = 4,
    /// BIGINT, 8 bytes.
    BigInt = 5,
    /// CHAR(n): text, trailing spaces never stored.
    Char = 6,
    /// VARCHAR(n): text.
    VarChar = 7,
    /// BINARY(n): bytes, padded with 0x00 to n.
    Binary = 8,
    /// VARBINARY(n): bytes.
    VarBinary = 9,
    /// DOUBLE: only the type of an expression so far, never of a column.
    Double = 10,
    /// DECIMAL: only the type of an expression so far, never of a column.
    Decimal = 11,
    /// TINYTEXT: text of at most 255 bytes.
    TinyText = 12,
    /// TEXT: text of at most 65,535 bytes.
    Text = 13,
    /// MEDIUMTEXT: text of at most 16,777,215 bytes.
    MediumText = 14,
    /// LONGTEXT: text of at most 4,294,967,295 bytes.
    LongText = 15,
    /// TINYBLOB: at most 255 bytes.
    TinyBlob = 16,
    /// BLOB: at most 65,535 bytes.
    Blob = 17,
    /// MEDIUMBLOB: at most 16,777,215 bytes.
    MediumBlob = 18,
    /// LONGBLOB: at most 4,294,967,295 bytes.
    LongBlob = 19,
}

impl Kind {
    /// The kind with this stored number.
    #[must_use]
    pub fn from_u8(v: u8) -> Option<Kind> {
        Some(match v {
            1 => Kind::TinyInt,
            2 => Kind::SmallInt,
            3 => Kind::MediumInt,
            4 => Kind::Int,
            5 => Kind::BigInt,
            6 => Kind::Char,
            7 => Kind::VarChar,
            8 => Kind::Binary,
            9 => Kind::VarBinary,
            10 => Kind::Double,
            11 => Kind::Decimal,
            12 => Kind::TinyText,
            13 => Kind::Text,
            14 => Kind::MediumText,
            15 => Kind::LongText,
            16 => Kind::TinyBlob,
            17 => Kind::Blob,
            18 => Kind::MediumBlob,
            19 => Kind::LongBlob,
            _ => return None,
        })
    }

    /// Bytes of a stored integer; `None` for the other kinds.
    #[inline]
    #[must_use]
    pub const fn int_bytes(self) -> Option<usize> {
        match self {
            Kind::TinyInt => Some(1),
            Kind::SmallInt => Some(2),
            Kind::MediumInt => Some(3),
            Kind::Int => Some(4),
            Kind::BigInt => Some(8),
            _ => None,
        }
    }

    /// Whether this is an integer kind.
    #[inline]
    #[must_use]
    pub const fn is_int(self) -> bool {
        self.int_bytes().is_some()
    }

    /// Whether values of this kind are `Datum::Bytes`.
    #[inline]
    #[must_use]
    pub const fn is_string(self) -> bool {
        matches!(self, Kind::Char | Kind::VarChar | Kind::Binary | Kind::VarBinary)
            || self.is_large()
    }

    /// Whether this is a TEXT or BLOB kind: its length is fixed by the kind and counts in bytes, it
    /// needs a prefix length in a key, and it does not count for the row definition's 65,535 bytes.
    #[inline]
    #[must_use]
    pub const fn is_large(self) -> bool {
        self.large_bytes_max().is_some()
    }

    /// Most bytes that a value of a TEXT or BLOB kind may take; `None` for the other kinds.
    #[must_use]
    pub const fn large_bytes_max(self) -> Option<u32> {
        match self {
            Kind::TinyText | Kind::TinyBlob => Some(u8::MAX as u32),
            Kind::Text | Kind::Blob => Some(u16::MAX as u32),
            Kind::MediumText | Kind::MediumBlob => Some((1 << 24) - 1),
            Kind::LongText | Kind::LongBlob => Some(u32::MAX),
            _ => None,
        }
    }

    /// Whether values are bytes without a character set: BINARY, VARBINARY and the BLOB kinds.
    #[inline]
    #[must_use]
    pub const fn is_binary_string(self) -> bool {
        matches!(
            self,
            Kind::Binary
                | Kind::VarBinary
                | Kind::TinyBlob
                | Kind::Blob
                | Kind::MediumBlob
                | Kind::LongBlob
        )
    }

    /// Whether values are characters: CHAR, VARCHAR and the TEXT kinds.
    #[inline]
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Kind::Char
                | Kind::VarChar
                | Kind::TinyText
                | Kind::Text
                | Kind::MediumText
                | Kind::LongText
        )
    }

    /// The smallest TEXT kind that holds `bytes` bytes, or BLOB kind with `binary`: what MySQL makes
    /// of TEXT(n) and BLOB(n).
    #[must_use]
    pub const fn large_for(bytes: u64, binary: bool) -> Kind {
        match (bytes, binary) {
            (0..=0xFF, false) => Kind::TinyText,
            (0..=0xFF, true) => Kind::TinyBlob,
            (..=0xFFFF, false) => Kind::Text,
            (..=0xFFFF, true) => Kind::Blob,
            (..=0xFF_FFFF, false) => Kind::MediumText,
            (..=0xFF_FFFF, true) => Kind::MediumBlob,
            (_, false) => Kind::LongText,
            (_, true) => Kind::LongBlob,
        }
    }
}

/// Bytes that are not an encoded column type, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeError(pub &'static str);

impl std::fmt::Display for TypeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bad column type: {}", self.0)
    }
}

impl std::error::Error for TypeError {}

/// The type of one column, or of an expression's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// The kind of value.
    pub kind: Kind,
    /// Integers: no negative values.
    pub unsigned: bool,
    /// Whether NULL may be stored.
    pub nullable: bool,
    /// Characters (Char, VarChar) or bytes (Binary, VarBinary, and the kind's own limit for TEXT and
    /// BLOB kinds); 0 for numbers.
    pub length: u32,
    /// How text compares; `Binary` for everything that is not text.
    pub collation: Collation,
}

/// Bytes that [`ColumnType::encode`] appends.
pub const ENCODED_TYPE_BYTES: usize = 8;

const FLAG_UNSIGNED: u8 = 1;
const FLAG_NULLABLE: u8 = 2;

impl ColumnType {
    /// A nullable integer type.
    #[must_use]
    pub const fn int(kind: Kind, unsigned: bool) -> Self {
        Self { kind, unsigned, nullable: true, length: 0, collation: Collation::Binary }
    }

    /// A nullable CHAR(`length`) of characters.
    #[must_use]
    pub const fn char(length: u32, collation: Collation) -> Self {
        Self { kind: Kind::Char, unsigned: false, nullable: true, length, collation }
    }

    /// A nullable VARCHAR(`length`) of characters.
    #[must_use]
    pub const fn varchar(length: u32, collation: Collation) -> Self {
        Self { kind: Kind::VarChar, unsigned: false, nullable: true, length, collation }
    }

    /// A nullable BINARY(`length`) of bytes.
    #[must_use]
    pub const fn binary(length: u32) -> Self {
        let collation = Collation::Binary;
        Self { kind: Kind::Binary, unsigned: false, nullable: true, length, collation }
    }

    /// A nullable VARBINARY(`length`) of bytes.
    #[must_use]
    pub const fn varbinary(length: u32) -> Self {
        let collation = Collation::Binary;
        Self { kind: Kind::VarBinary, unsigned: false, nullable: true, length, collation }
    }

    /// A nullable TEXT or BLOB kind; `collation` counts for the TEXT kinds only. Another kind: as if
    /// LONGBLOB.
    #[must_use]
    pub const fn large(kind: Kind, collation: Collation) -> Self {
        let (kind, length) = match kind.large_bytes_max() {
            Some(length) => (kind, length),
            None => (Kind::LongBlob, u32::MAX),
        };
        let collation = if kind.is_text() { collation } else { Collation::Binary };
        Self { kind, unsigned: false, nullable: true, length, collation }
    }

    /// The same type with NOT NULL.
    #[must_use]
    pub const fn not_null(mut self) -> Self {
        self.nullable = false;
        self
    }

    /// Whether values are text in the column's collation (not bytes, not numbers).
    #[inline]
    #[must_use]
    pub const fn is_text(&self) -> bool {
        self.kind.is_text()
    }

    /// Most bytes that a stored value of this type may take; numbers: their width.
    #[must_use]
    pub fn bytes_max(&self) -> u32 {
        match self.kind {
            Kind::Char | Kind::VarChar => {
                self.length.saturating_mul(self.collation.bytes_per_char_max())
            }
            Kind::Binary | Kind::VarBinary => self.length,
            kind if kind.is_large() => self.length,
            Kind::Double => 8,
            Kind::Decimal => 16,
            _ => self.kind.int_bytes().map_or(0, |n| n as u32),
        }
    }

    /// Smallest and largest value of an integer type, both inside i128; `(0, 0)` for other kinds.
    #[must_use]
    pub const fn int_range(&self) -> (i128, i128) {
        let bits = match self.kind.int_bytes() {
            Some(bytes) => 8 * bytes as u32,
            None => return (0, 0),
        };
        if self.unsigned {
            (0, (1i128 << bits) - 1)
        } else {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        }
    }

    /// The type as SHOW COLUMNS prints it (`int`, `bigint unsigned`, `char(120)`).
    #[must_use]
    pub fn to_sql(&self) -> String {
        let name = match self.kind {
            Kind::TinyInt => "tinyint",
            Kind::SmallInt => "smallint",
            Kind::MediumInt => "mediumint",
            Kind::Int => "int",
            Kind::BigInt => "bigint",
            Kind::Double => "double",
            Kind::Decimal => "decimal",
            Kind::TinyText => "tinytext",
            Kind::Text => "text",
            Kind::MediumText => "mediumtext",
            Kind::LongText => "longtext",
            Kind::TinyBlob => "tinyblob",
            Kind::Blob => "blob",
            Kind::MediumBlob => "mediumblob",
            Kind::LongBlob => "longblob",
            Kind::Char => return format!("char({})", self.length),
            Kind::VarChar => return format!("varchar({})", self.length),
            Kind::Binary => return format!("binary({})", self.length),
            Kind::VarBinary => return format!("varbinary({})", self.length),
        };
        if self.unsigned { format!("{name} unsigned") } else { name.to_owned() }
    }

    /// Appends the type's dictionary form: kind u8, flags u8, collation u16, length u32 (all LE).
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags = if self.unsigned { FLAG_UNSIGNED } else { 0 }
            | if self.nullable { FLAG_NULLABLE } else { 0 };
        out.push(self.kind as u8);
        out.push(flags);
        out.extend_from_slice(&self.collation.id().to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
    }

    /// Reads a type from the front of `bytes` and tells how many bytes it took.
    ///
    /// # Errors
    /// The bytes are too few or name something this version does not know.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), TypeError> {
        let b: &[u8; ENCODED_TYPE_BYTES] = bytes.first_chunk().ok_or(TypeError("too few bytes"))?;
        let kind = Kind::from_u8(b[0]).ok_or(TypeError("unknown kind"))?;
        if b[1] & !(FLAG_UNSIGNED | FLAG_NULLABLE) != 0 {
            return Err(TypeError("unknown flag"));
        }
        let collation = Collation::from_id(u16::from_le_bytes([b[2], b[3]]))
            .ok_or(TypeError("unknown collation"))?;
        let ty = Self {
            kind,
            unsigned: b[1] & FLAG_UNSIGNED != 0,
            nullable: b[1] & FLAG_NULLABLE != 0,
            length: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            collation,
        };
        ty.check()?;
        Ok((ty, ENCODED_TYPE_BYTES))
    }

    /// Whether the type can be that of a column.
    ///
    /// # Errors
    /// A length beyond MySQL's limits, or text attributes on a number.
    pub fn check(&self) -> Result<(), TypeError> {
        let ok = match self.kind {
            Kind::Char | Kind::Binary => self.length <= CHAR_LENGTH_MAX,
            Kind::VarChar | Kind::VarBinary => self.bytes_max() <= VAR_BYTES_MAX,
            Kind::Double | Kind::Decimal => true,
            kind if kind.is_large() => kind.large_bytes_max() == Some(self.length),
            _ => self.length == 0,
        };
        if !ok {
            return Err(TypeError("length out of range"));
        }
        if !self.is_text() && self.collation != Collation::Binary {
            return Err(TypeError("collation on a type that is not text"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionary_form_comes_back_and_bad_bytes_do_not() {
        let ai = Collation::default();
        let types = [
            ColumnType::int(Kind::BigInt, true).not_null(),
            ColumnType::char(120, ai),
            ColumnType::varchar(16_383, ai).not_null(),
            ColumnType::varbinary(65_535),
            ColumnType::large(Kind::MediumText, Collation::Utf8mb4Bin),
            ColumnType::large(Kind::LongBlob, ai).not_null(),
        ];
        let mut bytes = Vec::new();
        types.iter().for_each(|t| t.encode(&mut bytes));
        for (i, t) in types.iter().enumerate() {
            assert_eq!(
                ColumnType::decode(&bytes[i * ENCODED_TYPE_BYTES..]),
                Ok((*t, ENCODED_TYPE_BYTES))
            );
        }
        for (at, v) in [(0, 99), (1, 4), (2, 1), (4, 1)] {
            let mut bad = bytes.clone();
            bad[at] = v;
            assert!(ColumnType::decode(&bad).is_err(), "byte {at} = {v}");
        }
        assert!(ColumnType::decode(&bytes[..7]).is_err());
        assert!(ColumnType::char(256, ai).check().is_err());
        assert!(ColumnType::varchar(16_384, ai).check().is_err());
        let mut text = ColumnType::large(Kind::Text, ai);
        assert_eq!((text.length, text.bytes_max(), text.is_text()), (65_535, 65_535, true));
        text.length = 10;
        assert!(text.check().is_err());
        let blob = ColumnType::large(Kind::TinyBlob, ai);
        assert_eq!((blob.length, blob.collation), (255, Collation::Binary));
    }

    #[test]
    fn a_wanted_length_picks_the_smallest_kind() {
        let kinds = [(0, Kind::TinyText), (255, Kind::TinyText), (256, Kind::Text)];
        kinds.into_iter().for_each(|(n, kind)| assert_eq!(Kind::large_for(n, false), kind));
        let kinds = [(65_535, Kind::Blob), (65_536, Kind::MediumBlob), (1 << 24, Kind::LongBlob)];
        kinds.into_iter().for_each(|(n, kind)| assert_eq!(Kind::large_for(n, true), kind));
    }

    #[test]
    fn types_print_as_mysql_shows_them() {
        assert_eq!(ColumnType::int(Kind::Int, true).to_sql(), "int unsigned");
        assert_eq!(ColumnType::char(120, Collation::default()).to_sql(), "char(120)");
        assert_eq!(ColumnType::varbinary(7).to_sql(), "varbinary(7)");
        let text = |kind| ColumnType::large(kind, Collation::default()).to_sql();
        assert_eq!(
            (text(Kind::TinyText), text(Kind::LongBlob)),
            ("tinytext".into(), "longblob".into())
        );
    }
}
