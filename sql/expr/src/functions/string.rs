//! String functions that make or measure text.
//!
//! 1. Text is in the character set of the call's collation: building the call has converted it.

use super::call::{Answer, Call, NULL, SCALAR_BYTES, append_text, text_of};
use super::{Function, MANY, function};
use crate::SqlError;
use crate::build::Derive;
use crate::eval::Value;
use crate::tree::Extra;
use std::borrow::Cow;
use value::{ColumnType, Datum};

pub static FUNCTIONS: &[Function] = &[
    function("concat", (1, MANY), joined, concat, "its arguments joined; NULL if one is NULL"),
    function(
        "concat_ws",
        (2, MANY),
        joined_by,
        concat_ws,
        "the arguments that are not NULL, joined by the first",
    )
    .sees_null(),
    function("length", (1, 1), small_int, length, "length in bytes"),
    function("octet_length", (1, 1), small_int, length, "length in bytes"),
    function("bit_length", (1, 1), small_int, bit_length, "length in bits"),
    function("char_length", (1, 1), small_int, char_length, "length in characters"),
    function("character_length", (1, 1), small_int, char_length, "length in characters"),
    function("ascii", (1, 1), ascii_type, ascii, "the first byte as a number"),
    function("ord", (1, 1), wide_int, ord, "the first character's bytes as a number"),
    function("char", (1, MANY), char_type, char_of, "the bytes that the numbers are").sees_null(),
    function("lower", (1, 1), same, lower, "the text in lower case"),
    function("lcase", (1, 1), same, lower, "the text in lower case"),
    function("upper", (1, 1), same, upper, "the text in upper case"),
    function("ucase", (1, 1), same, upper, "the text in upper case"),
    function("reverse", (1, 1), same, reverse, "the characters from the last to the first"),
    function("repeat", (2, 2), repeat_type, repeat, "the text so many times"),
    function("space", (1, 1), space_type, space, "so many spaces"),
    function("lpad", (3, 3), pad_type, lpad, "so many characters, filled up on the left"),
    function("rpad", (3, 3), pad_type, rpad, "so many characters, filled up on the right"),
    function("replace", (3, 3), replace_type, replace, "every occurrence of a text replaced"),
    function("insert", (4, 4), insert_type, insert, "characters from a position on replaced"),
    function("elt", (2, MANY), elt_type, elt, "the argument with that number").sees_null(),
    function(
        "find_in_set",
        (2, 2),
        compared_int,
        find_in_set,
        "which of a list's members a text is",
    ),
    function(
        "make_set",
        (2, MANY),
        set_type,
        make_set,
        "the arguments whose bits are set, joined by commas",
    )
    .sees_null(),
    function("export_set", (3, 5), export_type, export_set, "a text for every bit, set or not"),
    function("hex", (1, 1), hex_type, hex, "bytes, or a number, in hexadecimal digits"),
    function("unhex", (1, 1), unhex_type, unhex, "the bytes that hexadecimal digits write")
        .sees_null(),
    function("bin", (1, 1), digits_type, bin, "a number in binary digits"),
    function("oct", (1, 1), digits_type, oct, "a number in octal digits"),
    function("conv", (3, 3), digits_type, conv, "a number's digits from one base to another"),
    function("quote", (1, 1), quote_type, quote, "the text as a literal of SQL").sees_null(),
    function("soundex", (1, 1), soundex_type, soundex, "how the text sounds"),
    function(
        "strcmp",
        (2, 2),
        strcmp_type,
        strcmp,
        "-1, 0 or 1 as the first is less, equal or greater",
    ),
    function("to_base64", (1, 1), to_base64_type, to_base64, "the bytes in base 64"),
    function("from_base64", (1, 1), from_base64_type, from_base64, "the bytes that base 64 writes"),
    function(
        "load_file",
        (1, 1),
        load_type,
        load_file,
        "the bytes of a file of the server: always NULL",
    )
    .sees_null(),
    function(
        "weight_string",
        (1, 2),
        weight_type,
        weight_string,
        "the bytes by which the text is ordered",
    ),
];

