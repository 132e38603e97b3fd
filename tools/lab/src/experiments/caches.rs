//! The table cache: size, instances.

use super::{Aim, Cells, Experiment, Figure, Kind, Measure, Setting, Users, at, check};
use crate::workload::Workload;

const LOCAL: &str = "SET GLOBAL limpid_table_cache_local = ON";
const SHARED: &str = "SET GLOBAL limpid_table_cache_local = OFF";
const DEF: &str = "SET GLOBAL limpid_instrument_level = def";
const SYNCH: &str = "SET GLOBAL limpid_instrument_level = synch";
const ONE: &[&str] = &["--table-open-cache-instances=1"];
const MANY: &[&str] = &["--table-open-cache-instances=16"];
const SMALL: &str = "SET GLOBAL table_open_cache = 100";
const MIDDLE: &str = "SET GLOBAL table_open_cache = 400";
const LARGE: &str = "SET GLOBAL table_open_cache = 8000";
const AT_300: Users = Users::Are(300);
const AT_64: Users = Users::Are(64);

pub(super) const EXPERIMENTS: &[Experiment] = &[Experiment {
    name: "table-cache",
    title: "a table cache of 100, 400, 8000 handles, and of 1 and 16 instances: read-only transactions and point selects",
    rows: &[21, 22, 23, 24],
    kind: Kind::Cells(Cells {
        settings: &[
            Setting::named("8000").sql(&[LARGE]).resets(&[LOCAL, DEF]),
            Setting::named("400").sql(&[MIDDLE]).resets(&[LOCAL, DEF]),
            Setting::named("100").sql(&[SMALL]).resets(&[LOCAL, DEF]),
            Setting::named("1 instance, shared").options(ONE).sql(&[LARGE, SHARED, DEF]),
            Setting::named("16 instances, shared").options(MANY).sql(&[LARGE, SHARED, DEF]),
            Setting::named("100, 1 instance, shared").options(ONE).sql(&[SMALL, SHARED, DEF]),
            Setting::named("16 instances, shared, synch")
                .options(MANY)
                .sql(&[LARGE, SHARED, SYNCH]),
        ],
        workloads: &[Workload::ReadOnly, Workload::PointSelect],
        users: &[64, 150, 200, 250, 300, 350, 1024],
        users_quick: &[64, 300],
        tables: 8,
        rows: 100_000,
        checks: &[
            check(
                21,
                "QPS of 100 handles by 8000, 300 users, read-only",
                Measure::Ratio(Figure::Qps, at("100", AT_300), at("8000", AT_300)),
                Aim::AtLeast(0.8),
            ),
            check(
                21,
                "QPS of 400 handles by 8000, most users, read-only",
                Measure::Ratio(Figure::Qps, at("400", Users::Most), at("8000", Users::Most)),
                Aim::AtLeast(0.8),
            ),
            check(
                21,
                "QPS of 100 shared handles by 8000, 300 users, read-only",
                Measure::Ratio(
                    Figure::Qps,
                    at("100, 1 instance, shared", AT_300),
                    at("1 instance, shared", AT_300),
                ),
                Aim::None,
            ),
            check(
                21,
                "overflows a second, 100 handles, 300 users",
                Measure::StatusPerSecond(at("100", AT_300), "Table_open_cache_overflows"),
                Aim::None,
            ),
            check(
                21,
                "misses a second, 8000 handles, 300 users",
                Measure::StatusPerSecond(at("8000", AT_300), "Table_open_cache_misses"),
                Aim::None,
            ),
            check(
                22,
                "QPS of 16 shared instances by 1, 64 users, read-only",
                Measure::Ratio(
                    Figure::Qps,
                    at("16 instances, shared", AT_64),
                    at("1 instance, shared", AT_64),
                ),
                Aim::None,
            ),
            check(
                22,
                "QPS of handles of sessions by 16 shared instances, read-only",
                Measure::Ratio(Figure::Qps, at("8000", AT_64), at("16 instances, shared", AT_64)),
                Aim::AtLeast(1.0),
            ),
            check(
                22,
                "wait-seconds a second for the cache's mutexes, handles of sessions",
                Measure::WaitSeconds(at("8000", AT_64), "LOCK_table_cache"),
                Aim::AtMost(0.001),
            ),
            check(
                23,
                "QPS of 16 shared instances by 1, 64 users, point selects",
                Measure::Ratio(
                    Figure::Qps,
                    at("16 instances, shared", AT_64).of(1),
                    at("1 instance, shared", AT_64).of(1),
                ),
                Aim::None,
            ),
            check(
                23,
                "QPS of handles of sessions by 1 shared instance, point selects",
                Measure::Ratio(
                    Figure::Qps,
                    at("8000", AT_64).of(1),
                    at("1 instance, shared", AT_64).of(1),
                ),
                Aim::AtLeast(1.0),
            ),
            check(
                24,
                "cost of synch in %, 16 shared instances, point selects",
                Measure::Cost(
                    at("16 instances, shared, synch", AT_64).of(1),
                    at("16 instances, shared", AT_64).of(1),
                ),
                Aim::AtMost(10.0),
            ),
        ],
    }),
}];
