//! Servers: those that the lab starts, each in a folder of its own, and those that run already.
//!
//! 1. What the lab starts it ends: a server dies with its [`Server`], however that goes. 2. A server that runs already is not changed
//! beyond the settings of an experiment, which are set back, and the schema `limpid_lab`, which is dropped.

use crate::data::{self, Wanted};
use client::{Client, Dsn, Failure};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Longest time until a server that was started answers.
const START: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);
/// Options of every server that is started.
const OPTIONS: [&str; 7] = [
    "--no-defaults",
    "--skip-networking",
    "--max-connections=4096",
    "--innodb-buffer-pool-size=1G",
    "--innodb-redo-log-capacity=1G",
    // Of builds that have it: a port that all of them would want.
    "--loose-limpid-dashboard=OFF",
    "--loose-limpid-session-history=OFF",
];

/// What is measured: a build, or a server that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A binary that the lab starts.
    Binary {
        /// What it is called.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A server that runs already.
    Peer(Dsn),
}

impl Subject {
    /// Reads `PATH` or `NAME=PATH`.
    pub fn binary(text: &str) -> Subject {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !name.contains('/') => (name.to_string(), PathBuf::from(path)),
            _ => {
                let path = PathBuf::from(text);
                let stem = path.file_stem().unwrap_or_default();
                (stem.to_string_lossy().into_owned(), path)
            }
        };
        Subject::Binary { name, path }
    }

    /// What it is called in tables.
    pub fn name(&self) -> String {
        match self {
            Subject::Binary { name, .. } => name.clone(),
            Subject::Peer(dsn) => dsn.name.clone().unwrap_or_else(|| "peer".into()),
        }
    }

    /// What it says of itself: its version, and its commit where its builder named one; empty where it says nothing.
    pub fn build(&self) -> String {
        match self {
            Subject::Binary { path, .. } => {
                let told = Command::new(path).arg("--version").stdin(Stdio::null()).output();
                let told = told.map(|output| output.stdout).unwrap_or_default();
                String::from_utf8_lossy(&told).lines().next().unwrap_or_default().to_string()
            }
            Subject::Peer(dsn) => {
                let ask = |mut client: Client| {
                    client.value("SELECT CONCAT(@@version, ' (', @@version_comment, ')')")
                };
                Client::connect(dsn).and_then(ask).unwrap_or_default()
            }
        }
    }
}

/// A process that was started, in a folder that goes with it.
#[derive(Debug)]
struct Process {
    child: Child,
    folder: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
        let _left = std::fs::remove_dir_all(&self.folder);
    }
}

/// A server under load.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub dsn: Dsn,
    /// What it calls itself.
    pub version: String,
    /// Its process, where it is on this machine.
    pub pid: Option<u32>,
    process: Option<Process>,
    /// What it is started as: the binary, or a program that runs it.
    words: Vec<PathBuf>,
    options: Vec<String>,
    /// Settings to be set back, by name.
    before: Vec<(String, String)>,
    /// The lab made its tables there.
    is_filled: bool,
}

impl Server {
    /// Starts a binary in an empty folder and waits until it answers.
    ///
    /// # Errors
    /// It cannot be started or does not answer; the end of its log.
    pub fn start(binary: &Path, folder: &Path, options: &[&str]) -> Result<Server, String> {
        Server::start_under(&[], binary, folder, options)
    }

