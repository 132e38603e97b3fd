//! Groups over a table or a nested query are computed in batches; the rows of a join come one by one, and so do those of
//! groups in the order of an index that have a GROUP_CONCAT. All must agree: random tables, conditions, keys and
//! aggregates, with NULLs, overflows and errors.

// Tests panic to fail, and what orders their threads is no latch of the server's.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "batches/ends.rs"]
mod ends;
#[path = "batches/joins.rs"]
mod joins;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use testkit::{Server, TempDir};

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Name, type, values.
const COLUMNS: [(&str, &str, &[&str]); 14] = [
    ("t", "TINYINT", &["-128", "-1", "0", "1", "7", "127"]),
    ("s", "SMALLINT UNSIGNED", &["0", "1", "7", "255", "65535"]),
    ("m", "MEDIUMINT", &["-8388608", "-7", "0", "8388607"]),
    ("i", "INT NOT NULL", &["-2147483648", "-1", "0", "1", "7", "2147483647"]),
    ("u", "INT UNSIGNED", &["0", "1", "7", "4294967295"]),
    ("b", "BIGINT", &["-9223372036854775808", "-1", "0", "7", "9223372036854775807"]),
    ("v", "BIGINT UNSIGNED NOT NULL", &["0", "1", "18446744073709551615"]),
    ("d", "DECIMAL(9,2)", &["-9999999.99", "-0.01", "0", "0.05", "0.06", "7", "24"]),
    ("e", "DECIMAL(15,4) NOT NULL", &["-1.0001", "0", "0.0500", "99999999999.9999"]),
    ("w", "DECIMAL(38,10)", &["-1", "0.0000000001", "9999999999999999999999999999"]),
    ("f", "DOUBLE", &["-1.5e308", "-1", "0", "0.1", "1.5e308"]),
    ("c", "VARCHAR(10)", &["'a'", "'A'", "'b'", "''", "'ab'", "'ß'"]),
    ("day", "DATE", &["'1994-01-01'", "'1994-12-31'", "'1995-01-01'", "'2000-02-29'"]),
    ("at", "DATETIME(3)", &["'1994-01-01'", "'1994-12-31 23:59:59.999'", "'1995-01-01 00:00:01'"]),
];

const NUMBERS: [&str; 11] = ["t", "s", "m", "i", "u", "b", "v", "d", "e", "w", "f"];

fn number(chance: &mut Chance, depth: usize) -> String {
    match chance.below(if depth == 0 { 6 } else { 9 }) {
        0..5 => chance.one(&NUMBERS).to_string(),
        5 => chance.one(&["1", "0", "7", "0.05", "2.50", "1e0", "100000", "NULL"]).to_string(),
        _ => {
            let op = chance.one(&["+", "-", "*"]);
            format!("({} {op} {})", number(chance, depth - 1), number(chance, depth - 1))
        }
    }
}

fn constant(chance: &mut Chance, column: usize) -> String {
    match chance.below(6) {
        0 => chance.one(&["0", "7", "0.05", "0.055", "-1", "'7'", "NULL", "1e0"]).to_string(),
        1 => chance.one(&["DATE'1994-01-01'", "'1995-01-01'", "18446744073709551615"]).to_string(),
        _ => chance.one(COLUMNS[column].2).to_string(),
    }
}

fn condition(chance: &mut Chance, depth: usize) -> String {
    let column = chance.below(COLUMNS.len());
    let name = COLUMNS[column].0;
    match chance.below(if depth == 0 { 7 } else { 11 }) {
        0..3 => {
            let op = chance.one(&["=", "<", "<=", ">", ">=", "<>", "<=>"]);
            format!("{name} {op} {}", constant(chance, column))
        }
        3 => {
            format!("{name} BETWEEN {} AND {}", constant(chance, column), constant(chance, column))
        }
        4 => format!("{name} IN ({}, {})", constant(chance, column), constant(chance, column)),
        5 => format!("{name} IS {}NULL", chance.one(&["", "NOT "])),
        6 => format!("{} > {}", number(chance, 1), number(chance, 0)),
        7 => format!("NOT ({})", condition(chance, depth - 1)),
        8 => format!("({} OR {})", condition(chance, depth - 1), condition(chance, depth - 1)),
        _ => format!("({} AND {})", condition(chance, depth - 1), condition(chance, depth - 1)),
    }
}

