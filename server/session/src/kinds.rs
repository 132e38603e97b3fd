//! The kinds of statements: a line for each, which says what there is to know about it.
//!
//! A line reads: pattern, what is known of the kind, who runs it, what it needs (of rows the planner asks). A kind whose cases differ has a line for each;
//! a statement without a line does not compile. SHOW has a table of its own.

use crate::accounts::send_made;
use crate::branch_statements::recover_columns;
use crate::core::Core;
use crate::core::{Descriptor, DiagnosticsUse, LockDuration, Runner};
use crate::errors::SessionError;
use crate::net::Net;
use crate::process_list;
use crate::show;
use access::Privileges;
use executor::{ResultColumn, RowSink, SqlError};
use instrument::Counter as C;
use parser::ast::{
    AccountSpec, CloneInstance, Ddl, Explain, Handler, Insert, InsertSource, Install, MaintainVerb,
    Privilege, ProgramKind, Replication, Secret, Show, Statement, Statement as S, TableRef,
    TablespaceVerb, Xa,
};

/// The runner of a line, in whose words the fields of its pattern can be used.
macro_rules! runner {
    ($view:ident, $pattern:pat, executor) => {
        Runner::Executor
    };
    ($view:ident, $pattern:pat, session |$core:ident| $run:expr) => {{
        fn run($core: &mut Core, statement: &Statement) -> Result<crate::core::Done, SqlError> {
            match $view(statement) {
                Some($pattern) => Result::<_, SqlError>::map($run, Into::into),
                _ => Err(mismatch()),
            }
        }
        Runner::Session(run)
    }};
    ($view:ident, $pattern:pat, fails $error:expr) => {{
        fn fail(_: &mut Core, statement: &Statement) -> Result<crate::core::Done, SqlError> {
            match $view(statement) {
                Some($pattern) => Err($error),
                _ => Err(mismatch()),
            }
        }
        Runner::Session(fail)
    }};
    ($view:ident, $pattern:pat, rows |$core:ident, $sink:ident| $columns:expr, $rows:expr) => {{
        #[allow(unused_variables)] // Some columns depend on what is shown.
        fn columns($core: &Core, statement: &Statement) -> Result<Vec<ResultColumn>, SqlError> {
            match $view(statement) {
                Some($pattern) => $columns,
                _ => Err(mismatch()),
            }
        }
        #[allow(unused_variables)] // And some rows do not.
        fn rows(
            $core: &mut Core,
            statement: &Statement,
            $sink: &mut dyn RowSink,
        ) -> Result<(), SqlError> {
            match $view(statement) {
                Some($pattern) => $rows,
                _ => Err(mismatch()),
            }
        }
        Runner::Rows(columns, rows)
    }};
    ($view:ident, $pattern:pat, nested |$core:ident, $net:ident| $run:expr) => {{
        fn run($core: &mut Core, statement: &Statement, $net: &mut dyn Net) -> bool {
            match $view(statement) {
                Some($pattern) => $run,
                _ => false,
            }
        }
        Runner::Nested(run)
    }};
    ($view:ident, $pattern:pat, refused $words:expr) => {{
        #[allow(unused_variables)] // Most words do not depend on what is written.
        fn words(statement: &Statement) -> &str {
            match $view(statement) {
                Some($pattern) => $words,
                _ => "",
            }
        }
        Runner::Refused(words)
    }};
}

/// What a line needs, in words that may use the fields of its pattern.
macro_rules! needs {
    ($view:ident, $pattern:pat) => {
        None
    };
    ($view:ident, $pattern:pat, $core:ident, $needs:expr) => {{
        #[allow(unused_variables)] // Most needs do not depend on what is written.
        fn check($core: &Core, statement: &Statement) -> Result<(), SqlError> {
            match $view(statement) {
                Some($pattern) => $needs,
                _ => Err(mismatch()),
            }
        }
        Some(check as fn(&Core, &Statement) -> Result<(), SqlError>)
    }};
}

/// A function that finds a line, and for the test a list of the lines.
macro_rules! kinds {
    (
        $find:ident, $lines:ident, $of:ty, $view:ident $(, $other:pat => $found:expr)?;
        $($pattern:pat $(if $guard:expr)? =>
            $known:expr, { $($runner:tt)* } $(needs |$core:ident| $needs:expr)?;)*
    ) => {
        #[allow(unused_variables)] // A pattern's fields are there for its runner.
        fn $find(of: &$of) -> &'static Descriptor {
            match of {
                $($pattern $(if $guard)? => {
                    const LINE: Descriptor = Descriptor {
                        runner: runner!($view, $pattern, $($runner)*),
                        needs: needs!($view, $pattern $(, $core, $needs)?),
                        ..$known
                    };
                    &LINE
                })*
                $($other => $found,)?
            }
        }

        #[cfg(test)]
        const $lines: &[(&str, Descriptor)] = &[$((
            stringify!($pattern $(if $guard)?),
            Descriptor { runner: runner!($view, $pattern, $($runner)*), ..$known },
        )),*];
    };
}

/// The descriptor of a statement.
pub(crate) fn describe(statement: &Statement) -> &'static Descriptor {
    of_statement(statement)
}

const PLAIN: Descriptor = Descriptor::PLAIN;
const DDL: Descriptor = Descriptor::DDL;
/// CREATE and DROP of a temporary table: nobody else sees it.
const TEMPORARY: Descriptor = Descriptor { in_read_only: false, ..PLAIN };
/// Looks through a table's rows and pages.
const CHECKS: Descriptor = Descriptor { implicit_commit: true, ..PLAIN };
const ADDS: DiagnosticsUse = DiagnosticsUse::Adds;
const LISTS: DiagnosticsUse = DiagnosticsUse::Lists;

