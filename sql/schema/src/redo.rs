//! `innodb_redo_log_files`: the files that the redo log consists of.

use crate::table::{Type, performance};
use catalog::{MadeRows, ReadContext, TableDef, VirtualTable};
use engine::Engine;
use std::sync::Arc;
use value::Datum;

/// The table.
pub(crate) struct RedoFiles {
    def: TableDef,
    engine: Arc<Engine>,
}

impl RedoFiles {
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        let columns = [
            ("FILE_ID", Type::BigInt),
            ("FILE_NAME", Type::Text(2000)),
            ("START_LSN", Type::BigInt),
            ("END_LSN", Type::BigInt),
            ("SIZE_IN_BYTES", Type::BigInt),
            ("IS_FULL", Type::TinyInt),
            ("CONSUMER_LEVEL", Type::Int),
        ];
        let def = performance("innodb_redo_log_files", &columns, false);
        RedoFiles { def, engine: Arc::clone(engine) }
    }
}

impl VirtualTable for RedoFiles {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn rows(&self, _: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        for file in self.engine.log().files() {
            out.push(&[
                Datum::UInt(file.file_id),
                Datum::Bytes(format!("./{}", file.file_name).as_bytes()),
                Datum::UInt(file.start_lsn.0),
                Datum::UInt(file.end_lsn.0),
                Datum::UInt(file.size_in_bytes),
                Datum::Int(i64::from(file.is_full)),
                Datum::UInt(u64::from(file.consumer_level)),
            ]);
        }
    }
}
