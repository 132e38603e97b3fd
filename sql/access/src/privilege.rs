//! Static privileges, and the levels on which they can be granted.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of static privileges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Privileges(u64);

/// What is known of a static privilege.
struct Known {
    set: Privileges,
    name: &'static str,
    /// Its column in `mysql.user` and `mysql.db`.
    column: &'static str,
    /// As the SET columns of `mysql.tables_priv` write it.
    word: &'static str,
}

macro_rules! privileges {
    ($($constant:ident = $bit:literal, $name:literal, $column:literal, $word:literal;)*) => {
        impl Privileges {
            $(#[doc = $name] pub const $constant: Privileges = Privileges(1 << $bit);)*
        }
        /// In the order in which SHOW GRANTS lists them.
        const KNOWN: &[Known] = &[$(
            Known { set: Privileges::$constant, name: $name, column: $column, word: $word },
        )*];
    };
}

privileges! {
    SELECT = 0, "SELECT", "Select_priv", "Select";
    INSERT = 1, "INSERT", "Insert_priv", "Insert";
    UPDATE = 2, "UPDATE", "Update_priv", "Update";
    DELETE = 3, "DELETE", "Delete_priv", "Delete";
    CREATE = 4, "CREATE", "Create_priv", "Create";
    DROP = 5, "DROP", "Drop_priv", "Drop";
    RELOAD = 6, "RELOAD", "Reload_priv", "";
    SHUTDOWN = 7, "SHUTDOWN", "Shutdown_priv", "";
    PROCESS = 8, "PROCESS", "Process_priv", "";
    FILE = 9, "FILE", "File_priv", "";
    REFERENCES = 10, "REFERENCES", "References_priv", "References";
    INDEX = 11, "INDEX", "Index_priv", "Index";
    ALTER = 12, "ALTER", "Alter_priv", "Alter";
    SHOW_DATABASES = 13, "SHOW DATABASES", "Show_db_priv", "";
    SUPER = 14, "SUPER", "Super_priv", "";
    CREATE_TEMPORARY = 15, "CREATE TEMPORARY TABLES", "Create_tmp_table_priv", "";
    LOCK_TABLES = 16, "LOCK TABLES", "Lock_tables_priv", "";
    EXECUTE = 17, "EXECUTE", "Execute_priv", "Execute";
    REPLICATION_SLAVE = 18, "REPLICATION SLAVE", "Repl_slave_priv", "";
    REPLICATION_CLIENT = 19, "REPLICATION CLIENT", "Repl_client_priv", "";
    CREATE_VIEW = 20, "CREATE VIEW", "Create_view_priv", "Create View";
    SHOW_VIEW = 21, "SHOW VIEW", "Show_view_priv", "Show view";
    CREATE_ROUTINE = 22, "CREATE ROUTINE", "Create_routine_priv", "";
    ALTER_ROUTINE = 23, "ALTER ROUTINE", "Alter_routine_priv", "Alter Routine";
    CREATE_USER = 24, "CREATE USER", "Create_user_priv", "";
    EVENT = 25, "EVENT", "Event_priv", "";
    TRIGGER = 26, "TRIGGER", "Trigger_priv", "Trigger";
    CREATE_TABLESPACE = 27, "CREATE TABLESPACE", "Create_tablespace_priv", "";
    CREATE_ROLE = 28, "CREATE ROLE", "Create_role_priv", "";
    DROP_ROLE = 29, "DROP ROLE", "Drop_role_priv", "";
    GRANT = 30, "GRANT OPTION", "Grant_priv", "Grant";
}

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);
    /// All but GRANT OPTION: what ALL means globally.
    pub const ALL: Privileges = Privileges((1 << 30) - 1);
    /// What ALL means for a schema.
    pub const OF_SCHEMA: Privileges = Privileges(
        Self::OF_TABLE.0
            | Self::CREATE_TEMPORARY.0
            | Self::LOCK_TABLES.0
            | Self::EXECUTE.0
            | Self::CREATE_ROUTINE.0
            | Self::ALTER_ROUTINE.0
            | Self::EVENT.0,
    );
    /// What ALL means for a table.
    pub const OF_TABLE: Privileges = Privileges(
        Self::OF_COLUMN.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );
    /// What can be granted of a column.
    pub const OF_COLUMN: Privileges =
        Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);
    /// Any of these, of a table and of a column, lets one make a view that shows it; to read that takes SELECT.
    pub const OF_SHOWN: Privileges =
        Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::DELETE.0);
    /// What ALL means for a stored program.
    pub const OF_ROUTINE: Privileges = Privileges(Self::EXECUTE.0 | Self::ALTER_ROUTINE.0);

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of these are in it.
    #[inline]
    pub const fn has(self, all: Privileges) -> bool {
        self.0 & all.0 == all.0
    }

    /// Whether one of these is in it.
    #[inline]
    pub const fn has_any(self, any: Privileges) -> bool {
        self.0 & any.0 != 0
    }

    /// As one number.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Of stored bits; what nobody knows is dropped.
    pub const fn of_bits(bits: u64) -> Privileges {
        Privileges(bits & (Self::ALL.0 | Self::GRANT.0))
    }

    /// The privilege of this name, in capital letters.
    pub fn named(name: &str) -> Option<Privileges> {
        KNOWN.iter().find(|known| known.name == name).map(|known| known.set)
    }

    /// Whether a column of `mysql.user` or `mysql.db` says that this is granted; `None`: it says something else.
    pub fn column(self, column: &str) -> Option<bool> {
        KNOWN.iter().find(|known| known.column == column).map(|known| self.has(known.set))
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = (Privileges, &'static str)> {
        KNOWN.iter().filter(move |known| self.has(known.set)).map(|known| (known.set, known.name))
    }

    /// Their names, GRANT OPTION last.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.each().map(|(_, name)| name)
    }

    /// Their names as messages list them: GRANT before REFERENCES.
    pub fn listed(self) -> String {
        let before = Privileges(Self::REFERENCES.0 - 1);
        let grant = self.has(Self::GRANT).then_some("GRANT");
        let (head, tail) = (self & before, self & !(before | Self::GRANT));
        let names: Vec<_> = head.names().chain(grant).chain(tail.names()).collect();
        names.join(", ")
    }

    /// As a SET column writes them.
    pub fn as_set(self) -> String {
        // The order of the column's members.
        let grant_sixth = KNOWN.iter().filter(|k| k.set.0 < Privileges::RELOAD.0);
        let grant = KNOWN.iter().filter(|k| k.set == Privileges::GRANT);
        let rest =
            KNOWN.iter().filter(|k| k.set.0 > Privileges::DROP.0 && k.set.0 < Privileges::GRANT.0);
        let words = grant_sixth.chain(grant).chain(rest);
        words.filter(|k| self.has(k.set)).map(|k| k.word).collect::<Vec<_>>().join(",")
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Privileges) {
        self.0 |= other.0;
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Privileges;
    fn not(self) -> Privileges {
        Privileges(!self.0 & (Self::ALL.0 | Self::GRANT.0))
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.listed())
    }
}

