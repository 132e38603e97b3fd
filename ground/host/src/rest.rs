//! What a thread gives back that has nothing to do for a while: pages of its stack, and what the allocator keeps for it.
//!
//! 1. Below the frame of who runs there is nothing on a stack that anybody needs: its pages may go, and come back empty when they
//! are touched. 2. Memory that threads give back goes to the system within [`DECAYS_AFTER`], by threads of the allocator's own.
//! 3. The allocator's caches are small ([`ALLOCATOR_OPTIONS`]): a thread takes few pieces of a size at a time. With the default
//! of up to 100, what ten thousand sessions keep would lie in pages that have little else: 28 KB more of each.

/// How long the allocator keeps memory that nobody uses.
pub const DECAYS_AFTER: std::time::Duration = std::time::Duration::from_secs(3);

/// What the allocator reads when the process begins, as a text of C's: pieces of a size that a thread keeps, and [`DECAYS_AFTER`].
#[cfg(not(loom))]
#[used]
// SAFETY: no other symbol has this name: the allocator looks for it, and has none of its own.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static ALLOCATOR_OPTIONS: Option<&'static std::ffi::c_char> = Some(unsafe {
    // SAFETY: the text lives as long as the process, and the allocator reads it up to its zero.
    &*c"lg_tcache_nslots_mul:-3,tcache_nslots_small_min:2,tcache_nslots_small_max:8,dirty_decay_ms:3000".as_ptr()
});

/// Pages of stacks.
#[cfg(not(loom))]
const PAGE_BYTES: usize = 4096;
/// What is next to the frame stays: what code may use below it without saying so, and the frame of the system call.
#[cfg(not(loom))]
const MARGIN_BYTES: usize = 256;

/// The calling thread has nothing to do for a while, until [`wake`].
#[cfg(not(loom))]
pub fn rest() {
    set_cache(false);
    give_stack_back();
}

/// It has something to do again.
#[cfg(not(loom))]
pub fn wake() {
    set_cache(true);
}

/// A model has no memory of its own.
#[cfg(loom)]
pub fn rest() {}

/// As [`rest`].
#[cfg(loom)]
pub fn wake() {}

#[cfg(not(loom))]
#[inline(never)]
fn give_stack_back() {
    let Some((low, here)) = stdx::stack::unused() else { return };
    let low = low.next_multiple_of(PAGE_BYTES);
    let high = (here - MARGIN_BYTES) / PAGE_BYTES * PAGE_BYTES;
    if let Some(bytes) = high.checked_sub(low) {
        // SAFETY: the range lies in this thread's stack, as `stdx::stack` knows its size, and `MARGIN_BYTES` below a frame that this
        // function called, so that the frames of this call lie above it: no value lives there. The pages are private and anonymous;
        // they read as zeros afterwards, which a new frame does not look at.
        unsafe {
            libc::madvise(std::ptr::with_exposed_provenance_mut(low), bytes, libc::MADV_DONTNEED)
        };
    }
}

/// Whether the allocator keeps memory for the calling thread; what it kept goes to where all threads take from.
#[cfg(not(loom))]
fn set_cache(on: bool) {
    switch(c"thread.tcache.enabled", on);
}

/// Lets the allocator give memory back by threads of its own; else it does so only while it is asked for memory.
#[cfg(not(loom))]
pub fn decay_in_background() {
    switch(c"background_thread", true);
}

/// Switches something of the allocator's that is on or off. Where it cannot be, memory is kept for longer.
#[cfg(not(loom))]
fn switch(name: &std::ffi::CStr, mut on: bool) {
    let value = std::ptr::from_mut(&mut on).cast();
    // SAFETY: the name ends with a zero; the value is one byte, read from `on`, which lives during the call. Nothing is written.
    unsafe {
        let none = std::ptr::null_mut();
        tikv_jemalloc_sys::mallctl(
            name.as_ptr(),
            none,
            std::ptr::null_mut(),
            value,
            size_of::<bool>(),
        )
    };
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;

    /// Writes to so many bytes of the stack at each level; their sum.
    #[inline(never)]
    pub fn fill<const BYTES: usize>(level: u8) -> u64 {
        let mine = [level; BYTES];
        let below = if level == 0 { 0 } else { fill::<BYTES>(level - 1) };
        std::hint::black_box(&mine).iter().map(|b| u64::from(*b)).sum::<u64>() + below
    }

    /// Memory of the calling thread's stack, in KiB: that of the mapping where a local variable lies.
    fn resident_kib() -> u64 {
        let mark = 0u8;
        let here = std::ptr::from_ref(&mark).addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("maps");
        let mut is_here = false;
        for line in maps.lines() {
            let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
            let bound = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((Some(low), Some(high))) = range.map(|(a, b)| (bound(a), bound(b))) {
                is_here = (low..high).contains(&here);
            }
            if is_here && let Some(rest) = line.strip_prefix("Rss:") {
                let number = rest.trim().strip_suffix(" kB").and_then(|n| n.trim().parse().ok());
                return number.expect("a number");
            }
        }
        panic!("no mapping at {here:#x}");
    }

    #[test]
    fn what_a_deep_call_used_of_a_stack_is_given_back() {
        let run = || {
            let kept = [7u8; 64];
            assert_eq!(fill::<8192>(60), (0..=60).sum::<u64>() * 8192);
            let before = resident_kib();
            rest();
            wake();
            let after = resident_kib();
            assert!(before >= 60 * 8 && after <= 64, "{before} KiB, then {after}");
            assert_eq!(std::hint::black_box(kept), [7; 64]);
            // It can be used again.
            assert_eq!(fill::<8192>(60), (0..=60).sum::<u64>() * 8192);
        };
        let thread = crate::thread::spawn_with_stack("rests", 8 << 20, run);
        thread.expect("a thread").join().expect("no panic");
    }

    /// An option of the allocator's, of a type as wide as the one it has.
    fn option<T: Default>(name: &std::ffi::CStr) -> T {
        let (mut value, mut bytes) = (T::default(), size_of::<T>());
        // SAFETY: the name ends with a zero; so many bytes are written to `value`, which lives during the call.
        let error = unsafe {
            let to = std::ptr::from_mut(&mut value).cast();
            tikv_jemalloc_sys::mallctl(name.as_ptr(), to, &mut bytes, std::ptr::null_mut(), 0)
        };
        assert_eq!((error, bytes), (0, size_of::<T>()), "{name:?}");
        value
    }

    #[test]
    fn the_allocator_has_read_its_options() {
        assert_eq!(option::<isize>(c"opt.dirty_decay_ms"), DECAYS_AFTER.as_millis() as isize);
        assert_eq!(option::<u32>(c"opt.tcache_nslots_small_max"), 8);
    }
}
