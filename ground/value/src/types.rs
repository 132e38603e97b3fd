//! Column types: what the dictionary stores about a column's values.

use crate::decimal::{PRECISION_MAX, SCALE_MAX};
use crate::members::{ENUM_MEMBERS_MAX, SET_MEMBERS_MAX};
use crate::time::FSP_MAX;
use crate::{Collation, Members};

use crate::Kind;

/// Longest CHAR, in characters, and longest BINARY, in bytes.
pub const CHAR_LENGTH_MAX: u32 = 255;
/// Longest VARCHAR or VARBINARY, in bytes (MySQL's row limit).
pub const VAR_BYTES_MAX: u32 = 65_535;
/// Bytes that one utf8mb4 character may take.
pub const UTF8MB4_BYTES_MAX: u32 = 4;

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
    /// Numbers: no negative values.
    pub unsigned: bool,
    /// Numbers: text is filled with zeros up to the width.
    pub zerofill: bool,
    /// Whether NULL may be stored.
    pub nullable: bool,
    /// Characters (Char, VarChar) or bytes (Binary, VarBinary, and the kind's own limit for TEXT and
    /// BLOB kinds); bits of BIT; digits of DECIMAL and FLOAT(M,D); an integer's width where MySQL shows
    /// one (TINYINT(1), ZEROFILL). 0: not known or none.
    pub length: u32,
    /// Digits behind the point: DECIMAL's scale, FLOAT(M,D)'s D, a second's fraction;
    /// [`NOT_FIXED`] for other floats.
    pub decimals: u8,
    /// How text, ENUM and SET compare; `Binary` for everything else.
    pub collation: Collation,
    /// The members of ENUM and SET.
    pub members: Option<&'static Members>,
}

/// `decimals` of a float without fixed digits behind the point.
pub const NOT_FIXED: u8 = 31;
/// Most bits of BIT.
pub const BIT_LENGTH_MAX: u32 = 64;
/// Bytes that [`ColumnType::encode`] appends before an ENUM's or SET's members.
pub const ENCODED_TYPE_BYTES: usize = 9;

const FLAG_UNSIGNED: u8 = 1;
const FLAG_NULLABLE: u8 = 2;
const FLAG_ZEROFILL: u8 = 4;
const FLAG_MEMBERS: u8 = 8;

