//! Two answers to a statement, and how they differ.
//!
//! Compared are rows as a set unless the statement orders them, rows affected, names, types and facts of columns,
//! kinds of warnings, errors.

use std::collections::BTreeSet;
use testkit::text::{ColumnFacts, Rows};
use testkit::{Failure, TextClient};

/// Errors that hang on which rows are met first, or on whether a value is computed at all: values out of range,
/// conversions that fail, functions that refuse a value.
const OF_VALUES: &[u16] =
    &[1690, 1292, 1365, 1411, 1416, 3020, 3140, 3141, 3146, 3155, 3156, 3853, 3854];

/// Level, number and text of each warning.
pub type Warnings = Vec<Vec<Option<Vec<u8>>>>;

/// A statement's whole answer.
pub struct Said {
    /// Rows or an error.
    pub answer: Result<Rows, Failure>,
    /// What SHOW WARNINGS says behind it.
    pub warnings: Warnings,
}

/// Puts a statement; `None` when the connection breaks.
pub fn ask(client: &mut TextClient, sql: &str) -> Option<Said> {
    let answer = client.attempt(sql)?;
    let warned = !matches!(&answer, Ok(rows) if rows.warnings == 0);
    let warnings = match warned {
        true => client.attempt("SHOW WARNINGS")?.map(|w| w.rows).unwrap_or_default(),
        false => Warnings::new(),
    };
    Some(Said { answer, warnings })
}

pub fn text(value: Option<&Vec<u8>>) -> String {
    value.map_or("NULL".into(), |b| String::from_utf8_lossy(b).into_owned())
}

fn shown(rows: &[Vec<Option<Vec<u8>>>]) -> String {
    let row =
        |r: &Vec<Option<Vec<u8>>>| r.iter().map(|v| text(v.as_ref())).collect::<Vec<_>>().join(",");
    rows.iter().take(12).map(row).collect::<Vec<_>>().join(" | ")
}

/// Rows in an order that both servers agree on.
fn sorted(rows: &[Vec<Option<Vec<u8>>>], is_ordered: bool) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut rows = rows.to_vec();
    if !is_ordered {
        rows.sort();
    }
    rows
}

/// NOT_NULL, BLOB, UNSIGNED, ZEROFILL, ENUM, AUTO_INCREMENT, SET. The key flags and BINARY (which the collation says
/// anyway) come and go in MySQL with the temporary tables that its plan needs.
fn flags(facts: &ColumnFacts) -> u16 {
    facts.flags & (1 | 0x10 | 0x20 | 0x40 | 0x100 | 0x200 | 0x800)
}

/// Names, types, collations, flags and decimals. The announced lengths are not compared: MySQL sums them up from
/// its way of computing a value, and a longer one harms nobody (docs/status.md).
fn columns_differ(a: &Rows, b: &Rows) -> Option<Difference> {
    if a.names != b.names {
        let text = format!("names {:?}, MySQL {:?}", a.names, b.names);
        return Some(Difference::new("names", text));
    }
    let first = |what: &str, own: &dyn Fn(usize) -> u32, peer: &dyn Fn(usize) -> u32| {
        let place = (0..b.names.len()).find(|&n| own(n) != peer(n))?;
        let (name, ty) = (&b.names[place], b.types[place]);
        let (own, peer) = (own(place), peer(place));
        let kind = format!("{what} {own}, MySQL {peer} (type {ty})");
        let text = format!("{kind}, of {name}");
        Some(Difference { kind, text })
    };
    let facts = |what: &str, get: &dyn Fn(&ColumnFacts) -> u32| {
        first(what, &|n| get(&a.columns[n]), &|n| get(&b.columns[n]))
    };
    first("type", &|n| u32::from(a.types[n]), &|n| u32::from(b.types[n]))
        .or_else(|| facts("collation", &|c| u32::from(c.collation)))
        .or_else(|| facts("flags", &|c| u32::from(flags(c))))
        .or_else(|| {
            // Of texts MySQL says 0 or 31 as the temporary tables of its plan have it.
            let of = |rows: &Rows, n: usize| match rows.types[n] {
                246 | 4 | 5 | 7 | 11 | 12 => u32::from(rows.columns[n].decimals),
                _ => 0,
            };
            first("decimals", &|n| of(a, n), &|n| of(b, n))
        })
}

/// Has an ORDER BY of its own, outside of all parentheses.
fn is_ordered(sql: &str) -> bool {
    let mut depth = 0_i32;
    sql.char_indices().any(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && sql[at..].starts_with("ORDER BY")
    })
}

/// Errors that a row raises whose value its column does not take.
const OF_ROWS: &[u16] = &[1264, 1265, 1366, 1406];

fn of_rows(error: &Failure) -> bool {
    OF_ROWS.contains(&error.number)
}

/// The same column refuses a value; which row is met first is the plan's matter.
fn same_column(a: &Failure, b: &Failure) -> bool {
    let column = |text: &str| {
        let (_, rest) = text.split_once("for column ")?;
        Some(rest.split_once(" at row ")?.0.to_string())
    };
    column(&a.text).is_some_and(|name| column(&b.text) == Some(name))
}

