//! The experiments, as a table of declarations: what is set, what is driven, what is measured, and how it is judged.
//!
//! Reading order: the types here, then by subject [`metadata`], [`levels`], [`caches`], [`engine`], [`profile`], [`loads`], [`beyond`].
//!
//! 1. Each row of the literature belongs to exactly one experiment (a test counts them).
//! 2. An experiment that is not there says why, and cannot be run.
//! 3. What a setting does is the same each time it is done: it is done before each of its cells.

mod beyond;
mod caches;
mod engine;
mod levels;
mod loads;
mod metadata;
mod profile;

use crate::beside::Beside;
use crate::pin::Pin;
use crate::workload::Workload;

/// An experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line that says what it shows.
    pub title: &'static str,
    /// Rows of the literature that it stands for.
    pub rows: &'static [u8],
    /// How it is done.
    pub kind: Kind,
}

/// How an experiment is done.
#[derive(Debug)]
pub enum Kind {
    /// Load on servers, setting beside setting.
    Cells(Cells),
    /// A program of its own.
    Own(Program),
    /// Not at all; the reason.
    Absent(&'static str),
}

/// Experiments that are no load on a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A loop with calls of instruments.
    Loop,
    /// A server that is killed under load, and starts again.
    Recovery,
    /// Transactions of one connection over few and many tables, counted.
    ConnectionLocks,
    /// Threads that share a latch.
    LatchKinds,
}

/// Load on servers, setting beside setting.
#[derive(Debug)]
pub struct Cells {
    /// What is compared.
    pub settings: &'static [Setting],
    /// What is driven, one after another.
    pub workloads: &'static [Workload],
    /// Users, in steps.
    pub users: &'static [u32],
    /// The same with `--quick`.
    pub users_quick: &'static [u32],
    /// Tables, and rows of each.
    pub tables: u32,
    /// Rows of each table; with `--quick` at most [`ROWS_QUICK`].
    pub rows: u32,
    /// What is concluded.
    pub checks: &'static [Check],
}

/// Rows of a table with `--quick`.
pub const ROWS_QUICK: u32 = 5_000;

/// A way to set up server and client.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// What it is called in tables and charts.
    pub name: &'static str,
    /// Options at the start; a server that runs already cannot have them.
    pub options: &'static [&'static str],
    /// Those that stand for them with `--quick`, whose tables are small; empty: the same.
    pub options_quick: &'static [&'static str],
    /// Statements before each cell.
    pub sql: &'static [&'static str],
    /// Statements before those, which set back what other settings change: a server without these variables needs none of it.
    pub resets: &'static [&'static str],
    /// The name of a `--binary NAME=PATH` that it needs; empty: whichever binary is measured.
    pub build: &'static str,
    /// Which cores server and client run on.
    pub pin: Pin,
    /// What others do meanwhile.
    pub beside: Beside,
}

impl Setting {
    /// A setting that changes nothing.
    pub const fn named(name: &'static str) -> Setting {
        Setting {
            name,
            options: &[],
            options_quick: &[],
            sql: &[],
            resets: &[],
            build: "",
            pin: Pin::All,
            beside: Beside::Nothing,
        }
    }

    const fn options(self, options: &'static [&'static str]) -> Setting {
        Setting { options, ..self }
    }

    const fn options_quick(self, options_quick: &'static [&'static str]) -> Setting {
        Setting { options_quick, ..self }
    }

    /// The setting as it is measured, with `--quick` or without.
    pub fn with_quick(self, is_quick: bool) -> Setting {
        match is_quick && !self.options_quick.is_empty() {
            true => Setting { options: self.options_quick, ..self },
            false => self,
        }
    }

    const fn sql(self, sql: &'static [&'static str]) -> Setting {
        Setting { sql, ..self }
    }

    const fn resets(self, resets: &'static [&'static str]) -> Setting {
        Setting { resets, ..self }
    }

    const fn build(self, build: &'static str) -> Setting {
        Setting { build, ..self }
    }

    const fn beside(self, beside: Beside) -> Setting {
        Setting { beside, ..self }
    }

    const fn pin(self, pin: Pin) -> Setting {
        Setting { pin, ..self }
    }
}

/// What is concluded about a row.
#[derive(Debug)]
pub struct Check {
    /// The row; 0 for what is beyond the literature.
    pub row: u8,
    /// What the figure is.
    pub what: &'static str,
    /// How it is computed.
    pub measure: Measure,
    /// What it should be.
    pub aim: Aim,
}

const fn check(row: u8, what: &'static str, measure: Measure, aim: Aim) -> Check {
    Check { row, what, measure, aim }
}

/// Which cells a figure is of.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Name of the setting.
    pub setting: &'static str,
    /// Place among the experiment's workloads.
    pub workload: usize,
    /// Users.
    pub users: Users,
}

