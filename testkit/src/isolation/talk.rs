//! One conversation: a thread and a connection per session, and one place where their answers arrive.

use super::script::{Block, Level, Script, Step};
use crate::Peer;
use crate::raw::Breaker;
use crate::text::{Failure, Rows, TextClient};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Who has not answered for so long is waiting, once the server says so.
const WAITS: Duration = Duration::from_millis(100);
/// On a busy machine a statement may not even have begun by then: the server is asked so long. What waits without a
/// lock, a SLEEP, is never said to wait.
const SAYS_SO_IN: Duration = Duration::from_secs(1);
/// How long an answer that is expected may take.
const ANSWERS_IN: Duration = Duration::from_secs(10);
/// The server's own word is asked for at this distance.
const ASK_EVERY: Duration = Duration::from_millis(60);
/// While recording: a server that says neither that a statement waits nor its answer is stuck.
const RECORD_MAX: Duration = Duration::from_secs(60);

/// Where a conversation's waits are known from.
#[derive(Debug, Clone, Copy)]
pub enum Oracle<'a> {
    /// The server that is recorded says who waits.
    Server,
    /// What was recorded says who answers.
    Recorded(&'a [Block]),
}

/// A statement's answer; `None` when the connection ended.
type Answer = Option<Result<Rows, Failure>>;

/// A connection whose statements are sent by a thread of its own.
#[derive(Debug)]
struct Session {
    id: u64,
    statements: Sender<String>,
    breaker: Breaker,
}

/// Sessions and what they have said.
#[derive(Debug)]
struct Talk {
    control: TextClient,
    sessions: BTreeMap<String, Session>,
    answers: Receiver<(String, Answer)>,
    /// Sessions that have not answered yet.
    waiting: Vec<String>,
    /// Answers that came in the current step.
    said: BTreeMap<String, String>,
    /// Shown as `db` in answers: its name is another one each time.
    database: String,
}

/// Runs a script at a level in a database of its own; what came of its steps, up to the first that differs
/// from what is expected.
///
/// # Errors
/// The statement of the setup that fails.
pub fn converse(
    server: &Peer,
    script: &Script,
    level: Level,
    oracle: Oracle,
) -> Result<Vec<Block>, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let database = format!("isolation_{}_{number}", std::process::id());
    let mut talk = Talk::open(server, script, level, &database)?;
    let mut blocks = Vec::new();
    for (number, step) in script.steps.iter().enumerate() {
        let expected = match oracle {
            Oracle::Server => None,
            Oracle::Recorded(blocks) => Some(blocks.get(number).cloned().unwrap_or_default()),
        };
        let block = talk.step(step, expected.as_ref());
        let differs = expected.is_some_and(|e| e != block);
        blocks.push(block);
        if differs {
            break;
        }
    }
    talk.close();
    Ok(blocks)
}

impl Talk {
    fn open(server: &Peer, script: &Script, level: Level, database: &str) -> Result<Talk, String> {
        let (mut control, _) = TextClient::connect_patient(server);
        let create = format!("CREATE DATABASE {database}");
        let enter = format!("USE {database}");
        for sql in [&create, &enter].into_iter().chain(&script.setup) {
            if let Err(e) = control.query(sql) {
                let _ = control.attempt(&format!("DROP DATABASE {database}"));
                return Err(format!("{sql}: {} {}", e.number, e.text));
            }
        }
        let (sender, answers) = channel();
        let sessions = script.sessions().into_iter().map(|name| {
            let session = Session::open(server, &name, level, database, sender.clone());
            (name, session)
        });
        let sessions = sessions.collect();
        let database = database.to_string();
        Ok(Talk {
            control,
            sessions,
            answers,
            waiting: Vec::new(),
            said: BTreeMap::new(),
            database,
        })
    }

    fn step(&mut self, step: &Step, expected: Option<&Block>) -> Block {
        let mut speaker = None;
        match step {
            Step::Say { who, sql } => {
                if self.waiting.contains(who) {
                    // A level at which it waits: what it had to say is left out there.
                    return Block {
                        head: step.shown(),
                        answers: vec![format!("{who} is not free")],
                    };
                }
                self.send(who, sql);
                speaker = Some(who);
            }
            Step::Await(_) => {}
            Step::Pause(milliseconds) => self.listen(Duration::from_millis(*milliseconds)),
        }
        match expected {
            Some(block) => self.listen_as_recorded(block),
            None => self.listen_as_served(match step {
                Step::Await(who) => Some(who),
                _ => None,
            }),
        }
        let mut answers = Vec::new();
        if let Some(who) = speaker {
            match self.said.remove(who) {
                Some(answer) => answers.push(format!("{who} = {answer}")),
                None => answers.push(format!("{who} waits")),
            }
        }
        let others = std::mem::take(&mut self.said);
        answers.extend(others.into_iter().map(|(who, answer)| format!("{who} = {answer}")));
        Block { head: step.shown(), answers }
    }

    fn send(&mut self, who: &str, sql: &str) {
        let mut sql = sql.to_string();
        for (name, session) in &self.sessions {
            sql = sql.replace(&format!("{{{name}}}"), &session.id.to_string());
        }
        self.waiting.push(who.to_string());
        let session = &self.sessions[who];
        if session.statements.send(sql).is_err() {
            self.hear(who.to_string(), None);
        }
    }

    fn hear(&mut self, who: String, answer: Answer) {
        self.waiting.retain(|w| *w != who);
        self.said.insert(who, shown(answer).replace(&self.database, "db"));
    }

