//! Transactions, FLUSH, LOCK, maintenance of tables, EXPLAIN.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn start_transaction(&mut self) -> Result<Statement> {
        if self.eat_kw(Kw::BEGIN) {
            self.eat_kw(Kw::WORK);
            return Ok(Statement::StartTransaction(StartTransaction::default()));
        }
        self.expect_kw(Kw::START)?;
        self.expect_kw(Kw::TRANSACTION)?;
        let mut start = StartTransaction::default();
        if self.at_end() {
            return Ok(Statement::StartTransaction(start));
        }
        let mut contradicts = false;
        loop {
            if self.eat_phrase(&[Kw::WITH, Kw::CONSISTENT, Kw::SNAPSHOT])? {
                start.consistent_snapshot = true;
            } else {
                self.expect_kw(Kw::READ)?;
                let read_only = self.expect_any(&[Kw::ONLY, Kw::WRITE])? == Kw::ONLY;
                contradicts |= start.read_only.replace(read_only).is_some_and(|r| r != read_only);
            }
            if !self.eat(TokenKind::Comma) {
                // MySQL complains of what follows the list.
                if contradicts {
                    return self.fail();
                }
                return Ok(Statement::StartTransaction(start));
            }
        }
    }

    pub(crate) fn completion(&mut self) -> Result<Completion> {
        self.eat_kw(Kw::WORK);
        let mut completion = Completion::default();
        if self.eat_kw(Kw::AND) {
            let no = self.eat_kw(Kw::NO);
            self.expect_kw(Kw::CHAIN)?;
            completion.chain = Some(!no);
        }
        let no = self.eat_kw(Kw::NO);
        if no || (completion.chain != Some(true) && self.kw() == Kw::RELEASE) {
            self.expect_kw(Kw::RELEASE)?;
            completion.release = Some(!no);
        }
        Ok(completion)
    }

    pub(crate) fn rollback(&mut self) -> Result<Statement> {
        self.bump();
        self.eat_kw(Kw::WORK);
        if self.eat_kw(Kw::TO) {
            self.eat_kw(Kw::SAVEPOINT);
            return Ok(Statement::RollbackTo(self.ident()?));
        }
        Ok(Statement::Rollback(self.completion()?))
    }

    pub(crate) fn kill(&mut self) -> Result<Statement> {
        self.bump();
        let query = self.eat_any(&[Kw::CONNECTION, Kw::QUERY]) == Some(Kw::QUERY);
        Ok(Statement::Kill(Kill { query, id: self.expr()? }))
    }

    pub(crate) fn flush(&mut self) -> Result<Statement> {
        self.bump();
        let local = self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some();
        let targets = match self.kw() {
            Kw::TABLES | Kw::TABLE => vec![self.flush_tables()?],
            _ => self.comma_list(Self::flush_target)?,
        };
        Ok(Statement::Flush(Flush { local, targets }))
    }

    fn flush_tables(&mut self) -> Result<FlushTarget> {
        self.bump();
        let named = self.at_name();
        let tables = if named { self.comma_list(Self::object_name)? } else { Vec::new() };
        let (mut read_lock, mut for_export) = (false, false);
        if self.eat_kw(Kw::WITH) {
            self.expect_kw(Kw::READ)?;
            self.expect_kw(Kw::LOCK)?;
            read_lock = true;
        } else if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::EXPORT)?;
            for_export = true;
        }
        Ok(FlushTarget::Tables { tables, read_lock, for_export })
    }

    fn flush_target(&mut self) -> Result<FlushTarget> {
        let word = self.expect_any(&[
            Kw::ERROR,
            Kw::ENGINE,
            Kw::GENERAL,
            Kw::SLOW,
            Kw::BINARY,
            Kw::RELAY,
            Kw::LOGS,
            Kw::PRIVILEGES,
            Kw::STATUS,
            Kw::USER_RESOURCES,
            Kw::OPTIMIZER_COSTS,
        ])?;
        Ok(match word {
            Kw::PRIVILEGES => FlushTarget::Privileges,
            Kw::STATUS => FlushTarget::Status,
            Kw::LOGS | Kw::USER_RESOURCES | Kw::OPTIMIZER_COSTS => {
                FlushTarget::Other(word.text().to_string())
            }
            _ => {
                self.expect_kw(Kw::LOGS)?;
                let mut text = format!("{} LOGS", word.text());
                if word == Kw::RELAY
                    && let Some(channel) = self.channel()?
                {
                    text = format!("{text} FOR CHANNEL {channel}");
                }
                FlushTarget::Other(text)
            }
        })
    }

    pub(crate) fn lock_tables(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_kw(Kw::INSTANCE) {
            self.expect_kw(Kw::FOR)?;
            self.expect_kw(Kw::BACKUP)?;
            return Ok(Statement::LockInstance);
        }
        self.expect_any(&[Kw::TABLES, Kw::TABLE])?;
        let tables = self.comma_list(|p| {
            let table = p.object_name()?;
            let aliased = p.eat_kw(Kw::AS) || p.at_name();
            let alias = if aliased { Some(p.alias()?) } else { None };
            if p.eat_kw(Kw::LOW_PRIORITY) {
                p.expect_kw(Kw::WRITE)?;
                return Ok(LockTable { table, alias, kind: LockKind::Write });
            }
            let kind = match p.expect_any(&[Kw::READ, Kw::WRITE])? {
                Kw::WRITE => LockKind::Write,
                _ if p.eat_kw(Kw::LOCAL) => LockKind::ReadLocal,
                _ => LockKind::Read,
            };
            Ok(LockTable { table, alias, kind })
        })?;
        Ok(Statement::LockTables(tables, self.ddl_wait()?))
    }

    pub(crate) fn maintain(&mut self, verb: MaintainVerb) -> Result<Statement> {
        self.bump();
        let logged = matches!(verb, MaintainVerb::Check | MaintainVerb::Checksum);
        let local = !logged && self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some();
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        let tables = self.comma_list(Self::object_name)?;
        let wait = if verb == MaintainVerb::Optimize { self.ddl_wait()? } else { None };
        let mut options = self.maintain_options(verb)?;
        let mut histogram = None;
        if verb == MaintainVerb::Analyze
            && let Some(word) = self.eat_any(&[Kw::UPDATE, Kw::DROP])
        {
            options.push(word.text().to_string());
            histogram = Some(self.histogram(word == Kw::DROP)?);
        }
        Ok(Statement::Maintain(Maintain { verb, local, tables, options, histogram, wait }))
    }

    /// The words behind the table list; each verb has its own.
    pub(crate) fn maintain_options(&mut self, verb: MaintainVerb) -> Result<Vec<String>> {
        let words: &[Kw] = match verb {
            MaintainVerb::Check => {
                &[Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED, Kw::FOR]
            }
            MaintainVerb::Checksum => &[Kw::QUICK, Kw::EXTENDED],
            MaintainVerb::Repair => &[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM],
            MaintainVerb::Analyze | MaintainVerb::Optimize => &[],
        };
        let mut options = Vec::new();
        while words.contains(&self.kw()) {
            let word = self.bump();
            options.push(String::from_utf8_lossy(word.text(self.sql)).to_ascii_uppercase());
            match word.kw {
                Kw::FOR => {
                    self.expect_kw(Kw::UPGRADE)?;
                }
                _ if verb == MaintainVerb::Checksum => break,
                _ => {}
            }
        }
        Ok(options)
    }

    /// `HISTOGRAM ON columns ...` behind UPDATE or DROP.
    fn histogram(&mut self, drop: bool) -> Result<Histogram> {
        self.expect_kw(Kw::HISTOGRAM)?;
        self.expect_kw(Kw::ON)?;
        let columns = self.comma_list(Self::ident)?;
        let mut histogram = Histogram { drop, columns, buckets: None, data: None, auto: None };
        if drop {
            return Ok(histogram);
        }
        if self.eat_kw(Kw::USING) {
            self.expect_kw(Kw::DATA)?;
            histogram.data = Some(self.string()?);
            return Ok(histogram);
        }
        if self.eat_kw(Kw::WITH) {
            histogram.buckets = Some(u64::from(self.unsigned32()?));
            self.expect_kw(Kw::BUCKETS)?;
        }
        if let Some(word) = self.eat_any(&[Kw::AUTO, Kw::MANUAL]) {
            self.expect_kw(Kw::UPDATE)?;
            histogram.auto = Some(word == Kw::AUTO);
        }
        Ok(histogram)
    }

    /// EXPLAIN, DESCRIBE and DESC.
    pub(crate) fn explain(&mut self) -> Result<Statement> {
        self.bump();
        let analyze = self.eat_kw(Kw::ANALYZE);
        let (mut format, mut into, mut schema) = (None, None, None);
        if self.kw() == Kw::FORMAT && self.nth(1).kind == TokenKind::Eq {
            self.bump();
            self.bump();
            format = Some(self.ident_or_text()?);
        }
        if self.eat_kw(Kw::INTO) {
            into = Some(self.user_var_name()?);
        }
        if self.kw() == Kw::FOR && matches!(self.nth(1).kw, Kw::SCHEMA | Kw::DATABASE) {
            self.bump();
            self.bump();
            schema = Some(self.ident()?);
        }
        if schema.is_none() && self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::CONNECTION)?;
            let id = self.expr()?;
            let explain = Explain::Connection { format, into, id };
            return Ok(Statement::Explain(Box::new(explain)));
        }
        let explained = self.kind() == TokenKind::Open
            || matches!(
                self.kw(),
                Kw::SELECT
                    | Kw::INSERT
                    | Kw::UPDATE
                    | Kw::DELETE
                    | Kw::REPLACE
                    | Kw::WITH
                    | Kw::TABLE
                    | Kw::VALUES
            );
        if explained {
            let statement = Box::new(self.nested(Self::statement)?);
            let explain = Explain::Statement { analyze, format, into, schema, statement };
            return Ok(Statement::Explain(Box::new(explain)));
        }
        if analyze || format.is_some() || into.is_some() || schema.is_some() {
            return self.fail();
        }
        let table = self.object_name()?;
        let pattern = if self.kind() == TokenKind::String {
            Some(self.string()?)
        } else if self.at_name() {
            Some(self.ident()?.into_bytes())
        } else {
            None
        };
        Ok(Statement::Explain(Box::new(Explain::Table { table, pattern })))
    }
}
