//! Accounts and privileges: who may do what, as MySQL means it. Knows no storage and no session.
//!
//! Reading order: [`privilege`] (what there is to grant), [`name`] (which client an account means), [`account`] and [`grants`]
//! (what is kept of an account), [`accounts`] (all of them, immutable), [`rights`] (what a session may do), [`need`] (what a
//! program asks for), [`stored`] (accounts as bytes), [`text`] (SHOW GRANTS, SHOW CREATE USER).
//!
//! 1. All accounts together are one immutable value; who changes one publishes another value with the next version. 2. A
//! session's [`Rights`] are made of one version; asking them takes no lock and counts nothing.

pub mod account;
pub mod accounts;
pub mod grants;
pub mod name;
pub mod need;
pub mod privilege;
pub mod rights;
pub mod stored;
pub mod text;

pub use account::{Account, Lifetime, Limits, LoginLock, Require};
pub use accounts::Accounts;
pub use grants::{ColumnGrant, Grants, ProxyGrant, TableGrant, TableName};
pub use name::{AccountName, Client};
pub use need::{Denied, Need, Needs};
pub use privilege::Privileges;
pub use rights::Rights;
