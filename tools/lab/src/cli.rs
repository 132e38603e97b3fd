//! The words of the command line.

use crate::counts::Count;
use crate::pin::Pin;
use crate::plan::{Driver, Plan};
use crate::server::Subject;
use crate::workload::Workload;
use clap::{Args, Parser, Subcommand};
use client::Dsn;
use std::path::PathBuf;
use std::time::Duration;

/// Repeats the experiments and charts of the literature on metadata locks, instruments, latches and caches.
#[derive(Debug, Parser)]
#[command(name = "limpid lab", disable_version_flag = true)]
pub struct Cli {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Subcommand)]
pub enum What {
    /// Lists the experiments, and the rows of the literature that each stands for.
    List,
    /// Runs one experiment.
    Run {
        /// Its name, as `list` has it.
        name: String,
        #[command(flatten)]
        how: How,
    },
    /// Runs every experiment that is there.
    All {
        #[command(flatten)]
        how: How,
    },
}

#[derive(Debug, Clone, Args)]
pub struct How {
    /// Small tables, few levels of users, short rounds: minutes instead of hours.
    #[arg(long)]
    quick: bool,
    /// A build to measure, PATH or NAME=PATH; may be given several times. Without one: this executable.
    #[arg(long = "binary", value_name = "[NAME=]PATH")]
    binaries: Vec<String>,
    /// A server that runs already: "socket=PATH user=NAME password=WORD name=WORD" or host= and port=; may be given several times.
    #[arg(long = "dsn", value_name = "DSN", value_parser = Dsn::parse)]
    dsns: Vec<Dsn>,
    /// Who drives.
    #[arg(long, value_enum, default_value_t = Driver::Own)]
    driver: Driver,
    /// Levels of users instead of the experiment's, as 1,8,64.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    users: Option<Vec<u32>>,
    /// Seconds of each measurement (60; with --quick 0.8).
    #[arg(long, value_parser = seconds)]
    seconds: Option<Duration>,
    /// Seconds before each measurement (30; with --quick 0.2).
    #[arg(long, value_parser = seconds)]
    warm_up: Option<Duration>,
    /// Rounds, each second one backwards through the settings (6; with --quick 4); 0 with --count: nothing by the clock.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=1000))]
    rounds: Option<u32>,
    /// Workloads instead of the experiment's; nothing is concluded from them.
    #[arg(long = "workload", value_enum, value_delimiter = ',')]
    workloads: Option<Vec<Workload>>,
    /// Cores of server and client, instead of what the settings say.
    #[arg(long, value_enum)]
    pin: Option<Pin>,
    /// What is counted as well, for each setting and workload: instructions, allocations, system calls of a query, processor time by function.
    #[arg(long = "count", value_enum, value_delimiter = ',')]
    counts: Vec<Count>,
    /// Rows of a table instead of the experiment's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    rows: Option<u32>,
    /// Folder of the report.
    #[arg(long, default_value = "limpid-lab")]
    out: PathBuf,
    /// Folder below which servers have theirs, which they leave empty; its name is to be short, for their sockets.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
    /// Seed of random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The command line as reports have it: words with blanks in quotes, passwords hidden.
pub fn shown(arguments: &[String]) -> String {
    let shown = arguments.iter().map(|argument| {
        let words: Vec<String> = argument.split_whitespace().map(hidden).collect();
        match words.len() {
            1 => words.concat(),
            _ => format!("\"{}\"", words.join(" ")),
        }
    });
    std::iter::once("limpid lab".to_string()).chain(shown).collect::<Vec<_>>().join(" ")
}

/// A field of a DSN, which `--dsn=` may stand before.
fn hidden(word: &str) -> String {
    match word.split_once("password=") {
        Some((before, _)) if before.is_empty() || before.ends_with('=') => {
            format!("{before}password=***")
        }
        _ => word.to_string(),
    }
}

/// Seconds with a point, up to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "no number of seconds")?;
    match seconds {
        0.0..=86_400.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("from 0 to 86,400 seconds".into()),
    }
}

