//! Numbers that are never given twice, also not after a crash: transactions, hidden rows, spaces,
//! tables, indexes.
//!
//! 1. Numbers are reserved in blocks; a reservation is in the log before the first number of its
//!    block is used.
//! 2. The checkpoint's payload holds every reservation whose record lies below the checkpoint: both
//!    happen under `gate`.
//! 3. `gate` is taken after a mini-transaction was begun (its pacing may wait for a checkpoint,
//!    which takes the gate) and inside it no latch is taken.

use base::{Error, Lsn, Result};
use instrument::MutexClass;
use pool::{Mtr, Pool};
use redo::kind;
use stdx::bytes::{Put, Reader};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, WorkerSlot};

static GATE: MutexClass = MutexClass::new("wait/synch/mutex/limpid/id_reservations");

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

struct Counter {
    next: SharedAtomic<u64, { class::TRX }>,
    limit: SharedAtomic<u64, { class::TRX }>,
}

/// All counters.
pub struct Ids {
    counters: [Counter; KINDS],
    gate: Mutex<()>,
}

impl Ids {
    /// The counters of a new instance.
    pub fn new() -> Ids {
        let counters = std::array::from_fn(|i| Counter {
            next: SharedAtomic::new(FIRST[i]),
            limit: SharedAtomic::new(FIRST[i]),
        });
        Ids { counters, gate: Mutex::new(&GATE, ()) }
    }

    /// A number never given before. Errors: those of the log.
    pub fn take(&self, kind: IdKind, pool: &Pool, worker: &WorkerSlot) -> Result<u64> {
        let counter = &self.counters[kind as usize];
        let id = counter.next.fetch_add(1, Ordering::Relaxed);
        if id >= counter.limit.load(Ordering::Acquire) {
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

    #[cold]
    fn reserve(&self, which: IdKind, id: u64, pool: &Pool, worker: &WorkerSlot) -> Result<()> {
        let mut mtr = Mtr::new(pool, worker);
        let _gate = self.gate.lock();
        let limit = &self.counters[which as usize].limit;
        if id < limit.load(Ordering::Acquire) {
            return Ok(());
        }
        let upto = id + BLOCK[which as usize];
        let mut bytes = Vec::with_capacity(9);
        bytes.put_u8(which as u8);
        bytes.put_u64_le(upto);
        mtr.log_logical(kind::TRX, &bytes)?;
        mtr.commit()?;
        limit.store(upto, Ordering::Release);
        Ok(())
    }

    /// Runs `f`, which moves the checkpoint, with the payload that belongs there.
    pub fn with_checkpoint_payload<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let _gate = self.gate.lock();
        let mut payload = Vec::with_capacity(IDS_PAYLOAD_BYTES);
        for c in &self.counters {
            payload.put_u64_le(c.limit.load(Ordering::Acquire));
        }
        f(&payload)
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
        self.counters[which].limit.fetch_max(upto, Ordering::Relaxed);
        self.counters[which].next.fetch_max(upto, Ordering::Relaxed);
    }
}

impl Default for Ids {
    fn default() -> Ids {
        Ids::new()
    }
}
