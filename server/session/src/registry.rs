//! Who is connected and what they are doing: SHOW PROCESSLIST and KILL.
//!
//! 1. There is one entry per session slot, made when the slot is first used; no lock covers them all.
//! 2. What changes with every statement (command, start, text) is written by plain stores into the
//!    session's own entry, under a sequence number that a reader checks: a statement writes nothing that
//!    another session writes.
//! 3. Who it is changes rarely and lies under the entry's mutex; KILL acts under that mutex, and a session
//!    ends by clearing it, so a KILL never hits the slot's next owner.

use crate::connected::{self, Connected, add_status};
use crate::prepared_list::PreparedList;
use crate::variables::Told;
use catalog::{ConnectedBy, FiguresBy, FiguresRow, ProcessRow, StatusRow, TransactionRow};
use instrument::{Counter, Figures, PageFigures, PreparedReport};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use stdx::{CacheLine, LocalAtomic, Ordering};
use sync::{Mutex, SlotTable};

instrument::classes! {
    static IDENTITY: MutexClass = "wait/synch/mutex/sql/THD::LOCK_thd_data";
}

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
    /// User and host that it counts for among the connected, once the user is known.
    account: Option<(String, String)>,
    user: String,
    host: String,
    db: Option<String>,
    wake: Arc<dyn Wake>,
    /// What the client said of itself: names and values.
    attributes: Arc<[(String, String)]>,
    /// What it tells of its variables.
    told: Arc<Told>,
    /// Its prepared statements.
    prepared: Arc<PreparedList>,
    /// The client is gone.
    leaves: bool,
    /// Its counters at the last FLUSH STATUS: what its own status counts from. Empty: there was none since it began.
    status_before: Vec<u64>,
}

impl Identity {
    /// What the session counted since the last FLUSH STATUS.
    fn counted(&self, slot: &sync::SessionSlot) -> Vec<u64> {
        let mut counted = status_of(slot);
        let before = self.status_before.iter();
        counted.iter_mut().zip(before).for_each(|(n, before)| *n = n.saturating_sub(*before));
        counted
    }
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
    /// The operating system's number of the thread that carries the session.
    os_id: LocalAtomic<u64>,
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
            os_id: LocalAtomic::new(0),
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
        }
        self.since_ns.store(now_ns, Ordering::Relaxed);
        self.text_len.store(text_len.min(TEXT_BYTES_MAX) as u32, Ordering::Relaxed);
        write();
        self.seq.store(seq.wrapping_add(1), Ordering::Release);
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
    /// The stage it is in.
    pub stage: Option<&'static str>,
    /// Number of the statement; see [`Registry::begin`].
    pub query_id: u64,
}

/// Every session of the server.
pub struct Registry {
    entries: Vec<OnceLock<Box<Entry>>>,
    slots: Arc<SlotTable>,
    /// Connections by account, user and host.
    pub(crate) connected: Connected,
}

impl Registry {
    /// A registry over the engine's session slots.
    pub fn new(slots: Arc<SlotTable>) -> Self {
        let entries = (0..slots.sessions_max()).map(|_| OnceLock::new()).collect();
        Self { entries, slots, connected: Connected::new() }
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
        let (of, thread_id) = (self.slots.session(slot), host::thread::next_id());
        of.thread_id.store(thread_id, Ordering::Relaxed);
        of.counters.set_thread_id(thread_id);
        entry.os_id.store(0, Ordering::Relaxed);
        let identity = Identity {
            id,
            account: None,
            user,
            host,
            db: None,
            wake,
            attributes: Arc::default(),
            told: Arc::default(),
            prepared: Arc::default(),
            leaves: false,
            status_before: Vec::new(),
        };
        *entry.identity.lock() = Some(identity);
    }

    /// A session learns who its user is, or changes its schema; whether the user is another one than before.
    pub fn rename(&self, slot: usize, user: &str, db: Option<&str>) -> bool {
        let mut is_other = false;
        if let Some(identity) = self.entry(slot).identity.lock().as_mut() {
            let host = host_of(&identity.host);
            let same = identity.account.as_ref().is_some_and(|a| a.0 == user && a.1 == host);
            if !same {
                is_other = true;
                let account = (user.to_string(), host.to_string());
                self.slots.session(slot).set_monitoring(monitoring_of(user, host));
                self.connected.come(&account.0, &account.1);
                if let Some((user, host)) = identity.account.replace(account) {
                    let counted = identity.counted(self.slots.session(slot));
                    identity.status_before = status_of(self.slots.session(slot));
                    let page = &self.slots.session(slot).counters;
                    self.connected.go(&user, &host, &counted, || instrument::fold_page(page));
                }
            }
            identity.user = user.to_string();
            identity.db = db.map(str::to_string);
        }
        is_other
    }

