//! sqlx, Rust's driver, in every mode of TLS that it knows, with an account that has rights on one schema only.

use super::{folder, good, kept, owner};
use std::process::Command;
use testkit::{Server, TempDir, run};

/// Of soak: building it takes more than a minute.
#[test]
#[ignore = "soak: sqlx is built"]
fn sqlx_in_clear_and_over_tls() {
    let target = kept().join("sqlx_target");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--locked"]).env("CARGO_TARGET_DIR", &target);
    let built = run(build.current_dir(folder().join("tls_sqlx")));
    if !built.ok {
        println!("{}", built.err);
        return testkit::skip("sqlx cannot be built");
    }
    let (data, other) = (TempDir::new(), TempDir::new());
    let (server, _other) = (Server::start(data.path()), Server::start(other.path()));
    owner(&server, "owned", &["owned"]);
    let authority = |of: &TempDir| of.path().join("data/ca.pem");
    let mut program = Command::new(target.join("debug/tls_sqlx"));
    program.arg(server.port().to_string()).args([authority(&data), authority(&other)]);
    // Rows, whether they are whole, whether megabytes are; what is not there, not allowed, not allowed to be made.
    let seen = "500 true true [1054, 1142, 1044]";
    let secured = ["Preferred", "Required", "VerifyCa", "VerifyIdentity"];
    let secured = secured.map(|mode| format!("{mode} TLSv1.3 {seen}")).join("\n");
    let expected = format!("Disabled - {seen}\n{secured}\nstranger refused");
    assert_eq!(good(run(&mut program)).text(), expected);
}
