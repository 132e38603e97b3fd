//! The project's two kinds of atomic.
//!
//! 1. `SharedAtomic` and `LocalAtomic` have the layout of the plain value.
//! 2. In a counting build each store or read-modify-write of a `SharedAtomic` is one bump of its class, and it and each
//!    load is one line of the thread's record (see [`crate::touch`]), if one is kept. Else the generated code is the
//!    raw atomic's.
//! 3. With the feature `one-runner` the thread's hook (see [`crate::hook`]) is called before every operation
//!    on a `SharedAtomic` (statistics excepted) and before those on a `LocalAtomic` that order anything.

use crate::Ordering;
use crate::class;
use crate::hook;
use core::fmt;

#[cfg(not(loom))]
use core::sync::atomic as raw;
#[cfg(loom)]
use loom::sync::atomic as raw;

#[cfg(not(loom))]
type Cell<T> = core::cell::UnsafeCell<T>;
#[cfg(loom)]
type Cell<T> = <T as Atom>::Raw;

mod sealed {
    pub trait Sealed {}
}

/// A plain value that the machine can access atomically: `bool`, `u8`, `u16`, `u32`, `u64`, `usize`, `i64`.
pub trait Atom: sealed::Sealed + Copy + fmt::Debug + 'static {
    #[doc(hidden)]
    type Raw;
    #[doc(hidden)]
    fn raw(cell: &Cell<Self>) -> &Self::Raw;
    #[doc(hidden)]
    fn make(value: Self) -> Self::Raw;
    #[doc(hidden)]
    fn load(raw: &Self::Raw, order: Ordering) -> Self;
    #[doc(hidden)]
    fn store(raw: &Self::Raw, value: Self, order: Ordering);
    #[doc(hidden)]
    fn swap(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
    #[doc(hidden)]
    fn cas(r: &Self::Raw, a: Self, b: Self, ok: Ordering, no: Ordering) -> Result<Self, Self>;
    #[doc(hidden)]
    fn cas_weak(r: &Self::Raw, a: Self, b: Self, ok: Ordering, no: Ordering) -> Result<Self, Self>;
    #[doc(hidden)]
    fn or(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
    #[doc(hidden)]
    fn and(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
}

/// An [`Atom`] with arithmetic.
pub trait AtomInt: Atom {
    #[doc(hidden)]
    fn add(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
    #[doc(hidden)]
    fn sub(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
    #[doc(hidden)]
    fn max(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
    #[doc(hidden)]
    fn min(raw: &Self::Raw, value: Self, order: Ordering) -> Self;
}

macro_rules! atom {
    ($($ty:ty => $raw:ident),*) => {$(
        impl sealed::Sealed for $ty {}
        impl Atom for $ty {
            type Raw = raw::$raw;
            #[cfg(not(loom))]
            #[inline(always)]
            fn raw(cell: &Cell<Self>) -> &Self::Raw {
                const { assert!(align_of::<$ty>() == align_of::<raw::$raw>()) };
                // SAFETY: the pointer is valid and aligned for the lifetime of `cell`, and every
                // access to the cell goes through this function, so all accesses are atomic.
                unsafe { raw::$raw::from_ptr(cell.get()) }
            }
            #[cfg(loom)]
            fn raw(cell: &Cell<Self>) -> &Self::Raw {
                cell
            }
            fn make(value: Self) -> Self::Raw {
                raw::$raw::new(value)
            }
            #[inline(always)]
            fn load(raw: &Self::Raw, order: Ordering) -> Self {
                raw.load(order)
            }
            #[inline(always)]
            fn store(raw: &Self::Raw, value: Self, order: Ordering) {
                raw.store(value, order)
            }
            #[inline(always)]
            fn swap(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.swap(value, order)
            }
            #[inline(always)]
            fn cas(r: &Self::Raw, a: Self, b: Self, ok: Ordering, no: Ordering) -> Result<Self, Self> {
                r.compare_exchange(a, b, ok, no)
            }
            #[inline(always)]
            fn cas_weak(r: &Self::Raw, a: Self, b: Self, ok: Ordering, no: Ordering) -> Result<Self, Self> {
                r.compare_exchange_weak(a, b, ok, no)
            }
            #[inline(always)]
            fn or(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.fetch_or(value, order)
            }
            #[inline(always)]
            fn and(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.fetch_and(value, order)
            }
        }
    )*};
}

macro_rules! atom_int {
    ($($ty:ty),*) => {$(
        impl AtomInt for $ty {
            #[inline(always)]
            fn add(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.fetch_add(value, order)
            }
            #[inline(always)]
            fn sub(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.fetch_sub(value, order)
            }
            #[inline(always)]
            fn max(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.fetch_max(value, order)
            }
            #[inline(always)]
            fn min(raw: &Self::Raw, value: Self, order: Ordering) -> Self {
                raw.fetch_min(value, order)
            }
        }
    )*};
}

atom!(
    bool => AtomicBool, u8 => AtomicU8, u16 => AtomicU16, u32 => AtomicU32,
    u64 => AtomicU64, usize => AtomicUsize, i64 => AtomicI64
);
atom_int!(u8, u16, u32, u64, usize, i64);

/// An atomic with several writers; `CLASS` (see [`crate::class`]) says what a write to it is about.
#[repr(transparent)]
pub struct SharedAtomic<T: Atom, const CLASS: u8> {
    cell: Cell<T>,
}

/// An atomic that one owner writes and others read; its writes are never counted.
#[repr(transparent)]
pub struct LocalAtomic<T: Atom> {
    cell: Cell<T>,
}

/// What an operation on a `LocalAtomic` adds to the counts.
#[inline(always)]
fn uncounted(_at: usize) {}

/// Before an operation on a `SharedAtomic` of a class.
#[inline(always)]
fn touch_shared(class: u8, _order: Ordering) {
    if class != class::STATUS {
        hook::touch();
    }
}

/// Before an operation on a `LocalAtomic`: relaxed ones carry plain data (bytes of pages and of the log).
#[inline(always)]
fn touch_local(order: Ordering) {
    if order != Ordering::Relaxed {
        hook::touch();
    }
}

macro_rules! common {
    (($($generics:tt)*), $name:ty, $read:expr, $wrote:expr, $touch:expr) => {
        // SAFETY: all access to the cell is atomic (see `Atom::raw`), and an `Atom` is plain data.
        unsafe impl<$($generics)*> Sync for $name {}

        impl<$($generics)*> $name {
            /// An atomic holding `value`.
            #[cfg(not(loom))]
            pub const fn new(value: T) -> Self {
                Self { cell: Cell::new(value) }
            }
            /// An atomic holding `value`.
            #[cfg(loom)]
            pub fn new(value: T) -> Self {
                Self { cell: T::make(value) }
            }
            #[inline(always)]
            fn at(&self) -> usize {
                core::ptr::from_ref(self).addr()
            }
            /// Reads the value.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> T {
                $touch(order);
                $read(self.at());
                T::load(T::raw(&self.cell), order)
            }
            /// Writes the value.
            #[inline(always)]
            pub fn store(&self, value: T, order: Ordering) {
                $touch(order);
                $wrote(self.at());
                T::store(T::raw(&self.cell), value, order)
            }
            /// Writes the value, returns the old one.
            #[inline(always)]
            pub fn swap(&self, value: T, order: Ordering) -> T {
                $touch(order);
                $wrote(self.at());
                T::swap(T::raw(&self.cell), value, order)
            }
            /// Writes `new` if the value is `current`; the old value, as `Ok` when written.
            #[inline(always)]
            pub fn compare_exchange(
                &self, current: T, new: T, success: Ordering, failure: Ordering,
            ) -> Result<T, T> {
                $touch(success);
                $wrote(self.at());
                T::cas(T::raw(&self.cell), current, new, success, failure)
            }
            /// As [`Self::compare_exchange`], and may fail although the value is `current`.
            #[inline(always)]
            pub fn compare_exchange_weak(
                &self, current: T, new: T, success: Ordering, failure: Ordering,
            ) -> Result<T, T> {
                $touch(success);
                $wrote(self.at());
                T::cas_weak(T::raw(&self.cell), current, new, success, failure)
            }
            /// Bitwise or; returns the old value.
            #[inline(always)]
            pub fn fetch_or(&self, bits: T, order: Ordering) -> T {
                $touch(order);
                $wrote(self.at());
                T::or(T::raw(&self.cell), bits, order)
            }
            /// Bitwise and; returns the old value.
            #[inline(always)]
            pub fn fetch_and(&self, bits: T, order: Ordering) -> T {
                $touch(order);
                $wrote(self.at());
                T::and(T::raw(&self.cell), bits, order)
            }
            /// Adds, wrapping; returns the old value.
            #[inline(always)]
            pub fn fetch_add(&self, n: T, order: Ordering) -> T where T: AtomInt {
                $touch(order);
                $wrote(self.at());
                T::add(T::raw(&self.cell), n, order)
            }
            /// Subtracts, wrapping; returns the old value.
            #[inline(always)]
            pub fn fetch_sub(&self, n: T, order: Ordering) -> T where T: AtomInt {
                $touch(order);
                $wrote(self.at());
                T::sub(T::raw(&self.cell), n, order)
            }
            /// Keeps the larger of the two values; returns the old value.
            #[inline(always)]
            pub fn fetch_max(&self, n: T, order: Ordering) -> T where T: AtomInt {
                $touch(order);
                $wrote(self.at());
                T::max(T::raw(&self.cell), n, order)
            }
            /// Keeps the smaller of the two values; returns the old value.
            #[inline(always)]
            pub fn fetch_min(&self, n: T, order: Ordering) -> T where T: AtomInt {
                $touch(order);
                $wrote(self.at());
                T::min(T::raw(&self.cell), n, order)
            }
        }

        impl<$($generics)*> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Ordering::Relaxed).fmt(f)
            }
        }

        impl<$($generics)*> Default for $name where T: Default {
            fn default() -> Self {
                Self::new(T::default())
            }
        }
    };
}

common!(
    (T: Atom, const CLASS: u8),
    SharedAtomic<T, CLASS>,
    |at| class::read(CLASS, at),
    |at| class::wrote(CLASS, at),
    |order| touch_shared(CLASS, order)
);
common!((T: Atom), LocalAtomic<T>, uncounted, uncounted, touch_local);

impl<T: Atom> LocalAtomic<T> {
    /// Reads what another owner writes: as [`Self::load`], and a line of the reader's record.
    #[inline(always)]
    pub fn look(&self, _name: &'static str, order: Ordering) -> T {
        #[cfg(feature = "count-shared")]
        crate::touch::note_named(_name, self.at());
        self.load(order)
    }
}

impl<T: AtomInt + core::ops::Add<Output = T>> LocalAtomic<T> {
    /// Adds without a read-modify-write instruction: only the one owner may call it. Not wrapping.
    #[inline(always)]
    pub fn bump(&self, n: T) {
        self.store(self.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::class;

    static WORD: SharedAtomic<u64, { class::PAGE_WORD }> = SharedAtomic::new(7);

    #[test]
    fn every_operation_does_what_it_says() {
        let a: SharedAtomic<u32, { class::OTHER }> = SharedAtomic::new(5);
        assert_eq!(a.fetch_add(2, Ordering::Relaxed), 5);
        assert_eq!(a.fetch_sub(1, Ordering::Relaxed), 7);
        assert_eq!(a.fetch_or(1, Ordering::Relaxed), 6);
        assert_eq!(a.fetch_and(3, Ordering::Relaxed), 7);
        assert_eq!(a.fetch_max(9, Ordering::Relaxed), 3);
        assert_eq!(a.fetch_min(4, Ordering::Relaxed), 9);
        assert_eq!(a.swap(1, Ordering::Relaxed), 4);
        assert_eq!(a.compare_exchange(2, 3, Ordering::AcqRel, Ordering::Acquire), Err(1));
        assert_eq!(a.compare_exchange(1, 3, Ordering::AcqRel, Ordering::Acquire), Ok(1));
        assert_eq!(a.load(Ordering::Relaxed), 3);
        let flag = LocalAtomic::new(false);
        assert!(!flag.fetch_or(true, Ordering::Relaxed));
        assert!(flag.load(Ordering::Relaxed));
        let count = LocalAtomic::new(40u64);
        count.bump(2);
        assert_eq!(format!("{count:?}"), "42");
        assert_eq!(size_of::<LocalAtomic<u8>>(), 1);
    }

    #[test]
    fn shared_writes_are_counted_by_class_and_local_ones_never() {
        crate::reset_shared_writes();
        WORD.store(1, Ordering::Relaxed);
        let _ = WORD.compare_exchange(9, 2, Ordering::Relaxed, Ordering::Relaxed);
        let _ = WORD.load(Ordering::Relaxed);
        LocalAtomic::new(0u8).store(1, Ordering::Relaxed);
        let mut want = [0; class::COUNT];
        if cfg!(feature = "count-shared") {
            want[class::PAGE_WORD as usize] = 2;
        }
        assert_eq!(crate::shared_writes(), want);
    }
}
