//! Bodies of stored programs: blocks, control flow, cursors, conditions.
//!
//! 1. A `;` inside a body ends a statement of the body; the tokens behind it are read when it is passed.
//! 2. Labels are checked as they are met: a block's or loop's label is in scope within it, and a handler's body sees
//!    none of those around it.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::refused::Refused;
use crate::token::TokenKind;

/// What the parser knows inside of a stored program's body.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// RETURN is allowed.
    function: bool,
    /// Labels in scope, innermost last; true for a loop's.
    labels: Vec<(String, bool)>,
    /// Conditions declared so far.
    conditions: Vec<String>,
}

impl Parser<'_> {
    /// Enters a body.
    pub(crate) fn begin_program(&mut self, function: bool) {
        self.program = Some(Scope { function, ..Scope::default() });
    }

    /// Leaves the body.
    pub(crate) fn end_program(&mut self) -> Result<()> {
        self.program = None;
        Ok(())
    }

    /// One statement of a body, without its `;`.
    pub(crate) fn program_statement(&mut self) -> Result<Program> {
        self.nested(Self::program_statement_here)
    }

    fn program_statement_here(&mut self) -> Result<Program> {
        if self.at_label() && self.nth(1).kind == TokenKind::Colon {
            return self.labelled();
        }
        match self.kw() {
            Kw::BEGIN => self.block(None).map(Program::Block),
            Kw::IF => self.if_statement(),
            Kw::CASE => self.case_statement(),
            Kw::LOOP | Kw::WHILE | Kw::REPEAT => self.loop_statement(None),
            Kw::LEAVE | Kw::ITERATE => {
                let leave = self.bump().kw == Kw::LEAVE;
                let label = self.known_label(leave)?;
                Ok(if leave { Program::Leave(label) } else { Program::Iterate(label) })
            }
            Kw::RETURN => {
                if !self.program.as_ref().is_some_and(|scope| scope.function) {
                    return self.fail_with(Refused::NoFunction);
                }
                self.bump();
                Ok(Program::Return(self.expr()?))
            }
            Kw::OPEN => {
                self.bump();
                Ok(Program::Open(self.ident()?))
            }
            Kw::CLOSE => {
                self.bump();
                Ok(Program::Close(self.ident()?))
            }
            Kw::FETCH => {
                self.bump();
                if self.kw() == Kw::NEXT && self.nth(1).kw == Kw::FROM {
                    self.bump();
                }
                self.eat_kw(Kw::FROM);
                let cursor = self.ident()?;
                self.expect_kw(Kw::INTO)?;
                Ok(Program::Fetch { cursor, into: self.comma_list(Self::ident)? })
            }
            // Any other name can only be a label.
            _ if self.at_label() && self.kw() != Kw::BINLOG => self.labelled(),
            _ => Ok(Program::Sql(Box::new(self.statement()?))),
        }
    }

    /// The current token may be a label: a name but for words that start statements.
    fn at_label(&self) -> bool {
        self.at_name() && !no_label(self.kw())
    }

    /// `label: BEGIN .. END [label]`, or a loop with a label.
    fn labelled(&mut self) -> Result<Program> {
        let label = self.ident()?;
        self.expect(TokenKind::Colon)?;
        let block = self.kw() == Kw::BEGIN;
        if !block && !matches!(self.kw(), Kw::LOOP | Kw::WHILE | Kw::REPEAT) {
            return self.fail();
        }
        let Some(scope) = &mut self.program else {
            return self.fail();
        };
        if scope.labels.iter().any(|(known, _)| known.eq_ignore_ascii_case(&label)) {
            return self.fail_with(Refused::SameLabel(&label));
        }
        scope.labels.push((label.clone(), !block));
        let made = match block {
            true => Program::Block(self.block(Some(label.clone()))?),
            false => self.loop_statement(Some(label.clone()))?,
        };
        if let Some(scope) = &mut self.program {
            scope.labels.pop();
        }
        if self.at_name() {
            let end = self.ident()?;
            if !end.eq_ignore_ascii_case(&label) {
                return self.fail_with(Refused::EndLabel(&end));
            }
        }
        Ok(made)
    }

    fn known_label(&mut self, leave: bool) -> Result<String> {
        let label = self.ident()?;
        let known = self.program.as_ref().is_some_and(|scope| {
            scope
                .labels
                .iter()
                .any(|(known, is_loop)| known.eq_ignore_ascii_case(&label) && (leave || *is_loop))
        });
        if known {
            return Ok(label);
        }
        let verb = if leave { "LEAVE" } else { "ITERATE" };
        self.fail_with(Refused::NoLabel(verb, &label))
    }

    /// `BEGIN [DECLARE ..;]* [statement;]* END`.
    fn block(&mut self, label: Option<String>) -> Result<Block> {
        self.expect_kw(Kw::BEGIN)?;
        let mut declarations = Vec::new();
        while self.kw() == Kw::DECLARE {
            declarations.push(self.declaration()?);
            self.semicolon()?;
        }
        let mut body = Vec::new();
        while !self.eat_kw(Kw::END) {
            body.push(self.program_statement()?);
            self.semicolon()?;
        }
        Ok(Block { label, declarations, body })
    }

    /// At least one statement, each with its `;`, up to one of `ends`.
    fn statements(&mut self, ends: &[Kw]) -> Result<Vec<Program>> {
        let mut list = Vec::new();
        loop {
            list.push(self.program_statement()?);
            self.semicolon()?;
            if ends.contains(&self.kw()) {
                return Ok(list);
            }
        }
    }

    fn if_statement(&mut self) -> Result<Program> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        self.bump();
        loop {
            let condition = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            branches.push((condition, self.statements(&[Kw::ELSEIF, Kw::ELSE, Kw::END])?));
            if !self.eat_kw(Kw::ELSEIF) {
                break;
            }
        }
        if self.eat_kw(Kw::ELSE) {
            otherwise = Some(self.statements(&[Kw::END])?);
        }
        self.expect_kw(Kw::END)?;
        self.expect_kw(Kw::IF)?;
        Ok(Program::If { branches, otherwise })
    }

    fn case_statement(&mut self) -> Result<Program> {
        self.bump();
        let operand = if self.kw() == Kw::WHEN { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        let mut otherwise = None;
        self.expect_kw(Kw::WHEN)?;
        loop {
            let value = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            branches.push((value, self.statements(&[Kw::WHEN, Kw::ELSE, Kw::END])?));
            if !self.eat_kw(Kw::WHEN) {
                break;
            }
        }
        if self.eat_kw(Kw::ELSE) {
            otherwise = Some(self.statements(&[Kw::END])?);
        }
        self.expect_kw(Kw::END)?;
        self.expect_kw(Kw::CASE)?;
        Ok(Program::Case { operand, branches, otherwise })
    }

    fn loop_statement(&mut self, label: Option<String>) -> Result<Program> {
        let kind = self.bump().kw;
        let made = match kind {
            Kw::LOOP => Program::Loop { label, body: self.statements(&[Kw::END])? },
            Kw::WHILE => {
                let condition = self.expr()?;
                self.expect_kw(Kw::DO)?;
                Program::While { label, condition, body: self.statements(&[Kw::END])? }
            }
            _ => {
                let body = self.statements(&[Kw::UNTIL])?;
                self.expect_kw(Kw::UNTIL)?;
                Program::Repeat { label, body, until: self.expr()? }
            }
        };
        self.expect_kw(Kw::END)?;
        self.expect_kw(kind)?;
        Ok(made)
    }

    fn declaration(&mut self) -> Result<Declaration> {
        self.bump();
        if let Some(word) = self.eat_any(&[Kw::CONTINUE, Kw::EXIT]) {
            return self.handler_declaration(word == Kw::EXIT);
        }
        let first = self.ident()?;
        if self.eat_kw(Kw::CONDITION) {
            self.expect_kw(Kw::FOR)?;
            let value = self.error_condition()?;
            if let Some(scope) = &mut self.program {
                scope.conditions.push(first.clone());
            }
            return Ok(Declaration::Condition { name: first, value });
        }
        if self.eat_kw(Kw::CURSOR) {
            self.expect_kw(Kw::FOR)?;
            let query = Box::new(self.query_without_into()?);
            return Ok(Declaration::Cursor { name: first, query });
        }
        let mut names = vec![first];
        while self.eat(TokenKind::Comma) {
            names.push(self.ident()?);
        }
        let ty = self.data_type()?;
        let collation = self.optional_collation()?;
        let default = if self.eat_kw(Kw::DEFAULT) { Some(self.expr()?) } else { None };
        Ok(Declaration::Variables { names, ty, collation, default })
    }

    fn handler_declaration(&mut self, exit: bool) -> Result<Declaration> {
        self.expect_kw(Kw::HANDLER)?;
        self.expect_kw(Kw::FOR)?;
        let conditions = self.comma_list(|p| match p.kw() {
            Kw::SQLWARNING => {
                p.bump();
                Ok(ConditionValue::SqlWarning)
            }
            Kw::SQLEXCEPTION => {
                p.bump();
                Ok(ConditionValue::SqlException)
            }
            Kw::NOT => {
                p.bump();
                p.expect_kw(Kw::FOUND)?;
                Ok(ConditionValue::NotFound)
            }
            _ if p.at_name() => p.declared_condition(),
            _ => p.error_condition(),
        })?;
        let labels = self.program.as_mut().map(|scope| std::mem::take(&mut scope.labels));
        let body = Box::new(self.program_statement()?);
        if let (Some(scope), Some(labels)) = (&mut self.program, labels) {
            scope.labels = labels;
        }
        Ok(Declaration::Handler { exit, conditions, body })
    }

    /// The name of a condition that was declared.
    fn declared_condition(&mut self) -> Result<ConditionValue> {
        let name = self.ident()?;
        let known = self.program.as_ref().is_some_and(|scope| {
            scope.conditions.iter().any(|known| known.eq_ignore_ascii_case(&name))
        });
        if known {
            return Ok(ConditionValue::Name(name));
        }
        self.fail_with(Refused::NoCondition(&name))
    }

    /// An error number or `SQLSTATE [VALUE] 'xxxxx'`.
    fn error_condition(&mut self) -> Result<ConditionValue> {
        if self.kw() == Kw::SQLSTATE {
            return self.sqlstate();
        }
        let number = self.unsigned()?;
        if number == 0 {
            return self.fail_with(Refused::ZeroCondition);
        }
        Ok(ConditionValue::Number(number))
    }

    fn sqlstate(&mut self) -> Result<ConditionValue> {
        self.expect_kw(Kw::SQLSTATE)?;
        self.eat_kw(Kw::VALUE);
        let state = self.string()?;
        let well_formed = state.len() == 5
            && state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
            && !state.starts_with(b"00");
        if !well_formed {
            return self.fail_with(Refused::BadState(&String::from_utf8_lossy(&state)));
        }
        Ok(ConditionValue::SqlState(state))
    }

    /// SIGNAL and RESIGNAL.
    pub(crate) fn signal(&mut self) -> Result<Statement> {
        let resignal = self.bump().kw == Kw::RESIGNAL;
        let condition = match self.kw() {
            Kw::SQLSTATE => Some(self.sqlstate()?),
            _ if self.at_name() => Some(self.declared_condition()?),
            _ if resignal => None,
            _ => return self.fail(),
        };
        let mut items = Vec::new();
        if self.eat_kw(Kw::SET) {
            items = self.comma_list(|p| {
                let item = p.expect_any(&[
                    Kw::CLASS_ORIGIN,
                    Kw::SUBCLASS_ORIGIN,
                    Kw::CONSTRAINT_CATALOG,
                    Kw::CONSTRAINT_SCHEMA,
                    Kw::CONSTRAINT_NAME,
                    Kw::CATALOG_NAME,
                    Kw::SCHEMA_NAME,
                    Kw::TABLE_NAME,
                    Kw::COLUMN_NAME,
                    Kw::CURSOR_NAME,
                    Kw::MESSAGE_TEXT,
                    Kw::MYSQL_ERRNO,
                ])?;
                p.expect(TokenKind::Eq)?;
                Ok((item.text().to_string(), p.signal_value()?))
            })?;
        }
        Ok(Statement::Signal(Signal { resignal, condition, items }))
    }

    /// A literal, a variable or a column.
    fn signal_value(&mut self) -> Result<Expr> {
        match self.kind() {
            TokenKind::UserVar => Ok(Expr::UserVar(self.user_var_name()?)),
            TokenKind::SystemAt => Ok(Expr::SystemVar(self.system_var()?)),
            _ if self.at_name() => Ok(Expr::Column(self.column_ref()?)),
            TokenKind::Minus | TokenKind::Plus => self.fail(),
            _ => self.signed_literal(),
        }
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS ...`
    pub(crate) fn get_diagnostics(&mut self) -> Result<Statement> {
        self.bump();
        let stacked = self.eat_any(&[Kw::CURRENT, Kw::STACKED]) == Some(Kw::STACKED);
        self.expect_kw(Kw::DIAGNOSTICS)?;
        let mut condition = None;
        if self.eat_kw(Kw::CONDITION) {
            condition = Some(self.signal_value()?);
        }
        let of_condition = condition.is_some();
        let items = self.comma_list(|p| {
            let target = match p.kind() {
                TokenKind::UserVar => Expr::UserVar(p.user_var_name()?),
                _ => Expr::Column(ColumnRef { schema: None, table: None, column: p.ident()? }),
            };
            p.expect(TokenKind::Eq)?;
            let names: &[Kw] = match of_condition {
                false => &[Kw::NUMBER, Kw::ROW_COUNT],
                true => &[
                    Kw::CLASS_ORIGIN,
                    Kw::SUBCLASS_ORIGIN,
                    Kw::CONSTRAINT_CATALOG,
                    Kw::CONSTRAINT_SCHEMA,
                    Kw::CONSTRAINT_NAME,
                    Kw::CATALOG_NAME,
                    Kw::SCHEMA_NAME,
                    Kw::TABLE_NAME,
                    Kw::COLUMN_NAME,
                    Kw::CURSOR_NAME,
                    Kw::MESSAGE_TEXT,
                    Kw::MYSQL_ERRNO,
                    Kw::RETURNED_SQLSTATE,
                ],
            };
            Ok((target, p.expect_any(names)?.text().to_string()))
        })?;
        Ok(Statement::GetDiagnostics(GetDiagnostics { stacked, condition, items }))
    }
}

/// Words that may be names and never labels.
fn no_label(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::ASCII
            | Kw::BEGIN
            | Kw::BYTE
            | Kw::CACHE
            | Kw::CHARSET
            | Kw::CHECKSUM
            | Kw::CLONE
            | Kw::COMMENT
            | Kw::COMMIT
            | Kw::CONTAINS
            | Kw::DEALLOCATE
            | Kw::DO
            | Kw::END
            | Kw::EXECUTE
            | Kw::FLUSH
            | Kw::FOLLOWS
            | Kw::HANDLER
            | Kw::HELP
            | Kw::IMPORT
            | Kw::INSTALL
            | Kw::LANGUAGE
            | Kw::NO
            | Kw::PRECEDES
            | Kw::PREPARE
            | Kw::REPAIR
            | Kw::RESET
            | Kw::RESTART
            | Kw::ROLLBACK
            | Kw::SAVEPOINT
            | Kw::SHUTDOWN
            | Kw::SIGNED
            | Kw::SLAVE
            | Kw::START
            | Kw::STOP
            | Kw::TRUNCATE
            | Kw::UNICODE
            | Kw::UNINSTALL
            | Kw::XA
    )
}
