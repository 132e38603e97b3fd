//! Option files as MySQL writes them: groups, `name = value`, `!include`, `!includedir`.
//!
//! 1. Only options of the wanted groups are returned, in the order of the files.
//! 2. Every option remembers file and line, so that a refused one can be found.

use std::path::{Path, PathBuf};

/// How deep files may include each other.
const INCLUDE_DEPTH_MAX: usize = 10;

/// An option as written: dashes already turned to underscores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Name.
    pub name: String,
    /// Value, when one was written.
    pub value: Option<String>,
    /// `file:line`, or `command line`.
    pub place: String,
}

/// Reads a file and what it includes. The error is one sentence for the user.
pub fn read(path: &Path, groups: &[&str]) -> Result<Vec<Written>, String> {
    let mut out = Vec::new();
    read_into(path, groups, 0, &mut out)?;
    Ok(out)
}

fn read_into(
    path: &Path,
    groups: &[&str],
    depth: usize,
    out: &mut Vec<Written>,
) -> Result<(), String> {
    if depth > INCLUDE_DEPTH_MAX {
        return Err(format!("{}: option files include each other too deep", path.display()));
    }
    let bytes = std::fs::read(path)
        .map_err(|e| format!("Could not open required defaults file {}: {e}", path.display()))?;
    for part in parts(&String::from_utf8_lossy(&bytes), path, groups)? {
        match part {
            Part::Option(written) => out.push(written),
            Part::Directive(rest, place) => {
                for file in included(&rest, path, &place)? {
                    read_into(&file, groups, depth + 1, out)?;
                }
            }
        }
    }
    Ok(())
}

/// What a file has for its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// An option of a wanted group.
    Option(Written),
    /// What follows a `!`, and its place.
    Directive(String, String),
}

/// The parts of a file's text.
///
/// # Errors
/// One sentence for the user.
pub fn parts(text: &str, path: &Path, groups: &[&str]) -> Result<Vec<Part>, String> {
    let (mut out, mut wanted) = (Vec::new(), false);
    for (i, line) in text.lines().enumerate() {
        let place = || format!("{}:{}", path.display(), i + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('!') {
            out.push(Part::Directive(rest.to_string(), place()));
        } else if let Some(rest) = line.strip_prefix('[') {
            let group = rest.split(']').next().unwrap_or_default().trim();
            wanted = groups.contains(&group);
        } else if wanted {
            let (name, value) = split(line);
            if name.is_empty() {
                return Err(format!("{}: an option without a name", place()));
            }
            out.push(Part::Option(Written { name, value, place: place() }));
        }
    }
    Ok(out)
}

/// Files of an `!include` or `!includedir` line.
fn included(rest: &str, from: &Path, place: &str) -> Result<Vec<PathBuf>, String> {
    let relative = |name: &str| {
        let base = from.parent().unwrap_or(Path::new("."));
        base.join(name.trim())
    };
    // `includedir` first: `include` is its prefix.
    if let Some(dir) = rest.strip_prefix("includedir") {
        let dir = relative(dir);
        let entries = std::fs::read_dir(&dir)
            .map_err(|e| format!("{place}: can't read dir of '{}': {e}", dir.display()))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|x| x == "cnf"))
            .collect();
        files.sort();
        return Ok(files);
    }
    match rest.strip_prefix("include") {
        Some(file) => Ok(vec![relative(file)]),
        None => Err(format!("{place}: unknown directive '!{rest}'")),
    }
}

fn split(line: &str) -> (String, Option<String>) {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(unquote(value.trim()))),
        // A comment may follow an option without a value.
        None => (line.split('#').next().unwrap_or_default(), None),
    };
    (name.trim().replace('-', "_"), value)
}

/// Takes off quotes or a trailing comment, and resolves backslash escapes.
fn unquote(text: &str) -> String {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let mut out = String::new();
    let mut chars = text.chars();
    if quote.is_some() {
        chars.next();
    }
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('s') => out.push(' '),
                Some(c @ ('\\' | '"' | '\'')) => out.push(c),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            c if Some(c) == quote => return out,
            '#' if quote.is_none() => break,
            c => out.push(c),
        }
    }
    if quote.is_none() { out.trim_end().to_string() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unquoted() {
        assert_eq!(
            split("max-connections = 5 # five"),
            ("max_connections".into(), Some("5".into()))
        );
        assert_eq!(split("skip-networking"), ("skip_networking".into(), None));
        assert_eq!(split("x = \"a # b\\n\" # c").1, Some("a # b\n".into()));
        assert_eq!(split("x='it\\'s'").1, Some("it's".into()));
        assert_eq!(split("x=C:\\dir\\sub").1, Some("C:\\dir ub".into()));
    }

    #[test]
    fn groups_and_includes() {
        let dir = std::env::temp_dir().join(format!("limpid-optfile-{}", std::process::id()));
        let inner = dir.join("conf.d");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("b.cnf"), "[server]\nport=2\n").unwrap();
        std::fs::write(inner.join("a.cnf"), "[mysqld]\nport=1\n[client]\nport=9\n").unwrap();
        std::fs::write(inner.join("c.txt"), "[mysqld]\nport=3\n").unwrap();
        let main = dir.join("my.cnf");
        std::fs::write(&main, "; c\n[mysqld]\ndatadir=/x\n!includedir conf.d\nloose-foo\n")
            .unwrap();
        let got = read(&main, &["mysqld", "server"]).unwrap();
        let names: Vec<_> = got.iter().map(|w| (w.name.as_str(), w.value.as_deref())).collect();
        assert_eq!(
            names,
            [
                ("datadir", Some("/x")),
                ("port", Some("1")),
                ("port", Some("2")),
                ("loose_foo", None)
            ]
        );
        assert!(got[3].place.ends_with("my.cnf:5"));
        std::fs::write(&main, "!include my.cnf\n").unwrap();
        assert!(read(&main, &["mysqld"]).unwrap_err().contains("too deep"));
        assert!(read(&dir.join("none.cnf"), &["mysqld"]).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
