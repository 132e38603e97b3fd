//! Disk space that a long view's history took goes back to the file system, by itself and under traffic.

#![allow(clippy::unwrap_used)] // tests

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Conversation, Server, TempDir};

const MB: u64 = 1 << 20;
/// Rows, and how often each is changed under the view: 200 MB of undo.
const ROWS: u64 = 400;
const ROUNDS: u64 = 70;
const PAD: u64 = 7000;
/// The reserve of 32 MiB; up to 8 that the file has grown ahead of need; three extents of what the space begins with;
/// and for each undo segment the extent of its first page and that of its top. One connection makes all changes:
/// three or four segments, one of them while the others are being cut.
const LEFT_MB_MAX: u64 = 32 + 8 + 3 + 2 * 4;

/// What the file takes of the file system, in MiB.
fn takes_mb(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("data/undo.lim")).unwrap().blocks() * 512 / MB
}

fn change_all(changer: &mut Conversation, round: u64) {
    changer.ask(&format!("UPDATE d.t SET n = n + 1, pad = REPEAT(CHAR(97 + {round} % 26), {PAD})"));
}

fn check(server: &Server, rounds: u64) {
    let sums = server.sql("SELECT COUNT(*), SUM(n) FROM d.t");
    assert_eq!(sums.trim(), format!("{ROWS}\t{}", ROWS * rounds));
    let checked = server.sql("CHECK TABLE d.t");
    assert!(checked.trim().ends_with("OK"), "{checked}");
}

#[test]
fn history_gives_its_disk_space_back_when_nobody_needs_it() {
    let folder = TempDir::new();
    let options = || {
        Server::with()
            .option("--innodb-buffer-pool-size=64M")
            .option("--innodb-max-undo-log-size=10485760")
            .option("--log-error-verbosity=3")
    };
    let mut server = options().start(folder.path());
    server.sql("CREATE DATABASE d");
    server.sql("CREATE TABLE d.t (id INT PRIMARY KEY, n INT NOT NULL, pad VARCHAR(8000) NOT NULL)");
    server.sql(&format!(
        "SET cte_max_recursion_depth = {ROWS};
         INSERT INTO d.t WITH RECURSIVE c AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM c WHERE i < {ROWS})
         SELECT i, 0, REPEAT('x', {PAD}) FROM c"
    ));
    let mut viewer = server.converse();
    viewer.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let mut changer = server.converse();
    (0..ROUNDS).for_each(|round| change_all(&mut changer, round));
    let most = takes_mb(folder.path());
    assert!(most >= 180, "{most} MiB of undo");
    let length = std::fs::metadata(folder.path().join("data/undo.lim")).unwrap().len();
    assert_eq!(viewer.ask("SELECT COUNT(*), SUM(n) FROM d.t"), [format!("{ROWS}\t0")]);
    viewer.ask("COMMIT");

    // Traffic goes on meanwhile, and nobody waits long.
    let (end, mut rounds, mut longest) =
        (Instant::now() + Duration::from_secs(60), ROUNDS, Duration::ZERO);
    while takes_mb(folder.path()) > LEFT_MB_MAX {
        assert!(Instant::now() < end, "{} of {most} MiB are left", takes_mb(folder.path()));
        let start = Instant::now();
        changer.ask(&format!("UPDATE d.t SET n = n + {ROWS} WHERE id = {}", rounds % ROWS + 1));
        longest = longest.max(start.elapsed());
        rounds += 1;
    }
    println!("{most} MiB, then {}; the slowest update {longest:?}", takes_mb(folder.path()));
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    assert_eq!(std::fs::metadata(folder.path().join("data/undo.lim")).unwrap().len(), length);
    let count =
        "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'undo_truncate_count'";
    while server.sql(count).trim() == "0" {
        assert!(Instant::now() < end, "it has no end");
        testkit::pause(100);
    }
    check(&server, rounds);

    // What was given back is taken again, also by who starts anew on such a file.
    let stopped = server.stop();
    assert!(stopped.success(), "{stopped}");
    let mut server = options().start(folder.path());
    check(&server, rounds);
    let mut viewer = server.converse();
    viewer.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let mut changer = server.converse();
    (0..ROUNDS / 4).for_each(|round| change_all(&mut changer, round));
    assert!(takes_mb(folder.path()) > LEFT_MB_MAX);
    rounds += ROUNDS / 4;
    server.kill();
    let server = options().start(folder.path());
    check(&server, rounds);
}
