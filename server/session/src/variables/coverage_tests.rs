//! The promise of the table: each variable acts where code names it, or says why it does not.

use super::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of every source file that may read a variable: without tests, the table, and lists of names.
fn sources() -> String {
    const LISTS: [&str; 4] = ["hints.rs", "exceptions.rs", "coverage_tests.rs", "tests.rs"];
    let mut text = String::new();
    let mut folders: Vec<PathBuf> = ["server", "sql", "src"].map(|f| root().join(f)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            match entry.is_dir() {
                true if ["tests", "table", "target"].contains(&&*name) => {}
                true => folders.push(entry),
                false if !name.ends_with(".rs") || LISTS.contains(&&*name) => {}
                false => {
                    let source = std::fs::read_to_string(&entry).unwrap();
                    text += source.split("#[cfg(test)]\nmod").next().unwrap();
                }
            }
        }
    }
    text
}

/// By its name as a string, which [`id`], `number` and their like take.
fn is_named(sources: &str, name: &str) -> bool {
    sources.contains(&format!("\"{name}\""))
}

#[test]
fn what_acts_is_read_and_what_is_ignored_is_not() {
    let sources = sources();
    for v in VARIABLES {
        match v.effect {
            Effect::Read | Effect::Setting | Effect::Engine => {
                assert!(is_named(&sources, v.name), "nothing reads {}", v.name);
            }
            Effect::Ignored(reason) | Effect::DefaultOnly(reason) => {
                assert!(reason.ends_with('.') && reason.len() > 12, "{}: {reason}", v.name);
            }
            _ => {}
        }
    }
}

#[test]
fn readers_of_ignored_variables_are_found() {
    let ignored = VARIABLES.iter().find(|v| matches!(v.effect, Effect::Ignored(_))).unwrap();
    let read = std::panic::catch_unwind(|| id(ignored.name));
    assert!(read.is_err() || !cfg!(debug_assertions), "{} was read", ignored.name);
}

fn table(text: &mut String, title: &str, reason_of: impl Fn(Effect) -> Option<&'static str>) {
    let _ = writeln!(text, "\n## {title}\n\n| Variable | Default | Why |\n|---|---|---|");
    for v in sorted().map(VarId::get) {
        let Some(reason) = reason_of(v.effect) else { continue };
        let default = match v.default {
            "" => "empty".to_string(),
            default => format!("`{default}`"),
        };
        let _ = writeln!(text, "| `{}` | {default} | {reason} |", v.name);
    }
}

/// `docs/variables.md`.
fn document() -> String {
    let mut text = String::from(
        "# System variables\n\n\
         Written by the test `the_list_of_variables_is_current` (`LIMPID_BLESS=1` writes it anew). All variables are \
         shown by SHOW VARIABLES, with MySQL's types and ranges.\n",
    );
    let acting = sorted()
        .map(VarId::get)
        .filter(|v| !matches!(v.effect, Effect::Ignored(_) | Effect::DefaultOnly(_)));
    let acting: Vec<String> = acting.map(|v| format!("`{}`", v.name)).collect();
    let _ = write!(text, "\n## These act ({})\n\n{}\n", acting.len(), acting.join(", "));
    table(&mut text, "These have their default only", |effect| match effect {
        Effect::DefaultOnly(reason) => Some(reason),
        _ => None,
    });
    text += "\nSET to another value answers 1235 (1238 where MySQL sets it at start only); an option with another value \
             is refused.\n";
    table(&mut text, "These are kept and shown, and change nothing", |effect| match effect {
        Effect::Ignored(reason) => Some(reason),
        _ => None,
    });
    text
}

#[test]
fn the_list_of_variables_is_current() {
    let path = root().join("docs/variables.md");
    let text = document();
    if std::env::var_os("LIMPID_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/variables.md is stale: run this test with LIMPID_BLESS=1");
}
