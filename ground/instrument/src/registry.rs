//! The registry of classes and pages, and the pointer to the current page.
//!
//! 1. What `present` answers is null, or points to a page that lives at least as long as it stays there: a slot's page
//!    while its session is entered, or this thread's own page.
//! 2. A page is in the registry exactly as long as its [`PageRegistration`]; the fold of a page and its
//!    removal are one step under the mutex.
//! 3. Who adds up all pages holds the mutex for one page at a time: whoever connects, disconnects or uses a class for the
//!    first time waits for that at most. A page that ends before the reader came to it is added to what the reader has
//!    ([`Pass`]), so that none is missed and none counted twice, and sums never go down. Who empties what threads did holds it
//!    for all pages.
//! 4. Holds belong to a window of time. A new window makes those of older ones meaningless without
//!    touching any page: whoever writes to a page whose holds are older clears them first, readers skip it.
//! 5. While nobody looks at threads (the consumer `thread_instrumentation` is off), pages count for all together alone: what
//!    threads had done before is kept beside their pages.
//! 6. Classes are only added, in an array that is read without the mutex.

use crate::class::{DECLARED, KINDS, LOST, SESSION_MEMORIES};
use crate::consumers::{Consumer, consumers, consumes, store};
use crate::digest::empty_digest_times;
use crate::errors::ERROR;
use crate::figures::{FIGURES, Figures, PageFigures};
use crate::history::SessionRuns;
use crate::page::HoldSums;
use crate::stage::{LiveStage, stage_of};
use crate::table_io::{
    TABLE_IO, TABLE_LOCK, ThreadTables, empty_table_io_of_threads, move_table_io,
    table_io_by_thread, table_io_moves,
};
use crate::{
    Class, ClassKind, Counter, CounterPage, HoldTotals, Level, SessionMemorySums, StatTotals,
    Totals, note_switch,
};
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use stdx::{lock, of_thread};

pub(crate) struct Registry {
    /// Classes of each kind, and those of them for which there was no room.
    counts: [(u16, u64); KINDS],
    /// The same of memory that sessions keep; of all memory `counts` has the rest.
    session_memories: (u16, u64),
    /// For how many classes of each kind options leave room.
    limits: [u16; KINDS],
    /// Places of pages that ended are used again.
    pages: Vec<Option<Registered>>,
    passes: Vec<Pass>,
    passes_begun: u64,
    ended: Totals,
    /// What is registered later begins with it.
    level: Level,
    /// What options say about instruments by name.
    rules: Vec<Rule>,
    /// Holds of pages that ended, of the present window.
    ended_holds: HoldSums,
    /// When the present window began and, if it is over, when it ended; nanoseconds of the callers' clock.
    since_ns: u64,
    until_ns: Option<u64>,
}

/// Somebody who adds up all pages.
struct Pass {
    number: u64,
    /// Pages before this place have been added.
    next: usize,
    /// Pages that ended before their turn came.
    totals: Totals,
    holds: HoldSums,
}

/// A registered page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PagePtr(*const CounterPage);

// SAFETY: the pointer is only followed under the registry's mutex while the page is registered, and a
// page holds atomics only.
unsafe impl Send for PagePtr {}

/// A registered page and what is known of its writer.
struct Registered {
    page: PagePtr,
    /// What the writer had done when nobody looked at threads any more.
    kept: Option<Box<PageFigures>>,
    /// Where its writer's statements are before they are told.
    runs: Option<SessionRuns>,
}

/// What threads did to the tables that they have open, by THREAD_ID.
type TableIoOf = HashMap<u64, ThreadTables>;

impl Registered {
    /// The registry is locked.
    fn page(&self) -> &CounterPage {
        // SAFETY: registered, and the registry is locked, so it is valid (invariant 2).
        unsafe { &*self.page.0 }
    }

    /// Tells what its writer ran.
    fn settle(&self) {
        if let Some(runs) = &self.runs {
            runs.settle(self.page());
        }
    }

