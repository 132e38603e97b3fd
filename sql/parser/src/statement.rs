//! One statement of a text: its first words decide who parses it.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::deprecated::Warning;
use crate::digest::{Digest, DigestLimits};
use crate::error::{ErrorKind, ParseError};
use crate::keywords::Kw;
use crate::mode::SqlMode;
use crate::refused::Refused;
use crate::token::TokenKind;

/// One statement of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// Its tree.
    pub statement: Statement,
    /// Byte offset behind the statement and its `;`.
    pub next: usize,
    /// Number of `?` markers.
    pub params: u32,
    /// Its digest, if one was asked for.
    pub digest: Option<Digest>,
    /// Warnings about what is written.
    pub warnings: Vec<Warning>,
}

/// Parses a text that holds one statement, without parameter markers.
///
/// # Errors
/// Where and why it is not SQL.
pub fn parse(sql: &[u8], mode: SqlMode) -> std::result::Result<Statement, ParseError> {
    let parsed = parse_next(sql, 0, mode, false)?;
    let follows = crate::lex::Lexer::new(sql, parsed.next, mode).next_token();
    if follows.kind == TokenKind::End {
        return Ok(parsed.statement);
    }
    Err(ParseError { kind: ErrorKind::Syntax, offset: follows.start as usize, line: 1 })
}

/// Parses the statement that begins at `from`; `?` is allowed when `allow_params`.
///
/// # Errors
/// Where and why it is not SQL; [`ErrorKind::Empty`] when nothing is there.
pub fn parse_next(
    sql: &[u8],
    from: usize,
    mode: SqlMode,
    allow_params: bool,
) -> std::result::Result<Parsed, ParseError> {
    parse_digested(sql, from, mode, allow_params, DigestLimits::NONE)
}

/// As [`parse_next`]; the same pass over the text makes a digest of these limits.
///
/// # Errors
/// As [`parse_next`].
pub fn parse_digested(
    sql: &[u8],
    from: usize,
    mode: SqlMode,
    allow_params: bool,
    digest_limits: DigestLimits,
) -> std::result::Result<Parsed, ParseError> {
    let mut parser = Parser::new(sql, from, mode, digest_limits);
    parser.allow_params = allow_params;
    if parser.at_end() {
        return parser.fail_with(ErrorKind::Empty);
    }
    let statement = parser.statement()?;
    if !parser.at_end() {
        return parser.fail();
    }
    Ok(parser.finish(statement))
}

