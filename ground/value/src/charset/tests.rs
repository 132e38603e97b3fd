use super::{Case, Charset, Lost, all, convert, converted};
use crate::Collation;

fn to(s: &[u8], from: Charset, to: Charset) -> (Vec<u8>, Lost) {
    let mut out = Vec::new();
    let lost = convert(s, from, to, &mut out);
    (out, lost)
}

#[test]
fn names_and_defaults() {
    for c in all() {
        assert_eq!(Charset::from_name(&c.name().to_uppercase()), Some(*c));
        assert_eq!(c.default_collation().charset(), *c);
        assert_eq!(c.bin_collation().charset(), *c);
    }
    assert_eq!(Charset::from_name("utf8"), Some(Charset::Utf8mb3));
    assert_eq!(Charset::from_name("koi8r"), None);
}

#[test]
fn every_latin1_byte_is_a_character_and_comes_back() {
    for b in 0..=255u8 {
        let (utf8, lost) = to(&[b], Charset::Latin1, Charset::Utf8mb4);
        assert!(!lost.any());
        assert!(std::str::from_utf8(&utf8).is_ok());
        assert_eq!(to(&utf8, Charset::Utf8mb4, Charset::Latin1), (vec![b], Lost::default()));
    }
    assert_eq!(to(b"\x80\x9f\xe9", Charset::Latin1, Charset::Utf8mb4).0, "€Ÿé".as_bytes());
    assert_eq!(to("\u{80}".as_bytes(), Charset::Utf8mb4, Charset::Latin1).0, b"?");
}

#[test]
fn what_the_target_lacks_becomes_a_question_mark() {
    let s = "aж€😀é".as_bytes();
    assert_eq!(
        to(s, Charset::Utf8mb4, Charset::Latin1),
        (b"a?\x80?\xe9".to_vec(), Lost { malformed: 0, unmapped: 2 })
    );
    assert_eq!(to(s, Charset::Utf8mb4, Charset::Utf8mb3).0, "aж€?é".as_bytes());
    assert_eq!(to(s, Charset::Utf8mb4, Charset::Ascii).0, b"a????");
    assert_eq!(to(b"a\xe9", Charset::Ascii, Charset::Utf8mb4).0, b"a?");
    assert_eq!(to(s, Charset::Utf8mb4, Charset::Binary).0, s);
    let bad = to(b"a\xff\xc3", Charset::Utf8mb4, Charset::Latin1);
    assert_eq!(bad, (b"a??".to_vec(), Lost { malformed: 2, unmapped: 0 }));
    assert!(matches!(
        converted(b"abc", Charset::Latin1, Charset::Utf8mb4).0,
        std::borrow::Cow::Borrowed(_)
    ));
}

#[test]
fn characters_are_counted_and_cut() {
    let s = "aß中😀b".as_bytes();
    assert_eq!(Charset::Utf8mb4.char_count(s), 5);
    assert_eq!(Charset::Utf8mb3.char_count(s), 8, "four bytes that are no characters");
    assert_eq!(Charset::Latin1.char_count(s), s.len());
    assert_eq!(Charset::Utf8mb4.prefix_len(s, 3), 6);
    assert_eq!(Charset::Utf8mb3.prefix_len(s, 4), 7);
    assert_eq!(Charset::Latin1.prefix_len(s, 3), 3);
    assert_eq!(Charset::Utf8mb4.valid_len(s), s.len());
    assert_eq!(Charset::Utf8mb3.valid_len(s), 6);
    assert_eq!(Charset::Ascii.valid_len(s), 1);
    assert_eq!(Charset::Utf8mb4.valid_len(b"ab\xed\xa0\x80"), 2, "a surrogate");
    assert!(Charset::Binary.is_valid(b"\xff"));
}

