//! Connections: what few and many of them get, what an idle one keeps, how fast they come.
//!
//! 1. Beside Limpid runs, with `--null`, a server that does nothing (`testkit::null`), as a process of its own: what it takes is the
//! machine's and the client's share. It is looked at first: so many instructions and system calls a query, else its figures mean
//! nothing. 2. All servers take turns in each round. 3. Gate: at least [`SHARE_MIN`] of the null server's queries with
//! [`GATE_CLIENTS`], as the median of the shares of [`GATE_ROUNDS`] rounds at least. It fails when everything has been measured.

use super::target::{Own, Target};
use super::{Settings, connects, median};
use crate::shell;
use crate::test::cargo;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::raw::RawClient;

/// Clients at a time, where nobody says how many.
const CLIENTS: [u32; 5] = [1, 8, 64, 256, 1024];
const GATE_CLIENTS: RangeInclusive<u32> = 8..=1024;
const GATE_ROUNDS: u32 = 5;
const SHARE_MIN: f64 = 0.8;
/// Connections that are idle.
const IDLE: usize = 10_000;
/// After that time an idle one has given back what it does not need.
const IDLE_FOR: Duration = Duration::from_secs(10);
/// What the null server may cost a query.
const NULL_INSTRUCTIONS_MAX: f64 = 300.0;
const NULL_CALLS_MAX: f64 = 2.1;
const ROW: &str = "SELECT c FROM sbtest.sbtest1 WHERE id=5";

/// The null server as a process; killed when dropped.
struct Null {
    child: Child,
    socket: PathBuf,
}

