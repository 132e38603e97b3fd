//! Acquire and release: the fast path, and the door to the slow one.

use crate::held::Held;
use crate::mode::{Mode, Namespace};
use crate::object::{Id, Object};
use crate::registry::{Registry, name_of};
use crate::shards::{ShardBy, Shards};
use crate::turns::Waiters;
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::waits::WaitsFor;
use sync::{Deadline, GAPS, SessionSlot, SlotTable, asym};

/// Why a lock was not granted. The request has left no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdlError {
    /// 1205: the deadline passed.
    TimedOut,
    /// 1213: waiting would never have ended.
    Deadlock,
    /// 1317: the session was killed.
    Killed,
    /// The slice is over ([`crate::turns`]): to be given back, and taken again after [`Mdl::pass`].
    Yielded,
    /// The session holds 255 grants of one scope already.
    TooMany,
}

impl std::fmt::Display for MdlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            MdlError::TimedOut => "metadata lock wait timed out",
            MdlError::Deadlock => "metadata lock wait would be a deadlock",
            MdlError::Yielded => "the slice of a metadata lock wait is over",
            MdlError::Killed => "killed while waiting for a metadata lock",
            MdlError::TooMany => "too many grants of one scope",
        })
    }
}

impl std::error::Error for MdlError {}

/// All metadata locks of a server.
#[derive(Debug)]
pub struct Mdl {
    pub(crate) slots: Arc<SlotTable>,
    pub(crate) registry: Registry,
    pub(crate) graph: Arc<WaitsFor>,
    pub(crate) waiters: Waiters,
    pub(crate) shards: Shards,
    /// `max_write_lock_count`: see [`crate::fair`].
    pub(crate) write_locks_max: SharedAtomic<u64, { class::MDL }>,
    scopes: [Arc<Object>; 3],
}

impl Mdl {
    /// Metadata locks over a slot table, with a waits-for graph of their own.
    #[must_use]
    pub fn new(slots: Arc<SlotTable>) -> Self {
        Self::with_graph(slots, Arc::new(WaitsFor::new()))
    }

    /// As [`Mdl::new`], sharing the graph with the engine, so that deadlocks over rows and names are
    /// found. Waiters are named by the number of their session slot.
    #[must_use]
    pub fn with_graph(slots: Arc<SlotTable>, graph: Arc<WaitsFor>) -> Self {
        let registry = Registry::new();
        let scopes = [Namespace::Global, Namespace::BackupLock, Namespace::Commit]
            .map(|n| registry.intern(name_of(n, "", ""), &slots));
        let (waiters, shards) = (Waiters::new(), Shards::new(1));
        let write_locks_max = SharedAtomic::new(u64::MAX);
        Self { slots, registry, graph, waiters, shards, write_locks_max, scopes }
    }

    /// With so many shards for the locks that go through them ([`Mdl::set_fast_path`]).
    #[must_use]
    pub fn with_shards(self, n: usize) -> Self {
        Self { shards: Shards::new(n), ..self }
    }

    /// `limpid_mdl_fast_path`: off, every lock goes through the mutex of a shard and the latch of its object.
    pub fn set_fast_path(&self, on: bool) {
        self.shards.use_them(!on);
        self.registry.set_fast_path(on);
    }

    /// `limpid_mdl_hash`: in which shard an object is.
    pub fn set_shard_by(&self, by: ShardBy) {
        self.shards.set_by(by);
    }

    /// `max_write_lock_count`: after so many grants to the strong, who waits goes first.
    pub fn set_write_locks_max(&self, n: u64) {
        self.write_locks_max.store(n, Ordering::Relaxed);
    }

    /// The object of a name. The caller has normalised the name (lower case where names ignore case)
    /// and keeps the handle: interning is for the first use. The scopes that are one object
    /// (global, backup lock, commit) ignore `schema` and `name`.
    #[must_use]
    pub fn intern(&self, namespace: Namespace, schema: &str, name: &str) -> Arc<Object> {
        match namespace.scope_byte() {
            Some(n) => Arc::clone(&self.scopes[n as usize]),
            None => self.registry.intern(name_of(namespace, schema, name), &self.slots),
        }
    }

    /// The object of a name that somebody has used.
    pub(crate) fn find(
        &self,
        namespace: Namespace,
        schema: &str,
        name: &str,
    ) -> Option<Arc<Object>> {
        self.registry.find(&name_of(namespace, schema, name))
    }

    /// All writes: IX for writers, S for FLUSH TABLES WITH READ LOCK.
    #[must_use]
    pub fn global(&self) -> &Arc<Object> {
        &self.scopes[0]
    }

    /// DDL: IX for it, S for LOCK INSTANCE FOR BACKUP.
    #[must_use]
    pub fn backup_lock(&self) -> &Arc<Object> {
        &self.scopes[1]
    }

    /// Commits: IX around each.
    #[must_use]
    pub fn commit(&self) -> &Arc<Object> {
        &self.scopes[2]
    }

