//! Under which partial revokes a GRANT is done: the session's, or those of the user that AS names.
//!
//! 1. Privileges that are granted are the session's in any case; of the user that AS names only what was taken counts. 2. Nobody
//! names a user from whom less was taken than from the session, of what is granted. 3. As a client would, the user comes
//! from the host that is named, and has no role but those that WITH ROLE makes active.

use crate::core::Core;
use crate::errors::SessionError;
use access::{Account, AccountName, Accounts, Client, Privileges, Rights};
use executor::SqlError;
use parser::ast::{Grant, RoleSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What was taken, by schema.
pub(super) type Restrictions = BTreeMap<String, Privileges>;

impl Core {
    /// What was taken from whom a statement grants as.
    ///
    /// # Errors
    /// 3836.
    pub(super) fn restrictions_of(
        &self,
        accounts: &Accounts,
        grant: &Grant,
    ) -> Result<Restrictions, SqlError> {
        let Some(user) = &grant.as_user else { return Ok(self.env.login.rights.restrictions()) };
        let account =
            account_of(accounts, &self.account_name(user)).ok_or(SessionError::BadGrantAs)?;
        let roles = match &grant.as_role {
            Some(set) => self.roles_of_grant(accounts, account, set)?,
            None => BTreeSet::new(),
        };
        Ok(Rights::with_roles(accounts, account, roles).restrictions())
    }

    /// From whom a statement grants as, no less was taken of these privileges than from the session.
    ///
    /// # Errors
    /// 3836.
    pub(super) fn may_grant_under(
        &self,
        restrictions: &Restrictions,
        granted: Privileges,
    ) -> Result<(), SqlError> {
        let under = |(schema, taken): (&String, &Privileges)| {
            restrictions.get(schema).copied().unwrap_or_default().has(*taken & granted)
        };
        match self.env.login.rights.restrictions().iter().all(under) {
            true => Ok(()),
            false => Err(SessionError::BadGrantAs.into()),
        }
    }

    /// Everything (`None`), or global privileges all of which the session lacks somewhere, are revoked from those alone
    /// from whom as much was taken.
    ///
    /// # Errors
    /// 3879.
    pub(super) fn may_revoke_under(
        &self,
        from: &Account,
        revoked: Option<Privileges>,
    ) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let more = |(schema, taken): &(String, Privileges)| {
            let of_account = from.grants.restrictions.get(schema).copied().unwrap_or_default();
            revoked.is_none_or(|set| taken.has(set)) && !of_account.has(*taken)
        };
        match rights.restrictions().into_iter().find(more) {
            Some((schema, _)) => {
                let who = rights.name.quoted();
                Err(SessionError::RevokeUnderRestrictions(&who, &schema).into())
            }
            None => Ok(()),
        }
    }

    /// The roles of WITH ROLE; those that it names were given.
    fn roles_of_grant(
        &self,
        accounts: &Accounts,
        account: &Account,
        set: &RoleSet,
    ) -> Result<BTreeSet<AccountName>, SqlError> {
        let roles = self.roles_of_set(accounts, account, set);
        let was_given = |role: &AccountName| accounts.was_given(&account.name, role);
        if matches!(set, RoleSet::Roles(_)) && !roles.iter().all(was_given) {
            return Err(SessionError::BadGrantAs.into());
        }
        Ok(roles.into_iter().filter(was_given).collect())
    }
}

/// The account of this name, or else the one that such a client is.
fn account_of<'a>(accounts: &'a Accounts, name: &AccountName) -> Option<&'a Arc<Account>> {
    let client = Client { host: &name.host, address: name.host.parse().ok() };
    let is = |account: &&Arc<Account>| {
        account.name.user == name.user && access::name::means(&account.name.host, client)
    };
    accounts.find(name).or_else(|| accounts.all().iter().find(is))
}
