//! Passwords after the first login: what is cached of them, over which way they may come, and when they expire.

use super::*;
use access::{Account, AccountName, Lifetime};

const DAY_US: i64 = 86_400_000_000;
const MUST_CHANGE: u16 = 1820;
const EXPIRED: u16 = 1862;

/// A client of another machine, whose connection anybody may listen to.
fn far() -> Peer {
    Peer::Tcp("10.0.0.7:4000".parse().expect("address"))
}

/// A client that says it knows this password, and what it is answered.
fn spoken(server: &Arc<Server>, peer: Peer, password: &[u8]) -> (Client, Vec<Vec<u8>>) {
    let mut client = Client::knock(server, peer);
    let answer = auth::answer_fast(password, &client.scramble);
    let replies = client.log_in("far", Plugin::CachingSha2, &answer);
    (client, replies)
}

/// Whether a client of another machine comes in by what is cached of a password, as it cannot send it in full.
fn is_cached(server: &Arc<Server>, password: &[u8]) -> bool {
    let (mut client, replies) = spoken(server, far(), password);
    if replies[0] == [1, auth::FAST_OK] {
        assert_ok(&replies);
        return true;
    }
    assert_eq!(replies, [[1, auth::FULL_NEEDED]]);
    assert_eq!(error_of(&client.packet(&[password, b"\0"].concat())), 1045);
    assert!(client.closed);
    false
}

/// A client of this machine proves it in full.
fn prove(server: &Arc<Server>, password: &[u8]) {
    let (mut client, replies) = spoken(server, tcp(), password);
    assert_eq!(replies, [[1, auth::FULL_NEEDED]]);
    assert_ok(&client.packet(&[password, b"\0"].concat()));
}

#[test]
fn what_is_cached_of_a_password_ends_with_flush_privileges_and_another_password() {
    let server = server();
    set_password_at(&server, "far", "%", Plugin::CachingSha2, b"secret");
    let mut root = Client::root(&server);
    assert!(!is_cached(&server, b"secret"));
    prove(&server, b"secret");
    assert!(is_cached(&server, b"secret"));
    assert!(!is_cached(&server, b"guess"));
    assert!(is_cached(&server, b"secret"), "a wrong one changes nothing");
    for ends in [
        &["FLUSH PRIVILEGES"][..],
        // The same one, which is stored with another salt.
        &["ALTER USER far IDENTIFIED BY 'secret'"],
        &["SET PASSWORD FOR far = 'secret'"],
        &["DROP USER far", "CREATE USER far IDENTIFIED BY 'secret'"],
    ] {
        ends.iter().for_each(|sql| root.run(sql));
        assert!(!is_cached(&server, b"secret"), "{ends:?}");
        prove(&server, b"secret");
        assert!(is_cached(&server, b"secret"), "{ends:?}");
    }
    root.run("ALTER USER far IDENTIFIED BY 'other'");
    assert!(!is_cached(&server, b"secret") && !is_cached(&server, b"other"));
    prove(&server, b"other");
    assert!(is_cached(&server, b"other") && !is_cached(&server, b"secret"));
}

#[test]
fn what_tells_a_password_is_overwritten_when_its_command_ends() {
    let server = server();
    let mut root = Client::root(&server);
    let mut leaves = |command: u8, sql: &str, word: &[u8]| {
        root.command(&[&[command][..], sql.as_bytes()].concat());
        root.session.space().windows(word.len()).any(|part| part == word)
    };
    for (command, sql) in [
        (3, "CREATE USER u IDENTIFIED BY 'hunter'"),
        (3, "SET PASSWORD FOR u = 'hunter'"),
        (3, "PREPARE s FROM 'ALTER USER u IDENTIFIED BY \"hunter\"'"),
        (3, "ALTER USER u IDENTIFIED BY 'hunter' nonsense"),
        (3, "DO 1; ALTER USER u IDENTIFIED BY 'hunter'"),
        (3, "SELECT nosuch; ALTER USER u IDENTIFIED BY 'hunter'"),
        (0x16, "ALTER USER u IDENTIFIED BY 'hunter'"),
    ] {
        assert!(!leaves(command, sql, b"hunter"), "{sql}");
    }
    assert!(leaves(3, "SELECT 'what is no secret stays until something else comes'", b"no secret"));
}

/// COM_CHANGE_USER of a client that waits for a challenge; what its answer is answered.
fn becomes(client: &mut Client, user: &str, password: &[u8]) -> Vec<Vec<u8>> {
    let body = [&b"\x11"[..], user.as_bytes(), b"\0\0\0\x2D\0caching_sha2_password\0"].concat();
    let told = client.command(&body);
    assert!(told[0].starts_with(b"\xFEcaching_sha2_password\0"), "{:?}", text_of(&told));
    let scramble: Scramble = told[0][23..43].try_into().expect("challenge");
    client.packet(&auth::answer_fast(password, &scramble))
}

#[test]
fn a_client_that_waits_for_a_challenge_becomes_another_user() {
    let server = server();
    set_password_at(&server, "far", "%", Plugin::CachingSha2, b"secret");
    let mut client = Client::root(&server);
    assert_eq!(becomes(&mut client, "far", b"secret"), [[1, auth::FULL_NEEDED]]);
    assert_ok(&client.packet(b"secret\0"));
    assert_eq!(client.rows("SELECT CURRENT_USER()"), ["far@%"]);
    let fast = becomes(&mut client, "far", b"secret");
    assert_eq!(fast[0], [1, auth::FAST_OK]);
    assert_ok(&fast);
    assert_ok(&becomes(&mut client, "root", b""));
    assert_eq!(client.rows("SELECT CURRENT_USER()"), ["root@localhost"]);
}

