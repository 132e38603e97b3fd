//! Syntax to expressions: names become positions, types and collations are derived.

use crate::plan::{InsertValue, Output};
use catalog::TableDef;
use expr::SqlError;
use expr::functions;
use expr::tree::{
    AggregateCall, AggregateKind, Arithmetic, Column, Comparison, Expr, OwnedDatum, Truth, Typed,
};
use parser::ast::{self, BinaryOp, IsWhat, Literal, UnaryOp};
use value::{Collation, ColumnType, Decimal, Kind};

/// Where names are looked up while an expression is bound.
pub struct Scope<'a> {
    /// The table and the name it goes by.
    pub table: Option<(&'a TableDef, &'a str)>,
    /// Named in 1054: `field list`, `where clause`, ...
    pub clause: &'static str,
    /// Where aggregates are collected; `None` where they are not allowed.
    pub aggregates: Option<&'a mut Vec<AggregateCall>>,
    /// Outputs whose aliases are seen before the table's columns: HAVING and ORDER BY.
    pub aliases: &'a [Output],
    /// Default collation of literals.
    pub collation: Collation,
}

impl<'a> Scope<'a> {
    /// A scope over a table or none, without aggregates.
    pub fn new(table: Option<(&'a TableDef, &'a str)>, clause: &'static str) -> Scope<'a> {
        Scope {
            table,
            clause,
            aggregates: None,
            aliases: &[],
            collation: Collation::Utf8mb4_0900AiCi,
        }
    }

    /// The same scope with another default collation of literals.
    #[must_use]
    pub fn collated(self, collation: Collation) -> Scope<'a> {
        Scope { collation, ..self }
    }

    /// Binds an expression.
    pub fn bind(&mut self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        use ast::Expr as E;
        match expr {
            E::Literal(literal) => self.literal(literal),
            E::Param(n) => Ok(Typed::new(
                Expr::Param(*n as usize),
                ColumnType::varchar(16_383, self.collation),
            )),
            E::Column(column) => self.column(column),
            E::UserVar(name) => Ok(Typed::new(
                Expr::UserVar(name.clone()),
                ColumnType::varchar(16_383, self.collation),
            )),
            E::AssignUserVar(name, value) => {
                let value = self.bind(value)?;
                let expr = Expr::AssignUserVar(name.clone(), Box::new(value.expr));
                Ok(Typed { expr, ..value })
            }
            E::SystemVar(var) => self.system_variable(var),
            E::Unary(op, operand) => self.unary(*op, operand),
            E::Binary(op, a, b) => self.binary(*op, a, b),
            E::Is { expr, what, negated } => {
                let truth = match what {
                    IsWhat::Null => Truth::Null,
                    IsWhat::True => Truth::True,
                    IsWhat::False => Truth::False,
                    IsWhat::Unknown => Truth::Unknown,
                };
                let operand = Box::new(self.bind(expr)?.expr);
                Ok(boolean(Expr::Is(operand, truth, *negated)))
            }
            E::Between { expr, low, high, negated } => self.between(expr, low, high, *negated),
            E::In { expr, list, negated } => self.in_list(expr, list, *negated),
            E::Like { expr, pattern, escape, negated } => {
                self.like(expr, pattern, escape.as_deref(), *negated)
            }
            E::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            E::Call(call) => self.call(call),
            E::Aggregate(aggregate) => self.aggregate(aggregate),
            E::Collate(expr, name) => {
                let value = self.bind(expr)?;
                let collation = collate(&value, name, self.collation)?;
                Ok(Typed { ty: ColumnType { collation, ..value.ty }, ..value })
            }
            E::Subquery(_) | E::Exists(_) | E::InQuery { .. } | E::Quantified { .. } => {
                Err(SqlError::unsupported("subquery"))
            }
            E::Row(_) => Err(SqlError::unsupported("row constructor")),
            E::Cast { .. } | E::ConvertUsing(..) => Err(SqlError::unsupported("CAST")),
            E::Regexp { .. } => Err(SqlError::unsupported("REGEXP")),
            E::Interval(..) => Err(SqlError::unsupported("INTERVAL")),
            E::Match { .. } => Err(SqlError::unsupported("MATCH ... AGAINST")),
            E::JsonPath { .. } | E::MemberOf(..) => Err(SqlError::unsupported("JSON operators")),
            E::Default | E::DefaultOf(_) => Err(SqlError::unsupported("DEFAULT in an expression")),
            E::ValuesOf(_) => Err(SqlError::unsupported("VALUES()")),
            E::JsonValue(_) => Err(SqlError::unsupported("JSON_VALUE")),
            E::Odbc(..) => Err(SqlError::unsupported("ODBC escape")),
        }
    }

