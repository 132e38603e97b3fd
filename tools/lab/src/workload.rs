//! What is driven: sysbench's workloads, our rendition of dbStress, a queue, one transaction at a time.
//!
//! 1. A workload is a list of steps; a step is one prepared statement, done some times with parameters of its own. 2. Ids are uniform.
//! 3. Prepared statements are the rule; `PointSelectText`, `Insert` (as sysbench's) and the dbStress transactions' frames go as text.

use client::{Client, Failure, Parameter, Statement};
use stdx::rng::Rng;

/// A kind of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// One select by key, prepared.
    PointSelect,
    /// The same as text.
    PointSelectText,
    /// The same of the first table alone.
    PointSelectHot,
    /// 100 selects by key in a transaction.
    #[value(name = "point-select-100")]
    PointSelect100,
    /// One select by key under LOCK TABLES ... READ of all tables.
    PointSelectLocked,
    /// All columns of a row of the first table by key.
    StarSelect,
    /// sysbench's read-only transaction: 10 selects by key, four kinds of ranges.
    ReadOnly,
    /// sysbench's read-write transaction.
    ReadWrite,
    /// The same with one select and no ranges.
    LessRead,
    /// 100 rows by a range of keys.
    RangeSimple,
    /// Their sum.
    RangeSum,
    /// The rows in another order.
    RangeOrder,
    /// Each value once.
    RangeDistinct,
    /// An update of an indexed column by key.
    UpdateIndex,
    /// An update of another column by key.
    UpdateNonIndex,
    /// An update of one row by all.
    UpdateHot,
    /// sysbench's four writes in a transaction.
    WriteOnly,
    /// Rows of the first table by ten values of an index.
    RandomPoints,
    /// How many there are in ten ranges of it.
    RandomRanges,
    /// A new row, as text.
    Insert,
    /// A row less, as long as there are any.
    Delete,
    /// Every other user puts jobs at the tail of a queue, the others take them from its head.
    Queue,
    /// dbStress: two reads of an object.
    StressRead,
    /// dbStress: the same, then a transaction that changes the object's history.
    StressReadWrite,
}

/// A step of a transaction: a statement, and how often it is done.
struct Step {
    /// SQL with `{t}` for the table; `?` are filled by `fill`.
    sql: &'static str,
    times: u32,
    fill: Fill,
}

/// What the parameters of a statement are.
#[derive(Clone, Copy)]
enum Fill {
    Id,
    /// The id that all have.
    First,
    /// A hundred ids from one on.
    Range,
    /// A text of 119 bytes, an id.
    TextAndId,
    /// The id of the transaction's deleted row, a number, two texts.
    Row,
    /// The id that `Row` puts in again.
    Same,
    /// The object of the transaction.
    Object,
    /// The object, and one of its history's numbers.
    ObjectAndOrder,
    /// Ten values of the index.
    Points,
    /// Both ends of ten ranges of it.
    Ranges,
    /// There are none.
    None,
}

const fn step(sql: &'static str, times: u32, fill: Fill) -> Step {
    Step { sql, times, fill }
}

const POINT: &str = "SELECT c FROM {t} WHERE id = ?";
const RANGE: &str = "SELECT c FROM {t} WHERE id BETWEEN ? AND ?";
const SUM: &str = "SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?";
const ORDER: &str = "SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c";
const DISTINCT: &str = "SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c";
const UPDATE_INDEX: &str = "UPDATE {t} SET k = k + 1 WHERE id = ?";
const UPDATE_TEXT: &str = "UPDATE {t} SET c = ? WHERE id = ?";
const DELETE: &str = "DELETE FROM {t} WHERE id = ?";
const INSERT_AGAIN: &str = "INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)";
const POINTS: &str = "SELECT id, k, c, pad FROM {t} WHERE k IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const RANGES: &str = "SELECT COUNT(k) FROM {t} WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ? \
    OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? \
    OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ?";
const PUT: &str =
    "INSERT INTO queue (made, job) VALUES (UNIX_TIMESTAMP() % 1000000, REPEAT('j', 100))";
const TAKE: &str = "DELETE FROM queue ORDER BY id LIMIT 1";
const OBJECT: &str = "SELECT o.ref, o.name, o.note, s.name, z.name FROM object o \
    JOIN section s ON s.ref = o.ref_section JOIN zone z ON z.ref = s.ref_zone WHERE o.ref = ?";
const HISTORY: &str = "SELECT h.horder, h.begin_date, h.end_date, h.note, s.name FROM history h \
    JOIN stat s ON s.ref = h.ref_stat WHERE h.ref_object = ? ORDER BY h.horder";
