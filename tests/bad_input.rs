//! Each way of being treated badly ends in one clear message or the right MySQL error, and harms
//! nobody else.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "bad_input/floods.rs"]
mod floods;
#[path = "bad_input/slow_readers.rs"]
mod slow_readers;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;
use testkit::raw::RawClient;
use testkit::{Server, ServerBuilder, TempDir, TextClient};

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;

/// Starts a server that must refuse to; what it printed.
fn refused(builder: &ServerBuilder, folder: &TempDir) -> String {
    let mut server = builder.spawn(folder.path());
    let status = server.wait();
    let log = server.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    log
}

#[test]
fn a_port_in_use_is_one_clear_message() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = TempDir::new();
    let log = refused(&Server::with().option(format!("--port={port}")), &folder);
    assert!(log.contains(&port.to_string()) && log.to_lowercase().contains("in use"), "{log}");
}

#[test]
fn a_data_folder_of_a_running_server_is_refused() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let log = refused(
        &Server::with().option(format!("--socket={}/b.sock", folder.path().display())),
        &folder,
    );
    assert!(log.to_lowercase().contains("lock") || log.contains("another"), "{log}");
    assert_eq!(server.sql("SELECT 1"), "1");
}

#[test]
fn an_unreadable_data_folder_is_refused() {
    let folder = TempDir::new();
    // A file where the folder should be: unreadable for root too, unlike a mode of 000.
    std::fs::write(folder.path().join("data"), b"no folder").unwrap();
    let log = refused(&Server::with(), &folder);
    assert!(log.contains("data"), "{log}");
}

#[test]
fn a_foreign_data_folder_is_refused_and_left_alone() {
    let folder = TempDir::new();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("ibdata1"), b"somebody else's").unwrap();
    let log = refused(&Server::with(), &folder);
    assert!(
        log.contains("ibdata1") || log.contains("not a Limpid") || log.contains("foreign"),
        "{log}"
    );
    assert_eq!(std::fs::read(data.join("ibdata1")).unwrap(), b"somebody else's");
}

#[test]
fn a_data_folder_of_a_newer_format_is_refused() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.stop();
    let log = refused(&Server::with().option("--loose-x=1"), &newer(&folder));
    assert!(log.contains("newer"), "{log}");
}

