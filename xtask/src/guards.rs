//! What guards the invariants of storage: each numbered item of a module's head names it.
//!
//! An item is a paragraph of the head (`//!`) that begins with its number, or the part of a paragraph from
//! `. 2. ` on. It ends with `Guard: ` and a few words: the assertion, checker, model or test that breaks when
//! the invariant does. What is only told, and broken by nothing, has no number.

/// Crates of storage whose modules are not through yet: the list only gets shorter.
pub const UNDONE: &[&str] = &["lock", "engine"];

/// Numbers of the items in a file's head that name no guard.
pub fn unguarded(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut items = 0;
    let mut open = None;
    for line in head(text) {
        if line.is_empty() {
            found.extend(open.take());
        }
        let mut ends_sentence = true;
        for word in line.split_whitespace() {
            if ends_sentence && let Some(number) = number(word, items) {
                found.extend(open.replace(number));
                items = number;
            } else if word == "Guard:" {
                open = None;
            }
            ends_sentence = word.ends_with(['.', ')']);
        }
    }
    found.extend(open);
    found
}

/// The lines of a file's head without their marks; of code blocks nothing.
fn head(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).map(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { "" } else { line }
    })
}

/// What `2.` says after item 1, and `1.` anywhere.
fn number(word: &str, last: usize) -> Option<usize> {
    let number = word.strip_suffix('.')?.parse().ok()?;
    (number == last + 1 || number == 1).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_without_a_guard_is_found() {
        let text = "//! A module.\n//!\n//! 1. This holds. Guard: an assert.\n//! 2. That\n//!    holds, too. 3. And\n\
                    //!    that. Guard: a\n//!    test.\n//! 4. Nothing.\n//!\n//! Guard: of nothing.\nuse x;\n//! 5. Code.";
        assert_eq!(unguarded(text), [2, 4]);
    }

    #[test]
    fn prose_and_code_blocks_have_no_items() {
        assert!(
            unguarded("//! Of 16 pages, 1 in 8. Two.\n//! ```text\n//! 1. bytes\n//! ```\n")
                .is_empty()
        );
    }
}
