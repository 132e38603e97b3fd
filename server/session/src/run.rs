//! Statements that the session runs itself, and what comes before any statement.
//!
//! 1. A statement that ends in an error leaves nothing of its result in the buffer, unless part of it has been sent.
//! 2. Rows go to the client as they are made: nothing of a result is kept here.

use crate::core::{
    Core, Descriptor, DiagnosticsUse, Done, Holding, LockDuration, Reply, Runner, SendRows, Written,
};
use crate::diagnostics::Level;
use crate::errors::{self, SessionError};
use crate::logins::Use;
use crate::net::Net;
use executor::{ResultColumn, RowSink, SqlError};
use instrument::Counter;
use parser::ast::Statement;
use wire::reply;

/// Whether statements that are counted so change rows.
fn changes_rows(counter: Counter) -> bool {
    use Counter as C;
    let changes = [
        C::ComInsert,
        C::ComInsertSelect,
        C::ComReplace,
        C::ComReplaceSelect,
        C::ComUpdate,
        C::ComUpdateMulti,
        C::ComDelete,
        C::ComDeleteMulti,
        C::ComLoad,
    ];
    changes.contains(&counter)
}

impl Core {
    /// Raises what the parser warns of.
    pub(crate) fn warn_of_text(&mut self, warnings: &[parser::Warning]) {
        for (number, text) in warnings {
            self.env.diagnostics.add(Level::Warning, *number, text.to_string());
        }
    }

    /// What must happen before a statement of a kind: LOCK TABLES and READ ONLY may refuse it (1192, 1792), and the
    /// open transaction may have to be committed.
    pub fn before(&mut self, kind: &Descriptor) -> Result<(), SqlError> {
        if self.env.login.is_limited {
            self.check_limits(kind)?;
        }
        if !kind.under_lock_tables && self.tables.tables_are_locked() {
            return Err(SessionError::LockedOrInTransaction.into());
        }
        if kind.implicit_commit {
            self.commit_work()?;
        }
        if !kind.in_read_only && self.transaction.characteristics.read_only {
            return Err(SessionError::ReadOnlyTransaction.into());
        }
        self.transaction.holding = match kind.locks {
            // What the session runs ends no statement of the engine's.
            _ if !matches!(kind.runner, Runner::Executor) => Holding::Transaction,
            _ if kind.implicit_commit => Holding::Nothing,
            LockDuration::Statement => Holding::Since(self.tables.mark()),
            LockDuration::Transaction => Holding::Transaction,
        };
        Ok(())
    }

    /// Whether the session may run a statement, as far as its kind says what that needs.
    ///
    /// # Errors
    /// 1044, 1142, 1227; 1820 while the account's password is expired.
    #[inline]
    pub(crate) fn check_needs(
        &self,
        kind: &Descriptor,
        statement: &Statement,
    ) -> Result<(), SqlError> {
        match kind.needs {
            Some(check) => check(self, statement),
            None => Ok(()),
        }
    }

    /// An expired password, what the account may do in an hour, and a branch that no statement but XA's ends.
    ///
    /// # Errors
    /// 1820, 1226, 1399.
    #[cold]
    fn check_limits(&mut self, kind: &Descriptor) -> Result<(), SqlError> {
        if self.env.login.password_expired && !kind.with_expired_password {
            return Err(SessionError::MustChangePassword.into());
        }
        if kind.implicit_commit {
            self.branch.admit_end()?;
        }
        let Some(limits) = self.env.login.limits else { return Ok(()) };
        let (logins, name) = (&self.env.server.logins, &self.env.login.rights.name);
        logins.count(name, limits, Use::Query)?;
        let changes = kind.implicit_commit || kind.counter.is_some_and(changes_rows);
        if changes { logins.count(name, limits, Use::Update) } else { Ok(()) }
    }

    /// Runs a statement that is not the executor's and writes its reply; false when it ended in an error.
    pub fn run_in_session(
        &mut self,
        statement: &Statement,
        kind: &Descriptor,
        binary: bool,
        net: &mut dyn Net,
    ) -> bool {
        let allowed = self.before(kind).and_then(|()| self.check_needs(kind, statement));
        let result = allowed.and_then(|()| match kind.runner {
            Runner::Executor => Err(SessionError::Internal("a statement of the executor").into()),
            Runner::Refused(words) => Err(errors::unsupported(words(statement))),
            Runner::Nested(run) => Ok(run(self, statement, net)),
            Runner::Session(run) => {
                let before = self.env.diagnostics.warning_count();
                run(self, statement).map(|done| self.reply_done(done, kind, before))
            }
            Runner::Rows(columns, rows) => columns(self, statement)
                .map(|columns| self.send_rows(&columns, rows, (statement, kind), binary, net)),
        });
        result.unwrap_or_else(|error| {
            self.send_error(&error);
            false
        })
    }

    /// The OK of a statement; so many warnings were there before it.
    fn reply_done(&mut self, done: Done, kind: &Descriptor, warnings_before: u64) -> bool {
        if kind.diagnostics == DiagnosticsUse::Adds {
            // It changes nothing that it can be asked for; only its own conditions are announced.
            let added = self.env.diagnostics.warning_count().saturating_sub(warnings_before);
            let added = added.min(u64::from(u16::MAX)) as u16;
            self.send_ok_warning(&reply::Ok::default(), added);
            return true;
        }
        self.env.last.row_count = done.affected_rows as i64;
        let Done { affected_rows, info } = done;
        self.send_ok_with(&reply::Ok {
            affected_rows,
            info: info.as_bytes(),
            ..reply::Ok::default()
        });
        true
    }

    /// Sends a result set; false when it ended in an error.
    fn send_rows(
        &mut self,
        columns: &[ResultColumn],
        rows: SendRows,
        (statement, kind): (&Statement, &Descriptor),
        binary: bool,
        net: &mut dyn Net,
    ) -> bool {
        // Who makes the rows has the session, the sink has its send buffer.
        let mut reply = std::mem::replace(&mut self.reply, Reply::new());
        let mut written = Written::at(&reply.out);
        let mut sink = reply.rows(net, &self.env, binary);
        let result = sink.header(columns).and_then(|()| rows(self, statement, &mut sink));
        written.take(&sink);
        self.reply = reply;
        if let Err(error) = result {
            self.reply.withdraw(&written);
            if !written.gone {
                self.send_error(&error);
            }
            return false;
        }
        self.env.last.row_count = -1;
        let warnings = match kind.diagnostics {
            DiagnosticsUse::Lists => 0,
            _ => self.env.diagnostics.wire_count(),
        };
        self.send_end_of_rows_warning(warnings);
        true
    }
}
