//! SHOW as a query: what is in `information_schema` and `performance_schema` is shown from there.
//!
//! So LIKE, WHERE, column names and types are those of any SELECT, as in MySQL. What has no such table
//! (SHOW CREATE, SHOW WARNINGS, SHOW ENGINE) is not here.

use crate::PlanContext;
use crate::error::PlanError;
use catalog::CatalogError;
use expr::SqlError;
use parser::SqlMode;
use parser::ast::{
    ColumnRef, Expr, Literal, ObjectName, Query, QueryBody, Show, ShowFilter, Statement,
    StringLiteral,
};
use parser::print::quoted;

/// A SHOW in the making: `SELECT {columns} FROM {from} WHERE {restriction} ORDER BY {order}`.
struct Shown {
    /// Columns of the schema's table with the names that SHOW gives them.
    columns: String,
    from: &'static str,
    /// What LIKE looks at: a name that SHOW gives.
    name: String,
    restriction: String,
    order: &'static str,
}

impl Shown {
    fn new(columns: &str, from: &'static str, name: &str) -> Shown {
        Shown {
            columns: columns.to_string(),
            from,
            name: name.to_string(),
            restriction: "TRUE".into(),
            order: "1",
        }
    }

    fn only(self, restriction: String) -> Shown {
        Shown { restriction, ..self }
    }

    fn order(self, order: &'static str) -> Shown {
        Shown { order, ..self }
    }
}

const COLUMNS: &str = "COLUMN_NAME AS `Field`, COLUMN_TYPE AS `Type`, IS_NULLABLE AS `Null`, COLUMN_KEY AS \
                       `Key`, COLUMN_DEFAULT AS `Default`, EXTRA AS `Extra`";
const COLUMNS_FULL: &str = "COLUMN_NAME AS `Field`, COLUMN_TYPE AS `Type`, COLLATION_NAME AS `Collation`, \
                            IS_NULLABLE AS `Null`, COLUMN_KEY AS `Key`, COLUMN_DEFAULT AS `Default`, EXTRA \
                            AS `Extra`, `PRIVILEGES` AS `Privileges`, COLUMN_COMMENT AS `Comment`";
const INDEX: &str = "TABLE_NAME AS `Table`, NON_UNIQUE AS `Non_unique`, INDEX_NAME AS `Key_name`, \
                     SEQ_IN_INDEX AS `Seq_in_index`, COLUMN_NAME AS `Column_name`, COLLATION AS `Collation`, \
                     CARDINALITY AS `Cardinality`, SUB_PART AS `Sub_part`, PACKED AS `Packed`, NULLABLE AS \
                     `Null`, INDEX_TYPE AS `Index_type`, COMMENT AS `Comment`, INDEX_COMMENT AS \
                     `Index_comment`, IS_VISIBLE AS `Visible`, EXPRESSION AS `Expression`";
const TABLE_STATUS: &str = "TABLE_NAME AS `Name`, ENGINE AS `Engine`, VERSION AS `Version`, ROW_FORMAT AS \
                            `Row_format`, TABLE_ROWS AS `Rows`, AVG_ROW_LENGTH AS `Avg_row_length`, \
                            DATA_LENGTH AS `Data_length`, MAX_DATA_LENGTH AS `Max_data_length`, INDEX_LENGTH \
                            AS `Index_length`, DATA_FREE AS `Data_free`, AUTO_INCREMENT AS `Auto_increment`, \
                            CREATE_TIME AS `Create_time`, UPDATE_TIME AS `Update_time`, CHECK_TIME AS \
                            `Check_time`, TABLE_COLLATION AS `Collation`, CHECKSUM AS `Checksum`, \
                            CREATE_OPTIONS AS `Create_options`, TABLE_COMMENT AS `Comment`";
