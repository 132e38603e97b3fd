//! Framing: `length u24 | sequence u8 | payload`, both ways.
//!
//! 1. A payload of 2^24-1 bytes or more travels in pieces; a piece shorter than that ends it.
//! 2. [`Inbox`] never grows for bytes that have not arrived: a header that announces much only makes room
//!    as data comes in, and a total above the limit is refused at its header.
//! 3. Buffers are counted as the session's memory from [`Inbox::keeps`] and [`Outbox::keeps`] on, within a command of the truth.
//! 4. What clients sent may have a password in it: a buffer is overwritten before it is given back, and a packet that has one as
//!    soon as it was taken ([`Inbox::overwrite`]).
//! 5. Sequence numbers start at zero with each command and must rise by one, in both directions together.

use instrument::Piece;
use zeroize::{Zeroize, optimization_barrier};

instrument::classes! {
    static BUFFERS: SessionMemory = "memory/sql/NET::buff";
}

/// Longest payload of one piece.
pub const PIECE_BYTES_MAX: usize = 0xFF_FFFF;
const HEADER_BYTES: usize = 4;
/// Room that a read is given.
const READ_BYTES: usize = 16 * 1024;
/// Buffers larger than this are given back when nothing lies in them.
const KEEP_BYTES: usize = 1024 * 1024;

/// Why the bytes of a client are no packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// The packet is larger than `max_allowed_packet`.
    TooLarge,
    /// A sequence number was skipped or repeated.
    OutOfOrder,
}

/// A packet in the [`Inbox`]: its place and sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    from: usize,
    len: usize,
    joined: bool,
    /// Sequence number of its last piece; of its last frame, where packets come in frames.
    pub seq: u8,
}

/// What a client sent and the server has not taken yet.
#[derive(Debug)]
#[repr(C)]
pub struct Inbox {
    buf: Vec<u8>,
    /// First byte not taken.
    start: usize,
    /// First byte not filled.
    end: usize,
    packet_bytes_max: usize,
    joining: bool,
    next_seq: u8,
    /// The number of the frame that comes next, where packets come in frames: see [`Inbox::is_framed`].
    next_frame: Option<u8>,
    /// Pieces of a packet that is not complete.
    joined: Vec<u8>,
    /// How much room `joined` had when it was told last.
    joined_room: usize,
    memory: Memory,
}

/// Memory of a buffer, once somebody has it counted.
#[derive(Debug, Default)]
struct Memory(Option<Piece>);

impl Memory {
    fn begin(&mut self) {
        self.0 = Some(Piece::new(&BUFFERS));
    }

    fn set(&mut self, bytes: usize) {
        if let Some(piece) = &mut self.0 {
            piece.set(bytes);
        }
    }
}

impl Inbox {
    /// An empty inbox that refuses packets above `packet_bytes_max`.
    pub fn new(packet_bytes_max: usize) -> Self {
        Self {
            buf: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            joined: Vec::new(),
            joining: false,
            next_seq: 0,
            next_frame: None,
            packet_bytes_max,
            joined_room: 0,
            memory: Memory::default(),
        }
    }

    /// Its memory is counted as that of the session that the calling thread runs for, from now on.
    pub fn keeps(&mut self) {
        self.memory.begin();
        self.tell();
    }

    /// Its memory is not counted any more: the session ends.
    pub fn keeps_nothing(&mut self) {
        self.memory = Memory::default();
    }

    fn tell(&mut self) {
        self.memory.set(self.buf.len() + self.joined.capacity());
    }

    /// The room for joined packets has changed.
    #[cold]
    fn tell_joined(&mut self) {
        self.tell();
        if self.joined.capacity() > KEEP_BYTES {
            give_back(&mut self.joined);
            self.tell();
        }
        self.joined_room = self.joined.capacity();
    }

    /// The client is silent: gives the buffers back, unless something lies in them.
    pub fn rest(&mut self) {
        if !self.is_inside_packet() {
            give_back(&mut self.buf);
            give_back(&mut self.joined);
            (self.start, self.end, self.joined_room) = (0, 0, 0);
            self.tell();
        }
    }

    /// Sets the limit; packets already taken are not affected.
    pub fn set_packet_bytes_max(&mut self, bytes: usize) {
        self.packet_bytes_max = bytes;
    }

    /// The next packet starts a command: its sequence number must be 0.
    #[inline]
    pub fn begin_command(&mut self) {
        self.next_seq = 0;
        if self.joined.capacity() != self.joined_room {
            self.tell_joined();
        }
    }

    /// The next packet must follow sequence number `seq` of the server.
    pub fn follow(&mut self, seq: u8) {
        self.next_seq = seq;
    }

    /// Packets come in frames that have numbers, which are looked at: those of packets may be any, as MySQL's own clients send
    /// them then, and an answer goes on with the number of the frame ([`Inbox::follow_frame`]), as MySQL's does.
    pub fn is_framed(&mut self) {
        self.next_frame = Some(0);
    }

