//! Recorded conversations: `NAME.sql` goes through the stock client, what it prints is `NAME.result`.
//!
//! 1. A result's first line says where it is from: a MySQL server and its version, or Limpid itself and why
//!    ([`script`]: how a script marks what is Limpid's own). Without it, or with another reason, the test fails.
//! 2. Results are written by `cargo xtask record` alone ([`record`]). 3. The client's standard output is flushed
//!    line by line: an error stands behind the statement that it answers.

mod record;
mod script;

pub use record::{Mode, record_folder};

use crate::{Peer, Server};
use script::{Runner, Script};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Opens the first line of a result that a MySQL server gave; its version follows.
const RECORDED: &str = "# recorded from MySQL ";
/// Opens the first line of a result that Limpid gave; the reason follows.
const OWN: &str = "# Limpid's own: ";

/// Runs every script of a folder, each in a database of its own name.
///
/// # Panics
/// When an answer differs from the recorded one, the message shows the first differing line; when a result does not
/// say where it is from.
pub fn run_folder(server: &Server, folder: &Path) {
    run_scripts(server, &scripts(folder));
}

/// As [`run_folder`], without the scripts in which a word stands.
///
/// # Panics
/// As [`run_folder`].
pub fn run_folder_without(server: &Server, folder: &Path, word: &str) {
    let mut scripts = scripts(folder);
    let has = |path: &PathBuf| {
        let text = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&text).to_lowercase().contains(word)
    };
    scripts.retain(|path| !has(path));
    run_scripts(server, &scripts);
}

fn run_scripts(server: &Server, scripts: &[PathBuf]) {
    let own = Peer::from(server.socket());
    let failures: Vec<_> = scripts
        .iter()
        .filter_map(|path| compare(&own, path).map(|what| format!("{}: {what}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The scripts of a folder in the order of their names.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "no scripts in {}", folder.display());
    scripts
}

fn read(path: &Path) -> Result<Script, String> {
    Script::parse(&std::fs::read(path).map_err(|e| e.to_string())?)
}

/// What a script answers otherwise than it is on record.
fn compare(own: &Peer, path: &Path) -> Option<String> {
    let script = match read(path) {
        Ok(script) => script,
        Err(why) => return Some(why),
    };
    // An answer may hold bytes that are no text.
    let kept = std::fs::read(path.with_extension("result")).unwrap_or_default();
    let kept = String::from_utf8_lossy(&kept).into_owned();
    let (head, expected) = kept.split_once('\n').unwrap_or((kept.as_str(), ""));
    if let Some(what) = wrong_head(&script, head) {
        return Some(what);
    }
    match converse(own, path, &script, Runner::Limpid) {
        Ok(pieces) => first_difference(expected, &script.joined(&pieces)),
        Err(why) => Some(why),
    }
}

/// What is wrong with a result's first line.
fn wrong_head(script: &Script, head: &str) -> Option<String> {
    let is_right = match &script.throughout {
        Some(reason) => head.strip_prefix(OWN) == Some(reason),
        None => head.strip_prefix(RECORDED).is_some_and(|version| !version.is_empty()),
    };
    let wanted = "neither recorded from MySQL nor marked as Limpid's own: cargo xtask record";
    (!is_right).then(|| format!("{wanted} (docs/testing.md)"))
}

/// Puts a script to a server in a database of its name; what the client prints, split at the marks.
fn converse(
    server: &Peer,
    path: &Path,
    script: &Script,
    runner: Runner,
) -> Result<Vec<script::Piece>, String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let drop = format!("DROP DATABASE IF EXISTS {name}");
    server.sql(&format!("{drop}; CREATE DATABASE {name}"))?;
    let folder = crate::TempDir::new();
    let input = folder.path().join("in");
    std::fs::write(&input, script.text_for(runner)).map_err(|e| e.to_string())?;
    let mut command = Command::new("stdbuf");
    command.envs(crate::client::LOCALE).args(["-oL", "mariadb"]).args(server.client_arguments());
    command.args(["--force", "--verbose", "--verbose", "--show-warnings", "--column-names"]);
    if runner == Runner::Peer {
        command.arg(record::init_command());
    }
    command.arg(&name);
    command.stdin(Stdio::from(std::fs::File::open(&input).map_err(|e| e.to_string())?));
    let printed = interleaved(command, folder.path());
    if runner == Runner::Peer {
        server.sql(&drop)?;
    }
    script.pieces(&printed)
}

/// Standard output and error in the order in which they were written: both go to one file.
fn interleaved(mut command: Command, folder: &Path) -> String {
    let path = folder.join("out");
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
    // The first line of the file says where the result is from.
    Some(format!("line {}: expected {:?}, got {:?}", line + 2, show(&e), show(&g)))
}
