//! Waiting for a lock, and deadlocks.
//!
//! 1. A waiter parks only with its present blockers in the waits-for graph, or for a short slice after
//!    which it looks again: a deadlock is never slept through. (Without the search for deadlocks nothing
//!    is published.)
//!    What it publishes it computes and notes under the mutex of its shard: nobody changes the queue between.
//!    Guard: `graph_leads_to_all` of `locks/tests.rs`.
//! 2. Whoever makes a granted lock that holds up a request has the waiters look again; whoever grants a
//!    request or takes one back publishes for the others whom they wait for now ([`Locks::redirect`]).
//!    Blockers that have gone may still be in the graph: a cycle is only a suspicion. Guard: `graph_leads_to_all`, and
//!    `WaitsFor::verify`.
//! 3. A deadlock is believed when all its edges were found in the queues twice, the second round with the
//!    same waits as the first: then all its members waited at once, and nobody who waits releases
//!    anything. A cycle through other kinds of lock is believed when it stays ([`Suspicion`]). Guard: the model
//!    `deadlocks_are_found_whoever_closes_them`; `deadlocks_through_runs_are_found`.
//! 4. The victim is the transaction with the fewest undo records and lock structures, table locks among
//!    them; of equals the one whose request closed the cycle, namely who began to wait last. Guard:
//!    `the_lightest_of_a_deadlock_gives_way_and_of_equals_the_last`; `--test isolation` of the server, recorded from MySQL.

use crate::locks::{Locks, by, slots};
use crate::owner::{GRANTED, Owner, RETRY, VICTIM, WaitingRequest};
use crate::report::{Deadlock, DeadlockMember};
use base::{Error, Result};
use instrument::Counter;
use std::sync::Arc;
use stdx::Ordering;
use sync::waits::{EdgeGuard, SLICE, Suspicion, queue_node};
use sync::{Deadline, LongWait, WaitResult};

/// What to do about a cycle in the graph.
enum Cycle {
    /// Look again: an edge was out of date, is unproven yet, or another waiter was told to give up.
    Again,
    /// The requester is the victim.
    Mine,
}

/// A member of a cycle: who, and what it waits for with which weight; `None`: another kind of lock.
struct Proof {
    slot: usize,
    waiting_request: Option<(WaitingRequest, u64)>,
}

/// The edges of a wait, none without the search for deadlocks; or the cycle that they would close.
type Published<'g> = std::result::Result<Option<EdgeGuard<'g>>, sync::waits::Deadlock>;

impl Locks {
    /// Waits for the request that is in the queue. `false`: what it was for is there no more.
    pub(crate) fn wait(
        &self,
        me: &Owner,
        waiting_request: &WaitingRequest,
        deadline: Deadline,
    ) -> Result<bool> {
        instrument::count(Counter::InnodbRowLockWaits, 1);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut long = LongWait::default();
        let end = self.wait_loop(me, waiting_request, deadline, &mut long);
        me.event.end_wait(long, None);
        let end = end.or_else(|e| self.withdraw(me, waiting_request, e));
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let waited_ns = sync::now_ns().saturating_sub(waiting_request.since_ns);
        self.wait_ns_max.fetch_max(waited_ns, Ordering::Relaxed);
        instrument::count(Counter::InnodbRowLockTime, me.end_wait(waited_ns));
        if matches!(end, Err(Error::LockWaitTimeout)) {
            instrument::count(Counter::InnodbLockWaitTimeouts, 1);
        }
        end
    }

    fn wait_loop(
        &self,
        me: &Owner,
        waiting_request: &WaitingRequest,
        deadline: Deadline,
        long: &mut LongWait,
    ) -> Result<bool> {
        let mut suspicion = Suspicion::default();
        loop {
            let seen = me.event.prepare();
            match me.code() {
                GRANTED => return Ok(true),
                RETRY => return Ok(false),
                VICTIM => return Err(Error::Deadlock),
                _ => {}
            }
            let Some(published) = self.publish(me, waiting_request) else {
                // It was taken out just now; how it ended is about to be said.
                sync::yield_now();
                continue;
            };
            let (mut edges, mut until) = (None, deadline);
            match published {
                Ok(published) => edges = published,
                Err(deadlock) => match self.judge(me, deadlock.cycle, &mut suspicion) {
                    Cycle::Mine => return Err(Error::Deadlock),
                    Cycle::Again => until = deadline.within(SLICE),
                },
            }
            let sliced = until != deadline;
            let result = me.event.wait_part(long, seen, until, None);
            drop(edges);
            match result {
                WaitResult::Woken => {}
                WaitResult::TimedOut if sliced && !deadline.passed() => {}
                WaitResult::TimedOut => return Err(Error::LockWaitTimeout),
                WaitResult::Killed => return Err(Error::Killed),
            }
        }
    }

