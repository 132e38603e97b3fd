//! Expressions taken apart and put together anew.
//!
//! 1. A variant that is added to [`Expr`] gets its children named here, or nothing compiles.

use crate::tree::Expr;

impl Expr {
    /// Calls `f` for each expression directly below.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Column(_) => {}
            Expr::SystemVar(..) | Expr::UserVar(..) => {}
            Expr::Subquery(..) | Expr::Exists(_) => {}
            Expr::AssignUserVar(_, e, _) | Expr::Neg(e) | Expr::Not(e) | Expr::Is(e, ..) => f(e),
            Expr::Arith(_, a, b) | Expr::Compare(_, a, b, _) | Expr::Like(a, b, ..) => {
                f(a);
                f(b);
            }
            Expr::And(a, b) | Expr::Or(a, b) | Expr::Xor(a, b) => {
                f(a);
                f(b);
            }
            Expr::In(e, list, _) => {
                f(e);
                list.iter_mut().for_each(f);
            }
            Expr::Case(branches, otherwise) => {
                for (when, then) in branches {
                    f(when);
                    f(then);
                }
                if let Some(e) = otherwise {
                    f(e);
                }
            }
            Expr::Call(site) => site.arguments.iter_mut().for_each(f),
            Expr::Row(parts) => parts.iter_mut().for_each(|p| f(&mut p.expr)),
            Expr::Interval(n, _) => f(&mut n.expr),
            Expr::Quantified(q) => q.left.iter_mut().for_each(f),
        }
    }

    /// Offers this expression and everything below it to `f`, from the top down; where `f` returns true
    /// it has dealt with the expression and what is below.
    pub fn rewrite(&mut self, f: &mut dyn FnMut(&mut Expr) -> bool) {
        if !f(self) {
            self.for_each_child_mut(&mut |child| child.rewrite(f));
        }
    }
}
