//! Files: what is read from each and written to it, and by instrument.
//!
//! 1. A file is known by its full name from the first time that it is opened until it is removed: closing it leaves it. One
//! that is removed while it is open stays until its last handle is closed. 2. Figures lie beside the file, and its handles
//! share them. 3. What a file counted that is gone is kept by class, so that the figures of a class are the sum over all
//! files there ever were. 4. A file without room is lost: counted as such, and its operations nowhere.

use crate::io::{IoFigures, IoOperation, IoTotals};
use crate::past::{Wait, WaitObject, record_wait};
use crate::{Class, Operation, is_instrumented};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use stdx::lock;

crate::classes! {
    static MEMORY: OwnMemory = "memory/performance_schema/file_instances";
}

/// A file and its figures.
#[derive(Debug)]
struct KnownFile {
    class: &'static Class,
    /// Its full name, or its last one.
    name: Mutex<Arc<str>>,
    figures: IoFigures,
    /// Changed under the list's mutex.
    handles: AtomicU64,
    /// It has no name any more; changed under the list's mutex.
    removed: AtomicBool,
}

/// The files that there are.
struct Files {
    named: HashMap<Arc<str>, Arc<KnownFile>>,
    /// Open files that were removed.
    unnamed: Vec<(Arc<str>, Arc<KnownFile>)>,
    /// What files counted that are gone.
    ended: HashMap<u16, IoTotals>,
    handles: usize,
    limits: FileLimits,
    lost: FilesLost,
}

/// For how many there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// `performance_schema_max_file_instances`.
    pub instances: usize,
    /// `performance_schema_max_file_handles`.
    pub handles: usize,
}

impl FileLimits {
    /// Until [`set_file_limits`] says otherwise. MySQL's list of files grows up to a million.
    pub const DEFAULT: FileLimits = FileLimits { instances: 1 << 20, handles: 32_768 };
}

/// How often there was no room: `Performance_schema_file_..._lost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilesLost {
    /// For a file.
    pub instances: u64,
    /// For one more handle.
    pub handles: u64,
}

static FILES: LazyLock<Mutex<Files>> = LazyLock::new(|| {
    Mutex::new(Files {
        named: HashMap::new(),
        unnamed: Vec::new(),
        ended: HashMap::new(),
        handles: 0,
        limits: FileLimits::DEFAULT,
        lost: FilesLost::default(),
    })
});

impl KnownFile {
    fn add(self: &Arc<Self>, operation: Operation, ns: Option<u64>, bytes: u64) {
        self.figures.add(self.class, operation.of_io(), ns, bytes);
        if self.class.recorded() {
            let name = Arc::clone(&lock(&self.name));
            let number = Arc::as_ptr(self).addr() as u64;
            record(self.class, (operation, ns, bytes), name, number);
        }
    }
}

/// Keeps an operation as a wait that is over.
#[cold]
fn record(
    class: &'static Class,
    (operation, ns, bytes): (Operation, Option<u64>, u64),
    name: Arc<str>,
    number: u64,
) {
    let amount = (operation.of_io() != IoOperation::Misc).then_some(bytes);
    let object = WaitObject { kind: Some("FILE"), name: Some(name), ..WaitObject::default() };
    record_wait(class, Wait { operation, ns, number, object, amount });
}

fn files() -> MutexGuard<'static, Files> {
    lock(&FILES)
}

/// Memory of a file of this name.
fn bytes_of(name: &str) -> usize {
    size_of::<KnownFile>() + name.len()
}

impl Files {
    fn find_or_add(&mut self, class: &'static Class, name: &str) -> Option<Arc<KnownFile>> {
        if let Some(known) = self.named.get(name) {
            return Some(Arc::clone(known));
        }
        let is_full = self.named.len() + self.unnamed.len() >= self.limits.instances;
        if is_full || !MEMORY.try_take(bytes_of(name)) {
            self.lost.instances += 1;
            return None;
        }
        let name: Arc<str> = name.into();
        let known = Arc::new(KnownFile {
            class,
            name: Mutex::new(Arc::clone(&name)),
            figures: IoFigures::new(),
            handles: AtomicU64::new(0),
            removed: AtomicBool::new(false),
        });
        self.named.insert(name, Arc::clone(&known));
        Some(known)
    }

