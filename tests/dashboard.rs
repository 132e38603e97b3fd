//! The dashboard over its socket: who is answered, what charts and trees show, and how it is switched.

// Tests panic to fail, and wait for processes, which no event of ours announces; what stops their threads is no atomic of the server's.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "dashboard/agreement.rs"]
mod agreement;
#[path = "dashboard/costs.rs"]
mod costs;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::browser::Browser;
use testkit::raw::RawClient;
use testkit::{Conversation, Server, ServerBuilder, TempDir, TextClient};

/// A server with a dashboard at any free port.
fn builder() -> ServerBuilder {
    Server::with().option("--limpid-dashboard=ON").option("--limpid-dashboard-port=0")
}

/// Where the log says that the dashboard is now.
fn address(server: &Server) -> SocketAddr {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        // Clients come in a moment before.
        let log = server.log();
        if let Some((_, rest)) = log.rsplit_once("Dashboard: http://") {
            return rest.split('/').next().unwrap().parse().unwrap();
        }
        assert!(Instant::now() < until, "no dashboard\n{log}");
        testkit::pause(20);
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// Sends bytes and reads to the end.
fn raw(at: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // A server that refuses early may close before all is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).expect("an answer is UTF-8");
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_ascii_lowercase(), body: body.to_string() })
}

fn request(at: SocketAddr, method: &str, path: &str, host: &str, more: &str) -> Answer {
    let text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    raw(at, text.as_bytes()).unwrap_or_else(|| panic!("no answer to {text}"))
}

fn get(at: SocketAddr, path: &str) -> Answer {
    request(at, "GET", path, &at.to_string(), "")
}

fn panel(at: SocketAddr, name: &str) -> String {
    let answer = get(at, &format!("/panel/{name}"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// `user:password`, as HTTP's Basic scheme has it.
fn basic(user: &str, password: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes = format!("{user}:{password}").into_bytes();
    let coded = bytes.chunks(3).map(|chunk| {
        let word = (0..3).fold(0, |word, at| word << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        let digit = |at: usize| match at <= chunk.len() {
            true => DIGITS[(word >> (18 - 6 * at) & 63) as usize] as char,
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    });
    format!("Authorization: Basic {}\r\n", coded.collect::<String>())
}

#[test]
fn foreign_and_broken_requests_are_refused() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    let at = address(&server);
    let page = get(at, "/");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    // Everything that the page needs is the server's own.
    for path in ["/", "/dashboard.js", "/dashboard.css"] {
        let text = get(at, path).body.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http:") && !text.contains("https:") && !text.contains("@import"),
            "{path}"
        );
    }
    for host in ["evil.example", "evil.example:3380", "10.1.2.3", "localhost.evil.example", ""] {
        let answer = request(at, "GET", "/", host, "");
        assert_eq!(answer.status, 421, "{host}: {}", answer.body);
        assert!(answer.head.contains("content-security-policy"));
    }
    for host in ["localhost", "LocalHost:1", "[::1]:9", "127.0.0.1"] {
        assert_eq!(request(at, "GET", "/", host, "").status, 200, "{host}");
    }
    assert_eq!(raw(at, b"GET / HTTP/1.1\r\n\r\n").unwrap().status, 400);
    assert_eq!(raw(at, b"GET / HTTP/1.0\r\n\r\n").unwrap().status, 400);
    assert_eq!(
        raw(at, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").unwrap().status,
        400
    );
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH"] {
        for path in ["/", "/panel/waits", "/nowhere"] {
            let answer = request(at, method, path, "localhost", "Content-Length: 0\r\n");
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(answer.head.contains("allow: get"));
        }
    }
    for path in [
        "/../etc/passwd",
        "/panel/../../etc/passwd",
        "/..",
        "/panel/..",
        "/%2e%2e/etc/passwd",
        "/panel/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/panel/",
        "/panel/<script>alert(1)</script>",
        "/panel/%3Cscript%3E",
        "/nowhere",
    ] {
        let answer = request(at, "GET", path, "localhost", "");
        // What is no path at all is told so.
        let expected = if path.contains('<') { 400 } else { 404 };
        assert_eq!(answer.status, expected, "{path}");
        assert!(
            !answer.body.contains("script") && !answer.body.contains("root:"),
            "{path}: {}",
            answer.body
        );
    }
    // What is no HTTP, or too much of it, is closed; afterwards all is well.
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    for bytes in [
        &b"\x00\x01\x02\xff\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        long.as_bytes(),
    ] {
        let answer = raw(at, bytes);
        assert!(answer.is_none_or(|a| (400..500).contains(&a.status)));
    }
    assert_eq!(get(at, "/").status, 200);
    assert_eq!(server.sql("SELECT 1"), "1");
}

#[test]
fn half_open_requests_are_bounded() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    let at = address(&server);
    assert_eq!(get(at, "/").status, 200);
    let memory = || {
        let text = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = text.lines().find(|l| l.starts_with("VmRSS:")).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = memory();
    let begun = Instant::now();
    let mut all: Vec<TcpStream> = (0..1000)
        .map(|_| {
            let mut stream = TcpStream::connect(at).unwrap();
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localh");
            stream
        })
        .collect();
    assert_eq!(server.sql("SELECT 1"), "1", "clients of SQL are not touched");
    let files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(files() < 300, "{} files are open", files());
    let is_closed = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut rest = Vec::new();
        // The end, or a reset: a wait that ends in time is neither.
        stream
            .read_to_end(&mut rest)
            .map_or_else(|e| e.kind() == std::io::ErrorKind::ConnectionReset, |_| true)
    };
    assert!(all.iter_mut().all(is_closed), "each is closed, at the latest when its time is over");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(memory() < before + 8 * 1024, "{} KiB before, {} KiB after", before, memory());
    assert_eq!(get(at, "/").status, 200);
}

/// Points of each series of a panel's charts.
fn points(html: &str) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut all = BTreeMap::new();
    for part in html.split("data-series=\"").skip(1) {
        let name = part.split('"').next().unwrap().to_string();
        let text = part.split("data-points=\"").nth(1).unwrap().split('"').next().unwrap();
        let pairs = text.split_whitespace().map(|pair| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        });
        all.insert(name, pairs.collect());
    }
    all
}

