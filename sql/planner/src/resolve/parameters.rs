//! What a parameter stands beside: the first pass over a statement that is prepared.
//!
//! 1. Every expression is looked at right after it is bound, when its operands' types are noted. 2. An open operand
//!    (a parameter, or what is computed of nothing but open parameters) takes the type that the others have in common.

use super::Resolver;
use crate::parameters::{Parameter, ParameterType, converted, moment, own, typed};
use expr::tree::{Expr, Typed};
use parser::ast::{self, AggregateKind, BinaryOp, CastType, IntervalUnit, UnaryOp};
use value::ColumnType;

/// A parameter, or the value that it is computed from alone.
type Operand<'e> = &'e ast::Expr;

impl Resolver<'_, '_> {
    /// Notes what an expression became, and what that says about parameters in it.
    pub(super) fn look_for_parameters(&mut self, e: &ast::Expr, value: &Typed) {
        self.context.parameters.note(e, value.ty);
        self.infer(e);
    }

    /// Looks at one operator or call.
    fn infer(&mut self, e: &ast::Expr) {
        use ast::Expr as E;
        match e {
            E::Unary(op, x) => match op {
                UnaryOp::Neg | UnaryOp::Plus => self.otherwise(x, ParameterType::Double),
                UnaryOp::Not | UnaryOp::Bang => self.offer(x, ParameterType::Int),
                UnaryOp::BitNot => {}
            },
            E::Binary(op, a, b) => self.infer_binary(*op, a, b),
            E::Is { expr, what, .. } if *what != ast::IsWhat::Null => {
                self.offer(expr, ParameterType::Int);
            }
            E::Between { expr, low, high, .. } => self.meet(&[expr, low, high]),
            E::In { expr, list, .. } => self.infer_list(expr, list),
            E::Case { operand, branches, otherwise } => {
                self.infer_case(operand.as_deref(), branches, otherwise.as_deref());
            }
            E::Call(call) => self.infer_call(call),
            E::Like { expr, pattern, .. } | E::Regexp { expr, pattern, .. } => {
                self.give(expr, own(ParameterType::Text));
                self.give(pattern, own(ParameterType::Text));
            }
            E::Aggregate(aggregate) => {
                use AggregateKind as A;
                let taken = match aggregate.kind {
                    A::Sum | A::Avg | A::StddevPop | A::StddevSamp | A::VarPop | A::VarSamp => {
                        typed(ParameterType::Double)
                    }
                    A::GroupConcat => own(ParameterType::Text),
                    _ => typed(ParameterType::Text),
                };
                aggregate.args.iter().for_each(|x| self.give(x, taken));
            }
            E::Cast { expr, to, .. } => self.give(expr, cast_of(to)),
            E::Collate(x, _) | E::ConvertUsing(x, _) => {
                self.give(x, converted(ParameterType::Text));
            }
            E::Interval(n, unit) => self.infer_interval(n, *unit),
            E::MemberOf(_, array) => self.offer(array, ParameterType::Json),
            _ => {}
        }
    }

    fn infer_binary(&mut self, op: BinaryOp, a: Operand<'_>, b: Operand<'_>) {
        use BinaryOp as B;
        match op {
            B::And | B::Or | B::Xor => {
                self.offer(a, ParameterType::Int);
                self.offer(b, ParameterType::Int);
            }
            B::Add | B::Sub if matches!(b, ast::Expr::Interval(..)) => self.infer_moved(a, b),
            B::Add | B::Sub if matches!(a, ast::Expr::Interval(..)) => self.infer_moved(b, a),
            B::IntDiv => {
                self.infer_arithmetic(a, b, ParameterType::Int);
            }
            B::Add | B::Sub | B::Mul | B::Div | B::Mod => {
                self.infer_arithmetic(a, b, ParameterType::Double);
            }
            B::BitOr | B::BitAnd | B::BitXor => self.meet(&[a, b]),
            B::ShiftLeft | B::ShiftRight => self.offer(b, ParameterType::Int),
            B::Concat | B::SoundsLike => {
                self.give(a, own(ParameterType::Text));
                self.give(b, own(ParameterType::Text));
            }
            B::Eq | B::NullSafeEq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => match (a, b) {
                (ast::Expr::Row(a), ast::Expr::Row(b)) => {
                    a.iter().zip(b).for_each(|(a, b)| self.meet(&[a, b]));
                }
                _ => self.meet(&[a, b]),
            },
        }
    }

