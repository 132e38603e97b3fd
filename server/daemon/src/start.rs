//! Start and stop: from options to a listening server, and orderly down again.
//!
//! 1. Whatever is wrong at start-up ends in one message and exit code 1, and leaves nothing behind.
//! 2. Order: folder locked, ports bound, redo read, dictionary open, socket bound, then clients; what is
//!    left of recovery goes on meanwhile.
//! 3. A stop ends every session (what is open is rolled back), then the engine writes everything.

use crate::first;
use crate::limits;
use crate::listener::{self, Listener};
use crate::options::{self, Options};
use crate::persisted;
use crate::process::Process;
use crate::threads::CONNECTION_THREAD;
use catalog::{Catalog, CatalogError};
use engine::{Doublewrite, Engine, EngineConfig, FlushMethod, NoteLevel, Notes};
use host::signal::{self, Signal};
use host::{OpenError, RealDisk};
use session::variables::{self, Effect, Globals, Origin, Source, Value, VarId};
use session::{Host, Server, Severity, VERSION, sampler, tuning};
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tls::PasswordKeys;

/// How long a stop waits for sessions to end.
const STOP_WAIT: Duration = Duration::from_secs(30);
/// Exit code of a stop that a second signal cut short.
const EXIT_CUT_SHORT: i32 = 2;
/// Exit code when the log or a data file could not be written or made durable.
const EXIT_STORAGE_FAILED: i32 = 3;
const STOP_POLL: Duration = Duration::from_millis(10);
/// Engine clients besides connections: start-up, background, one above the limit for root.
const SPARE_CLIENTS: usize = 16;

/// Runs the server with the arguments after the program's name.
pub fn main(args: &[String]) -> ExitCode {
    let options = match options::read(args) {
        Ok(options) => options,
        Err(text) => return fail_plainly(&text),
    };
    if options.help {
        print(&options::help());
        return ExitCode::SUCCESS;
    }
    if options.version {
        let machine = std::env::consts::ARCH;
        print(&format!("limpid  Ver {VERSION} for Linux on {machine} ({})\n", comment()));
        return ExitCode::SUCCESS;
    }
    tuning::limit_instruments(|name| options.number(name));
    signal::block();
    sync::calibrate();
    host::rest::decay_in_background();
    let _listed = host::thread::list("main");
    let process = Process::new();
    match run(&process, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            process.log.write(Severity::Error, "MY-010119", &format!("Aborting: {text}"));
            ExitCode::FAILURE
        }
    }
}

/// What this is, and the commit that it was built from, where `LIMPID_COMMIT` named that to the compiler.
fn comment() -> String {
    let commit = option_env!("LIMPID_COMMIT").filter(|commit| !commit.is_empty());
    commit.map_or_else(|| "Limpid".into(), |commit| format!("Limpid, commit {commit}"))
}

fn fail_plainly(text: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "limpid: {text}");
    ExitCode::FAILURE
}

fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Where things are.
struct Places {
    datadir: PathBuf,
    socket: PathBuf,
    pid_file: PathBuf,
    port: u16,
    addresses: Vec<IpAddr>,
    networking: bool,
    /// Where a browser comes in.
    #[cfg(feature = "dashboard")]
    dashboard: (IpAddr, u16),
    /// Where administrators come in.
    admin: Option<(IpAddr, u16)>,
}

impl Places {
    fn of(options: &Options) -> Result<Self, String> {
        let datadir = PathBuf::from(options.text("datadir").unwrap_or("./limpid-data".into()));
        let inside = |name: &'static str, default: &str| {
            datadir.join(options.text(name).unwrap_or_else(|| default.to_string()))
        };
        let bind = options.text("bind_address").unwrap_or_else(|| "127.0.0.1".into());
        // A socket that the user names is relative to where the server was started.
        let socket = options.text("socket").map(PathBuf::from);
        let port =
            |name| u16::try_from(options.number(name)).map_err(|_| format!("{name} above 65535"));
        // Who may do everything comes from this machine.
        let networking = options.number("skip_networking") == 0 && !options.skip_grant_tables;
        let admin = match options.text("admin_address").filter(|_| networking) {
            None => None,
            Some(text) => {
                let admin_port = port("admin_port")?;
                listener::addresses(&text)?.first().map(|address| (*address, admin_port))
            }
        };
        Ok(Self {
            socket: socket.unwrap_or_else(|| datadir.join("limpid.sock")),
            pid_file: inside("pid_file", "limpid.pid"),
            port: port("port")?,
            addresses: listener::addresses(&bind)?,
            #[cfg(feature = "dashboard")]
            dashboard: {
                let address = options.text("limpid_dashboard_address");
                let address = dashboard::address(address.as_deref().unwrap_or("127.0.0.1"))?;
                (address, port("limpid_dashboard_port")?)
            },
            networking: networking && options.number("port") != 0,
            admin,
            datadir,
        })
    }
}

