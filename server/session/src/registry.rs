//! Who is connected and what they are doing: SHOW PROCESSLIST and KILL.
//!
//! 1. There is one entry per session slot, made when the slot is first used; no lock covers them all.
//! 2. What changes with every statement (command, start, text) is written by plain stores into the
//!    session's own entry, under a sequence number that a reader checks: a statement writes nothing that
//!    another session writes.
//! 3. Who it is changes rarely and lies under the entry's mutex; KILL acts under that mutex, and a session
//!    ends by clearing it, so a KILL never hits the slot's next owner. Lists read it from a badge, without the mutex.
//! 4. Who waits for the ends of statements says so before he looks who runs one ([`Registry::await_statements`]); whoever ends one
//!    publishes that, and then looks whether somebody waits ([`sync::asym`]): one of the two sees the other.

mod active;
mod badge;
mod entry;
mod figures;
mod list;

pub(crate) use active::Active;
pub use entry::{Activity, Entry, TEXT_BYTES_MAX};
pub(crate) use entry::{FOREIGN_KEY_CHECKS, READ_ONLY, UNIQUE_CHECKS};

use crate::connected::{Connected, Listed};
use crate::prepared_list::PreparedList;
use crate::states::FLUSH;
use crate::variables::Told;
use catalog::{Client, ProcessRow};
use figures::status_of;
use instrument::PreparedReport;
use std::sync::{Arc, OnceLock};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Event, SlotTable};

instrument::classes! {
    static FLUSHED: CondClass = FLUSH;
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
    thread_id: u64,
    /// User and host that it counts for among the connected, once the user is known.
    account: Option<(String, String)>,
    /// Where it counts for that.
    listed: Listed,
    client: Arc<Client>,
    wake: Arc<dyn Wake>,
    /// What it tells of its variables.
    told: Arc<Told>,
    /// Its prepared statements.
    prepared: Arc<PreparedList>,
    /// The client is gone.
    leaves: bool,
    /// SUPER or CONNECTION_ADMIN.
    is_super: bool,
    /// SYSTEM_USER.
    is_system: bool,
    /// Its counters at the last FLUSH STATUS: what its own status counts from. Empty: there was none since it began.
    status_before: Vec<u64>,
}

/// Characters of a statement in [`Registry::who`].
const BLAMED_CHARS_MAX: usize = 200;

/// A session, to who looks through them all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its line of the process list; what it waits for is not in it.
    pub line: ProcessRow,
    /// It runs nothing, nor is it leaving: its state is the empty text.
    pub is_idle: bool,
    /// Class of the wait it is in; none while it is idle.
    pub wait: Option<&'static str>,
    /// The stage it is in.
    pub stage: Option<&'static str>,
    /// Number of the statement; see [`Registry::begin`].
    pub query_id: u64,
}

/// Every session of the server.
pub struct Registry {
    entries: Vec<OnceLock<Arc<Entry>>>,
    slots: Arc<SlotTable>,
    /// Connections by account, user and host.
    pub(crate) connected: Connected,
    /// How many wait for the ends of statements; read by each statement, seldom written.
    awaiting: SharedAtomic<u32, { class::SESSION }>,
    ended: Event,
}

/// That somebody waits for the ends of statements.
pub(crate) struct Awaiting<'r>(&'r Registry);

impl Awaiting<'_> {
    /// Where each end is announced.
    pub fn ended(&self) -> &Event {
        &self.0.ended
    }
}

