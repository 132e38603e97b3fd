//! Namespaces, modes and the four compatibility matrices.
//!
//! Invariants
//! 1. What a mode must queue behind (pending) is a subset of what it conflicts with (granted), so moving
//!    a request from pending to granted unblocks nobody.
//! 2. Weak modes are compatible with each other, granted and pending.

/// What kind of name is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Namespace {
    /// All writes of the server; one object.
    Global = 1,
    /// DDL and file changes, for LOCK INSTANCE FOR BACKUP; one object.
    BackupLock = 2,
    /// Commits, for FLUSH TABLES WITH READ LOCK; one object.
    Commit = 3,
    /// A tablespace.
    Tablespace = 4,
    /// A database.
    Schema = 5,
    /// A table or view.
    Table = 6,
    /// A stored function.
    Function = 7,
    /// A stored procedure.
    Procedure = 8,
    /// A trigger.
    Trigger = 9,
    /// An event.
    Event = 10,
    /// A GET_LOCK name.
    UserLevelLock = 11,
    /// A foreign key name.
    ForeignKey = 12,
    /// A CHECK constraint name.
    CheckConstraint = 13,
    /// The privilege caches.
    AclCache = 14,
}

const NAMESPACES: [Namespace; 14] = [
    Namespace::Global,
    Namespace::BackupLock,
    Namespace::Commit,
    Namespace::Tablespace,
    Namespace::Schema,
    Namespace::Table,
    Namespace::Function,
    Namespace::Procedure,
    Namespace::Trigger,
    Namespace::Event,
    Namespace::UserLevelLock,
    Namespace::ForeignKey,
    Namespace::CheckConstraint,
    Namespace::AclCache,
];

impl Namespace {
    /// The namespace with this number.
    #[must_use]
    pub fn from_u8(n: u8) -> Option<Self> {
        NAMESPACES.get(usize::from(n).wrapping_sub(1)).copied()
    }

    /// Whether its objects take IX, S and X only.
    #[inline]
    #[must_use]
    pub const fn scoped(self) -> bool {
        matches!(
            self,
            Namespace::Global
                | Namespace::BackupLock
                | Namespace::Commit
                | Namespace::Tablespace
                | Namespace::Schema
                | Namespace::ForeignKey
                | Namespace::CheckConstraint
        )
    }

    /// Whether grants of its objects may be in slots.
    #[must_use]
    pub(crate) const fn has_weak(self) -> bool {
        !matches!(self, Namespace::UserLevelLock)
    }

    /// Which byte of a slot's `scoped_ix` counts the IX grants of a namespace that is one object.
    #[inline]
    #[must_use]
    pub(crate) const fn scope_byte(self) -> Option<u32> {
        match self {
            Namespace::Global => Some(0),
            Namespace::BackupLock => Some(1),
            Namespace::Commit => Some(2),
            _ => None,
        }
    }

    /// `performance_schema.metadata_locks.OBJECT_TYPE`.
    #[must_use]
    pub const fn object_type(self) -> &'static str {
        match self {
            Namespace::Global => "GLOBAL",
            Namespace::BackupLock => "BACKUP LOCK",
            Namespace::Commit => "COMMIT",
            Namespace::Tablespace => "TABLESPACE",
            Namespace::Schema => "SCHEMA",
            Namespace::Table => "TABLE",
            Namespace::Function => "FUNCTION",
            Namespace::Procedure => "PROCEDURE",
            Namespace::Trigger => "TRIGGER",
            Namespace::Event => "EVENT",
            Namespace::UserLevelLock => "USER LEVEL LOCK",
            Namespace::ForeignKey => "FOREIGN KEY",
            Namespace::CheckConstraint => "CHECK CONSTRAINT",
            Namespace::AclCache => "ACL CACHE",
        }
    }

    /// What SHOW PROCESSLIST calls a wait here.
    #[must_use]
    pub const fn wait_state(self) -> &'static str {
        match self {
            Namespace::Global => "Waiting for global read lock",
            Namespace::BackupLock => "Waiting for backup lock",
            Namespace::Commit => "Waiting for commit lock",
            Namespace::Tablespace => "Waiting for tablespace metadata lock",
            Namespace::Schema => "Waiting for schema metadata lock",
            Namespace::Table => "Waiting for table metadata lock",
            Namespace::Function => "Waiting for stored function metadata lock",
            Namespace::Procedure => "Waiting for stored procedure metadata lock",
            Namespace::Trigger => "Waiting for trigger metadata lock",
            Namespace::Event => "Waiting for event metadata lock",
            Namespace::UserLevelLock => "User lock",
            Namespace::ForeignKey => "Waiting for foreign key metadata lock",
            Namespace::CheckConstraint => "Waiting for check constraint metadata lock",
            Namespace::AclCache => "Waiting for acl cache lock",
        }
    }
}

/// How a name is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Metadata only.
    S = 1,
    /// Metadata only, ahead of waiting X.
    SH = 2,
    /// Will read rows.
    SR = 3,
    /// Will change rows.
    SW = 4,
    /// Will change rows, behind waiting SRO.
    SWLP = 5,
    /// First phase of ALTER: others read and write.
    SU = 6,
    /// LOCK TABLES READ.
    SRO = 7,
    /// Copy phase of ALTER: others only read.
    SNW = 8,
    /// LOCK TABLES WRITE: others see metadata only.
    SNRW = 9,
    /// Alone.
    X = 10,
    /// Scopes only: will lock something inside.
    IX = 11,
}

