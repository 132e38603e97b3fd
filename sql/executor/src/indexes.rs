//! Index definitions: key parts with their prefixes, names, and MySQL's limits.
//!
//! 1. A part with `prefix_chars` holds less than its column's value: what is found by it must be
//! checked against the whole condition. 2. A TEXT or BLOB part always has a prefix. 3. Unique indexes
//! stand before the others, the primary key first.

use crate::ddl::error::DdlError;
use crate::ddl::{self, Owner};
use crate::{Environment, SqlError, WarningLevel};
use catalog::{ColumnDef, IndexAttributes, IndexDef};
use parser::ast::{self, IndexKind};
use planner::PlanError;
use value::limits::{self, LimitError};
use value::{ColumnType, KeyPart};

/// Puts the indexes of a table into MySQL's order and says which of them clusters the rows.
pub fn arrange(indexes: &mut [IndexDef], columns: &[ColumnDef]) {
    let nullable = |i: &IndexDef| i.parts.iter().any(|p| columns[p.column].ty.nullable);
    let cut = |i: &IndexDef| i.parts.iter().any(|p| p.prefix_chars.is_some());
    let computed = |i: &IndexDef| i.parts.iter().any(|p| columns[p.column].generated.is_some());
    indexes.sort_by_key(|i| match (i.primary, i.unique) {
        (true, _) => (0, false, false),
        (_, true) => (1 + u8::from(nullable(i)), cut(i), computed(i)),
        _ => (3, false, computed(i)),
    });
    for (position, index) in indexes.iter_mut().enumerate() {
        let stands_for_one = index.unique && !nullable(index) && !cut(index) && !computed(index);
        index.clustered = position == 0 && (index.primary || stands_for_one);
    }
}

/// Defines one index over a table's columns.
///
/// # Errors
/// MySQL's errors of the definition, 1235 for what is not there yet.
pub fn define_index(
    index: &ast::IndexDef,
    columns: &[ColumnDef],
    env: &mut dyn Environment,
) -> Result<IndexDef, SqlError> {
    match index.kind {
        IndexKind::FullText => return Err(SqlError::unsupported("FULLTEXT")),
        IndexKind::Spatial => return Err(SqlError::unsupported("SPATIAL")),
        IndexKind::Primary | IndexKind::Unique | IndexKind::Plain => {}
    }
    let primary = index.kind == IndexKind::Primary;
    let unique = primary || index.kind == IndexKind::Unique;
    let mut parts = Vec::new();
    let attributes = attributes_of(&index.options, primary, env)?;
    for column in &index.columns {
        let part = checked_part(&column.part, columns, &parts, unique, env)?;
        parts.push(KeyPart { descending: column.descending, ..part });
    }
    check_length(&parts, columns)?;
    let name = if primary { "PRIMARY" } else { index.name.as_deref().unwrap_or_default() };
    let comment = index.options.comment.as_deref().unwrap_or_default();
    let comment = ddl::comment(comment, Owner::Index(name), env)?;
    Ok(IndexDef { attributes, comment, ..IndexDef::new(name, unique, primary, parts) })
}

fn attributes_of(
    options: &ast::IndexOptions,
    primary: bool,
    env: &mut dyn Environment,
) -> Result<IndexAttributes, SqlError> {
    if options.invisible && primary {
        return Err(DdlError::InvisiblePrimaryKey.into());
    }
    let using = options.using.as_deref().unwrap_or_default();
    if using.eq_ignore_ascii_case("hash") {
        let text = "This storage engine does not support the HASH index algorithm, storage engine \
                    default was used instead.";
        env.warn(WarningLevel::Note, 3502, text.into());
    }
    Ok(IndexAttributes {
        invisible: options.invisible,
        using_btree: using.eq_ignore_ascii_case("btree"),
        key_block_size: options.key_block_size.unwrap_or(0),
        generated: false,
    })
}

fn check_length(parts: &[KeyPart], columns: &[ColumnDef]) -> Result<(), SqlError> {
    let types: Vec<ColumnType> = columns.iter().map(|c| c.ty).collect();
    Ok(limits::check_key(&types, parts)?)
}

/// A key part as it is written, checked.
fn checked_part(
    part: &ast::KeyPart,
    columns: &[ColumnDef],
    before: &[KeyPart],
    unique: bool,
    env: &mut dyn Environment,
) -> Result<KeyPart, SqlError> {
    let part = define_part(part, columns, before)?;
    fitting_part(part, columns, unique, env)
}

