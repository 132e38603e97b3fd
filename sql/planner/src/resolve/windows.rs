//! Window functions and the windows that they stand over.

use super::Resolver;
use crate::error::PlanError;
use crate::logical::{WINDOW_LEAF, WindowUse, column_of};
use crate::plan::SortKey;
use crate::query_plan::{FrameBound, FrameOffset, WindowCall, WindowFrame, WindowFunction};
use expr::SqlError;
use expr::tree::{OwnedDatum, Typed};
use parser::ast;
use value::{ColumnType, Kind, name::same_name};

impl Resolver<'_, '_> {
    /// An aggregate with OVER.
    pub(crate) fn window_aggregate(
        &mut self,
        aggregate: &ast::Aggregate,
    ) -> Result<Typed, SqlError> {
        let over = aggregate.over.as_deref().expect("the caller saw OVER");
        let name = aggregate.kind.word();
        self.require_windows(name)?;
        if aggregate.distinct {
            return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
        }
        let call = self.aggregate_call(aggregate)?;
        if !call.function.over_windows {
            return Err(SqlError::unsupported(format!(
                "{} as window function",
                call.function.name
            )));
        }
        let ty = call.ty;
        self.window(over, WindowFunction::Aggregate(call), ty)
    }

    /// A function that is nothing without OVER.
    pub(crate) fn window_function(&mut self, call: &ast::Call) -> Result<Typed, SqlError> {
        let over = call.over.as_deref().expect("the caller saw OVER");
        let name = call.name.name.to_ascii_lowercase();
        self.require_windows(&name)?;
        if let Some(modifier) = &call.modifier {
            return Err(SqlError::unsupported(modifier.clone()));
        }
        let mut arguments = call
            .args
            .iter()
            .map(|a| self.bind(a))
            .collect::<Result<Vec<_>, SqlError>>()?
            .into_iter();
        let wrong = || SqlError::from(PlanError::ParameterCount(&name));
        let number = ColumnType::int(Kind::BigInt, true).not_null();
        let share = ColumnType::int(Kind::Double, false).not_null();
        let mut next = || arguments.next().ok_or_else(wrong);
        let nullable = |v: &Typed| ColumnType { nullable: true, ..v.ty };
        let (function, ty) = match name.as_str() {
            "row_number" => (WindowFunction::RowNumber, number),
            "rank" => (WindowFunction::Rank, number),
            "dense_rank" => (WindowFunction::DenseRank, number),
            "percent_rank" => (WindowFunction::PercentRank, share),
            "cume_dist" => (WindowFunction::CumeDist, share),
            "ntile" => (WindowFunction::Ntile(positive(next()?.expr, "ntile")?), number),
            "first_value" | "last_value" => {
                let value = next()?;
                let ty = nullable(&value);
                match name.as_str() {
                    "first_value" => (WindowFunction::FirstValue(value), ty),
                    _ => (WindowFunction::LastValue(value), ty),
                }
            }
            "nth_value" => {
                let value = next()?;
                let ty = nullable(&value);
                (WindowFunction::NthValue(value, positive(next()?.expr, "nth_value")?), ty)
            }
            "lag" | "lead" => {
                let mut value = next()?;
                let offset = next().map_or_else(|_| expr::Expr::int(1), |o| o.expr);
                let mut default = next().ok();
                let ty = match &mut default {
                    None => nullable(&value),
                    Some(default) => {
                        let ty = self.build.common(&[&value, default]);
                        expr::build::alike(&mut value, &ty);
                        expr::build::alike(default, &ty);
                        ty
                    }
                };
                let lead = name == "lead";
                (WindowFunction::Lag { value, offset, default, lead }, ty)
            }
            _ => return Err(SqlError::unsupported(format!("window function {name}"))),
        };
        if arguments.next().is_some() {
            return Err(wrong());
        }
        self.window(over, function, ty)
    }

    fn require_windows(&mut self, name: &str) -> Result<(), SqlError> {
        let scope = self.scope();
        if scope.windows_allowed && scope.in_aggregate == 0 {
            return Ok(());
        }
        Err(PlanError::WindowPlace(name).into())
    }

