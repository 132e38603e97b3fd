//! Numbers of the protocol: capabilities, status flags, column types and flags.

use std::ops::{BitAnd, BitOr, BitOrAssign};

macro_rules! flags {
    ($(#[$meta:meta])* $name:ident: $bits:ty { $($(#[$item:meta])* $flag:ident = $value:expr,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub struct $name(pub $bits);

        impl $name {
            $($(#[$item])* pub const $flag: Self = Self($value);)*

            /// No flag.
            pub const EMPTY: Self = Self(0);

            /// Whether every flag of `other` is set.
            #[inline]
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// These flags and those of `other`.
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// These flags without those of `other`.
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Sets or clears the flags of `other`.
            #[inline]
            pub fn set(&mut self, other: Self, on: bool) {
                *self = if on { self.with(other) } else { self.without(other) };
            }
        }

        impl BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                self.with(other)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                *self = self.with(other);
            }
        }

        impl BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }
    };
}

flags! {
    /// What client and server can do; the connection uses what both can.
    Capabilities: u32 {
        /// Always set by MySQL servers; a MariaDB server clears it to announce its own extensions.
        LONG_PASSWORD = 1,
        /// Affected rows counts found rows rather than changed rows.
        FOUND_ROWS = 1 << 1,
        /// Column flags have two bytes.
        LONG_FLAG = 1 << 2,
        /// A schema is named in the handshake response.
        CONNECT_WITH_DB = 1 << 3,
        /// `db.table.column` is not allowed.
        NO_SCHEMA = 1 << 4,
        /// The compressed protocol, by zlib; offered as `protocol_compression_algorithms` says.
        COMPRESS = 1 << 5,
        /// An ODBC client.
        ODBC = 1 << 6,
        /// LOAD DATA LOCAL.
        LOCAL_FILES = 1 << 7,
        /// Spaces before `(` are ignored.
        IGNORE_SPACE = 1 << 8,
        /// The protocol of MySQL 4.1 and later; required.
        PROTOCOL_41 = 1 << 9,
        /// `interactive_timeout` instead of `wait_timeout`.
        INTERACTIVE = 1 << 10,
        /// TLS; offered where the server has a certificate.
        SSL = 1 << 11,
        /// The client ignores SIGPIPE.
        IGNORE_SIGPIPE = 1 << 12,
        /// Status flags are sent.
        TRANSACTIONS = 1 << 13,
        /// Formerly: the protocol of 4.1.
        RESERVED = 1 << 14,
        /// The scramble has 20 bytes.
        SECURE_CONNECTION = 1 << 15,
        /// Several statements in one COM_QUERY.
        MULTI_STATEMENTS = 1 << 16,
        /// Several results.
        MULTI_RESULTS = 1 << 17,
        /// Several results from prepared statements.
        PS_MULTI_RESULTS = 1 << 18,
        /// Authentication plugins by name.
        PLUGIN_AUTH = 1 << 19,
        /// Connection attributes.
        CONNECT_ATTRS = 1 << 20,
        /// Authentication data longer than 255 bytes.
        PLUGIN_AUTH_LENENC = 1 << 21,
        /// Expired passwords are understood.
        EXPIRED_PASSWORDS = 1 << 22,
        /// Session state changes in OK packets.
        SESSION_TRACK = 1 << 23,
        /// OK instead of EOF.
        DEPRECATE_EOF = 1 << 24,
        /// Results may come without their columns' definitions.
        OPTIONAL_RESULTSET_METADATA = 1 << 25,
        /// The compressed protocol, by zstd; offered as `protocol_compression_algorithms` says.
        ZSTD_COMPRESSION = 1 << 26,
        /// Statements come with attributes.
        QUERY_ATTRIBUTES = 1 << 27,
    }
}

