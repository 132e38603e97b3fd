//! Statement digests: the normalised text of a statement, and a hash of it.
//!
//! 1. Literals become `?`; lists of values `?, ...`; rows of values `(?)` or `(...)`; repeated rows
//!    end in `/* , ... */`. Identifiers are back-quoted, keywords upper case, one space between
//!    tokens. Rules and examples as observed on MySQL (`testscripts/digest.txt`); the text is
//!    MySQL's, the hash is that of the text: MySQL's is taken over its token numbers.
//! 2. Tokens are reduced as they come, so the builder holds no more than what will be printed. 3. The
//!    limits count as MySQL's token buffer does: 2 bytes a token, 4 and its own for a name.
//! 4. The hash is that of all that is made, however little of it is told.

use crate::cursor::unquote;
use crate::keywords::{Class, Kw};
use crate::mode::SqlMode;
use crate::token::{Token, TokenKind};

/// A statement's digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Normalised text, as much of it as is told.
    pub text: String,
    /// SHA-256 of the whole text.
    pub hash: [u8; 32],
}

/// How long digests are, in bytes of MySQL's token buffer; what comes later is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestLimits {
    /// As much is made, and hashed (`max_digest_length`); 0: none is made.
    pub made: usize,
    /// As much of that is told (`performance_schema_max_digest_length`).
    pub told: usize,
}

impl DigestLimits {
    /// No digest is made.
    pub const NONE: DigestLimits = DigestLimits::whole(0);

    /// All that is made is told.
    #[must_use]
    pub const fn whole(made: usize) -> DigestLimits {
        DigestLimits { made, told: made }
    }
}

impl Digest {
    /// That of a normalised text.
    pub fn of_text(text: String) -> Digest {
        use sha2::Digest as _;
        let hash = sha2::Sha256::digest(text.as_bytes()).into();
        Digest { text, hash }
    }
}

impl Default for Digest {
    /// That of a text without any token.
    fn default() -> Digest {
        Digest::of_text(String::new())
    }
}

/// Bytes of a token in MySQL's buffer.
const TOKEN_BYTES: usize = 2;

