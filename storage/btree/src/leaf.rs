//! Changing one leaf entry inside the caller's mini-transaction.
//!
//! 1. A position is an exclusively latched leaf and a slot; the latch lives as long as the mini-transaction. Guard: the
//!    assert of `Mtr::page`.
//! 2. A mini-transaction positions once per tree: on the way down it would wait for its own latch. A second key that
//!    may be in the same leaf is looked up by [`Tree::reposition`]. Guard: who does otherwise stops a seed of the
//!    engine's `one_runner`.
//! 3. `Fit::Full` has changed nothing: end the mini-transaction, [`Tree::split`], position again. Guard: `Mtr` aborts
//!    when it is dropped with changes.

use crate::Tree;
use crate::descend::{RESTARTS_MAX, Way};
use base::{Error, PageBuf, PageNo, Result, TrxId};
use page::{ENTRY_BYTES_MAX, KEY_BYTES_MAX, Node, PageOp};
use page::{ROW_KEY_BYTES_MAX, SHORT_PAYLOAD_BYTES};
use pool::{Held, Mtr, PageCopy};

/// Whether a change found room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Fit {
    /// Done.
    Done,
    /// The leaf is too full and unchanged: split, then position again.
    Full,
}

/// An entry, or the place for one, in an exclusively latched leaf.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The leaf in its mini-transaction.
    pub page: Held,
    /// The leaf's number.
    pub page_no: PageNo,
    /// Slot of the entry, or where it would be inserted.
    pub slot: u16,
    /// There is an entry with the key.
    pub found: bool,
}

impl Position {
    /// The entry's payload. Errors when nothing was found here.
    pub fn payload<'m>(&self, mtr: &'m Mtr<'_>) -> Result<&'m [u8]> {
        self.node(mtr)?.payload(self.slot)
    }

    /// The whole leaf.
    pub fn node<'m>(&self, mtr: &'m Mtr<'_>) -> Result<Node<'m>> {
        Node::new(mtr.page(self.page))
    }
}

/// What follows a place in a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Following {
    /// An entry.
    Entry,
    /// Nothing: it is the end of the index.
    End,
    /// It lies in a leaf that is being written or not in memory, which covers the key that was given.
    Unknown,
}

/// What an entry may be at most; checked before the page is looked at.
pub(crate) fn check_size(key: usize, payload: usize) -> Result<()> {
    let limit = if payload > SHORT_PAYLOAD_BYTES { ROW_KEY_BYTES_MAX } else { KEY_BYTES_MAX };
    if key > limit {
        return Err(Error::KeyTooLong { bytes: key, limit });
    }
    if key + payload > ENTRY_BYTES_MAX {
        return Err(Error::RowTooLarge { bytes: key + payload, limit: ENTRY_BYTES_MAX });
    }
    Ok(())
}

