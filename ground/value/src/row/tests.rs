use super::*;
use crate::Collation;
use Datum::{Bytes, Int, Null, UInt};
use stdx::rng::Rng;

fn types() -> Vec<ColumnType> {
    let ai = Collation::default();
    vec![
        ColumnType::int(Kind::Int, false).not_null(),
        ColumnType::varchar(10, ai),
        ColumnType::int(Kind::MediumInt, false),
        ColumnType::char(5, ai).not_null(),
        ColumnType::int(Kind::BigInt, true),
        ColumnType::binary(4),
        ColumnType::varbinary(300).not_null(),
        ColumnType::int(Kind::TinyInt, false),
        ColumnType::int(Kind::SmallInt, true),
    ]
}

fn row() -> Vec<Datum<'static>> {
    let v = b"var\0bytes".as_slice();
    vec![
        Int(-5),
        Bytes("äb ".as_bytes()),
        Int(-8_388_608),
        Bytes(b"ab  "),
        UInt(u64::MAX),
        Bytes(b"xy"),
        Bytes(v),
        Null,
        UInt(65_535),
    ]
}

#[test]
fn rows_come_back_as_they_went_in() {
    let layout = RowLayout::new(&types());
    let mut bytes = vec![9, 9];
    layout.encode(&row(), &mut bytes).unwrap();
    let mut back = Vec::new();
    layout.decode_all(&bytes[2..], &mut back).unwrap();
    let mut want = row();
    want[3] = Bytes(b"ab");
    want[5] = Bytes(b"xy\0\0");
    assert_eq!(back, want);
    // 6 nullable columns take one byte of null bits.
    assert_eq!(layout.bytes_min(), 1 + 4 + 3 + 8 + 4 + 1 + 2 + 3 * 2);
}

#[test]
fn encode_refuses_what_does_not_fit_and_leaves_the_buffer() {
    let layout = RowLayout::new(&types());
    let wrong: &[(usize, Datum, &str)] = &[
        (0, Null, "NULL in a NOT NULL column"),
        (0, Int(1 << 31), "integer outside its column's range"),
        (0, Bytes(b"1"), "value of another kind than its column"),
        (1, Int(1), "a string column got no string"),
        (4, Int(-1), "integer outside its column's range"),
        (5, Bytes(b"abcde"), "string longer than its column"),
        (6, Bytes(&[0; 301]), "string longer than its column"),
    ];
    for &(column, value, what) in wrong {
        let mut values = row();
        values[column] = value;
        let mut out = vec![7];
        assert_eq!(layout.encode(&values, &mut out), Err(RowError { column, offset: 0, what }));
        assert_eq!(out, [7]);
    }
    assert!(layout.encode(&row()[1..], &mut Vec::new()).is_err());
    let long = RowLayout::new(&[ColumnType::varbinary(65_535); 2]);
    let big = vec![0; 40_000];
    assert!(long.encode(&[Bytes(&big), Bytes(&big)], &mut Vec::new()).is_err());
}

#[test]
fn integers_of_every_width_and_sign() {
    for kind in [Kind::TinyInt, Kind::SmallInt, Kind::MediumInt, Kind::Int, Kind::BigInt] {
        for unsigned in [false, true] {
            let ty = ColumnType::int(kind, unsigned);
            let (low, high) = ty.int_range();
            let layout = RowLayout::new(&[ty]);
            for v in [low, low + 1, 0, 1, high - 1, high] {
                let d = if unsigned { UInt(v as u64) } else { Int(v as i64) };
                let mut out = Vec::new();
                layout.encode(&[d], &mut out).unwrap();
                assert_eq!(layout.decode(&out, 0), Ok(d), "{} {v}", ty.to_sql());
            }
            for v in [low - 1, high + 1] {
                if let Ok(v) = i64::try_from(v) {
                    assert!(
                        layout.encode(&[Int(v)], &mut Vec::new()).is_err(),
                        "{} {v}",
                        ty.to_sql()
                    );
                }
            }
        }
    }
}

#[test]
fn damaged_rows_are_errors_not_panics() {
    let layout = RowLayout::new(&types());
    let mut good = Vec::new();
    layout.encode(&row(), &mut good).unwrap();
    let mut rng = Rng::new(3);
    let mut errors = 0;
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
        for column in 0..=layout.columns() {
            errors += usize::from(layout.decode(&bytes, column).is_err());
        }
        let _ = layout.check_length(&bytes);
    }
    assert!(errors > 20_000, "the damage is noticed");
    assert!(layout.check_length(&good).is_ok());
    good.push(0);
    assert!(layout.check_length(&good).is_err());
}
