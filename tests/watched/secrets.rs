//! Passwords in statements, which no table tells.

use super::every_table::{column, rows};
use super::with_table;
use testkit::TempDir;
use testkit::raw::RawClient;
use testkit::text::TextClient;

const MULTI_STATEMENTS: u32 = 1 << 16;
/// COM_QUERY.
const QUERY: u8 = 3;

/// Texts, and how many packets answer them.
const TEXTS: [(&str, usize); 9] = [
    ("CREATE USER u IDENTIFIED BY 'hunter'", 1),
    (" ALTER USER u IDENTIFIED BY 'hunter'", 1),
    ("/* it's */ ALTER USER u IDENTIFIED BY 'hunter'", 1),
    ("DO 1; ALTER USER u IDENTIFIED BY 'hunter'; DO 2", 3),
    ("SELECT nosuch; ALTER USER u IDENTIFIED BY 'hunter'", 1),
    ("DELETE FROM d.t WHERE id < 0; SET PASSWORD FOR u = 'hunter'", 2),
    ("ALTER USER u IDENTIFIED BY 'hunter' nonsense", 1),
    ("PREPARE s FROM 'ALTER USER u IDENTIFIED BY \"hunter\"'", 1),
    ("EXECUTE s", 1),
];

#[test]
fn no_table_tells_a_password() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'");
    let mut client = RawClient::connect(&server);
    client.login_with(MULTI_STATEMENTS, &[]);
    let mut watch = TextClient::connect(server.socket());
    let tables = column(
        &mut watch,
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES
         WHERE TABLE_SCHEMA = 'performance_schema' OR TABLE_NAME = 'PROCESSLIST'",
    );
    assert!(tables.len() > 90, "{tables:?}");
    for (text, packets) in TEXTS {
        assert!(client.command(QUERY, text.as_bytes()));
        (0..packets).for_each(|_| drop(client.packet().expect("an answer")));
        for table in &tables {
            for row in rows(&mut watch, &format!("SELECT * FROM {table}")) {
                assert!(
                    !row.iter().any(|cell| cell.contains("hunter")),
                    "{text}: {table}: {row:?}"
                );
            }
        }
    }
    // Of a text with several statements each has its own part.
    let parts = "SELECT SQL_TEXT FROM performance_schema.events_statements_history_long WHERE SQL_TEXT RLIKE '^ *DO [12];?$'";
    assert_eq!(column(&mut watch, parts).len(), 2);
    // What they look for would be found.
    let told = "SELECT SQL_TEXT FROM performance_schema.events_statements_history_long WHERE SQL_TEXT LIKE '%<secret>%'";
    let told = column(&mut watch, told);
    assert!(
        told.len() >= 5 && told.iter().any(|text| text.starts_with("CREATE USER u")),
        "{told:?}"
    );
}
