//! The members of ENUM and SET types, interned.
//!
//! 1. Members live as long as the process and are never equal without being the same: types that
//! carry them stay `Copy`, and comparing them is comparing pointers. 2. What is interned is what
//! definitions named, so its size is bounded by them; nothing is ever freed.

use crate::Collation;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Most members of an ENUM.
pub const ENUM_MEMBERS_MAX: usize = 65_535;
/// Most members of a SET.
pub const SET_MEMBERS_MAX: usize = 64;

/// The names of an ENUM's or SET's members, in order, in the character set of their collation.
#[derive(Debug)]
pub struct Members {
    names: Box<[Box<[u8]>]>,
    collation: Collation,
}

impl PartialEq for Members {
    fn eq(&self, other: &Members) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Members {}

impl std::hash::Hash for Members {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self, state);
    }
}

type Known = HashMap<(u16, Vec<Box<[u8]>>), &'static Members>;

impl Members {
    /// The one list of these names. Trailing spaces must be gone already.
    #[must_use]
    pub fn intern(names: Vec<Vec<u8>>, collation: Collation) -> &'static Members {
        static MEMBERS: instrument::MutexClass =
            instrument::MutexClass::new("wait/synch/mutex/sql/LOCK_members");
        static KNOWN: OnceLock<sync::Mutex<Known>> = OnceLock::new();
        let known = KNOWN.get_or_init(|| sync::Mutex::new(&MEMBERS, Known::new()));
        let names: Vec<Box<[u8]>> = names.into_iter().map(Vec::into_boxed_slice).collect();
        let mut known = known.lock();
        let key = (collation.id(), names);
        if let Some(found) = known.get(&key) {
            return found;
        }
        let names = key.1.clone().into_boxed_slice();
        let made: &'static Members = Box::leak(Box::new(Members { names, collation }));
        known.insert(key, made);
        made
    }

    /// How many members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none: no column's type.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How the names compare.
    #[must_use]
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|n| &**n)
    }

    /// The name of ENUM member `index`, counted from 1; empty for 0 and beyond the last.
    #[must_use]
    pub fn name(&self, index: u16) -> &[u8] {
        let at = usize::from(index).checked_sub(1);
        at.and_then(|at| self.names.get(at)).map_or(b"", |n| n)
    }

    /// The number of the member with this name, counted from 1.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        // Mostly it is written as it is defined.
        let at = self.names().position(|n| n == name || self.collation.equals(n, name))?;
        u16::try_from(at + 1).ok()
    }

    /// Appends the names of a SET's members, joined by commas.
    pub fn append_set(&self, bits: u64, out: &mut Vec<u8>) {
        let chosen = self.names.iter().enumerate().filter(|(at, _)| bits >> at & 1 != 0);
        for (n, (_, name)) in chosen.enumerate() {
            if n > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name);
        }
    }

    /// Bytes of a stored ENUM value.
    #[must_use]
    pub fn enum_bytes(&self) -> usize {
        if self.names.len() < 256 { 1 } else { 2 }
    }

    /// Bytes of a stored SET value.
    #[must_use]
    pub fn set_bytes(&self) -> usize {
        match self.names.len().div_ceil(8) {
            n @ 0..=4 => n.max(1),
            _ => 8,
        }
    }
}
