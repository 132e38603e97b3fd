//! System calls of a server while it is measured, counted by strace: a server that is traced is slow, its counts are right.

use crate::interrupt;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "strace";
/// Longest time until it has let the process go.
const LONGEST: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Whether a process can be traced.
///
/// # Errors
/// Why not.
pub fn look(pid: Option<u32>) -> Result<u32, String> {
    let pid = pid.ok_or("its process is not known")?;
    match Command::new(PROGRAM).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(pid),
        _ => Err(format!("{PROGRAM} is not on this machine (apt-get install strace)")),
    }
}

/// Counts the calls of all threads of a process for a time.
///
/// # Errors
/// It cannot be traced; what was printed instead of a count.
pub fn count(pid: u32, length: Duration) -> Result<f64, String> {
    let mut tracer = Tracer::begin(pid)?;
    interrupt::pause(length);
    tracer.finish()
}

/// A tracer, which is ended whatever happens.
pub struct Tracer(Child);

impl Tracer {
    /// Counts the calls of all threads of a process from when this returns.
    ///
    /// # Errors
    /// It cannot be traced; what was printed instead.
    pub fn begin(pid: u32) -> Result<Tracer, String> {
        let child = Command::new(PROGRAM)
            .args(["-f", "-c", "-p", &pid.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut tracer = Tracer(child.map_err(|e| format!("{PROGRAM}: {e}"))?);
        let asked = host::clock::now();
        while !is_traced(pid) {
            let has_ended = tracer.0.try_wait().map_err(|e| format!("{PROGRAM}: {e}"))?.is_some();
            if has_ended || asked.elapsed() > LONGEST {
                tracer.finish()?;
                return Err(format!("{PROGRAM} does not attach to process {pid}"));
            }
            interrupt::pause(LOOK);
        }
        Ok(tracer)
    }

    /// Ends it; the calls that it counted.
    ///
    /// # Errors
    /// What was printed instead of a count.
    pub fn finish(&mut self) -> Result<f64, String> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        // Asked to end, it tells its counts; one that has ended already does so, too. The lab's threads block the other signals that it
        // listens to, and what is started inherits that.
        let _ended = pid.map(|pid| kill_process(pid, Signal::QUIT));
        let asked = host::clock::now();
        while self.0.try_wait().map_err(|e| format!("{PROGRAM}: {e}"))?.is_none() {
            if asked.elapsed() > LONGEST {
                return Err(format!("{PROGRAM} does not end"));
            }
            interrupt::pause(LOOK);
        }
        let mut text = String::new();
        if let Some(mut printed) = self.0.stderr.take() {
            std::io::Read::read_to_string(&mut printed, &mut text)
                .map_err(|e| format!("{PROGRAM}: {e}"))?;
        }
        total(&text).ok_or_else(|| format!("{PROGRAM} told no count: {}", text.trim()))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Whether somebody traces all threads of a process.
fn is_traced(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().all(|task| {
        let status = std::fs::read_to_string(task.path().join("status"));
        // A thread that ended meanwhile is none.
        status.map_or(true, |status| !status.contains("TracerPid:\t0\n"))
    })
}

/// The number of calls in the last line of a summary.
fn total(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.trim_end().ends_with(" total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read() {
        let text = "strace: Process 7 attached with 9 threads\n\
            % time     seconds  usecs/call     calls    errors syscall\n\
            ------ ----------- ----------- --------- --------- ----------------\n \
            55.10    0.012345           2      5000       100 recvfrom\n\
            100.00    0.022400           2     10003       107 total\n";
        assert_eq!(total(text), Some(10_003.0));
        assert_eq!(total("strace: attach: Operation not permitted"), None);
        assert!(look(None).is_err());
    }
}