fn run(process: &Arc<Process>, options: &Options) -> Result<(), String> {
    let places = Places::of(options)?;
    process.log.set_verbosity(options.number("log_error_verbosity") as u8);
    log_panics(process);
    let wants_core = options.number("core_file") != 0;
    if !limits::allow_core(wants_core) && wants_core {
        let text = "setrlimit could not change the size of core files to 'infinity'; We may not be able to \
                    generate a core file on signals";
        process.log.write(Severity::Warning, "MY-010000", text);
    }
    for note in &options.notes {
        process.log.write(Severity::Warning, "MY-011068", note);
    }
    for text in &options.no_instruments {
        let text =
            format!("Invalid instrument name or value for performance_schema_instrument '{text}'.");
        process.log.write(Severity::Warning, "MY-010079", &text);
    }
    if options.number("performance_schema") == 0 {
        instrument::turn_off();
    }
    let text = format!("limpid (version {VERSION}) starting as process {}", std::process::id());
    process.log.write(Severity::System, "MY-010116", &text);
    refuse_foreign(&places.datadir)?;
    first::refuse_used(options, &places.datadir)?;
    let disk = RealDisk::open(&places.datadir).map_err(|e| folder_error(&e))?;
    if let Some(file) = options.text("log_error").filter(|f| f != "stderr") {
        let path = places.datadir.join(&file);
        let opened = process.log.to_file(&path);
        opened.map_err(|e| format!("cannot open the error log {}: {e}", path.display()))?;
    }
    limits::raise_files();
    let mut listeners = Vec::new();
    if places.networking {
        for address in &places.addresses {
            listeners.push(Listener::tcp(*address, places.port)?);
        }
    }
    if let Some((address, port)) = places.admin {
        listeners.push(Listener::administrative(address, port)?);
    }
    let (globals, connections) = make_globals(options, &places)?;
    tuning::limit_instruments(|name| globals.number(name));
    tell_sizes_without_effect(process, &globals);
    switch_instruments(options, &globals);
    size_pool(&globals);
    let (engine, is_new) = open_engine(process, &globals, connections, disk)?;
    // One graph for rows and metadata: a deadlock may run through both.
    let (slots, waits) = (Arc::clone(engine.slots()), Arc::clone(engine.waits()));
    let shards = globals.number("metadata_locks_hash_instances") as usize;
    let mdl = Arc::new(mdl::Mdl::with_graph(slots, waits).with_shards(shards));
    let catalog = Catalog::open(Arc::clone(&engine), mdl).map_err(|e| cannot_open(&e))?;
    match options.initialize {
        _ if is_new && options.root_by_socket => first::root_by_socket(process, &engine, &catalog)?,
        Some(how) => first::initialize(process, &engine, &catalog, how)?,
        None => {}
    }
    if options.initialize.is_some() {
        return engine.shutdown().map_err(|e| format!("the engine did not stop cleanly: {e}"));
    }
    engine.start_background().map_err(|e| format!("background threads: {e}"))?;
    let served = serve(process, &places, listeners, globals, (catalog, options));
    let stopped = engine.shutdown().map_err(|e| format!("the engine did not stop cleanly: {e}"));
    served?;
    stopped?;
    let text = format!("limpid: Shutdown complete (version {VERSION})");
    process.log.write(Severity::System, "MY-010910", &text);
    Ok(())
}

/// What is measured, and where it goes: said before recovery begins, which is measured, too.
fn switch_instruments(options: &Options, globals: &Globals) {
    tuning::start_instruments(globals);
    if !options.instruments.is_empty() {
        instrument::set_rules(options.instruments.clone(), sync::now_ns());
    }
    for (consumer, on) in &options.consumers {
        instrument::switch_consumer(*consumer, *on);
    }
}

