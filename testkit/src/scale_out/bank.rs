//! Accounts over several shards, transfers between them, and what must be true of them.
//!
//! 1. A transfer takes from an account of one shard and gives to one of another; its line in `transfers`, whose id the client
//!    chose, may be on a third. All in one transaction.
//! 2. What was acknowledged has its line. An account has what it began with and what the lines say, no more and no less: a
//!    transfer of which a part is missing is seen, also when the total is right by accident.
//! 3. Where nobody transfers and no branch is in doubt, the total is right. At other times a reader of several shards sees
//!    what each had when it was asked: sums are torn.

use super::Cluster;
use crate::{Failure, TextClient};
use std::collections::HashSet;
use std::time::{Duration, Instant};
use stdx::rng::Rng;

/// Accounts, numbered from 1.
pub const ACCOUNTS: u64 = 300;
/// What each begins with.
pub const BALANCE: i64 = 1_000;
/// What all have together, at rest.
pub const TOTAL: i64 = ACCOUNTS as i64 * BALANCE;

/// The tables, made through the proxy.
const TABLES: [(&str, &str); 3] = [
    ("accounts", "id BIGINT PRIMARY KEY, balance BIGINT NOT NULL"),
    (
        "orders",
        "id BIGINT NOT NULL, account_id BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (account_id, id)",
    ),
    (
        "transfers",
        "id BIGINT PRIMARY KEY, payer BIGINT NOT NULL, payee BIGINT NOT NULL, amount BIGINT NOT NULL",
    ),
];

/// Makes the tables anew, and the accounts that [`audit`] knows; through the proxy, or on one server alone.
///
/// # Errors
/// The statement that failed.
pub fn open(client: &mut TextClient) -> Result<(), String> {
    open_with(client, ACCOUNTS)
}

/// As [`open`], with so many accounts.
///
/// # Errors
/// The statement that failed.
pub fn open_with(client: &mut TextClient, accounts: u64) -> Result<(), String> {
    for (table, columns) in TABLES {
        said(client, &format!("DROP TABLE IF EXISTS {table}"))?;
        said(client, &format!("CREATE TABLE {table} ({columns})"))?;
    }
    let numbers: Vec<u64> = (1..=accounts).collect();
    for some in numbers.chunks(1_000) {
        let rows = |of: fn(&u64) -> String| some.iter().map(of).collect::<Vec<_>>().join(", ");
        let made = rows(|id| format!("({id}, {BALANCE})"));
        said(client, &format!("INSERT INTO accounts (id, balance) VALUES {made}"))?;
        let ordered = rows(|id| format!("({}, {id}, {})", 10 * id, id % 7));
        said(client, &format!("INSERT INTO orders (id, account_id, amount) VALUES {ordered}"))?;
    }
    Ok(())
}

fn said(client: &mut TextClient, sql: &str) -> Result<(), String> {
    match client.attempt(sql) {
        Some(Ok(_)) => Ok(()),
        Some(Err(e)) => Err(format!("{sql}: {} {}", e.number, e.text)),
        None => Err(format!("{sql}: the connection ended")),
    }
}

/// One transfer.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Its line.
    pub id: u64,
    /// Who pays.
    pub payer: u64,
    /// Who is paid, on another shard where there is one.
    pub payee: u64,
    /// How much.
    pub amount: u64,
}

impl Transfer {
    /// A random one. Accounts are on the shard of their number modulo the number of shards.
    pub fn random(rng: &mut Rng, id: u64, shards: u64) -> Transfer {
        let payer = 1 + rng.below(ACCOUNTS);
        let is_good =
            |payee: u64| payee != payer && (shards == 1 || payee % shards != payer % shards);
        let payee = loop {
            let payee = 1 + rng.below(ACCOUNTS);
            if is_good(payee) {
                break payee;
            }
        };
        Transfer { id, payer, payee, amount: 1 + rng.below(50) }
    }

    /// Its statements. The account with the smaller number comes first: two transfers that meet wait for each other on one
    /// shard, which sees it, and not on two, of which none does.
    pub fn statements(&self) -> [String; 5] {
        let Transfer { id, payer, payee, amount } = self;
        let pays = format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {payer}");
        let gets = format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {payee}");
        let [first, second] = if payer < payee { [pays, gets] } else { [gets, pays] };
        let line = format!(
            "INSERT INTO transfers (id, payer, payee, amount) VALUES ({id}, {payer}, {payee}, {amount})"
        );
        ["BEGIN".into(), first, second, line, "COMMIT".into()]
    }

