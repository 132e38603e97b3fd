//! CREATE, ALTER and DROP: what stands behind the verb decides; schemas and indexes.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::refused::Refused;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `CREATE ...`; what it creates decides.
    pub(crate) fn create(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::CREATE)?;
        match self.kw() {
            Kw::TEMPORARY => {
                self.bump();
                if self.kw() == Kw::TABLE { self.create_table(true) } else { self.fail() }
            }
            Kw::TABLE => self.create_table(false),
            Kw::DATABASE | Kw::SCHEMA => self.create_database(),
            Kw::INDEX => self.create_index(IndexKind::Plain),
            Kw::UNIQUE | Kw::FULLTEXT => {
                let kind = match self.bump().kw {
                    Kw::UNIQUE => IndexKind::Unique,
                    _ => IndexKind::FullText,
                };
                self.create_index(kind)
            }
            Kw::SPATIAL => {
                self.bump();
                match self.kw() {
                    Kw::REFERENCE => self.spatial_reference_system(false, false),
                    _ => self.create_index(IndexKind::Spatial),
                }
            }
            Kw::USER => self.create_user(),
            Kw::ROLE => self.create_role(),
            Kw::SERVER => self.server(false),
            Kw::TABLESPACE | Kw::UNDO | Kw::LOGFILE => self.tablespace(TablespaceVerb::Create),
            Kw::RESOURCE => self.resource_group(false),
            Kw::OR if self.nth(2).kw == Kw::SPATIAL => {
                self.bump();
                self.expect_kw(Kw::REPLACE)?;
                self.bump();
                self.spatial_reference_system(false, true)
            }
            _ => self.create_definable(),
        }
    }

    /// `ALTER ...`
    pub(crate) fn alter(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::ALTER)?;
        match self.kw() {
            Kw::TABLE => self.alter_table(),
            Kw::DATABASE | Kw::SCHEMA => self.alter_database(),
            Kw::USER => self.alter_user(),
            Kw::PROCEDURE | Kw::FUNCTION => self.alter_routine(),
            Kw::INSTANCE => self.alter_instance(),
            Kw::TABLESPACE | Kw::UNDO | Kw::LOGFILE => self.tablespace(TablespaceVerb::Alter),
            Kw::SERVER => self.server(true),
            Kw::RESOURCE => self.resource_group(true),
            _ => self.alter_definable(),
        }
    }

    /// `DROP ...`
    pub(crate) fn drop_statement(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::DROP)?;
        let temporary = self.eat_kw(Kw::TEMPORARY);
        match self.kw() {
            Kw::TABLE | Kw::TABLES => {
                self.bump();
                let if_exists = self.if_exists()?;
                let tables = self.comma_list(Self::object_name)?;
                let wait = self.ddl_wait()?;
                self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
                Ok(Statement::Ddl(Ddl::DropTable(DropTable { temporary, if_exists, tables, wait })))
            }
            _ if temporary => self.fail(),
            Kw::PREPARE => {
                self.bump();
                Ok(Statement::Deallocate(self.ident()?))
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::Ddl(Ddl::DropDatabase(DropDatabase {
                    if_exists,
                    name: self.ident()?,
                })))
            }
            Kw::INDEX => self.drop_index(),
            Kw::USER => {
                self.bump();
                let if_exists = self.if_exists()?;
                let accounts = self.comma_list(Self::account)?;
                Ok(Statement::DropUser(DropUser { if_exists, accounts }))
            }
            Kw::ROLE => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropRole(if_exists, self.comma_list(Self::role)?))
            }
            Kw::VIEW => {
                self.bump();
                let if_exists = self.if_exists()?;
                let views = self.comma_list(Self::object_name)?;
                self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
                Ok(Statement::Ddl(Ddl::DropView(DropView { if_exists, views })))
            }
            Kw::TRIGGER => self.drop_program(ProgramKind::Trigger),
            Kw::PROCEDURE => self.drop_program(ProgramKind::Procedure),
            Kw::FUNCTION => self.drop_program(ProgramKind::Function),
            Kw::EVENT => self.drop_program(ProgramKind::Event),
            Kw::SERVER => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropServer(if_exists, self.ident_or_text()?))
            }
            Kw::TABLESPACE | Kw::UNDO | Kw::LOGFILE => self.tablespace(TablespaceVerb::Drop),
            Kw::SPATIAL => {
                self.bump();
                self.spatial_reference_system(true, false)
            }
            Kw::RESOURCE => {
                self.bump();
                self.expect_kw(Kw::GROUP)?;
                let name = self.ident()?;
                Ok(Statement::DropResourceGroup(name, self.eat_kw(Kw::FORCE)))
            }
            _ => self.fail(),
        }
    }

    fn drop_program(&mut self, kind: ProgramKind) -> Result<Statement> {
        self.bump();
        let if_exists = self.if_exists()?;
        Ok(Statement::DropProgram(DropProgram { kind, if_exists, name: self.object_name()? }))
    }

    /// `IF NOT EXISTS`, when IF stands here.
    pub(crate) fn if_not_exists(&mut self) -> Result<bool> {
        if !self.eat_kw(Kw::IF) {
            return Ok(false);
        }
        self.expect_kw(Kw::NOT)?;
        self.expect_kw(Kw::EXISTS)?;
        Ok(true)
    }

    /// `IF EXISTS`, when IF stands here.
    pub(crate) fn if_exists(&mut self) -> Result<bool> {
        if !self.eat_kw(Kw::IF) {
            return Ok(false);
        }
        self.expect_kw(Kw::EXISTS)?;
        Ok(true)
    }

    fn create_database(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let mut options = DatabaseOptions::default();
        while self.database_option(&mut options, false)? {}
        Ok(Statement::Ddl(Ddl::CreateDatabase(CreateDatabase { if_not_exists, name, options })))
    }

    fn alter_database(&mut self) -> Result<Statement> {
        self.bump();
        let mut options = DatabaseOptions::default();
        // A word that starts an option is the option, not a name.
        let optioned =
            matches!(self.kw(), Kw::DEFAULT | Kw::CHARACTER | Kw::CHAR | Kw::COLLATE | Kw::READ)
                || (matches!(self.kw(), Kw::CHARSET | Kw::ENCRYPTION)
                    && !self.database_option_at(1));
        let name = if optioned { None } else { Some(self.ident()?) };
        if !self.database_option(&mut options, true)? {
            return self.fail();
        }
        while self.database_option(&mut options, true)? {}
        Ok(Statement::Ddl(Ddl::AlterDatabase(AlterDatabase { name, options })))
    }

    fn database_option_at(&self, ahead: usize) -> bool {
        matches!(
            self.nth(ahead).kw,
            Kw::DEFAULT
                | Kw::CHARACTER
                | Kw::CHAR
                | Kw::CHARSET
                | Kw::COLLATE
                | Kw::ENCRYPTION
                | Kw::READ
        )
    }

    /// Two character sets of a database that are not the same.
    fn refuse_conflict(&self, before: &str, charset: &str) -> Result<()> {
        use value::Charset;
        match (Charset::named(before), Charset::named(charset)) {
            (Ok(a), Ok(b)) if a != b => self.fail_with(Refused::TwoCharsets(a.name(), b.name())),
            _ => Ok(()),
        }
    }

    fn database_option(&mut self, options: &mut DatabaseOptions, alter: bool) -> Result<bool> {
        let defaulted = self.eat_kw(Kw::DEFAULT);
        if let Some(charset) = self.optional_charset()? {
            if let Some(before) = options.charset.replace(charset.clone()) {
                self.refuse_conflict(&before, &charset)?;
            }
        } else if self.eat_kw(Kw::COLLATE) {
            self.eat(TokenKind::Eq);
            options.collation = Some(self.collation_name()?);
        } else if self.eat_kw(Kw::ENCRYPTION) {
            self.eat(TokenKind::Eq);
            options.encryption = Some(self.text()?);
        } else if defaulted {
            return self.fail();
        } else if alter && self.eat_kw(Kw::READ) {
            self.expect_kw(Kw::ONLY)?;
            self.eat(TokenKind::Eq);
            options.read_only = Some(if self.eat_kw(Kw::DEFAULT) {
                false
            } else {
                let place = self.place();
                let value = self.unsigned()?;
                if value > 1 {
                    self.rewind(place);
                    return self.fail();
                }
                value == 1
            });
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn create_index(&mut self, kind: IndexKind) -> Result<Statement> {
        self.expect_kw(Kw::INDEX)?;
        let name = Some(self.ident()?);
        let mut options = IndexOptions::default();
        if !matches!(kind, IndexKind::FullText | IndexKind::Spatial) {
            self.index_type(&mut options)?;
        }
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let columns = self.key_columns()?;
        let mut how = AlterHow { wait: self.ddl_wait()?, ..AlterHow::default() };
        self.index_options(kind, &mut options)?;
        let index = IndexDef { kind, name, columns, options };
        self.index_how(&mut how)?;
        Ok(Statement::Ddl(Ddl::CreateIndex(Box::new(CreateIndex { table, index, how }))))
    }

    /// ALGORITHM and LOCK in either order, each at most once.
    fn index_how(&mut self, how: &mut AlterHow) -> Result<()> {
        let first = self.kw();
        if self.algorithm_or_lock(how)? && self.kw() != first {
            self.algorithm_or_lock(how)?;
        }
        Ok(())
    }

    fn drop_index(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.index_name()?;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let mut how = AlterHow { wait: self.ddl_wait()?, ..AlterHow::default() };
        self.index_how(&mut how)?;
        Ok(Statement::Ddl(Ddl::DropIndex(DropIndex { name, table, how })))
    }
}
