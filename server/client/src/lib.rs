//! A blocking client of MySQL's protocol, for the tools: it speaks to any server that does.
//!
//! Reading order: [`dsn`] (where a server listens and who logs in), [`connection`] (bytes over a socket, the login), [`answer`]
//! (what a statement answered), [`prepared`] (statements with parameters).
//!
//! 1. Nothing that a server sends ends the process: what is not understood is a [`Failure`], as is a connection that ends.
//! 2. A read has a limit of time ([`Client::set_patience`]); after it the connection is not used any more.
//! 3. There is no TLS: passwords in clear text go over Unix sockets alone.

pub mod answer;
pub mod connection;
pub mod dsn;
pub mod prepared;

pub use answer::{Done, Failure, Rows};
pub use connection::Client;
pub use dsn::Dsn;
pub use prepared::{Parameter, Statement};
