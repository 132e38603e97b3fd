//! Tables whose rows are made when they are read: `information_schema`, `performance_schema`, `mysql`, `sys`.
//!
//! 1. They are registered once, at start, and never change: no metadata lock protects them.
//! 2. A statement reads rows that were all made at one moment; nothing stays locked while they are sent.
//! 3. Names in `information_schema`, its own included, ignore case; those of the others do not.

use crate::definition::Compiled;
use crate::process::{Client, ProcessRow, SessionOrder};
use crate::{Catalog, CatalogError, Definition, SchemaDef, TableDef};
use access::Rights;
use base::PAGE_BYTES;
use instrument::{Figures, PageFigures, PreparedReport};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use value::{Collation, Datum, RowError, RowLayout};

/// The schema of the SQL standard.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// The schema of what the server measures.
pub const PERFORMANCE_SCHEMA: &str = "performance_schema";
/// The schema of accounts, grants and other things of the server's own.
pub const MYSQL_SCHEMA: &str = "mysql";
/// The schema of what is derived from `performance_schema`.
pub const SYS_SCHEMA: &str = "sys";
/// Every virtual schema.
pub(crate) const VIRTUAL_SCHEMAS: [&str; 4] =
    [INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, MYSQL_SCHEMA, SYS_SCHEMA];

/// Lists of names and values that the session knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerList {
    /// SHOW GLOBAL STATUS.
    GlobalStatus,
    /// SHOW SESSION STATUS.
    SessionStatus,
    /// SHOW GLOBAL VARIABLES.
    GlobalVariables,
    /// SHOW SESSION VARIABLES.
    SessionVariables,
    /// What SET PERSIST keeps.
    PersistedVariables,
}

/// What is called with each user variable: THREAD_ID, name, value as text.
pub type EachUserVariable<'a> = dyn FnMut(u64, &str, Option<&[u8]>) + 'a;

/// Who reads a virtual table, and what only the reader's session knows.
pub trait Viewer {
    /// Names and values, in the order in which SHOW prints them.
    fn list(&self, which: ServerList) -> Vec<(String, String)>;
    /// The account as messages write it: `'root'@'localhost'`.
    fn account(&self) -> String;
    /// What the reader may do: everything where nobody is asked.
    fn rights(&self) -> &Rights {
        Rights::of_server()
    }
    /// Calls `each` with the sessions that are there and that the reader may see.
    fn each_process(&self, order: SessionOrder, each: &mut dyn FnMut(&ProcessRow));
    /// The sessions that are there, ordered by connection id.
    fn processes(&self) -> Vec<ProcessRow> {
        let mut all = Vec::new();
        self.each_process(SessionOrder::Connection, &mut |row| all.push(row.clone()));
        all
    }
    /// Who is connected and has a thread, with what each client said of itself, ordered by connection id, which is beside each.
    fn clients(&self) -> Vec<(u64, Arc<Client>)> {
        Vec::new()
    }
    /// Who is and was connected; none where nobody counts them.
    fn connected(&self, _by: ConnectedBy) -> Vec<ConnectedRow> {
        Vec::new()
    }
    /// The hosts that clients came from.
    fn hosts(&self) -> Vec<HostRow> {
        Vec::new()
    }
    /// Forgets [`Self::hosts`].
    fn truncate_hosts(&self) {}
    /// Status counters by account, user or host; `None`: by session.
    fn status_by(&self, _by: Option<ConnectedBy>) -> Vec<StatusRow> {
        Vec::new()
    }
    /// TRUNCATE of [`Self::status_by`].
    fn truncate_status(&self, _by: Option<ConnectedBy>) {}
    /// Calls `each` with the variables of every session: THREAD_ID, name, value; `None`: the session does not tell it.
    fn session_variables(&self, _each: &mut dyn FnMut(u64, &str, Option<&str>)) {}
    /// Calls `each` with the user variables of every session; `None` is NULL.
    fn user_variables(&self, _each: &mut EachUserVariable<'_>) {}
    /// The prepared statements of every session: THREAD_ID, and what it cost.
    fn prepared_statements(&self) -> Vec<(u64, PreparedReport)> {
        Vec::new()
    }
    /// Where the values of system variables come from, ordered by name.
    fn variables_info(&self) -> Vec<VariableRow> {
        Vec::new()
    }
    /// TRUNCATE of [`Self::connected`].
    fn truncate_connected(&self, _by: ConnectedBy) {}
    /// What was done by account, user or host; `None`: by thread.
    fn figures_by(&self, _by: Option<ConnectedBy>) -> Vec<FiguresRow> {
        Vec::new()
    }
    /// TRUNCATE of some figures of [`Self::figures_by`].
    fn truncate_figures(&self, _by: FiguresBy, _figures: Figures) {}
    /// The latest lines of the error log, the oldest first.
    fn error_log(&self) -> Vec<ErrorLogRow> {
        Vec::new()
    }
    /// Switches the [`sync::MONITORED`] and [`sync::HISTORY`] of the session with this THREAD_ID; false when there is none.
    fn set_monitoring(&self, _thread_id: u64, _bits: u8) -> bool {
        false
    }
}

/// By what connections are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectedBy {
    /// User and host.
    Account,
    /// User.
    User,
    /// Host.
    Host,
}

