//! User and system variables in expressions.

use super::Resolver;
use expr::SqlError;
use expr::tree::{Expr, Typed};
use expr::variables::{assigned_type, unset_type, variable_type};
use parser::ast;
use value::collation::aggregate::Coercibility;
use value::{ColumnType, Kind};

impl Resolver<'_, '_> {
    /// `@name`.
    pub(super) fn user_variable(&self, name: &str) -> Typed {
        match self.context.variables.user_variable_type(name) {
            Some(ty) => Typed::new(Expr::UserVar(name.to_string(), ty), ty),
            // It is there by now, and what it is nobody knows: text.
            None if self.context.assigned.contains(&name.to_lowercase()) => {
                let ty = variable_type(&unset_type(self.build.settings.collation));
                Typed::new(Expr::UserVar(name.to_string(), ty), ty)
            }
            None => {
                let ty = unset_type(self.build.settings.collation);
                Typed::new(Expr::UserVar(name.to_string(), ty), ty)
            }
        }
    }

    /// `@name := value`.
    pub(super) fn assignment(&mut self, name: &str, value: Typed) -> Typed {
        self.context.assigned.push(name.to_lowercase());
        let ty = assigned_type(&value.ty);
        let text = variable_type(&value.ty).kind.is_string();
        let coercibility = if text { Coercibility::Implicit } else { Coercibility::Numeric };
        let expr = Expr::AssignUserVar(name.to_string(), Box::new(value.expr), value.ty);
        Typed { expr, ty, coercibility }
    }

    /// `@@name`.
    pub(super) fn system_variable(&self, variable: &ast::SystemVar) -> Result<Typed, SqlError> {
        let name = variable.name.to_ascii_lowercase();
        let name = match &variable.component {
            None => name,
            // One of several caches of keys.
            Some(_) if name.starts_with("key_") => {
                return Err(SqlError::unsupported("structured system variable"));
            }
            Some(component) => format!("{}.{name}", component.to_ascii_lowercase()),
        };
        // Of one that is not there evaluation complains.
        let ty = self.context.variables.system_variable_type(&name);
        let ty = ty.unwrap_or(ColumnType::of(Kind::VarChar));
        let global = variable.scope == ast::Scope::Global;
        let name = match variable.scope {
            ast::Scope::Session => format!("session.{name}"),
            _ => name,
        };
        let value = Typed::new(Expr::SystemVar(global, name), ty);
        match ty.kind.is_string() {
            true => Ok(Typed { coercibility: Coercibility::SysConst, ..value }),
            false => Ok(value),
        }
    }
}