impl ColumnType {
    /// A nullable type of this kind without length, digits or members; floats have digits that are not
    /// fixed.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            unsigned: matches!(kind, Kind::Year | Kind::Bit),
            zerofill: matches!(kind, Kind::Year),
            nullable: true,
            length: 0,
            decimals: if kind.is_float() { NOT_FIXED } else { 0 },
            collation: Collation::Binary,
            members: None,
        }
    }

    /// A nullable integer type.
    #[must_use]
    pub const fn int(kind: Kind, unsigned: bool) -> Self {
        Self { unsigned, ..Self::of(kind) }
    }

    /// A nullable DOUBLE.
    #[must_use]
    pub const fn double() -> Self {
        Self::of(Kind::Double)
    }

    /// A nullable DECIMAL(`precision`, `scale`).
    #[must_use]
    pub const fn decimal(precision: u8, scale: u8) -> Self {
        Self { length: precision as u32, decimals: scale, ..Self::of(Kind::Decimal) }
    }

    /// A nullable BIT(`bits`).
    #[must_use]
    pub const fn bit(bits: u8) -> Self {
        Self { length: bits as u32, ..Self::of(Kind::Bit) }
    }

    /// A nullable DATE, TIME(`fsp`), DATETIME(`fsp`) or TIMESTAMP(`fsp`); `fsp` does not count for
    /// other kinds.
    #[must_use]
    pub const fn temporal(kind: Kind, fsp: u8) -> Self {
        let decimals = if matches!(kind, Kind::Date) { 0 } else { fsp };
        Self { decimals, ..Self::of(kind) }
    }

    /// A nullable ENUM or SET.
    #[must_use]
    pub fn with_members(kind: Kind, members: &'static Members) -> Self {
        Self { members: Some(members), collation: members.collation(), ..Self::of(kind) }
    }

    /// A nullable JSON.
    #[must_use]
    pub const fn json() -> Self {
        Self { length: u32::MAX, ..Self::of(Kind::Json) }
    }

    /// A nullable CHAR(`length`) of characters.
    #[must_use]
    pub const fn char(length: u32, collation: Collation) -> Self {
        Self { length, collation, ..Self::of(Kind::Char) }
    }

    /// A nullable VARCHAR(`length`) of characters.
    #[must_use]
    pub const fn varchar(length: u32, collation: Collation) -> Self {
        Self { length, collation, ..Self::of(Kind::VarChar) }
    }

    /// A nullable BINARY(`length`) of bytes.
    #[must_use]
    pub const fn binary(length: u32) -> Self {
        Self { length, ..Self::of(Kind::Binary) }
    }

    /// A nullable VARBINARY(`length`) of bytes.
    #[must_use]
    pub const fn varbinary(length: u32) -> Self {
        Self { length, ..Self::of(Kind::VarBinary) }
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
        Self { length, collation, ..Self::of(kind) }
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
            Kind::Json => u32::MAX,
            kind if kind.is_large() => self.length,
            _ => self.fixed_bytes().unwrap_or(0),
        }
    }

    /// Bytes of a stored value of a kind whose values all take as many; `None` for the others.
    #[inline]
    #[must_use]
    pub fn fixed_bytes(&self) -> Option<u32> {
        Some(match self.kind {
            Kind::Binary => self.length,
            Kind::Double => 8,
            Kind::Float => 4,
            Kind::Decimal if self.length == 0 => 28,
            Kind::Decimal => decimal_bytes(self.length),
            Kind::Bit => self.length.div_ceil(8),
            Kind::Enum => self.members.map_or(2, |m| m.enum_bytes()) as u32,
            Kind::Set => self.members.map_or(8, |m| m.set_bytes()) as u32,
            Kind::Date => 3,
            Kind::Year => 1,
            Kind::Time => 3 + u32::from(self.decimals.div_ceil(2)),
            Kind::DateTime => 5 + u32::from(self.decimals.div_ceil(2)),
            Kind::Timestamp => 4 + u32::from(self.decimals.div_ceil(2)),
            kind => return kind.int_bytes().map(|n| n as u32),
        })
    }

    /// Characters of a number's widest text: what ZEROFILL fills up to, and MySQL's default width of
    /// an integer without one of its own. 0 for other kinds.
    #[must_use]
    pub fn display_width(&self) -> u32 {
        let unsigned = u32::from(!self.unsigned);
        match self.kind {
            _ if self.length > 0 && self.kind.is_int() => self.length,
            Kind::TinyInt => 3 + unsigned,
            Kind::SmallInt => 5 + unsigned,
            Kind::MediumInt => 8 + unsigned,
            Kind::Int => 10 + unsigned,
            Kind::BigInt => 20,
            Kind::Decimal => {
                self.length + u32::from(self.decimals > 0) + unsigned * u32::from(self.length > 0)
            }
            Kind::Float | Kind::Double if self.length > 0 => self.length,
            Kind::Float => 12,
            Kind::Double => 22,
            Kind::Year => 4,
            _ => 0,
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

    /// Appends the type's dictionary form: kind u8, flags u8, collation u16, length u32, decimals u8
    /// (all LE); of an ENUM or SET the count of members u16, and each as u16 length and bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.push(self.kind as u8);
        out.push(
            flag(self.unsigned, FLAG_UNSIGNED)
                | flag(self.nullable, FLAG_NULLABLE)
                | flag(self.zerofill, FLAG_ZEROFILL)
                | flag(self.members.is_some(), FLAG_MEMBERS),
        );
        out.extend_from_slice(&self.collation.id().to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.decimals);
        if let Some(members) = self.members {
            out.extend_from_slice(&(members.len() as u16).to_le_bytes());
            for name in members.names() {
                out.extend_from_slice(&(name.len() as u16).to_le_bytes());
                out.extend_from_slice(name);
            }
        }
    }

    /// Reads a type from the front of `bytes` and tells how many bytes it took.
    ///
    /// # Errors
    /// The bytes are too few or name something this version does not know.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), TypeError> {
        let b: &[u8; ENCODED_TYPE_BYTES] = bytes.first_chunk().ok_or(CUT)?;
        let kind = Kind::from_u8(b[0]).ok_or(TypeError("unknown kind"))?;
        if b[1] & !(FLAG_UNSIGNED | FLAG_NULLABLE | FLAG_ZEROFILL | FLAG_MEMBERS) != 0 {
            return Err(TypeError("unknown flag"));
        }
        let collation = Collation::from_id(u16::from_le_bytes([b[2], b[3]]))
            .ok_or(TypeError("unknown collation"))?;
        let mut ty = Self {
            kind,
            unsigned: b[1] & FLAG_UNSIGNED != 0,
            zerofill: b[1] & FLAG_ZEROFILL != 0,
            nullable: b[1] & FLAG_NULLABLE != 0,
            length: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            decimals: b[8],
            collation,
            members: None,
        };
        let mut took = ENCODED_TYPE_BYTES;
        if b[1] & FLAG_MEMBERS != 0 {
            let (names, bytes) = decode_members(&bytes[took..])?;
            ty.members = Some(Members::intern(names, collation));
            took += bytes;
        }
        ty.check()?;
        Ok((ty, took))
    }

    /// Whether the type can be that of a column.
    ///
    /// # Errors
    /// A length beyond MySQL's limits, or text attributes on a number.
    pub fn check(&self) -> Result<(), TypeError> {
        let members = self.members.map_or(0, Members::len);
        let ok = match self.kind {
            Kind::Char | Kind::Binary => self.length <= CHAR_LENGTH_MAX,
            Kind::VarChar | Kind::VarBinary => self.bytes_max() <= VAR_BYTES_MAX,
            Kind::Decimal => {
                (1..=u32::from(PRECISION_MAX)).contains(&self.length)
                    && self.decimals <= SCALE_MAX
                    && u32::from(self.decimals) <= self.length
            }
            Kind::Double | Kind::Float => self.length <= 255 && self.decimals <= NOT_FIXED,
            Kind::Bit => (1..=BIT_LENGTH_MAX).contains(&self.length),
            Kind::Enum => (1..=ENUM_MEMBERS_MAX).contains(&members),
            Kind::Set => (1..=SET_MEMBERS_MAX).contains(&members),
            Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp => {
                self.length == 0 && self.decimals <= FSP_MAX
            }
            Kind::Json => true,
            Kind::Geometry => false,
            kind if kind.is_large() => kind.large_bytes_max() == Some(self.length),
            _ => self.length <= 255,
        };
        if !ok {
            return Err(TypeError("length out of range"));
        }
        if self.members.is_some() != self.kind.has_members() {
            return Err(TypeError("members on a type that has none, or none"));
        }
        let collated = self.is_text() || self.kind.has_members();
        if !collated && self.collation != Collation::Binary {
            return Err(TypeError("collation on a type that is not text"));
        }
        Ok(())
    }
}

