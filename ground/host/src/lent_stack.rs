//! Stacks that are lent to threads while they work: each core has some, and who works there takes the one used last.
//!
//! A thread for each connection has a stack of its own, and what a statement writes to it, some hundred lines, is in no cache any
//! more when the next session's turn comes. On a lent stack all sessions of a core write to the same lines.
//!
//! 1. A stack has one user at a time: he took it out of a core's list by an exchange, and puts it back into that. 2. Nothing on it
//!    outlives the work that it was lent for. 3. Who waits in his work keeps it: others take the next one of the list, or a new
//!    one. So there are never more than worked at the same time. 4. Below a stack lies a page that nobody may touch. 5. A core's word
//!    is touched by another core only when a thread has moved. 6. While a core has but the one stack, taking it and giving it
//!    back are an exchange each.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::OnceLock;
use stdx::{CacheLine, LocalAtomic, Ordering};

/// Cores that have a list of their own; those beyond share.
const CORES_MAX: usize = 256;
/// Stacks that a core keeps when nobody needs them.
const KEPT_MAX: usize = 8;
/// Stacks that there are at most. Each is two mappings, of which a process may have 65,530; who waits without one does so on his own.
const STACKS_MAX: usize = 4096;
/// What is kept of a stack's memory when it is trimmed: deeper calls are rare.
const WARM_BYTES: usize = 64 << 10;
const PAGE_BYTES: usize = 4096;

/// What lies at the upper end of each stack, above what is lent of it.
#[repr(C, align(64))]
struct Head {
    /// The next one of the list: its address, 0 at the end. Written by whoever has this one.
    next: usize,
    /// Where the stack ends: above the page that nobody may touch.
    low: usize,
}

/// The first stack of each core's list: the address of its head; 0: there is none.
static CORES: [CacheLine<LocalAtomic<usize>>; CORES_MAX] =
    [const { CacheLine(LocalAtomic::new(0)) }; CORES_MAX];
static BYTES: OnceLock<usize> = OnceLock::new();
/// Stacks that there are.
static STACKS: LocalAtomic<usize> = LocalAtomic::new(0);

/// How large stacks are that are lent from now on; what was said first counts.
pub fn set_bytes(bytes: usize) {
    // It is no error that somebody has said so before.
    let _ = BYTES.set(bytes.next_multiple_of(PAGE_BYTES));
}

/// Works on a lent stack; where there is none, and no memory or number for a new one, on that of the calling thread. A panic goes on to the caller.
#[inline]
pub fn work<R>(job: impl FnOnce() -> R) -> R {
    let core = core();
    let Some(head) = take(core) else { return job() };
    let top = head.cast::<u8>();
    // SAFETY: `take` gave the head of a mapping to this thread alone (invariant 1).
    let low = unsafe { (*head).low };
    let bytes = top.addr() - low;
    let own = stdx::stack::replace((top.addr(), bytes));
    let guarded = move || catch_unwind(AssertUnwindSafe(job));
    // SAFETY: `low` to `top` is memory of this stack that nothing else uses until `put` (invariants 1 and 2), aligned to a page
    // below and to 64 bytes above. No panic leaves the closure.
    let done = unsafe { psm::on_stack(top.sub(bytes), bytes, guarded) };
    stdx::stack::replace(own);
    put(core, head.expose_provenance());
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

#[inline]
fn core() -> &'static LocalAtomic<usize> {
    // SAFETY: the call has no requirements. Where it fails it is -1, which is some core's number here.
    let number = unsafe { libc::sched_getcpu() } as usize;
    &CORES[number % CORES_MAX].0
}

/// The first stack of a core's list, or a new one.
#[inline]
fn take(core: &LocalAtomic<usize>) -> Option<*mut Head> {
    let head: *mut Head = ptr::with_exposed_provenance_mut(core.swap(0, Ordering::Acquire));
    if head.is_null() {
        return map();
    }
    // SAFETY: the exchange gave the list to this thread alone; its addresses are those of heads (see `put`).
    let next = unsafe { std::mem::take(&mut (*head).next) };
    if next != 0 {
        put(core, next);
    }
    Some(head)
}

/// Puts a list, which the caller has, into a core's.
#[inline]
fn put(core: &LocalAtomic<usize>, list: usize) {
    if core.compare_exchange(0, list, Ordering::Release, Ordering::Relaxed).is_err() {
        put_before(core, list);
    }
}

