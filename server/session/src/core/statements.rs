//! Prepared statements of a session, and their cursors.

use super::{Descriptor, Digested};
use crate::errors::SessionError;
use crate::prepared_list::{Listed, PreparedList};
use executor::spool::SpoolReader;
use executor::{Prepared, SqlError};
use instrument::{Piece, PreparedRow};
use parser::SqlMode;
use parser::ast::Statement;
use parser::digest::Digest;
use std::collections::HashMap;
use std::sync::Arc;
use wire::prepared::BoundTypes;

/// Rows that are still to be fetched.
pub(crate) struct Cursor {
    pub rows: SpoolReader,
}

/// What a prepared statement runs.
pub(crate) enum StatementCode {
    Compiled(Box<Prepared>),
    Session(Box<Statement>),
}

/// A prepared statement. What each execution looks at lies together, in the order of memory.
#[repr(C)]
pub(crate) struct PreparedStatement {
    pub program: StatementCode,
    pub sql: Arc<[u8]>,
    /// Markers.
    params: u32,
    pub pending: Pending,
    /// Other sessions may run programs of this tree: how its text was read.
    pub read_as: Option<SqlMode>,
    /// Fresh while values of these types may not be what the program is made for.
    pub types: BoundTypes,
    /// Bytes that came by COM_STMT_SEND_LONG_DATA, by parameter; empty when none did.
    pub long: Box<[Option<Long>]>,
    pub kind: &'static Descriptor,
    /// What an execution left to be fetched.
    pub cursor: Option<Box<Cursor>>,
    /// Where its figures belong.
    pub digest: Digested,
    pub schema: Arc<PrepareSchema>,
    /// Its figures, for those who look at all prepared statements; `None` before it is among them.
    pub listed: Option<Box<Listed>>,
}

/// Long data of a parameter.
#[derive(Default)]
pub(crate) struct Long {
    pub bytes: Vec<u8>,
    memory: Option<Piece>,
}

impl Long {
    fn add(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.memory.get_or_insert_with(|| Piece::new(&MEMORY)).set(self.bytes.capacity());
    }
}

instrument::classes! {
    static MEMORY: SessionMemory = "memory/sql/Prepared_statement::main_mem_root";
}

/// The schema in which statements were prepared: names without one mean that of PREPARE wherever they run. One for all
/// statements that were prepared since the current schema changed last.
#[repr(C)]
pub(crate) struct PrepareSchema {
    /// How often the current schema had changed when it was this one.
    pub database_changes: u32,
    pub name: Option<Box<str>>,
}

/// A statement that SQL's EXECUTE ran: its event has the text that was prepared.
pub(crate) struct Executed {
    pub text: Arc<[u8]>,
    /// Its figures, if they are counted.
    pub row: Option<Arc<PreparedRow>>,
}

/// What the next execution has to look at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    Nothing,
    /// A piece of long data was refused: the next execution answers 1153.
    TooLong,
    /// A cursor is open: the next execution closes it.
    Cursor,
}

impl PreparedStatement {
    /// A statement with so many markers.
    pub fn new(
        program: StatementCode,
        (sql, read_as): (Arc<[u8]>, Option<SqlMode>),
        params: usize,
        kind: &'static Descriptor,
        (digest, schema): (Option<Arc<Digest>>, Arc<PrepareSchema>),
    ) -> PreparedStatement {
        PreparedStatement {
            program,
            sql,
            read_as,
            params: u32::try_from(params).unwrap_or(u32::MAX),
            types: BoundTypes::default(),
            long: Box::default(),
            pending: Pending::Nothing,
            cursor: None,
            kind,
            digest: Digested::of(digest),
            schema,
            listed: None,
        }
    }

    /// Memory, without that of its program, which others may use, too, and without long data.
    fn bytes(&self) -> usize {
        size_of::<PreparedStatement>() + self.sql.len()
    }

    /// Its long data is none of the next execution.
    #[inline]
    pub fn forget_long(&mut self) {
        if !self.long.is_empty() {
            self.long = Box::default();
        }
    }

    /// Its figures, if they are counted.
    #[inline]
    pub fn figures(&self) -> Option<&Arc<PreparedRow>> {
        self.listed.as_ref().map(|listed| &listed.row)
    }

    /// Markers.
    #[inline]
    pub fn params(&self) -> usize {
        self.params as usize
    }

    /// Closes its cursor; says what was wrong with its long data.
    ///
    /// # Errors
    /// 1153.
    #[cold]
    pub fn end_pending(&mut self) -> Result<(), SqlError> {
        self.cursor = None;
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::TooLong => {
                self.forget_long();
                Err(SessionError::PacketTooLarge.into())
            }
            _ => Ok(()),
        }
    }
}

/// Prepared statements of a session: id `n` lies at `n - 1`; ids of closed ones are given again.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Statements {
    list: Vec<Option<Box<PreparedStatement>>>,
    /// Whose text the process list showed last; 0: another one.
    shown: u32,
    open: usize,
    /// Those of SQL's PREPARE, by lower-case name; counted in `open`.
    named: HashMap<String, Box<PreparedStatement>>,
    /// Where others see them.
    pub figures: Arc<PreparedList>,
    /// How many were prepared by SQL.
    pub by_name: u64,
    /// The one that SQL's EXECUTE ran.
    pub executed: Option<Executed>,
    /// Where statements are prepared now.
    pub schema: Option<Arc<PrepareSchema>>,
    /// Memory of all of them, in bytes, and where it is counted.
    bytes: usize,
    memory: Option<Piece>,
}

