//! Random schemas, rows and queries, for comparing two servers.
//!
//! 1. A seed gives one script, always the same: tables, rows, then queries.
//! 2. A query's answer depends on nothing but the data: no clock, no random function, no order that two right
//!    servers may choose differently. Rows are compared as a set unless every output is sorted by.

mod change;
mod expr;
mod query;

use stdx::rng::Rng;

/// What a column holds, as far as the choice of expressions goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Integers, YEAR, BIT.
    Integer,
    /// DECIMAL.
    Decimal,
    /// FLOAT, DOUBLE.
    Float,
    /// Text and ENUM, SET.
    Text,
    /// DATE, DATETIME, TIMESTAMP.
    Date,
    /// TIME.
    Time,
    /// JSON.
    Json,
}

/// A column of a generated table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Family.
    pub family: Family,
    /// Type as written.
    pub ty: &'static str,
}

/// A generated table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Columns; the first is the primary key `id`.
    pub columns: Vec<Column>,
}

/// A generated script.
#[derive(Debug)]
pub struct Script {
    /// Statements that make the tables and rows.
    pub setup: Vec<String>,
    /// Queries.
    pub queries: Vec<String>,
    /// Changes of the rows; after each of them all tables are compared.
    pub changes: Vec<String>,
    /// Queries of everything in each table, in the order of its key.
    pub contents: Vec<String>,
}

/// NULL or a literal of the column's own values.
fn value(rng: &mut Rng, column: &Column) -> String {
    let null = rng.chance(1, 5) && !column.ty.contains("NOT NULL");
    if null { "NULL".into() } else { (*pick(rng, values(column.ty))).to_string() }
}

const TYPES: &[(&str, Family)] = &[
    ("TINYINT", Family::Integer),
    ("BOOLEAN", Family::Integer),
    ("MEDIUMINT", Family::Integer),
    ("INT UNSIGNED ZEROFILL", Family::Integer),
    ("SMALLINT UNSIGNED", Family::Integer),
    ("INT", Family::Integer),
    ("BIGINT", Family::Integer),
    ("BIGINT UNSIGNED", Family::Integer),
    ("YEAR", Family::Integer),
    ("BIT(9)", Family::Integer),
    ("DECIMAL(10,2)", Family::Decimal),
    ("DECIMAL(30,10)", Family::Decimal),
    ("DECIMAL(5,0) UNSIGNED", Family::Decimal),
    ("INT NOT NULL DEFAULT 3", Family::Integer),
    ("DOUBLE", Family::Float),
    ("DOUBLE UNSIGNED", Family::Float),
    ("FLOAT", Family::Float),
    ("CHAR(5)", Family::Text),
    ("VARCHAR(20)", Family::Text),
    ("VARCHAR(20) COLLATE utf8mb4_bin", Family::Text),
    ("VARCHAR(20) CHARACTER SET latin1", Family::Text),
    ("VARCHAR(20) NOT NULL DEFAULT 'd'", Family::Text),
    ("VARCHAR(20) CHARACTER SET utf8mb3", Family::Text),
    ("VARCHAR(20) CHARACTER SET ascii", Family::Text),
    ("TEXT", Family::Text),
    ("LONGTEXT", Family::Text),
    ("TINYTEXT COLLATE utf8mb4_general_ci", Family::Text),
    ("BLOB", Family::Text),
    ("BINARY(4)", Family::Text),
    ("VARBINARY(10)", Family::Text),
    ("ENUM('b','a','cc')", Family::Text),
    ("SET('x','y','z')", Family::Text),
    ("DATE", Family::Date),
    ("DATETIME", Family::Date),
    ("DATETIME(3)", Family::Date),
    ("DATETIME(6)", Family::Date),
    ("TIMESTAMP NULL", Family::Date),
    ("TIMESTAMP(2) NULL", Family::Date),
    ("TIME", Family::Time),
    ("TIME(2)", Family::Time),
    ("TIME(6)", Family::Time),
    ("JSON", Family::Json),
];

