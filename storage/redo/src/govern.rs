//! The governor: room ahead of the writer, and what becomes of files behind the checkpoint.
//!
//! 1. While the writer is in the last file of the chain, the next one is to be made: from a spare, whose header
//!    is written before it gets its name, whose name is durable before the control file tells of it, which is
//!    before the writer may come there (`Limits::files_end`). Guard: `Files::add` asserts the order of the
//!    chain; `crashes_in_the_middle_of_switching_recycling_and_resizing`.
//! 2. A file wholly below the checkpoint, which the control file has, and below what is durable is consumed: it
//!    becomes a spare by a new name, or is removed. The name is durable before anything of the file is
//!    overwritten. Guard: `crashes_in_the_middle_of_switching_recycling_and_resizing`; `Files::open` refuses a
//!    chain without the checkpoint or the durable log.
//! 3. A crash between any two steps leaves a chain that holds everything from the checkpoint on, and spares,
//!    which nobody reads. Guard: `crashes_in_the_middle_of_switching_recycling_and_resizing`,
//!    `a_creation_cut_short_anywhere_can_be_repeated`.
//! 4. [`Log::govern`] is a background thread's work; a writer that finds no next file makes it itself. When the
//!    disk is full the room is what there is: writers are paced as in a small log. Guard:
//!    `a_log_that_cannot_grow_on_a_full_disk_works_with_what_there_is`.
//! 5. A smaller capacity takes force as checkpoints allow: the room shrinks with the log's age, the file that
//!    is written to is cut short behind the writer, the ones after it are made anew. Guard:
//!    `a_smaller_capacity_waits_for_checkpoints_and_gives_the_room_back`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Error, Result};
use host::{Disk, OpenMode};
use stdx::Ordering;
use sync::Event;

use crate::capacity::Capacity;
use crate::control::Control;
use crate::file::{self, BLOCK, FOLDER, RedoFile, Spare};
use crate::files::Files;
use crate::log::Log;

/// How long a full disk is left alone.
const FULL_DISK_PAUSE: Duration = Duration::from_secs(5);

/// What only the governor needs.
pub(crate) struct Governor {
    /// In the order of their numbers.
    spares: VecDeque<Spare>,
    /// Above the number of every file that has a name.
    next_spare: u64,
    /// When the disk was last found full.
    full: Option<Instant>,
}

/// Makes the files of a new log: two in use, so that each can be recycled while the other is
/// written, and spares. What an interrupted creation left goes first.
pub(crate) fn create(
    disk: &Arc<dyn Disk>,
    log_id: u64,
    start: u64,
    capacity: Capacity,
) -> Result<(Files, Governor)> {
    disk.create_dir(FOLDER).map_err(|e| Error::io("create the folder", FOLDER, e))?;
    remove_all(&**disk)?;
    let (files, mut governor) = (Files::new(disk, log_id), Governor::new(0));
    fill(&files, &mut governor, start, capacity).inspect_err(|_| discard(&**disk))?;
    Ok((files, governor))
}

fn fill(files: &Files, governor: &mut Governor, start: u64, capacity: Capacity) -> Result<()> {
    let bytes = capacity.file_bytes();
    for _ in 0..capacity.files_at_first() {
        let spare = Spare::create(&*files.disk, governor.number(), bytes)?;
        if spare.number < 2 {
            files.add(give_name(files, &spare, spare.number, start + spare.number * bytes)?);
        } else {
            governor.spares.push_back(spare);
        }
    }
    sync_dir(files)
}

/// Gives the room back: a disk that is full shall not stay full for the sake of half a log.
pub(crate) fn discard(disk: &dyn Disk) {
    let _ = remove_all(disk);
}

fn remove_all(disk: &dyn Disk) -> Result<()> {
    for name in names(disk)?.iter().filter(|n| file::parse_name(n).is_some()) {
        disk.remove(name).map_err(|e| Error::io("remove", name, e))?;
    }
    Ok(())
}