    /// Binds a value of INSERT or UPDATE, where DEFAULT may stand alone.
    pub fn bind_value(&mut self, expr: &ast::Expr) -> Result<InsertValue, SqlError> {
        match expr {
            ast::Expr::Default => Ok(InsertValue::Default),
            other => Ok(InsertValue::Expr(self.bind(other)?.expr)),
        }
    }

    fn literal(&self, literal: &Literal) -> Result<Typed, SqlError> {
        let not_null = |expr, ty: ColumnType| Typed::new(Expr::Const(expr), ty.not_null());
        Ok(match literal {
            Literal::Null => Typed::new(Expr::Const(OwnedDatum::Null), ColumnType::varbinary(0)),
            Literal::Bool(b) => {
                not_null(OwnedDatum::Int(i64::from(*b)), ColumnType::int(Kind::BigInt, false))
            }
            Literal::Int(v) => not_null(OwnedDatum::Int(*v), ColumnType::int(Kind::BigInt, false)),
            Literal::UInt(v) => not_null(OwnedDatum::UInt(*v), ColumnType::int(Kind::BigInt, true)),
            Literal::Float(v) => {
                let typed = not_null(OwnedDatum::Double(*v), ColumnType::int(Kind::Double, false));
                Typed { decimals: 31, ..typed }
            }
            Literal::Decimal(text) => {
                let value = decimal(text)?;
                let ty = ColumnType::int(Kind::Decimal, false);
                Typed { decimals: value.scale(), ..not_null(OwnedDatum::Decimal(value), ty) }
            }
            Literal::String(s) => {
                let charset = s.charset.as_deref();
                let text = value::charset::literal(&s.bytes, charset, self.collation)?;
                let length = text.collation.char_count(&text.bytes) as u32;
                let ty = match text.collation {
                    Collation::Binary => ColumnType::varbinary(length),
                    collation => ColumnType::varchar(length, collation),
                };
                not_null(OwnedDatum::Bytes(text.bytes.into_owned()), ty)
            }
            Literal::Hex(bytes) | Literal::Bit(bytes) => not_null(
                OwnedDatum::Bytes(bytes.clone()),
                ColumnType::varbinary(bytes.len() as u32),
            ),
            Literal::Temporal(..) => return Err(SqlError::unsupported("temporal literal")),
        })
    }

    fn column(&self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let written = [column.schema.as_deref(), column.table.as_deref(), Some(&column.column)];
        let name = written.into_iter().flatten().collect::<Vec<_>>().join(".");
        let unknown = || SqlError::UnknownColumn { name: name.clone(), clause: self.clause };
        let aliased = |o: &&Output| value::name::same_name(&o.column.name, &column.column);
        if let Some(output) = self.aliases.iter().find(aliased).filter(|_| column.table.is_none()) {
            return Ok(output.value.clone());
        }
        let (def, alias) = self.table.ok_or_else(unknown)?;
        let schema_differs = column.schema.as_ref().is_some_and(|s| *s != def.schema);
        if schema_differs || column.table.as_ref().is_some_and(|t| t != alias) {
            return Err(unknown());
        }
        let position = def.column(&column.column).ok_or_else(unknown)?;
        Ok(Typed::new(Expr::Column(Column::first(position)), def.columns[position].ty))
    }

