//! What a password has to be like: the rules of the component `validate_password`, and its dictionary.
//!
//! 1. Upper and lower case, digits and all other characters are told apart as Unicode does; a name is compared as it is written,
//! and as it is written backwards. 2. The words of a dictionary are in force until another file has been read.

use crate::variables::Globals;
use std::collections::{BTreeSet, HashSet};
use sync::Mutex;

instrument::classes! {
    static DICTIONARY: MutexClass = "wait/synch/mutex/sql/LOCK_dict_file";
}

const POLICY: &str = "validate_password.policy";
pub(crate) const LENGTH: &str = "validate_password.length";
pub(crate) const MIXED: &str = "validate_password.mixed_case_count";
pub(crate) const NUMBERS: &str = "validate_password.number_count";
pub(crate) const SPECIAL: &str = "validate_password.special_char_count";

/// Policies by their numbers.
const MEDIUM: u64 = 1;
const STRONG: u64 = 2;

/// What is shorter has no strength, and is no word that a dictionary forbids.
const CHARS_MIN: usize = 4;
/// How much of a password is compared with the words of a dictionary.
const CHARS_MAX: usize = 100;
/// The words that no password of the policy STRONG has in it.
#[derive(Default)]
struct Words {
    words: HashSet<Vec<u8>>,
    parsed_us: i64,
}

/// The dictionary of a server.
pub(crate) struct Dictionary(Mutex<Words>);

impl Dictionary {
    pub fn new() -> Dictionary {
        Dictionary(Mutex::new(&DICTIONARY, Words::default()))
    }

    /// Its file was read just now.
    pub fn set(&self, words: HashSet<Vec<u8>>) {
        *self.0.lock() = Words { words, parsed_us: host::clock::now_us() };
    }

    /// Whether one of its words is in a password.
    fn forbids(&self, password: &str) -> bool {
        let words = &self.0.lock().words;
        let lower = password.to_lowercase();
        let ends: Vec<usize> = lower
            .char_indices()
            .map(|(at, _)| at)
            .chain([lower.len()])
            .take(CHARS_MAX + 1)
            .collect();
        let bytes = lower.as_bytes();
        let has = |from: usize| {
            let longer = ends.get(from + CHARS_MIN..).unwrap_or_default();
            longer.iter().any(|end| words.contains(&bytes[ends[from]..*end]))
        };
        !words.is_empty() && (0..ends.len()).any(has)
    }

    /// What SHOW STATUS has of it: when its file was read, and how many words it has.
    fn status(&self) -> (i64, usize) {
        let inner = self.0.lock();
        (inner.parsed_us, inner.words.len())
    }
}

/// What the variables ask for.
pub(crate) struct Rules {
    policy: u64,
    pub length: usize,
    pub mixed: usize,
    pub numbers: usize,
    pub special: usize,
}

impl Rules {
    pub fn of(globals: &Globals) -> Rules {
        let number = |name| globals.number(name) as usize;
        Rules {
            policy: globals.number(POLICY),
            length: number(LENGTH),
            mixed: number(MIXED),
            numbers: number(NUMBERS),
            special: number(SPECIAL),
        }
    }

    /// Whether there are enough characters of each kind.
    fn are_mixed(&self, password: &str) -> bool {
        let count = |is: fn(char) -> bool| password.chars().filter(|c| is(*c)).count();
        let is_special = |c: char| !c.is_lowercase() && !c.is_uppercase() && !c.is_ascii_digit();
        count(char::is_lowercase) >= self.mixed
            && count(char::is_uppercase) >= self.mixed
            && count(|c| c.is_ascii_digit()) >= self.numbers
            && count(is_special) >= self.special
    }

    pub fn fits(&self, password: &str, dictionary: &Dictionary) -> bool {
        password.chars().count() >= self.length
            && (self.policy < MEDIUM || self.are_mixed(password))
            && (self.policy < STRONG || !dictionary.forbids(password))
    }

    /// From 0 to 100, whatever the policy.
    pub fn strength(&self, password: &str, dictionary: &Dictionary) -> i64 {
        match password.chars().count() {
            n if n < CHARS_MIN => 0,
            n if n < self.length => 25,
            _ if !self.are_mixed(password) => 50,
            _ if dictionary.forbids(password) => 75,
            _ => 100,
        }
    }
}

/// Whether a password is a user's name, or that backwards.
pub(crate) fn is_name(password: &str, user: &str) -> bool {
    !user.is_empty() && (password == user || user.chars().rev().eq(password.chars()))
}

/// How many characters a new password has, in whatever case, that the old one has not.
pub(crate) fn new_characters(old: &str, new: &str) -> usize {
    let characters = |text: &str| text.to_lowercase().chars().collect::<BTreeSet<char>>();
    characters(new).difference(&characters(old)).count()
}

/// What SHOW STATUS has of the component.
pub(crate) fn status(globals: &Globals, dictionary: &Dictionary) -> Vec<(&'static str, String)> {
    if !globals.validates_passwords() {
        return Vec::new();
    }
    let (parsed_us, words) = dictionary.status();
    let parsed = value::TimeZone::system().to_local(parsed_us, 0);
    vec![
        (
            "validate_password.dictionary_file_last_parsed",
            parsed.map_or(String::new(), |parsed| parsed.to_string()),
        ),
        ("validate_password.dictionary_file_words_count", words.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(policy: u64) -> Rules {
        Rules { policy, length: 8, mixed: 1, numbers: 1, special: 1 }
    }

    fn dictionary(words: &[&str]) -> Dictionary {
        let dictionary = Dictionary::new();
        dictionary.0.lock().words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        dictionary
    }

    #[test]
    fn a_password_is_as_strong_as_it_is_mixed() {
        let none = dictionary(&[]);
        let strength = |password| rules(MEDIUM).strength(password, &none);
        let known = [
            ("", 0),
            ("abc", 0),
            ("abcd", 25),
            ("weakpass", 50),
            ("Abcdefg1", 50),
            ("Abcdefg1ä", 50),
            ("Äbcdefg1!", 100),
            ("Abcdef1 ", 100),
        ];
        known.iter().for_each(|(password, n)| assert_eq!(strength(password), *n, "{password}"));
        assert!(rules(0).fits("weakpass", &none) && !rules(MEDIUM).fits("weakpass", &none));
    }

    #[test]
    fn words_of_a_dictionary_are_forbidden_in_any_case() {
        let words = dictionary(&["pass", "xy", "Abcd", ""]);
        assert!(words.forbids("1ZPASS!a") && !words.forbids("1ZPAxS!a"));
        assert!(!words.forbids("Zxy1!fgh"), "too short a word");
        assert!(!words.forbids("Zabcd1!fgh"), "a word in large letters is none");
        assert!(!words.forbids("") && !words.forbids(&("a".repeat(100) + "pass")));
        assert!(words.forbids(&("a".repeat(96) + "pass")));
        assert_eq!(rules(STRONG).strength("1ZPASS!a", &words), 75);
        assert!(rules(MEDIUM).fits("1ZPASS!a", &words) && !rules(STRONG).fits("1ZPASS!a", &words));
    }

    #[test]
    fn names_are_found_backwards_too() {
        assert!(is_name("root", "root") && is_name("toor", "root") && !is_name("ROOT", "root"));
        assert!(!is_name("", ""));
    }

    #[test]
    fn characters_that_are_new_count_once() {
        assert_eq!(new_characters("Abcdefg2!vwxyz", "Bbcmnop3?"), 6);
        assert_eq!(new_characters("aaaaaaaa", "bbbb"), 1);
        assert_eq!(new_characters("ääää", "Äbcd"), 3);
    }
}
