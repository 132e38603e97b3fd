//! What taking and giving back weak locks costs: `weak_cost TABLES ROUNDS`, run under `valgrind --tool=callgrind`. A round
//! takes SR of so many tables as one transaction and gives all back. `cargo xtask bench locks` counts two runs and subtracts.

use mdl::{Held, Mdl, Mode, Namespace};
use std::sync::Arc;
use sync::{Deadline, SlotTable};

fn main() {
    let number = |n: usize| std::env::args().nth(n).and_then(|n| n.parse().ok()).unwrap_or(1);
    let (tables, rounds): (usize, usize) = (number(1), number(2));
    let slots = SlotTable::new(64, 4);
    let mdl = Mdl::new(Arc::clone(&slots));
    let Some(slot) = slots.acquire_session() else { return };
    let name = |n: usize| mdl.intern(Namespace::Table, "d", &format!("t{n}"));
    let objects: Vec<_> = (0..tables).map(name).collect();
    let (slot, mut held) = (&*slot, Held::new());
    for _ in 0..rounds {
        for object in &objects {
            let taken = mdl.take(slot, &mut held, object, Mode::SR, Deadline::Never);
            assert!(taken.is_ok(), "nobody is in the way");
        }
        mdl.release_all(slot, &mut held);
    }
}
