//! The doublewrite files: copies of the pages being written in place, against torn writes.
//!
//! 1. Every instance has a file. It holds one batch: a directory page, then up to [`BATCH_MAX`] sealed pages.
//!    It is durable before the first of its pages is written in place, and is not overwritten before all of
//!    them are durable in place. Guard: `whatever_was_acknowledged_is_there_after_a_crash`, whose disk tears
//!    what is not synced; `no_order_of_steps_lets_a_checkpoint_pass_a_change`.
//! 2. So a copy that the directory vouches for is never older than the bytes in place; a slot the directory
//!    does not vouch for (left from an older batch, torn) counts for nothing. Guard:
//!    `copies_come_back_only_when_the_directory_vouches_for_them`.
//! 3. After a crash all copies are written in place again, torn there or not: if it was the `fdatasync` of the
//!    pages in place that failed, they may look sound and yet never have reached the disk. Guard:
//!    `pages_that_only_look_written_are_written_again`.
//! 4. A directory that does not verify means: no batch. Its pages were then never written in place. Guard:
//!    `copies_come_back_only_when_the_directory_vouches_for_them`.
//! 5. The pages of a file stay the same only while the number of instances does. So the batches that were found
//!    at the start are durably emptied before the first new one is written; of several copies of a page (a
//!    crash before that) the newest counts. Guard:
//!    `a_crash_with_any_number_of_instances_before_and_after_loses_nothing`,
//!    `of_several_copies_the_newest_counts_and_files_of_more_instances_are_found`.
//! 6. Where the device writes a page wholly or not at all, no copy is made and no page is torn. Guard:
//!    `without_a_doublewrite_an_atomic_disk_loses_nothing`.

use crate::instance::INSTANCES_MAX;
use crate::{Pool, io};
use base::{Error, FORMAT_VERSION, Lsn, PAGE_BYTES, PageBuf, PageId, PageNo, Result, SpaceId};
use host::{AlignedBuf, Disk, File, OpenMode};
use std::collections::HashMap;
use std::sync::Arc;
use stdx::bytes::{Put, Reader, Truncated};

/// Name of an instance's file in the data folder.
pub(crate) fn name(instance: usize) -> String {
    format!("doublewrite_{instance}")
}

/// Most pages in one batch.
pub(crate) const BATCH_MAX: usize = 64;

const MAGIC: &[u8; 8] = b"LIMPIDDW";

/// Bytes of the directory that its checksum covers; the checksum follows them.
const DIRECTORY_BYTES: usize = 24 + BATCH_MAX * 24;

/// Pages to be written, sealed, in one block-aligned buffer: directory first.
pub(crate) struct Batch {
    buf: AlignedBuf,
    ids: Vec<PageId>,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch { buf: AlignedBuf::zeroed((1 + BATCH_MAX) * PAGE_BYTES), ids: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.ids.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ids.len() == BATCH_MAX
    }

    pub(crate) fn ids(&self) -> &[PageId] {
        &self.ids
    }

    /// Appends a page; the caller copies the bytes into the place returned.
    pub(crate) fn push(&mut self, id: PageId) -> &mut PageBuf {
        assert!(!self.is_full(), "a batch has a fixed size");
        self.ids.push(id);
        self.page_mut(self.ids.len() - 1)
    }

    /// The bytes of page `i`.
    pub(crate) fn page_mut(&mut self, i: usize) -> &mut PageBuf {
        let at = (1 + i) * PAGE_BYTES;
        (&mut self.buf[at..at + PAGE_BYTES]).try_into().expect("a page's range")
    }

    /// The bytes of pages `from..to`, as they lie one after another.
    pub(crate) fn range(&self, from: usize, to: usize) -> &[u8] {
        &self.buf[(1 + from) * PAGE_BYTES..(1 + to) * PAGE_BYTES]
    }

    /// Fills in the directory and returns the whole batch as it goes to the file.
    pub(crate) fn with_directory(&mut self, number: u64) -> &[u8] {
        let mut dir = Vec::with_capacity(DIRECTORY_BYTES + 4);
        dir.put_bytes(MAGIC);
        dir.put_u32_le(FORMAT_VERSION);
        dir.put_u32_le(self.ids.len() as u32);
        dir.put_u64_le(number);
        for (i, id) in self.ids.iter().enumerate() {
            let bytes = self.range(i, i + 1);
            dir.put_u32_le(id.space.0);
            dir.put_u32_le(id.page.0);
            dir.put_u64_le(crc32c(bytes).into());
            dir.put_u64_le(page_lsn(bytes).0);
        }
        dir.resize(DIRECTORY_BYTES, 0);
        dir.put_u32_le(crc32c(&dir));
        self.buf[..PAGE_BYTES].fill(0);
        self.buf[..dir.len()].copy_from_slice(&dir);
        &self.buf[..(1 + self.ids.len()) * PAGE_BYTES]
    }
}

