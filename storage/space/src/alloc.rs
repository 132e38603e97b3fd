//! Taking and giving pages: the search for room, and the writes that make it so.
//!
//! 1. Everything that can fail for want of room happens before the first change: the file has the page, the
//!    segment has its entry, every page that will be changed is latched, and the new ones have their frames.
//!    Guard: `pool::Mtr` asserts that no frame is waited for after a change;
//!    `a_full_disk_is_reported_and_nothing_is_changed`.
//! 2. Pages of descriptions are latched under page 0's exclusive latch only, and by nobody who waits for
//!    another latch, so their order does not matter. Guard: `map` is a method of [`Work`], which begins with
//!    page 0; `threads_that_allocate_at_once_get_different_pages`.

use crate::extent::{EXTENTS_MAX, Entry, Extent, State, extent_of, map_at, map_of, page_of};
use crate::hints::Hints;
use crate::{HEADER, HINTS_MUTEX, Segment, write};
use base::{Error, IndexId, PageId, PageNo, Result};
use page::header::read_u32;
use page::{PageKind, PageOp};
use pool::spacefile::{EXTENT_PAGES, EXTENTS_AT, FIRST_EXTENT, MAP_AT, MAP_EXTENTS, SEGMENTS};
use pool::{Held, Mtr, Tablespace};
use sync::{Mutex, MutexGuard};

/// Pages that a segment takes from shared extents before it gets extents of its own.
pub(crate) const FRAGMENTS_MAX: u32 = 32;

/// Pages of descriptions that one allocation looks at, at most, before it takes new room. The
/// others are left to the next ones.
const SCANS_MAX: u32 = 4;

/// A tablespace whose page 0 the mini-transaction holds.
pub(crate) struct Work<'m, 'p> {
    m: &'m mut Mtr<'p>,
    ts: &'p Tablespace,
    page0: Held,
    pub(crate) hints: MutexGuard<'p, Hints>,
}

/// An unused page that the file has room for, and its extent.
struct Room {
    extent: u32,
    found: Extent,
    bit: u32,
    /// The extent is described for the first time; with the one before it, whose first page describes it.
    is_described: bool,
    new_map: Option<u32>,
}

impl Room {
    fn known(extent: u32, found: Extent, bit: u32) -> Room {
        Room { extent, found, bit, is_described: true, new_map: None }
    }
}

/// What is remembered of a tablespace.
pub(crate) fn hints(ts: &Tablespace) -> Result<&Mutex<Hints>> {
    ts.attachment(|| Mutex::new(&HINTS_MUTEX, Hints::default()))
}

impl<'m, 'p> Work<'m, 'p> {
    pub(crate) fn begin(m: &'m mut Mtr<'p>, ts: &'p Tablespace) -> Result<Work<'m, 'p>> {
        let page0 = m.exclusive(ts, HEADER)?;
        let hints = hints(ts)?.lock();
        let work = Work { m, ts, page0, hints };
        match work.extents() {
            1..=EXTENTS_MAX => Ok(work),
            _ => Err(work.corrupt(HEADER, EXTENTS_AT, "an impossible number of extents")),
        }
    }

    fn corrupt(&self, page: PageNo, at: usize, what: &'static str) -> Error {
        Error::Corrupt { page: PageId::new(self.ts.id(), page), offset: at as u32, what }
    }

    pub(crate) fn extents(&self) -> u32 {
        read_u32(self.m.page(self.page0), EXTENTS_AT)
    }

    fn map(&mut self, extent: u32) -> Result<Held> {
        let page = map_of(extent);
        if page == HEADER {
            return Ok(self.page0);
        }
        let held = self.m.exclusive_private(self.ts, page)?;
        if page::header::kind(self.m.page(held)) != Some(PageKind::ExtentMap) {
            return Err(self.corrupt(page, 0, "not a page that describes extents"));
        }
        Ok(held)
    }

