//! The shape of the tree, checked: what ARCHITECTURE.md promises and a compiler does not see.
//!
//! 1. A crate depends only on crates of lower floors. 2. No file is above 1,000 lines without its
//! tests. 3. Every Rust file opens with a sentence (`//!`). 4. Calls that bypass a house service are
//! banned, and the finding names the replacement. 5. `unsafe` is allowed in the named crates only.
//! 6. ARCHITECTURE.md names every crate and no crate that is not there. 7. Every external
//! dependency has its line in docs/dependencies.md. 8. Tests that documents name exist, and links
//! between documents lead somewhere. 9. docs/refused.md is what `cargo xtask refused` makes. 10. What
//! answers clients uses no debug output. 11. Invariants of storage name their guards (`guards`). 12. The
//! modules of `server/session` stand on floors (`modules`).

use crate::{guards, modules, refused, shell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 1000;
const UNSAFE_CRATES: [&str; 6] = ["stdx", "instrument", "sync", "host", "page", "pool"];

/// Pattern, crates where it is allowed, what to use instead.
const BANNED: [(&str, &[&str], &str); 8] = [
    (
        "println!(",
        &["daemon", "limpid", "pool", "xtask", "testkit"],
        "return text; the daemon owns the terminal",
    ),
    ("dbg!(", &[], "nothing: remove it"),
    ("todo!(", &[], "error 1235 naming the construct"),
    ("unimplemented!(", &[], "error 1235 naming the construct"),
    (
        "std::env::var",
        &["daemon", "xtask", "testkit"],
        "configuration: only the daemon reads the environment",
    ),
    (
        "std::fs::",
        &["host", "daemon", "tls", "lab", "xtask", "testkit"],
        "host::Disk, which the simulator replaces",
    ),
    ("SystemTime::now", &["host", "instrument", "sync", "xtask", "testkit"], "host::clock"),
    (
        "thread_local!",
        &["stdx", "instrument", "sync", "host", "pool", "testkit"],
        "session state: a session is not a thread",
    ),
];

struct Member {
    name: String,
    folder: PathBuf,
    floor: u32,
    dependencies: Vec<String>,
}

/// Prints every finding; an error if there is one.
pub fn run() -> Result<(), String> {
    let findings = findings(&shell::root());
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("tidy: {} findings", findings.len())) }
}

fn findings(root: &Path) -> Vec<String> {
    let members = members(root);
    let mut found = Vec::new();
    check_floors(&members, &mut found);
    for member in &members {
        for file in rust_files(&member.folder.join("src")) {
            check_file(root, member, &file, &mut found);
        }
    }
    check_architecture(root, &members, &mut found);
    check_dependencies(root, &mut found);
    check_named_tests(root, &mut found);
    check_links(root, &mut found);
    check_modules(root, &members, &mut found);
    check_refused(root, &mut found);
    check_guards(root, &members, &mut found);
    found
}

/// A file's text; empty where there is none.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Lines between `start` and the next section header of a TOML file.
fn section<'a>(text: &'a str, start: &str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .map(str::trim)
        .skip_while(move |line| *line != start)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn members(root: &Path) -> Vec<Member> {
    let manifest = read(&root.join("Cargo.toml"));
    let listed = section(&manifest, "[workspace]")
        .filter_map(|line| line.strip_prefix('"'))
        .filter_map(|line| line.split('"').next())
        .map(|folder| root.join(folder));
    listed.chain([root.to_path_buf()]).map(|folder| member(&folder)).collect()
}

fn member(folder: &Path) -> Member {
    let text = read(&folder.join("Cargo.toml"));
    let value = |key: &str| {
        text.lines()
            .find_map(|l| l.trim().strip_prefix(key))
            .map(|v| v.trim_matches([' ', '=', '"']))
    };
    Member {
        name: value("name").unwrap_or("?").to_string(),
        folder: folder.to_path_buf(),
        floor: value("floor").and_then(|v| v.parse().ok()).unwrap_or(0),
        dependencies: section(&text, "[dependencies]")
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .map(str::to_string)
            .collect(),
    }
}

fn check_floors(members: &[Member], found: &mut Vec<String>) {
    let floors: BTreeMap<&str, u32> = members.iter().map(|m| (m.name.as_str(), m.floor)).collect();
    for member in members {
        for dependency in &member.dependencies {
            if let Some(floor) = floors.get(dependency.as_str())
                && *floor >= member.floor
            {
                found.push(format!(
                    "{} (floor {}) imports {dependency} (floor {floor}): only lower floors may be imported",
                    member.name, member.floor
                ));
            }
        }
    }
}

