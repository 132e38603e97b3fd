//! Loads as users know them: every workload of sysbench's, more data than memory, a queue under an old view.

use super::{Aim, Cells, Check, Experiment, Figure, Kind, Measure, Setting, Users, at, check};
use crate::beside::Beside;
use crate::workload::Workload;

const DEFAULT: &str = "default";
const SMALL: &str = "small pool";
const PLAIN: &str = "no view";
const OLD: &str = "old view";
/// What counts jobs that were put into a queue, and taken from it.
const PUT: &str = "Innodb_rows_inserted";
const TAKEN: &str = "Innodb_rows_deleted";
const AT: Users = Users::Are(8);

/// TPS of one of sysbench's workloads, by its place, beside a peer.
const fn tps(what: &'static str, workload: usize) -> Check {
    let measure = Measure::BesidePeer(Figure::Tps, at(DEFAULT, AT).of(workload));
    check(0, what, measure, Aim::None)
}

/// The same of the server's processor time.
const fn cpu(what: &'static str, workload: usize) -> Check {
    let measure = Measure::BesidePeer(Figure::ServerCpu, at(DEFAULT, AT).of(workload));
    check(0, what, measure, Aim::None)
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "sysbench",
        title: "every workload of sysbench's: transactions, their time, processor, bytes and fsyncs",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[Setting::named(DEFAULT)],
            workloads: &[
                Workload::PointSelect,
                Workload::ReadOnly,
                Workload::RandomPoints,
                Workload::RandomRanges,
                Workload::UpdateNonIndex,
                Workload::UpdateIndex,
                Workload::ReadWrite,
                Workload::WriteOnly,
                Workload::Insert,
                Workload::Delete,
            ],
            users: &[8],
            users_quick: &[8],
            tables: 8,
            rows: 100_000,
            checks: &[
                tps("TPS by the peer's, point selects", 0),
                tps("TPS by the peer's, read-only", 1),
                tps("TPS by the peer's, random points", 2),
                tps("TPS by the peer's, random ranges", 3),
                tps("TPS by the peer's, updates of no index", 4),
                tps("TPS by the peer's, updates of an index", 5),
                tps("TPS by the peer's, read-write", 6),
                tps("TPS by the peer's, write-only", 7),
                tps("TPS by the peer's, inserts", 8),
                tps("TPS by the peer's, deletes", 9),
                cpu("server CPU by the peer's, point selects", 0),
                cpu("server CPU by the peer's, read-only", 1),
                cpu("server CPU by the peer's, random points", 2),
                cpu("server CPU by the peer's, random ranges", 3),
                cpu("server CPU by the peer's, updates of no index", 4),
                cpu("server CPU by the peer's, updates of an index", 5),
                cpu("server CPU by the peer's, read-write", 6),
                cpu("server CPU by the peer's, write-only", 7),
                cpu("server CPU by the peer's, inserts", 8),
                cpu("server CPU by the peer's, deletes", 9),
                check(
                    0,
                    "transactions taken back by those that went well, read-write",
                    Measure::Of(Figure::TakenBack, at(DEFAULT, AT).of(6)),
                    Aim::AtMost(0.01),
                ),
            ],
        }),
    },
    Experiment {
        name: "larger-than-pool",
        title: "point selects of data that are five times the buffer pool",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[Setting::named(SMALL)
                .options(&["--innodb-buffer-pool-size=128M"])
                .options_quick(&["--innodb-buffer-pool-size=8M"])],
            workloads: &[Workload::PointSelect],
            users: &[8],
            users_quick: &[8],
            // A row takes some 220 bytes: a good 640 MiB in all; with --quick, a good 32.
            tables: 32,
            rows: 100_000,
            checks: &[
                check(
                    0,
                    "QPS by the peer's, 8 users",
                    Measure::BesidePeer(Figure::Qps, at(SMALL, AT)),
                    Aim::AtLeast(0.8),
                ),
                check(
                    0,
                    "pages a second that were not in the pool",
                    Measure::StatusPerSecond(at(SMALL, AT), "Innodb_buffer_pool_reads"),
                    Aim::None,
                ),
                check(
                    0,
                    "memory of the server in MiB: its pool of 128 and 256 more",
                    Measure::Resident(at(SMALL, AT)),
                    Aim::AtMost(384.0),
                ),
                check(
                    0,
                    "its growth from the first round to the last",
                    Measure::ResidentGrowth(at(SMALL, AT)),
                    Aim::AtMost(8.0),
                ),
            ],
        }),
    },
    Experiment {
        name: "queue",
        title: "jobs put at the tail of a queue and taken from its head, without a view and under an old one",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[Setting::named(PLAIN), Setting::named(OLD).beside(Beside::OldView)],
            workloads: &[Workload::Queue],
            users: &[8],
            users_quick: &[8],
            tables: 1,
            rows: 1_000,
            checks: &[
                // Together they say nothing: who takes less leaves the server to those that put.
                check(
                    0,
                    "jobs put a second under an old view by those without one, 8 users",
                    Measure::StatusRatio(at(OLD, AT), at(PLAIN, AT), PUT),
                    Aim::AtLeast(0.9),
                ),
                // Who takes passes over all that was taken since the view began, as the view may see it: measured 0.14 after 60 s.
                check(
                    0,
                    "jobs taken a second under an old view by those without one, 8 users",
                    Measure::StatusRatio(at(OLD, AT), at(PLAIN, AT), TAKEN),
                    Aim::AtLeast(0.1),
                ),
                check(
                    0,
                    "jobs put a second without a view",
                    Measure::StatusPerSecond(at(PLAIN, AT), PUT),
                    Aim::None,
                ),
                check(
                    0,
                    "jobs put a second under the old view",
                    Measure::StatusPerSecond(at(OLD, AT), PUT),
                    Aim::None,
                ),
                check(
                    0,
                    "jobs taken a second without a view",
                    Measure::StatusPerSecond(at(PLAIN, AT), TAKEN),
                    Aim::None,
                ),
                check(
                    0,
                    "jobs taken a second under the old view",
                    Measure::StatusPerSecond(at(OLD, AT), TAKEN),
                    Aim::None,
                ),
                check(
                    0,
                    "growth of the history list a second under the old view",
                    Measure::HistoryGrowth(at(OLD, AT)),
                    Aim::None,
                ),
            ],
        }),
    },
];
