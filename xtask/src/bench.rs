//! `cargo xtask bench point-select --peer DSN`: Limpid beside a peer, in interleaved rounds.
//!
//! The machines are noisy, so only ratios of the same rounds are worth reading. A DSN is
//! `"socket=PATH user=NAME pid=PID"`; the process id gives the server's CPU time per query. Without
//! `--peer`, Limpid alone is measured. The peer's tables are prepared if they are missing.

use crate::shell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: cargo xtask bench point-select [--peer DSN] [--threads N] [--seconds N] [--rounds N]";
const SHAPE: [&str; 2] = ["--tables=8", "--table-size=100000"];
/// Linux reports process times in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// A server under load.
struct Target {
    name: &'static str,
    socket: String,
    user: String,
    pid: Option<u32>,
}

/// One measured run.
struct Run {
    qps: f64,
    p95_ms: f64,
    cpu_us: f64,
}

struct Settings {
    peer: Option<String>,
    threads: u32,
    seconds: u32,
    rounds: u32,
}

/// Runs the benchmark named by the first argument.
pub fn run(arguments: &[String]) -> Result<(), String> {
    if arguments.first().map(String::as_str) != Some("point-select") {
        return Err(USAGE.into());
    }
    let settings = settings(&arguments[1..])?;
    shell::run(Command::new("cargo").args(["build", "--release"]).current_dir(shell::root()))?;
    let own = Own::start()?;
    let mut targets = vec![own.target()];
    if let Some(dsn) = &settings.peer {
        targets.push(peer(dsn)?);
    }
    targets.iter().try_for_each(prepare)?;
    for mode in ["auto", "disable"] {
        compare(&targets, mode, &settings)?;
    }
    Ok(())
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let mut settings = Settings { peer: None, threads: 8, seconds: 5, rounds: 4 };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| format!("{option}: {value} is no number"));
        match option.as_str() {
            "--peer" => settings.peer = Some(value.clone()),
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.seconds = number()?,
            "--rounds" => settings.rounds = number()?,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(settings)
}

fn peer(dsn: &str) -> Result<Target, String> {
    let fields: HashMap<&str, &str> =
        dsn.split_whitespace().filter_map(|f| f.split_once('=')).collect();
    let socket = fields.get("socket").ok_or("the DSN names no socket")?;
    Ok(Target {
        name: "peer",
        socket: (*socket).to_string(),
        user: fields.get("user").unwrap_or(&"root").to_string(),
        pid: fields.get("pid").and_then(|p| p.parse().ok()),
    })
}

/// Limpid in a folder of its own.
struct Own {
    child: Child,
    folder: PathBuf,
}

impl Own {
    fn start() -> Result<Own, String> {
        let folder = shell::root().join("target/bench-data");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let child = Command::new(shell::root().join("target/release/limpid"))
            .arg("--no-defaults")
            .arg(format!("--datadir={}", folder.join("data").display()))
            .arg(format!("--socket={}", folder.join("s.sock").display()))
            .args(["--port=0", "--innodb-buffer-pool-size=1G", "--max-connections=2000"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let own = Own { child, folder };
        let end = Instant::now() + Duration::from_secs(60);
        while std::os::unix::net::UnixStream::connect(own.folder.join("s.sock")).is_err() {
            if Instant::now() > end {
                return Err("Limpid does not accept connections".into());
            }
            std::thread::yield_now();
        }
        Ok(own)
    }

    fn target(&self) -> Target {
        let socket = self.folder.join("s.sock").display().to_string();
        Target { name: "limpid", socket, user: "root".into(), pid: Some(self.child.id()) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sysbench(target: &Target, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("sysbench")
        .args(["oltp_point_select", "--db-driver=mysql", "--mysql-db=sbtest"])
        .arg(format!("--mysql-socket={}", target.socket))
        .arg(format!("--mysql-user={}", target.user))
        .args(SHAPE)
        .args(arguments)
        .output()
        .map_err(|e| format!("sysbench: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{}: {text}", target.name)) }
}

fn prepare(target: &Target) -> Result<(), String> {
    let sql = |statement: &str| {
        Command::new("mariadb")
            .args([
                "--no-defaults",
                &format!("--socket={}", target.socket),
                &format!("--user={}", target.user),
            ])
            .args(["-e", statement])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    if sql("SELECT id FROM sbtest.sbtest8 WHERE id = 1") {
        return Ok(());
    }
    sql("CREATE DATABASE IF NOT EXISTS sbtest");
    sysbench(target, &["--threads=2", "prepare"]).map(drop)
}

/// User and system time of a process, in seconds.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

fn measure(target: &Target, mode: &str, settings: &Settings) -> Result<Run, String> {
    let options = [
        format!("--threads={}", settings.threads),
        format!("--time={}", settings.seconds),
        format!("--db-ps-mode={mode}"),
        "--rand-type=uniform".to_string(),
        "run".to_string(),
    ];
    let before = target.pid.and_then(cpu_seconds);
    let text = sysbench(target, &options.iter().map(String::as_str).collect::<Vec<_>>())?;
    let after = target.pid.and_then(cpu_seconds);
    let field = |name: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(name))?;
        line.split_once(':')?.1.split_whitespace().next()?.parse::<f64>().ok()
    };
    let queries = field("total:").ok_or("sysbench printed no total")?;
    let cpu = before.zip(after).map_or(f64::NAN, |(b, a)| a - b);
    Ok(Run {
        qps: queries / f64::from(settings.seconds),
        p95_ms: field("95th percentile:").unwrap_or(f64::NAN),
        cpu_us: cpu * 1e6 / queries,
    })
}

/// Interleaved rounds of every target; medians at the end, the peer's as a ratio.
fn compare(targets: &[Target], mode: &str, settings: &Settings) -> Result<(), String> {
    println!(
        "\npoint select, ps-mode {mode}, {} threads, {} s a run",
        settings.threads, settings.seconds
    );
    println!("round  server        QPS   p95 ms  server CPU us/query");
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|_| Vec::new()).collect();
    for round in 1..=settings.rounds {
        for (target, runs) in targets.iter().zip(&mut runs) {
            let run = measure(target, mode, settings)?;
            println!(
                "{round:>5}  {:<8} {:>8.0} {:>8.2} {:>10.2}",
                target.name, run.qps, run.p95_ms, run.cpu_us
            );
            runs.push(run);
        }
    }
    let median = |runs: &[Run], field: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(field).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    if let [own, peer] = runs.as_slice() {
        println!(
            "limpid / peer, medians: QPS {:.2}, p95 {:.2}, CPU per query {:.2}",
            median(own, |r| r.qps) / median(peer, |r| r.qps),
            median(own, |r| r.p95_ms) / median(peer, |r| r.p95_ms),
            median(own, |r| r.cpu_us) / median(peer, |r| r.cpu_us),
        );
    }
    Ok(())
}
