//! In which order the requests for one target are granted.
//!
//! 1. A request waits for every conflicting lock of others that is granted, and for every conflicting
//!    request of others that was there before it and waits for a granted lock itself; unless that one
//!    waits for the asker (then nobody would gain by its going first). An insert waits for that one, too:
//!    as in InnoDB. Nor does it wait for one that waits only for somebody who is giving locks on the target back, and
//!    has others there still: as in InnoDB, which gives back one after the other, the last made first. So of those
//!    who wait for a transaction that had read a row and then changed it, readers go first. Guard: `nobody_goes_too_early` of `locks/tests.rs`.
//! 2. Of the others, which are ready, goes first who holds up most waiters: then the most can go on soon,
//!    and few transactions sit on locks while they wait for further ones (contention-aware scheduling, as
//!    in MySQL; Tian et al., "Contention-aware lock scheduling for transactional databases", PVLDB 11(5),
//!    2018). Of equals goes first who was there first. Guard:
//!    `ten_thousand_wait_for_one_row_and_each_gets_it`, in their order; `who_holds_up_others_goes_first_and_of_equals_who_was_first`.
//! 3. After a choice nobody who stays is ready: else it would sleep until somebody else gives a lock back. Guard:
//!    `nobody_is_left_behind` of `locks/tests.rs`, `World::assert_nobody_left_behind` of the models.
//! 4. Who was passed [`PASSED_MAX`] times goes before all who were not: nobody waits for ever. Guard: `Line::choose`
//!    asserts that one such goes, if there is any; `nobody_is_passed_for_ever`.

use crate::mode::{Kind, Shape};
use crate::queue::{By, Lock};
use std::cmp::Reverse;

/// How often a request may be passed by later ones.
pub(crate) const PASSED_MAX: u32 = 64;

/// The locks on one target, and where each stands in its queue, in the order they were asked for.
pub(crate) struct Line<'q> {
    granted: Vec<&'q Lock>,
    waiting: Vec<(usize, &'q Lock)>,
    supremum: bool,
    /// Another target has the same hash.
    shared: bool,
}

/// Who goes now, and who is passed by that: places in a queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub go: Vec<usize>,
    pub passed: Vec<usize>,
}

/// Edges of a waiting request that are new.
pub(crate) struct Edges {
    /// Where it stands in its queue.
    pub at: usize,
    pub by: By,
    pub edges: Box<[u64]>,
}

/// Whether a request of `by` may go before the waiting request `ahead`, which waits for a granted lock of
/// `by`; `granted` are the locks on the target.
pub(crate) fn may_pass<'q>(
    mut granted: impl Iterator<Item = &'q Lock>,
    ahead: &Lock,
    by: By,
    shape: Shape,
) -> bool {
    let holds_up = |g: &Lock| ahead.shape.waits_for(g.shape, ahead.supremum());
    shape.kind != Kind::InsertIntention && granted.any(|g| g.by == by && g.granted() && holds_up(g))
}

impl<'q> Line<'q> {
    /// Of the granted locks on a target, and its requests with their places in the queue.
    pub fn new(
        mut granted: Vec<&'q Lock>,
        requests: impl Iterator<Item = (usize, &'q Lock)>,
        supremum: bool,
        shared: bool,
    ) -> Line<'q> {
        let (new, waiting): (Vec<_>, Vec<_>) = requests.partition(|(_, l)| l.granted());
        granted.extend(new.into_iter().map(|(_, l)| l));
        Line { granted, waiting, supremum, shared }
    }

    fn conflict(&self, me: &Lock, other: &Lock) -> bool {
        me.by != other.by && me.shape.waits_for(other.shape, self.supremum)
    }

    /// Whether `me` has to let `ahead` go first, which was there before.
    fn yields(&self, me: &Lock, ahead: &Lock) -> bool {
        self.conflict(me, ahead) && !may_pass(self.granted.iter().copied(), ahead, me.by, me.shape)
    }

    /// The owners of all waiting requests.
    pub fn waiters(&self) -> impl Iterator<Item = By> {
        self.waiting.iter().map(|(_, me)| me.by)
    }

    /// What the waiting requests have in the waits-for graph that they did not have until now, and the owners to whom
    /// the node `queue` leads: those whose granted locks hold up the first of them. A request that they all hold
    /// up, and nobody else, waits by that node; so does it when others by the node go before it, for they wait for the
    /// same owners. (Two targets with one hash have no node.)
    pub fn edges(&self, queue: u64) -> (Vec<By>, Vec<Edges>) {
        let common = self.common();
        let mut all_by_node = true;
        let mut by_node = Vec::with_capacity(self.waiting.len());
        let mut changed = Vec::new();
        for (n, (at, me)) in self.waiting.iter().enumerate() {
            by_node.push(self.is_by_node(n, &common, (all_by_node, &by_node)));
            all_by_node &= by_node[n];
            let has = me.edges.as_deref().unwrap_or(&[]);
            if by_node[n] && has == [queue] {
                continue;
            }
            let edges: Box<[u64]> = match by_node[n] {
                true => [queue].into(),
                false => self.blockers(n).into_iter().map(|by| by.slot as u64).collect(),
            };
            if *has != *edges {
                changed.push(Edges { at: *at, by: me.by, edges });
            }
        }
        (self.owners(&common), changed)
    }

