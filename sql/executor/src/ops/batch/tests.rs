//! Vectors and tests of stored rows against the evaluation of one row, over random rows and expressions.

#![allow(clippy::unwrap_used)] // tests

use super::super::pushed_predicate::PushedPredicate;
use super::super::tests::{Nobody, open, roomy};
use super::super::{Run, Statement};
use super::Batch;
use expr::tree::{Arithmetic, Column, Comparison, Expr, Truth};
use expr::vector::Program;
use expr::{Frame, LeafRow, OwnedDatum, Row};
use proptest::prelude::*;
use std::sync::Arc;
use value::{Collation, ColumnType, Date, DateTime, Datum, Decimal, Kind, RowLayout, TimeZone};

thread_local! {
    /// What a statement runs with.
    static FIXTURE: (engine::Client, catalog::TableCache) = open();
}

fn types() -> Vec<ColumnType> {
    let ints = [(Kind::TinyInt, false), (Kind::Int, false), (Kind::Int, true)];
    let large = [(Kind::BigInt, false), (Kind::BigInt, true)];
    let ints =
        ints.into_iter().chain(large).map(|(kind, unsigned)| ColumnType::int(kind, unsigned));
    let decimals = [(5, 2), (15, 2), (18, 0), (20, 6), (38, 30)];
    let decimals = decimals.map(|(p, s)| ColumnType::decimal(p, s));
    let rest = [ColumnType::double(), ColumnType::of(Kind::Date)];
    let more =
        [ColumnType::temporal(Kind::DateTime, 3), ColumnType::varchar(20, Collation::default())];
    let all = ints.chain(decimals).chain(rest).chain(more);
    all.enumerate().map(|(n, ty)| ColumnType { nullable: n % 3 > 0, ..ty }).collect()
}

/// A value of the type; small ones are common.
fn value(ty: &ColumnType, bits: i64) -> OwnedDatum {
    let v = if bits % 3 == 0 { bits } else { bits % 9 };
    let date = Date::new(1990 + (v.unsigned_abs() % 9) as u16, 1, 1).unwrap();
    match ty.kind {
        kind if kind.is_int() => {
            let unused = 64 - 8 * kind.int_bytes().unwrap() as u32;
            match ty.unsigned {
                true => OwnedDatum::UInt((v as u64) << unused >> unused),
                false => OwnedDatum::Int(v << unused >> unused),
            }
        }
        Kind::Decimal => {
            let wide = i128::from(v) * if bits % 5 == 0 { i128::from(bits) } else { 1 };
            OwnedDatum::Decimal(Decimal::from_i128(wide % 10i128.pow(ty.length), ty.decimals))
        }
        Kind::Double => OwnedDatum::Double(v as f64 * if bits % 7 == 0 { 1e300 } else { 0.5 }),
        Kind::Date => OwnedDatum::Date(date),
        Kind::DateTime => {
            let micros = v.unsigned_abs() % 3 * 1000;
            OwnedDatum::DateTime(DateTime::of_day(date, micros as i64, 3).unwrap())
        }
        _ => OwnedDatum::Bytes((v % 100).to_string().into_bytes()),
    }
}

fn any_constant() -> impl Strategy<Value = Expr> {
    let texts = ["7", "1991-01-01", "x", "-1"].map(|t| OwnedDatum::Bytes(t.into()));
    let decimal = |(v, scale): (i64, u8)| OwnedDatum::Decimal(Decimal::from_i128(v.into(), scale));
    let typed = (0..types().len(), any::<i64>()).prop_map(|(n, bits)| value(&types()[n], bits));
    prop_oneof![
        Just(OwnedDatum::Null),
        (-9i64..9).prop_map(OwnedDatum::Int),
        (-999i64..999, 0u8..5).prop_map(decimal),
        prop::sample::select(texts.to_vec()),
        typed,
    ]
    .prop_map(Expr::Const)
}

fn any_column() -> impl Strategy<Value = Expr> {
    (0..types().len()).prop_map(|n| Expr::Column(Column::first(n)))
}

fn any_number() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![3 => any_column(), 1 => any_constant()];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let op = prop::sample::select(vec![Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul]);
        (op, inner.clone(), inner).prop_map(|(op, a, b)| Expr::Arith(op, Box::new(a), Box::new(b)))
    })
}