/// Status counters of a session, or of all of an account, a user or a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRow {
    /// The session's THREAD_ID.
    pub thread_id: u64,
    /// User; empty where hosts are counted.
    pub user: String,
    /// Host; empty where users are counted.
    pub host: String,
    /// By the numbers of [`instrument::Counter`]; empty: nothing was counted.
    pub counts: Vec<u64>,
}

/// A system variable, and where its value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableRow {
    /// Name.
    pub name: &'static str,
    /// What gave the value: `COMPILED`, `DYNAMIC`, ...
    pub source: &'static str,
    /// The file that did; empty where none did.
    pub path: String,
    /// The least and the greatest value; 0 where there is none.
    pub range: (String, String),
    /// When a client set it, in microseconds since 1970, and the client's user and host.
    pub set: Option<(u64, String, String)>,
}

/// A line of the error log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLogRow {
    /// When it was written, in microseconds since 1970; no two lines have the same.
    pub logged_us: u64,
    /// `System`, `Error`, `Warning` or `Note`.
    pub severity: &'static str,
    /// `MY-010116`.
    pub code: String,
    /// What it says.
    pub text: String,
}

/// What a thread did, or all of an account, a user or a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiguresRow {
    /// THREAD_ID; 0 where threads are together.
    pub thread_id: u64,
    /// User and host, as far as rows are told apart by them; `None` for the server's own threads.
    pub account: Option<(String, String)>,
    /// What they did.
    pub figures: PageFigures,
}

/// Which figures are truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiguresBy {
    /// Those of threads: they are their accounts' from now on.
    Thread,
    /// Those of accounts, users or hosts.
    Connected(ConnectedBy),
    /// All.
    Everything,
}

/// Connections of an account, a user or a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedRow {
    /// User; empty where hosts are counted.
    pub user: String,
    /// Host; empty where users are counted.
    pub host: String,
    /// Open connections.
    pub now: u64,
    /// Connections so far.
    pub total: u64,
}

/// A host that clients came from, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Numbers of errors, as performance_schema.host_cache calls them.
pub struct HostRow {
    pub ip: String,
    /// Errors that count against `max_connect_errors`.
    pub connect_errors: u64,
    pub blocked: u64,
    pub handshake: u64,
    pub authentication: u64,
    pub ssl: u64,
    pub max_user_connections: u64,
    pub max_user_connections_per_hour: u64,
    pub default_database: u64,
    pub init_connect: u64,
    pub local: u64,
    pub account_locked: u64,
    pub temporary_account_locked: u64,
    pub unknown: u64,
    /// In microseconds since 1970.
    pub first_seen_us: i64,
    pub last_seen_us: i64,
    pub first_error_us: Option<i64>,
    pub last_error_us: Option<i64>,
}

/// A reading of a virtual table: who reads, and which rows are asked for.
pub struct ReadContext<'a> {
    /// The reader.
    pub viewer: &'a dyn Viewer,
    /// The dictionary.
    pub catalog: &'a Catalog,
    /// Columns that must equal a text, by position: rows that differ need not be made. The reader's
    /// filter is applied to the rows that are.
    pub equal: &'a [(usize, String)],
}

/// What a table holds, estimated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Rows.
    pub rows: u64,
    /// Bytes of the clustered index.
    pub data_bytes: u64,
    /// Bytes of the other indexes.
    pub index_bytes: u64,
}

