//! A blocking client of MySQL's protocol, for the tools: it speaks to any server that does.
//!
//! Reading order: [`dsn`] (where a server listens and who logs in), [`socket`], [`connection`] (packets over any stream),
//! [`login`], [`answer`] (what a statement answered), [`prepared`] (statements with parameters).
//!
//! 1. Nothing that a server sends ends the process: what is not understood is a [`Failure`], as is a connection that ends.
//! 2. A read has a limit of time ([`Client::set_patience`]); after it the connection is not used any more.
//! 3. There is no TLS: passwords in clear text go over Unix sockets alone. Over the loopback, or where the caller trusts the way,
//! they go sealed with the key that the server sends.

pub mod answer;
pub mod connection;
pub mod dsn;
pub mod login;
pub mod prepared;
pub mod socket;

pub use answer::{Done, Failure, Rows};
pub use connection::Client;
pub use dsn::Dsn;
pub use login::{Login, Secrecy};
pub use prepared::{Parameter, Statement};
pub use socket::Socket;
