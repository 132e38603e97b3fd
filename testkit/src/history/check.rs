//! The rules: what a history must not hold at a level.
//!
//! Of every level: what is committed is there at the end once, what was rolled back is not, and writers of
//! several lists come in one order (no dirty write). From READ COMMITTED on, nobody reads what was rolled
//! back (G1a) or what its writer went on to change (G1b). The rest is the line of time of the parent module.

use super::graph::Graph;
use super::record::{History, Key, Op, Outcome, Transaction};
use crate::isolation::Level;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Why one point of time comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Wrote to a list before.
    Wrote(Key),
    /// Was seen by the read.
    Seen(Key),
    /// The read missed it.
    Missed(Key),
    /// One's end was known before the other was begun, or the order within a transaction.
    Time,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Wrote(key) => write!(f, "wrote {key:?} before"),
            Reason::Seen(key) => write!(f, "was seen at {key:?} by"),
            Reason::Missed(key) => write!(f, "missed at {key:?} what was written by"),
            Reason::Time => write!(f, "was over before"),
        }
    }
}

/// Everything that a level does not allow, in words; empty for a history that is right.
pub fn check(history: &History, level: Level) -> Vec<String> {
    let checker = match Checker::new(history, level) {
        Ok(checker) => checker,
        Err(finding) => return vec![finding],
    };
    let mut findings = checker.check_what_is_left();
    if level != Level::ReadUncommitted {
        findings.extend(checker.check_reads());
    }
    findings.extend(checker.check_time());
    findings
}

struct Checker<'a> {
    history: &'a History,
    level: Level,
    /// Transaction that wrote a value.
    writer: HashMap<u64, usize>,
    /// Values written to each key by transactions that may have committed.
    written: BTreeMap<Key, Vec<u64>>,
}

impl<'a> Checker<'a> {
    fn new(history: &'a History, level: Level) -> Result<Checker<'a>, String> {
        let mut writer = HashMap::new();
        let mut written: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
        for (number, transaction) in history.transactions.iter().enumerate() {
            for op in &transaction.ops {
                let Op::Write(key, value) = op else { continue };
                if writer.insert(*value, number).is_some() {
                    return Err(format!("value {value} was written twice: the load is wrong"));
                }
                if transaction.outcome != Outcome::Aborted {
                    written.entry(*key).or_default().push(*value);
                }
            }
        }
        Ok(Checker { history, level, writer, written })
    }

    fn transaction(&self, number: usize) -> &'a Transaction {
        &self.history.transactions[number]
    }

    fn check_what_is_left(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for (key, left) in &self.history.left {
            let mut seen: HashMap<u64, usize> = HashMap::new();
            for value in left {
                *seen.entry(*value).or_default() += 1;
                match self.writer.get(value).map(|w| self.transaction(*w).outcome) {
                    None => findings.push(format!("{key:?} holds {value}, which nobody wrote")),
                    Some(Outcome::Aborted) => {
                        findings.push(format!("{key:?} holds {value}, which was rolled back"));
                    }
                    Some(_) => {}
                }
            }
            findings.extend(
                seen.iter()
                    .filter(|(_, n)| **n > 1)
                    .map(|(v, n)| format!("{key:?}: {v} {n} times")),
            );
        }
        for (key, values) in &self.written {
            let left = self.history.left.get(key).map_or(&[][..], Vec::as_slice);
            let lost = values.iter().filter(|v| {
                !left.contains(v) && self.transaction(self.writer[v]).outcome == Outcome::Committed
            });
            findings.extend(lost.map(|v| format!("{key:?}: {v} was committed and is lost")));
        }
        findings
    }

