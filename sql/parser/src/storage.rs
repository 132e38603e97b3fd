//! Servers, tablespaces, spatial reference systems, resource groups, the instance, plugins.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `SERVER name ...` of CREATE and ALTER.
    pub(crate) fn server(&mut self, alter: bool) -> Result<Statement> {
        self.expect_kw(Kw::SERVER)?;
        let name = self.ident_or_text()?;
        let mut wrapper = None;
        if !alter {
            for word in [Kw::FOREIGN, Kw::DATA, Kw::WRAPPER] {
                self.expect_kw(word)?;
            }
            wrapper = Some(self.ident_or_text()?);
        }
        self.expect_kw(Kw::OPTIONS)?;
        let options = self.parenthesised(|p| {
            let word = p.expect_any(&[
                Kw::USER,
                Kw::HOST,
                Kw::DATABASE,
                Kw::SCHEMA,
                Kw::OWNER,
                Kw::PASSWORD,
                Kw::SOCKET,
                Kw::PORT,
            ])?;
            let value = if word == Kw::PORT { p.unsigned()?.to_string() } else { p.text()? };
            Ok((word.text().to_string(), value))
        })?;
        let server = ServerDef { name, wrapper, options };
        Ok(if alter { Statement::AlterServer(server) } else { Statement::CreateServer(server) })
    }

    /// `[UNDO] TABLESPACE` and `LOGFILE GROUP`.
    pub(crate) fn tablespace(&mut self, verb: TablespaceVerb) -> Result<Statement> {
        let undo = self.eat_kw(Kw::UNDO);
        let logfile_group = !undo && self.eat_kw(Kw::LOGFILE);
        self.expect_kw(if logfile_group { Kw::GROUP } else { Kw::TABLESPACE })?;
        let name = self.ident()?;
        let mut space = Tablespace {
            verb,
            logfile_group,
            undo,
            name,
            file: None,
            rename: None,
            use_group: None,
            options: Vec::new(),
        };
        match verb {
            TablespaceVerb::Create => self.create_tablespace(&mut space)?,
            TablespaceVerb::Alter => self.alter_tablespace(&mut space)?,
            TablespaceVerb::Drop => {}
        }
        self.tablespace_options(&mut space)?;
        Ok(Statement::Tablespace(space))
    }

    fn create_tablespace(&mut self, space: &mut Tablespace) -> Result<()> {
        if space.undo || space.logfile_group || self.kw() == Kw::ADD {
            self.expect_kw(Kw::ADD)?;
            self.tablespace_file("ADD", space)?;
        }
        if !space.undo && !space.logfile_group && self.eat_kw(Kw::USE) {
            self.expect_kw(Kw::LOGFILE)?;
            self.expect_kw(Kw::GROUP)?;
            space.use_group = Some(self.ident()?);
        }
        Ok(())
    }

    fn alter_tablespace(&mut self, space: &mut Tablespace) -> Result<()> {
        if space.undo {
            self.expect_kw(Kw::SET)?;
            let state = self.expect_any(&[Kw::ACTIVE, Kw::INACTIVE])?;
            space.options.push(("SET".to_string(), state.text().to_string()));
            return Ok(());
        }
        match self.kw() {
            Kw::ADD => {
                self.bump();
                self.tablespace_file("ADD", space)
            }
            Kw::DROP if !space.logfile_group => {
                self.bump();
                self.tablespace_file("DROP", space)
            }
            Kw::RENAME if !space.logfile_group => {
                self.bump();
                self.expect_kw(Kw::TO)?;
                space.rename = Some(self.ident()?);
                if self.at_end() { Ok(()) } else { self.fail() }
            }
            _ if !space.logfile_group && self.tablespace_option_here(space) => Ok(()),
            _ => self.fail(),
        }
    }

    fn tablespace_file(&mut self, verb: &str, space: &mut Tablespace) -> Result<()> {
        self.expect_kw(if space.logfile_group { Kw::UNDOFILE } else { Kw::DATAFILE })?;
        space.file = Some((verb.to_string(), self.string()?));
        Ok(())
    }

    fn tablespace_option_here(&self, space: &Tablespace) -> bool {
        match self.kw() {
            Kw::ENGINE | Kw::STORAGE => true,
            Kw::WAIT | Kw::NO_WAIT | Kw::INITIAL_SIZE | Kw::ENGINE_ATTRIBUTE => !space.undo,
            Kw::AUTOEXTEND_SIZE | Kw::MAX_SIZE | Kw::ENCRYPTION => {
                !space.undo && !space.logfile_group
            }
            Kw::EXTENT_SIZE | Kw::FILE_BLOCK_SIZE => {
                space.verb == TablespaceVerb::Create && !space.undo && !space.logfile_group
            }
            Kw::UNDO_BUFFER_SIZE | Kw::REDO_BUFFER_SIZE => space.logfile_group,
            Kw::NODEGROUP | Kw::COMMENT => space.verb == TablespaceVerb::Create && !space.undo,
            _ => false,
        }
    }

    /// Options with or without commas between them.
    fn tablespace_options(&mut self, space: &mut Tablespace) -> Result<()> {
        let mut comma = false;
        while self.tablespace_option_here(space) {
            if self.kw() == Kw::STORAGE {
                self.bump();
                if self.kw() != Kw::ENGINE {
                    return self.fail();
                }
            }
            let word = self.bump().kw;
            let value = match word {
                Kw::WAIT | Kw::NO_WAIT => String::new(),
                _ => {
                    self.eat(TokenKind::Eq);
                    match word {
                        Kw::ENGINE => self.ident_or_text()?,
                        Kw::COMMENT | Kw::ENCRYPTION | Kw::ENGINE_ATTRIBUTE => self.text()?,
                        _ => self.size_number()?,
                    }
                }
            };
            space.options.push((word.text().to_string(), value));
            comma = self.eat(TokenKind::Comma);
        }
        if comma { self.fail() } else { Ok(()) }
    }

    /// `REFERENCE SYSTEM ...` behind SPATIAL.
    pub(crate) fn spatial_reference_system(
        &mut self,
        drop: bool,
        or_replace: bool,
    ) -> Result<Statement> {
        self.expect_kw(Kw::REFERENCE)?;
        self.expect_kw(Kw::SYSTEM)?;
        let if_clause = match drop {
            true => self.if_exists()?,
            false if or_replace => false,
            false => self.if_not_exists()?,
        };
        let srid = self.whole_number()?;
        let mut attributes = Vec::new();
        while !drop
            && let Some(word) =
                self.eat_any(&[Kw::NAME, Kw::DEFINITION, Kw::ORGANIZATION, Kw::DESCRIPTION])
        {
            attributes.push((word.text().to_string(), self.string()?));
            if word == Kw::ORGANIZATION {
                for word in [Kw::IDENTIFIED, Kw::BY] {
                    self.expect_kw(word)?;
                }
                let id = self.whole_number()?.to_string().into_bytes();
                attributes.push(("IDENTIFIED BY".to_string(), id));
            }
        }
        Ok(Statement::SpatialReferenceSystem(SpatialReferenceSystem {
            drop,
            or_replace,
            if_clause,
            srid,
            attributes,
        }))
    }

    /// `RESOURCE GROUP ...` of CREATE and ALTER.
    pub(crate) fn resource_group(&mut self, alter: bool) -> Result<Statement> {
        self.expect_kw(Kw::RESOURCE)?;
        self.expect_kw(Kw::GROUP)?;
        let name = self.ident()?;
        let mut group = ResourceGroup {
            alter,
            name,
            system: None,
            vcpus: Vec::new(),
            priority: None,
            enable: None,
            force: false,
        };
        if !alter {
            self.expect_kw(Kw::TYPE)?;
            self.eat(TokenKind::Eq);
            group.system = Some(self.expect_any(&[Kw::USER, Kw::SYSTEM])? == Kw::SYSTEM);
        }
        if self.eat_kw(Kw::VCPU) {
            self.eat(TokenKind::Eq);
            group.vcpus = self.vcpus()?;
        }
        if self.eat_kw(Kw::THREAD_PRIORITY) {
            self.eat(TokenKind::Eq);
            let negative = self.eat(TokenKind::Minus);
            let value = i64::from(self.unsigned32()?);
            group.priority = Some(if negative { -value } else { value });
        }
        if let Some(word) = self.eat_any(&[Kw::ENABLE, Kw::DISABLE]) {
            group.enable = Some(word == Kw::ENABLE);
            group.force = alter && self.eat_kw(Kw::FORCE);
        }
        Ok(Statement::ResourceGroup(group))
    }

    /// `0, 2-3`, with or without commas.
    fn vcpus(&mut self) -> Result<Vec<(u64, u64)>> {
        let mut ranges = Vec::new();
        loop {
            let first = u64::from(self.unsigned32()?);
            let last = match self.eat(TokenKind::Minus) {
                true => u64::from(self.unsigned32()?),
                false => first,
            };
            ranges.push((first, last));
            if !self.eat(TokenKind::Comma) && self.kind() != TokenKind::Integer {
                return Ok(ranges);
            }
        }
    }

    /// `INSTANCE ...` of ALTER.
    pub(crate) fn alter_instance(&mut self) -> Result<Statement> {
        self.bump();
        let word = self.kw();
        let action = match word {
            Kw::ROTATE => {
                self.bump();
                let place = self.place();
                let what = self.ident()?;
                let known =
                    what.eq_ignore_ascii_case("INNODB") || what.eq_ignore_ascii_case("BINLOG");
                self.expect_kw(Kw::MASTER)?;
                self.expect_kw(Kw::KEY)?;
                if !known {
                    self.rewind(place);
                    return self.fail();
                }
                format!("ROTATE {} MASTER KEY", what.to_ascii_uppercase())
            }
            Kw::RELOAD => {
                self.bump();
                if self.eat_kw(Kw::KEYRING) {
                    "RELOAD KEYRING".to_string()
                } else {
                    self.expect_kw(Kw::TLS)?;
                    self.reload_tls()?
                }
            }
            Kw::ENABLE | Kw::DISABLE => {
                self.bump();
                let place = self.place();
                let words = [self.ident()?, self.ident()?];
                for (at, expected) in ["INNODB", "REDO_LOG"].into_iter().enumerate() {
                    if !words[at].eq_ignore_ascii_case(expected) {
                        self.rewind(place + at);
                        return self.fail();
                    }
                }
                format!("{} INNODB REDO_LOG", word.text())
            }
            _ => return self.fail(),
        };
        Ok(Statement::AlterInstance(AlterInstance { action }))
    }

    fn reload_tls(&mut self) -> Result<String> {
        let mut action = "RELOAD TLS".to_string();
        if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::CHANNEL)?;
            action.push_str(" FOR CHANNEL ");
            action.push_str(&self.ident()?);
        }
        if self.eat_kw(Kw::NO) {
            for word in [Kw::ROLLBACK, Kw::ON, Kw::ERROR] {
                self.expect_kw(word)?;
            }
            action.push_str(" NO ROLLBACK ON ERROR");
        }
        Ok(action)
    }

    /// `CLONE ...`
    pub(crate) fn clone_statement(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_kw(Kw::LOCAL) {
            let directory = self.data_directory()?;
            return match directory {
                Some(path) => Ok(Statement::Clone(CloneInstance::Local(path))),
                None => self.fail(),
            };
        }
        self.expect_kw(Kw::INSTANCE)?;
        self.expect_kw(Kw::FROM)?;
        let Account::Named { user, host } = self.named_account()? else {
            return self.fail();
        };
        self.expect(TokenKind::Colon)?;
        let port = self.whole_number()?;
        self.expect_kw(Kw::IDENTIFIED)?;
        self.expect_kw(Kw::BY)?;
        let password = self.string()?;
        let directory = self.data_directory()?;
        let mut ssl = None;
        if self.eat_kw(Kw::REQUIRE) {
            ssl = Some(!self.eat_kw(Kw::NO));
            self.expect_kw(Kw::SSL)?;
        }
        let clone = CloneInstance::Instance { user, host, port, password, directory, ssl };
        Ok(Statement::Clone(clone))
    }

    fn data_directory(&mut self) -> Result<Option<Vec<u8>>> {
        if !self.eat_kw(Kw::DATA) {
            return Ok(None);
        }
        self.expect_kw(Kw::DIRECTORY)?;
        self.eat(TokenKind::Eq);
        self.string().map(Some)
    }

    /// `INSTALL ...`
    pub(crate) fn install(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_kw(Kw::PLUGIN) {
            let name = self.ident()?;
            self.expect_kw(Kw::SONAME)?;
            return Ok(Statement::Install(Install::Plugin(name, self.text()?)));
        }
        self.expect_kw(Kw::COMPONENT)?;
        let components = self.comma_list(Self::text)?;
        let mut settings = Vec::new();
        if self.eat_kw(Kw::SET) {
            settings = self.comma_list(|p| {
                let scope = p.eat_any(&[Kw::GLOBAL, Kw::PERSIST]);
                let mut name = p.ident()?;
                if p.eat(TokenKind::Dot) {
                    name.push('.');
                    name.push_str(&p.ident()?);
                }
                if !p.eat(TokenKind::Assign) {
                    p.expect(TokenKind::Eq)?;
                }
                Ok((scope == Some(Kw::PERSIST), name, p.set_value()?))
            })?;
        }
        Ok(Statement::Install(Install::Components(components, settings)))
    }

    /// `UNINSTALL ...`
    pub(crate) fn uninstall(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_kw(Kw::PLUGIN) {
            return Ok(Statement::Install(Install::DropPlugin(self.ident()?)));
        }
        self.expect_kw(Kw::COMPONENT)?;
        Ok(Statement::Install(Install::DropComponents(self.comma_list(Self::text)?)))
    }
}
