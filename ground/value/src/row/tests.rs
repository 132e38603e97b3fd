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
    for failing in 0..layout.columns() {
        let mut out = vec![7];
        let error = RowError { column: failing, offset: 1, what: "damaged" };
        let value = |column| if column == failing { Err(error) } else { Ok(row()[column]) };
        assert_eq!(layout.encode_columns(value, &mut out), Err(error));
        assert_eq!(out, [7]);
    }
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

/// A layout of two variable columns between fixed and nullable ones, and a writer of its forms.
fn two_texts() -> RowLayout {
    RowLayout::new(&[
        ColumnType::int(Kind::Int, false),
        ColumnType::large(Kind::LongBlob, Collation::Binary),
        ColumnType::binary(3),
        ColumnType::large(Kind::LongText, Collation::default()).not_null(),
    ])
}

#[test]
fn rows_above_64_kib_are_wide_and_read_the_same() {
    let layout = two_texts();
    for (a, b) in [(70_000, 10), (10, 70_000), (40_000, 40_000), (32_768, 32_700), (65_000, 0)] {
        let (a, b) = (vec![b'a'; a], vec![b'b'; b]);
        let values = [Int(7), Bytes(&a), Bytes(b"xyz"), Bytes(&b)];
        let mut row = vec![1];
        layout.encode(&values, &mut row).unwrap();
        let row = &row[1..];
        assert_eq!(layout.is_wide(row), a.len() + b.len() > 65_535 - layout.bytes_min());
        let mut back = Vec::new();
        layout.decode_all(row, &mut back).unwrap();
        assert_eq!(back, values);
        assert!(!layout.any_outside(row));
        assert!(layout.check_length(&row[..row.len() - 1]).is_err());
    }
}

#[test]
fn a_value_outside_is_never_read_as_data() {
    let layout = two_texts();
    let mut row = Vec::new();
    let text = vec![b't'; 5000];
    layout.encode(&[Null, Bytes(b"x"), Null, Bytes(&text)], &mut row).unwrap();
    for wide in [false, true] {
        for outside in [1, 3] {
            let mut out = Vec::new();
            let mut writer = RowWriter::new(&layout, &row, wide, &mut out).unwrap();
            for column in layout.variable_columns() {
                let bytes = layout.held(&row, column).unwrap().0;
                let bytes = if column == outside { &[9; REFERENCE_BYTES] } else { bytes };
                writer.bytes().extend_from_slice(bytes);
                writer.end_column(column == outside).unwrap();
            }
            writer.finish().unwrap();
            assert!(layout.any_outside(&out) && layout.is_wide(&out) == wide);
            assert!(layout.decode(&out, outside).is_err());
            assert_eq!(layout.outside(&out, outside), Ok(Some(&[9; REFERENCE_BYTES])));
            let other = 4 - outside;
            assert_eq!(layout.decode(&out, other), layout.decode(&row, other));
            assert_eq!(layout.outside(&out, other), Ok(None));
            assert_eq!(layout.decode(&out, 0), Ok(Null));
            layout.check_length(&out).unwrap();
        }
    }
}

#[test]
fn an_update_changes_its_columns_and_keeps_references() {
    let layout = two_texts();
    let mut row = Vec::new();
    layout.encode(&[Null, Bytes(b"x"), Bytes(b"abc"), Bytes(b"t")], &mut row).unwrap();
    let mut out = Vec::new();
    layout.encode_changed(&row, &[(0, Int(5)), (2, Bytes(b"a")), (1, Null)], &mut out).unwrap();
    let mut back = Vec::new();
    layout.decode_all(&out, &mut back).unwrap();
    assert_eq!(back, [Int(5), Null, Bytes(b"a\0\0"), Bytes(b"t")]);

    let mut outside = Vec::new();
    let mut writer = RowWriter::new(&layout, &row, true, &mut outside).unwrap();
    writer.bytes().extend_from_slice(b"x");
    writer.end_column(false).unwrap();
    writer.bytes().extend_from_slice(&[4; REFERENCE_BYTES]);
    writer.end_column(true).unwrap();
    writer.finish().unwrap();
    let mut changed = Vec::new();
    layout.encode_changed(&outside, &[(1, Bytes(b"longer"))], &mut changed).unwrap();
    assert_eq!(layout.decode(&changed, 1), Ok(Bytes(b"longer")));
    assert_eq!(layout.outside(&changed, 3), Ok(Some(&[4; REFERENCE_BYTES])));
    let mut whole = Vec::new();
    layout.encode_changed(&outside, &[(3, Bytes(b"new"))], &mut whole).unwrap();
    assert!(!layout.is_wide(&whole) && layout.decode(&whole, 3) == Ok(Bytes(b"new")));
    let mut none = vec![1];
    assert!(layout.encode_changed(&outside, &[(3, Null)], &mut none).is_err() && none == [1]);
}

