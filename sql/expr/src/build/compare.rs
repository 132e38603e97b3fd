//! Comparisons: of values and rows, BETWEEN, IN, LIKE, CASE.

use super::Builder;
use super::derive::{call, is_stringy, meet, unify};
use super::operators::{not, truth};
use crate::SqlError;
use crate::functions::CAST;
use crate::functions::json::is_truth;
use crate::tree::{Comparison, Expr, OwnedDatum, Typed};
use value::collation::aggregate::Purpose;
use value::{Charset, Collation, ColumnType, Kind};

impl Builder {
    /// `a op b`, of values or rows.
    ///
    /// # Errors
    /// 1241 for rows of different lengths, 1267 for collations that do not meet.
    pub fn compare(&self, op: Comparison, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        match (a.expr, b.expr) {
            (Expr::Row(a), Expr::Row(b)) => self.compare_rows(op, a, b),
            (Expr::Row(a), _) => Err(columns(a.len())),
            (_, Expr::Row(_)) => Err(columns(1)),
            (x, y) => {
                let (a, b) = (Typed { expr: x, ..a }, Typed { expr: y, ..b });
                let nullable = op != Comparison::NullSafeEq && (a.ty.nullable || b.ty.nullable);
                let (a, b, collation) = self.comparable(a, b, symbol(op))?;
                let (a, b) = (Box::new(a.expr), Box::new(b.expr));
                Ok(truth(Expr::Compare(op, a, b, collation), nullable))
            }
        }
    }

    /// Two values made ready to be compared: one character set, text beside a date or time read as one.
    ///
    /// # Errors
    /// 1267 for collations that do not meet.
    pub fn comparable(
        &self,
        a: Typed,
        b: Typed,
        operation: &str,
    ) -> Result<(Typed, Typed, Collation), SqlError> {
        let mut pair = [a, b];
        if pair.iter().all(|v| is_stringy(&v.ty)) {
            let met = meet(&mut pair, operation, Purpose::Compare, &self.settings)?;
            let [a, b] = pair;
            return Ok((a, b, met.collation));
        }
        let [a, b] = pair;
        let collation = if is_stringy(&a.ty) { a.ty.collation } else { b.ty.collation };
        let (x, y) = (a.ty, b.ty);
        let (a, b) = (self.beside(a, &y)?, self.beside(b, &x)?);
        Ok((a, b, collation))
    }

    /// A value that is compared with one of that type: text beside a date or time is read as one.
    fn beside(&self, value: Typed, other: &ColumnType) -> Result<Typed, SqlError> {
        let wanted = match other.kind {
            Kind::Date | Kind::DateTime | Kind::Timestamp => Kind::DateTime,
            Kind::Time => Kind::Time,
            Kind::Json => return Ok(beside_json(value)),
            _ => return Ok(value),
        };
        if value.is_null() {
            return Ok(value);
        }
        let text = is_stringy(&value.ty);
        if text && value.constant().is_some() {
            return self.temporal_constant(value, other.kind);
        }
        let mixed = wanted == Kind::DateTime && value.ty.kind == Kind::Time;
        if !text && !mixed {
            return Ok(value);
        }
        let to = ColumnType { nullable: true, ..ColumnType::temporal(wanted, 6) };
        Ok(Typed::new(call(&CAST, &value, to), to))
    }

