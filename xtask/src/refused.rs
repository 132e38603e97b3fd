//! `docs/refused.md`: every construct that answers error 1235, made from the tree.
//!
//! 1. What the conversation `tests/sql/refused_constructs` shows is listed with its statement and its words.
//! 2. Words that the sources give to `unsupported(...)` and the conversation does not show are listed with
//!    their file. 3. Functions, character sets and collations are read from the tables that the server asks.

use crate::shell;
use crate::tidy::{read, rust_files, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Where the page lies.
pub const PAGE: &str = "docs/refused.md";
const CONVERSATION: &str = "tests/sql/refused_constructs";
const FUNCTIONS: &str = "sql/expr/src/functions/mod.rs";
const NAMES: &str = "ground/value/src/charset/names.rs";
const WIDTH: usize = 118;

const HEAD: &str = "\
# Refused: every construct that answers error 1235

Made by `cargo xtask refused` from the sources and from the conversation `tests/sql/refused_constructs`, which the tests
play: do not edit. The text of the error is `This version of MySQL doesn't yet support '...'`, with the words of the right
column. What differs without being refused is in [limits.md](limits.md).
";

/// Writes the page.
///
/// # Errors
/// The file cannot be written.
pub fn run() -> Result<(), String> {
    let root = shell::root();
    std::fs::write(root.join(PAGE), page(&root)).map_err(|e| format!("{PAGE}: {e}"))
}

/// The page as the tree has it now.
pub fn page(root: &Path) -> String {
    let shown = shown(root);
    let mut page = String::from(HEAD);
    for (heading, rows) in &shown {
        let _ = write!(page, "\n## {heading}\n\n| statement | words |\n|---|---|\n");
        for (statement, words) in rows {
            let _ = writeln!(page, "| {} | {} |", code(statement), code(words));
        }
    }
    page.push_str(&functions(root));
    page.push_str(&charsets(root));
    page.push_str(&unshown(root, &shown));
    page
}

/// Text in backquotes, for a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

type Shown = Vec<(String, Vec<(String, String)>)>;

/// By heading, the statements of the conversation that ended in 1235, and the words.
fn shown(root: &Path) -> Shown {
    let answers = read(&root.join(format!("{CONVERSATION}.result")));
    // Errors stand in the midst of lines: the client writes them beside its buffered output.
    let words: BTreeMap<usize, &str> = answers
        .split("ERROR 1235 (42000) at line ")
        .skip(1)
        .filter_map(|rest| {
            let (line, rest) = rest.split_once(':')?;
            let words = rest.lines().next()?.split_once("support '")?.1.strip_suffix('\'')?;
            Some((line.parse().ok()?, words))
        })
        .collect();
    let mut shown = Shown::new();
    for (at, line) in read(&root.join(format!("{CONVERSATION}.sql"))).lines().enumerate() {
        match (line.strip_prefix("-- # "), words.get(&(at + 1)), shown.last_mut()) {
            (Some(heading), ..) => shown.push((heading.to_string(), Vec::new())),
            (None, Some(words), Some((_, rows))) => {
                rows.push((line.trim_end_matches(';').to_string(), (*words).to_string()));
            }
            _ => {}
        }
    }
    shown
}

/// The functions that the table of MySQL's names has and the registry has not.
fn functions(root: &Path) -> String {
    let text = read(&root.join(FUNCTIONS));
    let body = text.split_once("pub fn is_known_to_mysql").map_or("", |(_, rest)| rest);
    let lists: Vec<Vec<String>> =
        body.split("const ").skip(1).take(2).map(|list| literals(until(list, "];"))).collect();
    let [prefixes, names] = &lists[..] else { return String::new() };
    let defined: String = rust_files(&root.join("sql"))
        .iter()
        .filter(|file| !file.ends_with(Path::new(FUNCTIONS)))
        .map(|file| read(file))
        .collect();
    let is_absent = |name: &&String| !defined.contains(&format!("\"{name}\""));
    let list = |names: Vec<&String>| {
        names.iter().map(|n| code(&n.to_uppercase())).collect::<Vec<_>>().join(", ")
    };
    format!(
        "\n## Functions that are not there\n\n{}\n{}",
        wrapped(&format!("Those whose names begin with {}.", list(prefixes.iter().collect()))),
        wrapped(&format!("And {}.", list(names.iter().filter(is_absent).collect())))
    )
}

/// Character sets and collations of MySQL that are not there.
fn charsets(root: &Path) -> String {
    let text = read(&root.join(NAMES));
    let list = |name: &str| -> Vec<String> {
        let from = text.split_once(&format!("const {name}: &str =")).map_or("", |(_, rest)| rest);
        let words = literals(until(from, ";")).join(" ").replace("\\\n", " ");
        words.split_whitespace().map(str::to_string).collect()
    };
    let named = |prefix: &str, names: &str, suffix: &str| {
        let all = list(names).into_iter().map(|n| code(&format!("{prefix}{n}{suffix}")));
        all.collect::<Vec<_>>().join(", ")
    };
    let mut section = String::from("\n## Character sets and collations that are not there\n");
    for (what, names) in [
        ("Character sets, with their collations", named("", "OTHERS", "")),
        ("Collations, of `utf8mb3` too", named("utf8mb4_", "LANGUAGES", "_ci")),
        (
            "Collations, `_as_cs` too where MySQL has it",
            named("utf8mb4_", "LANGUAGES_900", "_0900_ai_ci"),
        ),
        ("Collations", named("latin1_", "OF_LATIN1", "_ci")),
    ] {
        let _ = write!(section, "\n{}", wrapped(&format!("{what}: {names}.")));
    }
    section
}

/// What the sources refuse beyond the conversation.
fn unshown(root: &Path, shown: &Shown) -> String {
    let is_shown = |words: &str| {
        let fixed = until(words, "{");
        shown.iter().any(|(_, rows)| rows.iter().any(|(_, w)| w.starts_with(fixed)))
    };
    let mut rows = BTreeSet::new();
    for file in ["ground", "sql", "server"].iter().flat_map(|f| rust_files(&root.join(f))) {
        let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        if path.contains("tests") {
            continue;
        }
        for words in refusals(without_tests(&read(&file))) {
            if !is_shown(&words) {
                rows.insert((with_holes(&words), path.clone()));
            }
        }
    }
    let mut section = String::from(
        "\n## Rare, or never reached\n\n`...` stands for what was written.\n\n| words | where |\n|---|---|\n",
    );
    for (words, path) in rows {
        let _ = writeln!(section, "| {} | {path} |", code(&words));
    }
    section
}

/// The literal of each `unsupported("...")` and `unsupported(format!("..."))`.
fn refusals(code: &str) -> Vec<String> {
    let calls = code.split("nsupported(").skip(1);
    calls
        .filter_map(|rest| {
            let rest = rest.trim_start().trim_start_matches('&');
            let rest = rest.strip_prefix("format!(").unwrap_or(rest).trim_start();
            Some(until(rest.strip_prefix('"')?, "\"").to_string())
        })
        .collect()
}

/// `CAST AS {name}` as `CAST AS ...`.
fn with_holes(words: &str) -> String {
    let mut parts = words.split('{');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        format!("{text}...{}", part.split_once('}').map_or("", |(_, rest)| rest))
    })
}

/// What stands before `end`, or all.
fn until<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or(text, |(before, _)| before)
}

/// The string literals of a text without escaped quotes.
fn literals(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// A paragraph in lines of at most [`WIDTH`] bytes.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if line.len() + word.len() >= WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line.clear();
        }
        line.push_str(word);
        line.push(' ');
    }
    lines + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_refusals_are_found() {
        let code =
            "a.ok_or_else(|| SqlError::unsupported(\"X\"))?; unsupported(&format!(\n  \"Y {z}\"))";
        assert_eq!(refusals(code), ["X", "Y {z}"]);
        assert_eq!(with_holes("Y {z} of {w:?}"), "Y ... of ...");
    }

    #[test]
    fn the_page_names_what_is_refused() {
        let page = page(&shell::root());
        for part in ["`CREATE TRIGGER`", "`EXTRACTVALUE`", "`utf16`", "`utf8mb4_spanish_ci`"] {
            assert!(page.contains(part), "{part} is not in the page");
        }
    }
}
