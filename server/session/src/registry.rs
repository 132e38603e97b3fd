//! Who is connected and what they are doing: SHOW PROCESSLIST and KILL.
//!
//! 1. There is one entry per session slot, made when the slot is first used; no lock covers them all.
//! 2. What changes with every statement (command, start, text) is written by plain stores into the
//!    session's own entry, under a sequence number that a reader checks: a statement writes nothing that
//!    another session writes.
//! 3. Who it is changes rarely and lies under the entry's mutex; KILL acts under that mutex, and a session
//!    ends by clearing it, so a KILL never hits the slot's next owner.

use catalog::{ProcessRow, TransactionRow};
use instrument::MutexClass;
use std::sync::{Arc, OnceLock};
use stdx::{CacheLine, LocalAtomic, Ordering};
use sync::{Mutex, SlotTable};

static IDENTITY: MutexClass = MutexClass::new("wait/synch/mutex/sql/THD::LOCK_thd_data");

const TEXT_WORDS: usize = 128;
/// Bytes of a statement that the process list keeps.
pub const TEXT_BYTES_MAX: usize = TEXT_WORDS * 8;

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
}

/// Ends the wait of a connection's thread for its client.
pub trait Wake: Send + Sync {
    /// Makes the thread look at its kill flag.
    fn wake(&self);
    /// The same, and the client finds its connection closed, whatever the thread is at.
    fn cut(&self);
}

struct Identity {
    id: u64,
    user: String,
    host: String,
    db: Option<String>,
    wake: Arc<dyn Wake>,
    /// What the client said of itself: names and values.
    attributes: Arc<[(String, String)]>,
    /// The client is gone.
    leaves: bool,
}

/// What one session publishes about itself.
pub struct Entry {
    seq: LocalAtomic<u64>,
    activity: LocalAtomic<u32>,
    text_len: LocalAtomic<u32>,
    query_id: LocalAtomic<u64>,
    since_ns: LocalAtomic<u64>,
    text: [LocalAtomic<u64>; TEXT_WORDS],
    /// Since when the session is in a transaction, in microseconds since 1970; 0: it is in none.
    trx_since_us: LocalAtomic<u64>,
    /// [`READ_ONLY`] and its kin.
    trx_bits: LocalAtomic<u32>,
    identity: CacheLine<Mutex<Option<Identity>>>,
}

/// Bits of a transaction, beside the number of its isolation level.
pub(crate) const READ_ONLY: u32 = 4;
/// `unique_checks` is on.
pub(crate) const UNIQUE_CHECKS: u32 = 8;
/// `foreign_key_checks` is on.
pub(crate) const FOREIGN_KEY_CHECKS: u32 = 16;

const ISOLATIONS: [&str; 4] =
    ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

