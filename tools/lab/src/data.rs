//! The tables that load runs over: sysbench's, our rendition of dbStress's, a queue.
//!
//! Names, columns and rows are those of sysbench's own `prepare`, so either driver runs over them. dbStress's column lists are
//! ours: those of the original are not published.

use crate::workload::{HISTORY_ROWS, Workload};
use client::{Client, Failure};
use std::fmt::Write;
use stdx::rng::Rng;

/// The schema of all tables.
pub const SCHEMA: &str = "limpid_lab";
/// Rows of one INSERT.
const BATCH_ROWS: u32 = 1_000;
/// Jobs in a queue before anybody puts or takes one.
const JOBS: u64 = 1_000;
/// Sections of dbStress, and kinds of events.
const SECTIONS: u64 = 260;
const ZONES: u64 = 26;
const STATS: u64 = 1_000;

/// Name of a table by number, from 1.
pub fn table(number: u32) -> String {
    format!("sbtest{number}")
}

/// A text as sysbench makes them: ten groups of eleven digits, 119 bytes.
pub fn text(rng: &mut Rng, into: &mut String) {
    into.clear();
    for group in 0..10 {
        let dash = if group == 0 { "" } else { "-" };
        let _infallible = write!(into, "{dash}{:011}", rng.below(100_000_000_000));
    }
}

/// Writes the name of one of dbStress's objects, from 0.
pub fn object(number: u64, into: &mut String) {
    let _infallible = write!(into, "{number:010}");
}

/// What is in the tables that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// sysbench's tables.
    pub tables: u32,
    /// Rows of each, and objects of dbStress.
    pub rows: u32,
    /// dbStress's tables as well.
    pub stress: bool,
    /// A queue as well.
    pub queue: bool,
}

impl Wanted {
    /// sysbench's tables, and those that some workloads have for themselves.
    pub fn of(tables: u32, rows: u32, workloads: &[Workload]) -> Wanted {
        let stress = workloads.iter().any(|workload| workload.is_stress());
        Wanted { tables, rows, stress, queue: workloads.contains(&Workload::Queue) }
    }
}

/// Makes the tables anew; whatever was in the schema is gone. `told` hears of each INSERT.
///
/// # Errors
/// The server's.
pub fn make(client: &mut Client, wanted: Wanted, told: &mut dyn FnMut()) -> Result<(), Failure> {
    client.run(&format!("DROP DATABASE IF EXISTS {SCHEMA}"))?;
    client.run(&format!("CREATE DATABASE {SCHEMA}"))?;
    client.run(&format!("USE {SCHEMA}"))?;
    let mut rng = Rng::new(1);
    for number in 1..=wanted.tables {
        client.run(&format!(
            "CREATE TABLE {} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_{number} (k))",
            table(number)
        ))?;
        let into = format!("INSERT INTO {} (k, c, pad) VALUES ", table(number));
        let mut c = String::new();
        batches(client, &into, u64::from(wanted.rows), told, |_, row| {
            text(&mut rng, &mut c);
            let k = rng.below(u64::from(wanted.rows)) + 1;
            let _infallible = write!(row, "({k},'{c}','{}')", &c[..59]);
        })?;
    }
    if wanted.stress {
        stress(client, u64::from(wanted.rows), told)?;
    }
    if wanted.queue {
        queue(client, told)?;
    }
    Ok(())
}

/// dbStress's tables: 26 zones, 260 sections, 1,000 kinds of events; 20 records of each object.
fn stress(client: &mut Client, objects: u64, told: &mut dyn FnMut()) -> Result<(), Failure> {
    for sql in [
        "CREATE TABLE zone (ref CHAR(2) PRIMARY KEY, name CHAR(40) NOT NULL)",
        "CREATE TABLE section (ref CHAR(3) PRIMARY KEY, ref_zone CHAR(2) NOT NULL, name CHAR(40) NOT NULL, KEY (ref_zone))",
        "CREATE TABLE stat (ref CHAR(3) PRIMARY KEY, name CHAR(40) NOT NULL)",
        "CREATE TABLE object (ref CHAR(10) PRIMARY KEY, ref_section CHAR(3) NOT NULL, name CHAR(40) NOT NULL, note CHAR(100), \
         create_date DATETIME NOT NULL, last_update DATETIME, KEY (ref_section))",
        "CREATE TABLE history (ref_object CHAR(10) NOT NULL, horder INT NOT NULL, ref_stat CHAR(3) NOT NULL, \
         begin_date DATETIME NOT NULL, end_date DATETIME, note CHAR(100), PRIMARY KEY (ref_object, horder), KEY (ref_stat))",
    ] {
        client.run(sql)?;
    }
    batches(client, "INSERT INTO zone VALUES ", ZONES, told, |n, row| {
        let _infallible = write!(row, "('Z{}','zone {n}')", (b'A' + n as u8) as char);
    })?;
    batches(client, "INSERT INTO section VALUES ", SECTIONS, told, |n, row| {
        let zone = (b'A' + (n % ZONES) as u8) as char;
        let _infallible = write!(row, "('{n:03}','Z{zone}','section {n}')");
    })?;
    batches(client, "INSERT INTO stat VALUES ", STATS, told, |n, row| {
        let _infallible = write!(row, "('{n:03}','event {n}')");
    })?;
    batches(client, "INSERT INTO object VALUES ", objects, told, |n, row| {
        let section = n % SECTIONS;
        row.push_str("('");
        object(n, row);
        let _infallible = write!(row, "','{section:03}','object {n}','a note',NOW(),NULL)");
    })?;
    batches(client, "INSERT INTO history VALUES ", objects * HISTORY_ROWS, told, |n, row| {
        let (order, stat) = (n % HISTORY_ROWS, n % STATS);
        row.push_str("('");
        object(n / HISTORY_ROWS, row);
        let _infallible = write!(row, "',{order},'{stat:03}',NOW(),NOW(),'a note')");
    })
}

/// A table that is a queue: jobs by the order in which they came.
fn queue(client: &mut Client, told: &mut dyn FnMut()) -> Result<(), Failure> {
    client.run(
        "CREATE TABLE queue (id BIGINT AUTO_INCREMENT PRIMARY KEY, made INT NOT NULL, job VARCHAR(120) NOT NULL, \
         KEY made (made))",
    )?;
    batches(client, "INSERT INTO queue (made, job) VALUES ", JOBS, told, |_, row| {
        row.push_str("(0,REPEAT('j',100))");
    })
}

/// Puts `count` rows in, some at a time; `row` writes one by its number, from 0.
fn batches(
    client: &mut Client,
    into: &str,
    count: u64,
    told: &mut dyn FnMut(),
    mut row: impl FnMut(u64, &mut String),
) -> Result<(), Failure> {
    let mut sql = String::new();
    for first in (0..count).step_by(BATCH_ROWS as usize) {
        sql.clear();
        sql.push_str(into);
        for n in first..count.min(first + u64::from(BATCH_ROWS)) {
            if n > first {
                sql.push(',');
            }
            row(n, &mut sql);
        }
        client.run(&sql)?;
        told();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_long_as_sysbenchs() {
        let mut c = String::new();
        text(&mut Rng::new(7), &mut c);
        assert_eq!(c.len(), 119);
        assert_eq!(c.split('-').count(), 10);
        assert!(c.split('-').all(|group| group.len() == 11));
        c.clear();
        object(99_999, &mut c);
        assert_eq!(c, "0000099999", "as long as the column");
    }
}