const TRIGGERS: &str = "TRIGGER_NAME AS `Trigger`, EVENT_MANIPULATION AS `Event`, EVENT_OBJECT_TABLE AS \
                        `Table`, ACTION_STATEMENT AS `Statement`, ACTION_TIMING AS `Timing`, CREATED AS \
                        `Created`, SQL_MODE AS `sql_mode`, DEFINER AS `Definer`, CHARACTER_SET_CLIENT AS \
                        `character_set_client`, COLLATION_CONNECTION AS `collation_connection`, \
                        DATABASE_COLLATION AS `Database Collation`";
const EVENTS: &str = "EVENT_SCHEMA AS `Db`, EVENT_NAME AS `Name`, DEFINER AS `Definer`, TIME_ZONE AS `Time \
                      zone`, EVENT_TYPE AS `Type`, EXECUTE_AT AS `Execute at`, INTERVAL_VALUE AS `Interval \
                      value`, INTERVAL_FIELD AS `Interval field`, STARTS AS `Starts`, ENDS AS `Ends`, STATUS \
                      AS `Status`, ORIGINATOR AS `Originator`, CHARACTER_SET_CLIENT AS \
                      `character_set_client`, COLLATION_CONNECTION AS `collation_connection`, \
                      DATABASE_COLLATION AS `Database Collation`";
const ROUTINES: &str = "ROUTINE_SCHEMA AS `Db`, ROUTINE_NAME AS `Name`, ROUTINE_TYPE AS `Type`, DEFINER AS \
                        `Definer`, LAST_ALTERED AS `Modified`, CREATED AS `Created`, SECURITY_TYPE AS \
                        `Security_type`, ROUTINE_COMMENT AS `Comment`, CHARACTER_SET_CLIENT AS \
                        `character_set_client`, COLLATION_CONNECTION AS `collation_connection`, \
                        DATABASE_COLLATION AS `Database Collation`";

/// Whether a SHOW opens tables, those of a virtual schema among them. Some are shown without any, as in MySQL; one definition is
/// found first, and then opened.
pub fn opens_tables(show: &Show) -> bool {
    !matches!(
        show,
        Show::ProcessList { .. }
            | Show::BinaryLogStatus
            | Show::BinaryLogs
            | Show::ReplicaStatus(_)
            | Show::Replicas
            | Show::CreateDatabase { .. }
            | Show::CreateTable(_)
            | Show::CreateOther(..)
    )
}

/// The query that shows it; `None` when no table has it: temporary tables are in no dictionary.
///
/// # Errors
/// 1046 without a database, 1049, 1146 for names that do not exist.
pub fn query_of(show: &Show, context: &PlanContext<'_>) -> Result<Option<Query>, SqlError> {
    if let Show::Index { table, .. } | Show::Columns { table, .. } = show
        && context.tables.is_temporary(&context.schema_of(table)?, &table.name)
    {
        return Ok(None);
    }
    if let Show::Index { table, filter, .. } = show {
        return index_query(table, filter.as_ref(), context);
    }
    let Some((shown, filter)) = shown(show, context)? else { return Ok(None) };
    let Shown { columns, from, name, restriction, order } = shown;
    let sql = format!(
        "SELECT * FROM (SELECT {columns} FROM {from} WHERE {restriction} ORDER BY {order}) AS `show`"
    );
    let internal = |_| SqlError::Storage(base::Error::Internal("SHOW is no query"));
    let parsed = parser::parse(sql.as_bytes(), SqlMode::default()).map_err(internal)?;
    let Statement::Query(mut query) = parsed else { return Ok(None) };
    if let QueryBody::Select(select) = &mut query.body {
        select.filter = filter.map(|f| condition(f, name));
    }
    Ok(Some(*query))
}