impl At {
    /// The same of another workload.
    const fn of(self, workload: usize) -> At {
        At { workload, ..self }
    }
}

const fn at(setting: &'static str, users: Users) -> At {
    At { setting, workload: 0, users }
}

/// Which level of users; each takes the nearest level that was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Users {
    /// This many.
    Are(u32),
    /// The fewest.
    Least,
    /// The most.
    Most,
}

/// What rounds are measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Queries a second.
    Qps,
    /// Transactions a second.
    Tps,
    /// Server CPU of a query, in microseconds.
    ServerCpu,
    /// Variation of the TPS of single seconds: deviation by mean.
    Variation,
    /// Transactions that were taken back (deadlocks, mostly), by those that went well.
    TakenBack,
}

/// How a figure is computed from cells.
#[derive(Debug, Clone, Copy)]
pub enum Measure {
    /// Of the first by the second.
    Ratio(Figure, At, At),
    /// 1 less the ratio of QPS: what the first setting costs beside the second, in percent.
    Cost(At, At),
    /// The least median of QPS by the greatest, over all levels of users from 16 on.
    Flatness(&'static str),
    /// QPS with most users by the greatest.
    Collapse(&'static str),
    /// Of the lab's own server by that of the first DSN, with as many users.
    BesidePeer(Figure, At),
    /// The figure itself.
    Of(Figure, At),
    /// Largest by smallest count among instances whose event has this in its name, of those that count.
    Balance(At, &'static str),
    /// How many instances whose event has this in its name count.
    Instances(At, &'static str),
    /// Waits of the classes that have this in their names, in seconds a second.
    WaitSeconds(At, &'static str),
    /// The same, in waits a second.
    Waits(At, &'static str),
    /// Acquisitions a second of latches with this in their names (needs level `synch`).
    Acquisitions(At, &'static str),
    /// The same for each transaction.
    AcquisitionsPerTransaction(At, &'static str),
    /// How much of the time the most held latch of this name is held, in percent.
    HeldPercent(At, &'static str),
    /// Seconds a second of all waits for mutexes and read-write latches, by users: their share of the time.
    LatchShare(At),
    /// Share of the server's CPU that the kernel has, in percent: the network, for a select.
    KernelShare(At),
    /// Share of the server's CPU that the thread which samples sessions has, in percent.
    SessionSamplerShare(At),
    /// Memory of the server, in MiB.
    Resident(At),
    /// How much larger it is after the last round than after the first, in MiB.
    ResidentGrowth(At),
    /// How much longer the list of transactions whose old versions are not purged is after a second.
    HistoryGrowth(At),
    /// A status variable's growth a second.
    StatusPerSecond(At, &'static str),
    /// The same of the first by the second.
    StatusRatio(At, At, &'static str),
    /// System calls of the server for each query, of a setting that counts them.
    SystemCalls(At),
    /// Allocations of the server for each query of one user, where they are counted on request.
    Allocations(At),
    /// Nothing: the reason.
    Not(&'static str),
}

impl Measure {
    /// The number of users that it is about; `None` where that is no fixed number.
    pub fn users(&self) -> Option<u32> {
        let users = match self {
            Measure::Ratio(_, at, _)
            | Measure::StatusRatio(at, _, _)
            | Measure::Cost(at, _)
            | Measure::Of(_, at)
            | Measure::Balance(at, _)
            | Measure::Instances(at, _)
            | Measure::WaitSeconds(at, _)
            | Measure::Waits(at, _)
            | Measure::Acquisitions(at, _)
            | Measure::AcquisitionsPerTransaction(at, _)
            | Measure::HeldPercent(at, _)
            | Measure::LatchShare(at)
            | Measure::KernelShare(at)
            | Measure::SessionSamplerShare(at)
            | Measure::Resident(at)
            | Measure::ResidentGrowth(at)
            | Measure::HistoryGrowth(at)
            | Measure::SystemCalls(at)
            | Measure::BesidePeer(_, at)
            | Measure::StatusPerSecond(at, _) => at.users,
            Measure::Flatness(_)
            | Measure::Collapse(_)
            | Measure::Allocations(_)
            | Measure::Not(_) => return None,
        };
        match users {
            Users::Are(users) => Some(users),
            Users::Least | Users::Most => None,
        }
    }
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// Not below.
    AtLeast(f64),
    /// Not above.
    AtMost(f64),
    /// None: the figure alone.
    None,
}

/// All of them, in the order of the list.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    [
        metadata::EXPERIMENTS,
        levels::EXPERIMENTS,
        caches::EXPERIMENTS,
        engine::EXPERIMENTS,
        profile::EXPERIMENTS,
        loads::EXPERIMENTS,
        beyond::EXPERIMENTS,
    ]
    .into_iter()
    .flatten()
}

/// The experiment of a name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.name == name)
}

#[cfg(test)]
mod tests;
