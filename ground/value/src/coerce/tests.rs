use super::*;
use crate::{Collation, RowLayout};
use Datum::{Bytes, Double, Int, Null, UInt};

const AI: Collation = Collation::Utf8mb4_0900AiCi;

/// `value [warning]` or the error, for strict and not strict.
fn both(d: Datum<'_>, ty: ColumnType) -> [String; 2] {
    [true, false].map(|strict| {
        let mut scratch = vec![1, 2, 3];
        let zone = TimeZone::utc();
        match coerce(d, None, &ty, &ConvertMode::new(strict, &zone), &mut scratch) {
            Err(e) => format!("error {e:?}"),
            Ok(c) => {
                let mut row = Vec::new();
                RowLayout::new(&[ty]).encode(&[c.value], &mut row).expect("rule 1");
                match c.warning {
                    None => crate::format::to_text(&c.value),
                    Some(w) => format!("{} {w:?}", crate::format::to_text(&c.value)),
                }
            }
        }
    })
}

fn same(d: Datum<'_>, ty: ColumnType, want: &str) {
    assert_eq!(both(d, ty), [want, want], "{d:?} into {}", ty.to_sql());
}

fn differ(d: Datum<'_>, ty: ColumnType, strict: &str, lax: &str) {
    assert_eq!(both(d, ty), [strict, lax], "{d:?} into {}", ty.to_sql());
}

#[test]
fn integers_keep_their_range() {
    let tiny = ColumnType::int(Kind::TinyInt, false);
    let utiny = ColumnType::int(Kind::TinyInt, true);
    let ubig = ColumnType::int(Kind::BigInt, true);
    same(Int(-128), tiny, "-128");
    same(UInt(255), utiny, "255");
    same(UInt(u64::MAX), ubig, "18446744073709551615");
    differ(Int(128), tiny, "error OutOfRange", "127 OutOfRange");
    differ(Int(-1), utiny, "error OutOfRange", "0 OutOfRange");
    differ(UInt(u64::MAX), tiny, "error OutOfRange", "127 OutOfRange");
    differ(Double(1e300), ubig, "error OutOfRange", "18446744073709551615 OutOfRange");
    same(Double(2.5), tiny, "2");
    same(Double(-3.5), tiny, "-4");
    same(Datum::Decimal(crate::Decimal::from_i128(25, 1)), tiny, "3");
    same(Datum::Decimal(crate::Decimal::from_i128(-249, 2)), tiny, "-2");
    same(Datum::Decimal(crate::Decimal::from_i128(7, 0)), tiny, "7");
    let small = Datum::Decimal(crate::Decimal::from_i128(-4, 1));
    differ(small, utiny, "error OutOfRange", "0 OutOfRange");
    same(Double(-0.4), utiny, "0");
    same(Bytes(b"-0.4"), utiny, "0");
}

#[test]
fn text_into_integers() {
    let int = ColumnType::int(Kind::Int, false);
    same(Bytes(b" 12 "), int, "12");
    same(Bytes(b"1.5e1"), int, "15");
    differ(Bytes(b"12abc"), int, "error Truncated", "12 Truncated { note: false }");
    differ(
        Bytes(b"abc"),
        int,
        "error Incorrect { wanted: \"integer\", value: \"abc\" }",
        "0 Incorrect { wanted: \"integer\", value: \"abc\" }",
    );
    differ(
        Bytes(b"\x0B"),
        int,
        r#"error Incorrect { wanted: "integer", value: "\\x0B" }"#,
        r#"0 Incorrect { wanted: "integer", value: "\\x0B" }"#,
    );
    differ(Bytes(b"3000000000x"), int, "error OutOfRange", "2147483647 OutOfRange");
}

#[test]
fn strings_keep_their_length() {
    let v3 = ColumnType::varchar(3, AI);
    let c3 = ColumnType::char(3, AI);
    same(Bytes("äöü".as_bytes()), v3, "äöü");
    same(Bytes(b"a  "), v3, "a  ");
    same(Bytes(b"a  "), c3, "a");
    same(Bytes(b"abc   "), v3, "abc Truncated { note: true }");
    same(Bytes(b"abc   "), c3, "abc");
    differ(Bytes(b"abcd"), v3, "error TooLong", "abc Truncated { note: false }");
    differ(Bytes("äöüß".as_bytes()), c3, "error TooLong", "äöü Truncated { note: false }");
    differ(
        Bytes(b"a\xFFb"),
        v3,
        "error BadUtf8 { value: \"\\\\xFFb\" }",
        "a BadUtf8 { value: \"\\\\xFFb\" }",
    );
    same(Int(-12), v3, "-12");
    differ(Int(1234), v3, "error TooLong", "123 Truncated { note: false }");
}

