//! What the Performance Schema costs: levels, builds, statistics of other kinds, the loop.

use super::{
    Aim, Cells, Check, Experiment, Figure, Kind, Measure, Program, Setting, Users, at, check,
};
use crate::pin::Pin;
use crate::workload::Workload;

const SHARED: &str = "SET GLOBAL limpid_mdl_fast_path = OFF";
const NONE: &str = "SET GLOBAL limpid_instrument_level = none";
const TABLES: &str = "SET GLOBAL limpid_instrument_level = tables";
const STATEMENTS: &str = "SET GLOBAL limpid_instrument_level = statements";
const DEF: &str = "SET GLOBAL limpid_instrument_level = def";
const SYNCH: &str = "SET GLOBAL limpid_instrument_level = synch";
const ONE: &[&str] = &["--metadata-locks-hash-instances=1"];
const ONE_OFF: &[&str] = &["--metadata-locks-hash-instances=1", "--performance-schema=OFF"];
const EIGHT: &[&str] = &["--metadata-locks-hash-instances=8"];
const EIGHT_OFF: &[&str] = &["--metadata-locks-hash-instances=8", "--performance-schema=OFF"];
const OFF: &[&str] = &["--performance-schema=OFF"];
const AT: Users = Users::Are(32);
const AT_64: Users = Users::Are(64);
const AT_256: Users = Users::Are(256);

