//! What a client is told of changes of its session's state: CLIENT_SESSION_TRACK and the variables `session_track_...`.
//!
//! 1. A client that does not ask for it costs one look at a flag for each answer ([`Tracker::watches`]). 2. What has changed is
//! told with the next OK that there is; an error tells nothing, and what changed before it is told later. 3. The state of a
//! transaction is compared with what was told last: it is told when it is another one.

use crate::variables::{self, VarId};
use parser::ast::Isolation;
use wire::reply::Change;

/// What `session_track_transaction_info` asks for, by its number.
mod level {
    pub const STATE: u64 = 1;
    pub const CHARACTERISTICS: u64 = 2;
}

/// Bits of what a transaction has done, in the order of their letters.
pub(crate) mod did {
    /// Read a table.
    pub const READ: u8 = 1;
    /// Written a table, or locked its rows.
    pub const WRITE: u8 = 1 << 1;
    /// Sent a result.
    pub const RESULT: u8 = 1 << 2;
}

/// How a transaction was begun.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Begun {
    /// By a statement of its own.
    pub explicit: bool,
    /// READ ONLY or READ WRITE, where one of them was written.
    pub read_only: Option<bool>,
    /// WITH CONSISTENT SNAPSHOT.
    pub snapshot: bool,
}

/// The variables that are tracked.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Tracked {
    #[default]
    None,
    All,
    /// As they were written, in the order of the bytes.
    Named(Vec<(String, VarId)>),
}

/// Changes of a session's state. What each statement looks at comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Tracker {
    /// Something may have to be told with the next answer.
    pub watches: bool,
    /// What statements do to transactions or to the state is told.
    pub follows: bool,
    /// The client asks for it: most do, and set no variable.
    pub is_requested: bool,
    tracked: Tracked,
    /// `session_track_transaction_info`.
    transactions: u64,
    changed: Vec<VarId>,
    schema: bool,
    state: bool,
    /// See [`did`].
    did: u8,
    begun: Begun,
    /// What SET TRANSACTION said of one transaction.
    isolation: Option<Isolation>,
    access: Option<bool>,
    told_state: [u8; 8],
    told_text: Option<String>,
}

/// A transaction that is none.
const NOTHING: [u8; 8] = *b"________";

/// What the session is in as it answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now<'s> {
    /// A transaction is open.
    pub open: bool,
    /// LOCK TABLES.
    pub locked: bool,
    /// The current schema.
    pub schema: &'s str,
    /// `session_track_schema`, `session_track_state_change`.
    pub tracks: (bool, bool),
}

impl Tracker {
    /// A client came in; `is_requested`: it wants to be told.
    pub fn begin(&mut self, is_requested: bool) {
        *self = Tracker { is_requested, told_state: NOTHING, ..Tracker::default() };
    }

    /// The variables say something new of what is tracked.
    pub fn take_variables(&mut self, names: &str, transactions: u64, state: bool) {
        if !self.is_requested {
            return;
        }
        self.follows = transactions != 0 || state;
        self.tracked = tracked(names).0;
        if transactions != self.transactions {
            self.transactions = transactions;
            self.told_text = None;
        }
        self.watch();
    }

    fn watch(&mut self) {
        let changed = self.schema || self.state || !self.changed.is_empty();
        self.watches = self.is_requested && (changed || self.transactions != 0);
    }

    /// Another schema, or the same one again, is the current one.
    pub fn schema_changed(&mut self) {
        (self.schema, self.state) = (true, true);
        self.watch();
    }

    /// Something is not as in a new session.
    pub fn state_changed(&mut self) {
        self.state = true;
        self.watch();
    }

    /// A variable of the session was set.
    pub fn was_set(&mut self, id: VarId) {
        // What it is said by whether the state is tracked is no change of it.
        self.state |= !id.get().name.starts_with("session_track_");
        let is_tracked = match &self.tracked {
            Tracked::None => false,
            Tracked::All => true,
            Tracked::Named(list) => list.iter().any(|(_, tracked)| *tracked == id),
        };
        if is_tracked && self.is_requested && !self.changed.contains(&id) {
            self.changed.push(id);
        }
        self.watch();
    }

    /// The transaction did something; see [`did`].
    pub fn did(&mut self, bits: u8) {
        self.did |= bits;
    }

    /// A transaction begins by a statement of its own.
    pub fn begins(&mut self, begun: Begun) {
        self.did = if begun.snapshot { did::READ } else { 0 };
        self.begun = begun;
        // It is told again where it is like the one before.
        self.told_text = None;
    }

