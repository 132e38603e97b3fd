//! How SHOW CREATE writes names: in backquotes, under ANSI_QUOTES in double quotes, without `sql_quote_show_create`
//! only where a name needs them.
//!
//! 1. Texts of definitions are kept in backquotes and written anew when they are shown. 2. As in MySQL, expressions of
//! columns and indexes stay in backquotes under ANSI_QUOTES, and those of CHECK always do.

use crate::Environment;
use expr::functions::moments::mode;
use parser::SqlMode;
use parser::lex::Lexer;
use parser::token::TokenKind;
use value::TimeZone;

/// A session's way to write names.
#[derive(Debug, Clone)]
pub struct Quoting {
    quote: char,
    /// Names that need no quotes have them too.
    always: bool,
    /// ANSI: what other servers would not understand is left out.
    pub portable: bool,
    /// Defaults of TIMESTAMP columns are shown in it.
    pub zone: TimeZone,
}

impl Quoting {
    /// That of the session.
    pub fn of(env: &dyn Environment) -> Quoting {
        let always = env.system_variable(false, "sql_quote_show_create");
        let set = |bit| env.sql_mode() & bit != 0;
        Quoting {
            quote: if set(mode::ANSI_QUOTES) { '"' } else { '`' },
            always: always.ok().and_then(|v| v.datum().as_u64()) != Some(0),
            portable: set(mode::ANSI),
            zone: env.time_zone().clone(),
        }
    }

    /// A name.
    pub fn name(&self, name: &str) -> String {
        if !self.always && !needs_quotes(name) {
            return name.to_string();
        }
        let quote = self.quote;
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }

    /// The text of a view, whose names are in backquotes.
    pub fn text(&self, text: &str) -> String {
        if self.always && self.quote == '`' {
            return text.to_string();
        }
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        let mut lexer = Lexer::new(text.as_bytes(), 0, SqlMode::DEFAULT);
        loop {
            let token = lexer.next_token();
            let (start, end) = (token.start as usize, token.end as usize);
            match token.kind {
                TokenKind::End | TokenKind::Bad => break,
                TokenKind::Quoted => {
                    let Some(inner) = text.get(start + 1..end.saturating_sub(1)) else { continue };
                    out.push_str(text.get(done..start).unwrap_or_default());
                    out.push_str(&self.name(&inner.replace("``", "`")));
                    done = end;
                }
                _ => {}
            }
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }

    /// The text of a column's or an index's expression.
    pub fn expression(&self, text: &str) -> String {
        if self.always {
            text.to_string()
        } else {
            Quoting { quote: '`', ..self.clone() }.text(text)
        }
    }
}

/// Whether a name is none without quotes.
fn needs_quotes(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$';
    !name.bytes().all(plain)
        || name.bytes().all(|b| b.is_ascii_digit())
        || name.starts_with('$')
        || parser::is_keyword(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_the_mode_says() {
        let quoting =
            |quote, always| Quoting { quote, always, portable: false, zone: TimeZone::utc() };
        assert_eq!(quoting('"', true).name("a\"b`"), "\"a\"\"b`\"");
        assert_eq!(quoting('`', false).name("substr"), "substr");
        for name in ["date", "1", "a b", "$x", "select", "é", ""] {
            assert_eq!(quoting('`', false).name(name), format!("`{name}`"));
        }
        let text = "select `a``\"` AS `x`,'`y`' AS `1` from `t`";
        assert_eq!(quoting('`', true).text(text), text);
        assert_eq!(
            quoting('"', true).text(text),
            "select \"a`\"\"\" AS \"x\",'`y`' AS \"1\" from \"t\""
        );
        assert_eq!(quoting('`', false).text(text), "select `a``\"` AS x,'`y`' AS `1` from t");
        assert_eq!(quoting('"', true).expression("(`a` + 1)"), "(`a` + 1)");
        assert_eq!(quoting('"', false).expression("(`a` + `b c`)"), "(a + `b c`)");
    }
}
