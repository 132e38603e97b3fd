//! Small missing batteries: shared/local atomics, byte cursor, seeded random, checksums of short strings.
//!
//! 1. Every atomic of the project is a [`SharedAtomic`] (several writers; its writes can be counted per
//!    class) or a [`LocalAtomic`] (one writer); raw std atomics stay inside this crate and `instrument`.
//! 2. Under `--cfg loom` both are loom atomics, so models run the code that ships.
// The atomics are built over `UnsafeCell` so that `new` is const for every type alike.
#![allow(unsafe_code)]
// This crate is where the raw atomics are wrapped.
#![allow(clippy::disallowed_types)]

mod atomic;
pub mod bytes;
pub mod class;
pub mod crc;
pub mod hook;
mod line;
pub mod of_thread;
mod poison;
pub mod rng;
pub mod stack;
pub mod touch;

pub use atomic::{Atom, AtomInt, LocalAtomic, SharedAtomic};
pub use class::{reset_shared_writes, shared_writes};
pub use core::sync::atomic::Ordering;
pub use line::CacheLine;
pub use poison::{lock, lock_own};

#[cfg(not(loom))]
pub use core::sync::atomic::fence;
#[cfg(loom)]
pub use loom::sync::atomic::fence;

pub use core::sync::atomic::compiler_fence;
