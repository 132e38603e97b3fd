//! Files that need more than one page of descriptions.

use super::*;
use host::{File, OpenMode};
use std::io;

/// A simulated disk on which zeroes behind the end of a file take no memory.
struct Sparse(Arc<SimDisk>);

struct SparseFile(Arc<dyn File>);

impl Disk for Sparse {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SparseFile(self.0.open(name, mode)?)))
    }
    fn create_dir(&self, name: &str) -> io::Result<()> {
        self.0.create_dir(name)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        self.0.exists(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn sync_dir(&self) -> io::Result<()> {
        self.0.sync_dir()
    }
}

impl File for SparseFile {
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(buf, at)
    }
    fn write_at(&self, buf: &[u8], at: u64) -> io::Result<()> {
        if at >= self.0.len()? && buf.iter().all(|b| *b == 0) {
            return self.0.set_len(at + buf.len() as u64);
        }
        self.0.write_at(buf, at)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
}

/// Takes pages without making them.
fn take(world: &World, ts: &Tablespace, segment: Segment, count: usize) -> Vec<PageNo> {
    let mut all = Vec::new();
    let mut near = PageNo::NONE;
    while all.len() < count {
        let mut m = Mtr::new(&world.pool, &world.worker);
        for _ in 0..100.min(count - all.len()) {
            near = allocate_near(&mut m, ts, segment, near).unwrap();
            all.push(near);
        }
        m.commit().unwrap();
        world.tend();
    }
    all
}

fn give(world: &World, ts: &Tablespace, segment: Segment, pages: &[PageNo]) {
    for batch in pages.chunks(100) {
        let mut m = Mtr::new(&world.pool, &world.worker);
        for page in batch {
            free(&mut m, ts, segment, *page).unwrap();
        }
        m.commit().unwrap();
        world.tend();
    }
}

fn restart(world: &World, disk: &SimDisk) -> (World, Arc<Tablespace>, Arc<SimDisk>) {
    world.log.flush_to(world.log.tail()).unwrap();
    // Redo of a page makes the file long enough for it, but most pages here were never made: so
    // that the file's length does not depend on when the last checkpoint was.
    world.pool.flush_all().unwrap();
    let disk = disk.crash();
    let (world, ts) = World::recover(Arc::new(Sparse(disk.clone())));
    (world, ts, disk)
}

#[test]
fn a_file_of_several_pages_of_descriptions() {
    let disk = SimDisk::new(1);
    let (world, ts) = World::on(Arc::new(Sparse(disk.clone())));
    let (a, b) = (leaf(1), leaf(2));
    let of_a = take(&world, &ts, a, 2 * 16384);
    let mut model: Model = of_a.iter().map(|p| (p.0, a)).collect();
    model.extend(take(&world, &ts, b, 3000).iter().map(|p| (p.0, b)));
    assert!(!model.contains_key(&16384) && !model.contains_key(&32768));
    assert!(check(&ts, &model).extents > 2 * MAP_EXTENTS);
    let (world, ts, disk) = restart(&world, &disk);
    check(&ts, &model);

    let freed: Vec<_> = of_a.iter().copied().filter(|p| (6400..12800).contains(&p.0)).collect();
    give(&world, &ts, a, &freed);
    model.retain(|page, _| !(6400..12800).contains(page));
    let file = check(&ts, &model).pages_in_file;
    // Nobody remembers what was freed: it is found, and used before the file grows.
    let (world, ts, _disk) = restart(&world, &disk);
    model.extend(take(&world, &ts, b, 6400).iter().map(|p| (p.0, b)));
    assert_eq!(check(&ts, &model).pages_in_file, file);

    free_segments(&world.pool, &world.worker, &ts, IndexId(1), PageNo::NONE).unwrap();
    // Pages of shared extents say whose they are, and these were never made.
    let scattered = of_a[..32].to_vec();
    model.retain(|page, segment| *segment == b || scattered.contains(&PageNo(*page)));
    assert!(check(&ts, &model).extents_free > 300);
}
