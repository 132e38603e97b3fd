//! A lockable name: its number, its mask of closed weak modes, and the tickets of its slow path.
//!
//! Invariants
//! 1. `closed` has every mode that is not weak, always; it is written under the state's latch only, and only when it
//!    changes.
//! 2. `granted` and `pending` tickets are under the latch, which is taken for writing by whoever looks; `pending` is in the order of arrival.
//! 3. The number is constant while a handle ([`Arc<Object>`]) or a grant exists.
//! 4. While `closed` has a weak mode the object is counted in [`ClosedCount`]: from before the mask gains one until it has none.

use crate::fair::Fair;
use crate::mode::{Mode, Modes, Namespace};
use crate::shards;
use std::sync::Arc;
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::{Event, RwLatch, RwWriteGuard};

/// The class of waits for a metadata lock, by which lists of waits know them.
pub const WAIT_CLASS: &str = "wait/lock/metadata/sql/mdl";

instrument::classes! {
    /// Waiting for a metadata lock.
    pub static MDL_WAIT: LockClass = WAIT_CLASS;
    static STATE_LATCH: RwLockClass = "wait/synch/rwlock/sql/MDL_lock::rwlock";
}

/// An interned name's number: namespace 5 bits | generation 27 | place in the registry 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(u64);

pub(crate) const PLACE_BITS: u32 = 24;
const GENERATION_BITS: u32 = 27;

impl Id {
    pub(crate) fn new(namespace: Namespace, generation: u64, place: u32) -> Self {
        let generation = generation & ((1 << GENERATION_BITS) - 1);
        let high = (namespace as u64) << (PLACE_BITS + GENERATION_BITS);
        Id(high | generation << PLACE_BITS | u64::from(place))
    }

    /// The word of a grant in a slot; never 0, since namespaces start at 1.
    #[inline]
    pub(crate) fn grant(self, mode: Mode) -> u64 {
        self.0 << 8 | mode as u64
    }

    /// What a slot's word says; `None` for a free word.
    #[inline]
    pub(crate) fn of_grant(word: u64) -> Option<(Id, Mode)> {
        Some((Id(word >> 8), Mode::from_u8(word as u8)?))
    }

    /// The object of a slot's word that is not free.
    #[inline]
    pub(crate) fn in_grant(word: u64) -> Id {
        Id(word >> 8)
    }

    /// Whether a slot's word is a grant of this object.
    #[inline]
    pub(crate) fn is_of(self, word: u64) -> bool {
        word >> 8 == self.0
    }

    #[inline]
    pub(crate) fn namespace(self) -> Namespace {
        let n = (self.0 >> (PLACE_BITS + GENERATION_BITS)) as u8;
        Namespace::from_u8(n).expect("numbers are made from namespaces only")
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn place(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize
    }

    pub(crate) fn generation(self) -> u64 {
        self.0 >> PLACE_BITS & ((1 << GENERATION_BITS) - 1)
    }
}

/// A name that can be locked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The kind of thing.
    pub namespace: Namespace,
    /// The database; empty where there is none.
    pub schema: Box<str>,
    /// The name in it; empty for the scopes that are one object.
    pub name: Box<str>,
}

/// A request or grant outside the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// Distinguishes the object's tickets.
    pub(crate) number: u64,
    /// The owner's session slot.
    pub(crate) owner: u64,
    pub(crate) mode: Mode,
    /// Pending: chosen as a deadlock's victim; its owner gives up when it looks.
    pub(crate) victim: bool,
    /// Pending: its owner stands aside for a while (`turns`).
    pub(crate) paused: bool,
}

/// What the object's latch guards.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: Arc<Name>,
    pub(crate) granted: Vec<Ticket>,
    pub(crate) pending: Vec<Ticket>,
    pub(crate) next_number: u64,
    pub(crate) fair: Fair,
    /// Closed to every weak mode, whoever holds what ([`crate::shards`]).
    pub(crate) no_fast_path: bool,
}

impl State {
    /// The modes that wait.
    pub(crate) fn waiting(&self) -> Modes {
        let waiting = self.pending.iter().filter(|t| !t.paused && !t.victim);
        waiting.fold(0, |bits, t| bits | t.mode.bit())
    }

    /// A new request, behind all others.
    pub(crate) fn ask(&mut self, owner: u64, mode: Mode) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.pending.push(Ticket { number, owner, mode, victim: false, paused: false });
        number
    }

    /// A paused request goes on where it was.
    pub(crate) fn resume(&mut self, number: Option<u64>) -> Option<u64> {
        let ticket = self.pending.iter_mut().find(|t| Some(t.number) == number)?;
        ticket.paused = false;
        Some(ticket.number)
    }
}

/// How many objects are closed to a weak mode: while none is, who gives back a grant need not look at its object.
#[derive(Debug)]
pub(crate) struct ClosedCount(CacheLine<SharedAtomic<u64, { class::MDL }>>);

impl ClosedCount {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(CacheLine(SharedAtomic::new(0))))
    }

    /// Whether an object may be closed to a weak mode. After a light fence: see [`crate`], invariant 2.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// What the fast path reads; alone on its lines, written only by strong requests.
#[derive(Debug)]
struct Hot {
    id: SharedAtomic<u64, { class::MDL }>,
    closed: SharedAtomic<u32, { class::MDL }>,
}

/// Beside the modes that are closed: a weak one is among them.
const SOME_WEAK: Modes = 1 << 31;

