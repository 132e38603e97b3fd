//! What concurrent clients may see, and what a crash may leave.
//!
//! 1. Every write of a row has a unique content, so a row that is found tells which write made it.
//! 2. The writes of a row are in the order in which their writers had the row; a transaction that was rolled
//!    back has none. A reader may find the last write that was committed before it began, or a later one
//!    whose commit has begun; never an uncommitted one of somebody else.
//! 3. After a crash a set of the transactions that were committing, and every acknowledged one, is there
//!    wholly, and nothing else is.
//! 4. A branch is prepared from the answer to its PREPARE to that to its end; a crash while nobody was answered
//!    may leave it either way.
//! 5. The oracle is used between sync points only, so a plain mutex around it is never contended.

use super::common::Row;
use std::collections::BTreeMap;

/// Table and id of a row.
pub type Key = (i64, i64);

/// The rows of tables, as somebody sees them.
pub type State = BTreeMap<Key, Row>;

/// What a branch makes of rows; `None`: they are deleted.
pub type Changes = BTreeMap<Key, Option<Row>>;

/// What a crash leaves: the rows, and the prepared branches by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub rows: State,
    pub branches: BTreeMap<u64, Changes>,
}

impl Left {
    /// Whether a branch has changed something in a table.
    pub fn is_in_a_branch(&self, table: i64) -> bool {
        self.branches.values().flat_map(Changes::keys).any(|key| key.0 == table)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Active,
    /// The commit has begun and was not answered.
    Committing,
    /// The commit was answered.
    Committed,
    /// PREPARE has begun and was not answered.
    Preparing,
    /// PREPARE was answered, and no end has begun.
    Prepared,
    /// As [`Fate::Committing`], of a branch.
    BranchCommitting,
    /// ROLLBACK of a branch has begun and was not answered.
    BranchRollingBack,
}

impl Fate {
    /// Others may find what it has written.
    fn is_seen(self) -> bool {
        matches!(self, Fate::Committing | Fate::Committed | Fate::BranchCommitting)
    }

    /// What may have become of it in a crash: committed, or prepared still; else nothing is left. The likeliest first.
    fn outcomes(self) -> &'static [Outcome] {
        match self {
            Fate::Active => &[Outcome::Gone],
            Fate::Committing => &[Outcome::Gone, Outcome::Committed],
            Fate::Committed => &[Outcome::Committed],
            Fate::Preparing => &[Outcome::Gone, Outcome::Prepared],
            Fate::Prepared => &[Outcome::Prepared],
            Fate::BranchCommitting => &[Outcome::Prepared, Outcome::Committed],
            Fate::BranchRollingBack => &[Outcome::Prepared, Outcome::Gone],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Gone,
    Prepared,
    Committed,
}

#[derive(Clone, Debug)]
struct Write {
    trx: usize,
    order: u64,
    value: Option<Row>,
}

/// Number of a transaction, of a moment.
pub type Trx = usize;
pub type Moment = u64;

#[derive(Debug)]
pub struct Oracle {
    writes: BTreeMap<Key, Vec<Write>>,
    /// Highest order of a write that somebody has found.
    found: BTreeMap<Key, u64>,
    fates: Vec<Fate>,
    /// Names of branches.
    names: BTreeMap<Trx, u64>,
    next: u64,
}

impl Oracle {
    /// After recovery: the rows that are there are committed; which branches are prepared.
    pub fn new(left: Left) -> (Oracle, BTreeMap<u64, Trx>) {
        let mut writes = BTreeMap::new();
        for (key, row) in left.rows {
            writes.insert(key, vec![Write { trx: 0, order: 0, value: Some(row) }]);
        }
        let (found, names) = (BTreeMap::new(), BTreeMap::new());
        let mut oracle = Oracle { writes, found, fates: vec![Fate::Committed], names, next: 1 };
        let mut branches = BTreeMap::new();
        for (name, changes) in left.branches {
            let trx = oracle.begin();
            changes.into_iter().for_each(|(key, value)| oracle.wrote(trx, key, value));
            oracle.preparing(trx, name);
            oracle.prepared(trx);
            branches.insert(name, trx);
        }
        (oracle, branches)
    }

