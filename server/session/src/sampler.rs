//! The active session history: each second a thread of the server's own notes what each active session is at.
//!
//! 1. Active is who runs a statement, and who is idle and in the way of somebody who waits. 2. Sessions write nothing for it:
//! what is read is what they publish for the process list and while they wait. Whom a session waits for is looked up if
//! it does. 3. The digest is made of the text that the process list keeps, by the server's sql_mode: a text that
//! is cut off has none.

use crate::registry::{Active, TEXT_BYTES_MAX};
use crate::secrets;
use crate::server::Server;
use crate::states;
use engine::Undoing;
use instrument::{Class, IDLE, SampledWait, SessionSample, WaitObject, class_numbered};
use parser::SqlMode;
use parser::digest::DigestLimits;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stdx::Ordering;

/// How often is sampled.
const EVERY: Duration = Duration::from_secs(1);
/// How much of a statement is kept, in bytes.
const SAMPLED_BYTES_MAX: usize = 256;
/// For so many texts the digest is remembered.
const TEXTS_MAX: usize = 1024;

/// Starts the thread that samples, or stops it. Where there is no Performance Schema, there is no such thread.
///
/// # Errors
/// There is no room for another thread.
pub fn switch(server: &Arc<Server>, on: bool) -> io::Result<()> {
    if !on || !instrument::is_on() {
        server.sampler.stop();
        return Ok(());
    }
    let weak = Arc::downgrade(server);
    let mut digests = Digests::default();
    let tick = move || {
        let Some(server) = weak.upgrade() else { return false };
        let now_us = host::clock::unix_micros();
        instrument::add_session_samples(now_us, samples(&server, now_us, &mut digests));
        true
    };
    server.sampler.start("session_sampler", EVERY, tick)
}

/// Does what the variable says at start.
pub fn start(server: &Arc<Server>) -> io::Result<()> {
    switch(server, server.globals.number("limpid_session_history") != 0)
}

/// What all active sessions are at.
fn samples(server: &Server, now_us: u64, digests: &mut Digests) -> Vec<SessionSample> {
    let waits = Waits::of(server);
    let mut taking =
        Taking { server, waits, names: HashMap::new(), now_us, now_ns: sync::now_ns() };
    digests.begin(server);
    let mut samples = Vec::new();
    let blocks = |slot: usize| taking.waits.blocking.contains(&slot);
    let mut active = Vec::new();
    server.registry.each_active(blocks, |session| active.push(Seen::of(session)));
    for seen in active {
        samples.push(taking.sample(seen, digests));
    }
    samples
}

/// What is copied of a session while its mutex is held; numbers, names, and what it waits for.
struct Seen {
    number: usize,
    since_ns: u64,
    sleeps: bool,
    transaction_us: u64,
    live: Option<sync::LiveWait>,
    stage: Option<&'static str>,
    text: Vec<u8>,
    sample: SessionSample,
}

impl Seen {
    fn of(session: Active<'_>) -> Seen {
        let sample = SessionSample {
            thread_id: session.slot.thread_id.load(Ordering::Relaxed),
            session_id: session.id,
            user: session.user.into(),
            db: session.db.map(Box::from),
            command: session.command,
            ..SessionSample::default()
        };
        Seen {
            number: session.number,
            since_ns: session.since_ns,
            sleeps: session.sleeps,
            transaction_us: session.transaction_us,
            live: session.slot.live_wait(),
            stage: instrument::stage_of(&session.slot.counters).map(|stage| stage.name),
            text: session.text,
            sample,
        }
    }
}

/// Who waits for whom, by slots.
#[derive(Default)]
struct Waits {
    first: HashMap<usize, usize>,
    blocking: HashSet<usize>,
}

impl Waits {
    fn of(server: &Server) -> Waits {
        let engine = &server.engine;
        let found = engine.waits().blockers();
        let mut waits = Waits {
            first: found.first.into_iter().map(|(w, b)| (w as usize, b as usize)).collect(),
            blocking: found.all.into_iter().map(|slot| slot as usize).collect(),
        };
        // Rows are waited for without edges while nobody searches for deadlocks.
        if engine.locks().waiting() > 0 && server.globals.number("innodb_deadlock_detect") == 0 {
            let slots = engine.slots();
            for slot in slots.sessions().map(|slot| slots.session_index(slot)) {
                if let Some(blocker) = engine.locks().blocker(engine.locks().owner(slot)) {
                    waits.first.insert(slot, blocker);
                    waits.blocking.insert(blocker);
                }
            }
        }
        waits
    }
}

/// The samples of one moment in the making.
struct Taking<'s> {
    server: &'s Server,
    waits: Waits,
    /// Indexes that somebody waits to lock a row of.
    names: HashMap<base::IndexId, Option<WaitObject>>,
    now_us: u64,
    now_ns: u64,
}

