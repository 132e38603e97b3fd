//! Stock clients over TLS, which they verify: MariaDB's, PyMySQL, go-sql-driver, OpenSSL's own.

use super::{folder, good, kept, sqlalchemy};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use testkit::{Answer, Server, TempDir, run};

const HOW: &str = "SELECT VARIABLE_VALUE FROM performance_schema.session_status \
                   WHERE VARIABLE_NAME IN ('Ssl_version', 'Ssl_cipher') ORDER BY VARIABLE_NAME";

/// MariaDB's client over TCP, which trusts the authority of `trusted` alone.
fn verifying(server: &Server, trusted: &TempDir, options: &[&str], sql: &str) -> Answer {
    let ca = format!("--ssl-ca={}", trusted.path().join("data/ca.pem").display());
    run(server.tcp_client().args([&ca, "--ssl-verify-server-cert"]).args(options).args(["-e", sql]))
}

#[test]
fn mariadbs_client_verifies_the_server_and_the_server_the_client() {
    let (data, other) = (TempDir::new(), TempDir::new());
    let server = Server::start(data.path());
    let _other = Server::start(other.path());
    let version =
        |options: &[&str]| good(verifying(&server, &data, options, HOW)).text().to_string();
    assert!(version(&[]).ends_with("TLSv1.3"), "{}", version(&[]));
    let old = version(&["--tls-version=TLSv1.2"]);
    assert!(old.starts_with("ECDHE-ECDSA-") && old.ends_with("\nTLSv1.2"), "{old}");
    // Another authority's server is none to this client, nor is a client of that authority one to the server.
    let refused = verifying(&server, &other, &[], HOW);
    assert!(!refused.ok && refused.err.contains("2026"), "{}", refused.err);
    let own = |of: &TempDir| {
        let file = |name: &str| of.path().join("data").join(name).display().to_string();
        let cert = format!("--ssl-cert={}", file("client-cert.pem"));
        let key = format!("--ssl-key={}", file("client-key.pem"));
        verifying(&server, &data, &[&cert, &key], "SELECT 1")
    };
    assert_eq!(good(own(&data)).text(), "1");
    let stranger = own(&other);
    assert!(!stranger.ok, "{}", stranger.out);
    assert_eq!(server.sql("SELECT 2"), "2");
}

#[test]
fn what_is_large_comes_through_in_both_directions() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--local-infile=1")
        .option("--max-allowed-packet=64M")
        .start(data.path());
    let file = data.path().join("rows.txt");
    let rows: String = (0..200_000).map(|n| format!("{n}\tabcdefghij\n")).collect();
    std::fs::write(&file, rows).unwrap();
    let script = format!(
        "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b TEXT); CREATE TABLE d.l (c LONGTEXT);
         LOAD DATA LOCAL INFILE '{}' INTO TABLE d.t; SELECT COUNT(*), SUM(a) FROM d.t;
         INSERT INTO d.l VALUES (REPEAT('xyz', 9000000)); SELECT MD5(c) = MD5(REPEAT('xyz', 9000000)) FROM d.l",
        file.display()
    );
    let options = ["--local-infile=1", "--max-allowed-packet=64M"];
    let told = good(verifying(&server, &data, &options, &script));
    assert_eq!(told.text(), "200000\t19999900000\n1");
    let all = good(verifying(
        &server,
        &data,
        &options,
        "SELECT a, b FROM d.t ORDER BY a; SELECT c FROM d.l",
    ));
    assert_eq!(all.out.lines().count(), 200_001);
    assert_eq!(all.out.lines().last().unwrap().len(), 27_000_000);
    // A statement that is as large as the result.
    let back = format!("SELECT MD5('{}')", "xyz".repeat(6_000_000));
    let plain = good(run(server.client().args(options).stdin(text(&back)))).out;
    let ca = format!("--ssl-ca={}", data.path().join("data/ca.pem").display());
    let secured = good(run(server.tcp_client().args(options).arg(ca).stdin(text(&back)))).out;
    assert_eq!(plain, secured);
}

/// A file with this text, from its beginning.
fn text(text: &str) -> std::fs::File {
    let folder = TempDir::new();
    let path = folder.path().join("text");
    std::fs::write(&path, text).unwrap();
    std::fs::File::open(&path).unwrap()
}

#[test]
fn pymysql_checks_certificate_and_name_and_sends_passwords_over_tls_or_under_the_key() {
    let (python, _) = sqlalchemy::installed();
    let data = TempDir::new();
    let server = Server::start(data.path());
    let script = r#"
import sys, pymysql
port, ca = int(sys.argv[1]), sys.argv[2]
def connect(host='127.0.0.1', password='', **options):
    return pymysql.connect(host=host, port=port, user='root', password=password, **options)
def asked(c, sql):
    cur = c.cursor()
    cur.execute(sql)
    return cur.fetchone()
for host in ('127.0.0.1', 'localhost'):
    c = connect(host, ssl=dict(ca=ca, check_hostname=True))
    print(asked(c, "SHOW STATUS LIKE 'Ssl_version'")[1], asked(c, "SELECT 1 + 2")[0])
for password, options in (('one', dict(ssl_disabled=True)), ('two', dict(ssl=dict(ca=ca)))):
    asked(c, f"ALTER USER root@localhost IDENTIFIED BY '{password}'")
    # The full way of a password, and then the fast one.
    for _ in range(2):
        print(asked(connect(password=password, **options), "SELECT 3")[0])
    try:
        connect(password='wrong', **options)
    except pymysql.err.OperationalError as e:
        print(e.args[0])
"#;
    let ca = data.path().join("data/ca.pem").display().to_string();
    let said =
        good(run(Command::new(python).args(["-c", script, &server.port().to_string(), &ca])));
    assert_eq!(said.text(), "TLSv1.3 3\nTLSv1.3 3\n3\n3\n1045\n3\n3\n1045");
    // The password without TLS went under the server's key, which is kept.
    assert!(data.path().join("data/private_key.pem").exists());
}

