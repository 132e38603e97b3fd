//! Programs of the executor run here, and their replies are written.

use crate::core::{Caches, Core, Written};
use crate::net::Net;
use crate::tracking::did;
use executor::{Context, Outcome, Prepared, SqlError};
use parser::ast::{Ddl, Statement};
use value::Datum;
use wire::reply;

impl Core {
    /// Runs a compiled statement and writes its whole reply; false when it ended in an error.
    #[inline]
    pub fn run_compiled(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum<'_>],
        binary: bool,
        net: &mut dyn Net,
    ) -> bool {
        let Self { env, client, tables, caches: Caches { states, .. }, reply, .. } = self;
        let mut written = Written::at(&reply.out);
        let mut rows = reply.rows(net, env, binary);
        if !env.autocommit() {
            client.begin();
        }
        env.last.insert_id_given = false;
        let context = &mut Context { client, tables, env, states };
        let result = executor::execute(prepared, context, params, &mut rows);
        written.take(&rows);
        if self.env.link.tracker.follows {
            self.note_touched(prepared, result.is_ok());
        }
        self.conclude(result, &written)
    }

    /// What a statement did that its client is told of.
    #[cold]
    fn note_touched(&mut self, prepared: &Prepared, went_well: bool) {
        let (reads, writes) = prepared.touches();
        let tracker = &mut self.env.link.tracker;
        tracker.did(if reads { did::READ } else { 0 });
        tracker.did(if writes { did::WRITE } else { 0 });
        let of_session = match prepared.statement() {
            Statement::Ddl(Ddl::CreateTable(create)) => create.temporary,
            Statement::Ddl(Ddl::DropTable(drop)) => drop.temporary,
            _ => false,
        };
        if of_session && went_well {
            tracker.state_changed();
        }
    }

    /// Ends the statement's transaction part and its reply.
    #[inline]
    pub(crate) fn conclude(
        &mut self,
        result: Result<Outcome, SqlError>,
        written: &Written,
    ) -> bool {
        let ended = self.end_statement(result.as_ref().err());
        let killed = !written.flushed && self.client.slot().kill_level() == sync::KILL_CONNECTION;
        match (&result, &ended) {
            (Ok(outcome), Ok(())) if !killed => {
                self.reply_outcome(outcome);
                true
            }
            (Ok(_), Ok(())) => {
                // KILL CONNECTION came while it ran: the client is told, not answered.
                self.reply.withdraw(written);
                self.send_error(&SqlError::Storage(base::Error::Killed));
                self.reply.close();
                false
            }
            (Err(error), _) | (_, Err(error)) => {
                self.reply.withdraw(written);
                if !written.gone {
                    self.send_error(error);
                }
                if killed {
                    // A client whose connection was killed finds it closed; the statement has failed all the same.
                    self.reply.withdraw(written);
                    self.reply.close();
                }
                false
            }
        }
    }

    /// Ends a statement that did not get as far as running; false.
    #[cold]
    pub(crate) fn refuse(&mut self, error: SqlError) -> bool {
        self.release_opened(&error);
        self.conclude(Err(error), &Written::at(&self.reply.out))
    }

    #[inline]
    fn reply_outcome(&mut self, outcome: &Outcome) {
        self.env.last.found_rows = outcome.found_rows.unwrap_or(self.env.last.found_rows);
        if outcome.has_rows {
            self.env.last.row_count = -1;
            return self.send_end_of_rows();
        }
        self.env.last.row_count = outcome.affected_rows as i64;
        if outcome.last_insert_id != 0 {
            self.env.last.last_insert_id = outcome.last_insert_id;
        }
        let told = match outcome.row_id {
            None => 0,
            Some(_) if outcome.last_insert_id != 0 => outcome.last_insert_id,
            Some(_) if self.env.last.insert_id_given => self.env.last.last_insert_id,
            Some(row_id) => row_id,
        };
        self.send_ok_with(&reply::Ok {
            affected_rows: outcome.affected_rows,
            last_insert_id: told,
            info: outcome.info.as_bytes(),
            ..reply::Ok::default()
        });
    }
}
