//! `cargo xtask scale-out bench`: what the proxy costs, what more servers give on this machine, what XA costs a server.
//!
//! 1. Look-ups and transfers on one server directly, then through the proxy before 1, 2 and 3. All from inside the cluster's
//!    network over TCP, the proxy warm.
//! 2. A transaction of one account on one server: plain, as an XA transaction of one phase, and of two. Over the server's
//!    Unix socket; beside it on the peers, in interleaved rounds.
//! 3. CPU and fsyncs are divided by transactions. Everything shares this machine: more servers prove nothing here.

use super::{PATIENT, fresh, home};
use crate::bench::median;
use crate::bench::target::{Target, cpu_s};
use crate::shell;
use std::process::Command;
use testkit::scale_out::{Cluster, PROXY_PORT, SHARD_PORT, bank};
use testkit::sysbench::Counted;
use testkit::{Peer, TextClient};

const ACCOUNTS: u64 = 10_000;
/// The proxy's Java machine compiles what is used.
const WARM_SECONDS: u32 = 15;
const USAGE: &str =
    "usage: cargo xtask scale-out bench [--threads 8] [--seconds 10] [--rounds 3] [--peer DSN]...";

/// What the command line says.
struct Settings {
    threads: u32,
    seconds: u32,
    rounds: u32,
    peers: Vec<String>,
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let mut settings = Settings { threads: 8, seconds: 10, rounds: 3, peers: Vec::new() };
    for pair in arguments.chunks(2) {
        let [option, value] = pair else { return Err(USAGE.into()) };
        let number = || value.parse().map_err(|_| format!("{option}: {value} is no number"));
        match option.as_str() {
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.seconds = number()?,
            "--rounds" => settings.rounds = number()?,
            "--peer" => settings.peers.push(value.clone()),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(settings)
}

/// Runs it.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let settings = settings(arguments)?;
    let script = Script::new(&settings)?;
    let mut lines = vec![
        "| | look-ups/s | p95 ms | transfers/s | p95 ms | proxy CPU us | servers' CPU us | fsyncs |".to_string(),
        "|---|---|---|---|---|---|---|---|".to_string(),
    ];
    let mut xa = Vec::new();
    for shards in 1..=3 {
        let cluster = fresh("bench", shards, PATIENT)?;
        bank::open_with(&mut cluster.client(), ACCOUNTS)?;
        if shards == 1 {
            lines.push(measured("one server", &cluster, Some(SHARD_PORT), &script)?);
            xa = cost_of_xa(&cluster, &settings, &script)?;
        }
        for work in ["point", "transfer"] {
            script.run(&cluster, None, work, WARM_SECONDS)?;
        }
        lines.push(measured(&format!("{shards} behind the proxy"), &cluster, None, &script)?);
    }
    println!(
        "\n{} threads, {} s each; CPU and fsyncs per transfer:\n",
        settings.threads, settings.seconds
    );
    println!(
        "{}\n\nXA over one server, medians of {} rounds:\n",
        lines.join("\n"),
        settings.rounds
    );
    println!("{}", xa.join("\n"));
    Ok(())
}

/// A line of the first table: `port` is the server's own, or it goes through the proxy.
fn measured(
    name: &str,
    cluster: &Cluster,
    port: Option<u16>,
    script: &Script,
) -> Result<String, String> {
    let points = script.run(cluster, port, "point", script.seconds)?;
    let before = Spent::of(cluster)?;
    let transfers = script.run(cluster, port, "transfer", script.seconds)?;
    let spent = Spent::of(cluster)?;
    let each = |of: fn(&Spent) -> f64| (of(&spent) - of(&before)) / transfers.transactions;
    let seconds = f64::from(script.seconds);
    let line = format!(
        "| {name} | {:.0} | {:.2} | {:.0} | {:.2} | {:.0} | {:.0} | {:.2} |",
        points.transactions / seconds,
        points.p95_ms,
        transfers.transactions / seconds,
        transfers.p95_ms,
        each(|s| s.proxy_s) * 1e6,
        each(|s| s.servers_s) * 1e6,
        each(|s| s.fsyncs)
    );
    eprintln!("{line}");
    Ok(line)
}

/// What a cluster's processes used so far.
struct Spent {
    proxy_s: f64,
    servers_s: f64,
    fsyncs: f64,
}

impl Spent {
    fn of(cluster: &Cluster) -> Result<Spent, String> {
        let mut spent = Spent { proxy_s: 0.0, servers_s: 0.0, fsyncs: 0.0 };
        for (name, pid) in cluster.processes() {
            let used = cpu_s(pid).unwrap_or(f64::NAN);
            match name.as_str() {
                "proxy" => spent.proxy_s += used,
                "relay" => {}
                _ => spent.servers_s += used,
            }
        }
        for n in 0..cluster.shards() {
            spent.fsyncs += shard(cluster, n).fsyncs()?;
        }
        Ok(spent)
    }
}

/// A shard without the proxy.
fn shard(cluster: &Cluster, n: usize) -> Target {
    let name = format!("shard{n}");
    let pid = cluster.processes().into_iter().find(|(of, _)| *of == name).map(|(_, pid)| pid);
    let socket = cluster.shard_socket(n).display().to_string();
    Target { name: "Limpid".into(), is_own: true, socket, user: "root".into(), pid }
}

/// One run on one server, the last three per transaction.
struct Cost {
    tps: f64,
    p95_ms: f64,
    cpu_us: f64,
    bytes: f64,
    fsyncs: f64,
}

/// A column: heading, figure, digits behind the point.
type Column = (&'static str, fn(&Cost) -> f64, usize);
const COLUMNS: [Column; 5] = [
    ("per second", |c| c.tps, 0),
    ("p95 ms", |c| c.p95_ms, 2),
    ("CPU us", |c| c.cpu_us, 0),
    ("bytes", |c| c.bytes, 0),
    ("fsyncs", |c| c.fsyncs, 2),
];

/// Rounds of one account's transaction on each server, without XA and with it; a table.
fn cost_of_xa(
    cluster: &Cluster,
    settings: &Settings,
    script: &Script,
) -> Result<Vec<String>, String> {
    let mut targets = vec![shard(cluster, 0)];
    for dsn in &settings.peers {
        let peer = Peer::parse(dsn)?;
        let mut client =
            TextClient::try_connect(&peer).map_err(|e| format!("{dsn}: {}", e.text))?;
        for sql in ["CREATE DATABASE IF NOT EXISTS shop", "USE shop"] {
            client.query(sql).map_err(|e| format!("{sql}: {}", e.text))?;
        }
        bank::open_with(&mut client, ACCOUNTS)?;
        targets.push(Target::peer(dsn)?);
    }
    let works = ["plain", "one-phase", "xa"];
    let mut runs: Vec<(&str, usize, Vec<Cost>)> = Vec::new();
    for work in works {
        runs.extend((0..targets.len()).map(|n| (work, n, Vec::new())));
    }
    for _ in 0..settings.rounds {
        for (work, n, of) in &mut runs {
            of.push(script.cost(&targets[*n], work)?);
        }
    }
    let mut lines = vec![
        format!("| transaction | server | {} |", COLUMNS.map(|column| column.0).join(" | ")),
        "|---|---|---|---|---|---|---|".to_string(),
    ];
    for (work, n, of) in &runs {
        let cells = COLUMNS.map(|(_, of_run, digits)| format!("{:.digits$}", median(of, of_run)));
        lines.push(format!("| {work} | {} | {} |", targets[*n].name, cells.join(" | ")));
    }
    Ok(lines)
}

/// The script for sysbench, and how it is run.
struct Script {
    path: String,
    threads: u32,
    seconds: u32,
    /// So that no run names lines and branches as another did.
    runs: std::cell::Cell<u32>,
}

impl Script {
    fn new(settings: &Settings) -> Result<Script, String> {
        let path = home("bank.lua");
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        std::fs::create_dir_all(shell::target().join("scale-out")).map_err(failed)?;
        std::fs::write(&path, include_str!("bank.lua")).map_err(failed)?;
        let path = path.display().to_string();
        let (threads, seconds) = (settings.threads, settings.seconds);
        Ok(Script { path, threads, seconds, runs: std::cell::Cell::new(0) })
    }

    /// sysbench with everything but where to.
    fn asked(&self, command: &mut Command, work: &str, seconds: u32) -> Result<Counted, String> {
        self.runs.set(self.runs.get() + 1);
        command
            .args([&self.path, "--db-driver=mysql", "--mysql-db=shop", "--db-ps-mode=disable"])
            .args(["--mysql-ignore-errors=1205,1213,1999", &format!("--work={work}")])
            .arg(format!("--accounts={ACCOUNTS}"))
            .arg(format!("--run={}", self.runs.get()))
            .arg(format!("--threads={}", self.threads))
            .args([&format!("--time={seconds}"), "run"]);
        let output = command.output().map_err(|e| format!("sysbench: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let counted =
            Counted::of(&text).filter(|c| output.status.success() && c.transactions > 0.0);
        counted.ok_or_else(|| format!("{work}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Inside a cluster's network, at a server's port or the proxy's.
    fn run(
        &self,
        cluster: &Cluster,
        port: Option<u16>,
        work: &str,
        seconds: u32,
    ) -> Result<Counted, String> {
        let mut command = cluster.namespace().command("sysbench");
        command.args(["--mysql-host=127.0.0.1", "--mysql-user=root"]);
        command.arg(format!("--mysql-port={}", port.unwrap_or(PROXY_PORT)));
        command.args(port.is_none().then_some("--mysql-password=root"));
        self.asked(&mut command, work, seconds)
    }

    /// On a server's socket.
    fn cost(&self, target: &Target, work: &str) -> Result<Cost, String> {
        let spent = || {
            let (cpu, bytes) = (target.cpu_s(), target.bytes_written());
            Ok::<_, String>([cpu.unwrap_or(f64::NAN), bytes.unwrap_or(f64::NAN), target.fsyncs()?])
        };
        let mut command = Command::new("sysbench");
        command.arg(format!("--mysql-socket={}", target.socket));
        command.arg(format!("--mysql-user={}", target.user));
        let before = spent()?;
        let counted = self.asked(&mut command, work, self.seconds)?;
        let after = spent()?;
        let each = |n: usize| (after[n] - before[n]) / counted.transactions;
        let tps = counted.transactions / f64::from(self.seconds);
        eprintln!("{work} {}: {tps:.0} per second", target.name);
        let p95_ms = counted.p95_ms;
        Ok(Cost { tps, p95_ms, cpu_us: each(0) * 1e6, bytes: each(1), fsyncs: each(2) })
    }
}
