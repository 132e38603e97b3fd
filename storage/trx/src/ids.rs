//! Numbers that are never given twice, also not after a crash: transactions, hidden rows, spaces,
//! tables, indexes.
//!
//! 1. Numbers are reserved in blocks; a reservation is in the log before the first number of its
//!    block is used. Guard: the assert of `Ids::reserve`, `ids_are_never_given_twice`.
//! 2. The checkpoint's payload holds every reservation whose record lies below the checkpoint: it is promised
//!    before its record gets its place in the log, and the payload is taken after the checkpoint's place was
//!    found ([`pool::Pool::checkpoint_with`]). What was promised and never logged is a gap in the numbers.
//!    Guard: the assert of [`Reservations::promised`], `tests/models.rs`.
//! 3. Nobody waits for a reservation in ordinary work: once half of the block is used, whoever takes a
//!    number reserves the next one, unless somebody else is at it. A checkpoint never waits here.
//!    Guard: `half_a_block_is_always_left`, `numbers_are_taken_while_a_checkpoint_is_made`.
//! 4. Who comes to `gate` holds no latch, and inside none is taken. Guard: the assert of `Ids::reserve`.

use base::{Error, Lsn, Result};
use pool::{Mtr, Pool};
use redo::kind;
use stdx::bytes::{Put, Reader};
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::{Mutex, WorkerSlot};

instrument::classes! {
    static GATE: MutexClass = "wait/synch/mutex/limpid/id_reservations", across_io;
}

/// What is numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IdKind {
    /// Transactions.
    Trx = 0,
    /// Hidden row ids, of all tables together.
    Row = 1,
    /// Tablespaces.
    Space = 2,
    /// Tables of the dictionary.
    Table = 3,
    /// Indexes of the dictionary.
    Index = 4,
}

const KINDS: usize = 5;
/// The first number of each kind in a new instance.
const FIRST: [u64; KINDS] = [1, 1, 16, 1024, 1024];
/// Numbers reserved at a time.
const BLOCK: [u64; KINDS] = [4096, 4096, 4, 4, 4];
/// Hidden row ids have six bytes.
const LAST: u64 = (1 << 48) - 1;

/// Bytes of [`Ids::checkpoint_payload`].
pub const IDS_PAYLOAD_BYTES: usize = KINDS * 8;

/// How far the numbers of one kind are reserved. The protocol of invariants 1 and 2, for the model too.
#[derive(Debug)]
pub struct Reservations {
    /// Numbers below may be given.
    limit: SharedAtomic<u64, { class::TRX }>,
    /// What a checkpoint says is reserved: never less than the log says below it.
    promised: SharedAtomic<u64, { class::TRX }>,
}

impl Reservations {
    /// Everything below `first` counts as given.
    pub fn new(first: u64) -> Reservations {
        Reservations { limit: SharedAtomic::new(first), promised: SharedAtomic::new(first) }
    }

    /// Whether number `id` is reserved.
    #[inline]
    pub fn has(&self, id: u64) -> bool {
        id < self.limit()
    }

    /// Numbers below are reserved.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Acquire)
    }

    /// Reserves all below `upto`; `log` appends that to the log. One at a time.
    pub fn reserve(&self, upto: u64, log: impl FnOnce() -> Result<()>) -> Result<()> {
        // Published by the reservation of the record's place: who finds a checkpoint behind it sees this.
        self.promised.fetch_max(upto, Ordering::Relaxed);
        log()?;
        self.limit.fetch_max(upto, Ordering::Release);
        Ok(())
    }

    /// What belongs to a checkpoint whose place was found before this is called.
    pub fn promised(&self) -> u64 {
        let limit = self.limit();
        let promised = self.promised.load(Ordering::Relaxed);
        assert!(promised >= limit, "numbers below {limit} are reserved, {promised} was promised");
        promised
    }

    fn raise(&self, upto: u64) {
        self.promised.fetch_max(upto, Ordering::Relaxed);
        self.limit.fetch_max(upto, Ordering::Release);
    }
}

struct Counter {
    next: SharedAtomic<u64, { class::NEXT_ID }>,
    reserved: Reservations,
}

