//! How much of a thread's stack is left for what recurses by what a client wrote.
//!
//! 1. A thread that was started with a known stack says so once, at its start ([`begin`]); of others nothing is known, and
//!    they always have room. 2. Half of a stack is kept for what does not ask: planning and running recurse no
//!    deeper than reading and resolving did, which ask at each level.

use crate::of_thread::{replace_stack, stack};

/// The present thread runs on a stack of so many bytes, of which next to nothing is used.
pub fn begin(bytes: usize) {
    replace_stack((here(), bytes));
}

/// From now on the present thread runs on another stack: where it began and how many bytes it has; what counted before.
#[inline]
pub fn replace(stack: (usize, usize)) -> (usize, usize) {
    replace_stack(stack)
}

/// Whether one more level of a recursion may be entered.
#[inline]
#[must_use]
pub fn has_room() -> bool {
    let (top, bytes) = stack();
    bytes == 0 || top.abs_diff(here()) < bytes / 2
}

/// Addresses of the present thread's stack that lie below who calls this: the part that may be used ([`has_room`]), and where it ends;
/// `None`: nothing is known of the stack.
#[must_use]
pub fn unused() -> Option<(usize, usize)> {
    let (top, bytes) = stack();
    (bytes != 0).then(|| (top - bytes / 2, here()))
}

/// Bytes that are used, and that there are.
#[must_use]
pub fn used() -> (usize, usize) {
    let (top, bytes) = stack();
    (top.abs_diff(here()), bytes)
}

#[inline(never)]
fn here() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(std::hint::black_box(&mark)).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down(level: usize) -> usize {
        let filler = [level as u8; 512];
        let below = if has_room() { down(level + 1) } else { level };
        std::hint::black_box(&filler);
        below
    }

    #[test]
    fn half_of_a_known_stack_may_be_used() {
        let bytes = 1 << 20;
        let run = move || {
            assert!(has_room());
            begin(bytes);
            let levels = down(0);
            assert!(levels > 100 && levels < bytes / 2 / 512, "{levels}");
        };
        let thread = std::thread::Builder::new().stack_size(bytes).spawn(run);
        thread.expect("a thread").join().expect("no overflow");
    }
}
