//! Rows of an index range, in order or in reverse.
//!
//! 1. The cursor copies what the range has of one leaf after the other; a copied row whose writer may have gone on writing after the
//!    scan began is copied again by its key (see `version`). Guard: `no_reader_sees_what_was_never_committed`.
//! 2. A secondary entry counts only when the visible version of its row has the same key. In a leaf that
//!    nobody has changed since all of them ended its mark says that, without the row (`entry`,
//!    invariant 5); a row all of whose wanted columns are in the entry is made of it. Guard:
//!    `an_index_alone_tells_what_the_rows_do`.
//! 3. A [`Reader`] borrows nothing: it is given the client and the table with each call, so any number of
//!    them stand open over one client, which may write meanwhile. What it writes into a range that is
//!    being read may or may not be seen: who changes what it reads collects the keys first. Guard:
//!    `readers_of_one_client_do_not_disturb_each_other`, `a_client_writes_while_its_readers_are_open`.
//! 4. A warm reader allocates nothing, and a settled row is copied once, from the leaf to the caller. Guard:
//!    `a_warm_read_writes_nothing_shared_and_allocates_nothing`.

use crate::blob::Fetched;
use crate::client::Client;
use crate::engine::Engine;
use crate::locked_range::LockedRange;
use crate::locking::{LockMode, RowLock};
use crate::outside::Need;
use crate::row::{HEADER_BYTES, RowHeader, Seen, row_bytes};
use crate::table::{Secondary, Table, is_marked, split_entry};
use crate::version::{Eyes, Sight};
use base::{Error, Lsn, Result, TrxId};
use btree::Cursor;
use instrument::Counter;
use std::ops::Bound;
use value::row::EntryColumns;

/// Memory of a fetched row above this is not kept for the next scan, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Memory of a buffer of a reader that rests, in bytes.
const RESTING_BYTES_MAX: usize = 4 << 10;

/// Which way a reader goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    #[default]
    Forward,
    /// Descending keys.
    Backward,
}

/// Reads ranges of indexes; its memory is used again by the next range.
#[derive(Default)]
pub struct Reader {
    cursor: Cursor,
    direction: Direction,
    index: usize,
    horizon: Lsn,
    /// Entries of leaves that only transactions below this one have changed say what the view sees.
    settled_below: TrxId,
    /// `horizon` and `settled_below` are those of the range.
    is_settled: bool,
    /// Rows may be made of entries.
    covered: bool,
    wanted: EntryColumns,
    /// Only the columns in `need` are fetched.
    limited: bool,
    need: Vec<usize>,
    key: Vec<u8>,
    payload: Vec<u8>,
    undo: Vec<u8>,
    prefix: Vec<u8>,
    other: Vec<u8>,
    /// Whether each end was given as a beginning of keys that belong to the range.
    included: (bool, bool),
    /// The range is read with locks, here.
    locked: Option<Box<LockedRange>>,
    locks: Option<RowLock>,
}

/// Who reads, and where.
#[derive(Clone, Copy)]
pub(crate) struct Viewer<'a> {
    pub engine: &'a Engine,
    pub eyes: Eyes,
}