/// Literals that every value of a type is chosen from.
fn values(ty: &str) -> &'static [&'static str] {
    match ty {
        "BOOLEAN" => &["TRUE", "FALSE"],
        "MEDIUMINT" => &["0", "8388607", "-8388608", "77"],
        "INT UNSIGNED ZEROFILL" => &["0", "4294967295", "42"],
        "INT NOT NULL DEFAULT 3" => &["0", "1", "-7", "3"],
        "DOUBLE UNSIGNED" => &["0", "1.25", "3e100"],
        "VARCHAR(20) CHARACTER SET ascii" => &["''", "'a'", "'A'", "'xyz'", "'10'"],
        "TINYINT" => &["0", "1", "-1", "127", "-128", "5"],
        "SMALLINT UNSIGNED" => &["0", "1", "65535", "300"],
        "INT" => &["0", "1", "-7", "2147483647", "-2147483648", "42"],
        "BIGINT" => &["0", "9223372036854775807", "-9223372036854775808", "12", "-3"],
        "BIGINT UNSIGNED" => &["0", "18446744073709551615", "9223372036854775808", "3"],
        "YEAR" => &["1999", "2024", "0", "2155"],
        "BIT(9)" => &["0", "1", "b'101010101'", "511", "97"],
        "DECIMAL(10,2)" => &["0", "1.50", "-99999999.99", "12.34", "-0.01"],
        "DECIMAL(30,10)" => &["0", "12345678901234567890.0123456789", "-1.5", "0.0000000001"],
        "DECIMAL(5,0) UNSIGNED" => &["0", "99999", "7"],
        "DOUBLE" => &["0", "1.5", "-2.25e10", "1e-5", "123456.789"],
        "FLOAT" => &["0", "1.5", "-2.25", "1e10", "0.1"],
        "DATE" => &["'2024-02-29'", "'1999-12-31'", "'2024-01-01'", "'1000-01-01'"],
        "DATETIME" | "DATETIME(3)" | "DATETIME(6)" => {
            &["'2024-02-29 12:34:56.789'", "'1999-12-31 23:59:59'", "'2024-01-01 00:00:00'"]
        }
        "TIMESTAMP NULL" | "TIMESTAMP(2) NULL" => {
            &["'2024-02-29 12:34:56'", "'1999-12-31 23:59:59'"]
        }
        "TIME" | "TIME(2)" | "TIME(6)" => {
            &["'12:34:56.78'", "'-01:00:00'", "'838:59:59'", "'00:00:00'"]
        }
        "ENUM('b','a','cc')" => &["'b'", "'a'", "'cc'"],
        "SET('x','y','z')" => &["''", "'x'", "'x,z'", "'x,y,z'"],
        "JSON" => &[
            "'{\"a\": 1, \"b\": [1, 2, {\"c\": null}]}'",
            "'[1, 2.5, \"x\", true]'",
            "'\"text\"'",
            "'12'",
            "'null'",
        ],
        "CHAR(5)" => &["''", "'a'", "'A'", "'ab '", "'zz'", "'10'"],
        "BINARY(4)" | "BLOB" => &["''", "'a'", "x'00ff'", "'10'"],
        "VARBINARY(10)" => &["''", "'a'", "'A'", "x'00ff'", "'10'"],
        _ => &["''", "'a'", "'A'", "'ab '", "'Ärger'", "'straße'", "'1.5x'", "' 7'", "'zz%_'"],
    }
}

/// The script of a seed.
pub fn script(seed: u64, queries: usize) -> Script {
    let mut rng = Rng::new(seed);
    let tables: Vec<Table> = (0..2 + rng.below(2)).map(|n| table(&mut rng, n)).collect();
    let mut setup = Vec::new();
    for table in &tables {
        setup.push(create(&mut rng, table));
        let rows = [0, 1, 7, 23, 60][rng.below(5) as usize];
        for id in 1..=rows {
            setup.push(insert(&mut rng, table, id));
        }
    }
    let changes = (0..queries / 4).map(|_| change::change(&mut rng, &tables)).collect();
    let queries = (0..queries).map(|_| query::select(&mut rng, &tables)).collect();
    let contents = tables.iter().map(|t| format!("SELECT * FROM {} ORDER BY id", t.name)).collect();
    Script { setup, queries, changes, contents }
}

fn table(rng: &mut Rng, number: u64) -> Table {
    let mut columns =
        vec![Column { name: "id".into(), family: Family::Integer, ty: "INT NOT NULL PRIMARY KEY" }];
    for n in 0..3 + rng.below(6) {
        let (ty, family) = *pick(rng, TYPES);
        columns.push(Column { name: format!("c{n}"), family, ty });
    }
    Table { name: format!("t{number}"), columns }
}

fn create(rng: &mut Rng, table: &Table) -> String {
    let mut parts: Vec<String> =
        table.columns.iter().map(|c| format!("{} {}", c.name, c.ty)).collect();
    // Not a member of `columns`: INSERT gives it no value, SELECT * shows it.
    match rng.below(4) {
        0 => parts.push("g INT GENERATED ALWAYS AS (id * 2) STORED".into()),
        1 => parts.push("g VARCHAR(30) GENERATED ALWAYS AS (CONCAT('k', id)) VIRTUAL".into()),
        _ => {}
    }
    if rng.chance(1, 8) {
        parts.push("CHECK (id < 1000)".into());
    }
    for (n, column) in table.columns.iter().enumerate().skip(1) {
        let plain = is_key_column(column);
        if plain && rng.chance(1, 3) {
            let second = &table.columns[rng.below(table.columns.len() as u64) as usize];
            let pair = is_key_column(second);
            match pair && second.name != column.name && rng.chance(1, 2) {
                true => parts.push(format!("KEY k{n} ({}, {})", column.name, second.name)),
                false => parts.push(format!("KEY k{n} ({})", column.name)),
            }
        }
    }
    format!("CREATE TABLE {} ({})", table.name, parts.join(", "))
}

/// An index can hold it whole.
fn is_key_column(column: &Column) -> bool {
    column.family != Family::Json && !column.ty.contains("TEXT") && column.ty != "BLOB"
}

/// The columns that an INSERT without a list would give values, but for generated ones.
fn names(table: &Table) -> String {
    table.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(", ")
}

fn insert(rng: &mut Rng, table: &Table, id: u64) -> String {
    let mut row = vec![id.to_string()];
    for column in &table.columns[1..] {
        row.push(value(rng, column));
    }
    format!("INSERT INTO {} ({}) VALUES ({})", table.name, names(table), row.join(", "))
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}
