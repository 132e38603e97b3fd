//! The parts of [`Env`](super::Env): what belongs together of what statements see.

use crate::charsets::Charsets;
use crate::tracking::Tracker;
use access::Rights;
use executor::AutoincMode;
use std::cell::Cell;
use wire::compressed::Algorithm;
use wire::constants::{Capabilities, StatusFlags};
use wire::reply::Metadata;

/// Who the session is, and what that lets it do. What each statement looks at comes last.
#[derive(Default)]
#[repr(C)]
pub struct Login {
    /// User name as given.
    pub user: String,
    /// Host the client comes from.
    pub host: String,
    /// The account's password expired: only another one may be set.
    pub password_expired: bool,
    /// The session works on a branch of a distributed transaction.
    pub in_branch: bool,
    /// What the account may do in an hour, if that is limited.
    pub limits: Option<access::Limits>,
    /// What it may do, and which account it is.
    pub rights: Box<Rights>,
    /// The version of the accounts that `rights` are of.
    pub rights_version: u64,
    /// Counts how often the rights became others.
    pub rights_state: u32,
    /// Statements are looked at one by one: see [`super::Env::judge_limits`].
    pub is_limited: bool,
}

/// What the session and its client know of each other. What each statement looks at comes first.
#[repr(C)]
pub struct Link {
    /// What the client can.
    pub caps: Capabilities,
    /// Flags sent with every OK.
    pub status: StatusFlags,
    /// What the client is told of a result's columns; `resultset_metadata`.
    pub(crate) metadata: Metadata,
    /// How the connection is compressed.
    pub compression: Option<Algorithm>,
    /// Changes that the client is told of.
    pub(crate) tracker: Tracker,
    /// Connection id.
    pub id: u64,
    /// What secures the connection, if anything does.
    pub secured: Option<tls::Secured>,
}

impl Link {
    /// Of a client that has said nothing yet.
    pub fn new(id: u64) -> Link {
        Link {
            id,
            caps: Capabilities::PROTOCOL_41,
            secured: None,
            compression: None,
            status: StatusFlags::AUTOCOMMIT,
            tracker: Tracker::default(),
            metadata: Metadata::Always,
        }
    }
}

/// What the statements before this one left. What each statement looks at comes first.
#[repr(C)]
pub struct LastStatement {
    /// ROW_COUNT().
    pub row_count: i64,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// The statement called LAST_INSERT_ID(value).
    pub insert_id_given: bool,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// SET insert_id: the next generated AUTO_INCREMENT value, once.
    pub insert_id: Option<u64>,
}

impl Default for LastStatement {
    /// There was none.
    fn default() -> LastStatement {
        LastStatement {
            last_insert_id: 0,
            insert_id_given: false,
            insert_id: None,
            row_count: -1,
            found_rows: 0,
        }
    }
}

/// System variables that are looked at with every statement, as [`super::Env::refresh`] took them out of the session's. Those of short
/// statements come last.
#[repr(C)]
pub struct CachedVariables {
    /// `innodb_autoinc_lock_mode`, `auto_increment_increment`, `auto_increment_offset`.
    pub autoinc: (AutoincMode, u64, u64),
    /// `sql_mode`.
    pub sql_mode: u64,
    /// `max_execution_time`, in milliseconds.
    pub execution_ms_max: u64,
    /// `max_join_size`; no limit with `sql_big_selects`.
    pub join_size_max: u64,
    /// `sql_safe_updates`.
    pub safe_updates: bool,
    /// `sql_notes`.
    pub notes: bool,
    /// What sorts, joins and temporary tables may take together before they use files, in bytes.
    pub spill_bytes: u64,
    /// `time_zone`.
    pub time_zone: value::TimeZone,
    /// What the parser is told of `sql_mode` and of the client's character set.
    pub parser_mode: parser::SqlMode,
    /// Character sets.
    pub charsets: Charsets,
    /// `lock_wait_timeout`, in seconds.
    pub lock_wait_timeout_s: u64,
    /// `sql_select_limit`.
    pub select_limit: u64,
}

impl Default for CachedVariables {
    /// What stands until [`super::Env::refresh`].
    fn default() -> CachedVariables {
        CachedVariables {
            autoinc: (AutoincMode::Interleaved, 1, 1),
            sql_mode: 0,
            execution_ms_max: 0,
            select_limit: u64::MAX,
            join_size_max: u64::MAX,
            safe_updates: false,
            notes: true,
            spill_bytes: 0,
            time_zone: value::TimeZone::system(),
            parser_mode: parser::SqlMode::DEFAULT,
            charsets: Charsets::default(),
            lock_wait_timeout_s: 0,
        }
    }
}

/// The time and the random numbers of a statement. What each statement looks at comes last.
#[derive(Default)]
#[repr(C)]
pub struct StatementClock {
    /// The session's RAND(), once asked for.
    pub random: Option<expr::functions::Random>,
    /// Sequences of seeded RANDs, by where they stand and in which statement.
    pub seeded: Vec<((usize, u64), expr::functions::Random)>,
    /// `SET timestamp`: NOW() stands still. Changed by [`super::Env::set_timestamp`].
    pub timestamp_us: Option<i64>,
    /// NOW() of this statement, in microseconds since 1970, once asked for.
    pub now_us: Cell<Option<i64>>,
    /// Statements begun.
    pub statements: u64,
}
