use super::*;

const A: Key = Key::List(1);
const B: Key = Key::List(2);
const S: Key = Key::Set(1);
const T: Key = Key::Set(2);

/// Transactions one beside the other unless times are given.
fn transaction(session: usize, ops: Vec<Op>) -> Transaction {
    Transaction { session, begun_ns: 0, ended_ns: 1_000, outcome: Outcome::Committed, ops }
}

fn at(begun_ns: u64, ended_ns: u64, transaction: Transaction) -> Transaction {
    Transaction { begun_ns, ended_ns, ..transaction }
}

fn ended(outcome: Outcome, transaction: Transaction) -> Transaction {
    Transaction { outcome, ..transaction }
}

fn read(seen: &[(Key, &[u64])]) -> Op {
    read_at(0, seen)
}

fn read_at(sent_ns: u64, seen: &[(Key, &[u64])]) -> Op {
    Op::Read {
        seen: seen.iter().map(|(k, v)| (*k, v.to_vec())).collect(),
        sent_ns,
        is_locking: false,
    }
}

fn write(key: Key, value: u64) -> Op {
    Op::Write(key, value)
}

fn history(transactions: Vec<Transaction>, left: &[(Key, &[u64])]) -> History {
    let left = left.iter().map(|(k, v)| (*k, v.to_vec())).collect();
    History { transactions, left }
}

/// The weakest level at which something is found; None when nothing is.
fn found_from(history: &History) -> Option<Level> {
    let bad: Vec<Level> =
        Level::ALL.into_iter().filter(|l| !check(history, *l).is_empty()).collect();
    let first = bad.first().copied();
    let rest = Level::ALL.into_iter().filter(|l| first.is_some_and(|f| *l as u8 >= f as u8));
    assert_eq!(bad, rest.collect::<Vec<_>>(), "a stronger level allows what a weaker one does not");
    first
}

#[test]
fn a_serial_history_is_right_at_every_level() {
    let history = history(
        vec![
            at(
                0,
                10,
                transaction(0, vec![write(A, 1), write(S, 2), read(&[(A, &[1]), (S, &[2])])]),
            ),
            at(11, 20, transaction(1, vec![read_at(12, &[(A, &[1]), (B, &[])]), write(B, 3)])),
            at(21, 30, transaction(0, vec![read_at(22, &[(S, &[2]), (B, &[3])]), write(A, 4)])),
            at(31, 40, ended(Outcome::Aborted, transaction(1, vec![write(A, 5)]))),
            at(41, 50, transaction(1, vec![read_at(42, &[(A, &[1, 4])])])),
        ],
        &[(A, &[1, 4]), (B, &[3]), (S, &[2])],
    );
    assert_eq!(found_from(&history), None);
}

#[test]
fn a_dirty_write_is_found_everywhere() {
    let one = transaction(0, vec![write(A, 1), write(B, 2)]);
    let two = transaction(1, vec![write(A, 3), write(B, 4)]);
    let history = history(vec![one, two], &[(A, &[1, 3]), (B, &[4, 2])]);
    assert_eq!(found_from(&history), Some(Level::ReadUncommitted));
}

#[test]
fn a_committed_value_that_is_lost_and_one_that_was_rolled_back_are_found_everywhere() {
    let one = transaction(0, vec![write(A, 1)]);
    let lost = history(vec![one.clone(), transaction(1, vec![write(A, 2)])], &[(A, &[2])]);
    assert_eq!(found_from(&lost), Some(Level::ReadUncommitted));
    let zombie = history(vec![ended(Outcome::Aborted, one.clone())], &[(A, &[1])]);
    assert_eq!(found_from(&zombie), Some(Level::ReadUncommitted));
    let twice = history(vec![one.clone()], &[(A, &[1, 1])]);
    assert_eq!(found_from(&twice), Some(Level::ReadUncommitted));
    let unknown = ended(Outcome::Unknown, one);
    assert_eq!(found_from(&history(vec![unknown.clone()], &[(A, &[1])])), None);
    assert_eq!(found_from(&history(vec![unknown], &[])), None);
}

