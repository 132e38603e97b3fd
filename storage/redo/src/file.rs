//! One redo file, `redo/#ib_redoN`: a header block, then a range of the log.
//!
//! 1. The header names the log's id, the file's number, its first LSN and how much log it holds: a file of
//!    another log, of a newer or older format, damaged, or under another file's name is refused with a
//!    sentence. Guard: `RedoFile::open`; `every_flipped_bit_of_a_header_is_noticed` and its neighbours in
//!    `tests/bad_files.rs`.
//! 2. A file of that name always has a whole header and all its room: it is filled with zeros, given its header
//!    and synced under the name `#ib_redoN_tmp`, and renamed afterwards. What has a name in `_tmp` is room and
//!    nothing else; nobody reads it. Guard: `a_creation_cut_short_anywhere_can_be_repeated`,
//!    `crashes_in_the_middle_of_switching_recycling_and_resizing`, `spares_are_room_whatever_is_in_them`.
//! 3. Files are filled with zeros when they are made, so a later write allocates nothing and its `fdatasync`
//!    has no metadata to journal, and the disk cannot be full. Guard:
//!    `a_full_disk_is_no_trouble_for_a_log_whose_files_are_made`.

use std::sync::Arc;

use base::{Error, FORMAT_VERSION, Result};
use crc_fast::{CrcAlgorithm, checksum};
use host::{AlignedBuf, BLOCK_BYTES, Disk, File, OpenMode};
use stdx::bytes::{Put, Reader, Truncated};

pub(crate) const FOLDER: &str = "redo";
const PREFIX: &str = "redo/#ib_redo";
const SPARE_SUFFIX: &str = "_tmp";
const MAGIC: [u8; 8] = *b"LIMPIDRL";
const COVERED_FROM: usize = 12;
pub(crate) const BLOCK: u64 = BLOCK_BYTES as u64;
/// Bytes in front of a file's log.
pub(crate) const HEADER_BYTES: u64 = BLOCK;
/// Bytes of one write while a file is filled with zeros.
const FILL_BYTES: u64 = 1 << 20;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub log_id: u64,
    pub number: u64,
    pub start: u64,
    /// Log bytes, without the header.
    pub bytes: u64,
}

impl Identity {
    pub(crate) fn encode(&self) -> AlignedBuf {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.put_u32_le(0);
        out.put_u32_le(FORMAT_VERSION);
        out.put_u64_le(self.log_id);
        out.put_u64_le(self.number);
        out.put_u64_le(self.start);
        out.put_u64_le(self.bytes);
        let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
        block[..out.len()].copy_from_slice(&out);
        let crc = checksum(CrcAlgorithm::Crc32Iscsi, &block[COVERED_FROM..]) as u32;
        block[8..COVERED_FROM].copy_from_slice(&crc.to_le_bytes());
        block
    }

    fn decode(block: &[u8]) -> std::result::Result<Identity, String> {
        let cut = |_: Truncated| String::from("its header is cut off");
        let mut r = Reader::new(block);
        if r.take(MAGIC.len()).map_err(cut)? != MAGIC {
            return Err("this is no redo file of Limpid".to_string());
        }
        let crc = r.u32_le().map_err(cut)?;
        if crc != checksum(CrcAlgorithm::Crc32Iscsi, &block[COVERED_FROM..]) as u32 {
            return Err("its header is damaged".to_string());
        }
        check_format(r.u32_le().map_err(cut)?)?;
        let identity = Identity {
            log_id: r.u64_le().map_err(cut)?,
            number: r.u64_le().map_err(cut)?,
            start: r.u64_le().map_err(cut)?,
            bytes: r.u64_le().map_err(cut)?,
        };
        let Identity { start, bytes, .. } = identity;
        let sane = start.is_multiple_of(BLOCK)
            && bytes.is_multiple_of(BLOCK)
            && (1..=1 << 50).contains(&bytes)
            && start <= 1 << 62;
        if sane { Ok(identity) } else { Err("its header is damaged".to_string()) }
    }
}

/// Whether this server reads the format; the sentence otherwise.
pub(crate) fn check_format(format: u32) -> std::result::Result<(), String> {
    let ours = FORMAT_VERSION;
    match format.cmp(&ours) {
        std::cmp::Ordering::Greater => {
            Err(format!("format version {format} is newer than this server's {ours}"))
        }
        std::cmp::Ordering::Less => {
            Err(format!("format version {format} is older than this server's {ours}"))
        }
        std::cmp::Ordering::Equal => Ok(()),
    }
}

/// The name of file `number`.
pub(crate) fn name(number: u64) -> String {
    format!("{PREFIX}{number}")
}

/// The name of room for a file to come.
pub(crate) fn spare_name(number: u64) -> String {
    format!("{PREFIX}{number}{SPARE_SUFFIX}")
}

