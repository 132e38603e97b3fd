//! A disk in memory that fails the way disks fail, reproducibly from a seed.
//!
//! 1. What is written is readable at once, but durable only after `sync_data` of that file; what
//!    is created, removed or renamed is in force at once, but durable only after `sync_dir`.
//! 2. [`SimDisk::crash`] keeps any subset of what is not durable: each 512-byte sector by itself
//!    is old or new (a sector written twice may hold the first write), each block given back is there
//!    or gone, each file's length is old or new, each folder operation has happened or has not; across files nothing is ordered.
//! 3. A failed `sync_data` forgets that the bytes are dirty: they are still read back, a later
//!    `sync_data` succeeds, and a crash loses them. This is what Linux was observed to do.
//! 4. With one thread, or in a simulation (`sync::sched`), the same seed and the same calls give the same
//!    disk.
//! 5. In a simulation operations take virtual time: a read gives what was there when it began, a write
//!    takes place at its beginning or at its end, a sync makes durable what was written when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};

use instrument::MutexClass;
use stdx::rng::Rng;
use sync::Mutex;

use crate::disk::{BLOCK_BYTES, Disk, File, OpenMode, check_blocks, check_name};
use crate::sim_faults::{Faults, Latency, Nature, pause};
use crate::sim_inode::Inode;

static SIM_DISK: MutexClass = MutexClass::new("wait/synch/mutex/host/sim_disk");

/// What one folder operation did to names; applied wholly or not at all.
#[derive(Clone)]
struct NameChange(Vec<(String, Option<u64>)>);

/// Counts of what was asked of a [`SimDisk`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimStats {
    /// Calls of `read_at`.
    pub reads: u64,
    /// Calls of `write_at`.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Calls of `sync_data` that succeeded.
    pub syncs: u64,
    /// Calls of `sync_dir` that succeeded.
    pub dir_syncs: u64,
    /// Blocks that were given back to the file system.
    pub blocks_given_back: u64,
    /// Syncs that were answered and not done ([`SimDisk::ignore_syncs_of`]).
    pub ignored_syncs: u64,
}

struct State {
    rng: Rng,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    pending: Vec<NameChange>,
    folders: BTreeSet<String>,
    faults: Faults,
    nature: Nature,
    stats: SimStats,
}

/// A simulated disk. Clones of the `Arc` share it.
pub struct SimDisk {
    state: Mutex<State>,
    me: Weak<SimDisk>,
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new(seed: u64) -> Arc<SimDisk> {
        SimDisk::from_state(State {
            rng: Rng::new(seed),
            inodes: BTreeMap::new(),
            next_inode: 1,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending: Vec::new(),
            folders: BTreeSet::new(),
            faults: Faults::default(),
            nature: Nature::default(),
            stats: SimStats::default(),
        })
    }

    fn from_state(state: State) -> Arc<SimDisk> {
        Arc::new_cyclic(|me| SimDisk { state: Mutex::new(&SIM_DISK, state), me: me.clone() })
    }

    /// What a power cut at this moment would leave, as a disk of its own (invariant 2); faults
    /// are not carried over. This disk goes on, so one state can be crashed many ways.
    #[must_use]
    pub fn crash(&self) -> Arc<SimDisk> {
        let mut state = self.state.lock();
        let seed = state.rng.next_u64();
        let State { inodes, durable_names, pending, folders, next_inode, nature, .. } = &*state;
        let mut rng = Rng::new(seed);
        let mut names = durable_names.clone();
        for change in pending {
            if rng.chance(1, 2) {
                change.apply(&mut names);
            }
        }
        let inodes: BTreeMap<u64, Inode> = names
            .values()
            .filter_map(|id| Some((*id, inodes.get(id)?.after_crash(&mut rng))))
            .collect();
        SimDisk::from_state(State {
            rng,
            inodes,
            next_inode: *next_inode,
            durable_names: names.clone(),
            names,
            pending: Vec::new(),
            folders: folders.clone(),
            faults: Faults::default(),
            nature: nature.clone(),
            stats: SimStats::default(),
        })
    }

    /// What the death of the process alone leaves: everything written, as the operating system
    /// holds it; still not durable against a later [`SimDisk::crash`].
    #[must_use]
    pub fn kill(&self) -> Arc<SimDisk> {
        let seed = self.state.lock().rng.next_u64();
        self.copy(seed)
    }

    /// The same disk once more, without the faults, whose crashes `seed` decides. This one stays as it
    /// is.
    #[must_use]
    pub fn copy(&self, seed: u64) -> Arc<SimDisk> {
        let state = self.state.lock();
        SimDisk::from_state(State {
            rng: Rng::new(seed),
            inodes: state.inodes.clone(),
            next_inode: state.next_inode,
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            pending: state.pending.clone(),
            folders: state.folders.clone(),
            faults: Faults::default(),
            nature: state.nature.clone(),
            stats: SimStats::default(),
        })
    }

