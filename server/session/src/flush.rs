//! FLUSH TABLES [t, ...]: waits for who uses the tables.
//!
//! 1. Waited for is who runs a statement and has locked a table, until that statement ends, and who has locked it for
//!    more than a statement's rows (LOCK TABLES, DDL), until he gives that back. Who is between two statements of a
//!    transaction is not: as in MySQL, his tables are in nobody's hands. 2. Nobody is kept away meanwhile: who comes later
//!    is not waited for. 3. Ends of statements are announced while somebody waits
//!    ([`Registry::await_statements`]), what a session without a client gives back is not: so there is a look every [`LOOK`], too.
//!    The wait is in the graph of waits like any other.

use crate::core::Core;
use crate::registry::Registry;
use catalog::{CatalogError, FullName};
use executor::SqlError;
use mdl::{Blame, Blocker, LockRow, MdlError, Mode, Namespace, Status};
use std::collections::HashSet;
use std::time::Duration;
use sync::waits::Suspicion;
use sync::{Deadline, WaitResult};

/// How often it is looked at least who is left.
const LOOK: Duration = Duration::from_millis(200);

/// Somebody who uses a table.
struct User {
    lock: LockRow,
    /// The statement that he runs; `None`: he has locked it beyond that.
    statement: Option<u64>,
}

/// The locks of tables, as far as they are granted to other sessions.
fn granted(core: &Core) -> Vec<LockRow> {
    let own = core.slot;
    let mut locks = core.env.server.catalog.mdl().locks();
    locks.retain(|l| {
        l.namespace == Namespace::Table && l.status == Status::Granted && l.slot != own
    });
    locks
}

impl User {
    fn of(lock: LockRow, registry: &Registry) -> Option<User> {
        match lock.mode {
            Mode::SU | Mode::SRO | Mode::SNW | Mode::SNRW | Mode::X => {
                Some(User { lock, statement: None })
            }
            _ => {
                let statement = Some(registry.statement_of(lock.slot)?);
                Some(User { lock, statement })
            }
        }
    }

    fn is_there(&self, locks: &HashSet<u64>, registry: &Registry) -> bool {
        let runs = self.statement.is_none_or(|n| registry.statement_of(self.lock.slot) == Some(n));
        runs && locks.contains(&self.lock.id)
    }
}

impl Core {
    /// Waits until nobody uses the tables any more who does now; no names are all, and a view is no table. As long as for
    /// locks, if no deadline is given.
    ///
    /// # Errors
    /// 1205, 1213, 1317.
    pub fn wait_for_users(
        &mut self,
        names: &[FullName],
        deadline: Option<Deadline>,
    ) -> Result<(), SqlError> {
        let catalog = &self.env.server.catalog;
        let is_meant = |l: &LockRow| {
            let is_named = names.is_empty()
                || names.iter().any(|(schema, name)| (schema, name) == (&l.schema, &l.name));
            is_named && catalog.is_view(&l.schema, &l.name) != Some(true)
        };
        let registry = &self.env.server.registry;
        let locks = granted(self).into_iter().filter(is_meant);
        let mut users: Vec<User> = locks.filter_map(|lock| User::of(lock, registry)).collect();
        if users.is_empty() {
            return Ok(());
        }
        let deadline = deadline.unwrap_or_else(|| executor::Environment::lock_deadline(&self.env));
        let ended = self.wait_until_gone(&mut users, deadline);
        if ended == Err(MdlError::TimedOut) {
            self.blame(&users);
        }
        ended.map_err(|error| CatalogError::from(error).into())
    }

    fn wait_until_gone(&self, users: &mut Vec<User>, deadline: Deadline) -> Result<(), MdlError> {
        let (registry, mdl) = (&self.env.server.registry, self.env.server.catalog.mdl());
        let awaiting = registry.await_statements();
        let mut suspicion = Suspicion::default();
        loop {
            let seen = awaiting.ended().prepare();
            let ids: HashSet<u64> = granted(self).iter().map(|l| l.id).collect();
            users.retain(|user| user.is_there(&ids, registry));
            if users.is_empty() {
                return Ok(());
            }
            let blockers: HashSet<u64> = users.iter().map(|user| user.lock.slot as u64).collect();
            let blockers: Vec<u64> = blockers.into_iter().collect();
            let edges = match mdl.waits().add_all(self.slot as u64, &blockers) {
                Ok(edges) => Some(edges),
                Err(deadlock) if suspicion.is_proved(deadlock.cycle.clone()) => {
                    return Err(MdlError::Deadlock);
                }
                Err(_) => None,
            };
            let result = awaiting.ended().wait(seen, deadline.within(LOOK));
            drop(edges);
            match result {
                WaitResult::Killed => return Err(MdlError::Killed),
                _ if deadline.passed() => return Err(MdlError::TimedOut),
                _ => {}
            }
        }
    }

    /// Names who is left of the first table.
    fn blame(&self, users: &[User]) {
        let Some(User { lock: first, .. }) = users.first() else { return };
        let same =
            users.iter().filter(|u| (&u.lock.schema, &u.lock.name) == (&first.schema, &first.name));
        let blocker =
            |u: &User| Blocker { slot: u.lock.slot, mode: u.lock.mode, status: Status::Granted };
        let what = (Namespace::Table, first.schema.clone(), first.name.clone());
        let blame = Blame { what, blockers: same.map(blocker).collect() };
        self.env.server.catalog.mdl().blame_for(self.client.slot(), blame);
    }
}
