//! What the server is and who is in it.

use super::{Cell, Fill, Information, Rows, cells, definition};
use catalog::{IndexDef, PERFORMANCE_SCHEMA, ProcessRow, ReadContext};
use value::KeyPart;

/// What root may do: everything. Accounts of other kinds do not exist yet.
pub const PRIVILEGES: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
];

/// Name, type and description of what MySQL calls plugins.
const PLUGINS: &[(&str, &str, &str)] = &[
    ("mysql_native_password", "AUTHENTICATION", "Native MySQL authentication"),
    ("caching_sha2_password", "AUTHENTICATION", "Caching sha2 authentication"),
    ("InnoDB", "STORAGE ENGINE", ENGINE),
    ("PERFORMANCE_SCHEMA", "STORAGE ENGINE", "Performance Schema"),
];

const ENGINE: &str = "Supports transactions, row-level locking, and foreign keys";

pub(super) fn engines(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    rows.push(&cells!["InnoDB", "DEFAULT", ENGINE, "YES", "NO", "YES"]);
    rows.push(&cells!["PERFORMANCE_SCHEMA", "YES", "Performance Schema", "NO", "NO", "NO"]);
    // What CREATE TABLE takes by these names it makes in InnoDB, with warning 1266.
    for name in ["MEMORY", "MyISAM"] {
        rows.push(&cells![name, "YES", "Served by InnoDB", "YES", "NO", "YES"]);
    }
}

pub(super) fn plugins(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (name, kind, description) in PLUGINS {
        let null = || Cell::Null;
        rows.push(&cells![
            *name,
            "1.0",
            "ACTIVE",
            *kind,
            "1.0",
            null(),
            null(),
            "Limpid",
            *description,
            "MIT",
            "FORCE",
        ]);
    }
}

pub(super) fn keywords(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (word, reserved) in parser::keywords() {
        rows.push(&cells![word, i64::from(reserved)]);
    }
}

pub(super) fn processlist(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    clients(context).for_each(|p| rows.push(&process(p)));
}

fn clients(context: &ReadContext<'_>) -> impl Iterator<Item = ProcessRow> {
    context.viewer.processes().into_iter().filter(|p| !p.leaves)
}

fn process(p: ProcessRow) -> [Cell<'static>; 8] {
    cells![
        p.id,
        p.user,
        p.host,
        p.db,
        p.command,
        i64::try_from(p.time_s).unwrap_or(i64::MAX),
        p.state,
        p.info,
    ]
}

/// `performance_schema.processlist`.
const PROCESSLIST: &str = "\
processlist\tID\tbigint unsigned\tNO\t-\t-
processlist\tUSER\tvarchar(32)\tYES\tutf8mb4_0900_ai_ci\t-
processlist\tHOST\tvarchar(261)\tYES\tascii_general_ci\t-
processlist\tDB\tvarchar(64)\tYES\tutf8mb4_0900_ai_ci\t-
processlist\tCOMMAND\tvarchar(16)\tYES\tutf8mb4_0900_ai_ci\t-
processlist\tTIME\tbigint\tYES\t-\t-
processlist\tSTATE\tvarchar(64)\tYES\tutf8mb4_0900_ai_ci\t-
processlist\tINFO\tlongtext\tYES\tutf8mb4_0900_ai_ci\t-
processlist\tEXECUTION_ENGINE\tenum('PRIMARY','SECONDARY')\tYES\tutf8mb4_0900_ai_ci\t-";

/// Tables of group replication: there is none, and nobody is in it.
const GROUP: &str = "\
replication_group_member_stats\tCHANNEL_NAME\tchar(64)\tNO\tutf8mb4_0900_ai_ci\t-
replication_group_member_stats\tVIEW_ID\tchar(60)\tNO\tutf8mb4_bin\t-
replication_group_member_stats\tMEMBER_ID\tchar(36)\tNO\tutf8mb4_bin\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_IN_QUEUE\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_CHECKED\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tCOUNT_CONFLICTS_DETECTED\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_ROWS_VALIDATING\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tTRANSACTIONS_COMMITTED_ALL_MEMBERS\tlongtext\tNO\tutf8mb4_0900_ai_ci\t-
replication_group_member_stats\tLAST_CONFLICT_FREE_TRANSACTION\ttext\tNO\tutf8mb4_0900_ai_ci\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_REMOTE_APPLIED\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_LOCAL_PROPOSED\tbigint unsigned\tNO\t-\t-
replication_group_member_stats\tCOUNT_TRANSACTIONS_LOCAL_ROLLBACK\tbigint unsigned\tNO\t-\t-
replication_group_members\tCHANNEL_NAME\tchar(64)\tNO\tutf8mb4_0900_ai_ci\t-
replication_group_members\tMEMBER_ID\tchar(36)\tNO\tutf8mb4_bin\t-
replication_group_members\tMEMBER_HOST\tchar(255)\tNO\tascii_general_ci\t-
replication_group_members\tMEMBER_PORT\tint\tYES\t-\t-
replication_group_members\tMEMBER_STATE\tchar(64)\tNO\tutf8mb4_bin\t-
replication_group_members\tMEMBER_ROLE\tchar(64)\tNO\tutf8mb4_bin\t-
replication_group_members\tMEMBER_VERSION\tchar(64)\tNO\tutf8mb4_bin\t-
replication_group_members\tMEMBER_COMMUNICATION_STACK\tchar(64)\tNO\tutf8mb4_bin\t-";

