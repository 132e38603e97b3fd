//! Accounts and privileges.

use super::ObjectName;
use zeroize::Zeroizing;

/// A password in clear, which is overwritten when it is given back.
pub type Password = Zeroizing<Vec<u8>>;

/// `user@host` or CURRENT_USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// A named account; the host is `%` when not written.
    Named {
        /// User.
        user: String,
        /// Host.
        host: String,
    },
    /// CURRENT_USER, CURRENT_USER(), USER().
    Current,
}

/// An account and how it proves itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSpec {
    /// Account.
    pub account: Account,
    /// IDENTIFIED ...; none when not written.
    pub identified: Option<Identified>,
    /// REPLACE 'current password'.
    pub replace: Option<Password>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
    /// DISCARD OLD PASSWORD.
    pub discard_old: bool,
    /// Second and third factors, and changes of them, as text: `AND IDENTIFIED WITH p`, `ADD 2 FACTOR ..`, `3 FACTOR ..`.
    pub factors: Vec<String>,
}

/// IDENTIFIED [WITH plugin] BY / AS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identified {
    /// Plugin, when written.
    pub plugin: Option<String>,
    /// Secret.
    pub secret: Secret,
}

/// The secret of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// Only a plugin was named.
    None,
    /// BY 'password'.
    Password(Password),
    /// BY RANDOM PASSWORD.
    Random,
    /// AS 'hash'.
    Hash(Vec<u8>),
}

/// CREATE USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateUser {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Accounts.
    pub accounts: Vec<AccountSpec>,
    /// DEFAULT ROLE.
    pub default_roles: Vec<Account>,
    /// REQUIRE, WITH limits, PASSWORD and ACCOUNT options.
    pub options: Vec<AccountOption>,
}

/// ALTER USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterUser {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Accounts.
    pub accounts: Vec<AccountSpec>,
    /// DEFAULT ROLE, when written.
    pub default_role: Option<RoleSet>,
    /// REQUIRE, WITH limits, PASSWORD and ACCOUNT options.
    pub options: Vec<AccountOption>,
}

/// An option after the accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountOption {
    /// ACCOUNT LOCK or UNLOCK.
    Lock(bool),
    /// PASSWORD EXPIRE: at once.
    Expire,
    /// PASSWORD EXPIRE DEFAULT, NEVER or INTERVAL n DAY.
    Lifetime(Lifetime),
    /// PASSWORD HISTORY; none is DEFAULT.
    History(Option<u64>),
    /// PASSWORD REUSE INTERVAL, in days; none is DEFAULT.
    ReuseDays(Option<u64>),
    /// PASSWORD REQUIRE CURRENT, OPTIONAL is false; none is DEFAULT.
    RequireCurrent(Option<bool>),
    /// FAILED_LOGIN_ATTEMPTS.
    Attempts(u64),
    /// PASSWORD_LOCK_TIME, in days; none is UNBOUNDED.
    LockDays(Option<u64>),
    /// REQUIRE.
    Require(Require),
    /// A limit of WITH.
    Limit(LimitKind, u64),
    /// COMMENT 'text'.
    Comment(Vec<u8>),
    /// ATTRIBUTE 'object'.
    Attribute(Vec<u8>),
}

/// When a password expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// DEFAULT.
    Default,
    /// NEVER.
    Never,
    /// INTERVAL n DAY.
    Days(u64),
}

/// What a connection must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Require {
    /// NONE.
    None,
    /// SSL.
    Ssl,
    /// X509.
    X509,
    /// SUBJECT, ISSUER, CIPHER, as far as they were written.
    Specified {
        /// SUBJECT.
        subject: Option<Vec<u8>>,
        /// ISSUER.
        issuer: Option<Vec<u8>>,
        /// CIPHER.
        cipher: Option<Vec<u8>>,
    },
}

/// What WITH limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// MAX_QUERIES_PER_HOUR.
    Queries,
    /// MAX_UPDATES_PER_HOUR.
    Updates,
    /// MAX_CONNECTIONS_PER_HOUR.
    Connections,
    /// MAX_USER_CONNECTIONS.
    AtOnce,
}

/// Which roles SET ROLE, DEFAULT ROLE and GRANT .. AS .. WITH ROLE mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleSet {
    /// DEFAULT.
    Default,
    /// NONE.
    None,
    /// ALL, or ALL EXCEPT roles.
    All(Vec<Account>),
    /// Named roles.
    Roles(Vec<Account>),
}

/// DROP USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropUser {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Accounts.
    pub accounts: Vec<Account>,
}

/// SET PASSWORD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPassword {
    /// FOR account; none for the current one.
    pub account: Option<Account>,
    /// New password; none for TO RANDOM.
    pub password: Option<Password>,
    /// REPLACE 'current password'.
    pub replace: Option<Password>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
}

/// One privilege (or a role) of GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Privilege {
    /// ALL [PRIVILEGES].
    All,
    /// A static privilege in capitals (`SELECT`, `CREATE TEMPORARY TABLES`), with its columns, or a dynamic one as written.
    /// A word that is no static privilege may also be a role: the statement's `on` tells.
    Named(String, Vec<String>),
    /// A role with a host: `'r'@'h'`.
    Role(Account),
}

/// What a privilege applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantObject {
    /// `*.*`.
    Global,
    /// `db.*`.
    Schema(String),
    /// `*`: the current schema.
    CurrentSchema,
    /// A table.
    Table(ObjectName),
    /// FUNCTION f.
    Function(ObjectName),
    /// PROCEDURE p.
    Procedure(ObjectName),
}

/// GRANT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What; a PROXY grant is `Named("PROXY")` with the proxied account in `proxy`.
    pub privileges: Vec<Privilege>,
    /// Proxied account of GRANT PROXY ON.
    pub proxy: Option<Account>,
    /// ON; none when roles are granted.
    pub on: Option<GrantObject>,
    /// TO.
    pub to: Vec<Account>,
    /// WITH GRANT OPTION, or WITH ADMIN OPTION for roles.
    pub with_grant_option: bool,
    /// AS user.
    pub as_user: Option<Account>,
    /// WITH ROLE behind AS user.
    pub as_role: Option<RoleSet>,
}

/// REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// IF EXISTS.
    pub if_exists: bool,
    /// What; `ALL, GRANT OPTION` is `[All, Named("GRANT OPTION")]` with `on` none.
    pub privileges: Vec<Privilege>,
    /// Proxied account of REVOKE PROXY ON.
    pub proxy: Option<Account>,
    /// ON; none when roles (or everything) are revoked.
    pub on: Option<GrantObject>,
    /// FROM.
    pub from: Vec<Account>,
    /// IGNORE UNKNOWN USER.
    pub ignore_unknown: bool,
}
