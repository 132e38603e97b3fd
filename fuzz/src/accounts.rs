//! Accounts as a start reads them of the dictionary: bytes that are to be accounts.
//!
//! 1. What is no account is an error. 2. What is one is stored as it was read; the tables of the `mysql` schema and SHOW tell of it,
//! whatever it says of names, times, roles and privileges; and who comes as it has the rights that it says.

use super::login::new_server;
use access::stored::{decode, encode};
use access::{Account, AccountName};
use client::{Failure, Rows};
use session::Server;
use session::inside::{self, Inside};
use std::sync::{Arc, OnceLock};

/// As many accounts of an input are looked at.
const ACCOUNTS_MAX: usize = 4;
/// The tables that tell of accounts.
const TABLES: [&str; 9] = [
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "proxies_priv",
    "global_grants",
    "role_edges",
    "default_roles",
    "password_history",
];
/// What an account asks that has come in.
const OWN: [&str; 6] = [
    "SET ROLE ALL",
    "SHOW GRANTS",
    "SELECT CURRENT_USER(), CURRENT_ROLE()",
    "SELECT * FROM information_schema.APPLICABLE_ROLES",
    "SELECT * FROM information_schema.TABLE_PRIVILEGES",
    "SELECT * FROM mysql.user",
];

fn server() -> &'static Arc<Server> {
    static SERVER: OnceLock<Arc<Server>> = OnceLock::new();
    SERVER.get_or_init(new_server)
}

/// Each account has two bytes with its length before it.
pub fn account_rows(bytes: &[u8]) {
    let mut accounts: Vec<Account> = Vec::new();
    let mut rest = bytes;
    while let [low, high, more @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let (stored, after) = more.split_at(len.min(more.len()));
        rest = after;
        let Ok(account) = decode(stored) else { continue };
        let again = encode(&account);
        assert!(again.len() <= stored.len(), "more than was stored");
        assert_eq!(decode(&again).as_ref(), Ok(&account), "it is not read as it is");
        accounts.retain(|known| known.name != account.name);
        accounts.push(account);
    }
    accounts.truncate(ACCOUNTS_MAX);
    if !accounts.is_empty() {
        publish(&accounts);
        look(&accounts);
        accounts.iter().for_each(|account| come(&account.name.user));
    }
}

/// These are all that there are.
fn publish(accounts: &[Account]) {
    let catalog = &server().catalog;
    let before: Vec<AccountName> =
        catalog.accounts().all().iter().map(|account| account.name.clone()).collect();
    let mut client = server().engine.client().expect("a client");
    catalog.change_accounts(&mut client, accounts, &before).expect("they are stored");
}

/// What a statement answers, which may be an error; the session goes on.
fn ask(session: &mut Inside, sql: &str) -> Result<Rows, Failure> {
    let answer = session.query(sql);
    assert!(!answer.as_ref().is_err_and(Failure::is_lost), "{sql}: {answer:?}");
    answer
}

fn look(accounts: &[Account]) {
    let mut session = inside::unlimited(server(), "fuzz").expect("room for a session");
    for table in TABLES {
        let rows = ask(&mut session, &format!("SELECT * FROM mysql.{table}"));
        if let ("user", Ok(rows)) = (table, rows) {
            assert_eq!(rows.rows.len(), accounts.len(), "accounts that are not shown");
        }
    }
    for account in accounts {
        let name = quoted(&account.name);
        let using: Vec<String> = account.roles.keys().map(quoted).collect();
        let _ = ask(&mut session, &format!("SHOW CREATE USER {name}"));
        let _ = ask(&mut session, &format!("SHOW GRANTS FOR {name}"));
        if !using.is_empty() {
            let _ =
                ask(&mut session, &format!("SHOW GRANTS FOR {name} USING {}", using.join(", ")));
        }
    }
}

fn quoted(name: &AccountName) -> String {
    let [user, host] =
        [&name.user, &name.host].map(|part| part.replace('\\', "\\\\").replace('\'', "''"));
    format!("'{user}'@'{host}'")
}

/// Without a password: whose account has none comes in.
fn come(user: &str) {
    let from = "127.0.0.1:4000".parse().expect("an address");
    if let Ok(mut session) = inside::log_in(server(), from, user, "") {
        OWN.iter().for_each(|sql| drop(ask(&mut session, sql)));
    }
}
