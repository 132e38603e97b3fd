use super::*;
use crate::compare::sort_order;
use crate::{Collation, Kind};
use Datum::{Bytes, Int, Null, UInt};
use std::cmp::Ordering;
use stdx::rng::Rng;

fn random_type(rng: &mut Rng) -> ColumnType {
    let kinds = [Kind::TinyInt, Kind::SmallInt, Kind::MediumInt, Kind::Int, Kind::BigInt];
    let ty = match rng.below(4) {
        0 => ColumnType::int(kinds[rng.below(5) as usize], rng.chance(1, 2)),
        1 if rng.chance(1, 2) => ColumnType::large(Kind::Blob, Collation::Binary),
        1 => ColumnType::varbinary(50),
        2 => ColumnType::binary(6),
        _ => ColumnType::varchar(20, Collation::ALL[rng.below(4) as usize]),
    };
    let ty = if ty.kind == Kind::VarChar && ty.collation == Collation::Binary {
        ColumnType::varbinary(50)
    } else {
        ty
    };
    if rng.chance(1, 2) { ty } else { ty.not_null() }
}

/// Values near each other: prefixes, NUL bytes, spaces, edges of the range.
fn random_value(rng: &mut Rng, ty: &ColumnType) -> Option<Vec<u8>> {
    if ty.nullable && rng.chance(1, 6) {
        return None;
    }
    const PIECES: &[&[u8]] = &[
        b"a",
        b"A",
        b"b",
        b" ",
        b"\0",
        b"\0\0",
        b"\x01",
        b"\t",
        b"!",
        b"\xFF",
        "ß".as_bytes(),
        "é".as_bytes(),
        "中".as_bytes(),
    ];
    let n = rng.below(4);
    let mut s: Vec<u8> =
        (0..n).flat_map(|_| PIECES[rng.below(PIECES.len() as u64) as usize].to_vec()).collect();
    if ty.kind == Kind::Binary {
        s.resize(6, 0);
    }
    Some(s)
}

fn random_int(rng: &mut Rng, ty: &ColumnType) -> Datum<'static> {
    if ty.nullable && rng.chance(1, 6) {
        return Null;
    }
    let (low, high) = ty.int_range();
    let near =
        [low, low + 1, -1, 0, 1, 255, 256, high - 1, high][rng.below(9) as usize].clamp(low, high);
    if ty.unsigned { UInt(near as u64) } else { Int(near as i64) }
}

