//! What others do while a load is measured: lists of processes, an ALTER behind an idle transaction, an old view.
//!
//! It begins with the measurement, when all users are prepared, and ends by itself when that is over: users that wait for it go on then.

use crate::data::{SCHEMA, table};
use crate::{interrupt, trace};
use client::{Client, Dsn, Failure};
use host::thread::JoinHandle;
use std::time::Duration;

/// What others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// A list of processes, a hundred times a second.
    ProcessLists,
    /// The server's system calls are counted.
    Trace,
    /// A transaction that has read the first table stays idle, and an ALTER of that table waits.
    Alter,
    /// A transaction keeps its view, so that nothing that is changed meanwhile can be purged.
    View,
}

const BETWEEN_LISTS: Duration = Duration::from_millis(10);

/// Others at work.
pub struct Others(JoinHandle<Result<Option<f64>, String>>);

impl Beside {
    /// Begins, for a length of time; `None` where nothing is to be done.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn begin(
        self,
        dsn: &Dsn,
        pid: Option<u32>,
        length: Duration,
    ) -> Result<Option<Others>, String> {
        let dsn = dsn.clone();
        let told = |done: Result<(), Failure>| done.map(|()| None).map_err(|e| e.to_string());
        let work = move || match self {
            Beside::Nothing => Ok(None),
            Beside::ProcessLists => told(process_lists(&dsn, length)),
            Beside::Alter => told(alter(&dsn, length)),
            Beside::View => told(view(&dsn, length)),
            Beside::Trace => trace::count(trace::look(pid)?, length).map(Some),
        };
        if self == Beside::Nothing {
            return Ok(None);
        }
        let thread = host::thread::spawn("lab_beside", work);
        thread.map(|thread| Some(Others(thread))).map_err(|e| format!("a thread: {e}"))
    }

    /// Whether this can be done to a server.
    ///
    /// # Errors
    /// Why not.
    pub fn look(self, pid: Option<u32>) -> Result<(), String> {
        match self {
            Beside::Trace => trace::look(pid).map(drop),
            _ => Ok(()),
        }
    }

    /// Words for tables; empty for nothing.
    pub fn words(self) -> &'static str {
        match self {
            Beside::Nothing => "",
            Beside::Trace => "strace counts the server's system calls",
            Beside::ProcessLists => "100 process lists a second beside it",
            Beside::Alter => "an ALTER of the table waits for an idle transaction",
            Beside::View => "a transaction keeps a view of before",
        }
    }
}

impl Others {
    /// Waits for their end; system calls, where they were counted.
    ///
    /// # Errors
    /// What failed.
    pub fn end(self) -> Result<Option<f64>, String> {
        match self.0.join() {
            Ok(done) => done.map_err(|why| format!("what runs beside the load: {why}")),
            Err(_) => Err("what runs beside the load panicked".into()),
        }
    }
}

/// Until the time is over, or the run is.
fn wait(length: Duration, mut each: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    let end = host::clock::now() + length;
    while host::clock::now() < end && !interrupt::is_asked() {
        each()?;
        interrupt::pause(BETWEEN_LISTS);
    }
    Ok(())
}

fn process_lists(dsn: &Dsn, length: Duration) -> Result<(), Failure> {
    let mut client = Client::connect(dsn)?;
    wait(length, || client.run("SHOW FULL PROCESSLIST").map(drop))
}

fn view(dsn: &Dsn, length: Duration) -> Result<(), Failure> {
    let mut holder = Client::connect(dsn)?;
    holder.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    wait(length, || Ok(()))?;
    holder.run("ROLLBACK").map(drop)
}

fn alter(dsn: &Dsn, length: Duration) -> Result<(), Failure> {
    let name = format!("{SCHEMA}.{}", table(1));
    let mut holder = Client::connect(dsn)?;
    holder.run("BEGIN")?;
    holder.run(&format!("SELECT COUNT(*) FROM {name} WHERE id = 1"))?;
    let (other, sql) = (dsn.clone(), format!("ALTER TABLE {name} COMMENT = 'changed by the lab'"));
    let waiter = host::thread::spawn("lab_alter", move || -> Result<(), Failure> {
        let mut client = Client::connect(&other)?;
        // It waits as long as the holder does; a socket has a limit or none.
        let _as_before = client.set_patience(None);
        client.run(&sql).map(drop)
    });
    wait(length, || Ok(()))?;
    holder.run("ROLLBACK")?;
    match waiter.map(JoinHandle::join) {
        Ok(Ok(done)) => done,
        // No thread, so nobody waited: the load is one beside nothing, and must not be taken for another.
        _ => {
            Err(Failure { number: 1135, state: "HY000".into(), text: "no thread for ALTER".into() })
        }
    }
}
