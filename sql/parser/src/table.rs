//! CREATE TABLE: elements, indexes and table options.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::error::ErrorKind;
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut create = CreateTable {
            temporary,
            if_not_exists,
            name,
            like: None,
            columns: Vec::new(),
            keys: Vec::new(),
            options: Vec::new(),
            partitioned: false,
            partition: None,
            start_transaction: false,
            on_duplicate: None,
            query: None,
        };
        let in_parentheses = self.kind() == TokenKind::Open && self.nth(1).kw == Kw::LIKE;
        if in_parentheses || self.kw() == Kw::LIKE {
            self.eat(TokenKind::Open);
            self.expect_kw(Kw::LIKE)?;
            create.like = Some(self.object_name()?);
            if in_parentheses {
                self.expect(TokenKind::Close)?;
            }
            return Ok(Statement::Ddl(Ddl::CreateTable(Box::new(create))));
        }
        if self.kind() == TokenKind::Open && !self.query_at_parenthesis() {
            (create.columns, create.keys) = self.table_elements()?;
        }
        self.table_options(&mut create)?;
        if self.kw() == Kw::PARTITION {
            create.partitioned = true;
            create.partition = Some(Box::new(self.partition_by()?));
        }
        self.create_query(&mut create)?;
        Ok(Statement::Ddl(Ddl::CreateTable(Box::new(create))))
    }

    /// `[IGNORE | REPLACE] [AS] query`, when it stands here.
    fn create_query(&mut self, create: &mut CreateTable) -> Result<()> {
        create.on_duplicate =
            self.eat_any(&[Kw::IGNORE, Kw::REPLACE]).map(|word| word == Kw::REPLACE);
        let announced = self.eat_kw(Kw::AS) || create.on_duplicate.is_some();
        if announced
            || matches!(self.kw(), Kw::SELECT | Kw::WITH | Kw::VALUES | Kw::TABLE)
            || self.kind() == TokenKind::Open
        {
            create.query = Some(Box::new(self.query_without_into()?));
        }
        Ok(())
    }

    /// `( column | index | constraint, ... )`.
    pub(crate) fn table_elements(&mut self) -> Result<(Vec<ColumnDef>, Vec<KeyDef>)> {
        let (mut columns, mut keys) = (Vec::new(), Vec::new());
        self.expect(TokenKind::Open)?;
        loop {
            match self.table_key()? {
                Some(key) => keys.push(key),
                None => columns.push(self.column_def()?),
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Close)?;
        Ok((columns, keys))
    }

    /// An index or a constraint of a table; none when a column stands here.
    pub(crate) fn table_key(&mut self) -> Result<Option<KeyDef>> {
        let constrained = self.eat_kw(Kw::CONSTRAINT);
        let named = if constrained && self.at_name() { Some(self.ident()?) } else { None };
        Ok(Some(match self.kw() {
            Kw::PRIMARY | Kw::UNIQUE => KeyDef::Index(self.index_element(named)?),
            Kw::KEY | Kw::INDEX | Kw::FULLTEXT | Kw::SPATIAL if !constrained => {
                KeyDef::Index(self.index_element(None)?)
            }
            Kw::FOREIGN => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                let index = if self.at_name() { Some(self.ident()?) } else { None };
                let columns = self.plain_key_columns()?;
                let references = self.references()?;
                KeyDef::Foreign { constraint: named, index, columns, references }
            }
            Kw::CHECK => KeyDef::Check(self.check(named)?),
            _ if constrained => return self.fail(),
            _ => return Ok(None),
        }))
    }

    fn index_element(&mut self, constraint: Option<String>) -> Result<IndexDef> {
        let kind = match self.bump().kw {
            Kw::PRIMARY => {
                self.expect_kw(Kw::KEY)?;
                IndexKind::Primary
            }
            Kw::UNIQUE => IndexKind::Unique,
            Kw::FULLTEXT => IndexKind::FullText,
            Kw::SPATIAL => IndexKind::Spatial,
            _ => IndexKind::Plain,
        };
        if !matches!(kind, IndexKind::Primary | IndexKind::Plain) {
            self.eat_any(&[Kw::KEY, Kw::INDEX]);
        }
        let name = if self.at_name() { Some(self.ident()?) } else { None };
        let typed = self.kw() == Kw::USING || (name.is_some() && self.kw() == Kw::TYPE);
        let mut options = IndexOptions::default();
        if typed && !matches!(kind, IndexKind::FullText | IndexKind::Spatial) {
            self.index_type(&mut options)?;
        }
        let columns = self.key_columns()?;
        self.index_options(kind, &mut options)?;
        Ok(IndexDef { kind, name: name.or(constraint), columns, options })
    }

    /// `USING BTREE`, when it stands here.
    pub(crate) fn index_type(&mut self, options: &mut IndexOptions) -> Result<()> {
        if self.eat_any(&[Kw::USING, Kw::TYPE]).is_some() {
            let kind = self.expect_any(&[Kw::BTREE, Kw::RTREE, Kw::HASH])?;
            options.using = Some(kind.text().to_string());
        }
        Ok(())
    }

    pub(crate) fn index_options(
        &mut self,
        kind: IndexKind,
        options: &mut IndexOptions,
    ) -> Result<()> {
        let plain = !matches!(kind, IndexKind::FullText | IndexKind::Spatial);
        loop {
            match self.kw() {
                Kw::USING | Kw::TYPE if plain => self.index_type(options)?,
                Kw::KEY_BLOCK_SIZE => {
                    self.bump();
                    self.eat(TokenKind::Eq);
                    options.key_block_size = Some(self.unsigned()?);
                }
                Kw::COMMENT => {
                    self.bump();
                    options.comment = Some(self.string()?);
                }
                Kw::VISIBLE | Kw::INVISIBLE => {
                    options.invisible = self.bump().kw == Kw::INVISIBLE;
                }
                Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                    let name = self.bump().kw.text().to_string();
                    self.eat(TokenKind::Eq);
                    options.others.push((name, self.text()?));
                }
                Kw::WITH if kind == IndexKind::FullText => {
                    self.bump();
                    self.expect_kw(Kw::PARSER)?;
                    options.parser = Some(self.ident()?);
                }
                _ => return Ok(()),
            }
        }
    }

    /// `( column [(length)] | (expr) [ASC | DESC], ... )`.
    pub(crate) fn key_columns(&mut self) -> Result<Vec<KeyColumn>> {
        self.parenthesised(|p| {
            if p.kind() != TokenKind::Open {
                return p.key_column();
            }
            p.bump();
            let part = KeyPart::Expr(p.expr()?);
            p.expect(TokenKind::Close)?;
            Ok(KeyColumn { part, descending: p.direction() })
        })
    }

    /// Key parts of a foreign key: columns only.
    fn plain_key_columns(&mut self) -> Result<Vec<KeyColumn>> {
        self.parenthesised(Self::key_column)
    }

    fn key_column(&mut self) -> Result<KeyColumn> {
        let name = self.ident()?;
        let part = KeyPart::Column(name, self.length()?);
        Ok(KeyColumn { part, descending: self.direction() })
    }

    /// `ASC` or `DESC`; true for DESC.
    pub(crate) fn direction(&mut self) -> bool {
        self.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC)
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`.
    pub(crate) fn check(&mut self, name: Option<String>) -> Result<Check> {
        self.expect_kw(Kw::CHECK)?;
        self.expect(TokenKind::Open)?;
        let expr = self.expr()?;
        self.expect(TokenKind::Close)?;
        let not = self.eat_kws(&[Kw::NOT, Kw::ENFORCED]);
        if !not {
            self.eat_kw(Kw::ENFORCED);
        }
        Ok(Check { name, expr, enforced: !not })
    }

    pub(crate) fn references(&mut self) -> Result<References> {
        self.expect_kw(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = if self.kind() == TokenKind::Open {
            self.parenthesised(Self::ident)?
        } else {
            Vec::new()
        };
        let mut references =
            References { table, columns, matching: None, on_delete: None, on_update: None };
        if self.eat_kw(Kw::MATCH) {
            let kind = self.expect_any(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE])?;
            references.matching = Some(kind.text().to_string());
        }
        // ON DELETE and ON UPDATE, each at most once, in any order.
        while self.kw() == Kw::ON {
            self.bump();
            let done = (references.on_delete.is_some(), references.on_update.is_some());
            match self.kw() {
                Kw::DELETE if !done.0 => {
                    self.bump();
                    references.on_delete = Some(self.reference_action()?);
                }
                Kw::UPDATE if !done.1 => {
                    self.bump();
                    references.on_update = Some(self.reference_action()?);
                }
                _ => return self.fail(),
            }
        }
        Ok(references)
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        Ok(match self.expect_any(&[Kw::RESTRICT, Kw::CASCADE, Kw::SET, Kw::NO])? {
            Kw::RESTRICT => ReferenceAction::Restrict,
            Kw::CASCADE => ReferenceAction::Cascade,
            Kw::NO => {
                self.expect_kw(Kw::ACTION)?;
                ReferenceAction::NoAction
            }
            _ => match self.expect_any(&[Kw::NULL, Kw::DEFAULT])? {
                Kw::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }

    fn table_options(&mut self, create: &mut CreateTable) -> Result<()> {
        let mut first = true;
        loop {
            let comma = !first && self.eat(TokenKind::Comma);
            create.start_transaction |= self.kw() == Kw::START;
            match self.table_option()? {
                Some(option) => create.options.push(option),
                None if comma => return self.fail(),
                None => return Ok(()),
            }
            first = false;
        }
    }

    /// A table option; none when something else stands here.
    pub(crate) fn table_option(&mut self) -> Result<Option<TableOption>> {
        if self.kw() == Kw::DEFAULT {
            self.bump();
            if !matches!(self.kw(), Kw::CHARACTER | Kw::CHARSET | Kw::CHAR | Kw::COLLATE) {
                return self.fail();
            }
        }
        if let Some(charset) = self.optional_charset()? {
            return Ok(Some(TableOption::Charset(charset)));
        }
        let word = self.kw();
        Ok(Some(match word {
            Kw::COLLATE => {
                self.option_word();
                TableOption::Collation(self.collation_name()?)
            }
            Kw::ENGINE => {
                self.option_word();
                TableOption::Engine(self.ident_or_text()?)
            }
            Kw::AUTO_INCREMENT => {
                self.option_word();
                TableOption::AutoIncrement(self.unsigned()?)
            }
            Kw::COMMENT => {
                self.option_word();
                TableOption::Comment(self.string()?)
            }
            _ => return self.other_table_option(word),
        }))
    }

    /// Options that are kept as name and text.
    fn other_table_option(&mut self, word: Kw) -> Result<Option<TableOption>> {
        let named = |name: &str, value| Ok(Some(TableOption::Other(name.to_string(), value)));
        match word {
            Kw::DATA | Kw::INDEX => {
                self.bump();
                self.expect_kw(Kw::DIRECTORY)?;
                self.eat(TokenKind::Eq);
                let value = self.text()?;
                return named(
                    if word == Kw::DATA { "DATA DIRECTORY" } else { "INDEX DIRECTORY" },
                    value,
                );
            }
            Kw::UNION => {
                self.option_word();
                self.expect(TokenKind::Open)?;
                let tables = if self.kind() == TokenKind::Close {
                    Vec::new()
                } else {
                    self.comma_list(Self::object_name)?
                };
                self.expect(TokenKind::Close)?;
                let names: Vec<String> = tables.into_iter().map(|t| t.name).collect();
                return named("UNION", names.join(","));
            }
            Kw::START => {
                self.bump();
                self.expect_kw(Kw::TRANSACTION)?;
                return named("START TRANSACTION", String::new());
            }
            Kw::STORAGE => {
                self.bump();
                let medium = self.expect_any(&[Kw::DISK, Kw::MEMORY])?;
                return named("STORAGE", medium.text().to_string());
            }
            _ => {}
        }
        let value: fn(&mut Self) -> Result<String> = match word {
            Kw::MAX_ROWS
            | Kw::MIN_ROWS
            | Kw::AVG_ROW_LENGTH
            | Kw::CHECKSUM
            | Kw::TABLE_CHECKSUM
            | Kw::DELAY_KEY_WRITE
            | Kw::KEY_BLOCK_SIZE => |p| p.unsigned().map(|n| n.to_string()),
            Kw::PACK_KEYS | Kw::STATS_PERSISTENT | Kw::STATS_AUTO_RECALC => Self::ternary,
            Kw::STATS_SAMPLE_PAGES => Self::sample_pages,
            Kw::COMPRESSION
            | Kw::ENCRYPTION
            | Kw::CONNECTION
            | Kw::ENGINE_ATTRIBUTE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::PASSWORD => Self::text,
            Kw::ROW_FORMAT => |p| {
                let formats = [
                    Kw::DEFAULT,
                    Kw::FIXED,
                    Kw::DYNAMIC,
                    Kw::COMPRESSED,
                    Kw::REDUNDANT,
                    Kw::COMPACT,
                ];
                Ok(p.expect_any(&formats)?.text().to_string())
            },
            Kw::INSERT_METHOD => |p| {
                let methods = [Kw::NO, Kw::FIRST, Kw::LAST];
                Ok(p.expect_any(&methods)?.text().to_string())
            },
            Kw::TABLESPACE => Self::ident,
            Kw::SECONDARY_ENGINE => |p| {
                if p.eat_kw(Kw::NULL) { Ok("NULL".to_string()) } else { p.ident_or_text() }
            },
            Kw::AUTOEXTEND_SIZE => Self::size_number,
            _ => return Ok(None),
        };
        self.option_word();
        let value = value(self)?;
        Ok(Some(TableOption::Other(word.text().to_string(), value)))
    }

    /// `0`, `1` or DEFAULT.
    fn ternary(&mut self) -> Result<String> {
        if self.eat_kw(Kw::DEFAULT) {
            return Ok("DEFAULT".to_string());
        }
        let place = self.place();
        let value = self.unsigned()?;
        if value > 1 {
            self.rewind(place);
            return self.fail();
        }
        Ok(value.to_string())
    }

    /// STATS_SAMPLE_PAGES: 1 to 65,535, or DEFAULT.
    fn sample_pages(&mut self) -> Result<String> {
        if self.eat_kw(Kw::DEFAULT) {
            return Ok("DEFAULT".to_string());
        }
        let place = self.place();
        let value = self.unsigned()?;
        if !(1..=0xFFFF).contains(&value) {
            self.rewind(place);
            let why = "The valid range for stats_sample_pages is [1, 65535]. Error";
            return self.fail_with(ErrorKind::SyntaxBecause(why));
        }
        Ok(value.to_string())
    }

    /// A number, or a number with K, M or G behind it.
    pub(crate) fn size_number(&mut self) -> Result<String> {
        let token = self.peek();
        let text = String::from_utf8_lossy(token.text(self.sql)).into_owned();
        let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
        let sized = token.kind == TokenKind::Word
            && digits.len() + 1 == text.len()
            && digits.bytes().all(|b| b.is_ascii_digit());
        if sized {
            self.bump();
            return Ok(text);
        }
        self.unsigned().map(|n| n.to_string())
    }

    /// The option's word and its `=`.
    fn option_word(&mut self) {
        self.bump();
        self.eat(TokenKind::Eq);
    }
}