fn names(disk: &dyn Disk) -> Result<Vec<String>> {
    disk.list().map_err(|e| Error::io("list", FOLDER, e))
}

/// Refuses files that the control file cannot know of: it is of another time than they.
pub(crate) fn check_names(disk: &dyn Disk, control: &Control) -> Result<()> {
    for name in names(disk)? {
        if let Some((number, false)) = file::parse_name(&name)
            && number > control.last_file + 1
        {
            let last = control.last_file;
            let what = format!("the control file is older: for it the last file is {last}");
            return Err(Error::Foreign { path: name, what });
        }
    }
    Ok(())
}

/// Makes a spare the file `number` of the chain (invariant 1).
fn give_name(files: &Files, spare: &Spare, number: u64, start: u64) -> Result<RedoFile> {
    let file = Arc::clone(&spare.file);
    let file = RedoFile { number, start, end: start + spare.bytes, file };
    file.write_header(files.log_id)?;
    files
        .disk
        .rename(&spare.name(), &file.name())
        .map_err(|e| Error::io("rename", spare.name(), e))?;
    sync_dir(files)?;
    Ok(file)
}

pub(crate) fn sync_dir(files: &Files) -> Result<()> {
    files.disk.sync_dir().map_err(|e| Error::io("sync the folder", FOLDER, e))
}

impl Log {
    /// One round of the governor: to be called about once a second, and when
    /// [`Log::governor_work`] is notified. Notes the durable mark, makes files ahead of need,
    /// recycles consumed ones, brings a new capacity into force. An error is the log's.
    pub fn govern(&self) -> Result<()> {
        self.check()?;
        if !self.is_open_for_appending() {
            return Ok(());
        }
        let mut again = true;
        self.note_durable()?;
        while again {
            let mut governor = self.governor.lock();
            again = self.tend(&mut governor).inspect_err(|e| self.fail(e))?;
        }
        Ok(())
    }

    /// Notified when a round of [`Log::govern`] is of use before its time.
    #[must_use]
    pub fn governor_work(&self) -> &Event {
        &self.governor_work
    }

    /// Notes in the control file how far the log is durable: recovery rewrites only what lies
    /// beyond. One block, and only when there is news.
    fn note_durable(&self) -> Result<()> {
        let durable = self.durable().0;
        let mut control = self.control.lock();
        if durable <= control.control.durable {
            return Ok(());
        }
        control.control.durable = durable;
        control.write_one().inspect_err(|e| self.fail(e))
    }

    /// One step of everything; true when another step is of use at once.
    fn tend(&self, governor: &mut Governor) -> Result<bool> {
        let capacity = self.capacity();
        self.consume(governor, capacity)?;
        self.trim(governor, capacity)?;
        self.shorten(governor, capacity)?;
        self.advance(governor, capacity, self.written().0)?;
        let more = self.prepare(governor, capacity)?;
        self.settle(governor, capacity);
        Ok(more)
    }

    /// Makes files until their room reaches `needs`, for one who has come there; as far as the disk
    /// has room.
    pub(crate) fn extend(&self, needs: u64) -> Result<()> {
        let mut governor = self.governor.lock();
        let capacity = self.capacity();
        loop {
            let end = self.limits.files_end();
            if end >= needs {
                return Ok(());
            }
            self.consume(&mut governor, capacity)
                .and_then(|()| self.advance(&mut governor, capacity, end))
                .inspect_err(|e| self.fail(e))?;
            self.settle(&governor, capacity);
            if self.limits.files_end() == end {
                return Ok(());
            }
        }
    }

