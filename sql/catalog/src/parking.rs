//! Where a session's handles come from and where they go: hits, misses and overflows of the table cache.
//!
//! 1. Time is counted in rounds: a statement that is planned again opens its tables again. A handle of a round since the
//! last statement ended is in use, and so is what LOCK TABLES keeps: it does not go. 2. A use is a hit if the session has a
//! handle that the statement does not use already, and otherwise a miss, which reserves a place in the instance. 3. When an
//! instance holds too many, the session closes the one that it has used the longest ago, at the miss or when the statement
//! ends; [`CLOSED_MAX`] of what it has closed it still knows. 4. Names without a table, and views beyond [`NAMES_MAX`], go when a
//! statement ends. 5. A session whose handles are
//! not its own (`limpid_table_cache_local = OFF`) gives them to its instance at the end of each statement, and looks for them
//! there: its plans see that by the version 0.

use crate::cache::{TableCache, TableRef};
use crate::entry::{NameEntry, publication};
use crate::handle::Handle;
use crate::open::OpenHandles;
use crate::{Catalog, CatalogError, FullName};
use instrument::Counter;
use mdl::Mode;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

/// Names beside those of open tables that a session keeps.
const NAMES_MAX: usize = 400;
/// Tables beside those that it has open that a session knows: to open one of them again is cheap.
const CLOSED_MAX: usize = 32;
/// How many of the handles that were used the longest ago are looked out at once.
const OLDEST: usize = 16;

/// See the module.
#[repr(C)]
pub(crate) struct Parking {
    /// The present round.
    pub round: u64,
    /// The last round of the statement before.
    ended: u64,
    /// `ended` of a statement that is planned again for what it has learned of its parameters: it has counted its hits.
    again: u64,
    /// There is something to do when the statement ends.
    pub is_due: bool,
    /// The handles are those of a client: they are counted.
    counts: bool,
    local: bool,
    instance: usize,
    /// Handles that were looked at anew in this statement.
    seen: Vec<usize>,
    /// Places of handles that are gone.
    free: Vec<usize>,
    /// Handles that were unused the longest, with their rounds, the last one first.
    oldest: Vec<(u64, usize)>,
    /// Where the open handles are, and some that were closed or are gone since; looked through while they are few.
    opened: Vec<usize>,
    /// Handles that were closed, with their rounds, the last one last; they may have been opened since.
    closed: VecDeque<(u64, usize)>,
    nobody: Arc<NameEntry>,
}

impl Parking {
    pub fn new(catalog: &Catalog) -> Parking {
        Parking {
            round: 1,
            ended: 0,
            again: u64::MAX,
            is_due: false,
            instance: 0,
            counts: false,
            local: true,
            seen: Vec::new(),
            free: Vec::new(),
            oldest: Vec::new(),
            opened: Vec::new(),
            closed: VecDeque::new(),
            nobody: catalog.names().nobody(),
        }
    }

    /// A statement has ended.
    #[inline]
    pub fn end_round(&mut self) {
        self.ended = self.round;
        self.round += 1;
    }

    fn count_hit(&self) {
        instrument::count(Counter::TableOpenCacheHits, u64::from(self.again != self.ended));
    }

    fn uses(&self, handle: &Handle) -> bool {
        handle.round > self.ended || (handle.hit == 0 && handle.opened > 0)
    }
}

impl TableCache {
    /// The session is a client's, whose connection's number says which instance of the table cache it belongs to. What
    /// the server opens for itself is not counted.
    pub fn set_connection(&mut self, connection: u64) {
        let open = &self.catalog.names().open;
        self.parking.instance = open.instance_of(connection);
        self.parking.local = open.is_local();
        self.parking.counts = true;
    }

    /// The statement is going to open its tables again: what it has opened so far it does not use.
    pub fn begin_round(&mut self) {
        self.parking.round += 1;
    }

    /// The statement is planned again before it has run: the tables that it has opened it does not count as hits once more.
    pub fn plan_again(&mut self) {
        self.parking.again = self.parking.ended;
    }

