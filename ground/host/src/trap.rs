//! Test support: proves that code writes no memory that other threads see.
//!
//! [`arm`] makes every writable mapping of the process read-only, except the calling thread's
//! stack (with its thread-local storage) and the ranges that the caller names. The caller runs the
//! code under test and calls [`Armed::disarm`], which makes everything writable again and tells
//! each page that was written in between: address, mapping, instruction, thread.
//!
//! ```text
//! // in a test binary of its own, on a thread that was spawned (not main)
//! warm_up(&mut session);                         // every allocation and first touch happens here
//! let private = [session.slot_range(), session.buffers_range()];
//! let armed = host::trap::arm(&private)?;        // from here a store to anything else is a fault
//! for _ in 0..1000 { session.point_select(); }
//! let faults = armed.disarm();
//! assert!(faults.is_empty(), "{}", host::trap::report(&faults));
//! ```
//!
//! 1. Protection is by whole pages of 4096 bytes. A private range frees every page it touches, so
//!    private memory should come in whole pages ([`AlignedBuf`](crate::AlignedBuf), session slots),
//!    or something shared on its edge escapes. `malloc` memory is shared: allocating is a fault.
//! 2. A fault is recorded and its page made writable, so the code goes on and each page faults
//!    once. After [`FAULTS_MAX`] faults everything is made writable.
//!    [`arm_each`] instead records every store there is: its page is protected again behind the one instruction
//!    (x86-64 only), and stores beyond [`STORES_MAX`] are counted as [`Armed::missed`] says.
//! 3. Nothing is allocated or written outside the handler's own pages and the stack between arming
//!    and disarming: the state lives in a mapping of its own.
//! 4. Other threads must not run meanwhile, or their stores are reported too (each fault has its
//!    thread's id: [`Fault::thread`]); sleeping in the kernel is fine. So one such test per binary.
//! 5. A system call that writes into protected memory fails with `EFAULT` instead of faulting:
//!    check its result.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use stdx::{LocalAtomic, Ordering};

/// Faults that are recorded before the trap opens.
pub const FAULTS_MAX: usize = 64;
/// Stores that [`arm_each`] records.
pub const STORES_MAX: usize = 4096;
/// Pages that one instruction may have opened.
const OPENED_MAX: usize = 8;
/// Code addresses kept per fault.
const TRACE_MAX: usize = 48;
/// Words of stack that are searched for code addresses.
const STACK_WORDS: usize = 512;
const RANGES_MAX: usize = 16384;
const PAGE: usize = 4096;

/// A write that the trap caught.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The address written to.
    pub address: usize,
    /// The mapping it is in, as `/proc/self/maps` has it.
    pub mapping: String,
    /// The writing thread's id.
    pub thread: i32,
    /// The instruction, and words of its stack that look like return addresses (some may be
    /// stale), each as an offset in the executable for `addr2line -fie BINARY OFFSET`.
    pub trace: Vec<usize>,
}

/// A protected range.
#[derive(Clone, Copy)]
struct Protected {
    start: usize,
    bytes: usize,
    prot: i32,
}

#[derive(Clone, Copy)]
struct RawFault {
    address: usize,
    thread: i32,
    traced: usize,
    trace: [usize; TRACE_MAX],
}

/// Everything that the handler reads and writes; lives in its own mapping.
struct State {
    faults: LocalAtomic<usize>,
    ranges_used: usize,
    /// Every store is recorded.
    each: bool,
    /// Pages open for the instruction that is being stepped over, by [`arm_each`].
    opened: [usize; OPENED_MAX],
    opened_used: usize,
    code: Range<usize>,
    ranges: [Protected; RANGES_MAX],
    recorded: [RawFault; STORES_MAX],
}

/// One armed trap of the process; armed means that `armed` is true.
struct Handler {
    state: *mut State,
}

