//! Column lists of MySQL's own tables, read from text: those of `information_schema` from `columns.tsv`.

use crate::table;
use catalog::{ColumnDef, DefaultValue, INFORMATION_SCHEMA, IndexDef, TableDef};
use value::{Collation, ColumnType, KeyPart, Kind, Members};

const COLUMNS: &str = include_str!("columns.tsv");

/// Every table of `information_schema`.
pub(crate) fn tables() -> Vec<TableDef> {
    parse(COLUMNS, INFORMATION_SCHEMA)
}

/// Every table that the text describes, in its order. A line of six fields is a column: table, name, type, nullable,
/// collation, default. After a table's columns come its keys (table, `KEY`, name, `unique` or `-`, columns) and a collation of
/// its own (table, `COLLATION`, name).
///
/// # Panics
/// At start, when the file describes a table that cannot be: a fault of the build, which a test finds.
pub(crate) fn parse(text: &'static str, schema: &str) -> Vec<TableDef> {
    let mut tables: Vec<TableDef> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let fault = || -> ! { panic!("{schema}: {line}") };
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            [table, column, ty, nullable, collation, default] => {
                let Some(column) = column_def(column, ty, nullable == "YES", collation, default)
                else {
                    fault()
                };
                match tables.last_mut() {
                    Some(def) if def.name == table => def.columns.push(column),
                    _ => tables.push(table::of_schema(schema, table, vec![column])),
                }
            }
            [table, what, ref rest @ ..] => {
                let def = tables.last_mut().filter(|d| d.name == table);
                if def.and_then(|def| extend(def, what, rest)).is_none() {
                    fault()
                }
            }
            _ => fault(),
        }
    }
    tables
}

fn column_def(
    name: &str,
    ty: &str,
    nullable: bool,
    collation: &str,
    default: &'static str,
) -> Option<ColumnDef> {
    let ty = ColumnType { nullable, ..column_type(ty, collation)? };
    let default = match default {
        "-" if nullable => DefaultValue::Null,
        "-" => DefaultValue::None,
        text if text.starts_with("CURRENT_TIMESTAMP") => DefaultValue::Now(ty.decimals),
        text => DefaultValue::Bytes(text.as_bytes().to_vec()),
    };
    Some(ColumnDef { default, ..ColumnDef::new(name, ty) })
}

/// What a line says of a table beside its columns.
fn extend(def: &mut TableDef, what: &str, fields: &[&str]) -> Option<()> {
    match (what, fields) {
        ("KEY", [name, unique, columns]) => {
            let part =
                |column| Some(KeyPart::whole(def.columns.iter().position(|c| c.name == column)?));
            let parts = columns.split(',').map(part).collect::<Option<_>>()?;
            def.indexes.push(IndexDef::new(*name, *unique == "unique", *name == "PRIMARY", parts));
        }
        ("COLLATION", [name]) => def.collation = Collation::from_name(name)?,
        _ => return None,
    }
    Some(())
}

/// The type of a text such as `varchar(64)` or `enum('a','b')`.
fn column_type(text: &str, collation: &str) -> Option<ColumnType> {
    // The catalog's own collation of lower-cased names compares as the general one does.
    let collation = match collation {
        "-" => Collation::Binary,
        "utf8mb3_tolower_ci" => Collation::from_name("utf8mb3_general_ci")?,
        name => Collation::from_name(name)?,
    };
    let (base, unsigned) = match text.strip_suffix(" unsigned") {
        Some(base) => (base, true),
        None => (text, false),
    };
    let (name, inner) = match base.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')?),
        None => (base, ""),
    };
    let number = || inner.parse::<u32>().ok();
    Some(match name {
        "varchar" => ColumnType::varchar(number()?, collation),
        "char" => ColumnType::char(number()?, collation),
        "varbinary" => ColumnType::varbinary(number()?),
        "tinyint" => {
            let length = number().unwrap_or(0);
            ColumnType { length, ..ColumnType::int(Kind::TinyInt, unsigned) }
        }
        "smallint" => ColumnType::int(Kind::SmallInt, unsigned),
        "int" => ColumnType::int(Kind::Int, unsigned),
        "bigint" => ColumnType::int(Kind::BigInt, unsigned),
        "double" if !inner.is_empty() => {
            let (length, decimals) = inner.split_once(',')?;
            let (length, decimals) = (length.parse().ok()?, decimals.parse().ok()?);
            ColumnType { length, decimals, ..ColumnType::double() }
        }
        "double" | "float" => ColumnType::double(),
        // MySQL announces 905 digits where 65 is the most there can be.
        "decimal" => match inner.split_once(',') {
            Some((digits, scale)) => ColumnType::decimal(
                digits.parse().ok().filter(|n| *n <= 65).unwrap_or(65),
                scale.parse().ok()?,
            ),
            None => ColumnType::decimal(65, 0),
        },
        "text" => ColumnType::large(Kind::Text, collation),
        "mediumtext" => ColumnType::large(Kind::MediumText, collation),
        "longtext" => ColumnType::large(Kind::LongText, collation),
        "blob" => ColumnType::large(Kind::Blob, collation),
        "mediumblob" => ColumnType::large(Kind::MediumBlob, collation),
        "longblob" => ColumnType::large(Kind::LongBlob, collation),
        "json" => ColumnType::json(),
        "time" => ColumnType::temporal(Kind::Time, number().unwrap_or(0) as u8),
        "datetime" => ColumnType::temporal(Kind::DateTime, number().unwrap_or(0) as u8),
        "timestamp" => ColumnType::temporal(Kind::Timestamp, number().unwrap_or(0) as u8),
        "enum" | "set" => {
            let kind = if name == "enum" { Kind::Enum } else { Kind::Set };
            let names = inner.split(',').map(|n| n.trim_matches('\'').as_bytes().to_vec());
            ColumnType::with_members(kind, Members::intern(names.collect(), collation))
        }
        _ => return None,
    })
}