/// What this server offers.
pub const SERVER_CAPABILITIES: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::FOUND_ROWS.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::ODBC.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::IGNORE_SPACE.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::INTERACTIVE.0
        | Capabilities::IGNORE_SIGPIPE.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::RESERVED.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH_LENENC.0
        | Capabilities::EXPIRED_PASSWORDS.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::OPTIONAL_RESULTSET_METADATA.0
        | Capabilities::QUERY_ATTRIBUTES.0,
);

flags! {
    /// State of the session, sent with every OK and EOF.
    StatusFlags: u16 {
        /// A transaction is open.
        IN_TRANSACTION = 1,
        /// `autocommit` is on.
        AUTOCOMMIT = 1 << 1,
        /// Another result follows.
        MORE_RESULTS = 1 << 3,
        /// No index was used.
        NO_INDEX_USED = 1 << 5,
        /// A cursor was opened.
        CURSOR_EXISTS = 1 << 6,
        /// The cursor's last row was sent.
        LAST_ROW_SENT = 1 << 7,
        /// A schema was dropped.
        SCHEMA_DROPPED = 1 << 8,
        /// `sql_mode` has NO_BACKSLASH_ESCAPES.
        NO_BACKSLASH_ESCAPES = 1 << 9,
        /// A prepared statement's columns changed.
        METADATA_CHANGED = 1 << 10,
        /// The transaction is read-only.
        IN_READ_ONLY_TRANSACTION = 1 << 13,
        /// Session state information follows.
        SESSION_STATE_CHANGED = 1 << 14,
    }
}

flags! {
    /// Properties of a result column.
    ColumnFlags: u16 {
        /// NOT NULL.
        NOT_NULL = 1,
        /// Part of the primary key.
        PRIMARY_KEY = 1 << 1,
        /// Part of a unique key.
        UNIQUE_KEY = 1 << 2,
        /// Part of a key that is not unique.
        MULTIPLE_KEY = 1 << 3,
        /// BLOB or TEXT.
        BLOB = 1 << 4,
        /// UNSIGNED.
        UNSIGNED = 1 << 5,
        /// ZEROFILL.
        ZEROFILL = 1 << 6,
        /// Binary collation.
        BINARY = 1 << 7,
        /// ENUM.
        ENUM = 1 << 8,
        /// AUTO_INCREMENT.
        AUTO_INCREMENT = 1 << 9,
        /// TIMESTAMP with an automatic value.
        TIMESTAMP = 1 << 10,
        /// SET.
        SET = 1 << 11,
        /// NOT NULL without a default.
        NO_DEFAULT = 1 << 12,
        /// ON UPDATE CURRENT_TIMESTAMP.
        ON_UPDATE_NOW = 1 << 13,
        /// Part of some key.
        PART_OF_KEY = 1 << 14,
        /// A number.
        NUMBER = 1 << 15,
    }
}

/// Type of a column or parameter on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ColumnCode {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnCode {
    /// The code of a byte a client sent.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Decimal,
            1 => Self::Tiny,
            2 => Self::Short,
            3 => Self::Long,
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::Null,
            7 => Self::Timestamp,
            8 => Self::LongLong,
            9 => Self::Int24,
            10 => Self::Date,
            11 => Self::Time,
            12 => Self::DateTime,
            13 => Self::Year,
            15 => Self::VarChar,
            16 => Self::Bit,
            245 => Self::Json,
            246 => Self::NewDecimal,
            247 => Self::Enum,
            248 => Self::Set,
            249 => Self::TinyBlob,
            250 => Self::MediumBlob,
            251 => Self::LongBlob,
            252 => Self::Blob,
            253 => Self::VarString,
            254 => Self::String,
            255 => Self::Geometry,
            _ => return None,
        })
    }
}

/// Collation number of binary strings and numbers.
pub const COLLATION_BINARY: u16 = 63;
/// Collation number of utf8mb4_general_ci.
pub const COLLATION_GENERAL_CI: u16 = 45;
/// Collation number of utf8mb4_0900_ai_ci, the server's default.
pub const COLLATION_0900_AI_CI: u16 = 255;
