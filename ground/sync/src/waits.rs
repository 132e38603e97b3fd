//! The waits-for graph: who waits for whom, over all kinds of lock.
//!
//! 1. The graph never has a cycle: an edge that would close one is refused, and its requester is the
//!    victim ([`WaitsFor::verify`] looks).
//! 2. Who waits, waits for one thing: its edges are in the graph exactly as long as their guard, or until
//!    somebody redirects them.
//! 3. The first of a waiter's blockers is the one that counts it among those whom it holds up.
//! 4. Waiters who all wait for the same owners may have one edge each, to a node of their queue
//!    ([`queue_node`]), which has the edges to the owners: when these change, one node changes. Such a node is
//!    there while somebody waits by it, is nobody's name, and is never shown.
//! 5. How many each waiter holds up is read without the graph's mutex: a number of a moment.

use crate::Mutex;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use stdx::{Ordering, SharedAtomic, class};

instrument::classes! {
    static GRAPH: MutexClass = "wait/synch/mutex/limpid/waits_for";
}

instrument::classes! {
    /// Waiting for a row: for a lock on it, or for the end of the transaction that wrote it.
    pub static ROW_LOCK: LockClass = "wait/lock/innodb/row";
}

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

/// Marks a node that stands for a queue.
const QUEUE: u64 = 1 << 63;

/// The node of a queue with this number; other nodes are session slots.
pub fn queue_node(number: u64) -> u64 {
    number | QUEUE
}

fn is_queue(node: u64) -> bool {
    node & QUEUE != 0
}

/// Slots of a chunk of [`Counts`], and chunks.
const CHUNK: usize = 256;
const CHUNKS: usize = 1024;

type Count = SharedAtomic<u64, { class::HELD_UP }>;

/// How many waiters each slot holds up; written under the graph's mutex.
#[derive(Debug)]
struct Counts {
    chunks: Box<[OnceLock<Box<[Count]>>]>,
}

impl Counts {
    fn new() -> Counts {
        Counts { chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect() }
    }

    fn at(&self, slot: u64) -> Option<&Count> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?.get()?;
        Some(&chunk[slot as usize % CHUNK])
    }

    /// Zero for slots beyond all that there can be.
    fn get(&self, slot: u64) -> u64 {
        self.at(slot).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn set(&self, slot: u64, n: u64) {
        if let Some(chunk) = self.chunks.get(slot as usize / CHUNK) {
            chunk.get_or_init(|| (0..CHUNK).map(|_| Count::new(0)).collect());
        }
        if let Some(count) = self.at(slot) {
            count.store(n, Ordering::Relaxed);
        }
    }
}

#[derive(Debug, Default)]
struct Graph {
    /// Per waiter, or queue, its blockers.
    edges: HashMap<u64, Vec<u64>>,
    /// The waiters by each queue.
    queues: HashMap<u64, Queued>,
}

/// The waiters by a queue.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Queued {
    /// How many there are.
    own: u64,
    /// With those whom they hold up.
    all: u64,
}

/// Who waits for whom; used when somebody is about to wait, never before.
#[derive(Debug)]
pub struct WaitsFor {
    graph: Mutex<Graph>,
    counts: Counts,
}

/// Edges of one wait; they leave the graph when this is dropped.
#[must_use = "the edges leave the graph when this is dropped"]
#[derive(Debug)]
pub struct EdgeGuard<'a> {
    graph: &'a WaitsFor,
    waiter: u64,
}

/// Who waits for whom at a moment; see [`WaitsFor::blockers`].
#[derive(Debug, Default)]
pub struct Blockers {
    /// Waiters, and whom each of them waits for.
    pub first: HashMap<u64, u64>,
    /// Everybody whom somebody waits for.
    pub all: HashSet<u64>,
}