/// Raises the format version in the data folder's control file, with a valid checksum.
fn newer(folder: &TempDir) -> TempDir {
    let copy = TempDir::new();
    let status = Command::new("cp")
        .args(["-r", &format!("{}/.", folder.path().display()), &copy.path().display().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    testkit::server::raise_format_version(&copy.path().join("data"));
    copy
}

#[test]
fn a_wrong_password_is_1045_and_the_right_one_gets_in() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("ALTER USER 'root'@'localhost' IDENTIFIED BY 'secret'");
    assert!(server.sql_error("SELECT 1").contains("1045"));
    let with = |password: &str, tcp: bool| {
        let mut client = if tcp { server.tcp_client() } else { server.client() };
        testkit::client::run(client.arg(format!("--password={password}")).args(["-e", "SELECT 1"]))
    };
    assert!(with("wrong", false).err.contains("1045"));
    for tcp in [false, true, false, true] {
        let answer = with("secret", tcp);
        assert!(answer.ok, "tcp {tcp}: {}", answer.err);
    }
    assert!(with("wrong", true).err.contains("1045"));
}

#[test]
fn another_bind_address_with_an_empty_root_password_is_refused_with_the_reason() {
    let folder = TempDir::new();
    let log = refused(&Server::with().option("--bind-address=0.0.0.0"), &folder);
    assert!(log.contains("password") && log.contains("bind"), "{log}");
}

#[test]
fn malformed_packets_end_their_own_connection_only() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let mut bystander = server.converse();
    assert_eq!(bystander.ask("SELECT 1"), ["1"]);
    for bytes in
        [&[0xff_u8; 64][..], b"\x05\x00\x00\x01abc", b"GET / HTTP/1.1\r\n\r\n", &[0, 0, 0, 1]]
    {
        let mut client = RawClient::connect(&server);
        client.packet().expect("greeting");
        client.send(bytes);
        drop(client);
    }
    // Half a packet, then silence and a close.
    let mut half = RawClient::connect(&server);
    half.login();
    half.send(&[100, 0, 0, 0, COM_QUERY, b'S']);
    drop(half);
    // Commands that make no sense answer an error and the connection lives.
    let mut odd = RawClient::connect(&server);
    odd.login();
    odd.command(0x7e, b"");
    assert_eq!(odd.expect_error(), 1047);
    odd.command(0x17, &[1, 2]);
    let number = odd.expect_error();
    assert!([1047, 1210, 1243, 1835].contains(&number), "malformed execute: {number}");
    odd.command(COM_QUIT, b"");
    assert_eq!(odd.packet(), None);
    assert_eq!(bystander.ask("SELECT 2"), ["2"]);
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn an_oversized_packet_is_1153_and_the_server_lives() {
    let folder = TempDir::new();
    let server = Server::with().option("--max-allowed-packet=1M").start(folder.path());
    let mut client = RawClient::connect(&server);
    client.login();
    // Announces 15 MB: the server must refuse by the header, not by reading it all.
    client.send(&[0xff, 0xff, 0xe0, 0, COM_QUERY]);
    client.send(&vec![b'x'; 2 << 20]);
    assert_eq!(client.expect_error(), 1153);
    assert_eq!(server.sql("SELECT 1"), "1");
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_a_result_leaves_no_session_behind() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(250) NOT NULL)");
    let row = format!("('{}')", "x".repeat(250));
    let insert = format!("INSERT INTO d.t (c) VALUES {}", vec![row; 2000].join(","));
    (0..10).for_each(|_| drop(server.sql(&insert)));
    for _ in 0..5 {
        let mut client = RawClient::connect(&server);
        client.login();
        client.command(COM_QUERY, b"SELECT * FROM d.t");
        client.packet().expect("the result begins");
        drop(client);
    }
    let mut left = String::new();
    for _ in 0..100 {
        left = server.sql("SHOW PROCESSLIST");
        if left.lines().count() == 1 {
            return;
        }
        testkit::pause(50);
    }
    panic!("sessions left behind:\n{left}");
}

#[test]
fn connects_above_max_connections_answer_1040() {
    let folder = TempDir::new();
    let server = Server::with().option("--max-connections=20").start(folder.path());
    let mut held: Vec<RawClient> = Vec::new();
    // Root gets one more than the limit, to see what is going on.
    for _ in 0..=20 {
        let mut client = RawClient::connect(&server);
        client.login();
        held.push(client);
    }
    let mut refused = 0;
    for _ in 0..2000 {
        let mut client = RawClient::connect(&server);
        let packet = client.packet().expect("an answer");
        if packet[0] == 0xff {
            assert_eq!(u16::from_le_bytes([packet[1], packet[2]]), 1040);
            refused += 1;
        }
    }
    assert_eq!(refused, 2000);
    held[0].command(14, b"");
    assert_eq!(held[0].packet().expect("an answer to ping")[0], 0);
    drop(held);
    for _ in 0..100 {
        if server.try_sql("SELECT 1").ok {
            return;
        }
        testkit::pause(50);
    }
    panic!("connections are not given back");
}

#[test]
fn a_duplicate_in_row_500_of_an_insert_takes_back_the_other_499() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, UNIQUE KEY (k))",
    );
    server.sql("INSERT INTO d.t VALUES (0, 499)");
    let rows: Vec<_> = (1..=700).map(|n| format!("({n}, {})", n - 1)).collect();
    let error = server.sql_error(&format!("INSERT INTO d.t VALUES {}", rows.join(",")));
    assert!(
        error.contains("1062") && error.contains("Duplicate entry '499' for key 't.k'"),
        "{error}"
    );
    assert_eq!(server.sql("SELECT COUNT(*), MIN(id), MAX(k) FROM d.t"), "1\t0\t499");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k >= 0"), "1");
    let kept =
        server.sql("BEGIN; INSERT INTO d.t VALUES (9000, 9000); COMMIT; SELECT COUNT(*) FROM d.t");
    assert_eq!(kept, "2");
}