impl Drop for Awaiting<'_> {
    fn drop(&mut self) {
        self.0.awaiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Registry {
    /// A registry over the engine's session slots.
    pub fn new(slots: Arc<SlotTable>) -> Self {
        let entries = (0..slots.sessions_max()).map(|_| OnceLock::new()).collect();
        Self {
            entries,
            slots,
            connected: Connected::new(),
            awaiting: SharedAtomic::new(0),
            ended: Event::new(&FLUSHED),
        }
    }

    /// From now on each end of a statement is announced (invariant 4).
    pub(crate) fn await_statements(&self) -> Awaiting<'_> {
        self.awaiting.fetch_add(1, Ordering::Relaxed);
        sync::asym::heavy();
        Awaiting(self)
    }

    /// A session's statement has ended, or the session, which has published it.
    #[inline]
    pub fn has_ended(&self) {
        sync::asym::light();
        if self.awaiting.load(Ordering::Relaxed) != 0 {
            self.ended.notify_all();
        }
    }

    /// The entry of a slot, which its session keeps at hand.
    pub fn entry(&self, slot_index: usize) -> &Arc<Entry> {
        self.entries[slot_index].get_or_init(|| Arc::new(Entry::new()))
    }

    /// A session begins. Its statements are numbered from `id << 32`: every session has a range of its own,
    /// so no counter is shared.
    pub fn begin(&self, slot: usize, id: u64, host: String, wake: Arc<dyn Wake>) {
        let entry = self.entry(slot);
        entry.query_id.store(id << 32, Ordering::Relaxed);
        entry.publish(Activity::Connect, sync::now_ns(), b"");
        let client = Client { user: "unauthenticated user".into(), host, ..Client::default() };
        let (of, thread_id) = (self.slots.session(slot), host::thread::take_id());
        of.thread_id.store(thread_id, Ordering::Relaxed);
        of.counters.set_thread_id(thread_id);
        if thread_id == 0 {
            of.set_monitoring(0);
        }
        entry.os_id.store(0, Ordering::Relaxed);
        let identity = Identity {
            id,
            thread_id,
            account: None,
            listed: Listed::default(),
            client: Arc::new(client),
            wake,
            told: Arc::default(),
            prepared: Arc::default(),
            leaves: false,
            is_super: false,
            is_system: false,
            status_before: Vec::new(),
        };
        let mut place = entry.identity.lock();
        entry.badge.write(place.insert(identity));
    }

    /// A proxy says where a session's client comes from.
    pub fn comes_from(&self, slot: usize, host: String) {
        self.entry(slot).change(|identity| Arc::make_mut(&mut identity.client).host = host);
    }

    /// A session learns who its user is, or changes its schema; whether the user is another one than before.
    pub fn rename(&self, slot: usize, user: &str, db: Option<&str>) -> bool {
        let renamed = self.entry(slot).change(|identity| {
            let host = host_of(&identity.client.host);
            let same = identity.account.as_ref().is_some_and(|a| a.0 == user && a.1 == host);
            if !same {
                let account = (user.to_string(), host.to_string());
                let of = self.slots.session(slot);
                let before = std::mem::replace(&mut identity.listed, self.list(of, user, host));
                if let Some((user, host)) = identity.account.replace(account) {
                    let counted = identity.counted(of);
                    identity.status_before = status_of(of);
                    let fold = || instrument::fold_page(&of.counters);
                    self.connected.go((&user, &host), before, &counted, fold);
                }
            }
            let client = Arc::make_mut(&mut identity.client);
            client.user = user.to_string();
            client.db = db.map(str::to_string);
            !same
        });
        renamed.unwrap_or(false)
    }

    /// A session is told of as this user's, as far as there is room; without a thread it is nobody's, and nothing is measured.
    fn list(&self, of: &sync::SessionSlot, user: &str, host: &str) -> Listed {
        if of.thread_id.load(Ordering::Relaxed) == 0 {
            return Listed::default();
        }
        of.set_monitoring(monitoring_of(user, host));
        self.connected.come(user, host)
    }

    /// The calling thread carries a session from now on.
    pub fn runs_on(&self, slot: usize, os_id: u64) {
        self.entry(slot).os_id.store(os_id, Ordering::Relaxed);
    }

    /// The THREAD_ID of a connection, if it has one.
    pub fn thread_of(&self, id: u64) -> Option<u64> {
        let found = self.live().find(|(_, s, _)| s.session_id.load(Ordering::Relaxed) == id);
        found.and_then(|(_, slot, _)| thread_in(slot))
    }

    /// Switches the monitoring of the session with this THREAD_ID; false when there is none.
    pub fn set_monitoring(&self, thread_id: u64, bits: u8) -> bool {
        let is_it = |s: &sync::SessionSlot| s.thread_id.load(Ordering::Relaxed) == thread_id;
        let found = self.live().find(|(_, slot, _)| is_it(slot));
        let found = found.map(|(_, slot, _)| slot.set_monitoring(bits)).is_some();
        instrument::note_switch();
        found
    }

    /// What the client of a session says of itself, and whether TLS secures its connection.
    pub fn describe(&self, slot: usize, secured: bool, attributes: Vec<(String, String)>) {
        self.entry(slot).change(|identity| {
            let client = Arc::make_mut(&mut identity.client);
            (client.secured, client.attributes) = (secured, attributes);
        });
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
        self.for_each(|slot, _, i| {
            if let Some(thread_id) = thread_in(slot).filter(|_| !i.leaves) {
                lists.push((thread_id, Arc::clone(&i.prepared)));
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
        self.for_each(|slot, _, i| {
            if let Some(thread_id) = thread_in(slot).filter(|_| !i.leaves) {
                told.push((thread_id, i.id, Arc::clone(&i.told)));
            }
        });
        told.sort_by_key(|(thread_id, ..)| *thread_id);
        told
    }

    /// Who is connected and has a thread, with what each client said of itself, ordered by connection id, which is beside each.
    pub fn clients(&self) -> Vec<(u64, Arc<Client>)> {
        let mut clients = Vec::new();
        self.for_each(|slot, _, i| {
            if !i.leaves && thread_in(slot).is_some() {
                clients.push((i.id, Arc::clone(&i.client)));
            }
        });
        clients.sort_by_key(|(id, _)| *id);
        clients
    }

    /// The client of a session is gone, or is to be. No list of clients has it any more and no KILL finds it, while
    /// its transaction is rolled back.
    pub fn leave(&self, slot: usize) {
        let entry = self.entry(slot);
        entry.publish(Activity::Sleep, sync::now_ns(), b"");
        entry.change(|identity| identity.leaves = true);
    }

    /// A session ends.
    pub fn end(&self, slot: usize) {
        let entry = self.entry(slot);
        entry.end_transaction();
        self.has_ended();
        let ended = {
            let mut identity = entry.identity.lock();
            entry.badge.clear();
            identity.take()
        };
        let Some(ended) = ended else { return };
        let of = self.slots.session(slot);
        if let Some((user, host)) = &ended.account {
            let leave = || instrument::leave_page(&of.counters);
            self.connected.go((user, host), ended.listed, &ended.counted(of), leave);
        }
        host::thread::give_back_id(of.thread_id.load(Ordering::Relaxed));
    }

    /// Kills another session, the one with this connection id; false when there is none.
    pub fn kill(&self, id: u64, level: u8) -> bool {
        let mut found = false;
        self.for_each(|slot, entry, identity| {
            if identity.id == id && !identity.leaves {
                found = true;
                match level {
                    sync::KILL_CONNECTION => cut(slot, entry, identity),
                    _ => slot.kill(level),
                }
            }
        });
        found
    }

    /// Kills the session of a slot if it has been in a transaction for so many seconds without doing anything.
    pub fn end_idle(&self, slot: usize, idle_s: u64) {
        let entry = self.entry(slot);
        let Some(identity) = &*entry.identity.lock() else { return };
        let is_idle = entry.activity.load(Ordering::Relaxed) == Activity::Sleep as u32;
        let ns = sync::now_ns().saturating_sub(entry.since_ns());
        if is_idle && entry.is_in_transaction() && ns >= idle_s.saturating_mul(1_000_000_000) {
            cut(self.slots.session(slot), entry, identity);
        }
    }

    /// Who is in a slot and in somebody's way, in words: its number and user, how long it has been in a transaction, and
    /// what it does or did last.
    pub fn who(&self, slot: usize) -> String {
        let entry = self.entry(slot);
        let named = |i: &Identity| format!("{} ({}@{})", i.id, i.client.user, i.client.host);
        let named = entry.identity.lock().as_ref().map(named);
        let Some(named) = named else { return "none (prepared by XA, or ended)".into() };
        let (activity, since_ns, text) = entry.read_last();
        let s = sync::now_ns().saturating_sub(since_ns) / 1_000_000_000;
        let begun_us = entry.transaction().since_us;
        let age_s = (host::clock::unix_micros() as i64).saturating_sub(begun_us) / 1_000_000;
        let open = match begun_us {
            0 => String::new(),
            _ => format!(", in a transaction for {age_s} s"),
        };
        let text: String = String::from_utf8_lossy(&text).chars().take(BLAMED_CHARS_MAX).collect();
        match activity == Activity::Sleep as u32 {
            true if text.is_empty() => format!("{named}{open}, idle for {s} s"),
            true => format!("{named}{open}, idle for {s} s, last statement: {text}"),
            false => format!("{named}{open}, for {s} s in: {text}"),
        }
    }

    /// The number of the statement that the session of a slot runs, if it runs one. In the slot of a prepared transaction there is
    /// no session.
    pub fn statement_of(&self, slot: usize) -> Option<u64> {
        let entry = self.entry(slot);
        entry.identity.lock().as_ref()?;
        let runs = entry.activity.load(Ordering::Relaxed) != Activity::Sleep as u32;
        runs.then(|| entry.query_id.load(Ordering::Relaxed))
    }

    /// Tells what the session's account may do to others, and who may do something to it.
    pub fn set_super(&self, slot: usize, is_super: bool, is_system: bool) {
        if let Some(identity) = self.entry(slot).identity.lock().as_mut() {
            (identity.is_super, identity.is_system) = (is_super, is_system);
        }
    }

    /// The user of the session with this connection id, and whether it has SYSTEM_USER.
    pub fn user_of(&self, id: u64) -> Option<(String, bool)> {
        let mut found = None;
        self.for_each(|_, _, identity| {
            if identity.id == id && !identity.leaves {
                found = Some((identity.client.user.clone(), identity.is_system));
            }
        });
        found
    }

    /// Kills every session of which this is right, as it has SUPER or CONNECTION_ADMIN or not.
    pub fn kill_where(&self, is_killed: impl Fn(bool) -> bool) {
        self.for_each(|slot, entry, identity| {
            if !identity.leaves && is_killed(identity.is_super) {
                cut(slot, entry, identity);
            }
        });
    }

    /// Sessions of a user, without the one of this connection id.
    pub fn count_of(&self, user: &str, besides: u64) -> u64 {
        let mut count = 0;
        self.for_each(|_, _, i| {
            count += u64::from(i.client.user == user && i.id != besides && !i.leaves);
        });
        count
    }

    /// Kills every session: the server stops.
    pub fn kill_all(&self) {
        self.for_each(|slot, entry, identity| {
            slot.kill(sync::KILL_CONNECTION);
            entry.badge.kill();
            identity.wake.wake();
        });
    }

    /// How many sessions run a command.
    pub fn running(&self) -> u64 {
        let idle = [Activity::Sleep as u32, Activity::Connect as u32];
        let activities = self.live().map(|(_, _, entry)| entry.activity.load(Ordering::Relaxed));
        activities.filter(|activity| !idle.contains(activity)).count() as u64
    }

    /// The sessions: slot number, slot, entry. A slot's number is its entry's, so this is linear; no slot is fetched.
    fn live(&self) -> impl Iterator<Item = (usize, &sync::SessionSlot, &Entry)> {
        self.slots.session_numbers().filter_map(|number| {
            let entry = self.entries.get(number)?.get()?;
            entry.badge.is_worn().then(|| (number, self.slots.session(number), &**entry))
        })
    }

    /// Calls `f` for every session, under its mutex.
    fn for_each(&self, mut f: impl FnMut(&sync::SessionSlot, &Entry, &Identity)) {
        for (_, slot, entry) in self.live() {
            if let Some(identity) = entry.identity.lock().as_ref()
                && slot.session_id.load(Ordering::Relaxed) == identity.id
            {
                f(slot, entry, identity);
            }
        }
    }
}

/// Ends a session, whose identity's mutex the caller has.
fn cut(slot: &sync::SessionSlot, entry: &Entry, identity: &Identity) {
    slot.kill(sync::KILL_CONNECTION);
    entry.badge.kill();
    identity.wake.cut();
}

/// The THREAD_ID of the session in a slot; `None`: there was no room for it.
fn thread_in(slot: &sync::SessionSlot) -> Option<u64> {
    Some(slot.thread_id.load(Ordering::Relaxed)).filter(|id| *id != 0)
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

#[cfg(test)]
mod tests;
