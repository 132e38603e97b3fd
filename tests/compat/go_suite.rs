//! go-sql-driver's own suite, in clear and over TLS, with an account that has rights on one schema only.

use super::{folder, kept, owner};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Server, TempDir, run};

/// How many pass in clear, and which do not.
const PASSED: usize = 158;
const MISSING: [&str; 4] = [
    "TestCollation",          // cp1257_bin
    "TestErrorInMultiResult", // a procedure
    "TestInterruptBySignal",  // a procedure
    "TestMultiResultSet",     // a procedure
];

/// Connects in clear whatever the suite is told, which an account that requires TLS does not let it.
const IN_CLEAR: &str = "TestNewConnector";

/// It dials an address outside of this machine.
const DIALS_OUT: &str = "^TestConnectorReturnsTimeout$";

/// Where the suite's sources open connections, and what makes them secure.
const CLEAR: &str = "?timeout=30s";
const SECURE: &str = "?timeout=30s&tls=skip-verify";

/// The suite as a program, whose folder has its sources; `None` where there is no Go, or no driver for it.
fn suite(secure: bool) -> Option<PathBuf> {
    let go = |folder: &Path, arguments: &[&str]| {
        let done = Command::new("go").args(arguments).current_dir(folder).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
    };
    let home = kept().join(if secure { "go_suite_tls" } else { "go_suite" });
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
            let text = std::fs::read_to_string(&file).unwrap();
            let text = if secure { text.replace(CLEAR, SECURE) } else { text };
            std::fs::write(home.join(name), text).unwrap();
        }
    }
    go(&home, &["test", "-c", "-o", "suite", "."])?;
    Some(program)
}

fn passes(secure: bool) {
    let Some(program) = suite(secure) else {
        return testkit::skip("go-sql-driver's suite cannot be built");
    };
    let data = TempDir::new();
    let server = Server::with().option("--local-infile=ON").start(data.path());
    owner(&server, "gotest", &["gotest"]);
    if secure {
        server.sql("ALTER USER gotest REQUIRE SSL");
    }
    let mut suite = Command::new("timeout");
    suite.arg("300").arg(&program).args(["-test.v", "-test.skip", DIALS_OUT]);
    suite.env("MYSQL_TEST_ADDR", format!("127.0.0.1:{}", server.port()));
    suite.envs([("MYSQL_TEST_USER", "gotest"), ("MYSQL_TEST_PASS", "gotest")]);
    let said = run(suite.current_dir(program.parent().unwrap())).out;
    let of = |outcome: &str| {
        let names = said.lines().filter_map(|line| line.strip_prefix(outcome));
        let mut names: Vec<_> = names.filter_map(|line| line.split(' ').next()).collect();
        names.sort_unstable();
        names
    };
    let mut missing = MISSING.to_vec();
    missing.extend(secure.then_some(IN_CLEAR));
    assert_eq!(of("--- FAIL: "), missing, "{said}");
    assert_eq!(of("--- PASS: ").len() + missing.len(), PASSED + MISSING.len(), "{said}");
}

#[test]
fn go_sql_drivers_suite_passes_in_clear() {
    passes(false);
}

#[test]
fn go_sql_drivers_suite_passes_over_tls() {
    passes(true);
}