impl Graph {
    /// Makes these the blockers of a node; with none it waits no more. A queue's edges go with its last waiter.
    fn set(&mut self, counts: &Counts, node: u64, blockers: &[u64]) {
        self.count(counts, node, u64::wrapping_sub);
        let before = match blockers {
            [] => self.edges.remove(&node),
            some => self.edges.insert(node, some.to_vec()),
        };
        self.count(counts, node, u64::wrapping_add);
        let queue = before.into_iter().flatten().find(|b| is_queue(*b) && !blockers.contains(b));
        if let Some(queue) = queue.filter(|queue| !self.queues.contains_key(queue)) {
            self.edges.remove(&queue);
        }
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

    fn held_up(&self, counts: &Counts, node: u64) -> u64 {
        match is_queue(node) {
            true => self.queues.get(&node).map_or(0, |queued| queued.all),
            false => counts.get(node),
        }
    }

    /// Adds `node`, if it is a waiter, and whom it holds up to all who hold it up, or takes them away.
    fn count(&mut self, counts: &Counts, node: u64, apply: fn(u64, u64) -> u64) {
        let n = u64::from(!is_queue(node)) + self.held_up(counts, node);
        let mut at = node;
        // Without a cycle (invariant 1) this ends.
        while let Some(&blocker) = self.edges.get(&at).and_then(|all| all.first()) {
            match is_queue(blocker) {
                false => counts.set(blocker, apply(counts.get(blocker), n)),
                true => {
                    let queued = self.queues.entry(blocker).or_default();
                    queued.all = apply(queued.all, n);
                    queued.own = apply(queued.own, u64::from(at == node));
                    if queued.all == 0 {
                        self.queues.remove(&blocker);
                    }
                }
            }
            at = blocker;
        }
    }

    /// Whom a node's edges lead to, through its queue.
    fn blockers(&self, node: u64) -> impl Iterator<Item = u64> + '_ {
        let of = |node: u64| self.edges.get(&node).map_or(&[][..], |all| &all[..]);
        of(node)
            .iter()
            .flat_map(move |b| match is_queue(*b) {
                true => of(*b).iter(),
                false => std::slice::from_ref(b).iter(),
            })
            .copied()
    }
}

impl WaitsFor {
    /// An empty graph.
    pub fn new() -> Self {
        Self { graph: Mutex::new(&GRAPH, Graph::default()), counts: Counts::new() }
    }

