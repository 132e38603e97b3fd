//! Random schemas, rows and queries, for comparing two servers.
//!
//! 1. A seed gives one script, always the same: tables, rows, then queries.
//! 2. A query's answer depends on nothing but the data: no clock, no random function, no order that two right
//!    servers may choose differently. Rows are compared as a set unless every output is sorted by.

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
}

const TYPES: &[(&str, Family)] = &[
    ("TINYINT", Family::Integer),
    ("SMALLINT UNSIGNED", Family::Integer),
    ("INT", Family::Integer),
    ("BIGINT", Family::Integer),
    ("BIGINT UNSIGNED", Family::Integer),
    ("YEAR", Family::Integer),
    ("BIT(9)", Family::Integer),
    ("DECIMAL(10,2)", Family::Decimal),
    ("DECIMAL(30,10)", Family::Decimal),
    ("DECIMAL(5,0) UNSIGNED", Family::Decimal),
    ("DOUBLE", Family::Float),
    ("FLOAT", Family::Float),
    ("CHAR(5)", Family::Text),
    ("VARCHAR(20)", Family::Text),
    ("VARCHAR(20) COLLATE utf8mb4_bin", Family::Text),
    ("VARCHAR(20) CHARACTER SET latin1", Family::Text),
    ("TEXT", Family::Text),
    ("VARBINARY(10)", Family::Text),
    ("ENUM('b','a','cc')", Family::Text),
    ("SET('x','y','z')", Family::Text),
    ("DATE", Family::Date),
    ("DATETIME", Family::Date),
    ("DATETIME(3)", Family::Date),
    ("TIMESTAMP NULL", Family::Date),
    ("TIME", Family::Time),
    ("TIME(2)", Family::Time),
    ("JSON", Family::Json),
];

/// Literals that every value of a type is chosen from.
fn values(ty: &str) -> &'static [&'static str] {
    match ty {
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
        "DATETIME" | "DATETIME(3)" => {
            &["'2024-02-29 12:34:56.789'", "'1999-12-31 23:59:59'", "'2024-01-01 00:00:00'"]
        }
        "TIMESTAMP NULL" => &["'2024-02-29 12:34:56'", "'1999-12-31 23:59:59'"],
        "TIME" | "TIME(2)" => &["'12:34:56.78'", "'-01:00:00'", "'838:59:59'", "'00:00:00'"],
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
    let queries = (0..queries).map(|_| query::select(&mut rng, &tables)).collect();
    Script { setup, queries }
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
    for (n, column) in table.columns.iter().enumerate().skip(1) {
        let plain = column.family != Family::Json && column.ty != "TEXT";
        if plain && rng.chance(1, 3) {
            let second = &table.columns[rng.below(table.columns.len() as u64) as usize];
            let pair = second.family != Family::Json && second.ty != "TEXT";
            match pair && second.name != column.name && rng.chance(1, 2) {
                true => parts.push(format!("KEY k{n} ({}, {})", column.name, second.name)),
                false => parts.push(format!("KEY k{n} ({})", column.name)),
            }
        }
    }
    format!("CREATE TABLE {} ({})", table.name, parts.join(", "))
}

fn insert(rng: &mut Rng, table: &Table, id: u64) -> String {
    let mut row = vec![id.to_string()];
    for column in &table.columns[1..] {
        let null = rng.chance(1, 5);
        row.push(if null { "NULL".into() } else { (*pick(rng, values(column.ty))).to_string() });
    }
    format!("INSERT INTO {} VALUES ({})", table.name, row.join(", "))
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}