    /// A name is taken from its file.
    fn unname(&mut self, name: &str) {
        let Some((name, known)) = self.named.remove_entry(name) else { return };
        known.removed.store(true, Relaxed);
        match known.handles.load(Relaxed) {
            0 => self.end(&name, &known),
            _ => self.unnamed.push((name, known)),
        }
    }

    /// A file is gone.
    fn end(&mut self, name: &str, known: &KnownFile) {
        MEMORY.give_back(bytes_of(name));
        self.ended
            .entry(known.class.id_if_registered().unwrap_or_default())
            .or_default()
            .add(&known.figures.totals());
    }

    fn all(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<KnownFile>)> {
        self.named.iter().chain(self.unnamed.iter().map(|(name, known)| (name, known)))
    }
}

/// An open file, as long as it is open; nothing where there was no room for it.
#[derive(Debug)]
pub struct FileHandle(Option<Arc<KnownFile>>);

impl FileHandle {
    /// A file was opened by its full name.
    pub fn open(class: &'static Class, name: &str) -> FileHandle {
        class.id();
        let mut files = files();
        if files.handles >= files.limits.handles {
            files.lost.handles += 1;
            return FileHandle(None);
        }
        let known = files.find_or_add(class, name);
        if let Some(known) = &known {
            known.handles.fetch_add(1, Relaxed);
            files.handles += 1;
        }
        FileHandle(known)
    }

    /// The class by which its operations are counted, while they are.
    #[inline]
    pub fn counted(&self) -> Option<&'static Class> {
        self.0
            .as_ref()
            .map(|known| known.class)
            .filter(|class| class.enabled() && is_instrumented())
    }

    /// Counts an operation; `ns` if it was timed.
    pub fn add(&self, operation: Operation, ns: Option<u64>, bytes: u64) {
        if let Some(known) = &self.0 {
            known.add(operation, ns, bytes);
        }
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        let Some(known) = &self.0 else { return };
        let mut files = files();
        files.handles -= 1;
        if known.handles.fetch_sub(1, Relaxed) == 1 && known.removed.load(Relaxed) {
            let place = files.unnamed.iter().position(|(_, other)| Arc::ptr_eq(other, known));
            if let Some(place) = place {
                let (name, _) = files.unnamed.swap_remove(place);
                files.end(&name, known);
            }
        }
    }
}

/// Counts what was done to a file by its name, which was no reading or writing. It is not added to the files by that.
pub fn add_by_name(class: &'static Class, name: &str, operation: Operation, ns: Option<u64>) {
    class.id();
    let mut files = files();
    match files.named.get(name).cloned() {
        Some(known) => known.add(operation, ns, 0),
        None => {
            let figures = IoFigures::new();
            figures.add(class, operation.of_io(), ns, 0);
            files.ended.entry(class.id()).or_default().add(&figures.totals());
            if class.recorded() {
                record(class, (operation, ns, 0), name.into(), 0);
            }
        }
    }
}

/// A file was removed.
pub fn file_removed(name: &str) {
    files().unname(name);
}

/// A file has another name now, and what had that one is gone.
pub fn file_renamed(from: &str, to: &str) {
    let mut files = files();
    files.unname(to);
    if !files.named.contains_key(from) {
        return;
    }
    if !MEMORY.try_take(bytes_of(to)) {
        // Under its new name it is unknown; what it counted stays.
        files.lost.instances += 1;
        return files.unname(from);
    }
    if let Some(known) = files.named.remove(from) {
        MEMORY.give_back(bytes_of(from));
        let name: Arc<str> = to.into();
        *lock(&known.name) = Arc::clone(&name);
        files.named.insert(name, known);
    }
}

/// A file as it is now.
#[derive(Debug, Clone)]
pub struct FileReport {
    /// Full name.
    pub name: Arc<str>,
    /// Class.
    pub class: &'static Class,
    /// What tells it from others while it is there: OBJECT_INSTANCE_BEGIN.
    pub number: u64,
    /// How often it is open.
    pub handles: u64,
    /// What was done to it.
    pub totals: IoTotals,
}