/// Warns of sizes of the Performance Schema that somebody gave in vain.
fn tell_sizes_without_effect(process: &Process, globals: &Globals) {
    for id in variables::sorted().filter(|id| id.get().name.starts_with("performance_schema_")) {
        let (v, value) = (id.get(), globals.value(id));
        let Effect::Ignored(why) = v.effect else { continue };
        if v.fixed && value != variables::compiled_default(id) {
            let text = format!("{} = {} changes nothing: {why}", v.name, v.kind.show(&value));
            process.log.write(Severity::Warning, "MY-011068", &text);
        }
    }
}

fn cannot_open(error: &CatalogError) -> String {
    match error {
        CatalogError::Storage(e @ base::Error::RedoNotApplied { .. }) => format!(
            "{e}. Put the files back as they were and start again: the changes are kept in the redo log. Or \
             start once with innodb_force_recovery=1 to lose them for good; the other tables are sound."
        ),
        e => format!("the dictionary cannot be read: {e:?}"),
    }
}

/// What `innodb_force_recovery` can mean here; docs/recovery.md has the table.
fn force_recovery(globals: &Globals) -> Result<u8, String> {
    let why = match globals.number("innodb_force_recovery") {
        level @ 0..=1 => return Ok(level as u8),
        2 => {
            "there is no background thread that a damaged file ends: purge tells what it meets and goes on"
        }
        3 => {
            "a transaction that did not end is rolled back row by row in the background, and one that meets damage waits"
        }
        4 => "there is no change buffer, and statistics are not calculated at start",
        5 => "without undo, what was never committed would be shown as if it were",
        _ => "without redo no page is known to be whole",
    };
    let level = globals.number("innodb_force_recovery");
    Err(format!("innodb_force_recovery={level} is not supported: {why}. Levels are 0 and 1"))
}

fn folder_error(error: &OpenError) -> String {
    match error {
        OpenError::Locked { path, pid } => {
            let by = pid.map_or(String::new(), |p| format!(" (process {p})"));
            format!("data folder {} is locked: another server{by} uses it", path.display())
        }
        other => other.to_string(),
    }
}

/// Refuses a folder with somebody else's files before the first file of ours is written into it.
fn refuse_foreign(datadir: &Path) -> Result<(), String> {
    // What cannot be listed is told by the attempt to lock it.
    let Ok(entries) = std::fs::read_dir(datadir) else { return Ok(()) };
    let names: Vec<String> =
        entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    match engine::foreign_name(&names) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{} is not a Limpid data folder: it holds '{name}' and was left alone. Choose an empty or \
             missing folder with --datadir=DIR.",
            datadir.display()
        )),
    }
}

/// Logs panics. A connection's ends that connection (`connection::serve`); any other thread's ends the server, which
/// others would wait for in vain.
fn log_panics(process: &Arc<Process>) {
    let process = Arc::clone(process);
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("?");
        let text = format!("Bug in thread '{name}': {info}").replace('\n', " ");
        process.log.write(Severity::Error, "MY-010000", &text);
        // Nobody waits for either.
        if name != CONNECTION_THREAD && !is_dashboard(name) {
            std::process::exit(EXIT_STORAGE_FAILED);
        }
    }));
}

/// Whether a thread is the dashboard's.
fn is_dashboard(_thread: &str) -> bool {
    #[cfg(feature = "dashboard")]
    return _thread == dashboard::THREAD;
    #[cfg(not(feature = "dashboard"))]
    false
}

/// The global variables, and for how many connections there must be room.
fn make_globals(options: &Options, places: &Places) -> Result<(Globals, usize), String> {
    let kept = match options.number("persisted_globals_load") {
        0 => persisted::Persisted::default(),
        _ => persisted::read(&places.datadir)?,
    };
    let mut given = options.given[..options.from_files].to_vec();
    given.extend(kept.values.iter().cloned());
    given.extend_from_slice(&options.given[options.from_files..]);
    let text = |name: &'static str, value: &str| (variables::id(name), Value::Text(value.into()));
    let absolute = std::path::absolute(&places.datadir).unwrap_or(places.datadir.clone());
    let shown = |path: &Path| std::path::absolute(path).unwrap_or(path.to_path_buf());
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    given.extend([
        text("version", VERSION),
        text("innodb_version", VERSION),
        text("version_comment", &comment()),
        text("version_compile_machine", std::env::consts::ARCH),
        text("datadir", &format!("{}/", absolute.display())),
        text("socket", &shown(&places.socket).display().to_string()),
        text("pid_file", &shown(&places.pid_file).display().to_string()),
        text("hostname", hostname.trim()),
        text("server_uuid", &persisted::server_uuid(&places.datadir)),
    ]);
    let store = persisted::Store::new(&places.datadir);
    // What is persisted is in `given` already, where the command line can win over it.
    given.extend(redo_capacity_of_files(&given));
    let globals = Globals::new(&given, kept.texts, Some(Box::new(store)));
    for (id, value) in &options.given[options.from_files..] {
        globals.set(*id, value.clone());
    }
    tell_origins(&globals, options, &kept.values, &persisted::path(&absolute));
    let connections = globals.number("max_connections") as usize;
    Ok((globals, connections))
}