    fn system_variable(&self, var: &ast::SystemVar) -> Result<Typed, SqlError> {
        if var.component.is_some() {
            return Err(SqlError::unsupported("structured system variable"));
        }
        let global = var.scope == ast::Scope::Global;
        let expr = Expr::SystemVar(global, var.name.to_ascii_lowercase());
        Ok(Typed::new(expr, ColumnType::varchar(1024, self.collation)))
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Typed, SqlError> {
        unary(op, self.bind(operand)?)
    }

    fn binary(&mut self, op: BinaryOp, a: &ast::Expr, b: &ast::Expr) -> Result<Typed, SqlError> {
        let (a, b) = (self.bind(a)?, self.bind(b)?);
        self.binary_of(op, a, b)
    }

    /// An infix operator over bound operands.
    pub(crate) fn binary_of(&self, op: BinaryOp, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        if let Some(comparison) = comparison(op) {
            return Ok(compare(comparison, a, b, self.collation));
        }
        let pair = |a: Typed, b: Typed| (Box::new(a.expr), Box::new(b.expr));
        match op {
            BinaryOp::And => {
                let (a, b) = pair(a, b);
                Ok(boolean(Expr::And(a, b)))
            }
            BinaryOp::Or => {
                let (a, b) = pair(a, b);
                Ok(boolean(Expr::Or(a, b)))
            }
            BinaryOp::Xor => {
                let (a, b) = pair(a, b);
                Ok(boolean(Expr::Xor(a, b)))
            }
            BinaryOp::Add => Ok(arithmetic(Arithmetic::Add, a, b)),
            BinaryOp::Sub => Ok(arithmetic(Arithmetic::Sub, a, b)),
            BinaryOp::Mul => Ok(arithmetic(Arithmetic::Mul, a, b)),
            BinaryOp::Div => Ok(arithmetic(Arithmetic::Div, a, b)),
            BinaryOp::IntDiv => Ok(arithmetic(Arithmetic::IntDiv, a, b)),
            BinaryOp::Mod => Ok(arithmetic(Arithmetic::Mod, a, b)),
            BinaryOp::Concat => self.function("concat", vec![a, b]),
            _ => Err(SqlError::unsupported(format!("operator {op:?}"))),
        }
    }

    fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let (value, low, high) = (self.bind(expr)?, self.bind(low)?, self.bind(high)?);
        let above = compare(Comparison::Ge, value.clone(), low, self.collation);
        let below = compare(Comparison::Le, value, high, self.collation);
        let both = Expr::And(Box::new(above.expr), Box::new(below.expr));
        Ok(boolean(if negated { Expr::Not(Box::new(both)) } else { both }))
    }

    fn in_list(
        &mut self,
        expr: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let value = self.bind(expr)?;
        let items = list.iter().map(|item| self.bind(item)).collect::<Result<Vec<_>, _>>()?;
        let collation = items.iter().fold(collation_of(&value, self.collation), |c, item| {
            c.or(collation_of(item, self.collation))
        });
        let items = items.into_iter().map(|item| item.expr).collect();
        let inside = Expr::In(Box::new(value.expr), items, collation.unwrap_or(self.collation));
        Ok(boolean(if negated { Expr::Not(Box::new(inside)) } else { inside }))
    }

    fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let escape = match escape {
            None => b'\\',
            Some(ast::Expr::Literal(Literal::String(s))) if s.bytes.len() == 1 => s.bytes[0],
            Some(_) => {
                return Err(SqlError::Other(1210, "HY000", "Incorrect arguments to ESCAPE".into()));
            }
        };
        let (value, pattern) = (self.bind(expr)?, self.bind(pattern)?);
        let collation = collation_of(&value, self.collation)
            .or(collation_of(&pattern, self.collation))
            .unwrap_or(self.collation);
        let like = Expr::Like(Box::new(value.expr), Box::new(pattern.expr), escape, collation);
        Ok(boolean(if negated { Expr::Not(Box::new(like)) } else { like }))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Typed, SqlError> {
        let operand = operand.map(|e| self.bind(e)).transpose()?;
        let mut bound = Vec::new();
        let mut types = Vec::new();
        for (when, then) in branches {
            let when = self.bind(when)?;
            let condition = match &operand {
                Some(value) => compare(Comparison::Eq, value.clone(), when, self.collation).expr,
                None => when.expr,
            };
            let then = self.bind(then)?;
            types.push(then.ty);
            bound.push((condition, then.expr));
        }
        let otherwise = otherwise.map(|e| self.bind(e)).transpose()?;
        types.extend(otherwise.iter().map(|e| e.ty));
        let ty = functions::common(&types);
        Ok(Typed::new(Expr::Case(bound, otherwise.map(|e| Box::new(e.expr))), ty))
    }

