//! Metadata locks: shards, hash, transactions.

use super::{Aim, Cells, Experiment, Figure, Kind, Measure, Setting, Users, at, check};
use crate::workload::Workload;

const SHARED: &str = "SET GLOBAL limpid_mdl_fast_path = OFF";
const BY_ID: &str = "SET GLOBAL limpid_mdl_hash = id";
const BAD: &str = "SET GLOBAL limpid_mdl_hash = bad";
const SYNCH: &str = "SET GLOBAL limpid_instrument_level = synch";
const ONE: &[&str] = &["--metadata-locks-hash-instances=1"];
const EIGHT: &[&str] = &["--metadata-locks-hash-instances=8"];
const MANY: &[&str] = &["--metadata-locks-hash-instances=256"];
const ONE_OFF: &[&str] = &["--metadata-locks-hash-instances=1", "--performance-schema=OFF"];
const EIGHT_OFF: &[&str] = &["--metadata-locks-hash-instances=8", "--performance-schema=OFF"];
const OFF: &[&str] = &["--performance-schema=OFF"];

const AT_32: Users = Users::Are(32);

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "mdl-shards",
        title: "metadata locks in 1, 8, 256 shards, by a good hash and a bad one, beside none: point selects over 8 tables",
        rows: &[1, 2, 3, 4, 6, 7, 8, 9],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("no shard").sql(&[
                    "SET GLOBAL limpid_mdl_fast_path = ON",
                    BY_ID,
                    SYNCH,
                ]),
                Setting::named("8 shards").options(EIGHT).sql(&[SHARED, BY_ID, SYNCH]),
                Setting::named("1 shard").options(ONE).sql(&[SHARED, BY_ID, SYNCH]),
                Setting::named("256 shards").options(MANY).sql(&[SHARED, BY_ID, SYNCH]),
                Setting::named("8 shards, bad hash").options(EIGHT).sql(&[SHARED, BAD, SYNCH]),
                Setting::named("256 shards, bad hash").options(MANY).sql(&[SHARED, BAD, SYNCH]),
                Setting::named("no shard, P_S off").options(OFF),
                Setting::named("8 shards, P_S off").options(EIGHT_OFF).sql(&[SHARED, BY_ID]),
                Setting::named("1 shard, P_S off").options(ONE_OFF).sql(&[SHARED, BY_ID]),
            ],
            workloads: &[Workload::PointSelect],
            users: &[1, 8, 16, 32, 64, 128, 256],
            users_quick: &[1, 32],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    1,
                    "QPS of 8 shards by 1, 32 users",
                    Measure::Ratio(Figure::Qps, at("8 shards", AT_32), at("1 shard", AT_32)),
                    Aim::None,
                ),
                check(
                    1,
                    "QPS without shards by 1 shard, 32 users",
                    Measure::Ratio(Figure::Qps, at("no shard", AT_32), at("1 shard", AT_32)),
                    Aim::AtLeast(1.0),
                ),
                check(
                    1,
                    "wait-seconds a second for the shards' mutexes, none",
                    Measure::WaitSeconds(at("no shard", AT_32), "MDL_map"),
                    Aim::AtMost(0.001),
                ),
                check(
                    1,
                    "the same, 1 shard",
                    Measure::WaitSeconds(at("1 shard", AT_32), "MDL_map"),
                    Aim::None,
                ),
                check(
                    2,
                    "least by greatest QPS from 16 users on, no shard",
                    Measure::Flatness("no shard"),
                    Aim::AtLeast(0.95),
                ),
                check(2, "the same, 1 shard", Measure::Flatness("1 shard"), Aim::None),
                check(
                    3,
                    "P_S off: QPS of 8 shards by 1, 32 users",
                    Measure::Ratio(
                        Figure::Qps,
                        at("8 shards, P_S off", AT_32),
                        at("1 shard, P_S off", AT_32),
                    ),
                    Aim::None,
                ),
                check(
                    3,
                    "P_S off: QPS without shards by that of the peer, 32 users",
                    Measure::BesidePeer(Figure::Qps, at("no shard, P_S off", AT_32)),
                    Aim::AtLeast(1.0),
                ),
                check(
                    4,
                    "QPS without shards by that of the peer, 1 user",
                    Measure::BesidePeer(Figure::Qps, at("no shard", Users::Least)),
                    Aim::AtLeast(1.0),
                ),
                check(
                    6,
                    "largest by smallest count of 8 shards",
                    Measure::Balance(at("8 shards", AT_32), "mutex/sql/MDL_map"),
                    Aim::AtMost(1.2),
                ),
                check(
                    6,
                    "shards that are used, of 8",
                    Measure::Instances(at("8 shards", AT_32), "mutex/sql/MDL_map"),
                    Aim::None,
                ),
                check(
                    7,
                    "shards that are used, of 8, bad hash",
                    Measure::Instances(at("8 shards, bad hash", AT_32), "mutex/sql/MDL_map"),
                    Aim::None,
                ),
                check(
                    7,
                    "QPS of the bad hash by the good one, 8 shards, 32 users",
                    Measure::Ratio(
                        Figure::Qps,
                        at("8 shards, bad hash", AT_32),
                        at("8 shards", AT_32),
                    ),
                    Aim::None,
                ),
                check(
                    7,
                    "shards that are used, of 256",
                    Measure::Instances(at("256 shards", AT_32), "mutex/sql/MDL_map"),
                    Aim::None,
                ),
                check(
                    7,
                    "shards that are used, of 256, bad hash",
                    Measure::Instances(at("256 shards, bad hash", AT_32), "mutex/sql/MDL_map"),
                    Aim::None,
                ),
                check(
                    7,
                    "QPS of the bad hash by the good one, 256 shards, 32 users",
                    Measure::Ratio(
                        Figure::Qps,
                        at("256 shards, bad hash", AT_32),
                        at("256 shards", AT_32),
                    ),
                    Aim::None,
                ),
                check(
                    8,
                    "waits a second for latches of transactions, 8 shards",
                    Measure::Waits(at("8 shards", AT_32), "trx"),
                    Aim::None,
                ),
                check(
                    8,
                    "the same, 1 shard",
                    Measure::Waits(at("1 shard", AT_32), "trx"),
                    Aim::None,
                ),
                check(
                    8,
                    "their wait-seconds a second, 8 shards",
                    Measure::WaitSeconds(at("8 shards", AT_32), "trx"),
                    Aim::None,
                ),
                check(
                    8,
                    "the same, 1 shard",
                    Measure::WaitSeconds(at("1 shard", AT_32), "trx"),
                    Aim::None,
                ),
                check(
                    9,
                    "calls of instruments a second, 8 shards",
                    Measure::Waits(at("8 shards", AT_32), "wait/synch/"),
                    Aim::None,
                ),
                check(
                    9,
                    "the same without shards",
                    Measure::Waits(at("no shard", AT_32), "wait/synch/"),
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "mdl-transactions",
        title: "100 point selects in a transaction against autocommit and LOCK TABLES",
        rows: &[5],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("no shard").sql(&["SET GLOBAL limpid_mdl_fast_path = ON"]),
                Setting::named("8 shards").options(EIGHT).sql(&[SHARED, BY_ID]),
            ],
            workloads: &[
                Workload::PointSelect,
                Workload::PointSelect100,
                Workload::PointSelectLocked,
            ],
            users: &[1, 8, 32, 64, 256],
            users_quick: &[1, 32],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    5,
                    "QPS of 100 a transaction by autocommit, no shard",
                    Measure::Ratio(Figure::Qps, at("no shard", AT_32).of(1), at("no shard", AT_32)),
                    Aim::None,
                ),
                check(
                    5,
                    "the same, 8 shards",
                    Measure::Ratio(Figure::Qps, at("8 shards", AT_32).of(1), at("8 shards", AT_32)),
                    Aim::AtLeast(1.0),
                ),
                check(
                    5,
                    "QPS under LOCK TABLES by autocommit, no shard",
                    Measure::Ratio(Figure::Qps, at("no shard", AT_32).of(2), at("no shard", AT_32)),
                    Aim::None,
                ),
            ],
        }),
    },
];
