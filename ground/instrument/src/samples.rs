//! The active session history: what each active session was at, moment by moment.
//!
//! 1. Samples are kept for [`AGE_US_MAX`], in the order in which they were taken, and as far as there is room: in what the
//! history may take for itself, and below `performance_schema_memory_limit`. Where there is none, the oldest moment makes room.
//! 2. Only who samples, who reads and who empties take the mutex: no session meets it while it works.

use crate::history::lose;
use crate::{Class, WaitObject};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use stdx::lock;

/// How long samples are kept, in microseconds.
pub const AGE_US_MAX: u64 = 3600 * 1_000_000;

/// `limpid_session_history_size`, in bytes.
static BYTES_MAX: AtomicU64 = AtomicU64::new(u64::MAX);

crate::classes! {
    static SAMPLES: OwnMemory = "memory/performance_schema/limpid_session_samples";
}

/// What a session was at.
#[derive(Debug, Clone, Default)]
pub struct SessionSample {
    /// THREAD_ID.
    pub thread_id: u64,
    /// Connection id.
    pub session_id: u64,
    /// User.
    pub user: Box<str>,
    /// Current schema.
    pub db: Option<Box<str>>,
    /// What it did, as the process list calls it.
    pub command: &'static str,
    /// Its state, as the process list calls it.
    pub state: &'static str,
    /// How long it had done that, in nanoseconds.
    pub command_ns: u64,
    /// What it waited for.
    pub wait: Option<SampledWait>,
    /// THREAD_ID and connection id of a session that it waited for.
    pub blocker: Option<(u64, u64)>,
    /// How old its transaction was, in nanoseconds.
    pub transaction_ns: Option<u64>,
    /// Hash of its statement's digest.
    pub digest: Option<[u8; 32]>,
    /// The beginning of its statement; of who was idle, of its last one.
    pub text: Box<[u8]>,
}

/// The wait that a session was in.
#[derive(Debug, Clone)]
pub struct SampledWait {
    /// The instrument.
    pub class: &'static Class,
    /// How long it had lasted, in nanoseconds.
    pub ns: u64,
    /// OBJECT_INSTANCE_BEGIN.
    pub number: u64,
    /// What was waited for, where that has names.
    pub object: Option<Box<WaitObject>>,
}

impl SessionSample {
    /// The memory that it takes.
    fn bytes(&self) -> usize {
        let object = self.wait.as_ref().and_then(|wait| wait.object.as_deref());
        let of_object = object.map_or(0, |WaitObject { schema, name, index, .. }| {
            let names = [schema, name, index].into_iter().flatten();
            // An `Arc` has two counts beside its text.
            size_of::<WaitObject>()
                + names.map(|name| name.len() + 2 * size_of::<usize>()).sum::<usize>()
        });
        let of_texts =
            self.user.len() + self.db.as_ref().map_or(0, |db| db.len()) + self.text.len();
        size_of::<SessionSample>() + of_object + of_texts
    }
}

/// All samples of one moment.
#[derive(Debug)]
struct Moment {
    time_us: u64,
    samples: Vec<SessionSample>,
    bytes: usize,
}

/// The history.
#[derive(Debug)]
struct Samples {
    moments: VecDeque<Moment>,
    bytes: usize,
}

static KEPT: Mutex<Samples> = Mutex::new(Samples { moments: VecDeque::new(), bytes: 0 });

impl Samples {
    /// Forgets the oldest moment, if there is one.
    fn forget_oldest(&mut self) -> bool {
        let Some(oldest) = self.moments.pop_front() else { return false };
        self.bytes -= oldest.bytes;
        oldest.samples.iter().for_each(|sample| SAMPLES.give_back(sample.bytes()));
        true
    }

    fn forget_before(&mut self, time_us: u64) {
        while self.moments.front().is_some_and(|oldest| oldest.time_us < time_us) {
            self.forget_oldest();
        }
    }

    /// Takes so many bytes for the moment that is added, which has taken others before.
    fn take(&mut self, bytes: usize, before: usize) -> bool {
        let all = |samples: &Samples| (samples.bytes + before + bytes) as u64;
        while all(self) > BYTES_MAX.load(Relaxed) {
            if !self.forget_oldest() {
                return false;
            }
        }
        while !SAMPLES.try_take(bytes) {
            if !self.forget_oldest() {
                return false;
            }
        }
        true
    }