    fn call(&mut self, call: &ast::Call) -> Result<Typed, SqlError> {
        if call.over.is_some() {
            return Err(SqlError::unsupported("window function"));
        }
        let name = &call.name.name;
        if call.name.schema.is_some() || call.keyword.is_some() || call.modifier.is_some() {
            return Err(SqlError::unsupported(format!("function {name}")));
        }
        let arguments = call.args.iter().map(|a| self.bind(a)).collect::<Result<Vec<_>, _>>()?;
        self.function(name, arguments)
    }

    /// A function of the registry over bound arguments.
    pub(crate) fn function(&self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let function = functions::find(name).ok_or_else(|| {
            SqlError::unsupported(format!("function {}", name.to_ascii_uppercase()))
        })?;
        let (least, most) = function.arguments;
        if arguments.len() < least || arguments.len() > most {
            let text = format!("Incorrect parameter count in the call to native function '{name}'");
            return Err(SqlError::Other(1582, "42000", text));
        }
        let types: Vec<_> = arguments.iter().map(|a| a.ty).collect();
        let bytes = types.first().is_some_and(|ty| ty.kind.is_binary_string());
        let function = if bytes { functions::of_bytes(function) } else { function };
        let decimals = arguments.iter().map(|a| a.decimals).max().unwrap_or(0);
        let ty = functions::result_type(function.result, &types);
        let expr = Expr::Call(function, arguments.into_iter().map(|a| a.expr).collect());
        let fixed = matches!(ty.kind, Kind::Decimal | Kind::Double);
        Ok(Typed { expr, ty, decimals: if fixed { decimals } else { 0 } })
    }

    fn aggregate(&mut self, aggregate: &ast::Aggregate) -> Result<Typed, SqlError> {
        use ast::AggregateKind as A;
        if aggregate.over.is_some() {
            return Err(SqlError::unsupported("window function"));
        }
        if self.aggregates.is_none() {
            return Err(SqlError::Other(1111, "HY000", "Invalid use of group function".into()));
        }
        let kind = match aggregate.kind {
            A::Count if aggregate.args.is_empty() => AggregateKind::CountAll,
            A::Count => AggregateKind::Count,
            A::Sum => AggregateKind::Sum,
            A::Min => AggregateKind::Min,
            A::Max => AggregateKind::Max,
            A::Avg => AggregateKind::Avg,
            other => return Err(SqlError::unsupported(format!("{other:?}").to_ascii_uppercase())),
        };
        if aggregate.args.len() > 1 {
            return Err(SqlError::unsupported("COUNT(DISTINCT) of several expressions"));
        }
        let outer = self.aggregates.take();
        let argument = aggregate.args.first().map(|a| self.bind(a)).transpose();
        self.aggregates = outer;
        let argument = argument?.unwrap_or_else(|| Typed::bigint(Expr::int(1)));
        let (ty, decimals) = aggregate_type(kind, &argument);
        let collation = collation_of(&argument, self.collation).unwrap_or(self.collation);
        let call = AggregateCall {
            kind,
            distinct: aggregate.distinct,
            argument: argument.expr,
            collation,
        };
        let calls = self.aggregates.as_mut().expect("checked above");
        let position = calls.iter().position(|c| *c == call).unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Typed { expr: Expr::Aggregate(position), ty, decimals })
    }
}

/// Type and decimals of an aggregate's result.
pub(crate) fn aggregate_type(kind: AggregateKind, argument: &Typed) -> (ColumnType, u8) {
    let double = argument.ty.kind == Kind::Double || argument.ty.kind.is_string();
    match kind {
        AggregateKind::CountAll | AggregateKind::Count => {
            (ColumnType::int(Kind::BigInt, false).not_null(), 0)
        }
        AggregateKind::Min | AggregateKind::Max => {
            (ColumnType { nullable: true, ..argument.ty }, argument.decimals)
        }
        AggregateKind::Sum | AggregateKind::Avg if double => {
            (ColumnType::int(Kind::Double, false), 31)
        }
        AggregateKind::Sum => (ColumnType::int(Kind::Decimal, false), argument.decimals),
        AggregateKind::Avg => (ColumnType::int(Kind::Decimal, false), argument.decimals + 4),
    }
}

