//! Definitions of schemas, tables and indexes.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `CREATE ...`; what it creates decides.
    pub(crate) fn create(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::CREATE)?;
        let temporary = self.eat_kw(Kw::TEMPORARY);
        match self.kw() {
            Kw::DATABASE | Kw::SCHEMA if !temporary => self.create_database(),
            Kw::TABLE => self.create_table(temporary),
            Kw::INDEX if !temporary => self.create_index(IndexKind::Plain),
            Kw::UNIQUE | Kw::FULLTEXT | Kw::SPATIAL if !temporary => {
                let kind = match self.bump().kw {
                    Kw::UNIQUE => IndexKind::Unique,
                    Kw::FULLTEXT => IndexKind::FullText,
                    _ => IndexKind::Spatial,
                };
                self.create_index(kind)
            }
            Kw::USER if !temporary => self.create_user(),
            _ if temporary => self.fail(),
            _ => self.unsupported_create(),
        }
    }

    /// CREATE of something that is recognised by its head and not run.
    fn unsupported_create(&mut self) -> Result<Statement> {
        let mut ahead = 0;
        // OR REPLACE, ALGORITHM = x, DEFINER = user@host, SQL SECURITY x, AGGREGATE come before the noun.
        while ahead < 16 && !matches!(self.nth(ahead).kind, TokenKind::End | TokenKind::Bad) {
            let noun = match self.nth(ahead).kw {
                Kw::VIEW => "CREATE VIEW",
                Kw::TRIGGER => "CREATE TRIGGER",
                Kw::PROCEDURE => "CREATE PROCEDURE",
                Kw::FUNCTION => "CREATE FUNCTION",
                Kw::EVENT => "CREATE EVENT",
                Kw::ROLE => "CREATE ROLE",
                Kw::SERVER => "CREATE SERVER",
                Kw::TABLESPACE => "CREATE TABLESPACE",
                Kw::LOGFILE => "CREATE LOGFILE GROUP",
                Kw::RESOURCE => "CREATE RESOURCE GROUP",
                _ => {
                    ahead += 1;
                    continue;
                }
            };
            if self.nth(ahead + 1).kind == TokenKind::End {
                return self.fail();
            }
            let statement = self.unsupported(noun);
            if matches!(
                noun,
                "CREATE PROCEDURE" | "CREATE FUNCTION" | "CREATE TRIGGER" | "CREATE EVENT"
            ) {
                // The body holds semicolons: all of the text belongs to it.
                self.next = self.sql.len();
            }
            return statement;
        }
        self.fail()
    }

    /// The rest of the statement is taken as it is; the construct answers 1235.
    pub(crate) fn unsupported(&mut self, construct: &str) -> Result<Statement> {
        self.skip_rest()?;
        Ok(Statement::Unsupported(Unsupported { construct: construct.to_string() }))
    }

    fn if_not_exists(&mut self) -> bool {
        self.eat_kws(&[Kw::IF, Kw::NOT, Kw::EXISTS])
    }

    pub(crate) fn if_exists(&mut self) -> bool {
        self.eat_kws(&[Kw::IF, Kw::EXISTS])
    }

    fn create_database(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        Ok(Statement::CreateDatabase(CreateDatabase {
            if_not_exists,
            name,
            options: self.database_options()?,
        }))
    }

    fn database_options(&mut self) -> Result<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        loop {
            self.eat_kw(Kw::DEFAULT);
            if let Some(charset) = self.optional_charset()? {
                options.charset = Some(charset);
            } else if self.eat_kw(Kw::COLLATE) {
                self.eat(TokenKind::Eq);
                options.collation = Some(self.collation_name()?);
            } else if self.eat_kw(Kw::ENCRYPTION) {
                self.eat(TokenKind::Eq);
                options.encryption = Some(self.text()?);
            } else if self.eat_kws(&[Kw::READ, Kw::ONLY]) {
                self.eat(TokenKind::Eq);
                let read_only = self.kw() != Kw::DEFAULT && self.peek().text(self.sql) != b"0";
                self.bump();
                options.read_only = Some(read_only);
            } else {
                return Ok(options);
            }
        }
    }

    /// `DROP ...`
    pub(crate) fn drop_statement(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::DROP)?;
        let temporary = self.eat_kw(Kw::TEMPORARY);
        match self.kw() {
            Kw::TABLE | Kw::TABLES => {
                self.bump();
                let if_exists = self.if_exists();
                let tables = self.comma_list(Self::object_name)?;
                self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
                Ok(Statement::DropTable(DropTable { temporary, if_exists, tables }))
            }
            _ if temporary => self.fail(),
            Kw::PREPARE => {
                self.bump();
                Ok(Statement::Deallocate(self.ident()?))
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists();
                Ok(Statement::DropDatabase(DropDatabase { if_exists, name: self.ident()? }))
            }
            Kw::INDEX => {
                self.bump();
                let name =
                    if self.eat_kw(Kw::PRIMARY) { "PRIMARY".to_string() } else { self.ident()? };
                self.expect_kw(Kw::ON)?;
                let table = self.object_name()?;
                self.skip_rest()?;
                Ok(Statement::DropIndex(DropIndex { name, table }))
            }
            Kw::USER => {
                self.bump();
                let if_exists = self.if_exists();
                let accounts = self.comma_list(Self::account)?;
                Ok(Statement::DropUser(DropUser { if_exists, accounts }))
            }
            Kw::VIEW => self.unsupported("DROP VIEW"),
            Kw::TRIGGER => self.unsupported("DROP TRIGGER"),
            Kw::PROCEDURE => self.unsupported("DROP PROCEDURE"),
            Kw::FUNCTION => self.unsupported("DROP FUNCTION"),
            Kw::EVENT => self.unsupported("DROP EVENT"),
            Kw::ROLE => self.unsupported("DROP ROLE"),
            Kw::SERVER => self.unsupported("DROP SERVER"),
            Kw::TABLESPACE => self.unsupported("DROP TABLESPACE"),
            _ => self.fail(),
        }
    }

    fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists();
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
            on_duplicate: None,
            query: None,
        };
        if self.eat_kw(Kw::LIKE) {
            create.like = Some(self.object_name()?);
            return Ok(Statement::CreateTable(Box::new(create)));
        }
        if self.kind() == TokenKind::Open && self.nth(1).kw == Kw::LIKE {
            self.bump();
            self.bump();
            create.like = Some(self.object_name()?);
            self.expect(TokenKind::Close)?;
            return Ok(Statement::CreateTable(Box::new(create)));
        }
        if self.kind() == TokenKind::Open && !self.query_in_parentheses() {
            self.bump();
            loop {
                self.table_element(&mut create)?;
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::Close)?;
        }
        self.table_options(&mut create)?;
        if self.kw() == Kw::PARTITION {
            create.partitioned = true;
            self.skip_rest()?;
        }
        create.on_duplicate =
            self.eat_any(&[Kw::IGNORE, Kw::REPLACE]).map(|word| word == Kw::REPLACE);
        self.eat_kw(Kw::AS);
        if matches!(self.kw(), Kw::SELECT | Kw::WITH | Kw::VALUES | Kw::TABLE)
            || self.query_in_parentheses()
        {
            create.query = Some(Box::new(self.query()?));
        } else if create.on_duplicate.is_some()
            || (create.columns.is_empty() && create.keys.is_empty())
        {
            return self.fail();
        }
        Ok(Statement::CreateTable(Box::new(create)))
    }

    fn table_element(&mut self, create: &mut CreateTable) -> Result<()> {
        let constraint = if self.eat_kw(Kw::CONSTRAINT) {
            Some(if self.at_name() { Some(self.ident()?) } else { None })
        } else {
            None
        };
        let named = constraint.clone().flatten();
        match self.kw() {
            Kw::PRIMARY | Kw::UNIQUE | Kw::KEY | Kw::INDEX | Kw::FULLTEXT | Kw::SPATIAL => {
                let index = self.index_element(named)?;
                create.keys.push(KeyDef::Index(index));
            }
            Kw::FOREIGN => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                let index = if self.at_name() { Some(self.ident()?) } else { None };
                let columns = self.key_columns()?;
                let references = self.references()?;
                create.keys.push(KeyDef::Foreign { constraint: named, index, columns, references });
            }
            Kw::CHECK => {
                let check = self.check(named)?;
                create.keys.push(KeyDef::Check(check));
            }
            _ if constraint.is_some() => return self.fail(),
            _ => {
                let column = self.column_def()?;
                create.columns.push(column);
            }
        }
        Ok(())
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
        let mut name =
            if self.at_name() && self.kw() != Kw::USING { Some(self.ident()?) } else { None };
        name = name.or(constraint);
        let mut options = IndexOptions::default();
        self.index_type(&mut options)?;
        let columns = self.key_columns()?;
        self.index_options(&mut options)?;
        Ok(IndexDef { kind, name, columns, options })
    }

    fn index_type(&mut self, options: &mut IndexOptions) -> Result<()> {
        if self.eat_any(&[Kw::USING, Kw::TYPE]).is_some() {
            options.using = Some(self.ident()?);
        }
        Ok(())
    }

    fn index_options(&mut self, options: &mut IndexOptions) -> Result<()> {
        loop {
            match self.kw() {
                Kw::USING | Kw::TYPE => self.index_type(options)?,
                Kw::KEY_BLOCK_SIZE => {
                    self.bump();
                    self.eat(TokenKind::Eq);
                    options.key_block_size = Some(self.unsigned()?);
                }
                Kw::COMMENT => {
                    self.bump();
                    options.comment = Some(self.string()?);
                }
                Kw::VISIBLE => {
                    self.bump();
                }
                Kw::INVISIBLE => {
                    self.bump();
                    options.invisible = true;
                }
                Kw::WITH => {
                    self.bump();
                    self.expect_kw(Kw::PARSER)?;
                    options.parser = Some(self.ident()?);
                }
                Kw::ALGORITHM | Kw::LOCK => {
                    self.bump();
                    self.eat(TokenKind::Eq);
                    self.bump();
                }
                _ => return Ok(()),
            }
        }
    }

    fn key_columns(&mut self) -> Result<Vec<KeyColumn>> {
        self.parenthesised(|p| {
            let part = if p.eat(TokenKind::Open) {
                let expr = p.expr()?;
                p.expect(TokenKind::Close)?;
                KeyPart::Expr(expr)
            } else {
                let name = p.ident()?;
                KeyPart::Column(name, p.length()?)
            };
            let descending = p.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
            Ok(KeyColumn { part, descending })
        })
    }

    fn check(&mut self, name: Option<String>) -> Result<Check> {
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

    fn references(&mut self) -> Result<References> {
        self.expect_kw(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = if self.kind() == TokenKind::Open {
            self.parenthesised(Self::ident)?
        } else {
            Vec::new()
        };
        if self.eat_kw(Kw::MATCH) {
            self.bump();
        }
        let (mut on_delete, mut on_update) = (None, None);
        while self.kw() == Kw::ON && matches!(self.nth(1).kw, Kw::DELETE | Kw::UPDATE) {
            self.bump();
            let delete = self.bump().kw == Kw::DELETE;
            let action = if self.eat_kws(&[Kw::SET, Kw::NULL]) {
                ReferenceAction::SetNull
            } else if self.eat_kws(&[Kw::SET, Kw::DEFAULT]) {
                ReferenceAction::SetDefault
            } else if self.eat_kws(&[Kw::NO, Kw::ACTION]) {
                ReferenceAction::NoAction
            } else if self.expect_any(&[Kw::RESTRICT, Kw::CASCADE])? == Kw::RESTRICT {
                ReferenceAction::Restrict
            } else {
                ReferenceAction::Cascade
            };
            if delete {
                on_delete = Some(action);
            } else {
                on_update = Some(action);
            }
        }
        Ok(References { table, columns, on_delete, on_update })
    }

    fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.ident()?;
        let ty = self.data_type()?;
        let mut column = ColumnDef {
            name,
            ty,
            nullable: None,
            default: None,
            default_is_expression: false,
            on_update: None,
            auto_increment: false,
            primary: false,
            unique: false,
            comment: None,
            collation: None,
            invisible: false,
            generated: None,
            checks: Vec::new(),
            references: None,
            others: Vec::new(),
        };
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    fn column_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        match self.kw() {
            Kw::NOT => {
                self.bump();
                self.expect_kw(Kw::NULL)?;
                column.nullable = Some(false);
            }
            Kw::NULL => {
                self.bump();
                column.nullable = Some(true);
            }
            Kw::DEFAULT => {
                self.bump();
                column.default_is_expression = self.kind() == TokenKind::Open;
                column.default = Some(self.bit_expr(1)?);
            }
            Kw::ON => {
                self.bump();
                self.expect_kw(Kw::UPDATE)?;
                column.on_update = Some(self.primary()?);
            }
            Kw::AUTO_INCREMENT => {
                self.bump();
                column.auto_increment = true;
            }
            Kw::UNIQUE => {
                self.bump();
                self.eat_kw(Kw::KEY);
                column.unique = true;
            }
            Kw::PRIMARY | Kw::KEY => {
                self.eat_kw(Kw::PRIMARY);
                self.expect_kw(Kw::KEY)?;
                column.primary = true;
            }
            Kw::COMMENT => {
                self.bump();
                column.comment = Some(self.string()?);
            }
            Kw::COLLATE => {
                self.bump();
                column.collation = Some(self.collation_name()?);
            }
            Kw::VISIBLE => {
                self.bump();
            }
            Kw::INVISIBLE => {
                self.bump();
                column.invisible = true;
            }
            Kw::GENERATED | Kw::AS => {
                if self.eat_kw(Kw::GENERATED) {
                    self.expect_kw(Kw::ALWAYS)?;
                }
                self.expect_kw(Kw::AS)?;
                self.expect(TokenKind::Open)?;
                let expr = self.expr()?;
                self.expect(TokenKind::Close)?;
                let stored = self.eat_any(&[Kw::STORED, Kw::VIRTUAL]) == Some(Kw::STORED);
                column.generated = Some((expr, stored));
            }
            Kw::CONSTRAINT | Kw::CHECK => {
                let mut name = None;
                if self.eat_kw(Kw::CONSTRAINT) && self.at_name() {
                    name = Some(self.ident()?);
                }
                let check = self.check(name)?;
                column.checks.push(check);
            }
            Kw::REFERENCES => column.references = Some(Box::new(self.references()?)),
            Kw::COLUMN_FORMAT
            | Kw::STORAGE
            | Kw::ENGINE_ATTRIBUTE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::SRID => {
                let word = self.bump();
                self.eat(TokenKind::Eq);
                self.bump();
                column.others.push(String::from_utf8_lossy(word.text(self.sql)).into_owned());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn data_type(&mut self) -> Result<DataType> {
        let place = self.place();
        let word = self.bump().kw;
        let kind = match word {
            Kw::TINYINT | Kw::INT1 => TypeKind::TinyInt,
            Kw::SMALLINT | Kw::INT2 => TypeKind::SmallInt,
            Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => TypeKind::MediumInt,
            Kw::INT | Kw::INTEGER | Kw::INT4 => TypeKind::Int,
            Kw::BIGINT | Kw::INT8 => TypeKind::BigInt,
            Kw::BOOL | Kw::BOOLEAN => TypeKind::Bool,
            Kw::SERIAL => TypeKind::Serial,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => TypeKind::Decimal,
            Kw::FLOAT | Kw::FLOAT4 => TypeKind::Float,
            Kw::DOUBLE | Kw::FLOAT8 | Kw::REAL => {
                self.eat_kw(Kw::PRECISION);
                TypeKind::Double
            }
            Kw::BIT => TypeKind::Bit,
            Kw::DATE => TypeKind::Date,
            Kw::TIME => TypeKind::Time,
            Kw::DATETIME => TypeKind::Datetime,
            Kw::TIMESTAMP => TypeKind::Timestamp,
            Kw::YEAR => TypeKind::Year,
            Kw::CHAR | Kw::CHARACTER => {
                if self.eat_kw(Kw::VARYING) {
                    TypeKind::VarChar
                } else {
                    TypeKind::Char
                }
            }
            Kw::VARCHAR | Kw::VARCHARACTER => TypeKind::VarChar,
            Kw::NCHAR => {
                if self.eat_any(&[Kw::VARYING, Kw::VARCHAR]).is_some() {
                    TypeKind::NVarChar
                } else {
                    TypeKind::NChar
                }
            }
            Kw::NVARCHAR => TypeKind::NVarChar,
            Kw::NATIONAL => match self.expect_any(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR])? {
                Kw::VARCHAR => TypeKind::NVarChar,
                _ if self.eat_kw(Kw::VARYING) => TypeKind::NVarChar,
                _ => TypeKind::NChar,
            },
            Kw::BINARY => TypeKind::Binary,
            Kw::VARBINARY => TypeKind::VarBinary,
            Kw::TINYTEXT => TypeKind::TinyText,
            Kw::TEXT => TypeKind::Text,
            Kw::MEDIUMTEXT => TypeKind::MediumText,
            Kw::LONG => {
                // LONG CHARACTER SET x, too, is LONG with an attribute.
                if self.nth(1).kw == Kw::VARYING {
                    self.expect_any(&[Kw::CHAR, Kw::CHARACTER])?;
                    self.bump();
                }
                match self.eat_any(&[Kw::VARBINARY, Kw::VARCHAR]) {
                    Some(Kw::VARBINARY) => TypeKind::MediumBlob,
                    _ => TypeKind::MediumText,
                }
            }
            Kw::LONGTEXT => TypeKind::LongText,
            Kw::TINYBLOB => TypeKind::TinyBlob,
            Kw::BLOB => TypeKind::Blob,
            Kw::MEDIUMBLOB => TypeKind::MediumBlob,
            Kw::LONGBLOB => TypeKind::LongBlob,
            Kw::ENUM => TypeKind::Enum,
            Kw::SET => TypeKind::Set,
            Kw::JSON => TypeKind::Json,
            Kw::VECTOR => TypeKind::Vector,
            Kw::GEOMETRY => TypeKind::Geometry,
            Kw::POINT => TypeKind::Point,
            Kw::LINESTRING => TypeKind::LineString,
            Kw::POLYGON => TypeKind::Polygon,
            Kw::MULTIPOINT => TypeKind::MultiPoint,
            Kw::MULTILINESTRING => TypeKind::MultiLineString,
            Kw::MULTIPOLYGON => TypeKind::MultiPolygon,
            Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => TypeKind::GeometryCollection,
            _ => {
                self.rewind(place);
                return self.fail();
            }
        };
        let mut ty = DataType {
            kind,
            length: None,
            scale: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
            members: Vec::new(),
        };
        if matches!(kind, TypeKind::Enum | TypeKind::Set) {
            ty.members = self.parenthesised(Self::string)?;
        } else if !has_fixed_length(kind) {
            (ty.length, ty.scale) = self.length_and_scale()?;
        }
        let needs_length =
            matches!(kind, TypeKind::VarChar | TypeKind::VarBinary | TypeKind::NVarChar);
        if needs_length && ty.length.is_none() {
            return self.fail();
        }
        self.type_attributes(&mut ty)?;
        Ok(ty)
    }

    fn type_attributes(&mut self, ty: &mut DataType) -> Result<()> {
        loop {
            match self.kw() {
                Kw::UNSIGNED => ty.unsigned = true,
                Kw::SIGNED => {}
                Kw::ZEROFILL => {
                    ty.zerofill = true;
                    ty.unsigned = true;
                }
                Kw::BINARY => ty.binary = true,
                Kw::ASCII => ty.charset = Some("latin1".to_string()),
                Kw::UNICODE => ty.charset = Some("ucs2".to_string()),
                Kw::BYTE => ty.charset = Some("binary".to_string()),
                Kw::CHARACTER | Kw::CHARSET => {
                    ty.charset = self.optional_charset()?;
                    if ty.charset.is_none() {
                        return self.fail();
                    }
                    continue;
                }
                _ => return Ok(()),
            }
            self.bump();
        }
    }

    fn table_options(&mut self, create: &mut CreateTable) -> Result<()> {
        loop {
            self.eat(TokenKind::Comma);
            let defaulted = self.eat_kw(Kw::DEFAULT);
            if let Some(charset) = self.optional_charset()? {
                create.options.push(TableOption::Charset(charset));
                continue;
            }
            let option = match self.kw() {
                Kw::COLLATE => {
                    self.option_word();
                    TableOption::Collation(self.collation_name()?)
                }
                _ if defaulted => return self.fail(),
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
                Kw::ROW_FORMAT
                | Kw::MAX_ROWS
                | Kw::MIN_ROWS
                | Kw::AVG_ROW_LENGTH
                | Kw::PACK_KEYS
                | Kw::CHECKSUM
                | Kw::TABLE_CHECKSUM
                | Kw::DELAY_KEY_WRITE
                | Kw::STATS_PERSISTENT
                | Kw::STATS_AUTO_RECALC
                | Kw::STATS_SAMPLE_PAGES
                | Kw::KEY_BLOCK_SIZE
                | Kw::COMPRESSION
                | Kw::ENCRYPTION
                | Kw::CONNECTION
                | Kw::INSERT_METHOD
                | Kw::TABLESPACE
                | Kw::ENGINE_ATTRIBUTE
                | Kw::SECONDARY_ENGINE_ATTRIBUTE
                | Kw::SECONDARY_ENGINE
                | Kw::PASSWORD
                | Kw::AUTOEXTEND_SIZE => {
                    let name = String::from_utf8_lossy(self.peek().text(self.sql)).into_owned();
                    self.option_word();
                    let value = String::from_utf8_lossy(self.bump().text(self.sql)).into_owned();
                    TableOption::Other(name, value)
                }
                _ => return Ok(()),
            };
            create.options.push(option);
        }
    }

    /// The option's word and its `=`.
    fn option_word(&mut self) {
        self.bump();
        self.eat(TokenKind::Eq);
    }

    fn create_index(&mut self, kind: IndexKind) -> Result<Statement> {
        self.expect_kw(Kw::INDEX)?;
        let name = Some(self.ident()?);
        let mut options = IndexOptions::default();
        self.index_type(&mut options)?;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let columns = self.key_columns()?;
        self.index_options(&mut options)?;
        let index = IndexDef { kind, name, columns, options };
        Ok(Statement::CreateIndex(Box::new(CreateIndex { table, index })))
    }
}

/// Types that take no number in parentheses, unlike TEXT(n) and BLOB(n).
fn has_fixed_length(kind: TypeKind) -> bool {
    matches!(
        kind,
        TypeKind::TinyText
            | TypeKind::MediumText
            | TypeKind::LongText
            | TypeKind::TinyBlob
            | TypeKind::MediumBlob
            | TypeKind::LongBlob
            | TypeKind::Json
    )
}
