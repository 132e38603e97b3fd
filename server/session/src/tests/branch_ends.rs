//! Branches (XA) that a session fails to end.

use super::*;
use crate::branches::NotHad;
use engine::Xid;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_branch_whose_end_panics_is_anothers_to_end() {
    let server = server();
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    for (n, end) in ["XA COMMIT 'b'", "XA ROLLBACK 'b'"].into_iter().enumerate() {
        client.run("XA START 'b'");
        client.run(&format!("INSERT INTO d.t VALUES ({n})"));
        client.run("XA END 'b'");
        client.run("XA PREPARE 'b'");
        let name = Xid::new(1, b"b", b"").expect("a name");
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut ending = server.branches.take(&name, 0).expect("prepared");
            let _ = ending.end(|_| -> Result<(), NotHad> { panic!("in the middle") });
        }));
        assert!(ended.is_err());
        assert_eq!(client.rows("XA RECOVER"), ["1|1|0|b"]);
        client.run(end);
        assert_eq!(client.rows("XA RECOVER"), [""; 0]);
    }
    assert_eq!(client.rows("SELECT a FROM d.t"), ["0"]);
}
