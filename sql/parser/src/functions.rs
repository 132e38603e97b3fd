//! Function calls, aggregates, casts.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn function_or_column(&mut self) -> Result<Expr> {
        let called = self.nth(1).kind == TokenKind::Open;
        let qualified = self.nth(1).kind == TokenKind::Dot && self.nth(3).kind == TokenKind::Open;
        if let Some(kind) = self.aggregate_kind().filter(|_| called) {
            return self.aggregate(kind);
        }
        if called {
            return self.call();
        }
        match self.kw() {
            // Functions that need no parentheses.
            Kw::CURRENT_USER
            | Kw::CURRENT_DATE
            | Kw::CURRENT_TIME
            | Kw::CURRENT_TIMESTAMP
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::UTC_DATE
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP => {
                let name = String::from_utf8_lossy(self.bump().text(self.sql)).into_owned();
                Ok(Expr::Call(plain_call(ObjectName { schema: None, name }, Vec::new())))
            }
            _ if qualified => {
                let name = self.object_name()?;
                let args = self.arguments()?;
                Ok(Expr::Call(plain_call(name, args)))
            }
            _ => self.column_expr(),
        }
    }

    fn aggregate_kind(&self) -> Option<AggregateKind> {
        Some(match self.kw() {
            Kw::COUNT => AggregateKind::Count,
            Kw::SUM => AggregateKind::Sum,
            Kw::MIN => AggregateKind::Min,
            Kw::MAX => AggregateKind::Max,
            Kw::AVG => AggregateKind::Avg,
            Kw::BIT_AND => AggregateKind::BitAnd,
            Kw::BIT_OR => AggregateKind::BitOr,
            Kw::BIT_XOR => AggregateKind::BitXor,
            Kw::GROUP_CONCAT => AggregateKind::GroupConcat,
            Kw::JSON_ARRAYAGG => AggregateKind::JsonArrayAgg,
            Kw::JSON_OBJECTAGG => AggregateKind::JsonObjectAgg,
            Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => AggregateKind::StddevPop,
            Kw::STDDEV_SAMP => AggregateKind::StddevSamp,
            Kw::VARIANCE | Kw::VAR_POP => AggregateKind::VarPop,
            Kw::VAR_SAMP => AggregateKind::VarSamp,
            Kw::ST_COLLECT => AggregateKind::StCollect,
            _ => return None,
        })
    }

    fn aggregate(&mut self, kind: AggregateKind) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let distinct = self.eat_kw(Kw::DISTINCT);
        if !distinct {
            self.eat_kw(Kw::ALL);
        }
        let star = kind == AggregateKind::Count && !distinct && self.eat(TokenKind::Star);
        let args = if star { Vec::new() } else { self.nested(|p| p.comma_list(Self::expr))? };
        let order_by = if self.eat_kws(&[Kw::ORDER, Kw::BY]) {
            self.comma_list(Self::order_item)?
        } else {
            Vec::new()
        };
        let separator = if self.eat_kw(Kw::SEPARATOR) { Some(self.string()?) } else { None };
        self.expect(TokenKind::Close)?;
        let over = self.over()?;
        Ok(Expr::Aggregate(Box::new(Aggregate { kind, distinct, args, order_by, separator, over })))
    }

    fn over(&mut self) -> Result<Option<Box<Window>>> {
        if !self.eat_kw(Kw::OVER) {
            return Ok(None);
        }
        if self.kind() == TokenKind::Open {
            return Ok(Some(Box::new(self.window()?)));
        }
        let base = Some(self.ident()?);
        Ok(Some(Box::new(Window {
            base,
            partition_by: Vec::new(),
            order_by: Vec::new(),
            frame: None,
        })))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect(TokenKind::Open)?;
        if self.eat(TokenKind::Close) {
            return Ok(Vec::new());
        }
        let args = self.nested(|p| p.comma_list(Self::expr))?;
        self.expect(TokenKind::Close)?;
        Ok(args)
    }

    /// `name(...)`; words inside the parentheses that are no expressions (`FROM`, `LEADING`) are kept in `keyword`.
    fn call(&mut self) -> Result<Expr> {
        let token = self.bump();
        let text = token.text(self.sql);
        let name = match token.kind {
            TokenKind::Quoted => {
                String::from_utf8_lossy(&crate::cursor::unquote(text)).into_owned()
            }
            _ => String::from_utf8_lossy(text).into_owned(),
        };
        let name = ObjectName { schema: None, name };
        let place = self.place();
        let mut call = match self.arguments() {
            Ok(args) => plain_call(name, args),
            Err(error) => {
                // TRIM(BOTH 'x' FROM y), EXTRACT(YEAR FROM d), POSITION(a IN b) and their kin.
                let special = matches!(
                    token.kw,
                    Kw::TRIM
                        | Kw::EXTRACT
                        | Kw::POSITION
                        | Kw::SUBSTRING
                        | Kw::SUBSTR
                        | Kw::MID
                        | Kw::TIMESTAMPADD
                        | Kw::TIMESTAMPDIFF
                        | Kw::GET_FORMAT
                        | Kw::WEIGHT_STRING
                        | Kw::CHAR
                        | Kw::ADDDATE
                        | Kw::SUBDATE
                        | Kw::DATE_ADD
                        | Kw::DATE_SUB
                        | Kw::JSON_VALUE
                );
                if !special {
                    return Err(error);
                }
                self.rewind(place);
                self.skip_parentheses()?;
                Call { keyword: Some("special".to_string()), ..plain_call(name, Vec::new()) }
            }
        };
        if self.eat_kws(&[Kw::IGNORE, Kw::NULLS]) || self.eat_kws(&[Kw::RESPECT, Kw::NULLS]) {
            call.modifier = Some("NULLS".to_string());
        }
        call.over = self.over()?;
        Ok(Expr::Call(call))
    }

    /// `CAST(expr AS type)`.
    pub(crate) fn cast(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let expr = self.boxed_expr()?;
        self.expect_kw(Kw::AS)?;
        let to = self.cast_type()?;
        let array = self.eat_kw(Kw::ARRAY);
        self.expect(TokenKind::Close)?;
        Ok(Expr::Cast { expr, to, array, at_time_zone: None })
    }

    /// `CONVERT(expr USING charset)`, `CONVERT(expr, type)`.
    pub(crate) fn convert(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let expr = self.boxed_expr()?;
        let converted = if self.eat_kw(Kw::USING) {
            let charset =
                if self.eat_kw(Kw::BINARY) { "binary".to_string() } else { self.ident_or_text()? };
            Expr::ConvertUsing(expr, charset)
        } else {
            self.expect(TokenKind::Comma)?;
            Expr::Cast { expr, to: self.cast_type()?, array: false, at_time_zone: None }
        };
        self.expect(TokenKind::Close)?;
        Ok(converted)
    }

    /// `BINARY expr`.
    pub(crate) fn binary_cast(&mut self) -> Result<Expr> {
        self.bump();
        let expr = Box::new(self.nested(Self::primary)?);
        Ok(Expr::Cast { expr, to: CastType::Binary(None), array: false, at_time_zone: None })
    }

    fn cast_type(&mut self) -> Result<CastType> {
        let word = self.bump().kw;
        Ok(match word {
            Kw::BINARY => CastType::Binary(self.length()?),
            Kw::CHAR | Kw::CHARACTER => {
                let length = self.length()?;
                let charset = self.optional_charset()?;
                CastType::Char(length, charset)
            }
            Kw::NCHAR => CastType::NChar(self.length()?),
            Kw::SIGNED | Kw::UNSIGNED => {
                self.eat_any(&[Kw::INT, Kw::INTEGER]);
                if word == Kw::SIGNED { CastType::Signed } else { CastType::Unsigned }
            }
            Kw::DATE => CastType::Date,
            Kw::TIME => CastType::Time(self.length()?.unwrap_or(0)),
            Kw::DATETIME => CastType::Datetime(self.length()?.unwrap_or(0)),
            Kw::YEAR => CastType::Year,
            Kw::JSON => CastType::Json,
            Kw::FLOAT => {
                self.length()?;
                CastType::Float(false)
            }
            Kw::DOUBLE | Kw::REAL => CastType::Float(true),
            Kw::DECIMAL | Kw::DEC => {
                let (length, scale) = self.length_and_scale()?;
                CastType::Decimal(length, scale)
            }
            _ => return self.fail(),
        })
    }

    pub(crate) fn optional_charset(&mut self) -> Result<Option<String>> {
        if self.eat_kws(&[Kw::CHARACTER, Kw::SET]) || self.eat_kw(Kw::CHARSET) {
            self.eat(TokenKind::Eq);
            let name =
                if self.eat_kw(Kw::BINARY) { "binary".to_string() } else { self.ident_or_text()? };
            return Ok(Some(name));
        }
        Ok(None)
    }

    pub(crate) fn length_and_scale(&mut self) -> Result<(Option<u32>, Option<u32>)> {
        if !self.eat(TokenKind::Open) {
            return Ok((None, None));
        }
        let length = self.unsigned32()?;
        let scale = if self.eat(TokenKind::Comma) { Some(self.unsigned32()?) } else { None };
        self.expect(TokenKind::Close)?;
        Ok((Some(length), scale))
    }
}

fn plain_call(name: ObjectName, args: Vec<Expr>) -> Call {
    Call { name, args, keyword: None, over: None, modifier: None }
}
