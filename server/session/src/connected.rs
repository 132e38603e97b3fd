//! Who is and was connected: connections by account, by user and by host.
//!
//! 1. A session counts in each of the three once, from the moment its user is known until it ends or becomes another
//! user. 2. Totals of the three are apart, since each can be truncated alone. 3. Readers copy under the mutex, which a
//! session takes when it comes and when it goes. 4. The status of a session that goes is added to all three; that of those
//! who are there is their own. So are the figures of what they did. Whoever adds up both sees by [`Connected::moves`] whether
//! a session went meanwhile. 5. There is room for as many as `performance_schema_accounts_size` and its kin say, the row of the
//! server's own threads among them, and `performance_schema_memory_limit` allows: others are lost, and what they do is told of their
//! threads and of all alone, unless room came meanwhile for another one of the same name. 6. A session goes from the rows alone that
//! it came to ([`Listed`]): a row is there as long as somebody is who came to it.

use catalog::{ConnectedBy, ConnectedRow, FiguresRow, StatusRow};
use instrument::{Figures, OwnMemory, PageFigures};
use std::collections::BTreeMap;
use sync::Mutex;

instrument::classes! {
    static CONNECTED: MutexClass = "wait/synch/mutex/limpid/connected";
    static ACCOUNTS: OwnMemory = "memory/performance_schema/accounts";
    static USERS: OwnMemory = "memory/performance_schema/users";
    static HOSTS: OwnMemory = "memory/performance_schema/hosts";
}

/// User and host; the half by which is not counted is empty.
type Key = (String, String);

/// To which rows a session came, by [`ConnectedBy`]; there was no room for the others.
pub(crate) type Listed = [bool; 3];

#[derive(Debug, Clone, Default)]
struct Count {
    now: u64,
    total: u64,
    /// Status counters of sessions that went, by their numbers; empty before the first.
    status: Vec<u64>,
    /// What sessions did that went.
    figures: PageFigures,
}

#[derive(Debug)]
struct Lists {
    /// For how many rows there is room.
    rows_max: [u64; 3],
    by: [BTreeMap<Key, Count>; 3],
    /// What the server's own threads had done when their figures began anew.
    own: [PageFigures; 3],
    /// How often figures went from a session to its accounts.
    moves: u64,
    /// Sessions whose account, user or host found no room.
    lost: [u64; 3],
}

fn memory_of(by: ConnectedBy) -> &'static OwnMemory {
    match by {
        ConnectedBy::Account => &ACCOUNTS,
        ConnectedBy::User => &USERS,
        ConnectedBy::Host => &HOSTS,
    }
}

/// Memory of one, without its figures.
fn bytes_of(key: &Key) -> usize {
    size_of::<(Key, Count)>() + key.0.len() + key.1.len()
}

impl Default for Lists {
    fn default() -> Lists {
        Lists {
            rows_max: [u64::MAX; 3],
            by: Default::default(),
            own: Default::default(),
            moves: 0,
            lost: [0; 3],
        }
    }
}

impl Lists {
    /// Whether the server's own threads have a row; it is the first.
    fn has_own(&self, by: ConnectedBy) -> bool {
        self.rows_max[by as usize] > 0
    }

    /// The counts of a session's account, user or host; `None`: there is no room for it.
    fn of(&mut self, by: ConnectedBy, user: &str, host: &str) -> Option<&mut Count> {
        let key = key(by, user, host);
        let counts = &mut self.by[by as usize];
        if !counts.contains_key(&key) {
            let is_full = counts.len() as u64 + 1 >= self.rows_max[by as usize];
            if is_full || !memory_of(by).try_take(bytes_of(&key)) {
                return None;
            }
        }
        Some(counts.entry(key).or_default())
    }

    /// Forgets those that nobody is connected as.
    fn forget_absent(&mut self, by: ConnectedBy) {
        self.by[by as usize].retain(|key, count| {
            if count.now == 0 {
                memory_of(by).give_back(bytes_of(key));
            }
            count.now > 0
        });
    }
}

/// Adds status counters to others, which are none at first.
pub(crate) fn add_status(sums: &mut Vec<u64>, status: &[u64]) {
    sums.resize(status.len().max(sums.len()), 0);
    sums.iter_mut().zip(status).for_each(|(sum, n)| *sum = sum.wrapping_add(*n));
}

/// Counts of connections.
#[derive(Debug)]
pub(crate) struct Connected(Mutex<Lists>);

