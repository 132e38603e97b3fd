//! Operators over small plans in memory, each with room for all rows and with next to none.

#![allow(clippy::unwrap_used)] // tests

use super::Statement;
use super::block::Block;
use super::sorter::Sorter;
use super::store::RowStore;
use crate::memory::Budget;
use crate::{Environment, SqlError, WarningLevel};
use catalog::{Catalog, ProcessRow, ServerList, SessionOrder, TableCache, Viewer};
use engine::{Client, Engine, EngineConfig};
use expr::OwnedDatum;
use expr::aggregate::{Aggregate, AggregateCall};
use expr::build::Settings;
use expr::tree::{Arithmetic, Column, Comparison, Expr, Quantified, Typed};
use host::SimDisk;
use parser::ast::SetOperator;
use planner::plan::{Output, ResultColumn, SortKey};
use planner::query_plan::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::Deadline;
use value::{Collation, ColumnType, ConvertMode, Kind, TimeZone};

pub struct Nobody(pub TimeZone);

impl Viewer for Nobody {
    fn list(&self, _: ServerList) -> Vec<(String, String)> {
        Vec::new()
    }
    fn account(&self) -> String {
        String::new()
    }
    fn each_process(&self, _: SessionOrder, _: &mut dyn FnMut(&ProcessRow)) {}
}

impl expr::Variables for Nobody {
    fn user_variable_type(&self, _: &str) -> Option<value::ColumnType> {
        None
    }
    fn system_variable_type(&self, _: &str) -> Option<value::ColumnType> {
        None
    }
}

