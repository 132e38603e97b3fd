//! The redo files as one stretch of log.
//!
//! 1. The files of the chain have consecutive numbers, and each begins at the LSN where the one before ends.
//!    Positions and lengths of I/O are whole blocks. Guard: the assertions in `add` and `write`; `Files::open`
//!    refuses another chain.
//! 2. The chain holds everything from the checkpoint on; the control file names its last file. So a missing,
//!    swapped or copied file is noticed, wherever it belongs. Guard:
//!    `any_missing_file_is_noticed_be_it_the_last`, `swapped_and_copied_files_are_refused`.
//!
//! The writer keeps the file it writes to; it looks into the chain when it comes to the next.

use std::collections::VecDeque;
use std::sync::Arc;

use base::{Error, Lsn, Result};
use host::Disk;
use sync::Mutex;

use crate::control::Control;
use crate::file::{self, BLOCK, HEADER_BYTES, RedoFile};

instrument::classes! {
    static CHAIN_MUTEX: MutexClass = "wait/synch/mutex/innodb/log_files_mutex";
}

/// The open files.
pub(crate) struct Files {
    pub disk: Arc<dyn Disk>,
    pub log_id: u64,
    chain: Mutex<VecDeque<Arc<RedoFile>>>,
}

/// The writer's side of the files.
#[derive(Default)]
pub(crate) struct Output {
    current: Option<Arc<RedoFile>>,
    /// Written since the last sync.
    unsynced: Vec<Arc<RedoFile>>,
}

impl Files {
    pub(crate) fn new(disk: &Arc<dyn Disk>, log_id: u64) -> Files {
        Files { disk: Arc::clone(disk), log_id, chain: Mutex::new(&CHAIN_MUTEX, VecDeque::new()) }
    }

    /// Opens the chain that the control file tells of, from its last file back to the checkpoint.
    /// Writes nothing.
    pub(crate) fn open(disk: &Arc<dyn Disk>, control: &Control) -> Result<Files> {
        let files = Files::new(disk, control.log_id);
        let beyond = file::name(control.last_file + 1);
        // A crash may have come between the naming of a file and the note of it.
        let named = disk.exists(&beyond).map_err(|e| Error::io("look for", beyond, e))?;
        let last = control.last_file + u64::from(named);
        let mut chain = VecDeque::new();
        for number in (0..=last).rev() {
            let file = RedoFile::open(&**disk, control.log_id, number)?;
            let next: Option<&Arc<RedoFile>> = chain.front();
            if next.is_some_and(|n| n.start != file.end) {
                let what = format!("it does not end where file {} begins", number + 1);
                return Err(Error::Foreign { path: file.name(), what });
            }
            let first = file.start <= control.checkpoint;
            chain.push_front(Arc::new(file));
            if first {
                break;
            }
        }
        if chain.front().is_none_or(|f| f.start > control.checkpoint) {
            return Err(corrupt(control.checkpoint, "no redo file holds the checkpoint"));
        }
        if chain.back().is_none_or(|f| f.end < control.durable.max(control.incarnation_start)) {
            return Err(corrupt(control.durable, "redo that was durable is in no file"));
        }
        *files.chain.lock() = chain;
        Ok(files)
    }

    /// Adds a file whose header is durable, behind the last.
    pub(crate) fn add(&self, file: RedoFile) {
        let mut chain = self.chain.lock();
        let follows =
            |last: &Arc<RedoFile>| (last.number + 1, last.end) == (file.number, file.start);
        assert!(chain.back().is_none_or(follows), "{} does not follow the last file", file.name());
        chain.push_back(Arc::new(file));
    }

    /// Takes the files that lie wholly below `lsn` out; the last file stays.
    pub(crate) fn take_below(&self, lsn: u64) -> Vec<Arc<RedoFile>> {
        let mut chain = self.chain.lock();
        let mut taken = Vec::new();
        while chain.len() > 1 && chain[0].end <= lsn {
            taken.extend(chain.pop_front());
        }
        taken
    }