impl Taking<'_> {
    fn sample(&mut self, seen: Seen, digests: &mut Digests) -> SessionSample {
        let text = String::from_utf8_lossy(&seen.text);
        let kept = sampled_text(&text);
        let digest = digests.of(&seen.text);
        let state = if seen.sleeps { "" } else { self.state(&seen, &text) };
        let transaction_ns = (seen.transaction_us != 0)
            .then(|| self.now_us.saturating_sub(seen.transaction_us).saturating_mul(1000));
        SessionSample {
            state,
            command_ns: self.now_ns.saturating_sub(seen.since_ns),
            wait: self.wait(&seen),
            blocker: self.waits.first.get(&seen.number).and_then(|slot| self.named(*slot)),
            transaction_ns,
            digest,
            text: kept,
            ..seen.sample
        }
    }

    /// THREAD_ID (0: it has none) and connection id of the session in a slot; there is none in that of a transaction prepared by XA.
    fn named(&self, slot: usize) -> Option<(u64, u64)> {
        let slot = self.server.engine.slots().session(slot);
        let [thread_id, id] =
            [&slot.thread_id, &slot.session_id].map(|n| n.load(Ordering::Relaxed));
        (id != 0).then_some((thread_id, id))
    }

    /// As the process list tells it.
    fn state(&self, seen: &Seen, text: &str) -> &'static str {
        match self.server.engine.progress(seen.number).undoing {
            Some(Undoing::Statement) => "query end",
            Some(Undoing::Transaction | Undoing::Savepoint) => "starting",
            None => {
                let wait = seen.live.and_then(|live| class_numbered(live.class)).map(Class::name);
                let waits = wait == Some(mdl::WAIT_CLASS);
                let lock = || self.server.catalog.mdl().waited_for(seen.number);
                states::state_of(wait, waits.then(lock).flatten(), (seen.stage, text))
            }
        }
    }

    fn wait(&mut self, seen: &Seen) -> Option<SampledWait> {
        if seen.sleeps {
            let (class, ns): (&'static Class, _) =
                (&IDLE, self.now_ns.saturating_sub(seen.since_ns));
            return Some(SampledWait { class, ns, number: 0, object: None });
        }
        let live = seen.live?;
        let class = class_numbered(live.class)?;
        let ns = self.now_ns.saturating_sub(live.start_ns);
        let (number, object) = match class.name() {
            mdl::WAIT_CLASS => {
                let about = self.server.catalog.mdl().waits_about(seen.number);
                about.map_or((live.object, None), |(number, object)| (number, Some(object)))
            }
            name if name == sync::waits::ROW_LOCK.class().name() => {
                (live.object, self.sampled_row(seen.number))
            }
            _ => (live.object, None),
        };
        Some(SampledWait { class, ns, number, object: object.map(Box::new) })
    }

    /// The table and index of which a session waits for a row.
    fn sampled_row(&mut self, slot: usize) -> Option<WaitObject> {
        let locks = self.server.engine.locks();
        let index = locks.awaited_index(locks.owner(slot))?;
        let catalog = &self.server.catalog;
        let object = || {
            let [schema, name, index] = schema::names_of_index(catalog, index)?;
            let text = |text: String| Some(Arc::from(text));
            let (schema, name, index) = (text(schema), text(name), text(index));
            Some(WaitObject { kind: Some("TABLE"), schema, name, index })
        };
        self.names.entry(index).or_insert_with(object).clone()
    }
}

/// The beginning of a text, without passwords.
fn sampled_text(text: &str) -> Box<[u8]> {
    let frequent = ["SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT"];
    let hidden = match frequent.contains(&&*states::verb(text)) {
        true => None,
        false => Some(secrets::hidden(text)),
    };
    let text = hidden.as_deref().unwrap_or(text);
    text.as_bytes()[..text.floor_char_boundary(SAMPLED_BYTES_MAX)].into()
}

/// Digests of texts, the latest of which are remembered.
#[derive(Default)]
struct Digests {
    known: HashMap<Box<[u8]>, Option<[u8; 32]>>,
    mode: SqlMode,
    bytes_max: usize,
}

impl Digests {
    /// A moment begins: takes over what variables say.
    fn begin(&mut self, server: &Server) {
        let mode = SqlMode::of_bits(server.globals.number("sql_mode"));
        let bytes_max = server.globals.number("max_digest_length") as usize;
        if (mode, bytes_max) != (self.mode, self.bytes_max) || self.known.len() > TEXTS_MAX {
            self.known.clear();
        }
        (self.mode, self.bytes_max) = (mode, bytes_max);
    }

    fn of(&mut self, text: &[u8]) -> Option<[u8; 32]> {
        if text.is_empty() || text.len() >= TEXT_BYTES_MAX || self.bytes_max == 0 {
            return None;
        }
        if let Some(digest) = self.known.get(text) {
            return *digest;
        }
        let limits = DigestLimits::whole(self.bytes_max);
        let parsed = parser::parse_digested(text, 0, self.mode, true, limits).ok();
        let digest = parsed.and_then(|parsed| parsed.digest).map(|digest| digest.hash);
        if self.known.len() <= TEXTS_MAX {
            self.known.insert(text.into(), digest);
        }
        digest
    }
}