impl How {
    /// The plan of these words.
    ///
    /// # Errors
    /// This executable cannot be found; nothing would be measured; two that are have one name.
    pub fn plan(&self, command: String) -> Result<Plan, String> {
        let or = |given: Option<Duration>, whole: f64, quick: f64| {
            given.unwrap_or(Duration::from_secs_f64(if self.quick { quick } else { whole }))
        };
        if self.rounds == Some(0) && self.counts.is_empty() {
            return Err("--rounds 0 measures nothing without --count".into());
        }
        let mut subjects: Vec<Subject> = self.binaries.iter().map(|b| Subject::binary(b)).collect();
        if subjects.iter().all(|s| crate::cells::is_build(&s.name())) {
            let path = std::env::current_exe().map_err(|e| format!("this executable: {e}"))?;
            subjects.insert(0, Subject::Binary { name: "limpid".into(), path });
        }
        subjects.extend(self.dsns.iter().cloned().map(Subject::Peer));
        let mut names: Vec<String> = subjects.iter().map(Subject::name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = &pair[0];
            return Err(format!("two are called {name:?}: NAME=PATH and name= tell them apart"));
        }
        let mut users = self.users.clone();
        users.iter_mut().for_each(|users| {
            users.sort_unstable();
            users.dedup();
        });
        Ok(Plan {
            warm_up: or(self.warm_up, 30.0, 0.2),
            length: or(self.seconds, 60.0, 0.8).max(Duration::from_millis(50)),
            rounds: self.rounds.unwrap_or(if self.quick { 4 } else { 6 }),
            users,
            workloads: self.workloads.clone(),
            pin: self.pin,
            counts: self.counts.clone(),
            quick: self.quick,
            rows: self.rows,
            driver: self.driver,
            subjects,
            out: self.out.clone(),
            scratch: self.scratch.join(format!("limpid-lab-{}", std::process::id())),
            seed: self.seed,
            command,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &[&str]) -> Plan {
        let words = [&["limpid lab", "all"], words].concat();
        match Cli::try_parse_from(words).unwrap().what {
            What::All { how } => how.plan(String::new()).unwrap(),
            _ => panic!("all"),
        }
    }

    #[test]
    fn words_become_a_plan() {
        let quick =
            plan(&["--quick", "--users", "8,1,8", "--binary", "/a/limpid", "--binary", "bare=/b"]);
        assert_eq!((quick.rounds, quick.users), (4, Some(vec![1, 8])));
        assert_eq!(quick.subjects.len(), 2);
        let whole = plan(&["--binary", "bare=/b", "--dsn", "socket=/s name=m"]);
        assert_eq!((whole.length.as_secs(), whole.rounds), (60, 6));
        let names: Vec<String> = whole.subjects.iter().map(Subject::name).collect();
        assert_eq!(
            names,
            ["limpid", "bare", "m"],
            "a build of its own leaves this executable to be measured"
        );
    }

    #[test]
    fn what_is_measured_has_a_name_of_its_own() {
        let words = ["limpid lab", "all", "--dsn", "socket=/a", "--dsn", "socket=/b"];
        let What::All { how } = Cli::try_parse_from(words).unwrap().what else { panic!("all") };
        let why = how.plan(String::new()).unwrap_err();
        assert!(why.contains("\"peer\""), "{why}");
    }

    #[test]
    fn passwords_are_not_shown() {
        let of = |arguments: &[&str]| {
            shown(&arguments.iter().map(|a| (*a).to_string()).collect::<Vec<_>>())
        };
        let dsn = "socket=/s  user=probe password=sesame\tname=m";
        let hides = "socket=/s user=probe password=*** name=m";
        assert_eq!(
            of(&["run", "cores", "--dsn", dsn]),
            format!("limpid lab run cores --dsn \"{hides}\"")
        );
        let one = format!("--dsn={dsn}");
        assert_eq!(of(&[one.as_str()]), format!("limpid lab \"--dsn={hides}\""));
        assert_eq!(
            of(&["--dsn=password=open=sesame host=h"]),
            "limpid lab \"--dsn=password=*** host=h\""
        );
        assert_eq!(of(&["all", "--users=1,8"]), "limpid lab all --users=1,8");
    }

    #[test]
    fn wrong_words_are_refused() {
        for wrong in [
            ["--users", "0"],
            ["--users", "2000"],
            ["--seconds", "-1"],
            ["--dsn", "user=x"],
            ["--driver", "other"],
        ] {
            assert!(
                Cli::try_parse_from([&["limpid lab", "all"], &wrong[..]].concat()).is_err(),
                "{wrong:?}"
            );
        }
    }
}
