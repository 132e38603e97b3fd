//! Views, and what CREATE and ALTER may say between verb and noun.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

/// What stands between the verb and VIEW, PROCEDURE and so on.
#[derive(Default)]
struct Preamble {
    or_replace: bool,
    algorithm: Option<ViewAlgorithm>,
    definer: Option<Account>,
    invoker: Option<bool>,
}

impl Preamble {
    /// Words were written that only a view takes.
    fn for_view_only(&self) -> bool {
        self.or_replace || self.algorithm.is_some() || self.invoker.is_some()
    }
}

impl Parser<'_> {
    /// CREATE of what may have a definer: views and stored programs.
    pub(crate) fn create_definable(&mut self) -> Result<Statement> {
        let mut preamble = Preamble::default();
        if self.eat_kw(Kw::OR) {
            self.expect_kw(Kw::REPLACE)?;
            preamble.or_replace = true;
        }
        self.preamble(&mut preamble)?;
        let definer = preamble.definer.clone();
        match self.kw() {
            Kw::VIEW => {
                let view = self.view(preamble)?;
                Ok(Statement::Ddl(Ddl::CreateView(Box::new(view))))
            }
            _ if preamble.for_view_only() => self.fail(),
            Kw::TRIGGER => self.create_trigger(definer),
            Kw::PROCEDURE => self.create_procedure(definer),
            Kw::FUNCTION => self.create_function(definer),
            Kw::EVENT => self.create_event(definer),
            Kw::AGGREGATE if definer.is_none() => {
                self.bump();
                self.expect_kw(Kw::FUNCTION)?;
                self.create_loadable(true)
            }
            _ => self.fail(),
        }
    }

    /// ALTER of what may have a definer: views and events.
    pub(crate) fn alter_definable(&mut self) -> Result<Statement> {
        let mut preamble = Preamble::default();
        self.preamble(&mut preamble)?;
        match self.kw() {
            Kw::VIEW => {
                let view = self.view(preamble)?;
                Ok(Statement::Ddl(Ddl::AlterView(Box::new(view))))
            }
            Kw::EVENT if !preamble.for_view_only() => self.alter_event(preamble.definer),
            _ => self.fail(),
        }
    }

    /// `[ALGORITHM = x] [DEFINER = account] [SQL SECURITY x]`.
    fn preamble(&mut self, preamble: &mut Preamble) -> Result<()> {
        if self.eat_kw(Kw::ALGORITHM) {
            self.expect(TokenKind::Eq)?;
            let word = self.expect_any(&[Kw::UNDEFINED, Kw::MERGE, Kw::TEMPTABLE])?;
            preamble.algorithm = Some(match word {
                Kw::MERGE => ViewAlgorithm::Merge,
                Kw::TEMPTABLE => ViewAlgorithm::TempTable,
                _ => ViewAlgorithm::Undefined,
            });
        }
        if self.eat_kw(Kw::DEFINER) {
            self.expect(TokenKind::Eq)?;
            preamble.definer = Some(self.named_account()?);
        }
        if self.eat_kw(Kw::SQL) {
            self.expect_kw(Kw::SECURITY)?;
            preamble.invoker = Some(self.expect_any(&[Kw::DEFINER, Kw::INVOKER])? == Kw::INVOKER);
        }
        Ok(())
    }

    fn view(&mut self, preamble: Preamble) -> Result<CreateView> {
        self.bump();
        let name = self.object_name()?;
        let columns = if self.kind() == TokenKind::Open {
            self.parenthesised(Self::ident)?
        } else {
            Vec::new()
        };
        self.expect_kw(Kw::AS)?;
        let start = self.peek().start as usize;
        let query = Box::new(self.query_without_into()?);
        let text = self.sql[start..self.taken_end().max(start)].to_vec();
        let mut check = None;
        if self.eat_kw(Kw::WITH) {
            let local = self.eat_any(&[Kw::CASCADED, Kw::LOCAL]) == Some(Kw::LOCAL);
            self.expect_kw(Kw::CHECK)?;
            self.expect_kw(Kw::OPTION)?;
            check = Some(if local { CheckOption::Local } else { CheckOption::Cascaded });
        }
        Ok(CreateView {
            or_replace: preamble.or_replace,
            algorithm: preamble.algorithm.unwrap_or_default(),
            definer: preamble.definer,
            invoker: preamble.invoker,
            name,
            columns,
            query,
            text,
            check,
        })
    }
}
