//! `cargo xtask scale-out up | bench | chaos | down`: several servers behind ShardingSphere's proxy, on this machine.
//!
//! 1. `up` leaves processes behind; `target/scale-out/state` has their ids, `down` ends them. `bench` and `chaos`
//!    have clusters of their own, which end with them.
//! 2. docs/scale-out.md tells what such a cluster is good for. What starts and checks it is `testkit::scale_out`.

mod bench;

use crate::bench::target::process_stat;
use crate::{packages, shell};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use testkit::scale_out::proxy::{self, Recovery};
use testkit::scale_out::{Cluster, Parts, bank, chaos, namespace};

const USAGE: &str = "\
usage: cargo xtask scale-out up [--shards 3] [--port 3307]
                             bench [--threads 8] [--seconds 10] [--rounds 3] [--peer DSN]...
                             chaos [--shards 3] [--rounds 100] [--seed 1]
                             down";

/// What the command line says.
struct Settings {
    shards: usize,
    port: u16,
    rounds: u64,
    seed: u64,
}

/// Runs the command named by the first argument.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (command, rest) = arguments.split_first().ok_or(USAGE)?;
    match command.as_str() {
        "up" => up(&settings(rest)?),
        "bench" => bench::run(rest),
        "chaos" => run_chaos(&settings(rest)?),
        "down" if rest.is_empty() => down(),
        _ => Err(USAGE.into()),
    }
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let mut settings = Settings { shards: 3, port: 3307, rounds: 100, seed: 1 };
    for pair in arguments.chunks(2) {
        let [option, value] = pair else { return Err(USAGE.into()) };
        let wrong = |_| format!("{option}: {value} is no number");
        match option.as_str() {
            "--shards" => settings.shards = value.parse().map_err(wrong)?,
            "--port" => settings.port = value.parse().map_err(wrong)?,
            "--rounds" => settings.rounds = value.parse().map_err(wrong)?,
            "--seed" => settings.seed = value.parse().map_err(wrong)?,
            _ => return Err(USAGE.into()),
        }
    }
    if settings.shards == 0 { Err(USAGE.into()) } else { Ok(settings) }
}

/// Where a cluster's files are.
fn home(name: &str) -> PathBuf {
    shell::target().join("scale-out").join(name)
}

fn state() -> PathBuf {
    home("state")
}

/// The programs, installed or built where they are missing.
fn parts(shards: usize, recovery: Recovery) -> Result<Parts, String> {
    packages::install_for_scale_out()?;
    let jars = proxy::jars(&home("proxy"))?;
    let binary = match std::env::var_os("LIMPID_BINARY") {
        Some(path) => path.into(),
        None => {
            let root = shell::root();
            shell::run(Command::new("cargo").args(["build", "--release"]).current_dir(root))?;
            shell::target().join("release/limpid")
        }
    };
    Ok(Parts { binary, jars, shards, recovery })
}

/// A cluster over an empty folder.
fn fresh(name: &str, shards: usize, recovery: Recovery) -> Result<Cluster, String> {
    let parts = parts(shards, recovery)?;
    let folder = home(name);
    let _ = std::fs::remove_dir_all(&folder);
    Cluster::start(&folder, parts)
}

/// Branches without a decision are rolled back within two minutes, and no commit takes one.
const PATIENT: Recovery =
    Recovery { delay: Duration::from_secs(20), patience: Duration::from_secs(60) };
/// Chaos does not wait that long, and its commits are short.
const HASTY: Recovery =
    Recovery { delay: Duration::from_secs(2), patience: Duration::from_secs(15) };

fn up(settings: &Settings) -> Result<(), String> {
    if state().exists() {
        return Err("it is up already: cargo xtask scale-out down".into());
    }
    // Asked first: the servers and the proxy take a while.
    namespace::is_free(settings.port).map_err(|why| format!("{why}; --port names another"))?;
    let folder = home("up");
    let is_new = !folder.exists();
    let cluster = Cluster::start(&folder, parts(settings.shards, PATIENT)?)?;
    if is_new {
        bank::open(&mut cluster.client())?;
    }
    let published = cluster.namespace().published(settings.port)?;
    let mut processes = cluster.processes();
    processes.push(("address".into(), published.pid()));
    let lines = processes.iter().map(|(name, pid)| format!("{name} {pid} {}\n", began(*pid)));
    std::fs::write(state(), lines.collect::<String>()).map_err(|e| e.to_string())?;
    println!(
        "{} servers and the proxy run; data and logs are in {}",
        settings.shards,
        folder.display()
    );
    println!("mariadb --host=127.0.0.1 --port={} --user=root --password=root shop", settings.port);
    std::mem::forget(published);
    cluster.leave();
    Ok(())
}

/// When a process began, in the kernel's ticks: with its id, what names it for good. Empty when it is not there.
fn began(pid: u32) -> String {
    process_stat(pid).and_then(|fields| fields.into_iter().nth(19)).unwrap_or_default()
}

/// Ends the proxy first, then the servers as an operator would.
fn down() -> Result<(), String> {
    let lines = std::fs::read_to_string(state()).map_err(|_| "it is not up".to_string())?;
    for line in lines.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, pid, start] = fields[..] else { continue };
        let pid: u32 = pid.parse().map_err(|_| format!("{}: {line}", state().display()))?;
        let is_there = || !start.is_empty() && began(pid) == start;
        if !is_there() {
            println!("{name} was not there any more");
            continue;
        }
        testkit::signal(pid, "TERM");
        for round in 0.. {
            if !is_there() || is_zombie(pid) {
                break;
            }
            if round == 600 {
                testkit::signal(pid, "KILL");
            }
            testkit::pause(50);
        }
    }
    std::fs::remove_file(state()).map_err(|e| e.to_string())?;
    println!(
        "everything has ended; {} keeps the data, remove it to begin anew",
        home("up").display()
    );
    Ok(())
}

/// Whether a process has ended and waits for its parent to notice.
fn is_zombie(pid: u32) -> bool {
    process_stat(pid).is_some_and(|fields| fields.first().is_some_and(|state| state == "Z"))
}

fn run_chaos(settings: &Settings) -> Result<(), String> {
    let mut cluster = fresh("chaos", settings.shards, HASTY)?;
    let report = chaos::run(&mut cluster, settings.rounds, settings.seed)?;
    println!(
        "{} kills of the proxy and {} of servers; {} transfers acknowledged, {} made, none in part; \
         {} branches were seen in doubt, none is ({:.1} s after the last start)",
        report.proxies,
        report.servers,
        report.acknowledged,
        report.made,
        report.in_doubt,
        report.settled.as_secs_f64()
    );
    Ok(())
}
