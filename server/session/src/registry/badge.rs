//! Who a session is, for those who look through them all.
//!
//! 1. Whoever has the mutex of a session's identity owns its badge. Who changes the one writes the other, under a sequence number;
//!    who reads takes no lock: he meets a whole badge or tries again.
//! 2. It lies behind the line that every statement of the session writes, in the same pair of lines: both come with one fetch.
//!    A statement neither reads nor writes it.

use super::Identity;
use catalog::{Client, ProcessRow, SessionOrder};
use stdx::{LocalAtomic, Ordering};

/// Words of user, host and schema.
const TEXT_WORDS: usize = 12;
/// Bytes of them. Longer ones are read in the identity.
pub(super) const BADGE_BYTES_MAX: usize = TEXT_WORDS * 8;

/// There is a current schema.
const HAS_DB: u8 = 1;
/// TLS secures the connection.
const SECURED: u8 = 2;
/// The client is gone.
const LEAVES: u8 = 4;
/// The texts are not here: they are too long.
const LONG: u8 = 8;

/// What does not change from statement to statement.
#[repr(C, align(64))]
pub(super) struct Badge {
    /// Odd while the others are written, but for `killed`.
    seq: LocalAtomic<u64>,
    /// Connection id; 0: nobody is there.
    id: LocalAtomic<u64>,
    thread_id: LocalAtomic<u64>,
    /// Where the user ends in `texts`, the host, and the schema.
    ends: [LocalAtomic<u8>; 3],
    bits: LocalAtomic<u8>,
    /// KILL CONNECTION.
    killed: LocalAtomic<bool>,
    texts: [LocalAtomic<u64>; TEXT_WORDS],
}

impl Badge {
    pub fn new() -> Badge {
        Badge {
            seq: LocalAtomic::new(0),
            id: LocalAtomic::new(0),
            thread_id: LocalAtomic::new(0),
            ends: std::array::from_fn(|_| LocalAtomic::new(0)),
            bits: LocalAtomic::new(0),
            killed: LocalAtomic::new(false),
            texts: std::array::from_fn(|_| LocalAtomic::new(0)),
        }
    }

    /// Whether a session has it.
    #[inline]
    pub fn is_worn(&self) -> bool {
        self.id.load(Ordering::Relaxed) != 0
    }

    /// What a list is ordered by.
    #[inline]
    pub fn key(&self, order: SessionOrder) -> u64 {
        let key = match order {
            SessionOrder::Connection => &self.id,
            SessionOrder::Thread => &self.thread_id,
        };
        key.load(Ordering::Relaxed)
    }

    /// Takes over an identity, whose mutex the caller has.
    pub fn write(&self, identity: &Identity) {
        let Client { user, host, db, secured, .. } = &*identity.client;
        let db = db.as_deref();
        let mut texts =
            [user.as_str(), host.as_str(), db.unwrap_or_default()].concat().into_bytes();
        let is_long = texts.len() > BADGE_BYTES_MAX;
        let ends = match is_long {
            true => [0; 3],
            false => [user.len(), user.len() + host.len(), texts.len()],
        };
        texts.resize(BADGE_BYTES_MAX, 0);
        let set = [
            (db.is_some(), HAS_DB),
            (*secured, SECURED),
            (identity.leaves, LEAVES),
            (is_long, LONG),
        ];
        let bits =
            set.iter().filter(|(is_set, _)| *is_set).fold(0_u8, |bits, (_, bit)| bits | *bit);
        self.change(|| {
            self.id.store(identity.id, Ordering::Relaxed);
            self.thread_id.store(identity.thread_id, Ordering::Relaxed);
            self.bits.store(bits, Ordering::Relaxed);
            for (place, end) in self.ends.iter().zip(ends) {
                place.store(end as u8, Ordering::Relaxed);
            }
            for (place, word) in self.texts.iter().zip(stdx::bytes::words(&texts).0) {
                place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
            }
        });
    }

    /// Nobody has it any more. The caller has the mutex of the identity.
    pub fn clear(&self) {
        self.change(|| {
            self.id.store(0, Ordering::Relaxed);
            self.thread_id.store(0, Ordering::Relaxed);
        });
        self.killed.store(false, Ordering::Relaxed);
    }

    /// The session is to end. The caller has the mutex of its identity.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
    }

    /// Whether it was said to be killed.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    fn change(&self, write: impl FnOnce()) {
        let seq = self.seq.load(Ordering::Relaxed).wrapping_add(1);
        self.seq.store(seq, Ordering::Relaxed);
        stdx::fence(Ordering::Release);
        write();
        self.seq.store(seq.wrapping_add(1), Ordering::Release);
    }

    /// What [`Self::is_still`] is asked with after reading; `None` while it is written.
    #[inline]
    pub fn written(&self) -> Option<u64> {
        let seq = self.seq.load(Ordering::Acquire);
        seq.is_multiple_of(2).then_some(seq)
    }

    /// Whether what was read since then is of one writing.
    #[inline]
    pub fn is_still(&self, written: u64) -> bool {
        stdx::fence(Ordering::Acquire);
        self.seq.load(Ordering::Relaxed) == written
    }

    /// Shows who it is; false where the texts are too long to be here.
    #[inline]
    pub fn show(&self, row: &mut ProcessRow) -> bool {
        let bits = self.bits.load(Ordering::Relaxed);
        let set = |bit| bits & bit != 0;
        let [user, host, end] =
            [0, 1, 2].map(|n| usize::from(self.ends[n].load(Ordering::Relaxed)));
        row.id = self.id.load(Ordering::Relaxed);
        row.thread_id = self.thread_id.load(Ordering::Relaxed);
        row.secured = set(SECURED);
        row.leaves = set(LEAVES);
        row.who.fill([user, host], set(HAS_DB), |texts| {
            for word in self.texts.iter().take(end.div_ceil(8)) {
                texts.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
            texts.truncate(end);
        });
        !set(LONG)
    }
}