/// Every Rust file of a folder, in order.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The part of a file before its unit tests.
pub fn without_tests(text: &str) -> &str {
    text.find("\n#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

fn check_file(root: &Path, member: &Member, path: &Path, found: &mut Vec<String>) {
    let text = read(path);
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    if text.starts_with("// @generated") {
        return;
    }
    let is_test = path.file_stem().is_some_and(|s| s.to_string_lossy().ends_with("tests"))
        || path.components().any(|c| c.as_os_str() == "tests");
    if is_test {
        return;
    }
    if !text.trim_start().starts_with("//!") {
        found.push(format!("{shown}: a module opens with a sentence (`//! ...`)"));
    }
    let code = without_tests(&text);
    let lines = code.lines().count();
    if lines > LINES_MAX {
        found.push(format!(
            "{shown}: {lines} lines without tests, more than {LINES_MAX}: split by noun"
        ));
    }
    if member.name == "xtask" {
        return;
    }
    if code.contains("allow(unsafe_code)") && !UNSAFE_CRATES.contains(&member.name.as_str()) {
        found.push(format!("{shown}: unsafe is allowed in {UNSAFE_CRATES:?} only"));
    }
    for (number, line) in
        code.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//"))
    {
        for (pattern, allowed, instead) in BANNED {
            if line.contains(pattern) && !allowed.contains(&member.name.as_str()) {
                found.push(format!("{shown}:{}: `{pattern}` is banned: {instead}", number + 1));
            }
        }
        if reads_debug_output(&shown, line) {
            let instead = "a word of its own, a visitor, or derived Hash and Eq";
            let number = number + 1;
            found.push(format!("{shown}:{number}: debug output is no text to use: {instead}"));
        }
    }
}

/// Whether a line of what answers clients formats by `Debug`, be it to store, to compare, to hash or to
/// show it; the words of a panic may.
fn reads_debug_output(shown: &str, line: &str) -> bool {
    let folders = ["sql/", "server/session/", "server/wire/", "ground/value/"];
    let panics = ["panic!", "assert", "unreachable!", "expect("];
    folders.iter().any(|folder| shown.starts_with(folder))
        && (line.contains(":?}") || line.contains(":#?}"))
        && !panics.iter().any(|word| line.contains(word))
}

/// The floor table of ARCHITECTURE.md lists `name  floor  text` lines inside a code block.
fn check_architecture(root: &Path, members: &[Member], found: &mut Vec<String>) {
    let text = read(&root.join("ARCHITECTURE.md"));
    let table: BTreeMap<&str, u32> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("  ")?.split_whitespace();
            Some((words.next()?, words.next()?.parse().ok()?))
        })
        .collect();
    for member in members.iter().filter(|m| m.floor < 16) {
        match table.get(member.name.as_str()) {
            None => found.push(format!("ARCHITECTURE.md does not list the crate {}", member.name)),
            Some(floor) if *floor != member.floor => {
                found.push(format!(
                    "ARCHITECTURE.md puts {} on floor {floor}, its Cargo.toml on {}",
                    member.name, member.floor
                ));
            }
            Some(_) => {}
        }
    }
    for name in table.keys().filter(|name| !members.iter().any(|m| m.name == **name)) {
        found.push(format!("ARCHITECTURE.md lists {name}, which is no crate"));
    }
}

fn check_dependencies(root: &Path, found: &mut Vec<String>) {
    let manifest = read(&root.join("Cargo.toml"));
    let reasons = read(&root.join("docs/dependencies.md"));
    for line in section(&manifest, "[workspace.dependencies]").filter(|l| !l.contains("path =")) {
        let name = line.split([' ', '=']).next().unwrap_or_default();
        if !reasons.contains(&format!("`{name}`")) {
            found.push(format!("docs/dependencies.md gives no reason for `{name}`"));
        }
    }
}

/// README, ARCHITECTURE and what lies in docs/: path from the root, and text.
fn documents(root: &Path) -> Vec<(String, String)> {
    let mut paths = vec!["README.md".to_string(), "ARCHITECTURE.md".into(), "CHANGELOG.md".into()];
    for entry in std::fs::read_dir(root.join("docs")).into_iter().flatten().flatten() {
        paths.push(format!("docs/{}", entry.file_name().to_string_lossy()));
    }
    paths.retain(|path| path.ends_with(".md"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), read(&root.join(path)))).collect()
}

