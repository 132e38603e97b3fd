//! Distributed transactions by programs for Java, over two servers: branches by hand through Connector/J, and Atomikos as a
//! manager that dies in the middle.
//!
//! What is expected was told by MySQL 9.7.4, by the same programs (`LIMPID_BINARY` may name any server that takes Limpid's options).

use super::{folder, good, kept};
use std::path::PathBuf;
use std::process::Command;
use testkit::{Server, TempDir, run};

/// Connector/J 9.7.0 takes servers for the same that have the host in common or the port.
const CONNECTOR: &str = "com.mysql:mysql-connector-j:8.4.0";
const ATOMIKOS: [&str; 3] =
    [CONNECTOR, "com.atomikos:transactions-jdbc:5.0.8", "javax.transaction:jta:1.1"];

/// A program of `drivers/` over jars that are fetched once; `None` where they cannot be had.
fn java(name: &str, artifacts: &[&str], program: &str) -> Option<Command> {
    let jars: PathBuf = match testkit::jars::fetched(&kept().join(name), artifacts, &[]) {
        Ok(jars) => jars,
        Err(why) => {
            println!("{why}");
            return None;
        }
    };
    let mut java = Command::new("java");
    java.arg("-cp").arg(jars.join("*")).arg(folder().join("drivers").join(program));
    Some(java)
}

/// Two servers, and their ports.
fn servers(data: &[TempDir; 2]) -> ([Server; 2], [String; 2]) {
    let servers = data.each_ref().map(|data| Server::start(data.path()));
    let ports = servers.each_ref().map(|server| server.port().to_string());
    (servers, ports)
}

/// Of soak: it takes a Java machine and Maven.
#[test]
#[ignore = "soak: a Java machine"]
fn branches_by_hand_through_connector_j() {
    let Some(mut program) = java("xa_java", &[CONNECTOR], "Xa.java") else {
        return testkit::skip("Connector/J cannot be had");
    };
    let data = [TempDir::new(), TempDir::new()];
    let (_servers, ports) = servers(&data);
    let expected = std::fs::read_to_string(folder().join("xa.result")).unwrap();
    assert_eq!(good(run(program.args(&ports))).out, expected);
}

#[test]
#[ignore = "soak: a Java machine"]
fn a_manager_that_dies_before_and_after_it_has_decided() {
    let (data, home) = ([TempDir::new(), TempDir::new()], TempDir::new());
    let (servers, ports) = servers(&data);
    let in_doubt = || servers.iter().map(|s| s.sql("XA RECOVER").lines().count()).sum::<usize>();
    // What it does, what it says at last, how many branches it leaves in doubt.
    for (what, said, left) in [
        ("work", "work 700 1300", 0),
        ("undecided", "", 1),
        ("recovered", "recovered 700 1300", 0),
        ("decided", "", 1),
        ("recovered", "recovered 600 1400", 0),
    ] {
        let Some(mut program) = java("manager_java", &ATOMIKOS, "Manager.java") else {
            return testkit::skip("Atomikos cannot be had");
        };
        let answer = run(program.args(&ports).arg(home.path()).arg(what));
        let last = answer.text().lines().last().unwrap_or_default();
        let dies = said.is_empty();
        assert_eq!(answer.ok, !dies, "{what}: {}{}", answer.out, answer.err);
        assert!(dies || last == said, "{what}: {last}\n{}", answer.err);
        assert_eq!(in_doubt(), left, "{what}");
    }
}