fn aggregate(chance: &mut Chance) -> String {
    match chance.below(10) {
        0 => "COUNT(*)".into(),
        1 => format!("COUNT({})", COLUMNS[chance.below(COLUMNS.len())].0),
        2 => {
            let function = chance.one(&["MIN", "MAX"]);
            format!("{function}({})", COLUMNS[chance.below(COLUMNS.len())].0)
        }
        3 => format!("GROUP_CONCAT({} ORDER BY 1)", chance.one(&NUMBERS)),
        4 => format!("SUM(DISTINCT {})", chance.one(&NUMBERS)),
        _ => {
            let function = chance.one(&["SUM", "AVG", "MIN", "MAX", "COUNT"]);
            format!("{function}({})", number(chance, 2))
        }
    }
}

/// A query in batches, of a nested query's rows for one, and behind them the same row by row.
fn queries(chance: &mut Chance) -> Vec<String> {
    let state = chance.0;
    let mut query = |sorted, table: &str, more: &str| {
        chance.0 = state;
        query(chance, sorted, table, more)
    };
    match state % 3 {
        0 => vec![query(true, "x", ", NULL"), query(true, "x", ", GROUP_CONCAT(NULL)")],
        _ => {
            let nested = "(SELECT * FROM x LIMIT 1000000000) x";
            let joined = format!("{nested} JOIN one");
            vec![query(false, "x", ""), query(false, nested, ""), query(false, &joined, "")]
        }
    }
}

/// `sorted`: groups come in the order of the primary key, and a LIMIT may end them.
fn query(chance: &mut Chance, sorted: bool, table: &str, more: &str) -> String {
    let keys: Vec<&str> =
        (0..chance.below(3)).map(|_| COLUMNS[chance.below(COLUMNS.len())].0).collect();
    let keys = if sorted { vec!["g"] } else { keys };
    let mut values: Vec<String> = keys.iter().map(ToString::to_string).collect();
    values.extend((0..1 + chance.below(4)).map(|_| aggregate(chance)));
    let mut sql = format!("SELECT {}{more} FROM {table}", values.join(", "));
    if chance.below(3) > 0 {
        let _ = write!(sql, " WHERE {}", condition(chance, 2));
    }
    if !keys.is_empty() {
        let _ = write!(sql, " GROUP BY {}", keys.join(", "));
    }
    if sorted && chance.below(2) == 0 {
        let _ = write!(sql, " LIMIT {}", [1, 3, 40][chance.below(3)]);
    }
    sql
}

fn fill(chance: &mut Chance, rows: usize) -> String {
    let value = |(name, ty, values): &(&str, &str, &[&str]), chance: &mut Chance| {
        let nullable = !ty.contains("NOT NULL");
        // Extremes are rare, or every sum would overflow.
        match chance.below(40) {
            0..6 if nullable => "NULL".to_string(),
            6 => chance.one(values).to_string(),
            n if NUMBERS.contains(name) => (n % 9).to_string(),
            _ => values[chance.below(values.len())].to_string(),
        }
    };
    let row = |n| {
        let values: Vec<String> = COLUMNS.iter().map(|c| value(c, chance)).collect();
        format!("({},{n},{})", chance.below(rows / 3 + 1), values.join(","))
    };
    format!("INSERT INTO x VALUES {}", (0..rows).map(row).collect::<Vec<_>>().join(","))
}

