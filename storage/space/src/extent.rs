//! What describes an extent and a segment: their bytes and what they mean.
//!
//! 1. An extent nobody has is all zeroes. Any other extent has at least one used page. Guard: `decode` refuses
//!    others: at each use, and in CHECK TABLE ([`crate::report`]); `encode` asserts it.
//! 2. Bytes from disk are checked when they are read: an unknown state is corrupt. Guard:
//!    `bytes_and_meaning_belong_together`, `every_kind_of_damage_has_its_name`.

use crate::{Segment, SegmentKind};
use base::{IndexId, PAGE_BYTES, PageNo};
use pool::spacefile::{
    EXTENT_BYTES, EXTENT_PAGES, EXTENT_SHARED, MAP_AT, MAP_EXTENTS, SEGMENT_BYTES, SEGMENTS_AT,
};

/// Pages from one page of descriptions to the next.
pub(crate) const MAP_PAGES: u32 = MAP_EXTENTS * EXTENT_PAGES;

/// Extents of the largest tablespace.
pub(crate) const EXTENTS_MAX: u32 = u32::MAX / EXTENT_PAGES;

/// Index ids take seven bytes of an owner.
const INDEX_LIMIT: u64 = 1 << 56;

const _: () = assert!(EXTENT_PAGES == u64::BITS && EXTENT_BYTES == 16 && SEGMENT_BYTES == 16);
const _: () = assert!(SEGMENTS_AT < PAGE_BYTES);

/// Whose an extent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nobody's.
    Free,
    /// Its pages are given out one by one, to any segment.
    Shared,
    /// All its pages are for one segment.
    Owned(Segment),
}

/// One extent: whose it is, and which of its pages are in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// Bit `i`: page `i` of the extent is in use.
    pub used: u64,
    pub state: State,
}

/// The extent of a page.
pub(crate) fn extent_of(page: PageNo) -> u32 {
    page.0 / EXTENT_PAGES
}

/// A page of an extent.
pub(crate) fn page_of(extent: u32, bit: u32) -> PageNo {
    PageNo(extent * EXTENT_PAGES + bit)
}

/// The page that describes an extent.
pub(crate) fn map_of(extent: u32) -> PageNo {
    PageNo(extent / MAP_EXTENTS * MAP_PAGES)
}

/// Where in [`map_of`] an extent is described.
pub(crate) fn map_at(extent: u32) -> usize {
    MAP_AT + (extent % MAP_EXTENTS) as usize * EXTENT_BYTES
}

fn owner(index: IndexId, state: u8) -> [u8; 8] {
    let mut bytes = index.0.to_le_bytes();
    bytes[7] = state;
    bytes
}

fn read_u64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

impl Segment {
    /// `None`: the index id is too large to be an owner.
    fn to_owner(self) -> Option<[u8; 8]> {
        (self.index.0 < INDEX_LIMIT).then(|| owner(self.index, self.kind as u8))
    }

    fn from_owner(bytes: u64) -> Option<Segment> {
        let kind = SegmentKind::from_u8((bytes >> 56) as u8)?;
        Some(Segment { index: IndexId(bytes % INDEX_LIMIT), kind })
    }
}

impl Extent {
    pub(crate) const FREE: Extent = Extent { used: 0, state: State::Free };

    /// `None`: the bytes are no extent's.
    pub(crate) fn decode(bytes: &[u8; EXTENT_BYTES]) -> Option<Extent> {
        let (used, whose) = (read_u64(&bytes[..8]), read_u64(&bytes[8..]));
        let state = match (whose >> 56) as u8 {
            0 => State::Free,
            EXTENT_SHARED => State::Shared,
            _ => State::Owned(Segment::from_owner(whose)?),
        };
        let sound = match state {
            State::Owned(_) => used != 0,
            State::Shared => used != 0 && whose % INDEX_LIMIT == 0,
            State::Free => used == 0 && whose == 0,
        };
        sound.then_some(Extent { used, state })
    }

    pub(crate) fn encode(&self) -> Option<[u8; EXTENT_BYTES]> {
        let is_free = self.state == State::Free;
        assert_eq!(self.used == 0, is_free, "an extent without pages in use is {:?}", self.state);
        let whose = match self.state {
            State::Free => [0; 8],
            State::Shared => owner(IndexId(0), EXTENT_SHARED),
            State::Owned(segment) => segment.to_owner()?,
        };
        let mut bytes = [0; EXTENT_BYTES];
        bytes[..8].copy_from_slice(&self.used.to_le_bytes());
        bytes[8..].copy_from_slice(&whose);
        Some(bytes)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.used != u64::MAX
    }

