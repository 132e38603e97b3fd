//! The compressed protocol: frames `length u24 | sequence u8 | length when clear u24 | payload` around the bytes of packets.
//!
//! 1. What a frame says of itself is never believed: it is expanded as far as somebody takes its bytes, so that a frame which
//! claims 16 MB costs the memory of a reader's buffer ([`INPUT_BYTES`]) and of the algorithm's window. 2. It ends with an error
//! if it has more or fewer bytes than it says, or bytes behind its end. 3. Frames are numbered across both directions and begin
//! anew with each command; packets inside need not end where frames do, and the first of an answer has the number of its frame.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use std::io;
use zstd::stream::raw::{DParameter, Decoder, Operation};
use zstd::zstd_safe::{CCtx, CParameter};

/// Bytes that are read ahead of what is taken.
pub const INPUT_BYTES: usize = 16 * 1024;
/// Bytes that one frame can have. Clients take it for granted that a packet goes on only where a frame is full.
const PIECE_BYTES: usize = 0xFF_FFFF;
/// A larger buffer for what is sent is given back.
const KEEP_BYTES: usize = 1 << 20;
/// Shorter pieces are sent as they are, as MySQL does it.
const PACKED_BYTES_MIN: usize = 50;
const HEADER_BYTES: usize = 7;
/// A frame has less than 16 MB, so no window has to be larger.
const WINDOW_LOG_MAX: u32 = 24;
/// Levels above this one would take hundreds of megabytes for a large piece: their tables are kept small.
const LEVEL_UNBOUNDED: u8 = 9;
/// Binary logarithm of what they may look back, and of their tables' entries.
const BOUNDED_LOG: u32 = 20;
/// The level of zlib, which is not negotiated.
const ZLIB_LEVEL: u8 = 6;

/// How a connection is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// By zlib.
    Zlib,
    /// By zstd, at this level.
    Zstd(u8),
}

impl Algorithm {
    /// The levels of zstd.
    pub const ZSTD_LEVELS: std::ops::RangeInclusive<u8> = 1..=22;

    /// Its name in `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd(_) => "zstd",
        }
    }

    /// How hard it tries.
    pub fn level(self) -> u8 {
        match self {
            Algorithm::Zlib => ZLIB_LEVEL,
            Algorithm::Zstd(level) => level,
        }
    }
}

/// Whether a text is a value of `protocol_compression_algorithms`: up to three of its words.
pub fn is_list(text: &str) -> bool {
    const WORDS: [&str; 3] = ["zlib", "zstd", "uncompressed"];
    let words: Vec<&str> = text.split(',').collect();
    words.len() <= WORDS.len() && words.iter().all(|word| WORDS.contains(word))
}

/// Why what a client sent cannot be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A frame's number is neither the next one nor 0.
    OutOfOrder,
    /// A frame is not what it says.
    NotExpanded,
}

/// Why nothing more can be read.
#[derive(Debug)]
pub enum ReadError<E> {
    /// Whoever has the bytes failed.
    Source(E),
    /// The bytes are no frames.
    Broken(Broken),
}

/// A frame that is being taken.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Bytes of it that have not been looked at.
    packed_left: usize,
    /// Bytes that it still has to give; `None`: it is not compressed.
    clear_left: Option<usize>,
    /// The algorithm has said that there is no more.
    has_ended: bool,
}

/// What expands, made when it is needed first.
enum Expander {
    Zlib(Box<Decompress>),
    Zstd(Box<Decoder<'static>>),
}

/// What packs, made when it is needed first.
enum Packer {
    Zlib(Box<Compress>),
    Zstd(CCtx<'static>),
}

/// The compressed form of a connection's bytes.
pub struct Compressed {
    algorithm: Algorithm,
    input: Vec<u8>,
    start: usize,
    end: usize,
    frame: Option<Frame>,
    expander: Option<Expander>,
    packer: Option<Packer>,
    output: Vec<u8>,
    next_seq: u8,
}

impl std::fmt::Debug for Compressed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressed").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl Compressed {
    /// A connection that is compressed from now on; `early`: what came of it already.
    pub fn new(algorithm: Algorithm, early: Vec<u8>) -> Self {
        let end = early.len();
        let mut input = early;
        input.resize(end.max(INPUT_BYTES), 0);
        Self {
            algorithm,
            input,
            start: 0,
            end,
            frame: None,
            expander: None,
            packer: None,
            output: Vec::new(),
            next_seq: 0,
        }
    }

    /// Gives back what is made again when it is needed.
    pub fn rest(&mut self) {
        if self.frame.is_none() {
            self.expander = None;
        }
        (self.packer, self.output) = (None, Vec::new());
    }

