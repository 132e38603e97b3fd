//! Which version of a row counts: for whom, and where older ones are.
//!
//! ```text
//! row's trx         what a reader takes
//! own               the row as it is
//! seen by the view  the row as it is
//! another           steps back through undo, until one of these is true of a version
//! ```
//!
//! 1. Without a view ([`Sight::Committed`]) the latest committed version counts. A copy of a row whose trx
//!    had ended before the copy was made is final. "Ended by LSN L", with L loaded before the copy,
//!    proves it; when it does not, the row is copied again, and the same trx in the new copy is proof,
//!    since it was seen ended in between. Guard: `no_reader_sees_what_was_never_committed`.
//! 2. With a view, what it does not see has its undo kept: purge waits for the view. Only an owner who has
//!    rolled back may have lost it; then the row is copied again. All its rows were restored before its undo
//!    went, so the new copy has another header; the same one is damage ([`Engine::read_visible`]). Guard: that error
//!    (`a_view_whose_undo_is_lost_is_an_error_with_its_place`).
//! 3. Without a view an undo record read while its owner is active is the right one: owners never write
//!    the same place twice. So after reading it the owner is looked at again; has it ended, the row is
//!    copied again. That of an owner who is active still is there, or damaged ([`Engine::has_ended`]). Guard: that
//!    error, and those of [`Engine::step_back`].
//! 4. The version before the first one of an active trx is committed: its writer had waited for
//!    that. A row with an insert's roll pointer has none. Guard: the old views and audits of `one_runner`.
//! 5. Every look back ends: each step reads another record, the copies of a row that are looked at again have
//!    other headers (2), and a KILL ends a reader's ([`Steps`]). Guard: the errors of [`Steps::step`] and
//!    [`Looks::again`], `a_kill_ends_a_long_way_back`.

use crate::blob::Fetched;
use crate::engine::Engine;
use crate::row::{HEADER_BYTES, RowHeader, Seen};
use crate::table::{Table, is_marked, split_entry};
use base::{Error, Lsn, PAGE_BYTES, PageId, Result, TrxId, UNDO_SPACE};
use trx::{RecordKind, UndoPos, UndoRecord, View};

const UNDO_OF_ACTIVE: &str = "the undo of a transaction that is not over is gone";

/// Which versions a reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The newest one, committed or not.
    Newest,
    /// The latest committed one.
    Committed,
    /// What a view sees.
    At(View),
}

/// Who reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eyes {
    /// The own transaction, or none.
    pub me: TrxId,
    pub sight: Sight,
}

impl Eyes {
    /// For the rows of a table: the only session of a private one sees all that is committed there.
    #[inline]
    pub fn on(self, table: &Table) -> Eyes {
        match table.is_private() {
            true => Eyes { sight: Sight::Committed, ..self },
            false => self,
        }
    }
}

/// What a step back through undo found.
pub(crate) enum Older {
    /// The payload is the version before now.
    Version,
    /// There is no version before: the row was inserted.
    Nothing,
    /// The owner's undo is gone: it was rolled back, or nobody needs it any more.
    Gone,
}

/// What is known of a copied row.
enum Settled {
    Yes(Seen),
    /// Its writer had ended: it is to be copied again.
    Reread(TrxId),
    /// What a view needs is not there: it is to be copied again, and must have another header.
    Lost(Box<Lost>),
}

/// Undo that is not where a row's version leads to.
struct Lost {
    /// The row's header as it was copied.
    row: RowHeader,
    /// The version whose undo it was.
    version: RowHeader,
}

impl Lost {
    fn error(&self) -> Error {
        lost(&self.version, "the undo that a read view needs is gone")
    }
}

/// Damage where the undo of the version `h` should be.
#[cold]
fn lost(h: &RowHeader, what: &'static str) -> Error {
    let at = UndoPos::of(h.roll);
    let page = PageId::new(UNDO_SPACE, at.page);
    Error::Corrupt { page, offset: u32::from(at.offset), what }
}

/// Steps back until a reader looks whether it was killed.
const STEPS_UNTIL_LOOK: u64 = 64;