fn compare_rows(types: &[ColumnType], a: &[Datum<'_>], b: &[Datum<'_>]) -> Ordering {
    types
        .iter()
        .zip(a.iter().zip(b))
        .map(|(t, (x, y))| sort_order(x, y, t.collation))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[test]
fn memcmp_of_keys_is_the_order_of_values() {
    let mut rng = Rng::new(11);
    let mut equal = 0;
    for _ in 0..30_000 {
        let types: Vec<ColumnType> = (0..=rng.below(3)).map(|_| random_type(&mut rng)).collect();
        let spec = KeySpec::new((0..types.len()).map(KeyPart::whole).collect());
        let mut made = || -> Vec<(Datum<'static>, Option<Vec<u8>>)> {
            types
                .iter()
                .map(|t| {
                    if t.kind.is_int() {
                        (random_int(&mut rng, t), None)
                    } else {
                        (Null, random_value(&mut rng, t))
                    }
                })
                .collect()
        };
        let (a, b) = (made(), made());
        let (da, db) = (datums(&a), datums(&b));
        let (mut ka, mut kb) = (Vec::new(), Vec::new());
        spec.encode(&types, &da, &mut ka).unwrap();
        spec.encode(&types, &db, &mut kb).unwrap();
        let order = compare_rows(&types, &da, &db);
        equal += usize::from(order.is_eq());
        assert_eq!(ka.cmp(&kb), order, "{types:?}\n{da:?}\n{db:?}");
        // Rule 1: whatever follows, the order of differing keys stays.
        if order.is_ne() {
            ka.push(0xFF);
            kb.push(0x00);
            assert_eq!(ka.cmp(&kb), order, "{types:?}\n{da:?}\n{db:?}");
        }
    }
    assert!(equal > 300, "equal keys are tried too: {equal}");
}

#[test]
fn the_promised_forms() {
    let key = |ty: ColumnType, d: Datum<'_>| {
        let mut k = Vec::new();
        KeySpec::new(vec![KeyPart::whole(0)]).encode(&[ty], &[d], &mut k).unwrap();
        k
    };
    let int = ColumnType::int(Kind::Int, false);
    assert_eq!(key(int, Null), [0]);
    assert_eq!(key(int, Int(1)), [1, 0x80, 0, 0, 1]);
    assert_eq!(key(int.not_null(), Int(-1)), [0x7F, 0xFF, 0xFF, 0xFF]);
    assert_eq!(key(ColumnType::int(Kind::MediumInt, true).not_null(), UInt(258)), [0, 1, 2]);
    assert_eq!(
        key(ColumnType::varbinary(9).not_null(), Bytes(b"a\0b")),
        [0xB0, 0xC0, 0x2C, 0x40] // 1 0110_0001, 1 0000_0000, 1 0110_0010, 0 and three to fill
    );
    assert_eq!(key(ColumnType::varbinary(9).not_null(), Bytes(b"")), [0]);
    let ai = ColumnType::varchar(9, Collation::Utf8mb4_0900AiCi).not_null();
    assert_eq!(key(ai, Bytes(b"aB")), [0x1C, 0x47, 0x1C, 0x60, 0, 0]);
    let general = ColumnType::varchar(9, Collation::Utf8mb4GeneralCi).not_null();
    assert_eq!(key(general, Bytes(b"a b ")), [0, b'A', 0, 0x20, 3, 0, b'B', 0, 0x20, 2]);
    let bin = ColumnType::varchar(9, Collation::Utf8mb4Bin).not_null();
    assert_eq!(key(bin, Bytes(b"a \t")), [b'a', 0x20, 1, b'\t', 0x20, 2]);
}