// SAFETY: the pointer is set once; who may use what it points to is said at each use.
unsafe impl Send for Handler {}
// SAFETY: as above.
unsafe impl Sync for Handler {}

/// Set once by the first `arm`; the handler only reads it.
static HANDLER: OnceLock<Handler> = OnceLock::new();
/// One trap at a time. Written while the mappings are writable.
static ARMED: LocalAtomic<bool> = LocalAtomic::new(false);

/// A trap in force.
#[must_use = "the trap is opened by disarm()"]
pub struct Armed {
    maps: Vec<Mapping>,
    old_actions: [libc::sigaction; 2],
}

/// A line of `/proc/self/maps`.
#[derive(Clone, Debug)]
struct Mapping {
    range: Range<usize>,
    prot: i32,
    name: String,
}

/// Protects every writable mapping except the calling thread's stack and `private`.
///
/// Fails when `/proc/self/maps` cannot be read, when there are too many mappings, or with
/// `ResourceBusy` when a trap is armed already.
pub fn arm(private: &[Range<usize>]) -> io::Result<Armed> {
    arm_with(private, false)
}

/// As [`arm`], and records every single store. For one thread only: while an instruction is stepped over, its page is
/// open for all. Another signal handler of the thread would be stepped through, too.
pub fn arm_each(private: &[Range<usize>]) -> io::Result<Armed> {
    arm_with(private, true)
}

fn arm_with(private: &[Range<usize>], each: bool) -> io::Result<Armed> {
    if ARMED.swap(true, Ordering::AcqRel) {
        return Err(io::Error::from(io::ErrorKind::ResourceBusy));
    }
    let armed = prepare(private, each).and_then(|maps| {
        let old_actions = [
            install(libc::SIGSEGV, on_fault as extern "C" fn(_, _, _) as usize)?,
            install(libc::SIGTRAP, on_step as extern "C" fn(_, _, _) as usize)?,
        ];
        Ok(Armed { maps, old_actions })
    });
    if armed.is_err() {
        ARMED.store(false, Ordering::Release);
        return armed;
    }
    protect_all();
    armed
}

/// Fills the state: what will be protected. Everything that allocates happens here.
fn prepare(private: &[Range<usize>], each: bool) -> io::Result<Vec<Mapping>> {
    let handler = HANDLER.get_or_init(|| Handler { state: map_state() });
    if handler.state.is_null() {
        return Err(io::Error::from(io::ErrorKind::OutOfMemory));
    }
    let own = handler.state as usize..handler.state as usize + size_of::<State>();
    let mut keep = vec![own, thread_stack()?];
    keep.extend(thread_control());
    keep.extend(private.iter().cloned());
    for range in &mut keep {
        *range = range.start / PAGE * PAGE..range.end.next_multiple_of(PAGE);
    }
    keep.sort_by_key(|r| r.start);
    let maps = read_maps()?;
    // SAFETY: ARMED was taken, so no handler and no other `arm` uses the state now.
    let state = unsafe { &mut *handler.state };
    state.faults.store(0, Ordering::Relaxed);
    state.ranges_used = 0;
    state.each = each;
    state.opened_used = 0;
    state.code = code_range(&maps);
    for map in maps.iter().filter(|m| m.prot & libc::PROT_WRITE != 0) {
        for part in without(&map.range, &keep) {
            let slot = state.ranges.get_mut(state.ranges_used);
            let slot = slot.ok_or_else(|| io::Error::other("too many mappings for the trap"))?;
            *slot = Protected { start: part.start, bytes: part.len(), prot: map.prot };
            state.ranges_used += 1;
        }
    }
    Ok(maps)
}

/// `whole` minus the sorted ranges `keep`.
fn without(whole: &Range<usize>, keep: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = whole.start;
    for hole in keep {
        if hole.end <= at || hole.start >= whole.end {
            continue;
        }
        if hole.start > at {
            parts.push(at..hole.start);
        }
        at = hole.end.min(whole.end);
    }
    if at < whole.end {
        parts.push(at..whole.end);
    }
    parts
}

