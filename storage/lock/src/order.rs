//! In which order the requests for one target are granted.
//!
//! 1. A request waits for every conflicting lock of others that is granted, and for every conflicting
//!    request of others that was there before it and waits for a granted lock itself; unless that one
//!    waits for the asker (then nobody would gain by its going first). An insert waits for that one, too:
//!    as in InnoDB. Nor does it wait for one that waits only for somebody who is giving locks on the target back, and
//!    has others there still: as in InnoDB, which gives back one after the other, the last made first. So of those
//!    who wait for a transaction that had read a row and then changed it, readers go first.
//! 2. Of the others, which are ready, goes first who holds up most waiters: then the most can go on soon,
//!    and few transactions sit on locks while they wait for further ones (contention-aware scheduling, as
//!    in MySQL; Tian et al., "Contention-aware lock scheduling for transactional databases", PVLDB 11(5),
//!    2018). Of equals goes first who was there first.
//! 3. After a choice nobody who stays is ready: else it would sleep until somebody else gives a lock back.
//! 4. Who was passed [`PASSED_MAX`] times goes before all who were not: nobody waits for ever.

use crate::mode::{Kind, Shape};
use crate::queue::{By, Lock};
use std::cmp::Reverse;

/// How often a request may be passed by later ones.
const PASSED_MAX: u32 = 64;

/// The locks on one target, and where each stands in its queue, in the order they were asked for.
pub(crate) struct Line<'q> {
    granted: Vec<&'q Lock>,
    waiting: Vec<(usize, &'q Lock)>,
    supremum: bool,
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
    /// Of the locks on a target, with their places in the queue.
    pub fn new(on: impl Iterator<Item = (usize, &'q Lock)>, supremum: bool) -> Line<'q> {
        let (granted, waiting): (Vec<_>, Vec<_>) = on.partition(|(_, l)| l.granted());
        Line { granted: granted.into_iter().map(|(_, l)| l).collect(), waiting, supremum }
    }

    fn conflict(&self, me: &Lock, other: &Lock) -> bool {
        me.by != other.by && me.shape.waits_for(other.shape, self.supremum)
    }

    /// Whether `me` has to let `ahead` go first, which was there before.
    fn yields(&self, me: &Lock, ahead: &Lock) -> bool {
        self.conflict(me, ahead) && !may_pass(self.granted.iter().copied(), ahead, me.by, me.shape)
    }

    /// Whom every waiting request waits for: the owners of granted locks, then of the last request before
    /// it that goes first (those before that are that one's to wait for).
    pub fn waits(&self) -> impl Iterator<Item = (By, Vec<By>)> {
        self.waiting.iter().enumerate().map(|(n, (_, me))| (me.by, self.blockers(n)))
    }

    fn blockers(&self, n: usize) -> Vec<By> {
        let me = self.waiting[n].1;
        let mut found: Vec<By> =
            self.granted.iter().filter(|g| self.conflict(me, g)).map(|g| g.by).collect();
        let ahead = self.waiting[..n].iter().rev().find(|(_, l)| self.yields(me, l));
        found.extend(ahead.map(|(_, l)| l.by));
        found.dedup();
        found
    }

    /// [`Self::waits`] of one waiting request; `None`: it waits no more.
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
    pub fn choose(
        &self,
        leaving: By,
        refused: &[usize],
        held_up: impl FnOnce(&[u64]) -> Vec<u64>,
    ) -> (Vec<usize>, Vec<usize>) {
        let mut ready = self.ready(leaving);
        ready.retain(|(at, _)| !refused.contains(at));
        if ready.len() > 1 {
            let slots: Vec<u64> = ready.iter().map(|(_, l)| l.by.slot as u64).collect();
            let mut keyed: Vec<_> = held_up(&slots).into_iter().zip(ready).collect();
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
        (places(go).collect(), places(stay).filter(|at| *at < last).collect())
    }
}
