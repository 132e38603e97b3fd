//! Accounts, roles and privileges: dialogues, `tests/accounts/*.talk`, as MySQL had them, and what only a server of one's own shows.
//!
//! To record: `LIMPID_PEER="socket=..." cargo test --test accounts -- --ignored recorded_from_a_peer`.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "accounts/installation.rs"]
mod installation;
#[path = "accounts/logins.rs"]
mod logins;
#[path = "accounts/sessions.rs"]
mod sessions;

use std::path::{Path, PathBuf};
use testkit::{Peer, Server, TempDir, TextClient, dialogue};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accounts")
}

#[test]
fn accounts_may_what_they_may_in_mysql() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    dialogue::compare_folder(&server.socket().into(), &folder());
}

#[test]
#[ignore = "needs a real MySQL; writes tests/accounts/*.result"]
fn recorded_from_a_peer() {
    dialogue::record_folder(&Peer::of_environment(), &folder());
}

#[test]
#[ignore = "needs a real MySQL; the runner itself put to the test"]
fn checked_against_a_peer() {
    dialogue::compare_folder(&Peer::of_environment(), &folder());
}

fn as_user(server: &Server, user: &str) -> TextClient {
    let peer = Peer { user: user.into(), ..Peer::from(server.socket()) };
    TextClient::connect(&peer)
}

#[test]
fn privileges_of_the_server_are_no_schema_s_to_hand_on() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    for sql in [
        "CREATE DATABASE d",
        "CREATE USER one, other",
        "GRANT SELECT ON d.* TO one WITH GRANT OPTION",
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    let mut one = as_user(&server, "one");
    assert_eq!(one.code("GRANT SELECT ON d.* TO other"), 0);
    assert_eq!(one.code("GRANT INSERT ON d.* TO other"), 1044);
    let of_server = "GRANT SELECT, RELOAD ON d.* TO other";
    assert_eq!(one.code(of_server), 1045);
    assert_eq!(root.code(of_server), 1221);
    root.query("GRANT RELOAD ON *.* TO one").unwrap();
    assert_eq!(as_user(&server, "one").code(of_server), 1221);
}

/// As MySQL's manual says it: some privilege for each column that is selected, SELECT for those used elsewhere.
#[test]
fn who_makes_a_view_may_do_something_with_what_it_shows() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT, b INT)",
        "CREATE USER one, other",
        "GRANT CREATE VIEW ON d.* TO one, other",
        "GRANT INSERT ON d.t TO one",
        "GRANT UPDATE (b) ON d.t TO other",
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    let (mut one, mut other) = (as_user(&server, "one"), as_user(&server, "other"));
    for (sql, by_one, by_other) in [
        ("SELECT 1 FROM d.t", 0, 0),
        ("SELECT b FROM d.t", 0, 0),
        ("SELECT a FROM d.t", 0, 1143),
        ("SELECT * FROM d.t UNION SELECT b, b FROM d.t", 0, 1142),
        ("SELECT b FROM d.t WHERE b = 1", 1143, 1143),
        ("SELECT b + 1 FROM d.t", 1143, 1143),
        ("SELECT (SELECT MAX(b) FROM d.t) m", 1143, 1143),
    ] {
        for (client, code) in [(&mut one, by_one), (&mut other, by_other)] {
            root.query("DROP VIEW IF EXISTS d.v").unwrap();
            assert_eq!(client.code(&format!("CREATE VIEW d.v AS {sql}")), code, "{sql}");
        }
    }
    // To make one is not to read it.
    assert_eq!(one.code("CREATE VIEW d.w AS SELECT a FROM d.t"), 0);
    root.query("GRANT SELECT ON d.w TO one").unwrap();
    assert_eq!(one.code("SELECT * FROM d.w"), 1356);
    root.query("REVOKE INSERT ON d.t FROM one").unwrap();
    assert_eq!(one.code("CREATE VIEW d.x AS SELECT 1 FROM d.t"), 1142);
}

