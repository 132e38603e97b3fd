//! Ctrl-C ends the run, with a report of what is there. A second one changes nothing: whatever the lab waits for has a limit, and who
//! ended at once would leave servers behind.

use std::io;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};

static ASKED: SharedAtomic<bool, { class::OTHER }> = SharedAtomic::new(false);

/// What a run that was ended says.
pub const WORD: &str = "interrupted";
/// Exit code of a run that was ended.
pub const EXIT_CODE: u8 = 130;

/// Whether the run is to end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Waits. Nobody kills a thread of the lab, so the time always passes.
pub fn pause(time: Duration) {
    let _passed = host::clock::sleep(time);
}

/// Listens for signals from now on; called before any other thread begins.
///
/// # Errors
/// There is no room for a thread.
pub fn listen() -> io::Result<()> {
    host::signal::block();
    host::thread::spawn("lab_signals", || {
        loop {
            host::signal::wait();
            ASKED.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(())
}
