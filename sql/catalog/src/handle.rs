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
    /// 0: it is not timed.
    start: u64,
}

impl RowTimer<'_> {
    /// It is done: to so many rows, by an index of the engine's.
    #[inline]
    pub fn end(self, operation: RowOperation, index: Option<usize>, rows: u64) {
        // What took no time that can be measured took some; a nanosecond is not long.
        let ns = if self.start == 0 { 0 } else { sync::ns_since(self.start) | 1 };
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

/// What is measured of a table: the instruments and `setup_objects` decide, and `threads.INSTRUMENTED` of the session.
#[derive(Clone, Copy)]
struct Watched {
    /// When it was asked: [`instrument::switched`].
    switched: u64,
    /// What is done to its rows is counted.
    io: bool,
    /// That is timed, too.
    timed: bool,
    /// Statements that lock it are counted.
    locks: bool,
}

impl Watched {
    /// Not asked yet.
    const UNKNOWN: Watched = Watched { switched: u64::MAX, io: false, timed: false, locks: false };

    /// When something begins: ticks, or 0 where it is not timed.
    #[inline(always)]
    fn start(self) -> u64 {
        // A tick is not long.
        if self.timed { sync::ticks() | 1 } else { 0 }
    }
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
        let watched = self.watched();
        watched.io.then(|| (self.figures(), watched.timed))
    }

    /// What is measured of it.
    #[inline(always)]
    fn watched(&self) -> Watched {
        let watched = self.watched.get();
        if watched.switched == instrument::switched() { watched } else { self.ask() }
    }

    #[inline(always)]
    fn figures(&self) -> &Arc<TableIo> {
        self.io.get_or_init(|| self.open_io())
    }

    #[cold]
    fn ask(&self) -> Watched {
        let switched = instrument::switched();
        let NameEntry { schema, name, .. } = &*self.entry;
        let (counted, timed) = instrument::object_switches(ObjectType::Table, schema, name);
        let counted = counted && instrument::is_instrumented();
        let io = counted && TABLE_IO.enabled();
        let timed = io && timed && TABLE_IO.timed();
        if let Some(figures) = self.io.get() {
            figures.look();
        }
        self.watched.set(Watched { switched, io, timed, locks: counted && TABLE_LOCK.enabled() });
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
        let watched = self.watched();
        watched.io.then(|| RowTimer { io: self.figures(), start: watched.start() })
    }

    /// As [`Handle::timer`], of a row of a statement that reads the table and locks it for that, unless it is locked already.
    #[inline]
    pub fn locked_timer(&self, is_locked: bool) -> Option<RowTimer<'_>> {
        let watched = self.watched();
        if !watched.locks && !watched.io {
            return None;
        }
        let io = self.figures();
        if watched.locks && !is_locked {
            io.locked(false);
        }
        watched.io.then(|| RowTimer { io, start: watched.start() })
    }

    /// Counts that a statement locks it; a view has no lock of its own.
    pub fn count_lock(&self, write: bool) {
        if self.watched().locks && self.definition.as_ref().is_some_and(|d| d.def.view.is_none()) {
            self.figures().locked(write);
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
