//! Thousands of tables, used and changed by many sessions at once. Each file that is read, written or made durable looks at the
//! latches that its thread holds (`sync::before_io`): one that must not be held across I/O ends its session, and the test.

use super::*;
use stdx::rng::Rng;

/// As many as are made unless `LIMPID_TABLES` says otherwise.
const TABLES: u64 = 2_000;
const THREADS: u64 = 16;
/// Each thread runs the statements of so many sessions in turn.
const SESSIONS: u64 = 4;
/// Statements of a thread, or what stands for one.
const ROUNDS: u64 = 100;
/// So few stay that most statements read a definition, and close a handle for the one that they open.
const DEFINITIONS: u64 = 100;
const HANDLES: u64 = 64;

/// Over a pool that has room for a part of the tables.
fn server_of_many(disk: &Arc<SimDisk>) -> Arc<Server> {
    let config = EngineConfig {
        sessions_max: 256,
        workers_max: 256,
        redo_capacity_bytes: 128 << 20,
        ..config()
    };
    let server = server_with(config, Arc::clone(disk));
    server.engine.start_background().expect("threads");
    server.catalog.set_definitions_max(DEFINITIONS);
    server.catalog.open_handles().set_limit(HANDLES);
    server
}

/// Runs `work` in many threads, each with its number and sessions of its own.
fn at_once(server: &Arc<Server>, work: impl Fn(u64, &mut [Client]) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                let mut clients: Vec<_> = (0..SESSIONS).map(|_| Client::root(server)).collect();
                clients.iter_mut().for_each(|client| client.run("USE d"));
                work(thread, &mut clients);
            });
        }
    });
}

/// A thread's own table comes, changes and goes, a child of one that nobody alters.
fn come_and_go(thread: u64, client: &mut Client) {
    for sql in [
        format!(
            "CREATE TABLE n{thread} (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES t{thread} (id))"
        ),
        format!("ALTER TABLE n{thread} ADD b INT"),
        format!("CREATE INDEX k ON n{thread} (b)"),
        format!("ALTER TABLE n{thread} MODIFY b BIGINT"),
        format!("TRUNCATE TABLE n{thread}"),
        format!("RENAME TABLE n{thread} TO m{thread}"),
        format!("DROP TABLE m{thread}"),
    ] {
        client.run(&sql);
    }
}

fn use_and_change(tables: u64, thread: u64, clients: &mut [Client]) {
    let mut rng = Rng::new(thread + 1);
    for round in 0..ROUNDS {
        let client = &mut clients[(round % SESSIONS) as usize];
        let n = rng.below(tables);
        match rng.below(16) {
            0 => come_and_go(thread, client),
            1 => {
                let altered = THREADS + rng.below(tables - THREADS);
                client.run(&format!("ALTER TABLE t{altered} ALTER a SET DEFAULT {round}"));
            }
            2..=4 => {
                let id = thread * ROUNDS + round;
                client.run(&format!("INSERT INTO t{n} (id) VALUES ({id})"));
            }
            5 | 6 => {
                client.run("BEGIN");
                let (m, o) = (rng.below(tables), rng.below(tables));
                client.rows(&format!(
                    "SELECT COUNT(*) FROM t{n} a LEFT JOIN t{m} b USING (id) LEFT JOIN t{o} c USING (id)"
                ));
                client.run("COMMIT");
            }
            _ => drop(client.rows(&format!("SELECT id FROM t{n} WHERE a = 1"))),
        }
    }
    if thread == 0 {
        // Looks at all definitions.
        let columns = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'd'";
        let columns: u64 = clients[0].rows(columns)[0].parse().expect("a number");
        assert!(columns >= 2 * tables, "{columns}");
    }
}

/// Some seconds in a build with debug assertions, of which the half is making the tables.
#[test]
fn no_latch_is_held_across_io_by_sessions_of_two_thousand_tables() {
    let tables = std::env::var("LIMPID_TABLES").ok().and_then(|n| n.parse().ok()).unwrap_or(TABLES);
    let disk = SimDisk::new(23);
    let server = server_of_many(&disk);
    Client::root(&server).run("CREATE DATABASE d");
    at_once(&server, |thread, clients| {
        for n in (thread..tables).step_by(THREADS as usize) {
            let client = &mut clients[(n / THREADS % SESSIONS) as usize];
            client.run(&format!("CREATE TABLE t{n} (id INT PRIMARY KEY, a INT, KEY (a))"));
        }
    });
    let made = disk.stats();
    at_once(&server, |thread, clients| use_and_change(tables, thread, clients));
    let kept = server.catalog.in_memory().len() as u64;
    assert!(kept < tables / 2, "{kept} definitions are in memory");
    let (read, written) = (disk.stats().reads - made.reads, disk.stats().writes - made.writes);
    assert!(read > THREADS * ROUNDS / 4, "{read} reads, {written} writes");
    assert_eq!(Client::root(&server).rows("CHECK TABLE d.t7"), ["d.t7|check|status|OK"]);
    server.engine.shutdown().expect("written");
}
