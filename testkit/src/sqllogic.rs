//! Files in sqllogictest's format, as MySQL reads them.
//!
//! A record is a statement that must succeed or fail, or a query with its values one a line or as their MD5.
//! `onlyif` and `skipif` choose records by engine; here the engine is `mysql`.

use crate::text::{Rows, TextClient};
use md5::{Digest, Md5};
use std::path::Path;

/// What came of a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Records that hold.
    pub passed: usize,
    /// Records that a server of MySQL's kind is not asked to pass.
    pub skipped: usize,
    /// Records that do not hold: first line of the SQL, and what came instead.
    pub failed: Vec<(String, String)>,
}

enum Expected {
    Success,
    Failure,
    Values { types: String, sort: Sort, lines: Vec<String> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    None,
    Rows,
    Values,
}

struct Record {
    sql: String,
    expected: Expected,
}

/// Runs one file in the client's current database. `excused` says of a record's first SQL line that MySQL
/// itself does not pass it.
///
/// # Panics
/// When the file cannot be read or is not in the format.
pub fn run_file(client: &mut TextClient, path: &Path, excused: &dyn Fn(&str) -> bool) -> Report {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut report = Report::default();
    for block in text.replace("\r\n", "\n").split("\n\n") {
        match parse(block) {
            Parsed::Nothing => {}
            Parsed::Skipped => report.skipped += 1,
            Parsed::Record(record) => {
                let first = record.sql.lines().next().unwrap_or_default().to_string();
                match check(client, &record) {
                    Ok(()) => report.passed += 1,
                    Err(_) if excused(&first) => report.skipped += 1,
                    Err(what) => report.failed.push((first, what)),
                }
            }
        }
    }
    report
}

enum Parsed {
    Nothing,
    Skipped,
    Record(Record),
}

fn parse(block: &str) -> Parsed {
    let mut lines = block.lines().filter(|l| !l.starts_with('#')).peekable();
    let mut skipped = false;
    while let Some(line) = lines.peek() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("onlyif"), Some(engine)) => skipped |= engine != "mysql",
            (Some("skipif"), Some(engine)) => skipped |= engine == "mysql",
            (None, _) => {}
            _ => break,
        }
        lines.next();
    }
    let Some(head) = lines.next() else { return Parsed::Nothing };
    let words: Vec<_> = head.split_whitespace().collect();
    let expected = match words[..] {
        // What stands behind a halt concerns other engines and mostly holds on MySQL too.
        ["halt" | "hash-threshold", ..] => return Parsed::Nothing,
        _ if skipped => return Parsed::Skipped,
        ["statement", "ok", ..] => Expected::Success,
        ["statement", "error", ..] => Expected::Failure,
        ["query", types, ref rest @ ..] => {
            let sort = match rest.first() {
                Some(&"rowsort") => Sort::Rows,
                Some(&"valuesort") => Sort::Values,
                _ => Sort::None,
            };
            Expected::Values { types: types.to_string(), sort, lines: Vec::new() }
        }
        _ => panic!("not a record: {head}"),
    };
    let rest: Vec<&str> = lines.collect();
    let cut = rest.iter().position(|l| *l == "----").unwrap_or(rest.len());
    let sql = rest[..cut].join("\n");
    let expected = match expected {
        Expected::Values { types, sort, .. } => {
            let lines = rest.get(cut + 1..).unwrap_or_default();
            let lines = lines.iter().map(|l| (*l).to_string()).collect();
            Expected::Values { types, sort, lines }
        }
        other => other,
    };
    Parsed::Record(Record { sql, expected })
}

fn check(client: &mut TextClient, record: &Record) -> Result<(), String> {
    let answer = client.query(&record.sql);
    match (&record.expected, answer) {
        (Expected::Success, Ok(_)) | (Expected::Failure, Err(_)) => Ok(()),
        (Expected::Failure, Ok(_)) => Err("succeeded".into()),
        (_, Err(failure)) => Err(format!("error {}: {}", failure.number, failure.text)),
        (Expected::Values { types, sort, lines }, Ok(rows)) => {
            let values = values(&rows, types, *sort);
            if agrees(&values, lines) {
                return Ok(());
            }
            let shown: Vec<_> = values.iter().take(8).map(String::as_str).collect();
            Err(format!("{} values: {}", values.len(), shown.join(" | ")))
        }
    }
}

fn values(rows: &Rows, types: &str, sort: Sort) -> Vec<String> {
    let mut table: Vec<Vec<String>> = rows
        .rows
        .iter()
        .map(|row| row.iter().zip(types.chars()).map(|(v, t)| shown(v.as_deref(), t)).collect())
        .collect();
    if sort == Sort::Rows {
        table.sort();
    }
    let mut values: Vec<String> = table.into_iter().flatten().collect();
    if sort == Sort::Values {
        values.sort();
    }
    values
}

fn shown(value: Option<&[u8]>, kind: char) -> String {
    let Some(bytes) = value else { return "NULL".into() };
    let text = String::from_utf8_lossy(bytes);
    match kind {
        'R' => format!("{:.3}", text.parse::<f64>().unwrap_or(0.0)),
        // What is no number counts as 0, what has a fraction loses it.
        'I' => {
            let number = text.parse::<i128>().ok();
            let number = number.or_else(|| text.parse::<f64>().ok().map(|v| v as i128));
            number.unwrap_or(0).to_string()
        }
        _ if text.is_empty() => "(empty)".into(),
        _ => text.chars().map(|c| if (' '..='~').contains(&c) { c } else { '@' }).collect(),
    }
}

fn agrees(values: &[String], lines: &[String]) -> bool {
    if let [line] = lines
        && let Some((count, hash)) = line.split_once(" values hashing to ")
    {
        let mut md5 = Md5::new();
        for value in values {
            md5.update(value);
            md5.update("\n");
        }
        let digits: String = md5.finalize().iter().map(|b| format!("{b:02x}")).collect();
        return count == values.len().to_string() && digits == hash;
    }
    values == lines
}