/// What a digest is made of, after reduction.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// Anything printed as it is.
    Text(String),
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(...)`
    LongRow,
    /// `(?) /* , ... */`
    Rows,
    /// `(...) /* , ... */`
    LongRows,
}

/// Collects tokens into a digest.
#[derive(Debug)]
pub struct DigestBuilder {
    items: Vec<Item>,
    /// NOT is the token that `!` is.
    high_not: bool,
    /// As MySQL counts them.
    bytes: usize,
    limits: DigestLimits,
    /// So many of the items are told.
    told: usize,
    /// A token found no room; none is taken any more.
    full: bool,
}

impl DigestBuilder {
    /// A digest without tokens.
    pub fn new(mode: SqlMode, limits: DigestLimits) -> DigestBuilder {
        let high_not = mode.has(SqlMode::HIGH_NOT_PRECEDENCE);
        let items = Vec::with_capacity(32);
        DigestBuilder { items, high_not, bytes: 0, limits, told: 0, full: false }
    }

    /// Adds a token of the text `sql`; `marked` when the grammar took NULL for a literal or a number for a position.
    pub fn add(&mut self, sql: &[u8], token: Token, marked: bool) {
        if self.full {
            return;
        }
        match token.kind {
            TokenKind::Integer if marked && !self.continues_list() => {
                let text = String::from_utf8_lossy(token.text(sql)).into_owned();
                let digits = text.trim_start_matches('0');
                self.text(if digits.is_empty() { "0" } else { digits });
            }
            TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::HexString
            | TokenKind::HexNumber
            | TokenKind::BitString
            | TokenKind::BitNumber => {
                self.drop_sign();
                self.value();
            }
            TokenKind::String | TokenKind::NString | TokenKind::Param => self.value(),
            TokenKind::Word if token.kw == Kw::NULL && marked => self.value(),
            TokenKind::Introducer => self.text("(_charset)"),
            TokenKind::UserVar => {
                self.text("@");
                match token.text(sql) {
                    [_, name @ ..] if name.starts_with(b"`") => self.identifier(&unquote(name)),
                    _ => self.value(),
                }
            }
            TokenKind::Hint => self.hint(token.text(sql)),
            TokenKind::SystemAt => {
                // Two tokens; nothing stands between them and the name.
                self.text("@@");
            }
            TokenKind::Close => self.close(),
            TokenKind::Word if token.kw == Kw::NOT && self.high_not => self.text("!"),
            TokenKind::Word if token.kw != Kw::None && is_keyword(token.kw) => {
                let word = String::from_utf8_lossy(token.text(sql)).to_ascii_uppercase();
                self.text(canonical(&word));
            }
            // A scope's dot makes a name of it for the lexer.
            TokenKind::Word if self.is_text(1, "@@") && is_scope(token.text(sql)) => {
                let word = String::from_utf8_lossy(token.text(sql)).to_ascii_uppercase();
                self.text(&word);
            }
            TokenKind::Ne => self.text("!="),
            TokenKind::Word => self.identifier(token.text(sql)),
            TokenKind::Quoted => self.identifier(&unquote(token.text(sql))),
            _ => self.text(&String::from_utf8_lossy(token.text(sql))),
        }
    }

    fn push(&mut self, item: Item, bytes: usize) {
        self.full |= self.bytes + bytes > self.limits.made;
        if !self.full {
            self.bytes += bytes;
            self.items.push(item);
            if self.bytes <= self.limits.told {
                self.told = self.items.len();
            }
        }
    }

    /// Takes the last tokens back, none of them a name.
    fn pop(&mut self, count: usize) {
        self.items.truncate(self.items.len() - count);
        self.told = self.told.min(self.items.len());
        self.bytes -= count * TOKEN_BYTES;
    }

    fn text(&mut self, text: &str) {
        self.push(Item::Text(text.to_string()), TOKEN_BYTES);
    }

    fn identifier(&mut self, name: &[u8]) {
        if name.is_empty() {
            return;
        }
        let bytes = 2 * TOKEN_BYTES + name.len();
        let name = String::from_utf8_lossy(name);
        // As MySQL: quotes inside of it are not doubled.
        self.push(Item::Text(format!("`{name}`")), bytes);
    }

    fn is_text(&self, back: usize, wanted: &str) -> bool {
        let item = self.items.len().checked_sub(back).and_then(|at| self.items.get(at));
        matches!(item, Some(Item::Text(text)) if text == wanted)
    }

    fn ends_with(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_text(1, word))
    }

    /// Signs before a number belong to it where no operand stands before them.
    fn drop_sign(&mut self) {
        while self.drop_one_sign() {}
    }

    fn drop_one_sign(&mut self) -> bool {
        if !self.ends_with(&["+", "-"]) {
            return false;
        }
        let operand_before = match self.items.len().checked_sub(2).and_then(|at| self.items.get(at))
        {
            None => false,
            Some(Item::Text(text)) => is_operand(text),
            Some(_) => true,
        };
        if !operand_before {
            self.pop(1);
        }
        !operand_before
    }

    /// A value; `value , value` becomes a list.
    fn value(&mut self) {
        let item = if self.continues_list() {
            self.pop(2);
            Item::Values
        } else {
            Item::Value
        };
        self.push(item, TOKEN_BYTES);
    }

    fn continues_list(&self) -> bool {
        self.is_text(1, ",") && matches!(self.back(2), Some(Item::Value | Item::Values))
    }

    /// An optimizer hint's words: its keywords, names, values and signs, as MySQL's hint scanner cuts them.
    fn hint(&mut self, hint: &[u8]) {
        let inner = hint.get(3..hint.len().saturating_sub(2)).unwrap_or_default();
        if inner.trim_ascii().is_empty() {
            return;
        }
        self.text("/*+");
        let mut lexer = crate::lex::Lexer::new(inner, 0, SqlMode::DEFAULT);
        loop {
            let token = lexer.next_token();
            let text = token.text(inner);
            match token.kind {
                TokenKind::End | TokenKind::Bad => break,
                TokenKind::Word if is_size(text) => self.value(),
                // A sign is a word of its own here.
                TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => self.value(),
                TokenKind::Word => {
                    let word = String::from_utf8_lossy(text).to_ascii_uppercase();
                    match HINTS.contains(&word.as_str()) {
                        true => self.text(&word),
                        false => self.identifier(text),
                    }
                }
                TokenKind::UserVar => {
                    self.glued("@");
                    let name = &text[1..];
                    match name.first() {
                        Some(b'`') => self.identifier(&unquote(name)),
                        _ => self.identifier(name),
                    }
                }
                _ => self.add(inner, token, false),
            }
        }
        self.text("*/");
    }

    /// Text without a space before it, when a name stands there.
    fn glued(&mut self, text: &str) {
        let after_name = matches!(self.back(1), Some(Item::Text(t)) if t.starts_with('`'));
        let fits = self.bytes + TOKEN_BYTES <= self.limits.made;
        if after_name
            && fits
            && let Some(Item::Text(last)) = self.items.last_mut()
        {
            last.push_str(text);
            self.bytes += TOKEN_BYTES;
            if self.bytes > self.limits.told {
                self.told = self.told.min(self.items.len() - 1);
            }
            return;
        }
        self.text(text);
    }

    fn back(&self, n: usize) -> Option<&Item> {
        self.items.len().checked_sub(n).and_then(|at| self.items.get(at))
    }

    /// `)`: a parenthesis around nothing but values is a row, and rows join into lists.
    fn close(&mut self) {
        let row = match self.back(1) {
            Some(Item::Value) if self.is_text(2, "(") => {
                if self.is_text(3, "IN") {
                    Item::LongRow
                } else {
                    Item::Row
                }
            }
            Some(Item::Values) if self.is_text(2, "(") => Item::LongRow,
            _ => return self.text(")"),
        };
        self.pop(2);
        let joined = match (self.is_text(1, ","), self.back(2), &row) {
            (true, Some(Item::Row | Item::Rows), Item::Row) => Some(Item::Rows),
            (true, Some(Item::LongRow | Item::LongRows), Item::LongRow) => Some(Item::LongRows),
            _ => None,
        };
        if joined.is_some() {
            self.pop(2);
        }
        self.push(joined.unwrap_or(row), TOKEN_BYTES);
    }

    /// The digest of the tokens added.
    pub fn finish(self) -> Digest {
        let mut text = String::with_capacity(2 * self.bytes);
        let mut told_bytes = None;
        for (place, item) in self.items.iter().enumerate() {
            if place == self.told {
                told_bytes = Some(text.len());
            }
            // Nothing stands between `@` and what it belongs to.
            if !text.is_empty() && !text.ends_with('@') {
                text.push(' ');
            }
            text.push_str(match item {
                Item::Text(text) => text,
                Item::Value => "?",
                Item::Values => "?, ...",
                Item::Row => "(?)",
                Item::LongRow => "(...)",
                Item::Rows => "(?) /* , ... */",
                Item::LongRows => "(...) /* , ... */",
            });
        }
        let mut digest = Digest::of_text(text);
        if let Some(told_bytes) = told_bytes {
            digest.text.truncate(told_bytes);
            digest.text.shrink_to_fit();
        }
        digest
    }
}

