//! Bound expressions as MySQL prints its items: in error 1690 and in EXPLAIN.

use crate::functions::Shape;
use crate::tree::{Arithmetic, CallSite, Column, Comparison, Expr, Extra, OwnedDatum, Truth};
use value::{ColumnType, Kind};

/// Names of what an expression refers to by position.
pub trait Names {
    /// A column, quoted: `` `schema`.`table`.`column` ``.
    fn column(&self, column: Column) -> String;
}

/// An expression's text.
pub fn expression(expr: &Expr, names: Option<&dyn Names>) -> String {
    let mut out = String::new();
    Printer { names, out: &mut out }.expr(expr);
    out
}

/// A call's text.
pub fn call(site: &CallSite, names: Option<&dyn Names>) -> String {
    let mut out = String::new();
    Printer { names, out: &mut out }.call(site);
    out
}

struct Printer<'p> {
    names: Option<&'p dyn Names>,
    out: &'p mut String,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn list(&mut self, items: &[Expr]) {
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                self.put(",");
            }
            self.expr(item);
        }
    }

    fn infix(&mut self, a: &Expr, operator: &str, b: &Expr) {
        self.put("(");
        self.expr(a);
        self.put(" ");
        self.put(operator);
        self.put(" ");
        self.expr(b);
        self.put(")");
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Param(_) => self.put("?"),
            Expr::Column(column) => match self.names {
                Some(names) => {
                    let name = names.column(*column);
                    self.put(&name);
                }
                None => self.put(&format!("`{}`", column.column)),
            },
            Expr::SystemVar(global, name) => {
                self.put(if *global { "@@global." } else { "@@" });
                self.put(name);
            }
            Expr::UserVar(name, _) => self.put(&format!("(@`{name}`)")),
            Expr::AssignUserVar(name, value, _) => {
                self.put(&format!("(@`{name}`:="));
                self.expr(value);
                self.put(")");
            }
            Expr::Arith(op, a, b) => self.infix(a, arithmetic(*op), b),
            Expr::Neg(a) => {
                self.put("-(");
                self.expr(a);
                self.put(")");
            }
            Expr::Compare(op, a, b, _) => self.infix(a, comparison(*op), b),
            Expr::And(a, b) => self.infix(a, "and", b),
            Expr::Or(a, b) => self.infix(a, "or", b),
            Expr::Xor(a, b) => self.infix(a, "xor", b),
            Expr::Not(a) => {
                self.put("(not(");
                self.expr(a);
                self.put("))");
            }
            Expr::Is(a, what, negated) => self.is(a, *what, *negated),
            Expr::In(value, list, _) => {
                self.put("(");
                self.expr(value);
                self.put(" in (");
                self.list(list);
                self.put("))");
            }
            Expr::Like(value, pattern, ..) => self.infix(value, "like", pattern),
            Expr::Case(branches, otherwise) => {
                self.put("(case");
                for (when, then) in branches {
                    self.put(" when ");
                    self.expr(when);
                    self.put(" then ");
                    self.expr(then);
                }
                if let Some(otherwise) = otherwise {
                    self.put(" else ");
                    self.expr(otherwise);
                }
                self.put(" end)");
            }
            Expr::Call(site) => self.call(site),
            Expr::Row(parts) => {
                self.put("(");
                for (n, part) in parts.iter().enumerate() {
                    if n > 0 {
                        self.put(",");
                    }
                    self.expr(&part.expr);
                }
                self.put(")");
            }
            Expr::Interval(n, _) => self.expr(&n.expr),
            Expr::Subquery(n, _) | Expr::Exists(n) => self.put(&format!("(select #{})", n + 2)),
            Expr::Quantified(q) => {
                self.put("<in_optimizer>(");
                self.list(&q.left);
                self.put(&format!(",(select #{}))", q.subplan + 2));
            }
        }
    }

    fn constant(&mut self, value: &OwnedDatum) {
        match value {
            OwnedDatum::Bytes(bytes) => {
                self.put("'");
                let text =
                    String::from_utf8_lossy(bytes).replace('\\', "\\\\").replace('\'', "\\'");
                self.put(&text);
                self.put("'");
            }
            // What is below zero was written with a sign before it.
            OwnedDatum::Int(v) if *v < 0 => self.put(&format!("-({})", v.unsigned_abs())),
            OwnedDatum::Decimal(v) if v.is_negative() => {
                let digits = v.to_string();
                self.put(&format!("-({})", digits.trim_start_matches('-')));
            }
            OwnedDatum::Date(v) => self.put(&format!("DATE'{v}'")),
            OwnedDatum::Time(v) => self.put(&format!("TIME'{v}'")),
            OwnedDatum::DateTime(v) => self.put(&format!("TIMESTAMP'{v}'")),
            other => {
                let text = value::format::to_text(&other.datum());
                self.put(&text);
            }
        }
    }

    fn is(&mut self, a: &Expr, what: Truth, negated: bool) {
        self.put("(");
        self.expr(a);
        self.put(if negated { " is not " } else { " is " });
        self.put(match what {
            Truth::Null => "null",
            Truth::True => "true",
            Truth::False => "false",
            Truth::Unknown => "unknown",
        });
        self.put(")");
    }

    fn call(&mut self, site: &CallSite) {
        let name = match site.function.name {
            "power" => "pow",
            name => name,
        };
        match (site.function.shape, site.arguments.as_slice()) {
            (Shape::Infix, [a, b]) => self.infix(a, name, b),
            (Shape::Bare, [a]) => self.expr(a),
            (Shape::NullIf, [a, Expr::Compare(_, _, b, _)]) => {
                self.put("nullif(");
                self.expr(a);
                self.put(",");
                self.expr(b);
                self.put(")");
            }
            (Shape::Prefix, [a]) => {
                self.put(name);
                self.expr(a);
            }
            (Shape::MemberOf, [a, b]) => {
                self.expr(a);
                self.put(" member of (");
                self.expr(b);
                self.put(")");
            }
            (Shape::Cast, [a]) if name == "convert" => {
                self.put("convert(");
                self.expr(a);
                self.put(" using ");
                self.put(site.ty.collation.charset().name());
                self.put(")");
            }
            (Shape::Cast, [a]) => {
                self.put("cast(");
                self.expr(a);
                self.put(" as ");
                self.put(&cast_type(&site.ty));
                self.put(")");
            }
            (_, arguments) => {
                self.put(name);
                self.put("(");
                if let Extra::Word(word) = site.extra {
                    self.put(word);
                    self.put(",");
                }
                self.list(arguments);
                self.put(")");
            }
        }
    }
}

/// A type as CAST names it.
pub fn cast_type(ty: &ColumnType) -> String {
    match ty.kind {
        kind if kind.is_int() => if ty.unsigned { "unsigned" } else { "signed" }.into(),
        Kind::Decimal => format!("decimal({},{})", ty.length, ty.decimals),
        kind if kind.is_temporal() && ty.decimals > 0 => {
            format!("{}({})", kind.name(), ty.decimals)
        }
        Kind::VarBinary => "binary".into(),
        Kind::Binary => format!("binary({})", ty.length),
        kind if kind.is_text() => format!("char charset {}", ty.collation.charset().name()),
        kind => kind.name().into(),
    }
}

fn arithmetic(op: Arithmetic) -> &'static str {
    match op {
        Arithmetic::Add => "+",
        Arithmetic::Sub | Arithmetic::SubSigned => "-",
        Arithmetic::Mul => "*",
        Arithmetic::Div(_) => "/",
        Arithmetic::IntDiv => "DIV",
        Arithmetic::Mod => "%",
    }
}

fn comparison(op: Comparison) -> &'static str {
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