type Derived = Result<ColumnType, SqlError>;

fn joined(d: &mut Derive<'_>) -> Derived {
    d.text(0)?;
    let nullable = d.nullable();
    Ok(ColumnType { nullable: nullable || d.chars_from(0) > 0, ..d.string(d.chars_from(0)) })
}

fn joined_by(d: &mut Derive<'_>) -> Derived {
    d.text(0)?;
    let separators = d.chars(0).saturating_mul(d.args.len() as u32 - 2);
    Ok(d.string(d.chars_from(1).saturating_add(separators)))
}

fn small_int(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(11))
}

fn wide_int(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(21))
}

fn ascii_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(4))
}

fn char_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.bytes(4 * d.args.len() as u32))
}

fn same(d: &mut Derive<'_>) -> Derived {
    d.text(0)?;
    Ok(d.string(d.chars(0)))
}

fn repeat_type(d: &mut Derive<'_>) -> Derived {
    d.text_of(0..1)?;
    const BLOB_CHARS: u32 = 16_777_216;
    let chars = match d.constant_int(1) {
        Some(n @ 0..) => {
            u32::try_from(i128::from(n) * i128::from(d.chars(0))).unwrap_or(BLOB_CHARS)
        }
        _ => BLOB_CHARS,
    };
    Ok(d.string(chars.min(BLOB_CHARS)))
}

fn space_type(d: &mut Derive<'_>) -> Derived {
    let chars = d.constant_int(0).map_or(16_777_216, |n| n.clamp(0, 16_777_216) as u32);
    Ok(d.own_string(chars))
}

fn pad_type(d: &mut Derive<'_>) -> Derived {
    d.text_led_by(0, &[2])?;
    let chars = d.constant_int(1).map_or(16_777_216, |n| n.clamp(0, 16_777_216) as u32);
    Ok(d.string(chars))
}

fn replace_type(d: &mut Derive<'_>) -> Derived {
    d.text_led_by(0, &[1, 2])?;
    let (from, to) = (d.chars(1), d.chars(2));
    let chars = d.chars(0);
    let more = chars.saturating_mul(to.saturating_sub(from));
    Ok(d.string(chars.saturating_add(more)))
}

fn insert_type(d: &mut Derive<'_>) -> Derived {
    d.text_led_by(0, &[3])?;
    Ok(d.string(d.chars(0).saturating_add(d.chars(3))))
}

fn elt_type(d: &mut Derive<'_>) -> Derived {
    d.text(1)?;
    let chars = (1..d.args.len()).map(|n| d.chars(n)).max().unwrap_or(0);
    Ok(d.string(chars))
}

fn compared_int(d: &mut Derive<'_>) -> Derived {
    d.compared(0..2)?;
    Ok(d.int(11))
}

fn set_type(d: &mut Derive<'_>) -> Derived {
    d.text(1)?;
    let commas = d.args.len() as u32 - 2;
    let ty = d.string(d.chars_from(1).saturating_add(commas));
    Ok(ColumnType { nullable: d.nullable(), ..ty })
}

fn export_type(d: &mut Derive<'_>) -> Derived {
    let last = d.args.len().min(4);
    d.text_of(1..last)?;
    let one = d.chars(1).max(d.chars(2));
    let separator = if d.args.len() > 3 { d.chars(3) } else { 1 };
    Ok(d.string(one.saturating_mul(64).saturating_add(separator.saturating_mul(63))))
}

fn hex_type(d: &mut Derive<'_>) -> Derived {
    let ty = d.ty(0);
    let bytes = if crate::build::is_stringy(&ty) {
        d.chars(0).saturating_mul(ty.collation.bytes_per_char_max())
    } else {
        8
    };
    Ok(d.own_string(bytes.saturating_mul(2)))
}

fn unhex_type(d: &mut Derive<'_>) -> Derived {
    let chars = d.chars(0);
    Ok(d.bytes(chars.div_ceil(2)))
}

