//! Undoing: a statement, a transaction, a loser found by recovery. One code for all three.
//!
//! 1. Records are undone from the last one backwards. A record's secondary entries go first, in
//!    mini-transactions of their own; then one mini-transaction restores the row and steps the
//!    segment back. So the last record of a segment is always one whose row is not restored yet,
//!    and undoing it again after a crash is right. Guard: `a_crash_at_any_moment_of_recovery_is_recovered_from`; a row
//!    that is another's is an error of `Writer::try_undo_row`.
//! 2. Undoing waits for nobody: the rows are this transaction's. Guard: the error of [`Writer::wait_for`].
//! 3. Entries that only the undone version has go, or are marked when older versions have them; those
//!    of the restored version are there without a mark (`entry`, invariant 4). Guard: CHECK TABLE in
//!    `marks_follow_the_rows` and the campaigns.
//! 4. A row that was put over another transaction's committed delete mark gets the mark back while an older view
//!    may need what is before it, and that transaction's purge is still to come. When the horizon has passed the
//!    mark's end, its purge may have passed, too: then the row is removed, with what the purge would have removed.
//!    Which of the two is decided for good under the row's latch (`purge`, invariant 6). Guard: `Writer::is_old_mark` is
//!    asked under it; the checks of `one_runner`.
//! 5. An entry that was marked for an older version (3) is looked at again when the row is restored: meanwhile
//!    that version's purge may have left it there because of the version undone. Guard: the checks of `one_runner` (a
//!    row was not purged).

use crate::blob::Fetched;
use crate::engine::Engine;
use crate::row::{HEADER_BYTES, RowHeader};
use crate::table::Table;
use crate::version::Looks;
use crate::writer::{Buffers, Try, Writer};
use base::{Error, IndexId, PageId, PageNo, Result, SpaceId, TableId, UNDO_SPACE};
use btree::{Fit, Release, Tree};
use std::sync::Arc;
use stdx::bytes::{Reader, Truncated};
use sync::Stage;
use trx::{RecordKind, UndoPos, UndoRecord};

instrument::classes! {
    static ROLL_BACK: StageClass = "stage/limpid/rolling back";
}

/// A transaction of so many records tells how far its rollback is, whenever as many are undone.
const RECORDS_UNTIL_TOLD: u64 = 1024;

/// What is known of a table that an undo record names.
pub(crate) enum Lookup {
    /// Here it is.
    Open(Arc<Table>),
    /// It was dropped: there is nothing to undo.
    Dropped,
    /// Not known yet: stop here.
    Later,
}

/// Finds the tables of undo records.
pub(crate) type Tables<'a> = dyn Fn(TableId) -> Result<Lookup> + 'a;

/// What became of a row by undoing.
enum Restored<'r> {
    /// It goes.
    Removed,
    /// It has this payload again.
    Payload(&'r [u8]),
}

