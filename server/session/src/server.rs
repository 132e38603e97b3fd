//! What all sessions of a server share.

use crate::branches::Branches;
use crate::hosts::{Came, Hosts};
use crate::logins::Logins;
use crate::logs::Logs;
use crate::password_rules::Dictionary;
use crate::process::{Host, QueryLog, Severity};
use crate::registry::Registry;
use crate::shared_programs::SharedPrograms;
use crate::thread_counts::ThreadCounts;
use crate::ticker::Ticker;
use crate::variables::Globals;
use catalog::Catalog;
use engine::Engine;
use instrument::Totals;
use std::net::IpAddr;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;
use tls::{Acceptor, PasswordKeys};
use wire::auth::Plugin;

instrument::classes! {
    static LAST_DEADLOCK: MutexClass = "wait/synch/mutex/limpid/last_deadlock_text";
    static LAST_PRINTOUT: MutexClass = "wait/synch/mutex/innodb/srv_innodb_monitor_mutex";
}

/// A running server, as its sessions see it.
pub struct Server {
    /// Storage.
    pub engine: Arc<Engine>,
    /// Dictionary and accounts.
    pub catalog: Arc<Catalog>,
    /// Global variables.
    pub globals: Globals,
    /// Sessions.
    pub registry: Registry,
    /// Key pair for passwords over plain TCP.
    pub keys: PasswordKeys,
    /// TLS of new connections.
    pub tls: Acceptor,
    /// The process.
    pub host: Arc<dyn Host>,
    /// When the server started, in nanoseconds of [`sync::now_ns`].
    pub started_ns: u64,
    /// Time and counters of the monitor's last printout, for its rates.
    pub(crate) last_printout: Mutex<Option<(u64, Totals)>>,
    pub(crate) programs: SharedPrograms,
    /// The thread of the active session history.
    pub(crate) sampler: Ticker,
    pub(crate) hosts: Hosts,
    pub(crate) branches: Branches,
    pub(crate) logs: Logs,
    /// What is remembered of logins.
    pub(crate) logins: Logins,
    /// Words that no password has in it.
    pub(crate) dictionary: Dictionary,
    skips_grants: SharedAtomic<bool, { class::SESSION }>,
    accepts_native: SharedAtomic<bool, { class::SESSION }>,
    last_deadlock: Mutex<Option<String>>,
    /// Threads of connections.
    pub threads: Arc<ThreadCounts>,
    last_id: SharedAtomic<u64, { class::SESSION }>,
    open: SharedAtomic<u32, { class::SESSION }>,
    /// Connections to the administrative interface, which `open` has not.
    administrative: SharedAtomic<u32, { class::SESSION }>,
    open_max: SharedAtomic<u32, { class::SESSION }>,
    /// When the last FLUSH STATUS was (before the first, the start), in nanoseconds of [`sync::now_ns`].
    flushed_ns: SharedAtomic<u64, { class::SESSION }>,
    statements: SharedAtomic<i64, { class::SESSION }>,
    temptable_bytes_max: SharedAtomic<u64, { class::SESSION }>,
}

/// The banner: clients act on its first part.
pub const VERSION: &str = concat!("8.4.0-Limpid-", env!("CARGO_PKG_VERSION"));

impl Server {
    /// The server over an open dictionary, before anything of it runs.
    pub(crate) fn over(
        catalog: Arc<Catalog>,
        globals: Globals,
        host: Arc<dyn Host>,
        keys: PasswordKeys,
    ) -> Arc<Self> {
        let engine = Arc::clone(catalog.engine());
        instrument::register_declared();
        host::thread::surround_instruments();
        instrument::register(&instrument::STATEMENTS.each_ref().map(|class| class.class()));
        catalog.register_virtual(schema::tables(&engine));
        let started_ns = sync::now_ns();
        let branches = Branches::new(catalog.recovered_branches());
        Arc::new(Self {
            registry: Registry::new(Arc::clone(engine.slots())),
            engine,
            catalog,
            globals,
            keys,
            tls: Acceptor::default(),
            host,
            started_ns,
            last_printout: Mutex::new(&LAST_PRINTOUT, None),
            programs: SharedPrograms::new(),
            sampler: Ticker::new(),
            hosts: Hosts::new(),
            branches,
            logs: Logs::off(),
            logins: Logins::new(),
            dictionary: Dictionary::new(),
            skips_grants: SharedAtomic::new(false),
            accepts_native: SharedAtomic::new(true),
            last_deadlock: Mutex::new(&LAST_DEADLOCK, None),
            threads: Arc::default(),
            last_id: SharedAtomic::new(0),
            open: SharedAtomic::new(0),
            administrative: SharedAtomic::new(0),
            open_max: SharedAtomic::new(0),
            flushed_ns: SharedAtomic::new(started_ns),
            statements: SharedAtomic::new(0),
            temptable_bytes_max: SharedAtomic::new(u64::MAX),
        })
    }

