//! Who comes in, as whom, and by what: hosts, ciphers, expired and random passwords, a session that becomes another user's.

use super::as_user;
use testkit::raw::{RawClient, response, scrambled};
use testkit::{Peer, Server, TempDir, TextClient};

const COM_INIT_DB: u8 = 2;
const COM_QUERY: u8 = 3;
const COM_STATISTICS: u8 = 9;
const COM_PING: u8 = 0x0E;
const COM_CHANGE_USER: u8 = 0x11;
const EXPIRED_PASSWORDS: u32 = 1 << 22;
/// What a proxy says of a client of another machine.
const FAR: &[u8] = b"PROXY TCP4 203.0.113.7 10.0.0.1 8080 3306\r\n";

/// Runs statements that must succeed.
pub(super) fn run(client: &mut TextClient, statements: &[&str]) {
    for sql in statements {
        client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
}

/// The values of a column of what a statement answers.
pub(super) fn values(client: &mut TextClient, sql: &str, column: &str) -> Vec<String> {
    let rows = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let at = rows.names.iter().position(|name| name.eq_ignore_ascii_case(column));
    let at = at.unwrap_or_else(|| panic!("{sql}: {:?}", rows.names));
    let text = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_string(),
    };
    rows.rows.iter().map(|row| text(&row[at])).collect()
}

/// The first value that a statement answers.
pub(super) fn value(client: &mut TextClient, sql: &str) -> String {
    let rows = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}")).rows;
    String::from_utf8_lossy(rows[0][0].as_deref().unwrap_or(b"NULL")).into_owned()
}

/// Logs in over the socket; the error's number and text where that is refused.
pub(super) fn try_as(server: &Server, user: &str, password: &str) -> Result<TextClient, String> {
    let peer = Peer {
        user: user.to_string(),
        password: password.to_string(),
        ..Peer::from(server.socket())
    };
    TextClient::try_connect(&peer).map_err(|e| format!("{} ({}) {}", e.number, e.state, e.text))
}

fn number(packet: &[u8]) -> u16 {
    assert_eq!(packet[0], 0xFF, "{packet:?}");
    u16::from_le_bytes([packet[1], packet[2]])
}

/// Proves a password, as far as the server asks for it; or the number of the error. `sequence` is the next packet's.
fn prove(client: &mut RawClient, password: &str, sequence: u8) -> Result<(), u16> {
    loop {
        let answer = client.packet().expect("an answer to a login");
        match answer[..] {
            [0, ..] => return Ok(()),
            [1, 3] => {}
            [1, 4] => assert!(client.send_packet(sequence, &[password.as_bytes(), &[0]].concat())),
            _ => return Err(number(&answer)),
        }
    }
}

/// Logs in with more capabilities than others.
fn come_in(
    server: &Server,
    (user, password): (&str, &str),
    capabilities: u32,
) -> Result<RawClient, u16> {
    let mut client = RawClient::connect(server);
    let greeting = client.packet().expect("a greeting");
    let login = response(&greeting, user, password, capabilities, b"");
    assert!(client.send_packet(1, &login));
    prove(&mut client, password, 3).map(|()| client)
}

/// The first value of each row that a statement answers; or the number of the error.
fn ask(client: &mut RawClient, sql: &str) -> Result<Vec<String>, u16> {
    assert!(client.command(COM_QUERY, sql.as_bytes()));
    let first = client.packet().expect("an answer");
    match first[0] {
        0 => return Ok(Vec::new()),
        0xFF => return Err(number(&first)),
        // The columns, and their end.
        columns => (0..=columns).for_each(|_| drop(client.packet().expect("a column"))),
    }
    let mut values = Vec::new();
    loop {
        let row = client.packet().expect("a row, or the end");
        match row[0] {
            0xFF => return Err(number(&row)),
            0xFE if row.len() < 9 => return Ok(values),
            0xFB => values.push("NULL".to_string()),
            bytes => {
                let value = &row[1..=usize::from(bytes)];
                values.push(String::from_utf8_lossy(value).into_owned());
            }
        }
    }
}