fn digits_type(d: &mut Derive<'_>) -> Derived {
    d.args[0] = crate::build::bits_as_number(d.args[0].clone());
    Ok(d.own_string(65))
}

fn quote_type(d: &mut Derive<'_>) -> Derived {
    if d.args[0].is_null() {
        let ty = d.own_string(4);
        d.coercibility = Some(value::collation::aggregate::Coercibility::Ignorable);
        return Ok(ty);
    }
    d.bytes_as_text(0, d.settings.collation);
    d.text(0)?;
    Ok(d.string(d.chars(0).saturating_mul(2).saturating_add(2)))
}

fn soundex_type(d: &mut Derive<'_>) -> Derived {
    d.text(0)?;
    Ok(d.string(d.chars(0).max(4)))
}

fn strcmp_type(d: &mut Derive<'_>) -> Derived {
    d.compared(0..2)?;
    Ok(d.int(2))
}

fn to_base64_type(d: &mut Derive<'_>) -> Derived {
    let bytes = d.chars(0).saturating_mul(d.ty(0).collation.bytes_per_char_max());
    let digits = bytes.div_ceil(3).saturating_mul(4);
    Ok(d.own_string(digits.saturating_add(digits.saturating_sub(1) / 76)))
}

fn from_base64_type(d: &mut Derive<'_>) -> Derived {
    let bytes = d.chars(0).saturating_mul(d.ty(0).collation.bytes_per_char_max());
    Ok(d.bytes(bytes / 4 * 3))
}

fn load_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.bytes(16_777_216))
}

fn weight_type(d: &mut Derive<'_>) -> Derived {
    d.text(0)?;
    let chars = d.chars(0).saturating_mul(d.collation.bytes_per_char_max() * 8);
    Ok(d.bytes(chars))
}

fn concat<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let first = c.text(0);
    if c.len() == 1 {
        return Ok(first.into());
    }
    let more = (1..c.len()).map(|n| c.datum(n).as_bytes().map_or(SCALAR_BYTES, <[u8]>::len));
    let more = more.sum();
    let mut out = match first {
        Cow::Owned(text) => text,
        Cow::Borrowed(text) => {
            let mut out = Vec::with_capacity(text.len() + more);
            out.extend_from_slice(text);
            out
        }
    };
    out.reserve(more);
    for n in 1..c.len() {
        append_text(&c.args[n].get(), &c.site.types[n], &mut out);
    }
    Ok(if c.fits(out.len()) { out.into() } else { NULL })
}

fn concat_ws<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let separator = c.text(0);
    let mut out = Vec::new();
    let mut first = true;
    for n in 1..c.len() {
        if c.is_null(n) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.extend_from_slice(&separator);
        }
        append_text(&c.args[n].get(), &c.site.types[n], &mut out);
    }
    Ok(if c.fits(out.len()) { out.into() } else { NULL })
}

fn length<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok((c.text(0).len() as i64).into())
}

fn bit_length<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok((c.text(0).len() as i64 * 8).into())
}

fn char_length<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    Ok((c.collation().char_count(&text) as i64).into())
}

fn ascii<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(i64::from(c.text(0).first().copied().unwrap_or(0)).into())
}

fn ord<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    let (_, bytes) = c.collation().charset().first_char(&text);
    let first = text.get(..bytes).unwrap_or_default();
    Ok(first.iter().fold(0i64, |v, b| v << 8 | i64::from(*b)).into())
}

fn char_of<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let mut out = Vec::new();
    for n in 0..c.len() {
        if !c.is_null(n) {
            let bytes = (c.bits(n) as u32).to_be_bytes();
            let zeros = bytes.iter().take(3).take_while(|b| **b == 0).count();
            out.extend_from_slice(&bytes[zeros..]);
        }
    }
    Ok(out.into())
}

fn lower<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    Ok(c.collation().lower(text).into())
}

fn upper<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    Ok(c.collation().upper(text).into())
}

