//! The session's own entries of the error table, in MySQL's numbers, SQLSTATEs and words.
//!
//! What the dictionary, the planner and the engine can end in is listed beside them
//! ([`expr::SqlError::parts`]); what only a session meets is listed here. Nothing else in the server
//! writes an error number.

use crate::variables::VarError;
use executor::SqlError;
pub use expr::parse_error as parse;

base::error_table! {
    /// What only a session meets.
    pub enum SessionError for SqlError {
        /// The server has no room for another connection.
        TooManyConnections = 1040 "08004" "Too many connections";
        /// The first packets of a connection make no sense.
        BadHandshake = 1043 "08S01" "Bad handshake";
        /// The user may not use a schema.
        AccessDenied(user, host, using) =
            1045 "28000" "Access denied for user '{user}'@'{host}' (using password: {using})";
        /// `init_connect` failed: the client is not served.
        InitConnectFailed(who) =
            1184 "08S01" "Aborted connection {who} (init_connect command failed)";
        /// `max_user_connections`.
        TooManyOfUser(user) =
            1203 "42000" "User {user} already has more than 'max_user_connections' active connections";
        /// `offline_mode`.
        Offline = 3032 "HY000" "The server is currently in offline mode";
        /// Too many handshakes of the host failed.
        HostBlocked(host) =
            1129 "HY000" "Host '{host}' is blocked because of many connection errors; unblock with \
                          'mysqladmin flush-hosts'";
        /// A privilege that the account has not.
        LacksPrivilege(name) =
            1227 "42000" "Access denied; you need (at least one of) the {name} privilege(s) for this \
                          operation";
        /// A byte that is no command.
        UnknownCommand = 1047 "08S01" "Unknown command";
        /// No such schema.
        UnknownDatabase(name) = 1049 "42000" "Unknown database '{name}'";
        /// The server is stopping.
        ShuttingDown = 1053 "08S01" "Server shutdown in progress";
        /// KILL of a connection that is not there.
        NoSuchThread(id) = 1094 "HY000" "Unknown thread id: {id}";
        /// A packet larger than max_allowed_packet.
        PacketTooLarge =
            1153 "08S01" "Got a packet bigger than 'max_allowed_packet' bytes";
        /// Sequence numbers jump.
        PacketsOutOfOrder = 1156 "08S01" "Got packets out of order";
        /// The client is gone.
        CannotSend = 1160 "08S01" "Got an error writing communication packets";
        /// LOCK TABLES is in force, or a transaction is open.
        LockedOrInTransaction =
            1192 "HY000" "Can't execute the given command because you have active locked tables or an \
                          active transaction";
        /// A privilege of a stored program that is missing.
        RoutineDenied(word, who, routine) =
            1370 "42000" "{word} command denied to user {who} for routine '{routine}'";
        /// SET of a variable that is not there.
        UnknownVariable(name) = 1193 "HY000" "Unknown system variable '{name}'";
        /// COM_STMT_... with arguments that make no sense, or SQL EXECUTE with too few.
        WrongArguments(what) = 1210 "HY000" "Incorrect arguments to {what}";
        /// A session variable with SET GLOBAL.
        SessionOnly(name) =
            1228 "HY000" "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
        /// A global variable with SET SESSION.
        GlobalOnly(name) =
            1229 "HY000" "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
        /// A value that a variable cannot have.
        WrongValue(name, value) =
            1231 "42000" "Variable '{name}' can't be set to the value of '{value}'";
        /// A value of another type than a variable's.
        WrongType(name) = 1232 "42000" "Incorrect argument type to variable '{name}'";
        /// A variable that is set at start-up only.
        ReadOnlyVariable(name) = 1238 "HY000" "Variable '{name}' is a read only variable";
        /// A session's variable read with GLOBAL.
        SessionVariable(name) = 1238 "HY000" "Variable '{name}' is a SESSION variable";
        /// A server's variable read with SESSION.
        GlobalVariable(name) = 1238 "HY000" "Variable '{name}' is a GLOBAL variable";
        /// Bits of `sql_mode` that are none.
        ForeignMode(bits) = 3899 "HY000" "sql_mode={bits} is not supported.";
        /// The file of SET PERSIST.
        PersistFailed(why) = 3614 "HY000" "Failed to write persisted variables: {why}";
        /// A fixed variable that cannot be persisted either.
        NotPersistent(name) =
            1238 "HY000" "Variable '{name}' is a non persistent read only variable";
        /// A session's value that only SET GLOBAL changes.
        SessionFixed(name) =
            1621 "HY000" "SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value";
        /// SET x = DEFAULT of what has none.
        NoDefault(name) = 1230 "42000" "Variable '{name}' doesn't have a default value";
        /// A prepared statement that is not there.
        UnknownStatement(id, command) =
            1243 "HY000" "Unknown prepared statement handler ({id}) given to {command}";
        /// A statement without a cursor.
        NoCursor(id) = 1421 "HY000" "The statement ({id}) has no open cursor.";
        /// A cursor of a SELECT whose rows go elsewhere.
        CursorWithInto = 1323 "HY000" "Cursor SELECT must not have INTO";
        /// Too many prepared statements in all sessions.
        TooManyStatements(max) =
            1461 "42000" "Can't create more than max_prepared_stmt_count statements (current value: {max})";
        /// Something an open transaction forbids.
        InTransaction =
            1568 "25001" "Transaction characteristics can't be changed while a transaction is in progress";
        /// SET of what a transaction is logged as.
        FixedBinlogFormat(name) =
            1679 "HY000" "Cannot modify @@session.{name} inside a transaction";
        /// SET of whether a transaction is logged.
        FixedSqlLogBin(name) =
            1694 "HY000" "Cannot modify @@session.{name} inside a transaction";
        /// A branch that there is not, or that is another session's to end.
        UnknownBranch = 1397 "XAE04" "XAER_NOTA: Unknown XID";
        /// JOIN, SUSPEND, or RESUME of what is not idle.
        BranchInvalid = 1398 "XAE05" "XAER_INVAL: Invalid arguments (or unsupported command)";
        /// XA START in a transaction, or under LOCK TABLES.
        OutsideBranch =
            1400 "XAE09" "XAER_OUTSIDE: Some work is done outside global transaction";
        /// XA RECOVER without XA_RECOVER_ADMIN; behind another error, XA ROLLBACK that did not come to it.
        BranchFailed =
            1401 "XAE03" "XAER_RMERR: Fatal error occurred in the transaction branch - check your data \
                          for consistency";
        /// XA START of a branch that there is.
        BranchExists = 1440 "XAE08" "XAER_DUPID: The XID already exists";
        /// SET of what a transaction has been begun with.
        FixedInTransaction(name) =
            1766 "HY000" "The system variable {name} cannot be set when there is an ongoing transaction.";
        /// A write in a READ ONLY transaction.
        ReadOnlyTransaction =
            1792 "25006" "Cannot execute statement in a READ ONLY transaction.";
        /// `require_secure_transport`.
        InsecureTransport =
            3159 "HY000" "Connections using insecure transport are prohibited while \
                          --require_secure_transport=ON.";
        /// Behind another error: what became of XA COMMIT or XA ROLLBACK of a prepared branch, which still is.
        BranchRetry =
            3197 "HY000" "The resource manager is not able to commit the transaction branch at this time. \
                          Please retry later.";
        /// ALTER INSTANCE RELOAD TLS with files that cannot be used.
        TlsLibrary(why) =
            3888 "HY000" "Failed to set up SSL because of the following SSL library error: {why}";
        /// ALTER INSTANCE RELOAD TLS of another channel than the only one.
        UnknownChannel =
            1149 "42000" "You have an error in your SQL syntax; check the manual that corresponds to your \
                          MySQL server version for the right syntax to use";
        /// A variable twice in `session_track_system_variables`.
        TrackedTwice(name) = 3026 "HY000" "Duplicate entry '{name}'.";
        /// SET resultset_metadata of a client that knows nothing of it.
        MetadataNotOptional =
            3640 "HY000" "The client doesn't support optional metadata transfer";
        /// A client in clear where all must be compressed.
        WrongCompression(name) = 3922 "HY000" "Invalid compression algorithm '{name}'.";
        /// A level that zstd has not.
        WrongZstdLevel =
            3923 "HY000" "Invalid zstd compression level for algorithm 'zstd'.";
        /// A compressed frame that is none.
        NotExpanded = 1157 "08S01" "Couldn't uncompress communication packet";
        /// Nothing came for wait_timeout seconds.
        IdleTooLong =
            4031 "HY000" "The client was disconnected by the server because of inactivity. \
                          See wait_timeout and interactive_timeout for configuring this behavior.";
        /// A bug that was caught.
        Internal(what) = 1815 "HY000" "Internal error: {what}";
        /// A malformed packet of a known command.
        MalformedPacket = 1835 "HY000" "Malformed communication packet.";
        /// RESET PERSIST of what is not there.
        NotPersisted(name) =
            3615 "HY000" "Variable {name} does not exist in persisted config file";
        /// The connection was killed.
        ConnectionKilled = 1927 "70100" "Connection was killed";
        /// SET PASSWORD of an account that is not there.
        NoSuchUser = 1133 "42000" "Can't find any matching row in the user table";
        /// A statement about accounts that are not there, or are already.
        OperationFailed(operation, accounts) =
            1396 "HY000" "Operation {operation} failed for {accounts}";
        /// What IF EXISTS and IGNORE UNKNOWN USER make of an account that is not there.
        AuthorizationIdMissing(account) = 3162 "HY000" "Authorization ID {account} does not exist.";
        /// A role that is not there.
        UnknownAuthorizationId(account) = 3523 "HY000" "Unknown authorization ID {account}";
        /// GRANT ... AS of what is not global.
        GrantAsOfLevel =
            3835 "HY000" "GRANT ... AS is currently supported only for global privileges.";
        /// GRANT ... AS a user or role that is not there, or has more than who grants.
        BadGrantAs =
            3836 "HY000" "Either some of the authorization IDs in the AS clause are invalid or the current user lacks \
                          privileges to execute the statement.";
        /// GRANT to an account that is not there.
        GrantCreatesNoUser =
            1410 "42000" "You are not allowed to create a user with GRANT";
        /// CREATE of an account that is there, with IF NOT EXISTS.
        AuthorizationIdExists(account) = 3163 "HY000" "Authorization ID {account} already exists.";
        /// The server runs without grant tables.
        GrantTablesSkipped =
            1290 "HY000" "The MySQL server is running with the --skip-grant-tables option so it cannot execute this \
                          statement";
        /// A name that the dictionary has no room for.
        NameTooLong(name, what, max) =
            1470 "HY000" "String '{name}' is too long for {what} (should be no longer than {max})";
        /// A role by another name.
        RoleRenamed = 3532 "HY000" "Renaming of a role identifier is forbidden";
        /// Roles that would have each other.
        RoleLoop(account, role) =
            4027 "HY000" "User account {account} is directly or indirectly granted to the role {role}. The GRANT would \
                          create a loop";
        /// A role that everybody has.
        MandatoryRole(role) =
            3628 "HY000" "The role {role} is a mandatory role and can't be revoked or dropped. The restriction can be \
                          lifted by excluding the role identifier from the global variable mandatory_roles.";
        /// A global REVOKE from who has more of a schema than the session.
        RevokeUnderRestrictions(who, schema) =
            3879 "HY000" "Access denied for AuthId {who} to database '{schema}'.";
        /// A role of `mandatory_roles` that could not be taken any more.
        MandatorySystemUser(role) =
            3880 "HY000" "Cannot set mandatory_roles: AuthId {role} has 'SYSTEM_USER' privilege.";
        /// `partial_revokes` is switched off, and there are some.
        PartialRevokesExist =
            3896 "HY000" "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must \
                          be set to ON.";
        /// A number out of its range.
        WrongValueOf(what, value) = 1525 "HY000" "Incorrect {what} value: '{value}'";
        /// ATTRIBUTE of what is no JSON object.
        BadAttribute = 3982 "HY000" "The user attribute must be a valid JSON object";
        /// A password that the account had.
        PasswordReused(user, host) =
            3638 "HY000" "Cannot use these credentials for '{user}@{host}' because they contradict the password history \
                          policy";
        /// SET PASSWORD of an account whose plugin has none.
        PasswordNotStored(user, host) =
            4102 "HY000" "SET PASSWORD has no significance for user '{user}'@'{host}' as the authentication method used \
                          doesn't store authentication data in the MySQL server. Please consider using ALTER USER \
                          instead if you want to change authentication parameters.";
        /// PASSWORD EXPIRE of such an account.
        NoPasswordExpiry(plugin) =
            3671 "HY000" "The selected authentication method {plugin} does not support password expiration";
        /// PASSWORD HISTORY of such an account.
        NoPasswordHistory(user, host, plugin) =
            3639 "HY000" "Non-zero password history clauses ignored for user '{user}'@'{host}' as its authentication \
                          plugin {plugin} does not support password history";
        /// A password that `validate_password` refuses.
        WeakPassword = 1819 "HY000" "Your password does not satisfy the current policy requirements";
        /// One that is too much like the old one.
        TooFewChanged(needed, new) =
            4165 "HY000" "The new password must have at least '{needed}' characters that are different from the old \
                          password. It has only '{new}' character(s) different. For this comparison, uppercase letters \
                          and lowercase letters are considered to be equal.";
        /// INSTALL COMPONENT of no URN.
        UrnWithoutScheme(urn) = 3527 "HY000" "Cannot find schema in specified URN: '{urn}'.";
        /// INSTALL COMPONENT from elsewhere than a file.
        UnknownScheme(scheme, urn) =
            3528 "HY000" "Cannot acquire scheme load service implementation for schema '{scheme}' in specified URN: \
                          '{urn}'.";
        /// INSTALL COMPONENT of what is installed.
        ComponentNotLoaded(urn) =
            3529 "HY000" "Cannot load component from specified URN: '{urn}'.";
        /// INSTALL COMPONENT with a SET that fails.
        ComponentNotBegun =
            3536 "HY000" "Initialization method provided by component 'mysql:validate_password' failed.";
        /// UNINSTALL COMPONENT of what is not installed.
        ComponentNotThere(urn) =
            3537 "HY000" "Component specified by URN '{urn}' to unload has not been loaded before.";
        /// UNINSTALL COMPONENT that names one twice.
        ComponentTwice(urn) =
            3545 "HY000" "The component with specified URN: '{urn}' was specified in group more than once.";
        /// A SET of INSTALL COMPONENT that is not about the component.
        ForeignSetting(name) =
            4161 "HY000" "The assignment of {name} in SET doesn't match any of the variables registered by the component(s)";
        /// RETAIN CURRENT PASSWORD of an account without one.
        EmptySecondPassword(user, host) =
            3878 "HY000" "Empty password can not be retained as second password for user '{user}'@'{host}'.";
        /// RETAIN CURRENT PASSWORD beside another plugin.
        PluginChanges(user, host) =
            3894 "HY000" "Current password can not be retained for user '{user}'@'{host}' because authentication plugin \
                          is being changed.";
        /// RETAIN CURRENT PASSWORD beside an empty one.
        EmptyNewPassword(user, host) =
            3895 "HY000" "Current password can not be retained for user '{user}'@'{host}' because new password is empty.";
        /// REPLACE of another password than the account has.
        WrongCurrentPassword =
            3891 "HY000" "Incorrect current password. Specify the correct password which has to be replaced.";
        /// No REPLACE where it is required.
        MissingCurrentPassword =
            3892 "HY000" "Current password needs to be specified in the REPLACE clause in order to change it.";
        /// REPLACE of somebody else's password.
        PasswordOfOthers =
            3893 "HY000" "Do not specify the current password while changing it for other users.";
        /// ACCOUNT LOCK.
        AccountLocked(user, host) =
            3118 "HY000" "Access denied for user '{user}'@'{host}'. Account is locked.";
        /// FAILED_LOGIN_ATTEMPTS.
        BlockedByWrongPasswords(user, host, days, left, attempts) =
            3955 "HY000" "Access denied for user '{user}'@'{host}'. Account is blocked for {days} day(s) ({left} day(s) \
                          remaining) due to {attempts} consecutive failed logins.";
        /// An expired password, of a client that does not understand it.
        PasswordExpiredAtLogin =
            1862 "HY000" "Your password has expired. To log in you must change it using a client that supports expired \
                          passwords.";
        /// An expired password.
        MustChangePassword =
            1820 "HY000" "You must reset your password using ALTER USER statement before executing this statement.";
        /// A limit of WITH.
        LimitReached(user, resource, most) =
            1226 "42000" "User '{user}' has exceeded the '{resource}' resource (current value: {most})";
        /// A privilege that cannot be granted there.
        IllegalGrant =
            1144 "42000" "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
        /// A dynamic privilege below the server.
        IllegalLevel(name) = 3619 "HY000" "Illegal privilege level specified for {name}";
        /// A privilege that is not there.
        NoSuchPrivilege =
            1149 "42000" "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                          version for the right syntax to use";
        /// Two things that do not go together.
        IncorrectUsage(one, other) = 1221 "HY000" "Incorrect usage of {one} and {other}";
        /// REVOKE of what was not granted of a table.
        NoSuchTableGrant(user, host, table) =
            1147 "42000" "There is no such grant defined for user '{user}' on host '{host}' on table '{table}'";
        /// GRANT of a table that is not there.
        NoSuchTable(schema, table) = 1146 "42S02" "Table '{schema}.{table}' doesn't exist";
        /// GRANT of a column that is not there.
        UnknownColumnOf(column, table) = 1054 "42S22" "Unknown column '{column}' in '{table}'";
        /// PROXY of an account that one may not act as; a process that is somebody else's.
        Denied(who) = 1698 "28000" "Access denied for user {who}";
        /// A foreign key's parent that one may not refer to.
        ParentDenied(who, schema, table) =
            1142 "42000" "REFERENCES command denied to user {who} for table '{schema}.{table}'";
        /// KILL of somebody else's connection.
        NotOwner(id) = 1095 "HY000" "You are not owner of thread {id}";
        /// SET PERSIST_ONLY.
        PersistDenied =
            3630 "42000" "Access denied; you need SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN privileges for \
                          this operation";
        /// REVOKE ALL of an account that is not there.
        CannotRevokeAll =
            1269 "HY000" "Can't revoke all privileges for one or more of the requested users";
        /// Rights that nobody gave.
        NoSuchGrant(user, host) =
            1141 "42000" "There is no such grant defined for user '{user}' on host '{host}'";
        /// A role that the account has not.
        RoleNotGranted(role, account) = 3530 "HY000" "{role} is not granted to {account}";
        /// A schema that nobody may change.
        SchemaDenied(user, host, schema) =
            1044 "42000" "Access denied for user '{user}'@'{host}' to database '{schema}'";
        /// A plugin that is not there.
        UnknownPlugin(name) = 1524 "HY000" "Plugin '{name}' is not loaded";
        /// A stored password that the plugin cannot read.
        BadPasswordHash =
            1827 "HY000" "The password hash doesn't have the expected format.";
        /// A savepoint, routine or plugin that is not there.
        DoesNotExist(kind, name) = 1305 "42000" "{kind} {name} does not exist";
        /// A trigger that is not there.
        UnknownTrigger = 1360 "HY000" "Trigger does not exist";
        /// An event that is not there.
        UnknownEvent(name) = 1539 "HY000" "Unknown event '{name}'";
        /// SHOW PROCEDURE CODE.
        ProgramCodeDisabled =
            1289 "HY000" "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MySQL built with \
                          '--with-debug' to have it working";
        /// A storage engine that is not there.
        UnknownEngine(name) = 1286 "42000" "Unknown storage engine '{name}'";
        /// A server of federated tables that is not there.
        UnknownForeignServer(name) =
            1477 "HY000" "The foreign server name you are trying to reference does not exist. Data source \
                          error:  {name}";
        /// A tablespace that is not there.
        UnknownTablespace(name) = 3510 "HY000" "Tablespace {name} doesn't exist.";
        /// A resource group that is not there.
        UnknownResourceGroup(name) = 3651 "HY000" "Resource Group '{name}' does not exist.";
        /// A time zone that is none.
        UnknownTimeZone(name) = 1298 "HY000" "Unknown or incorrect time zone: '{name}'";
        /// The file of a log.
        FileNotFound(file, error) = 29 "HY000" "File '{file}' not found ({error})";
        /// RESIGNAL outside of a handler.
        ResignalWithoutHandler = 1645 "0K000" "RESIGNAL when handler not active";
        /// GET STACKED DIAGNOSTICS outside of a handler.
        StackedWithoutHandler =
            3004 "0Z002" "GET STACKED DIAGNOSTICS when handler not active";
        /// A condition by a name that nobody gave.
        UndefinedCondition(name) = 1319 "42000" "Undefined CONDITION: {name}";
        /// An item of a condition that is given twice.
        DuplicateConditionItem(item) =
            1641 "42000" "Duplicate condition information item '{item}'";
        /// An item of a condition beyond its length.
        ConditionItemTooLong(item) = 1648 "HY000" "Data too long for condition item '{item}'";
        /// A local variable that nobody declared.
        UndeclaredVariable(name) = 1327 "42000" "Undeclared variable: {name}";
        /// A SQLSTATE that is none.
        BadSqlstate(state) = 1407 "42000" "Bad SQLSTATE: '{state}'";
        /// A statement that cannot be prepared.
        NotPreparable =
            1295 "HY000" "This command is not supported in the prepared statement protocol yet";
    }
}

