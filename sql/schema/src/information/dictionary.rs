//! Schemas, tables and views.

use super::{Cell, Rows, cells};
use access::Privileges;
use catalog::{
    ColumnDef, Definition, INFORMATION_SCHEMA, MYSQL_SCHEMA, PERFORMANCE_SCHEMA, ReadContext,
    SYS_SCHEMA, TableDef, virtual_schema,
};
use std::sync::Arc;
use value::{Collation, Kind};

/// Names of the schemas that the reader asks for and may see; `column` holds the schema's name.
pub(super) fn schema_names(context: &ReadContext<'_>, column: usize) -> Vec<String> {
    let rights = context.viewer.rights();
    let found = match context.equal_text(column) {
        Some(name) => context.catalog.schema(name).into_iter().collect(),
        None => context.catalog.schemas(),
    };
    let seen = found.iter().filter(|schema| rights.sees_schema(&schema.name));
    seen.map(|schema| schema.name.clone()).collect()
}

/// Calls `f` for every table and view the reader asks for and may see, ordered by schema and name; the numbers are the
/// positions of the columns with schema and table name.
pub(super) fn each_table(
    context: &ReadContext<'_>,
    (schema, table): (usize, usize),
    f: &mut dyn FnMut(&TableDef, Option<&Arc<Definition>>),
) {
    let wanted = context.equal_text(table);
    let rights = context.viewer.rights();
    let f = &mut |def: &TableDef, definition: Option<&Arc<Definition>>| {
        if rights.sees_table(&def.schema, &def.name) {
            f(def, definition);
        }
    };
    for schema in schema_names(context, schema) {
        if virtual_schema(&schema).is_some() {
            let named = |def: &&TableDef| wanted.is_none_or(|w| def.name.eq_ignore_ascii_case(w));
            context.catalog.virtual_defs(&schema).filter(named).for_each(|def| f(def, None));
            continue;
        }
        match wanted {
            Some(name) => {
                if let Ok(Some(found)) = context.catalog.definition(&schema, name) {
                    f(&found.def, Some(&found));
                }
            }
            None => context.catalog.definitions(&schema).iter().for_each(|d| f(&d.def, Some(d))),
        }
    }
}

pub(super) fn schemata(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for name in schema_names(context, 1) {
        let Some(schema) = context.catalog.schema(&name) else { continue };
        // Oldest of MySQL's own schemas has utf8mb3.
        let collation = match &*schema.name {
            INFORMATION_SCHEMA => Collation::from_name("utf8mb3_general_ci"),
            _ => Some(schema.collation),
        };
        let collation = collation.unwrap_or(schema.collation);
        let (charset, collation) = (collation.charset().name(), collation.name());
        rows.push(&cells!["def", &schema.name, charset, collation, Cell::Null, "NO"]);
    }
}

pub(super) fn schemata_extensions(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for name in schema_names(context, 1) {
        rows.push(&cells!["def", name, ""]);
    }
}

/// What kind of table it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Species {
    Stored,
    View,
    System,
    Performance,
}

impl Species {
    fn of(def: &TableDef) -> Species {
        match virtual_schema(&def.schema) {
            Some(PERFORMANCE_SCHEMA) => Species::Performance,
            Some(MYSQL_SCHEMA) => Species::Stored,
            Some(SYS_SCHEMA) => Species::View,
            Some(_) => Species::System,
            None if def.view.is_some() => Species::View,
            None => Species::Stored,
        }
    }

    fn table_type(self) -> &'static str {
        match self {
            Species::View => "VIEW",
            Species::System => "SYSTEM VIEW",
            Species::Stored | Species::Performance => "BASE TABLE",
        }
    }

    fn engine(self, def: &TableDef) -> Option<&'static str> {
        match self {
            Species::Stored | Species::Performance => Some(def.engine()),
            Species::View | Species::System => None,
        }
    }

    fn row_format(self, def: &TableDef) -> Option<&'static str> {
        let varies = |c: &ColumnDef| {
            c.ty.kind.is_large()
                || matches!(c.ty.kind, Kind::VarChar | Kind::VarBinary | Kind::Json)
        };
        match self {
            Species::Stored => Some("Dynamic"),
            Species::Performance if def.columns.iter().any(varies) => Some("Dynamic"),
            Species::Performance => Some("Fixed"),
            Species::View | Species::System => None,
        }
    }
}

