//! Summaries by thread, account, user, host and of all: what each did, by instrument.
//!
//! 1. A thread's figures are those of who runs as it now; when it ends, they are its account's, its user's and its host's. The
//! server's own threads have no account. 2. TRUNCATE of one of these tables begins threads anew; what they had done is their
//! accounts' from then on, unless it is those that are truncated.

use super::memory::memory_cells;
use super::statements::{statement_cells, timer_cells};
use super::waits::{is_wait, wait_cells};
use crate::information::{Cell, Rows, cells};
use catalog::{ConnectedBy, ReadContext};
use instrument::{ClassKind, ErrorTotals, PageFigures, STATEMENTS, Totals, TransactionTotals};

/// Makes the rows of one thread, account, user or host: its key is put before them.
type Family = fn(&PageFigures, &mut dyn FnMut(&[Cell<'_>]));

fn by(context: &ReadContext<'_>, by: Option<ConnectedBy>, family: Family, rows: &mut Rows<'_, '_>) {
    for row in context.viewer.figures_by(by) {
        let (user, host) = row.account.unzip();
        let key = match by {
            None => vec![Cell::UInt(row.thread_id)],
            Some(ConnectedBy::Account) => vec![user.into(), host.into()],
            Some(ConnectedBy::User) => vec![user.into()],
            Some(ConnectedBy::Host) => vec![host.into()],
        };
        family(&row.figures, &mut |cells| {
            let row: Vec<Cell<'_>> = key.iter().chain(cells).cloned().collect();
            rows.push(&row);
        });
    }
}

/// The summaries of a family: by thread, account, user and host.
macro_rules! summaries {
    ($($family:ident: $by_thread:ident, $by_account:ident, $by_user:ident, $by_host:ident;)*) => {$(
        pub(super) fn $by_thread(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
            by(context, None, $family, rows);
        }

        pub(super) fn $by_account(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
            by(context, Some(ConnectedBy::Account), $family, rows);
        }

        pub(super) fn $by_user(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
            by(context, Some(ConnectedBy::User), $family, rows);
        }

        pub(super) fn $by_host(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
            by(context, Some(ConnectedBy::Host), $family, rows);
        }
    )*};
}

summaries! {
    waits: waits_by_thread, waits_by_account, waits_by_user, waits_by_host;
    stages: stages_by_thread, stages_by_account, stages_by_user, stages_by_host;
    statements: statements_by_thread, statements_by_account, statements_by_user, statements_by_host;
    transactions:
        transactions_by_thread, transactions_by_account, transactions_by_user, transactions_by_host;
    errors: errors_by_thread, errors_by_account, errors_by_user, errors_by_host;
    memory: memory_by_thread, memory_by_account, memory_by_user, memory_by_host;
}

fn waits(figures: &PageFigures, push: &mut dyn FnMut(&[Cell<'_>])) {
    for class in instrument::classes().into_iter().filter(|class| is_wait(class)) {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(wait_cells(&figures.class(class)));
        push(&row);
    }
}

fn memory(figures: &PageFigures, push: &mut dyn FnMut(&[Cell<'_>])) {
    for class in instrument::session_memory().into_iter().filter(|class| !class.is_lost()) {
        let totals = figures.memory(class);
        push(&memory_cells(class, &totals.pieces, &totals.bytes));
    }
}

fn stages(figures: &PageFigures, push: &mut dyn FnMut(&[Cell<'_>])) {
    for class in instrument::classes().into_iter().filter(|class| class.kind() == ClassKind::Stage)
    {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(timer_cells(&figures.stage(class)));
        push(&row);
    }
}

fn statements(figures: &PageFigures, push: &mut dyn FnMut(&[Cell<'_>])) {
    for (number, class) in STATEMENTS.iter().enumerate().filter(|(_, class)| !class.is_lost()) {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(statement_cells(&figures.statement(number as u16)));
        push(&row);
    }
}

fn transactions(figures: &PageFigures, push: &mut dyn FnMut(&[Cell<'_>])) {
    push(&transaction_cells(&figures.transactions()));
}

fn transaction_cells(totals: &TransactionTotals) -> Vec<Cell<'static>> {
    let mut row = Vec::from(cells!["transaction"]);
    row.extend(timer_cells(&totals.all()));
    row.extend(timer_cells(&totals.read_write));
    row.extend(timer_cells(&totals.read_only));
    row
}

/// `events_transactions_summary_global_by_event_name`.
pub(super) fn transactions_global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    rows.push(&transaction_cells(&instrument::totals().transactions()));
}

/// `events_stages_summary_global_by_event_name`.
pub(super) fn stages_global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let totals: Totals = instrument::totals();
    for class in instrument::classes().into_iter().filter(|class| class.kind() == ClassKind::Stage)
    {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(timer_cells(&totals.stage(class)));
        rows.push(&row);
    }
}

fn errors(figures: &PageFigures, push: &mut dyn FnMut(&[Cell<'_>])) {
    for_errors(|row| figures.error(row), push);
}

/// `events_errors_summary_global_by_error`.
pub(super) fn errors_global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let totals = instrument::totals();
    for_errors(|row| totals.error(row), &mut |cells| rows.push(cells));
}

/// Nobody handles an error: there are no stored programs. Where no error has a row of its own, all of them have none.
fn for_errors(of: impl Fn(u16) -> ErrorTotals, push: &mut dyn FnMut(&[Cell<'_>])) {
    if instrument::errors().is_empty() {
        return;
    }
    let moment = |us: u64| if us == 0 { Cell::Null } else { Cell::Time(us as i64) };
    let figures = |row: u16| {
        let ErrorTotals { raised, first_us, last_us } = of(row);
        [Cell::UInt(raised), Cell::UInt(0), moment(first_us), moment(last_us)]
    };
    let mut row = Vec::from(cells![Cell::Null, Cell::Null, Cell::Null]);
    row.extend(figures(0));
    push(&row);
    for (n, error) in (1..).zip(instrument::errors()) {
        let mut row = Vec::from(cells![u64::from(error.number), error.name, error.state]);
        row.extend(figures(n));
        push(&row);
    }
}
