//! What the query of a view names.
//!
//! 1. A table is listed once for each view, and only where the reader may see both. 2. Tables below a view that another one names are
//! that view's.

use super::dictionary::each_table;
use super::{Rows, cells};
use catalog::{ReadContext, ViewDef, virtual_schema};
use parser::SqlMode;
use parser::ast::{ObjectName, Query, Statement, Visit, walk_behind_with};
use std::collections::BTreeSet;

pub(super) fn view_tables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let rights = context.viewer.rights();
    each_table(context, (1, 2), &mut |def, _| {
        let Some(view) = &def.view else { return };
        for (schema, table) in named_in(view) {
            if rights.sees_table(&schema, &table) {
                rows.push(&cells!["def", &def.schema, &def.name, "def", &schema, &table]);
            }
        }
    });
}

/// Schemas and names of the tables and views that a view's query names.
fn named_in(view: &ViewDef) -> BTreeSet<(String, String)> {
    let mut named = Named { database: &view.database, common: Vec::new(), found: BTreeSet::new() };
    if let Ok(Statement::Query(query)) = parser::parse(view.query.as_bytes(), SqlMode::DEFAULT) {
        named.query(&query);
    }
    named.found
}

struct Named<'v> {
    /// Where names without a schema lie.
    database: &'v str,
    /// Names of the common table expressions that can be meant.
    common: Vec<String>,
    found: BTreeSet<(String, String)>,
}

impl Visit for Named<'_> {
    fn query(&mut self, query: &Query) {
        let outside = self.common.len();
        if let Some(with) = &query.with {
            for cte in &with.tables {
                // It means itself only where it is recursive.
                if with.recursive {
                    self.common.push(cte.name.clone());
                }
                self.query(&cte.query);
                if !with.recursive {
                    self.common.push(cte.name.clone());
                }
            }
        }
        walk_behind_with(self, query);
        self.common.truncate(outside);
    }

    fn table(&mut self, name: &ObjectName) {
        if name.schema.is_none() && self.common.contains(&name.name) {
            return;
        }
        let schema = name.schema.as_deref().unwrap_or(self.database);
        let schema = virtual_schema(schema).unwrap_or(schema);
        self.found.insert((schema.to_string(), name.name.clone()));
    }
}
