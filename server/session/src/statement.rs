//! What kind of statement is it: who runs it, what it counts as, what it does to the transaction.

use crate::absent;
use crate::errors;
use crate::session::Core;
use executor::{Outcome, ResultColumn, SqlError};
use instrument::Counter;
use parser::ast::{
    Explain, Expr, MaintainVerb, ProgramKind, QueryBody, SelectItem, Show, Statement,
};
use parser::{ParseError, SqlMode};

/// One statement of a text.
pub struct Parsed {
    /// Its tree.
    pub statement: Statement,
    /// Where the next one begins.
    pub end: usize,
    /// Another one follows.
    pub more: bool,
    /// Parameter markers in it.
    pub params: usize,
    /// Warnings about what is written.
    pub warnings: Vec<parser::Warning>,
}

/// A result the session makes itself.
#[derive(Debug, Default)]
pub struct Table {
    /// Columns.
    pub columns: Vec<ResultColumn>,
    /// Rows, as text.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// A table without rows.
    pub fn new(names: &[&str]) -> Self {
        let columns = names.iter().map(|n| ResultColumn::text(n, 1024)).collect();
        Self { columns, rows: Vec::new() }
    }
}

/// What a statement of the session's own comes to.
pub enum Reply {
    /// OK.
    Ok {
        /// The schema may have changed.
        schema_changed: bool,
        /// Words for the client.
        info: &'static str,
    },
    /// A result set.
    Table(Table),
}

/// OK without anything.
pub const OK: Reply = Reply::Ok { schema_changed: false, info: "" };

/// Parses the statement that begins at `from`; parameter markers are allowed when `markers`.
pub fn parse_next(
    sql: &[u8],
    from: usize,
    mode: SqlMode,
    markers: bool,
) -> Result<Parsed, ParseError> {
    let parsed = parser::parse_next(sql, from, mode, markers)?;
    let follows = parser::lex::Lexer::new(sql, parsed.next, mode).next_token();
    Ok(Parsed {
        statement: without_describe(parsed.statement),
        end: parsed.next,
        more: follows.kind != parser::token::TokenKind::End,
        params: parsed.params as usize,
        warnings: parsed.warnings,
    })
}