/// Tells where values come from; what wins comes last.
fn tell_origins(globals: &Globals, options: &Options, kept: &[(VarId, Value)], file: &Path) {
    let of_files = options.origins.iter().cloned();
    let path = file.display().to_string();
    let of_kept = kept.iter().map(|(id, _)| (*id, Origin::of(Source::Persisted, &path)));
    let line = options.given[options.from_files..].iter();
    let of_line = line.map(|(id, _)| (*id, Origin::of(Source::CommandLine, "")));
    for (id, origin) in of_files.chain(of_kept).chain(of_line) {
        globals.came_from(id, origin);
    }
}

/// What `innodb_log_file_size` and `innodb_log_files_in_group` make of `innodb_redo_log_capacity`, which wins over them.
fn redo_capacity_of_files(given: &[(VarId, Value)]) -> Option<(VarId, Value)> {
    let last = |name: &'static str| {
        let id = variables::id(name);
        given.iter().rev().find(|(i, _)| *i == id).map(|(_, value)| value.as_u64())
    };
    let (size, files) = (last("innodb_log_file_size"), last("innodb_log_files_in_group"));
    let capacity = variables::id("innodb_redo_log_capacity");
    if last("innodb_redo_log_capacity").is_some() || size.is_none() && files.is_none() {
        return None;
    }
    let usual = |name| variables::compiled_default(variables::id(name)).as_u64();
    let size = size.unwrap_or_else(|| usual("innodb_log_file_size"));
    let files = files.unwrap_or_else(|| usual("innodb_log_files_in_group"));
    let bytes = variables::Assign::UInt(size.saturating_mul(files));
    let checked = capacity.get().kind.check(capacity.get().name, &bytes).ok()?;
    Some((capacity, checked.0))
}

/// Brings the pool's size in order with its instances and chunks, as MySQL does, and shows what it came to.
fn size_pool(globals: &Globals) {
    const CHUNK: &str = "innodb_buffer_pool_chunk_size";
    const SIZE: &str = "innodb_buffer_pool_size";
    const INSTANCES: &str = "innodb_buffer_pool_instances";
    let bytes = globals.number(SIZE) as usize;
    let instances = match globals.number(INSTANCES) as usize {
        0 => (bytes >> 30).clamp(1, 8),
        // Below a gigabyte MySQL makes one, whatever was asked for.
        given => {
            if bytes < 1 << 30 {
                1
            } else {
                given
            }
        }
    };
    let chunk = (globals.number(CHUNK) as usize).min(bytes / instances).max(1 << 20);
    let bytes = engine::rounded_bytes(bytes, chunk, instances);
    for (name, n) in [(SIZE, bytes), (CHUNK, chunk), (INSTANCES, instances)] {
        globals.set(variables::id(name), Value::UInt(n as u64));
    }
}

/// What SHOW VARIABLES shows of a variable.
fn shown(globals: &Globals, name: &'static str) -> String {
    let id = variables::id(name);
    id.get().kind.show(&globals.value(id))
}

