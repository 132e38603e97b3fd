//! Which tests of a run go beside each other.
//!
//! 1. Each target of the workspace is in one lane. A name that the server as a whole and a crate have in common is in the former's,
//! which runs both. 2. Cargo is asked for the whole workspace each time: of a part of it features would differ, and all
//! be built anew.

use crate::shell;
use std::collections::BTreeSet;
use std::path::Path;

/// Tests that count instructions: a client that is late for a processor costs the server a wait.
const COUNTING: [&str; 1] = ["gates"];
/// Tests that see what a server does beside a load: beside others they would take longer, or tell nonsense.
const ALONE: [&str; 5] = ["costs_at_scale", "hot_path", "lab", "sysbench", "write_trap"];
/// Folders of crates.
const FLOORS: [&str; 5] = ["ground", "storage", "sql", "server", "tools"];
/// Crates that lie at the root.
const CRATES: [&str; 2] = ["testkit", "xtask"];

/// Arguments for cargo, by lane.
pub struct Lanes {
    /// Nothing runs beside them.
    pub counting: Vec<String>,
    /// Nothing runs beside them but what gives way.
    pub alone: Vec<String>,
    /// The others of the server as a whole.
    pub whole: Vec<String>,
    /// Unit tests of all crates, and what the crates have in folders of their own.
    pub crates: Vec<String>,
}

/// Looks for the tests that there are.
pub fn find() -> Result<Lanes, String> {
    let root = shell::root();
    let mut whole = names(&root.join("tests"))?;
    let mut crates = BTreeSet::new();
    for name in CRATES {
        crates.append(&mut names(&root.join(name).join("tests"))?);
    }
    for floor in FLOORS {
        let folder = root.join(floor);
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()));
        for entry in entries?.flatten() {
            crates.append(&mut names(&entry.path().join("tests"))?);
        }
    }
    let mut first = COUNTING.iter().chain(&ALONE);
    if let Some(missing) = first.find(|name| !whole.contains(**name)) {
        return Err(format!("there is no tests/{missing}.rs"));
    }
    crates.retain(|name| !whole.contains(name));
    whole.retain(|name| !COUNTING.contains(&name.as_str()) && !ALONE.contains(&name.as_str()));
    let mut of_crates = vec!["--lib".to_string(), "--bins".into()];
    of_crates.extend(targets(crates));
    let (counting, alone) = (COUNTING.map(str::to_string).into(), ALONE.map(str::to_string).into());
    Ok(Lanes {
        counting: targets(counting),
        alone: targets(alone),
        whole: targets(whole),
        crates: of_crates,
    })
}

fn targets(names: BTreeSet<String>) -> Vec<String> {
    names.into_iter().flat_map(|name| ["--test".to_string(), name]).collect()
}

/// Names of a folder's test targets; none of one that is not there.
fn names(folder: &Path) -> Result<BTreeSet<String>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(BTreeSet::new()) };
    let mut found = BTreeSet::new();
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        let is_target = match path.is_dir() {
            true => path.join("main.rs").is_file(),
            false => path.extension().is_some_and(|extension| extension == "rs"),
        };
        if let Some(name) = path.file_stem().filter(|_| is_target) {
            found.insert(name.to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_is_in_one_lane() {
        let lanes = find().unwrap();
        let all: Vec<&String> = [&lanes.counting, &lanes.alone, &lanes.whole, &lanes.crates]
            .into_iter()
            .flatten()
            .filter(|argument| !argument.starts_with("--"))
            .collect();
        let apart: BTreeSet<&String> = all.iter().copied().collect();
        assert_eq!(all.len(), apart.len());
        assert!(apart.len() > 60, "{apart:?}");
    }
}
