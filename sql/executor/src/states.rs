//! What programs keep in a session between two runs: the operators of a query, the buffers of a point select.
//!
//! 1. The programs that were run last have a state; one that is run again after many others makes it anew. So a session with
//! a thousand prepared statements pays for some of them. 2. A state is taken out while its program runs: a statement that
//! runs itself again inside of itself gets another one. 3. The count of references to a program is shared with other
//! sessions, so a session takes part in it once ([`Own`]), and its states refer to that.

use crate::HeaderMemo;
use crate::memory::Budget;
use crate::ops::block::Block;
use crate::point::Buffers;
use crate::program::Program;
use std::ops::Deref;
use std::sync::Arc;

/// Programs of a session that have a state.
const STATES_MAX: usize = 12;

/// A session's reference to a program, counted by the session alone.
#[derive(Clone)]
// The inner count is that of all sessions, the outer one this session's: the second allocation keeps them apart.
#[allow(clippy::redundant_allocation)]
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

/// A query's block, which looks at its program as long as it lives, and what goes with it.
pub(crate) struct OpenBlock<'p> {
    pub block: Block<'p>,
    /// The header as it was sent last.
    pub header: HeaderMemo,
    /// What the rows that its operators keep are counted against.
    pub budget: Arc<Budget>,
}

impl<'p> OpenBlock<'p> {
    pub fn new(block: Block<'p>, budget: Arc<Budget>) -> OpenBlock<'p> {
        OpenBlock { block, header: HeaderMemo::default(), budget }
    }
}

self_cell::self_cell!(
    /// The operators of a query, and the program that they run.
    pub(crate) struct Opened {
        owner: Own,
        #[not_covariant]
        dependent: OpenBlock,
    }
);

impl Opened {
    /// The statement is over: the operators can be opened for another one.
    pub fn close(&mut self) {
        self.with_dependent_mut(|_, open| open.block.close());
    }
}

/// What a program keeps.
pub(crate) enum State {
    Point(Box<Buffers>),
    Query(Opened),
}

struct CachedState {
    program: Own,
    /// `None` while it runs.
    state: Option<State>,
    /// When it was run last, counted in runs.
    used: u64,
}

/// Where a program's state was found last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place(usize);

/// The states of a session's programs.
#[derive(Default)]
pub struct States {
    list: Vec<CachedState>,
    runs: u64,
}

impl States {
    #[inline]
    fn find(&mut self, program: &Own, place: &mut Place) -> Option<&mut CachedState> {
        let is_there = |kept: &CachedState| kept.program.is(program);
        if !self.list.get(place.0).is_some_and(is_there) {
            place.0 = self.list.iter().position(is_there)?;
        }
        self.list.get_mut(place.0)
    }

    /// Takes a program's state out.
    #[inline]
    pub(crate) fn take(&mut self, program: &Own, place: &mut Place) -> Option<State> {
        self.runs += 1;
        let runs = self.runs;
        let kept = self.find(program, place)?;
        kept.used = runs;
        kept.state.take()
    }

    /// Keeps a program's state; that of the program that was not run for longest goes.
    #[inline]
    pub(crate) fn put(&mut self, program: &Own, place: &mut Place, state: State) {
        match self.find(program, place) {
            Some(kept) => kept.state = Some(state),
            None => self.add(program, state),
        }
    }

    #[cold]
    fn add(&mut self, program: &Own, state: State) {
        let new = CachedState { program: program.clone(), state: Some(state), used: self.runs };
        if self.list.len() < STATES_MAX {
            return self.list.push(new);
        }
        if let Some(oldest) = self.list.iter_mut().min_by_key(|kept| kept.used) {
            *oldest = new;
        }
    }
}
