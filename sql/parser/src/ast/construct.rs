//! What MySQL calls each kind of statement, for error texts.

use super::{MaintainVerb, ProgramKind, Statement, TablespaceVerb};

impl Statement {
    /// The statement's leading words in upper case, as error 1235 names it.
    pub fn construct(&self) -> &str {
        use Statement::*;
        match self {
            Query(_) => "SELECT",
            Insert(insert) if insert.replace => "REPLACE",
            Insert(_) => "INSERT",
            Update(_) => "UPDATE",
            Delete(_) => "DELETE",
            Do(_) => "DO",
            Explain(_) => "EXPLAIN",
            CreateDatabase(_) => "CREATE DATABASE",
            AlterDatabase(_) => "ALTER DATABASE",
            DropDatabase(_) => "DROP DATABASE",
            CreateTable(_) => "CREATE TABLE",
            AlterTable(_) => "ALTER TABLE",
            DropTable(_) => "DROP TABLE",
            Truncate(_) => "TRUNCATE",
            RenameTable(_) => "RENAME TABLE",
            CreateIndex(_) => "CREATE INDEX",
            DropIndex(_) => "DROP INDEX",
            CreateView(_) => "CREATE VIEW",
            AlterView(_) => "ALTER VIEW",
            DropView(_) => "DROP VIEW",
            StartTransaction(_) => "START TRANSACTION",
            Commit(_) => "COMMIT",
            Rollback(_) => "ROLLBACK",
            Savepoint(_) => "SAVEPOINT",
            RollbackTo(_) => "ROLLBACK TO SAVEPOINT",
            ReleaseSavepoint(_) => "RELEASE SAVEPOINT",
            Set(_) => "SET",
            SetTransaction(_) => "SET TRANSACTION",
            SetPassword(_) => "SET PASSWORD",
            SetRole(_) => "SET ROLE",
            SetDefaultRole(..) => "SET DEFAULT ROLE",
            SetResourceGroup(..) => "SET RESOURCE GROUP",
            Show(_) => "SHOW",
            Use(_) => "USE",
            Kill(_) => "KILL",
            Shutdown => "SHUTDOWN",
            Restart => "RESTART",
            Flush(_) => "FLUSH",
            Prepare(_) => "PREPARE",
            Execute(_) => "EXECUTE",
            Deallocate(_) => "DEALLOCATE PREPARE",
            LockTables(_) => "LOCK TABLES",
            UnlockTables => "UNLOCK TABLES",
            LockInstance => "LOCK INSTANCE FOR BACKUP",
            UnlockInstance => "UNLOCK INSTANCE",
            ResetPersist(_) => "RESET PERSIST",
            Call(_) => "CALL",
            Signal(signal) if signal.resignal => "RESIGNAL",
            Signal(_) => "SIGNAL",
            GetDiagnostics(_) => "GET DIAGNOSTICS",
            Load(load) if load.xml => "LOAD XML",
            Load(_) => "LOAD DATA",
            ImportTable(_) => "IMPORT TABLE",
            Handler(_) => "HANDLER",
            Replication(statement) => statement.construct(),
            Xa(_) => "XA",
            Help(_) => "HELP",
            Unsupported(what) => &what.construct,
            _ => self.administration(),
        }
    }

    /// [`Statement::construct`] of accounts, stored programs and the server's parts.
    fn administration(&self) -> &str {
        use Statement::*;
        match self {
            CreateUser(_) => "CREATE USER",
            AlterUser(_) => "ALTER USER",
            DropUser(_) => "DROP USER",
            RenameUser(_) => "RENAME USER",
            CreateRole(..) => "CREATE ROLE",
            DropRole(..) => "DROP ROLE",
            Grant(_) => "GRANT",
            Revoke(_) => "REVOKE",
            CreateRoutine(routine) if routine.returns.is_none() => "CREATE PROCEDURE",
            CreateRoutine(_) | CreateLoadable(_) => "CREATE FUNCTION",
            AlterRoutine(routine) if routine.function => "ALTER FUNCTION",
            AlterRoutine(_) => "ALTER PROCEDURE",
            CreateTrigger(_) => "CREATE TRIGGER",
            CreateEvent(_) => "CREATE EVENT",
            AlterEvent(_) => "ALTER EVENT",
            DropProgram(drop) => match drop.kind {
                ProgramKind::Procedure => "DROP PROCEDURE",
                ProgramKind::Function => "DROP FUNCTION",
                ProgramKind::Trigger => "DROP TRIGGER",
                ProgramKind::Event => "DROP EVENT",
            },
            CreateServer(_) => "CREATE SERVER",
            AlterServer(_) => "ALTER SERVER",
            DropServer(..) => "DROP SERVER",
            Tablespace(space) => match (space.verb, space.logfile_group) {
                (TablespaceVerb::Create, false) => "CREATE TABLESPACE",
                (TablespaceVerb::Alter, false) => "ALTER TABLESPACE",
                (TablespaceVerb::Drop, false) => "DROP TABLESPACE",
                (TablespaceVerb::Create, true) => "CREATE LOGFILE GROUP",
                (TablespaceVerb::Alter, true) => "ALTER LOGFILE GROUP",
                (TablespaceVerb::Drop, true) => "DROP LOGFILE GROUP",
            },
            SpatialReferenceSystem(srs) if srs.drop => "DROP SPATIAL REFERENCE SYSTEM",
            SpatialReferenceSystem(_) => "CREATE SPATIAL REFERENCE SYSTEM",
            ResourceGroup(group) if group.alter => "ALTER RESOURCE GROUP",
            ResourceGroup(_) => "CREATE RESOURCE GROUP",
            DropResourceGroup(..) => "DROP RESOURCE GROUP",
            AlterInstance(_) => "ALTER INSTANCE",
            Clone(_) => "CLONE",
            Install(install) => install.construct(),
            CacheIndex(_) => "CACHE INDEX",
            LoadIndex(_) => "LOAD INDEX INTO CACHE",
            Maintain(maintain) => match maintain.verb {
                MaintainVerb::Analyze => "ANALYZE TABLE",
                MaintainVerb::Check => "CHECK TABLE",
                MaintainVerb::Checksum => "CHECKSUM TABLE",
                MaintainVerb::Optimize => "OPTIMIZE TABLE",
                MaintainVerb::Repair => "REPAIR TABLE",
            },
            _ => "",
        }
    }
}

impl super::Replication {
    /// The statement's leading words in upper case.
    pub fn construct(&self) -> &'static str {
        use super::Replication::*;
        match self {
            ChangeSource { .. } => "CHANGE REPLICATION SOURCE",
            ChangeFilter { .. } => "CHANGE REPLICATION FILTER",
            StartReplica { .. } => "START REPLICA",
            StopReplica { .. } => "STOP REPLICA",
            StartGroup(_) => "START GROUP_REPLICATION",
            StopGroup => "STOP GROUP_REPLICATION",
            PurgeTo(_) | PurgeBefore(_) => "PURGE BINARY LOGS",
            ResetBinaryLogs(_) | ResetReplica { .. } | ResetMany(_) => "RESET",
            Binlog(_) => "BINLOG",
        }
    }
}

impl super::Install {
    /// The statement's leading words in upper case.
    pub fn construct(&self) -> &'static str {
        use super::Install::*;
        match self {
            Plugin(..) => "INSTALL PLUGIN",
            Components(..) => "INSTALL COMPONENT",
            DropPlugin(_) => "UNINSTALL PLUGIN",
            DropComponents(_) => "UNINSTALL COMPONENT",
        }
    }
}