/// Most of the names are of no table, and one is in use.
#[test]
fn a_drop_of_ten_thousand_names_is_all_or_nothing() {
    const NAMES: usize = 10_000;
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let tables = (0..NAMES).step_by(50).map(|n| format!("CREATE TABLE d.n{n} (i INT);"));
    server.sql(&format!("CREATE DATABASE d; {}", tables.collect::<String>()));
    let names = (0..NAMES).map(|n| format!("d.n{n}")).collect::<Vec<_>>().join(", ");
    let count = |what: &str| server.sql(&format!("SELECT COUNT(*) FROM {what} = 'd'"));
    let tables = || count("information_schema.tables WHERE table_schema");
    let locks = || count("performance_schema.metadata_locks WHERE object_schema");
    let (mut client, mut reader) =
        (TextClient::connect(server.socket()), TextClient::connect(server.socket()));
    client.set_patience(Some(Duration::from_secs(60)));
    let error = client.query(&format!("DROP TABLE {names}")).unwrap_err();
    assert_eq!((error.number, error.state.as_str()), (1051, "42S02"));
    assert!(error.text.starts_with("Unknown table 'd.n1,d.n2,d.n3,"), "{}", error.text);
    assert!(error.text.len() <= 512, "{}", error.text);
    ["BEGIN", "SELECT * FROM d.n9950"].iter().for_each(|sql| assert_eq!(reader.code(sql), 0));
    let statement = format!("DROP TABLE IF EXISTS {names}");
    assert_eq!(client.code(&format!("{statement} NOWAIT")), 1205);
    assert_eq!((tables().as_str(), locks().as_str()), ("200", "1"));
    assert_eq!(reader.code("COMMIT"), 0);
    assert_eq!(client.query(&statement).unwrap().warnings, 9800);
    let notes = client.query("SHOW WARNINGS").unwrap().rows;
    let first = notes[0].iter().flatten().map(|cell| String::from_utf8_lossy(cell));
    assert_eq!(first.collect::<Vec<_>>(), ["Note", "1051", "Unknown table 'd.n1'"]);
    assert_eq!(notes.len(), 1024, "max_error_count");
    assert_eq!((tables().as_str(), locks().as_str()), ("0", "0"));
}

/// A small file system of its own, gone at the end.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(folder: &TempDir, size: &str) -> Option<SmallDisk> {
        let path = folder.path().join("small");
        std::fs::create_dir(&path).ok()?;
        let mounted = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size}"),
                "limpid-test",
                &path.display().to_string(),
            ])
            .status()
            .ok()?;
        mounted.success().then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_fills_up_while_loading_is_1114_and_the_server_lives() {
    let folder = TempDir::new();
    let Some(disk) = SmallDisk::mount(&folder, "260M") else {
        return testkit::skip(
            "no small file system can be mounted; the engine's own disk-full tests stand in",
        );
    };
    std::fs::set_permissions(&disk.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let server = Server::start(&disk.0);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(250) NOT NULL)");
    let insert = format!(
        "INSERT INTO d.t (c) VALUES {}",
        vec![format!("('{}')", "x".repeat(250)); 4000].join(",")
    );
    let (mut loaded, mut full) = (0_u64, String::new());
    for _ in 0..400 {
        let answer = server.try_sql(&insert);
        if !answer.ok {
            full = answer.err;
            break;
        }
        loaded += 4000;
    }
    assert!(full.contains("1114") || full.contains("1021"), "{full}\n{}", server.log());
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), loaded.to_string());
    server.sql("CREATE DATABASE still_here");
    drop(server);
}