impl Writer<'_> {
    /// Undoes the records after `until`. `false`: stopped at a table that is not known yet.
    pub fn undo_to(
        &mut self,
        until: UndoPos,
        tables: &Tables<'_>,
        b: &mut Buffers,
    ) -> Result<bool> {
        let mut bytes = Vec::new();
        let total = self.segment.records();
        let is_long = self.progress.is_some() && until.is_none() && total >= RECORDS_UNTIL_TOLD;
        let stage = is_long.then(|| Stage::begin(&ROLL_BACK, total));
        while self.segment.last() != until {
            let at = self.segment.last();
            if at.is_none() {
                return Err(Error::Internal("rolling back to a place that is no longer there"));
            }
            self.engine.relieve_log()?;
            self.engine.trx().read_undo(at, &mut bytes)?;
            let place = PageId::new(UNDO_SPACE, at.page);
            let record = UndoRecord::decode(&bytes, place, at.offset)?;
            if record.trx != self.me() {
                return Err(Error::corrupt(place, "another transaction's undo record"));
            }
            if !self.undo_record(&record, tables, b)? {
                return Ok(false);
            }
            let left = self.segment.records();
            if let Some(progress) = self.progress {
                progress.set_changes(left);
            }
            if let Some(stage) = &stage
                && left.is_multiple_of(RECORDS_UNTIL_TOLD)
            {
                stage.has_done(total.saturating_sub(left));
            }
        }
        Ok(true)
    }

    fn undo_record(
        &mut self,
        record: &UndoRecord<'_>,
        tables: &Tables<'_>,
        b: &mut Buffers,
    ) -> Result<bool> {
        match record.kind {
            // It may take long: recovery does it in the background.
            RecordKind::CreateSpace | RecordKind::CreateIndex
                if self.engine.recovery.is_opening() =>
            {
                return Ok(false);
            }
            RecordKind::CreateSpace => self.undo_create_space(record)?,
            RecordKind::CreateIndex => return self.free_index(record),
            RecordKind::DropIndex | RecordKind::Prepare => self.step_back(record.previous)?,
            RecordKind::Commit => {
                return Err(Error::Internal("a commit record among those of a transaction"));
            }
            RecordKind::Insert | RecordKind::Update | RecordKind::Header | RecordKind::BlobRun => {
                match tables(record.table)? {
                    Lookup::Open(table) if record.kind == RecordKind::BlobRun => {
                        self.undo_run(record, &table)?;
                    }
                    Lookup::Open(table) => self.undo_row(record, &table, b)?,
                    Lookup::Dropped => self.step_back(record.previous)?,
                    Lookup::Later => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// The record is undone and nothing else belongs to it.
    fn step_back(&mut self, previous: UndoPos) -> Result<()> {
        let mut mtr = self.mtr();
        let header = self.segment.latch_header(&mut mtr, self.engine.trx().undo())?;
        self.segment.step_back(&mut mtr, header, previous)?;
        mtr.commit()?;
        Ok(())
    }

    fn undo_row(&mut self, record: &UndoRecord<'_>, table: &Table, b: &mut Buffers) -> Result<()> {
        self.keep_lock(table.clustered.index, record.key, Self::undoes_insert(record)?);
        loop {
            let restored = match record.kind {
                RecordKind::Update if self.is_old_mark(record.body)? => Restored::Removed,
                RecordKind::Update => Restored::Payload(record.body),
                _ => Restored::Removed,
            };
            let marked = self.undo_entries(record, table, &restored, b)?;
            if record.kind == RecordKind::Update && matches!(restored, Restored::Removed) {
                // The committed delete mark goes as well, and with it the values of its version.
                self.purge_older(table, record.key, record.body, b)?;
                self.free_outside(table, record.body, |_| true)?;
            }
            let attempt = |w: &mut Self| w.try_undo_row(record, table, &restored);
            if self.retry(&table.clustered, record.key, attempt)? {
                return match marked {
                    true => self.look_again(table, record.key, b),
                    false => Ok(()),
                };
            }
        }
    }

    /// Whether there was no row, or a deleted one, before the change.
    fn undoes_insert(record: &UndoRecord<'_>) -> Result<bool> {
        Ok(record.kind == RecordKind::Insert || RowHeader::read(record.body)?.deleted())
    }

    /// Whether a version is another transaction's delete mark that nobody sees past any more.
    fn is_old_mark(&self, payload: &[u8]) -> Result<bool> {
        let h = RowHeader::read(payload)?;
        Ok(h.deleted() && h.trx != self.me() && self.engine.trx().all_see(h.trx))
    }

    /// Removes the marked entries of the version undone, which is in `b.after`, that nobody needs any more
    /// (invariant 5).
    fn look_again(&mut self, table: &Table, key: &[u8], b: &mut Buffers) -> Result<()> {
        let undone = std::mem::take(&mut b.after);
        let done = self.purge_entries(table, key, &undone, b);
        b.after = undone;
        done
    }

    /// Gives the row's entries the states that they have for the version being restored (`entry`,
    /// invariants 4 and 6). Whether one was left with a mark; then the version undone is in `b.after`.
    fn undo_entries(
        &mut self,
        record: &UndoRecord<'_>,
        table: &Table,
        restored: &Restored<'_>,
        b: &mut Buffers,
    ) -> Result<bool> {
        if table.secondaries.is_empty() {
            return Ok(false);
        }
        if !table.clustered.get(record.key, &mut b.after)? {
            return Err(Error::Internal("the row of an undo record is missing"));
        }
        let now = std::mem::take(&mut b.after);
        let is_row = !RowHeader::read(&now)?.deleted();
        let before = match (record.kind, restored) {
            // A header's record does not repeat the row.
            (RecordKind::Header, _) if is_row => return Ok(false),
            (RecordKind::Header, _) if !RowHeader::read(record.body)?.deleted() => Some(&now[..]),
            (_, Restored::Payload(p)) if !RowHeader::read(p)?.deleted() => Some(*p),
            _ => None,
        };
        let row_now = if is_row { Some(table.row_of(&now)?) } else { None };
        let row_before = before.map(|payload| table.row_of(payload)).transpose()?;
        let versions = (row_now.as_deref(), row_before.as_deref());
        let mut marked = false;
        let done = (0..table.secondaries.len()).try_for_each(|i| {
            marked |= self.undo_entry(record, (table, i), restored, versions, b)?;
            Ok(())
        });
        b.after = now;
        done.map(|()| marked)
    }

    /// One index's part of [`Self::undo_entries`]; the versions are the row's now and as it will be. Whether
    /// the entry of the present one was left with a mark.
    fn undo_entry(
        &mut self,
        record: &UndoRecord<'_>,
        (table, index): (&Table, usize),
        restored: &Restored<'_>,
        (now, before): (Option<&[u8]>, Option<&[u8]>),
        b: &mut Buffers,
    ) -> Result<bool> {
        let mut marked = false;
        let (engine, s) = (self.engine, &table.secondaries[index]);
        let (mut undone, mut kept) = (Vec::new(), Vec::new());
        if let Some(row) = before {
            engine.sure_prefix(table, s, row, &mut kept)?;
        }
        if let Some(row) = now {
            engine.sure_prefix(table, s, row, &mut undone)?;
            if before.is_some() && undone == kept {
                return Ok(false);
            }
            let (key, other, undo) = (record.key, &mut b.other, &mut b.undo);
            self.retire_entry(s, (&undone, key), &mut b.old_entry, || {
                let Restored::Payload(before) = restored else { return Ok(false) };
                let mut looks = Looks::default();
                loop {
                    other.clear();
                    other.extend_from_slice(before);
                    // Not known: an older version was purged meanwhile, and is not looked at again.
                    let needs = engine.version_needs(table, key, (index, &undone), other, undo)?;
                    if let Some(needs) = needs {
                        marked = needs;
                        return Ok(needs);
                    }
                    looks.again(engine, table)?;
                }
            })?;
        }
        if before.is_some() {
            kept.extend_from_slice(record.key);
            let next = &mut b.old_entry;
            self.retry(&s.tree, &kept, |w| w.try_entry(s, &kept, record.key, next))?;
        } else if record.kind == RecordKind::Update && matches!(restored, Restored::Removed) {
            // The committed delete mark below goes as well, and with it the entries of its version.
            // Gone: its purge, or a first attempt to undo, has passed already.
            let old = table.row_of(record.body)?;
            if let Fetched::Done = engine.entry_prefix(table, s, &old, &mut kept)? {
                self.remove_entry(s, (&kept, record.key), &mut b.old_entry, || Ok(false))?;
            }
        }
        Ok(marked)
    }

    /// `false`: the delete mark being restored has become an old one.
    fn try_undo_row(
        &mut self,
        record: &UndoRecord<'_>,
        table: &Table,
        restored: &Restored<'_>,
    ) -> Result<Try<bool>> {
        let mut mtr = self.mtr();
        let tree = &table.clustered;
        let pos = tree.position(&mut mtr, record.key)?;
        if !pos.found || RowHeader::read(pos.payload(&mtr)?)?.trx != self.me() {
            return Err(Error::Internal("the row of an undo record is another transaction's"));
        }
        let goes = record.kind != RecordKind::Header && matches!(restored, Restored::Removed);
        if goes && let Some(next) = self.leave_locks(tree, &mtr, &pos, record.key)? {
            return Ok(Try::Look(next));
        }
        let header = self.segment.latch_header(&mut mtr, self.engine.trx().undo())?;
        match (record.kind, restored) {
            (RecordKind::Header, _) if record.body.len() == HEADER_BYTES => {
                tree.patch_at(&mut mtr, &pos, 0, record.body)?;
            }
            (RecordKind::Header, _) => {
                return Err(Error::Internal("a row header of another size in undo"));
            }
            (_, Restored::Removed) => tree.remove_at(&mut mtr, &pos)?,
            (_, Restored::Payload(payload)) if self.is_old_mark(payload)? => {
                return Ok(Try::Done(false));
            }
            (_, Restored::Payload(payload)) => {
                if tree.replace_at(&mut mtr, &pos, payload)? == Fit::Full {
                    return Ok(Try::Split(payload.len()));
                }
            }
        }
        self.segment.step_back(&mut mtr, header, record.previous)?;
        mtr.commit()?;
        Ok(Try::Done(true))
    }

    fn undo_create_space(&mut self, record: &UndoRecord<'_>) -> Result<()> {
        let id = read_space(record.body)?;
        self.engine.drop_space(id)?;
        self.step_back(record.previous)
    }

    /// Frees the index that a record has made or dropped, which nobody knows (any more). Everything but the root goes
    /// first, as often as it takes; the root in one go with the record, the segment's last one. `false`: that was this
    /// step's share ([`IndexRelease`]), there is more.
    ///
    /// A client frees its own index to the end: nobody waits for it but who wants that table, since it holds no mutex
    /// and the log lets each of its small mini-transactions in alone ([`Release::step`]).
    pub fn free_index(&mut self, record: &UndoRecord<'_>) -> Result<bool> {
        let (space, root, index) = read_index(record.body)?;
        // Without its file the index is gone with the table.
        let Some(ts) = self.engine.space(space)? else {
            return self.step_back(record.previous).map(|()| true);
        };
        let tree = Tree::new(Arc::clone(&ts), root, index);
        let mut whole = IndexRelease::step_of(u64::MAX);
        let release = self.release.as_deref_mut().unwrap_or(&mut whole).of(index);
        let (far, left) = (&mut release.far, &mut release.left);
        if !tree.free_below_root(self.engine.pool(), self.worker, far, left)? {
            return Ok(false);
        }
        let mut mtr = self.mtr();
        let header = self.segment.latch_header(&mut mtr, self.engine.trx().undo())?;
        tree.free_root(&mut mtr)?;
        self.segment.step_back(&mut mtr, header, record.previous)?;
        mtr.commit()?;
        Ok(true)
    }
}

/// How far the freeing of an index is, and how much of it the present step may do.
pub(crate) struct IndexRelease {
    index: Option<IndexId>,
    far: Release,
    left: u64,
}

impl IndexRelease {
    /// Nothing is freed yet; `left` pieces (extents, pages of shared extents) may be.
    pub fn step_of(left: u64) -> IndexRelease {
        IndexRelease { index: None, far: Release::default(), left }
    }

    /// The next step may do so many.
    pub fn allow(&mut self, pieces: u64) {
        self.left = pieces;
    }

    /// Pieces that the step has not used.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Goes on with this index, or begins with it.
    fn of(&mut self, index: IndexId) -> &mut IndexRelease {
        if self.index != Some(index) {
            (self.index, self.far) = (Some(index), Release::default());
        }
        self
    }
}

/// The body of a [`RecordKind::CreateIndex`] record.
pub(crate) fn index_body(space: SpaceId, root: PageNo, index: IndexId) -> Vec<u8> {
    let mut body = space.0.to_le_bytes().to_vec();
    body.extend_from_slice(&root.0.to_le_bytes());
    body.extend_from_slice(&index.0.to_le_bytes());
    body
}

fn read_space(body: &[u8]) -> Result<SpaceId> {
    Ok(SpaceId(Reader::new(body).u32_le().map_err(cut)?))
}

pub(crate) fn read_index(body: &[u8]) -> Result<(SpaceId, PageNo, IndexId)> {
    let mut r = Reader::new(body);
    let space = SpaceId(r.u32_le().map_err(cut)?);
    Ok((space, PageNo(r.u32_le().map_err(cut)?), IndexId(r.u64_le().map_err(cut)?)))
}

fn cut(_: Truncated) -> Error {
    Error::Internal("an undo record of DDL is cut short")
}

impl Engine {
    /// Finds open tables in a list: those that a transaction wrote to.
    pub(crate) fn lookup_in(tables: &[Arc<Table>], id: TableId) -> Lookup {
        match tables.iter().find(|t| t.id() == id) {
            Some(table) => Lookup::Open(Arc::clone(table)),
            None => Lookup::Later,
        }
    }
}
