//! Sockets: those that are open, and what was done to them, each and by instrument.
//!
//! 1. A session's socket is idle while the session waits for its next command: nobody has to say so.

use super::file_io::{io_cells, of_class};
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{ClassKind, SocketReport};

/// The open sockets, ordered by instrument and session.
fn sorted() -> Vec<SocketReport> {
    let mut all = instrument::socket_reports();
    all.sort_by_key(|socket| (socket.class.name(), socket.place.thread_id, socket.number));
    all
}

/// `socket_instances`.
pub(super) fn instances(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let sessions = context.viewer.processes();
    for socket in sorted() {
        let place = &socket.place;
        let thread_id = Some(place.thread_id).filter(|id| *id != 0);
        let session = sessions.iter().find(|session| Some(session.thread_id) == thread_id);
        let is_idle = session.is_some_and(|session| session.command == "Sleep");
        rows.push(&cells![
            socket.class.name(),
            socket.number,
            thread_id,
            i64::from(place.descriptor),
            &place.ip,
            i64::from(place.port),
            if is_idle { "IDLE" } else { "ACTIVE" },
        ]);
    }
}

/// `socket_summary_by_instance`.
pub(super) fn by_instance(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for socket in sorted() {
        let mut row = Vec::from(cells![socket.class.name(), socket.number]);
        row.extend(io_cells(&socket.totals, Cell::UInt));
        rows.push(&row);
    }
}

/// `socket_summary_by_event_name`.
pub(super) fn by_event_name(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let totals = instrument::socket_totals();
    let classes = instrument::classes().into_iter();
    for class in classes.filter(|class| class.kind() == ClassKind::Socket) {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(io_cells(&of_class(&totals, class), Cell::UInt));
        rows.push(&row);
    }
}