const FORGET: &str = "DELETE FROM history WHERE ref_object = ? AND horder = ?";
const REMEMBER: &str = "INSERT INTO history (ref_object, horder, ref_stat, begin_date, end_date, note) \
    VALUES (?, ?, '001', NOW(), NOW(), 'changed')";
const CORRECT: &str = "UPDATE history SET note = 'read again' WHERE ref_object = ? AND horder = ?";

const READS: [Step; 5] = [
    step(POINT, 10, Fill::Id),
    step(RANGE, 1, Fill::Range),
    step(SUM, 1, Fill::Range),
    step(ORDER, 1, Fill::Range),
    step(DISTINCT, 1, Fill::Range),
];
const WRITES: [Step; 4] = [
    step(UPDATE_INDEX, 1, Fill::Id),
    step(UPDATE_TEXT, 1, Fill::TextAndId),
    step(DELETE, 1, Fill::Same),
    step(INSERT_AGAIN, 1, Fill::Row),
];
const STRESS_READS: [Step; 2] = [step(OBJECT, 1, Fill::Object), step(HISTORY, 1, Fill::Object)];
const STRESS_WRITES: [Step; 3] = [
    step(FORGET, 1, Fill::ObjectAndOrder),
    step(REMEMBER, 1, Fill::ObjectAndOrder),
    step(CORRECT, 1, Fill::ObjectAndOrder),
];

/// Rows of a range.
const RANGE_ROWS: u64 = 100;
/// Values, or ranges, of a statement with several, and how far the ends of such a range lie apart.
const SEVERAL: usize = 10;
const RANGE_OF_INDEX: i64 = 5;
/// Records of an object in dbStress's history.
pub const HISTORY_ROWS: u64 = 20;

impl Workload {
    /// Its name on the command line.
    pub fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map_or_else(String::new, |v| v.get_name().into())
    }

    /// It runs over dbStress's tables.
    pub fn is_stress(self) -> bool {
        matches!(self, Workload::StressRead | Workload::StressReadWrite)
    }

    /// Afterwards sysbench's tables have more rows, or less.
    pub fn changes_rows(self) -> bool {
        matches!(self, Workload::Insert | Workload::Delete)
    }

    /// The script of sysbench that does the same, and its options; `None` where there is none.
    pub fn sysbench(self) -> Option<(&'static str, &'static [&'static str])> {
        Some(match self {
            Workload::PointSelect => ("oltp_point_select", &[]),
            Workload::PointSelectText => ("oltp_point_select", &["--db-ps-mode=disable"]),
            Workload::PointSelectHot => ("oltp_point_select", &["--tables=1"]),
            Workload::PointSelect100 => {
                ("oltp_read_only", &["--point_selects=100", "--range_selects=off"])
            }
            Workload::ReadOnly => ("oltp_read_only", &[]),
            Workload::ReadWrite => ("oltp_read_write", &[]),
            Workload::LessRead => {
                ("oltp_read_write", &["--point_selects=1", "--range_selects=off"])
            }
            Workload::UpdateIndex => ("oltp_update_index", &[]),
            Workload::UpdateNonIndex => ("oltp_update_non_index", &[]),
            Workload::WriteOnly => ("oltp_write_only", &[]),
            Workload::RandomPoints => ("select_random_points", &["--tables=1"]),
            Workload::RandomRanges => ("select_random_ranges", &["--tables=1"]),
            Workload::Insert => ("oltp_insert", &[]),
            Workload::Delete => ("oltp_delete", &[]),
            _ => return None,
        })
    }

    /// The steps of a user, by its number.
    fn steps(self, user: usize) -> Vec<Step> {
        match self {
            Workload::PointSelectText | Workload::Insert => Vec::new(),
            Workload::PointSelect | Workload::PointSelectHot | Workload::PointSelectLocked => {
                vec![step(POINT, 1, Fill::Id)]
            }
            Workload::PointSelect100 => vec![step(POINT, 100, Fill::Id)],
            Workload::StarSelect => vec![step("SELECT * FROM {t} WHERE id = ?", 1, Fill::Id)],
            Workload::ReadOnly => READS.into(),
            Workload::ReadWrite => READS.into_iter().chain(WRITES).collect(),
            Workload::LessRead => std::iter::once(step(POINT, 1, Fill::Id)).chain(WRITES).collect(),
            Workload::RangeSimple => vec![step(RANGE, 1, Fill::Range)],
            Workload::RangeSum => vec![step(SUM, 1, Fill::Range)],
            Workload::RangeOrder => vec![step(ORDER, 1, Fill::Range)],
            Workload::RangeDistinct => vec![step(DISTINCT, 1, Fill::Range)],
            Workload::UpdateIndex => vec![step(UPDATE_INDEX, 1, Fill::Id)],
            Workload::UpdateNonIndex => vec![step(UPDATE_TEXT, 1, Fill::TextAndId)],
            Workload::UpdateHot => vec![step(UPDATE_INDEX, 1, Fill::First)],
            Workload::WriteOnly => WRITES.into(),
            Workload::RandomPoints => vec![step(POINTS, 1, Fill::Points)],
            Workload::RandomRanges => vec![step(RANGES, 1, Fill::Ranges)],
            Workload::Delete => vec![step(DELETE, 1, Fill::Id)],
            Workload::Queue if user.is_multiple_of(2) => vec![step(PUT, 1, Fill::None)],
            Workload::Queue => vec![step(TAKE, 1, Fill::None)],
            Workload::StressRead => STRESS_READS.into(),
            Workload::StressReadWrite => STRESS_READS.into_iter().chain(STRESS_WRITES).collect(),
        }
    }

    /// The step before which the transaction begins; `None`: each statement is one.
    fn begins_before(self) -> Option<usize> {
        match self {
            Workload::PointSelect100
            | Workload::ReadOnly
            | Workload::ReadWrite
            | Workload::LessRead
            | Workload::WriteOnly => Some(0),
            Workload::StressReadWrite => Some(STRESS_READS.len()),
            _ => None,
        }
    }

    fn is_of_one_table(self) -> bool {
        use Workload::{PointSelectHot, RandomPoints, RandomRanges, StarSelect, UpdateHot};
        matches!(self, PointSelectHot | StarSelect | UpdateHot | RandomPoints | RandomRanges)
            || self.is_stress()
    }
}

