//! The grammar beside a real MySQL: whatever one accepts the other accepts, errors quote the same text, digests
//! read alike.
//!
//! 1. Needs a MySQL server, which LIMPID_PEER names (`cargo xtask soak --peer DSN`); statements are prepared there,
//!    never run. 2. Statements come from the parser's list of productions, from the
//!    files in LIMPID_ORACLE_TEXTS (one statement a line), and from random changes of both.
//! 3. The list of productions is written by `cargo xtask record --peer DSN grammar`. 4. The oracle is newer than the grammar: `newer.txt` lists what only it knows, with the reason.

// Tests panic to fail.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use parser::digest::DigestLimits;
use parser::{ErrorKind, SqlMode, parse_next};
use testkit::{Peer, TextClient};

const PRODUCTIONS: &str = include_str!("../sql/parser/tests/productions.txt");
const NEWER: &str = include_str!("oracle_grammar/newer.txt");

/// How a server takes a text.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Accepted,
    /// 1064, with what follows `near`.
    Syntax(String),
    /// Another number that the grammar raises.
    Number(u16),
}

/// Numbers that come from MySQL's grammar; others come from names and types, behind it.
const GRAMMAR_NUMBERS: &[u16] = &[
    1059, 1064, 1096, 1102, 1103, 1115, 1149, 1166, 1221, 1248, 1308, 1309, 1310, 1313, 1319, 1407,
    1525, 1583, 1800, 1801, 3667, 3953,
];

fn here(sql: &str) -> Taken {
    let outcome = parse_next(sql.as_bytes(), 0, SqlMode::DEFAULT, true).and_then(|parsed| {
        let rest = &sql.as_bytes()[parsed.next..];
        let follows = parser::lex::Lexer::new(rest, 0, SqlMode::DEFAULT).next_token();
        if follows.kind == parser::token::TokenKind::End {
            return Ok(());
        }
        Err(parser::ParseError { kind: ErrorKind::Syntax, offset: parsed.next, line: 1 })
    });
    match outcome {
        Ok(()) => Taken::Accepted,
        Err(error) => match &error.kind {
            ErrorKind::Syntax | ErrorKind::SyntaxBecause(_) => {
                Taken::Syntax(format!("'{}' at line {}", error.near(sql.as_bytes()), error.line))
            }
            ErrorKind::Other(number, ..) => Taken::Number(*number),
            other => Taken::Syntax(format!("{other:?}")),
        },
    }
}

fn quoted(sql: &str) -> String {
    sql.replace('\\', "\\\\").replace('\'', "''")
}

fn there(client: &mut TextClient, sql: &str) -> Taken {
    match client.query(&format!("PREPARE limpid_grammar FROM '{}'", quoted(sql))) {
        Ok(_) => Taken::Accepted,
        Err(failure) if failure.number == 1064 => {
            let near = failure.text.split_once(" near ").map_or("", |(_, near)| near);
            Taken::Syntax(near.to_string())
        }
        Err(failure) if GRAMMAR_NUMBERS.contains(&failure.number) => Taken::Number(failure.number),
        Err(_) => Taken::Accepted,
    }
}

fn texts() -> Vec<String> {
    let mut all: Vec<String> = PRODUCTIONS
        .lines()
        .filter_map(|line| line.strip_prefix("+ ").or_else(|| line.strip_prefix("- ")))
        .map(|line| line.rsplit_once(" => ").map_or(line, |(sql, _)| sql).to_string())
        .collect();
    if let Some(files) = std::env::var_os("LIMPID_ORACLE_TEXTS") {
        for file in std::env::split_paths(&files) {
            let text = std::fs::read_to_string(file).unwrap();
            all.extend(text.lines().filter(|l| !l.trim().is_empty()).map(str::to_string));
        }
    }
    all
}

/// A session of the oracle, in a database of this process: several may share it.
fn oracle() -> TextClient {
    let mut client = TextClient::connect(Peer::of_environment());
    client.query(&format!("CREATE DATABASE IF NOT EXISTS {}", database())).unwrap();
    client.query(&format!("USE {}", database())).unwrap();
    client
}

fn database() -> String {
    format!("limpid_grammar_{}", std::process::id())
}

fn leave(mut client: TextClient) {
    client.query(&format!("DROP DATABASE IF EXISTS {}", database())).unwrap();
}

fn newer(sql: &str) -> bool {
    NEWER.lines().filter(|l| !l.starts_with('#')).any(|line| {
        line.split_once('\t').is_some_and(|(words, _)| sql.to_ascii_uppercase().contains(words))
    })
}

