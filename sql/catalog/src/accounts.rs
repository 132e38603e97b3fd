//! Accounts in the dictionary.
//!
//! 1. An account is one byte string ([`access::stored`]), cut into rows of `mysql.statistics` under the number of no table,
//! by the account's own number. A statement changes accounts in one transaction. 2. All accounts in memory are one immutable
//! value, published after the commit; its version is a word that sessions read with each statement and seldom changes.
//! 3. Who changes accounts has the ACL CACHE metadata lock: what it read before is still so. 4. While `limpid_grant_lock` is on, who
//! looks at the version or publishes another one has one latch, as it was in MySQL: for experiments. The switch is a bit of the
//! version's word.

use crate::dictionary::{CHUNK_BYTES, System};
use crate::{Catalog, CatalogError, TableCache};
use access::{Account, AccountName, Accounts, Privileges, privilege, stored};
use engine::Client;
use mdl::{Mode, Namespace};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering};
use sync::{Deadline, Mutex, RwLatch, SessionSlot};
use value::Datum;

instrument::classes! {
    static ACCOUNTS: MutexClass = "wait/synch/mutex/sql/acl_cache";
    static GRANTS: RwLockClass = "wait/synch/rwlock/sql/LOCK_grant";
}

/// In the version's word: `limpid_grant_lock` is on.
const UNDER_LATCH: u64 = 1 << 63;

/// The number that no table has.
pub(crate) const NO_TABLE: u64 = 0;

/// Each account gets the number behind the largest, so that none comes near this one.
const NUMBER_MAX: u64 = u64::MAX >> 1;

/// Under which number each account is stored.
type Numbers = BTreeMap<AccountName, u64>;

/// The accounts as they were published last.
pub(crate) struct PublishedAccounts {
    now: Mutex<(Arc<Accounts>, Numbers)>,
    version: LocalAtomic<u64>,
    latch: RwLatch<()>,
}

impl Default for PublishedAccounts {
    fn default() -> PublishedAccounts {
        let now = Mutex::new(&ACCOUNTS, Default::default());
        PublishedAccounts { now, version: LocalAtomic::new(0), latch: RwLatch::new(&GRANTS, ()) }
    }
}

/// An account that may do everything, without a password.
pub fn all_mighty(name: AccountName, plugin: &str) -> Account {
    let mut account = Account::new(name, plugin);
    account.grants.global = Privileges::ALL | Privileges::GRANT;
    account.grants.dynamic = privilege::DYNAMIC.iter().map(|p| ((*p).to_string(), true)).collect();
    account
}

fn name_of(number: u64) -> String {
    format!("account {number}")
}

impl Catalog {
    /// The accounts as they are now.
    pub fn accounts(&self) -> Arc<Accounts> {
        Arc::clone(&self.accounts.now.lock().0)
    }

    /// Whether [`Self::accounts`] are this version still, for all that one load says: that is never so while
    /// `limpid_grant_lock` is on.
    #[inline]
    pub fn accounts_are(&self, version: u64) -> bool {
        self.accounts.version.load(Ordering::Acquire) == version
    }

    /// The accounts, if they are another version than this one.
    pub fn accounts_after(&self, version: u64) -> Option<Arc<Accounts>> {
        let word = || self.accounts.version.load(Ordering::Acquire);
        let _latched = (word() & UNDER_LATCH != 0).then(|| self.accounts.latch.read());
        (word() & !UNDER_LATCH != version).then(|| self.accounts())
    }

    /// `limpid_grant_lock`: on, everybody who asks for privileges has one latch for a moment.
    pub fn set_grant_lock(&self, on: bool) {
        let now = self.accounts.now.lock();
        let switch = if on { UNDER_LATCH } else { 0 };
        self.accounts.version.store(now.0.version() | switch, Ordering::Release);
    }

    /// Stores accounts in the place of those of the same names, and removes those that went; durable on return.
    ///
    /// # Errors
    /// Those of writing the dictionary; nothing has changed then.
    pub fn change_accounts(
        &self,
        client: &mut Client,
        changed: &[Account],
        gone: &[AccountName],
    ) -> Result<(), CatalogError> {
        let mut numbers = self.accounts.now.lock().1.clone();
        self.transact(client, |catalog, client| {
            for name in gone {
                if let Some(number) = numbers.remove(name) {
                    catalog.erase_account(client, number, 0)?;
                }
            }
            for account in changed {
                let next = numbers.values().max().map_or(1, |last| last + 1);
                let number = *numbers.entry(account.name.clone()).or_insert(next);
                catalog.store_account(client, number, account)?;
            }
            Ok::<_, CatalogError>(())
        })?;
        self.publish_accounts(Some(numbers), |accounts| accounts.changed(changed, gone));
        Ok(())
    }

