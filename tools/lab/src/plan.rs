//! What a run is to do: how long, how often, on what, and where the report goes.

use crate::counts::Count;
use crate::experiments::{Cells, ROWS_QUICK};
use crate::pin::Pin;
use crate::server::Subject;
use crate::workload::Workload;
use std::path::PathBuf;
use std::time::Duration;

/// Who drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Driver {
    /// The lab's own threads.
    Own,
    /// The stock binary.
    Sysbench,
}

/// What a run is to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Time before each measurement.
    pub warm_up: Duration,
    /// Time of each measurement.
    pub length: Duration,
    /// Rounds; each second one goes backwards through the settings.
    pub rounds: u32,
    /// Levels of users instead of the experiment's.
    pub users: Option<Vec<u32>>,
    /// Workloads instead of the experiment's.
    pub workloads: Option<Vec<Workload>>,
    /// Cores of server and client, instead of the settings'.
    pub pin: Option<Pin>,
    /// What is counted beside the rounds.
    pub counts: Vec<Count>,
    /// Small tables, few levels.
    pub quick: bool,
    /// Rows of a table instead of the experiment's.
    pub rows: Option<u32>,
    /// Who drives.
    pub driver: Driver,
    /// What is measured.
    pub subjects: Vec<Subject>,
    /// Where the report goes.
    pub out: PathBuf,
    /// Where servers have their folders.
    pub scratch: PathBuf,
    /// Seed of random numbers.
    pub seed: u64,
    /// The command line, for the report.
    pub command: String,
}

impl Plan {
    /// Levels of users of an experiment.
    pub fn users(&self, cells: &Cells) -> Vec<u32> {
        let own = if self.quick { cells.users_quick } else { cells.users };
        self.users.clone().unwrap_or_else(|| own.to_vec())
    }

    /// Workloads of an experiment.
    pub fn workloads(&self, cells: &Cells) -> Vec<Workload> {
        self.workloads.clone().unwrap_or_else(|| cells.workloads.to_vec())
    }

    /// Rows of each table of an experiment.
    pub fn rows(&self, cells: &Cells) -> u32 {
        let own = if self.quick { cells.rows.min(ROWS_QUICK) } else { cells.rows };
        self.rows.unwrap_or(own)
    }
}
