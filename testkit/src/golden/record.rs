//! Results as a MySQL server gives them.
//!
//! 1. The peer is set up as Limpid is ([`SETTINGS`]), else nothing is recorded: an answer that hangs on a server's
//!    options is no answer. 2. What 9.7 has otherwise than 8.4, the specification, is a rule with a name
//!    ([`RULES`]); a single statement that differs is marked in its script. 3. Global variables that a
//!    script leaves changed are set back. 4. What Limpid answers otherwise is reported, never written.

use super::script::{FAULT, Piece, Runner, Script};
use super::{OWN, RECORDED, converse, first_difference, read, scripts};
use crate::{Peer, Server};
use std::collections::BTreeMap;
use std::path::Path;

/// Variables that a peer has like Limpid; one that it does not know passes.
const SETTINGS: [(&str, &str); 8] = [
    ("character_set_server", "utf8mb4"),
    ("collation_server", "utf8mb4_0900_ai_ci"),
    ("innodb_native_foreign_keys", "ON"),
    ("innodb_stats_auto_recalc", "OFF"),
    ("lower_case_table_names", "0"),
    ("log_bin", "OFF"),
    ("secure_file_priv", "NULL"),
    ("super_read_only", "OFF"),
];

/// What a session of 9.7 sets to be one of 8.4, and why.
const RULES: [(&str, &str, &str); 1] =
    [("explain_format", "TRADITIONAL", "9.7 explains as a tree unless a statement says otherwise")];

/// Words that 9.7 adds to a text of 8.4, and which.
const ADDED: [(&str, &str); 2] = [
    (" (User account does not exist)", "9.7 says why an account statement failed"),
    (" (User account already exists)", "9.7 says why an account statement failed"),
];

/// Whether results are written or only compared with a peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Writes them.
    Write,
    /// Fails when a peer says anything else than what is on record.
    Check,
}

/// The client's option that makes a session of a newer MySQL one of the specification's: a comment that servers
/// from 9.0 on run.
pub(super) fn init_command() -> String {
    let set = |(name, value, _): &(&str, &str, &str)| format!("{name} = {value}");
    let all = RULES.iter().map(set).collect::<Vec<_>>().join(", ");
    format!("--init-command=/*!90000 SET {all} */")
}