/// Words that share a token print as the one that MySQL prints.
fn canonical(word: &str) -> &str {
    const SAME: &[(&str, &str)] = &[
        ("ANY", "SOME"),
        ("BIGINT", "INT8"),
        ("CHAR", "CHARACTER"),
        ("COLUMNS", "FIELDS"),
        ("CURRENT_DATE", "CURDATE"),
        ("CURRENT_TIME", "CURTIME"),
        ("CURRENT_TIMESTAMP", "NOW"),
        ("DATABASE", "SCHEMA"),
        ("DATABASES", "SCHEMAS"),
        ("DAY", "SQL_TSI_DAY"),
        ("DEC", "DECIMAL"),
        ("DESCRIBE", "EXPLAIN"),
        ("DISTINCT", "DISTINCTROW"),
        ("DOUBLE", "FLOAT8"),
        ("FLOAT", "FLOAT4"),
        ("GEOMCOLLECTION", "GEOMETRYCOLLECTION"),
        ("HOUR", "SQL_TSI_HOUR"),
        ("INT", "INTEGER"),
        ("INT1", "TINYINT"),
        ("INT2", "SMALLINT"),
        ("INT3", "MIDDLEINT"),
        ("INT4", "INTEGER"),
        ("IO_THREAD", "RELAY_THREAD"),
        ("LOCALTIME", "NOW"),
        ("LOCALTIMESTAMP", "NOW"),
        ("MEDIUMINT", "MIDDLEINT"),
        ("MID", "SUBSTRING"),
        ("MINUTE", "SQL_TSI_MINUTE"),
        ("MONTH", "SQL_TSI_MONTH"),
        ("NDB", "NDBCLUSTER"),
        ("QUARTER", "SQL_TSI_QUARTER"),
        ("REGEXP", "RLIKE"),
        ("SECOND", "SQL_TSI_SECOND"),
        ("SESSION_USER", "SYSTEM_USER"),
        ("SQL_TSI_WEEK", "WEEK"),
        ("SQL_TSI_YEAR", "YEAR"),
        ("STD", "STDDEV_POP"),
        ("STDDEV", "STDDEV_POP"),
        ("SUBSTR", "SUBSTRING"),
        ("USER", "SYSTEM_USER"),
        ("VARCHAR", "VARCHARACTER"),
        ("VARIANCE", "VAR_POP"),
    ];
    SAME.iter().find(|(from, _)| *from == word).map_or(word, |(_, to)| to)
}

/// Words that the grammar takes for keywords wherever they stand; others are identifiers until a
/// grammar rule says otherwise, which a digest does not know.
fn is_keyword(kw: Kw) -> bool {
    kw.class()
        .is_some_and(|class| matches!(class, Class::Reserved | Class::Plain | Class::Function))
}

