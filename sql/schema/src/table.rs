//! Descriptions of virtual tables, in the form the dictionary has for stored ones.

use catalog::{
    ColumnDef, DefaultValue, INFORMATION_SCHEMA, IndexDef, PERFORMANCE_SCHEMA, TableDef,
};
use value::{Collation, ColumnType, KeyPart, Kind};

/// What a column holds; only those called nullable hold NULL.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    /// BIGINT UNSIGNED.
    Unsigned,
    /// BIGINT UNSIGNED or NULL.
    NullableUnsigned,
    /// DOUBLE.
    Double,
    /// DOUBLE or NULL.
    NullableDouble,
    /// VARCHAR of so many characters.
    Text(u32),
    /// VARCHAR of so many characters, or NULL.
    NullableText(u32),
    /// TIMESTAMP(6).
    Moment,
}

impl Type {
    fn column_type(self) -> ColumnType {
        match self {
            Type::Unsigned => ColumnType::int(Kind::BigInt, true).not_null(),
            Type::NullableUnsigned => ColumnType::int(Kind::BigInt, true),
            Type::Double => ColumnType::int(Kind::Double, false).not_null(),
            Type::NullableDouble => ColumnType::int(Kind::Double, false),
            Type::Text(length) => {
                ColumnType::varchar(length, Collation::Utf8mb4_0900AiCi).not_null()
            }
            Type::NullableText(length) => ColumnType::varchar(length, Collation::Utf8mb4_0900AiCi),
            Type::Moment => ColumnType::temporal(Kind::Timestamp, 6).not_null(),
        }
    }
}

/// A table of `performance_schema`; with `keyed`, its first column is the primary key.
pub(crate) fn performance(name: &str, columns: &[(&str, Type)], keyed: bool) -> TableDef {
    table(PERFORMANCE_SCHEMA, name, columns, keyed)
}

/// A table of these columns.
pub(crate) fn of_schema(schema: &str, name: &str, columns: Vec<ColumnDef>) -> TableDef {
    TableDef::new(schema, name, columns, Collation::Utf8mb4_0900AiCi)
}

/// A table of `information_schema`.
pub(crate) fn information(name: &str, columns: &[(&str, Type)]) -> TableDef {
    table(INFORMATION_SCHEMA, name, columns, false)
}

fn table(schema: &str, name: &str, columns: &[(&str, Type)], keyed: bool) -> TableDef {
    let column = |(name, ty): &(&str, Type)| {
        let ty = ty.column_type();
        let default = match (ty.nullable, schema == INFORMATION_SCHEMA) {
            (true, _) => DefaultValue::Null,
            // As MySQL shows columns of its own views.
            (false, true) => DefaultValue::Bytes(Vec::new()),
            (false, false) => DefaultValue::None,
        };
        ColumnDef { default, ..ColumnDef::new(*name, ty) }
    };
    let columns = columns.iter().map(column).collect();
    let mut def = TableDef::new(schema, name, columns, Collation::Utf8mb4_0900AiCi);
    if keyed {
        def.indexes.push(IndexDef::new("PRIMARY", true, true, vec![KeyPart::whole(0)]));
    }
    def
}
