//! Disks that fail: full, unreadable, not syncing; files that are not ours.

use super::*;
use base::{Error, PageId};
use host::{File, OpenMode, RealDisk};
use std::io;
use stdx::{Ordering, SharedAtomic, class};

type Flag = Arc<SharedAtomic<bool, { class::OTHER }>>;

/// A disk whose reads, or syncs of the data file, fail while the flag is set.
struct BadDisk {
    under: Arc<SimDisk>,
    bad_reads: Flag,
    bad_syncs: Flag,
}

struct BadFile {
    under: Arc<dyn File>,
    disk: Arc<SimDisk>,
    bad_reads: Flag,
    bad_syncs: Flag,
}

fn bad_disk(seed: u64) -> BadDisk {
    BadDisk { under: SimDisk::new(seed), bad_reads: Flag::default(), bad_syncs: Flag::default() }
}

impl Disk for BadDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let under = self.under.open(name, mode)?;
        let (bad_reads, bad_syncs) = (self.bad_reads.clone(), self.bad_syncs.clone());
        Ok(Arc::new(BadFile { under, disk: self.under.clone(), bad_reads, bad_syncs }))
    }
    fn create_dir(&self, name: &str) -> io::Result<()> {
        self.under.create_dir(name)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.under.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.under.rename(from, to)
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        self.under.exists(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.under.list()
    }
    fn sync_dir(&self) -> io::Result<()> {
        self.under.sync_dir()
    }
}

impl File for BadFile {
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        if self.bad_reads.load(Ordering::Relaxed) {
            buf.fill(0xEE);
            return Err(io::Error::from_raw_os_error(5));
        }
        self.under.read_at(buf, at)
    }
    fn write_at(&self, buf: &[u8], at: u64) -> io::Result<()> {
        self.under.write_at(buf, at)
    }
    fn sync_data(&self) -> io::Result<()> {
        if self.bad_syncs.load(Ordering::Relaxed) && self.name() == NAME {
            self.disk.fail_next_sync();
        }
        self.under.sync_data()
    }
    fn len(&self) -> io::Result<u64> {
        self.under.len()
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.under.set_len(bytes)
    }
    fn name(&self) -> &str {
        self.under.name()
    }
}

#[test]
fn a_read_error_reaches_every_reader_and_passes() {
    let disk = bad_disk(1);
    let broken = disk.bad_reads.clone();
    let world = World::create(Arc::new(disk), 64).unwrap();
    let ts = counters_on_disk(&world, 4);
    broken.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let e = ts.optimistic(PageNo(3)).map(|_| ()).unwrap_err();
                    assert!(matches!(&e, Error::Io { op: "read", path, .. } if path == NAME));
                }
            });
        }
    });
    broken.store(false, Ordering::Relaxed);
    assert_eq!(value(&ts, 3).unwrap(), 0);
    // No frame was lost on the way.
    for page in 5..200 {
        make_counter(&world, &ts, page);
    }
}

#[test]
fn a_damaged_page_is_an_error_that_names_it() {
    let (disk, world) = sim(2, 64);
    let ts = counters_on_disk(&world, 3);
    disk.flip_bit(NAME, 2 * PAGE_BYTES as u64 + 9000, 5);
    for _ in 0..3 {
        let found = ts.shared(PageNo(2)).map(|_| ());
        let want = PageId::new(SPACE, PageNo(2));
        assert!(matches!(found, Err(Error::Corrupt { page, .. }) if page == want), "{found:?}");
    }
    assert_eq!(value(&ts, 1).unwrap(), 0);
    assert_eq!(value(&ts, 3).unwrap(), 0);
}

