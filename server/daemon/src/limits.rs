//! What the system lets this process have: open files, and a core file when it dies.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Less than a core file can have, so that none is written. A program that the system hands them to (`kernel.core_pattern`) is
/// bound by no limit but this one, by which the kernel knows processes of which nobody wants any.
const NO_CORE_BYTES: u64 = 1;

/// Every connection and table is an open file: takes what the system gives without asking for more.
pub fn raise_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// `core_file`: memory may have passwords in it and has rows of tables, so a core file is written only for who asks for it.
/// False: one that is asked for may be cut short.
pub fn allow_core(wanted: bool) -> bool {
    let limit = getrlimit(Resource::Core);
    if !wanted {
        let current = Some(limit.maximum.unwrap_or(NO_CORE_BYTES).min(NO_CORE_BYTES));
        return setrlimit(Resource::Core, Rlimit { current, ..limit }).is_ok();
    }
    let all = setrlimit(Resource::Core, Rlimit { current: None, maximum: None }).is_ok();
    if !all {
        let _ = setrlimit(Resource::Core, Rlimit { current: limit.maximum, ..limit });
    }
    all
}