    /// Operands of arithmetic; `alone` if none has a type.
    fn infer_arithmetic(&mut self, a: Operand<'_>, b: Operand<'_>, alone: ParameterType) {
        let number = |ty: ColumnType| match ParameterType::for_operand(&ty) {
            ty if ty.is_number() => ty,
            _ => ParameterType::Double,
        };
        match (self.known(a), self.known(b)) {
            (Some(ty), None) => self.offer(b, number(ty)),
            (None, Some(ty)) => self.offer(a, number(ty)),
            (None, None) => {
                self.otherwise(a, alone);
                self.otherwise(b, alone);
            }
            (Some(_), Some(_)) => {}
        }
    }

    fn infer_list(&mut self, value: Operand<'_>, list: &[ast::Expr]) {
        if let ast::Expr::Row(parts) = value {
            for (place, part) in parts.iter().enumerate() {
                let column = list.iter().filter_map(|item| match item {
                    ast::Expr::Row(parts) => parts.get(place),
                    _ => None,
                });
                let all: Vec<_> = std::iter::once(part).chain(column).collect();
                self.meet(&all);
            }
            return;
        }
        let all: Vec<_> = std::iter::once(value).chain(list).collect();
        self.meet(&all);
    }

    fn infer_case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) {
        let whens: Vec<_> = operand.into_iter().chain(branches.iter().map(|b| &b.0)).collect();
        match operand {
            Some(_) => self.meet(&whens),
            None => whens.into_iter().for_each(|x| self.offer(x, ParameterType::Int)),
        }
        let outputs: Vec<_> = branches.iter().map(|b| &b.1).chain(otherwise).collect();
        self.meet(&outputs);
    }

    /// The count of an interval: of one unit a number, of several text.
    fn infer_interval(&mut self, n: Operand<'_>, unit: IntervalUnit) {
        use IntervalUnit as U;
        match unit {
            U::Second => self.offer(n, ParameterType::Decimal),
            U::Microsecond
            | U::Minute
            | U::Hour
            | U::Day
            | U::Week
            | U::Month
            | U::Quarter
            | U::Year => self.offer(n, ParameterType::Int),
            _ => self.give(n, converted(ParameterType::Text)),
        }
    }

    /// A moment that is moved by an interval.
    fn infer_moved(&mut self, date: Operand<'_>, interval: Operand<'_>) {
        let ast::Expr::Interval(n, unit) = interval else { return };
        self.infer_interval(n, *unit);
        use IntervalUnit::{Day, Month, Quarter, Week, Year, YearMonth};
        let days = matches!(unit, Day | Week | Month | Quarter | Year | YearMonth);
        self.give(date, moment_of(days));
    }

    fn infer_call(&mut self, call: &ast::Call) {
        let name = call.name.name.to_ascii_uppercase();
        let args: Vec<Operand<'_>> = call.args.iter().collect();
        match (&name[..], &args[..]) {
            ("IF", [condition, a, b]) => {
                self.offer(condition, ParameterType::Int);
                self.meet(&[a, b]);
            }
            ("IFNULL" | "COALESCE" | "LEAST" | "GREATEST" | "NULLIF" | "FIELD" | "INTERVAL", _) => {
                self.meet(&args);
            }
            ("MOD", [a, b]) => self.infer_arithmetic(a, b, ParameterType::Double),
            ("TIMESTAMPADD", [n, date]) => {
                self.offer(n, ParameterType::Int);
                let unit = call.keyword.as_deref().unwrap_or_default();
                let days = ["DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];
                let days = days.iter().any(|day| unit.eq_ignore_ascii_case(day));
                self.give(date, moment_of(days));
            }
            ("LAG" | "LEAD" | "NTH_VALUE", [value, n, rest @ ..]) => {
                self.offer(n, ParameterType::Int);
                let both: Vec<_> = std::iter::once(value).chain(rest).copied().collect();
                self.meet(&both);
            }
            ("NTILE" | "SPACE", [n]) => self.offer(n, ParameterType::Int),
            ("RAND", [n]) => self.offer(n, ParameterType::Double),
            ("DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE", [date, by]) => match by {
                ast::Expr::Interval(..) => self.infer_moved(date, by),
                _ => {
                    self.give(date, moment(ParameterType::Date));
                    self.offer(by, ParameterType::Int);
                }
            },
            ("ROUND" | "TRUNCATE" | "FORMAT", [n, rest @ ..]) => {
                self.offer(n, ParameterType::Decimal);
                rest.iter().take(1).for_each(|x| self.offer(x, ParameterType::Int));
            }
            ("FROM_UNIXTIME" | "SEC_TO_TIME", [n, ..]) => self.offer(n, ParameterType::Decimal),
            ("BIN" | "OCT" | "CONV", _) => {
                args.iter().for_each(|x| self.offer(x, ParameterType::Int));
            }
            // Text stays a number where one came before.
            ("HEX", [x]) => self.offer(x, ParameterType::Text),
            ("SLEEP", [n]) => self.offer(n, ParameterType::Double),
            (name, _) if name.starts_with("JSON_") => self.infer_json(name, &args),
            _ => self.infer_registered(&name.to_ascii_lowercase(), &args),
        }
    }

    /// Functions whose first argument is a document.
    fn infer_json(&mut self, name: &str, args: &[Operand<'_>]) {
        let makes = matches!(name, "JSON_ARRAY" | "JSON_OBJECT" | "JSON_QUOTE");
        if let ([document, ..], false) = (args, makes) {
            self.give(document, converted(ParameterType::Json));
        }
    }

    /// Functions that the registry knows to read numbers or moments.
    fn infer_registered(&mut self, name: &str, args: &[Operand<'_>]) {
        let Ok(function) = expr::functions::known(name) else { return };
        let numbers = expr::functions::numbers_of(name, expr::tree::Extra::None);
        let moments = expr::functions::reads_a_moment(function)
            || matches!(name, "datediff" | "date_format" | "timestampdiff" | "unix_timestamp");
        for (place, x) in args.iter().enumerate() {
            let bits = expr::functions::reads_bits(function);
            if numbers.contains(&place) {
                self.offer(x, ParameterType::Int);
            } else if moments && !(name == "date_format" && place == 1) {
                let ty = if name == "date" { ParameterType::Date } else { ParameterType::DateTime };
                self.give(x, converted(ty));
            } else if !bits && expr::functions::reads_numbers(function, false) {
                self.offer(x, ParameterType::Double);
            } else if !bits {
                self.give(x, own(ParameterType::Text));
            }
        }
    }

    /// A condition alone.
    pub(super) fn infer_condition(&mut self, e: Operand<'_>) {
        self.offer(e, ParameterType::Int);
    }

    /// The left side of a comparison with a subquery's columns.
    pub(super) fn infer_beside_query(&mut self, left: Operand<'_>, outputs: &[Typed]) {
        let parts = match left {
            ast::Expr::Row(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        for (part, output) in parts.iter().zip(outputs) {
            self.offer(part, ParameterType::for_operand(&output.ty));
        }
    }

    /// The number of rows of a LIMIT.
    pub(super) fn infer_limit(&mut self, limit: &ast::Limit) {
        for count in limit.offset.iter().chain(std::iter::once(&limit.count)) {
            self.give(count, crate::parameters::count());
        }
    }

    /// The open ones of several values take the type that the others have in common.
    fn meet(&mut self, operands: &[Operand<'_>]) {
        let known: Vec<ColumnType> = operands.iter().filter_map(|x| self.known(x)).collect();
        let values: Vec<Typed> =
            known.into_iter().map(|ty| Typed::new(Expr::Param(0), ty)).collect();
        let Some(first) = values.first() else { return };
        let ty = match values.len() {
            1 => first.ty,
            _ => self.build.common(&values.iter().collect::<Vec<_>>()),
        };
        let ty = ParameterType::for_operand(&ty);
        operands.iter().for_each(|x| self.offer(x, ty));
    }

    /// The type of an operand that is not open, nor the literal NULL.
    fn known(&self, e: Operand<'_>) -> Option<ColumnType> {
        let null = matches!(e, ast::Expr::Literal(ast::Literal::Null) | ast::Expr::Row(_));
        let known = self.context.parameters.noted(e).filter(|_| !null && !self.is_open(e));
        match e {
            ast::Expr::Param(n) if known.is_some() => {
                let found = self.context.parameters.found(*n);
                Some(found.announced.column_type(self.build.settings.collation))
            }
            _ => known,
        }
    }

    /// Whether the type of an expression hangs on open parameters alone.
    fn is_open(&self, e: Operand<'_>) -> bool {
        match e {
            ast::Expr::Param(n) => self.context.parameters.is_open(*n),
            _ => {
                let parts = outputs_of(e);
                !parts.is_empty() && parts.into_iter().all(|x| self.is_open(x))
            }
        }
    }

    fn offer(&mut self, e: Operand<'_>, ty: ParameterType) {
        self.give(e, typed(ty));
    }

    /// Gives the open parameters that an operand's type hangs on theirs.
    fn give(&mut self, e: Operand<'_>, parameter: Parameter) {
        if !self.is_open(e) {
            return;
        }
        match e {
            ast::Expr::Param(n) => self.context.parameters.set(*n, parameter),
            _ => {
                // What is computed is not converted any more.
                let inner = match e {
                    ast::Expr::Call(_) | ast::Expr::Case { .. } => parameter,
                    _ if parameter.announced.is_number() => typed(parameter.announced),
                    _ => typed(ParameterType::Double),
                };
                outputs_of(e).into_iter().for_each(|x| self.give(x, inner));
            }
        }
    }

    fn otherwise(&mut self, e: Operand<'_>, ty: ParameterType) {
        match e {
            ast::Expr::Param(n) => self.context.parameters.otherwise(*n, ty),
            _ => outputs_of(e).into_iter().for_each(|x| self.otherwise(x, ty)),
        }
    }
}

/// The operands that decide about the type of an expression, where parameters may take a type from around it.
fn outputs_of(e: &ast::Expr) -> Vec<&ast::Expr> {
    use BinaryOp as B;
    use ast::Expr as E;
    match e {
        E::Unary(UnaryOp::Neg | UnaryOp::Plus, x) => vec![x],
        E::Binary(B::Add | B::Sub | B::Mul | B::Div | B::IntDiv | B::Mod, a, b) => vec![a, b],
        E::Case { branches, otherwise, .. } => {
            branches.iter().map(|b| &b.1).chain(otherwise.as_deref()).collect()
        }
        E::Call(call) => match (&call.name.name.to_ascii_uppercase()[..], &call.args[..]) {
            ("IF", [_, a, b]) => vec![a, b],
            ("IFNULL" | "COALESCE", args) => args.iter().collect(),
            ("NULLIF", [a, _]) => vec![a],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A moment that is moved by days or by parts of days.
fn moment_of(days: bool) -> Parameter {
    moment(if days { ParameterType::Date } else { ParameterType::DateTime })
}

/// What the operand of a CAST is announced as: it is converted there, but for what a document is made of.
fn cast_of(to: &CastType) -> Parameter {
    let ty = match to {
        CastType::Json => return own(ParameterType::Json),
        CastType::Signed | CastType::Unsigned | CastType::Year => ParameterType::Int,
        CastType::Decimal(..) => ParameterType::Decimal,
        CastType::Float(_) => ParameterType::Double,
        CastType::Date => ParameterType::Date,
        CastType::Time(_) | CastType::Datetime(_) => ParameterType::DateTime,
        CastType::Binary(_) | CastType::Char(..) | CastType::NChar(_) | CastType::Spatial(_) => {
            ParameterType::Text
        }
    };
    converted(ty)
}