    /// Takes consumed files out of the chain (invariant 2).
    fn consume(&self, governor: &mut Governor, capacity: Capacity) -> Result<()> {
        let below = self.checkpoint_lsn().0.min(self.durable().0);
        let consumed = self.files.take_below(below);
        if consumed.is_empty() {
            return Ok(());
        }
        for old in consumed {
            let physical = self.files.size() + governor.size() + old.size();
            let full = governor.full.is_some();
            let fits = old.bytes() == capacity.file_bytes() || full;
            // On a full disk one is kept however many there are: the log goes on with it.
            if (fits && physical <= capacity.bytes()) || (full && governor.spares.is_empty()) {
                let number = governor.number();
                let file = Arc::clone(&old.file);
                let spare = Spare { number, bytes: old.bytes(), file };
                self.files
                    .disk
                    .rename(&old.name(), &spare.name())
                    .map_err(|e| Error::io("rename", old.name(), e))?;
                governor.spares.push_back(spare);
            } else {
                self.remove(&old.name())?;
            }
        }
        sync_dir(&self.files)
    }

    /// Makes the next file while the place `needs` is in the last one or behind it (invariant 1).
    fn advance(&self, governor: &mut Governor, capacity: Capacity, needs: u64) -> Result<()> {
        let Some(last) = self.files.last() else { return Ok(()) };
        if last.start > needs {
            return Ok(());
        }
        if governor.spares.is_empty() && !self.make_spare(governor, capacity)? {
            return Ok(());
        }
        let Some(spare) = governor.spares.pop_front() else { return Ok(()) };
        sync::sched::point("redo: next file");
        let next = give_name(&self.files, &spare, last.number + 1, last.end)?;
        governor.next_spare = governor.next_spare.max(next.number + 1);
        let mut control = self.control.lock();
        control.control.last_file = next.number;
        control.write_one()?;
        drop(control);
        let end = next.end;
        self.files.add(next);
        self.limits.set_files_end(end);
        self.space.notify_all();
        Ok(())
    }

