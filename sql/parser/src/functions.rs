//! Function calls, aggregates, casts.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::deprecated;
use crate::keywords::{self, Kw};
use crate::mode::SqlMode;
use crate::refused::Refused;
use crate::special::plain_call;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn function_or_column(&mut self) -> Result<Expr> {
        let qualified = self.nth(1).kind == TokenKind::Dot && self.nth(3).kind == TokenKind::Open;
        // A reserved word that is a function can be nothing else; CURRENT_DATE and its kin need no parentheses.
        let function = self.kw().reserved() && !without_parentheses(self.kw());
        if self.nth(1).kind == TokenKind::Open || function {
            if let Some(kind) = self.aggregate_kind() {
                return self.aggregate(kind);
            }
            if self.kw() == Kw::None {
                return self.call();
            }
            if let Some(call) = self.keyword_call()? {
                return Ok(call);
            }
        }
        match self.kw() {
            kw if without_parentheses(kw) => {
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
        use AggregateKind::*;
        let concat = kind == GroupConcat;
        let distinct = matches!(kind, Count | Sum | Min | Max | Avg | StCollect | GroupConcat)
            && self.eat_kw(Kw::DISTINCT);
        if !distinct && !concat {
            self.eat_kw(Kw::ALL);
        }
        let star = kind == Count && !distinct && self.eat(TokenKind::Star);
        let args = if star {
            Vec::new()
        } else if concat || (kind == Count && distinct) {
            self.nested(|p| p.comma_list(Self::expr))?
        } else {
            let mut args = vec![self.expr()?];
            if kind == JsonObjectAgg {
                self.expect(TokenKind::Comma)?;
                self.eat_kw(Kw::ALL);
                args.push(self.expr()?);
            }
            args
        };
        let (mut order_by, mut separator) = (Vec::new(), None);
        if concat && self.eat_kw(Kw::ORDER) {
            self.expect_kw(Kw::BY)?;
            order_by = self.comma_list(Self::order_item)?;
        }
        if concat && self.eat_kw(Kw::SEPARATOR) {
            separator = Some(self.text_string()?);
        }
        self.expect(TokenKind::Close)?;
        let over = self.over()?;
        Ok(Expr::Aggregate(Box::new(Aggregate { kind, distinct, args, order_by, separator, over })))
    }

    pub(crate) fn over(&mut self) -> Result<Option<Box<Window>>> {
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

    /// `name(...)` of a name that is no keyword.
    fn call(&mut self) -> Result<Expr> {
        let token = self.bump();
        let text = token.text(self.sql);
        let name = match token.kind {
            TokenKind::Quoted => {
                String::from_utf8_lossy(&crate::cursor::unquote(text)).into_owned()
            }
            _ => String::from_utf8_lossy(text).into_owned(),
        };
        let apart = keywords::is_called(&name);
        let name = ObjectName { schema: None, name };
        self.expect(TokenKind::Open)?;
        if self.eat(TokenKind::Close) {
            return Ok(Expr::Call(Call { apart, ..plain_call(name, Vec::new()) }));
        }
        let args = self.nested(|p| p.comma_list(Self::argument))?;
        self.expect(TokenKind::Close)?;
        if args.iter().any(|(_, named)| *named) {
            return self.fail_with(match apart {
                true => Refused::NamedStoredArgument(&name.name),
                false => Refused::NamedArgument(&name.name),
            });
        }
        let args = args.into_iter().map(|(expr, _)| expr).collect();
        Ok(Expr::Call(Call { apart, ..plain_call(name, args) }))
    }

    /// An argument; MySQL's grammar lets it have an alias (then true), which only loadable functions take.
    fn argument(&mut self) -> Result<(Expr, bool)> {
        let expr = self.expr()?;
        let named = self.optional_alias(true)?.is_some();
        Ok((expr, named))
    }

    /// `CAST(expr AS type)`.
    pub(crate) fn cast(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let expr = self.boxed_expr()?;
        let mut at_time_zone = None;
        let zoned = self.eat_kw(Kw::AT);
        if zoned {
            if self.eat_kw(Kw::LOCAL) {
                at_time_zone = Some("LOCAL".to_string());
            } else {
                self.expect_kw(Kw::TIME)?;
                self.expect_kw(Kw::ZONE)?;
                self.eat_kw(Kw::INTERVAL);
                at_time_zone = Some(self.text()?);
            }
        }
        self.expect_kw(Kw::AS)?;
        if zoned && self.kw() != Kw::DATETIME {
            return self.fail();
        }
        let to = self.cast_type()?;
        let array = !zoned && self.eat_kw(Kw::ARRAY);
        self.expect(TokenKind::Close)?;
        Ok(Expr::Cast { expr, to, array, at_time_zone })
    }

    /// `CONVERT(expr USING charset)`, `CONVERT(expr, type)`.
    pub(crate) fn convert(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let expr = self.boxed_expr()?;
        let converted = if self.eat_kw(Kw::USING) {
            let charset = self.charset_name()?;
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
        let expr = Box::new(self.nested(Self::unary)?);
        self.warn(deprecated::BINARY);
        Ok(Expr::Cast { expr, to: CastType::Binary(None), array: false, at_time_zone: None })
    }

    pub(crate) fn cast_type(&mut self) -> Result<CastType> {
        let place = self.place();
        let word = self.bump().kw;
        Ok(match word {
            Kw::BINARY => CastType::Binary(self.length()?),
            Kw::CHAR | Kw::CHARACTER => {
                let length = self.length()?;
                CastType::Char(length, self.cast_charset()?)
            }
            Kw::NCHAR | Kw::NATIONAL => {
                if word == Kw::NATIONAL {
                    self.expect_any(&[Kw::CHAR, Kw::CHARACTER])?;
                }
                let length = self.length()?;
                self.warn(deprecated::NATIONAL);
                CastType::NChar(length)
            }
            Kw::SIGNED | Kw::UNSIGNED => {
                self.eat_any(&[Kw::INT, Kw::INTEGER, Kw::INT4]);
                if word == Kw::SIGNED { CastType::Signed } else { CastType::Unsigned }
            }
            Kw::DATE => CastType::Date,
            Kw::TIME => CastType::Time(self.length()?.unwrap_or(0)),
            Kw::DATETIME => CastType::Datetime(self.length()?.unwrap_or(0)),
            Kw::YEAR => CastType::Year,
            Kw::JSON => CastType::Json,
            Kw::FLOAT | Kw::FLOAT4 => {
                // FLOAT(p) of more than 24 bits is a double.
                let double = self.length()?.is_some_and(|bits| bits > 24);
                CastType::Float(double)
            }
            Kw::REAL => CastType::Float(!self.mode.has(SqlMode::REAL_AS_FLOAT)),
            Kw::DOUBLE | Kw::FLOAT8 => {
                self.eat_kw(Kw::PRECISION);
                CastType::Float(true)
            }
            Kw::DECIMAL | Kw::DEC => {
                let (length, scale) = self.length_and_scale()?;
                CastType::Decimal(length, scale)
            }
            Kw::GEOMETRY
            | Kw::POINT
            | Kw::LINESTRING
            | Kw::POLYGON
            | Kw::MULTIPOINT
            | Kw::MULTILINESTRING
            | Kw::MULTIPOLYGON
            | Kw::GEOMETRYCOLLECTION
            | Kw::GEOMCOLLECTION => CastType::Spatial(word.text().to_string()),
            _ => {
                self.rewind(place);
                return self.fail();
            }
        })
    }

    /// The character set behind CHAR(n).
    fn cast_charset(&mut self) -> Result<Option<String>> {
        let binary = self.eat_kw(Kw::BINARY);
        let charset = match self.eat_any(&[Kw::ASCII, Kw::UNICODE, Kw::BYTE]) {
            Some(Kw::ASCII) => {
                self.warn(deprecated::ASCII);
                Some("latin1".to_string())
            }
            Some(Kw::UNICODE) => {
                self.warn(deprecated::UNICODE);
                Some("ucs2".to_string())
            }
            Some(_) if !binary => return Ok(Some("binary".to_string())),
            Some(_) => return self.fail(),
            None => self.charset_attribute()?,
        };
        if charset.is_some() && !binary {
            self.eat_kw(Kw::BINARY);
        }
        Ok(charset)
    }

    pub(crate) fn optional_charset(&mut self) -> Result<Option<String>> {
        if self.eat_any(&[Kw::CHARACTER, Kw::CHAR]).is_some() {
            self.expect_kw(Kw::SET)?;
        } else if !self.eat_kw(Kw::CHARSET) {
            return Ok(None);
        }
        self.eat(TokenKind::Eq);
        self.charset_name().map(Some)
    }

    pub(crate) fn length_and_scale(&mut self) -> Result<(Option<u32>, Option<u32>)> {
        if !self.eat(TokenKind::Open) {
            return Ok((None, None));
        }
        let length = self.length_number()?;
        let scale = if self.eat(TokenKind::Comma) { Some(self.length_number()?) } else { None };
        self.expect(TokenKind::Close)?;
        Ok((Some(length), scale))
    }
}

/// Functions that need no parentheses.
fn without_parentheses(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::CURRENT_USER
            | Kw::CURRENT_DATE
            | Kw::CURRENT_TIME
            | Kw::CURRENT_TIMESTAMP
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::UTC_DATE
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP
    )
}