/// Records every script of a folder whose name contains `only` from a peer; without one, those that are Limpid's own.
///
/// # Panics
/// When the peer is not set up as Limpid is; after all scripts, when one would harm it or cannot run, when Limpid
/// answers otherwise, or a result is not as on record ([`Mode::Check`]).
pub fn record_folder(server: &Server, peer: Option<&Peer>, folder: &Path, only: &str, mode: Mode) {
    let own = Peer::from(server.socket());
    let version = peer.map(version).unwrap_or_default();
    let (mut count, mut wrong, mut marks) = (0, Vec::new(), BTreeMap::<&str, u64>::new());
    for path in scripts(folder) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let script = read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        if !name.contains(only) || (peer.is_none() && script.throughout.is_none()) {
            continue;
        }
        count += 1;
        for mark in &script.marks {
            let kind = if mark.reason.starts_with(FAULT) { "faults" } else { "on purpose" };
            *marks.entry(kind).or_default() += 1;
        }
        let kept = record(&own, peer, &version, &path, &script)
            .and_then(|(text, differs)| keep(&path, &text, mode).map(|()| differs));
        match kept {
            Ok(None) => {}
            Ok(Some(what)) => wrong.push(format!("{name}: Limpid answers otherwise, {what}")),
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert!(count > 0, "no script of that name, or none that is Limpid's own and no --peer");
    println!(
        "{count} scripts, {} differ; statements that are Limpid's own: {marks:?}",
        wrong.len()
    );
    let found = wrong.join("\n");
    assert!(
        wrong.is_empty(),
        "mend what differs or mark it in the script (docs/testing.md):\n{found}"
    );
}

/// The version of a peer that is set up as Limpid is.
fn version(peer: &Peer) -> String {
    assert_alike(peer);
    let version = peer.sql("SELECT VERSION()").expect("a version");
    version.split('-').next().unwrap_or_default().to_string()
}

/// Writes a result, or compares it with the one on record.
fn keep(script: &Path, text: &str, mode: Mode) -> Result<(), String> {
    let file = script.with_extension("result");
    if mode == Mode::Write {
        return std::fs::write(&file, text).map_err(|e| e.to_string());
    }
    let kept = std::fs::read(&file).unwrap_or_default();
    match first_difference(&String::from_utf8_lossy(&kept), text) {
        None => Ok(()),
        Some(what) => Err(format!("not as on record, {what}")),
    }
}

/// A script's result, and where Limpid answers otherwise.
fn record(
    own: &Peer,
    peer: Option<&Peer>,
    version: &str,
    path: &Path,
    script: &Script,
) -> Result<(String, Option<String>), String> {
    let ours = converse(own, path, script, Runner::Limpid)?;
    let (Some(peer), None) = (peer, &script.throughout) else {
        let reason = script.throughout.as_deref().unwrap_or_default();
        return Ok((format!("{OWN}{reason}\n{}", script.joined(&ours)), None));
    };
    if let Some(line) = script.harm() {
        return Err(format!("{line} harms the peer: mark it with -- limpid only"));
    }
    let before = globals(peer)?;
    let theirs = converse(peer, path, script, Runner::Peer)?;
    restore(peer, &before)?;
    let taken: Vec<Piece> = theirs
        .into_iter()
        .zip(&ours)
        .map(|(theirs, ours)| if ours.mark.is_some() { ours.clone() } else { of_8_4(theirs) })
        .collect();
    let (recorded, said) = (script.joined(&taken), script.joined(&ours));
    let differs = first_difference(&recorded, &said);
    Ok((format!("{RECORDED}{version}\n{recorded}"), differs))
}

/// An answer of 9.7 as 8.4 words it.
fn of_8_4(mut piece: Piece) -> Piece {
    for (added, _) in ADDED {
        piece.text = piece.text.replace(added, "");
    }
    piece
}

/// Sets global variables back that a script left changed.
fn restore(peer: &Peer, before: &BTreeMap<String, String>) -> Result<(), String> {
    let changed = || -> Result<Vec<(String, String)>, String> {
        let now = globals(peer)?;
        let of = |(name, value): &(&String, &String)| now.get(*name) != Some(*value);
        Ok(before.iter().filter(of).map(|(n, v)| (n.clone(), v.clone())).collect())
    };
    // One may bound another: twice.
    for _ in 0..2 {
        for (name, value) in changed()? {
            let value = if value.parse::<f64>().is_ok() { value } else { format!("'{value}'") };
            let _ = peer.sql(&format!("SET GLOBAL {name} = {value}"));
        }
    }
    match changed()?.first() {
        None => Ok(()),
        Some((name, _)) => Err(format!("leaves the peer's {name} changed")),
    }
}

fn globals(peer: &Peer) -> Result<BTreeMap<String, String>, String> {
    let rows = peer.sql("SHOW GLOBAL VARIABLES")?;
    let pair = |row: &str| row.split_once('\t').map(|(n, v)| (n.to_string(), v.to_string()));
    Ok(rows.lines().filter_map(pair).collect())
}

fn assert_alike(peer: &Peer) {
    let globals = globals(peer).unwrap_or_else(|e| panic!("{e}"));
    let differs =
        |(name, wanted): &&(&str, &str)| globals.get(*name).is_some_and(|value| value != wanted);
    let wrong: Vec<_> = SETTINGS.iter().filter(differs).collect();
    assert!(wrong.is_empty(), "start the peer with these (docs/testing.md): {wrong:?}");
}
