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
    /// An account that is not there.
    no_such_account(account) =
        1396 "HY000" "Operation ALTER USER failed for {account}";
    /// A plugin that is not there.
    unknown_plugin(name) = 1524 "HY000" "Plugin '{name}' is not loaded";
    /// A stored password that the plugin cannot read.
    bad_password_hash() =
        1827 "HY000" "The password hash doesn't have the expected format.";
    /// A savepoint that is not there.
    no_such_savepoint(name) = 1305 "42000" "SAVEPOINT {name} does not exist";
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
        VarError::ForeignMode(bits) => {
            SqlError::Other(3899, "HY000", format!("sql_mode=0x{bits:08x} is not supported."))
        }
        VarError::WrongType(name) => wrong_type(&name),
        VarError::ReadOnly(name) => read_only_variable(&name),
        VarError::NotPersistent(name) => not_persistent(&name),
        VarError::SessionOnly(name) => session_only(&name),
        VarError::GlobalOnly(name) => global_only(&name),
        VarError::NotPersisted(name) => not_persisted(&name),
        VarError::Io(text) => {
            SqlError::Other(3614, "HY000", format!("Failed to write persisted variables: {text}"))
        }
    }
}

/// The error of reading a variable in the wrong scope.
pub fn variable_read(error: VarError) -> SqlError {
    match error {
        VarError::SessionOnly(name) => {
            SqlError::Other(1238, "HY000", format!("Variable '{name}' is a SESSION variable"))
        }
        VarError::GlobalOnly(name) => {
            SqlError::Other(1238, "HY000", format!("Variable '{name}' is a GLOBAL variable"))
        }
        other => variable(other),
    }
}
