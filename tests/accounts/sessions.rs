//! What sessions of an account have from their login on: limits, active roles, and what they see of other sessions.

use super::as_user;
use super::logins::{run, try_as, value, values};
use testkit::{Server, TempDir, TextClient};

#[test]
fn what_an_account_does_in_an_hour_is_limited() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE USER changer WITH MAX_UPDATES_PER_HOUR 2",
            "GRANT ALL ON d.* TO changer",
            "CREATE USER comer WITH MAX_CONNECTIONS_PER_HOUR 2",
        ],
    );
    // All sessions of the account count together, and reading is free.
    let (mut one, mut other) = (as_user(&server, "changer"), as_user(&server, "changer"));
    let resets = [
        "FLUSH USER_RESOURCES",
        "FLUSH PRIVILEGES",
        "ALTER USER changer WITH MAX_UPDATES_PER_HOUR 2",
    ];
    for reset in resets {
        run(&mut one, &["INSERT INTO d.t VALUES (1)"]);
        run(&mut other, &["UPDATE d.t SET a = a + 1"]);
        for client in [&mut one, &mut other] {
            let refused = client.query("DELETE FROM d.t").unwrap_err();
            let text = "User 'changer' has exceeded the 'max_updates' resource (current value: 2)";
            assert_eq!((refused.number, &*refused.state, &*refused.text), (1226, "42000", text));
            assert_eq!(client.code("CREATE TABLE d.other (a INT)"), 1226);
            assert_eq!(client.code("SELECT * FROM d.t"), 0);
        }
        root.query(reset).unwrap();
    }
    assert_eq!(one.code("DELETE FROM d.t"), 0);

    let resets = [resets[0], resets[1], "ALTER USER comer WITH MAX_CONNECTIONS_PER_HOUR 2"];
    for reset in resets {
        for _ in 0..2 {
            try_as(&server, "comer", "").unwrap();
        }
        let refused = try_as(&server, "comer", "").unwrap_err();
        let text = "1226 (42000) User 'comer' has exceeded the 'max_connections_per_hour' resource \
                    (current value: 2)";
        assert_eq!(refused, text);
        root.query(reset).unwrap();
    }
    try_as(&server, "comer", "").unwrap();
}

/// Waits until a user whose session has gone comes in once more.
fn comes_in_again(server: &Server, user: &str) -> TextClient {
    let mut refused = String::new();
    for _ in 0..400 {
        match try_as(server, user, "") {
            Ok(client) => return client,
            Err(error) => refused = error,
        }
        testkit::pause(25);
    }
    panic!("{user}: {refused}");
}

#[test]
fn so_many_sessions_of_a_user_are_there_at_a_time() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(&mut root, &["CREATE USER pair WITH MAX_USER_CONNECTIONS 2", "CREATE USER plain"]);
    let mut pair = vec![as_user(&server, "pair"), as_user(&server, "pair")];
    let own = "1226 (42000) User 'pair' has exceeded the 'max_user_connections' resource \
               (current value: 2)";
    assert_eq!(try_as(&server, "pair", "").unwrap_err(), own);
    drop(pair.pop());
    pair.push(comes_in_again(&server, "pair"));
    // The variable is about accounts that have no limit of their own.
    let plain = as_user(&server, "plain");
    root.query("SET GLOBAL max_user_connections = 1").unwrap();
    let of_all = "1203 (42000) User plain already has more than 'max_user_connections' active \
                  connections";
    assert_eq!(try_as(&server, "plain", "").unwrap_err(), of_all);
    assert_eq!(try_as(&server, "pair", "").unwrap_err(), own);
    drop(plain);
    let _plain = comes_in_again(&server, "plain");
    root.query("SET GLOBAL max_user_connections = 0").unwrap();
    assert!(try_as(&server, "plain", "").is_ok());
    assert!(pair.iter_mut().all(|client| client.code("DO 1") == 0), "they were let be");
}

