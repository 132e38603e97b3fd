//! Giving a page its redo: the same steps for a session's first touch and for the sweep.
//!
//! 1. A page takes a mini-transaction as a whole or not at all: what it lacks is decided once, by the LSN it
//!    came with. Its LSN becomes the end of the last mini-transaction that it was given. Guard:
//!    `redo_takes_a_mini_transaction_once_and_skips_what_has_no_file`,
//!    `a_page_read_on_demand_is_the_swept_page_byte_for_byte`.
//! 2. Records that cannot be read in now (a disk error) stay. A sound page that refuses its records is not what
//!    the log was written for: it is condemned, so that nobody ever reads it. Guard:
//!    `a_disk_error_leaves_the_redo_waiting`, `a_page_whose_last_write_was_lost_is_never_served`.

use super::Damage;
use super::page_redo::{PageRedo, Place};
use crate::tablespace::{Tablespace, offset};
use crate::{Pool, io};
use base::{Error, Lsn, PAGE_BYTES, PageBuf, PageId, PageNo, Result};
use host::AlignedBuf;
use page::PageOp;
use redo::body::{Record, records};

impl Pool {
    /// Gives a page in a frame that is nobody else's yet the redo that waits for it; `read` fills the
    /// frame from the file.
    /// Returns the start of the oldest mini-transaction that the data file lacks, if any; the caller
    /// marks the frame with it and then calls [`Pool::page_redone`].
    pub(crate) fn read_and_redo(
        &self,
        ts: &Tablespace,
        page: PageNo,
        bytes: &mut PageBuf,
        redo: PageRedo,
        read: impl FnOnce(&mut PageBuf) -> Result<()>,
    ) -> Result<Option<Lsn>> {
        let id = ts.page_id(page);
        if redo.is_anew() {
            // Everything since then is in the log: what the file has is not needed.
            bytes.fill(0);
            page::header::set_page_id(bytes, id);
        } else if let Err(e) = read(bytes) {
            self.pending.put_back(id, redo);
            return Err(e);
        }
        self.apply_or_condemn(ts, page, bytes, redo)
    }

    /// Applies records to a sound page that only this thread may touch.
    pub(super) fn apply_or_condemn(
        &self,
        ts: &Tablespace,
        page: PageNo,
        bytes: &mut PageBuf,
        redo: PageRedo,
    ) -> Result<Option<Lsn>> {
        let id = ts.page_id(page);
        self.apply_records(id, bytes, redo.places()).inspect_err(|e| {
            let what =
                Damage { page: id, records: redo.places().len() as u64, error: e.duplicate() };
            // A doublewrite copy must not bring it back.
            if let Err(e) = self.forget_old_copies().and_then(|()| condemn(ts, page, bytes)) {
                self.failure.latch(&e);
            }
            self.damaged.lock().push(what);
            self.pending.settle(1);
        })
    }

    /// The frame of a page that [`Pool::read_and_redo`] has filled is marked.
    pub(crate) fn page_redone(&self) {
        self.pending.settle(1);
    }

    fn apply_records(
        &self,
        id: PageId,
        bytes: &mut PageBuf,
        places: &[Place],
    ) -> Result<Option<Lsn>> {
        let windows = self.pending.windows();
        let has = page::header::lsn(bytes);
        let lacks = |p: &&Place| windows[p.window as usize].lsn(p.at) >= has;
        let mut lacking = places.iter().filter(lacks);
        let (Some(first), last) = (lacking.clone().next(), lacking.clone().next_back()) else {
            return Ok(None);
        };
        let frame = |place: &Place| windows[place.window as usize].frame_of(place.at);
        let (Some(first), Some(last)) = (frame(first), last.and_then(frame)) else {
            return Err(Error::Internal("the place of a redo record is in no frame"));
        };
        lacking.try_for_each(|place| {
            let window = &windows[place.window as usize];
            let lsn = window.lsn(place.at);
            match records(&window.bytes[place.at as usize..], lsn).next() {
                Some(Ok(Record::Page { page, op })) if page == id => {
                    page::apply(bytes, &decode(op, lsn)?)
                }
                Some(Err(e)) => Err(e),
                _ => Err(Error::Internal("the place of a redo record holds another one")),
            }
        })?;
        page::header::set_lsn(bytes, last.end);
        Ok(Some(first.start))
    }
}

/// Writes a page that must never be used again, its checksum wrong for good; the rest is left as it is
/// for whoever looks into the matter.
fn condemn(ts: &Tablespace, page: PageNo, bytes: &PageBuf) -> Result<()> {
    let mut copy = AlignedBuf::zeroed(PAGE_BYTES);
    copy.copy_from_slice(bytes);
    let sealed: &mut PageBuf = crate::tablespace::as_page(&mut copy);
    page::header::seal(sealed);
    sealed[..4].iter_mut().for_each(|b| *b = !*b);
    io::write(&*ts.file, &copy, offset(page))?;
    io::sync_data(&*ts.file)
}

fn decode(op: &[u8], lsn: Lsn) -> Result<PageOp<'_>> {
    let corrupt = |what| Error::CorruptLog { lsn, what };
    match PageOp::decode(op) {
        Ok((decoded, bytes)) if bytes == op.len() => Ok(decoded),
        Ok(_) => Err(corrupt("bytes follow a page operation")),
        Err(Error::CorruptLog { what, .. }) => Err(corrupt(what)),
        Err(e) => Err(e),
    }
}
