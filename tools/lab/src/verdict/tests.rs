//! Figures and judgements of cells that are made by hand.

use super::*;
use crate::driver::{Counts, Driven};
use crate::experiments::find;
use crate::machine::Spent;
use crate::outcome::{Column, Described};
use crate::sampler::Growth;

fn outcome() -> Outcome {
    let mut outcome = Outcome::of(find("hot-table").unwrap());
    for (setting, is_peer) in [("a", false), ("b", false), ("as it is", true)] {
        let subject = if is_peer { "peer" } else { "limpid" };
        outcome.columns.push(Column {
            label: setting.into(),
            subject: subject.into(),
            is_peer,
            setting: setting.into(),
            words: String::new(),
            server: 0,
        });
    }
    outcome
}

fn cell(column: usize, users: u32, round: u32, queries: f64) -> Cell {
    let counts = Counts { queries, transactions: queries, errors: 0.0 };
    let driven = Driven { seconds: 1.0, counts, mean_ms: 1.0, p95_ms: 1.0 };
    let mut growth = Growth { seconds: 1.0, ..Growth::default() };
    growth.instances.insert("m@1".into(), [queries, 0.0]);
    growth.instances.insert("m@2".into(), [queries / 2.0, 0.0]);
    Cell { column, users, round, driven, growth, ..Cell::default() }
}

fn at(setting: &'static str) -> At {
    At { setting, workload: 0, users: Users::Are(32) }
}

fn judged(outcome: &Outcome, measure: Measure, aim: Aim) -> Finding {
    judge(outcome, &Check { row: 1, what: "", measure, aim }, "limpid")
}

#[test]
fn a_difference_above_the_noise_is_claimed_and_another_is_not() {
    let mut outcome = outcome();
    for (round, noise) in [(1, 0.0), (2, 1.0), (3, -1.0), (4, 0.5)] {
        outcome.cells.push(cell(0, 64, round, 120.0 + noise));
        outcome.cells.push(cell(1, 64, round, 100.0 + noise));
    }
    let ratio = Measure::Ratio(Figure::Qps, at("a"), at("b"));
    let found = judged(&outcome, ratio, Aim::AtLeast(1.1));
    assert_eq!(found.verdict, Verdict::Holds, "{found:?}");
    assert!((found.estimate.unwrap().value - 1.2).abs() < 0.01);
    assert_eq!(judged(&outcome, ratio, Aim::AtLeast(1.2)).verdict, Verdict::NoClaim);
    assert_eq!(judged(&outcome, ratio, Aim::AtLeast(1.5)).verdict, Verdict::Fails);
    let cost = Measure::Cost(at("b"), at("a"));
    assert_eq!(judged(&outcome, cost, Aim::AtMost(10.0)).verdict, Verdict::Fails);
    assert_eq!(judged(&outcome, cost, Aim::AtMost(17.0)).verdict, Verdict::NoClaim);
    assert_eq!(judged(&outcome, cost, Aim::AtMost(30.0)).verdict, Verdict::Holds);
}

#[test]
fn one_round_claims_nothing() {
    let mut outcome = outcome();
    outcome.cells = vec![cell(0, 8, 1, 300.0), cell(1, 8, 1, 100.0)];
    let ratio = Measure::Ratio(Figure::Qps, at("a"), at("b"));
    assert_eq!(judged(&outcome, ratio, Aim::AtLeast(1.1)).verdict, Verdict::NoClaim);
    let balance = Measure::Balance(at("a"), "m@");
    assert_eq!(judged(&outcome, balance, Aim::AtMost(9.0)).verdict, Verdict::NoClaim);
    // But what never happened did not.
    let none = Measure::Instances(at("a"), "nobody");
    assert_eq!(judged(&outcome, none, Aim::AtMost(1.0)).verdict, Verdict::Holds);
}

#[test]
fn what_is_not_there_says_so() {
    let mut outcome = outcome();
    outcome.cells = vec![cell(0, 8, 1, 300.0)];
    let reason_in = |outcome: &Outcome, measure| match judged(outcome, measure, Aim::None).verdict {
        Verdict::NotMeasured(why) => why,
        verdict => panic!("{verdict:?}"),
    };
    let as_it_is = outcome.clone();
    let reason = |measure| reason_in(&as_it_is, measure);
    assert!(reason(Measure::Ratio(Figure::Qps, at("a"), at("b"))).contains("no run of \"b\""));
    assert!(reason(Measure::Ratio(Figure::Qps, at("a"), at("c"))).contains("no setting \"c\""));
    assert!(reason(Measure::HeldPercent(at("a"), "x")).contains("does not tell"));
    assert!(reason(Measure::Flatness("a")).contains("two levels"));
    assert_eq!(reason(Measure::Not("why")), "why");
    assert!(reason(Measure::SessionSamplerShare(at("a"))).contains("does not tell"));
    assert!(reason(Measure::HistoryGrowth(at("a"))).contains("does not tell"));
    let waits = Measure::WaitSeconds(at("a"), "mutex/sql/MDL_map");
    assert!(reason(waits).contains("counts no waits with"));
    outcome.servers.push(Described {
        instruments: vec!["wait/synch/mutex/sql/MDL_map::mutex".into()],
        ..Described::default()
    });
    assert_eq!(judged(&outcome, waits, Aim::AtMost(0.001)).verdict, Verdict::Holds);
}

