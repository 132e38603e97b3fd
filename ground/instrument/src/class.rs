//! Instrument classes: a name, a kind, a lazily given number and two flags.
//!
//! 1. `id` goes from 0 (none yet) to number + 1 once, under the registry's mutex, and never changes again.
//! 2. `flags` is only written under the registry's mutex, by whoever switches instruments; hot paths load
//!    it relaxed. A class that was never used has the one flag `FRESH`, so its first use leaves the hot path
//!    and registers it: from then on a switch of the level reaches it.

use crate::registry;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

/// Flag: uses of the class are counted.
pub const ENABLED: u8 = 1;
/// Flag: uses of the class are timed too.
pub const TIMED: u8 = 2;
/// Flag: how long each use of the class (a latch) holds it is timed.
pub const HELD: u8 = 4;
/// Flag: the class is not registered yet; never seen outside.
const FRESH: u8 = 0x80;

/// How much is measured, for the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Nothing but waits that happen, which cost more than counting them.
    None = 0,
    /// What MySQL measures when it starts: everything but latches.
    Default = 1,
    /// Each use of each latch as well: counted, and its hold timed.
    Synch = 2,
}

impl Level {
    /// The level of a number; the highest one beyond it.
    pub const fn from_u8(n: u8) -> Self {
        match n {
            0 => Self::None,
            1 => Self::Default,
            _ => Self::Synch,
        }
    }
}

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
    /// Whether classes of this kind are latches, whose holds can be timed.
    pub const fn is_latch(self) -> bool {
        matches!(self, Self::Mutex | Self::RwLock)
    }

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
    /// Flags at level [`Level::Default`].
    base: AtomicU8,
}

impl Class {
    /// A class with its kind's default flags, not registered yet.
    pub const fn new(name: &'static str, kind: ClassKind) -> Self {
        Self {
            name,
            kind,
            id: AtomicU16::new(0),
            flags: AtomicU8::new(kind.default_flags() | FRESH),
            base: AtomicU8::new(kind.default_flags()),
        }
    }

    /// Full name, such as `wait/synch/mutex/innodb/log_writer_mutex`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Kind.
    pub const fn kind(&self) -> ClassKind {
        self.kind
    }

    /// Flags: [`ENABLED`], [`TIMED`], [`HELD`] or several; one relaxed load.
    #[inline(always)]
    pub fn flags(&self) -> u8 {
        self.flags.load(Ordering::Relaxed) & !FRESH
    }

    /// Whether a use of the class has anything to do at all: count, time, or register the class. One
    /// relaxed load; false for a latch at the default level.
    #[inline(always)]
    pub fn noticed(&self) -> bool {
        self.flags.load(Ordering::Relaxed) != 0
    }

    /// Whether holds are timed.
    #[inline(always)]
    pub fn held(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & HELD != 0
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

    /// Switches this one instrument until the level is switched again, and for good what it does at the
    /// default level; threads notice at their next use.
    pub fn set_flags(&'static self, flags: u8) {
        let flags = flags & (ENABLED | TIMED | HELD);
        self.id();
        registry::locked(|_| {
            self.base.store(flags, Ordering::Relaxed);
            self.flags.store(flags, Ordering::Relaxed);
        });
    }

    /// Gives the class the flags it has at a level. Only the registry calls it, under its mutex.
    pub(crate) fn set_level(&self, level: Level) {
        let base = self.base.load(Ordering::Relaxed);
        let flags = match level {
            Level::None => 0,
            Level::Synch if self.kind.is_latch() => base | ENABLED | TIMED | HELD,
            _ => base,
        };
        self.flags.store(flags, Ordering::Relaxed);
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