    pub fn now(&mut self) -> Moment {
        self.next += 1;
        self.next
    }

    pub fn begin(&mut self) -> Trx {
        self.fates.push(Fate::Active);
        self.fates.len() - 1
    }

    /// The transaction has written the row, and has it until it ends.
    pub fn wrote(&mut self, trx: Trx, key: Key, value: Option<Row>) {
        let order = self.now();
        self.writes.entry(key).or_default().push(Write { trx, order, value });
    }

    /// The transaction has dropped the table, with all its rows.
    pub fn wrote_all(&mut self, trx: Trx, table: i64) {
        let keys: Vec<Key> = self.writes.keys().filter(|k| k.0 == table).copied().collect();
        keys.into_iter().for_each(|key| self.wrote(trx, key, None));
    }

    pub fn committing(&mut self, trx: Trx) {
        self.fates[trx] = Fate::Committing;
    }

    pub fn committed(&mut self, trx: Trx) {
        self.fates[trx] = Fate::Committed;
    }

    pub fn preparing(&mut self, trx: Trx, name: u64) {
        self.fates[trx] = Fate::Preparing;
        self.names.insert(trx, name);
    }

    pub fn prepared(&mut self, trx: Trx) {
        self.fates[trx] = Fate::Prepared;
    }

    /// The transaction could not be prepared, and still is its client's.
    pub fn not_prepared(&mut self, trx: Trx) {
        self.fates[trx] = Fate::Active;
    }

    /// A branch is about to end.
    pub fn ending(&mut self, trx: Trx, commit: bool) {
        self.fates[trx] = if commit { Fate::BranchCommitting } else { Fate::BranchRollingBack };
    }

    /// A branch has ended.
    pub fn ended(&mut self, trx: Trx, commit: bool) {
        if commit {
            return self.committed(trx);
        }
        self.rolled_back(trx, 0);
        self.fates[trx] = Fate::Active;
    }

    /// Forgets what the transaction wrote after `since`: rolled back, wholly or a statement of it.
    pub fn rolled_back(&mut self, trx: Trx, since: Moment) {
        for writes in self.writes.values_mut() {
            writes.retain(|w| w.trx != trx || w.order < since);
        }
    }

    fn history(&self, key: Key) -> &[Write] {
        self.writes.get(&key).map_or(&[], Vec::as_slice)
    }

    fn own(&self, trx: Trx, key: Key) -> Option<&Write> {
        self.history(key).iter().rfind(|w| w.trx == trx && self.fates[trx] == Fate::Active)
    }

    /// The order from which on a write may be found by who begins to look now.
    pub fn floor(&self, key: Key) -> u64 {
        let acknowledged = |w: &&Write| self.fates[w.trx] == Fate::Committed;
        let known = self.history(key).iter().filter(acknowledged).map(|w| w.order).max();
        known.unwrap_or(0).max(self.found.get(&key).copied().unwrap_or(0))
    }

    /// The floors of all rows that are known.
    pub fn floors(&self) -> BTreeMap<Key, u64> {
        self.writes.keys().map(|k| (*k, self.floor(*k))).collect()
    }

    /// What somebody who began when the floor was `floor` may find: orders and values.
    fn possible(&self, key: Key, floor: u64) -> Vec<(u64, Option<&Row>)> {
        let seen = |w: &&Write| self.fates[w.trx].is_seen() && w.order >= floor;
        let mut all: Vec<_> =
            self.history(key).iter().filter(seen).map(|w| (w.order, w.value.as_ref())).collect();
        if floor == 0 && !self.history(key).iter().any(|w| w.order == 0) {
            all.push((0, None));
        }
        all.sort_by_key(|(order, _)| *order);
        all
    }

    /// Checks what a reader of `trx` found, having begun at `floor`.
    pub fn read(&mut self, trx: Trx, key: Key, floor: u64, found: Option<&Row>) {
        if let Some(own) = self.own(trx, key) {
            assert_eq!(found, own.value.as_ref(), "{key:?}: the transaction's own write");
            return;
        }
        let possible = self.possible(key, floor);
        let Some((order, _)) = possible.iter().find(|(_, value)| *value == found) else {
            let all = self.history(key);
            panic!("{key:?}: found {found:?}, possible {possible:?}\n  of {all:?}");
        };
        let order = *order;
        let highest = self.found.entry(key).or_default();
        *highest = order.max(*highest);
    }

