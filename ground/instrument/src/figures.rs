//! What one session or thread did, or all of an account, a user or a host: classes, stages, statements, transactions.
//!
//! 1. Only what was used is there: a session uses some ten of a thousand classes. 2. Figures of a page that is still written
//! are copied, and may be one event old.

use crate::errors::ErrorTotals;
use crate::memory::MemoryTotals;
use crate::page::{ClassTotals, CounterPage};
use crate::page_memory::SessionMemorySums;
use crate::stat::{StatTotals, Tally};
use crate::statement::StatementTotals;
use crate::transaction::TransactionTotals;
use std::collections::BTreeMap;

/// Figures that are emptied together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Figures {
    /// Of classes, without those below.
    Waits,
    /// Of stages.
    Stages,
    /// Of statement instruments.
    Statements,
    /// Statements by the time that they took.
    Times,
    /// Of transactions.
    Transactions,
    /// Of errors.
    Errors,
    /// Of memory: what is used stays when they are emptied.
    Memory,
}

impl Figures {
    /// All of them.
    pub const ALL: [Figures; FIGURES] = [
        Self::Waits,
        Self::Stages,
        Self::Statements,
        Self::Times,
        Self::Transactions,
        Self::Errors,
        Self::Memory,
    ];
}

/// How many there are.
pub(crate) const FIGURES: usize = Figures::Memory as usize + 1;

/// The figures of a page, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageFigures {
    waits: BTreeMap<u16, ClassTotals>,
    stages: BTreeMap<u16, StatTotals>,
    statements: BTreeMap<u16, StatementTotals>,
    transactions: TransactionTotals,
    /// By row.
    errors: BTreeMap<u16, ErrorTotals>,
    memory: BTreeMap<u16, MemoryTotals>,
    kept: SessionMemorySums,
}

impl PageFigures {
    /// All figures of a page but those of memory.
    pub fn of(page: &CounterPage) -> PageFigures {
        let mut sums = PageFigures::default();
        let events = Figures::ALL.into_iter().filter(|figures| *figures != Figures::Memory);
        events.for_each(|figures| sums.add_page(page, figures));
        sums
    }

    /// Adds some figures of a page.
    pub(crate) fn add_page(&mut self, page: &CounterPage, figures: Figures) {
        if figures == Figures::Memory {
            self.kept.add(&page.memory_sums());
        } else if !page.is_current(figures) {
            return;
        }
        match figures {
            Figures::Waits => {
                for (id, totals) in page.used_classes() {
                    self.waits.entry(id).or_default().add(&totals);
                }
            }
            Figures::Stages => {
                for (n, stat) in page.used_stages() {
                    self.stages.entry(n).or_default().add(&stat);
                }
            }
            Figures::Statements => {
                for (n, totals) in page.used_statements() {
                    self.statements.entry(n).or_default().add(&totals);
                }
            }
            Figures::Times => {}
            Figures::Transactions => self.transactions.add(&page.transactions(Tally::get)),
            Figures::Errors => {
                for (row, totals) in page.raised_errors() {
                    self.errors.entry(row).or_default().add(&totals);
                }
            }
            Figures::Memory => {
                for (id, totals) in page.used_memory() {
                    self.memory.entry(id).or_default().add(&totals);
                }
            }
        }
    }

    /// Adds events of a class that are in no page.
    pub(crate) fn add_events(&mut self, id: u16, events: &StatTotals) {
        let &StatTotals { count, ns_sum, ns_min, ns_max } = events;
        let totals = ClassTotals {
            count,
            waits: count,
            wait_ns_sum: ns_sum,
            wait_ns_min: ns_min,
            wait_ns_max: ns_max,
            ..ClassTotals::default()
        };
        self.waits.entry(id).or_default().add(&totals);
    }

