//! Immutable definitions of schemas, tables and accounts, and the bytes they are stored as.
//!
//! 1. The stored form begins with a version byte; a newer one is refused, never guessed at.
//! 2. Decoding checks everything: the bytes come from disk.

use base::{IndexId, PageNo, SpaceId, TableId};
use engine::{IndexSpec, TableSpec, TableStorage};
use stdx::bytes::{Put, Reader, Truncated};
use value::{Collation, ColumnType, KeyPart};

const DEFINITION_VERSION: u8 = 1;
/// Bit of a stored key part's prefix length: the part is descending.
const DESCENDING: u32 = 1 << 31;

/// A schema (MySQL: database).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaDef {
    /// Name as created.
    pub name: String,
    /// Default collation of its tables.
    pub collation: Collation,
}

/// Who may log in, and how the password is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// User name.
    pub user: String,
    /// Host part: `localhost` is all that root has so far.
    pub host: String,
    /// Authentication plugin.
    pub plugin: String,
    /// What the plugin stores; empty means no password.
    pub auth_string: Vec<u8>,
}

/// What an INSERT that does not name the column stores.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultValue {
    /// The column has no default: strict mode answers 1364.
    None,
    /// NULL.
    Null,
    /// An integer.
    Int(i128),
    /// Text or bytes.
    Bytes(Vec<u8>),
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// Name as created.
    pub name: String,
    /// Type, nullability and collation.
    pub ty: ColumnType,
    /// Default value.
    pub default: DefaultValue,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// COMMENT.
    pub comment: String,
}

/// One index; the primary key, if there is one, is the first of a table's list.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// Id, unique in the server.
    pub id: IndexId,
    /// Name; `PRIMARY` for the primary key.
    pub name: String,
    /// No two rows agree on a key without NULL.
    pub unique: bool,
    /// The clustered index.
    pub primary: bool,
    /// Key columns in order.
    pub parts: Vec<KeyPart>,
    /// COMMENT.
    pub comment: String,
}

/// One table as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDef {
    /// Id, unique in the server, never reused.
    pub id: TableId,
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<ColumnDef>,
    /// Id of the clustered index: the primary key's, or that of the hidden row id.
    pub clustered_id: IndexId,
    /// Indexes, the primary key first.
    pub indexes: Vec<IndexDef>,
    /// Default collation of new columns.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// Creation time, microseconds since 1970.
    pub created_us: i64,
    /// Space and root pages.
    pub storage: TableStorage,
}

impl TableDef {
    /// Position of a column by name, case-insensitively.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| value::name::same_name(&c.name, name))
    }

    /// The primary key, if the table has one.
    pub fn primary(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|index| index.primary)
    }

    /// Secondary indexes in the engine's order: engine index `i + 1` is item `i`.
    pub fn secondaries(&self) -> &[IndexDef] {
        &self.indexes[usize::from(self.primary().is_some())..]
    }

    /// Position of the AUTO_INCREMENT column.
    pub fn autoinc_column(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.auto_increment)
    }

    /// The engine's view of this definition.
    pub fn spec(&self) -> TableSpec {
        TableSpec {
            id: self.id,
            name: format!("{}.{}", self.schema, self.name),
            columns: self.columns.iter().map(|c| c.ty).collect(),
            clustered_id: self.clustered_id,
            clustered: self.primary().map(|p| p.parts.clone()).unwrap_or_default(),
            secondaries: self.secondaries().iter().map(IndexDef::spec).collect(),
            autoinc_column: self.autoinc_column(),
        }
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![DEFINITION_VERSION];
        out.put_u64_le(self.id.0);
        out.put_u64_le(self.clustered_id.0);
        put_text(&mut out, &self.schema);
        put_text(&mut out, &self.name);
        out.put_u16_le(self.collation.id());
        put_text(&mut out, &self.comment);
        out.put_u64_le(self.created_us as u64);
        out.put_u16_le(self.columns.len() as u16);
        self.columns.iter().for_each(|c| c.encode(&mut out));
        out.put_u16_le(self.indexes.len() as u16);
        self.indexes.iter().for_each(|i| i.encode(&mut out));
        out.put_u32_le(self.storage.space.0);
        out.put_u16_le(self.storage.roots.len() as u16);
        for (index, root) in &self.storage.roots {
            out.put_u64_le(index.0);
            out.put_u32_le(root.0);
        }
        out
    }

    /// Reads the stored form; an error says what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<TableDef, &'static str> {
        let mut r = Reader::new(bytes);
        match r.u8() {
            Ok(DEFINITION_VERSION) => {}
            Ok(_) => return Err("written by a newer version"),
            Err(_) => return Err("empty definition"),
        }
        let def = TableDef::decode_body(&mut r)?;
        if r.remaining() == 0 { Ok(def) } else { Err("bytes after the definition") }
    }

    fn decode_body(r: &mut Reader<'_>) -> Result<TableDef, &'static str> {
        let id = TableId(r.u64_le().map_err(cut)?);
        let clustered_id = IndexId(r.u64_le().map_err(cut)?);
        let (schema, name) = (text(r)?, text(r)?);
        let collation = collation(r)?;
        let comment = text(r)?;
        let created_us = r.u64_le().map_err(cut)? as i64;
        let columns = list(r, ColumnDef::decode)?;
        let indexes = list(r, |r| IndexDef::decode(r, columns.len()))?;
        let space = SpaceId(r.u32_le().map_err(cut)?);
        let roots =
            list(r, |r| Ok((IndexId(r.u64_le().map_err(cut)?), PageNo(r.u32_le().map_err(cut)?))))?;
        let storage = TableStorage { space, roots };
        Ok(TableDef {
            id,
            clustered_id,
            schema,
            name,
            columns,
            indexes,
            collation,
            comment,
            created_us,
            storage,
        })
    }
}

