use super::Collation;
use std::cmp::Ordering;
use stdx::rng::Rng;

const AI: Collation = Collation::Utf8mb4_0900AiCi;
const GENERAL: Collation = Collation::Utf8mb4GeneralCi;
const BIN: Collation = Collation::Utf8mb4Bin;

fn key(c: Collation, s: &[u8]) -> Vec<u8> {
    let mut k = Vec::new();
    c.sort_key(s, &mut k);
    k
}

fn hex(c: Collation, s: &str) -> String {
    key(c, s.as_bytes())
        .chunks(2)
        .map(|w| format!("{:04X}", u16::from(w[0]) << 8 | u16::from(w[1])))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn names_and_numbers_are_mysqls() {
    for c in Collation::ALL {
        assert_eq!(Collation::from_id(c.id()), Some(c));
        assert_eq!(Collation::from_name(&c.name().to_uppercase()), Some(c));
    }
    assert_eq!(Collation::default_of("UTF8MB4"), Some(AI));
    assert_eq!(Collation::from_name("utf8_General_ci"), Some(Collation::Utf8mb3GeneralCi));
    assert_eq!(Collation::from_id(1), None);
    assert!(Collation::ALL.is_sorted_by_key(|c| c.name()), "as SHOW COLLATION has them");
}

#[test]
fn uca_weights_come_from_the_table_and_the_formulas() {
    // Entries of allkeys-9.0.0.txt.
    assert_eq!(hex(AI, "abc"), "1C47 1C60 1C7A");
    assert_eq!(hex(AI, "AÀ"), "1C47 1C47");
    assert_eq!(hex(AI, " "), "0209");
    assert_eq!(hex(AI, "\u{0}\u{ad}"), "", "control characters and soft hyphen are ignored");
    assert_eq!(hex(AI, "ß"), "1E71 1E71", "expands to ss");
    assert_eq!(hex(AI, "æ"), "1C47 1CAA", "expands to ae");
    assert_eq!(hex(AI, "\u{301}"), "", "an accent has no primary weight");
    // Implicit weights: base + (c >> 15), (c & 7FFF) | 8000.
    assert_eq!(hex(AI, "中"), "FB40 CE2D");
    assert_eq!(hex(AI, "\u{20000}"), "FB84 8000");
    assert_eq!(hex(AI, "\u{17000}"), "FB00 8000");
    assert_eq!(hex(AI, "\u{10FFFD}"), "FBE1 FFFD");
    // A Hangul syllable equals its jamo.
    assert_eq!(hex(AI, "한"), hex(AI, "\u{1112}\u{1161}\u{11ab}"));
    assert_eq!(hex(AI, "가"), hex(AI, "\u{1100}\u{1161}"));
    // At most 8 collation elements, and no contraction (l + middle dot is one weight in the DUCET).
    assert_eq!(key(AI, "\u{FDFA}".as_bytes()).len(), 16);
    assert_eq!(hex(AI, "l·"), format!("{} {}", hex(AI, "l"), hex(AI, "·")));
}

#[test]
fn each_collation_decides_equality_its_own_way() {
    let cases: &[(&str, &str, [bool; 3])] = &[
        // 0900_ai_ci, general_ci, bin
        ("a", "A", [true, true, false]),
        ("a", "á", [true, true, false]),
        ("a", "a  ", [false, true, true]),
        ("", "  ", [false, true, true]),
        ("ß", "ss", [true, false, false]),
        ("ß", "s", [false, true, false]),
        ("ñ", "N", [true, true, false]),
        ("Ё", "е", [true, true, false]),
        ("й", "и", [false, false, false]),
        ("ø", "o", [true, false, false]),
        ("😀", "😁", [false, true, false]),
        ("Ω", "ω", [true, true, false]),
        ("a\u{301}", "á", [true, false, false]),
    ];
    for (a, b, want) in cases {
        for (c, want) in [AI, GENERAL, BIN].into_iter().zip(want) {
            assert_eq!(
                c.equals(a.as_bytes(), b.as_bytes()),
                *want,
                "{a:?} = {b:?} in {}",
                c.name()
            );
        }
    }
}

#[test]
fn pad_space_puts_control_characters_below_the_end() {
    for c in [GENERAL, BIN] {
        assert_eq!(c.compare(b"a\t", b"a"), Ordering::Less);
        assert_eq!(c.compare(b"a \t", b"a"), Ordering::Less);
        assert_eq!(c.compare(b"a\t", b"a \t"), Ordering::Less);
        assert_eq!(c.compare(b"a b", b"ab"), Ordering::Less);
        assert_eq!(c.compare(b"a!", b"a"), Ordering::Greater);
    }
    assert_eq!(AI.compare(b"a", b"a!"), Ordering::Less);
}

/// Strings from a small alphabet, so that prefixes, spaces and near misses are common.
fn random_string(rng: &mut Rng) -> Vec<u8> {
    const PIECES: &[&[u8]] = &[
        b"a",
        b"A",
        b"b",
        b" ",
        b"  ",
        b"\t",
        b"\0",
        b"\x01",
        b"!",
        "ß".as_bytes(),
        "á".as_bytes(),
        "ж".as_bytes(),
        "中".as_bytes(),
        "😀".as_bytes(),
        "한".as_bytes(),
        "\u{301}".as_bytes(),
        b"\xFF",
        b"\xC3",
    ];
    let n = rng.below(6);
    (0..n).flat_map(|_| PIECES[rng.below(PIECES.len() as u64) as usize].iter().copied()).collect()
}

#[test]
fn sort_keys_hashes_and_comparison_agree() {
    let mut rng = Rng::new(7);
    for _ in 0..40_000 {
        let (a, b) = (random_string(&mut rng), random_string(&mut rng));
        for c in Collation::ALL {
            let order = c.compare(&a, &b);
            assert_eq!(key(c, &a).cmp(&key(c, &b)), order, "{a:?} {b:?} in {}", c.name());
            assert_eq!(c.compare(&b, &a), order.reverse());
            if order == Ordering::Equal {
                assert_eq!(c.hash(&a, 1), c.hash(&b, 1), "{a:?} {b:?} in {}", c.name());
            }
        }
    }
}

/// Texts as they are mostly: ASCII, many characters, with something else in between now and then.
fn ascii_text(rng: &mut Rng) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..rng.below(40) {
        match rng.below(24) {
            0 => text.extend(random_string(rng)),
            1 => text.push(rng.below(256) as u8),
            _ => text.push(b' ' + rng.below(95) as u8),
        }
    }
    text
}

