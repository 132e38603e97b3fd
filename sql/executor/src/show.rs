//! SHOW of what no table of `information_schema` has: CREATE texts, and temporary tables. What has one is
//! planned as a query of it; SHOW of the session's own state is the session's.

use crate::quoting::Quoting;
use crate::{Context, Outcome, ResultColumn, RowSink, SqlError, create_text};
use catalog::{ColumnDef, INFORMATION_SCHEMA, IndexDef, SchemaDef, TableDef};
use expr::like;
use mdl::Mode;
use parser::ast::{ObjectName, Show, ShowFilter};
use value::{Collation, Datum};

/// Result columns of a SHOW statement.
pub fn columns(show: &Show, context: &Context<'_>) -> Result<Vec<ResultColumn>, SqlError> {
    let texts = |names: &[&str]| names.iter().map(|n| ResultColumn::text(n, 256)).collect();
    Ok(match show {
        Show::Columns { full: false, .. } => {
            texts(&["Field", "Type", "Null", "Key", "Default", "Extra"])
        }
        Show::Columns { full: true, .. } => texts(&[
            "Field",
            "Type",
            "Collation",
            "Null",
            "Key",
            "Default",
            "Extra",
            "Privileges",
            "Comment",
        ]),
        Show::Index { .. } => texts(&[
            "Table",
            "Non_unique",
            "Key_name",
            "Seq_in_index",
            "Column_name",
            "Collation",
            "Cardinality",
            "Sub_part",
            "Packed",
            "Null",
            "Index_type",
            "Comment",
            "Index_comment",
            "Visible",
            "Expression",
        ]),
        Show::CreateTable(name) => match is_view(name, context) {
            true => texts(&VIEW_COLUMNS),
            false => texts(&["Table", "Create Table"]),
        },
        Show::CreateOther(kind, _) if kind == "VIEW" => texts(&VIEW_COLUMNS),
        Show::CreateDatabase { .. } => texts(&["Database", "Create Database"]),
        _ => return Err(not_here()),
    })
}

/// Who calls knows what the executor runs.
fn not_here() -> SqlError {
    SqlError::Storage(base::Error::Internal("a SHOW of the session"))
}

const VIEW_COLUMNS: [&str; 4] =
    ["View", "Create View", "character_set_client", "collation_connection"];

/// Refuses to describe a view that cannot be read.
///
/// # Errors
/// 1356.
pub fn refuse_broken_view(show: &Show, context: &mut Context<'_>) -> Result<(), SqlError> {
    let (Show::Columns { table, .. } | Show::Index { table, .. }) = show else { return Ok(()) };
    if !is_view(table, context) {
        return Ok(());
    }
    let schema = context.schema_of(table)?;
    crate::lock_tables::below((&schema, &table.name), Mode::SH, context).map(|_| ())
}

/// Whether a name is a view's at the moment; a name that is not there is none.
fn is_view(name: &ObjectName, context: &Context<'_>) -> bool {
    let Ok(schema) = context.schema_of(name) else { return false };
    context.tables.catalog().is_view(&schema, &name.name) == Some(true)
}

/// Runs the statement.
///
/// # Errors
/// Unknown names, network errors.
pub fn run(
    show: &Show,
    header: &[ResultColumn],
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let rows = rows(show, context)?;
    sink.header(header)?;
    for row in &rows {
        let values: Vec<_> = row
            .iter()
            .map(|v| v.as_deref().map_or(Datum::Null, |s| Datum::Bytes(s.as_bytes())))
            .collect();
        sink.row(&values)?;
    }
    Ok(Outcome { has_rows: true, ..Outcome::default() })
}

type TextRow = Vec<Option<String>>;

fn rows(show: &Show, context: &mut Context<'_>) -> Result<Vec<TextRow>, SqlError> {
    match show {
        Show::Columns { full, table, filter, .. } => {
            refuse_where(filter.as_ref())?;
            with_table(table, context, |def, _| {
                let shown =
                    def.columns.iter().filter(|c| !c.hidden && passes(filter.as_ref(), &c.name));
                shown.map(|c| column_row(def, c, *full)).collect()
            })
        }
        Show::Index { table, filter, .. } => {
            if filter.is_some() {
                return Err(SqlError::unsupported("SHOW ... WHERE"));
            }
            with_table(table, context, |def, _| {
                def.indexes.iter().flat_map(|index| index_rows(def, index)).collect()
            })
        }
        Show::CreateTable(table) if is_view(table, context) => create_view(table, context),
        Show::CreateTable(table) => create_table(table, context),
        Show::CreateOther(kind, name) if kind == "VIEW" => create_view(name, context),
        Show::CreateDatabase { name, if_not_exists } => {
            let schema = context.tables.catalog().schema(name);
            let schema =
                schema.ok_or_else(|| catalog::CatalogError::UnknownDatabase(name.clone()))?;
            // The oldest of MySQL's own schemas has utf8mb3.
            let collation = match schema.name.as_str() {
                INFORMATION_SCHEMA => Collation::from_name("utf8mb3_general_ci"),
                _ => None,
            };
            let collation = collation.unwrap_or(schema.collation);
            let shown = SchemaDef { name: schema.name.clone(), collation };
            let text =
                create_text::create_database(&shown, *if_not_exists, &Quoting::of(context.env));
            Ok(vec![vec![Some(name.clone()), Some(text)]])
        }
        _ => Err(not_here()),
    }
}

