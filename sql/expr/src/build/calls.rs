//! Calls as they are written: names, and words inside the parentheses.

use super::Builder;
use super::derive::{is_stringy, meet};
use super::literal::charset;
use crate::SqlError;
use crate::functions;
use crate::refused::Refused;
use crate::tree::{Comparison, Expr, Extra, Typed};
use parser::ast;
use value::collation::aggregate::Purpose;
use value::{Collation, ColumnType};

impl Builder {
    /// A call that is no aggregate and no window function, over bound arguments.
    ///
    /// # Errors
    /// 1305 for an unknown function, 1582, 1267, 1235 for what is not there yet.
    pub fn call(&self, call: &ast::Call, mut args: Vec<Typed>) -> Result<Typed, SqlError> {
        let name = call.name.name.to_ascii_lowercase();
        if let Some(schema) = &call.name.schema {
            return Err(no_function(schema, &call.name.name));
        }
        if call.apart {
            return Err(missing(&call.name.name));
        }
        if let Some(keyword) = &call.keyword {
            return self.with_keyword(&name, keyword, args);
        }
        match name.as_str() {
            "mod" if args.len() == 2 => {
                let b = args.remove(1);
                return Ok(self.arithmetic(crate::tree::Arithmetic::Mod, args.remove(0), b));
            }
            "nullif" if args.len() == 2 && !args.iter().any(Typed::is_row) => {
                let (a, b) = self.nullif_sides(args[0].clone(), args[1].clone())?;
                let same = self.compare(Comparison::Eq, a, b)?;
                self.literal_as_compared(&mut args);
                args[1] = same;
            }
            "position" if args.len() == 2 => return self.named("locate", args),
            "json_length" if args.len() == 2 => {
                let part = self.named("json_extract", args)?;
                return self.named("json_length", vec![part]);
            }
            "date_add" | "adddate" | "date_sub" | "subdate" if args.len() == 2 => {
                let negative = name.contains("sub");
                let n = args.remove(1);
                let date = args.remove(0);
                return match n.expr {
                    Expr::Interval(n, unit) => self.add_interval(date, *n, unit, negative),
                    _ => self.add_interval(date, n, value::time::Unit::Day, negative),
                };
            }
            _ => {}
        }
        if args.iter().any(|a| matches!(a.expr, Expr::Interval(..))) {
            return Err(Refused::WrongArguments(&name).into());
        }
        let function = functions::find(&name).ok_or_else(|| self.unknown(&call.name.name))?;
        self.invoke(function, args, Extra::None).map_err(|error| match error {
            // Quoted as it was written.
            SqlError::Other(1582, ..) => super::wrong_count(&call.name.name),
            other => other,
        })
    }

    fn unknown(&self, name: &str) -> SqlError {
        match functions::is_known_to_mysql(name) {
            true => SqlError::unsupported(format!("function {}", name.to_ascii_uppercase())),
            false if is_internal(name) => Refused::InternalFunction(name).into(),
            false => missing(name),
        }
    }

    /// A literal text that NULLIF compares with text has the collation of the comparison from then on; bytes stay bytes.
    fn literal_as_compared(&self, args: &mut [Typed]) {
        let literal = args[0].constant().is_some() && !args[0].is_null();
        if !literal
            || args[0].ty.collation == Collation::Binary
            || !args.iter().all(|a| is_stringy(&a.ty))
        {
            return;
        }
        let mut pair = args.to_vec();
        if let Ok(met) = meet(&mut pair, "=", Purpose::Compare, &self.settings) {
            let chars = super::widths::chars(&pair[0].ty);
            let ty = super::derive::string(chars, met.collation);
            args[0] = Typed {
                ty: ColumnType { nullable: args[0].ty.nullable, ..ty },
                ..pair.swap_remove(0)
            };
        }
    }

    fn with_keyword(&self, name: &str, keyword: &str, args: Vec<Typed>) -> Result<Typed, SqlError> {
        let word = keyword.to_ascii_uppercase();
        let mut args = args;
        if name == "trim" && args.len() == 2 {
            // Written as what FROM text, parsed as text, what.
            args.swap(0, 1);
        }
        let extra = match (name, word.as_str()) {
            ("trim", "BOTH") => Extra::Ends(true, true),
            ("trim", "LEADING") => Extra::Ends(true, false),
            ("trim", "TRAILING") => Extra::Ends(false, true),
            ("position", "IN") => return self.named("locate", args),
            ("trim", "FROM") => Extra::None,
            ("char", _) => {
                let collation = charset(keyword)?.default_collation();
                let bytes = self.named("char", args)?;
                let mut typed = super::derive::convert(bytes, collation);
                typed.coercibility = value::collation::aggregate::Coercibility::Coercible;
                return Ok(typed);
            }
            ("weight_string", "BINARY") => Extra::Word("BINARY"),
            ("weight_string", _) => Extra::Word("CHAR"),
            ("get_format", "DATE") => Extra::Word("DATE"),
            ("get_format", "TIME") => Extra::Word("TIME"),
            ("get_format", _) => Extra::Word("DATETIME"),
            ("timestampadd", unit) => {
                let unit = super::temporal::unit_word(unit)?;
                let [n, date] = <[Typed; 2]>::try_from(args)
                    .map_err(|_| SqlError::unsupported("TIMESTAMPADD"))?;
                return self.add_interval(date, n, unit, false);
            }
            ("extract" | "timestampdiff", unit) => Extra::Unit(super::temporal::unit_word(unit)?),
            _ => return Err(SqlError::unsupported(format!("{name}({keyword} ..)"))),
        };
        let function = functions::find(name).ok_or_else(|| self.unknown(name))?;
        self.invoke(function, args, extra)
    }
}

fn missing(name: &str) -> SqlError {
    Refused::NoFunction(name).into()
}

/// 1305: a function of a schema that is not there; there are no stored functions. 1630 where the name is that of
/// a built-in one but for a space.
pub fn no_function(schema: &str, name: &str) -> SqlError {
    let full = format!("{schema}.{name}");
    match parser::is_called(name) {
        true => Refused::NotBuiltIn(&full).into(),
        false => Refused::NoFunction(&full).into(),
    }
}

/// Functions of MySQL's own information_schema, which nobody else may call.
fn is_internal(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["can_access_", "get_dd_", "internal_"].iter().any(|prefix| lower.starts_with(prefix))
}
