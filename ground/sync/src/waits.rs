//! The waits-for graph: who waits for whom, over all kinds of lock.
//!
//! 1. The graph never has a cycle: an edge that would close one is refused, and its requester is the
//!    victim.
//! 2. Who waits, waits for one thing: its edges are in the graph exactly as long as their guard, or until
//!    somebody redirects them.
//! 3. The first of a waiter's blockers is the one that counts it among those whom it holds up.

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

#[derive(Debug, Default)]
struct Graph {
    /// Per waiter its blockers.
    edges: HashMap<u64, Vec<u64>>,
    /// How many waiters each blocker holds up: those whose first blocker it is, and whom they hold up.
    held_up: HashMap<u64, u64>,
}

/// Who waits for whom; used when somebody is about to wait, never before.
#[derive(Debug)]
pub struct WaitsFor {
    graph: Mutex<Graph>,
}

/// Edges of one wait; they leave the graph when this is dropped.
#[must_use = "the edges leave the graph when this is dropped"]
#[derive(Debug)]
pub struct EdgeGuard<'a> {
    graph: &'a WaitsFor,
    waiter: u64,
}

impl Graph {
    /// Makes these the blockers of `waiter`; with none it is no waiter any more.
    fn set(&mut self, waiter: u64, blockers: &[u64]) {
        self.count(waiter, u64::wrapping_sub);
        match blockers {
            [] => drop(self.edges.remove(&waiter)),
            some => drop(self.edges.insert(waiter, some.to_vec())),
        }
        self.count(waiter, u64::wrapping_add);
    }

    /// Whether there would be no cycle with `waits` either, whose waiters have no edges yet.
    fn stays_acyclic(&mut self, waits: &[(u64, Vec<u64>)]) -> bool {
        let places: HashMap<u64, usize> = waits.iter().map(|(w, _)| *w).zip(0..).collect();
        let leads_on = |n: usize, blocker: &u64| match places.get(blocker) {
            Some(place) => *place >= n,
            None => self.edges.contains_key(blocker),
        };
        // As a rule they wait for whom is before them, and for somebody who runs.
        if !waits.iter().enumerate().any(|(n, (_, to))| to.iter().any(|b| leads_on(n, b))) {
            return true;
        }
        self.edges.extend(waits.iter().cloned());
        let cyclic = is_cyclic(&self.edges, waits.iter().map(|(waiter, _)| *waiter));
        waits.iter().for_each(|(waiter, _)| drop(self.edges.remove(waiter)));
        !cyclic
    }

    /// Adds `waiter` and whom it holds up to all who hold it up, or takes them away.
    fn count(&mut self, waiter: u64, apply: fn(u64, u64) -> u64) {
        let n = 1 + self.held_up.get(&waiter).copied().unwrap_or(0);
        let mut at = waiter;
        // Without a cycle (invariant 1) this ends.
        while let Some(&blocker) = self.edges.get(&at).and_then(|all| all.first()) {
            let sum = self.held_up.entry(blocker).or_default();
            *sum = apply(*sum, n);
            if *sum == 0 {
                self.held_up.remove(&blocker);
            }
            at = blocker;
        }
    }
}

impl WaitsFor {
    /// An empty graph.
    pub fn new() -> Self {
        Self { graph: Mutex::new(&GRAPH, Graph::default()) }
    }

