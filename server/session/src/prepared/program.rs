//! From the text of a prepared statement to the program that it runs, which other sessions may have made.
//!
//! 1. A text is compiled once for all sessions that have the same settings and schema; what was made for definitions that
//! are gone is replaced. 2. A statement whose definitions changed gets another program in its place when it is run next.

use crate::core::{Core, PreparedStatement, Runner, StatementCode};
use crate::errors::{self, SessionError};
use crate::prepared_list::Listed;
use crate::shared_programs::{Key, Pinned, SharedProgram, Surroundings};
use crate::statement;
use executor::{Prepared, SqlError};
use instrument::{Counter, count};
use parser::SqlMode;
use parser::ast::Statement;
use parser::cut;
use std::sync::Arc;

impl Core {
    /// Compiles a text; the metadata locks that it took for that are given back.
    pub(super) fn make(&mut self, sql: &[u8]) -> Result<PreparedStatement, SqlError> {
        let mark = self.tables.mark();
        let made = self.make_locked(sql);
        self.tables.end_statement(self.client.slot());
        if self.transaction.open {
            self.tables.release_since(self.client.slot(), mark);
        } else {
            self.tables.release_all(self.client.slot());
        }
        made
    }

    fn make_locked(&mut self, sql: &[u8]) -> Result<PreparedStatement, SqlError> {
        let max = self.env.server.globals.number("max_prepared_stmt_count");
        if self.env.server.statements_open().max(0) as u64 >= max {
            return Err(SessionError::TooManyStatements(&max.to_string()).into());
        }
        let key = self.open_key(sql);
        let mut stale = Vec::new();
        if let Some(key) = &key
            && let Some(one) = self.adopt_open(key, &mut stale)?
        {
            return Ok(one);
        }
        let parsed = self.parse_next(sql, 0, true).map_err(|e| errors::parse(&e, sql))?;
        if parsed.more {
            return Err(statement::refuse_second(sql, parsed.end));
        }
        self.warn_of_text(&parsed.warnings);
        let kind = parsed.kind;
        if !kind.preparable {
            return Err(SessionError::NotPreparable.into());
        }
        let (params, digest) = (parsed.params, parsed.digest.map(Arc::new));
        let key = key.filter(|_| parsed.warnings.is_empty());
        let text = key.as_ref().map_or_else(|| Arc::from(sql), |key| Arc::clone(&key.text));
        let read_as = key.as_ref().map(|_| self.env.cached.parser_mode);
        let program = match (parsed.statement, kind.runner) {
            (Statement::Call(call), _) => return Err(self.no_procedure(&call.name)),
            (refused, Runner::Refused(words)) => return Err(errors::unsupported(words(&refused))),
            (statement, Runner::Executor) => {
                let hinted = self.set_hinted(&statement, true);
                let made = self.compile_open(statement, params, digest.clone());
                self.unset_hinted(hinted);
                let made = made?;
                if let Some(key) = key {
                    self.publish(&key, (&made, Pinned::default(), params), &stale);
                }
                self.compiled(made)
            }
            (statement, _) => StatementCode::Session(Box::new(statement)),
        };
        Ok(PreparedStatement::new(
            program,
            (text, read_as),
            params,
            kind,
            (digest, self.schema_of_prepare()),
        ))
    }

    /// What other sessions' statements of this text are found by; `None`: there are none.
    fn open_key(&self, sql: &[u8]) -> Option<Key> {
        // Elsewhere what is written is converted from the client's character set.
        let converted = !(self.env.cached.charsets.keeps_literals || sql.is_ascii());
        let shared = self.may_keep_programs()
            && !converted
            && cut::stands_alone(sql, self.env.cached.parser_mode);
        shared.then(|| Key {
            text: sql.into(),
            is_cut: false,
            parameters: Box::default(),
            surroundings: Surroundings {
                settings: self.settings(),
                database: self.env.database.clone(),
            },
        })
    }

    /// Prepares a text with a program that was made before, here or in another session.
    fn adopt_open(
        &mut self,
        key: &Key,
        stale: &mut Vec<Arc<SharedProgram>>,
    ) -> Result<Option<PreparedStatement>, SqlError> {
        let Some((made, shared)) = self.adopt_whole(key, stale)? else { return Ok(None) };
        let kind = (self.describe)(made.statement());
        let home = (made.digest().cloned(), self.schema_of_prepare());
        let program = self.compiled(made);
        let text = (Arc::clone(&shared.text), Some(self.env.cached.parser_mode));
        Ok(Some(PreparedStatement::new(program, text, shared.params, kind, home)))
    }

    /// A program of a text with markers that another session has made; those that are stale go to `stale`.
    fn adopt_whole(
        &mut self,
        key: &Key,
        stale: &mut Vec<Arc<SharedProgram>>,
    ) -> Result<Option<(Prepared, Arc<SharedProgram>)>, SqlError> {
        for shared in self.env.server.programs.find(key, |_| true) {
            let mark = self.tables.mark();
            if let Some(made) = shared.program.adopt(&mut self.context())? {
                count(Counter::LimpidPlanCacheSharedHits, 1);
                return Ok(Some((made, shared)));
            }
            // It may have locked what the statement does not name any more.
            self.tables.release_since(self.client.slot(), mark);
            stale.push(shared);
        }
        Ok(None)
    }

    /// Locks the tables of a prepared statement. Where its program is not the one to be run, it has another one from
    /// now on: another session's, or a new one.
    #[inline]
    pub(super) fn lock_prepared(
        &mut self,
        prepared: &mut Prepared,
        text: (&[u8], Option<SqlMode>, usize),
        listed: Option<&Listed>,
    ) -> Result<(), SqlError> {
        match prepared.lock(&mut self.context())? {
            true => Ok(()),
            false => {
                if let Some(listed) = listed {
                    listed.row.is_reprepared();
                }
                self.renew(prepared, text)
            }
        }
    }

    #[cold]
    fn renew(
        &mut self,
        prepared: &mut Prepared,
        (sql, read_as, params): (&[u8], Option<SqlMode>, usize),
    ) -> Result<(), SqlError> {
        // Its tree is that of the text as it was read then.
        let is_read_alike = read_as == Some(self.env.cached.parser_mode);
        let mut key = if is_read_alike { self.open_key(sql) } else { None };
        let mut stale = Vec::new();
        if let Some(key) = &mut key {
            key.parameters = prepared.parameters().into();
            if let Some((made, _)) = self.adopt_whole(key, &mut stale)? {
                prepared.take_over(made);
                return Ok(());
            }
        }
        prepared.compile_again(&mut self.context())?;
        if let Some(key) = key {
            self.publish(&key, (prepared, Pinned::default(), params), &stale);
        }
        Ok(())
    }

    /// Raises the warnings of a program that is prepared.
    fn compiled(&mut self, mut made: Prepared) -> StatementCode {
        made.announce(&mut self.env);
        StatementCode::Compiled(Box::new(made))
    }
}
