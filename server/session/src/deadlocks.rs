//! Row locks in the monitor's text: the last deadlock, and the transactions there are.
//!
//! 1. A deadlock's text is made when it is found, in the thread that found it: what its sessions ran is known
//!    then. 2. Nothing here waits for a transaction.

use crate::process::Severity;
use crate::registry::Process;
use crate::server::Server;
use catalog::{ProcessRow, TransactionRow};
use engine::{Abandoned, Deadlock, DeadlockMember, Names};
use schema::LockNames;
use std::fmt::Write;
use std::sync::{Arc, Weak};

/// Makes the server hear of every deadlock.
pub(crate) fn listen(server: &Arc<Server>) {
    let weak: Weak<Server> = Arc::downgrade(server);
    server.engine.locks().on_deadlock(Box::new(move |deadlock| {
        let Some(server) = weak.upgrade() else { return };
        let text = text_of(&server, deadlock);
        if server.globals.number("innodb_print_all_deadlocks") != 0 {
            let said =
                format!("Transactions deadlock detected, dumping detailed information.\n{text}");
            server.host.log(Severity::Note, &said);
        }
        server.set_last_deadlock(format!("{} 0x0\n{text}", clock()));
    }));
}

fn text_of(server: &Server, deadlock: &Deadlock) -> String {
    let names =
        Named { indexes: LockNames::of(&server.catalog), processes: server.registry.processes() };
    deadlock.text(&names)
}

/// Date and time of day, UTC.
pub(crate) fn clock() -> String {
    let seconds = host::clock::unix_micros() / 1_000_000;
    let (year, month, day) = host::clock::date_of(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

struct Named {
    indexes: LockNames,
    processes: Vec<Process>,
}

impl Names for Named {
    fn transaction(&self, member: &DeadlockMember) -> String {
        let mut out = String::new();
        let process = self.processes.iter().find(|p| p.line.slot == member.slot);
        let seconds = process.map_or(0, active_s);
        let _ = writeln!(out, "TRANSACTION {}, ACTIVE {seconds} sec", member.trx.0);
        let (structs, locks) = (member.structs, member.row_locks);
        let _ =
            write!(out, "LOCK WAIT {structs} lock struct(s), heap size 1128, {locks} row lock(s)");
        if member.undo > 0 {
            let _ = write!(out, ", undo log entries {}", member.undo);
        }
        out.push('\n');
        if let Some(process) = process {
            session(process, &mut out);
        }
        out
    }

    fn index(&self, index: base::IndexId) -> String {
        format!("space id 0 page no 0 n bits 0 {}", self.indexes.words(index))
    }
}

fn active_s(process: &Process) -> u64 {
    let TransactionRow { since_us, .. } = process.line.transaction;
    match u64::try_from(since_us) {
        Ok(since) if since > 0 => host::clock::unix_micros().saturating_sub(since) / 1_000_000,
        _ => process.line.time_s,
    }
}

fn session(process: &Process, out: &mut String) {
    let Process { line: ProcessRow { id, who, info, .. }, query_id, .. } = process;
    let [host, user] = [who.host(), who.user()].map(String::from_utf8_lossy);
    let host = host.split(':').next().unwrap_or_default();
    let _ = writeln!(
        out,
        "MySQL thread id {id}, OS thread handle 0, query id {query_id} {host} {user}"
    );
    if let Some(text) = info {
        let _ = writeln!(out, "{text}");
    }
}

/// The section of transactions.
pub(crate) fn transactions(server: &Server, out: &mut String) {
    let _ = writeln!(out, "LIST OF TRANSACTIONS FOR EACH SESSION:");
    for process in server.registry.processes() {
        transaction(server, &process, out);
    }
    for Abandoned { trx, changes, since_us } in server.engine.abandoned() {
        let seconds = host::clock::unix_micros().saturating_sub(since_us) / 1_000_000;
        let _ = writeln!(
            out,
            "---TRANSACTION {}, ACTIVE {seconds} sec recovered trx\n\
             ROLLING BACK 0 lock struct(s), heap size 1128, 0 row lock(s), undo log entries {changes}",
            trx.0
        );
    }
}

fn transaction(server: &Server, process: &Process, out: &mut String) {
    let line = &process.line;
    let progress = server.engine.progress(line.slot);
    let info = server.engine.lock_figures(line.slot, &progress);
    let number = if progress.trx.0 == 0 { (1 << 48) + line.id } else { progress.trx.0 };
    let idle = line.transaction.since_us == 0 && info.row_locks == 0 && progress.trx.0 == 0;
    let _ = write!(out, "---TRANSACTION {number}, ");
    let _ = match idle {
        true => write!(out, "not started"),
        false => write!(out, "ACTIVE {} sec", active_s(process)),
    };
    if let Some(what) = progress.undoing {
        let _ = write!(out, " {}", what.words());
    }
    let state = match progress.undoing {
        Some(_) => "ROLLING BACK ",
        None if info.waiting_since_ns.is_some() => "LOCK WAIT ",
        None => "",
    };
    let _ = write!(
        out,
        "\n{state}{} lock struct(s), heap size 1128, {} row lock(s)",
        info.structs, info.row_locks
    );
    if progress.changes > 0 {
        let _ = write!(out, ", undo log entries {}", progress.changes);
    }
    out.push('\n');
    if !idle {
        session(process, out);
    }
    if let Some(since) = info.waiting_since_ns {
        let seconds = sync::now_ns().saturating_sub(since) / 1_000_000_000;
        let _ =
            writeln!(out, "------- TRX HAS BEEN WAITING {seconds} SEC FOR THIS LOCK TO BE GRANTED");
    }
}
