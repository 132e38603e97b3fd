//! Operands: literals, names, variables, parentheses, CASE, casts.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::deprecated;
use crate::keywords::{self, Kw};
use crate::literal::{bit_value, hex_value, unescape};
use crate::mode::SqlMode;
use crate::refused::Refused;
use crate::token::{Token, TokenKind};

impl Parser<'_> {
    pub(crate) fn primary(&mut self) -> Result<Expr> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => self.number(),
            TokenKind::String | TokenKind::NString => self.string_literal(),
            TokenKind::HexString
            | TokenKind::HexNumber
            | TokenKind::BitString
            | TokenKind::BitNumber => {
                let token = self.bump();
                Ok(Expr::Literal(self.digits_literal(token)))
            }
            TokenKind::Introducer if self.introduces() => self.introduced(),
            TokenKind::Param => Ok(Expr::Param(self.param()?)),
            TokenKind::UserVar => self.user_var(),
            TokenKind::SystemAt => Ok(Expr::SystemVar(self.system_var()?)),
            TokenKind::Open => self.parentheses(),
            TokenKind::OpenBrace => self.odbc(),
            TokenKind::Word | TokenKind::Quoted | TokenKind::Introducer => self.word_primary(),
            _ => self.fail(),
        }
    }

    fn word_primary(&mut self) -> Result<Expr> {
        let called = self.nth(1).kind == TokenKind::Open;
        match self.kw() {
            Kw::NULL => {
                self.mark(self.place());
                self.constant(Literal::Null)
            }
            Kw::TRUE => self.constant(Literal::Bool(true)),
            Kw::FALSE => self.constant(Literal::Bool(false)),
            Kw::CASE => self.case(),
            Kw::EXISTS => {
                self.bump();
                Ok(Expr::Exists(self.subquery()?))
            }
            Kw::ROW if called => self.row(),
            Kw::CAST if called => self.cast(),
            Kw::CONVERT if called => self.convert(),
            Kw::DEFAULT => self.column_in_parentheses(Expr::DefaultOf),
            Kw::VALUES => self.column_in_parentheses(Expr::ValuesOf),
            Kw::MATCH => self.match_against(),
            Kw::INTERVAL if self.at_interval() => self.leading_interval(),
            Kw::DATE | Kw::TIME | Kw::TIMESTAMP if self.nth(1).kind == TokenKind::String => {
                self.temporal()
            }
            _ => self.function_or_column(),
        }
    }

    fn constant(&mut self, literal: Literal) -> Result<Expr> {
        self.bump();
        Ok(Expr::Literal(literal))
    }

    /// A number.
    fn number(&mut self) -> Result<Expr> {
        let token = self.peek();
        self.bump();
        let literal = number_literal(token.kind, token.text(self.sql), false);
        self.refuse_infinite(&literal, token.text(self.sql))?;
        Ok(Expr::Literal(literal))
    }

    /// 1367: a double that there is not.
    fn refuse_infinite(&self, literal: &Literal, text: &[u8]) -> Result<()> {
        match literal {
            Literal::Float(value) if value.is_infinite() => {
                self.fail_with(Refused::IllegalDouble(&String::from_utf8_lossy(text)))
            }
            _ => Ok(()),
        }
    }

    /// `-` and a number right after it, as one literal; none when something else stands here.
    pub(crate) fn negative_literal(&mut self) -> Option<Expr> {
        let token = self.nth(1);
        if !matches!(token.kind, TokenKind::Integer | TokenKind::Decimal | TokenKind::Float) {
            return None;
        }
        let expr = match number_literal(token.kind, token.text(self.sql), true) {
            // Refused where it stands without its sign.
            Literal::Float(value) if value.is_infinite() => return None,
            literal => Expr::Literal(literal),
        };
        self.bump();
        self.bump();
        Some(expr)
    }

    /// A string, adjacent ones joined.
    fn string_literal(&mut self) -> Result<Expr> {
        let token = self.peek();
        let national = token.kind == TokenKind::NString;
        let charset = national.then(|| "utf8mb3".to_string());
        let mut bytes = Vec::new();
        self.append_string(&mut bytes);
        while self.kind() == TokenKind::String {
            self.append_string(&mut bytes);
        }
        if national {
            self.warn(deprecated::NATIONAL);
            bytes = self.as_sent(bytes);
        }
        Ok(Expr::Literal(Literal::String(StringLiteral { bytes, charset })))
    }

    /// A string in any form of literal, adjacent ones joined, as bytes.
    pub(crate) fn text_literal(&mut self) -> Result<Vec<u8>> {
        let expr = match self.kind() {
            TokenKind::String | TokenKind::NString => self.string_literal()?,
            TokenKind::Introducer if self.introduces() => self.introduced()?,
            _ => return self.fail(),
        };
        match expr {
            Expr::Literal(Literal::String(literal)) => Ok(literal.bytes),
            _ => self.fail(),
        }
    }

    fn append_string(&mut self, out: &mut Vec<u8>) {
        let token = self.bump();
        let text = token.text(self.sql);
        let quoted = if token.kind == TokenKind::NString { &text[1..] } else { text };
        unescape(quoted, self.mode, out);
    }

    fn digits_literal(&self, token: Token) -> Literal {
        let text = token.text(self.sql);
        match token.kind {
            TokenKind::HexString => Literal::Hex(hex_value(&text[2..text.len() - 1])),
            TokenKind::HexNumber => Literal::Hex(hex_value(&text[2..])),
            TokenKind::BitString => Literal::Bit(bit_value(&text[2..text.len() - 1])),
            _ => Literal::Bit(bit_value(&text[2..])),
        }
    }

    fn introduces(&self) -> bool {
        use TokenKind::*;
        matches!(self.nth(1).kind, String | HexString | HexNumber | BitString | BitNumber)
    }

    /// `_charset'text'` and `_charset x'..'`.
    fn introduced(&mut self) -> Result<Expr> {
        let token = self.bump();
        let charset = keywords::introducer(token.text(self.sql)).map(str::to_string);
        self.warn_name(std::str::from_utf8(&token.text(self.sql)[1..]).unwrap_or_default());
        let mut bytes = Vec::new();
        if self.kind() == TokenKind::String {
            while self.kind() == TokenKind::String {
                self.append_string(&mut bytes);
            }
            bytes = self.as_sent(bytes);
        } else {
            let token = self.bump();
            if let Literal::Hex(digits) | Literal::Bit(digits) = self.digits_literal(token) {
                bytes = digits;
            }
        }
        Ok(Expr::Literal(Literal::String(StringLiteral { bytes, charset })))
    }

    /// A string's bytes as the client sent them: those are meant where a character set is named.
    fn as_sent(&self, bytes: Vec<u8>) -> Vec<u8> {
        use value::charset::{Charset, converted};
        match self.mode.has(SqlMode::FROM_LATIN1) {
            true => converted(&bytes, Charset::Utf8mb4, Charset::Latin1).0.into_owned(),
            false => bytes,
        }
    }

    fn temporal(&mut self) -> Result<Expr> {
        let kind = match self.bump().kw {
            Kw::DATE => TemporalKind::Date,
            Kw::TIME => TemporalKind::Time,
            _ => TemporalKind::Timestamp,
        };
        Ok(Expr::Literal(Literal::Temporal(kind, self.string()?)))
    }

    fn user_var(&mut self) -> Result<Expr> {
        if self.nth(1).kind != TokenKind::Assign {
            return Ok(Expr::UserVar(self.user_var_name()?));
        }
        let name = self.assigned_var_name()?;
        self.bump();
        let value = self.boxed_expr()?;
        self.warn(deprecated::ASSIGN);
        Ok(Expr::AssignUserVar(name, value))
    }

    /// `@@[scope.][component.]name`.
    pub(crate) fn system_var(&mut self) -> Result<SystemVar> {
        self.expect(TokenKind::SystemAt)?;
        let mut scope = Scope::Unspecified;
        if let Some(written) = self.scope_word() {
            scope = written;
            self.bump();
            self.expect(TokenKind::Dot)?;
        }
        let first = self.variable_word()?;
        if !self.eat(TokenKind::Dot) {
            return Ok(SystemVar { scope, component: None, name: first });
        }
        Ok(SystemVar { scope, component: Some(first), name: self.ident()? })
    }

    /// A variable's name; `DEFAULT.key_buffer_size` names the default key cache.
    pub(crate) fn variable_word(&mut self) -> Result<String> {
        if self.kw() == Kw::DEFAULT && self.nth(1).kind == TokenKind::Dot {
            self.bump();
            return Ok("default".to_string());
        }
        self.ident()
    }

    /// The scope that the current word spells; it is a plain name when a dot follows, so the text is compared.
    pub(crate) fn scope_word(&self) -> Option<Scope> {
        let token = self.peek();
        if token.kind != TokenKind::Word {
            return None;
        }
        let is = |word: &str| token.text(self.sql).eq_ignore_ascii_case(word.as_bytes());
        match () {
            () if is("GLOBAL") => Some(Scope::Global),
            () if is("SESSION") || is("LOCAL") => Some(Scope::Session),
            () if is("PERSIST") => Some(Scope::Persist),
            () if is("PERSIST_ONLY") => Some(Scope::PersistOnly),
            () => None,
        }
    }

    /// `(expr)`, `(a, b)`, `(SELECT ..)`.
    fn parentheses(&mut self) -> Result<Expr> {
        if self.query_in_parentheses() {
            return Ok(Expr::Subquery(self.subquery()?));
        }
        self.bump();
        let first = self.expr()?;
        if self.kind() != TokenKind::Comma {
            self.expect(TokenKind::Close)?;
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat(TokenKind::Comma) {
            parts.push(self.expr()?);
        }
        self.expect(TokenKind::Close)?;
        Ok(Expr::Row(parts))
    }

    fn row(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let mut parts = vec![self.expr()?];
        self.expect(TokenKind::Comma)?;
        parts.extend(self.comma_list(Self::expr)?);
        self.expect(TokenKind::Close)?;
        Ok(Expr::Row(parts))
    }

    /// `{d '2026-01-01'}` and its kin.
    fn odbc(&mut self) -> Result<Expr> {
        self.bump();
        let word = self.ident()?;
        let temporal = match word.to_ascii_lowercase().as_str() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        let expr = match temporal {
            Some(kind) if self.kind() == TokenKind::String => {
                let bytes = self.string()?;
                match is_temporal(kind, &bytes) {
                    true => Expr::Literal(Literal::Temporal(kind, bytes)),
                    // What is no date or time is its text.
                    false => {
                        let text = Literal::String(StringLiteral { bytes, charset: None });
                        Expr::Odbc(word, Box::new(Expr::Literal(text)))
                    }
                }
            }
            _ => Expr::Odbc(word, self.boxed_expr()?),
        };
        self.expect(TokenKind::CloseBrace)?;
        Ok(expr)
    }

    fn case(&mut self) -> Result<Expr> {
        self.bump();
        let operand = if self.kw() == Kw::WHEN { None } else { Some(self.boxed_expr()?) };
        let mut branches = Vec::new();
        while self.eat_kw(Kw::WHEN) {
            let condition = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat_kw(Kw::ELSE) { Some(self.boxed_expr()?) } else { None };
        self.expect_kw(Kw::END)?;
        Ok(Expr::Case { operand, branches, otherwise })
    }

    /// `[schema.][table.]column`.
    pub(crate) fn column_ref(&mut self) -> Result<ColumnRef> {
        let first = self.ident()?;
        if !self.eat(TokenKind::Dot) {
            return Ok(ColumnRef { schema: None, table: None, column: first });
        }
        let second = self.ident()?;
        if !self.eat(TokenKind::Dot) {
            return Ok(ColumnRef { schema: None, table: Some(first), column: second });
        }
        Ok(ColumnRef { schema: Some(first), table: Some(second), column: self.ident()? })
    }

    fn column_in_parentheses(&mut self, make: fn(ColumnRef) -> Expr) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let column = self.column_ref()?;
        self.expect(TokenKind::Close)?;
        Ok(make(column))
    }

    /// `column`, `column->path`, `column->>path`.
    pub(crate) fn column_expr(&mut self) -> Result<Expr> {
        let column = self.column_ref()?;
        let unquote = match self.kind() {
            TokenKind::Arrow => false,
            TokenKind::ArrowText => true,
            _ => return Ok(Expr::Column(column)),
        };
        self.bump();
        Ok(Expr::JsonPath { column, path: self.text()?, unquote })
    }

    /// INTERVAL stands here as a quantity, not as the function INTERVAL(a, b).
    pub(crate) fn at_interval(&self) -> bool {
        if self.kw() != Kw::INTERVAL {
            return false;
        }
        // INTERVAL (1) DAY against INTERVAL(1, 2).
        self.nth(1).kind != TokenKind::Open || !self.comma_inside()
    }

    /// A comma stands directly inside the parenthesis after the current token.
    fn comma_inside(&self) -> bool {
        let end = self.after_matching(1);
        let mut at = 2;
        while at < end {
            match self.nth(at).kind {
                TokenKind::Comma => return true,
                TokenKind::Open => at = self.after_matching(at),
                _ => at += 1,
            }
        }
        false
    }

    /// `INTERVAL expr unit`.
    pub(crate) fn interval(&mut self) -> Result<Expr> {
        self.expect_kw(Kw::INTERVAL)?;
        let quantity = self.boxed_expr()?;
        let Some(unit) = unit(self.kw()) else {
            return self.fail();
        };
        self.bump();
        Ok(Expr::Interval(quantity, unit))
    }

    /// `INTERVAL 1 DAY + expr`.
    fn leading_interval(&mut self) -> Result<Expr> {
        let interval = self.interval()?;
        self.expect(TokenKind::Plus)?;
        let right = self.nested(|p| p.bit_expr(5))?;
        Ok(Expr::Binary(BinaryOp::Add, Box::new(interval), Box::new(right)))
    }

    fn match_against(&mut self) -> Result<Expr> {
        self.bump();
        let columns = match self.kind() {
            TokenKind::Open => self.parenthesised(Self::column_ref)?,
            _ => self.comma_list(Self::column_ref)?,
        };
        self.expect_kw(Kw::AGAINST)?;
        self.expect(TokenKind::Open)?;
        let against = Box::new(self.nested(|p| p.bit_expr(1))?);
        let mut mode = MatchMode::Natural;
        let natural = self.eat_kw(Kw::IN);
        if natural && self.eat_kw(Kw::BOOLEAN) {
            self.expect_kw(Kw::MODE)?;
            mode = MatchMode::Boolean;
        } else {
            if natural {
                for word in [Kw::NATURAL, Kw::LANGUAGE, Kw::MODE] {
                    self.expect_kw(word)?;
                }
            }
            if self.eat_phrase(&[Kw::WITH, Kw::QUERY, Kw::EXPANSION])? {
                mode = MatchMode::Expansion;
            }
        }
        self.expect(TokenKind::Close)?;
        Ok(Expr::Match { columns, against, mode })
    }
}

