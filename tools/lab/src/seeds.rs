//! The figures of the literature that the experiments stand for: 40 rows.
//!
//! Five texts of 2008 to 2013: [1] Kravtchuk on metadata locks and the Performance Schema's cost in MySQL 5.6, [2] the same on why
//! instruments cost, [3] Ronström on MySQL 5.5, [4] Kravtchuk on the table cache, [5] McCullagh on tuning PBXT on two cores. Numbers alone are taken over.

/// A figure of the literature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// 1 to 40.
    pub number: u8,
    /// Text, 1 to 5.
    pub text: u8,
    /// What it is about.
    pub claim: &'static str,
    /// What was measured then.
    pub figure: &'static str,
}

const fn row(number: u8, text: u8, claim: &'static str, figure: &'static str) -> Row {
    Row { number, text, claim, figure }
}

/// All of them, by number.
pub const ROWS: [Row; 40] = [
    row(1, 1, "metadata lock partitions 8 against 1, 32 users", "210K against 185K QPS: 1.135"),
    row(
        2,
        1,
        "the same from 8 to 256 users",
        "8: a stable 210K from 16 users on; 1: 200K at the end",
    ),
    row(
        3,
        1,
        "without the Performance Schema: 8 partitions, 1, MySQL 5.5",
        "230K, 220K, 205K: 1.045, 1.12",
    ),
    row(4, 1, "the newer server beside the older by users", "ahead from 16 users on"),
    row(5, 1, "100 selects in a transaction against autocommit", "250K against 230K: 1.087"),
    row(6, 1, "balance of 8 partitions", "counts 2.77M to 3.00M: largest by smallest 1.09"),
    row(7, 1, "skew of the hash", "8 tables in one partition; 256 partitions helped"),
    row(8, 1, "wait time of trx_sys in both runs", "the same seconds, other numbers of waits"),
    row(9, 1, "calls of instruments", "several million a second"),
    row(10, 1, "cost of the Performance Schema, 1 partition", "none 2 %, default 7 %, synch 10 %"),
    row(
        11,
        1,
        "the same, 8 partitions",
        "none 2 %, tables 3 %, statements 3 %, default 4.5 %, synch 9.5 %",
    ),
    row(12, 1, "the same, client on the server's cores", "none 2 %, default 6.5 %, synch 11 %"),
    row(13, 1, "the same, client on all cores", "none 2 %, default 6 %, synch 10 %"),
    row(14, 1, "default against off, as Callaghan measured it", "10 %"),
    row(15, 1, "default with 8 partitions against off with 1", "the same (220K)"),
    row(
        16,
        2,
        "built without, off, none, default",
        "64 users 250, 249, 245, 240K; 256 users 280, 275, 270, 260K",
    ),
    row(17, 2, "tables alone, statements alone", "240, 240K with 64 users; 265, 260K with 256"),
    row(18, 2, "statistics of Facebook's patch against the default", "the same, at most 8 %"),
    row(19, 2, "Percona's userstat = 1", "more than 30 % lost"),
    row(20, 2, "the loop with instruments", "off +4 %, none +6.6 %, third level timed 2.94 times"),
    row(
        21,
        4,
        "table_open_cache = 100 and more users",
        "stable up to 250 users, falls from 300 on",
    ),
    row(22, 4, "table cache instances 1 to 16, read-only", "+10 %"),
    row(23, 4, "table cache instances 1 to 16, point selects", "+15 to 20 %"),
    row(24, 4, "instruments of mutexes in these runs", "10 %"),
    row(
        25,
        3,
        "read-write with few reads, 4 to 16 cores",
        "a chart up to 12,000 TPS, values unreadable",
    ),
    row(26, 3, "mutex of the log", "350K acquisitions a second, held 75 % of the time"),
    row(27, 3, "mutex of the buffer pool", "700K a second, 50 %"),
    row(28, 3, "mutex of the rollback segment", "20K a second, 25 %"),
    row(29, 3, "rollback segments", "1 became 128"),
    row(30, 3, "recovery", "7 hours became 14 minutes"),
    row(31, 3, "deletes, more data than memory, changes buffered", "50 a second became 8,000"),
    row(32, 3, "a thread of its own for purge", "steadier"),
    row(33, 3, "dbStress on 12 to 32 cores", "a chart up to 35,000 TPS"),
    row(
        34,
        5,
        "SELECT by key on two cores, shared paths removed",
        "more than 60 % gained with 32 threads and more",
    ),
    row(35, 5, "LOCK_plugin", "60 and 94.7 % of the time of two functions"),
    row(36, 5, "LOCK_grant", "50 and 45.6 %"),
    row(37, 5, "thr_lock and thr_unlock", "51.7 and 44.5 %"),
    row(38, 5, "calls of setschedparam", "17, then 52.6 %"),
    row(39, 5, "LOCK_thread_count, LOCK_alarm", "96.1, 99.5 %"),
    row(40, 5, "the last profile", "network 58.6 %, engine 7.6 %, allocator 32.2 %"),
];

/// The row of a number.
pub fn row_of(number: u8) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.number == number)
}
