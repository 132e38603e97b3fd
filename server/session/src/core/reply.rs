//! The answer to a command, on its way into the send buffer.
//!
//! 1. An error replaces what was written of a statement's result, unless part of it has been sent. 2. The last packet
//! of an answer carries the session's status and its count of warnings as they are then.
//! 3. Once the connection is to end nothing changes that.

use crate::env::Env;
use crate::net::Net;
use crate::sink::Rows;
use catalog::{Catalog, CatalogError};
use executor::SqlError;
use instrument::{Counter, count};
use mdl::MdlError;
use wire::Outbox;
use wire::constants::ColumnCode;
use wire::reply;

/// The answer that is being written.
#[repr(C)]
pub(crate) struct Reply {
    /// Rows sent, and errors, of the statement that runs.
    rows_sent: u64,
    errors: u64,
    /// Column types of the result being sent; reused.
    pub codes: Vec<ColumnCode>,
    closing: bool,
    /// Send buffer.
    pub out: Outbox,
}

/// What was written of a statement's result, and where it began.
pub(crate) struct Written {
    start: usize,
    seq: u8,
    /// Something was sent already.
    pub flushed: bool,
    /// The client is gone.
    pub gone: bool,
}

impl Written {
    /// Nothing yet: what is written begins here.
    #[inline]
    pub fn at(out: &Outbox) -> Written {
        let (start, seq) = (out.len(), out.seq());
        Written { start, seq, flushed: false, gone: false }
    }

    /// What became of the rows.
    #[inline]
    pub fn take(&mut self, rows: &Rows<'_>) {
        self.flushed = rows.flushed;
        self.gone = rows.gone;
        if rows.bytes_sent != 0 {
            count(Counter::BytesSent, rows.bytes_sent);
        }
    }
}

impl Reply {
    /// An empty one.
    pub fn new() -> Reply {
        let (out, codes) = (Outbox::new(), Vec::new());
        Reply { out, codes, closing: false, rows_sent: 0, errors: 0 }
    }

    /// QUIT, SHUTDOWN, a killed connection or a lost client: the connection ends with this answer.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// See [`Reply::close`].
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Counts a row that is sent by other ways than [`Reply::rows`].
    pub fn count_row(&mut self) {
        self.rows_sent += 1;
    }

    /// How many rows were sent and errors answered since the last call.
    #[inline]
    pub fn take_counts(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.rows_sent), std::mem::take(&mut self.errors))
    }

    /// The way of a statement's rows, in binary form or as text.
    #[inline]
    pub fn rows<'a>(&'a mut self, net: &'a mut dyn Net, env: &Env, binary: bool) -> Rows<'a> {
        Rows::new((&mut self.out, &mut self.rows_sent), net, env, &mut self.codes, binary)
    }

    /// Takes back what was written of a result, as far as it has not been sent.
    pub fn withdraw(&mut self, written: &Written) {
        if !written.flushed {
            self.out.rewind(written.start, written.seq);
        }
        self.closing |= written.gone;
    }

    /// An OK packet; the status is filled in.
    pub fn ok(&mut self, env: &Env, ok: &reply::Ok<'_>, warnings: u16) {
        reply::ok(
            &mut self.out,
            env.link.caps,
            &reply::Ok { status: env.link.status, warnings, ..*ok },
        );
    }

    /// The packet behind the rows of a result.
    #[inline]
    pub fn end_of_rows(&mut self, env: &Env, warnings: u16) {
        reply::end_of_rows(&mut self.out, env.link.caps, env.link.status, warnings);
    }

    /// The same, with changes of the session's state.
    pub fn end_of_rows_changed(&mut self, env: &Env, warnings: u16, changes: &[u8]) {
        let ok = reply::Ok { status: env.link.status, warnings, changes, ..reply::Ok::default() };
        reply::end_of_rows_changed(&mut self.out, env.link.caps, &ok);
    }

    /// An error packet, which is noted in the diagnostics area.
    pub fn error(&mut self, env: &mut Env, error: &SqlError, catalog: &Catalog) {
        self.errors += 1;
        let named = executor::named(error, catalog);
        let (code, state, text) = named.as_ref().unwrap_or(error).parts();
        let signalled = env.signalled.take();
        let state = state.as_bytes().try_into().unwrap_or(*b"HY000");
        let state: [u8; 5] = signalled.as_ref().map_or(state, |signalled| signalled.state);
        env.diagnostics.add_error(code, text.clone(), (state, signalled));
        let mut first = error;
        if let SqlError::Followed(of, code, text) = error {
            env.note_error(*code, text);
            first = of;
        }
        if matches!(first, SqlError::Catalog(CatalogError::Lock(MdlError::TimedOut))) {
            env.note_blockers(code);
        }
        env.last.row_count = -1;
        let text = env.cached.charsets.message(&text);
        reply::error(&mut self.out, code, Some(&state), &text);
    }
}
