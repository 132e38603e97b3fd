//! The storage engine's tables of `information_schema`, and `mysql.innodb_table_stats` and
//! `mysql.innodb_index_stats`: the same dictionary as the engine sees it.
//!
//! 1. A table is `schema/table`; every stored table has a space of its own. 2. Codes of types are those of InnoDB, as
//! its tables show them. Three columns that InnoDB adds to each row are counted where it counts them, although rows
//! here hold something else. 3. VIRTUAL columns are shown as InnoDB has them: in no row.

use super::{Cell, Rows, cells};
use base::PAGE_BYTES;
use catalog::{ColumnDef, Definition, IndexDef, ReadContext, TableDef, TableFigures};
use parser::SqlMode;
use parser::lex::Lexer;
use parser::token::TokenKind;
use std::sync::Arc;
use value::name::same_name;
use value::{ColumnType, Datum, KeyPart, KeySpec, Kind};

/// What InnoDB keeps with each row: row id, transaction, undo.
const HIDDEN: u64 = 3;
/// DYNAMIC, own file, as InnoDB encodes it.
const SPACE_FLAGS: u64 = 16_417;
/// The version whose files these are like.
const SERVER_VERSION: &str = "8.4.0";
const TABLE_FLAGS: i64 = 33;
const ROOT_HALF_FULL: i64 = 50;

/// Every stored table.
fn each(context: &ReadContext<'_>, f: &mut dyn FnMut(&TableDef, &Arc<Definition>)) {
    for schema in context.catalog.schemas() {
        for definition in context.catalog.definitions(&schema.name) {
            if definition.def.view.is_none() {
                f(&definition.def, &definition);
            }
        }
    }
}

fn name_of(def: &TableDef) -> String {
    format!("{}/{}", def.schema, def.name)
}

fn is_virtual(column: &ColumnDef) -> bool {
    column.hidden || column.generated.as_ref().is_some_and(|g| !g.stored)
}

fn stored_columns(def: &TableDef) -> u64 {
    def.columns.iter().filter(|c| !is_virtual(c)).count() as u64
}

/// A column as InnoDB calls it.
fn column_name(def: &TableDef, column: usize) -> &str {
    &def.columns[column].name
}

pub(super) fn tables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        let columns = stored_columns(def) + HIDDEN;
        let space = u64::from(def.storage.space.0);
        rows.push(&cells![
            def.id.0,
            name_of(def),
            TABLE_FLAGS,
            columns,
            space,
            "Dynamic",
            0_i64,
            "Single",
            0_i64,
            def.older.len() as i64,
        ]);
    });
}

pub(super) fn columns(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        let (mut stored, mut made) = (0_u64, 0_u64);
        let visible = def.columns.iter().enumerate().filter(|(_, c)| !c.hidden);
        for (position, column) in visible {
            let place = match is_virtual(column) {
                true => {
                    made += 1;
                    (made << 16) + position as u64
                }
                false => {
                    stored += 1;
                    stored - 1
                }
            };
            let (main, precise, length) = codes(column);
            rows.push(&cells![
                def.id.0,
                &column.name,
                place,
                main,
                precise,
                length,
                i64::from(column.initial.is_some()),
                initial(column).map_or(Cell::Null, |hex| Cell::Text(hex.into())),
            ]);
        }
    });
}

