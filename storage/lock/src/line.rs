//! The queue of one hash: what is granted, and who waits.
//!
//! 1. Requests stand in the order they were asked for. One that has just been granted stands among them until its owner
//!    has taken it ([`Queue::move_granted`]). Guard: `Queue::verify`.
//! 2. Requests are *alike* while all are for the same target, which nothing else with this hash is locked beside, in one
//!    shape that excludes itself, and nobody who waits has a lock here: then nothing but their order tells them apart,
//!    and a grant looks at the first of them alone. Guard: `Queue::verify`.
//! 3. `noted` is how many wait by the queue's node of the waits-for graph, as far as it was told. Guard: `Queue::verify`.

use crate::queue::{By, Lock};
use smallvec::SmallVec;
use std::collections::VecDeque;
use sync::waits::queue_node;

/// The locks on the targets with one hash; as a rule there is one, granted.
#[derive(Default)]
pub(crate) struct Queue {
    granted: SmallVec<[Lock; 1]>,
    waiting: Option<Box<Waiting>>,
}

/// The requests of a queue.
struct Waiting {
    requests: VecDeque<Lock>,
    /// Invariant 2; once they are not, until nobody waits any more.
    alike: bool,
    /// Invariant 3.
    noted: usize,
    /// One of them was passed often.
    starving: bool,
}

fn is_noted(lock: &Lock, hash: u64) -> bool {
    lock.edges.as_deref() == Some(&[queue_node(hash)])
}

impl Queue {
    /// All locks: those that were granted, then who waits, in the order they were asked for.
    pub fn iter(&self) -> impl Iterator<Item = &Lock> + Clone {
        self.granted.iter().chain(self.requests())
    }

    /// What was granted and taken.
    pub fn granted(&self) -> &[Lock] {
        &self.granted
    }

    /// The same, to be given to others.
    pub fn granted_mut(&mut self) -> &mut [Lock] {
        &mut self.granted
    }

    /// Who waits, in their order.
    pub fn requests(&self) -> impl DoubleEndedIterator<Item = &Lock> + Clone {
        self.waiting.iter().flat_map(|waiting| &waiting.requests)
    }

    pub fn len(&self) -> usize {
        self.granted.len() + self.waiting.as_ref().map_or(0, |waiting| waiting.requests.len())
    }

    pub fn is_empty(&self) -> bool {
        self.granted.is_empty() && self.waiting.is_none()
    }

    /// Adds a lock, or a request behind the others.
    pub fn add(&mut self, lock: Lock) {
        if lock.granted() {
            // Whether it is one's who waits is not looked for.
            self.waiting.iter_mut().for_each(|waiting| waiting.alike = false);
            return self.granted.push(lock);
        }
        let first = match &self.waiting {
            Some(waiting) => waiting.alike.then(|| &waiting.requests[0]),
            None => Some(&lock),
        };
        let alike = first.is_some_and(|first| {
            let beside = self.granted.iter().all(|g| g.place == lock.place && g.by != lock.by);
            let same = first.place == lock.place && first.shape == lock.shape;
            beside && same && lock.shape.waits_for(lock.shape, lock.supremum())
        });
        let waiting = self.waiting.get_or_insert_with(|| {
            let requests = VecDeque::new();
            Box::new(Waiting { requests, alike, noted: 0, starving: false })
        });
        waiting.alike &= alike;
        waiting.requests.push_back(lock);
    }

    /// Takes out what `which` chooses of the granted locks.
    pub fn remove_granted(&mut self, mut which: impl FnMut(&Lock) -> bool, gone: &mut Vec<Lock>) {
        let mut at = 0;
        while let Some(lock) = self.granted.get(at) {
            match which(lock) {
                true => gone.push(self.granted.remove(at)),
                false => at += 1,
            }
        }
    }

    /// Takes out what `which` chooses of the requests.
    pub fn remove_requests(
        &mut self,
        hash: u64,
        mut which: impl FnMut(&Lock) -> bool,
        gone: &mut Vec<Lock>,
    ) {
        let mut at = 0;
        while let Some(lock) = self.waiting.as_ref().and_then(|w| w.requests.get(at)) {
            match which(lock) {
                true => gone.extend(self.take_request(hash, at)),
                false => at += 1,
            }
        }
    }

    fn take_request(&mut self, hash: u64, at: usize) -> Option<Lock> {
        let waiting = self.waiting.as_mut()?;
        let lock = waiting.requests.remove(at)?;
        waiting.noted -= usize::from(is_noted(&lock, hash));
        if waiting.requests.is_empty() {
            self.waiting = None;
        }
        Some(lock)
    }

    /// The request that stands there.
    pub fn request(&mut self, at: usize) -> Option<&mut Lock> {
        self.waiting.as_mut()?.requests.get_mut(at)
    }

    /// Where an owner's request stands; those who came last are looked at first.
    pub fn place_of(&self, by: By, number: u64) -> Option<usize> {
        let requests = &self.waiting.as_ref()?.requests;
        requests.iter().rposition(|l| l.by == by && l.waiting == number)
    }

    /// A request was passed once more, by one that was granted; `often`: as often as it may be.
    pub fn pass(&mut self, at: usize, often: u32) {
        let Some(waiting) = &mut self.waiting else { return };
        if let Some(lock) = waiting.requests.get_mut(at) {
            lock.passed += 1;
            waiting.starving |= lock.passed >= often;
        }
    }

    /// These are the edges of a request's wait from now on.
    pub fn set_edges(&mut self, hash: u64, at: usize, edges: Option<Box<[u64]>>) {
        let Some(waiting) = &mut self.waiting else { return };
        if let Some(lock) = waiting.requests.get_mut(at) {
            waiting.noted -= usize::from(is_noted(lock, hash));
            lock.edges = edges;
            waiting.noted += usize::from(is_noted(lock, hash));
        }
    }

    /// The request was granted, and its owner takes it.
    pub fn move_granted(&mut self, hash: u64, at: usize) {
        let taken = self.take_request(hash, at);
        self.granted.extend(taken);
    }

    /// Whether requests are alike, and how many there are; none of them starves.
    pub fn alike(&self) -> Option<(&Lock, usize)> {
        let waiting = self.waiting.as_ref().filter(|w| w.alike && !w.starving)?;
        Some((waiting.requests.front()?, waiting.requests.len()))
    }

    /// Whether all who wait do so by the queue's node.
    pub fn all_noted(&self) -> bool {
        self.waiting.as_ref().is_none_or(|w| w.noted == w.requests.len())
    }

    /// # Panics
    /// When an invariant does not hold.
    pub fn verify(&self, hash: u64) {
        assert!(!self.is_empty(), "an empty queue goes");
        assert!(self.granted.iter().all(Lock::granted), "granted locks are apart (line, 1)");
        let Some(waiting) = &self.waiting else { return };
        assert!(!waiting.requests.is_empty() && !waiting.requests.iter().any(Lock::granted));
        let noted = waiting.requests.iter().filter(|l| is_noted(l, hash)).count();
        assert_eq!(waiting.noted, noted, "who waits by the node is counted (line, 3)");
        let first = &waiting.requests[0];
        let apart = self.iter().any(|l| l.place != first.place)
            || waiting.requests.iter().any(|l| l.shape != first.shape)
            || self.granted.iter().any(|g| waiting.requests.iter().any(|l| l.by == g.by));
        assert!(!(waiting.alike && apart), "requests are alike (line, 2): {first:?}");
    }
}
