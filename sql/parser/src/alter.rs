//! ALTER TABLE.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::refused::Refused;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn alter_table(&mut self) -> Result<Statement> {
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        let table = self.object_name()?;
        let how = AlterHow { wait: self.ddl_wait()?, ..AlterHow::default() };
        let mut alter = AlterTable { table, actions: Vec::new(), how };
        self.alter_actions(&mut alter)?;
        Ok(Statement::Ddl(Ddl::AlterTable(Box::new(alter))))
    }

    /// WAIT n or NOWAIT, when one stands here.
    pub(crate) fn ddl_wait(&mut self) -> Result<DdlWait> {
        if self.eat_kw(Kw::NOWAIT) {
            return Ok(Some(0));
        }
        match self.eat_kw(Kw::WAIT) {
            true => Ok(Some(self.whole_number()?)),
            false => Ok(None),
        }
    }

    fn alter_actions(&mut self, alter: &mut AlterTable) -> Result<()> {
        let mut first = true;
        while !self.at_end() && !self.alter_partitioning_ahead() {
            if !first {
                self.expect(TokenKind::Comma)?;
            }
            first = false;
            if self.alter_how(&mut alter.how)? {
                continue;
            }
            // Actions on partitions and tablespaces stand alone.
            if alter.actions.is_empty()
                && let Some(action) = self.standalone_action()?
            {
                alter.actions.push(action);
                return Ok(());
            }
            self.alter_item(&mut alter.actions)?;
        }
        if self.eat_kw(Kw::REMOVE) {
            self.expect_kw(Kw::PARTITIONING)?;
            alter.actions.push(AlterAction::RemovePartitioning);
        } else if self.kw() == Kw::PARTITION {
            let by = Box::new(self.partition_by()?);
            alter.actions.push(AlterAction::PartitionBy(by));
        }
        Ok(())
    }

    fn alter_partitioning_ahead(&self) -> bool {
        matches!(self.kw(), Kw::REMOVE | Kw::PARTITION)
    }

    /// ALGORITHM, LOCK or VALIDATION, when one stands here.
    pub(crate) fn alter_how(&mut self, how: &mut AlterHow) -> Result<bool> {
        match self.kw() {
            Kw::ALGORITHM | Kw::LOCK => self.algorithm_or_lock(how),
            Kw::WITH | Kw::WITHOUT => {
                let with = self.bump().kw == Kw::WITH;
                self.expect_kw(Kw::VALIDATION)?;
                how.validation = Some(with);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// ALGORITHM or LOCK, when one stands here; an unknown word is 1800 or 1801.
    pub(crate) fn algorithm_or_lock(&mut self, how: &mut AlterHow) -> Result<bool> {
        let word = self.kw();
        if !matches!(word, Kw::ALGORITHM | Kw::LOCK) {
            return Ok(false);
        }
        self.bump();
        self.eat(TokenKind::Eq);
        let value = match self.eat_kw(Kw::DEFAULT) {
            true => "DEFAULT".to_string(),
            false => self.ident()?.to_ascii_uppercase(),
        };
        if word == Kw::ALGORITHM {
            if !matches!(value.as_str(), "DEFAULT" | "INSTANT" | "INPLACE" | "COPY") {
                return self.fail_with(Refused::UnknownAlgorithm(&value));
            }
            how.algorithm = Some(value);
        } else {
            if !matches!(value.as_str(), "DEFAULT" | "NONE" | "SHARED" | "EXCLUSIVE") {
                return self.fail_with(Refused::UnknownLock(&value));
            }
            how.lock = Some(value);
        }
        Ok(true)
    }

    fn standalone_action(&mut self) -> Result<Option<AlterAction>> {
        let next = self.nth(1).kw;
        Ok(Some(match self.kw() {
            Kw::DISCARD | Kw::IMPORT => {
                let discard = self.bump().kw == Kw::DISCARD;
                if self.eat_kw(Kw::PARTITION) {
                    let names = self.partition_names()?;
                    self.expect_kw(Kw::TABLESPACE)?;
                    let verb = if discard { "DISCARD" } else { "IMPORT" }.to_string();
                    return Ok(Some(AlterAction::Partitions { verb, names, options: Vec::new() }));
                }
                self.expect_kw(Kw::TABLESPACE)?;
                match discard {
                    true => AlterAction::DiscardTablespace,
                    false => AlterAction::ImportTablespace,
                }
            }
            Kw::SECONDARY_LOAD | Kw::SECONDARY_UNLOAD => {
                let load = self.bump().kw == Kw::SECONDARY_LOAD;
                let named = self.eat_kw(Kw::PARTITION);
                let names = if named { self.parenthesised(Self::ident)? } else { Vec::new() };
                match load {
                    true => AlterAction::SecondaryLoad(names),
                    false => AlterAction::SecondaryUnload(names),
                }
            }
            Kw::ADD if next == Kw::PARTITION => self.add_partitions()?,
            Kw::DROP if next == Kw::PARTITION => {
                self.bump();
                self.bump();
                AlterAction::DropPartitions(self.comma_list(Self::ident)?)
            }
            Kw::COALESCE => {
                self.bump();
                self.expect_kw(Kw::PARTITION)?;
                self.not_logged();
                AlterAction::CoalescePartitions(self.whole_number()?)
            }
            Kw::REORGANIZE => self.reorganize_partitions()?,
            Kw::EXCHANGE => self.exchange_partition()?,
            Kw::REBUILD | Kw::OPTIMIZE | Kw::ANALYZE | Kw::CHECK | Kw::REPAIR | Kw::TRUNCATE => {
                self.partition_verb()?
            }
            _ => return Ok(None),
        }))
    }

    fn not_logged(&mut self) -> bool {
        self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some()
    }

    fn add_partitions(&mut self) -> Result<AlterAction> {
        self.bump();
        self.bump();
        self.not_logged();
        let (mut partitions, mut count) = (Vec::new(), None);
        if self.eat_kw(Kw::PARTITIONS) {
            count = Some(self.whole_number()?);
        } else if self.kind() == TokenKind::Open {
            partitions = self.partition_definitions()?;
        }
        Ok(AlterAction::AddPartitions { partitions, count })
    }

    fn reorganize_partitions(&mut self) -> Result<AlterAction> {
        self.bump();
        self.expect_kw(Kw::PARTITION)?;
        self.not_logged();
        let (mut names, mut into) = (Vec::new(), Vec::new());
        if !self.at_end() {
            names = self.comma_list(Self::ident)?;
            self.expect_kw(Kw::INTO)?;
            into = self.partition_definitions()?;
        }
        Ok(AlterAction::ReorganizePartitions { names, into })
    }

    fn exchange_partition(&mut self) -> Result<AlterAction> {
        self.bump();
        self.expect_kw(Kw::PARTITION)?;
        let name = self.ident()?;
        self.expect_kw(Kw::WITH)?;
        self.expect_kw(Kw::TABLE)?;
        let table = self.object_name()?;
        let mut validation = true;
        if let Some(word) = self.eat_any(&[Kw::WITH, Kw::WITHOUT]) {
            self.expect_kw(Kw::VALIDATION)?;
            validation = word == Kw::WITH;
        }
        Ok(AlterAction::ExchangePartition { name, table, validation })
    }

    fn partition_verb(&mut self) -> Result<AlterAction> {
        let verb = self.bump().kw;
        self.expect_kw(Kw::PARTITION)?;
        if matches!(verb, Kw::REBUILD | Kw::OPTIMIZE | Kw::ANALYZE | Kw::REPAIR) {
            self.not_logged();
        }
        let names = self.partition_names()?;
        let options = match verb {
            Kw::CHECK => self.maintain_options(MaintainVerb::Check)?,
            Kw::REPAIR => self.maintain_options(MaintainVerb::Repair)?,
            _ => Vec::new(),
        };
        Ok(AlterAction::Partitions { verb: verb.text().to_string(), names, options })
    }

    fn alter_item(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        let action = match self.kw() {
            Kw::ADD => self.add_item()?,
            Kw::CHANGE => {
                self.bump();
                self.eat_kw(Kw::COLUMN);
                let old = self.ident()?;
                let name = self.ident()?;
                let column = Box::new(self.field_def(name)?);
                AlterAction::ChangeColumn { old, column, place: self.column_place()? }
            }
            Kw::MODIFY => {
                self.bump();
                self.eat_kw(Kw::COLUMN);
                let name = self.ident()?;
                let column = Box::new(self.field_def(name)?);
                AlterAction::ModifyColumn { column, place: self.column_place()? }
            }
            Kw::DROP => self.drop_item()?,
            Kw::ALTER => self.alter_column_item()?,
            Kw::RENAME => self.rename_item()?,
            Kw::CONVERT => self.convert_item()?,
            Kw::DISABLE | Kw::ENABLE => {
                let disable = self.bump().kw == Kw::DISABLE;
                self.expect_kw(Kw::KEYS)?;
                if disable { AlterAction::DisableKeys } else { AlterAction::EnableKeys }
            }
            Kw::FORCE => {
                self.bump();
                AlterAction::Force
            }
            Kw::ORDER => {
                self.bump();
                self.expect_kw(Kw::BY)?;
                AlterAction::OrderBy(self.comma_list(|p| {
                    let expr = Expr::Column(p.column_ref()?);
                    Ok(OrderItem { expr, descending: p.direction() })
                })?)
            }
            _ => return self.alter_options(actions),
        };
        actions.push(action);
        Ok(())
    }

    /// Table options without commas between them.
    fn alter_options(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        let before = actions.len();
        while let Some(option) = self.table_option()? {
            actions.push(AlterAction::Option(option));
        }
        if actions.len() == before { self.fail() } else { Ok(()) }
    }

    fn add_item(&mut self) -> Result<AlterAction> {
        self.bump();
        let column = self.eat_kw(Kw::COLUMN);
        if self.kind() == TokenKind::Open {
            let (columns, keys) = self.table_elements()?;
            return Ok(AlterAction::AddElements { columns, keys });
        }
        if !column && let Some(key) = self.table_key()? {
            return Ok(AlterAction::AddKey(key));
        }
        let column = Box::new(self.column_def()?);
        Ok(AlterAction::AddColumn { column, place: self.column_place()? })
    }

    fn column_place(&mut self) -> Result<Option<ColumnPlace>> {
        if self.eat_kw(Kw::AFTER) {
            return Ok(Some(ColumnPlace::After(self.ident()?)));
        }
        Ok(self.eat_kw(Kw::FIRST).then_some(ColumnPlace::First))
    }

    fn drop_item(&mut self) -> Result<AlterAction> {
        self.bump();
        Ok(match self.kw() {
            Kw::FOREIGN => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                AlterAction::DropForeignKey(self.ident()?)
            }
            Kw::PRIMARY => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                AlterAction::DropPrimaryKey
            }
            Kw::INDEX | Kw::KEY => {
                self.bump();
                AlterAction::DropIndex(self.index_name()?)
            }
            Kw::CHECK => {
                self.bump();
                AlterAction::DropCheck(self.ident()?)
            }
            Kw::CONSTRAINT => {
                self.bump();
                AlterAction::DropConstraint(self.index_name()?)
            }
            _ => {
                self.eat_kw(Kw::COLUMN);
                let name = self.ident()?;
                self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
                AlterAction::DropColumn(name)
            }
        })
    }

    /// An index's name; only quoted is `PRIMARY` one.
    pub(crate) fn index_name(&mut self) -> Result<String> {
        self.ident()
    }

    fn alter_column_item(&mut self) -> Result<AlterAction> {
        self.bump();
        match self.kw() {
            Kw::INDEX => {
                self.bump();
                let name = self.ident()?;
                return Ok(AlterAction::AlterIndex { name, visible: self.visibility()? });
            }
            Kw::CHECK | Kw::CONSTRAINT => {
                let check = self.bump().kw == Kw::CHECK;
                let name = self.ident()?;
                let enforced = !self.eat_kw(Kw::NOT);
                self.expect_kw(Kw::ENFORCED)?;
                return Ok(match check {
                    true => AlterAction::AlterCheck { name, enforced },
                    false => AlterAction::AlterConstraint { name, enforced },
                });
            }
            _ => {}
        }
        self.eat_kw(Kw::COLUMN);
        let column = self.ident()?;
        if self.eat_kw(Kw::DROP) {
            self.expect_kw(Kw::DEFAULT)?;
            return Ok(AlterAction::DropDefault(column));
        }
        self.expect_kw(Kw::SET)?;
        if !self.eat_kw(Kw::DEFAULT) {
            return Ok(AlterAction::SetVisible { column, visible: self.visibility()? });
        }
        if self.eat(TokenKind::Open) {
            let value = self.expr()?;
            self.expect(TokenKind::Close)?;
            return Ok(AlterAction::SetDefault { column, value, is_expression: true });
        }
        let value = self.signed_literal()?;
        Ok(AlterAction::SetDefault { column, value, is_expression: false })
    }

    fn visibility(&mut self) -> Result<bool> {
        Ok(self.expect_any(&[Kw::VISIBLE, Kw::INVISIBLE])? == Kw::VISIBLE)
    }

    fn rename_item(&mut self) -> Result<AlterAction> {
        self.bump();
        match self.kw() {
            Kw::INDEX | Kw::KEY => {
                self.bump();
                let old = self.index_name()?;
                self.expect_kw(Kw::TO)?;
                Ok(AlterAction::RenameIndex(old, self.index_name()?))
            }
            Kw::COLUMN => {
                self.bump();
                let old = self.ident()?;
                self.expect_kw(Kw::TO)?;
                Ok(AlterAction::RenameColumn(old, self.ident()?))
            }
            _ => {
                if self.eat_any(&[Kw::TO, Kw::AS]).is_none() {
                    self.eat(TokenKind::Eq);
                }
                Ok(AlterAction::Rename(self.object_name()?))
            }
        }
    }

    fn convert_item(&mut self) -> Result<AlterAction> {
        self.bump();
        self.expect_kw(Kw::TO)?;
        if !matches!(self.kw(), Kw::CHARACTER | Kw::CHAR | Kw::CHARSET) {
            return self.fail();
        }
        if !self.eat_kw(Kw::CHARSET) {
            self.bump();
            self.expect_kw(Kw::SET)?;
        }
        let charset = if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.charset_name()?) };
        Ok(AlterAction::Convert { charset, collation: self.optional_collation()? })
    }
}
