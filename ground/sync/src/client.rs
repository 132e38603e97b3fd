//! Whether the client of a session that waits is still there.
//!
//! 1. A look may be a system call, so there is one for each [`LOOK`] that the thread has waited, be that in one wait or in
//!    many. Who never waits never looks.
//! 2. A client that has gone is a KILL of its session: whatever wait a KILL ends, a lost client ends, too.

use crate::lot::Parked;
use crate::{Deadline, KILL_CONNECTION, SessionSlot, now};
use std::cell::Cell;
use std::ptr;
use std::time::Duration;

/// How long a session waits between two looks.
const LOOK: Duration = Duration::from_millis(200);

struct Client<'a> {
    slot: &'a SessionSlot,
    is_lost: &'a dyn Fn() -> bool,
    /// Of waiting, until the next look.
    left: Cell<Duration>,
}

thread_local! {
    static CLIENT: Cell<*const Client<'static>> = const { Cell::new(ptr::null()) };
}

/// Puts back what was there before, also after a panic.
struct Back(*const Client<'static>);

impl Drop for Back {
    fn drop(&mut self) {
        CLIENT.with(|c| c.set(self.0));
    }
}

impl Client<'_> {
    /// Whether it is time for a look, after another wait.
    fn is_due(&self, waited: Duration) -> bool {
        let left = self.left.get().saturating_sub(waited);
        self.left.set(if left.is_zero() { LOOK } else { left });
        left.is_zero()
    }
}

/// Does the work of a session, which the calling thread has entered. While it waits, it is looked now and then whether its
/// client has gone, which ends the wait as a KILL does.
pub fn with_client<R>(
    slot: &SessionSlot,
    is_lost: &dyn Fn() -> bool,
    work: impl FnOnce() -> R,
) -> R {
    let client = Client { slot, is_lost, left: Cell::new(LOOK) };
    let _back = Back(CLIENT.with(|c| c.replace(ptr::from_ref(&client).cast())));
    work()
}

/// Parks by `park` until the deadline, or until the client of the session has gone.
pub(crate) fn park_watching(
    slot: &SessionSlot,
    deadline: Deadline,
    park: impl Fn(Deadline) -> Parked,
) -> Parked {
    // SAFETY: null, or what lies in a frame of `with_client` further up on this thread's stack, whose end puts back what was
    // there before; the reference does not leave this function.
    let client = unsafe { CLIENT.with(Cell::get).as_ref() };
    let Some(client) = client.filter(|client| ptr::eq(client.slot, slot)) else {
        return park(deadline);
    };
    loop {
        let begun = now();
        let look = begun + client.left.get();
        let until = match deadline {
            Deadline::At(end) if end <= look => deadline,
            _ => Deadline::At(look),
        };
        let parked = park(until);
        if client.is_due(now().saturating_duration_since(begun)) && (client.is_lost)() {
            slot.kill(KILL_CONNECTION);
        }
        if parked != Parked::TimedOut || until == deadline {
            return parked;
        }
    }
}