    /// Takes the last file out, if it begins at `lsn` or above and is not the only one.
    pub(crate) fn take_last_from(&self, lsn: u64) -> Option<Arc<RedoFile>> {
        let mut chain = self.chain.lock();
        if chain.len() < 2 || chain.back().is_none_or(|f| f.start < lsn) {
            return None;
        }
        chain.pop_back()
    }

    /// Puts `file` into the place of the last one, whose end it moves.
    pub(crate) fn replace_last(&self, file: RedoFile) {
        let mut chain = self.chain.lock();
        chain.pop_back();
        chain.push_back(Arc::new(file));
    }

    pub(crate) fn last(&self) -> Option<Arc<RedoFile>> {
        self.chain.lock().back().cloned()
    }

    /// Where the room ends.
    pub(crate) fn end(&self) -> u64 {
        self.last().map_or(0, |f| f.end)
    }

    pub(crate) fn all(&self) -> Vec<Arc<RedoFile>> {
        self.chain.lock().iter().cloned().collect()
    }

    /// Bytes on disk.
    pub(crate) fn size(&self) -> u64 {
        self.chain.lock().iter().map(|f| f.size()).sum()
    }

    fn find(&self, lsn: u64) -> Result<Arc<RedoFile>> {
        let chain = self.chain.lock();
        let at = chain.partition_point(|f| f.end <= lsn);
        match chain.get(at) {
            Some(file) if file.start <= lsn => Ok(Arc::clone(file)),
            _ => Err(corrupt(lsn, "no redo file is for this part of the log")),
        }
    }

    /// Writes whole blocks from `lsn` (a multiple of a block) on.
    pub(crate) fn write(&self, output: &mut Output, mut lsn: u64, mut bytes: &[u8]) -> Result<()> {
        let whole = lsn.is_multiple_of(BLOCK) && (bytes.len() as u64).is_multiple_of(BLOCK);
        assert!(whole, "{} bytes of log from {lsn} on are no whole blocks", bytes.len());
        while !bytes.is_empty() {
            let file = match output.current.take() {
                Some(file) if (file.start..file.end).contains(&lsn) => file,
                _ => self.find(lsn)?,
            };
            let part = (file.end - lsn).min(bytes.len() as u64);
            let (now, rest) = bytes.split_at(part as usize);
            if output.unsynced.last().is_none_or(|f| f.number != file.number) {
                output.unsynced.push(Arc::clone(&file));
            }
            file.file
                .write_at(now, HEADER_BYTES + lsn - file.start)
                .map_err(|e| Error::io("write", file.name(), e))?;
            output.current = Some(file);
            lsn += part;
            bytes = rest;
        }
        Ok(())
    }

    /// Reads whole blocks from `lsn` on.
    pub(crate) fn read(&self, mut lsn: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let file = self.find(lsn)?;
            let part = (file.end - lsn).min(out.len() as u64);
            let (now, rest) = out.split_at_mut(part as usize);
            file.file
                .read_exact_at(now, HEADER_BYTES + lsn - file.start)
                .map_err(|e| Error::io("read", file.name(), e))?;
            lsn += part;
            out = rest;
        }
        Ok(())
    }

    /// `fdatasync` of the files written since the last one.
    pub(crate) fn sync(&self, output: &mut Output) -> Result<()> {
        for file in &output.unsynced {
            file.file.sync_data().map_err(|e| Error::io("fdatasync", file.name(), e))?;
        }
        output.unsynced.clear();
        Ok(())
    }
}

impl Output {
    /// Whether the file after the last one written to is needed soon.
    pub(crate) fn number(&self) -> Option<u64> {
        self.current.as_ref().map(|f| f.number)
    }

    /// Everything written is synced.
    pub(crate) fn is_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    /// Forgets which file is written to: its end has moved.
    pub(crate) fn forget(&mut self) {
        self.current = None;
    }
}

/// The error for a log that contradicts what the control file promises.
pub(crate) fn corrupt(lsn: u64, what: &'static str) -> Error {
    Error::CorruptLog { lsn: Lsn(lsn), what }
}