impl Tree {
    /// Latches the leaf that covers `key` exclusively and looks the key up.
    pub fn position<'p>(&'p self, mtr: &mut Mtr<'p>, key: &[u8]) -> Result<Position> {
        for _ in 0..RESTARTS_MAX {
            if let Some(leaf) = self.try_descend(Way::To(key))?
                && let Some(held) = mtr.try_upgrade(&leaf)
            {
                return self.find(mtr, held, leaf.page_no(), key);
            }
        }
        let (held, page_no) = self.exclusive_leaf(mtr, key)?;
        self.find(mtr, held, page_no, key)
    }

    /// Looks another key up in an already positioned leaf. `None`: it belongs to another leaf.
    pub fn reposition(
        &self,
        mtr: &Mtr<'_>,
        pos: &Position,
        key: &[u8],
    ) -> Result<Option<Position>> {
        if !pos.node(mtr)?.covers(key) {
            return Ok(None);
        }
        self.find(mtr, pos.page, pos.page_no, key).map(Some)
    }

    /// Puts the key of the first entry at or behind `slot` of the positioned leaf into `out`, wherever it
    /// lies; waits for nothing, as the leaf is latched. Leaves that were read for it go into `read`, for
    /// [`Tree::is_unchanged`].
    pub fn following(
        &self,
        mtr: &Mtr<'_>,
        pos: &Position,
        slot: u16,
        out: &mut Vec<u8>,
        read: &mut Vec<(PageNo, u32)>,
    ) -> Result<Following> {
        let node = pos.node(mtr)?;
        if slot < node.count() {
            node.copy_key(slot, out)?;
            return Ok(Following::Entry);
        }
        let Some(high) = node.high_fence() else { return Ok(Following::End) };
        out.clear();
        out.extend_from_slice(high);
        let mut leaf = PageCopy::new();
        loop {
            let Some(page) = self.try_descend_at_once(out)? else { return Ok(Following::Unknown) };
            page.node().copy_page(&mut leaf);
            if !page.validate() {
                return Ok(Following::Unknown);
            }
            read.push((page.page_no(), page.version()));
            let node = Node::new(&leaf)?;
            let slot = node.search(out)?.slot;
            if slot < node.count() {
                node.copy_key(slot, out)?;
                return Ok(Following::Entry);
            }
            let Some(high) = node.high_fence() else { return Ok(Following::End) };
            out.clear();
            out.extend_from_slice(high);
        }
    }

    /// Whether nobody has changed these leaves, or is about to; waits for nothing.
    pub fn is_unchanged(&self, read: &[(PageNo, u32)]) -> Result<bool> {
        for &(page, version) in read {
            if self.ts.optimistic_at_once(page)?.is_none_or(|p| p.version() != version) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn find(&self, mtr: &Mtr<'_>, page: Held, page_no: PageNo, key: &[u8]) -> Result<Position> {
        let node = Node::new(mtr.page(page))?;
        if !node.is_leaf() || node.index_id() != self.index || !node.covers(key) {
            return Err(self.corrupt(page_no, "not the leaf that covers the key"));
        }
        let found = node.search(key)?;
        Ok(Position { page, page_no, slot: found.slot, found: found.exact })
    }

    /// The latched way down: shared latches to the leaf's parent, whose latch keeps the leaf from splitting away.
    pub(crate) fn exclusive_leaf<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        key: &[u8],
    ) -> Result<(Held, PageNo)> {
        loop {
            let mut parent = self.ts.shared(self.root)?;
            let mut level = self.level_of(self.root, &parent)?;
            if level == 0 {
                drop(parent);
                let held = mtr.exclusive(&self.ts, self.root)?;
                if self.level_of(self.root, mtr.page(held))? == 0 {
                    return Ok((held, self.root));
                }
                // The root was raised in between.
                mtr.release(held);
                continue;
            }
            let mut parent_no = self.root;
            while level > 1 {
                let child = child_of(&parent, key)?;
                parent = self.ts.shared(child)?;
                parent_no = child;
                level = match self.level_of(child, &parent)? {
                    l if l + 1 == level => l,
                    _ => return Err(self.corrupt(child, "not a node of this level")),
                };
            }
            let leaf = child_of(&parent, key)?;
            if leaf == parent_no {
                // Its latch is this thread's own: it would be waited for for ever.
                return Err(self.corrupt(leaf, "a node is its own child"));
            }
            return Ok((mtr.exclusive(&self.ts, leaf)?, leaf));
        }
    }

    /// Inserts at a position that found nothing. Afterwards `pos.slot` is the new entry's.
    ///
    /// Errors: [`Error::KeyTooLong`], [`Error::RowTooLarge`]; nothing was changed.
    pub fn insert_at(
        &self,
        mtr: &mut Mtr<'_>,
        pos: &Position,
        key: &[u8],
        payload: &[u8],
    ) -> Result<Fit> {
        check_size(key.len(), payload.len())?;
        if !pos.node(mtr)?.fits(key, payload.len()) {
            return Ok(Fit::Full);
        }
        mtr.apply(pos.page, &PageOp::Insert { slot: pos.slot, key, payload })?;
        Ok(Fit::Done)
    }

    /// Gives the found entry another payload.
    ///
    /// Errors: [`Error::RowTooLarge`]; nothing was changed.
    pub fn replace_at(&self, mtr: &mut Mtr<'_>, pos: &Position, payload: &[u8]) -> Result<Fit> {
        let node = pos.node(mtr)?;
        let key_bytes = node.prefix().len() + node.suffix(pos.slot)?.len();
        check_size(key_bytes, payload.len())?;
        if !node.fits_replace(pos.slot, payload.len())? {
            return Ok(Fit::Full);
        }
        mtr.apply(pos.page, &PageOp::Replace { slot: pos.slot, payload })?;
        Ok(Fit::Done)
    }

    /// Overwrites bytes of the found entry's payload, from `at` on.
    pub fn patch_at(&self, mtr: &mut Mtr<'_>, pos: &Position, at: u16, bytes: &[u8]) -> Result<()> {
        mtr.apply(pos.page, &PageOp::Patch { slot: pos.slot, at, bytes })
    }

    /// Removes the found entry. The leaf stays, even when it is empty now.
    pub fn remove_at(&self, mtr: &mut Mtr<'_>, pos: &Position) -> Result<()> {
        mtr.apply(pos.page, &PageOp::Remove { slot: pos.slot })
    }

    /// Raises the leaf's `max_trx_id` to `trx` (no op when it is as high already).
    pub fn raise_max_trx_id(&self, mtr: &mut Mtr<'_>, pos: &Position, trx: TrxId) -> Result<()> {
        if page::header::max_trx_id(mtr.page(pos.page)) >= trx {
            return Ok(());
        }
        mtr.apply(pos.page, &PageOp::SetMaxTrxId { trx })
    }
}

fn child_of(page: &PageBuf, key: &[u8]) -> Result<PageNo> {
    let node = Node::new(page)?;
    node.child(node.child_slot(key)?)
}
