//! The control file `redo/control`: where recovery starts.
//!
//! 1. Two blocks of 4096 bytes, written and synced one after the other, so at every moment one of them is
//!    whole. Log space is given up only after both are durable: either block alone is a valid start. They
//!    differ only in the durable mark, which may be written into one of them. Guard:
//!    `one_damaged_control_block_is_survived_two_are_refused`,
//!    `crashes_in_the_middle_of_switching_recycling_and_resizing`.
//! 2. A block is `magic | crc32c | format | fields`; the checksum covers everything after itself. Guard:
//!    `every_flipped_bit_of_a_control_block_is_noticed`.
//! 3. The incarnation and its first LSN are durable before a frame of that incarnation is written. Guard:
//!    `leftovers_beyond_the_tail_are_never_taken_for_new_log`.

use std::sync::Arc;

use base::{Error, FORMAT_VERSION, Lsn, Result};
use crc_fast::{CrcAlgorithm, checksum};
use host::{AlignedBuf, BLOCK_BYTES, Disk, File, OpenMode};
use stdx::bytes::{Put, Reader, Truncated};

use crate::config::CHECKPOINT_PAYLOAD_MAX;
use crate::file;

pub(crate) const CONTROL_NAME: &str = "redo/control";
const CONTROL_NEW_NAME: &str = "redo/control.new";
const MAGIC: [u8; 8] = *b"LIMPIDCT";
/// The checksum covers the block from here.
const COVERED_FROM: usize = 12;
const COPIES: u64 = 2;

/// What a control block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    /// Grows with every write; of two valid blocks the higher one counts.
    pub sequence: u64,
    /// Random, to tell this log's files from another's.
    pub log_id: u64,
    /// Number of the current opening.
    pub incarnation: u32,
    /// The first LSN of this incarnation; everything from the checkpoint to here was durable.
    pub incarnation_start: u64,
    /// The number of the last file; one more may have got its name.
    pub last_file: u64,
    /// Recovery starts here.
    pub checkpoint: u64,
    /// The log was durable up to here when the block was written.
    pub durable: u64,
    /// The engine's data of that moment.
    pub payload: Vec<u8>,
}

/// Why a block cannot be used.
enum Unusable {
    NoMagic,
    Damaged,
    /// Of another format, with the sentence.
    Format(String),
}

impl Control {
    fn encode(&self) -> AlignedBuf {
        let mut out = Vec::with_capacity(BLOCK_BYTES);
        out.extend_from_slice(&MAGIC);
        out.put_u32_le(0);
        out.put_u32_le(FORMAT_VERSION);
        out.put_u64_le(self.sequence);
        out.put_u64_le(self.log_id);
        out.put_u32_le(self.incarnation);
        out.put_u32_le(0);
        out.put_u64_le(self.incarnation_start);
        out.put_u64_le(self.last_file);
        out.put_u64_le(self.checkpoint);
        out.put_u64_le(self.durable);
        out.put_u16_le(self.payload.len() as u16);
        out.extend_from_slice(&self.payload);
        let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
        block[..out.len()].copy_from_slice(&out);
        let crc = checksum(CrcAlgorithm::Crc32Iscsi, &block[COVERED_FROM..]) as u32;
        block[8..COVERED_FROM].copy_from_slice(&crc.to_le_bytes());
        block
    }

    fn decode(block: &[u8]) -> std::result::Result<Control, Unusable> {
        let cut = |_: Truncated| Unusable::Damaged;
        let mut r = Reader::new(block);
        if r.take(MAGIC.len()).map_err(cut)? != MAGIC {
            return Err(Unusable::NoMagic);
        }
        let crc = r.u32_le().map_err(cut)?;
        if crc != checksum(CrcAlgorithm::Crc32Iscsi, &block[COVERED_FROM..]) as u32 {
            return Err(Unusable::Damaged);
        }
        file::check_format(r.u32_le().map_err(cut)?).map_err(Unusable::Format)?;
        let sequence = r.u64_le().map_err(cut)?;
        let log_id = r.u64_le().map_err(cut)?;
        let incarnation = r.u32_le().map_err(cut)?;
        r.u32_le().map_err(cut)?;
        let mut control = Control {
            sequence,
            log_id,
            incarnation,
            incarnation_start: r.u64_le().map_err(cut)?,
            last_file: r.u64_le().map_err(cut)?,
            checkpoint: r.u64_le().map_err(cut)?,
            durable: r.u64_le().map_err(cut)?,
            payload: Vec::new(),
        };
        let payload_bytes = usize::from(r.u16_le().map_err(cut)?);
        control.payload = r.take(payload_bytes).map_err(cut)?.to_vec();
        if control.is_sane() { Ok(control) } else { Err(Unusable::Damaged) }
    }