#[test]
fn prefixes_rows_and_search_keys() {
    let ai = Collation::default();
    let types = [ColumnType::int(Kind::Int, false).not_null(), ColumnType::varchar(20, ai)];
    let spec = KeySpec::new(vec![KeyPart::prefix(1, 2), KeyPart::whole(0)]);
    let values = [Int(7), Bytes("äbcd".as_bytes())];
    let layout = RowLayout::new(&types);
    let (mut row, mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    layout.encode(&values, &mut row).unwrap();
    spec.encode(&types, &values, &mut a).unwrap();
    spec.encode_from_row(&layout, &row, &mut b).unwrap();
    spec.encode_prefix(&types, &[Bytes(b"AB")], &mut c).unwrap();
    assert_eq!(a, b);
    assert!(
        a.starts_with(&c) && a.len() == c.len() + 4,
        "the second character is the last that counts"
    );
    // The end of the range of all keys that start with the prefix.
    assert!(successor(&mut c) && c > a);
    let mut top = vec![1, 0xFF];
    assert!(successor(&mut top) && top == [2]);
    assert!(!successor(&mut vec![0xFF, 0xFF]));
}

#[test]
fn what_no_key_can_be_is_an_error() {
    let types = [ColumnType::int(Kind::TinyInt, true).not_null()];
    let spec = KeySpec::new(vec![KeyPart::whole(0)]);
    let fails = |d: Datum<'_>| spec.encode_prefix(&types, &[d], &mut Vec::new()).unwrap_err();
    assert_eq!(fails(Int(256)), KeyError::OutOfRange { part: 0, above: true });
    assert_eq!(fails(Int(-1)), KeyError::OutOfRange { part: 0, above: false });
    assert_eq!(fails(Null), KeyError::Null { part: 0 });
    assert_eq!(fails(Bytes(b"1")), KeyError::Kind { part: 0 });
    assert_eq!(
        spec.encode_prefix(&types, &[Int(1), Int(1)], &mut Vec::new()),
        Err(KeyError::Missing { part: 1 })
    );
    assert_eq!(spec.encode(&[], &[], &mut Vec::new()), Err(KeyError::Missing { part: 0 }));
    let layout = RowLayout::new(&types);
    assert!(matches!(spec.encode_from_row(&layout, &[], &mut Vec::new()), Err(KeyError::Row(_))));
}

#[test]
fn an_integer_key_allocates_nothing_in_a_warm_buffer() {
    let types = [ColumnType::int(Kind::Int, false).not_null()];
    let spec = KeySpec::new(vec![KeyPart::whole(0)]);
    let mut k = Vec::with_capacity(16);
    let place = k.as_ptr();
    for v in 0..100 {
        k.clear();
        spec.encode_prefix(&types, &[Int(v)], &mut k).unwrap();
    }
    assert_eq!((k.as_ptr(), k.capacity()), (place, 16));
}

fn datums<'a>(made: &'a [(Datum<'static>, Option<Vec<u8>>)]) -> Vec<Datum<'a>> {
    made.iter().map(|(d, s)| s.as_ref().map_or(*d, |s| Bytes(s))).collect()
}

#[test]
fn binary_keys_keep_the_order_of_bytes_and_take_nine_eighths() {
    let mut rng = Rng::new(5);
    let part = |s: &[u8]| {
        let mut out = Vec::new();
        Collation::Binary.key_part(s, &mut out);
        out
    };
    for n in 0..400usize {
        assert_eq!(part(&vec![0; n]).len(), n + n / 8 + 1);
        assert!(part(&vec![0xFF; n]) < part(&vec![0xFF; n + 1]));
        assert!(part(&vec![0; n]) < part(&vec![0; n + 1]));
    }
    let mut seen = [false; 3];
    for _ in 0..50_000 {
        let random = |rng: &mut Rng| -> Vec<u8> {
            let n = rng.below(20);
            (0..n).map(|_| [0, 1, 0x7F, 0x80, 0xFE, 0xFF][rng.below(6) as usize]).collect()
        };
        let a = random(&mut rng);
        let mut b = if rng.chance(1, 2) { random(&mut rng) } else { a.clone() };
        if rng.chance(1, 2) {
            b.truncate(rng.below(20) as usize);
        }
        let (mut ka, mut kb) = (part(&a), part(&b));
        assert_eq!(ka.cmp(&kb), a.cmp(&b), "{a:?} {b:?}");
        ka.extend_from_slice(&part(&b)); // what follows does not matter
        kb.extend_from_slice(&part(b"x"));
        assert!(a == b || ka.cmp(&kb) == a.cmp(&b), "{a:?} {b:?}");
        seen[(a.cmp(&b) as i8 + 1) as usize] = true;
    }
    assert_eq!(seen, [true; 3]);
}

#[test]
fn prefixes_of_text_count_characters_and_of_blobs_bytes() {
    let ai = Collation::default();
    let types = [
        ColumnType::large(Kind::Text, ai).not_null(),
        ColumnType::large(Kind::LongBlob, ai).not_null(),
    ];
    let spec = |column, n| KeySpec::new(vec![KeyPart::prefix(column, n)]);
    let key = |column: usize, n, s: &[u8]| {
        let mut row = [Bytes(b""); 2];
        row[column] = Bytes(s);
        let mut out = Vec::new();
        spec(column, n).encode(&types, &row, &mut out).unwrap();
        out
    };
    assert_eq!(key(0, 2, "äöü".as_bytes()), key(0, 2, b"aoX"));
    assert_ne!(key(0, 3, "äöü".as_bytes()), key(0, 3, b"aoX"));
    assert_eq!(key(1, 2, b"abc"), key(1, 2, b"abd"));
    assert_ne!(key(1, 3, b"abc"), key(1, 3, b"abd"));
    assert_ne!(key(1, 3, b"ab"), key(1, 3, b"ab\0"));
}