/// What the rates of a series come to between two times: each holds since the point before it.
fn sum(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let span = |pair: &[(f64, f64)]| (pair[1].0.min(to) - pair[0].0.max(from)).max(0.0);
    points.windows(2).map(|pair| pair[1].1 * span(pair)).sum()
}

/// Count and seconds of the waits of a class, as `performance_schema` has them.
fn waited(server: &Server, class: &str) -> (f64, f64) {
    let row = server.sql(&format!(
        "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) / 1e12 FROM performance_schema.events_waits_summary_global_by_event_name \
         WHERE EVENT_NAME LIKE '{class}/%'"
    ));
    let mut numbers = row.split('\t').map(|n| n.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn now_s() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// An open stream of events, so that somebody looks until it is dropped.
fn look(at: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(format!("GET /events HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
    let mut first = [0; 1024];
    let n = stream.read(&mut first).unwrap();
    assert!(first[..n].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first[..n]));
    let mut rest = stream.try_clone().unwrap();
    // What is not taken would fill the way.
    std::thread::spawn(move || std::io::copy(&mut rest, &mut std::io::sink()));
    stream
}

#[test]
fn charts_agree_with_the_performance_schema() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 0)");
    let at = address(&server);
    let _looking = look(at);
    testkit::pause(2500);
    const CLASSES: [&str; 2] = ["wait/io/file", "wait/lock/innodb"];
    let before = CLASSES.map(|class| waited(&server, class));
    let from = now_s();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = server.converse();
                while !stop.load(Ordering::Relaxed) {
                    session.ask("UPDATE d.t SET c = c + 1 WHERE id = 1");
                }
            });
        }
        testkit::pause(4000);
        stop.store(true, Ordering::Relaxed);
    });
    // Behind the load dirty pages are still written.
    testkit::pause(2500);
    let after = CLASSES.map(|class| waited(&server, class));
    let to = now_s();
    // The sample behind the load has come.
    testkit::pause(2500);
    let (counts, seconds) = (points(&panel(at, "waits")), points(&panel(at, "wait-seconds")));
    for ((class, before), after) in CLASSES.iter().zip(before).zip(after) {
        for (what, chart, moved) in
            [("count", &counts, after.0 - before.0), ("seconds", &seconds, after.1 - before.1)]
        {
            assert!(moved > 0.0, "{class} {what}: the load made none");
            let points = chart.get(*class).unwrap_or_else(|| panic!("{class} {what} is not drawn"));
            // The last interval ends behind the load; before and behind it next to nothing moves.
            let drawn = sum(points, from - 0.5, to + 1.5);
            let off = (drawn - moved).abs() / moved;
            assert!(off < 0.05, "{class} {what}: {drawn} drawn, {moved} counted");
        }
    }
    let table = panel(at, "statements");
    assert!(table.contains("UPDATE") && table.contains("data-points"), "{table}");
}

