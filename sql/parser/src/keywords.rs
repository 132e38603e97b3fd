//! MySQL 8.4's keywords: which words are tokens, and which of them may also be names.
//!
//! 1. A reserved word is never a name unless quoted or written right after a dot.
//! 2. A function word is a keyword only where an opening parenthesis follows it.
//! 3. Look-up folds ASCII case and touches one or two entries of a table built at compile time.

/// How far a word is taken by the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Never a name.
    Reserved,
    /// May be a name.
    Plain,
    /// A keyword only before `(`.
    Function,
}

macro_rules! keywords {
    ($($class:ident { $($word:ident)* })*) => {
        /// A keyword; the variant's name is its canonical spelling.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, missing_docs)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Kw {
            /// Not a keyword.
            None,
            $($($word,)*)*
        }

        static ENTRIES: &[(&str, Kw, Class)] = &[$($((stringify!($word), Kw::$word, Class::$class),)*)*];
    };
}

keywords! {
    Reserved {
        ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE
        CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST
        CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND
        DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT
        DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH
        FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS
        HAVING HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER INOUT INSENSITIVE
        INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN
        JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT LINEAR LINES LOAD LOCALTIME
        LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MANUAL MATCH MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT
        MIDDLEINT MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC
        OF ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PARALLEL PARTITION PERCENT_RANK
        PRECISION PRIMARY PROCEDURE PURGE QUALIFY RANGE RANK READ READS READ_WRITE REAL RECURSIVE REFERENCES REGEXP RELEASE
        RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS
        SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE
        SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN SYSTEM TABLE
        TABLESAMPLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED
        UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER VARYING VIRTUAL WHEN
        WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL
    }
    Plain {
        ACCOUNT ACTION ACTIVE ADMIN AFTER AGAINST AGGREGATE ALGORITHM ALWAYS ANY ARRAY ASCII ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS
        AT ATTRIBUTE AUTHENTICATION AUTO AUTOEXTEND_SIZE AUTO_INCREMENT AVG AVG_ROW_LENGTH BACKUP BEGIN BERNOULLI BINLOG
        BIT BLOCK BOOL BOOLEAN BTREE BUCKETS BULK BYTE CACHE CASCADED CATALOG_NAME CHAIN CHALLENGE_RESPONSE CHANGED CHANNEL
        CHARSET CHECKSUM CIPHER CLASS_ORIGIN CLIENT CLONE CLOSE COALESCE CODE COLLATION COLUMNS COLUMN_FORMAT COLUMN_NAME
        COMMENT COMMIT COMMITTED COMPACT COMPLETION COMPONENT COMPRESSED COMPRESSION CONCURRENT CONNECTION CONSISTENT
        CONSTRAINT_CATALOG CONSTRAINT_NAME CONSTRAINT_SCHEMA CONTAINS CONTEXT CPU CURRENT CURSOR_NAME DATA DATAFILE DATE
        DATETIME DAY DEALLOCATE DEFAULT_AUTH DEFINER DEFINITION DELAY_KEY_WRITE DESCRIPTION DIAGNOSTICS DIRECTORY DISABLE
        DISCARD DISK DO DUMPFILE DUPLICATE DYNAMIC ENABLE ENCRYPTION END ENDS ENFORCED ENGINE ENGINES ENGINE_ATTRIBUTE ENUM
        ERROR ERRORS ESCAPE EVENT EVENTS EVERY EXCHANGE EXCLUDE EXECUTE EXPANSION EXPIRE EXPORT EXTENDED EXTENT_SIZE FACTOR
        FAILED_LOGIN_ATTEMPTS FAST FAULTS FIELDS FILE FILE_BLOCK_SIZE FILTER FINISH FIRST FIXED FLUSH FOLLOWING FOLLOWS
        FORMAT FOUND FULL GENERAL GENERATE GEOMCOLLECTION GEOMETRY GEOMETRYCOLLECTION GET_FORMAT GET_SOURCE_PUBLIC_KEY GLOBAL
        GRANTS GROUP_REPLICATION GTIDS GTID_ONLY HANDLER HASH HELP HISTOGRAM HISTORY HOST HOSTS HOUR IDENTIFIED
        IGNORE_SERVER_IDS IMPORT INACTIVE INDEXES INITIAL INITIAL_SIZE INITIATE INSERT_METHOD INSTALL INSTANCE INVISIBLE
        INVOKER IO IO_THREAD IPC ISOLATION ISSUER JSON JSON_VALUE KEYRING KEY_BLOCK_SIZE LANGUAGE LAST LEAVES LESS LEVEL
        LINESTRING LIST LOCAL LOCKED LOCKS LOG LOGFILE LOGS MASTER MASTER_COMPRESSION_ALGORITHMS
        MASTER_PUBLIC_KEY_PATH MASTER_TLS_CIPHERSUITES MASTER_ZSTD_COMPRESSION_LEVEL MAX_CONNECTIONS_PER_HOUR
        MAX_QUERIES_PER_HOUR MAX_ROWS MAX_SIZE MAX_UPDATES_PER_HOUR MAX_USER_CONNECTIONS MEDIUM MEMBER MEMORY MERGE
        MESSAGE_TEXT MICROSECOND MIGRATE MINUTE MIN_ROWS MODE MODIFY MONTH MULTILINESTRING MULTIPOINT MULTIPOLYGON MUTEX
        MYSQL_ERRNO NAME NAMES NATIONAL NCHAR NDB NDBCLUSTER NESTED NETWORK_NAMESPACE NEVER NEW NEXT NO NODEGROUP NONE NOWAIT
        NO_WAIT NULLS NUMBER NVARCHAR OFF OFFSET OJ OLD ONE ONLY OPEN OPTIONAL OPTIONS ORDINALITY ORGANIZATION OTHERS OWNER
        PACK_KEYS PAGE PARSER PARSE_TREE PARTIAL PARTITIONING PARTITIONS PASSWORD PASSWORD_LOCK_TIME PATH PERSIST
        PERSIST_ONLY PHASE PLUGIN PLUGINS PLUGIN_DIR POINT POLYGON PORT PRECEDES PRECEDING PREPARE PRESERVE PREV PRIVILEGES
        PRIVILEGE_CHECKS_USER PROCESS PROCESSLIST PROFILE PROFILES PROXY QUARTER QUERY QUICK RANDOM READ_ONLY REBUILD
        RECOVER REDO_BUFFER_SIZE REDUNDANT REFERENCE REGISTRATION RELAY RELAYLOG RELAY_LOG_FILE RELAY_LOG_POS RELAY_THREAD
        RELOAD REMOVE REORGANIZE REPAIR REPEATABLE REPLICA REPLICAS REPLICATE_DO_DB REPLICATE_DO_TABLE REPLICATE_IGNORE_DB
        REPLICATE_IGNORE_TABLE REPLICATE_REWRITE_DB REPLICATE_WILD_DO_TABLE REPLICATE_WILD_IGNORE_TABLE REPLICATION
        REQUIRE_ROW_FORMAT REQUIRE_TABLE_PRIMARY_KEY_CHECK RESET RESOURCE RESPECT RESTART RESTORE RESUME RETAIN
        RETURNED_SQLSTATE RETURNING RETURNS REUSE REVERSE ROLE ROLLBACK ROLLUP ROTATE ROUTINE ROW_COUNT ROW_FORMAT RTREE S3
        SAVEPOINT SCHEDULE SCHEMA_NAME SECOND SECONDARY SECONDARY_ENGINE SECONDARY_ENGINE_ATTRIBUTE SECONDARY_LOAD
        SECONDARY_UNLOAD SECURITY SERIAL SERIALIZABLE SERVER SESSION SHARE SHUTDOWN SIGNED SIMPLE SKIP SLAVE SLOW SNAPSHOT
        SOCKET SOME SONAME SOUNDS SOURCE SOURCE_AUTO_POSITION SOURCE_BIND SOURCE_COMPRESSION_ALGORITHMS SOURCE_CONNECTION_AUTO_FAILOVER
        SOURCE_CONNECT_RETRY SOURCE_DELAY SOURCE_HEARTBEAT_PERIOD SOURCE_HOST SOURCE_LOG_FILE SOURCE_LOG_POS SOURCE_PASSWORD
        SOURCE_PORT SOURCE_PUBLIC_KEY_PATH SOURCE_RETRY_COUNT SOURCE_SSL SOURCE_SSL_CA SOURCE_SSL_CAPATH SOURCE_SSL_CERT
        SOURCE_SSL_CIPHER SOURCE_SSL_CRL SOURCE_SSL_CRLPATH SOURCE_SSL_KEY SOURCE_SSL_VERIFY_SERVER_CERT
        SOURCE_TLS_CIPHERSUITES SOURCE_TLS_VERSION SOURCE_USER SOURCE_ZSTD_COMPRESSION_LEVEL SQL_AFTER_GTIDS
        SQL_AFTER_MTS_GAPS SQL_BEFORE_GTIDS SQL_BUFFER_RESULT SQL_NO_CACHE SQL_THREAD SQL_TSI_DAY SQL_TSI_HOUR
        SQL_TSI_MINUTE SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_SECOND SQL_TSI_WEEK SQL_TSI_YEAR SRID STACKED START STARTS
        STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES STATUS STOP STORAGE STREAM STRING SUBCLASS_ORIGIN SUBJECT
        SUBPARTITION SUBPARTITIONS SUPER SUSPEND SWAPS SWITCHES TABLES TABLESPACE TABLE_CHECKSUM TABLE_NAME TEMPORARY
        TEMPTABLE TEXT THAN THREAD_PRIORITY TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TLS TRANSACTION TRIGGERS TRUNCATE
        TYPE TYPES UNBOUNDED UNCOMMITTED UNDEFINED UNDOFILE UNDO_BUFFER_SIZE UNICODE UNINSTALL UNKNOWN UNREGISTER UNTIL
        UPGRADE URL USER USER_RESOURCES USE_FRM VALIDATION VALUE VARIABLES VCPU VECTOR VIEW VISIBLE WAIT WARNINGS WEEK
        WEIGHT_STRING WITHOUT WORK WRAPPER X509 XA XID XML YEAR ZONE
    }
    Function {
        ADDDATE BIT_AND BIT_OR BIT_XOR CAST COUNT CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT GROUP_CONCAT JSON_ARRAYAGG
        JSON_OBJECTAGG MAX MID MIN NOW POSITION SESSION_USER STD STDDEV STDDEV_POP STDDEV_SAMP ST_COLLECT SUBDATE SUBSTR
        SUBSTRING SUM SYSDATE SYSTEM_USER TRIM VARIANCE VAR_POP VAR_SAMP
    }
}

