//! What is in a tablespace, and whether it fits together: for CHECK TABLE and for inspection.
//!
//! 1. Pages of descriptions are read one by one and copied, so a report is exact only while nobody allocates;
//!    it never waits for more than one latch. Guard: the compiler: `Maps` owns its copy, and a closure that
//!    latches one page.
//! 2. Damage is listed, not returned as an error: the rest of the file is still looked at. Guard:
//!    `wrong_bytes_are_reported_and_never_a_panic`, `every_kind_of_damage_has_its_name`.

use crate::extent::{EXTENTS_MAX, Entry, Extent, State, extent_of, map_at, map_of, page_of};
use crate::pages::PageSet;
use crate::{HEADER, Segment};
use base::{Error, PAGE_BYTES, PageBuf, PageId, PageNo, Result, SpaceId};
use page::PageKind;
use page::header::read_u32;
use pool::Tablespace;
use pool::spacefile::{EXTENT_PAGES, EXTENTS_AT, MAP_EXTENTS, SEGMENTS};
use std::collections::BTreeMap;

/// One segment's pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentReport {
    /// Which.
    pub segment: Segment,
    /// Extents that are all its own.
    pub extents: u32,
    /// Its pages in shared extents, as page 0 counts them.
    pub fragments: u32,
    /// Its pages in use, those of shared extents included.
    pub pages_used: u64,
    /// Unused pages of its own extents.
    pub pages_free: u64,
}

/// What a tablespace's space is used for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpaceReport {
    /// Pages that the file has room for.
    pub pages_in_file: u32,
    /// Extents that were ever used; all below.
    pub extents: u32,
    /// Extents that are nobody's.
    pub extents_free: u32,
    /// Which these are: nobody reads their pages, whatever they hold.
    pub free: Vec<u32>,
    /// Extents whose pages are given out one by one.
    pub extents_shared: u32,
    /// Extents that one segment has.
    pub extents_owned: u32,
    /// Pages in use, those that describe extents included.
    pub pages_used: u64,
    /// Unused pages of all extents that were ever used.
    pub pages_free: u64,
    /// The segments, in order of index and kind.
    pub segments: Vec<SegmentReport>,
    /// What contradicts itself.
    pub problems: Vec<Problem>,
}

/// Something that does not fit together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The page that it was seen in, or that it is about.
    pub page: PageId,
    /// Byte inside the page; 0 when the whole page is meant.
    pub offset: u32,
    /// What is wrong.
    pub what: &'static str,
}

impl Problem {
    /// The same as an error, for callers that stop at the first.
    pub fn error(&self) -> Error {
        Error::Corrupt { page: self.page, offset: self.offset, what: self.what }
    }
}

/// Reads a page into a buffer.
type ReadPage<'t> = dyn FnMut(PageNo, &mut PageBuf) -> Result<()> + 't;

/// The descriptions of all extents, a copied page at a time.
pub(crate) struct Maps<'t> {
    space: SpaceId,
    pages_in_file: u32,
    extents: u32,
    at: PageNo,
    page: Box<PageBuf>,
    read: Box<ReadPage<'t>>,
}

impl<'t> Maps<'t> {
    pub(crate) fn new(ts: &'t Tablespace) -> Result<Maps<'t>> {
        Maps::read_by(ts.id(), ts.pages_in_file(), move |page, into| {
            *into = *ts.shared(page)?;
            Ok(())
        })
    }

    fn read_by(
        space: SpaceId,
        pages_in_file: u32,
        mut read: impl FnMut(PageNo, &mut PageBuf) -> Result<()> + 't,
    ) -> Result<Maps<'t>> {
        let mut page = Box::new([0; PAGE_BYTES]);
        read(HEADER, &mut page)?;
        let extents = read_u32(&page, EXTENTS_AT);
        if !(1..=EXTENTS_MAX).contains(&extents) {
            let (page, offset) = (PageId::new(space, HEADER), EXTENTS_AT as u32);
            return Err(Error::Corrupt { page, offset, what: "an impossible number of extents" });
        }
        Ok(Maps { space, pages_in_file, extents, at: HEADER, page, read: Box::new(read) })
    }

    /// Extents that are described.
    pub(crate) fn extents(&self) -> u32 {
        self.extents
    }

    /// The page that describes an extent.
    fn map(&mut self, extent: u32) -> Result<&PageBuf> {
        let page = map_of(extent);
        if page != self.at {
            // Until it is known to be good.
            self.at = PageNo::NONE;
            (self.read)(page, &mut self.page)?;
            if page::header::kind(&self.page) != Some(PageKind::ExtentMap) {
                let what = "not a page that describes extents";
                return Err(Error::corrupt(PageId::new(self.space, page), what));
            }
            self.at = page;
        }
        Ok(&self.page)
    }