    /// Takes what is there; reads from `source` only when nothing is. None: the source has ended.
    ///
    /// # Errors
    /// Those of the source; what it gave is no frame.
    pub fn read<E>(
        &mut self,
        into: &mut [u8],
        mut source: impl FnMut(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, ReadError<E>> {
        loop {
            match self.take(into).map_err(ReadError::Broken)? {
                0 if into.is_empty() => return Ok(0),
                0 => {}
                n => return Ok(n),
            }
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            match source(&mut self.input[self.end..]).map_err(ReadError::Source)? {
                0 => return Ok(0),
                n => self.end = (self.end + n).min(self.input.len()),
            }
        }
    }

    /// What can be had of the bytes that have been read; none: there must be more of them.
    fn take(&mut self, into: &mut [u8]) -> Result<usize, Broken> {
        loop {
            let Some(frame) = self.frame else {
                if !self.begin_frame()? {
                    return Ok(0);
                }
                continue;
            };
            let have = frame.packed_left.min(self.end - self.start);
            let (used, made) = match frame.clear_left {
                None => {
                    let n = have.min(into.len());
                    into[..n].copy_from_slice(&self.input[self.start..self.start + n]);
                    (n, n)
                }
                Some(left) => self.expand(have, left, into)?,
            };
            self.start += used;
            let frame = self.frame.as_mut().ok_or(Broken::NotExpanded)?;
            frame.packed_left -= used;
            frame.clear_left = frame.clear_left.map(|left| left - made);
            let (packed, clear) = (frame.packed_left, frame.clear_left.unwrap_or(0));
            if packed == 0 && clear == 0 && (frame.clear_left.is_none() || frame.has_ended) {
                self.frame = None;
            }
            if made > 0 {
                return Ok(made);
            }
            if used == 0 {
                // There are all its bytes, and nothing comes of them.
                let stuck = self.frame.is_some() && packed == have && !into.is_empty();
                return if stuck { Err(Broken::NotExpanded) } else { Ok(0) };
            }
        }
    }

    /// Reads the header of a frame; false: it has not come as a whole.
    fn begin_frame(&mut self) -> Result<bool, Broken> {
        let have = &self.input[self.start..self.end];
        let [a, b, c, seq, d, e, f, ..] = *have else { return Ok(false) };
        let number = |low, middle, high| u32::from_le_bytes([low, middle, high, 0]) as usize;
        if seq != self.next_seq && seq != 0 {
            return Err(Broken::OutOfOrder);
        }
        self.next_seq = seq.wrapping_add(1);
        let (packed_left, clear) = (number(a, b, c), number(d, e, f));
        if packed_left == 0 {
            return Err(Broken::NotExpanded);
        }
        self.start += HEADER_BYTES;
        let clear_left = (clear != 0).then_some(clear);
        self.frame = Some(Frame { packed_left, clear_left, has_ended: false });
        match &mut self.expander {
            Some(Expander::Zlib(zlib)) => zlib.reset(true),
            Some(Expander::Zstd(zstd)) => zstd.reinit().map_err(|_| Broken::NotExpanded)?,
            None => {}
        }
        Ok(true)
    }

    /// Expands some of `have` bytes of a frame, which has to give `left` more: how many were used and made.
    fn expand(
        &mut self,
        have: usize,
        left: usize,
        into: &mut [u8],
    ) -> Result<(usize, usize), Broken> {
        let input = &self.input[self.start..self.start + have];
        // Behind the last byte there may be a checksum, and must not be another byte.
        let mut beyond = [0];
        let ends = left == 0;
        let room = into.len().min(left);
        let out = if ends { &mut beyond[..] } else { &mut into[..room] };
        let has_ended = self.frame.is_some_and(|frame| frame.has_ended);
        if has_ended {
            return Err(Broken::NotExpanded);
        }
        let expander = match &mut self.expander {
            Some(expander) => expander,
            none => none.insert(Expander::new(self.algorithm)?),
        };
        let (used, made, ended) = expander.run(input, out)?;
        if let Some(frame) = &mut self.frame {
            frame.has_ended = ended;
        }
        match (ends, made, ended && made < left) {
            (true, 1.., _) | (false, _, true) => Err(Broken::NotExpanded),
            (true, 0, _) => Ok((used, 0)),
            (false, ..) => Ok((used, made)),
        }
    }

    /// The next frame that is written has this number: a client begins a command.
    pub fn begin(&mut self, seq: u8) {
        self.next_seq = seq;
    }

    /// The number of the next frame, whichever side sends it.
    pub fn next_frame(&self) -> u8 {
        self.next_seq
    }

    /// Sends bytes as frames.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn write(
        &mut self,
        bytes: &[u8],
        mut send: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.pack(piece)?;
            send(&self.output)?;
        }
        if self.output.capacity() > KEEP_BYTES {
            self.output = Vec::new();
        }
        Ok(())
    }

