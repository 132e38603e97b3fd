//! Who waits for whom, as who samples sessions asks for it.

// Tests panic to fail.
#![allow(clippy::unwrap_used)]
#![cfg(not(loom))]

use sync::waits::{WaitsFor, queue_node};

#[test]
fn each_waiter_has_a_blocker_and_who_is_in_the_way_is_known() {
    let graph = WaitsFor::new();
    assert!(graph.blockers().first.is_empty() && graph.blockers().all.is_empty());
    let _one = graph.add_all(1, &[2, 9]).unwrap();
    let _chained = graph.add(3, 1).unwrap();
    // Two who wait by the node of a queue wait for its owners.
    let (_a, _) = graph.add_queued(4, queue_node(7), &[5, 6]).unwrap();
    let (b, _) = graph.add_queued(8, queue_node(7), &[5, 6]).unwrap();
    let found = graph.blockers();
    let mut first: Vec<_> = found.first.into_iter().collect();
    first.sort_unstable();
    assert_eq!(first, [(1, 2), (3, 1), (4, 5), (8, 5)]);
    let mut all: Vec<_> = found.all.into_iter().collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2, 5, 6, 9]);
    drop(b);
    assert!(!graph.blockers().first.contains_key(&8));
}