impl Reader {
    /// A reader of nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Begins a range, as [`Client::scan`] describes it. Every column is fetched until
    /// [`Reader::need`] says otherwise.
    ///
    /// # Errors
    /// There is no such index.
    pub fn open(
        &mut self,
        client: &Client,
        table: &Table,
        index: usize,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Result<()> {
        // A view that the first row opens is young enough, and a locking read opens none.
        if let Some(eyes) = client.open_eyes() {
            client.engine().check_age(eyes.on(table), table, index)?;
        }
        self.begin(table, index, range, direction)
    }

    /// Goes to another range of the index, which is read as the one before, without locks: what was said of it holds.
    pub fn reopen(&mut self, (low, high): (Bound<&[u8]>, Bound<&[u8]>)) {
        debug_assert!(self.locks.is_none());
        self.cursor.open_prefixes(low, high);
    }

    /// The range is over, and the next one may be long in coming: what takes much memory is given back.
    pub fn close(&mut self) {
        self.cursor.release();
        self.locked = None;
        for buffer in [&mut self.key, &mut self.payload, &mut self.undo, &mut self.other] {
            if buffer.capacity() > RESTING_BYTES_MAX {
                *buffer = Vec::new();
            }
        }
    }

    pub(crate) fn begin(
        &mut self,
        table: &Table,
        index: usize,
        (low, high): (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Result<()> {
        if table.tree(index).is_none() {
            return Err(Error::Internal("no such index"));
        }
        self.index = index;
        self.direction = direction;
        self.limited = false;
        self.covered = false;
        self.locks = None;
        let is_included = |b: &Bound<&[u8]>| matches!(b, Bound::Included(_));
        self.included = (is_included(&low), is_included(&high));
        self.cursor.open_prefixes(low, high);
        self.is_settled = false;
        Ok(())
    }

    /// Before the first leaf is copied: who has ended by now has nothing more to write to it.
    #[cold]
    fn settle(&mut self, viewer: Viewer<'_>) {
        self.is_settled = true;
        self.horizon = viewer.engine.tail_for(viewer.eyes.sight);
        self.settled_below = match viewer.eyes.sight {
            Sight::At(view) => view.all_visible_below,
            Sight::Committed => viewer.engine.trx().all_ended_below(),
            // As in InnoDB what is halfway in or out is there, or is not, as the index that is read alone says.
            Sight::Newest if self.covered => TrxId(u64::MAX),
            Sight::Newest => TrxId::NONE,
        };
    }

    /// Says that only these columns (and the clustered key) will be decoded: values of the others
    /// that lie outside of their row are not fetched, and cannot be decoded.
    pub fn need(&mut self, columns: &[usize]) {
        self.limited = true;
        self.need.clear();
        self.need.extend_from_slice(columns);
    }

    /// As [`Reader::need`], and no other columns of the rows have a meaning: where all of these are in the
    /// entries of the index that is read, in a form that they can be made of, rows need not be visited.
    pub fn need_only(&mut self, table: &Table, columns: &[usize]) {
        self.need(columns);
        let rows = self.index.checked_sub(1).and_then(|i| table.entry_rows.get(i));
        self.covered = rows.is_some_and(|rows| rows.want(columns, &mut self.wanted));
    }

    /// Says that the rows of the range that was opened, and those of [`Reader::get`], are to be locked:
    /// they are the latest committed versions then, or the own ones.
    pub fn lock(&mut self, lock: RowLock) {
        self.locks = Some(lock);
        let range = self.locked.get_or_insert_default();
        let ends = self.cursor.ends();
        range.open(lock, self.index, self.direction, ends, self.included);
        range.cover(self.covered && lock.mode == LockMode::Shared);
    }

    /// Says that the rows of [`Reader::get`] are read without locks, whatever the reader was used for before.
    pub fn unlocked(&mut self) {
        self.locks = None;
    }

    /// Says that the entries of the range tell what is outside of it, before their rows are locked: MySQL does
    /// so where a query's rows are not in the index (index condition pushdown). After [`Reader::lock`].
    pub fn push_down(&mut self) {
        if let Some(range) = &mut self.locked {
            range.push_down();
        }
    }

    /// Whether the row answered last is another transaction's, as it was committed last: see
    /// [`crate::LockWait::IfWanted`].
    pub fn is_others(&self) -> bool {
        self.locked.as_ref().is_some_and(|range| range.is_others())
    }

    /// The row answered last is wanted, though it is another's: the next one is what has become of it, locked.
    pub fn insist(&mut self) {
        if let Some(range) = &mut self.locked {
            range.insist();
        }
    }

    /// Gives back what the row answered last was newly locked with: it is not wanted after all. Does nothing
    /// at levels that keep such locks.
    pub fn unlock_last(&mut self, client: &Client) {
        let locker = client.locker();
        if let (Some(range), true) = (&mut self.locked, locker.gapless) {
            range.unlock_last(&locker);
        }
        client.unlock_last();
    }

    #[cold]
    fn next_locked(
        &mut self,
        client: &Client,
        table: &Table,
        out: &mut Vec<u8>,
        wanted: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool> {
        let mode = self.locks.map_or(LockMode::Exclusive, |lock| lock.mode);
        let locker = client.locking(table, mode);
        let need = if self.limited { Need::Columns(&self.need) } else { Need::All };
        let range = self.locked.get_or_insert_default();
        while range.step(&locker, table)? {
            let payload = range.payload();
            let mut is_whole = false;
            if range.is_covered() {
                let rows = &table.entry_rows[self.index - 1];
                if !rows.make(range.entry(), &mut self.wanted, out) {
                    return Err(Error::Internal("an entry's key contradicts its index"));
                }
            } else if RowHeader::read(payload)?.seen(table.version()).is_plain() {
                is_whole = true;
                out.clear();
                out.extend_from_slice(row_bytes(payload));
            } else {
                client.engine().complete_own(table, payload, need, out)?;
            }
            instrument::count(Counter::InnodbRowsRead, 1);
            if wanted(out) {
                self.key.clear();
                self.key.extend_from_slice(range.key());
                if is_whole && mode == LockMode::Exclusive {
                    client.last_found().note(table.id(), range.key(), payload);
                }
                return Ok(true);
            }
            if locker.gapless {
                range.unlock_last(&locker);
            }
        }
        Ok(false)
    }

    /// Puts the next row (in [`value::RowLayout`] form) into `out`; `false` at the range's end.
    /// `client` and `table` are those the range was opened with.
    ///
    /// # Errors
    /// Damage, failed reads.
    pub fn next(&mut self, client: &Client, table: &Table, out: &mut Vec<u8>) -> Result<bool> {
        if self.locks.is_some() {
            return self.next_locked(client, table, out, &mut |_| true);
        }
        self.step(client.viewer(table), table, out, &mut |_| true)
    }

    /// As [`Reader::next`], for rows that `wanted` says yes to: it is shown each of them where it lies.
    ///
    /// # Errors
    /// Damage, failed reads.
    #[inline]
    pub fn next_where(
        &mut self,
        client: &Client,
        table: &Table,
        out: &mut Vec<u8>,
        wanted: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool> {
        if self.locks.is_some() {
            return self.next_locked(client, table, out, wanted);
        }
        self.step(client.viewer(table), table, out, wanted)
    }

    #[inline]
    pub(crate) fn step(
        &mut self,
        viewer: Viewer<'_>,
        table: &Table,
        out: &mut Vec<u8>,
        wanted: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool> {
        if out.capacity() > KEPT_BYTES_MAX {
            *out = Vec::new();
        }
        if !self.is_settled {
            self.settle(viewer);
        }
        loop {
            let clustered = self.index == 0;
            let seen = match clustered {
                true => self.step_clustered(viewer, table, out, wanted)?,
                false => self.step_secondary(viewer, table, out, wanted)?,
            };
            match seen {
                None => return Ok(true),
                Some(seen) if !seen.is_there() => return Ok(false),
                Some(seen) => {
                    let found = seen.is_plain() || self.complete(viewer, table, out)?;
                    if !found {
                        continue;
                    }
                    instrument::count(Counter::InnodbRowsRead, 1);
                    let row = if seen.is_plain() { row_bytes(&self.payload) } else { &out[..] };
                    if wanted(row) {
                        if seen.is_plain() {
                            out.clear();
                            out.extend_from_slice(row_bytes(&self.payload));
                        }
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Puts the row with this clustered key into `out`; `false`: there is none. Only the columns of
    /// [`Reader::need`] are fetched. A range that is open stays as it is.
    ///
    /// # Errors
    /// Damage, failed reads.
    pub fn get(
        &mut self,
        client: &Client,
        table: &Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Some(lock) = self.locks {
            let need = if self.limited { Need::Columns(&self.need) } else { Need::All };
            self.key.clear();
            self.key.extend_from_slice(key);
            return client.get_with_lock(table, key, need, lock, out);
        }
        let Viewer { engine, eyes } = client.viewer(table);
        engine.check_age(eyes, table, 0)?;
        let seen = engine.read_visible(eyes, table, key, &mut self.payload, &mut self.undo)?;
        if !seen.is_there() {
            return Ok(false);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        if seen.is_plain() {
            out.clear();
            out.extend_from_slice(row_bytes(&self.payload));
        } else {
            let need = if self.limited { Need::Columns(&self.need) } else { Need::All };
            let into = (&mut self.payload, &mut *out);
            if !engine.complete_visible(eyes, table, key, need, into, &mut self.undo)? {
                return Ok(false);
            }
        }
        instrument::count(Counter::InnodbRowsRead, 1);
        Ok(true)
    }

    /// The clustered key of the row that was read last.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Fetches what lies outside of the row in the payload. `false`: the row is gone.
    #[cold]
    fn complete(&mut self, viewer: Viewer<'_>, table: &Table, out: &mut Vec<u8>) -> Result<bool> {
        let Viewer { engine, eyes } = viewer;
        let need = if self.limited { Need::Columns(&self.need) } else { Need::All };
        let into = (&mut self.payload, out);
        let found = engine.complete_visible(eyes, table, &self.key, need, into, &mut self.undo)?;
        if !found || self.index == 0 {
            return Ok(found);
        }
        // The row may have been read again: then it must still belong to the entry.
        let s = &table.secondaries[self.index - 1];
        match engine.entry_prefix(table, s, &table.row_of(&self.payload)?, &mut self.other)? {
            Fetched::Done => Ok(self.other == self.prefix),
            // Changed again since: its values were there when they were fetched.
            Fetched::Gone(_) => Ok(true),
        }
    }

    /// `None`: the row is wanted and in `out`; else it is in the payload, and it is not known whether it is
    /// wanted.
    #[inline]
    fn step_clustered(
        &mut self,
        viewer: Viewer<'_>,
        table: &Table,
        out: &mut Vec<u8>,
        wanted: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<Seen>> {
        let mut rows = 0;
        let seen = self.walk_clustered((viewer, table), out, &mut rows, wanted);
        instrument::count(Counter::InnodbRowsRead, rows);
        seen
    }

    /// As [`Self::step_clustered`]; counts the rows that are shown to `wanted`.
    #[inline]
    fn walk_clustered(
        &mut self,
        (Viewer { engine, eyes }, table): (Viewer<'_>, &Table),
        out: &mut Vec<u8>,
        rows: &mut u64,
        wanted: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<Seen>> {
        loop {
            let payload = match self.direction {
                Direction::Forward => self.cursor.next_payload(&table.clustered)?,
                Direction::Backward => self.cursor.prev_payload(&table.clustered)?,
            };
            let Some(payload) = payload else { return Ok(Some(Seen::NOTHING)) };
            let h = RowHeader::read(payload)?;
            if h.seen(table.version()).is_plain() && engine.takes(eyes, &h, self.horizon) {
                *rows += 1;
                let row = &payload[HEADER_BYTES..];
                if !wanted(row) {
                    continue;
                }
                out.clear();
                out.extend_from_slice(row);
                self.key.clear();
                self.key.extend_from_slice(self.cursor.key()?);
                return Ok(None);
            }
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            self.key.clear();
            self.key.extend_from_slice(self.cursor.key()?);
            let (payload, undo) = (&mut self.payload, &mut self.undo);
            let seen = engine.settle_copy(eyes, table, &self.key, self.horizon, payload, undo)?;
            if seen.is_there() {
                return Ok(Some(seen));
            }
        }
    }

    /// As [`Self::step_clustered`].
    fn step_secondary(
        &mut self,
        viewer: Viewer<'_>,
        table: &Table,
        out: &mut Vec<u8>,
        wanted: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<Seen>> {
        let Viewer { engine, eyes } = viewer;
        let s = &table.secondaries[self.index - 1];
        let backward = self.direction == Direction::Backward;
        loop {
            let entry = match backward {
                false => self.cursor.next_entry(&s.tree)?,
                true => self.cursor.prev_entry(&s.tree)?,
            };
            let Some(entry) = entry else { return Ok(Some(Seen::NOTHING)) };
            let settled = entry.max_trx_id() < self.settled_below;
            if settled && is_marked(entry.payload) {
                self.cursor.skip(backward, is_marked)?;
                continue;
            }
            let (parts, key) = split_entry(entry.key, entry.payload)?;
            if settled && self.covered {
                let rows = &table.entry_rows[self.index - 1];
                if !rows.make((entry.key, parts.len()), &mut self.wanted, out) {
                    return Err(Error::Internal("an entry's key contradicts its index"));
                }
                instrument::count(Counter::InnodbRowsRead, 1);
                if !wanted(out) {
                    continue;
                }
                self.key.clear();
                self.key.extend_from_slice(key);
                return Ok(None);
            }
            self.key.clear();
            self.key.extend_from_slice(key);
            let mut before = None;
            loop {
                let (payload, undo) = (&mut self.payload, &mut self.undo);
                let seen = engine.read_visible(eyes, table, key, payload, undo)?;
                if !seen.is_there() {
                    break;
                }
                // What the view sees has the entry's key, as the leaf says; what was committed since need not.
                if settled && seen.is_plain() && matches!(eyes.sight, Sight::At(_)) {
                    debug_assert!(
                        engine.has_parts(table, s, &self.payload, parts)?,
                        "a settled entry misleads"
                    );
                    return Ok(Some(seen));
                }
                let row = table.row_of(&self.payload)?;
                match engine.entry_prefix(table, s, &row, &mut self.prefix)? {
                    Fetched::Done if self.prefix == parts => return Ok(Some(seen)),
                    Fetched::Done => break,
                    Fetched::Gone(e) if before.as_ref() == Some(&self.payload) => return Err(e),
                    Fetched::Gone(_) => before = Some(self.payload.clone()),
                }
            }
        }
    }
}

impl Engine {
    /// Whether a row has the parts of an entry; yes if what they are made of is gone.
    fn has_parts(
        &self,
        table: &Table,
        s: &Secondary,
        payload: &[u8],
        parts: &[u8],
    ) -> Result<bool> {
        let mut prefix = Vec::new();
        let fetched = self.entry_prefix(table, s, &table.row_of(payload)?, &mut prefix)?;
        Ok(!matches!(fetched, Fetched::Done) || prefix == parts)
    }
}

/// Rows of an index range; made by [`crate::Client::scan`].
pub struct Scan<'a> {
    viewer: Viewer<'a>,
    table: &'a Table,
    reader: &'a mut Reader,
    row: &'a mut Vec<u8>,
}

/// The memory of [`Engine::scan_latest`].
#[derive(Default)]
pub struct ScanRoom {
    reader: Reader,
    row: Vec<u8>,
}

impl Engine {
    /// Rows of a range of the clustered key in order, as they were committed last, of nobody's transaction: it needs no client
    /// and waits for nobody.
    ///
    /// # Errors
    /// Failed reads, damage.
    pub fn scan_latest<'a>(
        &'a self,
        table: &'a Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        room: &'a mut ScanRoom,
    ) -> Result<Scan<'a>> {
        let eyes = Eyes { me: TrxId::NONE, sight: Sight::Committed };
        let viewer = Viewer { engine: self, eyes };
        Scan::open(viewer, table, 0, range, &mut room.reader, &mut room.row)
    }
}

impl<'a> Scan<'a> {
    pub(crate) fn open(
        viewer: Viewer<'a>,
        table: &'a Table,
        index: usize,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        reader: &'a mut Reader,
        row: &'a mut Vec<u8>,
    ) -> Result<Scan<'a>> {
        reader.begin(table, index, range, Direction::Forward)?;
        Ok(Scan { viewer, table, reader, row })
    }

    /// As [`Reader::need`].
    pub fn need(&mut self, columns: &[usize]) {
        self.reader.need(columns);
    }

    /// The next row (in [`value::RowLayout`] form), or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "the row borrows the scan")]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        let found = self.reader.step(self.viewer, self.table, self.row, &mut |_| true)?;
        Ok(found.then_some(&self.row[..]))
    }

    /// The clustered key of the row that [`Self::next`] returned last.
    pub fn key(&self) -> &[u8] {
        self.reader.key()
    }
}
