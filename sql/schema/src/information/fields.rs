//! COLUMNS.

use super::dictionary::each_table;
use super::{Cell, Rows, cells};
use access::{Privileges, Rights};
use catalog::{ColumnDef, DefaultValue, INFORMATION_SCHEMA, ReadContext, TableDef, listed};
use std::borrow::Cow;
use value::{ColumnType, Kind};

/// What an account with every privilege may do with a column.
pub(super) const PRIVILEGES: &str = "select,insert,update,references";

pub(super) fn columns(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let wanted = context.equal_text(3).map(str::to_string);
    each_table(context, (1, 2), &mut |def, _| {
        for (position, column) in def.columns.iter().enumerate().filter(|(_, c)| !c.hidden) {
            let rights = context.viewer.rights();
            if wanted.as_ref().is_none_or(|w| value::name::same_name(&column.name, w))
                && rights.sees_column(&def.schema, &def.name, &column.name)
            {
                let privileges = match def.schema == INFORMATION_SCHEMA {
                    true => Cow::Borrowed("select"),
                    false => privileges_of(rights, def, column),
                };
                rows.push(&row(def, position, column, privileges));
            }
        }
    });
}

/// What the reader may do with a column.
pub(super) fn privileges_of(
    rights: &Rights,
    def: &TableDef,
    column: &ColumnDef,
) -> Cow<'static, str> {
    if rights.are_all() {
        return Cow::Borrowed(PRIVILEGES);
    }
    let set = rights.of_column(&def.schema, &def.name, &column.name) & Privileges::OF_COLUMN;
    Cow::Owned(set.names().map(str::to_lowercase).collect::<Vec<_>>().join(","))
}

fn row<'a>(
    def: &'a TableDef,
    position: usize,
    column: &'a ColumnDef,
    privileges: Cow<'static, str>,
) -> [Cell<'a>; 22] {
    let ty = &column.ty;
    let sql = ty.to_sql();
    let data_type = sql.split(['(', ' ']).next().unwrap_or_default().to_string();
    let (chars, bytes) = lengths(ty);
    let (precision, scale) = numeric(ty);
    let fraction = matches!(ty.kind, Kind::Time | Kind::DateTime | Kind::Timestamp);
    let text = ty.is_text() || matches!(ty.kind, Kind::Enum | Kind::Set);
    let generation = column.generated.as_ref().map_or(String::new(), |g| listed(&g.text));
    cells![
        "def",
        &def.schema,
        &def.name,
        &column.name,
        position as u64 + 1,
        default_text(column),
        if ty.nullable { "YES" } else { "NO" },
        data_type,
        chars,
        bytes,
        precision,
        scale,
        fraction.then_some(u64::from(ty.decimals)),
        text.then(|| ty.collation.charset().name()),
        text.then(|| ty.collation.name()),
        sql,
        def.key_kind(position),
        extra(column),
        Cell::Text(privileges),
        &column.comment,
        generation,
        Cell::Null,
    ]
}

/// Longest value in characters and in bytes.
fn lengths(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let per_char = u64::from(ty.collation.charset().bytes_per_char_max());
    match (ty.kind, ty.members) {
        (Kind::Enum, Some(members)) => {
            let longest = members.names().map(|n| ty.collation.char_count(n)).max().unwrap_or(0);
            (Some(longest as u64), Some(longest as u64 * per_char))
        }
        (Kind::Set, Some(members)) => {
            let chars: usize = members.names().map(|n| ty.collation.char_count(n)).sum();
            let commas = members.len().saturating_sub(1);
            let all = (chars + commas) as u64;
            (Some(all), Some(all * per_char))
        }
        (kind, _) if kind.is_large() => {
            let bytes = u64::from(kind.large_bytes_max().unwrap_or(u32::MAX));
            (Some(bytes), Some(bytes))
        }
        (kind, _) if kind.is_string() => {
            let chars = u64::from(ty.length);
            (Some(chars), Some(if ty.is_text() { chars * per_char } else { chars }))
        }
        _ => (None, None),
    }
}

/// Precision and scale of a number.
fn numeric(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let digits = match (ty.kind, ty.unsigned) {
        (Kind::TinyInt, _) => 3,
        (Kind::SmallInt, _) => 5,
        (Kind::MediumInt, _) => 7,
        (Kind::Int, _) => 10,
        (Kind::BigInt, false) => 19,
        (Kind::BigInt, true) => 20,
        (Kind::Decimal, _) => return (Some(ty.length.into()), Some(ty.decimals.into())),
        (Kind::Bit, _) => return (Some(ty.length.into()), None),
        (Kind::Float | Kind::Double, _) => {
            let free = ty.decimals == value::types::NOT_FIXED;
            let usual = if ty.kind == Kind::Float { 12 } else { 22 };
            let precision = if free { usual } else { ty.length.into() };
            return (Some(precision), (!free).then_some(ty.decimals.into()));
        }
        _ => return (None, None),
    };
    (Some(digits), Some(0))
}

/// The default as COLUMN_DEFAULT and SHOW COLUMNS print it.
fn default_text(column: &ColumnDef) -> Option<String> {
    match &column.default {
        DefaultValue::None | DefaultValue::Null => None,
        DefaultValue::Int(n) => Some(n.to_string()),
        DefaultValue::Bytes(bytes) if column.ty.kind == Kind::Bit => {
            let value = bytes.iter().fold(0_u64, |v, b| v << 8 | u64::from(*b));
            Some(format!("b'{value:b}'"))
        }
        DefaultValue::Bytes(bytes) if column.ty.kind.is_binary_string() => {
            // Without the zeros that BINARY adds.
            let added = |b: &u8| column.ty.kind == Kind::Binary && *b == 0;
            let kept = bytes.iter().rposition(|b| !added(b)).map_or(0, |last| last + 1);
            let digits: String = bytes[..kept].iter().map(|b| format!("{b:02X}")).collect();
            Some(format!("0x{digits}"))
        }
        DefaultValue::Bytes(bytes) => {
            Some(String::from_utf8_lossy(&column.shown_default(bytes)).into_owned())
        }
        DefaultValue::Now(0) => Some("CURRENT_TIMESTAMP".into()),
        DefaultValue::Now(fsp) => Some(format!("CURRENT_TIMESTAMP({fsp})")),
        DefaultValue::Expr(text) => Some(listed(text)),
    }
}

/// EXTRA.
fn extra(column: &ColumnDef) -> String {
    let mut words: Vec<String> = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".into());
    }
    if matches!(column.default, DefaultValue::Now(_) | DefaultValue::Expr(_)) {
        words.push("DEFAULT_GENERATED".into());
    }
    match column.on_update {
        Some(0) => words.push("on update CURRENT_TIMESTAMP".into()),
        Some(fsp) => words.push(format!("on update CURRENT_TIMESTAMP({fsp})")),
        None => {}
    }
    match &column.generated {
        Some(g) if g.stored => words.push("STORED GENERATED".into()),
        Some(_) => words.push("VIRTUAL GENERATED".into()),
        None => {}
    }
    if column.invisible {
        words.push("INVISIBLE".into());
    }
    words.join(" ")
}

pub(super) fn columns_extensions(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let rights = context.viewer.rights();
    each_table(context, (1, 2), &mut |def, _| {
        let seen =
            |c: &&ColumnDef| !c.hidden && rights.sees_column(&def.schema, &def.name, &c.name);
        for column in def.columns.iter().filter(seen) {
            let null = || Cell::Null;
            rows.push(&cells!["def", &def.schema, &def.name, &column.name, null(), null()]);
        }
    });
}
