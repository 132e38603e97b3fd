//! The parser's hold on a token sequence: looking, taking, names, lists, limits.
//!
//! 1. The last token is `End` or `Bad`; the cursor never moves past it.
//! 2. An error is reported at the token the cursor stands on.
//! 3. Every recursion goes through [`Parser::nested`], every left-deep chain through [`Parser::grow`]: trees stay shallow
//!    enough to be walked and dropped recursively.

use crate::ast::ObjectName;
use crate::digest::{Digest, DigestBuilder, DigestLimits};
use crate::error::{ErrorKind, ParseError};
use crate::keywords::{Class, Kw};
use crate::lex::Lexer;
use crate::literal;
use crate::mode::SqlMode;
use crate::refused::Refused;
use crate::statement::Parsed;
use crate::token::{Token, TokenKind};
use crate::{DEPTH_MAX, HEIGHT_MAX};

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

const NAME_CHARS_MAX: usize = 64;
const ALIAS_CHARS_MAX: usize = 256;
const PARAMS_MAX: u32 = 65_535;

/// A statement's tokens and the place reached.
pub(crate) struct Parser<'a> {
    pub sql: &'a [u8],
    pub mode: SqlMode,
    tokens: Vec<Token>,
    at: usize,
    /// `?` is allowed.
    pub allow_params: bool,
    pub params: u32,
    /// Literals that were cut out; see `cut`.
    pub cut: &'a [crate::cut::CutLiteral],
    /// Stands where the text after this statement starts, behind its `;`.
    lexer: Lexer<'a>,
    /// The digest that is wanted.
    digest_limits: DigestLimits,
    /// Tokens that a digest prints as the grammar took them: NULL as a literal, numbers as positions.
    marks: Vec<u32>,
    /// INTO written before FROM; the query takes it.
    pub pending_into: Option<crate::ast::Into>,
    /// INTO may be written: the query is the whole statement.
    pub into_allowed: bool,
    /// Inside the body of a stored program.
    pub program: Option<crate::body::Scope>,
    /// What is still taken and should not be written: behind which token, and what to say.
    pub warnings: Vec<(usize, crate::deprecated::Warning)>,
    depth: usize,
    height: usize,
    start: usize,
}