impl IndexDef {
    /// The engine's view of this index.
    pub fn spec(&self) -> IndexSpec {
        IndexSpec {
            id: self.id,
            name: self.name.clone(),
            unique: self.unique,
            parts: self.parts.clone(),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64_le(self.id.0);
        put_text(out, &self.name);
        out.put_u8(u8::from(self.unique) | u8::from(self.primary) << 1);
        put_text(out, &self.comment);
        out.put_u16_le(self.parts.len() as u16);
        for part in &self.parts {
            out.put_u16_le(part.column as u16);
            let flag = if part.descending { DESCENDING } else { 0 };
            out.put_u32_le(part.prefix_chars.unwrap_or(0) | flag);
        }
    }

    fn decode(r: &mut Reader<'_>, columns: usize) -> Result<IndexDef, &'static str> {
        let id = IndexId(r.u64_le().map_err(cut)?);
        let name = text(r)?;
        let flags = r.u8().map_err(cut)?;
        let comment = text(r)?;
        let parts = list(r, |r| {
            let column = usize::from(r.u16_le().map_err(cut)?);
            let prefix = r.u32_le().map_err(cut)?;
            if column >= columns {
                return Err("an index names a column that is not there");
            }
            let (prefix, descending) = (prefix & !DESCENDING, prefix & DESCENDING != 0);
            Ok(KeyPart { column, prefix_chars: (prefix > 0).then_some(prefix), descending })
        })?;
        Ok(IndexDef { id, name, unique: flags & 1 != 0, primary: flags & 2 != 0, parts, comment })
    }
}

impl ColumnDef {
    fn encode(&self, out: &mut Vec<u8>) {
        put_text(out, &self.name);
        self.ty.encode(out);
        match &self.default {
            DefaultValue::None => out.put_u8(0),
            DefaultValue::Null => out.put_u8(1),
            DefaultValue::Int(v) => {
                out.put_u8(2);
                out.put_bytes(&v.to_le_bytes());
            }
            DefaultValue::Bytes(bytes) => {
                out.put_u8(3);
                put_bytes(out, bytes);
            }
        }
        out.put_u8(u8::from(self.auto_increment));
        put_text(out, &self.comment);
    }

    fn decode(r: &mut Reader<'_>) -> Result<ColumnDef, &'static str> {
        let name = text(r)?;
        let (ty, took) = ColumnType::decode(r.peek_rest()).map_err(|e| e.0)?;
        r.take(took).map_err(cut)?;
        let default = match r.u8().map_err(cut)? {
            0 => DefaultValue::None,
            1 => DefaultValue::Null,
            2 => DefaultValue::Int(i128::from_le_bytes(r.array::<16>().map_err(cut)?)),
            3 => DefaultValue::Bytes(bytes(r)?.to_vec()),
            _ => return Err("unknown kind of default"),
        };
        let auto_increment = r.u8().map_err(cut)? != 0;
        Ok(ColumnDef { name, ty, default, auto_increment, comment: text(r)? })
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_bytes(bytes);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

fn cut(_: Truncated) -> &'static str {
    "the definition is cut short"
}

fn bytes<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], &'static str> {
    let n = r.u32_le().map_err(cut)? as usize;
    r.take(n).map_err(cut)
}

fn text(r: &mut Reader<'_>) -> Result<String, &'static str> {
    String::from_utf8(bytes(r)?.to_vec()).map_err(|_| "a name is not UTF-8")
}

fn collation(r: &mut Reader<'_>) -> Result<Collation, &'static str> {
    Collation::from_id(r.u16_le().map_err(cut)?).ok_or("unknown collation")
}

fn list<T>(
    r: &mut Reader<'_>,
    mut item: impl FnMut(&mut Reader<'_>) -> Result<T, &'static str>,
) -> Result<Vec<T>, &'static str> {
    let n = r.u16_le().map_err(cut)?;
    (0..n).map(|_| item(r)).collect()
}
