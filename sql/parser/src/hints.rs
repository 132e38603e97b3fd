//! The grammar of optimizer hints.
//!
//! 1. What is not grammatical is a warning, never an error: the hints before it count, those behind it do not.
//! 2. Places in warnings are those of the statement's text.

use crate::ast::{Hint, HintInside, HintTable, Hints};
use crate::cursor::Parser;
use crate::error::{ErrorKind, ParseError};
use crate::mode::SqlMode;
use crate::token::TokenKind;

/// What the parentheses of a hint hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Tables,
    Indexes,
    Strategies,
    Number,
    Name,
    Variable,
}

const STRATEGIES: [&str; 5] =
    ["DUPSWEEDOUT", "FIRSTMATCH", "INTOEXISTS", "LOOSESCAN", "MATERIALIZATION"];

const HINTS: [(&str, Form); 37] = [
    ("BKA", Form::Tables),
    ("BNL", Form::Tables),
    ("DERIVED_CONDITION_PUSHDOWN", Form::Tables),
    ("GROUP_INDEX", Form::Indexes),
    ("HASH_JOIN", Form::Tables),
    ("INDEX", Form::Indexes),
    ("INDEX_MERGE", Form::Indexes),
    ("JOIN_FIXED_ORDER", Form::Tables),
    ("JOIN_INDEX", Form::Indexes),
    ("JOIN_ORDER", Form::Tables),
    ("JOIN_PREFIX", Form::Tables),
    ("JOIN_SUFFIX", Form::Tables),
    ("MAX_EXECUTION_TIME", Form::Number),
    ("MERGE", Form::Tables),
    ("MRR", Form::Indexes),
    ("NO_BKA", Form::Tables),
    ("NO_BNL", Form::Tables),
    ("NO_DERIVED_CONDITION_PUSHDOWN", Form::Tables),
    ("NO_GROUP_INDEX", Form::Indexes),
    ("NO_HASH_JOIN", Form::Tables),
    ("NO_ICP", Form::Indexes),
    ("NO_INDEX", Form::Indexes),
    ("NO_INDEX_MERGE", Form::Indexes),
    ("NO_JOIN_INDEX", Form::Indexes),
    ("NO_MERGE", Form::Tables),
    ("NO_MRR", Form::Indexes),
    ("NO_ORDER_INDEX", Form::Indexes),
    ("NO_RANGE_OPTIMIZATION", Form::Indexes),
    ("NO_SEMIJOIN", Form::Strategies),
    ("NO_SKIP_SCAN", Form::Indexes),
    ("ORDER_INDEX", Form::Indexes),
    ("QB_NAME", Form::Name),
    ("RESOURCE_GROUP", Form::Name),
    ("SEMIJOIN", Form::Strategies),
    ("SET_VAR", Form::Variable),
    ("SKIP_SCAN", Form::Indexes),
    ("SUBQUERY", Form::Strategies),
];

/// A word of a hint, or a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Name(String),
    /// Digits.
    Number(String),
    /// Digits with K, M or G.
    Size(u64, u8),
    /// `'..'`, quotes included.
    Text(String),
    /// `@name`.
    Block(String),
    Sign(u8),
    End,
}

impl Parser<'_> {
    /// Hints, if they stand here.
    pub(crate) fn hints(&mut self) -> Option<Box<Hints>> {
        if self.kind() != TokenKind::Hint {
            return None;
        }
        let token = self.bump();
        let (start, end) = (token.start as usize + 3, token.end as usize - 2);
        let text = &self.sql[..end];
        let mut reader = Reader { text, mode: self.mode, at: start, place: start, word: Word::End };
        reader.bump();
        let mut hints = Hints::default();
        let read = reader.all(&mut hints.list);
        if let Err(why) = read {
            let offset = if reader.word == Word::End { end } else { reader.place };
            hints.error = Some(self.hint_error(why, offset, end));
        }
        Some(Box::new(hints))
    }

    fn hint_error(&self, why: &str, offset: usize, end: usize) -> String {
        let line = self.line_of(offset);
        let error = ParseError { kind: ErrorKind::Syntax, offset, line };
        let text = if offset < end { self.sql } else { &self.sql[..end + 2] };
        format!("{why} near '{}' at line {line}", error.near(text))
    }
}

struct Reader<'a> {
    /// The statement up to the end of its hints.
    text: &'a [u8],
    mode: SqlMode,
    at: usize,
    /// Where the current word begins.
    place: usize,
    word: Word,
}

type Read<T> = Result<T, &'static str>;

const SYNTAX: &str = "Optimizer hint syntax error";