    /// The same under a program that runs it, given with its arguments.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_under(
        program: &[&str],
        binary: &Path,
        folder: &Path,
        options: &[&str],
    ) -> Result<Server, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let options: Vec<String> = options.iter().map(|o| (*o).to_string()).collect();
        let words: Vec<PathBuf> = program.iter().map(PathBuf::from).collect();
        let words = [words, vec![binary.to_path_buf()]].concat();
        let child = spawn(&words, folder, &options)?;
        let process = Process { child, folder: folder.to_path_buf() };
        let dsn = Dsn::at(folder.join("s.sock"));
        let mut server = Server {
            pid: Some(process.child.id()),
            dsn,
            version: String::new(),
            process: Some(process),
            words,
            options,
            before: Vec::new(),
            is_filled: false,
        };
        server.version = server.wait_for_answer()?;
        Ok(server)
    }

    /// A server that runs already.
    ///
    /// # Errors
    /// It cannot be reached, or refuses.
    pub fn running(dsn: &Dsn) -> Result<Server, String> {
        let client = Client::connect(dsn).map_err(|e| format!("{}: {e}", dsn.place()))?;
        Ok(Server {
            version: client.version().to_string(),
            pid: dsn.pid.or_else(|| client.server_pid()),
            dsn: dsn.clone(),
            process: None,
            words: Vec::new(),
            options: Vec::new(),
            before: Vec::new(),
            is_filled: false,
        })
    }

    /// A new connection.
    ///
    /// # Errors
    /// The server's.
    pub fn connect(&self) -> Result<Client, String> {
        Client::connect(&self.dsn).map_err(|e| self.told(&e))
    }

    /// A failure with what is known of the server's end.
    pub fn told(&self, failure: &Failure) -> String {
        let end = self.log().lines().last().map(|l| format!("; its log ends with: {l}"));
        format!("{failure}{}", end.filter(|_| failure.is_lost()).unwrap_or_default())
    }

    /// Makes the tables.
    ///
    /// # Errors
    /// The server's.
    pub fn fill(&mut self, wanted: Wanted, told: &mut dyn FnMut()) -> Result<(), String> {
        self.is_filled = true;
        data::make(&mut self.connect()?, wanted, told).map_err(|e| self.told(&e))
    }

    /// Remembers a global variable's value of before the lab.
    pub fn remember(&mut self, client: &mut Client, variable: &str) {
        let known = self.process.is_some() || self.before.iter().any(|(name, _)| name == variable);
        if !known && let Ok(value) = client.value(&format!("SELECT @@GLOBAL.{variable}")) {
            self.before.push((variable.to_string(), value));
        }
    }

    /// Ends it as a power cut would, as far as the process is concerned.
    pub fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            let _ended = process.child.kill();
            let _reaped = process.child.wait();
        }
    }

    /// Starts it again where it was, and waits until it answers.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_again(&mut self) -> Result<(), String> {
        let Some(process) = &mut self.process else {
            return Err("a server that runs already is not started by the lab".into());
        };
        process.child = spawn(&self.words, &process.folder, &self.options)?;
        self.pid = Some(process.child.id());
        self.wait_for_answer().map(drop)
    }

    fn wait_for_answer(&mut self) -> Result<String, String> {
        let begun = host::clock::now();
        loop {
            match Client::connect(&self.dsn) {
                Ok(client) => return Ok(client.version().to_string()),
                Err(failure) if begun.elapsed() > START => {
                    return Err(format!("no answer within {START:?}: {failure}\n{}", self.log()));
                }
                Err(_) => {}
            }
            if let Some(status) = self.ended() {
                return Err(format!("the server ended at its start ({status}):\n{}", self.log()));
            }
            if crate::interrupt::is_asked() {
                return Err(crate::interrupt::WORD.into());
            }
            crate::interrupt::pause(LOOK);
        }
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.process.as_mut()?.child.try_wait().ok()?
    }

    /// The last lines that it printed.
    fn log(&self) -> String {
        let Some(process) = &self.process else { return String::new() };
        let text = std::fs::read(process.folder.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.is_some() {
            return;
        }
        let Ok(mut client) = Client::connect(&self.dsn) else { return };
        for (variable, value) in &self.before {
            let quoted = match value.parse::<f64>() {
                Ok(_) => value.clone(),
                Err(_) => format!("'{}'", value.replace('\'', "''")),
            };
            // The server may be gone; it then has its own values at its next start.
            let _gone = client.run(&format!("SET GLOBAL {variable} = {quoted}"));
        }
        if self.is_filled {
            let _gone = client.run(&format!("DROP DATABASE IF EXISTS {}", data::SCHEMA));
        }
    }
}

fn spawn(words: &[PathBuf], folder: &Path, options: &[String]) -> Result<Child, String> {
    let (program, arguments) = words.split_first().ok_or("nothing to start")?;
    let told = |e: std::io::Error| format!("{}: {e}", program.display());
    let log = std::fs::File::options().create(true).append(true).open(folder.join("log"));
    let log = log.map_err(told)?;
    Command::new(program)
        .args(arguments)
        .args(OPTIONS)
        .arg(format!("--datadir={}", folder.join("data").display()))
        .arg(format!("--socket={}", folder.join("s.sock").display()))
        .args(options)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(told)?)
        .stderr(log)
        // Ctrl-C is the lab's: it ends its servers when it has asked them for the last figures.
        .process_group(0)
        .spawn()
        .map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_have_names() {
        assert_eq!(Subject::binary("/a/limpid").name(), "limpid");
        let bare = Subject::binary("bare=/b/limpid");
        assert_eq!(bare, Subject::Binary { name: "bare".into(), path: "/b/limpid".into() });
    }

    #[test]
    fn what_is_no_server_says_why() {
        let folder = std::env::temp_dir().join(format!("limpid-lab-test-{}", std::process::id()));
        let why = Server::start(Path::new("/bin/false"), &folder, &[]).unwrap_err();
        assert!(why.contains("ended at its start"), "{why}");
        assert!(!folder.exists(), "its folder went with it");
        let why = Server::start(Path::new("/nowhere/limpid"), &folder, &[]).unwrap_err();
        assert!(why.contains("/nowhere/limpid"), "{why}");
        let _left = std::fs::remove_dir_all(&folder);
        let why = Server::running(&Dsn::at("/nowhere/s.sock")).unwrap_err();
        assert!(why.contains("2002"), "{why}");
    }
}
