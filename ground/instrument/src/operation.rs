//! What a wait is for: OPERATION in the tables of waits.

use crate::io::IoOperation;

macro_rules! operations {
    ($($(#[$meta:meta])* $name:ident = $text:literal;)*) => {
        /// What is waited for, by MySQL's names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[repr(u8)]
        #[allow(missing_docs)] // The names are MySQL's.
        pub enum Operation {
            $($(#[$meta])* $name,)*
        }

        impl Operation {
            /// All, by number.
            const ALL: &[Operation] = &[$(Operation::$name),*];

            /// As the tables show it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Operation::$name => $text,)*
                }
            }
        }
    };
}

operations! {
    #[default] Lock = "lock";
    ReadLock = "read_lock";
    WriteLock = "write_lock";
    SharedLock = "shared_lock";
    ExclusiveLock = "exclusive_lock";
    Wait = "wait";
    TimedWait = "timed_wait";
    MetadataLock = "metadata lock";
    Idle = "idle";
    Fetch = "fetch";
    Insert = "insert";
    Update = "update";
    Delete = "delete";
    Read = "read";
    Write = "write";
    Sync = "sync";
    Open = "open";
    Close = "close";
    Stat = "stat";
    Rename = "rename";
    ChangeSize = "chsize";
    Receive = "recv";
    Send = "send";
    Select = "select";
}

impl Operation {
    /// That of a number.
    pub fn numbered(n: u8) -> Operation {
        Self::ALL.get(usize::from(n)).copied().unwrap_or_default()
    }

    /// As it counts in the figures of a file or a socket.
    pub fn of_io(self) -> IoOperation {
        match self {
            Self::Read | Self::Receive => IoOperation::Read,
            Self::Write | Self::Send => IoOperation::Write,
            _ => IoOperation::Misc,
        }
    }
}
