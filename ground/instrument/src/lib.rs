//! The write side of the Performance Schema: class registry, counter pages, flags.
//!
//! 1. A class is declared where it is used, as a `static`; it enters the registry at its first slow use
//!    or through [`register`]. While its flags are off, using it writes nothing shared: one relaxed load.
//! 2. A [`CounterPage`] has one writer at a time (the thread whose current page it is) and any number of
//!    readers; its numbers are plain loads and stores.
//! 3. How long latches are held is measured at [`Level::Synch`], in windows of time: [`holds`].
//! 4. Nothing is lost: a page that ends is folded into a global total under the registry's mutex, the
//!    same mutex under which [`totals`] adds up the live pages.
// The thread-local pointer to the current page is the one place that needs it.
#![allow(unsafe_code)]
// Raw atomics and one mutex: this crate is below `sync` and must not instrument itself.
#![allow(clippy::disallowed_types)]

mod class;
mod counter;
mod page;
mod registry;

pub use class::{
    Class, ClassKind, CondClass, ENABLED, FileClass, HELD, IdleClass, Level, LockClass,
    MemoryClass, MutexClass, RwLockClass, SocketClass, StageClass, StatementClass, TIMED,
    TableIoClass, ThreadClass, TransactionClass, WaitClass,
};
pub use counter::Counter;
pub use page::{CLASSES_MAX, ClassTotals, CounterPage, HISTOGRAM_BUCKETS, HoldTotals, Totals};
pub use registry::{
    Holds, PageRegistration, attach, classes, completed, contended, count, current, for_each_page,
    held, hit, holds, level, register, reset_holds, set_current, set_level, totals, used, window,
};

#[cfg(test)]
mod tests;
