//! The floors inside a crate: modules in the order in which `lib.rs` declares them.
//!
//! 1. Modules declared without an empty line between them stand on one floor; a folder is one module. 2. A module names
//! (`crate::other`) only modules of the floors before its own. 3. The same holds for the methods of [`SHARED`], whose
//! `impl` blocks lie in many modules: `self.method()` inside of such a block, and `core.method()` anywhere. What is
//! called through a function pointer is not seen.

use crate::tidy::{read, rust_files, without_tests};
use std::collections::BTreeMap;
use std::path::Path;

/// Crates whose modules stand on floors.
pub const CRATES: [&str; 1] = ["session"];
/// The type whose methods are spread over modules, and the name that variables of it have.
const SHARED: (&str, &str) = ("impl Core {", "core");

/// What a crate in this folder does against its floors.
pub fn findings(folder: &Path) -> Vec<String> {
    let source = folder.join("src");
    let floors = floors(&read(&source.join("lib.rs")));
    let mut files = Vec::new();
    for path in rust_files(&source) {
        let inside = path.strip_prefix(&source).unwrap_or(&path);
        let first = inside.components().next().map(|c| c.as_os_str().to_string_lossy());
        let module = first.unwrap_or_default().trim_end_matches(".rs").to_string();
        if floors.contains_key(&module) {
            files.push((module, code(&read(&path))));
        }
    }
    upward(&floors, &files)
}

/// Modules and their floors.
fn floors(lib: &str) -> BTreeMap<String, usize> {
    let declared = lib.split("#[cfg(test)]").next().unwrap_or(lib).split("\n\n").enumerate();
    let modules = declared.flat_map(|(floor, group)| {
        let names = group.lines().filter_map(|line| {
            let name = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
            name.strip_suffix(';').map(str::to_string)
        });
        names.map(move |name| (name, floor)).collect::<Vec<_>>()
    });
    modules.collect()
}

/// A file without its tests and comments; chained calls stand on one line.
fn code(text: &str) -> String {
    let mut code = String::new();
    for line in without_tests(text).lines() {
        match line.trim_start() {
            comment if comment.starts_with("//") => {}
            call if call.starts_with('.') => code += call,
            _ => code = code + "\n" + line,
        }
    }
    code
}

/// Names and calls that lead to the same floor or a later one.
fn upward(floors: &BTreeMap<String, usize>, files: &[(String, String)]) -> Vec<String> {
    let mut homes = BTreeMap::new();
    for (module, text) in files {
        let methods = shared(text).flat_map(|block| block.split("fn ").skip(1));
        homes.extend(methods.map(|rest| (word(rest), module.as_str())));
    }
    let mut found = Vec::new();
    for (module, text) in files {
        for (name, home) in uses(text, &homes).into_iter().filter(|(_, home)| home != module) {
            match floors.get(home) {
                None => found.push(format!("{module} uses crate::{name}: name its module")),
                Some(floor) if *floor >= floors[module] => {
                    found.push(format!("{module} uses {name} of {home}, which is no floor below"));
                }
                Some(_) => {}
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What a file names of other modules, and the methods that it calls: name and module.
fn uses<'t>(text: &'t str, homes: &BTreeMap<&'t str, &'t str>) -> Vec<(&'t str, &'t str)> {
    let named = text.split("crate::").skip(1).map(|rest| (word(rest), word(rest)));
    let own = shared(text).flat_map(|block| block.split("self.").skip(1));
    let calls = own.chain(text.split(SHARED.1).skip(1).filter_map(|rest| rest.strip_prefix('.')));
    let calls = calls.filter_map(|rest| {
        let name = word(rest);
        rest[name.len()..].starts_with('(').then(|| Some((name, *homes.get(name)?))).flatten()
    });
    named.chain(calls).collect()
}

/// The bodies of the shared type's `impl` blocks.
fn shared(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split(SHARED.0).skip(1);
    blocks.map(|rest| rest.split_once("\n}").map_or(rest, |(body, _)| body))
}

/// The name at the beginning of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_upwards_is_found() {
        let floors =
            floors("mod low;\n\npub mod high;\nmod strange;\n\n#[cfg(test)]\nmod tests;\n");
        let file = |module: &str, text: &str| (module.to_string(), code(text));
        let files = [
            file(
                "low",
                "use crate::high::T;\nimpl Core {\n    fn a() {\n        self\n            .b()\n    }\n}\n",
            ),
            file("high", "use crate::low;\nimpl Core {\n    fn b() { self.a() }\n}\n"),
            file("strange", "// crate::high\nfn c(core: &Core) { core.a(); core.b() }\n"),
        ];
        let found = upward(&floors, &files);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].starts_with("low uses b of high") && found[2].starts_with("strange uses b")
        );
    }
}
