//! Values of literal tokens: unescaped strings, hexadecimal and bit strings, quoted names.

use crate::mode::SqlMode;

/// Appends the value of a quoted string to `out`: `quoted` includes its quotes (and no `N` or introducer).
///
/// `''` is one quote. Unless NO_BACKSLASH_ESCAPES, `\0 \b \n \r \t \Z` are control characters, `\%` and `\_` keep their
/// backslash (LIKE wants it), and a backslash before anything else is dropped.
pub fn unescape(quoted: &[u8], mode: SqlMode, out: &mut Vec<u8>) {
    let [quote, inner @ .., _] = quoted else {
        return;
    };
    let escapes = !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && escapes {
            match bytes.next() {
                Some(escaped) => push_escaped(escaped, out),
                None => out.push(b'\\'),
            }
        } else {
            if byte == *quote {
                bytes.next();
            }
            out.push(byte);
        }
    }
}

fn push_escaped(escaped: u8, out: &mut Vec<u8>) {
    if matches!(escaped, b'%' | b'_') {
        out.push(b'\\');
    }
    out.push(match escaped {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    });
}

/// The value of a quoted string as a new vector; see [`unescape`].
pub fn literal_value(quoted: &[u8], mode: SqlMode) -> Vec<u8> {
    let mut out = Vec::with_capacity(quoted.len());
    unescape(quoted, mode, &mut out);
    out
}

/// Bytes of hexadecimal digits, an odd first digit standing alone.
pub(crate) fn hex_value(digits: &[u8]) -> Vec<u8> {
    let nibble = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let (first, pairs) = digits.split_at(digits.len() % 2);
    let mut out: Vec<u8> = first.iter().map(|&digit| nibble(digit)).collect();
    out.extend(pairs.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
    out
}

/// Bytes of binary digits, most significant first, padded on the left.
pub(crate) fn bit_value(digits: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = digits
        .rchunks(8)
        .map(|chunk| chunk.iter().fold(0, |byte, &digit| byte << 1 | (digit - b'0')))
        .collect();
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let value = |text: &str| literal_value(text.as_bytes(), SqlMode::DEFAULT);
        assert_eq!(value(r"'a\nb\0\Z\t\r\b'"), b"a\nb\0\x1a\t\r\x08");
        assert_eq!(value(r"'\%\_\x\\'"), br"\%\_x\");
        assert_eq!(value("'it''s'"), b"it's");
        assert_eq!(value("\"a\"\"b'\""), b"a\"b'");
        assert_eq!(literal_value(br"'a\n'", SqlMode::NO_BACKSLASH_ESCAPES), br"a\n");
        assert_eq!(value("''"), b"");
    }

    #[test]
    fn digit_strings() {
        assert_eq!(hex_value(b"4D7953514C"), b"MySQL");
        assert_eq!(hex_value(b"abc"), [0x0a, 0xbc]);
        assert_eq!(bit_value(b"100000001"), [1, 1]);
        assert!(bit_value(b"").is_empty());
    }
}