fn condition(filter: &ShowFilter, column: String) -> Expr {
    match filter {
        ShowFilter::Where(expr) => expr.clone(),
        ShowFilter::Like(pattern) => {
            let column = ColumnRef { schema: None, table: None, column };
            let pattern = StringLiteral { bytes: pattern.clone(), charset: None };
            Expr::Like {
                expr: Box::new(Expr::Column(column)),
                pattern: Box::new(Expr::Literal(Literal::String(pattern))),
                escape: None,
                negated: false,
            }
        }
    }
}

type Parts<'s> = Option<(Shown, Option<&'s ShowFilter>)>;

fn shown<'s>(show: &'s Show, context: &PlanContext<'_>) -> Result<Parts<'s>, SqlError> {
    let schema_or_current = |written: &Option<String>| schema_of(written.as_deref(), context);
    Ok(Some(match show {
        Show::Databases(filter) => {
            let name = titled("Database", filter.as_ref());
            let columns = format!("SCHEMA_NAME AS {}", quoted(&name));
            (Shown::new(&columns, "information_schema.SCHEMATA", &name), filter.as_ref())
        }
        Show::Tables { full, schema, filter, .. } => {
            let schema = schema_or_current(schema)?;
            let name = titled(&format!("Tables_in_{schema}"), filter.as_ref());
            let kind = if *full { ", TABLE_TYPE AS `Table_type`" } else { "" };
            let columns = format!("TABLE_NAME AS {}{kind}", quoted(&name));
            let shown = Shown::new(&columns, "information_schema.`TABLES`", &name);
            (shown.only(in_schema("TABLE_SCHEMA", &schema)), filter.as_ref())
        }
        Show::TableStatus { schema, filter } => {
            let schema = schema_or_current(schema)?;
            let shown = Shown::new(TABLE_STATUS, "information_schema.`TABLES`", "Name");
            (shown.only(in_schema("TABLE_SCHEMA", &schema)), filter.as_ref())
        }
        Show::Columns { full, table, filter, .. } => {
            let columns = if *full { COLUMNS_FULL } else { COLUMNS };
            let shown = Shown::new(columns, "information_schema.`COLUMNS`", "Field");
            (shown.only(of_table(table, context)?).order("ORDINAL_POSITION"), filter.as_ref())
        }
        Show::Triggers { schema, filter } => {
            let schema = schema_or_current(schema)?;
            let shown = Shown::new(TRIGGERS, "information_schema.TRIGGERS", "Table");
            (shown.only(in_schema("TRIGGER_SCHEMA", &schema)), filter.as_ref())
        }
        Show::Events { schema, filter } => {
            // Nobody looks whether there is such a schema.
            let written = schema.as_deref().or(context.database);
            let schema = written.ok_or(SqlError::NoDatabase)?.to_string();
            let shown = Shown::new(EVENTS, "information_schema.EVENTS", "Name");
            (shown.only(in_schema("EVENT_SCHEMA", &schema)), filter.as_ref())
        }
        Show::ProcedureStatus(filter) => (routines("PROCEDURE"), filter.as_ref()),
        Show::FunctionStatus(filter) => (routines("FUNCTION"), filter.as_ref()),
        other => return server(other),
    }))
}

