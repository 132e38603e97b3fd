//! Tokens: kind, keyword and place.

use crate::keywords::Kw;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TokenKind {
    /// End of the statement: end of text or `;`.
    End,
    /// A word: an identifier, or a keyword when [`Token::kw`] says so.
    Word,
    /// A quoted identifier, quotes included.
    Quoted,
    /// `_charset` introducer.
    Introducer,
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// Digits with an exponent.
    Float,
    /// A quoted string, quotes included.
    String,
    /// `N'..'`.
    NString,
    /// `x'..'`.
    HexString,
    /// `0x..`.
    HexNumber,
    /// `b'..'`.
    BitString,
    /// `0b..`.
    BitNumber,
    /// `?`.
    Param,
    /// `@name`, `@'name'`: a user variable, or the host of an account.
    UserVar,
    /// `@@`.
    SystemAt,
    /// `/*+ .. */` after a statement's verb.
    Hint,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// `{`.
    OpenBrace,
    /// `}`.
    CloseBrace,
    /// `,`.
    Comma,
    /// `.`.
    Dot,
    /// `:`.
    Colon,
    /// `:=`.
    Assign,
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>` or `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `|`.
    Pipe,
    /// `||`.
    Pipes,
    /// `&`.
    Amp,
    /// `&&`.
    Amps,
    /// `+`.
    Plus,
    /// `-`.
    Minus,
    /// `*`.
    Star,
    /// `/`.
    Slash,
    /// `%`.
    Percent,
    /// `^`.
    Caret,
    /// `~`.
    Tilde,
    /// `!`.
    Bang,
    /// `->`.
    Arrow,
    /// `->>`.
    ArrowText,
    /// `;` inside of a stored program.
    Semicolon,
    /// A byte or an unfinished quote or comment that no token can start with.
    Bad,
}

/// One token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// The keyword a [`TokenKind::Word`] spells, or [`Kw::None`].
    pub kw: Kw,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// The bytes of this token in `sql`, the text it was cut from.
    pub fn text(self, sql: &[u8]) -> &[u8] {
        sql.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}