#[test]
fn a_client_whose_password_expired_sets_another_one_and_does_nothing_else() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE USER u IDENTIFIED BY 'one'",
            "CREATE USER other IDENTIFIED BY 'one'",
            "GRANT CREATE USER ON *.* TO u",
            "GRANT UPDATE ON mysql.* TO u",
            "GRANT ALL ON d.* TO u",
        ],
    );
    for (old, new, change) in [
        ("one", "two", "ALTER USER USER() IDENTIFIED BY 'two'"),
        ("two", "three", "SET PASSWORD = 'three'"),
    ] {
        root.query("ALTER USER u PASSWORD EXPIRE").unwrap();
        // Who does not know of such is not let in.
        assert_eq!(come_in(&server, ("u", old), 0).map(drop), Err(1862));
        let mut client = come_in(&server, ("u", old), EXPIRED_PASSWORDS).unwrap();
        for sql in [
            "SELECT 1",
            "SET @a = 1",
            "USE d",
            "SHOW DATABASES",
            "CREATE TABLE d.t (a INT)",
            "PREPARE s FROM 'SELECT 1'",
            "FLUSH PRIVILEGES",
            "ALTER USER USER()",
            "ALTER USER u DEFAULT ROLE NONE",
            "ALTER USER other IDENTIFIED BY 'x'",
            "ALTER USER u IDENTIFIED BY 'x', other IDENTIFIED BY 'x'",
            "SET PASSWORD FOR other = 'x'",
            "ALTER USER u PASSWORD EXPIRE NEVER",
            "ALTER USER other ACCOUNT UNLOCK",
        ] {
            assert_eq!(ask(&mut client, sql), Err(1820), "{sql}");
        }
        assert!(client.command(COM_INIT_DB, b"d"));
        assert_eq!(client.expect_error(), 1820);
        assert!(client.command(COM_STATISTICS, b""));
        assert_eq!(client.expect_error(), 1820);
        assert!(client.command(COM_PING, b""));
        assert_eq!(client.packet().unwrap()[0], 0);
        assert_eq!(ask(&mut client, change), Ok(Vec::new()));
        assert_eq!(ask(&mut client, "SELECT 1"), Ok(vec!["1".to_string()]));
        assert_eq!(come_in(&server, ("u", new), 0).map(drop), Ok(()));
    }
}

#[test]
fn a_password_that_the_server_makes_is_the_one_to_come_in_by() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    let make = |root: &mut TextClient, sql: &str| {
        let made = values(root, sql, "generated password");
        assert_eq!(made.len(), 1, "{sql}");
        made[0].clone()
    };
    let mut before = None;
    for (length, sql) in [
        (20, "CREATE USER u IDENTIFIED BY RANDOM PASSWORD"),
        (5, "ALTER USER u IDENTIFIED BY RANDOM PASSWORD"),
        (255, "SET PASSWORD FOR u TO RANDOM"),
    ] {
        if length != 20 {
            root.query(&format!("SET generated_random_password_length = {length}")).unwrap();
        }
        let password = make(&mut root, sql);
        assert_eq!(password.chars().count(), length, "{sql}: {password}");
        let mut client = try_as(&server, "u", &password).unwrap();
        assert_eq!(value(&mut client, "SELECT CURRENT_USER()"), "u@%");
        if let Some(old) = before.replace(password) {
            assert!(try_as(&server, "u", &old).unwrap_err().starts_with("1045 "), "{sql}");
        }
    }
    // One for each account.
    let sql = "CREATE USER v IDENTIFIED BY RANDOM PASSWORD, w IDENTIFIED BY RANDOM PASSWORD";
    let made = root.query(sql).unwrap().rows;
    let text = |n: usize, at: usize| String::from_utf8(made[n][at].clone().unwrap()).unwrap();
    assert_eq!((made.len(), text(0, 0), text(1, 0)), (2, "v".to_string(), "w".to_string()));
    assert_ne!(text(0, 2), text(1, 2));
    for n in 0..2 {
        try_as(&server, &text(n, 0), &text(n, 2)).unwrap();
    }
}

