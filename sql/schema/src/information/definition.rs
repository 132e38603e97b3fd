//! Column lists of MySQL's own tables, read from text: those of `information_schema` from `columns.tsv`.

use crate::table;
use catalog::{ColumnDef, DefaultValue, INFORMATION_SCHEMA, TableDef};
use value::{Collation, ColumnType, Kind, Members};

const COLUMNS: &str = include_str!("columns.tsv");

/// Every table of `information_schema`.
pub(crate) fn tables() -> Vec<TableDef> {
    parse(COLUMNS, INFORMATION_SCHEMA)
}

/// Every table that the text describes, in its order.
///
/// # Panics
/// At start, when the file describes a column that cannot be: a fault of the build, which a test finds.
pub(crate) fn parse(text: &'static str, schema: &str) -> Vec<TableDef> {
    let mut tables: Vec<(&str, Vec<ColumnDef>)> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [table, column, ty, nullable, collation, default] = fields[..] else {
            panic!("{schema}: not six fields: {line}")
        };
        let ty = column_type(ty, collation).unwrap_or_else(|| panic!("no type: {line}"));
        let nullable = nullable == "YES";
        let default = match default {
            "-" if nullable => DefaultValue::Null,
            "-" => DefaultValue::None,
            text if text.starts_with("CURRENT_TIMESTAMP") => DefaultValue::Now(ty.decimals),
            text => DefaultValue::Bytes(text.as_bytes().to_vec()),
        };
        let ty = ColumnType { nullable, ..ty };
        let column = ColumnDef { default, ..ColumnDef::new(column, ty) };
        match tables.last_mut() {
            Some((name, columns)) if *name == table => columns.push(column),
            _ => tables.push((table, vec![column])),
        }
    }
    tables.into_iter().map(|(name, columns)| table::of_schema(schema, name, columns)).collect()
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
        "tinyint" => ColumnType::int(Kind::TinyInt, unsigned),
        "smallint" => ColumnType::int(Kind::SmallInt, unsigned),
        "int" => ColumnType::int(Kind::Int, unsigned),
        "bigint" => ColumnType::int(Kind::BigInt, unsigned),
        "double" | "float" => ColumnType::double(),
        // MySQL announces 905 digits where 65 is the most there can be.
        "decimal" => ColumnType::decimal(65, 0),
        "text" => ColumnType::large(Kind::Text, collation),
        "mediumtext" => ColumnType::large(Kind::MediumText, collation),
        "longtext" => ColumnType::large(Kind::LongText, collation),
        "blob" => ColumnType::large(Kind::Blob, collation),
        "mediumblob" => ColumnType::large(Kind::MediumBlob, collation),
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
