//! What programs keep in a session between two runs: the operators of a query, the buffers of a point select.
//!
//! 1. The programs that were run last have a state; one that is run again after many others makes it anew. So a session with
//! a thousand prepared statements pays for some of them. 2. A state is taken out while its program runs: a statement that
//! runs itself again inside of itself gets another one. 3. The count of references to a program is shared with other
//! sessions, so a session takes part in it once ([`Own`]), and its states refer to that.

use crate::HeaderMemo;
use crate::ops::block::Block;
use crate::point::Buffers;
use crate::program::Program;
use expr::Value;
use std::ops::Deref;
use std::sync::Arc;
use value::Datum;

/// Programs of a session that have a state.
const STATES_MAX: usize = 12;

/// A session's reference to a program, counted by the session alone.
#[derive(Clone)]
pub(crate) struct Own(Arc<Arc<Program>>);

impl Own {
    /// The only reference of a session to a program.
    pub fn new(program: Arc<Program>) -> Own {
        Own(Arc::new(program))
    }

    fn is(&self, other: &Own) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Another reference, for other sessions.
    pub fn shared(&self) -> Arc<Program> {
        Arc::clone(&self.0)
    }
}

impl Deref for Own {
    type Target = Program;

    #[inline]
    fn deref(&self) -> &Program {
        &self.0
    }
}

/// A query's block, which looks at its program as long as it lives.
pub(crate) type BlockOf<'p> = OpenBlock<'p>;

/// A block, and what the rows that it gives are sent with.
pub(crate) struct OpenBlock<'p> {
    pub block: Block<'p>,
    /// The header as it was sent last.
    pub header: HeaderMemo,
    pub row: SentRow,
}

/// Room for the row that is sent; nothing is in it between two runs.
#[derive(Default)]
pub(crate) struct SentRow {
    pub values: Vec<Value<'static>>,
    pub datums: Vec<Datum<'static>>,
}

impl<'p> OpenBlock<'p> {
    pub fn new(block: Block<'p>) -> OpenBlock<'p> {
        OpenBlock { block, header: HeaderMemo::default(), row: SentRow::default() }
    }
}

self_cell::self_cell!(
    /// The operators of a query, and the program that they run.
    pub(crate) struct Opened {
        owner: Own,
        #[not_covariant]
        dependent: BlockOf,
    }
);

impl Opened {
    /// The statement is over; whether the operators can be opened for another one.
    pub fn close(&mut self) -> bool {
        self.with_dependent_mut(|_, open| open.block.close())
    }
}

/// What a program keeps.
pub(crate) enum State {
    Point(Box<Buffers>),
    Query(Opened),
}

struct Kept {
    program: Own,
    /// `None` while it runs.
    state: Option<State>,
}

/// The states of a session's programs, the last one run at the end.
#[derive(Default)]
pub struct States {
    list: Vec<Kept>,
}

impl States {
    /// None yet.
    pub fn new() -> States {
        States::default()
    }

    /// Moves a program's place to the end.
    #[inline]
    fn find(&mut self, program: &Own) -> Option<&mut Kept> {
        let at = self.list.iter().rposition(|kept| kept.program.is(program))?;
        if at + 1 < self.list.len() {
            self.list[at..].rotate_left(1);
        }
        self.list.last_mut()
    }

    /// Takes a program's state out.
    #[inline]
    pub(crate) fn take(&mut self, program: &Own) -> Option<State> {
        self.find(program)?.state.take()
    }

    /// Keeps a program's state; that of the program that was not run for longest goes.
    #[inline]
    pub(crate) fn put(&mut self, program: &Own, state: State) {
        if let Some(kept) = self.find(program) {
            kept.state = Some(state);
            return;
        }
        if self.list.len() == STATES_MAX {
            self.list.remove(0);
        }
        self.list.push(Kept { program: program.clone(), state: Some(state) });
    }
}
