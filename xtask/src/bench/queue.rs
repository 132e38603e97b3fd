//! A queue table: some insert at its tail, some delete at its head, while one view grows old; the lab's experiment.
//!
//! Gates, which are the experiment's aims: after a minute under the view at least nine tenths of the puts are left, and a tenth of the
//! takes. Both together would say nothing: who takes steps over every row that was taken since the view began, as it may see them, and
//! leaves the server to those that put.

use super::{Settings, lab};

/// Settings of the lab's.
const WAYS: [&str; 2] = ["no view", "old view"];

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let mut options = lab::options(settings);
    options.push(format!("--users={}", settings.threads));
    options.extend(settings.peers.first().map(|dsn| format!("--dsn={dsn}")));
    let folder = lab::run("queue", &options)?;
    let cells = lab::lines(&folder, "cells.csv")?;
    for server in lab::servers(&cells) {
        let [without, under] = WAYS.map(|way| {
            let is_it =
                |cell: &&lab::Line| [cell.text("subject"), cell.text("setting")] == [server, way];
            lab::middle(&cells.iter().filter(is_it).collect::<Vec<_>>(), |cell| cell.number("tps"))
        });
        println!(
            "{server:<8} {without:.0} jobs a second put and taken without a view, {under:.0} under one of 60 s"
        );
    }
    lab::gates(&folder, "")
}
