//! The counting allocator and its private heap, in a process of their own.

#![cfg(not(loom))]

use host::probe::{PrivateHeap, Probe, allocations};

#[global_allocator]
static ALLOCATOR: Probe = Probe;

#[test]
fn allocations_are_counted_by_thread_and_served_privately() {
    let before = allocations();
    let mut list: Vec<u64> = Vec::with_capacity(4);
    let one = allocations();
    list.extend(0..100);
    let more = allocations();
    assert_eq!(one, before + 1);
    assert!(more > one, "growing a vector went unseen");
    assert_eq!(list.iter().sum::<u64>(), 4950);
    assert_eq!(allocations(), more, "reading allocates nothing");

    let heap = PrivateHeap::enter(1 << 20).unwrap();
    assert!(PrivateHeap::enter(1 << 20).is_err(), "one per process");
    let inside = |at: *const u8| heap.range().contains(&(at as usize));
    // Blocks of both kinds grow and die here; a freed block is used again.
    list.extend(0..1000);
    assert!(inside(list.as_ptr().cast()));
    let small = Box::new(7u64);
    let place = std::ptr::from_ref(&*small).addr();
    assert!(heap.range().contains(&place));
    drop(small);
    let again = Box::new(8u64);
    assert_eq!(std::ptr::from_ref(&*again).addr(), place);
    #[repr(align(256))]
    struct Aligned([u8; 256]);
    let aligned = Box::new(Aligned([1; 256]));
    assert_eq!(std::ptr::from_ref(&*aligned).addr() % 256, 0);
    assert_eq!(aligned.0[255], 1);

    // Another thread does not come here, and may free what did.
    let address = host::thread::spawn("other", move || {
        drop(again);
        let boxed = Box::new([1u8; 100]);
        std::ptr::from_ref(&*boxed).addr()
    });
    let address = address.unwrap().join().unwrap();
    assert!(!heap.range().contains(&address));

    let used = heap.used_bytes();
    assert!(used > 8000 && used < 1 << 20, "{used}");
    // More than the heap has is refused, not given.
    let mut large: Vec<u8> = Vec::new();
    assert!(large.try_reserve_exact(1 << 20).is_err());
    drop(heap);
    let outside = Box::new(1u8);
    assert!(allocations() > more && *outside == 1);
    drop(list);
}