impl<'a> Parser<'a> {
    /// Reads the tokens of the statement at `from`, and its digest if one is wanted.
    pub fn new(
        sql: &'a [u8],
        from: usize,
        mode: SqlMode,
        digest_limits: DigestLimits,
    ) -> Parser<'a> {
        let tokens = Vec::with_capacity(((sql.len() - from.min(sql.len())) / 5).clamp(16, 4096));
        let mut parser = Parser {
            sql,
            mode,
            tokens,
            at: 0,
            lexer: Lexer::new(sql, from, mode),
            allow_params: false,
            params: 0,
            cut: &[],
            pending_into: None,
            into_allowed: false,
            program: None,
            warnings: Vec::new(),
            digest_limits,
            marks: Vec::new(),
            depth: 0,
            height: 0,
            start: from,
        };
        parser.read_tokens();
        parser
    }

    /// Reads tokens up to the next `;` or the end.
    fn read_tokens(&mut self) {
        loop {
            let token = self.lexer.next_token();
            self.tokens.push(token);
            if matches!(token.kind, TokenKind::End | TokenKind::Bad) {
                return;
            }
        }
    }

    /// Notes for the digest how the grammar took the token at `place`.
    pub fn mark(&mut self, place: usize) {
        if self.digest_limits.made > 0 {
            self.marks.push(place as u32);
        }
    }

    fn digest(&mut self) -> Option<Digest> {
        if self.digest_limits.made == 0 {
            return None;
        }
        self.marks.sort_unstable();
        let mut builder = DigestBuilder::new(self.mode, self.digest_limits);
        for (at, &token) in self.tokens.iter().enumerate() {
            if token.kind != TokenKind::End {
                let marked = self.marks.binary_search(&(at as u32)).is_ok();
                builder.add(self.sql, token, marked);
            }
        }
        Some(builder.finish())
    }

    /// Passes a `;` inside a stored program; what follows is read now.
    pub fn semicolon(&mut self) -> Result<()> {
        let token = self.peek();
        if token.kind != TokenKind::End || token.text(self.sql) != b";" {
            return self.fail();
        }
        let semicolon = Token { kind: TokenKind::Semicolon, ..token };
        if let Some(last) = self.tokens.last_mut() {
            *last = semicolon;
        }
        self.read_tokens();
        self.at += 1;
        Ok(())
    }

    /// A statement whose tokens are all taken.
    pub fn finish(mut self, statement: crate::ast::Statement) -> Parsed {
        Parsed {
            digest: self.digest(),
            statement,
            next: self.lexer.position(),
            params: self.params,
            warnings: self.warnings.into_iter().map(|(_, warning)| warning).collect(),
        }
    }

    pub fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// A token by its place.
    pub fn token_at(&self, place: usize) -> Token {
        self.tokens[place.min(self.tokens.len() - 1)]
    }

    pub fn nth(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub fn kind(&self) -> TokenKind {
        self.peek().kind
    }

    pub fn kw(&self) -> Kw {
        self.peek().kw
    }

    /// Takes the current token.
    pub fn bump(&mut self) -> Token {
        let token = self.peek();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// End of the last token taken; 0 before the first.
    pub fn taken_end(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |at| self.tokens[at].end as usize)
    }

    pub fn at_end(&self) -> bool {
        self.kind() == TokenKind::End
    }

    pub fn fail<T>(&self) -> Result<T> {
        self.fail_with(ErrorKind::Syntax)
    }

    pub fn fail_with<T>(&self, kind: impl Into<ErrorKind>) -> Result<T> {
        let offset = self.peek().start as usize;
        Err(ParseError { kind: kind.into(), offset, line: self.line_of(offset) })
    }

    /// The line of a place, counted from 1 at the statement's first byte.
    pub fn line_of(&self, offset: usize) -> u32 {
        let before = &self.sql[self.start.min(offset)..offset];
        1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32
    }

    pub fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind && kind != TokenKind::End;
        if found {
            self.bump();
        }
        found
    }

    pub fn expect(&mut self, kind: TokenKind) -> Result<()> {
        if self.eat(kind) { Ok(()) } else { self.fail() }
    }

    pub fn eat_kw(&mut self, kw: Kw) -> bool {
        let found = self.kw() == kw;
        if found {
            self.bump();
        }
        found
    }

    pub fn expect_kw(&mut self, kw: Kw) -> Result<()> {
        if self.eat_kw(kw) { Ok(()) } else { self.fail() }
    }

    /// Takes all of `words` if they stand here in this order.
    pub fn eat_kws(&mut self, words: &[Kw]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, &word)| self.nth(ahead).kw == word);
        if found {
            for _ in words {
                self.bump();
            }
        }
        found
    }

    /// Takes a phrase whose first word decides; the others must follow it.
    pub fn eat_phrase(&mut self, words: &[Kw]) -> Result<bool> {
        if self.kw() != words[0] {
            return Ok(false);
        }
        for &word in words {
            self.expect_kw(word)?;
        }
        Ok(true)
    }

    /// Takes one of `words`.
    pub fn eat_any(&mut self, words: &[Kw]) -> Option<Kw> {
        let kw = self.kw();
        (kw != Kw::None && words.contains(&kw)).then(|| self.bump().kw)
    }

    pub fn expect_any(&mut self, words: &[Kw]) -> Result<Kw> {
        match self.eat_any(words) {
            Some(kw) => Ok(kw),
            None => self.fail(),
        }
    }

    pub fn comma_list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = vec![one(self)?];
        while self.eat(TokenKind::Comma) {
            list.push(one(self)?);
        }
        Ok(list)
    }

    /// `( one, one, ... )`.
    pub fn parenthesised<T>(&mut self, one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(TokenKind::Open)?;
        let list = self.comma_list(one)?;
        self.expect(TokenKind::Close)?;
        Ok(list)
    }

    /// Runs `inner` one level deeper (module invariant 3).
    pub fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX || !stdx::stack::has_room() {
            return self.fail_with(ErrorKind::TooDeep);
        }
        self.depth += 1;
        let saved = std::mem::take(&mut self.height);
        let result = inner(self);
        self.depth -= 1;
        self.height = saved.max(self.height + 1);
        result
    }

    /// Reads a term of a chain that becomes a balanced tree: it is as high as it is, whatever stands beside it.
    pub fn term<T>(&mut self, one: fn(&mut Self) -> Result<T>) -> Result<T> {
        let beside = std::mem::take(&mut self.height);
        let term = one(self);
        self.height = self.height.max(beside);
        term
    }

    /// Counts one more link of a left-deep chain.
    pub fn grow(&mut self) -> Result<()> {
        self.height += 1;
        if self.height > HEIGHT_MAX { self.fail_with(ErrorKind::TooDeep) } else { Ok(()) }
    }

    /// The current token may be read as a name.
    pub fn at_name(&self) -> bool {
        let token = self.peek();
        match token.kind {
            TokenKind::Quoted => true,
            TokenKind::Word | TokenKind::Introducer => {
                matches!(token.kw.class(), None | Some(Class::Plain)) || token.kw.names_too()
            }
            _ => false,
        }
    }

    /// A name of at most 64 characters.
    pub fn ident(&mut self) -> Result<String> {
        self.name(NAME_CHARS_MAX)
    }

    /// An alias of at most 256 characters.
    pub fn alias(&mut self) -> Result<String> {
        self.name(ALIAS_CHARS_MAX)
    }

    fn name(&mut self, chars_max: usize) -> Result<String> {
        if !self.at_name() {
            return self.fail();
        }
        let name = self.name_text(self.peek())?;
        if name.len() > chars_max && name.chars().count() > chars_max {
            return self.fail_with(Refused::LongName(&name));
        }
        self.bump();
        Ok(name)
    }

    fn name_text(&self, token: Token) -> Result<String> {
        let text = token.text(self.sql);
        let bytes = match token.kind {
            TokenKind::Quoted => unquote(text),
            _ => text.to_vec(),
        };
        match String::from_utf8(bytes) {
            Ok(name) => Ok(name),
            Err(_) => self.fail_with(Refused::BadName),
        }
    }

    /// `name` or `schema.name`.
    pub fn object_name(&mut self) -> Result<ObjectName> {
        let first = self.ident()?;
        let name = if !self.eat(TokenKind::Dot) {
            ObjectName { schema: None, name: first }
        } else {
            ObjectName { schema: Some(first), name: self.ident()? }
        };
        if name.schema.as_ref().is_some_and(String::is_empty) {
            return self.fail_with(Refused::NoDatabaseName);
        }
        if name.name.is_empty() { self.fail_with(Refused::NoTableName) } else { Ok(name) }
    }

    /// A name or a quoted string, as text.
    pub fn ident_or_text(&mut self) -> Result<String> {
        if self.kind() != TokenKind::String {
            return self.ident();
        }
        self.text()
    }

    /// A quoted string as bytes.
    pub fn string(&mut self) -> Result<Vec<u8>> {
        if self.kind() != TokenKind::String {
            return self.fail();
        }
        let token = self.bump();
        Ok(literal::literal_value(token.text(self.sql), self.mode))
    }

    /// A quoted string as text.
    pub fn text(&mut self) -> Result<String> {
        let bytes = self.string()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A non-negative number of any kind, cut to an integer of 64 bits.
    pub fn unsigned(&mut self) -> Result<u64> {
        if !matches!(self.kind(), TokenKind::Decimal | TokenKind::Float) {
            return self.whole_number();
        }
        let token = self.bump();
        let text = std::str::from_utf8(token.text(self.sql)).unwrap_or_default();
        Ok(text.parse::<f64>().unwrap_or_default() as u64)
    }

    /// A non-negative integer, decimal or hexadecimal; what exceeds 64 bits is their largest number.
    pub fn whole_number(&mut self) -> Result<u64> {
        let token = self.peek();
        let text = std::str::from_utf8(token.text(self.sql)).unwrap_or_default();
        let value = match token.kind {
            TokenKind::Integer => Some(text.parse().unwrap_or(u64::MAX)),
            TokenKind::HexNumber => Some(u64::from_str_radix(&text[2..], 16).unwrap_or(u64::MAX)),
            TokenKind::HexString => {
                let digits = &text[2..text.len() - 1];
                Some(u64::from_str_radix(digits, 16).unwrap_or(u64::MAX))
            }
            _ => None,
        };
        match value {
            Some(value) => {
                self.bump();
                Ok(value)
            }
            None => self.fail(),
        }
    }

    /// A non-negative integer of 32 bits.
    pub fn unsigned32(&mut self) -> Result<u32> {
        let token = self.peek();
        let text = std::str::from_utf8(token.text(self.sql)).unwrap_or_default();
        match (token.kind, text.parse()) {
            (TokenKind::Integer, Ok(value)) => {
                self.bump();
                Ok(value)
            }
            _ => self.fail(),
        }
    }

    /// `(n)` when it stands here.
    pub fn length(&mut self) -> Result<Option<u32>> {
        if !self.eat(TokenKind::Open) {
            return Ok(None);
        }
        let length = self.length_number()?;
        self.expect(TokenKind::Close)?;
        Ok(Some(length))
    }

    /// The number of a length; what exceeds 32 bits is their largest number.
    pub fn length_number(&mut self) -> Result<u32> {
        if !matches!(self.kind(), TokenKind::Integer | TokenKind::Decimal) {
            return self.fail();
        }
        let length = self.unsigned()?;
        Ok(u32::try_from(length).unwrap_or(u32::MAX))
    }

    /// The name in a `UserVar` token, without `@` and quotes.
    pub fn user_var_name(&mut self) -> Result<String> {
        let token = self.peek();
        if token.kind != TokenKind::UserVar {
            return self.fail();
        }
        let text = &token.text(self.sql)[1..];
        let bytes = match text.first() {
            Some(b'`') => unquote(text),
            Some(b'\'' | b'"') => literal::literal_value(text, self.mode),
            _ => text.to_vec(),
        };
        self.bump();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The name of a user variable that is given a value.
    pub fn assigned_var_name(&mut self) -> Result<String> {
        const CHARS_MAX: usize = 64;
        let place = self.place();
        let name = self.user_var_name()?;
        let blank = name.chars().last().is_none_or(|last| last.is_ascii_whitespace());
        if blank || name.chars().count() > CHARS_MAX {
            self.rewind(place);
            return self.fail_with(Refused::VariableName(&name));
        }
        Ok(name)
    }

    /// The number of a `?` just found.
    pub fn param(&mut self) -> Result<u32> {
        if !self.allow_params {
            return self.fail();
        }
        if self.params == PARAMS_MAX {
            return self.fail_with(Refused::TooManyParams);
        }
        self.expect(TokenKind::Param)?;
        self.params += 1;
        Ok(self.params - 1)
    }

    /// Token index, for a later [`Parser::rewind`].
    pub fn place(&self) -> usize {
        self.at
    }

    /// Goes back to a place: the parameters behind it are found again.
    pub fn rewind(&mut self, place: usize) {
        let passed = self.tokens.get(place..self.at).unwrap_or_default();
        let markers = passed.iter().filter(|t| t.kind == TokenKind::Param).count();
        self.params = self.params.saturating_sub(markers as u32);
        self.at = place;
        self.warnings.retain(|(behind, _)| *behind <= place);
    }

    /// Index (relative to here) of the token after the parenthesis that closes the one `ahead`.
    pub fn after_matching(&self, ahead: usize) -> usize {
        let mut depth = 0usize;
        let mut at = ahead;
        loop {
            match self.nth(at).kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                TokenKind::End | TokenKind::Bad => return at,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return at;
            }
        }
    }
}

/// The inside of a quoted name, doubled quotes made single.
pub(crate) fn unquote(quoted: &[u8]) -> Vec<u8> {
    let [quote, inner @ .., _] = quoted else {
        return Vec::new();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        out.push(*byte);
        if byte == quote {
            bytes.next();
        }
    }
    out
}
