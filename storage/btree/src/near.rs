//! A writer's way to the leaf where it was before, and entries that come in order.
//!
//! 1. A leaf of a living index stays a leaf of it, and its fences say what it covers: who has latched a page and finds that it
//!    covers a key there is where the way down would have led. (Leaves are never merged, and freed with their index only.)
//!    A table that is copied has the same indexes in another space, so that belongs to the place. Guard: `Tree::try_near` asks the
//!    latched page; `near_positions_are_those_of_the_way_down`, `another_space_is_another_place`.
//! 2. Entries that are added in order are all in the leaf of the first, behind each other. Guard: `page::apply` refuses others.

use crate::leaf::Fit;
use crate::{Position, Tree};
use base::{IndexId, PageNo, Result, SpaceId};
use instrument::Counter;
use page::{AppendBuf, entry_bytes};
use pool::Mtr;

/// Appended at once, in bytes of redo, so that any log takes it: a little more than this at most.
const APPENDED_BYTES: usize = base::PAGE_BYTES / 2;

/// Which leaf a writer was in last. Only who comes to the same leaf again looks there first.
#[derive(Default, Debug)]
pub struct Near {
    last: Option<(SpaceId, IndexId, PageNo)>,
    again: bool,
}

impl Near {
    fn note(&mut self, tree: &Tree, page: PageNo) {
        let here = Some((tree.ts.id(), tree.index, page));
        self.again = self.last == here;
        self.last = here;
    }
}

impl Tree {
    /// As [`Tree::position`], for a writer whose keys come in order as a rule: it looks first where it was last.
    pub fn position_near<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        key: &[u8],
        near: &mut Near,
    ) -> Result<Position> {
        let here = match near.last {
            Some((space, index, page))
                if near.again && (space, index) == (self.ts.id(), self.index) =>
            {
                self.try_near(mtr, page, key)?
            }
            _ => None,
        };
        let pos = here.map_or_else(|| self.position(mtr, key), Ok)?;
        near.note(self, pos.page_no);
        Ok(pos)
    }

    /// The key's position in this page, if it is at hand and the leaf that covers the key.
    fn try_near<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        page: PageNo,
        key: &[u8],
    ) -> Result<Option<Position>> {
        let Some(read) = self.ts.optimistic_at_once(page)? else { return Ok(None) };
        let Some(held) = mtr.try_upgrade(&read) else { return Ok(None) };
        let node = page::Node::new(mtr.page(held))?;
        if !node.is_leaf() || node.index_id() != self.index || !node.covers(key) {
            mtr.release(held);
            return Ok(None);
        }
        let found = node.search(key)?;
        instrument::count(Counter::InnodbBufferPoolReadRequests, 1);
        Ok(Some(Position { page: held, page_no: page, slot: found.slot, found: found.exact }))
    }

    /// Adds the first of these entries, keys and payloads in the order of the keys, none of which is there, and what follows
    /// it as far as the leaf goes. Answers how many, and where; none: the leaf is to be split for the first one.
    ///
    /// Errors: [`base::Error::KeyTooLong`], [`base::Error::RowTooLarge`] for the first; nothing was changed.
    pub fn add_in_order<'p, 'e, P: AsRef<[u8]>>(
        &'p self,
        mtr: &mut Mtr<'p>,
        entries: impl Iterator<Item = (&'e [u8], P)> + Clone,
        near: &mut Near,
        append: &mut AppendBuf,
    ) -> Result<(usize, Option<Position>)> {
        let mut rest = entries.clone();
        let Some(first) = rest.next() else { return Ok((0, None)) };
        let pos = self.position_near(mtr, first.0, near)?;
        if pos.slot == pos.node(mtr)?.count() {
            let added = self.append_at(mtr, &pos, entries, append)?;
            if added > 0 {
                return Ok((added, Some(pos)));
            }
        }
        if self.insert_at(mtr, &pos, first.0, first.1.as_ref())? == Fit::Full {
            return Ok((0, Some(pos)));
        }
        // What is wrong with a later one is told when it is the first.
        let more = rest.take_while(|(key, payload)| {
            let is_short = mtr.redo_bytes() < APPENDED_BYTES;
            let at = self.reposition(mtr, &pos, key).ok().flatten().filter(|_| is_short);
            let fit = at.map(|at| self.insert_at(mtr, &at, key, payload.as_ref()));
            matches!(fit, Some(Ok(Fit::Done)))
        });
        Ok((1 + more.count(), Some(pos)))
    }

    /// Adds entries behind the last one of a positioned leaf, as many as it takes in one piece.
    fn append_at<'e, P: AsRef<[u8]>>(
        &self,
        mtr: &mut Mtr<'_>,
        pos: &Position,
        entries: impl Iterator<Item = (&'e [u8], P)>,
        append: &mut AppendBuf,
    ) -> Result<usize> {
        append.clear();
        let node = pos.node(mtr)?;
        let (prefix, high) = (node.prefix(), node.high_fence());
        let (mut room, mut bytes, mut added) = (node.gap(), 0, 0);
        for (key, payload) in entries {
            if bytes > APPENDED_BYTES || high.is_some_and(|high| key >= high) {
                break;
            }
            let payload = payload.as_ref();
            crate::leaf::check_size(key.len(), payload.len())?;
            let need = entry_bytes(key.len() - prefix.len(), payload.len());
            if need > room {
                break;
            }
            append.push(&key[prefix.len()..], payload);
            (room, bytes, added) = (room - need, bytes + need, added + 1);
        }
        if added > 0 {
            let prefix = prefix.to_vec();
            mtr.apply(pos.page, &append.op(&prefix))?;
        }
        Ok(added)
    }
}
