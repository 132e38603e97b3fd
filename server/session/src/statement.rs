//! Statements of a text, parsed one after the other.

use crate::core::{Core, Descriptor};
use crate::errors;
use executor::SqlError;
use parser::ParseError;
use parser::ast::{Explain, Expr, QueryBody, SelectItem, Show, Statement};
use parser::digest::{Digest, DigestLimits};

/// One statement of a text.
pub(crate) struct Parsed {
    /// Its tree.
    pub statement: Statement,
    /// What is known of its kind.
    pub kind: &'static Descriptor,
    /// Where the next one begins.
    pub end: usize,
    /// Another one follows.
    pub more: bool,
    /// Parameter markers in it.
    pub params: usize,
    /// Its digest, if it is wanted.
    pub digest: Option<Digest>,
    /// Warnings about what is written.
    pub warnings: Vec<parser::Warning>,
}

impl Core {
    /// Parses the statement that begins at `from`; when it is `prepared`, parameter markers are allowed. It has a digest then,
    /// and where the session collects digests and does not remember that of the text.
    pub fn parse_next(
        &self,
        sql: &[u8],
        from: usize,
        prepared: bool,
    ) -> Result<Parsed, ParseError> {
        let mode = self.env.cached.parser_mode;
        let is_new = || self.events.plan.digests && !self.events.remembers(&sql[from..], mode);
        let limits = match prepared || is_new() {
            true => self.digest_limits(),
            false => DigestLimits::NONE,
        };
        let parsed = parser::parse_digested(sql, from, mode, prepared, limits)?;
        let follows = parser::lex::Lexer::new(sql, parsed.next, mode).next_token();
        let statement = without_describe(parsed.statement);
        Ok(Parsed {
            kind: (self.describe)(&statement),
            statement,
            end: parsed.next,
            more: follows.kind != parser::token::TokenKind::End,
            params: parsed.params as usize,
            digest: parsed.digest,
            warnings: parsed.warnings,
        })
    }
}

/// 1064 at the second statement, for a client that did not ask for several.
pub fn refuse_second(sql: &[u8], end: usize) -> SqlError {
    let end = end + sql[end..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let line = 1 + sql[..end].iter().filter(|&&b| b == b'\n').count() as u32;
    let kind = parser::ErrorKind::Syntax;
    errors::parse(&ParseError { kind, offset: end, line }, sql)
}

/// The statement selects `@@warning_count` or `@@error_count`: those of the statement before.
pub fn asks_for_counts(statement: &Statement) -> bool {
    let Statement::Query(query) = statement else { return false };
    let QueryBody::Select(select) = &query.body else { return false };
    let is_count = |name: &str| {
        ["warning_count", "error_count"].iter().any(|count| count.eq_ignore_ascii_case(name))
    };
    select.items.iter().any(|item| match item {
        SelectItem::Expr { expr: Expr::SystemVar(variable), .. } => is_count(&variable.name),
        _ => false,
    })
}

/// DESCRIBE t is SHOW COLUMNS FROM t.
fn without_describe(statement: Statement) -> Statement {
    let Statement::Explain(explain) = statement else { return statement };
    match *explain {
        Explain::Table { table, pattern } => {
            let filter = pattern.map(parser::ast::ShowFilter::Like);
            let show = Show::Columns { extended: false, full: false, table, filter };
            Statement::Show(Box::new(show))
        }
        other => Statement::Explain(Box::new(other)),
    }
}
