//! Accounts of a data folder from before there were privileges.

use super::*;
use value::Datum;

/// As the dictionary kept accounts then: a row of `mysql.user` each.
fn old_folder(disk: &Arc<SimDisk>) {
    const ACCOUNTS: usize = 2;
    let (engine, _) = Engine::open(config(), Arc::clone(disk) as _).expect("engine");
    let table = engine.system_table(ACCOUNTS);
    let mut client = engine.client().expect("client");
    client.begin();
    for user in ["root", "second"] {
        let words = [user, "localhost", "caching_sha2_password", ""];
        let mut row = Vec::new();
        let values = words.map(|word| Datum::Bytes(word.as_bytes()));
        table.layout().encode(&values, &mut row).expect("a row");
        client.insert(&table, &row).expect("insert");
    }
    client.commit().expect("commit");
    drop(client);
    engine.shutdown().expect("shutdown");
}

#[test]
fn they_may_do_everything_and_are_kept_beside_new_ones() {
    let disk = SimDisk::new(31);
    old_folder(&disk);
    let server = server_on(Arc::clone(&disk));
    let mut client = Client::root(&server);
    client.run("CREATE USER third");
    drop((client, server));
    let server = server_on(disk);
    let mut client = Client::root(&server);
    let users = client.rows("SELECT User FROM mysql.user ORDER BY User");
    assert_eq!(users, ["root", "second", "third"]);
    let grants = client.rows("SHOW GRANTS FOR second@localhost");
    assert!(grants[0].starts_with("GRANT SELECT, ") && grants[0].ends_with("WITH GRANT OPTION"));
    client.run("DROP USER third, second@localhost");
}