fn page_lsn(bytes: &[u8]) -> Lsn {
    page::header::lsn(bytes.try_into().expect("a whole page"))
}

fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// One instance's file.
pub(crate) struct DoublewriteFile {
    file: Arc<dyn File>,
    /// Number of the batch, for whoever looks at the file.
    number: u64,
}

impl DoublewriteFile {
    /// Writes the batch and makes it durable.
    pub(crate) fn write(&mut self, batch: &mut Batch) -> Result<()> {
        self.number += 1;
        io::write(&*self.file, batch.with_directory(self.number), 0)?;
        io::sync_data(&*self.file)
    }
}

/// The files of the instances, and all files that were there before.
type Files = (Vec<DoublewriteFile>, Vec<Arc<dyn File>>);

/// Opens the files of `instances` instances, making those that are missing, and tells all files
/// that were there before: of more instances, too.
pub(crate) fn open_all(disk: &dyn Disk, instances: usize) -> Result<Files> {
    let (mut files, mut found) = (Vec::new(), Vec::new());
    let mut made = false;
    for i in 0..INSTANCES_MAX {
        let io = |op| move |e| Error::io(op, name(i), e);
        let name = name(i);
        let exists = disk.exists(&name).map_err(io("look for"))?;
        if !exists && i >= instances {
            continue;
        }
        let mode = if exists { OpenMode::ReadWrite } else { OpenMode::Create };
        let file = disk.open(&name, mode).map_err(io("open"))?;
        made |= !exists;
        if exists {
            found.push(Arc::clone(&file));
        }
        if i < instances {
            files.push(DoublewriteFile { file, number: 0 });
        }
    }
    if made {
        disk.sync_dir().map_err(|e| Error::io("make durable the name of", name(0), e))?;
    }
    Ok((files, found))
}

/// The copies in all files; the newest of each page.
pub(crate) fn read_all(files: &[Arc<dyn File>]) -> Result<HashMap<PageId, Box<PageBuf>>> {
    let mut all: HashMap<PageId, Box<PageBuf>> = HashMap::new();
    for file in files {
        for (id, copy) in read(&**file)? {
            let newer = all.get(&id).is_none_or(|old| page_lsn(&old[..]) < page_lsn(&copy[..]));
            if newer {
                all.insert(id, copy);
            }
        }
    }
    Ok(all)
}

/// Forgets the batch in a file, durably.
fn empty(file: &dyn File) -> Result<()> {
    io::write(file, &AlignedBuf::zeroed(PAGE_BYTES), 0)?;
    io::sync_data(file)
}

impl Pool {
    /// Empties the files that were found at the start, once; torn pages are repaired by now.
    pub(crate) fn forget_old_copies(&self) -> Result<()> {
        let mut found = self.old_copies.lock();
        for file in found.iter() {
            empty(&**file)?;
        }
        found.clear();
        Ok(())
    }
}

/// The copies that the file's directory vouches for, durable when this returns: after a failed
/// `fdatasync` that nobody survived, reading them back proves nothing.
pub(crate) fn read(file: &dyn File) -> Result<HashMap<PageId, Box<PageBuf>>> {
    let mut buf = AlignedBuf::zeroed((1 + BATCH_MAX) * PAGE_BYTES);
    let got = file.read_at(&mut buf, 0).map_err(|e| Error::io("read", file.name(), e))?;
    let (directory, slots) = buf[..got].split_at(got.min(PAGE_BYTES));
    let Some(entries) = directory_entries(directory, file.name())? else {
        return Ok(HashMap::new());
    };
    let mut copies = HashMap::new();
    for ((id, crc, lsn), slot) in entries.into_iter().zip(slots.chunks_exact(PAGE_BYTES)) {
        if crc32c(slot) == crc && page_lsn(slot) == lsn {
            let copy: Box<PageBuf> = slot.to_vec().try_into().expect("a slot is a page long");
            copies.insert(id, copy);
        }
    }
    let whole = got / PAGE_BYTES * PAGE_BYTES;
    io::write(file, &buf[..whole], 0)?;
    io::sync_data(file)?;
    Ok(copies)
}