    /// Whether the fields can belong together: a valid checksum does not excuse an overflow.
    fn is_sane(&self) -> bool {
        self.last_file <= 1 << 50
            && self.checkpoint.is_multiple_of(8)
            && self.incarnation_start.is_multiple_of(8)
            && self.checkpoint <= self.durable
            && self.durable <= 1 << 62
            && self.payload.len() <= CHECKPOINT_PAYLOAD_MAX
    }
}

/// The open control file.
pub(crate) struct ControlFile {
    file: Arc<dyn File>,
    pub control: Control,
    /// The block that counts: it is never the first to be written.
    newest: u64,
}

fn io(op: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |e| Error::io(op, CONTROL_NAME, e)
}

impl ControlFile {
    /// Makes the file under another name first: a control file in place is always whole.
    pub(crate) fn create(disk: &dyn Disk, control: Control) -> Result<ControlFile> {
        if disk.exists(CONTROL_NEW_NAME).map_err(io("look for"))? {
            disk.remove(CONTROL_NEW_NAME).map_err(io("remove"))?;
        }
        let file = disk.open(CONTROL_NEW_NAME, OpenMode::Create).map_err(create_error)?;
        let mut made = ControlFile { file, control, newest: 0 };
        made.write().map_err(|e| match e {
            Error::Io { source, .. } => create_error(source),
            other => other,
        })?;
        disk.sync_dir().map_err(io("sync the folder of"))?;
        disk.rename(CONTROL_NEW_NAME, CONTROL_NAME).map_err(io("rename"))?;
        disk.sync_dir().map_err(io("sync the folder of"))?;
        made.file = disk.open(CONTROL_NAME, OpenMode::ReadWrite).map_err(io("open"))?;
        Ok(made)
    }

    /// Reads both blocks and takes the better one.
    pub(crate) fn open(disk: &dyn Disk) -> Result<ControlFile> {
        let file = disk.open(CONTROL_NAME, OpenMode::ReadWrite).map_err(io("open"))?;
        let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
        let mut best: Option<(Control, u64)> = None;
        let mut damaged = false;
        for copy in 0..COPIES {
            let got = file.read_at(&mut block, copy * BLOCK_BYTES as u64).map_err(io("read"))?;
            block[got..].fill(0);
            match Control::decode(&block) {
                Ok(found) if best.as_ref().is_none_or(|(b, _)| b.sequence < found.sequence) => {
                    best = Some((found, copy));
                }
                Ok(_) => {}
                Err(Unusable::Format(what)) => {
                    return Err(Error::Foreign { path: CONTROL_NAME.to_string(), what });
                }
                Err(Unusable::Damaged) => damaged = true,
                Err(Unusable::NoMagic) => {}
            }
        }
        match best {
            Some((control, newest)) => Ok(ControlFile { file, control, newest }),
            None if damaged => {
                let what = "both blocks of the redo control file are damaged";
                Err(Error::CorruptLog { lsn: Lsn::ZERO, what })
            }
            None => Err(Error::Foreign {
                path: CONTROL_NAME.to_string(),
                what: "this is no control file of a Limpid redo log".to_string(),
            }),
        }
    }

    /// Writes the fields into both blocks, one durable before the other is touched.
    pub(crate) fn write(&mut self) -> Result<()> {
        self.control.sequence += 1;
        let block = self.control.encode();
        self.put(&block)?;
        self.put(&block)
    }

    /// Writes the fields into one block: enough for what may be lost, the durable mark.
    pub(crate) fn write_one(&mut self) -> Result<()> {
        self.control.sequence += 1;
        let block = self.control.encode();
        self.put(&block)
    }

    /// Replaces the block that does not count.
    fn put(&mut self, block: &[u8]) -> Result<()> {
        let copy = (self.newest + 1) % COPIES;
        self.file.write_at(block, copy * BLOCK_BYTES as u64).map_err(io("write"))?;
        self.file.sync_data().map_err(io("fdatasync"))?;
        self.newest = copy;
        Ok(())
    }
}

/// An error while the log is made: a full disk is told apart.
pub(crate) fn create_error(e: std::io::Error) -> Error {
    if e.kind() == std::io::ErrorKind::StorageFull {
        return Error::NoSpace { path: CONTROL_NAME.to_string() };
    }
    Error::io("create", CONTROL_NAME, e)
}
