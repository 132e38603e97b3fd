//! Programs from PyPI, each with a Python of its own, which is kept between runs.

use super::kept;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a program did what it was to do; tells what it said if not.
pub fn done(command: &mut Command) -> bool {
    command.output().is_ok_and(|done| {
        if !done.status.success() {
            println!("{}", String::from_utf8_lossy(&done.stderr));
        }
        done.status.success()
    })
}

/// The Python that has these packages; `None` where they cannot be had.
pub fn python(name: &str, packages: &[&str]) -> Option<PathBuf> {
    installed(name, packages, |_| true)
}

/// The same, with a package such as `django-5.2.8`, and the folder with the sources that its sdist brings.
pub fn python_and_sources(
    name: &str,
    package: &str,
    others: &[&str],
) -> Option<(PathBuf, PathBuf)> {
    let wanted = package.replacen('-', "==", 1);
    let without_binary = package.split('-').next().unwrap_or(package);
    let python = installed(name, &[&[wanted.as_str()], others].concat(), |python| {
        let download = ["download", "-q", "--no-deps", "--no-binary", without_binary, &wanted];
        pip(python, name, &download)
            && done(
                Command::new("tar")
                    .args(["xzf", &format!("{package}.tar.gz")])
                    .current_dir(kept().join(name)),
            )
    })?;
    Some((python, kept().join(name).join(package)))
}

/// What was installed in whole is not installed again.
fn installed(name: &str, packages: &[&str], more: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
    let home = kept().join(name);
    let (python, ready) = (home.join("bin/python"), home.join("ready"));
    if !ready.exists() {
        std::fs::create_dir_all(kept()).unwrap();
        let made = done(Command::new("python3").args(["-m", "venv"]).arg(&home))
            && pip(&python, name, &[&["install", "-q"], packages].concat())
            && more(&python);
        if !made {
            return None;
        }
        std::fs::write(ready, "").unwrap();
    }
    Some(python)
}

fn pip(python: &Path, name: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(python);
    // SQLAlchemy without its C extensions: they need not be compiled.
    command.env("DISABLE_SQLALCHEMY_CEXT", "1").args(["-m", "pip"]).args(arguments);
    done(command.current_dir(kept().join(name)))
}