fn open_engine(
    process: &Arc<Process>,
    globals: &Globals,
    connections: usize,
    disk: Arc<RealDisk>,
) -> Result<(Arc<Engine>, bool), String> {
    // SET GLOBAL max_connections may raise the limit later: slots cost address space only.
    const SLOTS_MIN: usize = 4096;
    let slots = (connections + SPARE_CLIENTS).max(SLOTS_MIN);
    // A start finds no more prepared transactions than there may be.
    const BRANCHES_MAX: usize = 10_000;
    let ring = (globals.number("innodb_log_buffer_size") as usize).next_power_of_two();
    let told = Arc::clone(process);
    let notes = Notes::to(move |level, text| {
        let (severity, code) = match level {
            NoteLevel::Error => (Severity::Error, "MY-012930"),
            NoteLevel::Warning => (Severity::Warning, "MY-012931"),
            // Recovery's progress is what somebody who waits for the server wants to see.
            NoteLevel::Note => (Severity::System, "MY-012532"),
        };
        told.log.write(severity, code, text);
    });
    let config = EngineConfig {
        notes,
        force_recovery: force_recovery(globals)?,
        pool_bytes: globals.number("innodb_buffer_pool_size") as usize,
        pool_instances: globals.number("innodb_buffer_pool_instances") as usize,
        purge_threads: globals.number("innodb_purge_threads") as usize,
        read_io_threads: globals.number("innodb_read_io_threads") as usize,
        doublewrite: Doublewrite::from_name(&shown(globals, "innodb_doublewrite"))
            .unwrap_or(Doublewrite::On),
        flush_method: FlushMethod::from_name(&shown(globals, "innodb_flush_method"))
            .unwrap_or_default(),
        log_ring_bytes: ring,
        redo_capacity_bytes: globals.number("innodb_redo_log_capacity"),
        sessions_max: slots + BRANCHES_MAX,
        workers_max: slots,
        branches_max: BRANCHES_MAX,
        system_tables: catalog::system_tables(),
        ..EngineConfig::default()
    };
    let (engine, report) = Engine::open(config, disk).map_err(|e| e.to_string())?;
    let log = Arc::clone(process);
    engine.on_fatal(Box::new(move |error| {
        let text = format!("{error}. The server stops now; starting it again recovers.");
        log.log.write(Severity::Error, "MY-012592", &text);
        // Nothing is tried again: what the log or a file holds after a failed write is not known.
        std::process::exit(EXIT_STORAGE_FAILED);
    }));
    engine.set_flush_log_at_trx_commit(globals.number("innodb_flush_log_at_trx_commit") as u8);
    let seconds = globals.number("innodb_lock_wait_timeout") as u32;
    engine.settings().set_lock_wait_timeout_s(seconds);
    let text = match report.created {
        true => "A new data folder was made.".to_string(),
        false => format!(
            "Recovery: {} bytes of redo, {} records, {} torn pages, {} transactions rolled back.",
            report.redo_bytes, report.redo_records, report.torn_pages, report.losers
        ),
    };
    process.log.write(Severity::System, "MY-013577", &text);
    Ok((engine, report.created))
}

/// Serves clients until a signal or SHUTDOWN.
fn serve(
    process: &Arc<Process>,
    places: &Places,
    mut listeners: Vec<Listener>,
    globals: Globals,
    (catalog, options): (Arc<Catalog>, &Options),
) -> Result<(), String> {
    let unprotected = session::root_is_open(&catalog);
    let of_all = places.addresses.iter().filter(|_| places.networking);
    let of_admin = places.admin.iter().map(|(address, _)| address);
    let open_to_all = of_all.chain(of_admin).any(|a| !a.is_loopback());
    if unprotected && open_to_all {
        return Err("root has no password, so only loopback addresses may be bound. Start with \
                    --bind-address=127.0.0.1, set one (ALTER USER root@localhost IDENTIFIED BY '...'), \
                    then bind another address."
            .into());
    }
    process.set_place(&places.datadir, places.port, &places.socket);
    let host: Arc<dyn Host> = Arc::clone(process) as _;
    let keys = PasswordKeys::in_folder(places.datadir.clone());
    let server = Server::with_keys(catalog, globals, host, keys);
    server.set_skips_grants(options.skip_grant_tables);
    server.set_accepts_native(options.native_password);
    first::run_init_file(&server, &shown(&server.globals, "init_file"))?;
    // Whoever can connect finds the certificates, too.
    server.start_tls(&places.datadir);
    listeners.push(Listener::unix(&places.socket)?);
    let _socket = Removed(&places.socket);
    for listener in &listeners {
        listener.open()?;
    }
    tuning::load_at_startup(&server);
    if let Err(error) = sampler::start(&server) {
        let text = format!("There is no active session history: {error}");
        process.log.write(Severity::Warning, "MY-010000", &text);
    }
    write_pid(&places.pid_file)?;
    let _pid_file = Removed(&places.pid_file);
    let listeners = Arc::new(listeners);
    let mut threads = Vec::new();
    for i in 0..listeners.len() {
        let (process, server) = (Arc::clone(process), Arc::clone(&server));
        let listeners = Arc::clone(&listeners);
        let run = move || listener::accept_all(&process, &server, &listeners[i]);
        let spawned = host::thread::spawn("listener", run);
        threads.push(spawned.map_err(|e| format!("cannot start a listener: {e}"))?);
    }
    #[cfg(feature = "dashboard")]
    start_dashboard(process, places, &server);
    announce(process, places, unprotected);
    let reason = wait_for_stop(&server);
    process.log.write(Severity::System, "MY-013105", &format!("{reason}: normal shutdown."));
    let _ = process.set_dashboard(false);
    stop(process, &server, &listeners);
    for thread in threads {
        let _ = thread.join();
    }
    tuning::dump_at_shutdown(&server);
    Ok(())
}