    /// The calling thread carries a session from now on.
    pub fn runs_on(&self, slot: usize, os_id: u64) {
        self.entry(slot).os_id.store(os_id, Ordering::Relaxed);
    }

    /// The THREAD_ID of a connection.
    pub fn thread_of(&self, id: u64) -> Option<u64> {
        let found = self.live().find(|(_, s, _)| s.session_id.load(Ordering::Relaxed) == id);
        found.map(|(_, slot, _)| slot.thread_id.load(Ordering::Relaxed))
    }

    /// Switches the monitoring of the session with this THREAD_ID; false when there is none.
    pub fn set_monitoring(&self, thread_id: u64, bits: u8) -> bool {
        let is_it = |s: &sync::SessionSlot| s.thread_id.load(Ordering::Relaxed) == thread_id;
        let found = self.live().find(|(_, slot, _)| is_it(slot));
        let found = found.map(|(_, slot, _)| slot.set_monitoring(bits)).is_some();
        instrument::note_switch();
        found
    }

    /// What the client of a session says of itself.
    pub fn describe(&self, slot: usize, attributes: Vec<(String, String)>) {
        if let Some(identity) = self.entry(slot).identity.lock().as_mut() {
            identity.attributes = attributes.into();
        }
    }

    /// Where a session tells of its variables and of its prepared statements.
    pub fn tells(&self, slot: usize, told: &Arc<Told>, prepared: &Arc<PreparedList>) {
        if let Some(identity) = self.entry(slot).identity.lock().as_mut() {
            identity.told = Arc::clone(told);
            identity.prepared = Arc::clone(prepared);
        }
    }

    /// The prepared statements of every session, ordered by THREAD_ID, which is beside each.
    pub fn prepared(&self) -> Vec<(u64, PreparedReport)> {
        let mut lists = Vec::new();
        self.for_each(|slot, i| {
            if !i.leaves {
                lists.push((slot.thread_id.load(Ordering::Relaxed), Arc::clone(&i.prepared)));
            }
        });
        lists.sort_by_key(|(thread_id, _)| *thread_id);
        let reports = |(thread_id, list): (u64, Arc<PreparedList>)| {
            list.reports().into_iter().map(move |report| (thread_id, report))
        };
        lists.into_iter().flat_map(reports).collect()
    }