/// An index that was there, over columns of which some are another type now: what a part holds follows its column
/// as MySQL has it, and the definition must be one that a new index could have. `retyped` says which columns.
///
/// # Errors
/// 3152, 1170, 1071.
pub fn follow_types(
    index: &mut IndexDef,
    columns: &[ColumnDef],
    retyped: &dyn Fn(usize) -> Option<ColumnType>,
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    if !index.parts.iter().any(|part| retyped(part.column).is_some()) {
        return Ok(());
    }
    for part in &mut index.parts {
        let column = &columns[part.column];
        if let Some(before) = retyped(part.column) {
            // A prefix stays where both types can have one and the column is longer than it.
            let stays = |chars: &u32| {
                let holds = column.ty.kind.is_large() || *chars < column.ty.length;
                before.kind.is_string() && column.ty.kind.is_string() && holds
            };
            part.prefix_chars = part.prefix_chars.filter(stays);
        }
        indexable(column, part.prefix_chars.is_some())?;
        *part = fitting_part(*part, columns, index.unique, env)?;
    }
    check_length(&index.parts, columns)
}

/// A part that is too long for a key is an error in a unique key and in strict mode; else it is cut.
fn fitting_part(
    part: KeyPart,
    columns: &[ColumnDef],
    unique: bool,
    env: &mut dyn Environment,
) -> Result<KeyPart, SqlError> {
    let ty = &columns[part.column].ty;
    let limit = ty.kind.large_bytes_max().unwrap_or(u32::MAX).min(limits::KEY_BYTES_MAX);
    let char_bytes = ty.collation.bytes_per_char_max();
    let bytes = match part.prefix_chars {
        Some(chars) => u64::from(chars) * u64::from(char_bytes),
        None => u64::from(ty.bytes_max()),
    };
    if bytes <= u64::from(limit) {
        return Ok(part);
    }
    let error = SqlError::from(LimitError::KeyTooLong { bytes, limit });
    if unique || env.strict() {
        return Err(error);
    }
    let (number, _, text) = error.parts();
    env.warn(WarningLevel::Warning, number, text);
    Ok(KeyPart { prefix_chars: Some(limit / char_bytes), ..part })
}

fn define_part(
    part: &ast::KeyPart,
    columns: &[ColumnDef],
    before: &[KeyPart],
) -> Result<KeyPart, SqlError> {
    let ast::KeyPart::Column(name, prefix) = part else {
        return Err(SqlError::unsupported("functional index"));
    };
    let missing = || SqlError::from(DdlError::NoKeyColumn(name));
    let column =
        columns.iter().position(|c| value::name::same_name(&c.name, name)).ok_or_else(missing)?;
    if before.iter().any(|p| p.column == column) {
        return Err(PlanError::DuplicateColumn(name).into());
    }
    indexable(&columns[column], prefix.is_some())?;
    let ty = &columns[column].ty;
    let large = ty.kind.is_large();
    match prefix {
        None => Ok(KeyPart::whole(column)),
        Some(0) => Err(DdlError::EmptyKeyPart(name).into()),
        Some(length) if !ty.kind.is_string() || (!large && *length > ty.length) => {
            Err(DdlError::WrongPrefix.into())
        }
        Some(length) => {
            let prefix = (large || *length < ty.length).then_some(*length);
            Ok(KeyPart { column, prefix_chars: prefix, descending: false })
        }
    }
}

/// Whether a column's type can be in a key; `cut`: no more than a prefix of its values.
fn indexable(column: &ColumnDef, cut: bool) -> Result<(), SqlError> {
    let name = &column.name;
    if column.ty.kind == value::Kind::Json {
        return Err(DdlError::JsonKey(name).into());
    }
    if column.ty.kind.is_large() && !cut {
        return Err(DdlError::BlobKey(name).into());
    }
    Ok(())
}

/// Unnamed indexes take their first column's name, with `_2`, `_3`, ... when it is taken.
///
/// # Errors
/// 1061: a name is taken.
pub fn name_indexes(indexes: &mut [IndexDef], columns: &[ColumnDef]) -> Result<(), SqlError> {
    for i in 0..indexes.len() {
        if indexes[i].name.is_empty() {
            let first = &columns[indexes[i].parts[0].column];
            let base = first.name.clone();
            let taken = |name: &str| indexes.iter().any(|x| value::name::same_name(&x.name, name));
            let numbered = (2..).map(|n| format!("{base}_{n}"));
            let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name));
            indexes[i].name = name.unwrap_or(base);
        } else if indexes[..i].iter().any(|x| value::name::same_name(&x.name, &indexes[i].name)) {
            return Err(DdlError::DuplicateKeyName(&indexes[i].name).into());
        }
    }
    Ok(())
}