impl ReadContext<'_> {
    /// The size of a stored table: as its figures say, else as its trees look now. A table that cannot be
    /// read has none; reading it will say why.
    pub fn size(&self, definition: &Definition) -> TableSize {
        if let Some(figures) = definition.statistics().figures {
            let (data_bytes, index_bytes) = figures.bytes();
            return TableSize { rows: figures.rows as u64, data_bytes, index_bytes };
        }
        let engine = self.catalog.engine();
        let pages = definition.open(engine).and_then(|table| engine.table_pages(table));
        let bytes = |pages| pages * PAGE_BYTES as u64;
        pages.map_or_else(
            |_| TableSize::default(),
            |pages| TableSize {
                rows: pages.rows,
                data_bytes: bytes(pages.clustered),
                index_bytes: bytes(pages.others),
            },
        )
    }

    /// The next AUTO_INCREMENT value of a stored table that has one.
    pub fn autoinc_next(&self, definition: &Definition) -> Option<u64> {
        definition.def.autoinc_column()?;
        definition.open(self.catalog.engine()).ok()?.autoinc_next()
    }

    /// The text that a column of every wanted row equals.
    pub fn equal_text(&self, column: usize) -> Option<&str> {
        self.equal.iter().find(|(c, _)| *c == column).map(|(_, text)| text.as_str())
    }
}

/// Makes a row, or removes it.
pub type ChangeRow = fn(&ReadContext<'_>, &[Datum<'_>]) -> Result<(), Unchanged>;
/// Makes the second row of the first.
pub type UpdateRow = fn(&ReadContext<'_>, &[Datum<'_>], &[Datum<'_>]) -> Result<(), Unchanged>;

/// How the rows of a virtual table are changed; the functions see whole rows, as [`VirtualTable::rows`] makes them.
#[derive(Debug)]
pub struct Changes {
    /// Columns that UPDATE may assign.
    pub columns: &'static [&'static str],
    /// UPDATE of one row: what it was, and what it shall be. One that is gone by now is passed over.
    pub update: UpdateRow,
    /// INSERT of one row, where there is INSERT.
    pub insert: Option<ChangeRow>,
    /// DELETE of one row, where there is DELETE.
    pub delete: Option<ChangeRow>,
}

/// Why a row of a virtual table is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchanged {
    /// There is one of its key.
    Duplicate,
    /// An ENUM has none of its members.
    NoMember,
    /// There is no room.
    Full,
}

/// A table whose rows are made when it is read.
pub trait VirtualTable: Send + Sync {
    /// Name, columns and keys; storage and ids mean nothing.
    fn def(&self) -> &TableDef;
    /// Makes the rows.
    fn rows(&self, context: &ReadContext<'_>, out: &mut MadeRows<'_>);
    /// Whether MySQL has a view there: its columns are called as they are defined, however a query
    /// writes them.
    fn is_view(&self) -> bool {
        false
    }
    /// How its rows are changed; `None`: it is only read.
    fn changes(&self) -> Option<&'static Changes> {
        None
    }
    /// Whether TRUNCATE is allowed.
    fn truncatable(&self) -> bool {
        false
    }
    /// TRUNCATE: what the table shows begins anew.
    fn truncate(&self, _: &ReadContext<'_>) {}
}

/// Rows in the making; each is one value per column of the table.
#[derive(Debug)]
pub struct MadeRows<'l> {
    layout: &'l RowLayout,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    error: Option<RowError>,
}

impl MadeRows<'_> {
    /// Adds a row. A value that is not one of its column's makes the whole read fail.
    pub fn push(&mut self, values: &[Datum<'_>]) {
        let encoded = self.layout.encode(values, &mut self.bytes);
        self.end_row(encoded);
    }

    /// As [`Self::push`], of the values that `value` has for each column. A long row's are asked for again.
    pub fn push_columns<'v>(&mut self, value: impl Fn(usize) -> Datum<'v>) {
        let encoded = self.layout.encode_columns(|column| Ok(value(column)), &mut self.bytes);
        self.end_row(encoded);
    }

    fn end_row(&mut self, encoded: Result<(), RowError>) {
        match encoded {
            Ok(()) => self.ends.push(self.bytes.len()),
            Err(error) => self.error = Some(error),
        }
    }

    /// The rows as stored bytes, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// A registered virtual table.
#[derive(Clone)]
pub struct VirtualRef {
    table: Arc<dyn VirtualTable>,
    made: Arc<Made>,
}

