//! Stored programs: procedures, functions, triggers, events and their bodies.

use super::{Account, DataType, Expr, IntervalUnit, ObjectName, Query, Statement};

/// CREATE PROCEDURE or CREATE FUNCTION.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    /// DEFINER; none for the current account.
    pub definer: Option<Account>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// Parameters; those of a function are all IN.
    pub params: Vec<RoutineParam>,
    /// RETURNS, and COLLATE behind it: a function.
    pub returns: Option<(DataType, Option<String>)>,
    /// COMMENT, LANGUAGE, DETERMINISTIC and so on, in order.
    pub characteristics: Vec<Characteristic>,
    /// Body.
    pub body: Box<Program>,
    /// The body's text as written.
    pub text: Vec<u8>,
}

/// A parameter of a routine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutineParam {
    /// Direction.
    pub mode: ParamMode,
    /// Name.
    pub name: String,
    /// Type.
    pub ty: DataType,
    /// COLLATE.
    pub collation: Option<String>,
}

/// Direction of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ParamMode {
    In,
    Out,
    InOut,
}

/// A characteristic of a routine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Characteristic {
    /// COMMENT.
    Comment(Vec<u8>),
    /// LANGUAGE name: SQL, JAVASCRIPT.
    Language(String),
    /// [NOT] DETERMINISTIC.
    Deterministic(bool),
    /// CONTAINS SQL, NO SQL, READS SQL DATA, MODIFIES SQL DATA: as written here.
    Data(&'static str),
    /// SQL SECURITY INVOKER -> true, DEFINER -> false.
    Invoker(bool),
}

/// CREATE [AGGREGATE] FUNCTION name RETURNS type SONAME 'library'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateLoadable {
    /// AGGREGATE.
    pub aggregate: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: String,
    /// STRING, INTEGER, REAL, DECIMAL.
    pub returns: String,
    /// Library.
    pub library: String,
}

/// ALTER PROCEDURE or ALTER FUNCTION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterRoutine {
    /// FUNCTION rather than PROCEDURE.
    pub function: bool,
    /// Name.
    pub name: ObjectName,
    /// New characteristics.
    pub characteristics: Vec<Characteristic>,
}

/// DROP of a PROCEDURE, FUNCTION, TRIGGER or EVENT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropProgram {
    /// Which kind.
    pub kind: ProgramKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Name.
    pub name: ObjectName,
}

/// Kinds of stored programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

/// CREATE TRIGGER.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    /// DEFINER; none for the current account.
    pub definer: Option<Account>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// BEFORE rather than AFTER.
    pub before: bool,
    /// What fires it.
    pub event: TriggerEvent,
    /// Table.
    pub table: ObjectName,
    /// FOLLOWS (true) or PRECEDES (false) another trigger.
    pub order: Option<(bool, String)>,
    /// Body.
    pub body: Box<Program>,
    /// The body's text as written.
    pub text: Vec<u8>,
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

/// CREATE EVENT; ALTER EVENT with what it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDef {
    /// DEFINER; none for the current account.
    pub definer: Option<Account>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// ON SCHEDULE; always there in CREATE.
    pub schedule: Option<Schedule>,
    /// ON COMPLETION \[NOT\] PRESERVE.
    pub preserve: Option<bool>,
    /// RENAME TO (ALTER only).
    pub rename: Option<ObjectName>,
    /// ENABLE, DISABLE, DISABLE ON REPLICA.
    pub status: Option<EventStatus>,
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// DO; always there in CREATE.
    pub body: Option<Box<Program>>,
    /// The body's text as written.
    pub text: Vec<u8>,
}

/// When an event runs.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one of it in a statement
pub enum Schedule {
    /// AT time.
    At(Expr),
    /// EVERY n unit.
    Every {
        /// Quantity.
        quantity: Expr,
        /// Unit.
        unit: IntervalUnit,
        /// STARTS.
        starts: Option<Expr>,
        /// ENDS.
        ends: Option<Expr>,
    },
}

