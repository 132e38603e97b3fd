//! All row locks: asking, granting, giving back.
//!
//! 1. A shard's mutex is a leaf but for the lists of owners and the parking lot: it may be taken under
//!    a page latch, and no two shards' mutexes are held together. Guard: the models of
//!    `tests/models.rs`, whose scheduler reports a run in which all wait.
//! 2. An explicit lock and a page: who wants a lock makes it, then looks whether the page he read is
//!    unchanged; who changes a row latches its page, then looks whether there are locks ([`Locks::is_free`],
//!    [`Locks::check`]). Both steps are sequentially consistent on both sides, so one sees the other. Guard: the models
//!    `a_run_meets_inserts_into_its_leaf`, `inheritance_meets_the_end_of_the_owners`.
//! 3. A written row is locked by its writer without any lock, as long as his transaction is active.
//!    Before somebody waits for it, he gives the writer a lock ([`Locks::convert`]). Guard: the model
//!    `a_conversion_meets_the_end_of_its_transaction`; `a_writer_has_its_row_locked_without_a_lock_until_somebody_asks` of the engine.
//! 4. An index has shards of its own, but for few that share them; and parts of a shard say alone whether they have
//!    locks ([`Shard::is_clear`]). So a transaction with many locks pushes few others off the fast path. Guard: `Locked::verify` (the
//!    parts are counted), `keys_of_numbers_are_spread_over_the_shards`.

use crate::memory::Memory;
use crate::mode::{Inherited, Kind, Shape, Target};
use crate::owner::{GRANTED, Held, Owner, Place, RETRY, WaitingRequest};
use crate::queue::{By, Lock, Locked, SHARD_BITS, Shard};
use crate::report::Hook;
use crate::runs::{Group, List, Runs, TakenOut, group_of, groups};
use base::{Error, IndexId, Result};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stdx::{CacheLine, Ordering, SharedAtomic, class, fence};
use sync::waits::{WaitsFor, queue_node};
use sync::{Deadline, Mutex};

/// Number of shards.
const SHARDS: usize = 1 << SHARD_BITS;

/// What a request does when the lock is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It waits for as long; [`Duration::MAX`]: for ever.
    For(Duration),
    /// [`Error::LockNotAvailable`], and nothing was done.
    None,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'k> {
    /// What.
    pub target: Target<'k>,
    /// How.
    pub shape: Shape,
    /// Make no lock when it is free: a write to the row follows at once, or an insert.
    pub implicit: bool,
    /// What becomes of the lock when its record goes.
    pub inherited: Inherited,
    /// Undo records of the transaction: the lighter one gives way in a deadlock.
    pub undo: u64,
    /// What else it has locked, as InnoDB counts it.
    pub others: OtherLocks<'k>,
    /// What to do when it is not free.
    pub patience: Patience,
}

/// Locks of a transaction that are none here, for its weight.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherLocks<'k> {
    /// Table locks.
    pub tables: u64,
    /// Clustered indexes of which it has changed records without a lock.
    pub changed: &'k [IndexId],
}

/// How a request ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// There is a lock now that was not there before: [`Locks::unlock`] may give it back.
    pub fresh: Option<Shape>,
    /// It was waited for: what was read before may have changed.
    pub waited: bool,
}

/// What came of a request.
enum Enqueued {
    /// There is nothing to make: it is had already, or it is free and nothing is to be made of it.
    Free,
    /// There is a lock now of this shape, with the number of its owner's wait; 0: granted.
    Made { shape: Shape, waiting: u64 },
}

/// The row locks of an engine.
pub struct Locks {
    shards: Box<[CacheLine<Shard>]>,
    runs: Box<[CacheLine<Group>]>,
    owners: Box<[OnceLock<Arc<Owner>>]>,
    pub(crate) memory: Memory,
    pub(crate) detect: SharedAtomic<bool, { class::ROW_LOCK }>,
    pub(crate) graph: Arc<WaitsFor>,
    pub(crate) waiting: SharedAtomic<u64, { class::ROW_LOCK }>,
    pub(crate) wait_ns_max: SharedAtomic<u64, { class::ROW_LOCK }>,
    pub(crate) last_deadlock: Mutex<Option<Arc<crate::report::Deadlock>>>,
    pub(crate) hook: OnceLock<Hook>,
}