    pub(crate) fn extent(&mut self, extent: u32) -> Result<Extent> {
        let (at, page) = (map_at(extent), PageId::new(self.space, map_of(extent)));
        let bytes = self.map(extent)?[at..].first_chunk().expect("maps lie inside their page");
        let offset = at as u32;
        Extent::decode(bytes).ok_or(Error::Corrupt { page, offset, what: "an impossible extent" })
    }
}

/// Whose segment has the page; `None` for pages of shared extents and for those of nobody. For reports of
/// damage.
///
/// # Errors
/// What describes the extents cannot be read.
pub fn owner(ts: &Tablespace, page: PageNo) -> Result<Option<Segment>> {
    let mut maps = Maps::new(ts)?;
    let extent = extent_of(page);
    if extent >= maps.extents() {
        return Ok(None);
    }
    Ok(match maps.extent(extent)?.state {
        State::Owned(segment) => Some(segment),
        State::Free | State::Shared => None,
    })
}

/// Collects problems up to a number.
struct Problems {
    space: SpaceId,
    all: Vec<Problem>,
    limit: usize,
}

impl Problems {
    fn add(&mut self, page: PageNo, offset: usize, what: &'static str) {
        if self.all.len() < self.limit {
            let page = PageId::new(self.space, page);
            self.all.push(Problem { page, offset: offset as u32, what });
        }
    }

    fn is_full(&self) -> bool {
        self.all.len() >= self.limit
    }

    /// Damage becomes a problem; other errors stay what they are.
    fn catch<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Corrupt { page, offset, what }) => {
                if !self.is_full() {
                    self.all.push(Problem { page, offset, what });
                }
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}

/// Counts a tablespace's extents and pages.
///
/// Damage of the descriptions is in [`SpaceReport::problems`]; [`Error::Corrupt`] when page 0
/// cannot be read, [`Error::Io`].
pub fn report(ts: &Tablespace) -> Result<SpaceReport> {
    report_of(Maps::new(ts)?)
}

/// As [`report`], of the file of tablespace `space` that no server has open: `read` reads its pages
/// and checks them.
pub fn report_file(
    space: SpaceId,
    pages_in_file: u32,
    read: impl FnMut(PageNo, &mut PageBuf) -> Result<()>,
) -> Result<SpaceReport> {
    report_of(Maps::read_by(space, pages_in_file, read)?)
}

fn report_of(mut maps: Maps<'_>) -> Result<SpaceReport> {
    let mut problems = Problems { space: maps.space, all: Vec::new(), limit: usize::MAX };
    let mut r = SpaceReport { pages_in_file: maps.pages_in_file, ..SpaceReport::default() };
    let entries = entries(&maps.page, &mut problems);
    let mut segments: BTreeMap<Segment, SegmentReport> = BTreeMap::new();
    let blank =
        |segment| SegmentReport { segment, extents: 0, fragments: 0, pages_used: 0, pages_free: 0 };
    let mut scattered = 0;
    each_extent(&mut maps, &mut problems, |extent, found, problems| {
        let used = u64::from(found.used.count_ones());
        let free = u64::from(EXTENT_PAGES) - used;
        r.extents += 1;
        r.pages_used += used;
        r.pages_free += free;
        let is_first = extent.is_multiple_of(MAP_EXTENTS);
        if is_first && (found.state != State::Shared || found.used & 1 == 0) {
            problems.add(map_of(extent), map_at(extent), "a page of descriptions is not in use");
        }
        match found.state {
            State::Free => {
                r.extents_free += 1;
                r.free.push(extent);
            }
            State::Shared => {
                r.extents_shared += 1;
                scattered += used - u64::from(is_first && found.used & 1 == 1);
            }
            State::Owned(segment) => {
                r.extents_owned += 1;
                let s = segments.entry(segment).or_insert_with(|| blank(segment));
                s.extents += 1;
                s.pages_used += used;
                s.pages_free += free;
            }
        }
    })?;
    for entry in entries {
        let s = segments.entry(entry.segment).or_insert_with(|| blank(entry.segment));
        s.fragments = entry.fragments;
        s.pages_used += u64::from(entry.fragments);
        scattered = scattered.wrapping_sub(u64::from(entry.fragments));
        if s.extents != entry.extents {
            problems.add(HEADER, 0, "page 0 miscounts the extents of a segment");
        }
    }
    if segments.values().any(|s| s.fragments == 0 && s.extents == 0) || scattered != 0 {
        problems.add(HEADER, 0, "page 0 miscounts the pages of shared extents");
    }
    r.segments = segments.into_values().collect();
    r.problems = problems.all;
    Ok(r)
}

