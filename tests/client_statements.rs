//! What real clients send (dump tools, exporter, ORMs, Connector/J), replayed in one session.
//!
//! `client_statements/statements.sql` has one statement a line, of shapes observed in a server's general
//! log with literals put in; MySQL 9.7 takes each of them. `refused.txt` lists those that are refused here,
//! with the error number: the test fails when one is missing there, and when one there works by now.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs;
use std::process::Stdio;
use testkit::{Server, TempDir};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client_statements");

/// `1235 SHOW TABLE STATUS` of the client's `ERROR 1235 (42000) at line 7: ...`.
fn refusal(line: &str, statements: &[&str]) -> Option<String> {
    let rest = line.strip_prefix("ERROR ")?;
    let number = rest.split(' ').next()?;
    let at = rest.split(" at line ").nth(1)?.split(':').next()?.parse::<usize>().ok()?;
    Some(format!("{number} {}", statements.get(at - 1)?.trim_end_matches(';')))
}

#[test]
fn statements_of_real_clients_are_answered_but_for_a_list_that_shrinks() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let file = format!("{FOLDER}/statements.sql");
    let text = fs::read_to_string(&file).unwrap();
    let statements: Vec<&str> = text.lines().collect();
    let mut client = server.client();
    client.args(["--batch", "--force", "--comments"]);
    client.stdin(Stdio::from(fs::File::open(&file).unwrap()));
    let answer = client.output().unwrap();
    let said = String::from_utf8_lossy(&answer.stderr);
    let refused: Vec<String> = said.lines().filter_map(|l| refusal(l, &statements)).collect();
    let list = fs::read_to_string(format!("{FOLDER}/refused.txt")).unwrap();
    let list: Vec<&str> = list.lines().collect();
    let new: Vec<&String> = refused.iter().filter(|r| !list.contains(&r.as_str())).collect();
    let gone: Vec<&&str> = list.iter().filter(|l| !refused.iter().any(|r| r == *l)).collect();
    assert!(new.is_empty(), "refused and not listed: {new:#?}");
    assert!(gone.is_empty(), "answered by now, take it off the list: {gone:#?}");
    assert_eq!(server.sql("SELECT 1"), "1", "{said}");
}