    fn compare_rows(
        &self,
        op: Comparison,
        a: Vec<Typed>,
        b: Vec<Typed>,
    ) -> Result<Typed, SqlError> {
        if a.len() != b.len() {
            return Err(columns(a.len()));
        }
        let mut pairs = a.into_iter().zip(b).rev();
        let (x, y) = pairs.next().ok_or_else(|| columns(1))?;
        let join = |or: bool, a: Typed, b: Typed| {
            let nullable = a.ty.nullable || b.ty.nullable;
            let (a, b) = (Box::new(a.expr), Box::new(b.expr));
            truth(if or { Expr::Or(a, b) } else { Expr::And(a, b) }, nullable)
        };
        let mut all = self.compare(op, x, y)?;
        for (x, y) in pairs {
            all = match op {
                Comparison::Eq | Comparison::NullSafeEq => {
                    join(false, self.compare(op, x, y)?, all)
                }
                Comparison::Ne => join(true, self.compare(op, x, y)?, all),
                order => {
                    // Decided by the first pair that differs.
                    let strict = match order {
                        Comparison::Le => Comparison::Lt,
                        Comparison::Ge => Comparison::Gt,
                        other => other,
                    };
                    let same = self.compare(Comparison::Eq, x.clone(), y.clone())?;
                    let rest = join(false, same, all);
                    join(true, self.compare(strict, x, y)?, rest)
                }
            };
        }
        Ok(all)
    }

    /// `value [NOT] BETWEEN low AND high`.
    ///
    /// # Errors
    /// As [`Builder::compare`].
    pub fn between(
        &self,
        value: Typed,
        low: Typed,
        high: Typed,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let above = self.compare(Comparison::Ge, value.clone(), low)?;
        let below = self.compare(Comparison::Le, value, high)?;
        let nullable = above.ty.nullable || below.ty.nullable;
        let both = truth(Expr::And(Box::new(above.expr), Box::new(below.expr)), nullable);
        Ok(if negated { not(both) } else { both })
    }

    /// `value [NOT] IN (list)`, of values or rows.
    ///
    /// # Errors
    /// As [`Builder::compare`].
    pub fn in_list(
        &self,
        value: Typed,
        list: Vec<Typed>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let found = match &value.expr {
            Expr::Row(_) => self.row_in(value, list)?,
            _ => self.value_in(value, list)?,
        };
        Ok(if negated { not(found) } else { found })
    }

    fn row_in(&self, value: Typed, list: Vec<Typed>) -> Result<Typed, SqlError> {
        let mut all: Option<Typed> = None;
        for item in list.into_iter().rev() {
            let same = self.compare(Comparison::Eq, value.clone(), item)?;
            all = Some(match all {
                None => same,
                Some(rest) => {
                    let nullable = same.ty.nullable || rest.ty.nullable;
                    truth(Expr::Or(Box::new(same.expr), Box::new(rest.expr)), nullable)
                }
            });
        }
        all.ok_or_else(|| columns(1))
    }

    fn value_in(&self, value: Typed, list: Vec<Typed>) -> Result<Typed, SqlError> {
        let nullable = value.ty.nullable || list.iter().any(|i| i.ty.nullable);
        if list.iter().any(|i| matches!(i.expr, Expr::Row(_))) {
            return Err(columns(1));
        }
        let mut all = vec![value];
        all.extend(list);
        let stringy = all.iter().all(|v| is_stringy(&v.ty));
        let mut collation = all[0].ty.collation;
        if stringy {
            collation = meet(&mut all, " IN ", Purpose::Compare, &self.settings)?.collation;
        } else {
            let first = all[0].ty;
            for item in &mut all[1..] {
                *item = self.beside(item.clone(), &first)?;
            }
            if let Some(text) = all.iter().find(|v| is_stringy(&v.ty)) {
                collation = text.ty.collation;
            }
        }
        let mut exprs = all.into_iter().map(|v| v.expr);
        let value = exprs.next().ok_or_else(|| columns(1))?;
        Ok(truth(Expr::In(Box::new(value), exprs.collect(), collation), nullable))
    }