#[test]
fn case_is_that_of_the_collation() {
    let upper = |c: Collation, s: &str| String::from_utf8(c.upper(s.as_bytes())).unwrap();
    let lower = |c: Collation, s: &str| String::from_utf8(c.lower(s.as_bytes())).unwrap();
    let (new, general) = (Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4GeneralCi);
    assert_eq!(upper(new, "straße ñ ž ÿ ж ω"), "STRAßE Ñ Ž Ÿ Ж Ω");
    assert_eq!(lower(new, "ÑŽŸЖΩ ẞ"), "ñžÿжω ß");
    assert_eq!(upper(new, "𐐨"), "𐐀");
    assert_eq!(upper(general, "𐐨"), "𐐨", "no case above U+FFFF");
    assert_eq!(upper(new, "ϲ"), "Ϲ");
    assert_eq!(upper(general, "ϲ"), "Σ");
    assert_eq!(lower(new, "abȺ"), "ab", "the lower case has no room");
    assert_eq!(lower(new, "abȺc"), "abⱥ", "the rest has no room");
    assert_eq!(Collation::Latin1SwedishCi.upper(b"\xe9\xf7\xff\x9a"), b"\xc9\xf7\xff\x9a");
    assert_eq!(Collation::Latin1Bin.lower(b"\xc9\xd7\xdf\x8a"), b"\xe9\xd7\xdf\x8a");
    assert_eq!(Collation::Binary.upper(b"abc"), b"abc");
    assert_eq!(Collation::AsciiBin.upper(b"a\xe9"), b"A\xe9");
    let mut out = b"x".to_vec();
    new.change_case(Case::Upper, b"y\xff", &mut out);
    assert_eq!(out, b"xY\xff");
}

#[test]
fn names_that_mysql_knows_are_told_from_those_nobody_knows() {
    use super::NameError::{Charset as NoCharset, Collation as NoCollation, Mismatch, NotYet};
    assert!(matches!(Charset::named("KOI8R"), Err(NotYet(_))));
    assert!(matches!(Charset::named("nosuch"), Err(NoCharset(_))));
    for name in ["utf8mb4_czech_ci", "utf8_czech_ci", "utf8mb4_de_pb_0900_as_cs", "greek_bin"] {
        assert!(matches!(Collation::named(name), Err(NotYet(_))), "{name}");
    }
    for name in ["nosuch", "utf8mb4_nosuch_ci", "latin1_0900_ai_ci", "utf8mb4", ""] {
        assert!(matches!(Collation::named(name), Err(NoCollation(_))), "{name}");
    }
    let bin = Collation::named_for("latin1_bin", Charset::Utf8mb4);
    assert_eq!(bin, Err(Mismatch("latin1_bin", "utf8mb4")));
    let of = |charset, collation| Collation::of_clauses(charset, collation, Collation::AsciiBin);
    assert_eq!(of(None, None), Ok(Collation::AsciiBin));
    assert_eq!(of(Some("latin1"), None), Ok(Collation::Latin1SwedishCi));
    assert_eq!(of(None, Some("latin1_bin")), Ok(Collation::Latin1Bin));
    assert!(of(Some("latin1"), Some("utf8mb4_bin")).is_err());
}

#[test]
fn literals_become_text_of_their_collation() {
    use super::{LiteralError, Malformed, literal};
    let of = |s: &str, name, c| {
        literal(s.as_bytes(), name, c).map(|l| (l.bytes.into_owned(), l.collation, l.warning))
    };
    let (new, latin1) = (Collation::Utf8mb4_0900AiCi, Collation::Latin1GeneralCi);
    assert_eq!(of("é", None, new), Ok(("é".into(), new, None)));
    assert_eq!(of("é", None, latin1), Ok((b"\xe9".to_vec(), latin1, None)));
    assert_eq!(of("é", Some("latin1"), new).unwrap().1, Collation::Latin1SwedishCi);
    assert_eq!(of("é", Some("utf8mb4"), new).unwrap().1, new);
    let lost = of("ж", None, latin1).unwrap();
    let text = "Cannot convert string '\\xD0\\xB6' from utf8mb4 to latin1";
    assert_eq!((lost.0.as_slice(), lost.2.unwrap().0.as_str()), (&b"?"[..], text));
    let bad = literal(b"a\xff", Some("utf8mb4"), new);
    let text = "Invalid utf8mb4 character string: 'FF'".to_string();
    assert_eq!(bad, Err(LiteralError::Malformed(Malformed(text))));
    assert!(literal(b"\xff", None, new).unwrap().warning.is_some());
    assert!(matches!(of("a", Some("koi8r"), new), Err(LiteralError::Name(_))));
}

#[test]
fn messages_keep_what_the_client_lacks_as_numbers() {
    use super::message;
    assert_eq!(message("aжé", Charset::Latin1).as_ref(), b"a\\0436\xe9");
    assert_eq!(message("aж", Charset::Utf8mb3).as_ref(), "aж".as_bytes());
}
