//! Instrument classes: a name, a kind, a lazily given number and two flags.
//!
//! 1. `id` goes from 0 (none yet) to number + 1 once, under the registry's mutex, and never changes again. Numbers are
//!    given by kind, so many for each as MySQL has room for; a class beyond them is lost: counted as such, and never
//!    measured, least of all in the row of another.
//! 2. `flags` is only written under the registry's mutex, by whoever switches instruments; hot paths load
//!    it relaxed. A class that was never used has the one flag `FRESH`, so its first use leaves the hot path
//!    and registers it: from then on a switch of the level reaches it.

use crate::consumers::{Consumer, Consumers, consumers, consumes};
use crate::statement::STATEMENTS_MAX;
use crate::{note_switch, registry};
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

/// Flag: uses of the class are counted.
pub const ENABLED: u8 = 1;
/// Flag: uses of the class are timed too.
pub const TIMED: u8 = 2;
/// Flag: how long each use of the class (a latch) holds it is timed.
pub const HELD: u8 = 4;
/// Flag: what ends of the class is kept in histories.
pub const RECORDED: u8 = 8;
/// Flag: the class is not registered yet; never seen outside.
const FRESH: u8 = 0x80;

/// How much is measured, for the whole process: a state of all instruments and consumers at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    /// Nothing but waits that happen, which cost more than counting them.
    None = 0,
    /// What MySQL measures when it starts: everything but latches.
    Default = 1,
    /// Input and output of tables and files.
    Tables = 2,
    /// Statements and their digests.
    Statements = 3,
    /// As by default, and each use of each latch as well: counted, and its hold timed.
    Synch = 4,
}

impl Level {
    /// All, by number.
    pub const ALL: [Level; 5] =
        [Self::None, Self::Default, Self::Tables, Self::Statements, Self::Synch];