fn itself(statement: &Statement) -> Option<&Statement> {
    Some(statement)
}

fn shown(statement: &Statement) -> Option<&Show> {
    let Statement::Show(show) = statement else { return None };
    Some(show)
}

/// A runner met another statement than its line's.
fn mismatch() -> SqlError {
    SqlError::from(SessionError::Internal("the statement of another line"))
}

/// INSERT or REPLACE of the rows of a query.
fn is_copy(insert: &Insert) -> bool {
    matches!(insert.source, InsertSource::Query(_))
}

/// UPDATE of more than one table, or of a join.
fn of_several(tables: &[TableRef]) -> bool {
    !matches!(tables, [TableRef::Table(_)])
}

/// A password is made for one of the accounts, and told in a row.
fn makes_passwords(accounts: &[AccountSpec]) -> bool {
    accounts.iter().any(|a| a.identified.as_ref().is_some_and(|i| i.secret == Secret::Random))
}

/// The counter of the statement that an EXPLAIN explains.
fn explained(of: &Explain) -> Option<C> {
    let Explain::Statement { statement, .. } = of else { return None };
    describe(statement).counter
}

kinds! { of_statement, STATEMENTS, Statement, itself, S::Show(show) => of_show(show);
    // Rows.
    S::Query(_) => PLAIN.counts(C::ComSelect), { executor };
    S::Insert(insert) if insert.replace && is_copy(insert) =>
        PLAIN.counts(C::ComReplaceSelect), { executor };
    S::Insert(insert) if insert.replace => PLAIN.counts(C::ComReplace), { executor };
    S::Insert(insert) if is_copy(insert) => PLAIN.counts(C::ComInsertSelect), { executor };
    S::Insert(_) => PLAIN.counts(C::ComInsert), { executor };
    S::Update(update) if of_several(&update.tables) =>
        PLAIN.counts(C::ComUpdateMulti), { executor };
    S::Update(_) => PLAIN.counts(C::ComUpdate), { executor };
    S::Delete(delete) if !delete.targets.is_empty() =>
        PLAIN.counts(C::ComDeleteMulti), { executor };
    S::Delete(_) => PLAIN.counts(C::ComDelete), { executor };
    S::Load(load) => PLAIN.counts(C::ComLoad).not_preparable(), { executor }
        needs |core| core.needs_of_load(load.local);
    S::Do(_) => PLAIN.counts(C::ComDo), { executor };
    S::Call(call) => PLAIN.counts(C::ComCallProcedure), { session |core| core.call(&call.name) }
        needs |core| core.needs_routine(&call.name, Privileges::EXECUTE);
    S::Handler(of) if matches!(**of, Handler::Open(..)) =>
        PLAIN.counts(C::ComHaOpen), { refused "HANDLER" }
        needs |core| match &**of {
            Handler::Open(table, _) => core.needs_table(table, Privileges::SELECT),
            _ => Ok(()),
        };
    S::Handler(of) if matches!(**of, Handler::Close(_)) =>
        PLAIN.counts(C::ComHaClose), { refused "HANDLER" };
    S::Handler(_) => PLAIN.counts(C::ComHaRead), { refused "HANDLER" };
    S::ImportTable(_) => PLAIN.counts(C::ComImport), { refused "IMPORT TABLE" };

    // EXPLAIN counts as what it explains.
    S::Explain(of) if matches!(**of, Explain::Table { .. }) =>
        PLAIN.counts(C::ComShowFields), { executor };
    S::Explain(of) if matches!(**of, Explain::Connection { .. }) =>
        PLAIN.counts(C::ComExplainOther), { executor };
    S::Explain(of) if explained(of) == Some(C::ComSelect) =>
        PLAIN.counts(C::ComSelect), { executor };
    S::Explain(of) if explained(of) == Some(C::ComInsert) =>
        PLAIN.counts(C::ComInsert), { executor };
    S::Explain(of) if explained(of) == Some(C::ComInsertSelect) =>
        PLAIN.counts(C::ComInsertSelect), { executor };
    S::Explain(of) if explained(of) == Some(C::ComReplace) =>
        PLAIN.counts(C::ComReplace), { executor };
    S::Explain(of) if explained(of) == Some(C::ComReplaceSelect) =>
        PLAIN.counts(C::ComReplaceSelect), { executor };
    S::Explain(of) if explained(of) == Some(C::ComUpdate) =>
        PLAIN.counts(C::ComUpdate), { executor };
    S::Explain(of) if explained(of) == Some(C::ComUpdateMulti) =>
        PLAIN.counts(C::ComUpdateMulti), { executor };
    S::Explain(of) if explained(of) == Some(C::ComDelete) =>
        PLAIN.counts(C::ComDelete), { executor };
    S::Explain(of) if explained(of) == Some(C::ComDeleteMulti) =>
        PLAIN.counts(C::ComDeleteMulti), { executor };
    S::Explain(_) => PLAIN, { executor };

    // Schemas, tables, views.
    S::Ddl(Ddl::CreateDatabase(create)) =>
        DDL.counts(C::ComCreateDb).not_under_lock_tables(), { executor }
        needs |core| core.needs_schema(&create.name, Privileges::CREATE);
    S::Ddl(Ddl::AlterDatabase(alter)) =>
        DDL.counts(C::ComAlterDb).not_under_lock_tables().not_preparable(), { executor }
        needs |core| core.needs_current_schema(alter.name.as_deref(), Privileges::ALTER);
    S::Ddl(Ddl::DropDatabase(drop)) => DDL.counts(C::ComDropDb).not_under_lock_tables(), { executor }
        needs |core| core.needs_schema(&drop.name, Privileges::DROP);
    S::Ddl(Ddl::CreateTable(create)) if create.temporary =>
        TEMPORARY.counts(C::ComCreateTable), { executor }
        needs |core| core.needs_of_create(create);
    S::Ddl(Ddl::CreateTable(create)) => DDL.counts(C::ComCreateTable), { executor }
        needs |core| core.needs_of_create(create);
    S::Ddl(Ddl::AlterTable(alter)) => DDL.counts(C::ComAlterTable), { executor }
        needs |core| core.needs_of_alter(alter);
    S::Ddl(Ddl::DropTable(drop)) if drop.temporary => TEMPORARY.counts(C::ComDropTable), { executor };
    S::Ddl(Ddl::DropTable(drop)) => DDL.counts(C::ComDropTable), { executor }
        needs |core| drop.tables.iter().try_for_each(|t| core.needs_table(t, Privileges::DROP));
    S::Ddl(Ddl::Truncate(table, _)) => DDL.counts(C::ComTruncate), { executor }
        needs |core| core.needs_table(table, Privileges::DROP);
    S::Ddl(Ddl::RenameTable(pairs, _)) => DDL.counts(C::ComRenameTable), { executor }
        needs |core| core.needs_of_rename(pairs);
    S::Ddl(Ddl::CreateIndex(index)) => DDL.counts(C::ComCreateIndex), { executor }
        needs |core| core.needs_table(&index.table, Privileges::INDEX);
    S::Ddl(Ddl::DropIndex(index)) => DDL.counts(C::ComDropIndex), { executor }
        needs |core| core.needs_table(&index.table, Privileges::INDEX);
    S::Ddl(Ddl::CreateView(view)) =>
        DDL.counts(C::ComCreateView).not_under_lock_tables(), { executor }
        needs |core| core.needs_of_view(view, view.or_replace);
    S::Ddl(Ddl::AlterView(view)) =>
        DDL.counts(C::ComCreateView).not_under_lock_tables(), { executor }
        needs |core| core.needs_of_view(view, true);
    S::Ddl(Ddl::DropView(drop)) =>
        DDL.counts(C::ComDropView).not_under_lock_tables(), { executor }
        needs |core| drop.views.iter().try_for_each(|v| core.needs_stored(v, Privileges::DROP));
    S::Maintain(of) if of.verb == MaintainVerb::Analyze =>
        DDL.counts(C::ComAnalyze), { executor }
        needs |core| core.needs_of_maintain(of);
    S::Maintain(of) if of.verb == MaintainVerb::Check =>
        CHECKS.counts(C::ComCheck).not_preparable(), { executor }
        needs |core| core.needs_of_maintain(of);
    S::Maintain(of) if of.verb == MaintainVerb::Checksum =>
        PLAIN.counts(C::ComChecksum), { executor }
        needs |core| core.needs_of_maintain(of);
    S::Maintain(of) if of.verb == MaintainVerb::Optimize =>
        DDL.counts(C::ComOptimize), { executor }
        needs |core| core.needs_of_maintain(of);
    S::Maintain(of) => DDL.counts(C::ComRepair), { executor }
        needs |core| core.needs_of_maintain(of);
    S::CacheIndex(of) => PLAIN.counts(C::ComAssignToKeycache), { refused "CACHE INDEX" }
        needs |core| core.needs_of_key_cache(&of.tables);
    S::LoadIndex(tables) => PLAIN.counts(C::ComPreloadKeys), { refused "LOAD INDEX INTO CACHE" }
        needs |core| core.needs_of_key_cache(tables);

    // Transactions and locks.
    S::StartTransaction(start) =>
        PLAIN.counts(C::ComBegin).not_preparable(), { session |core| core.start_transaction(start) };
    S::Commit(how) => PLAIN.counts(C::ComCommit), { session |core| core.complete(how, true) };
    S::Rollback(how) => PLAIN.counts(C::ComRollback), { session |core| core.complete(how, false) };
    S::Savepoint(name) =>
        PLAIN.counts(C::ComSavepoint).not_preparable(), { session |core| core.savepoint(name) };
    S::RollbackTo(name) =>
        PLAIN.counts(C::ComRollbackToSavepoint).not_preparable(),
        { session |core| core.rollback_to(name) };
    S::ReleaseSavepoint(name) =>
        PLAIN.counts(C::ComReleaseSavepoint).not_preparable(),
        { session |core| core.release_savepoint(name) };
    S::Xa(Xa::Start(xid, how)) =>
        PLAIN.counts(C::ComXaStart).not_preparable(), { session |core| core.xa_start(xid, how.as_deref()) };
    S::Xa(Xa::End(xid, how)) =>
        PLAIN.counts(C::ComXaEnd).not_preparable(), { session |core| core.xa_end(xid, how.as_deref()) };
    S::Xa(Xa::Prepare(xid)) =>
        PLAIN.counts(C::ComXaPrepare).not_preparable(), { session |core| core.xa_prepare(xid) };
    S::Xa(Xa::Commit(xid, one_phase)) =>
        PLAIN.counts(C::ComXaCommit).not_preparable(), { session |core| core.xa_commit(xid, *one_phase) };
    S::Xa(Xa::Rollback(xid)) =>
        PLAIN.counts(C::ComXaRollback).not_preparable(), { session |core| core.xa_rollback(xid) };
    S::Xa(Xa::Recover(convert)) =>
        PLAIN.counts(C::ComXaRecover).not_preparable(),
        { rows |core, sink|
            core.needs_xa_recover().map(|()| recover_columns(core.env.cached.charsets.results.unwrap_or_default())),
            core.xa_recover(*convert, sink) };
    S::LockTables(list, wait) =>
        PLAIN.counts(C::ComLockTables).not_preparable(),
        { session |core| core.lock_tables(list, *wait) }
        needs |core| core.needs_of_lock(list);
    S::UnlockTables =>
        PLAIN.counts(C::ComUnlockTables).not_preparable(),
        { session |core| core.unlock_statement() };
    S::LockInstance =>
        PLAIN.counts(C::ComLockInstance).not_preparable(), { session |core| core.lock_instance() }
        needs |core| core.needs_any(Privileges::NONE, &["BACKUP_ADMIN"], "BACKUP_ADMIN");
    S::UnlockInstance =>
        PLAIN.counts(C::ComUnlockInstance).not_preparable(), { session |core| core.unlock_instance() }
        needs |core| core.needs_any(Privileges::NONE, &["BACKUP_ADMIN"], "BACKUP_ADMIN");

    // Variables and the session's state.
    S::Set(items) => PLAIN.counts(C::ComSetOption), { session |core| core.set_statement(items) };
    S::SetTransaction(set) =>
        PLAIN.counts(C::ComSetOption), { session |core| core.set_transaction(set) };
    S::ResetPersist(reset) =>
        PLAIN.counts(C::ComReset), { session |core| core.reset_persist(reset) };
    S::Use(schema) =>
        PLAIN.counts(C::ComChangeDb).not_preparable(), { session |core| core.use_statement(schema) };
    S::Signal(signal) if signal.resignal =>
        PLAIN.counts(C::ComResignal).with_diagnostics(ADDS), { session |core| core.signal(signal) };
    S::Signal(signal) =>
        PLAIN.counts(C::ComSignal).not_preparable(), { session |core| core.signal(signal) };
    S::GetDiagnostics(get) =>
        PLAIN.counts(C::ComGetDiagnostics).with_diagnostics(ADDS),
        { session |core| core.get_diagnostics(get) };
    S::Help(_) => PLAIN.counts(C::ComHelp).not_preparable(), { refused "HELP" };

    // Statements that name a statement.
    S::Prepare(prepare) =>
        PLAIN.counts(C::ComPrepareSql).not_preparable(),
        { session |core| core.prepare_named(prepare) };
    S::Execute(execute) =>
        PLAIN.counts(C::ComExecuteSql).not_preparable(),
        { nested |core, net| core.execute_named(execute, net) };
    S::Deallocate(name) =>
        PLAIN.counts(C::ComDeallocSql).not_preparable(),
        { session |core| core.deallocate_named(name) };

    // The server.
    S::Kill(kill) => PLAIN.counts(C::ComKill), { session |core| core.kill_statement(kill) };
    S::Flush(flush) => PLAIN.counts(C::ComFlush), { session |core| core.flush(flush) }
        needs |core| core.needs_of_flush(&flush.targets);
    S::Shutdown =>
        PLAIN.counts(C::ComShutdown).not_preparable(), { session |core| core.shutdown() }
        needs |core| core.needs(Privileges::SHUTDOWN);
    S::Restart => PLAIN.counts(C::ComRestart), { refused "RESTART" }
        needs |core| core.needs(Privileges::SHUTDOWN);
    S::AlterInstance(alter) if alter.action.starts_with("RELOAD TLS") =>
        PLAIN.counts(C::ComAlterInstance), { session |core| core.reload_tls(&alter.action) }
        needs |core| core.needs_dynamic("CONNECTION_ADMIN");
    S::AlterInstance(alter) => PLAIN.counts(C::ComAlterInstance), { refused "ALTER INSTANCE" }
        needs |core| core.needs_of_instance(&alter.action);
    S::Clone(CloneInstance::Local(_)) => PLAIN.counts(C::ComClone), { refused "CLONE" }
        needs |core| core.needs_dynamic("BACKUP_ADMIN");
    S::Clone(_) => PLAIN.counts(C::ComClone), { refused "CLONE" }
        needs |core| core.needs_dynamic("CLONE_ADMIN");
    S::Install(Install::DropPlugin(name)) =>
        PLAIN.counts(C::ComUninstallPlugin), { fails SqlError::from(SessionError::DoesNotExist("PLUGIN", name)) }
        needs |core| core.needs_plugins(Privileges::DELETE);
    S::Install(install @ Install::Plugin(..)) =>
        PLAIN.counts(C::ComInstallPlugin), { refused install.construct() }
        needs |core| core.needs_plugins(Privileges::INSERT);
    S::Install(Install::Components(urns, settings)) =>
        DDL.counts(C::ComInstallComponent).not_preparable(),
        { session |core| core.install_components(urns, settings) }
        needs |core| core.needs_components(Privileges::INSERT);
    S::Install(Install::DropComponents(urns)) =>
        DDL.counts(C::ComUninstallComponent).not_preparable(),
        { session |core| core.uninstall_components(urns) }
        needs |core| core.needs_components(Privileges::DELETE);
    S::Replication(of) if matches!(**of, Replication::ChangeSource { .. }) =>
        PLAIN.counts(C::ComChangeReplicationSource), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::ChangeFilter { .. }) =>
        PLAIN.counts(C::ComChangeReplFilter), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::StartReplica { .. }) =>
        PLAIN.counts(C::ComReplicaStart), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::StopReplica { .. }) =>
        PLAIN.counts(C::ComReplicaStop), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::StartGroup(_)) =>
        PLAIN.counts(C::ComGroupReplicationStart), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::StopGroup) =>
        PLAIN.counts(C::ComGroupReplicationStop), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::PurgeTo(_)) =>
        PLAIN.counts(C::ComPurge), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::PurgeBefore(_)) =>
        PLAIN.counts(C::ComPurgeBeforeDate), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) if matches!(**of, Replication::Binlog(_)) =>
        PLAIN.counts(C::ComBinlog), { refused of.construct() }
        needs |core| core.needs_of_replication(of);
    S::Replication(of) => PLAIN.counts(C::ComReset), { refused of.construct() }
        needs |core| core.needs_of_replication(of);

    // Accounts and roles.
    S::CreateUser(create) if makes_passwords(&create.accounts) =>
        DDL.counts(C::ComCreateUser),
        { rows |core, sink|
            Ok(show::made_password_columns()),
            core.create_users(create).and_then(|made| send_made(&made, sink)) }
        needs |core| core.needs_create_user(Privileges::INSERT);
    S::CreateUser(create) =>
        DDL.counts(C::ComCreateUser), { session |core| core.create_users(create).map(drop) }
        needs |core| core.needs_create_user(Privileges::INSERT);
    S::AlterUser(alter) if makes_passwords(&alter.accounts) =>
        DDL.counts(C::ComAlterUser).with_expired_password(),
        { rows |core, sink|
            Ok(show::made_password_columns()),
            core.alter_users(alter).and_then(|made| send_made(&made, sink)) };
    S::AlterUser(alter) =>
        DDL.counts(C::ComAlterUser).with_expired_password(), { session |core| core.alter_users(alter).map(drop) };
    S::DropUser(drop) =>
        DDL.counts(C::ComDropUser),
        { session |core| core.drop_accounts("DROP USER", drop.if_exists, &drop.accounts) }
        needs |core| core.needs_create_user(Privileges::DELETE);
    S::RenameUser(pairs) =>
        DDL.counts(C::ComRenameUser), { session |core| core.rename_users(pairs) }
        needs |core| core.needs_create_user(Privileges::UPDATE);
    S::SetPassword(set) if set.password.is_none() =>
        DDL.counts(C::ComSetPassword).with_expired_password(),
        { rows |core, sink|
            Ok(show::made_password_columns()),
            core.set_password(set).and_then(|made| send_made(&made, sink)) };
    S::SetPassword(set) =>
        DDL.counts(C::ComSetPassword).with_expired_password(), { session |core| core.set_password(set).map(drop) };
    S::Grant(grant) if grant.on.is_none() && grant.proxy.is_none() =>
        DDL.counts(C::ComGrantRoles), { session |core| core.grant(grant) };
    S::Grant(grant) => DDL.counts(C::ComGrant), { session |core| core.grant(grant) };
    S::Revoke(revoke) if revoke.on.is_none() && revoke.privileges.contains(&Privilege::All) =>
        DDL.counts(C::ComRevokeAll), { session |core| core.revoke(revoke) };
    S::Revoke(revoke) if revoke.on.is_none() && revoke.proxy.is_none() =>
        DDL.counts(C::ComRevokeRoles), { session |core| core.revoke(revoke) };
    S::Revoke(revoke) => DDL.counts(C::ComRevoke), { session |core| core.revoke(revoke) };
    S::CreateRole(if_not_exists, roles) =>
        DDL.counts(C::ComCreateRole).not_preparable(),
        { session |core| core.create_roles(*if_not_exists, roles) }
        needs |core| core.needs_any(
            Privileges::CREATE_USER | Privileges::CREATE_ROLE, &[], "CREATE USER, CREATE ROLE");
    S::DropRole(if_exists, roles) =>
        DDL.counts(C::ComDropRole).not_preparable(),
        { session |core| core.drop_accounts("DROP ROLE", *if_exists, roles) }
        needs |core| core.needs_any(
            Privileges::CREATE_USER | Privileges::DROP_ROLE, &[], "CREATE USER, DROP ROLE");
    S::SetRole(roles) => PLAIN.counts(C::ComSetRole), { session |core| core.set_role(roles) };
    S::SetDefaultRole(roles, accounts) =>
        DDL.counts(C::ComAlterUserDefaultRole),
        { session |core| core.set_default_role(roles, accounts) };

    // Stored programs.
    S::CreateRoutine(routine) if routine.returns.is_none() =>
        PLAIN.counts(C::ComCreateProcedure).not_preparable(), { refused "CREATE PROCEDURE" }
        needs |core| core.needs_new_routine(&routine.name);
    S::CreateRoutine(routine) =>
        PLAIN.counts(C::ComCreateFunction).not_preparable(), { refused "CREATE FUNCTION" }
        needs |core| core.needs_new_routine(&routine.name);
    S::CreateLoadable(_) => PLAIN.counts(C::ComCreateUdf), { refused "CREATE FUNCTION" }
        needs |core| core.needs_schema("mysql", Privileges::INSERT);
    S::CreateTrigger(trigger) =>
        PLAIN.counts(C::ComCreateTrigger).not_preparable(), { refused "CREATE TRIGGER" }
        needs |core| core.needs_table(&trigger.table, Privileges::TRIGGER);
    S::CreateEvent(event) => PLAIN.counts(C::ComCreateEvent), { refused "CREATE EVENT" }
        needs |core| core.needs_event(&event.name);
    S::AlterRoutine(alter) if alter.function =>
        DDL.counts(C::ComAlterFunction).not_preparable(),
        { session |core| core.alter_routine(alter) }
        needs |core| core.needs_routine(&alter.name, Privileges::ALTER_ROUTINE);
    S::AlterRoutine(alter) =>
        DDL.counts(C::ComAlterProcedure).not_preparable(), { session |core| core.alter_routine(alter) }
        needs |core| core.needs_routine(&alter.name, Privileges::ALTER_ROUTINE);
    S::AlterEvent(alter) => DDL.counts(C::ComAlterEvent), { session |core| core.alter_event(alter) }
        needs |core| core.needs_event(&alter.name);
    S::DropProgram(drop) if drop.kind == ProgramKind::Event =>
        DDL.counts(C::ComDropEvent), { session |core| core.drop_program(drop) }
        needs |core| core.needs_of_drop(drop);
    S::DropProgram(drop) if drop.kind == ProgramKind::Trigger =>
        DDL.counts(C::ComDropTrigger).not_preparable(),
        { session |core| core.drop_program(drop) };
    S::DropProgram(drop) if drop.kind == ProgramKind::Function =>
        DDL.counts(C::ComDropFunction).not_preparable().not_under_lock_tables(),
        { session |core| core.drop_program(drop) }
        needs |core| core.needs_of_drop(drop);
    S::DropProgram(drop) =>
        DDL.counts(C::ComDropProcedure).not_preparable().not_under_lock_tables(),
        { session |core| core.drop_program(drop) }
        needs |core| core.needs_of_drop(drop);

    // What belongs to the server beside its tables.
    S::CreateServer(_) =>
        PLAIN.counts(C::ComCreateServer).not_preparable(), { refused "CREATE SERVER" }
        needs |core| core.needs(Privileges::SUPER);
    S::AlterServer(server) =>
        DDL.counts(C::ComAlterServer).not_preparable(),
        { fails SqlError::from(SessionError::UnknownForeignServer(&server.name)) }
        needs |core| core.needs(Privileges::SUPER);
    S::DropServer(if_exists, name) =>
        DDL.counts(C::ComDropServer).not_preparable(),
        { session |core| core.drop_server(*if_exists, name) }
        needs |core| core.needs(Privileges::SUPER);
    S::Tablespace(of) if of.logfile_group && of.verb == TablespaceVerb::Create =>
        DDL.counts(C::ComAlterTablespace).not_preparable(), { refused "CREATE LOGFILE GROUP" }
        needs |core| core.needs(Privileges::CREATE_TABLESPACE);
    S::Tablespace(of) if of.logfile_group && of.verb == TablespaceVerb::Alter =>
        DDL.counts(C::ComAlterTablespace).not_preparable(), { refused "ALTER LOGFILE GROUP" }
        needs |core| core.needs(Privileges::CREATE_TABLESPACE);
    S::Tablespace(of) if of.logfile_group =>
        DDL.counts(C::ComAlterTablespace).not_preparable(), { refused "DROP LOGFILE GROUP" }
        needs |core| core.needs(Privileges::CREATE_TABLESPACE);
    S::Tablespace(of) if of.verb == TablespaceVerb::Create =>
        DDL.counts(C::ComAlterTablespace).not_preparable(), { refused "CREATE TABLESPACE" }
        needs |core| core.needs(Privileges::CREATE_TABLESPACE);
    S::Tablespace(of) =>
        DDL.counts(C::ComAlterTablespace).not_preparable(),
        { fails SqlError::from(SessionError::UnknownTablespace(&of.name)) }
        needs |core| core.needs(Privileges::CREATE_TABLESPACE);
    S::SpatialReferenceSystem(of) if of.drop =>
        PLAIN.counts(C::ComDropSpatialReferenceSystem),
        { refused "DROP SPATIAL REFERENCE SYSTEM" }
        needs |core| core.needs(Privileges::SUPER);
    S::SpatialReferenceSystem(_) =>
        PLAIN.counts(C::ComCreateSpatialReferenceSystem),
        { refused "CREATE SPATIAL REFERENCE SYSTEM" }
        needs |core| core.needs(Privileges::SUPER);
    S::ResourceGroup(group) if group.alter =>
        PLAIN.counts(C::ComAlterResourceGroup),
        { fails SqlError::from(SessionError::UnknownResourceGroup(&group.name)) }
        needs |core| core.needs_dynamic("RESOURCE_GROUP_ADMIN");
    S::ResourceGroup(_) =>
        PLAIN.counts(C::ComCreateResourceGroup), { refused "CREATE RESOURCE GROUP" }
        needs |core| core.needs_dynamic("RESOURCE_GROUP_ADMIN");
    S::DropResourceGroup(name, _) =>
        PLAIN.counts(C::ComDropResourceGroup), { fails SqlError::from(SessionError::UnknownResourceGroup(name)) }
        needs |core| core.needs_dynamic("RESOURCE_GROUP_ADMIN");
    S::SetResourceGroup(name, _) =>
        PLAIN.counts(C::ComSetResourceGroup), { fails SqlError::from(SessionError::UnknownResourceGroup(name)) }
        needs |core| core.needs_any(
            Privileges::NONE, &["RESOURCE_GROUP_ADMIN", "RESOURCE_GROUP_USER"],
            "RESOURCE_GROUP_ADMIN OR RESOURCE_GROUP_USER");

    S::Unsupported(what) => PLAIN, { refused &what.construct };
}

