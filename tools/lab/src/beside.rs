//! What others do while a load is measured: lists of processes, an ALTER behind an idle transaction.
//!
//! It begins with the measurement, when all users are prepared, and ends by itself when that is over: users that wait for it go on then.

use crate::data::{SCHEMA, table};
use crate::interrupt;
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
    /// A transaction that has read the first table stays idle, and an ALTER of that table waits.
    Alter,
}

const BETWEEN_LISTS: Duration = Duration::from_millis(10);

/// Others at work.
pub struct Others(JoinHandle<Result<(), Failure>>);

impl Beside {
    /// Begins, for a length of time; `None` where nothing is to be done.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn begin(self, dsn: &Dsn, length: Duration) -> Result<Option<Others>, String> {
        let dsn = dsn.clone();
        let work: fn(&Dsn, Duration) -> Result<(), Failure> = match self {
            Beside::Nothing => return Ok(None),
            Beside::ProcessLists => process_lists,
            Beside::Alter => alter,
        };
        let thread = host::thread::spawn("lab_beside", move || work(&dsn, length));
        thread.map(|thread| Some(Others(thread))).map_err(|e| format!("a thread: {e}"))
    }

    /// Words for tables; empty for nothing.
    pub fn words(self) -> &'static str {
        match self {
            Beside::Nothing => "",
            Beside::ProcessLists => "100 process lists a second beside it",
            Beside::Alter => "an ALTER of the table waits for an idle transaction",
        }
    }
}

impl Others {
    /// Waits for their end.
    ///
    /// # Errors
    /// What failed.
    pub fn end(self) -> Result<(), String> {
        match self.0.join() {
            Ok(done) => done.map_err(|failure| format!("what runs beside the load: {failure}")),
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