    /// Which granted locks hold up the first waiting request.
    fn common(&self) -> Vec<bool> {
        let first = self.waiting.first().map(|(_, first)| *first);
        let holds_up = |g: &&Lock| first.is_some_and(|first| self.conflict(first, g));
        self.granted.iter().map(holds_up).collect()
    }

    fn owners(&self, chosen: &[bool]) -> Vec<By> {
        let owners = self.granted.iter().zip(chosen).filter(|(_, chosen)| **chosen);
        let mut owners: Vec<By> = owners.map(|(g, _)| g.by).collect();
        owners.dedup();
        owners
    }

    /// `before`: whether all requests before waiting request `n` are by the queue's node, and which.
    fn is_by_node(&self, n: usize, common: &[bool], before: (bool, &[bool])) -> bool {
        let me = self.waiting[n].1;
        let same = self.granted.iter().zip(common).all(|(g, c)| self.conflict(me, g) == *c);
        same && !self.shared
            && common.contains(&true)
            && (before.0 || self.ahead(n).is_none_or(|n| before.1[n]))
    }

    /// The owners to whom the queue's node leads, if this waiting request waits by it.
    pub fn by_node(&self, by: By, number: u64) -> Option<Vec<By>> {
        let n = self.waiting.iter().position(|(_, l)| l.by == by && l.waiting == number)?;
        let common = self.common();
        let (mut all, mut by_node) = (true, Vec::with_capacity(n + 1));
        for n in 0..=n {
            by_node.push(self.is_by_node(n, &common, (all, &by_node)));
            all &= by_node[n];
        }
        by_node[n].then(|| self.owners(&common))
    }

    /// The last request before waiting request `n` that goes first.
    fn ahead(&self, n: usize) -> Option<usize> {
        let me = self.waiting[n].1;
        self.waiting[..n].iter().rposition(|(_, l)| self.yields(me, l))
    }

    fn blockers(&self, n: usize) -> Vec<By> {
        let me = self.waiting[n].1;
        let mut found: Vec<By> =
            self.granted.iter().filter(|g| self.conflict(me, g)).map(|g| g.by).collect();
        found.extend(self.ahead(n).map(|n| self.waiting[n].1.by));
        found.dedup();
        found
    }

    /// Whom a waiting request waits for: the owners of granted locks, then of the last request before it that goes
    /// first (those before that are that one's to wait for). `None`: it waits no more.
    pub fn blockers_of(&self, by: By, number: u64) -> Option<Vec<By>> {
        let n = self.waiting.iter().position(|(_, l)| l.by == by && l.waiting == number)?;
        Some(self.blockers(n))
    }

    /// Rule 1: who could go now if it were first, while `leaving` gives locks back.
    fn ready(&self, leaving: By) -> Vec<(usize, &'q Lock)> {
        let (mut ready, mut stuck): (_, Vec<&Lock>) = (Vec::new(), Vec::new());
        for &(at, me) in &self.waiting {
            let held_up = |by: &dyn Fn(By) -> bool| {
                self.granted.iter().any(|g| by(g.by) && self.conflict(me, g))
            };
            if held_up(&|by| by != leaving) || stuck.iter().any(|l| self.yields(me, l)) {
                stuck.push(me);
            } else if !held_up(&|by| by == leaving) {
                ready.push((at, me));
            }
        }
        ready
    }

    /// Who goes now, while `leaving` gives locks back, and who is passed by that: their places in the queue. `refused`
    /// do not want to; `held_up` says how many waiters each of these session slots holds up.
    pub fn choose(&self, leaving: By, refused: &[usize], held_up: impl Fn(u64) -> u64) -> Choice {
        let mut ready = self.ready(leaving);
        ready.retain(|(at, _)| !refused.contains(at));
        if ready.len() > 1 {
            let weighed = |r: (usize, &'q Lock)| (held_up(r.1.by.slot as u64), r);
            let mut keyed: Vec<_> = ready.into_iter().map(weighed).collect();
            keyed.sort_by_key(|(n, (_, l))| Reverse((l.passed >= PASSED_MAX, *n)));
            ready = keyed.into_iter().map(|(_, r)| r).collect();
        }
        let (mut go, mut stay): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (n, (at, me)) in ready.iter().enumerate() {
            // Who stays holds up those who came after it only: rule 1 says the same of it from now on, and nobody
            // would look again at others who are left behind.
            let held_up = go.iter().any(|n| self.conflict(me, ready[*n].1))
                || stay.iter().any(|n| ready[*n].0 < *at && self.yields(me, ready[*n].1));
            if held_up { &mut stay } else { &mut go }.push(n);
        }
        let last = go.iter().map(|n| ready[*n].0).max().unwrap_or(0);
        let places = |all: Vec<usize>| all.into_iter().map(|n| ready[n].0);
        let starving = |all: &[usize]| all.iter().any(|n| ready[*n].1.passed >= PASSED_MAX);
        assert!(!starving(&stay) || starving(&go), "who was passed often goes first (4)");
        let passed = places(stay).filter(|at| *at < last).collect();
        Choice { go: places(go).collect(), passed }
    }
}
