//! Values outside of their rows: runs of overflow pages, how they are made, read and freed.
//!
//! ```text
//! reference in the row, 20 bytes:
//!  0 first page u32, length u32      8 owner's trx id u48, flags u16 (1: shared)    16 crc32c u32
//! overflow page:
//! 64 next page u32, number u32      72 first page u32, bytes u16, 2 free    80 owner's trx id u48
//! 86 data
//! ```
//!
//! 1. A run is named by its first page and the transaction that made it. Each of its pages carries
//!    that name and its number in the run, so a page that was freed, or is another run's by now, is
//!    not taken for it: a transaction that has ended makes no run any more, and one that is rolled
//!    back frees before it makes again. Guard: [`Piece::is`] before every use; CHECK TABLE.
//! 2. Making: undo first. The mini-transaction that makes the first page appends an undo record
//!    (`BlobRun`) with its number; the others, of [`PAGES_PER_MTR`] pages at most, each hang whole
//!    pages on the end. The row that refers to the run is written last. A crash anywhere leaves a
//!    run that the undo record names, of as many pages as reached the log: rollback frees those.
//!    A row record is undone before the run that it refers to, since it was made after it. Guard: the assert of
//!    `Chain::add`, `a_failed_statement_leaves_no_pages`; CHECK TABLE (pages in use that nothing refers to).
//! 3. Owning: of the versions of a row that refer to a run, the newest owns it. An update that keeps
//!    a run marks the reference in the old version, which lies in undo, as shared; the mark means
//!    nothing in a row. So each run has one owner among the versions that may still be purged, and
//!    is freed with it: with an old version after the commit of its successor, with a deleted row
//!    just before the row's removal, and with a new version by rollback. Guard: CHECK TABLE (an overflow page is
//!    referred to twice), `an_update_shares_what_it_does_not_change`, `rollback_frees_what_is_new_and_keeps_what_was`.
//! 4. Freeing is idempotent, and goes from the last page to the first, in mini-transactions that
//!    latch pages, look at their names again, free those that still belong to the run, and take the
//!    name away from them. So what
//!    is left after a crash is the run's beginning, which a second attempt finds, and no page is
//!    freed twice, whoever else frees the same run. A page of another name is let go before the
//!    space's header is latched: who holds that one may wait for it. Guard: the error of [`space::free`] (a page that is
//!    not in use), `Mtr::assert_order`.
//! 5. Reading takes no latch. The name, the number and the length of each page and the checksum of
//!    the whole value are compared; what does not fit is [`Fetched::Gone`], and the reader looks at
//!    its row again: only a row that is still the same makes it an error. Guard:
//!    `readers_see_one_version_or_another_never_a_mixture`, `a_damaged_overflow_page_is_an_error_that_names_it`.

use crate::engine::Engine;
use crate::table::Table;
use crate::writer::Writer;
use base::{Error, IndexId, PAGE_BYTES, PageBuf, PageId, PageNo, Result, TrxId};
use page::{BODY_AT, PageKind, PageOp, header};
use pool::{Held, Mtr, PageCopy, Tablespace};
use space::{PageSet, Segment, SegmentKind};
use stdx::bytes::{Put, Reader};
use trx::{NewRecord, RecordKind, UndoPos, UndoRecord, record_bytes};
use value::row::REFERENCE_BYTES;

const HEADER_BYTES: usize = 22;
/// Bytes of a value in one page.
pub(crate) const DATA_BYTES: usize = PAGE_BYTES - BODY_AT - HEADER_BYTES;
/// Pages that one mini-transaction makes or frees: bounds its latches and its redo.
const PAGES_PER_MTR: usize = 4;
/// Pages that are asked for ahead of a reader.
const READ_AHEAD_PAGES: u32 = 16;
/// Flag of a reference in undo: a newer version has the run, too.
const SHARED: u16 = 1;

/// A value outside of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub run: Run,
    /// Bytes of the value.
    pub bytes: u32,
    /// Invariant 3.
    pub shared: bool,
    pub crc: u32,
}

/// The name of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub first: PageNo,
    pub trx: TrxId,
}

