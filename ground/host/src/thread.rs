//! Threads with names: every thread of the server is started here.
//!
//! 1. A thread started in a simulation (`sync::sched`) takes part in it, and so does waiting for its end.
//! 2. Sessions and the server's own threads are numbered by one counter, and a number is given once: what
//!    `performance_schema` calls THREAD_ID. A thread is in the list of [`background`] exactly while it runs.
//! 3. A session or thread for which `performance_schema_max_thread_instances` leaves no room has the number 0 until it ends: it is in
//!    no list, nothing is measured of it, and it is counted as lost.

use instrument::{Collected, RowsOf, Surroundings};
use std::io;
// The list is the process's: simulations that run beside each other share it, and none may wait in it for its turn.
#[allow(clippy::disallowed_types)]
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};
use std::thread::Builder;
use sync::sched::{self, Joiner};

#[allow(clippy::disallowed_types)]
static RUNNING: Mutex<Vec<Background>> = Mutex::new(Vec::new());
#[allow(clippy::disallowed_types)]
static LAST_ID: AtomicU64 = AtomicU64::new(0);
#[allow(clippy::disallowed_types)]
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A thread of the server's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// Its number among sessions and threads.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The operating system's number of it.
    pub os_id: u64,
    /// [`sync::MONITORED`] and [`sync::HISTORY`].
    pub monitoring: u8,
}

#[allow(clippy::disallowed_types)]
fn running() -> MutexGuard<'static, Vec<Background>> {
    stdx::lock(&RUNNING)
}

/// The number of a session or thread that begins; 0: there is no room for it.
pub fn take_id() -> u64 {
    match RowsOf::Threads.take(1) {
        0 => 0,
        _ => LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
    }
}

/// The session or thread of this number ends, which [`take_id`] gave.
pub fn give_back_id(id: u64) {
    if id != 0 {
        RowsOf::Threads.give_back(1);
    }
}

/// The operating system's number of the calling thread; 0 where it is not told.
pub fn os_id() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").ok();
    let name = link.as_deref().and_then(|l| l.file_name()).and_then(|n| n.to_str());
    name.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The threads of the server's own that run now and for which there was room.
pub fn background() -> Vec<Background> {
    running().clone()
}

/// How many threads of the server's own were started, for which there was room.
pub fn started() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// Switches the monitoring of a thread of the server's own; false when none has this number.
pub fn set_monitoring(id: u64, bits: u8) -> bool {
    let mut list = running();
    let found = list.iter_mut().find(|t| t.id == id);
    let found = found.map(|t| t.monitoring = bits).is_some();
    drop(list);
    if found {
        instrument::watch_thread(id, bits & sync::MONITORED != 0);
    }
    found
}

/// Tells the instruments the clock, and what is kept of the events of sessions and threads.
pub fn surround_instruments() {
    instrument::surround(Surroundings { now_ns: sync::now_ns, kept });
}

/// What is kept of the events of a thread; the calling thread is that, or does something for it.
fn kept(id: u64) -> Collected {
    let of = |is_session: bool, monitoring: u8| Collected {
        is_session,
        is_instrumented: monitoring & sync::MONITORED != 0,
        has_history: monitoring & sync::HISTORY != 0,
    };
    let session = sync::with_current(|slot| {
        let slot = slot.filter(|slot| slot.thread_id.load(stdx::Ordering::Relaxed) == id);
        slot.map(sync::SessionSlot::monitoring)
    });
    if let Some(monitoring) = session {
        return of(true, monitoring);
    }
    let thread = running().iter().find(|thread| thread.id == id).map(|thread| thread.monitoring);
    match thread {
        Some(monitoring) => of(false, monitoring),
        // A session that nobody runs at the moment.
        None => of(true, sync::MONITORED | sync::HISTORY),
    }
}

/// Keeps the calling thread in the list of [`background`], if there is room for it.
#[derive(Debug)]
pub struct Listed(u64);

/// Lists the calling thread until what is returned is dropped. Threads of [`spawn`] list themselves.
pub fn list(name: &str) -> Listed {
    let monitoring = crate::thread_classes::begin(name);
    let id = take_id();
    instrument::name_thread(id);
    instrument::watch_own(id != 0 && monitoring & sync::MONITORED != 0);
    if id != 0 {
        STARTED.fetch_add(1, Ordering::Relaxed);
        let listed = Background { id, name: name.to_string(), os_id: os_id(), monitoring };
        running().push(listed);
    }
    Listed(id)
}

impl Drop for Listed {
    fn drop(&mut self) {
        running().retain(|t| t.id != self.0);
        give_back_id(self.0);
    }
}

/// A started thread; dropping it lets the thread run on.
#[derive(Debug)]
pub struct JoinHandle<T> {
    real: std::thread::JoinHandle<T>,
    simulated: Joiner,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end. The error is what the thread panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        self.simulated.join();
        self.real.join()
    }

    /// True when the thread has ended, so that `join` will not wait.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.simulated.ended().unwrap_or_else(|| self.real.is_finished())
    }

    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.real.thread().name().unwrap_or("")
    }
}

/// Starts a thread. `name` shows in `ps -L` (its first 15 bytes) and in panics.
///
/// Fails when the system has no room for another thread.
pub fn spawn<T, F>(name: &str, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let own = name.to_string();
    let listed = move || {
        let _listed = list(&own);
        f()
    };
    start(Builder::new(), name, listed)
}

/// As [`spawn`], with a stack of `stack_bytes` (mapped lazily), for a thread that runs statements; [`stdx::stack`] knows of it.
pub fn spawn_listed<T, F>(name: &str, stack_bytes: usize, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let own = name.to_string();
    let listed = move || {
        stdx::stack::begin(stack_bytes);
        let _listed = list(&own);
        f()
    };
    start(Builder::new().stack_size(stack_bytes), name, listed)
}

/// Starts a thread with a stack of `stack_bytes` (mapped lazily), for one thread per connection;
/// [`stdx::stack`] knows of it. It is not listed: the session that it carries has the number.
pub fn spawn_with_stack<T, F>(name: &str, stack_bytes: usize, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let told = move || {
        stdx::stack::begin(stack_bytes);
        f()
    };
    start(Builder::new().stack_size(stack_bytes), name, told)
}

fn start<T, F>(builder: Builder, name: &str, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let child = sched::child(name);
    let simulated = child.joiner();
    let real = builder.name(name.to_string()).spawn(move || child.run(f))?;
    Ok(JoinHandle { real, simulated })
}
