//! Drivers over TLS that they verify, and over the compressed protocol: MariaDB's client, mysqlclient, MySQL's connectors for Python
//! and Java, mysql2, go-sql-driver. Each does the same: rows in batches, values of megabytes, an error, and tells what it spoke.

use super::pypi::{self, done};
use super::tls::go_program;
use super::{folder, good, kept};
use std::path::PathBuf;
use std::process::Command;
use testkit::{Server, TempDir, run};

/// Versions that are known to do what is expected here.
const PYTHON: [&str; 2] = ["mysqlclient==2.3.2", "mysql-connector-python==26.10.0"];
const NODE: &str = "mysql2@3.24.6";
const JAVA: &str = "com.mysql:mysql-connector-j:9.7.0";

fn script(name: &str) -> PathBuf {
    folder().join("drivers").join(name)
}

fn server(data: &TempDir) -> (Server, String, String) {
    let server = Server::with().option("--max-allowed-packet=64M").start(data.path());
    let ca = data.path().join("data/ca.pem").display().to_string();
    let port = server.port().to_string();
    (server, port, ca)
}

#[test]
fn mariadbs_client_packs_in_clear_and_over_tls() {
    let data = TempDir::new();
    let (server, _, ca) = server(&data);
    let how = "SELECT GROUP_CONCAT(VARIABLE_VALUE ORDER BY VARIABLE_NAME) FROM \
               performance_schema.session_status WHERE VARIABLE_NAME IN ('Compression', \
               'Compression_algorithm', 'Ssl_version'); SELECT MD5(REPEAT('xyz', 3000000)); \
               SELECT REPEAT('xyz', 3000000)";
    let ask = |options: &[&str]| {
        let mut command = server.tcp_client();
        let answer =
            good(run(command.arg("--max-allowed-packet=64M").args(options).args(["-e", how])));
        let lines: Vec<String> = answer.text().lines().map(String::from).collect();
        assert_eq!((lines.len(), lines[2].len()), (3, 9_000_000));
        lines[0].clone()
    };
    let secured = format!("--ssl-ca={ca}");
    assert_eq!(ask(&["--skip-ssl"]), "OFF,,");
    assert_eq!(ask(&["--skip-ssl", "--compress"]), "ON,zlib,");
    assert_eq!(ask(&[&secured, "--ssl-verify-server-cert", "--compress"]), "ON,zlib,TLSv1.3");
}

#[test]
fn mysqlclient_and_mysqls_connector_for_python() {
    let Some(python) = pypi::python("drivers_python", &PYTHON) else {
        return testkit::skip("no drivers for Python");
    };
    let data = TempDir::new();
    let (_server, port, ca) = server(&data);
    let said = good(run(Command::new(python).arg(script("drivers.py")).args([&port, &ca])));
    let expected = "mysqlclient OFF - TLSv1.3 500 True True 1054\n\
                    connector OFF - TLSv1.3 500 True True 1054\n\
                    mysqlclient ON zlib TLSv1.3 500 True True 1054\n\
                    connector ON zlib TLSv1.3 500 True True 1054\n\
                    mysqlclient other@% drivers\nmysqlclient other@% drivers\n\
                    connector other@% drivers\nconnector other@% drivers\n\
                    Ssl_version TLSv1.3\n\
                    attributes 42 text\nattributes 42 text";
    assert_eq!(said.text(), expected);
}

#[test]
fn go_sql_driver_packs_in_clear_and_over_tls() {
    let Some(program) = go_program() else { return testkit::skip("go-sql-driver cannot be built") };
    let data = TempDir::new();
    let (_server, port, ca) = server(&data);
    let at = format!("127.0.0.1:{port}");
    let said = good(run(Command::new(program).args([&at, &ca, "packed"])));
    assert_eq!(
        said.text(),
        "false \"ON\" \"zlib\" \"\" 500 true true 1054\nown \"ON\" \"zlib\" \"TLSv1.3\" 500 true true 1054"
    );
}

/// Of soak: it takes npm.
#[test]
#[ignore = "soak: modules of Node"]
fn mysql2_of_node() {
    let home = kept().join("drivers_node");
    let modules = home.join("node_modules");
    std::fs::create_dir_all(&home).unwrap();
    let install = ["install", "--silent", "--no-save", NODE];
    if !modules.join("mysql2").exists()
        && !done(Command::new("npm").args(install).arg("--prefix").arg(&home).current_dir(&home))
    {
        return testkit::skip("mysql2 cannot be installed");
    }
    let data = TempDir::new();
    let (_server, port, ca) = server(&data);
    let mut node = Command::new("node");
    let said = good(run(node.arg(script("mysql2.js")).arg(modules).args([&port, &ca])));
    let expected = "clear OFF - - 500 true true 1054\npacked ON zlib - 500 true true 1054\n\
                    secured OFF - TLSv1.3 500 true true 1054\nboth ON zlib TLSv1.3 500 true true 1054";
    assert_eq!(said.text(), expected);
}

/// Of soak: it takes a Java machine and Maven.
#[test]
#[ignore = "soak: a Java machine"]
fn connector_j_with_cursors_and_batches() {
    let home = kept().join("drivers_java");
    let version = JAVA.rsplit(':').next().unwrap();
    let jar = home.join(format!("mysql-connector-j-{version}.jar"));
    std::fs::create_dir_all(&home).unwrap();
    let artifact = format!("-Dartifact={JAVA}");
    let to = format!("-DoutputDirectory={}", home.display());
    let copy = ["-q", "-B", "dependency:copy", &artifact, &to];
    if !jar.exists() && !done(Command::new("mvn").args(copy).current_dir(&home)) {
        return testkit::skip("Connector/J cannot be had");
    }
    let data = TempDir::new();
    let (_server, port, ca) = server(&data);
    let store = data.path().join("ca.p12").display().to_string();
    let import = ["-importcert", "-noprompt", "-alias", "ca", "-storetype", "PKCS12"];
    let mut keytool = Command::new("keytool");
    keytool.args(import).args(["-storepass", "secret", "-file", &ca, "-keystore", &store]);
    good(run(&mut keytool));
    let mut java = Command::new("java");
    java.arg("-cp").arg(jar).arg(script("Connector.java")).args([&port, &store, "secret"]);
    let expected = "clear OFF - - 500 true true 1054 42\npacked ON zlib - 500 true true 1054 42\n\
                    secured OFF - TLSv1.3 500 true true 1054 42\n\
                    all ON zlib TLSv1.3 500 true true 1054 42";
    assert_eq!(good(run(&mut java)).text(), expected);
}
