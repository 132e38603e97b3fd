//! Immutable definitions of schemas, tables and views.
//!
//! 1. An expression of a definition is kept as the text that MySQL prints of it, with unqualified columns;
//!    who evaluates it binds it again, to the table as it is then.
//! 2. Values of generated columns are stored with the row, VIRTUAL ones too: readers and indexes need
//!    not know that they are computed.
//! 3. The clustered index is the first of the list: the primary key, else a unique index over whole NOT
//!    NULL columns; without such an index the engine clusters by a hidden row id.

use crate::{ForeignKeyDef, OlderColumns, PERFORMANCE_SCHEMA};
use base::{IndexId, SpaceId, TableId};
use engine::{IndexSpec, TableSpec, TableStorage};
use std::borrow::Cow;
use std::sync::Arc;
use value::charset::converted;
use value::{Charset, Collation, ColumnType, ConvertMode, Datum, KeyPart, OwnedDatum, TimeZone};

/// A schema (MySQL: database).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaDef {
    /// Name as created.
    pub name: String,
    /// Default collation of its tables.
    pub collation: Collation,
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
    /// CURRENT_TIMESTAMP with so many digits of a second.
    Now(u8),
    /// DEFAULT (expression): its text.
    Expr(String),
}

/// An expression's text as lists (information_schema, SHOW) have it: its quotes and backslashes have backslashes.
pub fn listed(expression: &str) -> String {
    expression.replace('\\', "\\\\").replace('\'', "\\'")
}

/// GENERATED ALWAYS AS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Text of the expression.
    pub text: String,
    /// STORED; else VIRTUAL.
    pub stored: bool,
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
    /// ON UPDATE CURRENT_TIMESTAMP with so many digits of a second.
    pub on_update: Option<u8>,
    /// The column's value is computed.
    pub generated: Option<Generated>,
    /// INVISIBLE: `*` and an INSERT without a column list leave it out.
    pub invisible: bool,
    /// Made for a functional key part: no name finds it, nothing lists it.
    pub hidden: bool,
    /// CHARACTER SET or COLLATE was written for the column: SHOW CREATE TABLE writes it, too.
    pub own_collation: bool,
    /// What rows have that were there before the column, as the only column of a row ([`crate::OlderColumns`]).
    pub initial: Option<Vec<u8>>,
}

impl ColumnDef {
    /// A column of this type without default or any other attribute.
    pub fn new(name: impl Into<String>, ty: ColumnType) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            ty,
            default: if ty.nullable { DefaultValue::Null } else { DefaultValue::None },
            auto_increment: false,
            comment: String::new(),
            on_update: None,
            generated: None,
            invisible: false,
            hidden: false,
            own_collation: false,
            initial: None,
        }
    }

    /// The default as far as it is a value of its own: no expression, not the time of day.
    pub fn stored_default(&self) -> Option<OwnedDatum> {
        match &self.default {
            DefaultValue::Int(v) => Some(match (i64::try_from(*v), u64::try_from(*v)) {
                (Ok(v), _) => OwnedDatum::Int(v),
                (_, Ok(v)) => OwnedDatum::UInt(v),
                _ => OwnedDatum::Null,
            }),
            DefaultValue::Bytes(bytes) if self.ty.kind.is_string() => {
                Some(OwnedDatum::Bytes(bytes.clone()))
            }
            DefaultValue::Bytes(bytes) => {
                // TIMESTAMP's text is UTC.
                let (zone, mut scratch) = (TimeZone::utc(), Vec::new());
                let mode = ConvertMode::new(false, &zone);
                let coerced =
                    value::coerce(Datum::Bytes(bytes), None, &self.ty, &mode, &mut scratch);
                Some(coerced.map_or(OwnedDatum::Null, |c| OwnedDatum::of(&c.value)))
            }
            _ => None,
        }
    }

    /// A default that is text, as definitions and lists show it: utf8mb4 whatever the column's character set is.
    pub fn shown_default<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match self.ty.is_text() || self.ty.kind.has_members() {
            true => converted(bytes, self.ty.collation.charset(), Charset::Utf8mb4).0,
            false => Cow::Borrowed(bytes),
        }
    }

    /// Whether `*` and an INSERT without a column list mean it, too.
    pub fn is_listed(&self) -> bool {
        !self.invisible && !self.hidden
    }
}