const CUT: TypeError = TypeError("too few bytes");

/// The names of members and the bytes they took.
fn decode_members(bytes: &[u8]) -> Result<(Vec<Vec<u8>>, usize), TypeError> {
    let mut at = 0;
    let mut take = |n: usize| {
        let taken = bytes.get(at..at + n).ok_or(CUT);
        at += n;
        taken
    };
    let number = |b: &[u8]| usize::from(b[0]) | usize::from(b[1]) << 8;
    let count = number(take(2)?);
    let mut names = Vec::new();
    for _ in 0..count {
        let length = number(take(2)?);
        names.push(take(length)?.to_vec());
    }
    Ok((names, at))
}

/// Bytes of a stored DECIMAL of so many digits: what its largest magnitude and a sign take.
const fn decimal_bytes(precision: u32) -> u32 {
    // log2(10) = 3.3219..: 1701/512 is just above.
    (precision * 1701 / 512 + 2).div_ceil(8)
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
        for (at, v) in [(0, 99), (1, 0x10), (1, 8), (2, 1), (5, 1)] {
            let mut bad = bytes.clone();
            bad[at] = v;
            assert!(ColumnType::decode(&bad).is_err(), "byte {at} = {v}");
        }
        assert!(ColumnType::decode(&bytes[..8]).is_err());
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
