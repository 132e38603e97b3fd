//! TLS of a real server: where it is asked for, what is reloaded, and clients that do not keep to the protocol.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::Path;
use std::time::{Duration, Instant};
use testkit::raw::RawClient;
use testkit::{Answer, Server, TempDir, run};

/// Capabilities of a client that asks for TLS: with 4.1's protocol, TLS and 4.1's passwords.
const WANTS_TLS: u32 = 0x0200 | 0x0800 | 0x8000;

fn over_tcp(server: &Server, options: &[&str], sql: &str) -> Answer {
    run(server.tcp_client().args(options).args(["-e", sql]))
}

/// A client that has asked for TLS and says nothing more.
fn asking(server: &Server) -> RawClient {
    let mut client = RawClient::connect(server);
    let greeting = client.packet().expect("a greeting");
    assert_eq!(greeting[0], 10);
    let mut request = WANTS_TLS.to_le_bytes().to_vec();
    request.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    request.push(255);
    request.extend_from_slice(&[0; 23]);
    assert!(client.send_packet(1, &request));
    client
}

fn status(server: &Server, name: &str) -> u64 {
    let line = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    line.split('\t').nth(1).unwrap().parse().unwrap()
}

#[test]
fn insecure_transport_is_refused_where_it_is_to_be() {
    let data = TempDir::new();
    let server = Server::with().option("--require-secure-transport=ON").start(data.path());
    let plain = over_tcp(&server, &["--skip-ssl"], "SELECT 1");
    assert!(plain.err.contains("3159"), "{}", plain.err);
    let secured = over_tcp(&server, &["--ssl"], "SELECT 1");
    assert_eq!(secured.text(), "1", "{}", secured.err);
    let socket = run(server.client().args([
        "--skip-ssl",
        "-e",
        "SET GLOBAL require_secure_transport = OFF",
    ]));
    assert!(socket.ok, "{}", socket.err);
    assert_eq!(over_tcp(&server, &["--skip-ssl"], "SELECT 1").text(), "1");
}

#[test]
fn the_status_tells_of_the_connection_that_asks() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let all = "SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Ssl_version', 'Ssl_verify_mode')";
    let plain = over_tcp(&server, &["--skip-ssl"], all);
    assert_eq!(plain.text(), "Ssl_cipher\t\nSsl_verify_mode\t0\nSsl_version\t");
    let secured = over_tcp(&server, &["--ssl"], all);
    let cipher = "Ssl_cipher\tTLS_";
    assert!(secured.text().starts_with(cipher), "{}", secured.out);
    assert!(
        secured.text().ends_with("Ssl_verify_mode\t5\nSsl_version\tTLSv1.3"),
        "{}",
        secured.out
    );
    let kind = "SELECT CONNECTION_TYPE FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
    let kinds =
        ["--skip-ssl", "--ssl"].map(|how| over_tcp(&server, &[how], kind).text().to_string());
    assert_eq!(kinds, ["TCP/IP", "SSL/TLS"]);
    let channel = "SELECT VALUE FROM performance_schema.tls_channel_status
                   WHERE PROPERTY IN ('Enabled', 'Current_tls_cert', 'Ssl_server_not_after')";
    let shown = server.sql(channel);
    assert!(shown.starts_with("Yes\nserver-cert.pem\n") && shown.ends_with(" GMT"), "{shown}");
    let named =
        "SELECT @@ssl_ca, @@ssl_cert, @@ssl_key, @@tls_version, @@have_ssl, @@auto_generate_certs";
    assert_eq!(
        server.sql(named),
        "ca.pem\tserver-cert.pem\tserver-key.pem\tTLSv1.2,TLSv1.3\tYES\t1"
    );
}

#[test]
fn a_statement_is_one_send_with_tls_as_without() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--performance-schema-instrument=wait/io/socket/sql/client_connection=ON")
        .start(data.path());
    let sends = |how: &str| {
        let own = "SELECT s.COUNT_WRITE FROM performance_schema.socket_summary_by_instance s
                   JOIN performance_schema.socket_instances i USING (OBJECT_INSTANCE_BEGIN)
                   JOIN performance_schema.threads t ON t.THREAD_ID = i.THREAD_ID
                   WHERE t.PROCESSLIST_ID = CONNECTION_ID()";
        let script = format!("{}{own}", "DO 1;".repeat(200));
        over_tcp(&server, &[how], &script).text().parse::<u64>().unwrap()
    };
    let (plain, secured) = (sends("--skip-ssl"), sends("--ssl"));
    assert!((200..210).contains(&plain), "{plain}");
    // The server's part of the handshake, and keys for another connection.
    assert!((plain..=plain + 3).contains(&secured), "{secured} beside {plain}");
}

