//! The write trap, in a process of its own: it catches what it must, and lets private writes be.
//!
//! One test only: any other thread's write would be caught too.

#![cfg(not(loom))]

use std::hint::black_box;

use host::AlignedBuf;
use host::trap::{arm, report};
use stdx::{LocalAtomic, Ordering};

static SHARED: LocalAtomic<u64> = LocalAtomic::new(0);

fn range(buf: &AlignedBuf) -> std::ops::Range<usize> {
    let start = buf.as_ptr() as usize;
    start..start + buf.len()
}

thread_local! {
    static LOCAL: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[test]
fn the_trap_catches_shared_writes_and_only_those() {
    let mut private = AlignedBuf::zeroed(3 * 4096);
    let mut shared = AlignedBuf::zeroed(4 * 4096);

    // Private memory, the stack and thread-local variables are free to write.
    let armed = arm(&[range(&private)]).unwrap();
    let mut stack = [0u64; 64];
    for n in 0..64 {
        black_box(&mut stack)[n] = n as u64;
        black_box(&mut private)[n * 190] = n as u8;
        LOCAL.with(|l| l.set(l.get() + 1));
        black_box(SHARED.load(Ordering::Relaxed));
    }
    let second = arm(&[]).is_err();
    let faults = armed.disarm();
    // The refused second trap has swapped its flag: one write, known and not of the code under
    // test. Nothing else.
    assert!(second && faults.len() <= 1, "{}", report(&faults));
    assert_eq!(stack[63], 63);

    // Shared memory and statics are caught, each page once, and the writes happen.
    let armed = arm(&[range(&private)]).unwrap();
    SHARED.store(7, Ordering::Relaxed);
    SHARED.store(8, Ordering::Relaxed);
    black_box(&mut shared)[4096] = 1;
    black_box(&mut shared)[4097] = 1;
    black_box(&mut shared)[3 * 4096] = 1;
    let faults = armed.disarm();
    assert_eq!(faults.len(), 3, "{}", report(&faults));
    assert_eq!(faults[0].address, std::ptr::from_ref(&SHARED).addr());
    assert_eq!(faults[1].address, shared.as_ptr() as usize + 4096);
    assert_eq!(faults[2].address, shared.as_ptr() as usize + 3 * 4096);
    assert!(!faults[0].mapping.is_empty() && faults.iter().all(|f| f.thread == faults[0].thread));
    assert_eq!((SHARED.load(Ordering::Relaxed), shared[4096], shared[3 * 4096]), (8, 1, 1));

    // Allocating is a write to shared memory.
    let armed = arm(&[]).unwrap();
    let boxed = black_box(Box::new([1u8; 100]));
    let faults = armed.disarm();
    assert!(!faults.is_empty(), "an allocation went unseen");
    drop(boxed);

    // Too many faults open the trap instead of ending the process.
    let mut large = AlignedBuf::zeroed(100 * 4096);
    let armed = arm(&[]).unwrap();
    for page in 0..100 {
        black_box(&mut large)[page * 4096] = 9;
    }
    assert_eq!(armed.disarm().len(), host::trap::FAULTS_MAX);
    assert!((0..100).all(|page| large[page * 4096] == 9));

    // Everything is as before.
    let armed = arm(&[]).unwrap();
    assert!(armed.disarm().is_empty());
    drop(vec![1u8; 1 << 20]);

    // Every store, with the instruction of each.
    let armed = host::trap::arm_each(&[range(&private)]).unwrap();
    for n in 0..3 {
        SHARED.store(n, Ordering::Relaxed);
        black_box(&mut shared)[4096] = 1;
        black_box(&mut private)[0] = 1;
    }
    let missed = armed.missed();
    let faults = armed.disarm();
    assert_eq!((faults.len(), missed), (6, 0), "{}", report(&faults));
    assert!(faults.iter().step_by(2).all(|f| f.address == std::ptr::from_ref(&SHARED).addr()));
    assert_eq!(SHARED.load(Ordering::Relaxed), 2);
}