/// How two answers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// In a few words that are the same for all of its kind.
    pub kind: String,
    /// For a reader.
    pub text: String,
}

impl Difference {
    /// Of a kind, with a reader's text.
    pub fn new(kind: impl Into<String>, text: String) -> Difference {
        Difference { kind: kind.into(), text }
    }
}

/// What differs, if something does.
pub fn difference(sql: &str, own: &Said, peer: &Said) -> Option<Difference> {
    let of_values = |e: &Failure| OF_VALUES.contains(&e.number);
    match (&own.answer, &peer.answer) {
        (Err(a), Err(b)) if a.number == b.number && a.text == b.text => None,
        (Err(a), Err(b)) if of_values(a) && of_values(b) => None,
        (Err(a), Err(b)) if of_rows(a) && a.number == b.number && same_column(a, b) => None,
        (Err(a), Err(b)) => Some(Difference::new(
            format!("error {}, MySQL {}", a.number, b.number),
            format!("error {} ({}), MySQL {} ({})", a.number, a.text, b.number, b.text),
        )),
        (Err(a), Ok(b)) => Some(Difference::new(
            format!("error {}", a.number),
            format!("error {} ({}), MySQL {}", a.number, a.text, shown(&sorted(&b.rows, false))),
        )),
        (Ok(a), Err(b)) => Some(Difference::new(
            format!("MySQL error {}", b.number),
            format!(
                "answers {}, MySQL error {} ({})",
                shown(&sorted(&a.rows, false)),
                b.number,
                b.text
            ),
        )),
        (Ok(a), Ok(b)) => columns_differ(a, b)
            .or_else(|| rows_differ(sql, own, peer, a, b))
            .or_else(|| warnings_differ(sql, &own.warnings, &peer.warnings)),
    }
}

fn rows_differ(sql: &str, own: &Said, peer: &Said, a: &Rows, b: &Rows) -> Option<Difference> {
    let ordered = is_ordered(sql);
    let (ours, theirs) = (sorted(&a.rows, ordered), sorted(&b.rows, ordered));
    if ours != theirs {
        let (here, there) =
            (alone(&own.warnings, &peer.warnings), alone(&peer.warnings, &own.warnings));
        let text = format!(
            "rows {}\n    MySQL: {}\n    warned here: {here}\n    warned there: {there}",
            shown(&ours),
            shown(&theirs)
        );
        return Some(Difference::new("rows", text));
    }
    let text = || format!("{} rows affected, MySQL {}", a.affected, b.affected);
    (a.affected != b.affected).then(|| Difference::new("affected", text()))
}

/// The texts of warnings that others lack: what a server says of its own reading of a value names the cause of rows
/// that differ.
pub fn alone(warnings: &Warnings, others: &Warnings) -> String {
    let texts = |all: &Warnings| -> BTreeSet<String> {
        all.iter().map(|w| text(w.get(2).and_then(Option::as_ref))).collect()
    };
    let alone: Vec<String> = texts(warnings).difference(&texts(others)).cloned().collect();
    if alone.is_empty() { "nothing".into() } else { alone.join(" | ") }
}

/// How often a condition is computed is the plan's matter: the kinds of warnings are compared, their number and
/// texts where there is but one way.
fn warnings_differ(sql: &str, own: &Warnings, peer: &Warnings) -> Option<Difference> {
    let kinds = |warnings: &Warnings| -> BTreeSet<String> {
        let kind = |w: &Vec<Option<Vec<u8>>>| text(w[0].as_ref()) + &text(w[1].as_ref());
        warnings.iter().map(kind).collect()
    };
    let (a, b) = (kinds(own), kinds(peer));
    let only_way = !sql.contains(" FROM ") && !sql.contains(" WHERE ");
    if a == b && !(only_way && own != peer) {
        return None;
    }
    let list = |sign: &str, kinds: Vec<&String>| -> String {
        kinds.into_iter().map(|kind| format!(" {sign}{kind}")).collect()
    };
    let (more, less) =
        (list("+", a.difference(&b).collect()), list("-", b.difference(&a).collect()));
    let text = format!("here {}\n    MySQL: {}", shown(own), shown(peer));
    Some(Difference::new(format!("warnings{more}{less}"), text))
}

#[test]
fn which_row_is_refused_first_is_open_and_which_column_is_not() {
    let failed = |number, text: &str| Said {
        answer: Err(Failure { number, state: String::new(), text: text.into() }),
        warnings: Warnings::new(),
    };
    let differs = |a: &Said, b: &Said| difference("UPDATE t SET a = b", a, b).is_some();
    let row_1 = failed(1406, "Data too long for column 'c5' at row 1");
    assert!(!differs(&row_1, &failed(1406, "Data too long for column 'c5' at row 3")));
    assert!(differs(&row_1, &failed(1406, "Data too long for column 'c4' at row 1")));
    assert!(differs(&row_1, &failed(1264, "Out of range value for column 'c5' at row 1")));
}
