//! What a client can ask of the protocol beyond plain statements: to be told of its session's state, to send attributes, to do
//! without descriptions, to pack what is sent. What is expected was recorded from MySQL 9.7 with the same packets.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "protocol/packed.rs"]
mod packed;

use testkit::raw::RawClient;
use testkit::{Server, TempDir};

const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const CONNECT_WITH_DB: u32 = 1 << 3;
const MULTI_STATEMENTS: u32 = 1 << 16;
const SESSION_TRACK: u32 = 1 << 23;
const DEPRECATE_EOF: u32 = 1 << 24;
const OPTIONAL_METADATA: u32 = 1 << 25;
const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// A length-encoded integer, and what follows it.
fn number(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes[0] {
        0xFC => (usize::from(u16::from_le_bytes([bytes[1], bytes[2]])), &bytes[3..]),
        n => (usize::from(n), &bytes[1..]),
    }
}

fn text(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = number(bytes);
    rest.split_at(len)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What an OK tells of the session: variables, `schema=`, `state`, the transaction's letters and its text in brackets.
fn changes(ok: &[u8]) -> String {
    let (_, rest) = number(&ok[1..]);
    let (_, rest) = number(rest);
    let (status, rest) = (u16::from_le_bytes([rest[0], rest[1]]), &rest[4..]);
    if status & 0x4000 == 0 {
        return String::new();
    }
    let (_, rest) = text(rest);
    let (mut state, rest) = text(rest);
    assert!(rest.is_empty(), "nothing behind the state: {ok:?}");
    let mut told = Vec::new();
    while !state.is_empty() {
        let (kind, (data, rest)) = (state[0], text(&state[1..]));
        state = rest;
        told.push(match kind {
            0 => {
                let (name, value) = text(data);
                format!("{}={}", shown(name), shown(text(value).0))
            }
            1 => format!("schema={}", shown(text(data).0)),
            2 => format!("state{}", shown(data)),
            4 => format!("[{}]", shown(text(data).0)),
            5 => shown(text(data).0),
            other => panic!("a change of kind {other}"),
        });
    }
    told.join(" ")
}

/// A statement's answers: what the OK of each tells, or an error's number.
fn told(client: &mut RawClient, sql: &str) -> String {
    assert!(client.command(COM_QUERY, sql.as_bytes()));
    let mut all = Vec::new();
    loop {
        let mut packet = client.packet().unwrap();
        if packet[0] == 0xFF {
            all.push(u16::from_le_bytes([packet[1], packet[2]]).to_string());
            return all.join(" | ");
        }
        // A result: its columns and rows, up to an OK that looks like an EOF.
        while packet[0] != 0 && packet[0] != 0xFE {
            packet = client.packet().unwrap();
        }
        all.push(changes(&packet));
        let (_, rest) = number(&packet[1..]);
        let more = number(rest).1[0] & 8 != 0;
        if !more {
            return all.join(" | ");
        }
    }
}

fn tracking(server: &Server) -> RawClient {
    let mut client = RawClient::connect(server);
    let ok = client.login_with(SESSION_TRACK | DEPRECATE_EOF | MULTI_STATEMENTS, b"");
    assert_eq!(changes(&ok), "");
    client
}

/// Statement by statement.
fn converse(client: &mut RawClient, script: &[(&str, &str)]) {
    for (sql, expected) in script {
        assert_eq!(told(client, sql), *expected, "{sql}");
    }
}

#[test]
fn variables_schemas_and_the_state_are_told_as_they_change() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let names =
        "character_set_client=latin1 character_set_connection=latin1 character_set_results=latin1";
    converse(
        &mut tracking(&server),
        &[
            ("SELECT 1", ""),
            ("SET autocommit=0", "autocommit=OFF"),
            ("SET autocommit=DEFAULT", "autocommit=ON"),
            ("SET NAMES latin1", names),
            ("SET time_zone='+01:00'", "time_zone=+01:00"),
            ("SET sql_mode='', @a=1", ""),
            ("CREATE DATABASE one", ""),
            ("USE one", "schema=one"),
            ("USE one", "schema=one"),
            ("DROP DATABASE one", "schema="),
            ("SET session_track_state_change=1", ""),
            ("SET @a=1", "state1"),
            ("SELECT @a:=2", ""),
            ("SET timestamp=1", "state1"),
            ("SET timestamp=DEFAULT", "state1"),
            ("PREPARE s FROM 'SELECT 1'", "state1"),
            ("EXECUTE s", ""),
            ("DEALLOCATE PREPARE s", "state1"),
            ("CREATE DATABASE two; USE two", " | schema=two state1"),
            ("CREATE TEMPORARY TABLE tt (a INT)", "state1"),
            ("CREATE TEMPORARY TABLE tt (a INT)", "1050"),
            ("INSERT INTO tt VALUES (1)", ""),
            ("DROP TEMPORARY TABLE tt", "state1"),
            ("SET GLOBAL sort_buffer_size=DEFAULT", ""),
            ("SET character_set_client=utf8mb4", "character_set_client=utf8mb4 state1"),
            ("SET session_track_state_change=0", ""),
            ("SET session_track_system_variables='*'", "session_track_system_variables=*"),
            ("SET sql_mode='', sort_buffer_size=50000", "sort_buffer_size=50000 sql_mode="),
            ("SET session_track_system_variables='SQL_MODE,nosuch, autocommit'", ""),
            ("SET autocommit=1,sql_mode=''", "SQL_MODE= autocommit=ON"),
            ("SET session_track_system_variables='sql_mode,SQL_MODE'", "3026"),
            ("SET session_track_system_variables=1", "1232"),
            ("SET session_track_schema=0", ""),
            ("USE mysql", ""),
            ("SET session_track_gtids='OWN_GTID'", "1235"),
            // An error tells nothing; what was changed before it is not changed.
            ("SET autocommit=0, time_zone='bad'", "1298"),
            ("SELECT 1", ""),
        ],
    );
}

