//! Compiled point reads of the text protocol, found by the text with its literals lifted out.
//!
//! 1. The key is the text itself, byte for byte, with `?` for each literal: two texts share an entry only if
//!    they differ in literals alone. Anything the scanner does not fully understand (comments, escapes,
//!    decimals, `?`, `;`) is not cached.
//! 2. An entry is compiled from the key, as a prepared statement would be, and kept only if it is a read by
//!    primary key; a text that is not is remembered as such, so that it is not tried every time.
//! 3. A hit allocates nothing.

use crate::registry::TEXT_BYTES_MAX;
use crate::session::Core;
use crate::sink::Net;
use crate::statement;
use executor::Prepared;
use instrument::{Counter, count};
use value::Datum;

/// Literals that fit the array on the stack.
const LITERALS_MAX: usize = 8;
/// Entries; a power of two.
const ENTRIES: usize = 64;
/// A text that was no point read is tried again after so many sights (its table may exist by then).
const RETRY_AFTER: u32 = 1000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Literal {
    Int(u64),
    /// A string without escapes: from..to in the text.
    Text(u32, u32),
}

struct Entry {
    hash: u64,
    key: Box<[u8]>,
    sql_mode: u64,
    /// None: no point read.
    prepared: Option<Box<Prepared>>,
    misses: u32,
}

/// Compiled statements of one session.
pub(crate) struct PlanCache {
    entries: Vec<Option<Entry>>,
    /// The last text's key.
    key: Vec<u8>,
    literals: [Literal; LITERALS_MAX],
    count: usize,
    hash: u64,
}

impl Default for PlanCache {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            key: Vec::with_capacity(TEXT_BYTES_MAX),
            literals: [Literal::Int(0); LITERALS_MAX],
            count: 0,
            hash: 0,
        }
    }
}

impl PlanCache {
    /// Lifts the literals out of a text into `self`; false when it is not one to cache.
    #[inline]
    fn scan(&mut self, sql: &[u8]) -> bool {
        let starts = matches!(sql, [b's' | b'S', b'e' | b'E', b'l' | b'L', ..]);
        if !starts || sql.len() > TEXT_BYTES_MAX {
            return false;
        }
        self.key.clear();
        self.count = 0;
        let mut at = 0;
        while let Some(&byte) = sql.get(at) {
            match CLASS[usize::from(byte)] {
                Class::Word => {
                    let end = run(sql, at, |c| matches!(c, Class::Word | Class::Digit));
                    self.key.extend_from_slice(&sql[at..end]);
                    at = end;
                }
                Class::Plain => {
                    self.key.push(byte);
                    at += 1;
                }
                Class::Digit => match number(sql, at) {
                    Some((value, end)) if self.push(Literal::Int(value)) => at = end,
                    _ => return false,
                },
                Class::Quote => match text(sql, at) {
                    Some(end) if self.push(Literal::Text(at as u32 + 1, end as u32 - 1)) => at = end,
                    _ => return false,
                },
                Class::Backtick => {
                    let Some(len) = sql[at + 1..].iter().position(|&b| b == b'`') else {
                        return false;
                    };
                    let end = at + len + 2;
                    self.key.extend_from_slice(&sql[at..end]);
                    at = end;
                }
                Class::Refuse => return false,
            }
        }
        self.hash = hash(&self.key);
        true
    }

    #[inline]
    fn push(&mut self, literal: Literal) -> bool {
        let Some(place) = self.literals.get_mut(self.count) else { return false };
        *place = literal;
        self.count += 1;
        self.key.push(b'?');
        true
    }

    fn slot(&self) -> usize {
        // The high bits are the mixed ones.
        (self.hash >> 58) as usize % ENTRIES
    }
}

