//! Dialogues of several accounts, one statement after the other: who may do what, as MySQL had it.
//!
//! A script (`NAME.talk`) has lines `# comment`, `USER: SQL` (said in the session that USER has, which begins with its first
//! line), `USER with PASSWORD` (a session begins, or is refused), `USER leaves`. Its result (`NAME.result`) has each line again
//! and below it, indented, what was answered. 1. `root` may do everything and has no password; so have others, unless they come
//! `with` one. 2. What 9.7 says behind 8.4's words is left out.

use crate::{Failure, Peer, TextClient};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What 9.7 adds to messages of 8.4.
const ADDED: [&str; 2] = [" (User account does not exist)", " (User account already exists)"];

/// Runs a script on a server: its result.
pub fn run(server: &Peer, script: &str) -> String {
    let mut sessions: HashMap<String, TextClient> = HashMap::new();
    let mut result = String::new();
    for line in script.lines().map(str::trim_end) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let _ = writeln!(result, "{line}");
        if let Some(user) = line.strip_suffix(" leaves") {
            sessions.remove(user);
            continue;
        }
        let (user, sql) = match line.split_once(": ") {
            Some((user, sql)) => (user, Some((sql, ""))),
            None => match line.split_once(" with ") {
                Some((user, password)) => (user, None.or(Some(("", password)))),
                None => panic!("no line of a dialogue: {line}"),
            },
        };
        let (sql, password) = sql.unwrap_or_default();
        if sql.is_empty() || !sessions.contains_key(user) {
            sessions.remove(user);
            let peer = Peer { user: user.into(), password: password.into(), ..server.clone() };
            match TextClient::try_connect(&peer) {
                Ok(client) => sessions.insert(user.to_string(), client),
                Err(failure) => {
                    let _ = writeln!(result, "    {}", shown_failure(&failure));
                    continue;
                }
            };
        }
        if let Some(client) = sessions.get_mut(user).filter(|_| !sql.is_empty()) {
            answer(client, sql, &mut result);
        }
    }
    result
}

fn shown_failure(failure: &Failure) -> String {
    let text = ADDED.iter().fold(failure.text.clone(), |text, added| text.replace(added, ""));
    format!("error {} ({}) {text}", failure.number, failure.state)
}

fn answer(client: &mut TextClient, sql: &str, result: &mut String) {
    let rows = match client.attempt(sql) {
        None => {
            result.push_str("    connection lost\n");
            return;
        }
        Some(Err(failure)) => {
            let _ = writeln!(result, "    {}", shown_failure(&failure));
            return;
        }
        Some(Ok(rows)) => rows,
    };
    if rows.names.is_empty() && rows.affected > 0 {
        let _ = writeln!(result, "    {} affected", rows.affected);
    }
    for row in &rows.rows {
        let value = |v: &Option<Vec<u8>>| match v {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => "NULL".into(),
        };
        let _ = writeln!(result, "    {}", row.iter().map(value).collect::<Vec<_>>().join("\t"));
    }
    if !rows.names.is_empty() && rows.rows.is_empty() {
        result.push_str("    no rows\n");
    }
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("the folder of dialogues");
    let files = files.map(|file| file.expect("a file").path());
    let only = std::env::var("LIMPID_ONLY").unwrap_or_default();
    let wanted = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "talk") && path.to_string_lossy().contains(&only)
    };
    let mut scripts: Vec<PathBuf> = files.filter(wanted).collect();
    scripts.sort();
    scripts
}

/// What was said, each with what was answered.
fn exchanges(result: &str) -> Vec<(&str, String)> {
    let mut all: Vec<(&str, String)> = Vec::new();
    for line in result.lines().filter(|line| !line.starts_with('#')) {
        match all.last_mut() {
            Some((_, answers)) if line.starts_with("    ") => {
                answers.push_str(line);
                answers.push('\n');
            }
            _ => all.push((line, String::new())),
        }
    }
    all
}

/// Runs every script of a folder and compares what is answered with what was recorded.
///
/// # Panics
/// When something is answered otherwise; all of that is printed.
pub fn compare_folder(server: &Peer, folder: &Path) {
    let mut differ = 0;
    for script in scripts(folder) {
        let text = std::fs::read_to_string(&script).expect("a script");
        let expected = std::fs::read_to_string(script.with_extension("result"));
        let expected = expected.expect("a recorded result");
        let found = run(server, &text);
        let (expected, found) = (exchanges(&expected), exchanges(&found));
        assert_eq!(
            expected.len(),
            found.len(),
            "{} was recorded of another script",
            script.display()
        );
        for ((said, expected), (_, found)) in expected.iter().zip(&found) {
            if expected != found {
                eprintln!("{}: {said}\n  expected:\n{expected}  found:\n{found}", script.display());
                differ += 1;
            }
        }
    }
    assert_eq!(differ, 0, "so many answers differ");
}

/// Writes what a peer answers to every script of a folder.
///
/// # Panics
/// When it cannot.
pub fn record_folder(peer: &Peer, folder: &Path) {
    let mut client = TextClient::connect(peer);
    let version = client.query("SELECT VERSION()").expect("a version");
    let version = version.rows[0][0].clone().unwrap_or_default();
    for script in scripts(folder) {
        let text = std::fs::read_to_string(&script).expect("a script");
        let result = run(peer, &text);
        let from = format!("# recorded from MySQL {}\n", String::from_utf8_lossy(&version));
        std::fs::write(script.with_extension("result"), from + &result).expect("to write");
    }
}