#[test]
fn a_server_at_rest_waits_for_nothing() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    let at = address(&server);
    let _looking = look(at);
    // What its start was waiting for is over.
    testkit::pause(4000);
    let from = now_s();
    testkit::pause(5000);
    let to = now_s();
    testkit::pause(1500);
    // Background threads that wait for something to do would each be a second a second.
    for (class, points) in points(&panel(at, "wait-seconds")) {
        let waited = sum(&points, from, to);
        assert!(waited < 1.0, "{class}: {waited} s in {} s", to - from);
    }
}

#[test]
fn the_lock_tree_names_the_blocker() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.`<b onclick=1>` (id INT PRIMARY KEY, c VARCHAR(99)); \
         INSERT INTO d.`<b onclick=1>` VALUES (1, ''), (2, '')",
    );
    let at = address(&server);
    assert!(panel(at, "locks").contains("Nobody waits for a lock."));
    let _looking = look(at);
    let (mut row, mut ddl) = (server.converse(), server.converse());
    // Nothing comes behind its statement, which stays the last one and is no text.
    let mut blocker = RawClient::connect(&server);
    blocker.login();
    let done = |blocker: &mut RawClient, sql: &[u8]| {
        blocker.command(3, sql);
        let answer = blocker.packet().unwrap();
        assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
    };
    let connection = |session: &mut Conversation| session.ask("SELECT CONNECTION_ID()")[0].clone();
    let (row_id, ddl_id) = (connection(&mut row), connection(&mut ddl));
    done(&mut blocker, b"BEGIN");
    done(
        &mut blocker,
        b"UPDATE d.`<b onclick=1>` SET c = '<script>alert(1)</script>' /* \xff\xfe<script> */ WHERE id = 1",
    );
    let blocker_id = server.sql(
        "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 0",
    );
    let ids = [blocker_id, row_id, ddl_id];
    row.send("UPDATE d.`<b onclick=1>` SET c = 'row' WHERE id = 1");
    testkit::pause(300);
    ddl.send("ALTER TABLE d.`<b onclick=1>` ADD COLUMN e INT");
    testkit::pause(300);
    let until = Instant::now() + Duration::from_secs(20);
    let whole =
        |html: &str| ids.iter().all(|id| html.contains(&format!("data-connection=\"{id}\"")));
    let tree = loop {
        let html = panel(at, "locks");
        if whole(&html) {
            break html;
        }
        assert!(Instant::now() < until, "{html}");
        testkit::pause(200);
    };
    let place = |id: &str| tree.find(&format!("data-connection=\"{id}\"")).unwrap();
    assert!(place(&ids[0]) < place(&ids[1]) && place(&ids[0]) < place(&ids[2]), "{tree}");
    let root = tree[place(&ids[0])..].split("<ul>").next().unwrap();
    assert!(
        root.contains("Sleep") && root.contains("transaction open for"),
        "its state and age: {root}"
    );
    assert!(root.contains("&lt;script&gt;alert(1)"), "its last statement: {root}");
    assert!(root.contains("/* \u{fffd}\u{fffd}&lt;script&gt; */"), "no UTF-8: {root}");
    assert!(tree.contains("EXCLUSIVE on table d.&lt;b onclick=1&gt;"), "{tree}");
    assert!(tree.contains("on a row of d.&lt;b onclick=1&gt;"), "{tree}");
    assert!(!tree.contains("<script") && !tree.contains("<b onclick"), "{tree}");
    done(&mut blocker, b"ROLLBACK");
    row.receive();
    ddl.receive();
    let until = Instant::now() + Duration::from_secs(20);
    while !panel(at, "locks").contains("Nobody waits for a lock.") {
        assert!(Instant::now() < until);
        testkit::pause(200);
    }
}

