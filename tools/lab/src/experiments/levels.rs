//! What the Performance Schema costs: levels, builds, statistics of other kinds, the loop.

use super::{Aim, Cells, Experiment, Kind, Measure, Program, Setting, Users, at, check};
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
const OFF: &[&str] = &["--performance-schema=OFF"];
const AT: Users = Users::Are(32);

/// What `setting` costs beside `off`, in percent of QPS.
const fn cost(setting: &'static str, off: &'static str) -> Measure {
    Measure::Cost(at(setting, AT), at(off, AT))
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "pfs-levels",
        title: "six levels of the Performance Schema: one shard and default, client on the server's cores, beside them, on all",
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
                Setting::named("none, 1 shard").options(ONE).sql(&[SHARED, NONE]),
                Setting::named("def, 1 shard").options(ONE).sql(&[SHARED, DEF]),
                Setting::named("synch, 1 shard").options(ONE).sql(&[SHARED, SYNCH]),
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
                check(
                    10,
                    "cost of none in %, 1 shard",
                    cost("none, 1 shard", "off, 1 shard"),
                    Aim::AtMost(2.0),
                ),
                check(
                    10,
                    "cost of def in %, 1 shard",
                    cost("def, 1 shard", "off, 1 shard"),
                    Aim::AtMost(7.0),
                ),
                check(
                    10,
                    "cost of synch in %, 1 shard",
                    cost("synch, 1 shard", "off, 1 shard"),
                    Aim::AtMost(10.0),
                ),
                check(11, "cost of none in %", cost("none", "off"), Aim::AtMost(2.0)),
                check(11, "cost of tables in %", cost("tables", "off"), Aim::AtMost(3.0)),
                check(11, "cost of statements in %", cost("statements", "off"), Aim::AtMost(3.0)),
                check(11, "cost of def in %", cost("def", "off"), Aim::AtMost(4.5)),
                check(11, "cost of synch in %", cost("synch", "off"), Aim::AtMost(9.5)),
                check(
                    12,
                    "cost of none in %, client on the same cores",
                    cost("none, same cores", "off, same cores"),
                    Aim::AtMost(2.0),
                ),
                check(
                    12,
                    "cost of tables in %, the same",
                    cost("tables, same cores", "off, same cores"),
                    Aim::AtMost(4.7),
                ),
                check(
                    12,
                    "cost of statements in %, the same",
                    cost("statements, same cores", "off, same cores"),
                    Aim::AtMost(4.7),
                ),
                check(
                    12,
                    "cost of def in %, the same",
                    cost("def, same cores", "off, same cores"),
                    Aim::AtMost(6.5),
                ),
                check(
                    12,
                    "cost of synch in %, the same",
                    cost("synch, same cores", "off, same cores"),
                    Aim::AtMost(11.0),
                ),
                check(
                    13,
                    "cost of none in %, client on other cores",
                    cost("none, other cores", "off, other cores"),
                    Aim::AtMost(2.0),
                ),
                check(
                    13,
                    "cost of tables in %, the same",
                    cost("tables, other cores", "off, other cores"),
                    Aim::AtMost(4.0),
                ),
                check(
                    13,
                    "cost of statements in %, the same",
                    cost("statements, other cores", "off, other cores"),
                    Aim::AtMost(4.7),
                ),
                check(
                    13,
                    "cost of def in %, the same",
                    cost("def, other cores", "off, other cores"),
                    Aim::AtMost(6.0),
                ),
                check(
                    13,
                    "cost of synch in %, the same",
                    cost("synch, other cores", "off, other cores"),
                    Aim::AtMost(10.0),
                ),
                check(
                    14,
                    "cost of def in %, as Callaghan compared",
                    cost("def", "off"),
                    Aim::AtMost(10.0),
                ),
                check(
                    15,
                    "QPS of def without shards by off with 1 shard",
                    Measure::Ratio(super::Figure::Qps, at("def", AT), at("off, 1 shard", AT)),
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
                check(
                    16,
                    "cost of off in % beside the build without, 64 users",
                    Measure::Cost(at("off", Users::Are(64)), at("built without", Users::Are(64))),
                    Aim::AtMost(2.0),
                ),
                check(
                    16,
                    "cost of none in %",
                    Measure::Cost(at("none", Users::Are(64)), at("built without", Users::Are(64))),
                    Aim::AtMost(3.6),
                ),
                check(
                    16,
                    "cost of def in %",
                    Measure::Cost(at("def", Users::Are(64)), at("built without", Users::Are(64))),
                    Aim::AtMost(7.1),
                ),
                check(
                    16,
                    "cost of def in %, 256 users",
                    Measure::Cost(at("def", Users::Are(256)), at("built without", Users::Are(256))),
                    Aim::AtMost(7.1),
                ),
                check(
                    17,
                    "cost of tables in % beside the build without",
                    Measure::Cost(
                        at("tables", Users::Are(64)),
                        at("built without", Users::Are(64)),
                    ),
                    Aim::AtMost(5.0),
                ),
                check(
                    17,
                    "cost of statements in %",
                    Measure::Cost(
                        at("statements", Users::Are(64)),
                        at("built without", Users::Are(64)),
                    ),
                    Aim::AtMost(5.0),
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
                check(
                    19,
                    "cost of a shared latch for each command in %, 64 users",
                    Measure::Cost(
                        at("with the latch", Users::Are(64)),
                        at("without", Users::Are(64)),
                    ),
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
