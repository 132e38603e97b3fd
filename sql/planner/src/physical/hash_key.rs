//! Which equalities a hash join goes by: what is compared, and as what it is hashed.
//!
//! 1. Values that are equal have the same key. 2. Two columns of one kind, texts, moments and times are equal exactly where their keys
//! are. An equality of other numbers is tested beside its key: they are hashed as doubles, which some of them share.

use super::Leaves;
use crate::logical::leaves_of;
use crate::query_plan::JoinKey;
use crate::transform::may_move;
use expr::tree::{Column, Comparison, Expr, OwnedDatum, Typed};
use value::{Collation, ColumnType, Kind};

/// The key of an equality between what looks at the leaves `own` alone and what looks at the leaves `there` alone; `None`: it is none,
/// or its values do not hash alike.
pub(super) fn hash_key(e: &Expr, own: u64, there: u64, leaves: &Leaves) -> Option<JoinKey> {
    let Expr::Compare(op @ (Comparison::Eq | Comparison::NullSafeEq), a, b, collation) = e else {
        return None;
    };
    let inside = |e: &Expr, set: u64| matches!(leaves_of(e), of if of != 0 && of & !set == 0);
    let (probe, build) = if inside(a, there) && inside(b, own) {
        (&**a, &**b)
    } else if inside(b, there) && inside(a, own) {
        (&**b, &**a)
    } else {
        return None;
    };
    let (collation, null_safe) = (*collation, *op == Comparison::NullSafeEq);
    if let Some((probe, build)) = columns_alike(probe, build, leaves) {
        let (tested, is_of_columns) = (None, true);
        return Some(JoinKey { probe, build, collation, null_safe, tested, is_of_columns });
    }
    if !may_hash(probe) || !may_hash(build) {
        return None;
    }
    let compared = Compared::of(probe, leaves)?.with(Compared::of(build, leaves)?)?;
    let typed = |e: &Expr| Typed::new(e.clone(), compared.hashed(collation));
    let tested = (compared == Compared::Number).then(|| e.clone());
    let (probe, build) = (typed(probe), typed(build));
    Some(JoinKey { probe, build, collation, null_safe, tested, is_of_columns: false })
}

/// Two columns whose values are equal exactly where they hash alike.
fn columns_alike(probe: &Expr, build: &Expr, leaves: &Leaves) -> Option<(Typed, Typed)> {
    let typed = |e: &Expr| match e {
        Expr::Column(c) if c.depth == 0 => {
            Some(Typed::new(Expr::Column(*c), column_type(c, leaves)?))
        }
        _ => None,
    };
    let (probe, build) = (typed(probe)?, typed(build)?);
    let (p, b) = (&probe.ty, &build.ty);
    let alike = p.kind.is_int() && b.kind.is_int()
        || p.kind == b.kind
        || p.kind.is_text() && b.kind.is_text();
    alike.then_some((probe, build))
}

fn column_type(c: &Column, leaves: &Leaves) -> Option<ColumnType> {
    let leaf = leaves.list.get(usize::from(c.leaf))?;
    let column = leaf.columns.get(usize::from(c.column))?;
    Some(ColumnType { nullable: column.ty.nullable || leaf.null_row, ..column.ty })
}

/// Whether an expression may be evaluated once for a row, whoever meets it: it has the same value each time, and looks at no row around.
fn may_hash(e: &Expr) -> bool {
    let mut is_own = true;
    e.visit(&mut |e| is_own &= !matches!(e, Expr::Column(c) if c.depth > 0));
    is_own && may_move(e)
}

/// As what values are compared with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Number,
    Text,
    Moment,
    Time,
}

impl Compared {
    /// How an expression's values are; `None`: it is not known from its form, or they are compared by other rules.
    fn of(e: &Expr, leaves: &Leaves) -> Option<Compared> {
        match e {
            Expr::Column(c) => Self::of_kind(column_type(c, leaves)?.kind),
            Expr::Call(site) => Self::of_kind(site.ty.kind),
            Expr::Arith(..) | Expr::Neg(_) => Some(Compared::Number),
            Expr::Const(OwnedDatum::Int(_) | OwnedDatum::UInt(_)) => Some(Compared::Number),
            Expr::Const(OwnedDatum::Bytes(_)) => Some(Compared::Text),
            Expr::Case(branches, otherwise) => {
                let values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
                // NULL is a value among any others.
                let mut all = values
                    .filter(|value| !matches!(value, Expr::Const(OwnedDatum::Null)))
                    .map(|value| Self::of(value, leaves));
                let first = all.next()??;
                all.all(|other| other == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    fn of_kind(kind: Kind) -> Option<Compared> {
        match kind {
            Kind::Decimal | Kind::Double | Kind::Float => Some(Compared::Number),
            Kind::Date | Kind::DateTime | Kind::Timestamp => Some(Compared::Moment),
            Kind::Time => Some(Compared::Time),
            kind if kind.is_int() => Some(Compared::Number),
            kind if kind.is_string() => Some(Compared::Text),
            _ => None,
        }
    }

    /// As what two of them are compared with each other; text against a moment may be one or a number, by its form.
    fn with(self, other: Compared) -> Option<Compared> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Compared::Number, Compared::Text) | (Compared::Text, Compared::Number) => {
                Some(Compared::Number)
            }
            _ => None,
        }
    }

    /// The type by which both sides are hashed.
    fn hashed(self, collation: Collation) -> ColumnType {
        match self {
            Compared::Number => ColumnType::double(),
            Compared::Text => ColumnType::varchar(0, collation),
            Compared::Moment => ColumnType::temporal(Kind::DateTime, 6),
            Compared::Time => ColumnType::temporal(Kind::Time, 6),
        }
    }
}
