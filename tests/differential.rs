//! Random schemas, data, queries and changes on Limpid and on a real MySQL: answers, column types, warnings,
//! errors and the rows left behind must be the same.
//!
//! 1. Needs an oracle, so it runs in `cargo xtask soak --peer DSN`; LIMPID_SEEDS (`first..end`) chooses seeds,
//!    LIMPID_SHOW_KNOWN prints what is listed too. 2. What may differ is a kind with its reason and a test
//!    (`rules.rs`) or one statement of one seed in `known.txt`; what a run of its seed, or a full run, does not need
//!    fails it. 3. What answers 1235 is counted and passed over, and so is a seed whose tables differ.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/known.rs"]
mod known;
#[path = "differential/rules.rs"]
mod rules;

use compare::{Difference, Said, ask, difference};
use known::{Key, Known, NONE_YET};
use std::collections::BTreeMap;
use testkit::{Peer, Server, TempDir, TextClient, random_sql};

const QUERIES: usize = 60;
/// The clock stands at 2024-03-01 00:00:00: a time becomes a moment of this day in 8.4 and is added to this very
/// moment in 9.7, which is the same at midnight; and a seed says the same every day.
const MIDNIGHT: &str = "SET timestamp = 1709251200";
/// Figures that are gathered meanwhile would change plans, and so which of the rows that a strict mode refuses is met: on a
/// slow machine, not on another. The oracle is started so, too (docs/testing.md).
const GATHERS_NOTHING: &str = "--innodb-stats-auto-recalc=OFF";
/// Error number of what is not there yet.
const NOT_YET: u16 = 1235;
/// The seeds of a full run: in it every rule must be of use.
const ALL: std::ops::Range<u64> = 1..2000;
const HEAD: &str = "\
# Statements of tests/differential.rs that are answered otherwise than by MySQL: SEED STATEMENT KIND under `= REASON`, the
# statement by its digest. LIMPID_SHOW_KNOWN=1 prints them as SQL. Written by: cargo xtask record --peer DSN differential
";

fn seeds() -> std::ops::Range<u64> {
    let text = std::env::var("LIMPID_SEEDS").unwrap_or("1..200".into());
    let (first, end) = text.split_once("..").expect("LIMPID_SEEDS is FIRST..END");
    first.parse().unwrap()..end.parse().unwrap()
}

/// What a run found.
#[derive(Default)]
struct Found {
    agreed: u64,
    different: u64,
    /// Seeds whose tables came out otherwise, so that nothing was asked of them.
    skipped_seeds: u64,
    not_yet: BTreeMap<String, u64>,
    /// Uses of each rule and of each reason in the list.
    excused: BTreeMap<String, u64>,
    /// Every difference that no rule excuses.
    keys: Vec<Key>,
}

/// Both servers, each with the seed's database chosen.
struct Pair<'s> {
    server: &'s Server,
    oracle: &'s Peer,
    own: TextClient,
    peer: TextClient,
    version: u32,
    known: &'s mut Known,
}

const DATABASE: &str = "limpid_differential";

