//! Random schemas, data and queries on Limpid and on a real MySQL: answers, types and errors must be the same.
//!
//! Needs an oracle, so it runs in `cargo xtask soak`, which names the socket in LIMPID_ORACLE_SOCKET;
//! LIMPID_SEEDS (`first..end`) chooses seeds.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::Path;
use testkit::text::Rows;
use testkit::{Failure, Server, TempDir, TextClient, random_sql};

const QUERIES: usize = 40;
/// Error number of what is not there yet.
const NOT_YET: u16 = 1235;

fn seeds() -> std::ops::Range<u64> {
    let text = std::env::var("LIMPID_SEEDS").unwrap_or("1..200".into());
    let (first, end) = text.split_once("..").expect("LIMPID_SEEDS is FIRST..END");
    first.parse().unwrap()..end.parse().unwrap()
}

/// Rows in an order that both servers agree on.
fn sorted(mut rows: Vec<Vec<Option<Vec<u8>>>>, is_ordered: bool) -> Vec<Vec<Option<Vec<u8>>>> {
    if !is_ordered {
        rows.sort();
    }
    rows
}

/// What differs, if something does.
fn difference(
    sql: &str,
    own: &Result<Rows, Failure>,
    peer: &Result<Rows, Failure>,
) -> Option<String> {
    let shown = |rows: &Rows| {
        let row = |r: &Vec<Option<Vec<u8>>>| {
            let value = |v: &Option<Vec<u8>>| {
                v.as_ref().map_or("NULL".into(), |b| String::from_utf8_lossy(b).into_owned())
            };
            r.iter().map(value).collect::<Vec<_>>().join(",")
        };
        rows.rows.iter().take(12).map(row).collect::<Vec<_>>().join(" | ")
    };
    let ordered = sql.contains("ORDER BY") && !sql.contains(" OVER ");
    match (own, peer) {
        (Err(a), Err(b)) if a.number == b.number => None,
        (Err(a), Err(b)) => {
            Some(format!("error {} ({}), MySQL {} ({})", a.number, a.text, b.number, b.text))
        }
        (Err(a), Ok(b)) => {
            Some(format!("error {} ({}), MySQL {} rows", a.number, a.text, b.rows.len()))
        }
        (Ok(_), Err(b)) => Some(format!("answers, MySQL error {} ({})", b.number, b.text)),
        (Ok(a), Ok(b)) if a.types != b.types => {
            Some(format!("types {:?}, MySQL {:?}", a.types, b.types))
        }
        (Ok(a), Ok(b)) => {
            let same = sorted(a.rows.clone(), ordered) == sorted(b.rows.clone(), ordered);
            if !same {
                return Some(format!("{}\n    MySQL: {}", shown(a), shown(b)));
            }
            (a.warnings != b.warnings)
                .then(|| format!("{} warnings, MySQL {}", a.warnings, b.warnings))
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
    let (mut agreed, mut different) = (0_u64, Vec::new());
    let mut not_yet: BTreeMap<String, u64> = BTreeMap::new();
    for seed in seeds() {
        let script = random_sql::script(seed, QUERIES);
        let mut own = TextClient::connect(server.socket());
        let mut peer = TextClient::connect(Path::new(&oracle));
        for client in [&mut own, &mut peer] {
            for sql in [
                "DROP DATABASE IF EXISTS limpid_differential",
                "CREATE DATABASE limpid_differential",
                "USE limpid_differential",
                "SET time_zone = '+00:00'",
                "SET NAMES utf8mb4",
            ] {
                client.query(sql).unwrap();
            }
        }
        for (position, sql) in script.setup.iter().chain(&script.queries).enumerate() {
            let (a, b) = (own.query(sql), peer.query(sql));
            let is_setup = position < script.setup.len();
            if let Err(error) = &a
                && error.number == NOT_YET
            {
                *not_yet.entry(error.text.clone()).or_default() += 1;
                if is_setup {
                    break;
                }
                continue;
            }
            match difference(sql, &a, &b) {
                None => agreed += 1,
                Some(what) => {
                    different.push(format!("seed {seed}: {sql}\n    {what}"));
                    // Without the same data nothing else says anything.
                    if is_setup {
                        break;
                    }
                }
            }
        }
        peer.query("DROP DATABASE limpid_differential").unwrap();
    }
    for (text, count) in &not_yet {
        println!("not yet, {count} times: {text}");
    }
    for what in different.iter().take(100) {
        println!("{what}");
    }
    println!("{agreed} statements agree, {} differ", different.len());
    assert!(agreed > 0, "nothing could be compared");
    assert!(different.is_empty(), "{} statements differ", different.len());
}
