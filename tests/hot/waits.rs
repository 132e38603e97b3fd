//! The ledger's statements that wait for another session, and those that end such a wait: what they write that other
//! sessions see.
//!
//! 1. Each session has a thread of its own. Who is to wait sleeps, as Linux says, before what ends the wait is done.
//! 2. A leader of a group commit stands still behind its first write (the log's trace hook) until the others sleep: one that
//!    writes next, and perhaps one whose commit that write carries.
//! 3. What they read is not told: who waits looks again and again, as often as it takes.
//! 4. A vector is the least that a statement of its kind wrote: who goes on may meet the other one again at a mutex, which
//!    is another wait. Only of the carried commit it is the usual one.

use super::hot::{Conn, Rig};
use super::ledger::{Vector, usual, writes_of};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use stdx::touch;

/// Rounds that are looked at; and before, so that all is warm.
const ROUNDS: usize = 32;
const WARM_UP: usize = 8;
/// Rows that are far apart, one for each session.
const ROWS: [u32; 3] = [3000, 3500, 4000];

/// A session on a thread of its own.
struct Other {
    /// Its next statement, and whether that is recorded.
    asked: Sender<(String, bool)>,
    /// What a recorded one wrote.
    done: Receiver<Option<Vector>>,
    task: Arc<AtomicU32>,
}

impl Other {
    fn new(rig: &Rig) -> Other {
        let (asked, orders) = channel::<(String, bool)>();
        let (tell, done) = channel();
        let task = Arc::new(AtomicU32::new(0));
        let (server, published) = (Arc::clone(rig.server()), Arc::clone(&task));
        std::thread::spawn(move || {
            let mut conn = Conn::login(&server, "sbtest");
            let own = std::fs::read_link("/proc/thread-self").unwrap();
            let number = own.file_name().unwrap().to_string_lossy().parse().unwrap();
            for (sql, recorded) in orders {
                published.store(number, Ordering::Release);
                if recorded {
                    touch::begin();
                }
                conn.ok(&sql);
                let wrote = recorded.then(|| writes_of(&touch::end()));
                published.store(0, Ordering::Release);
                if tell.send(wrote).is_err() {
                    break;
                }
            }
        });
        Other { asked, done, task }
    }

    fn begin(&self, sql: &str, recorded: bool) {
        self.asked.send((sql.to_string(), recorded)).unwrap();
    }

    fn end(&self) -> Option<Vector> {
        self.done.recv().unwrap()
    }

    fn ok(&self, sql: &str) {
        self.begin(sql, false);
        self.end();
    }

