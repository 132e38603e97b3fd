//! Comparisons: of values and rows, BETWEEN, IN, LIKE, CASE.

use super::Builder;
use super::derive::{call, is_stringy, meet, unify};
use super::operand_coercion::{Strictness, is_column, year_limit};
use super::operators::{not, truth};
use crate::SqlError;
use crate::functions::CAST;
use crate::refused::Refused;
use crate::tree::{Comparison, Expr, OwnedDatum, Typed};
use crate::variables::{again_of, once};
use value::collation::aggregate::Purpose;
use value::{Collation, ColumnType, Kind};

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

    /// Two values made ready for an operator: one character set, text beside a number, date or time read as one.
    ///
    /// # Errors
    /// 1267 for collations that do not meet, 1525 for a constant that is no date.
    pub fn comparable(
        &self,
        a: Typed,
        b: Typed,
        operation: &str,
    ) -> Result<(Typed, Typed, Collation), SqlError> {
        let (a, b) = (self.fixed_for_year(a.clone(), &b), self.fixed_for_year(b, &a));
        let (a, b) = match (a.ty.kind, b.ty.kind) {
            (Kind::Time, _) if is_stringy(&b.ty) && !b.is_null() => self.time_and_text(a, b),
            (_, Kind::Time) if is_stringy(&a.ty) && !a.is_null() => {
                let (b, a) = self.time_and_text(b, a);
                (a, b)
            }
            _ => (
                super::operand_coercion::in_column(a.clone(), &b),
                super::operand_coercion::in_column(b, &a),
            ),
        };
        self.made_alike(a, b, operation, Strictness::Refuse)
    }

    /// A constant that is computed, beside a column of years: as one that is written.
    fn fixed_for_year(&self, value: Typed, other: &Typed) -> Typed {
        if other.ty.kind != Kind::Year || !is_column(other) || value.constant().is_some() {
            return value;
        }
        match super::folded(&value, &self.settings) {
            Some(constant) if !matches!(constant, OwnedDatum::Null) => {
                Typed { expr: Expr::Const(constant), ..value }
            }
            _ => value,
        }
    }

    fn made_alike(
        &self,
        a: Typed,
        b: Typed,
        operation: &str,
        strictness: Strictness,
    ) -> Result<(Typed, Typed, Collation), SqlError> {
        let mut pair = [a, b];
        if pair.iter().all(|v| is_stringy(&v.ty)) {
            let met = meet(&mut pair, operation, Purpose::Compare, &self.settings)?;
            let [a, b] = pair;
            return Ok((a, b, met.collation));
        }
        let [a, b] = pair;
        let collation = if is_stringy(&a.ty) { a.ty.collation } else { b.ty.collation };
        let (x, y) =
            (self.coerced_to(a.clone(), &b, strictness)?, self.coerced_to(b, &a, strictness)?);
        Ok((x, y, collation))
    }

    /// As [`Builder::compare`], of values that stand in a list, BETWEEN or CASE.
    fn compare_leniently(&self, op: Comparison, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        if let (Expr::Row(_), _) | (_, Expr::Row(_)) = (&a.expr, &b.expr) {
            return self.compare(op, a, b);
        }
        let nullable = a.ty.nullable || b.ty.nullable;
        let (a, b, collation) = self.made_alike(a, b, symbol(op), Strictness::Warn)?;
        Ok(truth(Expr::Compare(op, Box::new(a.expr), Box::new(b.expr), collation), nullable))
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
        if [&value, &low, &high].into_iter().any(Typed::is_row) {
            return Err(super::one_column());
        }
        let (value, again) = once(value);
        let again = |v: Typed| match &again {
            Some(read) => Typed { expr: again_of(&v.expr, read), ..v },
            None => v,
        };
        let mut all = [value, low, high];
        let (above, below) = if all.iter().all(|v| is_stringy(&v.ty)) {
            let collation = meet(&mut all, "between", Purpose::Compare, &self.settings)?.collation;
            let [value, low, high] = all;
            (
                compared(Comparison::Ge, value.clone(), low, collation),
                compared(Comparison::Le, again(value), high, collation),
            )
        } else {
            // Dates, times and documents have a collation among texts, though they are not compared as such.
            let textual =
                |v: &Typed| is_stringy(&v.ty) || is_moment(&v.ty) || v.ty.kind == Kind::Json;
            if all.iter().all(textual) {
                meet(&mut all.clone(), "between", Purpose::Compare, &self.settings)?;
            }
            let [value, low, high] = all;
            let low = self.fixed_for_year(low, &value);
            let high = self.fixed_for_year(high, &value);
            let [value, low, high] = years(value, low, high);
            let [value, low, high] = self.limits(value, low, high)?;
            (
                self.compare_leniently(Comparison::Ge, value.clone(), low)?,
                self.compare_leniently(Comparison::Le, again(value), high)?,
            )
        };
        let nullable = above.ty.nullable || below.ty.nullable;
        let both = truth(Expr::And(Box::new(above.expr), Box::new(below.expr)), nullable);
        Ok(if negated { not(both) } else { both })
    }

    /// The three values of BETWEEN, as far as one decides how all are compared: a date makes dates of texts, a
    /// time is text among texts unless it is a column and the texts are constant times, a number makes numbers of
    /// all, unless they are constants beside a column of dates or times.
    fn limits(&self, value: Typed, low: Typed, high: Typed) -> Result<[Typed; 3], SqlError> {
        let mut all = [value, low, high];
        if all[0].ty.kind == Kind::Time && is_column(&all[0]) && self.limits_of_time(&mut all) {
            return Ok(all);
        }
        let number =
            |v: &Typed| v.ty.kind.is_number() || matches!(v.ty.kind, Kind::Year | Kind::Bit);
        let json = all.iter().any(|v| v.ty.kind == Kind::Json);
        let kind = all[0].ty.kind;
        let is_date =
            |v: &Typed| is_moment(&v.ty) || super::operand_coercion::as_stored(v, kind).is_some();
        let constants = all[1..].iter().all(|v| v.constant().is_some())
            || all[1..].iter().all(|v| !is_stringy(&v.ty) && is_date(v));
        if all.iter().any(|v| number(v) && !v.is_null())
            && !json
            && !(constants && is_column(&all[0]) && is_moment(&all[0].ty))
        {
            if is_column(&all[0]) && all[0].ty.kind.has_date() {
                for limit in &mut all[1..] {
                    *limit =
                        super::operand_coercion::as_stored(limit, kind).unwrap_or(limit.clone());
                }
            }
            return Ok(all.map(super::operand_coercion::among_numbers));
        }
        let dated = all.iter().find(|v| v.ty.kind.has_date()).cloned();
        let plain = |v: &Typed| is_stringy(&v.ty) || is_moment(&v.ty);
        if let Some(date) = dated.filter(|_| all.iter().all(plain)) {
            for v in &mut all {
                *v = self.coerced_to(v.clone(), &date, Strictness::Warn)?;
            }
            return Ok(all);
        }
        let among_texts = |time: &Typed, others: [&Typed; 2]| {
            time.ty.kind == Kind::Time && others.iter().all(|v| is_stringy(&v.ty))
        };
        let [value, low, high] = all;
        if among_texts(&value, [&low, &high]) {
            let (a, x) = self.time_and_text(value.clone(), low.clone());
            let (b, y) = self.time_and_text(value.clone(), high.clone());
            if a.ty.kind == b.ty.kind {
                return Ok([a, x, y]);
            }
            return Ok([self.to_text(value), low, high]);
        }
        // Times among texts are texts.
        let all = [value, low, high];
        let text = all.iter().any(|v| is_stringy(&v.ty) && !v.is_null());
        let as_text = |v: Typed| if text && v.ty.kind == Kind::Time { self.to_text(v) } else { v };
        Ok(all.map(as_text))
    }

    /// A column of times: constant limits are times as it would store them, and what stands beside one is a time
    /// or a number. Whether that was all.
    fn limits_of_time(&self, all: &mut [Typed; 3]) -> bool {
        let number = |v: &Typed| v.ty.kind.is_number() && !v.is_null();
        let numbers = all.iter().any(number);
        // Dates and times that are written as such are only made ready where a number stands beside them.
        let stored = [1, 2].map(|n| {
            let fits = numbers || !is_moment(&all[n].ty);
            super::operand_coercion::as_stored(&all[n], Kind::Time).filter(|_| fits)
        });
        let beside_text = |n: usize, other: usize| {
            stored[n - 1].is_some() && is_stringy(&all[other].ty) && !all[other].is_null()
        };
        let beside_time =
            |n: usize, other: usize| stored[n - 1].is_some() && all[other].ty.kind == Kind::Time;
        let both = stored.iter().all(Option::is_some);
        let coerced_to_date = |n: usize, other: usize| {
            numbers && stored[n - 1].is_some() && all[other].ty.kind.has_date()
        };
        let dated = !both && (coerced_to_date(1, 2) || coerced_to_date(2, 1));
        let as_numbers = !both && !dated && (numbers || beside_text(1, 2) || beside_text(2, 1));
        let as_times = both || dated || beside_time(1, 2) || beside_time(2, 1);
        if !as_numbers && !as_times || all.iter().any(|v| v.ty.kind == Kind::Json) {
            return false;
        }
        for (limit, stored) in all[1..].iter_mut().zip(stored) {
            *limit = stored.unwrap_or(limit.clone());
            if dated && limit.ty.kind.has_date() {
                *limit = super::operand_coercion::time_part(limit.clone());
            }
        }
        if as_numbers {
            *all = all.clone().map(super::operand_coercion::among_numbers);
        }
        true
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
        if list.len() == 1 {
            return list
                .into_iter()
                .map(|item| self.compare(Comparison::Eq, value.clone(), item))
                .next()
                .unwrap_or_else(|| Err(columns(1)));
        }
        let mut all: Option<Typed> = None;
        for item in list.into_iter().rev() {
            let same = self.same_row(&value, item)?;
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

    /// A row of a list of several.
    fn same_row(&self, value: &Typed, item: Typed) -> Result<Typed, SqlError> {
        let (Expr::Row(a), Expr::Row(b)) = (&value.expr, &item.expr) else {
            return self.compare(Comparison::Eq, value.clone(), item);
        };
        if a.len() != b.len() || a.iter().chain(b).any(Typed::is_row) {
            return self.compare(Comparison::Eq, value.clone(), item);
        }
        let pairs = a.iter().zip(b);
        let mut same =
            pairs.map(|(a, b)| self.compare_leniently(Comparison::Eq, a.clone(), b.clone()));
        let first = same.next().ok_or_else(|| columns(1))??;
        same.try_fold(first, |a, b| {
            let b = b?;
            let nullable = a.ty.nullable || b.ty.nullable;
            Ok(truth(Expr::And(Box::new(a.expr), Box::new(b.expr)), nullable))
        })
    }

    fn value_in(&self, value: Typed, mut list: Vec<Typed>) -> Result<Typed, SqlError> {
        let nullable = value.ty.nullable || list.iter().any(|i| i.ty.nullable);
        if list.iter().any(Typed::is_row) {
            return Err(columns(1));
        }
        if list.len() == 1
            && let Some(item) = list.pop()
        {
            return self.compare(Comparison::Eq, value, item);
        }
        let mut all = vec![value];
        all.extend(list);
        self.meet_in_list(&all)?;
        if all[0].is_null() {
            if all.iter().all(|v| is_stringy(&v.ty)) {
                meet(&mut all, " IN ", Purpose::Compare, &self.settings)?;
            }
            // A comparison, so that it is announced as a number.
            let null = || Box::new(Expr::Const(OwnedDatum::Null));
            let unknown = Expr::Compare(Comparison::Eq, null(), null(), Collation::Binary);
            return Ok(truth(unknown, true));
        }
        let mut collation = all[0].ty.collation;
        if all.iter().all(|v| is_stringy(&v.ty)) {
            collation = meet(&mut all, " IN ", Purpose::Compare, &self.settings)?.collation;
        } else if self.differ_in_kind(&all) {
            return self.one_by_one(all);
        } else if is_among_times(&all) {
            for item in &mut all {
                *item = super::operand_coercion::listed(self.as_listed_time(item.clone()));
            }
        } else {
            let leading = leading(&all);
            // Constants that are looked up all at once are zero where they are no dates or times.
            let fixed = matches!(leading.ty.kind, Kind::Time | Kind::Date)
                && all[1..].iter().all(|item| item.constant().is_some());
            for (place, item) in all.iter_mut().enumerate() {
                *item = match item.ty.kind == Kind::Time && leading.ty.kind.is_number() {
                    true => super::operand_coercion::digits(item.clone()),
                    false => self.coerced_to(item.clone(), &leading, Strictness::Warn)?,
                };
                if place == 0 || !fixed {
                    *item = super::operand_coercion::listed(item.clone());
                }
            }
            if let Some(text) = all.iter().find(|v| is_stringy(&v.ty)) {
                collation = text.ty.collation;
            }
        }
        let mut exprs = all.into_iter().map(|v| v.expr);
        let value = exprs.next().ok_or_else(|| columns(1))?;
        Ok(truth(Expr::In(Box::new(value), exprs.collect(), collation), nullable))
    }

    /// Texts, dates and times that are looked for among such have one collation, whatever else stands in the list.
    fn meet_in_list(&self, all: &[Typed]) -> Result<(), SqlError> {
        /// With fewer of them the error names each.
        const UNNAMED: usize = 4;
        let text = |v: &Typed| is_stringy(&v.ty) && !v.is_null();
        let textual = |v: &Typed| text(v) || is_moment(&v.ty);
        let counts = text(&all[0]) || textual(&all[0]) && all.len() >= UNNAMED;
        if counts && all[1..].iter().any(textual) {
            meet(&mut all.to_vec(), " IN ", Purpose::Compare, &self.settings)?;
        }
        Ok(())
    }

    /// Whether a text or a time is looked for among numbers and others: each of them is compared in another way.
    fn differ_in_kind(&self, all: &[Typed]) -> bool {
        let number = |v: &Typed| v.ty.kind.is_number() && !v.is_null();
        let text = |v: &Typed| is_stringy(&v.ty) && !v.is_null();
        let numbers = all[1..].iter().any(number);
        // Constant numbers beside a date are dates by themselves.
        let fixed = |v: &Typed| number(v) && v.constant().is_some();
        numbers && all[0].ty.kind == Kind::Time
            || numbers && text(&all[0]) && all[1..].iter().any(|v| !number(v))
            || numbers && all[0].ty.kind.has_date() && !all[1..].iter().all(fixed)
    }

    /// A value of a list that is compared as times: that which its text is.
    fn as_listed_time(&self, value: Typed) -> Typed {
        match value.ty.kind {
            Kind::Time => value,
            _ if value.is_null() => value,
            _ => super::operand_coercion::span(self.to_text(value), 6),
        }
    }

    fn one_by_one(&self, all: Vec<Typed>) -> Result<Typed, SqlError> {
        let as_bytes = self.are_compared_as_bytes(&all);
        let (value, items) = all.split_first().ok_or_else(|| columns(1))?;
        let mut same = items.iter().map(|item| match as_bytes && is_stringy(&item.ty) {
            true => Ok(same_bytes(value.clone(), item.clone())),
            false => self.is_item(value.clone(), item.clone()),
        });
        let first = same.next().ok_or_else(|| columns(1))??;
        same.try_fold(first, |a, b| {
            let b = b?;
            let nullable = a.ty.nullable || b.ty.nullable;
            Ok(truth(Expr::Or(Box::new(a.expr), Box::new(b.expr)), nullable))
        })
    }

    /// Whether the texts of a list are compared byte by byte because bits stand among them.
    fn are_compared_as_bytes(&self, all: &[Typed]) -> bool {
        let met = meet(&mut all.to_vec(), " IN ", Purpose::Compare, &self.settings);
        is_stringy(&all[0].ty) && met.is_ok_and(|met| met.collation == Collation::Binary)
    }

    /// Whether a text, a date or a time is an item of a list of several kinds: a date or time beside a number is
    /// its digits; a date or time beside a text that is looked for is text, a text beside a date or time is one.
    fn is_item(&self, value: Typed, item: Typed) -> Result<Typed, SqlError> {
        let number = item.ty.kind.is_number();
        let (value, item) = match (is_moment(&value.ty), is_moment(&item.ty)) {
            (true, _) if number => (super::operand_coercion::digits(value), item),
            (true, _) if value.ty.kind == Kind::Time && is_dated(&item) => {
                (value, super::operand_coercion::time_part(item))
            }
            (true, _) if is_stringy(&item.ty) => {
                let item = self.coerced_to(item, &value, Strictness::Warn)?;
                (value, super::operand_coercion::listed(item))
            }
            (false, true) => (value, self.to_text(item)),
            _ => (value, item),
        };
        self.compare_leniently(Comparison::Eq, value, item)
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
        let wrong = || SqlError::from(Refused::WrongArguments("ESCAPE"));
        let plain = self.settings.sql_mode & NO_BACKSLASH_ESCAPES != 0;
        let escape = match escape.as_ref().map(|e| e.constant().ok_or_else(wrong)).transpose()? {
            None if plain => 0,
            None | Some(OwnedDatum::Null) => b'\\',
            Some(OwnedDatum::Bytes(b)) => match b.as_slice() {
                [] if plain => return Err(wrong()),
                [] => 0,
                [one] => *one,
                _ => return Err(wrong()),
            },
            Some(OwnedDatum::Int(digit @ 0..=9)) => b'0' + *digit as u8,
            Some(_) => return Err(wrong()),
        };
        if [&value, &pattern].into_iter().any(Typed::is_row) {
            return Err(super::one_column());
        }
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
        let any_row = branches.iter().any(|(when, then)| when.is_row() || then.is_row());
        if operand.is_none() && (any_row || otherwise.as_ref().is_some_and(Typed::is_row)) {
            return Err(super::one_column());
        }
        let compared: Vec<Typed> =
            operand.iter().chain(branches.iter().map(|(when, _)| when)).cloned().collect();
        let bits = |v: &Typed| v.ty.kind == Kind::Bit;
        let as_bytes =
            operand.is_some() && compared.iter().any(bits) && self.are_compared_as_bytes(&compared);
        let (mut operand, again) = operand.map_or((None, None), |value| {
            let (value, again) = once(value);
            (Some(value), again)
        });
        let mut whens = Vec::with_capacity(branches.len());
        let mut thens = Vec::with_capacity(branches.len() + 1);
        for (when, then) in branches {
            whens.push(match &operand {
                Some(value) if as_bytes && is_stringy(&when.ty) => {
                    same_bytes(value.clone(), when).expr
                }
                // A text is compared with the text of a JSON value.
                Some(value) if value.ty.kind == Kind::Json && is_stringy(&when.ty) => {
                    let value = self.to_text(value.clone());
                    self.compare(Comparison::Eq, value, when)?.expr
                }
                // A date or time beside a text is text.
                Some(value) if is_stringy(&value.ty) && is_moment(&when.ty) => {
                    let when = self.to_text(when);
                    self.compare(Comparison::Eq, value.clone(), when)?.expr
                }
                Some(value) => self.compare_leniently(Comparison::Eq, value.clone(), when)?.expr,
                None => when.expr,
            });
            thens.push(then);
            if let (Some(value), Some(read)) = (&mut operand, &again) {
                value.expr = again_of(&value.expr, read);
            }
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
        let value = super::conversion::year_as_text(value);
        let collation = match value.ty.kind {
            Kind::Json => Collation::Utf8mb4Bin,
            Kind::Bit => Collation::Binary,
            _ => super::derive::claim(&value, &self.settings).collation,
        };
        let ty = super::derive::string(super::widths::chars(&value.ty), collation);
        let ty = ColumnType { nullable: value.ty.nullable, ..ty };
        Typed { expr: call(&CAST, &value, ty), ty, coercibility: value.coercibility }
    }
}

fn same_bytes(a: Typed, b: Typed) -> Typed {
    compared(Comparison::Eq, a, b, Collation::Binary)
}

fn compared(op: Comparison, a: Typed, b: Typed, collation: Collation) -> Typed {
    let nullable = a.ty.nullable || b.ty.nullable;
    truth(Expr::Compare(op, Box::new(a.expr), Box::new(b.expr), collation), nullable)
}

/// What decides how a list is compared: among texts, dates and times a date before a time; else the value that
/// is looked for, if it is no text.
fn leading(all: &[Typed]) -> Typed {
    let dated = all.iter().find(|v| v.ty.kind.has_date());
    let timed = all.iter().find(|v| v.ty.kind == Kind::Time);
    let number = all[1..].iter().find(|v| !is_stringy(&v.ty) && !v.is_null());
    let textual = |v: &Typed| is_stringy(&v.ty) || is_moment(&v.ty) || v.is_null();
    let first = &all[0];
    let found = match is_stringy(&first.ty) {
        true => dated.or(timed).or(number).unwrap_or(first),
        false if all.iter().all(textual) => dated.unwrap_or(first),
        false => first,
    };
    found.clone()
}

/// Whether a list, not of constants alone, in which a text or a date is looked for is compared as times: of
/// dates and times the last one decides, but for moments, which stay what they are once they count. Beside a text
/// they always count, beside a date where no time stood before.
fn is_among_times(all: &[Typed]) -> bool {
    let (value, items) = (&all[0], &all[1..]);
    let textual = |v: &Typed| is_stringy(&v.ty) || is_moment(&v.ty) || v.is_null();
    let is_text = is_stringy(&value.ty);
    if !is_text && value.ty.kind != Kind::Date
        || !all.iter().all(textual)
        || items.iter().all(|item| item.constant().is_some())
    {
        return false;
    }
    let mut times = false;
    for item in items {
        match item.ty.kind {
            Kind::Time => times = true,
            Kind::Date => times = false,
            Kind::DateTime | Kind::Timestamp if is_text || !times => return false,
            _ => {}
        }
    }
    times
}

/// The values of BETWEEN; constants are years beside a column of years, each by itself.
fn years(value: Typed, low: Typed, high: Typed) -> [Typed; 3] {
    let is_year = value.ty.kind == Kind::Year && is_column(&value);
    let limit = |limit: Typed| year_limit(&limit).filter(|_| is_year).unwrap_or(limit);
    [value, limit(low), limit(high)]
}

fn is_dated(value: &Typed) -> bool {
    matches!(value.ty.kind, Kind::DateTime | Kind::Timestamp)
}

fn is_moment(ty: &ColumnType) -> bool {
    ty.kind.has_date() || ty.kind == Kind::Time
}

fn columns(count: usize) -> SqlError {
    Refused::WrongColumns(count).into()
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