    /// Lets the next `n` calls of `sync_data` fail (invariant 3).
    pub fn fail_next_syncs(&self, n: u32) {
        self.state.lock().faults.fail_syncs = n;
    }

    /// Lets the next call of `sync_data` fail (invariant 3).
    pub fn fail_next_sync(&self) {
        self.fail_next_syncs(1);
    }

    /// After `n` more calls of `write_at` every further one fails, having written any part.
    pub fn fail_writes_after(&self, n: u64) {
        self.state.lock().faults.fail_writes_after = Some(n);
    }

    /// After `n` more operations that change the disk (writes, syncs, folder operations, length
    /// changes) every further operation fails: the moment to call [`SimDisk::crash`].
    pub fn power_off_after(&self, n: u64) {
        self.state.lock().faults.power_off_after = Some(n);
    }

    /// Turns the power off now, see [`SimDisk::power_off_after`].
    pub fn power_off(&self) {
        self.power_off_after(0);
    }

    /// True when the power is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.state.lock().faults.powered().is_err()
    }

    /// Lets the next `n` calls of `read_at` fail.
    pub fn fail_next_reads(&self, n: u32) {
        self.state.lock().faults.fail_reads = n;
    }

    /// Lets the next `n` calls of `read_at` give less than there is, as if the file ended there.
    pub fn short_next_reads(&self, n: u32) {
        self.state.lock().faults.short_reads = n;
    }

    /// From now on operations take virtual time in a simulation; of what a crash leaves too.
    pub fn set_latency(&self, latency: Latency) {
        self.state.lock().nature.latency = latency;
    }

    /// From now on `sync_data` of files whose names begin with `prefix` does nothing and succeeds, also on
    /// what a crash leaves: a disk that lies, or a server that forgot the call.
    pub fn ignore_syncs_of(&self, prefix: &str) {
        self.state.lock().nature.ignored_syncs.push(prefix.to_string());
    }

    /// As [`SimDisk::ignore_syncs_of`], for `sync_dir`.
    pub fn ignore_dir_syncs(&self) {
        self.state.lock().nature.ignores_dir_syncs = true;
    }

    /// From now on [`File::write_atomic`] writes up to `bytes` wholly or not at all, also on what a crash
    /// leaves.
    pub fn write_atomically(&self, bytes: usize) {
        self.state.lock().nature.atomic_write_bytes = bytes;
    }

    /// Leaves room for `bytes` more bytes of file contents; a write that needs more fails with
    /// `StorageFull` and writes nothing.
    pub fn enospc_after(&self, bytes: u64) {
        self.state.lock().faults.free_bytes = Some(bytes);
    }

    /// Flips a bit at `n` random places of a file, durably; the offsets.
    pub fn rot(&self, name: &str, n: usize) -> Vec<u64> {
        let flip = |_| {
            let (at, bit) = {
                let mut state = self.state.lock();
                let id = *state.names.get(name).expect("the test names an existing file");
                let bytes = state.inodes[&id].bytes;
                (state.rng.below(bytes), state.rng.below(8) as u8)
            };
            self.flip_bit(name, at, bit);
            at
        };
        (0..n).map(flip).collect()
    }

    /// Ends [`SimDisk::enospc_after`].
    pub fn make_room(&self) {
        self.state.lock().faults.free_bytes = None;
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.state.lock().faults = Faults::default();
    }

    /// Ends all faults, unless the power is off already: `false` then.
    #[must_use]
    pub fn heal_if_on(&self) -> bool {
        let mut state = self.state.lock();
        let on = state.faults.powered().is_ok();
        if on {
            state.faults = Faults::default();
        }
        on
    }

    /// Flips one bit (0..=7) of the byte at `offset`, durably: latent bit rot. Panics when the
    /// file has no such byte: a test's mistake.
    pub fn flip_bit(&self, name: &str, offset: u64, bit: u8) {
        let mut state = self.state.lock();
        let id = *state.names.get(name).expect("the test names an existing file");
        let inode = state.inodes.get_mut(&id).expect("every name has its inode");
        assert!(offset < inode.bytes, "{name} has only {} bytes", inode.bytes);
        let (block, at) = (offset / BLOCK_BYTES as u64, (offset % BLOCK_BYTES as u64) as usize);
        if let Some(dirty) = inode.cached.get_mut(&block) {
            Arc::make_mut(&mut dirty.bytes)[at] ^= 1 << bit;
        }
        let bytes = inode.durable.entry(block).or_insert_with(|| Arc::new([0; BLOCK_BYTES]));
        Arc::make_mut(bytes)[at] ^= 1 << bit;
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> SimStats {
        self.state.lock().stats
    }

    fn change_names(&self, change: NameChange) -> io::Result<()> {
        let done = {
            let mut state = self.state.lock();
            let changed = state.faults.operation();
            if changed.is_ok() {
                change.apply(&mut state.names);
                state.pending.push(change);
            }
            changed
        };
        self.wait_about(|latency| latency.write_ns);
        done
    }

    /// Waits a random part of an operation's latency.
    fn wait_about(&self, most: impl Fn(&Latency) -> u64) {
        pause(self.draw_wait(most));
    }

    fn draw_wait(&self, most: impl Fn(&Latency) -> u64) -> u64 {
        let mut state = self.state.lock();
        match most(&state.nature.latency) {
            0 => 0,
            most => state.rng.below(most) + 1,
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        for (name, inode) in &self.0 {
            match inode {
                Some(id) => names.insert(name.clone(), *id),
                None => names.remove(name),
            };
        }
    }
}

impl State {
    fn find(&self, name: &str) -> io::Result<u64> {
        self.names.get(name).copied().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("no file '{name}' on the simulated disk"),
            )
        })
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        sync::before_io();
        check_name(name)?;
        let mut state = self.state.lock();
        state.faults.powered()?;
        let inode = if mode == OpenMode::Create {
            if state.names.contains_key(name) {
                let what = format!("'{name}' exists on the simulated disk");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
            }
            if let Some((folder, _)) = name.rsplit_once('/')
                && !state.folders.contains(folder)
            {
                let what = format!("no folder '{folder}' on the simulated disk");
                return Err(io::Error::new(io::ErrorKind::NotFound, what));
            }
            state.faults.operation()?;
            let id = state.next_inode;
            state.next_inode += 1;
            state.inodes.insert(id, Inode::default());
            let change = NameChange(vec![(name.to_string(), Some(id))]);
            change.apply(&mut state.names);
            state.pending.push(change);
            id
        } else {
            state.find(name)?
        };
        let disk = self.me.upgrade().expect("a disk is always in its Arc");
        let writable = mode != OpenMode::Read;
        Ok(Arc::new(SimFile { disk, inode, name: name.to_string(), writable }))
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        let mut state = self.state.lock();
        state.faults.powered()?;
        // Folders are durable at once: nothing in the engine depends on losing one.
        state.folders.insert(name.to_string());
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        sync::before_io();
        self.state.lock().find(name)?;
        self.change_names(NameChange(vec![(name.to_string(), None)]))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        sync::before_io();
        check_name(to)?;
        let id = self.state.lock().find(from)?;
        self.change_names(NameChange(vec![(from.to_string(), None), (to.to_string(), Some(id))]))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.state.lock().names.contains_key(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state.lock().names.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        sync::before_io();
        self.wait_about(|latency| latency.sync_ns);
        let mut state = self.state.lock();
        state.faults.operation()?;
        if state.nature.ignores_dir_syncs {
            state.stats.ignored_syncs += 1;
            return Ok(());
        }
        state.durable_names = state.names.clone();
        state.pending.clear();
        state.stats.dir_syncs += 1;
        Ok(())
    }
}