/// What clients said of themselves when they connected: of the reader's own account, and of all.
const ATTRIBUTES: &str = "\
session_account_connect_attrs\tPROCESSLIST_ID\tbigint unsigned\tNO\t-\t-
session_account_connect_attrs\tATTR_NAME\tvarchar(32)\tNO\tutf8mb4_bin\t-
session_account_connect_attrs\tATTR_VALUE\tvarchar(1024)\tYES\tutf8mb4_bin\t-
session_account_connect_attrs\tORDINAL_POSITION\tint\tYES\t-\t-
session_connect_attrs\tPROCESSLIST_ID\tbigint unsigned\tNO\t-\t-
session_connect_attrs\tATTR_NAME\tvarchar(32)\tNO\tutf8mb4_bin\t-
session_connect_attrs\tATTR_VALUE\tvarchar(1024)\tYES\tutf8mb4_bin\t-
session_connect_attrs\tORDINAL_POSITION\tint\tYES\t-\t-";

/// `session_account_connect_attrs` and `session_connect_attrs`.
pub(super) fn performance_attributes() -> impl Iterator<Item = Information> {
    definition::parse(ATTRIBUTES, PERFORMANCE_SCHEMA).into_iter().map(|mut def| {
        def.collation = value::Collation::Utf8mb4Bin;
        let parts = (0..2).map(KeyPart::whole).collect();
        def.indexes.push(IndexDef::new("PRIMARY", true, true, parts));
        let fill: Fill = match def.name.starts_with("session_account") {
            true => |context, rows| {
                let own = context.viewer.account();
                let of = |user: &str| own.starts_with(&format!("'{user}'@"));
                attributes(clients(context).filter(|p| of(&p.user)), rows);
            },
            false => |context, rows| attributes(clients(context), rows),
        };
        Information::new(def, fill)
    })
}

fn attributes(of: impl Iterator<Item = ProcessRow>, rows: &mut Rows<'_, '_>) {
    for process in of {
        for (number, (name, value)) in (0i64..).zip(process.attributes.iter()) {
            rows.push(&cells![process.id, name, value, number]);
        }
    }
}

/// Tables of `performance_schema` about what this server does not do: they have no rows.
pub(super) fn performance_group() -> impl Iterator<Item = Information> {
    let tables = definition::parse(GROUP, PERFORMANCE_SCHEMA).into_iter();
    tables.map(|def| Information::new(def, |_, _| ()))
}

/// The process list as `performance_schema` has it.
pub(super) fn performance_processlist() -> impl Iterator<Item = Information> {
    let fill: Fill = |context, rows| {
        for p in clients(context) {
            let cells: Vec<_> = process(p).into_iter().chain(cells!["PRIMARY"]).collect();
            rows.push(&cells);
        }
    };
    let tables = definition::parse(PROCESSLIST, PERFORMANCE_SCHEMA).into_iter();
    tables.map(move |mut def| {
        def.indexes.push(IndexDef::new("PRIMARY", true, true, vec![KeyPart::whole(0)]));
        Information::new(def, fill)
    })
}

pub(super) fn user_privileges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for account in context.catalog.accounts().iter() {
        let grantee = format!("'{}'@'{}'", account.user, account.host);
        for privilege in PRIVILEGES {
            rows.push(&cells![grantee.clone(), "def", *privilege, "YES"]);
        }
    }
}

pub(super) fn user_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for account in context.catalog.accounts().iter() {
        rows.push(&cells![&account.user, &account.host, Cell::Null]);
    }
}
