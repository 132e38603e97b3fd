//! Statements tell what they are while they run, and what they cost when they end.

use crate::core::{Core, Digested, Ended};
use crate::registry::Activity;
use crate::secrets::{hidden, may_have};
use instrument::{
    Counter, Depth, Failure, IDLE, INSTRUMENTS, Operation, RecordedText, Wait, WaitObject,
};
use parser::digest::DigestLimits;
use stdx::Ordering;
use wire::Command;

impl Core {
    /// A command begins: until now the session waited for it.
    #[inline(always)]
    pub(crate) fn begin_event(&mut self, instrument: u16, now_ns: u64) {
        self.look_on();
        let plan = &self.events.plan;
        if plan.is_idle_plain {
            // Both are readings of this thread, of a clock that does not go back.
            let waited_ns = now_ns.wrapping_sub(self.entry.since_ns());
            self.client.slot().counters.add_idle(Some(waited_ns));
        } else if plan.idle {
            self.end_idle(now_ns);
        }
        self.events.begin(instrument, now_ns);
    }

    /// It turns out what the text that runs is: by its `Com_` counter, if it has one.
    #[inline]
    pub(crate) fn event_is_of(&mut self, counter: Option<Counter>) {
        self.events.is_of(counter);
        self.entry.is_of(self.events.instrument());
    }

    /// Shows a text in the process list, without the passwords in it; whether there were some. What comes behind SELECT and its kin
    /// is looked at once it is known that more statements follow ([`Self::hide_all`]).
    #[inline]
    pub(crate) fn show_text(&self, activity: Activity, now_ns: u64, sql: &[u8]) -> bool {
        let entry = &self.entry;
        let verb = sql.first_chunk::<3>().map(|verb| verb.map(|c| c.to_ascii_lowercase()));
        let has_none = matches!(
            verb.as_ref(),
            Some(b"sel" | b"ins" | b"upd" | b"del" | b"rep" | b"com" | b"rol" | b"beg")
        );
        let hidden = if has_none { None } else { without_secrets(sql) };
        match &hidden {
            Some(shown) => entry.publish(activity, now_ns, shown),
            None => entry.publish(activity, now_ns, sql),
        }
        hidden.is_some()
    }

    /// A text of the command that runs is none of a program: if it may tell a password, what the client sent is overwritten
    /// when the command ends.
    pub(crate) fn looks_for_secrets(&mut self, text: &[u8]) {
        self.has_secret |= may_have(text);
    }

    /// A text that is shown whole has more statements than its first one, or is none: passwords in it are hidden, wherever they are.
    #[cold]
    pub(crate) fn hide_all(&mut self, sql: &[u8]) {
        if let Some(shown) = without_secrets(sql) {
            self.entry.publish(Activity::Query, self.entry.since_ns(), &shown);
        }
    }

    /// Adds the wait for the client to what is collected of such.
    #[cold]
    fn end_idle(&self, now_ns: u64) {
        let plan = &self.events.plan;
        let ns = plan.times_idle.then(|| now_ns.saturating_sub(self.entry.since_ns()));
        self.client.slot().counters.add_idle(ns);
        if !plan.records_idle {
            return;
        }
        let object = WaitObject::default();
        let wait = Wait { operation: Operation::Idle, ns, number: 0, object, amount: None };
        let thread_id = self.client.slot().thread_id.load(Ordering::Relaxed);
        instrument::record_wait_between(thread_id, &IDLE, wait);
    }

    /// Adds the statement that runs to the figures; `text` is what was written of it.
    pub(crate) fn end_event(&mut self, now_ns: u64, text: &[u8]) {
        self.end_event_of(&Command::Query(text), now_ns);
    }

    /// As [`Self::end_event`], of a command's last statement.
    #[inline(always)]
    pub(crate) fn end_event_of(&mut self, command: &Command<'_>, now_ns: u64) {
        // As it was when the statement began, whatever was switched since.
        if INSTRUMENTS && self.events.plan.depth != Depth::Nothing {
            match command {
                Command::Execute { id, .. } => self.collect_execution(*id, command, now_ns),
                Command::Query(sql) => self.collect_query(sql, command, now_ns),
                _ => self.collect(command, now_ns),
            }
        }
    }

