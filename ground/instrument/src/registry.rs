//! The registry of classes and pages, and the pointer to the current page.
//!
//! 1. `CURRENT` is null, or points to a page that lives at least as long as it stays there: a slot's page
//!    while its session is entered, or this thread's own page.
//! 2. A page is in the registry exactly as long as its [`PageRegistration`]; the fold of a page and its
//!    removal are one step under the mutex, so no reader misses it or sees it twice.
//! 3. Holds belong to a window of time. A new window makes those of older ones meaningless without
//!    touching any page: whoever writes to a page whose holds are older clears them first, readers skip it.

use crate::page::HoldSums;
use crate::{Class, Counter, CounterPage, HoldTotals, Level, Totals};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) struct Registry {
    classes: Vec<&'static Class>,
    pages: Vec<PagePtr>,
    ended: Totals,
    level: Level,
    /// Holds of pages that ended, of the present window.
    ended_holds: HoldSums,
    /// When the present window began and, if it is over, when it ended; nanoseconds of the callers' clock.
    since_ns: u64,
    until_ns: Option<u64>,
}

/// A registered page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PagePtr(*const CounterPage);

// SAFETY: the pointer is only followed under the registry's mutex while the page is registered, and a
// page holds atomics only.
unsafe impl Send for PagePtr {}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    classes: Vec::new(),
    pages: Vec::new(),
    ended: Totals::new(),
    level: Level::Default,
    ended_holds: HoldSums::new(),
    since_ns: 0,
    until_ns: None,
});

/// Number of the present window of holds; changed under the registry's mutex.
static WINDOW: AtomicU64 = AtomicU64::new(1);

/// Calls `f` with the registry locked.
pub(crate) fn locked<R>(f: impl FnOnce(&mut Registry) -> R) -> R {
    f(&mut registry())
}

fn registry() -> MutexGuard<'static, Registry> {
    // Every critical section leaves the registry consistent at each step, so poison says nothing.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the class its number.
#[cold]
pub(crate) fn assign(class: &'static Class) -> u16 {
    let mut registry = registry();
    assign_locked(&mut registry, class)
}

fn assign_locked(registry: &mut Registry, class: &'static Class) -> u16 {
    if let Some(id) = class.id_if_registered() {
        return id;
    }
    // A page has no room for more rows anyway; numbers past it share the last row.
    let id = u16::try_from(registry.classes.len()).unwrap_or(u16::MAX - 1).min(u16::MAX - 1);
    registry.classes.push(class);
    class.set_level(registry.level);
    class.set_id(id);
    id
}

/// Registers classes at start-up, so that they are listed (and can be switched) before their first use.
pub fn register(classes: &[&'static Class]) {
    let mut registry = registry();
    for class in classes {
        assign_locked(&mut registry, class);
    }
}

/// The classes registered so far, by number.
pub fn classes() -> Vec<&'static Class> {
    registry().classes.clone()
}

/// The level.
pub fn level() -> Level {
    registry().level
}

/// Switches the level for all classes; threads notice at their next use. Going to [`Level::Synch`] begins
/// a new window of holds, leaving it ends the window, whose numbers stay. `now_ns` is the time on the clock
/// that holds are measured with.
pub fn set_level(level: Level, now_ns: u64) {
    let mut registry = registry();
    if level == registry.level {
        return;
    }
    match (registry.level, level) {
        (_, Level::Synch) => begin_window(&mut registry, now_ns),
        (Level::Synch, _) => registry.until_ns = Some(now_ns),
        _ => {}
    }
    registry.level = level;
    for class in &registry.classes {
        class.set_level(level);
    }
}

fn begin_window(registry: &mut Registry, now_ns: u64) {
    WINDOW.store(WINDOW.load(Relaxed) + 1, Relaxed);
    registry.ended_holds = HoldSums::new();
    registry.since_ns = now_ns;
    registry.until_ns = None;
}

