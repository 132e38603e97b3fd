//! A server whose instructions and allocations are counted, by callgrind: counts, which are the same on every machine, however busy.
//!
//! 1. What is counted is what the threads that run statements did; others work by time, and under callgrind time is long. 2. A figure
//! is what two runs of different lengths differ by, so what a run does once is not in it.

use crate::data::Wanted;
use crate::server::{Server, Subject};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "valgrind";
const CONTROL: &str = "callgrind_control";
/// A function that only threads which run statements have called.
const MARK: &str = "session::core::Core";
/// What allocates, as the server's allocator calls it.
const ALLOCATE: [&str; 5] =
    ["_rjem_malloc", "_rjem_mallocx", "_rjem_calloc", "_rjem_realloc", "_rjem_rallocx"];
/// Runs of which two lengths are compared.
const RUNS: (u32, u32) = (20, 120);
/// What disturbs, such as an idle session that gives its memory back, adds: of each length the least of so many counts is taken.
const TRIES: u32 = 3;

/// Counts of threads that run statements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// User instructions.
    pub instructions: f64,
    /// Calls of the allocator for memory.
    pub allocations: f64,
}

impl Counts {
    /// More than anything counts.
    const MOST: Counts = Counts { instructions: f64::MAX, allocations: f64::MAX };
}

/// Whether the program is on this machine.
///
/// # Errors
/// It is not, and how it comes.
pub fn look() -> Result<(), String> {
    match Command::new(PROGRAM).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!("{PROGRAM} is not on this machine (apt-get install valgrind)")),
    }
}

/// A server under callgrind.
pub struct Counted {
    /// The server.
    pub server: Server,
    folder: PathBuf,
    dumps: u32,
}

impl Counted {
    /// Starts a build with tables; what it does from now on is counted.
    ///
    /// # Errors
    /// It cannot be started or filled, or is no build.
    pub fn start(
        subject: &Subject,
        folder: &Path,
        options: &[&str],
        wanted: Wanted,
    ) -> Result<Counted, String> {
        look()?;
        let Subject::Binary { path, .. } = subject else {
            return Err("a server that runs already is not counted".into());
        };
        let out = format!("--callgrind-out-file={}", folder.join("cg.out").display());
        let words = [
            PROGRAM,
            "--tool=callgrind",
            "--instr-atstart=no",
            "--separate-threads=yes",
            "--quiet",
            &out,
        ];
        let mut server = Server::start_under(&words, path, folder, options)?;
        server.fill(wanted, &mut || ())?;
        let mut counted = Counted { server, folder: folder.to_path_buf(), dumps: 0 };
        counted.control("--instr=on")?;
        Ok(counted)
    }

    /// What one of the runs of `work` costs; it is given how many to do.
    ///
    /// # Errors
    /// Those of `work`; a dump that cannot be had.
    pub fn each(
        &mut self,
        work: &mut dyn FnMut(u32) -> Result<(), String>,
    ) -> Result<Counts, String> {
        work(RUNS.0)?;
        let mut least = [Counts::MOST; 2];
        for _ in 0..TRIES {
            for (least, runs) in least.iter_mut().zip([RUNS.0, RUNS.1]) {
                let found = self.during(&mut || work(runs))?;
                if found.instructions < least.instructions {
                    *least = found;
                }
            }
        }
        let [few, many] = least;
        let by_run = |many: f64, few: f64| (many - few) / f64::from(RUNS.1 - RUNS.0);
        Ok(Counts {
            instructions: by_run(many.instructions, few.instructions),
            allocations: by_run(many.allocations, few.allocations),
        })
    }

    fn during(&mut self, work: &mut dyn FnMut() -> Result<(), String>) -> Result<Counts, String> {
        self.control("--zero")?;
        work()?;
        self.control("--dump")?;
        self.dumps += 1;
        let prefix = format!("cg.out.{}-", self.dumps);
        let told = |e: std::io::Error| format!("{}: {e}", self.folder.display());
        let mut sum = Counts::default();
        for entry in std::fs::read_dir(&self.folder).map_err(told)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let text = std::fs::read_to_string(entry.path()).map_err(told)?;
                let of_thread = counts_of(&text);
                sum.instructions += of_thread.instructions;
                sum.allocations += of_thread.allocations;
                // One is as large as the server has functions.
                let _gone = std::fs::remove_file(entry.path());
            }
        }
        match sum.instructions > 0.0 {
            true => Ok(sum),
            false => Err(format!("{PROGRAM} saw no thread that runs statements")),
        }
    }

    fn control(&mut self, order: &str) -> Result<(), String> {
        let pid = self.server.pid.ok_or("its process is not known")?;
        let output = Command::new(CONTROL).args([order, &pid.to_string()]).output();
        let output = output.map_err(|e| format!("{CONTROL}: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{CONTROL} {order}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// What the dump of a thread says; nothing of one that runs no statements.
fn counts_of(dump: &str) -> Counts {
    if !dump.contains(MARK) {
        return Counts::default();
    }
    let total = dump.lines().rfind(|l| l.starts_with("totals:") || l.starts_with("summary:"));
    let total = total.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    Counts { instructions: total.unwrap_or(0.0), allocations: allocations_of(dump) }
}

/// Calls of what allocates. A name stands in full where it comes first, `(7) name`, and as `(7)` afterwards.
fn allocations_of(dump: &str) -> f64 {
    let mut allocates = HashMap::new();
    let (mut is_called, mut calls) = (false, 0.0);
    for line in dump.lines() {
        let name = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn="));
        if let Some((number, name)) = name.map(|name| name.split_once(' ').unwrap_or((name, ""))) {
            let of_name = !name.is_empty() && ALLOCATE.contains(&name);
            let known = allocates.entry(number).or_insert(of_name);
            is_called = line.starts_with("cfn=") && *known;
        } else if let Some(count) = line.strip_prefix("calls=")
            && is_called
        {
            let count = count.split_whitespace().next().and_then(|count| count.parse().ok());
            calls += count.unwrap_or(0.0);
            is_called = false;
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "\
fn=(1) session::core::Core::run
12 40
cfn=(2) _rjem_malloc
calls=3 7
12 90
cfn=(3) memcpy
calls=5 7
12 10
fn=(2)
7 30
fn=(4) planner::plan
cfn=(2)
calls=2 7
9 60
totals: 230
";

    #[test]
    fn calls_of_the_allocator_are_counted() {
        assert_eq!(counts_of(DUMP), Counts { instructions: 230.0, allocations: 5.0 });
    }

    #[test]
    fn other_threads_are_not_counted() {
        assert_eq!(counts_of("fn=(1) pool::cleaner\n1 70\ntotals: 70\n"), Counts::default());
    }

    #[test]
    fn a_server_that_runs_already_is_not_counted() {
        let wanted = Wanted::of(1, 1, &[]);
        let peer = Subject::Peer(client::Dsn::at("/nowhere/s.sock"));
        assert!(Counted::start(&peer, Path::new("/nowhere"), &[], wanted).is_err());
    }
}