#[test]
fn many_characters_at_once_weigh_as_one_by_one() {
    let mut rng = Rng::new(11);
    let mut starts = 0;
    for _ in 0..20_000 {
        let text = ascii_text(&mut rng);
        // Rule 1 of the weights.
        let mut wanted = Vec::new();
        let mut rest = &text[..];
        while !rest.is_empty() {
            let (char, others) = rest.split_at(super::utf8::first_char(rest).1);
            wanted.extend(key(AI, char));
            rest = others;
        }
        assert_eq!(key(AI, &text), wanted, "{text:?}");
        for c in Collation::ALL {
            let (mut whole, mut start, mut by_level) = (Vec::new(), Vec::new(), Vec::new());
            c.key_part(&text, &mut whole);
            if c.key_start(&text, &mut start) {
                starts += 1;
                assert!(whole.starts_with(&start) && start.len() < whole.len(), "{text:?}");
            } else {
                assert!(start.is_empty());
            }
            if let super::Weights::Unicode900(levels) = c.weights() {
                let put = |ws: &[u16]| by_level.extend(ws.iter().flat_map(|w| w.to_be_bytes()));
                super::uca::each(&text, levels, put);
                assert_eq!(key(c, &text), by_level, "{text:?} in {}", c.name());
            }
        }
    }
    assert!(starts > 10_000, "{starts}");
}

#[test]
fn plain_texts_are_found_where_their_weights_are() {
    let mut rng = Rng::new(12);
    let mut found = 0;
    let by_weights = |c: Collation, whole: &[u8], part: &[u8]| {
        (0..whole.len()).find(|at| c.begins_with(&whole[*at..], part))
    };
    let check = |c: Collation, whole: &[u8], part: &[u8]| {
        let place = c.find_plain(whole, part)?;
        assert_eq!(place, by_weights(c, whole, part), "{whole:?}, {part:?} in {}", c.name());
        place
    };
    for c in Collation::ALL {
        for (a, b) in (0..=0x7F).flat_map(|a| (0..=0x7F).map(move |b| (a, b))) {
            check(c, &[a], &[b]);
        }
        for _ in 0..2_000 {
            let whole = ascii_text(&mut rng);
            let mut part = whole[whole.len() / 3..whole.len() / 2].to_vec();
            part.make_ascii_uppercase();
            found += usize::from(check(c, &whole, &part).is_some());
        }
    }
    assert!(found > 300, "{found}");
    assert_eq!(AI.find_plain(b"abc", b""), None);
    assert_eq!(AI.find_plain("aé".as_bytes(), b"a"), None);
}

