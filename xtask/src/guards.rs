//! What guards the invariants of storage: each numbered item of a module's head names it.
//!
//! An item is a paragraph of the head (`//!`) that begins with its number, or the part of a paragraph from
//! `. 2. ` on. It ends with `Guard: ` and a few words: the assertion, checker, model or test that breaks when
//! the invariant does. What is only told, and broken by nothing, has no number. A long name in backticks is a
//! function's, which is there.

/// Crates of storage whose modules are not through yet: the list only gets shorter.
pub const UNDONE: &[&str] = &[];

/// Underscores from which on a name in backticks is taken for a test's.
const UNDERSCORES: usize = 3;

/// Numbers of the items in a file's head that name no guard.
pub fn unguarded(text: &str) -> Vec<usize> {
    let without = |(number, item): (usize, String)| (!item.contains(" Guard: ")).then_some(number);
    items(text).into_iter().filter_map(without).collect()
}

/// The tests, by their long names, that the head names as guards.
pub fn named(text: &str) -> Vec<String> {
    let is_name = |name: &&str| {
        name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && name.matches('_').count() >= UNDERSCORES
    };
    let items = items(text);
    let guards = items.iter().filter_map(|(_, item)| item.split_once(" Guard: "));
    let quoted = guards.flat_map(|(_, guard)| guard.split('`').skip(1).step_by(2));
    quoted.filter(is_name).map(str::to_string).collect()
}

/// The items of a file's head: number and words.
fn items(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for line in head(text) {
        is_open &= !line.is_empty();
        let mut ends_sentence = true;
        for word in line.split_whitespace() {
            let last = found.last().map_or(0, |(number, _)| *number);
            if ends_sentence && let Some(number) = number(word, last) {
                found.push((number, String::new()));
                is_open = true;
            } else if is_open && let Some((_, item)) = found.last_mut() {
                item.push(' ');
                item.push_str(word);
            }
            ends_sentence = word.ends_with(['.', ')']);
        }
    }
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
    fn guards_are_named_in_backticks() {
        let text = "//! `not_one_of_them`. 1. It holds. Guard: `a_test_of_it`, `short_one`, [`it`] and\n\
                    //!    `another_test_of_it`. 2. So does `what_is_told_here`. Guard: `x.rs`.";
        assert_eq!(named(text), ["a_test_of_it", "another_test_of_it"]);
    }

    #[test]
    fn prose_and_code_blocks_have_no_items() {
        assert!(
            unguarded("//! Of 16 pages, 1 in 8. Two.\n//! ```text\n//! 1. bytes\n//! ```\n")
                .is_empty()
        );
    }
}