/// A server does not prepare statements of this kind.
const NOT_PREPARED: u16 = 1295;

/// The begin or the end of a transaction: prepared, where the server does that, as sysbench's are.
struct Verb {
    text: &'static str,
    prepared: Option<Statement>,
}

impl Verb {
    fn of(text: &'static str, client: &mut Client) -> Result<Verb, Failure> {
        match client.prepare(text) {
            Ok(statement) => Ok(Verb { text, prepared: Some(statement) }),
            Err(failure) if failure.number == NOT_PREPARED => Ok(Verb { text, prepared: None }),
            Err(failure) => Err(failure),
        }
    }

    fn say(&mut self, client: &mut Client) -> Result<(), Failure> {
        match &mut self.prepared {
            Some(statement) => client.execute(statement, &[]).map(drop),
            None => client.run(self.text).map(drop),
        }
    }
}

/// A user: a connection with its statements.
pub struct User {
    client: Client,
    workload: Workload,
    steps: Vec<Step>,
    begin: Verb,
    commit: Verb,
    /// By step, then by table.
    prepared: Vec<Vec<Statement>>,
    tables: u64,
    rows: u64,
    rng: Rng,
    text: String,
}

impl User {
    /// Uses the schema and prepares what the workload needs of the user with this number.
    ///
    /// # Errors
    /// The server's.
    pub fn new(
        mut client: Client,
        workload: Workload,
        number: usize,
        [tables, rows]: [u32; 2],
        seed: u64,
    ) -> Result<User, Failure> {
        client.run(&format!("USE {}", crate::data::SCHEMA))?;
        let tables = if workload.is_of_one_table() { 1 } else { tables };
        let steps = workload.steps(number);
        let mut prepared = Vec::new();
        for step in &steps {
            let of_table = |n| step.sql.replace("{t}", &crate::data::table(n));
            let with_tables = if step.sql.contains("{t}") { tables } else { 1 };
            prepared.push(
                (1..=with_tables)
                    .map(|n| client.prepare(&of_table(n)))
                    .collect::<Result<_, _>>()?,
            );
        }
        if workload == Workload::PointSelectLocked {
            let each: Vec<String> =
                (1..=tables).map(|n| format!("{} READ", crate::data::table(n))).collect();
            client.run(&format!("LOCK TABLES {}", each.join(", ")))?;
        }
        let (tables, rows) = (u64::from(tables), u64::from(rows));
        let begin = Verb::of("BEGIN", &mut client)?;
        let commit = Verb::of("COMMIT", &mut client)?;
        Ok(User {
            client,
            begin,
            commit,
            workload,
            steps,
            prepared,
            tables,
            rows,
            rng: Rng::new(seed),
            text: String::new(),
        })
    }

