//! LOAD DATA, LOAD XML, LOAD INDEX, IMPORT TABLE, CACHE INDEX, HANDLER, and the format of files.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::literal::{bit_value, hex_value};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `LOAD ...`
    pub(crate) fn load(&mut self) -> Result<Statement> {
        self.bump();
        match self.expect_any(&[Kw::DATA, Kw::XML, Kw::INDEX])? {
            Kw::INDEX => self.load_index(),
            word => self.load_file(word == Kw::XML),
        }
    }

    fn load_file(&mut self, xml: bool) -> Result<Statement> {
        let priority = self.eat_any(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]);
        self.eat_kw(Kw::FROM);
        let local = self.eat_kw(Kw::LOCAL);
        let source = self.expect_any(&[Kw::INFILE, Kw::URL, Kw::S3])?;
        let file = self.string()?;
        let mut bulk = Vec::new();
        if source != Kw::INFILE {
            bulk.push(("SOURCE".to_string(), source.text().to_string()));
        }
        self.bulk_source(&mut bulk)?;
        let on_duplicate = self.eat_any(&[Kw::REPLACE, Kw::IGNORE]).map(|word| word == Kw::REPLACE);
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::TABLE)?;
        let table = self.object_name()?;
        let partitions =
            if self.eat_kw(Kw::PARTITION) { self.parenthesised(Self::ident)? } else { Vec::new() };
        let charset = self.charset_attribute()?;
        let mut row_tag = None;
        if self.eat_kw(Kw::ROWS) {
            self.expect_kw(Kw::IDENTIFIED)?;
            self.expect_kw(Kw::BY)?;
            row_tag = Some(self.text_string()?);
        }
        let format = self.file_format()?;
        let mut skip = 0;
        if self.eat_kw(Kw::IGNORE) {
            skip = self.unsigned()?;
            self.expect_any(&[Kw::LINES, Kw::ROWS])?;
        }
        let mut columns = Vec::new();
        if self.eat(TokenKind::Open) {
            if self.kind() != TokenKind::Close {
                columns = self.comma_list(|p| match p.kind() {
                    TokenKind::UserVar => Ok(Expr::UserVar(p.user_var_name()?)),
                    _ => Ok(Expr::Column(p.column_ref()?)),
                })?;
            }
            self.expect(TokenKind::Close)?;
        }
        let mut assignments = Vec::new();
        if self.eat_kw(Kw::SET) {
            assignments = self.comma_list(Self::assignment)?;
        }
        self.bulk_options(&mut bulk)?;
        Ok(Statement::Load(Box::new(Load {
            xml,
            priority: priority.map(|word| word.text().to_string()),
            local,
            file,
            on_duplicate,
            table,
            partitions,
            charset,
            row_tag,
            format,
            skip,
            columns,
            assignments,
            bulk,
        })))
    }

    /// `[COUNT n] [IN PRIMARY KEY ORDER]`.
    fn bulk_source(&mut self, bulk: &mut Vec<(String, String)>) -> Result<()> {
        if self.kw() == Kw::COUNT || self.peek().text(self.sql).eq_ignore_ascii_case(b"COUNT") {
            self.bump();
            bulk.push(("COUNT".to_string(), self.unsigned()?.to_string()));
        }
        if self.eat_kw(Kw::IN) {
            for word in [Kw::PRIMARY, Kw::KEY, Kw::ORDER] {
                self.expect_kw(word)?;
            }
            bulk.push(("IN PRIMARY KEY ORDER".to_string(), String::new()));
        }
        Ok(())
    }

    fn bulk_options(&mut self, bulk: &mut Vec<(String, String)>) -> Result<()> {
        if self.eat_kw(Kw::PARALLEL) {
            self.eat(TokenKind::Eq);
            bulk.push(("PARALLEL".to_string(), self.unsigned()?.to_string()));
        }
        if self.eat_kw(Kw::MEMORY) {
            self.eat(TokenKind::Eq);
            bulk.push(("MEMORY".to_string(), self.size_number()?));
        }
        if self.eat_kw(Kw::ALGORITHM) {
            self.eat(TokenKind::Eq);
            self.expect_kw(Kw::BULK)?;
            bulk.push(("ALGORITHM".to_string(), "BULK".to_string()));
        }
        Ok(())
    }

    /// `{FIELDS | COLUMNS} ... LINES ...`
    pub(crate) fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.eat_any(&[Kw::FIELDS, Kw::COLUMNS]).is_some() {
            let words = [Kw::TERMINATED, Kw::OPTIONALLY, Kw::ENCLOSED, Kw::ESCAPED];
            let mut word = self.expect_any(&words)?;
            loop {
                if word == Kw::OPTIONALLY {
                    self.expect_kw(Kw::ENCLOSED)?;
                    format.optionally = true;
                }
                self.expect_kw(Kw::BY)?;
                let text = Some(self.text_string()?);
                match word {
                    Kw::TERMINATED => format.field_terminator = text,
                    Kw::ESCAPED => format.escaped = text,
                    _ => format.enclosed = text,
                }
                match self.eat_any(&words) {
                    Some(next) => word = next,
                    None => break,
                }
            }
        }
        if self.eat_kw(Kw::LINES) {
            let words = [Kw::TERMINATED, Kw::STARTING];
            let mut word = self.expect_any(&words)?;
            loop {
                self.expect_kw(Kw::BY)?;
                let text = Some(self.text_string()?);
                match word {
                    Kw::TERMINATED => format.line_terminator = text,
                    _ => format.line_start = text,
                }
                match self.eat_any(&words) {
                    Some(next) => word = next,
                    None => break,
                }
            }
        }
        Ok(format)
    }

    /// A member of ENUM or SET.
    pub(crate) fn member(&mut self) -> Result<StringLiteral> {
        let digits = self.kind() != TokenKind::String;
        let bytes = self.text_string()?;
        Ok(StringLiteral { bytes, charset: digits.then(|| "binary".to_string()) })
    }

    /// A string, or hexadecimal or bit digits that stand for one.
    pub(crate) fn text_string(&mut self) -> Result<Vec<u8>> {
        let token = self.peek();
        let text = token.text(self.sql);
        let bytes = match token.kind {
            TokenKind::HexString => hex_value(&text[2..text.len() - 1]),
            TokenKind::HexNumber => hex_value(&text[2..]),
            TokenKind::BitString => bit_value(&text[2..text.len() - 1]),
            TokenKind::BitNumber => bit_value(&text[2..]),
            _ => return self.string(),
        };
        self.bump();
        Ok(bytes)
    }

    fn load_index(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::CACHE)?;
        let tables = self.comma_list(|p| {
            let mut table = p.key_cache_table()?;
            if p.eat_kw(Kw::IGNORE) {
                p.expect_kw(Kw::LEAVES)?;
                table.ignore_leaves = true;
            }
            Ok(table)
        })?;
        Ok(Statement::LoadIndex(tables))
    }

    fn key_cache_table(&mut self) -> Result<KeyCacheTable> {
        let table = self.object_name()?;
        let mut partitions = Vec::new();
        if self.eat_kw(Kw::PARTITION) {
            self.expect(TokenKind::Open)?;
            partitions = match self.eat_kw(Kw::ALL) {
                true => vec!["ALL".to_string()],
                false => self.comma_list(Self::ident)?,
            };
            self.expect(TokenKind::Close)?;
        }
        let mut indexes = Vec::new();
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
            self.expect(TokenKind::Open)?;
            if self.kind() != TokenKind::Close {
                indexes = self.comma_list(|p| match p.eat_kw(Kw::PRIMARY) {
                    true => Ok("PRIMARY".to_string()),
                    false => p.ident(),
                })?;
            }
            self.expect(TokenKind::Close)?;
        }
        Ok(KeyCacheTable { table, partitions, indexes, ignore_leaves: false })
    }

    /// `CACHE INDEX ...`
    pub(crate) fn cache_index(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_kw(Kw::INDEX)?;
        let tables = self.comma_list(Self::key_cache_table)?;
        self.expect_kw(Kw::IN)?;
        let cache = if self.eat_kw(Kw::DEFAULT) { "default".to_string() } else { self.ident()? };
        Ok(Statement::CacheIndex(CacheIndex { tables, cache }))
    }

    /// `IMPORT TABLE FROM 'file', ...`
    pub(crate) fn import(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_kw(Kw::TABLE)?;
        self.expect_kw(Kw::FROM)?;
        Ok(Statement::ImportTable(self.comma_list(Self::string)?))
    }

    /// `HANDLER ...`
    pub(crate) fn handler(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.object_name()?;
        if self.eat_kw(Kw::OPEN) {
            let aliased = self.eat_kw(Kw::AS) || self.at_name();
            let alias = if aliased { Some(self.ident()?) } else { None };
            return Ok(Statement::Handler(Box::new(Handler::Open(name, alias))));
        }
        if name.schema.is_some() {
            return self.fail();
        }
        let table = name.name;
        if self.expect_any(&[Kw::CLOSE, Kw::READ])? == Kw::CLOSE {
            return Ok(Statement::Handler(Box::new(Handler::Close(table))));
        }
        // FIRST and NEXT alone read in natural order; before another word they name an index.
        let scan = matches!(self.kw(), Kw::FIRST | Kw::NEXT)
            && !matches!(self.nth(1).kw, Kw::FIRST | Kw::NEXT | Kw::PREV | Kw::LAST);
        let index = if scan { None } else { Some(self.ident()?) };
        let what = self.handler_read(index.is_some())?;
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.expr()?) } else { None };
        let limit = self.limit_clause()?;
        let read = Handler::Read { table, index, what, filter, limit };
        Ok(Statement::Handler(Box::new(read)))
    }

    fn handler_read(&mut self, keyed: bool) -> Result<HandlerRead> {
        let words: &[Kw] = match keyed {
            true => &[Kw::FIRST, Kw::NEXT, Kw::PREV, Kw::LAST],
            false => &[Kw::FIRST, Kw::NEXT],
        };
        if let Some(word) = self.eat_any(words) {
            return Ok(match word {
                Kw::FIRST => HandlerRead::First,
                Kw::NEXT => HandlerRead::Next,
                Kw::PREV => HandlerRead::Prev,
                _ => HandlerRead::Last,
            });
        }
        let op = match self.kind() {
            TokenKind::Eq => BinaryOp::Eq,
            TokenKind::Ge => BinaryOp::Ge,
            TokenKind::Le => BinaryOp::Le,
            TokenKind::Gt => BinaryOp::Gt,
            TokenKind::Lt => BinaryOp::Lt,
            _ => return self.fail(),
        };
        self.bump();
        Ok(HandlerRead::Key(op, self.parenthesised(Self::value_or_default)?))
    }
}
