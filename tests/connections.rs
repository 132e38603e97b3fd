//! How connections come in: through a proxy, by the administrators' entrance, too many of them, too slowly, or never whole.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use testkit::raw::{RawClient, response};
use testkit::{Server, TempDir, run};

const COM_QUERY: u8 = 3;
const CONNECT_WITH_DB: u32 = 1 << 3;

/// A header of the PROXY protocol, version 2, of a client at 203.0.113.`last`.
fn header(last: u8) -> Vec<u8> {
    let addresses = [203, 0, 113, last, 10, 0, 0, 1, 0x1F, 0x90, 0x0C, 0xEA];
    [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0C"[..], &addresses].concat()
}

/// A client behind a proxy, which has sent its header and has been greeted.
fn proxied(server: &Server, header: &[u8]) -> (RawClient, Vec<u8>) {
    let mut client = RawClient::connect(server);
    assert!(client.send(header));
    let greeting = client.packet().expect("a greeting");
    assert_eq!(greeting[0], 10, "{greeting:?}");
    (client, greeting)
}

fn number(packet: &[u8]) -> u16 {
    assert_eq!(packet[0], 0xFF, "{packet:?}");
    u16::from_le_bytes([packet[1], packet[2]])
}

fn root(greeting: &[u8]) -> Vec<u8> {
    response(greeting, "root", "", 0, b"")
}

fn hosts(server: &Server, columns: &str) -> String {
    server.sql(&format!("SELECT {columns} FROM performance_schema.host_cache ORDER BY ip"))
}

/// What the process list shows of clients behind a proxy is where these are, in either version and in pieces.
#[test]
fn a_proxy_tells_where_its_clients_are() {
    let data = TempDir::new();
    let server =
        Server::with().option("--proxy-protocol-networks=localhost,10.0.0.0/8").start(data.path());
    // There is no account for them; the error names the client's host.
    let lines: [&[u8]; 2] = [&header(7), b"PROXY TCP4 203.0.113.7 10.0.0.1 8080 3306\r\n"];
    for line in lines {
        let (mut client, greeting) = proxied(&server, line);
        assert!(client.send_packet(1, &root(&greeting)));
        let refused = client.packet().unwrap();
        let text = String::from_utf8_lossy(&refused[9..]).into_owned();
        assert_eq!(number(&refused), 1045);
        assert!(text.contains("'root'@'203.0.113.7'"), "{text}");
    }
    // Byte by byte, with the login behind it in one piece with its end.
    let line = b"PROXY TCP6 ::1 ::1 8080 3306\r\n";
    let mut client = RawClient::connect(&server);
    for byte in &line[..line.len() - 2] {
        assert!(client.send(&[*byte]));
        testkit::pause(2);
    }
    let greeting = client.packet().unwrap();
    let login = root(&greeting);
    let packet = [&b"\r\n"[..], &[login.len() as u8, 0, 0, 1], &login].concat();
    assert!(client.send(&packet));
    assert_eq!(client.packet().unwrap()[0], 0, "loopback is localhost");
    let list =
        server.sql("SELECT host FROM information_schema.processlist WHERE command = 'Sleep'");
    assert_eq!(list, "localhost:8080");
    // One without a header is itself.
    let mut plain = RawClient::connect(&server);
    plain.login();
    assert!(plain.command(0x0E, b"") && plain.packet().unwrap()[0] == 0);
}

#[test]
fn headers_of_others_and_broken_ones_are_refused() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let (mut client, _) = proxied(&server, &header(7));
    assert_eq!(number(&client.packet().unwrap()), 1156);
    assert!(client.packet().is_none());
    server.sql("SET GLOBAL proxy_protocol_networks = 'localhost'");
    let too_long = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xFF\xFF";
    let line = [&b"PROXY "[..], &[b'x'; 200]].concat();
    for broken in [&too_long[..], &line, b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0"] {
        let (mut client, _) = proxied(&server, broken);
        assert_eq!(number(&client.packet().unwrap()), 1156);
        assert!(client.packet().is_none());
    }
    // Two of them.
    let (mut client, _) = proxied(&server, &[header(7), header(8)].concat());
    assert_eq!(number(&client.packet().unwrap()), 1156);
    let refused = server.sql_error("SET GLOBAL proxy_protocol_networks = 'host.example'");
    assert!(refused.contains("1231"), "{refused}");
    assert_eq!(server.sql("SELECT 1"), "1");
}

