//! A thread that does something every so often, until it is told to stop.

use host::thread::spawn;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex};

instrument::classes! {
    static TICKER: MutexClass = "wait/synch/mutex/limpid/ticker";
    static STOPPED: CondClass = "wait/synch/cond/limpid/ticker";
}

/// Tells one thread to stop, when it is dropped.
struct Running(Arc<Stop>);

struct Stop {
    is_set: SharedAtomic<bool, { class::OTHER }>,
    event: Event,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        self.0.event.notify_all();
    }
}

/// The thread, while it runs.
pub(crate) struct Ticker(Mutex<Option<Running>>);

impl Ticker {
    /// None yet.
    pub fn new() -> Ticker {
        Ticker(Mutex::new(&TICKER, None))
    }

    /// Starts a thread of this name, unless one runs. `tick` is called every so often, as long as it says true.
    ///
    /// # Errors
    /// There is no room for another thread.
    pub fn start(
        &self,
        name: &str,
        every: Duration,
        mut tick: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<()> {
        let mut running = self.0.lock();
        if running.is_some() {
            return Ok(());
        }
        let is_set = SharedAtomic::new(false);
        let stop = Arc::new(Stop { is_set, event: Event::new(&STOPPED) });
        let its = Arc::clone(&stop);
        let rounds = move || {
            let is_stopped = || its.is_set.load(Ordering::SeqCst);
            loop {
                // From the beginning of one to that of the next.
                let next = Deadline::after(every);
                if is_stopped() || !tick() {
                    return;
                }
                let _ = its.event.wait_until(next, is_stopped);
            }
        };
        spawn(name, rounds)?;
        *running = Some(Running(stop));
        Ok(())
    }

    /// Tells the thread to stop, if one runs; it may be at its last tick for a moment.
    pub fn stop(&self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    #[test]
    fn it_ticks_until_it_is_stopped_and_again_when_it_is_started() {
        let ticker = Ticker::new();
        let long = Duration::from_secs(10);
        let start = || {
            let (tell, told) = channel();
            let tick = move || tell.send(()).is_ok();
            ticker.start("ticker", Duration::from_millis(1), tick).expect("a thread");
            told
        };
        let told = start();
        assert_eq!(told.recv_timeout(long), Ok(()));
        // The one that runs stays.
        assert_eq!(start().recv_timeout(long), Err(RecvTimeoutError::Disconnected));
        assert_eq!(told.recv_timeout(long), Ok(()));
        ticker.stop();
        while told.recv_timeout(long).is_ok() {}
        let again = start();
        assert_eq!(again.recv_timeout(long), Ok(()));
        drop(ticker);
        while again.recv_timeout(long).is_ok() {}
    }
}