    pub(crate) fn add_handle(&mut self, entry: Arc<NameEntry>) -> usize {
        let place = match self.parking.free.pop() {
            Some(place) => place,
            None => {
                self.handles.push(Handle::of(Arc::clone(&self.parking.nobody)));
                self.handles.len() - 1
            }
        };
        self.places.add(entry.id, place);
        self.handles[place] = Handle::of(entry);
        self.handles[place].round = self.parking.round;
        place
    }

    /// The handle of a name whose handle is gone; `None`: what the name stood for is hidden or was the session's own.
    #[cold]
    pub(crate) fn come_back(&mut self, name: &Arc<NameEntry>) -> Option<usize> {
        if name.is_private() || self.temporary(&name.schema, &name.name).is_some() {
            return None;
        }
        let key = (name.schema.clone(), name.name.clone());
        let handle = self.add_handle(Arc::clone(name));
        self.by_name.insert(key, handle);
        Some(handle)
    }

    /// The locked table of a plan was not there in the plan's version: whether it is when it is opened.
    #[cold]
    pub(crate) fn relock_anew(
        &mut self,
        handle: usize,
        table: TableRef,
    ) -> Result<bool, CatalogError> {
        let h = &self.handles[handle];
        let entry = &h.entry;
        let hidden = !entry.is_private() && self.temporary(&entry.schema, &entry.name).is_some();
        if hidden || h.version != 0 || entry.version() != table.version() {
            self.begin_round();
            return Ok(false);
        }
        self.enter(handle)?;
        if let Some(definition) = self.definition(handle).filter(|d| d.def.view.is_none()) {
            definition.open(self.catalog.engine())?;
        }
        // Others may have learned more of its rows meanwhile.
        Ok(self.reference(handle) == table)
    }

    /// A statement opens a table whose name is locked: a hit or a miss. Takes over what is published.
    pub(crate) fn enter(&mut self, handle: usize) -> Result<(), CatalogError> {
        self.refresh(handle)?;
        let round = self.parking.round;
        let h = &mut self.handles[handle];
        h.round = round;
        if h.hit == 0 {
            if h.definition.as_ref().is_some_and(|d| d.def.view.is_some()) {
                h.entry.load();
            }
            return Ok(());
        }
        h.uses = (round, if h.uses.0 == round { h.uses.1 + 1 } else { 1 });
        if h.uses.1 <= h.opened {
            self.parking.count_hit();
            return Ok(());
        }
        let open = Arc::clone(&self.catalog.names().open);
        self.parking.is_due = true;
        if !self.parking.local && open.take(self.parking.instance, &h.entry, h.version) {
            h.opened += 1;
            self.parking.opened.push(handle);
            self.parking.count_hit();
            return Ok(());
        }
        instrument::count(Counter::TableOpenCacheMisses, 1);
        instrument::count(Counter::OpenedTables, 1);
        h.entry.load();
        if h.entry.add_handle(self.parking.instance, h.version) {
            h.opened += 1;
            if h.opened == 1 {
                self.parking.opened.push(handle);
            }
        }
        self.close_oldest(&open);
        if self.explicit.held.covers(&self.handles[handle].entry.object, Mode::SR) {
            // DDL or FLUSH closed what LOCK TABLES had opened.
            self.keep(handle);
        }
        Ok(())
    }

    /// A statement whose plan names a table more than once uses it so many times more.
    #[cold]
    pub fn enter_again(&mut self, table: TableRef, times: u32) -> Result<(), CatalogError> {
        let Some(handle) = self.places.find(table.name()) else { return Ok(()) };
        self.handles[handle].uses = (self.parking.round, 1);
        (0..times).try_for_each(|_| self.enter(handle))
    }

    /// How often the statement that is planned has opened a table.
    pub fn times_opened(&self, table: TableRef) -> u32 {
        let handle = self.places.find(table.name()).map(|handle| &self.handles[handle]);
        handle.map_or(1, |h| if h.uses.0 == self.parking.round { h.uses.1.max(1) } else { 1 })
    }