/// A prefix operator over a bound operand.
pub(crate) fn unary(op: UnaryOp, value: Typed) -> Result<Typed, SqlError> {
    match op {
        UnaryOp::Plus => Ok(value),
        UnaryOp::Not | UnaryOp::Bang => Ok(boolean(Expr::Not(Box::new(value.expr)))),
        UnaryOp::BitNot => Err(SqlError::unsupported("operator ~")),
        UnaryOp::Neg => {
            let ty = if value.ty.kind.is_int() || value.ty.kind == Kind::Decimal {
                ColumnType { unsigned: false, ..value.ty }
            } else {
                ColumnType::int(Kind::Double, false)
            };
            Ok(Typed { expr: Expr::Neg(Box::new(value.expr)), ty, decimals: value.decimals })
        }
    }
}

/// A truth value.
pub(crate) fn boolean(expr: Expr) -> Typed {
    Typed::bigint(expr)
}

/// The collation that COLLATE gives a value; a number's text is of the connection's character set.
pub(crate) fn collate(
    value: &Typed,
    name: &str,
    default: Collation,
) -> Result<Collation, SqlError> {
    let text = if value.ty.kind.is_string() { value.ty.collation } else { default };
    Ok(Collation::named_for(name, text.charset())?)
}

/// The collation of a text value that is a column or carries COLLATE; literals yield to columns.
pub(crate) fn collation_of(value: &Typed, default: Collation) -> Option<Collation> {
    let literal = matches!(
        value.expr,
        Expr::Const(_) | Expr::Param(_) | Expr::UserVar(_) | Expr::SystemVar(..)
    );
    let plain = value.ty.collation == default;
    (value.ty.kind.is_string() && !(literal && plain)).then_some(value.ty.collation)
}

/// A comparison under the operands' collation.
pub(crate) fn compare(op: Comparison, a: Typed, b: Typed, default: Collation) -> Typed {
    let collation = collation_of(&a, default).or(collation_of(&b, default)).unwrap_or(default);
    boolean(Expr::Compare(op, Box::new(a.expr), Box::new(b.expr), collation))
}

fn arithmetic(op: Arithmetic, a: Typed, b: Typed) -> Typed {
    let is = |kind| a.ty.kind == kind || b.ty.kind == kind;
    let text = a.ty.kind.is_string() || b.ty.kind.is_string();
    let (ty, decimals) = if op == Arithmetic::IntDiv {
        (ColumnType::int(Kind::BigInt, a.ty.unsigned || b.ty.unsigned), 0)
    } else if is(Kind::Double) || text {
        (ColumnType::int(Kind::Double, false), 31)
    } else if op == Arithmetic::Div {
        (ColumnType::int(Kind::Decimal, false), a.decimals + 4)
    } else if is(Kind::Decimal) {
        let decimals = match op {
            Arithmetic::Mul => a.decimals + b.decimals,
            _ => a.decimals.max(b.decimals),
        };
        (ColumnType::int(Kind::Decimal, false), decimals)
    } else {
        (ColumnType::int(Kind::BigInt, a.ty.unsigned || b.ty.unsigned), 0)
    };
    Typed { expr: Expr::Arith(op, Box::new(a.expr), Box::new(b.expr)), ty, decimals }
}

fn comparison(op: BinaryOp) -> Option<Comparison> {
    Some(match op {
        BinaryOp::Eq => Comparison::Eq,
        BinaryOp::NullSafeEq => Comparison::NullSafeEq,
        BinaryOp::Ne => Comparison::Ne,
        BinaryOp::Lt => Comparison::Lt,
        BinaryOp::Le => Comparison::Le,
        BinaryOp::Gt => Comparison::Gt,
        BinaryOp::Ge => Comparison::Ge,
        _ => return None,
    })
}

fn decimal(text: &str) -> Result<Decimal, SqlError> {
    let too_long = || SqlError::unsupported("decimal literal of more than 65 digits");
    Decimal::parse(text).ok_or_else(too_long)
}
