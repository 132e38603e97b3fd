//! Replication and distributed transactions.

use super::Expr;

/// Statements about replication.
#[derive(Debug, Clone, PartialEq)]
pub enum Replication {
    /// CHANGE REPLICATION SOURCE TO option = value, ... [FOR CHANNEL c]: upper-case name and value as text.
    ChangeSource {
        /// Options.
        options: Vec<(String, String)>,
        /// Channel.
        channel: Option<String>,
    },
    /// CHANGE REPLICATION FILTER rule = (...), ...: the rules as text.
    ChangeFilter {
        /// Rules: upper-case name and elements.
        rules: Vec<(String, Vec<String>)>,
        /// Channel.
        channel: Option<String>,
    },
    /// START REPLICA.
    StartReplica {
        /// IO_THREAD, SQL_THREAD.
        threads: Vec<String>,
        /// UNTIL conditions: upper-case name and value as text.
        until: Vec<(String, String)>,
        /// USER, PASSWORD, DEFAULT_AUTH, PLUGIN_DIR.
        options: Vec<(String, String)>,
        /// Channel.
        channel: Option<String>,
    },
    /// STOP REPLICA.
    StopReplica {
        /// IO_THREAD, SQL_THREAD.
        threads: Vec<String>,
        /// Channel.
        channel: Option<String>,
    },
    /// START GROUP_REPLICATION.
    StartGroup(Vec<(String, String)>),
    /// STOP GROUP_REPLICATION.
    StopGroup,
    /// PURGE BINARY LOGS TO 'file'.
    PurgeTo(Vec<u8>),
    /// PURGE BINARY LOGS BEFORE time.
    PurgeBefore(Expr),
    /// RESET BINARY LOGS AND GTIDS [TO n].
    ResetBinaryLogs(Option<u64>),
    /// RESET REPLICA \[ALL\] [FOR CHANNEL c].
    ResetReplica {
        /// ALL.
        all: bool,
        /// Channel.
        channel: Option<String>,
    },
    /// Several RESET targets in one statement.
    ResetMany(Vec<Replication>),
    /// BINLOG 'events'.
    Binlog(Vec<u8>),
}

/// A transaction id of XA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// Global part.
    pub gtrid: Vec<u8>,
    /// Branch part.
    pub bqual: Vec<u8>,
    /// Format number.
    pub format: u64,
}

impl Xid {
    const PART_BYTES_MAX: usize = 64;

    /// Whether its parts are short enough, and its number is no more than a signed one of 64 bits holds.
    pub(crate) fn is_valid(&self) -> bool {
        let bytes_max = self.gtrid.len().max(self.bqual.len());
        bytes_max <= Self::PART_BYTES_MAX && i64::try_from(self.format).is_ok()
    }
}

/// XA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Xa {
    /// START / BEGIN xid [JOIN | RESUME].
    Start(Xid, Option<String>),
    /// END xid [SUSPEND [FOR MIGRATE]].
    End(Xid, Option<String>),
    /// PREPARE xid.
    Prepare(Xid),
    /// COMMIT xid [ONE PHASE].
    Commit(Xid, bool),
    /// ROLLBACK xid.
    Rollback(Xid),
    /// RECOVER [CONVERT XID].
    Recover(bool),
}