#[test]
fn every_code_point_has_weights_in_every_collation() {
    let mut buf = [0; 4];
    let mut out = Vec::new();
    for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
        let s = c.encode_utf8(&mut buf).as_bytes();
        assert_eq!(super::utf8::first_char(s), (Some(c as u32), s.len()));
        for collation in [AI, GENERAL] {
            out.clear();
            collation.sort_key(s, &mut out);
            assert!(out.len() <= 18 && out.len() % 2 == (collation == GENERAL) as usize, "{c:?}");
            assert!(collation != AI || out.chunks(2).all(|w| w != [0, 0]), "rule 2, {c:?}");
        }
    }
}

#[test]
fn accents_and_case_count_behind_the_letters() {
    let (as_ci, as_cs) = (Collation::Utf8mb4_0900AsCi, Collation::Utf8mb4_0900AsCs);
    let order = |c: Collation, a: &str, b: &str| c.compare(a.as_bytes(), b.as_bytes());
    assert_eq!(order(as_ci, "a", "A"), Ordering::Equal);
    assert_eq!(order(as_ci, "a", "á"), Ordering::Less);
    assert_eq!(order(as_ci, "áa", "ab"), Ordering::Less, "letters before accents");
    assert_eq!(order(as_cs, "a", "A"), Ordering::Less);
    assert_eq!(order(as_cs, "Ab", "ac"), Ordering::Less);
    assert_eq!(order(as_cs, "aB", "Áb"), Ordering::Less, "accents before case");
    assert_eq!(hex(as_cs, "aÉ"), "1C47 1CAA 0000 0020 0020 0024 0000 0002 0008 0002");
    assert_eq!(hex(as_ci, ""), "0000");
    let old = Collation::Utf8mb4Unicode520Ci;
    assert_eq!(order(old, "a", "Á  "), Ordering::Equal, "PAD SPACE");
    assert_eq!(order(old, "a\t", "a"), Ordering::Less);
    assert_eq!(order(old, "ß", "ss"), Ordering::Equal);
}

#[test]
fn unicode_ci_weighs_the_bmp_and_pads() {
    let ci = Collation::Utf8mb4UnicodeCi;
    let order = |a: &str, b: &str| ci.compare(a.as_bytes(), b.as_bytes());
    let weights = |s: &str| {
        let mut out = Vec::new();
        ci.weight_string(s.as_bytes(), None, &mut out);
        out.iter().map(|b| format!("{b:02X}")).collect::<String>()
    };
    assert_eq!(weights("aÁ"), "0E330E33");
    assert_eq!(weights("ß"), "0FEA0FEA");
    assert_eq!(weights("\u{0}\u{1}\u{301}"), "", "no primary weight");
    assert_eq!(weights("中"), "FB40CE2D");
    assert_eq!(weights("㐠"), "FB80B420");
    assert_eq!(weights("가"), "FBC1AC00", "a syllable is not its jamo");
    assert_eq!(weights("😀\u{20000}\u{10FFFF}"), "FFFDFFFDFFFD");
    assert_eq!(weights("\u{FDFB}").len(), 32, "eight weights");
    assert_eq!(weights("\u{FDFA}"), "FBC1FDFA", "more than eight are none");
    assert_eq!(order("😀", "😁"), Ordering::Equal, "all above the BMP are one");
    assert_eq!(order("\u{FFFF}", "😀"), Ordering::Less);
    assert_eq!(order("a", "Á  "), Ordering::Equal, "PAD SPACE");
    assert_eq!(order("a\t", "a"), Ordering::Less);
    assert_eq!(order("ß", "ss"), Ordering::Equal);
    assert_eq!(order("ø", "o"), Ordering::Greater, "of its own, unlike in 9.0.0");
    assert_eq!(order("ł", "l"), Ordering::Greater);
    assert_eq!(ci.cut(), super::Cut::Anything);
    let (three, s) = (Collation::Utf8mb3UnicodeCi, "aé Łß");
    assert_eq!(key(three, s.as_bytes()), key(ci, s.as_bytes()));
}

#[test]
fn like_pads_nothing_and_knows_what_the_tables_list() {
    let old = Collation::Utf8mb4Unicode520Ci;
    let uca = [Collation::Utf8mb4UnicodeCi, old, AI, Collation::Utf8mb4_0900AsCs];
    let same = |c: Collation, a: &str, b: &str| c.same_char(a.as_bytes(), b.as_bytes());
    for c in uca {
        assert!(same(c, "中", "中") && same(c, "😀", "😀"));
        assert!(!same(c, "\u{301}", " ") && !same(c, " ", "\u{1}"), "an accent is no space");
        assert!(same(c, "\u{1}", "\u{2}"), "both have no weight");
        assert!(!same(c, "\u{2F00}", "一"), "a radical and its ideograph");
        assert!(!same(c, "😀", "😁"));
        assert_eq!(same(c, "é", "E"), c != Collation::Utf8mb4_0900AsCs);
        assert!(!c.same_char(b"\xFF", b"\xFE") && c.same_char(b"\xFF", b"\xFF"));
    }
    assert!(same(GENERAL, "😀", "😁") && same(GENERAL, "ß", "S") && !same(BIN, "a", "A"));
    // Alone of its kind: this ideograph shares its page with listed signs.
    assert!(same(AI, "\u{2FA16}", "\u{4D56}") && same(old, "\u{2FA16}", "\u{4D56}"));
}

