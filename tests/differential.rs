//! Random schemas, data, queries and changes on Limpid and on a real MySQL: answers, column types, warnings,
//! errors and the rows left behind must be the same.
//!
//! 1. Needs an oracle, so it runs in `cargo xtask soak`, which names the socket in LIMPID_ORACLE_SOCKET;
//!    LIMPID_SEEDS (`first..end`) chooses seeds, LIMPID_SHOW_KNOWN prints what is listed too.
//! 2. `differential/known.txt` lists what may differ, each line with its reason. 3. What answers 1235 is counted
//!    and passed over.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use testkit::text::{ColumnFacts, Rows};
use testkit::{Failure, Server, TempDir, TextClient, random_sql};

const QUERIES: usize = 60;
/// The clock stands at 2024-03-01 00:00:00: a time becomes a moment of this day in 8.4 and is added to this very
/// moment in 9.7, which is the same at midnight; and a seed says the same every day.
const MIDNIGHT: &str = "SET timestamp = 1709251200";
/// Error number of what is not there yet.
const NOT_YET: u16 = 1235;
/// Errors that hang on which rows are met first, or on whether a value is computed at all: values out of range,
/// conversions that fail, functions that refuse a value.
const OF_VALUES: &[u16] =
    &[1690, 1292, 1365, 1411, 1416, 3020, 3140, 3141, 3146, 3155, 3156, 3853, 3854];

fn seeds() -> std::ops::Range<u64> {
    let text = std::env::var("LIMPID_SEEDS").unwrap_or("1..200".into());
    let (first, end) = text.split_once("..").expect("LIMPID_SEEDS is FIRST..END");
    first.parse().unwrap()..end.parse().unwrap()
}

/// Level, number and text of each warning.
type Warnings = Vec<Vec<Option<Vec<u8>>>>;

/// A statement's whole answer.
struct Said {
    answer: Result<Rows, Failure>,
    warnings: Warnings,
}

fn ask(client: &mut TextClient, sql: &str) -> Option<Said> {
    let answer = client.attempt(sql)?;
    let warned = !matches!(&answer, Ok(rows) if rows.warnings == 0);
    let warnings = match warned {
        true => client.attempt("SHOW WARNINGS")?.map(|w| w.rows).unwrap_or_default(),
        false => Warnings::new(),
    };
    Some(Said { answer, warnings })
}

