//! Who may write and who may connect: `read_only`, `super_read_only`, `offline_mode`, `max_user_connections`.
//!
//! 1. root is what CONNECTION_ADMIN makes in MySQL: `read_only`, `offline_mode` and `init_connect` are not about it.
//! 2. `super_read_only` is never on without `read_only`.

use crate::core::Core;
use crate::errors::SessionError;
use crate::server::Server;
use crate::variables::{self, Value};
use catalog::ReadOnly;
use executor::SqlError;

const READ_ONLY: &str = "read_only";
const SUPER_READ_ONLY: &str = "super_read_only";
const OFFLINE_MODE: &str = "offline_mode";

/// Whether an account has all rights.
pub(crate) fn is_super(user: &str) -> bool {
    user == "root"
}

/// What the options say when the server starts.
pub fn start(server: &Server) {
    let globals = &server.globals;
    if globals.number(SUPER_READ_ONLY) != 0 {
        globals.set(variables::id(READ_ONLY), Value::UInt(1));
    }
    let level = level(globals.number(READ_ONLY) != 0, globals.number(SUPER_READ_ONLY) != 0);
    server.catalog.set_read_only(level);
}

fn level(users: bool, all: bool) -> ReadOnly {
    match (users, all) {
        (_, true) => ReadOnly::All,
        (true, false) => ReadOnly::Users,
        (false, false) => ReadOnly::No,
    }
}

impl Core {
    /// SET GLOBAL of a variable of this module.
    pub(crate) fn set_access(&mut self, name: &'static str, on: bool) -> Result<(), SqlError> {
        if name == OFFLINE_MODE {
            if on {
                self.env.server.registry.kill_where(|user| !is_super(user));
            }
            return Ok(());
        }
        let globals = &self.env.server.globals;
        let all =
            if name == SUPER_READ_ONLY { on } else { on && globals.number(SUPER_READ_ONLY) != 0 };
        let users = if name == READ_ONLY { on } else { on || globals.number(READ_ONLY) != 0 };
        if on && (self.transaction.open || self.tables.tables_are_locked()) {
            return Err(SessionError::LockedOrInTransaction.into());
        }
        executor::in_turns(None, &mut self.context(), |context| {
            let (slot, deadline) = (context.client.slot(), context.env.lock_deadline());
            Ok(context.tables.set_read_only(slot, level(users, all), deadline)?)
        })?;
        let globals = &self.env.server.globals;
        globals.set(variables::id(READ_ONLY), Value::UInt(u64::from(users)));
        globals.set(variables::id(SUPER_READ_ONLY), Value::UInt(u64::from(all)));
        Ok(())
    }

    /// Whether a client that has proved who it is may stay.
    ///
    /// # Errors
    /// 3032, 1203.
    pub(crate) fn admit_account(&mut self, user: &str) -> Result<(), SqlError> {
        self.tables.is_super = is_super(user);
        let server = &self.env.server;
        if server.globals.number(OFFLINE_MODE) != 0 && !is_super(user) {
            return Err(SessionError::Offline.into());
        }
        let most = server.globals.number("max_user_connections");
        if most > 0 && server.registry.count_of(user, self.env.id) >= most {
            return Err(SessionError::TooManyOfUser(user).into());
        }
        Ok(())
    }
}