fn any_condition() -> impl Strategy<Value = Expr> {
    use Comparison as C;
    let ops = vec![C::Eq, C::NullSafeEq, C::Ne, C::Lt, C::Le, C::Gt, C::Ge];
    let collation = Collation::default();
    let side = || prop_oneof![2 => any_column(), 3 => any_constant()];
    let compare = (prop::sample::select(ops), side(), side())
        .prop_map(move |(op, a, b)| Expr::Compare(op, Box::new(a), Box::new(b), collation));
    let list = prop::collection::vec(any_constant(), 1..4);
    let within =
        (any_column(), list).prop_map(move |(a, list)| Expr::In(Box::new(a), list, collation));
    let null = (any_column(), any::<bool>())
        .prop_map(|(a, negated)| Expr::Is(Box::new(a), Truth::Null, negated));
    prop_oneof![5 => compare, 1 => within, 1 => null].prop_recursive(3, 8, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        let both = two.prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        prop_oneof![
            both.clone().prop_map(|(a, b)| Expr::And(a, b)),
            both.prop_map(|(a, b)| Expr::Or(a, b)),
            inner.prop_map(|a| Expr::Not(Box::new(a))),
        ]
    })
}

fn any_rows() -> impl Strategy<Value = Vec<Vec<OwnedDatum>>> {
    let bits = prop::collection::vec((any::<i64>(), 0u8..5), types().len());
    let row = bits.prop_map(|bits| {
        let column = |((bits, null), ty): ((i64, u8), &ColumnType)| match null {
            0 if ty.nullable => OwnedDatum::Null,
            _ => value(ty, bits),
        };
        bits.into_iter().zip(&types()).map(column).collect()
    });
    prop::collection::vec(row, 0..70)
}

fn batch(rows: &[Vec<OwnedDatum>], layout: &RowLayout) -> Batch {
    let mut batch = Batch::default();
    for row in rows {
        let datums: Vec<Datum<'_>> = row.iter().map(OwnedDatum::datum).collect();
        let mut bytes = Vec::new();
        layout.encode(&datums, &mut bytes).unwrap();
        batch.push(&bytes);
    }
    batch
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn vectors_are_what_rows_come_to(rows in any_rows(), exprs in prop::collection::vec(any_number(), 1..4)) {
        let layout = RowLayout::new(&types());
        let batch = batch(&rows, &layout);
        let mut program = Program::new(0);
        let vectors: Vec<_> = exprs.iter().map(|e| program.add(e, &layout, &[])).collect();
        let ran = program.run(&layout, batch.rows(), batch.len());
        let mut env = Nobody(TimeZone::utc());
        let mut failed = false;
        for (e, vector) in exprs.iter().zip(vectors) {
            let Some(vector) = vector else { continue };
            for (n, row) in batch.rows().enumerate() {
                let wanted = expr::eval(e, &Row::one(&layout, row, &[]), &mut env);
                failed |= wanted.is_err();
                if ran {
                    let wanted = wanted.unwrap();
                    prop_assert_eq!(program.datum(vector, n), wanted.get(), "{:?}", e);
                }
            }
        }
        // An error is always seen beforehand.
        prop_assert!(!(ran && failed));
    }

    #[test]
    fn tests_hold_where_conditions_are_true(rows in any_rows(), condition in any_condition()) {
        let layout = Arc::new(RowLayout::new(&types()));
        FIXTURE.with(|(client, tables)| {
        let st = Statement::new(client, tables, &[], &[], roomy());
        let mut env = Nobody(TimeZone::utc());
        let mut run = Run { st: &st, env: &mut env, outer: None, subqueries: None, names: None };
        let mut predicate = PushedPredicate::new(Some(&condition), 0, &layout);
        let leaf = LeafRow { layout: Arc::clone(&layout), bytes: Vec::new(), null: false, key: Vec::new() };
        let mut frame = Frame { leaves: vec![leaf] };
        predicate.open(&mut run, &frame).unwrap();
        for row in batch(&rows, &layout).rows() {
            frame.leaves[0].bytes = row.to_vec();
            let pushed = predicate.holds(row).unwrap();
            let found = pushed && predicate.rest_holds(&mut run, &frame).unwrap();
            prop_assert_eq!(found, run.holds(&condition, &frame).unwrap(), "{:?}", condition);
        }
        Ok(())
        })?;
    }
}