    /// Returns when the thread is in a statement, and sleeps there.
    fn sleeps(&self) {
        loop {
            let task = self.task.load(Ordering::Acquire);
            let stat = std::fs::read_to_string(format!("/proc/self/task/{task}/stat"));
            if stat.is_ok_and(|stat| stat.contains(") S ")) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

/// Where the leader of a group commit stands still.
#[derive(Default)]
struct Gate {
    /// The next one who comes closes it behind itself.
    armed: AtomicBool,
    holds: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        if self.armed.swap(false, Ordering::AcqRel) {
            let mut holds = self.holds.lock().unwrap();
            *holds = true;
            self.changed.notify_all();
            drop(self.changed.wait_while(holds, |holds| *holds).unwrap());
        }
    }

    fn wait_until_it_holds(&self) {
        drop(self.changed.wait_while(self.holds.lock().unwrap(), |holds| !*holds).unwrap());
    }

    fn open(&self) {
        *self.holds.lock().unwrap() = false;
        self.changed.notify_all();
    }
}

/// The least of the vectors that were met.
#[derive(Default)]
struct Least(Option<Vector>);

impl Least {
    fn add(&mut self, vector: Vector) {
        let written = |vector: &Vector| vector.values().sum::<usize>();
        if self.0.as_ref().is_none_or(|least| written(&vector) < written(least)) {
            self.0 = Some(vector);
        }
    }

    fn vector(self) -> Vector {
        self.0.expect("statements ran")
    }
}

fn set_c(row: u32) -> String {
    format!("UPDATE sbtest1 SET c=IF(c='a', 'b', 'a') WHERE id={row}")
}

/// A change that waits for a row, and the commit that lets it go on.
fn row_wait(rig: &Rig) -> [(&'static str, Vector); 2] {
    let [holder, waiter] = [(); 2].map(|()| Other::new(rig));
    let (mut waits, mut ends) = (Least::default(), Least::default());
    for round in 0..WARM_UP + ROUNDS {
        for session in [&holder, &waiter] {
            session.ok("BEGIN");
        }
        holder.ok(&set_c(ROWS[0]));
        waiter.begin(&set_c(ROWS[0]), true);
        waiter.sleeps();
        holder.begin("COMMIT", true);
        let (ended, waited) = (holder.end().unwrap(), waiter.end().unwrap());
        waiter.ok("COMMIT");
        rig.engine().purge_all().unwrap();
        if round >= WARM_UP {
            waits.add(waited);
            ends.add(ended);
        }
    }
    [
        ("update inside a transaction that waits for a row", waits.vector()),
        ("commit that ends a wait for a row", ends.vector()),
    ]
}

/// A session that holds its log's write back, and those that commit meanwhile.
struct GroupCommit<'r> {
    rig: &'r Rig,
    gate: Arc<Gate>,
    sessions: [Other; 3],
}

impl<'r> GroupCommit<'r> {
    fn new(rig: &'r Rig) -> GroupCommit<'r> {
        let gate = Arc::new(Gate::default());
        let at_write = Arc::clone(&gate);
        rig.engine().log().set_trace_hook(Box::new(move |event| {
            if matches!(event, redo::LogEvent::Written(_)) {
                at_write.pass();
            }
        }));
        GroupCommit { rig, gate, sessions: [(); 3].map(|()| Other::new(rig)) }
    }

    /// What each of the first `count` sessions wrote in each round: the first leads, the second waits and writes next.
    fn rounds(&self, count: usize) -> Vec<Vec<Vector>> {
        let sessions = &self.sessions[..count];
        let round = |_| {
            for (session, row) in sessions.iter().zip(ROWS) {
                session.ok("BEGIN");
                session.ok(&set_c(row));
            }
            self.gate.armed.store(true, Ordering::Release);
            sessions[0].begin("COMMIT", true);
            self.gate.wait_until_it_holds();
            for session in &sessions[1..] {
                session.begin("COMMIT", true);
                session.sleeps();
            }
            self.gate.open();
            let wrote = sessions.iter().map(|session| session.end().unwrap()).collect();
            self.rig.engine().purge_all().unwrap();
            wrote
        };
        (0..WARM_UP + ROUNDS).map(round).skip(WARM_UP).collect()
    }
}

/// Durable commits at once. Who writes next is looked at without a third one, who would be woken sooner or later; the third
/// one may find the mutex of the log taken for a moment, so of it the usual vector counts.
fn group_commit(rig: &Rig) -> [(&'static str, Vector); 3] {
    let group = GroupCommit::new(rig);
    group.sessions[0].ok("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    let (pairs, threes) = (group.rounds(2), group.rounds(3));
    group.sessions[0].ok("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let least = |n: usize| {
        let mut least = Least::default();
        pairs.iter().for_each(|round| least.add(round[n].clone()));
        least.vector()
    };
    let carried = usual(threes.iter().map(|round| &round[2])).clone();
    [
        ("commit, durable, that another one waits for", least(0)),
        ("commit, durable, that waits and writes next", least(1)),
        ("commit, durable, that another one's write carries", carried),
    ]
}

/// All of them.
pub fn measure(rig: &Rig) -> Vec<(&'static str, Vector)> {
    row_wait(rig).into_iter().chain(group_commit(rig)).collect()
}