/// Who can listen is decided by the way to the proxy, at a login as when a client becomes another user.
#[test]
fn behind_a_proxy_a_password_comes_in_clear_where_the_way_to_the_proxy_is_this_machine_s() {
    let server = server();
    set_password_at(&server, "far", "%", Plugin::CachingSha2, b"secret");
    let proxied = |way: Peer, client: Peer| {
        let mut through = Client::knock(&server, way);
        assert!(through.session.comes_from(client));
        through
    };
    for becoming in [false, true] {
        server.logins.flush();
        let asked = |through: &mut Client| {
            let replies = match becoming {
                false => {
                    let answer = auth::answer_fast(b"secret", &through.scramble);
                    through.log_in("far", Plugin::CachingSha2, &answer)
                }
                true => {
                    assert_ok(&through.log_in("nobody", Plugin::CachingSha2, b""));
                    becomes(through, "far", b"secret")
                }
            };
            assert_eq!(replies, [[1, auth::FULL_NEEDED]]);
            through.packet(b"secret\0")
        };
        set_password_at(&server, "nobody", "%", Plugin::CachingSha2, b"");
        // It says that it is near, and came by a way that anybody may listen to.
        let refused = asked(&mut proxied(far(), tcp()));
        assert_eq!(error_of(&refused), 1045, "becoming another user: {becoming}");
        assert_ok(&asked(&mut proxied(Peer::Socket(None), far())));
    }
}

/// Changes an account as no statement does.
fn change(server: &Server, user: &str, change: impl FnOnce(&mut Account)) {
    let name = AccountName::new(user, "%");
    let mut account = Account::clone(server.catalog.accounts().find(&name).expect("account"));
    change(&mut account);
    let mut client = server.engine.client().expect("client");
    server.catalog.change_accounts(&mut client, &[account], &[]).expect("account");
}

/// A client that does not know of passwords that expire, and what it is answered.
fn unaware(server: &Arc<Server>) -> (Client, Vec<Vec<u8>>) {
    let mut client = Client::knock(server, Peer::Socket(None));
    let caps = PLAIN.without(Capabilities::EXPIRED_PASSWORDS);
    let replies = client.log_in_with(caps, "old", Plugin::CachingSha2, b"");
    (client, replies)
}

#[test]
fn a_password_expires_after_its_days_or_those_of_all() {
    let server = server();
    set_password_at(&server, "old", "%", Plugin::CachingSha2, b"");
    let of_all = variables::id("default_password_lifetime");
    for (age_days, lifetime, days_of_all, expires) in [
        (2, Lifetime::Days(1), 0, true),
        (0, Lifetime::Days(1), 0, false),
        (2, Lifetime::Days(3), 1, false),
        (2, Lifetime::Default, 0, false),
        (2, Lifetime::Default, 1, true),
        (2, Lifetime::Never, 1, false),
    ] {
        change(&server, "old", |account| {
            account.changed_us = host::clock::now_us() - age_days * DAY_US;
            account.lifetime = lifetime;
        });
        server.globals.set(of_all, variables::Value::UInt(days_of_all));
        let (_, replies) = unaware(&server);
        match expires {
            true => assert_eq!(error_of(&replies), EXPIRED, "{lifetime:?} {days_of_all}"),
            false => assert_ok(&replies),
        }
    }
    // Whoever knows of it sets another one, and is young again.
    change(&server, "old", |account| account.lifetime = Lifetime::Days(1));
    let mut client = Client::knock(&server, Peer::Socket(None));
    assert_ok(&client.log_in("old", Plugin::CachingSha2, b""));
    for sql in ["SELECT 1", "ALTER USER USER()", "ALTER USER old DEFAULT ROLE NONE", "SELECT 1"] {
        assert_eq!(client.fails(sql), MUST_CHANGE, "{sql}");
    }
    client.run("ALTER USER USER() IDENTIFIED BY ''");
    assert_eq!(client.rows("SELECT 1"), ["1"]);
    assert_ok(&unaware(&server).1);
}

#[test]
fn commands_of_a_client_whose_password_expired_are_refused_but_for_a_few() {
    let server = server();
    set_password_at(&server, "old", "%", Plugin::CachingSha2, b"");
    change(&server, "old", |account| account.expired = true);
    server.globals.set(variables::id("disconnect_on_expired_password"), variables::Value::UInt(0));
    // It is kept, as the variable says, though it does not know what it is told.
    let (mut client, replies) = unaware(&server);
    assert_ok(&replies);
    let of_user = b"\x11old\0\0\0\x2D\0caching_sha2_password\0";
    let refused: [&[u8]; 6] = [b"\x02mysql", b"\x04t\0%", b"\x09", b"\x1B\0\0", b"\x1F", of_user];
    for command in refused {
        assert_eq!(error_of(&client.command(command)), MUST_CHANGE, "{command:?}");
    }
    assert_ok(&client.command(b"\x0E"));
    let select = client.prepare("SELECT 1");
    assert_eq!(error_of(&client.execute(select, b"")), MUST_CHANGE);
    client.run("SET PASSWORD = ''");
    assert_ok(&client.command(b"\x02mysql"));
}