/// SHOW of the server rather than of a schema.
fn server(show: &Show) -> Result<Parts<'_>, SqlError> {
    let list = |global: bool, global_table, session_table| {
        let columns = "VARIABLE_NAME AS `Variable_name`, VARIABLE_VALUE AS `Value`";
        Shown::new(columns, if global { global_table } else { session_table }, "Variable_name")
    };
    Ok(Some(match show {
        Show::Variables { global, filter } => {
            let (all, own) =
                ("performance_schema.global_variables", "performance_schema.session_variables");
            (list(*global, all, own), filter.as_ref())
        }
        Show::Status { global, filter } => {
            let (all, own) =
                ("performance_schema.global_status", "performance_schema.session_status");
            (list(*global, all, own), filter.as_ref())
        }
        Show::OpenTables { schema, filter } => {
            let columns = "`Database`, `Table`, In_use, Name_locked";
            let shown = Shown::new(columns, "performance_schema.`#open_tables`", "Table");
            let shown = match schema {
                Some(schema) => shown.only(in_schema("`Database`", schema)),
                None => shown,
            };
            (shown.order("`Database`, `Table`"), filter.as_ref())
        }
        Show::Charset(filter) => {
            let columns = "CHARACTER_SET_NAME AS `Charset`, DESCRIPTION AS `Description`, \
                           DEFAULT_COLLATE_NAME AS `Default collation`, MAXLEN AS `Maxlen`";
            (Shown::new(columns, "information_schema.CHARACTER_SETS", "Charset"), filter.as_ref())
        }
        Show::Collation(filter) => {
            let columns = "COLLATION_NAME AS `Collation`, CHARACTER_SET_NAME AS `Charset`, ID AS `Id`, \
                           IS_DEFAULT AS `Default`, IS_COMPILED AS `Compiled`, SORTLEN AS `Sortlen`, \
                           PAD_ATTRIBUTE AS `Pad_attribute`";
            (Shown::new(columns, "information_schema.COLLATIONS", "Collation"), filter.as_ref())
        }
        Show::Engines => {
            let columns = "ENGINE AS `Engine`, SUPPORT AS `Support`, COMMENT AS `Comment`, TRANSACTIONS AS \
                           `Transactions`, XA AS `XA`, SAVEPOINTS AS `Savepoints`";
            (Shown::new(columns, "information_schema.ENGINES", "Engine"), None)
        }
        Show::Plugins => {
            let columns = "PLUGIN_NAME AS `Name`, PLUGIN_STATUS AS `Status`, PLUGIN_TYPE AS `Type`, \
                           PLUGIN_LIBRARY AS `Library`, PLUGIN_LICENSE AS `License`";
            (Shown::new(columns, "information_schema.PLUGINS", "Name"), None)
        }
        other => return replication(other),
    }))
}

/// What a server without a binary log, of which nobody is a replica, answers.
fn replication(show: &Show) -> Result<Parts<'_>, SqlError> {
    let nothing = |columns: &str, order| Shown::new(columns, "DUAL", order).only("FALSE".into());
    Ok(Some(match show {
        Show::BinaryLogStatus => {
            let columns = "'' AS `File`, 0 AS `Position`, '' AS `Binlog_Do_DB`, '' AS \
                           `Binlog_Ignore_DB`, '' AS `Executed_Gtid_Set`";
            (nothing(columns, "File"), None)
        }
        Show::ReplicaStatus(_) => {
            let numbers = ["_Port", "_Pos", "_Errno", "_Counter", "_Space", "_Delay", "_Position"];
            let column = |name: &str| match numbers.iter().any(|end| name.ends_with(end)) {
                true => format!("0 AS `{name}`"),
                false => format!("'' AS `{name}`"),
            };
            let columns: Vec<_> = REPLICA_STATUS.split_whitespace().map(column).collect();
            (nothing(&columns.join(", "), "Source_Host"), None)
        }
        Show::BinaryLogs => {
            return Err(PlanError::NoBinaryLog.into());
        }
        Show::Replicas => {
            let columns = "0 AS `Server_Id`, '' AS `Host`, 0 AS `Port`, 0 AS `Source_Id`, '' AS \
                           `Replica_UUID`";
            (nothing(columns, "Host"), None)
        }
        _ => return Ok(None),
    }))
}

