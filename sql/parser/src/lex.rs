//! Bytes to tokens, one at a time, by MySQL's rules.
//!
//! 1. The lexer never fails: what it cannot read is a [`TokenKind::Bad`] token at its place, and the end follows.
//! 2. Any bytes are safe input; every step consumes at least one byte or ends.
//! 3. Version comments up to [`VERSION`] are read as if their marks were spaces; later ones are comments.
//! 4. `;` ends a statement; [`Lexer::position`] then stands behind it.

use crate::keywords::{self, Class, Kw};
use crate::mode::SqlMode;
use crate::token::{Token, TokenKind};

/// The version that `/*!NNNNN` is compared with.
pub const VERSION: u32 = 80_400;

/// A reader of tokens.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    mode: SqlMode,
    in_version_comment: bool,
    previous: Previous,
}

/// What of the last token the next one depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Previous {
    Other,
    /// A word or quoted name: `.` after it is no decimal point.
    Name,
    /// A verb that optimizer hints may follow.
    Verb,
    /// A dot whose next byte starts a name of any spelling.
    Dot,
    /// `@@`: a name must follow at once.
    SystemAt,
}

const SPACE: u8 = 1;
const IDENT: u8 = 2;
const DIGIT: u8 = 4;

static CLASS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut byte = 0usize;
    while byte < 256 {
        let b = byte as u8;
        if b == b' ' || (b >= 9 && b <= 13) {
            table[byte] = SPACE;
        } else if b.is_ascii_digit() {
            table[byte] = IDENT | DIGIT;
        } else if b.is_ascii_alphabetic() || b == b'_' || b == b'$' || b >= 0x80 {
            table[byte] = IDENT;
        }
        byte += 1;
    }
    table
};

/// The byte may stand in an unquoted identifier.
#[inline]
pub(crate) fn is_ident(byte: u8) -> bool {
    CLASS[byte as usize] & IDENT != 0
}

/// The byte separates tokens.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    CLASS[byte as usize] & SPACE != 0
}

#[inline]
fn is_digit(byte: u8) -> bool {
    CLASS[byte as usize] & DIGIT != 0
}

