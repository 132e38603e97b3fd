//! Threads with names: every thread of the server is started here.

use std::io;
use std::thread::Builder;

/// A started thread; dropping it lets the thread run on.
#[derive(Debug)]
pub struct JoinHandle<T>(std::thread::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Waits for the thread's end. The error is what the thread panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join()
    }

    /// True when the thread has ended, so that `join` will not wait.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.thread().name().unwrap_or("")
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
    Builder::new().name(name.to_string()).spawn(f).map(JoinHandle)
}

/// Starts a thread with a stack of `stack_bytes` (mapped lazily), for one thread per connection.
pub fn spawn_with_stack<T, F>(name: &str, stack_bytes: usize, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().name(name.to_string()).stack_size(stack_bytes).spawn(f).map(JoinHandle)
}
