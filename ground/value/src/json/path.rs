//! JSON paths: `$.key."a key"[0][last-1][1 to last].*[*]**`.
//!
//! 1. A value that is no array is an array of itself for `[0]`, `[last]` and ranges. 2. What a path finds
//! comes in the document's order, each value once.

use super::tree::JsonValue;
use super::{JsonRef, View, append_quoted};

/// Text that is no path: error 3143.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The character around which the error is.
    pub at: usize,
}

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Counted from the end: 0 is `last`.
    pub from_end: bool,
    /// The number.
    pub n: usize,
}

impl Index {
    /// The place in an array of so many elements; `None` before its begin.
    fn within(self, len: usize) -> Option<usize> {
        if self.from_end { (len.checked_sub(1)?).checked_sub(self.n) } else { Some(self.n) }
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leg {
    /// `.key`
    Key(Vec<u8>),
    /// `.*`
    AnyKey,
    /// `[n]`
    Index(Index),
    /// `[a to b]`
    Range(Index, Index),
    /// `[*]`
    AnyIndex,
    /// `**`
    Ellipsis,
}

/// A path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Its steps from the root.
    pub legs: Vec<Leg>,
}

impl Path {
    /// The path that a text in utf8mb4 is.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &[u8]) -> Result<Path, PathError> {
        let mut parser = Parser { text, at: 0 };
        parser.spaces();
        if !parser.eat(b'$') {
            parser.at = (parser.at + 1).min(text.len());
            return Err(parser.error());
        }
        let mut legs = Vec::new();
        loop {
            parser.spaces();
            match parser.peek() {
                None => break,
                Some(b'.') => legs.push(parser.member()?),
                Some(b'[') => legs.push(parser.cell()?),
                Some(b'*') => {
                    parser.at += 1;
                    if !parser.eat(b'*') {
                        return Err(parser.error_behind());
                    }
                    if parser.peek() == Some(b'*') {
                        return Err(parser.error());
                    }
                    legs.push(Leg::Ellipsis);
                }
                Some(_) => return Err(parser.error()),
            }
        }
        if legs.last() == Some(&Leg::Ellipsis) {
            return Err(parser.error());
        }
        Ok(Path { legs })
    }

    /// Whether the path may find several values: wildcards, ranges.
    #[must_use]
    pub fn is_multiple(&self) -> bool {
        let single = |leg: &Leg| matches!(leg, Leg::Key(_) | Leg::Index(_));
        !self.legs.iter().all(single)
    }

    /// The values that the path finds.
    #[must_use]
    pub fn find<'a>(&self, root: JsonRef<'a>) -> Vec<JsonRef<'a>> {
        let mut found = vec![root];
        for leg in &self.legs {
            let mut next = Vec::new();
            for value in found {
                step(value, leg, &mut next);
            }
            // Several ways may lead `**` to one value.
            if *leg != Leg::Ellipsis && self.legs.contains(&Leg::Ellipsis) {
                let mut seen = std::collections::HashSet::new();
                next.retain(|v| seen.insert(v.bytes().as_ptr() as usize));
            }
            found = next;
        }
        found
    }

    /// The value of a path that finds one at most.
    #[must_use]
    pub fn find_one<'a>(&self, root: JsonRef<'a>) -> Option<JsonRef<'a>> {
        self.find(root).into_iter().next()
    }

    /// Appends the text of the path.
    pub fn append_text(&self, out: &mut Vec<u8>) {
        out.push(b'$');
        let index = |i: &Index| match (i.from_end, i.n) {
            (false, n) => format!("{n}"),
            (true, 0) => "last".to_string(),
            (true, n) => format!("last-{n}"),
        };
        for leg in &self.legs {
            match leg {
                Leg::Key(key) => {
                    out.push(b'.');
                    if is_identifier(key) {
                        out.extend_from_slice(key);
                    } else {
                        append_quoted(key, out);
                    }
                }
                Leg::AnyKey => out.extend_from_slice(b".*"),
                Leg::Index(i) => out.extend_from_slice(format!("[{}]", index(i)).as_bytes()),
                Leg::Range(a, b) => {
                    out.extend_from_slice(format!("[{} to {}]", index(a), index(b)).as_bytes());
                }
                Leg::AnyIndex => out.extend_from_slice(b"[*]"),
                Leg::Ellipsis => out.extend_from_slice(b"**"),
            }
        }
    }
}

