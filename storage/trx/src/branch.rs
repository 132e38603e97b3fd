//! Prepared transactions: branches of distributed ones (XA), which a crash leaves as they are.
//!
//! 1. A transaction is prepared when its last prepare record and the segment's state are written, by one
//!    mini-transaction; when the log is durable up to there, no crash ends it. Guard: the campaigns of the engine's branches.
//! 2. Its prepare records are its last ones, all of one name, and say how many records were before. They tell of every table
//!    that it wrote to, so that these can be locked before the first client comes. Guard: the errors of
//!    [`TrxSystem::recover_branch`].
//! 3. Its end is as any other's. Before it is rolled back it is made active again, durably: half of a rollback is a loser's.
//!    Guard: `a_branch_that_is_being_rolled_back_is_a_loser` of the engine.

use crate::record::{RecordKind, UndoRecord, record_bytes};
use crate::segment::{NewRecord, Segment, State};
use crate::system::TrxSystem;
use base::{Error, Lsn, PAGE_BYTES, PageId, Result, TableId, TrxId, UNDO_SPACE};
use pool::Mtr;
use std::ops::RangeInclusive;
use stdx::bytes::{Put, Reader, Truncated};
use sync::{SessionSlot, WorkerSlot};

/// Tables that one prepare record tells of; few where it is tested.
const TABLES_IN_RECORD: usize = if cfg!(debug_assertions) { 2 } else { 1000 };

/// The name of a branch, as who coordinates it gave it. Those that differ by their format alone are neighbours in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xid {
    gtrid: Box<[u8]>,
    bqual: Box<[u8]>,
    format: u64,
}

impl Xid {
    /// Bytes of either part at most.
    pub const PART_BYTES_MAX: usize = 64;

    /// A name; `None`: a part is too long.
    pub fn new(format: u64, gtrid: &[u8], bqual: &[u8]) -> Option<Xid> {
        let fits = |part: &[u8]| part.len() <= Xid::PART_BYTES_MAX;
        let xid = || Xid { gtrid: gtrid.into(), bqual: bqual.into(), format };
        (fits(gtrid) && fits(bqual)).then(xid)
    }

    /// The number of its format.
    pub fn format(&self) -> u64 {
        self.format
    }

    /// What all branches of the distributed transaction share.
    pub fn gtrid(&self) -> &[u8] {
        &self.gtrid
    }

    /// What tells the branches apart.
    pub fn bqual(&self) -> &[u8] {
        &self.bqual
    }

    /// The names that differ from this one by their format, and itself.
    pub fn of_any_format(&self) -> RangeInclusive<Xid> {
        Xid { format: 0, ..self.clone() }..=Xid { format: u64::MAX, ..self.clone() }
    }
}

/// What the prepare records of a transaction say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The branch.
    pub xid: Xid,
    /// The tables that it has written to.
    pub tables: Vec<TableId>,
    /// Records that it had written before it was prepared.
    pub changes: u64,
}

fn encode(xid: &Xid, changes: u64, tables: &[TableId]) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_u64_le(xid.format);
    body.put_u8(xid.gtrid.len() as u8);
    body.put_u8(xid.bqual.len() as u8);
    body.put_bytes(&xid.gtrid);
    body.put_bytes(&xid.bqual);
    body.put_u64_le(changes);
    tables.iter().for_each(|table| body.put_u64_le(table.0));
    body
}

/// A branch's name, its number of records before these, and tables; `None`: there is no such name.
type Body = Option<(Xid, u64, Vec<TableId>)>;

fn decode(body: &[u8]) -> std::result::Result<Body, Truncated> {
    let mut r = Reader::new(body);
    let (format, gtrid, bqual) = (r.u64_le()?, usize::from(r.u8()?), usize::from(r.u8()?));
    let (gtrid, bqual) = (r.take(gtrid)?, r.take(bqual)?);
    let changes = r.u64_le()?;
    let mut tables = Vec::new();
    while r.remaining() > 0 {
        tables.push(TableId(r.u64_le()?));
    }
    Ok(Xid::new(format, gtrid, bqual).map(|xid| (xid, changes, tables)))
}