fn reverse<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    if text.is_ascii() {
        return Ok(text.iter().rev().copied().collect::<Vec<u8>>().into());
    }
    let charset = c.collation().charset();
    let mut out = vec![0; text.len()];
    let (mut rest, mut end) = (&text[..], text.len());
    while !rest.is_empty() {
        let (_, bytes) = charset.first_char(rest);
        let bytes = bytes.clamp(1, rest.len());
        out[end - bytes..end].copy_from_slice(&rest[..bytes]);
        (rest, end) = (&rest[bytes..], end - bytes);
    }
    Ok(out.into())
}

fn repeat<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let times = usize::try_from(c.integer(1)).unwrap_or(0);
    let text = c.text(0);
    match c.fits(text.len().saturating_mul(times)) {
        true => Ok(text.repeat(times).into()),
        false => Ok(NULL),
    }
}

fn space<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let times = usize::try_from(c.integer(0)).unwrap_or(0);
    Ok(if c.fits(times) { vec![b' '; times].into() } else { NULL })
}

fn pad<'v>(c: &mut Call<'_, 'v>, left: bool) -> Answer<'v> {
    let Ok(wanted) = usize::try_from(c.integer(1)) else { return Ok(NULL) };
    let (text, filler) = (c.text(0), c.text(2));
    let collation = c.collation();
    let have = collation.char_count(&text);
    if wanted <= have {
        let end = collation.prefix(&text, wanted).len();
        return Ok(super::call::slice(text, 0..end));
    }
    if filler.is_empty() {
        return Ok(text.into());
    }
    let missing = wanted - have;
    let unit = collation.char_count(&filler);
    let bytes = (missing / unit).saturating_mul(filler.len()).saturating_add(filler.len());
    if !c.fits(bytes.saturating_add(text.len())) {
        return Ok(NULL);
    }
    let mut fill = filler.repeat(missing / unit);
    fill.extend_from_slice(collation.prefix(&filler, missing % unit));
    let mut out = text.into_owned();
    match left {
        true => {
            fill.append(&mut out);
            Ok(fill.into())
        }
        false => {
            out.append(&mut fill);
            Ok(out.into())
        }
    }
}

fn lpad<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    pad(c, true)
}

fn rpad<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    pad(c, false)
}

fn replace<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (text, from, to) = (c.text(0), c.text(1), c.text(2));
    if from.is_empty() || text.len() < from.len() {
        return Ok(text.into());
    }
    let most = c.bytes_max((text.len() / from.len() + 1).saturating_mul(to.len()) + text.len());
    let mut out = Vec::with_capacity(text.len() + to.len());
    let mut rest = &text[..];
    let charset = c.collation().charset();
    // Only what begins with a byte that goes on with a character could be found within one.
    let within = charset.is_unicode() && from[0] & 0xC0 == 0x80;
    while rest.len() >= from.len() && out.len() <= most {
        if rest.starts_with(&from) {
            out.extend_from_slice(&to);
            rest = &rest[from.len()..];
            continue;
        }
        let passed = match within {
            true => charset.first_char(rest).1.clamp(1, rest.len()),
            false => rest[1..].iter().position(|b| *b == from[0]).map_or(rest.len(), |at| at + 1),
        };
        out.extend_from_slice(&rest[..passed]);
        rest = &rest[passed..];
    }
    out.extend_from_slice(rest);
    Ok(if c.fits(out.len()) { out.into() } else { NULL })
}

fn insert<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (at, count) = (c.integer(1), c.integer(2));
    let (text, new) = (c.text(0), c.text(3));
    let collation = c.collation();
    let chars = collation.char_count(&text) as i128;
    if at < 1 || at > chars {
        return Ok(text.into());
    }
    let rest = chars - (at - 1);
    let count = if count < 0 || count > rest { rest } else { count };
    let start = collation.prefix(&text, (at - 1) as usize).len();
    let cut = collation.prefix(&text[start..], count as usize).len();
    let mut out = text[..start].to_vec();
    out.extend_from_slice(&new);
    out.extend_from_slice(&text[start + cut..]);
    Ok(if c.fits(out.len()) { out.into() } else { NULL })
}

