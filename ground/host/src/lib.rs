//! The outside world: files, clock and threads, real and simulated.
//!
//! 1. Nothing above this crate opens a file, reads a clock or starts a thread by itself, so that
//!    a test can replace all three.
//! 2. All file I/O is in whole blocks of [`BLOCK_BYTES`], from and into block-aligned memory
//!    ([`AlignedBuf`]); real and simulated disks refuse anything else in the same way, so a test
//!    on the simulated disk finds what `O_DIRECT` would refuse.
//! 3. Each operation on a real file is counted by its instrument ([`watched`]); simulated ones are not.
//! 4. Nothing is durable before the right call: file bytes before [`File::sync_data`], names
//!    (creation, removal, renaming) before [`Disk::sync_dir`].

// Aligned and mapped memory, and the write trap's signal handler, cannot be written without it;
// each block carries its proof.
#![allow(unsafe_code)]

mod aligned;
pub mod clock;
mod disk;
mod flush_method;
#[cfg(not(loom))]
pub mod lent_stack;
#[cfg(not(loom))]
pub mod probe;
mod real;
pub mod rest;
pub mod signal;
mod sim;
mod sim_faults;
mod sim_inode;
pub mod thread;
pub mod thread_classes;
pub mod user_file;
pub mod watched;
// A model has no signals.
#[cfg(not(loom))]
pub mod trap;

pub use aligned::AlignedBuf;
pub use disk::{BLOCK_BYTES, Disk, File, OpenMode};
pub use flush_method::FlushMethod;
pub use real::{OpenError, RealDisk};
pub use sim::{SimDisk, SimStats};
pub use sim_faults::Latency;
pub use sim_inode::SECTOR_BYTES;
