//! Django's own suite, the parts that have models, with the account that its documentation asks for.

use super::{folder, list, pypi};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use testkit::{Answer, Server, TempDir, run};

/// Its sdist brings the suite.
const DJANGO: &str = "django-5.2.8";

/// The driver, and what the suite imports where it is there.
const PACKAGES: [&str; 9] = [
    "mysqlclient==2.3.2",
    "asgiref",
    "docutils",
    "jinja2",
    "Pillow",
    "PyYAML",
    "sqlparse",
    "tblib",
    "tzdata",
];

/// The rights that Django's documentation asks for: its test databases are called so.
const ACCOUNT: &str =
    r"CREATE USER django IDENTIFIED BY 'django'; GRANT ALL ON `test\_%`.* TO django";

/// The parts that come over TLS in a test run, and how many tests they have: forms of rows, transactions, what tables look like.
const SECURED: [&str; 3] = ["basic", "transactions", "introspection"];
const SECURED_TESTS: u32 = 190;

/// Other databases' own.
const OTHERS: [&str; 2] = ["gis_tests", "postgres_tests"];

/// What takes it for granted that files can be closed to their owner, who is root in many a container.
const NOT_AS_ROOT: [&str; 2] = [
    "file_uploads.tests.DirectoryCreationTests.test_readonly_root",
    "i18n.test_compilation.PoFileTests.test_no_write_access",
];

/// The suite's parts that have models.
fn parts(tests: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(tests).unwrap().map(|entry| entry.unwrap());
    let with_models = folders.filter(|entry| {
        entry.path().join("models.py").exists() || entry.path().join("models").is_dir()
    });
    let names = with_models.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| !OTHERS.contains(&name.as_str())).collect();
    names.sort();
    names
}

/// The Python with Django, and the folder of its sources; `None` where they cannot be had.
fn installed() -> Option<&'static (PathBuf, PathBuf)> {
    static INSTALLED: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    INSTALLED.get_or_init(|| pypi::python_and_sources("django", DJANGO, &PACKAGES)).as_ref()
}

/// What the suite says of some of its parts, with this in its environment.
fn said(
    (python, suite): &(PathBuf, PathBuf),
    parts: &[String],
    environment: &[(&str, String)],
) -> Answer {
    let mut runner = Command::new("timeout");
    runner.arg("3600").arg(python).args(["runtests.py", "--noinput", "--parallel=1"]);
    runner.args(["--settings=settings"]).args(parts);
    runner.env("PYTHONPATH", folder().join("django")).env("PYTHONDONTWRITEBYTECODE", "1");
    runner.envs(environment.iter().map(|(name, value)| (name, value)));
    run(runner.current_dir(suite.join("tests")))
}

/// How many tests ran.
fn ran(said: &str) -> Option<u32> {
    let rest = said.lines().find_map(|line| line.strip_prefix("Ran "))?;
    rest.split(' ').next()?.parse().ok()
}

/// Over TCP, by an account that requires TLS.
#[test]
fn djangos_models_work_over_tls_that_it_verifies() {
    let Some(django) = installed() else {
        return testkit::skip("Django or mysqlclient cannot be installed");
    };
    let (data, other) = (TempDir::new(), TempDir::new());
    let (server, _other) = (Server::start(data.path()), Server::start(other.path()));
    server.sql(ACCOUNT);
    server.sql("ALTER USER django REQUIRE SSL");
    let over_tls = |trusted: &TempDir, parts: &[&str]| {
        let ca = trusted.path().join("data/ca.pem").display().to_string();
        let environment = [("LIMPID_CA", ca), ("LIMPID_PORT", server.port().to_string())];
        let parts: Vec<_> = parts.iter().map(|part| (*part).to_string()).collect();
        said(django, &parts, &environment)
    };
    let all = over_tls(&data, &SECURED);
    assert!(all.ok && ran(&all.err) == Some(SECURED_TESTS), "{}", all.err);
    let stranger = over_tls(&other, &SECURED[..1]);
    assert!(!stranger.ok && stranger.err.contains("(2026, "), "{}", stranger.err);
}

/// Of soak: it took seven minutes of processor time, 34 minutes beside builds.
#[test]
#[ignore = "soak: Django's suite"]
fn djangos_suite_passes_but_for_what_is_refused() {
    let Some(django) = installed() else {
        return testkit::skip("Django or mysqlclient cannot be installed");
    };
    let data = TempDir::new();
    let server = Server::start(data.path());
    server.sql(ACCOUNT);
    let all = parts(&django.1.join("tests"));
    let socket = server.socket().display().to_string();
    let said = said(django, &all, &[("LIMPID_SOCKET", socket)]).err;
    let count = ran(&said);
    println!("Django: {count:?} tests");
    assert!(count.is_some_and(|count| count > 13_000), "{said}");
    // `FAIL: name (path.of.name)`, and behind it what a subtest was given.
    let named = |line: &str| {
        let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
        Some(rest.split_once('(')?.1.split_once(')')?.0.to_string())
    };
    let failed: BTreeSet<_> = said.lines().filter_map(named).collect();
    let failed: BTreeSet<_> =
        failed.into_iter().filter(|name| !NOT_AS_ROOT.contains(&name.as_str())).collect();
    let known = list("django_known.txt");
    let (lost, gained): (Vec<_>, Vec<_>) =
        (failed.difference(&known).collect(), known.difference(&failed).collect());
    assert!(lost.is_empty(), "fail here and are in no list: {lost:#?}\n{said}");
    assert!(gained.is_empty(), "pass, and are in the list of what fails: {gained:#?}");
}
