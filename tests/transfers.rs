//! Transfers between accounts under `kill -9`: no money comes or goes, and the ledger agrees with every account.
//!
//! 1. A transfer moves an amount between two accounts and writes a line of the ledger, in one transaction.
//! 2. What was acknowledged before the kill is in the ledger afterwards; what was not is there whole or not at all.
//! 3. A report (one snapshot, REPEATABLE READ) sees the right total at every moment, not only at the end.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::HashSet;
use std::path::Path;
use stdx::rng::Rng;
use testkit::{Failure, Server, TempDir, TextClient};

const ROUNDS: u64 = 4;
const TELLERS: u64 = 8;
const ACCOUNTS: u64 = 40;
const START_BALANCE: i64 = 1_000;
/// Of one teller in one round.
const TRANSFERS_MAX: u64 = 1_000_000;
const MILLISECONDS: u64 = 1_500;
/// Deadlock and lock wait timeout: the transfer is tried again as another one.
const RETRIED: [u16; 2] = [1213, 1205];

/// A statement's answer; `None` when the server is gone.
type Answer<T> = Option<Result<T, Failure>>;

fn number(value: &Option<Vec<u8>>) -> i64 {
    let text = String::from_utf8_lossy(value.as_deref().unwrap_or(b"0")).into_owned();
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// One transfer up to and with its COMMIT.
fn transfer(client: &mut TextClient, rng: &mut Rng, id: u64) -> Answer<()> {
    let from = 1 + rng.below(ACCOUNTS);
    let to = 1 + (from + rng.below(ACCOUNTS - 1)) % ACCOUNTS;
    let amount = 1 + rng.below(50);
    let by_index = rng.below(2) == 0;
    let account = |id: u64| match by_index {
        true => format!("number = {}", 1_000 + id),
        false => format!("id = {id}"),
    };
    let statements = [
        "BEGIN".to_string(),
        format!("UPDATE accounts SET balance = balance - {amount} WHERE {}", account(from)),
        format!(
            "INSERT INTO ledger VALUES ({id}, {from}, {to}, {amount}, REPEAT('x', {}))",
            id % 300
        ),
        format!("UPDATE accounts SET balance = balance + {amount} WHERE {}", account(to)),
        // Now and then a whole transfer is taken back, the server's own rollback beside the crash's.
        if rng.below(8) == 0 { "ROLLBACK" } else { "COMMIT" }.to_string(),
    ];
    for sql in &statements {
        if let Err(e) = client.attempt(sql)? {
            return Some(Err(e));
        }
    }
    Some(if statements[4] == "COMMIT" { Ok(()) } else { Err(taken_back()) })
}

fn taken_back() -> Failure {
    Failure { number: 0, state: "00000".into(), text: "taken back by its client".into() }
}

/// Transfers until the server is gone; ids acknowledged. No other teller, of this round or another, has its seed.
fn tell(socket: &Path, seed: u64) -> Vec<u64> {
    let (mut client, _) = TextClient::connect_patient(socket);
    let mut rng = Rng::new(seed);
    let mut acknowledged = Vec::new();
    if client.attempt("USE bank").is_none() {
        return acknowledged;
    }
    for id in seed * TRANSFERS_MAX..(seed + 1) * TRANSFERS_MAX {
        match transfer(&mut client, &mut rng, id) {
            None => return acknowledged,
            Some(Ok(())) => acknowledged.push(id),
            Some(Err(e)) if e.number == 0 => {}
            Some(Err(e)) if RETRIED.contains(&e.number) => {
                if client.attempt("ROLLBACK").is_none() {
                    return acknowledged;
                }
            }
            Some(Err(e)) => panic!("transfer {id}: {e:?}"),
        }
    }
    unreachable!("a teller's ids last longer than a server that is killed")
}

/// Reads the total as of one snapshot, by rows and by index, until the server is gone; how often.
fn report(socket: &Path) -> u64 {
    let (mut client, _) = TextClient::connect_patient(socket);
    let mut reports = 0;
    loop {
        for sql in [
            "USE bank",
            "BEGIN",
            "SELECT SUM(balance) FROM accounts",
            "SELECT SUM(balance) FROM accounts FORCE INDEX (balance) WHERE balance > -100000000",
            "SELECT SUM(a.balance) - 1000 * COUNT(*) - SUM(COALESCE(i.s, 0)) + SUM(COALESCE(o.s, 0)) FROM accounts a \
             LEFT JOIN (SELECT `to`, SUM(amount) s FROM ledger GROUP BY `to`) i ON i.`to` = a.id \
             LEFT JOIN (SELECT `from`, SUM(amount) s FROM ledger GROUP BY `from`) o ON o.`from` = a.id",
            "COMMIT",
        ] {
            let Some(answer) = client.attempt(sql) else { return reports };
            let rows = answer.unwrap_or_else(|e| panic!("{sql}: {e:?}")).rows;
            let Some(value) = rows.first().map(|r| number(&r[0])) else { continue };
            let right = if sql.contains("JOIN") { 0 } else { ACCOUNTS as i64 * START_BALANCE };
            assert_eq!(value, right, "report {reports}: {sql}");
        }
        reports += 1;
    }
}

/// After a restart: total, each account against the ledger, indexes against tables, everything acknowledged.
fn audit(server: &Server, acknowledged: &HashSet<u64>, round: u64) {
    let (mut client, _) = TextClient::connect_patient(server.socket());
    let mut ask = |sql: &str| {
        client.query(sql).unwrap_or_else(|e| panic!("round {round}: {sql}: {e:?}")).rows
    };
    ask("USE bank");
    let mut balances = vec![START_BALANCE; ACCOUNTS as usize + 1];
    let mut present = HashSet::new();
    for row in ask("SELECT id, `from`, `to`, amount, LENGTH(note) FROM ledger") {
        let [id, from, to, amount, length] = [0, 1, 2, 3, 4].map(|n| number(&row[n]));
        assert_eq!(length, id % 300, "round {round}: the note of {id}");
        balances[from as usize] -= amount;
        balances[to as usize] += amount;
        present.insert(id as u64);
    }
    let missing: Vec<&u64> = acknowledged.difference(&present).collect();
    assert!(missing.is_empty(), "round {round}: acknowledged and gone: {missing:?}");
    for index in ["IGNORE INDEX (number)", "FORCE INDEX (number)", "FORCE INDEX (balance)"] {
        let rows = ask(&format!(
            "SELECT id, balance FROM accounts {index} WHERE number > 0 AND balance > -100000000"
        ));
        assert_eq!(rows.len() as u64, ACCOUNTS, "round {round}: {index}");
        for row in rows {
            let (id, balance) = (number(&row[0]), number(&row[1]));
            assert_eq!(balance, balances[id as usize], "round {round}: account {id}, {index}");
        }
    }
    for row in ask("CHECK TABLE accounts, ledger") {
        let said = String::from_utf8_lossy(row[3].as_deref().unwrap_or_default()).into_owned();
        assert_eq!(said, "OK", "round {round}");
    }
}

#[test]
fn money_neither_comes_nor_goes_under_kill_9() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE bank; USE bank; \
         CREATE TABLE accounts (id INT PRIMARY KEY, number INT NOT NULL, balance INT NOT NULL, \
           UNIQUE KEY number (number), KEY balance (balance)); \
         CREATE TABLE ledger (id BIGINT PRIMARY KEY, `from` INT NOT NULL, `to` INT NOT NULL, amount INT NOT NULL, \
           note VARCHAR(300) NOT NULL, KEY `from` (`from`), KEY `to` (`to`))",
    );
    let rows: Vec<String> =
        (1..=ACCOUNTS).map(|id| format!("({id}, {}, {START_BALANCE})", 1_000 + id)).collect();
    server.sql(&format!("INSERT INTO bank.accounts VALUES {}", rows.join(",")));
    let mut acknowledged = HashSet::new();
    for round in 1..=ROUNDS {
        let socket = server.socket().to_path_buf();
        let (before, mut reports) = (acknowledged.len(), 0);
        std::thread::scope(|scope| {
            let tellers: Vec<_> = (0..TELLERS)
                .map(|n| {
                    let socket = &socket;
                    scope.spawn(move || tell(socket, round * 100 + n))
                })
                .collect();
            let reporter = scope.spawn(|| report(&socket));
            testkit::pause(MILLISECONDS);
            server.kill();
            for teller in tellers {
                acknowledged.extend(teller.join().expect("a teller"));
            }
            reports = reporter.join().expect("the reporter");
        });
        let transfers = acknowledged.len() - before;
        println!("round {round}: {transfers} transfers acknowledged, {reports} reports");
        assert!(transfers > 20, "round {round}: hardly anything was transferred");
        server = Server::start(folder.path());
        audit(&server, &acknowledged, round);
    }
}