#[test]
fn a_connection_over_tls_becomes_another_user_s() {
    let (python, _) = sqlalchemy::installed();
    let data = TempDir::new();
    let server = Server::start(data.path());
    server.sql("CREATE USER u IDENTIFIED BY 'secret' REQUIRE SSL");
    // PyMySQL has no name for the command; it proves a password as at a login, in full and then by what is cached.
    let script = r#"
import sys, pymysql
port, ca = int(sys.argv[1]), sys.argv[2]
COM_CHANGE_USER = 0x11
def become(c, user, password):
    c.user, c.password = user, password
    c._execute_command(COM_CHANGE_USER, user + b'\0\0\0\x2d\0caching_sha2_password\0')
    packet = c._read_packet()
    assert packet.is_auth_switch_request()
    packet.read_uint8()
    c._process_auth(packet.read_string(), packet)
    cur = c.cursor()
    cur.execute("SELECT CURRENT_USER(), @a IS NULL")
    print(*cur.fetchone())
def connect(**options):
    c = pymysql.connect(host='127.0.0.1', port=port, user='root', **options)
    c.cursor().execute("SET @a = 1")
    return c
for _ in range(2):
    become(connect(ssl=dict(ca=ca)), b'u', b'secret')
for options, password in ((dict(ssl=dict(ca=ca)), b'wrong'), (dict(ssl_disabled=True), b'secret')):
    try:
        become(connect(**options), b'u', password)
    except pymysql.err.OperationalError as e:
        print(e.args[0])
"#;
    let ca = data.path().join("data/ca.pem").display().to_string();
    let said =
        good(run(Command::new(python).args(["-c", script, &server.port().to_string(), &ca])));
    assert_eq!(said.text(), "u@% 1\nu@% 1\n1045\n1045");
}

/// A program over go-sql-driver, built once; `None` where there is no Go, or no driver for it.
pub(super) fn go_program() -> Option<PathBuf> {
    // Of this source: a kept program of another one is no use.
    let source = std::fs::read(folder().join("tls_go/main.go")).unwrap();
    let built = kept().join(format!("tls_go_{}", source.len()));
    if !built.exists() {
        std::fs::create_dir_all(kept()).unwrap();
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(&built).env("CGO_ENABLED", "0");
        let done = go.current_dir(folder().join("tls_go")).output().ok()?;
        if !done.status.success() {
            return None;
        }
    }
    Some(built)
}

#[test]
fn go_sql_driver_connects_in_every_way_it_knows() {
    let Some(program) = go_program() else { return testkit::skip("go-sql-driver cannot be built") };
    let data = TempDir::new();
    let server = Server::start(data.path());
    let at = format!("127.0.0.1:{}", server.port());
    let ca = data.path().join("data/ca.pem");
    let said = good(run(Command::new(program).arg(at).arg(ca)));
    // Whether it fails is last: the system's authorities know none of ours.
    let expected = "own \"TLSv1.3\" false\ntrue \"\" true\nskip-verify \"TLSv1.3\" false\n\
                    preferred \"TLSv1.3\" false\nfalse \"\" false";
    assert_eq!(said.text(), expected);
}

#[test]
fn openssl_sees_what_the_options_say() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--tls-version=TLSv1.2")
        .option("--ssl-cipher=ECDHE-ECDSA-CHACHA20-POLY1305")
        .start(data.path());
    let client = |version: &str| {
        let at = format!("127.0.0.1:{}", server.port());
        let ca = data.path().join("data/ca.pem");
        let mut command = Command::new("openssl");
        command.args([
            "s_client",
            "-starttls",
            "mysql",
            "-brief",
            "-connect",
            &at,
            version,
            "-CAfile",
        ]);
        let done = run(command.arg(ca).args(["-verify_return_error"]).stdin(Stdio::null()));
        format!("{}{}", done.out, done.err)
    };
    let old = client("-tls1_2");
    assert!(old.contains("TLSv1.2") && old.contains("ECDHE-ECDSA-CHACHA20-POLY1305"), "{old}");
    assert!(old.contains("Verification: OK"), "{old}");
    for refused in ["-tls1_3", "-tls1_1"] {
        let said = client(refused);
        assert!(!said.contains("CONNECTION ESTABLISHED"), "{said}");
    }
    assert_eq!(
        server.sql("SHOW STATUS LIKE 'Ssl_accepts'").split('\t').next(),
        Some("Ssl_accepts")
    );
}