/// All files, ordered by name.
pub fn file_reports() -> Vec<FileReport> {
    let mut all: Vec<FileReport> = {
        let files = files();
        let report = |(name, known): (&Arc<str>, &Arc<KnownFile>)| FileReport {
            name: Arc::clone(name),
            class: known.class,
            number: Arc::as_ptr(known).addr() as u64,
            handles: known.handles.load(Relaxed),
            totals: known.figures.totals(),
        };
        files.all().map(report).collect()
    };
    all.sort_by(|a, b| (&a.name, a.number).cmp(&(&b.name, b.number)));
    all
}

/// What was done to all files of a class, those included that are gone; by the class's number.
pub fn file_totals() -> HashMap<u16, IoTotals> {
    let files = files();
    let mut sums = files.ended.clone();
    for (_, known) in files.all() {
        if let Some(id) = known.class.id_if_registered() {
            sums.entry(id).or_default().add(&known.figures.totals());
        }
    }
    sums
}

/// Empties the figures of all files.
pub fn empty_files() {
    let mut files = files();
    files.ended.clear();
    files.all().for_each(|(_, known)| known.figures.empty());
}

/// Sets for how many there is room; what is there stays.
pub fn set_file_limits(limits: FileLimits) {
    files().limits = limits;
}

/// How often there was no room.
pub fn files_lost() -> FilesLost {
    files().lost
}

/// `FLUSH STATUS`: what was lost counts from zero again.
pub fn forget_files_lost() {
    files().lost = FilesLost::default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileClass;

    static CLASS: FileClass = FileClass::new("wait/io/file/test/file");

    fn of(name: &str) -> Option<FileReport> {
        file_reports().into_iter().find(|file| &*file.name == name)
    }

    fn of_class() -> IoTotals {
        file_totals().get(&CLASS.id()).copied().unwrap_or_default()
    }

    /// One test: the list is the process's.
    #[test]
    fn a_file_is_there_until_it_is_removed_and_its_figures_stay() {
        let a = FileHandle::open(&CLASS, "/t/a");
        let again = FileHandle::open(&CLASS, "/t/a");
        a.add(Operation::Read, Some(7), 100);
        again.add(Operation::Read, Some(3), 50);
        again.add(Operation::Sync, None, 9);
        let report = of("/t/a").unwrap();
        let [read, write, misc] = report.totals.operations;
        assert_eq!((report.handles, report.totals.bytes_read), (2, 150));
        assert_eq!((read.count, read.ns_sum, read.ns_min, read.ns_max), (2, 10, 3, 7));
        assert_eq!((write.count, misc.count, misc.ns_min), (0, 1, 0));
        drop((a, again));
        assert_eq!(of("/t/a").unwrap().handles, 0);
        file_renamed("/t/a", "/t/b");
        assert!(of("/t/a").is_none() && of("/t/b").unwrap().number == report.number);
        let open = FileHandle::open(&CLASS, "/t/b");
        file_removed("/t/b");
        open.add(Operation::Write, None, 5);
        assert_eq!(of("/t/b").unwrap().totals.bytes_written, 5);
        let other = FileHandle::open(&CLASS, "/t/b");
        assert_ne!(of_class().bytes_read, 0);
        drop(open);
        assert_eq!(of("/t/b").unwrap().totals, IoTotals::default(), "another file of this name");
        add_by_name(&CLASS, "/t/b", Operation::Stat, None);
        add_by_name(&CLASS, "/t/nothing", Operation::Stat, None);
        let sums = of_class();
        assert_eq!((sums.bytes_read, sums.bytes_written, sums.all().count), (150, 5, 6));
        drop(other);
        file_removed("/t/b");
        assert_eq!((of_class(), of("/t/b").is_none()), (sums, true));
        empty_files();
        assert_eq!(of_class(), IoTotals::default());

        set_file_limits(FileLimits { instances: 1, handles: 2 });
        let some = ["/t/c", "/t/d", "/t/c", "/t/c"].map(|name| FileHandle::open(&CLASS, name));
        some.iter().for_each(|file| file.add(Operation::Read, None, 1));
        assert_eq!(files_lost(), FilesLost { instances: 1, handles: 1 });
        assert_eq!(of_class().bytes_read, 2);
        set_file_limits(FileLimits::DEFAULT);
    }
}
