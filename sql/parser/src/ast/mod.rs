//! The syntax tree: owned values that say what was written, nothing about what exists.
//!
//! 1. Names keep their spelling; folding case is the catalog's business.
//! 2. String literals are unescaped bytes; numbers are parsed when they fit 64 bits, otherwise kept as text.
//! 3. What is grammatical but beyond this server's reach is a node here (joins, subqueries) or
//!    [`Statement::Unsupported`], so that the session answers 1235 for it and 1064 for nonsense only.
//! 4. Trees compare with `==` and print with `{:?}`; tests rely on both.

mod account;
mod admin;
mod alter;
mod construct;
mod ddl;
mod dml;
mod expr;
mod hints;
mod json;
mod load;
mod program;
mod query;
mod replication;
mod show;
mod storage;
mod view;
mod walk;
mod words;

pub use account::*;
pub use admin::*;
pub use alter::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use hints::*;
pub use json::*;
pub use load::*;
pub use program::*;
pub use query::*;
pub use replication::*;
pub use show::*;
pub use storage::*;
pub use view::*;
pub use walk::*;

/// A possibly qualified name of a table or another schema object: `t` or `db.t`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The schema, when written.
    pub schema: Option<String>,
    /// The object's own name.
    pub name: String,
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, and their unions, with or without WITH.
    Query(Box<Query>),
    /// INSERT or REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// DO expr, ...
    Do(Vec<Expr>),
    /// A definition of a schema, a table or a view.
    Ddl(Ddl),
    /// EXPLAIN of a statement or a connection, or DESCRIBE of a table.
    Explain(Box<Explain>),
    /// BEGIN or START TRANSACTION.
    StartTransaction(StartTransaction),
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK of the whole transaction.
    Rollback(Completion),
    /// SAVEPOINT name.
    Savepoint(String),
    /// ROLLBACK TO \[SAVEPOINT\] name.
    RollbackTo(String),
    /// RELEASE SAVEPOINT name.
    ReleaseSavepoint(String),
    /// SET of variables, names and character sets, in the order written.
    Set(Vec<SetItem>),
    /// SET \[scope\] TRANSACTION characteristics.
    SetTransaction(SetTransaction),
    /// SET PASSWORD.
    SetPassword(SetPassword),
    /// SHOW ...
    Show(Box<Show>),
    /// USE schema.
    Use(String),
    /// KILL.
    Kill(Kill),
    /// SHUTDOWN.
    Shutdown,
    /// FLUSH.
    Flush(Flush),
    /// CREATE USER.
    CreateUser(CreateUser),
    /// ALTER USER.
    AlterUser(AlterUser),
    /// DROP USER.
    DropUser(DropUser),
    /// RENAME USER a TO b, ...
    RenameUser(Vec<(Account, Account)>),
    /// GRANT.
    Grant(Box<Grant>),
    /// REVOKE.
    Revoke(Box<Revoke>),
    /// PREPARE name FROM text.
    Prepare(Prepare),
    /// EXECUTE name USING ...
    Execute(Execute),
    /// DEALLOCATE PREPARE or DROP PREPARE.
    Deallocate(String),
    /// LOCK TABLES.
    LockTables(Vec<LockTable>, DdlWait),
    /// UNLOCK TABLES.
    UnlockTables,
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.
    Maintain(Maintain),
    /// RESET PERSIST \[\[IF EXISTS\] variable\].
    ResetPersist(ResetPersist),
    /// CREATE PROCEDURE or CREATE FUNCTION.
    CreateRoutine(Box<CreateRoutine>),
    /// CREATE FUNCTION ... SONAME.
    CreateLoadable(CreateLoadable),
    /// ALTER PROCEDURE or ALTER FUNCTION.
    AlterRoutine(AlterRoutine),
    /// CREATE TRIGGER.
    CreateTrigger(Box<CreateTrigger>),
    /// CREATE EVENT.
    CreateEvent(Box<EventDef>),
    /// ALTER EVENT.
    AlterEvent(Box<EventDef>),
    /// DROP PROCEDURE, FUNCTION, TRIGGER or EVENT.
    DropProgram(DropProgram),
    /// CALL.
    Call(CallProcedure),
    /// SIGNAL or RESIGNAL.
    Signal(Signal),
    /// GET DIAGNOSTICS.
    GetDiagnostics(GetDiagnostics),
    /// CREATE SERVER.
    CreateServer(ServerDef),
    /// ALTER SERVER.
    AlterServer(ServerDef),
    /// DROP SERVER \[IF EXISTS\]: whether IF EXISTS, name.
    DropServer(bool, String),
    /// TABLESPACE and LOGFILE GROUP.
    Tablespace(Tablespace),
    /// SPATIAL REFERENCE SYSTEM.
    SpatialReferenceSystem(SpatialReferenceSystem),
    /// CREATE or ALTER RESOURCE GROUP.
    ResourceGroup(ResourceGroup),
    /// DROP RESOURCE GROUP name \[FORCE\].
    DropResourceGroup(String, bool),
    /// SET RESOURCE GROUP name \[FOR threads\].
    SetResourceGroup(String, Vec<u64>),
    /// ALTER INSTANCE.
    AlterInstance(AlterInstance),
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    /// UNLOCK INSTANCE.
    UnlockInstance,
    /// CLONE.
    Clone(CloneInstance),
    /// INSTALL and UNINSTALL.
    Install(Install),
    /// LOAD DATA or LOAD XML.
    Load(Box<Load>),
    /// IMPORT TABLE FROM 'file', ...
    ImportTable(Vec<Vec<u8>>),
    /// HANDLER.
    Handler(Box<Handler>),
    /// CACHE INDEX.
    CacheIndex(CacheIndex),
    /// LOAD INDEX INTO CACHE.
    LoadIndex(Vec<KeyCacheTable>),
    /// Replication: CHANGE, START, STOP, PURGE, RESET, BINLOG.
    Replication(Box<Replication>),
    /// XA.
    Xa(Xa),
    /// CREATE ROLE: whether IF NOT EXISTS, roles.
    CreateRole(bool, Vec<Account>),
    /// DROP ROLE: whether IF EXISTS, roles.
    DropRole(bool, Vec<Account>),
    /// SET ROLE.
    SetRole(RoleSet),
    /// SET DEFAULT ROLE roles TO accounts.
    SetDefaultRole(RoleSet, Vec<Account>),
    /// HELP 'topic'.
    Help(String),
    /// RESTART.
    Restart,
    /// A statement whose head was recognised and whose execution is not written yet: error 1235.
    Unsupported(Unsupported),
}

/// A recognised statement that has no tree of its own yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// MySQL's name of the construct, upper case: `ALTER TABLE`, `CREATE VIEW`.
    pub construct: String,
}
