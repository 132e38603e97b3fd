//! INSTALL and UNINSTALL COMPONENT: `validate_password` is the one that there is.
//!
//! 1. A component is installed when the dictionary says so; that outlives a restart. 2. Its variables come and go with it: each has
//! then what is persisted, else what an option said. 3. A SET of INSTALL COMPONENT that fails leaves nothing installed.

use crate::core::Core;
use crate::errors::{self, SessionError};
use crate::server::Server;
use access::Privileges;
use executor::{Environment, SqlError};
use parser::ast::{Expr, Scope, SetItem, SystemVar};
use std::sync::Arc;

const FILE: &str = "file";
/// What names it behind the scheme.
const LIBRARY: &str = "component_validate_password";
const URN: &str = "file://component_validate_password";
/// The name that its variables begin with.
const PREFIX: &str = "validate_password";

/// A setting of INSTALL COMPONENT: whether it is persisted, the variable, its value.
type Setting = (bool, String, Expr);

/// What was installed when the server stopped is installed when it starts.
pub(crate) fn start(server: &Server) {
    if is_installed(server).unwrap_or(false) {
        server.begin_validation();
    }
}

fn is_installed(server: &Server) -> Result<bool, SqlError> {
    Ok(server.catalog.components()?.iter().any(|(_, urn)| urn == URN))
}

impl Core {
    /// INSERT or DELETE of the table of components.
    pub(crate) fn needs_components(&self, privilege: Privileges) -> Result<(), SqlError> {
        Ok(self.env.login.rights.check_table("mysql", "component", privilege)?)
    }

    /// INSTALL COMPONENT.
    pub(crate) fn install_components(
        &mut self,
        urns: &[String],
        settings: &[Setting],
    ) -> Result<(), SqlError> {
        urns.iter().try_for_each(|urn| check_urn(urn))?;
        self.with_components(|core, server| {
            if urns.len() > 1 || is_installed(server)? {
                return Err(SessionError::ComponentNotLoaded(URN).into());
            }
            let assigned: Vec<SetItem> =
                settings.iter().map(assignment).collect::<Result<_, _>>()?;
            server.catalog.add_component(&mut core.client, URN)?;
            server.begin_validation();
            core.set(&assigned).or_else(|_| {
                server.globals.set_validates_passwords(false);
                server.catalog.remove_component(&mut core.client, URN)?;
                Err(SessionError::ComponentNotBegun.into())
            })
        })
    }

    /// UNINSTALL COMPONENT.
    pub(crate) fn uninstall_components(&mut self, urns: &[String]) -> Result<(), SqlError> {
        self.with_components(|core, server| {
            let installed = is_installed(server)?;
            if let Some(other) = urns.iter().find(|urn| *urn != URN || !installed) {
                return Err(SessionError::ComponentNotThere(other).into());
            }
            if urns.len() > 1 {
                return Err(SessionError::ComponentTwice(URN).into());
            }
            server.catalog.remove_component(&mut core.client, URN)?;
            server.globals.set_validates_passwords(false);
            Ok(())
        })
    }

    /// Nobody else installs or uninstalls meanwhile.
    fn with_components(
        &mut self,
        change: impl FnOnce(&mut Core, &Server) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let server = Arc::clone(&self.env.server);
        let deadline = self.env.lock_deadline();
        let locked = self.tables.lock_accounts(self.client.slot(), deadline);
        let done = locked.map_err(SqlError::from).and_then(|()| change(self, &server));
        self.tables.end_statement(self.client.slot());
        done
    }
}

/// Whether a URN names the component.
///
/// # Errors
/// 3527, 3528; 1235 of other components.
fn check_urn(urn: &str) -> Result<(), SqlError> {
    match urn.split_once("://") {
        None => Err(SessionError::UrnWithoutScheme(urn).into()),
        Some((FILE, LIBRARY)) => Ok(()),
        Some((FILE, _)) => Err(errors::unsupported("INSTALL COMPONENT")),
        Some((scheme, _)) => Err(SessionError::UnknownScheme(scheme, urn).into()),
    }
}

/// A setting as SET GLOBAL or SET PERSIST would write it.
///
/// # Errors
/// 4161.
fn assignment((persists, name, value): &Setting) -> Result<SetItem, SqlError> {
    let known = crate::variables::find(name).is_some();
    match name.split_once('.').filter(|(component, _)| known && *component == PREFIX) {
        None => Err(SessionError::ForeignSetting(name).into()),
        Some((component, name)) => {
            let scope = if *persists { Scope::Persist } else { Scope::Global };
            let (component, name) = (Some(component.to_string()), name.to_string());
            Ok(SetItem::System(SystemVar { scope, component, name }, value.clone()))
        }
    }
}