/// What a setting costs beside another one, in percent of QPS.
const fn cost(
    row: u8,
    what: &'static str,
    [setting, off]: [&'static str; 2],
    users: Users,
    aim: Aim,
) -> Check {
    check(row, what, Measure::Cost(at(setting, users), at(off, users)), aim)
}

/// A level of a server whose metadata locks are in 1 shard.
const fn one(name: &'static str, sql: &'static [&'static str]) -> Setting {
    Setting::named(name).options(ONE).sql(sql)
}

/// The same, in 8 shards.
const fn eight(name: &'static str, sql: &'static [&'static str]) -> Setting {
    Setting::named(name).options(EIGHT).sql(sql)
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "pfs-levels",
        title: "six levels of the Performance Schema: 1 shard, 8 and none, client on the server's cores, beside them, on all",
        rows: &[10, 11, 12, 13, 14, 15],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("off").options(OFF),
                Setting::named("none").sql(&[NONE]),
                Setting::named("tables").sql(&[TABLES]),
                Setting::named("statements").sql(&[STATEMENTS]),
                Setting::named("def").sql(&[DEF]),
                Setting::named("synch").sql(&[SYNCH]),
                Setting::named("off, 1 shard").options(ONE_OFF).sql(&[SHARED]),
                one("none, 1 shard", &[SHARED, NONE]),
                one("tables, 1 shard", &[SHARED, TABLES]),
                one("statements, 1 shard", &[SHARED, STATEMENTS]),
                one("def, 1 shard", &[SHARED, DEF]),
                one("synch, 1 shard", &[SHARED, SYNCH]),
                Setting::named("off, 8 shards").options(EIGHT_OFF).sql(&[SHARED]),
                eight("none, 8 shards", &[SHARED, NONE]),
                eight("tables, 8 shards", &[SHARED, TABLES]),
                eight("statements, 8 shards", &[SHARED, STATEMENTS]),
                eight("def, 8 shards", &[SHARED, DEF]),
                eight("synch, 8 shards", &[SHARED, SYNCH]),
                Setting::named("off, same cores").options(OFF).pin(Pin::Same),
                Setting::named("none, same cores").sql(&[NONE]).pin(Pin::Same),
                Setting::named("tables, same cores").sql(&[TABLES]).pin(Pin::Same),
                Setting::named("statements, same cores").sql(&[STATEMENTS]).pin(Pin::Same),
                Setting::named("def, same cores").sql(&[DEF]).pin(Pin::Same),
                Setting::named("synch, same cores").sql(&[SYNCH]).pin(Pin::Same),
                Setting::named("off, other cores").options(OFF).pin(Pin::Apart),
                Setting::named("none, other cores").sql(&[NONE]).pin(Pin::Apart),
                Setting::named("tables, other cores").sql(&[TABLES]).pin(Pin::Apart),
                Setting::named("statements, other cores").sql(&[STATEMENTS]).pin(Pin::Apart),
                Setting::named("def, other cores").sql(&[DEF]).pin(Pin::Apart),
                Setting::named("synch, other cores").sql(&[SYNCH]).pin(Pin::Apart),
            ],
            workloads: &[Workload::PointSelect],
            users: &[8, 32, 64, 256],
            users_quick: &[32],
            tables: 8,
            rows: 100_000,
            checks: &[
                cost(
                    10,
                    "cost of none in %, 1 shard",
                    ["none, 1 shard", "off, 1 shard"],
                    AT,
                    Aim::AtMost(2.0),
                ),
                cost(
                    10,
                    "cost of tables in %, 1 shard",
                    ["tables, 1 shard", "off, 1 shard"],
                    AT,
                    Aim::None,
                ),
                cost(
                    10,
                    "cost of statements in %, 1 shard",
                    ["statements, 1 shard", "off, 1 shard"],
                    AT,
                    Aim::None,
                ),
                cost(
                    10,
                    "cost of def in %, 1 shard",
                    ["def, 1 shard", "off, 1 shard"],
                    AT,
                    Aim::AtMost(7.0),
                ),
                cost(
                    10,
                    "cost of synch in %, 1 shard",
                    ["synch, 1 shard", "off, 1 shard"],
                    AT,
                    Aim::AtMost(10.0),
                ),
                cost(
                    11,
                    "cost of none in %, 8 shards",
                    ["none, 8 shards", "off, 8 shards"],
                    AT,
                    Aim::AtMost(2.0),
                ),
                cost(
                    11,
                    "cost of tables in %, 8 shards",
                    ["tables, 8 shards", "off, 8 shards"],
                    AT,
                    Aim::AtMost(3.0),
                ),
                cost(
                    11,
                    "cost of statements in %, 8 shards",
                    ["statements, 8 shards", "off, 8 shards"],
                    AT,
                    Aim::AtMost(3.0),
                ),
                cost(
                    11,
                    "cost of def in %, 8 shards",
                    ["def, 8 shards", "off, 8 shards"],
                    AT,
                    Aim::AtMost(4.5),
                ),
                cost(
                    11,
                    "cost of synch in %, 8 shards",
                    ["synch, 8 shards", "off, 8 shards"],
                    AT,
                    Aim::AtMost(9.5),
                ),
                cost(11, "cost of none in %, no shard", ["none", "off"], AT, Aim::AtMost(2.0)),
                cost(11, "cost of tables in %, no shard", ["tables", "off"], AT, Aim::AtMost(3.0)),
                cost(
                    11,
                    "cost of statements in %, no shard",
                    ["statements", "off"],
                    AT,
                    Aim::AtMost(3.0),
                ),
                cost(11, "cost of def in %, no shard", ["def", "off"], AT, Aim::AtMost(4.5)),
                cost(11, "cost of synch in %, no shard", ["synch", "off"], AT, Aim::AtMost(9.5)),
                cost(
                    12,
                    "cost of none in %, client on the same cores",
                    ["none, same cores", "off, same cores"],
                    AT,
                    Aim::AtMost(2.0),
                ),
                cost(
                    12,
                    "cost of tables in %, client on the same cores",
                    ["tables, same cores", "off, same cores"],
                    AT,
                    Aim::AtMost(4.7),
                ),
                cost(
                    12,
                    "cost of statements in %, client on the same cores",
                    ["statements, same cores", "off, same cores"],
                    AT,
                    Aim::AtMost(4.7),
                ),
                cost(
                    12,
                    "cost of def in %, client on the same cores",
                    ["def, same cores", "off, same cores"],
                    AT,
                    Aim::AtMost(6.5),
                ),
                cost(
                    12,
                    "cost of synch in %, client on the same cores",
                    ["synch, same cores", "off, same cores"],
                    AT,
                    Aim::AtMost(11.0),
                ),
                cost(
                    13,
                    "cost of none in %, client on other cores",
                    ["none, other cores", "off, other cores"],
                    AT,
                    Aim::AtMost(2.0),
                ),
                cost(
                    13,
                    "cost of tables in %, client on other cores",
                    ["tables, other cores", "off, other cores"],
                    AT,
                    Aim::AtMost(4.0),
                ),
                cost(
                    13,
                    "cost of statements in %, client on other cores",
                    ["statements, other cores", "off, other cores"],
                    AT,
                    Aim::AtMost(4.7),
                ),
                cost(
                    13,
                    "cost of def in %, client on other cores",
                    ["def, other cores", "off, other cores"],
                    AT,
                    Aim::AtMost(6.0),
                ),
                cost(
                    13,
                    "cost of synch in %, client on other cores",
                    ["synch, other cores", "off, other cores"],
                    AT,
                    Aim::AtMost(10.0),
                ),
                cost(
                    14,
                    "cost of def in %, as Callaghan compared",
                    ["def", "off"],
                    AT,
                    Aim::AtMost(10.0),
                ),
                check(
                    15,
                    "QPS of def with 8 shards by off with 1 shard",
                    Measure::Ratio(Figure::Qps, at("def, 8 shards", AT), at("off, 1 shard", AT)),
                    Aim::AtLeast(1.0),
                ),
                check(
                    15,
                    "the same, def without shards",
                    Measure::Ratio(Figure::Qps, at("def", AT), at("off, 1 shard", AT)),
                    Aim::AtLeast(1.0),
                ),
            ],
        }),
    },
    Experiment {
        name: "pfs-builds",
        title: "builds without instruments beside off, none, tables, statements, def, with 64 and 256 users",
        rows: &[16, 17],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("built without").build("bare"),
                Setting::named("built without latches").build("no-latches").sql(&[DEF]),
                Setting::named("off").options(OFF),
                Setting::named("none").sql(&[NONE]),
                Setting::named("tables").sql(&[TABLES]),
                Setting::named("statements").sql(&[STATEMENTS]),
                Setting::named("def").sql(&[DEF]),
                Setting::named("synch").sql(&[SYNCH]),
            ],
            workloads: &[Workload::PointSelect],
            users: &[64, 256],
            users_quick: &[64],
            tables: 8,
            rows: 100_000,
            checks: &[
                cost(
                    16,
                    "cost of off in % beside the build without, 64 users",
                    ["off", "built without"],
                    AT_64,
                    Aim::AtMost(2.0),
                ),
                cost(
                    16,
                    "cost of none in % beside the build without, 64 users",
                    ["none", "built without"],
                    AT_64,
                    Aim::AtMost(3.6),
                ),
                cost(
                    16,
                    "cost of def in % beside the build without, 64 users",
                    ["def", "built without"],
                    AT_64,
                    Aim::AtMost(7.1),
                ),
                cost(
                    16,
                    "cost of def in % beside the build without, 256 users",
                    ["def", "built without"],
                    AT_256,
                    Aim::AtMost(7.1),
                ),
                cost(
                    17,
                    "cost of tables in % beside the build without, 64 users",
                    ["tables", "built without"],
                    AT_64,
                    Aim::AtMost(5.0),
                ),
                cost(
                    17,
                    "cost of statements in % beside the build without, 64 users",
                    ["statements", "built without"],
                    AT_64,
                    Aim::AtMost(5.0),
                ),
                cost(
                    17,
                    "cost of tables in % beside the build without, 256 users",
                    ["tables", "built without"],
                    AT_256,
                    Aim::AtMost(5.4),
                ),
                cost(
                    17,
                    "cost of statements in % beside the build without, 256 users",
                    ["statements", "built without"],
                    AT_256,
                    Aim::AtMost(7.2),
                ),
            ],
        }),
    },
    Experiment {
        name: "shared-counter",
        title: "a latch that every command takes, as statistics under a mutex would: the negative control",
        rows: &[18, 19],
        kind: Kind::Cells(Cells {
            settings: &[
                Setting::named("without").resets(&["SET GLOBAL limpid_grant_lock = OFF"]),
                Setting::named("with the latch").sql(&["SET GLOBAL limpid_grant_lock = ON"]),
                // MariaDB and Percona have it; elsewhere both are skipped and named.
                Setting::named("userstat OFF").sql(&["SET GLOBAL userstat = OFF"]),
                Setting::named("userstat ON").sql(&["SET GLOBAL userstat = ON"]),
            ],
            workloads: &[Workload::PointSelect],
            users: &[1, 8, 32, 64, 256],
            users_quick: &[1, 64],
            tables: 8,
            rows: 100_000,
            checks: &[
                check(
                    18,
                    "statistics of Facebook's patch",
                    Measure::Not("no such patch is here; its figure is a constant of the text"),
                    Aim::None,
                ),
                cost(
                    19,
                    "cost of a shared latch for each command in %, 64 users",
                    ["with the latch", "without"],
                    AT_64,
                    Aim::None,
                ),
                cost(
                    19,
                    "cost of userstat in %, 64 users",
                    ["userstat ON", "userstat OFF"],
                    AT_64,
                    Aim::None,
                ),
            ],
        }),
    },
    Experiment {
        name: "pfs-loop",
        title: "a loop of four levels with calls of instruments, in all cases of the text",
        rows: &[20],
        kind: Kind::Own(Program::Loop),
    },
];
