//! Offline recovery: torn pages from the doublewrite file, then redo.
//!
//! 1. A page with a doublewrite copy is replaced by it, once and before anything else is written:
//!    the copy is the newest thing ever written there (`doublewrite.rs` 2 and 3).
//! 2. Redo takes a mini-transaction as a whole: whether a page lacks it is decided once, at its
//!    first record there, and the page's LSN is set after the last one.

use crate::read::Accept;
use crate::tablespace::{as_page, offset};
use crate::{Pool, Tablespace, io};
use base::{Error, Lsn, PAGE_BYTES, PageBuf, PageId, Result};
use host::AlignedBuf;
use page::PageOp;
use redo::body::{Record, records};
use std::ptr::NonNull;
use std::sync::Arc;
use sync::PageWord;

/// What [`Pool::redo`] did with one mini-transaction's page records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Redone {
    /// Records applied.
    pub applied: usize,
    /// Records whose page had them already.
    pub old: usize,
    /// Records of tablespaces that are not open (dropped since).
    pub unknown: usize,
}

/// A page that redo holds exclusively until its mini-transaction is complete.
struct Redoing {
    ts: Arc<Tablespace>,
    id: PageId,
    frame: u32,
    bytes: NonNull<PageBuf>,
    /// The page lacks this mini-transaction.
    lacks: bool,
}

impl Redoing {
    fn word(&self) -> &PageWord {
        self.ts.word(self.id.page).expect("the page exists since it was latched")
    }

    fn page(&mut self) -> &mut PageBuf {
        // SAFETY: the word is held exclusively as long as this lives.
        unsafe { self.bytes.as_mut() }
    }
}

impl Drop for Redoing {
    fn drop(&mut self) {
        self.word().release_exclusive();
    }
}

impl Pool {
    /// Repairs the torn pages of all open tablespaces and forgets the doublewrite copies. Returns
    /// how many pages were torn since the pool was made (opening a tablespace repairs too).
    ///
    /// All tablespaces that the log may name must be open by now: the next batch of the cleaner
    /// overwrites the copies.
    pub fn repair_torn_pages(&self) -> Result<usize> {
        let spaces: Vec<_> = self.spaces.read().values().cloned().collect();
        for ts in spaces {
            self.repair(&ts)?;
        }
        let mut copies = self.copies.lock();
        copies.pages.clear();
        Ok(copies.repaired)
    }

    /// Writes the doublewrite copies of one tablespace's pages in place and forgets them.
    pub(crate) fn repair(&self, ts: &Tablespace) -> Result<()> {
        let mut copies = self.copies.lock();
        let mine: Vec<PageId> =
            copies.pages.keys().filter(|id| id.space == ts.id()).copied().collect();
        let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
        let mut torn = 0;
        for id in &mine {
            io::read_or_zero(&*ts.file, &mut buf, offset(id.page))?;
            torn += usize::from(page::header::verify(as_page(&mut buf), *id).is_err());
            buf.copy_from_slice(&copies.pages[id][..]);
            page::header::verify(as_page(&mut buf), *id)?;
            io::write(io::Of::Data, &*ts.file, &buf, offset(id.page))?;
        }
        if !mine.is_empty() {
            io::sync_data(io::Of::Data, &*ts.file)?;
        }
        copies.pages.retain(|id, _| id.space != ts.id());
        copies.repaired += torn;
        Ok(())
    }

    /// Applies one mini-transaction of the log (`start`, `end` and `body` as [`redo::Replay`]
    /// yields them) to the pages that lack it; its logical records go to `logical`. Files grow as
    /// needed. Records of tablespaces that are not open are skipped.
    ///
    /// [`Error::Corrupt`] when a page is damaged and the record does not make it anew,
    /// [`Error::CorruptLog`]; after an error the pool writes nothing any more.
    pub fn redo(
        &self,
        start: Lsn,
        end: Lsn,
        body: &[u8],
        logical: &mut dyn FnMut(u8, &[u8]) -> Result<()>,
    ) -> Result<Redone> {
        let mut pages = Vec::new();
        let done = self.redo_records(start, end, body, logical, &mut pages);
        if let Err(e) = &done {
            // Half of it may be applied.
            self.failure.latch(e);
        }
        for page in pages.iter_mut().filter(|p| p.lacks) {
            page::header::set_lsn(page.page(), end);
            self.frames[page.frame as usize].dirty(start);
        }
        done
    }

    fn redo_records(
        &self,
        start: Lsn,
        end: Lsn,
        body: &[u8],
        logical: &mut dyn FnMut(u8, &[u8]) -> Result<()>,
        pages: &mut Vec<Redoing>,
    ) -> Result<Redone> {
        let mut done = Redone::default();
        for record in records(body, start) {
            let (id, op) = match record? {
                Record::Logical { kind, bytes } => {
                    logical(kind, bytes)?;
                    continue;
                }
                Record::Page { page, op } => (page, decode(op, start)?),
            };
            let Some(ts) = self.tablespace(id.space) else {
                done.unknown += 1;
                continue;
            };
            let page = self.redoing(pages, ts, id, &op, end)?;
            if page.lacks {
                page::apply(page.page(), &op)?;
                done.applied += 1;
            } else {
                done.old += 1;
            }
        }
        Ok(done)
    }

    /// The page in the list, latched and added when it is not there.
    fn redoing<'a>(
        &self,
        pages: &'a mut Vec<Redoing>,
        ts: Arc<Tablespace>,
        id: PageId,
        op: &PageOp<'_>,
        end: Lsn,
    ) -> Result<&'a mut Redoing> {
        if let Some(i) = pages.iter().position(|p| p.id == id) {
            return Ok(&mut pages[i]);
        }
        ts.grow(id.page)?;
        let anew = matches!(op, PageOp::Init { .. } | PageOp::Image { .. });
        let accept = if anew { Accept::Anything } else { Accept::Unwritten };
        let word = ts.word(id.page)?;
        let held = loop {
            match word.lock_exclusive() {
                Ok(held) => break held,
                Err(seen) => self.read_in(&ts, id.page, word, seen, accept)?,
            }
        };
        let frame = held.frame();
        let mut page = Redoing { ts, id, frame, bytes: self.frame_bytes(frame), lacks: false };
        page.lacks = page::header::lsn(page.page()) < end;
        pages.push(page);
        Ok(pages.last_mut().expect("just pushed"))
    }
}

fn decode(op: &[u8], start: Lsn) -> Result<PageOp<'_>> {
    let corrupt = |what| Error::CorruptLog { lsn: start, what };
    match PageOp::decode(op) {
        Ok((decoded, bytes)) if bytes == op.len() => Ok(decoded),
        Ok(_) => Err(corrupt("bytes follow a page operation")),
        Err(Error::CorruptLog { what, .. }) => Err(corrupt(what)),
        Err(e) => Err(e),
    }
}