/// Tests that the documents name, as `path/to/file.rs:name_of_the_test`, must exist.
fn check_named_tests(root: &Path, found: &mut Vec<String>) {
    for (document, text) in documents(root) {
        let named = text.split('`').skip(1).step_by(2).filter_map(|word| {
            let (file, test) = word.split_once(".rs:")?;
            Some((format!("{file}.rs"), test))
        });
        for (file, test) in named {
            if !read(&root.join(&file)).contains(&format!("fn {test}(")) {
                found.push(format!(
                    "{document} names the test {test} of {file}, which is not there"
                ));
            }
        }
    }
}

/// Links to files and to headings of documents, as `[text](path.md#heading)`, must lead somewhere.
fn check_links(root: &Path, found: &mut Vec<String>) {
    for (document, text) in documents(root) {
        let folder = root.join(&document).parent().map(Path::to_path_buf).unwrap_or_default();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { root.join(&document) } else { folder.join(path) };
            let leads = file.exists() && (heading.is_empty() || has_heading(&read(&file), heading));
            if !leads {
                found.push(format!("{document} links to {target}, which is not there"));
            }
        }
    }
}

/// Whether a heading of a document has this anchor: lower case, blanks as `-`, no punctuation.
fn has_heading(text: &str, anchor: &str) -> bool {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    text.lines().filter(|line| line.starts_with('#')).any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(kept).collect::<String>().replace(' ', "-") == anchor
    })
}

/// Every numbered item of a module's head in storage names its guard, and the tests named are there.
fn check_guards(root: &Path, members: &[Member], found: &mut Vec<String>) {
    let folders = ["storage", "ground", "tests"].map(|folder| rust_files(&root.join(folder)));
    let files: Vec<(PathBuf, String)> =
        folders.into_iter().flatten().map(|path| (path.clone(), read(&path))).collect();
    let is_there =
        |name: &String| files.iter().any(|(_, text)| text.contains(&format!("fn {name}(")));
    for member in members.iter().filter(|m| m.folder.starts_with(root.join("storage"))) {
        let is_done = !guards::UNDONE.contains(&member.name.as_str());
        let source = member.folder.join("src");
        for (path, text) in files.iter().filter(|(path, _)| path.starts_with(&source)) {
            let shown = path.strip_prefix(root).unwrap_or(path).display();
            let unguarded = guards::unguarded(text).into_iter().filter(|_| is_done);
            found.extend(unguarded.map(|number| {
                format!("{shown}: item {number} of the head names no guard (`Guard: ...`)")
            }));
            let missing = guards::named(text).into_iter().filter(|name| !is_there(name));
            found.extend(missing.map(|name| format!("{shown}: the guard {name} is not there")));
        }
    }
}

/// Modules inside a crate use only those of the floors below.
fn check_modules(root: &Path, members: &[Member], found: &mut Vec<String>) {
    for member in members.iter().filter(|m| modules::CRATES.contains(&m.name.as_str())) {
        let shown = member.folder.strip_prefix(root).unwrap_or(&member.folder).display();
        found.extend(modules::findings(&member.folder).iter().map(|f| format!("{shown}: {f}")));
    }
}

fn check_refused(root: &Path, found: &mut Vec<String>) {
    if read(&root.join(refused::PAGE)) != refused::page(root) {
        found.push(format!("{} is stale: run `cargo xtask refused`", refused::PAGE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let found = findings(&shell::root());
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn a_heading_is_found_by_its_anchor() {
        let text = "# Limits: what differs\n## SQL: EXPLAIN, hints and `plans`\n";
        assert!(has_heading(text, "sql-explain-hints-and-plans"));
        assert!(!has_heading(text, "limits"));
    }

    #[test]
    fn an_import_of_a_higher_floor_is_found() {
        let low = Member {
            name: "low".into(),
            folder: PathBuf::new(),
            floor: 1,
            dependencies: vec!["high".into()],
        };
        let high =
            Member { name: "high".into(), folder: PathBuf::new(), floor: 2, dependencies: vec![] };
        let mut found = Vec::new();
        check_floors(&[low, high], &mut found);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