#[test]
fn a_connection_has_the_cipher_that_the_account_requires() {
    const CIPHERS: [&str; 2] = ["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"];
    let data = TempDir::new();
    let server = Server::with()
        .option("--tls-version=TLSv1.2")
        .option(format!("--ssl-cipher={}", CIPHERS[0]))
        .start(data.path());
    let authority = "/CN=Limpid_8.4.0-Limpid-0.1.0_Auto_Generated_CA_Certificate";
    server.sql(&format!(
        "CREATE USER u0 REQUIRE CIPHER '{}'; CREATE USER u1 REQUIRE CIPHER '{}'; \
         CREATE USER certified REQUIRE ISSUER '{authority}' AND CIPHER '{}'",
        CIPHERS[0], CIPHERS[1], CIPHERS[0]
    ));
    let file = |option: &str, name: &str| {
        format!("{option}={}", data.path().join("data").join(name).display())
    };
    let certificate = [file("--ssl-cert", "client-cert.pem"), file("--ssl-key", "client-key.pem")];
    let with = ["--ssl", &certificate[0], &certificate[1]];
    let comes_in = |user: &str, options: &[&str]| {
        let mut client = server.tcp_client();
        client.arg(format!("--user={user}")).args(options).args(["-e", "SELECT 1"]);
        let answer = testkit::run(&mut client);
        assert!(answer.ok || answer.err.contains("ERROR 1045 (28000)"), "{user}: {}", answer.err);
        answer.ok
    };
    assert!(!comes_in("u0", &["--skip-ssl"]), "there is no cipher in clear");
    assert_eq!(["u0", "u1"].map(|user| comes_in(user, &["--ssl"])), [true, false]);
    assert!(!comes_in("certified", &["--ssl"]) && comes_in("certified", &with));
    server.sql(&format!("SET GLOBAL ssl_cipher = '{}'; ALTER INSTANCE RELOAD TLS", CIPHERS[1]));
    assert_eq!(["u0", "u1"].map(|user| comes_in(user, &["--ssl"])), [false, true]);
    assert!(!comes_in("certified", &with), "both are required");
}

/// Whom a client named `u` is: over TCP from this machine, over the socket, and, as a proxy says, from another machine.
fn who_comes(server: &Server) -> [String; 3] {
    const WHO: &str = "SELECT CURRENT_USER()";
    let over_tcp = testkit::run(server.tcp_client().args(["--user=u", "-e", WHO]));
    let mut far = RawClient::connect(server);
    assert!(far.send(FAR));
    let far = match far.try_login("u", "") {
        Ok(()) => ask(&mut far, WHO).unwrap().remove(0),
        Err(packet) => number(&packet).to_string(),
    };
    let over_tcp = if over_tcp.ok { over_tcp.text().to_string() } else { over_tcp.err };
    [over_tcp, value(&mut as_user(server, "u"), WHO), far]
}

/// Literal hosts come before networks, these before patterns, `%` is last; of one host a user before everybody.
#[test]
fn a_client_is_the_account_whose_host_says_most() {
    let data = TempDir::new();
    let server = Server::with().option("--proxy-protocol-networks=localhost").start(data.path());
    let mut root = TextClient::connect(server.socket());
    for account in [
        "u@'%'",
        "u@'127.0.%'",
        "u@'203.0.%'",
        "u@'203.0.113.0/255.255.255.0'",
        "u@'203.0.113.0/24'",
        "u@'203.0.113.7'",
        "u@localhost",
        "u@'127.0.0.1'",
        "''@localhost",
        "''@'203.0.113.7'",
    ] {
        root.query(&format!("CREATE USER {account}")).unwrap();
    }
    let exact = ["u@127.0.0.1", "u@localhost", "u@203.0.113.7"];
    assert_eq!(who_comes(&server), exact);
    for (gone, expected) in [
        ("u@'127.0.0.1', u@'203.0.113.7'", ["u@localhost", "u@localhost", "@203.0.113.7"]),
        // An anonymous account of the host goes before one of the user's own that says less of it.
        ("u@localhost, ''@'203.0.113.7'", ["@localhost", "@localhost", "u@203.0.113.0/24"]),
        ("''@localhost, u@'203.0.113.0/24'", ["u@127.0.%", "u@%", "u@203.0.113.0/255.255.255.0"]),
        ("u@'203.0.113.0/255.255.255.0'", ["u@127.0.%", "u@%", "u@203.0.%"]),
        ("u@'127.0.%', u@'203.0.%'", ["u@%"; 3]),
    ] {
        root.query(&format!("DROP USER {gone}")).unwrap();
        assert_eq!(who_comes(&server), expected, "without {gone}");
    }
}