    /// `mandatory_roles`.
    pub fn set_mandatory_roles(&self, roles: Vec<AccountName>) {
        self.publish_accounts(None, |accounts| accounts.with_mandatory(roles));
    }

    /// `partial_revokes`: whether the names of schemas are no patterns.
    pub fn set_exact_schemas(&self, exact: bool) {
        self.publish_accounts(None, |accounts| accounts.with_exact_schemas(exact));
    }

    /// Makes the next version of those that are there, which somebody else may change just now.
    fn publish_accounts(
        &self,
        numbers: Option<Numbers>,
        change: impl FnOnce(&Accounts) -> Accounts,
    ) {
        let switch = || self.accounts.version.load(Ordering::Relaxed) & UNDER_LATCH;
        let _latched = (switch() != 0).then(|| self.accounts.latch.write());
        let mut now = self.accounts.now.lock();
        let accounts = change(&now.0);
        self.accounts.version.store(accounts.version() | switch(), Ordering::Release);
        now.0 = Arc::new(accounts);
        if let Some(numbers) = numbers {
            now.1 = numbers;
        }
    }

    fn store_account(
        &self,
        client: &mut Client,
        number: u64,
        account: &Account,
    ) -> Result<(), CatalogError> {
        let name = name_of(number);
        let bytes = stored::encode(account);
        debug_assert_eq!(stored::decode(&bytes).as_ref(), Ok(account), "it is not read as it is");
        let mut chunks = 0;
        for (chunk, body) in (0_u64..).zip(bytes.chunks(CHUNK_BYTES)) {
            let row = [
                Datum::UInt(NO_TABLE),
                Datum::Bytes(name.as_bytes()),
                Datum::UInt(chunk),
                Datum::Bytes(body),
            ];
            self.put(client, System::Statistics, &row)?;
            chunks = chunk + 1;
        }
        self.erase_account(client, number, chunks)
    }

    /// Deletes an account's rows from a chunk on.
    fn erase_account(
        &self,
        client: &mut Client,
        number: u64,
        from: u64,
    ) -> Result<(), CatalogError> {
        let name = name_of(number);
        for chunk in from.. {
            let key = [Datum::UInt(NO_TABLE), Datum::Bytes(name.as_bytes()), Datum::UInt(chunk)];
            if !self.delete(client, System::Statistics, &key)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the accounts; those of a data folder from before there were privileges, which may do everything, as they
    /// could, and are not stored yet.
    pub(crate) fn load_accounts(&self) -> Result<Vec<Account>, CatalogError> {
        let mut found: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        self.each_row_of(System::Statistics, &[Datum::UInt(NO_TABLE)], |c, row| {
            let name = c.column_text(System::Statistics, row, 1)?;
            let number = name.strip_prefix("account ").and_then(|n| n.parse::<u64>().ok());
            let Some(number) = number else { return Ok(()) };
            if number > NUMBER_MAX {
                return Err(crate::dictionary::bad(&name, "a number that no account gets"));
            }
            let body = c.column(System::Statistics, row, 3)?;
            found.entry(number).or_default().extend(body.as_bytes().unwrap_or_default());
            Ok(())
        })?;
        let mut numbers = Numbers::new();
        let mut list = Vec::new();
        for (number, bytes) in found {
            let bad = |what| crate::dictionary::bad(&name_of(number), what);
            let account = stored::decode(&bytes).map_err(bad)?;
            // Else it would come back at the start after it was dropped. Hosts are in small letters here.
            if numbers.insert(account.name.clone(), number).is_some() {
                return Err(bad("another account has its name"));
            }
            list.push(Arc::new(account));
        }
        let older = if list.is_empty() { self.older_accounts()? } else { Vec::new() };
        self.publish_accounts(Some(numbers), |_| Accounts::new(list, 1));
        Ok(older)
    }

    fn older_accounts(&self) -> Result<Vec<Account>, CatalogError> {
        let mut found = Vec::new();
        self.each_row_of(System::Accounts, &[], |c, row| {
            let text = |n| c.column_text(System::Accounts, row, n);
            let secret = c.column(System::Accounts, row, 3)?;
            found.push(Account {
                secret: secret.as_bytes().unwrap_or_default().to_vec(),
                ..all_mighty(AccountName::new(&text(0)?, &text(1)?), &text(2)?)
            });
            Ok(())
        })?;
        Ok(found)
    }
}

impl TableCache {
    /// Keeps others from changing accounts, and from LOCK INSTANCE FOR BACKUP, until the statement ends.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_accounts(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.protect_change(slot, deadline)?;
        let mdl = self.catalog.mdl();
        let object = mdl.intern(Namespace::AclCache, "", "");
        Ok(mdl.take(slot, &mut self.statement, &object, Mode::X, deadline)?)
    }
}