#[test]
fn roles_are_active_at_a_login_as_defaults_and_variables_say() {
    const NOW: &str = "SELECT CURRENT_ROLE()";
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE TABLE d.seen (a INT)",
            "CREATE ROLE looker, reader, writer",
            "GRANT SELECT ON d.seen TO looker",
            "GRANT SELECT ON d.t TO reader",
            "GRANT INSERT ON d.t TO writer",
            "CREATE USER u",
            "GRANT reader, writer TO u",
        ],
    );
    // The roles of a new session, and what looking, reading and writing answer.
    let seen = || {
        let mut u = as_user(&server, "u");
        let does = ["SELECT * FROM d.seen", "SELECT * FROM d.t", "INSERT INTO d.t VALUES (1)"];
        (value(&mut u, NOW), does.map(|sql| u.code(sql)))
    };
    let all = |roles: &[&str]| {
        roles.iter().map(|role| format!("`{role}`@`%`")).collect::<Vec<_>>().join(",")
    };
    assert_eq!(seen(), ("NONE".to_string(), [1142, 1142, 1142]));
    run(&mut root, &["SET DEFAULT ROLE reader TO u"]);
    assert_eq!(seen(), (all(&["reader"]), [1142, 0, 1142]));
    // A mandatory role was given to everybody, which makes it active of nobody.
    run(&mut root, &["SET GLOBAL mandatory_roles = 'looker'"]);
    assert_eq!(seen(), (all(&["reader"]), [1142, 0, 1142]));
    let mut u = as_user(&server, "u");
    assert_eq!(u.code("SET ROLE looker"), 0);
    assert_eq!((value(&mut u, NOW), u.code("SELECT * FROM d.seen")), (all(&["looker"]), 0));
    for sql in ["REVOKE looker FROM u", "DROP ROLE looker"] {
        assert_eq!(root.code(sql), 3628, "{sql}");
    }
    // Whatever the default is.
    run(&mut root, &["SET GLOBAL activate_all_roles_on_login = ON"]);
    assert_eq!(seen(), (all(&["looker", "reader", "writer"]), [0, 0, 0]));
    run(&mut root, &["SET GLOBAL mandatory_roles = ''"]);
    assert_eq!(seen(), (all(&["reader", "writer"]), [1142, 0, 0]));
    run(
        &mut root,
        &["SET GLOBAL activate_all_roles_on_login = OFF", "ALTER USER u DEFAULT ROLE NONE"],
    );
    assert_eq!(seen(), ("NONE".to_string(), [1142, 1142, 1142]));
    run(&mut root, &["SET DEFAULT ROLE ALL TO u", "REVOKE reader FROM u"]);
    assert_eq!(seen(), (all(&["writer"]), [1142, 1142, 0]));
}

#[test]
fn sessions_of_others_are_neither_seen_nor_killed_without_a_privilege() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(
        &mut root,
        &[
            "CREATE USER u, v, watcher, killer",
            "GRANT PROCESS ON *.* TO watcher",
            "GRANT CONNECTION_ADMIN ON *.* TO killer",
        ],
    );
    let [mut u, mut second, mut v, mut watcher] =
        ["u", "u", "v", "watcher"].map(|user| as_user(&server, user));
    let lists = [
        "SHOW PROCESSLIST",
        "SELECT * FROM information_schema.PROCESSLIST",
        "SELECT * FROM performance_schema.processlist",
    ];
    let users = |client: &mut TextClient, sql: &str| {
        let mut users = values(client, sql, "User");
        users.sort();
        users
    };
    for sql in lists {
        assert_eq!(users(&mut u, sql), ["u", "u"], "{sql}");
        assert_eq!(users(&mut v, sql), ["v"], "{sql}");
        assert_eq!(users(&mut watcher, sql), ["root", "u", "u", "v", "watcher"], "{sql}");
    }
    for (sql, error) in [
        ("SELECT * FROM performance_schema.threads", 1142),
        ("SELECT * FROM performance_schema.events_statements_history", 1142),
        ("SELECT * FROM performance_schema.accounts", 1142),
        ("SELECT * FROM information_schema.INNODB_TRX", 1227),
        ("SHOW ENGINE INNODB STATUS", 1227),
    ] {
        assert_eq!(u.code(sql), error, "{sql}");
    }

    let id = |client: &mut TextClient| value(client, "SELECT CONNECTION_ID()");
    let of = [id(&mut root), id(&mut second), id(&mut v)];
    let kill = |n: usize| format!("KILL {}", of[n]);
    // One's own may be; whoever sees others has not that yet; root has SYSTEM_USER.
    assert_eq!((u.code(&kill(2)), u.code(&kill(0)), u.code(&kill(1))), (1095, 1095, 0));
    assert_eq!((u.code(&format!("KILL QUERY {}", of[2])), u.code("KILL 999999")), (1095, 1094));
    assert_eq!((watcher.code(&kill(2)), watcher.code(&kill(0))), (1095, 1095));
    let mut killer = as_user(&server, "killer");
    assert_eq!(users(&mut killer, lists[0]), ["killer"]);
    assert_eq!((killer.code(&kill(0)), killer.code(&kill(2))), (1095, 0));
    assert!(second.attempt("DO 1").is_none() && v.attempt("DO 1").is_none());
    assert_eq!((root.code("DO 1"), u.code("DO 1")), (0, 0));
}
