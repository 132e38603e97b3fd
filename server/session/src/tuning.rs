//! Variables that the storage engine acts on: what a change does, and what the value is corrected to.
//!
//! 1. The value that is stored is the one the engine works with; each correction is told as MySQL tells it.
//! 2. Nothing here waits: resizing, dumping and loading go on in threads of their own.

use crate::errors::{self, SessionError};
use crate::process::Severity;
use crate::sampler;
use crate::server::Server;
use crate::variables::{self, Effect, Globals, Value, VarError, VarId};
use engine::PoolSettings;
use executor::SqlError;
use instrument::{ClassKind, FileLimits, Level, RowsOf};
use mdl::ShardBy;
use std::sync::Arc;

const TRUNCATED: u16 = 1292;
const WRONG_ARGUMENTS: u16 = 1210;

const SAMPLE_AGE: &str = "performance_schema_max_digest_sample_age";

/// Where warnings go: number and text.
pub type Warn<'w> = dyn FnMut(u16, String) + 'w;

/// Variables that say for how many rows there is room.
const ROOMS: [(&str, RowsOf); 10] = [
    ("performance_schema_max_mutex_instances", RowsOf::Mutexes),
    ("performance_schema_max_rwlock_instances", RowsOf::RwLocks),
    ("performance_schema_max_cond_instances", RowsOf::Conds),
    ("performance_schema_max_socket_instances", RowsOf::Sockets),
    ("performance_schema_max_table_instances", RowsOf::Tables),
    ("performance_schema_max_table_lock_stat", RowsOf::TableLocks),
    ("performance_schema_max_index_stat", RowsOf::Indexes),
    ("performance_schema_max_thread_instances", RowsOf::Threads),
    ("performance_schema_max_metadata_locks", RowsOf::MetadataLocks),
    ("performance_schema_max_table_handles", RowsOf::TableHandles),
];

/// Variables that say for how many instruments there is room.
const CLASSES: [(&str, ClassKind); 8] = [
    ("performance_schema_max_mutex_classes", ClassKind::Mutex),
    ("performance_schema_max_rwlock_classes", ClassKind::RwLock),
    ("performance_schema_max_cond_classes", ClassKind::Cond),
    ("performance_schema_max_file_classes", ClassKind::File),
    ("performance_schema_max_socket_classes", ClassKind::Socket),
    ("performance_schema_max_stage_classes", ClassKind::Stage),
    ("performance_schema_max_statement_classes", ClassKind::Statement),
    ("performance_schema_max_memory_classes", ClassKind::Memory),
];

