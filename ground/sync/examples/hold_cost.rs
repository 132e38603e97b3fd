//! What an uncontended lock and unlock of a mutex costs at a level: run it under `valgrind --tool=none`, or
//! count with callgrind. `hold_cost default 1000000`.

use instrument::{Level, MutexClass};
use sync::Mutex;

static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/example/cost");

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let level = match arguments.get(1).map(String::as_str) {
        Some("synch") => Level::Synch,
        _ => Level::Default,
    };
    let rounds: u64 = arguments.get(2).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    instrument::set_level(level, sync::now_ns());
    let mutex = Mutex::new(&CLASS, 0u64);
    let began = sync::now_ns();
    for _ in 0..rounds {
        *mutex.lock() += 1;
    }
    let ns = sync::now_ns() - began;
    println!("{:.1} ns per lock and unlock", ns as f64 / rounds as f64);
}