impl Reference {
    pub fn encode(&self) -> [u8; REFERENCE_BYTES] {
        let mut out = [0; REFERENCE_BYTES];
        out[..4].copy_from_slice(&self.run.first.0.to_le_bytes());
        out[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        out[8..14].copy_from_slice(&self.run.trx.0.to_le_bytes()[..6]);
        let flags = if self.shared { SHARED } else { 0 };
        out[14..16].copy_from_slice(&flags.to_le_bytes());
        out[16..].copy_from_slice(&self.crc.to_le_bytes());
        out
    }

    pub fn decode(b: &[u8; REFERENCE_BYTES]) -> Reference {
        let u32_at = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let trx = u64::from_le_bytes([b[8], b[9], b[10], b[11], b[12], b[13], 0, 0]);
        Reference {
            run: Run { first: PageNo(u32_at(0)), trx: TrxId(trx) },
            bytes: u32_at(4),
            shared: u16::from_le_bytes([b[14], b[15]]) & SHARED != 0,
            crc: u32_at(16),
        }
    }
}

/// How a fetch ended.
#[must_use]
pub(crate) enum Fetched {
    Done,
    /// The run is not there (any more), or damaged: which, only the row can tell.
    Gone(Error),
}

/// What an overflow page says about itself.
struct Piece {
    run: Run,
    number: u32,
    next: PageNo,
    bytes: usize,
}

impl Piece {
    /// Reads a page's header; `None`: it is no overflow page of the tree.
    fn of(page: &PageBuf, table: &Table) -> Option<Piece> {
        if header::kind(page) != Some(PageKind::Blob)
            || header::index_id(page) != table.clustered.index
        {
            return None;
        }
        let mut r = Reader::new(&page[BODY_AT..]);
        let (next, number) = (PageNo(r.u32_le().ok()?), r.u32_le().ok()?);
        let (first, bytes) = (PageNo(r.u32_le().ok()?), usize::from(r.u16_le().ok()?));
        r.take(2).ok()?;
        let run = Run { first, trx: TrxId(r.u48_le().ok()?) };
        (bytes <= DATA_BYTES).then_some(Piece { run, number, next, bytes })
    }

    fn is(&self, run: Run, number: u32) -> bool {
        self.run == run && self.number == number
    }
}

fn crc_of(value: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, value) as u32
}

/// A reader's way through a run: one page after the other, copied without a latch.
pub(crate) struct RunReader<'t> {
    table: &'t Table,
    run: Run,
    next: PageNo,
    number: u32,
    page: PageCopy,
}

