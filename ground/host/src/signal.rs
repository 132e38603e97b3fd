//! The signals that stop the server.
//!
//! 1. [`block`] runs before any other thread is started, so that every thread inherits the mask and only
//!    [`wait`] takes the signals.

/// A signal that asks the server to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
    /// SIGHUP: MySQL reopens its logs; nothing is kept open here.
    HangUp,
}

const SIGNALS: [(i32, Signal); 3] = [
    (libc::SIGTERM, Signal::Terminate),
    (libc::SIGINT, Signal::Interrupt),
    (libc::SIGHUP, Signal::HangUp),
];

fn set() -> libc::sigset_t {
    // SAFETY: an all-zero sigset_t is plain memory; sigemptyset and sigaddset initialise it, and the
    // signal numbers are valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for (number, _) in SIGNALS {
            libc::sigaddset(&raw mut set, number);
        }
        set
    }
}

/// Keeps the signals from ending the process; they wait for [`wait`].
pub fn block() {
    let set = set();
    // SAFETY: `set` is initialised and the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Waits for one of the signals.
pub fn wait() -> Signal {
    let set = set();
    loop {
        let mut number = 0;
        // SAFETY: both pointers are to live local variables.
        let failed = unsafe { libc::sigwait(&raw const set, &raw mut number) };
        let found = SIGNALS.iter().find(|(n, _)| failed == 0 && *n == number);
        if let Some((_, signal)) = found {
            return *signal;
        }
    }
}

/// Sends SIGTERM to this process: SHUTDOWN ends the server the same way.
pub fn terminate_self() {
    // SAFETY: kill takes two numbers; the process is this one.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
}