    /// Opens the general and the slow log as the variables say; again, so that their files may be moved away.
    pub fn open_logs(&self) {
        self.open_each(&[QueryLog::General, QueryLog::Slow]);
    }

    pub(crate) fn open_each(&self, logs: &[QueryLog]) {
        for log in logs {
            if let Err(error) = self.logs.open(*log, &self.globals, &self.host) {
                self.host.log(Severity::Error, &error.parts().2);
            }
        }
    }

    /// The text of the deadlock that was found last.
    pub(crate) fn last_deadlock(&self) -> Option<String> {
        self.last_deadlock.lock().clone()
    }

    pub(crate) fn set_last_deadlock(&self, text: String) {
        *self.last_deadlock.lock() = Some(text);
    }

    /// Counts a connection in: its id and how many are open with it of those that `max_connections` counts.
    pub(crate) fn connect(&self, administrative: bool) -> (u64, u32) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let count = if administrative { &self.administrative } else { &self.open };
        let open = count.fetch_add(1, Ordering::Relaxed) + 1;
        if administrative {
            return (id, 0);
        }
        self.open_max.fetch_max(open, Ordering::Relaxed);
        (id, open)
    }

    /// Counts a connection out.
    pub(crate) fn disconnect(&self, administrative: bool) {
        let count = if administrative { &self.administrative } else { &self.open };
        count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Open connections.
    pub fn connections_open(&self) -> u32 {
        self.open.load(Ordering::Relaxed) + self.administrative.load(Ordering::Relaxed)
    }

    /// Whether clients from here are refused: too many handshakes of theirs failed. They are counted.
    pub(crate) fn blocks(&self, host: Option<IpAddr>) -> bool {
        let Some(address) = host.filter(|host| !host.is_loopback()) else { return false };
        let blocked = self.globals.number("host_cache_size") > 0
            && self.hosts.is_blocked(address, self.globals.number("max_connect_errors"));
        if blocked {
            self.came(host, Came::Blocked);
        }
        blocked
    }

    /// Notes what a connection came to.
    pub(crate) fn came(&self, host: Option<IpAddr>, came: Came) {
        if let Some(address) = host {
            let room = self.globals.number("host_cache_size") as usize;
            self.hosts.note(address, came, room, host::clock::unix_micros() as i64);
        }
    }

    /// Most connections that were open at a time.
    pub fn connections_open_max(&self) -> u32 {
        self.open_max.load(Ordering::Relaxed)
    }

    /// Connections so far.
    pub fn connections_total(&self) -> u64 {
        self.last_id.load(Ordering::Relaxed)
    }

    /// Seconds since the start.
    pub fn uptime_s(&self) -> u64 {
        sync::now_ns().saturating_sub(self.started_ns) / 1_000_000_000
    }

    /// FLUSH STATUS.
    pub(crate) fn flush_status(&self) {
        self.registry.flush_status();
        self.open_max.store(self.connections_open(), Ordering::Relaxed);
        self.flushed_ns.store(sync::now_ns(), Ordering::Relaxed);
    }

    /// Seconds since the last FLUSH STATUS, or since the start.
    pub fn uptime_since_flush_s(&self) -> u64 {
        sync::now_ns().saturating_sub(self.flushed_ns.load(Ordering::Relaxed)) / 1_000_000_000
    }

    /// Counts prepared statements in (or out, when negative); the number there is now.
    pub(crate) fn count_statements(&self, n: i64) -> i64 {
        self.statements.fetch_add(n, Ordering::Relaxed) + n
    }

    /// What a statement may keep in memory, in bytes.
    pub(crate) fn temptable_bytes_max(&self) -> u64 {
        self.temptable_bytes_max.load(Ordering::Relaxed)
    }

    pub(crate) fn set_temptable_bytes_max(&self, bytes: u64) {
        self.temptable_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Prepared statements of all sessions.
    pub fn statements_open(&self) -> i64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// `--mysql-native-password`: old drivers' way to prove who they are is taken.
    pub fn set_accepts_native(&self, on: bool) {
        self.accepts_native.store(on, Ordering::Relaxed);
    }

    /// The plugin of this name, as far as it is loaded.
    pub(crate) fn plugin(&self, name: &str) -> Option<Plugin> {
        let loaded = |plugin: &Plugin| {
            *plugin != Plugin::Native || self.accepts_native.load(Ordering::Relaxed)
        };
        Plugin::from_name(name).filter(loaded)
    }

    /// `skip_grant_tables`: everybody may do everything.
    pub fn set_skips_grants(&self, on: bool) {
        self.skips_grants.store(on, Ordering::Relaxed);
    }

    /// Whether everybody may do everything.
    pub(crate) fn skips_grants(&self) -> bool {
        self.skips_grants.load(Ordering::Relaxed)
    }
}
