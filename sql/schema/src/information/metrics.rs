//! `INNODB_METRICS`: the engine's counters by MySQL's names.
//!
//! 1. A counter that this server has is enabled and says what SHOW GLOBAL STATUS says; the others are disabled. 2.
//! Nothing is ever reset or switched.

use super::{Cell, Rows, cells};
use catalog::{ReadContext, ServerList};
use std::collections::HashMap;

const METRICS: &str = include_str!("metrics.tsv");

pub(super) fn metrics(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let list = |which| context.viewer.list(which).into_iter().collect::<HashMap<_, _>>();
    let (status, variables) = (list(ServerList::GlobalStatus), list(ServerList::GlobalVariables));
    let elapsed: i64 = status.get("Uptime").and_then(|s| s.parse().ok()).unwrap_or(0);
    let began_us = host::clock::unix_micros() as i64 - elapsed * 1_000_000;
    for line in METRICS.lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, subsystem, kind, source, comment] = fields[..] else { continue };
        let own = match source {
            "=history" => Some(context.catalog.engine().history_len().to_string()),
            "=undo_times" => Some(context.catalog.engine().undo_given_back().times.to_string()),
            "=undo_us" => Some(context.catalog.engine().undo_given_back().us.to_string()),
            _ => None,
        };
        let value = match (source, source.strip_prefix('@')) {
            _ if own.is_some() => own.as_ref(),
            (_, Some(variable)) => variables.get(variable),
            _ => status.get(source),
        };
        let null = || Cell::Null;
        let Some(count) = value.and_then(|v| v.parse::<i64>().ok()) else {
            rows.push(&cells![
                name,
                subsystem,
                0_i64,
                null(),
                null(),
                null(),
                0_i64,
                null(),
                null(),
                null(),
                null(),
                null(),
                null(),
                null(),
                "disabled",
                kind,
                "",
            ]);
            continue;
        };
        let average = (kind != "value" && elapsed > 0).then(|| count as f64 / elapsed as f64);
        rows.push(&cells![
            name,
            subsystem,
            count,
            count,
            null(),
            average,
            count,
            count,
            null(),
            null(),
            Cell::Time(began_us),
            null(),
            elapsed,
            null(),
            "enabled",
            kind,
            comment,
        ]);
    }
}