#[test]
fn counts_of_instances_and_peers() {
    let mut outcome = outcome();
    for round in 1..=2 {
        outcome.cells.push(cell(0, 16, round, 200.0));
        outcome.cells.push(cell(0, 256, round, 150.0));
        outcome.cells.push(cell(2, 16, round, 100.0));
        outcome.cells.push(cell(2, 256, round, 100.0));
    }
    let value = |measure| judged(&outcome, measure, Aim::None).estimate.unwrap().value;
    assert_eq!(value(Measure::Balance(at("a"), "m@")), 2.0);
    assert_eq!(value(Measure::Instances(at("a"), "m@")), 2.0);
    assert_eq!(value(Measure::Flatness("a")), 0.75);
    assert_eq!(value(Measure::Collapse("a")), 0.75);
    let beside = |users| Measure::BesidePeer(Figure::Qps, At { users, ..at("a") });
    assert_eq!(value(beside(Users::Most)), 1.5);
    assert_eq!(value(beside(Users::Least)), 2.0);
    // What a peer does not have is not made up for it from others' figures.
    for measure in [Measure::Flatness("a"), beside(Users::Most)] {
        let of_peer = judge(&outcome, &Check { row: 1, what: "", measure, aim: Aim::None }, "peer");
        assert!(matches!(of_peer.verdict, Verdict::NotMeasured(_)), "{of_peer:?}");
    }
    // Nor is it set beside itself, or another.
    outcome.columns[2].setting = "a".into();
    let of_peer = judge(
        &outcome,
        &Check { row: 0, what: "", measure: beside(Users::Most), aim: Aim::None },
        "peer",
    );
    assert_eq!(of_peer.verdict, Verdict::NotMeasured("it is a peer".into()));
    // A build of its own stands in for the setting that needs it.
    outcome.columns[1].subject = "bare".into();
    outcome.cells.extend([cell(1, 16, 1, 50.0), cell(1, 16, 2, 50.0)]);
    let by_build = Measure::Ratio(
        Figure::Qps,
        At { users: Users::Least, ..at("a") },
        At { users: Users::Least, ..at("b") },
    );
    assert_eq!(judged(&outcome, by_build, Aim::None).estimate.unwrap().value, 4.0);
}

#[test]
fn the_samplers_share_and_the_growth_of_history() {
    let mut outcome = outcome();
    for round in 1..=2 {
        let mut cell = cell(0, 32, round, 200.0);
        cell.growth.seconds = 2.0;
        cell.growth.server = Some(Spent { user_s: 1.5, kernel_s: 0.5, ..Spent::default() });
        cell.growth.session_sampler_s = Some(0.01);
        cell.growth.history_len = Some(-30.0);
        outcome.cells.push(cell);
    }
    let share = Measure::SessionSamplerShare(at("a"));
    let found = judged(&outcome, share, Aim::AtMost(0.6));
    assert_eq!((found.estimate.unwrap().value, found.verdict), (0.5, Verdict::Holds));
    let growth = judged(&outcome, Measure::HistoryGrowth(at("a")), Aim::None);
    assert_eq!(growth.estimate.unwrap().value, -15.0);
}

#[test]
fn memory_and_transactions_that_were_taken_back() {
    let mut outcome = outcome();
    let growth = Measure::ResidentGrowth(at("a"));
    for (round, mib) in [(1, 300.0), (2, 320.0), (3, 307.0)] {
        let mut cell = cell(0, 8, round, 200.0);
        (cell.resident_mib, cell.driven.counts.errors) = (Some(mib), 1.0);
        outcome.cells.push(cell);
        if round == 1 {
            let once = judged(&outcome, growth, Aim::AtMost(8.0));
            assert_eq!(once.verdict, Verdict::NotMeasured("takes two rounds or more".into()));
        }
    }
    assert_eq!(judged(&outcome, growth, Aim::AtMost(8.0)).verdict, Verdict::Holds);
    assert_eq!(judged(&outcome, growth, Aim::AtMost(6.0)).verdict, Verdict::Fails);
    let resident = judged(&outcome, Measure::Resident(at("a")), Aim::AtMost(384.0));
    assert_eq!((resident.estimate.unwrap().value, resident.verdict), (307.0, Verdict::Holds));
    let back = judged(&outcome, Measure::Of(Figure::TakenBack, at("a")), Aim::AtMost(0.01));
    assert_eq!((back.estimate.unwrap().value, back.verdict), (0.005, Verdict::Holds));
}

#[test]
fn a_status_variable_is_compared_between_settings() {
    let mut outcome = outcome();
    for (column, taken) in [(0, 20.0), (1, 100.0)] {
        for round in 1..=4 {
            let mut one = cell(column, 32, round, 1000.0);
            one.growth.status.insert("taken".into(), taken);
            outcome.cells.push(one);
        }
    }
    let taken =
        judged(&outcome, Measure::StatusRatio(at("a"), at("b"), "taken"), Aim::AtLeast(0.1));
    assert_eq!(taken.verdict, Verdict::Holds, "{taken:?}");
    assert!((taken.estimate.unwrap().value - 0.2).abs() < 1e-9);
    let other = judged(&outcome, Measure::StatusRatio(at("a"), at("b"), "other"), Aim::None);
    assert!(other.estimate.is_none(), "nothing by nothing: {other:?}");
}