/// Starts the dashboard, if there is to be one. Without it the server serves all the same.
#[cfg(feature = "dashboard")]
fn start_dashboard(process: &Process, places: &Places, server: &Arc<Server>) {
    process.dashboards.set_place(server, places.dashboard);
    let switch = variables::id("limpid_dashboard");
    if server.globals.number("limpid_dashboard") == 0 {
        return;
    }
    if let Err(why) = process.set_dashboard(true) {
        server.globals.set(switch, Value::UInt(0));
        process.log.write(
            Severity::Warning,
            "MY-010000",
            &format!("There is no dashboard: {why}."),
        );
    }
}

/// A file that goes away when serving ends, however it ends.
struct Removed<'a>(&'a Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

fn wait_for_stop(server: &Server) -> &'static str {
    loop {
        match signal::wait() {
            Signal::Terminate => return "SIGTERM or SHUTDOWN",
            Signal::Interrupt => return "SIGINT",
            // Whoever moves logs away says so.
            Signal::HangUp => server.open_logs(),
        }
    }
}

/// Whoever asks twice does not want to wait: recovery does the rest at the next start.
fn end_at_second_signal() {
    let wait = || {
        while signal::wait() == Signal::HangUp {}
        std::process::exit(EXIT_CUT_SHORT);
    };
    // Without the thread the stop is orderly all the same.
    let _ = host::thread::spawn("signal", wait);
}

/// Refuses new connections and ends the old ones.
fn stop(process: &Process, server: &Server, listeners: &[Listener]) {
    process.set_stopping();
    end_at_second_signal();
    listeners.iter().for_each(Listener::stop);
    let until = host::clock::now() + STOP_WAIT;
    while server.connections_open() > 0 && host::clock::now() < until {
        // Again each time: a session may just have been accepted.
        server.registry.kill_all();
        let _ = host::clock::sleep(STOP_POLL);
    }
    let left = server.connections_open();
    if left > 0 {
        let text = format!("{left} connections did not end in {} s.", STOP_WAIT.as_secs());
        process.log.write(Severity::Warning, "MY-010909", &text);
    }
}

fn write_pid(path: &Path) -> Result<(), String> {
    std::fs::write(path, format!("{}\n", std::process::id()))
        .map_err(|e| format!("cannot write the pid file {}: {e}", path.display()))
}

/// Says how to connect.
fn announce(process: &Process, places: &Places, unprotected: bool) {
    let socket = std::path::absolute(&places.socket).unwrap_or(places.socket.clone());
    let port = match places.networking {
        true => places.port.to_string(),
        false => "0".to_string(),
    };
    let text = format!(
        "limpid: ready for connections. Version: '{VERSION}'  socket: '{}'  port: {port}.",
        socket.display()
    );
    process.log.write(Severity::System, "MY-010931", &text);
    if let Some((address, port)) = places.admin {
        let text =
            format!("Admin interface ready for connections, address: '{address}'  port: {port}");
        process.log.write(Severity::System, "MY-013292", &text);
    }
    if unprotected {
        let text = "root has NO PASSWORD and may connect from this machine only. Set one: ALTER USER \
                    root@localhost IDENTIFIED BY '...'";
        process.log.write(Severity::Warning, "MY-010453", text);
    }
    let mut how = String::from("Connect with:\n");
    if places.networking {
        let address = places.addresses.first().map_or(String::new(), |a| match a {
            a if a.is_unspecified() => "127.0.0.1".into(),
            a => a.to_string(),
        });
        how += &format!("  mariadb --host={address} --port={} --user=root\n", places.port);
    }
    how += &format!("  mariadb --socket={} --user=root\n", socket.display());
    print(&how);
    let _ = std::io::stdout().flush();
}
