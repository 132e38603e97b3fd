//! The session's own entries of the error table, in MySQL's numbers, SQLSTATEs and words.
//!
//! What the dictionary, the planner and the engine can end in is listed beside them
//! ([`expr::SqlError::parts`]); what only a session meets is listed here. Nothing else in the server
//! writes an error number.

use crate::variables::VarError;
use executor::SqlError;
pub use expr::parse_error as parse;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*) = $number:literal $state:literal $text:literal;)*) => {
        $($(#[$doc])* pub fn $name($($arg: &str),*) -> SqlError {
            SqlError::Other($number, $state, format!($text))
        })*
    };
}

errors! {
    /// The server has no room for another connection.
    too_many_connections() = 1040 "08004" "Too many connections";
    /// The first packets of a connection make no sense.
    bad_handshake() = 1043 "08S01" "Bad handshake";
    /// The user may not use a schema.
    access_denied(user, host, using) =
        1045 "28000" "Access denied for user '{user}'@'{host}' (using password: {using})";
    /// `init_connect` failed: the client is not served.
    init_connect_failed(who) =
        1184 "08S01" "Aborted connection {who} (init_connect command failed)";
    /// `max_user_connections`.
    too_many_of_user(user) =
        1203 "42000" "User {user} already has more than 'max_user_connections' active connections";
    /// `offline_mode`.
    offline() = 3032 "HY000" "The server is currently in offline mode";
    /// A byte that is no command.
    unknown_command() = 1047 "08S01" "Unknown command";
    /// No such schema.
    unknown_database(name) = 1049 "42000" "Unknown database '{name}'";
    /// The server is stopping.
    shutting_down() = 1053 "08S01" "Server shutdown in progress";
    /// KILL of a connection that is not there.
    no_such_thread(id) = 1094 "HY000" "Unknown thread id: {id}";
    /// A packet larger than max_allowed_packet.
    packet_too_large() =
        1153 "08S01" "Got a packet bigger than 'max_allowed_packet' bytes";
    /// Sequence numbers jump.
    packets_out_of_order() = 1156 "08S01" "Got packets out of order";
    /// The client is gone.
    cannot_send() = 1160 "08S01" "Got an error writing communication packets";
    /// LOCK TABLES is in force, or a transaction is open.
    locked_or_in_transaction() =
        1192 "HY000" "Can't execute the given command because you have active locked tables or an \
                      active transaction";
    /// SET of a variable that is not there.
    unknown_variable(name) = 1193 "HY000" "Unknown system variable '{name}'";
    /// COM_STMT_... with arguments that make no sense, or SQL EXECUTE with too few.
    wrong_arguments(what) = 1210 "HY000" "Incorrect arguments to {what}";
    /// A session variable with SET GLOBAL.
    session_only(name) =
        1228 "HY000" "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    /// A global variable with SET SESSION.
    global_only(name) =
        1229 "HY000" "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    /// A value that a variable cannot have.
    wrong_value(name, value) =
        1231 "42000" "Variable '{name}' can't be set to the value of '{value}'";
    /// A value of another type than a variable's.
    wrong_type(name) = 1232 "42000" "Incorrect argument type to variable '{name}'";
    /// A variable that is set at start-up only.
    read_only_variable(name) = 1238 "HY000" "Variable '{name}' is a read only variable";
    /// A session's variable read with GLOBAL.
    session_variable(name) = 1238 "HY000" "Variable '{name}' is a SESSION variable";
    /// A server's variable read with SESSION.
    global_variable(name) = 1238 "HY000" "Variable '{name}' is a GLOBAL variable";
    /// Bits of `sql_mode` that are none.
    foreign_mode(bits) = 3899 "HY000" "sql_mode={bits} is not supported.";
    /// The file of SET PERSIST.
    persist_failed(why) = 3614 "HY000" "Failed to write persisted variables: {why}";
    /// A fixed variable that cannot be persisted either.
    not_persistent(name) =
        1238 "HY000" "Variable '{name}' is a non persistent read only variable";
    /// A session's value that only SET GLOBAL changes.
    session_fixed(name) =
        1621 "HY000" "SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value";
    /// SET x = DEFAULT of what has none.
    no_default(name) = 1230 "42000" "Variable '{name}' doesn't have a default value";
    /// A prepared statement that is not there.
    unknown_statement(id, command) =
        1243 "HY000" "Unknown prepared statement handler ({id}) given to {command}";
    /// A statement without a cursor.
    no_cursor(id) = 1421 "HY000" "The statement ({id}) has no open cursor.";
    /// A cursor of a SELECT whose rows go elsewhere.
    cursor_with_into() = 1323 "HY000" "Cursor SELECT must not have INTO";
    /// Too many prepared statements in all sessions.
    too_many_statements(max) =
        1461 "42000" "Can't create more than max_prepared_stmt_count statements (current value: {max})";
    /// Something an open transaction forbids.
    in_transaction() =
        1568 "25001" "Transaction characteristics can't be changed while a transaction is in progress";
    /// SET of what a transaction is logged as.
    fixed_binlog_format(name) =
        1679 "HY000" "Cannot modify @@session.{name} inside a transaction";
    /// SET of whether a transaction is logged.
    fixed_sql_log_bin(name) =
        1694 "HY000" "Cannot modify @@session.{name} inside a transaction";
    /// A write in a READ ONLY transaction.
    read_only_transaction() =
        1792 "25006" "Cannot execute statement in a READ ONLY transaction.";
    /// Nothing came for wait_timeout seconds.
    idle_too_long() =
        4031 "HY000" "The client was disconnected by the server because of inactivity. \
                      See wait_timeout and interactive_timeout for configuring this behavior.";
    /// A bug that was caught.
    internal(what) = 1815 "HY000" "Internal error: {what}";
    /// A malformed packet of a known command.
    malformed_packet() = 1835 "HY000" "Malformed communication packet.";
    /// RESET PERSIST of what is not there.
    not_persisted(name) =
        3615 "HY000" "Variable {name} does not exist in persisted config file";
    /// The connection was killed.
    connection_killed() = 1927 "70100" "Connection was killed";
    /// SET PASSWORD of an account that is not there.
    no_such_user() = 1133 "42000" "Can't find any matching row in the user table";
    /// A statement about accounts that are not there, or are already.
    operation_failed(operation, accounts) =
        1396 "HY000" "Operation {operation} failed for {accounts}";
    /// What IF EXISTS and IGNORE UNKNOWN USER make of an account that is not there.
    authorization_id_missing(account) = 3162 "HY000" "Authorization ID {account} does not exist.";
    /// A role that is not there.
    unknown_authorization_id(account) = 3523 "HY000" "Unknown authorization ID {account}";
    /// GRANT to an account that is not there.
    grant_creates_no_user() =
        1410 "42000" "You are not allowed to create a user with GRANT";
    /// REVOKE ALL of an account that is not there.
    cannot_revoke_all() =
        1269 "HY000" "Can't revoke all privileges for one or more of the requested users";
    /// Rights that nobody gave.
    no_such_grant(user, host) =
        1141 "42000" "There is no such grant defined for user '{user}' on host '{host}'";
    /// A role that the account has not.
    role_not_granted(role, account) = 3530 "HY000" "{role} is not granted to {account}";
    /// A schema that nobody may change.
    schema_denied(user, host, schema) =
        1044 "42000" "Access denied for user '{user}'@'{host}' to database '{schema}'";
    /// A plugin that is not there.
    unknown_plugin(name) = 1524 "HY000" "Plugin '{name}' is not loaded";
    /// A stored password that the plugin cannot read.
    bad_password_hash() =
        1827 "HY000" "The password hash doesn't have the expected format.";
    /// A savepoint, routine or plugin that is not there.
    does_not_exist(kind, name) = 1305 "42000" "{kind} {name} does not exist";
    /// A trigger that is not there.
    unknown_trigger() = 1360 "HY000" "Trigger does not exist";
    /// An event that is not there.
    unknown_event(name) = 1539 "HY000" "Unknown event '{name}'";
    /// SHOW PROCEDURE CODE.
    program_code_disabled() =
        1289 "HY000" "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MySQL built with \
                      '--with-debug' to have it working";
    /// A storage engine that is not there.
    unknown_engine(name) = 1286 "42000" "Unknown storage engine '{name}'";
    /// A server of federated tables that is not there.
    unknown_foreign_server(name) =
        1477 "HY000" "The foreign server name you are trying to reference does not exist. Data source \
                      error:  {name}";
    /// A tablespace that is not there.
    unknown_tablespace(name) = 3510 "HY000" "Tablespace {name} doesn't exist.";
    /// A resource group that is not there.
    unknown_resource_group(name) = 3651 "HY000" "Resource Group '{name}' does not exist.";
    /// A time zone that is none.
    unknown_time_zone(name) = 1298 "HY000" "Unknown or incorrect time zone: '{name}'";
    /// The file of a log.
    file_not_found(file, error) = 29 "HY000" "File '{file}' not found ({error})";
    /// RESIGNAL outside of a handler.
    resignal_without_handler() = 1645 "0K000" "RESIGNAL when handler not active";
    /// GET STACKED DIAGNOSTICS outside of a handler.
    stacked_without_handler() =
        3004 "0Z002" "GET STACKED DIAGNOSTICS when handler not active";
    /// A condition by a name that nobody gave.
    undefined_condition(name) = 1319 "42000" "Undefined CONDITION: {name}";
    /// An item of a condition that is given twice.
    duplicate_condition_item(item) =
        1641 "42000" "Duplicate condition information item '{item}'";
    /// An item of a condition beyond its length.
    condition_item_too_long(item) = 1648 "HY000" "Data too long for condition item '{item}'";
    /// A local variable that nobody declared.
    undeclared_variable(name) = 1327 "42000" "Undeclared variable: {name}";
    /// A SQLSTATE that is none.
    bad_sqlstate(state) = 1407 "42000" "Bad SQLSTATE: '{state}'";
    /// A statement that cannot be prepared.
    not_preparable() =
        1295 "HY000" "This command is not supported in the prepared statement protocol yet";
}

/// 1235 for a construct.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::unsupported(what)
}

/// The error of a variable that cannot be set.
pub fn variable(error: VarError) -> SqlError {
    match error {
        VarError::Unknown(name) => unknown_variable(&name),
        VarError::WrongValue(name, value) => wrong_value(&name, &value),
        VarError::ForeignMode(bits) => foreign_mode(&format!("0x{bits:08x}")),
        VarError::WrongType(name) => wrong_type(&name),
        VarError::ReadOnly(name) => read_only_variable(&name),
        VarError::NotPersistent(name) => not_persistent(&name),
        VarError::SessionOnly(name) => session_only(&name),
        VarError::GlobalOnly(name) => global_only(&name),
        VarError::NotPersisted(name) => not_persisted(&name),
        VarError::Io(text) => persist_failed(&text),
    }
}

/// The error of reading a variable in the wrong scope.
pub fn variable_read(error: VarError) -> SqlError {
    match error {
        VarError::SessionOnly(name) => session_variable(&name),
        VarError::GlobalOnly(name) => global_variable(&name),
        other => variable(other),
    }
}