    /// The first unused page from bit `from` on, else the first of all.
    pub(crate) fn unused_from(&self, from: u32) -> Option<u32> {
        let behind = !self.used & u64::MAX.checked_shl(from).unwrap_or(0);
        let choice = if behind != 0 { behind } else { !self.used };
        (choice != 0).then(|| choice.trailing_zeros())
    }

    /// The pages in use, as numbers.
    pub(crate) fn used_pages(self, extent: u32) -> impl Iterator<Item = PageNo> {
        (0..EXTENT_PAGES).filter(move |b| self.used >> b & 1 == 1).map(move |b| page_of(extent, b))
    }
}

/// A segment's entry in page 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub segment: Segment,
    /// Extents that are all its own.
    pub extents: u32,
    /// Its pages in shared extents.
    pub fragments: u32,
}

impl Entry {
    pub(crate) fn new(segment: Segment) -> Entry {
        Entry { segment, extents: 0, fragments: 0 }
    }

    /// Where entry `slot` is in page 0.
    pub(crate) fn at(slot: usize) -> usize {
        SEGMENTS_AT + slot * SEGMENT_BYTES
    }

    /// `Ok(None)`: the slot is empty. `Err`: the bytes are no entry's.
    pub(crate) fn decode(bytes: &[u8; SEGMENT_BYTES]) -> Result<Option<Entry>, ()> {
        if *bytes == [0; SEGMENT_BYTES] {
            return Ok(None);
        }
        let segment = Segment::from_owner(read_u64(&bytes[..8])).ok_or(())?;
        let counts = read_u64(&bytes[8..]);
        let entry = Entry { segment, extents: counts as u32, fragments: (counts >> 32) as u32 };
        if counts == 0 { Err(()) } else { Ok(Some(entry)) }
    }

    /// An entry without pages is an empty slot.
    pub(crate) fn encode(&self) -> Option<[u8; SEGMENT_BYTES]> {
        let mut bytes = [0; SEGMENT_BYTES];
        if self.extents == 0 && self.fragments == 0 {
            return Some(bytes);
        }
        bytes[..8].copy_from_slice(&self.segment.to_owner()?);
        bytes[8..12].copy_from_slice(&self.extents.to_le_bytes());
        bytes[12..].copy_from_slice(&self.fragments.to_le_bytes());
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_meaning_belong_together() {
        let segment = Segment::new(IndexId(INDEX_LIMIT - 1), SegmentKind::Blob);
        for extent in [
            Extent::FREE,
            Extent { used: 1, state: State::Shared },
            Extent { used: u64::MAX, state: State::Owned(segment) },
        ] {
            assert_eq!(Extent::decode(&extent.encode().unwrap()), Some(extent));
        }
        assert_eq!(
            Extent::decode(&pool::spacefile::FIRST_EXTENT),
            Some(Extent { used: 1, state: State::Shared })
        );
        let entry = Entry { segment, extents: 7, fragments: 32 };
        assert_eq!(Entry::decode(&entry.encode().unwrap()), Ok(Some(entry)));
        assert_eq!(Entry::decode(&Entry::new(segment).encode().unwrap()), Ok(None));
        let large = Segment::new(IndexId(INDEX_LIMIT), SegmentKind::Leaf);
        assert_eq!(Extent { used: 1, state: State::Owned(large) }.encode(), None);
        // Used pages of nobody; a segment without pages; an unknown kind; a shared extent's owner.
        assert_eq!(Extent::decode(&[1; 16].map(|b: u8| b * 99)), None);
        let mut odd = [0; 16];
        odd[0] = 1;
        assert_eq!(Extent::decode(&odd), None);
        let mut odd = pool::spacefile::FIRST_EXTENT;
        odd[8] = 1;
        assert_eq!(Extent::decode(&odd), None);
        let mut empty = entry.encode().unwrap();
        empty[8..].fill(0);
        assert_eq!(Entry::decode(&empty), Err(()));
    }

    #[test]
    fn unused_pages_are_looked_for_behind_and_then_from_the_first() {
        let shared = |used| Extent { used, state: State::Shared };
        assert_eq!(shared(0b0111).unused_from(0), Some(3));
        assert_eq!(shared(0b0111).unused_from(63), Some(63));
        assert_eq!(shared(u64::MAX << 1).unused_from(40), Some(0));
        assert_eq!(shared(u64::MAX << 1).unused_from(64), Some(0));
        assert_eq!(shared(u64::MAX).unused_from(0), None);
        let pages: Vec<_> = shared(0b101).used_pages(2).collect();
        assert_eq!(pages, [PageNo(128), PageNo(130)]);
        assert_eq!((map_of(255), map_of(256), map_at(256)), (PageNo(0), PageNo(16384), MAP_AT));
    }
}
