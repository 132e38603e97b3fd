//! TPC-H: the 22 queries, answers compared with the peer's, total time as a ratio to the peer's.
//!
//! Data and query texts come from the crate `tpchgen`; the parameters are the specification's validation
//! values, except that the fraction of query 11 follows the scale factor as the specification says.
//! Gate: all answers equal, and at most 1.5 times the peer's total time.

use super::Settings;
use super::target::{Own, Target};
use std::fmt::{Display, Write as _};
use std::time::{Duration, Instant};
use tpchgen::generators as tpch;
use tpchgen::q_and_a::queries;

const SCALE: f64 = 0.1;
const RATIO_MAX: f64 = 1.5;
/// Bytes of one INSERT, about.
const STATEMENT_BYTES: usize = 200_000;
const DATABASE: &str = "tpch";

const TABLES: [&str; 8] = [
    "CREATE TABLE region (r_regionkey INT PRIMARY KEY, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152))",
    "CREATE TABLE nation (n_nationkey INT PRIMARY KEY, n_name CHAR(25) NOT NULL, n_regionkey INT NOT NULL, \
     n_comment VARCHAR(152), KEY (n_regionkey))",
    "CREATE TABLE supplier (s_suppkey INT PRIMARY KEY, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) \
     NOT NULL, s_nationkey INT NOT NULL, s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, \
     s_comment VARCHAR(101) NOT NULL, KEY (s_nationkey))",
    "CREATE TABLE customer (c_custkey INT PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) \
     NOT NULL, c_nationkey INT NOT NULL, c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, \
     c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL, KEY (c_nationkey))",
    "CREATE TABLE part (p_partkey INT PRIMARY KEY, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL, \
     p_brand CHAR(10) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL, p_container CHAR(10) \
     NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL)",
    "CREATE TABLE partsupp (ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT NOT NULL, \
     ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR(199) NOT NULL, PRIMARY KEY (ps_partkey, \
     ps_suppkey), KEY (ps_suppkey))",
    "CREATE TABLE orders (o_orderkey INT PRIMARY KEY, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT \
     NULL, o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT \
     NULL, o_clerk CHAR(15) NOT NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL, KEY \
     (o_custkey), KEY (o_orderdate))",
    "CREATE TABLE lineitem (l_orderkey INT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, \
     l_linenumber INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, \
     l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, \
     l_linestatus CHAR(1) NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate \
     DATE NOT NULL, l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) \
     NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber), KEY (l_shipdate), KEY (l_partkey, l_suppkey), KEY \
     (l_suppkey))",
];

/// Validation parameters by query, and the rows its specification asks for.
const PARAMETERS: [(&[&str], Option<u32>); 22] = [
    (&["90"], None),
    (&["15", "BRASS", "EUROPE"], Some(100)),
    (&["BUILDING", "1995-03-15"], Some(10)),
    (&["1993-07-01"], None),
    (&["ASIA", "1994-01-01"], None),
    (&["1994-01-01", "0.06", "24"], None),
    (&["FRANCE", "GERMANY"], None),
    (&["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"], None),
    (&["green"], None),
    (&["1993-10-01"], Some(20)),
    (&["GERMANY", "0.001"], None),
    (&["MAIL", "SHIP", "1994-01-01"], None),
    (&["special", "requests"], None),
    (&["1995-09-01"], None),
    (&["1996-01-01"], None),
    (&["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"], None),
    (&["Brand#23", "MED BOX"], None),
    (&["300"], Some(100)),
    (&["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"], None),
    (&["forest", "1994-01-01", "CANADA"], None),
    (&["SAUDI ARABIA"], Some(100)),
    (&["13", "31", "23", "29", "30", "18", "17"], None),
];

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=512M"])?;
    let mut targets = vec![own.target()];
    targets.extend(settings.peer.as_deref().map(Target::peer).transpose()?);
    for target in &targets {
        let begin = Instant::now();
        load(target)?;
        println!("{}: tables ready after {:.1} s", target.name, begin.elapsed().as_secs_f64());
    }
    let (mut wrong, mut totals) = (0, vec![Duration::ZERO; targets.len()]);
    for number in 1..=PARAMETERS.len() {
        let query = query(number)?;
        let mut answers = Vec::new();
        let mut line = format!("query {number:2}");
        for (target, total) in targets.iter().zip(&mut totals) {
            let (answer, best) = best_of(target, &query, settings.rounds);
            *total += best;
            let _ = write!(line, "  {} {:7.3} s", target.name, best.as_secs_f64());
            answers.push(answer);
        }
        if let Some(error) = answers.iter().find_map(|a| a.as_ref().err()) {
            let _ = write!(line, "  {}", error.trim_end());
        }
        let agree = answers.windows(2).all(|pair| pair[0] == pair[1]);
        if !agree || answers.iter().any(Result::is_err) {
            wrong += 1;
            line.push_str("  WRONG");
        }
        println!("{line}");
    }
    report(&totals, wrong)
}