impl<'a> Lexer<'a> {
    /// A reader of `sql` from byte `from` on; texts above 4 GiB are cut (packets are smaller).
    pub fn new(sql: &'a [u8], from: usize, mode: SqlMode) -> Lexer<'a> {
        let sql = &sql[..sql.len().min(u32::MAX as usize - 1)];
        Lexer {
            sql,
            at: from.min(sql.len()),
            mode,
            in_version_comment: false,
            previous: Previous::Other,
        }
    }

    /// Where the next token is looked for.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next token; [`TokenKind::End`] at `;` and, for ever, at the end of the text.
    pub fn next_token(&mut self) -> Token {
        let previous = std::mem::replace(&mut self.previous, Previous::Other);
        if !matches!(previous, Previous::Dot | Previous::SystemAt)
            && let Some(token) = self.skip_blanks(previous)
        {
            return token;
        }
        let start = self.at;
        let Some(&byte) = self.sql.get(start) else {
            return self.end_of_text(start);
        };
        if previous == Previous::Dot && is_ident(byte) {
            self.skip_while(is_ident);
            self.previous = Previous::Name;
            return self.token(TokenKind::Word, start);
        }
        if previous == Previous::SystemAt {
            return match byte {
                b'`' => self.quoted_name(start, byte),
                _ if is_ident(byte) => self.plain_word(start),
                _ => self.bad(start),
            };
        }
        match byte {
            b'0'..=b'9' => self.number(start),
            b'\'' => self.quoted(start, start, b'\'', TokenKind::String),
            b'"' if !self.mode.has(SqlMode::ANSI_QUOTES) => {
                self.quoted(start, start, b'"', TokenKind::String)
            }
            b'"' | b'`' => self.quoted_name(start, byte),
            b'@' => self.at_sign(start),
            b'.' => self.dot(start, previous),
            _ if is_ident(byte) => self.word(start),
            _ => self.symbol(start, byte),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.sql.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        Token { kind, kw: Kw::None, start: start as u32, end: self.at as u32 }
    }

    /// A token that cannot be read; nothing is read after it.
    fn bad(&mut self, start: usize) -> Token {
        self.at = self.sql.len();
        self.token(TokenKind::Bad, start)
    }

    fn end_of_text(&mut self, start: usize) -> Token {
        if std::mem::take(&mut self.in_version_comment) {
            return self.bad(start);
        }
        self.token(TokenKind::End, start)
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.sql.get(self.at).is_some_and(|&byte| wanted(byte)) {
            self.at += 1;
        }
    }

    /// Spaces and comments; a token when an optimizer hint or an unfinished comment stands here.
    fn skip_blanks(&mut self, previous: Previous) -> Option<Token> {
        loop {
            self.skip_while(is_space);
            match (self.peek(0), self.peek(1)) {
                (b'#', _) => self.skip_line(),
                (b'-', b'-') if self.at + 2 >= self.sql.len() || self.peek(2) <= b' ' => {
                    self.skip_line()
                }
                (b'/', b'*') => {
                    if let Some(token) = self.comment(previous) {
                        return Some(token);
                    }
                }
                (b'*', b'/') if self.in_version_comment => {
                    self.in_version_comment = false;
                    self.at += 2;
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    fn comment(&mut self, previous: Previous) -> Option<Token> {
        let start = self.at;
        match self.peek(2) {
            b'!' if !self.in_version_comment => return self.version_comment(start),
            b'+' if previous == Previous::Verb => {
                self.at += 3;
                return Some(match self.skip_past_close() {
                    true => self.token(TokenKind::Hint, start),
                    false => self.bad(start),
                });
            }
            _ => {}
        }
        self.at += 2;
        if self.skip_past_close() { None } else { Some(self.bad(start)) }
    }

    /// `/*!` and five or six digits: enter it, or skip it with the comments nested in it.
    fn version_comment(&mut self, start: usize) -> Option<Token> {
        self.at += 3;
        let digits = (0..6).take_while(|&ahead| is_digit(self.peek(ahead))).count();
        if digits >= 5 {
            let text = &self.sql[self.at..self.at + digits];
            let version = text.iter().fold(0u32, |sum, &digit| sum * 10 + u32::from(digit - b'0'));
            self.at += digits;
            if version > VERSION {
                return if self.skip_nested_comment() { None } else { Some(self.bad(start)) };
            }
        }
        self.in_version_comment = true;
        None
    }

    fn skip_nested_comment(&mut self) -> bool {
        let mut depth = 1;
        while self.at < self.sql.len() {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    self.at += 2;
                    depth -= 1;
                    if depth == 0 {
                        return true;
                    }
                }
                (b'/', b'*') => {
                    self.at += 2;
                    depth += 1;
                }
                _ => self.at += 1,
            }
        }
        false
    }

    fn skip_past_close(&mut self) -> bool {
        while self.at < self.sql.len() {
            if self.peek(0) == b'*' && self.peek(1) == b'/' {
                self.at += 2;
                return true;
            }
            self.at += 1;
        }
        false
    }

    fn word(&mut self, start: usize) -> Token {
        if self.peek(1) == b'\'' {
            match self.peek(0) | 0x20 {
                b'x' => return self.digit_string(start, TokenKind::HexString),
                b'b' => return self.digit_string(start, TokenKind::BitString),
                b'n' => return self.quoted(start, start + 1, b'\'', TokenKind::NString),
                _ => {}
            }
        }
        self.plain_word(start)
    }

    fn plain_word(&mut self, start: usize) -> Token {
        self.skip_while(is_ident);
        let mut token = self.token(TokenKind::Word, start);
        let text = &self.sql[start..self.at];
        self.previous = Previous::Name;
        if text[0] == b'_' && keywords::introducer(text).is_some() {
            token.kind = TokenKind::Introducer;
        } else if let Some((kw, class)) = keywords::lookup(text)
            && !self.name_before_dot()
            && (class != Class::Function || self.before_parenthesis())
        {
            token.kw = kw;
            if matches!(kw, Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE) {
                self.previous = Previous::Verb;
            }
        }
        token
    }

    /// A word right before a dot and a name is a name, whatever it spells.
    fn name_before_dot(&self) -> bool {
        self.peek(0) == b'.' && (is_ident(self.peek(1)) || matches!(self.peek(1), b'`' | b'*'))
    }

    fn before_parenthesis(&self) -> bool {
        let mut ahead = 0;
        if self.mode.has(SqlMode::IGNORE_SPACE) {
            while is_space(self.peek(ahead)) {
                ahead += 1;
            }
        }
        self.peek(ahead) == b'('
    }

    /// `x'..'` or `b'..'`: the digits must suit and hexadecimal ones come in pairs.
    fn digit_string(&mut self, start: usize, kind: TokenKind) -> Token {
        self.at += 2;
        let hex = kind == TokenKind::HexString;
        self.skip_while(
            |byte| if hex { byte.is_ascii_hexdigit() } else { matches!(byte, b'0' | b'1') },
        );
        let digits = self.at - start - 2;
        if self.peek(0) != b'\'' || (hex && !digits.is_multiple_of(2)) {
            return self.bad(start);
        }
        self.at += 1;
        self.token(kind, start)
    }

    fn number(&mut self, start: usize) -> Token {
        if self.peek(0) == b'0'
            && matches!(self.peek(1), b'x' | b'b')
            && let Some(token) = self.prefixed_number(start)
        {
            return token;
        }
        self.skip_while(is_digit);
        match self.peek(0) {
            b'.' => {
                self.at += 1;
                self.skip_while(is_digit);
                self.exponent(start, TokenKind::Decimal)
            }
            b'e' | b'E' if self.exponent_follows() => self.exponent(start, TokenKind::Integer),
            byte if is_ident(byte) => {
                self.skip_while(is_ident);
                self.previous = Previous::Name;
                self.token(TokenKind::Word, start)
            }
            _ => self.token(TokenKind::Integer, start),
        }
    }

    fn prefixed_number(&mut self, start: usize) -> Option<Token> {
        let hex = self.peek(1) == b'x';
        let suits =
            |byte: u8| if hex { byte.is_ascii_hexdigit() } else { matches!(byte, b'0' | b'1') };
        let digits = self.sql[start + 2..].iter().take_while(|&&byte| suits(byte)).count();
        if digits == 0 || is_ident(self.peek(2 + digits)) {
            return None;
        }
        self.at += 2 + digits;
        Some(self.token(if hex { TokenKind::HexNumber } else { TokenKind::BitNumber }, start))
    }

    fn exponent_follows(&self) -> bool {
        is_digit(self.peek(1)) || (matches!(self.peek(1), b'+' | b'-') && is_digit(self.peek(2)))
    }

    fn exponent(&mut self, start: usize, without: TokenKind) -> Token {
        if matches!(self.peek(0), b'e' | b'E') && self.exponent_follows() {
            self.at += 2;
            self.skip_while(is_digit);
            return self.token(TokenKind::Float, start);
        }
        // `1.e` is no number and no name.
        if without == TokenKind::Decimal && matches!(self.peek(0), b'e' | b'E') {
            return self.bad(start);
        }
        self.token(without, start)
    }

    fn dot(&mut self, start: usize, previous: Previous) -> Token {
        self.at += 1;
        if previous != Previous::Name && is_digit(self.peek(0)) {
            self.skip_while(is_digit);
            return self.exponent(start, TokenKind::Decimal);
        }
        if is_ident(self.peek(0)) {
            self.previous = Previous::Dot;
        }
        self.token(TokenKind::Dot, start)
    }

    /// A string whose opening quote stands at `open`.
    fn quoted(&mut self, start: usize, open: usize, quote: u8, kind: TokenKind) -> Token {
        let escapes = !self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        self.at = open + 1;
        while let Some(&byte) = self.sql.get(self.at) {
            self.at += 1;
            if byte == b'\\' && escapes {
                self.at += 1;
            } else if byte == quote {
                if self.peek(0) != quote {
                    return self.token(kind, start);
                }
                self.at += 1;
            }
        }
        self.bad(start)
    }

    fn quoted_name(&mut self, start: usize, quote: u8) -> Token {
        self.at += 1;
        while let Some(&byte) = self.sql.get(self.at) {
            self.at += 1;
            if byte == quote {
                if self.peek(0) != quote {
                    self.previous = Previous::Name;
                    return self.token(TokenKind::Quoted, start);
                }
                self.at += 1;
            }
        }
        self.bad(start)
    }

    /// `@@`, `@name`, `@'name'`; names may hold dots, for hosts.
    fn at_sign(&mut self, start: usize) -> Token {
        self.at += 1;
        match self.peek(0) {
            b'@' => {
                self.at += 1;
                self.previous = Previous::SystemAt;
                self.token(TokenKind::SystemAt, start)
            }
            quote @ (b'\'' | b'"') => self.quoted(start, start + 1, quote, TokenKind::UserVar),
            b'`' => {
                let mut token = self.quoted_name(start + 1, b'`');
                token.start = start as u32;
                if token.kind == TokenKind::Quoted {
                    token.kind = TokenKind::UserVar;
                }
                token
            }
            _ => {
                self.skip_while(|byte| is_ident(byte) || byte == b'.');
                // `@` alone is a variable without a name.
                self.token(TokenKind::UserVar, start)
            }
        }
    }

    /// Two or three comparison characters in a row: MySQL reads them as one, known or not. An unknown one that
    /// starts with `!` counts as `!` alone.
    fn comparison(&mut self, start: usize, byte: u8) -> Token {
        use TokenKind::*;
        let third = byte == b'<' && matches!(self.peek(2), b'=' | b'>' | b'!');
        let length = if third { 3 } else { 2 };
        let kind = match &self.sql[start..start + length] {
            b"<=>" => NullSafeEq,
            b"<=" => Le,
            b"<>" | b"!=" => Ne,
            b"<<" => ShiftLeft,
            b">=" => Ge,
            b">>" => ShiftRight,
            _ if byte == b'!' => Bang,
            _ => return self.bad(start),
        };
        self.at += length;
        self.token(kind, start)
    }

    fn symbol(&mut self, start: usize, byte: u8) -> Token {
        use TokenKind::*;
        let (kind, length) = match (byte, self.peek(1), self.peek(2)) {
            (b'<' | b'=' | b'>' | b'!', b'<' | b'=' | b'>' | b'!', _) => {
                return self.comparison(start, byte);
            }
            (b'-', b'>', b'>') => (ArrowText, 3),
            (b'|', b'|', _) => (Pipes, 2),
            (b'&', b'&', _) => (Amps, 2),
            (b':', b'=', _) => (Assign, 2),
            (b'-', b'>', _) => (Arrow, 2),
            (b';', ..) => (End, 1),
            (b'(', ..) => (Open, 1),
            (b')', ..) => (Close, 1),
            (b'{', ..) => (OpenBrace, 1),
            (b'}', ..) => (CloseBrace, 1),
            (b',', ..) => (Comma, 1),
            (b':', ..) => (Colon, 1),
            (b'=', ..) => (Eq, 1),
            (b'<', ..) => (Lt, 1),
            (b'>', ..) => (Gt, 1),
            (b'|', ..) => (Pipe, 1),
            (b'&', ..) => (Amp, 1),
            (b'+', ..) => (Plus, 1),
            (b'-', ..) => (Minus, 1),
            (b'*', ..) => (Star, 1),
            (b'/', ..) => (Slash, 1),
            (b'%', ..) => (Percent, 1),
            (b'^', ..) => (Caret, 1),
            (b'~', ..) => (Tilde, 1),
            (b'!', ..) => (Bang, 1),
            (b'?', ..) => (Param, 1),
            _ => return self.bad(start),
        };
        self.at += length;
        self.token(kind, start)
    }
}

/// A part of a statement without the marks of version comments, and without those that were skipped: what MySQL
/// names columns by.
pub fn without_version_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\'' | '"' | '`' => quoted_len(rest, c),
            '/' if rest.starts_with("/*!") => {
                let digits = rest[3..].bytes().take(6).take_while(u8::is_ascii_digit).count();
                let version = rest[3..3 + digits].parse::<u32>().unwrap_or(0);
                let end = match digits >= 5 && version > VERSION {
                    true => rest.find("*/").map_or(rest.len(), |at| at + 2),
                    false => 3 + if digits >= 5 { digits } else { 0 },
                };
                rest = &rest[end..];
                continue;
            }
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '*' if rest.starts_with("*/") => {
                rest = &rest[2..];
                continue;
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.trim_end().to_string()
}

/// Length of the quoted text that the rest begins with.
fn quoted_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}