#[derive(Clone, Copy)]
enum Class {
    /// Letters, `_`, `$`, `@`, bytes of UTF-8: part of a word.
    Word,
    /// Spaces, operators, parentheses: copied.
    Plain,
    Digit,
    /// A string.
    Quote,
    Backtick,
    /// Comments, escapes, decimals, markers, ends of statements: not cached.
    Refuse,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Refuse; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = match b as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'@' | 0x80..=0xFF => Class::Word,
            b'0'..=b'9' => Class::Digit,
            b'\'' => Class::Quote,
            b'`' => Class::Backtick,
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b'(' | b')' | b'=' | b'<' | b'>' | b'!' | b'+'
            | b'*' | b'%' | b'&' | b'|' | b'^' | b'~' | b'.' => Class::Plain,
            // `-` and `/` may begin a comment, `#` does; `"` depends on the mode.
            _ => Class::Refuse,
        };
        b += 1;
    }
    table
};

#[inline]
fn run(sql: &[u8], from: usize, keep: impl Fn(Class) -> bool) -> usize {
    let len = sql[from..].iter().position(|&b| !keep(CLASS[usize::from(b)]));
    len.map_or(sql.len(), |n| from + n)
}

/// A plain integer and its end: not part of a word, a decimal, or a qualified name.
#[inline]
fn number(sql: &[u8], at: usize) -> Option<(u64, usize)> {
    if at > 0 && sql[at - 1] == b'.' {
        return None;
    }
    let mut value = 0_u64;
    let mut end = at;
    while let Some(digit @ b'0'..=b'9') = sql.get(end) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        end += 1;
    }
    let ends = sql.get(end).is_none_or(|&b| b != b'.' && !matches!(CLASS[usize::from(b)], Class::Word));
    ends.then_some((value, end))
}

/// The end of a string without escapes, doubled quotes or an introducer.
#[inline]
fn text(sql: &[u8], at: usize) -> Option<usize> {
    if at > 0 && matches!(CLASS[usize::from(sql[at - 1])], Class::Word | Class::Digit | Class::Quote) {
        return None;
    }
    let mut end = at + 1;
    loop {
        match sql.get(end)? {
            b'\'' => break,
            b'\\' => return None,
            _ => end += 1,
        }
    }
    // 'a' 'b' is one string in MySQL; a quote right behind is an escaped one.
    let next = sql[end + 1..].iter().find(|b| !b.is_ascii_whitespace());
    (next != Some(&b'\'') && next != Some(&b'"')).then_some(end + 1)
}

#[inline]
fn hash(key: &[u8]) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut chunks = key.chunks_exact(8);
    let mut h = key.len() as u64;
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks of eight"));
        h = (h.rotate_left(5) ^ word).wrapping_mul(MIX);
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    (h.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(MIX)
}

impl Core {
    /// Runs a text by its cached plan, or makes one; false when the text must go the long way.
    #[inline]
    pub fn run_cached(&mut self, sql: &[u8], net: &mut dyn Net) -> bool {
        if !self.plans.scan(sql) {
            return false;
        }
        let at = self.plans.slot();
        let database = self.env.database.as_deref();
        let found = match self.plans.entries.get(at) {
            Some(Some(e)) => {
                e.hash == self.plans.hash
                    && e.sql_mode == self.env.sql_mode
                    && *e.key == *self.plans.key
                    && e.prepared.as_ref().is_none_or(|p| p.database_is(database))
            }
            _ => false,
        };
        if !found {
            self.make_plan(at);
        }
        let Some(Some(entry)) = self.plans.entries.get_mut(at) else { return false };
        // Taken out for the time of its run, so that the session can be borrowed beside it.
        let Some(mut prepared) = entry.prepared.take() else {
            entry.misses += 1;
            if entry.misses > RETRY_AFTER {
                self.plans.entries[at] = None;
            }
            return false;
        };
        self.env.diagnostics.clear();
        count(if found { Counter::LimpidPlanCacheHits } else { Counter::LimpidPlanCacheMisses }, 1);
        count(Counter::Queries, 1);
        count(Counter::ComSelect, 1);
        let mut params = [Datum::Null; LITERALS_MAX];
        let n = self.plans.count;
        for (param, literal) in params.iter_mut().zip(&self.plans.literals[..n]) {
            *param = match *literal {
                Literal::Int(v) => match i64::try_from(v) {
                    Ok(v) => Datum::Int(v),
                    Err(_) => Datum::UInt(v),
                },
                Literal::Text(from, to) => Datum::Bytes(&sql[from as usize..to as usize]),
            };
        }
        self.run_compiled(&mut prepared, &params[..n], false, net);
        if let Some(Some(entry)) = self.plans.entries.get_mut(at) {
            entry.prepared = Some(prepared);
        }
        true
    }

