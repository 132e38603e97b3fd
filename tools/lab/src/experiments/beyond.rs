//! What the texts do not have: one hot table, a connection's locks, kinds of latches, a pile-up, process lists, the session history.

use super::{Aim, Cells, Experiment, Figure, Kind, Measure, Program, Setting, Users, at, check};
use crate::beside::Beside;
use crate::workload::Workload;

const AT: Users = Users::Are(64);
const AT_300: Users = Users::Are(300);

/// One shard of metadata locks and one instance of the table cache, where they are used at all.
const ONE: &[&str] = &["--metadata-locks-hash-instances=1", "--table-open-cache-instances=1"];
const SIXTEEN: &[&str] = &["--metadata-locks-hash-instances=1", "--table-open-cache-instances=16"];
const NO_SHARD: &str = "SET GLOBAL limpid_mdl_fast_path = ON";
const SHARD: &str = "SET GLOBAL limpid_mdl_fast_path = OFF";
const LOCAL: &str = "SET GLOBAL limpid_table_cache_local = ON";
const SHARED: &str = "SET GLOBAL limpid_table_cache_local = OFF";
const LARGE: &str = "SET GLOBAL table_open_cache = 4000";
const SMALL: &str = "SET GLOBAL table_open_cache = 10";
const LAX: &str = "SET GLOBAL innodb_flush_log_at_trx_commit = 2";

/// A figure of one setting by that of another.
const fn by(figure: Figure, users: Users, above: &'static str, below: &'static str) -> Measure {
    Measure::Ratio(figure, at(above, users), at(below, users))
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "hot-table",
        title: "point selects of one table against eight",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[Setting::named("default")],
            workloads: &[Workload::PointSelect, Workload::PointSelectHot],
            users: &[1, 8, 64, 256],
            users_quick: &[64],
            tables: 8,
            rows: 100_000,
            checks: &[check(
                0,
                "QPS of one table by eight, 64 users",
                Measure::Ratio(Figure::Qps, at("default", AT).of(1), at("default", AT)),
                Aim::AtLeast(0.97),
            )],
        }),
    },
    Experiment {
        name: "paths-apart",
        title: "each shared path alone against default: point selects with few handles, one shard, one table cache, sixteen",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("default").options(ONE).sql(&[NO_SHARD, LOCAL, LARGE]),
                Setting::named("10 handles").options(ONE).sql(&[NO_SHARD, LOCAL, SMALL]),
                Setting::named("one shard").options(ONE).sql(&[SHARD, LOCAL, LARGE]),
                Setting::named("one instance").options(ONE).sql(&[NO_SHARD, SHARED, LARGE]),
                Setting::named("16 instances").options(SIXTEEN).sql(&[NO_SHARD, SHARED, LARGE]),
            ],
            workloads: &[Workload::PointSelect],
            users: &[64, 300],
            users_quick: &[64],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    0,
                    "QPS of a cache of 10 handles by one of 4,000, 300 users",
                    by(Figure::Qps, AT_300, "10 handles", "default"),
                    Aim::AtLeast(0.8),
                ),
                check(
                    0,
                    "server CPU a query of a cache of 10 handles by one of 4,000, 300 users",
                    by(Figure::ServerCpu, AT_300, "10 handles", "default"),
                    Aim::None,
                ),
                check(
                    0,
                    "QPS of the fast path of metadata locks by one shard, 64 users",
                    by(Figure::Qps, AT, "default", "one shard"),
                    Aim::AtLeast(1.0),
                ),
                check(
                    0,
                    "server CPU a query of the fast path by one shard, 64 users",
                    by(Figure::ServerCpu, AT, "default", "one shard"),
                    Aim::AtMost(1.0),
                ),
                check(
                    0,
                    "QPS of handles of sessions by one instance under its mutex, 64 users",
                    by(Figure::Qps, AT, "default", "one instance"),
                    Aim::AtLeast(1.0),
                ),
                check(
                    0,
                    "QPS of 16 instances by one instance, under their mutexes, 64 users",
                    by(Figure::Qps, AT, "16 instances", "one instance"),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "connection-locks",
        title: "cost of one connection's metadata locks by tables in a transaction",
        rows: &[],
        kind: Kind::Own(Program::ConnectionLocks),
    },
    Experiment {
        name: "latch-kinds",
        title: "spin, parking and read-optimised locks, one word against slots",
        rows: &[],
        kind: Kind::Own(Program::LatchKinds),
    },
    Experiment {
        name: "pile-up",
        title: "point selects of a table while an ALTER of it waits behind an idle transaction",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("nobody"),
                Setting::named("ALTER waits").beside(Beside::Alter),
                Setting::named("ALTER waits in a queue")
                    .options(&["--limpid-ddl-wait=queue"])
                    .beside(Beside::Alter),
            ],
            workloads: &[Workload::PointSelectHot],
            users: &[1, 8, 64],
            users_quick: &[8],
            tables: 1,
            rows: 100_000,
            checks: &[
                check(
                    0,
                    "QPS beside the ALTER by QPS beside nobody, 8 users",
                    Measure::Ratio(
                        Figure::Qps,
                        at("ALTER waits", Users::Are(8)),
                        at("nobody", Users::Are(8)),
                    ),
                    Aim::None,
                ),
                check(
                    0,
                    "the same where the ALTER waits in a queue, as in MySQL",
                    Measure::Ratio(
                        Figure::Qps,
                        at("ALTER waits in a queue", Users::Are(8)),
                        at("nobody", Users::Are(8)),
                    ),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "process-lists",
        title: "process lists at 100 a second beside point selects",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("none"),
                Setting::named("100 a second").beside(Beside::ProcessLists),
            ],
            workloads: &[Workload::PointSelect],
            users: &[8, 64, 1024],
            users_quick: &[64],
            tables: 8,
            rows: 100_000,
            checks: &[check(
                0,
                "cost in % of 100 process lists a second, most users",
                Measure::Cost(at("100 a second", Users::Most), at("none", Users::Most)),
                Aim::AtMost(1.0),
            )],
        }),
    },
    Experiment {
        name: "session-history",
        title: "the active session history: 1,000 sessions that select by key, and that wait for one row, sampled each second",
        rows: &[],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("OFF").sql(&["SET GLOBAL limpid_session_history = OFF", LAX]),
                Setting::named("ON").sql(&["SET GLOBAL limpid_session_history = ON", LAX]),
            ],
            workloads: &[Workload::PointSelect, Workload::UpdateHot],
            users: &[64, 1000],
            users_quick: &[1000],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    0,
                    "share of the sampling thread of the server's CPU in %, most users, point selects",
                    Measure::SessionSamplerShare(at("ON", Users::Most)),
                    Aim::AtMost(0.5),
                ),
                check(
                    0,
                    "the same, users that wait for one row",
                    Measure::SessionSamplerShare(at("ON", Users::Most).of(1)),
                    Aim::AtMost(0.5),
                ),
                check(
                    0,
                    "cost of the history in % of QPS, most users, point selects",
                    Measure::Cost(at("ON", Users::Most), at("OFF", Users::Most)),
                    Aim::None,
                ),
            ],
        }),
    },
];
