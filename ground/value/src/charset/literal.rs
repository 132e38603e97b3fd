//! Literals on their way from a statement's text to a value of their collation.

use super::{Charset, NameError, convert, converted};
use crate::Collation;
use std::borrow::Cow;

/// Most bytes that a message shows of a malformed string.
const SHOWN_BYTES_MAX: usize = 3;

/// A string that is not of its character set, or has characters that another lacks: error or warning
/// 1300, SQLSTATE HY000.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl Malformed {
    /// MySQL's error number.
    pub const NUMBER: u16 = 1300;

    /// What is wrong with `s` as text of `charset`, if anything is.
    #[must_use]
    pub fn find(s: &[u8], charset: Charset) -> Option<Self> {
        let valid = charset.valid_len(s);
        if valid == s.len() {
            return None;
        }
        let shown = s[valid..].iter().take(SHOWN_BYTES_MAX);
        let hex: String = shown.map(|b| format!("{b:02X}")).collect();
        Some(Malformed(format!("Invalid {charset} character string: '{hex}'")))
    }
}

/// A literal's bytes and collation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal<'s> {
    /// Bytes in the collation's character set.
    pub bytes: Cow<'s, [u8]>,
    /// Its collation.
    pub collation: Collation,
    /// Warning 1300: something was not well formed, or was lost.
    pub warning: Option<Malformed>,
}

/// Why a literal is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralError {
    /// Its introducer names nothing.
    Name(NameError),
    /// 1300: what follows the introducer is not text of its character set.
    Malformed(Malformed),
}

/// A literal of a statement's text, which is utf8mb4: with an introducer its bytes are taken as they are;
/// without one they are converted to the character set of `connection` (`collation_connection`).
///
/// # Errors
/// [`LiteralError`].
pub fn literal<'s>(
    s: &'s [u8],
    introducer: Option<&str>,
    connection: Collation,
) -> Result<Literal<'s>, LiteralError> {
    let Some(name) = introducer else { return Ok(plain(s, connection)) };
    let charset = Charset::named(name).map_err(LiteralError::Name)?;
    let warning = Malformed::find(s, charset);
    if let Some(malformed) = &warning
        && charset.is_unicode()
    {
        return Err(LiteralError::Malformed(malformed.clone()));
    }
    Ok(Literal { bytes: Cow::Borrowed(s), collation: charset.default_collation(), warning })
}

fn plain(s: &[u8], collation: Collation) -> Literal<'_> {
    let charset = collation.charset();
    // A connection of utf8mb3 is a client of utf8mb3: what is not is bad, not lost.
    if charset.is_unicode() || s.is_ascii() || charset == Charset::Binary {
        let warning = Malformed::find(s, charset);
        return Literal { bytes: Cow::Borrowed(s), collation, warning };
    }
    let (bytes, lost) = converted(s, Charset::Utf8mb4, charset);
    let warning = match (Malformed::find(s, Charset::Utf8mb4), lost.unmapped) {
        (None, 0) => None,
        (Some(malformed), _) => Some(malformed),
        (None, _) => Some(cannot_convert(s, charset)),
    };
    Literal { bytes, collation, warning }
}

fn cannot_convert(s: &[u8], to: Charset) -> Malformed {
    /// MySQL shows no more of the text.
    const SHOWN_BYTES: usize = 6;
    let mut shown = String::new();
    for &b in s.iter().take(SHOWN_BYTES) {
        match b {
            b' '..=b'~' => shown.push(char::from(b)),
            _ => shown.push_str(&format!("\\x{b:02X}")),
        }
    }
    let more = if s.len() > SHOWN_BYTES { "..." } else { "" };
    Malformed(format!("Cannot convert string '{shown}{more}' from {} to {to}", Charset::Utf8mb4))
}

/// Text for a message or a column name, which is utf8mb4 here, in the client's character set: what that
/// lacks is written as `\` and four hexadecimal digits.
#[must_use]
pub fn message(text: &str, results: Charset) -> Cow<'_, [u8]> {
    if results.is_unicode() || results == Charset::Binary || text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        let before = out.len();
        let lost =
            convert(c.encode_utf8(&mut [0; 4]).as_bytes(), Charset::Utf8mb4, results, &mut out);
        if lost.any() {
            out.truncate(before);
            out.extend_from_slice(format!("\\{:04X}", c as u32).as_bytes());
        }
    }
    Cow::Owned(out)
}