/// Counts the steps back through undo: there may be millions, but no more than undo has bytes.
pub(crate) struct Steps {
    left: u64,
    killable: bool,
}

impl Steps {
    /// Before a step from version `h`.
    ///
    /// Errors: [`Error::Killed`], for a reader; [`Error::Corrupt`], the versions form a circle.
    pub fn step(&mut self, h: &RowHeader) -> Result<()> {
        let circle = || lost(h, "the versions of a row form a circle");
        self.left = self.left.checked_sub(1).ok_or_else(circle)?;
        match self.killable && self.left.is_multiple_of(STEPS_UNTIL_LOOK) {
            true => check_killed(),
            false => Ok(()),
        }
    }
}

/// [`Error::Killed`] when the session that this thread runs was killed.
pub(crate) fn check_killed() -> Result<()> {
    match sync::with_current(|s| s.is_some_and(|s| s.killed())) {
        true => Err(Error::Killed),
        false => Ok(()),
    }
}

/// Looks at the same versions, without a newer horizon, before that is called damage: purge removes
/// nothing that the horizon has not passed.
const LOOKS_MAX: u32 = 1000;

/// Who looks at versions again, since something of them was purged while it looked.
#[derive(Default)]
pub(crate) struct Looks {
    horizon: Lsn,
    at_it: u32,
}

impl Looks {
    /// Before another look, at a row of `table`.
    ///
    /// Errors: [`Error::Corrupt`], what is missing was not purged.
    pub fn again(&mut self, engine: &Engine, table: &Table) -> Result<()> {
        let horizon = engine.trx().horizon();
        self.at_it = if horizon == self.horizon { self.at_it + 1 } else { 0 };
        self.horizon = horizon;
        if self.at_it > LOOKS_MAX {
            let page = PageId::new(table.ts.id(), table.clustered.root);
            return Err(Error::corrupt(page, "a value of an older version of a row is missing"));
        }
        Ok(())
    }
}

/// The latest version of a row, for somebody who may have to wait for it.
pub(crate) enum Latest {
    /// There is no row, or a committed delete mark.
    Missing,
    /// Committed, or the asker's own.
    Row,
    /// Of another transaction that has not ended.
    Busy(TrxId),
}

