//! Recorded conversations: `NAME.sql` goes through the stock client, what it prints is `NAME.result`.
//!
//! `LIMPID_BLESS=1` writes the results instead of comparing; read the difference before committing.

use crate::Server;
use std::path::Path;
use std::process::Stdio;

/// Runs every script of a folder, each in a database of its own name.
///
/// # Panics
/// When an answer differs from the recorded one; the message shows the first differing line.
pub fn run_folder(server: &Server, folder: &Path) {
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "no scripts in {}", folder.display());
    let bless = std::env::var_os("LIMPID_BLESS").is_some();
    let failures: Vec<_> =
        scripts.iter().filter_map(|script| run_script(server, script, bless)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn run_script(server: &Server, script: &Path, bless: bool) -> Option<String> {
    let name = script.file_stem()?.to_string_lossy().into_owned();
    server.sql(&format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}"));
    let mut command = server.client();
    command.args(["--force", "--verbose", "--verbose", "--show-warnings", "--column-names", &name]);
    command.stdin(Stdio::from(std::fs::File::open(script).ok()?));
    let answer = interleaved(command);
    let recorded = script.with_extension("result");
    if bless {
        std::fs::write(&recorded, &answer).ok()?;
        return None;
    }
    // An answer may hold bytes that are no text.
    let expected = std::fs::read(&recorded).unwrap_or_default();
    let expected = String::from_utf8_lossy(&expected).into_owned();
    first_difference(&expected, &answer).map(|what| format!("{}: {what}", script.display()))
}

/// Standard output and error in the order in which they were written: both go to one file.
fn interleaved(mut command: std::process::Command) -> String {
    let folder = crate::TempDir::new();
    let path = folder.path().join("out");
    let file = std::fs::File::create(&path).expect("output file");
    command.arg("--unbuffered");
    command.stdout(file.try_clone().expect("handle")).stderr(file);
    let _ = command.status();
    std::fs::read(&path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

fn first_difference(expected: &str, got: &str) -> Option<String> {
    if expected == got {
        return None;
    }
    let (e, g): (Vec<_>, Vec<_>) = (expected.lines().collect(), got.lines().collect());
    let line = e.iter().zip(&g).take_while(|(e, g)| e == g).count();
    let show = |lines: &[&str]| lines.get(line).map_or("(end)".to_string(), |l| (*l).to_string());
    Some(format!("line {}: expected {:?}, got {:?}", line + 1, show(&e), show(&g)))
}