    /// All that has come lies in frames below number `next`.
    #[cold]
    pub fn follow_frame(&mut self, next: u8) {
        self.next_frame = Some(next);
    }

    /// Whether nothing waits in the buffer.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether a packet has begun and is not complete.
    pub fn is_inside_packet(&self) -> bool {
        self.joining || self.start != self.end
    }

    /// Takes out what has arrived behind the packets that were taken: it is none.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buf[self.start..self.end].to_vec();
        (self.start, self.end) = (0, 0);
        rest
    }

    /// Room for the next read; call [`Inbox::filled`] with what came.
    ///
    /// Moves what is left to the front, so earlier [`Packet`]s become invalid.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buf.len() > KEEP_BYTES {
                give_back(&mut self.buf);
                self.buf = vec![0; READ_BYTES];
                self.tell();
            }
        }
        if self.buf.len() - self.end < READ_BYTES / 2 {
            self.make_room();
        }
        &mut self.buf[self.end..]
    }

    #[cold]
    fn make_room(&mut self) {
        self.buf.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buf.len() - self.end < READ_BYTES / 2 {
            // Doubling keeps the moves linear; the client has paid for it with real bytes.
            let mut larger = vec![0; (self.buf.len() * 2).max(READ_BYTES)];
            larger[..self.end].copy_from_slice(&self.buf[..self.end]);
            give_back(&mut self.buf);
            self.buf = larger;
            self.tell();
        }
    }

    /// Tells how many bytes were read into [`Inbox::space`].
    #[inline]
    pub fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.buf.len());
    }

    /// Adds bytes, for tests and in-process clients.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            self.filled(n);
            bytes = &bytes[n..];
        }
    }

    /// The next whole packet, or none yet.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet>, FrameError> {
        loop {
            let have = &self.buf[self.start..self.end];
            let [a, b, c, seq, ..] = *have else { return Ok(None) };
            let len = u32::from_le_bytes([a, b, c, 0]) as usize;
            if seq != self.next_seq && self.next_frame.is_none() {
                return Err(FrameError::OutOfOrder);
            }
            if self.joined_len() + len > self.packet_bytes_max {
                return Err(FrameError::TooLarge);
            }
            if have.len() < HEADER_BYTES + len {
                return Ok(None);
            }
            let from = self.start + HEADER_BYTES;
            self.start = from + len;
            self.next_seq = seq.wrapping_add(1);
            let seq = self.next_frame.map_or(seq, |next| next.wrapping_sub(1));
            if len < PIECE_BYTES_MAX && !self.joining {
                return Ok(Some(Packet { from, len, joined: false, seq }));
            }
            if let Some(packet) = self.join(from, len, seq) {
                return Ok(Some(packet));
            }
        }
    }

    fn joined_len(&self) -> usize {
        if self.joining { self.joined.len() } else { 0 }
    }

    #[cold]
    fn join(&mut self, from: usize, len: usize, seq: u8) -> Option<Packet> {
        if !self.joining {
            self.joined.clear();
        }
        self.joined.extend_from_slice(&self.buf[from..from + len]);
        self.joining = len == PIECE_BYTES_MAX;
        (!self.joining).then_some(Packet { from: 0, len: self.joined.len(), joined: true, seq })
    }

    /// The bytes of a packet; valid until the next [`Inbox::space`] or [`Inbox::next_packet`].
    #[inline]
    pub fn payload(&self, p: Packet) -> &[u8] {
        let bytes = if p.joined { &self.joined } else { &self.buf };
        &bytes[p.from..p.from + p.len]
    }

    /// Overwrites a packet that was taken.
    #[cold]
    pub fn overwrite(&mut self, p: Packet) {
        let bytes = if p.joined { &mut self.joined } else { &mut self.buf };
        bytes[p.from..p.from + p.len].zeroize();
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        give_back(&mut self.buf);
        give_back(&mut self.joined);
    }
}

/// Gives a buffer back, with nothing in it.
#[cold]
fn give_back(bytes: &mut Vec<u8>) {
    let mut old = std::mem::take(bytes);
    old.fill(0);
    // Else it is known that nobody reads it.
    optimization_barrier(&old[..]);
}

