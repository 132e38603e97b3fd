//! Reading numbers out of text, as MySQL converts strings.
//!
//! Invariants
//! 1. Leading white space is skipped; the longest prefix that is a number counts; what follows is
//!    reported, unless it is spaces. (All as MySQL 9.7 answered when asked.)
//! 2. No text makes these functions fail or panic: what is not a number is zero.

/// What stood behind the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing, or only spaces.
    Clean,
    /// Something else.
    Garbage,
    /// There was no number at all.
    NoNumber,
}

/// An integer read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntText {
    /// The value, rounded half away from zero; beyond 30 digits saturated at 10^30.
    pub value: i128,
    /// What stood behind it.
    pub rest: Rest,
}

/// Digits kept exactly; longer integers are out of every column's range anyway.
const DIGITS_MAX: i64 = 30;
const SATURATED: i128 = 10i128.pow(DIGITS_MAX as u32);

/// The pieces of a number's text.
pub(crate) struct Pieces<'a> {
    pub negative: bool,
    pub whole: &'a [u8],
    pub fraction: &'a [u8],
    pub exponent: i64,
    /// The text from the sign to the last character of the number.
    pub text: &'a [u8],
    pub rest: Rest,
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

fn digits(s: &[u8]) -> usize {
    s.iter().take_while(|b| b.is_ascii_digit()).count()
}

pub(crate) fn split(s: &[u8]) -> Pieces<'_> {
    let start = s.iter().take_while(|&&b| is_space(b)).count();
    let s = &s[start..];
    let sign = usize::from(matches!(s.first(), Some(b'-' | b'+')));
    let negative = s.first() == Some(&b'-');
    let whole = &s[sign..sign + digits(&s[sign..])];
    let mut end = sign + whole.len();
    let mut fraction: &[u8] = &[];
    if s.get(end) == Some(&b'.') {
        fraction = &s[end + 1..end + 1 + digits(&s[end + 1..])];
        if !whole.is_empty() || !fraction.is_empty() {
            end += 1 + fraction.len();
        }
    }
    if whole.is_empty() && fraction.is_empty() {
        let rest = Rest::NoNumber;
        return Pieces { negative: false, whole, fraction, exponent: 0, text: &[], rest };
    }
    let (exponent, end) = exponent(s, end);
    let clean = s[end..].iter().all(|&b| b == b' ');
    let rest = if clean { Rest::Clean } else { Rest::Garbage };
    Pieces { negative, whole, fraction, exponent, text: &s[..end], rest }
}

/// The exponent at `end`, and the end of the text with it. MySQL takes an `e` (and its sign) without
/// digits as part of the number; `text` then is not what Rust parses, see [`double_of_text`].
fn exponent(s: &[u8], end: usize) -> (i64, usize) {
    if !matches!(s.get(end), Some(b'e' | b'E')) {
        return (0, end);
    }
    let sign = usize::from(matches!(s.get(end + 1), Some(b'-' | b'+')));
    let at = end + 1 + sign;
    let n = s.get(at..).map_or(0, digits);
    if n == 0 {
        return (0, at.min(s.len()));
    }
    let size = s[at..at + n].iter().fold(0i64, |v, d| (v * 10 + i64::from(d - b'0')).min(100_000));
    let negative = s.get(end + 1) == Some(&b'-');
    (if negative { -size } else { size }, at + n)
}

/// The integer at the start of `s`; a fraction or exponent is honoured and rounded half away from zero.
#[must_use]
pub fn int_of_text(s: &[u8]) -> IntText {
    let p = split(s);
    let all = p.whole.iter().chain(p.fraction).skip_while(|&&d| d == b'0');
    let skipped = (p.whole.len() + p.fraction.len()) as i64 - all.clone().count() as i64;
    // How many of the remaining digits stand before the point once the exponent is applied.
    let before = p.whole.len() as i64 - skipped + p.exponent;
    let mut value: i128 = 0;
    if all.clone().next().is_some() && before > DIGITS_MAX {
        value = SATURATED;
    } else if before >= 0 {
        let mut rest = all;
        for _ in 0..before {
            value = value * 10 + rest.next().map_or(0, |d| i128::from(d - b'0'));
        }
        value += i128::from(rest.next().is_some_and(|&d| d >= b'5'));
    }
    IntText { value: if p.negative { -value } else { value }, rest: p.rest }
}

/// The double at the start of `s`, and what stood behind it. Too large becomes the largest double.
#[must_use]
pub fn double_of_text(s: &[u8]) -> (f64, Rest) {
    let (v, rest) = unbounded_double(s);
    (v.clamp(f64::MIN, f64::MAX), rest)
}

/// As [`double_of_text`], infinite where it is beyond all doubles.
#[must_use]
pub fn unbounded_double(s: &[u8]) -> (f64, Rest) {
    let p = split(s);
    let text = std::str::from_utf8(p.text).unwrap_or("").trim_end_matches(['e', 'E', '+', '-']);
    (text.parse::<f64>().unwrap_or(0.0), p.rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_half_away_and_report_the_rest() {
        let cases: &[(&str, i128, Rest)] = &[
            ("12", 12, Rest::Clean),
            ("  -12  ", -12, Rest::Clean),
            ("12abc", 12, Rest::Garbage),
            ("abc", 0, Rest::NoNumber),
            ("", 0, Rest::NoNumber),
            ("-", 0, Rest::NoNumber),
            (".", 0, Rest::NoNumber),
            (".5", 1, Rest::Clean),
            ("0.49999", 0, Rest::Clean),
            ("-1.5", -2, Rest::Clean),
            ("1e3", 1000, Rest::Clean),
            ("1e", 1, Rest::Clean),
            ("1e+", 1, Rest::Clean),
            ("1ex", 1, Rest::Garbage),
            ("1e+x", 1, Rest::Garbage),
            ("\t5", 5, Rest::Clean),
            ("5\t", 5, Rest::Garbage),
            ("12345e-3", 12, Rest::Clean),
            ("5e-1", 1, Rest::Clean),
            ("5e-2", 0, Rest::Clean),
            ("0.00012e5", 12, Rest::Clean),
            ("9223372036854775808", 1 << 63, Rest::Clean),
            ("1e99999999999", SATURATED, Rest::Clean),
            ("0e99999999999", 0, Rest::Clean),
            ("1e-99999999999", 0, Rest::Clean),
            ("00000000000000000000000000000000000000000012", 12, Rest::Clean),
            ("99999999999999999999999999999999999999", SATURATED, Rest::Clean),
        ];
        for (text, value, rest) in cases {
            assert_eq!(
                int_of_text(text.as_bytes()),
                IntText { value: *value, rest: *rest },
                "{text:?}"
            );
        }
    }

    #[test]
    fn doubles_take_the_longest_prefix() {
        assert_eq!(double_of_text(b" 1.5e2x"), (150.0, Rest::Garbage));
        assert_eq!(double_of_text(b"-.5"), (-0.5, Rest::Clean));
        assert_eq!(double_of_text(b"1e+"), (1.0, Rest::Clean));
        assert_eq!(double_of_text(b"x"), (0.0, Rest::NoNumber));
        assert_eq!(double_of_text(b"1e999"), (f64::MAX, Rest::Clean));
        assert_eq!(double_of_text(b"\xFF"), (0.0, Rest::NoNumber));
    }
}