#[test]
fn reads_of_what_is_not_committed_are_found_from_read_committed_on() {
    let aborted = ended(Outcome::Aborted, transaction(0, vec![write(A, 1)]));
    let reader = transaction(1, vec![read(&[(A, &[1])])]);
    let g1a = history(vec![aborted, reader.clone()], &[]);
    assert_eq!(found_from(&g1a), Some(Level::ReadCommitted));
    let writer = transaction(0, vec![write(A, 1), write(A, 2)]);
    let g1b = history(vec![writer, reader], &[(A, &[1, 2])]);
    assert_eq!(found_from(&g1b), Some(Level::ReadCommitted));
}

#[test]
fn a_circle_of_information_g1c_is_found_from_read_committed_on() {
    let one = transaction(0, vec![write(A, 1), read(&[(B, &[2])])]);
    let two = transaction(1, vec![write(B, 2), read(&[(A, &[1])])]);
    let history = history(vec![one, two], &[(A, &[1]), (B, &[2])]);
    assert_eq!(found_from(&history), Some(Level::ReadCommitted));
}

#[test]
fn a_statement_that_sees_half_of_a_transaction_is_found_from_read_committed_on() {
    let writer = transaction(0, vec![write(A, 1), write(B, 2)]);
    let reader = transaction(1, vec![read(&[(A, &[1]), (B, &[])])]);
    let history = history(vec![writer, reader], &[(A, &[1]), (B, &[2])]);
    assert_eq!(found_from(&history), Some(Level::ReadCommitted));
}

#[test]
fn a_statement_that_misses_what_was_known_before_it_is_found_from_read_committed_on() {
    let writer = at(0, 10, transaction(0, vec![write(S, 1)]));
    let reader = at(5, 40, transaction(1, vec![read_at(20, &[(S, &[])])]));
    let late = history(vec![writer.clone(), reader], &[(S, &[1])]);
    assert_eq!(check(&late, Level::ReadCommitted).len(), 1);
    // Its snapshot may be as old as the transaction.
    assert_eq!(check(&late, Level::RepeatableRead), Vec::<String>::new());
    let reader = at(15, 40, transaction(1, vec![read_at(20, &[(S, &[])])]));
    let later = history(vec![writer, reader], &[(S, &[1])]);
    assert_eq!(check(&later, Level::RepeatableRead).len(), 1);
}

#[test]
fn read_skew_is_found_from_repeatable_read_on() {
    let writer = transaction(0, vec![write(A, 1), write(B, 2)]);
    let reader = transaction(1, vec![read(&[(A, &[])]), read(&[(B, &[2])])]);
    let skew = history(vec![writer, reader], &[(A, &[1]), (B, &[2])]);
    assert_eq!(found_from(&skew), Some(Level::RepeatableRead));
    // The same through rows that appear.
    let writer = transaction(0, vec![write(S, 1), write(T, 2)]);
    let reader = transaction(1, vec![read(&[(S, &[])]), read(&[(T, &[2])])]);
    let phantom = history(vec![writer, reader], &[(S, &[1]), (T, &[2])]);
    assert_eq!(found_from(&phantom), Some(Level::RepeatableRead));
}

#[test]
fn a_snapshot_that_sees_an_effect_without_its_cause_is_found_from_repeatable_read_on() {
    let cause = transaction(0, vec![write(S, 1)]);
    let effect = transaction(1, vec![read(&[(S, &[1])]), write(T, 2)]);
    let reader = transaction(2, vec![read(&[(T, &[2])]), read(&[(S, &[])])]);
    let left: &[(Key, &[u64])] = &[(S, &[1]), (T, &[2])];
    let history = history(vec![cause, effect, reader], left);
    assert_eq!(found_from(&history), Some(Level::RepeatableRead));
}