fn elt<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let n = usize::try_from(c.integer(0)).unwrap_or(0);
    if n == 0 || n >= c.len() || c.is_null(n) {
        return Ok(NULL);
    }
    Ok(c.text(n).into())
}

fn find_in_set<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (wanted, list) = (c.text(0), c.text(1));
    if list.is_empty() || wanted.contains(&b',') {
        return Ok(0i64.into());
    }
    let collation = c.collation();
    // Blanks at the end count, also where the collation pads.
    let blanks = |text: &[u8]| text.iter().rev().take_while(|b| **b == b' ').count();
    let same = |member: &[u8]| {
        let exact = !collation.pads_space() || blanks(member) == blanks(&wanted);
        exact && collation.equals(member, &wanted)
    };
    let at = list.split(|b| *b == b',').position(same);
    Ok(at.map_or(0, |n| n as i64 + 1).into())
}

fn make_set<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let bits = c.bits(0);
    let mut out = Vec::new();
    let mut first = true;
    for n in (1..c.len()).take(64) {
        if bits >> (n - 1) & 1 == 0 || c.is_null(n) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        append_text(&c.args[n].get(), &c.site.types[n], &mut out);
    }
    Ok(out.into())
}

fn export_set<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let bits = c.bits(0);
    let count =
        if c.len() > 4 { usize::try_from(c.integer(4)).map_or(64, |n| n.min(64)) } else { 64 };
    let (on, off) = (c.text(1), c.text(2));
    let separator = if c.len() > 3 { c.text(3) } else { b","[..].into() };
    let longest = on.len().max(off.len()).saturating_add(separator.len());
    let most = c.bytes_max(longest.saturating_mul(64));
    let mut out = Vec::new();
    for bit in 0..count {
        if out.len() > most {
            break;
        }
        if bit > 0 {
            out.extend_from_slice(&separator);
        }
        out.extend_from_slice(if bits >> bit & 1 != 0 { &on } else { &off });
    }
    Ok(out.into())
}

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Bytes as hexadecimal digits.
pub(super) fn hex_of(bytes: &[u8]) -> Vec<u8> {
    let digit = |n: u8| HEX_DIGITS[usize::from(n)];
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

fn hex<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = matches!(c.datum(0), Datum::Bytes(_) | Datum::Enum(..) | Datum::Set(..));
    let number = !text && c.ty(0).kind != value::Kind::Json && !c.ty(0).kind.is_temporal();
    if number {
        let bits = c.bits(0);
        let digits = (u64::BITS - bits.leading_zeros()).div_ceil(4).max(1);
        let digit = |n: u32| HEX_DIGITS[(bits >> (4 * n) & 15) as usize];
        return Ok((0..digits).rev().map(digit).collect::<Vec<u8>>().into());
    }
    let text = c.text(0);
    if !c.fits(text.len() * 2) {
        return Ok(NULL);
    }
    Ok(hex_of(&text).into())
}

/// The bytes that hexadecimal digits write.
pub(super) fn bytes_of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let odd = digits.len() % 2;
    let mut out = Vec::with_capacity(digits.len().div_ceil(2));
    if odd == 1 {
        out.push(byte_of_hex(b'0', digits[0])?);
    }
    for pair in digits[odd..].chunks_exact(2) {
        out.push(byte_of_hex(pair[0], pair[1])?);
    }
    Some(out)
}

/// The byte that two hexadecimal digits write.
pub(super) fn byte_of_hex(high: u8, low: u8) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

fn unhex<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let text = c.text(0);
    match bytes_of_hex(&text) {
        Some(bytes) => Ok(bytes.into()),
        None => {
            let shown = c.written(0, String::from_utf8_lossy(&text).into_owned());
            c.incorrect_value("string", shown.as_bytes(), "unhex");
            Ok(NULL)
        }
    }
}

fn bin<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.conv_bits(0).map_or(NULL, |bits| format!("{bits:b}").into()))
}

