//! Runs warm point selects in-process, for `valgrind --tool=callgrind`:
//! `statements prepared|text N`. Collect in `measured` only: `--toggle-collect='*measured*'`.

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

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, mode, count] = args.as_slice() else {
        return eprintln!("statements prepared|text N");
    };
    let count: u64 = count.parse().expect("a number of statements");
    let rig = Rig::new();
    let mut conn = rig.connect("sbtest");
    let statement = conn.prepare();
    conn.select_prepared(statement, 1, true);
    let mut rng = stdx::rng::Rng::new(2);
    let mut run = |count: u64, step: fn(&mut Conn)| {
        for _ in 0..count {
            let id = 1 + rng.below(u64::from(ROWS)) as u32;
            let right = match mode.as_str() {
                "prepared" => conn.prepared_with(statement, id, false, step),
                _ => conn.text_with(id, step),
            };
            assert!(right, "wrong row {id}");
        }
    };
    run(WARM_UP, Conn::step);
    let start = std::time::Instant::now();
    run(count, measured);
    println!("{:.0} ns a statement", start.elapsed().as_nanos() as f64 / count as f64);
}
