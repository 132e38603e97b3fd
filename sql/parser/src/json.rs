//! JSON_TABLE and JSON_VALUE.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::refused::Refused;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `JSON_TABLE(document, path COLUMNS (...)) [AS] alias`.
    pub(crate) fn json_table(&mut self) -> Result<TableRef> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let document = self.expr()?;
        self.expect(TokenKind::Comma)?;
        let path = self.text_literal()?;
        let columns = self.json_columns()?;
        self.expect(TokenKind::Close)?;
        let alias = self.derived_alias(Refused::NoFunctionAlias)?;
        Ok(TableRef::JsonTable(Box::new(JsonTable { document, path, columns, alias })))
    }

    fn json_columns(&mut self) -> Result<Vec<JsonColumn>> {
        self.expect_kw(Kw::COLUMNS)?;
        self.parenthesised(|p| p.nested(Self::json_column))
    }

    fn json_column(&mut self) -> Result<JsonColumn> {
        if self.kw() == Kw::NESTED && self.nth(1).kw == Kw::PATH {
            self.bump();
            self.bump();
            let path = self.text_literal()?;
            return Ok(JsonColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::ORDINALITY)?;
            return Ok(JsonColumn::Ordinality(name));
        }
        let ty = self.data_type()?;
        let collation = self.optional_collation()?;
        let exists = self.eat_kw(Kw::EXISTS);
        self.expect_kw(Kw::PATH)?;
        let path = self.text_literal()?;
        let (on_empty, on_error) = self.json_on()?;
        Ok(JsonColumn::Path { name, ty, collation, exists, path, on_empty, on_error })
    }

    /// What stands behind DEFAULT.
    fn json_default(&mut self) -> Result<Expr> {
        match self.kw() {
            Kw::NULL => self.fail(),
            _ => self.signed_literal(),
        }
    }

    /// `[x ON EMPTY] [x ON ERROR]`; the reversed order is accepted too, as MySQL does.
    fn json_on(&mut self) -> Result<(Option<JsonOn>, Option<JsonOn>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none() || on_empty.is_none() {
            let on = match self.eat_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
                Some(Kw::NULL) => JsonOn::Null,
                Some(Kw::ERROR) => JsonOn::Error,
                Some(_) => JsonOn::Default(self.json_default()?),
                None => break,
            };
            self.expect_kw(Kw::ON)?;
            let words: &[Kw] = match (&on_empty, &on_error) {
                (None, None) => &[Kw::EMPTY, Kw::ERROR],
                (None, _) => &[Kw::EMPTY],
                _ => &[Kw::ERROR],
            };
            match self.expect_any(words)? {
                Kw::EMPTY => on_empty = Some(on),
                _ => on_error = Some(on),
            }
        }
        Ok((on_empty, on_error))
    }

    /// `JSON_VALUE(document, path [RETURNING type] [ON EMPTY] [ON ERROR])`.
    pub(crate) fn json_value(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(TokenKind::Open)?;
        let document = self.expr()?;
        self.expect(TokenKind::Comma)?;
        let path = self.text_literal()?;
        let returning = if self.eat_kw(Kw::RETURNING) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_on()?;
        self.expect(TokenKind::Close)?;
        let value = JsonValue { document, path, returning, on_empty, on_error };
        Ok(Expr::JsonValue(Box::new(value)))
    }
}
