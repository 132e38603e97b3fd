//! What a session has of one name: the definition that it took over, and what it counts of its use.

use crate::definition::Definition;
use crate::entry::NameEntry;
use instrument::{ObjectType, RowOperation, TABLE_IO, TABLE_LOCK, TableIo};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

/// Something that is done to rows of a table, and timed.
#[must_use = "it is counted when it ends"]
pub struct RowTimer<'c> {
    io: &'c TableIo,
    start: Option<u64>,
}

impl RowTimer<'_> {
    /// It is done: to so many rows, by an index of the engine's.
    #[inline]
    pub fn end(self, operation: RowOperation, index: Option<usize>, rows: u64) {
        // What took no time that can be measured took some.
        let ns = self.start.map_or(0, |start| sync::ns_since(start).max(1));
        self.io.add(operation, index, rows, ns);
    }
}

/// What a session has of a name.
pub(crate) struct Handle {
    pub entry: Arc<NameEntry>,
    pub definition: Option<Arc<Definition>>,
    /// Of the definition; 0: it is to be looked at again.
    pub version: u64,
    /// The version when it was closed because there were too many; 0: it was not.
    pub closed: u64,
    /// When it was used last: see [`TableCache`](crate::TableCache).
    pub round: u64,
    /// What its use counts as a hit: one, but for views, temporary tables, and while LOCK TABLES keeps it.
    pub hit: u64,
    /// Handles in MySQL's sense: as many as one statement has used at once, and as there was room for.
    pub opened: u32,
    /// How often the statement of this round uses it.
    pub uses: (u64, u32),
    /// What the session did to the rows of this definition's table, once it has done something.
    io: OnceCell<Arc<TableIo>>,
    watched: Cell<Watched>,
}

/// Whether a table is watched: `setup_objects` decides, and `threads.INSTRUMENTED` of the session.
#[derive(Clone, Copy)]
struct Watched {
    /// When it was asked: [`instrument::objects_version`].
    version: u64,
    counted: bool,
    timed: bool,
}

impl Watched {
    /// Not asked yet.
    const UNKNOWN: Watched = Watched { version: u64::MAX, counted: false, timed: false };
}

impl Handle {
    /// Of a name that was not looked at yet.
    pub fn of(entry: Arc<NameEntry>) -> Handle {
        Handle {
            entry,
            definition: None,
            version: 0,
            closed: 0,
            round: 0,
            hit: 0,
            opened: 0,
            uses: (0, 0),
            io: OnceCell::new(),
            watched: Cell::new(Watched::UNKNOWN),
        }
    }

    /// Where it is counted what is done to its rows, and whether that is timed.
    #[inline]
    pub fn io(&self) -> Option<(&Arc<TableIo>, bool)> {
        if TABLE_IO.enabled() { self.watched_io() } else { None }
    }

    /// As [`Handle::io`], whatever is measured of tables.
    #[inline(always)]
    fn watched_io(&self) -> Option<(&Arc<TableIo>, bool)> {
        let mut watched = self.watched.get();
        if watched.version != instrument::objects_version() {
            watched = self.ask();
        }
        let timed = watched.timed && TABLE_IO.timed();
        watched.counted.then(|| (self.io.get_or_init(|| self.open_io()), timed))
    }

    #[cold]
    fn ask(&self) -> Watched {
        let version = instrument::objects_version();
        let NameEntry { schema, name, .. } = &*self.entry;
        let (counted, timed) = instrument::object_switches(ObjectType::Table, schema, name);
        let counted = counted && instrument::is_instrumented();
        self.watched.set(Watched { version, counted, timed });
        self.watched.get()
    }

    #[cold]
    fn open_io(&self) -> Arc<TableIo> {
        let indexes = self.definition.as_ref().map(|d| d.def.engine_indexes());
        let name = (&*self.entry.schema, &*self.entry.name);
        self.entry.io.open(name, indexes.unwrap_or_default())
    }

    #[inline]
    pub fn timer(&self) -> Option<RowTimer<'_>> {
        let (io, timed) = self.io()?;
        Some(RowTimer { io, start: timed.then(sync::ticks) })
    }

    /// As [`Handle::timer`], of a row of a statement that reads the table and locks it for that, unless it is locked already.
    #[inline]
    pub fn locked_timer(&self, is_locked: bool) -> Option<RowTimer<'_>> {
        let (counts_io, counts_lock) = (TABLE_IO.enabled(), TABLE_LOCK.enabled() && !is_locked);
        if !counts_io && !counts_lock {
            return None;
        }
        let (io, timed) = self.watched_io()?;
        if counts_lock {
            io.locked(false);
        }
        counts_io.then(|| RowTimer { io, start: timed.then(sync::ticks) })
    }

    /// Counts that a statement locks it; a view has no lock of its own.
    pub fn count_lock(&self, write: bool) {
        if TABLE_LOCK.enabled()
            && self.definition.as_ref().is_some_and(|d| d.def.view.is_none())
            && let Some((io, _)) = self.watched_io()
        {
            io.locked(write);
        }
    }

    /// Its figures go to those of the name.
    pub fn close_io(&mut self) {
        if let Some(io) = self.io.take() {
            instrument::close_table_io(&io);
        }
    }

    /// Whether it is a table of the table cache: views and temporary tables are not.
    pub fn is_base(&self) -> bool {
        self.definition.as_ref().is_some_and(|d| !d.def.temporary && d.def.view.is_none())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close_io();
    }
}
