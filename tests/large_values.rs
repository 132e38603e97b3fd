//! TEXT and BLOB values of all sizes through a stock client: stored, changed, deleted, and there after a
//! restart and after `kill -9`; long data of prepared statements; damage named by table, index and page.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::io::Write;
use std::path::{Path, PathBuf};
use testkit::raw::RawClient;
use testkit::{Server, TempDir};

const MB: usize = 1 << 20;
const SIZES: [usize; 4] = [1000, 20_000, MB, 20 * MB];

/// Text that no compression and no shift leaves looking the same.
fn text(size: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut out = String::with_capacity(size);
    while out.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.push(char::from(b'a' + (state % 26) as u8));
    }
    out
}

/// Runs a text of any length through the stock client's standard input.
fn run(server: &Server, sql: &str) {
    let folder = TempDir::new();
    let path = folder.path().join("statements.sql");
    std::fs::File::create(&path).unwrap().write_all(sql.as_bytes()).unwrap();
    let mut client = server.client();
    client.args(["--max-allowed-packet=64M", "d"]).stdin(std::fs::File::open(&path).unwrap());
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The value of one row as the stock client prints it.
fn value(server: &Server, id: usize, column: &str) -> String {
    let sql = format!("SELECT {column} FROM t WHERE id = {id}");
    let mut client = server.client();
    client.args(["--max-allowed-packet=64M", "--skip-column-names", "--batch", "--quick"]);
    let output = client.args(["d", "-e", &sql]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_string()
}

fn assert_stored(server: &Server, seed: u64, round: &str) {
    for (id, size) in SIZES.into_iter().enumerate() {
        let wanted = text(size, seed + id as u64);
        for column in ["a", "b"] {
            let got = value(server, id, column);
            assert!(got == wanted, "{round}: {column} of {size} bytes: {} came back", got.len());
        }
    }
}

#[test]
fn values_of_all_sizes_are_stored_changed_and_deleted() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE d");
    run(&server, "CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGBLOB, KEY (a(20)))");
    for (id, size) in SIZES.into_iter().enumerate() {
        let v = text(size, 1 + id as u64);
        run(&server, &format!("INSERT INTO t VALUES ({id}, '{v}', '{v}')"));
    }
    assert_stored(&server, 1, "inserted");
    assert_eq!(server.sql("CHECK TABLE d.t").lines().last().unwrap(), "d.t\tcheck\tstatus\tOK");
    assert!(server.stop().success());

    server = Server::start(folder.path());
    assert_stored(&server, 1, "restarted");
    for (id, size) in SIZES.into_iter().enumerate() {
        let v = text(size, 11 + id as u64);
        run(&server, &format!("UPDATE t SET a = '{v}', b = '{v}' WHERE id = {id}"));
    }
    assert_stored(&server, 11, "updated");
    // A transaction that is rolled back leaves nothing, one that is not committed does not survive.
    run(&server, "BEGIN; UPDATE t SET a = 'x', b = NULL; ROLLBACK");
    assert_stored(&server, 11, "rolled back");
    server.kill();

    server = Server::start(folder.path());
    assert_stored(&server, 11, "after kill -9");
    let prefix = &text(MB, 13)[..];
    let sql = format!("SELECT id FROM d.t WHERE a = '{}'", &prefix[..100]);
    assert_eq!(server.sql(&sql), "", "a prefix is not the value");
    assert_eq!(
        server.sql("SELECT id, LENGTH(a), LENGTH(b) FROM d.t WHERE id = 3"),
        "3\t20971520\t20971520"
    );
    assert_eq!(server.sql("SELECT COUNT(DISTINCT a) FROM d.t"), "4");
    server.sql("DELETE FROM d.t WHERE id IN (1, 3)");
    assert_eq!(
        server.sql("SELECT id FROM d.t ORDER BY a"),
        server.sql("SELECT id FROM d.t ORDER BY LEFT(a, 50)")
    );
    assert_eq!(server.sql("CHECK TABLE d.t").lines().last().unwrap(), "d.t\tcheck\tstatus\tOK");
}

/// A statement larger than `max_allowed_packet` is refused before it is read to its end.
#[test]
fn packets_beyond_max_allowed_packet_are_refused() {
    let folder = TempDir::new();
    let server = Server::with().option("--max-allowed-packet=1M").start(folder.path());
    let mut client = RawClient::connect(&server);
    client.login();
    let mut sql = b"\x03SELECT '".to_vec();
    sql.resize(2 * MB, b'x');
    let _ = client.send_packet(0, &sql);
    assert_eq!(client.expect_error(), 1153);
}

/// The answer of one command that may come in several pieces.
fn long_packet(client: &mut RawClient) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let piece = client.packet().expect("an answer");
        whole.extend_from_slice(&piece);
        if piece.len() < 0xFF_FFFF {
            return whole;
        }
    }
}

