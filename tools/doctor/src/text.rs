//! Bytes of the server as text that a terminal shows and does not obey.

use std::fmt::Write;

/// Characters of a text that are shown.
const SHOWN_CHARS_MAX: usize = 200;

/// The bytes as text: what is no UTF-8 becomes a replacement character, what is no printable character its escape.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut out = String::new();
    let text = String::from_utf8_lossy(bytes);
    for c in text.chars().take(SHOWN_CHARS_MAX) {
        match is_shown(c) {
            true => out.push(c),
            false => drop(write!(out, "{}", c.escape_default())),
        }
    }
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        out.push_str("...");
    }
    out
}

/// Neither a control character nor one that turns the direction of a text.
fn is_shown(c: char) -> bool {
    let turns = ['\u{061C}', '\u{200E}', '\u{200F}'].contains(&c)
        || ('\u{202A}'..='\u{202E}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c);
    !c.is_control() && !turns && !('\u{2028}'..='\u{2029}').contains(&c)
}

/// A name in a statement.
pub(crate) fn quoted(name: &[u8]) -> String {
    format!("`{}`", shown(name).replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_text() {
        assert_eq!(shown(b"a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(shown(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
        assert_eq!(shown("\u{202e}x\u{e4}".as_bytes()), "\\u{202e}x\u{e4}");
        assert_eq!(quoted(b"a`b"), "`a``b`");
        assert_eq!(shown(&[b'x'; 300]).len(), SHOWN_CHARS_MAX + 3);
    }
}