/// The number in a file's name, and whether it is a spare's; `None` for other files.
pub(crate) fn parse_name(name: &str) -> Option<(u64, bool)> {
    let rest = name.strip_prefix(PREFIX)?;
    let (digits, spare) = match rest.strip_suffix(SPARE_SUFFIX) {
        Some(digits) => (digits, true),
        None => (rest, false),
    };
    let number = digits.parse().ok()?;
    // Not `+7` or `007`: each file has one name.
    (format!("{number}") == digits).then_some((number, spare))
}

/// An open file: the log from `start` to `end`.
pub(crate) struct RedoFile {
    pub number: u64,
    pub start: u64,
    pub end: u64,
    pub file: Arc<dyn File>,
}

impl RedoFile {
    /// Log bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Bytes on disk.
    pub(crate) fn size(&self) -> u64 {
        HEADER_BYTES + self.bytes()
    }

    pub(crate) fn name(&self) -> String {
        name(self.number)
    }

    /// Opens file `number` and checks that it is what its name says.
    pub(crate) fn open(disk: &dyn Disk, log_id: u64, number: u64) -> Result<RedoFile> {
        let name = name(number);
        let io = |op| {
            let name = name.clone();
            move |e| Error::io(op, name, e)
        };
        let file = disk.open(&name, OpenMode::ReadWrite).map_err(|e| {
            if e.kind() != std::io::ErrorKind::NotFound {
                return Error::io("open", name.clone(), e);
            }
            let what = "this redo file is missing, and recovery needs it".to_string();
            Error::Foreign { path: name.clone(), what }
        })?;
        let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
        let got = file.read_at(&mut block, 0).map_err(io("read"))?;
        block[got..].fill(0);
        let length = file.len().map_err(io("measure"))?;
        let checked = Identity::decode(&block).and_then(|found| {
            if found.log_id != log_id {
                return Err("it belongs to another redo log".to_string());
            }
            if found.number != number {
                return Err(format!("it is a copy of file {} under another name", found.number));
            }
            let expected = HEADER_BYTES + found.bytes;
            if length < expected {
                return Err(format!("it has {length} bytes instead of {expected}"));
            }
            Ok(found)
        });
        match checked {
            Ok(Identity { start, bytes, .. }) => {
                Ok(RedoFile { number, start, end: start + bytes, file })
            }
            Err(what) => Err(Error::Foreign { path: name, what }),
        }
    }

    /// Writes and syncs the header.
    pub(crate) fn write_header(&self, log_id: u64) -> Result<()> {
        let identity =
            Identity { log_id, number: self.number, start: self.start, bytes: self.bytes() };
        let io = |op| move |e| Error::io(op, self.name(), e);
        self.file.write_at(&identity.encode(), 0).map_err(io("write"))?;
        self.file.sync_data().map_err(io("fdatasync"))
    }
}

/// A file full of zeros, or of log that nobody needs any more, and room for a header.
pub(crate) struct Spare {
    pub number: u64,
    /// Log bytes that it has room for.
    pub bytes: u64,
    pub file: Arc<dyn File>,
}

impl Spare {
    pub(crate) fn name(&self) -> String {
        spare_name(self.number)
    }

    /// Bytes on disk.
    pub(crate) fn size(&self) -> u64 {
        HEADER_BYTES + self.bytes
    }

    /// Makes the file and fills it. [`Error::NoSpace`] when it does not fit on the disk: nothing
    /// of it stays then.
    pub(crate) fn create(disk: &dyn Disk, number: u64, bytes: u64) -> Result<Spare> {
        let name = spare_name(number);
        fill(disk, &name, HEADER_BYTES + bytes).map(|file| Spare { number, bytes, file }).map_err(
            |e| {
                // Give the room back: a disk that is full shall not stay full for our sake.
                let _ = disk.remove(&name);
                if e.kind() == std::io::ErrorKind::StorageFull {
                    return Error::NoSpace { path: name };
                }
                Error::io("create", name, e)
            },
        )
    }
}

fn fill(disk: &dyn Disk, name: &str, bytes: u64) -> std::io::Result<Arc<dyn File>> {
    if disk.exists(name)? {
        disk.remove(name)?;
    }
    let file = disk.open(name, OpenMode::Create)?;
    let zeros = AlignedBuf::zeroed(FILL_BYTES.min(bytes) as usize);
    let mut at = 0;
    while at < bytes {
        let part = (bytes - at).min(zeros.len() as u64);
        file.write_at(&zeros[..part as usize], at)?;
        at += part;
    }
    file.sync_data()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_one_name() {
        assert_eq!(parse_name("redo/#ib_redo7"), Some((7, false)));
        assert_eq!(parse_name("redo/#ib_redo0_tmp"), Some((0, true)));
        for other in ["redo/control", "redo/#ib_redo", "redo/#ib_redo07", "redo/#ib_redo+7", "x"] {
            assert_eq!(parse_name(other), None, "{other}");
        }
        assert_eq!(parse_name(&name(12)), Some((12, false)));
        assert_eq!(parse_name(&spare_name(12)), Some((12, true)));
    }
}
