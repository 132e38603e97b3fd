//! What the texts do not have: one hot table, a pile-up, process lists, and what is not built yet.

use super::{Aim, Cells, Experiment, Figure, Kind, Measure, Setting, Users, at, check};
use crate::beside::Beside;
use crate::workload::Workload;

const AT: Users = Users::Are(64);

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
        name: "connection-locks",
        title: "cost of one connection's metadata locks by tables in a transaction",
        rows: &[],
        kind: Kind::Absent("not built yet: `cargo xtask bench locks` counts it by callgrind"),
    },
    Experiment {
        name: "latch-kinds",
        title: "spin, parking and read-optimised locks, one word against slots",
        rows: &[],
        kind: Kind::Absent("not built yet"),
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
];
