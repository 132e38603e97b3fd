//! Runs plans: a point program for reads by primary key, row operators for the rest, DDL and SHOW.
//!
//! Reading order: this file (what a session calls), [`program`] and [`prepared`] (compiled statements, and a session's use of
//! them), [`states`], [`point`] (the hot path), [`kept`] (programs of texts), [`query`] and [`ops`] (how rows are found), [`insert`], [`change`], [`write`] (how a row is written), [`ddl`], [`show`], [`maintain`].
//!
//! 1. A statement that fails leaves no change behind: DML rolls back to its own mark. 2. Metadata
//! locks taken here are given back by the session, at the end of the statement (autocommit) or of
//! the transaction. 3. The hot path of a point select allocates nothing and writes nothing that
//! another session reads.

mod change;
mod checksum;
mod columns;
mod create_text;
mod damage;
mod ddl;
mod error;
mod examined;
mod explain;
mod files;
mod foreign;
mod histogram;
mod indexes;
mod insert;
mod keyrange;
mod kind;
mod lock_tables;
mod locking;
mod maintain;
mod memory;
mod operators;
mod ops;
mod parameters;
mod point;
mod prepared;
mod program;
pub mod program_reuse;
mod query;
mod quoting;
mod rows;
mod show;
mod spill;
pub mod spool;
mod states;
mod turns;
mod views;
mod virtual_change;
mod write;

pub use damage::named;
pub use error::ExecError;
pub use expr::{AutoincMode, Environment, OwnedDatum, SqlError, WarningLevel};
pub use insert::load::local_disabled;
pub use lock_tables::{flush_and_lock, flushed_names, lock_tables};
pub use planner::parameters::{Parameter, ParameterType};
pub use planner::plan::{KeyFlags, ResultColumn};
pub use prepared::{Prepared, execute, prepare, prepare_open};
pub use program::Program;
pub use states::States;
pub use turns::in_turns;

use catalog::TableCache;
use engine::Client;
use ops::OUTPUTS_FEW;
use parser::ast;
use planner::literals::Literals;
use planner::parameters::Parameters;
use planner::{Plan, PlanContext};
use smallvec::SmallVec;
use value::{Datum, RowLayout};

/// Where result rows go.
pub trait RowSink {
    /// Announces the columns; called once, before the first row.
    fn header(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError>;
    /// As [`RowSink::header`], for columns that may be announced again and again: `memo` lives as long
    /// as they stay the same, and begins empty.
    fn header_again(
        &mut self,
        columns: &[ResultColumn],
        memo: &mut HeaderMemo,
    ) -> Result<(), SqlError> {
        let _ = memo;
        self.header(columns)
    }
    /// Asks the client for one of its files, for LOAD DATA LOCAL.
    ///
    /// # Errors
    /// 3948 where there is no client, or it sends none.
    fn local_file(&mut self, name: &[u8]) -> Result<Box<dyn std::io::Read + '_>, SqlError> {
        let _ = name;
        Err(local_disabled())
    }
    /// Sends a row.
    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError>;
    /// Takes a row whose values are columns of a stored one; `true`: [`RowSink::make_room`] comes before the next one.
    ///
    /// # Errors
    /// As [`RowSink::row`]; 1712 when the stored row is damaged.
    fn stored_row(
        &mut self,
        layout: &RowLayout,
        columns: &[usize],
        row: &[u8],
    ) -> Result<bool, SqlError> {
        send_decoded(self, layout, columns, row)?;
        Ok(false)
    }
    /// Sends what has gathered, if that is much.
    ///
    /// # Errors
    /// The client is gone.
    fn make_room(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
}

/// Sends columns of a stored row by [`RowSink::row`], as a list of values.
///
/// # Errors
/// As [`RowSink::stored_row`].
pub fn send_decoded<S: RowSink + ?Sized>(
    sink: &mut S,
    layout: &RowLayout,
    columns: &[usize],
    row: &[u8],
) -> Result<(), SqlError> {
    let mut values: SmallVec<[Datum<'_>; OUTPUTS_FEW]> = SmallVec::new();
    for column in columns {
        values.push(layout.decode(row, *column).map_err(expr::damaged)?);
    }
    sink.row(&values)
}

/// What a sink keeps of a header between two runs of a compiled statement.
#[derive(Debug, Default)]
pub struct HeaderMemo {
    /// What `bytes` depends on besides the columns, as the sink numbers it; 0 while there are none.
    pub key: u64,
    /// The header as the sink wrote it.
    pub bytes: Vec<u8>,
}

/// Everything a statement runs against.
pub struct Context<'a> {
    /// The engine's client of this session.
    pub client: &'a mut Client,
    /// Open tables and metadata locks of this session.
    pub tables: &'a mut TableCache,
    /// The session.
    pub env: &'a mut dyn Environment,
    /// What the session's programs keep between two runs.
    pub states: &'a mut States,
}

impl Context<'_> {
    fn planning(&mut self) -> PlanContext<'_> {
        self.tables.begin_planning();
        PlanContext {
            warnings: Vec::new(),
            literals: Literals::default(),
            parameters: Parameters::default(),
            client: self.client,
            database: self.env.database(),
            deadline: self.env.lock_deadline(),
            explains: false,
            opens: false,
            settings: expr::build::Settings {
                shows_locked: self.client.shows_locked(),
                ..expr::build::Settings::of(self.env)
            },
            rights: self.env.rights(),
            needs: Vec::new(),
            read_mode: mdl::Mode::SR,
            write_mode: mdl::Mode::SW,
            makes_view: false,
            in_select_list: false,
            variables: self.env,
            assigned: Vec::new(),
            tables: self.tables,
        }
    }

    /// Schema of a written name.
    /// The schema of a written name: its own, or the current one.
    ///
    /// # Errors
    /// 1046.
    pub fn schema_of(&self, name: &ast::ObjectName) -> Result<String, SqlError> {
        match (&name.schema, self.env.database()) {
            (Some(schema), _) => Ok(schema.clone()),
            (None, Some(database)) => Ok(database.to_string()),
            (None, None) => Err(SqlError::NoDatabase),
        }
    }
}