impl<'s> Pair<'s> {
    fn new(server: &'s Server, oracle: &'s Peer, known: &'s mut Known) -> Pair<'s> {
        let (own, mut peer) = (TextClient::connect(server.socket()), TextClient::connect(oracle));
        let version = major_version(&mut peer);
        let mut pair = Pair { server, oracle, own, peer, version, known };
        let database = pair.database();
        for client in [&mut pair.own, &mut pair.peer] {
            client.query(&format!("DROP DATABASE IF EXISTS {database}")).unwrap();
            client.query(&format!("CREATE DATABASE {database}")).unwrap();
        }
        pair.choose();
        pair
    }

    /// A name of its own: several runs may share an oracle.
    fn database(&self) -> String {
        format!("{DATABASE}_{}", std::process::id())
    }

    fn choose(&mut self) {
        let database = self.database();
        for client in [&mut self.own, &mut self.peer] {
            for sql in [
                &format!("USE {database}"),
                "SET time_zone = '+00:00', max_error_count = 1000",
                MIDNIGHT,
                "SET NAMES utf8mb4",
            ] {
                client.query(sql).unwrap();
            }
        }
    }

    /// Puts a statement to both; false when their data differ from here on.
    fn compare(&mut self, seed: u64, sql: &str, found: &mut Found) -> bool {
        let (own, peer) = (ask(&mut self.own, sql), ask(&mut self.peer, sql));
        let peer = peer.unwrap_or_else(|| panic!("the oracle broke in: {sql}"));
        let Some(own) = own else {
            self.own = TextClient::connect(self.server.socket());
            self.peer = TextClient::connect(self.oracle);
            self.choose();
            found.different += 1;
            println!("seed {seed}: {sql}\n    connection lost: a bug, see the server's log");
            return false;
        };
        if let Err(e) = &own.answer
            && e.number == NOT_YET
        {
            *found.not_yet.entry(e.text.clone()).or_default() += 1;
            return peer.answer.is_err();
        }
        let Some(what) = difference(sql, &own, &peer) else {
            found.agreed += 1;
            return true;
        };
        self.differs(seed, sql, &own, &peer, &what, found);
        false
    }

    /// Finds the reason of a difference, or counts it as one without.
    fn differs(
        &mut self,
        seed: u64,
        sql: &str,
        own: &Said,
        peer: &Said,
        what: &Difference,
        found: &mut Found,
    ) {
        let case = rules::Case { sql, own, peer, what, version: self.version };
        let listed = rules::reason(&case).map(str::to_string).or_else(|| {
            let key = Key::new(seed, sql, what);
            found.keys.push(key.clone());
            self.known.reason(&key).filter(|reason| reason != NONE_YET)
        });
        let shown = format!("seed {seed}: {sql}\n    {}", what.text);
        match listed {
            Some(reason) => {
                if std::env::var_os("LIMPID_SHOW_KNOWN").is_some() {
                    println!("known: {reason}\n{shown}");
                }
                *found.excused.entry(reason).or_default() += 1;
            }
            None => {
                println!("{shown}");
                found.different += 1;
            }
        }
    }

    fn seed(&mut self, seed: u64, found: &mut Found) {
        let script = random_sql::script(seed, QUERIES);
        // Without the same data nothing else says anything.
        if !script.setup.iter().all(|sql| self.compare(seed, sql, found)) {
            println!("seed {seed} is skipped: its tables differ");
            found.skipped_seeds += 1;
            return;
        }
        for sql in &script.queries {
            self.compare(seed, sql, found);
        }
        for sql in &script.changes {
            for client in [&mut self.own, &mut self.peer] {
                client.query("START TRANSACTION").unwrap();
            }
            // A change that went another way is undone on both sides, and the next one starts from the same rows.
            let same = self.compare(seed, sql, found)
                && script.contents.iter().all(|sql| self.compare(seed, sql, found));
            for client in [&mut self.own, &mut self.peer] {
                client.query(if same { "COMMIT" } else { "ROLLBACK" }).unwrap();
            }
        }
    }
}

fn major_version(peer: &mut TextClient) -> u32 {
    let version = peer.query("SELECT VERSION()").unwrap().rows[0][0].clone().unwrap();
    String::from_utf8_lossy(&version).split('.').next().unwrap().parse().unwrap()
}

/// Runs the seeds; what was found, and the version of the oracle.
fn run(known: &mut Known) -> (Found, u32) {
    let oracle = Peer::of_environment();
    let folder = TempDir::new();
    let server = Server::with().option(GATHERS_NOTHING).start(folder.path());
    let mut found = Found::default();
    let mut version = 0;
    for seed in seeds() {
        let mut pair = Pair::new(&server, &oracle, known);
        pair.seed(seed, &mut found);
        version = pair.version;
        let database = pair.database();
        pair.peer.query(&format!("DROP DATABASE {database}")).unwrap();
    }
    for (text, count) in &found.not_yet {
        println!("not yet, {count} times: {text}");
    }
    for (reason, count) in &found.excused {
        println!("known, {count} times: {reason}");
    }
    println!(
        "{} statements agree, {} differ, {} seeds skipped",
        found.agreed, found.different, found.skipped_seeds
    );
    assert!(found.agreed > 0, "nothing could be compared");
    (found, version)
}

fn listed() -> Known {
    Known::parse(include_str!("differential/known.txt"))
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn random_queries_have_mysqls_answers() {
    let mut known = listed();
    let (found, version) = run(&mut known);
    let mut idle = known.not_needed(&seeds());
    if seeds() == ALL {
        let unused = rules::all(version).into_iter().filter(|r| !found.excused.contains_key(*r));
        idle.extend(unused.map(|reason| format!("rule: {reason}")));
    }
    assert!(found.different == 0, "{} statements differ", found.different);
    assert!(idle.is_empty(), "{} excuses that nothing needs\n{}", idle.len(), idle.join("\n"));
}

#[test]
#[ignore = "writes tests/differential/known.txt: cargo xtask record"]
fn recorded_from_a_peer() {
    let mut known = listed();
    let (found, _) = run(&mut known);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential/known.txt");
    std::fs::write(file, known.with(&found.keys, &seeds()).print(HEAD)).unwrap();
}

/// A text of plain characters with others in between, as a hexadecimal literal of SQL.
fn generated_text(rng: &mut stdx::rng::Rng) -> String {
    const OTHERS: [&str; 12] =
        ["\t", "\u{7F}", "\u{1}", "ß", "é", "Ǆ", "ж", "中", "한", "😀", "\u{301}", "\u{FDFA}"];
    let mut text = String::new();
    for _ in 0..1 + rng.below(60) {
        match rng.below(20) {
            0 => text.push_str(OTHERS[rng.below(OTHERS.len() as u64) as usize]),
            _ => text.push(char::from(b' ' + rng.below(95) as u8)),
        }
    }
    text.bytes().fold("0x".to_string(), |hex, byte| hex + &format!("{byte:02X}"))
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn generated_texts_weigh_as_in_mysql() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let oracle = Peer::of_environment();
    let mut clients = [TextClient::connect(server.socket()), TextClient::connect(&oracle)];
    let collations = "SELECT collation_name FROM information_schema.collations ORDER BY 1";
    let [own, peer] = clients.each_mut().map(|client| client.query(collations).unwrap().rows);
    let (mut rng, mut texts) = (stdx::rng::Rng::new(22), 0);
    for name in own.iter().filter(|row| peer.contains(row)) {
        let name = compare::text(name[0].as_ref());
        // Its texts weigh what they are.
        if name == "binary" {
            continue;
        }
        let charset = name.split('_').next().unwrap_or_default().to_string();
        for _ in 0..20 {
            let weights = (0..20).map(|_| {
                let text = generated_text(&mut rng);
                format!(
                    "HEX(WEIGHT_STRING(CONVERT(_utf8mb4 {text} USING {charset}) COLLATE {name}))"
                )
            });
            let sql = format!("SELECT {}", weights.collect::<Vec<_>>().join(", "));
            let [own, peer] = clients.each_mut().map(|client| client.query(&sql).unwrap().rows);
            assert_eq!(own, peer, "{sql}");
            texts += 20;
        }
    }
    assert!(texts > 2_000, "{texts}");
}