/// 1235 for a construct.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::unsupported(what)
}

/// The error of a variable that cannot be set.
pub fn variable(error: VarError) -> SqlError {
    match error {
        VarError::Unknown(name) => SessionError::UnknownVariable(&name).into(),
        VarError::WrongValue(name, value) => SessionError::WrongValue(&name, &value).into(),
        VarError::ForeignMode(bits) => SessionError::ForeignMode(&format!("0x{bits:08x}")).into(),
        VarError::WrongType(name) => SessionError::WrongType(&name).into(),
        VarError::ReadOnly(name) => SessionError::ReadOnlyVariable(&name).into(),
        VarError::NotPersistent(name) => SessionError::NotPersistent(&name).into(),
        VarError::SessionOnly(name) => SessionError::SessionOnly(&name).into(),
        VarError::GlobalOnly(name) => SessionError::GlobalOnly(&name).into(),
        VarError::NotPersisted(name) => SessionError::NotPersisted(&name).into(),
        VarError::Io(text) => SessionError::PersistFailed(&text).into(),
    }
}

/// The error of reading a variable in the wrong scope.
pub fn variable_read(error: VarError) -> SqlError {
    match error {
        VarError::SessionOnly(name) => SessionError::SessionVariable(&name).into(),
        VarError::GlobalOnly(name) => SessionError::GlobalVariable(&name).into(),
        other => variable(other),
    }
}
