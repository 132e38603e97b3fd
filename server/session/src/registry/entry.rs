//! What one session tells of itself while it runs: command, text, transaction.
//!
//! 1. Its own thread writes by plain stores, under a sequence number; who reads meets a whole statement or tries again.
//! 2. A text keeps what is there of a longer one before it: its length says what counts. Who sleeps keeps the text of
//!    its last statement.
//! 3. The instrument of a text is published when its command is known, and only if it is another one than that of the text
//!    before: a session that runs statements of one kind writes nothing for it. Until then it is that of the text before, or, while
//!    it is parsed, [`UNKNOWN`].
//! 4. What each statement writes beside its text lies in the first line of the entry.

use super::badge::Badge;
use super::{Identity, Process};
use catalog::TransactionRow;
use instrument::statement_named;
use std::mem::offset_of;
use stdx::{LocalAtomic, Ordering};
use sync::Mutex;

instrument::classes! {
    static IDENTITY: MutexClass = "wait/synch/mutex/sql/THD::LOCK_thd_data";
}

/// Words of a statement's text.
const TEXT_WORDS: usize = 128;
/// Bytes of a statement that the process list keeps.
pub const TEXT_BYTES_MAX: usize = TEXT_WORDS * 8;

/// The instrument of a text whose command is not known yet.
const UNKNOWN: u16 = statement_named("statement/abstract/Query");

/// What a session is doing, as the process list calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum Activity {
    Connect = 0,
    Sleep = 1,
    Query = 2,
    Execute = 3,
    Prepare = 4,
    InitDb = 5,
    FieldList = 6,
    Other = 7,
}

impl Activity {
    /// By their numbers.
    const ALL: [(Activity, &'static str); 8] = [
        (Activity::Connect, "Connect"),
        (Activity::Sleep, "Sleep"),
        (Activity::Query, "Query"),
        (Activity::Execute, "Execute"),
        (Activity::Prepare, "Prepare"),
        (Activity::InitDb, "Init DB"),
        (Activity::FieldList, "Field List"),
        (Activity::Other, "Query"),
    ];

    /// What the process list calls the activity of this number.
    #[inline]
    pub(super) fn name_of(number: u32) -> &'static str {
        Activity::ALL.get(number as usize).map_or("Query", |(_, name)| *name)
    }
}

/// What one session publishes about itself.
#[repr(C, align(128))]
pub struct Entry {
    seq: LocalAtomic<u64>,
    pub(super) activity: LocalAtomic<u32>,
    text_len: LocalAtomic<u32>,
    /// Number of the instrument of a text.
    instrument: LocalAtomic<u32>,
    /// [`READ_ONLY`] and its kin.
    trx_bits: LocalAtomic<u32>,
    pub(super) query_id: LocalAtomic<u64>,
    since_ns: LocalAtomic<u64>,
    /// Since when the session is in a transaction, in microseconds since 1970; 0: it is in none.
    trx_since_us: LocalAtomic<u64>,
    /// The operating system's number of the thread that carries the session.
    pub(super) os_id: LocalAtomic<u64>,
    pub(super) badge: Badge,
    text: [LocalAtomic<u64>; TEXT_WORDS],
    pub(super) identity: Mutex<Option<Identity>>,
}

// Invariant 4, and the second one of the badge.
const _: () = assert!(offset_of!(Entry, badge) == 64 && offset_of!(Entry, text) % 64 == 0);

/// Bits of a transaction, beside the number of its isolation level.
pub(crate) const READ_ONLY: u32 = 4;
/// `unique_checks` is on.
pub(crate) const UNIQUE_CHECKS: u32 = 8;
/// `foreign_key_checks` is on.
pub(crate) const FOREIGN_KEY_CHECKS: u32 = 16;