impl Environment for Nobody {
    fn database(&self) -> Option<&str> {
        None
    }
    fn user(&self) -> String {
        String::new()
    }
    fn version(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u64 {
        0
    }
    fn strict(&self) -> bool {
        false
    }
    fn memory_bytes(&self) -> (u64, u64) {
        (17 << 20, 1 << 30)
    }
    fn convert_mode(&self) -> ConvertMode<'_> {
        ConvertMode::new(false, &self.0)
    }
    fn zero_is_a_value(&self) -> bool {
        false
    }
    fn set_lenient(&mut self, _: bool) {}
    fn warning_count(&self) -> u64 {
        0
    }
    fn sql_mode(&self) -> u64 {
        0
    }
    fn time_zone(&self) -> &TimeZone {
        &self.0
    }
    fn random(&mut self) -> f64 {
        0.5
    }
    fn seeded_random(&mut self, _: usize, _: u32) -> f64 {
        0.5
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn count_matched_rows(&self) -> bool {
        false
    }
    fn system_variable(&self, _: bool, name: &str) -> Result<OwnedDatum, SqlError> {
        match name {
            "cte_max_recursion_depth" => Ok(OwnedDatum::UInt(50)),
            name => Err(SqlError::unsupported(name)),
        }
    }
    fn user_variable(&self, _: &str) -> Option<&expr::UserVariable> {
        None
    }
    fn set_user_variable(&mut self, _: &str, _: expr::UserVariable) {}
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn row_count(&self) -> i64 {
        0
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn lock_deadline(&self) -> Deadline {
        Deadline::after(std::time::Duration::from_secs(1))
    }
    fn connection_collation(&self) -> Collation {
        Collation::Utf8mb4_0900AiCi
    }
    fn server_collation(&self) -> Collation {
        Collation::Utf8mb4_0900AiCi
    }
    fn now_us(&self) -> i64 {
        0
    }
    fn sleep(&mut self, _: f64) -> bool {
        true
    }
    fn warn(&mut self, _: WarningLevel, _: u16, _: String) {}
}

pub fn open() -> (Client, TableCache) {
    let config = EngineConfig {
        pool_bytes: 8 << 20,
        system_tables: catalog::system_tables(),
        ..EngineConfig::default()
    };
    let (engine, _) = Engine::open(config, SimDisk::new(1)).unwrap();
    let mdl = Arc::new(mdl::Mdl::new(Arc::clone(engine.slots())));
    let catalog = Catalog::open(Arc::clone(&engine), mdl).unwrap();
    (engine.client().unwrap(), TableCache::new(catalog))
}

pub fn roomy() -> Arc<Budget> {
    Budget::new(1 << 30, 1 << 30)
}

fn narrow() -> Arc<Budget> {
    Budget::new(16 << 10, 1 << 30)
}

type Row = Vec<OwnedDatum>;

fn run_with(plan: &QueryPlan, budget: Arc<Budget>) -> Result<Vec<Row>, SqlError> {
    let (client, tables) = open();
    let st = Statement::new(&client, &tables, &[], &[], budget);
    let mut env = Nobody(TimeZone::utc());
    let mut block = Block::new(plan, &st, false)?;
    block.open(&st, &mut env, None)?;
    let mut rows = Vec::new();
    while block.next(&st, &mut env, None)? {
        let row = block.look(&st, &mut env, None, |run, frame| {
            let outputs = plan.outputs.iter();
            outputs.map(|o| Ok(run.eval(&o.value.expr, frame)?.into_owned())).collect()
        })?;
        rows.push(row);
    }
    Ok(rows)
}

/// The rows of a plan, which are the same with memory for all rows and with next to none.
fn rows(plan: &QueryPlan) -> Vec<Row> {
    let mut roomy = run_with(plan, roomy()).unwrap();
    let mut narrow = run_with(plan, narrow()).unwrap();
    if !matches!(plan.root, Node::Sort { .. }) {
        let by_text = |row: &Row| format!("{row:?}");
        roomy.sort_by_key(by_text);
        narrow.sort_by_key(by_text);
    }
    assert_eq!(roomy, narrow);
    roomy
}

fn int() -> ColumnType {
    ColumnType::int(Kind::BigInt, false)
}

fn text() -> ColumnType {
    ColumnType::varchar(200, Collation::Utf8mb4_0900AiCi)
}

fn column(leaf: u16, column: u16) -> Expr {
    Expr::Column(Column { depth: 0, leaf, column })
}

fn outputs(values: &[Typed]) -> Vec<Output> {
    let output =
        |v: &Typed| Output { value: v.clone(), column: ResultColumn::computed("x", v.ty, 0) };
    values.iter().map(output).collect()
}

fn number(leaf: u16, n: u16) -> Typed {
    Typed::new(column(leaf, n), int())
}

fn made(types: Vec<ColumnType>) -> LeafDef {
    let needed = (0..types.len()).collect();
    LeafDef { name: "t".into(), layout: LeafLayout::Made(types), needed, keyed: false }
}

fn plan(root: Node, leaves: Vec<LeafDef>, values: &[Typed]) -> QueryPlan {
    let outputs = outputs(values);
    QueryPlan { root, leaves, outputs, subplans: Vec::new(), outer_depth: 0 }
}

/// Rows (n, n % modulus or NULL where that is 0, padding).
fn numbers(leaf: u16, count: i64, modulus: i64) -> Node {
    let row = |n: i64| {
        let rest =
            if n % modulus == 0 { Expr::Const(OwnedDatum::Null) } else { Expr::int(n % modulus) };
        vec![Expr::int(n), rest, Expr::Const(OwnedDatum::Bytes(vec![b'x'; 100]))]
    };
    Node::Values { leaf, rows: (0..count).map(row).collect() }
}

fn columns() -> LeafDef {
    made(vec![int(), int(), text()])
}

#[test]
fn stores_and_sorters_move_their_rows_to_a_file_and_give_all_of_them_back() {
    let (client, tables) = open();
    let st = Statement::new(&client, &tables, &[], &[], narrow());
    let mut store = RowStore::new(&st);
    let mut sorter = Sorter::new(&st, None);
    let row = |n: u32| vec![n as u8; 1 + n as usize % 90];
    for n in 0..20_000u32 {
        store.push(&st, &row(n)).unwrap();
        sorter.add(&st, &(n.wrapping_mul(2_654_435_761)).to_be_bytes(), &n.to_le_bytes()).unwrap();
    }
    sorter.finish(&st).unwrap();
    assert!(store.is_spilled() && sorter.is_spilled());
    let (mut key, mut out) = (Vec::new(), Vec::new());
    for n in (0..20_000u32).rev().chain([7, 3999, 0]) {
        store.get(n as usize, &mut out).unwrap();
        assert_eq!(out, row(n));
    }
    assert!(store.get(20_000, &mut out).is_err());
    let (mut seen, mut last) = (0, Vec::new());
    while sorter.next(&mut key, &mut out).unwrap() {
        assert!(last < key);
        last.clone_from(&key);
        seen += 1;
    }
    assert_eq!(seen, 20_000);
}

#[test]
fn a_sort_is_stable_and_its_first_rows_are_those_of_all() {
    let key = SortKey { value: number(0, 1), descending: true };
    let sort =
        |limit| Node::Sort { input: Box::new(numbers(0, 3000, 7)), keys: vec![key.clone()], limit };
    let values = [number(0, 1), number(0, 0)];
    let all = rows(&plan(sort(None), vec![columns()], &values));
    assert_eq!(all.len(), 3000);
    assert_eq!(all[0], [OwnedDatum::Int(6), OwnedDatum::Int(6)]);
    assert_eq!(all[1], [OwnedDatum::Int(6), OwnedDatum::Int(13)]);
    // NULL is last when descending.
    assert_eq!(all[2999][0], OwnedDatum::Null);
    let first = plan(sort(Some((Expr::int(3), Expr::int(10)))), vec![columns()], &values);
    assert_eq!(rows(&first)[..13], all[..13]);
}

#[test]
fn joins_by_hash_and_by_loops_agree_in_every_kind() {
    let keys = vec![JoinKey {
        probe: number(0, 1),
        build: number(1, 1),
        collation: Collation::Binary,
        null_safe: false,
        tested: None,
        is_of_columns: true,
    }];
    let less = Expr::Compare(
        Comparison::Lt,
        Box::new(column(0, 0)),
        Box::new(column(1, 0)),
        Collation::Binary,
    );
    let equal = Expr::Compare(
        Comparison::Eq,
        Box::new(column(0, 1)),
        Box::new(column(1, 1)),
        Collation::Binary,
    );
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let both = matches!(kind, JoinKind::Inner | JoinKind::Left);
        let mut values = vec![number(0, 0)];
        if both {
            values.push(number(1, 0));
        }
        let (few, many) = (60, 1500);
        let hash = Node::HashJoin {
            kind,
            probe: Box::new(numbers(0, few, 20)),
            build: Box::new(numbers(1, many, 300)),
            keys: keys.clone(),
            on: Some(less.clone()),
        };
        let loops = Node::Join {
            kind,
            outer: Box::new(numbers(0, few, 20)),
            inner: Box::new(numbers(1, many, 300)),
            on: Some(Expr::And(Box::new(equal.clone()), Box::new(less.clone()))),
        };
        let leaves = || vec![columns(), columns()];
        let by_hash = rows(&plan(hash, leaves(), &values));
        assert_eq!(by_hash, rows(&plan(loops, leaves(), &values)), "{kind:?}");
        assert!(!by_hash.is_empty());
    }
}

fn aggregate(function: &'static Aggregate, argument: Typed) -> AggregateCall {
    AggregateCall {
        function,
        distinct: false,
        arguments: vec![argument],
        order_by: Vec::new(),
        separator: Vec::new(),
        ty: int(),
        collation: Collation::Binary,
        settings: Settings::default(),
    }
}

fn group(input: Node, leaf: u16, keys: Vec<Typed>, strategy: GroupStrategy, rollup: bool) -> Node {
    let aggregates = vec![
        aggregate(&expr::aggregate::COUNT, number(0, 1)),
        aggregate(&expr::aggregate::MAX, number(0, 0)),
    ];
    Node::Group(Box::new(Group {
        input,
        leaf,
        keys,
        aggregates,
        strategy,
        rollup,
        ends: Vec::new(),
    }))
}

#[test]
fn groups_are_the_same_in_a_hash_table_in_files_and_side_by_side() {
    let by = Typed::new(
        Expr::Arith(Arithmetic::Mod, Box::new(column(0, 0)), Box::new(Expr::int(900))),
        int(),
    );
    let leaves = || vec![columns(), made(vec![int(), int(), int()])];
    let values = [number(1, 0), number(1, 1), number(1, 2)];
    let hash = group(numbers(0, 4000, 3), 1, vec![by.clone()], GroupStrategy::Hash, false);
    let sorted = Node::Sort {
        input: Box::new(numbers(0, 4000, 3)),
        keys: vec![SortKey { value: by.clone(), descending: false }],
        limit: None,
    };
    let sorted = group(sorted, 1, vec![by], GroupStrategy::Sorted, false);
    let by_hash = rows(&plan(hash, leaves(), &values));
    assert_eq!(by_hash.len(), 900);
    assert_eq!(by_hash, rows(&plan(sorted, leaves(), &values)));
}

#[test]
fn one_group_is_there_without_rows_and_rollup_sums_up_every_level() {
    let leaves = || vec![columns(), made(vec![int(), int(), int(), int(), int()])];
    let single = group(numbers(0, 0, 3), 1, Vec::new(), GroupStrategy::Single, false);
    let values = [number(1, 0), number(1, 1)];
    let two = vec![columns(), made(vec![int(), int()])];
    let alone = rows(&plan(single, two, &values));
    assert_eq!(alone, [[OwnedDatum::Int(0), OwnedDatum::Null]]);
    let input = numbers(0, 4, 2);
    let keys = vec![number(0, 1), number(0, 0)];
    let sorted = Node::Sort {
        input: Box::new(input),
        keys: keys.iter().map(|k| SortKey { value: k.clone(), descending: false }).collect(),
        limit: None,
    };
    let rolled = group(sorted, 1, keys, GroupStrategy::Sorted, true);
    let values = [number(1, 0), number(1, 1), number(1, 2), number(1, 4)];
    let found = run_with(&plan(rolled, leaves(), &values), roomy()).unwrap();
    let numbers: Vec<Vec<Option<i64>>> =
        found.iter().map(|row| row.iter().map(|v| v.datum().as_i64()).collect()).collect();
    let expected: Vec<Vec<Option<i64>>> = vec![
        vec![None, Some(0), Some(0), Some(0)],
        vec![None, Some(2), Some(0), Some(0)],
        vec![None, None, Some(0), Some(1)],
        vec![Some(1), Some(1), Some(1), Some(0)],
        vec![Some(1), Some(3), Some(1), Some(0)],
        vec![Some(1), None, Some(2), Some(1)],
        vec![None, None, Some(2), Some(2)],
    ];
    assert_eq!(numbers, expected);
}

#[test]
fn distinct_and_set_operations_take_nulls_for_equal_and_count_with_all() {
    let distinct = Node::Distinct {
        input: Box::new(numbers(0, 4000, 700)),
        keys: vec![number(0, 1)],
        sorted: false,
    };
    assert_eq!(rows(&plan(distinct, vec![columns()], &[number(0, 1)])).len(), 700);
    let input = |count, modulus| plan(numbers(0, count, modulus), vec![columns()], &[number(0, 1)]);
    let mut sizes = BTreeMap::new();
    for (name, op) in [
        ("except", SetOperator::Except),
        ("intersect", SetOperator::Intersect),
        ("union", SetOperator::Union),
    ] {
        for all in [false, true] {
            let inputs = vec![input(3000, 600), input(900, 450)];
            let root = Node::SetOp { leaf: 0, op, all, inputs };
            let found = rows(&plan(root, vec![made(vec![int()])], &[number(0, 0)]));
            sizes.insert((name, all), found.len());
        }
    }
    // 600 different values five times each, among them 450 twice each.
    let expected = [
        (("except", false), 150),
        (("except", true), 2100),
        (("intersect", false), 450),
        (("intersect", true), 900),
        (("union", false), 600),
        (("union", true), 3900),
    ];
    assert_eq!(sizes, BTreeMap::from(expected));
}

#[test]
fn without_a_first_row_intersect_and_except_ask_no_other_query() {
    let beyond = |column: Expr| {
        Expr::Arith(Arithmetic::Add, Box::new(column), Box::new(Expr::int(i64::MAX)))
    };
    for (count, fails) in [(0, false), (5, true)] {
        for op in [SetOperator::Intersect, SetOperator::Except] {
            let first = plan(numbers(0, count, 5), vec![columns()], &[number(0, 1)]);
            let failing = [Typed::new(beyond(column(0, 1)), int())];
            let second = plan(numbers(0, 5, 5), vec![columns()], &failing);
            let root = Node::SetOp { leaf: 0, op, all: false, inputs: vec![first, second] };
            let found = run_with(&plan(root, vec![made(vec![int()])], &[number(0, 0)]), narrow());
            assert_eq!(found.is_err(), fails, "{op:?} after {count} rows");
        }
    }
}

#[test]
fn a_recursion_ends_when_nothing_is_added_or_with_error_3636() {
    let run = |end: i64| {
        let next = Expr::Arith(Arithmetic::Add, Box::new(column(0, 0)), Box::new(Expr::int(1)));
        let below = Expr::Compare(
            Comparison::Lt,
            Box::new(column(0, 0)),
            Box::new(Expr::int(end)),
            Collation::Binary,
        );
        let working =
            Node::Working { leaf: 0, recursion: 3, columns: Vec::new(), filter: Some(below) };
        let step = plan(working, vec![made(vec![int()])], &[Typed::new(next, int())]);
        let seed = plan(Node::One, Vec::new(), &[Typed::new(Expr::int(1), int())]);
        let (seeds, steps) = (vec![seed], vec![step]);
        let columns = vec![catalog::ColumnDef::new("n", int())];
        let root =
            Node::Recursive { leaf: 0, recursion: 3, seeds, steps, distinct: false, columns };
        run_with(&plan(root, vec![made(vec![int()])], &[number(0, 0)]), narrow())
    };
    assert_eq!(run(40).unwrap().len(), 40);
    assert_eq!(run(60).unwrap_err().parts().0, 3636);
}

#[test]
fn in_and_not_in_follow_three_valued_logic() {
    let rows_of = |values: &[Option<i64>]| {
        let row = |v: &Option<i64>| vec![v.map_or(Expr::Const(OwnedDatum::Null), Expr::int)];
        let values = Node::Values { leaf: 0, rows: values.iter().map(row).collect() };
        plan(values, vec![made(vec![int()])], &[number(0, 0)])
    };
    let ask = |left: Option<i64>, right: &[Option<i64>], op, all, correlated| {
        let left = vec![left.map_or(Expr::Const(OwnedDatum::Null), Expr::int)];
        let asked = Quantified { op, all, left, subplan: 0, collations: vec![Collation::Binary] };
        let value = Typed::new(Expr::Quantified(Box::new(asked)), int());
        let mut plan = plan(Node::One, Vec::new(), &[value]);
        let kind = SubplanKind::Quantified;
        plan.subplans = vec![Subplan { query: rows_of(right), kind, correlated, depends: None }];
        rows(&plan)[0][0].datum().as_i64()
    };
    use Comparison::{Eq, Ge, Ne};
    for correlated in [false, true] {
        let c = correlated;
        assert_eq!(ask(Some(2), &[Some(1), Some(2), None], Eq, false, c), Some(1));
        assert_eq!(ask(Some(3), &[Some(1), Some(2)], Eq, false, c), Some(0));
        assert_eq!(ask(Some(3), &[Some(1), None], Eq, false, c), None);
        assert_eq!(ask(None, &[Some(1)], Eq, false, c), None);
        assert_eq!(ask(None, &[], Eq, false, c), Some(0));
        assert_eq!(ask(Some(3), &[Some(1), None], Ne, true, c), None);
        assert_eq!(ask(Some(1), &[Some(1), None], Ne, true, c), Some(0));
        assert_eq!(ask(None, &[], Ne, true, c), Some(1));
        assert_eq!(ask(Some(5), &[Some(5), Some(4)], Ge, true, c), Some(1));
        assert_eq!(ask(Some(4), &[Some(5), None], Ge, true, c), Some(0));
    }
}