#[test]
fn a_text_begins_with_the_weights_of_another() {
    let as_cs = Collation::Utf8mb4_0900AsCs;
    let begins = |c: Collation, s: &str, start: &str| c.begins_with(s.as_bytes(), start.as_bytes());
    for c in [Collation::Utf8mb4UnicodeCi, Collation::Utf8mb4Unicode520Ci, AI] {
        assert!(begins(c, "ßx", "s") && begins(c, "ßx", "SS") && begins(c, "ss", "ß"));
        assert!(begins(c, "x", "\u{301}") && !begins(c, "", "x") && begins(c, "", "\u{301}"));
        assert!(!begins(c, "a", "a ") && !begins(c, "ßx", "sx"), "no space pads");
    }
    assert!(begins(as_cs, "á", "a") && !begins(as_cs, "áb", "ab") && !begins(as_cs, "a", "á"));
    assert!(begins(GENERAL, "Ab", "á") && !begins(GENERAL, "a", "a ") && !begins(BIN, "a", "A"));
    assert!(begins(Collation::Latin1SwedishCi, "ab", "A") && begins(Collation::Binary, "ab", "a"));
}

#[test]
fn latin1_orders() {
    use Collation::{Latin1GeneralCi, Latin1GeneralCs, Latin1German1Ci, Latin1SwedishCi};
    let order = |c: Collation, a: &[u8], b: &[u8]| c.compare(a, b);
    assert_eq!(order(Latin1SwedishCi, b"z", b"\xe5"), Ordering::Less);
    assert_eq!(order(Latin1SwedishCi, b"\xdc", b"y"), Ordering::Equal);
    assert_eq!(order(Latin1German1Ci, b"\xe4 ", b"A"), Ordering::Equal);
    assert_eq!(order(Latin1GeneralCi, b"a", b"\xe4"), Ordering::Less);
    assert_eq!(order(Latin1GeneralCi, b"\xc4", b"\xe4"), Ordering::Equal);
    assert_eq!(order(Latin1GeneralCs, b"A", b"a"), Ordering::Less);
    assert_eq!(order(Latin1GeneralCs, b"a", b"B"), Ordering::Less);
}

#[test]
fn weight_strings_pad_where_the_collation_does() {
    let weights = |c: Collation, s: &str, chars| {
        let mut out = Vec::new();
        c.weight_string(s.as_bytes(), chars, &mut out);
        out.iter().map(|b| format!("{b:02X}")).collect::<String>()
    };
    assert_eq!(weights(AI, "a", Some(4)), "1C47");
    assert_eq!(weights(GENERAL, "a", Some(4)), "0041002000200020");
    assert_eq!(weights(Collation::Utf8mb4Unicode520Ci, "a", Some(2)), "120F020A");
    assert_eq!(weights(Collation::Utf8mb3UnicodeCi, "a", Some(2)), "0E330209");
    assert_eq!(weights(BIN, "a", Some(2)), "000061000020");
    assert_eq!(weights(Collation::Utf8mb3Bin, "aÉ", None), "006100C9");
    assert_eq!(weights(Collation::Utf8mb4_0900Bin, "É", Some(3)), "C389");
    assert_eq!(weights(Collation::Latin1Bin, "abcd", Some(3)), "616263");
    assert_eq!(weights(Collation::Binary, "aÉ", Some(2)), "61C3");
    assert_eq!(weights(Collation::Binary, "a", Some(3)), "610000");
}

#[test]
fn prefixes_count_characters() {
    assert_eq!(AI.prefix("aßb中c".as_bytes(), 3), "aßb".as_bytes());
    assert_eq!(AI.prefix(b"ab", 5), b"ab");
    assert_eq!(AI.prefix(b"\xFF\xFEab", 3), b"\xFF\xFEa");
    assert_eq!(Collation::Binary.prefix("ß".as_bytes(), 1), b"\xC3");
    assert_eq!(Collation::Latin1Bin.prefix(b"\xFF\xFEab", 3), b"\xFF\xFEa");
    assert_eq!(AI.char_count("aß中😀".as_bytes()), 4);
}