/// What is made of a virtual table once.
struct Made {
    layout: RowLayout,
    compiled: Compiled,
}

impl VirtualRef {
    fn new(table: Arc<dyn VirtualTable>) -> Self {
        let types: Vec<_> = table.def().columns.iter().map(|c| c.ty).collect();
        let (layout, compiled) = (RowLayout::new(&types), Compiled::default());
        VirtualRef { table, made: Arc::new(Made { layout, compiled }) }
    }

    /// Name, columns and keys.
    pub fn def(&self) -> &TableDef {
        self.table.def()
    }

    /// As [`VirtualTable::is_view`].
    pub fn is_view(&self) -> bool {
        self.table.is_view()
    }

    /// How its rows lie in bytes.
    pub fn layout(&self) -> &RowLayout {
        &self.made.layout
    }

    /// As [`Definition::compiled`], of a view.
    ///
    /// # Errors
    /// Those of `compile`.
    pub fn compiled<T: Any + Send + Sync, E>(
        &self,
        compile: impl FnOnce(&TableDef) -> Result<T, E>,
    ) -> Result<&T, E> {
        self.made.compiled.of(self.def(), compile)
    }

    /// Makes its rows; an error is a bug of the table: a value that is not one of its column's.
    pub fn rows(&self, context: &ReadContext<'_>) -> Result<MadeRows<'_>, RowError> {
        let mut rows = MadeRows {
            layout: &self.made.layout,
            bytes: Vec::new(),
            ends: Vec::new(),
            error: None,
        };
        self.table.rows(context, &mut rows);
        match rows.error {
            Some(error) => Err(error),
            None => Ok(rows),
        }
    }

    /// The table itself.
    pub fn table(&self) -> &dyn VirtualTable {
        &*self.table
    }
}

impl fmt::Debug for VirtualRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VirtualRef({}.{})", self.def().schema, self.def().name)
    }
}

impl PartialEq for VirtualRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
    }
}

/// The virtual schema of a name as written, by its own name.
pub fn virtual_schema(name: &str) -> Option<&'static str> {
    if name.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
        Some(INFORMATION_SCHEMA)
    } else {
        VIRTUAL_SCHEMAS.into_iter().find(|own| *own == name)
    }
}

/// The definition of a virtual schema of a name as written.
pub(crate) fn virtual_schema_def(name: &str) -> Option<Arc<SchemaDef>> {
    let name = virtual_schema(name)?.to_string();
    Some(Arc::new(SchemaDef { name, collation: Collation::Utf8mb4_0900AiCi }))
}

impl Catalog {
    /// Registers the virtual tables; the first call wins.
    pub fn register_virtual(&self, tables: Vec<Arc<dyn VirtualTable>>) {
        let mut tables: Vec<_> = tables.into_iter().map(VirtualRef::new).collect();
        tables.sort_by(|a, b| a.def().name.cmp(&b.def().name));
        let _ = self.virtuals.set(tables);
    }

    /// The virtual table of a name as written; `None` when the schema is no virtual one.
    pub fn virtual_table(
        &self,
        schema: &str,
        name: &str,
    ) -> Result<Option<VirtualRef>, CatalogError> {
        let Some(schema) = virtual_schema(schema) else { return Ok(None) };
        let view = schema == INFORMATION_SCHEMA;
        let same = |t: &&VirtualRef| {
            let own = &t.def().name;
            if view { own.eq_ignore_ascii_case(name) } else { own == name }
        };
        let missing = || match view {
            true => CatalogError::UnknownView(name.to_ascii_uppercase()),
            false => {
                CatalogError::NoSuchTable { schema: schema.to_string(), name: name.to_string() }
            }
        };
        self.virtuals_of(schema).find(same).cloned().ok_or_else(missing).map(Some)
    }

    /// Definitions of a virtual schema's tables, ordered by name; what begins with a number sign only SHOW reads.
    pub fn virtual_defs(&self, schema: &str) -> impl Iterator<Item = &TableDef> {
        self.virtuals_of(schema).map(VirtualRef::def).filter(|def| !def.name.starts_with('#'))
    }

    /// The virtual tables of a schema, ordered by name.
    pub(crate) fn virtuals_of(&self, schema: &str) -> impl Iterator<Item = &VirtualRef> {
        let all = self.virtuals.get().map_or(&[][..], Vec::as_slice);
        all.iter().filter(move |t| t.def().schema == schema)
    }
}
