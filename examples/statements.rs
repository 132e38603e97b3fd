//! Runs warm point selects in-process: `statements prepared|text N [THREADS]`.
//!
//! With several threads it prints how throughput scales. For `valgrind --tool=callgrind` use one, and
//! collect in `measured` only: `--toggle-collect='statements::measured*'`.

#[path = "../tests/hot/mod.rs"]
#[allow(clippy::unwrap_used)] // It is the tests' module.
mod hot;

use hot::{Conn, ROWS, Rig};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const WARM_UP: u64 = 2_000;

#[inline(never)]
fn measured(conn: &mut Conn) {
    conn.step();
}

/// One client: logs in, warms up, then measures.
struct Worker {
    conn: Conn,
    statement: u32,
    prepared: bool,
    rng: stdx::rng::Rng,
}

impl Worker {
    fn new(mut conn: Conn, prepared: bool, seed: u64) -> Worker {
        let statement = conn.prepare();
        conn.select_prepared(statement, 1, true);
        let mut worker = Worker { conn, statement, prepared, rng: stdx::rng::Rng::new(seed) };
        worker.run(WARM_UP, Conn::step);
        worker
    }

    /// Runs statements; processor nanoseconds for each.
    fn run(&mut self, count: u64, step: fn(&mut Conn)) -> f64 {
        let start = processor_ns();
        for _ in 0..count {
            let id = 1 + self.rng.below(u64::from(ROWS)) as u32;
            let right = match self.prepared {
                true => self.conn.prepared_with(self.statement, id, false, step),
                false => self.conn.text_with(id, step),
            };
            assert!(right, "wrong row {id}");
        }
        (processor_ns() - start) / count as f64
    }
}

/// Time the thread has run so far, which a busy machine does not change; 0 where Linux does not tell.
fn processor_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize| args.get(at).and_then(|n| n.parse::<u64>().ok());
    let (Some(mode), Some(count)) = (args.get(1), number(2)) else {
        return eprintln!("statements prepared|text N [THREADS]");
    };
    let prepared = mode == "prepared";
    let rig = Rig::new();
    let mut worker = Worker::new(rig.connect("sbtest"), prepared, 1);
    let alone = worker.run(count, measured);
    println!("{alone:.0} ns of processor time a statement");
    let threads = number(3).unwrap_or(1);
    if threads < 2 {
        return;
    }
    let server = rig.server();
    let times: Vec<f64> = std::thread::scope(|scope| {
        let spawn = |seed| {
            scope.spawn(move || {
                let mut worker = Worker::new(Conn::login(server, "sbtest"), prepared, seed);
                worker.run(count, measured)
            })
        };
        let running: Vec<_> = (0..threads).map(|t| spawn(t + 2)).collect();
        running.into_iter().filter_map(|r| r.join().ok()).collect()
    });
    let rate: f64 = times.iter().map(|each| alone / each).sum();
    println!("{threads} threads: {rate:.2} times the throughput of one, by processor time");
}
