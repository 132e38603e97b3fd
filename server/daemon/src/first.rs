//! What a server does before its first client: `--initialize`, `--initialize-insecure`, `--init-file`.
//!
//! 1. `--initialize` makes a data folder and ends; it never touches one that is there. 2. The password that it makes for root
//! is written into the error log once, and has to be changed at the first login, as MySQL's. 3. A new data folder whose root
//! comes in by `auth_socket` has no password at all, so nobody can come in over TCP before somebody makes accounts.

use crate::options::{Initialize, Options};
use crate::process::Process;
use access::Account;
use catalog::Catalog;
use engine::Engine;
use session::{Server, Severity, make_password};
use std::path::Path;
use std::sync::Arc;
use wire::auth::Plugin;

/// Refuses to initialize a folder that has something in it.
pub fn refuse_used(options: &Options, datadir: &Path) -> Result<(), String> {
    let used = std::fs::read_dir(datadir).is_ok_and(|mut entries| entries.next().is_some());
    match options.initialize.is_some() && used {
        true => Err("--initialize specified but the data directory has files in it.".into()),
        false => Ok(()),
    }
}

/// Gives root its first password, if one was asked for.
pub fn initialize(
    process: &Process,
    engine: &Arc<Engine>,
    catalog: &Catalog,
    how: Initialize,
) -> Result<(), String> {
    let failed = |what: &str| format!("root's password cannot be made: {what}");
    if how == Initialize::Insecure {
        let text = "root@localhost is created with an empty password ! Please consider switching off the \
                    --initialize-insecure option.";
        process.log.write(Severity::Warning, "MY-010453", text);
        return Ok(());
    }
    let (password, secret) = make_password().map_err(|error| failed(&error))?;
    let changed = change_root(engine, catalog, |root| (root.secret, root.expired) = (secret, true));
    changed.map_err(|what| failed(&what))?;
    let text =
        format!("A temporary password is generated for root@localhost: {}", password.as_str());
    process.log.write(Severity::System, "MY-010454", &text);
    Ok(())
}

/// Makes root of a new data folder who the system says is `root`.
pub fn root_by_socket(
    process: &Process,
    engine: &Arc<Engine>,
    catalog: &Catalog,
) -> Result<(), String> {
    let plugin = Plugin::Socket.name();
    let changed = change_root(engine, catalog, |root| {
        (root.plugin, root.changed_us) = (plugin.to_string(), 0);
    });
    changed.map_err(|what| format!("root cannot be made to come in by {plugin}: {what}"))?;
    let text = format!("root@localhost is created with {plugin}: the system's root comes in.");
    process.log.write(Severity::System, "MY-010454", &text);
    Ok(())
}

fn change_root(
    engine: &Arc<Engine>,
    catalog: &Catalog,
    change: impl FnOnce(&mut Account),
) -> Result<(), String> {
    let accounts = catalog.accounts();
    let root = accounts.all().iter().find(|account| account.name.user == "root");
    let mut root = Account::clone(root.ok_or("there is no root")?);
    change(&mut root);
    let mut client = engine.client().map_err(|error| error.to_string())?;
    let stored = catalog.change_accounts(&mut client, &[root], &[]);
    stored.map_err(|error| format!("{error:?}"))
}

/// Runs the statements of `init_file`, as who may do everything.
pub fn run_init_file(server: &Arc<Server>, file: &str) -> Result<(), String> {
    if file.is_empty() {
        return Ok(());
    }
    let text = std::fs::read(file).map_err(|e| format!("the init_file {file}: {e}"))?;
    session::run_at_start(server, &text).map_err(|error| format!("the init_file {file}: {error}"))
}
