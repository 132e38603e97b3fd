//! go-sql-driver's own suite, with an account that has rights on one schema only: in clear, over TLS with a certificate that it
//! verifies, and packed.
//!
//! What is to be TLS, or packed, is nothing else: the account requires TLS, the server takes no connection that is not packed.

use super::{folder, good, kept, owner};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use testkit::{Answer, Server, TempDir, run};

/// How many pass in clear, and which do not.
const PASSED: usize = 158;
const MISSING: [&str; 4] = [
    "TestCollation",          // cp1257_bin
    "TestErrorInMultiResult", // a procedure
    "TestInterruptBySignal",  // a procedure
    "TestMultiResultSet",     // a procedure
];

/// Connects in clear and unpacked whatever the suite is told.
const ALWAYS_PLAIN: &str = "TestNewConnector";

/// It dials an address outside of this machine.
const DIALS_OUT: &str = "^TestConnectorReturnsTimeout$";

/// One that connects, for who only wants to know whether it can.
const CONNECTS: &str = "^TestCRUD$";

/// Where the suite's sources open connections, and the same with more that a run says of them.
const OPENED: &str = "?timeout=30s\"";
const OPENED_AS_TOLD: &str = "?timeout=30s\"+os.Getenv(\"LIMPID_TEST_DSN\")";

/// What makes connections so.
const PACKED: &str = "&compress=true";
const VERIFIED: &str = "&tls=own";
const SKIPPED: &str = "&tls=skip-verify";

/// The suite as a program, whose folder has its sources; `None` where there is no Go, or no driver for it.
fn suite() -> Option<&'static Path> {
    static SUITE: OnceLock<Option<PathBuf>> = OnceLock::new();
    SUITE.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    let go = |folder: &Path, arguments: &[&str]| {
        let done = Command::new("go").args(arguments).current_dir(folder).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
    };
    let authority = std::fs::read(folder().join("go_suite/authority_test.go")).unwrap();
    // Of this source: a kept program of another one is no use.
    let home = kept().join(format!("go_suite_{}", authority.len()));
    let program = home.join("suite");
    if program.exists() {
        return Some(program);
    }
    let pinned = folder().join("tls_go");
    go(&pinned, &["mod", "download"])?;
    let module = go(&pinned, &["list", "-m", "-f", "{{.Dir}}", "github.com/go-sql-driver/mysql"])?;
    std::fs::create_dir_all(&home).unwrap();
    for file in std::fs::read_dir(module).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_name().unwrap();
        if name.to_string_lossy().starts_with("go.") || file.extension().is_some_and(|e| e == "go")
        {
            let text = std::fs::read_to_string(&file).unwrap().replace(OPENED, OPENED_AS_TOLD);
            std::fs::write(home.join(name), text).unwrap();
        }
    }
    std::fs::write(home.join("authority_test.go"), authority).unwrap();
    go(&home, &["test", "-c", "-o", "suite", "."])?;
    Some(program)
}

/// What the suite says of a server whose authority it trusts to be that of `trusted`.
fn said(program: &Path, server: &Server, trusted: &TempDir, dsn: &str, which: &[&str]) -> Answer {
    let mut suite = Command::new("timeout");
    suite.arg("300").arg(program).arg("-test.v").args(which);
    suite.env("MYSQL_TEST_ADDR", format!("127.0.0.1:{}", server.port()));
    suite.envs([("MYSQL_TEST_USER", "gotest"), ("MYSQL_TEST_PASS", "gotest")]);
    suite.env("LIMPID_TEST_DSN", dsn).env("LIMPID_TEST_CA", trusted.path().join("data/ca.pem"));
    run(suite.current_dir(program.parent().unwrap()))
}

/// The whole suite, whose connections have these words in their DSN.
fn passes(dsn: &str) {
    let Some(program) = suite() else {
        return testkit::skip("go-sql-driver's suite cannot be built");
    };
    let data = TempDir::new();
    let server = Server::with().option("--local-infile=ON").start(data.path());
    owner(&server, "gotest", &["gotest"]);
    if dsn.contains("tls=") {
        server.sql("ALTER USER gotest REQUIRE SSL");
    }
    if dsn.contains(PACKED) {
        server.sql("SET GLOBAL protocol_compression_algorithms = 'zlib'");
    }
    let said = said(program, &server, &data, dsn, &["-test.skip", DIALS_OUT]).out;
    let of = |outcome: &str| {
        let names = said.lines().filter_map(|line| line.strip_prefix(outcome));
        let mut names: Vec<_> = names.filter_map(|line| line.split(' ').next()).collect();
        names.sort_unstable();
        names
    };
    let mut missing = MISSING.to_vec();
    missing.extend((!dsn.is_empty()).then_some(ALWAYS_PLAIN));
    assert_eq!(of("--- FAIL: "), missing, "{dsn}\n{said}");
    assert_eq!(of("--- PASS: ").len() + missing.len(), PASSED + MISSING.len(), "{dsn}\n{said}");
}

#[test]
fn go_sql_drivers_suite_passes_in_clear() {
    passes("");
}

#[test]
fn go_sql_drivers_suite_passes_over_tls_that_it_verifies() {
    passes(VERIFIED);
}

#[test]
fn go_sql_drivers_suite_passes_packed() {
    passes(PACKED);
}

#[test]
#[ignore = "soak: other ways of the same suite"]
fn go_sql_drivers_suite_passes_packed_over_tls() {
    for tls in [VERIFIED, SKIPPED] {
        passes(&format!("{tls}{PACKED}"));
    }
}

/// What the suite verifies, it verifies: without this the one over TLS would say nothing.
#[test]
fn go_sql_drivers_suite_refuses_a_server_of_another_authority() {
    let Some(program) = suite() else {
        return testkit::skip("go-sql-driver's suite cannot be built");
    };
    let (data, other) = (TempDir::new(), TempDir::new());
    let (server, _other) = (Server::start(data.path()), Server::start(other.path()));
    owner(&server, "gotest", &["gotest"]);
    let connects =
        |trusted: &TempDir| said(program, &server, trusted, VERIFIED, &["-test.run", CONNECTS]);
    let known = good(connects(&data)).out;
    assert!(known.contains("--- PASS: TestCRUD"), "{known}");
    let unknown = connects(&other);
    assert!(!unknown.ok && unknown.out.contains("x509: "), "{}\n{}", unknown.out, unknown.err);
}