impl Null {
    fn start(wrapper: &[&str]) -> Result<Null, String> {
        let socket = shell::target().join("null.sock");
        let _ = std::fs::remove_file(&socket);
        let program = shell::target().join("release/null-server");
        let mut words: Vec<&std::ffi::OsStr> = wrapper.iter().map(|word| word.as_ref()).collect();
        words.push(program.as_os_str());
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&socket).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| e.to_string())?;
        let null = Null { child, socket };
        let until = Instant::now() + Duration::from_secs(30);
        while std::os::unix::net::UnixStream::connect(&null.socket).is_err() {
            if Instant::now() > until {
                return Err("the null server does not listen".into());
            }
            testkit::pause(10);
        }
        Ok(null)
    }

    fn target(&self) -> Target {
        Target {
            name: "null".into(),
            is_own: false,
            socket: self.socket.display().to_string(),
            user: "root".into(),
            pid: Some(self.child.id()),
        }
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs queries of one client's.
fn queries(socket: &Path, queries: u32) {
    let mut client = RawClient::connect_to(socket);
    client.set_patience(None);
    client.login();
    for _ in 0..queries {
        client.command(3, ROW.as_bytes());
        read_rows(&mut client);
    }
}

fn read_rows(client: &mut RawClient) {
    let mut ends = 0;
    while ends < 2 {
        let packet = client.packet().expect("a result");
        ends += usize::from(packet[0] == 0xfe && packet.len() < 9);
    }
}

/// Looks whether the null server is one.
fn check_null() -> Result<(), String> {
    shell::run(
        cargo(&["build", "--release", "-p", "testkit", "--bin", "null-server"])
            .current_dir(shell::root()),
    )?;
    const QUERIES: [u32; 2] = [500, 2500];
    let folder = testkit::TempDir::new();
    let each = |wrapper: &[&str], total: &dyn Fn() -> Option<f64>| {
        let mut totals = Vec::new();
        for number in QUERIES {
            let mut null = Null::start(wrapper)?;
            queries(&null.socket, number);
            testkit::signal(null.child.id(), "INT");
            let _ = null.child.wait();
            totals.push(total().ok_or("nothing was counted")?);
        }
        Ok::<f64, String>((totals[1] - totals[0]) / f64::from(QUERIES[1] - QUERIES[0]))
    };
    let out = folder.path().join("cg.out");
    let out_option = format!("--callgrind-out-file={}", out.display());
    let instructions = each(&["valgrind", "--tool=callgrind", "--quiet", &out_option], &|| {
        let text = std::fs::read_to_string(&out).ok()?;
        let line = text.lines().find(|line| line.starts_with("summary:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    })?;
    let calls_out = folder.path().join("calls").display().to_string();
    let calls = each(
        &["strace", "-f", "-I", "2", "-e", "trace=recvfrom,sendto", "-o", &calls_out],
        &|| {
            let text = std::fs::read_to_string(&calls_out).ok()?;
            // One that finds nothing is the client's slowness.
            Some(
                text.lines().filter(|line| line.contains("= ") && !line.contains("EAGAIN")).count()
                    as f64,
            )
        },
    )?;
    println!(
        "the null server: {instructions:.0} user instructions and {calls:.2} system calls a query"
    );
    match instructions <= NULL_INSTRUCTIONS_MAX && calls <= NULL_CALLS_MAX {
        true => Ok(()),
        false => Err(format!("at most {NULL_INSTRUCTIONS_MAX} and {NULL_CALLS_MAX}")),
    }
}

/// A run of so many clients.
struct Load {
    qps: f64,
    p99_ms: f64,
    cpu_us: f64,
}

fn load(target: &Target, clients: u32, settings: &Settings) -> Result<Load, String> {
    let options = [
        "--tables=1".to_string(),
        "--table-size=10000".into(),
        "--db-ps-mode=disable".into(),
        "--rand-type=uniform".into(),
        "--percentile=99".into(),
        format!("--threads={clients}"),
        format!("--time={}", settings.seconds),
        "run".into(),
    ];
    let before = target.cpu_s();
    let text = target.sysbench("oltp_point_select", &options)?;
    let cpu = before.zip(target.cpu_s()).map_or(f64::NAN, |(b, a)| a - b);
    let field = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name))?;
        line.split_once(':')?.1.split_whitespace().next()?.parse::<f64>().ok()
    };
    let queries = field("total:").ok_or("sysbench printed no total")?;
    let seconds = field("total time:").unwrap_or(f64::from(settings.seconds));
    let p99_ms = field("99th percentile:").unwrap_or(f64::NAN);
    Ok(Load { qps: queries / seconds, p99_ms, cpu_us: cpu * 1e6 / queries })
}

/// The share of the null server's queries, round by round.
fn share(runs: &[Load], null: &[Load]) -> f64 {
    let shares: Vec<f64> = runs.iter().zip(null).map(|(run, null)| run.qps / null.qps).collect();
    median(&shares, |share| *share)
}

/// What a share of ours is below the gate, if it is.
fn below(clients: u32, share: f64) -> Option<String> {
    let fails = GATE_CLIENTS.contains(&clients) && (share.is_nan() || share < SHARE_MIN);
    fails.then(|| format!("{clients} clients {share:.2}"))
}

/// Loads all servers, of which the last one may be `null`; the shares that are below the gate.
fn loads(targets: &[Target], null: bool, settings: &Settings) -> Result<Vec<String>, String> {
    let rounds = if null { settings.rounds.max(GATE_ROUNDS) } else { settings.rounds };
    println!("\npoint selects as text, medians of {rounds} rounds of {} s", settings.seconds);
    println!("clients  server        QPS   p99 ms  server CPU us/query  share of null");
    let mut failed = Vec::new();
    let clients: &[u32] = if settings.clients.is_empty() { &CLIENTS } else { &settings.clients };
    for &clients in clients {
        let mut runs: Vec<Vec<Load>> = targets.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (target, runs) in targets.iter().zip(&mut runs) {
                runs.push(load(target, clients, settings)?);
            }
        }
        let of_null = runs.last().filter(|_| null);
        for (target, runs) in targets.iter().zip(&runs) {
            let share = of_null.map(|null| share(runs, null));
            println!(
                "{clients:>7}  {:<8} {:>8.0} {:>8.2} {:>10.2} {:>23}",
                target.name,
                median(runs, |run| run.qps),
                median(runs, |run| run.p99_ms),
                median(runs, |run| run.cpu_us),
                share.map_or("-".into(), |share| format!("{share:.2}")),
            );
            let share = share.filter(|_| target.is_own);
            failed.extend(share.and_then(|share| below(clients, share)));
        }
    }
    Ok(failed)
}

/// What connections keep: those that were only made, those that have run a statement, and the same when they have been idle.
fn memory(targets: &[Target]) -> Result<(), String> {
    println!("\nresident memory of each of {IDLE} connections, in KB, without the kernel's");
    println!("server    logged in   after a select   idle for {} s", IDLE_FOR.as_secs());
    for target in targets {
        let socket = Path::new(&target.socket);
        queries(socket, 1);
        let rss = || target.rss_mb().ok_or("no process id");
        let before = rss()?;
        let mut clients: Vec<RawClient> = Vec::new();
        for _ in 0..IDLE {
            let mut client = RawClient::connect_to(socket);
            client.login();
            clients.push(client);
        }
        let logged_in = rss()?;
        for client in &mut clients {
            client.command(3, ROW.as_bytes());
            read_rows(client);
        }
        let used = rss()?;
        std::thread::sleep(IDLE_FOR);
        let idle = rss()?;
        let each = |after: f64| (after - before) * 1024.0 / IDLE as f64;
        println!(
            "{:<8} {:>10.1} {:>16.1} {:>13.1}",
            target.name,
            each(logged_in),
            each(used),
            each(idle)
        );
    }
    Ok(())
}

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--max-connections=20000", "--innodb-buffer-pool-size=256M"])?;
    let mut targets = vec![own.target()];
    for dsn in &settings.peers {
        targets.push(Target::peer(dsn)?);
    }
    targets.iter().try_for_each(|target| target.prepare(1, 10_000))?;
    let null = match settings.null {
        true => {
            check_null()?;
            Some(Null::start(&[])?)
        }
        false => None,
    };
    targets.extend(null.as_ref().map(Null::target));
    let wanted = |part: &str| settings.only.as_ref().is_none_or(|only| only == part);
    let mut failed = Vec::new();
    if wanted("load") {
        failed = loads(&targets, null.is_some(), settings)?;
    }
    if wanted("connects") {
        connects::run(&targets, settings)?;
    }
    // Last: what a server took for many it may keep.
    if wanted("memory") {
        memory(&targets)?;
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "GATE FAILED: share of the null server, at least {SHARE_MIN:.2}: {}",
            failed.join("; ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_median_of_its_rounds_and_gated_where_there_are_many_clients() {
        let loads = |qps: [f64; 5]| qps.map(|qps| Load { qps, p99_ms: 0.0, cpu_us: 0.0 });
        let null = loads([100.0, 200.0, 100.0, 100.0, 50.0]);
        // A slow round of both is no share of its own.
        assert_eq!(share(&loads([81.0, 160.0, 10.0, 90.0, 41.0]), &null), 0.81);
        assert_eq!(below(8, 0.8), None);
        assert_eq!(below(64, 0.794), Some("64 clients 0.79".into()));
        assert!(below(1024, f64::NAN).is_some());
        assert_eq!((below(1, 0.5), below(4096, 0.5)), (None, None));
    }
}