/// A sign behind it is an operator: a name, a closing parenthesis.
fn is_operand(text: &str) -> bool {
    text == ")"
        || text.starts_with('`')
        || matches!(text, "TRUE" | "FALSE" | "END" | "CURDATE" | "CURTIME" | "NOW" | "CURRENT_USER")
        || text.starts_with("UTC_")
}

/// `16M` of a hint.
fn is_size(word: &[u8]) -> bool {
    word.split_last().is_some_and(|(unit, digits)| {
        b"KMGkmg".contains(unit)
            && !digits.is_empty()
            && digits.iter().all(|byte| byte.is_ascii_digit())
    })
}

/// Scopes of `@@scope.name`.
fn is_scope(word: &[u8]) -> bool {
    let scopes = ["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"];
    scopes.iter().any(|scope| word.eq_ignore_ascii_case(scope.as_bytes()))
}

/// Words of optimizer hints.
const HINTS: &[&str] = &[
    "BKA",
    "BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "DUPSWEEDOUT",
    "FIRSTMATCH",
    "GROUP_INDEX",
    "HASH_JOIN",
    "INDEX",
    "INDEX_MERGE",
    "INTOEXISTS",
    "JOIN_FIXED_ORDER",
    "JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "LOOSESCAN",
    "MATERIALIZATION",
    "MAX_EXECUTION_TIME",
    "MERGE",
    "MRR",
    "NO_BKA",
    "NO_BNL",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "NO_GROUP_INDEX",
    "NO_HASH_JOIN",
    "NO_ICP",
    "NO_INDEX",
    "NO_INDEX_MERGE",
    "NO_JOIN_INDEX",
    "NO_MERGE",
    "NO_MRR",
    "NO_ORDER_INDEX",
    "NO_RANGE_OPTIMIZATION",
    "NO_SEMIJOIN",
    "NO_SKIP_SCAN",
    "ORDER_INDEX",
    "QB_NAME",
    "RESOURCE_GROUP",
    "SEMIJOIN",
    "SET_VAR",
    "SKIP_SCAN",
    "SUBQUERY",
];

/// The digest of the first statement of a text.
pub fn of(sql: &[u8], mode: SqlMode, limits: DigestLimits) -> Digest {
    if let Ok(parsed) = crate::parse_digested(sql, 0, mode, true, limits) {
        return parsed.digest.unwrap_or_default();
    }
    let mut lexer = crate::lex::Lexer::new(sql, 0, mode);
    let mut builder = DigestBuilder::new(mode, limits);
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, TokenKind::End | TokenKind::Bad) {
            return builder.finish();
        }
        builder.add(sql, token, token.kw == Kw::NULL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of lines: a statement, and the text MySQL 9.7 gives it.
    #[test]
    fn digest_texts_are_mysqls() {
        let recorded = include_str!("../testscripts/digest.txt");
        let mut differences = Vec::new();
        for pair in recorded.split("\n\n").filter(|p| !p.trim().is_empty()) {
            let (sql, expected) = pair.trim().split_once('\n').expect("two lines");
            let got = of(sql.as_bytes(), SqlMode::DEFAULT, DigestLimits::whole(1024)).text;
            if got != expected {
                differences.push(format!("{sql}\n  MySQL {expected}\n  here  {got}"));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    #[test]
    fn equal_texts_have_equal_hashes_and_a_long_one_is_cut() {
        let digest =
            |sql: &str, max| of(sql.as_bytes(), SqlMode::DEFAULT, DigestLimits::whole(max));
        assert_eq!(digest("select  1", 99).hash, digest("SELECT 2 /* x */", 99).hash);
        assert_ne!(digest("select a", 99).hash, digest("select b", 99).hash);
        // 2 for SELECT, 4 and 3 for the name, 2 for the comma.
        assert_eq!(digest("SELECT aaa, bbb", 11).text, "SELECT `aaa` ,");
        assert_eq!(digest("SELECT aaa, bbb", 8).text, "SELECT");
    }

    #[test]
    fn a_hash_is_that_of_what_is_not_told_too() {
        let digest =
            |sql: &str, told| of(sql.as_bytes(), SqlMode::DEFAULT, DigestLimits { made: 99, told });
        let whole = digest("SELECT aaa, bbb", 99);
        for (told, text) in
            [(18, "SELECT `aaa` , `bbb`"), (17, "SELECT `aaa` ,"), (8, "SELECT"), (1, "")]
        {
            let cut = digest("SELECT aaa, bbb", told);
            assert_eq!((cut.text.as_str(), cut.hash), (text, whole.hash), "{told}");
        }
        assert_ne!(digest("SELECT aaa, ccc", 8).hash, whole.hash);
        // A row of values takes the place of what it was made of.
        assert_eq!(digest("SELECT aaa, (1, 2, 3), bbb", 13).text, "SELECT `aaa` , (...)");
    }
}