    /// Does one transaction; how many queries that was.
    ///
    /// # Errors
    /// The server's. The transaction is then still open: [`User::give_up`].
    pub fn transact(&mut self) -> Result<u64, Failure> {
        if matches!(self.workload, Workload::PointSelectText | Workload::Insert) {
            return self.as_text();
        }
        let begins = self.workload.begins_before();
        let (id, order) = (self.id(), self.rng.below(HISTORY_ROWS));
        let mut queries = 0;
        for place in 0..self.steps.len() {
            if begins == Some(place) {
                self.begin.say(&mut self.client)?;
                queries += 1;
            }
            // All of a step are of one table, as sysbench's are; a row that is deleted is put into the same table again.
            let tables = self.prepared[place].len() as u64;
            let table = match self.steps[place].fill {
                Fill::Row | Fill::Same => id as u64 % tables,
                _ => self.rng.below(tables),
            };
            for _ in 0..self.steps[place].times {
                self.statement(place, table as usize, id, order)?;
                queries += 1;
            }
        }
        if begins.is_some() {
            self.commit.say(&mut self.client)?;
            queries += 1;
        }
        Ok(queries)
    }

    /// Takes a failed transaction back.
    ///
    /// # Errors
    /// The server's.
    pub fn give_up(&mut self) -> Result<(), Failure> {
        self.client.run("ROLLBACK").map(drop)
    }

    fn id(&mut self) -> i64 {
        self.rng.below(self.rows) as i64 + 1
    }

    fn as_text(&mut self) -> Result<u64, Failure> {
        let table = crate::data::table(self.rng.below(self.tables) as u32 + 1);
        let number = self.id();
        let sql = if self.workload == Workload::Insert {
            crate::data::text(&mut self.rng, &mut self.text);
            let (c, pad) = (&self.text, &self.text[..59]);
            format!("INSERT INTO {table} (id, k, c, pad) VALUES (0, {number}, '{c}', '{pad}')")
        } else {
            format!("SELECT c FROM {table} WHERE id = {number}")
        };
        self.client.run(&sql).map(|_| 1)
    }

    fn statement(
        &mut self,
        place: usize,
        table: usize,
        own_id: i64,
        order: u64,
    ) -> Result<(), Failure> {
        use Parameter::{Int, Text};
        let (fill, id) = (self.steps[place].fill, self.id());
        match fill {
            Fill::TextAndId | Fill::Row => {
                crate::data::text(&mut self.rng, &mut self.text);
            }
            Fill::Object | Fill::ObjectAndOrder => {
                self.text.clear();
                crate::data::object(own_id as u64 - 1, &mut self.text);
            }
            _ => {}
        }
        let several = self.several(fill);
        let pad = self.text.get(..59).unwrap_or_default();
        let (text, k) = (self.text.as_str(), self.rng.below(self.rows) as i64);
        let parameters: &[Parameter<'_>] = match fill {
            Fill::Id => &[Int(id)],
            Fill::First => &[Int(1)],
            Fill::Same => &[Int(own_id)],
            Fill::Range => &[Int(id), Int(id + RANGE_ROWS as i64 - 1)],
            Fill::TextAndId => &[Text(text), Int(id)],
            Fill::Row => &[Int(own_id), Int(k), Text(text), Text(pad)],
            Fill::Object => &[Text(text)],
            Fill::ObjectAndOrder => &[Text(text), Int(order as i64)],
            Fill::Points | Fill::Ranges => several.as_slice(),
            Fill::None => &[],
        };
        self.client.execute(&mut self.prepared[place][table], parameters).map(drop)
    }

    /// Parameters of a statement with several values or ranges of the index; none for any other.
    fn several(&mut self, fill: Fill) -> Vec<Parameter<'static>> {
        use Parameter::Int;
        let ends = |from: i64| [Int(from), Int(from + RANGE_OF_INDEX)];
        match fill {
            Fill::Points => (0..SEVERAL).map(|_| Int(self.id())).collect(),
            Fill::Ranges => (0..SEVERAL).flat_map(|_| ends(self.id())).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn statements_have_as_many_parameters_as_are_filled() {
        let filled = |fill: Fill| match fill {
            Fill::None => 0,
            Fill::Id | Fill::First | Fill::Same | Fill::Object => 1,
            Fill::Range | Fill::TextAndId | Fill::ObjectAndOrder => 2,
            Fill::Row => 4,
            Fill::Points => SEVERAL,
            Fill::Ranges => 2 * SEVERAL,
        };
        for workload in Workload::value_variants() {
            for step in [0, 1].into_iter().flat_map(|user| workload.steps(user)) {
                assert_eq!(step.sql.matches('?').count(), filled(step.fill), "{}", step.sql);
            }
        }
        let words = |user: usize| Workload::Queue.steps(user)[0].sql.split(' ').next();
        assert_eq!([0, 1, 2].map(words), [Some("INSERT"), Some("DELETE"), Some("INSERT")]);
    }
}