kinds! { of_show, SHOWS, Show, shown;
    // The dictionary and the server, as tables of information_schema and performance_schema have them.
    Show::Databases(_) => PLAIN.counts(C::ComShowDatabases), { executor };
    Show::Tables { schema, .. } => PLAIN.counts(C::ComShowTables), { executor }
        needs |core| core.needs_use(schema.as_deref());
    Show::TableStatus { schema, .. } => PLAIN.counts(C::ComShowTableStatus), { executor }
        needs |core| core.needs_use(schema.as_deref());
    Show::Columns { table, .. } => PLAIN.counts(C::ComShowFields), { executor }
        needs |core| core.needs_listing(table);
    Show::Index { table, .. } => PLAIN.counts(C::ComShowKeys), { executor }
        needs |core| core.needs_listing(table);
    Show::Triggers { schema, .. } => PLAIN.counts(C::ComShowTriggers), { executor }
        needs |core| core.needs_use(schema.as_deref());
    Show::Events { schema, .. } => PLAIN.counts(C::ComShowEvents), { executor }
        needs |core| core.needs_current_schema(schema.as_deref(), Privileges::EVENT);
    Show::ProcedureStatus(_) => PLAIN.counts(C::ComShowProcedureStatus), { executor };
    Show::FunctionStatus(_) => PLAIN.counts(C::ComShowFunctionStatus), { executor };
    Show::Status { .. } => PLAIN.counts(C::ComShowStatus), { executor };
    Show::OpenTables { .. } => PLAIN.counts(C::ComShowOpenTables), { executor };
    Show::Variables { .. } => PLAIN.counts(C::ComShowVariables), { executor };
    Show::Engines => PLAIN.counts(C::ComShowStorageEngines), { executor };
    Show::Plugins => PLAIN.counts(C::ComShowPlugins), { executor };
    Show::Collation(_) => PLAIN.counts(C::ComShowCollations), { executor };
    Show::Charset(_) => PLAIN.counts(C::ComShowCharsets), { executor };
    Show::BinaryLogStatus => PLAIN.counts(C::ComShowBinaryLogStatus), { executor }
        needs |core| core.needs_any(
            Privileges::SUPER | Privileges::REPLICATION_CLIENT, &[], "SUPER, REPLICATION CLIENT");
    Show::BinaryLogs => PLAIN.counts(C::ComShowBinlogs), { executor }
        needs |core| core.needs_any(
            Privileges::SUPER | Privileges::REPLICATION_CLIENT, &[], "SUPER, REPLICATION CLIENT");
    Show::ReplicaStatus(_) => PLAIN.counts(C::ComShowReplicaStatus), { executor }
        needs |core| core.needs_any(
            Privileges::SUPER | Privileges::REPLICATION_CLIENT, &[], "SUPER, REPLICATION CLIENT");
    Show::Replicas => PLAIN.counts(C::ComShowReplicas), { executor }
        needs |core| core.needs(Privileges::REPLICATION_SLAVE);

    // The text of a definition.
    Show::CreateTable(table) =>
        Descriptor { locks: LockDuration::Statement, ..PLAIN }.counts(C::ComShowCreateTable),
        { executor }
        needs |core| core.needs_create_text(table);
    Show::CreateDatabase { name, .. } => PLAIN.counts(C::ComShowCreateDb), { executor }
        needs |core| core.needs_database(name);
    Show::CreateOther(kind, name) if kind == "VIEW" =>
        PLAIN.counts(C::ComShowCreateTable), { executor }
        needs |core| core.needs_view_text(name);
    Show::CreateOther(kind, name) if kind == "PROCEDURE" =>
        PLAIN.counts(C::ComShowCreateProc),
        { rows |core, sink| Err(core.no_program_to_show(kind, name)), Ok(()) };
    Show::CreateOther(kind, name) if kind == "FUNCTION" =>
        PLAIN.counts(C::ComShowCreateFunc),
        { rows |core, sink| Err(core.no_program_to_show(kind, name)), Ok(()) };
    Show::CreateOther(kind, name) if kind == "TRIGGER" =>
        PLAIN.counts(C::ComShowCreateTrigger),
        { rows |core, sink| Err(core.no_program_to_show(kind, name)), Ok(()) };
    Show::CreateOther(kind, name) =>
        PLAIN.counts(C::ComShowCreateEvent), { rows |core, sink| Err(core.no_program_to_show(kind, name)), Ok(()) }
        needs |core| if kind == "EVENT" { core.needs_event(name) } else { Ok(()) };
    Show::CreateUser(account) =>
        PLAIN.counts(C::ComShowCreateUser), { rows |core, sink|
            core.admit_opening().and_then(|()| core.create_user_columns(account)),
            core.show_create_user(account, sink) };

    // The diagnostics area.
    Show::Warnings(limit) =>
        PLAIN.counts(C::ComShowWarnings).with_diagnostics(LISTS),
        { rows |core, sink|
            Ok(show::condition_columns()),
            core.show_conditions(limit.as_ref(), false, sink) };
    Show::Errors(limit) =>
        PLAIN.counts(C::ComShowErrors).with_diagnostics(LISTS),
        { rows |core, sink|
            Ok(show::condition_columns()),
            core.show_conditions(limit.as_ref(), true, sink) };
    Show::CountWarnings =>
        PLAIN.counts(C::ComSelect).with_diagnostics(LISTS),
        { rows |core, sink|
            Ok(show::count_columns("@@session.warning_count")),
            show::send_count(core.env.diagnostics.warning_count(), sink) };
    Show::CountErrors =>
        PLAIN.counts(C::ComSelect).with_diagnostics(LISTS),
        { rows |core, sink|
            Ok(show::count_columns("@@session.error_count")),
            show::send_count(core.env.diagnostics.error_count(), sink) };

    // The session and the server themselves.
    Show::ProcessList { full } =>
        PLAIN.counts(C::ComShowProcesslist),
        { rows |core, sink|
            Ok(process_list::columns(*full)),
            process_list::send(&core.env, *full, sink) };
    Show::Engine(engine, what) if what == "MUTEX" =>
        PLAIN.counts(C::ComShowEngineMutex),
        { rows |core, sink|
            show::engine_columns(engine, what),
            core.show_engine(engine, sink) }
        needs |core| core.needs(Privileges::PROCESS);
    Show::Engine(engine, what) if what == "LOGS" =>
        PLAIN.counts(C::ComShowEngineLogs),
        { rows |core, sink|
            show::engine_columns(engine, what),
            core.show_engine(engine, sink) }
        needs |core| core.needs(Privileges::PROCESS);
    Show::Engine(engine, what) =>
        PLAIN.counts(C::ComShowEngineStatus),
        { rows |core, sink|
            show::engine_columns(engine, what),
            core.show_engine(engine, sink) }
        needs |core| core.needs(Privileges::PROCESS);
    Show::Grants(account) =>
        PLAIN.counts(C::ComShowGrants),
        { rows |core, sink|
            core.grant_columns(account.as_ref()),
            core.show_grants(account.as_ref(), &[], sink) };
    Show::GrantsUsing(account, roles) =>
        PLAIN.counts(C::ComShowGrants),
        { rows |core, sink|
            core.grant_columns(Some(account)),
            core.show_grants(Some(account), roles, sink) };
    Show::Privileges =>
        PLAIN.counts(C::ComShowPrivileges),
        { rows |core, sink|
            Ok(show::texts(&["Privilege", "Context", "Comment"])),
            show::send_privileges(sink) };
    Show::Profiles =>
        PLAIN.counts(C::ComShowProfiles), { rows |core, sink| Ok(show::texts(&["Query_ID", "Duration", "Query"])), Ok(()) };
    Show::Profile =>
        PLAIN.counts(C::ComShowProfile),
        { rows |core, sink|
            core.admit_opening().map(|()| show::texts(&["Status", "Duration"])), Ok(()) };
    Show::BinlogEvents { relay: true, .. } =>
        PLAIN.counts(C::ComShowRelaylogEvents),
        { rows |core, sink| Ok(show::texts(&show::BINLOG_EVENTS)), Ok(()) }
        needs |core| core.needs(Privileges::REPLICATION_SLAVE);
    Show::BinlogEvents { .. } =>
        PLAIN.counts(C::ComShowBinlogEvents), { rows |core, sink| Ok(show::texts(&show::BINLOG_EVENTS)), Ok(()) }
        needs |core| core.needs(Privileges::REPLICATION_SLAVE);
    Show::Code(true, _) =>
        PLAIN.counts(C::ComShowFunctionCode),
        { rows |core, sink| Err(SessionError::ProgramCodeDisabled.into()), Ok(()) };
    Show::Code(..) =>
        PLAIN.counts(C::ComShowProcedureCode), { rows |core, sink| Err(SessionError::ProgramCodeDisabled.into()), Ok(()) };
    Show::ParseTree(_) => PLAIN.counts(C::ComShowParseTree), { refused "SHOW PARSE TREE" };
    Show::Other(_) => PLAIN, { refused "SHOW OTHER" };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_kind_fits_together() {
        for (line, kind) in STATEMENTS.iter().chain(SHOWS) {
            // CHECK commits, and changes nothing.
            if kind.implicit_commit && !line.contains("Verb::Check") {
                assert!(!kind.in_read_only, "{line} commits a READ ONLY transaction");
            }
            assert!(
                kind.under_lock_tables || kind.implicit_commit,
                "{line} is refused for nothing"
            );
            if kind.diagnostics != DiagnosticsUse::Clears
                || matches!(kind.runner, Runner::Nested(_))
            {
                assert!(!kind.preparable, "{line} is about the statement before");
            }
        }
    }

    #[test]
    fn statements_find_their_lines() {
        let of = |sql: &str| {
            let parsed = parser::parse(sql.as_bytes(), parser::SqlMode::default()).expect(sql);
            (describe(&parsed), parsed)
        };
        let words = |sql: &str| match of(sql) {
            (Descriptor { runner: Runner::Refused(words), .. }, parsed) => {
                words(&parsed).to_string()
            }
            _ => String::new(),
        };
        assert_eq!(
            words("CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW SET @a = 1"),
            "CREATE TRIGGER"
        );
        assert_eq!(words("INSTALL PLUGIN a SONAME 'b'"), "INSTALL PLUGIN");
        assert!(matches!(of("SHOW WARNINGS").0.runner, Runner::Rows(..)));
        assert!(matches!(of("SHOW TABLES").0.runner, Runner::Executor));
        assert!(matches!(of("EXECUTE s").0.runner, Runner::Nested(_)));
        assert!(
            of("DROP TABLE t").0.implicit_commit && !of("DROP TEMPORARY TABLE t").0.implicit_commit
        );
        assert_eq!(of("REPLACE INTO t VALUES (1)").0.counter, Some(C::ComReplace));
    }
}
