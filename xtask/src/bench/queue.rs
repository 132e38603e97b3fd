//! A queue table: some insert at its tail, some delete at its head, while one view grows old.
//!
//! Gate: at least half of the throughput is left after a minute under the view, which has to step over every row
//! that was deleted since.

use super::Settings;
use super::target::{Own, Target};
use std::io::Write;
use std::process::{Child, Command, Stdio};

const RATIO_MIN: f64 = 0.5;
/// Age of the view when the second measurement begins.
const VIEW_S: u32 = 60;
const ROWS_AT_START: u32 = 1_000;
const SCRIPT: &str = include_str!("queue.lua");

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=1G"])?;
    let mut targets = vec![own.target()];
    targets.extend(settings.peer()?);
    let mut failed = None;
    for target in &targets {
        let ratio = measure(target, settings)?;
        if target.is_own && ratio < RATIO_MIN {
            failed = Some(format!("GATE FAILED: {ratio:.2} of the throughput under an old view"));
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Throughput under the old view divided by that without one.
fn measure(target: &Target, settings: &Settings) -> Result<f64, String> {
    target.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
    target.sql(
        "CREATE TABLE sbtest.queue (id BIGINT PRIMARY KEY AUTO_INCREMENT, made INT NOT NULL, \
         job VARCHAR(120) NOT NULL, KEY made (made))",
    )?;
    let row = "(0, REPEAT('j', 100))";
    let rows = vec![row; ROWS_AT_START as usize].join(",");
    target.script(&format!("INSERT INTO sbtest.queue (made, job) VALUES {rows}"))?;
    load(target, settings, 2)?;
    let without = load(target, settings, settings.seconds)?;
    let view = View::open(target)?;
    load(target, settings, VIEW_S)?;
    let under = load(target, settings, settings.seconds)?;
    let history = target.sql(
        "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'",
    );
    drop(view);
    let after = load(target, settings, settings.seconds)?;
    println!(
        "{:<8} {without:.0} TPS without a view, {under:.0} under one of {VIEW_S} s ({:.2}), {after:.0} when it is \
         gone; history of {} transactions",
        target.name,
        under / without,
        history.unwrap_or_else(|_| "?".into()),
    );
    Ok(under / without)
}

/// Transactions per second.
fn load(target: &Target, settings: &Settings, seconds: u32) -> Result<f64, String> {
    let path = crate::shell::target().join("queue.lua");
    std::fs::write(&path, SCRIPT).map_err(|e| e.to_string())?;
    let options = [
        format!("--threads={}", settings.threads),
        format!("--time={seconds}"),
        "--mysql-ignore-errors=1213".to_string(),
        "run".to_string(),
    ];
    let text = target.sysbench(&path.display().to_string(), &options)?;
    let line = text.lines().find(|l| l.trim_start().starts_with("transactions:"));
    let count = line.and_then(|l| l.split_once(':')?.1.split_whitespace().next()?.parse().ok());
    count.map(|n: f64| n / f64::from(seconds)).ok_or_else(|| format!("no count in {text}"))
}

/// A session that keeps a view until it is dropped.
struct View(Child);

impl View {
    fn open(target: &Target) -> Result<View, String> {
        let mut child = Command::new("mariadb")
            .args(["--no-defaults", "--unbuffered"])
            .arg(format!("--socket={}", target.socket))
            .arg(format!("--user={}", target.user))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| format!("mariadb: {e}"))?;
        let input = child.stdin.as_mut().ok_or("no input")?;
        input
            .write_all(
                b"START TRANSACTION WITH CONSISTENT SNAPSHOT;\nSELECT COUNT(*) FROM sbtest.queue;\n",
            )
            .map_err(|e| e.to_string())?;
        Ok(View(child))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