pub(crate) const ALL: [ConnectedBy; 3] =
    [ConnectedBy::Account, ConnectedBy::User, ConnectedBy::Host];

pub(crate) fn key(by: ConnectedBy, user: &str, host: &str) -> Key {
    let user = if by == ConnectedBy::Host { "" } else { user };
    let host = if by == ConnectedBy::User { "" } else { host };
    (user.to_string(), host.to_string())
}

impl Connected {
    pub fn new() -> Connected {
        Connected(Mutex::new(&CONNECTED, Default::default()))
    }

    /// For how many accounts, users and hosts there is room; those that are there stay.
    pub fn set_rows_max(&self, rows: [u64; 3]) {
        self.0.lock().rows_max = rows;
    }

    /// A session of this user on this host comes.
    pub fn come(&self, user: &str, host: &str) -> Listed {
        let mut lists = self.0.lock();
        ALL.map(|by| match lists.of(by, user, host) {
            Some(count) => {
                count.now += 1;
                count.total += 1;
                true
            }
            None => {
                lists.lost[by as usize] += 1;
                false
            }
        })
    }

    /// It goes; what it counted and did is theirs. `take` gives what it did: from then on it is nobody else's.
    pub fn go(
        &self,
        (user, host): (&str, &str),
        listed: Listed,
        status: &[u64],
        take: impl FnOnce() -> PageFigures,
    ) {
        let mut lists = self.0.lock();
        lists.moves += 1;
        let figures = take();
        for by in ALL {
            if let Some(count) = lists.by[by as usize].get_mut(&key(by, user, host)) {
                count.now = count.now.saturating_sub(listed[by as usize].into());
                add_status(&mut count.status, status);
                count.figures.add(&figures);
            }
        }
    }

    /// What threads did so far is their accounts', or that of the server's own threads.
    pub fn add_figures(&self, rows: &[FiguresRow]) {
        let mut lists = self.0.lock();
        lists.moves += 1;
        for (by, row) in ALL.into_iter().flat_map(|by| rows.iter().map(move |row| (by, row))) {
            let sums = match &row.account {
                // As with status: rows are made by those who come.
                Some((user, host)) => {
                    let count = lists.by[by as usize].get_mut(&key(by, user, host));
                    count.map(|count| &mut count.figures)
                }
                None => Some(&mut lists.own[by as usize]),
            };
            if let Some(sums) = sums {
                sums.add(&row.figures);
            }
        }
    }

    /// How often figures went from a session to its accounts.
    pub fn moves(&self) -> u64 {
        self.0.lock().moves
    }

    /// What those did who went: first the server's own threads, if they have a row, then ordered by user and host.
    pub fn figures(&self, by: ConnectedBy) -> Vec<FiguresRow> {
        let lists = self.0.lock();
        let row = |account, figures: &PageFigures| FiguresRow {
            thread_id: 0,
            account,
            figures: figures.clone(),
        };
        let own = lists.has_own(by).then(|| row(None, &lists.own[by as usize]));
        let named = lists.by[by as usize].iter();
        let named = named.map(|(key, count)| row(Some(key.clone()), &count.figures));
        own.into_iter().chain(named).collect()
    }

    /// Forgets some figures of those who went. Who is not connected any more stays, with what else is told of him.
    pub fn truncate_figures(&self, by: ConnectedBy, figures: Figures) {
        let mut lists = self.0.lock();
        lists.own[by as usize].empty(figures);
        let counts = &mut lists.by[by as usize];
        counts.values_mut().for_each(|count| count.figures.empty(figures));
    }

    /// What a session that stays counted so far is theirs, if they have a row.
    pub fn add_status(&self, user: &str, host: &str, status: &[u64]) {
        let mut lists = self.0.lock();
        for by in ALL {
            if let Some(count) = lists.by[by as usize].get_mut(&key(by, user, host)) {
                add_status(&mut count.status, status);
            }
        }
    }

    /// The status counters of sessions that went, ordered by user and host.
    pub fn status(&self, by: ConnectedBy) -> Vec<StatusRow> {
        let counts = self.0.lock().by[by as usize].clone();
        let row = |((user, host), count): (Key, Count)| StatusRow {
            thread_id: 0,
            user,
            host,
            counts: count.status,
        };
        counts.into_iter().map(row).collect()
    }