/// An open file of a [`SimDisk`].
struct SimFile {
    disk: Arc<SimDisk>,
    inode: u64,
    name: String,
    writable: bool,
}

impl SimFile {
    fn with<R>(&self, f: impl FnOnce(&mut State, &mut Inode) -> io::Result<R>) -> io::Result<R> {
        sync::before_io();
        let mut state = self.disk.state.lock();
        let mut inode = state.inodes.remove(&self.inode).expect("an open file has its inode");
        let result = f(&mut state, &mut inode);
        state.inodes.insert(self.inode, inode);
        result
    }

    fn write(&self, buf: &[u8], at: u64, atomic: bool) -> io::Result<()> {
        check_blocks(&self.name, buf.as_ptr(), buf.len(), at)?;
        self.check_writable()?;
        let wait_ns = self.disk.draw_wait(|latency| latency.write_ns);
        if wait_ns % 2 == 1 {
            pause(wait_ns);
        }
        let result = self.with(|state, inode| {
            state.faults.operation()?;
            let first = at / BLOCK_BYTES as u64;
            let blocks = (buf.len() / BLOCK_BYTES) as u64;
            let mut part = blocks;
            let mut fails = false;
            if let Some(left) = &mut state.faults.fail_writes_after {
                fails = *left == 0;
                *left = left.saturating_sub(1);
            }
            if fails {
                part = if atomic { 0 } else { state.rng.below(blocks + 1) };
            }
            take_room(state, inode, first, part)?;
            let written = &buf.as_chunks::<BLOCK_BYTES>().0[..part as usize];
            if atomic {
                inode.write_unit(first, written, &mut state.rng);
            } else {
                for (number, bytes) in (first..).zip(written) {
                    inode.write_block(number, bytes, &mut state.rng);
                }
            }
            let end = at + part * BLOCK_BYTES as u64;
            if part > 0 && end > inode.bytes {
                inode.set_bytes(end);
            }
            state.stats.writes += 1;
            state.stats.written_bytes += part * BLOCK_BYTES as u64;
            if fails { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(()) }
        });
        if wait_ns.is_multiple_of(2) {
            pause(wait_ns);
        }
        result
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.writable {
            return Ok(());
        }
        let what = format!("'{}' is open for reading only", self.name);
        Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
    }
}