    /// Notes that `waiter` is about to wait for `blocker`.
    pub fn add(&self, waiter: u64, blocker: u64) -> Result<EdgeGuard<'_>, Deadlock> {
        self.add_all(waiter, &[blocker])
    }

    /// Notes that `waiter`, who waits for nobody yet, is about to wait for all of `blockers`; on a deadlock
    /// with one of them nothing is noted. The thread holds no page latch (checked in debug builds).
    pub fn add_all(&self, waiter: u64, blockers: &[u64]) -> Result<EdgeGuard<'_>, Deadlock> {
        debug_assert!(crate::page_latches_held() <= 0, "no lock wait while holding a page latch");
        let mut graph = self.graph.lock();
        debug_assert!(!graph.edges.contains_key(&waiter), "one wait at a time");
        for &blocker in blockers {
            if let Some(cycle) = path(&graph.edges, waiter, blocker) {
                return Err(Deadlock { cycle });
            }
        }
        graph.set(waiter, blockers);
        Ok(EdgeGuard { graph: self, waiter })
    }

    /// Waiters have other blockers now: says so for them while they sleep, each after those of the others
    /// that it waits for. `false`: one of them has noted nothing, being about to wait, or these edges would
    /// close a cycle; then none of these waiters has edges, and each has to look again for itself.
    pub fn redirect(&self, waits: &[(u64, Vec<u64>)]) -> bool {
        let mut graph = self.graph.lock();
        let there = waits.iter().all(|(w, to)| to.is_empty() || graph.edges.contains_key(w));
        waits.iter().for_each(|(waiter, _)| graph.set(*waiter, &[]));
        let noted = there && graph.stays_acyclic(waits);
        if noted {
            waits.iter().for_each(|(waiter, blockers)| graph.set(*waiter, blockers));
        }
        noted
    }

    /// How many others wait for each of these, directly or through others, by their first blockers.
    pub fn held_up(&self, who: &[u64]) -> Vec<u64> {
        let graph = self.graph.lock();
        who.iter().map(|w| graph.held_up.get(w).copied().unwrap_or(0)).collect()
    }

    /// All edges (waiter, blocker) at this moment, in no particular order.
    pub fn edges(&self) -> Vec<(u64, u64)> {
        let graph = self.graph.lock();
        let all = graph.edges.iter();
        all.flat_map(|(w, blockers)| blockers.iter().map(move |b| (*w, *b))).collect()
    }
}

impl Default for WaitsFor {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for EdgeGuard<'_> {
    fn drop(&mut self) {
        self.graph.graph.lock().set(self.waiter, &[]);
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

/// Whether a cycle can be reached from one of these.
fn is_cyclic(edges: &HashMap<u64, Vec<u64>>, from: impl Iterator<Item = u64>) -> bool {
    // Depth first; per node whether all behind it is known.
    let mut done: HashMap<u64, bool> = HashMap::new();
    for start in from {
        let mut open = vec![(start, false)];
        while let Some((at, back)) = open.pop() {
            match done.get(&at) {
                _ if back => drop(done.insert(at, true)),
                Some(true) => {}
                Some(false) => return true,
                None => {
                    done.insert(at, false);
                    open.push((at, true));
                    open.extend(edges.get(&at).into_iter().flatten().map(|next| (*next, false)));
                }
            }
        }
    }
    false
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
        assert!(graph.add_all(3, &[7, 1]).is_err());
        assert_eq!(graph.edges().len(), 3);
        drop(a);
        assert!(graph.edges().is_empty());
        assert!(graph.add(3, 1).is_ok());
    }

    #[test]
    fn who_holds_up_how_many_follows_every_change() {
        let graph = WaitsFor::new();
        let held_up = |who: [u64; 4]| graph.held_up(&who);
        let a = graph.add_all(1, &[2, 9]).unwrap();
        let _b = graph.add(3, 1).unwrap();
        let c = graph.add(2, 4).unwrap();
        assert_eq!(held_up([1, 2, 4, 9]), [1, 2, 3, 0]);
        assert!(graph.redirect(&[(1, vec![9])]));
        assert_eq!(held_up([1, 2, 4, 9]), [1, 0, 1, 2]);
        assert!(graph.redirect(&[(2, vec![])]));
        drop(c);
        drop(a);
        assert_eq!(held_up([1, 2, 4, 9]), [1, 0, 0, 0]);
    }

    #[test]
    fn a_redirection_closes_no_cycle_and_is_all_or_nothing() {
        let graph = WaitsFor::new();
        let (_a, _b) = (graph.add(1, 9).unwrap(), graph.add(2, 1).unwrap());
        let _c = graph.add(8, 2).unwrap();
        // 8 waits for 2, which would wait for 8.
        assert!(!graph.redirect(&[(1, vec![7]), (2, vec![8, 1])]));
        assert_eq!(graph.edges(), [(8, 2)]);
        // 1 has noted nothing any more.
        assert!(!graph.redirect(&[(8, vec![5]), (1, vec![7])]));
        assert_eq!((graph.edges(), graph.held_up(&[2, 5])), (vec![], vec![0, 0]));
        let _d = graph.add(3, 4).unwrap();
        let _e = graph.add(6, 3).unwrap();
        let _f = graph.add(7, 3).unwrap();
        assert!(graph.redirect(&[(3, vec![]), (6, vec![3]), (7, vec![3, 6])]));
        assert_eq!(graph.held_up(&[3, 6, 4]), [2, 0, 0]);
    }
}