    /// The consumers that are on.
    pub fn consumers(self) -> Consumers {
        match self {
            Self::None => Consumers::NONE,
            Self::Default | Self::Synch => Consumers::at_start(),
            Self::Tables => Consumers::of(&[Consumer::Global, Consumer::Threads]),
            Self::Statements => {
                let list = [Consumer::Global, Consumer::Threads, Consumer::StatementsDigest];
                Consumers::of(&list)
            }
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
    /// `error`
    Error,
    /// `memory/..`
    Memory,
    /// `thread/..`
    Thread,
}

/// The number of a class for which there was no room.
pub(crate) const LOST: u16 = u16::MAX - 1;

/// Kinds, and how many classes each has room for.
pub(crate) const KINDS: usize = ClassKind::Thread as usize + 1;

/// Classes of memory that sessions keep: the first numbers of memory are theirs.
pub(crate) const SESSION_MEMORIES: u16 = 8;

impl ClassKind {
    /// The number of the first class of this kind, and for how many there is room: MySQL's
    /// `performance_schema_max_..._classes`.
    pub const fn numbers(self) -> (u16, u16) {
        match self {
            Self::Mutex => (0, 350),
            Self::RwLock => (350, 100),
            Self::Cond => (450, 150),
            Self::File => (600, 80),
            Self::Socket => (680, 10),
            Self::Wait => (690, 8),
            // What most sessions use comes from here on to the stages: it lies apart in their pages.
            Self::TableIo => (698, 4),
            Self::Lock => (702, 8),
            Self::Idle => (710, 1),
            Self::Transaction => (711, 1),
            Self::Stage => (712, 175),
            Self::Error => (990, 1),
            // These have rows of their own, or none.
            Self::Statement => (1000, STATEMENTS_MAX as u16),
            Self::Thread => (2000, 100),
            Self::Memory => (3000, 470),
        }
    }

    /// Whether classes of this kind are latches, whose holds can be timed.
    pub const fn is_latch(self) -> bool {
        matches!(self, Self::Mutex | Self::RwLock)
    }

    /// Where events of this kind go that are kept one by one, but for statements and transactions.
    const fn current_events(self) -> Option<Consumer> {
        match self {
            Self::Stage => Some(Consumer::StagesCurrent),
            Self::Statement | Self::Transaction => None,
            Self::Error | Self::Memory | Self::Thread => None,
            _ => Some(Consumer::WaitsCurrent),
        }
    }

    /// Whether classes of this kind are in this build. Those of other waits always are: process lists tell of them.
    pub const fn is_built(self) -> bool {
        crate::LATCH_INSTRUMENTS || !self.is_latch()
    }

    /// Flags of a class of this kind when the server starts.
    pub const fn default_flags(self) -> u8 {
        match self {
            Self::Mutex | Self::RwLock | Self::Cond | Self::Socket => 0,
            Self::Memory | Self::Error => ENABLED,
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
    /// What it does: its setting, or nothing while the consumer of everything is off.
    flags: AtomicU8,
    /// What it is set to do.
    set: AtomicU8,
    /// Flags at level [`Level::Default`].
    base: AtomicU8,
    across_io: bool,
    /// Memory that sessions keep: it has a row in their pages.
    of_sessions: bool,
}

impl Class {
    /// A class with its kind's default flags, not registered yet.
    pub const fn new(name: &'static str, kind: ClassKind) -> Self {
        Self {
            name,
            kind,
            id: AtomicU16::new(0),
            flags: AtomicU8::new(kind.default_flags() | FRESH),
            set: AtomicU8::new(kind.default_flags()),
            base: AtomicU8::new(kind.default_flags()),
            across_io: false,
            of_sessions: false,
        }
    }

    /// Full name, such as `wait/synch/mutex/innodb/log_writer_mutex`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether its latches may be held while a file is read or written, as its declaration says.
    pub const fn is_held_across_io(&self) -> bool {
        self.across_io
    }

    /// A class of memory that sessions keep.
    pub(crate) const fn of_sessions(mut self) -> Self {
        self.of_sessions = true;
        self
    }

    /// Whether sessions keep this memory.
    pub(crate) const fn is_of_sessions(&self) -> bool {
        self.of_sessions
    }

    /// The first number that it may have, and for how many like it there is room.
    pub(crate) const fn numbers(&self) -> (u16, u16) {
        let (first, room) = self.kind.numbers();
        match self.kind {
            ClassKind::Memory if self.of_sessions => (first, SESSION_MEMORIES),
            ClassKind::Memory => (first + SESSION_MEMORIES, room - SESSION_MEMORIES),
            _ => (first, room),
        }
    }

    /// Kind.
    pub const fn kind(&self) -> ClassKind {
        self.kind
    }

    /// Flags: [`ENABLED`], [`TIMED`], [`HELD`], [`RECORDED`] or several; one relaxed load.
    #[inline(always)]
    pub fn flags(&self) -> u8 {
        if crate::INSTRUMENTS { self.flags.load(Ordering::Relaxed) & !FRESH } else { 0 }
    }

    /// Whether a use of the class has anything to do at all: count, time, or register the class. One
    /// relaxed load; false for a latch at the default level.
    #[inline(always)]
    pub fn noticed(&self) -> bool {
        crate::INSTRUMENTS && self.flags.load(Ordering::Relaxed) != 0
    }

    /// Whether holds are timed.
    #[inline(always)]
    pub fn held(&self) -> bool {
        crate::LATCH_INSTRUMENTS && self.flags.load(Ordering::Relaxed) & HELD != 0
    }

    /// Whether events are kept when they end.
    #[inline(always)]
    pub fn recorded(&self) -> bool {
        self.flags() & RECORDED != 0
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

    /// Switches this one instrument, and for good what it does at the default level; threads notice at their next use.
    pub fn set_flags(&'static self, flags: u8) {
        let flags = flags & (ENABLED | TIMED | HELD);
        self.id();
        registry::locked(|_| {
            self.base.store(flags, Ordering::Relaxed);
            self.put(if registry::is_on() { flags } else { 0 });
        });
    }

    /// Whether it is set to count, and to time, whatever the consumers are.
    pub fn setting(&self) -> (bool, bool) {
        let set = self.set.load(Ordering::Relaxed);
        (set & ENABLED != 0, set & TIMED != 0)
    }

    /// Whether its uses take time, so that they can be timed; threads keep a history instead.
    pub const fn can_be_timed(&self) -> bool {
        !matches!(self.kind, ClassKind::Memory | ClassKind::Error)
    }

    /// Whether nobody can switch it off: memory of the Performance Schema's own.
    fn is_always_on(&self) -> bool {
        self.kind == ClassKind::Memory && self.name.starts_with("memory/performance_schema/")
    }

    /// Sets what it does. Only the registry calls it, under its mutex.
    pub(crate) fn put(&self, flags: u8) {
        let always = if self.is_always_on() && registry::is_on() { ENABLED } else { 0 };
        self.set.store(flags | always, Ordering::Relaxed);
        self.take_effect();
    }

    /// Does what it is set to do, or nothing. Only the registry calls it, under its mutex.
    pub(crate) fn take_effect(&self) {
        let on = self.kind == ClassKind::Thread
            || self.is_always_on()
            || consumers().has(Consumer::Global);
        let mut flags = if on { self.set.load(Ordering::Relaxed) } else { 0 };
        if flags & ENABLED != 0 && self.kind.current_events().is_some_and(consumes) {
            flags |= RECORDED;
        }
        if self.flags.swap(flags, Ordering::Relaxed) != flags {
            note_switch();
        }
    }

    /// The flags for a setting; a latch that is timed has its holds timed.
    pub(crate) fn flags_for(&self, enabled: bool, timed: bool) -> u8 {
        let enabled_flag = if enabled { ENABLED } else { 0 };
        let timed_flag = if timed { TIMED } else { 0 };
        let held = if enabled && timed && self.kind.is_latch() { HELD } else { 0 };
        enabled_flag | timed_flag | held
    }

    /// The flags that it has at a level.
    pub(crate) fn flags_at(&self, level: Level) -> u8 {
        let base = self.base.load(Ordering::Relaxed);
        let all = |on: bool| self.flags_for(on, on);
        match (level, self.kind) {
            // Threads are no instruments.
            (_, ClassKind::Thread) => base,
            _ if self.is_always_on() => ENABLED,
            (Level::None, _) => 0,
            (Level::Synch, kind) if kind.is_latch() || kind == ClassKind::Cond => all(true),
            (Level::Default | Level::Synch, _) => base,
            (Level::Tables, ClassKind::File) => all(true),
            (Level::Tables, _) => {
                all(self.name.starts_with("wait/") && self.name.contains("/table/"))
            }
            (Level::Statements, kind) => all(kind == ClassKind::Statement),
        }
    }

    /// Whether it is set as at a level.
    pub(crate) fn is_at(&self, level: Level) -> bool {
        self.set.load(Ordering::Relaxed) == self.flags_at(level)
    }

    /// The number of the class, of those of its kind; registers it at the first call.
    #[inline]
    pub fn id(&'static self) -> u16 {
        match self.id.load(Ordering::Acquire) {
            0 => registry::assign(self),
            n => n - 1,
        }
    }

    /// There was no room for it: nothing is counted.
    pub fn is_lost(&self) -> bool {
        self.id.load(Ordering::Acquire) == LOST + 1
    }

    /// The number if one was given, without registering.
    pub fn id_if_registered(&self) -> Option<u16> {
        self.id.load(Ordering::Acquire).checked_sub(1)
    }

    /// The number among stages, if it is one that was given a number.
    pub fn stage_number(&self) -> Option<u16> {
        let (first, room) = ClassKind::Stage.numbers();
        self.id_if_registered()?.checked_sub(first).filter(|n| *n < room)
    }

    /// Sets the number. Only the registry calls it, under its mutex.
    pub(crate) fn set_id(&self, id: u16) {
        self.id.store(id + 1, Ordering::Release);
    }
}

crate::classes! {
    /// Waits of sessions for their clients' next commands.
    pub static IDLE: IdleClass = "idle";
}

/// Every class that [`classes!`] declares, in this and all other crates of the program.
#[linkme::distributed_slice]
pub static DECLARED: [&'static Class];

/// Declares instruments, as `static NAME: MutexClass = "wait/synch/mutex/..";`. They are known from the server's start on
/// ([`crate::register_declared`]), whether anything uses them or not: listed, and reached by every switch. Latches that may be
/// held across I/O say so: `static NAME: MutexClass = "wait/synch/mutex/..", across_io;`.
#[macro_export]
macro_rules! classes {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $kind:ident = $text:expr $(, $property:ident)?;)*) => {$(
        $(#[$meta])*
        $vis static $name: $crate::$kind = $crate::$kind::new($text)$(.$property())?;
        const _: () = {
            #[$crate::linkme::distributed_slice($crate::DECLARED)]
            #[linkme(crate = $crate::linkme)]
            static DECLARED: &$crate::Class = $name.class();
        };
    )*};
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

            /// The same, of latches that may be held while a file is read or written. Others may not: debug builds see to it.
            pub const fn across_io(mut self) -> Self {
                self.0.across_io = true;
                self
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
    /// The class `error`.
    ErrorClass = Error;
    /// The class `transaction`.
    TransactionClass = Transaction;
    /// Class of memory.
    MemoryClass = Memory;
    /// Class of threads.
    ThreadClass = Thread;
}
