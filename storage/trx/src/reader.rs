//! Reading undo from outside: what `limpid inspect` shows of a stopped server, and lists of locks of a running one.
//!
//! 1. Pages come from the caller, who has checked them; what they say is checked here, and every chain has an
//!    end. Guard: the errors of [`follow`], [`RecordCount::step`], [`unpurged`] and `undo_page::record_in`.

use crate::ids::Ids;
use crate::record::UndoRecord;
use crate::rseg::{RSEGS, first_pages, page_of};
use crate::segment::{Segment, State, UndoPos};
use crate::undo_page::{commit_before, read_record, record_in};
use base::{Error, PAGE_BYTES, PageBuf, PageId, PageNo, Result, TrxId, UNDO_SPACE};
use pool::Tablespace;
use std::sync::Arc;

/// Gives a page of the undo space.
pub type ReadPage<'a> = &'a mut dyn FnMut(PageNo) -> Result<Box<PageBuf>>;

/// What an undo segment's header says.
#[derive(Clone, Copy, Debug)]
pub struct SegmentInfo {
    /// Its rollback segment and its slot there.
    pub rseg: u8,
    /// See `rseg`.
    pub slot: u16,
    /// Whose it is, or was.
    pub trx: TrxId,
    /// Its state.
    pub state: State,
    /// Its first page.
    pub first: PageNo,
    /// How many pages it has.
    pub pages: usize,
    /// The last record that counts.
    pub last: UndoPos,
    /// The newest commit record, and whose it is, when it was not purged.
    pub unpurged: Option<(UndoPos, TrxId)>,
    /// Commit records up to this transaction's are purged.
    pub purged_to: TrxId,
}

/// Reads undo segments and records.
pub struct UndoReader<'a> {
    read: ReadPage<'a>,
}

