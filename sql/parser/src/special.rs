//! Functions whose names are keywords: what stands in their parentheses is grammar of their own.
//!
//! 1. A keyword that is no function here cannot be called: MySQL refuses the parenthesis behind it.
//! 2. Words inside the parentheses (LEADING, a unit, a character set) become [`Call::keyword`].

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::primary::unit;
use crate::token::TokenKind;

const ANY: usize = usize::MAX;

/// Fewest and most arguments of functions that are keywords and take plain expressions.
fn arity(kw: Kw) -> Option<(usize, usize)> {
    Some(match kw {
        Kw::DATE
        | Kw::DAY
        | Kw::HOUR
        | Kw::MINUTE
        | Kw::MONTH
        | Kw::SECOND
        | Kw::TIME
        | Kw::YEAR
        | Kw::ASCII
        | Kw::CHARSET
        | Kw::COLLATION
        | Kw::MICROSECOND
        | Kw::QUARTER
        | Kw::REVERSE => (1, 1),
        Kw::LEFT | Kw::RIGHT | Kw::MOD | Kw::REPEAT | Kw::TRUNCATE | Kw::CONTAINS | Kw::POINT => {
            (2, 2)
        }
        Kw::TIMESTAMP | Kw::WEEK | Kw::LOG => (1, 2),
        Kw::IF | Kw::REPLACE => (3, 3),
        Kw::INSERT => (4, 4),
        Kw::FORMAT => (2, 3),
        Kw::COALESCE
        | Kw::GROUPING
        | Kw::LINESTRING
        | Kw::MULTILINESTRING
        | Kw::MULTIPOINT
        | Kw::MULTIPOLYGON
        | Kw::POLYGON => (1, ANY),
        Kw::INTERVAL => (2, ANY),
        Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => (0, ANY),
        Kw::USER
        | Kw::SESSION_USER
        | Kw::SYSTEM_USER
        | Kw::CURDATE
        | Kw::CURRENT_DATE
        | Kw::CURRENT_USER
        | Kw::DATABASE
        | Kw::SCHEMA
        | Kw::ROW_COUNT
        | Kw::UTC_DATE => (0, 0),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A call of a function that is a keyword; none when the keyword is no such function.
    pub(crate) fn keyword_call(&mut self) -> Result<Option<Expr>> {
        let kw = self.kw();
        if let Some((fewest, most)) = arity(kw) {
            let name = self.function_name();
            let args = self.counted_arguments(fewest, most)?;
            return Ok(Some(Expr::Call(plain_call(name, args))));
        }
        Ok(Some(match kw {
            Kw::ROW_NUMBER
            | Kw::RANK
            | Kw::DENSE_RANK
            | Kw::CUME_DIST
            | Kw::PERCENT_RANK
            | Kw::NTILE
            | Kw::LEAD
            | Kw::LAG
            | Kw::FIRST_VALUE
            | Kw::LAST_VALUE
            | Kw::NTH_VALUE => self.window_function()?,
            Kw::TRIM => self.trim()?,
            Kw::EXTRACT => self.extract()?,
            Kw::POSITION => self.position()?,
            Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => self.substring()?,
            Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => self.unit_function()?,
            Kw::GET_FORMAT => self.get_format()?,
            Kw::WEIGHT_STRING => self.weight_string()?,
            Kw::CHAR | Kw::CHARACTER => self.char_function()?,
            Kw::ADDDATE | Kw::SUBDATE | Kw::DATE_ADD | Kw::DATE_SUB => self.date_arithmetic()?,
            Kw::JSON_VALUE => self.json_value()?,
            Kw::NOW
            | Kw::SYSDATE
            | Kw::CURTIME
            | Kw::CURRENT_TIME
            | Kw::CURRENT_TIMESTAMP
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP => self.clock_function()?,
            _ => return Ok(None),
        }))
    }

    /// The function's name as spelled; its token is taken.
    fn function_name(&mut self) -> ObjectName {
        let token = self.bump();
        let name = String::from_utf8_lossy(token.text(self.sql)).into_owned();
        ObjectName { schema: None, name }
    }

    fn counted_arguments(&mut self, fewest: usize, most: usize) -> Result<Vec<Expr>> {
        self.expect(TokenKind::Open)?;
        let args = self.nested(|p| {
            let mut args = Vec::new();
            while args.len() < most {
                if args.is_empty() && fewest == 0 && p.kind() == TokenKind::Close {
                    break;
                }
                args.push(p.expr()?);
                if args.len() >= fewest && p.kind() != TokenKind::Comma {
                    break;
                }
                if args.len() < most {
                    p.expect(TokenKind::Comma)?;
                }
            }
            Ok(args)
        })?;
        self.expect(TokenKind::Close)?;
        Ok(args)
    }

    /// `NOW()`, `NOW(6)`; parentheses stand here.
    fn clock_function(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let mut args = Vec::new();
        if self.kind() == TokenKind::Integer {
            args.push(self.primary()?);
        }
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(plain_call(name, args)))
    }

    /// Functions that need OVER.
    fn window_function(&mut self) -> Result<Expr> {
        let kw = self.kw();
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let mut args = Vec::new();
        match kw {
            Kw::NTILE => args.push(self.stable_integer()?),
            Kw::FIRST_VALUE | Kw::LAST_VALUE => args.push(self.expr()?),
            Kw::LEAD | Kw::LAG => {
                args.push(self.expr()?);
                if self.eat(TokenKind::Comma) {
                    args.push(self.stable_integer()?);
                    if self.eat(TokenKind::Comma) {
                        args.push(self.expr()?);
                    }
                }
            }
            Kw::NTH_VALUE => {
                args.push(self.expr()?);
                self.expect(TokenKind::Comma)?;
                args.push(self.simple_expr()?);
            }
            _ => {}
        }
        self.expect(TokenKind::Close)?;
        let mut call = plain_call(name, args);
        if kw == Kw::NTH_VALUE && self.eat_kw(Kw::FROM) {
            let last = self.expect_any(&[Kw::FIRST, Kw::LAST])? == Kw::LAST;
            call.modifier = last.then(|| "FROM LAST".to_string());
        }
        let takes_nulls =
            matches!(kw, Kw::LEAD | Kw::LAG | Kw::FIRST_VALUE | Kw::LAST_VALUE | Kw::NTH_VALUE);
        if takes_nulls && let Some(word) = self.eat_any(&[Kw::RESPECT, Kw::IGNORE]) {
            self.expect_kw(Kw::NULLS)?;
            if word == Kw::IGNORE {
                call.modifier = Some("IGNORE NULLS".to_string());
            }
        }
        if self.kw() != Kw::OVER {
            return self.fail();
        }
        call.over = self.over()?;
        Ok(Expr::Call(call))
    }

    /// A number, a parameter or a variable.
    fn stable_integer(&mut self) -> Result<Expr> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Param | TokenKind::UserVar => self.primary(),
            TokenKind::Word | TokenKind::Quoted if self.at_name() => {
                let column = self.ident()?;
                Ok(Expr::Column(ColumnRef { schema: None, table: None, column }))
            }
            _ => self.fail(),
        }
    }

    /// `TRIM([LEADING | TRAILING | BOTH] [what FROM] text)`: arguments are text, then what.
    fn trim(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let side = self.eat_any(&[Kw::LEADING, Kw::TRAILING, Kw::BOTH]);
        let mut call = plain_call(name, Vec::new());
        call.keyword = side.map(|word| word.text().to_string());
        if side.is_some() && self.eat_kw(Kw::FROM) {
            call.args.push(self.expr()?);
        } else {
            let first = self.expr()?;
            if side.is_some() || self.kw() == Kw::FROM {
                self.expect_kw(Kw::FROM)?;
                call.args.push(self.expr()?);
                call.keyword.get_or_insert_with(|| "FROM".to_string());
            }
            call.args.push(first);
        }
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(call))
    }

    /// `EXTRACT(unit FROM date)`.
    fn extract(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let keyword = Some(self.unit_word()?);
        self.expect_kw(Kw::FROM)?;
        let args = vec![self.expr()?];
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(Call { keyword, ..plain_call(name, args) }))
    }

    /// An interval's unit as text; `SQL_TSI_DAY` is DAY.
    fn unit_word(&mut self) -> Result<String> {
        if unit(self.kw()).is_none() {
            return self.fail();
        }
        let text = self.bump().kw.text();
        Ok(text.strip_prefix("SQL_TSI_").unwrap_or(text).to_string())
    }

    /// `TIMESTAMPADD(unit, n, date)`, `TIMESTAMPDIFF(unit, from, to)`: no units of several words.
    fn unit_function(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        if self.kw().text().contains('_') && !self.kw().text().starts_with("SQL_TSI_") {
            return self.fail();
        }
        let keyword = Some(self.unit_word()?);
        self.expect(TokenKind::Comma)?;
        let first = self.expr()?;
        self.expect(TokenKind::Comma)?;
        let args = vec![first, self.expr()?];
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(Call { keyword, ..plain_call(name, args) }))
    }

    /// `POSITION(part IN text)`.
    fn position(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let part = self.nested(|p| p.bit_expr(1))?;
        self.expect_kw(Kw::IN)?;
        let args = vec![part, self.expr()?];
        self.expect(TokenKind::Close)?;
        let keyword = Some("IN".to_string());
        Ok(Expr::Call(Call { keyword, ..plain_call(name, args) }))
    }

    /// `SUBSTRING(text, from [, length])`, `SUBSTRING(text FROM from [FOR length])`.
    fn substring(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let mut args = vec![self.expr()?];
        let words = self.eat_kw(Kw::FROM);
        if !words {
            self.expect(TokenKind::Comma)?;
        }
        args.push(self.expr()?);
        if if words { self.eat_kw(Kw::FOR) } else { self.eat(TokenKind::Comma) } {
            args.push(self.expr()?);
        }
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(plain_call(name, args)))
    }

    /// `GET_FORMAT(DATE | TIME | DATETIME | TIMESTAMP, name)`.
    fn get_format(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let word = self.expect_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP])?;
        self.expect(TokenKind::Comma)?;
        let args = vec![self.expr()?];
        self.expect(TokenKind::Close)?;
        let keyword = if word == Kw::TIMESTAMP { Kw::DATETIME } else { word };
        let keyword = Some(keyword.text().to_string());
        Ok(Expr::Call(Call { keyword, ..plain_call(name, args) }))
    }

    /// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n)])`: the length is the second argument.
    fn weight_string(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let mut call = plain_call(name, vec![self.expr()?]);
        if self.eat_kw(Kw::AS) {
            let word = self.expect_any(&[Kw::CHAR, Kw::CHARACTER, Kw::BINARY])?;
            let binary = word == Kw::BINARY;
            call.keyword = Some(if binary { "BINARY" } else { "CHAR" }.to_string());
            self.expect(TokenKind::Open)?;
            let length = i64::try_from(self.whole_number()?).unwrap_or(i64::MAX);
            call.args.push(Expr::Literal(Literal::Int(length)));
            self.expect(TokenKind::Close)?;
        } else if self.kind() == TokenKind::Comma {
            while call.args.len() < 4 {
                self.expect(TokenKind::Comma)?;
                let number = i64::try_from(self.whole_number()?).unwrap_or(i64::MAX);
                call.args.push(Expr::Literal(Literal::Int(number)));
            }
        }
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(call))
    }

    /// `CHAR(n, ... [USING charset])`.
    fn char_function(&mut self) -> Result<Expr> {
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let args = self.nested(|p| p.comma_list(Self::expr))?;
        let keyword = if self.eat_kw(Kw::USING) { Some(self.charset_name()?) } else { None };
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(Call { keyword, ..plain_call(name, args) }))
    }

    /// `DATE_ADD(date, INTERVAL n unit)`; ADDDATE and SUBDATE also take days.
    fn date_arithmetic(&mut self) -> Result<Expr> {
        let days_allowed = matches!(self.kw(), Kw::ADDDATE | Kw::SUBDATE);
        let name = self.function_name();
        self.expect(TokenKind::Open)?;
        let date = self.expr()?;
        self.expect(TokenKind::Comma)?;
        let second = match self.at_interval() || !days_allowed {
            true => self.interval()?,
            false => self.expr()?,
        };
        self.expect(TokenKind::Close)?;
        Ok(Expr::Call(plain_call(name, vec![date, second])))
    }
}

/// A call without keyword, modifier and OVER.
pub(crate) fn plain_call(name: ObjectName, args: Vec<Expr>) -> Call {
    Call { name, args, keyword: None, over: None, modifier: None, apart: false }
}