/// In hexadecimal, what rows have that were there before the column came instantly: integers and text as InnoDB stores them;
/// of other types it is not told.
fn initial(column: &ColumnDef) -> Option<String> {
    let value = column.initial_value()?;
    let mut bytes = Vec::new();
    match value.datum() {
        Datum::Int(_) | Datum::UInt(_) => {
            let whole = KeySpec::new(vec![KeyPart::whole(0)]);
            whole.encode_prefix(&[column.ty.not_null()], &[value.datum()], &mut bytes).ok()?;
        }
        other => bytes.extend_from_slice(other.as_bytes()?),
    }
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// InnoDB's main type, precise type and length of a column.
fn codes(column: &ColumnDef) -> (i64, i64, i64) {
    const BINARY: i64 = 0x400;
    let ty = &column.ty;
    let single = matches!(ty.collation.charset().name(), "latin1");
    let text = |alone: i64, shared: i64| if single { alone } else { shared };
    // A byte of length, or more, and a pointer.
    let large = |bytes: i64| (5, bytes + 8);
    let (code, (main, length)) = match ty.kind {
        Kind::TinyInt => (1, (6, 1)),
        Kind::SmallInt => (2, (6, 2)),
        Kind::MediumInt => (9, (6, 3)),
        Kind::Int => (3, (6, 4)),
        Kind::BigInt => (8, (6, 8)),
        Kind::Float => (4, (9, 4)),
        Kind::Double => (5, (10, 8)),
        Kind::Decimal => (246, (3, bytes(ty))),
        Kind::Bit => (16, (3, bytes(ty))),
        Kind::Enum | Kind::Set => (254, (6, bytes(ty))),
        Kind::Date => (10, (6, 3)),
        Kind::Time => (11, (3, bytes(ty))),
        Kind::DateTime => (12, (3, bytes(ty))),
        Kind::Timestamp => (7, (3, bytes(ty))),
        Kind::Year => (13, (6, 1)),
        Kind::Json => (245, large(4)),
        Kind::Char => (254, (text(2, 13), bytes(ty))),
        Kind::VarChar => (15, (text(1, 12), bytes(ty))),
        Kind::Binary => (254, (3, bytes(ty))),
        Kind::VarBinary => (15, (4, bytes(ty))),
        Kind::TinyText | Kind::TinyBlob => (252, large(1)),
        Kind::Text | Kind::Blob => (252, large(2)),
        Kind::MediumText | Kind::MediumBlob => (252, large(3)),
        Kind::LongText | Kind::LongBlob => (252, large(4)),
        Kind::Geometry => (255, large(4)),
    };
    let charset = match ty.kind {
        Kind::Decimal | Kind::Time | Kind::DateTime | Kind::Timestamp => 8,
        Kind::Json => 46,
        Kind::Bit | Kind::Binary | Kind::VarBinary => 63,
        kind if kind.is_text() => i64::from(ty.collation.id()),
        kind if kind.is_large() => 63,
        _ => 0,
    };
    let is_plain = !ty.kind.is_text() && !matches!(ty.kind, Kind::Enum | Kind::Set | Kind::Bit);
    let unsigned =
        ty.unsigned || matches!(ty.kind, Kind::Enum | Kind::Set | Kind::Bit | Kind::Year);
    let flags = [
        (!ty.nullable, 0x100),
        (unsigned, 0x200),
        (is_plain || ty.kind == Kind::Bit, BINARY),
        (is_virtual(column), 0x2000),
    ];
    let flags: i64 = flags.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum();
    (main, charset << 16 | flags | code, length)
}

fn bytes(ty: &ColumnType) -> i64 {
    i64::from(ty.bytes_max())
}

/// The clustered index that nobody wrote is called that.
const NO_PRIMARY: &str = "GEN_CLUST_INDEX";

/// An index, none for the one that nobody wrote, its name, its id and its number of fields.
type OneIndex<'f> = dyn FnMut(Option<&IndexDef>, &str, u64, u64) + 'f;

/// Indexes of a table.
fn each_index(def: &TableDef, f: &mut OneIndex<'_>) {
    let written = def.indexes.iter().find(|i| i.clustered);
    let key: Vec<usize> =
        written.map_or(Vec::new(), |i| i.parts.iter().map(|p| p.column).collect());
    if written.is_none() {
        f(None, NO_PRIMARY, def.clustered_id.0, stored_columns(def) + HIDDEN);
    }
    for index in &def.indexes {
        let fields = match index.clustered {
            true => stored_columns(def) + HIDDEN - 1,
            false => {
                let own = |c: &&usize| index.parts.iter().all(|p| p.column != **c);
                let more = key.iter().filter(own).count().max(usize::from(key.is_empty()));
                (index.parts.len() + more) as u64
            }
        };
        f(Some(index), &index.name, index.id.0, fields);
    }
}

/// Which stored columns VIRTUAL ones are computed from.
pub(super) fn virtuals(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        let stored: Vec<&ColumnDef> = def.columns.iter().filter(|c| !is_virtual(c)).collect();
        let mut made = 0_u64;
        for (position, column) in def.columns.iter().enumerate().filter(|(_, c)| is_virtual(c)) {
            made += 1;
            let Some(generated) = &column.generated else { continue };
            let mut bases: Vec<u64> = named_in(&generated.text)
                .iter()
                .filter_map(|name| stored.iter().position(|c| same_name(&c.name, name)))
                .map(|at| at as u64)
                .collect();
            bases.sort_unstable();
            bases.dedup();
            for base in bases {
                rows.push(&cells![def.id.0, (made << 16) + position as u64, base]);
            }
        }
    });
}

/// Quoted names of an expression as definitions keep it.
fn named_in(text: &str) -> Vec<String> {
    let mut lexer = Lexer::new(text.as_bytes(), 0, SqlMode::default());
    let mut names = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End | TokenKind::Bad => return names,
            TokenKind::Quoted => {
                let text = String::from_utf8_lossy(token.text(text.as_bytes()));
                names.push(text.trim_matches('`').replace("``", "`"));
            }
            _ => {}
        }
    }
}

pub(super) fn indexes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        let roots = &def.storage.roots;
        each_index(def, &mut |index, name, id, fields| {
            let kind = match index {
                None => 1,
                Some(index) => {
                    let computed = index.parts.iter().any(|p| is_virtual(&def.columns[p.column]));
                    i64::from(index.clustered)
                        + if index.unique { 2 } else { 0 }
                        + if computed { 128 } else { 0 }
                }
            };
            let root = roots.iter().find(|(index, _)| index.0 == id);
            let root = root.map_or(0, |(_, page)| u64::from(page.0));
            let space = u64::from(def.storage.space.0);
            rows.push(&cells![id, name, def.id.0, kind, fields, root, space, ROOT_HALF_FULL]);
        });
    });
}

