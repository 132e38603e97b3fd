//! The translation words of one tablespace: page number to word in a few instructions.
//!
//! 1. Words live in chunks that double in size and are made when first needed; a word is never freed or moved
//!    while the tablespace is open, so a version read from it stays comparable. Guard:
//!    `a_word_keeps_its_address`, `every_page_has_a_place_of_its_own`.
//! 2. Inside a block of 512 words neighbours in page order lie 64 words apart, so that the words of a hot inner
//!    node and of the leaf made after it do not share a cache line. Nor does a word with anything else. Guard:
//!    `neighbours_do_not_share_a_cache_line`.

use std::sync::OnceLock;
use stdx::CacheLine;
use sync::PageWord;

/// Words per block, and in the first chunk.
const BLOCK: u32 = 512;

/// Chunks that cover every `u32` page number: block 0, then 1, 2, 4 ... blocks.
const CHUNKS: usize = 24;

/// Words of a line (see [`stdx::CacheLine`]).
const WORDS: usize = 16;

/// A chunk of words, on lines of its own.
type Chunk = Box<[CacheLine<[PageWord; WORDS]>]>;

/// The words of one tablespace.
pub(crate) struct Words {
    chunks: [OnceLock<Chunk>; CHUNKS],
}

#[inline]
fn in_chunk(chunk: &Chunk, index: usize) -> &PageWord {
    &chunk[index / WORDS].0[index % WORDS]
}

impl Words {
    pub(crate) fn new() -> Words {
        Words { chunks: [const { OnceLock::new() }; CHUNKS] }
    }

    /// The word of a page; makes its chunk when this is the first page of it. The caller has
    /// checked that the page exists, so that a wrong number costs no memory.
    #[inline]
    pub(crate) fn word(&self, page: u32) -> &PageWord {
        let (chunk, index) = place(page);
        match self.chunks[chunk].get() {
            Some(words) => in_chunk(words, index),
            None => self.make(chunk, index),
        }
    }

    /// The word of a page, if there is one yet.
    pub(crate) fn get(&self, page: u32) -> Option<&PageWord> {
        let (chunk, index) = place(page);
        self.chunks[chunk].get().map(|words| in_chunk(words, index))
    }

    #[cold]
    fn make(&self, chunk: usize, index: usize) -> &PageWord {
        let words = self.chunks[chunk].get_or_init(|| {
            let blocks = if chunk == 0 { 1 } else { 1usize << (chunk - 1) };
            let line = |_| CacheLine(std::array::from_fn(|_| PageWord::new()));
            (0..blocks * BLOCK as usize / WORDS).map(line).collect()
        });
        in_chunk(words, index)
    }
}

/// Chunk and index of a page's word.
#[inline]
fn place(page: u32) -> (usize, usize) {
    let block = page / BLOCK;
    let chunk = (u32::BITS - block.leading_zeros()) as usize;
    let first = if chunk == 0 { 0 } else { 1u32 << (chunk - 1) };
    let within = ((page & 7) << 6) | (page >> 3 & 63);
    (chunk, ((block - first) * BLOCK + within) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_page_has_a_place_of_its_own() {
        let mut seen = HashSet::new();
        for page in 0..BLOCK * 9 {
            let (chunk, index) = place(page);
            let blocks = if chunk == 0 { 1 } else { 1 << (chunk - 1) };
            assert!(index < blocks * BLOCK as usize);
            assert!(seen.insert((chunk, index)));
        }
        assert_eq!(place(u32::MAX).0, CHUNKS - 1);
        assert_eq!(place(u32::MAX).1, (1usize << 22) * BLOCK as usize - 1);
    }

    #[test]
    fn neighbours_do_not_share_a_cache_line() {
        for page in 0..100 {
            let (a, b) = (place(page).1, place(page + 1).1);
            assert!(a.abs_diff(b) * 8 >= 128, "pages {page} and {}", page + 1);
        }
    }

    #[test]
    fn a_word_keeps_its_address() {
        let words = Words::new();
        let first: *const PageWord = words.word(700);
        words.word(100_000);
        assert!(std::ptr::eq(first, words.word(700)));
    }
}