fn text(value: Option<&Vec<u8>>) -> String {
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
/// its way of computing a value, and a longer one harms nobody (docs/limits.md).
fn columns_differ(a: &Rows, b: &Rows) -> Option<String> {
    if a.names != b.names {
        return Some(format!("names {:?}, MySQL {:?}", a.names, b.names));
    }
    let first = |what: &str, own: &dyn Fn(usize) -> u32, peer: &dyn Fn(usize) -> u32| {
        let place = (0..b.names.len()).find(|&n| own(n) != peer(n))?;
        let (name, ty) = (&b.names[place], b.types[place]);
        let (own, peer) = (own(place), peer(place));
        Some(format!("{what} {own}, MySQL {peer} (type {ty}), of {name}"))
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

/// What differs, if something does.
fn difference(sql: &str, own: &Said, peer: &Said) -> Option<String> {
    let ordered = is_ordered(sql);
    let (a, b) = match (&own.answer, &peer.answer) {
        (Err(a), Err(b)) if a.number == b.number && a.text == b.text => return None,
        (Err(a), Err(b)) if OF_VALUES.contains(&a.number) && OF_VALUES.contains(&b.number) => {
            return None;
        }
        (Err(a), Err(b)) => {
            return Some(format!(
                "error {} ({}), MySQL {} ({})",
                a.number, a.text, b.number, b.text
            ));
        }
        (Err(a), Ok(b)) => {
            return Some(format!("error {} ({}), MySQL {}", a.number, a.text, shown(&b.rows)));
        }
        (Ok(a), Err(b)) => {
            return Some(format!(
                "answers {}, MySQL error {} ({})",
                shown(&a.rows),
                b.number,
                b.text
            ));
        }
        (Ok(a), Ok(b)) => (a, b),
    };
    if let Some(what) = columns_differ(a, b) {
        return Some(what);
    }
    if sorted(&a.rows, ordered) != sorted(&b.rows, ordered) {
        let (here, there) =
            (alone(&own.warnings, &peer.warnings), alone(&peer.warnings, &own.warnings));
        return Some(format!(
            "rows {}\n    MySQL: {}\n    warned here: {here}\n    warned there: {there}",
            shown(&a.rows),
            shown(&b.rows)
        ));
    }
    if a.affected != b.affected {
        return Some(format!("{} rows affected, MySQL {}", a.affected, b.affected));
    }
    warnings_differ(sql, &own.warnings, &peer.warnings)
}

/// The texts of warnings that others lack: what a server says of its own reading of a value names the cause of rows
/// that differ.
fn alone(warnings: &Warnings, others: &Warnings) -> String {
    let texts = |all: &Warnings| -> BTreeSet<String> {
        all.iter().map(|w| text(w.get(2).and_then(Option::as_ref))).collect()
    };
    let alone: Vec<String> = texts(warnings).difference(&texts(others)).cloned().collect();
    if alone.is_empty() { "nothing".into() } else { alone.join(" | ") }
}

/// How often a condition is computed is the plan's matter: the kinds of warnings are compared, their number and
/// texts where there is but one way.
fn warnings_differ(sql: &str, own: &Warnings, peer: &Warnings) -> Option<String> {
    let kinds = |warnings: &Warnings| -> BTreeSet<String> {
        let kind = |w: &Vec<Option<Vec<u8>>>| text(w[0].as_ref()) + &text(w[1].as_ref());
        warnings.iter().map(kind).collect()
    };
    let (a, b) = (kinds(own), kinds(peer));
    let only_way = !sql.contains(" FROM ") && !sql.contains(" WHERE ");
    if a == b && !(only_way && own != peer) {
        return None;
    }
    let list = |kinds: Vec<&String>| match kinds.is_empty() {
        true => "none".to_string(),
        false => kinds.into_iter().cloned().collect::<Vec<_>>().join("+"),
    };
    let (more, less) = (list(a.difference(&b).collect()), list(b.difference(&a).collect()));
    let (own, peer) = (shown(own), shown(peer));
    Some(format!(
        "warnings beyond MySQL's: {more}; not raised: {less};\n    {own}\n    MySQL: {peer}"
    ))
}

/// A line of `known.txt`: parts that statement and difference have in this order, joined by ` ... `; the reason.
fn known() -> Vec<(Vec<String>, String)> {
    include_str!("differential/known.txt")
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .map(|line| {
            let (pattern, reason) = line.split_once(" :: ").expect("PATTERN :: REASON");
            assert!(!reason.trim().is_empty(), "a reason: {line}");
            (pattern.split(" ... ").map(String::from).collect(), reason.to_string())
        })
        .collect()
}

fn matches(parts: &[String], mut text: &str) -> bool {
    parts.iter().all(|part| match text.find(part.as_str()) {
        Some(at) => {
            text = &text[at + part.len()..];
            true
        }
        None => false,
    })
}

/// What a run found.
#[derive(Default)]
struct Found {
    agreed: u64,
    different: u64,
    not_yet: BTreeMap<String, u64>,
    excused: BTreeMap<String, u64>,
}

/// Both servers, each with the seed's database chosen.
struct Pair<'s> {
    server: &'s Server,
    oracle: &'s Path,
    own: TextClient,
    peer: TextClient,
    known: &'s [(Vec<String>, String)],
}

const DATABASE: &str = "limpid_differential";

impl<'s> Pair<'s> {
    fn new(server: &'s Server, oracle: &'s Path, known: &'s [(Vec<String>, String)]) -> Pair<'s> {
        let (own, peer) = (TextClient::connect(server.socket()), TextClient::connect(oracle));
        let mut pair = Pair { server, oracle, own, peer, known };
        let database = pair.database();
        for sql in
            [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}")]
        {
            pair.own.query(&sql).unwrap();
            pair.peer.query(&sql).unwrap();
        }
        pair.choose();
        pair
    }

    /// A name of its own: several runs may share an oracle.
    fn database(&self) -> String {
        format!("{DATABASE}_{}", std::process::id())
    }

    fn choose(&mut self) {
        let database = self.database();
        for client in [&mut self.own, &mut self.peer] {
            for sql in [
                &format!("USE {database}"),
                "SET time_zone = '+00:00', max_error_count = 1000",
                MIDNIGHT,
                "SET NAMES utf8mb4",
            ] {
                client.query(sql).unwrap();
            }
        }
    }

    /// Puts a statement to both; false when their data differ from here on.
    fn compare(&mut self, seed: u64, sql: &str, found: &mut Found) -> bool {
        let (own, peer) = (ask(&mut self.own, sql), ask(&mut self.peer, sql));
        let peer = peer.unwrap_or_else(|| panic!("the oracle broke in: {sql}"));
        let what = match &own {
            None => {
                self.own = TextClient::connect(self.server.socket());
                self.peer = TextClient::connect(self.oracle);
                self.choose();
                Some("connection lost: a bug, see the server's log".to_string())
            }
            Some(Said { answer: Err(e), .. }) if e.number == NOT_YET => {
                *found.not_yet.entry(e.text.clone()).or_default() += 1;
                return peer.answer.is_err();
            }
            Some(own) => difference(sql, own, &peer),
        };
        let Some(what) = what else {
            found.agreed += 1;
            return true;
        };
        let line = format!("seed {seed}: {sql}\n    {what}");
        match self.known.iter().find(|(parts, _)| matches(parts, &line)) {
            Some((parts, reason)) => {
                *found.excused.entry(reason.clone()).or_default() += 1;
                if std::env::var_os("LIMPID_SHOW_KNOWN").is_some() {
                    println!("known: {}\n{line}", parts.join(" ... "));
                }
            }
            None => {
                println!("{line}");
                found.different += 1;
            }
        }
        false
    }

    fn seed(&mut self, seed: u64, found: &mut Found) {
        let script = random_sql::script(seed, QUERIES);
        // Without the same data nothing else says anything.
        if !script.setup.iter().all(|sql| self.compare(seed, sql, found)) {
            return;
        }
        for sql in &script.queries {
            self.compare(seed, sql, found);
        }
        for sql in &script.changes {
            for client in [&mut self.own, &mut self.peer] {
                client.query("START TRANSACTION").unwrap();
            }
            // A change that went another way is undone on both sides, and the next one starts from the same rows.
            let same = self.compare(seed, sql, found)
                && script.contents.iter().all(|sql| self.compare(seed, sql, found));
            for client in [&mut self.own, &mut self.peer] {
                client.query(if same { "COMMIT" } else { "ROLLBACK" }).unwrap();
            }
        }
    }
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn random_queries_have_mysqls_answers() {
    let oracle =
        std::env::var("LIMPID_ORACLE_SOCKET").expect("LIMPID_ORACLE_SOCKET names MySQL's socket");
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let known = known();
    let mut found = Found::default();
    for seed in seeds() {
        let mut pair = Pair::new(&server, Path::new(&oracle), &known);
        pair.seed(seed, &mut found);
        let database = pair.database();
        pair.peer.query(&format!("DROP DATABASE {database}")).unwrap();
    }
    for (text, count) in &found.not_yet {
        println!("not yet, {count} times: {text}");
    }
    for (reason, count) in &found.excused {
        println!("known, {count} times: {reason}");
    }
    println!("{} statements agree, {} differ", found.agreed, found.different);
    assert!(found.agreed > 0, "nothing could be compared");
    assert!(found.different == 0, "{} statements differ", found.different);
}