    /// Compiles the scanned text's key and keeps what came of it.
    #[cold]
    fn make_plan(&mut self, at: usize) {
        let key: Box<[u8]> = self.plans.key.as_slice().into();
        let mark = self.tables.mark();
        let parsed = statement::parse_next(&key, 0, self.env.parser_mode()).ok();
        let one = parsed.filter(|p| !p.more && p.params == self.plans.count);
        let query = one.filter(|p| matches!(p.statement, parser::ast::Statement::Query(_)));
        let compiled = query.and_then(|p| self.compile(p.statement).ok());
        let prepared = compiled.filter(Prepared::is_point).map(Box::new);
        if prepared.is_none() {
            self.tables.release_since(self.client.slot(), mark);
        }
        if self.plans.entries.is_empty() {
            self.plans.entries.resize_with(ENTRIES, || None);
        }
        let (hash, sql_mode) = (self.plans.hash, self.env.sql_mode);
        self.plans.entries[at] = Some(Entry { hash, key, sql_mode, prepared, misses: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifted(sql: &str) -> Option<(String, Vec<Literal>)> {
        let mut cache = PlanCache::default();
        let key = |c: &PlanCache| String::from_utf8_lossy(&c.key).into_owned();
        cache.scan(sql.as_bytes()).then(|| (key(&cache), cache.literals[..cache.count].to_vec()))
    }

    #[test]
    fn literals_are_lifted() {
        let (key, literals) = lifted("SELECT c FROM sbtest1 WHERE id=42").unwrap();
        assert_eq!(key, "SELECT c FROM sbtest1 WHERE id=?");
        assert_eq!(literals, [Literal::Int(42)]);
        let (key, literals) = lifted("select `a 1` from t where k = 'x y' and n=7").unwrap();
        assert_eq!(key, "select `a 1` from t where k = ? and n=?");
        assert_eq!(literals, [Literal::Text(31, 34), Literal::Int(7)]);
    }

    #[test]
    fn what_is_not_understood_is_not_cached() {
        for sql in [
            "UPDATE t SET a=1",
            "SELECT 1.5",
            "SELECT .5",
            "SELECT 1e5",
            "SELECT 0x1F",
            "SELECT 'a\\'b'",
            "SELECT 'a''b'",
            "SELECT 'a' 'b'",
            "SELECT _utf8mb4'a'",
            "SELECT /* c */ 1",
            "SELECT 1 -- c",
            "SELECT 1 # c",
            "SELECT 1;",
            "SELECT ?",
            "SELECT \"a\"",
            "SELECT 99999999999999999999",
            "SELECT 'open",
            "SELECT `open",
            "SELECT 1,2,3,4,5,6,7,8,9",
        ] {
            assert_eq!(lifted(sql), None, "{sql}");
        }
    }

    #[test]
    fn keys_differ_unless_only_literals_do() {
        let key = |sql| lifted(sql).unwrap().0;
        assert_eq!(key("SELECT c FROM t WHERE id=1"), key("SELECT c FROM t WHERE id=99"));
        assert_ne!(key("SELECT c FROM t WHERE id=1"), key("SELECT c FROM t1 WHERE id=1"));
        assert_ne!(key("SELECT c FROM t WHERE id=1"), key("SELECT c FROM t WHERE  id=1"));
    }
}
