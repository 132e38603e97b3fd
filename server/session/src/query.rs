//! COM_QUERY: from text to replies.
//!
//! 1. Each statement of a text is parsed and run before the next is looked at; an error ends the text.
//! 2. A statement's reply is complete before the next one's begins, and an error replaces what was written
//!    of it, unless part of it has been sent already.
//! 3. Outside a transaction a statement is one: it commits before its OK is written.

use crate::core::{Core, DiagnosticsUse, Runner, instruments};
use crate::errors;
use crate::net::Net;
use crate::registry::Activity;
use crate::statement::{self, Parsed};
use instrument::{Counter, count};
use parser::ErrorKind;
use parser::digest::Digest;
use std::borrow::Cow;
use wire::constants::StatusFlags;

impl Core {
    /// Runs the statements of a text.
    pub fn query(&mut self, sql: &[u8], net: &mut dyn Net) {
        let now_ns = sync::now_ns();
        self.begin_event(instruments::QUERY, now_ns);
        self.events.is_part(0, 0);
        self.statements.shows_other();
        self.show_text(Activity::Query, now_ns, sql);
        let text = self.env.cached.charsets.statement(sql);
        let is_converted = matches!(text, Cow::Owned(_));
        let sql = text.as_ref();
        // Elsewhere a kept program's literals would have to be converted.
        let cacheable = self.env.cached.charsets.keeps_literals || sql.is_ascii();
        if cacheable && self.run_cached(sql, net) {
            return;
        }
        let mut from = 0;
        loop {
            self.entry.is_of(instruments::QUERY);
            let mut parsed = match self.parse_next(sql, from, false) {
                Ok(parsed) => parsed,
                Err(error) => {
                    self.env.diagnostics.clear();
                    self.env.link.status.set(StatusFlags::MORE_RESULTS, false);
                    self.events.is_wrong();
                    self.looks_for_secrets(sql);
                    self.hide_all(sql);
                    // A comment alone is a statement that does nothing: what dump tools write for other versions.
                    if error.kind == ErrorKind::Empty && has_comment(&sql[from..]) {
                        return self.send_ok();
                    }
                    return self.send_error(&errors::parse(&error, sql));
                }
            };
            let (end, more) = (parsed.end, parsed.more);
            if more && !self.protocol.multi_statements {
                self.env.diagnostics.clear();
                self.looks_for_secrets(sql);
                self.hide_all(sql);
                return self.send_error(&statement::refuse_second(sql, end));
            }
            self.env.link.status.set(StatusFlags::MORE_RESULTS, more);
            let text = &sql[from..end];
            if !matches!(parsed.kind.runner, Runner::Executor) {
                self.looks_for_secrets(text);
            }
            self.has_part(from, sql.len() - end, is_converted);
            if more && from == 0 {
                self.hide_all(sql);
            }
            self.event_is_of(parsed.kind.counter);
            self.take_digest_of_parsed(text, parsed.digest.take());
            let went_well = self.run_text(parsed, net);
            if !more || !went_well || self.reply.is_closing() {
                self.looks_for_secrets(&sql[end..]);
                self.env.link.status.set(StatusFlags::MORE_RESULTS, false);
                return;
            }
            count(Counter::Questions, 1);
            let now_ns = sync::now_ns();
            self.end_event(now_ns, sql);
            self.look_on();
            self.events.begin(instruments::QUERY, now_ns);
            // Until the next one's end is known, what is left is its own.
            self.has_part(end, 0, is_converted);
            from = end;
        }
    }

    /// So many bytes of its command's text lie before the statement that runs, and so many behind it. Of a text that was converted
    /// what came has other places: nothing is its own then, unless it is all of it.
    fn has_part(&mut self, before: usize, behind: usize, is_converted: bool) {
        match is_converted && before + behind > 0 {
            true => self.events.is_part(usize::MAX, 0),
            false => self.events.is_part(before, behind),
        }
    }

    /// The statement that runs has the digest that was made as its text was parsed, or the one that is remembered of it.
    fn take_digest_of_parsed(&mut self, text: &[u8], digest: Option<Digest>) {
        if self.events.plan.digests {
            self.events.are_in(&self.env);
            self.events.has_digest_of(text, self.env.cached.parser_mode, || digest);
        }
    }

    /// Runs one parsed statement; false when it ended in an error.
    fn run_text(&mut self, parsed: Parsed, net: &mut dyn Net) -> bool {
        let Parsed { statement, kind, warnings, .. } = parsed;
        if statement::asks_for_counts(&statement) {
            self.env.diagnostics.clear_keeping_counts();
        } else if kind.diagnostics == DiagnosticsUse::Clears {
            self.env.diagnostics.clear();
        }
        self.warn_of_text(&warnings);
        count(Counter::Queries, 1);
        if let Some(counter) = kind.counter {
            count(counter, 1);
        }
        if !matches!(kind.runner, Runner::Executor) {
            return self.run_in_session(&statement, kind, false, net);
        }
        if let Err(error) = self.before(kind).and_then(|()| self.check_needs(kind, &statement)) {
            self.send_error(&error);
            return false;
        }
        let hinted = self.set_hinted(&statement, true);
        let went_well = match self.compile(statement) {
            Ok(mut prepared) => self.run_compiled(&mut prepared, &[], false, net),
            Err(error) => self.refuse(error),
        };
        self.unset_hinted(hinted);
        went_well
    }
}

/// Whether a text without a statement has more than spaces and semicolons.
fn has_comment(text: &[u8]) -> bool {
    text.iter().any(|b| !b.is_ascii_whitespace() && *b != b';' && *b != 0)
}
