//! What SHOW OPEN TABLES shows: the tables and views whose definitions are in the cache, and how many sessions use each.
//!
//! 1. It is in no list of tables. 2. A session uses a table while it runs a statement that has locked it, and while LOCK
//! TABLES has; a table that a statement names twice counts once.

use crate::table::{Type, performance};
use catalog::{MadeRows, ReadContext, TableDef, VirtualTable};
use mdl::{LockRow, Mode, Namespace, Status};
use std::collections::{HashMap, HashSet};
use value::Datum;

/// The table.
pub(crate) struct OpenTables {
    def: TableDef,
}

impl OpenTables {
    pub(crate) fn new() -> Self {
        let columns = [
            ("Database", Type::Text(64)),
            ("Table", Type::Text(64)),
            ("In_use", Type::Unsigned),
            ("Name_locked", Type::Unsigned),
        ];
        OpenTables { def: performance("#open_tables", &columns, true) }
    }
}

impl VirtualTable for OpenTables {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn rows(&self, context: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        let running = context.viewer.processes().into_iter().filter(|p| p.info.is_some());
        let running: HashSet<usize> = running.map(|p| p.slot).collect();
        let is_used = |l: &LockRow| {
            l.namespace == Namespace::Table
                && l.status == Status::Granted
                && (running.contains(&l.slot) || matches!(l.mode, Mode::SRO | Mode::SNRW))
        };
        let locks = context.catalog.mdl().locks();
        let used = locks.iter().filter(|l| is_used(l));
        let used: HashSet<_> = used.map(|l| (&l.schema[..], &l.name[..], l.slot)).collect();
        let mut users: HashMap<(&str, &str), u64> = HashMap::new();
        used.iter().for_each(|(schema, name, _)| *users.entry((schema, name)).or_default() += 1);
        let rights = context.viewer.rights();
        for name in context.catalog.entries().iter().filter(|name| name.is_loaded()) {
            if !rights.sees_table(&name.schema, &name.name) {
                continue;
            }
            let in_use = users.get(&(&name.schema[..], &name.name[..])).copied().unwrap_or(0);
            out.push(&[
                Datum::Bytes(name.schema.as_bytes()),
                Datum::Bytes(name.name.as_bytes()),
                Datum::UInt(in_use),
                Datum::UInt(0),
            ]);
        }
    }
}