    /// What LOCK TABLES locks it keeps: its statements do not open it anew.
    pub(crate) fn keep(&mut self, handle: usize) {
        self.handles[handle].hit = 0;
    }

    /// LOCK TABLES is over.
    pub(crate) fn keep_none(&mut self) {
        let counts = self.parking.counts;
        self.parking.is_due = true;
        self.handles.iter_mut().for_each(|h| h.hit = u64::from(counts && h.is_base()));
    }

    /// Takes over the published definition; the name is locked by the caller.
    ///
    /// # Errors
    /// Those of reading a definition that is not in memory; then the handle is to be looked at again.
    pub(crate) fn refresh(&mut self, handle: usize) -> Result<(), CatalogError> {
        let h = &mut self.handles[handle];
        let version = h.entry.version();
        if h.version == version {
            return Ok(());
        }
        if std::mem::take(&mut h.closed) == version {
            h.version = version;
            return Ok(());
        }
        let (version, definition) = self.catalog.meaning(&h.entry)?;
        if publication(h.version) != publication(version) {
            // Who published has counted them out.
            h.opened = 0;
        }
        h.close_io();
        (h.version, h.definition) = (version, definition);
        h.hit = u64::from(self.parking.counts && h.is_base());
        self.parking.seen.push(handle);
        self.parking.is_due = true;
        Ok(())
    }

    /// Closes what is too much in the instance, as far as the session has it and does not use it.
    fn close_oldest(&mut self, open: &OpenHandles) {
        let instance = self.parking.instance;
        if open.is_over(instance) {
            // What is parked goes first: who keeps handles to himself does not find it.
            let closed = open.evict(instance);
            instrument::count(Counter::TableOpenCacheOverflows, closed);
        }
        while self.parking.local && open.is_over(instance) {
            let Some(handle) = self.oldest_open() else { return };
            let h = &mut self.handles[handle];
            let closed = publication(h.version) == publication(h.entry.version());
            h.entry.remove_handles(instance, h.version, 1);
            h.opened -= 1;
            if h.opened == 0 {
                self.note_closed(handle);
            }
            instrument::count(Counter::TableOpenCacheOverflows, u64::from(closed));
        }
    }

    /// A handle was closed; the one that has been for the longest goes if there are too many.
    fn note_closed(&mut self, handle: usize) {
        let h = &mut self.handles[handle];
        let round = h.round;
        h.closed = std::mem::take(&mut h.version);
        self.parking.closed.push_back((round, handle));
        if self.parking.closed.len() > CLOSED_MAX
            && let Some((round, handle)) = self.parking.closed.pop_front()
            && let Some(h) = self.handles.get(handle)
            && (h.round, h.opened) == (round, 0)
        {
            self.forget(handle);
        }
    }

    /// The open handle that was used the longest ago, and is not in use.
    fn oldest_open(&mut self) -> Option<usize> {
        let Self { handles, parking, .. } = self;
        let noted = parking.opened.len();
        if noted <= 2 * OLDEST || noted > 2 * handles.len() {
            parking.opened.retain(|place| handles.get(*place).is_some_and(|h| h.opened > 0));
        }
        if parking.opened.len() > OLDEST {
            return self.oldest(|h| h.opened > 0);
        }
        let places = parking.opened.iter().copied();
        let unused = places.filter(|place| !parking.uses(&handles[*place]));
        // Of one statement the last goes first: who runs it again finds the others.
        unused.min_by_key(|place| (handles[*place].round, Reverse(*place)))
    }