    /// What sessions tell of their variables, ordered by THREAD_ID: it, the connection id, and where they tell.
    pub fn told(&self) -> Vec<(u64, u64, Arc<Told>)> {
        let mut told = Vec::new();
        self.for_each(|slot, i| {
            if !i.leaves {
                told.push((slot.thread_id.load(Ordering::Relaxed), i.id, Arc::clone(&i.told)));
            }
        });
        told.sort_by_key(|(thread_id, ..)| *thread_id);
        told
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
        let Some(ended) = self.entry(slot).identity.lock().take() else { return };
        if let Some((user, host)) = &ended.account {
            let of = self.slots.session(slot);
            self.connected.go(user, host, &ended.counted(of), || {
                of.counters.set_thread_id(0);
                PageFigures::of(&of.counters)
            });
        }
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

    /// FLUSH STATUS: the status of every session begins anew; the server's, to which they were added all the time,
    /// goes on.
    pub fn flush_status(&self) {
        self.connected.flush_status();
        instrument::forget_files_lost();
        instrument::forget_digests_lost();
        instrument::forget_prepared_lost();
        for (_, slot, entry) in self.live() {
            if let Some(identity) = entry.identity.lock().as_mut() {
                identity.status_before = status_of(slot);
            }
        }
    }

    /// The status counters of a session since the last FLUSH STATUS, by their numbers.
    pub fn status(&self, slot: usize) -> Vec<u64> {
        let of = self.slots.session(slot);
        let identity = self.entry(slot).identity.lock();
        identity.as_ref().map_or_else(|| status_of(of), |identity| identity.counted(of))
    }

    /// Status counters by account, user or host, of those who are there and those who went; `None`: by session.
    pub fn status_by(&self, by: Option<ConnectedBy>) -> Vec<StatusRow> {
        let mut there = Vec::new();
        for (_, slot, entry) in self.live() {
            let identity = entry.identity.lock();
            let Some(i) = identity.as_ref().filter(|i| !i.leaves) else { continue };
            let (user, host) = i.account.clone().unwrap_or_default();
            let thread_id = slot.thread_id.load(Ordering::Relaxed);
            there.push(StatusRow { thread_id, user, host, counts: i.counted(slot) });
        }
        let Some(by) = by else {
            there.sort_by_key(|row| row.thread_id);
            return there;
        };
        let mut rows = self.connected.status(by);
        for row in &mut rows {
            let same = |s: &&StatusRow| {
                (by == ConnectedBy::Host || s.user == row.user)
                    && (by == ConnectedBy::User || s.host == row.host)
            };
            for session in there.iter().filter(same) {
                add_status(&mut row.counts, &session.counts);
            }
        }
        rows
    }

    /// TRUNCATE of [`Self::status_by`]: sessions begin anew, and what they counted is their accounts'.
    pub fn truncate_status(&self, by: Option<ConnectedBy>) {
        if let Some(by) = by {
            return self.connected.truncate_status(by);
        }
        for (_, slot, entry) in self.live() {
            let mut identity = entry.identity.lock();
            let Some(i) = identity.as_mut() else { continue };
            if let Some((user, host)) = &i.account {
                self.connected.add_status(user, host, &i.counted(slot));
            }
            i.status_before = status_of(slot);
        }
    }

    /// What threads did, ordered by THREAD_ID.
    fn figures_by_thread(&self, of: impl FnOnce() -> Vec<(u64, PageFigures)>) -> Vec<FiguresRow> {
        let account = |(_, slot, entry): (usize, &sync::SessionSlot, &Entry)| {
            let identity = entry.identity.lock();
            let account = identity.as_ref()?.account.clone().unwrap_or_default();
            Some((slot.thread_id.load(Ordering::Relaxed), account))
        };
        let accounts: HashMap<u64, (String, String)> = self.live().filter_map(account).collect();
        let row = |(thread_id, figures)| FiguresRow {
            thread_id,
            account: accounts.get(&thread_id).cloned(),
            figures,
        };
        let mut rows: Vec<FiguresRow> = of().into_iter().map(row).collect();
        rows.sort_by_key(|row| row.thread_id);
        rows
    }

    /// What was done by account, user or host, by those who are there and those who went; `None`: by thread. The server's
    /// own threads come first.
    pub fn figures_by(&self, by: Option<ConnectedBy>) -> Vec<FiguresRow> {
        let Some(by) = by else { return self.figures_by_thread(instrument::figures_by_thread) };
        // A session that goes meanwhile would be missed, or counted twice; where they always go, one may.
        const TRIES: u32 = 20;
        let mut rows = Vec::new();
        for _ in 0..TRIES {
            let moves = self.connected.moves();
            rows = self.connected.figures(by);
            for thread in self.figures_by_thread(instrument::figures_by_thread) {
                let key = thread.account.map(|(user, host)| connected::key(by, &user, &host));
                if let Some(row) = rows.iter_mut().find(|row| row.account == key) {
                    row.figures.add(&thread.figures);
                }
            }
            if self.connected.moves() == moves {
                break;
            }
        }
        rows
    }

    /// TRUNCATE of [`Self::figures_by`]: threads begin anew, and what they did is their accounts', unless those are
    /// truncated.
    pub fn truncate_figures(&self, by: FiguresBy, figures: Figures) {
        let folded = self.figures_by_thread(|| instrument::fold_figures(figures));
        self.connected.add_figures(&folded);
        match by {
            FiguresBy::Thread => {}
            FiguresBy::Connected(by) => self.connected.truncate_figures(by, figures),
            FiguresBy::Everything => {
                connected::ALL
                    .into_iter()
                    .for_each(|by| self.connected.truncate_figures(by, figures));
                instrument::empty(figures);
            }
        }
    }

    /// How many sessions run a command.
    pub fn running(&self) -> u64 {
        let idle = [Activity::Sleep as u32, Activity::Connect as u32];
        let activities = self.live().map(|(_, _, entry)| entry.activity.load(Ordering::Relaxed));
        activities.filter(|activity| !idle.contains(activity)).count() as u64
    }

    /// The sessions: slot number, slot, entry. A slot's number is its entry's, so this is linear.
    fn live(&self) -> impl Iterator<Item = (usize, &sync::SessionSlot, &Entry)> {
        self.slots.sessions().filter_map(|slot| {
            let number = self.slots.session_index(slot);
            let entry = self.entries.get(number)?.get()?;
            (slot.session_id.load(Ordering::Relaxed) != 0).then_some((number, slot, &**entry))
        })
    }

    /// Calls `f` for every session, under its mutex.
    fn for_each(&self, mut f: impl FnMut(&sync::SessionSlot, &Identity)) {
        for (_, slot, entry) in self.live() {
            if let Some(identity) = entry.identity.lock().as_ref()
                && slot.session_id.load(Ordering::Relaxed) == identity.id
            {
                f(slot, identity);
            }
        }
    }

    /// The process list, ordered by connection id, and the sessions that are leaving.
    pub fn processes(&self) -> Vec<Process> {
        let now = sync::now_ns();
        let mut list = Vec::new();
        for (number, slot, entry) in self.live() {
            let identity = entry.identity.lock();
            let Some(i) = identity.as_ref() else { continue };
            let waiting = slot.live_wait().and_then(|w| instrument::class_numbered(w.class));
            let (activity, since, text) = entry.read();
            let name = Activity::ALL.iter().find(|(a, _)| *a as u32 == activity);
            let killed = slot.kill_level() == sync::KILL_CONNECTION;
            let line = ProcessRow {
                id: i.id,
                thread_id: slot.thread_id.load(Ordering::Relaxed),
                slot: number,
                os_id: entry.os_id.load(Ordering::Relaxed),
                monitoring: slot.monitoring(),
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
            let stage = instrument::stage_of(&slot.counters).map(|stage| stage.name);
            list.push(Process { line, wait: waiting.map(|c| c.name()), stage, query_id });
        }
        list.sort_by_key(|p| p.line.id);
        list
    }
}

/// What `setup_actors` says of a session that begins.
fn monitoring_of(user: &str, host: &str) -> u8 {
    let (enabled, history) = instrument::actor_switches(user, host);
    (u8::from(enabled) * sync::MONITORED) | (u8::from(history) * sync::HISTORY)
}

/// The host of what the process list shows, which has a port behind it for TCP.
fn host_of(shown: &str) -> &str {
    shown.rsplit_once(':').map_or(shown, |(host, _)| host)
}

/// A session's status counters since it began, by their numbers.
fn status_of(slot: &sync::SessionSlot) -> Vec<u64> {
    Counter::ALL.iter().map(|c| slot.counters.counter(*c)).collect()
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

    /// A registry of so many sessions, and what keeps them.
    fn with_sessions(n: usize) -> (Registry, Vec<sync::SessionSlotRef>) {
        let slots = SlotTable::new(n, 1);
        let registry = Registry::new(Arc::clone(&slots));
        let begin = |id: usize| {
            let slot = slots.acquire_session().unwrap();
            slot.session_id.store(id as u64 + 1, Ordering::Relaxed);
            registry.begin(slot.index(), id as u64 + 1, format!("h{id}"), Arc::new(Silent));
            slot
        };
        let sessions = (0..n).map(begin).collect();
        (registry, sessions)
    }

    /// For [`the_lists_of_sessions_cost_as_much_as_there_are_sessions`], which runs it under callgrind.
    #[test]
    #[ignore = "run by another test"]
    fn lists_of_sessions() {
        let n = std::env::var("LIMPID_SESSIONS").map_or(10, |n| n.parse().unwrap());
        let (registry, sessions) = with_sessions(n);
        every_list(&registry, &sessions);
    }

    /// Everything that looks through all sessions.
    #[inline(never)]
    fn every_list(registry: &Registry, sessions: &[sync::SessionSlotRef]) {
        assert_eq!(registry.processes().len(), sessions.len());
        assert_eq!((registry.running(), registry.count_of("nobody", 0)), (0, 0));
        assert!(!registry.kill(u64::MAX, sync::KILL_QUERY));
        assert_eq!(registry.thread_of(u64::MAX), None);
        registry.flush_status();
    }

    #[test]
    fn the_lists_of_sessions_cost_as_much_as_there_are_sessions() {
        let cost = |n: usize| {
            let out = std::env::temp_dir().join(format!("limpid-list-{}-{n}", std::process::id()));
            let run = std::process::Command::new("valgrind")
                .args(["--tool=callgrind", "--toggle-collect=*every_list*", "--quiet"])
                .arg(format!("--callgrind-out-file={}", out.display()))
                .arg(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "registry::tests::lists_of_sessions"])
                .env("LIMPID_SESSIONS", n.to_string())
                .output()
                .unwrap();
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            let text = std::fs::read_to_string(&out).unwrap();
            std::fs::remove_file(&out).unwrap();
            let total = text.lines().rfind(|l| l.starts_with("totals:")).unwrap();
            total.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
        };
        let (few, many) = (cost(100), cost(1000));
        assert!(few > 10_000.0 && many <= 12.0 * few, "{few} instructions of 100, {many} of 1,000");
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
