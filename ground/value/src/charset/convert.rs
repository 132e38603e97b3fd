//! Text of one character set to text of another.

use super::Charset;
use std::borrow::Cow;

/// What a conversion could not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Bytes of the source that are no characters of its character set.
    pub malformed: usize,
    /// Characters that the target does not have.
    pub unmapped: usize,
}

impl Lost {
    /// Whether anything was lost.
    #[must_use]
    pub const fn any(self) -> bool {
        self.malformed + self.unmapped != 0
    }
}

/// Appends `s`, text of `from`, as text of `to`: `?` stands for what is malformed or what `to` does not
/// have. From or to `binary` bytes are copied.
pub fn convert(s: &[u8], from: Charset, to: Charset, out: &mut Vec<u8>) -> Lost {
    let mut lost = Lost::default();
    if copies(s, from, to) {
        out.extend_from_slice(s);
        return lost;
    }
    out.reserve(s.len());
    for (c, _) in from.chars(s) {
        match c {
            None => lost.malformed += 1,
            Some(c) if to.push_char(c, out) => continue,
            Some(_) => lost.unmapped += 1,
        }
        out.push(b'?');
    }
    lost
}

/// [`convert`], without a copy where the bytes stay the same.
#[must_use]
pub fn converted(s: &[u8], from: Charset, to: Charset) -> (Cow<'_, [u8]>, Lost) {
    if copies(s, from, to) {
        return (Cow::Borrowed(s), Lost::default());
    }
    let mut out = Vec::new();
    let lost = convert(s, from, to, &mut out);
    (Cow::Owned(out), lost)
}

/// Where the first character starts that a conversion would lose; the text's length if none.
#[must_use]
pub fn first_lost(s: &[u8], from: Charset, to: Charset) -> usize {
    let mut at = 0;
    let mut out = Vec::new();
    while at < s.len() {
        let length = from.prefix_len(&s[at..], 1).max(1);
        out.clear();
        if convert(&s[at..at + length], from, to, &mut out).any() {
            break;
        }
        at += length;
    }
    at
}

/// Whether the bytes mean the same in both.
#[inline]
fn copies(s: &[u8], from: Charset, to: Charset) -> bool {
    from == to || from == Charset::Binary || to == Charset::Binary || s.is_ascii()
}
