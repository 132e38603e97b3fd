//! TPC-H: tables, data and the 22 queries in MySQL's syntax.
//!
//! Data and query texts come from the crate `tpchgen`; the parameters are the specification's validation
//! values, except that the fraction of query 11 follows the scale factor as the specification says.

use std::fmt::{Display, Write as _};
use tpchgen::generators as generated;
use tpchgen::q_and_a::queries;

/// Bytes of one INSERT, about.
const STATEMENT_BYTES: usize = 200_000;

/// Names of the tables.
pub const NAMES: [&str; 8] =
    ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// How they are made.
pub const TABLES: [&str; 8] = [
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

/// Number of queries.
pub const QUERIES: usize = PARAMETERS.len();

/// The text of a query, counted from 1, of a database of this scale; query 15 is three statements.
///
/// # Panics
/// There is no such query.
pub fn query(number: usize, scale: f64) -> String {
    let text = queries::query(number as i32).expect("queries 1 to 22");
    let (parameters, limit) = PARAMETERS[number - 1];
    let mut text = text.replace(" day (3)", " day").replace("revenue:s", "revenue0");
    // From the last on: `:10` begins like `:1`.
    for (position, value) in parameters.iter().enumerate().rev() {
        let value = match (number, position) {
            (11, 1) => format!("{:.6}", 0.0001 / scale),
            _ => (*value).to_string(),
        };
        text = text.replace(&format!(":{}", position + 1), &value);
    }
    if let Some(rows) = limit {
        let body = text.trim_end().trim_end_matches(';').to_string();
        text = format!("{body} LIMIT {rows}");
    }
    text
}

/// Calls `run` with the statements that fill the tables, which are there already.
///
/// # Errors
/// Those of `run`.
pub fn fill<E>(scale: f64, mut run: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let run: &mut dyn FnMut(&str) -> Result<(), E> = &mut run;
    insert("region", generated::RegionGenerator::new(scale, 1, 1).iter(), run)?;
    insert("nation", generated::NationGenerator::new(scale, 1, 1).iter(), run)?;
    insert("supplier", generated::SupplierGenerator::new(scale, 1, 1).iter(), run)?;
    insert("customer", generated::CustomerGenerator::new(scale, 1, 1).iter(), run)?;
    insert("part", generated::PartGenerator::new(scale, 1, 1).iter(), run)?;
    insert("partsupp", generated::PartSuppGenerator::new(scale, 1, 1).iter(), run)?;
    insert("orders", generated::OrderGenerator::new(scale, 1, 1).iter(), run)?;
    insert("lineitem", generated::LineItemGenerator::new(scale, 1, 1).iter(), run)
}

/// Puts rows in; each prints itself as fields that end with `|`.
fn insert<R: Display, E>(
    table: &str,
    rows: impl Iterator<Item = R>,
    run: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let head = format!("INSERT INTO {table} VALUES ");
    let mut statement = head.clone();
    for row in rows {
        let row = row.to_string().replace('\\', "\\\\").replace('\'', "''");
        let separator = if statement.len() == head.len() { "" } else { "," };
        let fields = row.trim_end_matches('|').split('|').collect::<Vec<_>>().join("','");
        let _ = write!(statement, "{separator}('{fields}')");
        if statement.len() > STATEMENT_BYTES {
            run(&statement)?;
            statement.truncate(head.len());
        }
    }
    if statement.len() > head.len() { run(&statement) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_every_query_has_a_value() {
        for number in 1..=QUERIES {
            let text = query(number, 0.1);
            let open = text
                .match_indices(':')
                .any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric()));
            assert!(!open, "query {number}: {text}");
        }
    }
}