    /// Makes a spare; false when the disk has no room for it.
    fn make_spare(&self, governor: &mut Governor, capacity: Capacity) -> Result<bool> {
        let pause = |since: Instant| host::clock::now() - since < FULL_DISK_PAUSE;
        if governor.full.is_some_and(pause) {
            return Ok(false);
        }
        let number = governor.number();
        match Spare::create(&*self.files.disk, number, capacity.file_bytes()) {
            Ok(spare) => {
                governor.full = None;
                governor.spares.push_back(spare);
                Ok(true)
            }
            Err(Error::NoSpace { .. }) => {
                governor.full = Some(host::clock::now());
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }

    /// Makes one spare, if there should be more; true when it did.
    fn prepare(&self, governor: &mut Governor, capacity: Capacity) -> Result<bool> {
        let ready: u64 = governor.spares.iter().map(|s| s.bytes).sum();
        let physical = self.files.size() + governor.size();
        if !capacity.wants_more(physical, ready) {
            return Ok(false);
        }
        self.make_spare(governor, capacity)
    }

    /// Removes spares of another size, unless the disk is full, and those that are too many.
    fn trim(&self, governor: &mut Governor, capacity: Capacity) -> Result<()> {
        loop {
            let physical = self.files.size() + governor.size();
            let odd = governor.spares.iter().position(|s| s.bytes != capacity.file_bytes());
            let at = match odd {
                Some(at) if governor.full.is_none() => at,
                _ if physical > capacity.bytes() && governor.spares.len() > 1 => 0,
                _ => return Ok(()),
            };
            if let Some(spare) = governor.spares.remove(at) {
                self.remove(&spare.name())?;
            }
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.files.disk.remove(name).map_err(|e| Error::io("remove", name, e))
    }

    /// After the capacity shrank: takes back the file ahead, and moves the end of the file that is
    /// written to down to the writer, so that no file is longer than one of the new size must be.
    fn shorten(&self, governor: &mut Governor, capacity: Capacity) -> Result<()> {
        let wanted = capacity.file_bytes();
        if self.files.last().is_none_or(|f| f.bytes() <= wanted) {
            return Ok(());
        }
        // Without the writer's mutex the writer could be on its way there; it is held by whoever
        // waits for the disk, so this round may be too early.
        let Some(mut writer) = self.writer.try_lock() else { return Ok(()) };
        let result = self.cut(&mut writer.output, governor, wanted);
        drop(writer);
        self.pass_on();
        result
    }

    fn cut(
        &self,
        output: &mut crate::files::Output,
        governor: &mut Governor,
        wanted: u64,
    ) -> Result<()> {
        let written = self.written().0.next_multiple_of(BLOCK);
        if let Some(ahead) = self.files.take_last_from(written) {
            self.limits.set_files_end(self.files.end());
            let mut control = self.control.lock();
            control.control.last_file = ahead.number - 1;
            control.write_one()?;
            drop(control);
            self.remove(&ahead.name())?;
            // Gone before the end of the file before it moves: they would not fit together.
            sync_dir(&self.files)?;
            governor.next_spare = governor.next_spare.max(ahead.number + 1);
        }
        let Some(last) = self.files.last() else { return Ok(()) };
        let end = written.max(last.start + wanted);
        if end >= last.end {
            return Ok(());
        }
        let file = Arc::clone(&last.file);
        let shorter = RedoFile { number: last.number, start: last.start, end, file };
        self.limits.set_files_end(end);
        shorter.write_header(self.files.log_id)?;
        let size = shorter.size();
        shorter.file.set_len(size).map_err(|e| Error::io("cut", shorter.name(), e))?;
        self.files.replace_last(shorter);
        output.forget();
        Ok(())
    }

    /// Brings the limits up to date, and notes when a new capacity is reached.
    fn settle(&self, governor: &Governor, capacity: Capacity) {
        let physical = self.files.size() + governor.size();
        let room = match governor.full {
            None => capacity.room(),
            Some(_) => self.room_there_is(governor).min(capacity.room()),
        };
        let control = self.control.lock();
        self.limits.set_target(room, self.tail().0);
        if physical <= capacity.bytes() && !self.limits.is_shrinking() {
            self.resized.store(capacity.bytes(), Ordering::Relaxed);
        }
        drop(control);
        self.space.notify_all();
    }

    /// With the files that exist: as [`Capacity::room`].
    fn room_there_is(&self, governor: &Governor) -> u64 {
        let chain = self.files.all();
        let mut bytes: Vec<u64> = chain.iter().map(|f| f.bytes()).collect();
        bytes.extend(governor.spares.iter().map(|s| s.bytes));
        let longest = bytes.iter().max().copied().unwrap_or(BLOCK);
        bytes.iter().sum::<u64>().saturating_sub(2 * longest).max(longest)
    }

    /// Once, before the first append after a restart: takes over the spares and removes consumed
    /// files that a crash has left.
    pub(crate) fn adopt(&self) -> Result<()> {
        let mut governor = self.governor.lock();
        let capacity = self.capacity();
        let (first, last) = match (self.files.all().first(), self.files.last()) {
            (Some(first), Some(last)) => (first.number, last.number),
            _ => return Err(Error::Internal("a log without files")),
        };
        governor.next_spare = last + 1;
        for name in names(&*self.files.disk)? {
            let Some((number, spare)) = file::parse_name(&name) else { continue };
            if !spare && number >= first {
                continue;
            }
            governor.next_spare = governor.next_spare.max(number + 1);
            let io = |op| {
                let name = name.clone();
                move |e| Error::io(op, name, e)
            };
            let bytes = capacity.file_bytes();
            if spare {
                let file = self.files.disk.open(&name, OpenMode::ReadWrite).map_err(io("open"))?;
                if file.len().map_err(io("measure"))? == file::HEADER_BYTES + bytes {
                    governor.spares.push_back(Spare { number, bytes, file });
                    continue;
                }
            }
            self.remove(&name)?;
        }
        governor.spares.make_contiguous().sort_by_key(|s| s.number);
        sync_dir(&self.files)
    }
}

impl Governor {
    /// `next_spare` is above the number of every file.
    pub(crate) fn new(next_spare: u64) -> Governor {
        Governor { spares: VecDeque::new(), next_spare, full: None }
    }

    /// Bytes on disk.
    fn size(&self) -> u64 {
        self.spares.iter().map(Spare::size).sum()
    }

    fn number(&mut self) -> u64 {
        self.next_spare += 1;
        self.next_spare - 1
    }
}