impl Reader<'_> {
    fn all(&mut self, list: &mut Vec<Hint>) -> Read<()> {
        // An empty list is no list.
        loop {
            let Word::Name(word) = &self.word else { return Err(SYNTAX) };
            let known = HINTS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
            let Some((name, form)) = known else { return Err(SYNTAX) };
            self.bump();
            self.sign(b'(')?;
            let (block, inside) = self.inside(name, *form)?;
            self.sign(b')')?;
            list.push(Hint { name, block, inside });
            if self.word == Word::End {
                return Ok(());
            }
        }
    }

    fn inside(&mut self, name: &str, form: Form) -> Read<(Option<String>, HintInside)> {
        let block = match form {
            Form::Tables | Form::Indexes | Form::Strategies => self.block(),
            _ => None,
        };
        let inside = match form {
            Form::Tables if name == "JOIN_FIXED_ORDER" => HintInside::Tables(Vec::new()),
            Form::Tables => HintInside::Tables(self.tables(block.is_none())?),
            Form::Indexes => {
                let table = self.table(block.is_none())?;
                let mut indexes = Vec::new();
                if matches!(self.word, Word::Name(_)) {
                    indexes.push(self.name()?);
                    while self.eat(b',') {
                        indexes.push(self.name()?);
                    }
                }
                HintInside::Indexes(table, indexes)
            }
            Form::Strategies => HintInside::Strategies(self.strategies()?),
            Form::Number => {
                let Word::Number(digits) = &self.word else { return Err(SYNTAX) };
                let number = digits.parse();
                self.bump();
                HintInside::Number(number.map_err(|_| "Unsupported MAX_EXECUTION_TIME")?)
            }
            Form::Name => HintInside::Name(self.name()?),
            Form::Variable => {
                let name = self.name()?;
                self.sign(b'=')?;
                HintInside::Variable(name, self.value()?)
            }
        };
        Ok((block, inside))
    }

    fn tables(&mut self, own_blocks: bool) -> Read<Vec<HintTable>> {
        let mut tables = Vec::new();
        if matches!(self.word, Word::Name(_)) {
            tables.push(self.table(own_blocks)?);
            while self.eat(b',') {
                tables.push(self.table(own_blocks)?);
            }
        }
        Ok(tables)
    }

    /// A table; with its block unless one was named for all.
    fn table(&mut self, own_block: bool) -> Read<HintTable> {
        let name = self.name()?;
        Ok(HintTable { name, block: if own_block { self.block() } else { None } })
    }

    fn strategies(&mut self) -> Read<Vec<String>> {
        let mut list = Vec::new();
        while let Word::Name(word) = &self.word {
            let word = word.to_ascii_uppercase();
            if !STRATEGIES.contains(&&*word) {
                return Err(SYNTAX);
            }
            list.push(word);
            self.bump();
            if !self.eat(b',') {
                break;
            }
        }
        Ok(list)
    }

    fn value(&mut self) -> Read<String> {
        let value = match &self.word {
            Word::Number(text) | Word::Text(text) | Word::Name(text) => text.clone(),
            Word::Size(number, unit) => {
                let shift = [b'K', b'M', b'G'].iter().position(|u| u == unit).unwrap_or(0) + 1;
                number.saturating_mul(1 << (10 * shift)).to_string()
            }
            _ => return Err(SYNTAX),
        };
        self.bump();
        Ok(value)
    }

    fn name(&mut self) -> Read<String> {
        let Word::Name(name) = &mut self.word else { return Err(SYNTAX) };
        let name = std::mem::take(name);
        self.bump();
        Ok(name)
    }

    fn block(&mut self) -> Option<String> {
        let Word::Block(name) = &mut self.word else { return None };
        let name = std::mem::take(name);
        self.bump();
        Some(name)
    }

    fn eat(&mut self, sign: u8) -> bool {
        let found = self.word == Word::Sign(sign);
        if found {
            self.bump();
        }
        found
    }

    fn sign(&mut self, sign: u8) -> Read<()> {
        if self.eat(sign) { Ok(()) } else { Err(SYNTAX) }
    }

    fn bump(&mut self) {
        while self.text.get(self.at).is_some_and(|&b| crate::lex::is_space(b)) {
            self.at += 1;
        }
        self.place = self.at;
        self.word = match self.text.get(self.at) {
            None => Word::End,
            Some(b'@') => {
                self.at += 1;
                match self.plain() {
                    // What is wrong is what follows.
                    Some(Word::Name(name)) => {
                        self.place += 1;
                        Word::Block(name)
                    }
                    _ => {
                        self.place += 1;
                        Word::Sign(b'@')
                    }
                }
            }
            Some(&sign) => self.plain().unwrap_or_else(|| {
                self.at += 1;
                Word::Sign(sign)
            }),
        };
    }

    /// A name, number or text.
    fn plain(&mut self) -> Option<Word> {
        let first = *self.text.get(self.at)?;
        let quoted = first == b'`' || first == b'"' && self.mode.has(SqlMode::ANSI_QUOTES);
        if quoted || first == b'\'' {
            let length = self.text[self.at + 1..].iter().position(|&b| b == first)?;
            let inside = &self.text[self.at + 1..self.at + 1 + length];
            let text = String::from_utf8_lossy(inside).into_owned();
            if text.is_empty() {
                return None;
            }
            self.at += length + 2;
            return Some(match quoted {
                true => Word::Name(text),
                false => Word::Text(format!("'{text}'")),
            });
        }
        let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | 128..);
        let length = self.text[self.at..].iter().take_while(|b| is_name(b)).count();
        if length == 0 {
            return None;
        }
        let word = String::from_utf8_lossy(&self.text[self.at..self.at + length]).into_owned();
        self.at += length;
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        Some(match word.as_bytes()[digits..] {
            [] => Word::Number(word),
            [unit] if digits > 0 && matches!(unit.to_ascii_uppercase(), b'K' | b'M' | b'G') => {
                let number = word[..digits].parse().unwrap_or(u64::MAX);
                Word::Size(number, unit.to_ascii_uppercase())
            }
            _ => Word::Name(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{HintInside, Hints, QueryBody, Statement};
    use crate::{SqlMode, parse};

    fn hints(sql: &str) -> Hints {
        let Ok(Statement::Query(query)) = parse(sql.as_bytes(), SqlMode::default()) else {
            panic!("{sql}")
        };
        let QueryBody::Select(select) = query.body else { panic!("{sql}") };
        *select.options.hints.unwrap()
    }

    #[test]
    fn every_form_is_read() {
        let found = hints(
            "SELECT /*+ QB_NAME(q) JOIN_ORDER(@q a, `b c`) NO_INDEX(t@q i, j) join_fixed_order() SEMIJOIN(FIRSTMATCH) \
             MAX_EXECUTION_TIME(50) SET_VAR(sort_buffer_size = 16M) BKA() */ 1",
        );
        assert_eq!(found.error, None);
        let names: Vec<&str> = found.list.iter().map(|h| h.name).collect();
        let wanted =
            "QB_NAME JOIN_ORDER NO_INDEX JOIN_FIXED_ORDER SEMIJOIN MAX_EXECUTION_TIME SET_VAR BKA";
        assert_eq!(names.join(" "), wanted);
        assert_eq!(found.list[1].block.as_deref(), Some("q"));
        let HintInside::Indexes(table, indexes) = &found.list[2].inside else { panic!() };
        assert_eq!((table.name.as_str(), table.block.as_deref()), ("t", Some("q")));
        assert_eq!(indexes.join(" "), "i j");
        let value = HintInside::Variable("sort_buffer_size".into(), "16777216".into());
        assert_eq!(found.list[6].inside, value);
    }

    #[test]
    fn what_is_wrong_is_said_and_ends_the_list() {
        for (sql, near, line, good) in [
            ("SELECT /*+ */ 1", "*/", 1, 0),
            ("SELECT /*+ bla */ 1;", "bla */ 1", 1, 0),
            ("SELECT\n/*+ INDEX(t\n nope nope) + */ 1", "nope) + */ 1", 3, 0),
            ("SELECT /*+ BKA(t) INDEX(t, b) BKA(u) */ 1", ", b) BKA(u) */ 1", 1, 1),
            ("SELECT /*+ NO_MRR() */ 1", ") */ 1", 1, 0),
            ("SELECT /*+ SET_VAR(@@x = 1) */ 1", "@x = 1) */ 1", 1, 0),
            ("SELECT /*+ INDEX(@q t@q b) */ 1", "q b) */ 1", 1, 0),
            ("SELECT /*+ MAX_EXECUTION_TIME('a') */ 1", "'a') */ 1", 1, 0),
            ("SELECT /*+ SET_VAR(x = 1 */ 1", "*/", 1, 0),
        ] {
            let found = hints(sql);
            let wanted = format!("Optimizer hint syntax error near '{near}' at line {line}");
            assert_eq!((found.error, found.list.len()), (Some(wanted), good), "{sql}");
        }
        let large = hints("SELECT /*+ MAX_EXECUTION_TIME(99999999999) */ 1");
        assert_eq!(
            large.error.as_deref(),
            Some("Unsupported MAX_EXECUTION_TIME near ') */ 1' at line 1")
        );
    }
}
