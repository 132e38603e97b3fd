//! LOCK TABLES, UNLOCK TABLES, FLUSH, LOCK INSTANCE: what they do to the transaction and to each other.
//!
//! 1. Whatever locks tables anew gives back what was locked and commits first; nothing stays of it when it
//!    fails. 2. FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP come in addition to LOCK TABLES: each is
//!    given back by its own statement, UNLOCK TABLES serving two of them. 3. A session that ends has none.

use crate::core::Core;
use crate::errors::{self, SessionError};
use crate::process::QueryLog;
use catalog::FullName;
use executor::SqlError;
use instrument::{Counter, count};
use parser::ast::{DdlWait, Flush, FlushTarget, LockKind, LockTable};
use sync::Deadline;

impl Core {
    /// LOCK TABLES.
    pub fn lock_tables(&mut self, list: &[LockTable], wait: DdlWait) -> Result<(), SqlError> {
        self.branch.admit_end()?;
        self.unlock_tables()?;
        self.commit_work()?;
        if self.transaction.characteristics.read_only
            && list.iter().any(|l| l.kind == LockKind::Write)
        {
            return Err(SessionError::ReadOnlyTransaction.into());
        }
        executor::lock_tables(list, wait, &mut self.context())
    }

    /// What LOCK TABLES locked; it ends the transaction if there was something.
    pub fn unlock_tables(&mut self) -> Result<(), SqlError> {
        if !self.tables.tables_are_locked() {
            return Ok(());
        }
        let committed = self.commit_work();
        self.tables.unlock_tables(self.client.slot());
        committed
    }

    /// UNLOCK TABLES: also what FLUSH TABLES WITH READ LOCK locked.
    pub fn unlock_statement(&mut self) -> Result<(), SqlError> {
        let unlocked = self.unlock_tables();
        self.tables.unlock_all_reads(self.client.slot());
        unlocked
    }

    /// LOCK INSTANCE FOR BACKUP.
    pub fn lock_instance(&mut self) -> Result<(), SqlError> {
        executor::in_turns(None, &mut self.context(), |context| {
            let deadline = context.env.lock_deadline();
            Ok(context.tables.lock_instance(context.client.slot(), deadline)?)
        })
    }

    /// UNLOCK INSTANCE.
    pub fn unlock_instance(&mut self) -> Result<(), SqlError> {
        self.tables.unlock_instance(self.client.slot());
        Ok(())
    }

    /// FLUSH: what there is to flush is always in order here; what there is to lock is locked.
    pub fn flush(&mut self, flush: &Flush) -> Result<(), SqlError> {
        self.branch.admit_end()?;
        for target in &flush.targets {
            let FlushTarget::Tables { tables, read_lock, for_export } = target else {
                self.commit_work()?;
                self.flush_other(target);
                continue;
            };
            let names = executor::flushed_names(tables, &mut self.context())?;
            if *for_export {
                return Err(errors::unsupported("FLUSH TABLES FOR EXPORT"));
            }
            if names.is_empty() {
                count(Counter::FlushCommands, 1);
            }
            match read_lock {
                true => self.flush_with_read_lock(&names)?,
                false => self.flush_tables(&names)?,
            }
        }
        Ok(())
    }

    /// FLUSH TABLES without a lock: what is refused closes nothing.
    fn flush_tables(&mut self, names: &[FullName]) -> Result<(), SqlError> {
        self.commit_work()?;
        let locked = self.tables.tables_are_locked();
        if locked {
            self.tables.admit_flush(names)?;
        }
        self.tables.flush_handles(names);
        if locked { Ok(()) } else { self.wait_for_users(names, None) }
    }

    fn flush_other(&mut self, target: &FlushTarget) {
        let server = &self.env.server;
        match target {
            FlushTarget::Status => server.flush_status(),
            FlushTarget::Privileges => server.logins.flush(),
            FlushTarget::Other(what) => match &**what {
                "LOGS" => server.open_logs(),
                "GENERAL LOGS" => server.open_each(&[QueryLog::General]),
                "USER_RESOURCES" => server.logins.flush_used(),
                "SLOW LOGS" => server.open_each(&[QueryLog::Slow]),
                _ => {}
            },
            _ => {}
        }
    }

    fn flush_with_read_lock(&mut self, names: &[FullName]) -> Result<(), SqlError> {
        if self.tables.tables_are_locked() {
            return Err(SessionError::LockedOrInTransaction.into());
        }
        self.commit_work()?;
        self.tables.flush_handles(names);
        if !names.is_empty() {
            executor::flush_and_lock(names, &mut self.context())?;
            let limit = executor::Environment::patience(&self.env, None).limit;
            let used = self.wait_for_users(names, limit.map(Deadline::after));
            if used.is_err() {
                self.tables.unlock_tables(self.client.slot());
            }
            return used;
        }
        executor::in_turns(None, &mut self.context(), |context| {
            let deadline = context.env.lock_deadline();
            Ok(context.tables.lock_all_reads(context.client.slot(), deadline)?)
        })
    }
}