/// The blocks of a range that has to be made of whole ones.
fn whole_blocks(name: &str, at: u64, bytes: u64) -> io::Result<Range<u64>> {
    check_blocks(name, std::ptr::null(), 0, at)?;
    check_blocks(name, std::ptr::null(), 0, bytes)?;
    Ok(at / BLOCK_BYTES as u64..(at + bytes) / BLOCK_BYTES as u64)
}

/// Takes room for blocks that the file does not have yet.
fn take_room(state: &mut State, inode: &Inode, first: u64, blocks: u64) -> io::Result<()> {
    let Some(free) = &mut state.faults.free_bytes else { return Ok(()) };
    let fresh = (first..first + blocks).filter(|n| !inode.has_room_for(*n)).count();
    let need = (fresh * BLOCK_BYTES) as u64;
    if need > *free {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    *free -= need;
    Ok(())
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        check_blocks(&self.name, buf.as_ptr(), buf.len(), at)?;
        let result = self.with(|state, inode| {
            state.stats.reads += 1;
            let bytes = inode.bytes.saturating_sub(at).min(buf.len() as u64) as usize;
            let bytes = state.faults.read(bytes, BLOCK_BYTES, &mut state.rng)?;
            let first = at / BLOCK_BYTES as u64;
            for (n, out) in buf[..bytes].chunks_mut(BLOCK_BYTES).enumerate() {
                match inode.block(first + n as u64) {
                    Some(block) => out.copy_from_slice(&block[..out.len()]),
                    None => out.fill(0),
                }
            }
            Ok(bytes)
        });
        self.disk.wait_about(|latency| latency.read_ns);
        result
    }

    fn write_at(&self, buf: &[u8], at: u64) -> io::Result<()> {
        self.write(buf, at, false)
    }

    fn atomic_write_bytes(&self) -> usize {
        self.disk.state.lock().nature.atomic_write_bytes
    }

    fn write_atomic(&self, buf: &[u8], at: u64) -> io::Result<()> {
        let unit = self.atomic_write_bytes();
        let atomic = unit > 0 && buf.len() <= unit && at.is_multiple_of(buf.len() as u64);
        self.write(buf, at, atomic)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.wait_about(|latency| latency.sync_ns);
        self.with(|state, inode| {
            state.faults.operation()?;
            if state.faults.fail_syncs > 0 {
                state.faults.fail_syncs -= 1;
                inode.fail_sync(&mut state.rng);
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            if state.nature.ignores(&self.name) {
                state.stats.ignored_syncs += 1;
                return Ok(());
            }
            inode.sync();
            state.stats.syncs += 1;
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|_, inode| Ok(inode.bytes))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        self.with(|state, inode| {
            state.faults.operation()?;
            inode.set_bytes(bytes);
            Ok(())
        })
    }

    fn give_back(&self, at: u64, bytes: u64) -> io::Result<bool> {
        self.check_writable()?;
        let numbers = whole_blocks(&self.name, at, bytes)?;
        self.disk.wait_about(|latency| latency.write_ns);
        self.with(|state, inode| {
            state.faults.operation()?;
            let given = inode.give_back(numbers, &mut state.rng);
            state.stats.blocks_given_back += given;
            if let Some(free) = &mut state.faults.free_bytes {
                *free += given * BLOCK_BYTES as u64;
            }
            Ok(true)
        })
    }

    fn make_room(&self, at: u64, bytes: u64) -> io::Result<bool> {
        self.check_writable()?;
        let numbers = whole_blocks(&self.name, at, bytes)?;
        self.with(|state, inode| {
            state.faults.operation()?;
            take_room(state, inode, numbers.start, numbers.end - numbers.start)?;
            inode.make_room(numbers);
            Ok(true)
        })
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        self.with(|_, inode| Ok(inode.blocks_with_room() * BLOCK_BYTES as u64))
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
#[path = "sim_tests.rs"]
mod tests;