    /// What the transaction did is over with it.
    pub fn ends(&mut self) {
        (self.did, self.begun) = (0, Begun::default());
    }

    /// SET TRANSACTION of the next transaction.
    pub fn next_is(&mut self, isolation: Option<Isolation>, read_only: Option<bool>) {
        self.isolation = isolation.or(self.isolation);
        self.access = read_only.or(self.access);
    }

    /// The next transaction is what the session's variables say.
    pub fn next_is_default(&mut self) {
        (self.isolation, self.access) = (None, None);
    }

    /// What a client is to be told; `value` shows a variable.
    pub fn take(&mut self, now: Now<'_>, value: impl Fn(VarId) -> String) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, id) in self.taken() {
            Change::Variable(name.as_bytes(), value(id).as_bytes()).put(&mut out);
        }
        let (schema, state) = now.tracks;
        if std::mem::take(&mut self.schema) && schema {
            Change::Schema(now.schema.as_bytes()).put(&mut out);
        }
        if std::mem::take(&mut self.state) && state {
            Change::State.put(&mut out);
        }
        self.take_transaction(now, &mut out);
        self.watch();
        out
    }

    /// Variables that were set, by the names that they are tracked by, in the order of these.
    fn taken(&mut self) -> Vec<(String, VarId)> {
        let mut changed = std::mem::take(&mut self.changed);
        match &self.tracked {
            Tracked::None => Vec::new(),
            Tracked::All => {
                changed.sort_by_key(|id| id.get().name);
                changed.into_iter().map(|id| (id.get().name.to_string(), id)).collect()
            }
            Tracked::Named(list) => {
                list.iter().filter(|(_, id)| changed.contains(id)).cloned().collect()
            }
        }
    }

    fn take_transaction(&mut self, now: Now<'_>, out: &mut Vec<u8>) {
        if !now.open {
            (self.did, self.begun) = (0, Begun::default());
        }
        if self.transactions < level::STATE {
            return;
        }
        let state = self.letters(now);
        if state != self.told_state {
            self.told_state = state;
            Change::Transaction(&state).put(out);
        }
        if self.transactions >= level::CHARACTERISTICS {
            let text = self.text();
            if self.told_text.as_ref() != Some(&text) {
                Change::Characteristics(text.as_bytes()).put(out);
                self.told_text = Some(text);
            }
        }
    }

    fn letters(&self, now: Now<'_>) -> [u8; 8] {
        let did = |bit, letter| if self.did & bit != 0 { letter } else { b'_' };
        let kind = match (now.open, self.begun.explicit) {
            (false, _) => b'_',
            (true, true) => b'T',
            (true, false) => b'I',
        };
        let [read, write] = [did(did::READ, b'R'), did(did::WRITE, b'W')];
        let locked = if now.locked { b'L' } else { b'_' };
        [kind, b'_', read, b'_', write, b'_', did(did::RESULT, b'S'), locked]
    }

    /// Statements that make a transaction what this one is, or the next one.
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if let Some(isolation) = self.isolation {
            let level = match isolation {
                Isolation::ReadUncommitted => "READ UNCOMMITTED",
                Isolation::ReadCommitted => "READ COMMITTED",
                Isolation::RepeatableRead => "REPEATABLE READ",
                Isolation::Serializable => "SERIALIZABLE",
            };
            parts.push(format!("SET TRANSACTION ISOLATION LEVEL {level};"));
        }
        let access = self.begun.read_only.or(self.access);
        let access = access.map(|only| if only { "READ ONLY" } else { "READ WRITE" });
        if self.begun.explicit {
            let snapshot = self.begun.snapshot.then_some("WITH CONSISTENT SNAPSHOT");
            let how: Vec<&str> = snapshot.into_iter().chain(access).collect();
            let space = if how.is_empty() { "" } else { " " };
            parts.push(format!("START TRANSACTION{space}{};", how.join(", ")));
        } else if let Some(access) = access {
            parts.push(format!("SET TRANSACTION {access};"));
        }
        parts.join(" ")
    }
}

/// The variables of a list, and the names in it that are none's.
fn tracked(list: &str) -> (Tracked, Vec<&str>) {
    if list.trim() == "*" {
        return (Tracked::All, Vec::new());
    }
    let (mut named, mut unknown) = (Vec::new(), Vec::new());
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match variables::find(name) {
            Some(id) => named.push((name.to_string(), id)),
            None => unknown.push(name),
        }
    }
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    match named.is_empty() {
        true => (Tracked::None, unknown),
        false => (Tracked::Named(named), unknown),
    }
}