fn map_state() -> *mut State {
    // SAFETY: a fresh anonymous mapping; zero bytes are a valid State (numbers only).
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<State>().next_multiple_of(PAGE),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED { std::ptr::null_mut() } else { at.cast() }
}

/// The calling thread's stack. On a spawned thread glibc puts the static thread-local storage and
/// the thread's control block at its upper end, inside the range.
fn thread_stack() -> io::Result<Range<usize>> {
    let mut start = std::ptr::null_mut();
    let mut bytes = 0;
    // SAFETY: the attribute object is initialised by the first call, read by the second and
    // destroyed by the third; all get valid places.
    let ok = unsafe {
        let mut attr = std::mem::zeroed::<libc::pthread_attr_t>();
        let mut ok = libc::pthread_getattr_np(libc::pthread_self(), &raw mut attr) == 0;
        if ok {
            ok = libc::pthread_attr_getstack(&raw const attr, &raw mut start, &raw mut bytes) == 0;
            libc::pthread_attr_destroy(&raw mut attr);
        }
        ok
    };
    if ok {
        return Ok(start as usize..start as usize + bytes);
    }
    Err(io::Error::other("the thread's stack is unknown"))
}

/// Pages of the thread's control block and of a thread-local variable: on the main thread they are
/// not part of its stack.
fn thread_control() -> [Range<usize>; 2] {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    // SAFETY: pthread_self has no requirements.
    let control = unsafe { libc::pthread_self() } as usize;
    let local = HERE.with(|h| std::ptr::from_ref(h).addr());
    [control..control + PAGE, local..local + 1]
}

fn read_maps() -> io::Result<Vec<Mapping>> {
    let text = std::fs::read_to_string("/proc/self/maps")?;
    Ok(text.lines().filter_map(parse_mapping).collect())
}

/// `7f00-8f00 rw-p 00000000 00:00 0   name`; kernel pages that nobody can protect are left out.
fn parse_mapping(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let hex = |s| usize::from_str_radix(s, 16).ok();
    let range = hex(start)?..hex(end)?;
    let flags = rest.as_bytes();
    let mut prot = 0;
    for (at, letter, bit) in
        [(0, b'r', libc::PROT_READ), (1, b'w', libc::PROT_WRITE), (2, b'x', libc::PROT_EXEC)]
    {
        if *flags.get(at)? == letter {
            prot |= bit;
        }
    }
    let name = rest.splitn(5, ' ').nth(4)?.trim_start();
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim().to_string();
    if name.starts_with("[v") {
        return None;
    }
    let name = if name.is_empty() { "anonymous memory".to_string() } else { name };
    Some(Mapping { range, prot, name })
}

/// All mappings of the executable's file.
fn code_range(maps: &[Mapping]) -> Range<usize> {
    let here = code_range as *const () as usize;
    let Some(own) = maps.iter().find(|m| m.range.contains(&here)) else { return 0..0 };
    let mut of_file = maps.iter().filter(|m| m.name == own.name);
    let start = of_file.next().map_or(0, |m| m.range.start);
    start..own.range.end
}

fn install(signal: libc::c_int, handler: usize) -> io::Result<libc::sigaction> {
    // SAFETY: both structures are valid; the handlers keep to what a signal handler may do.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO;
        let mut old = std::mem::zeroed::<libc::sigaction>();
        if libc::sigaction(signal, &raw const action, &raw mut old) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(old)
    }
}

fn state() -> Option<*mut State> {
    HANDLER.get().map(|h| h.state).filter(|s| !s.is_null())
}

/// Only the stack and the state's pages are written from here on.
fn protect_all() {
    let Some(state) = state() else { return };
    // SAFETY: the state is filled and nobody writes the table before disarm.
    let (ranges, used) = unsafe { (&(*state).ranges, (*state).ranges_used) };
    for range in ranges.iter().take(used) {
        set_protection(range, range.prot & !libc::PROT_WRITE);
    }
}