    /// Forgets the status of sessions that went.
    pub fn truncate_status(&self, by: ConnectedBy) {
        self.0.lock().by[by as usize].values_mut().for_each(|count| count.status.clear());
    }

    /// As [`Self::truncate_status`], of all three.
    pub fn flush_status(&self) {
        ALL.into_iter().for_each(|by| self.truncate_status(by));
        self.0.lock().lost = [0; 3];
    }

    /// Sessions whose account, user or host found no room, by [`ConnectedBy`].
    pub fn lost(&self) -> [u64; 3] {
        self.0.lock().lost
    }

    /// All that came, ordered by user and host.
    pub fn list(&self, by: ConnectedBy) -> Vec<ConnectedRow> {
        let counts = self.0.lock().by[by as usize].clone();
        let row = |((user, host), count): (Key, Count)| ConnectedRow {
            user,
            host,
            now: count.now,
            total: count.total,
        };
        counts.into_iter().map(row).collect()
    }

    /// Forgets who is not connected; the others came as often as they are there, and those before them did nothing.
    pub fn truncate(&self, by: ConnectedBy) {
        let mut lists = self.0.lock();
        lists.own[by as usize] = PageFigures::default();
        lists.forget_absent(by);
        let counts = &mut lists.by[by as usize];
        for count in counts.values_mut() {
            count.total = count.now;
            count.figures = PageFigures::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_truncated_alone() {
        let connected = Connected::new();
        for user in ["a", "a", "b"] {
            assert_eq!(connected.come(user, "h"), [true; 3]);
        }
        connected.go(("a", "h"), [true; 3], &[1, 2], PageFigures::default);
        connected.go(("b", "h"), [true; 3], &[1], PageFigures::default);
        connected.truncate(ConnectedBy::Account);
        let of = |by| {
            let rows = connected.list(by).into_iter();
            rows.map(|r| format!("{}@{} {} {}", r.user, r.host, r.now, r.total)).collect::<Vec<_>>()
        };
        assert_eq!(of(ConnectedBy::Account), ["a@h 1 1"]);
        assert_eq!(of(ConnectedBy::User), ["a@ 1 2", "b@ 0 1"]);
        assert_eq!(of(ConnectedBy::Host), ["@h 1 3"]);
        let status = |by| connected.status(by).into_iter().map(|r| r.counts).collect::<Vec<_>>();
        assert_eq!(status(ConnectedBy::Host), [[2, 2]]);
        connected.truncate_status(ConnectedBy::Host);
        assert_eq!(status(ConnectedBy::Host), [[0; 0]]);
        assert_eq!(status(ConnectedBy::User), [vec![1, 2], vec![1]]);
    }

    #[test]
    fn who_finds_no_room_is_lost() {
        let connected = Connected::new();
        // The first row is that of the server's own threads.
        connected.set_rows_max([2, 1, 0]);
        let listed = ["a", "b", "a"].map(|user| connected.come(user, "h"));
        assert_eq!(listed, [[true, false, false], [false; 3], [true, false, false]]);
        assert_eq!(ALL.map(|by| connected.list(by).len()), [1, 0, 0]);
        assert_eq!(ALL.map(|by| connected.figures(by).len()), [2, 1, 0]);
        assert_eq!(connected.lost(), [1, 3, 3]);
        let go = |user, listed| connected.go((user, "h"), listed, &[1], PageFigures::default);
        go("b", listed[1]);
        go("a", listed[0]);
        go("a", listed[2]);
        connected.truncate(ConnectedBy::Account);
        connected.come("b", "h");
        assert_eq!(connected.list(ConnectedBy::Account)[0].user, "b", "there is room again");
        assert_eq!(connected.lost(), [1, 4, 4]);
    }

    #[test]
    fn who_found_no_room_takes_nobody_else_s_row_along() {
        let connected = Connected::new();
        connected.set_rows_max([1; 3]);
        let lost = connected.come("a", "h");
        assert_eq!(lost, [false; 3]);
        connected.set_rows_max([2; 3]);
        let listed = connected.come("a", "h");
        connected.go(("a", "h"), lost, &[1], PageFigures::default);
        for by in ALL {
            connected.truncate(by);
            assert_eq!(connected.list(by).iter().map(|row| row.now).collect::<Vec<_>>(), [1]);
        }
        connected.go(("a", "h"), listed, &[1], PageFigures::default);
        for by in ALL {
            connected.truncate(by);
            assert!(connected.list(by).is_empty());
        }
    }
}
