//! A server under load: Limpid in a folder of its own, or a peer that runs already.

use crate::shell;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Linux reports process times in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;
/// How long a server may take to accept a connection.
const START: Duration = Duration::from_secs(300);

/// A server that answers on a socket.
pub struct Target {
    pub name: String,
    /// Limpid, not a peer.
    pub is_own: bool,
    pub socket: String,
    pub user: String,
    pub pid: Option<u32>,
}

impl Target {
    /// The peer of a DSN.
    pub fn peer(dsn: &str) -> Result<Target, String> {
        let fields: HashMap<&str, &str> =
            dsn.split_whitespace().filter_map(|f| f.split_once('=')).collect();
        let socket = fields.get("socket").ok_or("the DSN names no socket")?;
        Ok(Target {
            name: (*fields.get("name").unwrap_or(&"peer")).to_string(),
            is_own: false,
            socket: (*socket).to_string(),
            user: fields.get("user").unwrap_or(&"root").to_string(),
            pid: fields.get("pid").and_then(|p| p.parse().ok()),
        })
    }

    /// The answer of one statement, tab-separated, without headings.
    pub fn sql(&self, statement: &str) -> Result<String, String> {
        let output = Command::new("mariadb")
            .arg("--no-defaults")
            // The client takes 45 ms to make ready for TLS, on a socket of this machine too.
            .arg("--skip-ssl")
            .arg(format!("--socket={}", self.socket))
            .arg(format!("--user={}", self.user))
            .args(["-N", "-B", "-e", statement])
            .output()
            .map_err(|e| format!("mariadb: {e}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_string()),
            false => {
                let text = String::from_utf8_lossy(&output.stderr);
                Err(format!("{}: {statement}: {text}", self.name))
            }
        }
    }

    /// Runs statements that may be longer than an argument; their output is dropped.
    pub fn script(&self, statements: &str) -> Result<(), String> {
        let mut child = Command::new("mariadb")
            .args(["--no-defaults", "--skip-ssl", &format!("--socket={}", self.socket)])
            .arg(format!("--user={}", self.user))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("mariadb: {e}"))?;
        let input = child.stdin.take().ok_or("no input")?;
        let written = { input }.write_all(statements.as_bytes());
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        match output.status.success() && written.is_ok() {
            true => Ok(()),
            false => Err(format!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// A status variable's value.
    pub fn status(&self, name: &str) -> Result<f64, String> {
        let row = self.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
        let value = row.split_once('\t').and_then(|(_, v)| v.parse().ok());
        value.ok_or_else(|| format!("{}: no status variable {name}", self.name))
    }

    /// Runs sysbench against it and returns what it prints.
    pub fn sysbench(&self, script: &str, arguments: &[String]) -> Result<String, String> {
        let output = Command::new("sysbench")
            .args([script, "--db-driver=mysql", "--mysql-db=sbtest"])
            .arg(format!("--mysql-socket={}", self.socket))
            .arg(format!("--mysql-user={}", self.user))
            .args(arguments)
            .output()
            .map_err(|e| format!("sysbench: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(format!("{}: {text}", self.name)) }
    }

    /// Makes sysbench's tables unless the last of them has its last row.
    pub fn prepare(&self, tables: u32, rows: u32) -> Result<(), String> {
        let last = format!("SELECT id FROM sbtest.sbtest{tables} WHERE id = {rows}");
        if self.sql(&last).is_ok_and(|answer| !answer.is_empty()) {
            return Ok(());
        }
        self.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
        let shape = [format!("--tables={tables}"), format!("--table-size={rows}")];
        let prepare = [&shape[..], &["--threads=2".into(), "prepare".into()]].concat();
        self.sysbench("oltp_point_select", &prepare).map(drop)
    }

    /// User and system time used so far, in seconds.
    pub fn cpu_s(&self) -> Option<f64> {
        cpu_s(self.pid?)
    }

    /// Bytes that the process had written to devices so far.
    pub fn bytes_written(&self) -> Option<f64> {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.pid?)).ok()?;
        let line = io.lines().find(|l| l.starts_with("write_bytes:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// fsyncs of data and log so far. MySQL and MariaDB count those of the log in the first figure too.
    pub fn fsyncs(&self) -> Result<f64, String> {
        let data = self.status("Innodb_data_fsyncs")?;
        match self.is_own {
            false => Ok(data),
            true => Ok(data + self.status("Innodb_os_log_fsyncs")?),
        }
    }

    /// Resident memory in MB.
    pub fn rss_mb(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid?)).ok()?;
        let line = status.lines().find(|l| l.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
    }
}

/// What the kernel says of a process behind its name: first its state, at 11 and 12 its time in ticks, at 19 when it began.
/// `None`: it is not there.
pub fn process_stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(String::from).collect())
}

/// User and system time of a process so far, in seconds.
pub fn cpu_s(pid: u32) -> Option<f64> {
    let fields = process_stat(pid)?;
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

/// Limpid in a folder of its own; killed when dropped.
pub struct Own {
    child: Child,
    folder: PathBuf,
}

impl Own {
    /// Starts it over an empty folder and waits until it accepts connections.
    pub fn start(options: &[&str]) -> Result<Own, String> {
        let folder = shell::target().join("bench-data");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let log = std::fs::File::create(folder.join("log")).map_err(|e| e.to_string())?;
        let socket = folder.join("s.sock");
        let child = Command::new(shell::target().join("release/limpid"))
            .arg("--no-defaults")
            .arg(format!("--datadir={}", folder.join("data").display()))
            .arg(format!("--socket={}", socket.display()))
            .args(["--port=0", "--max-connections=2000"])
            .args(options)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|e| e.to_string())?;
        let (own, begin) = (Own { child, folder }, Instant::now());
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            if begin.elapsed() > START {
                return Err("Limpid does not accept connections".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(own)
    }

    /// Where to reach it.
    pub fn target(&self) -> Target {
        let socket = self.folder.join("s.sock").display().to_string();
        let (name, user) = ("limpid".to_string(), "root".to_string());
        Target { name, is_own: true, socket, user, pid: Some(self.child.id()) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