#[test]
fn the_history_tells_afterwards_who_was_in_whose_way() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 1)");
    let at = address(&server);
    let mut victim = server.converse();
    let mut blocker = TextClient::connect(server.socket());
    blocker.query("BEGIN").unwrap();
    blocker.query("UPDATE d.t SET v = 2 /* <script> */ WHERE id = 1").unwrap();
    let id = blocker.query("SELECT CONNECTION_ID()").unwrap().rows[0][0].clone().unwrap();
    let id = String::from_utf8(id).unwrap();
    victim.send("UPDATE d.t SET v = 3 WHERE id = 1");
    testkit::pause(4000);
    let findings = panel(at, "findings");
    assert!(findings.contains("idle-blocker") && findings.contains(&id), "{findings}");
    blocker.query("ROLLBACK").unwrap();
    victim.receive();
    testkit::pause(1500);
    let page = get(at, "/history?minutes=5").body;
    for part in ["data-series=\"wait/lock", "d.t.PRIMARY", "UPDATE d.t SET v = 3 WHERE id = 1"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains(&format!("connection {id}")), "the blocker: {page}");
    assert!(!page.contains("<script> */"), "{page}");
    // Before there was a server, nothing was active.
    let before = get(at, "/history?minutes=60&until=1000").body;
    assert!(before.contains("No session was active"), "{before}");
    for odd in ["minutes=x", "until=18446744073709551615", "minutes=-1&until=", "%00=%ff"] {
        assert!(get(at, &format!("/history?{odd}")).status < 500, "{odd}");
    }
    let panel = panel(at, "history");
    assert!(panel.contains("wait/lock"), "{panel}");
}

#[test]
#[ignore = "takes half a minute: cargo xtask soak"]
fn a_blocker_of_half_a_minute_is_found_second_by_second() {
    const SECONDS: u64 = 30;
    const VICTIMS: u64 = 3;
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 1)");
    let mut blocker = server.converse();
    let id = blocker.ask("SELECT CONNECTION_ID()").concat();
    blocker.ask("BEGIN");
    blocker.ask("UPDATE d.t SET v = 2 WHERE id = 1");
    let mut victims: Vec<Conversation> = (0..VICTIMS).map(|_| server.converse()).collect();
    victims.iter_mut().for_each(|victim| victim.send("UPDATE d.t SET v = v + 1 WHERE id = 1"));
    testkit::pause(SECONDS * 1000);
    blocker.ask("ROLLBACK");
    victims.iter_mut().for_each(|victim| drop(victim.receive()));
    drop((blocker, victims));
    // It is over, and they are gone. A busy machine may be late for a sample or two.
    let told = server.sql(&format!(
        "SELECT COUNT(DISTINCT v.SAMPLE_TIME), COUNT(*), COUNT(DISTINCT v.PROCESSLIST_ID)
         FROM performance_schema.limpid_session_samples v JOIN performance_schema.limpid_session_samples b
         ON b.THREAD_ID = v.BLOCKING_THREAD_ID AND b.SAMPLE_TIME = v.SAMPLE_TIME
         WHERE b.PROCESSLIST_ID = {id} AND b.COMMAND = 'Sleep' AND v.EVENT_NAME = 'wait/lock/innodb/row'"
    ));
    let told: Vec<u64> = told.split('\t').map(|n| n.parse().unwrap()).collect();
    let least = SECONDS * 9 / 10;
    assert!(told[0] >= least && told[1] >= VICTIMS * least && told[2] == VICTIMS, "{told:?}");
}

#[test]
fn off_closes_the_port_and_on_opens_it() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    let first = address(&server);
    let mut stream = TcpStream::connect(first).unwrap();
    stream.write_all(format!("GET /events HTTP/1.1\r\nHost: {first}\r\n\r\n").as_bytes()).unwrap();
    server.sql("SET GLOBAL limpid_dashboard = OFF");
    assert!(TcpStream::connect(first).is_err(), "the port is closed");
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest);
    assert!(ended.is_ok() || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    let threads =
        "SELECT COUNT(*) FROM performance_schema.threads WHERE NAME = 'thread/limpid/dashboard'";
    assert_eq!(server.sql(threads), "0");
    assert_eq!(server.sql("SET GLOBAL limpid_dashboard = OFF; SELECT @@limpid_dashboard"), "0");
    server.sql("SET GLOBAL limpid_dashboard = ON");
    assert_eq!(get(address(&server), "/").status, 200);
    server.sql("SET GLOBAL limpid_dashboard = ON");
    assert_eq!(server.sql(threads), "1", "one at most");
}

#[test]
fn a_server_that_stops_does_not_wait_for_who_looks() {
    let folder = TempDir::new();
    let mut server = builder().start(folder.path());
    let at = address(&server);
    let _looking = look(at);
    let begun = Instant::now();
    assert!(server.stop().success());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(TcpStream::connect(at).is_err());
}