impl Entry {
    fn new() -> Self {
        Self {
            seq: LocalAtomic::new(0),
            activity: LocalAtomic::new(0),
            text_len: LocalAtomic::new(0),
            query_id: LocalAtomic::new(0),
            since_ns: LocalAtomic::new(0),
            text: std::array::from_fn(|_| LocalAtomic::new(0)),
            trx_since_us: LocalAtomic::new(0),
            trx_bits: LocalAtomic::new(0),
            identity: CacheLine(Mutex::new(&IDENTITY, None)),
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
        let seq = self.seq.load(Ordering::Relaxed).wrapping_add(1);
        self.seq.store(seq, Ordering::Relaxed);
        stdx::fence(Ordering::Release);
        self.activity.store(activity as u32, Ordering::Relaxed);
        if activity != Activity::Sleep {
            self.query_id.store(self.query_id.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        self.since_ns.store(now_ns, Ordering::Relaxed);
        let text = &text[..text.len().min(TEXT_BYTES_MAX)];
        self.text_len.store(text.len() as u32, Ordering::Relaxed);
        for (word, bytes) in self.text.iter().zip(text.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
        self.seq.store(seq.wrapping_add(1), Ordering::Release);
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

    fn transaction(&self) -> TransactionRow {
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

    fn read(&self) -> (u32, u64, Vec<u8>) {
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

/// A session, to who looks through them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its line of the process list; what it waits for is not in it.
    pub line: ProcessRow,
    /// Class of the wait it is in.
    pub wait: Option<&'static str>,
    /// Number of the statement; see [`Registry::begin`].
    pub query_id: u64,
}

/// Every session of the server.
pub struct Registry {
    entries: Vec<OnceLock<Box<Entry>>>,
    slots: Arc<SlotTable>,
}

impl Registry {
    /// A registry over the engine's session slots.
    pub fn new(slots: Arc<SlotTable>) -> Self {
        let entries = (0..slots.sessions_max()).map(|_| OnceLock::new()).collect();
        Self { entries, slots }
    }

    /// The entry of a slot.
    pub fn entry(&self, slot_index: usize) -> &Entry {
        self.entries[slot_index].get_or_init(|| Box::new(Entry::new()))
    }

    /// A session begins. Its statements are numbered from `id << 32`: every session has a range of its own,
    /// so no counter is shared.
    pub fn begin(&self, slot: usize, id: u64, host: String, wake: Arc<dyn Wake>) {
        let entry = self.entry(slot);
        entry.query_id.store(id << 32, Ordering::Relaxed);
        entry.publish(Activity::Connect, sync::now_ns(), b"");
        let user = String::from("unauthenticated user");
        let attributes = Arc::default();
        let identity = Identity { id, user, host, db: None, wake, attributes, leaves: false };
        *entry.identity.lock() = Some(identity);
    }

    /// A session learns who its user is, or changes its schema.
    pub fn rename(&self, slot: usize, user: &str, db: Option<&str>) {
        if let Some(identity) = self.entry(slot).identity.lock().as_mut() {
            identity.user = user.to_string();
            identity.db = db.map(str::to_string);
        }
    }

    /// What the client of a session says of itself.
    pub fn describe(&self, slot: usize, attributes: Vec<(String, String)>) {
        if let Some(identity) = self.entry(slot).identity.lock().as_mut() {
            identity.attributes = attributes.into();
        }
    }

    /// The client of a session is gone, or is to be. No list of clients has it any more and no KILL finds it, while
    /// its transaction is rolled back.
    pub fn leave(&self, slot: usize) {
        let entry = self.entry(slot);
        entry.publish(Activity::Sleep, sync::now_ns(), b"");
        if let Some(identity) = entry.identity.lock().as_mut() {
            identity.leaves = true;
        }
    }

    /// A session ends.
    pub fn end(&self, slot: usize) {
        self.entry(slot).end_transaction();
        *self.entry(slot).identity.lock() = None;
    }

    /// Kills another session, the one with this connection id; false when there is none.
    pub fn kill(&self, id: u64, level: u8) -> bool {
        let mut found = false;
        self.for_each(|slot, identity| {
            if identity.id == id && !identity.leaves {
                found = true;
                slot.kill(level);
                if level == sync::KILL_CONNECTION {
                    identity.wake.cut();
                }
            }
        });
        found
    }

    /// Kills every session whose user is one of these.
    pub fn kill_where(&self, is_killed: impl Fn(&str) -> bool) {
        self.for_each(|slot, identity| {
            if !identity.leaves && is_killed(&identity.user) {
                slot.kill(sync::KILL_CONNECTION);
                identity.wake.cut();
            }
        });
    }

    /// Sessions of a user, without the one of this connection id.
    pub fn count_of(&self, user: &str, besides: u64) -> u64 {
        let mut count = 0;
        self.for_each(|_, i| {
            count += u64::from(i.user == user && i.id != besides && !i.leaves);
        });
        count
    }

    /// Kills every session: the server stops.
    pub fn kill_all(&self) {
        self.for_each(|slot, identity| {
            slot.kill(sync::KILL_CONNECTION);
            identity.wake.wake();
        });
    }

    /// Calls `f` for every session, under its mutex.
    fn for_each(&self, mut f: impl FnMut(&sync::SessionSlot, &Identity)) {
        for slot in self.slots.sessions() {
            let Some(entry) = self.entry_of(slot) else { continue };
            if let Some(identity) = entry.identity.lock().as_ref()
                && slot.session_id.load(Ordering::Relaxed) == identity.id
            {
                f(slot, identity);
            }
        }
    }

    /// A live slot's entry: the one whose identity carries the slot's session id.
    fn entry_of(&self, slot: &sync::SessionSlot) -> Option<&Entry> {
        let id = slot.session_id.load(Ordering::Relaxed);
        if id == 0 {
            return None;
        }
        let entries = self.entries.iter().filter_map(OnceLock::get);
        entries.map(|e| &**e).find(|e| e.identity.lock().as_ref().is_some_and(|i| i.id == id))
    }

    /// The process list, ordered by connection id, and the sessions that are leaving.
    pub fn processes(&self) -> Vec<Process> {
        let now = sync::now_ns();
        let classes = instrument::classes();
        let mut list = Vec::new();
        let entries = self.entries.iter().enumerate();
        for (number, entry) in entries.filter_map(|(n, e)| Some((n, e.get()?))) {
            let identity = entry.identity.lock();
            let Some(i) = identity.as_ref() else { continue };
            let slot = self.slots.sessions().find(|s| s.session_id.load(Ordering::Relaxed) == i.id);
            let wait = slot.and_then(|s| s.live_wait());
            let waiting = wait.and_then(|w| classes.get(usize::from(w.class)));
            let (activity, since, text) = entry.read();
            let name = Activity::ALL.iter().find(|(a, _)| *a as u32 == activity);
            let killed = slot.is_some_and(|s| s.kill_level() == sync::KILL_CONNECTION);
            let line = ProcessRow {
                id: i.id,
                slot: number,
                since_ns: since,
                user: i.user.clone(),
                host: i.host.clone(),
                db: i.db.clone(),
                command: if killed { "Killed" } else { name.map_or("Query", |(_, n)| n) },
                time_s: now.saturating_sub(since) / 1_000_000_000,
                state: None,
                info: (!text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned()),
                transaction: entry.transaction(),
                leaves: i.leaves,
                attributes: Arc::clone(&i.attributes),
            };
            let query_id = entry.query_id.load(Ordering::Relaxed);
            list.push(Process { line, wait: waiting.map(|c| c.name()), query_id });
        }
        list.sort_by_key(|p| p.line.id);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;
    impl Wake for Silent {
        fn wake(&self) {}
        fn cut(&self) {}
    }

    #[test]
    fn kill_finds_the_session_and_nobody_else() {
        let slots = SlotTable::new(8, 8);
        let registry = Registry::new(Arc::clone(&slots));
        let sessions: Vec<_> = (0..3)
            .map(|i| {
                let slot = slots.acquire_session().unwrap();
                slot.session_id.store(10 + i, Ordering::Relaxed);
                registry.begin(slot.index(), 10 + i, format!("h{i}"), Arc::new(Silent));
                slot
            })
            .collect();
        assert!(registry.kill(11, sync::KILL_QUERY));
        assert!(!registry.kill(99, sync::KILL_QUERY));
        let killed: Vec<_> = sessions.iter().map(|s| s.killed()).collect();
        assert_eq!(killed, [false, true, false]);
        registry.leave(sessions[2].index());
        assert!(!registry.kill(12, sync::KILL_QUERY), "it has no client any more");
        assert_eq!(registry.processes().iter().filter(|p| p.line.leaves).count(), 1);
        registry.end(sessions[0].index());
        assert_eq!(registry.processes().iter().map(|p| p.line.id).collect::<Vec<_>>(), [11, 12]);
    }

    #[test]
    fn the_process_list_shows_what_was_published() {
        let slots = SlotTable::new(2, 2);
        let registry = Registry::new(Arc::clone(&slots));
        let slot = slots.acquire_session().unwrap();
        slot.session_id.store(5, Ordering::Relaxed);
        registry.begin(slot.index(), 5, "localhost".into(), Arc::new(Silent));
        registry.rename(slot.index(), "root", Some("db"));
        let entry = registry.entry(slot.index());
        entry.publish(Activity::Query, sync::now_ns(), b"select 1 from t");
        let p = registry.processes().remove(0);
        assert_eq!((p.line.command, p.line.info.as_deref()), ("Query", Some("select 1 from t")));
        assert_eq!((p.line.user.as_str(), p.line.db.as_deref()), ("root", Some("db")));
        entry.publish(Activity::Sleep, sync::now_ns(), b"");
        let p = registry.processes().remove(0);
        assert_eq!((p.line.info, p.query_id), (None, (5 << 32) + 2), "Connect and one statement");
    }
}