impl Engine {
    /// Puts the payload of the row's visible version into `out`, if there is one. `undo` is scratch.
    pub(crate) fn read_visible(
        &self,
        eyes: Eyes,
        table: &Table,
        key: &[u8],
        out: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Seen> {
        let mut ended = TrxId::NONE;
        let mut lost: Option<RowHeader> = None;
        loop {
            let horizon = self.tail_for(eyes.sight);
            if !table.clustered.get(key, out)? {
                return Ok(Seen::NOTHING);
            }
            match self.settle(eyes, table, key, (horizon, ended), out, undo)? {
                Settled::Yes(seen) => return Ok(seen),
                Settled::Reread(trx) => ended = trx,
                // Copied after its undo was missed, and not restored: nobody has rolled it back.
                Settled::Lost(l) if lost == Some(l.row) => return Err(l.error()),
                Settled::Lost(l) => lost = Some(l.row),
            }
        }
    }

    /// Where the log ends, for who decides by it; a view decides alone, and leaves the line to the writers.
    #[inline]
    pub(crate) fn tail_for(&self, sight: Sight) -> Lsn {
        match sight {
            Sight::Committed => self.log().tail(),
            Sight::At(_) | Sight::Newest => Lsn::ZERO,
        }
    }

    /// Makes `payload`, copied after the tail was at `horizon`, the visible version of its row, or
    /// answers that it must be copied again (invariant 1).
    pub(crate) fn settle_copy(
        &self,
        eyes: Eyes,
        table: &Table,
        key: &[u8],
        horizon: Lsn,
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Seen> {
        match self.settle(eyes, table, key, (horizon, TrxId::NONE), payload, undo)? {
            Settled::Yes(seen) => Ok(seen),
            Settled::Reread(_) | Settled::Lost(_) => {
                self.read_visible(eyes, table, key, payload, undo)
            }
        }
    }

    /// Whether a view may read an index: not one that was made after it, which lacks what the view sees.
    ///
    /// Errors: [`Error::TableDefChanged`].
    #[inline]
    pub(crate) fn check_age(&self, eyes: Eyes, table: &Table, index: usize) -> Result<()> {
        let Sight::At(view) = eyes.sight else { return Ok(()) };
        match table.maker(index, view.all_visible_below) {
            Some(maker) if maker != eyes.me && !self.trx().sees(&view, maker) => {
                Err(Error::TableDefChanged)
            }
            _ => Ok(()),
        }
    }

    /// Whether a row whose header is `h`, copied after the tail was at `horizon`, is taken as it is.
    #[inline]
    pub(crate) fn takes(&self, eyes: Eyes, h: &RowHeader, horizon: Lsn) -> bool {
        h.trx == eyes.me
            || match eyes.sight {
                Sight::Committed => self.trx().ended_by(h.trx, horizon),
                Sight::At(view) => self.trx().sees(&view, h.trx),
                Sight::Newest => true,
            }
    }

    #[inline]
    fn settle(
        &self,
        eyes: Eyes,
        table: &Table,
        key: &[u8],
        (horizon, ended): (Lsn, TrxId),
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Settled> {
        let h = RowHeader::read(payload)?;
        if self.takes(eyes, &h, horizon) || h.trx == ended && eyes.sight == Sight::Committed {
            return Ok(Settled::Yes(h.seen(table.version())));
        }
        match eyes.sight {
            Sight::At(_) => self.settle_at_view(eyes, table, key, payload, undo),
            _ => self.settle_slowly(eyes.me, table, key, payload, undo),
        }
    }

    /// Steps back to the version that a view sees (invariant 2).
    #[cold]
    fn settle_at_view(
        &self,
        eyes: Eyes,
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Settled> {
        let row = RowHeader::read(payload)?;
        let mut steps = self.steps(true);
        loop {
            let h = RowHeader::read(payload)?;
            if self.takes(eyes, &h, Lsn::ZERO) {
                return Ok(Settled::Yes(h.seen(table.version())));
            }
            steps.step(&h)?;
            match self.step_back(table, key, payload, undo)? {
                Older::Version => {}
                Older::Nothing => return Ok(Settled::Yes(Seen::NOTHING)),
                Older::Gone => return Ok(Settled::Lost(Box::new(Lost { row, version: h }))),
            }
        }
    }

    #[cold]
    fn settle_slowly(
        &self,
        me: TrxId,
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Settled> {
        let writer = RowHeader::read(payload)?.trx;
        let mut steps = self.steps(true);
        loop {
            let h = RowHeader::read(payload)?;
            if h.trx != writer || h.trx == me {
                return Ok(Settled::Yes(h.seen(table.version())));
            }
            if !self.trx().is_active(writer) {
                return Ok(Settled::Reread(writer));
            }
            steps.step(&h)?;
            let older = self.step_back(table, key, payload, undo)?;
            if !self.trx().is_active(writer) {
                return Ok(Settled::Reread(writer));
            }
            match older {
                Older::Version => {}
                Older::Nothing => return Ok(Settled::Yes(Seen::NOTHING)),
                // The writer was active after the look (invariant 3).
                Older::Gone => return Err(lost(&h, UNDO_OF_ACTIVE)),
            }
        }
    }

    /// For a look back, by a reader whom a KILL ends or by somebody who must finish.
    pub(crate) fn steps(&self, killable: bool) -> Steps {
        let bytes = u64::from(self.trx().undo().pages_in_file()) * PAGE_BYTES as u64;
        Steps { left: bytes, killable }
    }

    /// Whether the writer of version `h`, whose undo was not found, has ended meanwhile.
    ///
    /// Errors: [`Error::Corrupt`], it has not (invariant 3).
    fn has_ended(&self, h: &RowHeader) -> Result<bool> {
        match self.trx().is_active(h.trx) {
            true => Err(lost(h, UNDO_OF_ACTIVE)),
            false => Ok(true),
        }
    }

    /// Makes `payload`, a version that not everybody sees, the version before it.
    pub(crate) fn step_back(
        &self,
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Older> {
        let h = RowHeader::read(payload)?;
        if h.roll.is_insert() {
            return Ok(Older::Nothing);
        }
        let at = UndoPos::of(h.roll);
        if !self.trx().read_kept_undo(at, h.trx, undo)? {
            return Ok(Older::Gone);
        }
        let place = base::PageId::new(base::UNDO_SPACE, at.page);
        let record = UndoRecord::decode(undo, place, at.offset)?;
        if record.trx != h.trx || record.table != table.id() || record.key != key {
            let what = "a roll pointer leads to another row's undo record";
            return Err(Error::Corrupt { page: place, offset: u32::from(at.offset), what });
        }
        match record.kind {
            RecordKind::Insert => return Ok(Older::Nothing),
            RecordKind::Update => {
                payload.clear();
                payload.extend_from_slice(record.body);
            }
            RecordKind::Header if record.body.len() == HEADER_BYTES => {
                payload[..HEADER_BYTES].copy_from_slice(record.body);
            }
            _ => return Err(Error::corrupt(place, "a roll pointer leads to no row's undo record")),
        }
        Ok(Older::Version)
    }

    /// The header of the version before the one with header `h`, which nobody may see any more, as
    /// long as it is there; `None`: there is none, or it was purged. `payload` is that version when it
    /// is more than another header, else empty.
    pub(crate) fn version_before(
        &self,
        table: &Table,
        key: &[u8],
        h: RowHeader,
        payload: &mut Vec<u8>,
    ) -> Result<Option<RowHeader>> {
        let at = UndoPos::of(h.roll);
        let mut undo = Vec::new();
        payload.clear();
        if h.roll.is_insert() {
            return Ok(None);
        }
        if !self.trx().read_kept_undo(at, h.trx, &mut undo)? {
            return Ok(None);
        }
        let place = base::PageId::new(base::UNDO_SPACE, at.page);
        let record = UndoRecord::decode(&undo, place, at.offset)?;
        if record.trx != h.trx || record.table != table.id() || record.key != key {
            let what = "a roll pointer leads to another row's undo record";
            return Err(Error::Corrupt { page: place, offset: u32::from(at.offset), what });
        }
        match record.kind {
            RecordKind::Insert => return Ok(None),
            RecordKind::Update => payload.extend_from_slice(record.body),
            RecordKind::Header if record.body.len() == HEADER_BYTES => {}
            _ => return Err(Error::corrupt(place, "a roll pointer leads to no row's undo record")),
        }
        RowHeader::read(record.body).map(Some)
    }

    /// The latest version of a row, in `out`; see [`Latest`].
    pub(crate) fn read_latest(
        &self,
        me: TrxId,
        table: &Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Latest> {
        let mut ended = TrxId::NONE;
        loop {
            let horizon = self.log().tail();
            if !table.clustered.get(key, out)? {
                return Ok(Latest::Missing);
            }
            let h = RowHeader::read(out)?;
            if h.trx == me || h.trx == ended || self.trx().ended_by(h.trx, horizon) {
                return Ok(if h.deleted() { Latest::Missing } else { Latest::Row });
            }
            if self.trx().is_active(h.trx) {
                return Ok(Latest::Busy(h.trx));
            }
            ended = h.trx;
        }
    }

    /// Copies the row's newest version. Its writer is active, or had committed before. `false`: there is
    /// none.
    pub(crate) fn copy_certain(
        &self,
        table: &Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut ended = TrxId::NONE;
        loop {
            let tail = self.log().tail();
            if !table.clustered.get(key, out)? {
                return Ok(false);
            }
            let trx = RowHeader::read(out)?.trx;
            if trx == ended || self.trx().is_active(trx) || self.trx().ended_by(trx, tail) {
                return Ok(true);
            }
            ended = trx;
        }
    }

    /// Whether active transaction `trx`, whose version `payload` is, makes or takes away the entry `prefix` of the
    /// row in secondary index `index`. `marked`: whether the entry is; with it, only if the transaction has come to
    /// the entry by now: then it has that entry locked. The payload is used up.
    pub(crate) fn entry_in_doubt(
        &self,
        table: &Table,
        key: &[u8],
        (index, prefix, marked): (usize, &[u8], Option<bool>),
        trx: TrxId,
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<bool> {
        let (mut with, mut without) = (false, false);
        let mut found = Vec::new();
        // What was committed, all later versions being otherwise: an entry that says so still was not touched.
        let touched = |committed: bool| marked.is_none_or(|marked| marked == committed);
        let mut steps = self.steps(false);
        loop {
            let h = RowHeader::read(payload)?;
            let mut has = false;
            if !h.deleted() {
                let s = &table.secondaries[index];
                match self.entry_prefix(table, s, &table.row_of(payload)?, &mut found)? {
                    Fetched::Done => has = found == prefix,
                    // Not known: as if it were.
                    Fetched::Gone(_) => return Ok(true),
                }
            }
            with |= has;
            without |= !has;
            if h.trx != trx {
                return Ok(with && without && touched(has));
            }
            if with && without {
                return Ok(true);
            }
            steps.step(&h)?;
            match self.step_back(table, key, payload, undo)? {
                Older::Version => {}
                Older::Nothing => return Ok(with && touched(false)),
                Older::Gone => return Ok(true),
            }
        }
    }

    /// The active transaction, perhaps `me`, that has made or taken away an entry (key and payload) of
    /// secondary index `index`; or none.
    pub(crate) fn writer_of_entry(
        &self,
        me: TrxId,
        (table, index): (&Table, usize),
        (entry, stored): (&[u8], &[u8]),
        (payload, undo): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<TrxId> {
        let (parts, key) = split_entry(entry, stored)?;
        payload.clear();
        let trx = match self.read_latest(me, table, key, payload)? {
            Latest::Busy(trx) => trx,
            _ if me != TrxId::NONE
                && !payload.is_empty()
                && RowHeader::read(payload)?.trx == me =>
            {
                me
            }
            _ => return Ok(TrxId::NONE),
        };
        let at = (index, parts, Some(is_marked(stored)));
        let changed = self.entry_in_doubt(table, key, at, trx, payload, undo)?;
        Ok(if changed { trx } else { TrxId::NONE })
    }

    /// Whether a version of the row, from the one in `payload` backwards, has the key `prefix` in
    /// secondary index `index` and may still be seen or rolled back to. `None`: copy the row again.
    /// The version in `payload` is committed unless its writer is active ([`Self::copy_certain`]).
    ///
    /// The caller holds the latch of the entry's leaf: who writes such a version after this look
    /// comes to that leaf after the caller has left it, and finds or makes the entry.
    pub(crate) fn version_needs(
        &self,
        table: &Table,
        key: &[u8],
        (index, prefix): (usize, &[u8]),
        payload: &mut Vec<u8>,
        undo: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        let mut scratch = Vec::new();
        let newest = RowHeader::read(payload)?;
        let settled = self.trx().all_see(newest.trx);
        let committed = !self.trx().is_active(newest.trx);
        let mut steps = self.steps(false);
        loop {
            let h = RowHeader::read(payload)?;
            if !h.deleted() {
                let s = &table.secondaries[index];
                match self.entry_prefix(table, s, &table.row_of(payload)?, &mut scratch)? {
                    Fetched::Done if scratch == prefix => return Ok(Some(true)),
                    Fetched::Done => {}
                    Fetched::Gone(e) => {
                        // With the same writer in the same state the versions are all there.
                        let there = table.clustered.get(key, payload)?;
                        let same = there && RowHeader::read(payload)? == newest;
                        let same = same && self.trx().all_see(newest.trx) == settled;
                        return if same { Err(e) } else { Ok(None) };
                    }
                }
            }
            if self.trx().all_see(h.trx) {
                return Ok(Some(false));
            }
            steps.step(&h)?;
            match self.step_back(table, key, payload, undo)? {
                Older::Version => {}
                Older::Nothing => return Ok(Some(false)),
                // Rolled back; or else nobody needs what was before it any more.
                Older::Gone if h.trx == newest.trx && !committed => {
                    return self.has_ended(&h).map(|_| None);
                }
                Older::Gone => return Ok(Some(false)),
            }
        }
    }
}
