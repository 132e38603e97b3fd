//! The row that a reader has locked last, for a change that comes at once: it need not be searched again.
//!
//! 1. It is the row's latest version: its exclusive lock is held from the reading on, and whatever changes or
//!    ends something of this transaction forgets it. Guard: `update_stamped` and `delete_stamped` compare the
//!    version under the page's latch and change no other one; `a_row_that_was_found_is_known_until_something_changes`.
//! 2. It is kept only while somebody changes rows as they are found ([`LastFound::arm`]), and used once. Guard:
//!    `one_row_is_known_once_and_only_while_asked_for`.

use base::TableId;
use std::cell::{Cell, RefCell};

#[derive(Default)]
pub(crate) struct LastFound {
    armed: Cell<bool>,
    /// The table; `None`: no row is known.
    table: Cell<Option<TableId>>,
    /// The clustered key, and the payload with its header.
    row: RefCell<(Vec<u8>, Vec<u8>)>,
}

impl LastFound {
    /// Begins or ends keeping rows.
    pub(crate) fn arm(&self, armed: bool) {
        self.armed.set(armed);
        self.forget();
    }

    /// This row was read and is locked exclusively; all its values are in its payload.
    #[inline]
    pub(crate) fn note(&self, table: TableId, key: &[u8], payload: &[u8]) {
        if !self.armed.get() {
            return;
        }
        let mut row = self.row.borrow_mut();
        let (known_key, known_payload) = &mut *row;
        known_key.clear();
        known_key.extend_from_slice(key);
        known_payload.clear();
        known_payload.extend_from_slice(payload);
        self.table.set(Some(table));
    }

    /// Puts the payload of this row into `payload` if it is the one that is known; it is forgotten.
    #[inline]
    pub(crate) fn take(&self, table: TableId, key: &[u8], payload: &mut Vec<u8>) -> bool {
        if self.table.take() != Some(table) {
            return false;
        }
        let mut row = self.row.borrow_mut();
        let known = row.0 == key;
        if known {
            std::mem::swap(&mut row.1, payload);
        }
        known
    }

    pub(crate) fn forget(&self) {
        self.table.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_is_known_once_and_only_while_asked_for() {
        let (found, mut payload) = (LastFound::default(), Vec::new());
        found.note(TableId(1), b"k", b"row");
        assert!(!found.take(TableId(1), b"k", &mut payload), "nobody asked for it");
        found.arm(true);
        found.note(TableId(1), b"j", b"earlier row");
        found.note(TableId(1), b"k", b"row");
        assert!(found.take(TableId(1), b"k", &mut payload));
        assert_eq!(payload, b"row");
        assert!(!found.take(TableId(1), b"k", &mut payload), "once");
        for (table, key) in [(2, b"k"), (1, b"j")] {
            found.note(TableId(1), b"k", b"row");
            assert!(!found.take(TableId(table), key, &mut payload), "another row");
        }
        found.note(TableId(1), b"k", b"row");
        found.arm(false);
        assert!(!found.take(TableId(1), b"k", &mut payload));
    }
}
