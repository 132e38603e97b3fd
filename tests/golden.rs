//! Recorded conversations with the stock client, by feature: `tests/sql/*.sql` and their `.result`.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::Path;
use testkit::{Server, TempDir};

#[test]
fn recorded_conversations_come_out_the_same() {
    let folder = TempDir::new();
    // Else figures gathered in the midst of a script would change its plans.
    let server = Server::with().option("--innodb-stats-auto-recalc=OFF").start(folder.path());
    testkit::golden::run_folder(&server, &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql"));
}
