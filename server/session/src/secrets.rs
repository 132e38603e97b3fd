//! Texts without the passwords in them, for logs and lists.
//!
//! 1. Every statement of a text is looked at, as the parser's own lexer cuts it: what a comment or another quote has in it
//! misleads nobody. 2. What is no text that can be read is hidden to its end, if it may have a password in it. 3. Rather too much
//! is hidden than too little.

use parser::lex::Lexer;
use parser::token::{Token, TokenKind};
use parser::{Kw, SqlMode};

/// A text without the passwords in it.
pub(crate) fn hidden(text: &str) -> String {
    if !may_have(text.as_bytes()) {
        return text.to_string();
    }
    let mut lexer = Lexer::new(text.as_bytes(), 0, SqlMode::DEFAULT);
    let (mut out, mut from) = (String::new(), 0);
    loop {
        let tokens = statement(&mut lexer);
        let end = tokens.last().map_or(text.len(), |last| last.end as usize);
        let ends = end <= from || end >= text.len();
        let end = if ends { text.len() } else { end };
        hide(text, from..end, &tokens, &mut out);
        if ends {
            return out;
        }
        from = end;
    }
}

/// Whether there may be a password in a text.
pub(crate) fn may_have(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    has(b"IDENTIFIED") || has(b"PASSWORD")
}

/// The tokens of the next statement, its end included.
fn statement(lexer: &mut Lexer<'_>) -> Vec<Token> {
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token();
        tokens.push(token);
        if matches!(token.kind, TokenKind::End | TokenKind::Bad) {
            return tokens;
        }
    }
}

/// Writes a statement without its passwords.
fn hide(text: &str, part: std::ops::Range<usize>, tokens: &[Token], out: &mut String) {
    let verb = tokens.iter().find(|token| token.kind != TokenKind::Open);
    let verb = verb.map_or(Kw::None, |token| token.kw);
    const KNOWN: [Kw; 7] =
        [Kw::ALTER, Kw::CREATE, Kw::SET, Kw::GRANT, Kw::PREPARE, Kw::CHANGE, Kw::START];
    let knows = KNOWN.contains(&verb);
    let mut from = part.start;
    if knows && may_have(text[part.clone()].as_bytes()) {
        let mut before = Before::Other;
        for token in tokens {
            let is_secret = match token.kind {
                kind if is_literal(kind) => before == Before::Secret,
                TokenKind::Bad => true,
                _ => false,
            };
            if is_secret {
                *out += &text[from..token.start as usize];
                *out += "<secret>";
                from = token.end as usize;
            }
            before = Before::of(token, verb, before);
        }
    }
    *out += &text[from..part.end];
}

/// What comes before a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// That behind which a literal is a password.
    Secret,
    Other,
}

impl Before {
    fn of(token: &Token, verb: Kw, before: Before) -> Before {
        match token.kind {
            TokenKind::Eq | TokenKind::Assign | TokenKind::Open => Before::Secret,
            // What is written in several pieces, or with its character set, is one literal.
            TokenKind::Introducer => before,
            kind if is_literal(kind) => before,
            TokenKind::Word => match token.kw {
                Kw::BY | Kw::AS | Kw::REPLACE | Kw::TO | Kw::PASSWORD => Before::Secret,
                // The text of a statement, whatever of it is the password.
                Kw::FROM if verb == Kw::PREPARE => Before::Secret,
                _ => Before::Other,
            },
            _ => Before::Other,
        }
    }
}

fn is_literal(kind: TokenKind) -> bool {
    use TokenKind::{BitNumber, BitString, HexNumber, HexString, NString, String};
    matches!(kind, String | NString | HexString | HexNumber | BitString | BitNumber)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden() {
        assert_eq!(
            hidden("alter user 'a'@'b' identified by 'x''y', 'c' identified with 'p' as \"q\""),
            "alter user 'a'@'b' identified by <secret>, 'c' identified with 'p' as <secret>"
        );
        assert_eq!(hidden("SET PASSWORD = 'x'"), "SET PASSWORD = <secret>");
        assert_eq!(hidden("select 'identified by'"), "select 'identified by'");
        assert_eq!(
            hidden("alter user a identified with p as 0x70 require subject 'x'"),
            "alter user a identified with p as <secret> require subject 'x'"
        );
    }

    #[test]
    fn passwords_of_other_servers_are_hidden_too() {
        assert_eq!(
            hidden("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'x')"),
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD <secret>)"
        );
        assert_eq!(
            hidden("CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='x'"),
            "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD=<secret>"
        );
        assert_eq!(
            hidden("START REPLICA USER='u' PASSWORD='x'"),
            "START REPLICA USER=<secret> PASSWORD=<secret>"
        );
    }

    #[test]
    fn passwords_behind_the_first_statement_are_hidden_too() {
        assert_eq!(
            hidden("SELECT 'a;b' AS x; SET PASSWORD = 'x';\nCREATE USER u IDENTIFIED BY 'y'; DO 1"),
            "SELECT 'a;b' AS x; SET PASSWORD = <secret>;\nCREATE USER u IDENTIFIED BY <secret>; DO 1"
        );
        assert_eq!(
            hidden("DO 1; PREPARE s FROM 'ALTER USER u IDENTIFIED BY \"y\"'"),
            "DO 1; PREPARE s FROM <secret>"
        );
    }

    #[test]
    fn comments_and_broken_texts_hide_nothing_of_that() {
        assert_eq!(
            hidden("-- it's\nCREATE USER u /* ' */ IDENTIFIED BY 'y' # '"),
            "-- it's\nCREATE USER u /* ' */ IDENTIFIED BY <secret> # '"
        );
        assert_eq!(
            hidden("DO 1; CREATE USER u IDENTIFIED BY 'y"),
            "DO 1; CREATE USER u IDENTIFIED BY <secret>"
        );
        assert_eq!(
            hidden("/*!80000 CREATE USER u IDENTIFIED BY 'y' 'z' */; DO 2"),
            "/*!80000 CREATE USER u IDENTIFIED BY <secret> <secret> */; DO 2"
        );
        for text in ["", ";", ";;", "PASSWORD", "SET PASSWORD;;", "identified ü;"] {
            assert_eq!(hidden(text), text);
        }
    }
}