impl Locks {
    /// No locks, for so many session slots. Waits are published in `graph`.
    pub fn new(sessions: usize, graph: &Arc<WaitsFor>) -> Locks {
        Locks {
            shards: (0..SHARDS).map(|_| CacheLine(Shard::new())).collect(),
            runs: groups(),
            owners: (0..sessions).map(|_| OnceLock::new()).collect(),
            memory: Memory::new(),
            detect: SharedAtomic::new(true),
            graph: Arc::clone(graph),
            waiting: SharedAtomic::new(0),
            wait_ns_max: SharedAtomic::new(0),
            last_deadlock: Mutex::new(&crate::report::LAST, None),
            hook: OnceLock::new(),
        }
    }

    /// The owner of session slot `slot`.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn owner(&self, slot: usize) -> &Arc<Owner> {
        self.owners[slot].get_or_init(|| Arc::new(Owner::new(slot)))
    }

    /// Limits the memory of all locks, in bytes; a request beyond it ends with [`Error::LockTableFull`], unless it has
    /// to wait.
    pub fn set_memory_max(&self, bytes: usize) {
        self.memory.set_max(bytes);
    }

    /// The memory of all locks, in bytes, short by less than 16 KiB for each owner.
    pub fn memory_bytes(&self) -> usize {
        self.memory.used()
    }

    /// Their limit, in bytes.
    pub fn memory_bytes_max(&self) -> usize {
        self.memory.max()
    }

    /// Turns the search for deadlocks on or off (`innodb_deadlock_detect`).
    pub fn set_deadlock_detect(&self, on: bool) {
        self.detect.store(on, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn shard(&self, hash: u64) -> &Shard {
        &self.shards[hash as usize % SHARDS].0
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().map(|s| &s.0)
    }

    #[inline]
    pub(crate) fn group(&self, target: Target<'_>) -> &Group {
        group_of(&self.runs, target.index)
    }

    pub(crate) fn run_groups(&self) -> &[CacheLine<Group>] {
        &self.runs
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.runs.iter().map(|group| &group.0)
    }

    /// Whether nobody has a lock on `target`: two loads. The caller has latched the page of the row, or of
    /// the gap, exclusively.
    #[inline]
    pub fn is_free(&self, target: Target<'_>) -> bool {
        let hash = target.hash();
        self.shard(hash).is_clear(hash) && self.group(target).is_empty()
    }

    /// Whether `me` could be granted this at once; makes nothing.
    pub fn check(&self, me: &Owner, target: Target<'_>, shape: Shape) -> bool {
        let (hash, by) = (target.hash(), by(me));
        if let Some(runs) = self.group(target).lock_any() {
            if runs.covered(target, by, shape) {
                return true;
            }
            if runs.conflicts(target, by, shape) {
                return false;
            }
        }
        if self.shard(hash).is_clear(hash) {
            return true;
        }
        let queues = self.shard(hash).lock();
        queues.covered(hash, target, by, shape) || !queues.conflicts(hash, target, by, shape)
    }

    /// Whether `me` has granted locks that together cover this.
    pub fn has(&self, me: &Owner, target: Target<'_>, shape: Shape) -> bool {
        if !me.has_locks() {
            return false;
        }
        let (hash, by) = (target.hash(), by(me));
        if self.group(target).lock_any().is_some_and(|runs| runs.covered(target, by, shape)) {
            return true;
        }
        if self.shard(hash).is_clear(hash) {
            return false;
        }
        let queues = self.shard(hash).lock();
        queues.covered(hash, target, by, queues.missing(hash, target, by, shape))
    }

    /// Whether `by` has granted locks, single or of runs, that have all that `shape` would give.
    fn covered(
        &self,
        queues: &Locked<'_>,
        hash: u64,
        (target, by, shape): (Target<'_>, By, Shape),
    ) -> bool {
        queues.covered(hash, target, by, shape)
            || self.group(target).lock_any().is_some_and(|runs| runs.covered(target, by, shape))
    }

    /// Asks for a lock, and waits for it as the request says. The thread's current session is the owner's,
    /// and it has no page latched when it may wait.
    ///
    /// # Errors
    /// [`Error::LockNotAvailable`], [`Error::LockWaitTimeout`], [`Error::Deadlock`], [`Error::Killed`],
    /// [`Error::LockTableFull`]; there is no new lock then.
    pub fn lock(&self, me: &Owner, request: &Request<'_>) -> Result<Granted> {
        let (hash, by) = (request.target.hash(), by(me));
        let mut queues = self.shard(hash).lock();
        // What only looks whether it is free makes nothing, and looks again under a page latch.
        let makes = !(request.implicit || request.shape.kind == Kind::InsertIntention);
        if makes {
            queues.announce(hash);
        }
        let enqueued = self.ask(&mut queues, hash, (me, by), request);
        if makes && !matches!(enqueued, Ok(Enqueued::Made { .. })) {
            queues.renounce(hash);
        }
        let (shape, waiting) = match enqueued? {
            Enqueued::Free => return Ok(Granted { fresh: None, waited: false }),
            Enqueued::Made { shape, waiting: 0 } => {
                return Ok(Granted { fresh: Some(shape), waited: false });
            }
            Enqueued::Made { shape, waiting } => (shape, waiting),
        };
        let target = request.target;
        let deadline = match request.patience {
            Patience::For(Duration::MAX) | Patience::None => Deadline::Never,
            Patience::For(patience) => Deadline::after(patience),
        };
        let waiting_request = WaitingRequest {
            number: waiting,
            place: Place::of(target),
            shape,
            undo: request.undo,
            tables: request.others.tables,
            changed: request.others.changed.into(),
            since_ns: sync::now_ns(),
        };
        me.begin_wait(waiting_request.clone());
        drop(queues);
        let there = self.wait(me, &waiting_request, deadline)?;
        Ok(Granted { fresh: there.then_some(shape), waited: true })
    }

    /// Settles a request with what is there: has its lock made, granted or waiting, if one is to be.
    fn ask(
        &self,
        queues: &mut Locked<'_>,
        hash: u64,
        (me, by): (&Owner, By),
        request: &Request<'_>,
    ) -> Result<Enqueued> {
        let target = request.target;
        let mut runs = self.group(target).lock_any();
        let vacant = queues.is_vacant(hash);
        let shape =
            if vacant { request.shape } else { queues.missing(hash, target, by, request.shape) };
        let by_run = runs.as_ref().is_some_and(|runs| runs.covered(target, by, shape));
        if by_run || !vacant && queues.covered(hash, target, by, shape) {
            return Ok(Enqueued::Free);
        }
        let patient = request.patience != Patience::None;
        let mut conflict = !vacant && queues.conflicts(hash, target, by, shape);
        if let Some(runs) = runs.as_mut().filter(|runs| runs.conflicts(target, by, shape)) {
            if patient {
                self.single_out(queues, hash, runs, (target, by, shape));
            }
            conflict = !patient || queues.conflicts(hash, target, by, shape);
        }
        drop(runs);
        if !conflict && (request.implicit || shape.kind == Kind::InsertIntention) {
            return Ok(Enqueued::Free);
        }
        if conflict && !patient {
            return Err(Error::LockNotAvailable);
        }
        if !conflict && self.memory.is_full() {
            return Err(Error::LockTableFull);
        }
        let waiting = if conflict { me.next_number() } else { 0 };
        let lock = Lock { waiting, ..Lock::new(target, by, shape, request.inherited) };
        if request.implicit || shape.kind == Kind::InsertIntention {
            queues.announce(hash);
        }
        if self.put_announced(queues, hash, me, lock).is_none() {
            if request.implicit || shape.kind == Kind::InsertIntention {
                queues.renounce(hash);
            }
            return Err(Error::Internal("a row lock for a transaction that has ended"));
        }
        Ok(Enqueued::Made { shape, waiting })
    }

    /// Makes the locks that hold up a request, and are parts of runs, single ones of their owners: now it can queue up
    /// behind them. Those of transactions that have ended are gone.
    fn single_out(
        &self,
        queues: &mut Locked<'_>,
        hash: u64,
        runs: &mut Runs<'_>,
        (target, by, shape): (Target<'_>, By, Shape),
    ) {
        while let Some(TakenOut { by, shape, inherited }) = runs.take_out(target, by, shape) {
            let lock = Lock::new(target, by, shape, inherited);
            self.put(queues, hash, self.owner(by.slot), lock);
        }
    }

    /// Asks for the lock on a record that follows directly on that of `after`, above it or below, which the owner has from the call before,
    /// having found since that its page is unchanged: so the two are parts of one run (`runs`). With no `after` a run begins.
    /// `None`: somebody has a lock on the record, or has announced one; ask by [`Self::lock`].
    ///
    /// # Errors
    /// [`Error::LockTableFull`].
    pub fn lock_next(
        &self,
        me: &Owner,
        request: &Request<'_>,
        after: Option<&[u8]>,
    ) -> Result<Option<Granted>> {
        let Request { target, shape, inherited, .. } = *request;
        let Some(key) = target.key else { return Ok(None) };
        let (hash, by, shard) = (target.hash(), by(me), self.shard(target.hash()));
        // Invariant 6 of `runs`.
        let queues = (!shard.is_clear(hash)).then(|| shard.lock());
        if queues.as_ref().is_some_and(|queues| queues.on(hash, target).next().is_some()) {
            return Ok(None);
        }
        let mut runs = self.group(target).lock();
        if runs.conflicts(target, by, shape) {
            return Ok(None);
        }
        if runs.covered(target, by, shape) {
            return Ok(Some(Granted { fresh: None, waited: false }));
        }
        if self.memory.is_full() {
            return Err(Error::LockTableFull);
        }
        let Some(list) = self.list_of(me, &mut runs, (target.index, by, shape, inherited)) else {
            return Err(Error::Internal("a run of locks for a transaction that has ended"));
        };
        list.extend(after, key);
        if queues.is_none() && !shard.is_clear(hash) {
            list.give_back(key);
            return Ok(None);
        }
        self.recount(me, list);
        Ok(Some(Granted { fresh: Some(shape), waited: false }))
    }

    /// The owner's list of runs; `None`: its transaction has ended.
    fn list_of<'r>(
        &self,
        me: &Owner,
        runs: &'r mut Runs<'_>,
        (index, by, shape, inherited): (base::IndexId, By, Shape, Inherited),
    ) -> Option<&'r mut List> {
        if runs.list(index, by, shape).is_none() {
            if !me.note_runs(by.serial, (index, shape)) {
                return None;
            }
            runs.add(index, by, shape, inherited);
        }
        runs.list(index, by, shape)
    }

    /// Tells the owner how much memory its list takes now.
    fn recount(&self, owner: &Owner, list: &mut List) {
        let now = list.bytes();
        if now != list.counted {
            owner.resize(list.by.serial, (list.counted, now), &self.memory);
            list.counted = now;
        }
    }

    /// Puts a lock where it belongs; whose it is, the owner's or his heir's. `None`: that transaction has ended.
    fn put(&self, queues: &mut Locked<'_>, hash: u64, owner: &Owner, lock: Lock) -> Option<By> {
        queues.announce(hash);
        let put = self.put_announced(queues, hash, owner, lock);
        if put.is_none() {
            queues.renounce(hash);
        }
        put
    }

    fn put_announced(
        &self,
        queues: &mut Locked<'_>,
        hash: u64,
        owner: &Owner,
        lock: Lock,
    ) -> Option<By> {
        let (by, shape, granted) = (lock.by, lock.shape, lock.granted());
        let held = Held { hash, index: lock.place.index, shape, waited: !granted };
        if !owner.note(by.serial, held, lock.bytes(), &self.memory) {
            let heir = owner.heir(by.serial)?;
            let lock = Lock { by: heir, ..lock };
            return self.put_announced(queues, hash, self.owner(heir.slot), lock);
        }
        let held_up = match granted {
            true => queues.held_up(hash, lock.place.target(), by, shape),
            false => Vec::new(),
        };
        queues.add(hash, lock);
        held_up.iter().for_each(|by| self.owner(by.slot).poke());
        Some(by)
    }

    /// Gives the writer of a row the lock that he has by having written it. `still` says whether the
    /// transaction that wrote it is active and of session slot `slot`. `false`: it is not any more.
    ///
    /// The end of a transaction first makes `still` false, then (after a full fence) looks whether there
    /// are locks ([`Locks::end`]). Here the lock is made first, then (after a full fence) `still` is asked
    /// once more, and the lock taken back when it says no, before anybody saw it. So one of the two sees
    /// the other, and no lock outlives its transaction.
    pub fn convert(&self, slot: usize, target: Target<'_>, still: impl Fn() -> bool) -> bool {
        let owner = Arc::clone(self.owner(slot));
        // It is the writer's serial if he is active before and after.
        let by = By { slot, serial: owner.serial() };
        fence(Ordering::SeqCst);
        if !still() {
            return false;
        }
        let hash = target.hash();
        let mut queues = self.shard(hash).lock();
        if self.covered(&queues, hash, (target, by, Shape::WRITE)) {
            return still();
        }
        let lock = Lock::new(target, by, Shape::WRITE, Inherited::Always);
        let Some(by) = self.put(&mut queues, hash, &owner, lock) else { return false };
        fence(Ordering::SeqCst);
        if still() {
            return true;
        }
        let mut one = true;
        let gone = queues.remove_granted(hash, |l| {
            let it = l.by == by && l.shape == Shape::WRITE;
            it && l.place.target() == target && std::mem::take(&mut one)
        });
        let owner = self.owner(by.slot);
        gone.iter().for_each(|l| owner.forget(by.serial, (hash, l), &self.memory));
        false
    }

    /// Makes the lock that the owner has by having written a row one of its own: a savepoint's rollback
    /// takes the writing back, and the row stays locked. Without memory for it, it does not.
    pub fn keep(&self, me: &Owner, target: Target<'_>, inherited: Inherited) {
        let (hash, by) = (target.hash(), by(me));
        let mut queues = self.shard(hash).lock();
        let covered = self.covered(&queues, hash, (target, by, Shape::WRITE));
        if !covered && !self.memory.is_full() {
            let lock = Lock::new(target, by, Shape::WRITE, inherited);
            self.put(&mut queues, hash, me, lock);
        }
    }

    /// Gives one lock back before the transaction's end: what [`Granted::fresh`] said.
    pub fn unlock(&self, me: &Owner, target: Target<'_>, shape: Shape) {
        let (hash, by) = (target.hash(), by(me));
        if let (Some(mut runs), Some(key)) = (self.group(target).lock_any(), target.key)
            && let Some(list) = runs.list(target.index, by, shape)
            && list.give_back(key)
        {
            // Nobody waits for what is part of a run.
            return self.recount(me, list);
        }
        let mut queues = self.shard(hash).lock();
        let gone = queues
            .remove_granted(hash, |l| l.by == by && l.shape == shape && l.place.target() == target);
        if !gone.is_empty() {
            gone.iter().for_each(|l| me.give_back(by.serial, (hash, l), &self.memory));
            self.grant(&mut queues, hash, target, by);
        }
    }

    /// Ends the owner's transaction: gives all its locks back. Comes after what makes its rows nobody's;
    /// see [`Locks::convert`]. Only the session's own thread calls it.
    #[inline]
    pub fn end(&self, me: &Owner) {
        fence(Ordering::SeqCst);
        if me.has_locks() {
            self.release_all(me);
        } else {
            me.next();
        }
        me.set_trx(base::TrxId::NONE);
    }

    /// Gives all that the owner's transaction has locked to that of `heir`, which has nothing of its own and waits for nobody. Comes
    /// after what makes its rows the heir's, as [`Locks::end`] comes after what makes them nobody's. Only the session's own thread
    /// calls it.
    pub fn give_to(&self, me: &Owner, heir: &Owner) {
        fence(Ordering::SeqCst);
        let is_over = |by: By| self.owner(by.slot).serial() != by.serial;
        let (serial, hashes, runs) = me.give_to(heir, is_over, &self.memory);
        let (before, now) = (By { slot: me.slot(), serial }, by(heir));
        for (index, shape) in runs {
            let mut group = group_of(&self.runs, index).lock();
            group.list(index, before, shape).into_iter().for_each(|list| list.by = now);
        }
        for hash in hashes {
            let mut queues = self.shard(hash).lock();
            for place in queues.give_to(hash, before, now) {
                self.redirect(&mut queues, hash, place.target(), &[]);
            }
        }
        heir.set_trx(me.trx());
        me.set_trx(base::TrxId::NONE);
    }

    #[cold]
    fn release_all(&self, me: &Owner) {
        let mut ended = me.take(&self.memory);
        let by = By { slot: me.slot(), serial: ended.serial };
        // Before somebody is granted anything: he is to find no runs that nobody has.
        for (index, _) in &ended.runs {
            group_of(&self.runs, *index).lock().remove(*index, by);
        }
        // Where somebody waits the order counts; locks of one kind are as old as the first of them, since InnoDB has
        // them in one structure.
        let somebody_waits = self.waiting.load(Ordering::Relaxed) != 0;
        let kinds = if somebody_waits { ended.kinds() } else { Vec::new() };
        let age = |index, shape| kinds.iter().position(|kind| *kind == (index, shape));
        let held = &mut ended.held;
        held.sort_unstable_by_key(|h| h.hash);
        held.dedup_by_key(|h| h.hash);
        for h in held {
            let mut queues = self.shard(h.hash).lock();
            while somebody_waits && let Some((place, shape)) = queues.youngest(h.hash, by, age) {
                let mut one = true;
                queues.remove_granted(h.hash, |l| {
                    let it = l.by == by && l.shape == shape && l.place == place;
                    it && std::mem::take(&mut one)
                });
                self.grant(&mut queues, h.hash, place.target(), by);
            }
            let mut gone = queues.remove_granted(h.hash, |l| l.by == by);
            gone.dedup_by(|a, b| a.place == b.place);
            gone.iter().for_each(|l| self.grant(&mut queues, h.hash, l.place.target(), by));
        }
    }

    /// Grants what has become free on a target, where `leaving` has given something back. Who goes on
    /// waiting may have other blockers now, and they are in the graph before anybody who was granted
    /// something can wait again: no deadlock is slept through.
    pub(crate) fn grant(
        &self,
        queues: &mut Locked<'_>,
        hash: u64,
        target: Target<'_>,
        leaving: By,
    ) {
        if queues.is_vacant(hash) {
            return;
        }
        let mut refused = Vec::new();
        loop {
            let blocking = |n| n > 1 && !self.graph.hold_up_nobody(queue_node(hash), n);
            let choice = queues.choose_alike(hash, &refused, blocking).unwrap_or_else(|| {
                let held_up = |slot: u64| self.graph.held_up(slot);
                queues.line(hash, target).choose(leaving, &refused, held_up)
            });
            queues.pass(hash, &choice.passed);
            let mut granted: Vec<(usize, By, u64)> = choice
                .go
                .into_iter()
                .filter_map(|at| {
                    let lock = queues.request(hash, at)?;
                    Some((at, lock.by, std::mem::take(&mut lock.waiting)))
                })
                .collect();
            self.redirect(queues, hash, target, &granted);
            let before = refused.len();
            granted.retain(|(at, by, number)| {
                // Who gives up takes the request out himself.
                let taken = self.owner(by.slot).end_with(*number, GRANTED);
                if !taken && let Some(lock) = queues.request(hash, *at) {
                    lock.waiting = *number;
                    refused.push(*at);
                }
                taken
            });
            granted.sort_unstable_by_key(|(at, ..)| *at);
            queues.move_granted(hash, granted.iter().rev().map(|(at, ..)| *at));
            if refused.len() == before {
                return;
            }
            // Whoever was taken out stood before them, or not.
            let taken_before = |at: usize| granted.iter().filter(|(gone, ..)| *gone < at).count();
            refused.iter_mut().for_each(|at| *at -= taken_before(*at));
        }
    }

    /// Tells the graph whom the requests on a target wait for now, and that `granted` wait no more.
    fn redirect(
        &self,
        queues: &mut Locked<'_>,
        hash: u64,
        target: Target<'_>,
        granted: &[(usize, By, u64)],
    ) {
        if !self.detect.load(Ordering::Relaxed) {
            return;
        }
        let node = queue_node(hash);
        let new = granted.first().map(|(at, ..)| *at);
        let alike = queues.owners_of_alike(hash, new).map(|owners| (owners, Vec::new()));
        let (owners, changed) = alike.unwrap_or_else(|| queues.line(hash, target).edges(node));
        let mut waits: Vec<(u64, Vec<u64>)> =
            granted.iter().map(|(_, by, _)| (by.slot as u64, Vec::new())).collect();
        waits.extend(changed.iter().map(|new| (new.by.slot as u64, new.edges.to_vec())));
        for new in changed {
            queues.set_edges(hash, new.at, Some(new.edges));
        }
        if !self.graph.redirect(&waits, (node, &slots(owners))) {
            queues.line(hash, target).waiters().for_each(|by| self.owner(by.slot).poke());
        }
    }

    /// The record `from` is about to be removed: who has locked it, or waits for it, has its gap locked
    /// instead, as [`Inherited`] says; it will be before `heir`. The caller has latched the record's page exclusively, looks
    /// whether `heir` is still the next key, and calls [`Self::gone`].
    pub fn leave(&self, from: Target<'_>, heir: Target<'_>) {
        let hash = from.hash();
        if self.is_free(from) {
            return;
        }
        let mut locks: Vec<Lock> = self.shard(hash).lock().on(hash, from).cloned().collect();
        if let Some(runs) = self.group(from).lock_any() {
            locks.extend(runs.on(from).map(|l| Lock::new(from, l.by, l.shape, l.inherited)));
        }
        for lock in &locks {
            let inherited = match lock.inherited {
                Inherited::Always => true,
                Inherited::WhileWaiting => !lock.granted(),
                Inherited::Never => false,
            };
            let inherited = inherited || self.owner(lock.by.slot).inherits(lock.by.serial);
            if inherited && lock.shape.kind != Kind::InsertIntention {
                self.give_gap(lock, heir);
            }
        }
    }

    /// There are no locks on the record `from` any more; who waits for one looks again.
    pub fn gone(&self, from: Target<'_>) {
        let hash = from.hash();
        let gone = self.shard(hash).lock().remove(hash, |l| l.place.target() == from);
        for lock in gone.iter().filter(|l| !l.granted()) {
            self.owner(lock.by.slot).end_with(lock.waiting, RETRY);
        }
    }

    /// The record `new` is about to be inserted before `next`: who has the gap locked, has both halves of
    /// it locked from now on. The caller has latched the record's page exclusively.
    pub fn inserted(&self, new: Target<'_>, next: Target<'_>) {
        let hash = next.hash();
        if self.is_free(next) {
            return;
        }
        let mut gaps: Vec<Lock> = Vec::new();
        if let (Some(mut runs), Some(key)) = (self.group(next).lock_any(), new.key) {
            let with_gap = runs.on(next).filter(|l| l.shape.kind == Kind::NextKey);
            gaps.extend(with_gap.map(|l| Lock::new(next, l.by, l.shape, l.inherited)));
            runs.inserted(new.index, key);
        }
        let queues = self.shard(hash).lock();
        let gap = |l: &&Lock| {
            next.key.is_none() && l.shape.kind != Kind::InsertIntention
                || matches!(l.shape.kind, Kind::Gap | Kind::NextKey)
        };
        gaps.extend(queues.on(hash, next).filter(gap).cloned());
        drop(queues);
        gaps.iter().for_each(|l| self.give_gap(l, new));
    }

    /// Locks the gap before `target` for the owner of `lock`.
    fn give_gap(&self, lock: &Lock, target: Target<'_>) {
        let (hash, shape) = (target.hash(), Shape::new(lock.shape.mode, Kind::Gap));
        let mut queues = self.shard(hash).lock();
        if !self.covered(&queues, hash, (target, lock.by, shape)) {
            let new = Lock::new(target, lock.by, shape, lock.inherited);
            self.put(&mut queues, hash, self.owner(lock.by.slot), new);
        }
    }
}

impl Locks {
    /// Looks whether the invariants hold; waits for nobody, and others may go on.
    ///
    /// # Panics
    /// When one does not.
    pub fn verify(&self) {
        for shard in self.shards() {
            let queues = shard.lock();
            queues.verify();
            for lock in queues.all() {
                let owner = self.owner(lock.by.slot);
                assert!(owner.lists(lock), "a lock is in its owner's list (owner, 2): {lock:?}");
            }
        }
        for group in self.groups() {
            let runs = group.lock();
            runs.verify();
            for list in runs.all() {
                let (owner, kind) = (self.owner(list.by.slot), (list.index, list.shape));
                let ended = owner.serial() != list.by.serial;
                assert!(ended || owner.runs().contains(&kind), "a list is noted (runs, 5)");
            }
        }
        self.graph.verify();
    }
}

pub(crate) fn slots(all: Vec<By>) -> Vec<u64> {
    all.into_iter().map(|by| by.slot as u64).collect()
}

pub(crate) fn by(owner: &Owner) -> By {
    By { slot: owner.slot(), serial: owner.serial() }
}

#[cfg(test)]
mod tests;
