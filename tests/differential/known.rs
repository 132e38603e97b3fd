//! The list of statements that are answered otherwise than by MySQL, one by one.
//!
//! 1. An entry is of one statement of one seed, by its digest, and of one kind of difference: `SEED STATEMENT KIND`; it
//!    stands under the reason that it shares with others (`= REASON`). LIMPID_SHOW_KNOWN prints
//!    the statements. 2. An entry that nothing needs any more fails the run of its seed.
//! 3. `cargo xtask record --peer DSN differential` writes the list anew; what has no reason yet stands under `?`,
//!    which fails.

use super::compare::Difference;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What opens the reason of the entries that follow.
const REASON: &str = "= ";
/// Stands for the reason that nobody has given yet.
pub const NONE_YET: &str = "?";

/// A statement of a seed and how its answer differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    seed: u64,
    statement: u64,
    kind: String,
}

impl Key {
    /// Of a statement and its difference.
    pub fn new(seed: u64, sql: &str, what: &Difference) -> Key {
        Key { seed, statement: digest(sql), kind: what.kind.clone() }
    }

    fn parse(line: &str) -> Option<Key> {
        let mut words = line.splitn(3, ' ');
        let seed = words.next()?.parse().ok()?;
        let statement = u64::from_str_radix(words.next()?, 16).ok()?;
        Some(Key { seed, statement, kind: words.next()?.to_string() })
    }
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The list, and which of its entries were needed.
#[derive(Debug, Default)]
pub struct Known {
    entries: BTreeMap<Key, (String, bool)>,
}

impl Known {
    /// Reads the list.
    pub fn parse(text: &str) -> Known {
        let mut known = Known::default();
        let mut reason = String::new();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
            match line.strip_prefix(REASON) {
                Some(new) => reason = new.to_string(),
                None => {
                    let key = Key::parse(line).unwrap_or_else(|| panic!("an entry: {line}"));
                    assert!(!reason.is_empty(), "a reason before: {line}");
                    known.entries.insert(key, (reason.clone(), false));
                }
            }
        }
        known
    }

    /// The reason of a difference that is listed; from here on it counts as needed.
    pub fn reason(&mut self, key: &Key) -> Option<String> {
        let (reason, is_needed) = self.entries.get_mut(key)?;
        *is_needed = true;
        Some(reason.clone())
    }

    /// Entries of the seeds that nothing needed.
    pub fn not_needed(&self, seeds: &std::ops::Range<u64>) -> Vec<String> {
        let of_run =
            |(key, (_, needed)): &(&Key, &(String, bool))| seeds.contains(&key.seed) && !needed;
        let left = self.entries.iter().filter(of_run);
        left.map(|(key, (reason, _))| format!("{} ({reason})", line(key))).collect()
    }

    /// The list with what a run of `seeds` found in place of what it had of these seeds. A statement keeps the reason
    /// that it had, whatever its difference has become.
    pub fn with(&self, found: &[Key], seeds: &std::ops::Range<u64>) -> Known {
        let of = |key: &Key| (key.seed, key.statement);
        let reasons: BTreeMap<_, _> = self.entries.iter().map(|(k, (r, _))| (of(k), r)).collect();
        let others = self.entries.iter().filter(|(key, _)| !seeds.contains(&key.seed));
        let mut entries: BTreeMap<_, _> = others.map(|(k, v)| (k.clone(), v.clone())).collect();
        for key in found {
            let reason = reasons.get(&of(key)).map_or(NONE_YET, |reason| reason.as_str());
            entries.insert(key.clone(), (reason.to_string(), true));
        }
        Known { entries }
    }

    /// As it is kept: by reason, then by seed.
    pub fn print(&self, head: &str) -> String {
        let mut by_reason: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
        for (key, (reason, _)) in &self.entries {
            by_reason.entry(reason).or_default().push(key);
        }
        let mut text = head.to_string();
        for (reason, keys) in by_reason {
            let _ = writeln!(text, "\n{REASON}{reason}");
            keys.into_iter().for_each(|key| {
                let _ = writeln!(text, "{}", line(key));
            });
        }
        text
    }
}

fn line(key: &Key) -> String {
    format!("{} {:016x} {}", key.seed, key.statement, key.kind)
}

#[test]
fn an_entry_is_of_one_statement_and_one_difference() {
    let what = |kind| Difference::new(kind, String::new());
    let key = Key::new(7, "SELECT 1", &what("rows"));
    let mut known = Known::default().with(std::slice::from_ref(&key), &(1..10));
    assert_eq!(known.reason(&key).as_deref(), Some(NONE_YET));
    for (seed, sql, kind) in
        [(8, "SELECT 1", "rows"), (7, "SELECT 2", "rows"), (7, "SELECT 1", "names")]
    {
        assert_eq!(known.reason(&Key::new(seed, sql, &what(kind))), None);
    }
}

#[test]
fn what_nothing_needs_is_found_and_reasons_stay_with_their_statements() {
    let text = "= because\n7 00000000000000aa rows\n9 0000000000000001 rows\n";
    let known = Known::parse(text);
    assert_eq!(known.not_needed(&(1..8)).len(), 1);
    assert_eq!(known.not_needed(&(8..9)).len(), 0);
    let now = Key::parse("7 aa warnings -Warning1292").unwrap();
    let printed = known.with(&[now], &(1..8)).print("");
    assert!(
        printed.starts_with("\n= because\n7 00000000000000aa warnings -Warning1292\n9 "),
        "{printed}"
    );
}