    /// Each read alone: rolled back, half a transaction, a list in another order, or without its own writes.
    fn check_reads(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            for (at, op) in transaction.ops.iter().enumerate() {
                let Op::Read { seen, .. } = op else { continue };
                for (key, values) in seen {
                    let what = self.fault_of_a_read(number, at, *key, values);
                    let place = || format!("transaction {number}, statement {at}, {key:?}");
                    findings.extend(what.map(|what| format!("{}: {what}", place())));
                }
            }
        }
        findings
    }

    fn fault_of_a_read(
        &self,
        number: usize,
        at: usize,
        key: Key,
        values: &[u64],
    ) -> Option<String> {
        let before = Transaction {
            ops: self.transaction(number).ops[..at].to_vec(),
            ..self.transaction(number).clone()
        };
        let own: Vec<u64> = before.written(key).collect();
        if let Some(missing) = own.iter().find(|v| !values.contains(v)) {
            return Some(format!("its own {missing} is not there"));
        }
        for value in values {
            let Some(&writer) = self.writer.get(value) else {
                return Some(format!("{value} was never written"));
            };
            if writer == number {
                continue;
            }
            if self.transaction(writer).outcome == Outcome::Aborted {
                return Some(format!("{value} was rolled back (G1a)"));
            }
            let last = self.transaction(writer).written(key).last();
            if last.is_some_and(|last| !values.contains(&last)) {
                return Some(format!("{value} without what its writer added later (G1b)"));
            }
        }
        if let Key::List(_) = key {
            return self.list_out_of_order(key, values);
        }
        None
    }

    /// A list as it was read must be a beginning of the list at the end, as far as it is still there.
    fn list_out_of_order(&self, key: Key, values: &[u64]) -> Option<String> {
        let committed = |v: &&u64| {
            self.writer.get(*v).is_some_and(|w| self.transaction(*w).outcome != Outcome::Aborted)
        };
        let left = self.history.left.get(&key).map_or(&[][..], Vec::as_slice);
        let read: Vec<&u64> = values.iter().filter(committed).collect();
        let same = read.iter().zip(left).all(|(r, l)| **r == *l) && read.len() <= left.len();
        (!same).then(|| format!("the list {values:?} is no beginning of {left:?}"))
    }

    fn check_time(&self) -> Option<String> {
        let (graph, names) = self.line_of_time();
        let cycle = graph.cycle()?;
        let steps = cycle.iter().map(|(node, reason)| format!("  {} {reason}", names[*node]));
        let text: Vec<String> = steps.collect();
        Some(format!(
            "{}: no order of time explains these (each line goes on in the next, the last in the first):\n{}",
            self.level.name(),
            text.join("\n")
        ))
    }

    /// Commits first, then snapshots, then moments between; names of all for a finding.
    fn line_of_time(&self) -> (Graph<Reason>, Vec<String>) {
        let transactions = &self.history.transactions;
        let mut graph = Graph::new(transactions.len());
        let mut names: Vec<String> = transactions
            .iter()
            .enumerate()
            .map(|(n, t)| format!("commit of {n} (session {})", t.session))
            .collect();
        self.add_list_writers(&mut graph);
        if self.level == Level::ReadUncommitted {
            return (graph, names);
        }
        let moments = self.add_moments(&mut graph, &mut names);
        for (number, transaction) in transactions.iter().enumerate() {
            if transaction.outcome != Outcome::Committed && self.level == Level::Serializable {
                // Its reads held locks only until it was rolled back.
                continue;
            }
            self.add_reads(number, transaction, &moments, &mut graph, &mut names);
        }
        (graph, names)
    }

    /// Writers of a list, in its order.
    fn add_list_writers(&self, graph: &mut Graph<Reason>) {
        for (key, left) in &self.history.left {
            let Key::List(_) = key else { continue };
            let writers: Vec<usize> =
                left.iter().filter_map(|v| self.writer.get(v).copied()).collect();
            for pair in writers.windows(2) {
                graph.before(pair[0], pair[1], Reason::Wrote(*key));
            }
        }
    }

    /// A chain of moments, one behind each known commit, so that all later ones come behind it with few edges.
    /// Answers each moment's time and node, in order.
    fn add_moments(&self, graph: &mut Graph<Reason>, names: &mut Vec<String>) -> Vec<(u64, usize)> {
        let mut ends: Vec<(u64, usize)> = self
            .history
            .transactions
            .iter()
            .enumerate()
            .filter(|(_, t)| t.outcome == Outcome::Committed)
            .map(|(n, t)| (t.ended_ns, n))
            .collect();
        ends.sort_unstable();
        let mut moments: Vec<(u64, usize)> = Vec::new();
        for (time, transaction) in ends {
            let node = graph.add();
            names.push(format!("moment {time} ns"));
            graph.before(transaction, node, Reason::Time);
            if let Some((_, before)) = moments.last() {
                graph.before(*before, node, Reason::Time);
            }
            moments.push((time, node));
        }
        moments
    }

    fn add_reads(
        &self,
        number: usize,
        transaction: &Transaction,
        moments: &[(u64, usize)],
        graph: &mut Graph<Reason>,
        names: &mut Vec<String>,
    ) {
        let after = |graph: &mut Graph<Reason>, time: u64, node: usize| {
            let at = moments.partition_point(|(end, _)| *end < time);
            if let Some((_, moment)) = at.checked_sub(1).map(|n| moments[n]) {
                graph.before(moment, node, Reason::Time);
            }
        };
        after(graph, transaction.begun_ns, number);
        let mut snapshot = (self.level == Level::Serializable).then_some(number);
        for (at, op) in transaction.ops.iter().enumerate() {
            let Op::Read { seen, sent_ns, is_locking } = op else { continue };
            let own = &transaction.ops[..at];
            if *is_locking && transaction.outcome != Outcome::Committed {
                continue;
            }
            let node = match *is_locking {
                true => number,
                false => *snapshot.get_or_insert_with(|| {
                    let node = graph.add();
                    names.push(format!("snapshot of {number} (session {})", transaction.session));
                    graph.before(node, number, Reason::Time);
                    node
                }),
            };
            after(graph, transaction.begun_ns, node);
            if self.level == Level::ReadCommitted {
                after(graph, *sent_ns, node);
                snapshot = None;
            }
            for (key, values) in seen {
                self.add_read(number, node, own, *key, values, graph);
            }
        }
    }

    /// One key of a read: behind what it saw, before what it missed.
    fn add_read(
        &self,
        number: usize,
        node: usize,
        own: &[Op],
        key: Key,
        values: &[u64],
        graph: &mut Graph<Reason>,
    ) {
        let is_own_list = matches!(key, Key::List(_))
            && own.iter().any(|op| matches!(op, Op::Write(k, _) if *k == key));
        if is_own_list {
            // The row is the transaction's own newest version: no snapshot is asked for it.
            return;
        }
        let others = values.iter().filter_map(|v| self.writer.get(v).copied());
        for writer in others.filter(|w| *w != number) {
            graph.before(writer, node, Reason::Seen(key));
        }
        let missed = self.written.get(&key).into_iter().flatten().filter(|v| !values.contains(v));
        for value in missed {
            let writer = self.writer[value];
            let is_known = self.transaction(writer).outcome == Outcome::Committed
                || self.history.left.get(&key).is_some_and(|left| left.contains(value));
            if writer != number && is_known {
                graph.before(node, writer, Reason::Missed(key));
            }
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
