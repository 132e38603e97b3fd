//! `information_schema`: the dictionary and the server, in the tables of the SQL standard.
//!
//! 1. Every table that MySQL has is here with its columns; one of something that this server does not have
//!    (triggers, events, routines) has no rows, which is the truth.
//! 2. Rows come from definitions that were current when the table was read; no metadata lock is taken.
//! 3. A table and a schema that the reader's filter names are looked up, not searched for.

mod charsets;
pub(crate) mod definition;
mod dictionary;
mod fields;
pub(crate) mod innodb;
mod keys;
mod metrics;
pub(crate) mod server;
mod usage;

use crate::grants;
use catalog::{Changes, MadeRows, ReadContext, TableDef, VirtualTable};
use std::borrow::Cow;
use std::sync::Arc;
use value::{ColumnType, Datum, Kind, Members};

/// Makes the rows of one table.
pub(crate) type Fill = fn(&ReadContext<'_>, &mut Rows<'_, '_>);

/// Tables that have rows.
const FILLS: &[(&str, Fill)] = &[
    ("CHARACTER_SETS", charsets::character_sets),
    ("CHECK_CONSTRAINTS", keys::check_constraints),
    ("COLLATIONS", charsets::collations),
    ("COLLATION_CHARACTER_SET_APPLICABILITY", charsets::applicability),
    ("COLUMNS", fields::columns),
    ("COLUMNS_EXTENSIONS", fields::columns_extensions),
    ("COLUMN_STATISTICS", keys::column_statistics),
    ("ENGINES", server::engines),
    ("FILES", dictionary::files),
    ("INNODB_COLUMNS", innodb::columns),
    ("INNODB_DATAFILES", innodb::datafiles),
    ("INNODB_FIELDS", innodb::fields),
    ("INNODB_FOREIGN", keys::innodb_foreign),
    ("INNODB_FOREIGN_COLS", keys::innodb_foreign_cols),
    ("INNODB_INDEXES", innodb::indexes),
    ("INNODB_METRICS", metrics::metrics),
    ("INNODB_TABLES", innodb::tables),
    ("INNODB_TABLESPACES", innodb::tablespaces),
    ("INNODB_TABLESPACES_BRIEF", innodb::tablespaces_brief),
    ("INNODB_TABLESTATS", innodb::tablestats),
    ("INNODB_TRX", crate::locks::transactions),
    ("INNODB_VIRTUAL", innodb::virtuals),
    ("KEY_COLUMN_USAGE", keys::key_column_usage),
    ("KEYWORDS", server::keywords),
    ("PARTITIONS", dictionary::partitions),
    ("PLUGINS", server::plugins),
    ("PROCESSLIST", server::processlist),
    ("REFERENTIAL_CONSTRAINTS", keys::referential_constraints),
    ("SCHEMATA", dictionary::schemata),
    ("SCHEMATA_EXTENSIONS", dictionary::schemata_extensions),
    ("STATISTICS", keys::statistics),
    ("TABLES", dictionary::tables),
    ("TABLES_EXTENSIONS", dictionary::tables_extensions),
    ("TABLE_CONSTRAINTS", keys::table_constraints),
    ("TABLE_CONSTRAINTS_EXTENSIONS", keys::table_constraints_extensions),
    ("ADMINISTRABLE_ROLE_AUTHORIZATIONS", grants::administrable_roles),
    ("APPLICABLE_ROLES", grants::applicable_roles),
    ("COLUMN_PRIVILEGES", grants::column_privileges),
    ("ENABLED_ROLES", grants::enabled_roles),
    ("ROLE_COLUMN_GRANTS", grants::role_column_grants),
    ("ROLE_TABLE_GRANTS", grants::role_table_grants),
    ("SCHEMA_PRIVILEGES", grants::schema_privileges),
    ("TABLE_PRIVILEGES", grants::table_privileges),
    ("USER_ATTRIBUTES", grants::user_attributes),
    ("USER_PRIVILEGES", grants::user_privileges),
    ("VIEWS", dictionary::views),
    ("VIEW_TABLE_USAGE", usage::view_tables),
];

/// Tables of MySQL whose rows would say something that this server does not say yet: nobody finds them,
/// rather than finding them empty.
const ABSENT: &[&str] = &[
    "INNODB_BUFFER_PAGE",
    "INNODB_BUFFER_PAGE_LRU",
    "RESOURCE_GROUPS",
    "ST_SPATIAL_REFERENCE_SYSTEMS",
    "ST_UNITS_OF_MEASURE",
];

/// Tables that are no views in MySQL; those of InnoDB beside [`INNODB_VIEWS`] neither.
const NO_VIEWS: &[&str] = &[
    "COLUMN_PRIVILEGES",
    "ENGINES",
    "OPTIMIZER_TRACE",
    "PLUGINS",
    "PROCESSLIST",
    "PROFILING",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
    "USER_PRIVILEGES",
];

const INNODB_VIEWS: &[&str] = &[
    "INNODB_DATAFILES",
    "INNODB_FIELDS",
    "INNODB_FOREIGN",
    "INNODB_FOREIGN_COLS",
    "INNODB_TABLESPACES_BRIEF",
];

pub(crate) struct Information {
    def: TableDef,
    fill: Fill,
    truncate: Option<Truncate>,
    changes: Option<&'static Changes>,
}

/// Empties a table, or sets its figures to zero.
pub(crate) type Truncate = fn(&ReadContext<'_>);

impl Information {
    /// A table whose rows `fill` makes.
    pub(crate) fn new(def: TableDef, fill: Fill) -> Self {
        Self { def, fill, truncate: None, changes: None }
    }

    /// The same with what TRUNCATE does.
    pub(crate) fn truncated_by(self, truncate: Option<Truncate>) -> Self {
        Self { truncate, ..self }
    }

    /// The same with how its rows are changed.
    pub(crate) fn changed_by(self, changes: Option<&'static Changes>) -> Self {
        Self { changes, ..self }
    }
}

/// The tables of `information_schema` but those that the engine's modules bring.
pub(crate) fn tables(others: &[&str]) -> Vec<Arc<dyn VirtualTable>> {
    let own = definition::tables().into_iter().filter(|def| {
        let name = def.name.as_str();
        !others.contains(&name) && !ABSENT.contains(&name)
    });
    let table = |def: TableDef| -> Arc<dyn VirtualTable> {
        let fill = FILLS.iter().find(|(name, _)| *name == def.name).map(|(_, fill)| *fill);
        Arc::new(Information::new(def, fill.unwrap_or(|_, _| ())))
    };
    own.map(table).collect()
}

impl VirtualTable for Information {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn is_view(&self) -> bool {
        let name = self.def.name.as_str();
        match name.starts_with("INNODB_") {
            true => INNODB_VIEWS.contains(&name),
            false if self.def.schema == catalog::SYS_SCHEMA => true,
            false => self.def.schema == "information_schema" && !NO_VIEWS.contains(&name),
        }
    }

    fn rows(&self, context: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        (self.fill)(context, &mut Rows { def: &self.def, out });
    }

    fn changes(&self) -> Option<&'static Changes> {
        self.changes
    }

    fn truncatable(&self) -> bool {
        self.truncate.is_some()
    }

    fn truncate(&self, context: &ReadContext<'_>) {
        if let Some(truncate) = self.truncate {
            truncate(context);
        }
    }
}

/// A value before it takes its column's form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Cow<'a, str>),
    /// Text as a client sent it, which may be no UTF-8.
    Bytes(Cow<'a, [u8]>),
    /// A JSON document in binary form.
    Json(Vec<u8>),
    /// Microseconds since 1970 in UTC.
    Time(i64),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a [u8]> for Cell<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Cell::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl From<i64> for Cell<'_> {
    fn from(n: i64) -> Self {
        Cell::Int(n)
    }
}

impl From<u64> for Cell<'_> {
    fn from(n: u64) -> Self {
        Cell::UInt(n)
    }
}