    /// The waits-for graph that waits are published in.
    #[must_use]
    pub fn waits(&self) -> &Arc<WaitsFor> {
        &self.graph
    }

    /// Locks a name, waiting if need be. A session may hold several grants of one object; each is
    /// released by itself. Own grants never block: an upgrade is an acquire of the stronger mode.
    /// The thread must have entered the session ([`sync::enter`]) for a kill to end the wait.
    ///
    /// # Errors
    /// See [`MdlError`].
    ///
    /// # Panics
    /// When the mode does not exist in the object's namespace.
    #[inline]
    pub fn acquire(
        &self,
        slot: &SessionSlot,
        object: &Arc<Object>,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), MdlError> {
        if self.try_fast(slot, (object, mode), object.id().grant(mode))? {
            return Ok(());
        }
        self.acquire_slow(slot, object, mode, deadline)
    }

    /// As [`Mdl::acquire`], unless `held` has a grant that covers it already; notes the new grant there.
    ///
    /// # Errors
    /// See [`MdlError`].
    #[inline(always)]
    pub fn take(
        &self,
        slot: &SessionSlot,
        held: &mut Held,
        object: &Arc<Object>,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), MdlError> {
        let id = object.id();
        if held.covers_id(id, mode) {
            return Ok(());
        }
        let grant = id.grant(mode);
        if !self.try_fast(slot, (object, mode), grant)? {
            self.acquire_slow(slot, object, mode, deadline)?;
        }
        held.push(grant);
        Ok(())
    }

    /// Locks names that `held` has weaker grants of, all or none: what the session had, it keeps through the gaps.
    /// The wait for them is one of its own, whatever was waited for before.
    ///
    /// # Errors
    /// See [`MdlError`]; never [`MdlError::Yielded`].
    pub fn upgrade(
        &self,
        slot: &SessionSlot,
        held: &mut Held,
        objects: &[Arc<Object>],
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), MdlError> {
        self.next_set(slot);
        let mark = held.mark();
        loop {
            let mut each = objects.iter();
            let taken = each.try_for_each(|o| self.take(slot, held, o, mode, deadline));
            if taken.is_err() {
                self.release_since(slot, held, mark);
            }
            match taken {
                Err(MdlError::Yielded) => self.pass(slot)?,
                end => return end,
            }
        }
    }

    /// Gives back one grant. One that the session does not have is ignored (an error in debug builds).
    #[inline]
    pub fn release(&self, slot: &SessionSlot, object: &Object, mode: Mode) {
        self.release_grant(slot, object.id().grant(mode));
    }

    /// Gives back every grant in `held`, last first, and empties it.
    #[inline]
    pub fn release_all(&self, slot: &SessionSlot, held: &mut Held) {
        self.release_since(slot, held, 0);
    }

    /// Gives back the grants noted after `mark` was taken ([`Held::mark`]): ROLLBACK TO SAVEPOINT.
    #[inline]
    pub fn release_since(&self, slot: &SessionSlot, held: &mut Held, mark: usize) {
        for grant in held.since(mark).iter().rev() {
            self.release_grant(slot, *grant);
        }
        held.shorten(mark);
    }

