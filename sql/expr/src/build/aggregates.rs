//! Calls of aggregates over arguments that are bound already.

use super::derive::{call, is_stringy};
use super::{Builder, Derive, one_column};
use crate::SqlError;
use crate::aggregate::{ANY_VALUE, Aggregate, AggregateCall, of_kind};
use crate::functions::AS_NUMBER;
use crate::tree::{Extra, SortKey, Typed};
use parser::ast;
use value::{Charset, ColumnType};

impl Builder {
    /// An aggregate as it is written.
    ///
    /// # Errors
    /// 1241, 1267 and its kin, what the function itself refuses.
    pub fn aggregate(
        &self,
        written: &ast::Aggregate,
        arguments: Vec<Typed>,
        order_by: Vec<SortKey>,
    ) -> Result<AggregateCall, SqlError> {
        let kept = written.over.is_some() || written.distinct;
        let function = of_kind(written.kind)?;
        let mut arguments = arguments;
        let numbers = matches!(function.name, "sum" | "avg");
        if numbers || function.name.starts_with("std") || function.name.starts_with("var") {
            arguments = arguments.into_iter().map(super::bits_as_number).collect();
        }
        // Texts are different where their numbers are.
        if written.distinct && numbers {
            for value in arguments.iter_mut().filter(|v| is_stringy(&v.ty) && !v.is_row()) {
                let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
                *value = Typed::new(call(&AS_NUMBER, value, ty), ty);
            }
        }
        let mut call = self.aggregate_of(function, arguments, kept)?;
        call.distinct = written.distinct;
        call.order_by = order_by;
        let separator = written.separator.as_deref().unwrap_or(b",");
        // Among bytes it is what a literal is.
        let to = match call.collation.charset() {
            Charset::Binary => self.settings.collation.charset(),
            own => own,
        };
        value::charset::convert(separator, Charset::Utf8mb4, to, &mut call.separator);
        Ok(call)
    }

    /// ANY_VALUE as it is written.
    ///
    /// # Errors
    /// 1241.
    pub fn any_value(&self, value: Typed) -> Result<AggregateCall, SqlError> {
        self.aggregate_of(&ANY_VALUE, vec![value], false)
    }

    /// A column that is not grouped.
    pub fn first_value(&self, value: Typed) -> AggregateCall {
        AggregateCall {
            function: &ANY_VALUE,
            distinct: false,
            order_by: Vec::new(),
            separator: Vec::new(),
            ty: value.ty,
            collation: value.ty.collation,
            settings: self.settings,
            arguments: vec![value],
        }
    }

    fn aggregate_of(
        &self,
        function: &'static Aggregate,
        arguments: Vec<Typed>,
        kept: bool,
    ) -> Result<AggregateCall, SqlError> {
        let mut args = arguments;
        if args.iter().any(Typed::is_row) {
            return Err(one_column());
        }
        let bits = function.name.starts_with("bit_");
        let bytes = bits && args.iter().all(|a| a.ty.kind.is_binary_string());
        // The values of a window and of DISTINCT are kept before they are summed up: text is text then.
        if !kept && matches!(function.name, "sum" | "avg") || bits && !bytes {
            args = args.into_iter().map(super::conversion::as_chosen).collect();
        }
        if function.name.starts_with("json_") {
            args = args.into_iter().map(super::in_document).collect();
        }
        let mut derive = Derive::new(function.name, &mut args, Extra::None, &self.settings);
        let ty = (function.derive)(&mut derive)?;
        let collation = derive.collation;
        Ok(AggregateCall {
            function,
            distinct: false,
            arguments: args,
            order_by: Vec::new(),
            separator: Vec::new(),
            ty,
            collation,
            settings: self.settings,
        })
    }
}
