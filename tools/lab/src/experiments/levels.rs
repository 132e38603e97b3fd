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

/// What a level costs beside "off", both named by the way that locks and cores are set.
macro_rules! level {
    ($row:literal, $level:literal, $way:literal, $aim:expr) => {
        cost(
            $row,
            concat!("cost of ", $level, " in %", $way),
            [concat!($level, $way), concat!("off", $way)],
            AT,
            $aim,
        )
    };
}

/// A level of a server whose metadata locks are in 1 shard.
const fn one(name: &'static str, sql: &'static [&'static str]) -> Setting {
    Setting::named(name).options(ONE).sql(sql)
}

/// The same, in 8 shards.
const fn eight(name: &'static str, sql: &'static [&'static str]) -> Setting {
    Setting::named(name).options(EIGHT).sql(sql)
}

/// No level: the schema is off.
const fn off(name: &'static str) -> Setting {
    Setting::named(name).options(OFF)
}

const fn eight_off(name: &'static str) -> Setting {
    Setting::named(name).options(EIGHT_OFF).sql(&[SHARED])
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "pfs-levels",
        title: "six levels of the Performance Schema: 1 shard, 8 and none; server and client on all cores, on the same half, the client beside or on all",
        rows: &[10, 11, 12, 13, 14, 15],
        kind: Kind::Cells(Cells {
            settings: &[
                off("off"),
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
                eight_off("off, 8 shards"),
                eight("none, 8 shards", &[SHARED, NONE]),
                eight("tables, 8 shards", &[SHARED, TABLES]),
                eight("statements, 8 shards", &[SHARED, STATEMENTS]),
                eight("def, 8 shards", &[SHARED, DEF]),
                eight("synch, 8 shards", &[SHARED, SYNCH]),
                eight_off("off, 8 shards, same cores").pin(Pin::Same),
                eight("none, 8 shards, same cores", &[SHARED, NONE]).pin(Pin::Same),
                eight("tables, 8 shards, same cores", &[SHARED, TABLES]).pin(Pin::Same),
                eight("statements, 8 shards, same cores", &[SHARED, STATEMENTS]).pin(Pin::Same),
                eight("def, 8 shards, same cores", &[SHARED, DEF]).pin(Pin::Same),
                eight("synch, 8 shards, same cores", &[SHARED, SYNCH]).pin(Pin::Same),
                eight_off("off, 8 shards, client on all").pin(Pin::Half),
                eight("none, 8 shards, client on all", &[SHARED, NONE]).pin(Pin::Half),
                eight("tables, 8 shards, client on all", &[SHARED, TABLES]).pin(Pin::Half),
                eight("statements, 8 shards, client on all", &[SHARED, STATEMENTS]).pin(Pin::Half),
                eight("def, 8 shards, client on all", &[SHARED, DEF]).pin(Pin::Half),
                eight("synch, 8 shards, client on all", &[SHARED, SYNCH]).pin(Pin::Half),
                off("off, same cores").pin(Pin::Same),
                Setting::named("none, same cores").sql(&[NONE]).pin(Pin::Same),
                Setting::named("tables, same cores").sql(&[TABLES]).pin(Pin::Same),
                Setting::named("statements, same cores").sql(&[STATEMENTS]).pin(Pin::Same),
                Setting::named("def, same cores").sql(&[DEF]).pin(Pin::Same),
                Setting::named("synch, same cores").sql(&[SYNCH]).pin(Pin::Same),
                off("off, other cores").pin(Pin::Apart),
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
                level!(10, "none", ", 1 shard", Aim::AtMost(2.0)),
                level!(10, "tables", ", 1 shard", Aim::None),
                level!(10, "statements", ", 1 shard", Aim::None),
                level!(10, "def", ", 1 shard", Aim::AtMost(7.0)),
                level!(10, "synch", ", 1 shard", Aim::AtMost(10.0)),
                level!(11, "none", ", 8 shards", Aim::AtMost(2.0)),
                level!(11, "tables", ", 8 shards", Aim::AtMost(3.0)),
                level!(11, "statements", ", 8 shards", Aim::AtMost(3.0)),
                level!(11, "def", ", 8 shards", Aim::AtMost(4.5)),
                level!(11, "synch", ", 8 shards", Aim::AtMost(9.5)),
                level!(11, "none", "", Aim::AtMost(2.0)),
                level!(11, "tables", "", Aim::AtMost(3.0)),
                level!(11, "statements", "", Aim::AtMost(3.0)),
                level!(11, "def", "", Aim::AtMost(4.5)),
                level!(11, "synch", "", Aim::AtMost(9.5)),
                level!(12, "none", ", 8 shards, same cores", Aim::AtMost(2.0)),
                level!(12, "tables", ", 8 shards, same cores", Aim::AtMost(4.7)),
                level!(12, "statements", ", 8 shards, same cores", Aim::AtMost(4.7)),
                level!(12, "def", ", 8 shards, same cores", Aim::AtMost(6.5)),
                level!(12, "synch", ", 8 shards, same cores", Aim::AtMost(11.0)),
                level!(12, "none", ", same cores", Aim::AtMost(2.0)),
                level!(12, "tables", ", same cores", Aim::AtMost(4.7)),
                level!(12, "statements", ", same cores", Aim::AtMost(4.7)),
                level!(12, "def", ", same cores", Aim::AtMost(6.5)),
                level!(12, "synch", ", same cores", Aim::AtMost(11.0)),
                level!(13, "none", ", 8 shards, client on all", Aim::AtMost(2.0)),
                level!(13, "tables", ", 8 shards, client on all", Aim::AtMost(4.0)),
                level!(13, "statements", ", 8 shards, client on all", Aim::AtMost(4.7)),
                level!(13, "def", ", 8 shards, client on all", Aim::AtMost(6.0)),
                level!(13, "synch", ", 8 shards, client on all", Aim::AtMost(10.0)),
                level!(13, "none", ", other cores", Aim::AtMost(2.0)),
                level!(13, "tables", ", other cores", Aim::AtMost(4.0)),
                level!(13, "statements", ", other cores", Aim::AtMost(4.7)),
                level!(13, "def", ", other cores", Aim::AtMost(6.0)),
                level!(13, "synch", ", other cores", Aim::AtMost(10.0)),
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
                off("off"),
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
