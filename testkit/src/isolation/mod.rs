//! Conversations of several sessions: who waits for whom, who goes on when, and what each one reads.
//!
//! 1. A script (`NAME.conv`) says who sends what in which order; what is answered, and when, is recorded
//!    from a real MySQL into `NAME.result`, one part per isolation level.
//! 2. While it records, a statement counts as waiting when the server itself says so; while it compares,
//!    when it has not answered in a tenth of a second. An answer that is expected is waited for much longer,
//!    so a slow machine never fails a right server.
//! 3. Sessions that answer in the same step are listed by name: the order of wake-ups is not part of it.
//!
//! Reading order: [`script`] (the two file formats), [`talk`] (sessions, one conversation), [`folder`] (all
//! scripts of a folder, compared or recorded), [`random`] (conversations by seed, on two servers).

pub mod folder;
pub mod random;
pub mod script;
pub mod talk;

pub use folder::{compare_folder, record_folder, replay_folder};
pub use random::compare_random;
pub use script::{Level, Script};
