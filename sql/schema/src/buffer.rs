//! `INNODB_BUFFER_POOL_STATS`: one row per instance of the buffer pool.

use crate::table::{Type, information};
use catalog::{MadeRows, ReadContext, TableDef, VirtualTable};
use engine::{Engine, InstanceStats};
use std::sync::Arc;
use value::Datum;

/// The table.
pub(crate) struct PoolStats {
    def: TableDef,
    engine: Arc<Engine>,
}

macro_rules! columns {
    ($($name:literal $field:ident $ty:ident,)*) => {
        const COLUMNS: &[(&str, Type)] = &[$(($name, columns!(@type $ty)),)*];

        fn row(stats: &InstanceStats) -> Vec<Datum<'static>> {
            vec![$(Datum::$ty(stats.$field)),*]
        }
    };
    (@type UInt) => { Type::Unsigned };
    (@type Double) => { Type::Double };
}

columns! {
    "POOL_ID" pool_id UInt,
    "POOL_SIZE" pool_size UInt,
    "FREE_BUFFERS" free_buffers UInt,
    "DATABASE_PAGES" database_pages UInt,
    "OLD_DATABASE_PAGES" old_database_pages UInt,
    "MODIFIED_DATABASE_PAGES" modified_database_pages UInt,
    "PENDING_DECOMPRESS" pending_decompress UInt,
    "PENDING_READS" pending_reads UInt,
    "PENDING_FLUSH_LRU" pending_flush_lru UInt,
    "PENDING_FLUSH_LIST" pending_flush_list UInt,
    "PAGES_MADE_YOUNG" pages_made_young UInt,
    "PAGES_NOT_MADE_YOUNG" pages_not_made_young UInt,
    "PAGES_MADE_YOUNG_RATE" pages_made_young_rate Double,
    "PAGES_MADE_NOT_YOUNG_RATE" pages_made_not_young_rate Double,
    "NUMBER_PAGES_READ" number_pages_read UInt,
    "NUMBER_PAGES_CREATED" number_pages_created UInt,
    "NUMBER_PAGES_WRITTEN" number_pages_written UInt,
    "PAGES_READ_RATE" pages_read_rate Double,
    "PAGES_CREATE_RATE" pages_create_rate Double,
    "PAGES_WRITTEN_RATE" pages_written_rate Double,
    "NUMBER_PAGES_GET" number_pages_get UInt,
    "HIT_RATE" hit_rate UInt,
    "YOUNG_MAKE_PER_THOUSAND_GETS" young_make_per_thousand_gets UInt,
    "NOT_YOUNG_MAKE_PER_THOUSAND_GETS" not_young_make_per_thousand_gets UInt,
    "NUMBER_PAGES_READ_AHEAD" number_pages_read_ahead UInt,
    "NUMBER_READ_AHEAD_EVICTED" number_read_ahead_evicted UInt,
    "READ_AHEAD_RATE" read_ahead_rate Double,
    "READ_AHEAD_EVICTED_RATE" read_ahead_evicted_rate Double,
    "LRU_IO_TOTAL" lru_io_total UInt,
    "LRU_IO_CURRENT" lru_io_current UInt,
    "UNCOMPRESS_TOTAL" uncompress_total UInt,
    "UNCOMPRESS_CURRENT" uncompress_current UInt,
}

impl PoolStats {
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        let def = information("INNODB_BUFFER_POOL_STATS", COLUMNS);
        PoolStats { def, engine: Arc::clone(engine) }
    }
}

impl VirtualTable for PoolStats {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn rows(&self, _: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        self.engine.pool().instance_stats().iter().for_each(|stats| out.push(&row(stats)));
    }
}
