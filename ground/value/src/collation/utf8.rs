//! Strict UTF-8 over bytes that may be anything.

/// The first character of `s` and its length in bytes; a byte that starts no valid character comes
/// back as `None` and length 1. `s` must not be empty (then length 0).
#[inline]
pub(crate) fn first_char(s: &[u8]) -> (Option<u32>, usize) {
    let Some(&b0) = s.first() else { return (None, 0) };
    if b0 < 0x80 {
        return (Some(u32::from(b0)), 1);
    }
    let (len, low, init) = match b0 {
        0xC2..=0xDF => (2, 0x80, u32::from(b0 & 0x1F)),
        0xE0..=0xEF => (3, 0x800, u32::from(b0 & 0x0F)),
        0xF0..=0xF4 => (4, 0x1_0000, u32::from(b0 & 0x07)),
        _ => return (None, 1),
    };
    let Some(rest) = s.get(1..len) else { return (None, 1) };
    let mut c = init;
    for &b in rest {
        if b & 0xC0 != 0x80 {
            return (None, 1);
        }
        c = c << 6 | u32::from(b & 0x3F);
    }
    if c < low || c > 0x10_FFFF || (0xD800..=0xDFFF).contains(&c) {
        return (None, 1);
    }
    (Some(c), len)
}

/// How many bytes the first `chars` characters of `s` take (all of `s` when it has fewer); a bad byte
/// counts as one character.
pub(crate) fn prefix_len(s: &[u8], chars: usize) -> usize {
    if s.len() <= chars {
        return s.len();
    }
    if s[..chars].is_ascii() {
        return chars;
    }
    let mut at = 0;
    for _ in 0..chars {
        if at >= s.len() {
            break;
        }
        at += first_char(&s[at..]).1;
    }
    at
}

/// How many characters `s` has; a bad byte counts as one.
pub(crate) fn count(s: &[u8]) -> usize {
    if s.is_ascii() {
        return s.len();
    }
    let (mut at, mut n) = (0, 0);
    while at < s.len() {
        at += first_char(&s[at..]).1;
        n += 1;
    }
    n
}

/// How many bytes of `s`, from its beginning, are UTF-8.
pub(crate) fn valid_len(s: &[u8]) -> usize {
    match std::str::from_utf8(s) {
        Ok(_) => s.len(),
        Err(e) => e.valid_up_to(),
    }
}
