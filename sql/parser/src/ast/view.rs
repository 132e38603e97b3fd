//! Views.

use super::{Account, ObjectName, Query};

/// CREATE [OR REPLACE] VIEW or ALTER VIEW.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// OR REPLACE.
    pub or_replace: bool,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// DEFINER; none for the current account.
    pub definer: Option<Account>,
    /// SQL SECURITY INVOKER -> true, DEFINER -> false; none when not written.
    pub invoker: Option<bool>,
    /// Name.
    pub name: ObjectName,
    /// Column names, when written.
    pub columns: Vec<String>,
    /// Query.
    pub query: Box<Query>,
    /// The query's text as written.
    pub text: Vec<u8>,
    /// WITH [CASCADED | LOCAL] CHECK OPTION.
    pub check: Option<CheckOption>,
}

/// ALGORITHM of a view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ViewAlgorithm {
    #[default]
    Undefined,
    Merge,
    TempTable,
}

/// WITH CHECK OPTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// CASCADED, the default.
    Cascaded,
    /// LOCAL.
    Local,
}

/// DROP VIEW.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropView {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Views.
    pub views: Vec<ObjectName>,
}