/// One index; the clustered one, if there is one, is the first of a table's list.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// Id, unique in the server.
    pub id: IndexId,
    /// Name; `PRIMARY` for the primary key.
    pub name: String,
    /// No two rows agree on a key without NULL.
    pub unique: bool,
    /// PRIMARY KEY.
    pub primary: bool,
    /// Rows lie in its order: the primary key, or what stands for one.
    pub clustered: bool,
    /// Key columns in order.
    pub parts: Vec<KeyPart>,
    /// COMMENT.
    pub comment: String,
    /// What else was written about it.
    pub attributes: IndexAttributes,
}

/// What is kept of an index's definition besides its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexAttributes {
    /// INVISIBLE: no plan uses it.
    pub invisible: bool,
    /// USING BTREE was written.
    pub using_btree: bool,
    /// KEY_BLOCK_SIZE; 0 when not written.
    pub key_block_size: u64,
    /// Made for a foreign key: another index that serves takes its place.
    pub generated: bool,
}

/// CHECK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDef {
    /// Name.
    pub name: String,
    /// Text of the condition.
    pub text: String,
    /// Rows are checked.
    pub enforced: bool,
}

/// What a view is made of; its columns are the table's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDef {
    /// The query as SHOW CREATE VIEW prints it, every name resolved.
    pub text: String,
    /// The query to be parsed when the view is used; unqualified tables lie in the view's own schema.
    pub query: String,
    /// The schema that was current when the view was made: unqualified names of `query` lie in it.
    pub database: String,
    /// ALGORITHM: `UNDEFINED`, `MERGE` or `TEMPTABLE`.
    pub algorithm: String,
    /// DEFINER: user and host.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER.
    pub invoker: bool,
    /// WITH CHECK OPTION: `CASCADED` or `LOCAL`.
    pub check: Option<String>,
    /// Rows may be changed through it.
    pub updatable: bool,
    /// Its columns were named behind its own name.
    pub listed: bool,
    /// `character_set_client` at its creation.
    pub client_charset: String,
    /// `collation_connection` at its creation.
    pub connection_collation: String,
}

/// One table or view as it was at one moment.
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
    /// Indexes, the clustered one first.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints, in the order in which they were made.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints, in the order in which they were made.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// A view has no indexes and no storage.
    pub view: Option<Box<ViewDef>>,
    /// TEMPORARY: one session's own, in no dictionary.
    pub temporary: bool,
    /// Options as SHOW CREATE TABLE prints them: name and value.
    pub options: Vec<(String, String)>,
    /// Default collation of new columns.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// Creation time, microseconds since 1970.
    pub created_us: i64,
    /// Space and root pages.
    pub storage: TableStorage,
    /// Layouts that rows in that storage were written under before columns came or went, the oldest first.
    pub older: Vec<OlderColumns>,
}

impl TableDef {
    /// A table of these columns without ids, indexes and storage, which the dictionary gives it.
    pub fn new(
        schema: impl Into<String>,
        name: impl Into<String>,
        columns: Vec<ColumnDef>,
        collation: Collation,
    ) -> TableDef {
        TableDef {
            id: TableId(0),
            schema: schema.into(),
            name: name.into(),
            columns,
            clustered_id: IndexId(0),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            view: None,
            temporary: false,
            options: Vec::new(),
            collation,
            comment: String::new(),
            created_us: 0,
            storage: TableStorage { space: SpaceId(0), roots: Vec::new() },
            older: Vec::new(),
        }
    }