    pub(crate) fn extent(&mut self, extent: u32) -> Result<Extent> {
        let held = self.map(extent)?;
        let at = map_at(extent);
        let bytes = self.m.page(held)[at..].first_chunk().expect("maps lie inside their page");
        Extent::decode(bytes)
            .ok_or_else(|| self.corrupt(map_of(extent), at, "an impossible extent"))
    }

    /// Writes an extent that has changed, as little as possible of it.
    fn write_extent(&mut self, extent: u32, before: Extent, after: Extent) -> Result<()> {
        let held = self.map(extent)?;
        let (old, new) = (encoded(before.encode())?, encoded(after.encode())?);
        let first = (0..new.len()).find(|&i| old[i] != new[i]).unwrap_or(0);
        let last = (0..new.len()).rfind(|&i| old[i] != new[i]).unwrap_or(0);
        write(self.m, held, map_at(extent) + first, &new[first..=last])?;
        self.hints.note(extent, before.state, &after);
        Ok(())
    }

    /// A segment's slot in page 0 and what stands there; an empty slot for a new one.
    fn entry(&self, segment: Segment) -> Result<(usize, Entry)> {
        let page0 = self.m.page(self.page0);
        let mut empty = None;
        for slot in 0..SEGMENTS {
            let at = Entry::at(slot);
            let bytes = page0[at..].first_chunk().expect("entries lie inside page 0");
            match Entry::decode(bytes) {
                Ok(None) => empty = empty.or(Some(slot)),
                Ok(Some(entry)) if entry.segment == segment => return Ok((slot, entry)),
                Ok(Some(_)) => {}
                Err(()) => return Err(self.corrupt(HEADER, at, "an impossible segment")),
            }
        }
        match empty {
            Some(slot) => Ok((slot, Entry::new(segment))),
            None => Err(Error::Internal("a tablespace has no room for another segment")),
        }
    }

    fn write_entry(&mut self, slot: usize, entry: Entry) -> Result<()> {
        write(self.m, self.page0, Entry::at(slot), &encoded(entry.encode())?)
    }

    /// Takes a page; see [`crate::allocate_near`].
    pub(crate) fn allocate(&mut self, segment: Segment, near: PageNo) -> Result<PageNo> {
        let (slot, entry) = self.entry(segment)?;
        // The id must be one that the maps can hold, before anything is changed.
        encoded(Extent { used: 1, state: State::Owned(segment) }.encode())?;
        let by_page =
            segment.kind.is_scattered() || entry.extents == 0 && entry.fragments < FRAGMENTS_MAX;
        let state = if by_page { State::Shared } else { State::Owned(segment) };
        let room = match self.find_room(state, near) {
            Err(full @ Error::NoSpace { .. }) => self.find_in_file(segment)?.ok_or(full),
            found => found,
        }?;
        self.latch_all(&room)?;
        self.take(room, state, slot, entry)
    }

    /// Latches what [`Self::take`] changes, and the page itself for the caller (invariant 1).
    fn latch_all(&mut self, room: &Room) -> Result<()> {
        match room.new_map {
            Some(map) => drop(self.m.fresh(self.ts, page_of(map, 0))?),
            None => drop(self.map(room.extent)?),
        }
        self.m.fresh(self.ts, page_of(room.extent, room.bit)).map(drop)
    }

    /// An unused page in an extent of `state`, or in one that can become so.
    fn find_room(&mut self, state: State, near: PageNo) -> Result<Room> {
        let near_extent = if near == PageNo::NONE { 0 } else { extent_of(near) };
        if near != PageNo::NONE && near_extent < self.extents() {
            let found = self.extent(near_extent)?;
            if found.state == state
                && let Some(bit) = found.unused_from(near.0 % EXTENT_PAGES + 1)
            {
                return self.room(near_extent, found, bit);
            }
        }
        let mut scans = SCANS_MAX;
        loop {
            if let Some(room) = self.find_known(state, near_extent)? {
                return Ok(room);
            }
            if scans == 0 || !self.scan()? {
                break;
            }
            scans -= 1;
        }
        match self.find_known(State::Free, near_extent)? {
            Some(room) => Ok(room),
            None => self.new_extent(),
        }
    }

