//! What a run is given and what it came to.

use super::Strategy;
use std::fmt;

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Who goes on.
    pub strategy: Strategy,
    /// Points after which the run is called a livelock.
    pub steps_max: u64,
    /// Virtual time that a point takes, in nanoseconds.
    pub step_ns: u64,
    /// Real time after which a turn without a point ends the process, in seconds: the thread waits for
    /// something that the scheduler does not know.
    pub stuck_s: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { strategy: Strategy::Seeded, steps_max: 50_000_000, step_ns: 200, stuck_s: 120 }
    }
}

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A thread panicked.
    Panic {
        /// Its name.
        thread: String,
        /// What it said.
        message: String,
        /// Where all threads stood then, a line each.
        report: String,
    },
    /// All threads wait and no deadline is to come: who waits for what, a line each.
    Deadlock(String),
    /// The threads go on and on: where they stand.
    Livelock(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic { thread, message, report } => {
                write!(f, "thread {thread} panicked: {message}\n{report}")
            }
            Self::Deadlock(report) => write!(f, "deadlock\n{report}"),
            Self::Livelock(report) => write!(f, "livelock\n{report}"),
        }
    }
}

/// What a run came to.
#[derive(Debug)]
#[must_use]
pub struct Outcome<R> {
    /// What `main` returned, or what ended the run before.
    pub result: Result<R, Failure>,
    /// The seed it ran with.
    pub seed: u64,
    /// The strategy that the seed came to.
    pub strategy: Strategy,
    /// Points passed.
    pub steps: u64,
    /// Turns that went to another thread.
    pub switches: u64,
    /// Threads that took part.
    pub threads: usize,
    /// Virtual time that passed, in nanoseconds.
    pub virtual_ns: u64,
    /// Equal for equal runs.
    pub trace_hash: u64,
}

impl<R> Outcome<R> {
    /// What `main` returned.
    ///
    /// # Panics
    /// When the run failed: with its report and seed.
    pub fn unwrap(self) -> R {
        match self.result {
            Ok(value) => value,
            Err(failure) => {
                panic!("seed {} ({:?}, {} steps): {failure}", self.seed, self.strategy, self.steps)
            }
        }
    }
}