    /// Position of a column by name, case-insensitively; hidden columns have none.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| !c.hidden && value::name::same_name(&c.name, name))
    }

    /// Gives the table another name; constraints that are named after it follow. Its references to itself follow
    /// by [`TableDef::follow`].
    pub fn rename(&mut self, schema: &str, name: &str) {
        let (before, after) = (format!("{}_chk_", self.name), format!("{name}_chk_"));
        for check in &mut self.checks {
            if let Some(number) = check.name.strip_prefix(&before)
                && number.bytes().all(|b| b.is_ascii_digit())
            {
                check.name = format!("{after}{number}");
            }
        }
        for key in &mut self.foreign_keys {
            if let Some(number) = key.generated_number(&self.name) {
                key.name = format!("{name}_ibfk_{number}");
            }
        }
        (self.schema, self.name) = (schema.to_string(), name.to_string());
    }

    /// The primary key, if the table has one.
    pub fn primary(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|index| index.primary)
    }

    /// The index in whose order rows lie; `None`: they lie in the order of a hidden row id.
    pub fn clustered(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|index| index.clustered)
    }

    /// The parts of an index by which rows are found: its own, and behind them those of the clustered index, which
    /// every entry ends with. Of unique indexes, and where a part keeps a prefix or comes twice, its own alone.
    pub fn all_parts(&self, index: &IndexDef) -> Vec<KeyPart> {
        let mut parts = index.parts.clone();
        let clustered = self.clustered().map_or(&[][..], |clustered| &clustered.parts);
        let whole = |part: &KeyPart| part.prefix_chars.is_none();
        let new = |part: &KeyPart| index.parts.iter().all(|own| own.column != part.column);
        let fits = index.parts.iter().all(whole) && clustered.iter().all(|p| whole(p) && new(p));
        if !index.clustered && !index.unique && fits {
            parts.extend_from_slice(clustered);
        }
        parts
    }

    /// Names of the indexes in the engine's order; that of a clustered index that nobody has defined is empty.
    pub fn engine_indexes(&self) -> Arc<[String]> {
        let clustered = self.clustered().map_or_else(String::new, |index| index.name.clone());
        std::iter::once(clustered)
            .chain(self.secondaries().iter().map(|i| i.name.clone()))
            .collect()
    }

    /// Secondary indexes in the engine's order: engine index `i + 1` is item `i`.
    pub fn secondaries(&self) -> &[IndexDef] {
        &self.indexes[usize::from(self.clustered().is_some())..]
    }

    /// Name of the storage engine: what has no storage and is no view is of the performance schema, or shown as if
    /// it were stored.
    pub fn engine(&self) -> &'static str {
        match self.schema == PERFORMANCE_SCHEMA {
            true => "PERFORMANCE_SCHEMA",
            false => "InnoDB",
        }
    }

    /// How its indexes find rows: `BTREE`, or `HASH`, which has no order.
    pub fn index_type(&self) -> &'static str {
        match self.schema == PERFORMANCE_SCHEMA {
            true => "HASH",
            false => "BTREE",
        }
    }

    /// PRI, UNI, MUL or nothing, as SHOW COLUMNS prints it.
    pub fn key_kind(&self, position: usize) -> &'static str {
        let leads = |i: &IndexDef| i.parts.first().is_some_and(|p| p.column == position);
        let alone = |i: &IndexDef| leads(i) && i.unique && i.parts.len() == 1;
        if self.clustered().is_some_and(|p| p.parts.iter().any(|part| part.column == position)) {
            "PRI"
        } else if self.secondaries().iter().any(alone) {
            "UNI"
        } else if self.secondaries().iter().any(leads) {
            "MUL"
        } else {
            ""
        }
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
            clustered: self.clustered().map(|p| p.parts.clone()).unwrap_or_default(),
            secondaries: self.secondaries().iter().map(IndexDef::spec).collect(),
            autoinc_column: self.autoinc_column(),
            older: self.older_rows(),
            private: self.temporary,
        }
    }
}

impl IndexDef {
    /// An index that has no id yet; the dictionary gives it one.
    pub fn new(name: impl Into<String>, unique: bool, primary: bool, parts: Vec<KeyPart>) -> Self {
        IndexDef {
            id: IndexId(0),
            name: name.into(),
            unique,
            primary,
            clustered: primary,
            parts,
            comment: String::new(),
            attributes: IndexAttributes::default(),
        }
    }

    /// The engine's view of this index.
    pub fn spec(&self) -> IndexSpec {
        IndexSpec {
            id: self.id,
            name: self.name.clone(),
            unique: self.unique,
            parts: self.parts.clone(),
        }
    }
}
