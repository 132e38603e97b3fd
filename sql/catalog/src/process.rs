//! Sessions as lists show them.
//!
//! 1. A list fills one row anew for each session. Whose it is lies in one buffer of the row, so that the row of a session that
//!    runs nothing allocates nothing.

/// Who a session belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// User.
    pub user: String,
    /// Host and port; without a port over the Unix socket.
    pub host: String,
    /// Current schema.
    pub db: Option<String>,
    /// TLS secures the connection.
    pub secured: bool,
    /// What the client said of itself when it connected: names and values.
    pub attributes: Vec<(String, String)>,
}

/// User, host and current schema of a session, one text behind the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    texts: Vec<u8>,
    user_end: usize,
    host_end: usize,
    has_db: bool,
}

impl Who {
    /// User.
    pub fn user(&self) -> &[u8] {
        &self.texts[..self.user_end]
    }

    /// Host and port; without a port over the Unix socket.
    pub fn host(&self) -> &[u8] {
        &self.texts[self.user_end..self.host_end]
    }

    /// Current schema.
    pub fn db(&self) -> Option<&[u8]> {
        self.has_db.then(|| &self.texts[self.host_end..])
    }

    /// Becomes somebody else: `write` appends the texts, the first two of which end at `ends`. Of texts that are changed while they
    /// are read nothing is right, but all lie within what was written.
    pub fn fill(&mut self, ends: [usize; 2], has_db: bool, write: impl FnOnce(&mut Vec<u8>)) {
        self.texts.clear();
        write(&mut self.texts);
        let end = self.texts.len();
        self.user_end = ends[0].min(end);
        self.host_end = ends[1].clamp(self.user_end, end);
        self.has_db = has_db;
    }

    /// Becomes who the client is.
    pub fn set(&mut self, client: &Client) {
        let Client { user, host, db, .. } = client;
        self.fill([user.len(), user.len() + host.len()], db.is_some(), |texts| {
            for text in [user.as_str(), host.as_str(), db.as_deref().unwrap_or_default()] {
                texts.extend_from_slice(text.as_bytes());
            }
        });
    }
}

/// What a list of sessions is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOrder {
    /// Connection id.
    Connection,
    /// THREAD_ID.
    Thread,
}

impl SessionOrder {
    /// What it is ordered by, of one session.
    #[inline]
    pub fn key(self, row: &ProcessRow) -> u64 {
        match self {
            SessionOrder::Connection => row.id,
            SessionOrder::Thread => row.thread_id,
        }
    }
}

/// A session as the process list shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessRow {
    /// Connection id.
    pub id: u64,
    /// THREAD_ID; 0: it has none, as there was no room for it.
    pub thread_id: u64,
    /// Its session slot.
    pub slot: usize,
    /// The operating system's number of the thread that carries it; 0 until one does.
    pub os_id: u64,
    /// Since when it does what it does, in [`sync::now_ns`] nanoseconds.
    pub since_ns: u64,
    /// Whose it is.
    pub who: Who,
    /// TLS secures the connection.
    pub secured: bool,
    /// What it does: `Query`, `Sleep`.
    pub command: &'static str,
    /// Since when, in seconds.
    pub time_s: u64,
    /// What it waits for.
    pub state: Option<&'static str>,
    /// Number of the instrument of its statement, of one that came as text.
    pub instrument: Option<u16>,
    /// Text of its statement.
    pub info: Option<String>,
    /// The transaction that it is in; one that began at 0 is what its next one would be. How far it is
    /// [`engine::Engine::progress`] tells.
    pub transaction: TransactionRow,
    /// The client is gone; its transaction is being rolled back.
    pub leaves: bool,
}

impl ProcessRow {
    /// Whether `performance_schema` tells of its thread.
    #[must_use]
    pub fn has_thread(&self) -> bool {
        self.thread_id != 0
    }
}

/// A session's transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransactionRow {
    /// Since when, in microseconds since 1970.
    pub since_us: i64,
    /// READ ONLY.
    pub read_only: bool,
    /// `unique_checks`.
    pub unique_checks: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// Its isolation level as InnoDB writes it: `REPEATABLE READ`.
    pub isolation: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_filled_anew_for_each_session() {
        let client = |user: &str, db: Option<&str>| Client {
            user: user.into(),
            host: "h:1".into(),
            db: db.map(str::to_string),
            ..Client::default()
        };
        let mut who = Who::default();
        assert_eq!((who.user(), who.host(), who.db()), (&b""[..], &b""[..], None));
        who.set(&client("somebody", Some("shop")));
        assert_eq!(
            (who.user(), who.host(), who.db()),
            (&b"somebody"[..], &b"h:1"[..], Some(&b"shop"[..]))
        );
        who.set(&client("me", None));
        assert_eq!((who.user(), who.host(), who.db()), (&b"me"[..], &b"h:1"[..], None));
        who.set(&client("", Some("")));
        assert_eq!((who.user(), who.db()), (&b""[..], Some(&b""[..])));
        who.fill([9, 3], true, |texts| texts.extend_from_slice(b"abcd"));
        assert_eq!((who.user(), who.host(), who.db()), (&b"abcd"[..], &b""[..], Some(&b""[..])));
    }
}
