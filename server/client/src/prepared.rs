//! Prepared statements: parameters in binary form, rows that are counted and not looked at.

use crate::answer::{Done, Failure};
use crate::connection::Client;
use std::io::{Read, Write};
use stdx::bytes::Reader;
use wire::{Malformed, lenenc};

const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;

/// A value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// BIGINT.
    Int(i64),
    /// A string of utf8mb4.
    Text(&'a str),
}

/// A prepared statement of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    id: u32,
    parameters: usize,
    /// The types were sent, which the server remembers.
    is_bound: bool,
}

impl<S: Read + Write> Client<S> {
    /// Prepares a statement.
    ///
    /// # Errors
    /// The server's; 2013 when the connection ends.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Failure> {
        self.command(PREPARE, |body| body.extend_from_slice(sql.as_bytes()))?;
        let packet = self.packet()?;
        let answer = self.inbox.payload(packet);
        if answer.first() != Some(&0) {
            return Err(Failure::of(answer));
        }
        let mut reader = Reader::new(&answer[1..]);
        let cut = |_| Failure::from(Malformed("answer of PREPARE"));
        let id = reader.u32_le().map_err(cut)?;
        let columns = reader.u16_le().map_err(cut)?;
        let parameters = reader.u16_le().map_err(cut)?;
        // Definitions of either kind, and what ends them.
        for count in [parameters, columns].map(usize::from) {
            for _ in 0..count + usize::from(count > 0) {
                self.packet()?;
            }
        }
        Ok(Statement { id, parameters: usize::from(parameters), is_bound: false })
    }

    /// Runs a prepared statement and counts its rows. The kinds of the parameters stay those of its first execution.
    ///
    /// # Errors
    /// The server's; 2013 when the connection ends; 2027 where the number of parameters is another.
    pub fn execute(
        &mut self,
        statement: &mut Statement,
        parameters: &[Parameter<'_>],
    ) -> Result<Done, Failure> {
        if parameters.len() != statement.parameters {
            return Err(Malformed("number of parameters").into());
        }
        let (id, is_bound) = (statement.id, statement.is_bound);
        self.command(EXECUTE, |body| {
            body.extend(id.to_le_bytes());
            // No cursor; one execution.
            body.extend([0, 1, 0, 0, 0]);
            if !parameters.is_empty() {
                put_parameters(body, parameters, is_bound);
            }
        })?;
        statement.is_bound = true;
        self.result(|_| Ok(()), |_, _| Ok(()))
    }
}

fn put_parameters(body: &mut Vec<u8>, parameters: &[Parameter<'_>], is_bound: bool) {
    // None is NULL.
    body.resize(body.len() + parameters.len().div_ceil(8), 0);
    body.push(u8::from(!is_bound));
    if !is_bound {
        for parameter in parameters {
            let code = match parameter {
                Parameter::Int(_) => LONGLONG,
                Parameter::Text(_) => VAR_STRING,
            };
            body.extend([code, 0]);
        }
    }
    for parameter in parameters {
        match parameter {
            Parameter::Int(value) => body.extend(value.to_le_bytes()),
            Parameter::Text(text) => lenenc::put_bytes(body, text.as_bytes()),
        }
    }
}
