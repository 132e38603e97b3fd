//! The limits of a connection: what was agreed with the client, and what its variables say.

use crate::env::Env;

/// Limits of a connection.
#[derive(Debug, Default)]
pub(crate) struct Protocol {
    /// A text may have several statements.
    pub multi_statements: bool,
    /// `max_allowed_packet`.
    pub packet_bytes_max: usize,
    /// `connect_timeout`, in seconds.
    pub connect_s: u64,
    /// `net_read_timeout`, in seconds.
    pub read_s: u64,
    /// `net_write_timeout`, in seconds.
    pub write_s: u64,
    /// `wait_timeout`, in seconds.
    pub idle_s: u64,
    /// `long_query_time`, in nanoseconds.
    pub slow_ns: u64,
}

impl Protocol {
    /// Takes over the variables.
    pub fn take_variables(&mut self, env: &Env) {
        *self = Protocol {
            multi_statements: self.multi_statements,
            packet_bytes_max: env.vars.number("max_allowed_packet") as usize,
            connect_s: env.server.globals.number("connect_timeout"),
            read_s: env.vars.number("net_read_timeout"),
            write_s: env.vars.number("net_write_timeout"),
            idle_s: env.vars.number("wait_timeout"),
            slow_ns: (env.vars.double("long_query_time") * 1e9) as u64,
        };
    }
}
