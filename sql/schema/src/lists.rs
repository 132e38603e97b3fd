//! What SHOW STATUS and SHOW VARIABLES print, as tables.

use crate::table::{Type, performance};
use catalog::{MadeRows, ReadContext, ServerList, TableDef, VirtualTable};
use std::sync::Arc;
use value::Datum;

/// Characters of a value; MySQL cuts longer ones, too.
const VALUE_CHARS_MAX: usize = 1024;

struct List {
    def: TableDef,
    which: ServerList,
}

/// The four lists.
pub(crate) fn tables() -> Vec<Arc<dyn VirtualTable>> {
    let lists = [
        ("global_status", ServerList::GlobalStatus),
        ("session_status", ServerList::SessionStatus),
        ("global_variables", ServerList::GlobalVariables),
        ("session_variables", ServerList::SessionVariables),
    ];
    let columns = [
        ("VARIABLE_NAME", Type::Text(64)),
        ("VARIABLE_VALUE", Type::NullableText(VALUE_CHARS_MAX as u32)),
    ];
    let table = |(name, which)| -> Arc<dyn VirtualTable> {
        Arc::new(List { def: performance(name, &columns, true), which })
    };
    lists.into_iter().map(table).collect()
}

impl VirtualTable for List {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn rows(&self, context: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        for (name, value) in context.viewer.list(self.which) {
            let end = value.char_indices().nth(VALUE_CHARS_MAX).map_or(value.len(), |(at, _)| at);
            out.push(&[Datum::Bytes(name.as_bytes()), Datum::Bytes(&value.as_bytes()[..end])]);
        }
    }
}
