//! A server process in a temporary folder, on a free port; ended by its own process id.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest time a server may take to accept its first connection.
const START_SECONDS_MAX: u64 = 120;

/// A folder that goes away with its owner.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// A fresh, empty folder. Real disk when the target folder is on one: O_DIRECT needs it.
    pub fn new() -> TempDir {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let base =
            std::env::var_os("LIMPID_TEST_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let name = format!(
            "limpid-test-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = base.join(name);
        std::fs::create_dir_all(&path).expect("temporary folder");
        TempDir(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for TempDir {
    fn default() -> Self {
        TempDir::new()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The binary under test: `LIMPID_BINARY` (the release build, set by `cargo xtask test`) or the one
/// that cargo built for this test run.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("LIMPID_BINARY") {
        return path.into();
    }
    // target/PROFILE/deps/TEST -> target/PROFILE/limpid
    let test = std::env::current_exe().expect("path of the test");
    test.ancestors().nth(2).expect("deps folder").join("limpid")
}

/// A TCP port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port()
}

/// Options of a server to be started.
#[derive(Debug, Clone, Default)]
pub struct ServerBuilder {
    options: Vec<String>,
    wrapper: Vec<String>,
    binary: Option<PathBuf>,
}

impl ServerBuilder {
    /// Adds a command-line option.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> ServerBuilder {
        self.options.push(option.into());
        self
    }

    /// Runs another binary than [`binary`].
    #[must_use]
    pub fn binary(mut self, path: &Path) -> ServerBuilder {
        self.binary = Some(path.to_path_buf());
        self
    }

    /// Runs the server under a program, such as valgrind with its options.
    #[must_use]
    pub fn under(mut self, wrapper: &[&str]) -> ServerBuilder {
        self.wrapper = wrapper.iter().map(|s| (*s).to_string()).collect();
        self
    }

    /// Starts in the given folder and waits for the first accepted connection.
    ///
    /// # Panics
    /// When the server does not come up; its log is in the message.
    pub fn start(&self, folder: &Path) -> Server {
        let mut server = self.spawn(folder);
        let end = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        while std::os::unix::net::UnixStream::connect(server.socket()).is_err() {
            if let Some(status) = server.child.try_wait().expect("own child") {
                panic!("the server ended at start: {status}\n{}", server.log());
            }
            assert!(Instant::now() < end, "the server does not accept\n{}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Starts without waiting.
    pub fn spawn(&self, folder: &Path) -> Server {
        let port = free_port();
        let socket = folder.join("s.sock");
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(folder.join("server.log"))
            .expect("log file");
        let mut words: Vec<String> = self.wrapper.clone();
        words.push(self.binary.clone().unwrap_or_else(binary).display().to_string());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg("--no-defaults")
            .arg(format!("--datadir={}", folder.join("data").display()))
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", socket.display()))
            // Many servers run at once: a test that wants the pages asks for them.
            .arg("--limpid-dashboard=OFF")
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("log handle"))
            .stderr(log);
        let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Server { child, port, socket, folder: folder.to_path_buf() }
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    socket: PathBuf,
    folder: PathBuf,
}

impl Server {
    /// A server with default options in the given folder.
    pub fn start(folder: &Path) -> Server {
        ServerBuilder::default().start(folder)
    }

    /// Options of a server to be started.
    pub fn with() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything the server has printed.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.join("server.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Ends the process as a power cut would, as far as the process is concerned.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends SIGTERM and waits.
    ///
    /// # Panics
    /// When the server does not end within a minute.
    pub fn stop(&mut self) -> ExitStatus {
        assert!(crate::signal(self.child.id(), "TERM"), "the server is not there any more");
        self.wait()
    }

    /// Waits for the process to end by itself.
    ///
    /// # Panics
    /// When it does not within a minute.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().expect("own child") {
                return status;
            }
            assert!(Instant::now() < end, "the server does not end\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- server log ---\n{}", self.log());
        }
    }
}

/// Raises the format version of a stopped server's data folder, as a newer release would leave it.
///
/// # Panics
/// When the folder has no format file.
pub fn raise_format_version(data: &Path) {
    let path = data.join("limpid.format");
    let mut bytes = std::fs::read(&path).expect("the format file");
    let end = bytes.iter().position(|&b| b == b'\n').expect("a line");
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let (before, version) = text.rsplit_once(' ').expect("a version");
    let version: u32 = version.parse().expect("a number");
    let line = format!("{before} {}\n", version + 1);
    bytes[..line.len()].copy_from_slice(line.as_bytes());
    std::fs::write(&path, bytes).expect("a writable format file");
}
