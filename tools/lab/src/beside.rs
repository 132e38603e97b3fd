//! What others do while a load is measured: lists of processes, an ALTER behind an idle transaction, an old view.
//!
//! It begins with the measurement, when all users are prepared, and ends by itself when that is over: users that wait for it go on then.
//! A view that is to be old is there before the users are, and as long as they are.

use crate::data::{SCHEMA, table};
use crate::sampler::HISTORY;
use crate::{interrupt, trace};
use client::{Client, Dsn, Failure};
use host::thread::JoinHandle;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
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
    /// The same, and all users have worked for a while when the measurement begins.
    OldView,
}

const BETWEEN_LISTS: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(50);
/// Age of an old view when the measurement begins: whole, and with `--quick`.
const AGE: Duration = Duration::from_secs(60);
const AGE_QUICK: Duration = Duration::from_secs(10);
/// Longest wait for the purge of what an old view kept back, and as many transactions as any load leaves for it.
const PURGE: Duration = Duration::from_secs(60);
const HISTORY_LEN_SHORT: f64 = 1_000.0;

/// Others at work, until they hear that there is nobody any more to tell them to end.
pub struct Others {
    thread: JoinHandle<Result<Option<f64>, String>>,
    is_wanted: Sender<()>,
}

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
        let (dsn, (is_wanted, ends)) = (dsn.clone(), channel());
        let told = |done: Result<(), Failure>| done.map(|()| None).map_err(|e| e.to_string());
        let work = move || match self {
            Beside::Nothing => Ok(None),
            Beside::ProcessLists => told(process_lists(&dsn, length)),
            Beside::Alter => told(alter(&dsn, length)),
            Beside::View => told(view(&dsn, length)),
            Beside::OldView => told(old_view(&dsn, &ends)),
            Beside::Trace => trace::count(trace::look(pid)?, length).map(Some),
        };
        if self == Beside::Nothing {
            return Ok(None);
        }
        let thread = host::thread::spawn("lab_beside", work);
        let others = thread.map(|thread| Some(Others { thread, is_wanted }));
        others.map_err(|e| format!("a thread: {e}"))
    }

    /// How long users are to work beside it before they are measured; `None` where it begins with the measurement.
    pub fn age(self, is_quick: bool) -> Option<Duration> {
        (self == Beside::OldView).then_some(if is_quick { AGE_QUICK } else { AGE })
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
            Beside::OldView => "a transaction keeps a view of 60 s before (10 s with --quick)",
        }
    }
}

impl Others {
    /// Waits for their end; system calls, where they were counted.
    ///
    /// # Errors
    /// What failed.
    pub fn end(self) -> Result<Option<f64>, String> {
        drop(self.is_wanted);
        match self.thread.join() {
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

/// A view until it is not wanted any more, and then until what it kept back is purged: what is measured next begins without.
fn old_view(dsn: &Dsn, ends: &Receiver<()>) -> Result<(), Failure> {
    let mut holder = Client::connect(dsn)?;
    holder.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    while ends.try_recv() == Err(TryRecvError::Empty) && !interrupt::is_asked() {
        interrupt::pause(LOOK);
    }
    holder.run("ROLLBACK")?;
    // One that does not tell is not waited for.
    let mut history_len = || holder.value(HISTORY).ok()?.parse::<f64>().ok();
    let begun = host::clock::now();
    while history_len().is_some_and(|length| length > HISTORY_LEN_SHORT)
        && begun.elapsed() < PURGE
        && !interrupt::is_asked()
    {
        interrupt::pause(LOOK);
    }
    Ok(())
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