use Mode::{IX, S, SH, SNRW, SNW, SR, SRO, SU, SW, SWLP, X};

/// A set of modes, one bit each.
pub(crate) type Modes = u32;

pub(crate) const fn set(modes: &[Mode]) -> Modes {
    let (mut bits, mut i) = (0, 0);
    while i < modes.len() {
        bits |= modes[i].bit();
        i += 1;
    }
    bits
}

impl Mode {
    /// Every mode, in the order of their numbers.
    pub const ALL: [Mode; 11] = [S, SH, SR, SW, SWLP, SU, SRO, SNW, SNRW, X, IX];

    pub(crate) fn from_u8(n: u8) -> Option<Self> {
        Self::ALL.get(usize::from(n).wrapping_sub(1)).copied()
    }

    #[inline]
    pub(crate) const fn bit(self) -> Modes {
        1 << self as u8
    }

    /// Whether objects of the namespace can be locked so.
    #[must_use]
    pub const fn valid_in(self, namespace: Namespace) -> bool {
        match namespace {
            Namespace::UserLevelLock => matches!(self, X),
            _ if namespace.scoped() => matches!(self, IX | S | X),
            _ => !matches!(self, IX),
        }
    }

    /// Whether the mode is compatible with itself and all like it, so that slots suffice for it.
    #[inline]
    #[must_use]
    pub const fn weak_in(self, namespace: Namespace) -> bool {
        match namespace {
            Namespace::UserLevelLock => false,
            _ if namespace.scoped() => matches!(self, IX),
            _ => matches!(self, S | SH | SR | SW | SWLP),
        }
    }

    /// The granted modes of others that a request of this mode cannot live with.
    #[must_use]
    pub(crate) const fn conflicts_granted(self, namespace: Namespace) -> Modes {
        if namespace.scoped() {
            return match self {
                IX => set(&[S, X]),
                S => set(&[IX, X]),
                _ => set(&[IX, S, X]),
            };
        }
        match self {
            S | SH => set(&[X]),
            SR => set(&[SNRW, X]),
            SW | SWLP => set(&[SRO, SNW, SNRW, X]),
            SU => set(&[SU, SNW, SNRW, X]),
            SRO => set(&[SW, SWLP, SNRW, X]),
            SNW => set(&[SW, SWLP, SU, SNW, SNRW, X]),
            SNRW => set(&[SR, SW, SWLP, SU, SRO, SNW, SNRW, X]),
            X | IX => set(&[S, SH, SR, SW, SWLP, SU, SRO, SNW, SNRW, X]),
        }
    }

    /// The pending modes of others that a request of this mode queues behind.
    #[must_use]
    pub(crate) const fn conflicts_pending(self, namespace: Namespace) -> Modes {
        if namespace.scoped() {
            return match self {
                IX => set(&[S, X]),
                S => set(&[X]),
                _ => 0,
            };
        }
        match self {
            S | SU | SNW | SNRW => set(&[X]),
            SH | X | IX => 0,
            SR => set(&[SNRW, X]),
            SW => set(&[SNW, SNRW, X]),
            SWLP => set(&[SRO, SNW, SNRW, X]),
            SRO => set(&[SW, SNRW, X]),
        }
    }

    /// Whether rows are going to change.
    #[inline]
    #[must_use]
    pub const fn changes_rows(self) -> bool {
        matches!(self, SW | SWLP)
    }

    /// The modes of a namespace that slots suffice for.
    pub(crate) fn all_weak(namespace: Namespace) -> Modes {
        let weak = Self::ALL.into_iter().filter(|m| m.weak_in(namespace));
        weak.fold(0, |bits, m| bits | m.bit())
    }

    /// The weak modes that must leave the fast path while this mode is granted or pending.
    pub(crate) fn closes(self, namespace: Namespace) -> Modes {
        let weak = Self::ALL.into_iter().filter(|m| m.weak_in(namespace));
        weak.filter(|w| w.conflicts_granted(namespace) & self.bit() != 0)
            .fold(0, |bits, w| bits | w.bit())
    }

    /// Whether a holder of this mode needs no grant of `other` any more.
    #[must_use]
    pub fn covers(self, other: Mode, namespace: Namespace) -> bool {
        let (mine, theirs) =
            (self.conflicts_granted(namespace), other.conflicts_granted(namespace));
        mine & theirs == theirs
    }

    /// `performance_schema.metadata_locks.LOCK_TYPE`.
    #[must_use]
    pub const fn lock_type(self) -> &'static str {
        match self {
            IX => "INTENTION_EXCLUSIVE",
            S => "SHARED",
            SH => "SHARED_HIGH_PRIO",
            SR => "SHARED_READ",
            SW => "SHARED_WRITE",
            SWLP => "SHARED_WRITE_LOW_PRIO",
            SU => "SHARED_UPGRADABLE",
            SRO => "SHARED_READ_ONLY",
            SNW => "SHARED_NO_WRITE",
            SNRW => "SHARED_NO_READ_WRITE",
            X => "EXCLUSIVE",
        }
    }

    /// What losing the wait costs, for the choice of a deadlock's victim: MySQL's weights.
    pub(crate) const fn deadlock_weight(self, namespace: Namespace) -> u32 {
        match self {
            _ if matches!(namespace, Namespace::UserLevelLock) => 50,
            SU | SRO | SNW | SNRW | X => 100,
            S if namespace.scoped() => 100,
            _ => 25,
        }
    }
}

#[cfg(test)]
mod tests;