#[test]
fn hosts_whose_handshakes_fail_are_blocked_until_the_cache_is_emptied() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--proxy-protocol-networks=localhost")
        .option("--max-connect-errors=3")
        .option("--host-cache-size=2")
        .start(data.path());
    let fails = |last| {
        let (mut client, _) = proxied(&server, &header(last));
        assert!(client.send(b"\x01\0\0\x05x"));
        client.packet().map(|packet| number(&packet))
    };
    let is_refused = |last| {
        let (mut client, greeting) = proxied(&server, &header(last));
        client.send_packet(1, &root(&greeting));
        number(&client.packet().unwrap())
    };
    assert_eq!(
        (is_refused(1), fails(1), fails(1), is_refused(1)),
        (1045, Some(1156), Some(1156), 1045)
    );
    let columns = "ip, host, host_validated, sum_connect_errors, count_handshake_errors, \
                   count_authentication_errors, count_host_blocked_errors, first_error_seen <= last_error_seen";
    assert_eq!(hosts(&server, columns), "203.0.113.1\tNULL\tYES\t2\t2\t2\t0\t1");
    assert_eq!((fails(1), is_refused(1)), (Some(1156), 1129));
    assert_eq!(hosts(&server, "sum_connect_errors, count_host_blocked_errors"), "3\t1");
    // Others come in; so do those of a host that is let in again. FLUSH HOSTS is no statement of MySQL 8.4 any more.
    assert_eq!(is_refused(2), 1045);
    assert!(server.sql_error("FLUSH HOSTS").contains("1064"));
    server.sql("TRUNCATE TABLE performance_schema.host_cache");
    assert_eq!(is_refused(1), 1045);
    // As many are kept as there is room for.
    assert_eq!((is_refused(2), is_refused(3)), (1045, 1045));
    assert_eq!(hosts(&server, "ip"), "203.0.113.2\n203.0.113.3");
    // A client that goes away has not come in either; nobody is blocked with a cache of none.
    drop(proxied(&server, &header(3)));
    let counted = |_| {
        hosts(&server, "sum_connect_errors").ends_with('1') || {
            testkit::pause(20);
            false
        }
    };
    assert!((0..100).any(counted), "{}", hosts(&server, "ip, sum_connect_errors"));
    server.sql("SET GLOBAL host_cache_size = 0");
    assert_eq!([fails(3), fails(3), fails(3), fails(3)], [Some(1156); 4]);
}

#[test]
fn administrators_have_an_entrance_of_their_own() {
    let data = TempDir::new();
    let port = testkit::server::free_port();
    let server = Server::with()
        .option("--max-connections=2")
        .option("--admin-address=127.0.0.1")
        .option(format!("--admin-port={port}"))
        .start(data.path());
    let mut full: Vec<RawClient> = Vec::new();
    for _ in 0..3 {
        let mut client = RawClient::connect(&server);
        client.login();
        full.push(client);
    }
    let mut refused = RawClient::connect(&server);
    assert_eq!(number(&refused.packet().unwrap()), 1040);
    let ask = |sql: &str| {
        let mut command = server.tcp_client();
        command.args([&format!("--port={port}"), "--skip-ssl", "-e", sql]);
        run(&mut command)
    };
    for _ in 0..3 {
        let count = ask("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root'");
        assert_eq!(count.text(), "4", "{}", count.err);
    }
    // They do not count: the others have all their places.
    drop(full.pop());
    let again = |_| {
        let mut client = RawClient::connect(&server);
        let first = client.packet().unwrap();
        first[0] == 10 || {
            testkit::pause(20);
            false
        }
    };
    assert!((0..200).any(again));
    assert!(server.log().contains("Admin interface ready for connections"), "{}", server.log());
    assert_eq!(ask("SELECT @@admin_address, @@admin_port").text(), format!("127.0.0.1\t{port}"));
}

#[test]
fn no_wildcard_is_an_administrators_address() {
    for address in ["0.0.0.0", "*", "::"] {
        let data = TempDir::new();
        let mut server =
            Server::with().option(format!("--admin-address={address}")).spawn(data.path());
        assert_eq!(server.wait().code(), Some(1), "{address}");
    }
}