#[test]
fn batches_and_rows_agree() {
    let seeds = std::env::var("LIMPID_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE batches; CREATE TABLE batches.one (only_one INT); INSERT INTO batches.one VALUES (1)");
    let columns: Vec<String> =
        COLUMNS.iter().map(|(name, ty, _)| format!("`{name}` {ty}")).collect();
    let columns = columns.join(", ");
    let (mut answered, mut failed, mut warned_otherwise) = (0, 0, 0);
    for seed in 0..seeds {
        let chance = &mut Chance(seed * 7_919 + 11);
        let setup = format!(
            "DROP TABLE IF EXISTS x; CREATE TABLE x (g INT NOT NULL, n INT NOT NULL, PRIMARY KEY (g, n), {columns})"
        );
        let rows = [0, 3, 1500][seed as usize % 3] + chance.below(30);
        server.sql(&format!("USE batches; {setup}"));
        if rows > 0 {
            server.sql(&format!("USE batches; {}", fill(chance, rows)));
        }
        for _ in 0..150 {
            let queries = queries(chance);
            let ask = |sql: &str| {
                let answer = server.try_sql(&format!("USE batches; {sql}; SHOW WARNINGS"));
                let warns = |line: &&str| line.starts_with("Warning\t");
                // What is constant is evaluated once, or for every row.
                let warnings: BTreeSet<String> =
                    answer.out.lines().filter(warns).map(str::to_string).collect();
                let rows: Vec<String> =
                    answer.out.lines().filter(|line| !warns(line)).map(str::to_string).collect();
                // What an error quotes is called as the query calls it; the rest is the query.
                let error = answer.err.lines().find(|line| line.starts_with("ERROR"));
                (rows, warnings, error.unwrap_or_default().replace("batches`.`x", "x"))
            };
            let (one_by_one, in_batches) = queries.split_last().unwrap();
            let expected = ask(one_by_one);
            for batches in in_batches {
                let found = ask(batches);
                let same = (&found.0, &found.2) == (&expected.0, &expected.2);
                assert!(same, "seed {seed}: {batches}\n{found:?}\n{expected:?}");
                warned_otherwise += u64::from(found.1 != expected.1);
                if found.2.is_empty() { answered += 1 } else { failed += 1 }
            }
        }
    }
    assert!(answered > failed && failed > 0, "{answered} {failed}");
    // A constant that no row needs may be computed in one of the ways, and warn.
    assert!(100 * warned_otherwise < answered, "{warned_otherwise} of {answered} warn otherwise");
}

/// Type, values. Texts of every length: several rows to a batch, one, and rows of which a part lies outside.
const KINDS: [(&str, &[&str]); 14] = [
    ("TINYINT", &["-128", "0", "127"]),
    ("BIGINT UNSIGNED", &["0", "7", "18446744073709551615"]),
    ("DECIMAL(20,5)", &["-1.5", "0", "123456789012345.00001"]),
    ("DOUBLE", &["-1.5e308", "0", "0.1"]),
    ("FLOAT", &["-1.5", "0", "3.3"]),
    ("DATE", &["'0000-00-00'", "'1994-12-31'"]),
    ("DATETIME(3)", &["'1994-12-31 23:59:59.999'", "'1995-01-01'"]),
    ("TIMESTAMP", &["'1994-12-31 23:59:59'", "'2021-06-01 10:00:00'"]),
    ("ENUM('x','Y','z')", &["'x'", "'y'", "'z'"]),
    ("BIT(9)", &["0", "257", "65"]),
    ("BINARY(5)", &["''", "'a'", "'abcde'"]),
    ("JSON", &["'{\"a\": 1}'", "'[1, 2]'", "'\"text\"'"]),
    ("VARCHAR(700) COLLATE utf8mb4_0900_ai_ci", &["''", "'a'", "'A'", "'ß'", "REPEAT('b', 700)"]),
    ("TEXT", &["''", "'a'", "REPEAT('xY', 900)", "REPEAT('long', 9000)"]),
];

/// A table of columns of any types, and their names but the key's.
fn wide_table(chance: &mut Chance) -> (String, Vec<(String, &'static [&'static str])>) {
    let mut columns = Vec::new();
    let mut sql = "CREATE TABLE y (id INT PRIMARY KEY".to_string();
    for n in 0..1 + chance.below(20) {
        let (ty, values) = KINDS[chance.below(KINDS.len())];
        let null = chance.one(&["NULL", "NULL", "NOT NULL"]);
        let _ = write!(sql, ", c{n} {ty} {null}");
        columns.push((format!("c{n}"), if null == "NULL" { values } else { &values[..1] }));
    }
    (sql + ")", columns)
}

