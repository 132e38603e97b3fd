//! JSON text to a document.
//!
//! 1. Errors have the words and places of MySQL's parser. 2. A number without point and exponent that
//! fits 64 bits is an integer; any other is a double. 3. Of a key given twice the last value counts.

use super::DEPTH_MAX;
use super::tree::{JsonValue, Object};

/// Why text is no JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong, in MySQL's words; empty when it is nested too deeply (error 3157).
    pub what: String,
    /// The byte where it is.
    pub at: usize,
}

impl JsonError {
    /// Whether the document is nested more deeply than [`DEPTH_MAX`].
    #[must_use]
    pub fn too_deep(&self) -> bool {
        self.what.is_empty()
    }
}

type Parsed<T> = Result<T, JsonError>;

/// The document that a text in utf8mb4 is.
///
/// # Errors
/// It is none, or nested too deeply.
pub fn parse_tree(text: &[u8]) -> Parsed<JsonValue> {
    let mut parser = Parser { text, at: 0 };
    parser.spaces();
    if parser.at == text.len() {
        return fail("The document is empty.", parser.at);
    }
    let value = parser.value(0)?;
    parser.spaces();
    match parser.at == text.len() {
        true => Ok(value),
        false => fail("The document root must not be followed by other values.", parser.at),
    }
}

fn fail<T>(what: &str, at: usize) -> Parsed<T> {
    Err(JsonError { what: what.into(), at })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<JsonValue> {
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH_MAX => fail("", self.at),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(JsonValue::String(self.string()?)),
            Some(b'n') => self.word(b"null", JsonValue::Null),
            Some(b't') => self.word(b"true", JsonValue::Bool(true)),
            Some(b'f') => self.word(b"false", JsonValue::Bool(false)),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: JsonValue) -> Parsed<JsonValue> {
        for &byte in word {
            if !self.eat(byte) {
                return fail("Invalid value.", self.at);
            }
        }
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Parsed<JsonValue> {
        self.at += 1;
        let mut members = Vec::new();
        self.spaces();
        if self.eat(b'}') {
            return Ok(JsonValue::Object(Object::default()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return fail("Missing a name for object member.", self.at);
            }
            let key = self.string()?;
            self.spaces();
            if !self.eat(b':') {
                return fail("Missing a colon after a name of object member.", self.at);
            }
            self.spaces();
            members.push((key, self.value(depth + 1)?));
            self.spaces();
            if self.eat(b'}') {
                return Ok(JsonValue::Object(Object::of(members)));
            }
            if !self.eat(b',') {
                return fail("Missing a comma or '}' after an object member.", self.at);
            }
            self.spaces();
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<JsonValue> {
        self.at += 1;
        let mut items = Vec::new();
        self.spaces();
        if self.eat(b']') {
            return Ok(JsonValue::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.spaces();
            if self.eat(b']') {
                return Ok(JsonValue::Array(items));
            }
            if !self.eat(b',') {
                return fail("Missing a comma or ']' after an array element.", self.at);
            }
            self.spaces();
        }
    }

    fn string(&mut self) -> Parsed<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return fail("Missing a closing quotation mark in string.", self.at),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(0..0x20) => return fail("Invalid encoding in string.", self.at),
                Some(0x20..0x80) => {
                    out.push(self.text[self.at]);
                    self.at += 1;
                }
                Some(_) => self.character(&mut out)?,
            }
        }
    }

    /// A character of several bytes.
    fn character(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let most = &self.text[self.at..(self.at + 4).min(self.text.len())];
        let valid = match std::str::from_utf8(most) {
            Ok(s) => s,
            Err(e) => std::str::from_utf8(&most[..e.valid_up_to()]).unwrap_or(""),
        };
        let Some(c) = valid.chars().next() else {
            return fail("Invalid encoding in string.", self.at);
        };
        out.extend_from_slice(&most[..c.len_utf8()]);
        self.at += c.len_utf8();
        Ok(())
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        let Some(byte) = self.peek() else {
            return fail("Invalid escape character in string.", start);
        };
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.at += 1;
                return self.unicode(start, out);
            }
            _ => return fail("Invalid escape character in string.", start),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn unicode(&mut self, start: usize, out: &mut Vec<u8>) -> Parsed<()> {
        const BAD_PAIR: &str = "The surrogate pair in string is invalid.";
        let mut code = self.hex4(start)?;
        if (0xD800..0xDC00).contains(&code) {
            if !(self.eat(b'\\') && self.eat(b'u')) {
                return fail(BAD_PAIR, start);
            }
            let low = self.hex4(start)?;
            if !(0xDC00..0xE000).contains(&low) {
                return fail(BAD_PAIR, start);
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        match char::from_u32(code) {
            Some(c) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(())
            }
            None => fail(BAD_PAIR, start),
        }
    }

    fn hex4(&mut self, start: usize) -> Parsed<u32> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|d| u32::from_str_radix(d, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => fail("Incorrect hex digit after \\u escape in string.", start),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Parsed<JsonValue> {
        let start = self.at;
        self.eat(b'-');
        let zero = self.peek() == Some(b'0');
        if zero {
            self.at += 1;
        } else if self.digits() == 0 {
            return fail("Invalid value.", self.at);
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            if self.digits() == 0 {
                return fail("Miss fraction part in number.", self.at);
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            if self.digits() == 0 {
                return fail("Miss exponent in number.", self.at);
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if whole {
            if let Ok(v) = text.parse::<i64>() {
                return Ok(JsonValue::Int(v));
            }
            if let Ok(v) = text.parse::<u64>() {
                return Ok(JsonValue::UInt(v));
            }
        }
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(JsonValue::Double(v)),
            _ => fail("Number too big to be stored in double.", start),
        }
    }
}
