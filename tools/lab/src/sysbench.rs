//! The stock sysbench as driver: its scripts over the tables that are there.
//!
//! A password reaches it as a file of options in its standard input: whoever lists processes sees none.

use crate::driver::{Counts, Driven, Load};
use crate::interrupt;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "sysbench";
const LOOK: Duration = Duration::from_millis(50);

/// Whether it is on this machine.
///
/// # Errors
/// It is not, and how it comes.
pub fn look() -> Result<(), String> {
    match Command::new(PROGRAM).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!(
            "{PROGRAM} is not on this machine (apt-get install sysbench): --driver=own needs nothing"
        )),
    }
}

/// A process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Drives a load to its end; `tick` hears of time alone, since sysbench tells no counts meanwhile.
///
/// # Errors
/// The workload has no script; what sysbench printed; an interrupt.
pub fn drive(load: &Load, tick: &mut dyn FnMut(Counts)) -> Result<Driven, String> {
    let mut child = command(load)?.spawn().map_err(|e| format!("{PROGRAM}: {e}"))?;
    let input = child.stdin.take();
    let running = Running(child);
    if let Some(mut input) = input {
        // One that has ended says why.
        let _ended = input.write_all(secret(&load.dsn.password).as_bytes());
    }
    let text = watch(running, load, tick)?;
    let driven = driven(&text, seconds(load) as f64);
    driven.ok_or_else(|| format!("{PROGRAM} printed no figures:\n{text}"))
}

/// It counts whole seconds.
fn seconds(load: &Load) -> u64 {
    load.length.as_secs().max(1)
}

fn command(load: &Load) -> Result<Command, String> {
    let (script, options) = load
        .workload
        .sysbench()
        .ok_or_else(|| format!("sysbench has no script for {}", load.workload.name()))?;
    // It begins to count anew at a checkpoint.
    let warm_up = load.warm_up.as_secs();
    let has_secret = !load.dsn.password.is_empty();
    let cores: Vec<String> = load.cores.iter().map(usize::to_string).collect();
    let mut command = Command::new("taskset");
    command.args(["-c", &cores.join(","), PROGRAM, "--db-driver=mysql"]);
    match (&load.dsn.socket, &load.dsn.host) {
        (Some(socket), _) => command.arg(format!("--mysql-socket={}", socket.display())),
        (None, Some((host, port))) => {
            command.args([format!("--mysql-host={host}"), format!("--mysql-port={port}")])
        }
        (None, None) => return Err("the server has no place".into()),
    };
    command
        .args([
            format!("--mysql-db={}", crate::data::SCHEMA),
            format!("--mysql-user={}", load.dsn.user),
            format!("--tables={}", load.wanted.tables),
            format!("--table-size={}", load.wanted.rows),
            format!("--threads={}", load.users),
            format!("--time={}", warm_up + seconds(load)),
            "--rand-type=uniform".into(),
            "--mysql-ignore-errors=1213,1205,1062".into(),
        ])
        .args((warm_up > 0).then(|| format!("--report-checkpoints={warm_up}")))
        .args(has_secret.then_some("--config-file=/dev/stdin"))
        .args(options)
        .args([script, "run"])
        .stdin(if has_secret { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    Ok(command)
}

/// The password as a line of options: in those quotes that it has not, since what begins with others, or with `#`, is read otherwise.
fn secret(password: &str) -> String {
    let quotes = ["\"", "'"].into_iter().find(|quote| !password.contains(quote));
    let quote = quotes.unwrap_or_default();
    format!("mysql-password={quote}{password}{quote}\n")
}

/// Waits for the end; what it printed.
fn watch(
    mut running: Running,
    load: &Load,
    tick: &mut dyn FnMut(Counts),
) -> Result<String, String> {
    let mut next = host::clock::now() + Duration::from_secs(load.warm_up.as_secs());
    let end = next + load.length;
    let status = loop {
        if interrupt::is_asked() {
            return Err(interrupt::WORD.into());
        }
        if let Some(status) = running.0.try_wait().map_err(|e| format!("{PROGRAM}: {e}"))? {
            break status;
        }
        let now = host::clock::now();
        if now >= next && now < end {
            tick(Counts::default());
            next += Duration::from_secs(1);
        }
        interrupt::pause(LOOK);
    };
    tick(Counts::default());
    let mut text = String::new();
    let outputs = [
        running.0.stdout.take().map(|o| Box::new(o) as Box<dyn Read>),
        running.0.stderr.take().map(|o| Box::new(o) as Box<dyn Read>),
    ];
    for mut output in outputs.into_iter().flatten() {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).map_err(|e| format!("{PROGRAM}: {e}"))?;
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    match status.success() {
        true => Ok(text),
        false => Err(format!("{PROGRAM} failed ({status}):\n{text}")),
    }
}

/// Reads what it printed of a run, or of the part behind its last checkpoint.
fn driven(text: &str, seconds: f64) -> Option<Driven> {
    let figure = |name: &str| {
        let line = text.lines().rev().find(|line| line.trim_start().starts_with(name))?;
        line.split_once(':')?.1.split_whitespace().next()?.trim_end_matches('s').parse::<f64>().ok()
    };
    Some(Driven {
        seconds,
        counts: Counts {
            queries: figure("total:")?,
            transactions: figure("transactions:")?,
            errors: figure("ignored errors:")?,
        },
        mean_ms: figure("avg:")?,
        p95_ms: figure("95th percentile:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_no_arguments() {
        let dsn = client::Dsn::parse("socket=/s user=probe password=sesame").unwrap();
        let load = Load {
            dsn,
            workload: crate::workload::Workload::PointSelect,
            users: 3,
            wanted: crate::data::Wanted::of(1, 1, &[]),
            seed: 1,
            cores: vec![0],
            warm_up: Duration::ZERO,
            length: Duration::ZERO,
        };
        let words = |load: &Load| {
            let command = command(load).unwrap();
            let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
            words.collect::<Vec<String>>().join(" ")
        };
        let with = words(&load);
        assert!(with.contains("--config-file=/dev/stdin") && !with.contains("sesame"), "{with}");
        assert!(with.contains("--threads=3 --time=1"), "{with}");
        let without = Load { dsn: client::Dsn::at("/s"), ..load };
        assert!(!words(&without).contains("--config-file"));
        assert_eq!(secret("sesame"), "mysql-password=\"sesame\"\n");
        assert_eq!(secret("a\"'"), "mysql-password=a\"'\n");
        assert_eq!(secret("\"x"), "mysql-password='\"x'\n");
    }

    #[test]
    fn what_it_prints_is_read() {
        let text = "SQL statistics:\n    queries performed:\n        read:  900\n        total:  1000\n    \
            transactions:  1000   (500.00 per sec.)\n    queries:  1000 (500.00 per sec.)\n    ignored errors:  3 (0.00 per sec.)\n\
            Latency (ms):\n         min: 0.05\n         avg:  0.40\n         max: 3\n         95th percentile:  0.62\n";
        let before = text.replace("1000", "7").replace("0.62", "9.9");
        let driven = driven(&format!("[ 1s ] Checkpoint report:\n{before}\n{text}"), 2.0).unwrap();
        assert_eq!(
            (driven.counts.queries, driven.counts.errors, driven.p95_ms),
            (1000.0, 3.0, 0.62)
        );
        assert_eq!(super::driven("nothing", 1.0), None);
    }
}
