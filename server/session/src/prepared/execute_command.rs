//! COM_STMT_EXECUTE: parameters from the packet, and the run.

use super::parameters::{
    FEW, date_time, is_temporal, is_text, shown, temporal, temporal_text, time,
};
use crate::core::{Core, Pending, PreparedStatement, StatementCode, instruments};
use crate::cursors::CURSOR_READ_ONLY;
use crate::errors::SessionError;
use crate::logs;
use crate::net::Net;
use crate::registry::Activity;
use executor::{OwnedDatum, SqlError};
use instrument::{Counter, count};
use smallvec::SmallVec;
use value::{Datum, Decimal};
use wire::constants::Capabilities;
use wire::prepared::{BoundTypes, Param, ParamType, Params};

/// COM_STMT_EXECUTE's flag of a client that sends how many parameters and attributes there are.
const COUNT_IS_SENT: u8 = 8;

/// The parameters of a client that may send attributes behind them.
///
/// # Errors
/// 1210 for fewer than there are, 1835.
#[cold]
fn values_and_attributes<'a, 't>(
    (rest, flags): (&'a [u8], u8),
    count: usize,
    types: &'t mut BoundTypes,
) -> Result<Params<'a, 't>, SqlError> {
    let sent = match count > 0 || flags & COUNT_IS_SENT != 0 {
        true => wire::prepared::params_and_attributes(rest, count, types),
        false => wire::prepared::params(rest, 0, types).map(Some),
    };
    let sent = sent.map_err(|_| SessionError::MalformedPacket)?;
    Ok(sent.ok_or(SessionError::WrongArguments("COM_STMT_EXECUTE"))?)
}

impl Core {
    /// COM_STMT_EXECUTE.
    #[inline]
    pub fn execute_command(&mut self, id: u32, flags: u8, rest: &[u8], net: &mut dyn Net) {
        count(Counter::ComStmtExecute, 1);
        // Taken out for the time of its run, so that the session can be borrowed beside it.
        let Some(mut one) = self.statements.place(id).and_then(Option::take) else {
            return self.execute_unknown(id);
        };
        let result = self.run_one((id, &mut one), flags, rest, net);
        if let Some(place) = self.statements.place(id) {
            *place = Some(one);
        }
        if let Err(error) = result {
            self.send_error(&error);
        }
    }

    /// It is an event all the same: an error.
    #[cold]
    fn execute_unknown(&mut self, id: u32) {
        self.begin_event(instruments::EXECUTE, sync::now_ns());
        self.send_error(
            &SessionError::UnknownStatement(&id.to_string(), "mysqld_stmt_execute").into(),
        );
    }

    #[inline]
    fn run_one(
        &mut self,
        (id, one): (u32, &mut PreparedStatement),
        flags: u8,
        rest: &[u8],
        net: &mut dyn Net,
    ) -> Result<(), SqlError> {
        let now_ns = sync::now_ns();
        self.begin_event(instruments::EXECUTE, now_ns);
        self.take_digest(&mut one.digest);
        if self.statements.shows(id) {
            self.entry.publish_again(Activity::Execute, now_ns, &one.sql);
        } else if self.show_text(Activity::Execute, now_ns, &one.sql) {
            // It is not its text that is shown.
            self.statements.shows_other();
        }
        self.env.diagnostics.clear();
        if one.pending != Pending::Nothing {
            one.end_pending()?;
        }
        if let Some(counter) = one.kind.counter {
            count(counter, 1);
        }
        let count = one.params();
        let mut values = match self.env.link.caps.has(Capabilities::QUERY_ATTRIBUTES) {
            false => wire::prepared::params(rest, count, &mut one.types)
                .map_err(|_| SessionError::WrongArguments("mysqld_stmt_execute"))?,
            true => values_and_attributes((rest, flags), count, &mut one.types)?,
        };
        #[allow(clippy::needless_late_init)] // it outlives the parameters, which borrow from it
        let converted;
        let mut params: SmallVec<[Param<'_>; FEW]> = SmallVec::new();
        for i in 0..count {
            let long = matches!(one.long.get(i), Some(Some(_)));
            let param = values.next_param(long);
            params.push(param.map_err(|_| {
                SqlError::from(SessionError::WrongArguments("mysqld_stmt_execute"))
            })?);
        }
        converted = self.converted_params(&params, &one.types.list);
        for (param, text) in params.iter_mut().zip(&converted) {
            if let Some(text) = text {
                *param = Param::Bytes(text);
            }
        }
        if self.logs_executions() {
            let text = logs::filled(&one.sql, |n| params.get(n).map_or("?".into(), shown));
            self.log_general("Execute", &text);
        }
        let left = self.enter_schema(&mut one.schema);
        let done = self.run_with(one, flags, &params, net);
        self.return_to_schema(left);
        done?;
        one.forget_long();
        Ok(())
    }

    /// Parameters whose text is other bytes in the connection's character set than the client sent.
    #[inline]
    fn converted_params(&self, params: &[Param<'_>], types: &[ParamType]) -> Vec<Option<Vec<u8>>> {
        if self.env.cached.charsets.keeps_literals {
            return Vec::new();
        }
        let one = |(param, ty): (&Param<'_>, &ParamType)| match param {
            Param::Bytes(s) if is_text(ty.code) => {
                Some(self.env.cached.charsets.parameter(s).into_owned())
            }
            _ => None,
        };
        params.iter().zip(types).map(one).collect()
    }

    #[inline]
    fn run_with(
        &mut self,
        one: &mut PreparedStatement,
        flags: u8,
        params: &[Param<'_>],
        net: &mut dyn Net,
    ) -> Result<(), SqlError> {
        let text = (&one.sql[..], one.read_as, one.params());
        let PreparedStatement { program, kind, long, types, pending, cursor, listed, .. } = one;
        let texts: Vec<Option<String>> = match params.iter().any(is_temporal) {
            true => params.iter().map(temporal_text).collect(),
            false => Vec::new(),
        };
        let datum = |i: usize| match params[i] {
            Param::Null => Datum::Null,
            Param::Int(n) => Datum::Int(n),
            Param::UInt(n) => Datum::UInt(n),
            Param::Float(n) => Datum::Double(f64::from(n)),
            Param::Double(n) => Datum::Double(n),
            Param::Bytes(bytes) => Datum::Bytes(bytes),
            Param::Decimal(text) => Datum::Decimal(Decimal::from_text(text).value),
            Param::Long => match long.get(i) {
                Some(Some(long)) => Datum::Bytes(&long.bytes),
                _ => Datum::Null,
            },
            Param::DateTime(v) => temporal(date_time(&v), texts.get(i)),
            Param::Time(v) => temporal(time(&v), texts.get(i)),
        };
        let prepared = match program {
            StatementCode::Compiled(prepared) => prepared,
            StatementCode::Session(statement) => {
                let params = (0..params.len()).map(|i| OwnedDatum::of(&datum(i))).collect();
                self.run_with_parameters(statement, kind, params, true, net);
                return Ok(());
            }
        };
        self.before(kind)?;
        self.check_needs(kind, prepared.statement())?;
        let hinted = self.hinted(prepared);
        let mut data: SmallVec<[Datum<'_>; FEW]> = SmallVec::new();
        (0..params.len()).for_each(|i| data.push(datum(i)));
        // A date that is none comes as text, whatever its type.
        if types.fresh || !texts.is_empty() {
            types.fresh = !prepared.settle(&mut data, &mut self.env);
        }
        if let Err(error) = self.lock_prepared(prepared, text, listed.as_deref()) {
            self.refuse(error);
        } else if flags & CURSOR_READ_ONLY != 0 && prepared.is_query() {
            (*cursor, *pending) = self.open_cursor(prepared, &data)?;
        } else {
            self.run_compiled(prepared, &data, true, net);
        }
        if let Some(hinted) = hinted {
            self.unset_hinted(hinted);
        }
        Ok(())
    }
}
