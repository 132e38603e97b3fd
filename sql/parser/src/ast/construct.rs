//! What MySQL calls the kinds of statements that share a node, for error texts.

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
