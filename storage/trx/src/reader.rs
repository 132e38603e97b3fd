//! Reading undo without a running engine: what `limpid inspect` shows.
//!
//! 1. Pages come from the caller, who has checked them; what they say is checked here.

use crate::record::UndoRecord;
use crate::rseg::{RSEGS, first_pages, page_of};
use crate::segment::{Segment, State, UndoPos, record_in};
use base::{PageBuf, PageId, PageNo, Result, TrxId, UNDO_SPACE};

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
        let mut segment = Segment::load(self.read, first)?;
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
        })
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
