//! Kinds of types: what a column's values are, without attributes.

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
    /// DOUBLE, 8 bytes.
    Double = 10,
    /// DECIMAL(p, s).
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
    /// FLOAT, 4 bytes.
    Float = 20,
    /// BIT(n), 1 to 64 bits.
    Bit = 21,
    /// ENUM.
    Enum = 22,
    /// SET.
    Set = 23,
    /// DATE.
    Date = 24,
    /// TIME(fsp).
    Time = 25,
    /// DATETIME(fsp).
    DateTime = 26,
    /// TIMESTAMP(fsp): stored in UTC, seen in the session's time zone.
    Timestamp = 27,
    /// YEAR.
    Year = 28,
    /// JSON: a document in binary form.
    Json = 29,
    /// GEOMETRY and its kin: never of a column so far.
    Geometry = 30,
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
            20 => Kind::Float,
            21 => Kind::Bit,
            22 => Kind::Enum,
            23 => Kind::Set,
            24 => Kind::Date,
            25 => Kind::Time,
            26 => Kind::DateTime,
            27 => Kind::Timestamp,
            28 => Kind::Year,
            29 => Kind::Json,
            30 => Kind::Geometry,
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

    /// Whether this is DATE, TIME, DATETIME or TIMESTAMP (not YEAR, which is a number).
    #[inline]
    #[must_use]
    pub const fn is_temporal(self) -> bool {
        matches!(self, Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp)
    }

    /// Whether values have a date: DATE, DATETIME or TIMESTAMP.
    #[inline]
    #[must_use]
    pub const fn has_date(self) -> bool {
        matches!(self, Kind::Date | Kind::DateTime | Kind::Timestamp)
    }

    /// Whether this is FLOAT or DOUBLE.
    #[inline]
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Kind::Float | Kind::Double)
    }

    /// Whether this is ENUM or SET.
    #[inline]
    #[must_use]
    pub const fn has_members(self) -> bool {
        matches!(self, Kind::Enum | Kind::Set)
    }

    /// Whether values are numbers: integers, decimals, floats, BIT and YEAR.
    #[inline]
    #[must_use]
    pub const fn is_number(self) -> bool {
        self.is_int() || self.is_float() || matches!(self, Kind::Decimal | Kind::Bit | Kind::Year)
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