const SLOTS: usize = 4096;
const WORD_BYTES_MAX: usize = 44;

/// FNV-1a over upper-cased ASCII bytes.
const fn hash(word: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at].to_ascii_uppercase() as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    ((hash ^ (hash >> 15)) as usize) % SLOTS
}

/// Open addressing: 0 is free, otherwise an index into `ENTRIES` plus one.
static TABLE: [u16; SLOTS] = {
    let mut table = [0u16; SLOTS];
    let mut entry = 0;
    while entry < ENTRIES.len() {
        let mut slot = hash(ENTRIES[entry].0.as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = entry as u16 + 1;
        entry += 1;
    }
    table
};

/// Every keyword with whether it is reserved, ordered; functions that are keywords before `(` only are not.
pub fn all() -> Vec<(&'static str, bool)> {
    let words = ENTRIES.iter().filter(|(.., class)| *class != Class::Function);
    let mut words: Vec<_> = words.map(|(word, _, c)| (*word, *c == Class::Reserved)).collect();
    words.sort_unstable();
    words
}

/// Whether a word is a keyword, reserved or not; functions that are keywords before `(` only are not.
pub fn is_keyword(word: &str) -> bool {
    lookup(word.as_bytes()).is_some_and(|(_, class)| class != Class::Function)
}

/// Whether a word is a function that is a keyword only right before its parenthesis.
pub fn is_called(word: &str) -> bool {
    lookup(word.as_bytes()).is_some_and(|(_, class)| class == Class::Function)
}

/// The keyword that `word` spells in any case, and its class.
pub fn lookup(word: &[u8]) -> Option<(Kw, Class)> {
    if word.len() < 2 || word.len() > WORD_BYTES_MAX {
        return None;
    }
    let mut slot = hash(word);
    loop {
        let entry = TABLE[slot].checked_sub(1)?;
        let (text, kw, class) = ENTRIES[entry as usize];
        if text.as_bytes().eq_ignore_ascii_case(word) {
            return Some((kw, class));
        }
        slot = (slot + 1) % SLOTS;
    }
}

impl Kw {
    /// Canonical spelling; empty for [`Kw::None`].
    pub fn text(self) -> &'static str {
        match (self as usize).checked_sub(1) {
            Some(at) => ENTRIES[at].0,
            None => "",
        }
    }

    /// Never a name unless quoted.
    pub fn reserved(self) -> bool {
        self.class() == Some(Class::Reserved)
    }

    /// A function that is a name, too, where MySQL's grammar wants one: right before a parenthesis.
    pub fn names_too(self) -> bool {
        matches!(
            self,
            Kw::ADDDATE | Kw::SESSION_USER | Kw::ST_COLLECT | Kw::SUBDATE | Kw::SYSTEM_USER
        )
    }

    /// The word's class; none for [`Kw::None`].
    pub fn class(self) -> Option<Class> {
        (self as usize).checked_sub(1).map(|at| ENTRIES[at].2)
    }
}