#[test]
fn transactions_are_told_by_letters_and_by_statements() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)");
    let mut client = tracking(&server);
    converse(
        &mut client,
        &[
            ("USE d", "schema=d"),
            ("SET session_track_transaction_info='STATE'", ""),
            ("BEGIN", "T_______"),
            ("SELECT 1", "T_____S_"),
            ("SELECT * FROM t", "T_R___S_"),
            ("INSERT INTO t VALUES (1)", "T_R_W_S_"),
            ("SELECT * FROM t", ""),
            ("COMMIT", "________"),
            ("SELECT * FROM t", ""),
            ("INSERT INTO t VALUES (5)", ""),
            ("BEGIN", "T_______"),
            ("INSERT INTO t VALUES (1)", "1062"),
            ("SELECT * FROM t FOR UPDATE", "T___W_S_"),
            ("SAVEPOINT s", ""),
            ("CREATE TABLE t2 (a INT)", "________"),
            ("SET autocommit=0", "autocommit=OFF"),
            ("SELECT 1", ""),
            ("SELECT * FROM t", "I_R___S_"),
            ("COMMIT AND CHAIN", "T_______"),
            ("ROLLBACK", "________"),
            ("INSERT INTO t SELECT a+100 FROM t", "I_R_W___"),
            ("SET autocommit=1", "autocommit=ON ________"),
            ("LOCK TABLES t READ", "_______L"),
            ("UNLOCK TABLES", "________"),
            ("BEGIN; SELECT * FROM t; COMMIT", "T_______ | T_R___S_ | ________"),
            ("SET session_track_transaction_info='CHARACTERISTICS'", "[]"),
            ("BEGIN", "T_______ [START TRANSACTION;]"),
            ("COMMIT", "________ []"),
            ("SET TRANSACTION READ ONLY", "[SET TRANSACTION READ ONLY;]"),
            ("SELECT 1", ""),
            ("SELECT * FROM t", "[]"),
            (
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
                "[SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ ONLY;]",
            ),
            (
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                "T_R_____ [SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION WITH CONSISTENT \
                 SNAPSHOT, READ ONLY;]",
            ),
            ("ROLLBACK", "________ []"),
            ("START TRANSACTION READ ONLY", "T_______ [START TRANSACTION READ ONLY;]"),
            ("COMMIT AND CHAIN", "[START TRANSACTION READ ONLY;]"),
            ("COMMIT", "________ []"),
            ("SET session_track_transaction_info='OFF'", ""),
            ("BEGIN", ""),
            ("COMMIT", ""),
        ],
    );
}

#[test]
fn who_does_not_ask_is_told_nothing_and_a_login_tells_the_schema() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut client = RawClient::connect(&server);
    client.login_with(DEPRECATE_EOF, b"");
    converse(&mut client, &[("SET autocommit=0", ""), ("USE mysql", ""), ("BEGIN", "")]);
    // The schema stands before the plugin's name: the usual response does not do.
    let mut client = RawClient::connect(&server);
    let greeting = client.packet().unwrap();
    let mut body =
        testkit::raw::response(&greeting, "root", "", SESSION_TRACK | CONNECT_WITH_DB, b"");
    let plugin = body.windows(7).position(|w| w == b"caching").unwrap();
    body.splice(plugin..plugin, *b"mysql\0");
    assert!(client.send_packet(1, &body));
    assert_eq!(changes(&client.packet().unwrap()), "schema=mysql");
    // An EOF has no room for what changed: the next OK tells it.
    assert!(client.command(COM_QUERY, b"SET session_track_transaction_info='STATE'"));
    client.packet().unwrap();
    assert!(client.command(COM_QUERY, b"BEGIN"));
    assert_eq!(changes(&client.packet().unwrap()), "T_______");
    assert!(client.command(COM_QUERY, b"SELECT 1"));
    for _ in 0..5 {
        client.packet().unwrap();
    }
    assert!(client.command(COM_QUERY, b"DO 1"));
    assert_eq!(changes(&client.packet().unwrap()), "T_____S_");
}

/// The first value of a text result, or an error's number.
fn value(client: &mut RawClient) -> String {
    let first = client.packet().unwrap();
    if first[0] == 0xFF {
        return u16::from_le_bytes([first[1], first[2]]).to_string();
    }
    for _ in 0..first[0] {
        client.packet().unwrap();
    }
    let row = client.packet().unwrap();
    client.packet().unwrap();
    shown(text(&row).0)
}