/// Looks at a new value of `session_track_system_variables`: the names that are none's, or one that comes twice.
pub(crate) fn check_list(list: &str) -> Result<Vec<&str>, String> {
    let (tracked, unknown) = tracked(list);
    if let Tracked::Named(named) = tracked {
        let mut ids: Vec<VarId> = named.iter().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(pair[0].get().name.to_string());
        }
    }
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: Now<'_> = Now { open: false, locked: false, schema: "db", tracks: (true, true) };
    const INSIDE: Now<'_> = Now { open: true, ..OUTSIDE };

    fn tracker(names: &str, transactions: u64) -> Tracker {
        let mut tracker = Tracker::default();
        tracker.begin(true);
        tracker.take_variables(names, transactions, false);
        tracker
    }

    fn told(tracker: &mut Tracker, now: Now<'_>) -> String {
        let bytes = tracker.take(now, |id| format!("<{}>", id.get().name));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn variables_are_told_by_the_names_that_they_are_tracked_by() {
        let mut one = tracker("SQL_MODE, autocommit,nosuch", 0);
        let set = |one: &mut Tracker, name| one.was_set(variables::find(name).unwrap());
        set(&mut one, "autocommit");
        set(&mut one, "sql_mode");
        set(&mut one, "time_zone");
        let all = "\0\x14\x08SQL_MODE\x0a<sql_mode>\0\x18\x0aautocommit\x0c<autocommit>\x02\x011";
        assert_eq!(told(&mut one, OUTSIDE), all);
        assert!(!one.watches);
        assert_eq!(told(&mut one, OUTSIDE), "");
        assert_eq!(check_list("a, sql_mode,b"), Ok(vec!["a", "b"]));
        assert_eq!(check_list("SQL_mode,sql_mode"), Err("sql_mode".into()));
        assert_eq!(check_list("*,x"), Ok(vec!["*", "x"]));
        assert_eq!(check_list("*"), Ok(vec![]));
    }

    #[test]
    fn who_does_not_ask_is_told_nothing() {
        let mut one = Tracker::default();
        one.begin(false);
        one.take_variables("*", 2, true);
        one.was_set(variables::find("sql_mode").unwrap());
        one.schema_changed();
        assert!(!one.watches && !one.follows);
    }

    #[test]
    fn a_schema_and_the_state_are_told_once_and_as_asked() {
        let mut one = tracker("", 0);
        one.schema_changed();
        assert!(one.watches);
        assert_eq!(told(&mut one, OUTSIDE), "\x01\x03\x02db\x02\x011");
        one.schema_changed();
        assert_eq!(told(&mut one, Now { tracks: (false, false), ..OUTSIDE }), "");
        assert!(!one.watches);
    }

    #[test]
    fn a_transaction_is_told_where_it_changes() {
        let state = |letters: &str| format!("\x05\x09\x08{letters}");
        let mut one = tracker("", level::STATE);
        assert_eq!(told(&mut one, OUTSIDE), "");
        one.begins(Begun { explicit: true, ..Begun::default() });
        assert_eq!(told(&mut one, INSIDE), state("T_______"));
        one.did(did::READ | did::RESULT);
        assert_eq!(told(&mut one, INSIDE), state("T_R___S_"));
        assert_eq!(told(&mut one, INSIDE), "");
        one.did(did::WRITE);
        assert_eq!(told(&mut one, INSIDE), state("T_R_W_S_"));
        assert_eq!(told(&mut one, OUTSIDE), state("________"));
        one.did(did::WRITE);
        assert_eq!(told(&mut one, INSIDE), state("I___W___"));
        assert_eq!(told(&mut one, Now { locked: true, ..OUTSIDE }), state("_______L"));
    }

    #[test]
    fn characteristics_are_the_statements_that_make_them() {
        let text = |told: String| {
            let at = told.rfind('\x04').unwrap();
            told[at + 3..].to_string()
        };
        let mut one = tracker("", level::CHARACTERISTICS);
        assert_eq!(text(told(&mut one, OUTSIDE)), "");
        one.next_is(Some(Isolation::Serializable), None);
        one.next_is(None, Some(true));
        assert_eq!(
            text(told(&mut one, OUTSIDE)),
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ ONLY;"
        );
        one.begins(Begun { explicit: true, read_only: None, snapshot: true });
        assert_eq!(
            text(told(&mut one, INSIDE)),
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION WITH CONSISTENT SNAPSHOT, \
             READ ONLY;"
        );
        one.next_is_default();
        assert_eq!(text(told(&mut one, OUTSIDE)), "");
    }
}