#[test]
fn two_reads_of_one_list_that_differ_are_found_from_repeatable_read_on() {
    let writer = transaction(0, vec![write(A, 1)]);
    let reader = transaction(1, vec![read(&[(A, &[])]), read(&[(A, &[1])])]);
    let changed = history(vec![writer.clone(), reader], &[(A, &[1])]);
    assert_eq!(found_from(&changed), Some(Level::RepeatableRead));
    // Behind its own write a transaction reads the newest list: MySQL's REPEATABLE READ has that.
    let reader = transaction(1, vec![read(&[(A, &[])]), write(A, 2), read(&[(A, &[1, 2])])]);
    let own = history(vec![writer, reader], &[(A, &[1, 2])]);
    assert_eq!(found_from(&own), Some(Level::Serializable));
    let forgetful = transaction(1, vec![write(A, 2), read(&[(A, &[])])]);
    let forgot = history(vec![forgetful], &[(A, &[2])]);
    assert_eq!(found_from(&forgot), Some(Level::ReadCommitted));
}

#[test]
fn write_skew_and_lost_updates_are_found_at_serializable_alone() {
    let one = transaction(0, vec![read(&[(B, &[])]), write(A, 1)]);
    let two = transaction(1, vec![read(&[(A, &[])]), write(B, 2)]);
    let skew = history(vec![one, two], &[(A, &[1]), (B, &[2])]);
    assert_eq!(found_from(&skew), Some(Level::Serializable));
    let one = transaction(0, vec![read(&[(S, &[])]), write(S, 1)]);
    let two = transaction(1, vec![read(&[(S, &[])]), write(S, 2)]);
    let phantoms = history(vec![one, two], &[(S, &[1, 2])]);
    assert_eq!(found_from(&phantoms), Some(Level::Serializable));
    let one = transaction(0, vec![read(&[(A, &[])]), write(A, 1)]);
    let two = transaction(1, vec![read(&[(A, &[])]), write(A, 2)]);
    let lost = history(vec![one, two], &[(A, &[1, 2])]);
    assert_eq!(found_from(&lost), Some(Level::Serializable));
}

#[test]
fn the_read_only_anomaly_is_found_at_serializable_alone() {
    let withdraw = transaction(0, vec![read(&[(A, &[]), (B, &[])]), write(A, 1)]);
    let deposit = at(0, 10, transaction(1, vec![write(B, 2)]));
    let report = at(20, 30, transaction(2, vec![read_at(21, &[(A, &[]), (B, &[2])])]));
    let history = history(vec![withdraw, deposit, report], &[(A, &[1]), (B, &[2])]);
    assert_eq!(found_from(&history), Some(Level::Serializable));
}

#[test]
fn what_a_rolled_back_transaction_read_counts_up_to_repeatable_read() {
    let writer = transaction(0, vec![write(A, 1), write(B, 2)]);
    let reads = vec![read(&[(A, &[])]), read(&[(B, &[2])])];
    let reader = ended(Outcome::Aborted, transaction(1, reads));
    let history = history(vec![writer, reader], &[(A, &[1]), (B, &[2])]);
    assert_eq!(check(&history, Level::RepeatableRead).len(), 1);
    assert_eq!(check(&history, Level::Serializable), Vec::<String>::new());
}

#[test]
fn a_locking_read_that_others_wrote_past_is_found_at_every_level_with_snapshots() {
    let lock = |op: Op| match op {
        Op::Read { seen, sent_ns, .. } => Op::Read { seen, sent_ns, is_locking: true },
        write => write,
    };
    let one = transaction(0, vec![lock(read(&[(A, &[])])), write(A, 2)]);
    let two = transaction(1, vec![write(A, 1)]);
    let lost = history(vec![one, two], &[(A, &[1, 2])]);
    assert_eq!(found_from(&lost), Some(Level::ReadCommitted));
}

#[test]
fn a_finding_shows_the_way_round() {
    let one = transaction(0, vec![write(A, 1), read(&[(B, &[2])])]);
    let two = transaction(1, vec![write(B, 2), read(&[(A, &[1])])]);
    let history = history(vec![one, two], &[(A, &[1]), (B, &[2])]);
    let text = check(&history, Level::Serializable).join("\n");
    assert!(text.contains("commit of 0 (session 0) was seen at List(1) by"), "{text}");
}