/// As MySQL's manual says it: of views and tables that one has some privilege of.
#[test]
fn the_tables_of_views_are_told_to_who_may_see_both() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT)",
        "CREATE TABLE u (x INT)",
        "CREATE VIEW v AS WITH u AS (SELECT x FROM u) SELECT a, (SELECT MAX(x) FROM d.u) m FROM t JOIN u ON a = x",
        "CREATE VIEW w AS SELECT v.a FROM v JOIN information_schema.tables s",
        "CREATE USER one, other",
        "GRANT SELECT ON d.v TO one, other",
        "GRANT INSERT (a) ON d.t TO one",
        "GRANT UPDATE ON d.w TO other",
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    let told = |client: &mut TextClient| -> Vec<String> {
        let sql = "SELECT CONCAT(VIEW_NAME, ': ', TABLE_SCHEMA, '.', TABLE_NAME)
                   FROM information_schema.VIEW_TABLE_USAGE WHERE VIEW_SCHEMA = 'd' ORDER BY 1";
        let rows = client.query(sql).unwrap().rows.into_iter();
        rows.map(|row| String::from_utf8(row[0].clone().unwrap()).unwrap()).collect()
    };
    let of_w = ["w: d.v", "w: information_schema.tables"];
    assert_eq!(told(&mut root), [&["v: d.t", "v: d.u"][..], &of_w].concat());
    assert_eq!(told(&mut as_user(&server, "one")), ["v: d.t"]);
    assert_eq!(told(&mut as_user(&server, "other")), of_w);
}

#[test]
fn programs_that_are_kept_obey_what_is_revoked() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)",
        "INSERT INTO d.t VALUES (1, 10), (2, 20)",
        "CREATE VIEW d.v AS SELECT a FROM d.t",
        "CREATE USER u, w",
        "GRANT SELECT ON d.t TO u",
        "GRANT SELECT ON d.v TO u",
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    let (mut u, mut w) = (as_user(&server, "u"), as_user(&server, "w"));
    let texts = [
        "SELECT a FROM d.t WHERE id = 1",
        "SELECT a FROM d.t WHERE id > 0 ORDER BY a",
        "SELECT COUNT(*) FROM d.t x JOIN d.t y",
        "SELECT a FROM d.v",
    ];
    u.query("PREPARE s FROM 'SELECT a FROM d.t WHERE id = ?'").unwrap();
    u.query("SET @id = 2").unwrap();
    for _ in 0..3 {
        for sql in texts {
            assert_eq!(u.code(sql), 0, "{sql}");
            // The program is shared, the right to run it is not.
            assert_eq!(w.code(sql), 1142, "{sql}");
        }
        assert_eq!(u.code("EXECUTE s USING @id"), 0);
    }
    root.query("REVOKE SELECT ON d.t FROM u").unwrap();
    for sql in &texts[..3] {
        assert_eq!(u.code(sql), 1142, "{sql}");
    }
    assert_eq!(u.code("EXECUTE s USING @id"), 1142);
    assert_eq!(u.code(texts[3]), 0, "the view is another grant, its table root's");
    root.query("GRANT SELECT (a) ON d.t TO u").unwrap();
    assert_eq!(u.code(texts[0]), 1143, "the key is a column, too");
    assert_eq!(u.code("EXECUTE s USING @id"), 1143);
    root.query("GRANT SELECT (id) ON d.t TO u").unwrap();
    for sql in &texts[..2] {
        assert_eq!(u.code(sql), 0, "{sql}");
    }
    assert_eq!(u.code("EXECUTE s USING @id"), 0);
    root.query("DROP USER u").unwrap();
    assert_eq!(u.code(texts[0]), 1142, "an account that is gone has nothing");
    assert_eq!(u.code(texts[3]), 1142);
}

#[test]
fn the_grant_lock_is_taken_while_it_is_switched_on() {
    const CLASS: &str = "NAME = 'wait/synch/rwlock/sql/LOCK_grant'";
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let (mut root, mut u) = (TextClient::connect(server.socket()), None);
    root.query("CREATE USER u").unwrap();
    let on = "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE";
    assert_eq!(root.query(&format!("{on} {CLASS}")).unwrap().affected, 1);
    let count = "SELECT COUNT_STAR FROM performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_";
    let taken = || server.sql(&format!("{count}{CLASS}")).parse::<u64>().unwrap();
    let mut work = |root: &mut TextClient| {
        let u = u.get_or_insert_with(|| as_user(&server, "u"));
        (0..100).for_each(|_| assert_eq!(u.code("DO 1"), 0));
        assert_eq!(u.code("SELECT COUNT(*) FROM mysql.user"), 1142);
        root.query("GRANT SELECT ON mysql.user TO u").unwrap();
        assert_eq!(u.code("SELECT COUNT(*) FROM mysql.user"), 0);
        root.query("REVOKE SELECT ON mysql.user FROM u").unwrap();
        assert_eq!(u.code("SELECT COUNT(*) FROM mysql.user"), 1142);
    };
    work(&mut root);
    assert_eq!(taken(), 0);
    root.query("SET GLOBAL limpid_grant_lock = ON").unwrap();
    work(&mut root);
    let some = taken();
    assert!((105..130).contains(&some), "{some}");
    // Many look while it is written.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut reader = as_user(&server, "u");
            scope.spawn(move || (0..200).for_each(|_| assert_eq!(reader.code("DO 1"), 0)));
        }
        work(&mut root);
    });
    root.query("SET GLOBAL limpid_grant_lock = OFF").unwrap();
    let all = taken();
    assert!(all > some + 900, "{all}");
    work(&mut root);
    assert_eq!(taken(), all);
}