/// Character sets whose name after `_` makes an introducer.
static CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8",
    "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7",
    "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8", "utf8mb3", "utf8mb4",
];

/// The name is one of MySQL's character sets.
pub(crate) fn is_charset(name: &str) -> bool {
    CHARSETS.iter().any(|charset| charset.eq_ignore_ascii_case(name))
}

/// The character set that `_name` introduces, canonical spelling.
pub fn introducer(word: &[u8]) -> Option<&'static str> {
    let name = word.strip_prefix(b"_")?;
    CHARSETS.iter().copied().find(|charset| charset.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case() {
        for &(text, kw, class) in ENTRIES {
            assert_eq!(lookup(text.as_bytes()), Some((kw, class)), "{text}");
            assert_eq!(lookup(text.to_ascii_lowercase().as_bytes()), Some((kw, class)), "{text}");
            assert_eq!(kw.text(), text);
            assert!(text.len() <= WORD_BYTES_MAX);
        }
        assert_eq!(lookup(b"sbtest1"), None);
        assert_eq!(lookup(b""), None);
    }

    #[test]
    fn introducers_are_known_character_sets() {
        assert_eq!(introducer(b"_UTF8MB4"), Some("utf8mb4"));
        assert_eq!(introducer(b"_nothing"), None);
        assert_eq!(introducer(b"utf8mb4"), None);
    }
}
