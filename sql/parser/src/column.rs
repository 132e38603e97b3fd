//! Columns: data types and attributes.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::deprecated;
use crate::keywords::Kw;
use crate::mode::SqlMode;
use crate::refused::Refused;
use crate::special::plain_call;
use crate::token::TokenKind;

impl Parser<'_> {
    /// A column of CREATE TABLE: name, type, attributes, REFERENCES.
    pub(crate) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.ident()?;
        let mut column = self.field_def(name)?;
        if self.kw() == Kw::REFERENCES {
            column.references = Some(Box::new(self.references()?));
        }
        Ok(column)
    }

    /// What follows a column's name.
    pub(crate) fn field_def(&mut self, name: String) -> Result<ColumnDef> {
        if name.is_empty() {
            return self.fail_with(Refused::NoColumnName);
        }
        let ty = self.data_type()?;
        let mut column = ColumnDef {
            name,
            auto_increment: ty.kind == TypeKind::Serial,
            unique: ty.kind == TypeKind::Serial,
            ty,
            nullable: None,
            default: None,
            default_is_expression: false,
            on_update: None,
            primary: false,
            comment: None,
            collation: None,
            invisible: false,
            generated: None,
            checks: Vec::new(),
            references: None,
            srid: None,
            others: Vec::new(),
        };
        if self.kw() == Kw::COLLATE {
            self.column_attribute(&mut column)?;
        }
        if matches!(self.kw(), Kw::GENERATED | Kw::AS) {
            column.generated = Some(self.generated()?);
        }
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// `[GENERATED ALWAYS] AS (expr) [STORED | VIRTUAL]`.
    fn generated(&mut self) -> Result<(Expr, bool)> {
        if self.eat_kw(Kw::GENERATED) {
            self.expect_kw(Kw::ALWAYS)?;
        }
        self.expect_kw(Kw::AS)?;
        self.expect(TokenKind::Open)?;
        let expr = self.expr()?;
        self.expect(TokenKind::Close)?;
        Ok((expr, self.eat_any(&[Kw::STORED, Kw::VIRTUAL]) == Some(Kw::STORED)))
    }

    fn column_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        match self.kw() {
            Kw::NOT => {
                self.bump();
                match self.expect_any(&[Kw::NULL, Kw::SECONDARY])? {
                    Kw::NULL => column.nullable = Some(false),
                    _ => column.others.push("NOT SECONDARY".to_string()),
                }
            }
            Kw::NULL => {
                self.bump();
                column.nullable = Some(true);
            }
            Kw::DEFAULT => {
                self.bump();
                (column.default, column.default_is_expression) = self.default_value()?;
            }
            Kw::ON => {
                self.bump();
                self.expect_kw(Kw::UPDATE)?;
                column.on_update = Some(self.now()?);
            }
            Kw::AUTO_INCREMENT => {
                self.bump();
                column.auto_increment = true;
            }
            Kw::SERIAL => {
                self.bump();
                self.expect_kw(Kw::DEFAULT)?;
                self.expect_kw(Kw::VALUE)?;
                column.nullable = Some(false);
                column.auto_increment = true;
                column.unique = true;
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
            Kw::COLLATE if column.collation.is_some() => return self.fail(),
            Kw::COLLATE => {
                self.bump();
                column.collation = Some(self.collation_name()?);
            }
            Kw::VISIBLE | Kw::INVISIBLE => column.invisible = self.bump().kw == Kw::INVISIBLE,
            Kw::CONSTRAINT | Kw::CHECK => {
                let named = self.eat_kw(Kw::CONSTRAINT) && self.at_name();
                let name = if named { Some(self.ident()?) } else { None };
                let check = self.check(name)?;
                column.checks.push(check);
            }
            _ => return self.other_attribute(column),
        }
        Ok(true)
    }

    /// Attributes that are noted by name.
    fn other_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        let word = self.kw();
        match word {
            Kw::COLUMN_FORMAT => {
                self.bump();
                self.expect_any(&[Kw::DEFAULT, Kw::FIXED, Kw::DYNAMIC])?;
            }
            Kw::STORAGE => {
                self.bump();
                self.expect_any(&[Kw::DEFAULT, Kw::DISK, Kw::MEMORY])?;
            }
            Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                self.bump();
                self.eat(TokenKind::Eq);
                self.string()?;
            }
            Kw::SRID => {
                self.bump();
                column.srid = Some(self.unsigned()?);
            }
            _ => return Ok(false),
        }
        column.others.push(word.text().to_string());
        Ok(true)
    }

    /// DEFAULT's value: a literal with or without a sign, NOW, or an expression in parentheses (then true).
    pub(crate) fn default_value(&mut self) -> Result<(Option<Expr>, bool)> {
        if self.kind() == TokenKind::Open {
            self.bump();
            let expr = self.expr()?;
            self.expect(TokenKind::Close)?;
            return Ok((Some(expr), true));
        }
        if self.at_now() {
            return Ok((Some(self.now()?), false));
        }
        Ok((Some(self.signed_literal()?), false))
    }

    fn at_now(&self) -> bool {
        matches!(self.kw(), Kw::CURRENT_TIMESTAMP | Kw::NOW | Kw::LOCALTIME | Kw::LOCALTIMESTAMP)
    }

    /// `CURRENT_TIMESTAMP [( [fsp] )]` and its synonyms.
    fn now(&mut self) -> Result<Expr> {
        if !self.at_now() {
            return self.fail();
        }
        let name = String::from_utf8_lossy(self.bump().text(self.sql)).into_owned();
        let mut args = Vec::new();
        if self.eat(TokenKind::Open) {
            if self.kind() == TokenKind::Integer {
                args.push(self.primary()?);
            }
            self.expect(TokenKind::Close)?;
        }
        let name = ObjectName { schema: None, name };
        Ok(Expr::Call(plain_call(name, args)))
    }

    /// A literal; a number may have a sign.
    pub(crate) fn signed_literal(&mut self) -> Result<Expr> {
        let sign = self.kind();
        if matches!(sign, TokenKind::Minus | TokenKind::Plus) {
            if sign == TokenKind::Minus
                && let Some(literal) = self.negative_literal()
            {
                return Ok(literal);
            }
            self.bump();
            if !matches!(self.kind(), TokenKind::Integer | TokenKind::Decimal | TokenKind::Float) {
                return self.fail();
            }
            return self.primary();
        }
        let literal = match self.kind() {
            TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::String
            | TokenKind::NString
            | TokenKind::HexString
            | TokenKind::HexNumber
            | TokenKind::BitString
            | TokenKind::BitNumber
            | TokenKind::Introducer => true,
            _ => {
                matches!(self.kw(), Kw::NULL | Kw::TRUE | Kw::FALSE)
                    || (matches!(self.kw(), Kw::DATE | Kw::TIME | Kw::TIMESTAMP)
                        && self.nth(1).kind == TokenKind::String)
            }
        };
        if literal { self.primary() } else { self.fail() }
    }

    /// A data type with its own modifiers.
    pub(crate) fn data_type(&mut self) -> Result<DataType> {
        let kind = self.type_kind()?;
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
        use TypeKind::*;
        match kind {
            Enum | Set => ty.members = self.parenthesised(Self::member)?,
            Double if self.kind() == TokenKind::Open => {
                (ty.length, ty.scale) = self.length_and_scale()?;
                if ty.scale.is_none() {
                    self.rewind(self.place() - 1);
                    return self.fail();
                }
            }
            Decimal | Float => (ty.length, ty.scale) = self.length_and_scale()?,
            TinyInt | SmallInt | MediumInt | Int | BigInt | Bit | Char | NChar | Binary | Year
            | Text | Blob | Time | Timestamp | Datetime | Vector => ty.length = self.length()?,
            VarChar | NVarChar | VarBinary => {
                ty.length = self.length()?;
                if ty.length.is_none() {
                    return self.fail();
                }
            }
            _ => {}
        }
        match kind {
            TinyInt | SmallInt | MediumInt | Int | BigInt | Decimal | Float | Double | Year => {
                self.number_attributes(&mut ty);
                deprecated::of_number(&ty).for_each(|warning| self.warn(warning));
            }
            Char | VarChar | TinyText | Text | MediumText | LongText | Enum | Set => {
                self.charset_attributes(&mut ty)?;
            }
            NChar | NVarChar => {
                self.warn(deprecated::NATIONAL);
                ty.binary = self.binary_attribute();
            }
            _ => {}
        }
        Ok(ty)
    }

    fn type_kind(&mut self) -> Result<TypeKind> {
        let place = self.place();
        Ok(match self.bump().kw {
            Kw::TINYINT | Kw::INT1 => TypeKind::TinyInt,
            Kw::SMALLINT | Kw::INT2 => TypeKind::SmallInt,
            Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => TypeKind::MediumInt,
            Kw::INT | Kw::INTEGER | Kw::INT4 => TypeKind::Int,
            Kw::BIGINT | Kw::INT8 => TypeKind::BigInt,
            Kw::BOOL | Kw::BOOLEAN => TypeKind::Bool,
            Kw::SERIAL => TypeKind::Serial,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => TypeKind::Decimal,
            Kw::FLOAT | Kw::FLOAT4 => TypeKind::Float,
            Kw::REAL if self.mode.has(SqlMode::REAL_AS_FLOAT) => TypeKind::Float,
            Kw::REAL => TypeKind::Double,
            Kw::DOUBLE | Kw::FLOAT8 => {
                self.eat_kw(Kw::PRECISION);
                TypeKind::Double
            }
            Kw::BIT => TypeKind::Bit,
            Kw::DATE => TypeKind::Date,
            Kw::TIME => TypeKind::Time,
            Kw::DATETIME => TypeKind::Datetime,
            Kw::TIMESTAMP => TypeKind::Timestamp,
            Kw::YEAR => TypeKind::Year,
            Kw::BINARY => TypeKind::Binary,
            Kw::VARBINARY => TypeKind::VarBinary,
            Kw::TINYTEXT => TypeKind::TinyText,
            Kw::TEXT => TypeKind::Text,
            Kw::MEDIUMTEXT => TypeKind::MediumText,
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
            word => match self.text_kind(word)? {
                Some(kind) => kind,
                None => {
                    self.rewind(place);
                    return self.fail();
                }
            },
        })
    }

    /// Character types of several words; `word` is taken.
    fn text_kind(&mut self, word: Kw) -> Result<Option<TypeKind>> {
        Ok(Some(match word {
            Kw::CHAR | Kw::CHARACTER => match self.eat_kw(Kw::VARYING) {
                true => TypeKind::VarChar,
                false => TypeKind::Char,
            },
            Kw::VARCHAR | Kw::VARCHARACTER => TypeKind::VarChar,
            Kw::NCHAR => match self.eat_any(&[Kw::VARYING, Kw::VARCHAR, Kw::VARCHARACTER]) {
                Some(_) => TypeKind::NVarChar,
                None => TypeKind::NChar,
            },
            Kw::NVARCHAR => TypeKind::NVarChar,
            Kw::NATIONAL => {
                match self.expect_any(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR, Kw::VARCHARACTER])? {
                    Kw::VARCHAR | Kw::VARCHARACTER => TypeKind::NVarChar,
                    _ if self.eat_kw(Kw::VARYING) => TypeKind::NVarChar,
                    _ => TypeKind::NChar,
                }
            }
            Kw::LONG => {
                // LONG CHARACTER SET x, too, is LONG with an attribute.
                let varying =
                    matches!(self.kw(), Kw::CHAR | Kw::CHARACTER) && self.nth(1).kw == Kw::VARYING;
                if varying {
                    self.bump();
                    self.bump();
                    return Ok(Some(TypeKind::MediumText));
                }
                match self.eat_any(&[Kw::VARBINARY, Kw::VARCHAR, Kw::VARCHARACTER]) {
                    Some(Kw::VARBINARY) => TypeKind::MediumBlob,
                    _ => TypeKind::MediumText,
                }
            }
            _ => return Ok(None),
        }))
    }

    fn number_attributes(&mut self, ty: &mut DataType) {
        while let Some(word) = self.eat_any(&[Kw::SIGNED, Kw::UNSIGNED, Kw::ZEROFILL]) {
            ty.unsigned |= word == Kw::UNSIGNED;
            ty.zerofill |= word == Kw::ZEROFILL;
        }
    }

    /// A character set, BINARY, or both in either order.
    fn charset_attributes(&mut self, ty: &mut DataType) -> Result<()> {
        if self.eat_kw(Kw::BYTE) {
            ty.charset = Some("binary".to_string());
            return Ok(());
        }
        ty.binary = self.binary_attribute();
        ty.charset = match self.eat_any(&[Kw::ASCII, Kw::UNICODE]) {
            Some(Kw::ASCII) => {
                self.warn(deprecated::ASCII);
                Some("latin1".to_string())
            }
            Some(_) => {
                self.warn(deprecated::UNICODE);
                Some("ucs2".to_string())
            }
            None => self.charset_attribute()?,
        };
        if ty.charset.is_some() && !ty.binary {
            ty.binary = self.binary_attribute();
        }
        Ok(())
    }

    fn binary_attribute(&mut self) -> bool {
        let written = self.eat_kw(Kw::BINARY);
        if written {
            self.warn(deprecated::BINARY_ATTRIBUTE);
        }
        written
    }

    /// `CHARACTER SET name` or `CHARSET name`, without `=`.
    pub(crate) fn charset_attribute(&mut self) -> Result<Option<String>> {
        if self.eat_any(&[Kw::CHARACTER, Kw::CHAR]).is_some() {
            self.expect_kw(Kw::SET)?;
        } else if !self.eat_kw(Kw::CHARSET) {
            return Ok(None);
        }
        self.charset_name().map(Some)
    }

    /// A character set's name.
    pub(crate) fn charset_name(&mut self) -> Result<String> {
        let name = self.charset_word()?;
        self.warn_name(&name);
        Ok(name)
    }

    /// As [`Self::charset_name`], without the warning about old names.
    pub(crate) fn charset_word(&mut self) -> Result<String> {
        if self.eat_kw(Kw::BINARY) {
            return Ok("binary".to_string());
        }
        let name = self.ident_or_text()?;
        if crate::keywords::is_charset(&name) {
            return Ok(name);
        }
        self.fail_with(Refused::UnknownCharset(&name))
    }

    /// `COLLATE name`, when it stands here.
    pub(crate) fn optional_collation(&mut self) -> Result<Option<String>> {
        if self.eat_kw(Kw::COLLATE) { self.collation_name().map(Some) } else { Ok(None) }
    }
}