    /// Makes a frame of a piece.
    fn pack(&mut self, piece: &[u8]) -> io::Result<()> {
        self.output.clear();
        self.output.extend_from_slice(&[0; HEADER_BYTES]);
        let packed = piece.len() >= PACKED_BYTES_MIN && self.pack_into_output(piece)?;
        if !packed {
            self.output.truncate(HEADER_BYTES);
            self.output.extend_from_slice(piece);
        }
        let len = (self.output.len() - HEADER_BYTES) as u32;
        let clear = if packed { piece.len() as u32 } else { 0 };
        self.output[..3].copy_from_slice(&len.to_le_bytes()[..3]);
        self.output[3] = self.next_seq;
        self.output[4..HEADER_BYTES].copy_from_slice(&clear.to_le_bytes()[..3]);
        self.next_seq = self.next_seq.wrapping_add(1);
        Ok(())
    }

    /// Whether the packed form, which is behind the header then, is the shorter one.
    fn pack_into_output(&mut self, piece: &[u8]) -> io::Result<bool> {
        let packer = match &mut self.packer {
            Some(packer) => packer,
            none => none.insert(Packer::new(self.algorithm)?),
        };
        // What is not shorter than the piece is not wanted.
        self.output.resize(HEADER_BYTES + piece.len() - 1, 0);
        let made = packer.run(piece, &mut self.output[HEADER_BYTES..])?;
        if let Some(made) = made {
            self.output.truncate(HEADER_BYTES + made);
        }
        Ok(made.is_some())
    }
}

impl Expander {
    fn new(algorithm: Algorithm) -> Result<Expander, Broken> {
        Ok(match algorithm {
            Algorithm::Zlib => Expander::Zlib(Box::new(Decompress::new(true))),
            Algorithm::Zstd(_) => {
                let mut zstd = Decoder::new().map_err(|_| Broken::NotExpanded)?;
                let limit = DParameter::WindowLogMax(WINDOW_LOG_MAX);
                zstd.set_parameter(limit).map_err(|_| Broken::NotExpanded)?;
                Expander::Zstd(Box::new(zstd))
            }
        })
    }

    /// How many bytes were used and made, and whether the end has come.
    fn run(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize, bool), Broken> {
        match self {
            Expander::Zlib(zlib) => {
                let before = (zlib.total_in(), zlib.total_out());
                let status = zlib.decompress(input, out, FlushDecompress::None);
                let status = status.map_err(|_| Broken::NotExpanded)?;
                let used = (zlib.total_in() - before.0) as usize;
                let made = (zlib.total_out() - before.1) as usize;
                Ok((used, made, status == Status::StreamEnd))
            }
            Expander::Zstd(zstd) => {
                let status = zstd.run_on_buffers(input, out).map_err(|_| Broken::NotExpanded)?;
                Ok((status.bytes_read, status.bytes_written, status.remaining == 0))
            }
        }
    }
}

impl Packer {
    fn new(algorithm: Algorithm) -> io::Result<Packer> {
        Ok(match algorithm {
            Algorithm::Zlib => {
                let level = flate2::Compression::new(ZLIB_LEVEL.into());
                Packer::Zlib(Box::new(Compress::new(level, true)))
            }
            Algorithm::Zstd(level) => {
                let mut zstd = CCtx::create();
                zstd.set_parameter(CParameter::CompressionLevel(level.into())).map_err(failed)?;
                if level > LEVEL_UNBOUNDED {
                    for bound in [
                        CParameter::WindowLog(BOUNDED_LOG),
                        CParameter::HashLog(BOUNDED_LOG),
                        CParameter::ChainLog(BOUNDED_LOG),
                    ] {
                        zstd.set_parameter(bound).map_err(failed)?;
                    }
                }
                Packer::Zstd(zstd)
            }
        })
    }

    /// How many bytes were made; `None`: there is no room for them.
    fn run(&mut self, input: &[u8], out: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Packer::Zlib(zlib) => {
                zlib.reset();
                let status = zlib.compress(input, out, FlushCompress::Finish)?;
                Ok((status == Status::StreamEnd).then(|| zlib.total_out() as usize))
            }
            // The only error of a context whose level is one is that there is no room.
            Packer::Zstd(zstd) => Ok(zstd.compress2(out, input).ok()),
        }
    }
}

fn failed(code: usize) -> io::Error {
    io::Error::other(zstd::zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests;
