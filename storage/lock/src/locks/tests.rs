//! Random requests, releases and withdrawals on one target, after each of which everybody's state is what the rules
//! of [`crate::order`] say, judged from the requests alone.

use super::*;
use std::collections::HashMap;
use stdx::rng::Rng;
use sync::waits::EdgeGuard;

const OWNERS: usize = 6;
const STEPS: usize = 60;
const SEEDS: u64 = if cfg!(debug_assertions) { 3_000 } else { 20_000 };
const SHAPES: [Shape; 7] = [
    Shape::new(crate::Mode::Shared, Kind::Record),
    Shape::new(crate::Mode::Shared, Kind::NextKey),
    Shape::new(crate::Mode::Shared, Kind::Gap),
    Shape::WRITE,
    Shape::new(crate::Mode::Exclusive, Kind::NextKey),
    Shape::new(crate::Mode::Exclusive, Kind::Gap),
    Shape::INSERT,
];

/// A lock as the test sees it.
#[derive(Clone, Copy, PartialEq)]
struct Seen {
    slot: usize,
    shape: Shape,
    /// The number of its wait; 0: granted.
    waiting: u64,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = if self.waiting == 0 { "" } else { " waits" };
        write!(f, "{}: {}{end}", self.slot, self.shape)
    }
}

struct World<'t> {
    locks: Arc<Locks>,
    target: Target<'t>,
    /// Owners who were told to give up and have not taken their request out yet.
    told: Vec<usize>,
    /// When each owner asked last.
    asked: Vec<std::cell::Cell<u64>>,
    asks: std::cell::Cell<u64>,
}