impl From<f64> for Cell<'_> {
    fn from(n: f64) -> Self {
        Cell::Double(n)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// The rows of a table in the making.
pub(crate) struct Rows<'r, 'l> {
    def: &'r TableDef,
    out: &'r mut MadeRows<'l>,
}

impl Rows<'_, '_> {
    /// Names of the columns, in order.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.def.columns.iter().map(|c| c.name.as_str())
    }

    /// Adds a row: a value per column, in the table's order.
    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) {
        let columns = &self.def.columns;
        debug_assert_eq!(cells.len(), columns.len(), "{}", self.def.name);
        let both = |column: usize| columns.get(column).zip(cells.get(column));
        let value = |column| both(column).map_or(Datum::Null, |(c, cell)| in_form(&c.ty, cell));
        self.out.push_columns(value);
    }
}

/// The value as its column stores it.
fn in_form<'a>(ty: &ColumnType, cell: &'a Cell<'_>) -> Datum<'a> {
    match cell {
        Cell::Null => Datum::Null,
        Cell::Int(n) if ty.unsigned => Datum::UInt((*n).max(0) as u64),
        Cell::Int(n) => Datum::Int(*n),
        Cell::UInt(n) if ty.unsigned => Datum::UInt(*n),
        Cell::UInt(n) => Datum::Int(i64::try_from(*n).unwrap_or(i64::MAX)),
        Cell::Double(n) => Datum::Double(*n),
        Cell::Json(document) => Datum::Json(document),
        Cell::Bytes(bytes) => Datum::Bytes(bytes),
        Cell::Time(us) if ty.kind == Kind::Timestamp => {
            // A stored moment has no more digits than its column.
            let unit = 10_i64.pow(6 - u32::from(ty.decimals.min(6)));
            Datum::Timestamp(us.div_euclid(unit) * unit, ty.decimals)
        }
        Cell::Time(us) => {
            let local = value::TimeZone::utc().to_local(*us, ty.decimals);
            local.map_or(Datum::Null, Datum::DateTime)
        }
        Cell::Text(text) => match (ty.kind, ty.members) {
            (Kind::Enum, Some(members)) => {
                Datum::Enum(members, members.find(text.as_bytes()).unwrap_or(0))
            }
            (Kind::Set, Some(members)) => Datum::Set(members, set_of(members, text)),
            _ => Datum::Bytes(text.as_bytes()),
        },
    }
}

/// The bits of a SET's members, listed with commas.
fn set_of(members: &Members, text: &str) -> u64 {
    let numbers = text.split(',').filter_map(|name| members.find(name.as_bytes()));
    numbers.fold(0, |bits, number| bits | 1 << (number - 1))
}

/// A row of cells.
macro_rules! cells {
    ($($value:expr),* $(,)?) => { [$($crate::information::Cell::from($value)),*] };
}
pub(crate) use cells;