    /// Some of the figures that its writer has now.
    fn found(&self, figures: Figures, table_io: &TableIoOf) -> PageFigures {
        let mut found = PageFigures::default();
        found.add_page(self.page(), figures);
        let thread_id = self.page().thread_id();
        if figures == Figures::Waits
            && thread_id != 0
            && let Some(did) = table_io.get(&thread_id)
        {
            found.add_events(TABLE_IO.id(), &did.io);
            if did.locks > 0 {
                let locks = StatTotals { count: did.locks, ..StatTotals::new() };
                found.add_events(TABLE_LOCK.id(), &locks);
            }
        }
        found
    }

    /// All figures but those of memory, which goes on whoever looks.
    fn all_found(&self, table_io: &TableIoOf) -> PageFigures {
        let mut all = PageFigures::default();
        let events = Figures::ALL.into_iter().filter(|figures| *figures != Figures::Memory);
        events.for_each(|figures| all.add(&self.found(figures, table_io)));
        all
    }

    /// What is told of its writer, who has found this now.
    fn told(kept: Option<PageFigures>, found: &PageFigures) -> PageFigures {
        let mut told = kept.unwrap_or_default();
        if consumes(Consumer::Threads) {
            told.add(found);
        }
        told
    }

    fn take_kept(&mut self) -> Option<PageFigures> {
        self.kept.take().map(|kept| *kept)
    }
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    counts: [(0, 0); KINDS],
    session_memories: (0, 0),
    limits: [u16::MAX; KINDS],
    pages: Vec::new(),
    passes: Vec::new(),
    passes_begun: 0,
    ended: Totals::new(),
    level: Level::Default,
    rules: Vec::new(),
    ended_holds: HoldSums::new(),
    since_ns: 0,
    until_ns: None,
});

/// Number of the present window of holds; changed under the registry's mutex.
static WINDOW: AtomicU64 = AtomicU64::new(1);

/// How often each of the figures was emptied; changed under the registry's mutex.
static EMPTIED: [AtomicU64; FIGURES] = [const { AtomicU64::new(0) }; FIGURES];

/// How often these figures were emptied. One relaxed load.
#[inline(always)]
pub(crate) fn emptied(figures: Figures) -> u64 {
    EMPTIED[figures as usize].load(Relaxed)
}

/// Empties figures, for all sessions and threads: they count from zero again.
pub fn empty(figures: Figures) {
    let mut registry = registry();
    registry.pages.iter().flatten().for_each(Registered::settle);
    EMPTIED[figures as usize].fetch_add(1, Relaxed);
    note_switch();
    if figures == Figures::Waits {
        empty_table_io_of_threads();
    }
    registry.ended.empty(figures);
    let kept = registry.pages.iter_mut().flatten().filter_map(|page| page.kept.as_mut());
    kept.for_each(|kept| kept.empty(figures));
    registry.passes.iter_mut().for_each(|pass| pass.totals.empty(figures));
    drop(registry);
    if figures == Figures::Times {
        empty_digest_times();
    }
}

crate::classes! {
    static PAGES: MemoryUse = "memory/performance_schema/counter_pages";
}

/// `performance_schema=OFF`: nothing is measured, and nothing can be switched on.
static OFF: AtomicBool = AtomicBool::new(false);

/// Whether anything can be measured. One relaxed load.
pub fn is_on() -> bool {
    crate::INSTRUMENTS && !OFF.load(Relaxed)
}

/// Measures nothing from now on, for good.
pub fn turn_off() {
    let mut registry = registry();
    OFF.store(true, Relaxed);
    registry.level = Level::None;
    store(&mut registry, Level::None.consumers());
    classes().into_iter().for_each(|class| class.put(0));
}

/// Classes for which there is room, of all kinds together.
const CLASSES_MAX: usize = 2048;

/// The classes, in the order of their registration; written under the mutex, behind it the length.
static CLASSES: [AtomicPtr<Class>; CLASSES_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES_MAX];
static CLASSES_LEN: AtomicUsize = AtomicUsize::new(0);