#[test]
fn a_port_in_use_is_one_warning() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = TempDir::new();
    let options = ["--limpid-dashboard=ON".to_string(), format!("--limpid-dashboard-port={port}")];
    let server =
        options.into_iter().fold(Server::with(), ServerBuilder::option).start(folder.path());
    assert_eq!(server.sql("SELECT @@limpid_dashboard"), "0", "what is there is shown");
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("ashboard")).collect();
    assert!(
        lines.len() == 1 && lines[0].contains("[Warning]") && lines[0].contains(&port.to_string()),
        "{lines:?}"
    );
    let error = server.sql_error("SET GLOBAL limpid_dashboard = ON");
    assert!(error.contains("is in use"), "{error}");
    drop(taken);
    server.sql("SET GLOBAL limpid_dashboard = ON");
    assert_eq!(get(address(&server), "/").status, 200);
}

#[test]
fn an_address_that_others_reach_is_refused() {
    for other in ["0.0.0.0", "::", "192.0.2.1", "example.com"] {
        let folder = TempDir::new();
        let mut server =
            builder().option(format!("--limpid-dashboard-address={other}")).spawn(folder.path());
        assert!(!server.wait().success(), "{other}");
        assert!(server.log().contains("limpid_dashboard_address"), "{other}: {}", server.log());
    }
}

#[test]
fn who_looks_has_an_account_that_may() {
    let folder = TempDir::new();
    let server = builder().option("--mysql-native-password=ON").start(folder.path());
    let at = address(&server);
    server.sql(
        "CREATE USER watcher IDENTIFIED BY 'right'; GRANT PROCESS ON *.* TO watcher; \
         GRANT SELECT ON performance_schema.* TO watcher; \
         CREATE USER half IDENTIFIED BY 'right'; GRANT PROCESS ON *.* TO half; \
         CREATE USER old IDENTIFIED WITH mysql_native_password BY 'right'; GRANT SELECT, PROCESS ON *.* TO old; \
         CREATE USER shut IDENTIFIED BY 'right' ACCOUNT LOCK; GRANT SELECT, PROCESS ON *.* TO shut",
    );
    assert_eq!(get(at, "/").status, 200, "root has no password: nobody is asked");
    server.sql("ALTER USER root@localhost IDENTIFIED BY 'word'");
    let ask = |more: &str| request(at, "GET", "/panel/now", "localhost", more);
    let asked = ask("");
    assert_eq!(asked.status, 401);
    assert!(asked.head.contains("www-authenticate: basic"), "{}", asked.head);
    for path in ["/", "/events", "/dashboard.js", "/panel/waits", "/nowhere"] {
        assert_eq!(request(at, "GET", path, "localhost", "").status, 401, "{path}");
    }
    for (user, password) in [("root", "word"), ("watcher", "right"), ("old", "right")] {
        let answer = ask(&basic(user, password));
        assert_eq!(answer.status, 200, "{user}: {}", answer.body);
    }
    assert_eq!(ask(&basic("half", "right")).status, 403);
    assert_eq!(ask(&basic("shut", "right")).status, 401);
    assert_eq!(ask("Authorization: Bearer x\r\n").status, 401);
    // A wrong password takes a second, and two at once take two; who was let in before does not wait.
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for password in ["", "wrong"] {
            scope.spawn(move || assert_eq!(ask(&basic("root", password)).status, 401));
        }
        testkit::pause(200);
        let known = Instant::now();
        assert_eq!(ask(&basic("watcher", "right")).status, 200);
        assert!(known.elapsed() < Duration::from_millis(1500), "{:?}", known.elapsed());
    });
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    // Who loses the right to look loses the page.
    let mut root = server.client();
    root.args(["--password=word", "--execute", "REVOKE PROCESS ON *.* FROM watcher"]);
    assert!(testkit::run(&mut root).ok);
    let until = Instant::now() + Duration::from_secs(20);
    while ask(&basic("watcher", "right")).status != 403 {
        assert!(Instant::now() < until, "still let in");
        testkit::pause(500);
    }
}

