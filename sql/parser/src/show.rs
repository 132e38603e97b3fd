//! SHOW of every form.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::deprecated;
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    fn show_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.eat_kw(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        if self.eat_kw(Kw::WHERE) {
            return Ok(Some(ShowFilter::Where(self.expr()?)));
        }
        Ok(None)
    }

    fn schema_clause(&mut self) -> Result<Option<String>> {
        if self.eat_any(&[Kw::FROM, Kw::IN]).is_some() { self.ident().map(Some) } else { Ok(None) }
    }

    /// `FROM table [FROM schema]`.
    fn table_clause(&mut self) -> Result<ObjectName> {
        self.expect_any(&[Kw::FROM, Kw::IN])?;
        let mut table = self.object_name()?;
        if let Some(schema) = self.schema_clause()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    pub(crate) fn show(&mut self) -> Result<Statement> {
        self.bump();
        Ok(Statement::Show(Box::new(self.show_what()?)))
    }

    fn show_what(&mut self) -> Result<Show> {
        let extended = self.eat_kw(Kw::EXTENDED);
        let full = self.eat_kw(Kw::FULL);
        if extended || full {
            // INDEX takes EXTENDED, TRIGGERS and PROCESSLIST take FULL, the others take both.
            let takes = matches!(self.kw(), Kw::TABLES | Kw::COLUMNS | Kw::FIELDS)
                || (!full && matches!(self.kw(), Kw::INDEX | Kw::INDEXES | Kw::KEYS))
                || (!extended && matches!(self.kw(), Kw::TRIGGERS | Kw::PROCESSLIST));
            if !takes {
                return self.fail();
            }
        }
        let scope = self.scope_word().filter(|s| matches!(s, Scope::Global | Scope::Session));
        if scope.is_some() {
            if !matches!(self.nth(1).kw, Kw::STATUS | Kw::VARIABLES) {
                self.bump();
                return self.fail();
            }
            self.bump();
        }
        let global = scope == Some(Scope::Global);
        if self.kw() == Kw::COUNT {
            self.bump();
            self.expect(TokenKind::Open)?;
            self.expect(TokenKind::Star)?;
            self.expect(TokenKind::Close)?;
            let warnings = self.expect_any(&[Kw::WARNINGS, Kw::ERRORS])? == Kw::WARNINGS;
            return Ok(if warnings { Show::CountWarnings } else { Show::CountErrors });
        }
        let place = self.place();
        let word = self.bump();
        Ok(match word.kw {
            Kw::DATABASES | Kw::SCHEMAS => Show::Databases(self.show_filter()?),
            Kw::TABLES => Show::Tables {
                extended,
                full,
                schema: self.schema_clause()?,
                filter: self.show_filter()?,
            },
            Kw::TABLE => {
                self.expect_kw(Kw::STATUS)?;
                Show::TableStatus { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::OPEN => {
                self.expect_kw(Kw::TABLES)?;
                Show::OpenTables { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::COLUMNS | Kw::FIELDS => {
                let table = self.table_clause()?;
                Show::Columns { extended, full, table, filter: self.show_filter()? }
            }
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => {
                let table = self.table_clause()?;
                let filter = if self.eat_kw(Kw::WHERE) { Some(self.expr()?) } else { None };
                Show::Index { extended, table, filter }
            }
            Kw::PROCESSLIST => Show::ProcessList { full },
            Kw::STATUS => Show::Status { global, filter: self.show_filter()? },
            Kw::VARIABLES => Show::Variables { global, filter: self.show_filter()? },
            Kw::WARNINGS => Show::Warnings(self.limit_clause()?),
            Kw::ERRORS => Show::Errors(self.limit_clause()?),
            Kw::CREATE => self.show_create()?,
            Kw::STORAGE => {
                self.expect_kw(Kw::ENGINES)?;
                Show::Engines
            }
            Kw::ENGINES => Show::Engines,
            Kw::ENGINE => {
                let engine = match self.eat_kw(Kw::ALL) {
                    true => "ALL".to_string(),
                    false => self.ident_or_text()?,
                };
                let what = self.expect_any(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS])?;
                Show::Engine(engine, what.text().to_string())
            }
            Kw::COLLATION => Show::Collation(self.show_filter()?),
            Kw::CHARSET => Show::Charset(self.show_filter()?),
            Kw::CHARACTER | Kw::CHAR => {
                self.expect_kw(Kw::SET)?;
                Show::Charset(self.show_filter()?)
            }
            Kw::GRANTS => {
                if !self.eat_kw(Kw::FOR) {
                    return Ok(Show::Grants(None));
                }
                let account = self.account()?;
                if !self.eat_kw(Kw::USING) {
                    return Ok(Show::Grants(Some(account)));
                }
                Show::GrantsUsing(account, self.comma_list(Self::account)?)
            }
            Kw::PRIVILEGES => Show::Privileges,
            Kw::PLUGINS => Show::Plugins,
            Kw::TRIGGERS => {
                Show::Triggers { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::EVENTS => {
                Show::Events { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::PROCEDURE | Kw::FUNCTION => {
                let function = word.kw == Kw::FUNCTION;
                match self.expect_any(&[Kw::STATUS, Kw::CODE])? {
                    Kw::CODE => Show::Code(function, self.object_name()?),
                    _ if function => Show::FunctionStatus(self.show_filter()?),
                    _ => Show::ProcedureStatus(self.show_filter()?),
                }
            }
            Kw::BINARY => match self.expect_any(&[Kw::LOG, Kw::LOGS])? {
                Kw::LOGS => Show::BinaryLogs,
                _ => {
                    self.expect_kw(Kw::STATUS)?;
                    Show::BinaryLogStatus
                }
            },
            Kw::REPLICA => {
                self.expect_kw(Kw::STATUS)?;
                Show::ReplicaStatus(self.channel()?)
            }
            Kw::BINLOG | Kw::RELAYLOG => self.binlog_events(word.kw == Kw::RELAYLOG)?,
            Kw::REPLICAS => Show::Replicas,
            Kw::PROFILES => {
                self.warn(deprecated::SHOW_PROFILES);
                Show::Profiles
            }
            Kw::PROFILE => {
                self.profile()?;
                self.warn(deprecated::SHOW_PROFILE);
                Show::Profile
            }
            Kw::PARSE_TREE => {
                let statement = self.nested(Self::statement)?;
                Show::ParseTree(Box::new(statement))
            }
            _ => {
                self.rewind(place);
                return self.fail();
            }
        })
    }

    fn binlog_events(&mut self, relay: bool) -> Result<Show> {
        self.expect_kw(Kw::EVENTS)?;
        let log = if self.eat_kw(Kw::IN) { Some(self.string()?) } else { None };
        let from = if self.eat_kw(Kw::FROM) { Some(self.unsigned()?) } else { None };
        let limit = self.limit_clause()?;
        let channel = if relay { self.channel()? } else { None };
        Ok(Show::BinlogEvents { relay, log, from, limit, channel })
    }

    /// `[type, ...] [FOR QUERY n] [LIMIT ...]`
    fn profile(&mut self) -> Result<()> {
        let words = [
            Kw::CPU,
            Kw::MEMORY,
            Kw::BLOCK,
            Kw::CONTEXT,
            Kw::PAGE,
            Kw::IPC,
            Kw::SWAPS,
            Kw::SOURCE,
            Kw::ALL,
        ];
        if words.contains(&self.kw()) {
            self.comma_list(|p| match p.expect_any(&words)? {
                Kw::BLOCK => p.expect_kw(Kw::IO),
                Kw::CONTEXT => p.expect_kw(Kw::SWITCHES),
                Kw::PAGE => p.expect_kw(Kw::FAULTS),
                _ => Ok(()),
            })?;
        }
        if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::QUERY)?;
            self.unsigned()?;
        }
        self.limit_clause()?;
        Ok(())
    }

    fn show_create(&mut self) -> Result<Show> {
        let place = self.place();
        let word = self.bump();
        Ok(match word.kw {
            Kw::TABLE => Show::CreateTable(self.object_name()?),
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                Show::CreateDatabase { if_not_exists, name: self.ident()? }
            }
            Kw::USER => Show::CreateUser(self.account()?),
            Kw::VIEW | Kw::TRIGGER | Kw::PROCEDURE | Kw::FUNCTION | Kw::EVENT => {
                let kind = String::from_utf8_lossy(word.text(self.sql)).to_ascii_uppercase();
                Show::CreateOther(kind, self.object_name()?)
            }
            _ => {
                self.rewind(place);
                return self.fail();
            }
        })
    }
}
