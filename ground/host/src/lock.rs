//! The one lock of this crate, until `sync` is here.
#![allow(clippy::disallowed_types)]
pub(crate) struct Lock<T>(std::sync::Mutex<T>);
impl<T> Lock<T> {
    pub(crate) fn new(v: T) -> Lock<T> {
        Lock(std::sync::Mutex::new(v))
    }
    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no holder panics")
    }
}