/// All counters.
pub struct Ids {
    /// Each with its reservations on a line of its own.
    counters: [CacheLine<Counter>; KINDS],
    gate: Mutex<()>,
}

impl Ids {
    /// The counters of a new instance.
    pub fn new() -> Ids {
        let counters = std::array::from_fn(|i| {
            CacheLine(Counter {
                next: SharedAtomic::new(FIRST[i]),
                reserved: Reservations::new(FIRST[i]),
            })
        });
        Ids { counters, gate: Mutex::new(&GATE, ()) }
    }

    /// A number never given before. Errors: those of the log.
    pub fn take(&self, kind: IdKind, pool: &Pool, worker: &WorkerSlot) -> Result<u64> {
        let counter = &self.counters[kind as usize];
        let id = counter.next.fetch_add(1, Ordering::Relaxed);
        if id + BLOCK[kind as usize] / 2 >= counter.reserved.limit() {
            self.reserve(kind, id, pool, worker)?;
        }
        if id > LAST {
            return Err(Error::Internal("the server has used up its 48-bit ids"));
        }
        Ok(id)
    }

    /// A number that none was given above yet.
    pub fn next(&self, kind: IdKind) -> u64 {
        self.counters[kind as usize].next.load(Ordering::Relaxed)
    }

    /// Reserves the block after the one that `id` is in the second half of, or behind (invariant 3).
    #[cold]
    fn reserve(&self, which: IdKind, id: u64, pool: &Pool, worker: &WorkerSlot) -> Result<()> {
        pool::assert_no_latches("numbers are reserved");
        let reserved = &self.counters[which as usize].reserved;
        let late = !reserved.has(id);
        let gate = if late { Some(self.gate.lock()) } else { self.gate.try_lock() };
        let Some(_gate) = gate else { return Ok(()) };
        let (block, limit) = (BLOCK[which as usize], reserved.limit());
        if id + block / 2 < limit {
            return Ok(());
        }
        let upto = limit.max(id + 1) + block;
        let done = reserved.reserve(upto, || {
            let mut bytes = Vec::with_capacity(9);
            bytes.put_u8(which as u8);
            bytes.put_u64_le(upto);
            let mut mtr = Mtr::new(pool, worker);
            mtr.log_logical(kind::TRX, &bytes)?;
            mtr.commit().map(drop)
        });
        assert!(done.is_err() || reserved.has(id), "{which:?} {id} is not reserved");
        // An error of the log is told to those who need the next block.
        if late { done } else { Ok(()) }
    }

    /// What a checkpoint says that is reserved, to be asked when its place is known
    /// ([`Pool::checkpoint_with`]).
    pub fn checkpoint_payload(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(IDS_PAYLOAD_BYTES);
        self.counters.iter().for_each(|c| payload.put_u64_le(c.reserved.promised()));
        payload
    }

    /// Takes over what a checkpoint's payload says. Used by recovery only.
    pub fn recover_payload(&self, payload: &[u8]) -> Result<()> {
        let mut r = Reader::new(payload);
        for i in 0..KINDS {
            let bad =
                |_| Error::CorruptLog { lsn: Lsn::ZERO, what: "checkpoint payload cut short" };
            self.raise(i, r.u64_le().map_err(bad)?);
        }
        Ok(())
    }

    /// Takes over a reservation found in the log at `lsn`. Used by recovery only.
    pub fn recover_record(&self, bytes: &[u8], lsn: Lsn) -> Result<()> {
        let bad = || Error::CorruptLog { lsn, what: "bad id reservation" };
        let mut r = Reader::new(bytes);
        let which = usize::from(r.u8().map_err(|_| bad())?);
        let upto = r.u64_le().map_err(|_| bad())?;
        if which >= KINDS {
            return Err(bad());
        }
        self.raise(which, upto);
        Ok(())
    }

    fn raise(&self, which: usize, upto: u64) {
        self.counters[which].reserved.raise(upto);
        self.counters[which].next.fetch_max(upto, Ordering::Relaxed);
    }
}

impl Default for Ids {
    fn default() -> Ids {
        Ids::new()
    }
}