    fn add(&mut self, time_us: u64, samples: Vec<SessionSample>) {
        self.forget_before(time_us.saturating_sub(AGE_US_MAX));
        let mut moment = Moment { time_us, samples: Vec::with_capacity(samples.len()), bytes: 0 };
        for sample in samples {
            let bytes = sample.bytes();
            match self.take(bytes, moment.bytes) {
                true => {
                    moment.bytes += bytes;
                    moment.samples.push(sample);
                }
                false => lose(1),
            }
        }
        if !moment.samples.is_empty() {
            moment.samples.shrink_to_fit();
            self.bytes += moment.bytes;
            self.moments.push_back(moment);
        }
    }
}

/// Adds what all active sessions were at, at a time in microseconds since 1970.
pub fn add_session_samples(time_us: u64, samples: Vec<SessionSample>) {
    lock(&KEPT).add(time_us, samples);
}

/// Calls `each` with the samples and their times, the oldest first.
pub fn each_session_sample(mut each: impl FnMut(u64, &SessionSample)) {
    for moment in &lock(&KEPT).moments {
        moment.samples.iter().for_each(|sample| each(moment.time_us, sample));
    }
}

/// Forgets them all.
pub fn empty_session_samples() {
    let mut kept = lock(&KEPT);
    while kept.forget_oldest() {}
}

/// How many bytes the history may take; what is there beyond it goes with the next sample.
pub fn set_session_samples_limit(bytes: u64) {
    BYTES_MAX.store(bytes, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread_id: u64) -> SessionSample {
        SessionSample { thread_id, text: Box::from(&b"SELECT 1"[..]), ..SessionSample::default() }
    }

    fn kept() -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        each_session_sample(|time_us, sample| all.push((time_us, sample.thread_id)));
        all
    }

    #[test]
    fn the_oldest_go_by_age_and_where_there_is_no_room() {
        let _alone = lock(&crate::EMPTIES);
        add_session_samples(1, vec![sample(1), sample(2)]);
        add_session_samples(2, vec![]);
        add_session_samples(3, vec![sample(1)]);
        assert_eq!(kept(), [(1, 1), (1, 2), (3, 1)]);
        add_session_samples(AGE_US_MAX + 2, vec![sample(4)]);
        assert_eq!(kept(), [(3, 1), (AGE_US_MAX + 2, 4)]);
        // Room for three: the moment that needs it pushes out whole moments before it, and loses what it has no room for.
        let lost = crate::events_lost();
        set_session_samples_limit(3 * sample(0).bytes() as u64);
        add_session_samples(AGE_US_MAX + 3, vec![sample(5), sample(6)]);
        assert_eq!(kept(), [(AGE_US_MAX + 2, 4), (AGE_US_MAX + 3, 5), (AGE_US_MAX + 3, 6)]);
        assert_eq!(crate::events_lost(), lost);
        add_session_samples(AGE_US_MAX + 4, (0..4).map(sample).collect());
        let now: Vec<u64> = kept().into_iter().map(|(_, id)| id).collect();
        assert_eq!((now, crate::events_lost()), (vec![0, 1, 2], lost + 1));
        set_session_samples_limit(u64::MAX);
        empty_session_samples();
        assert_eq!((kept(), lock(&KEPT).bytes), (vec![], 0));
    }

    #[test]
    fn memory_is_counted_and_given_back() {
        let _alone = lock(&crate::EMPTIES);
        let used = || {
            let all = crate::memory_reports().into_iter();
            let of = all.filter(|m| m.class.name().ends_with("limpid_session_samples"));
            of.map(|m| (m.pieces.used, m.bytes.used)).next().unwrap_or_default()
        };
        let wait = SampledWait {
            class: &crate::IDLE,
            ns: 1,
            number: 2,
            object: Some(Box::new(WaitObject {
                schema: Some("d".into()),
                ..WaitObject::default()
            })),
        };
        let one = SessionSample { wait: Some(wait), ..sample(1) };
        let bytes = one.bytes();
        assert_eq!(bytes, sample(1).bytes() + size_of::<WaitObject>() + 17);
        empty_session_samples();
        add_session_samples(1, vec![one, sample(2)]);
        assert_eq!(used(), (2, (bytes + sample(2).bytes()) as i64));
        empty_session_samples();
        assert_eq!(used(), (0, 0));
    }
}