/// Page, checksum of the whole slot, page LSN.
type Entry = (PageId, u32, Lsn);

/// `None`: no whole directory, so no batch.
fn directory_entries(bytes: &[u8], file: &str) -> Result<Option<Vec<Entry>>> {
    let Some((body, rest)) = bytes.split_at_checked(DIRECTORY_BYTES) else { return Ok(None) };
    if rest.get(..4) != Some(&crc32c(body).to_le_bytes()) || !body.starts_with(MAGIC) {
        return Ok(None);
    }
    let mut r = Reader::new(&body[MAGIC.len()..]);
    let version = r.u32_le().unwrap_or(0);
    if version > FORMAT_VERSION {
        let what = format!("format {version} is newer than this server's {FORMAT_VERSION}");
        return Err(Error::Foreign { path: file.into(), what });
    }
    Ok(parse_entries(&mut r).ok())
}

fn parse_entries(r: &mut Reader<'_>) -> std::result::Result<Vec<Entry>, Truncated> {
    let count = r.u32_le()?;
    let _number = r.u64_le()?;
    (0..count)
        .map(|_| {
            let id = PageId::new(SpaceId(r.u32_le()?), PageNo(r.u32_le()?));
            Ok((id, r.u64_le()? as u32, Lsn(r.u64_le()?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::SimDisk;

    fn open(disk: &SimDisk) -> Arc<dyn File> {
        let (files, _) = open_all(disk, 1).unwrap();
        files[0].file.clone()
    }

    fn id(page: u32) -> PageId {
        PageId::new(SpaceId(16), PageNo(page))
    }

    fn batch_of(pages: std::ops::Range<u32>) -> Batch {
        let mut batch = Batch::new();
        for p in pages {
            batch.push(id(p)).fill(p as u8);
        }
        batch
    }

    #[test]
    fn copies_come_back_only_when_the_directory_vouches_for_them() {
        let disk = SimDisk::new(1);
        let file = open(&disk);
        assert!(read(&*file).unwrap().is_empty());
        file.write_at(batch_of(1..5).with_directory(1), 0).unwrap();
        file.write_at(batch_of(7..9).with_directory(2), 0).unwrap();
        let copies = read(&*file).unwrap();
        let mut ids: Vec<u32> = copies.keys().map(|id| id.page.0).collect();
        ids.sort_unstable();
        // Pages 3 and 4 still lie in the file, but belong to an older batch.
        assert_eq!(ids, [7, 8]);
        assert!(copies[&id(8)].iter().all(|&b| b == 8));
        disk.flip_bit(&name(0), 2 * PAGE_BYTES as u64 + 77, 3);
        assert_eq!(read(&*file).unwrap().len(), 1);
        disk.flip_bit(&name(0), 33, 0);
        assert!(read(&*file).unwrap().is_empty());
    }

    #[test]
    fn a_newer_format_is_refused() {
        let disk = SimDisk::new(1);
        let file = open(&disk);
        let mut batch = batch_of(1..2);
        batch.with_directory(1);
        batch.buf[8] = FORMAT_VERSION as u8 + 1;
        let crc = crc32c(&batch.buf[..DIRECTORY_BYTES]);
        batch.buf[DIRECTORY_BYTES..DIRECTORY_BYTES + 4].copy_from_slice(&crc.to_le_bytes());
        file.write_at(&batch.buf, 0).unwrap();
        assert!(matches!(read(&*file), Err(Error::Foreign { .. })));
    }

    #[test]
    fn of_several_copies_the_newest_counts_and_files_of_more_instances_are_found() {
        let disk = SimDisk::new(1);
        let (mut files, found) = open_all(&*disk, 3).unwrap();
        assert_eq!((files.len(), found.len()), (3, 0));
        for (i, lsn) in [(0, 50), (2, 70), (1, 60)] {
            let mut batch = batch_of(4..5);
            page::header::set_lsn(batch.page_mut(0), Lsn(lsn));
            files[i].write(&mut batch).unwrap();
        }
        let (files, found) = open_all(&*disk, 1).unwrap();
        assert_eq!((files.len(), found.len()), (1, 3));
        assert_eq!(page_lsn(&read_all(&found).unwrap()[&id(4)][..]), Lsn(70));
        found.iter().for_each(|f| empty(&**f).unwrap());
        assert!(read_all(&open_all(&*disk.crash(), 1).unwrap().1).unwrap().is_empty());
    }
}