/// What a query reads of `y`, in which order, and how much of it.
fn passing_query(chance: &mut Chance, columns: &[(String, &[&str])]) -> [String; 3] {
    let any = |chance: &mut Chance| match chance.below(columns.len() + 1) {
        0 => "id".to_string(),
        n => columns[n - 1].0.clone(),
    };
    let list: Vec<String> = (0..1 + chance.below(4)).map(|_| any(chance)).collect();
    let list = list.join(", ");
    let mut rest = match chance.below(4) {
        0 => String::new(),
        1 => format!(" WHERE id > {}", chance.below(300)),
        2 => format!(" WHERE id BETWEEN {} AND {}", chance.below(100), chance.below(400)),
        _ => format!(" WHERE {} IS NOT NULL", any(chance)),
    };
    match chance.below(4) {
        0 => {}
        1 => rest += " ORDER BY id DESC",
        // The key makes the order certain.
        _ => {
            let by = [any(chance), any(chance)];
            let _ =
                write!(rest, " ORDER BY {} {}, {}, id", by[0], chance.one(&["", "DESC"]), by[1]);
        }
    }
    if chance.below(2) == 0 {
        let (skip, count) =
            (chance.one(&["", "3, ", "250, "]), chance.one(&["0", "1", "7", "2000"]));
        let _ = write!(rest, " LIMIT {skip}{count}");
    }
    let passing = format!("SELECT {list} FROM y{rest}");
    [passing.clone(), format!("SELECT {list}, '' FROM y{rest}"), format!("{passing} FOR UPDATE")]
}

#[test]
fn rows_that_pass_through_are_those_that_are_made() {
    let seeds = std::env::var("LIMPID_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE passing; SET GLOBAL sql_mode = ''");
    let mut rows_seen = 0;
    for seed in 0..seeds {
        let chance = &mut Chance(seed * 104_729 + 3);
        let (table, columns) = wide_table(chance);
        server.sql(&format!("USE passing; DROP TABLE IF EXISTS y; {table}"));
        let rows = [0, 1, 40, 400][seed as usize % 4];
        let row = |n| {
            let value = |(_, values): &(_, &[&str])| match chance.below(values.len() + 1) {
                0 if values.len() > 1 => "NULL".to_string(),
                n => values[n % values.len()].to_string(),
            };
            format!("({n}, {})", columns.iter().map(value).collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = (0..rows).map(row).collect();
        if !rows.is_empty() {
            server.sql(&format!("USE passing; INSERT INTO y VALUES {}", rows.join(", ")));
        }
        for _ in 0..40 {
            let [passing, made, locked] = passing_query(chance, &columns);
            let ask = |sql: &str| server.sql(&format!("USE passing; {sql}"));
            let wanted = ask(&passing);
            let made_rows: String = ask(&made)
                .lines()
                .map(|line| line.trim_end_matches('\t').to_string() + "\n")
                .collect();
            let trimmed: String =
                wanted.lines().map(|line| line.trim_end_matches('\t').to_string() + "\n").collect();
            assert_eq!(trimmed.trim_end(), made_rows.trim_end(), "seed {seed}: {passing}");
            assert_eq!(wanted, ask(&locked), "seed {seed}: {locked}");
            rows_seen += wanted.lines().count();
        }
        // Equal values come once, the first of them, whatever makes them so.
        for (name, _) in &columns {
            let by = chance.one(&["", "DESC"]);
            let sorted = format!("USE passing; SELECT DISTINCT {name} FROM y ORDER BY {name} {by}");
            let apart = format!(
                "USE passing; SELECT {name} FROM (SELECT DISTINCT {name} FROM y LIMIT 100000) q ORDER BY {name} {by}"
            );
            assert_eq!(server.sql(&sorted), server.sql(&apart), "seed {seed}: {sorted}");
        }
    }
    assert!(rows_seen > 1000, "{rows_seen}");
}