impl Parser<'_> {
    pub(crate) fn statement(&mut self) -> Result<Statement> {
        match self.kw() {
            Kw::SELECT | Kw::VALUES | Kw::TABLE => self.query_statement(),
            _ if self.kind() == TokenKind::Open => self.query_statement(),
            Kw::WITH => self.with_statement(),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(None),
            Kw::DELETE => self.delete(None),
            Kw::DO => {
                self.bump();
                Ok(Statement::Do(self.comma_list(Self::do_item)?))
            }
            Kw::DESC | Kw::DESCRIBE | Kw::EXPLAIN => self.explain(),
            Kw::CREATE => self.create(),
            Kw::DROP => self.drop_statement(),
            Kw::ALTER => self.alter(),
            Kw::TRUNCATE => {
                self.bump();
                self.eat_kw(Kw::TABLE);
                Ok(Statement::Ddl(Ddl::Truncate(self.object_name()?, self.ddl_wait()?)))
            }
            Kw::START if matches!(self.nth(1).kw, Kw::REPLICA | Kw::GROUP_REPLICATION) => {
                self.start_replication()
            }
            Kw::BEGIN | Kw::START => self.start_transaction(),
            Kw::COMMIT => {
                self.bump();
                Ok(Statement::Commit(self.completion()?))
            }
            Kw::ROLLBACK => self.rollback(),
            Kw::SAVEPOINT => {
                self.bump();
                Ok(Statement::Savepoint(self.ident()?))
            }
            Kw::RELEASE => {
                self.bump();
                self.expect_kw(Kw::SAVEPOINT)?;
                Ok(Statement::ReleaseSavepoint(self.ident()?))
            }
            Kw::SET => self.set(),
            Kw::SHOW => self.show(),
            Kw::USE => {
                self.bump();
                Ok(Statement::Use(self.ident()?))
            }
            Kw::KILL => self.kill(),
            Kw::SHUTDOWN => {
                self.bump();
                Ok(Statement::Shutdown)
            }
            Kw::FLUSH => self.flush(),
            Kw::LOCK => self.lock_tables(),
            Kw::UNLOCK => {
                self.bump();
                if self.eat_kw(Kw::INSTANCE) {
                    return Ok(Statement::UnlockInstance);
                }
                self.expect_any(&[Kw::TABLES, Kw::TABLE])?;
                Ok(Statement::UnlockTables)
            }
            Kw::ANALYZE => self.maintain(MaintainVerb::Analyze),
            Kw::CHECK => self.maintain(MaintainVerb::Check),
            Kw::CHECKSUM => self.maintain(MaintainVerb::Checksum),
            Kw::OPTIMIZE => self.maintain(MaintainVerb::Optimize),
            Kw::REPAIR => self.maintain(MaintainVerb::Repair),
            Kw::PREPARE | Kw::EXECUTE | Kw::DEALLOCATE => self.dynamic(),
            Kw::RESET => self.reset(),
            Kw::RENAME => self.rename(),
            _ => self.other_statement(),
        }
    }

    /// An element of DO: MySQL takes a select list and drops its aliases.
    fn do_item(&mut self) -> Result<Expr> {
        if self.kind() == TokenKind::Star {
            return self.fail_with(Refused::NoTables);
        }
        let expr = self.expr()?;
        self.optional_alias(true)?;
        Ok(expr)
    }

    fn with_statement(&mut self) -> Result<Statement> {
        let place = self.place();
        let with = self.with_clause()?;
        match self.kw() {
            Kw::UPDATE => self.update(with),
            Kw::DELETE => self.delete(with),
            _ => {
                self.rewind(place);
                self.query_statement()
            }
        }
    }

    fn dynamic(&mut self) -> Result<Statement> {
        match self.bump().kw {
            Kw::PREPARE => {
                let name = self.ident()?;
                self.expect_kw(Kw::FROM)?;
                let source = if self.kind() == TokenKind::String {
                    PrepareSource::Text(self.string()?)
                } else {
                    PrepareSource::UserVar(self.user_var_name()?)
                };
                Ok(Statement::Prepare(Prepare { name, source }))
            }
            Kw::EXECUTE => {
                let name = self.ident()?;
                let using = if self.eat_kw(Kw::USING) {
                    self.comma_list(Self::user_var_name)?
                } else {
                    Vec::new()
                };
                Ok(Statement::Execute(Execute { name, using }))
            }
            _ => {
                self.expect_kw(Kw::PREPARE)?;
                Ok(Statement::Deallocate(self.ident()?))
            }
        }
    }

    fn rename(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_some() {
            let mut wait = None;
            let pairs = self.comma_list(|p| {
                let from = p.object_name()?;
                wait = p.ddl_wait()?.or(wait);
                p.expect_kw(Kw::TO)?;
                Ok((from, p.object_name()?))
            })?;
            return Ok(Statement::Ddl(Ddl::RenameTable(pairs, wait)));
        }
        self.expect_kw(Kw::USER)?;
        let pairs = self.comma_list(|p| {
            let from = p.account()?;
            p.expect_kw(Kw::TO)?;
            Ok((from, p.account()?))
        })?;
        Ok(Statement::RenameUser(pairs))
    }

    /// Administration and stored programs.
    fn other_statement(&mut self) -> Result<Statement> {
        match self.kw() {
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            Kw::CALL => self.call_procedure(),
            Kw::HANDLER => self.handler(),
            Kw::LOAD => self.load(),
            Kw::XA => self.xa(),
            Kw::BINLOG => self.binlog(),
            Kw::CHANGE => self.change(),
            Kw::STOP => self.stop(),
            Kw::PURGE => self.purge(),
            Kw::INSTALL => self.install(),
            Kw::UNINSTALL => self.uninstall(),
            Kw::CLONE => self.clone_statement(),
            Kw::IMPORT => self.import(),
            Kw::CACHE => self.cache_index(),
            Kw::SIGNAL | Kw::RESIGNAL => self.signal(),
            Kw::GET => self.get_diagnostics(),
            Kw::HELP => {
                self.bump();
                Ok(Statement::Help(self.ident_or_text()?))
            }
            Kw::RESTART => {
                self.bump();
                Ok(Statement::Restart)
            }
            _ => self.fail(),
        }
    }
}
