//! Taking and giving back weak locks writes nothing that is shared.
#![cfg(not(loom))]

mod support;

use mdl::{Held, Mode, Namespace};
use support::{Rig, soon};

#[test]
fn weak_locks_write_only_the_sessions_own_slot() {
    let rig = Rig::new();
    let s = rig.session();
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    let schema = rig.mdl.intern(Namespace::Schema, "test", "");
    let mut held = Held::new();
    let statement = |held: &mut Held| {
        rig.mdl.take(&s, held, rig.mdl.global(), Mode::IX, soon()).unwrap();
        rig.mdl.take(&s, held, &schema, Mode::IX, soon()).unwrap();
        for mode in [Mode::S, Mode::SH, Mode::SR, Mode::SW, Mode::SWLP] {
            rig.mdl.acquire(&s, &t, mode, soon()).unwrap();
            rig.mdl.release(&s, &t, mode);
        }
        rig.mdl.take(&s, held, &t, Mode::SW, soon()).unwrap();
        rig.mdl.take(&s, held, &t, Mode::SR, soon()).unwrap();
        rig.mdl.release_all(&s, held);
    };
    statement(&mut held);
    let before = stdx::shared_writes();
    for _ in 0..100 {
        statement(&mut held);
    }
    assert_eq!(stdx::shared_writes(), before);
    // So do those of a transaction over many tables, and what is held already is not locked again.
    let tables: Vec<_> =
        (0..200).map(|n| rig.mdl.intern(Namespace::Table, "test", &format!("t{n}"))).collect();
    let before = stdx::shared_writes();
    for _ in 0..2 {
        for t in tables.iter().chain(&tables) {
            rig.mdl.take(&s, &mut held, t, Mode::SW, soon()).unwrap();
            rig.mdl.take(&s, &mut held, t, Mode::SR, soon()).unwrap();
        }
        assert_eq!(held.mark(), tables.len());
        rig.mdl.release_all(&s, &mut held);
    }
    assert_eq!(stdx::shared_writes(), before);
    // The counter is on in this build.
    rig.lock(&s, &t, Mode::X);
    assert_ne!(stdx::shared_writes(), before);
}