    /// Adds a function over a window to the block.
    fn window(
        &mut self,
        over: &ast::Window,
        function: WindowFunction,
        ty: ColumnType,
    ) -> Result<Typed, SqlError> {
        let window = self.whole_window(over, 0)?;
        let shown = over.base.clone().unwrap_or_else(|| "<unnamed window>".to_string());
        let ordered = window.order_by.iter().map(|item| &item.expr);
        if window.partition_by.iter().chain(ordered).any(is_position) {
            return Err(PlanError::WindowPosition(&shown).into());
        }
        let scope = self.scope();
        let before = (scope.clause, std::mem::replace(&mut scope.windows_allowed, false));
        scope.clause = "window partition by";
        let partition_by =
            window.partition_by.iter().map(|e| self.bind(e)).collect::<Result<Vec<_>, _>>();
        self.scope().clause = "window order by";
        let order_by = window
            .order_by
            .iter()
            .map(|item| Ok(SortKey { value: self.bind(&item.expr)?, descending: item.descending }));
        let order_by = order_by.collect::<Result<Vec<_>, SqlError>>();
        self.scope().clause = "window frame";
        let order = order_by.as_ref().ok().and_then(|keys| keys.first());
        let one = order.filter(|_| window.order_by.len() == 1);
        let measured =
            one.is_some_and(|key| key.value.ty.kind.is_number() || key.value.ty.kind.is_temporal());
        let frame = match &window.frame {
            Some(frame) => check_frame(frame, measured, &shown),
            None => Ok(()),
        };
        let frame = frame.and_then(|()| self.frame(window.frame.as_ref(), order));
        let scope = self.scope();
        (scope.clause, scope.windows_allowed) = before;
        let call = WindowCall { function, frame: frame?, ty };
        let window = WindowUse { partition_by: partition_by?, order_by: order_by?, call };
        let position = scope.windows.iter().position(|w| *w == window).unwrap_or_else(|| {
            scope.windows.push(window);
            scope.windows.len() - 1
        });
        Ok(Typed::new(column_of(WINDOW_LEAF, position), ty))
    }

    /// A window with what it takes over from the named one it refers to.
    fn whole_window(
        &mut self,
        window: &ast::Window,
        depth: usize,
    ) -> Result<ast::Window, SqlError> {
        let Some(name) = &window.base else { return Ok(window.clone()) };
        let scope = self.scope();
        let named = scope.named_windows.iter().find(|(n, _)| same_name(n, name));
        let Some((_, base)) = named.cloned() else {
            return Err(PlanError::UnknownWindow(name).into());
        };
        if depth > scope.named_windows.len() {
            return Err(PlanError::CircularWindows.into());
        }
        let base = self.whole_window(&base, depth + 1)?;
        let bare =
            window.partition_by.is_empty() && window.order_by.is_empty() && window.frame.is_none();
        if bare {
            return Ok(base);
        }
        if !window.partition_by.is_empty() {
            return Err(PlanError::WindowPartition.into());
        }
        if base.frame.is_some() {
            return Err(PlanError::WindowFrameInherited(name).into());
        }
        if !window.order_by.is_empty() && !base.order_by.is_empty() {
            return Err(PlanError::WindowOrderInherited(name).into());
        }
        let order_by = match window.order_by.is_empty() {
            true => base.order_by,
            false => window.order_by.clone(),
        };
        let frame = window.frame.clone();
        Ok(ast::Window { base: None, partition_by: base.partition_by, order_by, frame })
    }