fn oct<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.conv_bits(0).map_or(NULL, |bits| format!("{bits:o}").into()))
}

impl Call<'_, '_> {
    /// What BIN and OCT read: text up to its first character that is no digit, which warns where it is the first
    /// of all; `None` for empty text.
    fn conv_bits(&mut self, n: usize) -> Option<u64> {
        let ty = self.ty(n);
        if ty.kind.has_date() || ty.kind == value::Kind::Time {
            // Dates and times, too: 2024-01-02 reads as 2024.
            return Some(super::leading_integer(&self.text(n)).0 as u64);
        }
        if let number @ Datum::Double(_) = self.datum(n) {
            // 1e30 reads as 1.
            let text = value::format::to_text(&number);
            return Some(super::leading_integer(text.as_bytes()).0 as u64);
        }
        let Datum::Bytes(text) = self.datum(n) else {
            let whole = self.decimal(n).truncate(0).trunc_to_i128().unwrap_or(0);
            return Some(whole.clamp(i64::MIN.into(), u64::MAX.into()) as u64);
        };
        if text.is_empty() {
            return None;
        }
        let (value, _) = super::leading_integer(text);
        if !starts_a_number(text) {
            let text = text.to_vec();
            super::call::incorrect(self.env, "DECIMAL", &text);
        }
        Some(value as u64)
    }
}

/// Blanks, a sign and a digit.
fn starts_a_number(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    digits.first().is_some_and(u8::is_ascii_digit)
}

fn conv<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (from, to) = (c.int(1), c.int(2));
    let valid = |base: i64| (2..=36).contains(&base.unsigned_abs());
    if !valid(from) || !valid(to) {
        return Ok(NULL);
    }
    if c.ty(0).kind == value::Kind::Bit {
        // Bits are a number already, whatever base is named for it.
        let bits = c.integer(0) as u64;
        return Ok(in_base(bits, to));
    }
    let text = match c.number(0) {
        Datum::UInt(v) => v.to_string().into_bytes().into(),
        _ => c.text(0),
    };
    if text.is_empty() {
        return Ok(NULL);
    }
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let base = from.unsigned_abs() as u32;
    let mut value: u128 = 0;
    for b in digits {
        let Some(digit) = char::from(*b).to_digit(base) else { break };
        value = (value * u128::from(base) + u128::from(digit)).min(u128::from(u64::MAX));
    }
    let bits = value as u64;
    let bits = match (negative, from < 0) {
        (true, false) => bits.wrapping_neg(),
        (true, true) => (bits.min(1 << 63)).wrapping_neg(),
        (false, true) => bits.min(i64::MAX as u64),
        (false, false) => bits,
    };
    Ok(in_base(bits, to))
}

/// The digits of a number to a base; below zero: of a number with a sign.
fn in_base<'v>(bits: u64, to: i64) -> Value<'v> {
    let (sign, mut rest) = match to < 0 && (bits as i64) < 0 {
        true => ("-", bits.wrapping_neg()),
        false => ("", bits),
    };
    let base = to.unsigned_abs();
    let mut out = Vec::new();
    loop {
        let digit = char::from_digit((rest % base) as u32, 36).unwrap_or('0');
        out.push(digit.to_ascii_uppercase() as u8);
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    out.extend(sign.bytes());
    out.reverse();
    out.into()
}

fn quote<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(Value::Datum(Datum::Bytes(b"NULL")));
    }
    let text = c.text(0);
    let mut out = vec![b'\''];
    for b in text.iter() {
        match b {
            b'\'' | b'\\' => out.extend([b'\\', *b]),
            0 => out.extend(b"\\0"),
            0x1A => out.extend(b"\\Z"),
            _ => out.push(*b),
        }
    }
    out.push(b'\'');
    Ok(out.into())
}