#[test]
fn a_page_of_another_log_is_an_error_that_names_it() {
    let (disk, world) = sim(22, 64);
    let ts = counters_on_disk(&world, 3);
    let file = disk.open(NAME, OpenMode::ReadWrite).unwrap();
    let mut bytes = host::AlignedBuf::zeroed(PAGE_BYTES);
    let mut put_lsn = |lsn| {
        file.read_at(&mut bytes, 2 * PAGE_BYTES as u64).unwrap();
        let page: &mut PageBuf = bytes.as_mut_array().unwrap();
        page::header::set_lsn(page, lsn);
        page::header::seal(page);
        file.write_at(&bytes, 2 * PAGE_BYTES as u64).unwrap();
    };
    put_lsn(Lsn(world.log.tail().0 + 1));
    let want = PageId::new(SPACE, PageNo(2));
    for _ in 0..2 {
        let found = ts.shared(PageNo(2)).map(|_| ());
        assert!(matches!(found, Err(Error::Corrupt { page, .. }) if page == want), "{found:?}");
    }
    assert_eq!(value(&ts, 1).unwrap(), 0);
    put_lsn(world.log.tail());
    assert_eq!(value(&ts, 2).unwrap(), 0);
}

#[test]
fn the_first_failed_sync_is_the_last_write() {
    for what in ["sync of the doublewrite file", "write in place"] {
        let (disk, world) = sim(3, 64);
        let ts = counters(&world, 3);
        world.log.flush_to(world.log.tail()).unwrap();
        let told = Arc::new(SharedAtomic::<u32, { class::OTHER }>::new(0));
        let hook = told.clone();
        world.pool.set_fatal_hook(Box::new(move |_| {
            hook.fetch_add(1, Ordering::Relaxed);
        }));
        let before = world.pool.checkpoint(b"").unwrap();
        if what.starts_with("sync") {
            disk.fail_next_sync();
        } else {
            disk.fail_writes_after(1);
        }
        let e = world.pool.clean_some(64).unwrap_err();
        assert!(matches!(e, Error::Io { .. }), "{what} {e}");
        disk.heal();
        assert!(world.pool.failed());
        assert!(world.pool.clean_some(64).is_err(), "a retry would prove nothing");
        assert!(world.pool.checkpoint(b"").is_err());
        assert!(world.pool.flush_all().is_err());
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(world.log.checkpoint_lsn(), before);
        assert_eq!(value(&ts, 3).unwrap(), 0, "what is in memory can be read");
        // And a restart from what the disk has finds everything.
        drop(world);
        let (_world, ts) = World::recover(disk.crash(), 64).unwrap();
        for page in 1..=3 {
            assert_eq!(value(&ts, page).unwrap(), 0);
        }
    }
}

/// The server dies of a failed sync; the system still shows pages that it will never write.
#[test]
fn pages_that_only_look_written_are_written_again() {
    let bad = bad_disk(7);
    let (disk, bad_syncs) = (bad.under.clone(), bad.bad_syncs.clone());
    let world = World::create(Arc::new(bad), 64).unwrap();
    let ts = counters(&world, 3);
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    let mut m = world.mtr();
    bump(&mut m, &ts, 2);
    world.log.flush_to(m.commit().unwrap()).unwrap();
    bad_syncs.store(true, Ordering::Relaxed);
    assert!(world.pool.clean_some(64).is_err());
    drop(world);

    let disk = disk.kill();
    let (world, ts) = World::recover(disk.clone(), 64).unwrap();
    assert_eq!(value(&ts, 2).unwrap(), 1);
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    for _ in 0..20 {
        let (_world, ts) = World::recover(disk.crash(), 64).unwrap();
        assert_eq!(value(&ts, 2).unwrap(), 1);
    }
}

#[test]
fn a_change_that_cannot_be_logged_never_reaches_a_file() {
    let (disk, world) = sim(4, 64);
    let ts = counters(&world, 2);
    world.pool.flush_all().unwrap();
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    disk.fail_next_sync();
    let lsn = world.log.tail();
    // Another session's log write fails in between.
    let mut body = Vec::new();
    redo::body::push_logical(&mut body, redo::kind::ENGINE, b"x");
    let worker = world.slots.acquire_worker().unwrap();
    let end = world.log.append(&worker, &body, |_, _| {}).unwrap();
    assert!(end > lsn && world.log.flush_to(end).is_err());
    disk.heal();
    assert!(m.commit().is_err());
    assert!(world.pool.failed() && world.pool.clean_some(64).is_err());
    let (_world, ts) = World::recover(disk.crash(), 64).unwrap();
    assert_eq!(value(&ts, 1).unwrap(), 0);
}