/// What is closed always: the modes that slots do not suffice for.
fn never_weak(namespace: Namespace) -> Modes {
    !Mode::all_weak(namespace) & !SOME_WEAK
}

fn hashes_of(name: &Name) -> u64 {
    let (whole, letters) = shards::hashes(&name.schema, &name.name);
    u64::from(whole) << 32 | u64::from(letters)
}

/// An interned name. Callers keep the handle as long as they like; it costs nobody anything.
#[derive(Debug)]
pub struct Object {
    hot: CacheLine<Hot>,
    hashes: SharedAtomic<u64, { class::MDL }>,
    pub(crate) event: Event,
    closed_count: Arc<ClosedCount>,
    state: RwLatch<State>,
}

impl Object {
    pub(crate) fn new(
        id: Id,
        name: Name,
        no_fast_path: bool,
        closed_count: &Arc<ClosedCount>,
    ) -> Self {
        let hashes = SharedAtomic::new(hashes_of(&name));
        let closed = SharedAtomic::new(never_weak(id.namespace()));
        let hot = Hot { id: SharedAtomic::new(id.0), closed };
        let state = State {
            name: Arc::new(name),
            granted: Vec::new(),
            pending: Vec::new(),
            next_number: 1,
            fair: Fair::default(),
            no_fast_path,
        };
        let object = Self {
            hot: CacheLine(hot),
            hashes,
            event: Event::of_locks(&MDL_WAIT),
            closed_count: Arc::clone(closed_count),
            state: RwLatch::new(&STATE_LATCH, state),
        };
        if no_fast_path {
            object.set_fast_path(false);
        }
        object
    }

    /// The tickets.
    pub(crate) fn state(&self) -> RwWriteGuard<'_, State> {
        self.state.write()
    }

    /// Hash of the name, and of its letters.
    pub(crate) fn hashes(&self) -> (u32, u32) {
        let both = self.hashes.load(Ordering::Relaxed);
        ((both >> 32) as u32, both as u32)
    }

    /// Whether weak modes may be granted in slots.
    pub(crate) fn set_fast_path(&self, on: bool) {
        let mut state = self.state();
        state.no_fast_path = !on;
        self.update_closed(&state);
    }

    #[inline]
    pub(crate) fn id(&self) -> Id {
        Id(self.hot.id.load(Ordering::Relaxed))
    }

    /// Gives the object to another name. The registry calls it, under rule 3.
    pub(crate) fn rename(&self, id: Id, name: Name, no_fast_path: bool) {
        let mut state = self.state();
        self.hashes.store(hashes_of(&name), Ordering::Relaxed);
        (state.fair, state.no_fast_path) = (Fair::default(), no_fast_path);
        state.name = Arc::new(name);
        self.hot.id.store(id.0, Ordering::Release);
        self.update_closed(&state);
    }

    /// The locked name.
    #[must_use]
    pub fn name(&self) -> Arc<Name> {
        Arc::clone(&self.state.read().name)
    }

    /// Whether somebody has or wants a lock of it that is not in a slot.
    pub(crate) fn has_tickets(&self) -> bool {
        let state = self.state();
        !state.granted.is_empty() || !state.pending.is_empty()
    }

    /// The name, and who has or wants a lock of it that is not in a slot.
    pub(crate) fn tickets(&self) -> (Arc<Name>, Vec<Ticket>, Vec<Ticket>) {
        let state = self.state();
        (Arc::clone(&state.name), state.granted.clone(), state.pending.clone())
    }

    /// What tells a ticket's row from others in the list of locks.
    pub(crate) fn row_id(&self, number: u64) -> u64 {
        std::ptr::from_ref(self).addr() as u64 ^ number << 48
    }

    /// The namespace of the name.
    #[inline]
    #[must_use]
    pub fn namespace(&self) -> Namespace {
        self.id().namespace()
    }

    /// Whether a mode has to go through the object's latch now: a strong one always. Acquire: what the strong holder
    /// that reopened it wrote is visible.
    #[inline]
    pub(crate) fn closed_to(&self, mode: Mode) -> bool {
        self.hot.closed.load(Ordering::Acquire) & mode.bit() != 0
    }

    #[inline]
    pub(crate) fn any_closed(&self) -> bool {
        self.hot.closed.load(Ordering::Relaxed) & SOME_WEAK != 0
    }

    /// Makes the mask what the tickets ask for; tells whether it gained a mode.
    pub(crate) fn update_closed(&self, state: &State) -> bool {
        let namespace = self.namespace();
        let pending = state.pending.iter().filter(|t| !t.paused);
        let strong = state.granted.iter().chain(pending);
        let weak = Mode::all_weak(namespace);
        let always = if state.no_fast_path { weak } else { 0 };
        let want: Modes = strong
            .filter(|t| !t.mode.weak_in(namespace))
            .fold(always, |bits, t| bits | t.mode.closes(namespace));
        let some = if want & weak != 0 { SOME_WEAK } else { 0 };
        let want = want | never_weak(namespace) | some;
        let now = self.hot.closed.load(Ordering::Relaxed);
        if want != now {
            // Invariant 4.
            let count = &self.closed_count.0;
            let (was_some, is_some) = (now & SOME_WEAK != 0, want & SOME_WEAK != 0);
            if is_some && !was_some {
                count.fetch_add(1, Ordering::SeqCst);
            }
            self.hot.closed.store(want, Ordering::Release);
            if was_some && !is_some {
                let before = count.fetch_sub(1, Ordering::Release);
                debug_assert!(before > 0, "invariant 4");
            }
        }
        want & !now != 0
    }
}