#[test]
fn nothing_is_read_while_nobody_looks() {
    let folder = TempDir::new();
    let server = builder().option("--general-log=ON").start(folder.path());
    let at = address(&server);
    let sessions =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE USER = 'limpid_dashboard'";
    assert_eq!(server.sql(sessions), "0", "nobody has looked yet");
    let looking = look(at);
    testkit::pause(2500);
    assert_eq!(server.sql(sessions), "1");
    let digests = "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest \
                   WHERE DIGEST_TEXT LIKE '%events_waits_summary_global_by_event_name%'";
    assert_eq!(server.sql(digests), "0", "its own reading is not shown");
    let log = std::fs::read_to_string(folder.path().join("data/general.log")).unwrap();
    assert!(!log.contains("SUM_TIMER_WAIT"), "nor logged:\n{log}");
    // A session that is killed comes again.
    let id =
        server.sql("SELECT ID FROM information_schema.processlist WHERE USER = 'limpid_dashboard'");
    server.sql(&format!("KILL {id}"));
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let now = server.sql(
            "SELECT MAX(ID) FROM information_schema.processlist WHERE USER = 'limpid_dashboard'",
        );
        if now != id && now != "NULL" {
            break;
        }
        assert!(Instant::now() < until, "no other session");
        testkit::pause(300);
    }
    looking.shutdown(std::net::Shutdown::Both).unwrap();
    let until = Instant::now() + Duration::from_secs(40);
    while server.sql(sessions) != "0" {
        assert!(Instant::now() < until, "it reads on");
        testkit::pause(500);
    }
}

#[test]
#[ignore = "runs Chromium: cargo xtask soak"]
fn a_browser_shows_what_the_server_counted() {
    let folder = TempDir::new();
    let server = builder().start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 0)");
    let at = address(&server);
    let mut browser = Browser::start(1600, 2000);
    browser.open(&format!("http://{at}/"));
    testkit::pause(4000);
    let (before, from) = (waited(&server, "wait/io/file"), now_s());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = server.converse();
                let until = Instant::now() + Duration::from_secs(5);
                while Instant::now() < until {
                    session.ask("UPDATE d.t SET c = c + 1 WHERE id = 1");
                }
            });
        }
    });
    let (after, to) = (waited(&server, "wait/io/file"), now_s());
    testkit::pause(2500);
    assert_eq!(browser.text("document.getElementById('state').textContent"), "live");
    let drawn = points(&browser.text("document.getElementById('waits').innerHTML"));
    let drawn = sum(&drawn["wait/io/file"], from - 0.5, to + 1.5);
    let moved = after.0 - before.0;
    assert!((drawn - moved).abs() / moved < 0.05, "{drawn} drawn, {moved} counted");
    // Where the mouse is, the figures of that moment are shown; what is clicked is hidden.
    let place = "((b) => Math.round(b.x + b.width * 0.98) + ' ' + Math.round(b.y + b.height / 2))(\
                 document.querySelector('#waits .plot').getBoundingClientRect())";
    let place = browser.text(place);
    let (x, y) = place.split_once(' ').unwrap();
    browser.point_at(x.parse().unwrap(), y.parse().unwrap());
    assert_eq!(browser.text("document.getElementById('tip').hidden + ''"), "false");
    assert!(browser.text("document.getElementById('tip').textContent").contains("wait/io/file"));
    let click = "([...document.querySelectorAll('#waits [data-legend]')].find(s => s.dataset.legend === 'wait/io/file')\
                 .dispatchEvent(new MouseEvent('click', {bubbles: true})), '')";
    browser.text(click);
    let shown = "getComputedStyle([...document.querySelectorAll('#waits [data-series]')]\
                 .find(s => s.dataset.series === 'wait/io/file')).display";
    assert_eq!(browser.text(shown), "none");
    testkit::pause(1500);
    assert_eq!(browser.text(shown), "none", "after a refresh, too");
    browser.text(click);
    // A pile-up.
    let mut blocker = TextClient::connect(server.socket());
    blocker.query("BEGIN").unwrap();
    blocker.query("UPDATE d.t SET c = 0 WHERE id = 1").unwrap();
    let mut waiters: Vec<Conversation> = (0..4).map(|_| server.converse()).collect();
    waiters.iter_mut().for_each(|waiter| waiter.send("UPDATE d.t SET c = c + 1 WHERE id = 1"));
    let until = Instant::now() + Duration::from_secs(20);
    while !browser
        .text("document.getElementById('locks').innerHTML")
        .contains("data-holds-up=\"4\"")
    {
        assert!(
            Instant::now() < until,
            "{}",
            browser.text("document.getElementById('locks').innerHTML")
        );
        testkit::pause(300);
    }
    let picture = browser.keep("pile-up");
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000);
    blocker.query("ROLLBACK").unwrap();
    waiters.iter_mut().for_each(|waiter| drop(waiter.receive()));
    assert_eq!(browser.console(), [""; 0], "no error");
    let own = format!("http://{at}/");
    let requests = browser.requests();
    assert!(
        requests.len() >= 4 && requests.iter().all(|url| url.starts_with(&own)),
        "{requests:?}"
    );
}