/// Whether an event runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum EventStatus {
    Enable,
    Disable,
    DisableOnReplica,
}

/// CALL.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProcedure {
    /// Procedure.
    pub name: ObjectName,
    /// Arguments.
    pub args: Vec<Expr>,
}

/// One statement of a stored program.
#[derive(Debug, Clone, PartialEq)]
pub enum Program {
    /// Any SQL statement; SET of a local variable or `NEW.column` is `Statement::Set`.
    Sql(Box<Statement>),
    /// `[label:] BEGIN .. END`.
    Block(Block),
    /// IF.
    If {
        /// IF and ELSEIF branches.
        branches: Vec<(Expr, Vec<Program>)>,
        /// ELSE.
        otherwise: Option<Vec<Program>>,
    },
    /// CASE statement.
    Case {
        /// CASE operand.
        operand: Option<Expr>,
        /// WHEN .. THEN.
        branches: Vec<(Expr, Vec<Program>)>,
        /// ELSE.
        otherwise: Option<Vec<Program>>,
    },
    /// LOOP.
    Loop {
        /// Label.
        label: Option<String>,
        /// Body.
        body: Vec<Program>,
    },
    /// WHILE.
    While {
        /// Label.
        label: Option<String>,
        /// Condition before each round.
        condition: Expr,
        /// Body.
        body: Vec<Program>,
    },
    /// REPEAT.
    Repeat {
        /// Label.
        label: Option<String>,
        /// Body.
        body: Vec<Program>,
        /// Ends the loop.
        until: Expr,
    },
    /// LEAVE label.
    Leave(String),
    /// ITERATE label.
    Iterate(String),
    /// RETURN value.
    Return(Expr),
    /// OPEN cursor.
    Open(String),
    /// FETCH cursor INTO variables.
    Fetch {
        /// Cursor.
        cursor: String,
        /// Variables.
        into: Vec<String>,
    },
    /// CLOSE cursor.
    Close(String),
}

/// BEGIN .. END.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Label.
    pub label: Option<String>,
    /// DECLAREs in order.
    pub declarations: Vec<Declaration>,
    /// Statements.
    pub body: Vec<Program>,
}

/// DECLARE.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    /// Local variables.
    Variables {
        /// Names.
        names: Vec<String>,
        /// Type.
        ty: DataType,
        /// COLLATE.
        collation: Option<String>,
        /// DEFAULT.
        default: Option<Expr>,
    },
    /// name CONDITION FOR value.
    Condition {
        /// Name.
        name: String,
        /// Value.
        value: ConditionValue,
    },
    /// name CURSOR FOR query.
    Cursor {
        /// Name.
        name: String,
        /// Query.
        query: Box<Query>,
    },
    /// CONTINUE or EXIT HANDLER FOR conditions.
    Handler {
        /// EXIT rather than CONTINUE.
        exit: bool,
        /// Conditions.
        conditions: Vec<ConditionValue>,
        /// Statement.
        body: Box<Program>,
    },
}

/// What a handler or SIGNAL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    /// An error number.
    Number(u64),
    /// SQLSTATE \[VALUE\] 'xxxxx'.
    SqlState(Vec<u8>),
    /// A declared condition.
    Name(String),
    /// SQLWARNING.
    SqlWarning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    SqlException,
}

/// SIGNAL or RESIGNAL.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// RESIGNAL.
    pub resignal: bool,
    /// Condition; none only for RESIGNAL.
    pub condition: Option<ConditionValue>,
    /// SET item = value; items upper case.
    pub items: Vec<(String, Expr)>,
}

/// GET [CURRENT | STACKED] DIAGNOSTICS.
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    /// STACKED.
    pub stacked: bool,
    /// CONDITION number; none for statement information.
    pub condition: Option<Expr>,
    /// Target (user or local variable) and item, upper case.
    pub items: Vec<(Expr, String)>,
}
