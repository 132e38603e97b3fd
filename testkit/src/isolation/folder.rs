//! All scripts of a folder: recorded from one server, or compared with what was recorded.
//!
//! `known.txt` beside them lists what differs for now: `FILE.PART LEVEL reason`. A listed one that comes out
//! right is a failure too, so the list only ever holds what is true.

use super::script::{Block, Level, Recorded, Script, Step};
use super::talk::{Oracle, converse};
use crate::{Peer, TextClient};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Script and level that differ for now, and why.
type Known = BTreeMap<(String, String), String>;

/// Conversations at a time; most of them sit and wait.
const WORKERS: usize = 16;

/// Runs every script at every level and compares.
///
/// # Panics
/// When one differs that is not listed, when a listed one comes out right, and when a list line is of nothing.
pub fn compare_folder(server: &Peer, folder: &Path) {
    compare(server, folder, known(folder));
}

/// As [`compare_folder`], to the server that was recorded: nothing may differ.
///
/// # Panics
/// When a conversation comes out differently.
pub fn replay_folder(server: &Peer, folder: &Path) {
    compare(server, folder, Known::new());
}

fn compare(server: &Peer, folder: &Path, mut known: Known) {
    let jobs = jobs(folder);
    let asked = jobs.len();
    let outcomes = run_all(jobs, |(script, level)| {
        let recorded = read_result(folder, &script.file);
        let expected = recorded.of(&script, level);
        let key = (script.label(), level.short().to_string());
        (
            key,
            match converse(server, &script, level, Oracle::Recorded(expected)) {
                Ok(blocks) => difference(&script, expected, &blocks),
                Err(why) => Some(format!("  setup: {why}")),
            },
        )
    });
    let show_known = std::env::var_os("LIMPID_SHOW_KNOWN").is_some();
    let mut findings = Vec::new();
    let (mut same, mut listed) = (0, 0);
    for ((name, level), difference) in outcomes {
        match (difference, known.remove(&(name.clone(), level.clone()))) {
            (None, None) => same += 1,
            (Some(what), Some(reason)) => {
                listed += 1;
                if show_known {
                    println!("known: {name} {level} ({reason})\n{what}");
                }
            }
            (Some(what), None) => findings.push(format!("{name} {level}\n{what}")),
            (None, Some(_)) => {
                findings.push(format!("{name} {level} is right: take it off known.txt"))
            }
        }
    }
    if only().is_none() {
        findings.extend(
            known.keys().map(|(n, l)| format!("known.txt lists {n} {l}, which is nothing")),
        );
    }
    println!("{asked} conversations: {same} as recorded, {listed} listed as different");
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
}

/// Runs every script and writes what the server says.
///
/// # Panics
/// When the folder cannot be read or written.
pub fn record_folder(server: &Peer, folder: &Path) {
    let mut client = TextClient::connect(server);
    let version = client.query("SELECT VERSION()").expect("a version").rows[0][0].clone();
    let version = String::from_utf8_lossy(&version.unwrap_or_default()).into_owned();
    let jobs = jobs(folder);
    let files: BTreeSet<String> = jobs.iter().map(|(script, _)| script.file.clone()).collect();
    let parts = run_all(jobs, |(script, level)| {
        let blocks = converse(server, &script, level, Oracle::Server);
        let blocks = blocks.unwrap_or_else(|e| panic!("{}: {e}", script.label()));
        (script.file, (script.part, level, blocks))
    });
    for file in files {
        let parts = parts.iter().filter(|(f, _)| *f == file).map(|(_, part)| part.clone());
        let source = format!("recorded from MySQL {version}");
        let recorded = Recorded { source, parts: parts.collect() };
        let path = folder.join(format!("{file}.result"));
        std::fs::write(&path, recorded.print()).expect("a writable folder");
    }
}

/// Part of the names of the files to run, when not all are wanted.
fn only() -> Option<String> {
    std::env::var("LIMPID_ONLY").ok()
}

/// Each script with each level that it runs at; when only some are wanted, of files of that name.
fn jobs(folder: &Path) -> Vec<(Script, Level)> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "conv"));
    paths.sort();
    let read = |path: PathBuf| {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a script");
        Script::parse(&file, &text).unwrap_or_else(|e| panic!("{e}"))
    };
    let only = only();
    let wanted = |s: &Script| only.as_ref().is_none_or(|part| s.file.contains(part));
    let scripts = paths.into_iter().flat_map(read).filter(wanted);
    let jobs: Vec<(Script, Level)> = scripts
        .flat_map(|s| s.levels.clone().into_iter().map(move |level| (s.clone(), level)))
        .collect();
    assert!(!jobs.is_empty(), "no scripts in {}", folder.display());
    jobs
}

fn read_result(folder: &Path, name: &str) -> Recorded {
    let path = folder.join(format!("{name}.result"));
    Recorded::parse(&std::fs::read_to_string(path).unwrap_or_default())
}

/// Name and short level of what differs for now, with the reason.
fn known(folder: &Path) -> Known {
    let text = std::fs::read_to_string(folder.join("known.txt")).unwrap_or_default();
    let lines = text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let entry = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_string);
        let key = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let reason = words.next().unwrap_or_default();
        assert!(Level::of_short(&key.1).is_some() && !reason.is_empty(), "known.txt: {line}");
        (key, reason)
    };
    let wanted = only();
    let here = |key: &(String, String)| {
        let file = key.0.split('.').next().unwrap_or_default();
        wanted.as_ref().is_none_or(|part| file.contains(part))
    };
    lines.map(entry).filter(|(key, _)| here(key)).collect()
}

/// Where two outcomes of a script part, in words.
pub(super) fn difference(script: &Script, expected: &[Block], got: &[Block]) -> Option<String> {
    let heads = script.steps.iter().map(Step::shown);
    if !heads.eq(expected.iter().map(|block| block.head.clone())) {
        return Some("  never recorded as it is written now".into());
    }
    let at = got.iter().zip(expected).position(|(g, e)| g != e)?;
    let lines = |block: &Block| block.answers.join("\n            ");
    let before = at.checked_sub(1).map(|n| format!("  after     {}\n", expected[n].head));
    Some(format!(
        "{}  at        {}\n  expected  {}\n  got       {}",
        before.unwrap_or_default(),
        expected[at].head,
        lines(&expected[at]),
        lines(&got[at])
    ))
}

/// Does the jobs, those at last, one by one, that keep others away.
fn run_all<R: Send>(
    jobs: Vec<(Script, Level)>,
    work: impl Fn((Script, Level)) -> R + Sync,
) -> Vec<R> {
    let (alone, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|(s, _)| s.alone);
    let mut outcomes = in_parallel(others, &work);
    outcomes.extend(alone.into_iter().map(work));
    outcomes
}

/// Does the jobs on several threads; outcomes in the jobs' order.
pub(super) fn in_parallel<J: Send, R: Send>(jobs: Vec<J>, work: impl Fn(J) -> R + Sync) -> Vec<R> {
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no job panics with the queue").next();
                    let Some((number, job)) = next else { return };
                    let outcome = work(job);
                    done.lock().expect("no job panics with the list").push((number, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("the threads have ended");
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