pub(super) fn fields(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        for index in &def.indexes {
            for (position, part) in index.parts.iter().enumerate() {
                let name = column_name(def, part.column);
                rows.push(&cells![index.id.0.to_string(), name, position as u64]);
            }
        }
    });
}

pub(super) fn tablespaces(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        let file = context.catalog.engine().pool().tablespace(def.storage.space);
        let bytes = file.as_ref().map_or(0, |t| u64::from(t.pages_in_file()) * PAGE_BYTES as u64);
        let allocated = file.and_then(|t| t.allocated_bytes().ok()).unwrap_or(bytes);
        rows.push(&cells![
            u64::from(def.storage.space.0),
            name_of(def),
            SPACE_FLAGS,
            "Dynamic",
            PAGE_BYTES as u64,
            0_i64,
            "Single",
            4096_i64,
            bytes,
            allocated,
            0_i64,
            SERVER_VERSION,
            1_i64,
            "N",
            "normal",
        ]);
    });
}

fn path(def: &TableDef) -> String {
    format!("./{}", engine::space_name(def.storage.space))
}

pub(super) fn datafiles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        rows.push(&cells![u64::from(def.storage.space.0).to_string(), path(def)]);
    });
}

pub(super) fn tablespaces_brief(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, _| {
        let space = u64::from(def.storage.space.0).to_string();
        rows.push(&cells![space, name_of(def), path(def), SPACE_FLAGS.to_string(), "Single"]);
    });
}

/// A table's figures are its own: rows, and pages of the clustered index and of the others.
fn pages(context: &ReadContext<'_>, definition: &Definition) -> (u64, u64, u64) {
    let size = context.size(definition);
    let page = PAGE_BYTES as u64;
    (size.rows, size.data_bytes / page, size.index_bytes / page)
}

pub(super) fn tablestats(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, definition| {
        let gathered = definition.statistics().figures.is_some();
        let (count, clustered, others) = pages(context, definition);
        rows.push(&cells![
            def.id.0,
            name_of(def),
            if gathered { "Initialized" } else { "Uninitialized" },
            count,
            clustered,
            others,
            0_i64,
            context.autoinc_next(definition).unwrap_or(0),
            1_i64,
        ]);
    });
}

/// Figures that outlive the server.
fn kept(context: &ReadContext<'_>, definition: &Definition) -> Option<Arc<TableFigures>> {
    let figures = definition.statistics().figures;
    figures.filter(|_| context.catalog.upkeep().is_persistent(&definition.def))
}

/// `mysql.innodb_table_stats`.
pub(crate) fn table_stats(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, definition| {
        let Some(figures) = kept(context, definition) else { return };
        let (count, clustered, others) = pages(context, definition);
        let when = Cell::Time(figures.gathered_us);
        rows.push(&cells![&def.schema, &def.name, when, count, clustered, others]);
    });
}

/// `mysql.innodb_index_stats`.
pub(crate) fn index_stats(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each(context, &mut |def, definition| {
        let Some(figures) = kept(context, definition) else { return };
        let primary = def.indexes.iter().find(|i| i.clustered);
        each_index(def, &mut |index, name, id, _| {
            let Some(known) = figures.index(base::IndexId(id)) else { return };
            let mut names: Vec<&str> = Vec::new();
            for part in index.into_iter().flat_map(|i| &i.parts) {
                names.push(column_name(def, part.column));
            }
            // Behind the parts of one that is not unique come those of the primary key.
            let unique = index.is_none_or(|i| i.unique);
            match (unique, primary) {
                (false, Some(primary)) => {
                    let more = primary.parts.iter().map(|p| column_name(def, p.column));
                    for name in more {
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                }
                (true, _) if index.is_some() => {}
                _ => names.push("DB_ROW_ID"),
            }
            let mut push = |stat: String, value: u64, sampled: Option<u64>, what: &str| {
                let when = Cell::Time(figures.gathered_us);
                let table = (&def.schema, &def.name);
                rows.push(&cells![table.0, table.1, name, when, stat, value, sampled, what]);
            };
            let sampled = if known.sampled == 0 { known.leaf_pages } else { known.sampled };
            for (at, distinct) in known.distinct.iter().take(names.len()).enumerate() {
                let what = names[..=at].join(",");
                push(format!("n_diff_pfx{:02}", at + 1), *distinct as u64, Some(sampled), &what);
            }
            push(
                "n_leaf_pages".into(),
                known.leaf_pages,
                None,
                "Number of leaf pages in the index",
            );
            push("size".into(), known.pages, None, "Number of pages in the index");
        });
    });
}