    /// Notes that `waiter` is about to wait for `blocker`.
    pub fn add(&self, waiter: u64, blocker: u64) -> Result<EdgeGuard<'_>, Deadlock> {
        self.add_all(waiter, &[blocker])
    }

    /// Notes that `waiter`, who waits for nobody yet, is about to wait for all of `blockers`; on a deadlock
    /// with one of them nothing is noted. The thread holds no page latch (checked in debug builds).
    pub fn add_all(&self, waiter: u64, blockers: &[u64]) -> Result<EdgeGuard<'_>, Deadlock> {
        self.add_in(waiter, blockers, None).map(|(guard, _)| guard)
    }

    /// As [`Self::add_all`], by the node of a queue whose waiters all wait for `blockers` (invariant 4). Also whether
    /// it is by the node: not if the edges of the queue cannot be these yet.
    pub fn add_queued(
        &self,
        waiter: u64,
        queue: u64,
        blockers: &[u64],
    ) -> Result<(EdgeGuard<'_>, bool), Deadlock> {
        self.add_in(waiter, blockers, Some(queue))
    }

    fn add_in(
        &self,
        waiter: u64,
        blockers: &[u64],
        queue: Option<u64>,
    ) -> Result<(EdgeGuard<'_>, bool), Deadlock> {
        debug_assert!(crate::page_latches_held() <= 0, "no lock wait while holding a page latch");
        let mut graph = self.graph.lock();
        debug_assert!(!graph.edges.contains_key(&waiter), "one wait at a time");
        for &blocker in blockers {
            if let Some(mut cycle) = path(&graph.edges, waiter, blocker) {
                cycle.retain(|node| !is_queue(*node));
                return Err(Deadlock { cycle });
            }
        }
        let queue = queue.filter(|queue| {
            let is_so = graph.edges.get(queue).is_some_and(|now| now == blockers);
            is_so || !blockers.iter().any(|b| path(&graph.edges, *queue, *b).is_some())
        });
        match queue {
            Some(queue) => {
                if graph.edges.get(&queue).is_none_or(|now| now != blockers) {
                    graph.set(&self.counts, queue, blockers);
                }
                graph.set(&self.counts, waiter, &[queue]);
            }
            None => graph.set(&self.counts, waiter, blockers),
        }
        Ok((EdgeGuard { graph: self, waiter }, queue.is_some()))
    }

    /// Waiters have other blockers now: says so for them while they sleep, each after those of the others
    /// that it waits for; who has noted nothing is about to look for itself. `queue` has these blockers now.
    /// `false`: these edges would close a cycle; then none of these waiters has edges, nor has the queue, and each who
    /// waits by it has to look again for itself.
    pub fn redirect(&self, waits: &[(u64, Vec<u64>)], queue: (u64, &[u64])) -> bool {
        let mut graph = self.graph.lock();
        let (queue, blockers) = queue;
        let known = waits.iter().filter(|(w, to)| !to.is_empty() && graph.edges.contains_key(w));
        let mut known: Vec<(u64, Vec<u64>)> = known.cloned().collect();
        let by_queue = known.iter().any(|(_, to)| to.contains(&queue));
        waits.iter().for_each(|(waiter, _)| graph.set(&self.counts, *waiter, &[]));
        let used = by_queue || graph.queues.contains_key(&queue);
        let now = graph.edges.get(&queue).map_or(&[][..], |now| &now[..]);
        let moves = used && now != blockers;
        if moves {
            graph.set(&self.counts, queue, &[]);
            known.insert(0, (queue, blockers.to_vec()));
        }
        let noted = graph.stays_acyclic(&known);
        if noted {
            known.iter().for_each(|(node, to)| graph.set(&self.counts, *node, to));
        }
        noted
    }

    /// How many others wait for this one, directly or through others, by their first blockers.
    pub fn held_up(&self, who: u64) -> u64 {
        self.counts.get(who)
    }

    /// Whether so many wait by a queue's node, and none of them holds up others.
    pub fn hold_up_nobody(&self, queue: u64, waiters: usize) -> bool {
        let n = waiters as u64;
        self.graph.lock().queues.get(&queue) == Some(&Queued { own: n, all: n })
    }

    /// All edges (waiter, blocker) at this moment, in no particular order.
    pub fn edges(&self) -> Vec<(u64, u64)> {
        let graph = self.graph.lock();
        let waiters = graph.edges.keys().copied().filter(|node| !is_queue(*node));
        waiters.flat_map(|w| graph.blockers(w).map(move |b| (w, b))).collect()
    }

    /// Who waits at this moment, each with its first blocker, and who is among the blockers of anybody.
    pub fn blockers(&self) -> Blockers {
        let graph = self.graph.lock();
        let mut found = Blockers::default();
        for (node, blockers) in &graph.edges {
            // Those of a queue are its owners.
            found.all.extend(blockers.iter().copied().filter(|b| !is_queue(*b)));
            if let Some(first) = graph.blockers(*node).next().filter(|_| !is_queue(*node)) {
                found.first.insert(*node, first);
            }
        }
        found
    }

    /// Whether there is an edge.
    pub fn has_edge(&self, waiter: u64, blocker: u64) -> bool {
        self.graph.lock().blockers(waiter).any(|b| b == blocker)
    }

    /// Looks whether the invariants hold.
    ///
    /// # Panics
    /// When one does not.
    pub fn verify(&self) {
        let graph = self.graph.lock();
        assert!(!is_cyclic(&graph.edges, graph.edges.keys().copied()), "invariant 1");
        let mut sums: HashMap<u64, u64> = HashMap::new();
        let mut own: HashMap<u64, u64> = HashMap::new();
        for waiter in graph.edges.keys().copied().filter(|node| !is_queue(*node)) {
            let mut at = waiter;
            let first = graph.edges.get(&waiter).and_then(|all| all.first());
            first.into_iter().for_each(|first| *own.entry(*first).or_default() += 1);
            while let Some(&blocker) = graph.edges.get(&at).and_then(|all| all.first()) {
                *sums.entry(blocker).or_default() += 1;
                at = blocker;
            }
        }
        for (node, n) in &sums {
            assert_eq!(graph.held_up(&self.counts, *node), *n, "invariant 3: {node:x}");
        }
        let queues = graph.edges.keys().filter(|node| is_queue(**node));
        queues.for_each(|q| assert!(graph.queues.contains_key(q), "invariant 4: {q:x}"));
        assert!(graph.queues.keys().all(|q| sums.contains_key(q)), "invariant 4");
        for (queue, queued) in &graph.queues {
            assert_eq!(own.get(queue), Some(&queued.own), "who waits by a queue: {queue:x}");
        }
    }
}

