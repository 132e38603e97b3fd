//! The ring of log bytes between appending and writing.
//!
//! 1. Byte `lsn` of the log is at `lsn % bytes`; the ring holds `[written, written + bytes)`. Guard:
//!    `bytes_come_back_across_the_seam`; the debug assertion before [`crate::Log::append`] copies.
//! 2. A range is written by the one thread that reserved it, and read by the one that writes the files, after
//!    the writer's watermark has released it. The words are relaxed atomics, so a breach of this would be a
//!    wrong checksum, not undefined behaviour. Guard: the models `the_contiguous_end_holds_only_copied_frames`
//!    and `the_ring_goes_round`; the frames' checksums at recovery.

use stdx::{LocalAtomic, Ordering};

instrument::classes! {
    static RING: MemoryUse = "memory/innodb/log_buffer_memory";
}

const WORD_BYTES: usize = 8;

pub(crate) struct Ring {
    words: Box<[LocalAtomic<u64>]>,
}

impl Ring {
    /// A ring of `bytes`, a power of two.
    pub(crate) fn new(bytes: usize) -> Ring {
        assert!(bytes.is_power_of_two() && bytes >= WORD_BYTES);
        RING.take(bytes);
        Ring { words: (0..bytes / WORD_BYTES).map(|_| LocalAtomic::new(0)).collect() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.words.len() * WORD_BYTES) as u64
    }

    /// The addresses of its words.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        let words = self.words.as_ptr_range();
        words.start.addr()..words.end.addr()
    }

    /// Its words from `lsn` (a multiple of 8) up to the seam, and from the seam on.
    fn from(&self, lsn: u64) -> (&[LocalAtomic<u64>], &[LocalAtomic<u64>]) {
        let at = (lsn / WORD_BYTES as u64) as usize & (self.words.len() - 1);
        (&self.words[at..], &self.words[..at])
    }

    /// Copies bytes in at `lsn` (a multiple of 8), padded by zeros to a multiple of 8.
    pub(crate) fn put(&self, lsn: u64, bytes: &[u8]) {
        let (before, behind) = self.from(lsn);
        let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
        let (head, tail) = whole.split_at(whole.len().min(before.len()));
        for (word, bytes) in before.iter().zip(head) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        for (word, bytes) in behind.iter().zip(tail) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            let word = before.get(head.len()).unwrap_or_else(|| &behind[tail.len()]);
            word.store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    /// Copies bytes out from `lsn`; both it and the length are multiples of 8.
    pub(crate) fn get(&self, lsn: u64, out: &mut [u8]) {
        let (before, behind) = self.from(lsn);
        let whole = out.as_chunks_mut::<WORD_BYTES>().0;
        let (head, tail) = whole.split_at_mut(whole.len().min(before.len()));
        for (word, bytes) in before.iter().zip(head) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        for (word, bytes) in behind.iter().zip(tail) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_across_the_seam() {
        let ring = Ring::new(64);
        let bytes: Vec<u8> = (1..=37).collect();
        ring.put(48 + 64 * 9, &bytes);
        let mut out = [0xff; 40];
        ring.get(48 + 64 * 9, &mut out);
        assert_eq!(out[..37], bytes[..]);
        assert_eq!(out[37..], [0; 3]);
        // An odd end at the seam itself.
        ring.put(48 + 64 * 9, &bytes[..19]);
        ring.get(48 + 64 * 9, &mut out[..24]);
        assert_eq!(out[..19], bytes[..19]);
        assert_eq!(out[19..24], [0; 5]);
    }
}