    /// Gives back whatever the session still holds, wherever it is: the end of a session.
    pub fn release_session(&self, slot: &SessionSlot) {
        self.end_turn(slot);
        drop(self.take_blame(slot));
        for word in slot.grants_in_use().iter().rev() {
            match word.load(Ordering::Relaxed) {
                0 => {}
                grant => self.release_grant(slot, grant),
            }
        }
        for object in &self.scopes {
            while scope_count(slot, object.id()).is_some_and(|n| n > 0) {
                self.release(slot, object, Mode::IX);
            }
        }
        if slot.grants_overflow.load(Ordering::Relaxed) > 0 {
            let me = self.slots.session_index(slot) as u64;
            self.registry.all().for_each(|o| self.drop_tickets(o, me));
            slot.grants_overflow.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn release_grant(&self, slot: &SessionSlot, grant: u64) {
        if clear(slot, grant) {
            self.notify_if_closed(grant);
        } else {
            self.release_elsewhere(slot, grant);
        }
    }

    /// Gives back a grant that is not in the slot, but a ticket.
    #[cold]
    fn release_elsewhere(&self, slot: &SessionSlot, grant: u64) {
        if let Some((id, mode)) = Id::of_grant(grant)
            && let Some(object) = self.registry.by_place(id)
        {
            self.release_ticket(slot, object, mode);
        }
    }

    /// After a grant left a slot: whoever waits for that must look again.
    #[inline]
    fn notify_if_closed(&self, grant: u64) {
        asym::light();
        if self.registry.closed_count.is_any() {
            self.notify(grant);
        }
    }

    /// One is enough, he looks for all.
    #[cold]
    fn notify(&self, grant: u64) {
        if let Some(object) = self.registry.by_place(Id::in_grant(grant))
            && object.any_closed()
        {
            object.event.notify_one();
        }
    }

    /// The weak half of P-D. `true`: granted. `false`: go the slow way.
    #[inline(always)]
    fn try_fast(
        &self,
        slot: &SessionSlot,
        (object, mode): (&Object, Mode),
        grant: u64,
    ) -> Result<bool, MdlError> {
        // The first look saves a pointless publication while a strong request is around.
        if object.closed_to(mode) || !publish(slot, grant)? {
            return Ok(false);
        }
        asym::light();
        if !object.closed_to(mode) {
            return Ok(true);
        }
        self.take_back(slot, grant);
        Ok(false)
    }

    #[cold]
    fn take_back(&self, slot: &SessionSlot, grant: u64) {
        clear(slot, grant);
        self.notify_if_closed(grant);
    }

    /// Forgets the names that nobody uses; growth does it by itself. Returns how many.
    pub fn sweep(&self) -> usize {
        self.registry.sweep(&self.slots)
    }
}

/// Stores the grant in the slot; `false` when its words are all taken. The words are a stack while it has no gaps: with
/// [`GAPS`] `granted` is beyond them.
#[inline]
pub(crate) fn publish(slot: &SessionSlot, grant: u64) -> Result<bool, MdlError> {
    if is_intention(grant)
        && let id = Id::in_grant(grant)
        && let Some(count) = scope_count(slot, id)
    {
        if count == 0xFF {
            return Err(MdlError::TooMany);
        }
        add_scope(slot, id, 1);
        return Ok(true);
    }
    let top = slot.granted.load(Ordering::Relaxed) as usize;
    match slot.grants.get(top) {
        Some(word) => {
            slot.granted.store(top as u32 + 1, Ordering::Release);
            word.store(grant, Ordering::Release);
            Ok(true)
        }
        None => Ok(publish_in_gap(slot, grant)),
    }
}

/// There are gaps, or all words are in use.
#[cold]
fn publish_in_gap(slot: &SessionSlot, grant: u64) -> bool {
    let used = slot.grants_in_use();
    match used.iter().find(|w| w.load(Ordering::Relaxed) == 0) {
        Some(gap) => gap.store(grant, Ordering::Release),
        None => {
            let Some(free) = slot.grants.get(used.len()) else { return false };
            slot.granted.store(used.len() as u32 + 1, Ordering::Release);
            free.store(grant, Ordering::Release);
        }
    }
    true
}

#[inline]
fn is_intention(grant: u64) -> bool {
    grant as u8 == Mode::IX as u8
}

/// Takes the grant out of the slot; `false` when it is not there.
#[inline]
pub(crate) fn clear(slot: &SessionSlot, grant: u64) -> bool {
    if is_intention(grant)
        && let id = Id::in_grant(grant)
        && let Some(count) = scope_count(slot, id)
    {
        if count > 0 {
            add_scope(slot, id, 1u64.wrapping_neg());
        }
        return count > 0;
    }
    // As a rule they go in the opposite order: it is the last.
    let below = slot.granted.load(Ordering::Relaxed).wrapping_sub(1);
    match slot.grants.get(below as usize) {
        Some(last) if last.load(Ordering::Relaxed) == grant => {
            // Release: what was done under the grant happens before whoever finds it gone.
            last.store(0, Ordering::Release);
            slot.granted.store(below, Ordering::Release);
            true
        }
        _ => clear_within(slot, grant),
    }
}

/// Takes out a grant that is not the last, or one of a slot that has gaps; no gap is left behind the last.
#[cold]
fn clear_within(slot: &SessionSlot, grant: u64) -> bool {
    let words = slot.grants_in_use();
    let is_free = |word: &LocalAtomic<u64>| word.load(Ordering::Relaxed) == 0;
    let Some(word) = words.iter().rfind(|w| w.load(Ordering::Relaxed) == grant) else {
        return false;
    };
    word.store(0, Ordering::Release);
    let used = words.iter().rposition(|w| !is_free(w)).map_or(0, |last| last + 1);
    let gaps = if words[..used].iter().any(is_free) { GAPS } else { 0 };
    slot.granted.store(used as u32 | gaps, Ordering::Release);
    true
}

/// The IX grants of a scope that is one object, as counted in the slot; `None` for other objects.
#[inline]
pub(crate) fn scope_count(slot: &SessionSlot, id: Id) -> Option<u64> {
    let byte = id.namespace().scope_byte()?;
    Some(slot.scoped_ix.load(Ordering::Acquire) >> (8 * byte) & 0xFF)
}

#[inline]
fn add_scope(slot: &SessionSlot, id: Id, n: u64) {
    if let Some(byte) = id.namespace().scope_byte() {
        let now = slot.scoped_ix.load(Ordering::Relaxed);
        slot.scoped_ix.store(now.wrapping_add(n << (8 * byte)), Ordering::Release);
    }
}