/// What a statement did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A result set was sent.
    pub has_rows: bool,
    /// FOUND_ROWS() afterwards; none of what leaves it as it was.
    pub found_rows: Option<u64>,
    /// Rows changed.
    pub affected_rows: u64,
    /// First generated AUTO_INCREMENT value, 0 if none: the next LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// What an INSERT tells the client where none was generated: the AUTO_INCREMENT value of the last row that it put
    /// into the table, or changed there. UPDATE tells 0, unless LAST_INSERT_ID(value) was called; `None`: the
    /// statement tells no number.
    pub row_id: Option<u64>,
    /// Info text of the OK packet.
    pub info: String,
}

/// Rows that nobody sees.
struct Nowhere;

impl RowSink for Nowhere {
    fn header(&mut self, _columns: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, _values: &[Datum<'_>]) -> Result<(), SqlError> {
        Ok(())
    }
}

/// Runs a plan that changes rows.
fn run_change(
    of: operators::Running<'_>,
    plan: &Plan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    match plan {
        Plan::Query(_) | Plan::Do(_) => {
            Err(SqlError::Storage(base::Error::Internal("a query changes no rows")))
        }
        Plan::Insert(insert) => {
            atomically(context, insert.ignore, |c| insert::run((insert, of), c, params))
        }
        Plan::Change(change) => {
            atomically(context, change.ignore, |c| change::run((change, of), c, params))
        }
        Plan::Virtual(change) => {
            let done = virtual_change::run(change, context, params)?;
            // What a strict change cannot take came before.
            match change.ignore {
                true => Ok(done),
                false => context.env.strict_failure().map_or(Ok(done), Err),
            }
        }
        // Its conversions raise their errors themselves.
        Plan::Load(load) => atomically(context, true, |c| insert::load::run(load, c, params, sink)),
    }
}

/// Runs a change; an error rolls back what this statement did and nothing more. Unless with IGNORE, a strict mode
/// takes a warning of an expression for an error.
fn atomically(
    context: &mut Context<'_>,
    ignore: bool,
    run: impl FnOnce(&mut Context<'_>) -> Result<Outcome, SqlError>,
) -> Result<Outcome, SqlError> {
    context.client.begin();
    context.client.set_reads_latest(true);
    let mark = context.client.mark();
    let done = run(context);
    // What a strict change cannot take came before the error that ends it, if one does.
    let done = match done {
        Err(SqlError::Storage(_)) => done,
        _ if ignore => done,
        _ => context.env.strict_failure().map_or(done, Err),
    };
    done.or_else(|error| {
        context.client.rollback_to(mark)?;
        Err(error)
    })
}