/// The segments that page 0 names.
fn entries(page0: &PageBuf, problems: &mut Problems) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    for slot in 0..SEGMENTS {
        let at = Entry::at(slot);
        match Entry::decode(page0[at..].first_chunk().expect("entries lie inside page 0")) {
            Ok(None) => {}
            Ok(Some(entry)) if found.iter().any(|e| e.segment == entry.segment) => {
                problems.add(HEADER, at, "a segment has two entries");
            }
            Ok(Some(entry)) => found.push(entry),
            Err(()) => problems.add(HEADER, at, "an impossible segment"),
        }
    }
    found
}

/// Calls `each` with every extent whose description is sound; a page of descriptions that cannot be
/// read is one problem.
fn each_extent(
    maps: &mut Maps<'_>,
    problems: &mut Problems,
    mut each: impl FnMut(u32, Extent, &mut Problems),
) -> Result<()> {
    let mut extent = 0;
    while extent < maps.extents() && !problems.is_full() {
        if map_of(extent).0 >= maps.pages_in_file {
            problems.add(HEADER, EXTENTS_AT, "more extents than the file has room for");
            break;
        }
        let readable = maps.map(extent).map(|_| ());
        if problems.catch(readable)?.is_none() {
            extent = (extent / MAP_EXTENTS + 1) * MAP_EXTENTS;
            continue;
        }
        let found = maps.extent(extent);
        if let Some(found) = problems.catch(found)? {
            each(extent, found, problems);
        }
        extent += 1;
    }
    Ok(())
}

/// The pages that their owner says are a segment's.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Which segment.
    pub segment: Segment,
    /// Its pages.
    pub pages: &'a PageSet,
    /// There are no others.
    pub is_complete: bool,
}

/// Compares the descriptions with what the owners of all pages claim: every page in use is claimed
/// once, by the segment that has its extent; no other page is claimed. At most `limit` problems.
///
/// Nobody allocates meanwhile. Errors: as [`report`].
pub fn audit(ts: &Tablespace, claims: &[Claim<'_>], limit: usize) -> Result<Vec<Problem>> {
    let mut maps = Maps::new(ts)?;
    let mut problems = Problems { space: ts.id(), all: Vec::new(), limit };
    let described = maps.extents();
    let counted = entries(&maps.page, &mut problems);
    let mut fragments = vec![0; claims.len()];
    let all_complete = claims.iter().all(|c| c.is_complete);
    let is_complete = |state| match state {
        State::Owned(owner) => !claims.iter().any(|c| c.segment == owner && !c.is_complete),
        _ => all_complete,
    };
    each_extent(&mut maps, &mut problems, |extent, found, problems| {
        let mut left = found.used;
        if extent.is_multiple_of(MAP_EXTENTS) {
            left &= !1;
        }
        let mut each = |bits: u64, what| {
            let pages = Extent { used: bits, state: State::Shared }.used_pages(extent);
            pages.for_each(|page| problems.add(page, 0, what));
        };
        for (claim, fragments) in claims.iter().zip(&mut fragments) {
            let claimed = claim.pages.word(extent);
            each(claimed & !found.used, "a page is referred to and not in use");
            each(claimed & found.used & !left, "a page is referred to twice");
            match found.state {
                State::Owned(owner) if owner != claim.segment => {
                    each(claimed, "a page lies in another segment's extent");
                }
                State::Shared => *fragments += claimed.count_ones(),
                _ => {}
            }
            left &= !claimed;
        }
        if is_complete(found.state) {
            each(left, "a page is in use and nothing refers to it");
        }
    })?;
    for (claim, fragments) in claims.iter().zip(fragments) {
        for extent in (described..claim.pages.extents()).filter(|e| claim.pages.word(*e) != 0) {
            let what = "pages are referred to that were never allocated";
            problems.add(page_of(extent, 0), 0, what);
        }
        let entry = counted.iter().find(|e| e.segment == claim.segment);
        let counted = entry.map_or(0, |e| e.fragments);
        if counted < fragments || claim.is_complete && counted != fragments {
            problems.add(HEADER, 0, "page 0 miscounts a segment's pages in shared extents");
        }
    }
    Ok(problems.all)
}
