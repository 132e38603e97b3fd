//! The table of experiments is whole.

use super::{Cells, Kind, Measure, all, find};
use crate::seeds::ROWS;
use std::collections::BTreeSet;

#[test]
fn each_row_of_the_literature_belongs_to_one_experiment() {
    let mut rows: Vec<u8> = all().flat_map(|e| e.rows.iter().copied()).collect();
    rows.sort_unstable();
    assert_eq!(rows, (1..=40).collect::<Vec<u8>>());
    assert_eq!(ROWS.map(|row| row.number).to_vec(), rows);
}

#[test]
fn names_are_there_once() {
    let names: BTreeSet<&str> = all().map(|e| e.name).collect();
    assert_eq!(names.len(), all().count());
    assert!(find("mdl-shards").is_some() && find("mdl-shard").is_none());
}

fn settings_of(measure: &Measure) -> Vec<(&'static str, usize)> {
    use Measure::*;
    match measure {
        Ratio(_, a, b) | Cost(a, b) | StatusRatio(a, b, _) => {
            vec![(a.setting, a.workload), (b.setting, b.workload)]
        }
        Flatness(name) | Collapse(name) => vec![(name, 0)],
        Of(_, at)
        | BesidePeer(_, at)
        | Resident(at)
        | ResidentGrowth(at)
        | LatchShare(at)
        | KernelShare(at)
        | SessionSamplerShare(at)
        | HistoryGrowth(at)
        | SystemCalls(at)
        | Allocations(at)
        | Balance(at, _)
        | Instances(at, _)
        | WaitSeconds(at, _)
        | Waits(at, _)
        | Acquisitions(at, _)
        | AcquisitionsPerTransaction(at, _)
        | HeldPercent(at, _)
        | StatusPerSecond(at, _) => vec![(at.setting, at.workload)],
        Not(_) => Vec::new(),
    }
}

#[test]
fn checks_name_settings_and_rows_that_are_there() {
    for experiment in all() {
        let Kind::Cells(Cells { settings, workloads, checks, users, users_quick, .. }) =
            &experiment.kind
        else {
            continue;
        };
        let mut checked = BTreeSet::new();
        for check in *checks {
            assert!(check.row == 0 || experiment.rows.contains(&check.row), "{}", check.what);
            checked.insert(check.row);
            for (setting, workload) in settings_of(&check.measure) {
                assert!(
                    settings.iter().any(|s| s.name == setting),
                    "{}: {setting}",
                    experiment.name
                );
                assert!(workload < workloads.len(), "{}", check.what);
            }
        }
        assert!(experiment.rows.iter().all(|row| checked.contains(row)), "{}", experiment.name);
        assert!(users.is_sorted() && users_quick.is_sorted() && !users_quick.is_empty());
        let names: BTreeSet<&str> = settings.iter().map(|s| s.name).collect();
        assert_eq!(names.len(), settings.len(), "{}", experiment.name);
    }
}
