//! Cursors: rows of a prepared query that are kept until the client fetches them.
//!
//! 1. A cursor has all its rows when it is opened, so neither changes nor the end of a transaction touch them.
//! 2. Rows are kept as the packets that they will be: the first of them in memory, the others in a file without a name.
//! 3. A statement has one cursor; running, resetting or closing the statement closes it.

use crate::core::{Caches, Core, Cursor, Pending, Reply, Written};
use crate::errors::SessionError;
use crate::net::Net;
use crate::sink::{self, Rows};
use executor::spool::Spool;
use executor::{Context, Prepared, ResultColumn, RowSink, SqlError};
use instrument::{Counter, count};
use value::Datum;
use wire::Outbox;
use wire::constants::StatusFlags;
use wire::reply;

/// COM_STMT_EXECUTE's flag for a cursor; the others change nothing.
pub(crate) const CURSOR_READ_ONLY: u8 = 1;
/// Bytes that may gather before they are sent.
const SEND_AT_BYTES: usize = 64 * 1024;

/// Takes a query's rows for a cursor; its columns go to the client.
struct Keeper<'a> {
    out: &'a mut Outbox,
    rows: Rows<'a>,
}

impl RowSink for Keeper<'_> {
    fn header(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        let kept: Vec<ResultColumn> = columns.iter().map(ResultColumn::as_materialized).collect();
        let metadata = self.rows.metadata;
        reply::column_count(self.out, kept.len(), metadata);
        for column in kept.iter().filter(|_| metadata.is_sent()) {
            sink::put_column(self.out, column, &self.rows.charsets, None);
        }
        self.rows.begin_described(&kept);
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        self.rows.row(values)
    }
}

/// Packets on their way aside.
struct Aside {
    spool: Spool,
    failed: Option<SqlError>,
}

impl Net for Aside {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.spool.append(bytes).map_err(|error| {
            self.failed = Some(error);
            std::io::ErrorKind::Other.into()
        })
    }
}

impl Core {
    /// Runs a query and keeps its rows. The reply says that there is a cursor, or what went wrong.
    ///
    /// # Errors
    /// 1323 for SELECT ... INTO.
    pub(crate) fn open_cursor(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum<'_>],
    ) -> Result<(Option<Box<Cursor>>, Pending), SqlError> {
        if prepared.has_into() {
            return Err(SessionError::CursorWithInto.into());
        }
        let Self {
            env,
            client,
            tables,
            caches: Caches { states, .. },
            reply: Reply { out, codes, .. },
            ..
        } = self;
        let written = Written::at(out);
        let mut packets = Outbox::new();
        let mut aside = Aside { spool: Spool::new(client.temporary_files()), failed: None };
        if !env.autocommit() {
            client.begin();
        }
        env.last.insert_id_given = false;
        // They are sent when they are fetched.
        let mut kept = 0;
        let rows = Rows::new((&mut packets, &mut kept), &mut aside, env, codes, true);
        let mut keeper = Keeper { out, rows };
        let context = &mut Context { client, tables, env, states };
        let result = executor::execute(prepared, context, params, &mut keeper);
        let result = match (result, aside.send(packets.bytes())) {
            (Ok(outcome), Ok(())) => Ok(outcome),
            (result, _) => Err(aside.failed.take().or(result.err()).unwrap_or_else(|| {
                SqlError::from(SessionError::Internal("a cursor without rows"))
            })),
        };
        self.env.link.status.set(StatusFlags::CURSOR_EXISTS, true);
        let opened = self.conclude(result, &written);
        self.env.link.status.set(StatusFlags::CURSOR_EXISTS, false);
        if !opened {
            return Ok((None, Pending::Nothing));
        }
        Ok((Some(Box::new(Cursor { rows: aside.spool.into_reader()? })), Pending::Cursor))
    }

    /// COM_STMT_FETCH.
    pub(crate) fn fetch_command(&mut self, id: u32, rows: u32, net: &mut dyn Net) {
        count(Counter::ComStmtFetch, 1);
        let cursor = match self.statements.cursor(id) {
            None => {
                let id = id.to_string();
                return self.send_error(
                    &SessionError::UnknownStatement(&id, "mysql_stmt_precheck").into(),
                );
            }
            Some(cursor) => cursor.take(),
        };
        let Some(mut cursor) = cursor else {
            return self.send_error(&SessionError::NoCursor(&id.to_string()).into());
        };
        match self.fetch(&mut cursor, rows, net) {
            Ok(more) => {
                let flag =
                    if more { StatusFlags::CURSOR_EXISTS } else { StatusFlags::LAST_ROW_SENT };
                let mut status = self.env.link.status;
                status.set(flag, true);
                let warnings = self.env.diagnostics.wire_count();
                reply::end_of_rows(&mut self.reply.out, self.env.link.caps, status, warnings);
                if let (true, Some(place)) = (more, self.statements.cursor(id)) {
                    *place = Some(cursor);
                }
            }
            Err(error) => self.fail_fetch(&error),
        }
    }

    /// Ends a fetch that failed. A client whose connection was killed finds it closed, without an answer; the fetch has failed
    /// all the same.
    fn fail_fetch(&mut self, error: &SqlError) {
        if self.client.slot().kill_level() == sync::KILL_CONNECTION {
            let written = Written::at(&self.reply.out);
            self.send_error(&SqlError::Storage(base::Error::Killed));
            self.reply.withdraw(&written);
            self.reply.close();
        } else if !self.reply.is_closing() {
            self.send_error(error);
        }
    }

    /// Sends so many rows; false when there were no more.
    fn fetch(
        &mut self,
        cursor: &mut Cursor,
        rows: u32,
        net: &mut dyn Net,
    ) -> Result<bool, SqlError> {
        let mut packet = Vec::new();
        for _ in 0..rows {
            if self.client.slot().killed() {
                return Err(SqlError::Storage(base::Error::Killed));
            }
            if !cursor.rows.next_packet(&mut packet)? {
                return Ok(false);
            }
            self.reply.out.replay(&packet);
            self.reply.count_row();
            if self.reply.out.len() >= SEND_AT_BYTES {
                count(Counter::BytesSent, self.reply.out.len() as u64);
                let sent = net.send(self.reply.out.bytes());
                self.reply.out.clear();
                if sent.is_err() {
                    self.reply.close();
                }
                sent.map_err(|_| SessionError::CannotSend)?;
            }
        }
        Ok(true)
    }
}