#[test]
fn accounts_and_grants_outlive_a_kill() {
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    let long = "x".repeat(2000);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
        "CREATE ROLE r",
        "GRANT SELECT ON d.* TO r",
        "CREATE USER u, gone",
        "GRANT r TO u",
        "SET DEFAULT ROLE ALL TO u",
        "DROP USER gone",
        &format!("ALTER USER u FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 1 COMMENT '{long}'"),
        &format!("ALTER USER u ATTRIBUTE '{{\"more\": \"{long}\"}}'"),
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    for n in 0..50 {
        root.query(&format!("GRANT INSERT, UPDATE ON d{n}.* TO u")).unwrap();
    }
    let shown = |client: &mut TextClient| {
        let lists = ["SHOW GRANTS FOR u", "SHOW CREATE USER u", "SHOW GRANTS FOR r"];
        lists.map(|sql| {
            let rows = client.query(sql).unwrap().rows.concat();
            let texts = rows.iter().flatten().map(|text| String::from_utf8_lossy(text));
            texts.collect::<Vec<_>>().join("\n")
        })
    };
    let before = shown(&mut root);
    assert!(before[0].contains("`d49`") && before[1].contains(&long));
    server.kill();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    assert_eq!(shown(&mut root), before);
    assert_eq!(root.code("SHOW GRANTS FOR gone"), 1141);
    assert_eq!(as_user(&server, "u").code("SELECT a FROM d.t"), 0);
}

#[test]
fn a_folder_is_initialized_and_grant_tables_can_be_skipped() {
    let temp = TempDir::new();
    let folder = temp.path().join("data");
    let initialize = |option: &str| {
        let mut command = std::process::Command::new(testkit::server::binary());
        command.args(["--no-defaults", option]).arg(format!("--datadir={}", folder.display()));
        testkit::run(&mut command)
    };
    let made = initialize("--initialize");
    assert!(made.ok, "{}", made.err);
    let password = made.err.split("root@localhost: ").nth(1).expect("a password");
    let password = password.split_whitespace().next().unwrap().to_string();
    let again = initialize("--initialize-insecure");
    assert!(!again.ok && again.err.contains("data directory has files in it"), "{}", again.err);

    let init = temp.path().join("init.sql");
    std::fs::write(&init, "CREATE DATABASE made_by_file; CREATE USER u;").unwrap();
    let option = format!("--init-file={}", init.display());
    let server = Server::with().option(&option).start(temp.path());
    let peer = Peer { password: password.clone(), ..Peer::from(server.socket()) };
    // The first password has to be changed, by a client that knows of such.
    assert_eq!(TextClient::try_connect(&peer).unwrap_err().number, 1862);
    let mut u = as_user(&server, "u");
    assert_eq!(u.code("USE made_by_file"), 1044);
    drop(server);

    let server = Server::with().option("--skip-grant-tables").start(temp.path());
    let mut anybody = as_user(&server, "nobody");
    assert_eq!(anybody.code("USE made_by_file"), 0);
    assert_eq!(anybody.code("SELECT COUNT(*) FROM mysql.user"), 0);
    assert_eq!(anybody.code("CREATE USER w"), 1290);
}

