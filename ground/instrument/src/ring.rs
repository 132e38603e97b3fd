//! The last of many records.

use crate::OwnMemory;

/// Records, whose memory is used again when there are enough of them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<R> {
    /// Where the next one goes.
    next: usize,
    records: Vec<R>,
    /// Where the memory of its records is counted, if it has any.
    memory: Option<&'static OwnMemory>,
}

impl<R> Default for Ring<R> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<R> Ring<R> {
    /// Nothing recorded.
    pub const fn new() -> Self {
        Ring { records: Vec::new(), memory: None, next: 0 }
    }

    /// The records, the oldest first.
    pub fn in_order(&self) -> impl Iterator<Item = &R> {
        let (new, old) = self.records.split_at(self.next.min(self.records.len()));
        old.iter().chain(new)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Changes every record.
    pub fn each_mut(&mut self, change: impl FnMut(&mut R)) {
        self.records.iter_mut().for_each(change);
    }

    /// All, the latest first, to be changed.
    pub fn latest_first_mut(&mut self) -> impl Iterator<Item = &mut R> {
        let next = self.next.min(self.records.len());
        let (new, old) = self.records.split_at_mut(next);
        new.iter_mut().rev().chain(old.iter_mut().rev())
    }

    /// The latest, to be changed.
    pub fn last_mut(&mut self) -> Option<&mut R> {
        self.records.get_mut(self.next.wrapping_sub(1))
    }
}

impl<R: Default> Ring<R> {
    /// The place of the next record, in the memory of the oldest. There are as many as there is room for.
    #[inline(always)]
    pub fn place(
        &mut self,
        records_max: impl FnOnce() -> usize,
        memory: &'static OwnMemory,
    ) -> Option<&mut R> {
        if self.next >= self.records.len() {
            self.turn(records_max(), memory);
        }
        let at = self.next;
        self.next += 1;
        self.records.get_mut(at)
    }

    /// The place of a record that is not the latest, perhaps: a new one, or that of the least, if it is less; `None`: it is not
    /// among the last ones. Such records lie in no order.
    pub fn place_by<K: Ord>(
        &mut self,
        records_max: usize,
        memory: &'static OwnMemory,
        (key, of): (K, impl Fn(&R) -> K),
    ) -> Option<&mut R> {
        if self.records.len() < records_max {
            self.next = self.records.len();
            return self.place(|| records_max, memory);
        }
        self.records.iter_mut().min_by_key(|record| of(record)).filter(|least| of(least) < key)
    }

    /// The last record is written: the next one is new, or the first again.
    #[cold]
    fn turn(&mut self, records_max: usize, memory: &'static OwnMemory) {
        if self.records.len() < records_max && memory.try_take(size_of::<R>()) {
            self.memory = Some(memory);
            self.next = self.records.len();
            if self.next == self.records.capacity() {
                // Twice as many, but no more than there will ever be: most rings have ten.
                self.records.reserve_exact(self.next.max(1).min(records_max - self.next));
            }
            self.records.push(R::default());
        } else {
            self.next = 0;
        }
    }
}

impl<R> Drop for Ring<R> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory {
            self.records.iter().for_each(|_| memory.give_back(size_of::<R>()));
        }
    }
}
