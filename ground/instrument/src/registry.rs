//! The registry of classes and pages, and the pointer to the current page.
//!
//! 1. `CURRENT` is null, or points to a page that lives at least as long as it stays there: a slot's page
//!    while its session is entered, or this thread's own page.
//! 2. A page is in the registry exactly as long as its [`PageRegistration`]; the fold of a page and its
//!    removal are one step under the mutex, so no reader misses it or sees it twice.

use crate::{Class, Counter, CounterPage, Totals};
use std::cell::Cell;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Registry {
    classes: Vec<&'static Class>,
    pages: Vec<PagePtr>,
    ended: Totals,
}

/// A registered page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PagePtr(*const CounterPage);

// SAFETY: the pointer is only followed under the registry's mutex while the page is registered, and a
// page holds atomics only.
unsafe impl Send for PagePtr {}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { classes: Vec::new(), pages: Vec::new(), ended: Totals::new() });

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
    if class.flags() != 0 {
        page().add_use(class.id());
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