/// Calls `f` with the registry locked.
pub(crate) fn locked<R>(f: impl FnOnce(&mut Registry) -> R) -> R {
    f(&mut registry())
}

fn registry() -> MutexGuard<'static, Registry> {
    lock(&REGISTRY)
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
    if !class.kind().is_built() {
        class.set_id(LOST);
        return LOST;
    }
    let (first, room) = class.numbers();
    let limit = registry.limit_of(class);
    let (count, lost) = match class.is_of_sessions() {
        true => &mut registry.session_memories,
        false => &mut registry.counts[class.kind() as usize],
    };
    let len = CLASSES_LEN.load(Relaxed);
    if *count >= room.min(limit) || len == CLASSES_MAX {
        *lost += 1;
        class.set_id(LOST);
        class.put(0);
        return LOST;
    }
    let id = first + *count;
    *count += 1;
    class.put(registry.flags_of(class));
    class.set_id(id);
    CLASSES[len].store(ptr::from_ref(class).cast_mut(), Relaxed);
    CLASSES_LEN.store(len + 1, Ordering::Release);
    id
}

/// Leaves room for so many classes of a kind (`performance_schema_max_..._classes`), and for no more than the kind has; those that are
/// registered stay.
pub fn set_class_limit(kind: ClassKind, classes: u64) {
    registry().limits[kind as usize] = u16::try_from(classes).unwrap_or(u16::MAX);
}

/// Registers classes at start-up, so that they are listed (and can be switched) before their first use.
pub fn register(classes: &[&'static Class]) {
    let mut registry = registry();
    for class in classes {
        assign_locked(&mut registry, class);
    }
}

/// Registers every class of the program that is declared by [`crate::classes!`].
pub fn register_declared() {
    register(&DECLARED);
}

/// The classes registered so far, without those that are lost.
pub fn classes() -> Vec<&'static Class> {
    let len = CLASSES_LEN.load(Ordering::Acquire);
    // SAFETY: below the length there are pointers to classes, which are never dropped (invariant 6).
    CLASSES[..len].iter().map(|class| unsafe { &*class.load(Relaxed) }).collect()
}

/// The class of a number.
pub fn class_numbered(id: u16) -> Option<&'static Class> {
    classes().into_iter().find(|class| class.id_if_registered() == Some(id))
}

/// The class of a name.
pub fn class_named(name: &str) -> Option<&'static Class> {
    classes().into_iter().find(|class| class.name() == name)
}

/// The numbers of the classes registered so far.
pub(crate) fn ids() -> impl Iterator<Item = u16> {
    let len = CLASSES_LEN.load(Ordering::Acquire);
    CLASSES[..len].iter().filter_map(|class| {
        // SAFETY: as in `classes`.
        unsafe { &*class.load(Relaxed) }.id_if_registered()
    })
}

/// How many classes of a kind found no room: `Performance_schema_..._classes_lost`.
pub fn lost(kind: ClassKind) -> u64 {
    let registry = registry();
    let of_sessions = if kind == ClassKind::Memory { registry.session_memories.1 } else { 0 };
    registry.counts[kind as usize].1 + of_sessions
}

/// The level that all instruments and consumers are at; `None` where they are set otherwise.
pub fn level() -> Option<Level> {
    if !is_on() {
        return Some(Level::None);
    }
    let all = classes();
    let is_at = |level: &Level| {
        consumers() == level.consumers() && all.iter().all(|class| class.is_at(*level))
    };
    Level::ALL.into_iter().find(is_at)
}

/// Switches all classes and consumers to a level; threads notice at their next use. `now_ns` is the time on the clock that
/// holds are measured with: when latches begin to be timed a new window of holds begins, when none is any more it ends, and
/// its numbers stay.
pub fn set_level(level: Level, now_ns: u64) {
    let mut registry = registry();
    if !is_on() {
        return;
    }
    registry.level = level;
    registry.rules.clear();
    registry.switched(now_ns, |registry| {
        store(registry, level.consumers());
        classes().into_iter().for_each(|class| class.put(class.flags_at(level)));
    });
}

