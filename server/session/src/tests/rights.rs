//! What was prepared by the protocol asks for its privileges again.

use super::statements::with_table;
use super::*;

#[test]
fn a_prepared_statement_is_refused_after_revoke_and_runs_after_grant() {
    let (server, mut root) = with_table();
    root.run("CREATE USER u");
    for (sql, granted, revoked) in [
        ("SELECT c FROM db.t WHERE id = 1", "SELECT", "SELECT"),
        ("SELECT COUNT(*) FROM db.t x JOIN db.t y", "SELECT", "SELECT"),
        ("INSERT INTO db.t (c) VALUES ('four')", "INSERT", "INSERT"),
        ("REPLACE INTO db.t VALUES (1, 'one')", "INSERT, DELETE", "DELETE"),
        ("UPDATE db.t SET c = 'uno' WHERE id = 1", "SELECT, UPDATE", "UPDATE"),
        ("DELETE FROM db.t WHERE id = 99", "SELECT, DELETE", "DELETE"),
        ("SHOW CREATE TABLE db.t", "SELECT", "SELECT"),
        ("ANALYZE TABLE db.t", "SELECT, INSERT", "INSERT"),
        ("TRUNCATE TABLE db.t", "DROP", "DROP"),
    ] {
        let grant = format!("GRANT {granted} ON db.t TO u");
        root.run(&grant);
        let mut client = Client::knock(&server, Peer::Socket(None));
        assert_ok(&client.log_in("u", Plugin::CachingSha2, b""));
        let id = client.prepare(sql);
        let runs = |client: &mut Client| client.execute(id, b"")[0][0] != 0xFF;
        assert!(runs(&mut client) && runs(&mut client), "{sql}");
        root.run(&format!("REVOKE {revoked} ON db.t FROM u"));
        for _ in 0..2 {
            assert_eq!(error_of(&client.execute(id, b"")), 1142, "{sql}");
        }
        root.run(&grant);
        assert!(runs(&mut client), "{sql}");
        root.run("REVOKE ALL PRIVILEGES, GRANT OPTION FROM u");
        assert_eq!(error_of(&client.execute(id, b"")), 1142, "{sql}");
    }
}