/// What the server will send, as one reusable buffer.
#[derive(Debug)]
#[repr(C)]
pub struct Outbox {
    buf: Vec<u8>,
    /// Where the open packet's header is.
    open: usize,
    seq: u8,
    /// How much room the buffer had when it was told last.
    room: usize,
    memory: Memory,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Outbox {
    /// An empty outbox with room for an ordinary reply.
    pub fn new() -> Self {
        let buf = Vec::with_capacity(READ_BYTES);
        Self { room: buf.capacity(), buf, open: 0, seq: 0, memory: Memory::default() }
    }

    /// Its memory is counted as that of the session that the calling thread runs for, from now on.
    pub fn keeps(&mut self) {
        self.memory.begin();
        self.tell();
    }

    /// Its memory is not counted any more: the session ends.
    pub fn keeps_nothing(&mut self) {
        self.memory = Memory::default();
    }

    /// The room for what is sent has changed.
    #[cold]
    fn tell(&mut self) {
        self.memory.set(self.buf.capacity());
        if self.buf.is_empty() && self.buf.capacity() > KEEP_BYTES {
            self.buf = Vec::with_capacity(READ_BYTES);
            self.memory.set(self.buf.capacity());
        }
        self.room = self.buf.capacity();
    }

    /// The client is silent: gives the buffer back, unless something lies in it.
    pub fn rest(&mut self) {
        if self.buf.is_empty() {
            self.buf = Vec::new();
            self.memory.set(0);
            self.room = 0;
        }
    }

    /// Sets the sequence number of the next packet.
    #[inline]
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// Sequence number of the next packet.
    #[inline]
    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Starts a packet; its payload goes into the returned buffer.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.open = self.buf.len();
        self.buf.extend_from_slice(&[0; HEADER_BYTES]);
        &mut self.buf
    }

    /// As [`Outbox::begin`], with `N` zero bytes, which are fewer than a packet's first piece has.
    #[inline]
    pub(crate) fn begin_zeroed<const N: usize>(&mut self) -> &mut Vec<u8> {
        self.open = self.buf.len();
        self.buf.reserve(HEADER_BYTES + N);
        self.buf.extend_from_slice(&[0; HEADER_BYTES]);
        self.buf.extend_from_slice(&[0; N]);
        &mut self.buf
    }

    /// The buffer, to append to the open packet.
    #[inline]
    pub fn body(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    /// Offset of the open packet's first payload byte.
    #[inline]
    pub fn body_at(&self) -> usize {
        self.open + HEADER_BYTES
    }

    /// Ends the open packet: writes its header, splits it when it is too long for one piece.
    #[inline]
    pub fn end(&mut self) {
        let len = self.buf.len() - self.open - HEADER_BYTES;
        if len >= PIECE_BYTES_MAX {
            return self.end_long(len);
        }
        let header = (len as u32 | u32::from(self.seq) << 24).to_le_bytes();
        self.buf[self.open..self.open + HEADER_BYTES].copy_from_slice(&header);
        self.seq = self.seq.wrapping_add(1);
    }

    /// Appends a packet as a whole, its header before it: `packet` begins with room for that.
    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, mut packet: [u8; N]) {
        const { assert!(N > HEADER_BYTES && N < PIECE_BYTES_MAX) };
        let header = ((N - HEADER_BYTES) as u32 | u32::from(self.seq) << 24).to_le_bytes();
        packet[..HEADER_BYTES].copy_from_slice(&header);
        self.buf.extend_from_slice(&packet);
        self.seq = self.seq.wrapping_add(1);
    }

    #[cold]
    fn end_long(&mut self, len: usize) {
        let payload = self.buf.split_off(self.open)[HEADER_BYTES..].to_vec();
        debug_assert_eq!(payload.len(), len);
        let mut rest = payload.as_slice();
        loop {
            let n = rest.len().min(PIECE_BYTES_MAX);
            let (piece, after) = rest.split_at(n);
            let header = (n as u32 | u32::from(self.seq) << 24).to_le_bytes();
            self.buf.extend_from_slice(&header);
            self.buf.extend_from_slice(piece);
            self.seq = self.seq.wrapping_add(1);
            rest = after;
            // A full last piece is followed by an empty one.
            if n < PIECE_BYTES_MAX {
                return;
            }
        }
    }

    /// Forgets the open packet, as if [`Outbox::begin`] had not been called.
    pub fn abandon(&mut self) {
        self.buf.truncate(self.open);
    }

    /// Appends packets that were serialised before (column definitions of a cached plan), giving each the
    /// next sequence number. `packets` must consist of whole packets of one piece each.
    #[inline]
    pub fn replay(&mut self, packets: &[u8]) {
        let mut at = self.buf.len();
        self.buf.extend_from_slice(packets);
        while let Some(&[a, b, c, _]) = self
            .buf
            .get(at..at + HEADER_BYTES)
            .map(|h| <&[u8; HEADER_BYTES]>::try_from(h).expect("the slice has the header's length"))
        {
            self.buf[at + 3] = self.seq;
            self.seq = self.seq.wrapping_add(1);
            at += HEADER_BYTES + u32::from_le_bytes([a, b, c, 0]) as usize;
        }
    }

    /// Everything written and not sent.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Number of bytes written and not sent.
    #[inline]
    pub fn len(&self) -> usize {
        self.buf.len()
    }

    /// Whether nothing is to be sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    /// Cuts back to `len` bytes and sequence number `seq`, to replace a half-written reply by an error.
    pub fn rewind(&mut self, len: usize, seq: u8) {
        self.buf.truncate(len);
        self.seq = seq;
    }

    /// Everything was sent.
    #[inline]
    pub fn clear(&mut self) {
        self.buf.clear();
        if self.buf.capacity() != self.room {
            self.tell();
        }
    }
}

#[cfg(test)]
mod tests;