    /// Adds others.
    pub fn add(&mut self, other: &PageFigures) {
        for (id, totals) in &other.waits {
            self.waits.entry(*id).or_default().add(totals);
        }
        for (n, stat) in &other.stages {
            self.stages.entry(*n).or_default().add(stat);
        }
        for (n, totals) in &other.statements {
            self.statements.entry(*n).or_default().add(totals);
        }
        self.transactions.add(&other.transactions);
        for (row, totals) in &other.errors {
            self.errors.entry(*row).or_default().add(totals);
        }
        for (id, totals) in &other.memory {
            self.memory.entry(*id).or_default().add(totals);
        }
        self.kept.add(&other.kept);
    }

    /// What is over of it: memory that was taken and given back, beside everything else.
    pub(crate) fn over(mut self) -> PageFigures {
        self.memory.values_mut().for_each(|totals| *totals = totals.over());
        let SessionMemorySums { controlled_max, total_max, .. } = self.kept;
        self.kept = SessionMemorySums { controlled_max, total_max, ..SessionMemorySums::default() };
        self
    }

    /// An instrument of memory.
    pub fn memory(&self, class: &crate::Class) -> MemoryTotals {
        let row = class.id_if_registered().and_then(|id| self.memory.get(&id));
        row.copied().unwrap_or_default()
    }

    /// What is kept in all.
    pub fn kept(&self) -> SessionMemorySums {
        self.kept
    }

    /// Takes some of them out.
    pub(crate) fn take(&mut self, figures: Figures) -> PageFigures {
        let mut taken = PageFigures::default();
        match figures {
            Figures::Waits => taken.waits = std::mem::take(&mut self.waits),
            Figures::Stages => taken.stages = std::mem::take(&mut self.stages),
            Figures::Statements => taken.statements = std::mem::take(&mut self.statements),
            Figures::Times => {}
            Figures::Transactions => {
                taken.transactions = std::mem::take(&mut self.transactions);
            }
            Figures::Errors => taken.errors = std::mem::take(&mut self.errors),
            Figures::Memory => taken.memory = std::mem::take(&mut self.memory),
        }
        taken
    }

    /// Forgets some of them.
    pub fn empty(&mut self, figures: Figures) {
        match figures {
            Figures::Waits => self.waits.clear(),
            Figures::Stages => self.stages.clear(),
            Figures::Statements => self.statements.clear(),
            Figures::Times => {}
            Figures::Transactions => self.transactions = TransactionTotals::default(),
            Figures::Errors => self.errors.clear(),
            Figures::Memory => self.memory.clear(),
        }
    }

    /// A class that is no stage and no statement.
    pub fn class(&self, class: &crate::Class) -> ClassTotals {
        let row = class.id_if_registered().and_then(|id| self.waits.get(&id));
        row.copied().unwrap_or_default()
    }

    /// A stage.
    pub fn stage(&self, class: &crate::Class) -> StatTotals {
        let row = class.stage_number().and_then(|n| self.stages.get(&n));
        row.copied().unwrap_or_default()
    }

    /// Statements of an instrument, by its number.
    pub fn statement(&self, number: u16) -> StatementTotals {
        self.statements.get(&number).copied().unwrap_or_default()
    }

    /// Transactions.
    pub fn transactions(&self) -> TransactionTotals {
        self.transactions
    }

    /// Errors of a row: 0 is that of those which are not listed, 1 the first of [`crate::errors`].
    pub fn error(&self, row: u16) -> ErrorTotals {
        self.errors.get(&row).copied().unwrap_or_default()
    }

    pub(crate) fn errors(&self) -> &BTreeMap<u16, ErrorTotals> {
        &self.errors
    }

    pub(crate) fn waits(&self) -> &BTreeMap<u16, ClassTotals> {
        &self.waits
    }

    pub(crate) fn stages(&self) -> &BTreeMap<u16, StatTotals> {
        &self.stages
    }

    pub(crate) fn statements(&self) -> &BTreeMap<u16, StatementTotals> {
        &self.statements
    }
}
