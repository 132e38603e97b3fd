//! All accounts of a server at one moment.
//!
//! 1. Immutable: a change makes another value, whose version is higher. 2. Accounts lie in the order in which a client
//! is matched: the most exact host first, a user's name before the anonymous one.

use crate::name::{means, order_of};
use crate::{Account, AccountName, Client};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All accounts.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    list: Vec<Arc<Account>>,
    /// Roles that everybody has: `mandatory_roles`.
    mandatory: Arc<[AccountName]>,
    /// `partial_revokes`: `%` and `_` in the names of schemas are meant as they are written.
    exact_schemas: bool,
    version: u64,
}

impl Accounts {
    /// Accounts as of a version.
    pub fn new(list: impl IntoIterator<Item = Arc<Account>>, version: u64) -> Accounts {
        let mut list: Vec<_> = list.into_iter().collect();
        list.sort_by_cached_key(|account| {
            let name = &account.name;
            (order_of(&name.host), name.user.is_empty(), name.clone())
        });
        Accounts { list, version, ..Accounts::default() }
    }

    /// With other roles that everybody has, as the next version.
    pub fn with_mandatory(&self, roles: Vec<AccountName>) -> Accounts {
        Accounts { mandatory: roles.into(), version: self.version + 1, ..self.clone() }
    }

    /// With names of schemas that are exact ones or patterns, as the next version.
    pub fn with_exact_schemas(&self, exact_schemas: bool) -> Accounts {
        Accounts { exact_schemas, version: self.version + 1, ..self.clone() }
    }

    /// Whether the names of schemas are no patterns.
    pub fn have_exact_schemas(&self) -> bool {
        self.exact_schemas
    }

    /// Roles that everybody has, as far as they are there.
    pub fn mandatory(&self) -> impl Iterator<Item = &AccountName> {
        self.mandatory.iter().filter(|role| self.find(role).is_some())
    }

    /// Which value this is.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All of them, in the order of matching.
    pub fn all(&self) -> &[Arc<Account>] {
        &self.list
    }

    /// All of them, ordered by host and user, as the tables of the `mysql` schema lie.
    pub fn by_host(&self) -> Vec<&Arc<Account>> {
        let mut list: Vec<_> = self.list.iter().collect();
        list.sort_by_key(|account| (&account.name.host, &account.name.user));
        list
    }

    /// The account of this name.
    pub fn find(&self, name: &AccountName) -> Option<&Arc<Account>> {
        self.list.iter().find(|account| account.name == *name)
    }

    /// The account that a client is who says it is `user`.
    pub fn of_client(&self, user: &str, client: Client<'_>) -> Option<&Arc<Account>> {
        let is = |name: &AccountName| name.user.is_empty() || name.user == user;
        self.list.iter().find(|account| is(&account.name) && means(&account.name.host, client))
    }

    /// Accounts whose grants of schemas and tables count for a user of this client, the most exact first.
    pub fn granting(&self, user: &str, client: Client<'_>) -> Vec<Arc<Account>> {
        let is = |name: &AccountName| name.user.is_empty() || name.user == user;
        let found = self.list.iter().filter(|a| is(&a.name) && means(&a.name.host, client));
        found.cloned().collect()
    }

    /// Roles with what they have in turn, each once.
    pub fn closure<'r>(
        &self,
        roles: impl IntoIterator<Item = &'r AccountName>,
    ) -> Vec<Arc<Account>> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<AccountName> = roles.into_iter().cloned().collect();
        let mut found = Vec::new();
        while let Some(name) = open.pop() {
            if let Some(role) = self.find(&name)
                && seen.insert(name)
            {
                open.extend(role.roles.keys().cloned());
                found.push(Arc::clone(role));
            }
        }
        found
    }

    /// Whether an account was given a role, so that it can make it active.
    pub fn was_given(&self, account: &AccountName, role: &AccountName) -> bool {
        let own = self.find(account).is_some_and(|account| account.roles.contains_key(role));
        (own && self.find(role).is_some()) || self.mandatory().any(|mandatory| mandatory == role)
    }

    /// Whether an account has `role`, itself or through another one.
    pub fn has_role(&self, account: &AccountName, role: &AccountName) -> bool {
        let own = self.find(account).into_iter().flat_map(|a| a.roles.keys());
        self.closure(own.chain(self.mandatory())).iter().any(|found| found.name == *role)
    }

    /// With changed accounts in the place of those of the same name, without those that went.
    pub fn changed(&self, changed: &[Account], gone: &[AccountName]) -> Accounts {
        let stays = |account: &&Arc<Account>| {
            !gone.contains(&account.name) && !changed.iter().any(|c| c.name == account.name)
        };
        let kept = self.list.iter().filter(stays).cloned();
        let list = kept.chain(changed.iter().cloned().map(Arc::new));
        let (mandatory, exact_schemas) = (Arc::clone(&self.mandatory), self.exact_schemas);
        Accounts { mandatory, exact_schemas, ..Accounts::new(list, self.version + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(names: &[(&str, &str)]) -> Accounts {
        let account = |(user, host): &(&str, &str)| {
            Arc::new(Account::new(AccountName::new(user, host), "caching_sha2_password"))
        };
        Accounts::new(names.iter().map(account), 1)
    }

    #[test]
    fn the_most_exact_host_wins_then_the_named_user() {
        let all = accounts(&[("u", "%"), ("", "10.0.0.7"), ("u", "10.%"), ("", "%")]);
        let of = |user: &str, host: &str| {
            let client = Client { host, address: host.parse().ok() };
            all.of_client(user, client).map(|a| a.name.to_string()).unwrap_or_default()
        };
        assert_eq!(of("u", "10.0.0.7"), "''@'10.0.0.7'");
        assert_eq!(of("u", "10.0.0.8"), "'u'@'10.%'");
        assert_eq!(of("u", "localhost"), "'u'@'%'");
        assert_eq!(of("v", "localhost"), "''@'%'");
        assert!(
            accounts(&[("u", "h")]).of_client("u", Client { host: "i", address: None }).is_none()
        );
    }

    #[test]
    fn roles_are_followed_once() {
        let all = accounts(&[("u", "%"), ("a", "%"), ("b", "%")]);
        let name = |user: &str| AccountName::new(user, "%");
        let with = |user: &str, role: &str| {
            let mut account = Account::clone(all.find(&name(user)).unwrap());
            account.roles.insert(name(role), false);
            account
        };
        let all = all.changed(&[with("u", "a"), with("a", "b"), with("b", "a")], &[]);
        assert!(all.has_role(&name("u"), &name("b")) && !all.has_role(&name("b"), &name("u")));
        assert_eq!(all.closure([&name("a")]).len(), 2);
        assert_eq!(all.changed(&[], &[name("a")]).version(), 3);
        assert!(!all.changed(&[], &[name("a")]).has_role(&name("u"), &name("b")));
    }
}