/// COM_CHANGE_USER, as clients send it that wait for a challenge.
fn become_user(
    client: &mut RawClient,
    (user, password): (&str, &str),
    schema: &str,
) -> Result<(), u16> {
    let plugin = b"\0\x2D\0caching_sha2_password\0";
    let body = [user.as_bytes(), b"\0\0", schema.as_bytes(), plugin].concat();
    assert!(client.command(COM_CHANGE_USER, &body));
    let told = client.packet().expect("a challenge");
    let name = b"\xFEcaching_sha2_password\0";
    assert!(told.starts_with(name), "{}", String::from_utf8_lossy(&told));
    let challenge = &told[name.len()..name.len() + 20];
    assert!(client.send_packet(2, &scrambled(password, challenge)));
    prove(client, password, 4)
}

#[test]
fn a_session_that_becomes_another_user_s_keeps_nothing() {
    let data = TempDir::new();
    let server = Server::with().option("--proxy-protocol-networks=localhost").start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE USER u IDENTIFIED BY 'secret'",
            "CREATE USER plain",
            "GRANT SELECT ON d.* TO u",
        ],
    );
    let u = ("u", "secret");
    let mut client = come_in(&server, ("root", ""), 0).unwrap();
    for sql in [
        "CREATE TEMPORARY TABLE d.own (a INT)",
        "SET @a = 7, SESSION sort_buffer_size = 40000",
        "PREPARE s FROM 'SELECT 1'",
        "BEGIN",
        "INSERT INTO d.t VALUES (1)",
    ] {
        assert_eq!(ask(&mut client, sql), Ok(Vec::new()), "{sql}");
    }
    // In full the first time, over a socket that nobody else listens to.
    assert_eq!(become_user(&mut client, u, "d"), Ok(()));
    let who = "SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE(), IFNULL(@a, 'no variable'), \
               @@sort_buffer_size = @@GLOBAL.sort_buffer_size)";
    assert_eq!(ask(&mut client, who), Ok(vec!["u@% d no variable 1".to_string()]));
    assert_eq!(ask(&mut client, "SELECT COUNT(*) FROM t"), Ok(vec!["0".to_string()]));
    for (sql, error) in
        [("SELECT * FROM own", 1146), ("EXECUTE s", 1243), ("INSERT INTO t VALUES (1)", 1142)]
    {
        assert_eq!(ask(&mut client, sql), Err(error), "{sql}");
    }
    let listed = "SELECT USER FROM information_schema.PROCESSLIST ORDER BY ID";
    assert_eq!(values(&mut root, listed, "USER"), ["root", "u"]);
    // By what is cached now; and back.
    assert_eq!(become_user(&mut client, u, ""), Ok(()));
    assert_eq!(ask(&mut client, "SELECT DATABASE()"), Ok(vec!["NULL".to_string()]));
    assert_eq!(become_user(&mut client, ("root", ""), ""), Ok(()));
    assert_eq!(ask(&mut client, "INSERT INTO d.t VALUES (1)"), Ok(Vec::new()));

    // Whoever is refused has no session any more.
    root.query("CREATE USER shut IDENTIFIED BY 'secret' ACCOUNT LOCK").unwrap();
    for (account, error) in
        [(("u", "wrong"), 1045), (("nobody", "secret"), 1045), (("shut", "secret"), 3118)]
    {
        let mut client = come_in(&server, ("root", ""), 0).unwrap();
        assert_eq!(become_user(&mut client, account, ""), Err(error), "{account:?}");
        assert!(client.packet().is_none(), "{account:?}");
    }
    // Behind a proxy at the socket a password may come in full, as at a login.
    root.query("FLUSH PRIVILEGES").unwrap();
    let mut client = RawClient::connect(&server);
    assert!(client.send(FAR));
    client.login_as("plain", "");
    assert_eq!(become_user(&mut client, u, "d"), Ok(()));
    assert_eq!(ask(&mut client, "SELECT USER()"), Ok(vec!["u@203.0.113.7".to_string()]));
}
