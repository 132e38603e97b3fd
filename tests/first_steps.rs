//! What a newcomer does first: start, connect with stock clients, look around, stop, start again.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::{Server, TempDir};

#[test]
fn stock_clients_connect_over_the_socket_and_over_tcp() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    assert_eq!(server.sql("SELECT 1"), "1");
    let over_tcp = testkit::client::run(server.tcp_client().args(["-e", "SELECT 'tcp'"]));
    assert_eq!(over_tcp.text(), "tcp", "{}", over_tcp.err);
    assert!(server.sql("SELECT VERSION()").starts_with("8.4."));
    assert!(server.sql("SELECT @@version_comment LIMIT 1").contains("Limpid"));
    assert_eq!(server.sql("SELECT DATABASE(), USER() LIMIT 1"), "NULL\troot@localhost");
}

#[test]
fn mariadb_admin_pings_and_reports_and_shutdown_is_a_statement() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    assert!(server.admin("ping").out.contains("mysqld is alive"));
    let status = server.admin("status");
    assert!(status.out.contains("Uptime:") && status.out.contains("Questions:"), "{}", status.out);
    // MySQL has no such command any more.
    let refused = server.admin("shutdown");
    assert!(!refused.ok && refused.err.contains("Unknown command"), "{}", refused.err);
    server.sql("SHUTDOWN");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn sigterm_ends_orderly_and_everything_is_there_after_a_restart() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, c VARCHAR(20))",
    );
    server.sql("INSERT INTO d.t (c) VALUES ('a'), ('b'), ('c'); DELETE FROM d.t WHERE id = 3");
    assert_eq!(server.stop().code(), Some(0));
    let server = Server::start(folder.path());
    assert_eq!(server.sql("SELECT id, c FROM d.t ORDER BY id"), "1\ta\n2\tb");
    server.sql("INSERT INTO d.t (c) VALUES ('d')");
    assert_eq!(server.sql("SELECT id FROM d.t WHERE c = 'd'"), "4", "AUTO_INCREMENT went back");
}

#[test]
fn a_core_file_is_for_who_asks_for_it() {
    let limits = |server: &Server| {
        let text = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        let words: Vec<String> = line.split_whitespace().skip(4).map(String::from).collect();
        (words[0].clone(), words[1].clone())
    };
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    // Less than a page: no file is begun.
    assert!(limits(&server).0.parse::<u64>().is_ok_and(|bytes| bytes < 4096));
    assert_eq!(server.sql("SELECT @@core_file"), "0");
    assert_eq!(server.stop().code(), Some(0));
    let server = Server::with().option("--core-file").start(folder.path());
    let (now, most) = limits(&server);
    assert_eq!(now, most);
    assert_eq!(server.sql("SELECT @@core_file"), "1");
}

#[test]
fn help_and_version_answer_without_a_server() {
    let binary = testkit::server::binary();
    let version = testkit::client::run(std::process::Command::new(&binary).arg("--version"));
    assert!(version.ok && version.out.contains("8.4."), "{version:?}");
    let help = testkit::client::run(std::process::Command::new(&binary).arg("--help"));
    assert!(help.ok && help.out.contains("--datadir"), "{help:?}");
}

#[test]
fn options_come_from_the_command_line_and_from_option_files() {
    let folder = TempDir::new();
    let included = folder.path().join("conf.d");
    std::fs::create_dir_all(&included).unwrap();
    std::fs::write(
        included.join("a.cnf"),
        "[mysqld]\nmax-connections = 17\nloose_no_such_option=1\n",
    )
    .unwrap();
    let file = folder.path().join("my.cnf");
    let text =
        format!("[mysqld]\ninnodb_buffer_pool_size=64M\n!includedir {}\n", included.display());
    std::fs::write(&file, text).unwrap();
    // testkit passes --no-defaults first; --defaults-file must be the first option, so start by hand.
    let socket = folder.path().join("own.sock");
    let mut child = std::process::Command::new(testkit::server::binary())
        .arg(format!("--defaults-file={}", file.display()))
        .arg(format!("--datadir={}", folder.path().join("data").display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--port={}", testkit::server::free_port()))
        .spawn()
        .unwrap();
    for _ in 0..1000 {
        if std::os::unix::net::UnixStream::connect(&socket).is_ok() {
            break;
        }
        testkit::pause(20);
    }
    let answer = testkit::client::run(testkit::client::stock_client().args([
        "--no-defaults",
        &format!("--socket={}", socket.display()),
        "--user=root",
        "-BNe",
        "SELECT @@max_connections, @@innodb_buffer_pool_size",
    ]));
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(answer.text(), "17\t67108864", "{}", answer.err);
}