    /// `value [NOT] LIKE pattern [ESCAPE escape]`.
    ///
    /// # Errors
    /// 1210 for an escape that is not one character, 1267.
    pub fn like(
        &self,
        value: Typed,
        pattern: Typed,
        escape: Option<Typed>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
        let wrong = || SqlError::Other(1210, "HY000", "Incorrect arguments to ESCAPE".into());
        let escape = match escape.as_ref().map(|e| e.constant().ok_or_else(wrong)).transpose()? {
            None if self.settings.sql_mode & NO_BACKSLASH_ESCAPES != 0 => 0,
            None | Some(OwnedDatum::Null) => b'\\',
            Some(OwnedDatum::Bytes(b)) => match b.as_slice() {
                [] => 0,
                [one] => *one,
                _ => return Err(wrong()),
            },
            Some(OwnedDatum::Int(digit @ 0..=9)) => b'0' + *digit as u8,
            Some(_) => return Err(wrong()),
        };
        let nullable = value.ty.nullable || pattern.ty.nullable;
        let mut pair = [self.to_text(value), self.to_text(pattern)];
        let collation = meet(&mut pair, "like", Purpose::Compare, &self.settings)?.collation;
        let [value, pattern] = pair;
        let like = Expr::Like(Box::new(value.expr), Box::new(pattern.expr), escape, collation);
        let like = truth(like, nullable);
        Ok(if negated { not(like) } else { like })
    }

    /// CASE with or without an operand.
    ///
    /// # Errors
    /// As [`Builder::compare`].
    pub fn case(
        &self,
        operand: Option<Typed>,
        branches: Vec<(Typed, Typed)>,
        otherwise: Option<Typed>,
    ) -> Result<Typed, SqlError> {
        let mut whens = Vec::with_capacity(branches.len());
        let mut thens = Vec::with_capacity(branches.len() + 1);
        for (when, then) in branches {
            whens.push(match &operand {
                // A text is compared with the text of a JSON value.
                Some(value) if value.ty.kind == Kind::Json && is_stringy(&when.ty) => {
                    let value = self.to_text(value.clone());
                    self.compare(Comparison::Eq, value, when)?.expr
                }
                Some(value) => self.compare(Comparison::Eq, value.clone(), when)?.expr,
                None => when.expr,
            });
            thens.push(then);
        }
        let has_else = otherwise.is_some();
        thens.extend(otherwise);
        let (mut ty, claim) = unify(&mut thens, "case", &self.settings)?;
        ty.nullable |= !has_else;
        let otherwise = if has_else { thens.pop().map(|e| Box::new(e.expr)) } else { None };
        let branches = whens.into_iter().zip(thens.into_iter().map(|t| t.expr)).collect();
        let typed = Typed::new(Expr::Case(branches, otherwise), ty);
        Ok(match claim {
            Some(claim) => Typed { coercibility: claim.coercibility, ..typed },
            None => typed,
        })
    }

    /// A value as text.
    pub fn to_text(&self, value: Typed) -> Typed {
        if is_stringy(&value.ty) || value.is_null() {
            return value;
        }
        let collation = match value.ty.kind {
            Kind::Json => Collation::Utf8mb4Bin,
            _ => self.settings.collation,
        };
        let ty = super::derive::string(super::widths::chars(&value.ty), collation);
        let ty = ColumnType { nullable: value.ty.nullable, ..ty };
        Typed { expr: call(&CAST, &value, ty), ty, coercibility: value.coercibility }
    }
}

/// A value that is compared with JSON: truth values and bytes as JSON has them, text in its character set.
fn beside_json(value: Typed) -> Typed {
    let text = value.ty.is_text() && !value.is_null();
    if text && value.ty.collation.charset() != Charset::Utf8mb4 && !value.ty.kind.has_members() {
        return super::derive::convert(value, Collation::Utf8mb4Bin);
    }
    let json = ColumnType { nullable: value.ty.nullable, ..ColumnType::json() };
    if is_truth(&value) {
        let named = Typed { ty: json, ..value };
        return Typed::new(call(&CAST, &named, json), json);
    }
    if value.ty.kind.is_binary_string() && !value.is_null() || value.ty.kind == Kind::Bit {
        return Typed::new(call(&CAST, &value, json), json);
    }
    value
}

fn columns(count: usize) -> SqlError {
    SqlError::Other(1241, "21000", format!("Operand should contain {count} column(s)"))
}

fn symbol(op: Comparison) -> &'static str {
    match op {
        Comparison::Eq => "=",
        Comparison::NullSafeEq => "<=>",
        Comparison::Ne => "<>",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    }
}