fn refuse_where(filter: Option<&ShowFilter>) -> Result<(), SqlError> {
    match filter {
        Some(ShowFilter::Where(_)) => Err(SqlError::unsupported("SHOW ... WHERE")),
        _ => Ok(()),
    }
}

/// LIKE of a SHOW statement.
pub fn passes(filter: Option<&ShowFilter>, name: &str) -> bool {
    match filter {
        Some(ShowFilter::Like(pattern)) => {
            let (name, pattern) = (Datum::Bytes(name.as_bytes()), Datum::Bytes(pattern));
            like(&name, &pattern, b'\\', Collation::Utf8mb4GeneralCi) == Some(true)
        }
        _ => true,
    }
}

fn create_view(name: &ObjectName, context: &mut Context<'_>) -> Result<Vec<TextRow>, SqlError> {
    let schema = context.schema_of(name)?;
    let current = context.env.database().map(str::to_string);
    let quoting = Quoting::of(context.env);
    let row = with_table(name, context, |def, _| {
        let view = def.view.as_deref()?;
        Some(vec![
            Some(def.name.clone()),
            Some(create_text::create_view(def, view, current.as_deref(), &quoting)),
            Some(view.client_charset.clone()),
            Some(view.connection_collation.clone()),
        ])
    })?;
    let name = name.name.clone();
    if row.is_some()
        && let Err(error) = crate::lock_tables::below((&schema, &name), Mode::SH, context)
    {
        // It is shown all the same.
        let (number, _, text) = error.parts();
        context.env.warn(crate::WarningLevel::Warning, number, text);
    }
    row.map(|row| vec![row]).ok_or_else(|| catalog::CatalogError::NotView { schema, name }.into())
}

fn create_table(name: &ObjectName, context: &mut Context<'_>) -> Result<Vec<TextRow>, SqlError> {
    let quoting = Quoting::of(context.env);
    with_table(name, context, |def, next| {
        vec![vec![Some(def.name.clone()), Some(create_text::create_table(def, next, &quoting))]]
    })
}

/// Shows a definition and the counter of AUTO_INCREMENT, if there is one. The table is opened once: LOCK TABLES
/// lets a statement use each alias once.
fn with_table<T>(
    name: &ObjectName,
    context: &mut Context<'_>,
    show: impl FnOnce(&TableDef, Option<u64>) -> T,
) -> Result<T, SqlError> {
    let schema = context.schema_of(name)?;
    if let Some(view) = context.tables.catalog().virtual_table(&schema, &name.name)? {
        return Ok(show(view.def(), None));
    }
    let deadline = context.env.lock_deadline();
    let table = context.tables.open(context.client, &schema, &name.name, Mode::SH, deadline)?;
    let is_view = context.tables.def(table).view.is_some();
    let next = if is_view { None } else { context.tables.table(table).autoinc_next() };
    Ok(show(context.tables.def(table), next))
}

fn column_row(def: &TableDef, column: &ColumnDef, full: bool) -> TextRow {
    let position = def.columns.iter().position(|c| c.name == column.name).unwrap_or_default();
    let yes_no = if column.ty.nullable { "YES" } else { "NO" };
    let text = column.ty.is_text() || column.ty.kind.has_members();
    let collation = text.then(|| column.ty.collation.name().to_string());
    let mut row = vec![Some(column.name.clone()), Some(column.ty.to_sql())];
    if full {
        row.push(collation);
    }
    row.push(Some(yes_no.into()));
    row.push(Some(def.key_kind(position).into()));
    row.push(create_text::default_text(column));
    row.push(Some(create_text::extra(column)));
    if full {
        row.push(Some("select,insert,update,references".into()));
        row.push(Some(column.comment.clone()));
    }
    row
}

fn index_rows(def: &TableDef, index: &IndexDef) -> Vec<TextRow> {
    let rows = index.parts.iter().zip(1..).map(|(part, number)| {
        let column = &def.columns[part.column];
        let text = |s: &str| Some(s.to_string());
        let expression = column.generated.as_ref().filter(|_| column.hidden);
        let order = if part.descending { "D" } else { "A" };
        let ordered = def.index_type() == "BTREE";
        vec![
            text(&def.name),
            Some(u8::from(!index.unique).to_string()),
            text(&index.name),
            Some(format!("{number}")),
            Some(column.name.clone()).filter(|_| !column.hidden),
            text(order).filter(|_| ordered),
            None,
            part.prefix_chars.map(|n| n.to_string()),
            None,
            text(if column.ty.nullable { "YES" } else { "" }),
            text(def.index_type()),
            text(""),
            text(&index.comment),
            text(if index.attributes.invisible { "NO" } else { "YES" }),
            expression.map(|g| catalog::listed(&g.text)),
        ]
    });
    rows.collect()
}