fn resident_bytes(server: &Server) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{}/statm", server.pid())).unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// They have the time of a login together, cost little meanwhile, and keep nobody from being served.
#[test]
fn a_thousand_clients_that_send_a_byte_a_second_are_let_go() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--connect-timeout=3")
        .option("--log-error-verbosity=3")
        .option("--max-connections=2000")
        .start(data.path());
    let before = resident_bytes(&server);
    let begun = Instant::now();
    let mut slow: Vec<UnixStream> =
        (0..1000).map(|_| UnixStream::connect(server.socket()).unwrap()).collect();
    for client in &slow {
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let (mut others, mut open, mut most) = (Vec::new(), 1000, 0);
    let mut client = RawClient::connect(&server);
    client.login();
    // The header of a packet that could be a login, and then its bytes.
    let mut bytes = [200, 0, 0, 1].into_iter().chain(std::iter::repeat(0));
    while open > 0 && begun.elapsed() < Duration::from_secs(15) {
        let byte = [bytes.next().unwrap()];
        open = slow.iter_mut().map(|client| client.write_all(&byte)).filter(Result::is_ok).count();
        let asked = Instant::now();
        assert!(client.command(COM_QUERY, b"SELECT 1"));
        for _ in 0..5 {
            client.packet().unwrap();
        }
        others.push(asked.elapsed());
        most = most.max(resident_bytes(&server));
        testkit::pause(1000);
    }
    assert_eq!(open, 0, "after {:?}", begun.elapsed());
    let grown = most.saturating_sub(before) / 1000;
    println!("{grown} bytes for each slow client, {:?} at most for others", others.iter().max());
    assert!(grown < 128 << 10, "{grown} bytes each");
    assert!(others.iter().all(|took| *took < Duration::from_secs(1)), "{others:?}");
    let log = server.log();
    assert!(log.contains("Got timeout reading communication packets"), "{log}");
    let aborted = server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_connects'");
    let aborted: u64 = aborted.split('\t').nth(1).unwrap().parse().unwrap();
    assert!(aborted >= 1000, "{aborted}");
}

/// Packets of nothing and of 16 MB, and wrong numbers, before and after a login.
#[test]
fn packets_of_odd_sizes_and_numbers_get_the_errors_of_mysql() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let logged_in = || {
        let mut client = RawClient::connect(&server);
        client.login();
        client
    };
    let mut client = logged_in();
    // A command that is none: there is not even its byte.
    assert!(client.send_packet(0, b"") && client.expect_error() == 1047);
    // 16 MB and nothing, in two pieces.
    let mut whole = vec![b' '; 0xFF_FFFF];
    whole[..9].copy_from_slice(b"\x03SELECT 7");
    assert!(client.send_packet(0, &whole) && client.send_packet(1, b""));
    for _ in 0..5 {
        client.packet().unwrap();
    }
    for sequence in [1, 255] {
        let mut client = logged_in();
        assert!(client.send_packet(sequence, b"\x0E") && client.expect_error() == 1156);
        assert!(client.packet().is_none());
    }
    let greeted = || {
        let mut client = RawClient::connect(&server);
        client.packet().unwrap();
        client
    };
    // Before a login: nothing, too much, or another number.
    let mut client = greeted();
    assert!(client.send_packet(1, b"") && client.expect_error() == 1043);
    let mut client = greeted();
    assert!(client.send(&[0xFF, 0xFF, 0xFF, 1]) && client.expect_error() == 1153);
    let mut client = greeted();
    assert!(client.send_packet(3, &[0; 40]) && client.expect_error() == 1156);
    assert_eq!(server.sql("SELECT 1"), "1");
}

#[test]
fn names_with_zero_bytes_and_bytes_of_no_character_are_no_harm() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    // A zero byte ends a name: what follows is taken for what comes next.
    for user in [&b"ro\0ot"[..], b"ro\xFFot", b"\xFF\xFE", &[b'x'; 129]] {
        let mut client = RawClient::connect(&server);
        let greeting = client.packet().unwrap();
        let mut login = root(&greeting);
        login.splice(32..36, user.iter().copied());
        assert!(client.send_packet(1, &login));
        let error = number(&client.packet().unwrap());
        assert!([1043, 1045].contains(&error), "{error} of {user:?}");
    }
    for schema in [&b"\xFF"[..], b"no\xC3", &[b'x'; 300]] {
        let mut client = RawClient::connect(&server);
        let greeting = client.packet().unwrap();
        let mut login = response(&greeting, "root", "", CONNECT_WITH_DB, b"");
        let plugin = login.windows(7).position(|w| w == b"caching").unwrap();
        login.splice(plugin..plugin, [schema, b"\0"].concat());
        assert!(client.send_packet(1, &login));
        let error = number(&client.packet().unwrap());
        assert!([1043, 1049].contains(&error), "{error} of {schema:?}");
    }
    let mut client = RawClient::connect(&server);
    client.login();
    for (command, body, expected) in [
        (2_u8, &b"my\0sql"[..], 1049),
        (2, b"\xFF\xFF", 1046),
        (2, b"", 1046),
        (COM_QUERY, b"USE `a\xFFb`", 1300),
        (4, b"t\xFF\0%", 1046),
        (4, b"no end", 1835),
    ] {
        assert!(client.command(command, body));
        assert_eq!(client.expect_error(), expected, "{body:?}");
    }
    assert_eq!(server.sql("SELECT 1"), "1");
}

/// A client that reads nothing and one that has gone half way hold nobody up.
#[test]
fn a_login_over_tcp_that_stops_is_let_go_in_time() {
    let data = TempDir::new();
    let server = Server::with().option("--connect-timeout=2").start(data.path());
    let mut silent = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let begun = Instant::now();
    let mut all = Vec::new();
    silent.read_to_end(&mut all).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(1900), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