/// Dynamic privileges, which are granted globally by name, as MySQL 8.4 has them.
pub const DYNAMIC: &[&str] = &[
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];

/// The dynamic privilege of this name, however it is written.
pub fn dynamic(name: &str) -> Option<&'static str> {
    DYNAMIC.iter().copied().find(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_told_in_order() {
        let set = Privileges::GRANT | Privileges::UPDATE | Privileges::SELECT;
        assert_eq!(set.names().collect::<Vec<_>>(), ["SELECT", "UPDATE", "GRANT OPTION"]);
        assert_eq!(set.as_set(), "Select,Update,Grant");
        assert_eq!(set.listed(), "SELECT, UPDATE, GRANT");
        assert_eq!((set | Privileges::INDEX).listed(), "SELECT, UPDATE, GRANT, INDEX");
        assert_eq!(Privileges::ALL.names().count(), 30);
        assert_eq!(Privileges::of_bits(u64::MAX), Privileges::ALL | Privileges::GRANT);
        assert_eq!(
            Privileges::named("CREATE TEMPORARY TABLES"),
            Some(Privileges::CREATE_TEMPORARY)
        );
        assert_eq!(dynamic("backup_admin"), Some("BACKUP_ADMIN"));
        assert!(DYNAMIC.is_sorted());
    }
}
