//! What a name means: a definition, and what is shared by those of the same rows.
//!
//! 1. It never changes; DDL publishes another one. 2. What a definition computes is compiled by floors that know expressions,
//! once, and kept beside it: one published later begins without. Whoever reads it writes nothing. 3. The engine's table
//! is opened once, by who needs it first; only those who need the same table wait for that.

use crate::{FullName, Statistics, TableDef};
use engine::{Engine, Table};
use instrument::Counter;
use std::any::Any;
use std::sync::{Arc, OnceLock};
use sync::Mutex;

instrument::classes! {
    static OPENING: MutexClass = "wait/synch/mutex/sql/table_opening", across_io;
    static STATISTICS: MutexClass = "wait/synch/mutex/sql/table_statistics";
}

/// A definition together with the engine's table, which is opened when it is needed first: a start
/// touches no table's file.
pub struct Definition {
    /// What the table looks like.
    pub def: TableDef,
    /// Names of the tables whose foreign keys refer to it.
    children: Vec<FullName>,
    /// See [`Definition::compiled`].
    compiled: Compiled,
    stored: Arc<Stored>,
}

/// What a definition computes, compiled by whoever needs it first.
#[derive(Default)]
pub(crate) struct Compiled(OnceLock<Box<dyn Any + Send + Sync>>);

impl Compiled {
    /// See [`Definition::compiled`].
    pub fn of<T: Any + Send + Sync, E>(
        &self,
        def: &TableDef,
        compile: impl FnOnce(&TableDef) -> Result<T, E>,
    ) -> Result<&T, E> {
        let made = match self.0.get() {
            Some(made) => made,
            None => {
                instrument::count(Counter::LimpidDefinitionsCompiled, 1);
                let made: Box<dyn Any + Send + Sync> = Box::new(compile(def)?);
                self.0.get_or_init(|| made)
            }
        };
        Ok(made.downcast_ref().expect("one type is compiled of definitions"))
    }
}

/// What two definitions of the same rows share: the counters of a table exist once.
struct Stored {
    table: OnceLock<Arc<Table>>,
    opening: Mutex<()>,
    statistics: Mutex<Statistics>,
}

impl Definition {
    /// A definition whose table is opened later.
    pub fn closed(def: TableDef) -> Self {
        let stored = Stored {
            table: OnceLock::new(),
            opening: Mutex::new(&OPENING, ()),
            statistics: Mutex::new(&STATISTICS, Statistics::default()),
        };
        Definition {
            def,
            children: Vec::new(),
            compiled: Compiled::default(),
            stored: Arc::new(stored),
        }
    }

    /// A definition of a table that is open.
    pub fn opened(def: TableDef, table: Arc<Table>) -> Self {
        let made = Definition::closed(def);
        let _first = made.stored.table.set(table);
        made
    }

    /// The same rows under another definition with the same columns and indexes.
    pub fn redefined(&self, def: TableDef) -> Definition {
        Definition {
            def,
            children: self.children.clone(),
            compiled: Compiled::default(),
            stored: Arc::clone(&self.stored),
        }
    }

    /// The same with other tables that refer to it.
    pub(crate) fn related(&self, children: Vec<FullName>) -> Definition {
        Definition { children, ..self.redefined(self.def.clone()) }
    }

    /// What is compiled of it, always the same type. It is compiled when it is asked for first; of two sessions that come
    /// at once the first one's is kept.
    ///
    /// # Errors
    /// Those of `compile`, which are not kept.
    pub fn compiled<T: Any + Send + Sync, E>(
        &self,
        compile: impl FnOnce(&TableDef) -> Result<T, E>,
    ) -> Result<&T, E> {
        self.compiled.of(&self.def, compile)
    }

    /// The tables whose foreign keys refer to it.
    #[inline]
    pub fn children(&self) -> &[FullName] {
        &self.children
    }

    /// The engine's table of that shape. Errors: of opening it.
    pub fn open(&self, engine: &Engine) -> Result<&Arc<Table>, engine::Error> {
        let Stored { table: opened, opening, .. } = &*self.stored;
        if let Some(table) = opened.get() {
            return Ok(table);
        }
        // Once: a table's counters must exist once.
        let _one_at_a_time = opening.lock();
        if let Some(table) = opened.get() {
            return Ok(table);
        }
        let table = engine.table(&self.def.spec(), self.def.storage.clone())?;
        Ok(opened.get_or_init(|| table))
    }

    /// What is known about its rows.
    pub fn statistics(&self) -> Statistics {
        self.stored.statistics.lock().clone()
    }

    /// Replaces what is known about its rows.
    pub(crate) fn set_statistics(&self, statistics: Statistics) {
        *self.stored.statistics.lock() = statistics;
    }

    /// The table, if it was opened.
    #[inline]
    pub fn table(&self) -> Option<&Arc<Table>> {
        self.stored.table.get()
    }
}
