//! The frame around one mini-transaction's redo.
//!
//! 1. `frame = len u32 | crc32c u32 | lsn u64 | incarnation u32 | 0 u32 | body | zeros to 8`; little-endian;
//!    `len` is the body's length, never 0; a frame starts at a multiple of 8. Guard:
//!    `a_frame_is_bound_to_its_place_log_and_incarnation`.
//! 2. The checksum covers the body, length, LSN, incarnation and the log's random id. So neither zeros, nor an
//!    earlier lap, nor another log's file, nor a client's row that imitates a frame passes for a frame at a
//!    place where it was not written. Guard: as 1.
//! 3. The incarnation grows with each opening. A frame left over beyond the tail that recovery found carries an
//!    older one, and is refused even where a new frame happens to end. Guard:
//!    `leftovers_beyond_the_tail_are_never_taken_for_new_log`.

use crc_fast::CrcAlgorithm;
use stdx::crc;

/// Bytes in front of the body.
pub(crate) const HEADER_BYTES: usize = 24;
/// Frames start at multiples of this.
pub(crate) const ALIGN_BYTES: usize = 8;

/// What makes frames of one log and one opening recognisable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub log_id: u64,
    pub incarnation: u32,
}

/// A parsed header; nothing is believed before [`Header::matches`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub body_bytes: u32,
    pub crc: u32,
    pub lsn: u64,
    pub incarnation: u32,
    reserved: u32,
}

/// Bytes of a whole frame around a body.
pub(crate) const fn frame_bytes(body_bytes: usize) -> usize {
    (HEADER_BYTES + body_bytes).next_multiple_of(ALIGN_BYTES)
}

/// The length of the body of a frame that begins with `header`.
pub(crate) fn body_bytes(header: [u8; ALIGN_BYTES]) -> usize {
    let [a, b, c, d, ..] = header;
    u32::from_le_bytes([a, b, c, d]) as usize
}

/// From so many bytes on what works on several words at once is faster than one instruction a word.
const LONG_BYTES: usize = 1024;

/// The state of the checksum behind the body: the part that needs no LSN, computed before the reservation.
pub(crate) fn digest(body: &[u8]) -> u32 {
    if body.len() < LONG_BYTES && crc::is_fast() {
        return crc::update(crc::START, body);
    }
    crc::finish(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, body) as u32)
}

fn finish(digest: u32, body_bytes: u32, lsn: u64, key: Key) -> u32 {
    let mut place = [0u8; 24];
    place[..4].copy_from_slice(&body_bytes.to_le_bytes());
    place[4..12].copy_from_slice(&lsn.to_le_bytes());
    place[12..16].copy_from_slice(&key.incarnation.to_le_bytes());
    place[16..].copy_from_slice(&key.log_id.to_le_bytes());
    crc::finish(crc::update(digest, &place))
}

/// The header of a frame at `lsn`.
pub(crate) fn header(digest: u32, body_bytes: u32, lsn: u64, key: Key) -> [u8; HEADER_BYTES] {
    let crc = finish(digest, body_bytes, lsn, key);
    let mut out = [0u8; HEADER_BYTES];
    out[..4].copy_from_slice(&body_bytes.to_le_bytes());
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out[8..16].copy_from_slice(&lsn.to_le_bytes());
    out[16..20].copy_from_slice(&key.incarnation.to_le_bytes());
    out
}

impl Header {
    pub(crate) fn parse(b: &[u8; HEADER_BYTES]) -> Header {
        let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        Header {
            body_bytes: word(0),
            crc: word(4),
            lsn: u64::from(word(8)) | u64::from(word(12)) << 32,
            incarnation: word(16),
            reserved: word(20),
        }
    }

    /// Whether this may be the header of a frame at `lsn`; the body is not looked at.
    pub(crate) fn plausible(&self, lsn: u64, body_bytes_max: u64) -> bool {
        self.lsn == lsn
            && self.body_bytes != 0
            && u64::from(self.body_bytes) <= body_bytes_max
            && self.reserved == 0
    }

    /// Whether the checksum holds.
    pub(crate) fn matches(&self, body: &[u8], log_id: u64) -> bool {
        let key = Key { log_id, incarnation: self.incarnation };
        finish(digest(body), self.body_bytes, self.lsn, key) == self.crc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_bound_to_its_place_log_and_incarnation() {
        let key = Key { log_id: 5, incarnation: 3 };
        let body = b"redo";
        let raw = header(digest(body), 4, 4096, key);
        let parsed = Header::parse(&raw);
        assert!(parsed.plausible(4096, 100) && parsed.matches(body, 5));
        assert!(!parsed.plausible(8192, 100), "another place");
        assert!(!parsed.plausible(4096, 3), "too long");
        assert!(!parsed.matches(body, 6), "another log");
        assert!(!parsed.matches(b"rEdo", 5), "another body");
        for (at, what) in [(0, "length"), (8, "lsn"), (16, "incarnation")] {
            let mut bad = raw;
            bad[at] ^= 1;
            assert!(!Header::parse(&bad).matches(body, 5), "{what} is covered");
        }
        assert!(!Header::parse(&[0; HEADER_BYTES]).plausible(0, 100), "zeros are no frame");
    }

    #[test]
    fn bodies_of_all_lengths_have_the_checksum_of_their_bytes() {
        let key = Key { log_id: 5, incarnation: 3 };
        for n in [1, 7, 8, 9, LONG_BYTES - 1, LONG_BYTES, LONG_BYTES + 1, 5000] {
            let body: Vec<u8> = (0..n).map(|i| (i * 31 % 251) as u8).collect();
            let all = [&body[..], &(n as u32).to_le_bytes(), &77u64.to_le_bytes()];
            let all = [&all.concat()[..], &3u32.to_le_bytes(), &5u64.to_le_bytes()].concat();
            let crc = crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, &all) as u32;
            assert_eq!(finish(digest(&body), n as u32, 77, key), crc, "{n}");
        }
    }
}
