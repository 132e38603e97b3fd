//! Types of parameters in the binary protocol: announced, and made anew for the values that come.

use super::statements::with_table;
use super::*;
use wire::constants::ColumnCode;

/// Type and length of a column definition.
fn described(packet: &[u8]) -> (u8, u32) {
    let tail = &packet[packet.len() - 12..];
    (tail[6], u32::from_le_bytes(tail[2..6].try_into().expect("four bytes")))
}

/// A parameter's type and bytes.
type Bound<'b> = (ColumnCode, &'b [u8]);

impl Client {
    /// Types of the parameters and columns that PREPARE announces.
    fn announced(&mut self, sql: &str) -> (u32, Vec<u8>) {
        let replies = self.command(&[b"\x16", sql.as_bytes()].concat());
        assert_eq!(replies[0][0], 0, "{sql}: {:?}", text_of(&replies));
        let id = u32::from_le_bytes(replies[0][1..5].try_into().expect("four bytes"));
        (id, replies[1..].iter().map(|p| described(p).0).collect())
    }

    /// The only column's type after a run with these parameters.
    fn type_with(&mut self, id: u32, bound: &[Bound<'_>]) -> u8 {
        let mut rest = vec![0, 1];
        bound.iter().for_each(|(code, _)| rest.extend_from_slice(&[*code as u8, 0]));
        bound.iter().for_each(|(_, bytes)| rest.extend_from_slice(bytes));
        let replies = self.execute(id, &rest);
        assert_eq!(replies[0], [1], "{:?}", text_of(&replies));
        described(&replies[1]).0
    }
}

const INT: u8 = ColumnCode::LongLong as u8;
const DOUBLE: u8 = ColumnCode::Double as u8;
const DECIMAL: u8 = ColumnCode::NewDecimal as u8;
const TEXT: u8 = ColumnCode::VarString as u8;
const DATE: u8 = ColumnCode::Date as u8;
const DATETIME: u8 = ColumnCode::DateTime as u8;
const JSON: u8 = ColumnCode::Json as u8;

#[test]
fn a_parameter_is_announced_as_what_stands_beside_it() {
    let (_server, mut client) = with_table();
    client.run("CREATE TABLE a (d DECIMAL(9, 2), f DOUBLE, t DATETIME, j JSON)");
    for (sql, expected) in [
        ("SELECT ?", &[TEXT, TEXT][..]),
        ("SELECT ? + 1", &[INT, INT]),
        ("SELECT ? + ?", &[DOUBLE, DOUBLE, DOUBLE]),
        ("SELECT ? * 2.5", &[DECIMAL, DECIMAL]),
        ("SELECT -?", &[DOUBLE, DOUBLE]),
        ("SELECT IFNULL(?, 7)", &[INT, INT]),
        ("SELECT COALESCE(?, ?)", &[TEXT, TEXT, TEXT]),
        ("SELECT SUM(?)", &[DOUBLE, DOUBLE]),
        ("SELECT DATE_ADD(?, INTERVAL ? DAY)", &[DATE, INT, DATE]),
        (
            "DO (SELECT 1 FROM a WHERE d = ? AND f = ? AND t = ? AND j = ?)",
            &[DECIMAL, DOUBLE, DATETIME, JSON],
        ),
        ("DELETE FROM t WHERE id IN (?, ?) AND c LIKE ? LIMIT ?", &[INT, INT, TEXT, INT]),
        ("DELETE FROM t WHERE id = -? OR (id, c) = (?, ?)", &[INT, INT, TEXT]),
        ("INSERT INTO a VALUES (?, ?, ?, ?)", &[DECIMAL, DOUBLE, DATETIME, JSON]),
        ("UPDATE t SET id = ?, c = ? WHERE id = (SELECT ?)", &[INT, TEXT, TEXT]),
        ("SET @x = ?", &[TEXT]),
    ] {
        assert_eq!(client.announced(sql).1, expected, "{sql}");
    }
}

#[test]
fn a_result_has_the_type_of_the_values_that_come() {
    let (_server, mut client) = with_table();
    let seven: Bound<'_> = (ColumnCode::LongLong, b"\x07\0\0\0\0\0\0\0");
    let half: Bound<'_> = (ColumnCode::Double, b"\0\0\0\0\0\0\xE0\x3F");
    let text: Bound<'_> = (ColumnCode::VarString, b"\x017");
    for (sql, typed, wide) in [
        ("SELECT ?", INT, DOUBLE),
        ("SELECT IF(1, ?, 0)", INT, DOUBLE),
        ("SELECT MAX(?)", INT, DOUBLE),
        ("SELECT ? + 1", INT, DOUBLE),
        ("SELECT ? UNION SELECT 2", INT, DOUBLE),
        ("SELECT ? / 2", DECIMAL, DOUBLE),
    ] {
        let (id, _) = client.announced(sql);
        assert_eq!(client.type_with(id, &[seven]), typed, "{sql}");
        assert_eq!(client.type_with(id, &[half]), wide, "{sql}");
        assert_eq!(client.type_with(id, &[seven]), wide, "{sql}: a double holds it");
        assert_eq!(client.type_with(id, &[text]), wide, "{sql}: text is read as a double");
    }
}

#[test]
fn types_that_do_not_come_again_are_those_of_the_last_time() {
    let (_server, mut client) = with_table();
    let (id, _) = client.announced("SELECT c FROM t WHERE id = ?");
    let first = client.execute(id, b"\0\x01\x03\0\x02\0\0\0");
    assert!(text_of(&first)[2].contains("two"));
    let next = client.execute(id, b"\0\0\x03\0\0\0");
    assert!(text_of(&next)[2].contains("three"));
    // NULL says nothing about the type, whatever was bound.
    let null = client.execute(id, b"\x01\x01\x05\0");
    assert_eq!(null.len(), 3, "{:?}", text_of(&null));
    let text = client.execute(id, b"\0\x01\xFD\0\x03 2x");
    assert!(text_of(&text)[2].contains("two"), "text is cut off behind its number");
    assert_eq!(text[3][5..7], [1, 0], "with a warning");
}

#[test]
fn a_program_for_other_types_or_changed_tables_is_made_once_for_all_sessions() {
    let (server, mut first) = with_table();
    let mut second = Client::root(&server);
    second.run("USE db");
    let taken_over = |client: &mut Client| -> u64 {
        let row = client.rows("SHOW SESSION STATUS LIKE 'Limpid_plan_cache_shared_hits'");
        row[0].rsplit('|').next().and_then(|n| n.parse().ok()).expect("a number")
    };
    let (sql, number) = ("SELECT id + ? FROM t WHERE id = ?", 1i64.to_le_bytes());
    let (one, other) = (first.prepare(sql), second.prepare(sql));
    let double =
        [(ColumnCode::Double, &1f64.to_le_bytes()[..]), (ColumnCode::LongLong, &number[..])];
    let whole = [(ColumnCode::LongLong, &number[..]), (ColumnCode::LongLong, &number[..])];
    let before = taken_over(&mut second);
    assert_eq!(first.type_with(one, &double), DOUBLE);
    assert_eq!(second.type_with(other, &double), DOUBLE);
    assert_eq!(taken_over(&mut second), before + 1);
    // What PREPARE finds is not what other values asked for.
    let third = first.prepare(sql);
    assert_eq!(first.type_with(third, &whole), INT);
    first.run("ALTER TABLE t ADD d INT");
    assert_eq!(first.type_with(one, &double), DOUBLE);
    assert_eq!(second.type_with(other, &double), DOUBLE);
    assert_eq!(taken_over(&mut second), before + 2);
    // A text that would be read as another one now is this session's alone.
    first.run("ALTER TABLE t DROP d");
    first.run("SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')");
    let before = taken_over(&mut first);
    assert_eq!(second.type_with(other, &double), DOUBLE);
    assert_eq!(first.type_with(one, &double), DOUBLE);
    assert_eq!(taken_over(&mut first), before);
}
