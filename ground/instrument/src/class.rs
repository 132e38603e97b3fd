//! Instrument classes: a name, a kind, a lazily given number and two flags.
//!
//! 1. `id` goes from 0 (none yet) to number + 1 once, under the registry's mutex, and never changes again.
//! 2. `flags` is only written by whoever switches instruments; hot paths load it relaxed.

use crate::registry;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

/// Flag: uses of the class are counted.
pub const ENABLED: u8 = 1;
/// Flag: uses of the class are timed too.
pub const TIMED: u8 = 2;

/// What kind of thing a class stands for; decides its flags at start, as MySQL's defaults do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassKind {
    /// `wait/synch/mutex/..`
    Mutex,
    /// `wait/synch/rwlock/..` and `wait/synch/sxlock/..`
    RwLock,
    /// `wait/synch/cond/..`
    Cond,
    /// `wait/io/file/..`
    File,
    /// `wait/io/socket/..`
    Socket,
    /// `wait/io/table/..`
    TableIo,
    /// `wait/lock/..`
    Lock,
    /// Any other wait.
    Wait,
    /// `idle`
    Idle,
    /// `statement/..`
    Statement,
    /// `stage/..`
    Stage,
    /// `transaction`
    Transaction,
    /// `memory/..`
    Memory,
    /// `thread/..`
    Thread,
}

impl ClassKind {
    /// Flags of a class of this kind when the server starts.
    pub const fn default_flags(self) -> u8 {
        match self {
            Self::Mutex | Self::RwLock | Self::Cond | Self::Socket | Self::Stage => 0,
            Self::Memory => 0,
            Self::Thread => ENABLED,
            _ => ENABLED | TIMED,
        }
    }
}

/// One instrument: declared as a `static`, never dropped.
#[derive(Debug)]
pub struct Class {
    name: &'static str,
    kind: ClassKind,
    id: AtomicU16,
    flags: AtomicU8,
}

impl Class {
    /// A class with its kind's default flags, not registered yet.
    pub const fn new(name: &'static str, kind: ClassKind) -> Self {
        Self { name, kind, id: AtomicU16::new(0), flags: AtomicU8::new(kind.default_flags()) }
    }

    /// Full name, such as `wait/synch/mutex/innodb/log_writer_mutex`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Kind.
    pub const fn kind(&self) -> ClassKind {
        self.kind
    }

    /// Flags: [`ENABLED`], [`TIMED`] or both; one relaxed load.
    #[inline(always)]
    pub fn flags(&self) -> u8 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Whether uses are counted.
    #[inline(always)]
    pub fn enabled(&self) -> bool {
        self.flags() & ENABLED != 0
    }

    /// Whether uses are timed.
    #[inline(always)]
    pub fn timed(&self) -> bool {
        self.flags() & (ENABLED | TIMED) == ENABLED | TIMED
    }

    /// Switches the instrument; threads notice at their next use.
    pub fn set_flags(&self, flags: u8) {
        self.flags.store(flags & (ENABLED | TIMED), Ordering::Relaxed);
    }

    /// The dense number of the class; registers it at the first call.
    #[inline]
    pub fn id(&'static self) -> u16 {
        match self.id.load(Ordering::Acquire) {
            0 => registry::assign(self),
            n => n - 1,
        }
    }

    /// The number if one was given, without registering.
    pub fn id_if_registered(&self) -> Option<u16> {
        self.id.load(Ordering::Acquire).checked_sub(1)
    }

    /// Sets the number. Only the registry calls it, under its mutex.
    pub(crate) fn set_id(&self, id: u16) {
        self.id.store(id + 1, Ordering::Release);
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Class);

        impl $name {
            /// A class of this kind, for a `static`.
            pub const fn new(name: &'static str) -> Self {
                Self(Class::new(name, ClassKind::$kind))
            }

            /// The class itself.
            pub const fn class(&self) -> &Class {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = Class;

            fn deref(&self) -> &Class {
                &self.0
            }
        }
    )*};
}

kinds! {
    /// Class of a mutex.
    MutexClass = Mutex;
    /// Class of a read-write latch, a page word or a distributed reader lock.
    RwLockClass = RwLock;
    /// Class of an event.
    CondClass = Cond;
    /// Class of files.
    FileClass = File;
    /// Class of sockets.
    SocketClass = Socket;
    /// Class of table input and output.
    TableIoClass = TableIo;
    /// Class of table, row and metadata locks.
    LockClass = Lock;
    /// Class of any other wait.
    WaitClass = Wait;
    /// The class `idle`.
    IdleClass = Idle;
    /// Class of statements.
    StatementClass = Statement;
    /// Class of stages.
    StageClass = Stage;
    /// The class `transaction`.
    TransactionClass = Transaction;
    /// Class of memory.
    MemoryClass = Memory;
    /// Class of threads.
    ThreadClass = Thread;
}