/// How latches were held in one window of time.
#[derive(Debug, Clone)]
pub struct Holds {
    /// When the window began, on the clock of [`set_level`].
    pub since_ns: u64,
    /// When it ended; `None` while it lasts.
    pub until_ns: Option<u64>,
    /// Every latch class registered so far.
    pub classes: Vec<(&'static Class, HoldTotals)>,
}

impl Holds {
    /// Length of the window so far.
    pub fn elapsed_ns(&self, now_ns: u64) -> u64 {
        self.until_ns.unwrap_or(now_ns).saturating_sub(self.since_ns)
    }
}

/// How latches were held since the level became [`Level::Synch`] or since [`reset_holds`]. A hold counts
/// when it ends.
pub fn holds() -> Holds {
    let registry = registry();
    let (known, window) = (registry.classes.len(), WINDOW.load(Relaxed));
    let mut sums = registry.ended_holds.clone();
    for page in &registry.pages {
        // SAFETY: registered, and the registry is locked, so it is valid (invariant 2).
        sums.add_page(unsafe { &*page.0 }, window, known);
    }
    let latches = registry.classes.iter().filter(|class| class.kind().is_latch());
    let classes = latches.map(|class| {
        (*class, class.id_if_registered().map_or_else(HoldTotals::default, |id| sums.row(id)))
    });
    Holds { since_ns: registry.since_ns, until_ns: registry.until_ns, classes: classes.collect() }
}

/// Begins a new window of holds: everything counts from zero again.
pub fn reset_holds(now_ns: u64) {
    let mut registry = registry();
    begin_window(&mut registry, now_ns);
    if registry.level != Level::Synch {
        registry.until_ns = Some(now_ns);
    }
}

/// Number of the present window of holds: what began in another one does not count. One relaxed load.
#[inline]
pub fn window() -> u64 {
    WINDOW.load(Relaxed)
}

/// Adds a hold that ended to the current page; `waited_ns` is 0 when it was not waited for.
pub fn held(class: &'static Class, window: u64, waited_ns: u64, held_ns: u64) {
    page().add_hold(window, class.id(), waited_ns, held_ns);
}

/// Keeps a page in the registry; dropping it folds the page into the global total and empties it.
#[derive(Debug)]
pub struct PageRegistration {
    page: *const CounterPage,
}

// SAFETY: see `PagePtr`; the registration only names the page.
unsafe impl Send for PageRegistration {}
// SAFETY: as above; no method reads through `&self`.
unsafe impl Sync for PageRegistration {}

/// Puts a page into the registry.
///
/// # Safety
/// The page must stay valid until the registration is dropped, and when it is dropped no thread may be
/// writing to the page.
pub unsafe fn attach(page: *const CounterPage) -> PageRegistration {
    registry().pages.push(PagePtr(page));
    PageRegistration { page }
}

impl Drop for PageRegistration {
    fn drop(&mut self) {
        let mut registry = registry();
        let known = registry.classes.len();
        // SAFETY: valid until now by the contract of `attach`.
        let page = unsafe { &*self.page };
        registry.ended_holds.add_page(page, WINDOW.load(Relaxed), known);
        page.forget_holds();
        registry.ended.absorb(page, known);
        if let Some(at) = registry.pages.iter().position(|p| p.0 == self.page) {
            registry.pages.swap_remove(at);
        }
    }
}

/// Calls `f` with every live page. The registry is locked meanwhile: `f` must be short and must not use
/// instruments for the first time.
pub fn for_each_page(mut f: impl FnMut(&CounterPage)) {
    let registry = registry();
    for page in &registry.pages {
        // SAFETY: registered, and the registry is locked, so it is valid (invariant 2).
        f(unsafe { &*page.0 });
    }
}

/// Sums over all pages, living and ended.
pub fn totals() -> Totals {
    let registry = registry();
    let known = registry.classes.len();
    let mut sums = registry.ended.clone();
    for page in &registry.pages {
        // SAFETY: registered, and the registry is locked, so it is valid (invariant 2).
        sums.add_page(unsafe { &*page.0 }, known);
    }
    sums
}

/// The page of a thread that has no session entered.
struct OwnPage {
    page: Box<CounterPage>,
    registration: Option<PageRegistration>,
}

impl Drop for OwnPage {
    fn drop(&mut self) {
        // Whatever this thread still counts (other thread-locals' destructors) goes to the sink.
        if ptr::eq(CURRENT.get(), &*self.page) {
            CURRENT.set(&SINK);
        }
        self.registration = None;
    }
}

/// Where a dying thread's last counts go: relaxed atomics, never read.
static SINK: CounterPage = CounterPage::new();

thread_local! {
    static CURRENT: Cell<*const CounterPage> = const { Cell::new(ptr::null()) };
    static OWN: OwnPage = own_page();
}

fn own_page() -> OwnPage {
    let page = CounterPage::boxed();
    // SAFETY: the box lives in the same thread-local as the registration, which is dropped first, in
    // `OwnPage::drop`; only this thread writes to the page.
    let registration = Some(unsafe { attach(&*page) });
    OwnPage { page, registration }
}

#[cold]
fn use_own_page() -> *const CounterPage {
    let page = OWN.try_with(|own| ptr::from_ref(&*own.page)).unwrap_or(&SINK);
    CURRENT.set(page);
    page
}

/// The page this thread counts into now. Never null; valid at least until the thread switches pages.
#[inline(always)]
pub fn current() -> *const CounterPage {
    let page = CURRENT.get();
    if page.is_null() { use_own_page() } else { page }
}

#[inline(always)]
fn page<'a>() -> &'a CounterPage {
    // SAFETY: `current()` is valid (invariant 1), and no caller here keeps the reference.
    unsafe { &*current() }
}

/// Makes `page` the one this thread counts into; null means the thread's own page. Returns the previous
/// pointer, to be given back later by the same thread (it may be null).
///
/// # Safety
/// `page` must stay valid until this thread sets another one, and no other thread may have it current.
pub unsafe fn set_current(page: *const CounterPage) -> *const CounterPage {
    CURRENT.replace(page)
}

/// Adds to a status counter of the current page: a plain load and store.
#[inline(always)]
pub fn count(c: Counter, n: u64) {
    page().add(c, n);
}

/// Counts a use of a class if it is enabled; with the flags off this is one relaxed load.
#[inline(always)]
pub fn hit(class: &'static Class) {
    if class.noticed() {
        used(class);
    }
}

/// Registers the class at its first use, and counts the use if the class is enabled.
pub fn used(class: &'static Class) {
    let id = class.id();
    if class.enabled() {
        page().add_use(id);
    }
}

/// Adds a wait to the class: always, whatever the flags, since a wait costs more than counting it.
#[cold]
pub fn contended(class: &'static Class, wait_ns: u64) {
    page().add_wait(class.id(), wait_ns);
}

/// Adds a use that took `ns` nanoseconds (a statement, a file operation): counted and timed.
pub fn completed(class: &'static Class, ns: u64) {
    let page = page();
    page.add_use(class.id());
    page.add_wait(class.id(), ns);
}