const ISOLATIONS: [&str; 4] =
    ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            seq: LocalAtomic::new(0),
            activity: LocalAtomic::new(0),
            text_len: LocalAtomic::new(0),
            instrument: LocalAtomic::new(u32::from(UNKNOWN)),
            trx_bits: LocalAtomic::new(0),
            query_id: LocalAtomic::new(0),
            since_ns: LocalAtomic::new(0),
            trx_since_us: LocalAtomic::new(0),
            os_id: LocalAtomic::new(0),
            badge: Badge::new(),
            text: std::array::from_fn(|_| LocalAtomic::new(0)),
            identity: Mutex::new(&IDENTITY, None),
        }
    }

    /// Since when the session does what it does, in [`sync::now_ns`] nanoseconds. Only its own thread calls this.
    #[inline]
    pub fn since_ns(&self) -> u64 {
        self.since_ns.load(Ordering::Relaxed)
    }

    /// Publishes what the session does now; only its own thread calls this.
    #[inline]
    pub fn publish(&self, activity: Activity, now_ns: u64, text: &[u8]) {
        self.publish_with(activity, now_ns, text.len(), || self.write_text(text));
    }

    /// As [`Self::publish`], of a text that nothing but empty ones came after.
    #[inline]
    pub fn publish_again(&self, activity: Activity, now_ns: u64, text: &[u8]) {
        self.publish_with(activity, now_ns, text.len(), || ());
    }

    #[inline]
    fn publish_with(&self, activity: Activity, now_ns: u64, text_len: usize, write: impl FnOnce()) {
        let seq = self.seq.load(Ordering::Relaxed).wrapping_add(1);
        self.seq.store(seq, Ordering::Relaxed);
        stdx::fence(Ordering::Release);
        self.activity.store(activity as u32, Ordering::Relaxed);
        if activity != Activity::Sleep {
            self.query_id.store(self.query_id.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.text_len.store(text_len.min(TEXT_BYTES_MAX) as u32, Ordering::Relaxed);
        }
        self.since_ns.store(now_ns, Ordering::Relaxed);
        write();
        self.seq.store(seq.wrapping_add(1), Ordering::Release);
    }

    /// Publishes the instrument of the text that runs. Only its own thread calls this.
    #[inline]
    pub fn is_of(&self, instrument: u16) {
        let instrument = u32::from(instrument);
        if self.instrument.load(Ordering::Relaxed) != instrument {
            self.instrument.store(instrument, Ordering::Relaxed);
        }
    }

    /// The number of the instrument of a text that runs.
    fn instrument(&self) -> u16 {
        self.instrument.load(Ordering::Relaxed) as u16
    }

    /// Writes a text, but an empty one leaves what is there.
    #[inline]
    fn write_text(&self, text: &[u8]) {
        let (words, rest) = stdx::bytes::words(&text[..text.len().min(TEXT_BYTES_MAX)]);
        for (place, word) in self.text.iter().zip(words) {
            place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
        if !text.is_empty()
            && let Some(place) = self.text.get(words.len())
        {
            place.store(rest, Ordering::Relaxed);
        }
    }

    /// Whether the session was said to be in a transaction. Only its own thread calls this and the next.
    pub fn is_in_transaction(&self) -> bool {
        self.trx_since_us.load(Ordering::Relaxed) != 0
    }

    /// Publishes when a transaction began, and what else there is to say about it.
    pub fn begin_transaction(&self, now_us: u64, bits: u32) {
        self.trx_bits.store(bits, Ordering::Relaxed);
        self.trx_since_us.store(now_us, Ordering::Release);
    }

    /// Publishes what the statements to come are, should they be no transaction that [`Self::begin_transaction`]
    /// tells of.
    pub fn publish_bits(&self, bits: u32) {
        self.trx_bits.store(bits, Ordering::Relaxed);
    }

    /// The session is in no transaction any more.
    pub fn end_transaction(&self) {
        self.trx_since_us.store(0, Ordering::Release);
    }

    pub(super) fn transaction(&self) -> TransactionRow {
        let since_us = self.trx_since_us.load(Ordering::Acquire);
        let bits = self.trx_bits.load(Ordering::Relaxed);
        let set = |bit: u32| bits & bit != 0;
        TransactionRow {
            since_us: since_us as i64,
            read_only: set(READ_ONLY),
            unique_checks: set(UNIQUE_CHECKS),
            foreign_key_checks: set(FOREIGN_KEY_CHECKS),
            isolation: ISOLATIONS[(bits & 3) as usize],
        }
    }

    /// Changes who the session is, if somebody is there; its badge follows.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut Identity) -> R) -> Option<R> {
        let mut identity = self.identity.lock();
        let changed = identity.as_mut().map(change);
        if let Some(identity) = &*identity {
            self.badge.write(identity);
        }
        changed
    }

    /// Shows what the session does, since when, the statement that it runs and its transaction.
    pub(super) fn show_activity(&self, process: &mut Process) {
        let (activity, since_ns, text) =
            self.read_text(|activity| activity != Activity::Sleep as u32);
        process.is_idle = activity == Activity::Sleep as u32;
        process.query_id = self.query_id.load(Ordering::Relaxed);
        let line = &mut process.line;
        line.command = Activity::name_of(activity);
        line.since_ns = since_ns;
        line.instrument = (activity == Activity::Query as u32).then(|| self.instrument());
        line.info = (!text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned());
        line.transaction = self.transaction();
        line.os_id = self.os_id.load(Ordering::Relaxed);
    }

    /// What the session does, since when, and the statement that it runs; of who runs none its last.
    pub(super) fn read_last(&self) -> (u32, u64, Vec<u8>) {
        self.read_text(|_| true)
    }

    /// With the text if that is wanted of who does this.
    #[inline]
    fn read_text(&self, wants: impl Fn(u32) -> bool) -> (u32, u64, Vec<u8>) {
        const TRIES: usize = 100;
        for _ in 0..TRIES {
            let before = self.seq.load(Ordering::Acquire);
            if before % 2 == 1 {
                sync::spin_wait();
                continue;
            }
            let activity = self.activity.load(Ordering::Relaxed);
            let since = self.since_ns.load(Ordering::Relaxed);
            let len = (self.text_len.load(Ordering::Relaxed) as usize).min(TEXT_BYTES_MAX);
            let len = if wants(activity) { len } else { 0 };
            let words = self.text.iter().take(len.div_ceil(8));
            let mut text: Vec<u8> =
                words.flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect();
            text.truncate(len);
            stdx::fence(Ordering::Acquire);
            if self.seq.load(Ordering::Relaxed) == before {
                return (activity, since, text);
            }
        }
        (Activity::Query as u32, sync::now_ns(), Vec::new())
    }
}