#[test]
fn binary_strings_count_every_byte() {
    let b3 = ColumnType::binary(3);
    let vb3 = ColumnType::varbinary(3);
    same(Bytes(b"a"), b3, "a\0\0");
    same(Bytes(b"a"), vb3, "a");
    same(Int(7), b3, "7\0\0");
    differ(Bytes(b"abc "), vb3, "error TooLong", "abc Truncated { note: false }");
}

#[test]
fn null_needs_a_nullable_column() {
    let int = ColumnType::int(Kind::Int, false);
    same(Null, int, "NULL");
    differ(Null, int.not_null(), "error NullInNotNull", "0 NullInNotNull");
    differ(Null, ColumnType::varchar(3, AI).not_null(), "error NullInNotNull", " NullInNotNull");
    differ(Null, ColumnType::binary(2).not_null(), "error NullInNotNull", "\0\0 NullInNotNull");
}

#[test]
fn text_and_blob_kinds_count_bytes_and_text_is_cut_between_characters() {
    let text = ColumnType::large(Kind::TinyText, AI);
    let blob = ColumnType::large(Kind::TinyBlob, AI);
    let fits = "ä".repeat(127) + "x";
    same(Bytes(fits.as_bytes()), text, &fits);
    let cut = |s: &str| format!("{s} Truncated {{ note: false }}");
    differ(Bytes("ä".repeat(128).as_bytes()), text, "error TooLong", &cut(&"ä".repeat(127)));
    differ(Bytes("x".repeat(256).as_bytes()), text, "error TooLong", &cut(&"x".repeat(255)));
    differ(Bytes("x".repeat(256).as_bytes()), blob, "error TooLong", &cut(&"x".repeat(255)));
    let spaces = "x".repeat(255);
    same(
        Bytes(format!("{spaces} ").as_bytes()),
        text,
        &format!("{spaces} Truncated {{ note: true }}"),
    );
    differ(Bytes(format!("{spaces} ").as_bytes()), blob, "error TooLong", &cut(&spaces));
    same(Int(12), text, "12");
    same(Bytes(b"\0x"), ColumnType::large(Kind::LongBlob, AI), "\0x");
}

#[test]
fn digits_are_numbers_of_members() {
    let names = [b"b".to_vec(), b"a".to_vec()].to_vec();
    let kinds = [Kind::Enum, Kind::Set];
    let [one, set] =
        kinds.map(|kind| ColumnType::with_members(kind, crate::Members::intern(names.clone(), AI)));
    for (text, member) in [("1", "b"), (" 2", "a"), ("+1 ", "b"), ("0", ""), ("00", "")] {
        same(Bytes(text.as_bytes()), one, member);
    }
    for text in ["3", "", "1.0", "000001", "1x"] {
        differ(Bytes(text.as_bytes()), one, "error Truncated", " Truncated { note: false }");
    }
    for (text, members) in [("3", "b,a"), (" 1", "b"), ("0", ""), ("", "")] {
        same(Bytes(text.as_bytes()), set, members);
    }
}

#[test]
fn an_integer_that_its_column_holds_becomes_what_coerce_makes_of_it() {
    let zone = TimeZone::utc();
    let ends = [i64::MIN, -129, -128, -1, 0, 1, 127, 128, 255, 256, i64::MAX];
    let values = ends.map(Datum::Int).into_iter().chain([0, 200, u64::MAX].map(Datum::UInt));
    for value in values {
        for kind in [Kind::TinyInt, Kind::SmallInt, Kind::MediumInt, Kind::Int, Kind::BigInt] {
            for unsigned in [false, true] {
                let ty = ColumnType { unsigned, ..ColumnType::of(kind) };
                let mut scratch = Vec::new();
                let made = coerce(value, None, &ty, &ConvertMode::new(true, &zone), &mut scratch);
                let made = made.ok().map(|made| OwnedDatum::of(&made.value));
                assert_eq!(held_int(&value, &ty), made, "{value:?} in {ty:?}");
            }
        }
    }
    assert_eq!(held_int(&Datum::Int(1), &ColumnType::of(Kind::Double)), None);
}