impl<'a> UndoReader<'a> {
    /// Reads by `read`.
    pub fn new(read: ReadPage<'a>) -> UndoReader<'a> {
        UndoReader { read }
    }

    /// Every segment that a rollback segment names; a damaged one is an error in its place.
    pub fn segments(&mut self) -> Vec<Result<SegmentInfo>> {
        let mut found = Vec::new();
        for rseg in 0..RSEGS as u8 {
            let page = (self.read)(page_of(rseg));
            match page.and_then(|page| first_pages(&page, page_of(rseg))) {
                Err(e) => found.push(Err(e)),
                Ok(firsts) => found.extend(firsts.into_iter().map(|first| self.segment(first))),
            }
        }
        found
    }

    fn segment(&mut self, first: PageNo) -> Result<SegmentInfo> {
        let mut segment = Segment::load(self.read, first, &Arc::new(Ids::new()))?;
        segment.complete(self.read)?;
        let (rseg, slot) = segment.place();
        Ok(SegmentInfo {
            rseg,
            slot,
            trx: segment.trx(),
            state: segment.state(),
            first,
            pages: segment.pages(),
            last: segment.last(),
            unpurged: segment.unpurged(),
            purged_to: segment.purged_to(),
        })
    }

    /// The committed transactions of a segment that are not purged, the newest one first: whose, and the last
    /// record of each.
    pub fn history(&mut self, segment: &SegmentInfo) -> Result<Vec<(TrxId, UndoPos)>> {
        let mut read = |at: UndoPos, out: &mut Vec<u8>| {
            let page = (self.read)(at.page)?;
            out.clear();
            out.extend_from_slice(record_in(&page, at)?);
            Ok(())
        };
        let found = unpurged(segment.unpurged, segment.purged_to, &mut read)?;
        Ok(found.into_iter().map(|commit| (commit.trx, commit.last)).collect())
    }

    /// What `tell` makes of the record at `at`, and the place of the record before it.
    pub fn record<T>(
        &mut self,
        at: UndoPos,
        tell: &mut dyn FnMut(&UndoRecord<'_>) -> T,
    ) -> Result<(T, UndoPos)> {
        let page = (self.read)(at.page)?;
        let place = PageId::new(UNDO_SPACE, at.page);
        let record = UndoRecord::decode(record_in(&page, at)?, place, at.offset)?;
        Ok((tell(&record), record.previous))
    }
}

/// The records of the transactions that run over a live undo space, the newest of each first. What ends meanwhile is
/// left out, in part perhaps.
pub(crate) fn running(
    undo: &Tablespace,
    ids: &Arc<Ids>,
    tell: &mut dyn FnMut(&UndoRecord<'_>),
) -> Result<()> {
    for rseg in (0..RSEGS as u8).map(page_of) {
        for first in first_pages(&*undo.shared(rseg)?, rseg)? {
            let loaded = Segment::load(&mut |no| Ok(Box::new(*undo.shared(no)?)), first, ids);
            // An error is that of a page which is begun anew.
            let Ok(segment) = loaded else { continue };
            if matches!(segment.state(), State::Active | State::Prepared) {
                // An error is that of a record written over: its owner has ended.
                let _ = follow(undo, (segment.last(), segment.trx()), tell);
            }
        }
    }
    Ok(())
}

/// Shows `tell` the records of transaction `trx` in a live undo space, from the one at `at` back to its first.
///
/// # Errors
/// Another transaction's record (damage, unless the owner has ended), a chain without an end, failed reads.
pub(crate) fn follow(
    undo: &Tablespace,
    (mut at, trx): (UndoPos, TrxId),
    tell: &mut dyn FnMut(&UndoRecord<'_>),
) -> Result<()> {
    let mut bytes = Vec::new();
    let mut bytes_left = u64::from(undo.pages_in_file()) * PAGE_BYTES as u64;
    while !at.is_none() {
        read_record(undo, at, &mut bytes)?;
        let place = PageId::new(UNDO_SPACE, at.page);
        let record = UndoRecord::decode(&bytes, place, at.offset)?;
        if record.trx != trx {
            return Err(Error::corrupt(place, "another transaction's undo record"));
        }
        // Otherwise a damaged chain might have no end.
        bytes_left = bytes_left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| Error::corrupt(place, "the undo records form a circle"))?;
        tell(&record);
        at = record.previous;
    }
    Ok(())
}

/// How far the records of a transaction are counted, from the last one back.
#[derive(Debug)]
pub struct RecordCount {
    pub(crate) at: UndoPos,
    pub(crate) records: u64,
    bytes_read: u64,
    record: Vec<u8>,
}

impl RecordCount {
    /// None of the segment's transaction is counted yet.
    pub fn of(segment: &Segment) -> RecordCount {
        RecordCount { at: segment.last(), records: 0, bytes_read: 0, record: Vec::new() }
    }

    /// Counts one more. Errors as [`follow`].
    pub(crate) fn step(&mut self, undo: &Tablespace, trx: TrxId) -> Result<()> {
        read_record(undo, self.at, &mut self.record)?;
        let place = PageId::new(UNDO_SPACE, self.at.page);
        let record = UndoRecord::decode(&self.record, place, self.at.offset)?;
        if record.trx != trx {
            return Err(Error::corrupt(place, "another transaction's undo record"));
        }
        // Otherwise a damaged chain might have no end.
        self.bytes_read += self.record.len() as u64;
        if self.bytes_read > u64::from(undo.pages_in_file()) * PAGE_BYTES as u64 {
            return Err(Error::corrupt(place, "the undo records form a circle"));
        }
        (self.at, self.records) = (record.previous, self.records + 1);
        Ok(())
    }
}

/// A commit record.
pub(crate) struct CommitRecord {
    /// Whose it is.
    pub trx: TrxId,
    /// That transaction's last record.
    pub last: UndoPos,
    /// Where it lies itself.
    pub at: UndoPos,
}

/// Follows the commit records back from `newest` to the one of `purged_to`.
pub(crate) fn unpurged(
    newest: Option<(UndoPos, TrxId)>,
    purged_to: TrxId,
    read: &mut dyn FnMut(UndoPos, &mut Vec<u8>) -> Result<()>,
) -> Result<Vec<CommitRecord>> {
    let (mut found, mut bytes) = (Vec::new(), Vec::new());
    let mut next = newest;
    while let Some((at, trx)) = next {
        read(at, &mut bytes)?;
        let place = PageId::new(UNDO_SPACE, at.page);
        let bad = |what| Error::Corrupt { page: place, offset: u32::from(at.offset), what };
        let record = UndoRecord::decode(&bytes, place, at.offset)?;
        let before = commit_before(&record).ok_or_else(|| bad("not a commit record"))?;
        // So it ends, whatever the records say.
        if record.trx != trx || before.1 >= trx {
            return Err(bad("commit records out of order"));
        }
        found.push(CommitRecord { trx, last: record.previous, at });
        next = Some(before).filter(|(_, trx)| *trx > purged_to);
    }
    Ok(found)
}