/// Switches one instrument: whether it counts, and whether it times. `now_ns` as in [`set_level`].
pub fn switch(class: &'static Class, enabled: bool, timed: bool, now_ns: u64) {
    class.id();
    let timed = timed && class.can_be_timed();
    let mut registry = registry();
    if !is_on() {
        return;
    }
    registry.switched(now_ns, |_| class.put(class.flags_for(enabled, timed)));
}

/// What an option says about the instruments whose names are like a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Name; `%` stands for any characters, `_` for one.
    pub pattern: String,
    /// Whether they count.
    pub enabled: bool,
    /// Whether they time.
    pub timed: bool,
}

/// Sets instruments by rules: of those that fit a name the longest decides, of equally long ones the last. They hold for
/// classes that are registered later as well, until the level is set.
pub fn set_rules(mut rules: Vec<Rule>, now_ns: u64) {
    rules.sort_by_key(|rule| rule.pattern.len());
    let mut registry = registry();
    if !is_on() {
        return;
    }
    registry.rules = rules;
    registry.switched(now_ns, |registry| {
        classes().into_iter().for_each(|class| class.put(registry.flags_of(class)));
    });
}

/// Whether a text is like a pattern of `%` and `_`; ASCII letters are the same in both cases.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'%', rest)) => (0..=text.len()).any(|at| is_like(&text[at..], rest)),
        Some((wanted, rest)) => text.split_first().is_some_and(|(found, left)| {
            (*wanted == b'_' || wanted.eq_ignore_ascii_case(found)) && is_like(left, rest)
        }),
    }
}

impl Registry {
    /// What a class does that nobody has switched by itself.
    fn flags_of(&self, class: &Class) -> u8 {
        let fits = |rule: &&Rule| is_like(class.name().as_bytes(), rule.pattern.as_bytes());
        match self.rules.iter().rev().find(fits) {
            Some(rule) => class.flags_for(rule.enabled, rule.timed && class.can_be_timed()),
            None => class.flags_at(self.level),
        }
    }

    /// For how many classes like this one options leave room: of memory those come first that sessions keep.
    fn limit_of(&self, class: &Class) -> u16 {
        let limit = self.limits[class.kind() as usize];
        match class.kind() {
            ClassKind::Memory if !class.is_of_sessions() => limit.saturating_sub(SESSION_MEMORIES),
            _ => limit,
        }
    }

    /// Parts what threads did until now from what they do next: whether somebody looks at threads is about to change.
    pub(crate) fn part_threads(&mut self) {
        let table_io = table_io_by_thread();
        let Registry { passes, ended, pages, .. } = self;
        for (place, page) in pages.iter_mut().enumerate() {
            let Some(page) = page else { continue };
            page.settle();
            let found = page.all_found(&table_io);
            add_ended(ended, passes, place, &found);
            if consumes(Consumer::Threads) {
                let kept = Registered::told(page.take_kept(), &found);
                page.kept = Some(Box::new(kept));
            }
        }
        const GO_ON: [Figures; 2] = [Figures::Times, Figures::Memory];
        for figures in Figures::ALL.into_iter().filter(|figures| !GO_ON.contains(figures)) {
            EMPTIED[figures as usize].fetch_add(1, Relaxed);
        }
        empty_table_io_of_threads();
    }

    /// Makes every class do what it is set to do.
    pub(crate) fn take_effect(&self) {
        classes().into_iter().for_each(Class::take_effect);
    }

