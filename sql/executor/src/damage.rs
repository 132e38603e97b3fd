//! Names for what the engine knows by numbers: which table, index and page is damaged, which table is full.
//!
//! 1. An error keeps its meaning; it gets MySQL's number and the names. 2. Naming may read pages, so it is
//! done once, where an error leaves the server, and never while latches are held.

use crate::ExecError;
use crate::SqlError;
use base::{Error, IndexId, PageId, UNDO_SPACE};
use catalog::{Catalog, TableDef};

/// The same error with names; `None` when it has nothing to name.
pub fn named(error: &SqlError, catalog: &Catalog) -> Option<SqlError> {
    let SqlError::Storage(error) = error else { return None };
    match error {
        // Of a row that a read view, a rollback or purge wanted as it was.
        Error::Corrupt { page, offset, what } if page.space == UNDO_SPACE => Some(SqlError::from(
            ExecError::CorruptIndex("`innodb_undo`", &place(*page, *offset, what)),
        )),
        Error::Corrupt { page, offset, what } => {
            let (schema, table) = catalog.table_in(page.space)?;
            let name = match index_of(*page, (&schema, &table), catalog) {
                Some(index) => format!("`{schema}`.`{table}`.`{index}`"),
                None => format!("of table `{schema}`.`{table}`"),
            };
            Some(SqlError::from(ExecError::CorruptIndex(&name, &place(*page, *offset, what))))
        }
        Error::MissingSpace(space) => {
            let (schema, table) = catalog.table_in(*space)?;
            Some(SqlError::from(ExecError::MissingTablespace(&schema, &table)))
        }
        Error::NoSpace { path } => {
            let file = path.rsplit('/').next().unwrap_or(path);
            let (_, table) = catalog.table_in(engine::space_of_name(file)?)?;
            Some(SqlError::from(ExecError::TableFull(&table)))
        }
        _ => None,
    }
}

/// The name of the index that a page belongs to, if the table is open.
fn index_of(page: PageId, (schema, table): (&str, &str), catalog: &Catalog) -> Option<String> {
    let definition = catalog.definition(schema, table).ok()??;
    let id = definition.table()?.index_of_page(page.page)?;
    index_name(&definition.def, id).map(str::to_string)
}

/// The name of an index; a table without a primary key has InnoDB's hidden one.
pub fn index_name(def: &TableDef, id: IndexId) -> Option<&str> {
    let named = def.indexes.iter().find(|i| i.id == id).map(|i| i.name.as_str());
    named.or((id == def.clustered_id).then_some("GEN_CLUST_INDEX"))
}

/// Where damage is, and what it is.
pub fn place(page: PageId, offset: u32, what: &str) -> String {
    match offset {
        0 => format!("page {}: {what}", page.page),
        _ => format!("page {}, byte {offset}: {what}", page.page),
    }
}