/// Columns of SHOW REPLICA STATUS.
const REPLICA_STATUS: &str = "\
    Replica_IO_State Source_Host Source_User Source_Port Connect_Retry Source_Log_File \
    Read_Source_Log_Pos Relay_Log_File Relay_Log_Pos Relay_Source_Log_File \
    Replica_IO_Running Replica_SQL_Running Replicate_Do_DB Replicate_Ignore_DB \
    Replicate_Do_Table Replicate_Ignore_Table Replicate_Wild_Do_Table \
    Replicate_Wild_Ignore_Table Last_Errno Last_Error Skip_Counter Exec_Source_Log_Pos \
    Relay_Log_Space Until_Condition Until_Log_File Until_Log_Pos Source_SSL_Allowed \
    Source_SSL_CA_File Source_SSL_CA_Path Source_SSL_Cert Source_SSL_Cipher Source_SSL_Key \
    Seconds_Behind_Source Source_SSL_Verify_Server_Cert Last_IO_Errno Last_IO_Error \
    Last_SQL_Errno Last_SQL_Error Replicate_Ignore_Server_Ids Source_Server_Id Source_UUID \
    Source_Info_File SQL_Delay SQL_Remaining_Delay Replica_SQL_Running_State \
    Source_Retry_Count Source_Bind Last_IO_Error_Timestamp Last_SQL_Error_Timestamp \
    Source_SSL_Crl Source_SSL_Crlpath Retrieved_Gtid_Set Executed_Gtid_Set Auto_Position \
    Replicate_Rewrite_DB Channel_Name Source_TLS_Version Source_public_key_path \
    Get_Source_public_key Network_Namespace";

/// SHOW INDEX has a WHERE but no LIKE.
fn index_query(
    table: &ObjectName,
    filter: Option<&Expr>,
    context: &PlanContext<'_>,
) -> Result<Option<Query>, SqlError> {
    let restriction = of_table(table, context)?;
    let sql = format!(
        "SELECT * FROM (SELECT {INDEX} FROM information_schema.STATISTICS WHERE {restriction}) AS `show`"
    );
    let internal = |_| SqlError::Storage(base::Error::Internal("SHOW is no query"));
    let parsed = parser::parse(sql.as_bytes(), SqlMode::default()).map_err(internal)?;
    let Statement::Query(mut query) = parsed else { return Ok(None) };
    if let QueryBody::Select(select) = &mut query.body {
        select.filter = filter.cloned();
    }
    Ok(Some(*query))
}

fn routines(kind: &str) -> Shown {
    Shown::new(ROUTINES, "information_schema.ROUTINES", "Name")
        .only(format!("ROUTINE_TYPE = '{kind}'"))
}

/// A column's title: LIKE's pattern stands in it.
fn titled(name: &str, filter: Option<&ShowFilter>) -> String {
    match filter {
        Some(ShowFilter::Like(pattern)) => {
            format!("{name} ({})", String::from_utf8_lossy(pattern))
        }
        _ => name.to_string(),
    }
}

/// The name of a written schema, or else of the current database.
///
/// # Errors
/// 1046 and 1049.
pub fn schema_of(written: Option<&str>, context: &PlanContext<'_>) -> Result<String, SqlError> {
    let schema = written.or(context.database).ok_or(SqlError::NoDatabase)?;
    match context.tables.catalog().schema(schema) {
        Some(found) => Ok(found.name.clone()),
        None => Err(CatalogError::UnknownDatabase(schema.to_string()).into()),
    }
}

fn in_schema(column: &str, schema: &str) -> String {
    format!("{column} = {}", text(schema))
}

fn of_table(name: &ObjectName, context: &PlanContext<'_>) -> Result<String, SqlError> {
    let schema = context.schema_of(name)?;
    let catalog = context.tables.catalog();
    if catalog.schema(&schema).is_none() {
        return Err(CatalogError::UnknownDatabase(schema).into());
    }
    let found = match catalog.virtual_table(&schema, &name.name)? {
        Some(table) => (table.def().schema.clone(), table.def().name.clone()),
        None => match catalog.is_view(&schema, &name.name) {
            Some(_) => (schema, name.name.clone()),
            None => {
                let name = name.name.clone();
                return Err(CatalogError::NoSuchTable { schema, name }.into());
            }
        },
    };
    Ok(format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", text(&found.0), text(&found.1)))
}

/// A text literal.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}
