//! The session as expressions see it.

use crate::{OwnedDatum, SqlError, UserVariable, Variables};
use sync::Deadline;

/// What expressions and messages need to know of the session.
pub trait Environment: catalog::Viewer + Variables {
    /// Current database.
    fn database(&self) -> Option<&str>;
    /// A schema is gone: it is nobody's current one.
    fn schema_dropped(&mut self, _name: &str) {}
    /// `user@host` as USER() prints it.
    fn user(&self) -> String;
    /// The server's version string.
    fn version(&self) -> String;
    /// Id of the connection.
    fn connection_id(&self) -> u64;
    /// The THREAD_ID of a connection, if there is one.
    fn thread_of(&self, _connection: u64) -> Option<u64> {
        None
    }
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES is on.
    fn strict(&self) -> bool;
    /// What counts when values are stored or converted: strictness, date rules, time zone, clock.
    fn convert_mode(&self) -> value::ConvertMode<'_>;
    /// Until it is called with `false`, the statement is as lenient as without strict mode: IGNORE.
    fn set_lenient(&mut self, on: bool);
    /// Conditions in the diagnostics area that are no errors.
    fn warning_count(&self) -> u64;
    /// NO_AUTO_VALUE_ON_ZERO is on.
    fn zero_is_a_value(&self) -> bool;
    /// CLIENT_FOUND_ROWS: UPDATE counts matched rows.
    fn count_matched_rows(&self) -> bool;
    /// Value of a system variable (1193 if there is none).
    fn system_variable(&self, global: bool, name: &str) -> Result<OwnedDatum, SqlError>;
    /// A user variable; `None` if it was never set.
    fn user_variable(&self, name: &str) -> Option<&UserVariable>;
    /// Sets a user variable.
    fn set_user_variable(&mut self, name: &str, value: UserVariable);
    /// LAST_INSERT_ID().
    fn last_insert_id(&self) -> u64;
    /// ROW_COUNT().
    fn row_count(&self) -> i64;
    /// FOUND_ROWS().
    fn found_rows(&self) -> u64;
    /// What a statement may keep in memory, in bytes: above the first it moves rows to files, above the
    /// second it ends.
    fn memory_bytes(&self) -> (u64, u64);
    /// Until when this statement waits for metadata locks.
    fn lock_deadline(&self) -> Deadline;
    /// How DDL and what else keeps everyone away waits for metadata locks; `wait`: its WAIT or NOWAIT, in seconds.
    fn patience(&self, wait: Option<u64>) -> mdl::Patience {
        let limit = wait.map(std::time::Duration::from_secs);
        mdl::Patience { limit, slices: false, watch: None }
    }
    /// What GET_LOCK took; `None` of what is no session.
    fn user_locks(&mut self) -> Option<&mut mdl::UserLocks> {
        None
    }
    /// Forgets what was warned of after the first so many conditions.
    fn forget_warnings(&mut self, _kept: u64) {}
    /// Collation of literals: `collation_connection`.
    fn connection_collation(&self) -> value::Collation;
    /// Default collation of new databases.
    fn server_collation(&self) -> value::Collation;
    /// CURRENT_ROLE(): the active roles.
    fn active_roles(&self) -> String {
        "NONE".to_string()
    }
    /// VALIDATE_PASSWORD_STRENGTH(): from 0 to 100; 0 where nobody asks for strong passwords.
    fn password_strength(&self, _password: &[u8]) -> i64 {
        0
    }
    /// Counts how often the session's rights became others.
    fn rights_state(&self) -> u32 {
        0
    }
    /// Bits of `sql_mode`.
    fn sql_mode(&self) -> u64;
    /// Bits of `optimizer_switch`.
    fn optimizer_switch(&self) -> u64 {
        u64::MAX
    }
    /// `sql_select_limit`: rows that a query without LIMIT sends at most.
    fn select_limit(&self) -> u64 {
        u64::MAX
    }
    /// `max_execution_time`, in milliseconds: how long a query may run; 0: for ever.
    fn execution_ms_max(&self) -> u64 {
        0
    }
    /// `max_join_size`, unless `sql_big_selects`: rows that a query may be expected to examine.
    fn join_size_max(&self) -> u64 {
        u64::MAX
    }
    /// `sql_safe_updates`: rows are changed by a key or under LIMIT only.
    fn safe_updates(&self) -> bool {
        false
    }
    /// The session's time zone.
    fn time_zone(&self) -> &value::TimeZone;
    /// The next number of the session's RAND().
    fn random(&mut self) -> f64;
    /// The next number of the sequence that a seeded RAND at a place of the statement started.
    fn seeded_random(&mut self, place: usize, seed: u32) -> f64;
    /// LAST_INSERT_ID(value): what the next LAST_INSERT_ID() gives.
    fn set_last_insert_id(&mut self, id: u64);
    /// Microseconds since 1970.
    fn now_us(&self) -> i64;
    /// Waits; false when interrupted by KILL.
    fn sleep(&mut self, seconds: f64) -> bool;
    /// `innodb_autoinc_lock_mode`, `auto_increment_increment`, `auto_increment_offset`.
    fn autoinc(&self) -> (AutoincMode, u64, u64) {
        (AutoincMode::Interleaved, 1, 1)
    }
    /// SET insert_id: the value that the next generated one is to be, once.
    fn take_insert_id(&mut self) -> Option<u64> {
        None
    }
    /// Adds to the diagnostics area.
    fn warn(&mut self, level: WarningLevel, number: u16, text: String);
    /// As [`Environment::warn`] with a warning, once in a statement.
    fn warn_once(&mut self, number: u16, text: String) {
        self.warn(WarningLevel::Warning, number, text);
    }
    /// The first of the statement's warnings that a strict mode makes an error of when rows are changed; the
    /// warnings are forgotten then. `None` when the mode is not strict.
    fn strict_failure(&mut self) -> Option<crate::SqlError> {
        None
    }
}

/// Level of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningLevel {
    /// Note.
    Note,
    /// Warning.
    Warning,
    /// An error that did not end the statement.
    Error,
}

/// `innodb_autoinc_lock_mode`: how long a statement keeps others from generating AUTO_INCREMENT values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoincMode {
    /// 0: every INSERT until it ends; no value is taken before its row.
    Traditional,
    /// 1: who does not know how many rows it has, until it ends.
    Consecutive,
    /// 2: nobody.
    #[default]
    Interleaved,
}