    /// Checks the contents of a row that `trx` has locked: the last committed ones, exactly.
    pub fn locked(&mut self, trx: Trx, key: Key, found: &Row) {
        if let Some(own) = self.own(trx, key) {
            assert_eq!(Some(found), own.value.as_ref(), "{key:?}: the transaction's own write");
            return;
        }
        let last = self.history(key).iter().rfind(|w| self.fates[w.trx].is_seen());
        let value = last.and_then(|w| w.value.as_ref());
        assert_eq!(Some(found), value, "{key:?}: locked, but not the last committed version");
    }

    /// Whether the row was there, or not there, at some time since `floor` was taken.
    pub fn may_exist(&self, trx: Trx, key: Key, floor: u64, there: bool) -> bool {
        if let Some(own) = self.own(trx, key) {
            return own.value.is_some() == there;
        }
        self.possible(key, floor).iter().any(|(_, value)| value.is_some() == there)
    }

    /// Whether some row of the table other than `except` may have had the unique number `u`.
    pub fn may_have_unique(
        &self,
        trx: Trx,
        (table, except): Key,
        u: i64,
        floors: &BTreeMap<Key, u64>,
    ) -> bool {
        let rows = self.writes.keys().filter(|k| k.0 == table && k.1 != except);
        let has = |row: Option<&Row>| row.is_some_and(|r| r.u == Some(u));
        rows.clone().any(|key| match self.own(trx, *key) {
            Some(own) => has(own.value.as_ref()),
            None => {
                let floor = floors.get(key).copied().unwrap_or(0);
                self.possible(*key, floor).iter().any(|(_, value)| has(*value))
            }
        })
    }

    /// The rows of a table that a scan by `trx`, begun when the floors were so, must have found: those of
    /// which no other version can be seen since.
    pub fn must_find(
        &self,
        trx: Trx,
        table: i64,
        floors: &BTreeMap<Key, u64>,
    ) -> BTreeMap<i64, &Row> {
        let mut all = BTreeMap::new();
        for key in self.writes.keys().filter(|key| key.0 == table) {
            let value = match self.own(trx, *key) {
                Some(own) => own.value.as_ref(),
                None => match self.possible(*key, floors.get(key).copied().unwrap_or(0))[..] {
                    [(_, value)] => value,
                    _ => None,
                },
            };
            all.extend(value.map(|row| (key.1, row)));
        }
        all
    }

    /// What recovery may find: all that is allowed, the likeliest first.
    pub fn allowed(&self) -> Vec<Left> {
        let doubtful = self.fates.iter().filter(|fate| fate.outcomes().len() > 1).count();
        assert!(doubtful <= 8, "at most one per client");
        let mut all = vec![Vec::<Outcome>::new()];
        for fate in &self.fates {
            let mut longer = Vec::new();
            for last in fate.outcomes() {
                longer.extend(all.iter().map(|so_far| [so_far, &[*last][..]].concat()));
            }
            all = longer;
        }
        all.iter().map(|outcomes| self.left_by(outcomes)).collect()
    }

    fn left_by(&self, outcomes: &[Outcome]) -> Left {
        let mut left = Left::default();
        let is = |w: &&Write, outcome| outcomes[w.trx] == outcome;
        for (name, trx) in self.names.iter().map(|(trx, name)| (*name, *trx)) {
            if outcomes[trx] == Outcome::Prepared {
                left.branches.insert(name, Changes::new());
            }
        }
        for (key, writes) in &self.writes {
            let last = writes.iter().rfind(|w| is(w, Outcome::Committed));
            left.rows.extend(last.and_then(|w| Some((*key, w.value.clone()?))));
            for write in writes.iter().filter(|w| is(w, Outcome::Prepared)) {
                let changes = left.branches.entry(self.names[&write.trx]).or_default();
                changes.insert(*key, write.value.clone());
            }
        }
        left
    }
}