    /// Makes it; `None` when the connection ends, and nobody knows whether it was made.
    pub fn make(&self, client: &mut TextClient) -> Option<Result<(), Failure>> {
        for sql in self.statements() {
            match client.attempt(&sql)? {
                Ok(done) => {
                    let is_change = sql.starts_with("UPDATE");
                    assert!(!is_change || done.affected == 1, "{sql}: {} rows", done.affected);
                }
                Err(e) => return Some(Err(e)),
            }
        }
        Some(Ok(()))
    }
}

fn number(value: &Option<Vec<u8>>) -> i64 {
    let text = String::from_utf8_lossy(value.as_deref().unwrap_or(b"0")).into_owned();
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// The rows of a statement, all numbers.
///
/// # Panics
/// When it fails.
pub fn numbers(client: &mut TextClient, sql: &str) -> Vec<Vec<i64>> {
    let rows = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}")).rows;
    rows.iter().map(|row| row.iter().map(number).collect()).collect()
}

/// Branches that are prepared and wait for a decision, over all shards.
pub fn in_doubt(cluster: &Cluster) -> usize {
    (0..cluster.shards())
        .map(|n| cluster.shard_client(n).query("XA RECOVER").expect("XA RECOVER").rows.len())
        .sum()
}

/// Waits until no branch is in doubt; how long it took.
///
/// # Errors
/// When some are after this time.
pub fn settled(cluster: &Cluster, longest: Duration) -> Result<Duration, String> {
    let begin = Instant::now();
    loop {
        match in_doubt(cluster) {
            0 => return Ok(begin.elapsed()),
            left if begin.elapsed() > longest => {
                return Err(format!("{left} branches are in doubt after {} s", longest.as_secs()));
            }
            _ => crate::pause(200),
        }
    }
}

/// Compares every account with the lines, and the lines with what was acknowledged; how many lines there are.
///
/// # Errors
/// What is wrong.
///
/// # Panics
/// When a shard or the proxy does not answer.
pub fn audit(cluster: &Cluster, acknowledged: &HashSet<u64>) -> Result<usize, String> {
    let mut due = vec![BALANCE; ACCOUNTS as usize + 1];
    let (mut lines, mut balances) = (HashSet::new(), Vec::new());
    for n in 0..cluster.shards() {
        let mut client = cluster.shard_client(n);
        for row in numbers(&mut client, "SELECT id, payer, payee, amount FROM shop.transfers") {
            lines.insert(row[0] as u64);
            due[row[1] as usize] -= row[3];
            due[row[2] as usize] += row[3];
        }
        balances.extend(numbers(&mut client, "SELECT id, balance FROM shop.accounts"));
    }
    let lost: Vec<_> = acknowledged.difference(&lines).collect();
    let mut wrong = Vec::new();
    if !lost.is_empty() {
        wrong.push(format!("acknowledged and lost: {lost:?}"));
    }
    if balances.len() as u64 != ACCOUNTS {
        wrong.push(format!("{} accounts", balances.len()));
    }
    for row in &balances {
        let due = due[row[0] as usize];
        if row[1] != due {
            wrong.push(format!("account {} has {}, its transfers say {due}", row[0], row[1]));
        }
    }
    let total = total(&mut cluster.client());
    if total != TOTAL {
        wrong.push(format!("the proxy's total is {total}, not {TOTAL}"));
    }
    if wrong.is_empty() { Ok(lines.len()) } else { Err(wrong.join("\n")) }
}

/// What all accounts have together, as one statement says.
pub fn total(client: &mut TextClient) -> i64 {
    numbers(client, "SELECT SUM(balance) FROM accounts")[0][0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_between_shards_and_touches_the_smaller_number_first() {
        let mut rng = Rng::new(1);
        for id in 0..200 {
            let transfer = Transfer::random(&mut rng, id, 3);
            assert_ne!(transfer.payer % 3, transfer.payee % 3);
            let [_, first, ..] = transfer.statements();
            let smaller = transfer.payer.min(transfer.payee);
            assert!(first.ends_with(&format!("WHERE id = {smaller}")), "{first}");
        }
        let alone = Transfer::random(&mut rng, 1, 1);
        assert_ne!(alone.payer, alone.payee);
    }
}