#[test]
fn long_data_of_a_prepared_statement_and_binary_rows_above_16_mb() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, b LONGBLOB)");
    let mut client = RawClient::connect(&server);
    client.login();
    assert!(client.command(0x16, b"INSERT INTO d.t VALUES (1, ?)"));
    let prepared = client.packet().unwrap();
    let id = prepared[1..5].to_vec();
    client.packet().unwrap();
    client.packet().unwrap();
    let value = text(18 * MB, 3).into_bytes();
    for piece in value.chunks(3 * MB) {
        assert!(client.command(0x18, &[&id[..], &[0, 0], piece].concat()));
    }
    assert!(client.command(0x17, &[&id[..], &[0, 1, 0, 0, 0, 0, 1, 0xFC, 0]].concat()));
    assert_eq!(client.packet().unwrap()[0], 0, "the insert");
    assert!(client.command(0x16, b"SELECT b FROM d.t WHERE id = 1"));
    let id = client.packet().unwrap()[1..5].to_vec();
    client.packet().unwrap();
    client.packet().unwrap();
    assert!(client.command(0x17, &[&id[..], &[0, 1, 0, 0, 0]].concat()));
    for _ in 0..3 {
        client.packet().unwrap();
    }
    let row = long_packet(&mut client);
    assert_eq!(row[..3], [0, 0, 0xFE], "a binary row with an eight-byte length");
    assert!(row[11..] == value, "{} bytes came back", row.len());
}

/// Files below a folder whose names begin so, ordered.
fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with(prefix) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Flips a byte in the last leaf of every index; the pages.
fn damage_leaves(file: &Path) -> Vec<u32> {
    const PAGE: usize = 16 * 1024;
    let mut bytes = std::fs::read(file).unwrap();
    let mut last = std::collections::BTreeMap::new();
    for (number, page) in bytes.chunks(PAGE).enumerate() {
        // Byte 12 is the page's kind (1: leaf), bytes 24 to 31 are its index.
        if page[12] == 1 {
            last.insert(page[24..32].to_vec(), number);
        }
    }
    for number in last.values() {
        bytes[number * PAGE + PAGE - 100] ^= 0x10;
    }
    std::fs::write(file, bytes).unwrap();
    last.values().map(|n| *n as u32).collect()
}

#[test]
fn damage_is_named_by_table_index_and_page() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, c CHAR(200) NOT NULL, KEY k_1 (k))",
    );
    let rows = vec!["(NULL, RAND_K, 'c')"; 2000].join(", ");
    let mut number = 0;
    let rows: String = rows
        .split("RAND_K")
        .map(|part| {
            number += 7919;
            format!("{part}{}", number % 2000)
        })
        .collect();
    let rows = rows.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
    server.sql(&format!("INSERT INTO d.t VALUES {rows}"));
    server.sql("CREATE TABLE d.sound (id INT PRIMARY KEY); INSERT INTO d.sound VALUES (1)");
    assert!(server.stop().success());
    // With the doublewrite copies of its last pages, the next start would mend them.
    for copies in files(folder.path(), "doublewrite_") {
        std::fs::remove_file(copies).unwrap();
    }
    let pages = damage_leaves(&files(folder.path(), "space_")[0]);
    assert_eq!(pages.len(), 2, "a leaf of each index");

    let server = Server::start(folder.path());
    let error = server.sql_error("SELECT SUM(k), MAX(c) FROM d.t");
    assert!(error.contains("ERROR 1712 (HY000)"), "{error}");
    assert!(error.contains(&format!("Index `d`.`t`.`PRIMARY` (page {}: ", pages[0])), "{error}");
    assert!(error.contains("is corrupted"), "{error}");
    let error = server.sql_error("SELECT id FROM d.t FORCE INDEX (k_1) WHERE k >= 0");
    assert!(error.contains("ERROR 1712 (HY000)"), "{error}");
    let report = server.sql("CHECK TABLE d.t, d.sound");
    let lines: Vec<_> = report.lines().collect();
    assert_eq!(lines.len(), 4, "{report}");
    for (line, (index, page)) in lines.iter().zip(["PRIMARY", "k_1"].iter().zip(&pages)) {
        let wanted = format!("d.t\tcheck\tError\tIndex '{index}': page {page}: ");
        assert!(line.starts_with(&wanted), "{report}");
    }
    assert_eq!(lines[2], "d.t\tcheck\terror\tCorrupt");
    assert_eq!(lines[3], "d.sound\tcheck\tstatus\tOK");
    assert!(server.sql("CHECKSUM TABLE d.t, d.sound").starts_with("d.t\tNULL\nd.sound\t"));
    // The rows before the damage are still read.
    assert_eq!(server.sql("SELECT id FROM d.t WHERE id = 1"), "1");
}