impl<'t> RunReader<'t> {
    pub fn new(table: &'t Table, run: Run) -> RunReader<'t> {
        RunReader { table, run, next: run.first, number: 0, page: PageCopy::new() }
    }

    /// The next page's number and data; `Err(Gone)` inside: it is not the run's.
    pub fn next(&mut self, left: usize) -> Result<std::result::Result<(PageNo, &[u8]), Error>> {
        let ts = &*self.table.ts;
        let no = self.next;
        if self.number.is_multiple_of(READ_AHEAD_PAGES) && left > DATA_BYTES {
            let more = (left.div_ceil(DATA_BYTES) as u32 - 1).min(READ_AHEAD_PAGES);
            let ahead: Vec<PageNo> = (1..=more).map(|i| PageNo(no.0.saturating_add(i))).collect();
            ts.prefetch(&ahead);
        }
        match copy_page(ts, no, &mut self.page) {
            Ok(()) => {}
            Err(e @ Error::Corrupt { .. }) => return Ok(Err(e)),
            Err(e) => return Err(e),
        }
        let piece = Piece::of(&self.page, self.table).filter(|p| p.is(self.run, self.number));
        let Some(piece) = piece else {
            let place = PageId::new(ts.id(), no);
            return Ok(Err(Error::corrupt(place, "not the overflow page that a row refers to")));
        };
        self.number += 1;
        self.next = piece.next;
        let at = BODY_AT + HEADER_BYTES;
        Ok(Ok((no, &self.page[at..at + piece.bytes])))
    }

    /// There is no further page.
    pub fn at_end(&self) -> bool {
        self.next == PageNo::NONE
    }
}

/// Copies one version of a page. Errors: [`Error::Corrupt`] also for a page that is not in the file.
fn copy_page(ts: &Tablespace, no: PageNo, out: &mut PageBuf) -> Result<()> {
    loop {
        let page = ts.optimistic(no)?;
        page.node().copy_page(out);
        if page.validate() {
            return Ok(());
        }
        sync::spin_wait();
    }
}

impl Engine {
    /// Appends the first `limit` bytes of a value to `out`; when it is gone, `out` is as before.
    pub(crate) fn fetch(
        &self,
        table: &Table,
        from: &Reference,
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<Fetched> {
        let start = out.len();
        let bytes = from.bytes as usize;
        let wanted = bytes.min(limit);
        let mut reader = RunReader::new(table, from.run);
        let mut done = 0;
        let mut fault = None;
        while done < wanted && fault.is_none() {
            match reader.next(wanted - done)? {
                Ok((_, data)) if data.len() == (bytes - done).min(DATA_BYTES) => {
                    // The first page is the run's: so the length is believed now.
                    out.reserve(wanted - done);
                    out.extend_from_slice(&data[..data.len().min(wanted - done)]);
                    done = out.len() - start;
                }
                Ok((no, _)) => fault = Some((no, "an overflow page of another length")),
                Err(e) => {
                    out.truncate(start);
                    return Ok(Fetched::Gone(e));
                }
            }
        }
        if fault.is_none() && done == bytes {
            fault = match (reader.at_end(), crc_of(&out[start..]) == from.crc) {
                (true, true) => None,
                (false, _) => Some((from.run.first, "more overflow pages than the value has")),
                (_, false) => {
                    Some((from.run.first, "a value outside its row has another checksum"))
                }
            };
        }
        let Some((no, what)) = fault else { return Ok(Fetched::Done) };
        out.truncate(start);
        Ok(Fetched::Gone(Error::corrupt(PageId::new(table.ts.id(), no), what)))
    }

    /// Whether a run holds exactly `value`. The run is there: its row is the asker's.
    pub(crate) fn holds(&self, table: &Table, from: &Reference, value: &[u8]) -> Result<bool> {
        if from.bytes as usize != value.len() || from.crc != crc_of(value) {
            return Ok(false);
        }
        let mut reader = RunReader::new(table, from.run);
        for chunk in value.chunks(DATA_BYTES) {
            match reader.next(chunk.len())? {
                Ok((_, data)) if data == chunk => {}
                Ok(_) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Checks a value outside of its row, and adds its pages to `pages`, which has none of them yet.
    pub(crate) fn check_run(
        &self,
        table: &Table,
        from: &Reference,
        pages: &mut PageSet,
    ) -> Result<()> {
        let mut crc = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
        let mut reader = RunReader::new(table, from.run);
        let mut left = from.bytes as usize;
        while left > 0 {
            let (no, data) = reader.next(left)??;
            crc.update(data);
            let bad = if data.len() != left.min(DATA_BYTES) {
                "an overflow page of another length"
            } else if !pages.insert(no) {
                "an overflow page is referred to twice"
            } else {
                left -= data.len();
                continue;
            };
            return Err(Error::corrupt(PageId::new(table.ts.id(), no), bad));
        }
        let what = match (reader.at_end(), crc.finalize() as u32 == from.crc) {
            (true, true) => return Ok(()),
            (false, _) => "more overflow pages than the value has",
            (_, false) => "a value outside its row has another checksum",
        };
        Err(Error::corrupt(PageId::new(table.ts.id(), from.run.first), what))
    }

    /// The pages of a run that are there, from the first one on.
    pub(crate) fn run_pages(&self, table: &Table, run: Run) -> Result<Vec<PageNo>> {
        let mut reader = RunReader::new(table, run);
        let mut pages = Vec::new();
        while !reader.at_end() {
            match reader.next(0)? {
                Ok((no, _)) => pages.push(no),
                Err(_) => break,
            }
        }
        Ok(pages)
    }
}

impl<'a> Writer<'a> {
    /// Writes a value outside of its row (invariant 2). The row that is to refer to it must be
    /// written by the same transaction before it ends; what rolls that back frees the run.
    pub fn write_run(&mut self, table: &Table, value: &[u8]) -> Result<Reference> {
        let bytes = u32::try_from(value.len());
        let bytes = bytes.map_err(|_| Error::Internal("a value of more than 4 GB"))?;
        let undo = self.engine.trx().undo();
        self.segment.reserve(self.engine.pool(), self.worker, undo, record_bytes(0, 4))?;
        let pieces: Vec<&[u8]> = value.chunks(DATA_BYTES).collect();
        let mut chain = Chain { table, trx: self.me(), first: PageNo::NONE, last: None, made: 0 };
        {
            let mut mtr = self.mtr();
            let latched = self.segment.latch(&mut mtr, undo)?;
            chain.add(&mut mtr, pieces.first().copied().unwrap_or(&[]))?;
            let kind = RecordKind::BlobRun;
            let body = chain.first.0.to_le_bytes();
            let new = NewRecord { kind, purge: false, table: table.id(), key: &[], body: &body };
            self.segment.append(&mut mtr, latched, new)?;
            mtr.commit()?;
        }
        let mut next = 1;
        while next < pieces.len() {
            self.engine.relieve_log()?;
            let mut mtr = self.mtr();
            mtr.be_hasty();
            let room = self.engine.log().mtr_bytes_max().saturating_sub(2 * PAGE_BYTES);
            chain.latch_last(&mut mtr)?;
            let mut added = Ok(());
            for _ in 0..PAGES_PER_MTR {
                let Some(piece) = pieces.get(next) else { break };
                added = chain.add(&mut mtr, piece);
                next += usize::from(added.is_ok());
                if added.is_err() || mtr.redo_bytes() >= room {
                    break;
                }
            }
            // When the disk is full, or there is no frame at hand, the pages before are whole.
            let made_some = mtr.has_changes();
            mtr.commit()?;
            match added {
                Err(Error::NoFrame) if made_some => {}
                added => added?,
            }
        }
        let run = Run { first: chain.first, trx: self.me() };
        Ok(Reference { run, bytes, shared: false, crc: crc_of(value) })
    }

    /// Frees a run, or what is left of it (invariant 4).
    pub fn free_run(&mut self, table: &Table, run: Run) -> Result<()> {
        let pages = self.engine.run_pages(table, run)?;
        self.free_pages(table, run, &pages, 0)
    }

    /// Frees the pages of a run from the last one down to number `from`.
    fn free_pages(&mut self, table: &Table, run: Run, pages: &[PageNo], from: usize) -> Result<()> {
        let mut left = pages.len();
        while left > from {
            self.engine.relieve_log()?;
            let mut mtr = self.mtr();
            mtr.be_hasty();
            let low = from.max(left.saturating_sub(PAGES_PER_MTR));
            for number in (low..left).rev() {
                latch_piece(&mut mtr, table, run, (number, pages[number]))?;
            }
            let there = |no: &&PageNo| mtr.holds(&table.ts, **no).is_some();
            let held: Vec<PageNo> = pages[low..left].iter().rev().filter(there).copied().collect();
            let freed = held.iter().try_for_each(|&no| free_piece(&mut mtr, table, no));
            // What was freed before a fault is freed.
            let freed_some = mtr.has_changes();
            mtr.commit()?;
            match freed {
                // The rest once more, with the frame waited for before the first change.
                Err(Error::NoFrame) if freed_some => continue,
                freed => freed?,
            }
            left = low;
        }
        Ok(())
    }

    /// Undoes a `BlobRun` record: the run's first page goes with the record.
    pub fn undo_run(&mut self, record: &UndoRecord<'_>, table: &Table) -> Result<()> {
        let first = Reader::new(record.body).u32_le();
        let first = first.map_err(|_| Error::Internal("an undo record of a run is cut short"))?;
        let run = Run { first: PageNo(first), trx: self.me() };
        let pages = self.engine.run_pages(table, run)?;
        self.free_pages(table, run, &pages, 1)?;
        self.undo_first_page(table, run, record.previous)
    }

    fn undo_first_page(&mut self, table: &Table, run: Run, previous: UndoPos) -> Result<()> {
        let mut mtr = self.mtr();
        let held = latch_piece(&mut mtr, table, run, (0, run.first))?;
        let header = self.segment.latch_header(&mut mtr, self.engine.trx().undo())?;
        if held.is_some() {
            free_piece(&mut mtr, table, run.first)?;
        }
        self.segment.step_back(&mut mtr, header, previous)?;
        mtr.commit()?;
        Ok(())
    }
}

fn segment_of(table: &Table) -> Segment {
    Segment::new(table.clustered.index, SegmentKind::Blob)
}

/// Latches a page if it still belongs to the run.
fn latch_piece<'p>(
    mtr: &mut Mtr<'p>,
    table: &'p Table,
    run: Run,
    (number, no): (usize, PageNo),
) -> Result<Option<Held>> {
    let held = match mtr.exclusive(&table.ts, no) {
        Ok(held) => held,
        Err(Error::Corrupt { .. }) => return Ok(None),
        Err(e) => return Err(e),
    };
    let piece = Piece::of(mtr.page(held), table);
    if piece.is_some_and(|p| p.is(run, number as u32)) {
        return Ok(Some(held));
    }
    mtr.release(held);
    Ok(None)
}

/// Frees a latched page, and takes its name away: a reader or another attempt to free it may still
/// come by. An error has changed nothing.
fn free_piece<'p>(mtr: &mut Mtr<'p>, table: &'p Table, no: PageNo) -> Result<()> {
    space::free(mtr, &table.ts, segment_of(table), no)?;
    let held = mtr.exclusive(&table.ts, no)?;
    let (kind, index_id) = (PageKind::Free, IndexId(0));
    mtr.apply(held, &PageOp::Init { kind, level: 0, index_id, low_fence: &[], high_fence: None })
}

/// A run that is being made.
struct Chain<'t> {
    table: &'t Table,
    trx: TrxId,
    first: PageNo,
    /// The last page, and whether the present mini-transaction holds it.
    last: Option<PageNo>,
    made: u32,
}

impl<'t> Chain<'t> {
    /// Latches the last page: before the space's header is.
    fn latch_last(&self, mtr: &mut Mtr<'t>) -> Result<()> {
        match self.last {
            Some(last) => mtr.exclusive(&self.table.ts, last).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Hangs a page with `data` on the end. [`Error::NoSpace`]: nothing was changed.
    fn add(&mut self, mtr: &mut Mtr<'t>, data: &[u8]) -> Result<()> {
        let (ts, index) = (&*self.table.ts, self.table.clustered.index);
        let segment = segment_of(self.table);
        let near = self.last.unwrap_or(PageNo::NONE);
        // The page that gets the next one's number was latched before the space's header.
        let is_latched = self.last.is_none_or(|last| mtr.holds(ts, last).is_some());
        assert!(is_latched, "a run goes on behind a page that is not latched");
        let no = space::allocate_near(mtr, ts, segment, near)?;
        let held = mtr.fresh(ts, no)?;
        let kind = PageKind::Blob;
        let init =
            PageOp::Init { kind, level: 0, index_id: index, low_fence: &[], high_fence: None };
        mtr.apply(held, &init)?;
        let first = if self.made == 0 { no } else { self.first };
        let mut body = Vec::with_capacity(HEADER_BYTES + data.len());
        body.put_u32_le(PageNo::NONE.0);
        body.put_u32_le(self.made);
        body.put_u32_le(first.0);
        body.put_u16_le(data.len() as u16);
        body.put_u16_le(0);
        body.put_u48_le(self.trx.0);
        body.put_bytes(data);
        mtr.apply(held, &PageOp::Write { at: BODY_AT as u16, bytes: &body })?;
        if let Some(last) = self.last {
            let last = mtr.exclusive(ts, last)?;
            mtr.apply(last, &PageOp::Write { at: BODY_AT as u16, bytes: &no.0.to_le_bytes() })?;
        }
        (self.first, self.last, self.made) = (first, Some(no), self.made + 1);
        Ok(())
    }
}