fn soundex<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let text = c.text(0);
    let charset = c.collation().charset();
    let mut out = String::new();
    let mut last = 0;
    // Of bytes only those of ASCII are letters.
    let is_letter =
        |ch: &char| ch.is_alphabetic() && (ch.is_ascii() || charset != value::Charset::Binary);
    for (character, _) in charset.chars(&text) {
        let Some(ch) = character.and_then(char::from_u32).filter(is_letter) else { continue };
        let upper = ch.to_ascii_uppercase();
        let code = match upper {
            'A'..='Z' => CODES[(upper as u8 - b'A') as usize],
            _ => b'0',
        };
        if out.is_empty() {
            // Other letters keep their case.
            out.push_str(upper.encode_utf8(&mut [0; 4]));
            last = code;
        } else if code != b'0' && code != last {
            out.push(code.into());
            last = code;
        } else if code != b'0' {
            last = code;
        }
    }
    if out.is_empty() {
        return Ok(Vec::new().into());
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    let mut text = Vec::new();
    value::charset::convert(out.as_bytes(), value::Charset::Utf8mb4, charset, &mut text);
    Ok(text.into())
}

fn strcmp<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (a, b) = (c.text(0), c.text(1));
    Ok((c.collation().compare(&a, &b) as i64).into())
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with a line end after every 76 digits.
pub fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 4 / 3 + 4);
    let mut line = 0;
    for group in bytes.chunks(3) {
        if line == 76 {
            out.push(b'\n');
            line = 0;
        }
        let word =
            group.iter().fold(0u32, |v, b| v << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for n in 0..4 {
            let digit = BASE64[(word >> (18 - 6 * n) & 63) as usize];
            out.push(if n <= group.len() { digit } else { b'=' });
        }
        line += 4;
    }
    out
}

fn bytes_of_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let digits: Vec<u8> = text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let groups = digits.len() / 4;
    for (n, group) in digits.chunks_exact(4).enumerate() {
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || (padding > 0 && n + 1 != groups) {
            return None;
        }
        let mut word = 0u32;
        for b in &group[..4 - padding] {
            word = word << 6 | BASE64.iter().position(|d| d == b)? as u32;
        }
        let bytes = (word << (6 * padding)).to_be_bytes();
        out.extend_from_slice(&bytes[1..4 - padding]);
    }
    Some(out)
}

fn to_base64<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    let out = base64(&text);
    Ok(if c.fits(out.len()) { out.into() } else { NULL })
}

fn from_base64<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    Ok(bytes_of_base64(&text).map_or(NULL, Into::into))
}

fn load_file<'v>(_: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(NULL)
}

/// The number of a member, or of several, as an index would store a BIGINT.
fn as_stored<'v>(number: u64) -> Value<'v> {
    Value::Bytes((number ^ 1 << 63).to_be_bytes().to_vec())
}

fn weight_string<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let ty = c.ty(0);
    let mut out = Vec::new();
    if ty.kind.is_int() && c.len() == 1 {
        // As an index stores it: the sign bit turned.
        let sign = if ty.unsigned { 0 } else { 1 << 63 };
        out.extend_from_slice(&((c.integer(0) as u64) ^ sign).to_be_bytes());
        return Ok(Value::Bytes(out));
    }
    if !crate::build::is_stringy(&ty) {
        return Ok(NULL);
    }
    if let (Datum::Enum(_, v), 1) = (c.datum(0), c.len()) {
        return Ok(as_stored(u64::from(v)));
    }
    if let (Datum::Set(_, v), 1) = (c.datum(0), c.len()) {
        return Ok(as_stored(v));
    }
    let length = (c.len() > 1).then(|| usize::try_from(c.int(1)).unwrap_or(0));
    let text = text_of(c.take(0), &ty);
    match (length, &c.site.extra) {
        (Some(length), Extra::Word("BINARY")) => {
            out.extend_from_slice(&text);
            if !c.fits(length) {
                return Ok(NULL);
            }
            out.resize(length, 0);
        }
        (length, _) => {
            if !c.fits(length.unwrap_or(0)) {
                return Ok(NULL);
            }
            c.collation().weight_string(&text, length, &mut out);
        }
    }
    Ok(Value::Bytes(out))
}
