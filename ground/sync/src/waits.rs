//! The waits-for graph: who waits for whom, over all kinds of lock.
//!
//! 1. The graph never has a cycle: an edge that would close one is refused, and its requester is the
//!    victim.
//! 2. An edge is in the graph exactly as long as its guard.

use crate::Mutex;
use instrument::MutexClass;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::time::{Duration, Instant};

static GRAPH: MutexClass = MutexClass::new("wait/synch/mutex/limpid/waits_for");

/// The wait would never end: the blocker waits, perhaps through others, for the waiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The waiters on the cycle, beginning with the requester.
    pub cycle: Vec<u64>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock of {:?}", self.cycle)
    }
}

impl std::error::Error for Deadlock {}

/// How long a waiter sleeps whose blockers could not be published.
pub const SLICE: Duration = Duration::from_millis(1);
/// How long a cycle with edges of several kinds of lock must stay to be believed.
const BELIEVED: Duration = Duration::from_millis(5);

/// A cycle with edges of other kinds of lock than the looker's, and since when it was seen: such edges
/// cannot be proved, so it is believed when it stays.
#[derive(Debug, Default)]
pub struct Suspicion(Option<(Vec<u64>, Instant)>);

impl Suspicion {
    /// Whether `cycle` has stayed long enough; another one than before begins anew.
    pub fn is_proved(&mut self, cycle: Vec<u64>) -> bool {
        match &self.0 {
            Some((seen, since)) if *seen == cycle => crate::now() - *since >= BELIEVED,
            _ => {
                self.0 = Some((cycle, crate::now()));
                false
            }
        }
    }
}

/// Who waits for whom; used when somebody is about to wait, never before.
#[derive(Debug)]
pub struct WaitsFor {
    /// Per waiter its blockers, a blocker once per living edge.
    edges: Mutex<HashMap<u64, Vec<u64>>>,
}

/// Edges of one wait; they leave the graph when this is dropped.
#[must_use = "the edges leave the graph when this is dropped"]
#[derive(Debug)]
pub struct EdgeGuard<'a> {
    graph: &'a WaitsFor,
    waiter: u64,
    blockers: Vec<u64>,
}

impl WaitsFor {
    /// An empty graph.
    pub fn new() -> Self {
        Self { edges: Mutex::new(&GRAPH, HashMap::new()) }
    }

    /// Notes that `waiter` is about to wait for `blocker`.
    pub fn add(&self, waiter: u64, blocker: u64) -> Result<EdgeGuard<'_>, Deadlock> {
        self.add_all(waiter, &[blocker])
    }

    /// Notes that `waiter` is about to wait for all of `blockers`; on a deadlock with one of them
    /// nothing is noted. The thread holds no page latch (checked in debug builds).
    pub fn add_all(&self, waiter: u64, blockers: &[u64]) -> Result<EdgeGuard<'_>, Deadlock> {
        debug_assert!(crate::page_latches_held() <= 0, "no lock wait while holding a page latch");
        let mut edges = self.edges.lock();
        for &blocker in blockers {
            if let Some(cycle) = path(&edges, waiter, blocker) {
                return Err(Deadlock { cycle });
            }
        }
        edges.entry(waiter).or_default().extend_from_slice(blockers);
        Ok(EdgeGuard { graph: self, waiter, blockers: blockers.to_vec() })
    }

    /// All edges (waiter, blocker) at this moment, in no particular order.
    pub fn edges(&self) -> Vec<(u64, u64)> {
        let edges = self.edges.lock();
        edges.iter().flat_map(|(w, blockers)| blockers.iter().map(move |b| (*w, *b))).collect()
    }
}

impl Default for WaitsFor {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for EdgeGuard<'_> {
    fn drop(&mut self) {
        let mut edges = self.graph.edges.lock();
        let Some(all) = edges.get_mut(&self.waiter) else { return };
        for blocker in &self.blockers {
            if let Some(at) = all.iter().position(|b| b == blocker) {
                all.swap_remove(at);
            }
        }
        if all.is_empty() {
            edges.remove(&self.waiter);
        }
    }
}

/// The waiters from `waiter` over `blocker` back to `waiter`, if `blocker` waits for it already.
fn path(edges: &HashMap<u64, Vec<u64>>, waiter: u64, blocker: u64) -> Option<Vec<u64>> {
    // Depth first with the path on the stack; a node left behind leads nowhere, so it is seen once.
    let mut came_from: HashMap<u64, u64> = HashMap::from([(blocker, waiter)]);
    let mut open = vec![blocker];
    while let Some(at) = open.pop() {
        if at == waiter {
            return Some(unwind(&came_from, waiter, blocker));
        }
        for &next in edges.get(&at).into_iter().flatten() {
            if let Entry::Vacant(unseen) = came_from.entry(next) {
                unseen.insert(at);
                open.push(next);
            }
        }
    }
    None
}

fn unwind(came_from: &HashMap<u64, u64>, waiter: u64, blocker: u64) -> Vec<u64> {
    let mut cycle = vec![waiter];
    let mut at = waiter;
    while at != blocker {
        at = came_from[&at];
        cycle.push(at);
    }
    cycle[1..].reverse();
    cycle
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_closes_a_cycle_is_refused_and_names_it() {
        let graph = WaitsFor::new();
        let _a = graph.add(1, 2).unwrap();
        let _b = graph.add(2, 3).unwrap();
        let _c = graph.add(4, 3).unwrap();
        assert_eq!(graph.add(3, 1).unwrap_err().cycle, [3, 1, 2]);
        assert_eq!(graph.add(5, 5).unwrap_err().cycle, [5]);
        assert_eq!(graph.edges().len(), 3);
    }

    #[test]
    fn several_blockers_are_all_or_nothing_and_leave_with_the_guard() {
        let graph = WaitsFor::new();
        let a = graph.add_all(1, &[2, 3, 3]).unwrap();
        let b = graph.add(1, 3).unwrap();
        assert!(graph.add_all(3, &[7, 1]).is_err());
        assert_eq!(graph.edges().len(), 4);
        drop(a);
        assert_eq!(graph.edges(), [(1, 3)]);
        assert!(graph.add(2, 1).is_ok());
        drop(b);
        assert!(graph.edges().is_empty());
        assert!(graph.add(3, 1).is_ok());
    }
}