#[test]
fn passwords_are_shown_nowhere() {
    let temp = TempDir::new();
    let server = Server::with().option("--general-log=ON").start(temp.path());
    let mut root = TextClient::connect(server.socket());
    let secret = "s3cretWord";
    // The process list keeps the text of what waits.
    root.query("CREATE USER w").unwrap();
    root.query("FLUSH TABLES WITH READ LOCK").unwrap();
    let (socket, text) =
        (server.socket().to_path_buf(), format!("CREATE USER u IDENTIFIED BY '{secret}'"));
    let waiting = std::thread::spawn(move || {
        TextClient::connect(&socket).query(&text).unwrap();
    });
    let info = "SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO LIKE 'CREATE USER u%'";
    let shown = loop {
        let rows = root.query(info).unwrap().rows;
        if let Some(Some(text)) = rows.first().and_then(|row| row.first().cloned()) {
            break String::from_utf8(text).unwrap();
        }
    };
    assert_eq!(shown, "CREATE USER u IDENTIFIED BY <secret>");
    root.query("UNLOCK TABLES").unwrap();
    waiting.join().unwrap();
    for sql in [
        format!("ALTER USER u IDENTIFIED BY '{secret}' RETAIN CURRENT PASSWORD"),
        format!("SET PASSWORD FOR u = '{secret}'"),
        format!("ALTER USER nosuch IDENTIFIED BY '{secret}'"),
        format!("PREPARE p FROM 'ALTER USER u IDENTIFIED BY \"{secret}\"'"),
    ] {
        let _ = root.query(&sql);
    }
    for table in [
        "events_statements_history",
        "events_statements_summary_by_digest",
        "threads",
        "processlist",
        "error_log",
    ] {
        let rows = root.query(&format!("SELECT * FROM performance_schema.{table}")).unwrap().rows;
        let told = rows.iter().flatten().flatten();
        for value in told.map(|value| String::from_utf8_lossy(value)) {
            assert!(!value.contains(secret), "{table}: {value}");
        }
    }
    assert!(!server.log().contains(secret));
    for file in std::fs::read_dir(temp.path().join("data")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|e| e == "log") {
            let text = std::fs::read(&file).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(secret), "{}", file.display());
        }
    }
}

#[test]
fn the_old_way_to_prove_oneself_is_an_option() {
    let temp = TempDir::new();
    let create = "CREATE USER u IDENTIFIED WITH mysql_native_password BY 'x'";
    let with = Server::with().option("--mysql-native-password=ON").start(temp.path());
    let mut root = TextClient::connect(with.socket());
    root.query(create).unwrap();
    let shown = root.query("SHOW CREATE USER u").unwrap().rows[0][0].clone().unwrap();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let stored = "AS '*B69027D44F6E5EDC07F1AEAD1477967B16F28227'";
    assert!(shown.contains(stored), "{shown}");
    let peer = Peer { user: "u".into(), password: "x".into(), ..Peer::from(with.socket()) };
    let answer =
        with.client().args(["--user=u", "--password=x", "-e", "SELECT CURRENT_USER()"]).output();
    let answer = answer.unwrap();
    assert!(String::from_utf8_lossy(&answer.stdout).contains("u@%"), "{answer:?}");
    drop((root, with));
    let without = Server::start(temp.path());
    let mut root = TextClient::connect(without.socket());
    assert_eq!(root.code(&create.replace(" u ", " w ")), 1524);
    let peer = Peer { socket: without.socket().into(), ..peer };
    assert_eq!(TextClient::try_connect(&peer).unwrap_err().number, 1524);
}

#[test]
fn a_connection_is_what_the_account_requires() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let made = "/CN=Limpid_8.4.0-Limpid-0.1.0_Auto_Generated_";
    server.sql(&format!(
        "CREATE USER tls REQUIRE SSL; CREATE USER x509 REQUIRE X509; \
         CREATE USER subject REQUIRE SUBJECT '{made}Client_Certificate' AND ISSUER '{made}CA_Certificate'; \
         CREATE USER other REQUIRE SUBJECT '/CN=other'"
    ));
    let data = temp.path().join("data");
    let file = |option: &str, name: &str| format!("{option}={}", data.join(name).display());
    let certificate = [file("--ssl-cert", "client-cert.pem"), file("--ssl-key", "client-key.pem")];
    let comes_in = |user: &str, options: &[&str]| {
        let mut client = server.tcp_client();
        client.arg(format!("--user={user}")).args(options).args(["-e", "SELECT 1"]);
        testkit::run(&mut client).ok
    };
    let with = ["--ssl", &certificate[0], &certificate[1]];
    for (user, plain, secured, certified) in [
        ("tls", false, true, true),
        ("x509", false, false, true),
        ("subject", false, false, true),
        ("other", false, false, false),
    ] {
        assert_eq!(comes_in(user, &["--skip-ssl"]), plain, "{user} in clear");
        assert_eq!(comes_in(user, &["--ssl"]), secured, "{user} over TLS");
        assert_eq!(comes_in(user, &with), certified, "{user} with a certificate");
    }
}