impl Default for WaitsFor {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for EdgeGuard<'_> {
    fn drop(&mut self) {
        self.graph.graph.lock().set(&self.graph.counts, self.waiter, &[]);
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
        let held_up = |who: [u64; 4]| who.map(|w| graph.held_up(w));
        let a = graph.add_all(1, &[2, 9]).unwrap();
        let _b = graph.add(3, 1).unwrap();
        let c = graph.add(2, 4).unwrap();
        assert_eq!(held_up([1, 2, 4, 9]), [1, 2, 3, 0]);
        assert!(graph.redirect(&[(1, vec![9])], NO_QUEUE));
        assert_eq!(held_up([1, 2, 4, 9]), [1, 0, 1, 2]);
        assert!(graph.redirect(&[(2, vec![])], NO_QUEUE));
        drop(c);
        drop(a);
        assert_eq!(held_up([1, 2, 4, 9]), [1, 0, 0, 0]);
    }

    const NO_QUEUE: (u64, &[u64]) = (QUEUE, &[]);

    #[test]
    fn a_redirection_closes_no_cycle_and_is_all_or_nothing() {
        let graph = WaitsFor::new();
        let (_a, _b) = (graph.add(1, 9).unwrap(), graph.add(2, 1).unwrap());
        let _c = graph.add(8, 2).unwrap();
        // 8 waits for 2, which would wait for 8.
        assert!(!graph.redirect(&[(1, vec![7]), (2, vec![8, 1])], NO_QUEUE));
        assert_eq!(graph.edges(), [(8, 2)]);
        // 1 has noted nothing any more, and is about to look for itself.
        assert!(graph.redirect(&[(8, vec![5]), (1, vec![7])], NO_QUEUE));
        assert_eq!((graph.edges(), graph.held_up(2), graph.held_up(5)), (vec![(8, 5)], 0, 1));
        let _d = graph.add(3, 4).unwrap();
        let _e = graph.add(6, 3).unwrap();
        let _f = graph.add(7, 3).unwrap();
        assert!(graph.redirect(&[(3, vec![]), (6, vec![3]), (7, vec![3, 6])], NO_QUEUE));
        assert_eq!([3, 6, 4].map(|w| graph.held_up(w)), [2, 0, 0]);
        graph.verify();
    }

    #[test]
    fn a_queue_has_one_node_that_moves_with_its_owners() {
        let graph = WaitsFor::new();
        let q = queue_node(5);
        let guards: Vec<_> = (10..20).map(|w| graph.add_queued(w, q, &[1, 2]).unwrap()).collect();
        assert!(guards.iter().all(|(_, by_queue)| *by_queue));
        let _behind = graph.add(30, 12).unwrap();
        graph.verify();
        assert_eq!([1, 2, 12].map(|w| graph.held_up(w)), [11, 0, 1]);
        assert_eq!(graph.edges().len(), 21);
        // 10 is granted it, one edge moves.
        assert!(graph.redirect(&[(10, vec![])], (q, &[10])));
        graph.verify();
        assert_eq!([1, 10].map(|w| graph.held_up(w)), [0, 10]);
        assert_eq!(graph.add(10, 30).unwrap_err().cycle, [10, 30, 12]);
        // Nor may the queue's owners wait for its waiters by a move of it.
        let _c = graph.add(40, 13).unwrap();
        assert!(!graph.redirect(&[], (q, &[40])));
        assert_eq!(graph.edges().iter().filter(|(w, _)| (10..20).contains(w)).count(), 0);
        drop(guards);
        graph.verify();
        assert!(graph.graph.lock().queues.is_empty());
    }
}