/// The value of a number token.
fn number_literal(kind: TokenKind, text: &[u8], negative: bool) -> Literal {
    let digits = std::str::from_utf8(text).unwrap_or_default();
    let signed = || if negative { format!("-{digits}") } else { digits.to_string() };
    match kind {
        TokenKind::Float => Literal::Float(signed().parse().unwrap_or(f64::INFINITY)),
        TokenKind::Decimal => Literal::Decimal(signed()),
        _ => match digits.parse::<u64>() {
            Ok(value) if negative && value <= 1 << 63 => {
                Literal::Int(0i64.wrapping_sub_unsigned(value))
            }
            Ok(value) if !negative => {
                i64::try_from(value).map_or(Literal::UInt(value), Literal::Int)
            }
            _ => Literal::Decimal(signed()),
        },
    }
}

/// The interval unit that `kw` spells.
pub(crate) fn unit(kw: Kw) -> Option<IntervalUnit> {
    use IntervalUnit::*;
    Some(match kw {
        Kw::MICROSECOND => Microsecond,
        Kw::SECOND | Kw::SQL_TSI_SECOND => Second,
        Kw::MINUTE | Kw::SQL_TSI_MINUTE => Minute,
        Kw::HOUR | Kw::SQL_TSI_HOUR => Hour,
        Kw::DAY | Kw::SQL_TSI_DAY => Day,
        Kw::WEEK | Kw::SQL_TSI_WEEK => Week,
        Kw::MONTH | Kw::SQL_TSI_MONTH => Month,
        Kw::QUARTER | Kw::SQL_TSI_QUARTER => Quarter,
        Kw::YEAR | Kw::SQL_TSI_YEAR => Year,
        Kw::SECOND_MICROSECOND => SecondMicrosecond,
        Kw::MINUTE_MICROSECOND => MinuteMicrosecond,
        Kw::MINUTE_SECOND => MinuteSecond,
        Kw::HOUR_MICROSECOND => HourMicrosecond,
        Kw::HOUR_SECOND => HourSecond,
        Kw::HOUR_MINUTE => HourMinute,
        Kw::DAY_MICROSECOND => DayMicrosecond,
        Kw::DAY_SECOND => DaySecond,
        Kw::DAY_MINUTE => DayMinute,
        Kw::DAY_HOUR => DayHour,
        Kw::YEAR_MONTH => YearMonth,
        _ => return None,
    })
}
/// Whether a text is wholly a date, a time, or a date with a time.
fn is_temporal(kind: TemporalKind, text: &[u8]) -> bool {
    use value::time::{DateRules, parse};
    let moment = || parse::date_time(text, DateRules::default()).ok().filter(|read| !read.cut);
    match kind {
        TemporalKind::Date => moment().is_some_and(|read| read.date_only && !read.utc),
        TemporalKind::Timestamp => moment().is_some_and(|read| !read.date_only),
        TemporalKind::Time => {
            parse::time(text).is_ok_and(|read| !read.cut && !read.beyond && !read.had_date)
        }
    }
}