/// The name of the user whose processes the tests are.
fn os_user() -> String {
    let named = testkit::run(std::process::Command::new("id").arg("-un"));
    named.out.trim().to_string()
}

#[test]
fn who_has_the_process_comes_in_by_auth_socket() {
    let temp = TempDir::new();
    let server =
        Server::with().option("--auth-root-authentication-method=socket").start(temp.path());
    let own = os_user();
    let peer = |user: &str| Peer { user: user.into(), ..Peer::from(server.socket()) };
    if own != "root" {
        // Nobody here is root: what follows is tested where the tests run as root, as they do in containers.
        assert_eq!(TextClient::try_connect(peer("root")).unwrap_err().number, 1698);
        return;
    }
    let mut root = TextClient::connect(server.socket());
    for sql in [
        "CREATE USER named IDENTIFIED WITH auth_socket AS 'root'",
        "CREATE USER other IDENTIFIED WITH auth_socket AS 'nobody_of_that_name'",
        "CREATE USER root@'127.0.0.1' IDENTIFIED WITH auth_socket",
        "CREATE USER ''@'%' IDENTIFIED WITH auth_socket",
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    // Clients of several kinds, who say what they like of a password.
    for (user, password) in [("root", ""), ("root", "wrong"), ("named", ""), ("named", "wrong")] {
        let mut client = server.client();
        client.args([format!("--user={user}"), format!("--password={password}")]);
        let answer = testkit::run(client.args(["-e", "SELECT USER(), @@external_user"]));
        assert!(answer.out.contains(&format!("{user}@localhost\troot")), "{user}: {}", answer.err);
    }
    for user in ["other", "nobody"] {
        let failure = TextClient::try_connect(peer(user)).unwrap_err();
        assert_eq!(failure.number, 1698, "{user}");
    }
    let over_tcp = testkit::run(server.tcp_client().args(["--user=root", "-e", "SELECT 1"]));
    assert!(over_tcp.err.contains("ERROR 1698 (28000)"), "{}", over_tcp.err);
    let mut client = server.tcp_client();
    let over_tcp = testkit::run(client.args(["--user=named", "--password=x", "-e", "SELECT 1"]));
    assert!(
        over_tcp.err.contains("Access denied for user 'named'@'localhost'"),
        "{}",
        over_tcp.err
    );
    // What a first start says is said once.
    drop(root);
    drop(server);
    let server = Server::start(temp.path());
    let shown = server.sql("SHOW CREATE USER root@localhost");
    assert!(shown.contains("WITH 'auth_socket'"), "{shown}");
}

#[test]
fn what_validates_passwords_outlives_a_restart() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    std::fs::write(temp.path().join("data/words.txt"), "pass\nsecretword\nAbcd\n").unwrap();
    for sql in [
        "INSTALL COMPONENT 'file://component_validate_password'",
        "SET PERSIST validate_password.policy = STRONG",
        "SET PERSIST validate_password.dictionary_file = 'words.txt'",
        "CREATE USER u IDENTIFIED BY '1ZPAxS!a'",
    ] {
        root.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    let alter = "ALTER USER u IDENTIFIED BY '1ZPASS!a'";
    assert_eq!(root.code(alter), 1819);
    assert_eq!(root.code("SET PERSIST validate_password.dictionary_file = 'nosuch.txt'"), 0);
    assert_eq!(root.code(alter), 1819, "what was read last is in force");
    assert_eq!(root.code("SET PERSIST validate_password.dictionary_file = 'words.txt'"), 0);
    drop(root);
    drop(server);
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    assert_eq!(root.code(alter), 1819);
    let words = server.sql("SHOW STATUS LIKE 'validate_password.dictionary_file_words_count'");
    assert!(words.contains("\t3"), "{words}");
    assert!(server.sql("SELECT component_id FROM mysql.component").contains('1'));
    for sql in
        ["ALTER USER u IDENTIFIED BY RANDOM PASSWORD", "ALTER USER u IDENTIFIED BY 'Zabcd1!fgh'"]
    {
        assert_eq!(root.code(sql), 0, "{sql}");
    }
    assert_eq!(root.code("UNINSTALL COMPONENT 'file://component_validate_password'"), 0);
    assert_eq!(root.code(alter), 0);
}