    /// As [`Self::collect`], of a prepared statement: most run a program, whose text tells no password.
    #[inline(always)]
    fn collect_execution(&mut self, id: u32, command: &Command<'_>, now_ns: u64) {
        let Self { reply, env, events, client, statements, transaction, .. } = self;
        let Some(prepared) = statements.executed_program(id) else {
            return self.collect(command, now_ns);
        };
        let (rows_sent, errors) = reply.take_counts();
        let conditions = env.diagnostics.total();
        let (text, prepared) = (RecordedText::Prepared(prepared), Some(prepared));
        let ended = Ended { now_ns, rows_sent, errors, conditions, text, transaction, prepared };
        if events.end(client.slot(), ended) && errors > 0 {
            self.tell_failure();
        }
    }

    /// As [`Self::collect`], of a text: most tell no password and execute no prepared statement.
    #[inline(never)]
    fn collect_query(&mut self, sql: &[u8], command: &Command<'_>, now_ns: u64) {
        let Self { reply, env, events, client, statements, transaction, .. } = self;
        if statements.executed.is_some() || events.may_tell_secrets() {
            return self.collect(command, now_ns);
        }
        let (rows_sent, errors) = reply.take_counts();
        let conditions = env.diagnostics.total();
        let text = RecordedText::Written(events.own_part(sql));
        let prepared = None;
        let ended = Ended { now_ns, rows_sent, errors, conditions, text, transaction, prepared };
        if events.end(client.slot(), ended) && errors > 0 {
            self.tell_failure();
        }
    }

    /// Adds any statement that ended to the figures.
    #[cold]
    fn collect(&mut self, command: &Command<'_>, now_ns: u64) {
        let Self { reply, env, events, client, statements, transaction, .. } = self;
        let (rows_sent, errors) = reply.take_counts();
        let conditions = env.diagnostics.total();
        let executed = statements.executed.take();
        let (text, may_tell_secrets, prepared): (&[u8], bool, _) = match command {
            Command::Execute { id, .. } => statements.of_end(*id),
            Command::Query(sql) => match &executed {
                Some(executed) => (&executed.text[..], true, executed.row.as_ref()),
                None => (events.own_part(sql), events.may_tell_secrets(), None),
            },
            Command::Prepare(sql) => (sql, true, None),
            _ => (b"", false, None),
        };
        let without_secrets = if may_tell_secrets { without_secrets(text) } else { None };
        let text = RecordedText::Written(without_secrets.as_deref().unwrap_or(text));
        let ended = Ended { now_ns, rows_sent, errors, conditions, text, transaction, prepared };
        if events.end(client.slot(), ended) && errors > 0 {
            self.tell_failure();
        }
    }

    /// What a statement that begins is collected by.
    #[inline(always)]
    pub(crate) fn look_on(&mut self) {
        if INSTRUMENTS && !self.events.plan.is_present() {
            self.looks_on();
        }
    }

    /// Something was switched.
    #[cold]
    fn looks_on(&mut self) {
        let slept = self.events.plan.depth == Depth::Nothing;
        self.events.look(self.client.slot());
        if slept {
            // Statements that were not collected have left these.
            self.reply.take_counts();
            self.statements.executed = None;
            self.events.rows_affected = 0;
        }
    }

    #[cold]
    fn tell_failure(&mut self) {
        if let Some((code, state, text)) = self.env.diagnostics.answered() {
            self.events.fails(Failure { code, state, text: text.to_string() });
        }
    }

    /// The statement that runs has this digest.
    #[inline]
    pub(crate) fn take_digest(&mut self, digested: &mut Digested) {
        if self.events.plan.digests {
            self.events.are_in(&self.env);
            self.events.has_digest(digested);
        }
    }

    /// As [`Self::take_digest`], of a text that has no program.
    pub(crate) fn take_digest_of_text(&mut self, text: &[u8]) {
        if !self.events.plan.digests {
            return;
        }
        let (mode, limits) = (self.env.cached.parser_mode, self.digest_limits());
        self.events.are_in(&self.env);
        self.events.has_digest_of(text, mode, || {
            parser::parse_digested(text, 0, mode, true, limits).ok()?.digest
        });
    }

    /// How long digests are that are made, and how much of them is told.
    #[cold]
    pub(crate) fn digest_limits(&self) -> DigestLimits {
        let made = self.env.server.globals.number("max_digest_length") as usize;
        DigestLimits { made, told: instrument::told_digest_bytes() }
    }
}

/// A text without the passwords in it; `None`: there are none.
#[cold]
pub(crate) fn without_secrets(text: &[u8]) -> Option<Vec<u8>> {
    may_have(text).then(|| hidden(&String::from_utf8_lossy(text)).into_bytes())
}
