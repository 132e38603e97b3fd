//! Vectors and tests of stored rows against the evaluation of one row, over random rows and expressions.

#![allow(clippy::unwrap_used)] // tests

use super::super::pushed_predicate::PushedPredicate;
use super::super::tests::{Nobody, open, roomy};
use super::super::{Run, Statement};
use super::Batch;
use expr::tree::{Arithmetic, CallSite, Column, Comparison, Expr, Extra, Truth};
use expr::vector::Program;
use expr::{Frame, LeafRow, OwnedDatum, Row};
use proptest::prelude::*;
use std::cmp::Ordering;
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

/// A call as it is built for arguments that need no conversion.
fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let ty = ColumnType::int(Kind::BigInt, false);
    let function = expr::functions::find(name).unwrap();
    let types = vec![ty; arguments.len()];
    let collation = Collation::default();
    Expr::Call(Box::new(CallSite { function, arguments, types, ty, collation, extra: Extra::None }))
}

/// A value as one of the type that several have.
fn alike(value: Expr, ty: ColumnType) -> Expr {
    let function = &expr::functions::AS_ALIKE;
    let (types, collation) = (vec![ty], Collation::default());
    let arguments = vec![value];
    Expr::Call(Box::new(CallSite { function, arguments, types, ty, collation, extra: Extra::None }))
}

fn alike_type() -> impl Strategy<Value = ColumnType> {
    let decimals = [(12, 2), (15, 4), (22, 2), (30, 8)].map(|(p, s)| ColumnType::decimal(p, s));
    let ints = [false, true].map(|unsigned| ColumnType::int(Kind::BigInt, unsigned));
    prop::sample::select(decimals.into_iter().chain(ints).collect::<Vec<_>>())
}

fn any_number() -> impl Strategy<Value = Expr> {
    let parts = ["year", "quarter", "month", "day", "dayofmonth"].map(str::to_string);
    let date = types().iter().position(|ty| ty.kind == Kind::Date).unwrap();
    let part = prop::sample::select(parts.to_vec())
        .prop_map(move |name| call(&name, vec![Expr::Column(Column::first(date))]));
    // Of no row that is there: to be evaluated by who knows it.
    let foreign = Just(Expr::Column(Column { depth: 0, leaf: 7, column: 0 }));
    let leaf = prop_oneof![24 => any_column(), 8 => any_constant(), 4 => part, 1 => foreign];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let op = prop::sample::select(vec![
            Arithmetic::Add,
            Arithmetic::Sub,
            Arithmetic::Mul,
            Arithmetic::Mod,
            Arithmetic::Div(4),
            Arithmetic::IntDiv,
        ]);
        let three = (inner.clone(), inner.clone(), inner.clone());
        let other = prop_oneof![1 => Just(None), 2 => inner.clone().prop_map(Some)];
        let branch = (any_condition(), inner.clone());
        prop_oneof![
            3 => (op, inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Expr::Arith(op, Box::new(a), Box::new(b))),
            1 => (prop::collection::vec(branch, 1..3), other)
                .prop_map(|(branches, other)| Expr::Case(branches, other.map(Box::new))),
            1 => three.prop_map(|(a, b, c)| call("if", vec![a, b, c])),
            1 => (inner.clone(), alike_type()).prop_map(|(a, ty)| alike(a, ty)),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| call("ifnull", vec![a, b])),
            1 => prop::collection::vec(inner, 1..4).prop_map(|all| call("coalesce", all)),
            1 => any_condition(),
        ]
    })
}

/// Whether two values are the same, or the same number with another scale: CASE gives what it chooses as it is.
fn same(a: &Datum<'_>, b: &Datum<'_>) -> bool {
    let exact = |v: &Datum<'_>| matches!(v, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_));
    a == b
        || exact(a)
            && exact(b)
            && value::compare(a, b, Collation::default()) == Some(Ordering::Equal)
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
                    let found = program.datum(vector, n);
                    prop_assert!(same(&found, &wanted.get()), "{found:?} {wanted:?} {e:?}");
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