impl<'t> World<'t> {
    fn new(locks: &Arc<Locks>, target: Target<'t>, owners: usize) -> World<'t> {
        let asked = (0..owners).map(|_| std::cell::Cell::new(0)).collect();
        World { locks: Arc::clone(locks), target, told: Vec::new(), asked, asks: 0.into() }
    }

    fn waits(&self, slot: usize) -> Option<WaitingRequest> {
        self.locks.owner(slot).waiting_request()
    }

    /// As [`Locks::lock`], but for the waiting.
    fn ask(&self, slot: usize, shape: Shape) {
        let (hash, owner) = (self.target.hash(), self.locks.owner(slot));
        let me = by(owner);
        let mut queues = self.locks.shard(hash).lock();
        let shape = queues.missing(hash, self.target, me, shape);
        let conflict = queues.conflicts(hash, self.target, me, shape);
        self.asks.set(self.asks.get() + 1);
        self.asked[slot].set(self.asks.get());
        let covered = queues.covered(hash, self.target, me, shape);
        if covered || (!conflict && shape.kind == Kind::InsertIntention) {
            return;
        }
        let waiting = if conflict { owner.next_number() } else { 0 };
        let lock = Lock { waiting, ..Lock::new(self.target, me, shape, Inherited::Always) };
        let place = lock.place.clone();
        assert!(self.locks.put(&mut queues, hash, owner, lock).is_some());
        if conflict {
            let (undo, tables, since_ns) = (0, 0, sync::now_ns());
            let changed = [].into();
            owner.begin_wait(WaitingRequest {
                number: waiting,
                place,
                shape,
                undo,
                tables,
                changed,
                since_ns,
            });
        }
    }

    /// From everybody who waits in the graph, it leads to all whose granted locks hold him up.
    fn graph_leads_to_all(&self, now: &[Seen]) {
        self.locks.graph.verify();
        let edges = self.locks.graph.edges();
        for me in now.iter().filter(|l| l.waiting != 0 && !self.told.contains(&l.slot)) {
            let (mut open, mut seen) = (vec![me.slot as u64], vec![]);
            while let Some(at) = open.pop() {
                seen.push(at);
                let next = edges.iter().filter(|(w, b)| *w == at && !seen.contains(b));
                open.extend(next.map(|(_, b)| *b));
            }
            if seen.len() > 1 {
                let holders = now.iter().filter(|g| g.waiting == 0 && self.conflict(*me, **g));
                for g in holders {
                    assert!(seen.contains(&(g.slot as u64)), "{me:?} to {g:?}: {now:?} {edges:?}");
                }
            }
        }
    }

    /// Takes the request back, as after a time-out or a deadlock.
    fn withdraw(&mut self, slot: usize, waiting_request: &WaitingRequest) {
        let owner = self.locks.owner(slot);
        assert!(self.locks.withdraw(owner, waiting_request, Error::LockWaitTimeout).is_err());
        owner.end_wait(0);
        self.told.retain(|told| *told != slot);
    }

    /// All locks on the target as they stand in line; who was granted one waits no more.
    fn look(&self) -> Vec<Seen> {
        for slot in 0..OWNERS {
            let owner = self.locks.owner(slot);
            if owner.code() == GRANTED {
                owner.end_wait(0);
            }
        }
        let hash = self.target.hash();
        let queues = self.locks.shard(hash).lock();
        let seen = |l: &Lock| Seen { slot: l.by.slot, shape: l.shape, waiting: l.waiting };
        queues.on(hash, self.target).map(seen).collect()
    }

    fn conflict(&self, a: Seen, b: Seen) -> bool {
        a.slot != b.slot && a.shape.waits_for(b.shape, self.target.key.is_none())
    }

    /// Rule 1: whether `me` has to let the waiting `ahead` go first, when these are granted.
    fn yields(&self, me: Seen, ahead: Seen, granted: &[Seen]) -> bool {
        let for_me = granted.iter().any(|g| g.slot == me.slot && self.conflict(ahead, *g));
        self.conflict(me, ahead) && (me.shape.kind == Kind::InsertIntention || !for_me)
    }

    /// Nobody waits whom nothing holds up; who was told to give up holds others up until he does.
    fn nobody_is_left_behind(&self, now: &[Seen]) {
        let (granted, waiting): (Vec<Seen>, Vec<Seen>) = now.iter().partition(|l| l.waiting == 0);
        let is_told = |l: &Seen| self.told.contains(&l.slot);
        for (n, me) in waiting.iter().enumerate().filter(|(_, l)| !is_told(l)) {
            let held_up = granted.iter().any(|g| self.conflict(*me, *g))
                || waiting[..n].iter().any(|ahead| self.yields(*me, *ahead, &granted));
            assert!(held_up, "{me:?} waits for nobody: {now:?}");
        }
    }

    /// Who was granted something between the two had the right to.
    /// Who gives locks back (`leaving`) and has others there still holds up readers no more through writers.
    fn nobody_goes_too_early(&self, before: &[Seen], now: &[Seen], leaving: usize) {
        let granted = |all: &[Seen], of: &Seen| {
            all.iter().filter(|l| (l.slot, l.shape, l.waiting) == (of.slot, of.shape, 0)).count()
        };
        // A slot has one request at a time, which is its last.
        let waited = before.iter().filter(|l| l.waiting != 0);
        let gone_on = waited.filter(|l| granted(now, l) > granted(before, l));
        let places: Vec<usize> =
            gone_on.filter_map(|l| now.iter().rposition(|n| n.slot == l.slot)).collect();
        let was_there = |(n, l): &(usize, &Seen)| l.waiting == 0 && !places.contains(n);
        let held: Vec<Seen> = now.iter().enumerate().filter(was_there).map(|(_, l)| *l).collect();
        let new: Vec<(usize, Seen)> = places.into_iter().map(|n| (n, now[n])).collect();
        for (_, me) in &new {
            let by_held = held.iter().find(|g| self.conflict(*me, **g));
            assert!(by_held.is_none(), "{me:?} beside {by_held:?}: {before:?}");
            let by_new = new.iter().find(|(_, g)| self.conflict(*me, *g) && self.conflict(*g, *me));
            assert!(by_new.is_none(), "{me:?} together with {by_new:?}: {before:?}");
            // Who was before it and waits for what was locked all the time has not been passed.
            let mut stuck: Vec<Seen> = Vec::new();
            let came = |l: &Seen| self.asked[l.slot].get();
            for ahead in now.iter().filter(|l| l.waiting != 0 && came(l) < came(me)) {
                let stays = held.iter().filter(|g| g.slot != leaving);
                let is_stuck = stays.clone().any(|g| self.conflict(*ahead, *g))
                    || stuck.iter().any(|s| self.yields(*ahead, *s, &held));
                if is_stuck && !self.told.contains(&ahead.slot) {
                    stuck.push(*ahead);
                }
            }
            let passed = stuck.iter().find(|s| self.yields(*me, **s, &held));
            assert!(passed.is_none(), "{me:?} before {passed:?}: {before:?}");
        }
    }
}

/// Whoever waits and is not in the graph looks whom he waits for, as [`Locks::wait`] does.
fn look_all<'g>(world: &World<'_>, locks: &'g Locks, guards: &mut HashMap<usize, EdgeGuard<'g>>) {
    for slot in 0..OWNERS {
        let Some(waiting_request) = world.waits(slot).filter(|_| !world.told.contains(&slot))
        else {
            guards.remove(&slot);
            continue;
        };
        if !locks.graph.edges().iter().any(|(w, _)| *w == slot as u64) {
            guards.remove(&slot);
            let published = locks.publish(locks.owner(slot), &waiting_request);
            guards.extend(published.and_then(|p| p.ok()).flatten().map(|guard| (slot, guard)));
        }
    }
}