    /// The handle of a kind that was used the longest ago, and is not in use.
    fn oldest(&mut self, of: impl Fn(&Handle) -> bool) -> Option<usize> {
        for _ in 0..2 {
            while let Some((round, handle)) = self.parking.oldest.pop() {
                let h = &self.handles[handle];
                if h.round == round && of(h) && !self.parking.uses(h) {
                    if h.opened > 1 {
                        self.parking.oldest.push((round, handle));
                    }
                    return Some(handle);
                }
            }
            let unused = |(_, h): &(usize, &Handle)| of(h) && !self.parking.uses(h);
            let all = self.handles.iter().enumerate().filter(unused);
            let mut all: Vec<(u64, usize)> = all.map(|(place, h)| (h.round, place)).collect();
            // Of one statement the last goes first: who runs it again finds the others.
            let age = |(round, place): &(u64, usize)| (*round, Reverse(*place));
            if all.len() > OLDEST {
                all.select_nth_unstable_by_key(OLDEST, age);
                all.truncate(OLDEST);
            }
            all.sort_unstable_by_key(|one| Reverse(age(one)));
            self.parking.oldest = all;
        }
        None
    }

    /// The session is idle: what it has closed it need not know.
    pub fn rest(&mut self) {
        for (round, handle) in std::mem::take(&mut self.parking.closed) {
            if self.handles.get(handle).is_some_and(|h| (h.round, h.opened) == (round, 0)) {
                self.forget(handle);
            }
        }
    }

    /// Counts the handles of a name out.
    pub(crate) fn close_handles(&mut self, handle: usize) {
        let h = &mut self.handles[handle];
        let opened = u64::from(std::mem::take(&mut h.opened));
        if opened > 0 {
            h.entry.remove_handles(self.parking.instance, h.version, opened);
        }
    }

    /// Drops what the session knows of a name.
    fn forget(&mut self, handle: usize) {
        let gone = std::mem::replace(
            &mut self.handles[handle],
            Handle::of(Arc::clone(&self.parking.nobody)),
        );
        self.places.remove(gone.entry.id);
        let key = (gone.entry.schema.clone(), gone.entry.name.clone());
        if self.by_name.get(&key) == Some(&handle) {
            self.by_name.remove(&key);
        }
        self.parking.free.push(handle);
    }

    /// The statement has ended: what is too much goes.
    #[cold]
    pub(crate) fn park(&mut self) {
        self.parking.is_due = false;
        let open = Arc::clone(&self.catalog.names().open);
        let mut seen = std::mem::take(&mut self.parking.seen);
        if !self.parking.local {
            self.give_all(&open);
        }
        for handle in seen.drain(..) {
            let h = &self.handles[handle];
            let is_own = || self.temporary.values().any(|own| *own == handle);
            if h.version != 0 && h.definition.is_none() && !is_own() {
                self.forget(handle);
            }
        }
        self.parking.seen = seen;
        self.close_oldest(&open);
        // Views, and tables that others have flushed.
        let kept =
            |h: &Handle| h.opened > 0 || h.definition.as_ref().is_some_and(|d| d.def.temporary);
        while self.handles.len() - self.parking.free.len() > NAMES_MAX {
            let handles = self.handles.iter();
            if handles.filter(|h| h.version != 0 && !kept(h)).count() <= NAMES_MAX {
                return;
            }
            let Some(handle) = self.oldest(|h| h.version != 0 && !kept(h)) else { return };
            self.forget(handle);
        }
    }

    /// Gives the handles to the instance.
    fn give_all(&mut self, open: &OpenHandles) {
        let instance = self.parking.instance;
        for place in 0..self.handles.len() {
            let h = &mut self.handles[place];
            if h.opened == 0 || h.hit == 0 {
                continue;
            }
            let version = std::mem::take(&mut h.version);
            for _ in 0..std::mem::take(&mut h.opened) {
                let closed = open.park(instance, &h.entry, version);
                instrument::count(Counter::TableOpenCacheOverflows, closed);
            }
        }
    }

    /// Counts its tables out: the session ends.
    pub fn close(&mut self) {
        (0..self.handles.len()).for_each(|handle| self.close_handles(handle));
        self.handles.clear();
        self.places = Default::default();
        self.by_name.clear();
    }

    /// FLUSH TABLES: nobody has the tables open any more; no names are all of them.
    pub fn flush_handles(&self, names: &[FullName]) {
        self.catalog.names().flush(names);
    }
}

impl Drop for TableCache {
    fn drop(&mut self) {
        self.close();
    }
}