#[test]
fn damaged_wide_and_stored_rows_are_errors_not_panics() {
    let layout = two_texts();
    let mut narrow = Vec::new();
    let text = vec![b't'; 300];
    layout.encode(&[Int(1), Bytes(b"x"), Null, Bytes(&text)], &mut narrow).unwrap();
    let mut rng = Rng::new(8);
    for round in 0..20_000 {
        let mut out = Vec::new();
        let mut writer = RowWriter::new(&layout, &narrow, round % 2 == 0, &mut out).unwrap();
        writer.bytes().extend_from_slice(&[5; REFERENCE_BYTES]);
        writer.end_column(true).unwrap();
        writer.bytes().extend_from_slice(&text);
        writer.end_column(false).unwrap();
        writer.finish().unwrap();
        for _ in 0..=rng.below(3) {
            let at = rng.below(40) as usize;
            out[at] = rng.next_u64() as u8;
        }
        out.truncate(rng.below(out.len() as u64 + 1) as usize);
        for column in 0..=layout.columns() {
            let _ = (layout.decode(&out, column), layout.outside(&out, column));
        }
        let _ = (layout.check_length(&out), layout.any_outside(&out));
        let _ = layout.encode_changed(&out, &[(0, Int(1))], &mut Vec::new());
    }
}

#[test]
fn a_projection_is_what_decoding_and_encoding_would_make() {
    let full = [
        ColumnType::int(Kind::Int, false),
        ColumnType::decimal(15, 2).not_null(),
        ColumnType::varchar(40, Collation::default()),
        ColumnType::of(Kind::Date),
        ColumnType::varchar(40, Collation::default()).not_null(),
        ColumnType::binary(3),
        ColumnType::large(Kind::LongBlob, Collation::Binary),
    ];
    let layout = RowLayout::new(&full);
    let mut rng = Rng::new(3);
    for round in 0..2_000u32 {
        let wanted: Vec<usize> = (0..7).filter(|_| rng.below(2) == 0).collect();
        let nothing = ColumnType::int(Kind::TinyInt, false);
        let mut types = vec![nothing; 7];
        wanted.iter().for_each(|c| types[*c] = full[*c]);
        let narrow = RowLayout::new(&types);
        let text = vec![b'x'; rng.below(40) as usize];
        let long = vec![b'y'; if round % 50 == 0 { 80_000 } else { 7 }];
        let mut row = [
            Int(i64::from(round) - 1000),
            Datum::Decimal(crate::Decimal::from_i128(i128::from(round) - 700, 2)),
            Bytes(&text),
            Datum::Date(crate::Date::new(2000, 1, 7).unwrap()),
            Bytes(b"not null"),
            Bytes(b"abc"),
            Bytes(&long),
        ];
        for column in [0, 2, 3, 6] {
            if rng.below(4) == 0 {
                row[column] = Null;
            }
        }
        let (mut stored, mut projected) = (Vec::new(), b"before".to_vec());
        layout.encode(&row, &mut stored).unwrap();
        let done = Projection::new(&layout, &narrow, &wanted).append(&stored, &mut projected);
        let plain = !layout.is_wide(&stored) || wanted.iter().all(|c| [0, 1, 3, 5].contains(c));
        assert_eq!(done, plain, "{wanted:?}");
        for (column, value) in row.iter_mut().enumerate() {
            if !wanted.contains(&column) {
                *value = Null;
            }
        }
        let mut expected = b"before".to_vec();
        if done {
            narrow.encode(&row, &mut expected).unwrap();
        }
        assert_eq!(projected, expected);
    }
}

#[test]
fn fixed_columns_that_are_set_in_place_are_those_of_a_row_encoded_anew() {
    let layout = RowLayout::new(&types());
    let fixed = [0, 2, 4, 5, 7, 8];
    let other = [
        (0, vec![Int(7), Int(-1)]),
        (2, vec![Null, Int(5)]),
        (4, vec![UInt(9), Null]),
        (5, vec![Bytes(b"abcd"), Bytes(b"q"), Null]),
        (7, vec![Int(-3), Null]),
        (8, vec![Null, UInt(0)]),
    ];
    let (mut values, mut bytes) = (row(), Vec::new());
    layout.encode(&values, &mut bytes).unwrap();
    let mut rng = Rng::new(12);
    for _ in 0..500 {
        let before = bytes.clone();
        let mut given = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let (column, choice) = &other[rng.below(fixed.len() as u64) as usize];
            let value = choice[rng.below(choice.len() as u64) as usize];
            values[*column] = value;
            given.push((*column, value));
        }
        assert_eq!(layout.set_fixed(&mut bytes, given.iter().copied()), Ok(true));
        let mut anew = Vec::new();
        layout.encode(&values, &mut anew).unwrap();
        assert_eq!(bytes, anew);
        for column in 0..values.len() {
            let (a, b) = (layout.decode(&before, column), layout.decode(&bytes, column));
            assert_eq!(layout.is_plainly_same(&before, &bytes, column), a == b, "{column}");
        }
    }
    let whole = bytes.clone();
    assert_eq!(layout.set_fixed(&mut bytes, [(0, Int(1)), (1, Null)].into_iter()), Ok(false));
    assert_eq!(bytes, whole, "a column that is not fixed leaves the row as it is");
    assert!(layout.set_fixed(&mut bytes, [(0, Null)].into_iter()).is_err());
    assert!(layout.set_fixed(&mut bytes[..3], [(0, Int(1))].into_iter()) == Ok(false));
}