/// 1064 at the second statement, for a client that did not ask for several.
pub fn refuse_second(sql: &[u8], end: usize) -> SqlError {
    let end = end + sql[end..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let line = 1 + sql[..end].iter().filter(|&&b| b == b'\n').count() as u32;
    let kind = parser::ErrorKind::Syntax;
    errors::parse(&ParseError { kind, offset: end, line }, sql)
}

/// The statement shows the diagnostics area and must not clear it.
pub fn is_about_diagnostics(statement: &Statement) -> bool {
    let Statement::Show(show) = statement else { return false };
    matches!(**show, Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
}

/// The statement reads the diagnostics area, or adds to it what was there before.
pub fn keeps_diagnostics(statement: &Statement) -> bool {
    match statement {
        Statement::GetDiagnostics(_) => true,
        Statement::Signal(signal) => signal.resignal,
        other => is_about_diagnostics(other),
    }
}

/// The statement selects `@@warning_count` or `@@error_count`: those of the statement before.
pub fn asks_for_counts(statement: &Statement) -> bool {
    let Statement::Query(query) = statement else { return false };
    let QueryBody::Select(select) = &query.body else { return false };
    let is_count = |name: &str| {
        ["warning_count", "error_count"].iter().any(|count| count.eq_ignore_ascii_case(name))
    };
    select.items.iter().any(|item| match item {
        SelectItem::Expr { expr: Expr::SystemVar(variable), .. } => is_count(&variable.name),
        _ => false,
    })
}

/// PREPARE takes it: the others answer 1295.
pub fn is_preparable(statement: &Statement) -> bool {
    use Statement as S;
    let refused = matches!(
        statement,
        S::Prepare(_)
            | S::Execute(_)
            | S::Deallocate(_)
            | S::StartTransaction(_)
            | S::Savepoint(_)
            | S::RollbackTo(_)
            | S::ReleaseSavepoint(_)
            | S::LockTables(_)
            | S::UnlockTables
            | S::Use(_)
            | S::Shutdown
            | S::AlterDatabase(_)
            | S::Load(_)
            | S::LockInstance
            | S::UnlockInstance
            | S::Signal(_)
            | S::GetDiagnostics(_)
            | S::Help(_)
            | S::CreateRoutine(_)
            | S::AlterRoutine(_)
            | S::CreateTrigger(_)
            | S::CreateRole(..)
            | S::DropRole(..)
            | S::CreateServer(_)
            | S::AlterServer(_)
            | S::DropServer(..)
            | S::Tablespace(_)
    );
    let program = matches!(statement, S::DropProgram(drop) if drop.kind != ProgramKind::Event);
    let checks = matches!(statement, S::Maintain(m) if m.verb == MaintainVerb::Check);
    !refused && !program && !checks && !is_about_diagnostics(statement)
}

/// The session runs it rather than the executor.
pub fn is_own(statement: &Statement) -> bool {
    use Statement as S;
    match statement {
        S::StartTransaction(_)
        | S::Commit(_)
        | S::Rollback(_)
        | S::Set(_)
        | S::SetTransaction(_)
        | S::SetPassword(_)
        | S::Use(_)
        | S::Kill(_)
        | S::Shutdown
        | S::Flush(_)
        | S::AlterUser(_)
        | S::Prepare(_)
        | S::Execute(_)
        | S::Deallocate(_)
        | S::Savepoint(_)
        | S::RollbackTo(_)
        | S::ReleaseSavepoint(_)
        | S::LockTables(_)
        | S::UnlockTables
        | S::LockInstance
        | S::UnlockInstance
        | S::Signal(_)
        | S::GetDiagnostics(_)
        | S::ResetPersist(_) => true,
        S::Show(show) => is_own_show(show),
        other => absent::answers(other),
    }
}

fn is_own_show(show: &Show) -> bool {
    matches!(
        show,
        Show::Warnings(_)
            | Show::Errors(_)
            | Show::CountWarnings
            | Show::CountErrors
            | Show::Engine(..)
            | Show::Grants(_)
            | Show::Privileges
            | Show::OpenTables { .. }
    ) || absent::answers_show(show)
}

/// Commits the open transaction before it runs.
pub fn commits_implicitly(statement: &Statement) -> bool {
    use Statement as S;
    if let S::Maintain(maintain) = statement {
        return maintain.verb != MaintainVerb::Checksum;
    }
    match statement {
        S::CreateTable(create) => return !create.temporary,
        S::DropTable(drop) => return !drop.temporary,
        _ => {}
    }
    matches!(
        statement,
        S::CreateDatabase(_)
            | S::AlterDatabase(_)
            | S::DropDatabase(_)
            | S::AlterTable(_)
            | S::CreateView(_)
            | S::AlterView(_)
            | S::DropView(_)
            | S::Truncate(_)
            | S::RenameTable(_)
            | S::CreateIndex(_)
            | S::DropIndex(_)
            | S::CreateUser(_)
            | S::AlterUser(_)
            | S::DropUser(_)
            | S::RenameUser(_)
            | S::Grant(_)
            | S::Revoke(_)
            | S::SetPassword(_)
            | S::DropProgram(_)
            | S::AlterRoutine(_)
            | S::AlterEvent(_)
            | S::DropRole(..)
            | S::SetDefaultRole(..)
            | S::DropServer(..)
            | S::AlterServer(_)
            | S::Tablespace(_)
    )
}

/// No READ ONLY transaction takes it, whatever it does. Who changes rows is told when it opens their table.
pub fn changes_definitions(statement: &Statement) -> bool {
    use Statement as S;
    match statement {
        S::CreateTable(_) | S::DropTable(_) => true,
        S::Maintain(maintain) => {
            matches!(maintain.verb, MaintainVerb::Optimize | MaintainVerb::Repair)
        }
        other => commits_implicitly(other),
    }
}

/// The `Com_` counter of a statement.
pub fn counter_of(statement: &Statement) -> Option<Counter> {
    use Counter as C;
    use Statement as S;
    Some(match statement {
        S::Query(_) => C::ComSelect,
        S::Insert(i) if i.replace => C::ComReplace,
        S::Insert(_) => C::ComInsert,
        S::Update(_) => C::ComUpdate,
        S::Delete(_) => C::ComDelete,
        S::Do(_) => C::ComDo,
        S::Explain(_) => C::ComExplainOther,
        S::CreateDatabase(_) => C::ComCreateDb,
        S::AlterDatabase(_) => C::ComAlterDb,
        S::DropDatabase(_) => C::ComDropDb,
        S::CreateTable(_) => C::ComCreateTable,
        S::DropTable(_) => C::ComDropTable,
        S::Truncate(_) => C::ComTruncate,
        S::RenameTable(_) => C::ComRenameTable,
        S::CreateIndex(_) => C::ComCreateIndex,
        S::DropIndex(_) => C::ComDropIndex,
        S::StartTransaction(_) => C::ComBegin,
        S::Commit(_) => C::ComCommit,
        S::Rollback(_) => C::ComRollback,
        S::Savepoint(_) => C::ComSavepoint,
        S::RollbackTo(_) => C::ComRollbackToSavepoint,
        S::ReleaseSavepoint(_) => C::ComReleaseSavepoint,
        S::Set(_) | S::SetTransaction(_) | S::SetPassword(_) | S::ResetPersist(_) => {
            C::ComSetOption
        }
        S::Show(show) => return show_counter(show),
        S::Use(_) => C::ComChangeDb,
        S::Kill(_) => C::ComKill,
        S::Shutdown => C::ComShutdown,
        S::Flush(_) => C::ComFlush,
        S::CreateUser(_) => C::ComCreateUser,
        S::AlterUser(_) => C::ComAlterUser,
        S::DropUser(_) => C::ComDropUser,
        S::Grant(_) => C::ComGrant,
        S::Revoke(_) => C::ComRevoke,
        S::Prepare(_) => C::ComPrepareSql,
        S::Execute(_) => C::ComExecuteSql,
        S::Deallocate(_) => C::ComDeallocSql,
        S::LockTables(_) => C::ComLockTables,
        S::UnlockTables => C::ComUnlockTables,
        S::Maintain(maintain) => match maintain.verb {
            MaintainVerb::Analyze => C::ComAnalyze,
            MaintainVerb::Check => C::ComCheck,
            MaintainVerb::Checksum => C::ComChecksum,
            MaintainVerb::Optimize => C::ComOptimize,
            MaintainVerb::Repair => C::ComRepair,
        },
        _ => return None,
    })
}

fn show_counter(show: &Show) -> Option<Counter> {
    use Counter as C;
    Some(match show {
        Show::Databases(_) => C::ComShowDatabases,
        Show::Tables { .. } => C::ComShowTables,
        Show::TableStatus { .. } => C::ComShowTableStatus,
        Show::OpenTables { .. } => C::ComShowOpenTables,
        Show::Columns { .. } => C::ComShowFields,
        Show::Index { .. } => C::ComShowKeys,
        Show::ProcessList { .. } => C::ComShowProcesslist,
        Show::Status { .. } => C::ComShowStatus,
        Show::Variables { .. } => C::ComShowVariables,
        Show::Warnings(_) | Show::CountWarnings => C::ComShowWarnings,
        Show::Errors(_) | Show::CountErrors => C::ComShowErrors,
        Show::CreateTable(_) => C::ComShowCreateTable,
        Show::CreateDatabase { .. } => C::ComShowCreateDb,
        Show::Engines => C::ComShowStorageEngines,
        Show::Engine(..) => C::ComShowEngineStatus,
        Show::Collation(_) => C::ComShowCollations,
        Show::Charset(_) => C::ComShowCharsets,
        Show::Grants(_) => C::ComShowGrants,
        Show::Privileges => C::ComShowPrivileges,
        Show::Plugins => C::ComShowPlugins,
        Show::Triggers { .. } => C::ComShowTriggers,
        _ => return None,
    })
}

impl Core {
    /// 1792.
    pub fn refuse_read_only(&self, statement: &Statement) -> Result<(), SqlError> {
        match self.characteristics.read_only && changes_definitions(statement) {
            true => Err(errors::read_only_transaction()),
            false => Ok(()),
        }
    }

    /// Runs a statement for which [`is_own`] holds.
    pub fn own(&mut self, statement: &Statement) -> Result<Reply, SqlError> {
        use Statement as S;
        self.before(statement)?;
        match statement {
            S::StartTransaction(start) => self.start_transaction(start)?,
            S::Commit(how) => self.complete(how, true)?,
            S::Rollback(how) => self.complete(how, false)?,
            S::Set(items) => {
                let done = self.set(items).map(|()| Outcome::default());
                self.end_statement(done)?;
            }
            S::SetTransaction(set) => self.set_transaction(set)?,
            S::Use(schema) => {
                self.use_schema(schema)?;
                return Ok(Reply::Ok { schema_changed: true, info: "" });
            }
            S::Kill(kill) => self.kill_statement(kill)?,
            S::Shutdown => self.env.server.host.shutdown(&self.env.account()),
            S::Flush(flush) => self.flush(flush)?,
            S::AlterUser(alter) => self.alter_user(alter)?,
            S::SetPassword(set) => self.set_password(set)?,
            S::ResetPersist(reset) => self.reset_persist(reset)?,
            S::LockTables(list) => self.lock_tables(list)?,
            S::UnlockTables => self.unlock_statement()?,
            S::LockInstance => self.lock_instance()?,
            S::UnlockInstance => self.tables.unlock_instance(self.client.slot()),
            S::Show(show) => return self.show(show).map(Reply::Table),
            S::Prepare(prepare) => {
                self.prepare_named(prepare)?;
                return Ok(Reply::Ok { schema_changed: false, info: "Statement prepared" });
            }
            S::Deallocate(name) => self.deallocate_named(name)?,
            S::Savepoint(name) => self.savepoint(name),
            S::RollbackTo(name) => self.rollback_to(name)?,
            S::ReleaseSavepoint(name) => self.release_savepoint(name)?,
            S::Signal(signal) => return self.signal(signal),
            S::GetDiagnostics(get) => return self.get_diagnostics(get),
            other if absent::answers(other) => return self.absent(other),
            _ => return Err(errors::internal("a statement of nobody")),
        }
        Ok(OK)
    }
}

/// DESCRIBE t is SHOW COLUMNS FROM t.
fn without_describe(statement: Statement) -> Statement {
    let Statement::Explain(explain) = statement else { return statement };
    match *explain {
        Explain::Table { table, pattern } => {
            let filter = pattern.map(parser::ast::ShowFilter::Like);
            let show = Show::Columns { extended: false, full: false, table, filter };
            Statement::Show(Box::new(show))
        }
        other => Statement::Explain(Box::new(other)),
    }
}