    fn frame(
        &mut self,
        frame: Option<&ast::Frame>,
        order: Option<&SortKey>,
    ) -> Result<WindowFrame, SqlError> {
        let Some(frame) = frame else {
            let end = if order.is_some() { FrameBound::CurrentRow } else { FrameBound::Unbounded };
            return Ok(WindowFrame { rows: false, start: FrameBound::Unbounded, end });
        };
        use ast::FrameBound as B;
        if matches!(frame.start, B::UnboundedFollowing) {
            return Err(PlanError::FrameStart.into());
        }
        if matches!(frame.end, Some(B::UnboundedPreceding)) {
            return Err(PlanError::FrameEnd.into());
        }
        let start = self.frame_bound(&frame.start, order)?;
        let end = match &frame.end {
            None => FrameBound::CurrentRow,
            Some(end) => self.frame_bound(end, order)?,
        };
        Ok(WindowFrame { rows: frame.rows, start, end })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        order: Option<&SortKey>,
    ) -> Result<FrameBound, SqlError> {
        use ast::FrameBound as B;
        if let B::Preceding(distance) | B::Following(distance) = bound
            && let ast::Expr::Interval(n, unit) = &**distance
        {
            let Some(key) = order.filter(|key| key.value.ty.kind.is_temporal()) else {
                return Err(PlanError::RangeInterval.into());
            };
            let following = matches!(bound, B::Following(_));
            let n = self.bind(n)?;
            let interval = self.build.interval(n, *unit);
            // Backwards in an ascending order is earlier, in a descending one later.
            let op = match following != key.descending {
                true => ast::BinaryOp::Add,
                false => ast::BinaryOp::Sub,
            };
            let moved = self.build.binary(op, key.value.clone(), interval)?.expr;
            let offset = FrameOffset::Moved(moved);
            return Ok(match following {
                true => FrameBound::Following(offset),
                false => FrameBound::Preceding(offset),
            });
        }
        Ok(match bound {
            B::UnboundedPreceding | B::UnboundedFollowing => FrameBound::Unbounded,
            B::CurrentRow => FrameBound::CurrentRow,
            B::Preceding(n) => FrameBound::Preceding(FrameOffset::Number(self.bind(n)?.expr)),
            B::Following(n) => FrameBound::Following(FrameOffset::Number(self.bind(n)?.expr)),
        })
    }
}

/// A number that stands for a column of the select list.
fn is_position(e: &ast::Expr) -> bool {
    matches!(e, ast::Expr::Literal(ast::Literal::Int(_) | ast::Literal::UInt(_)))
}

/// Error 3586 for a frame that ends before it starts, 3587 for a distance where the order has no one measure.
fn check_frame(frame: &ast::Frame, measured: bool, window: &str) -> Result<(), SqlError> {
    use ast::FrameBound as B;
    let backwards = matches!(
        (&frame.start, &frame.end),
        (B::Following(_), None | Some(B::CurrentRow | B::Preceding(_)))
            | (B::CurrentRow, Some(B::Preceding(_)))
    );
    if backwards {
        return Err(PlanError::FrameBound(window).into());
    }
    let bounds = [Some(&frame.start), frame.end.as_ref()];
    let distant = |b: &B| matches!(b, B::Preceding(_) | B::Following(_));
    if !frame.rows && !measured && bounds.into_iter().flatten().any(distant) {
        return Err(PlanError::RangeOrder(window).into());
    }
    Ok(())
}

/// An argument that counts from 1, if it is constant.
fn positive(number: expr::Expr, function: &str) -> Result<expr::Expr, SqlError> {
    let wrong = match &number {
        expr::Expr::Const(OwnedDatum::Null) => function != "ntile",
        expr::Expr::Const(value) => value.datum().as_u64() == Some(0),
        _ => false,
    };
    match wrong {
        true => Err(PlanError::WrongArguments(function).into()),
        false => Ok(number),
    }
}

/// The type of the column that keeps a window function's value.
pub(crate) fn materialized_type(ty: ColumnType) -> ColumnType {
    /// Integers of more characters are kept as BIGINT.
    const INT_CHARS: u32 = 9;
    match ty.kind {
        kind if kind.is_int() => {
            let chars = expr::build::widths::int_width(&ty);
            let kind = if chars > INT_CHARS { Kind::BigInt } else { Kind::Int };
            ColumnType { kind, ..ty }
        }
        Kind::Year => ColumnType { kind: Kind::Int, zerofill: false, unsigned: true, ..ty },
        kind if kind.has_members() => {
            ColumnType::varchar(expr::build::widths::chars(&ty), ty.collation)
        }
        Kind::Char => ColumnType { kind: Kind::VarChar, ..ty },
        Kind::Binary => ColumnType { kind: Kind::VarBinary, ..ty },
        _ => ty,
    }
}