    /// Does a switch of instruments; a window of holds begins with the first latch that is timed, and ends with the last.
    fn switched(&mut self, now_ns: u64, switch: impl FnOnce(&mut Registry)) {
        let any_held = || classes().into_iter().any(Class::held);
        let before = any_held();
        switch(self);
        match (before, any_held()) {
            (false, true) => begin_window(self, now_ns),
            (true, false) => self.until_ns = Some(now_ns),
            _ => {}
        }
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
    let (pass, mut sums) = Pass::begin(|registry| registry.ended_holds.clone());
    let (since_ns, until_ns) = locked(|registry| (registry.since_ns, registry.until_ns));
    let window = WINDOW.load(Relaxed);
    let rest = pass.over_pages(|page| sums.add_page(page, window));
    sums.add(&rest.holds);
    let latches = classes().into_iter().filter(|class| class.kind().is_latch());
    let of = |class: &Class| class.id_if_registered().map(|id| sums.row(id)).unwrap_or_default();
    let classes = latches.map(|class| (class, of(class))).collect();
    Holds { since_ns, until_ns, classes }
}

/// Begins a new window of holds: everything counts from zero again.
pub fn reset_holds(now_ns: u64) {
    let mut registry = registry();
    begin_window(&mut registry, now_ns);
    if !classes().into_iter().any(Class::held) {
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
    /// Its place among the pages.
    place: usize,
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
    PAGES.take(size_of::<CounterPage>());
    let pages = &mut registry().pages;
    let free = pages.iter().position(Option::is_none);
    let place = free.unwrap_or_else(|| {
        pages.push(None);
        pages.len() - 1
    });
    pages[place] = Some(Registered { page: PagePtr(page), kept: None, runs: None });
    PageRegistration { page, place }
}

impl Drop for PageRegistration {
    fn drop(&mut self) {
        PAGES.give_back(size_of::<CounterPage>());
        // Behind the lock, as it may be the last that knows rows of other lists.
        let _left;
        let mut registry = registry();
        let Registry { passes, ended, ended_holds, pages, .. } = &mut *registry;
        pages[self.place].iter().for_each(Registered::settle);
        // SAFETY: valid until now by the contract of `attach`.
        let page = unsafe { &*self.page };
        let window = WINDOW.load(Relaxed);
        for pass in passes.iter_mut().filter(|pass| pass.next <= self.place) {
            pass.totals.add_page(page);
            pass.holds.add_page(page, window);
        }
        ended_holds.add_page(page, window);
        page.forget_holds();
        ended.absorb(page);
        _left = pages[self.place].take();
    }
}

/// A pass over all pages that has begun; it is to be ended by [`Begun::over_pages`].
struct Begun(u64);

impl Pass {
    /// Begins a pass; `ended` copies what pages have left that ended before.
    fn begin<R>(ended: impl FnOnce(&Registry) -> R) -> (Begun, R) {
        let mut registry = registry();
        registry.passes_begun += 1;
        let number = registry.passes_begun;
        let (totals, holds) = (Totals::new(), HoldSums::new());
        registry.passes.push(Pass { number, next: 0, totals, holds });
        let ended = ended(&registry);
        (Begun(number), ended)
    }
}

impl Begun {
    /// Calls `f` with every live page; `f` must be short, since the registry is locked while it runs, and must not use
    /// instruments for the first time. The answer is what pages held that ended since the pass began, before `f` saw
    /// them.
    fn over_pages(self, mut f: impl FnMut(&CounterPage)) -> Pass {
        self.over_registered(|registered| f(registered.page()))
    }

    /// As [`Self::over_pages`], with what is known of their writers.
    fn over_registered(self, mut f: impl FnMut(&Registered)) -> Pass {
        loop {
            let mut registry = registry();
            let Registry { passes, pages, .. } = &mut *registry;
            let at = passes.iter().position(|pass| pass.number == self.0).unwrap_or(0);
            let Some(page) = pages.get(passes[at].next) else { return passes.swap_remove(at) };
            passes[at].next += 1;
            if let Some(page) = page {
                f(page);
            }
        }
    }
}

/// What a page has goes to what pages have left that ended.
fn add_ended(ended: &mut Totals, passes: &mut [Pass], place: usize, found: &PageFigures) {
    ended.add_figures(found);
    let not_seen = passes.iter_mut().filter(|pass| pass.next <= place);
    not_seen.for_each(|pass| pass.totals.add_figures(found));
}

/// The figures of every page whose writer has a THREAD_ID, with that.
pub fn figures_by_thread() -> Vec<(u64, PageFigures)> {
    // A table that is closed meanwhile would be missed; where they always are, one may.
    const TRIES: u32 = 20;
    let mut rows = Vec::new();
    let _registered = (TABLE_IO.id(), TABLE_LOCK.id());
    for _ in 0..TRIES {
        let moves = table_io_moves();
        let table_io = table_io_by_thread();
        rows.clear();
        let (pass, ()) = Pass::begin(|_| ());
        pass.over_registered(|page| {
            let thread_id = page.page().thread_id();
            if thread_id != 0 {
                page.settle();
                let kept = page.kept.as_deref().cloned();
                let mut told = Registered::told(kept, &page.all_found(&table_io));
                told.add_page(page.page(), Figures::Memory);
                rows.push((thread_id, told));
            }
        });
        if table_io_moves() == moves {
            break;
        }
    }
    rows
}

/// What the writers of pages keep who have a THREAD_ID, ordered by that.
pub fn kept_by_thread() -> Vec<(u64, SessionMemorySums)> {
    let mut sums = Vec::new();
    let (pass, ()) = Pass::begin(|_| ());
    pass.over_pages(|page| {
        let kept = page.memory_sums();
        if page.thread_id() != 0 && kept.total_max != 0 {
            sums.push((page.thread_id(), kept));
        }
    });
    sums.sort_unstable_by_key(|(thread_id, _)| *thread_id);
    sums
}

/// The stages that threads are in.
pub fn live_stages() -> Vec<LiveStage> {
    let mut found = Vec::new();
    let (pass, ()) = Pass::begin(|_| ());
    pass.over_pages(|page| found.extend(stage_of(page)));
    found
}

/// Begins a page's figures anew, as those of somebody else: what was there counts as that of a page that ended. Gives what
/// is told of who wrote it. Only the page's writer calls it.
pub fn fold_page(page: &CounterPage) -> PageFigures {
    move_table_io(page.thread_id());
    let mut registry = registry();
    let Registry { passes, ended, pages, .. } = &mut *registry;
    let place = pages.iter().position(|p| p.as_ref().is_some_and(|p| ptr::eq(p.page.0, page)));
    place.and_then(|place| pages[place].as_ref()).iter().for_each(|page| page.settle());
    let found = PageFigures::of(page);
    let kept = place.and_then(|place| pages[place].as_mut()?.take_kept());
    add_ended(ended, passes, place.unwrap_or(usize::MAX), &found);
    let told = with_memory(Registered::told(kept, &found), page);
    page.forget_figures();
    told
}

/// What is told of a page's writer, and what is over of his memory.
fn with_memory(mut told: PageFigures, page: &CounterPage) -> PageFigures {
    told.add_page(page, Figures::Memory);
    told.over()
}

/// A page is nobody's from now on: what is told of who wrote it. Its figures go to those of all when it ends. Only the page's
/// writer calls it, who has closed its tables.
pub fn leave_page(page: &CounterPage) -> PageFigures {
    let mut registry = registry();
    page.set_thread_id(0);
    let mut pages = registry.pages.iter_mut().flatten();
    let mut registered = pages.find(|p| ptr::eq(p.page.0, page));
    registered.iter().for_each(|page| page.settle());
    let kept = registered.as_mut().and_then(|page| page.take_kept());
    with_memory(Registered::told(kept, &PageFigures::of(page)), page)
}

/// Begins some figures anew on every page: what was there counts as that of pages that ended, and what is told of their
/// writers is given with the THREAD_IDs. What is counted while this runs may be lost.
pub fn fold_figures(figures: Figures) -> Vec<(u64, PageFigures)> {
    let _registered = (TABLE_IO.id(), TABLE_LOCK.id());
    let mut registry = registry();
    let table_io = table_io_by_thread();
    let Registry { passes, ended, pages, .. } = &mut *registry;
    let mut rows = Vec::new();
    for (place, page) in pages.iter_mut().enumerate() {
        let Some(page) = page else { continue };
        page.settle();
        let found = page.found(figures, &table_io);
        add_ended(ended, passes, place, &found);
        let kept = page.kept.as_mut().map(|kept| kept.take(figures));
        let told = match figures {
            Figures::Memory => found.over(),
            _ => Registered::told(kept, &found),
        };
        // Of one that is nobody's any more the accounts have been told.
        let thread_id = page.page().thread_id();
        if thread_id != 0 {
            rows.push((thread_id, told));
        }
    }
    EMPTIED[figures as usize].fetch_add(1, Relaxed);
    note_switch();
    if figures == Figures::Waits {
        empty_table_io_of_threads();
    }
    rows
}

/// Says what `threads.INSTRUMENTED` is of a thread of the server's own.
pub fn watch_thread(thread_id: u64, on: bool) {
    let registry = registry();
    let pages = registry.pages.iter().flatten();
    pages.filter(|p| p.page().thread_id() == thread_id).for_each(|p| p.page().set_instrumented(on));
}

/// Says whether what the calling thread does is counted.
pub fn watch_own(on: bool) {
    page().set_instrumented(on);
}

/// Whether what the calling thread does is counted: see [`CounterPage::is_instrumented`].
pub fn is_instrumented() -> bool {
    page().is_instrumented()
}

/// Tells what sessions ran to the rows that statements are added up in: of their instruments, digests, prepared statements and
/// transactions. Whoever reads these calls it before.
pub fn settle() {
    let (pass, ()) = Pass::begin(|_| ());
    pass.over_registered(Registered::settle);
}

/// The statements that a page's writer has not told lie here from now on. Only the writer calls it.
pub(crate) fn keeps_runs(page: &CounterPage, runs: SessionRuns) {
    let mut registry = registry();
    let mut pages = registry.pages.iter_mut().flatten();
    if let Some(registered) = pages.find(|p| ptr::eq(p.page.0, page)) {
        registered.runs = Some(runs);
    }
}

/// Sums over all pages, living and ended.
pub fn totals() -> Totals {
    let (pass, mut sums) = Pass::begin(|registry| registry.ended.clone());
    let rest = pass.over_registered(|page| {
        page.settle();
        sums.add_page(page.page());
    });
    sums.add(&rest.totals);
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
        if ptr::eq(present(), &*self.page) {
            of_thread::replace_page(ptr::from_ref(&SINK).cast());
        }
        self.registration = None;
    }
}

/// Where a dying thread's last counts go: relaxed atomics, never read.
static SINK: CounterPage = CounterPage::new();

thread_local! {
    static OWN: OwnPage = own_page();
}

/// The page that the thread counts into, if that is known.
#[inline(always)]
fn present() -> *const CounterPage {
    of_thread::page().cast()
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
    of_thread::replace_page(page.cast());
    page
}

/// The page this thread counts into now. Never null; valid at least until the thread switches pages.
#[inline(always)]
pub fn current() -> *const CounterPage {
    let page = present();
    if page.is_null() { use_own_page() } else { page }
}

#[inline(always)]
pub(crate) fn page<'a>() -> &'a CounterPage {
    // SAFETY: `current()` is valid (invariant 1), and no caller here keeps the reference.
    unsafe { &*current() }
}

/// Makes `page` the one this thread counts into; null means the thread's own page. Returns the previous
/// pointer, to be given back later by the same thread (it may be null).
///
/// # Safety
/// `page` must stay valid until this thread sets another one, and no other thread may have it current.
pub unsafe fn set_current(page: *const CounterPage) -> *const CounterPage {
    of_thread::replace_page(page.cast()).cast()
}

/// Says which thread of the server's own the calling thread is; 0: none that is told of.
pub fn name_thread(thread_id: u64) {
    page().set_thread_id(thread_id);
}

/// Counts an error or warning that is raised, if errors are counted.
pub fn raise(number: u16, now_us: u64) {
    if ERROR.enabled() && page().is_instrumented() {
        page().add_error(number, now_us);
    }
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
    if class.enabled() && page().is_instrumented() {
        page().add_use(id);
    }
}

/// Adds a wait to the class: always, whatever the flags, since a wait costs more than counting it.
#[cold]
pub fn contended(class: &'static Class, wait_ns: u64) {
    let (page, id) = (page(), class.id());
    if page.is_instrumented() {
        page.add_wait(id, wait_ns);
        if !class.enabled() {
            page.add_use(id);
        }
    }
    if class.kind() == ClassKind::Lock {
        page.add_lock_ns(wait_ns);
    }
}

/// Adds a use that ended (an operation on a file): counted, and timed if it took `ns` nanoseconds.
pub fn completed(class: &'static Class, ns: Option<u64>) {
    let page = page();
    page.add_use(class.id());
    if let Some(ns) = ns {
        page.add_wait(class.id(), ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_ends_during_a_pass_is_neither_missed_nor_counted_twice() {
        const COUNTER: Counter = Counter::InnodbDblwrPagesWritten;
        let pages: Vec<_> = (0..6).map(|_| CounterPage::boxed()).collect();
        // SAFETY: the pages outlive their registrations; nobody writes to them while these are dropped.
        let mut registered: Vec<_> = pages.iter().map(|p| Some(unsafe { attach(&**p) })).collect();
        pages.iter().for_each(|page| page.add(COUNTER, 1));
        let (pass, mut sums) = Pass::begin(|registry| registry.ended.clone());
        let before = sums.counter(COUNTER);
        let mut seen = Vec::new();
        let number = pass.0;
        // Two pages before it begins to look, the others while it looks: some that it has seen, some that it has not.
        registered[0] = None;
        registered[5] = None;
        loop {
            let next = locked(|registry| {
                let Registry { passes, pages, .. } = registry;
                let pass = passes.iter_mut().find(|pass| pass.number == number).unwrap();
                let page = pages.get(pass.next).map(|page| page.as_ref().map(|page| page.page));
                pass.next += 1;
                page
            });
            let Some(page) = next else { break };
            if let Some(page) = page
                && let Some(n) = pages.iter().position(|p| ptr::eq(&**p, page.0))
            {
                sums.add_page(&pages[n]);
                seen.push(n);
                registered[n] = None;
                if let Some(later) = (n + 2 < 6).then_some(n + 2) {
                    registered[later] = None;
                }
            }
        }
        let rest = locked(|registry| {
            let at = registry.passes.iter().position(|pass| pass.number == number).unwrap();
            registry.passes.swap_remove(at)
        });
        sums.add(&rest.totals);
        assert!(seen.len() < 4, "{seen:?}");
        assert_eq!(sums.counter(COUNTER), before + 6);
        assert!(totals().counter(COUNTER) >= before + 6);
    }

    #[test]
    fn a_class_without_room_is_lost_and_counts_nowhere() {
        static IDLE: [crate::IdleClass; 2] =
            [crate::IdleClass::new("idle/test/a"), crate::IdleClass::new("idle/test/b")];
        IDLE.iter().for_each(|class| used(class));
        assert!(!IDLE[0].is_lost() && IDLE[1].is_lost());
        assert_eq!(lost(ClassKind::Idle), 1);
        contended(&IDLE[1], 5);
        let sums = totals();
        assert_eq!((sums.class(&IDLE[0]).count, sums.class(&IDLE[1]).count), (1, 0));
        assert!(classes().iter().all(|class| class.name() != IDLE[1].name()));

        static LATER: [crate::ThreadClass; 2] =
            [crate::ThreadClass::new("thread/test/a"), crate::ThreadClass::new("thread/test/b")];
        LATER[0].id();
        let before = lost(ClassKind::Thread);
        set_class_limit(ClassKind::Thread, 0);
        LATER[1].id();
        set_class_limit(ClassKind::Thread, 1 << 20);
        assert!(!LATER[0].is_lost() && LATER[1].is_lost() && !LATER[1].enabled());
        assert_eq!(lost(ClassKind::Thread), before + 1);
    }
}