fn report(totals: &[Duration], wrong: u32) -> Result<(), String> {
    if wrong > 0 {
        return Err(format!("GATE FAILED: {wrong} of 22 queries without the right answer"));
    }
    let [own, peer] = totals else { return Ok(()) };
    let ratio = own.as_secs_f64() / peer.as_secs_f64();
    println!("total: {ratio:.2} of the peer's time (gate {RATIO_MAX})");
    if ratio > RATIO_MAX { Err(format!("GATE FAILED: total time {ratio:.2}")) } else { Ok(()) }
}

/// The answer, and the shortest of some runs.
fn best_of(target: &Target, query: &str, rounds: u32) -> (Result<String, String>, Duration) {
    let mut best = Duration::MAX;
    let mut answer = Err(String::new());
    for _ in 0..rounds.max(1) {
        let begin = Instant::now();
        answer = target.sql(&format!("USE {DATABASE}; {query}"));
        best = best.min(begin.elapsed());
        if answer.is_err() {
            break;
        }
    }
    (answer, best)
}

/// The query's text in MySQL's syntax.
fn query(number: usize) -> Result<String, String> {
    let text = queries::query(number as i32).ok_or(format!("no query {number}"))?;
    let (parameters, limit) = PARAMETERS[number - 1];
    let mut text = text.replace(" day (3)", " day").replace("revenue:s", "revenue0");
    // From the last on: `:10` begins like `:1`.
    for (position, value) in parameters.iter().enumerate().rev() {
        text = text.replace(&format!(":{}", position + 1), value);
    }
    if let Some(rows) = limit {
        let body = text.trim_end().trim_end_matches(';').to_string();
        text = format!("{body} LIMIT {rows}");
    }
    Ok(text)
}

fn load(target: &Target) -> Result<(), String> {
    let there = format!("SELECT l_linenumber FROM {DATABASE}.lineitem LIMIT 1");
    if target.sql(&there).is_ok_and(|rows| !rows.is_empty()) {
        return Ok(());
    }
    target.sql(&format!("DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}"))?;
    for table in TABLES {
        target.sql(&format!("USE {DATABASE}; {table}"))?;
    }
    insert(target, "region", tpch::RegionGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "nation", tpch::NationGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "supplier", tpch::SupplierGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "customer", tpch::CustomerGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "part", tpch::PartGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "partsupp", tpch::PartSuppGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "orders", tpch::OrderGenerator::new(SCALE, 1, 1).iter())?;
    insert(target, "lineitem", tpch::LineItemGenerator::new(SCALE, 1, 1).iter())?;
    let names = "region, nation, supplier, customer, part, partsupp, orders, lineitem";
    target.sql(&format!("USE {DATABASE}; ANALYZE TABLE {names}")).map(drop)
}

/// Puts rows in; each prints itself as fields that end with `|`.
fn insert<R: Display>(
    target: &Target,
    table: &str,
    rows: impl Iterator<Item = R>,
) -> Result<(), String> {
    let head = format!("USE {DATABASE}; INSERT INTO {table} VALUES ");
    let mut statement = head.clone();
    for row in rows {
        let row = row.to_string().replace('\\', "\\\\").replace('\'', "''");
        let separator = if statement.len() == head.len() { "" } else { "," };
        let fields = row.trim_end_matches('|').split('|').collect::<Vec<_>>().join("','");
        let _ = write!(statement, "{separator}('{fields}')");
        if statement.len() > STATEMENT_BYTES {
            target.script(&statement)?;
            statement.truncate(head.len());
        }
    }
    if statement.len() > head.len() { target.script(&statement) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_every_query_has_a_value() {
        for number in 1..=PARAMETERS.len() {
            let text = query(number).expect("a query");
            let open = text
                .match_indices(':')
                .any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric()));
            assert!(!open, "query {number}: {text}");
        }
    }
}