#[test]
fn a_server_without_certificates_offers_none() {
    let data = TempDir::new();
    for option in ["--auto-generate-certs=OFF", "--tls-version="] {
        let server = Server::with().option(option).start(data.path());
        let mut client = RawClient::connect(&server);
        let greeting = client.packet().unwrap();
        let version = greeting.iter().position(|b| *b == 0).unwrap();
        let capabilities = u16::from_le_bytes([greeting[version + 14], greeting[version + 15]]);
        assert_eq!(u32::from(capabilities) & 0x0800, 0, "{option}");
        assert_eq!(server.sql("SELECT @@have_ssl"), "DISABLED");
        // Who asks all the same is told.
        let mut asking = asking(&server);
        assert_eq!(asking.expect_error(), 1043);
    }
    // A certificate that is none.
    std::fs::write(data.path().join("data/wrong.pem"), "wrong").unwrap();
    let server = Server::with()
        .option("--ssl-cert=wrong.pem")
        .option("--ssl-key=wrong.pem")
        .start(data.path());
    assert!(server.log().contains("Failed to set up SSL"), "{}", server.log());
    assert_eq!(server.sql("SELECT @@have_ssl"), "DISABLED");
}

/// Whether the server shows a certificate of the authority in this folder.
fn shown_certificate(server: &Server, ca: &Path) -> bool {
    let ca = format!("--ssl-ca={}", ca.join("data/ca.pem").display());
    over_tcp(server, &[&ca, "--ssl-verify-server-cert"], "SELECT 1").ok
}

#[test]
fn certificates_are_reloaded_or_stay_as_they_were() {
    let (data, other) = (TempDir::new(), TempDir::new());
    let server = Server::start(data.path());
    let _other = Server::start(other.path());
    let mut open = server.converse();
    assert_eq!(open.ask("SELECT 1"), ["1"]);
    assert!(shown_certificate(&server, data.path()) && !shown_certificate(&server, other.path()));
    let set = |name: &str, file: &str| {
        server.sql(&format!(
            "SET GLOBAL {name} = '{}'",
            other.path().join("data").join(file).display()
        ));
    };
    // One file of two: they do not go together.
    set("ssl_cert", "server-cert.pem");
    let refused = server.sql_error("ALTER INSTANCE RELOAD TLS");
    assert!(refused.contains("3888"), "{refused}");
    assert!(shown_certificate(&server, data.path()), "what was offered stays");
    set("ssl_key", "server-key.pem");
    set("ssl_ca", "ca.pem");
    assert!(shown_certificate(&server, data.path()), "until it is reloaded");
    server.sql("ALTER INSTANCE RELOAD TLS");
    assert!(shown_certificate(&server, other.path()) && !shown_certificate(&server, data.path()));
    assert_eq!(open.ask("SELECT 2"), ["2"], "a connection of before goes on");
    let wrong = server.sql_error("ALTER INSTANCE RELOAD TLS FOR CHANNEL nosuch");
    assert!(wrong.contains("1149"), "{wrong}");
    for (name, value) in
        [("tls_version", "TLSv1.1"), ("tls_ciphersuites", "x"), ("ssl_cipher", "x")]
    {
        let refused = server.sql_error(&format!("SET GLOBAL {name} = '{value}'"));
        assert!(refused.contains("1231"), "{refused}");
    }
    set("ssl_ca", "nosuch.pem");
    let warned = server.sql("ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR; SHOW WARNINGS");
    assert!(warned.starts_with("Warning\t3888\t"), "{warned}");
    assert!(!shown_certificate(&server, other.path()), "there is none any more");
    assert_eq!(over_tcp(&server, &["--skip-ssl"], "SELECT 1").text(), "1");
    assert_eq!(open.ask("SELECT 3"), ["3"]);
}

#[test]
fn who_asks_for_tls_and_sends_something_else_is_told_and_let_go() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let before = status(&server, "Ssl_accepts");
    // A login in clear right behind: neither understood nor done.
    for garbage in [
        &b"\x20\0\0\x02 SELECT SLEEP(60)"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xFF; 5000],
        &[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0],
        b"\x16\x03\x01\x40\x01",
    ] {
        let mut client = asking(&server);
        client.send(garbage);
        let mut rest = Vec::new();
        while let Some(packet) = client.packet() {
            rest.push(packet);
        }
        assert!(rest.is_empty(), "no packet of the protocol in clear: {rest:?}");
    }
    assert_eq!(status(&server, "Ssl_accepts"), before + 5);
    assert_eq!(server.sql("SELECT 1"), "1");
}

#[test]
fn a_handshake_that_stops_half_way_ends_with_the_time_of_a_login() {
    let data = TempDir::new();
    let server = Server::with().option("--connect-timeout=2").start(data.path());
    let aborted = status(&server, "Aborted_connects");
    let begun = Instant::now();
    let mut silent: Vec<_> = (0..20).map(|_| asking(&server)).collect();
    let mut slow = asking(&server);
    // The first bytes of a hello, one by one: a byte now and then buys no more time.
    for byte in [0x16, 3, 1, 1, 0, 1, 0, 0] {
        if !slow.send(&[byte]) {
            break;
        }
        assert_eq!(server.sql("SELECT 1"), "1", "others are served");
        testkit::pause(400);
    }
    assert!(slow.packet().is_none());
    assert!(silent.iter_mut().all(|client| client.packet().is_none()));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let gone = |server: &Server| status(server, "Aborted_connects") >= aborted + 21;
    assert!((0..200).any(|_| gone(&server) || {
        testkit::pause(25);
        false
    }));
}