impl Statements {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.open
    }

    /// Adds a statement; its id.
    pub fn add(&mut self, one: PreparedStatement) -> u32 {
        self.open += 1;
        self.keep(self.bytes + one.bytes());
        let free = self.list.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.list.push(None);
            self.list.len() - 1
        });
        self.list[at] = Some(Box::new(one));
        self.shown = 0;
        at as u32 + 1
    }

    /// All of them take so much memory now.
    fn keep(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.memory.get_or_insert_with(|| Piece::new(&MEMORY)).set(bytes);
    }

    /// The process list will show the text of a statement; whether it did so before.
    #[inline]
    pub fn shows(&mut self, id: u32) -> bool {
        std::mem::replace(&mut self.shown, id) == id
    }

    /// The process list shows a text that is none of theirs.
    #[inline]
    pub fn shows_other(&mut self) {
        self.shown = 0;
    }

    /// Where a statement lies.
    #[inline]
    pub fn place(&mut self, id: u32) -> Option<&mut Option<Box<PreparedStatement>>> {
        self.list.get_mut((id as usize).wrapping_sub(1))
    }

    fn get(&mut self, id: u32) -> Option<&mut PreparedStatement> {
        self.place(id)?.as_deref_mut()
    }

    /// The cursor of a statement; `None` where there is no such statement.
    pub fn cursor(&mut self, id: u32) -> Option<&mut Option<Box<Cursor>>> {
        self.get(id).map(|one| &mut one.cursor)
    }

    /// The text of a statement.
    pub fn text(&self, id: u32) -> &[u8] {
        let one = self.list.get((id as usize).wrapping_sub(1)).and_then(Option::as_ref);
        one.map_or(b"", |one| &one.sql)
    }

    /// The figures of a statement that runs a program: its text tells no password.
    #[inline(always)]
    pub fn executed_program(&self, id: u32) -> Option<&Arc<PreparedRow>> {
        let one = self.list.get((id as usize).wrapping_sub(1))?.as_ref()?;
        if !matches!(one.program, StatementCode::Compiled(_)) {
            return None;
        }
        one.figures()
    }

    /// The text of a statement, whether it may tell a password (those that run programs do not), and its figures.
    #[cold]
    pub fn of_end(&self, id: u32) -> (&[u8], bool, Option<&Arc<PreparedRow>>) {
        let one = self.list.get((id as usize).wrapping_sub(1)).and_then(Option::as_ref);
        one.map_or((b"".as_slice(), false, None), |one| {
            (&one.sql[..], !matches!(one.program, StatementCode::Compiled(_)), one.figures())
        })
    }

    /// Closes all.
    pub fn clear(&mut self) {
        let figures = Arc::clone(&self.figures);
        *self = Statements { figures, ..Statements::default() };
    }

    /// COM_STMT_CLOSE; whether there was one.
    pub fn close(&mut self, id: u32) -> bool {
        let Some(closed) = self.place(id).and_then(Option::take) else { return false };
        self.open -= 1;
        self.keep(self.bytes.saturating_sub(closed.bytes()));
        true
    }

    /// COM_STMT_RESET; whether there is one.
    pub fn reset(&mut self, id: u32) -> bool {
        let Some(one) = self.get(id) else { return false };
        one.forget_long();
        one.pending = Pending::Nothing;
        one.cursor = None;
        true
    }

    /// COM_STMT_SEND_LONG_DATA. It has no answer, so a wrong one is remembered for the execution.
    pub fn long_data(&mut self, id: u32, param: u16, data: &[u8], bytes_max: usize) {
        let Some(one) = self.get(id) else { return };
        let param = usize::from(param);
        if param >= one.params() {
            one.pending = Pending::TooLong;
            return;
        }
        if one.long.is_empty() {
            one.long = (0..one.params()).map(|_| None).collect();
        }
        let long = one.long[param].get_or_insert_default();
        if long.bytes.len() + data.len() > bytes_max {
            one.pending = Pending::TooLong;
            return;
        }
        long.add(data);
    }
}

impl Statements {
    /// Takes the statement of a name out for the time of its run; it stays counted.
    pub fn take_named(&mut self, name: &str) -> Option<Box<PreparedStatement>> {
        self.named.remove(name)
    }

    /// Puts it back.
    pub fn put_back_named(&mut self, name: String, one: Box<PreparedStatement>) {
        self.named.insert(name, one);
    }

    /// Adds a statement of SQL's PREPARE.
    pub fn name(&mut self, name: String, one: Box<PreparedStatement>) {
        self.open += 1;
        self.keep(self.bytes + one.bytes());
        self.named.insert(name, one);
    }

    /// Removes the statement of a name.
    pub fn forget(&mut self, name: &str) -> Option<Box<PreparedStatement>> {
        let found = self.named.remove(name)?;
        self.open -= 1;
        self.keep(self.bytes.saturating_sub(found.bytes()));
        Some(found)
    }
}