    /// Follows the hints.
    fn find_known(&mut self, state: State, near: u32) -> Result<Option<Room>> {
        while let Some(extent) = self.hints.find(state, near) {
            let found = self.extent(extent)?;
            if found.state == state
                && let Some(bit) = found.unused_from(0)
            {
                return self.room(extent, found, bit).map(Some);
            }
            self.hints.note(extent, state, &found);
        }
        Ok(None)
    }

    /// Makes sure that the file has room for the page.
    fn room(&mut self, extent: u32, found: Extent, bit: u32) -> Result<Room> {
        self.ts.grow(page_of(extent, bit))?;
        if found.state == State::Free {
            self.back(extent)?;
        }
        Ok(Room::known(extent, found, bit))
    }

    /// Makes sure that a free extent has room in the file: it may have been given back.
    fn back(&mut self, extent: u32) -> Result<()> {
        if !self.hints.is_backed(extent) {
            self.ts.make_room(page_of(extent, 0), EXTENT_PAGES)?;
            self.hints.set_backed(extent);
        }
        Ok(())
    }

    /// Looks at one more page of descriptions, the last ones first. `false`: all were looked at.
    pub(crate) fn scan(&mut self) -> Result<bool> {
        let maps = self.extents().div_ceil(MAP_EXTENTS);
        let Some(map) = self.hints.unscanned.unwrap_or(maps).checked_sub(1) else {
            return Ok(false);
        };
        // Whatever comes of it: nobody tries again.
        self.hints.unscanned = Some(map);
        let seen = self.each_of_map(map, |work, extent, found| {
            work.hints.note(extent, found.state, &found);
        });
        match seen {
            // Damage elsewhere does not stop those who need no room there.
            Ok(()) | Err(Error::Corrupt { .. }) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Looks at all extents of a page of descriptions, which stays latched only if it was.
    fn each_of_map(
        &mut self,
        map: u32,
        mut each: impl FnMut(&mut Self, u32, Extent),
    ) -> Result<()> {
        let first = map * MAP_EXTENTS;
        let was_held = self.m.holds(self.ts, map_of(first)).is_some();
        for extent in first..self.extents().min(first + MAP_EXTENTS) {
            let found = self.extent(extent)?;
            each(self, extent, found);
        }
        if !was_held {
            let held = self.map(first)?;
            self.m.release(held);
        }
        Ok(())
    }

    /// One more extent, to be described as free; and the page that describes it and the following ones, where
    /// that has to be made first.
    fn new_extent(&mut self) -> Result<Room> {
        let next = self.extents();
        let makes_map = next.is_multiple_of(MAP_EXTENTS);
        let extent = next + u32::from(makes_map);
        if extent >= EXTENTS_MAX {
            return Err(Error::NoSpace { path: self.ts.name().to_owned() });
        }
        self.ts.grow(page_of(extent, 0))?;
        if !makes_map && self.extent(extent)? != Extent::FREE {
            return Err(self.corrupt(HEADER, EXTENTS_AT, "fewer extents than are in use"));
        }
        let new_map = makes_map.then_some(next);
        Ok(Room { extent, found: Extent::FREE, bit: 0, is_described: false, new_map })
    }

    fn make_map(&mut self, extent: u32) -> Result<()> {
        let held = self.m.fresh(self.ts, page_of(extent, 0))?;
        let init = PageOp::Init {
            kind: PageKind::ExtentMap,
            level: 0,
            index_id: IndexId(0),
            low_fence: b"",
            high_fence: None,
        };
        self.m.apply(held, &init)?;
        write(self.m, held, MAP_AT, &FIRST_EXTENT)?;
        let made = Extent { used: 1, state: State::Shared };
        self.hints.note(extent, State::Free, &made);
        Ok(())
    }

    /// The disk is full: an unused page that the file has already, wherever it is; in an extent of
    /// the segment's own if possible.
    fn find_in_file(&mut self, segment: Segment) -> Result<Option<Room>> {
        let mut best: Option<(u8, Room)> = None;
        for map in 0..self.extents().div_ceil(MAP_EXTENTS) {
            self.each_of_map(map, |work, extent, found| {
                let rank = match found.state {
                    State::Owned(owner) if owner == segment => 0,
                    State::Shared => 1,
                    State::Free => 2,
                    State::Owned(_) => return,
                };
                if let Some(bit) = found.unused_from(0)
                    && page_of(extent, bit).0 < work.ts.pages_in_file()
                    && best.as_ref().is_none_or(|(r, _)| rank < *r)
                    && (found.state != State::Free || work.back(extent).is_ok())
                {
                    best = Some((rank, Room::known(extent, found, bit)));
                }
            })?;
        }
        Ok(best.map(|(_, room)| room))
    }

    /// The changes: `state` is what a free extent becomes.
    fn take(&mut self, room: Room, state: State, slot: usize, mut entry: Entry) -> Result<PageNo> {
        let Room { extent, found, bit, is_described, new_map } = room;
        if let Some(map) = new_map {
            self.make_map(map)?;
        }
        if !is_described {
            write(self.m, self.page0, EXTENTS_AT, &(extent + 1).to_le_bytes())?;
        }
        let is_new = found.state == State::Free;
        let after =
            Extent { used: found.used | 1 << bit, state: if is_new { state } else { found.state } };
        self.write_extent(extent, found, after)?;
        match after.state {
            State::Shared => entry.fragments += 1,
            _ => entry.extents += u32::from(is_new),
        }
        if is_new || after.state == State::Shared {
            self.write_entry(slot, entry)?;
        }
        let page = page_of(extent, bit);
        self.hints.highest = self.hints.highest.max(page.0);
        Ok(page)
    }

    /// Gives a page back; see [`crate::free`].
    pub(crate) fn free(&mut self, segment: Segment, page: PageNo) -> Result<()> {
        let extent = extent_of(page);
        if extent >= self.extents() || page == map_of(extent) {
            return Err(Error::Internal("a page that was never allocated was freed"));
        }
        let found = self.extent(extent)?;
        let bit = 1 << (page.0 % EXTENT_PAGES);
        match found.state {
            State::Owned(owner) if owner != segment => {
                return Err(Error::Internal("another segment's page was freed"));
            }
            _ if found.used & bit == 0 => {
                return Err(Error::Internal("a page that was not in use was freed"));
            }
            _ => {}
        }
        let (slot, mut entry) = self.entry(segment)?;
        let left = Extent { used: found.used & !bit, state: found.state };
        let after = if left.used == 0 { Extent::FREE } else { left };
        match found.state {
            State::Shared => entry.fragments = entry.fragments.saturating_sub(1),
            _ => entry.extents = entry.extents.saturating_sub(u32::from(left.used == 0)),
        }
        self.write_extent(extent, found, after)?;
        if found.state == State::Shared || left.used == 0 {
            self.write_entry(slot, entry)?;
        }
        Ok(())
    }

    /// Frees an extent, with all pages in it, that belongs to `index`. `false`: it does not.
    pub(crate) fn free_extent(&mut self, index: IndexId, extent: u32) -> Result<bool> {
        let found = self.extent(extent)?;
        let State::Owned(segment) = found.state else { return Ok(false) };
        if segment.index != index {
            return Ok(false);
        }
        let (slot, mut entry) = self.entry(segment)?;
        entry.extents = entry.extents.saturating_sub(1);
        self.write_extent(extent, found, Extent::FREE)?;
        self.write_entry(slot, entry)?;
        Ok(true)
    }
}

fn encoded<const N: usize>(bytes: Option<[u8; N]>) -> Result<[u8; N]> {
    bytes.ok_or(Error::Internal("an index id of more than seven bytes"))
}