    /// Notes in the graph whom the request waits for; `None`: it waits no more. It is noted under the mutex of its
    /// shard, so whoever changes the queue after that finds it there.
    pub(crate) fn publish(
        &self,
        me: &Owner,
        waiting_request: &WaitingRequest,
    ) -> Option<Published<'_>> {
        let (target, by, slot) = (waiting_request.place.target(), by(me), me.slot() as u64);
        let hash = target.hash();
        let mut queues = self.shard(hash).lock();
        let at = queues.place_of(hash, by, waiting_request.number)?;
        if !self.detect.load(Ordering::Relaxed) {
            return Some(Ok(None));
        }
        let node = queue_node(hash);
        let (owners, blockers) = match queues.owners_for_alike(hash) {
            Some(owners) => (Some(owners), None),
            None => {
                let line = queues.line(hash, target);
                let blockers = line.blockers_of(by, waiting_request.number)?;
                (line.by_node(by, waiting_request.number), Some(blockers))
            }
        };
        let others = || {
            let found = || queues.line(hash, target).blockers_of(by, waiting_request.number);
            slots(blockers.clone().or_else(found).unwrap_or_default())
        };
        let published = match owners {
            Some(owners) => self.graph.add_queued(slot, node, &slots(owners)),
            None => self.graph.add_all(slot, &others()).map(|guard| (guard, false)),
        };
        let edges = match &published {
            Ok((_, true)) => Some([node].into()),
            Ok((_, false)) => Some(others().into()),
            Err(_) => None,
        };
        queues.set_edges(hash, at, edges);
        Some(published.map(|(guard, _)| Some(guard)))
    }

    /// Takes the request back, unless it was granted, or its record removed, in the meantime.
    pub(crate) fn withdraw(
        &self,
        me: &Owner,
        waiting_request: &WaitingRequest,
        error: Error,
    ) -> Result<bool> {
        let (target, by) = (waiting_request.place.target(), by(me));
        let hash = target.hash();
        let mut queues = self.shard(hash).lock();
        let given_up = me.end_with(waiting_request.number, VICTIM);
        match me.code() {
            GRANTED => return Ok(true),
            RETRY => return Ok(false),
            _ => {}
        }
        let gone = queues.remove(hash, |l| l.by == by && l.waiting == waiting_request.number);
        gone.iter().for_each(|l| me.forget(by.serial, (hash, l), &self.memory));
        self.grant(&mut queues, hash, target, by);
        Err(if given_up { error } else { Error::Deadlock })
    }

    /// Rules 3 and 4. `cycle` begins with the requester; each member waits for the next.
    fn judge(&self, me: &Owner, cycle: Vec<u64>, suspicion: &mut Suspicion) -> Cycle {
        let (Some(first), Some(mut second)) = (self.prove(&cycle), self.prove(&cycle)) else {
            return Cycle::Again;
        };
        let waits = |round: &[Proof]| -> Vec<Option<u64>> {
            round.iter().map(|p| p.waiting_request.as_ref().map(|(w, _)| w.number)).collect()
        };
        if waits(&first) != waits(&second) {
            return Cycle::Again;
        }
        if second.iter().any(|p| p.waiting_request.is_none()) && !suspicion.is_proved(cycle) {
            return Cycle::Again;
        }
        // Who closed the cycle is who began to wait last: others may have found it before him, or again.
        let since = |p: &Proof| p.waiting_request.as_ref().map_or(0, |(w, _)| w.since_ns);
        let last = (0..second.len()).max_by_key(|i| since(&second[*i])).unwrap_or(0);
        second.rotate_left(last);
        // Of equals he, now the first; else who waits for him, then who waits for that one.
        let before = |i: usize| (second.len() - i) % second.len();
        let weights =
            second.iter().enumerate().filter_map(|(i, p)| Some((i, p.waiting_request.as_ref()?.1)));
        let Some((victim, _)) = weights.min_by_key(|(i, weight)| (*weight, before(*i))) else {
            return Cycle::Again;
        };
        let report = self.describe(&second, victim);
        let mine = second[victim].slot == me.slot();
        if !mine {
            let Some((waiting_request, _)) = &second[victim].waiting_request else {
                return Cycle::Again;
            };
            if !self.owner(second[victim].slot).end_with(waiting_request.number, VICTIM) {
                return Cycle::Again;
            }
        } else if me.code() == VICTIM {
            // Another member has found the same cycle, and said so.
            return Cycle::Mine;
        }
        self.tell(report);
        if mine { Cycle::Mine } else { Cycle::Again }
    }

    /// Finds every edge of a cycle in the queues; `None`, with the waiter woken, when one is out of date.
    fn prove(&self, cycle: &[u64]) -> Option<Vec<Proof>> {
        let nexts = cycle.iter().skip(1).chain(cycle.first());
        cycle.iter().zip(nexts).map(|(&member, &next)| self.prove_edge(member, next)).collect()
    }

    fn prove_edge(&self, member: u64, next: u64) -> Option<Proof> {
        let slot = member as usize;
        let owner = self.owner(slot);
        let Some(waiting_request) = owner.waiting_request() else {
            // Another kind of wait, or one that has just ended: then its edges are gone.
            return self
                .graph
                .has_edge(member, next)
                .then_some(Proof { slot, waiting_request: None });
        };
        let target = waiting_request.place.target();
        let hash = target.hash();
        let blockers = self
            .shard(hash)
            .lock()
            .line(hash, target)
            .blockers_of(by(owner), waiting_request.number);
        if blockers.is_some_and(|all| all.iter().any(|b| b.slot as u64 == next)) {
            let weight = waiting_request.undo
                + waiting_request.tables
                + self.sizes(owner, &waiting_request.changed).1;
            return Some(Proof { slot, waiting_request: Some((waiting_request, weight)) });
        }
        owner.poke();
        None
    }

    /// What the members of a deadlock hold and wait for.
    fn describe(&self, cycle: &[Proof], victim: usize) -> Deadlock {
        let member = |(i, p): (usize, &Proof)| {
            let owner = self.owner(p.slot);
            let waiting_request = p.waiting_request.as_ref().map(|(w, _)| w);
            let (row_locks, structs) =
                self.sizes(owner, waiting_request.map_or(&[], |w| &w.changed));
            // What the one before waits for.
            let before = &cycle[(i + cycle.len() - 1) % cycle.len()];
            let wanted = before.waiting_request.as_ref().map(|(w, _)| w);
            let mut holds = Vec::new();
            if let Some(w) = wanted {
                let target = w.place.target();
                let queues = self.shard(target.hash()).lock();
                let his = queues.on(target.hash(), target).filter(|l| l.by.slot == p.slot);
                let blocks = |s: crate::Shape| w.shape.waits_for(s, target.key.is_none());
                holds.extend(his.filter(|l| blocks(l.shape)).map(|l| (l.place.clone(), l.shape)));
            }
            DeadlockMember {
                slot: p.slot,
                trx: owner.trx(),
                structs: structs + waiting_request.map_or(0, |w| w.tables),
                row_locks,
                undo: waiting_request.map_or(0, |w| w.undo),
                holds,
                waits: waiting_request.map(|w| (w.place.clone(), w.shape)),
            }
        };
        Deadlock { members: cycle.iter().enumerate().map(member).collect(), victim }
    }

    fn tell(&self, report: Deadlock) {
        instrument::count(Counter::InnodbDeadlocks, 1);
        let report = Arc::new(report);
        *self.last_deadlock.lock() = Some(Arc::clone(&report));
        if let Some(hook) = self.hook.get() {
            hook(&report);
        }
    }
}
