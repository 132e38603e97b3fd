//! Threads of connections: one whose client has gone waits for the next one, as many of them as `thread_cache_size` says.
//!
//! 1. A connection goes to a thread that waits, or to a new one: it never waits for a thread. 2. Whoever takes a seat out of the list
//! fills it, and its thread wakes for that alone; so none is given two connections, and none is forgotten. 3. Never do more of
//! them wait than the variable says: a lowered one acts at once. 4. A thread that has waited for a moment gives back what it keeps.

use host::thread::spawn_with_stack;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex};

/// The name of the threads that serve connections.
pub const CONNECTION_THREAD: &str = "connection";

instrument::classes! {
    static LIST: MutexClass = "wait/synch/mutex/sql/LOCK_thread_cache";
    static SEAT: MutexClass = "wait/synch/mutex/limpid/thread_cache_seat";
    static CALLED: CondClass = "wait/synch/cond/sql/COND_thread_cache";
}

/// How long a thread waits before it gives back what it keeps.
const RESTS_AFTER: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

/// What a waiting thread is called for.
enum Call {
    Serve(Job),
    End,
}

/// Where a thread waits.
struct Seat {
    call: Mutex<Option<Call>>,
    called: Event,
}

impl Seat {
    fn fill(&self, call: Call) {
        *self.call.lock() = Some(call);
        self.called.notify_one();
    }

    /// Waits to be called.
    fn wait(&self) -> Call {
        let (mut deadline, mut rests) = (Deadline::after(RESTS_AFTER), false);
        loop {
            let seen = self.called.prepare();
            if let Some(call) = self.call.lock().take() {
                if rests {
                    host::rest::wake();
                }
                return call;
            }
            let _ = self.called.wait_unkillable(seen, deadline);
            if deadline.passed() {
                host::rest::rest();
                (deadline, rests) = (Deadline::Never, true);
            }
        }
    }
}

/// The threads that wait for connections.
pub struct Threads {
    waiting: Mutex<Vec<Arc<Seat>>>,
    /// `thread_cache_size`, and figures for status.
    counts: Arc<session::ThreadCounts>,
    ends: SharedAtomic<bool, { class::OTHER }>,
}

impl Threads {
    /// None yet.
    pub fn new(counts: Arc<session::ThreadCounts>) -> Arc<Threads> {
        let ends = SharedAtomic::new(false);
        Arc::new(Threads { waiting: Mutex::new(&LIST, Vec::new()), counts, ends })
    }

    /// Runs something on a thread that waits, or on a new one with so much stack.
    ///
    /// # Errors
    /// There is no room for another thread.
    pub fn run(self: &Arc<Self>, stack_bytes: usize, job: Job) -> io::Result<()> {
        if let Some(seat) = self.stand_up() {
            seat.fill(Call::Serve(job));
            return Ok(());
        }
        let threads = Arc::clone(self);
        let serve = move || {
            job();
            threads.serve_others();
        };
        spawn_with_stack(CONNECTION_THREAD, stack_bytes, serve)?;
        self.counts.count_created();
        Ok(())
    }

    /// The calling thread waits for connections, as long as there is room for it.
    fn serve_others(&self) {
        let seat = Arc::new(Seat { call: Mutex::new(&SEAT, None), called: Event::new(&CALLED) });
        while self.sit_down(&seat) {
            match seat.wait() {
                Call::Serve(job) => job(),
                Call::End => return,
            }
        }
    }

    /// The seat of a thread that is to be called.
    fn stand_up(&self) -> Option<Arc<Seat>> {
        let mut waiting = self.waiting.lock();
        let seat = waiting.pop();
        self.counts.set_cached(waiting.len());
        seat
    }

    fn sit_down(&self, seat: &Arc<Seat>) -> bool {
        let mut waiting = self.waiting.lock();
        let may = waiting.len() < self.counts.size() && !self.ends.load(Ordering::Relaxed);
        if may {
            waiting.push(Arc::clone(seat));
            self.counts.set_cached(waiting.len());
        }
        may
    }

    /// Fewer may wait than before: lets those end that are too many.
    pub fn trim(&self) {
        self.keep(self.counts.size());
    }

    /// Lets all that wait end; none waits from now on.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.keep(0);
    }

    /// Lets all but so many end.
    fn keep(&self, seats: usize) {
        let surplus = {
            let mut waiting = self.waiting.lock();
            let seats = seats.min(waiting.len());
            let surplus = waiting.split_off(seats);
            self.counts.set_cached(waiting.len());
            surplus
        };
        surplus.iter().for_each(|seat| seat.fill(Call::End));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const STACK_BYTES: usize = 1 << 20;

    #[test]
    fn a_thread_serves_one_connection_after_another_and_no_more_wait_than_there_is_room_for() {
        let counts = Arc::new(session::ThreadCounts::default());
        counts.set_size(1);
        let threads = Threads::new(Arc::clone(&counts));
        let (tell, told) = channel();
        let run = |wait: Option<std::sync::mpsc::Receiver<()>>| {
            let tell = tell.clone();
            let job = Box::new(move || {
                if let Some(wait) = wait {
                    let _ = wait.recv();
                }
                let _ = tell.send(std::thread::current().id());
            });
            threads.run(STACK_BYTES, job).expect("a thread");
        };
        let cached = |n: u64| {
            let until = host::clock::now() + Duration::from_secs(10);
            while counts.cached() != n {
                assert!(host::clock::now() < until, "{} wait, not {n}", counts.cached());
                std::thread::yield_now();
            }
        };
        run(None);
        let first = told.recv().expect("it ran");
        cached(1);
        run(None);
        assert_eq!(told.recv().expect("it ran"), first);
        cached(1);
        // None may wait: the one that does ends at once.
        counts.set_size(0);
        threads.trim();
        assert_eq!(counts.cached(), 0);
        counts.set_size(1);
        run(None);
        let (ended, first) = (first, told.recv().expect("it ran"));
        assert_ne!(first, ended);
        cached(1);
        // Two at a time: one of them finds no room when it is done.
        let (go, wait) = channel();
        run(Some(wait));
        run(None);
        assert_ne!(told.recv().expect("it ran"), first);
        cached(1);
        go.send(()).expect("it waits");
        assert_eq!(told.recv().expect("it ran"), first);
        assert_eq!(counts.created(), 3);
        threads.end();
        assert_eq!(counts.cached(), 0);
        run(None);
        told.recv().expect("it ran");
        assert_eq!((counts.created(), counts.cached()), (4, 0));
    }
}
