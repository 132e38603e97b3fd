//! Where a session's handle of a name lies, by the name's number.
//!
//! 1. Between the place that a name's number says and the one where it lies none is free. 2. At most half of the table is
//! used, and names have numbers in the order in which they were met: a look finds its place at the first try as a rule.

use crate::entry::NameId;

/// Places of the smallest table; a power of two, as every size.
const PLACES_MIN: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Place {
    name: NameId,
    handle: u32,
}

/// The handles of a session by the numbers of their names.
#[derive(Debug, Default)]
pub(crate) struct Places {
    table: Vec<Option<Place>>,
    used: usize,
}

impl Places {
    /// The handle of a name that was added.
    #[inline]
    pub fn find(&self, name: NameId) -> Option<usize> {
        let last = self.table.len().checked_sub(1)?;
        let mut at = name.0 as usize & last;
        loop {
            let place = self.table[at].as_ref()?;
            if place.name == name {
                return Some(place.handle as usize);
            }
            at = (at + 1) & last;
        }
    }

    /// Adds a handle of a name that has none.
    pub fn add(&mut self, name: NameId, handle: usize) {
        if self.table.len() < 2 * (self.used + 1) {
            let places = (2 * self.table.len()).max(PLACES_MIN);
            let before = std::mem::replace(&mut self.table, vec![None; places]);
            before.into_iter().flatten().for_each(|place| self.put(place));
        }
        self.put(Place { name, handle: handle as u32 });
        self.used += 1;
    }

    /// Takes a name out; those that it has pushed aside move up.
    pub fn remove(&mut self, name: NameId) {
        let Some(last) = self.table.len().checked_sub(1) else { return };
        let mut at = name.0 as usize & last;
        loop {
            match self.table[at] {
                None => return,
                Some(place) if place.name == name => break,
                Some(_) => at = (at + 1) & last,
            }
        }
        self.table[at] = None;
        self.used -= 1;
        loop {
            at = (at + 1) & last;
            let Some(place) = self.table[at].take() else { return };
            self.put(place);
        }
    }

    fn put(&mut self, place: Place) {
        let last = self.table.len() - 1;
        let mut at = place.name.0 as usize & last;
        while self.table[at].is_some() {
            at = (at + 1) & last;
        }
        self.table[at] = Some(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_else_is_there() {
        let mut places = Places::default();
        assert_eq!(places.find(NameId(5)), None);
        // Numbers that begin alike, and some that lie where others were moved to.
        let names: Vec<u64> = (1..200).map(|n| if n % 3 == 0 { n * 64 } else { n }).collect();
        for (handle, name) in names.iter().enumerate() {
            places.add(NameId(*name), handle);
        }
        for (handle, name) in names.iter().enumerate() {
            assert_eq!(places.find(NameId(*name)), Some(handle));
        }
        assert_eq!(places.find(NameId(1_000_000)), None);
        for gone in names.iter().step_by(2) {
            places.remove(NameId(*gone));
            places.remove(NameId(*gone));
        }
        for (handle, name) in names.iter().enumerate() {
            assert_eq!(places.find(NameId(*name)), (handle % 2 == 1).then_some(handle));
        }
    }
}