    /// Takes what arrives in this time, all of it.
    fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            match self.answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((who, answer)) => self.hear(who, answer),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    // All sessions ended: what is left of the time passes all the same.
                    std::thread::sleep(end.saturating_duration_since(Instant::now()));
                    return;
                }
            }
        }
    }

    /// Until all that are to answer have, then a moment more if anyone is to go on waiting.
    fn listen_as_recorded(&mut self, expected: &Block) {
        let end = Instant::now() + ANSWERS_IN;
        let missing = |talk: &Talk| expected.answering().any(|w| !talk.said.contains_key(w));
        while missing(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok((who, answer)) => self.hear(who, answer),
                Err(_) => break,
            }
        }
        if !self.waiting.is_empty() {
            self.listen(WAITS);
        }
        let end = Instant::now() + SAYS_SO_IN;
        while !self.waiting.is_empty() && !self.all_wait() && Instant::now() < end {
            self.listen(ASK_EVERY);
        }
    }

    /// Until the server says twice that everybody who has not answered waits (and `awaited` has answered).
    fn listen_as_served(&mut self, awaited: Option<&String>) {
        let end = Instant::now() + RECORD_MAX;
        let mut seen_waiting = 0;
        self.listen(Duration::from_millis(20));
        while !self.waiting.is_empty() && seen_waiting < 2 {
            let before = self.waiting.len();
            self.listen(ASK_EVERY);
            let due = awaited.is_some_and(|who| self.waiting.contains(who));
            let settled = !due && self.waiting.len() == before && self.all_wait();
            seen_waiting = if settled { seen_waiting + 1 } else { 0 };
            assert!(Instant::now() < end, "{:?} neither wait nor answer", self.waiting);
        }
    }

    /// Whether the server says of every session that has not answered that it waits for a lock.
    fn all_wait(&mut self) -> bool {
        let ids: Vec<u64> = self.waiting.iter().map(|w| self.sessions[w].id).collect();
        ids.into_iter().all(|id| {
            // Not INNODB_TRX: what it says is not renewed while others read it all the time.
            let sql = format!(
                "SELECT 1 FROM performance_schema.data_lock_waits w \
                 JOIN performance_schema.threads t ON t.thread_id = w.requesting_thread_id \
                 WHERE t.processlist_id = {id} UNION SELECT 1 FROM performance_schema.processlist \
                 WHERE id = {id} AND (state LIKE 'Waiting for %lock' \
                 OR state IN ('User lock', 'Waiting for table flush'))"
            );
            // Where there is no table of threads.
            let trx = format!(
                "SELECT 1 FROM information_schema.INNODB_TRX \
                 WHERE trx_mysql_thread_id = {id} AND trx_state = 'LOCK WAIT' \
                 UNION SELECT 1 FROM information_schema.PROCESSLIST \
                 WHERE id = {id} AND (state LIKE 'Waiting for %lock' \
                 OR state IN ('User lock', 'Waiting for table flush'))"
            );
            let mut says = |sql: &str| self.control.query(sql).ok().map(|r| !r.rows.is_empty());
            says(&sql).or_else(|| says(&trx)).unwrap_or(false)
        })
    }

    /// Ends the sessions, those that wait too, and drops the database.
    fn close(mut self) {
        for session in self.sessions.values() {
            let _ = self.control.attempt(&format!("KILL {}", session.id));
            session.breaker.cut();
        }
        self.sessions.clear();
        let _ = self.control.attempt(&format!("DROP DATABASE {}", self.database));
    }
}

impl Session {
    fn open(
        server: &Peer,
        name: &str,
        level: Level,
        database: &str,
        answers: Sender<(String, Answer)>,
    ) -> Session {
        let (mut client, breaker) = TextClient::connect_patient(server);
        let mut must = |sql: &str| client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        must(&format!("USE {database}"));
        must(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.name()));
        let id = must("SELECT CONNECTION_ID()");
        let id = id.rows[0][0].as_deref().map(String::from_utf8_lossy);
        let id = id.and_then(|id| id.parse().ok()).expect("a connection id");
        let (statements, inbox) = channel::<String>();
        let name = name.to_string();
        std::thread::spawn(move || {
            for sql in inbox {
                let answer = client.attempt(&sql);
                let ended = answer.is_none();
                if answers.send((name.clone(), answer)).is_err() || ended {
                    return;
                }
            }
        });
        Session { id, statements, breaker }
    }
}

/// An answer in one line.
fn shown(answer: Answer) -> String {
    match answer {
        None => "connection lost".into(),
        Some(Err(e)) => format!("error {} ({}) {}", e.number, e.state, e.text),
        Some(Ok(rows)) if rows.names.is_empty() && rows.affected == 0 => "ok".into(),
        Some(Ok(rows)) if rows.names.is_empty() => format!("ok, {} affected", rows.affected),
        Some(Ok(rows)) if rows.rows.is_empty() => "no rows".into(),
        Some(Ok(rows)) => {
            let value = |v: &Option<Vec<u8>>| {
                v.as_ref().map_or("NULL".into(), |b| String::from_utf8_lossy(b).into_owned())
            };
            let row = |r: &Vec<Option<Vec<u8>>>| {
                format!("({})", r.iter().map(value).collect::<Vec<_>>().join(", "))
            };
            rows.rows.iter().map(row).collect::<Vec<_>>().join(" ")
        }
    }
}