fn step<'a>(value: JsonRef<'a>, leg: &Leg, found: &mut Vec<JsonRef<'a>>) {
    match (leg, value.view()) {
        (Leg::Key(key), View::Object(members)) => found.extend(members.get(key)),
        (Leg::AnyKey, View::Object(members)) => found.extend(members.iter().map(|(_, v)| v)),
        (Leg::Index(i), View::Array(items)) => {
            found.extend(i.within(items.len()).and_then(|n| items.get(n)));
        }
        (Leg::Index(i), _) if i.within(1) == Some(0) => found.push(value),
        (Leg::Range(a, b), View::Array(items)) => {
            let from = a.within(items.len()).unwrap_or(0);
            if let Some(to) = b.within(items.len()) {
                found.extend((from..=to).map_while(|n| items.get(n)));
            }
        }
        (Leg::Range(a, b), _) => {
            let from = a.within(1).unwrap_or(0);
            if from == 0 && b.within(1).is_some() {
                found.push(value);
            }
        }
        (Leg::AnyIndex, View::Array(items)) => found.extend(items.iter()),
        (Leg::Ellipsis, view) => {
            found.push(value);
            match view {
                View::Array(items) => items.iter().for_each(|v| step(v, leg, found)),
                View::Object(members) => members.iter().for_each(|(_, v)| step(v, leg, found)),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Calls `f` with every value of a document and the path to it, in the document's order, until it
/// returns false; whether it never did.
pub fn walk<'a>(
    value: JsonRef<'a>,
    path: &mut Path,
    f: &mut dyn FnMut(&Path, JsonRef<'a>) -> bool,
) -> bool {
    if !f(path, value) {
        return false;
    }
    let mut below = |leg: Leg, value: JsonRef<'a>| {
        path.legs.push(leg);
        let more = walk(value, path, f);
        path.legs.pop();
        more
    };
    match value.view() {
        View::Array(items) => items
            .iter()
            .enumerate()
            .all(|(n, item)| below(Leg::Index(Index { from_end: false, n }), item)),
        View::Object(members) => {
            members.iter().all(|(key, member)| below(Leg::Key(key.to_vec()), member))
        }
        _ => true,
    }
}

fn is_identifier(key: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(key) else { return false };
    let start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    let mut chars = text.chars();
    chars.next().is_some_and(start) && chars.all(|c| start(c) || c.is_alphanumeric())
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn error(&self) -> PathError {
        PathError { at: self.at }
    }

    /// The error of a character that another should stand for: behind it.
    fn error_behind(&mut self) -> PathError {
        self.at = (self.at + 1).min(self.text.len());
        self.error()
    }

    fn member(&mut self) -> Result<Leg, PathError> {
        self.at += 1;
        self.spaces();
        if self.eat(b'*') {
            return Ok(Leg::AnyKey);
        }
        let start = self.at;
        if self.eat(b'"') {
            loop {
                match self.peek() {
                    None => return Err(self.error()),
                    Some(b'\\') => self.at += 2,
                    Some(b'"') => break,
                    Some(_) => self.at += 1,
                }
            }
            self.at += 1;
            let quoted = self.text.get(start..self.at).unwrap_or(b"");
            return match super::parse_tree(quoted) {
                Ok(JsonValue::String(key)) => Ok(Leg::Key(key)),
                _ => Err(self.error()),
            };
        }
        let end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'.' | b'[' | b'*');
        let length = self.text[start..].iter().take_while(|b| !end(b)).count();
        let key = &self.text[start..start + length];
        self.at += length;
        if !is_identifier(key) {
            return Err(self.error());
        }
        Ok(Leg::Key(key.to_vec()))
    }

    fn cell(&mut self) -> Result<Leg, PathError> {
        self.at += 1;
        self.spaces();
        let leg = if self.eat(b'*') {
            Leg::AnyIndex
        } else {
            let first = self.index()?;
            let before = self.at;
            self.spaces();
            let range = match &self.text[self.at..] {
                [b't', b'o', space, ..] => self.at > before && space.is_ascii_whitespace(),
                _ => false,
            };
            if range {
                self.at += 2;
                self.spaces();
                let last = self.index()?;
                let backwards = match (first.from_end, last.from_end) {
                    (false, false) => first.n > last.n,
                    (true, true) => first.n < last.n,
                    _ => false,
                };
                if backwards {
                    return Err(self.error());
                }
                Leg::Range(first, last)
            } else {
                Leg::Index(first)
            }
        };
        self.spaces();
        if self.eat(b']') { Ok(leg) } else { Err(self.error_behind()) }
    }

    fn index(&mut self) -> Result<Index, PathError> {
        let mut from_end = false;
        if self.text[self.at..].starts_with(b"last") {
            self.at += 4;
            from_end = true;
            let before = self.at;
            self.spaces();
            if !self.eat(b'-') {
                self.at = before;
                return Ok(Index { from_end, n: 0 });
            }
            self.spaces();
        }
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("");
        match digits.parse::<u32>() {
            Ok(n) => Ok(Index { from_end, n: n as usize }),
            Err(_) => Err(PathError { at: start }),
        }
    }
}