fn compare(client: &mut TextClient, texts: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for sql in texts.iter().filter(|sql| !newer(sql)) {
        let (ours, theirs) = (here(sql), there(client, sql));
        if ours != theirs {
            wrong.push(format!("{sql}\n  MySQL {theirs:?}\n  here  {ours:?}"));
        }
    }
    wrong
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn statements_are_accepted_and_refused_as_on_mysql() {
    let mut client = oracle();
    let texts = texts();
    let wrong = compare(&mut client, &texts);
    leave(client);
    println!("{} statements, {} differences", texts.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The list of productions with what MySQL answers.
fn productions_on(client: &mut TextClient) -> String {
    let mut lines = Vec::new();
    for line in PRODUCTIONS.lines() {
        let statement = line.strip_prefix("+ ").or_else(|| line.strip_prefix("- "));
        let Some(sql) = statement.map(|s| s.rsplit_once(" => ").map_or(s, |(sql, _)| sql)) else {
            lines.push(line.to_string());
            continue;
        };
        let taken = if newer(sql) { here(sql) } else { there(client, sql) };
        lines.push(match taken {
            Taken::Accepted => format!("+ {sql}"),
            Taken::Number(number) => format!("- {sql} => error {number}"),
            Taken::Syntax(near) => {
                let quoted = near.strip_prefix('\'').and_then(|n| n.strip_suffix("' at line 1"));
                format!("- {sql} => {}", quoted.filter(|q| !q.is_empty()).unwrap_or("(end)"))
            }
        });
    }
    lines.join("\n") + "\n"
}

#[test]
#[ignore = "writes sql/parser/tests/productions.txt: cargo xtask record"]
fn recorded_from_a_peer() {
    let mut client = oracle();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/parser/tests/productions.txt");
    std::fs::write(file, productions_on(&mut client)).unwrap();
    leave(client);
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask record --check"]
fn checked_against_a_peer() {
    let mut client = oracle();
    let found = productions_on(&mut client);
    leave(client);
    let differs = |(kept, found): &(&str, &str)| kept != found;
    let wrong: Vec<_> = PRODUCTIONS.lines().zip(found.lines()).filter(differs).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Statements with a word dropped, doubled, exchanged or put in from another one.
fn changed(texts: &[String], count: usize) -> Vec<String> {
    let mut state = std::env::var("LIMPID_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x2545_F491_4F6C_DD1D_u64);
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    (0..count)
        .map(|_| {
            let mut words: Vec<&str> =
                texts[random(texts.len())].split_inclusive([' ', '(', ',', ')']).collect();
            let other: Vec<&str> =
                texts[random(texts.len())].split_inclusive([' ', '(', ',', ')']).collect();
            let at = random(words.len());
            match random(5) {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[at]),
                2 => words[at] = other[random(other.len())],
                3 => words.insert(at, other[random(other.len())]),
                _ => words.truncate(at + 1),
            }
            words.concat()
        })
        .filter(|sql| !sql.trim().is_empty() && !sql.contains('\n'))
        .collect()
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn broken_statements_are_quoted_as_on_mysql() {
    let mut client = oracle();
    let rounds = std::env::var("LIMPID_CHANGED").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let texts = changed(&texts(), rounds);
    let wrong = compare(&mut client, &texts);
    leave(client);
    println!("{} changed statements, {} differences", texts.len(), wrong.len());
    // A few constructs are known to differ; what is counted here is that they stay few.
    let most = texts.len() / 50;
    assert!(wrong.len() <= most, "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn digests_read_as_on_mysql() {
    let mut client = oracle();
    client.query("SET NAMES utf8mb4").unwrap();
    let mut wrong = Vec::new();
    let texts = texts();
    let mut compared = 0;
    for sql in texts.iter().filter(|sql| !newer(sql)) {
        let query = format!("SELECT STATEMENT_DIGEST_TEXT('{}')", quoted(sql));
        let Ok(rows) = client.query(&query) else { continue };
        let Some(theirs) = &rows.rows[0][0] else { continue };
        let theirs = String::from_utf8_lossy(theirs).into_owned();
        // The oracle's max_digest_length.
        let limits = DigestLimits::whole(1024);
        let Ok(parsed) = parser::parse_digested(sql.as_bytes(), 0, SqlMode::DEFAULT, true, limits)
        else {
            continue;
        };
        compared += 1;
        let ours = parsed.digest.unwrap().text;
        if ours != theirs {
            wrong.push(format!("{sql}\n  MySQL {theirs}\n  here  {ours}"));
        }
    }
    leave(client);
    println!("{compared} digests, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