pub(super) fn tables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (1, 2), &mut |def, definition| {
        let species = Species::of(def);
        let is_view = species == Species::View;
        let size = definition.filter(|_| !is_view).map(|d| context.size(d)).unwrap_or_default();
        // A view has no figures at all.
        let figure = |n: u64| if is_view { Cell::Null } else { Cell::UInt(n) };
        rows.push(&cells![
            "def",
            &def.schema,
            &def.name,
            species.table_type(),
            species.engine(def),
            (!is_view).then_some(10_i64),
            species.row_format(def),
            figure(size.rows),
            figure(size.data_bytes.checked_div(size.rows).unwrap_or(0)),
            figure(size.data_bytes),
            figure(0),
            figure(size.index_bytes),
            figure(0),
            definition.and_then(|d| context.autoinc_next(d)),
            Cell::Time(def.created_us),
            Cell::Null,
            Cell::Null,
            (!is_view).then(|| def.collation.name()),
            Cell::Null,
            (!is_view).then(|| create_options(def)),
            if is_view { "VIEW" } else { &def.comment },
        ]);
    });
}

/// Table options in the order of this column, which is not that of SHOW CREATE TABLE.
fn create_options(def: &TableDef) -> String {
    const ORDER: [&str; 11] = [
        "MAX_ROWS",
        "MIN_ROWS",
        "AVG_ROW_LENGTH",
        "ROW_FORMAT",
        "STATS_SAMPLE_PAGES",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "PACK_KEYS",
        "CHECKSUM",
        "DELAY_KEY_WRITE",
        "KEY_BLOCK_SIZE",
    ];
    let mut options: Vec<_> = def.options.iter().collect();
    options.sort_by_key(|(name, _)| ORDER.iter().position(|n| n == name));
    let text = options.iter().map(|(n, v)| format!("{}={v}", n.to_ascii_lowercase()));
    text.collect::<Vec<_>>().join(" ")
}

pub(super) fn tables_extensions(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (1, 2), &mut |def, _| {
        rows.push(&cells!["def", &def.schema, &def.name, Cell::Null, Cell::Null]);
    });
}

/// A table that is not partitioned is its own only partition.
pub(super) fn partitions(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (1, 2), &mut |def, definition| {
        if def.view.is_some() {
            return;
        }
        let size = definition.map(|d| context.size(d)).unwrap_or_default();
        let mut cells = vec![Cell::Null; rows.def.columns.len()];
        cells[0] = "def".into();
        cells[1] = (&def.schema).into();
        cells[2] = (&def.name).into();
        let average = size.data_bytes.checked_div(size.rows).unwrap_or(0);
        let figures = [size.rows, average, size.data_bytes, 0, size.index_bytes, 0];
        cells[12..18].iter_mut().zip(figures).for_each(|(cell, n)| *cell = n.into());
        cells[18] = Cell::Time(def.created_us);
        cells[22] = "".into();
        rows.push(&cells);
    });
}

pub(super) fn views(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let rights = context.viewer.rights();
    each_table(context, (1, 2), &mut |def, _| {
        let Some(view) = &def.view else { return };
        let needed = Privileges::SELECT | Privileges::SHOW_VIEW;
        let shown = rights.check_table(&def.schema, &def.name, needed).is_ok();
        rows.push(&cells![
            "def",
            &def.schema,
            &def.name,
            if shown { view.query.as_str() } else { "" },
            view.check.as_deref().unwrap_or("NONE"),
            if view.updatable { "YES" } else { "NO" },
            format!("{}@{}", view.definer.0, view.definer.1),
            if view.invoker { "INVOKER" } else { "DEFINER" },
            &view.client_charset,
            &view.connection_collation,
        ]);
    });
}

/// The files of stored tables; undo and redo are not tablespaces of their own here.
pub(super) fn files(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    const EXTENT_BYTES: u64 = 1 << 20;
    for schema in context.catalog.schemas() {
        for definition in context.catalog.definitions(&schema.name) {
            let def = &definition.def;
            if def.view.is_some() {
                continue;
            }
            let mut cells = vec![Cell::Null; rows.def.columns.len()];
            cells[0] = u64::from(def.storage.space.0).into();
            cells[1] = format!("./{}", engine::space_name(def.storage.space)).into();
            cells[2] = "TABLESPACE".into();
            cells[3] = format!("{}/{}", def.schema, def.name).into();
            cells[4] = "".into();
            cells[9] = "InnoDB".into();
            cells[15] = EXTENT_BYTES.into();
            cells[36] = "NORMAL".into();
            rows.push(&cells);
        }
    }
}