impl TrxSystem {
    /// Prepares the segment's transaction, which has written to `tables`: where the log must be durable up to for that to
    /// last. After an error it is active, and can be rolled back.
    pub fn prepare(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        xid: &Xid,
        tables: &[TableId],
    ) -> Result<Lsn> {
        if segment.drops_index() || !segment.has_written() {
            return Err(Error::Internal("a transaction of DDL, or of nothing, is prepared"));
        }
        let changes = segment.records();
        let parts = tables.chunks(TABLES_IN_RECORD);
        let mut left = parts.len().max(1);
        let mut parts = parts.chain(std::iter::once(&[][..]));
        loop {
            let body = encode(xid, changes, parts.next().unwrap_or(&[]));
            segment.reserve(&self.pool, worker, self.undo(), record_bytes(0, body.len()))?;
            let mut mtr = Mtr::new(&self.pool, worker);
            let at = segment.latch(&mut mtr, self.undo())?;
            let (kind, table) = (RecordKind::Prepare, TableId(0));
            let new = NewRecord { kind, purge: false, table, key: &[], body: &body };
            left -= 1;
            if left > 0 {
                segment.append(&mut mtr, at, new)?;
                mtr.commit()?;
                continue;
            }
            segment.append_prepare(&mut mtr, at, new)?;
            let committed = mtr.commit();
            if committed.is_err() {
                segment.restore_state(State::Active);
            }
            return committed;
        }
    }

    /// Makes a prepared transaction active again, to be rolled back: where the log must be durable up to for that to last.
    pub fn take_back_prepare(&self, worker: &WorkerSlot, segment: &mut Segment) -> Result<Lsn> {
        let mut mtr = Mtr::new(&self.pool, worker);
        let top = segment.latch_header(&mut mtr, self.undo())?;
        segment.set_state(&mut mtr, top, State::Active)?;
        let committed = mtr.commit();
        if committed.is_err() {
            segment.restore_state(State::Prepared);
        }
        committed
    }

    /// What the prepare records of a segment say that recovery found; from now on it is as one that was never lost.
    pub fn recover_branch(&self, segment: &mut Segment) -> Result<Prepared> {
        let (mut at, mut bytes) = (segment.last(), Vec::new());
        let mut found: Option<(Prepared, u64, usize)> = None;
        let mut bytes_left = u64::from(self.undo().pages_in_file()) * PAGE_BYTES as u64;
        loop {
            let place = PageId::new(UNDO_SPACE, at.page);
            if at.is_none() {
                return Err(Error::corrupt(place, "a prepared transaction has written nothing"));
            }
            self.read_undo(at, &mut bytes)?;
            let bad = |what| Error::Corrupt { page: place, offset: u32::from(at.offset), what };
            let record = UndoRecord::decode(&bytes, place, at.offset)?;
            if record.trx != segment.trx() {
                return Err(bad("another transaction's undo record"));
            }
            if record.kind != RecordKind::Prepare {
                break;
            }
            let body = decode(record.body).map_err(|_| bad("a prepare record is cut short"))?;
            let (xid, changes, tables) = body.ok_or_else(|| bad("no name of a branch"))?;
            match &mut found {
                None => found = Some((Prepared { xid, tables, changes }, changes + 1, bytes.len())),
                Some((all, records, _)) if all.xid == xid => {
                    all.tables.extend(tables);
                    *records += 1;
                }
                Some(_) => return Err(bad("prepare records of two branches")),
            }
            // Otherwise a damaged chain might have no end.
            bytes_left = bytes_left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| bad("the undo records form a circle"))?;
            at = record.previous;
        }
        let place = PageId::new(UNDO_SPACE, segment.last().page);
        let missing = || Error::corrupt(place, "a prepared transaction has no prepare record");
        let (prepared, records, last_bytes) = found.ok_or_else(missing)?;
        let mut unpurged: Vec<_> = self.unpurged_commits(segment)?.iter().map(|c| c.at).collect();
        unpurged.reverse();
        segment.go_on(last_bytes, records, &unpurged)?;
        Ok(prepared)
    }

    /// The active transaction `id`, which was given to a slot, is nobody's any more: somebody will roll it back.
    pub fn disown(&self, id: TrxId) {
        self.states.disown(id);
    }

    /// The active transaction `id` goes on in session slot `to`, in which nobody reads or writes: [`Self::end`] is told no slot then.
    /// `from`: the one that it was in, if any.
    pub fn give_to(&self, id: TrxId, from: Option<&SessionSlot>, to: usize) {
        self.views.adopt(id);
        self.states.give_to(id, to);
        from.into_iter().for_each(|slot| self.views.after_end(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_damaged_ones_do_not() {
        let xid = Xid::new(u64::MAX, &[0; 64], b"\xff'\"").unwrap();
        let tables = [TableId(1), TableId(u64::MAX)];
        let body = encode(&xid, 7, &tables);
        assert_eq!(decode(&body).unwrap(), Some((xid.clone(), 7, tables.to_vec())));
        for cut in 0..body.len() - 16 {
            assert!(decode(&body[..cut]).is_err(), "{cut}");
        }
        let mut long = body;
        long[8] = 65;
        assert!(decode(&long).is_err() || decode(&long).unwrap().is_none());
        assert_eq!(Xid::new(1, &[1; 65], b""), None);
        assert_eq!(Xid::new(1, b"", &[1; 65]), None);
        assert!(Xid::new(1, b"", b"").is_some());
    }
}
