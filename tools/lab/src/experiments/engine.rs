//! The storage engine: cores, latches, rollback segments, recovery, deletes, purge.

use super::{Aim, Cells, Experiment, Figure, Kind, Measure, Program, Setting, Users, at, check};
use crate::beside::Beside;
use crate::pin::Pin;
use crate::workload::Workload;

const SYNCH: &str = "SET GLOBAL limpid_instrument_level = synch";
const LAX: &str = "SET GLOBAL innodb_flush_log_at_trx_commit = 2";
const AT: Users = Users::Are(16);
const BOTH_PURGE: &[&str] =
    &["SET GLOBAL limpid_purge_in_background = ON", "SET GLOBAL limpid_purge_at_commit = ON", LAX];
/// The server on 1 to n cores; what is beyond the machine is skipped there.
const BY_CORES: &[Setting] = &[
    Setting::named("all cores").sql(&[LAX]),
    on_cores("1 core", 1),
    on_cores("2 cores", 2),
    on_cores("4 cores", 4),
    on_cores("8 cores", 8),
    on_cores("16 cores", 16),
    on_cores("32 cores", 32),
];

const fn on_cores(name: &'static str, cores: u32) -> Setting {
    Setting::named(name).sql(&[LAX]).pin(Pin::First(cores))
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "cores",
        title: "read-write with few reads on 1 to n cores",
        rows: &[25],
        kind: Kind::Cells(Cells {
            settings: BY_CORES,
            workloads: &[Workload::LessRead],
            users: &[1, 4, 16, 64],
            users_quick: &[16],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    25,
                    "TPS of 2 cores by 1 core of the server, 16 users",
                    Measure::Ratio(Figure::Tps, at("2 cores", AT), at("1 core", AT)),
                    Aim::AtLeast(1.8),
                ),
                check(
                    25,
                    "the same, all cores by 1 core",
                    Measure::Ratio(Figure::Tps, at("all cores", AT), at("1 core", AT)),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "latches",
        title: "acquisitions of the engine's latches, and how long they are held: read-write transactions",
        rows: &[26, 27, 28],
        kind: Kind::Cells(Cells {
            settings: &[Setting::named("synch").sql(&[SYNCH, LAX])],
            workloads: &[Workload::ReadWrite],
            users: &[1, 16, 64],
            users_quick: &[16],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    26,
                    "acquisitions a second of the log's mutexes",
                    Measure::Acquisitions(at("synch", AT), "innodb/log_"),
                    Aim::None,
                ),
                check(
                    26,
                    "the same for each transaction",
                    Measure::AcquisitionsPerTransaction(at("synch", AT), "innodb/log_"),
                    Aim::None,
                ),
                check(
                    26,
                    "held, in %, the most held of them",
                    Measure::HeldPercent(at("synch", AT), "innodb/log_"),
                    Aim::AtMost(5.0),
                ),
                check(
                    27,
                    "acquisitions a second of the pool's mutexes",
                    Measure::Acquisitions(at("synch", AT), "mutex/innodb/buf_"),
                    Aim::None,
                ),
                check(
                    27,
                    "the same for each transaction",
                    Measure::AcquisitionsPerTransaction(at("synch", AT), "mutex/innodb/buf_"),
                    Aim::None,
                ),
                check(
                    27,
                    "held, in %, the most held of them",
                    Measure::HeldPercent(at("synch", AT), "mutex/innodb/buf_"),
                    Aim::AtMost(5.0),
                ),
                check(
                    28,
                    "acquisitions a second of rollback segments' mutexes",
                    Measure::Acquisitions(at("synch", AT), "rseg"),
                    Aim::None,
                ),
                check(
                    28,
                    "the same for each transaction",
                    Measure::AcquisitionsPerTransaction(at("synch", AT), "rseg"),
                    Aim::None,
                ),
                check(
                    28,
                    "held, in %, the most held of them",
                    Measure::HeldPercent(at("synch", AT), "rseg"),
                    Aim::AtMost(5.0),
                ),
            ],
        }),
    },
    Experiment {
        name: "segments",
        title: "1 and 128 rollback segments, 1 and 8 instances of the buffer pool: updates",
        rows: &[29],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("128 segments")
                    .options(&["--innodb-rollback-segments=128"])
                    .sql(&[LAX]),
                Setting::named("1 segment").options(&["--innodb-rollback-segments=1"]).sql(&[LAX]),
                Setting::named("8 pool instances")
                    .options(&["--innodb-buffer-pool-instances=8", "--innodb-buffer-pool-size=1G"])
                    .sql(&[LAX]),
                Setting::named("1 pool instance")
                    .options(&["--innodb-buffer-pool-instances=1", "--innodb-buffer-pool-size=1G"])
                    .sql(&[LAX]),
            ],
            workloads: &[Workload::UpdateNonIndex],
            users: &[1, 16, 64],
            users_quick: &[16],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    29,
                    "TPS of 128 rollback segments by 1, 16 users",
                    Measure::Ratio(Figure::Tps, at("128 segments", AT), at("1 segment", AT)),
                    Aim::None,
                ),
                check(
                    29,
                    "TPS of 8 pool instances by 1, 16 users",
                    Measure::Ratio(
                        Figure::Tps,
                        at("8 pool instances", AT),
                        at("1 pool instance", AT),
                    ),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "recovery",
        title: "a server that is killed after n and 4n rows: time to the first answer",
        rows: &[30],
        kind: Kind::Own(Program::Recovery),
    },
    Experiment {
        name: "buffered-deletes",
        title: "deletes from more data than memory, with changes of secondary indexes buffered and not",
        rows: &[31],
        kind: Kind::Absent("not there without a change buffer"),
    },
    Experiment {
        name: "purge",
        title: "purge in the background, at commit, under a view, and not at all: how steady the TPS is",
        rows: &[32],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("both").sql(BOTH_PURGE),
                Setting::named("under a view").sql(BOTH_PURGE).beside(Beside::View),
                Setting::named("background").sql(&[
                    "SET GLOBAL limpid_purge_in_background = ON",
                    "SET GLOBAL limpid_purge_at_commit = OFF",
                    LAX,
                ]),
                Setting::named("none").sql(&[
                    "SET GLOBAL limpid_purge_in_background = OFF",
                    "SET GLOBAL limpid_purge_at_commit = OFF",
                    LAX,
                ]),
            ],
            workloads: &[Workload::ReadWrite],
            users: &[16],
            users_quick: &[16],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    32,
                    "variation of TPS from second to second",
                    Measure::Of(Figure::Variation, at("both", AT)),
                    Aim::AtMost(0.05),
                ),
                check(
                    32,
                    "the same, purge in the background alone",
                    Measure::Of(Figure::Variation, at("background", AT)),
                    Aim::None,
                ),
                check(
                    32,
                    "the same, under a view that lets nothing be purged",
                    Measure::Of(Figure::Variation, at("under a view", AT)),
                    Aim::None,
                ),
                check(
                    32,
                    "growth of the history list a second",
                    Measure::HistoryGrowth(at("both", AT)),
                    Aim::None,
                ),
                check(
                    32,
                    "the same, under the view",
                    Measure::HistoryGrowth(at("under a view", AT)),
                    Aim::None,
                ),
                check(
                    32,
                    "TPS under a view by TPS without one",
                    Measure::Ratio(Figure::Tps, at("under a view", AT), at("both", AT)),
                    Aim::None,
                ),
                check(
                    32,
                    "TPS with purge by TPS without",
                    Measure::Ratio(Figure::Tps, at("both", AT), at("none", AT)),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "dbstress",
        title: "our rendition of dbStress, read-only and read-write, by users and cores",
        rows: &[33],
        kind: Kind::Cells(Cells {
            settings: BY_CORES,
            workloads: &[Workload::StressRead, Workload::StressReadWrite],
            users: &[1, 4, 16, 64],
            users_quick: &[16],
            tables: 1,
            rows: 100_000,
            checks: &[
                check(
                    33,
                    "TPS of read-write by read-only, 16 users",
                    Measure::Ratio(Figure::Tps, at("all cores", AT).of(1), at("all cores", AT)),
                    Aim::None,
                ),
                check(
                    33,
                    "TPS of all cores by 1 core, read-only",
                    Measure::Ratio(Figure::Tps, at("all cores", AT), at("1 core", AT)),
                    Aim::None,
                ),
                check(
                    33,
                    "QPS with most users by the greatest, read-only",
                    Measure::Collapse("all cores"),
                    Aim::AtLeast(0.95),
                ),
                check(
                    33,
                    "growth of the history list a second, read-write, 16 users",
                    Measure::HistoryGrowth(at("all cores", AT).of(1)),
                    Aim::None,
                ),
            ],
        }),
    },
];
