//! SET of every form.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn set(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::SET)?;
        let scoped = usize::from(self.scope_word().is_some());
        if self.nth(scoped).kw == Kw::TRANSACTION {
            return self.set_transaction();
        }
        if self.kw() == Kw::PASSWORD && !matches!(self.nth(1).kind, TokenKind::Dot) {
            return self.set_password();
        }
        let assigned = matches!(self.nth(1).kind, TokenKind::Eq | TokenKind::Assign);
        if self.kw() == Kw::ROLE && !assigned {
            self.bump();
            return Ok(Statement::SetRole(self.role_set()?));
        }
        if self.kw() == Kw::DEFAULT && self.nth(1).kw == Kw::ROLE {
            return self.set_default_role();
        }
        if self.kw() == Kw::RESOURCE && !assigned {
            return self.set_resource_group();
        }
        Ok(Statement::Set(self.comma_list(Self::set_item)?))
    }

    fn set_default_role(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let roles = match self.eat_any(&[Kw::ALL, Kw::NONE]) {
            Some(Kw::ALL) => RoleSet::All(Vec::new()),
            Some(_) => RoleSet::None,
            None => RoleSet::Roles(self.comma_list(Self::role)?),
        };
        self.expect_kw(Kw::TO)?;
        Ok(Statement::SetDefaultRole(roles, self.comma_list(Self::role)?))
    }

    fn set_resource_group(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_kw(Kw::GROUP)?;
        let name = self.ident()?;
        let mut threads = Vec::new();
        if self.eat_kw(Kw::FOR) {
            threads.push(self.whole_number()?);
            while self.eat(TokenKind::Comma) || self.kind() == TokenKind::Integer {
                threads.push(self.whole_number()?);
            }
        }
        Ok(Statement::SetResourceGroup(name, threads))
    }

    fn set_item(&mut self) -> Result<SetItem> {
        if self.kind() == TokenKind::UserVar {
            let name = self.assigned_var_name()?;
            self.assign_sign()?;
            return Ok(SetItem::User(name, self.expr()?));
        }
        if self.kw() == Kw::NAMES && self.nth(1).kind != TokenKind::Dot {
            self.bump();
            if self.eat_kw(Kw::DEFAULT) {
                return Ok(SetItem::Names(None));
            }
            let charset = self.charset_name()?;
            let collation =
                if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
            return Ok(SetItem::Names(Some((charset, collation))));
        }
        if self.eat_phrase(&[Kw::CHARACTER, Kw::SET])?
            || self.eat_phrase(&[Kw::CHAR, Kw::SET])?
            || (self.kw() == Kw::CHARSET
                && self.nth(1).kind != TokenKind::Eq
                && self.eat_kw(Kw::CHARSET))
        {
            if self.eat_kw(Kw::DEFAULT) {
                return Ok(SetItem::Charset(None));
            }
            return Ok(SetItem::Charset(Some(self.charset_word()?)));
        }
        let var = if self.kind() == TokenKind::SystemAt {
            self.system_var()?
        } else {
            let scoped =
                self.nth(1).kind == TokenKind::Word || self.nth(1).kind == TokenKind::Quoted;
            let scope = self.scope_word().filter(|_| scoped);
            if scope.is_some() {
                self.bump();
                if self.scope_word().is_some() || self.kind() == TokenKind::SystemAt {
                    return self.fail();
                }
            }
            let first = self.variable_word()?;
            let (component, name) =
                if self.eat(TokenKind::Dot) { (Some(first), self.ident()?) } else { (None, first) };
            SystemVar { scope: scope.unwrap_or(Scope::Unspecified), component, name }
        };
        self.assign_sign()?;
        Ok(SetItem::System(var, self.set_value()?))
    }

    fn assign_sign(&mut self) -> Result<()> {
        if self.eat(TokenKind::Assign) { Ok(()) } else { self.expect(TokenKind::Eq) }
    }

    /// An expression, or a word: ON, ALL, BINARY, ROW, SYSTEM, a bare name.
    pub(crate) fn set_value(&mut self) -> Result<Expr> {
        if self.kw() == Kw::DEFAULT && self.nth(1).kind != TokenKind::Open {
            self.bump();
            return Ok(Expr::Default);
        }
        // BINARY 'x' and ROW(1, 2) are expressions; the words alone are values.
        let alone = matches!(self.nth(1).kind, TokenKind::End | TokenKind::Comma);
        if matches!(self.kw(), Kw::ON | Kw::ALL | Kw::SYSTEM)
            || (alone && matches!(self.kw(), Kw::BINARY | Kw::ROW))
        {
            let column = String::from_utf8_lossy(self.bump().text(self.sql)).into_owned();
            return Ok(Expr::Column(ColumnRef { schema: None, table: None, column }));
        }
        self.expr()
    }

    fn set_transaction(&mut self) -> Result<Statement> {
        let scope = self.scope_word();
        if scope.is_some() {
            self.bump();
        }
        self.expect_kw(Kw::TRANSACTION)?;
        let mut set = SetTransaction {
            scope: scope.unwrap_or(Scope::Unspecified),
            isolation: None,
            read_only: None,
        };
        // An isolation level and an access mode, in any order, each at most once.
        loop {
            if set.isolation.is_none() && self.eat_kw(Kw::ISOLATION) {
                self.expect_kw(Kw::LEVEL)?;
                set.isolation = Some(self.isolation()?);
            } else if set.read_only.is_none() && self.eat_kw(Kw::READ) {
                set.read_only = Some(self.expect_any(&[Kw::ONLY, Kw::WRITE])? == Kw::ONLY);
            } else {
                return self.fail();
            }
            let complete = set.isolation.is_some() && set.read_only.is_some();
            if complete || !self.eat(TokenKind::Comma) {
                return Ok(Statement::SetTransaction(set));
            }
        }
    }

    fn isolation(&mut self) -> Result<Isolation> {
        Ok(match self.expect_any(&[Kw::READ, Kw::REPEATABLE, Kw::SERIALIZABLE])? {
            Kw::READ => match self.expect_any(&[Kw::UNCOMMITTED, Kw::COMMITTED])? {
                Kw::COMMITTED => Isolation::ReadCommitted,
                _ => Isolation::ReadUncommitted,
            },
            Kw::REPEATABLE => {
                self.expect_kw(Kw::READ)?;
                Isolation::RepeatableRead
            }
            _ => Isolation::Serializable,
        })
    }

    fn set_password(&mut self) -> Result<Statement> {
        self.bump();
        let account = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
        let password = if self.eat_kw(Kw::TO) {
            self.expect_kw(Kw::RANDOM)?;
            None
        } else {
            self.assign_sign()?;
            Some(self.string()?.into())
        };
        let replace = if self.eat_kw(Kw::REPLACE) { Some(self.string()?.into()) } else { None };
        let retain_current = self.eat_kw(Kw::RETAIN);
        if retain_current {
            self.expect_kw(Kw::CURRENT)?;
            self.expect_kw(Kw::PASSWORD)?;
        }
        Ok(Statement::SetPassword(SetPassword { account, password, replace, retain_current }))
    }
}
