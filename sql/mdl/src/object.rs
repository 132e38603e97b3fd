//! A lockable name: its number, its mask of closed weak modes, and the tickets of its slow path.
//!
//! Invariants
//! 1. `closed` is written under the state's mutex only, and only when it changes.
//! 2. `granted` and `pending` tickets are under the mutex; `pending` is in the order of arrival.
//! 3. The number is constant while a handle ([`Arc<Object>`]) or a grant exists.

use crate::mode::{Mode, Modes, Namespace};
use std::sync::Arc;
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::{Event, Mutex};

/// The class of waits for a metadata lock, by which lists of waits know them.
pub const WAIT_CLASS: &str = "wait/lock/metadata/sql/mdl";

instrument::classes! {
    /// Waiting for a metadata lock.
    pub static MDL_WAIT: LockClass = WAIT_CLASS;
    static STATE_MUTEX: MutexClass = "wait/synch/mutex/sql/MDL_object";
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

    #[inline]
    pub(crate) fn namespace(self) -> Namespace {
        let n = (self.0 >> (PLACE_BITS + GENERATION_BITS)) as u8;
        Namespace::from_u8(n).expect("numbers are made from namespaces only")
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

/// What the object's mutex guards.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: Arc<Name>,
    pub(crate) granted: Vec<Ticket>,
    pub(crate) pending: Vec<Ticket>,
    pub(crate) next_number: u64,
}

impl State {
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

/// What the fast path reads; alone on its lines, written only by strong requests.
#[derive(Debug)]
struct Hot {
    id: SharedAtomic<u64, { class::MDL }>,
    closed: SharedAtomic<u32, { class::MDL }>,
}

/// An interned name. Callers keep the handle as long as they like; it costs nobody anything.
#[derive(Debug)]
pub struct Object {
    hot: CacheLine<Hot>,
    pub(crate) event: Event,
    pub(crate) state: Mutex<State>,
}

impl Object {
    pub(crate) fn new(id: Id, name: Name) -> Self {
        let hot = Hot { id: SharedAtomic::new(id.0), closed: SharedAtomic::new(0) };
        let state = State {
            name: Arc::new(name),
            granted: Vec::new(),
            pending: Vec::new(),
            next_number: 1,
        };
        Self {
            hot: CacheLine(hot),
            event: Event::of_locks(&MDL_WAIT),
            state: Mutex::new(&STATE_MUTEX, state),
        }
    }

    #[inline]
    pub(crate) fn id(&self) -> Id {
        Id(self.hot.id.load(Ordering::Relaxed))
    }

    /// Gives the object to another name. The registry calls it, under rule 3.
    pub(crate) fn rename(&self, id: Id, name: Name) {
        let mut state = self.state.lock();
        state.name = Arc::new(name);
        self.hot.id.store(id.0, Ordering::Release);
    }

    /// The locked name.
    #[must_use]
    pub fn name(&self) -> Arc<Name> {
        Arc::clone(&self.state.lock().name)
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

    /// Whether a weak mode has to go through the object's mutex now. Acquire: what the strong holder
    /// that reopened it wrote is visible.
    #[inline]
    pub(crate) fn closed_to(&self, mode: Mode) -> bool {
        self.hot.closed.load(Ordering::Acquire) & mode.bit() != 0
    }

    #[inline]
    pub(crate) fn any_closed(&self) -> bool {
        self.hot.closed.load(Ordering::Relaxed) != 0
    }

    /// Makes the mask what the tickets ask for; tells whether it gained a mode.
    pub(crate) fn update_closed(&self, state: &State) -> bool {
        let namespace = self.namespace();
        let pending = state.pending.iter().filter(|t| !t.paused);
        let strong = state.granted.iter().chain(pending);
        let want: Modes = strong
            .filter(|t| !t.mode.weak_in(namespace))
            .fold(0, |bits, t| bits | t.mode.closes(namespace));
        let now = self.hot.closed.load(Ordering::Relaxed);
        if want != now {
            self.hot.closed.store(want, Ordering::Release);
        }
        want & !now != 0
    }
}
