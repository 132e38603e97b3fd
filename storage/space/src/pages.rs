//! A set of pages of one tablespace, a bit each: what a checker may remember of a large file.

use base::PageNo;

/// Pages of one tablespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSet {
    words: Vec<u64>,
    len: u64,
}

impl PageSet {
    /// None.
    pub fn new() -> PageSet {
        PageSet::default()
    }

    /// Adds a page; `false`: it was there. Takes memory for all pages below it: the caller has
    /// made sure that the file has the page.
    pub fn insert(&mut self, page: PageNo) -> bool {
        let (word, bit) = (page.0 as usize / 64, 1 << (page.0 % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u64::from(is_new);
        is_new
    }

    /// Whether a page is there.
    pub fn contains(&self, page: PageNo) -> bool {
        self.word(page.0 / 64) >> (page.0 % 64) & 1 == 1
    }

    /// The 64 pages of an extent, bit by bit.
    pub(crate) fn word(&self, extent: u32) -> u64 {
        self.words.get(extent as usize).copied().unwrap_or(0)
    }

    /// Number of extents that the set may have pages in.
    pub(crate) fn extents(&self) -> u32 {
        self.words.len() as u32
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = PageNo> {
        let pages = |(i, word): (usize, &u64)| {
            let (i, word) = (i as u32, *word);
            (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| PageNo(i * 64 + b))
        };
        self.words.iter().enumerate().flat_map(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_there_once() {
        let mut set = PageSet::new();
        for page in [0, 63, 64, 1000] {
            assert!(set.insert(PageNo(page)) && !set.insert(PageNo(page)));
        }
        assert!(set.contains(PageNo(63)) && !set.contains(PageNo(62)));
        assert!(!set.contains(PageNo(u32::MAX)));
        assert_eq!(set.iter().map(|p| p.0).collect::<Vec<_>>(), [0, 63, 64, 1000]);
        assert_eq!((set.len(), set.word(0), set.word(16)), (4, 1 << 63 | 1, 0));
    }
}
