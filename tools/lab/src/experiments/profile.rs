//! Where the time goes: shared paths forced against default, and the share of each kind of wait.

use super::{Aim, Cells, Experiment, Figure, Kind, Measure, Setting, Users, at, check};
use crate::beside::Beside;
use crate::workload::Workload;

const DEFAULT: &[&str] = &[
    "SET GLOBAL limpid_mdl_fast_path = ON",
    "SET GLOBAL limpid_table_cache_local = ON",
    "SET GLOBAL limpid_grant_lock = OFF",
];
const FORCED: &[&str] = &[
    "SET GLOBAL limpid_mdl_fast_path = OFF",
    "SET GLOBAL limpid_table_cache_local = OFF",
    "SET GLOBAL limpid_grant_lock = ON",
];
const MEASURED: &[&str] = &[
    "SET GLOBAL limpid_mdl_fast_path = ON",
    "SET GLOBAL limpid_table_cache_local = ON",
    "SET GLOBAL limpid_grant_lock = OFF",
    "SET GLOBAL limpid_instrument_level = synch",
];
const SINGLE: &[&str] = &["--metadata-locks-hash-instances=1", "--table-open-cache-instances=1"];
const AT: Users = Users::Are(32);

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "shared-paths",
        title: "SELECT * by key with every shared path forced (one shard, one table cache, a latch of grants) against default",
        rows: &[34],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("default").options(SINGLE).resets(DEFAULT),
                Setting::named("every shared path").options(SINGLE).sql(FORCED),
            ],
            workloads: &[Workload::StarSelect],
            users: &[1, 2, 4, 8, 16, 32, 64, 128, 256],
            users_quick: &[2, 32],
            tables: 1,
            rows: 100_000,
            checks: &[
                check(
                    34,
                    "QPS of default by every shared path, 32 users",
                    Measure::Ratio(Figure::Qps, at("default", AT), at("every shared path", AT)),
                    Aim::AtLeast(1.0),
                ),
                check(
                    34,
                    "the same, most users",
                    Measure::Ratio(
                        Figure::Qps,
                        at("default", Users::Most),
                        at("every shared path", Users::Most),
                    ),
                    Aim::AtLeast(1.0),
                ),
                check(
                    34,
                    "server CPU a query of default by every shared path, 32 users",
                    Measure::Ratio(
                        Figure::ServerCpu,
                        at("default", AT),
                        at("every shared path", AT),
                    ),
                    Aim::AtMost(1.0),
                ),
                check(
                    34,
                    "QPS of default, most users by 2",
                    Measure::Ratio(
                        Figure::Qps,
                        at("default", Users::Most),
                        at("default", Users::Are(2)),
                    ),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "profile",
        title: "share of the time in each kind of lock, and of the kernel, while SELECT * by key runs",
        rows: &[35, 36, 37, 38, 39, 40],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("synch").sql(MEASURED),
                Setting::named("traced").resets(DEFAULT).beside(Beside::Trace),
            ],
            workloads: &[Workload::StarSelect],
            users: &[32],
            users_quick: &[32],
            tables: 1,
            rows: 100_000,
            checks: &[
                check(
                    35,
                    "there are no plugins; share of all latches' waits of the users' time",
                    Measure::LatchShare(at("synch", AT)),
                    Aim::AtMost(0.01),
                ),
                check(
                    36,
                    "wait-seconds a second for the latch of grants",
                    Measure::WaitSeconds(at("synch", AT), "LOCK_grant"),
                    Aim::AtMost(0.01),
                ),
                check(
                    37,
                    "wait-seconds a second for metadata locks, which stand for thr_lock",
                    Measure::WaitSeconds(at("synch", AT), "MDL"),
                    Aim::AtMost(0.01),
                ),
                check(
                    38,
                    "system calls of a query, of all kinds",
                    Measure::SystemCalls(at("traced", AT)),
                    Aim::None,
                ),
                check(
                    39,
                    "wait-seconds a second for the list of connections",
                    Measure::WaitSeconds(at("synch", AT), "connected"),
                    Aim::AtMost(0.01),
                ),
                check(
                    40,
                    "share of the kernel, the network's, of the server's CPU, in %",
                    Measure::KernelShare(at("synch", AT)),
                    Aim::AtLeast(50.0),
                ),
                check(
                    40,
                    "allocations of a query",
                    Measure::Allocations(at("synch", AT)),
                    Aim::AtMost(0.1),
                ),
            ],
        }),
    },
];
