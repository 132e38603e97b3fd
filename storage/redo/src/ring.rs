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

    /// Copies bytes in at `lsn` (a multiple of 8), padded by zeros to a multiple of 8.
    pub(crate) fn put(&self, lsn: u64, bytes: &[u8]) {
        let mask = self.words.len() - 1;
        let mut at = (lsn / WORD_BYTES as u64) as usize & mask;
        let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
        for word in whole {
            self.words[at].store(u64::from_le_bytes(*word), Ordering::Relaxed);
            at = (at + 1) & mask;
        }
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.words[at].store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    /// Copies bytes out from `lsn`; both it and the length are multiples of 8.
    pub(crate) fn get(&self, lsn: u64, out: &mut [u8]) {
        let mask = self.words.len() - 1;
        let mut at = (lsn / WORD_BYTES as u64) as usize & mask;
        for word in out.as_chunks_mut::<WORD_BYTES>().0 {
            *word = self.words[at].load(Ordering::Relaxed).to_le_bytes();
            at = (at + 1) & mask;
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
    }
}
