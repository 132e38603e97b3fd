//! Django's own suite, the parts that have models, with the account that its documentation asks for.

use super::{folder, list, pypi};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use testkit::{Server, TempDir, run};

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
const ACCOUNT: &str = r"CREATE USER django@localhost IDENTIFIED BY 'django';
    GRANT ALL ON `test\_%`.* TO django@localhost";

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

/// Of soak: it took seven minutes of processor time, 34 minutes beside builds.
#[test]
#[ignore = "soak: Django's suite"]
fn djangos_suite_passes_but_for_what_is_refused() {
    let Some((python, suite)) = pypi::python_and_sources("django", DJANGO, &PACKAGES) else {
        return testkit::skip("Django or mysqlclient cannot be installed");
    };
    let data = TempDir::new();
    let server = Server::start(data.path());
    server.sql(ACCOUNT);
    let tests = suite.join("tests");
    let mut runner = Command::new("timeout");
    runner.arg("3600").arg(python).args(["runtests.py", "--noinput", "--parallel=1"]);
    runner.args(["--settings=settings"]).args(parts(&tests));
    runner.env("PYTHONPATH", folder().join("django")).env("PYTHONDONTWRITEBYTECODE", "1");
    runner.env("LIMPID_SOCKET", server.socket());
    let said = run(runner.current_dir(tests)).err;
    let count = said.lines().find_map(|line| line.strip_prefix("Ran "));
    let count = count.and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
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