#[test]
fn a_full_disk_stops_growth_and_nothing_else() {
    let (disk, world) = sim(5, 64);
    let ts = counters(&world, 1);
    let have = ts.pages_in_file();
    disk.enospc_after(2 * PAGE_BYTES as u64);
    let grown = ts.grow(PageNo(have + 2));
    assert!(matches!(&grown, Err(Error::NoSpace { path }) if path == NAME), "{grown:?}");
    assert_eq!(ts.pages_in_file(), have);
    assert_eq!(value(&ts, 1).unwrap(), 0);
    // Two pages fit: not the chunk that growth would like, but what is needed.
    ts.grow(PageNo(have + 1)).unwrap();
    assert_eq!(ts.pages_in_file(), have + 2);
    disk.enospc_after(0);
    let made = world.pool.create_tablespace(SpaceId(17), "b.ibd").map(|_| ());
    assert!(matches!(made, Err(Error::NoSpace { .. })), "{made:?}");
    assert!(!disk.exists("b.ibd").unwrap());
    disk.heal();
    world.pool.create_tablespace(SpaceId(17), "b.ibd").unwrap();
}

#[test]
fn files_that_are_not_ours_are_refused() {
    let (disk, world) = sim(6, 64);
    let open = |id: u32, name: &str| world.pool.open_tablespace(SpaceId(id), name).map(|_| ());
    assert!(matches!(open(20, "none.ibd"), Err(Error::MissingSpace(SpaceId(20)))));
    let file = disk.open("alien.ibd", OpenMode::Create).unwrap();
    assert!(matches!(open(20, "alien.ibd"), Err(Error::Foreign { .. })));
    file.write_at(&host::AlignedBuf::zeroed(PAGE_BYTES), 0).unwrap();
    assert!(matches!(open(20, "alien.ibd"), Err(Error::Foreign { .. })));
    let ts = world.pool.create_tablespace(SpaceId(21), "mine.ibd").unwrap();
    assert!(matches!(open(21, "mine.ibd"), Err(Error::Internal(_))), "open already");
    world.pool.close_tablespace(&ts).unwrap();
    assert!(matches!(open(22, "mine.ibd"), Err(Error::Foreign { .. })), "another id");
    open(21, "mine.ibd").unwrap();
    world.pool.close_tablespace(&world.pool.tablespace(SpaceId(21)).unwrap()).unwrap();
    disk.flip_bit("mine.ibd", crate::spacefile::FORMAT_AT as u64 + 3, 6);
    assert!(matches!(open(21, "mine.ibd"), Err(Error::Foreign { .. })), "newer format");
    disk.flip_bit("mine.ibd", crate::spacefile::FORMAT_AT as u64 + 3, 6);
    disk.flip_bit("mine.ibd", 9000, 1);
    assert!(matches!(open(21, "mine.ibd"), Err(Error::Corrupt { .. })), "damaged");
}

#[test]
fn a_real_disk_keeps_pages_over_a_restart() {
    let folder = std::env::temp_dir().join(format!("limpid-pool-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    {
        let world = World::create(RealDisk::open(&folder).unwrap(), 64).unwrap();
        let ts = counters(&world, 100);
        for page in 1..=100 {
            let mut m = world.mtr();
            bump(&mut m, &ts, page);
            m.commit().unwrap();
        }
        world.log.flush_to(world.log.tail()).unwrap();
    }
    {
        let (_world, ts) = World::recover(RealDisk::open(&folder).unwrap(), 64).unwrap();
        for page in 1..=100 {
            assert_eq!(value(&ts, page).unwrap(), 1);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
