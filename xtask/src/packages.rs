//! Distribution packages that the tests run: installed when missing, named when that is impossible.

use crate::shell;
use std::process::Command;

/// Program that must be on the path, and the Debian package that brings it.
const NEEDED: [(&str, &str); 10] = [
    ("make", "make"),
    ("sysbench", "sysbench"),
    ("mariadb", "mariadb-client"),
    ("valgrind", "valgrind"),
    ("strace", "strace"),
    // What mysqlclient is built with.
    ("mariadb_config", "libmariadb-dev"),
    ("pkg-config", "pkg-config"),
    ("mydumper", "mydumper"),
    ("openssl", "openssl"),
    ("prometheus-mysqld-exporter", "prometheus-mysqld-exporter"),
];

/// What `cargo xtask scale-out` runs beside it.
const FOR_SCALE_OUT: [(&str, &str); 7] = [
    ("java", "default-jre-headless"),
    ("mvn", "maven"),
    ("ip", "iproute2"),
    ("socat", "socat"),
    ("unshare", "util-linux"),
    ("sysbench", "sysbench"),
    ("mariadb", "mariadb-client"),
];

/// What `cargo xtask soak` runs beside it.
const FOR_SOAK: [(&str, &str); 1] = [("chromium", "chromium")];

/// Makes virtual environments, for programs from PyPI; no program on the path tells of it.
const VENV: &str = "python3-venv";

/// Installs what is missing with apt-get, as root or through sudo.
pub fn install() -> Result<(), String> {
    let mut missing = missing(&NEEDED);
    if !has_venv() {
        missing.push(VENV);
    }
    install_missing(&missing)
}

/// The same, for `cargo xtask scale-out`.
pub fn install_for_scale_out() -> Result<(), String> {
    install_missing(&missing(&FOR_SCALE_OUT))
}

/// The same, for `cargo xtask soak`.
pub fn install_for_soak() -> Result<(), String> {
    install_missing(&missing(&FOR_SOAK))
}

fn missing(needed: &[(&str, &'static str)]) -> Vec<&'static str> {
    needed.iter().filter(|(program, _)| !on_path(program)).map(|(_, package)| *package).collect()
}

fn install_missing(missing: &[&str]) -> Result<(), String> {
    if missing.is_empty() {
        return Ok(());
    }
    println!("installing {}", missing.join(" "));
    apt_get(&["update", "-qq"])?;
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(missing);
    apt_get(&arguments)
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn has_venv() -> bool {
    let made = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    made.is_ok_and(|output| output.status.success())
}

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let mut command = if on_path("sudo") {
        let mut command = Command::new("sudo");
        command.arg("apt-get");
        command
    } else {
        Command::new("apt-get")
    };
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    shell::run(&mut command).map_err(|e| {
        let needed: Vec<&str> = NEEDED.iter().map(|(_, package)| *package).chain([VENV]).collect();
        format!("{e}\nThe tests need these packages: {}", needed.join(" "))
    })
}
