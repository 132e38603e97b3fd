//! The running process: its log, its stop, and what sessions ask of it.

#[cfg(feature = "dashboard")]
use crate::dashboards::Dashboards;
use crate::log::{Log, QueryFile, timestamp};
use crate::threads::Threads;
use catalog::ErrorLogRow;
use host::watched;
use session::{Host, QueryLog, Server, Severity, VERSION};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use stdx::{Ordering, SharedAtomic, class};

/// What listeners and connections share.
pub struct Process {
    /// Error log.
    pub log: Log,
    /// The general and the slow log.
    queries: [QueryFile; 2],
    datadir: OnceLock<PathBuf>,
    header: OnceLock<String>,
    stopping: SharedAtomic<bool, { class::OTHER }>,
    shutdown_asked: SharedAtomic<bool, { class::OTHER }>,
    threads: OnceLock<Arc<Threads>>,
    /// The dashboard's place.
    #[cfg(feature = "dashboard")]
    pub dashboards: Dashboards,
}

impl Process {
    /// A process that is not stopping.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            log: Log::stderr(),
            queries: [&watched::GENERAL_LOG, &watched::SLOW_LOG].map(QueryFile::closed),
            datadir: OnceLock::new(),
            header: OnceLock::new(),
            stopping: SharedAtomic::new(false),
            shutdown_asked: SharedAtomic::new(false),
            threads: OnceLock::new(),
            #[cfg(feature = "dashboard")]
            dashboards: Dashboards::new(),
        })
    }

    /// Tells where relative paths of logs are, and what their files begin with; once.
    pub fn set_place(&self, datadir: &Path, port: u16, socket: &Path) {
        let _ = self.datadir.set(datadir.to_path_buf());
        let header = format!(
            "limpid, Version: {VERSION}. started with:\nTcp port: {port}  Unix socket: {}\n\
             Time                 Id Command    Argument\n",
            socket.display()
        );
        let _ = self.header.set(header);
    }

    /// The threads of the server's connections.
    pub fn threads(&self, server: &Server) -> &Arc<Threads> {
        self.threads.get_or_init(|| Threads::new(Arc::clone(&server.threads)))
    }

    /// Whether the server is going down: new connections are refused.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// From now on the server is going down.
    pub fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(threads) = self.threads.get() {
            threads.end();
        }
    }
}

impl Host for Process {
    fn shutdown(&self, by: &str) {
        let text = format!("Received SHUTDOWN from user {by}. Shutting down.");
        self.log.write(Severity::System, "MY-013172", &text);
        // Once: a second signal would cut the stop short.
        if !self.shutdown_asked.swap(true, Ordering::AcqRel) {
            host::signal::terminate_self();
        }
    }

    fn open_log(&self, log: QueryLog, path: Option<&str>) -> std::io::Result<()> {
        let datadir = self.datadir.get().map_or(Path::new("."), |d| d);
        let header = self.header.get().map_or("", |h| h);
        self.queries[log as usize].open(path.map(|path| datadir.join(path)), header)
    }

    fn write_log(&self, log: QueryLog, text: &str) -> std::io::Result<()> {
        self.queries[log as usize].write(text)
    }

    fn timestamp(&self) -> String {
        timestamp(host::clock::unix_micros())
    }

    #[cfg(feature = "dashboard")]
    fn set_dashboard(&self, on: bool) -> Result<(), String> {
        if !on {
            self.dashboards.stop();
            return Ok(());
        }
        let address = self.dashboards.start()?;
        self.log.write(Severity::System, "MY-010000", &format!("Dashboard: http://{address}/"));
        Ok(())
    }

    fn set_log_verbosity(&self, level: u8) {
        self.log.set_verbosity(level);
    }

    fn trim_threads(&self) {
        if let Some(threads) = self.threads.get() {
            threads.trim();
        }
    }

    fn error_log(&self) -> Vec<ErrorLogRow> {
        self.log.lines()
    }

    fn read_file(&self, path: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.datadir.get().map_or(Path::new("."), |d| d).join(path))
    }

    fn user_name(&self, uid: u32) -> Option<String> {
        nix::unistd::User::from_uid(uid.into()).ok().flatten().map(|user| user.name)
    }

    fn log(&self, severity: Severity, text: &str) {
        self.log.write(severity, "MY-010000", text);
    }
}