/// Leaves the Performance Schema as much room as the variables say, whose numbers `number` gives: as soon as options are read, since
/// whatever starts is known to it, and again when it is known what was persisted.
pub fn limit_instruments(number: impl Fn(&'static str) -> u64) {
    let room = |name: &'static str| usize::try_from(number(name)).unwrap_or(usize::MAX);
    instrument::set_memory_limit(number("performance_schema_memory_limit"));
    instrument::set_file_limits(FileLimits {
        instances: room("performance_schema_max_file_instances").min(FileLimits::DEFAULT.instances),
        handles: room("performance_schema_max_file_handles"),
    });
    instrument::set_setup_limits(
        number("performance_schema_setup_actors_size"),
        number("performance_schema_setup_objects_size"),
    );
    instrument::set_errors_limit(room("performance_schema_error_size"));
    ROOMS.into_iter().for_each(|(name, rows)| rows.set_max(number(name)));
    CLASSES.into_iter().for_each(|(name, kind)| instrument::set_class_limit(kind, number(name)));
    host::thread_classes::set_max(number("performance_schema_max_thread_classes"));
}

/// Says how much is measured from the start, and what room there is for it, before the engine is there: recovery is measured, too.
pub fn start_instruments(globals: &Globals) {
    host::thread::surround_instruments();
    globals.choose_sizes();
    size_events(globals);
    instrument::set_level(level(globals.number(LEVEL)), sync::now_ns());
}

fn level(number: u64) -> Level {
    Level::ALL.get(number as usize).copied().unwrap_or(Level::Default)
}

/// Gives the engine every setting as the server starts with it; [`start_instruments`] has been called.
pub fn start(server: &Arc<Server>) {
    let globals = &server.globals;
    globals.choose_sizes();
    let (now, most) = (globals.number(IO_CAPACITY), globals.number(IO_CAPACITY_MAX));
    if now > most {
        // As MySQL does when only the first was given.
        globals.set(variables::id(IO_CAPACITY_MAX), Value::UInt(now.saturating_mul(2)));
    }
    let is_engine_s = |id: &VarId| id.get().effect == Effect::Setting && id.get().name != LEVEL;
    for id in variables::sorted().filter(is_engine_s) {
        set(server, id.get().name, &globals.value(id));
    }
    let instances = globals.number("table_open_cache_instances");
    server.catalog.open_handles().set_instances(instances);
    size_events(globals);
    let accounts = [
        "performance_schema_accounts_size",
        "performance_schema_users_size",
        "performance_schema_hosts_size",
    ];
    server.registry.connected.set_rows_max(accounts.map(|name| globals.number(name)));
}

/// Gives the Performance Schema the room that the variables say.
fn size_events(globals: &Globals) {
    let room = |name: &'static str| globals.number(name) as usize;
    instrument::set_history_limits(
        room("performance_schema_events_statements_history_size"),
        room("performance_schema_events_statements_history_long_size"),
        room("performance_schema_max_sql_text_length"),
    );
    instrument::set_transaction_history_limits(
        room("performance_schema_events_transactions_history_size"),
        room("performance_schema_events_transactions_history_long_size"),
    );
    instrument::set_wait_history_limits(
        room("performance_schema_events_waits_history_size"),
        room("performance_schema_events_waits_history_long_size"),
    );
    instrument::set_stage_history_limits(
        room("performance_schema_events_stages_history_size"),
        room("performance_schema_events_stages_history_long_size"),
    );
    instrument::set_attribute_bytes_max(room("performance_schema_session_connect_attrs_size"));
    let prepared_max = "performance_schema_max_prepared_statements_instances";
    instrument::set_prepared_limit(globals.number(prepared_max));
    instrument::set_told_digest_bytes(room("performance_schema_max_digest_length"));
    instrument::set_digest_limits(
        room("performance_schema_digests_size"),
        room("performance_schema_max_sql_text_length"),
        globals.number(SAMPLE_AGE),
    );
}

/// The value of `limpid_instrument_level`: what instruments and consumers are set to, however that came.
pub fn instrument_level() -> Value {
    Value::UInt(instrument::level().map_or(LEVEL_CUSTOM, |level| level as u64))
}

/// Does what SET GLOBAL of a variable asks for; the value to store.
pub fn apply(
    server: &Arc<Server>,
    name: &'static str,
    value: Value,
    warn: &mut Warn<'_>,
) -> Result<Value, SqlError> {
    let value = corrected(server, name, value, warn);
    match name {
        LEVEL => {
            let value = match value.as_u64() {
                LEVEL_CUSTOM => {
                    return Err(errors::variable(VarError::WrongValue(
                        name.into(),
                        "custom".into(),
                    )));
                }
                LEVEL_USUAL => Value::UInt(Level::Default as u64),
                _ => value,
            };
            set(server, name, &value);
            return Ok(value);
        }
        DASHBOARD => server.host.set_dashboard(value.as_u64() != 0).map_err(|why| {
            SqlError::from(SessionError::Internal(&format!("the dashboard does not start: {why}")))
        })?,
        "innodb_buffer_pool_size" => return resize(server, value.as_u64(), warn),
        HISTORY => {
            let switched = sampler::switch(server, value.as_u64() != 0);
            switched.map_err(|e| no_thread("session_sampler", &e))?;
        }
        "innodb_redo_log_capacity" => {
            server.engine.log().set_capacity(value.as_u64())?;
        }
        "innodb_buffer_pool_dump_now"
        | "innodb_buffer_pool_load_now"
        | "innodb_buffer_pool_load_abort" => {
            if value.as_u64() != 0 {
                warm_set(server, name)?;
            }
            // A switch that springs back.
            return Ok(Value::UInt(0));
        }
        "innodb_buffer_pool_filename" => {
            let shown = variables::id(name).get().kind.show(&value);
            if shown.is_empty() || shown.contains('/') || shown.contains('\0') {
                let error = VarError::WrongValue(name.into(), shown);
                return Err(errors::variable(error));
            }
        }
        _ => set(server, name, &value),
    }
    Ok(value)
}

pub(crate) const LEVEL: &str = "limpid_instrument_level";
/// Numbers of the words of [`LEVEL`] that are no level: one that is shown only, one that means the default.
const LEVEL_CUSTOM: u64 = 5;
const LEVEL_USUAL: u64 = 6;
const IO_CAPACITY: &str = "innodb_io_capacity";
const IO_CAPACITY_MAX: &str = "innodb_io_capacity_max";
const DASHBOARD: &str = "limpid_dashboard";
const HISTORY: &str = "limpid_session_history";
const PLAN_CACHE: &str = "limpid_plan_cache_size";
const TEMPTABLE: &str = "temptable_max_ram";
const DIRTY: &str = "innodb_max_dirty_pages_pct";
const DIRTY_LWM: &str = "innodb_max_dirty_pages_pct_lwm";

/// Brings the two limits of a pair in order.
fn corrected(server: &Server, name: &'static str, value: Value, warn: &mut Warn<'_>) -> Value {
    let other = |name| server.globals.value(variables::id(name));
    match (name, &value) {
        (IO_CAPACITY, Value::UInt(n)) if *n > other(IO_CAPACITY_MAX).as_u64() => {
            let most = other(IO_CAPACITY_MAX);
            warn(
                WRONG_ARGUMENTS,
                format!("{IO_CAPACITY} cannot be set higher than {IO_CAPACITY_MAX}."),
            );
            warn(WRONG_ARGUMENTS, format!("Setting {IO_CAPACITY} to {}", most.as_u64()));
            most
        }
        (IO_CAPACITY_MAX, Value::UInt(n)) if *n < other(IO_CAPACITY).as_u64() => {
            let least = other(IO_CAPACITY);
            warn(
                WRONG_ARGUMENTS,
                format!("{IO_CAPACITY_MAX} cannot be set lower than {IO_CAPACITY}."),
            );
            warn(WRONG_ARGUMENTS, format!("Setting {IO_CAPACITY_MAX} to {}", least.as_u64()));
            least
        }
        (DIRTY, Value::Double(n)) if *n < double(&other(DIRTY_LWM)) => {
            warn(WRONG_ARGUMENTS, format!("{DIRTY} cannot be set lower than {DIRTY_LWM}."));
            // The missing letter is MySQL's.
            let text = format!("Lowering innodb_max_dirty_page_pct_lwm to {n:.6}");
            warn(WRONG_ARGUMENTS, text);
            set(server, DIRTY_LWM, &value);
            server.globals.set(variables::id(DIRTY_LWM), value.clone());
            value
        }
        (DIRTY_LWM, Value::Double(n)) if *n > double(&other(DIRTY)) => {
            let most = other(DIRTY);
            warn(WRONG_ARGUMENTS, format!("{DIRTY_LWM} cannot be set higher than {DIRTY}."));
            let text = format!("Setting innodb_max_dirty_page_pct_lwm to {:.6}", double(&most));
            warn(WRONG_ARGUMENTS, text);
            most
        }
        _ => value,
    }
}

fn double(value: &Value) -> f64 {
    match value {
        Value::Double(n) => *n,
        other => other.as_u64() as f64,
    }
}

/// Changes one setting that acts by being read.
fn set(server: &Server, name: &str, value: &Value) {
    let settings: &PoolSettings = server.engine.pool().settings();
    let upkeep = server.catalog.upkeep();
    let n = value.as_u64();
    let small = u32::try_from(n).unwrap_or(u32::MAX);
    let millipct = (double(value) * 1000.0).round() as u32;
    match name {
        PLAN_CACHE => server.programs.set_bytes_max(n),
        "limpid_session_history_size" => instrument::set_session_samples_limit(n),
        TEMPTABLE => server.set_temptable_bytes_max(n),
        IO_CAPACITY => settings.set_io_capacity(n),
        IO_CAPACITY_MAX => settings.set_io_capacity_max(n),
        DIRTY => settings.set_max_dirty_pages_millipct(millipct),
        DIRTY_LWM => settings.set_max_dirty_pages_lwm_millipct(millipct),
        "innodb_adaptive_flushing" => settings.set_adaptive_flushing(n != 0),
        "innodb_adaptive_flushing_lwm" => settings.set_adaptive_flushing_lwm(small),
        "innodb_flushing_avg_loops" => settings.set_flushing_avg_loops(small),
        "innodb_idle_flush_pct" => settings.set_idle_flush_pct(small),
        "innodb_flush_neighbors" => settings.set_flush_neighbors(small),
        "innodb_lru_scan_depth" => settings.set_lru_scan_depth(small),
        "innodb_old_blocks_pct" => settings.set_old_blocks_pct(small),
        "innodb_old_blocks_time" => settings.set_old_blocks_time_ms(small),
        "innodb_read_ahead_threshold" => settings.set_read_ahead_threshold(small),
        "innodb_random_read_ahead" => settings.set_random_read_ahead(n != 0),
        "innodb_buffer_pool_dump_pct" => settings.set_dump_pct(small),
        "innodb_max_purge_lag" => server.engine.settings().set_max_purge_lag(n),
        "innodb_max_purge_lag_delay" => server.engine.settings().set_max_purge_lag_delay(n),
        "innodb_undo_log_truncate" => server.engine.settings().set_undo_log_truncate(n != 0),
        "innodb_max_undo_log_size" => server.engine.settings().set_max_undo_log_size(n),
        "innodb_rollback_segments" => server.engine.set_rollback_segments(n as usize),
        "limpid_purge_at_commit" => server.engine.settings().set_purge_at_commit(n != 0),
        "limpid_purge_in_background" => server.engine.settings().set_purge_in_background(n != 0),
        "innodb_deadlock_detect" => server.engine.locks().set_deadlock_detect(n != 0),
        "limpid_grant_lock" => server.catalog.set_grant_lock(n != 0),
        "limpid_mdl_fast_path" => server.catalog.mdl().set_fast_path(n != 0),
        "limpid_mdl_hash" => {
            let by = [ShardBy::Id, ShardBy::Name, ShardBy::Bad];
            server.catalog.mdl().set_shard_by(by[(n as usize).min(2)]);
        }
        "max_write_lock_count" => server.catalog.mdl().set_write_locks_max(n),
        "limpid_table_cache_local" => server.catalog.open_handles().set_local(n != 0),
        "table_definition_cache" => server.catalog.set_definitions_max(n),
        "table_open_cache" => server.catalog.open_handles().set_limit(n),
        "limpid_lock_memory_max" => server.engine.locks().set_memory_max(n as usize),
        "innodb_stats_auto_recalc" => upkeep.set_auto_recalc(n != 0),
        "innodb_stats_persistent" => upkeep.set_persistent(n != 0),
        "innodb_stats_persistent_sample_pages" => upkeep.set_sample_pages(small),
        "innodb_stats_transient_sample_pages" => upkeep.set_transient_sample_pages(small),
        "innodb_fast_shutdown" => server.engine.settings().set_fast_shutdown(n as u8),
        SAMPLE_AGE => size_events(&server.globals),
        "log_error_verbosity" => server.host.set_log_verbosity(n as u8),
        "thread_cache_size" => {
            server.threads.set_size(n);
            server.host.trim_threads();
        }
        LEVEL => instrument::set_level(level(n), sync::now_ns()),
        _ => {}
    }
}

/// Resizes the pool to whole chunks for every instance, as MySQL rounds.
fn resize(server: &Arc<Server>, bytes: u64, warn: &mut Warn<'_>) -> Result<Value, SqlError> {
    let globals = &server.globals;
    let chunk = globals.number("innodb_buffer_pool_chunk_size") as usize;
    let instances = server.engine.pool().instances();
    let rounded = engine::rounded_bytes(bytes as usize, chunk, instances);
    if rounded as u64 != bytes {
        let text = format!("Truncated incorrect innodb_buffer_pool_size value: '{bytes}'");
        warn(TRUNCATED, text);
    }
    let before = globals.value(variables::id("innodb_buffer_pool_size"));
    let again = Arc::clone(server);
    let run = move || {
        if let Err(error) = again.engine.pool().resize(rounded) {
            let text = format!("The buffer pool stays as it is: {error}");
            again.host.log(Severity::Error, &text);
            again.globals.set(variables::id("innodb_buffer_pool_size"), before);
        }
    };
    spawn("buf_resize", run)?;
    Ok(Value::UInt(rounded as u64))
}

/// Dumps or loads the warm set, or ends the loading.
fn warm_set(server: &Arc<Server>, name: &str) -> Result<(), SqlError> {
    let again = Arc::clone(server);
    match name {
        "innodb_buffer_pool_load_abort" => server.engine.pool().load_abort(),
        "innodb_buffer_pool_dump_now" => spawn("buf_dump", move || dump_warm_set(&again))?,
        _ => server.engine.start_pool_load(&warm_file(&server.globals))?,
    }
    Ok(())
}

/// Loads the warm set in the background, if the server is to do so at its start; without a dump the status
/// says so.
pub fn load_at_startup(server: &Server) {
    if server.globals.number("innodb_buffer_pool_load_at_startup") != 0
        && let Err(error) = server.engine.start_pool_load(&warm_file(&server.globals))
    {
        server.host.log(Severity::Warning, &format!("The warm set is not loaded: {error}"));
    }
}

/// Ends a loading, and writes the warm set if the server is to do so when it stops.
pub fn dump_at_shutdown(server: &Server) {
    server.engine.pool().load_abort();
    if server.globals.number("innodb_buffer_pool_dump_at_shutdown") != 0 {
        dump_warm_set(server);
    }
}

fn dump_warm_set(server: &Server) {
    if let Err(error) = server.engine.pool().dump(&warm_file(&server.globals)) {
        server.host.log(Severity::Warning, &format!("Dumping the buffer pool: {error}"));
    }
}

/// `innodb_buffer_pool_filename`: the file of the warm set, inside the data folder.
fn warm_file(globals: &Globals) -> String {
    let id = variables::id("innodb_buffer_pool_filename");
    id.get().kind.show(&globals.value(id))
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), SqlError> {
    host::thread::spawn(name, run).map(drop).map_err(|e| no_thread(name, &e))
}

fn no_thread(name: &str, error: &std::io::Error) -> SqlError {
    SessionError::Internal(&format!("no thread for {name}: {error}")).into()
}
