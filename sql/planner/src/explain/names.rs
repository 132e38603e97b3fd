//! Expressions as EXPLAIN prints them, with the names that places in rows have.

use crate::query_plan::{LeafLayout, Node, QueryPlan, QueryStatement, WindowCall, WindowFunction};
use catalog::TableCache;
use expr::aggregate::{ANY_VALUE, AggregateCall};
use expr::functions::Shape;
use expr::tree::{
    Arithmetic, CallSite, Column, Comparison, Expr, OwnedDatum, Quantified, Truth, Typed,
};

/// Names of a block's leaves and of those around it.
#[derive(Clone)]
pub(crate) struct Names<'p> {
    pub(crate) tables: &'p TableCache,
    plan: &'p QueryPlan,
    statement: &'p QueryStatement,
    /// Texts of computed leaves' columns.
    made: Vec<Vec<String>>,
    outer: Option<&'p Names<'p>>,
    /// Columns are written quoted and with their schema.
    full: bool,
    /// SELECT number of the block's first subquery.
    pub(crate) first_subquery: u32,
}

impl<'p> Names<'p> {
    pub(crate) fn of(
        plan: &'p QueryPlan,
        statement: &'p QueryStatement,
        tables: &'p TableCache,
        outer: Option<&'p Names<'p>>,
    ) -> Names<'p> {
        Names::made(plan, statement, tables, outer, false)
    }

    /// As [`Names::of`], with columns as `` `schema`.`table`.`column` ``.
    pub(crate) fn full(
        plan: &'p QueryPlan,
        statement: &'p QueryStatement,
        tables: &'p TableCache,
        outer: Option<&'p Names<'p>>,
    ) -> Names<'p> {
        Names::made(plan, statement, tables, outer, true)
    }

    fn made(
        plan: &'p QueryPlan,
        statement: &'p QueryStatement,
        tables: &'p TableCache,
        outer: Option<&'p Names<'p>>,
        full: bool,
    ) -> Names<'p> {
        let made = vec![Vec::new(); plan.leaves.len()];
        let mut names = Names { tables, plan, statement, made, outer, full, first_subquery: 2 };
        names.learn(&plan.root);
        names
    }

    /// What yields the block's rows.
    pub(crate) fn root(&self) -> &Node {
        &self.plan.root
    }

    /// A column of a leaf.
    fn joined(&self, schema: &str, leaf: &str, column: &str) -> String {
        let parts = [schema, leaf, column];
        let parts = parts.iter().skip(usize::from(!self.full)).filter(|p| !p.is_empty());
        let quote = |part: &&str| match self.full {
            true => format!("`{}`", part.replace('`', "``")),
            false => (*part).to_string(),
        };
        parts.map(quote).collect::<Vec<_>>().join(".")
    }

    /// Notes what computed leaves hold, from the bottom up.
    fn learn(&mut self, node: &Node) {
        match node {
            Node::Group(group) => {
                self.learn(&group.input);
                let keys = group.keys.iter().map(|k| self.expr(&k.expr));
                let calls = group.aggregates.iter().map(|a| self.aggregate(a));
                let mut texts: Vec<String> = keys.chain(calls).collect();
                texts.push("grouping".into());
                self.made[usize::from(group.leaf)] = texts;
            }
            Node::Window(window) => {
                self.learn(&window.input);
                let over = self.over(&window.partition_by, &window.order_by);
                let texts =
                    window.functions.iter().map(|f| format!("{} OVER ({over})", self.window(f)));
                self.made[usize::from(window.leaf)] = texts.collect();
            }
            Node::Project { input, leaf, values } => {
                self.learn(input);
                let texts = values.iter().map(|v| self.expr(&v.expr)).collect();
                self.made[usize::from(*leaf)] = texts;
            }
            Node::Derived { leaf, query, .. } => {
                self.made[usize::from(*leaf)] = self.outputs_of(*leaf, query);
            }
            Node::Shared { leaf, shared, .. } => {
                let statement = self.statement;
                self.made[usize::from(*leaf)] =
                    self.outputs_of(*leaf, &statement.shared[*shared].query);
            }
            Node::Working { leaf, columns, .. } => {
                let name = self.leaf(*leaf);
                let texts = columns.iter().map(|column| self.joined("", &name, column));
                self.made[usize::from(*leaf)] = texts.collect();
            }
            Node::SetOp { leaf, inputs, .. } => {
                let names = inputs[0].outputs.iter().map(|o| o.column.name.clone()).collect();
                self.made[usize::from(*leaf)] = names;
            }
            Node::Recursive { leaf, seeds, .. } => {
                let names = seeds[0].outputs.iter().map(|o| o.column.name.clone()).collect();
                self.made[usize::from(*leaf)] = names;
            }
            Node::Join { outer, inner, .. } => {
                self.learn(outer);
                self.learn(inner);
            }
            Node::HashJoin { probe, build, .. } => {
                self.learn(probe);
                self.learn(build);
            }
            Node::Filter { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. } => self.learn(input),
            _ => {}
        }
    }

    fn outputs_of(&self, leaf: u16, query: &QueryPlan) -> Vec<String> {
        let name = &self.plan.leaves[usize::from(leaf)].name;
        let column = |o: &crate::plan::Output| self.joined("", name, &o.column.name);
        query.outputs.iter().map(column).collect()
    }

    /// Columns of a leaf that are looked at.
    pub(crate) fn needed(&self, leaf: u16) -> &[usize] {
        &self.plan.leaves[usize::from(leaf)].needed
    }

    /// The name of a leaf.
    pub(crate) fn leaf(&self, leaf: u16) -> String {
        self.plan.leaves[usize::from(leaf)].name.clone()
    }

    /// A column of this block with its schema.
    pub(crate) fn qualified(&self, c: Column) -> String {
        let mut names = self;
        for _ in 0..c.depth {
            names = names.outer.unwrap_or(names);
        }
        let schema = names
            .plan
            .leaves
            .get(usize::from(c.leaf))
            .and_then(|def| super::rows::schema_of(&def.layout, self.tables));
        let plain = Names { full: false, ..names.clone() };
        let column = plain.column(Column { depth: 0, ..c });
        match schema {
            Some(schema) => format!("{schema}.{column}"),
            None => column,
        }
    }

    /// A column of a leaf without its table, another expression whole.
    pub(crate) fn item(&self, e: &Expr) -> String {
        match e {
            Expr::Column(c) if c.depth == 0 => {
                let def = self.plan.leaves.get(usize::from(c.leaf)).map(|leaf| &leaf.layout);
                let table = match def {
                    Some(LeafLayout::Table(table)) => self.tables.def(*table),
                    Some(LeafLayout::Virtual(table)) => table.def(),
                    _ => return self.expr(e),
                };
                let column = table.columns.get(usize::from(c.column));
                self.joined("", "", column.map_or("?", |c| &c.name))
            }
            other => self.expr(other),
        }
    }

    /// Names of the columns of a leaf that are looked at, where they are known.
    pub(crate) fn columns(&self, leaf: u16) -> Vec<String> {
        let texts = &self.made[usize::from(leaf)];
        let last = |text: &String| {
            let name = text.rsplit('.').next().unwrap_or_default();
            name.trim_matches('`').to_string()
        };
        self.needed(leaf).iter().filter_map(|c| texts.get(*c)).map(last).collect()
    }

    fn column(&self, c: Column) -> String {
        let mut names = self;
        for _ in 0..c.depth {
            match names.outer {
                Some(outer) => names = outer,
                None => return "?".to_string(),
            }
        }
        let Some(def) = names.plan.leaves.get(usize::from(c.leaf)) else { return "?".into() };
        let of = |table: &catalog::TableDef| {
            let column = table.columns.get(usize::from(c.column));
            names.joined(&table.schema, &def.name, column.map_or("?", |c| &c.name))
        };
        match &def.layout {
            LeafLayout::Table(table) => of(names.tables.def(*table)),
            LeafLayout::Virtual(table) => of(table.def()),
            LeafLayout::Made(_) => {
                let texts = &names.made[usize::from(c.leaf)];
                match texts.get(usize::from(c.column)) {
                    Some(text) => text.clone(),
                    None => format!("{}.{}", def.name, c.column),
                }
            }
        }
    }

    /// A list of values.
    pub(crate) fn list(&self, values: &[Typed]) -> String {
        values.iter().map(|v| self.expr(&v.expr)).collect::<Vec<_>>().join(", ")
    }

    fn exprs(&self, values: &[Expr]) -> String {
        values.iter().map(|v| self.expr(v)).collect::<Vec<_>>().join(",")
    }

    /// Sort keys.
    pub(crate) fn keys(&self, keys: &[crate::plan::SortKey]) -> String {
        let key = |k: &crate::plan::SortKey| {
            format!("{}{}", self.expr(&k.value.expr), if k.descending { " DESC" } else { "" })
        };
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn over(&self, partition: &[Typed], order: &[crate::plan::SortKey]) -> String {
        let mut text = String::new();
        if !partition.is_empty() {
            text.push_str(&format!("PARTITION BY {}", self.list(partition)));
        }
        if !order.is_empty() {
            let space = if text.is_empty() { "" } else { " " };
            text.push_str(&format!("{space}ORDER BY {} ", self.keys(order)));
        }
        text
    }

    /// An aggregate.
    pub(crate) fn aggregate(&self, call: &AggregateCall) -> String {
        if *call.function == ANY_VALUE {
            return self.list(&call.arguments);
        }
        if call.arguments.is_empty() {
            return format!("{}(0)", call.function.name);
        }
        let distinct = if call.distinct { "distinct " } else { "" };
        let arguments = call.arguments.iter().map(|a| self.expr(&a.expr)).collect::<Vec<_>>();
        let mut text = format!("{}({distinct}{}", call.function.name, arguments.join(","));
        if call.function.name == "group_concat" {
            let key = |k: &crate::plan::SortKey| {
                let way = if k.descending { "DESC" } else { "ASC" };
                format!("{} {way}", self.expr(&k.value.expr))
            };
            let keys = call.order_by.iter().map(key).collect::<Vec<_>>().join(",");
            if !keys.is_empty() {
                text.push_str(&format!(" order by {keys}"));
            }
            let separator = String::from_utf8_lossy(&call.separator);
            text.push_str(&format!(" separator '{separator}'"));
        }
        text.push(')');
        text
    }

    /// A window function without its window.
    pub(crate) fn window(&self, call: &WindowCall) -> String {
        use WindowFunction as F;
        match &call.function {
            F::Aggregate(call) => self.aggregate(call),
            F::RowNumber => "row_number()".into(),
            F::Rank => "rank()".into(),
            F::DenseRank => "dense_rank()".into(),
            F::PercentRank => "percent_rank()".into(),
            F::CumeDist => "cume_dist()".into(),
            F::Ntile(n) => format!("ntile({})", self.expr(n)),
            F::Lag { value, offset, lead, .. } => {
                let name = if *lead { "lead" } else { "lag" };
                format!("{name}({},{})", self.expr(&value.expr), self.expr(offset))
            }
            F::FirstValue(v) => format!("first_value({})", self.expr(&v.expr)),
            F::LastValue(v) => format!("last_value({})", self.expr(&v.expr)),
            F::NthValue(v, n) => format!("nth_value({},{})", self.expr(&v.expr), self.expr(n)),
        }
    }

    /// An expression.
    pub(crate) fn expr(&self, e: &Expr) -> String {
        match e {
            Expr::Const(value) => constant(value),
            Expr::Param(_) => "?".to_string(),
            Expr::Column(c) => self.column(*c),
            Expr::SystemVar(global, name) => {
                format!("@@{}{name}", if *global { "global." } else { "" })
            }
            Expr::UserVar(name, _) => format!("(@{name})"),
            Expr::AssignUserVar(name, value, _) => format!("(@{name}:={})", self.expr(value)),
            Expr::Arith(op, a, b) => {
                let op = match op {
                    Arithmetic::Add => "+",
                    Arithmetic::Sub | Arithmetic::SubSigned => "-",
                    Arithmetic::Mul => "*",
                    Arithmetic::Div(_) => "/",
                    Arithmetic::IntDiv => "DIV",
                    Arithmetic::Mod => "%",
                };
                format!("({} {op} {})", self.expr(a), self.expr(b))
            }
            Expr::Neg(a) => format!("-({})", self.expr(a)),
            Expr::Compare(op, a, b, _) => {
                format!("({} {} {})", self.expr(a), operator(*op), self.expr(b))
            }
            Expr::And(..) => format!("({})", self.chain(e, true).join(" and ")),
            Expr::Or(..) => format!("({})", self.chain(e, false).join(" or ")),
            Expr::Xor(a, b) => format!("({} xor {})", self.expr(a), self.expr(b)),
            Expr::Not(a) => self.negated(a),
            Expr::Is(a, truth, negated) => {
                let not = if *negated { "not " } else { "" };
                let what = match truth {
                    Truth::Null => "null",
                    Truth::True => "true",
                    Truth::False => "false",
                    Truth::Unknown => "unknown",
                };
                format!("({} is {not}{what})", self.expr(a))
            }
            Expr::In(a, list, _) => format!("({} in ({}))", self.expr(a), self.exprs(list)),
            Expr::Like(a, b, ..) => format!("({} like {})", self.expr(a), self.expr(b)),
            Expr::Case(branches, otherwise) => {
                let branch = |(when, then): &(Expr, Expr)| {
                    format!("when {} then {}", self.expr(when), self.expr(then))
                };
                let branches = branches.iter().map(branch).collect::<Vec<_>>().join(" ");
                let rest = otherwise.as_ref().map(|e| format!(" else {}", self.expr(e)));
                format!("(case {branches}{} end)", rest.unwrap_or_default())
            }
            Expr::Call(site) => self.call(site),
            Expr::Row(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.expr(&p.expr)).collect();
                format!("({})", parts.join(","))
            }
            Expr::Interval(n, _) => self.expr(&n.expr),
            Expr::Subquery(n, _) => format!("(select #{})", self.select_number(*n)),
            Expr::Exists(n) => format!("exists(select #{})", self.select_number(*n)),
            Expr::Quantified(q) => self.quantified(q),
        }
    }

    fn call(&self, site: &CallSite) -> String {
        let name = site.function.name;
        match (site.function.shape, &site.arguments[..]) {
            (Shape::Infix, [a, b]) => format!("({} {name} {})", self.expr(a), self.expr(b)),
            (Shape::Bare, [a]) => self.expr(a),
            (Shape::NullIf, [a, Expr::Compare(_, _, b, _)]) => {
                format!("nullif({},{})", self.expr(a), self.expr(b))
            }
            (Shape::Prefix, [a]) => format!("{name}{}", self.expr(a)),
            (Shape::Cast, [a]) => {
                format!("cast({} as {})", self.expr(a), expr::print::cast_type(&site.ty))
            }
            (_, arguments) => format!("{name}({})", self.exprs(arguments)),
        }
    }

    /// IN, ANY and ALL of a subquery.
    fn quantified(&self, q: &Quantified) -> String {
        let left = match &q.left[..] {
            [one] => self.expr(one),
            several => format!("({})", self.exprs(several)),
        };
        let number = self.select_number(q.subplan);
        match (q.op, q.all) {
            (Comparison::Eq, false) => {
                format!("<in_optimizer>({left},{left} in (select #{number}))")
            }
            (Comparison::Ne, true) => {
                format!("<in_optimizer>({left},{left} in (select #{number}) is false)")
            }
            (op, all) => {
                let word = if all { "all" } else { "any" };
                format!("<nop>({left} {} {word} (select #{number}))", operator(op))
            }
        }
    }

    fn select_number(&self, subplan: usize) -> u32 {
        self.first_subquery + subplan as u32
    }

    fn negated(&self, a: &Expr) -> String {
        match a {
            Expr::Like(a, b, ..) => format!("(not(({} like {})))", self.expr(a), self.expr(b)),
            Expr::In(a, list, _) => format!("({} not in ({}))", self.expr(a), self.exprs(list)),
            other => format!("(not({}))", self.expr(other)),
        }
    }

    fn chain(&self, e: &Expr, and: bool) -> Vec<String> {
        match e {
            Expr::And(a, b) if and => [self.chain(a, and), self.chain(b, and)].concat(),
            Expr::Or(a, b) if !and => [self.chain(a, and), self.chain(b, and)].concat(),
            other => vec![self.expr(other)],
        }
    }
}

fn operator(op: Comparison) -> &'static str {
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

fn constant(value: &OwnedDatum) -> String {
    match value {
        OwnedDatum::Null => "NULL".to_string(),
        OwnedDatum::Bytes(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
        other => value::format::to_text(&other.datum()),
    }
}
