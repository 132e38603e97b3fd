//! CHECKSUM TABLE's number: the sum, modulo 2^32, of a CRC-32 (zlib's) over each row's image.
//!
//! Found by observation of MySQL 9.7:
//! 1. The image is the NULL bits, then each column in order. One bit per nullable column, from bit 0 up,
//! behind one bit that is set unless the table has a column of variable length; spare bits are set.
//! 2. Integers, FLOAT, DOUBLE, DATE, ENUM and SET are little-endian in their width; DECIMAL, TIME, DATETIME,
//! TIMESTAMP and BIT big-endian; CHAR is padded with spaces to its greatest length in bytes, BINARY with
//! zeros to its length; VARCHAR, VARBINARY, TEXT and BLOB are their bytes alone, JSON is its text.
//! 3. A NULL counts as its column's DEFAULT, else as zero, padding or nothing.

mod image;

use catalog::ColumnDef;
use crc_fast::{CrcAlgorithm, Digest};
use expr::SqlError;
use value::{ColumnType, Datum, Kind};

/// Sums up the rows of one table.
pub struct Checksum {
    columns: Vec<Column>,
    /// The first NULL bit is one that belongs to no column.
    first_bit_set: bool,
    nulls: Vec<u8>,
    scratch: Vec<u8>,
    sum: u32,
}

struct Column {
    ty: ColumnType,
    /// The image that stands for NULL.
    absent: Vec<u8>,
}

impl Checksum {
    /// Nothing yet, for rows of these columns.
    pub fn new(columns: &[ColumnDef]) -> Checksum {
        let variable = |c: &ColumnDef| {
            let fixed = matches!(c.ty.kind, Kind::Char | Kind::Binary);
            c.ty.kind == Kind::Json || c.ty.kind.is_string() && !fixed
        };
        let first_bit_set = !columns.iter().any(variable);
        let nullable = columns.iter().filter(|c| c.ty.nullable).count();
        Checksum {
            columns: columns.iter().map(Column::new).collect(),
            first_bit_set,
            nulls: vec![0; (nullable + usize::from(first_bit_set)).div_ceil(8)],
            scratch: Vec::new(),
            sum: 0,
        }
    }

    /// Adds a row, whose values `value` gives by column.
    ///
    /// # Errors
    /// Those of `value`.
    pub fn add<'r>(
        &mut self,
        value: impl Fn(usize) -> Result<Datum<'r>, SqlError>,
    ) -> Result<(), SqlError> {
        self.nulls.fill(0xFF);
        let nullable = self.columns.iter().enumerate().filter(|(_, c)| c.ty.nullable);
        for (bit, (position, _)) in (usize::from(self.first_bit_set)..).zip(nullable) {
            if !value(position)?.is_null() {
                self.nulls[bit / 8] &= !(1 << (bit % 8));
            }
        }
        let mut crc = Digest::new(CrcAlgorithm::Crc32IsoHdlc);
        crc.update(&self.nulls);
        for (position, column) in self.columns.iter().enumerate() {
            column.add(&value(position)?, &mut self.scratch, &mut crc);
        }
        self.sum = self.sum.wrapping_add(crc.finalize() as u32);
        Ok(())
    }

    /// The number.
    pub fn total(&self) -> u32 {
        self.sum
    }
}

impl Column {
    fn new(def: &ColumnDef) -> Column {
        let mut absent = Vec::new();
        match def.stored_default() {
            Some(value) => image::append(&def.ty, &value.datum(), &mut absent),
            None => image::append_zero(&def.ty, &mut absent),
        }
        Column { ty: def.ty, absent }
    }

    fn add(&self, value: &Datum<'_>, scratch: &mut Vec<u8>, crc: &mut Digest) {
        if value.is_null() {
            return crc.update(&self.absent);
        }
        scratch.clear();
        image::append(&self.ty, value, scratch);
        crc.update(scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::DefaultValue;
    use value::Collation;

    fn column(ty: ColumnType, default: DefaultValue) -> ColumnDef {
        ColumnDef { default, ..ColumnDef::new("", ty) }
    }

    fn total(columns: &[ColumnDef], rows: &[&[Datum<'static>]]) -> u32 {
        let mut sum = Checksum::new(columns);
        for row in rows {
            sum.add(|column| Ok(row[column])).expect("values");
        }
        sum.total()
    }

    #[test]
    fn the_numbers_are_mysqls() {
        use Datum::{Bytes, Int, Null};
        let int = |nullable: bool| {
            let ty = ColumnType::int(Kind::Int, false);
            column(if nullable { ty } else { ty.not_null() }, DefaultValue::Null)
        };
        let ai = Collation::Utf8mb4_0900AiCi;
        assert_eq!(total(&[int(false)], &[&[Int(1)], &[Int(2)], &[Int(-3)]]), 3_560_909_063);
        // (a int primary key, c char(3)): 'abc' and NULL.
        let char3 = column(ColumnType::char(3, ai), DefaultValue::Null);
        let rows: [&[Datum<'static>]; 2] = [&[Int(1), Bytes(b"abc")], &[Int(2), Null]];
        assert_eq!(total(&[int(false), char3], &rows), 841_225_255);
        // (a int primary key, b int default 5, c varchar(3) default 'abc'): NULL counts as the default.
        let five = column(ColumnType::int(Kind::Int, false), DefaultValue::Int(5));
        let abc = column(ColumnType::varchar(3, ai), DefaultValue::Bytes(b"abc".to_vec()));
        let rows: [&[Datum<'static>]; 2] = [&[Int(1), Null, Null], &[Int(2), Int(1), Bytes(b"a")]];
        assert_eq!(total(&[int(false), five, abc], &rows), 3_573_101_654);
    }
}
