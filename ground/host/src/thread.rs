//! Threads with names: every thread of the server is started here.
//!
//! 1. A thread started in a simulation (`sync::sched`) takes part in it, and so does waiting for its end.

use std::io;
use std::thread::Builder;
use sync::sched::{self, Joiner};

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
    start(Builder::new(), name, f)
}

/// Starts a thread with a stack of `stack_bytes` (mapped lazily), for one thread per connection;
/// [`stdx::stack`] knows of it.
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