/// Where there are others: they follow, as the first one of `list` was used last.
#[cold]
fn put_before(core: &LocalAtomic<usize>, list: usize) {
    loop {
        let others = core.swap(0, Ordering::Acquire);
        let mut last: *mut Head = ptr::with_exposed_provenance_mut(list);
        // SAFETY: both lists are the caller's by now: he had the one, and took the other by the exchange.
        unsafe {
            while (*last).next != 0 {
                last = ptr::with_exposed_provenance_mut((*last).next);
            }
            (*last).next = others;
        }
        if core.compare_exchange(0, list, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// A new stack; `None`: there is no memory for it, or there are [`STACKS_MAX`].
#[cold]
fn map() -> Option<*mut Head> {
    let bytes = *BYTES.get()?;
    if STACKS.fetch_add(1, Ordering::Relaxed) >= STACKS_MAX {
        STACKS.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    // SAFETY: a fresh anonymous mapping, which touches nothing that is there.
    let low = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        libc::mmap(ptr::null_mut(), bytes + PAGE_BYTES, protection, flags, -1, 0)
    };
    if low == libc::MAP_FAILED {
        STACKS.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    // SAFETY: the page is the first one of that mapping.
    let guarded = unsafe { libc::mprotect(low, PAGE_BYTES, libc::PROT_NONE) } == 0;
    // SAFETY: the last bytes of the mapping, which is larger and aligned to a page.
    let head = unsafe { low.byte_add(bytes + PAGE_BYTES - size_of::<Head>()) }.cast::<Head>();
    // SAFETY: as above; nobody else knows it yet.
    unsafe { head.write(Head { next: 0, low: low.expose_provenance() + PAGE_BYTES }) };
    if !guarded {
        unmap(head);
        return None;
    }
    Some(head)
}

/// The stack, which is the caller's, is given back to the system.
fn unmap(head: *mut Head) {
    STACKS.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: the head was written by `map`, and nothing is on the stack (invariant 2).
    unsafe {
        let low = (*head).low - PAGE_BYTES;
        let bytes = head.addr() + size_of::<Head>() - low;
        libc::munmap(ptr::with_exposed_provenance_mut(low), bytes);
    }
}

/// Gives memory back that the present core's stacks do not need while little happens: what deep calls used, and stacks beyond
/// [`KEPT_MAX`].
#[cold]
pub fn trim() {
    let core = core();
    let mut list = core.swap(0, Ordering::Acquire);
    let mut kept = 0;
    let mut last: *mut Head = ptr::null_mut();
    let first = list;
    while list != 0 {
        let head: *mut Head = ptr::with_exposed_provenance_mut(list);
        // SAFETY: the list is the caller's, by the exchange.
        list = unsafe { (*head).next };
        kept += 1;
        if kept > KEPT_MAX {
            unmap(head);
            continue;
        }
        // SAFETY: as above; between `low` and the part that stays warm nothing lives (invariant 2), and it reads as zeros afterwards.
        unsafe {
            let low = (*head).low;
            let deep = (head.addr() - low).saturating_sub(WARM_BYTES) / PAGE_BYTES * PAGE_BYTES;
            libc::madvise(ptr::with_exposed_provenance_mut(low), deep, libc::MADV_DONTNEED);
            (*head).next = 0;
            if !last.is_null() {
                (*last).next = head.addr();
            }
        }
        last = head;
    }
    if first != 0 {
        put(core, first);
    }
}

// What the threads of a test wait for each other with is no latch of the server's.
#[cfg(test)]
#[allow(clippy::disallowed_types)]
mod tests {
    use super::*;

    const STACK_BYTES: usize = 1 << 20;

    fn fill(level: u8) -> u64 {
        crate::rest::tests::fill::<4096>(level)
    }

    fn here() -> usize {
        let mark = 0u8;
        ptr::from_ref(std::hint::black_box(&mark)).addr()
    }

    #[test]
    fn work_is_done_elsewhere_and_its_result_and_panic_come_back() {
        set_bytes(STACK_BYTES);
        let (own, text) = (here(), String::from("kept"));
        let before = stdx::stack::used();
        let (there, sum, bytes) =
            work(|| (here(), fill(100) + text.len() as u64, stdx::stack::used().1));
        assert!(there.abs_diff(own) > STACK_BYTES, "{there:x} {own:x}");
        assert_eq!(sum, (0..=100).sum::<u64>() * 4096 + 4);
        assert!((STACK_BYTES - 4096..=STACK_BYTES).contains(&bytes), "{bytes}");
        assert_eq!(stdx::stack::used().1, before.1);
        let panic = catch_unwind(|| work(|| -> u8 { panic!("a bug") }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"a bug"));
        assert!(work(stdx::stack::has_room));
    }

    #[test]
    fn who_works_at_the_same_time_has_another_one_and_all_are_kept() {
        set_bytes(STACK_BYTES);
        let barrier = std::sync::Barrier::new(20);
        for _ in 0..3 {
            let mut places: Vec<usize> = std::thread::scope(|scope| {
                let one = || {
                    work(|| {
                        let mine = here();
                        fill(20);
                        barrier.wait();
                        assert_eq!(fill(20), (0..=20).sum::<u64>() * 4096);
                        mine
                    })
                };
                let threads: Vec<_> = (0..20).map(|_| scope.spawn(one)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            places.sort_unstable();
            assert!(places.windows(2).all(|w| w[1] - w[0] > STACK_BYTES / 2), "{places:x?}");
            trim();
        }
    }

    #[test]
    fn many_threads_take_and_give_back_without_end() {
        set_bytes(STACK_BYTES);
        std::thread::scope(|scope| {
            for n in 0..8u64 {
                scope.spawn(move || {
                    for round in 0..20_000u64 {
                        let sum =
                            work(|| std::hint::black_box([n, round, fill(1)]).iter().sum::<u64>());
                        assert_eq!(sum, n + round + 4096);
                        if round % 1000 == n {
                            trim();
                        }
                    }
                });
            }
        });
    }
}