#[test]
fn attributes_of_statements_change_nothing() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut client = RawClient::connect(&server);
    client.login_with(QUERY_ATTRIBUTES | DEPRECATE_EOF, b"");
    let mut ask = |body: &[u8]| {
        assert!(client.command(COM_QUERY, body));
        value(&mut client)
    };
    assert_eq!(ask(b"\0\x01SELECT 1"), "1");
    assert_eq!(ask(b"\x01\x01\0\x01\xFD\0\x01a\x03xyzSELECT 2"), "2");
    assert_eq!(ask(b"\x01\x01\x01\x01\xFD\0\x01aSELECT 3"), "3");
    assert_eq!(ask(b"\0\x01SELECT mysql_query_attribute_string('a') FROM mysql.user"), "1046");
    for malformed in [&b"\0\x02SELECT 3"[..], b"\x05\x01\0\x01\xFD", b"", b"\xFC\xFF\xFF\x01x"] {
        assert_eq!(ask(malformed), "1835", "{malformed:?}");
    }
    assert_eq!(ask(b"\0\x01SELECT 4"), "4");
}

#[test]
fn attributes_of_executions_stand_behind_the_parameters() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut client = RawClient::connect(&server);
    client.login_with(QUERY_ATTRIBUTES | DEPRECATE_EOF, b"");
    let prepare = |client: &mut RawClient, sql: &str| {
        assert!(client.command(COM_STMT_PREPARE, sql.as_bytes()));
        let ok = client.packet().unwrap();
        for _ in 0..ok[5] + ok[7] {
            client.packet().unwrap();
        }
        ok[1..5].to_vec()
    };
    let (plus, five) = (prepare(&mut client, "SELECT ?+1"), prepare(&mut client, "SELECT 5"));
    let mut run = |id: &[u8], flags: u8, rest: &[u8]| {
        let body = [id, &[flags, 1, 0, 0, 0], rest].concat();
        assert!(client.command(COM_STMT_EXECUTE, &body));
        let first = client.packet().unwrap();
        if first[0] == 0xFF {
            return i64::from(u16::from_le_bytes([first[1], first[2]]));
        }
        client.packet().unwrap();
        let row = client.packet().unwrap();
        client.packet().unwrap();
        i64::from_le_bytes(row[2..10].try_into().unwrap())
    };
    let n = 41_i64.to_le_bytes();
    let with = |head: &[u8], tail: &[u8]| [head, &n, tail].concat();
    assert_eq!(run(&plus, 8, &with(b"\x01\0\x01\x08\0\0", b"")), 42);
    assert_eq!(run(&plus, 0, &with(b"\x01\0\x01\x08\0\0", b"")), 42);
    assert_eq!(run(&plus, 8, &with(b"\x02\0\x01\x08\0\0\xFD\0\x01a", b"\x02zz")), 42);
    assert_eq!(run(&plus, 8, &with(b"\x01\0\0", b"")), 42);
    assert_eq!(run(&plus, 8, &with(b"\x02\0\0", b"\x02zz")), 1835);
    assert_eq!(run(&plus, 8, b"\0"), 1210);
    // The layout of clients without attributes.
    assert_eq!(run(&plus, 0, &with(b"\0\x01\x08\0", b"")), 1210);
    assert_eq!(run(&five, 0, b""), 5);
    assert_eq!(run(&five, 8, b"\0"), 5);
    assert_eq!(run(&five, 8, b"\x01\0\x01\xFD\0\x01a\x02zz"), 5);
    assert_eq!(run(&five, 8, b""), 1835);
}

#[test]
fn a_client_may_do_without_descriptions() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut client = RawClient::connect(&server);
    client.login_with(OPTIONAL_METADATA | DEPRECATE_EOF, b"");
    let mut packets = |command: u8, body: &[u8]| {
        assert!(client.command(command, body));
        let mut all = vec![client.packet().unwrap()];
        while !matches!(all.last().unwrap()[0], 0 | 0xFE | 0xFF) {
            all.push(client.packet().unwrap());
        }
        all
    };
    for _ in 0..2 {
        let full = packets(COM_QUERY, b"SELECT 1,2");
        assert_eq!((full.len(), &full[0][..]), (5, &[2, 1][..]));
    }
    packets(COM_QUERY, b"SET resultset_metadata=NONE");
    for _ in 0..2 {
        let none = packets(COM_QUERY, b"SELECT 1,2");
        assert_eq!(none[..2], [vec![2, 0], b"\x011\x012".to_vec()]);
    }
    let prepared = packets(COM_STMT_PREPARE, b"SELECT ?,2,3");
    assert_eq!((prepared.len(), prepared[0][12]), (1, 0));
    packets(COM_QUERY, b"SET resultset_metadata=FULL");
    assert_eq!(packets(COM_QUERY, b"SELECT 1,2").len(), 5);
    let refused = server.sql_error("SET resultset_metadata=NONE");
    assert!(refused.contains("ERROR 3640"), "{refused}");
}