fn play(seed: u64, target: Target<'_>) {
    let mut rng = Rng::new(seed);
    let graph = Arc::new(WaitsFor::new());
    let locks = Arc::new(Locks::new(OWNERS, &graph));
    let mut world = World::new(&locks, target, OWNERS);
    let mut guards = HashMap::new();
    world.locks.waiting.store(1, Ordering::Relaxed);
    // Waiters elsewhere give the owners their weights.
    let mut elsewhere: Vec<EdgeGuard<'_>> = Vec::new();
    let mut before = Vec::new();
    for step in 0..STEPS {
        if step % 8 == 0 {
            elsewhere.clear();
            let waiters = 1000..1000 + rng.below(8);
            elsewhere
                .extend(waiters.map(|w| graph.add(w, rng.below(OWNERS as u64)).expect("no cycle")));
        }
        let slot = rng.below(OWNERS as u64) as usize;
        match (world.waits(slot), rng.below(6)) {
            (None, 0..4) => world.ask(slot, SHAPES[rng.below(SHAPES.len() as u64) as usize]),
            (None, 4) => world.locks.end(world.locks.owner(slot)),
            (None, _) => {
                let held = before.iter().find(|l: &&Seen| l.slot == slot).map(|l| l.shape);
                held.into_iter()
                    .for_each(|s| world.locks.unlock(world.locks.owner(slot), target, s));
            }
            // Most wait on: requests that go and come again keep the line short.
            (Some(waiting_request), 0) if !world.told.contains(&slot) => {
                assert!(
                    world.locks.owner(slot).end_with(waiting_request.number, crate::owner::VICTIM)
                );
                world.told.push(slot);
            }
            (Some(waiting_request), 1 | 2) if world.told.contains(&slot) => {
                world.withdraw(slot, &waiting_request)
            }
            (Some(waiting_request), 1) if rng.chance(1, 4) => {
                world.withdraw(slot, &waiting_request)
            }
            (Some(_), _) => {}
        }
        let now = world.look();
        world.nobody_is_left_behind(&now);
        world.nobody_goes_too_early(&before, &now, slot);
        if now.len() > before.len() {
            // Whoever makes a lock that holds others up has them look again.
            guards.clear();
        }
        look_all(&world, &locks, &mut guards);
        world.graph_leads_to_all(&now);
        if step % 16 == 0 {
            locks.verify();
        }
        before = now;
    }
}

#[test]
fn whoever_can_go_goes_and_nobody_goes_too_early() {
    let index = IndexId(7);
    for seed in 0..SEEDS {
        let supremum = seed % 4 == 0;
        play(seed, if supremum { Target::supremum(index) } else { Target::record(index, b"k") });
    }
}

/// Ten thousand wait for one row exclusively: each gets it, one after the other, and each grant moves one node of
/// the graph, not theirs.
#[test]
fn ten_thousand_wait_for_one_row_and_each_gets_it() {
    const WAITERS: usize = 10_000;
    let (graph, begun) = (Arc::new(WaitsFor::new()), std::time::Instant::now());
    let locks = Arc::new(Locks::new(WAITERS + 1, &graph));
    // Waiters are not refused for want of memory.
    locks.set_memory_max(0);
    let target = Target::record(IndexId(7), b"k");
    let world = World::new(&locks, target, WAITERS + 1);
    locks.set_memory_max(1);
    world.ask(0, Shape::WRITE);
    let mut guards: Vec<_> = (1..=WAITERS)
        .map(|slot| {
            world.ask(slot, Shape::WRITE);
            let waiting_request = world.waits(slot).expect("it waits");
            let published =
                locks.publish(locks.owner(slot), &waiting_request).expect("it is there");
            published.map(Some).expect("no deadlock")
        })
        .collect();
    assert_eq!(graph.held_up(0), WAITERS as u64);
    locks.verify();
    let mut at = 0;
    for n in 1..=WAITERS {
        locks.end(locks.owner(at));
        // Of equals goes first who was first.
        at = n;
        let owner = locks.owner(at);
        assert_eq!(owner.code(), GRANTED, "{n}");
        owner.end_wait(0);
        assert_eq!(graph.held_up(at as u64), (WAITERS - n) as u64);
        guards[n - 1] = None;
    }
    locks.end(locks.owner(at));
    locks.verify();
    assert!(graph.edges().is_empty() && locks.shards().all(|s| s.is_empty()));
    let seconds = begun.elapsed().as_secs();
    assert!(seconds < 60, "{seconds} s");
}