fn restore_all() {
    let Some(state) = state() else { return };
    // SAFETY: as in protect_all.
    let (ranges, used) = unsafe { (&(*state).ranges, (*state).ranges_used) };
    for range in ranges.iter().take(used) {
        set_protection(range, range.prot);
    }
}

fn set_protection(range: &Protected, prot: i32) {
    // SAFETY: the range was a mapping of this process with these rights or more; taking the right
    // to write away harms nobody who has a handler for the fault, giving it back restores it.
    unsafe { libc::mprotect(range.start as *mut libc::c_void, range.bytes, prot) };
}

/// Records a fault in a protected range and makes its page writable; any other fault gets the
/// default action, which ends the process with its real cause.
extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo for SIGSEGV.
    let address = unsafe { (*info).si_addr() } as usize;
    if !caught(address, context) {
        // SAFETY: restoring the default action and returning repeats the fault, which then kills.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

fn caught(address: usize, context: *mut libc::c_void) -> bool {
    let Some(state) = state() else { return false };
    // SAFETY: the table does not change while the trap is armed.
    let (ranges, used) = unsafe { (&(*state).ranges, (*state).ranges_used) };
    let Some(hit) =
        ranges.iter().take(used).find(|r| (r.start..r.start + r.bytes).contains(&address))
    else {
        return false;
    };
    // SAFETY: the mode does not change while the trap is armed.
    let each = unsafe { (*state).each };
    // SAFETY: the counter is atomic.
    let number = unsafe { &(*state).faults }.fetch_add(1, Ordering::AcqRel);
    if !each && number >= FAULTS_MAX {
        restore_all();
        return true;
    }
    set_protection(&Protected { start: address / PAGE * PAGE, bytes: PAGE, prot: 0 }, hit.prot);
    if each {
        step(state, context, address / PAGE * PAGE);
    }
    if number >= STORES_MAX {
        return true;
    }
    let mut fault = RawFault {
        address,
        // SAFETY: no requirements.
        thread: unsafe { libc::syscall(libc::SYS_gettid) } as i32,
        traced: 0,
        trace: [0; TRACE_MAX],
    };
    // SAFETY: `code` does not change while the trap is armed.
    let code = unsafe { &(*state).code };
    trace(context, code, &mut fault);
    // SAFETY: the number is this fault's alone and below the table's length.
    unsafe { (&raw mut (*state).recorded).cast::<RawFault>().add(number).write(fault) };
    true
}

/// The processor's flag that ends an instruction with a trap.
#[cfg(target_arch = "x86_64")]
const STEP_FLAG: i64 = 0x100;

/// Lets the faulting instruction have its page, and nothing behind it.
#[cfg(target_arch = "x86_64")]
fn step(state: *mut State, context: *mut libc::c_void, page: usize) {
    // SAFETY: one thread is trapped (see [`arm_each`]), and this is it; the context is the kernel's.
    let (state, registers) =
        unsafe { (&mut *state, &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs) };
    if let Some(slot) = state.opened.get_mut(state.opened_used) {
        *slot = page;
        state.opened_used += 1;
    }
    registers[libc::REG_EFL as usize] |= STEP_FLAG;
}

#[cfg(not(target_arch = "x86_64"))]
fn step(_state: *mut State, _context: *mut libc::c_void, _page: usize) {}

/// Behind the instruction that faulted: its pages are closed again.
extern "C" fn on_step(
    _signal: libc::c_int,
    _info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let Some(state) = state() else { return };
    // SAFETY: as in `step`.
    let state = unsafe { &mut *state };
    for &page in &state.opened[..state.opened_used] {
        let all = &state.ranges[..state.ranges_used];
        if let Some(hit) = all.iter().find(|r| (r.start..r.start + r.bytes).contains(&page)) {
            let closed = Protected { start: page, bytes: PAGE, prot: 0 };
            set_protection(&closed, hit.prot & !libc::PROT_WRITE);
        }
    }
    state.opened_used = 0;
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the kernel passes a valid ucontext to a SA_SIGINFO handler.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        registers[libc::REG_EFL as usize] &= !STEP_FLAG;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = context;
}

/// The faulting instruction, then every word near the top of the stack that points into the code.
#[cfg(target_arch = "x86_64")]
fn trace(context: *mut libc::c_void, code: &Range<usize>, fault: &mut RawFault) {
    // SAFETY: the kernel passes a valid ucontext to a SA_SIGINFO handler.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let mut add = |at: usize| {
        if fault.traced < TRACE_MAX {
            fault.trace[fault.traced] = at.wrapping_sub(code.start);
            fault.traced += 1;
        }
    };
    add(registers[libc::REG_RIP as usize] as usize);
    let stack = registers[libc::REG_RSP as usize] as usize;
    // The stack grows down and has guard and thread data above: stay on the pages in use.
    let top = (stack.next_multiple_of(PAGE) + PAGE).min(stack + STACK_WORDS * 8);
    for at in (stack..top.min(stack.next_multiple_of(PAGE))).step_by(8) {
        // SAFETY: `at` is on the page of the stack pointer, which is mapped.
        let word = unsafe { std::ptr::read_volatile(at as *const usize) };
        if code.contains(&word) {
            add(word);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn trace(_context: *mut libc::c_void, _code: &Range<usize>, _fault: &mut RawFault) {}

impl Armed {
    /// Stores that were not recorded so far, for want of room.
    #[must_use]
    pub fn missed(&self) -> usize {
        // SAFETY: the counter is atomic.
        let stores = state().map(|s| unsafe { &(*s).faults }.load(Ordering::Acquire));
        stores.unwrap_or(0).saturating_sub(STORES_MAX)
    }

    /// Opens the trap and tells what was written while it was closed, in order.
    #[must_use]
    pub fn disarm(self) -> Vec<Fault> {
        restore_all();
        let Some(state) = state() else { return Vec::new() };
        // SAFETY: everything is writable again, so no fault changes the state any more.
        let state = unsafe { &*state };
        let max = if state.each { STORES_MAX } else { FAULTS_MAX };
        let count = state.faults.load(Ordering::Acquire).min(max);
        state.recorded[..count]
            .iter()
            .map(|raw| Fault {
                address: raw.address,
                mapping: self.mapping_of(raw.address),
                thread: raw.thread,
                trace: raw.trace[..raw.traced].to_vec(),
            })
            .collect()
    }

    fn mapping_of(&self, address: usize) -> String {
        self.maps.iter().find(|m| m.range.contains(&address)).map_or_else(String::new, |m| {
            format!("{:x}-{:x} {}", m.range.start, m.range.end, m.name)
        })
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        restore_all();
        // SAFETY: the action that was in force before.
        unsafe {
            libc::sigaction(libc::SIGSEGV, &raw const self.old_actions[0], std::ptr::null_mut());
            libc::sigaction(libc::SIGTRAP, &raw const self.old_actions[1], std::ptr::null_mut());
        }
        ARMED.store(false, Ordering::Release);
    }
}

/// A text for a failing test: one fault a line, with what to give to `addr2line`.
#[must_use]
pub fn report(faults: &[Fault]) -> String {
    let mut text = format!("{} pages were written that are not private:\n", faults.len());
    for fault in faults {
        let _ = write!(
            text,
            "  {:#x} in {} by thread {}: addr2line -fie <binary>",
            fault.address, fault.mapping, fault.thread
        );
        for at in &fault.trace {
            let _ = write!(text, " {at:#x}");
        }
        text.push('\n');
    }
    text
}
