//! Expressions: MySQL's levels from OR down to postfix operators.
//!
//! 1. Levels follow the manual's table: OR, XOR, AND, NOT, IS and comparisons, predicates, then `| & << + * ^ ||`, unary,
//!    COLLATE; a predicate (`IN`, `BETWEEN`, `LIKE`) does not chain.
//! 2. AND, OR and XOR chains become balanced trees, so a thousand conditions are ten levels deep; order is kept.

use crate::ast::{BinaryOp, Expr, IsWhat, UnaryOp};
use crate::cursor::{Parser, Result};
use crate::deprecated;
use crate::keywords::Kw;
use crate::mode::SqlMode;
use crate::token::TokenKind;

/// Level of concatenation, the tightest infix operator: what MySQL's grammar calls a simple expression.
const SIMPLE: u8 = 7;

impl Parser<'_> {
    /// Any expression.
    pub fn expr(&mut self) -> Result<Expr> {
        self.nested(Self::or_expr)
    }

    /// As [`Self::expr`], lifted if it is a literal.
    pub(crate) fn lifted_expr(&mut self) -> Result<Expr> {
        let place = self.place();
        let expr = self.expr()?;
        Ok(self.lift(place, expr))
    }

    pub fn boxed_expr(&mut self) -> Result<Box<Expr>> {
        Ok(Box::new(self.expr()?))
    }

    fn or_expr(&mut self) -> Result<Expr> {
        let pipes_or = !self.mode.has(SqlMode::PIPES_AS_CONCAT);
        let mut terms = vec![self.term(Self::xor_expr)?];
        loop {
            let pipes = pipes_or && self.eat(TokenKind::Pipes);
            if !pipes && !self.eat_kw(Kw::OR) {
                break;
            }
            terms.push(self.term(Self::xor_expr)?);
            if pipes {
                self.warn(deprecated::PIPES);
            }
        }
        Ok(balanced(BinaryOp::Or, terms))
    }

    fn xor_expr(&mut self) -> Result<Expr> {
        let first = self.term(Self::and_expr)?;
        if self.kw() != Kw::XOR {
            return Ok(first);
        }
        let mut terms = vec![first];
        while self.eat_kw(Kw::XOR) {
            terms.push(self.term(Self::and_expr)?);
        }
        Ok(balanced(BinaryOp::Xor, terms))
    }

    fn and_expr(&mut self) -> Result<Expr> {
        let mut terms = vec![self.term(Self::not_expr)?];
        loop {
            let amps = self.eat(TokenKind::Amps);
            if !amps && !self.eat_kw(Kw::AND) {
                break;
            }
            terms.push(self.term(Self::not_expr)?);
            if amps {
                self.warn(deprecated::AMPS);
            }
        }
        Ok(balanced(BinaryOp::And, terms))
    }

    fn not_expr(&mut self) -> Result<Expr> {
        if self.kw() == Kw::NOT && !self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) {
            self.bump();
            let operand = self.nested(Self::not_expr)?;
            return Ok(Expr::Unary(UnaryOp::Not, Box::new(operand)));
        }
        let expr = self.boolean_primary()?;
        if !self.eat_kw(Kw::IS) {
            return Ok(expr);
        }
        let negated = self.eat_kw(Kw::NOT);
        let what = match self.expect_any(&[Kw::TRUE, Kw::FALSE, Kw::UNKNOWN])? {
            Kw::TRUE => IsWhat::True,
            Kw::FALSE => IsWhat::False,
            _ => IsWhat::Unknown,
        };
        Ok(Expr::Is { expr: Box::new(expr), what, negated })
    }

    /// Comparisons and IS NULL, left to right.
    fn boolean_primary(&mut self) -> Result<Expr> {
        let mut left = self.predicate()?;
        loop {
            if self.kw() == Kw::IS {
                let negated = self.nth(1).kw == Kw::NOT;
                if self.nth(1 + usize::from(negated)).kw != Kw::NULL {
                    return Ok(left);
                }
                self.bump();
                self.eat_kw(Kw::NOT);
                self.bump();
                left = Expr::Is { expr: Box::new(left), what: IsWhat::Null, negated };
            } else if let Some(op) = comparison(self.kind()) {
                self.bump();
                left = self.comparison_tail(op, left)?;
            } else {
                return Ok(left);
            }
            self.grow()?;
        }
    }

    fn comparison_tail(&mut self, op: BinaryOp, left: Expr) -> Result<Expr> {
        let quantified = self.kw() == Kw::ALL
            || (matches!(self.kw(), Kw::ANY | Kw::SOME) && self.nth(1).kind == TokenKind::Open);
        if !quantified {
            let place = self.place();
            let right = self.predicate()?;
            let right = self.lift(place, right);
            return Ok(Expr::Binary(op, Box::new(left), Box::new(right)));
        }
        let place = self.place() - 1;
        let all = self.bump().kw == Kw::ALL;
        let query = self.subquery()?;
        if op == BinaryOp::NullSafeEq {
            self.rewind(place);
            return self.fail();
        }
        Ok(Expr::Quantified { op, expr: Box::new(left), all, query })
    }

    fn predicate(&mut self) -> Result<Expr> {
        let left = self.bit_expr(1)?;
        let negated = self.eat_kw(Kw::NOT);
        if negated && !matches!(self.kw(), Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE)
        {
            return self.fail();
        }
        match self.kw() {
            Kw::IN => self.in_tail(left, negated),
            Kw::BETWEEN => self.between_tail(left, negated),
            Kw::LIKE => self.like_tail(left, negated),
            Kw::REGEXP | Kw::RLIKE => {
                self.bump();
                let pattern = Box::new(self.bit_expr(1)?);
                Ok(Expr::Regexp { expr: Box::new(left), pattern, negated })
            }
            Kw::SOUNDS if self.nth(1).kw == Kw::LIKE => {
                self.bump();
                self.bump();
                let right = self.bit_expr(1)?;
                Ok(Expr::Binary(BinaryOp::SoundsLike, Box::new(left), Box::new(right)))
            }
            Kw::MEMBER if self.nth(1).kind == TokenKind::Open || self.nth(1).kw == Kw::OF => {
                self.bump();
                self.eat_kw(Kw::OF);
                self.expect(TokenKind::Open)?;
                let array = self.nested(|p| p.bit_expr(SIMPLE))?;
                self.expect(TokenKind::Close)?;
                Ok(Expr::MemberOf(Box::new(left), Box::new(array)))
            }
            _ => Ok(left),
        }
    }

    fn in_tail(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.bump();
        let expr = Box::new(left);
        if self.kind() == TokenKind::Open && self.query_in_parentheses() {
            return Ok(Expr::InQuery { expr, query: self.subquery()?, negated });
        }
        let list = self.parenthesised(Self::lifted_expr)?;
        Ok(Expr::In { expr, list, negated })
    }

    fn between_tail(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.bump();
        let place = self.place();
        let low = self.bit_expr(1)?;
        let low = Box::new(self.lift(place, low));
        self.expect_kw(Kw::AND)?;
        let place = self.place();
        let high = self.nested(Self::predicate)?;
        let high = Box::new(self.lift(place, high));
        Ok(Expr::Between { expr: Box::new(left), low, high, negated })
    }

    fn like_tail(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.bump();
        let pattern = Box::new(self.bit_expr(SIMPLE)?);
        let escape =
            if self.eat_kw(Kw::ESCAPE) { Some(Box::new(self.bit_expr(SIMPLE)?)) } else { None };
        Ok(Expr::Like { expr: Box::new(left), pattern, escape, negated })
    }

    /// What MySQL's grammar calls a simple expression: no infix operators but concatenation.
    pub(crate) fn simple_expr(&mut self) -> Result<Expr> {
        self.bit_expr(SIMPLE)
    }

    /// Infix operators of at least `level`, left to right.
    pub(crate) fn bit_expr(&mut self, level: u8) -> Result<Expr> {
        let mut left = self.unary()?;
        while let Some((op, found)) = self.infix()
            && found >= level
        {
            self.bump();
            let additive = matches!(op, BinaryOp::Add | BinaryOp::Sub);
            let right = match additive && self.at_interval() {
                true => self.interval()?,
                false => self.bit_expr(found + 1)?,
            };
            left = Expr::Binary(op, Box::new(left), Box::new(right));
            self.grow()?;
        }
        Ok(left)
    }

    fn infix(&self) -> Option<(BinaryOp, u8)> {
        Some(match self.kind() {
            TokenKind::Pipe => (BinaryOp::BitOr, 1),
            TokenKind::Amp => (BinaryOp::BitAnd, 2),
            TokenKind::ShiftLeft => (BinaryOp::ShiftLeft, 3),
            TokenKind::ShiftRight => (BinaryOp::ShiftRight, 3),
            TokenKind::Plus => (BinaryOp::Add, 4),
            TokenKind::Minus => (BinaryOp::Sub, 4),
            TokenKind::Star => (BinaryOp::Mul, 5),
            TokenKind::Slash => (BinaryOp::Div, 5),
            TokenKind::Percent => (BinaryOp::Mod, 5),
            TokenKind::Word if self.kw() == Kw::DIV => (BinaryOp::IntDiv, 5),
            TokenKind::Word if self.kw() == Kw::MOD => (BinaryOp::Mod, 5),
            TokenKind::Caret => (BinaryOp::BitXor, 6),
            TokenKind::Pipes if self.mode.has(SqlMode::PIPES_AS_CONCAT) => {
                (BinaryOp::Concat, SIMPLE)
            }
            _ => return None,
        })
    }

    pub(crate) fn unary(&mut self) -> Result<Expr> {
        let op = match self.kind() {
            TokenKind::Minus => UnaryOp::Neg,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::Tilde => UnaryOp::BitNot,
            TokenKind::Bang => UnaryOp::Bang,
            _ if self.kw() == Kw::NOT && self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) => {
                UnaryOp::Not
            }
            _ if self.kw() == Kw::BINARY => return self.binary_cast(),
            _ => return self.postfix(),
        };
        if op == UnaryOp::Neg
            && let Some(literal) = self.negative_literal()
        {
            return self.collated(literal);
        }
        self.bump();
        let operand = self.nested(Self::unary)?;
        if op == UnaryOp::Bang {
            self.warn(deprecated::BANG);
        }
        Ok(Expr::Unary(op, Box::new(operand)))
    }

    fn postfix(&mut self) -> Result<Expr> {
        let expr = self.primary()?;
        self.collated(expr)
    }

    fn collated(&mut self, mut expr: Expr) -> Result<Expr> {
        while self.eat_kw(Kw::COLLATE) {
            expr = Expr::Collate(Box::new(expr), self.ident_or_text()?);
            self.grow()?;
        }
        Ok(expr)
    }

    /// A collation's name: `binary` is a reserved word and a collation.
    pub(crate) fn collation_name(&mut self) -> Result<String> {
        if self.eat_kw(Kw::BINARY) {
            return Ok("binary".to_string());
        }
        let name = self.ident_or_text()?;
        self.warn_name(&name);
        Ok(name)
    }
}

fn comparison(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::Eq => BinaryOp::Eq,
        TokenKind::NullSafeEq => BinaryOp::NullSafeEq,
        TokenKind::Ne => BinaryOp::Ne,
        TokenKind::Lt => BinaryOp::Lt,
        TokenKind::Le => BinaryOp::Le,
        TokenKind::Gt => BinaryOp::Gt,
        TokenKind::Ge => BinaryOp::Ge,
        _ => return None,
    })
}

/// Joins `terms` (at least one) by an associative operator into a tree of logarithmic height, order kept.
fn balanced(op: BinaryOp, mut terms: Vec<Expr>) -> Expr {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => Expr::Binary(op, Box::new(left), Box::new(right)),
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop().expect("the caller gives at least one term")
}
