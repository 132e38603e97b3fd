//! What a session is: the parts of its state, each with its own rules, and what it knows of a kind of statement.
//!
//! 1. What a session does is in the modules above, each an `impl Core`. A module calls only those that are declared
//! before it in `lib.rs` (`cargo xtask tidy` looks); a statement that runs a statement goes through
//! [`Descriptor::runner`]. 2. A part is changed by its own methods and by the module that is about it.

mod branch;
mod descriptor;
mod events;
mod identity;
mod programs;
mod protocol;
mod reply;
mod statements;
mod transaction;
mod transaction_events;

pub(crate) use branch::{BranchPhase, SessionBranch};
pub(crate) use descriptor::{Descriptor, DiagnosticsUse, Done, LockDuration, Runner, SendRows};
pub(crate) use events::{Digested, Ended, Events, instruments};
pub(crate) use identity::{Identity, Phase};
pub(crate) use programs::{CachedProgram, Programs, Scan};
pub(crate) use protocol::Protocol;
pub(crate) use reply::{Reply, Written};
pub(crate) use statements::{
    Cursor, Executed, Pending, PrepareSchema, PreparedStatement, StatementCode, Statements,
};
pub(crate) use transaction::{
    Characteristics, Holding, Savepoint, Transaction, isolation_numbered,
};

use crate::env::Env;
use crate::registry::Entry;
use crate::tracking::{Now, did};
use catalog::TableCache;
use engine::Client;
use executor::{Context, OwnedDatum, SqlError, States};
use parser::ast::Statement;
use std::sync::Arc;
use wire::constants::Capabilities;
use wire::reply as packet;

/// Everything of a session but the bytes it reads.
///
/// Who runs one statement after another for many sessions finds their lines in no cache: the fewer a short statement touches,
/// the better. So the order of fields is that of memory, here and in the parts. What it looks at comes last in one part and first
/// in the next one, and what it does not lies between such pairs.
#[repr(C)]
pub(crate) struct Core {
    /// What statements see.
    pub env: Env,
    /// Transaction and slots of the engine.
    pub client: Client,
    /// The branch of a distributed transaction that it works on.
    pub branch: SessionBranch,
    /// Parameters of the statement that the session runs itself (`SET @a = ?`).
    pub parameters: Vec<OwnedDatum>,
    /// Finds what is known of a statement's kind.
    pub describe: fn(&Statement) -> &'static Descriptor,
    /// What its statements cost.
    pub events: Events,
    pub transaction: Transaction,
    pub reply: Reply,
    pub statements: Statements,
    /// Open tables and metadata locks.
    pub tables: TableCache,
    pub caches: Caches,
    pub identity: Identity,
    pub protocol: Protocol,
    /// The session's slot in the registry.
    pub slot: usize,
    /// What the registry shows of it.
    pub entry: Arc<Entry>,
    /// What the client sent for the command that runs may tell a password.
    pub has_secret: bool,
}

/// What a session keeps from statement to statement to be faster; without it everything is the same.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Caches {
    /// Operators and buffers of programs between two runs.
    pub states: States,
    /// Buffers for reading a text; `None` while one is read.
    pub scan: Option<Box<Scan>>,
    /// Programs of its texts.
    pub programs: Programs,
}

impl Caches {
    /// The session rests: what is made anew by the next run goes.
    pub fn rest(&mut self) {
        (self.states, self.scan) = (States::default(), None);
    }
}

impl Core {
    /// What the executor runs in.
    pub fn context(&mut self) -> Context<'_> {
        let Self { client, tables, env, caches, .. } = self;
        Context { client, tables, env, states: &mut caches.states }
    }

    /// Writes an error packet and notes it in the diagnostics area.
    pub fn send_error(&mut self, error: &SqlError) {
        self.reply.error(&mut self.env, error, self.tables.catalog());
    }

    /// Writes an OK packet without numbers.
    pub fn send_ok(&mut self) {
        self.send_ok_with(&packet::Ok::default());
    }

    /// Writes an OK packet; status and warnings are filled in.
    #[inline]
    pub fn send_ok_with(&mut self, ok: &packet::Ok<'_>) {
        self.events.rows_affected = ok.affected_rows;
        self.send_ok_warning(ok, self.env.diagnostics.wire_count());
    }

    /// Writes an OK packet that tells of so many warnings.
    #[inline]
    pub fn send_ok_warning(&mut self, ok: &packet::Ok<'_>, warnings: u16) {
        if self.env.link.tracker.watches {
            let changes = self.changes();
            return self.reply.ok(&self.env, &packet::Ok { changes: &changes, ..*ok }, warnings);
        }
        self.reply.ok(&self.env, ok, warnings);
    }

    /// Writes the packet behind the rows of a result.
    #[inline]
    pub fn send_end_of_rows(&mut self) {
        self.send_end_of_rows_warning(self.env.diagnostics.wire_count());
    }

    /// The same, telling of so many warnings.
    #[inline]
    pub fn send_end_of_rows_warning(&mut self, warnings: u16) {
        if self.env.link.tracker.watches {
            return self.end_tracked_rows(warnings);
        }
        self.reply.end_of_rows(&self.env, warnings);
    }

    #[cold]
    fn end_tracked_rows(&mut self, warnings: u16) {
        self.env.link.tracker.did(did::RESULT);
        match self.env.link.caps.has(Capabilities::DEPRECATE_EOF) {
            true => {
                let changes = self.changes();
                self.reply.end_of_rows_changed(&self.env, warnings, &changes);
            }
            // An EOF has no room for changes: the next OK tells of them.
            false => self.reply.end_of_rows(&self.env, warnings),
        }
    }

    /// What has changed since the client was told last.
    #[cold]
    fn changes(&mut self) -> Vec<u8> {
        let mut tracker = std::mem::take(&mut self.env.link.tracker);
        let on = |name| self.env.vars.number(name) != 0;
        let now = Now {
            open: self.transaction.open,
            locked: self.tables.tables_are_locked(),
            schema: self.env.database.as_deref().unwrap_or_default(),
            tracks: (on("session_track_schema"), on("session_track_state_change")),
        };
        let changes = tracker.take(now, |id| id.get().kind.show(&self.env.variable(id, false)));
        self.env.link.tracker = tracker;
        changes
    }
}
